/* A key set counts exactly, loses nothing and leaks nothing, whatever is added and whichever
 * allocation fails.
 *
 * The truth is computed by sorting. Memory comes from a counting allocator that can be told to
 * fail. */
#include "inverse_hash.h"
#include "library_test.h"

#include "filter/key_set.h"
#include "shorthand.h"

/* ---- The allocator ---- */

enum {
    COUNTER_BYTES = 16
}; /* in front of each piece: its size, with the alignment of malloc kept */

static uint64_t bytes_held, bytes_held_most, pieces_held, allocations;
static uint64_t failing_from,
    failing_to; /* numbers of allocations, from 1 on, that fail; 0: none */

static void *counting_allocate(void *context, size_t bytes) {
    (void)context;
    allocations++;
    if (allocations >= failing_from && allocations <= failing_to)
        return NULL;
    uint8_t *piece = malloc((size_t)bytes + COUNTER_BYTES);
    assert_non_null(piece);
    memcpy(piece, &bytes, sizeof bytes);
    memset(piece + COUNTER_BYTES, 0xa5, (size_t)bytes);
    bytes_held += bytes;
    pieces_held++;
    if (bytes_held > bytes_held_most)
        bytes_held_most = bytes_held;
    return piece + COUNTER_BYTES;
}

static void counting_release(void *context, void *memory) {
    (void)context;
    if (memory == NULL)
        return;
    uint8_t *piece = (uint8_t *)memory - COUNTER_BYTES;
    uint64_t bytes;
    memcpy(&bytes, piece, sizeof bytes);
    bytes_held -= bytes;
    pieces_held--;
    free(piece);
}

static const struct bloom_memory MEMORY = {.allocate = counting_allocate,
                                           .release = counting_release};

static struct bloom_key_set new_set(const struct bloom_layout *layout) {
    bytes_held = bytes_held_most = pieces_held = allocations = 0;
    failing_from = failing_to = 0;
    return (struct bloom_key_set){.layout = layout, .memory = &MEMORY};
}

static void end_set(struct bloom_key_set *set) {
    bloom_key_set_clear(set);
    assert_same(pieces_held, 0, "pieces of memory left");
    assert_same(bytes_held, 0, "bytes of memory left");
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
    if (count == 0)
        return 0;
    struct bloom_hash *sorted = malloc(count * sizeof *sorted);
    assert_non_null(sorted);
    memcpy(sorted, keys, count * sizeof *sorted);
    words_compared = layout->hash_words;
    qsort(sorted, count, sizeof *sorted, compare_hashes);
    uint64_t distinct = 1;
    for (size_t i = 1; i < count; i++)
        distinct += compare_hashes(&sorted[i - 1], &sorted[i]) != 0;
    free(sorted);
    return distinct;
}

static void assert_settles_to(struct bloom_key_set *set, uint64_t expected) {
    uint64_t distinct = UINT64_MAX;
    assert_int_equal(bloom_key_set_settle(set, &distinct), BLOOM_BUILT);
    assert_same(distinct, expected, "distinct keys");
}

/* A filter built from the set is the one with the keys added directly. */
static void assert_builds(const struct bloom_key_set *set, const struct bloom_hash *keys,
                          size_t count) {
    struct bloom_shape shape = {.layout = set->layout, .probes = 5, .bits = 1 << 20};
    uint8_t *built = allocate_exactly((size_t)bloom_payload_bytes(&shape));
    uint8_t *direct = allocate_exactly((size_t)bloom_payload_bytes(&shape));
    assert_int_equal(bloom_key_set_build(set, &shape, built), BLOOM_BUILT);
    for (size_t i = 0; i < count; i++)
        set->layout->add(&shape, direct, keys[i].words, 1);
    assert_memory_equal(built, direct, (size_t)bloom_payload_bytes(&shape));
    free(built);
    free(direct);
}

enum { STARTED_AGAIN = 5000 };

