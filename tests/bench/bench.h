/* Keys, times and medians of the benchmarks in C. */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The key of a number, by SplitMix64 (Steele, Lea, Flood, 2014): the same on every machine,
 * different for different numbers, and with nothing in common with the hashes under test. */
static inline uint64_t bench_random(uint64_t number) {
    uint64_t word = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

/* In ns. */
static inline double bench_now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static inline int bench_compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static inline double bench_median(double *times, size_t count) {
    qsort(times, count, sizeof *times, bench_compare);
    return (times[(count - 1) / 2] + times[count / 2]) / 2;
}

#endif
