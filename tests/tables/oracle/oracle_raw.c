/* Reads the shadow tables by plain SQL, as ext/FORMAT.md describes them; and does to what was read
 * what a statement must do to it. */
#include "oracle.h"

#include "filter/header.h"

#include <stdlib.h>
#include <string.h>

enum { LAYER_SHIFT = 40, CHUNK_BLOCKS_MOST = 1024 };

bool is_busy(int code) {
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

int really(struct connection *connection, int code) {
    char sql[80];
    if (code == SQLITE_OK || is_busy(code))
        return code;
    char *message = sqlite3_mprintf("%s", sqlite3_errmsg(connection->database));
    int locked = SQLITE_OK;
    for (unsigned schema = 0; schema < SCHEMAS && !is_busy(locked); schema++) {
        sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]);
        if (connection->links[schema].file != NULL)
            locked = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    }
    note("%s: -- result %d (%s)", connection->name, code, message);
    sqlite3_free(message);
    return is_busy(locked) ? locked : code;
}

void refused(struct connection *connection, unsigned schema) {
    refusals++;
    if (!connection->in_transaction || connection->links[schema].sure || shared_cache)
        return;
    sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
    note("%s: ROLLBACK, since its first look was refused", connection->name);
    model_rollback(connection);
}

/* ---- The shadow tables ---- */

void raw_clear(struct raw *raw) {
    for (unsigned i = 0; i < raw->layer_count; i++)
        free(raw->layers[i].payload);
    raw->layer_count = 0;
}

static void digest(struct raw *raw, const void *bytes, size_t length) {
    raw->digest = raw->digest * 31 + bloom_hash_bytes(bytes, length).words[0];
}

static void digest_number(struct raw *raw, sqlite3_int64 number) {
    raw->digest = raw->digest * 31 + bloom_hash_integer(number).words[0];
}

static void read_layer(struct raw *raw, sqlite3_stmt *row) {
    struct raw_layer *layer = &raw->layers[raw->layer_count];
    char problem[BLOOM_PROBLEM_SIZE];
    const uint8_t *header = sqlite3_column_blob(row, 1);
    int length = sqlite3_column_bytes(row, 1);
    for (int i = 0; i < 6; i++)
        if (i != 1)
            digest_number(raw, sqlite3_column_int64(row, i));
    if (header != NULL)
        digest(raw, header, (size_t)length);
    if (!raw->sane || raw->layer_count == LAYERS_MOST ||
        sqlite3_column_int64(row, 0) != raw->layer_count || length != BLOOM_HEADER_BYTES ||
        !bloom_header_read(&layer->shape, header, BLOOM_HEADER_BYTES, problem) ||
        layer->shape.layout->blocks == NULL) {
        raw->sane = false;
        return;
    }
    if (raw->layer_count == 0)
        memcpy(raw->header, header, BLOOM_HEADER_BYTES);
    layer->chunk_blocks = (uint64_t)sqlite3_column_int64(row, 2);
    layer->keys = (uint64_t)sqlite3_column_int64(row, 3);
    layer->chunks = (uint64_t)sqlite3_column_int64(row, 4);
    layer->ones = (uint64_t)sqlite3_column_int64(row, 5);
    layer->rows = layer->bits = 0;
    layer->payload = calloc(1, (size_t)bloom_payload_bytes(&layer->shape));
    expect(layer->payload != NULL, "no memory");
    if (layer->chunk_blocks < 1 || layer->chunk_blocks > CHUNK_BLOCKS_MOST)
        raw->sane = false;
    raw->layer_count++;
}

static void read_chunk(struct raw *raw, sqlite3_stmt *row) {
    sqlite3_int64 id = sqlite3_column_int64(row, 0);
    const uint8_t *bits = sqlite3_column_blob(row, 1);
    uint64_t length = (uint64_t)sqlite3_column_bytes(row, 1);
    digest_number(raw, id);
    digest(raw, bits, (size_t)length);
    uint64_t index = (uint64_t)id >> LAYER_SHIFT;
    if (id < 0 || index >= raw->layer_count) {
        raw->strays++;
        return;
    }
    struct raw_layer *layer = &raw->layers[index];
    uint64_t first = ((uint64_t)id & ((UINT64_C(1) << LAYER_SHIFT) - 1)) * layer->chunk_blocks *
                     layer->shape.layout->blocks->bytes;
    uint64_t whole = bloom_payload_bytes(&layer->shape);
    if (length != layer->chunk_blocks * layer->shape.layout->blocks->bytes) {
        raw->sane = false;
        raw->wrong_chunk_size = true;
        return;
    }
    if (first >= whole) {
        raw->strays++;
        return;
    }
    layer->rows++;
    uint64_t used = whole - first < length ? whole - first : length;
    memcpy(layer->payload + first, bits, (size_t)used);
    for (uint64_t i = used; i < length; i++)
        if (bits[i] != 0)
            raw->sane = false;
}

