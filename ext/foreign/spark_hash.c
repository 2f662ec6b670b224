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
#include "hash/hashing.h"

#include "base/portable.h"

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
        hash = spark_mix(hash, bloom_load32(bytes));
        hash = spark_mix(hash, bloom_load32(bytes + 4));
        hash = spark_mix(hash, bloom_load32(bytes + 8));
        hash = spark_mix(hash, bloom_load32(bytes + 12));
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

const struct bloom_hashing bloom_hashing_spark = {
    .name = "spark",
    .keys = "text, BLOBs and whole numbers",
    .number = 4,
    .words = 1,
    .bytes = spark_bytes,
    .integer = spark_integer,
};
