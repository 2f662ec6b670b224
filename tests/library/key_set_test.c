/* A key set counts exactly, loses nothing and leaks nothing, whatever is added and whichever
 * allocation fails. The truth is computed by sorting. Interrupts: passes_test.c. */
#include "chosen_keys.h"
#include "library_test.h"

#include "filter/key_set.h"
#include "foreign/exchange.h"
#include "shapes.h"

static struct test_memory memory;
static const struct bloom_memory MEMORY = {test_allocate, test_release, NULL, &memory};

static struct bloom_key_set new_set(const struct bloom_layout *layout) {
    memory = (struct test_memory){0};
    return (struct bloom_key_set){.layout = layout, .memory = &MEMORY};
}

static void end_set(struct bloom_key_set *set) {
    bloom_key_set_clear(set);
    assert_same(memory.pieces, 0, "pieces of memory left");
    assert_same(memory.bytes, 0, "bytes of memory left");
}

static void add_keys(struct bloom_key_set *set, const struct bloom_hash *keys, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_true(bloom_key_set_add(set, keys[i].words));
}

/* ---- The truth ---- */

/* Orders hashes by the words that a layout looks at. */
static unsigned words_compared;

static int compare_hashes(const void *a, const void *b) {
    const struct bloom_hash *left = a, *right = b;
    for (unsigned i = 0; i < words_compared; i++)
        if (left->words[i] != right->words[i])
            return left->words[i] < right->words[i] ? -1 : 1;
    return 0;
}

static uint64_t count_distinct(const struct bloom_layout *layout, const struct bloom_hash *keys,
                               size_t count) {
    struct bloom_hash *sorted = (void *)copy_exactly(keys, count * sizeof *sorted);
    uint64_t distinct = 0;
    words_compared = layout->hash_words;
    qsort(sorted, count, sizeof *sorted, compare_hashes);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || compare_hashes(&sorted[i - 1], &sorted[i]) != 0;
    free(sorted);
    return distinct;
}

/* A filter built from the set is the one with the keys added directly. */
static void assert_builds(const struct bloom_key_set *set, const struct bloom_hash *keys,
                          size_t count) {
    struct bloom_shape shape = {.layout = set->layout, .probes = 5, .bits = 1 << 18};
    FREED uint8_t *built = empty_payload(&shape), *direct = empty_payload(&shape);
    assert_int_equal(bloom_key_set_build(set, &shape, built), BLOOM_BUILT);
    for (size_t i = 0; i < count; i++)
        set->layout->add(&shape, direct, keys[i].words, 1);
    assert_memory_equal(built, direct, (size_t)bloom_payload_bytes(&shape));
}

static const struct bloom_layout *const BOTH[] = {&bloom_layout_blocked, &bloom_layout_classic};

/* For either layout: adds all keys, settles in between and at the end, twice; the count is that of
 * sorting, and the filter the one of the keys. Then the set starts again from nothing. */
static void assert_exact(const struct bloom_hash *keys, size_t count) {
    for (size_t i = 0; i < COUNT_OF(BOTH); i++) {
        struct bloom_key_set set = new_set(BOTH[i]);
        const size_t third = count / 3, again = count < 500 ? count : 500;
        add_keys(&set, keys, third);
        assert_settles_to(&set, count_distinct(BOTH[i], keys, third));
        add_keys(&set, keys + third, count - third);
        for (int turn = 0; turn < 2; turn++) {
            assert_builds(&set, keys, count);
            assert_settles_to(&set, count_distinct(BOTH[i], keys, count));
        }
        end_set(&set);
        assert_settles_to(&set, 0);
        add_keys(&set, keys, again);
        assert_settles_to(&set, count_distinct(BOTH[i], keys, again));
        end_set(&set);
    }
}

