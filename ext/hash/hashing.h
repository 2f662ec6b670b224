/* From a key to the words that decide about it, and the interface that every such rule implements.
 *
 * A hashing is a rule for each type of key. Its number is byte 6 of a filter's header: what a
 * number stands for is never changed, only joined by further numbers. From 128 on they are private:
 * no release assigns them. A hashing is one file, hashing_NAME.c; the rows of the layouts say which
 * of them use it.
 *
 *   1  murmur3   MurmurHash3 x64 128 with seed 0, by the rules of hash.h; two words
 *   2  integer   the number itself, for whole numbers from 0 on; one word
 *   3  utf16     murmur3 over text as UTF-16, Guava's unencodedCharsFunnel; two words
 *   4  spark     MurmurHash3 x86 32 with Spark's tail, twice; one word
 *   5  fnv       FNV-1 with 64 bits; one word
 *   6  murmur3-twice  MurmurHash3 x64 128 of the key, and of the key and a byte 01; four words
 *   7  xxh64     XXH64 of Parquet's values; one word
 *   8  xxh64-int32    the same of whole numbers as 4 bytes
 *   9  murmur2   MurmurHash64A, twice; two words
 *  10  siphash   SipHash-2-4 under the salt of a filter, of the bytes that murmur3 hashes; one word
 */
#ifndef BLOOM_HASH_HASHING_H
#define BLOOM_HASH_HASHING_H

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

    /* One function for each type of key, NULL when the hashing has no keys of that type. seed is
     * what the words depend on besides the key, as bloom_shape_seed returns it: the salt, or the
     * extra bytes of the header, which hold the seed of another system's hashing. Returns false
     * when there is no such key: nothing was ever added under it. */
    bool (*text)(const uint64_t seed[2], const void *text, size_t length, uint64_t *words);
    bool (*bytes)(const uint64_t seed[2], const void *bytes, size_t length, uint64_t *words);
    bool (*integer)(const uint64_t seed[2], int64_t key, uint64_t *words);
    bool (*real)(const uint64_t seed[2], double key, uint64_t *words);
};

extern const struct bloom_hashing bloom_hashing_murmur3;
extern const struct bloom_hashing bloom_hashing_integer;
extern const struct bloom_hashing bloom_hashing_utf16;
extern const struct bloom_hashing bloom_hashing_spark;
extern const struct bloom_hashing bloom_hashing_fnv;
extern const struct bloom_hashing bloom_hashing_murmur3_twice;
extern const struct bloom_hashing bloom_hashing_xxh64;
extern const struct bloom_hashing bloom_hashing_xxh64_int32;
extern const struct bloom_hashing bloom_hashing_murmur2;
extern const struct bloom_hashing bloom_hashing_siphash;

#endif
