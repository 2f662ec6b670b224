/* Layout fuse: a filter is found for every set, whoever chose its keys, in little memory. Its bytes
 * are in sql/golden.test, its headers in format_test.py; memory that fails: interface_test.c; and
 * questions that stop it: passes_test.c. */
#include "chosen_keys.h"
#include "library_test.h"

#include "shapes.h"

#include <math.h>

static struct test_memory memory;
static const struct bloom_memory MEMORY = {test_allocate, test_release, NULL, &memory};

/* A filter of a set. Its payload is NULL if it could not be built. */
struct made {
    struct bloom_shape shape;
    uint8_t *payload;
    uint64_t bytes_most; /* that building it took, besides the keys */
};

static enum bloom_built make(struct made *made, const uint64_t *words, size_t count, double rate) {
    struct bloom_key_set set = {.layout = &bloom_layout_fuse, .memory = &MEMORY};
    for (size_t i = 0; i < count; i++)
        assert_true(bloom_key_set_add(&set, words + i));
    assert_settles_to(&set, count);
    made->shape = sized_shape(&bloom_layout_fuse, count, rate);
    made->payload = empty_payload(&made->shape);
    const uint64_t before = memory.bytes_most = memory.bytes;
    const enum bloom_built built = bloom_key_set_build(&set, &made->shape, made->payload);
    made->bytes_most = memory.bytes_most - before;
    bloom_key_set_clear(&set);
    assert_same(memory.bytes, 0, "bytes that were not released");
    if (built != BLOOM_BUILT) {
        free(made->payload);
        made->payload = NULL;
    }
    return built;
}

static bool has(const struct made *made, uint64_t word) {
    return made->shape.layout->check(&made->shape, made->payload, &word);
}

/* A filter, which must have all of these keys. */
static struct made made_of(const uint64_t *words, size_t count, double rate) {
    struct made made;
    assert_int_equal(make(&made, words, count, rate), BLOOM_BUILT);
    for (size_t i = 0; i < count; i++)
        assert_true(has(&made, words[i]));
    return made;
}

static void every_number_of_keys(void) {
    static const size_t LARGER[] = {2047, 2048, 4000, 16383, 16384, 33000, 70000};
    for (size_t i = 0; i < 300 + COUNT_OF(LARGER); i++) {
        const size_t count = i < 300 ? i : LARGER[i - 300];
        FREED uint64_t *words = random_words(count, count);
        uint64_t random = 5;
        struct made made = made_of(words, count, 0.01);
        unsigned others = 0;
        for (unsigned question = 0; question < 1000; question++)
            others += has(&made, random_next(&random));
        /* 7 bits: 7.8 expected; none in an empty filter. */
        assert_true(others < 30 && (count > 0 || others == 0));
        free(made.payload);
    }
}

/* The number of the seed that a filter has in the series of its keys; 0 is the first. */
static unsigned seed_number(const struct made *made, const uint64_t *words, size_t count) {
    uint64_t digest = 0;
    unsigned number = 0;
    for (size_t i = 0; i < count; i++)
        digest += attack_mix(words[i]);
    while (number < 64 && attack_mix(digest + number) != made->shape.extra[0])
        number++;
    return number;
}

/* Sets that were chosen against the first seed, 63, 64 and 2,000 seeds. With a salt, the same keys
 * have hashes that nobody chose, so an early seed works. */
static void chosen_keys(void) {
    static const size_t SEEDS[] = {1, 63, 64, 2000};
    static const uint64_t SALT[2] = {1, 2};
    for (size_t i = 0; i < COUNT_OF(SEEDS); i++) {
        const size_t count = 2 * SEEDS[i] + 1;
        FREED uint64_t *words = random_words(count, 1);
        struct made made;
        attack_words(words, SEEDS[i]);
        const enum bloom_built built = make(&made, words, count, 0.004);
        assert_int_equal(built, SEEDS[i] < 64 ? BLOOM_BUILT : BLOOM_BUILD_NO_SEED);
        if (built == BLOOM_BUILT)
            assert_int_equal(seed_number(&made, words, count), SEEDS[i]);
        free(made.payload);
        for (size_t j = 0; j < count; j++) {
            uint8_t key[16];
            key_of_words(words[j], 0, key);
            assert_true(bloom_hash_bytes(key, sizeof key).words[0] == words[j]);
            bloom_hashing_siphash.bytes(SALT, key, sizeof key, &words[j]);
        }
        made = made_of(words, count, 0.004);
        assert_true(seed_number(&made, words, count) < 10);
        free(made.payload);
    }
}

static void sizes(void) {
    uint64_t before = 0;
    for (uint64_t keys = 0; keys < UINT64_C(3000000000); keys += keys / 7 + 1) {
        const struct bloom_shape shape = sized_shape(&bloom_layout_fuse, keys, 0.004);
        const double places = (double)shape.bits / 8;
        assert_true(shape.bits >= before || keys > 60000000); /* where segments double */
        assert_true(places >= (double)keys && places >= 96);
        assert_true(keys <= 2000 || places < (keys < 1000000 ? 1.45 : 1.15) * (double)keys);
        before = shape.bits;
    }
}

/* Any payload of any shape can be checked for any number of keys, and nothing outside is read. */
static void any_payload(void) {
    enum { KEYS = 70 };
    uint64_t random = 11;
    for (unsigned round = 0; round < 1000; round++) {
        const uint32_t width = 1 + (uint32_t)random_below(&random, 32);
        const uint64_t log = 5 + random_below(&random, 4), segments = 1 + random_below(&random, 3);
        struct made made = {
            .shape = {.layout = &bloom_layout_fuse,
                      .probes = 3,
                      .capacity = 1,
                      .rate = ldexp(1, -(int)width),
                      .bits = ((segments + 2) << log) * width,
                      .extra = {random_next(&random), width | log << 8 | segments << 16}}};
        FREED uint64_t *words = random_words(KEYS, round);
        const unsigned count = round % (KEYS + 1);
        uint8_t found[KEYS];
        made.payload = empty_payload(&made.shape);
        random_fill(&random, made.payload, (size_t)bloom_payload_bytes(&made.shape));
        bloom_check_many(&made.shape, made.payload, words, count, found);
        for (unsigned i = 0; i < count; i++)
            assert_int_equal(found[i], has(&made, words[i]));
        free(made.payload);
    }
}

static void little_memory(void) {
    enum { KEYS = 100000 };
    FREED uint64_t *words = random_words(KEYS, 3);
    struct made made = made_of(words, KEYS, 0.01);
    assert_in_range(made.bytes_most, 0, 24 * KEYS);
    free(made.payload);
}

RUN_GROUP("fuse",
          TEST("There is a filter of any number of keys, and it holds them", every_number_of_keys),
          TEST("Chosen keys are given up after 64 seeds, and a salt helps", chosen_keys),
          TEST("Sizes grow with the keys and stay small", sizes),
          TEST("Any bytes can be checked as a payload, and nothing else is read", any_payload),
          TEST("Building takes at most 24 bytes a key", little_memory))
