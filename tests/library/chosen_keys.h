/* Keys that are chosen by their hashes, as somebody chooses them who knows how: MurmurHash3 x64 128
 * has no secret, and every step of it can be undone. */
#ifndef CHOSEN_KEYS_H
#define CHOSEN_KEYS_H

#include <stddef.h>
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

/* Keys that layout fuse finds no filter for: its seeds follow from the sum of mix(v) over all keys,
 * so they can be fixed first. For each of them two keys share all three places; one more key makes
 * the sum come out. */
static const uint64_t ATTACK_A = UINT64_C(0xbf58476d1ce4e5b9);
static const uint64_t ATTACK_B = UINT64_C(0x94d049bb133111eb);

static inline uint64_t attack_mix(uint64_t word) {
    word = (word ^ word >> 30) * ATTACK_A;
    word = (word ^ word >> 27) * ATTACK_B;
    return word ^ word >> 31;
}

static inline uint64_t attack_unmix(uint64_t word) {
    word = (word ^ word >> 31 ^ word >> 62) * reciprocal(ATTACK_B);
    word = (word ^ word >> 27 ^ word >> 54) * reciprocal(ATTACK_A);
    return word ^ word >> 30 ^ word >> 60;
}

/* Writes the first words of 2 * seeds + 1 keys, with which `seeds` seeds fail. The two keys for
 * a seed differ in bit 12 of their hashes, which is in no place as long as segments have at most
 * 2^12 places. */
static inline void attack_words(uint64_t *words, size_t seeds) {
    const uint64_t digest = UINT64_C(0x0123456789abcdef);
    uint64_t left = digest;
    for (size_t i = 0; i < seeds; i++) {
        uint64_t seed = attack_mix(digest + i), hash = attack_mix(~(uint64_t)i);
        words[2 * i] = attack_unmix(hash) - seed;
        words[2 * i + 1] = attack_unmix(hash ^ UINT64_C(1) << 12) - seed;
        left -= attack_mix(words[2 * i]) + attack_mix(words[2 * i + 1]);
    }
    words[2 * seeds] = attack_unmix(left);
}

#endif
