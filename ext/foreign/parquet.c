/* The filters of Apache Parquet: their hashings, layouts and formats.
 *
 * Formats `parquet` and `parquet-int32`: the Bloom filter of one column in one row group, as it is
 * stored in an Apache Parquet file at bloom_filter_offset, or only its bitset.
 *
 *   header    BloomFilterHeader in Thrift's compact protocol: 15, then numBytes as a zigzag
 *             varint, then 1c 1c 00 00 three times (blocks, XXH64, no compression), then 00; 15 to
 *             19 bytes
 *   bitset    numBytes, a multiple of 32: the payload
 *
 * With a header the length is not a multiple of 32, so the two forms cannot be confused. Both are
 * read; an export writes the header. The bytes do not show what kind of values the column has, so
 * there are two formats. */
#include "foreign/exchange.h"

#include "base/processor_x86.h"
#include "filter/layouts/kernels/kernel.h"

#include <math.h>

#ifdef BLOOM_X86_KERNELS
#include <immintrin.h>
#endif

/* Hashings `xxh64` and `xxh64-int32`: XXH64 (Yann Collet) with seed 0, over the bytes that Parquet
 * has for a value in its PLAIN encoding, without a length.
 *
 *              xxh64                                  xxh64-int32
 *   text       its UTF-8 bytes (BYTE_ARRAY)           none
 *   bytes      themselves (BYTE_ARRAY, FIXED)         none
 *   integer    8 bytes, little-endian (INT64)         4 bytes, little-endian (INT32)
 *   real       8 bytes, IEEE 754 (DOUBLE), also when  equal to such an integer: as that integer
 *              it is a whole number
 *
 * xxh64-int32 has the integers from -2^31 to 2^32 - 1; those from 2^31 on are what unsigned columns
 * hold.
 *
 * github.com/apache/parquet-format, BloomFilter.md; the xxHash specification for XXH64.
 */

static const uint64_t XXH64_PRIMES[5] = {0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                         0x85ebca77c2b2ae63, 0x27d4eb2f165667c5};

static inline uint64_t xxh64_round(uint64_t lane, uint64_t word) {
    return bloom_rotate64(lane + word * XXH64_PRIMES[1], 31) * XXH64_PRIMES[0];
}

static inline uint64_t xxh64_merge(uint64_t hash, uint64_t lane) {
    return (hash ^ xxh64_round(0, lane)) * XXH64_PRIMES[0] + XXH64_PRIMES[3];
}

static inline uint64_t xxh64_take8(uint64_t hash, uint64_t word) {
    return bloom_rotate64(hash ^ xxh64_round(0, word), 27) * XXH64_PRIMES[0] + XXH64_PRIMES[3];
}

static inline uint64_t xxh64_take4(uint64_t hash, uint32_t word) {
    return bloom_rotate64(hash ^ word * XXH64_PRIMES[0], 23) * XXH64_PRIMES[1] + XXH64_PRIMES[2];
}

static inline uint64_t xxh64_finish(uint64_t hash) {
    hash = (hash ^ hash >> 33) * XXH64_PRIMES[1];
    hash = (hash ^ hash >> 29) * XXH64_PRIMES[2];
    return hash ^ hash >> 32;
}

static uint64_t xxh64(const uint8_t *bytes, size_t length) {
    enum { STRIPE = 32, LANES = 4 };
    uint64_t hash = XXH64_PRIMES[4];
    size_t left = length;
    if (left >= STRIPE) {
        uint64_t lanes[LANES] = {XXH64_PRIMES[0] + XXH64_PRIMES[1], XXH64_PRIMES[1], 0,
                                 0 - XXH64_PRIMES[0]};
        for (; left >= STRIPE; left -= STRIPE, bytes += STRIPE)
            for (unsigned i = 0; i < LANES; i++)
                lanes[i] = xxh64_round(lanes[i], bloom_load64(bytes + 8 * i));
        hash = bloom_rotate64(lanes[0], 1) + bloom_rotate64(lanes[1], 7) +
               bloom_rotate64(lanes[2], 12) + bloom_rotate64(lanes[3], 18);
        for (unsigned i = 0; i < LANES; i++)
            hash = xxh64_merge(hash, lanes[i]);
    }
    hash += length;
    for (; left >= 8; left -= 8, bytes += 8)
        hash = xxh64_take8(hash, bloom_load64(bytes));
    if (left >= 4) {
        hash = xxh64_take4(hash, bloom_load32(bytes));
        left -= 4;
        bytes += 4;
    }
    for (; left > 0; left--, bytes++)
        hash = bloom_rotate64(hash ^ *bytes * XXH64_PRIMES[4], 11) * XXH64_PRIMES[0];
    return xxh64_finish(hash);
}

