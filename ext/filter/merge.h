/* Unions and intersections of filters, which are merged into the result one after the other.
 *
 * The filters must have equal parameters, except in layouts whose sizes mix. There a union has the
 * size of the largest filter, and an intersection has the size of the smallest. In a layout whose
 * filters can be halved, the result has the size of the smallest filter. */
#ifndef BLOOM_FILTER_MERGE_H
#define BLOOM_FILTER_MERGE_H

#include "base/limits.h"
#include "base/memory.h"
#include "filter/layout.h"

#include <assert.h>

enum bloom_merge_kind { BLOOM_UNION, BLOOM_INTERSECTION };

/* Begins as zeros with kind and memory set. */
struct bloom_merge {
    enum bloom_merge_kind kind;
    const struct bloom_memory *memory;
    /* Called with the bytes that were processed since the last call: a stretch while filters are
     * combined, a complete filter after it was copied or halved. Returning true ends the merge. May
     * be NULL. */
    bool (*interrupted)(void *argument, uint64_t bytes);
    void *argument;
    struct bloom_shape shape;
    uint8_t *filter; /* header and payload, from memory; NULL before the first */
};

static_assert(BLOOM_MOST(merge_stretch) % BLOOM_BLOCK_BYTES_MAXIMUM == 0,
              "a stretch of whole blocks");

/* Returns how the layout merges, or NULL when it does not support this kind of merge. */
bloom_payload_merge *bloom_merge_function(enum bloom_merge_kind kind,
                                          const struct bloom_layout *layout);

/* Merges one more filter, header and payload, whose layout supports the merge. The result is
 * BLOOM_BUILD_REFUSED when its parameters differ from those of the filters before; problem lists
 * the differences. After any result other than BLOOM_BUILT the caller can only release the merge.
 */
enum bloom_built bloom_merge_take(struct bloom_merge *merge, const struct bloom_shape *shape,
                                  const uint8_t *filter, bloom_problem problem);

/* Releases the result so far. */
void bloom_merge_release(struct bloom_merge *merge);

#endif
