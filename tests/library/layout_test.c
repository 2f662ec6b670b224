/* Layouts blocked, classic and counting at any address, with any number of keys, in blocks apart,
 * and what they tell of the keys in them. Their bits are in vectors_test.c and kernel_test.c. */
#include "library_test.h"

#include "filter/layout.h"
#include "filter/layouts/kernels/kernel.h"
#include "shapes.h"

#include <math.h>

enum { BLOCK = 512 };

static struct bloom_shape shape_of(const struct bloom_layout *layout, uint32_t probes,
                                   uint64_t bits) {
    return (struct bloom_shape){.layout = layout, .probes = probes, .bits = bits};
}

static uint64_t random_word(uint64_t *random) {
    static const uint64_t edges[] = {
        0, 1, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, UINT64_MAX - 1};
    uint64_t choice = random_below(random, 4 * COUNT_OF(edges));
    return choice < COUNT_OF(edges) ? edges[choice] : random_next(random);
}

static const struct bloom_shape SHAPES[] = {
    {.layout = &bloom_layout_blocked, .probes = 1, .bits = BLOCK},
    {.layout = &bloom_layout_blocked, .probes = 6, .bits = 20 * BLOCK},
    {.layout = &bloom_layout_blocked, .probes = 21, .bits = 77 * BLOCK},
    {.layout = &bloom_layout_classic, .probes = 1, .bits = 1},
    {.layout = &bloom_layout_classic, .probes = 7, .bits = 9593},
    {.layout = &bloom_layout_classic, .probes = 7, .bits = 16384},
    {.layout = &bloom_layout_classic, .probes = 255, .bits = 400001},
    {.layout = &bloom_layout_counting, .probes = 8, .bits = 19 * 4 * BLOCK},
};

static void any_address(void) {
    enum { KEYS = 70 };
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        size_t bytes = (size_t)bloom_payload_bytes(shape), width = shape->layout->hash_words;
        uint64_t random = 4;
        uint64_t values[2 * KEYS * 2];
        for (size_t word = 0; word < COUNT_OF(values); word++)
            values[word] = random_word(&random);
        uint8_t *expected = empty_payload(shape);
        uint8_t expected_found[2 * KEYS], found[2 * KEYS];
        shape->layout->add(shape, expected, values, KEYS);
        bloom_check_many(shape, expected, values, 2 * KEYS, expected_found);
        struct bloom_estimate expected_estimate = shape->layout->estimate(shape, expected);
        for (size_t offset = 0; offset < 20; offset++) {
            uint8_t *memory = allocate_exactly(offset + bytes);
            uint8_t *payload = memory + offset;
            shape->layout->add(shape, payload, values, KEYS);
            assert_memory_equal(payload, expected, bytes);
            bloom_check_many(shape, payload, values, 2 * KEYS, found);
            assert_memory_equal(found, expected_found, sizeof found);
            for (size_t key = 0; key < 2 * KEYS; key++)
                assert_int_equal(shape->layout->check(shape, payload, values + key * width),
                                 found[key]);
            struct bloom_estimate estimate = shape->layout->estimate(shape, payload);
            assert_same(estimate.ones, expected_estimate.ones, "ones");
            if (shape->layout->repeats) {
                uint8_t bits[19 * BLOOM_BLOCK_BYTES];
                bloom_counting_convert(shape, payload, bits);
                for (size_t key = 0; key < KEYS; key++)
                    bloom_counting_remove(shape, payload, values + key);
                assert_same(shape->layout->estimate(shape, payload).ones, 0, "ones left");
                shape->layout->unite(payload, expected, bytes);
                assert_memory_equal(payload, expected, bytes);
            }
            for (size_t before = 0; before < offset; before++)
                assert_int_equal(memory[before], 0);
            free(memory);
        }
        free(expected);
    }
}

/* Memory of exact size for the keys and for the answers, too. */
static void any_number_at_once(void) {
    enum { KEYS = 200 };
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        const size_t bytes = (size_t)bloom_payload_bytes(shape), width = shape->layout->hash_words;
        for (size_t count = 0; count <= KEYS; count++) {
            uint64_t *words = random_words(count * width, count);
            uint8_t *found = allocate_exactly(count), *payload = empty_payload(shape),
                    *expected = empty_payload(shape);
            shape->layout->add(shape, payload, words, count);
            bloom_check_many(shape, payload, words, count, found);
            for (size_t key = 0; key < count; key++) {
                assert_int_equal(found[key], 1);
                shape->layout->add(shape, expected, words + key * width, 1);
            }
            assert_memory_equal(payload, expected, bytes);
            free(words);
            free(found);
            free(payload);
            free(expected);
        }
    }
}

/* What filter tables build upon, of every layout that has blocks. */
static void blocks_of_every_layout(void) {
    unsigned with_blocks = 0;
    for (unsigned number = 0; number < 65536; number++) {
        const struct bloom_layout *layout = bloom_layout_by_numbers(number >> 8, number & 255);
        if (layout == NULL || layout->blocks == NULL)
            continue;
        with_blocks++;
        uint32_t bytes = layout->blocks->bytes;
        assert_true(bytes >= 64 && bytes <= BLOOM_BLOCK_BYTES_MAXIMUM &&
                    (bytes & (bytes - 1)) == 0);
        if (layout->repeats || layout->blocks->remove != NULL)
            assert_int_equal(layout->hash_words, 1);
    }
    assert_int_equal(with_blocks, 4); /* blocked and counting, each with murmur3 and siphash */
}

