/* What the layouts share whose bits are anywhere in the filter: classic, classic32, and those of
 * Spark, DCSO, Go and Redis. They differ only in where the bits of a key are. Bit b of the filter
 * is bit b & 7 of byte b >> 3 of the payload. */
#ifndef BLOOM_FILTER_LAYOUTS_CLASSIC_H
#define BLOOM_FILTER_LAYOUTS_CLASSIC_H

#include "base/bitset.h"
#include "base/rounded.h"
#include "filter/layout.h"

#include <assert.h>

/* Guava stores k in one byte. */
#define BLOOM_CLASSIC_PROBES_MAXIMUM 255

/* A walk over the bits of a key. The members are for the layout's use. */
struct bloom_walk {
    uint64_t at, step;
    const uint64_t *words;
};

/* Begins the walk of a key by the words of its hash. */
typedef struct bloom_walk bloom_walk_begin(const uint64_t *words);

/* Takes a step. Returns a number whose remainder modulo m is the next bit. */
typedef uint64_t bloom_walk_step(struct bloom_walk *walk);

/* Adds count keys, each of `width` words. begin and step are constants, so that both are inlined.
 */
BLOOM_INLINE void bloom_walk_add(const struct bloom_shape *shape, uint8_t *payload,
                                 const uint64_t *words, size_t count, unsigned width,
                                 bloom_walk_begin *begin, bloom_walk_step *step) {
    for (size_t i = 0; i < count; i++, words += width) {
        struct bloom_walk walk = begin(words);
        for (uint32_t probe = 0; probe < shape->probes; probe++) {
            const uint64_t bit = step(&walk) % shape->bits;
            payload[bit >> 3] |= (uint8_t)(1u << (bit & 7));
        }
    }
}

/* Returns true when every bit of a key is set. Unrolled, because processors predict the end of the
 * loop better from several branches than from one. */
BLOOM_INLINE bool bloom_walk_check(const struct bloom_shape *shape, const uint8_t *payload,
                                   const uint64_t *words, bloom_walk_begin *begin,
                                   bloom_walk_step *step) {
    struct bloom_walk walk = begin(words);
    BLOOM_UNROLLED
    for (uint32_t probe = 0; probe < shape->probes; probe++) {
        const uint64_t bit = step(&walk) % shape->bits;
        if ((payload[bit >> 3] >> (bit & 7) & 1) == 0)
            return false;
    }
    return true;
}

/* Defines name_add and name_check, the members of a layout whose keys have `width` words. */
#define BLOOM_WALK_MEMBERS(name, width, begin, step)                                               \
    static void name##_add(const struct bloom_shape *shape, uint8_t *payload,                      \
                           const uint64_t *words, size_t count) {                                  \
        bloom_walk_add(shape, payload, words, count, width, begin, step);                          \
    }                                                                                              \
    static bool name##_check(const struct bloom_shape *shape, const uint8_t *payload,              \
                             const uint64_t *words) {                                              \
        return bloom_walk_check(shape, payload, words, begin, step);                               \
    }                                                                                              \
    static_assert((width) <= BLOOM_HASH_WORDS_MAXIMUM, "no key has more words")

/* The members that these layouts share. */
#define BLOOM_WALK_LAYOUT(name)                                                                    \
    .add = name##_add, .check = name##_check, .unite = bloom_bitset_union,                         \
    .intersect = bloom_bitset_intersect, .estimate = bloom_classic_estimate

/* The beginning of a walk from one word in steps of another. */
static inline struct bloom_walk bloom_walk64_begin(const uint64_t *words) {
    return (struct bloom_walk){.at = words[0], .step = words[1]};
}

/* The walk by the two 32-bit halves of a word: low + i * high for i = 1 to k, or the complement of
 * this sum where it is negative as a 32-bit number. Guava's older strategy and the first version of
 * Spark place keys in this way. */
static inline struct bloom_walk bloom_walk32_begin(const uint64_t *words) {
    return (struct bloom_walk){.at = words[0], .step = words[0] >> 32};
}

static inline uint64_t bloom_walk32_step(struct bloom_walk *walk) {
    walk->at += walk->step;
    const uint32_t sum = (uint32_t)walk->at;
    return sum > INT32_MAX ? ~sum : sum;
}

/* Estimates from a payload of shape->bits bits, those after the last being zero: -(m / k) ln(1 -
 * fill) keys and the rate fill^k, as Guava's approximateElementCount and expectedFpp. */
struct bloom_estimate bloom_classic_estimate(const struct bloom_shape *shape,
                                             const uint8_t *payload);

/* How the libraries of other systems choose a size for n and p, computed as doubles are (see
 * rounded.h). No size is refused because of its rate, so that both sides of an exchange get the
 * same filter. sql/README.md shows how far that rate may be from p. */

/* More hashes per key than any of the libraries chooses: p = 2^-1074, the least double, takes 1074.
 */
#define BLOOM_FOREIGN_PROBES_MAXIMUM 65535

/* Most systems store bits in words. In Java an int counts the words. */
enum { BLOOM_WORD_BITS = 64 };
#define BLOOM_FOREIGN_JAVA_BITS (UINT64_C(0x7fffffff) * BLOOM_WORD_BITS)

/* Returns the number of keys a filter is sized for: n, or 1 for n = 0. */
static inline uint64_t bloom_foreign_keys(const struct bloom_shape *shape) {
    return shape->capacity > 0 ? shape->capacity : 1;
}

/* Returns n ln(1/p) / ln^2 2: the bits that k independent positions need. */
struct bloom_rounded bloom_foreign_bits(const struct bloom_shape *shape);

/* Returns ln 2 * m / n, computed in that order. */
struct bloom_rounded bloom_foreign_probes(const struct bloom_shape *shape, uint64_t bits);

/* Sizes a filter as Guava's BloomFilter.create(n, p) does, and Spark after it: m = n ln(1/p) / ln^2
 * 2, truncated, then k = ln 2 m / n rounded, then m up to a multiple of 64. Returns false, as Guava
 * refuses, for a filter of no bits, or of more bits or hashes than the layout can have. */
bool bloom_foreign_size_as_guava(struct bloom_shape *shape, bloom_problem problem);

/* Sets the bits of a shape. Returns false when there are 0, or more than maximum. */
bool bloom_foreign_set_bits(struct bloom_shape *shape, uint64_t bits, uint64_t maximum,
                            bloom_problem problem);

#endif
