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

#endif
