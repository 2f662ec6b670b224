/* See keys.h. */
#include "table/keys.h"
#include "filter/portable.h"

/* Up to so many chunks of a layer are counted before it takes a key that may be one too many, which
 * takes 1 us each, for some 22 keys a chunk, of some 3,000. */
enum { FEW_CHUNKS = 4 };

/* Whether a key is in one layer. */
BLOOM_INLINE int check_layer(struct bloom_layers *layers, unsigned index, const uint64_t *words,
                             bool *found) {
    const struct bloom_geometry *geometry = &bloom_layers_at(layers, index)->geometry;
    struct bloom_block block;
    int code = bloom_block_read(layers->chunks, geometry, words, &block);
    *found = code == SQLITE_OK &&
             geometry->shape.layout->blocks->check(&geometry->shape, block.bytes, words);
    return code;
}

int bloom_keys_check(struct bloom_layers *layers, const uint64_t *words, unsigned count,
                     bool *found) {
    *found = false;
    int code = bloom_layers_start(layers, BLOOM_SIZES_LATER);
    if (code != SQLITE_OK)
        return code;
    /* The last layer is the largest. */
    for (; count > 0 && !*found; count--, words += layers->growth.layout->hash_words)
        for (unsigned i = layers->count; code == SQLITE_OK && i > 0 && !*found; i--)
            code = check_layer(layers, i - 1, words, found);
    return bloom_layers_finish(layers, code, false);
}

/* A key that is added or taken out, and its block in a layer, open for change. */
struct change {
    struct bloom_layers *layers;
    const uint64_t *words;
    struct bloom_layer *layer;
    struct bloom_block block;
    bool found; /* in that layer */
};

static int begin_change(struct change *change, struct bloom_layers *layers, const uint64_t *words) {
    change->layers = layers;
    change->words = words;
    change->block.handle = NULL;
    change->found = false;
    return bloom_layers_start(layers, BLOOM_SIZES_NOW);
}

BLOOM_INLINE int open_block(struct change *change, unsigned index) {
    change->layer = bloom_layers_at(change->layers, index);
    const struct bloom_geometry *geometry = &change->layer->geometry;
    int code = bloom_block_open(change->layers->chunks, geometry, change->words, &change->block);
    change->found = code == SQLITE_OK && geometry->shape.layout->blocks->check(
                                             &geometry->shape, change->block.bytes, change->words);
    return code;
}

/* Clamped: stored counts are not trusted, and of counters that were full more keys may be taken out
 * than were counted. */
static uint32_t clamped_sum(uint32_t count, int more) {
    const int64_t sum = (int64_t)count + more;
    return sum < 0 ? 0 : sum > BLOOM_COUNT_MAXIMUM ? BLOOM_COUNT_MAXIMUM : (uint32_t)sum;
}

/* Saves the block, which has so many keys and ones more, or fewer. What may be refused comes first:
 * a row, if there is none, and the row of the layer. */
BLOOM_INLINE int save_block(struct change *change, int keys, int ones) {
    struct bloom_layers *layers = change->layers;
    struct bloom_counts *counts = &change->block.counts;
    int code = SQLITE_OK;
    if (change->block.handle == NULL) {
        code = bloom_layers_prepare(layers, false);
        if (code == SQLITE_OK)
            code = bloom_block_make_row(layers->chunks, &change->block);
    }
    if (code == SQLITE_OK && keys != 0) {
        counts->keys = clamped_sum(counts->keys, keys);
        counts->ones = clamped_sum(counts->ones, ones);
        code = bloom_layers_report(layers, change->layer, counts, 0);
    }
    return code == SQLITE_OK ? bloom_block_save(layers->chunks, &change->block) : code;
}

/* Adds the key to a layer, unless it is found there, where counts says whether it is counted once
 * more; or unless the layer is full, when it is neither found nor added. */
static int add_to_layer(struct change *change, unsigned index, bool counts, bool *added) {
    *added = false;
    int code = open_block(change, index);
    if (code == SQLITE_OK && !change->found) {
        const struct bloom_layer *layer = change->layer;
        struct bloom_sums has = layer->sums;
        if (has.chunks > 1 && has.chunks <= FEW_CHUNKS && bloom_layer_may_fill(layer, 0) &&
            change->layers->growth.mode == BLOOM_GROWTH_ON)
            code = bloom_layers_count(change->layers, layer, &has);
        *added = code == SQLITE_OK && bloom_layer_takes(layer, &has);
    }
    if (code != SQLITE_OK || !(*added || (change->found && counts)))
        return code;
    const struct bloom_shape *shape = &change->layer->geometry.shape;
    unsigned ones = shape->layout->blocks->add(shape, change->block.bytes, change->words);
    return save_block(change, *added, (int)ones);
}

/* Whether the key is in one of the layers from one on, and in which. Where a block will be changed,
 * as the key is new or is to be counted, the key is not looked for in the last one, and the block
 * in the last one looked at is left open: a handle for change is opened anyway, and takes less time
 * to move than a statement takes. Otherwise the last layer comes first, which is the largest. */
static int find_key(struct change *change, unsigned from, bool expects_change, unsigned *at) {
    const unsigned count = change->layers->count;
    int code = SQLITE_OK;
    for (unsigned i = from; code == SQLITE_OK && i + expects_change < count && !change->found;
         i++) {
        *at = expects_change ? i : count - 1 - (i - from);
        code = expects_change ? open_block(change, *at)
                              : check_layer(change->layers, *at, change->words, &change->found);
    }
    return code;
}

int bloom_keys_add(struct bloom_layers *layers, const uint64_t *words, bool again, bool *found) {
    struct change change;
    const bool counts = again && layers->growth.layout->blocks->remove != NULL;
    bool added = false;
    unsigned at = 0; /* the layer it was found in */
    int code = begin_change(&change, layers, words);
    if (code != SQLITE_OK)
        return code;
    /* Keys that are in and keys that are new come in runs. */
    code = find_key(&change, again ? bloom_layers_older(layers) : 0, counts || layers->expects_new,
                    &at);
    if (code == SQLITE_OK && change.found && counts)
        code = add_to_layer(&change, at, true, &added);
    while (code == SQLITE_OK && !change.found && !added) {
        code = add_to_layer(&change, layers->count - 1, counts, &added);
        if (code == SQLITE_OK && !change.found && !added) {
            bloom_block_close(&change.block);
            code = bloom_layers_grow(layers);
        }
    }
    bloom_block_close(&change.block);
    *found = change.found;
    layers->expects_new = added;
    return bloom_layers_finish(layers, code, !change.found || again);
}

int bloom_keys_remove(struct bloom_layers *layers, const uint64_t *words) {
    struct change change;
    unsigned layers_with = 0, at = 0;
    int code = begin_change(&change, layers, words);
    if (code != SQLITE_OK)
        return code;
    for (unsigned i = 0; code == SQLITE_OK && i < layers->count; i++) {
        code = open_block(&change, i);
        layers_with += change.found;
        at = change.found ? i : at;
    }
    if (code == SQLITE_OK && layers_with == 1 && at + 1 < layers->count)
        code = open_block(&change, at);
    if (code == SQLITE_OK && layers_with == 1) {
        const struct bloom_shape *shape = &change.layer->geometry.shape;
        int zeros = (int)shape->layout->blocks->remove(shape, change.block.bytes, words);
        /* The key is gone when one of its counters is zero. */
        code = save_block(&change, zeros > 0 ? -1 : 0, -zeros);
    }
    bloom_block_close(&change.block);
    return bloom_layers_finish(layers, code, true);
}
