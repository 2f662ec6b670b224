/* The figures that are handed on from one article about Bloom filters to the next, with real keys:
 * what the formulas say, to the digits printed, and what filters of exactly those m and k measure.
 *
 * Two of the three figures count something else than false positives of a full filter: the
 * insertions that find their key "already there" while the filter fills. Before insertion i + 1 a
 * bit is set with probability 1 - e^(-k i / m). */
#include "library_test.h"

#include "filter/hash.h"
#include "filter/layout.h"

#include <math.h>

enum { KEYS = 100000 };

static struct bloom_hash hash_of_url(unsigned number) {
    char url[80];
    int length = snprintf(url, sizeof url, "http://www.example%u.com/path/%u/page.html?id=%u",
                          number % 1000, number / 1000, number);
    return bloom_hash_bytes(url, (size_t)length);
}

static struct bloom_hash hash_of_decimal(unsigned number) {
    char text[16];
    int length = snprintf(text, sizeof text, "%u", number);
    return bloom_hash_bytes(text, (size_t)length);
}

/* Share of the insertions of keys distinct keys that find theirs already there, by arithmetic; and
 * its standard error for one filter, insertions being nearly independent. */
static double expected_share(uint64_t bits, uint32_t probes, unsigned keys,
                             double *standard_error) {
    double sum = 0, variance = 0;
    for (unsigned i = 0; i < keys; i++) {
        double chance = pow(-expm1(-(double)probes * i / (double)bits), probes);
        sum += chance;
        variance += chance * (1 - chance);
    }
    *standard_error = sqrt(variance) / keys;
    return sum / keys;
}

static double measured_share(uint64_t bits, uint32_t probes,
                             struct bloom_hash (*hash_of)(unsigned)) {
    struct bloom_shape shape = {.layout = &bloom_layout_classic, .probes = probes, .bits = bits};
    uint8_t *payload = allocate_exactly((size_t)bloom_payload_bytes(&shape));
    unsigned there = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        struct bloom_hash hash = hash_of(i);
        there += shape.layout->check(&shape, payload, hash.words);
        shape.layout->add(&shape, payload, hash.words, 1);
    }
    free(payload);
    return (double)there / KEYS;
}

/* A number as it is printed. */
static void assert_prints(double number, int digits, const char *expected) {
    char text[40];
    snprintf(text, sizeof text, "%.*f", digits, number);
    assert_string_equal(text, expected);
}

static void three_hashes(void **state) {
    (void)state;
    double error;
    double expected = expected_share(480833, 3, KEYS, &error);
    assert_prints(100 * expected, 3, "2.998");
    /* 2.97 % is what somebody once measured. */
    assert_near(0.0297, expected, error, "the figure handed on");
    double urls = measured_share(480833, 3, hash_of_url),
           decimals = measured_share(480833, 3, hash_of_decimal);
    print_message(
        "m = 480,833, k = 3: %.3f %% of 100,000 insertions expected; measured %.3f %% of URLs, "
        "%.3f %% of decimal numbers; standard error %.3f %%\n",
        100 * expected, 100 * urls, 100 * decimals, 100 * error);
    assert_near(urls, expected, 3 * error, "URLs already there");
    assert_near(decimals, expected, 3 * error, "numbers already there");
}

static void one_hash(void **state) {
    (void)state;
    double error;
    double expected = expected_share(1000000, 1, KEYS, &error);
    assert_prints(100 * expected, 3, "4.837");
    assert_near(0.0483, expected, error, "the figure handed on");
    /* With one hash the sum has a closed form: keys less the bits that they set. */
    assert_near(expected, 1 - (1e6 / KEYS) * -expm1(-KEYS / 1e6), 1e-6, "closed form");
    double urls = measured_share(1000000, 1, hash_of_url),
           decimals = measured_share(1000000, 1, hash_of_decimal);
    print_message(
        "m = 1,000,000, k = 1: %.3f %% of 100,000 insertions expected; measured %.3f %% of URLs, "
        "%.3f %% of decimal numbers; standard error %.3f %%\n",
        100 * expected, 100 * urls, 100 * decimals, 100 * error);
    assert_near(urls, expected, 3 * error, "URLs already there");
    assert_near(decimals, expected, 3 * error, "numbers already there");
}

static void ten_hashes(void **state) {
    (void)state;
    enum { CHECKS = 20000000 };
    double expected = pow(-expm1(-10.0 / 20), 10);
    assert_prints(expected, 7, "0.0000889");
    struct bloom_shape shape = {
        .layout = &bloom_layout_classic, .probes = 10, .bits = 20 * (uint64_t)KEYS};
    uint8_t *payload = allocate_exactly((size_t)bloom_payload_bytes(&shape));
    for (unsigned i = 0; i < KEYS; i++) {
        struct bloom_hash hash = hash_of_decimal(i);
        shape.layout->add(&shape, payload, hash.words, 1);
    }
    unsigned found = 0;
    for (unsigned i = KEYS; i < KEYS + CHECKS; i++) {
        struct bloom_hash hash = bloom_hash_integer((int64_t)i);
        found += shape.layout->check(&shape, payload, hash.words);
    }
    double measured = (double)found / CHECKS, error = sqrt(expected / CHECKS);
    print_message("m = 20 n, k = 10: %.7f expected, %.7f measured, standard error %.7f\n", expected,
                  measured, error);
    /* Two numbers stand in for ten, which adds A n / m^2 with A about 7: see sizing.c. */
    assert_near(measured, expected, 4 * error, "false positives");
    assert_near(shape.layout->estimate(&shape, payload).rate, expected, 0.02 * expected,
                "expected rate");
    free(payload);
}

/* The same positions on every machine: exact counts. */
static void exact_counts(void **state) {
    (void)state;
    assert_same((uint64_t)lround(measured_share(480833, 3, hash_of_url) * KEYS), 2911,
                "URLs, three hashes");
    assert_same((uint64_t)lround(measured_share(480833, 3, hash_of_decimal) * KEYS), 2971,
                "numbers, three hashes");
    assert_same((uint64_t)lround(measured_share(1000000, 1, hash_of_url) * KEYS), 4886,
                "URLs, one hash");
    assert_same((uint64_t)lround(measured_share(1000000, 1, hash_of_decimal) * KEYS), 4968,
                "numbers, one hash");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Three hashes in 480,833 bits: 3 % of 100,000 insertions find their key there",
             three_hashes),
        TEST("One hash in a million bits: 4.84 % of 100,000 insertions find their key there",
             one_hash),
        TEST("Ten hashes in twenty bits per key: 0.0000889 false positives", ten_hashes),
        TEST("Exactly these insertions find their key there, on every machine", exact_counts),
    };
    return cmocka_run_group_tests_name("folklore", tests, NULL, NULL);
}
