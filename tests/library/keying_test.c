/* What a user chooses about keys, salts and key rules: which headers are read and which refused.
 * SipHash and the bytes of headers are in vectors_test.c. */
#include "library_test.h"

#include "base/version.h"
#include "filter/header.h"
#include "shorthand.h"

/* What messages end in. */
#define WRITE_AGAIN ". Ask its author to write it again"

/* A rule for the tests alone. */
static const struct bloom_key_rule TOY = {.name = "toy", .number = 200};

/* 00 01 02 ... 0f and ff fe ... f0, as two little-endian numbers each. */
static const uint64_t SALT[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
static const uint64_t OTHER_SALT[2] = {UINT64_C(0xf8f9fafbfcfdfeff), UINT64_C(0xf0f1f2f3f4f5f6f7)};

static struct bloom_shape salted(const struct bloom_layout *layout, uint32_t probes, uint64_t bits,
                                 uint64_t capacity, const uint64_t salt[2]) {
    return (struct bloom_shape){.layout = layout,
                                .probes = probes,
                                .bits = bits,
                                .capacity = capacity,
                                .rate = 0.01,
                                .keying = {.salted = true, .salt = {salt[0], salt[1]}}};
}

static void write_checksum(uint8_t *filter) {
    uint8_t covered[120];
    size_t length = filter[7] == 0 ? 56 : 120;
    memcpy(covered, filter, 56);
    if (length == 120)
        memcpy(covered + 56, filter + 64, 64);
    uint64_t checksum = bloom_hash_bytes(covered, length).words[0];
    for (unsigned i = 0; i < 8; i++)
        filter[56 + i] = (uint8_t)(checksum >> 8 * i);
}

/* Reads a copy of exact size. words is NULL for what must be accepted. */
static void assert_read(const uint8_t *filter, size_t length, const char *words) {
    uint8_t *copy = copy_exactly(filter, length);
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE] = "";
    bool accepted = bloom_filter_read(&shape, copy, length, problem);
    if (words != NULL && words[0] != '\0')
        assert_string_equal(problem, words);
    assert_int_equal(accepted, words == NULL);
    free(copy);
}

static uint8_t *empty_filter(const struct bloom_shape *shape, size_t *length) {
    *length = (size_t)bloom_filter_bytes(shape);
    uint8_t *filter = allocate_exactly(*length);
    bloom_header_write(shape, filter);
    return filter;
}

static void salted_filters_are_read(void) {
    struct bloom_shape shape = salted(&bloom_layout_blocked, 6, 512, 50, SALT), read;
    char problem[BLOOM_PROBLEM_SIZE] = "";
    size_t length;
    uint8_t *filter = empty_filter(&shape, &length);
    assert_int_equal(length, 192);
    assert_true(bloom_filter_read(&read, filter, length, problem));
    assert_true(bloom_shape_same(&read, &shape, problem));
    assert_ptr_equal(bloom_shape_hashing(&read), &bloom_hashing_siphash);
    assert_memory_equal(bloom_shape_seed(&read), SALT, sizeof SALT);
    for (unsigned bit = 0; bit < 8 * 128; bit++) {
        filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_read(filter, length, "");
        filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t shorter = 0; shorter < length; shorter++)
        assert_read(filter, shorter, "");
    assert_read(filter, 64,
                "is cut off: it has 64 bytes, but its header alone has 128. Store it whole");
    assert_read(
        filter, 128,
        "was cut off or extended: it has 128 bytes, but its header says 192. Store it whole");
    assert_read(filter, length, NULL);
    free(filter);
}

