/* See table_store.h. */
#include "table/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Of a table leaf page, what is not the BLOB of its one row: 35 bytes that SQLite keeps off a payload that
 * shall not overflow, and up to 5 bytes of record header. */
enum { PAGE_OVERHEAD = 40 };

/* The smallest rate of a further layer: what the layout can keep for any capacity. */
static const double LAYER_RATE_MINIMUM = 1e-9;

static const char *const STATEMENT_SQL[BLOOM_TABLE_STATEMENTS] = {
    [BLOOM_LOAD_LAYERS] = "SELECT layer, header, chunk_blocks, keys, chunks, ones FROM "
                          "\"%w\".\"%w_layers\" ORDER BY layer",
    [BLOOM_WRITE_LAYER] =
        ("REPLACE INTO \"%w\".\"%w_layers\"(layer, header, chunk_blocks, keys, chunks, ones) "
         "VALUES (?1, ?2, ?3, ?4, ?5, ?6)"),
    [BLOOM_READ_CHUNK] = "SELECT bits FROM \"%w\".\"%w_chunks\" WHERE id = ?1",
    [BLOOM_WRITE_CHUNK] = "REPLACE INTO \"%w\".\"%w_chunks\"(id, bits) VALUES (?1, ?2)",
    [BLOOM_EACH_CHUNK] =
        "SELECT id, bits FROM \"%w\".\"%w_chunks\" WHERE id >= ?1 AND id < ?2 ORDER BY id",
};

int bloom_store_fail(struct bloom_table_store *store, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = sqlite3_vmprintf(format, list);
    va_end(list);
    sqlite3_free(store->message);
    store->message = text ? sqlite3_mprintf("%s: %s", store->name, text) : NULL;
    sqlite3_free(text);
    return store->message ? code : SQLITE_NOMEM;
}

int bloom_store_fail_sqlite(struct bloom_table_store *store, int code) {
    if (code == SQLITE_NOMEM)
        return code;
    return bloom_store_fail(store, code, "%s", sqlite3_errmsg(store->database));
}

const char *bloom_store_name(const struct bloom_table_store *store) {
    return store->name;
}

char *bloom_store_message(struct bloom_table_store *store) {
    char *message = store->message;
    store->message = NULL;
    return message;
}