/* Edges of estimates; format_test.py holds others against the formulas. */
static void estimates_at_the_ends(void) {
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        uint8_t *payload = empty_payload(shape);
        struct bloom_estimate estimate = shape->layout->estimate(shape, payload);
        assert_same(estimate.ones, 0, "ones");
        assert_true(estimate.count == 0 && !signbit(estimate.count));
        assert_true(estimate.rate == 0 && !signbit(estimate.rate));
        if (!shape->layout->repeats) { /* those of counting are those of blocked */
            memset(payload, 0xff, (size_t)bloom_payload_bytes(shape));
            if (shape->bits % 8 != 0)
                payload[bloom_payload_bytes(shape) - 1] = (uint8_t)((1u << shape->bits % 8) - 1);
            estimate = shape->layout->estimate(shape, payload);
            assert_same(estimate.ones, shape->bits, "ones");
            assert_true(isinf(estimate.count) && estimate.count > 0 && estimate.rate == 1);
            /* One bit less: finite, and still sure of nothing. */
            payload[0] ^= 1;
            estimate = shape->layout->estimate(shape, payload);
            assert_same(estimate.ones, shape->bits - 1, "ones");
            assert_true(isfinite(estimate.count) && estimate.rate < 1);
        }
        free(payload);
    }
}

/* What a filter table does: the blocks of a filter are kept one by one, each in memory of its own,
 * and tell how many ones they have more or fewer. */
static void blocks_of_one_apart(const struct bloom_layout *layout, uint32_t probes) {
    enum { BLOCKS = 7, KEYS = 300, STEPS = 3000 };
    const struct bloom_blocks *blocks = layout->blocks;
    struct bloom_shape shape = shape_of(layout, probes, UINT64_C(8) * BLOCKS * blocks->bytes);
    uint8_t *whole = empty_payload(&shape), *apart[BLOCKS];
    uint64_t random = probes, keys[KEYS], ones = 0;
    assert_same(bloom_block_count(&shape), BLOCKS, "blocks");
    for (unsigned i = 0; i < BLOCKS; i++)
        apart[i] = allocate_exactly(blocks->bytes);
    for (unsigned i = 0; i < KEYS; i++)
        keys[i] = random_word(&random);
    for (unsigned step = 0; step < STEPS; step++) {
        const uint64_t *key = &keys[random_below(&random, KEYS)];
        uint64_t block = bloom_block_of(&shape, key);
        assert_true(block < BLOCKS);
        bool in = blocks->check(&shape, apart[block], key);
        assert_int_equal(in, layout->check(&shape, whole, key));
        if (random_below(&random, 3) == 0) {
            layout->add(&shape, whole, key, 1);
            ones += blocks->add(&shape, apart[block], key);
            assert_true(blocks->check(&shape, apart[block], key));
        } else if (layout->repeats && step % 2 == 0) {
            bloom_counting_remove(&shape, whole, key);
            if (in)
                ones -= blocks->remove(&shape, apart[block], key);
        }
    }
    struct bloom_tally tally = {0};
    for (unsigned i = 0; i < BLOCKS; i++) {
        assert_memory_equal(apart[i], whole + i * blocks->bytes, blocks->bytes);
        blocks->tally(&tally, apart[i], 1);
        free(apart[i]);
    }
    struct bloom_estimate of_parts = bloom_estimate_tally(&shape, &tally);
    struct bloom_estimate of_whole = layout->estimate(&shape, whole);
    assert_same(ones, of_whole.ones, "ones");
    assert_same(of_parts.ones, of_whole.ones, "ones of parts");
    assert_true(of_parts.count == of_whole.count && of_parts.rate == of_whole.rate);
    free(whole);
}

static void blocks_apart(void) {
    for (uint32_t probes = 1; probes <= 21; probes++) {
        blocks_of_one_apart(&bloom_layout_blocked, probes);
        blocks_of_one_apart(&bloom_layout_counting, probes);
    }
}

static void missing_blocks_count_as_empty(void) {
    struct bloom_shape shape = shape_of(&bloom_layout_blocked, 6, 100 * BLOCK);
    uint8_t *whole = empty_payload(&shape);
    struct bloom_tally tally = {0};
    /* Keys of the first five blocks only. */
    uint64_t random = 7;
    for (unsigned key = 0; key < 100; key++) {
        uint64_t value = random_below(&random, UINT64_MAX / 20);
        bloom_layout_blocked.add(&shape, whole, &value, 1);
    }
    bloom_layout_blocked.blocks->tally(&tally, whole, 5);
    struct bloom_estimate some = bloom_estimate_tally(&shape, &tally);
    struct bloom_estimate all = bloom_layout_blocked.estimate(&shape, whole);
    assert_true(some.ones > 400);
    assert_same(some.ones, all.ones, "ones");
    assert_true(some.count == all.count && some.rate == all.rate);
    free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("A payload may lie at any address and is never left", any_address),
        TEST("Any number of keys may be added and checked at once", any_number_at_once),
        TEST("Blocks are of the sizes that filter tables can have", blocks_of_every_layout),
        TEST("An empty filter has no keys, a full one infinitely many", estimates_at_the_ends),
        TEST("Blocks kept apart are those of the whole", blocks_apart),
        TEST("Blocks that are nowhere count as empty", missing_blocks_count_as_empty),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
