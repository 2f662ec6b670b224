/* Many keys at once: a set of hashes is added layer by layer; see keys.h.
 *
 * The hashes ascend, and so do the numbers of the blocks that decide about them, in every layer. So
 * one pass over the set reads and writes each chunk of a layer at most once. What a closed chunk
 * refuses stays for the pass over the next layer.
 *
 * Within a chunk the keys must not come in the order of the set, because then the chunk would close
 * with its lower blocks overfilled and its upper ones empty. So they are taken with a stride that
 * has no factor in common with their number: all of them come, each once, in an order that has
 * nothing to do with their blocks.
 *
 * With growth=error the pass is made twice, first without writing, so that a set that is refused
 * changes nothing.
 */
#include "sqlite/poll.h"
#include "table/keys.h"

#include <string.h>

/* Less than a millisecond; see bloom_poll. */
enum { HASHES_BETWEEN_POLLS = 20000 };

struct bulk {
    struct bloom_chunks *chunks;
    const struct bloom_hashes *set;
    bool dry_run;       /* count only */
    uint8_t *done;      /* a bit a hash: it is in */
    uint64_t left;      /* hashes that are not done */
    sqlite3_stmt *poll; /* of bloom_poll */
    uint64_t unpolled;  /* hashes since the last poll */

    /* The chunk that is worked on. */
    struct bloom_change change;
    bool changed;
};

/* Adds one hash to the chunk, unless it is closed. As after any INSERT, a layout that counts must
 * count a key that is found, or to delete it would delete others. */
static void add_hash(struct bulk *bulk, uint64_t index) {
    const struct bloom_layer *layer = bulk->change.place.layer;
    const struct bloom_shape *shape = &layer->shape;
    const struct bloom_blocks *kernel = shape->layout->blocks;
    const uint64_t *words = &bulk->set->hashes[index];
    const uint64_t before =
        bloom_block_of(shape, words) - bloom_layer_chunk_start(layer, bulk->change.place.chunk);
    uint8_t *block = bulk->change.blocks + before * kernel->bytes;
    const bool found = kernel->check(shape, block, words);
    if (!found && bulk->change.head.closed)
        return;
    bulk->done[index / 8] |= (uint8_t)(1u << index % 8);
    bulk->left--;
    if (found && kernel->remove == NULL)
        return;
    bulk->change.head.ones += kernel->add(shape, block, words);
    bulk->change.head.keys += !found;
    if (!found && bloom_layer_is_full(layer, bulk->change.place.blocks, bulk->change.head.keys,
                                      bulk->change.head.ones))
        bulk->change.head.closed = 1;
    bulk->changed = true;
}

static uint64_t common_factor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t remainder = a % b;
        a = b;
        b = remainder;
    }
    return a;
}

/* The golden section of the count, or the next larger number without a factor in common with it.
 * Its multiples are spread evenly at every scale, so that a chunk may close at any moment. */
static uint64_t stride_of(uint64_t count) {
    uint64_t stride = count * 40503 >> 16;
    while (common_factor(stride, count) != 1)
        stride++;
    return stride;
}

/* Adds what is left of the hashes from one to before another, which all belong to a chunk. */
static int add_run(struct bulk *bulk, const struct bloom_place *place, uint64_t from, uint64_t to) {
    const uint64_t count = to - from, stride = stride_of(count);
    int code = bloom_change_open(bulk->chunks, place, &bulk->change);
    if (code != SQLITE_OK)
        return code;
    bulk->changed = false;
    for (uint64_t i = 0, at = 0; i < count; i++) {
        const uint64_t index = from + at;
        if (!(bulk->done[index / 8] >> index % 8 & 1))
            add_hash(bulk, index);
        at += stride;
        at -= at >= count ? count : 0;
    }
    return bulk->changed && !bulk->dry_run ? bloom_change_save(bulk->chunks, &bulk->change)
                                           : bloom_change_close(&bulk->change, code);
}

static int poll_after(struct bulk *bulk, uint64_t hashes) {
    bulk->unpolled += hashes;
    if (bulk->unpolled < HASHES_BETWEEN_POLLS)
        return SQLITE_OK;
    bulk->unpolled = 0;
    return bloom_poll(bulk->chunks->database->connection, &bulk->poll);
}

/* One pass over what is left, for one layer. */
static int add_to_layer(struct bulk *bulk, unsigned index) {
    const struct bloom_layer *layer = bloom_chunks_layer(bulk->chunks, index);
    const uint64_t *hashes = bulk->set->hashes;
    const uint64_t count = bulk->set->count;
    int code = SQLITE_OK;
    for (uint64_t from = 0, to; from < count && code == SQLITE_OK; from = to) {
        const uint64_t number =
            bloom_layer_chunk_of(layer, bloom_block_of(&layer->shape, &hashes[from]));
        const uint64_t end = bloom_layer_chunk_start(layer, number + 1);
        bool any = false;
        for (to = from; to < count && bloom_block_of(&layer->shape, &hashes[to]) < end; to++)
            any |= !(bulk->done[to / 8] >> to % 8 & 1);
        const struct bloom_place place =
            bloom_place_of_chunk(bulk->chunks, index, bulk->chunks->newest, number);
        if (any)
            code = add_run(bulk, &place, from, to);
        if (code == SQLITE_OK)
            code = poll_after(bulk, to - from);
    }
    return code;
}

static int add_to_layers(struct bulk *bulk) {
    const bool refuses = bulk->chunks->growth.mode == BLOOM_GROWTH_ERROR;
    int code = SQLITE_OK;
    memset(bulk->done, 0, (size_t)(bulk->set->count / 8 + 1));
    bulk->left = bulk->set->count;
    for (unsigned index = 0; code == SQLITE_OK && bulk->left > 0; index++)
        if (index > 0 && refuses)
            code = bloom_keys_refuse(bulk->chunks);
        else
            code = add_to_layer(bulk, index);
    return code;
}

int bloom_keys_add_all(struct bloom_chunks *chunks, const struct bloom_hashes *set) {
    struct bulk bulk = {.chunks = chunks, .set = set};
    int code = bloom_chunks_start_reading(chunks);
    if (code != SQLITE_OK)
        return code;
    bulk.done = sqlite3_malloc64(set->count / 8 + 1);
    if (bulk.done == NULL)
        return SQLITE_NOMEM;
    bulk.dry_run = chunks->growth.mode == BLOOM_GROWTH_ERROR;
    if (bulk.dry_run)
        code = add_to_layers(&bulk);
    bulk.dry_run = false;
    if (code == SQLITE_OK)
        code = add_to_layers(&bulk);
    sqlite3_finalize(bulk.poll);
    sqlite3_free(bulk.done);
    return code;
}
