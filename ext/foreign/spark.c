/* The filters of Apache Spark: their hashing, layouts and format.
 *
 * Format `spark`: what org.apache.spark.util.sketch.BloomFilter.writeTo writes and readFrom reads,
 * in Java, Scala or Python. Everything is big-endian:
 *
 *   version 1   version 2
 *    0           0     4   version
 *    4           4     4   k, signed
 *                8     4   seed, signed
 *    8          12     4   words, signed, so 1 to 2^31 - 1
 *   12          16         the words of 64 bits: bit b is bit b & 63 of word b >> 6
 *
 * Version 1 is layout spark1, version 2, which is Spark's own from release 4.1 on, spark2. n and p
 * are not stored. Spark reads whatever follows the version, no words and no hashes included; here
 * those are refused.
 */
#include "foreign/exchange.h"

#include "base/version.h"

/* Hashing `spark`: the two 32-bit hashes of org.apache.spark.util.sketch.BloomFilter, as one word:
 * h1 in its low half, h2 in its high one.
 *
 *   text      putString: its UTF-8 bytes
 *   bytes     putBinary: themselves
 *   integer   putLong: its 8 bytes, little-endian, so that these bytes as a BLOB are the same key
 *   real      equal to an integer of 64 bits: as that integer, as everywhere in this extension,
 *             because hosts such as JavaScript have no other numbers. Other reals have no
 *             key, because Spark has no rule for them
 *
 * H(key, seed) is MurmurHash3 x86 32 (Austin Appleby, public domain, 2011) except for the end: each
 * of the last 1 to 3 bytes, sign-extended to 32 bits, is mixed in like a full block. h1 = H(key,
 * seed), h2 = H(key, h1). The seed is the low half of the first word of the header's extra bytes.
 */

static inline uint32_t spark_rotate(uint32_t value, int count) {
    return value << count | value >> (32 - count);
}

static inline uint32_t spark_mix(uint32_t hash, uint32_t block) {
    block = spark_rotate(block * 0xcc9e2d51, 15) * 0x1b873593;
    return spark_rotate(hash ^ block, 13) * 5 + 0xe6546b64;
}

static inline uint32_t spark_finish(uint32_t hash, uint32_t length) {
    hash ^= length;
    hash = (hash ^ hash >> 16) * 0x85ebca6b;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35;
    return hash ^ hash >> 16;
}

static uint32_t spark_hash(const uint8_t *bytes, size_t length, uint32_t seed) {
    uint32_t hash = seed;
    size_t left = length;
    /* Four words a turn: the end of a long loop is mispredicted. */
    for (; left >= 16; left -= 16, bytes += 16) {
        BLOOM_UNROLLED
        for (unsigned i = 0; i < 16; i += 4)
            hash = spark_mix(hash, bloom_load32(bytes + i));
    }
    for (; left >= 4; left -= 4, bytes += 4)
        hash = spark_mix(hash, bloom_load32(bytes));
    for (; left > 0; left--)
        hash = spark_mix(hash, (*bytes++ ^ 0x80U) - 0x80U);
    return spark_finish(hash, (uint32_t)length);
}

static inline uint32_t spark_hash_integer(uint64_t key, uint32_t seed) {
    return spark_finish(spark_mix(spark_mix(seed, (uint32_t)key), (uint32_t)(key >> 32)), 8);
}

static void spark_bytes(const uint64_t seed[2], const void *bytes, size_t length, uint64_t *words) {
    uint32_t first = spark_hash(bytes, length, (uint32_t)seed[0]);
    words[0] = (uint64_t)spark_hash(bytes, length, first) << 32 | first;
}

static bool spark_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    uint32_t first = spark_hash_integer((uint64_t)key, (uint32_t)seed[0]);
    words[0] = (uint64_t)spark_hash_integer((uint64_t)key, first) << 32 | first;
    return true;
}

static const struct bloom_hashing HASHING_SPARK = {
    .keys = "text, BLOBs and whole numbers",
    .number = 4,
    .bytes = spark_bytes,
    .integer = spark_integer,
};

/* Layouts `spark1` and `spark2`: k bits anywhere in the filter, where Spark's BloomFilterImpl
 * (every release since 2.0) and BloomFilterImplV2 (since 4.1) put them.
 *
 * m is a multiple of 64. spark2 has a seed of 32 bits, the low half of the first extra word of the
 * header; the rest is zero.
 *
 * A step of spark1 has 31 bits: beyond 2^31 (256 MiB) a filter has bits that no key ever sets.
 *
 * org.apache.spark.util.sketch.BloomFilterImpl and BloomFilterImplV2 for the rules.
 */

