/* What sqlite-bloom-filter.h promises programs, beyond what the vectors say (vectors_test.c): key
 * rules, changes in place, merges, building, exchange, every error in words, and that a caller's
 * memory which fails at any moment loses nothing and leaves nothing half made. */
#include "fuse_attack.h"
#include "library_test.h"

#include "sqlite-bloom-filter.h"

#include <math.h>

#define SALT "salt=000102030405060708090a0b0c0d0e0f"

static struct sqlite_bloom_key text(const char *words) {
    return sqlite_bloom_text_key(words, strlen(words));
}

/* Memory that counts, and fails at one allocation, or from there on. */
struct failing {
    unsigned allocations, fails_at, held;
    bool fails_on;
};

static bool fails_now(struct failing *failing) {
    unsigned number = failing->allocations++;
    return failing->fails_on ? number >= failing->fails_at : number == failing->fails_at;
}

static void *failing_allocate(void *context, size_t bytes) {
    struct failing *failing = context;
    assert_true(bytes > 0);
    if (fails_now(failing))
        return NULL;
    failing->held++;
    void *memory = malloc(bytes);
    assert_non_null(memory);
    memset(memory, 0xa5, bytes);
    return memory;
}

static void failing_release(void *context, void *memory) {
    struct failing *failing = context;
    failing->held -= memory != NULL;
    free(memory);
}

static void *failing_resize(void *context, void *memory, size_t bytes) {
    struct failing *failing = context;
    if (fails_now(failing))
        return NULL;
    failing->held += memory == NULL;
    return realloc(memory, bytes);
}

static struct sqlite_bloom_memory memory_of(struct failing *failing, bool resizes) {
    *failing = (struct failing){.fails_at = UINT32_MAX};
    return (struct sqlite_bloom_memory){failing_allocate, failing_release,
                                        resizes ? failing_resize : NULL, failing};
}

/* A filter for n keys at 1 %, with options. */
static struct sqlite_bloom_filter *new_filter(uint64_t n, const char *options) {
    struct sqlite_bloom_filter *filter;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    if (sqlite_bloom_filter_new(&filter, n, 0.01, options, NULL, problem) != SQLITE_BLOOM_OK)
        fail_msg("%s", problem);
    return filter;
}

static void assert_same_bytes(const struct sqlite_bloom_filter *one,
                              const struct sqlite_bloom_filter *other) {
    size_t length, other_length;
    const void *bytes = sqlite_bloom_filter_bytes(one, &length);
    const void *other_bytes = sqlite_bloom_filter_bytes(other, &other_length);
    assert_int_equal(length, other_length);
    assert_memory_equal(bytes, other_bytes, length);
}

static void add(struct sqlite_bloom_filter *filter, const char *key) {
    assert_int_equal(sqlite_bloom_filter_add(filter, text(key), NULL), SQLITE_BLOOM_OK);
}

static void the_release(void) {
    char number[40];
    unsigned major = SQLITE_BLOOM_VERSION_NUMBER / 1000000;
    snprintf(number, sizeof number, "%u.%u.%u", major, SQLITE_BLOOM_VERSION_NUMBER / 1000 % 1000,
             SQLITE_BLOOM_VERSION_NUMBER % 1000);
    assert_string_equal(SQLITE_BLOOM_VERSION, number);
    assert_string_equal(sqlite_bloom_filter_version(), SQLITE_BLOOM_VERSION);
}

/* A view is on the bytes themselves, at any address. */
static void views(void) {
    struct sqlite_bloom_filter *filter = new_filter(100, NULL), *view;
    size_t length, told;
    const void *bytes = sqlite_bloom_filter_bytes(filter, &length);
    for (size_t offset = 0; offset < 9; offset++) {
        uint8_t *memory = allocate_exactly(offset + length), *at = memory + offset;
        memcpy(at, bytes, length);
        assert_int_equal(sqlite_bloom_filter_open_writable(&view, at, length, NULL, NULL), 0);
        assert_int_equal(sqlite_bloom_filter_check(view, text("a")), 0);
        add(view, "a");
        assert_ptr_equal(sqlite_bloom_filter_bytes(view, &told), at);
        assert_int_equal(sqlite_bloom_filter_check(view, text("a")), 1);
        assert_int_equal(sqlite_bloom_filter_check(view, sqlite_bloom_bytes_key("a", 1)), 1);
        sqlite_bloom_filter_close(view);
        assert_int_equal(sqlite_bloom_filter_open(&view, at, length, NULL, NULL), 0);
        assert_int_equal(sqlite_bloom_filter_check(view, text("a")), 1);
        assert_int_equal(sqlite_bloom_filter_check(view, text("b")), 0);
        assert_int_equal(sqlite_bloom_filter_add(view, text("b"), NULL), SQLITE_BLOOM_REFUSED);
        assert_int_equal(sqlite_bloom_filter_check(view, text("b")), 0);
        assert_int_equal(sqlite_bloom_filter_check_text(view, "a", 1), 1);
        assert_int_equal(sqlite_bloom_filter_check_text(view, "b", 1), 0);
        assert_int_equal(sqlite_bloom_filter_check_text(view, NULL, 0), 0);
        assert_int_equal(sqlite_bloom_filter_check_integer(view, 1), 0);
        sqlite_bloom_filter_close(view);
        free(memory);
    }
    sqlite_bloom_filter_close(filter);
    sqlite_bloom_filter_close(NULL);
    sqlite_bloom_builder_close(NULL);
}

