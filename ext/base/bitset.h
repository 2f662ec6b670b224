/* Payloads as sets of bits, for merging and counting, whatever the layout: plain loops, of which
 * compilers make vector code. */
#ifndef BLOOM_BASE_BITSET_H
#define BLOOM_BASE_BITSET_H

#include "base/portable.h"

#include <stddef.h>

/* into |= from, and into &= from, for the given number of bytes. The two must not overlap. */
static inline void bloom_bitset_union(uint8_t *into, const uint8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        into[i] |= from[i];
}

static inline void bloom_bitset_intersect(uint8_t *into, const uint8_t *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        into[i] &= from[i];
}

/* Returns the number of bits that are set. */
static inline uint64_t bloom_bitset_ones(const uint8_t *set, size_t bytes) {
    uint64_t ones = 0;
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8)
        ones += bloom_popcount64(bloom_load64(set + i));
    for (; i < bytes; i++)
        ones += bloom_popcount64(set[i]);
    return ones;
}

#endif
