/* Layout bitmap and hashing integer: the set is exact, lists in order in both directions, and no
 * byte beyond the payload is touched; against an array of bools. */
#include "library_test.h"

#include "filter/key.h"
#include "shapes.h"

#include <math.h>

static struct bloom_shape bitmap_shape(uint64_t bits) {
    return (struct bloom_shape){
        .layout = &bloom_layout_bitmap, .probes = 1, .bits = bits, .capacity = bits};
}

static void numbers_are_themselves(void) {
    static const uint64_t extra[2] = {0, 0};
    const struct bloom_hashing *hashing = &bloom_hashing_integer;
    const struct bloom_shape shape = {.layout = &bloom_layout_bitmap};
    static const struct {
        double key;
        bool is_key;
        uint64_t word;
    } reals[] = {
        {0.0, true, 0},
        {-0.0, true, 0},
        {1.0, true, 1},
        {9007199254740993.0, true, UINT64_C(9007199254740992)},
        {9223372036854774784.0, true, UINT64_C(9223372036854774784)},
        {9223372036854775808.0, false, 0},
        {1e300, false, 0},
        {0.5, false, 0},
        {4503599627370495.5, false, 0},
        {-1.0, false, 0},
        {-0.5, false, 0},
        {(double)INFINITY, false, 0},
        {-(double)INFINITY, false, 0},
        {(double)NAN, false, 0},
    };
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM], word;
    assert_int_equal(hashing->number, 2);
    assert_null(hashing->bytes);
    for (size_t i = 0; i < COUNT_OF(reals); i++) {
        assert_int_equal(bloom_real_key(&shape, reals[i].key, words),
                         reals[i].is_key ? BLOOM_KEY : BLOOM_KEY_FOREIGN);
        if (reals[i].is_key)
            assert_same(words[0], reals[i].word, "word of a real");
    }
    static const int64_t integers[] = {0, 1, 42, INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(integers); i++) {
        assert_true(hashing->integer(extra, integers[i], &word));
        assert_same(word, (uint64_t)integers[i], "word of an integer");
    }
    assert_false(hashing->integer(extra, -1, &word));
    assert_false(hashing->integer(extra, INT64_MIN, &word));
}

static size_t naive_list(const bool *in, uint64_t first, uint64_t last, bool down, uint64_t *keys,
                         size_t room) {
    size_t count = 0;
    for (uint64_t i = first; i <= last && count < room; i++)
        if (in[down ? first + last - i : i])
            keys[count++] = down ? first + last - i : i;
    return count;
}

static void as_naive(void) {
    enum { ROUNDS = 1000, BITS_MOST = 300 };
    uint64_t random = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t bits = 1 + random_below(&random, BITS_MOST);
        struct bloom_shape shape = bitmap_shape(bits);
        bool in[BITS_MOST] = {false};
        uint64_t words[BITS_MOST], keys[BITS_MOST], expected[BITS_MOST], ones = 0;
        uint8_t *payload = empty_payload(&shape), found[BITS_MOST + 2];
        size_t count = (size_t)random_below(&random, random_below(&random, 3) == 0 ? 4 : bits + 1);
        for (size_t i = 0; i < count; i++) {
            words[i] = random_below(&random, bits);
            in[words[i]] = true;
        }
        shape.layout->add(&shape, payload, words, count);
        for (uint64_t i = 0; i < bits + 2; i++) {
            bool expected_in = i < bits && in[i];
            assert_int_equal(shape.layout->check(&shape, payload, &i), expected_in);
            bloom_check_many(&shape, payload, &i, 1, found);
            assert_int_equal(found[0], expected_in);
            ones += expected_in;
        }
        struct bloom_estimate estimate = shape.layout->estimate(&shape, payload);
        assert_same(estimate.ones, ones, "ones");
        assert_true(estimate.count == (double)ones && estimate.rate == 0);
        assert_true(estimate.fill == (double)ones / (double)bits);
        for (unsigned question = 0; question < 20; question++) {
            uint64_t last = random_below(&random, bits), first = random_below(&random, last + 1);
            size_t room =
                random_below(&random, 4) == 0 ? BITS_MOST : (size_t)random_below(&random, 70);
            if (question == 0) {
                first = 0;
                last = bits - 1;
            }
            for (int down = 0; down < 2; down++) {
                size_t wanted = naive_list(in, first, last, down, expected, room);
                assert_same(bloom_bitmap_list(&shape, payload, first, last, down, keys, room),
                            wanted, down ? "listed downwards" : "listed");
                assert_memory_equal(keys, expected, wanted * sizeof *keys);
            }
        }
        free(payload);
    }
}

/* As many bits as numbers, whatever p is given. */
static void sizes(void) {
    static const uint64_t CAPACITIES[] = {0, 1, 2, 64, 1000, BLOOM_CAPACITY_MAXIMUM};
    for (size_t i = 0; i < COUNT_OF(CAPACITIES); i++) {
        const uint64_t expected = CAPACITIES[i] == 0 ? 1 : CAPACITIES[i];
        const struct bloom_shape shape =
            sized_shape(&bloom_layout_bitmap, CAPACITIES[i], i % 2 ? 7 : NAN);
        assert_same(shape.bits, expected, "bits");
        assert_same(shape.capacity, expected, "n");
        assert_same(shape.probes, 1, "k");
        assert_true(shape.rate == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Whole numbers from zero on are themselves, and nothing else is a key",
             numbers_are_themselves),
        TEST("It holds, lists and counts what an array of bools holds", as_naive),
        TEST("Its size is the number of numbers", sizes),
    };
    return cmocka_run_group_tests_name("bitmap", tests, NULL, NULL);
}
