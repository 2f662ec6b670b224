/* See keys.h. */
#include "table/keys.h"

/* Whether a key is in one layer. */
static int check_layer(struct bloom_layers *layers, unsigned index, const uint64_t *words,
                       bool *found) {
    const struct bloom_geometry *geometry = &bloom_layers_at(layers, index)->geometry;
    const struct bloom_blocks *blocks = geometry->shape.layout->blocks;
    uint8_t bytes[BLOOM_BLOCK_BYTES_MAXIMUM];
    int code =
        bloom_block_read(layers->chunks, geometry, blocks->of(&geometry->shape, words), bytes);
    *found = code == SQLITE_OK && blocks->check(&geometry->shape, bytes, words);
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

/* Opens the block of a key in a layer, and tells whether it is in. */
static int open_block(struct bloom_layers *layers, unsigned index, const uint64_t *words,
                      struct bloom_block_edit *edit, bool *found) {
    const struct bloom_geometry *geometry = &bloom_layers_at(layers, index)->geometry;
    const struct bloom_blocks *blocks = geometry->shape.layout->blocks;
    int code =
        bloom_block_open(layers->chunks, geometry, blocks->of(&geometry->shape, words), edit);
    *found = code == SQLITE_OK && blocks->check(&geometry->shape, edit->bytes, words);
    return code;
}

/* Saves a block that has so many keys and ones more, or fewer. The row of the layer comes first,
 * since it may still be refused. */
static int save_block(struct bloom_layers *layers, unsigned index, struct bloom_block_edit *edit,
                      int keys, int ones) {
    struct bloom_counts *counts = &edit->counts;
    int code = bloom_block_make_row(layers->chunks, edit);
    if (code == SQLITE_OK && keys != 0) {
        /* Clamped: stored counts are not trusted, and of counters that were full more keys may be
         * taken out than were counted. */
        if (keys > 0 ? counts->keys < BLOOM_COUNT_MAXIMUM : counts->keys > 0)
            counts->keys += (uint32_t)keys;
        int64_t sum = (int64_t)counts->ones + ones;
        counts->ones = sum < 0                              ? 0
                       : sum > (int64_t)BLOOM_COUNT_MAXIMUM ? BLOOM_COUNT_MAXIMUM
                                                            : (uint32_t)sum;
        code = bloom_layers_report(layers, bloom_layers_at(layers, index), counts);
    }
    if (code == SQLITE_OK)
        return bloom_block_save(layers->chunks, edit);
    bloom_block_close(edit);
    return code;
}

/* Adds a key to a layer, unless it is found there, which counts it once more if it is to be; or
 * unless the layer is full, which leaves *found and *added false. The edit, which may be open, is
 * closed. */
static int add_to_layer(struct bloom_layers *layers, unsigned index, const uint64_t *words,
                        bool again, struct bloom_block_edit *edit, bool *found, bool *added) {
    const struct bloom_layer *layer = bloom_layers_at(layers, index);
    const struct bloom_shape *shape = &layer->geometry.shape;
    *added = false;
    int code = open_block(layers, index, words, edit, found);
    if (code != SQLITE_OK)
        return code;
    *added = !*found && bloom_layer_takes(layer, &layer->sums);
    if (!*added && !(*found && again)) {
        bloom_block_close(edit);
        return SQLITE_OK;
    }
    unsigned ones = shape->layout->blocks->add(shape, edit->bytes, words);
    return save_block(layers, index, edit, *added, (int)ones);
}

/* Adds a key to the last layer, or to a further one when it is full. */
static int add_to_last_layer(struct bloom_layers *layers, const uint64_t *words, bool again,
                             struct bloom_block_edit *edit, bool *found, bool *added) {
    for (;;) {
        int code = add_to_layer(layers, layers->count - 1, words, again, edit, found, added);
        if (code != SQLITE_OK || *found || *added)
            return code;
        if (layers->growth.mode == BLOOM_GROWTH_ERROR)
            return bloom_database_fail(
                layers->database, SQLITE_ERROR,
                "the table is full: it was made for %llu keys, and growth=error refuses more; make "
                "one with a larger capacity",
                (sqlite3_uint64)layers->growth.capacity);
        code = bloom_layers_grow(layers);
        if (code != SQLITE_OK)
            return code;
    }
}

/* Whether a key is in one of the layers from one on, and in which. Where a block will be changed,
 * as the key is new or is to be counted, the key is not looked for in the last one, and the block
 * in the last one looked at is left open: a handle for change is opened anyway, and takes less time
 * to move than a statement takes. Otherwise the last layer comes first, which is the largest. */
static int find_key(struct bloom_layers *layers, unsigned from, const uint64_t *words,
                    bool expects_change, struct bloom_block_edit *edit, bool *found, unsigned *at) {
    unsigned count = layers->count;
    int code = SQLITE_OK;
    *found = false;
    for (unsigned i = from; code == SQLITE_OK && i + expects_change < count && !*found; i++) {
        *at = expects_change ? i : count - 1 - (i - from);
        code = expects_change ? open_block(layers, *at, words, edit, found)
                              : check_layer(layers, *at, words, found);
    }
    return code;
}

int bloom_keys_add(struct bloom_layers *layers, const uint64_t *words, bool again, bool *found) {
    struct bloom_block_edit edit;
    bool added = false, counts = again && layers->growth.layout->blocks->remove != NULL;
    unsigned at = 0; /* the layer it was found in */
    *found = false;
    int code = bloom_layers_start(layers, BLOOM_SIZES_NOW);
    if (code != SQLITE_OK)
        return code;
    edit.handle = NULL;
    /* Keys that are in and keys that are new come in runs. */
    code = find_key(layers, again ? bloom_layers_older(layers) : 0, words,
                    counts || layers->expects_new, &edit, found, &at);
    if (code == SQLITE_OK && !*found)
        code = add_to_last_layer(layers, words, counts, &edit, found, &added);
    else if (code == SQLITE_OK && counts)
        code = add_to_layer(layers, at, words, true, &edit, found, &added);
    bloom_block_close(&edit);
    layers->expects_new = added;
    return bloom_layers_finish(layers, code, !*found || again);
}

int bloom_keys_remove(struct bloom_layers *layers, const uint64_t *words) {
    struct bloom_block_edit edit;
    unsigned layers_with = 0, at = 0;
    bool found;
    int code = bloom_layers_start(layers, BLOOM_SIZES_NOW);
    if (code != SQLITE_OK)
        return code;
    edit.handle = NULL;
    for (unsigned i = 0; code == SQLITE_OK && i < layers->count; i++) {
        code = open_block(layers, i, words, &edit, &found);
        layers_with += found;
        at = found ? i : at;
    }
    if (code == SQLITE_OK && layers_with == 1 && at + 1 < layers->count)
        code = open_block(layers, at, words, &edit, &found);
    if (code == SQLITE_OK && layers_with == 1) {
        const struct bloom_shape *shape = &bloom_layers_at(layers, at)->geometry.shape;
        int zeros = (int)shape->layout->blocks->remove(shape, edit.bytes, words);
        /* The key is gone when one of its counters is zero. */
        code = save_block(layers, at, &edit, zeros > 0 ? -1 : 0, -zeros);
    }
    bloom_block_close(&edit);
    return bloom_layers_finish(layers, code, true);
}
