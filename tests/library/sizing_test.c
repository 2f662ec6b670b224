/* Filters are made large enough for the rate asked for, hardly larger, and of the same size on
 * every machine.
 *
 * What layout blocked needs is computed here once more, along another way than blocked_sizes.py
 * takes: the distribution of the number of bits set in a block throw by throw, all terms positive,
 * instead of an alternating sum with sixty digits. */
#include "library_test.h"
#include "shorthand.h"

#include "filter/layout.h"

#include <float.h>
#include <math.h>

/* ---- Layout blocked ---- */

enum {
    HASHES_MOST = 21,
    KEYS_MOST = 700,         /* of one block */
    EXACT_CAPACITY = 1 << 25 /* for so many keys, blocks are bits per key in units of 2^-16 */
};

/* Mean of (X / 512)^k, X being the bits set in a block after i * k throws. */
static long double mean_of_power[HASHES_MOST + 1][KEYS_MOST + 1];

static int compute_means(void **state) {
    (void)state;
    for (unsigned probes = 1; probes <= HASHES_MOST; probes++) {
        long double chance[513] = {1};
        long double power[513];
        for (unsigned set = 0; set <= 512; set++)
            power[set] = powl(set / 512.0L, probes);
        for (unsigned keys = 0; keys <= KEYS_MOST; keys++) {
            long double mean = 0;
            for (unsigned set = 0; set <= 512; set++)
                mean += chance[set] * power[set];
            mean_of_power[probes][keys] = mean;
            for (unsigned throw = 0; throw < probes; throw ++) {
                for (unsigned set = 512; set > 0; set--)
                    chance[set] = (chance[set] * set + chance[set - 1] * (513 - set)) / 512;
                chance[0] = 0;
            }
        }
    }
    return 0;
}

static long double exact_rate(unsigned probes, long double bits_per_key) {
    long double load = 512 / bits_per_key, sum = 0;
    if (probes == 1)
        return -expm1l(-1 / bits_per_key); /* a bit is missed by all keys; loads may be large */
    assert_true(load < 400);
    long double chance = expl(-load); /* of that many keys in a block */
    for (unsigned keys = 0; keys <= KEYS_MOST; keys++) {
        sum += chance * mean_of_power[probes][keys];
        chance *= load / (keys + 1);
    }
    return sum;
}

