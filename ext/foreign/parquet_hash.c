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
#include "hash/hashing.h"

#include "base/portable.h"

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

const struct bloom_hashing bloom_hashing_xxh64 = {
    .name = "xxh64",
    .keys = "text, BLOBs and numbers",
    .number = 7,
    .words = 1,
    .bytes = xxh64_bytes,
    .integer = xxh64_integer,
    .reals = BLOOM_REALS_BITS,
};

const struct bloom_hashing bloom_hashing_xxh64_int32 = {
    .name = "xxh64-int32",
    .keys = "whole numbers from -2147483648 to 4294967295",
    .number = 8,
    .words = 1,
    .integer = xxh64_integer32,
};
