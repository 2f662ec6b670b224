/* The bits of every layout are where they have always been, so that filters written by any release
 * are readable by any other, and no key that was added is ever missed.
 *
 * The bytes of filters are in vectors_test.c. Here a second implementation in the most naive way,
 * one bool per bit, is compared over thousands of random shapes and hashes. */
#include "library_test.h"

#include "filter/bitset.h"
#include "filter/hash.h"
#include "filter/layout.h"
#include "filter/blocked_kernel.h"

#include <math.h>

enum { BLOCK = 512 };

static struct bloom_shape shape_of(const struct bloom_layout *layout, uint32_t probes,
                                   uint64_t bits) {
    return (struct bloom_shape){.layout = layout, .probes = probes, .bits = bits};
}

static uint8_t *empty_payload(const struct bloom_shape *shape) {
    return allocate_exactly((size_t)bloom_payload_bytes(shape));
}

static void add_hash(const struct bloom_shape *shape, uint8_t *payload, struct bloom_hash hash) {
    shape->layout->add(shape, payload, hash.words, 1);
}

static void add_integers(const struct bloom_shape *shape, uint8_t *payload, int64_t first,
                         int64_t last) {
    for (int64_t key = first; key <= last; key++)
        add_hash(shape, payload, bloom_hash_integer(key));
}

static bool has_integer(const struct bloom_shape *shape, const uint8_t *payload, int64_t key) {
    struct bloom_hash hash = bloom_hash_integer(key);
    return shape->layout->check(shape, payload, hash.words);
}

/* The second implementation: which bits a key has, one bool per bit of the filter. */

static void naive_blocked(const struct bloom_shape *shape, const uint64_t *value, bool *bits) {
    /* floor(v * blocks / 2^64) by long multiplication in halves. */
    uint64_t blocks = shape->bits / BLOCK;
    uint64_t high = (*value >> 32) * blocks, low = (*value & 0xffffffff) * blocks;
    assert_true(blocks < UINT64_C(1) << 31);
    uint64_t block = (high + (low >> 32)) >> 32;
    uint64_t word = *value * 0x9e3779b97f4a7c15 + 0xb504f333f9de6485;
    for (uint32_t i = 0; i < shape->probes; i++) {
        if (i == 7 || i == 14)
            word = (word ^ word >> 32) * 0x9e3779b97f4a7c15;
        bits[block * BLOCK + (word >> (55 - 9 * (i % 7)) & 511)] = true;
    }
}

static void naive_classic(const struct bloom_shape *shape, const uint64_t *value, bool *bits) {
    for (uint32_t i = 0; i < shape->probes; i++)
        bits[(value[0] + i * value[1]) % (UINT64_C(1) << 63) % shape->bits] = true;
}

static void naive_classic32(const struct bloom_shape *shape, const uint64_t *value, bool *bits) {
    int64_t two_to_32 = INT64_C(1) << 32;
    int64_t start = (int64_t)(*value % (uint64_t)two_to_32),
            step = (int64_t)(*value / (uint64_t)two_to_32);
    for (int64_t i = 1; i <= shape->probes; i++) {
        /* As Java's int: signed, and the complement of a negative number is -1 less it. */
        int64_t combined = (start + i * step) % two_to_32;
        if (combined >= two_to_32 / 2)
            combined = -1 - (combined - two_to_32);
        bits[(uint64_t)combined % shape->bits] = true;
    }
}

static void naive_add(const struct bloom_shape *shape, const uint64_t *value, bool *bits) {
    static const struct {
        const char *name;
        void (*add)(const struct bloom_shape *, const uint64_t *, bool *);
    } naive[] = {
        {"blocked", naive_blocked}, {"classic", naive_classic}, {"classic32", naive_classic32}};
    for (size_t i = 0; i < COUNT_OF(naive); i++)
        if (strcmp(naive[i].name, shape->layout->name) == 0) {
            naive[i].add(shape, value, bits);
            return;
        }
    fail_msg("layout %s is not known here: write it down once more", shape->layout->name);
}

static bool naive_check(const struct bloom_shape *shape, const uint64_t *value, const bool *bits) {
    bool *own = calloc((size_t)shape->bits, sizeof *own);
    assert_non_null(own);
    naive_add(shape, value, own);
    bool all = true;
    for (size_t i = 0; i < shape->bits; i++)
        all = all && (!own[i] || bits[i]);
    free(own);
    return all;
}

static struct bloom_shape random_shape(const struct bloom_layout *layout, uint64_t *random) {
    uint32_t probes = 1 + (uint32_t)random_below(
                              random, random_below(random, 4) == 0 ? layout->probes_maximum : 12);
    uint64_t bits =
        layout->bits_multiple * (1 + random_below(random, 3000 / layout->bits_multiple + 5));
    return shape_of(layout, probes, bits);
}

