/* Layout `dcso`: k bits anywhere in the filter, where github.com/DCSO/bloom puts them (and flor,
 * fleur and poppy in its version 1).
 *
 * With P = 2^64 - 59 and g = 2^64 - 1469: c is the key's FNV-1 hash mod P; k times: c = (c * g, its
 * low 64 bits) mod P, bit c mod m. Bit b of the filter is bit b & 7 of byte b >> 3 of the payload.
 *
 * The product is cut to 64 bits before the remainder is taken, so the sequence is not that of a
 * Lehmer generator. This cut is part of the format. */
#include "filter/layouts/classic_size.h"

#include "base/bitset.h"
#include "filter/layouts/classic.h"

enum { DCSO_NUMBER = 9 };

#define DCSO_MODULUS (UINT64_MAX - 58)
#define DCSO_FACTOR (UINT64_MAX - 1468)

/* As Initialize(n, p), which takes |ceil(x)| of a negative x: that is floor(|x|). */
static bool dcso_size(struct bloom_shape *shape, bloom_problem problem) {
    uint64_t bits = bloom_rounded_floor(bloom_foreign_bits(shape));
    shape->probes = (uint32_t)bloom_rounded_ceiling(bloom_foreign_probes(shape, bits));
    return bloom_foreign_set_bits(shape, bits, BLOOM_BITS_MAXIMUM, problem);
}

static inline uint64_t dcso_reduced(uint64_t value) {
    return value >= DCSO_MODULUS ? value - DCSO_MODULUS : value;
}

static inline uint64_t dcso_next(uint64_t value) {
    return dcso_reduced(value * DCSO_FACTOR);
}

static void dcso_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                     size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t value = dcso_reduced(words[i]);
        for (uint32_t turn = 0; turn < shape->probes; turn++)
            bloom_classic_set(payload, (value = dcso_next(value)) % shape->bits);
    }
}

static bool dcso_check(const struct bloom_shape *shape, const uint8_t *payload,
                       const uint64_t *words) {
    uint64_t value = dcso_reduced(words[0]);
    for (uint32_t turn = 0; turn < shape->probes; turn++)
        if (!bloom_classic_is_set(payload, (value = dcso_next(value)) % shape->bits))
            return false;
    return true;
}

static void dcso_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                            const uint64_t *words, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = dcso_check(shape, payload, words + i);
}

const struct bloom_layout bloom_layout_dcso = {
    .name = "dcso",
    .hashing = &bloom_hashing_fnv,
    .number = DCSO_NUMBER,
    .hash_words = 1,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = 1,
    .size = dcso_size,
    .add = dcso_add,
    .check = dcso_check,
    .check_many = dcso_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};