/* Adds all keys, settles in between and at the end, twice; the count is that of sorting, and the
 * filter the one of the keys. Then the set starts again from nothing. */
static void assert_exact(const struct bloom_layout *layout, const struct bloom_hash *keys,
                         size_t count) {
    struct bloom_key_set set = new_set(layout);
    uint64_t distinct = count_distinct(layout, keys, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(bloom_key_set_add(&set, keys[i].words));
        if (i == count / 3)
            assert_settles_to(&set, count_distinct(layout, keys, i + 1));
    }
    assert_builds(&set, keys, count);
    assert_settles_to(&set, distinct);
    assert_builds(&set, keys, count);
    assert_settles_to(&set, distinct);
    end_set(&set);
    assert_settles_to(&set, 0);
    count = count < STARTED_AGAIN ? count : STARTED_AGAIN;
    for (size_t i = 0; i < count; i++)
        assert_true(bloom_key_set_add(&set, keys[i].words));
    assert_settles_to(&set, count_distinct(layout, keys, count));
    end_set(&set);
}

static const struct bloom_layout *const BOTH[] = {&bloom_layout_blocked, &bloom_layout_classic};

static void assert_exact_for_both(const struct bloom_hash *keys, size_t count) {
    for (size_t i = 0; i < COUNT_OF(BOTH); i++)
        assert_exact(BOTH[i], keys, count);
}

static struct bloom_hash *new_keys(size_t count) {
    struct bloom_hash *keys = calloc(count > 0 ? count : 1, sizeof *keys);
    assert_non_null(keys);
    return keys;
}

static struct bloom_hash *distinct_keys(size_t count) {
    struct bloom_hash *keys = new_keys(count);
    for (size_t i = 0; i < count; i++)
        keys[i] = bloom_hash_integer((int64_t)i);
    return keys;
}

/* ---- Counting ---- */

enum { SHIFTED = 4, FAMILIES_OF_KEYS = SHIFTED + 6 };

/* Keys that are alike in what partitions, tables or layouts go by, as an attacker may choose them.
 * Layout blocked looks at the first word only. */
static struct bloom_hash key_of(int family, uint64_t i) {
    uint64_t word = bloom_hash_integer((int64_t)i / 2).words[0];
    switch (family) {
    case 0:
        return bloom_hash_integer((int64_t)i);
    case 1: /* the empty key among others */
        return i % 100 == 0 ? (struct bloom_hash){{0, 0}} : bloom_hash_integer((int64_t)i);
    case 2: /* each first word with two second words */
        return (struct bloom_hash){{word, i % 2}};
    case 3: /* the other way around */
        return (struct bloom_hash){{(i % 2) << 63, word}};
    case FAMILIES_OF_KEYS - 2:
        return (struct bloom_hash){{~(i % 3000), ~UINT64_C(0)}};
    case FAMILIES_OF_KEYS - 1: /* zero in one word or the other */
        return (struct bloom_hash){{i % 3, i / 3 % 3}};
    default:
        return (struct bloom_hash){{(i % 3000) << (16 * (family - SHIFTED)), i % 5}};
    }
}

/* Around every change of what a set is made of; all keys distinct, each twice, or all equal. */
static void families_are_counted(void) {
    static const size_t COUNTS[] = {0,    1,    2,    3,    16,   17,   600,  2047, 2048,
                                    2049, 4095, 4096, 4097, 4098, 8192, 8193, 70000};
    struct bloom_hash *keys = new_keys(70000);
    for (int family = 0; family < FAMILIES_OF_KEYS; family++)
        for (size_t i = 0; i < COUNT_OF(COUNTS); i++)
            for (size_t ranges = 0; ranges < 3; ranges++) {
                size_t count = COUNTS[i], range = ranges == 2 ? 1 : count >> ranges;
                if (family == 3 && count > 4098) /* all in two partitions: takes long */
                    continue;
                for (size_t key = 0; key < count; key++)
                    keys[key] = key_of(family, range > 0 ? key % range : key);
                assert_exact_for_both(keys, count);
            }
    free(keys);
}

