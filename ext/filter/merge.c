/* The first filter is copied; each further one is combined with the result. The larger of the
 * two keeps its memory, or is halved first, so that no third filter is needed. */
#include "filter/merge.h"

#include "base/limits.h"
#include "filter/header.h"

bloom_payload_merge *bloom_merge_function(enum bloom_merge_kind kind,
                                          const struct bloom_layout *layout) {
    return kind == BLOOM_UNION ? layout->unite : layout->intersect;
}

void bloom_merge_release(struct bloom_merge *merge) {
    bloom_release(merge->memory, merge->filter);
    merge->filter = NULL;
}

static bool proceed(const struct bloom_merge *merge, uint64_t bytes) {
    return merge->interrupted == NULL || !merge->interrupted(merge->argument, bytes);
}

/* Combines two filters over the length of the shorter payload. Returns false when interrupted. */
static bool combine(const struct bloom_merge *merge, const struct bloom_shape *into_shape,
                    uint8_t *into, const struct bloom_shape *from_shape, const uint8_t *from) {
    const struct bloom_layout *layout = into_shape->layout;
    uint64_t bytes = bloom_payload_bytes(into_shape), other = bloom_payload_bytes(from_shape);
    bytes = bytes < other ? bytes : other;
    into += bloom_header_bytes(into_shape);
    from += bloom_header_bytes(from_shape);
    for (uint64_t at = 0, now; at < bytes; at += now) {
        now = bytes - at < bloom_limits.merge_stretch ? bytes - at : bloom_limits.merge_stretch;
        bloom_merge_function(merge->kind, layout)(into + at, into + at, from + at, (size_t)now);
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

enum bloom_built bloom_merge_take(struct bloom_merge *merge, const struct bloom_shape *shape,
                                  const uint8_t *filter, bloom_problem problem) {
    const bool first = merge->filter == NULL, halves = shape->layout->halve != NULL;
    if (!first && !bloom_shape_merges(&merge->shape, shape, problem))
        return BLOOM_BUILD_REFUSED;
    if (!first && halves && !halve(merge, &merge->shape, merge->filter, shape->bits))
        return BLOOM_BUILD_INTERRUPTED;
    /* The result is as large as the smaller filter for an intersection, and where the larger one is
     * halved. Otherwise it is as large as the larger one. */
    if (!first && (merge->kind == BLOOM_UNION || halves ? shape->bits <= merge->shape.bits
                                                        : shape->bits >= merge->shape.bits))
        return combine(merge, &merge->shape, merge->filter, shape, filter)
                   ? BLOOM_BUILT
                   : BLOOM_BUILD_INTERRUPTED;
    struct bloom_shape copy_shape = *shape;
    uint8_t *copy = bloom_allocate(merge->memory, bloom_filter_bytes(shape));
    if (copy == NULL)
        return BLOOM_BUILD_NO_MEMORY;
    memcpy(copy, filter, (size_t)bloom_filter_bytes(shape));
    bool done = first ? proceed(merge, bloom_filter_bytes(shape))
                      : (!halves || halve(merge, &copy_shape, copy, merge->shape.bits)) &&
                            combine(merge, &copy_shape, copy, &merge->shape, merge->filter);
    bloom_release(merge->memory, merge->filter);
    merge->filter = copy;
    merge->shape = copy_shape;
    return done ? BLOOM_BUILT : BLOOM_BUILD_INTERRUPTED;
}
