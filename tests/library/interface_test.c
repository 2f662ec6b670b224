/* What sqlite-bloom-filter.h promises programs, beyond what SQL shows of the same filters: key
 * rules, changes in place, merges, building, exchange, errors in words, and that a caller's memory
 * which fails at any moment loses nothing and leaves nothing half made. */
#include "chosen_keys.h"
#include "library_test.h"

#include "filter/key.h"
#include "url/url.h"

#include "sqlite-bloom-filter.h"

#include <math.h>

#define SALT "salt=000102030405060708090a0b0c0d0e0f"

typedef struct sqlite_bloom_filter filter_t;
typedef struct sqlite_bloom_builder builder_t;

/* Filters and builders that are declared so are closed at the end of their block, the last one
 * first. */
#define CLOSED __attribute__((cleanup(close_filter))) filter_t
#define CLOSED_BUILDER __attribute__((cleanup(close_builder))) builder_t

static void close_filter(filter_t **filter) {
    sqlite_bloom_filter_close(*filter);
}

static void close_builder(builder_t **builder) {
    sqlite_bloom_builder_close(*builder);
}

static struct sqlite_bloom_key text(const char *words) {
    return sqlite_bloom_text_key(words, strlen(words));
}

static struct sqlite_bloom_key integer(int64_t number) {
    return sqlite_bloom_integer_key(number);
}

static struct sqlite_bloom_key real(double number) {
    return sqlite_bloom_real_key(number);
}

/* A key whose type does not exist. */
static struct sqlite_bloom_key typeless(void) {
    struct sqlite_bloom_key key = text("a");
    memset(&key.type, 0, sizeof key.type);
    return key;
}

static char problem[SQLITE_BLOOM_PROBLEM_SIZE];

/* A call must have returned this status, with a message that begins with these words. */
static void refused(int status, int expected, const char *words) {
    assert_int_equal(status, expected);
    if (strncmp(problem, words, strlen(words)) != 0)
        fail_msg("%s, not %s", problem, words);
    problem[0] = '\0';
}

/* A filter for n keys at 1 %, with options. */
static filter_t *new_filter(uint64_t n, const char *options) {
    filter_t *filter;
    if (sqlite_bloom_filter_new(&filter, n, 0.01, options, NULL, problem) != SQLITE_BLOOM_OK)
        fail_msg("%s", problem);
    return filter;
}

static void assert_same_bytes(const filter_t *one, const filter_t *other) {
    size_t length, other_length;
    const void *bytes = sqlite_bloom_filter_bytes(one, &length);
    const void *other_bytes = sqlite_bloom_filter_bytes(other, &other_length);
    assert_int_equal(length, other_length);
    assert_memory_equal(bytes, other_bytes, length);
}

/* Opens bytes for reading. */
static filter_t *opened(const void *bytes, size_t length) {
    filter_t *view;
    assert_int_equal(sqlite_bloom_filter_open(&view, bytes, length, NULL, NULL), 0);
    return view;
}

static void adds(filter_t *filter, struct sqlite_bloom_key key, int expected) {
    assert_int_equal(sqlite_bloom_filter_add(filter, key, NULL), expected);
}

static void checks(const filter_t *filter, struct sqlite_bloom_key key, int expected) {
    assert_int_equal(sqlite_bloom_filter_check(filter, key), expected);
}

static void the_release(void) {
    assert_string_equal(sqlite_bloom_filter_version(), SQLITE_BLOOM_VERSION);
}

/* A view is on the bytes themselves, at any address. */
static void views(void) {
    CLOSED *filter = new_filter(100, NULL);
    size_t length, told;
    const void *bytes = sqlite_bloom_filter_bytes(filter, &length);
    for (size_t offset = 0; offset < 9; offset++) {
        filter_t *view;
        FREED uint8_t *memory = allocate_exactly(offset + length);
        uint8_t *at = memory + offset;
        memcpy(at, bytes, length);
        assert_int_equal(sqlite_bloom_filter_open_writable(&view, at, length, NULL, NULL), 0);
        adds(view, text("a"), 0);
        assert_ptr_equal(sqlite_bloom_filter_bytes(view, &told), at);
        assert_int_equal(told, length);
        sqlite_bloom_filter_close(view);
        view = opened(at, length);
        checks(view, text("a"), 1);
        checks(view, sqlite_bloom_bytes_key("a", 1), 1);
        adds(view, text("b"), SQLITE_BLOOM_REFUSED);
        assert_int_equal(sqlite_bloom_filter_add_integer(view, 1, NULL), SQLITE_BLOOM_REFUSED);
        checks(view, text("b"), 0);
        sqlite_bloom_filter_close(view);
    }
    sqlite_bloom_filter_close(NULL);
    sqlite_bloom_builder_close(NULL);
}

