/* See table_store.h. */
#include "table_store.h"

#include "bitset.h"
#include "layout_blocked.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    LAYERS_MAXIMUM = 41, /* from one key on, doubling reaches the largest capacity */
    /* Reads after which the handle is opened: that takes as long as three reads through it save. */
    READS_BEFORE_HANDLE = 4,
    LAYER_SHIFT = 40, /* chunk ids: layer * 2^40 + chunk */
    /* Of a table leaf page, what is not the BLOB of its one row: 35 bytes that SQLite keeps off a payload
     * that shall not overflow, and up to 5 bytes of record header. */
    PAGE_OVERHEAD = 40,
    CHUNK_BLOCKS_MAXIMUM = 1024
};

/* The smallest rate of a further layer: what the layout can keep for any capacity. */
static const double LAYER_RATE_MINIMUM = 1e-9;

struct layer {
    struct bloom_shape shape;
    uint32_t chunk_blocks;
    uint64_t keys;
    uint64_t chunks;
    uint64_t ones;      /* bits set */
    uint64_t closed_at; /* bits set when it is full */
};

/* What a transaction changes without writing it at once. */
struct state {
    bool loaded;
    bool dirty; /* the last layer's counts differ from its row */
    unsigned layer_count;
    struct layer layers[LAYERS_MAXIMUM];
};

enum statement { LOAD_LAYERS, WRITE_LAYER, READ_CHUNK, WRITE_CHUNK, STATEMENTS };

struct bloom_table_store {
    struct bloom_table_registry *registry; /* NULL when no longer in it */
    struct bloom_table_store *next;        /* in the registry */
    int references;
    sqlite3 *database;
    char *schema;
    char *name;
    char *chunks_name; /* of the shadow table */
    struct bloom_table_options options;
    struct state state;
    unsigned data_version; /* of the database when the state was loaded: changes with commits of other
                              connections */
    int total_changes;     /* of this connection, likewise: it may write shadow tables by hand */
    bool in_transaction;
    bool created; /* in this transaction. A rollback to a savepoint before takes the table away without
                   * telling this store, which must not then write its counts into what is called the same; so
                   * they are written at once. */
    sqlite3_stmt *statements[STATEMENTS];
    /* An open handle reads a chunk in less than half the time of a statement, but is a reader: it would keep
     * the database's read transaction alive, and keeps other tables from being dropped. So, as in SQLite's
     * R*Tree, it lives no longer than the cursors at work or the write transaction, and not beyond a savepoint,
     * which DROP opens. */
    sqlite3_blob *handle;
    unsigned cursors; /* open */
    unsigned reads;   /* of chunks, since the handle was closed last */
    uint8_t *chunk;   /* the chunk at hand, largest size */
    char *message;
};

static const char *const STATEMENT_SQL[STATEMENTS] = {
    [LOAD_LAYERS] =
        "SELECT layer, header, chunk_blocks, keys, chunks, ones FROM \"%w\".\"%w_layers\" ORDER BY layer",
    [WRITE_LAYER] = "REPLACE INTO \"%w\".\"%w_layers\" VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [READ_CHUNK] = "SELECT bits FROM \"%w\".\"%w_chunks\" WHERE id = ?1",
    [WRITE_CHUNK] = "REPLACE INTO \"%w\".\"%w_chunks\" VALUES (?1, ?2)",
};

/* Keeps "TABLE: " and a message (as sqlite3_mprintf) and returns the code. */
static int fail(struct bloom_table_store *store, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = sqlite3_vmprintf(format, list);
    va_end(list);
    sqlite3_free(store->message);
    store->message = text ? sqlite3_mprintf("%s: %s", store->name, text) : NULL;
    sqlite3_free(text);
    return store->message ? code : SQLITE_NOMEM;
}

/* Keeps what SQLite says about a failed call. */
static int fail_sqlite(struct bloom_table_store *store, int code) {
    if (code == SQLITE_NOMEM)
        return code;
    return fail(store, code, "%s", sqlite3_errmsg(store->database));
}

const char *bloom_store_name(const struct bloom_table_store *store) {
    return store->name;
}

char *bloom_store_message(struct bloom_table_store *store) {
    char *message = store->message;
    store->message = NULL;
    return message;
}

static void close_handle(struct bloom_table_store *store) {
    sqlite3_blob_close(store->handle); /* an error in it has been reported when it happened */
    store->handle = NULL;
    store->reads = 0;
}

static void finalize_statements(struct bloom_table_store *store) {
    close_handle(store);
    for (int i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(store->statements[i]);
        store->statements[i] = NULL;
    }
}

static void free_store(struct bloom_table_store *store) {
    finalize_statements(store);
    sqlite3_free(store->schema);
    sqlite3_free(store->name);
    sqlite3_free(store->chunks_name);
    sqlite3_free(store->chunk);
    sqlite3_free(store->message);
    sqlite3_free(store);
}