static void model_is_right(void) {
    /* Printed by `blocked_sizes.py rate K BITS_PER_KEY`. */
    static const struct {
        unsigned probes;
        double bits_per_key, rate;
    } known[] = {
        {1, 1.4427, 4.999988e-1}, {2, 3, 2.372688e-1},     {3, 4.84, 9.981319e-2},
        {6, 9.92, 9.991614e-3},   {7, 9.918, 1.005328e-2}, {6, 9.5850584, 1.150874e-2},
        {9, 15.55, 9.983035e-4},  {9, 14.4, 1.560950e-3},  {12, 22.03, 1.000072e-4},
        {16, 38.82, 1.001093e-6}, {16, 39.5, 8.585216e-7}, {21, 80, 1.030434e-9},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_near((double)exact_rate(known[i].probes, known[i].bits_per_key), known[i].rate,
                    0.6e-6 * known[i].rate, "rate");
}

static bool has_size(uint64_t capacity, double rate, uint32_t *probes, uint64_t *blocks) {
    struct bloom_shape shape = {.layout = &bloom_layout_blocked, .rate = rate};
    bloom_problem problem;
    const bool sized = bloom_shape_size(&shape, capacity, problem);
    *probes = shape.probes;
    *blocks = shape.bits / 512;
    return sized;
}

static void size_blocked(uint64_t capacity, double rate, uint32_t *probes, uint64_t *blocks) {
    if (!has_size(capacity, rate, probes, blocks))
        fail_msg("no size for n = %llu and p = %a", (unsigned long long)capacity, rate);
}

static double bits_per_key(double rate, uint32_t *probes) {
    uint64_t blocks;
    size_blocked(EXACT_CAPACITY, rate, probes, &blocks);
    return (double)blocks * 0x1p-16;
}

/* Rates from 2^-30 to 1, several within each row of the table and both sides of its ends. */
static size_t many_rates(double *rates) {
    enum { STEPS = 40 };
    size_t count = 0;
    for (int octave = -30; octave < 0; octave++)
        for (int step = 0; step < 8 * STEPS; step++) {
            double rate = ldexp(1 + step / (8.0 * STEPS), octave);
            if (step % STEPS == 0)
                rates[count++] = nextafter(rate, 0);
            rates[count++] = rate;
            if (step % STEPS == 0)
                rates[count++] = nextafter(rate, 1);
        }
    rates[count++] = nextafter(1, 0);
    return count;
}

enum { RATES_MOST = 11000 };

/* Up to 1 - e^-2 the bits needed are convex in the rate, so that chords do not fall short of them.
 */
static const double RATE_CONVEX = 0.8646;

/* The least rate that can be kept is 2^-30 more than the chance of two keys of the same 64 bits. */
static const double COLLISION = EXACT_CAPACITY * 0x1p-64;

static void rate_is_kept(void) {
    static double rates[RATES_MOST];
    size_t count = many_rates(rates), tried = 0;
    assert_true(count <= RATES_MOST);
    for (size_t i = 0; i < count; i++) {
        double rate = rates[i] + COLLISION;
        if (rate < 0x1p-30 + COLLISION || rate > RATE_CONVEX)
            continue;
        uint32_t probes;
        double bits = bits_per_key(rate, &probes);
        long double kept = exact_rate(probes, bits) + (long double)COLLISION;
        if (kept > rate * (1 + 1e-12L))
            fail_msg("p = %a gets %u hashes and %.6f bits per key, which keep %.10Lg", rate,
                     (unsigned)probes, bits, kept);
        double less = bits / (rate < 0.25 ? 1.0012 : rate < 0.5 ? 1.0022 : 1.01);
        if (exact_rate(probes, less) + (long double)COLLISION <= rate)
            fail_msg("p = %a gets %u hashes and %.6f bits per key, but %.6f do", rate,
                     (unsigned)probes, bits, less);
        tried++;
    }
    assert_true(tried > 9600);
}

static void hashes_are_near_the_best(void) {
    static double rates[RATES_MOST];
    size_t count = many_rates(rates);
    for (size_t i = 0; i < count; i += 3) {
        double rate = rates[i] + COLLISION;
        if (rate < 0x1p-30 + COLLISION || rate >= 0.5)
            continue;
        uint32_t probes;
        double bits = bits_per_key(rate, &probes);
        double less = bits / (rate < 0.25 ? 1.004 : 1.0075);
        for (uint32_t other = probes > 3 ? probes - 2 : 1;
             other <= probes + 2 && other <= HASHES_MOST; other++)
            if (exact_rate(other, less) + (long double)COLLISION <= rate)
                fail_msg("p = %a gets %u hashes and %.6f bits per key; with %u hashes %.6f do",
                         rate, (unsigned)probes, bits, (unsigned)other, less);
    }
}

static void blocked_golden(void) {
    static const struct {
        uint64_t capacity;
        double rate;
        uint32_t probes;
        uint64_t blocks;
    } golden[] = {
        {1, 0.01, 6, 1},
        {2, 0.01, 6, 1},
        {50, 0.01, 6, 1},
        {51, 0.01, 6, 1},
        {52, 0.01, 6, 2},
        {100, 0.01, 6, 2},
        {1000, 0.01, 6, 20},
        {10000, 0.01, 6, 194},
        {100000, 0.01, 6, 1938},
        {1000000, 0.01, 6, 19376},
        {10000000, 0.01, 6, 193758},
        {100000000, 0.01, 6, 1937575},
        {1000000000, 0.01, 6, 19375742},
        {1099511627776, 0.01, 6, 21303853056},
        {1000, 0.5, 1, 3},
        {1000, 0.25, 2, 6},
        {1000, 0.1, 3, 10},
        {1000, 0.05, 4, 13},
        {1000, 0.001, 9, 31},
        {1000, 0.0001, 11, 44},
        {1000, 1e-05, 14, 58},
        {1000, 1e-06, 16, 76},
        {1000, 1e-07, 18, 98},
        {1000, 1e-08, 19, 125},
        {1000, 1e-09, 21, 157},
        {1000000, 0.5, 1, 2818},
        {1000000, 0.1, 3, 9448},
        {1000000, 0.03, 5, 14512},
        {1000000, 0.001, 9, 30369},
        {1000000, 0.0001, 11, 43106},
        {1000000, 1e-06, 16, 75846},
        {1000000000, 1e-09, 21, 157637835},
        {1000000000, 1e-06, 16, 75845957},
        {1099511627776, 1e-06, 16, 83960659968},
        {1099511627776, 0.5, 1, 3098214400},
        {1, 1e-09, 21, 1},
        {1, 0.5, 1, 1},
        {123456789, 0.0123, 6, 2274400},
    };
    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        uint32_t probes;
        uint64_t blocks;
        size_blocked(golden[i].capacity, golden[i].rate, &probes, &blocks);
        assert_int_equal(probes, golden[i].probes);
        assert_same(blocks, golden[i].blocks, "blocks");
        struct bloom_shape shape;
        char problem[BLOOM_PROBLEM_SIZE];
        assert_true(bloom_shape_for(&shape, &bloom_layout_blocked, golden[i].capacity,
                                    golden[i].rate, problem));
        assert_int_equal(shape.probes, probes);
        assert_same(shape.bits, 512 * blocks, "bits");
        assert_same(shape.capacity, golden[i].capacity, "capacity");
        assert_true(shape.rate == golden[i].rate);
        assert_ptr_equal(shape.layout, &bloom_layout_blocked);
    }
}