/* Types of keys, as in SQL. */
static void types_of_keys(void) {
    struct sqlite_bloom_filter *filter = new_filter(100, SALT);
    struct sqlite_bloom_key typeless = text("a");
    assert_int_equal(sqlite_bloom_filter_add(filter, sqlite_bloom_real_key(42.0), NULL), 0);
    assert_int_equal(sqlite_bloom_filter_add(filter, sqlite_bloom_real_key(0.5), NULL), 0);
    assert_int_equal(sqlite_bloom_filter_add(filter, sqlite_bloom_text_key(NULL, 0), NULL), 0);
    assert_int_equal(sqlite_bloom_filter_check(filter, sqlite_bloom_integer_key(42)), 1);
    assert_int_equal(sqlite_bloom_filter_check_integer(filter, 42), 1);
    assert_int_equal(sqlite_bloom_filter_check_integer(filter, 43), 0);
    assert_int_equal(sqlite_bloom_filter_check_text(filter, NULL, 0), 1);
    assert_int_equal(sqlite_bloom_filter_check_text(filter, "42", 2), 0);
    assert_int_equal(sqlite_bloom_filter_check(filter, text("42")), 0);
    assert_int_equal(sqlite_bloom_filter_check(filter, sqlite_bloom_real_key(0.5)), 1);
    assert_int_equal(sqlite_bloom_filter_check(filter, sqlite_bloom_real_key(0.25)), 0);
    assert_int_equal(sqlite_bloom_filter_check(filter, sqlite_bloom_bytes_key(NULL, 0)), 1);
    assert_int_equal(sqlite_bloom_filter_check(filter, sqlite_bloom_real_key(nan(""))),
                     SQLITE_BLOOM_NO_KEY);
    memset(&typeless.type, 0, sizeof typeless.type);
    assert_int_equal(sqlite_bloom_filter_check(filter, typeless), SQLITE_BLOOM_NO_KEY);
    assert_int_equal(sqlite_bloom_filter_add(filter, typeless, NULL), SQLITE_BLOOM_NO_KEY);
    sqlite_bloom_filter_close(filter);
}

/* What the hashing of another system does not know is certainly not in. */
static void foreign_keys(void) {
    struct sqlite_bloom_filter *filter = new_filter(100, "dcso");
    struct sqlite_bloom_key keys[600];
    unsigned char found[600];
    add(filter, "a");
    assert_int_equal(sqlite_bloom_filter_check(filter, sqlite_bloom_real_key(0.5)), 0);
    for (unsigned i = 0; i < 600; i++)
        keys[i] = i % 3 == 0 ? text("a") : i % 3 == 1 ? sqlite_bloom_real_key(0.5) : text("b");
    assert_true(sqlite_bloom_filter_check_many(filter, keys, 600, found) == 200);
    for (unsigned i = 0; i < 600; i++)
        assert_int_equal(found[i], i % 3 == 0);
    assert_true(sqlite_bloom_filter_check_many(filter, NULL, 0, NULL) == 0);
    sqlite_bloom_filter_close(filter);
}

static void key_rules(void) {
    struct failing failing;
    struct sqlite_bloom_memory memory = memory_of(&failing, true);
    struct sqlite_bloom_filter *filter;
    struct sqlite_bloom_description description;
    struct sqlite_bloom_key typeless = text("evil.example");
    char path[700] = "http://evil.example/";
    unsigned char found[5];
    memset(&typeless.type, 0, sizeof typeless.type);
    memset(path + strlen(path), 'a', 600);
    assert_int_equal(sqlite_bloom_filter_new(&filter, 100, 0.0001, "key=url, " SALT, &memory, NULL),
                     0);
    add(filter, "HTTP://Evil.Example:80/x/../");
    assert_int_equal(sqlite_bloom_filter_add(filter, sqlite_bloom_integer_key(3279880203), NULL),
                     SQLITE_BLOOM_NO_KEY);
    add(filter, "http://3279880203/");
    const struct sqlite_bloom_key asked[] = {text("https://www.evil.example/a/b?c"),
                                             text("http://good.example/"), text(""),
                                             text("http://195.127.0.11/a"), text(path)};
    const int answers[] = {1, 0, SQLITE_BLOOM_NO_KEY, 1, 1};
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(sqlite_bloom_filter_check(filter, asked[i]), answers[i]);
    assert_int_equal(sqlite_bloom_filter_check(filter, sqlite_bloom_integer_key(3279880203)), 1);
    assert_int_equal(sqlite_bloom_filter_check(filter, sqlite_bloom_real_key(nan(""))),
                     SQLITE_BLOOM_NO_KEY);
    assert_int_equal(sqlite_bloom_filter_add(filter, typeless, NULL), SQLITE_BLOOM_NO_KEY);
    assert_true(sqlite_bloom_filter_check_many(filter, &typeless, 1, found) == 0);
    assert_true(sqlite_bloom_filter_check_many(filter, asked, 5, found) == 3);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(found[i], answers[i] == 1);
    sqlite_bloom_filter_describe(filter, &description);
    assert_string_equal(description.key_rule, "url");
    assert_int_equal(description.salted, 1);
    /* A long URL needs memory. */
    failing.fails_at = failing.allocations;
    failing.fails_on = true;
    assert_int_equal(sqlite_bloom_filter_check(filter, text(path)), SQLITE_BLOOM_NO_MEMORY);
    assert_int_equal(sqlite_bloom_filter_add(filter, text(path), NULL), SQLITE_BLOOM_NO_MEMORY);
    assert_true(sqlite_bloom_filter_check_many(filter, asked, 5, found) == SQLITE_BLOOM_NO_MEMORY);
    assert_int_equal(sqlite_bloom_filter_check(filter, asked[0]), 1);
    sqlite_bloom_filter_close(filter);
    assert_int_equal(failing.held, 0);
}