static void xxh64_bytes(const uint64_t seed[2], const void *bytes, size_t length, uint64_t *words) {
    (void)seed;
    words[0] = xxh64(bytes, length);
}

static bool xxh64_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    (void)seed;
    words[0] = xxh64_finish(xxh64_take8(XXH64_PRIMES[4] + 8, (uint64_t)key));
    return true;
}

static bool xxh64_integer32(const uint64_t seed[2], int64_t key, uint64_t *words) {
    (void)seed;
    words[0] = xxh64_finish(xxh64_take4(XXH64_PRIMES[4] + 4, (uint32_t)key));
    return key >= INT32_MIN && key <= UINT32_MAX;
}

static const struct bloom_hashing HASHING_XXH64 = {
    .keys = "text, BLOBs and numbers",
    .number = 7,
    .bytes = xxh64_bytes,
    .integer = xxh64_integer,
    .reals = BLOOM_REALS_BITS,
};

static const struct bloom_hashing HASHING_XXH64_INT32 = {
    .keys = "whole numbers from -2147483648 to 4294967295",
    .number = 8,
    .integer = xxh64_integer32,
};

/* Layouts `parquet` and `parquet-int32`: the split block Bloom filter of Apache Parquet.
 *
 * The payload is a row of blocks of 32 bytes, each of eight 32-bit words, little-endian. A key has
 * one bit in each word of its block, so k is always 8. The two layouts differ only in how integers
 * are hashed: as 8 bytes for INT64 columns, as 4 bytes for INT32.
 *
 * Apache Parquet, BloomFilter.md; after Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient
 * Bloom Filters", 2007, and the filters of Apache Impala. */

enum {
    PARQUET_NUMBER = 11,
    PARQUET_WORDS = 8, /* of 32 bits in a block; a key has one bit in each */
    PARQUET_BLOCK_BYTES = 32,
    PARQUET_BLOCK_BITS = 8 * PARQUET_BLOCK_BYTES
};

/* Writers make 32 bytes to 128 MiB; readers of bare blocks may hold more. The number of blocks has
 * 32 bits. */
#define PARQUET_BITS_MAXIMUM (UINT64_C(1) << 40)
#define PARQUET_BITS_LEAST UINT64_C(256)
#define PARQUET_BITS_MOST (UINT64_C(1) << 30)

static const uint32_t PARQUET_SALT[PARQUET_WORDS] = {
    0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

/* Sizes a filter as every writer of Parquet does: the power of two that is not below 8 n / -ln(z),
 * where z is the share of zeros that a word may have, 1 - p^(1/8). Machines differ in the last
 * digits of the logarithm, which do not matter here, because the size is a power of two. */
static bool parquet_size(struct bloom_shape *shape, bloom_problem problem) {
    const double words = (double)PARQUET_WORDS;
    const double wanted =
        words * (double)bloom_foreign_keys(shape) / -log(1 - pow(shape->rate, 1 / words));
    (void)problem;
    shape->probes = PARQUET_WORDS;
    shape->bits = PARQUET_BITS_LEAST;
    while ((double)shape->bits < floor(wanted) && shape->bits < PARQUET_BITS_MOST)
        shape->bits *= 2;
    return true;
}

static bool parquet_valid(const struct bloom_shape *shape) {
    return shape->probes == PARQUET_WORDS && shape->bits <= PARQUET_BITS_MAXIMUM;
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

static inline bool parquet_portable_find(const struct bloom_shape *shape, const uint8_t *block,
                                         const uint64_t *words, bool few) {
    uint32_t missing = 0;
    (void)shape, (void)few;
    for (unsigned i = 0; i < PARQUET_WORDS; i++)
        missing |= parquet_mask(words[0], i) & ~bloom_load32(block + 4 * i);
    return missing == 0;
}

BLOOM_KERNEL_CHECKS(, parquet_portable, PARQUET_BLOCK_BYTES, parquet_block_at);

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

BLOOM_KERNEL_CHECKS(WITH_PARQUET_AVX2, parquet_avx2, PARQUET_BLOCK_BYTES, parquet_block_at);

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

/* The hashes of the reals 0.0 and -0.0, which are equal as keys: a check of one finds the other. */
static const uint64_t PARQUET_ZERO = 0x34c96acdcadb1bbb, PARQUET_MINUS_ZERO = 0x3f425eacf01544e0;

static bool parquet_check(const struct bloom_shape *shape, const uint8_t *payload,
                          const uint64_t *words) {
    bloom_word_check *check = bloom_kernel(&parquet_kernel)->check;
    return check(shape, payload, words[0]) != 0 ||
           ((words[0] == PARQUET_ZERO || words[0] == PARQUET_MINUS_ZERO) &&
            check(shape, payload, PARQUET_ZERO ^ PARQUET_MINUS_ZERO ^ words[0]) != 0);
}

static void parquet_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                               const uint64_t *words, size_t count, uint8_t *found) {
    bloom_kernel(&parquet_kernel)->check_many(shape, payload, words, count, found);
    for (size_t i = 0; i < count; i++)
        if (words[i] == PARQUET_ZERO || words[i] == PARQUET_MINUS_ZERO)
            found[i] = parquet_check(shape, payload, words + i);
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
        .rate_minimum = 1e-130, /* below, 1 - p^(1/8) may be 1 as a double */                      \
            .size = parquet_size, .valid = parquet_valid, .add = parquet_add,                      \
        .check = parquet_check, .check_many = parquet_check_many, .unite = bloom_bitset_union,     \
        .intersect = bloom_bitset_intersect, .halve = parquet_halve, .estimate = parquet_estimate, \
    }

const struct bloom_layout bloom_layout_parquet = PARQUET_LAYOUT("parquet", HASHING_XXH64);
const struct bloom_layout bloom_layout_parquet_int32 =
    PARQUET_LAYOUT("parquet-int32", HASHING_XXH64_INT32);

static const uint8_t PARQUET_FILE[] = {'P', 'A', 'R', '1'};
static const uint8_t PARQUET_FIELDS[] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};

