/* Hashing `murmur3`, the project's own: see hash.h. */
#include "hash/hashing.h"

#include "hash/hash.h"

static bool murmur3_bytes(const uint64_t seed[2], const void *bytes, size_t length,
                          uint64_t *words) {
    (void)seed;
    bloom_hash_bytes_to(bytes, length, words);
    return true;
}

static bool murmur3_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    (void)seed;
    bloom_hash_integer_to(key, words);
    return true;
}

static bool murmur3_real(const uint64_t seed[2], double key, uint64_t *words) {
    (void)seed;
    bloom_hash_real_to(key, words);
    return true;
}

const struct bloom_hashing bloom_hashing_murmur3 = {
    .name = "murmur3",
    .keys = "text, BLOBs and numbers",
    .number = 1,
    .words = 2,
    .text = murmur3_bytes,
    .bytes = murmur3_bytes,
    .integer = murmur3_integer,
    .real = murmur3_real,
};
