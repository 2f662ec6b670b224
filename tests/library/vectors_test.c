/* The vectors of tests/documentation/vectors.txt, which ext/FORMAT.md describes: every hash, every
 * valid filter with what is in it and what is not, and every reason to refuse one. They were made
 * by a program that shares no code with this library. */
#include "library_test.h"

#include "filter/hash.h"
#include "filter/header.h"

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

/* The words of a key: false when the hashing has none. */
static bool words_of_key(const struct bloom_hashing *hashing, const uint64_t seed[2],
                         const char *key, uint64_t words[BLOOM_HASH_WORDS_MAXIMUM]) {
    size_t length;
    double real;
    uint64_t bits;
    if (*key == 'i')
        return hashing->integer != NULL &&
               hashing->integer(seed, strtoll(key + 1, NULL, 10), words);
    if (*key == 'r') {
        bits = strtoull(key + 1, NULL, 16);
        memcpy(&real, &bits, sizeof real);
        return hashing->real != NULL && hashing->real(seed, real, words);
    }
    bool (*hash)(const uint64_t[2], const void *, size_t, uint64_t *) =
        *key == 't' ? hashing->text : hashing->bytes;
    uint8_t *bytes = bytes_of(key + 1, &length);
    bool taken = hash != NULL && hash(seed, bytes, length, words);
    free(bytes);
    return taken;
}

static const struct bloom_hashing *hashing_by_number(unsigned number) {
    static const struct bloom_hashing *const HASHINGS[] = {
        &bloom_hashing_murmur3, &bloom_hashing_integer,     &bloom_hashing_utf16,
        &bloom_hashing_spark,   &bloom_hashing_fnv,         &bloom_hashing_murmur3_twice,
        &bloom_hashing_xxh64,   &bloom_hashing_xxh64_int32, &bloom_hashing_murmur2,
        &bloom_hashing_siphash};
    for (size_t i = 0; i < COUNT_OF(HASHINGS); i++)
        if (HASHINGS[i]->number == number)
            return HASHINGS[i];
    return NULL;
}

/* A 32-bit hash twice is one word here. */
static bool is_word_of_two(unsigned number) {
    return number == 4;
}

static void hashes(void **state) {
    char *at = vectors;
    struct line line;
    unsigned count = 0;
    (void)state;
    for (; next_line(&at, "hash", &line); count++) {
        unsigned number = (unsigned)strtoul(line.fields[1], NULL, 10), found = 0;
        uint64_t words[BLOOM_HASH_WORDS_MAXIMUM] = {0}, seed[2] = {0, 0};
        size_t length;
        uint8_t *bytes = bytes_of(line.fields[2], &length);
        for (size_t i = 0; i < length; i++)
            seed[i / 8] |= (uint64_t)bytes[i] << 8 * (i % 8);
        free(bytes);
        assert_true(words_of_key(hashing_by_number(number), seed, line.fields[3], words));
        for (char *word = strtok(line.fields[4], ","); word != NULL; word = strtok(NULL, ",")) {
            uint64_t expected = strtoull(word, NULL, 16);
            if (is_word_of_two(number))
                assert_true((uint32_t)(words[0] >> 32 * found) == expected);
            else
                assert_true(words[found] == expected);
            found++;
        }
        assert_int_equal(found, is_word_of_two(number) ? 2 : hashing_by_number(number)->words);
    }
    assert_true(count > 200);
}

static void assert_answers(const struct bloom_shape *shape, const uint8_t *payload, char *keys,
                           bool expected) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    if (strcmp(keys, "-") == 0)
        return;
    for (char *key = strtok(keys, ","); key != NULL; key = strtok(NULL, ",")) {
        bool taken = words_of_key(bloom_shape_hashing(shape), bloom_shape_seed(shape), key, words);
        assert_true((taken && shape->layout->check(shape, payload, words)) == expected);
    }
}

static void valid_filters(void **state) {
    char *at = vectors;
    struct line line;
    unsigned count = 0;
    (void)state;
    for (; next_line(&at, "valid", &line); count++) {
        struct bloom_shape shape;
        char problem[BLOOM_PROBLEM_SIZE];
        uint8_t header[BLOOM_HEADER_BYTES_MAXIMUM];
        size_t length;
        uint8_t *filter = bytes_of(line.fields[2], &length);
        if (!bloom_filter_read(&shape, filter, length, problem))
            fail_msg("%s: %s", line.fields[1], problem);
        assert_string_equal(shape.layout->name, line.fields[1]);
        bloom_header_write(&shape, header);
        assert_memory_equal(header, filter, bloom_header_bytes(&shape));
        assert_answers(&shape, filter + bloom_header_bytes(&shape), line.fields[3], true);
        assert_answers(&shape, filter + bloom_header_bytes(&shape), line.fields[4], false);
        free(filter);
    }
    assert_true(count > 20);
}

static void invalid_filters(void **state) {
    char *at = vectors;
    struct line line;
    unsigned count = 0;
    (void)state;
    for (; next_line(&at, "invalid", &line); count++) {
        struct bloom_shape shape;
        char problem[BLOOM_PROBLEM_SIZE];
        size_t length;
        uint8_t *filter = bytes_of(line.fields[3], &length);
        if (bloom_filter_read(&shape, filter, length, problem))
            fail_msg("not refused, by rule %s of %s", line.fields[2], line.fields[1]);
        free(filter);
    }
    assert_true(count > 50);
}

static int read_vectors(void **state) {
    FILE *file = fopen("tests/documentation/vectors.txt", "rb");
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

#define WITH_VECTORS(name, test)                                                                   \
    { name, test, read_vectors, free_vectors, NULL }

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_VECTORS("Keys hash to the words of the vectors", hashes),
        WITH_VECTORS("Filters of the vectors are read, and answer", valid_filters),
        WITH_VECTORS("What the vectors call invalid is refused", invalid_filters),
    };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
