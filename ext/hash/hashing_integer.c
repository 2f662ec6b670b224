/* Hashing `integer`: the number itself, for layouts that are sets of whole numbers.
 *
 *   integer from 0 to 2^63 - 1         itself
 *   real that is equal to one of them  that integer
 *   everything else                    no such key
 */
#include "hash/hashing.h"

static bool integer_of_integer(const uint64_t seed[2], int64_t key, uint64_t *words) {
    (void)seed;
    words[0] = (uint64_t)key;
    return key >= 0;
}

static bool integer_of_real(const uint64_t seed[2], double key, uint64_t *words) {
    (void)seed;
    /* 2^63 is an exact double, so that the conversion is defined; the comparisons are false for a
     * NaN. */
    bool in_range = key >= 0 && key < 9223372036854775808.0;
    words[0] = in_range ? (uint64_t)key : 0;
    return in_range && (double)words[0] == key;
}

const struct bloom_hashing bloom_hashing_integer = {
    .name = "integer",
    .keys = "whole numbers from 0 on",
    .number = 2,
    .words = 1,
    .integer = integer_of_integer,
    .real = integer_of_real,
};
