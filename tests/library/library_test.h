/* What the tests of the filter library share: cmocka, numbers within a range, memory of exact size,
 * memory that fails. */
#ifndef LIBRARY_TEST_H
#define LIBRARY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../runner/random.h"

/* With CASE=NAME in the environment only that test runs; * and ? in it stand for others. */
void cmocka_set_test_filter(const char *pattern);

__attribute__((constructor)) static void choose_case(void) {
    const char *name = getenv("CASE");
    if (name != NULL && *name != '\0')
        cmocka_set_test_filter(name);
}

struct test {
    void (*run)(void);
};

static inline void call_test(void **state) {
    const struct test *test = *state;
    test->run();
}

/* The program that runs a group of tests, the rows that follow its name. */
#define RUN_GROUP(name, ...)                                                                       \
    int main(void) {                                                                               \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        return cmocka_run_group_tests_name(name, tests, NULL, NULL);                               \
    }

/* A row of a group of tests: a sentence that must be true, and the function that tests it. */
#define TEST(sentence, function)                                                                   \
    {                                                                                              \
        sentence, call_test, NULL, NULL, &(struct test) {                                          \
            function                                                                               \
        }                                                                                          \
    }

/* Returns true if the limits of the library are those that users get (base/limits.h). */
static inline bool has_real_limits(void) {
    return getenv("BLOOM_LIMITS") == NULL;
}

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* A number from 0 to range - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t range) {
    return random_next(state) % range;
}

static inline void random_fill(uint64_t *state, uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)random_next(state);
}

/* Memory of exactly this size, so that the address sanitizer reports any access after its end. */
static inline uint8_t *allocate_exactly(size_t length) {
    uint8_t *bytes = malloc(length > 0 ? length : 1);
    assert_non_null(bytes);
    memset(bytes, 0, length);
    return bytes;
}

/* A pointer that is declared with FREED is freed at the end of its block. */
#define FREED __attribute__((cleanup(free_at_end)))

static inline void free_at_end(void *pointer) {
    free(*(void **)pointer);
}

static inline uint8_t *copy_exactly(const void *from, size_t length) {
    uint8_t *bytes = allocate_exactly(length);
    if (length > 0)
        memcpy(bytes, from, length);
    return bytes;
}

/* The context of an allocator that counts, and that fails when a test wants it to. The functions
 * below are that allocator. The memory that they return is filled with bytes other than zero. */
struct test_memory {
    uint64_t allocations;               /* so far */
    uint64_t pieces, bytes, bytes_most; /* that are allocated now, and at most */
    uint64_t fails_from, fails_to;      /* the first and the last allocation that fails, or 0 */
};

enum { SIZE_IN_FRONT = 16 }; /* of each piece, which keeps the alignment of malloc */

static inline void *test_resize(void *context, void *memory, size_t bytes) {
    struct test_memory *test = context;
    uint8_t *piece = memory == NULL ? NULL : (uint8_t *)memory - SIZE_IN_FRONT;
    size_t before = 0;
    assert_true(bytes > 0);
    test->allocations++;
    if (test->allocations >= test->fails_from && test->allocations <= test->fails_to)
        return NULL;
    if (piece != NULL)
        memcpy(&before, piece, sizeof before);
    piece = realloc(piece, SIZE_IN_FRONT + bytes);
    assert_non_null(piece);
    memcpy(piece, &bytes, sizeof bytes);
    if (bytes > before)
        memset(piece + SIZE_IN_FRONT + before, 0xa5, bytes - before);
    test->pieces += memory == NULL;
    test->bytes += bytes - before;
    if (test->bytes > test->bytes_most)
        test->bytes_most = test->bytes;
    return piece + SIZE_IN_FRONT;
}

static inline void *test_allocate(void *context, size_t bytes) {
    return test_resize(context, NULL, bytes);
}

static inline void test_release(void *context, void *memory) {
    struct test_memory *test = context;
    size_t bytes;
    if (memory == NULL)
        return;
    memcpy(&bytes, (uint8_t *)memory - SIZE_IN_FRONT, sizeof bytes);
    test->pieces--;
    test->bytes -= bytes;
    free((uint8_t *)memory - SIZE_IN_FRONT);
}

/* Fails with both numbers in decimal when they differ. */
static inline void assert_same(uint64_t found, uint64_t expected, const char *what) {
    if (found != expected)
        fail_msg("%s: %llu, expected %llu", what, (unsigned long long)found,
                 (unsigned long long)expected);
}

/* Fails unless found is within tolerance of expected. */
static inline void assert_near(double found, double expected, double tolerance, const char *what) {
    if (!(found >= expected - tolerance && found <= expected + tolerance))
        fail_msg("%s: %.10g, expected %.10g within %.3g", what, found, expected, tolerance);
}

#endif
