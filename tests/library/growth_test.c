/* The layers of a filter that grows: their shapes, and when one is full. */
#include "library_test.h"

#include "filter/growth.h"

#include <math.h>
#include <string.h>

static struct bloom_growth growth_of(uint64_t capacity, double rate, enum bloom_growth_mode mode) {
    return (struct bloom_growth){.layout = &bloom_layout_blocked,
                                 .capacity = capacity,
                                 .rate = rate,
                                 .generations = 1,
                                 .mode = mode};
}

static struct bloom_shape layer_of(const struct bloom_growth *growth, unsigned index) {
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    assert_true(bloom_growth_shape(growth, index, &shape, problem));
    assert_true(bloom_growth_knows(growth, index, &shape));
    return shape;
}

static void capacities_double_and_rates_halve(void) {
    struct bloom_growth growth = growth_of(1000, 0.01, BLOOM_GROWTH_ON);
    for (unsigned i = 0; i < BLOOM_LAYERS_MAXIMUM; i++) {
        struct bloom_shape shape = layer_of(&growth, i);
        uint64_t capacity = UINT64_C(1000) << i;
        if (capacity > BLOOM_CAPACITY_MAXIMUM)
            capacity = BLOOM_CAPACITY_MAXIMUM;
        assert_int_equal(shape.capacity, capacity);
        double rate = i == 0 ? 0.01 * 9 / 10 : ldexp(0.01 / 10, -(int)i);
        double least = 1e-9 + ldexp((double)capacity, -63);
        assert_true(shape.rate == (i > 0 && rate < least ? least : rate));
    }
}

static void the_rates_add_up_to_that_of_the_table(void) {
    /* From 1e-9 on rates are not halved any more: at 1e-4 after 13 layers. */
    static const double RATES[] = {0.9, 0.5, 0.1, 0.01, 1e-3, 1e-4};
    for (size_t i = 0; i < sizeof RATES / sizeof *RATES; i++) {
        struct bloom_growth growth = growth_of(100, RATES[i], BLOOM_GROWTH_ON);
        double sum = 0;
        for (unsigned layer = 0; layer < 12; layer++)
            sum += layer_of(&growth, layer).rate;
        assert_true(sum <= RATES[i] * (1 + 1e-12));
    }
}

static void generations_share_the_rate(void) {
    static const unsigned GENERATIONS[] = {2, 3, 6, 7, 64};
    char problem[BLOOM_PROBLEM_SIZE];
    for (size_t i = 0; i < COUNT_OF(GENERATIONS); i++) {
        struct bloom_growth growth = growth_of(100, 0.01, BLOOM_GROWTH_ON);
        double sum = 0;
        growth.generations = GENERATIONS[i];
        for (unsigned layer = 0; layer < 12; layer++)
            sum += growth.generations * layer_of(&growth, layer).rate;
        assert_true(sum <= 0.01 * (1 + 1e-9) && sum > 0.0099);
        assert_true(fabs(layer_of(&growth, 0).rate * growth.generations - 0.009) < 1e-15);
        growth.mode = BLOOM_GROWTH_OFF;
        assert_true(fabs(layer_of(&growth, 0).rate * growth.generations - 0.01) < 1e-15);
        growth.mode = BLOOM_GROWTH_ON;
        growth.rate = 1.01e-6 * growth.generations;
        assert_true(bloom_growth_possible(&growth, problem));
        growth.rate = 0.99e-6 * growth.generations;
        assert_false(bloom_growth_possible(&growth, problem));
        assert_non_null(strstr(problem, "an fpr of 1e-6 or more for each generation"));
        growth.layout = &bloom_layout_counting;
        assert_false(bloom_growth_possible(&growth, problem));
        assert_non_null(strstr(problem, "layout=counting has no generations"));
    }
}

static void one_that_does_not_grow_has_all_of_the_rate(void) {
    struct bloom_growth off = growth_of(1000, 0.01, BLOOM_GROWTH_OFF);
    struct bloom_growth error = growth_of(1000, 0.01, BLOOM_GROWTH_ERROR);
    struct bloom_shape shape = layer_of(&off, 0);
    assert_true(shape.rate == 0.01);
    assert_true(layer_of(&error, 0).rate == 0.01);
    struct bloom_growth_limits limits = bloom_growth_limits_of(&off, 0, &shape);
    assert_true(limits.keys == UINT64_MAX && limits.ones == UINT64_MAX);
    assert_true(bloom_growth_merge_limit(&off, &shape) == UINT64_MAX);
    limits = bloom_growth_limits_of(&error, 0, &shape);
    assert_int_equal(limits.keys, 1000);
    assert_int_equal(limits.ones, bloom_growth_merge_limit(&error, &shape));
    /* 4525.3 ones are expected, 2.5 times the square root of that is 168.2; then 15116.96 are. */
    assert_int_equal(limits.ones, 4694);
    shape = layer_of(&error, 1);
    assert_int_equal(bloom_growth_limits_of(&error, 1, &shape).ones, 15116);
}