static void wrong_second_lines(void) {
    static const char spare[] =
        "uses reserved bytes of its header, which release " BLOOM_RELEASE " of this "
        "extension does not know. Get a newer release";
    struct bloom_shape shape = salted(&bloom_layout_blocked, 6, 512, 50, SALT);
    size_t length;
    uint8_t *filter = empty_filter(&shape, &length);
    for (size_t at = 13; at < 128; at = at == 15 ? 40 : at == 55 ? 80 : at + 1) {
        filter[at] = 1;
        write_checksum(filter);
        assert_read(filter, length, spare);
        filter[at] = 0;
    }
    for (unsigned lines = 2; lines < 256; lines++) {
        char words[BLOOM_PROBLEM_SIZE];
        snprintf(words, sizeof words,
                 "has %u further header lines, but release " BLOOM_RELEASE
                 " of this extension reads at most "
                 "1. Get a newer release, or restore it if it is damaged",
                 lines);
        filter[7] = (uint8_t)lines;
        assert_read(filter, length, words);
    }
    filter[7] = 0;
    write_checksum(filter);
    assert_read(filter, length,
                "is invalid: its header has hash 10 and 0 further lines. Hash 10 goes with one, "
                "the salt, and no other with any" WRITE_AGAIN);
    filter[7] = 1;
    filter[6] = 1;
    write_checksum(filter);
    assert_read(filter, length,
                "is invalid: its header has hash 1 and 1 further lines. Hash 10 goes with one, the "
                "salt, and no other with any" WRITE_AGAIN);
    filter[5] = 2; /* classic */
    filter[6] = 10;
    write_checksum(filter);
    assert_read(filter, length,
                "has layout 2 and hash 10, which release " BLOOM_RELEASE
                " of this extension does not know. "
                "Get a newer release");
    free(filter);
}

static void unknown_rules(void) {
    const struct bloom_key_rule *rule = &TOY;
    struct bloom_shape shape = salted(&bloom_layout_blocked, 6, 512, 50, SALT);
    size_t length;
    uint8_t *filter = empty_filter(&shape, &length);
    assert_true(bloom_key_rule_by_number(0, &rule));
    assert_null(rule);
    for (unsigned number = 1; number < 256; number++) {
        char words[BLOOM_PROBLEM_SIZE];
        if (bloom_key_rule_by_number(number, &rule)) {
            assert_int_equal(rule->number, number);
            assert_in_range(number, 1, 127);
            assert_ptr_equal(bloom_key_rule_by_name(rule->name, strlen(rule->name)), rule);
            continue;
        }
        assert_null(rule);
        snprintf(
            words, sizeof words,
            "has key rule %u, which release " BLOOM_RELEASE " of this extension does not know. %s",
            number,
            number < 128 ? "Get a newer release" : "It is private to the program that wrote it");
        filter[12] = (uint8_t)number;
        write_checksum(filter);
        assert_read(filter, length, words);
    }
    assert_null(bloom_key_rule_by_name("toy", 3));
    assert_null(bloom_key_rule_by_name("", 0));
    free(filter);
}

static void differences(void) {
    struct bloom_shape one = salted(&bloom_layout_blocked, 6, 512, 50, SALT);
    struct bloom_shape other = salted(&bloom_layout_blocked, 6, 512, 50, OTHER_SALT);
    char problem[BLOOM_PROBLEM_SIZE];
    assert_false(bloom_shape_same(&one, &other, problem));
    assert_string_equal(problem, "two salts");
    other.keying = (struct bloom_keying){.rule = NULL};
    assert_false(bloom_shape_same(&one, &other, problem));
    assert_string_equal(problem, "a salt and none");
    assert_false(bloom_shape_same(&other, &one, problem));
    assert_string_equal(problem, "no salt and one");
    other.keying = one.keying;
    assert_true(bloom_shape_same(&one, &other, problem));
    other.keying.rule = &TOY;
    assert_false(bloom_shape_same(&one, &other, problem));
    assert_string_equal(problem, "key rule none and toy");
    assert_false(bloom_keying_same(&other.keying, &one.keying, problem));
    assert_string_equal(problem, "key rule toy and none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("A salted filter is read, and any change of its header noticed",
             salted_filters_are_read),
        TEST("Second lines, hashes and spare bytes that do not fit are refused",
             wrong_second_lines),
        TEST("A key rule that is not known is refused by number", unknown_rules),
        TEST("Salts and rules that differ are named, salts without their bytes", differences),
    };
    return cmocka_run_group_tests_name("keying", tests, NULL, NULL);
}
