/* What the layouts share whose bits are anywhere in the filter: classic, classic32, and those of
 * Spark, DCSO, Go and Redis. They differ only in where the bits of a key are. Bit b of the filter
 * is bit b & 7 of byte b >> 3 of the payload. */
#ifndef BLOOM_FILTER_LAYOUTS_CLASSIC_H
#define BLOOM_FILTER_LAYOUTS_CLASSIC_H

#include "base/portable.h"
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

#endif
