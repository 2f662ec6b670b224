/* Every kernel of layout blocked that this processor can run answers as the portable one does, and as a
 * program does that looks at one bit after the other. */
#include "library_test.h"

#include "filter/blocked_kernel.h"

enum { HASHES_MOST = 21, BATCH_MOST = 32, ROUNDS = 400 };

static bool naive_check(const uint8_t *block, uint64_t word, uint32_t hashes) {
    bool all = true;
    for (uint32_t i = 0; i < hashes; i++) {
        if (i == 7 || i == 14)
            word = bloom_next_probe_word(word);
        uint64_t probe = word >> (55 - 9 * (i % 7)) & 511;
        all = all && (block[probe / 8] >> probe % 8 & 1) != 0;
    }
    return all;
}

static void naive_add(uint8_t *block, uint64_t word, uint32_t hashes, uint32_t left_out) {
    for (uint32_t i = 0; i < hashes; i++) {
        if (i == 7 || i == 14)
            word = bloom_next_probe_word(word);
        uint64_t probe = word >> (55 - 9 * (i % 7)) & 511;
        if (i != left_out)
            block[probe / 8] |= (uint8_t)(1u << probe % 8);
    }
}

/* Calls compare for each kernel that the processor supports. */
static void with_each_kernel(void (*compare)(const struct bloom_blocked_kernel *)) {
    unsigned compared = 0;
    for (size_t i = 0; bloom_blocked_kernels[i] != NULL; i++)
        if (bloom_blocked_kernels[i]->supported()) {
            compare(bloom_blocked_kernels[i]);
            compared++;
        }
    assert_true(compared >= 1);
}

static void last_is_portable(void **state) {
    (void)state;
    size_t count = 0;
    while (bloom_blocked_kernels[count] != NULL) {
        print_message("kernel %s: %s\n", bloom_blocked_kernels[count]->name,
                      bloom_blocked_kernels[count]->supported() ? "compared"
                                                                : "not on this processor");
        count++;
    }
    assert_true(count >= 1);
    assert_string_equal(bloom_blocked_kernels[count - 1]->name, "portable");
    assert_true(bloom_blocked_kernels[count - 1]->supported());
}

static void compare_single(const struct bloom_blocked_kernel *kernel) {
    uint64_t random = 1;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (uint32_t hashes = 1; hashes <= HASHES_MOST; hashes++)
            for (size_t offset = 0; offset < 3; offset++) {
                uint8_t *memory = allocate_exactly(offset + BLOOM_BLOCK_BYTES);
                uint8_t *block = memory + offset;
                uint64_t word = random_next(&random);
                /* All of the key's bits, or all but one, among some others. */
                uint32_t left_out = (uint32_t)random_below(&random, 2 * hashes);
                for (uint64_t others = random_below(&random, 6); others > 0; others--)
                    naive_add(block, random_next(&random), hashes, hashes);
                naive_add(block, word, hashes, left_out);
                bool expected = naive_check(block, word, hashes);
                if (left_out >= hashes)
                    assert_true(expected);
                if (kernel->check(block, word, hashes) != expected)
                    fail_msg("kernel %s, %u hashes, word %016llx: not %d", kernel->name,
                             (unsigned)hashes, (unsigned long long)word, expected);
                free(memory);
            }
}

static void single_checks(void **state) {
    (void)state;
    with_each_kernel(compare_single);
}

static void compare_each_bit(const struct bloom_blocked_kernel *kernel) {
    uint64_t random = 2;
    uint8_t *block = allocate_exactly(BLOOM_BLOCK_BYTES);
    for (unsigned round = 0; round < 20; round++)
        for (unsigned bit = 0; bit < BLOOM_BLOCK_BITS; bit++) {
            uint64_t word = random_next(&random);
            uint32_t hashes = 1 + (uint32_t)random_below(&random, HASHES_MOST);
            /* A full block but for one bit: no unless one of the probes is that bit. */
            memset(block, 0xff, BLOOM_BLOCK_BYTES);
            block[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(kernel->check(block, word, hashes), naive_check(block, word, hashes));
            /* An empty block but for one bit. */
            memset(block, 0, BLOOM_BLOCK_BYTES);
            block[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_int_equal(kernel->check(block, (uint64_t)bit << 55, 1), 1);
            assert_int_equal(kernel->check(block, ((uint64_t)bit ^ 1) << 55, 1), 0);
        }
    free(block);
}

static void each_bit(void **state) {
    (void)state;
    with_each_kernel(compare_each_bit);
}

static void compare_batch(const struct bloom_blocked_kernel *kernel) {
    uint64_t random = 3;
    uint64_t yes = 0, no = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t count = random_below(&random, BATCH_MOST + 1);
        uint32_t hashes = 1 + (uint32_t)random_below(&random, HASHES_MOST);
        uint8_t *memory = allocate_exactly(BATCH_MOST * BLOOM_BLOCK_BYTES);
        const uint8_t *blocks[BATCH_MOST];
        uint64_t words[BATCH_MOST];
        uint8_t *found = allocate_exactly(count);
        memset(found, 7, count);
        for (size_t i = 0; i < count; i++) {
            uint8_t *block = memory + random_below(&random, BATCH_MOST) * BLOOM_BLOCK_BYTES;
            blocks[i] = block;
            words[i] = random_next(&random);
            if (random_below(&random, 2) == 0)
                naive_add(block, words[i], hashes, (uint32_t)random_below(&random, 2 * hashes));
        }
        kernel->check_batch(blocks, words, count, hashes, found);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(found[i], naive_check(blocks[i], words[i], hashes));
            *(found[i] ? &yes : &no) += 1;
        }
        free(memory);
        free(found);
    }
    assert_true(yes > ROUNDS && no > ROUNDS);
}

static void batches(void **state) {
    (void)state;
    with_each_kernel(compare_batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("There is a portable kernel, the last of the list", last_is_portable),
        TEST("Every kernel finds a key whose bits are set, and misses one that lacks a bit",
             single_checks),
        TEST("Every kernel looks at exactly the right bits", each_bit),
        TEST("Every kernel checks a batch as it checks single keys", batches),
    };
    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
