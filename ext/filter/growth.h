/* How a filter grows by layers: the mathematics, without any bytes.
 *
 * A growing filter is a row of filters, its layers, of which only the last one takes keys. When it
 * is full a further one is opened, for twice as many keys at half the rate, so that the rates of
 * all add up to a fixed sum (Almeida, Baquero, Preguica, Hutchison, "Scalable Bloom Filters",
 * 2007). For a filter of `capacity` keys at rate p:
 *
 *   layer 0       capacity keys at 9/10 of p
 *   layer i > 0   capacity * 2^i keys, at most 2^40, at p / 10 / 2^i, which sum up to p / 10; at
 *                 least 1e-9 + n / 2^63, which is what a layout can keep for n keys
 *
 * From one key on, 40 doublings reach the largest capacity, so that there are at most 41 layers;
 * the last one never closes.
 *
 * Nine tenths for the first layer, since most users choose a capacity that they do not exceed: it
 * costs 2 % more bits than all of p would.
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
 * Each has its share of the rate, so that of G together at most G times p / G of absent keys are
 * found. */
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
    unsigned generations; /* 1 to BLOOM_GENERATIONS_MAXIMUM; of one none is forgotten */
    enum bloom_growth_mode mode;
};

/* A layer takes a key while it has fewer keys, and fewer ones, than these. */
struct bloom_growth_limits {
    uint64_t keys;
    uint64_t ones;
};

/* Whether there can be such a filter; otherwise problem says why not, as a sentence. */
bool bloom_growth_possible(const struct bloom_growth *growth, char problem[BLOOM_PROBLEM_SIZE]);

/* The shape of layer number index of a generation, from 0. False, with the reason in problem, when
 * the layout has none: never for a filter that is possible. */
bool bloom_growth_shape(const struct bloom_growth *growth, unsigned index,
                        struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]);

/* Whether a layer that was made once can be number index of such a filter: n and p count, p up to
 * 2^-44 of it, layout and keying; bits and probes do not, since a later release may size better. */
bool bloom_growth_knows(const struct bloom_growth *growth, unsigned index,
                        const struct bloom_shape *shape);

/* When layer number index, which has that shape, is full. */
struct bloom_growth_limits bloom_growth_limits_of(const struct bloom_growth *growth, unsigned index,
                                                  const struct bloom_shape *shape);

/* The most ones that the first layer may have after other keys were merged into it: those of as
 * many keys as it was made for. */
uint64_t bloom_growth_merge_limit(const struct bloom_growth *growth,
                                  const struct bloom_shape *first);

/* What ones tell of keys, in blocks of one shape. A key that was counted set one bit that was not
 * set, and at most one for each probe: the fewest keys that can have set so many ones; whether keys
 * and ones go together, of which nothing is known where keys can be taken out; and the number that
 * an estimate tells, within these bounds. */
uint64_t bloom_keys_fewest(const struct bloom_shape *shape, uint64_t ones);
bool bloom_keys_are_possible(const struct bloom_shape *shape, uint64_t keys, uint64_t ones);
uint64_t bloom_keys_of(const struct bloom_shape *shape, const struct bloom_estimate *estimate);

#endif