static uint64_t random_word(uint64_t *random) {
    static const uint64_t edges[] = {
        0, 1, UINT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, UINT64_MAX - 1};
    uint64_t choice = random_below(random, 4 * COUNT_OF(edges));
    return choice < COUNT_OF(edges) ? edges[choice] : random_next(random);
}

static void assert_as_naive(const struct bloom_layout *layout, uint64_t seed) {
    enum { SHAPES = 1500, KEYS_MOST = 100, OTHERS = 40 };
    uint64_t random = seed;
    uint64_t yes = 0, no = 0;
    for (unsigned round = 0; round < SHAPES; round++) {
        struct bloom_shape shape = random_shape(layout, &random);
        size_t width = layout->hash_words, bytes = (size_t)bloom_payload_bytes(&shape);
        size_t count = random_below(&random, KEYS_MOST + 1), asked = count + OTHERS;
        uint64_t *values = malloc(asked * width * sizeof *values);
        bool *bits = calloc((size_t)shape.bits, sizeof *bits);
        assert_non_null(values);
        assert_non_null(bits);
        for (size_t i = 0; i < asked * width; i++)
            values[i] = random_word(&random);

        uint8_t *together = empty_payload(&shape), *one_by_one = empty_payload(&shape),
                *expected = empty_payload(&shape);
        layout->add(&shape, together, values, count);
        for (size_t i = 0; i < count; i++) {
            layout->add(&shape, one_by_one, values + i * width, 1);
            naive_add(&shape, values + i * width, bits);
        }
        for (size_t i = 0; i < shape.bits; i++)
            expected[i / 8] |= (uint8_t)((unsigned)bits[i] << i % 8);
        assert_memory_equal(together, expected, bytes);
        assert_memory_equal(one_by_one, expected, bytes);

        uint8_t *found = allocate_exactly(asked);
        memset(found, 7, asked);
        layout->check_many(&shape, together, values, asked, found);
        for (size_t i = 0; i < asked; i++) {
            bool in = naive_check(&shape, values + i * width, bits);
            assert_true(in || i >= count);
            assert_int_equal(found[i], in);
            assert_int_equal(layout->check(&shape, together, values + i * width), in);
            *(in ? &yes : &no) += 1;
        }
        assert_memory_equal(together, expected, bytes);
        free(values);
        free(bits);
        free(together);
        free(one_by_one);
        free(expected);
        free(found);
    }
    assert_true(yes > SHAPES && no > SHAPES);
}

static void every_layout_as_naive(void **state) {
    (void)state;
    static const struct bloom_layout *const layouts[] = {
        NULL, &bloom_layout_blocked, &bloom_layout_classic, &bloom_layout_classic32};
    for (unsigned number = 1; number < COUNT_OF(layouts); number++) {
        assert_ptr_equal(bloom_layout_by_numbers(number, 1), layouts[number]);
        assert_int_equal(layouts[number]->number, number);
        assert_as_naive(layouts[number], number);
    }
}

/* The following hold for both layouts alike. */

static const struct bloom_shape SHAPES[] = {
    {.layout = &bloom_layout_blocked, .probes = 1, .bits = BLOCK},
    {.layout = &bloom_layout_blocked, .probes = 6, .bits = 20 * BLOCK},
    {.layout = &bloom_layout_blocked, .probes = 21, .bits = 77 * BLOCK},
    {.layout = &bloom_layout_classic, .probes = 1, .bits = 1},
    {.layout = &bloom_layout_classic, .probes = 7, .bits = 9593},
    {.layout = &bloom_layout_classic, .probes = 7, .bits = 16384},
    {.layout = &bloom_layout_classic, .probes = 255, .bits = 400001},
};

static void empty_key(void **state) {
    (void)state;
    static const uint64_t zeros[2] = {0, 0};
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        uint8_t *payload = empty_payload(shape);
        assert_false(shape->layout->check(shape, payload, zeros));
        shape->layout->add(shape, payload, zeros, 1);
        assert_true(shape->layout->check(shape, payload, zeros));
        uint64_t ones = bloom_bitset_ones(payload, (size_t)bloom_payload_bytes(shape));
        /* Blocked: the probes are 362, 19, 409, 319, 315, 409 again, ... Classic: Guava's rule puts
         * them all on bit 0. */
        if (shape->layout == &bloom_layout_classic)
            assert_same(ones, 1, "bits of the empty key");
        else
            assert_same(ones,
                        shape->probes == 1   ? 1
                        : shape->probes == 6 ? 5
                                             : 20,
                        "bits of the empty key");
        free(payload);
    }
}

