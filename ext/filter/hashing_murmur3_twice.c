/* Hashing `murmur3-twice`: MurmurHash3 x64 128 with seed 0 of the key, and of the key followed by
 * one byte 01; four words, as Go's bits-and-blooms/bloom uses them. Text is its UTF-8 bytes, a BLOB
 * its bytes; there are no numbers, which every Go program encodes as it likes.
 *
 * Both hashes read the same whole blocks of 16 bytes, so these are mixed in only once.
 */
#include "filter/hashing.h"

#include "filter/hash.h"

#include <string.h>

static bool murmur3_twice_bytes(const uint64_t extra[2], const void *bytes, size_t length,
                                uint64_t *words) {
    uint8_t tail[BLOOM_HASH_BLOCK_BYTES] = {0}; /* what is not read: so that gcc sees it, too */
    size_t left = length % sizeof tail, blocks = length / sizeof tail;
    struct bloom_hash state = {{0, 0}};
    (void)extra;
    if (blocks > 0)
        state = bloom_hash_blocks(state, bytes, blocks);
    if (left > 0)
        memcpy(tail, (const uint8_t *)bytes + length - left, left);
    struct bloom_hash first = bloom_hash_end(state, tail, left, length);
    tail[left++] = 1;
    if (left == sizeof tail) {
        state = bloom_hash_blocks(state, tail, 1);
        left = 0;
    }
    struct bloom_hash second = bloom_hash_end(state, tail, left, length + 1);
    memcpy(words, first.words, sizeof first.words);
    memcpy(words + 2, second.words, sizeof second.words);
    return true;
}

const struct bloom_hashing bloom_hashing_murmur3_twice = {
    .name = "murmur3-twice",
    .keys = "text and BLOBs",
    .number = 6,
    .words = 4,
    .text = murmur3_twice_bytes,
    .bytes = murmur3_twice_bytes,
};
