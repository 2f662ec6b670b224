/* The inner loops of layout blocked: testing and setting the probes of keys.
 *
 * A kernel is written for one kind of processor; blocked.c chooses one when the layout is first
 * used. Its functions keep the contracts of the members of the same names in layout.h, so that a
 * call of the layout reaches the loop by one jump. Every kernel gives the same answers and the same
 * bytes as the portable one; tests compare all kernels that the processor supports.
 *
 * No kernel branches on whether a probe is set, so that a mix of present and absent keys costs what
 * either costs alone: a mispredicted answer costs 8 ns, all probes of a key 2. Measured per key at
 * p = 1 % (6 probes) on one core of a Zen 4 server, without hashing, in a filter of 1,000,000 keys,
 * half of the checked keys being in; one at a time and in batches of 32 and 1024:
 *
 *                check    in 32    in 1024       add    in 32    in 1024
 *     portable   6.1 ns   4.0 ns   4.0 ns      8.1 ns   6.3 ns   5.8 ns
 *     avx2       3.6      2.7      2.5         as portable
 *     avx512     3.4      2.7      2.4         7.1      4.7      4.0
 *
 * The number of instructions matters in cache and out of it: out of cache it limits how many misses
 * the processor has under way at a time. A check of 6 probes takes, by GCC 12, 28 instructions with
 * avx512, 37 with avx2, 50 with the portable kernel, and one of 1024 in a batch 57 with the latter.
 * On arm64, as an emulator traces them, or, with the portable kernel in 1024, as the loops have
 * them:
 *
 *                  check, 6 probes    in 1024    check, 9 probes    in 1024
 *     portable          52               56            71               96
 *     neon              44               30            66               55 */
#ifndef BLOOM_FILTER_LAYOUTS_KERNELS_BLOCKED_KERNEL_H
#define BLOOM_FILTER_LAYOUTS_KERNELS_BLOCKED_KERNEL_H

#include "base/portable.h"
#include "filter/layout.h"

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

/* The word that holds the first seven probes, and the word that follows `word`. */
static inline uint64_t bloom_probe_word(uint64_t value) {
    return value * BLOOM_PROBE_FACTOR + BLOOM_PROBE_OFFSET;
}

static inline uint64_t bloom_next_probe_word(uint64_t word) {
    return (word ^ word >> 32) * BLOOM_PROBE_FACTOR;
}

/* Where the block of a key begins, in bytes: floor(value * blocks / 2^64) * 64. It is computed from
 * bit number floor(value * bits / 2^64), which lies in the same block. */
static inline size_t bloom_block_offset(const struct bloom_shape *shape, uint64_t value) {
    return (size_t)(bloom_reduce(value, shape->bits) / 8) & ~(size_t)(BLOOM_BLOCK_BYTES - 1);
}

/* When many keys are checked, this many blocks are on their way into the cache while one is tested.
 * Fewer leave memory idle: in a filter of 10^8 keys a batch of 1024 takes 7.5 ns a key with 24, 6.6
 * with 32, 6.0 with 48, 5.0 with 64; more gain little. The loops prefetch in their own bodies: GCC
 * takes a function that only prefetches for one without effect and drops the calls to it. */
enum { BLOOM_BLOCKS_AHEAD = 64 };

/* Tests the probes of a key, of whose first word this is, in its block. */
typedef bool bloom_block_check(const uint8_t *block, uint64_t value, uint32_t probes);

/* The check_many of a kernel that tests a key at once: few when its probes are those of one word,
 * else many. The loops that nearly all filters take have no branch but their own. */
BLOOM_INLINE void bloom_blocked_check_each(const struct bloom_shape *shape, const uint8_t *payload,
                                           const uint64_t *words, size_t count, uint8_t *found,
                                           bloom_block_check *few, bloom_block_check *many) {
    const struct bloom_shape here = *shape; /* what is written to found cannot change it */
    size_t i;
    for (i = 0; i < count && i < BLOOM_BLOCKS_AHEAD; i++)
        BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i]));
    for (i = 0; i + BLOOM_BLOCKS_AHEAD < count && here.probes <= BLOOM_PROBES_PER_WORD; i++) {
        BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i + BLOOM_BLOCKS_AHEAD]));
        found[i] = few(payload + bloom_block_offset(&here, words[i]), words[i], here.probes);
    }
    for (; i < count && here.probes <= BLOOM_PROBES_PER_WORD; i++)
        found[i] = few(payload + bloom_block_offset(&here, words[i]), words[i], here.probes);
    for (; i < count; i++) {
        if (i + BLOOM_BLOCKS_AHEAD < count)
            BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i + BLOOM_BLOCKS_AHEAD]));
        found[i] = many(payload + bloom_block_offset(&here, words[i]), words[i], here.probes);
    }
}

struct bloom_blocked_kernel {
    const char *name;
    bool (*supported)(void); /* by this processor */

    bloom_word_check *check;
    void (*check_many)(const struct bloom_shape *shape, const uint8_t *payload,
                       const uint64_t *words, size_t count, uint8_t *found);
    void (*add)(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                size_t count);
    bool (*check_block)(const struct bloom_shape *shape, const uint8_t *block,
                        const uint64_t *words);
};

/* The kernel that every machine can run, and its functions for adding, which the AVX2 kernel uses
 * too: AVX2 adds no faster. */
extern const struct bloom_blocked_kernel bloom_blocked_portable;
void bloom_blocked_portable_add(const struct bloom_shape *shape, uint8_t *payload,
                                const uint64_t *words, size_t count);

#if defined(__x86_64__) && defined(__GNUC__)
#define BLOOM_X86_KERNELS 1

/* How far each of eight lanes shifts a word, so that each lane has a probe at its low end. For a
 * word of 1 to 7 probes these are the eight entries from index probes - 1 on. Lanes that are left
 * over test the first probe again. */
static const uint64_t BLOOM_LANE_SHIFTS[] = {55, 55, 55, 55, 55, 55, 55, 55, 46, 37, 28, 19, 10, 1};

extern const struct bloom_blocked_kernel bloom_blocked_avx2;
extern const struct bloom_blocked_kernel bloom_blocked_avx512;
#endif

#if defined(__aarch64__) && defined(__ARM_NEON) && defined(__GNUC__) && !BLOOM_BIG_ENDIAN
#define BLOOM_NEON_KERNEL 1
extern const struct bloom_blocked_kernel bloom_blocked_neon;
#endif

/* All kernels of this build, fastest first, the last one portable; ends with NULL. */
extern const struct bloom_blocked_kernel *const bloom_blocked_kernels[];

#endif
