/* The layouts of other systems: their sizes, as their own libraries computed them, and the kernels
 * of parquet. Their hashes and bits are in vectors_test.c, their files and more of their answers in
 * tests/exchange. */
#include "library_test.h"

#include "filter/key_set.h"
#include "filter/layouts/classic.h"
#include "foreign/exchange.h"
#include "filter/layouts/kernels/kernel.h"
#include "shorthand.h"

#include <float.h>
#include <math.h>

static const struct bloom_layout *const FOREIGN[] = {
    &bloom_layout_spark1,     &bloom_layout_spark2,        &bloom_layout_dcso,
    &bloom_layout_go,         &bloom_layout_parquet,       &bloom_layout_parquet_int32,
    &bloom_layout_redisbloom, &bloom_layout_classic_utf16,
};

static void numbers(void) {
    static const struct {
        const char *layout;
        unsigned number, hashing;
        const char *hashing_name;
    } table[] = {
        {"spark1", 7, 4, "spark"},
        {"spark2", 8, 4, "spark"},
        {"dcso", 9, 5, "fnv"},
        {"go", 10, 6, "murmur3-twice"},
        {"parquet", 11, 7, "xxh64"},
        {"parquet-int32", 11, 8, "xxh64-int32"},
        {"redisbloom", 12, 9, "murmur2"},
        {"classic-utf16", 2, 3, "utf16"},
    };
    assert_int_equal(COUNT_OF(table), COUNT_OF(FOREIGN));
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct bloom_layout *layout =
            bloom_layout_by_name(table[i].layout, strlen(table[i].layout));
        assert_ptr_equal(layout, FOREIGN[i]);
        assert_ptr_equal(bloom_layout_by_numbers(table[i].number, table[i].hashing), layout);
        assert_null(bloom_layout_by_numbers(table[i].number, 200));
        assert_int_equal(layout->hashing->number, table[i].hashing);
        assert_string_equal(layout->hashing->name, table[i].hashing_name);
    }
    assert_null(bloom_layout_by_numbers(7, 1));
    assert_null(bloom_layout_by_numbers(1, 4));
}

static void parquet_kernels(void) {
    enum { BLOCK = 32, ROUNDS = 5000 };
    size_t count = 0;
    while (bloom_parquet_kernels[count] != NULL)
        count++;
    const struct bloom_kernel *portable = bloom_parquet_kernels[count - 1];
    assert_string_equal(portable->name, "portable");
    assert_true(bloom_kernel_is_supported(portable));
    for (size_t i = 0; i < count; i++) {
        const struct bloom_kernel *kernel = bloom_parquet_kernels[i];
        uint64_t random = 3, yes = 0;
        if (!bloom_kernel_is_supported(kernel))
            continue;
        for (unsigned round = 0; round < ROUNDS; round++) {
            struct bloom_shape shape = {.layout = &bloom_layout_parquet, .probes = 8, .bits = 256};
            uint8_t *block = allocate_exactly(BLOCK);
            uint64_t word = random_next(&random);
            uint8_t found = 7;
            bloom_layout_parquet.add(&shape, block, &word, 1);
            if (round % 2 == 0) /* without one of its bits */
                block[random_below(&random, BLOCK)] &= (uint8_t)random_next(&random);
            bool expected = portable->check(&shape, block, word);
            assert_int_equal(kernel->check(&shape, block, word), expected);
            kernel->check_many(&shape, block, &word, 1, &found);
            assert_int_equal(found, expected);
            yes += expected;
            free(block);
        }
        assert_true(yes >= ROUNDS / 2 && yes < ROUNDS);
    }
}