/* Every layer of every table that may be made, and a first one of nine tenths of the rate. */
static void every_layer_is_possible(void) {
    static const struct bloom_layout *const LAYOUTS[] = {&bloom_layout_blocked,
                                                         &bloom_layout_counting};
    for (size_t i = 0; i < COUNT_OF(LAYOUTS); i++)
        for (uint64_t capacity = 1; capacity <= BLOOM_CAPACITY_MAXIMUM; capacity *= 32)
            for (double rate = 1e-6; rate < 1; rate *= 9) {
                struct bloom_growth growth = growth_of(capacity, rate, BLOOM_GROWTH_ON);
                struct bloom_shape shape;
                char problem[BLOOM_PROBLEM_SIZE];
                growth.layout = LAYOUTS[i];
                assert_true(bloom_growth_possible(&growth, problem));
                for (unsigned layer = 0; layer < BLOOM_LAYERS_MAXIMUM; layer++)
                    assert_true(layer_of(&growth, layer).bits > 0);
                assert_true(bloom_shape_for(&shape, growth.layout, capacity, rate * 0.9, problem));
            }
}

static void what_is_not_a_layer_of_it_is_known(void) {
    struct bloom_growth growth = growth_of(1000, 0.01, BLOOM_GROWTH_ON);
    struct bloom_growth off = growth_of(1000, 0.01, BLOOM_GROWTH_OFF);
    struct bloom_shape first = layer_of(&growth, 0), second = layer_of(&growth, 1), other;
    assert_false(bloom_growth_knows(&growth, 1, &first));
    assert_false(bloom_growth_knows(&growth, 0, &second));
    other = first;
    other.capacity++;
    assert_false(bloom_growth_knows(&growth, 0, &other));
    other = first;
    other.layout = &bloom_layout_counting;
    assert_false(bloom_growth_knows(&growth, 0, &other));
    other = first;
    other.bits += 512; /* a release that sizes otherwise */
    assert_true(bloom_growth_knows(&growth, 0, &other));
    other.rate = 0.01;
    assert_false(bloom_growth_knows(&growth, 0, &other));
    other = first;
    other.keying.salted = true;
    assert_false(bloom_growth_knows(&growth, 0, &other));
    growth.keying.salted = true;
    assert_true(bloom_growth_knows(&growth, 0, &other));
    assert_true(layer_of(&growth, 7).keying.salted);
    growth.keying.salt[0] = 1;
    assert_false(bloom_growth_knows(&growth, 0, &other));
    growth.keying = (struct bloom_keying){.salted = false};
    other = first;
    other.rate = 0.009;
    assert_false(bloom_growth_knows(&off, 0, &other));
    second.rate = 0.01;
    assert_false(bloom_growth_knows(&growth, 1, &second));
}

/* The text of a rate is read as doubles that differ in their last bits. */
static void a_rate_read_otherwise_is_the_same(void) {
    static const double NEAR[] = {1 + 0x1p-45, 1 - 0x1p-45}, OFF[] = {1 + 0x1p-43, 1 - 0x1p-43};
    for (unsigned layer = 0; layer < 40; layer++)
        for (int i = 0; i < 2; i++) {
            struct bloom_growth growth = growth_of(1000, 0.01, BLOOM_GROWTH_ON);
            struct bloom_shape shape = layer_of(&growth, layer);
            double rate = shape.rate;
            shape.rate = rate * NEAR[i];
            assert_true(bloom_growth_knows(&growth, layer, &shape));
            shape.rate = rate * OFF[i];
            assert_false(bloom_growth_knows(&growth, layer, &shape));
        }
}

