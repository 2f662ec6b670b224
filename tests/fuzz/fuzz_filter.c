/* Arbitrary bytes as a filter, on the library floor: what the gatekeeper lets through can be read,
 * written and counted within its bounds. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = fuzz_copy(data, size);
    do {
        char problem[BLOOM_PROBLEM_SIZE];
        struct bloom_shape shape;
        if (bloom_filter_read(&shape, bytes, size, problem))
            fuzz_use_filter(&shape, bytes);
    } while (fuzz_repair(bytes, size));
    free(bytes);
    return 0;
}
