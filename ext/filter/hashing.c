/* The table of hashings, and the one of the project's own layouts. See hashing.h. */
#include "filter/hashing.h"

#include "filter/hash.h"

static const struct bloom_hashing *const HASHINGS[] = {
    &bloom_hashing_murmur3, &bloom_hashing_integer,     &bloom_hashing_utf16,
    &bloom_hashing_spark,   &bloom_hashing_fnv,         &bloom_hashing_murmur3_twice,
    &bloom_hashing_xxh64,   &bloom_hashing_xxh64_int32, &bloom_hashing_murmur2,
};

#define HASHING_COUNT (sizeof HASHINGS / sizeof *HASHINGS)

const struct bloom_hashing *bloom_hashing_by_number(unsigned number) {
    for (size_t i = 0; i < HASHING_COUNT; i++)
        if (HASHINGS[i]->number == number)
            return HASHINGS[i];
    return NULL;
}

static bool murmur3_bytes(const uint64_t extra[2], const void *bytes, size_t length,
                          uint64_t *words) {
    (void)extra;
    bloom_hash_bytes_to(bytes, length, words);
    return true;
}

static bool murmur3_integer(const uint64_t extra[2], int64_t key, uint64_t *words) {
    (void)extra;
    bloom_hash_integer_to(key, words);
    return true;
}

static bool murmur3_real(const uint64_t extra[2], double key, uint64_t *words) {
    (void)extra;
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
