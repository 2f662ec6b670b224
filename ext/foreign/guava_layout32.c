/* Layout `classic32`: k bits anywhere in the filter, where Guava's older MURMUR128_MITZ_32 puts
 * them.
 *
 * Only the first word of a key's hash counts, in its two halves: a the low 32 bits, b the high
 * ones. For i = 1 to k: c = a + i * b (mod 2^32); when c is 2^31 or more, c = 2^32 - 1 - c; the bit
 * is c mod m.
 *
 * The layout exists for filters that Guava wrote with that strategy, the one of its first releases.
 * No filter is made in it: c has 31 bits, so that positions from 2^31 on (256 MiB) are never
 * used. */
#include "filter/layouts/classic.h"

#include "base/bitset.h"
#include "filter/layouts/classic_size.h"

enum { CLASSIC32_NUMBER = 3 };

static bool classic32_size(struct bloom_shape *shape, bloom_problem problem) {
    (void)shape;
    return bloom_fail(problem,
                      "layout classic32 is only for filters imported from Guava's older strategy "
                      "MURMUR128_MITZ_32. Ask for layout classic");
}

BLOOM_WALK_MEMBERS(classic32, 1, bloom_walk32_begin, bloom_walk32_step);

const struct bloom_layout bloom_layout_classic32 = {
    .name = "classic32",
    .hashing = &bloom_hashing_murmur3,
    .number = CLASSIC32_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_CLASSIC_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_WORD_BITS, /* as Guava counts them */
    .unlisted = true,
    .size = classic32_size,
    .add = classic32_add,
    .check = classic32_check,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};
