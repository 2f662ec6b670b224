/* What the layouts of other systems share: how their libraries choose a size for n and p, computed
 * in the same doubles (see rounded.h). No size is refused for the rate that it gives, so that both
 * sides of an exchange get the same filter. sql/README.md says how far that rate may be from p. */
#ifndef BLOOM_FILTER_LAYOUTS_CLASSIC_SIZE_H
#define BLOOM_FILTER_LAYOUTS_CLASSIC_SIZE_H

#include "base/rounded.h"
#include "filter/layout.h"

/* More hashes per key than any of the libraries chooses: p = 2^-1074, the least double, takes 1074.
 */
#define BLOOM_FOREIGN_PROBES_MAXIMUM 65535

/* Most systems keep bits in words. In Java m is a whole number of words, which an int counts. */
enum { BLOOM_WORD_BITS = 64 };
#define BLOOM_FOREIGN_JAVA_BITS (UINT64_C(0x7fffffff) * BLOOM_WORD_BITS)

/* The keys a filter is sized for: n, or 1 for n = 0. */
static inline uint64_t bloom_foreign_keys(const struct bloom_shape *shape) {
    return shape->capacity > 0 ? shape->capacity : 1;
}

/* n ln(1/p) / ln^2 2: the bits that k independent positions take. */
struct bloom_rounded bloom_foreign_bits(const struct bloom_shape *shape);

/* ln 2 * m / n, in that order. */
struct bloom_rounded bloom_foreign_probes(const struct bloom_shape *shape, uint64_t bits);

/* Sizes a filter as Guava's BloomFilter.create(n, p) does, and Spark after it: m = n ln(1/p) / ln^2
 * 2, truncated, then k = ln 2 m / n rounded, then m up to whole words of 64 bits. Refuses, as Guava
 * does, a filter of no bits, or of more bits or hashes than the layout can have. */
bool bloom_foreign_size_as_guava(struct bloom_shape *shape, bloom_problem problem);

/* Sets bits, or says in problem that there are none or more than maximum. */
bool bloom_foreign_set_bits(struct bloom_shape *shape, uint64_t bits, uint64_t maximum,
                            bloom_problem problem);

#endif