static void every_small_count(void) {
    struct bloom_hash *keys = distinct_keys(600);
    for (size_t count = 0; count <= 600; count++)
        assert_exact_for_both(keys, count);
    free(keys);
}

static void random_mixtures(void) {
    uint64_t random = 1;
    for (unsigned round = 0; round < 20; round++) {
        size_t count = random_below(&random, 300000) >> random_below(&random, 12);
        uint64_t range = 1 + (random_below(&random, 400000) >> random_below(&random, 12));
        struct bloom_hash *keys = new_keys(count);
        for (size_t i = 0; i < count; i++)
            keys[i] = bloom_hash_integer((int64_t)random_below(&random, range));
        assert_exact_for_both(keys, count);
        free(keys);
    }
}

/* ---- Memory ---- */

static void memory_is_bounded(void) {
    static const struct {
        const struct bloom_layout *layout;
        int64_t distinct; /* of a million keys */
        uint64_t bytes_most;
    } BOUNDS[] = {
        /* 4096 keys, an eighth more for what chunks waste, and the table to compare them. */
        {&bloom_layout_blocked, 1000, 4096 * 9 + 8192 * 8},
        {&bloom_layout_classic, 1000, 4096 * 18 + 8192 * 16},
        /* In partitions: four times the distinct keys, an eighth more, and one table. */
        {&bloom_layout_blocked, 100000, 100000 * 9 * 4 + 512 * 40 + 2048 * 8},
        {&bloom_layout_classic, 100000, 100000 * 18 * 4 + 512 * 40 + 2048 * 16},
        /* Their words and little more. */
        {&bloom_layout_blocked, 1000000, 1000000 * 9 + 512 * 40 + 4096 * 8},
        {&bloom_layout_classic, 1000000, 1000000 * 18 + 512 * 40 + 4096 * 16},
    };
    for (size_t i = 0; i < COUNT_OF(BOUNDS); i++) {
        struct bloom_key_set set = new_set(BOUNDS[i].layout);
        for (int64_t key = 0; key < 1000000; key++)
            assert_true(
                bloom_key_set_add(&set, bloom_hash_integer(key % BOUNDS[i].distinct).words));
        assert_settles_to(&set, (uint64_t)BOUNDS[i].distinct);
        if (bytes_held_most > BOUNDS[i].bytes_most)
            fail_msg("%lld distinct keys of a million took %llu bytes",
                     (long long)BOUNDS[i].distinct, (unsigned long long)bytes_held_most);
        end_set(&set);
    }
}

static void few_keys_take_few_bytes(void) {
    struct bloom_key_set empty = new_set(&bloom_layout_blocked);
    end_set(&empty);
    assert_same(allocations, 0, "allocations");
    for (size_t i = 0; i < COUNT_OF(BOTH); i++) {
        /* A query may have a million groups: a set of a few keys must be small. */
        struct bloom_key_set set = new_set(BOTH[i]);
        for (int64_t key = 0; key < 16; key++)
            assert_true(bloom_key_set_add(&set, bloom_hash_integer(key).words));
        assert_settles_to(&set, 16);
        assert_true(bytes_held_most <= 512);
        assert_same(allocations, 1, "allocations");
        end_set(&set);
    }
}

/* ---- Chosen keys ---- */

enum { CHOSEN_KEYS = 160000 };

/* Families of keys in which hashing by shift, by mask, by one product or with a known seed makes
 * all share a slot, or a few slots. */
static struct bloom_hash chosen(int family, uint64_t i) {
    static const uint64_t ODD = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t high = i >> 15 << 55, low = i & 0x7fff;
    switch (family) {
    case 0: /* alike from bit 15 to 54, where a slot has been before */
        return (struct bloom_hash){{high | UINT64_C(0x1234567800000) | low, i}};
    case 1: /* of which the sum that was taken for two words is the same */
        return (struct bloom_hash){{high - i * ODD, i}};
    case 2:
        return (struct bloom_hash){{i, 0}};
    case 3:
        return (struct bloom_hash){{i << 46, i}};
    case 4:
        return (struct bloom_hash){{i * reciprocal(ODD), i << 32}};
    case 5:
        return (struct bloom_hash){{i << 23, ~i}};
    default:
        return (struct bloom_hash){{(i >> 8) << 55 | (i & 0xff), 7}};
    }
}