static void more_keys_need_more(void) {
    static const double rates[] = {0.9,  0.5,  0.3,  0.1,  0.01, 0.001,
                                   1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        uint64_t last = 0;
        uint32_t probes;
        uint64_t blocks;
        for (uint64_t capacity = 1; capacity < 5000; capacity++) {
            size_blocked(capacity, rates[i], &probes, &blocks);
            assert_true(blocks >= last && blocks >= 1);
            last = blocks;
        }
        for (uint64_t capacity = 5000; capacity <= 1000000000; capacity += 1 + capacity / 100) {
            size_blocked(capacity, rates[i], &probes, &blocks);
            assert_true(blocks >= last && (blocks > last || capacity < 1000000));
            last = blocks;
        }
    }
}

static void smaller_rates_need_more(void) {
    static double rates[RATES_MOST];
    size_t count = many_rates(rates);
    uint32_t last_hashes = HASHES_MOST;
    double last_bits = 1e9;
    unsigned rises = 0;
    for (size_t i = 0; i < count; i++) {
        double rate = rates[i] + COLLISION;
        if (rate < 0x1p-30 + COLLISION || rate >= 1)
            continue;
        uint32_t probes;
        double bits = bits_per_key(rate, &probes);
        assert_true(probes <= last_hashes);
        /* Where one hash less is taken, 0.3 % more bits may be. */
        if (probes == last_hashes)
            assert_true(bits <= last_bits);
        else
            assert_true(bits <= last_bits * 1.01);
        rises += bits > last_bits;
        last_hashes = probes;
        last_bits = bits;
    }
    assert_int_equal(last_hashes, 1);
    assert_true(rises < HASHES_MOST);
}

static void least_rate(void) {
    static const uint64_t capacities[] = {
        1, 2, 1000, 1000000, 1000000000, (UINT64_C(1) << 40) - 1, UINT64_C(1) << 40};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        uint32_t probes;
        uint64_t blocks;
        uint64_t least = (UINT64_C(1) << 34) + capacities[i]; /* in units of 2^-64 */
        double rate = ldexp((double)least, -64);
        size_blocked(capacities[i], rate, &probes, &blocks);
        assert_int_equal(probes, 21);
        /* The first cell of the table. */
        assert_same(blocks, (capacities[i] * 5297319 + (1 << 25) - 1) / (1 << 25), "blocks");
        assert_true(has_size(capacities[i], nextafter(rate, 1), &probes, &blocks));
        assert_false(has_size(capacities[i], nextafter(rate, 0), &probes, &blocks));
        assert_false(has_size(capacities[i], ldexp((double)(least - 1), -64), &probes, &blocks));
        assert_false(has_size(capacities[i], ldexp((double)capacities[i], -64), &probes, &blocks));
        assert_false(has_size(capacities[i], ldexp((double)capacities[i], -65), &probes, &blocks));
        assert_false(has_size(capacities[i], 0x1p-64, &probes, &blocks));
        assert_false(has_size(capacities[i], DBL_MIN, &probes, &blocks));
        assert_false(has_size(capacities[i], 0x1p-1074, &probes, &blocks));
    }
}

