/* What the layouts with bits anywhere in the filter share: classic, classic32, those of Spark,
 * DCSO, Go and Redis. They differ in where the bits of a key are. A number of set bits means the
 * same in all of them. */
#ifndef BLOOM_FILTER_LAYOUTS_CLASSIC_H
#define BLOOM_FILTER_LAYOUTS_CLASSIC_H

#include "filter/layout.h"

/* Guava stores k in one byte. */
#define BLOOM_CLASSIC_PROBES_MAXIMUM 255

static inline void bloom_classic_set(uint8_t *payload, uint64_t bit) {
    payload[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

static inline bool bloom_classic_is_set(const uint8_t *payload, uint64_t bit) {
    return (payload[bit >> 3] >> (bit & 7) & 1) != 0;
}

/* Place keys by the two 32-bit halves of their first word. The bit of turn 1 to k is low + turn *
 * high modulo m; where this sum is negative as a 32-bit number, its complement takes its place.
 * Guava's older strategy and Spark's first version place keys in this way. */
void bloom_classic32_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *values,
                         size_t count);
bool bloom_classic32_check(const struct bloom_shape *shape, const uint8_t *payload,
                           const uint64_t *value);
void bloom_classic32_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                                const uint64_t *values, size_t count, uint8_t *found);

/* Estimates from a payload of shape->bits bits, those beyond the last being zero: -(m / k) ln(1 -
 * fill) keys and the rate fill^k, as Guava's approximateElementCount and expectedFpp. */
struct bloom_estimate bloom_classic_estimate(const struct bloom_shape *shape,
                                             const uint8_t *payload);

#endif
