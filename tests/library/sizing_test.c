/* Filters are made large enough for the rate asked for, hardly larger, and of the same size on
 * every machine.
 *
 * What layout blocked needs is computed here once more, along another way than blocked_sizes.py
 * takes: the distribution of the number of bits set in a block throw by throw, all terms positive,
 * instead of an alternating sum with sixty digits. */
#include "library_test.h"
#include "shapes.h"

#include "filter/layout.h"

#include <math.h>

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

static double bits_per_key(double rate, uint32_t *probes) {
    const struct bloom_shape shape = sized_shape(&bloom_layout_blocked, EXACT_CAPACITY, rate);
    *probes = shape.probes;
    return (double)(shape.bits / 512) * 0x1p-16;
}

/* The rates from 2^-30 to 1, several within each row of the table and both sides of its ends. */
enum { STEPS = 40, RATES = 30 * 8 * (STEPS + 2) };

static double rate_number(int i) {
    const int row = i / (STEPS + 2), step = i % (STEPS + 2);
    const double start = ldexp(1 + row % 8 / 8.0, row / 8 - 30);
    return step == STEPS       ? nextafter(start, 0)
           : step == STEPS + 1 ? nextafter(start, 1)
                               : start + ldexp(step / (8.0 * STEPS), row / 8 - 30);
}

/* Up to 1 - e^-2 the bits needed are convex in the rate, so that chords do not fall short of them.
 */
static const double RATE_CONVEX = 0.8646;

/* The least rate that can be kept is 2^-30 more than the chance of two keys of the same 64 bits. */
static const double COLLISION = EXACT_CAPACITY * 0x1p-64;

/* Every rate is kept, and neither fewer bits nor another number of hashes would do. */
static void rate_is_kept(void) {
    int tried = 0;
    for (int i = 0; i < RATES; i++) {
        const double rate = rate_number(i) + COLLISION;
        if (rate < 0x1p-30 + COLLISION || rate > RATE_CONVEX)
            continue;
        uint32_t probes;
        const double bits = bits_per_key(rate, &probes);
        const long double asked = rate - (long double)COLLISION;
        if (exact_rate(probes, bits) > asked + rate * 1e-12L)
            fail_msg("p = %a gets %u hashes and %.6f bits per key, which do not keep it", rate,
                     (unsigned)probes, bits);
        if (exact_rate(probes, bits / (rate < 0.25 ? 1.0012 : rate < 0.5 ? 1.0022 : 1.01)) <= asked)
            fail_msg("p = %a gets %u hashes and %.6f bits per key, which is too much", rate,
                     (unsigned)probes, bits);
        for (uint32_t other = probes > 3 ? probes - 2 : 1;
             i % 3 == 1 && rate < 0.5 && other <= probes + 2 && other <= HASHES_MOST; other++)
            if (exact_rate(other, bits / (rate < 0.25 ? 1.004 : 1.0075)) <= asked)
                fail_msg("p = %a gets %u hashes and %.6f bits per key; %u hashes need fewer", rate,
                         (unsigned)probes, bits, (unsigned)other);
        tried++;
    }
    assert_true(tried > 9600);
}

static void least_rate(void) {
    static const uint64_t CAPACITIES[] = {1, 2, 1000, 1000000000, UINT64_C(1) << 40};
    static const char WORDS[] = "a rate of ";
    for (size_t i = 0; i < COUNT_OF(CAPACITIES); i++) {
        const uint64_t capacity = CAPACITIES[i];
        const uint64_t least = (UINT64_C(1) << 34) + capacity; /* in units of 2^-64 */
        const double rate = ldexp((double)least, -64);
        const struct bloom_shape shape = sized_shape(&bloom_layout_blocked, capacity, rate);
        assert_int_equal(shape.probes, 21);
        /* The first cell of the table. */
        assert_same(shape.bits / 512, (capacity * 5297319 + (1 << 25) - 1) / (1 << 25), "blocks");
        sized_shape(&bloom_layout_blocked, capacity, nextafter(rate, 1));
        const double less[] = {nextafter(rate, 0),
                               ldexp((double)(least - 1), -64),
                               ldexp((double)capacity, -64),
                               ldexp((double)capacity, -65),
                               0x1p-64,
                               0x1p-1074};
        for (size_t j = 0; j < COUNT_OF(less); j++)
            assert_no_shape(&bloom_layout_blocked, capacity, less[j], WORDS);
    }
    assert_no_shape(&bloom_layout_classic, 1, NAN, "p is ");
}

/* 2^40 keys agree with an absent one with probability 2^-24: of p = 2^-23 half is left, so bits per
 * key are those which few keys need for 2^-24. */
static void collisions_are_made_up_for(void) {
    const struct bloom_shape many = sized_shape(&bloom_layout_blocked, UINT64_C(1) << 40, 0x1p-23);
    const struct bloom_shape few = sized_shape(&bloom_layout_blocked, 1 << 20, 0x1p-24 + 0x1p-44);
    assert_int_equal(many.probes, few.probes);
    assert_same((many.bits / 512 + (1 << 20) - 1) >> 20, few.bits / 512, "blocks");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("The exact rate computed here is that of blocked_sizes.py", model_is_right),
        TEST("Blocked keeps every rate with hardly more bits than needed", rate_is_kept),
        TEST("Blocked refuses rates below 2^-30 and the chance of equal hashes", least_rate),
        TEST("Blocked makes up for keys whose hashes are equal", collisions_are_made_up_for),
    };
    return cmocka_run_group_tests_name("sizing", tests, compute_means, NULL);
}
