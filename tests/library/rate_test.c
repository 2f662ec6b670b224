/* The false-positive rate asked for is kept: measured, with real keys hashed, over the whole range
 * of sizes and rates. Every number is reproducible, seeds being fixed; a failure is one of the
 * library, not of luck.
 */
#include "library_test.h"

#include "shapes.h"

#include <math.h>

enum { BATCH = 512 };

/* Adds count integers from first on, or counts those that are found. */
static uint64_t add_or_find(const struct bloom_shape *shape, uint8_t *payload, bool adds,
                            int64_t first, uint64_t count) {
    const size_t width = shape->layout->hash_words;
    uint64_t words[2 * BATCH], sum = 0;
    uint8_t found[BATCH];
    for (size_t now; count > 0; count -= now, first += (int64_t)now) {
        now = count < BATCH ? (size_t)count : BATCH;
        for (size_t i = 0; i < now; i++)
            memcpy(words + i * width, bloom_hash_integer(first + (int64_t)i).words,
                   width * sizeof *words);
        if (adds)
            shape->layout->add(shape, payload, words, now);
        else
            bloom_check_many(shape, payload, words, now, found);
        for (size_t i = 0; i < now && !adds; i++)
            sum += found[i];
    }
    return sum;
}

struct measurement {
    double rate, standard_error;
};

/* Fills filters of a shape with keys each, every one with keys of its own, and checks absent keys,
 * checks in all. The standard error is that of the mean over the filters or, when larger, that of
 * drawing so many times with probability expected. */
static struct measurement measure(const struct bloom_shape *shape, uint64_t keys, unsigned filters,
                                  double checks, double expected) {
    /* Each filter has a stretch of integers of its own, the same in whatever order filters are
     * measured. */
    uint64_t seed = keys ^ shape->bits << 20 ^ (uint64_t)shape->probes << 56 ^
                    (uint64_t)shape->layout->number << 62;
    int64_t next_key = (int64_t)(random_next(&seed) >> 2);
    double sum = 0, squares = 0;
    uint64_t each = (uint64_t)ceil(checks / filters);
    for (unsigned filter = 0; filter < filters; filter++) {
        uint8_t *payload = empty_payload(shape);
        add_or_find(shape, payload, true, next_key, keys);
        next_key += (int64_t)keys;
        double rate = (double)add_or_find(shape, payload, false, next_key, each) / (double)each;
        next_key += (int64_t)each;
        sum += rate;
        squares += rate * rate;
        free(payload);
    }
    double mean = sum / filters;
    double between = filters > 1 ? (squares / filters - mean * mean) / (filters - 1) : 0;
    double binomial = expected * (1 - expected) / ((double)each * filters);
    return (struct measurement){mean, sqrt(between > binomial ? between : binomial)};
}

static bool is_kept(struct measurement measured, double rate) {
    return measured.rate <= rate + 4 * measured.standard_error;
}

/* The grid: how many keys, and for each rate how many absent keys are checked. */

static const uint64_t EVERY_SIZE[] = {1, 2, 3, 10, 100, 1000, 10000, 100000, 1000000};

struct asked_rate {
    double rate;
    double checks; /* for each number of keys */
    /* Of measured against asked for at 10^5 keys and more: what proves that filters are not simply
     * too large. */
    double near_error;
};

static const struct asked_rate BLOCKED_RATES[] = {
    {0.5, 4e5, 0.01},   {0.2, 4e5, 0.02},  {0.1, 1e6, 0.03},  {0.01, 4e6, 0.03},
    {0.001, 1e7, 0.06}, {1e-4, 4e7, 0.08}, {1e-5, 1e8, 0.15}, {1e-6, 1.5e8, 0.4},
};

