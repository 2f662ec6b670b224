/* MurmurHash3 x64 128 with seed 0, and the rules that turn numbers into keys. See hash.h. */
#include "filter/hash.h"
#include "filter/portable.h"

static const uint64_t FIRST_FACTOR = 0x87c37b91114253d5ULL;
static const uint64_t SECOND_FACTOR = 0x4cf5ad432745937fULL;

static inline uint64_t rotate_left(uint64_t value, int count) {
    return value << count | value >> (64 - count);
}

/* How each half of a 16-byte block, or of the tail, is scrambled before it is mixed into the state.
 * A zero stays zero, so a tail can be filled up with zeros without changing the outcome. */
static inline uint64_t scramble_first(uint64_t word) {
    return rotate_left(word * FIRST_FACTOR, 31) * SECOND_FACTOR;
}

static inline uint64_t scramble_second(uint64_t word) {
    return rotate_left(word * SECOND_FACTOR, 33) * FIRST_FACTOR;
}

static inline uint64_t finalize(uint64_t word) {
    word = (word ^ word >> 33) * 0xff51afd7ed558ccdULL;
    word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53ULL;
    return word ^ word >> 33;
}

static inline struct bloom_hash finish(uint64_t first, uint64_t second, uint64_t length) {
    first ^= length;
    second ^= length;
    first += second;
    second += first;
    first = finalize(first);
    second = finalize(second);
    first += second;
    second += first;
    return (struct bloom_hash){{first, second}};
}

/* The last 1 to 8 bytes as a little-endian word, the missing ones zero. Overlapping loads instead
 * of a switch over the length: keys of mixed lengths mispredict the switch (27.6 ns against 18.8 ns
 * per 60- to 80-byte key). */
static inline uint64_t load_partial(const uint8_t *bytes, size_t length) {
    if (length >= 4)
        return bloom_load32(bytes) | (uint64_t)bloom_load32(bytes + length - 4)
                                         << (8 * (length - 4));
    return bytes[0] | (uint64_t)bytes[length / 2] << (8 * (length / 2)) |
           (uint64_t)bytes[length - 1] << (8 * (length - 1));
}

static inline struct bloom_hash mix_blocks(struct bloom_hash state, const uint8_t *bytes,
                                           size_t blocks) {
    uint64_t first = state.words[0], second = state.words[1];
    for (; blocks > 0; blocks--, bytes += BLOOM_HASH_BLOCK_BYTES) {
        first ^= scramble_first(bloom_load64(bytes));
        first = (rotate_left(first, 27) + second) * 5 + 0x52dce729;
        second ^= scramble_second(bloom_load64(bytes + 8));
        second = (rotate_left(second, 31) + first) * 5 + 0x38495ab5;
    }
    return (struct bloom_hash){{first, second}};
}

static inline struct bloom_hash mix_tail(struct bloom_hash state, const uint8_t *bytes, size_t left,
                                         uint64_t length) {
    uint64_t first = state.words[0], second = state.words[1];
    if (left > 8) {
        /* Bytes 8 .. left-1 of the tail. Reading 8 bytes that end with the key is in bounds here.
         */
        second ^= scramble_second(bloom_load64(bytes + left - 8) >> (8 * (16 - left)));
        first ^= scramble_first(bloom_load64(bytes));
    } else if (left > 0) {
        first ^= scramble_first(load_partial(bytes, left));
    }
    return finish(first, second, length);
}

struct bloom_hash bloom_hash_bytes(const void *key, size_t length) {
    const uint8_t *bytes = key;
    size_t left = length % BLOOM_HASH_BLOCK_BYTES;
    struct bloom_hash state = {{0, 0}};
    if (length >= BLOOM_HASH_BLOCK_BYTES) {
        state = mix_blocks(state, bytes, length / BLOOM_HASH_BLOCK_BYTES);
        bytes += length - left;
    }
    return mix_tail(state, bytes, left, length);
}

struct bloom_hash bloom_hash_blocks(struct bloom_hash state, const uint8_t *bytes, size_t blocks) {
    return mix_blocks(state, bytes, blocks);
}

struct bloom_hash bloom_hash_end(struct bloom_hash state, const uint8_t *tail, size_t left,
                                 uint64_t length) {
    return mix_tail(state, tail, left, length);
}

struct bloom_hash bloom_hash_integer(int64_t key) {
    return finish(scramble_first((uint64_t)key), 0, 8);
}

bool bloom_integer_of(double key, int64_t *integer) {
    /* 2^63 itself is out of the integer range, -2^63 is in it; both are exact doubles. */
    if (!(key >= -9223372036854775808.0 && key < 9223372036854775808.0))
        return false;
    *integer = (int64_t)key;
    return (double)*integer == key;
}

struct bloom_hash bloom_hash_real(double key) {
    int64_t bits;
    if (bloom_integer_of(key, &bits))
        return bloom_hash_integer(bits);
    memcpy(&bits, &key, sizeof bits);
    return bloom_hash_integer(bits);
}

void bloom_hash_write(struct bloom_hash hash, uint8_t bytes[16]) {
    bloom_store64(bytes, hash.words[0]);
    bloom_store64(bytes + 8, hash.words[1]);
}
