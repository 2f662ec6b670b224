/* Layout `go`: k bits anywhere in the filter, where version 3 of github.com/bits-and-blooms/bloom
 * puts them.
 *
 * With h the four words of a key's hash, for i = 0 to k - 1, all in 64 bits:
 *
 *   bit (h[i mod 2] + i * h[j]) mod m, j = 2, 3, 3, 2 for i mod 4 = 0, 1, 2, 3
 *
 * Bit b of the filter is bit b & 7 of byte b >> 3 of the payload.
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

/* Position number turn. kind is turn modulo 4; with a constant kind the compiler chooses the
 * words. */
static inline uint64_t go_bit(const uint64_t *words, uint64_t turn, unsigned kind, uint64_t bits) {
    return (words[kind & 1] + turn * words[2 + ((kind + (kind & 1)) >> 1 & 1)]) % bits;
}

static void go_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                   size_t count) {
    for (size_t i = 0; i < count; i++, words += GO_HASH_WORDS)
        for (unsigned turn = 0; turn < shape->probes; turn++)
            bloom_classic_set(payload, go_bit(words, turn, turn & 3, shape->bits));
}

static inline bool go_is_set(const struct bloom_shape *shape, const uint8_t *payload,
                             const uint64_t *words, uint64_t turn, unsigned kind) {
    return turn >= shape->probes ||
           bloom_classic_is_set(payload, go_bit(words, turn, kind, shape->bits));
}

static bool go_check(const struct bloom_shape *shape, const uint8_t *payload,
                     const uint64_t *words) {
    for (uint64_t turn = 0; turn < shape->probes; turn += 4)
        if (!go_is_set(shape, payload, words, turn, 0) ||
            !go_is_set(shape, payload, words, turn + 1, 1) ||
            !go_is_set(shape, payload, words, turn + 2, 2) ||
            !go_is_set(shape, payload, words, turn + 3, 3))
            return false;
    return true;
}

static void go_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                          const uint64_t *words, size_t count, uint8_t *found) {
    for (size_t i = 0; i < count; i++)
        found[i] = go_check(shape, payload, words + i * GO_HASH_WORDS);
}

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
    .check_many = go_check_many,
    .unite = bloom_bitset_union,
    .intersect = bloom_bitset_intersect,
    .estimate = bloom_classic_estimate,
};
