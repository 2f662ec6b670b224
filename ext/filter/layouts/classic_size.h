/* What the layouts of other systems share: how their libraries choose a size for n and p, computed
 * as doubles are (see rounded.h). No size is refused because of its rate, so that both sides of an
 * exchange get the same filter. sql/README.md shows how far that rate may be from p. */
#ifndef BLOOM_FILTER_LAYOUTS_CLASSIC_SIZE_H
#define BLOOM_FILTER_LAYOUTS_CLASSIC_SIZE_H

#include "base/rounded.h"
#include "filter/layout.h"

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
