/* See growth.h. Rates are worked out step by step as rounded.h does, so that every machine finds
 * the same layers. */
#include "filter/growth.h"

#include "filter/rounded.h"

#include <math.h>
#include <stdio.h>

/* The smallest rate of a further layer: what the layouts can keep for any capacity. */
static const double LAYER_RATE_MINIMUM = 1e-9;

/* Further layers have a twentieth of the rate and less. */
static const double GROWING_RATE_MINIMUM = 1e-6;

/* The ones of n random keys vary around their mean. A layer that was given exactly its n keys must
 * not count as full, so the limit is the mean plus MARGIN times its square root. The measured
 * standard deviation is at most 0.45 of that root (1 to 10,000 keys, p from 0.5 to 1e-6), so fewer
 * than one layer in 10^7 closes early, if ones are normally distributed. At 10^6 keys and 1 % the
 * margin is 0.12 % of the ones. */
static const double MARGIN = 2.5;

/* Two rates that differ by less than 2^-44 of their value are the same rate. Every reader of a
 * table computes its rates again, from a text that SQLite reads as a number. Releases of SQLite
 * read a text of many digits as doubles that differ in their last bits. So do machines that keep
 * more digits than a double has. */
static const double RATE_PRECISION = 0x1p-44;

/* `count` tenths of one generation's share of the rate. Ten tenths of a single generation are the
 * rate itself, unrounded. */
static double tenths(const struct bloom_growth *growth, uint64_t count) {
    if (count == 10 && growth->generations == 1)
        return growth->rate;
    struct bloom_rounded product =
        bloom_rounded_times(bloom_rounded_double(growth->rate), bloom_rounded_integer(count));
    return bloom_rounded_as_double(
        bloom_rounded_over(product, bloom_rounded_integer(10 * (uint64_t)growth->generations)));
}

static void numbers_of_layer(const struct bloom_growth *growth, unsigned index, uint64_t *capacity,
                             double *rate) {
    *capacity = growth->capacity;
    *rate = tenths(growth, growth->mode == BLOOM_GROWTH_ON ? 9 : 10);
    if (index == 0)
        return;
    *capacity = growth->capacity > BLOOM_CAPACITY_MAXIMUM >> index ? BLOOM_CAPACITY_MAXIMUM
                                                                   : growth->capacity << index;
    /* Twice the rate that keys with equal 64-bit hashes cause in any filter. */
    double minimum = bloom_rounded_as_double(
        bloom_rounded_plus(bloom_rounded_double(LAYER_RATE_MINIMUM),
                           bloom_rounded_double(ldexp((double)*capacity, -63))));
    *rate = ldexp(tenths(growth, 1), -(int)index);
    if (*rate < minimum)
        *rate = minimum;
}

bool bloom_growth_possible(const struct bloom_growth *growth, char problem[BLOOM_PROBLEM_SIZE]) {
    struct bloom_shape shape;
    if (growth->generations > 1 && growth->layout->blocks->remove != NULL) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "layout=%s has no generations; use layout=blocked, or delete keys one by one",
                 growth->layout->name);
        return false;
    }
    if (growth->mode == BLOOM_GROWTH_ON && tenths(growth, 10) < GROWING_RATE_MINIMUM) {
        snprintf(problem, BLOOM_PROBLEM_SIZE,
                 "a table that grows needs an fpr of 1e-6 or more%s; write that, or growth=off "
                 "with the capacity that it needs",
                 growth->generations > 1 ? " for each generation" : "");
        return false;
    }
    return bloom_growth_shape(growth, 0, &shape, problem);
}

bool bloom_growth_shape(const struct bloom_growth *growth, unsigned index,
                        struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]) {
    uint64_t capacity;
    double rate;
    numbers_of_layer(growth, index, &capacity, &rate);
    if (!bloom_shape_for(shape, growth->layout, capacity, rate, problem))
        return false;
    shape->keying = growth->keying;
    return true;
}

static bool same_rate(double a, double b) {
    return fabs(a - b) <= RATE_PRECISION * b;
}

bool bloom_growth_knows(const struct bloom_growth *growth, unsigned index,
                        const struct bloom_shape *shape) {
    uint64_t capacity;
    double rate;
    char problem[BLOOM_PROBLEM_SIZE];
    numbers_of_layer(growth, index, &capacity, &rate);
    return shape->layout == growth->layout && shape->capacity == capacity &&
           bloom_keying_same(&shape->keying, &growth->keying, problem) &&
           same_rate(shape->rate, rate);
}

static double expected_ones(const struct bloom_shape *shape, double keys) {
    return shape->layout->blocks->expected_ones(shape, keys);
}

static uint64_t ones_and_margin(const struct bloom_shape *shape) {
    double ones = expected_ones(shape, (double)shape->capacity);
    return (uint64_t)(ones + MARGIN * sqrt(ones)) + 1;
}

struct bloom_growth_limits bloom_growth_limits_of(const struct bloom_growth *growth, unsigned index,
                                                  const struct bloom_shape *shape) {
    struct bloom_growth_limits limits = {UINT64_MAX, UINT64_MAX};
    if (growth->mode == BLOOM_GROWTH_OFF || index + 1 == BLOOM_LAYERS_MAXIMUM)
        return limits;
    limits.keys = shape->capacity;
    limits.ones = index > 0 ? (uint64_t)expected_ones(shape, (double)shape->capacity)
                            : ones_and_margin(shape);
    return limits;
}

uint64_t bloom_growth_merge_limit(const struct bloom_growth *growth,
                                  const struct bloom_shape *first) {
    return growth->mode == BLOOM_GROWTH_OFF ? UINT64_MAX : ones_and_margin(first);
}

uint64_t bloom_keys_fewest(const struct bloom_shape *shape, uint64_t ones) {
    return (ones + shape->probes - 1) / shape->probes;
}

bool bloom_keys_are_possible(const struct bloom_shape *shape, uint64_t keys, uint64_t ones) {
    if (shape->layout->blocks->remove != NULL)
        return true;
    return keys >= bloom_keys_fewest(shape, ones) && keys <= ones;
}

uint64_t bloom_keys_of(const struct bloom_shape *shape, const struct bloom_estimate *estimate) {
    uint64_t fewest = bloom_keys_fewest(shape, estimate->ones);
    uint64_t keys = estimate->count < (double)estimate->ones /* infinite when all are set */
                        ? (uint64_t)floor(estimate->count + 0.5)
                        : estimate->ones;
    return keys < fewest ? fewest : keys;
}
