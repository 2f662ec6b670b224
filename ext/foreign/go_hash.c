/* Hashing `murmur3-twice`: MurmurHash3 x64 128 with seed 0 of the key, and of the key followed by
 * one byte 01; four words, as Go's bits-and-blooms/bloom uses them. Text is its UTF-8 bytes, a BLOB
 * its bytes. Numbers have no key, because every Go program encodes them in its own way.
 *
 * Both hashes read the same full blocks of 16 bytes, so those blocks are mixed in only once. */
#include "hash/hashing.h"

#include "hash/murmur3.h"

static void murmur3_twice_bytes(const uint64_t seed[2], const void *bytes, size_t length,
                                uint64_t *words) {
    size_t left = length % BLOOM_MURMUR3_BLOCK_BYTES;
    struct bloom_murmur3 state = {0, 0}, first;
    uint64_t low = 0, high = 0;
    (void)seed;
    if (length >= BLOOM_MURMUR3_BLOCK_BYTES)
        bloom_murmur3_blocks(&state, bytes, length / BLOOM_MURMUR3_BLOCK_BYTES);
    if (left > 0)
        bloom_murmur3_load_tail((const uint8_t *)bytes + length - left, left, &low, &high);
    first = state;
    bloom_murmur3_tail(&first, low, high);
    bloom_murmur3_end(first, length, words);
    if (left < 8)
        low |= UINT64_C(1) << 8 * left;
    else
        high |= UINT64_C(1) << 8 * (left - 8);
    if (left == BLOOM_MURMUR3_BLOCK_BYTES - 1)
        bloom_murmur3_block(&state, low, high);
    else
        bloom_murmur3_tail(&state, low, high);
    bloom_murmur3_end(state, length + 1, words + 2);
}

const struct bloom_hashing bloom_hashing_murmur3_twice = {
    .name = "murmur3-twice",
    .keys = "text and BLOBs",
    .number = 6,
    .words = 4,
    .bytes = murmur3_twice_bytes,
};
