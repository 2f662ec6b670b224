/* Layout `go`: k bits anywhere in the filter, where version 3 of github.com/bits-and-blooms/bloom
 * puts them.
 *
 * With h the four words of a key's hash, for i = 0 to k - 1, all in 64 bits:
 *
 *   bit (h[i mod 2] + i * h[j]) mod m, j = 2, 3, 3, 2 for i mod 4 = 0, 1, 2, 3
 */
#include "filter/layouts/classic_size.h"

#include "base/bitset.h"
#include "filter/layouts/classic.h"

enum { GO_NUMBER = 10, GO_HASH_WORDS = 4 };

/* As NewWithEstimates(n, p). The largest n and the least p take less than 2^52 bits. */
static bool go_size(struct bloom_shape *shape, bloom_problem problem) {
    shape->bits = bloom_rounded_ceiling(bloom_foreign_bits(shape));
    shape->probes = (uint32_t)bloom_rounded_ceiling(bloom_foreign_probes(shape, shape->bits));
    (void)problem;
    return true;
}

static inline struct bloom_walk go_begin(const uint64_t *words) {
    return (struct bloom_walk){.words = words};
}

static inline uint64_t go_step(struct bloom_walk *walk) {
    const uint64_t i = walk->at++;
    return walk->words[i & 1] + i * walk->words[2 + ((i + 1) >> 1 & 1)];
}

BLOOM_WALK_MEMBERS(go, GO_HASH_WORDS, go_begin, go_step);

const struct bloom_layout bloom_layout_go = {
    .name = "go",
    .hashing = &bloom_hashing_murmur3_twice,
    .number = GO_NUMBER,
    .hash_words = GO_HASH_WORDS,
    .probes_maximum = BLOOM_FOREIGN_PROBES_MAXIMUM,
    .bits_multiple = 1,
    .size = go_size,
    .add = go_add,
    .check = go_check,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};
