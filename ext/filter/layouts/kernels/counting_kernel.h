/* The inner loop of layout counting: whether every probe's counter is above zero. counting.c
 * chooses a kernel when it is first asked. No kernel branches on what it finds; all give the same
 * answers.
 *
 * Measured per key at p = 2^-8 (7 probes) on one core of a Zen 5 server, without hashing, one at a
 * time, in filters of 10^4, 10^5 and 10^6 keys (61 KB, 0.6 MB, 6 MB):
 *
 *     portable          5.5 ns   6.6 ns   15 ns
 *     avx512            2.6      3.3       7
 *     layout blocked    2.0      2.2       3 to 4
 *
 * There is no kernel for AVX2, which permutes words within 32 bytes only. */
#ifndef BLOOM_FILTER_LAYOUTS_KERNELS_COUNTING_KERNEL_H
#define BLOOM_FILTER_LAYOUTS_KERNELS_COUNTING_KERNEL_H

#include "filter/layouts/kernels/blocked_kernel.h"

struct bloom_counting_kernel {
    const char *name;
    bool (*supported)(void); /* by this processor */
    bool (*check)(const struct bloom_shape *shape, const uint8_t *block, const uint64_t *words);
};

#ifdef BLOOM_X86_KERNELS
extern const struct bloom_counting_kernel bloom_counting_avx512;
#endif

/* All kernels of this build, fastest first, the last one portable; ends with NULL. */
extern const struct bloom_counting_kernel *const bloom_counting_kernels[];

#endif
