/* The kernel of layout counting for x86-64 with AVX-512, which tests one counter in each lane.
 * AVX2 has no such kernel, because it can only permute words within 32 bytes. */
#include "base/processor_x86.h"
#include "filter/layouts/kernels/kernel.h"

#ifdef BLOOM_X86_KERNELS

#include <immintrin.h>

#define WITH_COUNTING_AVX512 __attribute__((target("avx512f"))) static
#define WITH_COUNTING_AVX512_INLINE __attribute__((target("avx512f"), always_inline)) static inline

/* A block: four registers of eight words of sixteen counters. */
struct counting_block {
    __m512i part[4];
};

/* Every lane holds a probe at its low end. Of its nine bits the upper five choose a word: four of
 * them within two registers, the topmost one between the two pairs. The lower four choose the
 * counter. Permutation uses only the lowest four bits of an index, rotation only the lowest six of
 * a count, so the bits above need no mask.
 *
 * Returns the lanes whose counter is zero. */
WITH_COUNTING_AVX512_INLINE unsigned counting_zeros(const struct counting_block *block,
                                                    uint64_t word, uint32_t probes) {
    const __m512i topmost = _mm512_set1_epi64(1 << (BLOOM_PROBE_BITS - 1));
    const __m512i counter = _mm512_set1_epi64(15);
    __m512i shifts = _mm512_loadu_si512(BLOOM_LANE_SHIFTS + probes - 1);
    __m512i lanes = _mm512_srlv_epi64(_mm512_set1_epi64((long long)word), shifts);
    __m512i index = _mm512_srli_epi64(lanes, 4);
    __m512i lower = _mm512_permutex2var_epi64(block->part[0], index, block->part[1]);
    __m512i upper = _mm512_permutex2var_epi64(block->part[2], index, block->part[3]);
    __m512i words = _mm512_mask_blend_epi64(_mm512_test_epi64_mask(lanes, topmost), lower, upper);
    __m512i counters = _mm512_rorv_epi64(words, _mm512_slli_epi64(lanes, 2));
    return _mm512_testn_epi64_mask(counters, counter);
}

WITH_COUNTING_AVX512 bool counting_check_avx512(const struct bloom_shape *shape,
                                                const uint8_t *block, const uint64_t *words) {
    struct counting_block counters = {{
        _mm512_loadu_si512(block),
        _mm512_loadu_si512(block + 64),
        _mm512_loadu_si512(block + 128),
        _mm512_loadu_si512(block + 192),
    }};
    uint64_t word = bloom_probe_word(words[0]);
    uint32_t probes = shape->probes;
    unsigned zeros = 0;
    for (; probes > BLOOM_PROBES_PER_WORD; probes -= BLOOM_PROBES_PER_WORD) {
        zeros |= counting_zeros(&counters, word, BLOOM_PROBES_PER_WORD);
        word = bloom_next_probe_word(word);
    }
    return (zeros | counting_zeros(&counters, word, probes)) == 0;
}

const struct bloom_kernel bloom_counting_avx512 = {
    .name = "avx512",
    .supported = bloom_processor_has_avx512f,
    .check_block = counting_check_avx512,
};

#endif
