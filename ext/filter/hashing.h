/* From a key to the words that decide about it, and the interface that every such rule implements.
 *
 * A hashing is a rule for each type of key. Its number is byte 6 of a filter's header: what a
 * number stands for is never changed, only joined by further numbers. A hashing is one file and
 * one row of the table in hashing.c; which layouts use it, their rows say.
 *
 *   1  murmur3   MurmurHash3 x64 128 with seed 0, by the rules of hash.h; two words
 *   2  integer   the number itself, for whole numbers from 0 on; one word
 */
#ifndef BLOOM_HASHING_H
#define BLOOM_HASHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No hashing gives more words for a key. */
#define BLOOM_HASH_WORDS_MAXIMUM 4

struct bloom_hashing {
    const char *name;
    const char *keys; /* the types of keys that it has, in words, as in "text and integers" */
    uint8_t number;   /* as stored in the header */
    unsigned words;   /* that each function below writes: 1 to BLOOM_HASH_WORDS_MAXIMUM */

    /* One for each type of key. extra are the 16 bytes that the filter's header keeps for its
     * layout, as two words: a hashing with a seed finds it there; it is zero
     * while keys are collected for a filter that is still to be sized. Returns false when there is no
     * such key: nothing was ever added under it. A member that is NULL: no keys of that type. */
    bool (*text)(const uint64_t extra[2], const void *text, size_t length, uint64_t *words);
    bool (*bytes)(const uint64_t extra[2], const void *bytes, size_t length, uint64_t *words);
    bool (*integer)(const uint64_t extra[2], int64_t key, uint64_t *words);
    bool (*real)(const uint64_t extra[2], double key, uint64_t *words);
};

extern const struct bloom_hashing bloom_hashing_murmur3;
extern const struct bloom_hashing bloom_hashing_integer;

/* Whether a release with that hashing number is known at all: NULL when it is not. */
const struct bloom_hashing *bloom_hashing_by_number(unsigned number);

#endif
