/* Kernel of layout blocked for 64-bit ARM, all of which have NEON. See blocked_kernel.h.
 *
 * The block is the table of one look-up instruction: eight lanes hold the number of a probe's byte
 * and get that byte. Counted under an emulator, a key of 6 probes takes 36 instructions in a large
 * batch and 60 alone, against 67 and 77 of the portable kernel; no machine was at hand to time it. */
#include "filter/blocked_kernel.h"

#ifdef BLOOM_ARM_KERNELS

#include <arm_neon.h>

/* The low halves of the lanes of a, then of b. */
static inline uint32x4_t neon_narrow(uint64x2_t a, uint64x2_t b) {
    return vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}

/* Eight lanes, zero where a probe is zero; shifts is how far each lane shifts the word to the left,
 * which is less than zero: to the right. */
static inline uint8x8_t neon_word(uint8x16x4_t block, uint64_t word, const int64_t *shifts) {
    uint64x2_t all = vdupq_n_u64(word);
    uint32x4_t first = neon_narrow(vshlq_u64(all, vld1q_s64(shifts)), //
                                   vshlq_u64(all, vld1q_s64(shifts + 2)));
    uint32x4_t last =
        neon_narrow(vshlq_u64(all, vld1q_s64(shifts + 4)), vshlq_u64(all, vld1q_s64(shifts + 6)));
    uint16x8_t probes = vuzp1q_u16(vreinterpretq_u16_u32(first), vreinterpretq_u16_u32(last));
    uint8x8_t byte = vand_u8(vshrn_n_u16(probes, 3), vdup_n_u8(BLOOM_BLOCK_BYTES - 1));
    uint8x8_t bit = vand_u8(vmovn_u16(probes), vdup_n_u8(7));
    return vtst_u8(vqtbl4_u8(block, byte), vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(bit)));
}

/* For a number of probes from 1 to 7; the lanes left over look at the first probe once more. */
static inline const int64_t *neon_shifts(uint32_t probes) {
    static const int64_t SHIFTS[] = {-55, -55, -55, -55, -55, -55, -55,
                                     -55, -46, -37, -28, -19, -10, -1};
    return SHIFTS + probes - 1;
}

static inline bool neon_all(const uint8_t *block, uint64_t value, uint32_t probes) {
    const uint8x16x4_t whole = {
        {vld1q_u8(block), vld1q_u8(block + 16), vld1q_u8(block + 32), vld1q_u8(block + 48)}};
    uint64_t word = bloom_probe_word(value);
    uint8x8_t all = vdup_n_u8(UINT8_MAX);
    for (; probes > BLOOM_PROBES_PER_WORD; probes -= BLOOM_PROBES_PER_WORD) {
        all = vand_u8(all, neon_word(whole, word, neon_shifts(BLOOM_PROBES_PER_WORD)));
        word = bloom_next_probe_word(word);
    }
    all = vand_u8(all, neon_word(whole, word, neon_shifts(probes)));
    return vget_lane_u64(vreinterpret_u64_u8(all), 0) == UINT64_MAX;
}

static bool neon_check_block(const struct bloom_shape *shape, const uint8_t *block,
                             const uint64_t *words) {
    return neon_all(block, words[0], shape->probes);
}

static bool neon_check(const struct bloom_shape *shape, const uint8_t *payload,
                       const uint64_t *words) {
    return neon_all(payload + bloom_block_offset(shape, words[0]), words[0], shape->probes);
}

static void neon_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                            const uint64_t *words, size_t count, uint8_t *found) {
    const struct bloom_shape here = *shape; /* what is written to found cannot change it */
    size_t i;
    for (i = 0; i < count && i < BLOOM_BLOCKS_AHEAD; i++)
        BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i]));
    for (i = 0; i < count; i++) {
        if (i + BLOOM_BLOCKS_AHEAD < count)
            BLOOM_PREFETCH(payload + bloom_block_offset(&here, words[i + BLOOM_BLOCKS_AHEAD]));
        found[i] = neon_all(payload + bloom_block_offset(&here, words[i]), words[i], here.probes);
    }
}

static bool neon_supported(void) {
    return true;
}

const struct bloom_blocked_kernel bloom_blocked_neon = {
    .name = "neon",
    .supported = neon_supported,
    .check = neon_check,
    .check_many = neon_check_many,
    .add = bloom_blocked_portable_add,
    .check_block = neon_check_block,
};

#else
/* ISO C forbids an empty translation unit. */
extern const struct bloom_blocked_kernel bloom_blocked_portable;
#endif