static struct bloom_table_store *new_store(sqlite3 *database, const char *schema, const char *name,
                                           const struct bloom_table_options *options) {
    struct bloom_table_store *store = sqlite3_malloc(sizeof *store);
    if (store == NULL)
        return NULL;
    memset(store, 0, sizeof *store);
    store->references = 1;
    store->database = database;
    store->options = *options;
    store->schema = sqlite3_mprintf("%s", schema);
    store->name = sqlite3_mprintf("%s", name);
    store->chunks_name = sqlite3_mprintf("%s_chunks", name);
    store->chunk = sqlite3_malloc(CHUNK_BLOCKS_MAXIMUM * BLOOM_BLOCK_BYTES);
    if (store->schema != NULL && store->name != NULL && store->chunks_name != NULL && store->chunk != NULL)
        return store;
    free_store(store);
    return NULL;
}

/* Nobody will find the store any more; who has it keeps it. */
static void unregister(struct bloom_table_store *store) {
    if (store->registry == NULL)
        return;
    struct bloom_table_store **link = &store->registry->first;
    while (*link != store)
        link = &(*link)->next;
    *link = store->next;
    store->registry = NULL;
}

static bool same_options(const struct bloom_table_options *a, const struct bloom_table_options *b) {
    return a->capacity == b->capacity && memcmp(&a->rate, &b->rate, sizeof a->rate) == 0 &&
           a->growth == b->growth;
}

struct bloom_table_store *bloom_store_open(struct bloom_table_registry *registry, sqlite3 *database,
                                           const char *schema, const char *name,
                                           const struct bloom_table_options *options, bool create) {
    for (struct bloom_table_store *store = registry->first; store != NULL; store = store->next) {
        if (sqlite3_stricmp(store->schema, schema) != 0 || sqlite3_stricmp(store->name, name) != 0)
            continue;
        if (!create && same_options(&store->options, options)) {
            /* A rollback to a savepoint before its creation may have taken the table away, and brought an older
             * one of the same name back. No count is lost: those of a created table are written at once. */
            if (store->created)
                store->state.loaded = false;
            store->references++;
            return store;
        }
        unregister(store);
        break;
    }
    struct bloom_table_store *store = new_store(database, schema, name, options);
    if (store != NULL) {
        store->registry = registry;
        store->next = registry->first;
        registry->first = store;
    }
    return store;
}

void bloom_store_close(struct bloom_table_store *store) {
    if (store != NULL && --store->references == 0) {
        unregister(store);
        free_store(store);
    }
}

/* Runs SQL whose two first arguments are schema and name; a third may follow. */
static int execute(struct bloom_table_store *store, const char *format, const char *more) {
    char *sql = sqlite3_mprintf(format, store->schema, store->name, more);
    if (sql == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return code == SQLITE_OK ? code : fail_sqlite(store, code);
}

/* Prepares SQL whose two first arguments are schema and name; the statement is the caller's. */
static int prepare_new(struct bloom_table_store *store, const char *format, unsigned flags,
                       sqlite3_stmt **statement) {
    char *sql = sqlite3_mprintf(format, store->schema, store->name);
    *statement = NULL;
    if (sql == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_prepare_v3(store->database, sql, -1, flags, statement, NULL);
    sqlite3_free(sql);
    return code == SQLITE_OK ? code : fail_sqlite(store, code);
}

/* A statement, prepared at its first use and kept. */
static int prepare(struct bloom_table_store *store, enum statement which, sqlite3_stmt **statement) {
    int code = SQLITE_OK;
    if (store->statements[which] == NULL)
        code = prepare_new(store, STATEMENT_SQL[which], SQLITE_PREPARE_PERSISTENT, &store->statements[which]);
    *statement = store->statements[which];
    return code;
}

/* Ends a statement that has been stepped. What is bound stays until it is bound anew: nothing but numbers and
 * memory that lives as long. */
static int finish(struct bloom_table_store *store, sqlite3_stmt *statement) {
    int code = sqlite3_reset(statement);
    return code == SQLITE_OK ? code : fail_sqlite(store, code);
}

/* Layers */

static int write_layer(struct bloom_table_store *store, unsigned index) {
    const struct layer *layer = &store->state.layers[index];
    uint8_t header[BLOOM_HEADER_BYTES];
    sqlite3_stmt *statement;
    int code = prepare(store, WRITE_LAYER, &statement);
    if (code != SQLITE_OK)
        return code;
    bloom_header_write(&layer->shape, header);
    sqlite3_bind_int64(statement, 1, index);
    sqlite3_bind_blob(statement, 2, header, sizeof header, SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement, 3, layer->chunk_blocks);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)layer->keys);
    sqlite3_bind_int64(statement, 5, (sqlite3_int64)layer->chunks);
    sqlite3_bind_int64(statement, 6, (sqlite3_int64)layer->ones);
    sqlite3_step(statement);
    return finish(store, statement);
}

int bloom_store_sync(struct bloom_table_store *store) {
    close_handle(store);
    if (!store->state.dirty)
        return SQLITE_OK;
    int code = write_layer(store, store->state.layer_count - 1);
    store->state.dirty = code != SQLITE_OK;
    return code;
}

