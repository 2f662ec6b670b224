/* See foreign.h. */
#include "filter/foreign.h"

#include <inttypes.h>
#include <stdio.h>

struct bloom_rounded bloom_foreign_bits(const struct bloom_shape *shape) {
    struct bloom_rounded log = bloom_rounded_log(bloom_rounded_double(shape->rate));
    return bloom_rounded_over(
        bloom_rounded_times(bloom_rounded_integer(bloom_foreign_keys(shape)), log),
        bloom_rounded_times(BLOOM_ROUNDED_LN2, BLOOM_ROUNDED_LN2));
}

struct bloom_rounded bloom_foreign_probes(const struct bloom_shape *shape, uint64_t bits) {
    return bloom_rounded_over(bloom_rounded_times(BLOOM_ROUNDED_LN2, bloom_rounded_integer(bits)),
                              bloom_rounded_integer(bloom_foreign_keys(shape)));
}

bool bloom_foreign_set_bits(struct bloom_shape *shape, uint64_t bits, uint64_t maximum,
                            char problem[BLOOM_PROBLEM_SIZE]) {
    shape->bits = bits;
    if (bits <= maximum)
        return true;
    snprintf(problem, BLOOM_PROBLEM_SIZE,
             "n = %" PRIu64 " at p = %g takes %" PRIu64 " bits, layout %s has at most %" PRIu64
             "; make several filters, or one of layout blocked",
             shape->capacity, shape->rate, bits, shape->layout->name, maximum);
    return false;
}

bool bloom_foreign_kept(const struct bloom_shape *shape, struct bloom_rounded rate,
                        char problem[BLOOM_PROBLEM_SIZE]) {
    struct bloom_rounded share = bloom_rounded_over(rate, bloom_rounded_double(shape->rate));
    (void)problem;(void)share;
    return true;
}

bool bloom_foreign_keeps(const struct bloom_shape *shape, bool steps,
                         char problem[BLOOM_PROBLEM_SIZE]) {
    (void)steps;
    return bloom_foreign_kept(shape, bloom_rounded_integer(1), problem);
}