static void collisions_are_made_up_for(void) {
    /* 2^40 keys agree with an absent one with probability 2^-24: of p = 2^-23 half is left, so bits
     * per key are those which few keys need for 2^-24. */
    uint32_t probes, hashes_of_half;
    uint64_t blocks, blocks_of_half;
    size_blocked(UINT64_C(1) << 40, 0x1p-23, &probes, &blocks);
    size_blocked(1 << 20, 0x1p-24 + 0x1p-44, &hashes_of_half, &blocks_of_half);
    assert_int_equal(probes, hashes_of_half);
    assert_same((blocks + (1 << 20) - 1) >> 20, blocks_of_half, "blocks");
}

/* ---- Layout classic ---- */

/* Guava's BloomFilter.create(n, p): what its own formulas give in doubles. */
static void classic_as_guava(void) {
    static const struct {
        uint64_t capacity;
        double rate;
        uint64_t words;
        uint32_t probes;
    } known[] = {
        {1, 0.5, 1, 1},
        {1, 0.1, 1, 3},
        {1, 0.01, 1, 6},
        {2, 0.01, 1, 7},
        {10, 0.01, 2, 7},
        {10, 0.03, 2, 5},
        {100, 0.03, 12, 5},
        {1000, 0.1, 75, 3},
        {1000, 0.01, 150, 7},
        {1000, 0.001, 225, 10},
        {5000, 0.03, 571, 5},
        {10000, 0.0001, 2996, 13},
        {12345, 0.01, 1849, 7},
        {67108, 0.005, 11564, 8},
        {1000000, 0.01, 149767, 7},
        {1000000, 0.001, 224650, 10},
        {1000000, 1e-06, 449300, 20},
        {10000019, 0.02, 1272247, 6},
        {100000000, 1e-08, 59906615, 27},
        {1000000000, 0.01, 149766538, 7},
        {UINT64_C(2147483648), 0.7, 24909877, 1},
        {UINT64_C(9000000000), 0.01, 1347898835, 7},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        struct bloom_shape shape;
        char problem[BLOOM_PROBLEM_SIZE];
        if (!bloom_shape_for(&shape, &bloom_layout_classic, known[i].capacity, known[i].rate,
                             problem))
            fail_msg("%s", problem);
        assert_same(shape.bits, 64 * known[i].words, "bits");
        assert_int_equal(shape.probes, known[i].probes);
    }
}

static void classic_keeps_or_refuses(void) {
    /* Whatever n and p: an answer, and with an answer parameters within bounds. */
    static const double rates[] = {1 - 0x1p-53, 0.99,  0.9,   0.85,  0.75,   0.7,      0.5,
                                   0.3,         0.1,   0.03,  0.01,  1e-3,   1e-4,     1e-6,
                                   1e-9,        1e-12, 1e-15, 1e-75, 1e-300, 0x1p-1074};
    uint64_t kept = 0, refused = 0;
    for (size_t i = 0; i < COUNT_OF(rates); i++)
        for (uint64_t capacity = 1; capacity <= UINT64_C(1) << 40; capacity += capacity / 3 + 1) {
            struct bloom_shape shape;
            char problem[BLOOM_PROBLEM_SIZE];
            if (!bloom_shape_for(&shape, &bloom_layout_classic, capacity, rates[i], problem)) {
                refused++;
                assert_true(strstr(problem, "or one of layout blocked") != NULL ||
                            strstr(problem, "Ask for a larger p") != NULL ||
                            strstr(problem, "would have no bits") != NULL);
                continue;
            }
            kept++;
            assert_true(shape.probes >= 1 && shape.probes <= 255);
            assert_true(shape.bits % 64 == 0 && shape.bits <= BLOOM_BITS_MAXIMUM);
        }
    assert_true(kept > 500);
    assert_true(refused > 300);
}

static void classic_refusals(void) {
    static const struct {
        uint64_t capacity;
        double rate;
        const char *words;
    } refused[] = {
        {5, 1.234567e-100,
         "n = 5 and p = 1.23457e-100 take 332 hashes, but layout classic has at most 255. Ask for "
         "a "
         "larger p"},
        {1, 0.9012345,
         "n = 1 and p = 0.901235: layout classic, with the size that its own library gives it, "
         "would have no bits. Ask for a smaller p"},
        {UINT64_C(1) << 40, 0.01234567,
         "n = 1099511627776 at p = 0.0123457 takes 10056651963712 bits, but layout classic has at "
         "most 137438953408. Make several filters, or one of layout blocked"},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct bloom_shape shape;
        char problem[BLOOM_PROBLEM_SIZE];
        assert_false(bloom_shape_for(&shape, &bloom_layout_classic, refused[i].capacity,
                                     refused[i].rate, problem));
        assert_string_equal(problem, refused[i].words);
    }
}

