/* What the unit tests of layouts write often: a shape and its bits, words at random, how many keys
 * are in a set. */
#ifndef SHAPES_H
#define SHAPES_H

#include "filter/key_set.h"
#include "library_test.h"
#include "shorthand.h"

/* The shape of a filter where there must be one. */
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
