/* Many keys at once: a set of hashes (bloom_hashes) written chunk by chunk; see keys.h.
 *
 * The hashes ascend, and so do the numbers of the blocks that decide about them, in every layer.
 * So each pass over the set reads and writes each chunk of one layer at most once:
 *
 *   1. One pass a layer marks what is in. Nothing is written yet: damage is found first, and
 *      growth=error refuses a set with more new keys than there is room for.
 *   2. With a layout that counts, one pass a layer counts what was found there once more.
 *   3. One pass for each layer that takes keys. When the room of the last one is less than what is
 *      left, it takes its share: the keys whose mixed hash is below a limit. Taking the first keys
 *      of the set would overfill its lower blocks.
 */
#include "table/keys.h"

#include "filter/hash.h"
#include "filter/hashes.h"

#include <string.h>

enum mode { MARK, COUNT, ADD };

/* Less than a millisecond; see bloom_sql_ask. */
enum { HASHES_BETWEEN_QUESTIONS = 20000 };

struct bulk {
    struct bloom_layers *layers;
    const uint8_t *hashes;
    uint64_t count;
    bool counts;        /* the layout does */
    bool tries;         /* what is changed is not written */
    uint8_t *done;      /* a bit a hash: nothing is left to do about it */
    uint64_t left;      /* hashes of which that is not so */
    sqlite3_stmt *asks; /* see bloom_sql_ask */

    /* The layer that a pass is over, and the chunk that it is at. */
    struct bloom_layer *layer;
    uint64_t more; /* keys that the pass may add */
    bool changed;
    uint64_t chunk; /* UINT64_MAX: none */
    struct bloom_counts chunk_counts;
    uint8_t *blocks;

    struct bloom_sums has; /* keys and ones of the last layer, with what is not reported */
};

static bool is_done(const struct bulk *bulk, uint64_t index) {
    return bulk->done[index / 8] >> index % 8 & 1;
}

static void set_done(struct bulk *bulk, uint64_t index) {
    bulk->done[index / 8] |= (uint8_t)(1u << index % 8);
    bulk->left--;
}

static int leave_chunk(struct bulk *bulk) {
    int code = SQLITE_OK;
    if (bulk->changed && !bulk->tries) {
        code = bloom_layers_report(bulk->layers, bulk->layer, &bulk->chunk_counts, bulk->more);
        /* The chunk may be new, and may have been the last one without a row. */
        bulk->layer->geometry.complete = false;
        if (code == SQLITE_OK)
            code = bloom_chunk_write(bulk->layers->chunks, &bulk->layer->geometry, bulk->chunk,
                                     &bulk->chunk_counts);
    }
    bulk->changed = false;
    bulk->chunk = UINT64_MAX;
    return code;
}

static int go_to_chunk(struct bulk *bulk, uint64_t chunk) {
    if (bulk->chunk == chunk)
        return SQLITE_OK;
    int code = leave_chunk(bulk);
    if (code == SQLITE_OK)
        code = bloom_chunk_read(bulk->layers->chunks, &bulk->layer->geometry, chunk,
                                &bulk->chunk_counts, &bulk->blocks);
    bulk->chunk = code == SQLITE_OK ? chunk : UINT64_MAX;
    return code;
}

/* A key that was not found when it was marked may be later, by others of the set. As after any
 * INSERT, a layout that counts must have counted it, or to delete it would delete others. */
static void visit_key(struct bulk *bulk, uint64_t index, uint8_t *block, const uint64_t *words,
                      enum mode mode) {
    const struct bloom_shape *shape = &bulk->layer->geometry.shape;
    const struct bloom_blocks *blocks = shape->layout->blocks;
    const bool found = blocks->check(shape, block, words);
    const bool adds = found ? bulk->counts && mode != MARK
                            : mode == ADD && bloom_layer_takes(bulk->layer, &bulk->has);
    if (adds) {
        const uint32_t ones = blocks->add(shape, block, words);
        bulk->chunk_counts.ones += ones;
        bulk->chunk_counts.keys += !found;
        bulk->has.ones += ones;
        bulk->has.keys += !found;
        bulk->changed = true;
    }
    if (found || adds)
        set_done(bulk, index);
}

/* One pass over the hashes that are not done and whose mixed value is at most limit. */
static int pass(struct bulk *bulk, struct bloom_layer *layer, enum mode mode, uint64_t limit) {
    const struct bloom_shape *shape = &layer->geometry.shape;
    const struct bloom_blocks *blocks = shape->layout->blocks;
    const uint32_t chunk_blocks = layer->geometry.chunk_blocks;
    int code = SQLITE_OK;
    bulk->layer = layer;
    bulk->more = bulk->left;
    for (uint64_t i = 0; i < bulk->count && code == SQLITE_OK; i++) {
        const uint64_t words[1] = {bloom_hashes_at(bulk->hashes, i)};
        if (i % HASHES_BETWEEN_QUESTIONS == HASHES_BETWEEN_QUESTIONS - 1)
            code = bloom_sql_ask(bulk->layers->database->connection, &bulk->asks);
        if (is_done(bulk, i) || (limit < UINT64_MAX && bloom_mix(words[0]) > limit))
            continue;
        uint64_t block = blocks->of(shape, words);
        if (code == SQLITE_OK)
            code = go_to_chunk(bulk, block / chunk_blocks);
        if (code == SQLITE_OK)
            visit_key(bulk, i, bulk->blocks + block % chunk_blocks * blocks->bytes, words, mode);
    }
    int left = leave_chunk(bulk);
    return code == SQLITE_OK ? left : code;
}