static void finalize_statements(struct bloom_table_store *store) {
    bloom_block_close_handle(store);
    for (int i = 0; i < BLOOM_TABLE_STATEMENTS; i++) {
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
    store->chunk = sqlite3_malloc(BLOOM_CHUNK_BLOCKS_MAXIMUM * BLOOM_BLOCK_BYTES);
    if (store->schema != NULL && store->name != NULL && store->chunks_name != NULL &&
        store->chunk != NULL)
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

int bloom_store_execute(struct bloom_table_store *store, const char *format, const char *more) {
    char *sql = sqlite3_mprintf(format, store->schema, store->name, more);
    if (sql == NULL)
        return SQLITE_NOMEM;
    store->running++;
    int code = sqlite3_exec(store->database, sql, NULL, NULL, NULL);
    store->running--;
    sqlite3_free(sql);
    return code == SQLITE_OK ? code : bloom_store_fail_sqlite(store, code);
}

int bloom_store_prepare_new(struct bloom_table_store *store, const char *format, unsigned flags,
                            sqlite3_stmt **statement) {
    char *sql = sqlite3_mprintf(format, store->schema, store->name);
    *statement = NULL;
    if (sql == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_prepare_v3(store->database, sql, -1, flags, statement, NULL);
    sqlite3_free(sql);
    return code == SQLITE_OK ? code : bloom_store_fail_sqlite(store, code);
}

int bloom_store_prepare(struct bloom_table_store *store, enum bloom_table_statement which,
                        sqlite3_stmt **statement) {
    int code = SQLITE_OK;
    if (store->statements[which] == NULL)
        code = bloom_store_prepare_new(store, STATEMENT_SQL[which],
                                       SQLITE_PREPARE_PERSISTENT | SQLITE_PREPARE_NO_VTAB,
                                       &store->statements[which]);
    *statement = store->statements[which];
    store->running += code == SQLITE_OK;
    return code;
}

/* What is bound stays until it is bound anew: nothing but numbers and memory that lives as long. */
int bloom_store_finish(struct bloom_table_store *store, sqlite3_stmt *statement) {
    int code = sqlite3_reset(statement);
    store->running--;
    return code == SQLITE_OK ? code : bloom_store_fail_sqlite(store, code);
}

/* Layers */

int bloom_layer_write(struct bloom_table_store *store, unsigned index) {
    const struct bloom_layer *layer = &store->state.layers[index];
    uint8_t header[BLOOM_HEADER_BYTES];
    sqlite3_stmt *statement;
    int code = bloom_store_prepare(store, BLOOM_WRITE_LAYER, &statement);
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
    return bloom_store_finish(store, statement);
}

int bloom_store_sync(struct bloom_table_store *store) {
    bloom_block_close_handle(store);
    if (!store->state.dirty || sqlite3_stmt_busy(store->statements[BLOOM_WRITE_LAYER]))
        return SQLITE_OK; /* busy: a trigger on the layers made a savepoint */
    int code = bloom_layer_write(store, store->state.layer_count - 1);
    store->state.dirty = code != SQLITE_OK;
    return code;
}

/* Blocks that fill a page of the database. */
static int chunk_blocks_of_database(struct bloom_table_store *store, uint32_t *blocks) {
    sqlite3_stmt *statement;
    int code = bloom_store_prepare_new(store, "PRAGMA \"%w\".page_size", 0, &statement);
    if (code != SQLITE_OK)
        return code;
    int page = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    code = sqlite3_finalize(statement);
    if (code != SQLITE_OK)
        return bloom_store_fail_sqlite(store, code);
    int reserved = -1; /* bytes at the end of each page that extensions use; asked, not set */
    sqlite3_file_control(store->database, store->schema, SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    if (reserved < 0)
        reserved = 0;
    *blocks = (uint32_t)(page - reserved - PAGE_OVERHEAD) / BLOOM_BLOCK_BYTES;
    return SQLITE_OK;
}

/* The shape of layer number index: see the top of table_store.h. */
static bool layer_shape(const struct bloom_table_options *options, unsigned index,
                        struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]) {
    uint64_t capacity = options->capacity;
    double rate = options->rate;
    if (index > 0) {
        capacity =
            capacity > BLOOM_CAPACITY_MAXIMUM >> index ? BLOOM_CAPACITY_MAXIMUM : capacity << index;
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
    if (!options->growth || index + 1 == BLOOM_LAYERS_MAXIMUM)
        return UINT64_MAX;
    if (index == 0 &&
        bloom_shape_for(&stricter, shape->layout, shape->capacity, shape->rate * 0.9, problem))
        keys *= (double)shape->bits / (double)stricter.bits;
    return (uint64_t)shape->layout->blocks->expected_ones(shape, keys);
}

static int open_layer(struct bloom_table_store *store) {
    struct bloom_table_state *state = &store->state;
    struct bloom_layer layer = {0};
    char problem[BLOOM_PROBLEM_SIZE];
    if (!layer_shape(&store->options, state->layer_count, &layer.shape, problem))
        return bloom_store_fail(store, SQLITE_ERROR, "%s", problem);
    int code = chunk_blocks_of_database(store, &layer.chunk_blocks);
    layer.closed_at = ones_when_full(&store->options, state->layer_count, &layer.shape);
    if (code == SQLITE_OK && state->dirty) {
        code = bloom_layer_write(store, state->layer_count - 1);
        state->dirty = false;
    }
    if (code != SQLITE_OK)
        return code;
    state->layers[state->layer_count] = layer;
    code = bloom_layer_write(store, state->layer_count);
    if (code == SQLITE_OK)
        state->layer_count++;
    return code;
}

static int load_row(struct bloom_table_store *store, sqlite3_stmt *row) {
    struct bloom_table_state *state = &store->state;
    struct bloom_layer *layer = &state->layers[state->layer_count];
    char problem[BLOOM_PROBLEM_SIZE];
    sqlite3_int64 chunk_blocks = sqlite3_column_int64(row, 2);
    sqlite3_int64 keys = sqlite3_column_int64(row, 3);
    sqlite3_int64 chunks = sqlite3_column_int64(row, 4);
    sqlite3_int64 ones = sqlite3_column_int64(row, 5);
    const void *header = sqlite3_column_blob(row, 1);

    if (state->layer_count == BLOOM_LAYERS_MAXIMUM ||
        sqlite3_column_int64(row, 0) != state->layer_count)
        return bloom_store_fail(store, SQLITE_CORRUPT_VTAB,
                                "%s_layers is damaged: layer %lld is not expected", store->name,
                                sqlite3_column_int64(row, 0));
    if (header == NULL || sqlite3_column_bytes(row, 1) != BLOOM_HEADER_BYTES)
        return bloom_store_fail(store, SQLITE_CORRUPT_VTAB,
                                "%s_layers is damaged: the header of layer %u is not %d bytes",
                                store->name, state->layer_count, BLOOM_HEADER_BYTES);
    if (!bloom_header_read(&layer->shape, header, problem))
        return bloom_store_fail(store, SQLITE_CORRUPT_VTAB, "%s_layers is damaged: layer %u %s",
                                store->name, state->layer_count, problem);
    if (layer->shape.layout != &bloom_layout_blocked || chunk_blocks < 1 ||
        chunk_blocks > BLOOM_CHUNK_BLOCKS_MAXIMUM || keys < 0 || chunks < 0 || ones < 0)
        return bloom_store_fail(store, SQLITE_CORRUPT_VTAB,
                                "%s_layers is damaged: the numbers of layer %u are out of range",
                                store->name, state->layer_count);
    /* How layers follow from the options is part of the format, so that a header that was exchanged does not
     * go unnoticed; how many bits follow from that is not, since a later release may find better sizes. */
    struct bloom_shape expected;
    if (!layer_shape(&store->options, state->layer_count, &expected, problem) ||
        layer->shape.capacity != expected.capacity ||
        memcmp(&layer->shape.rate, &expected.rate, sizeof expected.rate) != 0)
        return bloom_store_fail(
            store, SQLITE_CORRUPT_VTAB,
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

/* BLOB handles address rows by rowid. A copy of the shadow table that has lost its primary key would give other
 * rows, or none. Asked once by each connection, at its first read: tools that copy databases make such tables,
 * seldom under a connection at work. That the table is there at all, those who read it find out. */
static int check_chunks_table(struct bloom_table_store *store) {
    const char *type = NULL;
    int is_key = 0;
    int code = sqlite3_table_column_metadata(store->database, store->schema, store->chunks_name,
                                             "id", &type, NULL, NULL, &is_key, NULL);
    if (code == SQLITE_OK && (!is_key || sqlite3_stricmp(type, "INTEGER") != 0))
        return bloom_store_fail(store, SQLITE_CORRUPT_VTAB,
                                "%s is damaged: its column id is not INTEGER PRIMARY KEY",
                                store->chunks_name);
    return code == SQLITE_ERROR ? SQLITE_OK : code;
}

int bloom_store_load(struct bloom_table_store *store) {
    unsigned version = 0;
    sqlite3_stmt *statement;
    if (store->running > 0)
        return bloom_store_fail(store, SQLITE_LOCKED,
                                "a trigger or a view on its shadow tables uses the table itself");
    if (store->state.loaded && store->in_transaction)
        return SQLITE_OK;
    int code =
        sqlite3_file_control(store->database, store->schema, SQLITE_FCNTL_DATA_VERSION, &version);
    int changes = sqlite3_total_changes(store->database);
    if (store->state.loaded && code == SQLITE_OK && version == store->data_version &&
        changes == store->total_changes)
        return SQLITE_OK;
    store->state.loaded = store->state.dirty = false;
    store->state.layer_count = 0;
    code = store->statements[BLOOM_LOAD_LAYERS] == NULL ? check_chunks_table(store) : SQLITE_OK;
    if (code == SQLITE_OK)
        code = bloom_store_prepare(store, BLOOM_LOAD_LAYERS, &statement);
    if (code != SQLITE_OK)
        return code;
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        code = load_row(store, statement);
    int finished = bloom_store_finish(store, statement);
    if (code == SQLITE_OK)
        code = finished;
    if (code == SQLITE_OK && store->state.layer_count == 0)
        code = bloom_store_fail(store, SQLITE_CORRUPT_VTAB, "%s_layers is damaged: it has no rows",
                                store->name);
    store->state.loaded = code == SQLITE_OK;
    store->data_version = version;
    store->total_changes = changes;
    return code;
}

/* Keys */

/* Whether a key is in one layer. */
static int check_layer(struct bloom_table_store *store, unsigned index, uint64_t value,
                       bool *found) {
    const struct bloom_shape *shape = &store->state.layers[index].shape;
    uint8_t bytes[BLOOM_BLOCK_BYTES];
    int code = bloom_block_read(store, index, shape->layout->blocks->of(shape, &value), bytes);
    *found = code == SQLITE_OK && shape->layout->blocks->check(shape, bytes, &value);
    return code;
}

int bloom_store_check(struct bloom_table_store *store, const uint64_t *words, bool *found) {
    int code = bloom_store_load(store);
    *found = false;
    /* The last layer is the largest. */
    for (unsigned i = store->state.layer_count; code == SQLITE_OK && i > 0 && !*found; i--)
        code = check_layer(store, i - 1, words[0], found);
    return code;
}

/* Whether a layer takes a further key. The last one that there can be takes keys for ever, whatever a damaged
 * database says that it holds. */
static bool has_room(const struct bloom_table_store *store, unsigned index) {
    const struct bloom_layer *layer = &store->state.layers[index];
    return layer->ones < layer->closed_at &&
           (layer->keys < layer->shape.capacity || index + 1 == BLOOM_LAYERS_MAXIMUM ||
            !store->options.growth);
}

/* Adds a key to the last layer, unless it is found there or the layer is full, which leaves *found and *added
 * false. */
static int add_to_layer(struct bloom_table_store *store, uint64_t value, bool *found, bool *added) {
    struct bloom_table_state *state = &store->state;
    unsigned last = state->layer_count - 1;
    struct bloom_layer *layer = &state->layers[last];
    struct bloom_block_edit edit;
    *found = *added = false;
    int code = bloom_block_open(store, last, layer->shape.layout->blocks->of(&layer->shape, &value),
                                &edit);
    if (code != SQLITE_OK)
        return code;
    *found = layer->shape.layout->blocks->check(&layer->shape, edit.bytes, &value);
    if (*found || !has_room(store, last)) {
        bloom_block_close(&edit);
        return SQLITE_OK;
    }
    uint64_t ones = layer->shape.layout->blocks->add(&layer->shape, edit.bytes, &value);
    code = bloom_block_save(store, &edit);
    if (code != SQLITE_OK)
        return code;
    *added = true;
    layer->keys++;
    layer->ones += ones;
    state->dirty = !store->created;
    return store->created ? bloom_layer_write(store, last) : SQLITE_OK;
}

int bloom_store_add(struct bloom_table_store *store, const uint64_t *words, bool *found) {
    const struct bloom_table_state *state = &store->state;
    bool added = false;
    int code = bloom_store_load(store);
    *found = false;
    /* To look is half as dear as to open a block for change. Keys that are in and keys that are new come in
     * runs, so the last layer is looked at first when the key before was in. */
    for (unsigned i = 0;
         code == SQLITE_OK && i + store->expects_new < state->layer_count && !*found; i++)
        code = check_layer(store, i, words[0], found);
    while (code == SQLITE_OK && !*found && !added) {
        code = add_to_layer(store, words[0], found, &added);
        if (code == SQLITE_OK && !*found && !added)
            code = open_layer(store);
    }
    store->expects_new = added;
    return code;
}

/* The shadow tables */

int bloom_store_create(struct bloom_table_store *store) {
    int code = bloom_store_execute(
        store,
        "CREATE TABLE \"%w\".\"%w_layers\" (layer INTEGER PRIMARY KEY, header BLOB NOT NULL, "
        "chunk_blocks INTEGER NOT NULL, "
        "keys INTEGER NOT NULL, chunks INTEGER NOT NULL, ones INTEGER NOT NULL)",
        NULL);
    if (code == SQLITE_OK)
        code = bloom_store_execute(
            store, "CREATE TABLE \"%w\".\"%w_chunks\" (id INTEGER PRIMARY KEY, bits BLOB NOT NULL)",
            NULL);
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
    int code = bloom_store_execute(store, "DROP TABLE IF EXISTS \"%w\".\"%w_chunks\"", NULL);
    return code == SQLITE_OK
               ? bloom_store_execute(store, "DROP TABLE IF EXISTS \"%w\".\"%w_layers\"", NULL)
               : code;
}

int bloom_store_rename(struct bloom_table_store *store, const char *name) {
    char *copy = sqlite3_mprintf("%s", name), *chunks = sqlite3_mprintf("%s_chunks", name);
    int code = copy != NULL && chunks != NULL ? bloom_store_sync(store) : SQLITE_NOMEM;
    finalize_statements(store);
    if (code == SQLITE_OK)
        code = bloom_store_execute(
            store, "ALTER TABLE \"%w\".\"%w_layers\" RENAME TO \"%w_layers\"", name);
    if (code == SQLITE_OK)
        code = bloom_store_execute(
            store, "ALTER TABLE \"%w\".\"%w_chunks\" RENAME TO \"%w_chunks\"", name);
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

/* Cursors and transactions */

void bloom_store_enter(struct bloom_table_store *store) {
    store->cursors++;
}

void bloom_store_leave(struct bloom_table_store *store) {
    if (--store->cursors == 0 && !store->in_transaction)
        bloom_block_close_handle(store);
}

int bloom_store_begin(struct bloom_table_store *store) {
    if (store->in_transaction)
        return SQLITE_OK;
    int code = bloom_store_load(store);
    store->in_transaction = code == SQLITE_OK; /* else SQLite will not tell the end of it */
    return code;
}

void bloom_store_end(struct bloom_table_store *store) {
    bloom_block_close_handle(store);
    store->in_transaction = store->created = false;
    store->state.loaded = store->state.dirty = false;
}

int bloom_store_release(struct bloom_table_store *store) {
    int code = bloom_store_sync(store);
    if (code == SQLITE_OK &&
        store->running == 0) /* else it was one of a statement of the store's own */
        store->state.loaded = false;
    return code;
}

void bloom_store_rollback(struct bloom_table_store *store) {
    store->state.loaded = store->state.dirty = false;
}
