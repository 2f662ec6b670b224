/* How a filter grows by layers: the mathematics, without any bytes.
 *
 * A growing filter is a row of filters, its layers, of which only the last one takes keys. When
 * this layer is full, a further one is opened for twice as many keys at half the rate, so that the
 * rates of all layers add up to a fixed sum (Almeida, Baquero, Preguica, Hutchison, "Scalable Bloom
 * Filters", 2007). For a filter of `capacity` keys at rate p:
 *
 *   layer 0       capacity keys at 9/10 of p
 *   layer i > 0   capacity * 2^i keys, at most 2^40, at p / 10 / 2^i, which sum up to p / 10; at
 *                 least 1e-9 + n / 2^63, which is what a layout can keep for n keys
 *
 * From one key on, 40 doublings reach the largest capacity, so that there are at most 41 layers;
 * the last one never closes.
 *
 * The first layer gets nine tenths, since most users choose a capacity that they do not exceed. At
 * p = 1 % this takes 2.3 % more bits than the whole of p would.
 *
 * A layer is full by the number of its keys, or by its bits that are set, whichever comes first.
 * A key count is not enough: false positives set no bits and are not counted, so that
 * of 100 keys added at a rate of one half only 60 are.
 */
#ifndef BLOOM_GROWTH_H
#define BLOOM_GROWTH_H

#include "filter/layout.h"

enum { BLOOM_LAYERS_MAXIMUM = 41 };

/* Generations: a filter that forgets by age is a ring of filters, each of which grows by itself.
 * Each of G generations has p / G of the rate, so that all of them together find at most p of
 * absent keys. */
enum { BLOOM_GENERATIONS_MAXIMUM = 64 };

/* What happens to the key that finds the first layer full. */
enum bloom_growth_mode {
    BLOOM_GROWTH_ON,    /* a further layer */
    BLOOM_GROWTH_OFF,   /* it is added, and the rate rises */
    BLOOM_GROWTH_ERROR, /* it is refused */
};

struct bloom_growth {
    const struct bloom_layout *layout; /* has blocks and size */
    struct bloom_keying keying;        /* one that the layout offers */
    uint64_t capacity;                 /* 1 to BLOOM_CAPACITY_MAXIMUM */
    double rate;                       /* of all generations together */
    unsigned generations;              /* 1 to BLOOM_GENERATIONS_MAXIMUM; 1: nothing is forgotten */
    enum bloom_growth_mode mode;
};

/* A layer takes a key while it has fewer keys, and fewer ones, than these. */
struct bloom_growth_limits {
    uint64_t keys;
    uint64_t ones;
};

/* Whether there can be such a filter; otherwise problem says why not, as a sentence. */
bool bloom_growth_possible(const struct bloom_growth *growth, char problem[BLOOM_PROBLEM_SIZE]);

/* The shape of layer number index of a generation, from 0. Returns false, with the reason in
 * problem, when the layout has no such shape; it never does for a filter that is possible. */
bool bloom_growth_shape(const struct bloom_growth *growth, unsigned index,
                        struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]);

/* Whether an existing layer can be number index of such a filter. Its layout, keying, n and p
 * decide, p to within 2^-44 of its value. Its bits and probes do not, since a later release may
 * size better. */
bool bloom_growth_knows(const struct bloom_growth *growth, unsigned index,
                        const struct bloom_shape *shape);

/* When layer number index, which has that shape, is full. */
struct bloom_growth_limits bloom_growth_limits_of(const struct bloom_growth *growth, unsigned index,
                                                  const struct bloom_shape *shape);

/* The most ones that the first layer may have after other keys were merged into it: as many as the
 * keys that it was made for set on average, and the margin. */
uint64_t bloom_growth_merge_limit(const struct bloom_growth *growth,
                                  const struct bloom_shape *first);

/* What the ones in blocks of one shape tell about the number of keys. Each counted key set at least
 * one bit that was zero, and at most one for each probe. The first function tells the fewest keys
 * that can have set so many ones. The second tells whether so many keys can have set so many ones;
 * it says yes where keys can be taken out. The third tells the number of keys that an estimate
 * gives, within these bounds. */
uint64_t bloom_keys_fewest(const struct bloom_shape *shape, uint64_t ones);
bool bloom_keys_are_possible(const struct bloom_shape *shape, uint64_t keys, uint64_t ones);
uint64_t bloom_keys_of(const struct bloom_shape *shape, const struct bloom_estimate *estimate);

#endif
