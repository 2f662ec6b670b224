/* Payloads as sets of bits, for merging and counting, whatever the layout. */
#ifndef BLOOM_BASE_BITSET_H
#define BLOOM_BASE_BITSET_H

#include <stddef.h>
#include <stdint.h>

/* into |= from, and into &= from, for the given number of bytes. The two must not overlap. */
void bloom_bitset_union(uint8_t *into, const uint8_t *from, size_t bytes);
void bloom_bitset_intersect(uint8_t *into, const uint8_t *from, size_t bytes);

/* Returns the number of bits that are set. */
uint64_t bloom_bitset_ones(const uint8_t *set, size_t bytes);

#endif