bool look_raw(struct connection *connection, unsigned schema, unsigned name, struct raw *raw) {
    int code;
    memset(raw, 0, sizeof *raw);
    raw->sane = true;
    bool tampered = view(connection, schema)->tampered;
    for (enum statement which = LAYERS; which <= CHUNKS; which++) {
        sqlite3_stmt *statement = statement_of(connection, schema, name, which, &code);
        if (code == SQLITE_OK)
            while ((code = sqlite3_step(statement)) == SQLITE_ROW)
                which == LAYERS ? read_layer(raw, statement) : read_chunk(raw, statement);
        if (statement != NULL)
            code = sqlite3_reset(statement);
        code = really(connection, code);
        if (is_busy(code)) {
            raw_clear(raw);
            refused(connection, schema);
            return false;
        }
        expect(code == SQLITE_OK, "%s: the shadow tables of %s.%s cannot be read: %s",
               connection->name, SCHEMA[schema], NAME[name], sqlite3_errmsg(connection->database));
    }
    connection->links[schema].sure = connection->in_transaction;
    if (raw->layer_count == 0)
        raw->sane = false;
    expect(raw->sane || tampered, "%s: the shadow tables of %s.%s are damaged", connection->name,
           SCHEMA[schema], NAME[name]);
    for (unsigned i = 0; i < raw->layer_count; i++) {
        struct raw_layer *layer = &raw->layers[i];
        struct bloom_estimate estimate =
            layer->shape.layout->estimate(&layer->shape, layer->payload);
        layer->bits = estimate.ones;
        layer->count = estimate.count;
        layer->rate = estimate.rate;
    }
    return true;
}

/* ---- What a change makes of the bits ---- */

static bool layer_has(const struct raw_layer *layer, const uint64_t *words) {
    return layer->shape.layout->check(&layer->shape, layer->payload, words);
}

bool raw_has(const struct raw *raw, const uint64_t *words) {
    for (unsigned i = 0; i < raw->layer_count; i++)
        if (layer_has(&raw->layers[i], words))
            return true;
    return false;
}

unsigned raw_layers_with(const struct raw *raw, const uint64_t *words) {
    unsigned count = 0;
    for (unsigned i = 0; i < raw->layer_count; i++)
        count += layer_has(&raw->layers[i], words);
    return count;
}

unsigned raw_copies(const struct raw *raw, const uint64_t *words) {
    enum { BLOCK_BYTES_MOST = 1024 };
    unsigned copies = 0;
    for (unsigned i = 0; i < raw->layer_count && copies < COPIES_MOST; i++) {
        const struct bloom_shape *shape = &raw->layers[i].shape;
        const struct bloom_blocks *blocks = shape->layout->blocks;
        uint8_t block[BLOCK_BYTES_MOST];
        memcpy(block, raw->layers[i].payload + blocks->of(shape, words) * blocks->bytes,
               blocks->bytes);
        for (; copies < COPIES_MOST && blocks->check(shape, block, words); copies++)
            blocks->remove(shape, block, words);
    }
    return copies;
}

bool raw_add(struct raw *raw, const uint64_t *words, bool again) {
    struct raw_layer *last = &raw->layers[raw->layer_count - 1];
    for (unsigned i = 0; i < raw->layer_count; i++) {
        struct raw_layer *layer = &raw->layers[i];
        if (!layer_has(layer, words))
            continue;
        if (again && layer->shape.layout->blocks->remove != NULL)
            layer->shape.layout->add(&layer->shape, layer->payload, words, 1);
        return false;
    }
    last->shape.layout->add(&last->shape, last->payload, words, 1);
    return true;
}

/* One that is in several layers stays: who knows of which it is. */
bool raw_remove(struct raw *raw, const uint64_t *words) {
    if (raw_layers_with(raw, words) != 1)
        return false;
    for (unsigned i = 0; i < raw->layer_count; i++) {
        struct raw_layer *layer = &raw->layers[i];
        if (layer_has(layer, words))
            layer->shape.layout->remove(&layer->shape, layer->payload, words);
    }
    return !raw_has(raw, words);
}

bool raw_same_bits(const struct raw *raw, const struct raw *other) {
    if (other->layer_count < raw->layer_count)
        return false;
    for (unsigned i = 0; i < raw->layer_count; i++)
        if (memcmp(raw->layers[i].payload, other->layers[i].payload,
                   (size_t)bloom_payload_bytes(&raw->layers[i].shape)) != 0)
            return false;
    return true;
}
