/* Unions and intersections of filters: filters are taken, one after the other, into the result.
 *
 * The filters must have equal parameters, except in layouts whose sizes mix: there a union has the
 * size of the largest filter, an intersection that of the smallest. Filters of a layout that can be
 * halved get the size of the smallest.
 */
#ifndef BLOOM_FILTER_MERGE_H
#define BLOOM_FILTER_MERGE_H

#include "base/memory.h"
#include "filter/layout.h"

enum bloom_merge_kind { BLOOM_UNION, BLOOM_INTERSECTION };

/* Zeros with kind and memory filled in: nothing was taken yet. */
struct bloom_merge {
    enum bloom_merge_kind kind;
    const struct bloom_memory *memory;
    /* Called with the bytes handled since the last call: BLOOM_MERGE_STRETCH at most while filters
     * are combined, a whole filter after it was copied or halved. true ends the merge. NULL: never
     * called. */
    bool (*interrupted)(void *argument, uint64_t bytes);
    void *argument;
    struct bloom_shape shape;
    uint8_t *filter; /* header and payload, from memory; NULL before the first */
};

/* A whole number of blocks of any layout. */
enum { BLOOM_MERGE_STRETCH = 4 << 20 };

/* Result of taking a filter. Differs: its parameters are not those of the filters before, and
 * problem says in what. */
enum bloom_merged {
    BLOOM_MERGED,
    BLOOM_MERGE_NO_MEMORY,
    BLOOM_MERGE_INTERRUPTED,
    BLOOM_MERGE_DIFFERS
};

/* Whether filters of a layout can be merged so at all. */
bool bloom_merge_offered(enum bloom_merge_kind kind, const struct bloom_layout *layout);

/* Takes one more filter in, header and payload, of a layout for which the merge is offered. After
 * any other result than BLOOM_MERGED the caller can only release the merge. */
enum bloom_merged bloom_merge_take(struct bloom_merge *merge, const struct bloom_shape *shape,
                                   const uint8_t *filter, bloom_problem problem);

/* Releases the result so far. */
void bloom_merge_release(struct bloom_merge *merge);

#endif
