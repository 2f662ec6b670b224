/* Hashings `murmur3` and `integer`, and how a floating-point key becomes an integer.
 *
 * murmur3 is the project's own hashing. integer is the key itself, for sets of whole numbers: those
 * from 0 to 2^63 - 1 and reals that are equal to one of them. There are no other keys.
 */
#include "hash/hashing.h"

#include <string.h>

bool bloom_real_as_integer(enum bloom_reals reals, double key, int64_t *integer) {
    /* 2^63 itself is out of the integer range, -2^63 is in it; both are exact doubles. */
    if (reals != BLOOM_REALS_BITS && key >= -9223372036854775808.0 && key < 9223372036854775808.0) {
        *integer = (int64_t)key;
        if ((double)*integer == key)
            return true;
    }
    memcpy(integer, &key, sizeof *integer);
    return reals != BLOOM_REALS_WHOLE;
}

static bool integer_of_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    (void)seed;
    words[0] = (uint64_t)key;
    return key >= 0;
}

/* Its functions are those of murmur3.h, which filter/key.h calls by their names. */
const struct bloom_hashing bloom_hashing_murmur3 = {
    .keys = "text, BLOBs and numbers",
    .number = 1,
    .reals = BLOOM_REALS_WHOLE_OR_BITS,
};

const struct bloom_hashing bloom_hashing_integer = {
    .keys = "whole numbers from 0 on",
    .number = 2,
    .integer = integer_of_integer,
};
