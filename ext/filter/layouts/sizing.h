/* The number of blocks and hashes of a filter of layout blocked.
 *
 * Everything here is integer arithmetic on the bits of the double p, so that every machine,
 * compiler and C library gets exactly the same answer: a filter that is built again elsewhere must
 * have the same bytes. */
#ifndef BLOOM_FILTER_LAYOUTS_SIZING_H
#define BLOOM_FILTER_LAYOUTS_SIZING_H

#include <stdbool.h>
#include <stdint.h>

/* Computes hashes and 512-bit blocks for capacity keys (1 to 2^40) at rate. Returns false when rate
 * is below what the layout can keep for that capacity (9.4e-10, or more for more than 10^9 keys).
 */
bool bloom_sizing_blocked(uint64_t capacity, double rate, uint32_t *probes, uint64_t *blocks);

#endif
