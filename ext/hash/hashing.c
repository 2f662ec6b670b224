/* Hashings `murmur3` and `integer`, and how a floating-point key becomes an integer.
 *
 * murmur3 is the project's own hashing. integer is the key itself, for sets of whole numbers: those
 * from 0 to 2^63 - 1 and reals that are equal to one of them. There are no other keys.
 */
#include "hash/hashing.h"

#include "hash/murmur3.h"

bool bloom_integer_of(double key, int64_t *integer) {
    /* 2^63 itself is out of the integer range, -2^63 is in it; both are exact doubles. */
    if (!(key >= -9223372036854775808.0 && key < 9223372036854775808.0))
        return false;
    *integer = (int64_t)key;
    return (double)*integer == key;
}

int64_t bloom_real_as_integer(double key) {
    int64_t bits;
    if (!bloom_integer_of(key, &bits))
        memcpy(&bits, &key, sizeof bits);
    return bits;
}

static bool murmur3_bytes(const uint64_t seed[2], const void *bytes, size_t length,
                          uint64_t *words) {
    (void)seed;
    bloom_murmur3_bytes(bytes, length, words);
    return true;
}

static bool murmur3_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    (void)seed;
    bloom_murmur3_integer(key, words);
    return true;
}

static bool murmur3_real(const uint64_t seed[2], double key, uint64_t *words) {
    return murmur3_integer(seed, bloom_real_as_integer(key), words);
}

static bool integer_of_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    (void)seed;
    words[0] = (uint64_t)key;
    return key >= 0;
}

static bool integer_of_real(const uint64_t seed[2], double key, uint64_t *words) {
    int64_t integer;
    return bloom_integer_of(key, &integer) && integer_of_integer(seed, integer, words);
}

const struct bloom_hashing bloom_hashing_murmur3 = {
    .name = "murmur3",
    .keys = "text, BLOBs and numbers",
    .number = 1,
    .words = 2,
    .text = murmur3_bytes,
    .bytes = murmur3_bytes,
    .integer = murmur3_integer,
    .real = murmur3_real,
};

const struct bloom_hashing bloom_hashing_integer = {
    .name = "integer",
    .keys = "whole numbers from 0 on",
    .number = 2,
    .words = 1,
    .integer = integer_of_integer,
    .real = integer_of_real,
};