static void parquet_kernels_with_many(void) {
    enum { KEYS = 200 };
    uint64_t random = 5, words[KEYS], yes = 0;
    struct bloom_shape shape = {.layout = &bloom_layout_parquet, .probes = 8, .bits = 256 * 37};
    uint8_t *payload = allocate_exactly((size_t)bloom_payload_bytes(&shape));
    for (size_t i = 0; i < KEYS; i++)
        words[i] = random_next(&random);
    for (size_t i = 0; i < KEYS; i += 2)
        bloom_layout_parquet.add(&shape, payload, words + i, 1);
    uint8_t *at_once = allocate_exactly((size_t)bloom_payload_bytes(&shape));
    uint64_t *evens = (uint64_t *)(void *)allocate_exactly(KEYS / 2 * sizeof *evens);
    for (size_t i = 0; i < KEYS; i += 2)
        evens[i / 2] = words[i];
    bloom_layout_parquet.add(&shape, at_once, evens, KEYS / 2);
    assert_memory_equal(at_once, payload, (size_t)bloom_payload_bytes(&shape));
    for (size_t i = 0; bloom_parquet_kernels[i] != NULL; i++) {
        const struct bloom_kernel *kernel = bloom_parquet_kernels[i];
        for (size_t count = 0; count <= KEYS && bloom_kernel_is_supported(kernel); count++) {
            uint8_t *found = allocate_exactly(count);
            kernel->check_many(&shape, payload, words, count, found);
            for (size_t j = 0; j < count; j++) {
                assert_int_equal(found[j], kernel->check(&shape, payload, words[j]));
                assert_true(found[j] == 1 || (found[j] == 0 && j % 2 == 1));
                yes += found[j];
            }
            free(found);
        }
    }
    assert_true(yes > 0);
    free(evens);
    free(at_once);
    free(payload);
}

/* What has no kernels of its own: keys that are in, of which one word is the largest there is, and
 * others. */
static void many_keys_at_once(void) {
    static const struct bloom_layout *const LAYOUTS[] = {
        &bloom_layout_spark1,    &bloom_layout_spark2,        &bloom_layout_dcso,
        &bloom_layout_go,        &bloom_layout_classic_utf16, &bloom_layout_parquet,
        &bloom_layout_redisbloom};
    enum { KEYS = 200 };
    for (size_t i = 0; i < COUNT_OF(LAYOUTS); i++) {
        const struct bloom_layout *layout = LAYOUTS[i];
        uint64_t random = i, words[KEYS * BLOOM_HASH_WORDS_MAXIMUM];
        char problem[BLOOM_PROBLEM_SIZE];
        struct bloom_shape shape;
        size_t width = layout->hash_words, yes = 0;
        uint8_t found[KEYS];
        assert_true(bloom_shape_for(&shape, layout, 100, 0.1, problem));
        uint8_t *payload = allocate_exactly((size_t)bloom_payload_bytes(&shape));
        for (size_t word = 0; word < KEYS * width; word++)
            words[word] = random_next(&random);
        words[0] = UINT64_MAX;
        layout->add(&shape, payload, words, KEYS / 2);
        memset(found, 7, sizeof found);
        bloom_check_many(&shape, payload, words, KEYS, found);
        for (size_t key = 0; key < KEYS; key++) {
            assert_int_equal(found[key], layout->check(&shape, payload, words + key * width));
            assert_true(found[key] == 1 || (found[key] == 0 && key >= KEYS / 2));
            yes += found[key];
        }
        assert_true(yes < KEYS * 3 / 4);
        free(payload);
    }
}

static void parquet_estimates(void) {
    struct bloom_shape shape = {.layout = &bloom_layout_parquet, .probes = 8, .bits = 256 * 64};
    uint8_t *payload = allocate_exactly((size_t)bloom_payload_bytes(&shape));
    struct bloom_estimate estimate = bloom_layout_parquet.estimate(&shape, payload);
    assert_true(estimate.ones == 0 && estimate.count == 0 && estimate.rate == 0);
    uint64_t random = 8, found = 0;
    enum { KEYS = 1500, ASKED = 200000 };
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t word = random_next(&random);
        bloom_layout_parquet.add(&shape, payload, &word, 1);
    }
    estimate = bloom_layout_parquet.estimate(&shape, payload);
    for (unsigned i = 0; i < ASKED; i++) {
        uint64_t word = random_next(&random);
        found += bloom_layout_parquet.check(&shape, payload, &word);
    }
    assert_near(estimate.count, KEYS, 40, "keys");
    assert_near((double)found / ASKED, estimate.rate, 0.002, "rate");
    memset(payload, 0xff, (size_t)bloom_payload_bytes(&shape));
    estimate = bloom_layout_parquet.estimate(&shape, payload);
    assert_true(isinf(estimate.count) && estimate.rate == 1);
    free(payload);
}