/* By a key rule a real counts as the text that SQLite makes of it. The texts are those of the
 * sqlite3 shell, as in SELECT 1e21 || ''. */
static void real_keys_by_rule(void) {
    static const struct {
        double real;
        const char *text;
    } CASES[] = {
        {1.5, "1.5"},
        {3, "3.0"},
        {0, "0.0"},
        {-0.0, "0.0"},
        {0.0001, "0.0001"},
        {1e-5, "1.0e-05"},
        {1e14, "100000000000000.0"},
        {1e15, "1.0e+15"},
        {1.5e-300, "1.5e-300"},
        {123456789.123456789, "123456789.123457"},
        {0.1 + 0.2, "0.3"},
        {-0x1.fffffffffffffp+1023, "-1.79769313486232e+308"},
        {INFINITY, "Inf"},
        {-INFINITY, "-Inf"},
    };
    for (unsigned i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct sqlite_bloom_filter *by_real = new_filter(100, "key=url"),
                                   *by_text = new_filter(100, "key=url");
        const struct sqlite_bloom_key key = sqlite_bloom_real_key(CASES[i].real);
        unsigned char found;
        char url[64];
        /* A plus is in no host's name, and a number is none. */
        const bool is_entry = strchr(CASES[i].text, '+') == NULL &&
                              strspn(CASES[i].text, "0123456789.") < strlen(CASES[i].text);
        const int added = is_entry ? SQLITE_BLOOM_OK : SQLITE_BLOOM_NO_KEY;
        assert_int_equal(sqlite_bloom_filter_add(by_text, text(CASES[i].text), NULL), added);
        assert_int_equal(sqlite_bloom_filter_add(by_real, key, NULL), added);
        assert_same_bytes(by_real, by_text);
        assert_int_equal(sqlite_bloom_filter_check(by_text, key), is_entry);
        snprintf(url, sizeof url, "http://%s/", CASES[i].text);
        add(by_text, url);
        assert_int_equal(sqlite_bloom_filter_check(by_text, key), 1);
        assert_true(sqlite_bloom_filter_check_many(by_text, &key, 1, &found) == 1);
        sqlite_bloom_filter_close(by_real);
        sqlite_bloom_filter_close(by_text);
    }
}

static void removal(void) {
    struct sqlite_bloom_filter *filter = new_filter(100, "counting"),
                               *empty = new_filter(100, "counting"), *view;
    size_t length;
    add(filter, "a");
    add(filter, "a");
    assert_int_equal(sqlite_bloom_filter_remove(filter, text("a"), NULL), 0);
    assert_int_equal(sqlite_bloom_filter_remove(filter, text("never"), NULL), 0);
    assert_int_equal(sqlite_bloom_filter_check(filter, text("a")), 1);
    assert_int_equal(sqlite_bloom_filter_remove(filter, text("a"), NULL), 0);
    assert_int_equal(sqlite_bloom_filter_check(filter, text("a")), 0);
    assert_same_bytes(filter, empty);
    const void *bytes = sqlite_bloom_filter_bytes(filter, &length);
    assert_int_equal(sqlite_bloom_filter_open(&view, bytes, length, NULL, NULL), 0);
    assert_int_equal(sqlite_bloom_filter_remove(view, text("a"), NULL), SQLITE_BLOOM_REFUSED);
    assert_int_equal(sqlite_bloom_filter_remove(filter, sqlite_bloom_real_key(nan("")), NULL),
                     SQLITE_BLOOM_NO_KEY);
    sqlite_bloom_filter_close(view);
    sqlite_bloom_filter_close(filter);
    sqlite_bloom_filter_close(empty);
}

