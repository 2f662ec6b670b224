/* What tests of layouts write often: the murmur3 hash of a key as a value, words at random, the
 * shape of a filter and its bits, and a set of keys. */
#ifndef SHORTHAND_H
#define SHORTHAND_H

#include "filter/key_set.h"
#include "filter/layout.h"
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

static inline bool bloom_shape_for(struct bloom_shape *shape, const struct bloom_layout *layout,
                                   uint64_t capacity, double rate, bloom_problem problem) {
    *shape = (struct bloom_shape){.layout = layout, .rate = rate};
    return bloom_shape_size(shape, capacity, problem);
}

/* The same where there must be one. */
static inline struct bloom_shape sized_shape(const struct bloom_layout *layout, uint64_t capacity,
                                             double rate) {
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_shape_for(&shape, layout, capacity, rate, problem))
        fail_msg("n = %llu, p = %a: %s", (unsigned long long)capacity, rate, problem);
    return shape;
}

/* And where there must be none; words is how the reason begins. */
static inline void assert_no_shape(const struct bloom_layout *layout, uint64_t capacity,
                                   double rate, const char *words) {
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE] = "";
    assert_false(bloom_shape_for(&shape, layout, capacity, rate, problem));
    if (strncmp(problem, words, strlen(words)) != 0)
        fail_msg("%s, not %s", problem, words);
}

static inline uint8_t *empty_payload(const struct bloom_shape *shape) {
    return allocate_exactly((size_t)bloom_payload_bytes(shape));
}

/* So many words of the generator that starts with a seed. */
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
