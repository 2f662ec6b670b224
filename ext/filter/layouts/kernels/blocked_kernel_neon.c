/* The kernel of layout blocked for arm64, all processors of which have NEON. One table look-up
 * takes the bytes out of the block that seven probes choose. */
#include "filter/layouts/kernels/kernel.h"

#ifdef BLOOM_NEON_KERNEL

#include <arm_neon.h>

/* How the probes of a word, 1 to 7 of them, get into eight lanes of 16 bits: the two bytes that
 * hold the lane's probe, and how far to shift them to the left so that the probe is at the top. The
 * lanes that remain test the first probe again. */
struct neon_lanes {
    uint8_t bytes[16];
    int16_t shifts[8];
};

#define NEON_BYTES(i) 6 - (i), 7 - (i)
#define NEON_LANES(a, b, c, d, e, f, g)                                                            \
    {                                                                                              \
        {NEON_BYTES(0), NEON_BYTES(a), NEON_BYTES(b), NEON_BYTES(c),                               \
         NEON_BYTES(d), NEON_BYTES(e), NEON_BYTES(f), NEON_BYTES(g)},                              \
            {0, a, b, c, d, e, f, g},                                                              \
    }

static const struct neon_lanes NEON_LANES_OF[BLOOM_PROBES_PER_WORD] = {
    NEON_LANES(0, 0, 0, 0, 0, 0, 0), NEON_LANES(1, 0, 0, 0, 0, 0, 0),
    NEON_LANES(1, 2, 0, 0, 0, 0, 0), NEON_LANES(1, 2, 3, 0, 0, 0, 0),
    NEON_LANES(1, 2, 3, 4, 0, 0, 0), NEON_LANES(1, 2, 3, 4, 5, 0, 0),
    NEON_LANES(1, 2, 3, 4, 5, 6, 0),
};

/* Returns all ones in the lanes whose probe is set. The upper six bits of a probe choose a byte of
 * the block, the lower three choose its bit. */
BLOOM_INLINE uint16x8_t neon_set(uint8x16x4_t block, uint64_t word, uint32_t probes) {
    const struct neon_lanes *lanes = NEON_LANES_OF + probes - 1;
    uint8x16_t pairs = vqtbl1q_u8(vreinterpretq_u8_u64(vdupq_n_u64(word)), vld1q_u8(lanes->bytes));
    uint16x8_t tops = vshlq_u16(vreinterpretq_u16_u8(pairs), vld1q_s16(lanes->shifts));
    uint8x16_t bytes = vqtbl4q_u8(block, vreinterpretq_u8_u16(vshrq_n_u16(tops, 10)));
    uint16x8_t bits = vandq_u16(vshrq_n_u16(tops, 7), vdupq_n_u16(7));
    uint16x8_t masks = vshlq_u16(vdupq_n_u16(1), vreinterpretq_s16_u16(bits));
    return vtstq_u16(vreinterpretq_u16_u8(bytes), masks);
}

BLOOM_INLINE bool neon_find(const struct bloom_shape *shape, const uint8_t *block,
                            const uint64_t *words, bool few) {
    const uint8x16x4_t bits = vld1q_u8_x4(block);
    uint64_t word = bloom_probe_word(words[0]);
    uint32_t probes = shape->probes;
    uint16x8_t all = vdupq_n_u16(UINT16_MAX);
    for (; !few && probes > BLOOM_PROBES_PER_WORD; probes -= BLOOM_PROBES_PER_WORD) {
        all = vandq_u16(all, neon_set(bits, word, BLOOM_PROBES_PER_WORD));
        word = bloom_next_probe_word(word);
    }
    return vminvq_u16(vandq_u16(all, neon_set(bits, word, probes))) != 0;
}

BLOOM_BLOCKED_KERNEL(, neon);
BLOOM_KERNEL_ONE(, neon, bloom_set_probes);

const struct bloom_kernel bloom_blocked_neon = {
    .name = "neon",
    BLOOM_KERNEL_ONE_MEMBERS(neon),
};

#endif