static void merges(void) {
    struct sqlite_bloom_filter *both = new_filter(100, NULL), *made;
    struct sqlite_bloom_filter *filters[3];
    for (unsigned i = 0; i < 3; i++) {
        const char key[] = {(char)('a' + i), '\0'};
        filters[i] = new_filter(100, NULL);
        add(filters[i], key);
        add(filters[i], "all");
        add(both, key);
    }
    add(both, "all");
    const struct sqlite_bloom_filter *const parts[] = {filters[0], filters[1], filters[2]};
    assert_int_equal(sqlite_bloom_filter_union(&made, parts, 3, NULL, NULL), SQLITE_BLOOM_OK);
    assert_same_bytes(made, both);
    add(made, "more"); /* its bytes are of its own */
    assert_int_equal(sqlite_bloom_filter_check(filters[0], text("more")), 0);
    sqlite_bloom_filter_close(made);
    assert_int_equal(sqlite_bloom_filter_intersect(&made, parts, 3, NULL, NULL), 0);
    assert_int_equal(sqlite_bloom_filter_check(made, text("all")), 1);
    assert_int_equal(sqlite_bloom_filter_check(made, text("a")), 0);
    sqlite_bloom_filter_close(made);
    for (unsigned i = 0; i < 3; i++)
        sqlite_bloom_filter_close(filters[i]);
    sqlite_bloom_filter_close(both);
}

static void estimates(void) {
    struct sqlite_bloom_filter *filter = new_filter(1000, NULL);
    struct sqlite_bloom_estimate estimate;
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(sqlite_bloom_filter_add(filter, sqlite_bloom_integer_key(i), NULL), 0);
    sqlite_bloom_filter_estimate(filter, &estimate);
    assert_near(estimate.count, 1000, 50, "count");
    assert_near(estimate.rate, 0.01, 0.004, "rate");
    assert_near(estimate.fill, 0.45, 0.05, "fill");
    assert_true(estimate.ones > 4000 && estimate.ones < 6000);
    sqlite_bloom_filter_close(filter);
}

/* Sized by itself: the filter for exactly so many keys, in any order, however often they come. */
static void building(void) {
    static const uint8_t SEED[16] = {1, 2, 3};
    struct sqlite_bloom_builder *builder;
    struct sqlite_bloom_filter *made, *given = new_filter(3, "key=url");
    add(given, "c.example");
    add(given, "b.example");
    add(given, "a.example");
    assert_int_equal(sqlite_bloom_builder_open(&builder, 0.01, "key=url", NULL, NULL), 0);
    sqlite_bloom_builder_seed(builder, SEED);
    for (int turn = 0; turn < 2; turn++) { /* it is ready for another set */
        for (int i = 0; i < 3000; i++) {
            const char *const KEYS[] = {"a.example", "http://B.example/", "c.example"};
            assert_int_equal(sqlite_bloom_builder_add(builder, text(KEYS[i % 3]), NULL), 0);
        }
        assert_int_equal(sqlite_bloom_builder_add(builder, text(""), NULL), SQLITE_BLOOM_NO_KEY);
        assert_int_equal(sqlite_bloom_builder_finish(builder, &made, NULL), SQLITE_BLOOM_OK);
        assert_same_bytes(made, given);
        sqlite_bloom_filter_close(made);
    }
    sqlite_bloom_builder_close(builder);
    sqlite_bloom_filter_close(given);
}

/* A set of numbers grows as they come. */
static void building_of_numbers(void) {
    struct sqlite_bloom_builder *builder;
    struct sqlite_bloom_filter *made;
    struct sqlite_bloom_description description;
    assert_int_equal(sqlite_bloom_builder_open(&builder, 0, "bitmap", NULL, NULL), 0);
    for (int64_t i = 0; i < 100000; i = 2 * i + 1)
        assert_int_equal(sqlite_bloom_builder_add(builder, sqlite_bloom_integer_key(i), NULL), 0);
    assert_int_equal(sqlite_bloom_builder_add(builder, sqlite_bloom_integer_key(INT64_MAX), NULL),
                     SQLITE_BLOOM_REFUSED);
    assert_int_equal(sqlite_bloom_builder_finish(builder, &made, NULL), 0);
    sqlite_bloom_filter_describe(made, &description);
    assert_int_equal(description.bits, 65536);
    assert_int_equal(sqlite_bloom_filter_check(made, sqlite_bloom_integer_key(65535)), 1);
    assert_int_equal(sqlite_bloom_filter_check(made, sqlite_bloom_integer_key(65534)), 0);
    assert_int_equal(sqlite_bloom_filter_add(made, sqlite_bloom_integer_key(65536), NULL),
                     SQLITE_BLOOM_REFUSED);
    sqlite_bloom_filter_close(made);
    sqlite_bloom_builder_close(builder);
}

