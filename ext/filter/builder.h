/* Builds a filter from keys that come one at a time. The shape of the filter is given; or the
 * filter is sized exactly for its distinct keys when all have come. */
#ifndef BLOOM_FILTER_BUILDER_H
#define BLOOM_FILTER_BUILDER_H

#include "base/limits.h"
#include "filter/key_set.h"

#include <assert.h>

static_assert(BLOOM_MOST(builder_words) % BLOOM_HASH_WORDS_MAXIMUM == 0, "a batch of whole keys");

/* A set of numbers, which grows as keys come. Its bytes are the builder's `filter`. */
struct bloom_growing {
    struct bloom_shape shape; /* for the largest key so far; no bits before the first key */
    uint64_t room;            /* bytes */
};

struct bloom_builder {
    struct bloom_shape shape; /* bits is 0 when the keys decide the size */
    uint8_t *filter;          /* header and payload, of a shape with bits or a set of numbers */
    uint64_t limit;           /* bytes that the filter may have */
    uint64_t needed;          /* size that it would have, after BLOOM_BUILD_TOO_LONG */
    bool has_key;             /* a key was added since it began, or since it was finished */
    unsigned waiting;         /* words in batch */
    uint64_t batch[BLOOM_MOST(builder_words)];
    struct bloom_key_set keys; /* the builder uses its memory functions, too */
    struct bloom_growing growing;
};

/* Begins a filter of at most `limit` bytes. The layout of a shape with bits must support add. The
 * seed is for the key set, see there. Returns false when there is no memory. */
bool bloom_builder_begin(struct bloom_builder *builder, const struct bloom_shape *shape,
                         uint64_t limit, const uint64_t seed[2], const struct bloom_memory *memory);

/* Adds a key by the words of its hash. A shape with bits must have room for the key. If the key is
 * not added, nothing changes. problem is set after BLOOM_BUILD_REFUSED. */
enum bloom_built bloom_builder_add(struct bloom_builder *builder, const uint64_t *words,
                                   bloom_problem problem);

/* Builds the filter, which the caller must release, and leaves the builder empty. When it is not
 * built, *filter is NULL and the builder keeps its keys. Sets *shape to the shape of the filter
 * when it is known. interrupted is called about every millisecond; it ends the work by returning
 * true. It may be NULL. problem is set after BLOOM_BUILD_REFUSED and BLOOM_BUILD_NO_SEED. */
enum bloom_built bloom_builder_finish(struct bloom_builder *builder,
                                      bool (*interrupted)(void *argument), void *argument,
                                      struct bloom_shape *shape, uint8_t **filter,
                                      bloom_problem problem);

/* Releases all memory. A builder whose keys decide the size is then empty and ready for another
 * set. */
void bloom_builder_release(struct bloom_builder *builder);

/* Returns an empty filter, header and payload, which the caller must release, or NULL without
 * memory. */
uint8_t *bloom_filter_new(const struct bloom_shape *shape, const struct bloom_memory *memory);

#endif