/* Keys have types, as in SQL. A key that the hashing of another system does not know is certainly
 * not in the filter. */
static void types_of_keys(void) {
    CLOSED *filter = new_filter(100, SALT), *foreign = new_filter(100, "dcso"),
           *parquet = new_filter(100, "parquet");
    const struct sqlite_bloom_key keys[] = {text("a"), real(0.5), text("b")};
    const struct sqlite_bloom_key zeros[] = {real(0.0), real(-0.0)};
    unsigned char found[3];
    adds(filter, real(42), 0);
    adds(filter, real(0.5), 0);
    adds(filter, sqlite_bloom_text_key(NULL, 0), 0);
    adds(filter, typeless(), SQLITE_BLOOM_NO_KEY);
    checks(filter, integer(42), 1);
    checks(filter, integer(43), 0);
    checks(filter, text("42"), 0);
    checks(filter, real(0.5), 1);
    checks(filter, real(0.25), 0);
    checks(filter, sqlite_bloom_bytes_key(NULL, 0), 1);
    checks(filter, real(nan("")), SQLITE_BLOOM_NO_KEY);
    checks(filter, typeless(), SQLITE_BLOOM_NO_KEY);
    adds(foreign, text("a"), 0);
    checks(foreign, real(0.5), 0);
    assert_true(sqlite_bloom_filter_check_many(foreign, keys, 3, found) == 1);
    assert_memory_equal(found, ((unsigned char[]){1, 0, 0}), 3);
    assert_true(sqlite_bloom_filter_check_many(foreign, NULL, 0, NULL) == 0);
    checks(parquet, real(0.0), 0);
    adds(parquet, real(-0.0), 0); /* which equals 0.0, and has other bytes */
    assert_true(sqlite_bloom_filter_check_many(parquet, zeros, 2, found) == 2);
}

static void key_rules(void) {
    struct test_memory memory = {0};
    const struct sqlite_bloom_memory failing = {test_allocate, test_release, test_resize, &memory};
    filter_t *filter;
    struct sqlite_bloom_description description;
    char path[700] = "http://evil.example/";
    unsigned char found[5];
    memset(path + strlen(path), 'a', 600);
    assert_int_equal(
        sqlite_bloom_filter_new(&filter, 100, 0.0001, "key=url, " SALT, &failing, NULL), 0);
    adds(filter, text("HTTP://Evil.Example:80/x/../"), 0);
    adds(filter, integer(3279880203), SQLITE_BLOOM_NO_KEY);
    adds(filter, text("http://3279880203/"), 0);
    adds(filter, typeless(), SQLITE_BLOOM_NO_KEY);
    const struct sqlite_bloom_key asked[] = {text("https://www.evil.example/a/b?c"),
                                             text("http://good.example/"), text(""),
                                             text("http://195.127.0.11/a"), text(path)};
    const int answers[] = {1, 0, SQLITE_BLOOM_NO_KEY, 1, 1};
    assert_true(sqlite_bloom_filter_check_many(filter, asked, 5, found) == 3);
    for (unsigned i = 0; i < 5; i++) {
        checks(filter, asked[i], answers[i]);
        assert_int_equal(found[i], answers[i] == SQLITE_BLOOM_NO_KEY ? 2 : answers[i]);
    }
    checks(filter, integer(3279880203), 1);
    checks(filter, real(1.5), 0);
    checks(filter, real(nan("")), SQLITE_BLOOM_NO_KEY);
    const struct sqlite_bloom_key strange = typeless();
    assert_true(sqlite_bloom_filter_check_many(filter, &strange, 1, found) == 0);
    assert_int_equal(found[0], 2);
    sqlite_bloom_filter_describe(filter, &description);
    assert_string_equal(description.key_rule, "url");
    assert_int_equal(description.salted, 1);
    /* A long URL needs memory, to the byte. */
    memory.fails_from = memory.allocations + 1;
    memory.fails_to = UINT64_MAX;
    checks(filter, text(path), SQLITE_BLOOM_NO_MEMORY);
    refused(sqlite_bloom_filter_add(filter, text(path), problem), SQLITE_BLOOM_NO_MEMORY,
            "sqlite_bloom_filter_add: out of memory");
    assert_true(sqlite_bloom_filter_check_many(filter, asked, 5, found) == SQLITE_BLOOM_NO_MEMORY);
    for (size_t length = strlen(path); length-- > 0;) {
        path[length] = '\0';
        assert_int_equal(sqlite_bloom_filter_check(filter, text(path)) == SQLITE_BLOOM_NO_MEMORY,
                         BLOOM_URL_ROOM(length) > bloom_limits.key_room_inside);
    }
    sqlite_bloom_filter_close(filter);
    assert_int_equal(memory.pieces, 0);
}