/* m and k as the libraries themselves computed them; for n above 20 million, whose filters were not
 * allocated, as their formulas give them in IEEE doubles. Smaller ones: tests/exchange. */
static void sizes(void) {
    static const struct {
        const struct bloom_layout *layout;
        uint64_t capacity;
        double rate;
        uint64_t bits;
        uint32_t probes;
    } table[] = {
        {&bloom_layout_go, 1000000, 0.01, 9585059, 7},
        {&bloom_layout_go, 1000000, 1e-06, 28755176, 20},
        {&bloom_layout_go, 3000000, 0.25, 8656171, 3},
        {&bloom_layout_go, 20000000, 0.003, 241819401, 9},
        {&bloom_layout_dcso, 1000000, 0.01, 9585058, 7},
        {&bloom_layout_dcso, 1000000, 1e-06, 28755175, 20},
        {&bloom_layout_dcso, 3000000, 0.25, 8656170, 2},
        {&bloom_layout_dcso, 20000000, 0.003, 241819400, 9},
        {&bloom_layout_spark1, 1000000, 0.01, 9585088, 7},
        {&bloom_layout_spark1, 1000000, 1e-06, 28755200, 20},
        {&bloom_layout_spark1, 3000000, 0.25, 8656192, 2},
        {&bloom_layout_spark1, 20000000, 0.003, 241819456, 8},
        {&bloom_layout_spark2, 1000000, 0.01, 9585088, 7},
        {&bloom_layout_spark2, 1000000, 1e-06, 28755200, 20},
        {&bloom_layout_spark2, 3000000, 0.25, 8656192, 2},
        {&bloom_layout_spark2, 20000000, 0.003, 241819456, 8},
        {&bloom_layout_go, 1000000000, 0.01, 9585058378, 7},
        {&bloom_layout_dcso, 1000000000, 0.01, 9585058377, 7},
        {&bloom_layout_go, 123456789012, 0.001, 1775010794644, 10},
        {&bloom_layout_dcso, 123456789012, 0.001, 1775010794643, 10},
        {&bloom_layout_go, 1099511627776, 1e-09, 47424974124723, 30},
        {&bloom_layout_dcso, 1099511627776, 1e-09, 47424974124722, 30},
        {&bloom_layout_go, 1000000000000, 0.37, 2069405841033, 2},
        {&bloom_layout_dcso, 1000000000000, 0.37, 2069405841032, 2},
        {&bloom_layout_redisbloom, 1000000, 0.01, 11027776, 8},
        {&bloom_layout_redisbloom, 1000000, 1e-06, 30197888, 21},
        {&bloom_layout_redisbloom, 3000000, 0.25, 12984256, 4},
        {&bloom_layout_redisbloom, 20000000, 0.003, 270673344, 10},
        {&bloom_layout_redisbloom, 1000000000, 0.01, 11027753472, 8},
        {&bloom_layout_redisbloom, 123456789012, 0.001, 1953121291968, 11},
        {&bloom_layout_redisbloom, 1099511627776, 1e-09, 49011234097536, 31},
        {&bloom_layout_redisbloom, 1000000000000, 0.37, 3512100881984, 3},
    };
    char problem[BLOOM_PROBLEM_SIZE];
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct bloom_shape shape;
        if (!bloom_shape_for(&shape, table[i].layout, table[i].capacity, table[i].rate, problem))
            fail_msg("%s", problem);
        if (shape.bits != table[i].bits || shape.probes != table[i].probes)
            fail_msg("%s, n = %llu, p = %g: m = %llu, k = %u", table[i].layout->name,
                     (unsigned long long)table[i].capacity, table[i].rate,
                     (unsigned long long)shape.bits, (unsigned)shape.probes);
    }
}

