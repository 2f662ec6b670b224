/* What the unit tests of layouts write often: the murmur3 hash of a key as a value, a shape and its
 * bits, words at random, how many keys are in a set. */
#ifndef SHAPES_H
#define SHAPES_H

#include "filter/key_set.h"
#include "hash/murmur3.h"
#include "library_test.h"

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

/* The shape of a filter, which must exist. */
static inline struct bloom_shape sized_shape(const struct bloom_layout *layout, uint64_t capacity,
                                             double rate) {
    struct bloom_shape shape = {.layout = layout, .rate = rate};
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_shape_size(&shape, capacity, problem))
        fail_msg("n = %llu, p = %a: %s", (unsigned long long)capacity, rate, problem);
    return shape;
}

/* Fails unless there is no such shape, for a reason that begins with these words. */
static inline void assert_no_shape(const struct bloom_layout *layout, uint64_t capacity,
                                   double rate, const char *words) {
    struct bloom_shape shape = {.layout = layout, .rate = rate};
    char problem[BLOOM_PROBLEM_SIZE] = "";
    assert_false(bloom_shape_size(&shape, capacity, problem));
    if (strncmp(problem, words, strlen(words)) != 0)
        fail_msg("%s, not %s", problem, words);
}

static inline uint8_t *empty_payload(const struct bloom_shape *shape) {
    return allocate_exactly((size_t)bloom_payload_bytes(shape));
}

/* Random words of a generator that starts with this seed. */
static inline uint64_t *random_words(size_t count, uint64_t seed) {
    uint64_t *words = (uint64_t *)(void *)allocate_exactly(count * sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = random_next(&seed);
    return words;
}

static inline void assert_settles_to(struct bloom_key_set *set, uint64_t expected) {
    uint64_t distinct = UINT64_MAX;
    assert_int_equal(bloom_key_set_settle(set, &distinct), BLOOM_BUILT);
    assert_same(distinct, expected, "distinct keys");
}

#endif
