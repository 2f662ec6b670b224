/* Lists of any bytes: what read_list.h says holds. A second reading, into memory with other bytes,
 * has as many rows. */
#include "read_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct bloom_list list, again;
    uint8_t *copy = fuzz_copy(data, size);
    unsigned keys;
    const unsigned count = read_list(&list, copy, size, &keys);
    memset(&again, 0xa5, sizeof again);
    if (read_list(&again, copy, size, &keys) != count)
        abort();
    free(copy);
    return 0;
}
