/* Layouts at any address, with any number of keys; counters stay within their bounds. Their bits
 * are in kernel_test.c and format_test.py. Blocks one by one, as filter tables keep them, are in
 * tests/world and format_test.py. */
#include "library_test.h"

#include "filter/layout.h"
#include "filter/layouts/kernels/kernel.h"
#include "foreign/exchange.h"
#include "shapes.h"

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

/* Any number of keys, at any address, in memory of exact size. A third of the keys is added twice,
 * and a third is not added. */
static void add_and_check_many(const struct bloom_shape *shape) {
    enum { KEYS = 160, ADDRESSES = 20 };
    const struct bloom_layout *layout = shape->layout;
    const size_t bytes = (size_t)bloom_payload_bytes(shape), width = layout->hash_words;
    uint64_t random = 4;
    for (size_t count = 0; count <= KEYS; count++) {
        const size_t offset = count % ADDRESSES, in = count - count / 3;
        FREED uint64_t *words = random_words(count * width, count);
        FREED uint8_t *memory = allocate_exactly(offset + bytes), *found = allocate_exactly(count),
                      *expected = empty_payload(shape);
        uint8_t *payload = memory + offset;
        for (size_t i = 0; i < count * width; i += 7)
            words[i] = random_word(&random);
        layout->add(shape, payload, words, in);
        layout->add(shape, payload, words, count / 3);
        for (size_t key = 0; key < in + count / 3; key++)
            layout->add(shape, expected, words + (key < in ? key : key - in) * width, 1);
        assert_memory_equal(payload, expected, bytes);
        assert_same(layout->estimate(shape, payload).ones, layout->estimate(shape, expected).ones,
                    "ones");
        memset(found, 7, count);
        bloom_check_many(shape, payload, words, count, found);
        for (size_t key = 0; key < count; key++) {
            assert_int_equal(found[key], layout->check(shape, payload, words + key * width));
            assert_true(found[key] == 1 || (found[key] == 0 && key >= in));
        }
    }
}

static void any_number_at_any_address(void) {
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++)
        add_and_check_many(&SHAPES[i]);
    for (size_t i = 0; bloom_layouts()[i] != NULL; i++) {
        if (bloom_layouts()[i]->size == NULL || bloom_layouts()[i]->add == NULL ||
            bloom_layouts()[i]->exact)
            continue;
        const struct bloom_shape shape = sized_shape(bloom_layouts()[i], 100, 0.1);
        add_and_check_many(&shape);
    }
}

/* ---- Counting ---- */

/* In damaged bytes, two probes of a key can be at a counter of one, which then stops at zero. */
static void a_counter_at_zero_stays(void) {
    const struct bloom_shape shape = shape_of(&bloom_layout_counting, 21, 4 * BLOCK);
    uint64_t random = 4;
    FREED uint8_t *payload = empty_payload(&shape);
    for (unsigned round = 0; round < 100; round++) {
        uint64_t key = random_next(&random);
        memset(payload, 0x11, 4 * BLOCK / 8);
        bloom_counting_remove(&shape, payload, &key);
        for (size_t i = 0; i < 4 * BLOCK / 8; i++)
            assert_int_equal(payload[i] & 0xee, 0);
        assert_int_equal(bloom_layout_counting.check(&shape, payload, &key), 0);
    }
}

/* Every pair of counters, at even and at odd places. */
static void union_adds_counters(void) {
    enum { FULL = 15 };
    uint8_t into[256], from[256];
    for (unsigned a = 0; a <= FULL; a++)
        for (unsigned b = 0; b <= FULL; b++) {
            into[a * 16 + b] = (uint8_t)(a << 4 | b);
            from[a * 16 + b] = (uint8_t)(b << 4 | (FULL - a));
        }
    bloom_layout_counting.unite(into, into, from, sizeof into);
    for (unsigned a = 0; a <= FULL; a++)
        for (unsigned b = 0; b <= FULL; b++) {
            const unsigned high = a + b > FULL ? FULL : a + b,
                           low = b + FULL - a > FULL ? FULL : b + FULL - a;
            assert_int_equal(into[a * 16 + b], high << 4 | low);
        }
}

RUN_GROUP("layout",
          TEST("Any number of keys at any address is added and checked", any_number_at_any_address),
          TEST("A counter of zero stays", a_counter_at_zero_stays),
          TEST("A union adds counters up to fifteen", union_adds_counters))
