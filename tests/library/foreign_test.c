/* The layouts of other systems: the arithmetic for their sizes, and the largest filters. What is
 * smaller, tests/exchange and format_test.py hold against the libraries and the formulas. */
#include "library_test.h"

#include "filter/layouts/classic.h"
#include "foreign/exchange.h"
#include "shapes.h"

#include <float.h>
#include <math.h>

/* The list is cut to any room. */
static void list_of_names(void) {
    static const char FIRST[] = "'blocked', 'classic', 'counting', ";
    char text[BLOOM_PROBLEM_SIZE];
    bloom_layout_list(text, sizeof text, false);
    assert_memory_equal(text, FIRST, sizeof FIRST - 1);
    for (size_t size = 1; size <= strlen(text) + 1; size++) {
        FREED char *room = (char *)allocate_exactly(size);
        bloom_layout_list(room, size, false);
        assert_non_null(memchr(room, '\0', size));
        assert_memory_equal(room, text, strlen(room));
    }
}

static void rounded_as_doubles(void) {
    if (FLT_EVAL_METHOD != 0)
        skip(); /* this machine's own doubles have more digits */
    enum { ROUNDS = 50000 };
    uint64_t random = 11;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double a = ldexp((double)(random_next(&random) >> 11), -(int)random_below(&random, 90));
        double b = ldexp((double)(random_next(&random) >> random_below(&random, 63)) + 1,
                         -(int)random_below(&random, 70));
        struct bloom_rounded x = bloom_rounded_double(a), y = bloom_rounded_double(b);
        volatile double product = a * b, quotient = a / b;
        assert_true(bloom_rounded_as_double(bloom_rounded_times(x, y)) == product);
        assert_true(bloom_rounded_as_double(bloom_rounded_over(x, y)) == quotient);
        if (a < 1e15) {
            assert_same(bloom_rounded_floor(x), (uint64_t)floor(a), "floor");
            assert_same(bloom_rounded_ceiling(x), (uint64_t)ceil(a), "ceiling");
            assert_same(bloom_rounded_nearest(x), (uint64_t)floor(a + 0.5), "nearest");
        }
        uint64_t whole = random_next(&random) >> random_below(&random, 64);
        assert_true(bloom_rounded_as_double(bloom_rounded_integer(whole)) == (double)whole);
    }
}

/* Logarithms within one unit of the last digit of the C library's, and the nearest double where the
 * next ones are nearly as near: digits after the 70th decide (computed with 45 decimals). */
