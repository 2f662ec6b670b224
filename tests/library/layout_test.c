/* Layouts blocked, classic and counting at any address, with any number of keys, in blocks apart,
 * and what they tell of the keys in them. Their bits are in vectors_test.c and kernel_test.c. */
#include "library_test.h"

#include "base/bitset.h"
#include "filter/layout.h"
#include "filter/layouts/kernels/kernel.h"
#include "shorthand.h"

#include <math.h>

enum { BLOCK = 512 };

static struct bloom_shape shape_of(const struct bloom_layout *layout, uint32_t probes,
                                   uint64_t bits) {
    return (struct bloom_shape){.layout = layout, .probes = probes, .bits = bits};
}

static void add_integers(const struct bloom_shape *shape, uint8_t *payload, int64_t first,
                         int64_t last) {
    for (int64_t key = first; key <= last; key++)
        shape->layout->add(shape, payload, bloom_hash_integer(key).words, 1);
}

static bool has_integer(const struct bloom_shape *shape, const uint8_t *payload, int64_t key) {
    struct bloom_hash hash = bloom_hash_integer(key);
    return shape->layout->check(shape, payload, hash.words);
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

static void any_number_at_once(void) {
    enum { KEYS = 200 };
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        size_t bytes = (size_t)bloom_payload_bytes(shape), width = shape->layout->hash_words;
        uint64_t random = 5;
        uint8_t *expected = empty_payload(shape);
        for (size_t count = 0; count <= KEYS; count++) {
            /* Memory of exact size for the keys and for the answers, too. */
            uint64_t *values = malloc((count * width + 1) * sizeof *values);
            uint8_t *found = allocate_exactly(count), *payload = empty_payload(shape);
            assert_non_null(values);
            uint64_t *exact = values + 1; /* ends where the memory does */
            for (size_t word = 0; word < count * width; word++)
                exact[word] = random_next(&random);
            shape->layout->add(shape, payload, exact, count);
            bloom_check_many(shape, payload, exact, count, found);
            memset(expected, 0, bytes);
            for (size_t key = 0; key < count; key++) {
                assert_int_equal(found[key], 1);
                shape->layout->add(shape, expected, exact + key * width, 1);
            }
            assert_memory_equal(payload, expected, bytes);
            free(values);
            free(found);
            free(payload);
        }
        free(expected);
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

static void estimates_of_nothing(void) {
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        uint8_t *payload = empty_payload(&SHAPES[i]);
        struct bloom_estimate estimate = SHAPES[i].layout->estimate(&SHAPES[i], payload);
        assert_same(estimate.ones, 0, "ones");
        assert_true(estimate.count == 0 && !signbit(estimate.count));
        assert_true(estimate.rate == 0 && !signbit(estimate.rate));
        free(payload);
    }
}

static void estimates_of_a_full_filter(void) {
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        if (shape->layout->repeats)
            continue; /* estimates of counting are those of blocked: counting_test.c */
        uint8_t *payload = empty_payload(shape);
        memset(payload, 0xff, (size_t)bloom_payload_bytes(shape));
        if (shape->bits % 8 != 0)
            payload[bloom_payload_bytes(shape) - 1] = (uint8_t)((1u << shape->bits % 8) - 1);
        struct bloom_estimate estimate = shape->layout->estimate(shape, payload);
        assert_same(estimate.ones, shape->bits, "ones");
        assert_true(isinf(estimate.count) && estimate.count > 0);
        assert_true(estimate.rate == 1);
        for (int64_t key = 0; key < 100; key++)
            assert_true(has_integer(shape, payload, key));
        /* One bit less: finite, and still sure of nothing. */
        payload[0] ^= 1;
        estimate = shape->layout->estimate(shape, payload);
        assert_same(estimate.ones, shape->bits - 1, "ones");
        assert_true(isfinite(estimate.count));
        assert_true(estimate.rate < 1);
        free(payload);
    }
}

