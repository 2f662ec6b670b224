/* Hashing `fnv`: FNV-1 with 64 bits (Fowler, Noll, Vo; multiplied first, then xored, so not
 * FNV-1a), as DCSO's bloom uses it. Text is its UTF-8 bytes, a BLOB its bytes; there are no
 * numbers.
 *
 * A byte waits for the product of the one before it: some 1.2 ns a byte, which is in the
 * definition.
 */
#include "filter/hashing.h"

static bool fnv_bytes(const uint64_t extra[2], const void *bytes, size_t length, uint64_t *words) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    (void)extra;
    for (size_t i = 0; i < length; i++)
        hash = hash * UINT64_C(0x100000001b3) ^ ((const uint8_t *)bytes)[i];
    words[0] = hash;
    return true;
}

const struct bloom_hashing bloom_hashing_fnv = {
    .name = "fnv",
    .keys = "text and BLOBs",
    .number = 5,
    .words = 1,
    .text = fnv_bytes,
    .bytes = fnv_bytes,
};