static void rounded_as_doubles(void) {
    if (FLT_EVAL_METHOD != 0)
        skip(); /* this machine's own doubles have more digits */
    enum { ROUNDS = 200000 };
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

/* Logarithms within one unit of the last digit of the C library's, nearly all of them equal. */
static void rounded_functions(void) {
    enum { ROUNDS = 100000 };
    uint64_t random = 12, different = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double part = ((double)(random_next(&random) >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
        double values[] = {part, ldexp(part, -(int)random_below(&random, 1060)),
                           1 - ldexp(part, -(int)random_below(&random, 52)), 0x1p-1074};
        for (size_t j = 0; j < COUNT_OF(values); j++) {
            if (!(values[j] > 0 && values[j] < 1))
                continue;
            double found =
                bloom_rounded_as_double(bloom_rounded_log(bloom_rounded_double(values[j])));
            double expected = -log(values[j]);
            different += found != expected;
            assert_true(fabs(found - expected) <= expected * 0x1p-52);
        }
    }
    assert_true(different < ROUNDS / 100);
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
    assert_true(bloom_rounded_as_double(bloom_rounded_integer((UINT64_C(1) << 53) + 1)) == 0x1p53);
    assert_true(bloom_rounded_as_double(bloom_rounded_integer((UINT64_C(1) << 53) + 3)) ==
                0x1p53 + 4);
    assert_true(bloom_rounded_as_double(bloom_rounded_wide(0, (UINT64_C(1) << 53) + 1, 0, true)) ==
                0x1p53 + 2);
}

/* Keys of four words that share the first and the last are still different. */
static void keys_of_four_words(void) {
    enum { MIDDLES = 40 };
    struct bloom_key_set set = {.layout = &bloom_layout_go, .memory = &bloom_c_memory};
    uint64_t distinct;
    for (unsigned turn = 0; turn < 2; turn++)
        for (uint64_t i = 0; i < MIDDLES; i++)
            for (uint64_t j = 0; j < MIDDLES; j++)
                assert_true(bloom_key_set_add(&set, (uint64_t[]){0, i, j, 0}));
    assert_int_equal(bloom_key_set_settle(&set, &distinct), BLOOM_BUILT);
    assert_same(distinct, MIDDLES * MIDDLES, "distinct keys");
    bloom_key_set_clear(&set);
}

static void largest_of_guava(void) {
    const uint64_t bits = 64 * UINT64_C(0x7fffffff), bytes = 6 + bits / 8;
    const struct bloom_exchange *guava = bloom_exchange_by_name("guava", 5);
    struct bloom_shape shape = {.layout = &bloom_layout_classic, .probes = 7, .bits = bits};
    struct bloom_foreign foreign;
    char problem[BLOOM_PROBLEM_SIZE];
    uint64_t length = 0;
    assert_true(bloom_exchange_measure(guava, &shape, &length, problem));
    assert_same(length, bytes, "bytes");
    shape.bits += 64;
    length = 42;
    assert_false(bloom_exchange_measure(guava, &shape, &length, problem));
    assert_string_equal(
        problem,
        "has 137438953472 bits, but Guava has at most 137438953408. Build several filters");
    assert_same(length, 42, "length left alone");
    /* Only the header is looked at: the length says that the words are there. */
    const uint8_t header[] = {1, 7, 0x7f, 0xff, 0xff, 0xff};
    assert_true(bloom_exchange_read(guava, header, bytes, &foreign, problem));
    assert_same(foreign.shape.bits, bits, "bits");
    assert_int_equal(foreign.shape.probes, 7);
    assert_ptr_equal(foreign.shape.layout, &bloom_layout_classic);
    assert_false(bloom_exchange_read(guava, header, bytes + 1, &foreign, problem));
    assert_string_equal(problem,
                        "were cut off or extended: there are 17179869183, but their "
                        "header says 17179869182. Store exactly what BloomFilter.writeTo writes");
}

static void largest_of_each_format(void) {
    char problem[BLOOM_PROBLEM_SIZE];
    uint64_t length = 0;
    struct bloom_shape shape = {
        .layout = &bloom_layout_parquet, .probes = 8, .bits = 8 * (UINT64_C(0x80000000) - 32)};
    struct bloom_foreign foreign;
    assert_true(bloom_exchange_measure(&bloom_exchange_parquet, &shape, &length, problem));
    assert_same(length, 0x80000000 - 32 + 19, "bytes of the largest of Parquet");
    shape.bits += 256;
    assert_false(bloom_exchange_measure(&bloom_exchange_parquet, &shape, &length, problem));
    assert_string_equal(problem, "has 2147483648 bytes of bits, but Parquet counts them with 31 "
                                 "bits. Build several filters");
    /* Only the ends are looked at, and the header. */
    uint8_t start[64] = {0x15};
    assert_true(
        bloom_exchange_read(&bloom_exchange_parquet, start, UINT64_C(1) << 37, &foreign, problem));
    assert_same(foreign.shape.bits, UINT64_C(1) << 40, "bits of the largest of Parquet");
    assert_false(bloom_exchange_read(&bloom_exchange_parquet, start, (UINT64_C(1) << 37) + 32,
                                     &foreign, problem));
    assert_false(bloom_exchange_read(&bloom_exchange_parquet, start, (UINT64_C(1) << 32) + 19,
                                     &foreign, problem));
    /* m of a Go filter whose bytes are the same in both orders. */
    const uint64_t same = UINT64_C(0x101000000), bytes = 24 + same / 8;
    uint8_t *go = calloc((size_t)bytes, 1);
    assert_non_null(go);
    go[3] = go[4] = go[19] = go[20] = 1;
    go[15] = 3;
    assert_true(bloom_exchange_read(&bloom_exchange_go, go, bytes, &foreign, problem));
    assert_same(foreign.shape.bits, same, "bits");
    free(go);
    const uint8_t spark[] = {0, 0, 0, 2, 0, 0, 0, 7, 255, 255, 255, 255, 0x7f, 255, 255, 255};
    assert_true(bloom_exchange_read(&bloom_exchange_spark, spark, 16 + 8 * UINT64_C(0x7fffffff),
                                    &foreign, problem));
    assert_same(foreign.shape.extra[0], UINT32_MAX, "seed");
    shape = foreign.shape;
    assert_true(bloom_exchange_measure(&bloom_exchange_spark, &shape, &length, problem));
    assert_same(length, 16 + 8 * UINT64_C(0x7fffffff), "bytes of the largest of Spark");
    shape.layout = &bloom_layout_blocked;
    assert_false(bloom_exchange_measure(&bloom_exchange_spark, &shape, &length, problem));
    assert_memory_equal(problem, "has layout blocked, which Spark does not know", 45);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Layouts and hashings have the numbers that files are full of", numbers),
        TEST("Every kernel of layout parquet answers as the portable one", parquet_kernels),
        TEST("Every kernel of layout parquet answers many keys as one by one",
             parquet_kernels_with_many),
        TEST("Many keys are answered as one by one", many_keys_at_once),
        TEST("Estimates of layout parquet are right", parquet_estimates),
        TEST("Sizes are those of the libraries", sizes),
        TEST("Rounded arithmetic is that of IEEE doubles", rounded_as_doubles),
        TEST("Rounded functions are those of the C library", rounded_functions),
        TEST("Rounded arithmetic at its ends", rounded_edges),
        TEST("Keys of four words differ when any word does", keys_of_four_words),
        TEST("The largest filter that Guava can have", largest_of_guava),
        TEST("The largest filters that other formats can have", largest_of_each_format),
    };
    return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
