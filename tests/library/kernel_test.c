/* Every kernel of layouts blocked and counting that this processor can run answers and adds as the
 * portable one does, and as a program does that looks at one bit, or counter, after the other. */
#define _POSIX_C_SOURCE 200809L

#include "library_test.h"

#include "filter/layouts/kernels/kernel.h"

#include <sys/wait.h>
#include <unistd.h>

enum { PROBES_MOST = 21, BLOCKS_MOST = 40, KEYS_MOST = 3 * BLOOM_BLOCKS_AHEAD, ROUNDS = 400 };

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

/* The value whose first probe word is that: factor is inverted by Newton's iteration, which doubles
 * the right bits, from 3, each time. */
static uint64_t value_of_word(uint64_t word) {
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t inverse = factor;
    for (int i = 0; i < 5; i++)
        inverse *= 2 - factor * inverse;
    return (word - UINT64_C(0xb504f333f9de6485)) * inverse;
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

static unsigned naive_ones(const uint8_t *block) {
    unsigned ones = 0;
    for (unsigned bit = 0; bit < BLOOM_BLOCK_BITS; bit++)
        ones += block[bit / 8] >> bit % 8 & 1;
    return ones;
}

/* Block number floor(value * blocks / 2^64), by halves of value. */
static uint8_t *naive_block(uint8_t *payload, uint64_t value, uint64_t blocks) {
    uint64_t high = (value >> 32) * blocks, low = (value & UINT32_MAX) * blocks;
    return payload + ((high + (low >> 32)) >> 32) * BLOOM_BLOCK_BYTES;
}

/* Calls compare for each kernel that the processor supports. */
static void with_each_kernel(void (*compare)(const struct bloom_kernel *)) {
    unsigned compared = 0;
    for (size_t i = 0; bloom_blocked_kernels[i] != NULL; i++)
        if (bloom_kernel_is_supported(bloom_blocked_kernels[i])) {
            compare(bloom_blocked_kernels[i]);
            compared++;
        }
    assert_true(compared >= 1);
}

/* What cannot be compared is told where the suites are summed up. */
static void report_kernel(const char *layout, const char *name, bool supported) {
    print_message("%skernel %s of %s: %s\n", supported ? "" : "figures: ", name, layout,
                  supported ? "compared" : "not on this processor, so not compared");
}

static void last_is_portable(void) {
    size_t count = 0;
    while (bloom_blocked_kernels[count] != NULL) {
        report_kernel("blocked", bloom_blocked_kernels[count]->name,
                      bloom_kernel_is_supported(bloom_blocked_kernels[count]));
        count++;
    }
    assert_true(count >= 1);
    assert_string_equal(bloom_blocked_kernels[count - 1]->name, "portable");
    assert_true(bloom_kernel_is_supported(bloom_blocked_kernels[count - 1]));
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

static void compare_single(const struct bloom_kernel *kernel) {
    uint64_t random = 1;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (uint32_t probes = 1; probes <= PROBES_MOST; probes++)
            for (size_t offset = 0; offset < 3; offset++) {
                struct bloom_shape shape = shape_of_blocks(probes, 1);
                uint8_t *memory = allocate_exactly(offset + BLOOM_BLOCK_BYTES);
                uint8_t *block = memory + offset;
                uint64_t value = random_next(&random);
                /* All of the key's bits, or all but one, among some others. */
                uint32_t left_out = (uint32_t)random_below(&random, 2 * probes);
                for (uint64_t others = random_below(&random, 6); others > 0; others--)
                    naive_add(block, random_next(&random), probes, probes);
                naive_add(block, value, probes, left_out);
                bool expected = naive_check(block, value, probes);
                if (left_out >= probes)
                    assert_true(expected);
                if (kernel->check_block(&shape, block, &value) != expected ||
                    kernel->check(&shape, block, value) != expected)
                    fail_msg("kernel %s, %u probes, key %016llx: not %d", kernel->name,
                             (unsigned)probes, (unsigned long long)value, expected);
                free(memory);
            }
}

static void single_checks(void) {
    with_each_kernel(compare_single);
}

static void compare_each_bit(const struct bloom_kernel *kernel) {
    uint64_t random = 2;
    uint8_t *block = allocate_exactly(BLOOM_BLOCK_BYTES);
    for (unsigned round = 0; round < 20; round++)
        for (unsigned bit = 0; bit < BLOOM_BLOCK_BITS; bit++) {
            uint64_t value = random_next(&random);
            struct bloom_shape shape =
                shape_of_blocks(1 + (uint32_t)random_below(&random, PROBES_MOST), 1);
            /* A full block but for one bit: no unless one of the probes is that bit. */
            memset(block, 0xff, BLOOM_BLOCK_BYTES);
            block[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(kernel->check_block(&shape, block, &value),
                             naive_check(block, value, shape.probes));
            /* An empty block but for one bit. */
            uint64_t one = value_of_word((uint64_t)bit << 55);
            uint64_t other = value_of_word(((uint64_t)bit ^ 1) << 55);
            shape.probes = 1;
            memset(block, 0, BLOOM_BLOCK_BYTES);
            block[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(naive_probe(one, 0), bit);
            assert_int_equal(kernel->check_block(&shape, block, &one), 1);
            assert_int_equal(kernel->check_block(&shape, block, &other), 0);
        }
    free(block);
}

static void each_bit(void) {
    with_each_kernel(compare_each_bit);
}

/* Of every number of keys from 0, all lengths of the stretches that a batch is made of among them.
 */
static void compare_batch(const struct bloom_kernel *kernel) {
    uint64_t random = 3;
    uint64_t yes = 0, no = 0;
    for (size_t count = 0; count <= KEYS_MOST; count++)
        for (uint32_t probes = 1 + (uint32_t)(count % 3); probes <= PROBES_MOST; probes += 3) {
            uint64_t blocks = 1 + random_below(&random, BLOCKS_MOST);
            size_t offset = random_below(&random, 3), bytes = blocks * BLOOM_BLOCK_BYTES;
            struct bloom_shape shape = shape_of_blocks(probes, blocks);
            uint8_t *memory = allocate_exactly(offset + bytes);
            uint8_t *payload = memory + offset;
            uint64_t *values = malloc((count + 1) * sizeof *values);
            uint8_t *found = allocate_exactly(count);
            assert_non_null(values);
            memset(found, 7, count);
            for (size_t i = 0; i < count; i++) {
                values[i] = random_next(&random);
                if (random_below(&random, 2) == 0)
                    naive_add(naive_block(payload, values[i], blocks), values[i], probes,
                              (uint32_t)random_below(&random, 2 * probes));
            }
            kernel->check_many(&shape, payload, values, count, found);
            for (size_t i = 0; i < count; i++) {
                const uint8_t *block = naive_block(payload, values[i], blocks);
                assert_int_equal(found[i], naive_check(block, values[i], probes));
                assert_int_equal(found[i], kernel->check(&shape, payload, values[i]));
                *(found[i] ? &yes : &no) += 1;
            }
            free(memory);
            free(values);
            free(found);
        }
    assert_true(yes > 10000 && no > 10000);
}

static void batches(void) {
    with_each_kernel(compare_batch);
}

static void compare_add(const struct bloom_kernel *kernel) {
    uint64_t random = 4;
    for (size_t count = 0; count <= KEYS_MOST; count++)
        for (uint32_t probes = 1 + (uint32_t)(count % 3); probes <= PROBES_MOST; probes += 3) {
            uint64_t blocks = 1 + random_below(&random, BLOCKS_MOST);
            size_t offset = random_below(&random, 3), bytes = blocks * BLOOM_BLOCK_BYTES;
            struct bloom_shape shape = shape_of_blocks(probes, blocks);
            uint8_t *memory = allocate_exactly(offset + bytes);
            uint8_t *expected = allocate_exactly(bytes);
            uint64_t *values = malloc((count + 1) * sizeof *values);
            assert_non_null(values);
            for (size_t i = 0; i < count; i++) {
                values[i] = random_next(&random);
                naive_add(naive_block(expected, values[i], blocks), values[i], probes, probes);
            }
            kernel->add(&shape, memory + offset, values, count);
            assert_memory_equal(memory + offset, expected, bytes);
            free(memory);
            free(expected);
            free(values);
        }
}

static void adding(void) {
    with_each_kernel(compare_add);
}

static void ones_are_counted(void) {
    uint64_t random = 5;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct bloom_shape shape = shape_of_blocks(1 + round % PROBES_MOST, 1);
        uint8_t *block = allocate_exactly(BLOOM_BLOCK_BYTES);
        uint8_t *expected = allocate_exactly(BLOOM_BLOCK_BYTES);
        unsigned repeated = 0;
        for (unsigned i = 0; i < 60; i++) {
            uint64_t value = random_next(&random);
            unsigned before = naive_ones(expected);
            naive_add(expected, value, shape.probes, shape.probes);
            unsigned more = bloom_layout_blocked.blocks->add(&shape, block, &value);
            assert_int_equal(more, naive_ones(expected) - before);
            repeated += more < shape.probes;
            assert_int_equal(bloom_layout_blocked.blocks->add(&shape, block, &value), 0);
        }
        assert_memory_equal(block, expected, BLOOM_BLOCK_BYTES);
        assert_true(repeated > 0);
        free(block);
        free(expected);
    }
}

/* Counting: a block of 512 counters of four bits. */

enum { COUNTERS = BLOOM_BLOCK_BITS, COUNTING_BYTES = COUNTERS / 2 };

static unsigned counter_at(const uint8_t *block, unsigned counter) {
    return block[counter / 2] >> 4 * (counter % 2) & 15;
}

static void set_counter(uint8_t *block, unsigned counter, unsigned value) {
    block[counter / 2] &= (uint8_t)(0xf0 >> 4 * (counter % 2));
    block[counter / 2] |= (uint8_t)(value << 4 * (counter % 2));
}

static bool naive_counting_check(const uint8_t *block, uint64_t value, uint32_t probes) {
    bool all = true;
    for (uint32_t i = 0; i < probes; i++)
        all = all && counter_at(block, naive_probe(value, i)) > 0;
    return all;
}

static void counting_kernels_agree(void) {
    uint64_t random = 6, answers[2] = {0, 0};
    size_t kernels = 0;
    for (; bloom_counting_kernels[kernels] != NULL; kernels++)
        report_kernel("counting", bloom_counting_kernels[kernels]->name,
                      bloom_kernel_is_supported(bloom_counting_kernels[kernels]));
    assert_string_equal(bloom_counting_kernels[kernels - 1]->name, "portable");
    assert_true(bloom_kernel_is_supported(bloom_counting_kernels[kernels - 1]));
    for (unsigned round = 0; round < ROUNDS; round++)
        for (uint32_t probes = 1; probes <= PROBES_MOST; probes++) {
            size_t offset = random_below(&random, 3);
            uint8_t *memory = allocate_exactly(offset + COUNTING_BYTES), *block = memory + offset;
            struct bloom_shape shape = {.layout = &bloom_layout_counting,
                                        .probes = probes,
                                        .bits = UINT64_C(8) * COUNTING_BYTES};
            uint64_t value = random_next(&random);
            /* All of the key's counters, or all but one, among some others; of any value. */
            uint32_t left_out = (uint32_t)random_below(&random, 2 * probes);
            for (uint64_t others = random_below(&random, 200); others > 0; others--)
                set_counter(block, (unsigned)random_below(&random, COUNTERS),
                            (unsigned)random_below(&random, 16));
            for (uint32_t i = 0; i < probes; i++)
                set_counter(block, naive_probe(value, i), 1 + (unsigned)random_below(&random, 15));
            if (left_out < probes)
                set_counter(block, naive_probe(value, left_out), 0);
            bool expected = naive_counting_check(block, value, probes);
            assert_int_equal(expected, left_out >= probes);
            answers[expected]++;
            for (size_t i = 0; i < kernels; i++)
                if (bloom_kernel_is_supported(bloom_counting_kernels[i]) &&
                    bloom_counting_kernels[i]->check_block(&shape, block, &value) != expected)
                    fail_msg("counting kernel %s, %u probes, key %016llx: not %d",
                             bloom_counting_kernels[i]->name, (unsigned)probes,
                             (unsigned long long)value, expected);
            free(memory);
        }
    assert_true(answers[0] > 1000 && answers[1] > 1000);
}

/* A block of zeros but for one counter, of every place and value: found by the key whose only probe
 * it is, and not by the one of the counter beside it. */
static void counting_kernels_look_at_each_counter(void) {
    for (size_t i = 0; bloom_counting_kernels[i] != NULL; i++) {
        const struct bloom_kernel *kernel = bloom_counting_kernels[i];
        uint8_t *block = allocate_exactly(COUNTING_BYTES);
        struct bloom_shape shape = {
            .layout = &bloom_layout_counting, .probes = 1, .bits = UINT64_C(8) * COUNTING_BYTES};
        for (unsigned counter = 0; bloom_kernel_is_supported(kernel) && counter < COUNTERS;
             counter++) {
            uint64_t one = value_of_word((uint64_t)counter << 55);
            uint64_t other = value_of_word(((uint64_t)counter ^ 1) << 55);
            for (unsigned value = 0; value < 16; value++) {
                set_counter(block, counter, value);
                assert_int_equal(kernel->check_block(&shape, block, &one), value > 0);
                assert_int_equal(kernel->check_block(&shape, block, &other), 0);
            }
            set_counter(block, counter, 0);
        }
        free(block);
    }
}

/* Each in a process of its own, in which nothing of the layout has been called: 1 when the answer
 * is right. */
static int first_check(const struct bloom_shape *shape, uint8_t *filled, const uint64_t *value) {
    return bloom_layout_blocked.check(shape, filled, value);
}

static int first_check_block(const struct bloom_shape *shape, uint8_t *filled,
                             const uint64_t *value) {
    return bloom_layout_blocked.blocks->check(shape, filled, value);
}

static int first_check_many(const struct bloom_shape *shape, uint8_t *filled,
                            const uint64_t *value) {
    uint8_t found = 7;
    bloom_layout_blocked.check_many(shape, filled, value, 1, &found);
    return found;
}

static int first_add(const struct bloom_shape *shape, uint8_t *filled, const uint64_t *value) {
    uint8_t block[BLOOM_BLOCK_BYTES] = {0};
    bloom_layout_blocked.add(shape, block, value, 1);
    return memcmp(block, filled, sizeof block) == 0;
}

static void any_first_call(void) {
    int (*const calls[])(const struct bloom_shape *, uint8_t *, const uint64_t *) = {
        first_check, first_check_block, first_check_many, first_add};
    struct bloom_shape shape = shape_of_blocks(9, 1);
    uint64_t value = UINT64_C(0x0123456789abcdef);
    uint8_t filled[BLOOM_BLOCK_BYTES] = {0};
    naive_add(filled, value, shape.probes, shape.probes);
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            exit(calls[i](&shape, filled, &value) == 1 && calls[i](&shape, filled, &value) == 1
                     ? EXIT_SUCCESS
                     : EXIT_FAILURE);
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), EXIT_SUCCESS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* First: it needs a process in which no kernel has been chosen. */
        TEST("Whichever function of the layout is called first, it chooses a kernel that is right",
             any_first_call),
        TEST("There is a portable kernel, the last of the list", last_is_portable),
        TEST("Kernels run on the processors that have their instructions",
             kernels_are_those_of_the_processor),
        TEST("Every kernel finds a key whose bits are set, and misses one that lacks a bit",
             single_checks),
        TEST("Every kernel looks at exactly the right bits", each_bit),
        TEST("Every kernel checks batches of every length as it checks single keys", batches),
        TEST("Every kernel adds batches of every length, bit for bit", adding),
        TEST("Every kernel of counting finds a key whose counters are above zero, and no other",
             counting_kernels_agree),
        TEST("Every kernel of counting looks at exactly the right counters",
             counting_kernels_look_at_each_counter),
        TEST("Adding to a block of a filter table tells how many ones it has more",
             ones_are_counted),
    };
    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