static void chosen_keys_do_not_pile_up(void) {
    static const struct bloom_layout *const LAYOUTS[] = {
        &bloom_layout_blocked, &bloom_layout_classic, &bloom_layout_counting};
    enum { FAMILIES = 7, SEEDS = 2 };
    uint64_t random = 11;
    double most = 0;
    struct bloom_hash *keys = malloc(CHOSEN_KEYS * sizeof *keys);
    assert_non_null(keys);
    for (int family = 0; family < FAMILIES; family++) {
        for (uint64_t i = 0; i < CHOSEN_KEYS; i++) {
            struct bloom_hash wanted = chosen(family, i + 1);
            uint8_t key[16];
            key_of_words(wanted.words[0], wanted.words[1], key);
            keys[i] = bloom_hash_bytes(key, sizeof key);
            assert_same(keys[i].words[0], wanted.words[0], "first word of a chosen key");
            assert_same(keys[i].words[1], wanted.words[1], "second word of a chosen key");
        }
        for (size_t layout = 0; layout < COUNT_OF(LAYOUTS); layout++)
            for (int i = 0; i < SEEDS; i++) {
                struct bloom_key_set set = new_set(LAYOUTS[layout]);
                uint64_t distinct;
                set.seed[0] = random_next(&random);
                set.seed[1] = random_next(&random);
                for (size_t key = 0; key < CHOSEN_KEYS; key++)
                    assert_true(bloom_key_set_add(&set, keys[key].words));
                assert_int_equal(bloom_key_set_settle(&set, &distinct), BLOOM_BUILT);
                assert_true(distinct > 0);
                /* Tables are two thirds full at most, where a key that is new passes 4 slots
                 * (Knuth's 1/2 (1/(1-a)^2 - 1)) and one on average 1; searches for duplicates in
                 * between, once or twice a key, add theirs. */
                double steps = (double)set.steps / CHOSEN_KEYS;
                if (steps > most)
                    most = steps;
                if (steps > 6 || set.steps == 0)
                    fail_msg("family %d, layout %s: %.2f slots passed a key", family,
                             LAYOUTS[layout]->name, steps);
                end_set(&set);
            }
    }
    printf("figures: chosen keys pass %.2f slots at most on average\n", most);
    free(keys);
}

/* The order in the table is not seen in what is built. */
static void the_seed_changes_no_byte(void) {
    enum { KEYS = 70000, SEEDS = 6 };
    uint64_t random = 12;
    for (int layout = 0; layout < 2; layout++) {
        uint64_t first = 0;
        for (int i = 0; i < SEEDS; i++) {
            struct bloom_key_set set =
                new_set(layout ? &bloom_layout_classic : &bloom_layout_blocked);
            uint64_t distinct;
            struct bloom_shape shape;
            char problem[BLOOM_PROBLEM_SIZE];
            set.seed[0] = random_next(&random);
            set.seed[1] = random_next(&random);
            for (int key = 0; key < 2 * KEYS; key++)
                bloom_key_set_add(&set, bloom_hash_integer(key % KEYS).words);
            assert_int_equal(bloom_key_set_settle(&set, &distinct), BLOOM_BUILT);
            assert_same(distinct, KEYS, "distinct keys");
            assert_true(bloom_shape_for(&shape, set.layout, distinct, 0.01, problem));
            uint8_t *payload = allocate_exactly((size_t)bloom_payload_bytes(&shape));
            assert_int_equal(bloom_key_set_build(&set, &shape, payload), BLOOM_BUILT);
            uint64_t print = fingerprint(payload, (size_t)bloom_payload_bytes(&shape));
            if (i == 0)
                first = print;
            assert_same(print, first, "fingerprint");
            free(payload);
            end_set(&set);
        }
    }
}