static void assert_rates_kept(const struct bloom_layout *layout, const struct asked_rate *rates,
                              size_t count) {
    print_message("layout         n          p  hashes   bits/key       measured  measured/p\n");
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < COUNT_OF(EVERY_SIZE); j++) {
            uint64_t keys = EVERY_SIZE[j];
            const struct bloom_shape shape = sized_shape(layout, keys, rates[i].rate);
            /* Small filters differ from one another: many of them. */
            unsigned filters = keys < 100000 ? 200 : keys < 1000000 ? 8 : 2;
            /* A single block is far from full with few keys: a few checks show it. */
            double checks =
                shape.bits == 512 && keys <= 10 ? rates[i].checks / 20 : rates[i].checks;
            struct measurement measured = measure(&shape, keys, filters, checks, rates[i].rate);
            print_message("%-8s %7llu %10g %7u %10.3f %14.6g %11.4f\n", layout->name,
                          (unsigned long long)keys, rates[i].rate, (unsigned)shape.probes,
                          (double)shape.bits / (double)keys, measured.rate,
                          measured.rate / rates[i].rate);
            if (!is_kept(measured, rates[i].rate))
                fail_msg("%s for n = %llu and p = %g: measured %g with a standard error of %g",
                         layout->name, (unsigned long long)keys, rates[i].rate, measured.rate,
                         measured.standard_error);
            if (keys >= 100000)
                assert_near(measured.rate, rates[i].rate, rates[i].near_error * rates[i].rate,
                            "measured rate");
        }
}

static void blocked_keeps_rates(void) {
    assert_rates_kept(&bloom_layout_blocked, BLOCKED_RATES, COUNT_OF(BLOCKED_RATES));
}

static void classic_is_predicted(void) {
    static const double rates[] = {0.1, 0.01, 0.001};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        const struct bloom_shape shape = sized_shape(&bloom_layout_classic, 1000000, rates[i]);
        double predicted =
            pow(-expm1(-(double)shape.probes * 1e6 / (double)shape.bits), shape.probes);
        struct measurement measured = measure(&shape, 1000000, 2, 5e4 / rates[i], rates[i]);
        assert_near(measured.rate, predicted, 0.02 * predicted, "measured rate");
    }
}

/* 2^-w to the standard error, above and below: whatever the number of keys, and whatever the width.
 */
static void fuse_is_predicted(void) {
    static const struct {
        uint64_t keys;
        unsigned width, filters;
        double checks;
    } known[] = {
        {1, 4, 100, 1e6},     {2, 3, 100, 1e6},     {10, 7, 100, 4e6},    {100, 1, 100, 1e6},
        {1000, 8, 100, 1e7},  {1000, 12, 100, 4e7}, {10000, 7, 20, 1e7},  {100000, 10, 4, 4e7},
        {100000, 16, 4, 6e7}, {1000000, 7, 1, 1e7}, {1000000, 2, 1, 4e6}, {100000, 20, 2, 8e7},
    };
    print_message("layout         n   w   bits/key       measured  measured * 2^w\n");
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        uint64_t each = (uint64_t)(known[i].checks / known[i].filters), found = 0;
        struct bloom_shape shape;
        for (unsigned filter = 0; filter < known[i].filters; filter++) {
            struct bloom_key_set set = {.layout = &bloom_layout_fuse, .memory = &bloom_c_memory};
            int64_t first = (int64_t)((i * 1000 + filter) << 34);
            for (uint64_t key = 0; key < known[i].keys; key++)
                assert_true(
                    bloom_key_set_add(&set, bloom_hash_integer(first + (int64_t)key).words));
            assert_settles_to(&set, known[i].keys);
            shape = sized_shape(&bloom_layout_fuse, known[i].keys, ldexp(1, -(int)known[i].width));
            uint8_t *payload = empty_payload(&shape);
            assert_int_equal(bloom_key_set_build(&set, &shape, payload), BLOOM_BUILT);
            assert_same(add_or_find(&shape, payload, false, first, known[i].keys), known[i].keys,
                        "keys found");
            found += add_or_find(&shape, payload, false, first + (int64_t)known[i].keys, each);
            bloom_key_set_clear(&set);
            free(payload);
        }
        double rate = ldexp(1, -(int)known[i].width), asked = (double)(each * known[i].filters);
        double measured = (double)found / asked, error = sqrt(rate * (1 - rate) / asked);
        print_message("%-8s %7llu %3u %10.3f %14.6g %15.4f\n", "fuse",
                      (unsigned long long)known[i].keys, known[i].width,
                      (double)shape.bits / (double)known[i].keys, measured, measured / rate);
        assert_near(measured, rate, 4 * error, "measured rate");
    }
}

RUN_GROUP("rate", TEST("Blocked keeps every rate for one to a million keys", blocked_keeps_rates),
          TEST("Classic has the rate that its formula predicts within 2 %", classic_is_predicted),
          TEST("Fuse has the rate 2^-w for any number of keys", fuse_is_predicted))