static void removal(void) {
    CLOSED *filter = new_filter(100, "counting"), *empty = new_filter(100, "counting");
    size_t length;
    adds(filter, text("a"), 0);
    adds(filter, text("a"), 0);
    assert_int_equal(sqlite_bloom_filter_count(filter, text("a"), NULL), 2);
    assert_int_equal(sqlite_bloom_filter_remove(filter, text("a"), NULL), 0);
    assert_int_equal(sqlite_bloom_filter_remove(filter, text("never"), NULL), 0);
    checks(filter, text("a"), 1);
    assert_int_equal(sqlite_bloom_filter_remove(filter, text("a"), NULL), 0);
    checks(filter, text("a"), 0);
    assert_same_bytes(filter, empty);
    const void *bytes = sqlite_bloom_filter_bytes(filter, &length);
    CLOSED *view = opened(bytes, length);
    assert_int_equal(sqlite_bloom_filter_remove(view, text("a"), NULL), SQLITE_BLOOM_REFUSED);
    assert_int_equal(sqlite_bloom_filter_remove(filter, real(nan("")), NULL), SQLITE_BLOOM_NO_KEY);
    assert_int_equal(sqlite_bloom_filter_count(filter, text("a"), NULL), 0);
    assert_int_equal(sqlite_bloom_filter_count(filter, real(nan("")), NULL), SQLITE_BLOOM_NO_KEY);
}

static void merges(void) {
    CLOSED *both = new_filter(100, NULL), *one = new_filter(100, NULL),
           *two = new_filter(100, NULL), *three = new_filter(100, NULL), *united = NULL,
           *common = NULL;
    filter_t *const filters[] = {one, two, three};
    assert_int_equal(sqlite_bloom_filter_count(both, text("a"), NULL), SQLITE_BLOOM_REFUSED);
    for (unsigned i = 0; i < 3; i++) {
        adds(filters[i], integer(i), 0);
        adds(filters[i], text("all"), 0);
        adds(both, integer(i), 0);
    }
    adds(both, text("all"), 0);
    const filter_t *const parts[] = {one, two, three};
    assert_int_equal(sqlite_bloom_filter_union(&united, parts, 3, NULL, NULL), SQLITE_BLOOM_OK);
    assert_same_bytes(united, both);
    adds(united, text("more"), 0); /* its bytes are of its own */
    checks(one, text("more"), 0);
    assert_int_equal(sqlite_bloom_filter_intersect(&common, parts, 3, NULL, NULL), 0);
    checks(common, text("all"), 1);
    checks(common, integer(0), 0);
}

static void estimates(void) {
    CLOSED *filter = new_filter(1000, NULL), *classic = new_filter(10, "classic");
    struct sqlite_bloom_estimate estimate;
    for (int i = 0; i < 2; i++) { /* zeros are not negative */
        sqlite_bloom_filter_estimate(i ? filter : classic, &estimate);
        assert_true(estimate.ones == 0 && !signbit(estimate.count) && !signbit(estimate.fpr_now));
    }
    for (int64_t i = 0; i < 1000; i++)
        adds(filter, integer(i), 0);
    sqlite_bloom_filter_estimate(filter, &estimate);
    assert_near(estimate.count, 1000, 50, "count");
    assert_near(estimate.fpr_now, 0.01, 0.004, "fpr_now");
    assert_near(estimate.fill, 0.45, 0.05, "fill");
    assert_in_range(estimate.ones, 4000, 6000);
}