/* ---- Shapes ---- */

static void assert_no_shape(const struct bloom_layout *layout, uint64_t capacity, double rate,
                            const char *words) {
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE] = "";
    assert_false(bloom_shape_for(&shape, layout, capacity, rate, problem));
    assert_string_equal(problem, words);
}

static void refused_shapes(void) {
    const struct bloom_layout *layouts[] = {&bloom_layout_blocked, &bloom_layout_classic};
    for (size_t i = 0; i < COUNT_OF(layouts); i++) {
        assert_no_shape(layouts[i], 1, 0, "p is 0. Pass a number between 0 and 1");
        assert_no_shape(layouts[i], 1, -0.0, "p is -0. Pass a number between 0 and 1");
        assert_no_shape(layouts[i], 1, 1, "p is 1. Pass a number between 0 and 1");
        assert_no_shape(layouts[i], 1, 1.234567, "p is 1.23457. Pass a number between 0 and 1");
        assert_no_shape(layouts[i], 1, -0.01, "p is -0.01. Pass a number between 0 and 1");
        assert_no_shape(layouts[i], 1, INFINITY, "p is inf. Pass a number between 0 and 1");
        assert_no_shape(layouts[i], UINT64_C(1) << 41, 0.01,
                        "n is 2199023255552. Pass at most 1099511627776");
        assert_no_shape(layouts[i], UINT64_MAX, 0.01,
                        "n is 18446744073709551615. Pass at most 1099511627776");
        struct bloom_shape shape;
        char problem[BLOOM_PROBLEM_SIZE] = "";
        assert_false(bloom_shape_for(&shape, layouts[i], 1, NAN, problem));
        assert_true(strncmp(problem, "p is ", 5) == 0);
        assert_false(bloom_shape_for(&shape, layouts[i], 1, 0x1p-1074, problem));
        assert_non_null(strstr(problem, "4.94066e-324"));
    }
    assert_no_shape(&bloom_layout_blocked, 1, 1.234567e-10,
                    "a rate of 1.23457e-10 is less than layout blocked can keep for 1 keys. "
                    "Ask for 9.36e-10 or more");
}

static void capacity_zero(void) {
    const struct bloom_layout *layouts[] = {&bloom_layout_blocked, &bloom_layout_classic};
    static const double rates[] = {0.6, 0.5, 0.1, 0.01};
    for (size_t i = 0; i < COUNT_OF(layouts); i++)
        for (size_t j = 0; j < COUNT_OF(rates); j++) {
            struct bloom_shape none, one;
            char problem[BLOOM_PROBLEM_SIZE];
            assert_true(bloom_shape_for(&none, layouts[i], 0, rates[j], problem));
            assert_true(bloom_shape_for(&one, layouts[i], 1, rates[j], problem));
            assert_same(none.capacity, 0, "capacity");
            assert_same(none.bits, one.bits, "bits");
            assert_int_equal(none.probes, one.probes);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("The exact rate computed here is that of blocked_sizes.py", model_is_right),
        TEST("Blocked keeps every rate and, below 0.5, takes at most 0.22 % more than needed",
             rate_is_kept),
        TEST("No other number of hashes would save blocked more than 0.4 % of its bits below 0.25",
             hashes_are_near_the_best),
        TEST("The sizes of blocked are the pinned ones", blocked_golden),
        TEST("Blocked never gets smaller for more keys", more_keys_need_more),
        TEST("Blocked gets no larger and no more hashes for larger rates", smaller_rates_need_more),
        TEST("Blocked refuses rates below 2^-30 and the chance of equal hashes", least_rate),
        TEST("Blocked makes up for keys whose hashes are equal", collisions_are_made_up_for),
        TEST("Classic has the pinned sizes, which are Guava's", classic_as_guava),
        TEST("Classic keeps its rate or is refused", classic_keeps_or_refuses),
        TEST("Classic is refused in words", classic_refusals),
        TEST("Shapes that cannot be are refused with the reason", refused_shapes),
        TEST("A filter for no keys is one for one key", capacity_zero),
    };
    return cmocka_run_group_tests_name("sizing", tests, compute_means, NULL);
}
