/* Rates are computed step by step as rounded.h does, and slack by integers, so that every machine
 * finds the same layers. Only the limits use the C library's logarithms: a chunk that closes a key
 * earlier on one machine does no harm, because its closed mark is stored. */
#include "filter/growth.h"

#include "base/rounded.h"

#include <math.h>

/* The smallest rate of a further layer: what the layouts can keep for any capacity. */
static const double LAYER_RATE_MINIMUM = 1e-9;

/* Further layers have a twentieth of the rate and less. */
static const double GROWING_RATE_MINIMUM = 1e-6;

/* The ones of n random keys vary around their mean. A filter that was given exactly its n keys must
 * not count as full, so the limit is the mean plus MARGIN times its square root. The measured
 * standard deviation is at most 0.45 of that root (1 to 10,000 keys, p from 0.5 to 1e-6), so fewer
 * than one filter in 10^7 closes early, if ones are normally distributed. */
static const double MARGIN = 2.5;

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

/* n for `capacity` keys with slack, where these fill that many chunks: 3.5 standard deviations of
 * the keys of a chunk, in 1/65536 of them. */
static uint64_t with_slack(uint64_t capacity, uint64_t chunks) {
    const uint64_t keys = capacity > chunks ? capacity / chunks : 1;
    const uint64_t squared = (UINT64_C(49) << 30) / keys; /* (3.5 * 65536)^2 / keys */
    const uint64_t larger = capacity + (capacity * (uint64_t)sqrt((double)squared) >> 16);
    return larger < BLOOM_CAPACITY_MAXIMUM ? larger : BLOOM_CAPACITY_MAXIMUM;
}

static void numbers_of_layer(const struct bloom_growth *growth, unsigned index, uint64_t *capacity,
                             double *rate) {
    *capacity = growth->capacity;
    *rate = tenths(growth, growth->mode == BLOOM_GROWTH_ON ? 9 : 10);
    if (index == 0)
        return;
    *capacity = growth->capacity > BLOOM_CAPACITY_MAXIMUM >> index ? BLOOM_CAPACITY_MAXIMUM
                                                                   : growth->capacity << index;
    /* The sum has twice the rate that keys with equal 64-bit hashes cause in any filter. It has at
     * most 60 bits, so it is rounded once, even by a processor that computes with 64. */
    const double minimum = LAYER_RATE_MINIMUM + ldexp((double)*capacity, -63);
    *rate = ldexp(tenths(growth, 1), -(int)index);
    if (*rate < minimum)
        *rate = minimum;
}

bool bloom_growth_possible(const struct bloom_growth *growth, bloom_problem problem) {
    struct bloom_layer layer;
    if (growth->generations > 1 && growth->layout->blocks->remove != NULL)
        return bloom_fail(
            problem, "layout=%s has no generations. Use layout=blocked, or delete keys one by one",
            growth->layout->name);
    if (growth->mode == BLOOM_GROWTH_ON && tenths(growth, 10) < GROWING_RATE_MINIMUM)
        return bloom_fail(
            problem,
            "a table that grows needs an fpr of 1e-6 or more%s. Raise fpr, or add growth=off",
            growth->generations > 1 ? " for each generation" : "");
    return bloom_growth_layer(growth, 0, &layer, problem);
}

static double expected_ones(const struct bloom_shape *shape) {
    return bloom_expected_ones(shape, (double)shape->capacity);
}

static uint64_t ones_and_margin(const struct bloom_shape *shape) {
    double ones = expected_ones(shape);
    return (uint64_t)(ones + MARGIN * sqrt(ones)) + 1;
}

static bool size_layer(const struct bloom_growth *growth, uint64_t capacity, double rate,
                       struct bloom_layer *layer, bloom_problem problem) {
    layer->shape =
        (struct bloom_shape){.layout = growth->layout, .rate = rate, .keying = growth->keying};
    if (!bloom_shape_size(&layer->shape, capacity, problem))
        return false;
    layer->blocks = bloom_block_count(&layer->shape);
    layer->chunks = (layer->blocks - 1) / growth->chunk_blocks + 1;
    layer->chunk_blocks = (uint32_t)(layer->blocks / layer->chunks);
    layer->longer = layer->blocks % layer->chunks;
    return true;
}

bool bloom_growth_layer(const struct bloom_growth *growth, unsigned index,
                        struct bloom_layer *layer, bloom_problem problem) {
    uint64_t capacity;
    double rate;
    numbers_of_layer(growth, index, &capacity, &rate);
    if (!size_layer(growth, capacity, rate, layer, problem))
        return false;
    const bool closes = growth->mode != BLOOM_GROWTH_OFF && index + 1 < BLOOM_LAYERS_MAXIMUM;
    const bool counts = layer->chunks == 1;
    if (closes && index == 0 && !counts &&
        !size_layer(growth, with_slack(capacity, layer->chunks), rate, layer, problem))
        return false;
    layer->keys_limit = closes && counts ? capacity : UINT64_MAX;
    layer->ones_limit = !closes                ? UINT64_MAX
                        : counts && index == 0 ? ones_and_margin(&layer->shape)
                                               : (uint64_t)expected_ones(&layer->shape);
    return true;
}

uint32_t bloom_layer_chunk_blocks(const struct bloom_layer *layer, uint64_t chunk) {
    return layer->chunk_blocks + (chunk < layer->longer);
}

uint64_t bloom_layer_chunk_start(const struct bloom_layer *layer, uint64_t chunk) {
    return chunk * layer->chunk_blocks + (chunk < layer->longer ? chunk : layer->longer);
}

/* Processors divide numbers of 32 bits several times faster. */
uint64_t bloom_layer_chunk_of(const struct bloom_layer *layer, uint64_t block) {
    const uint32_t longer_blocks = layer->chunk_blocks + 1;
    const uint64_t in_longer = layer->longer * longer_blocks;
    const bool is_longer = block < in_longer;
    const uint64_t at = is_longer ? block : block - in_longer;
    const uint32_t blocks = is_longer ? longer_blocks : layer->chunk_blocks;
    return (is_longer ? 0 : layer->longer) + (at >> 32 == 0 ? (uint32_t)at / blocks : at / blocks);
}

/* The products stay below 2^63: a chunk has fewer than 2^10 blocks and 2^19 ones, a layer fewer
 * than 2^43 blocks and 2^52 ones. */
bool bloom_layer_is_full(const struct bloom_layer *layer, uint32_t blocks, uint64_t keys,
                         uint64_t ones) {
    return keys >= layer->keys_limit ||
           (layer->ones_limit != UINT64_MAX && ones * layer->blocks >= layer->ones_limit * blocks);
}

uint64_t bloom_growth_merge_limit(const struct bloom_growth *growth,
                                  const struct bloom_layer *first) {
    return growth->mode == BLOOM_GROWTH_OFF ? UINT64_MAX : ones_and_margin(&first->shape);
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