/* ---- Building ---- */

static builder_t *new_builder(double p, const char *options,
                              const struct sqlite_bloom_memory *memory) {
    builder_t *builder;
    assert_int_equal(sqlite_bloom_builder_open(&builder, p, options, memory, NULL), 0);
    return builder;
}

static void takes(builder_t *builder, struct sqlite_bloom_key key, int expected) {
    assert_int_equal(sqlite_bloom_builder_add(builder, key, NULL), expected);
}

static filter_t *finished(builder_t *builder) {
    filter_t *made;
    assert_int_equal(sqlite_bloom_builder_finish(builder, &made, NULL), SQLITE_BLOOM_OK);
    return made;
}

/* A builder sizes the filter for its distinct keys, in any order and however often they come. */
static void building(void) {
    static const uint8_t SEED[16] = {1, 2, 3};
    CLOSED_BUILDER *builder = new_builder(0.01, "key=url", NULL);
    CLOSED *given = new_filter(3, "key=url");
    adds(given, text("c.example"), 0);
    adds(given, text("b.example"), 0);
    adds(given, text("a.example"), 0);
    sqlite_bloom_builder_seed(builder, SEED);
    for (int turn = 0; turn < 2; turn++) { /* it is ready for another set */
        for (int i = 0; i < 3000; i++) {
            const char *const KEYS[] = {"a.example", "http://B.example/", "c.example"};
            takes(builder, text(KEYS[i % 3]), 0);
        }
        takes(builder, text(""), SQLITE_BLOOM_NO_KEY);
        CLOSED *made = finished(builder);
        assert_same_bytes(made, given);
    }
}

/* A filter is no key, whichever function gets it, with a key rule or without. */
static void keys_that_are_filters(void) {
    static const char *const OPTIONS[] = {NULL, "key=url", "classic", "counting", "classic-utf16"};
    CLOSED *given = new_filter(1, NULL);
    CLOSED_BUILDER *builder = new_builder(0.01, NULL, NULL);
    struct sqlite_bloom_key keys[2] = {text("a.example"), {.type = SQLITE_BLOOM_BYTES}};
    uint8_t found[2];
    filter_t *made;
    keys[1].value.bytes = sqlite_bloom_filter_bytes(given, &keys[1].length);
    for (size_t i = 0; i < COUNT_OF(OPTIONS); i++) {
        CLOSED *filter = new_filter(100, OPTIONS[i]);
        adds(filter, keys[1], SQLITE_BLOOM_REFUSED);
        checks(filter, keys[1], SQLITE_BLOOM_REFUSED);
        assert_int_equal(sqlite_bloom_filter_check_many(filter, keys, 2, found),
                         SQLITE_BLOOM_REFUSED);
    }
    refused(sqlite_bloom_builder_add(builder, keys[1], problem), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_builder_add: the key is a filter. Merge filters with "
            "sqlite_bloom_filter_union");
    /* Nothing was added, so there is nothing to finish. */
    refused(sqlite_bloom_builder_finish(builder, &made, problem), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_builder_finish: no key was added. Add one, or make an empty filter with "
            "sqlite_bloom_filter_new");
    assert_null(made);
}

/* A bitmap is as large as its largest number needs. */
static void building_of_numbers(void) {
    CLOSED_BUILDER *builder = new_builder(0, "bitmap", NULL);
    struct sqlite_bloom_description description;
    for (int64_t i = 0; i < 100000; i = 2 * i + 1)
        takes(builder, integer(i), 0);
    takes(builder, integer(INT64_MAX), SQLITE_BLOOM_REFUSED);
    CLOSED *made = finished(builder);
    sqlite_bloom_filter_describe(made, &description);
    assert_int_equal(description.bits, 65536);
    checks(made, integer(65535), 1);
    checks(made, integer(65534), 0);
    adds(made, integer(65536), SQLITE_BLOOM_REFUSED);
}

/* Keys that were chosen so that layout fuse finds no filter for them (fuse_test.c). A builder has
 * its keys as before. */