/* ---- Interruption ---- */

static unsigned questions,
    interrupt_at; /* number of the question to answer with yes, from 1 on; 0: none */

static bool is_interrupted(void *argument) {
    assert_ptr_equal(argument, &questions);
    return ++questions == interrupt_at;
}

static void interruptions(void) {
    static const size_t counts[] = {60000, 300000};
    struct bloom_hash *keys = distinct_keys(300000);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        struct bloom_shape shape = {.layout = &bloom_layout_blocked, .probes = 5, .bits = 1 << 20};
        uint8_t *payload = allocate_exactly((size_t)bloom_payload_bytes(&shape));
        struct bloom_key_set set = new_set(&bloom_layout_blocked);
        uint64_t left;
        interrupt_at = questions = 0;
        set.interrupted = is_interrupted;
        set.argument = &questions;
        for (size_t key = 0; key < counts[i]; key++)
            assert_true(bloom_key_set_add(&set, keys[key].words));
        /* Asked regularly: at least once for every 60,000 keys, and not for each few. */
        questions = 0;
        assert_settles_to(&set, counts[i]);
        assert_true(questions >= counts[i] / 60000 && questions <= counts[i] / 10000);
        unsigned asked = questions;
        questions = 0;
        assert_int_equal(bloom_key_set_build(&set, &shape, payload), BLOOM_BUILT);
        assert_int_equal(questions, asked);
        /* Each of the questions ends the work, which begins again as if nothing had happened. */
        for (interrupt_at = 1; interrupt_at <= asked; interrupt_at++) {
            questions = 0;
            assert_int_equal(bloom_key_set_settle(&set, &left), BLOOM_BUILD_INTERRUPTED);
            assert_int_equal(questions, interrupt_at);
            questions = 0;
            assert_int_equal(bloom_key_set_build(&set, &shape, payload), BLOOM_BUILD_INTERRUPTED);
            assert_int_equal(questions, interrupt_at);
        }
        interrupt_at = 0;
        assert_builds(&set, keys, counts[i]);
        assert_settles_to(&set, counts[i]);
        end_set(&set);
        free(payload);
    }
    free(keys);
}

static int compare_words(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The distinct first words of keys, ascending: qsort says which. */
static void assert_sorts(const struct bloom_key_set *set, const struct bloom_hash *keys,
                         size_t count) {
    struct bloom_hashes hashes;
    uint64_t *wanted = malloc(count * sizeof *wanted);
    size_t distinct = 0;
    assert_non_null(wanted);
    for (size_t i = 0; i < count; i++)
        wanted[i] = keys[i].words[0];
    qsort(wanted, count, sizeof *wanted, compare_words);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || wanted[i] != wanted[distinct - 1])
            wanted[distinct++] = wanted[i];
    assert_int_equal(bloom_hashes_sort(&hashes, set), BLOOM_BUILT);
    assert_same(hashes.count, distinct, "distinct hashes");
    assert_memory_equal(hashes.hashes, wanted, distinct * sizeof *wanted);
    bloom_release(&MEMORY, hashes.hashes);
    free(wanted);
}

