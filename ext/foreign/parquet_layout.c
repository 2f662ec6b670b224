/* Layouts `parquet` and `parquet-int32`: the split block Bloom filter of Apache Parquet.
 *
 * The payload is a row of z blocks of 32 bytes, each of eight 32-bit words, little-endian. With v
 * the word of a key's hash (XXH64), x its low half and SALT eight odd factors:
 *
 *   block     floor((v >> 32) * z / 2^32)
 *   in word i (0 to 7)   bit (x * SALT[i], 32 bits) >> 27
 *
 * So k is always 8. The two layouts differ only in how integers are hashed: as 8 bytes for INT64
 * columns, as 4 bytes for INT32.
 *
 * Apache Parquet, BloomFilter.md; after Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient
 * Bloom Filters", 2007, and the filters of Apache Impala. */
#include "foreign/parquet.h"

#include "base/bitset.h"
#include "base/portable.h"
#include "base/processor_x86.h"
#include "filter/layouts/classic_size.h"
#include "filter/layouts/kernels/kernel.h"

#include <math.h>

#ifdef BLOOM_X86_KERNELS
#include <immintrin.h>
#endif

enum {
    PARQUET_NUMBER = 11,
    PARQUET_WORDS = BLOOM_PARQUET_PROBES,
    PARQUET_BLOCK_BYTES = BLOOM_PARQUET_BLOCK_BYTES,
    PARQUET_BLOCK_BITS = 8 * PARQUET_BLOCK_BYTES
};

#define PARQUET_BITS_LEAST UINT64_C(256)
#define PARQUET_BITS_MOST (UINT64_C(1) << 30)

static const uint32_t PARQUET_SALT[PARQUET_WORDS] = {
    0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

/* The number of bits before it is rounded to a power of two: 8 n / -ln(z). z is the share of zeros
 * that a word may have, 1 - p^(1/8), computed as 1 - e^(-ln(1/p) / 8). */
static struct bloom_rounded parquet_bits(const struct bloom_shape *shape) {
    struct bloom_rounded log = bloom_rounded_log(bloom_rounded_double(shape->rate));
    log.exponent -= 3;
    struct bloom_rounded keys = bloom_rounded_integer(bloom_foreign_keys(shape));
    keys.exponent += 3;
    return bloom_rounded_over(keys, bloom_rounded_log(bloom_rounded_share(log)));
}

/* Sizes a filter as every writer of Parquet does. Its bits are a power of two. */
static bool parquet_size(struct bloom_shape *shape, bloom_problem problem) {
    uint64_t wanted = bloom_rounded_floor(parquet_bits(shape));
    uint64_t bits = PARQUET_BITS_LEAST;
    while (bits < wanted && bits < PARQUET_BITS_MOST)
        bits *= 2;
    shape->bits = bits;
    shape->probes = PARQUET_WORDS;
    (void)problem;
    return true;
}

static bool parquet_valid(const struct bloom_shape *shape, bloom_problem problem) {
    if (shape->probes == PARQUET_WORDS && shape->bits <= BLOOM_PARQUET_BITS_MAXIMUM &&
        (shape->extra[0] | shape->extra[1]) == 0)
        return true;
    return bloom_fail(problem,
                      "is invalid: layout %s has 8 hashes, at most 2^40 bits and no further "
                      "parameters" BLOOM_MADE_WRONGLY,
                      shape->layout->name);
}

/* With half as many blocks a key is in block floor(block / 2), with the same bits. */
static void parquet_halve(uint8_t *payload, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes / 2; at += 4) {
        uint64_t from = at / PARQUET_BLOCK_BYTES * PARQUET_BLOCK_BYTES + at;
        bloom_store32(payload + at, bloom_load32(payload + from) |
                                        bloom_load32(payload + from + PARQUET_BLOCK_BYTES));
    }
}

static inline size_t parquet_block_at(const struct bloom_shape *shape, uint64_t word) {
    uint64_t block = (word >> 32) * (shape->bits / PARQUET_BLOCK_BITS) >> 32;
    return (size_t)block * PARQUET_BLOCK_BYTES;
}

static inline uint32_t parquet_mask(uint64_t word, unsigned i) {
    return UINT32_C(1) << ((uint32_t)word * PARQUET_SALT[i] >> 27);
}

/* Defines the members name_check and name_check_many of a kernel that has name_find. `with` is what
 * both begin with. */
