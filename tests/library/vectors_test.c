/* The vectors of tests/documentation/golden/vectors.txt, which ext/FORMAT.md describes: every valid
 * filter with what is in it and what is not, and every reason to refuse one. They were made by a
 * program that shares no code with this library, which format_test.py holds against the extension,
 * hashes and headers included. Filters are asked as programs ask them, by sqlite-bloom-filter.h. */
#include "library_test.h"

#include "sqlite-bloom-filter.h"

#include <stdlib.h>

enum { LINE_FIELDS = 5 };

static char *vectors; /* the file, which the fields are cut out of */

struct line {
    char *fields[LINE_FIELDS];
    unsigned count;
};

/* The next line that begins with that word, from *at on, in fields; false: there is none. */
static bool next_line(char **at, const char *word, struct line *line) {
    while (*at != NULL) {
        char *text = *at, *end = strchr(text, '\n');
        *at = end != NULL ? end + 1 : NULL;
        if (end != NULL)
            *end = '\0';
        line->count = 0;
        for (char *field = strtok(text, " "); field != NULL && line->count < LINE_FIELDS;
             field = strtok(NULL, " "))
            line->fields[line->count++] = field;
        if (line->count > 0 && strcmp(line->fields[0], word) == 0)
            return true;
    }
    return false;
}

/* Bytes of hexadecimal digits, in memory of their exact size. */
static uint8_t *bytes_of(const char *digits, size_t *length) {
    *length = strcmp(digits, "-") == 0 ? 0 : strlen(digits) / 2;
    uint8_t *bytes = allocate_exactly(*length);
    for (size_t i = 0; i < *length; i++) {
        char pair[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return bytes;
}

/* The keys of a field, for programs. Returns how many; the caller frees what they point to. */
enum { KEYS_MOST = 1000 };

static size_t keys_of(char *field, struct sqlite_bloom_key keys[KEYS_MOST]) {
    size_t count = 0, length;
    double real;
    if (strcmp(field, "-") == 0)
        return 0;
    for (char *key = strtok(field, ","); key != NULL; key = strtok(NULL, ",")) {
        assert_true(count < KEYS_MOST);
        uint64_t bits = strtoull(key + 1, NULL, 16);
        memcpy(&real, &bits, sizeof real);
        if (*key == 'i') {
            keys[count] = sqlite_bloom_integer_key(strtoll(key + 1, NULL, 10));
        } else if (*key == 'r') {
            keys[count] = sqlite_bloom_real_key(real);
        } else {
            uint8_t *bytes = bytes_of(key + 1, &length);
            keys[count] = *key == 't' ? sqlite_bloom_text_key((const char *)bytes, length)
                                      : sqlite_bloom_bytes_key(bytes, length);
        }
        count++;
    }
    return count;
}

static void free_keys(const struct sqlite_bloom_key *keys, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (keys[i].type == SQLITE_BLOOM_TEXT || keys[i].type == SQLITE_BLOOM_BYTES)
            free((void *)(uintptr_t)keys[i].value.bytes);
}

/* One at a time and together. */
static void assert_answers(const struct sqlite_bloom_filter *filter, char *field, bool expected) {
    static struct sqlite_bloom_key keys[KEYS_MOST];
    unsigned char found[KEYS_MOST];
    size_t count = keys_of(field, keys);
    assert_true(sqlite_bloom_filter_check_many(filter, keys, count, found) ==
                (expected ? (int64_t)count : 0));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i], expected);
        assert_true((sqlite_bloom_filter_check(filter, keys[i]) == 1) == expected);
    }
    free_keys(keys, count);
}

static void valid_filters(void) {
    char *at = vectors;
    struct line line;
    unsigned count = 0;
    for (; next_line(&at, "valid", &line); count++) {
        char problem[SQLITE_BLOOM_PROBLEM_SIZE];
        struct sqlite_bloom_description description;
        struct sqlite_bloom_filter *filter, *copy;
        size_t length, told;
        uint8_t *bytes = bytes_of(line.fields[2], &length);
        if (sqlite_bloom_filter_open(&filter, bytes, length, NULL, problem) != SQLITE_BLOOM_OK)
            fail_msg("%s: %s", line.fields[1], problem);
        sqlite_bloom_filter_describe(filter, &description);
        assert_string_equal(description.layout, line.fields[1]);
        assert_ptr_equal(sqlite_bloom_filter_bytes(filter, &told), bytes);
        assert_int_equal(told, length);
        assert_answers(filter, line.fields[3], true);
        assert_answers(filter, line.fields[4], false);
        assert_int_equal(sqlite_bloom_filter_copy(&copy, filter, NULL, problem), SQLITE_BLOOM_OK);
        assert_memory_equal(sqlite_bloom_filter_bytes(copy, &told), bytes, length);
        sqlite_bloom_filter_close(copy);
        sqlite_bloom_filter_close(filter);
        free(bytes);
    }
    assert_true(count > 20);
}

static void invalid_filters(void) {
    char *at = vectors;
    struct line line;
    unsigned count = 0;
    for (; next_line(&at, "invalid", &line); count++) {
        struct sqlite_bloom_filter *filter;
        char problem[SQLITE_BLOOM_PROBLEM_SIZE];
        size_t length;
        uint8_t *bytes = bytes_of(line.fields[3], &length);
        if (sqlite_bloom_filter_open(&filter, bytes, length, NULL, problem) !=
            SQLITE_BLOOM_NOT_A_FILTER)
            fail_msg("not refused, by rule %s of %s", line.fields[2], line.fields[1]);
        assert_null(filter);
        assert_memory_equal(problem, "sqlite_bloom_filter_open: the data ", 35);
        free(bytes);
    }
    assert_true(count > 50);
}

static int read_vectors(void **state) {
    FILE *file = fopen("tests/documentation/golden/vectors.txt", "rb");
    enum { MOST = 1 << 20 };
    (void)state;
    assert_non_null(file);
    vectors = calloc(MOST, 1);
    assert_non_null(vectors);
    size_t length = fread(vectors, 1, MOST - 1, file);
    fclose(file);
    return length > 0 && length < MOST - 1 ? 0 : -1;
}

static int free_vectors(void **state) {
    (void)state;
    free(vectors);
    return 0;
}

#define WITH_VECTORS(sentence, function)                                                           \
    RUN_BY(call_test, read_vectors, free_vectors, sentence, function)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_VECTORS("Filters of the vectors are read, and answer", valid_filters),
        WITH_VECTORS("What the vectors call invalid is refused", invalid_filters),
    };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