/* Blocks that fill a page of the database. */
static int chunk_blocks_of_database(struct bloom_table_store *store, uint32_t *blocks) {
    sqlite3_stmt *statement;
    int code = prepare_new(store, "PRAGMA \"%w\".page_size", 0, &statement);
    if (code != SQLITE_OK)
        return code;
    int page = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    code = sqlite3_finalize(statement);
    if (code != SQLITE_OK)
        return fail_sqlite(store, code);
    int reserved = -1; /* bytes at the end of each page that extensions use; asked, not set */
    sqlite3_file_control(store->database, store->schema, SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    if (reserved < 0)
        reserved = 0;
    *blocks = (uint32_t)(page - reserved - PAGE_OVERHEAD) / BLOOM_BLOCK_BYTES;
    return SQLITE_OK;
}

/* The shape of layer number index: see the top of table_store.h. */
static bool layer_shape(const struct bloom_table_options *options, unsigned index, struct bloom_shape *shape,
                        char problem[BLOOM_PROBLEM_SIZE]) {
    uint64_t capacity = options->capacity;
    double rate = options->rate;
    if (index > 0) {
        capacity = capacity > BLOOM_CAPACITY_MAXIMUM >> index ? BLOOM_CAPACITY_MAXIMUM : capacity << index;
        /* Twice what keys of equal 64-bit hashes cost in any case. */
        double minimum = LAYER_RATE_MINIMUM + ldexp((double)capacity, -63);
        rate = ldexp(rate / 10, -(int)index);
        if (rate < minimum)
            rate = minimum;
    }
    return bloom_shape_for(shape, &bloom_layout_blocked, capacity, rate, problem);
}

/* Bits that are set when a layer is full. Bits, not keys: a key that is taken for one that is in sets none
 * and is not counted, so that of 100 keys added to a filter at a rate of one half 60 are counted, all of them
 * with new bits. For the first layer, full is what the capacity would be for which its blocks give nine
 * tenths of its rate. */
static uint64_t ones_when_full(const struct bloom_table_options *options, unsigned index,
                               const struct bloom_shape *shape) {
    struct bloom_shape stricter;
    char problem[BLOOM_PROBLEM_SIZE];
    double keys = (double)shape->capacity;
    if (!options->growth || index + 1 == LAYERS_MAXIMUM)
        return UINT64_MAX;
    if (index == 0 && bloom_shape_for(&stricter, shape->layout, shape->capacity, shape->rate * 0.9, problem))
        keys *= (double)shape->bits / (double)stricter.bits;
    return (uint64_t)bloom_blocked_expected_ones(shape, keys);
}

static int open_layer(struct bloom_table_store *store) {
    struct state *state = &store->state;
    struct layer layer = {0};
    char problem[BLOOM_PROBLEM_SIZE];
    if (!layer_shape(&store->options, state->layer_count, &layer.shape, problem))
        return fail(store, SQLITE_ERROR, "%s", problem);
    int code = chunk_blocks_of_database(store, &layer.chunk_blocks);
    layer.closed_at = ones_when_full(&store->options, state->layer_count, &layer.shape);
    if (code == SQLITE_OK && state->dirty) {
        code = write_layer(store, state->layer_count - 1);
        state->dirty = false;
    }
    if (code != SQLITE_OK)
        return code;
    state->layers[state->layer_count] = layer;
    code = write_layer(store, state->layer_count);
    if (code == SQLITE_OK)
        state->layer_count++;
    return code;
}

static int load_row(struct bloom_table_store *store, sqlite3_stmt *row) {
    struct state *state = &store->state;
    struct layer *layer = &state->layers[state->layer_count];
    char problem[BLOOM_PROBLEM_SIZE];
    sqlite3_int64 chunk_blocks = sqlite3_column_int64(row, 2);
    sqlite3_int64 keys = sqlite3_column_int64(row, 3);
    sqlite3_int64 chunks = sqlite3_column_int64(row, 4);
    sqlite3_int64 ones = sqlite3_column_int64(row, 5);
    const void *header = sqlite3_column_blob(row, 1);

    if (state->layer_count == LAYERS_MAXIMUM || sqlite3_column_int64(row, 0) != state->layer_count)
        return fail(store, SQLITE_CORRUPT_VTAB, "%s_layers is damaged: layer %lld is not expected",
                    store->name, sqlite3_column_int64(row, 0));
    if (header == NULL || sqlite3_column_bytes(row, 1) != BLOOM_HEADER_BYTES)
        return fail(store, SQLITE_CORRUPT_VTAB,
                    "%s_layers is damaged: the header of layer %u is not %d bytes", store->name,
                    state->layer_count, BLOOM_HEADER_BYTES);
    if (!bloom_header_read(&layer->shape, header, problem))
        return fail(store, SQLITE_CORRUPT_VTAB, "%s_layers is damaged: layer %u %s", store->name,
                    state->layer_count, problem);
    if (layer->shape.layout != &bloom_layout_blocked || chunk_blocks < 1 ||
        chunk_blocks > CHUNK_BLOCKS_MAXIMUM || keys < 0 || chunks < 0 || ones < 0)
        return fail(store, SQLITE_CORRUPT_VTAB,
                    "%s_layers is damaged: the numbers of layer %u are out of range", store->name,
                    state->layer_count);
    /* How layers follow from the options is part of the format, so that a header that was exchanged does not
     * go unnoticed; how many bits follow from that is not, since a later release may find better sizes. */
    struct bloom_shape expected;
    if (!layer_shape(&store->options, state->layer_count, &expected, problem) ||
        layer->shape.capacity != expected.capacity ||
        memcmp(&layer->shape.rate, &expected.rate, sizeof expected.rate) != 0)
        return fail(store, SQLITE_CORRUPT_VTAB,
                    "%s_layers is damaged: the header of layer %u is not one of this table", store->name,
                    state->layer_count);
    layer->chunk_blocks = (uint32_t)chunk_blocks;
    layer->keys = (uint64_t)keys;
    layer->chunks = (uint64_t)chunks;
    layer->ones = (uint64_t)ones;
    layer->closed_at = ones_when_full(&store->options, state->layer_count, &layer->shape);
    state->layer_count++;
    return SQLITE_OK;
}

/* Makes the state that of the database, unless nobody can have changed it since it was loaded. */
static int load(struct bloom_table_store *store) {
    unsigned version = 0;
    sqlite3_stmt *statement;
    if (store->state.loaded && store->in_transaction)
        return SQLITE_OK;
    int code = sqlite3_file_control(store->database, store->schema, SQLITE_FCNTL_DATA_VERSION, &version);
    int changes = sqlite3_total_changes(store->database);
    if (store->state.loaded && code == SQLITE_OK && version == store->data_version &&
        changes == store->total_changes)
        return SQLITE_OK;
    store->state.loaded = store->state.dirty = false;
    store->state.layer_count = 0;
    code = prepare(store, LOAD_LAYERS, &statement);
    if (code != SQLITE_OK)
        return code;
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        code = load_row(store, statement);
    int finished = finish(store, statement);
    if (code == SQLITE_OK)
        code = finished;
    if (code == SQLITE_OK && store->state.layer_count == 0)
        code = fail(store, SQLITE_CORRUPT_VTAB, "%s_layers is damaged: it has no rows", store->name);
    store->state.loaded = code == SQLITE_OK;
    store->data_version = version;
    store->total_changes = changes;
    return code;
}

/* Chunks */

static sqlite3_int64 chunk_id(unsigned layer, uint64_t chunk) {
    return (sqlite3_int64)((uint64_t)layer << LAYER_SHIFT | chunk);
}

/* Blocks in a chunk: chunk_blocks, fewer in the last one. */
static uint32_t blocks_of_chunk(const struct layer *layer, uint64_t chunk) {
    uint64_t left = bloom_blocked_blocks(&layer->shape) - chunk * layer->chunk_blocks;
    return left < layer->chunk_blocks ? (uint32_t)left : layer->chunk_blocks;
}

/* Chunks are stored at full length, the last one too, so that every row fills its page. */
static int wrong_length(struct bloom_table_store *store, sqlite3_int64 id, int length,
                        const struct layer *layer) {
    return fail(store, SQLITE_CORRUPT_VTAB,
                "%s_chunks is damaged: chunk %lld is not a BLOB of %u bytes (%d bytes found)", store->name,
                id, layer->chunk_blocks * BLOOM_BLOCK_BYTES, length);
}

/* The chunk in a column of the row that a statement is at; valid until it goes on. */
static int chunk_of_column(struct bloom_table_store *store, sqlite3_stmt *row, int column, sqlite3_int64 id,
                           const struct layer *layer, const uint8_t **bits) {
    /* One look at the value: each call of sqlite3_column_... takes the connection's mutex. */
    sqlite3_value *value = sqlite3_column_value(row, column);
    bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
    *bits = sqlite3_value_blob(value);
    int length = sqlite3_value_bytes(value);
    if (is_blob && *bits != NULL && (uint32_t)length == layer->chunk_blocks * BLOOM_BLOCK_BYTES)
        return SQLITE_OK;
    return wrong_length(store, id, length, layer);
}

/* Chunks of a layer, written or not. */
static uint64_t chunks_in_all(const struct layer *layer) {
    return (bloom_blocked_blocks(&layer->shape) - 1) / layer->chunk_blocks + 1;
}

/* Reads part of a chunk through the handle; all reads come from cursors or within a transaction. Leaves *done
 * false when that is not possible: when it does not pay yet, when the layer has chunks that were never written
 * (each of which would cost the handle), or when the row is damaged, which the statement reports better. */
static int read_through_handle(struct bloom_table_store *store, unsigned index, uint64_t chunk,
                               uint32_t offset, uint32_t length, uint8_t *bytes, bool *done) {
    const struct layer *layer = &store->state.layers[index];
    sqlite3_int64 id = chunk_id(index, chunk);
    sqlite3_blob *handle = store->handle;
    int code;
    *done = false;
    if (layer->chunks != chunks_in_all(layer))
        return SQLITE_OK;
    if (handle == NULL && store->reads < READS_BEFORE_HANDLE) {
        store->reads++;
        return SQLITE_OK;
    }
    /* On some errors SQLite rolls the transaction back before it returns, and tells bloom_store_end, which must
     * not close the handle that is at work. */
    store->handle = NULL;
    if (handle != NULL)
        code = sqlite3_blob_reopen(handle, id);
    else
        code = sqlite3_blob_open(store->database, store->schema, store->chunks_name, "bits", id, 0, &handle);
    if (code == SQLITE_OK && (uint32_t)sqlite3_blob_bytes(handle) != layer->chunk_blocks * BLOOM_BLOCK_BYTES)
        code = SQLITE_ERROR;
    if (code == SQLITE_OK)
        code = sqlite3_blob_read(handle, bytes, (int)length, (int)offset);
    if (code == SQLITE_OK) {
        store->handle = handle;
        *done = true;
        return SQLITE_OK;
    }
    /* SQLITE_ERROR is a row that is not there or not a BLOB, SQLITE_ABORT a handle that a rollback has ended. */
    if ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_ABORT)
        code = SQLITE_OK;
    else
        code = fail_sqlite(store, code);
    sqlite3_blob_close(handle);
    store->reads = 0;
    return code;
}

