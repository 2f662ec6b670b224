/* The first filter is copied; each further one is combined with the result. The larger of the
 * two keeps its memory, or is halved first, so that no third filter is needed. */
#include "filter/merge.h"

#include "filter/header.h"

bool bloom_merge_offered(enum bloom_merge_kind kind, const struct bloom_layout *layout) {
    return (kind == BLOOM_UNION ? layout->unite : layout->intersect) != NULL;
}

void bloom_merge_release(struct bloom_merge *merge) {
    bloom_release(merge->memory, merge->filter);
    merge->filter = NULL;
}

static bool proceed(const struct bloom_merge *merge, uint64_t bytes) {
    return merge->interrupted == NULL || !merge->interrupted(merge->argument, bytes);
}

/* Combines two payloads over the length of the shorter one. Returns false when interrupted. */
static bool combine(const struct bloom_merge *merge, const struct bloom_shape *into_shape,
                    uint8_t *into, const struct bloom_shape *from_shape, const uint8_t *from) {
    const struct bloom_layout *layout = into_shape->layout;
    uint64_t bytes = bloom_payload_bytes(into_shape), other = bloom_payload_bytes(from_shape);
    bytes = bytes < other ? bytes : other;
    for (uint64_t at = 0, now; at < bytes; at += now) {
        now = bytes - at < BLOOM_MERGE_STRETCH ? bytes - at : BLOOM_MERGE_STRETCH;
        (merge->kind == BLOOM_UNION ? layout->unite : layout->intersect)(into + at, from + at,
                                                                         (size_t)now);
        if (!proceed(merge, now))
            return false;
    }
    return true;
}

/* Halves a filter that the merge owns until it has the given number of bits. Returns false when
 * interrupted. */
static bool halve(const struct bloom_merge *merge, struct bloom_shape *shape, uint8_t *filter,
                  uint64_t bits) {
    while (shape->bits > bits) {
        uint64_t bytes = bloom_payload_bytes(shape);
        shape->layout->halve(filter + bloom_header_bytes(shape), bytes);
        shape->bits /= 2;
        bloom_header_write(shape, filter);
        if (!proceed(merge, bytes))
            return false;
    }
    return true;
}

static uint8_t *copy_filter(const struct bloom_merge *merge, const struct bloom_shape *shape,
                            const uint8_t *filter) {
    uint8_t *copy = bloom_allocate(merge->memory, bloom_filter_bytes(shape));
    if (copy != NULL)
        memcpy(copy, filter, (size_t)bloom_filter_bytes(shape));
    return copy;
}

enum bloom_merged bloom_merge_take(struct bloom_merge *merge, const struct bloom_shape *shape,
                                   const uint8_t *filter, bloom_problem problem) {
    const struct bloom_layout *layout = shape->layout;
    bool done;
    if (merge->filter == NULL) {
        merge->shape = *shape;
        merge->filter = copy_filter(merge, shape, filter);
        if (merge->filter == NULL)
            return BLOOM_MERGE_NO_MEMORY;
        return proceed(merge, bloom_filter_bytes(shape)) ? BLOOM_MERGED : BLOOM_MERGE_INTERRUPTED;
    }
    if (!bloom_shape_merges(&merge->shape, shape, problem))
        return BLOOM_MERGE_DIFFERS;
    /* The result is as large as the smaller filter for an intersection, and where the larger one is
     * halved. Otherwise it is as large as the larger one. */
    bool smaller = shape->bits < merge->shape.bits;
    if (layout->halve != NULL && smaller &&
        !halve(merge, &merge->shape, merge->filter, shape->bits))
        return BLOOM_MERGE_INTERRUPTED;
    if (merge->kind == BLOOM_UNION || layout->halve != NULL ? shape->bits > merge->shape.bits
                                                            : smaller) {
        uint8_t *copy = copy_filter(merge, shape, filter);
        struct bloom_shape copy_shape = *shape;
        if (copy == NULL)
            return BLOOM_MERGE_NO_MEMORY;
        done = (layout->halve == NULL || halve(merge, &copy_shape, copy, merge->shape.bits)) &&
               combine(merge, &copy_shape, copy + bloom_header_bytes(&copy_shape), &merge->shape,
                       merge->filter + bloom_header_bytes(&merge->shape));
        bloom_release(merge->memory, merge->filter);
        merge->filter = copy;
        merge->shape = copy_shape;
    } else {
        done = combine(merge, &merge->shape, merge->filter + bloom_header_bytes(&merge->shape),
                       shape, filter + bloom_header_bytes(shape));
    }
    return done ? BLOOM_MERGED : BLOOM_MERGE_INTERRUPTED;
}