/* Hashes of the numbers from 0 to range - 1, again and again. */
static struct bloom_hash *repeated_keys(size_t count, size_t range) {
    struct bloom_hash *keys = (void *)allocate_exactly(count * sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = bloom_hash_integer((int64_t)(i % range));
    return keys;
}

/* ---- Counting ---- */

/* Keys that are alike in what partitions, tables or layouts go by, as an attacker may choose them.
 * Layout blocked looks at the first word only. */
enum { FAMILIES = 10, TWO_PARTITIONS = 3 };

static struct bloom_hash key_of(int family, uint64_t i) {
    const struct bloom_hash hash = bloom_hash_integer((int64_t)i);
    const uint64_t word = bloom_hash_integer((int64_t)i / 2).words[0], few = i % 3000;
    const struct bloom_hash of[FAMILIES] = {
        hash,
        i % 100 == 0 ? (struct bloom_hash){{0, 0}} : hash, /* the empty key among others */
        {{word, i % 2}},         /* each first word with two second ones */
        {{(i % 2) << 63, word}}, /* the other way around */
        {{few, i % 5}},
        {{few << 16, i % 5}},
        {{few << 32, i % 5}},
        {{few << 48, i % 5}},
        {{~few, ~UINT64_C(0)}},
        {{i % 3, i / 3 % 3}}, /* zero in one word or the other */
    };
    return of[family];
}

/* Around every change of what a set is made of; all keys distinct, each twice, or all equal. */
static void families_are_counted(void) {
    static const size_t COUNTS[] = {0, 1, 2, 17, 2048, 2049, 4095, 4096, 4097, 4098, 20000};
    FREED struct bloom_hash *keys = repeated_keys(20000, 1);
    for (int family = 0; family < FAMILIES; family++)
        for (size_t i = 0; i < COUNT_OF(COUNTS); i++)
            for (size_t ranges = 0; ranges < 3; ranges++) {
                size_t count = COUNTS[i], range = ranges == 2 ? 1 : count >> ranges;
                if (family == TWO_PARTITIONS && count > 4098) /* takes long */
                    continue;
                for (size_t key = 0; key < count; key++)
                    keys[key] = key_of(family, range > 0 ? key % range : key);
                assert_exact(keys, count);
            }
}

/* Keys of four words that share the first and the last are still different. */
static void keys_of_four_words(void) {
    enum { MIDDLES = 40 };
    struct bloom_key_set set = new_set(&bloom_layout_go);
    for (uint64_t i = 0; i < 2 * MIDDLES; i++)
        for (uint64_t j = 0; j < MIDDLES; j++)
            assert_true(bloom_key_set_add(&set, (uint64_t[]){0, i % MIDDLES, j, 0}));
    assert_settles_to(&set, MIDDLES * MIDDLES);
    end_set(&set);
}

/* ---- Memory ---- */

static void memory_is_bounded(void) {
    enum { KEYS = 300000 };
    static const struct {
        size_t distinct;
        uint64_t bytes_most; /* for each word of a hash */
    } BOUNDS[] = {
        /* 4096 keys, an eighth more for what chunks waste, and the table to compare them. */
        {1000, 4096 * 9 + 8192 * 8},
        /* In partitions: four times the distinct keys, an eighth more, and one table. */
        {30000, 30000 * 9 * 4 + 512 * 40 + 2048 * 8},
        /* Their words and little more. */
        {KEYS, KEYS * 9 + 512 * 80 + 4096 * 8},
    };
    for (size_t i = 0; i < COUNT_OF(BOUNDS) * COUNT_OF(BOTH); i++) {
        const struct bloom_layout *layout = BOTH[i % COUNT_OF(BOTH)];
        const size_t row = i / COUNT_OF(BOTH);
        FREED struct bloom_hash *keys = repeated_keys(KEYS, BOUNDS[row].distinct);
        struct bloom_key_set set = new_set(layout);
        add_keys(&set, keys, KEYS);
        assert_settles_to(&set, BOUNDS[row].distinct);
        if (has_real_limits())
            assert_in_range(memory.bytes_most, 0, layout->hash_words * BOUNDS[row].bytes_most);
        end_set(&set);
    }
}

/* A query may have a million groups: a set of a few keys must be small. */
static void few_keys_take_few_bytes(void) {
    FREED struct bloom_hash *keys = repeated_keys(16, 16);
    for (size_t i = 0; i < 2 * COUNT_OF(BOTH); i++) {
        struct bloom_key_set set = new_set(BOTH[i / 2]);
        add_keys(&set, keys, i % 2 ? 16 : 0);
        assert_settles_to(&set, i % 2 ? 16 : 0);
        if (has_real_limits()) {
            assert_same(memory.allocations, i % 2, "allocations");
            assert_true(memory.bytes_most <= 512);
        }
        end_set(&set);
    }
}

/* ---- Chosen keys ---- */

/* Families of keys in which hashing by shift, by mask, by one product or with a known seed makes
 * all share a slot, or a few slots. */
static struct bloom_hash chosen(int family, uint64_t i) {
    static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t high = i >> 15 << 55, low = i & 0x7fff;
    const struct bloom_hash of[] = {
        /* alike from bit 15 to 54, where a slot has been before */
        {{high | UINT64_C(0x1234567800000) | low, i}},
        {{high - i * ODD, i}}, /* of which the sum that was taken for two words is the same */
        {{i, 0}},
        {{i << 46, i}},
        {{i * reciprocal(ODD), i << 32}},
        {{i << 23, ~i}},
        {{(i >> 8) << 55 | (i & 0xff), 7}},
        {{i / 100, i}}, /* alike but for the second word */
    };
    return of[family];
}

/* Tables are two thirds full at most, where a key that is new passes 4 slots (Knuth's
 * 1/2 (1/(1-a)^2 - 1)) and one on average 1; searches for duplicates in between, once or twice a
 * key, add theirs. The order in the table is not seen in what is built. */
static void chosen_keys_do_not_pile_up(void) {
    enum { CHOSEN_FAMILIES = 8, KEYS = 70000 };
    static const struct bloom_layout *const LAYOUTS[] = {
        &bloom_layout_blocked, &bloom_layout_classic, &bloom_layout_counting};
    uint64_t random = 11;
    FREED struct bloom_hash *keys = repeated_keys(KEYS, 1);
    for (int family = 0; family < CHOSEN_FAMILIES; family++) {
        for (uint64_t i = 0; i < KEYS; i++) {
            const struct bloom_hash wanted = chosen(family, i + 1);
            uint8_t key[16];
            key_of_words(wanted.words[0], wanted.words[1], key);
            keys[i] = bloom_hash_bytes(key, sizeof key);
            assert_memory_equal(&keys[i], &wanted, sizeof wanted);
        }
        for (size_t i = 0; i < COUNT_OF(LAYOUTS); i++) {
            struct bloom_key_set set = new_set(LAYOUTS[i]);
            set.seed[0] = random_next(&random);
            set.seed[1] = random_next(&random);
            add_keys(&set, keys, KEYS);
            assert_settles_to(&set, count_distinct(LAYOUTS[i], keys, KEYS));
            if (set.steps == 0 || (has_real_limits() && set.steps > 6 * KEYS))
                fail_msg("family %d, layout %s: %.2f slots passed a key", family, LAYOUTS[i]->name,
                         (double)set.steps / KEYS);
            assert_builds(&set, keys, KEYS);
            end_set(&set);
        }
    }
}

/* ---- Failing memory ---- */

/* Adds keys while allocations fail, from one to another. A refused key is tried again, and after
 * ten refusals there is memory. Returns how often it failed. */
static unsigned add_with_failures(const struct bloom_layout *layout, const struct bloom_hash *keys,
                                  size_t count, uint64_t distinct, uint64_t from, uint64_t to) {
    struct bloom_key_set set = new_set(layout);
    const bool builds = from % 32 == 1;
    unsigned failures = 0;
    uint64_t left;
    memory.fails_from = from;
    memory.fails_to = to;
    for (size_t i = 0; i < count; i++)
        while (!bloom_key_set_add(&set, keys[i].words)) {
            /* What was there before still is. */
            if (builds)
                assert_builds(&set, keys, i);
            if (++failures == 10)
                memory.fails_to = 0;
            if (from % 2 == 0 && memory.fails_to <= from)
                assert_settles_to(&set, i < distinct ? i : distinct);
        }
    failures += bloom_key_set_settle(&set, &left) == BLOOM_BUILD_NO_MEMORY;
    memory.fails_to = 0;
    assert_settles_to(&set, distinct);
    if (builds)
        assert_builds(&set, keys, count);
    end_set(&set);
    return failures;
}

/* Every allocation fails in turn, alone and with all that follow, those of settling at the end
 * included; of many a sample. Hashes that begin with the same bits are in one partition. */
static void allocations_fail(void) {
    static const struct {
        size_t count, distinct;
        uint64_t places; /* about as many are tried at most */
        bool crowded;    /* in one partition */
    } SETS[] = {{1, 1, 1, false},
                {2000, 2000, 200, false},
                {5000, 5000, 200, false},
                {60000, 12000, 20, false},
                {4 * 4096 + 1, 4 * 4096 + 1, 60, true}};
    for (size_t i = 0; i < COUNT_OF(SETS) * COUNT_OF(BOTH); i++) {
        const struct bloom_layout *layout = BOTH[i % COUNT_OF(BOTH)];
        const size_t row = i / COUNT_OF(BOTH), count = SETS[row].count;
        const uint64_t distinct = SETS[row].distinct;
        FREED struct bloom_hash *keys = repeated_keys(count, distinct);
        for (size_t key = 0; key < count && SETS[row].crowded; key++)
            keys[key].words[0] >>= 9;
        assert_int_equal(add_with_failures(layout, keys, count, distinct, 0, 0), 0);
        const uint64_t all = memory.allocations;
        assert_true(all > 0);
        const uint64_t step =
            (all - 1) / SETS[row].places | 1; /* odd: what is tried goes by place */
        for (uint64_t from = 1; from <= all; from += step) {
            assert_int_equal(add_with_failures(layout, keys, count, distinct, from, from), 1);
            assert_true(add_with_failures(layout, keys, count, distinct, from, UINT64_MAX) >= 1);
        }
    }
}

RUN_GROUP("key_set",
          TEST("Keys that are alike in anything are counted exactly", families_are_counted),
          TEST("Keys of four words differ when any word does", keys_of_four_words),
          TEST("Keys take a bounded amount of memory, repeated ones none", memory_is_bounded),
          TEST("A few keys take one small allocation", few_keys_take_few_bytes),
          TEST("Chosen keys do not pile up", chosen_keys_do_not_pile_up),
          TEST("Allocations may fail, and nothing is lost or leaked", allocations_fail))
