/* Layout bitmap: the set is exact, lists in order in both directions, and touches no byte beyond
 * the payload; against an array of bools. Which numbers are keys: bitmap.test. */
#include "library_test.h"

#include "shapes.h"

static struct bloom_shape bitmap_shape(uint64_t bits) {
    return (struct bloom_shape){
        .layout = &bloom_layout_bitmap, .probes = 1, .bits = bits, .capacity = bits};
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

RUN_GROUP("bitmap", TEST("It holds, lists and counts what an array of bools holds", as_naive))
