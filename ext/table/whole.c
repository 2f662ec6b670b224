/* What concerns all chunks of a table: its filter, info, merge, clear, integrity. See table_store.h. */
#include "table/internal.h"

#include <math.h>
#include <string.h>

static void tally_chunk(void *argument, const struct bloom_layer *layer, uint64_t chunk,
                        const uint8_t *bits) {
    layer->shape.layout->blocks->tally(argument, bits, bloom_chunk_blocks(layer, chunk));
}

static int estimate_layer(struct bloom_table_store *store, unsigned index,
                          struct bloom_estimate *estimate) {
    struct bloom_tally tally = {0};
    int code = bloom_chunk_for_each(store, index, tally_chunk, &tally);
    if (code == SQLITE_OK)
        *estimate =
            bloom_layout_blocked.blocks->estimate(&store->state.layers[index].shape, &tally);
    return code;
}

static void copy_chunk(void *argument, const struct bloom_layer *layer, uint64_t chunk,
                       const uint8_t *bits) {
    uint8_t *payload = argument;
    memcpy(payload + chunk * layer->chunk_blocks * BLOOM_BLOCK_BYTES, bits,
           (size_t)bloom_chunk_blocks(layer, chunk) * BLOOM_BLOCK_BYTES);
}

int bloom_store_filter(struct bloom_table_store *store, int64_t length_limit,
                       struct bloom_shape *shape, uint8_t **bytes) {
    int code = bloom_store_load(store);
    *bytes = NULL;
    if (code != SQLITE_OK)
        return code;
    if (store->state.layer_count > 1)
        return bloom_store_fail(
            store, SQLITE_ERROR,
            "the table has grown to %u layers, which no single filter can hold; make a table or a "
            "filter with a larger capacity",
            store->state.layer_count);
    *shape = store->state.layers[0].shape;
    if (bloom_filter_bytes(shape) > (uint64_t)length_limit)
        return bloom_store_fail(
            store, SQLITE_TOOBIG,
            "its filter needs %llu bytes, but a value of this connection is limited to %lld bytes",
            (sqlite3_uint64)bloom_filter_bytes(shape), (sqlite3_int64)length_limit);
    *bytes = bloom_sql_new_filter(shape);
    if (*bytes == NULL)
        return SQLITE_NOMEM;
    code = bloom_chunk_for_each(store, 0, copy_chunk, *bytes + BLOOM_HEADER_BYTES);
    if (code != SQLITE_OK) {
        sqlite3_free(*bytes);
        *bytes = NULL;
    }
    return code;
}

int bloom_store_info(struct bloom_table_store *store, char **json) {
    const struct bloom_table_options *options = &store->options;
    double count = 0,
           pass = 1; /* pass: probability that a key that is not in is found in no layer */
    uint64_t chunks = 0;
    int code = bloom_store_load(store);
    *json = NULL;
    if (code != SQLITE_OK)
        return code;
    sqlite3_str *layers = sqlite3_str_new(store->database);
    for (unsigned i = 0; i < store->state.layer_count && code == SQLITE_OK; i++) {
        const struct bloom_layer *layer = &store->state.layers[i];
        struct bloom_estimate estimate = {0};
        code = estimate_layer(store, i, &estimate);
        count += estimate.count;
        pass *= 1 - estimate.rate;
        chunks += layer->chunks;
        sqlite3_str_appendf(
            layers,
            "%s{\"n\":%llu,\"p\":%!.15g,\"bits\":%llu,\"hashes\":%u,\"keys\":%llu,\"fill\":%!"
            ".15g,\"fpr\":%!.15g}",
            i > 0 ? "," : "", (sqlite3_uint64)layer->shape.capacity, layer->shape.rate,
            (sqlite3_uint64)layer->shape.bits, layer->shape.probes, (sqlite3_uint64)layer->keys,
            (double)estimate.ones / (double)layer->shape.bits, estimate.rate);
    }
    char *layers_text = sqlite3_str_finish(layers);
    if (code == SQLITE_OK && layers_text != NULL) {
        char *count_text = isfinite(count)
                               ? sqlite3_mprintf("%lld", (sqlite3_int64)floor(count + 0.5))
                               : sqlite3_mprintf("null");
        if (count_text != NULL)
            *json = sqlite3_mprintf("{\"version\":%d,\"capacity\":%llu,\"p\":%!.15g,\"growth\":%s,"
                                    "\"chunks\":%llu,\"count\":%s,"
                                    "\"fpr\":%!.15g,\"layers\":[%s]}",
                                    BLOOM_FORMAT_VERSION, (sqlite3_uint64)options->capacity,
                                    options->rate, options->growth ? "true" : "false",
                                    (sqlite3_uint64)chunks, count_text, 1 - pass, layers_text);
        sqlite3_free(count_text);
    }
    sqlite3_free(layers_text);
    return code == SQLITE_OK && *json == NULL ? SQLITE_NOMEM : code;
}

static bool any_bit(const uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i] != 0)
            return true;
    return false;
}