/* Reads part of a chunk: zeros, and *written false, when the chunk was never written. */
static int read_chunk(struct bloom_table_store *store, unsigned index, uint64_t chunk, uint32_t offset,
                      uint32_t length, uint8_t *bytes, bool *written) {
    const struct layer *layer = &store->state.layers[index];
    sqlite3_stmt *statement;
    const uint8_t *bits;
    int code = read_through_handle(store, index, chunk, offset, length, bytes, written);
    if (code != SQLITE_OK || *written)
        return code;
    code = prepare(store, READ_CHUNK, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, chunk_id(index, chunk));
    if (sqlite3_step(statement) != SQLITE_ROW) {
        memset(bytes, 0, length);
        code = finish(store, statement);
        if (code == SQLITE_OK && layer->chunks >= chunks_in_all(layer))
            code = fail(store, SQLITE_CORRUPT_VTAB, "%s_chunks is damaged: chunk %lld is missing",
                        store->name, chunk_id(index, chunk));
        return code;
    }
    code = chunk_of_column(store, statement, 0, chunk_id(index, chunk), layer, &bits);
    if (code != SQLITE_OK) {
        sqlite3_reset(statement);
        return code;
    }
    memcpy(bytes, bits + offset, length);
    *written = true;
    return finish(store, statement);
}

