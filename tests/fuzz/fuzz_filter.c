/* Arbitrary bytes as a filter, on the library floor: what the gatekeeper lets through can be read, written
 * and counted within its bounds. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int repair = 0; repair <= 1; repair++) {
        uint8_t *bytes = fuzz_copy(data, size, repair);
        char problem[BLOOM_PROBLEM_SIZE];
        struct bloom_shape shape;
        if (bloom_filter_read(&shape, bytes, size, problem)) {
            uint8_t *payload = bytes + BLOOM_HEADER_BYTES;
            uint8_t found[40];
            uint64_t values[80];
            for (unsigned i = 0; i < 80; i++)
                values[i] = i * 0x0404040404040404U - (i & 1);
            shape.layout->add(&shape, payload, values, 40);
            shape.layout->check_many(&shape, payload, values, 40, found);
            for (unsigned i = 0; i < 40; i++)
                if (!found[i] || !shape.layout->check(&shape, payload, values + i * shape.layout->hash_words))
                    abort(); /* a false negative */
            struct bloom_estimate estimate = shape.layout->estimate(&shape, payload);
            if (!(estimate.rate >= 0 && estimate.rate <= 1) || !(estimate.count >= 0))
                abort();
        }
        free(bytes);
    }
    return 0;
}
