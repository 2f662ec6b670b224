/* Every kernel of layouts blocked, counting and parquet that this processor can run is compared
 * with a simple program, which looks at one bit or counter after the other. */
#include "library_test.h"

#include "filter/layouts/kernels/kernel.h"
#include "foreign/exchange.h"
#include "shapes.h"

enum { PROBES_MOST = 21, BLOCKS_MOST = 40, KEYS_MOST = 2 * BLOOM_BLOCKS_AHEAD + 128, ROUNDS = 400 };

static struct bloom_shape shape_of_blocks(uint32_t probes, uint64_t blocks) {
    return (struct bloom_shape){
        .layout = &bloom_layout_blocked, .probes = probes, .bits = blocks * BLOOM_BLOCK_BITS};
}

/* The bit within the block of the key that probe number i looks at. */
static unsigned naive_probe(uint64_t value, uint32_t i) {
    uint64_t word = value * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0xb504f333f9de6485);
    for (; i >= 7; i -= 7)
        word = (word ^ word >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(word >> (55 - 9 * i) & 511);
}

static bool naive_check(const uint8_t *block, uint64_t value, uint32_t probes) {
    bool all = true;
    for (uint32_t i = 0; i < probes; i++) {
        unsigned bit = naive_probe(value, i);
        all = all && (block[bit / 8] >> bit % 8 & 1) != 0;
    }
    return all;
}

static void naive_add(uint8_t *block, uint64_t value, uint32_t probes, uint32_t left_out) {
    for (uint32_t i = 0; i < probes; i++)
        if (i != left_out)
            block[naive_probe(value, i) / 8] |= (uint8_t)(1u << naive_probe(value, i) % 8);
}

/* Block number floor(value * blocks / 2^64), by halves of value. */
static uint8_t *naive_block(uint8_t *payload, uint64_t value, uint64_t blocks) {
    uint64_t high = (value >> 32) * blocks, low = (value & UINT32_MAX) * blocks;
    return payload + ((high + (low >> 32)) >> 32) * BLOOM_BLOCK_BYTES;
}

/* Calls compare for each kernel of a layout that the processor supports, also for the portable one.
 * The runner of suites prints which kernels could not be compared. */
static void with_each(const struct bloom_kernel *const *kernels, const char *layout,
                      void (*compare)(const struct bloom_kernel *)) {
    for (; *kernels != NULL; kernels++) {
        const bool supported = bloom_kernel_is_supported(*kernels);
        print_message("%skernel %s of %s: %s\n", supported ? "" : "figures: ", (*kernels)->name,
                      layout, supported ? "compared" : "not on this processor, so not compared");
        if (supported)
            compare(*kernels);
        if (kernels[1] == NULL) {
            assert_string_equal((*kernels)->name, "portable");
            assert_true(supported);
        }
    }
}

/* The compiler's library asks the processor, too. */
static void kernels_are_those_of_the_processor(void) {
#ifdef BLOOM_X86_KERNELS
    __builtin_cpu_init();
    assert_int_equal(bloom_kernel_is_supported(&bloom_blocked_avx2),
                     __builtin_cpu_supports("avx2") != 0);
    assert_int_equal(bloom_kernel_is_supported(&bloom_blocked_avx512),
                     __builtin_cpu_supports("avx512f") != 0);
    assert_int_equal(bloom_kernel_is_supported(&bloom_counting_avx512),
                     __builtin_cpu_supports("avx512f") != 0);
#endif
}

/* Adds and checks every number of keys from 0 on, so that a batch has stretches of every length.
 * Half of the keys are added. Of some others, all bits except one are set. */
static void compare_batches(const struct bloom_kernel *kernel) {
    uint64_t random = 3, answers[2] = {0, 0};
    for (size_t count = 0; count <= KEYS_MOST; count++)
        for (uint32_t probes = 1 + (uint32_t)(count % 3); probes <= PROBES_MOST; probes += 3) {
            const uint64_t blocks = 1 + random_below(&random, BLOCKS_MOST);
            const size_t offset = random_below(&random, 3), bytes = blocks * BLOOM_BLOCK_BYTES;
            const struct bloom_shape shape = shape_of_blocks(probes, blocks);
            FREED uint8_t *memory = allocate_exactly(offset + bytes),
                          *expected = allocate_exactly(bytes), *found = allocate_exactly(count);
            uint8_t *payload = memory + offset;
            FREED uint64_t *values = random_words(count, random_next(&random));
            for (size_t i = 0; i < count / 2; i++)
                naive_add(naive_block(expected, values[i], blocks), values[i], probes, probes);
            kernel->add(&shape, payload, values, count / 2);
            assert_memory_equal(payload, expected, bytes);
            for (size_t i = count / 2; i < count; i += 2)
                naive_add(naive_block(payload, values[i], blocks), values[i], probes,
                          (uint32_t)random_below(&random, probes));
            memset(found, 7, count);
            kernel->check_many(&shape, payload, values, count, found);
            for (size_t i = 0; i < count; i++) {
                const uint8_t *block = naive_block(payload, values[i], blocks);
                assert_int_equal(found[i], naive_check(block, values[i], probes));
                assert_int_equal(found[i], kernel->check(&shape, payload, values[i]));
                assert_int_equal(found[i], kernel->check_block(&shape, block, &values[i]));
                answers[found[i]]++;
            }
        }
    assert_true(answers[0] > 10000 && answers[1] > 10000);
}

