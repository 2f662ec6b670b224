/* The inner loop of layout blocked: testing the probes of a key against its block.
 *
 * layout_blocked.c defines the layout, finds blocks and overlaps cache misses; a kernel only looks at one
 * block at a time. Every kernel gives the same answers as the portable one; tests compare all that the
 * processor has.
 *
 * Measured per absent key at p = 1 % on one core of a Zen 4 server, hashes given, 1 / 10 / 100 million keys:
 *
 *                one at a time        in batches
 *     portable   11 / 14 / 28 ns      5.5 / 6.6 / 21 ns
 *     avx2       3.8 / 7.4 / 26 ns    2.6 / 4.7 / 14 ns
 *     avx512     3.4 / 5.4 / 23 ns    2.2 / 3.0 / 10 ns
 */
#ifndef BLOOM_BLOCKED_KERNEL_H
#define BLOOM_BLOCKED_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BLOOM_BLOCK_BITS = 512,
    BLOOM_BLOCK_BYTES = BLOOM_BLOCK_BITS / 8,
    BLOOM_PROBE_BITS = 9,
    BLOOM_PROBES_PER_WORD = 7
};

/* 2^64 divided by the golden ratio, made odd; and the digits of the square root of two. */
#define BLOOM_PROBE_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define BLOOM_PROBE_OFFSET UINT64_C(0xb504f333f9de6485)

/* The word that the first seven probes are taken from, and the one after word. */
static inline uint64_t bloom_probe_word(uint64_t value) {
    return value * BLOOM_PROBE_FACTOR + BLOOM_PROBE_OFFSET;
}

static inline uint64_t bloom_next_probe_word(uint64_t word) {
    return (word ^ word >> 32) * BLOOM_PROBE_FACTOR;
}

struct bloom_blocked_kernel {
    const char *name;
    bool (*supported)(void); /* by this processor */
    /* Whether all probes that begin with word are set in block. */
    bool (*check)(const uint8_t *block, uint64_t word, uint32_t hashes);
    /* The same for count keys whose blocks are on their way into the cache. */
    void (*check_batch)(const uint8_t *const *blocks, const uint64_t *words, size_t count,
                        uint32_t hashes, uint8_t *found);
};

/* All kernels of this build, fastest first, the last one portable; ends with NULL. */
extern const struct bloom_blocked_kernel *const bloom_blocked_kernels[];

#if defined(__x86_64__) && defined(__GNUC__)
#define BLOOM_X86_KERNELS 1
extern const struct bloom_blocked_kernel bloom_blocked_avx2;
extern const struct bloom_blocked_kernel bloom_blocked_avx512;
#endif

#endif
