/* Builds a filter from keys that come one at a time. The shape of the filter is given, or the
 * filter is sized exactly for its distinct keys when all have come. */
#ifndef BLOOM_FILTER_BUILDER_H
#define BLOOM_FILTER_BUILDER_H

#include "filter/key_set.h"

/* This many words of keys wait until their bits are set together, so that the cache misses
 * overlap. */
enum { BLOOM_BUILDER_WORDS = 64 };

/* A set of numbers, which grows as its keys come; its bytes are the builder's `filter`. */
struct bloom_growing {
    struct bloom_shape shape; /* for the largest key so far; no layout: no key has come */
    uint64_t largest;
    uint64_t room; /* bytes */
};

struct bloom_builder {
    struct bloom_shape shape; /* bits 0: only rate, layout and keying; the keys decide the size */
    uint8_t *filter;          /* header and payload, for a shape with bits or a set of numbers */
    uint64_t limit;           /* bytes that the filter may have */
    uint64_t needed;          /* bytes that it would have, after BLOOM_BUILD_TOO_LONG */
    unsigned waiting;         /* words in batch */
    uint64_t batch[BLOOM_BUILDER_WORDS];
    struct bloom_key_set keys; /* the builder uses its memory functions, too */
    struct bloom_growing growing;
};

/* Begins a filter of at most `limit` bytes. The layout of a shape with bits must support add. The
 * seed is for the key set, see there. Returns false when there is no memory. */
bool bloom_builder_begin(struct bloom_builder *builder, const struct bloom_shape *shape,
                         uint64_t limit, const uint64_t seed[2], const struct bloom_memory *memory);

/* Replaces the seed. Must be called before the first key. */
void bloom_builder_seed(struct bloom_builder *builder, const uint64_t seed[2]);

/* Adds a key, given by the words of its hash. A shape with bits must have room for the key. When
 * the key is not added, nothing changes; problem is a sentence for BLOOM_BUILD_REFUSED. */
enum bloom_built bloom_builder_add(struct bloom_builder *builder, const uint64_t *words,
                                   bloom_problem problem);

/* Builds the filter, which the caller must release, and leaves the builder empty. When it is not
 * built, *filter is NULL and the builder keeps its keys. Sets *shape to the shape of the filter
 * when it is known. interrupted is called about every millisecond; it ends the work by returning
 * true. It may be NULL. problem is set after BLOOM_BUILD_REFUSED. */
enum bloom_built bloom_builder_finish(struct bloom_builder *builder,
                                      bool (*interrupted)(void *argument), void *argument,
                                      struct bloom_shape *shape, uint8_t **filter,
                                      bloom_problem problem);

/* Releases all memory. A builder whose keys decide the size is then empty and ready. */
void bloom_builder_release(struct bloom_builder *builder);

/* An empty filter, header and payload; NULL: there is no memory. */
uint8_t *bloom_filter_new(const struct bloom_shape *shape, const struct bloom_memory *memory);

#endif
