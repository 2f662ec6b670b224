/* The formulas of the libraries, step by step in the order in which they round. */
#include "filter/layouts/classic_size.h"

#include <inttypes.h>

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
                            bloom_problem problem) {
    char number[BLOOM_NUMBER_SIZE];
    shape->bits = bits;
    if (bits == 0)
        return bloom_fail(
            problem,
            "n = %" PRIu64 " and p = %s: layout %s, with the size that its own library gives "
            "it, would have no bits. Ask for a smaller p",
            shape->capacity, bloom_number_text(number, shape->rate, 6), shape->layout->name);
    if (bits <= maximum)
        return true;
    return bloom_fail(problem,
                      "n = %" PRIu64 " at p = %s takes %" PRIu64
                      " bits, but layout %s has at most %" PRIu64
                      ". Make several filters, or one of layout blocked",
                      shape->capacity, bloom_number_text(number, shape->rate, 6), bits,
                      shape->layout->name, maximum);
}

bool bloom_foreign_size_as_guava(struct bloom_shape *shape, bloom_problem problem) {
    uint64_t bits = bloom_rounded_floor(bloom_foreign_bits(shape));
    uint64_t words = bits / BLOOM_WORD_BITS + (bits % BLOOM_WORD_BITS != 0);
    uint64_t probes = bloom_rounded_nearest(
        bloom_rounded_times(bloom_rounded_over(bloom_rounded_integer(bits),
                                               bloom_rounded_integer(bloom_foreign_keys(shape))),
                            BLOOM_ROUNDED_LN2));
    shape->probes = probes > 0 ? (uint32_t)probes : 1;
    if (probes > shape->layout->probes_maximum) {
        char number[BLOOM_NUMBER_SIZE];
        return bloom_fail(problem,
                          "n = %" PRIu64 " and p = %s take %" PRIu64
                          " hashes, but layout %s has at most %" PRIu32 ". Ask for a larger p",
                          shape->capacity, bloom_number_text(number, shape->rate, 6), probes,
                          shape->layout->name, shape->layout->probes_maximum);
    }
    return bloom_foreign_set_bits(shape, words * BLOOM_WORD_BITS, BLOOM_FOREIGN_JAVA_BITS, problem);
}
