/* From a key to the words that decide about it. A hashing is a function for each type of key.
 *
 * The number of a hashing is byte 6 of a filter's header. The meaning of a number never changes;
 * new hashings get new numbers, from 11 on. Numbers from 128 on are private, and no release assigns
 * them. The row of each layout names the hashing that it uses.
 *
 * murmur3 and siphash hash the same bytes of a key. They are fixed, because they decide what a
 * stored filter answers:
 *
 *   text      its UTF-8 bytes, all of them, embedded NULs included, without a terminator
 *   bytes     themselves; text and bytes of the same content are the same key
 *   integer   8 bytes, little-endian, two's complement
 *   real      equal to an integer of 64 bits: as that integer (1.0 is 1, -0.0 is 0);
 *             any other: the 8 bytes of its IEEE 754 double, little-endian
 *
 * With these rules Guava's stringFunnel(UTF_8) and longFunnel return the same 128 bits.
 */
#ifndef BLOOM_HASH_HASHING_H
#define BLOOM_HASH_HASHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No hashing writes more words for a key. */
#define BLOOM_HASH_WORDS_MAXIMUM 4

/* What a real key is hashed as. */
enum bloom_reals {
    BLOOM_REALS_WHOLE,         /* the integer that it is equal to; other reals are no keys */
    BLOOM_REALS_WHOLE_OR_BITS, /* that integer, or else the 8 bytes of its double */
    BLOOM_REALS_BITS           /* always those 8 bytes */
};

struct bloom_hashing {
    const char *keys; /* the types of keys that it hashes, for messages: "text and integers" */
    uint8_t number;   /* as stored in the header */
    bool text_only;   /* BLOBs are no keys; else a BLOB is the same key as a text of its bytes */
    enum bloom_reals reals; /* plays no part if integers are no keys */

    /* Write the words of a key. A NULL member means that no key has this type; those of murmur3 are
     * NULL because filter/key.h calls its functions by their names. seed is what
     * bloom_shape_seed returns: the salt, or the extra bytes of the header, which hold the seed of
     * another system's hashing. integer returns false when no filter can contain the key. */
    void (*bytes)(const uint64_t seed[2], const void *bytes, size_t length, uint64_t *words);
    bool (*integer)(const uint64_t seed[2], int64_t key, uint64_t *words);
};

extern const struct bloom_hashing bloom_hashing_murmur3;
extern const struct bloom_hashing bloom_hashing_integer;
extern const struct bloom_hashing bloom_hashing_utf16;
extern const struct bloom_hashing bloom_hashing_siphash;

/* Sets *integer to what a real key is hashed as. Returns false when it is no key. A NaN has bits,
 * too, but SQLite turns it into NULL. */
bool bloom_real_as_integer(enum bloom_reals reals, double key, int64_t *integer);

/* A bijection of 64-bit words that spreads them: variant 13 of David Stafford ("Better Bit Mixing",
 * 2011) of the finaliser of MurmurHash3, as in SplitMix64. */
static inline uint64_t bloom_mix(uint64_t word) {
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

#endif
