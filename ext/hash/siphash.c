/* Hashing `siphash`: SipHash-2-4 with 64 bits (Aumasson, Bernstein, "SipHash: a fast short-input
 * PRF", 2012) under the salt of a filter, over the bytes that murmur3 hashes.
 *
 * MurmurHash3 can be inverted in a few operations, so an attacker who chooses keys can choose their
 * hashes. SipHash under a key of 128 random bits is a pseudorandom function: without the salt,
 * nobody can distinguish its values from random words. */
#include "hash/hashing.h"

#include "base/portable.h"

enum { SIPHASH_FINAL_ROUNDS = 4 };

struct siphash {
    uint64_t a, b, c, d;
};

static inline void siphash_round(struct siphash *state) {
    state->a += state->b;
    state->c += state->d;
    state->b = bloom_rotate64(state->b, 13) ^ state->a;
    state->d = bloom_rotate64(state->d, 16) ^ state->c;
    state->a = bloom_rotate64(state->a, 32);
    state->c += state->b;
    state->a += state->d;
    state->b = bloom_rotate64(state->b, 17) ^ state->c;
    state->d = bloom_rotate64(state->d, 21) ^ state->a;
    state->c = bloom_rotate64(state->c, 32);
}

static inline void siphash_word(struct siphash *state, uint64_t word) {
    state->d ^= word;
    siphash_round(state);
    siphash_round(state);
    state->a ^= word;
}

static inline struct siphash siphash_begin(const uint64_t salt[2]) {
    return (struct siphash){
        salt[0] ^ UINT64_C(0x736f6d6570736575), salt[1] ^ UINT64_C(0x646f72616e646f6d),
        salt[0] ^ UINT64_C(0x6c7967656e657261), salt[1] ^ UINT64_C(0x7465646279746573)};
}

/* Takes the last length % 8 bytes, which fill no word, and returns the hash. */
static inline uint64_t siphash_end(struct siphash state, uint64_t tail, uint64_t length) {
    siphash_word(&state, tail | length << 56);
    state.c ^= 0xff;
    for (int i = 0; i < SIPHASH_FINAL_ROUNDS; i++)
        siphash_round(&state);
    return state.a ^ state.b ^ state.c ^ state.d;
}

static void siphash_bytes(const uint64_t seed[2], const void *bytes, size_t length,
                          uint64_t *words) {
    const uint8_t *at = bytes;
    size_t left = length % 8;
    struct siphash state = siphash_begin(seed);
    for (size_t i = length / 8; i > 0; i--, at += 8)
        siphash_word(&state, bloom_load64(at));
    words[0] = siphash_end(state, left > 0 ? bloom_load_partial(at, left) : 0, length);
}

static bool siphash_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    struct siphash state = siphash_begin(seed);
    siphash_word(&state, (uint64_t)key);
    words[0] = siphash_end(state, 0, 8);
    return true;
}

const struct bloom_hashing bloom_hashing_siphash = {
    .keys = "text, BLOBs and numbers",
    .number = 10,
    .bytes = siphash_bytes,
    .integer = siphash_integer,
    .reals = BLOOM_REALS_WHOLE_OR_BITS,
};
