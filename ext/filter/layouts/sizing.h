/* How many blocks and hashes a filter of layout blocked needs: the mathematics, and nothing else.
 *
 * Everything here is integer arithmetic on the bits of the double p, so that every machine,
 * compiler and C library gives the same answer to the last bit: a filter rebuilt elsewhere must
 * come out as the same bytes.
 */
#ifndef BLOOM_FILTER_LAYOUTS_SIZING_H
#define BLOOM_FILTER_LAYOUTS_SIZING_H

#include <stdbool.h>
#include <stdint.h>

/* Layout blocked: hashes and 512-bit blocks for capacity keys (1 to 2^40) at rate. Returns false
 * when rate is below what the layout can keep for that capacity (9.4e-10, more for more than 10^9
 * keys). */
bool bloom_sizing_blocked(uint64_t capacity, double rate, uint32_t *probes, uint64_t *blocks);

#endif