/* 9/10 of 0.01, 0.001, 0.05, 0.1 and 0.02 are other doubles when the product is not rounded. */
static void nine_tenths_are_rounded_twice(void) {
    static const struct {
        double rate, first;
    } ROWS[] = {{0.01, 0x1.26e978d4fdf3bp-7},
                {0.001, 0x1.d7dbf487fcb93p-11},
                {0.05, 0x1.70a3d70a3d70ap-5},
                {0.1, 0x1.70a3d70a3d70ap-4},
                {0.02, 0x1.26e978d4fdf3bp-6}};
    for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
        struct bloom_growth growth = growth_of(1000, ROWS[i].rate, BLOOM_GROWTH_ON);
        assert_true(layer_of(&growth, 0).rate == ROWS[i].first);
    }
}

static void the_last_layer_never_closes(void) {
    struct bloom_growth growth = growth_of(1, 0.01, BLOOM_GROWTH_ON);
    struct bloom_shape last = layer_of(&growth, BLOOM_LAYERS_MAXIMUM - 1);
    struct bloom_shape before = layer_of(&growth, BLOOM_LAYERS_MAXIMUM - 2);
    assert_true(bloom_growth_limits_of(&growth, BLOOM_LAYERS_MAXIMUM - 1, &last).ones ==
                UINT64_MAX);
    struct bloom_growth_limits limits =
        bloom_growth_limits_of(&growth, BLOOM_LAYERS_MAXIMUM - 2, &before);
    assert_int_equal(limits.keys, before.capacity);
    assert_true(limits.ones < before.bits);
}

/* A first layer that is given exactly its keys, new ones all, is not full before the last. */
static void random_keys_fit_up_to_the_capacity(void) {
    static const double RATES[] = {0.3, 0.01, 1e-4, 1e-6};
    static const uint64_t CAPACITIES[] = {1, 2, 3, 10, 37, 100, 1000, 5000};
    uint64_t random = 7;
    for (size_t i = 0; i < sizeof RATES / sizeof *RATES; i++)
        for (size_t j = 0; j < sizeof CAPACITIES / sizeof *CAPACITIES; j++) {
            struct bloom_growth growth = growth_of(CAPACITIES[j], RATES[i], BLOOM_GROWTH_ON);
            struct bloom_shape shape = layer_of(&growth, 0);
            struct bloom_growth_limits limits = bloom_growth_limits_of(&growth, 0, &shape);
            size_t bytes = (size_t)bloom_payload_bytes(&shape);
            uint8_t *payload = allocate_exactly(bytes);
            for (int round = 0; round < 20; round++) {
                memset(payload, 0, bytes);
                for (uint64_t key = 0; key < CAPACITIES[j]; key++) {
                    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
                    random_fill(&random, (uint8_t *)words, sizeof words);
                    if (key + 1 == CAPACITIES[j]) /* ones only become more */
                        assert_true(shape.layout->estimate(&shape, payload).ones < limits.ones);
                    shape.layout->add(&shape, payload, words, 1);
                }
                assert_true(shape.layout->estimate(&shape, payload).ones <=
                            bloom_growth_merge_limit(&growth, &shape));
            }
            free(payload);
        }
}

static void what_cannot_be_is_said_in_words(void) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_growth growth = growth_of(1000, 1e-7, BLOOM_GROWTH_ON);
    assert_false(bloom_growth_possible(&growth, problem));
    assert_string_equal(problem, "a table that grows needs an fpr of 1e-6 or more; write that, or "
                                 "growth=off with the capacity that it needs");
    growth.mode = BLOOM_GROWTH_OFF;
    assert_true(bloom_growth_possible(&growth, problem));
    growth.rate = 1e-12;
    assert_false(bloom_growth_possible(&growth, problem));
    growth.rate = 1e-6;
    growth.mode = BLOOM_GROWTH_ON;
    assert_true(bloom_growth_possible(&growth, problem));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Every layer of every table is possible", every_layer_is_possible),
        TEST("Capacities double and rates halve", capacities_double_and_rates_halve),
        TEST("The rates add up to that of the table", the_rates_add_up_to_that_of_the_table),
        TEST("Generations share the rate", generations_share_the_rate),
        TEST("One that does not grow has all of the rate",
             one_that_does_not_grow_has_all_of_the_rate),
        TEST("What is not a layer of it is known", what_is_not_a_layer_of_it_is_known),
        TEST("A rate read otherwise is the same", a_rate_read_otherwise_is_the_same),
        TEST("Nine tenths are rounded twice", nine_tenths_are_rounded_twice),
        TEST("The last layer never closes", the_last_layer_never_closes),
        TEST("Random keys fit up to the capacity", random_keys_fit_up_to_the_capacity),
        TEST("What cannot be is said in words", what_cannot_be_is_said_in_words),
    };
    return cmocka_run_group_tests_name("growth", tests, NULL, NULL);
}
