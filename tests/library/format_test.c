/* What is not said of every function by damaged.test and format_test.py, which change each byte
 * and field of headers: layouts of other systems have more hashes, layouts have names, shapes
 * differ. */
#include "library_test.h"

#include "filter/header.h"
#include "shorthand.h"

static struct bloom_shape shape_of(const char *layout, uint32_t probes, uint64_t bits,
                                   uint64_t capacity, double rate) {
    struct bloom_shape shape = {.layout = bloom_layout_by_name(layout, strlen(layout)),
                                .probes = probes,
                                .bits = bits,
                                .capacity = capacity,
                                .rate = rate};
    assert_non_null(shape.layout);
    return shape;
}

/* A filter of that shape with all its bits set. */
static uint8_t *full_filter(const struct bloom_shape *shape, size_t *length) {
    *length = (size_t)bloom_filter_bytes(shape);
    uint8_t *filter = allocate_exactly(*length);
    bloom_header_write(shape, filter);
    memset(filter + BLOOM_HEADER_BYTES, 0xff, *length - BLOOM_HEADER_BYTES);
    if (shape->bits % 8 != 0)
        filter[*length - 1] = (uint8_t)((1u << shape->bits % 8) - 1);
    return filter;
}

/* Layouts of other systems have up to 65535 hashes, beyond 255 only with as many bits. */
static void many_hashes(void) {
    const struct {
        uint32_t probes;
        uint64_t bits;
        const char *words; /* NULL: they may be */
    } CASES[] = {
        {255, 64, NULL},
        {256, 64, "says 256 hashes for 64 bits, but more than 255 need as many bits"},
        {300, 300, NULL},
        {301, 300, "says 301 hashes for 300 bits, but more than 255 need as many bits"},
        {65536, 1 << 17, "says 65536 hashes, but layout go has 1 to 65535"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct bloom_shape shape = shape_of("go", CASES[i].probes, CASES[i].bits, 0, 0), read;
        char problem[BLOOM_PROBLEM_SIZE], words[BLOOM_PROBLEM_SIZE];
        size_t length;
        uint8_t *filter = full_filter(&shape, &length);
        assert_int_equal(bloom_filter_read(&read, filter, length, problem), CASES[i].words == NULL);
        if (CASES[i].words != NULL) {
            snprintf(words, sizeof words,
                     "is invalid: its header %s. Ask its author to write it again", CASES[i].words);
            assert_string_equal(problem, words);
        }
        free(filter);
    }
}

static void layouts_by_name(void) {
    assert_ptr_equal(bloom_layout_by_name("blocked", 7), &bloom_layout_blocked);
    assert_ptr_equal(bloom_layout_by_name("BloCKed", 7), &bloom_layout_blocked);
    assert_ptr_equal(bloom_layout_by_name("classic", 7), &bloom_layout_classic);
    assert_ptr_equal(bloom_layout_by_name("CLASSICAL", 7), &bloom_layout_classic);
    assert_null(bloom_layout_by_name("CLASSICAL", 9));
    assert_null(bloom_layout_by_name("classic", 6));
    assert_null(bloom_layout_by_name("classic\0", 8));
    assert_null(bloom_layout_by_name("", 0));
    assert_null(bloom_layout_by_name(NULL, 0));
    assert_null(bloom_layout_by_name("\xe3lassic", 7));
    assert_ptr_equal(bloom_layout_by_numbers(1, 1), &bloom_layout_blocked);
    assert_ptr_equal(bloom_layout_by_numbers(2, 1), &bloom_layout_classic);
    assert_ptr_equal(bloom_layout_default(), &bloom_layout_blocked);
    char text[BLOOM_PROBLEM_SIZE];
    static const char first[] = "'blocked', 'classic', 'counting', ";
    bloom_layout_list(text, sizeof text);
    assert_memory_equal(text, first, sizeof first - 1);
    for (size_t size = 1; size <= strlen(text) + 1; size++) {
        char *room = (char *)allocate_exactly(size);
        bloom_layout_list(room, size);
        assert_non_null(memchr(room, '\0', size));
        assert_memory_equal(room, text, strlen(room));
        free(room);
    }
}

static void differences_are_named(void) {
    const struct bloom_shape shape = shape_of("blocked", 6, 512, 50, 0.01);
    const struct {
        struct bloom_shape one, other;
        const char *words; /* NULL: no difference */
    } CASES[] = {
        {shape, shape, NULL},
        {shape, shape_of("classic", 6, 512, 50, 0.01), "layout blocked and classic"},
        {shape, shape_of("blocked", 6, 512, 51, 0.01), "n = 50 and 51"},
        {shape, shape_of("blocked", 6, 512, 50, 0.02), "p = 0.01 and 0.02"},
        /* Neighbouring numbers, which 15 digits do not tell apart. */
        {shape, shape_of("blocked", 6, 512, 50, 0.010000000000000002),
         "p = 0.01 and 0.010000000000000002"},
        {shape, shape_of("blocked", 6, 1024, 50, 0.01), "512 and 1024 bits"},
        {shape, shape_of("blocked", 7, 512, 50, 0.01), "6 and 7 hashes"},
        {shape_of("blocked", UINT32_MAX, UINT64_MAX, UINT64_MAX, -1.23456789012345e-300),
         shape_of("classic", UINT32_MAX - 1, UINT64_MAX - 1, UINT64_MAX - 1,
                  -2.23456789012345e-300),
         "layout blocked and classic; n = 18446744073709551615 and 18446744073709551614; "
         "p = -1.23456789012345e-300 and -2.23456789012345e-300; "
         "18446744073709551615 and 18446744073709551614 bits; 4294967295 and 4294967294 hashes"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        char problem[BLOOM_PROBLEM_SIZE];
        assert_int_equal(bloom_shape_same(&CASES[i].one, &CASES[i].other, problem),
                         CASES[i].words == NULL);
        if (CASES[i].words != NULL)
            assert_string_equal(problem, CASES[i].words);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("More than 255 hashes need as many bits", many_hashes),
        TEST("Layouts are found by number and by name in any case", layouts_by_name),
        TEST("Shapes that differ are told apart by what differs", differences_are_named),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
