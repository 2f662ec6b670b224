/* The murmur3 hash of a key as a value. */
#ifndef KEY_HASH_H
#define KEY_HASH_H

#include "hash/hashing.h"
#include "hash/murmur3.h"

struct bloom_hash {
    uint64_t words[2];
};

static inline struct bloom_hash bloom_hash_bytes(const void *key, size_t length) {
    struct bloom_hash hash;
    bloom_murmur3_bytes(key, length, hash.words);
    return hash;
}

static inline struct bloom_hash bloom_hash_integer(int64_t key) {
    struct bloom_hash hash;
    bloom_murmur3_integer(key, hash.words);
    return hash;
}

#endif