/* From one key to many; each third is there twice, and of some the upper half is alike. */
static void sorted_hashes(void) {
    static const size_t COUNTS[] = {1, 2, 25, 1000, 16384, 16385, 70000};
    for (size_t i = 0; i < COUNT_OF(COUNTS); i++) {
        struct bloom_hash *keys = distinct_keys(COUNTS[i]);
        struct bloom_key_set set = new_set(&bloom_layout_blocked);
        struct bloom_hashes hashes;
        for (size_t key = 0; key < COUNTS[i]; key++) {
            if (key % 3 == 2)
                keys[key] = keys[key * 7919 % key];
            else if (key % 100 < 30)
                keys[key].words[0] = UINT64_C(0x1234567800000000) | (key * 7919 & 0xffff);
            assert_true(bloom_key_set_add(&set, keys[key].words));
        }
        set.interrupted = is_interrupted;
        set.argument = &questions;
        interrupt_at = questions = 0;
        assert_sorts(&set, keys, COUNTS[i]);
        const unsigned asked = questions;
        assert_true(COUNTS[i] < 70000 || asked >= 2);
        for (interrupt_at = 1; interrupt_at <= asked; interrupt_at++) {
            questions = 0;
            assert_int_equal(bloom_hashes_sort(&hashes, &set), BLOOM_BUILD_INTERRUPTED);
            assert_null(hashes.hashes);
        }
        interrupt_at = 0;
        const uint64_t before = allocations;
        assert_sorts(&set, keys, COUNTS[i]);
        const uint64_t needed = allocations - before;
        for (uint64_t failing = 1; failing <= needed; failing += 1 + needed / 20) {
            failing_from = failing_to = allocations + failing;
            assert_int_equal(bloom_hashes_sort(&hashes, &set), BLOOM_BUILD_NO_MEMORY);
            assert_null(hashes.hashes);
        }
        failing_from = failing_to = 0;
        end_set(&set);
        free(keys);
    }
    struct bloom_key_set none = new_set(&bloom_layout_blocked);
    struct bloom_hashes hashes;
    assert_int_equal(bloom_hashes_sort(&hashes, &none), BLOOM_BUILT);
    assert_true(hashes.count == 0 && hashes.hashes == NULL);
    end_set(&none);
}

/* ---- Failing memory ---- */

/* Adds keys while the failing_from-th to failing_to-th allocation fail; a refused key is tried
 * again once there is memory. Returns the number of failures met. */
static unsigned add_with_failure(const struct bloom_layout *layout, const struct bloom_hash *keys,
                                 size_t count, uint64_t distinct, uint64_t failing, bool build) {
    struct bloom_key_set set = new_set(layout);
    unsigned failures = 0;
    failing_from = failing_to = failing;
    for (size_t i = 0; i < count; i++) {
        if (bloom_key_set_add(&set, keys[i].words))
            continue;
        failures++;
        /* Refused: what was there before still is. */
        if (build)
            assert_builds(&set, keys, i);
        if (failing % 2 == 0)
            assert_settles_to(&set, i < distinct ? i : distinct);
        assert_true(bloom_key_set_add(&set, keys[i].words));
    }
    uint64_t left;
    if (bloom_key_set_settle(&set, &left) == BLOOM_BUILD_NO_MEMORY)
        failures++;
    assert_settles_to(&set, distinct);
    if (build)
        assert_builds(&set, keys, count);
    end_set(&set);
    return failures;
}

/* Lets every single allocation fail in turn, those of settling at the end included. */
static void assert_survives(const struct bloom_layout *layout, const struct bloom_hash *keys,
                            size_t count, uint64_t step) {
    uint64_t distinct = count_distinct(layout, keys, count);
    assert_int_equal(add_with_failure(layout, keys, count, distinct, 0, true), 0);
    uint64_t all = allocations;
    assert_true(all > 0);
    for (uint64_t failing = 1; failing <= all; failing += step)
        assert_int_equal(
            add_with_failure(layout, keys, count, distinct, failing, failing % 32 == 1), 1);
}

static void each_allocation_fails_once(void) {
    struct bloom_hash *keys = distinct_keys(5000);
    for (size_t i = 0; i < COUNT_OF(BOTH); i++) {
        assert_survives(BOTH[i], keys, 1, 1);
        assert_survives(BOTH[i], keys, 100, 1);
        assert_survives(BOTH[i], keys, 2000, 1);
        /* Enough for partitions. */
        assert_survives(BOTH[i], keys, 5000, 1);
    }
    free(keys);
}

