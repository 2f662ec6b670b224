/* MurmurHash3 x64 128 with seed 0 (Austin Appleby, public domain, 2011), in parts for the hashings
 * that are made of it: a state, whole blocks of two words, the tail, the end. Its verification
 * value is 0x6384BA69.
 *
 * All of it is inline and works on words in registers. GCC 12 stores a pair that a function returns
 * in two registers, or bytes that are put together in memory, in small pieces and reads them back
 * as one large piece. Such a read waits until these stores have left the processor, and all stores
 * before them, which wait for the cache misses of the previous check. So a hash and a check would
 * take twice as long. */
#ifndef BLOOM_HASH_MURMUR3_H
#define BLOOM_HASH_MURMUR3_H

#include "base/portable.h"

#include <stddef.h>

enum { BLOOM_MURMUR3_BLOCK_BYTES = 16 };

#define BLOOM_MURMUR3_FIRST UINT64_C(0x87c37b91114253d5)
#define BLOOM_MURMUR3_SECOND UINT64_C(0x4cf5ad432745937f)

/* Begins as zeros. */
struct bloom_murmur3 {
    uint64_t first, second;
};

/* Scramble the halves of a block, or of the tail, before they are mixed into the state. A zero
 * stays zero, so a tail can be filled up with zeros without changing the result. */
static inline uint64_t bloom_murmur3_scramble_first(uint64_t word) {
    return bloom_rotate64(word * BLOOM_MURMUR3_FIRST, 31) * BLOOM_MURMUR3_SECOND;
}

static inline uint64_t bloom_murmur3_scramble_second(uint64_t word) {
    return bloom_rotate64(word * BLOOM_MURMUR3_SECOND, 33) * BLOOM_MURMUR3_FIRST;
}

static inline void bloom_murmur3_block(struct bloom_murmur3 *state, uint64_t low, uint64_t high) {
    state->first ^= bloom_murmur3_scramble_first(low);
    state->first = (bloom_rotate64(state->first, 27) + state->second) * 5 + 0x52dce729;
    state->second ^= bloom_murmur3_scramble_second(high);
    state->second = (bloom_rotate64(state->second, 31) + state->first) * 5 + 0x38495ab5;
}

static inline void bloom_murmur3_blocks(struct bloom_murmur3 *state, const uint8_t *bytes,
                                        size_t blocks) {
    for (; blocks > 0; blocks--, bytes += BLOOM_MURMUR3_BLOCK_BYTES)
        bloom_murmur3_block(state, bloom_load64(bytes), bloom_load64(bytes + 8));
}

/* The 1 to 15 bytes that are in no block, as two words, missing bytes zero. */
static inline void bloom_murmur3_load_tail(const uint8_t *bytes, size_t left, uint64_t *low,
                                           uint64_t *high) {
    *low = *high = 0;
    if (left > 8) {
        /* Reading 8 bytes that end with the key is in bounds here. */
        *high = bloom_load64(bytes + left - 8) >> (8 * (BLOOM_MURMUR3_BLOCK_BYTES - left));
        *low = bloom_load64(bytes);
    } else {
        *low = bloom_load_partial(bytes, left);
    }
}

static inline void bloom_murmur3_tail(struct bloom_murmur3 *state, uint64_t low, uint64_t high) {
    state->first ^= bloom_murmur3_scramble_first(low);
    state->second ^= bloom_murmur3_scramble_second(high);
}

static inline uint64_t bloom_murmur3_finalize(uint64_t word) {
    word = (word ^ word >> 33) * UINT64_C(0xff51afd7ed558ccd);
    word = (word ^ word >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return word ^ word >> 33;
}

/* Writes the hash of a key of that many bytes, all of which the state has seen. */
static inline void bloom_murmur3_end(struct bloom_murmur3 state, uint64_t length,
                                     uint64_t words[2]) {
    uint64_t first = state.first ^ length, second = state.second ^ length;
    first += second;
    second += first;
    first = bloom_murmur3_finalize(first);
    second = bloom_murmur3_finalize(second);
    first += second;
    words[0] = first;
    words[1] = second + first;
}

/* Writes the hash of a key of length bytes; key may be NULL when length is 0. */
static inline void bloom_murmur3_bytes(const void *key, size_t length, uint64_t words[2]) {
    const uint8_t *bytes = (const uint8_t *)key;
    size_t left = length % BLOOM_MURMUR3_BLOCK_BYTES;
    struct bloom_murmur3 state = {0, 0};
    uint64_t low, high;
    if (length >= BLOOM_MURMUR3_BLOCK_BYTES) {
        bloom_murmur3_blocks(&state, bytes, length / BLOOM_MURMUR3_BLOCK_BYTES);
        bytes += length - left;
    }
    if (left > 0) {
        bloom_murmur3_load_tail(bytes, left, &low, &high);
        bloom_murmur3_tail(&state, low, high);
    }
    bloom_murmur3_end(state, length, words);
}

/* Writes the hash of the 8 bytes of an integer, the lowest first. */
static inline void bloom_murmur3_integer(int64_t key, uint64_t words[2]) {
    struct bloom_murmur3 state = {bloom_murmur3_scramble_first((uint64_t)key), 0};
    bloom_murmur3_end(state, 8, words);
}

#endif
