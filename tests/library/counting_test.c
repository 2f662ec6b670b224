/* Layout counting: counters stay within their bounds, what came and went leaves no trace, and the
 * bits are those of blocked. What the counters are after any history: format_test.py; at any
 * address and in blocks apart: layout_test.c. */
#include "library_test.h"

#include "filter/key_set.h"
#include "filter/layouts/kernels/kernel.h"
#include "shapes.h"

enum { PLACES = 512, BLOCK_BYTES = 256, FULL = 15 };

static struct bloom_shape counting_shape(uint32_t probes, uint64_t blocks) {
    return (struct bloom_shape){
        .layout = &bloom_layout_counting, .probes = probes, .bits = blocks * PLACES * 4};
}

/* Where the probes of a key are, as FORMAT.md says; counted from the start of the payload. */
static void naive_places(const struct bloom_shape *shape, uint64_t value, uint64_t *places) {
    uint64_t blocks = shape->bits / (PLACES * 4);
    uint64_t block = (value >> 32) * blocks >> 32; /* the blocks are few */
    uint64_t word = value * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0xb504f333f9de6485);
    for (uint32_t i = 0; i < shape->probes; i++) {
        if (i == 7 || i == 14)
            word = (word ^ word >> 32) * UINT64_C(0x9e3779b97f4a7c15);
        places[i] = PLACES * block + (word >> (55 - 9 * (i % 7)) & 511);
    }
}

/* Damaged bytes: a probe twice at a counter of one. It goes to zero, and not below. */
static void a_counter_at_zero_stays(void) {
    enum { PROBES = 21 };
    const struct bloom_shape shape = counting_shape(PROBES, 1);
    uint64_t random = 4, places[PROBES], twice = 0;
    uint8_t *payload = empty_payload(&shape), none[BLOCK_BYTES] = {0};
    for (unsigned round = 0; round < 100; round++) {
        uint64_t key = random_next(&random);
        naive_places(&shape, key, places);
        for (unsigned i = 0; i < PROBES; i++) {
            const uint8_t one = (uint8_t)(1 << places[i] % 2 * 4);
            twice += (payload[places[i] / 2] & one) != 0;
            payload[places[i] / 2] |= one;
        }
        bloom_counting_remove(&shape, payload, &key);
        assert_memory_equal(payload, none, BLOCK_BYTES);
    }
    assert_true(twice > 10);
    free(payload);
}

static void union_adds_counters(void) {
    struct bloom_shape shape = counting_shape(1, 1);
    uint8_t *into = empty_payload(&shape), *from = empty_payload(&shape);
    /* Every pair of counters, at even and at odd places. */
    for (unsigned a = 0; a <= FULL; a++)
        for (unsigned b = 0; b <= FULL; b++) {
            into[a * 16 + b] = (uint8_t)(a << 4 | b);
            from[a * 16 + b] = (uint8_t)(b << 4 | (15 - a));
        }
    shape.layout->unite(into, from, BLOCK_BYTES);
    for (unsigned a = 0; a <= FULL; a++)
        for (unsigned b = 0; b <= FULL; b++) {
            unsigned high = a + b > FULL ? FULL : a + b,
                     low = b + 15 - a > FULL ? FULL : b + 15 - a;
            assert_int_equal(into[a * 16 + b], high << 4 | low);
        }
    free(into);
    free(from);
}

/* The bits that blocked has of the same keys, whatever came and went; and the same estimates. */
static void converts_to_blocked(void) {
    enum { KEYS = 150 };
    for (uint32_t probes = 1; probes <= 21; probes++) {
        struct bloom_shape shape = counting_shape(probes, 1 + probes % 9);
        shape.capacity = 1234;
        shape.rate = 0.25;
        const struct bloom_shape blocked = bloom_counting_as_blocked(&shape);
        uint64_t *keys = random_words(KEYS, probes);
        uint8_t *counters = empty_payload(&shape), *expected = empty_payload(&blocked),
                *bits = empty_payload(&blocked);
        assert_ptr_equal(blocked.layout, &bloom_layout_blocked);
        assert_same(blocked.bits, shape.bits / 4, "bits");
        assert_same(blocked.probes, probes, "probes");
        assert_same(blocked.capacity, 1234, "n");
        assert_true(blocked.rate == 0.25);
        shape.layout->add(&shape, counters, keys, KEYS);
        shape.layout->add(&shape, counters, keys, 20);
        blocked.layout->add(&blocked, expected, keys, KEYS);
        bloom_counting_convert(&shape, counters, bits);
        assert_memory_equal(bits, expected, (size_t)bloom_payload_bytes(&blocked));
        const struct bloom_estimate one = shape.layout->estimate(&shape, counters),
                                    other = blocked.layout->estimate(&blocked, expected);
        assert_same(one.ones, other.ones, "ones");
        assert_true(one.count == other.count && one.rate == other.rate && one.fill == other.fill);
        assert_true(bloom_expected_ones(&shape, 99) == bloom_expected_ones(&blocked, 99));
        free(keys);
        free(counters);
        free(expected);
        free(bits);
    }
}

/* The set keeps up to fifteen copies of a key, and counts it once. */
static void sets_keep_copies(void) {
    enum { KEYS_MOST = 30000, COPIES_MOST = 40 };
    static const unsigned sizes[] = {0, 1, 2, 100, 3000, KEYS_MOST};
    for (size_t size = 0; size < COUNT_OF(sizes); size++) {
        struct bloom_key_set set = {.layout = &bloom_layout_counting, .memory = &bloom_c_memory};
        struct bloom_shape shape = counting_shape(6, 1 + sizes[size] / 50);
        uint8_t *expected = empty_payload(&shape), *payload = empty_payload(&shape);
        uint64_t random = 7;
        for (unsigned turn = 0; turn < COPIES_MOST; turn++)
            for (uint64_t i = 0; i < sizes[size]; i++) {
                uint64_t word = i == 0 ? 0 : i * UINT64_C(0x9e3779b97f4a7c15);
                if (i > 20 && turn > 2 && random_below(&random, 20) > 0)
                    continue;
                shape.layout->add(&shape, expected, &word, 1);
                assert_true(bloom_key_set_add(&set, &word));
            }
        assert_settles_to(&set, sizes[size]);
        assert_int_equal(bloom_key_set_build(&set, &shape, payload), BLOOM_BUILT);
        assert_memory_equal(payload, expected, (size_t)bloom_payload_bytes(&shape));
        bloom_key_set_clear(&set);
        free(expected);
        free(payload);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("A counter of zero stays", a_counter_at_zero_stays),
        TEST("A union adds counters up to fifteen", union_adds_counters),
        TEST("It converts to the very bits of blocked", converts_to_blocked),
        TEST("A set of keys keeps as many copies as counters can count", sets_keep_copies),
    };
    return cmocka_run_group_tests_name("counting", tests, NULL, NULL);
}
