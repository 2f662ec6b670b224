/* Payloads as plain sets of bits: what merging and counting need, whatever the layout. */
#ifndef BLOOM_BASE_BITSET_H
#define BLOOM_BASE_BITSET_H

#include <stddef.h>
#include <stdint.h>

/* into |= from, and into &= from, over bytes bytes; the two do not overlap. */
void bloom_bitset_union(uint8_t *into, const uint8_t *from, size_t bytes);
void bloom_bitset_intersect(uint8_t *into, const uint8_t *from, size_t bytes);

/* The number of bits set in bytes bytes. */
uint64_t bloom_bitset_ones(const uint8_t *set, size_t bytes);

#endif
