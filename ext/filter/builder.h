/* A filter in the making, whose keys come one at a time: of a shape that is given, or sized exactly
 * for the distinct keys when all have come.
 */
#ifndef BLOOM_BUILDER_H
#define BLOOM_BUILDER_H

#include "filter/key_set.h"

/* Keys that wait until their bits are set together, so that the cache misses overlap. */
enum { BLOOM_BUILDER_WORDS = 64 };

/* A set of numbers, which grows as its keys come; its bytes are those of the builder. */
struct bloom_growing {
    struct bloom_shape shape; /* for the largest key so far; no layout: there is none yet */
    uint64_t largest;
    uint64_t room; /* bytes */
};

struct bloom_builder {
    struct bloom_shape shape; /* without bits: rate, layout and keying only, the keys decide */
    uint8_t *filter;          /* with bits, and of a set of numbers: header and payload */
    uint64_t limit;           /* bytes that the filter may have; UINT64_MAX at first */
    uint64_t needed;          /* that it would have had, after BLOOM_BUILD_TOO_LONG */
    unsigned kinds;           /* of keys, for layout hashes: see hashes.h */
    unsigned waiting;         /* words in batch */
    uint64_t batch[BLOOM_BUILDER_WORDS];
    struct bloom_key_set keys; /* its memory is that of the builder */
    struct bloom_growing growing;
};

/* Begins a filter. A shape that has bits has a layout that can add. Sets of keys have the order of
 * the seed: see key_set.h. False: there is no memory. */
bool bloom_builder_begin(struct bloom_builder *builder, const struct bloom_shape *shape,
                         const uint64_t seed[2], const struct bloom_memory *memory);

/* Takes a key by the words of its hash; a shape that has bits has room for it. Unless it was taken,
 * nothing has changed; problem is a sentence for BLOOM_BUILD_REFUSED. */
enum bloom_built bloom_builder_add(struct bloom_builder *builder, const uint64_t *words,
                                   char problem[BLOOM_PROBLEM_SIZE]);

/* Makes the filter, which is the caller's to release, and leaves the builder empty. Unless it was
 * built, *filter is NULL and the builder has its keys as before; *shape is that of the filter when
 * it is known. problem is a sentence for BLOOM_BUILD_REFUSED. */
enum bloom_built bloom_builder_finish(struct bloom_builder *builder, struct bloom_shape *shape,
                                      uint8_t **filter, char problem[BLOOM_PROBLEM_SIZE]);

/* Releases all memory. One whose keys decide its size is empty then, and ready. */
void bloom_builder_release(struct bloom_builder *builder);

/* An empty filter, header and payload; NULL: there is no memory. */
uint8_t *bloom_filter_new(const struct bloom_shape *shape, const struct bloom_memory *memory);

#endif
