/* How a filter grows: its layers, how they are cut into chunks, and when a chunk is full. */
#include "library_test.h"

#include "filter/growth.h"

#include <math.h>

enum { CHUNK_BLOCKS = 63 }; /* those of a page of 4,096 bytes */

static struct bloom_growth growth_of(uint64_t capacity, double rate, enum bloom_growth_mode mode) {
    return (struct bloom_growth){.layout = &bloom_layout_blocked,
                                 .capacity = capacity,
                                 .rate = rate,
                                 .generations = 1,
                                 .chunk_blocks = CHUNK_BLOCKS,
                                 .mode = mode};
}

static struct bloom_layer layer_of(const struct bloom_growth *growth, unsigned index) {
    struct bloom_layer layer;
    char problem[BLOOM_PROBLEM_SIZE];
    assert_true(bloom_growth_layer(growth, index, &layer, problem));
    return layer;
}

/* Computed from FORMAT-tables.md by a program that was written from that page alone. */
static void layers_are_those_of_the_page(void) {
    static const struct {
        uint64_t capacity;
        double rate;
        enum bloom_growth_mode mode;
        unsigned generations;
        uint32_t chunk_blocks;
        unsigned index, probes;
        uint64_t blocks, chunks, longer, keys, ones;
    } ROWS[] = {
        {1000, 0.01, BLOOM_GROWTH_ON, 1, 63, 0, 6, 20, 1, 0, 1000, 4694},
        {1000000, 0.01, BLOOM_GROWTH_ON, 1, 15, 0, 6, 22408, 1494, 1492, UINT64_MAX, 5092493},
        {50, 0.5, BLOOM_GROWTH_ON, 1, 1, 0, 1, 1, 1, 0, 50, 65},
        {1000000, 0.01, BLOOM_GROWTH_ON, 7, 63, 0, 9, 31279, 497, 465, UINT64_MAX, 7221794},
        {UINT64_C(1) << 40, 0.01, BLOOM_GROWTH_ON, 1, 63, 0, 6, 21852225536, 346860723, 346860710,
         UINT64_MAX, 4966250157623},
        {1000000, 0.01, BLOOM_GROWTH_ERROR, 1, 63, 0, 6, 20566, 327, 292, UINT64_MAX, 4761670},
        {1000000, 0.01, BLOOM_GROWTH_OFF, 1, 63, 0, 6, 19376, 308, 280, UINT64_MAX, UINT64_MAX},
        {100, 0.1, BLOOM_GROWTH_ON, 1, 63, 1, 7, 5, 1, 0, 200, 1074},
        {1000, 0.01, BLOOM_GROWTH_ON, 1, 63, 5, 13, 1608, 26, 22, UINT64_MAX, 323647},
        {1000, 0.01, BLOOM_GROWTH_ON, 1, 63, 40, 18, 113092624384, 1795121022, 1795121020,
         UINT64_MAX, UINT64_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        struct bloom_growth growth = growth_of(ROWS[i].capacity, ROWS[i].rate, ROWS[i].mode);
        growth.generations = ROWS[i].generations;
        growth.chunk_blocks = ROWS[i].chunk_blocks;
        const struct bloom_layer layer = layer_of(&growth, ROWS[i].index);
        assert_int_equal(layer.shape.probes, ROWS[i].probes);
        assert_int_equal(layer.shape.bits, ROWS[i].blocks * 512);
        assert_int_equal(layer.blocks, ROWS[i].blocks);
        assert_int_equal(layer.chunks, ROWS[i].chunks);
        assert_int_equal(layer.longer, ROWS[i].longer);
        assert_int_equal(layer.keys_limit, ROWS[i].keys);
        assert_int_equal(layer.ones_limit, ROWS[i].ones);
    }
}

/* Every layer of every table that may be made. Chunks follow one another without a gap, none is
 * longer than a page, and each block is found in its chunk. */
static void chunks_cover_the_blocks(void) {
    static const struct bloom_layout *const LAYOUTS[] = {&bloom_layout_blocked,
                                                         &bloom_layout_counting};
    for (size_t i = 0; i < COUNT_OF(LAYOUTS); i++)
        for (uint64_t capacity = 1; capacity <= BLOOM_CAPACITY_MAXIMUM; capacity *= 32)
            for (double rate = 1e-6; rate < 1; rate *= 9) {
                struct bloom_growth growth = growth_of(capacity, rate, BLOOM_GROWTH_ON);
                char problem[BLOOM_PROBLEM_SIZE];
                growth.layout = LAYOUTS[i];
                growth.chunk_blocks = i == 0 ? CHUNK_BLOCKS : 15;
                assert_true(bloom_growth_possible(&growth, problem));
                for (unsigned index = 0; index < BLOOM_LAYERS_MAXIMUM; index++) {
                    const struct bloom_layer layer = layer_of(&growth, index);
                    const uint64_t step = layer.chunks < 50 ? 1 : layer.chunks / 50;
                    assert_int_equal(bloom_layer_chunk_start(&layer, 0), 0);
                    assert_int_equal(bloom_layer_chunk_start(&layer, layer.chunks), layer.blocks);
                    for (uint64_t chunk = 0; chunk < layer.chunks; chunk += step) {
                        const uint64_t start = bloom_layer_chunk_start(&layer, chunk),
                                       end = bloom_layer_chunk_start(&layer, chunk + 1);
                        const uint32_t blocks = bloom_layer_chunk_blocks(&layer, chunk);
                        assert_int_equal(end - start, blocks);
                        assert_true(blocks >= 1 && blocks <= growth.chunk_blocks);
                        assert_true(blocks == layer.chunk_blocks ||
                                    blocks == layer.chunk_blocks + 1);
                        assert_int_equal(bloom_layer_chunk_of(&layer, start), chunk);
                        assert_int_equal(bloom_layer_chunk_of(&layer, end - 1), chunk);
                    }
                }
            }
}

/* Nine tenths of a rate are rounded twice. Capacities double, and the rates of layers and
 * generations halve and add up to the rate of the table. Halving stops at about 1e-9. */
static void rates_add_up(void) {
    static const double RATES[] = {0.9, 0.1, 0.01, 1e-4};
    static const unsigned GENERATIONS[] = {1, 2, 7, 64};
    const struct bloom_growth cent = growth_of(1000, 0.01, BLOOM_GROWTH_ON);
    assert_true(layer_of(&cent, 0).shape.rate == 0x1.26e978d4fdf3bp-7);
    for (size_t i = 0; i < COUNT_OF(RATES) * COUNT_OF(GENERATIONS); i++) {
        const double asked = RATES[i % COUNT_OF(RATES)];
        struct bloom_growth growth = growth_of(1000, asked, BLOOM_GROWTH_ON);
        growth.generations = GENERATIONS[i / COUNT_OF(RATES)];
        const double each = asked / growth.generations;
        double sum = 0;
        if (each < 1e-5)
            continue;
        for (unsigned index = 0; index < BLOOM_LAYERS_MAXIMUM; index++) {
            const struct bloom_shape shape = layer_of(&growth, index).shape;
            uint64_t capacity = UINT64_C(1000) << index;
            if (capacity > BLOOM_CAPACITY_MAXIMUM)
                capacity = BLOOM_CAPACITY_MAXIMUM;
            assert_int_equal(shape.capacity, capacity);
            const double rate = index == 0 ? each * 9 / 10 : ldexp(each / 10, -(int)index);
            const double least = 1e-9 + ldexp((double)capacity, -63);
            assert_near(shape.rate, index > 0 && rate < least ? least : rate, rate * 1e-15, "rate");
            sum += index < 12 ? growth.generations * shape.rate : 0;
        }
        assert_true(sum <= asked * (1 + 1e-9) && sum > 0.99 * asked);
        growth.mode = BLOOM_GROWTH_OFF;
        assert_near(layer_of(&growth, 0).shape.rate, each, each * 1e-15, "rate");
    }
}

/* A chunk is full at its share of the ones of its layer, rounded up, or at the keys of a single
 * chunk. */
static void chunks_are_full_at_their_share(void) {
    const struct bloom_growth growth = growth_of(10000, 0.01, BLOOM_GROWTH_ON);
    const struct bloom_layer several = layer_of(&growth, 0); /* 213 blocks, 48347 ones */
    assert_false(bloom_layer_is_full(&several, 53, UINT32_MAX, 12030));
    assert_true(bloom_layer_is_full(&several, 53, 0, 12031)); /* 12030.005 */
    assert_false(bloom_layer_is_full(&several, 54, 0, 12256));
    assert_true(bloom_layer_is_full(&several, 54, 0, 12257)); /* 12256.99 */
    const struct bloom_growth small = growth_of(1000, 0.01, BLOOM_GROWTH_ON);
    const struct bloom_layer one = layer_of(&small, 0);
    assert_false(bloom_layer_is_full(&one, 20, 999, 4693));
    assert_true(bloom_layer_is_full(&one, 20, 1000, 0));
    assert_true(bloom_layer_is_full(&one, 20, 0, 4694));
    assert_int_equal(bloom_growth_merge_limit(&small, &one), 4694);
    const struct bloom_growth off = growth_of(1000, 0.01, BLOOM_GROWTH_OFF);
    const struct bloom_layer never = layer_of(&off, 0), last = layer_of(&growth, 40);
    assert_false(bloom_layer_is_full(&never, 20, UINT64_MAX - 1, UINT32_MAX));
    assert_false(bloom_layer_is_full(&last, 63, UINT64_MAX - 1, UINT32_MAX));
    assert_true(bloom_growth_merge_limit(&off, &never) == UINT64_MAX);
}

/* The keys of a chunk are within what its bits allow. */
static void keys_are_bounded_by_ones(void) {
    const struct bloom_growth growth = growth_of(1000, 0.01, BLOOM_GROWTH_ON);
    const struct bloom_shape shape = layer_of(&growth, 0).shape; /* 6 probes */
    assert_int_equal(bloom_keys_fewest(&shape, 0), 0);
    assert_int_equal(bloom_keys_fewest(&shape, 12), 2);
    assert_int_equal(bloom_keys_fewest(&shape, 13), 3);
    assert_true(bloom_keys_are_possible(&shape, 3, 13));
    assert_true(bloom_keys_are_possible(&shape, 13, 13));
    assert_false(bloom_keys_are_possible(&shape, 2, 13));
    assert_false(bloom_keys_are_possible(&shape, 14, 13));
    struct bloom_estimate estimate = {.ones = 13, .count = 2.4};
    assert_int_equal(bloom_keys_of(&shape, &estimate), 3);
    estimate.count = 7.5;
    assert_int_equal(bloom_keys_of(&shape, &estimate), 8);
    estimate.count = INFINITY;
    assert_int_equal(bloom_keys_of(&shape, &estimate), 13);
    struct bloom_growth counting = growth;
    counting.layout = &bloom_layout_counting;
    const struct bloom_shape counted = layer_of(&counting, 0).shape;
    assert_true(bloom_keys_are_possible(&counted, 99, 13));
}

RUN_GROUP("growth", TEST("Layers are those of the page", layers_are_those_of_the_page),
          TEST("Chunks cover the blocks of every layer", chunks_cover_the_blocks),
          TEST("Capacities double, and the rates add up to the rate of the table", rates_add_up),
          TEST("Chunks are full at their share", chunks_are_full_at_their_share),
          TEST("Keys are bounded by ones", keys_are_bounded_by_ones))