/* Writes the only header that a filter of this size has. */
static uint64_t parquet_header(const struct bloom_shape *shape, const uint8_t *payload,
                               uint8_t *header) {
    uint64_t at = 0, zigzag = 2 * bloom_payload_bytes(shape);
    (void)payload;
    header[at++] = 0x15;
    for (; zigzag > 0x7f; zigzag >>= 7)
        header[at++] = (uint8_t)(zigzag | 0x80);
    header[at++] = (uint8_t)zigzag;
    memcpy(header + at, PARQUET_FIELDS, sizeof PARQUET_FIELDS);
    return at + sizeof PARQUET_FIELDS;
}

static bool parquet_is_file(const struct bloom_foreign *filter) {
    const size_t length = sizeof PARQUET_FILE;
    return filter->length >= 2 * length && memcmp(filter->bytes, PARQUET_FILE, length) == 0 &&
           memcmp(filter->bytes + filter->length - length, PARQUET_FILE, length) == 0;
}

static bool parquet_read(struct bloom_foreign *filter, bloom_problem problem) {
    const uint64_t before = filter->length % PARQUET_BLOCK_BYTES, size = filter->length - before;
    uint8_t header[BLOOM_EXCHANGE_HEADER_MOST];
    if (parquet_is_file(filter))
        return bloom_fail(
            problem, "are a whole Parquet file. Cut out the filter of one column and row group, at "
                     "bloom_filter_offset with bloom_filter_length");
    filter->shape.probes = PARQUET_WORDS;
    filter->shape.bits = size * 8;
    filter->row = filter->bytes + before;
    if (size > 0 && size <= PARQUET_BITS_MAXIMUM / 8 &&
        (before == 0 ||
         (size <= INT32_MAX && parquet_header(&filter->shape, NULL, header) == before &&
          memcmp(filter->bytes, header, (size_t)before) == 0)))
        return true;
    return bloom_fail(
        problem,
        "are not a Bloom filter of Parquet: these %" PRIu64 " are neither a header of split "
        "blocks, XXH64 and no compression with the bitset that it announces, nor a bitset "
        "of whole blocks of 32. Take bloom_filter_length bytes at bloom_filter_offset",
        filter->length);
}

static bool parquet_fits(const struct bloom_shape *shape, bloom_problem problem) {
    uint64_t size = bloom_payload_bytes(shape);
    return size <= INT32_MAX ||
           bloom_fail(problem,
                      "has %" PRIu64
                      " bytes of bits, but Parquet counts them with 31 bits. Build several filters",
                      size);
}

const struct bloom_exchange bloom_exchange_parquet = {
    .name = "parquet",
    .layout = &bloom_layout_parquet,
    .unknown = "is not the layout of this format. Build it with layout parquet",
    .read = parquet_read,
    .fits = parquet_fits,
    .header = parquet_header,
};

const struct bloom_exchange bloom_exchange_parquet_int32 = {
    .name = "parquet-int32",
    .layout = &bloom_layout_parquet_int32,
    .unknown = "is not the layout of this format. Build it with layout parquet-int32",
    .read = parquet_read,
    .fits = parquet_fits,
    .header = parquet_header,
};