static int write_chunk(struct bloom_table_store *store, unsigned index, uint64_t chunk, const uint8_t *bits) {
    sqlite3_stmt *statement;
    int code = prepare(store, WRITE_CHUNK, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, chunk_id(index, chunk));
    sqlite3_bind_blob(statement, 2, bits, (int)(store->state.layers[index].chunk_blocks * BLOOM_BLOCK_BYTES),
                      SQLITE_STATIC);
    sqlite3_step(statement);
    return finish(store, statement);
}

/* Whether a key is in one layer. */
static int check_layer(struct bloom_table_store *store, unsigned index, uint64_t value, bool *found) {
    const struct layer *layer = &store->state.layers[index];
    uint64_t block = bloom_blocked_block_of(&layer->shape, value);
    uint8_t bytes[BLOOM_BLOCK_BYTES];
    bool written;
    int code = read_chunk(store, index, block / layer->chunk_blocks,
                          (uint32_t)(block % layer->chunk_blocks) * BLOOM_BLOCK_BYTES, BLOOM_BLOCK_BYTES,
                          bytes, &written);
    *found = code == SQLITE_OK && written && bloom_blocked_check(&layer->shape, bytes, value);
    return code;
}

int bloom_store_check(struct bloom_table_store *store, struct bloom_hash hash, bool *found) {
    int code = load(store);
    *found = false;
    /* The last layer is the largest. */
    for (unsigned i = store->state.layer_count; code == SQLITE_OK && i > 0 && !*found; i--)
        code = check_layer(store, i - 1, hash.words[0], found);
    return code;
}

/* Leaves a whole chunk in store->chunk. */
static int read_whole_chunk(struct bloom_table_store *store, unsigned index, uint64_t chunk, bool *written) {
    return read_chunk(store, index, chunk, 0, store->state.layers[index].chunk_blocks * BLOOM_BLOCK_BYTES,
                      store->chunk, written);
}

