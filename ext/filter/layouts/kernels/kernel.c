/* A layout chooses its kernel when it is first used, and keeps the choice. */
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
