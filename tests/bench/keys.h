/* The keys of the benchmarks in C, made from their numbers: the same on every machine, different
 * for different numbers, and with nothing in common with the hashes under test. */
#ifndef BENCH_KEYS_H
#define BENCH_KEYS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BENCH_STEP UINT64_C(0x9e3779b97f4a7c15)

/* SplitMix64 (Steele, Lea, Flood, 2014) of a state that goes on by BENCH_STEP. */
static inline uint64_t bench_mixed(uint64_t word) {
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static inline uint64_t bench_random(uint64_t number) {
    return bench_mixed((number + 1) * BENCH_STEP);
}

#endif