static void batches(void) {
    with_each(bloom_blocked_kernels, "blocked", compare_batches);
}

/* ---- Counting: a block of 512 counters of four bits ---- */

enum { COUNTERS = BLOOM_BLOCK_BITS, COUNTING_BYTES = COUNTERS / 2 };

static struct bloom_shape counting_shape(uint32_t probes) {
    return (struct bloom_shape){
        .layout = &bloom_layout_counting, .probes = probes, .bits = UINT64_C(8) * COUNTING_BYTES};
}

static void set_counter(uint8_t *block, unsigned counter, unsigned value) {
    block[counter / 2] &= (uint8_t)(0xf0 >> 4 * (counter % 2));
    block[counter / 2] |= (uint8_t)(value << 4 * (counter % 2));
}

/* All counters of a key are above zero, or all except one. Others have any value. */
static void compare_counters(const struct bloom_kernel *kernel) {
    uint64_t random = 6;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (uint32_t probes = 1; probes <= PROBES_MOST; probes++) {
            size_t offset = random_below(&random, 3);
            FREED uint8_t *memory = allocate_exactly(offset + COUNTING_BYTES);
            uint8_t *block = memory + offset;
            const struct bloom_shape shape = counting_shape(probes);
            uint64_t value = random_next(&random);
            const uint32_t left_out = (uint32_t)random_below(&random, 2 * probes);
            for (uint64_t others = random_below(&random, 200); others > 0; others--)
                set_counter(block, (unsigned)random_below(&random, COUNTERS),
                            (unsigned)random_below(&random, 16));
            for (uint32_t i = 0; i < probes; i++)
                set_counter(block, naive_probe(value, i), 1 + (unsigned)random_below(&random, 15));
            if (left_out < probes)
                set_counter(block, naive_probe(value, left_out), 0);
            assert_int_equal(kernel->check_block(&shape, block, &value), left_out >= probes);
        }
}

static void counting(void) {
    with_each(bloom_counting_kernels, "counting", compare_counters);
}

/* ---- Parquet: a block of eight words of 32 bits, with a bit of a key in each ---- */

static bool naive_parquet_check(const uint8_t *payload, uint64_t word, uint64_t blocks) {
    static const uint32_t SALTS[] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                     0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};
    const uint8_t *block = payload + ((word >> 32) * blocks >> 32) * 32;
    bool all = true;
    for (size_t i = 0; i < COUNT_OF(SALTS); i++) {
        const uint32_t bit = (uint32_t)word * SALTS[i] >> 27;
        all = all && (block[4 * i + bit / 8] >> bit % 8 & 1) != 0;
    }
    return all;
}

/* Checks every number of keys, half of which are in. Then checks single keys, each after some bits
 * of one byte were cleared. */
static void compare_parquet(const struct bloom_kernel *kernel) {
    enum { BLOCKS = 37, KEYS = 200 };
    uint64_t random = 5, yes = 0;
    const struct bloom_shape shape = {
        .layout = &bloom_layout_parquet, .probes = 8, .bits = BLOCKS * 256};
    FREED uint8_t *payload = empty_payload(&shape);
    FREED uint64_t *words = random_words(KEYS, 6);
    bloom_layout_parquet.add(&shape, payload, words, KEYS / 2);
    for (size_t count = 0; count <= KEYS; count++) {
        FREED uint8_t *found = allocate_exactly(count);
        kernel->check_many(&shape, payload, words, count, found);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(found[i], naive_parquet_check(payload, words[i], BLOCKS));
            assert_true(found[i] || i >= KEYS / 2);
        }
    }
    for (unsigned round = 0; round < 5000; round++) {
        const uint64_t word = words[round % KEYS];
        const size_t at = random_below(&random, BLOCKS * 32);
        const uint8_t before = payload[at];
        payload[at] &= (uint8_t)random_next(&random);
        const bool expected = naive_parquet_check(payload, word, BLOCKS);
        assert_int_equal(kernel->check(&shape, payload, word), expected);
        yes += expected;
        payload[at] = before;
    }
    assert_in_range(yes, 2000, 3000);
}

static void parquet(void) {
    with_each(bloom_parquet_kernels, "parquet", compare_parquet);
}

RUN_GROUP("kernel",
          TEST("Kernels run on the processors that have their instructions",
               kernels_are_those_of_the_processor),
          TEST("Every kernel adds and checks batches of every length, bit for bit", batches),
          TEST("Every kernel of counting looks at exactly the right counters", counting),
          TEST("Every kernel of parquet looks at exactly the right bits", parquet))