static void no_false_negatives(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        uint8_t *payload = empty_payload(shape);
        for (int64_t key = 0; key < 5000; key++) {
            add_integers(shape, payload, key, key);
            assert_true(has_integer(shape, payload, key));
        }
        for (int64_t key = 0; key < 5000; key++)
            assert_true(has_integer(shape, payload, key));
        free(payload);
    }
}

static void order_and_duplicates(void **state) {
    (void)state;
    enum { KEYS = 300 };
    uint64_t random = 3;
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        size_t bytes = (size_t)bloom_payload_bytes(shape);
        uint8_t *forward = empty_payload(shape), *shuffled = empty_payload(shape);
        add_integers(shape, forward, 0, KEYS - 1);
        int64_t keys[KEYS];
        for (int64_t key = 0; key < KEYS; key++) {
            size_t other = random_below(&random, (uint64_t)key + 1);
            keys[key] = keys[other];
            keys[other] = key;
        }
        for (unsigned key = 0; key < KEYS; key++) {
            add_integers(shape, shuffled, keys[key], keys[key]);
            add_integers(shape, shuffled, keys[key / 2], keys[key / 2]);
        }
        assert_memory_equal(forward, shuffled, bytes);
        add_integers(shape, shuffled, 0, KEYS - 1);
        assert_memory_equal(forward, shuffled, bytes);
        free(forward);
        free(shuffled);
    }
}

static void union_of_parts(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        size_t bytes = (size_t)bloom_payload_bytes(shape);
        uint8_t *whole = empty_payload(shape), *parts[3], *merged = empty_payload(shape);
        add_integers(shape, whole, 0, 400);
        for (unsigned part = 0; part < 3; part++)
            parts[part] = empty_payload(shape);
        add_integers(shape, parts[0], 0, 250);
        add_integers(shape, parts[1], 100, 300);
        add_integers(shape, parts[2], 290, 400);
        for (unsigned part = 3; part > 0; part--)
            bloom_bitset_union(merged, parts[part - 1], bytes);
        assert_memory_equal(merged, whole, bytes);
        for (unsigned part = 0; part < 3; part++)
            free(parts[part]);
        free(whole);
        free(merged);
    }
}

static void intersection_keeps_common_keys(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
        size_t bytes = (size_t)bloom_payload_bytes(shape);
        uint8_t *left = empty_payload(shape), *right = empty_payload(shape),
                *common = empty_payload(shape);
        add_integers(shape, left, 0, 400);
        add_integers(shape, right, 300, 700);
        add_integers(shape, common, 300, 400);
        bloom_bitset_intersect(left, right, bytes);
        for (int64_t key = 300; key <= 400; key++)
            assert_true(has_integer(shape, left, key));
        /* Every bit of the common keys is there. */
        bloom_bitset_intersect(right, common, bytes);
        assert_memory_equal(right, common, bytes);
        bloom_bitset_intersect(common, left, bytes);
        assert_memory_equal(right, common, bytes);
        free(left);
        free(right);
        free(common);
    }
}

static void any_address(void **state) {
    (void)state;
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
        shape->layout->check_many(shape, expected, values, 2 * KEYS, expected_found);
        struct bloom_estimate expected_estimate = shape->layout->estimate(shape, expected);
        for (size_t offset = 0; offset < 64; offset++) {
            uint8_t *memory = allocate_exactly(offset + bytes);
            uint8_t *payload = memory + offset;
            shape->layout->add(shape, payload, values, KEYS);
            assert_memory_equal(payload, expected, bytes);
            shape->layout->check_many(shape, payload, values, 2 * KEYS, found);
            assert_memory_equal(found, expected_found, sizeof found);
            for (size_t key = 0; key < 2 * KEYS; key++)
                assert_int_equal(shape->layout->check(shape, payload, values + key * width),
                                 found[key]);
            struct bloom_estimate estimate = shape->layout->estimate(shape, payload);
            assert_same(estimate.ones, expected_estimate.ones, "ones");
            for (size_t before = 0; before < offset; before++)
                assert_int_equal(memory[before], 0);
            free(memory);
        }
        free(expected);
    }
}

static void any_number_at_once(void **state) {
    (void)state;
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
            shape->layout->check_many(shape, payload, exact, count, found);
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
static void blocks_of_every_layout(void **state) {
    (void)state;
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

static void estimates_of_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        uint8_t *payload = empty_payload(&SHAPES[i]);
        struct bloom_estimate estimate = SHAPES[i].layout->estimate(&SHAPES[i], payload);
        assert_same(estimate.ones, 0, "ones");
        assert_true(estimate.count == 0 && !signbit(estimate.count));
        assert_true(estimate.rate == 0 && !signbit(estimate.rate));
        free(payload);
    }
}