static void exact_estimates(void) {
    /* Two blocks, one with 256 of its bits set, one with all: what FORMAT.md says, by hand. */
    struct bloom_shape shape = shape_of(&bloom_layout_blocked, 2, 2 * BLOCK);
    uint8_t *payload = empty_payload(&shape);
    memset(payload, 0x55, BLOCK / 8);
    memset(payload + BLOCK / 8, 0xff, BLOCK / 8);
    struct bloom_estimate estimate = shape.layout->estimate(&shape, payload);
    assert_same(estimate.ones, 256 + 512, "ones");
    assert_near(estimate.rate, (0.25 + 1) / 2, 1e-15, "rate");
    free(payload);
    /* Half of the bits: k keys set k (m / k) ln 2 of them. */
    shape = shape_of(&bloom_layout_classic, 5, 800);
    payload = empty_payload(&shape);
    memset(payload, 0x0f, 100);
    estimate = shape.layout->estimate(&shape, payload);
    assert_same(estimate.ones, 400, "ones");
    assert_near(estimate.count, 800 / 5.0 * 0.69314718055994531, 1, "count");
    assert_near(estimate.rate, 1 / 32.0, 1e-15, "rate");
    free(payload);
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

/* Several filters of a shape, each with keys of its own: the mean of their estimated numbers of
 * keys and expected rates against what is known and measured. */
static void assert_estimates(struct bloom_shape shape, int64_t keys, unsigned filters,
                             double count_tolerance, double rate_tolerance) {
    enum { PROBES = 1000000 };
    double count = 0, rate = 0, measured = 0;
    for (unsigned filter = 0; filter < filters; filter++) {
        int64_t first = (int64_t)filter << 40;
        uint8_t *payload = empty_payload(&shape);
        add_integers(&shape, payload, first, first + keys - 1);
        struct bloom_estimate estimate = shape.layout->estimate(&shape, payload);
        assert_same(estimate.ones, bloom_bitset_ones(payload, (size_t)bloom_payload_bytes(&shape)),
                    "ones");
        count += estimate.count / filters;
        rate += estimate.rate / filters;
        unsigned found = 0;
        for (int64_t probe = 0; probe < PROBES / filters; probe++)
            found += has_integer(&shape, payload, first - 1 - probe);
        measured += (double)found / (PROBES / filters) / filters;
        free(payload);
    }
    assert_near(count, (double)keys, count_tolerance * (double)keys, "estimated number of keys");
    assert_near(rate, measured, rate_tolerance * measured, "expected rate");
}

static void estimates_are_near(void) {
    /* The standard error of a count is that of the ones: about sqrt(m (e^x - 1 - x)) / k keys with
     * the load x = k n / m, 0.1 % here; of a measured rate of 1 %, a million probes give 1 %. Four
     * of these are allowed.
     */
    assert_estimates(shape_of(&bloom_layout_blocked, 6, 1938 * BLOCK), 100000, 1, 0.005, 0.04);
    assert_estimates(shape_of(&bloom_layout_classic, 7, 958528), 100000, 1, 0.005, 0.04);
    /* Overfull, and nearly empty. */
    assert_estimates(shape_of(&bloom_layout_blocked, 6, 1938 * BLOCK), 300000, 1, 0.005, 0.01);
    assert_estimates(shape_of(&bloom_layout_classic, 7, 958528), 300000, 1, 0.005, 0.01);
    assert_estimates(shape_of(&bloom_layout_blocked, 3, 1938 * BLOCK), 30000, 1, 0.005, 0.10);
    assert_estimates(shape_of(&bloom_layout_classic, 3, 958528), 30000, 1, 0.005, 0.10);
    /* Small ones, averaged. */
    assert_estimates(shape_of(&bloom_layout_blocked, 6, BLOCK), 50, 2000, 0.01, 0.06);
    assert_estimates(shape_of(&bloom_layout_blocked, 6, 3 * BLOCK), 150, 2000, 0.01, 0.06);
    assert_estimates(shape_of(&bloom_layout_classic, 7, 10007), 1000, 200, 0.01, 0.06);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("A payload may lie at any address and is never left", any_address),
        TEST("Any number of keys may be added and checked at once", any_number_at_once),
        TEST("Blocks are of the sizes that filter tables can have", blocks_of_every_layout),
        TEST("An empty filter has no ones, no keys and rate zero", estimates_of_nothing),
        TEST("A full filter has infinitely many keys and rate one", estimates_of_a_full_filter),
        TEST("Blocks kept apart are those of the whole", blocks_apart),
        TEST("Blocks that are nowhere count as empty", missing_blocks_count_as_empty),
        TEST("Estimates follow from the ones alone", exact_estimates),
        TEST("Estimates are near the number of keys and the measured rate", estimates_are_near),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
