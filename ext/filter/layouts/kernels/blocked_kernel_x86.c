/* Kernels of layout blocked for x86-64. They hold the block in registers, and test or set one probe
 * in each lane. */
#include "base/processor_x86.h"
#include "filter/layouts/kernels/kernel.h"

#ifdef BLOOM_X86_KERNELS

#include <immintrin.h>

#define WITH_AVX2 __attribute__((target("avx2")))
#define WITH_AVX2_INLINE __attribute__((target("avx2"), always_inline)) static inline
#define WITH_AVX512 __attribute__((target("avx512f")))
#define WITH_AVX512_INLINE __attribute__((target("avx512f"), always_inline)) static inline

/* AVX2: the block is two registers of eight 32-bit words. Seven lanes hold one probe each, at the
 * top of the lane. The upper four bits of a probe choose a word: three of them within each
 * register, then the topmost one between the two registers. The lower five bits choose the bit.
 *
 * Returns 1 when all probes of a word are set in the lanes where in_use is 1, else 0. */
WITH_AVX2_INLINE unsigned avx2_word(__m256i low, __m256i high, uint64_t word, __m256i in_use) {
    /* Probe i is the nine bits from 63 - 9i downwards. Its lane gets the byte that holds the first
     * of them and the bytes below (-1: zero); a shift then drops the bits above the probe. */
    const __m256i bytes =
        _mm256_setr_epi8(4, 5, 6, 7, 3, 4, 5, 6, 2, 3, 4, 5, 1, 2, 3, 4, /* probes 0 to 3 */
                         0, 1, 2, 3, -1, 0, 1, 2, -1, -1, 0, 1, -1, -1, -1, -1);
    const __m256i bits_above = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 0);
    __m256i all = _mm256_set1_epi64x((long long)word);
    __m256i probes = _mm256_sllv_epi32(_mm256_shuffle_epi8(all, bytes), bits_above);
    __m256i index = _mm256_srli_epi32(probes, 28);
    __m256i from_low = _mm256_permutevar8x32_epi32(low, index);
    __m256i from_high = _mm256_permutevar8x32_epi32(high, index);
    /* The sign bit of a lane, the topmost bit of its probe, selects the register. */
    __m256i words = _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(from_low),
                                                         _mm256_castsi256_ps(from_high),
                                                         _mm256_castsi256_ps(probes)));
    __m256i bit = _mm256_srli_epi32(_mm256_slli_epi32(probes, 4), 27);
    return (unsigned)_mm256_testc_si256(words, _mm256_sllv_epi32(in_use, bit));
}

WITH_AVX2_INLINE __m256i avx2_half(const uint8_t *half) {
    return _mm256_loadu_si256((const __m256i *)(const void *)half);
}

