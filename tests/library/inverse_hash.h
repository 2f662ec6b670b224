/* Steps of MurmurHash3 x64 128 backwards, for tests that choose keys by their hashes: it has no
 * secret, and every step of it can be undone. */
#ifndef INVERSE_HASH_H
#define INVERSE_HASH_H

#include <stdint.h>

/* The factors of the two halves of a block. */
static const uint64_t HASH_C1 = UINT64_C(0x87c37b91114253d5);
static const uint64_t HASH_C2 = UINT64_C(0x4cf5ad432745937f);

/* The number by which an odd one is multiplied to give 1, by Newton's steps. */
static inline uint64_t reciprocal(uint64_t odd) {
    uint64_t inverse = odd;
    for (int i = 0; i < 5; i++)
        inverse *= 2 - odd * inverse;
    return inverse;
}

/* What the last mixing of a half makes that word of. */
static inline uint64_t unmix(uint64_t word) {
    word ^= word >> 33;
    word *= reciprocal(UINT64_C(0xc4ceb9fe1a85ec53));
    word ^= word >> 33;
    word *= reciprocal(UINT64_C(0xff51afd7ed558ccd));
    return word ^ word >> 33;
}

static inline uint64_t rotated_left(uint64_t word, int count) {
    return word << count | word >> (64 - count);
}

/* Writes the key of 16 bytes that has this hash. */
static inline void key_of_words(uint64_t first, uint64_t second, uint8_t key[16]) {
    uint64_t h1 = first, h2 = second - first, k[2];
    h1 -= h2;
    h1 = unmix(h1);
    h2 = unmix(h2);
    h2 -= h1;
    h1 -= h2;
    h1 ^= 16;
    h2 ^= 16;
    k[0] = rotated_left((h1 - UINT64_C(0x52dce729)) * reciprocal(5), 37);
    k[1] = rotated_left((h2 - UINT64_C(0x38495ab5)) * reciprocal(5) - h1, 33);
    k[0] = rotated_left(k[0] * reciprocal(HASH_C2), 33) * reciprocal(HASH_C1);
    k[1] = rotated_left(k[1] * reciprocal(HASH_C1), 31) * reciprocal(HASH_C2);
    for (int i = 0; i < 16; i++)
        key[i] = (uint8_t)(k[i / 8] >> 8 * (i % 8));
}

#endif
