/* Layout `classic32`: k bits anywhere in the filter, where Guava's older MURMUR128_MITZ_32 puts
 * them.
 *
 * Only the first word of a key's hash counts, in its two halves: a the low 32 bits, b the high
 * ones. For i = 1 to k: c = a + i * b (mod 2^32); when c is 2^31 or more, c = 2^32 - 1 - c; the bit
 * is c mod m. Bit b of the filter is bit b & 7 of byte b >> 3 of the payload.
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
                      "MURMUR128_MITZ_32; "
                      "ask for layout classic");
}

static inline uint64_t classic32_bit(uint64_t value, uint32_t turn, uint64_t bits) {
    uint32_t combined = (uint32_t)value + turn * (uint32_t)(value >> 32);
    return (combined > INT32_MAX ? ~combined : combined) % bits;
}

void bloom_classic32_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *values,
                         size_t count) {
    for (size_t i = 0; i < count; i++)
        for (uint32_t turn = 1; turn <= shape->probes; turn++)
            bloom_classic_set(payload, classic32_bit(values[i], turn, shape->bits));
}

bool bloom_classic32_check(const struct bloom_shape *shape, const uint8_t *payload,
                           const uint64_t *value) {
    for (uint32_t turn = 1; turn <= shape->probes; turn++)
        if (!bloom_classic_is_set(payload, classic32_bit(*value, turn, shape->bits)))
            return false;
    return true;
}

void bloom_classic32_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                                const uint64_t *values, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = bloom_classic32_check(shape, payload, values + i);
}

const struct bloom_layout bloom_layout_classic32 = {
    .name = "classic32",
    .hashing = &bloom_hashing_murmur3,
    .number = CLASSIC32_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_CLASSIC_PROBES_MAXIMUM,
    .bits_multiple = BLOOM_WORD_BITS, /* as Guava counts them */
    .unlisted = true,
    .size = classic32_size,
    .add = bloom_classic32_add,
    .check = bloom_classic32_check,
    .check_many = bloom_classic32_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};