static void estimates_of_a_full_filter(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const struct bloom_shape *shape = &SHAPES[i];
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

static void exact_estimates(void **state) {
    (void)state;
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

/* A filter whose blocks are kept one by one, each in memory of its own. */
static void blocks_apart(void **state) {
    (void)state;
    enum { BLOCKS = 7, KEYS = 300 };
    for (uint32_t probes = 1; probes <= 21; probes++) {
        struct bloom_shape shape = shape_of(&bloom_layout_blocked, probes, BLOCKS * BLOCK);
        uint8_t *whole = empty_payload(&shape), *blocks[BLOCKS];
        assert_same(bloom_layout_blocked.blocks->count(&shape), BLOCKS, "blocks");
        for (unsigned i = 0; i < BLOCKS; i++)
            blocks[i] = allocate_exactly(BLOOM_BLOCK_BYTES);
        uint64_t random = probes;
        for (unsigned key = 0; key < KEYS; key++) {
            uint64_t value = random_word(&random);
            uint64_t block = bloom_layout_blocked.blocks->of(&shape, &value);
            assert_true(block < BLOCKS);
            assert_int_equal(bloom_layout_blocked.blocks->check(&shape, blocks[block], &value),
                             bloom_layout_blocked.check(&shape, whole, &value));
            if (key % 3 == 0) {
                bloom_layout_blocked.blocks->add(&shape, blocks[block], &value);
                bloom_layout_blocked.add(&shape, whole, &value, 1);
                assert_true(bloom_layout_blocked.blocks->check(&shape, blocks[block], &value));
            }
        }
        struct bloom_tally tally = {0};
        for (unsigned i = 0; i < BLOCKS; i++) {
            assert_memory_equal(blocks[i], whole + i * BLOOM_BLOCK_BYTES, BLOOM_BLOCK_BYTES);
            bloom_layout_blocked.blocks->tally(&tally, blocks[i], 1);
            free(blocks[i]);
        }
        struct bloom_estimate apart = bloom_layout_blocked.blocks->estimate(&shape, &tally);
        struct bloom_estimate together = bloom_layout_blocked.estimate(&shape, whole);
        assert_same(apart.ones, together.ones, "ones");
        assert_true(apart.count == together.count && apart.rate == together.rate);
        free(whole);
    }
}

static void missing_blocks_count_as_empty(void **state) {
    (void)state;
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
    struct bloom_estimate some = bloom_layout_blocked.blocks->estimate(&shape, &tally);
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

static void estimates_are_near(void **state) {
    (void)state;
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

static void odd_sizes(void **state) {
    (void)state;
    for (uint64_t bits = 1; bits <= 70; bits++)
        for (uint32_t probes = 1; probes <= 255; probes += 127) {
            struct bloom_shape shape = shape_of(&bloom_layout_classic, probes, bits);
            uint8_t *payload = empty_payload(&shape);
            add_integers(&shape, payload, 0, 2000);
            /* By now all bits are set, and none beyond the last. */
            for (uint64_t bit = 0; bit < 8 * bloom_payload_bytes(&shape); bit++)
                assert_int_equal(payload[bit / 8] >> bit % 8 & 1, bit < bits);
            struct bloom_estimate estimate = bloom_layout_classic.estimate(&shape, payload);
            assert_same(estimate.ones, bits, "ones");
            free(payload);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Every layout of bits agrees with a naive implementation bit for bit",
             every_layout_as_naive),
        TEST("The empty key works and, in blocked, sets several bits", empty_key),
        TEST("No key that was added is missed", no_false_negatives),
        TEST("Neither the order of keys nor duplicates change a bit", order_and_duplicates),
        TEST("The union of parts is the filter of the whole", union_of_parts),
        TEST("An intersection keeps every common key", intersection_keeps_common_keys),
        TEST("A payload may lie at any address and is never left", any_address),
        TEST("Any number of keys may be added and checked at once", any_number_at_once),
        TEST("Blocks are of the sizes that filter tables can have", blocks_of_every_layout),
        TEST("An empty filter has no ones, no keys and rate zero", estimates_of_nothing),
        TEST("A full filter has infinitely many keys and rate one", estimates_of_a_full_filter),
        TEST("Blocks kept apart are those of the whole", blocks_apart),
        TEST("Blocks that are nowhere count as empty", missing_blocks_count_as_empty),
        TEST("Estimates follow from the ones alone", exact_estimates),
        TEST("Estimates are near the number of keys and the measured rate", estimates_are_near),
        TEST("Classic fills its bits and no others for any odd size", odd_sizes),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
