/* Kernels of layout blocked for x86-64, chosen at run time. See blocked_kernel.h. */
#include "filter/blocked_kernel.h"

#ifdef BLOOM_X86_KERNELS

#include <immintrin.h>

static inline uint32_t fewer(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* AVX2: the block is two registers of eight 32-bit words. Seven lanes hold a probe each: its upper four bits
 * choose a word, first three of them within both registers, then the topmost between the two; its lower five
 * bits the bit. */
__attribute__((target("avx2"))) static inline bool avx2_check(const uint8_t *block, uint64_t word,
                                                              uint32_t hashes) {
    const __m256i even_shifts = _mm256_set_epi64x(28, 37, 46, 55);
    const __m256i odd_shifts = _mm256_set_epi64x(64, 1, 10, 19);
    /* A lane is in use when its number is below the number of probes; the order of lanes is that of the
     * shifts. */
    const __m256i lane_numbers = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    const __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)block);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(block + 32));
    for (;;) {
        uint32_t probes_now = fewer(hashes, BLOOM_PROBES_PER_WORD);
        __m256i all = _mm256_set1_epi64x((long long)word);
        __m256i probes =
            _mm256_blend_epi32(_mm256_srlv_epi64(all, even_shifts),
                               _mm256_slli_epi64(_mm256_srlv_epi64(all, odd_shifts), 32), 0xaa);
        __m256i word_index = _mm256_srli_epi32(probes, 5);
        __m256i from_low = _mm256_permutevar8x32_epi32(low, word_index);
        __m256i from_high = _mm256_permutevar8x32_epi32(high, word_index);
        /* Bit 8 of the probe, moved to the sign, selects. */
        __m256i words = _mm256_castps_si256(
            _mm256_blendv_ps(_mm256_castsi256_ps(from_low), _mm256_castsi256_ps(from_high),
                             _mm256_castsi256_ps(_mm256_slli_epi32(probes, 23))));
        __m256i in_use = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)probes_now), lane_numbers);
        __m256i bits = _mm256_sllv_epi32(_mm256_srli_epi32(in_use, 31),
                                         _mm256_and_si256(probes, _mm256_set1_epi32(31)));
        if (!_mm256_testc_si256(words, bits))
            return false;
        hashes -= probes_now;
        if (hashes == 0)
            return true;
        word = bloom_next_probe_word(word);
    }
}

__attribute__((target("avx2"))) static void avx2_check_batch(const uint8_t *const *blocks,
                                                             const uint64_t *words, size_t count,
                                                             uint32_t hashes, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = avx2_check(blocks[i], words[i], hashes);
}

static bool avx2_supported(void) {
    return __builtin_cpu_supports("avx2");
}

const struct bloom_blocked_kernel bloom_blocked_avx2 = {"avx2", avx2_supported, avx2_check,
                                                        avx2_check_batch};

/* AVX-512: the block is one register of eight 64-bit words. Permutation looks at the lowest three bits of an
 * index and rotation at the lowest six of a count, so a probe needs no masking at all. */
__attribute__((target("avx512f"))) static inline bool avx512_check(const uint8_t *block,
                                                                   uint64_t word, uint32_t hashes) {
    const __m512i bit_shifts = _mm512_set_epi64(0, 1, 10, 19, 28, 37, 46, 55);
    const __m512i word_shifts = _mm512_set_epi64(0, 7, 16, 25, 34, 43, 52, 61);
    const __m512i whole = _mm512_loadu_si512(block);
    for (;;) {
        uint32_t probes_now = fewer(hashes, BLOOM_PROBES_PER_WORD);
        __m512i all = _mm512_set1_epi64((long long)word);
        __m512i words = _mm512_permutexvar_epi64(_mm512_srlv_epi64(all, word_shifts), whole);
        __m512i bits = _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_srlv_epi64(all, bit_shifts));
        __mmask8 in_use = (__mmask8)((1u << probes_now) - 1);
        if (_mm512_mask_testn_epi64_mask(in_use, words, bits) != 0)
            return false;
        hashes -= probes_now;
        if (hashes == 0)
            return true;
        word = bloom_next_probe_word(word);
    }
}

__attribute__((target("avx512f"))) static void avx512_check_batch(const uint8_t *const *blocks,
                                                                  const uint64_t *words,
                                                                  size_t count, uint32_t hashes,
                                                                  uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = avx512_check(blocks[i], words[i], hashes);
}

static bool avx512_supported(void) {
    return __builtin_cpu_supports("avx512f");
}

const struct bloom_blocked_kernel bloom_blocked_avx512 = {"avx512", avx512_supported, avx512_check,
                                                          avx512_check_batch};

#else
/* ISO C forbids an empty translation unit. */
extern const struct bloom_blocked_kernel *const bloom_blocked_kernels[];
#endif