static void ignore_chunk(void *argument, const struct bloom_layer *layer, uint64_t chunk,
                         const uint8_t *bits) {
    (void)argument;
    (void)layer;
    (void)chunk;
    (void)bits;
}

int bloom_store_merge(struct bloom_table_store *store, const struct bloom_stored *filter) {
    struct bloom_layer *layer = &store->state.layers[0];
    char problem[BLOOM_PROBLEM_SIZE];
    int code = bloom_store_load(store);
    if (code != SQLITE_OK)
        return code;
    if (!bloom_shape_same(&layer->shape, &filter->shape, problem))
        return bloom_store_fail(store, SQLITE_ERROR,
                                "the filter differs from the table's first layer (%s); make it "
                                "with the table's capacity and fpr",
                                problem);
    /* All chunks are looked at before the first is written: a damaged one must not leave half a merge behind.
     * Whatever else can fail (memory, disk) makes SQLite roll the transaction back. */
    code = bloom_chunk_for_each(store, 0, ignore_chunk, NULL);
    if (code != SQLITE_OK)
        return code;
    uint64_t blocks = layer->shape.layout->blocks->count(&layer->shape);
    for (uint64_t chunk = 0; chunk * layer->chunk_blocks < blocks; chunk++) {
        const uint8_t *from =
            bloom_stored_payload(filter) + chunk * layer->chunk_blocks * BLOOM_BLOCK_BYTES;
        size_t length = (size_t)bloom_chunk_blocks(layer, chunk) * BLOOM_BLOCK_BYTES;
        bool written;
        if (!any_bit(from, length))
            continue;
        code = bloom_chunk_read(store, 0, chunk, &written);
        if (code != SQLITE_OK)
            return code;
        layer->shape.layout->unite(store->chunk, from, length);
        code = bloom_chunk_write(store, 0, chunk, written);
        if (code != SQLITE_OK)
            return code;
    }
    /* Which of the keys are new is in the bits only. */
    struct bloom_estimate estimate = {0};
    code = estimate_layer(store, 0, &estimate);
    if (code != SQLITE_OK)
        return code;
    layer->keys =
        isfinite(estimate.count) ? (uint64_t)floor(estimate.count + 0.5) : layer->shape.capacity;
    layer->ones = estimate.ones;
    return bloom_layer_write(store, 0);
}

int bloom_store_clear(struct bloom_table_store *store) {
    int code = bloom_store_load(store);
    if (code != SQLITE_OK)
        return code;
    code = bloom_store_execute(store, "DELETE FROM \"%w\".\"%w_chunks\"", NULL);
    if (code == SQLITE_OK)
        code = bloom_store_execute(store, "DELETE FROM \"%w\".\"%w_layers\" WHERE layer > 0", NULL);
    if (code != SQLITE_OK)
        return code;
    store->state.layer_count = 1;
    store->state.layers[0].keys = store->state.layers[0].chunks = store->state.layers[0].ones = 0;
    store->state.dirty = false;
    return bloom_layer_write(store, 0);
}

struct verification {
    uint64_t rows;
    bool bits_beyond; /* set beyond the last block of the layer */
};

static void verify_chunk(void *argument, const struct bloom_layer *layer, uint64_t chunk,
                         const uint8_t *bits) {
    struct verification *found = argument;
    size_t used = (size_t)bloom_chunk_blocks(layer, chunk) * BLOOM_BLOCK_BYTES;
    found->rows++;
    if (any_bit(bits + used, layer->chunk_blocks * BLOOM_BLOCK_BYTES - used))
        found->bits_beyond = true;
}

int bloom_store_verify(struct bloom_table_store *store, char **problem) {
    uint64_t rows_in_layers = 0, rows = 0;
    *problem = NULL;
    store->state.loaded = store->in_transaction && store->state.loaded;
    int code = bloom_store_load(store);
    for (unsigned i = 0; code == SQLITE_OK && i < store->state.layer_count && *problem == NULL;
         i++) {
        struct verification found = {0};
        code = bloom_chunk_for_each(store, i, verify_chunk, &found);
        rows_in_layers += found.rows;
        if (code == SQLITE_OK && found.rows != store->state.layers[i].chunks)
            *problem = sqlite3_mprintf("%s: layer %u has %llu chunks, but %llu were written",
                                       store->name, i, (sqlite3_uint64)found.rows,
                                       (sqlite3_uint64)store->state.layers[i].chunks);
        else if (code == SQLITE_OK && found.bits_beyond)
            *problem = sqlite3_mprintf("%s: bits are set beyond the last block of layer %u",
                                       store->name, i);
    }
    if (code == SQLITE_OK && *problem == NULL)
        code = bloom_chunk_count(store, &rows);
    if (code == SQLITE_OK && *problem == NULL && rows != rows_in_layers)
        *problem = sqlite3_mprintf("%s: %llu chunks are of no layer", store->name,
                                   (sqlite3_uint64)(rows - rows_in_layers));
    if ((code & 0xff) == SQLITE_CORRUPT ||
        (code & 0xff) == SQLITE_ERROR) { /* else nothing is known */
        *problem = bloom_store_message(store);
        code = SQLITE_OK;
    }
    return code;
}