/* 1 in the first `number` lanes (1 to 7), 0 in the others. */
WITH_AVX2_INLINE __m256i avx2_lanes(uint32_t number) {
    static const uint32_t ONES[2 * BLOOM_PROBES_PER_WORD] = {1, 1, 1, 1, 1, 1, 1};
    const uint32_t *from = ONES + BLOOM_PROBES_PER_WORD - number;
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

WITH_AVX2_INLINE bool avx2_find(const struct bloom_shape *shape, const uint8_t *block,
                                const uint64_t *words, bool few) {
    const __m256i low = avx2_half(block), high = avx2_half(block + 32);
    uint64_t word = bloom_probe_word(words[0]);
    uint32_t probes = shape->probes;
    unsigned all = 1;
    for (; !few && probes > BLOOM_PROBES_PER_WORD; probes -= BLOOM_PROBES_PER_WORD) {
        all &= avx2_word(low, high, word, avx2_lanes(BLOOM_PROBES_PER_WORD));
        word = bloom_next_probe_word(word);
    }
    return (all & avx2_word(low, high, word, avx2_lanes(probes))) != 0;
}

BLOOM_BLOCKED_KERNEL(WITH_AVX2, avx2);

/* A half of a block, whose four words begin at bits `starts`, with the bit of a probe set if it is
 * there. probe ^ starts is the bit's number in the lane that has it. In the others it is 64 or
 * more, and a shift by that much returns zero. */
WITH_AVX2_INLINE __m256i avx2_with(__m256i half, __m256i probe, __m256i starts) {
    __m256i distance = _mm256_xor_si256(probe, starts);
    return _mm256_or_si256(half, _mm256_sllv_epi64(_mm256_set1_epi64x(1), distance));
}

/* One load and one store of a half serve all probes. In the portable loop, probes that fall into
 * the same word wait for one another. */
WITH_AVX2_INLINE void avx2_set(const struct bloom_shape *shape, uint8_t *block,
                               const uint64_t *words) {
    const __m256i low_starts = _mm256_setr_epi64x(0, 64, 128, 192),
                  high_starts = _mm256_setr_epi64x(256, 320, 384, 448);
    __m256i low = avx2_half(block), high = avx2_half(block + 32), probe;
#define SET(word, i)                                                                               \
    probe = _mm256_slli_epi64(_mm256_set1_epi64x((long long)(word)), BLOOM_PROBE_BITS * (i));      \
    probe = _mm256_srli_epi64(probe, 64 - BLOOM_PROBE_BITS);                                       \
    low = avx2_with(low, probe, low_starts);                                                       \
    high = avx2_with(high, probe, high_starts)
    BLOOM_EACH_PROBE(shape, words[0], SET)
#undef SET
    _mm256_storeu_si256((__m256i *)(void *)block, low);
    _mm256_storeu_si256((__m256i *)(void *)(block + 32), high);
}

BLOOM_KERNEL_ONE(WITH_AVX2, avx2, avx2_set);

const struct bloom_kernel bloom_blocked_avx2 = {
    .name = "avx2",
    .supported = bloom_processor_has_avx2,
    BLOOM_KERNEL_ONE_MEMBERS(avx2),
};

/* AVX-512: the block is one register of eight 64-bit words, and every lane holds a probe at its low
 * end. Permutation uses only the lowest three bits of an index, rotation only the lowest six of a
 * count, so the bits above a probe need no mask.
 *
 * Returns the lanes whose probe is zero. */
WITH_AVX512_INLINE unsigned avx512_zeros(__m512i block, uint64_t word, uint32_t probes) {
    __m512i shifts = _mm512_loadu_si512(BLOOM_LANE_SHIFTS + probes - 1);
    __m512i lanes = _mm512_srlv_epi64(_mm512_set1_epi64((long long)word), shifts);
    __m512i words = _mm512_permutexvar_epi64(_mm512_srli_epi64(lanes, 6), block);
    __m512i bits = _mm512_slli_epi64(_mm512_rorv_epi64(words, lanes), 63);
    return _mm512_testn_epi64_mask(bits, bits);
}

WITH_AVX512_INLINE bool avx512_find(const struct bloom_shape *shape, const uint8_t *block,
                                    const uint64_t *words, bool few) {
    const __m512i bits = _mm512_loadu_si512(block);
    uint64_t word = bloom_probe_word(words[0]);
    uint32_t probes = shape->probes;
    unsigned zeros = 0;
    for (; !few && probes > BLOOM_PROBES_PER_WORD; probes -= BLOOM_PROBES_PER_WORD) {
        zeros |= avx512_zeros(bits, word, BLOOM_PROBES_PER_WORD);
        word = bloom_next_probe_word(word);
    }
    return (zeros | avx512_zeros(bits, word, probes)) == 0;
}

BLOOM_BLOCKED_KERNEL(WITH_AVX512, avx512);

/* The bits of a block, with the bit of probe i of a word set. */
WITH_AVX512_INLINE __m512i avx512_with(__m512i bits, uint64_t word, unsigned i) {
    const __m512i starts = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
    const __m512i mask = _mm512_set1_epi64(BLOOM_BLOCK_BITS - 1);
    __m512i probe = _mm512_srli_epi64(_mm512_set1_epi64((long long)word),
                                      64 - BLOOM_PROBE_BITS - BLOOM_PROBE_BITS * i);
    /* (probe ^ starts) & mask, in one instruction, is the distance of avx2_with. */
    __m512i distance = _mm512_ternarylogic_epi64(probe, starts, mask, 0x28);
    return _mm512_or_epi64(bits, _mm512_sllv_epi64(_mm512_set1_epi64(1), distance));
}

WITH_AVX512_INLINE void avx512_set(const struct bloom_shape *shape, uint8_t *block,
                                   const uint64_t *words) {
    __m512i bits = _mm512_loadu_si512(block);
#define SET(word, i) bits = avx512_with(bits, word, i)
    BLOOM_EACH_PROBE(shape, words[0], SET)
#undef SET
    _mm512_storeu_si512(block, bits);
}

BLOOM_KERNEL_ONE(WITH_AVX512, avx512, avx512_set);

const struct bloom_kernel bloom_blocked_avx512 = {
    .name = "avx512",
    .supported = bloom_processor_has_avx512f,
    BLOOM_KERNEL_ONE_MEMBERS(avx512),
};

#endif