static void allocations_fail_among_duplicates(void) {
    enum { COUNT = 200000, DISTINCT = 40000, STEP = 211 };
    struct bloom_hash *keys = distinct_keys(COUNT);
    for (size_t i = DISTINCT; i < COUNT; i++)
        keys[i] = keys[i % DISTINCT];
    assert_survives(&bloom_layout_blocked, keys, COUNT, STEP);
    assert_survives(&bloom_layout_classic, keys, COUNT, STEP);
    free(keys);
}

static void memory_stays_short(void) {
    /* From some allocation on every one fails: keys are refused again and again, and nothing is
     * lost. */
    struct bloom_hash *keys = distinct_keys(70000);
    for (size_t i = 0; i < COUNT_OF(BOTH); i++)
        for (uint64_t from = 1; from < 900; from += 61) {
            struct bloom_key_set set = new_set(BOTH[i]);
            struct bloom_hash *kept = new_keys(70000);
            size_t held = 0;
            failing_from = from;
            failing_to = UINT64_MAX;
            unsigned refused = 0;
            for (size_t key = 0; key < 70000 && refused < 10; key++)
                if (bloom_key_set_add(&set, keys[key].words))
                    kept[held++] = keys[key];
                else
                    refused++;
            failing_to = 0;
            assert_builds(&set, kept, held);
            assert_settles_to(&set, held);
            assert_builds(&set, kept, held);
            assert_true(bloom_key_set_add(&set, (struct bloom_hash){{1, 1}}.words));
            assert_settles_to(&set, held + 1);
            end_set(&set);
            free(kept);
        }
    free(keys);
}

/* Hashes that all begin with the same bits are in one partition. What it takes to find its
 * duplicates then grows when keys are added, too, and not only at the end. */
static void crowded_partition_runs_out_of_memory(void) {
    /* The set looks for duplicates before key 4097 and, four times that, before key 16385, which
     * still fits the last piece of memory: what is allocated for it is the larger table alone. */
    enum { COUNT = 4 * 4096 };
    struct bloom_hash *keys = distinct_keys(COUNT + 1);
    for (size_t i = 0; i <= COUNT; i++)
        keys[i].words[0] >>= 9;
    struct bloom_key_set set = new_set(&bloom_layout_blocked);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(bloom_key_set_add(&set, keys[i].words));
    uint64_t allocated = allocations;
    failing_from = allocations + 1;
    failing_to = UINT64_MAX;
    assert_false(bloom_key_set_add(&set, keys[COUNT].words));
    assert_false(bloom_key_set_add(&set, keys[COUNT].words));
    assert_same(allocations, allocated + 2, "allocations");
    assert_builds(&set, keys, COUNT);
    failing_to = 0;
    assert_true(bloom_key_set_add(&set, keys[COUNT].words));
    assert_settles_to(&set, COUNT + 1);
    assert_builds(&set, keys, COUNT + 1);
    end_set(&set);
    free(keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Keys that are alike in anything are counted exactly", families_are_counted),
        TEST("Every small number of keys is counted exactly", every_small_count),
        TEST("Random mixtures of new and repeated keys are counted exactly", random_mixtures),
        TEST("Keys take a bounded amount of memory, repeated ones none", memory_is_bounded),
        TEST("A few keys take one small allocation", few_keys_take_few_bytes),
        TEST("Chosen keys do not pile up", chosen_keys_do_not_pile_up),
        TEST("The seed of a set changes no byte of a filter", the_seed_changes_no_byte),
        TEST("Settling and building can be interrupted and begun again", interruptions),
        TEST("A set of hashes is sorted and distinct, and can be interrupted", sorted_hashes),
        TEST("Each allocation may fail once, and nothing is lost or leaked",
             each_allocation_fails_once),
        TEST("The same holds while duplicates are dropped", allocations_fail_among_duplicates),
        TEST("Memory that stays short refuses keys and loses none", memory_stays_short),
        TEST("A crowded partition that gets no memory refuses keys and loses none",
             crowded_partition_runs_out_of_memory),
    };
    return cmocka_run_group_tests_name("key_set", tests, NULL, NULL);
}