int bloom_store_add(struct bloom_table_store *store, struct bloom_hash hash, bool *found) {
    uint64_t value = hash.words[0];
    struct state *state = &store->state;
    bool written;
    int code = load(store);
    *found = false;
    /* All layers but the last are only asked; the last one is read whole, to be written back. */
    for (unsigned i = 0; code == SQLITE_OK && i + 1 < state->layer_count && !*found; i++)
        code = check_layer(store, i, value, found);
    if (code != SQLITE_OK || *found)
        return code;
    for (;;) {
        unsigned last = state->layer_count - 1;
        struct layer *layer = &state->layers[last];
        uint64_t block = bloom_blocked_block_of(&layer->shape, value), chunk = block / layer->chunk_blocks;
        uint8_t *at = store->chunk + block % layer->chunk_blocks * BLOOM_BLOCK_BYTES;
        code = read_whole_chunk(store, last, chunk, &written);
        if (code != SQLITE_OK)
            return code;
        *found = bloom_blocked_check(&layer->shape, at, value);
        if (*found)
            return SQLITE_OK;
        /* The last layer that there can be takes keys for ever, whatever a damaged database says that it holds. */
        if (layer->ones < layer->closed_at &&
            (layer->keys < layer->shape.capacity || last + 1 == LAYERS_MAXIMUM || !store->options.growth)) {
            uint64_t ones = bloom_bitset_ones(at, BLOOM_BLOCK_BYTES);
            bloom_blocked_add(&layer->shape, at, value);
            ones = bloom_bitset_ones(at, BLOOM_BLOCK_BYTES) - ones;
            code = write_chunk(store, last, chunk, store->chunk);
            if (code == SQLITE_OK) {
                layer->keys++;
                layer->ones += ones;
                layer->chunks += !written;
                state->dirty = !store->created;
                if (store->created)
                    code = write_layer(store, last);
            }
            return code;
        }
        code = open_layer(store);
        if (code != SQLITE_OK)
            return code;
    }
}

/* The whole table */

/* Calls visit for every chunk of a layer that has a row, in order. */
static int for_each_chunk(struct bloom_table_store *store, unsigned index,
                          void (*visit)(void *argument, const struct layer *layer, uint64_t chunk,
                                        const uint8_t *bits),
                          void *argument) {
    const struct layer *layer = &store->state.layers[index];
    uint64_t chunk_count = chunks_in_all(layer);
    sqlite3_stmt *statement;
    int code =
        prepare_new(store, "SELECT id, bits FROM \"%w\".\"%w_chunks\" WHERE id >= ?1 AND id < ?2 ORDER BY id",
                    0, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, chunk_id(index, 0));
    sqlite3_bind_int64(statement, 2, chunk_id(index, chunk_count));
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        sqlite3_int64 id = sqlite3_column_int64(statement, 0);
        const uint8_t *bits;
        code = chunk_of_column(store, statement, 1, id, layer, &bits);
        if (code == SQLITE_OK)
            visit(argument, layer, (uint64_t)(id - chunk_id(index, 0)), bits);
    }
    int finished = sqlite3_finalize(statement);
    return code == SQLITE_OK && finished != SQLITE_OK ? fail_sqlite(store, finished) : code;
}

static void tally_chunk(void *argument, const struct layer *layer, uint64_t chunk, const uint8_t *bits) {
    bloom_blocked_count(argument, bits, blocks_of_chunk(layer, chunk));
}

static int estimate_layer(struct bloom_table_store *store, unsigned index, struct bloom_estimate *estimate) {
    struct bloom_blocked_tally tally = {0};
    int code = for_each_chunk(store, index, tally_chunk, &tally);
    if (code == SQLITE_OK)
        *estimate = bloom_blocked_estimate(&store->state.layers[index].shape, &tally);
    return code;
}

static void copy_chunk(void *argument, const struct layer *layer, uint64_t chunk, const uint8_t *bits) {
    uint8_t *payload = argument;
    memcpy(payload + chunk * layer->chunk_blocks * BLOOM_BLOCK_BYTES, bits,
           (size_t)blocks_of_chunk(layer, chunk) * BLOOM_BLOCK_BYTES);
}

int bloom_store_filter(struct bloom_table_store *store, int64_t length_limit, struct bloom_shape *shape,
                       uint8_t **bytes) {
    int code = load(store);
    *bytes = NULL;
    if (code != SQLITE_OK)
        return code;
    if (store->state.layer_count > 1)
        return fail(store, SQLITE_ERROR,
                    "the table has grown to %u layers, which no single filter can hold; make a table or a "
                    "filter with a larger capacity",
                    store->state.layer_count);
    *shape = store->state.layers[0].shape;
    if (bloom_filter_bytes(shape) > (uint64_t)length_limit)
        return fail(store, SQLITE_TOOBIG,
                    "its filter needs %llu bytes, but a value of this connection is limited to %lld bytes",
                    (sqlite3_uint64)bloom_filter_bytes(shape), (sqlite3_int64)length_limit);
    *bytes = bloom_sql_new_filter(shape);
    if (*bytes == NULL)
        return SQLITE_NOMEM;
    code = for_each_chunk(store, 0, copy_chunk, *bytes + BLOOM_HEADER_BYTES);
    if (code != SQLITE_OK) {
        sqlite3_free(*bytes);
        *bytes = NULL;
    }
    return code;
}

