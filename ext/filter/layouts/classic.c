/* Layout `classic`: k bits anywhere in the filter, where Guava's MURMUR128_MITZ_64 puts them.
 *
 * Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970; Kirsch, Mitzenmacher,
 * "Less Hashing, Same Performance", 2006; com.google.common.hash.BloomFilterStrategies for the
 * rule.
 */
#include "filter/layouts/classic.h"

#include <math.h>

enum { CLASSIC_NUMBER = 2 };

static inline uint64_t classic_step(struct bloom_walk *walk) {
    const uint64_t at = walk->at;
    walk->at += walk->step;
    return at & INT64_MAX;
}

BLOOM_WALK_MEMBERS(classic, 2, bloom_walk64_begin, classic_step);

struct bloom_estimate bloom_classic_estimate(const struct bloom_shape *shape,
                                             const uint8_t *payload) {
    struct bloom_estimate estimate = {0};
    estimate.ones = bloom_bitset_ones(payload, (size_t)bloom_payload_bytes(shape));
    estimate.fill = (double)estimate.ones / (double)shape->bits;
    estimate.count = -log1p(-estimate.fill) * (double)shape->bits / shape->probes;
    estimate.rate = pow(estimate.fill, shape->probes);
    return estimate;
}

/* The formulas of the libraries, step by step in the order in which they round. */

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

#define CLASSIC_LAYOUT(layout_name, key_hashing)                                                   \
    {                                                                                              \
        .name = layout_name, .hashing = &key_hashing, .number = CLASSIC_NUMBER, .hash_words = 2,   \
        .probes_maximum = BLOOM_CLASSIC_PROBES_MAXIMUM, .bits_multiple = 1,                        \
        .size = bloom_foreign_size_as_guava, /* so that filters of the same n and p merge */       \
            BLOOM_WALK_LAYOUT(classic),                                                            \
    }

const struct bloom_layout bloom_layout_classic = CLASSIC_LAYOUT("classic", bloom_hashing_murmur3);

/* The same bits for text as UTF-16: Guava's other funnel. */
const struct bloom_layout bloom_layout_classic_utf16 =
    CLASSIC_LAYOUT("classic-utf16", bloom_hashing_utf16);