/* Keys that were chosen so that layout fuse finds no filter for them: a salt is what helps. */
static void building_of_chosen_keys(void) {
    enum { SEEDS = 64, CHOSEN = 2 * SEEDS + 1 };
    static uint8_t chosen[CHOSEN][16];
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    uint64_t words[CHOSEN];
    struct sqlite_bloom_builder *builder;
    struct sqlite_bloom_filter *made;
    attack_words(words, SEEDS);
    for (int salted = 0; salted < 2; salted++) {
        const char *const options = salted ? "layout=fuse, " SALT : "fuse";
        assert_int_equal(sqlite_bloom_builder_open(&builder, 0.01, options, NULL, NULL), 0);
        for (int i = 0; i < CHOSEN; i++) {
            key_of_words(words[i], 0, chosen[i]);
            const struct sqlite_bloom_key key = sqlite_bloom_bytes_key(chosen[i], 16);
            assert_int_equal(sqlite_bloom_builder_add(builder, key, NULL), 0);
        }
        for (int turn = 0; turn < 2 && !salted; turn++) { /* it has its keys as before */
            assert_int_equal(sqlite_bloom_builder_finish(builder, &made, problem),
                             SQLITE_BLOOM_CHOSEN_KEYS);
            assert_null(made);
            assert_string_equal(problem,
                                "sqlite_bloom_builder_finish: cannot make a filter of layout fuse, "
                                "because the keys were chosen against it. Give a salt of 32 "
                                "random hexadecimal digits, as in \"layout=fuse, salt=...\"");
        }
        if (salted) {
            assert_int_equal(sqlite_bloom_builder_finish(builder, &made, problem), 0);
            for (int i = 0; i < CHOSEN; i++)
                assert_int_equal(sqlite_bloom_filter_check_bytes(made, chosen[i], 16), 1);
            sqlite_bloom_filter_close(made);
        }
        sqlite_bloom_builder_close(builder);
    }
}

/* More keys in one call than are hashed together, of all types, and some that are no keys. */
static void many_keys(void) {
    enum { KEYS = 1003 };
    static const char *const OPTIONS[] = {NULL, "classic", "counting", SALT};
    static struct sqlite_bloom_key keys[KEYS], added[KEYS];
    static char texts[KEYS][8];
    unsigned char found[KEYS];
    size_t count, length = 0;
    for (int i = 0; i < KEYS; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        const struct sqlite_bloom_key kinds[] = {
            text(texts[i]), sqlite_bloom_bytes_key(texts[i], strlen(texts[i])),
            sqlite_bloom_integer_key(i), sqlite_bloom_real_key(i + 0.5),
            sqlite_bloom_real_key(nan(""))};
        keys[i] = kinds[i % 5];
        if (i % 5 < 4)
            added[length++] = keys[i];
    }
    for (size_t at = 0; at < sizeof OPTIONS / sizeof *OPTIONS; at++) {
        struct sqlite_bloom_filter *filter = new_filter(KEYS, OPTIONS[at]),
                                   *apart = new_filter(KEYS, OPTIONS[at]);
        assert_int_equal(sqlite_bloom_filter_add_many(filter, added, length, &count, NULL), 0);
        assert_int_equal(count, length);
        for (size_t i = 0; i < length; i++)
            assert_int_equal(sqlite_bloom_filter_add(apart, added[i], NULL), 0);
        assert_same_bytes(filter, apart);
        assert_true(sqlite_bloom_filter_check_many(filter, keys, KEYS, found) == (int64_t)length);
        for (int i = 0; i < KEYS; i++) {
            assert_int_equal(found[i], i % 5 < 4);
            assert_int_equal(sqlite_bloom_filter_check(filter, keys[i]),
                             i % 5 < 4 ? 1 : SQLITE_BLOOM_NO_KEY);
        }
        sqlite_bloom_filter_close(filter);
        sqlite_bloom_filter_close(apart);
    }
}

/* A filter that Guava wrote becomes one of ours, and the same bytes again. */
static void exchange(void) {
    static const char NAME[] = "tests/exchange/golden/string_10_0.01_mitz64.guava";
    struct sqlite_bloom_filter *filter, *again;
    uint8_t golden[1000], written[1000], *copy;
    size_t length = sizeof written;
    FILE *file = fopen(NAME, "rb");
    assert_non_null(file);
    size_t golden_length = fread(golden, 1, sizeof golden, file);
    fclose(file);
    copy = copy_exactly(golden, golden_length);
    assert_int_equal(sqlite_bloom_filter_import(&filter, copy, golden_length, "Guava", NULL, NULL),
                     0);
    free(copy);
    assert_int_equal(sqlite_bloom_filter_export(filter, "guava", NULL, &length, NULL), 0);
    assert_int_equal(length, golden_length);
    length = golden_length - 1;
    assert_int_equal(sqlite_bloom_filter_export(filter, "guava", written, &length, NULL),
                     SQLITE_BLOOM_REFUSED);
    assert_int_equal(length, golden_length);
    assert_int_equal(sqlite_bloom_filter_export(filter, "guava", written, &length, NULL), 0);
    assert_memory_equal(written, golden, golden_length);
    const void *ours = sqlite_bloom_filter_bytes(filter, &length);
    assert_int_equal(sqlite_bloom_filter_import(&again, ours, length, "guava", NULL, NULL),
                     SQLITE_BLOOM_REFUSED);
    assert_null(again);
    sqlite_bloom_filter_close(filter);
}