enum { SPARK1_NUMBER = 7, SPARK2_NUMBER = 8 };

static bool spark_valid(const struct bloom_shape *shape) {
    return shape->bits <= BLOOM_FOREIGN_JAVA_BITS;
}

/* The low 32 bits as a signed number, in two's complement of 64 bits. */
static inline uint64_t spark_widened(uint64_t word) {
    return ((word & UINT32_MAX) ^ UINT64_C(0x80000000)) - UINT64_C(0x80000000);
}

static inline struct bloom_walk spark2_begin(const uint64_t *words) {
    return (struct bloom_walk){.at = spark_widened(words[0]) * INT32_MAX,
                               .step = spark_widened(words[0] >> 32)};
}

static inline uint64_t spark2_step(struct bloom_walk *walk) {
    walk->at += walk->step;
    return walk->at > INT64_MAX ? ~walk->at : walk->at;
}

BLOOM_WALK_MEMBERS(spark1, 1, bloom_walk32_begin, bloom_walk32_step);
BLOOM_WALK_MEMBERS(spark2, 1, spark2_begin, spark2_step);

#define SPARK_LAYOUT(layout_name, layout_number, seed, members)                                    \
    {                                                                                              \
        .name = layout_name, .hashing = &HASHING_SPARK, .number = layout_number, .hash_words = 1,  \
        .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM, .bits_multiple = BLOOM_WORD_BITS,          \
        .extra_used = {seed}, .size = bloom_foreign_size_as_guava, .valid = spark_valid,           \
        BLOOM_WALK_LAYOUT(members)                                                                 \
    }

const struct bloom_layout bloom_layout_spark1 = SPARK_LAYOUT("spark1", SPARK1_NUMBER, 0, spark1);
const struct bloom_layout bloom_layout_spark2 =
    SPARK_LAYOUT("spark2", SPARK2_NUMBER, UINT32_MAX, spark2);

/* The last four bytes of a header are the number of words. */
enum { SPARK_AT_PROBES = 4, SPARK_AT_SEED = 8, SPARK1_HEADER_BYTES = 12, SPARK2_HEADER_BYTES = 16 };

static bool spark_read(struct bloom_foreign *filter, bloom_problem problem) {
    const uint8_t *bytes = filter->bytes;
    uint32_t version = filter->length >= 4 ? bloom_load32_big(bytes) : 1;
    uint64_t header = version == 1 ? SPARK1_HEADER_BYTES : SPARK2_HEADER_BYTES;
    if (!bloom_foreign_is_plain(filter, problem))
        return false;
    if (version < 1 || version > 2)
        return bloom_fail(
            problem,
            "are not a Spark filter that release %s of this extension knows: they begin with "
            "version %" PRIu32 ", but only 1 and 2 are known. Write the filter with "
            "BloomFilter.writeTo or get a newer release",
            BLOOM_RELEASE, version);
    if (!bloom_foreign_has_header(filter, header, problem))
        return false;
    if (version == 1)
        filter->shape.layout = &bloom_layout_spark1;
    else
        filter->shape.extra[0] = bloom_load32_big(bytes + SPARK_AT_SEED);
    return bloom_foreign_has_java_row(filter, header, bloom_load32_big(bytes + SPARK_AT_PROBES),
                                      problem);
}

static uint64_t spark_header(const struct bloom_shape *shape, const uint8_t *payload,
                             uint8_t *header) {
    const bool seeded = shape->layout == &bloom_layout_spark2;
    const uint64_t length = seeded ? SPARK2_HEADER_BYTES : SPARK1_HEADER_BYTES;
    (void)payload;
    bloom_store32_big(header, seeded ? 2 : 1);
    bloom_store32_big(header + SPARK_AT_PROBES, shape->probes);
    if (seeded)
        bloom_store32_big(header + SPARK_AT_SEED, (uint32_t)shape->extra[0]);
    bloom_store32_big(header + length - 4, (uint32_t)(shape->bits / BLOOM_WORD_BITS));
    return length;
}

const struct bloom_exchange bloom_exchange_spark = {
    .name = "spark",
    .layout = &bloom_layout_spark2,
    .older = &bloom_layout_spark1,
    .unknown =
        "Spark does not know. Build it with layout spark1, or spark2 for Spark 4.1 and newer",
    .system = "Spark",
    .advice = BLOOM_WRITE_TO,
    .big_endian = true,
    .read = spark_read,
    .header = spark_header,
};
