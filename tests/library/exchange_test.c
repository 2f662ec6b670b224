/* What foreign formats can and cannot hold, for filters larger than a test may build. The rest of
 * them is tested through SQL, with files that Guava wrote (tests/exchange). */
#include "library_test.h"

#include "exchange/exchange.h"

static const struct bloom_exchange *guava(void) {
    const struct bloom_exchange *format = bloom_exchange_by_name("guava", 5);
    assert_non_null(format);
    return format;
}

static void largest_guava_filter(void) {
    char problem[BLOOM_PROBLEM_SIZE];
    uint64_t length = 0;
    struct bloom_shape shape = {
        .layout = &bloom_layout_classic, .probes = 7, .bits = 64 * UINT64_C(0x7fffffff)};
    assert_true(guava()->measure(0, &shape, &length, problem));
    assert_same(length, 6 + 8 * UINT64_C(0x7fffffff), "bytes");
    shape.bits += 64;
    length = 42;
    assert_false(guava()->measure(0, &shape, &length, problem));
    assert_string_equal(
        problem,
        "has 137438953472 bits, but Guava has at most 137438953408; build several filters");
    assert_same(length, 42, "length left alone");
}

static void largest_guava_filter_is_read(void) {
    /* Only the header is looked at: the length says that the words are there. */
    const uint8_t header[] = {1, 7, 0x7f, 0xff, 0xff, 0xff};
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape;
    uint64_t length = 6 + 8 * UINT64_C(0x7fffffff);
    assert_true(guava()->read(0, &shape, header, length, problem));
    assert_same(shape.bits, 64 * UINT64_C(0x7fffffff), "bits");
    assert_int_equal(shape.probes, 7);
    assert_ptr_equal(shape.layout, &bloom_layout_classic);
    assert_false(guava()->read(0, &shape, header, length + 1, problem));
    assert_string_equal(problem, "were cut off or extended: there are 17179869183, their header "
                                 "says 17179869182; store exactly what BloomFilter.writeTo writes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("The largest filter that Guava can have is measured, a larger one refused",
             largest_guava_filter),
        TEST("The largest filter that Guava can have is read", largest_guava_filter_is_read),
    };
    return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