/* Everything that allocates, in one go; how far it came. */
enum { DEEDS = 9 };

static int all_deeds(const struct sqlite_bloom_memory *memory, char *problem, int *status) {
    static const uint8_t GUAVA[] = {1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    struct sqlite_bloom_filter *filter = NULL, *copy = NULL, *view = NULL, *merged = NULL,
                               *built = NULL, *numbers = NULL, *imported = NULL;
    struct sqlite_bloom_builder *builder = NULL, *growing = NULL;
    int deed = 0;
    size_t length;
    *status = sqlite_bloom_filter_new(&filter, 1000, 0.01, NULL, memory, problem);
    if (*status == 0 && ++deed)
        *status = sqlite_bloom_filter_copy(&copy, filter, memory, problem);
    if (*status == 0 && ++deed) {
        const void *bytes = sqlite_bloom_filter_bytes(copy, &length);
        *status = sqlite_bloom_filter_open(&view, bytes, length, memory, problem);
    }
    if (*status == 0 && ++deed) {
        const struct sqlite_bloom_filter *const parts[] = {filter, view};
        *status = sqlite_bloom_filter_union(&merged, parts, 2, memory, problem);
    }
    if (*status == 0 && ++deed)
        *status =
            sqlite_bloom_filter_import(&imported, GUAVA, sizeof GUAVA, "guava", memory, problem);
    if (*status == 0 && ++deed)
        *status = sqlite_bloom_builder_open(&builder, 0.01, "fuse", memory, problem);
    for (int64_t i = 0; *status == 0 && i < 1000; i++)
        *status = sqlite_bloom_builder_add(builder, sqlite_bloom_integer_key(i), problem);
    if (*status == 0 && ++deed) {
        *status = sqlite_bloom_builder_finish(builder, &built, problem);
        assert_true((*status == 0) == (built != NULL));
    }
    if (*status == 0 && ++deed)
        *status = sqlite_bloom_builder_open(&growing, 0, "bitmap", memory, problem);
    for (int64_t i = 0; *status == 0 && i < 1000; i++)
        *status = sqlite_bloom_builder_add(growing, sqlite_bloom_integer_key(i * i), problem);
    if (*status == 0 && ++deed)
        *status = sqlite_bloom_builder_finish(growing, &numbers, problem);
    deed += *status == 0;
    sqlite_bloom_builder_close(builder);
    sqlite_bloom_builder_close(growing);
    sqlite_bloom_filter_close(view);
    sqlite_bloom_filter_close(filter);
    sqlite_bloom_filter_close(copy);
    sqlite_bloom_filter_close(merged);
    sqlite_bloom_filter_close(imported);
    sqlite_bloom_filter_close(built);
    sqlite_bloom_filter_close(numbers);
    return deed;
}

static void memory_failures(void) {
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    for (unsigned way = 0; way < 4; way++) {
        struct failing failing;
        struct sqlite_bloom_memory memory = memory_of(&failing, way & 1);
        bool reached[DEEDS + 1] = {false};
        int status;
        assert_int_equal(all_deeds(&memory, problem, &status), DEEDS);
        assert_int_equal(failing.held, 0);
        unsigned allocations = failing.allocations;
        assert_true(allocations > 30);
        for (unsigned i = 0; i < allocations; i++) {
            memory = memory_of(&failing, way & 1);
            failing.fails_at = i;
            failing.fails_on = way >= 2;
            reached[all_deeds(&memory, problem, &status)] = true;
            assert_int_equal(status, SQLITE_BLOOM_NO_MEMORY);
            assert_non_null(strstr(problem, ": out of memory"));
            assert_int_equal(failing.held, 0);
        }
        for (int deed = 0; deed < DEEDS; deed++)
            assert_true(reached[deed]);
        assert_false(reached[DEEDS]);
    }
}

/* A builder that could not finish has its keys still. */
static void unfinished_builders(void) {
    struct failing failing;
    for (unsigned after = 0;; after++) {
        struct sqlite_bloom_memory memory = memory_of(&failing, true);
        struct sqlite_bloom_builder *builder;
        struct sqlite_bloom_filter *made, *expected = new_filter(500, NULL);
        assert_int_equal(sqlite_bloom_builder_open(&builder, 0.01, "", &memory, NULL),
                         SQLITE_BLOOM_REFUSED);
        assert_int_equal(sqlite_bloom_builder_open(&builder, 0.01, NULL, &memory, NULL), 0);
        for (int64_t i = 0; i < 500; i++) {
            const struct sqlite_bloom_key key = sqlite_bloom_integer_key(i);
            assert_int_equal(sqlite_bloom_builder_add(builder, key, NULL), 0);
            assert_int_equal(sqlite_bloom_filter_add(expected, key, NULL), 0);
        }
        failing.fails_at = failing.allocations + after;
        int status = sqlite_bloom_builder_finish(builder, &made, NULL);
        if (status != SQLITE_BLOOM_OK) {
            assert_int_equal(status, SQLITE_BLOOM_NO_MEMORY);
            assert_null(made);
            assert_int_equal(sqlite_bloom_builder_finish(builder, &made, NULL), 0);
        }
        assert_same_bytes(made, expected);
        sqlite_bloom_filter_close(made);
        sqlite_bloom_filter_close(expected);
        sqlite_bloom_builder_close(builder);
        assert_int_equal(failing.held, 0);
        if (status == SQLITE_BLOOM_OK) {
            assert_true(after >= 3);
            return;
        }
    }
}

/* What is refused leaves NULL and says why. */
static void refusals(void) {
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    struct sqlite_bloom_filter *filter,
        *fuse = NULL, *url = new_filter(10, "key=url"), *blocked = new_filter(10, NULL),
        *other = new_filter(11, NULL), *parquet = new_filter(10, "dcso");
    struct sqlite_bloom_builder *builder;
    struct sqlite_bloom_key typeless = text("a");
    size_t added = 9, length = 0;
#define REFUSED(call, status, words)                                                               \
    do {                                                                                           \
        assert_int_equal(call, status);                                                            \
        assert_string_equal(problem, words);                                                       \
    } while (0)
#define NEW(n, p, options) sqlite_bloom_filter_new(&filter, n, p, options, NULL, problem)
    REFUSED(sqlite_bloom_filter_open(&filter, NULL, 0, NULL, problem), SQLITE_BLOOM_NOT_A_FILTER,
            "sqlite_bloom_filter_open: the data is not a filter: it has 0 bytes and does not "
            "begin with 89424c4d. Import a filter of another system with bloom_import");
    assert_null(filter);
    REFUSED(
        NEW(10, 0, NULL), SQLITE_BLOOM_REFUSED,
        "sqlite_bloom_filter_new: p is 0. Pass a number between 0 and 1, for example 0.01 for 1 %");
    assert_null(filter);
    REFUSED(NEW(10, 1.234567, NULL), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: p is 1.23457. Pass a number between 0 and 1, for example "
            "0.01 for 1 %");
    REFUSED(
        NEW(10, 1, NULL), SQLITE_BLOOM_REFUSED,
        "sqlite_bloom_filter_new: p is 1. Pass a number between 0 and 1, for example 0.01 for 1 %");
    REFUSED(NEW(10, nan(""), NULL), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: p is nan. Pass a number between 0 and 1, for example 0.01 "
            "for 1 %");
    REFUSED(NEW(10, 0.5, "bitmap"), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: p is 0.5. Pass 0, because layout bitmap is exact");
    REFUSED(NEW(UINT64_MAX, 0.5, NULL), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: n is 18446744073709551615. Pass at most 1099511627776");
    REFUSED(NEW(10, 0.5, "layout=blocked, colour=red"), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: unknown option 'colour'. The options are layout=NAME, "
            "key=RULE and salt=DIGITS");
    assert_int_equal(NEW(10, 0.5, "fuse"), SQLITE_BLOOM_REFUSED);
    assert_memory_equal(
        problem, "sqlite_bloom_filter_new: cannot choose n for a filter of layout fuse. ", 70);
    assert_int_equal(NEW(10, 0.5, "\xff"), SQLITE_BLOOM_REFUSED);
    assert_non_null(strstr(problem, "layout is '\\xff'. Write one of 'blocked', "));
    REFUSED(sqlite_bloom_filter_add(url, text(""), problem), SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add: the key, '', is not a URL. Leave it out");
    REFUSED(sqlite_bloom_filter_add(url, sqlite_bloom_real_key(nan("")), problem),
            SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add: the key, nan, is not a URL. Leave it out");
    REFUSED(sqlite_bloom_filter_add(url, sqlite_bloom_bytes_key("", 0), problem),
            SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add: the key, 0 bytes, is not a URL. Leave it out");
    assert_int_equal(NEW(10, 0, "bitmap"), SQLITE_BLOOM_OK);
    REFUSED(sqlite_bloom_filter_add(filter, sqlite_bloom_integer_key(-1), problem),
            SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add: the key is -1, but the keys of layout bitmap are whole "
            "numbers from 0 on. Convert it, or leave it out");
    REFUSED(sqlite_bloom_filter_add(filter, sqlite_bloom_real_key(0.1234567890123456), problem),
            SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add: the key is 0.123456789012346, but the keys of layout bitmap "
            "are whole numbers from 0 on. Convert it, or leave it out");
    sqlite_bloom_filter_close(filter);
    memset(&typeless.type, 0, sizeof typeless.type);
    const struct sqlite_bloom_key keys[] = {text("a"), text("b"), typeless, text("c")};
    assert_int_equal(sqlite_bloom_filter_add_many(blocked, keys, 4, &added, problem),
                     SQLITE_BLOOM_NO_KEY);
    assert_non_null(strstr(problem, "the key is of type 0, but "));
    assert_int_equal(added, 2);
    assert_int_equal(sqlite_bloom_filter_check(blocked, text("b")), 1);
    assert_int_equal(sqlite_bloom_filter_check(blocked, text("c")), 0);
    REFUSED(sqlite_bloom_filter_remove(blocked, text("a"), problem), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_remove: cannot remove keys from a filter of layout blocked. Make "
            "it with layout counting");
    const struct sqlite_bloom_filter *const unlike[] = {blocked, other, parquet};
    REFUSED(sqlite_bloom_filter_union(&filter, unlike, 2, NULL, problem), SQLITE_BLOOM_DIFFERENT,
            "sqlite_bloom_filter_union: filter 2 differs from the first filter (first and filter "
            "2: n = 10 and 11). Make them with the same parameters");
    assert_null(filter);
    REFUSED(sqlite_bloom_filter_intersect(&filter, unlike, 0, NULL, problem), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_intersect: there is no filter. Pass at least one");
    assert_int_equal(sqlite_bloom_builder_open(&builder, 0.01, "fuse", NULL, NULL), 0);
    assert_int_equal(sqlite_bloom_builder_finish(builder, &fuse, NULL), 0);
    sqlite_bloom_builder_close(builder);
    const struct sqlite_bloom_filter *const finished[] = {fuse};
    assert_int_equal(sqlite_bloom_filter_union(&filter, finished, 1, NULL, problem),
                     SQLITE_BLOOM_REFUSED);
    assert_int_equal(sqlite_bloom_filter_intersect(&filter, finished, 1, NULL, problem),
                     SQLITE_BLOOM_REFUSED);
    assert_memory_equal(problem,
                        "sqlite_bloom_filter_intersect: cannot intersect a filter of "
                        "layout fuse. ",
                        72);
    assert_int_equal(sqlite_bloom_filter_add(fuse, text("a"), problem), SQLITE_BLOOM_REFUSED);
    REFUSED(sqlite_bloom_filter_import(&filter, "", 0, "java", NULL, problem), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_import: format is 'java'. Pass one of 'guava', 'guava-utf16', "
            "'spark', 'dcso', 'go', 'parquet', 'parquet-int32', 'redisbloom'");
    assert_int_equal(sqlite_bloom_filter_import(&filter, NULL, 0, "guava", NULL, problem),
                     SQLITE_BLOOM_NOT_A_FILTER);
    assert_memory_equal(problem, "sqlite_bloom_filter_import: the bytes ", 38);
    assert_null(filter);
    assert_int_equal(sqlite_bloom_filter_export(blocked, "nobody", NULL, &length, NULL),
                     SQLITE_BLOOM_REFUSED);
    assert_int_equal(sqlite_bloom_filter_export(blocked, "guava", NULL, &length, problem),
                     SQLITE_BLOOM_REFUSED);
    assert_memory_equal(problem, "sqlite_bloom_filter_export: the filter ", 39);
    sqlite_bloom_filter_close(fuse);
    sqlite_bloom_filter_close(url);
    sqlite_bloom_filter_close(blocked);
    sqlite_bloom_filter_close(other);
    sqlite_bloom_filter_close(parquet);
}

/* More than any machine has is no memory; nothing overflows. */
static void huge_filters(void) {
    struct failing failing;
    struct sqlite_bloom_memory memory = memory_of(&failing, true);
    struct sqlite_bloom_filter *filter;
    failing.fails_at = 0; /* the bytes are first */
    assert_int_equal(
        sqlite_bloom_filter_new(&filter, UINT64_C(1) << 40, 0.0001, NULL, &memory, NULL),
        SQLITE_BLOOM_NO_MEMORY);
    assert_int_equal(failing.allocations, 1);
    assert_int_equal(failing.held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("The release is that of the header", the_release),
        TEST("A view is on the bytes themselves, at any address", views),
        TEST("Keys have their types", types_of_keys),
        TEST("Keys that a layout does not know are not in", foreign_keys),
        TEST("A filter applies its key rule", key_rules),
        TEST("A key rule takes a real as SQLite writes it", real_keys_by_rule),
        TEST("Keys are taken out of a filter that counts", removal),
        TEST("Filters are united and intersected", merges),
        TEST("Bits tell how many keys there are", estimates),
        TEST("A builder makes the filter for its distinct keys", building),
        TEST("A builder makes sets of numbers", building_of_numbers),
        TEST("Keys chosen against layout fuse need a salt", building_of_chosen_keys),
        TEST("Many keys are added and asked in one call", many_keys),
        TEST("Filters of other systems are read and written", exchange),
        TEST("Memory that fails loses nothing", memory_failures),
        TEST("A builder that could not finish has its keys", unfinished_builders),
        TEST("What is refused says why", refusals),
        TEST("A filter beyond all memory is refused", huge_filters),
    };
    return cmocka_run_group_tests_name("interface", tests, NULL, NULL);
}
