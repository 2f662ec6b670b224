/* How many bits and hashes a filter needs: the mathematics of both layouts, and nothing else.
 *
 * Everything here is integer arithmetic on the bits of the double p, so that every machine,
 * compiler and C library gives the same answer to the last bit: a filter rebuilt elsewhere must
 * come out as the same bytes.
 */
#ifndef BLOOM_SIZING_H
#define BLOOM_SIZING_H

#include <stdbool.h>
#include <stdint.h>

/* log2(1 / rate) for 0 < rate < 1, in units of 2^-BLOOM_LOG_FRACTION_BITS, within two units. */
#define BLOOM_LOG_FRACTION_BITS 48
uint64_t bloom_sizing_log(double rate);

/* Layout blocked: hashes and 512-bit blocks for capacity keys (1 to 2^40) at rate. Returns false
 * when rate is below what the layout can keep for that capacity (9.4e-10, more for more than 10^9
 * keys). */
bool bloom_sizing_blocked(uint64_t capacity, double rate, uint32_t *probes, uint64_t *blocks);

/* Layout classic: hashes and bits, a multiple of 64, for capacity keys (1 to 2^40) at rate, 2^-40 or more.
 * These are the classic k = log2(1/p) to the nearest integer and m = n log2(1/p) / ln 2, with more bits where
 * that k, or that k positions follow from two numbers, would exceed the rate: for p = 1 % below 1000 keys,
 * for p = 10^-6 below 10^6. */
#define BLOOM_CLASSIC_RATE_MINIMUM (1.0 / (UINT64_C(1) << 40))
void bloom_sizing_classic(uint64_t capacity, double rate, uint32_t *probes, uint64_t *bits);

#endif
