/* How a filter grows by layers, and how its layers are cut into chunks: the mathematics only.
 *
 * A growing filter is a row of filters, its layers. Each further layer is made for twice as many
 * keys at half the rate, so that the rates of all layers add up to a fixed sum (Almeida, Baquero,
 * Preguica, Hutchison, "Scalable Bloom Filters", 2007). For `capacity` keys at rate p:
 *
 *   layer 0       capacity keys at 9/10 of p
 *   layer i > 0   capacity * 2^i keys, at most 2^40, at p / 10 / 2^i, which sum up to p / 10; at
 *                 least 1e-9 + n / 2^63, which is what a layout can keep for n keys
 *
 * The first layer gets nine tenths, because most users choose a capacity that they do not exceed.
 *
 * Each layer is cut into chunks, and each chunk closes on its own when it is as full as the layer
 * was made for. A key belongs to the first layer whose chunk for that key is not closed. So a
 * filter grows gradually, and nobody has to know how full a layer is.
 *
 * The keys of a chunk vary by the square root of their number. If the first layer were made for
 * exactly `capacity` keys, half of its chunks would close before the filter holds that many.
 * So it is made for 3.5 standard deviations of a chunk's keys more. The slack is in the bits and
 * never in the limit, so it costs space but no rate. A layer of one chunk needs none: it can count.
 *
 * FORMAT-tables.md has all numbers. Rates and sizes are computed exactly (rounded.h), so that every
 * machine finds the same layers.
 */
#ifndef BLOOM_FILTER_GROWTH_H
#define BLOOM_FILTER_GROWTH_H

#include "filter/layout.h"

/* From one key on, 40 doublings reach the largest capacity. The last layer never closes. */
enum { BLOOM_LAYERS_MAXIMUM = 41 };

/* Generations: a filter that forgets by age is a ring of filters, each of which grows by itself.
 * Each of G generations has p / G of the rate, so that all of them together find at most p of
 * absent keys. */
enum { BLOOM_GENERATIONS_MAXIMUM = 64 };

/* What happens to a key whose chunk of the first layer is closed. */
enum bloom_growth_mode {
    BLOOM_GROWTH_ON,    /* it goes to a further layer */
    BLOOM_GROWTH_OFF,   /* chunks never close, and the rate rises */
    BLOOM_GROWTH_ERROR, /* it is refused */
};

struct bloom_growth {
    const struct bloom_layout *layout; /* one that has blocks and size */
    struct bloom_keying keying;        /* one that the layout offers */
    uint64_t capacity;                 /* 1 to BLOOM_CAPACITY_MAXIMUM */
    double rate;                       /* of all generations together */
    unsigned generations;              /* 1 to BLOOM_GENERATIONS_MAXIMUM; 1: nothing is forgotten */
    uint32_t chunk_blocks;             /* the most blocks of a chunk, at least 1 */
    enum bloom_growth_mode mode;
};

/* A layer: a filter whose blocks are cut into chunks of nearly equal numbers of blocks. */
struct bloom_layer {
    struct bloom_shape shape;
    uint64_t blocks, chunks;
    uint32_t chunk_blocks; /* in each chunk; the first `longer` chunks have one more */
    uint64_t longer;
    uint64_t keys_limit; /* of a layer of one chunk; UINT64_MAX: none */
    uint64_t ones_limit; /* of all chunks together; UINT64_MAX: none */
};

/* Returns true when such a filter is possible. Otherwise problem is set. */
bool bloom_growth_possible(const struct bloom_growth *growth, bloom_problem problem);

/* Computes layer number index of a generation, from 0. Returns false, with the reason in problem,
 * when the layout has no such filter. It never does when the growth is possible. */
bool bloom_growth_layer(const struct bloom_growth *growth, unsigned index,
                        struct bloom_layer *layer, bloom_problem problem);

/* Return the number of blocks of a chunk, and the number of its first block. */
uint32_t bloom_layer_chunk_blocks(const struct bloom_layer *layer, uint64_t chunk);
uint64_t bloom_layer_chunk_start(const struct bloom_layer *layer, uint64_t chunk);

/* Returns the chunk of a block. */
uint64_t bloom_layer_chunk_of(const struct bloom_layer *layer, uint64_t block);

/* Returns true when a chunk of that many blocks, keys and ones is full: it closes. */
bool bloom_layer_is_full(const struct bloom_layer *layer, uint32_t blocks, uint64_t keys,
                         uint64_t ones);

/* The most ones that the first layer may have after another filter was merged into it: as many as
 * its keys set on average, and a margin. UINT64_MAX: any number. */
uint64_t bloom_growth_merge_limit(const struct bloom_growth *growth,
                                  const struct bloom_layer *first);

/* Returns the fewest keys that can have set this many ones. Each key sets at most one for each
 * probe. */
uint64_t bloom_keys_fewest(const struct bloom_shape *shape, uint64_t ones);

/* Returns true when this many keys can have set this many ones. Each counted key has set at least
 * one bit that was zero. Where keys can be removed, any number is possible. */
bool bloom_keys_are_possible(const struct bloom_shape *shape, uint64_t keys, uint64_t ones);

/* Returns the number of keys by an estimate, within these bounds. */
uint64_t bloom_keys_of(const struct bloom_shape *shape, const struct bloom_estimate *estimate);

#endif
