/* Keys that layout fuse finds no filter for, as somebody chooses them who knows how: its seeds
 * follow from the sum of mix(v) over all keys, so they can be fixed first. For each of them two
 * keys share all three places; one more key makes the sum come out. */
#ifndef FUSE_ATTACK_H
#define FUSE_ATTACK_H

#include "inverse_hash.h"

#include <stddef.h>

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

/* Writes the first words of 2 * seeds + 1 keys with which the first so many seeds fail. The two of
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