static void building_of_chosen_keys(void) {
    enum { SEEDS = 64, CHOSEN = 2 * SEEDS + 1 };
    uint64_t words[CHOSEN];
    uint8_t key[16];
    CLOSED_BUILDER *builder = new_builder(0.01, "fuse", NULL);
    filter_t *made;
    attack_words(words, SEEDS);
    for (int i = 0; i < CHOSEN; i++) {
        key_of_words(words[i], 0, key);
        takes(builder, sqlite_bloom_bytes_key(key, 16), 0);
    }
    for (int turn = 0; turn < 2; turn++) {
        refused(sqlite_bloom_builder_finish(builder, &made, problem), SQLITE_BLOOM_CHOSEN_KEYS,
                "sqlite_bloom_builder_finish: cannot make a filter of layout fuse, because the ");
        assert_null(made);
    }
}

/* More keys in one call than are hashed together, of all types, and some that are no keys. */
static void many_keys(void) {
    enum { KEYS = 1003 };
    static const char *const OPTIONS[] = {NULL, "classic", "counting", SALT};
    static struct sqlite_bloom_key keys[KEYS], added[KEYS];
    static char texts[KEYS][12];
    unsigned char found[KEYS];
    size_t count, length = 0;
    for (int i = 0; i < KEYS; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", i);
        const struct sqlite_bloom_key kinds[] = {text(texts[i]),
                                                 sqlite_bloom_bytes_key(texts[i], strlen(texts[i])),
                                                 integer(i), real(i + 0.5), real(nan(""))};
        keys[i] = kinds[i % 5];
        if (i % 5 < 4)
            added[length++] = keys[i];
    }
    for (size_t at = 0; at < COUNT_OF(OPTIONS); at++) {
        CLOSED *filter = new_filter(KEYS, OPTIONS[at]), *apart = new_filter(KEYS, OPTIONS[at]);
        assert_int_equal(sqlite_bloom_filter_add_many(filter, added, length, &count, NULL), 0);
        assert_int_equal(count, length);
        for (size_t i = 0; i < length; i++)
            adds(apart, added[i], 0);
        assert_same_bytes(filter, apart);
        assert_true(sqlite_bloom_filter_check_many(filter, keys, KEYS, found) == (int64_t)length);
        for (int i = 0; i < KEYS; i++) {
            assert_int_equal(found[i], i % 5 < 4 ? 1 : 2);
            checks(filter, keys[i], i % 5 < 4 ? 1 : SQLITE_BLOOM_NO_KEY);
        }
        for (size_t asked = 0; asked < KEYS; asked++) { /* and no more */
            found[asked] = 7;
            assert_true(sqlite_bloom_filter_check_many(filter, keys, asked, found) ==
                        (int64_t)(asked - asked / 5));
            assert_int_equal(found[asked], 7);
        }
    }
}

static const char LIST[] = "a.example\n||b.example^\n! a remark\n";

