/* Layout `classic`: k bits anywhere in the filter, where Guava's MURMUR128_MITZ_64 puts them.
 *
 * With h the two words of a key's hash: c = h[0]; k times: bit (c & (2^63 - 1)) mod m, then c +=
 * h[1] (mod 2^64). Bit b of the filter is bit b & 7 of byte b >> 3 of the payload.
 *
 * Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970; Kirsch, Mitzenmacher,
 * "Less Hashing, Same Performance", 2006; com.google.common.hash.BloomFilterStrategies for the
 * rule.
 */
#include "filter/layouts/classic.h"

#include "base/bitset.h"
#include "filter/layouts/classic_size.h"

#include <math.h>

enum { CLASSIC_NUMBER = 2 };

static inline uint64_t classic_bit(uint64_t combined, uint64_t bits) {
    return (combined & INT64_MAX) % bits;
}

static void classic_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *values,
                        size_t count) {
    for (const uint64_t *end = values + 2 * count; values < end; values += 2) {
        uint64_t combined = values[0];
        for (uint32_t i = 0; i < shape->probes; i++, combined += values[1])
            bloom_classic_set(payload, classic_bit(combined, shape->bits));
    }
}

static bool classic_check(const struct bloom_shape *shape, const uint8_t *payload,
                          const uint64_t *value) {
    uint64_t combined = value[0];
    for (uint32_t i = 0; i < shape->probes; i++, combined += value[1])
        if (!bloom_classic_is_set(payload, classic_bit(combined, shape->bits)))
            return false;
    return true;
}

static void classic_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                               const uint64_t *values, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = classic_check(shape, payload, values + 2 * i);
}

/* As Guava's approximateElementCount and expectedFpp: -(m / k) ln(1 - fill) and fill^k. */
struct bloom_estimate bloom_classic_estimate(const struct bloom_shape *shape,
                                             const uint8_t *payload) {
    struct bloom_estimate estimate = {0};
    estimate.ones = bloom_bitset_ones(payload, (size_t)bloom_payload_bytes(shape));
    estimate.fill = (double)estimate.ones / (double)shape->bits;
    estimate.count = -log1p(-estimate.fill) * (double)shape->bits / shape->probes;
    estimate.rate = pow(estimate.fill, shape->probes);
    return estimate;
}

const struct bloom_layout bloom_layout_classic = {
    .name = "classic",
    .hashing = &bloom_hashing_murmur3,
    .number = CLASSIC_NUMBER,
    .hash_words = 2,
    .probes_maximum = BLOOM_CLASSIC_PROBES_MAXIMUM,
    .bits_multiple = 1,
    .size = bloom_foreign_size_as_guava, /* so that filters of the same n and p merge */
    .add = classic_add,
    .check = classic_check,
    .check_many = classic_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};

/* The same bits for text as UTF-16: Guava's other funnel. */
const struct bloom_layout bloom_layout_classic_utf16 = {
    .name = "classic-utf16",
    .hashing = &bloom_hashing_utf16,
    .number = CLASSIC_NUMBER,
    .hash_words = 2,
    .probes_maximum = BLOOM_CLASSIC_PROBES_MAXIMUM,
    .bits_multiple = 1,
    .size = bloom_foreign_size_as_guava, /* so that filters of the same n and p merge */
    .add = classic_add,
    .check = classic_check,
    .check_many = classic_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};
