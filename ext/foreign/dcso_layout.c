/* Layout `dcso`: k bits anywhere in the filter, where github.com/DCSO/bloom puts them (and flor,
 * fleur and poppy in its version 1).
 *
 * With P = 2^64 - 59 and g = 2^64 - 1469: c is the key's FNV-1 hash mod P; k times: c = (c * g, its
 * low 64 bits) mod P, bit c mod m.
 *
 * The product is cut to 64 bits before the remainder is taken, so this is not a Lehmer generator.
 * This cut is part of the format. */
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

static inline struct bloom_walk dcso_begin(const uint64_t *words) {
    return (struct bloom_walk){.at = dcso_reduced(words[0])};
}

static inline uint64_t dcso_step(struct bloom_walk *walk) {
    return walk->at = dcso_reduced(walk->at * DCSO_FACTOR);
}

BLOOM_WALK_MEMBERS(dcso, 1, dcso_begin, dcso_step);

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
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};