/* A published list becomes a filter of its entries, whose key rule depends on them. */
static void lists(void) {
    static const char PATH[] = "http://c.example/path\n";
    struct sqlite_bloom_description description;
    filter_t *none;
    for (int i = 0; i < 2; i++) {
        CLOSED *made = NULL;
        const char *list = i ? PATH : LIST;
        assert_int_equal(
            sqlite_bloom_filter_from_list(&made, list, strlen(list), 0, NULL, NULL, problem), 0);
        sqlite_bloom_filter_describe(made, &description);
        assert_string_equal(description.key_rule, i ? "url_nocase" : "host");
        assert_true(description.fpr == 0.0001);
        checks(made, text(i ? "http://c.example/path?x" : "http://www.A.example/d"), 1);
        checks(made, text("http://c.example/"), 0);
    }
    refused(sqlite_bloom_filter_from_list(&none, PATH, strlen(PATH), 0, "key=none", NULL, problem),
            SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_from_list: key is 'none'. Write one of url, url_nocase, host");
    refused(sqlite_bloom_filter_from_list(&none, NULL, 0, 0, NULL, NULL, problem),
            SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_from_list: no line has an entry that stops a page. ");
}

/* A filter that Guava wrote becomes one of ours, and the same bytes again. */
static void exchange(void) {
    static const char NAME[] = "tests/exchange/golden/string_10_0.01_mitz64.guava";
    CLOSED *filter = NULL;
    filter_t *again;
    uint8_t golden[1000], written[1000];
    FILE *file = fopen(NAME, "rb");
    assert_non_null(file);
    const size_t whole = fread(golden, 1, sizeof golden, file);
    size_t length = sizeof written;
    fclose(file);
    uint8_t *copy = copy_exactly(golden, whole);
    assert_int_equal(sqlite_bloom_filter_import(&filter, copy, whole, "Guava", NULL, NULL), 0);
    free(copy);
    assert_int_equal(sqlite_bloom_filter_export(filter, "guava", NULL, &length, NULL), 0);
    assert_int_equal(length, whole);
    length = whole - 1;
    assert_int_equal(sqlite_bloom_filter_export(filter, "guava", written, &length, NULL),
                     SQLITE_BLOOM_REFUSED);
    assert_int_equal(length, whole);
    assert_int_equal(sqlite_bloom_filter_export(filter, "guava", written, &length, NULL), 0);
    assert_memory_equal(written, golden, whole);
    const void *ours = sqlite_bloom_filter_bytes(filter, &length);
    assert_int_equal(sqlite_bloom_filter_import(&again, ours, length, "guava", NULL, NULL),
                     SQLITE_BLOOM_REFUSED);
    assert_null(again);
}

/* ---- Memory that fails ---- */

/* Calls every function that allocates, one after the other. Returns how many succeeded. */
enum { OPERATIONS = 9 };

static int all_operations(const struct sqlite_bloom_memory *memory, int *status) {
    static const uint8_t GUAVA[] = {1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    static const char *const BUILT[] = {"fuse", "bitmap"};
    filter_t *made[OPERATIONS] = {NULL};
    builder_t *builders[2] = {NULL, NULL};
    int done = 0;
    size_t length;
    *status = sqlite_bloom_filter_new(&made[0], 1000, 0.01, NULL, memory, problem);
    if (*status == 0)
        *status = sqlite_bloom_filter_copy(&made[++done], made[0], memory, problem);
    if (*status == 0) {
        const void *bytes = sqlite_bloom_filter_bytes(made[1], &length);
        *status = sqlite_bloom_filter_open(&made[++done], bytes, length, memory, problem);
    }
    for (size_t count = 2; count <= 3 && *status == 0; count++) {
        const filter_t *const parts[] = {made[0], made[2], made[1]};
        *status = sqlite_bloom_filter_union(&made[++done], parts, count, memory, problem);
    }
    if (*status == 0)
        *status = sqlite_bloom_filter_import(&made[++done], GUAVA, sizeof GUAVA, "guava", memory,
                                             problem);
    if (*status == 0)
        *status = sqlite_bloom_filter_from_list(&made[++done], LIST, strlen(LIST), 0, NULL, memory,
                                                problem);
    for (int i = 0; i < 2 && *status == 0; i++) {
        done++;
        *status = sqlite_bloom_builder_open(&builders[i], i ? 0 : 0.01, BUILT[i], memory, problem);
        for (int64_t j = 0; *status == 0 && j < 1000; j++)
            *status = sqlite_bloom_builder_add(builders[i], integer(j * j), problem);
        if (*status == 0)
            *status = sqlite_bloom_builder_finish(builders[i], &made[done], problem);
    }
    done += *status == 0;
    for (int i = 0; i < OPERATIONS; i++) {
        assert_int_equal(made[i] != NULL, i < done);
        sqlite_bloom_filter_close(made[(i + 2) % OPERATIONS]); /* the view before what it is on */
    }
    for (int i = 0; i < 2; i++)
        sqlite_bloom_builder_close(builders[i]);
    return done;
}

/* One allocation fails, or all from it on; with a function that resizes, or without. */
static void memory_failures(void) {
    for (unsigned way = 0; way < 4; way++) {
        struct test_memory memory = {0};
        const struct sqlite_bloom_memory failing = {test_allocate, test_release,
                                                    way & 1 ? test_resize : NULL, &memory};
        bool reached[OPERATIONS + 1] = {false};
        int status;
        assert_int_equal(all_operations(&failing, &status), OPERATIONS);
        assert_int_equal(memory.pieces, 0);
        const uint64_t allocations = memory.allocations;
        for (uint64_t i = 1; i <= allocations; i++) {
            memory = (struct test_memory){.fails_from = i, .fails_to = way >= 2 ? UINT64_MAX : i};
            reached[all_operations(&failing, &status)] = true;
            assert_int_equal(status, SQLITE_BLOOM_NO_MEMORY);
            assert_non_null(strstr(problem, ": out of memory"));
            problem[0] = '\0'; /* so that the next one cannot be taken for it */
            assert_int_equal(memory.pieces, 0);
        }
        for (int done = 0; done <= OPERATIONS; done++)
            assert_int_equal(reached[done], done < OPERATIONS);
    }
}

/* A builder that could not finish still has its keys. */
static void unfinished_builders(void) {
    CLOSED *expected = new_filter(500, NULL);
    int status = SQLITE_BLOOM_NO_MEMORY;
    unsigned after = 0;
    for (int64_t i = 0; i < 500; i++)
        adds(expected, integer(i), 0);
    for (; status != SQLITE_BLOOM_OK; after++) {
        struct test_memory memory = {0};
        const struct sqlite_bloom_memory failing = {test_allocate, test_release, test_resize,
                                                    &memory};
        {
            CLOSED_BUILDER *builder = new_builder(0.01, NULL, &failing);
            CLOSED *made = NULL;
            for (int64_t i = 0; i < 500; i++)
                takes(builder, integer(i), 0);
            memory.fails_from = memory.fails_to = memory.allocations + 1 + after;
            status = sqlite_bloom_builder_finish(builder, &made, NULL);
            if (status != SQLITE_BLOOM_OK) {
                assert_int_equal(status, SQLITE_BLOOM_NO_MEMORY);
                assert_null(made);
                made = finished(builder);
            }
            assert_same_bytes(made, expected);
        }
        assert_int_equal(memory.pieces, 0);
    }
    assert_true(after > 2);
}

/* A call that is refused leaves NULL and says why. messages.test has all reasons. Here is one of
 * each kind, with the name of the C function and with its advice. */
static void refusals(void) {
    CLOSED *url = new_filter(10, "key=url"), *blocked = new_filter(10, NULL),
           *other = new_filter(11, NULL), *bitmap = NULL;
    CLOSED_BUILDER *fuse_builder = new_builder(0.01, "fuse", NULL);
    filter_t *filter;
    builder_t *builder;
    takes(fuse_builder, text("a"), SQLITE_BLOOM_OK);
    CLOSED *fuse = finished(fuse_builder);
    size_t added = 9, length = 0;
    unsigned char found[4];
#define NEW(n, p, options) sqlite_bloom_filter_new(&filter, n, p, options, NULL, problem)
    refused(sqlite_bloom_filter_open(&filter, NULL, 0, NULL, problem), SQLITE_BLOOM_NOT_A_FILTER,
            "sqlite_bloom_filter_open: the data is not a filter: it has 0 bytes and does not ");
    assert_null(filter);
    refused(NEW(10, 1.234567, NULL), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: p is 1.23457. Pass a number between 0 and 1, for example ");
    assert_null(filter);
    refused(NEW(10, nan(""), NULL), SQLITE_BLOOM_REFUSED, "sqlite_bloom_filter_new: p is nan.");
    refused(NEW(10, 0.5, "bitmap"), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: p is 0.5. Pass 0, because layout bitmap is exact");
    refused(NEW(UINT64_MAX, 0.5, NULL), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: n is 18446744073709551615. Pass at most 1099511627776");
    refused(NEW(10, 0.5, "fuse"), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: cannot make an empty filter of layout fuse. ");
    refused(NEW(10, 0.5, "%s\xff"), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_new: layout is '%s\\xff'. Leave it out, or write counting, ");
    refused(sqlite_bloom_builder_open(&builder, 0.01, "classic32", NULL, problem),
            SQLITE_BLOOM_REFUSED, "sqlite_bloom_builder_open: layout classic32 is only for ");
    assert_null(builder);
    refused(sqlite_bloom_filter_add(url, text(""), problem), SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add: the key, '', is not a URL. Leave it out");
    refused(sqlite_bloom_filter_add(url, sqlite_bloom_bytes_key("", 0), problem),
            SQLITE_BLOOM_NO_KEY, "sqlite_bloom_filter_add: the key, 0 bytes, is not a URL. ");
#define FROM_LIST(text, options)                                                                   \
    sqlite_bloom_filter_from_list(&filter, text, strlen(text), 0, options, NULL, problem)
    refused(FROM_LIST("a.example\n", "bitmap"), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_from_list: layout bitmap ");
    assert_null(filter);
    refused(FROM_LIST("hosts.txt", NULL), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_from_list: 'hosts.txt' looks like the name of a file. ");
    refused(FROM_LIST("a.example/b\n", "key=host"), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_from_list: line 1, 'a.example/b', has a path, ");
    assert_int_equal(sqlite_bloom_filter_new(&bitmap, 10, 0, "bitmap", NULL, NULL), 0);
    refused(sqlite_bloom_filter_add(bitmap, integer(-1), problem), SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add: the key is -1, but the keys of layout bitmap are whole ");
    refused(sqlite_bloom_filter_add(bitmap, real(0.1234567890123456), problem), SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add: the key is 0.123456789012346, but ");
    adds(bitmap, integer(0), 0);
    const struct sqlite_bloom_key keys[] = {text("a"), text("b"), typeless(), text("c")};
    assert_true(sqlite_bloom_filter_check_many(bitmap, keys, 4, found) == 0);
    assert_memory_equal(found, ((unsigned char[]){0, 0, 2, 0}), 4);
    refused(sqlite_bloom_filter_add_many(blocked, keys, 4, &added, problem), SQLITE_BLOOM_NO_KEY,
            "sqlite_bloom_filter_add_many: the key is of type 0, but ");
    assert_int_equal(added, 2);
    checks(blocked, text("b"), 1);
    checks(blocked, text("c"), 0);
    refused(sqlite_bloom_filter_remove(blocked, text("a"), problem), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_remove: cannot remove keys from a filter of layout blocked. ");
    const filter_t *const unlike[] = {blocked, other};
    refused(sqlite_bloom_filter_union(&filter, unlike, 2, NULL, problem), SQLITE_BLOOM_DIFFERENT,
            "sqlite_bloom_filter_union: filter 2 differs from the first filter (first and filter ");
    assert_null(filter);
    refused(sqlite_bloom_filter_intersect(&filter, unlike, 0, NULL, problem), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_intersect: there is no filter. Pass at least one");
    const filter_t *const finished_one[] = {fuse};
    refused(sqlite_bloom_filter_intersect(&filter, finished_one, 1, NULL, problem),
            SQLITE_BLOOM_REFUSED, "sqlite_bloom_filter_intersect: cannot intersect a filter of ");
    refused(sqlite_bloom_filter_union(&filter, finished_one, 1, NULL, problem),
            SQLITE_BLOOM_REFUSED, "sqlite_bloom_filter_union: cannot unite ");
    refused(sqlite_bloom_filter_import(&filter, "", 0, "java", NULL, problem), SQLITE_BLOOM_REFUSED,
            "sqlite_bloom_filter_import: format is 'java'. Pass one of 'guava', 'guava-utf16', ");
    refused(sqlite_bloom_filter_import(&filter, NULL, 0, "guava", NULL, problem),
            SQLITE_BLOOM_NOT_A_FILTER, "sqlite_bloom_filter_import: the bytes ");
    assert_null(filter);
    refused(sqlite_bloom_filter_export(blocked, "nobody", NULL, &length, problem),
            SQLITE_BLOOM_REFUSED, "sqlite_bloom_filter_export: format is 'nobody'. ");
    refused(sqlite_bloom_filter_export(blocked, "guava", NULL, &length, problem),
            SQLITE_BLOOM_REFUSED, "sqlite_bloom_filter_export: the filter ");
}

RUN_GROUP("interface", TEST("The release is the one in the header", the_release),
          TEST("A view is on the bytes themselves, at any address", views),
          TEST("Keys have their types", types_of_keys),
          TEST("A filter applies its key rule", key_rules),
          TEST("Keys are removed from a filter that counts", removal),
          TEST("Filters are united and intersected", merges),
          TEST("The number of keys is estimated from the bits", estimates),
          TEST("A filter is not a key, and without a key there is no filter",
               keys_that_are_filters),
          TEST("A builder makes the filter for its distinct keys", building),
          TEST("A builder makes sets of numbers", building_of_numbers),
          TEST("Keys chosen against layout fuse need a salt", building_of_chosen_keys),
          TEST("Many keys are added and checked in one call", many_keys),
          TEST("A published list makes a filter", lists),
          TEST("Filters of other systems are read and written", exchange),
          TEST("Memory that fails loses nothing", memory_failures),
          TEST("A builder that could not finish still has its keys", unfinished_builders),
          TEST("A call that is refused says why", refusals))
