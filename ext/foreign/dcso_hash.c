/* Hashing `fnv`: FNV-1 with 64 bits (Fowler, Noll, Vo; multiplied first, then xored, so not
 * FNV-1a), as DCSO's bloom uses it. Text is its UTF-8 bytes, a BLOB its bytes. Numbers have no key.
 *
 * By definition each byte waits for the product of the byte before it. The loop takes eight bytes
 * at a time, because the end of a loop over single bytes would be mispredicted for each key. */
#include "hash/hashing.h"

#define FNV_PRIME UINT64_C(0x100000001b3)

static void fnv_bytes(const uint64_t seed[2], const void *bytes, size_t length, uint64_t *words) {
    const uint8_t *at = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    (void)seed;
    for (; length >= 8; length -= 8, at += 8) {
        hash = hash * FNV_PRIME ^ at[0];
        hash = hash * FNV_PRIME ^ at[1];
        hash = hash * FNV_PRIME ^ at[2];
        hash = hash * FNV_PRIME ^ at[3];
        hash = hash * FNV_PRIME ^ at[4];
        hash = hash * FNV_PRIME ^ at[5];
        hash = hash * FNV_PRIME ^ at[6];
        hash = hash * FNV_PRIME ^ at[7];
    }
    for (; length > 0; length--)
        hash = hash * FNV_PRIME ^ *at++;
    words[0] = hash;
}

const struct bloom_hashing bloom_hashing_fnv = {
    .name = "fnv",
    .keys = "text and BLOBs",
    .number = 5,
    .words = 1,
    .bytes = fnv_bytes,
};
