/* What tests write often: the murmur3 hash of a key as a value, and the shape of a filter. */
#ifndef SHORTHAND_H
#define SHORTHAND_H

#include "filter/layout.h"
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

static inline bool bloom_shape_for(struct bloom_shape *shape, const struct bloom_layout *layout,
                                   uint64_t capacity, double rate, bloom_problem problem) {
    *shape = (struct bloom_shape){.layout = layout, .rate = rate};
    return bloom_shape_size(shape, capacity, problem);
}

#endif