static void rounded_functions(void) {
    enum { ROUNDS = 20000 };
    static const double HARD[][2] = {
        {0x1.c2037908cd898p-1, 0x1.0849bd515e0a6p-3},
        {0x1.11ebc26412cecp-2, 0x1.5191e2e9f7fdfp+0},
        {0x1.a6ddcfcfba51cp-209, 0x1.20bb54dae8cb6p+7},
        {0x1.09077d09831d2p-826, 0x1.1e40a0d68135dp+9},
        {0x1.d256bdff30b18p-1, 0x1.7e9db9d6c47d5p-4},
        {0x1.fff63a5c6aa6dp-1, 0x1.38b76ea58bf31p-14},
        {0x1.fffffffffffffp-1, 0x1p-53},
        {0x1p-1074, 0x1.74385446d71c3p+9},
    };
    uint64_t random = 12;
    for (size_t i = 0; i < COUNT_OF(HARD); i++)
        assert_true(bloom_rounded_as_double(bloom_rounded_log(bloom_rounded_double(HARD[i][0]))) ==
                    HARD[i][1]);
    for (unsigned i = 0; i < ROUNDS; i++) {
        double part = ((double)(random_next(&random) >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
        double values[] = {part, ldexp(part, -(int)random_below(&random, 1060)),
                           1 - ldexp(part, -(int)random_below(&random, 52))};
        for (size_t j = 0; j < COUNT_OF(values); j++) {
            if (!(values[j] > 0 && values[j] < 1))
                continue;
            double found =
                bloom_rounded_as_double(bloom_rounded_log(bloom_rounded_double(values[j])));
            double expected = -log(values[j]);
            assert_true(fabs(found - expected) <= expected * 0x1p-52);
        }
    }
}

static void rounded_edges(void) {
    struct bloom_rounded zero = bloom_rounded_integer(0);
    assert_true(zero.mantissa == 0 && bloom_rounded_double(0).mantissa == 0);
    assert_same(bloom_rounded_floor(zero) + bloom_rounded_ceiling(zero), 0, "nothing");
    assert_same(bloom_rounded_nearest(zero), 0, "nothing");
    assert_same(bloom_rounded_floor(bloom_rounded_integer(UINT64_MAX)), UINT64_MAX, "2^64");
    assert_same(bloom_rounded_ceiling(bloom_rounded_integer(UINT64_C(1) << 63)), UINT64_C(1) << 63,
                "2^63");
    assert_same(bloom_rounded_nearest(bloom_rounded_integer(UINT64_C(1) << 60)), UINT64_C(1) << 60,
                "2^60");
    struct bloom_rounded tiny = bloom_rounded_double(0x1p-1074);
    assert_same(bloom_rounded_ceiling(tiny), 1, "2^-1074");
    assert_same(bloom_rounded_nearest(tiny), 0, "2^-1074");
    /* Half to even, both ways. */
    assert_true(bloom_rounded_as_double(bloom_rounded_integer(UINT64_MAX)) == 0x1p64);
    assert_true(bloom_rounded_as_double(bloom_rounded_integer((UINT64_C(1) << 53) + 1)) == 0x1p53);
    assert_true(bloom_rounded_as_double(bloom_rounded_integer((UINT64_C(1) << 53) + 3)) ==
                0x1p53 + 4);
    assert_true(bloom_rounded_as_double(bloom_rounded_wide(0, (UINT64_C(1) << 53) + 1, 0, true)) ==
                0x1p53 + 2);
}

static void assert_largest(const struct bloom_exchange *format, struct bloom_shape shape,
                           uint64_t bytes, uint64_t step, const char *words) {
    uint64_t length = 42;
    char problem[BLOOM_PROBLEM_SIZE];
    assert_true(bloom_exchange_measure(format, &shape, &length, problem));
    assert_same(length, bytes, "bytes of the largest");
    shape.bits += step;
    assert_false(bloom_exchange_measure(format, &shape, &length, problem));
    assert_string_equal(problem, words);
    assert_same(length, bytes, "length left alone");
}

/* Only the header is read, because the length says that the bits are there. */
static struct bloom_shape shape_of_header(const struct bloom_exchange *format,
                                          const uint8_t *header, uint64_t length) {
    struct bloom_foreign foreign;
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_exchange_read(format, header, length, &foreign, problem))
        fail_msg("%s", problem);
    return foreign.shape;
}

static void largest_of_each_format(void) {
    static const uint8_t GUAVA[] = {1, 7, 0x7f, 0xff, 0xff, 0xff},
                         SPARK[] = {0,   0,   0,   2,   0,    0,   0,   7,
                                    255, 255, 255, 255, 0x7f, 255, 255, 255},
                         PARQUET[64] = {0x15};
    const uint64_t guava_bytes = 6 + 8 * UINT64_C(0x7fffffff),
                   spark_bytes = 16 + 8 * UINT64_C(0x7fffffff), parquet_bytes = 0x80000000 - 32;
    const struct bloom_exchange *guava = bloom_exchange_by_name("guava", 5);
    struct bloom_foreign foreign;
    char problem[BLOOM_PROBLEM_SIZE];
    uint64_t length;

    struct bloom_shape shape = shape_of_header(guava, GUAVA, guava_bytes);
    assert_same(shape.bits, 64 * UINT64_C(0x7fffffff), "bits");
    assert_int_equal(shape.probes, 7);
    assert_ptr_equal(shape.layout, &bloom_layout_classic);
    assert_largest(guava, shape, guava_bytes, 64,
                   "has 137438953472 bits, but Guava has at most 137438953408. Build several "
                   "filters");
    assert_false(bloom_exchange_read(guava, GUAVA, guava_bytes + 1, &foreign, problem));
    assert_string_equal(problem, "were cut off or extended: there are 17179869183, but their "
                                 "header says 17179869182. Store exactly what "
                                 "BloomFilter.writeTo writes");

    shape = (struct bloom_shape){
        .layout = &bloom_layout_parquet, .probes = 8, .bits = 8 * parquet_bytes};
    assert_largest(&bloom_exchange_parquet, shape, parquet_bytes + 19, 256,
                   "has 2147483648 bytes of bits, but Parquet counts them with 31 bits. Build "
                   "several filters");
    shape = shape_of_header(&bloom_exchange_parquet, PARQUET, UINT64_C(1) << 37);
    assert_same(shape.bits, UINT64_C(1) << 40, "bits of the largest of Parquet");
    assert_false(bloom_exchange_read(&bloom_exchange_parquet, PARQUET, (UINT64_C(1) << 37) + 32,
                                     &foreign, problem));
    assert_false(bloom_exchange_read(&bloom_exchange_parquet, PARQUET, (UINT64_C(1) << 32) + 19,
                                     &foreign, problem));

    /* m of a Go filter whose bytes are the same in both orders. */
    const uint64_t same = UINT64_C(0x101000000);
    uint8_t *go = allocate_exactly((size_t)(24 + same / 8));
    go[3] = go[4] = go[19] = go[20] = 1;
    go[15] = 3;
    assert_same(shape_of_header(&bloom_exchange_go, go, 24 + same / 8).bits, same, "bits of Go");
    free(go);

    shape = shape_of_header(&bloom_exchange_spark, SPARK, spark_bytes);
    assert_same(shape.extra[0], UINT32_MAX, "seed");
    assert_true(bloom_exchange_measure(&bloom_exchange_spark, &shape, &length, problem));
    assert_same(length, spark_bytes, "bytes of the largest of Spark");
    shape.layout = &bloom_layout_blocked;
    assert_false(bloom_exchange_measure(&bloom_exchange_spark, &shape, &length, problem));
    assert_memory_equal(problem, "has layout blocked, which Spark does not know", 45);
}

/* Of bytes that are too short, nothing is read after their end, as the address sanitizer shows. */
static void short_bytes(void) {
    struct bloom_foreign foreign;
    char problem[BLOOM_PROBLEM_SIZE];
    for (size_t i = 0; bloom_exchanges[i] != NULL; i++)
        for (size_t length = 0; length < 32; length++) {
            FREED uint8_t *bytes = allocate_exactly(length);
            assert_false(bloom_exchange_read(bloom_exchanges[i], bytes, length, &foreign, problem));
        }
}

RUN_GROUP("foreign", TEST("The list of layouts fits in any room", list_of_names),
          TEST("Rounded arithmetic gives what IEEE doubles give", rounded_as_doubles),
          TEST("Rounded functions are those of the C library", rounded_functions),
          TEST("Rounded arithmetic at its ends", rounded_edges),
          TEST("The largest filters that the formats can have", largest_of_each_format),
          TEST("Bytes that are too short", short_bytes))