#define PARQUET_KERNEL(with, name)                                                                 \
    static with int name##_check(const struct bloom_shape *shape, const uint8_t *payload,          \
                                 uint64_t word) {                                                  \
        return name##_find(shape, payload + parquet_block_at(shape, word), &word, true);           \
    }                                                                                              \
    static with void name##_check_many(const struct bloom_shape *shape, const uint8_t *payload,    \
                                       const uint64_t *words, size_t count, uint8_t *found) {      \
        bloom_find_each(shape, payload, words, count, found, PARQUET_BLOCK_BYTES,                  \
                        parquet_block_at, name##_find, true);                                      \
    }                                                                                              \
    static_assert((int)PARQUET_WORDS == (int)BLOOM_PARQUET_PROBES, "a bit in each word")

static inline bool parquet_portable_find(const struct bloom_shape *shape, const uint8_t *block,
                                         const uint64_t *words, bool few) {
    uint32_t missing = 0;
    (void)shape, (void)few;
    for (unsigned i = 0; i < PARQUET_WORDS; i++)
        missing |= parquet_mask(words[0], i) & ~bloom_load32(block + 4 * i);
    return missing == 0;
}

PARQUET_KERNEL(, parquet_portable);

static const struct bloom_kernel PARQUET_PORTABLE = {
    .name = "portable",
    .check = parquet_portable_check,
    .check_many = parquet_portable_check_many,
};

#ifdef BLOOM_X86_KERNELS
#define WITH_PARQUET_AVX2 __attribute__((target("avx2")))

/* One register holds a block, one the eight masks. */
WITH_PARQUET_AVX2 static inline bool parquet_avx2_find(const struct bloom_shape *shape,
                                                       const uint8_t *block, const uint64_t *words,
                                                       bool few) {
    const __m256i salt = _mm256_loadu_si256((const __m256i *)(const void *)PARQUET_SALT);
    __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32((int)(uint32_t)words[0]), salt);
    __m256i mask = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
    (void)shape, (void)few;
    return _mm256_testc_si256(_mm256_loadu_si256((const __m256i *)(const void *)block), mask) != 0;
}

PARQUET_KERNEL(WITH_PARQUET_AVX2, parquet_avx2);

static const struct bloom_kernel PARQUET_AVX2 = {
    .name = "avx2",
    .supported = bloom_processor_has_avx2,
    .check = parquet_avx2_check,
    .check_many = parquet_avx2_check_many,
};
#endif

const struct bloom_kernel *const bloom_parquet_kernels[] = {
#ifdef BLOOM_X86_KERNELS
    &PARQUET_AVX2,
#endif
    &PARQUET_PORTABLE,
    NULL,
};

static struct bloom_kernel_choice parquet_kernel = {bloom_parquet_kernels, NULL};

static inline void parquet_set(const struct bloom_shape *shape, uint8_t *block,
                               const uint64_t *words) {
    (void)shape;
    for (unsigned i = 0; i < PARQUET_WORDS; i++)
        bloom_store32(block + 4 * i, bloom_load32(block + 4 * i) | parquet_mask(words[0], i));
}

static void parquet_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                        size_t count) {
    bloom_set_each(shape, payload, words, count, PARQUET_BLOCK_BYTES, parquet_block_at,
                   parquet_set);
}

static bool parquet_check(const struct bloom_shape *shape, const uint8_t *payload,
                          const uint64_t *words) {
    return bloom_kernel(&parquet_kernel)->check(shape, payload, words[0]) != 0;
}

static void parquet_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                               const uint64_t *words, size_t count, uint8_t *found) {
    bloom_kernel(&parquet_kernel)->check_many(shape, payload, words, count, found);
}

/* count: a key sets one bit in each word of its block, so it leaves a bit zero with probability 1 -
 * 1 / (32 z). rate: an absent key falls into each block with equal probability, and finds its bit
 * set in each word with a probability equal to that word's fill. */
static struct bloom_estimate parquet_estimate(const struct bloom_shape *shape,
                                              const uint8_t *payload) {
    struct bloom_estimate estimate = {0};
    uint64_t blocks = shape->bits / PARQUET_BLOCK_BITS;
    for (uint64_t i = 0; i < blocks; i++) {
        double found = 1;
        for (unsigned j = 0; j < PARQUET_WORDS; j++, payload += 4) {
            unsigned ones = bloom_popcount64(bloom_load32(payload));
            estimate.ones += ones;
            found *= ones / 32.0;
        }
        estimate.rate += found;
    }
    estimate.rate /= (double)blocks;
    estimate.fill = (double)estimate.ones / (double)shape->bits;
    estimate.count = log1p(-estimate.fill) / log1p(-1 / (32 * (double)blocks));
    return estimate;
}

#define PARQUET_LAYOUT(layout_name, value_hashing)                                                 \
    {                                                                                              \
        .name = layout_name, .hashing = &value_hashing, .number = PARQUET_NUMBER, .hash_words = 1, \
        .probes_maximum = PARQUET_WORDS, .bits_multiple = PARQUET_BLOCK_BITS,                      \
        .size = parquet_size, .valid = parquet_valid, .add = parquet_add, .check = parquet_check,  \
        .check_many = parquet_check_many, .unite = bloom_bitset_union,                             \
        .intersect = bloom_bitset_intersect, .halve = parquet_halve, .estimate = parquet_estimate, \
    }

const struct bloom_layout bloom_layout_parquet = PARQUET_LAYOUT("parquet", bloom_hashing_xxh64);
const struct bloom_layout bloom_layout_parquet_int32 =
    PARQUET_LAYOUT("parquet-int32", bloom_hashing_xxh64_int32);
