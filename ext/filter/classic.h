/* What the layouts share whose bits lie anywhere in the filter: classic, classic32, those of Spark,
 * DCSO, Go and Redis. They differ in where the bits of a key are, not in what a number of set bits
 * says. */
#ifndef BLOOM_CLASSIC_H
#define BLOOM_CLASSIC_H

#include "filter/layout.h"

/* Guava stores k in one byte. */
#define BLOOM_CLASSIC_PROBES_MAXIMUM 255

static inline void bloom_classic_set(uint8_t *payload, uint64_t bit) {
    payload[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

static inline bool bloom_classic_is_set(const uint8_t *payload, uint64_t bit) {
    return (payload[bit >> 3] >> (bit & 7) & 1) != 0;
}

/* Keys by two halves of 32 bits of their first word: the bit of turn 1 to k is low + turn * high,
 * or its complement where that is negative as a number of 32 bits, modulo m. Guava's older strategy
 * and Spark's first version place them so. */
void bloom_classic32_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *values,
                         size_t count);
bool bloom_classic32_check(const struct bloom_shape *shape, const uint8_t *payload,
                           const uint64_t *value);
void bloom_classic32_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                                const uint64_t *values, size_t count, uint8_t *found);

/* What a payload of shape->bits bits, those beyond zero, tells: as Guava's approximateElementCount
 * and expectedFpp, -(m / k) ln(1 - fill) and fill^k. */
struct bloom_estimate bloom_classic_estimate(const struct bloom_shape *shape,
                                             const uint8_t *payload);

#endif