int bloom_store_info(struct bloom_table_store *store, char **json) {
    const struct bloom_table_options *options = &store->options;
    double count = 0, pass = 1; /* pass: probability that a key that is not in is found in no layer */
    uint64_t chunks = 0;
    int code = load(store);
    *json = NULL;
    if (code != SQLITE_OK)
        return code;
    sqlite3_str *layers = sqlite3_str_new(store->database);
    for (unsigned i = 0; i < store->state.layer_count && code == SQLITE_OK; i++) {
        const struct layer *layer = &store->state.layers[i];
        struct bloom_estimate estimate = {0};
        code = estimate_layer(store, i, &estimate);
        count += estimate.count;
        pass *= 1 - estimate.rate;
        chunks += layer->chunks;
        sqlite3_str_appendf(layers,
                            "%s{\"n\":%llu,\"p\":%!.15g,\"bits\":%llu,\"hashes\":%u,\"keys\":%llu,\"fill\":%!"
                            ".15g,\"fpr\":%!.15g}",
                            i > 0 ? "," : "", (sqlite3_uint64)layer->shape.capacity, layer->shape.rate,
                            (sqlite3_uint64)layer->shape.bits, layer->shape.hashes,
                            (sqlite3_uint64)layer->keys, (double)estimate.ones / (double)layer->shape.bits,
                            estimate.rate);
    }
    char *layers_text = sqlite3_str_finish(layers);
    if (code == SQLITE_OK && layers_text != NULL) {
        char *count_text = isfinite(count) ? sqlite3_mprintf("%lld", (sqlite3_int64)floor(count + 0.5))
                                           : sqlite3_mprintf("null");
        if (count_text != NULL)
            *json = sqlite3_mprintf(
                "{\"version\":%d,\"capacity\":%llu,\"p\":%!.15g,\"growth\":%s,\"chunks\":%llu,\"count\":%s,"
                "\"fpr\":%!.15g,\"layers\":[%s]}",
                BLOOM_FORMAT_VERSION, (sqlite3_uint64)options->capacity, options->rate,
                options->growth ? "true" : "false", (sqlite3_uint64)chunks, count_text, 1 - pass,
                layers_text);
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

static void ignore_chunk(void *argument, const struct layer *layer, uint64_t chunk, const uint8_t *bits) {
    (void)argument;
    (void)layer;
    (void)chunk;
    (void)bits;
}

int bloom_store_merge(struct bloom_table_store *store, const struct bloom_stored *filter) {
    struct layer *layer = &store->state.layers[0];
    char problem[BLOOM_PROBLEM_SIZE];
    int code = load(store);
    if (code != SQLITE_OK)
        return code;
    if (!bloom_shape_same(&layer->shape, &filter->shape, problem))
        return fail(
            store, SQLITE_ERROR,
            "the filter differs from the table's first layer (%s); make it with the table's capacity and fpr",
            problem);
    /* All chunks are looked at before the first is written: a damaged one must not leave half a merge behind.
     * Whatever else can fail (memory, disk) makes SQLite roll the transaction back. */
    code = for_each_chunk(store, 0, ignore_chunk, NULL);
    if (code != SQLITE_OK)
        return code;
    uint64_t blocks = bloom_blocked_blocks(&layer->shape);
    for (uint64_t chunk = 0; chunk * layer->chunk_blocks < blocks; chunk++) {
        const uint8_t *from = bloom_stored_payload(filter) + chunk * layer->chunk_blocks * BLOOM_BLOCK_BYTES;
        size_t length = (size_t)blocks_of_chunk(layer, chunk) * BLOOM_BLOCK_BYTES;
        bool written;
        if (!any_bit(from, length))
            continue;
        code = read_whole_chunk(store, 0, chunk, &written);
        if (code != SQLITE_OK)
            return code;
        bloom_bitset_union(store->chunk, from, length);
        code = write_chunk(store, 0, chunk, store->chunk);
        if (code != SQLITE_OK)
            return code;
        layer->chunks += !written;
    }
    /* Which of the keys are new is in the bits only. */
    struct bloom_estimate estimate = {0};
    code = estimate_layer(store, 0, &estimate);
    if (code != SQLITE_OK)
        return code;
    layer->keys = isfinite(estimate.count) ? (uint64_t)floor(estimate.count + 0.5) : layer->shape.capacity;
    layer->ones = estimate.ones;
    return write_layer(store, 0);
}

int bloom_store_clear(struct bloom_table_store *store) {
    int code = load(store);
    if (code != SQLITE_OK)
        return code;
    code = execute(store, "DELETE FROM \"%w\".\"%w_chunks\"", NULL);
    if (code == SQLITE_OK)
        code = execute(store, "DELETE FROM \"%w\".\"%w_layers\" WHERE layer > 0", NULL);
    if (code != SQLITE_OK)
        return code;
    store->state.layer_count = 1;
    store->state.layers[0].keys = store->state.layers[0].chunks = store->state.layers[0].ones = 0;
    store->state.dirty = false;
    return write_layer(store, 0);
}

int bloom_store_create(struct bloom_table_store *store) {
    int code = execute(store,
                       "CREATE TABLE \"%w\".\"%w_layers\" (layer INTEGER PRIMARY KEY, header BLOB NOT NULL, "
                       "chunk_blocks INTEGER NOT NULL, "
                       "keys INTEGER NOT NULL, chunks INTEGER NOT NULL, ones INTEGER NOT NULL)",
                       NULL);
    if (code == SQLITE_OK)
        code = execute(
            store, "CREATE TABLE \"%w\".\"%w_chunks\" (id INTEGER PRIMARY KEY, bits BLOB NOT NULL)", NULL);
    if (code == SQLITE_OK)
        code = open_layer(store);
    /* SQLite takes the creation for the begin of the table's transaction. */
    store->state.loaded = store->in_transaction = store->created = code == SQLITE_OK;
    return code;
}

int bloom_store_drop(struct bloom_table_store *store) {
    finalize_statements(store);
    unregister(store);
    store->state.loaded = store->state.dirty = false;
    int code = execute(store, "DROP TABLE IF EXISTS \"%w\".\"%w_chunks\"", NULL);
    return code == SQLITE_OK ? execute(store, "DROP TABLE IF EXISTS \"%w\".\"%w_layers\"", NULL) : code;
}

int bloom_store_rename(struct bloom_table_store *store, const char *name) {
    char *copy = sqlite3_mprintf("%s", name), *chunks = sqlite3_mprintf("%s_chunks", name);
    int code = copy != NULL && chunks != NULL ? bloom_store_sync(store) : SQLITE_NOMEM;
    finalize_statements(store);
    if (code == SQLITE_OK)
        code = execute(store, "ALTER TABLE \"%w\".\"%w_layers\" RENAME TO \"%w_layers\"", name);
    if (code == SQLITE_OK)
        code = execute(store, "ALTER TABLE \"%w\".\"%w_chunks\" RENAME TO \"%w_chunks\"", name);
    if (code != SQLITE_OK) {
        sqlite3_free(copy);
        sqlite3_free(chunks);
        return code;
    }
    sqlite3_free(store->name);
    sqlite3_free(store->chunks_name);
    store->name = copy;
    store->chunks_name = chunks;
    return SQLITE_OK;
}

struct verification {
    uint64_t rows;
    bool bits_beyond; /* set beyond the last block of the layer */
};

static void verify_chunk(void *argument, const struct layer *layer, uint64_t chunk, const uint8_t *bits) {
    struct verification *found = argument;
    size_t used = (size_t)blocks_of_chunk(layer, chunk) * BLOOM_BLOCK_BYTES;
    found->rows++;
    if (any_bit(bits + used, layer->chunk_blocks * BLOOM_BLOCK_BYTES - used))
        found->bits_beyond = true;
}

/* Rows of the shadow table of chunks, whatever layer they are of. */
static int count_chunks(struct bloom_table_store *store, uint64_t *rows) {
    sqlite3_stmt *statement;
    int code = prepare_new(store, "SELECT count(*) FROM \"%w\".\"%w_chunks\"", 0, &statement);
    if (code != SQLITE_OK)
        return code;
    *rows = sqlite3_step(statement) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    code = sqlite3_finalize(statement);
    return code == SQLITE_OK ? code : fail_sqlite(store, code);
}

int bloom_store_verify(struct bloom_table_store *store, char **problem) {
    uint64_t rows_in_layers = 0, rows = 0;
    *problem = NULL;
    store->state.loaded = store->in_transaction && store->state.loaded;
    int code = load(store);
    for (unsigned i = 0; code == SQLITE_OK && i < store->state.layer_count && *problem == NULL; i++) {
        struct verification found = {0};
        code = for_each_chunk(store, i, verify_chunk, &found);
        rows_in_layers += found.rows;
        if (code == SQLITE_OK && found.rows != store->state.layers[i].chunks)
            *problem =
                sqlite3_mprintf("%s: layer %u has %llu chunks, but %llu were written", store->name, i,
                                (sqlite3_uint64)found.rows, (sqlite3_uint64)store->state.layers[i].chunks);
        else if (code == SQLITE_OK && found.bits_beyond)
            *problem = sqlite3_mprintf("%s: bits are set beyond the last block of layer %u", store->name, i);
    }
    if (code == SQLITE_OK && *problem == NULL)
        code = count_chunks(store, &rows);
    if (code == SQLITE_OK && *problem == NULL && rows != rows_in_layers)
        *problem = sqlite3_mprintf("%s: %llu chunks are of no layer", store->name,
                                   (sqlite3_uint64)(rows - rows_in_layers));
    if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_ERROR) { /* else nothing is known */
        *problem = bloom_store_message(store);
        code = SQLITE_OK;
    }
    return code;
}

/* Cursors and transactions */

void bloom_store_enter(struct bloom_table_store *store) {
    store->cursors++;
}

void bloom_store_leave(struct bloom_table_store *store) {
    if (--store->cursors == 0 && !store->in_transaction)
        close_handle(store);
}

int bloom_store_begin(struct bloom_table_store *store) {
    if (store->in_transaction)
        return SQLITE_OK;
    int code = load(store);
    store->in_transaction = code == SQLITE_OK; /* else SQLite will not tell the end of it */
    return code;
}

void bloom_store_end(struct bloom_table_store *store) {
    close_handle(store);
    store->in_transaction = store->created = false;
    store->state.loaded = store->state.dirty = false;
}

void bloom_store_rollback(struct bloom_table_store *store) {
    store->state.loaded = store->state.dirty = false;
}
