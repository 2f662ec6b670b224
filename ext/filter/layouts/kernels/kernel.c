/* Choosing a kernel. Before the choice, a layout calls functions that choose, and that find the
 * choice of the layout by the shape. */
#include "filter/layouts/kernels/kernel.h"

bool bloom_kernel_is_supported(const struct bloom_kernel *kernel) {
    return kernel->supported == NULL || kernel->supported();
}

const struct bloom_kernel *bloom_kernel_choose(struct bloom_kernel_choice *choice) {
    const struct bloom_kernel *const *candidate = choice->kernels;
    while (!bloom_kernel_is_supported(*candidate))
        candidate++;
    atomic_store_explicit(&choice->chosen, *candidate, memory_order_relaxed);
    return *candidate;
}

static const struct bloom_kernel *choose_for(const struct bloom_shape *shape) {
    return bloom_kernel_choose(shape->layout->kernels);
}

static int first_check(const struct bloom_shape *shape, const uint8_t *payload, uint64_t word) {
    return choose_for(shape)->check(shape, payload, word);
}

static bool first_check_block(const struct bloom_shape *shape, const uint8_t *block,
                              const uint64_t *words) {
    return choose_for(shape)->check_block(shape, block, words);
}

static void first_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                             const uint64_t *words, size_t count, uint8_t *found) {
    choose_for(shape)->check_many(shape, payload, words, count, found);
}

static void first_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                      size_t count) {
    choose_for(shape)->add(shape, payload, words, count);
}

const struct bloom_kernel bloom_kernel_undecided = {
    .name = "undecided",
    .check = first_check,
    .check_block = first_check_block,
    .check_many = first_check_many,
    .add = first_add,
};