/* One pass over each layer of the newest generation. */
static int pass_all(struct bulk *bulk, enum mode mode) {
    int code = SQLITE_OK;
    memset(bulk->done, 0, (size_t)(bulk->count / 8 + 1));
    bulk->left = bulk->count;
    for (unsigned i = bloom_layers_older(bulk->layers);
         code == SQLITE_OK && bulk->left > 0 && i < bulk->layers->count; i++)
        code = pass(bulk, bloom_layers_at(bulk->layers, i), mode, UINT64_MAX);
    return code;
}

static struct bloom_layer *last_layer(const struct bulk *bulk) {
    return bloom_layers_at(bulk->layers, bulk->layers->count - 1);
}

/* Learns what the last layer has. Where what is left may fill it, all its chunks are counted, since
 * its row does not have what they have not reported. */
static int count_last(struct bulk *bulk) {
    const struct bloom_layer *last = last_layer(bulk);
    bulk->has = last->sums;
    return bloom_layer_may_fill(last, bulk->left)
               ? bloom_layers_count(bulk->layers, last, &bulk->has)
               : SQLITE_OK;
}

/* Keys that the last layer still takes. */
static uint64_t room_of_last(const struct bulk *bulk) {
    const struct bloom_layer *last = last_layer(bulk);
    return bloom_layer_takes(last, &bulk->has) ? last->limits.keys - bulk->has.keys : 0;
}

/* With growth=error: refuses a set that the last layer does not take. Whether its ones suffice is
 * seen when the set is added, which is tried where they may not; then all is as it was. */
static int check_room(struct bulk *bulk) {
    const uint64_t left = bulk->left;
    uint64_t room = room_of_last(bulk);
    if (room >= left) {
        if (!bloom_layer_may_fill(last_layer(bulk), left))
            return SQLITE_OK;
        bulk->tries = true;
        int code = pass(bulk, last_layer(bulk), ADD, UINT64_MAX);
        bulk->tries = false;
        room = left - bulk->left;
        if (code == SQLITE_OK && room == left) {
            code = pass_all(bulk, MARK);
            return code == SQLITE_OK ? count_last(bulk) : code;
        }
        if (code != SQLITE_OK)
            return code;
    }
    return bloom_database_fail(
        bulk->layers->database, SQLITE_ERROR,
        "the table has room for %llu more keys, but %llu of the set are new, and growth=error "
        "refuses more; make one with a larger capacity",
        (sqlite3_uint64)room, (sqlite3_uint64)left);
}

/* Adds what is left. The share of a layer that has less room than is left is its part of the mixed
 * values that no layer has had yet; that is a number of keys which varies by its square root, so
 * that it takes more than one pass until a layer has room for less than a 10,000th of its keys. */
static int add_rest(struct bulk *bulk) {
    enum { ENOUGH = 10000 };
    uint64_t limit = 0;
    int code = SQLITE_OK;
    while (code == SQLITE_OK && bulk->left > 0) {
        const uint64_t room = room_of_last(bulk);
        if (room < bulk->left && room <= last_layer(bulk)->limits.keys / ENOUGH) {
            code = bloom_layers_grow(bulk->layers);
            if (code == SQLITE_OK)
                code = count_last(bulk);
            continue;
        }
        if (room >= bulk->left)
            limit = UINT64_MAX;
        else
            limit += (uint64_t)((double)(UINT64_MAX - limit) / (double)bulk->left * (double)room);
        code = pass(bulk, last_layer(bulk), ADD, limit);
    }
    return code;
}

static int check_order(struct bulk *bulk) {
    int code = SQLITE_OK;
    for (uint64_t i = 1; i < bulk->count && code == SQLITE_OK; i++) {
        if (i % HASHES_BETWEEN_QUESTIONS == 0)
            code = bloom_sql_ask(bulk->layers->database->connection, &bulk->asks);
        if (bloom_hashes_at(bulk->hashes, i) <= bloom_hashes_at(bulk->hashes, i - 1))
            return bloom_database_fail(bulk->layers->database, SQLITE_ERROR,
                                       "the set is damaged: its hashes do not ascend; make it anew "
                                       "with bloom_hashes");
    }
    return code;
}

int bloom_bulk_add(struct bloom_layers *layers, const struct bloom_stored *set) {
    struct bulk bulk = {.layers = layers,
                        .hashes = bloom_stored_payload(set),
                        .count = set->shape.capacity,
                        .chunk = UINT64_MAX,
                        .counts = layers->growth.layout->blocks->remove != NULL};
    bulk.done = sqlite3_malloc64(bulk.count / 8 + 1);
    if (bulk.done == NULL)
        return SQLITE_NOMEM;
    int code = check_order(&bulk);
    if (code == SQLITE_OK)
        code = pass_all(&bulk, MARK);
    if (code == SQLITE_OK)
        code = count_last(&bulk);
    if (code == SQLITE_OK && layers->growth.mode == BLOOM_GROWTH_ERROR)
        code = check_room(&bulk);
    if (code == SQLITE_OK)
        code = bloom_layers_prepare(layers, bloom_layer_may_fill(last_layer(&bulk), bulk.left));
    if (code == SQLITE_OK && bulk.counts && bulk.left < bulk.count)
        code = pass_all(&bulk, COUNT);
    if (code == SQLITE_OK)
        code = add_rest(&bulk);
    sqlite3_finalize(bulk.asks);
    sqlite3_free(bulk.done);
    bloom_layers_forget(layers);
    return code;
}
