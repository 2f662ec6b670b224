/* See layers.h. */
#include "table/layers.h"

#include <string.h>

/* No sum of counts comes near the end of 64 bits. */
static const sqlite3_int64 COUNT_MAXIMUM = INT64_C(1) << 62;

void bloom_layers_open(struct bloom_layers *layers, struct bloom_database *database,
                       struct bloom_chunks *chunks, const struct bloom_growth *growth) {
    memset(layers, 0, sizeof *layers);
    layers->database = database;
    layers->chunks = chunks;
    layers->growth = *growth;
    layers->refused_savepoint = BLOOM_NO_SAVEPOINT;
}

void bloom_layers_close(struct bloom_layers *layers) {
    sqlite3_free(layers->file);
    layers->file = NULL;
}

/* The proof */

static bool is_known_from_here(const struct bloom_layers *layers) {
    return layers->told || layers->cursors > 0;
}

static void look_at_counters(const struct bloom_layers *layers, int *hits, int *misses) {
    int highest;
    sqlite3_db_status(layers->database->connection, SQLITE_DBSTATUS_CACHE_HIT, hits, &highest, 0);
    sqlite3_db_status(layers->database->connection, SQLITE_DBSTATUS_CACHE_MISS, misses, &highest,
                      0);
}

/* Whether this connection has changed, or may have changed, what it has not committed. */
static bool is_writing(const struct bloom_layers *layers) {
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() >= 3034000)
        return sqlite3_txn_state(layers->database->connection, layers->database->schema) ==
               SQLITE_TXN_WRITE;
#endif
    return !sqlite3_get_autocommit(layers->database->connection);
}

/* Whether another connection uses one of the caches: what is used by all is then more than our share. */
static bool is_shared(const struct bloom_layers *layers) {
    int used, share, highest;
    sqlite3 *connection = layers->database->connection;
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED, &used, &highest, 0);
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED_SHARED, &share, &highest, 0);
    return used != share;
}

static const char *file_of_main(const struct bloom_layers *layers) {
    const struct bloom_database *database = layers->database;
    if (sqlite3_stricmp(database->schema, "main") != 0)
        return NULL;
    return sqlite3_db_filename(database->connection, database->schema);
}

/* A path: what sqlite3_deserialize puts in the place of main has a name, too, but none of these. */
static bool is_path(const char *file) {
    return file != NULL && (strchr(file, '/') != NULL || strchr(file, '\\') != NULL);
}

static bool is_proven(const struct bloom_layers *layers) {
    int hits, misses;
    if (!layers->read || !layers->provable)
        return false;
    if (!layers->told && is_writing(layers))
        return false;
    look_at_counters(layers, &hits, &misses);
    if (hits != layers->hits || misses != layers->misses)
        return false;
    if (is_known_from_here(layers) && layers->file == NULL)
        return true;
    const char *file = file_of_main(layers);
    return layers->file != NULL && file != NULL && strcmp(file, layers->file) == 0;
}

void bloom_layers_settle(struct bloom_layers *layers) {
    look_at_counters(layers, &layers->hits, &layers->misses);
}

void bloom_layers_forget(struct bloom_layers *layers) {
    layers->read = false;
}

/* Right after the rows were read: for how long they may be believed. */
static int find_proof(struct bloom_layers *layers) {
    const char *file = file_of_main(layers);
    layers->provable = (layers->told || !is_writing(layers)) && !is_shared(layers);
    if (!is_path(file)) {
        sqlite3_free(layers->file);
        layers->file = NULL;
    } else if (layers->file == NULL || strcmp(layers->file, file) != 0) {
        sqlite3_free(layers->file);
        layers->file = sqlite3_mprintf("%s", file);
        if (layers->file == NULL)
            return SQLITE_NOMEM;
    }
    bloom_layers_settle(layers);
    return SQLITE_OK;
}

/* Rows */

static int damaged(struct bloom_layers *layers, const char *format, unsigned index) {
    char *what = sqlite3_mprintf(format, index);
    if (what == NULL)
        return SQLITE_NOMEM;
    int code = bloom_database_fail(layers->database, SQLITE_CORRUPT_VTAB, "%s is damaged: %s",
                                   layers->database->shadow_names[BLOOM_SHADOW_LAYERS], what);
    sqlite3_free(what);
    return code;
}

/* Works out a layer from its header. */
static int learn_layer(struct bloom_layers *layers, unsigned index, const uint8_t *header,
                       sqlite3_int64 chunk_blocks) {
    struct bloom_layer *layer = &layers->layers[index];
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    layer->learned = false;
    if (!bloom_header_read(&shape, header, problem))
        return bloom_database_fail(
            layers->database, SQLITE_CORRUPT_VTAB, "%s is damaged: layer %u %s",
            layers->database->shadow_names[BLOOM_SHADOW_LAYERS], index, problem);
    /* How layers follow from the options is part of the format, so that a header that was exchanged does
     * not go unnoticed. */
    if (!bloom_growth_knows(&layers->growth, index, &shape))
        return damaged(layers, "the header of layer %u is not one of this table", index);
    if (chunk_blocks < 1 ||
        chunk_blocks > (sqlite3_int64)(BLOOM_CHUNK_BYTES_MAXIMUM / shape.layout->blocks->bytes))
        return damaged(layers, "the numbers of layer %u are out of range", index);
    layer->geometry = (struct bloom_geometry){
        .layer = index, .shape = shape, .chunk_blocks = (uint32_t)chunk_blocks};
    layer->limits = bloom_growth_limits_of(&layers->growth, index, &shape);
    memcpy(layer->header, header, sizeof layer->header);
    layer->learned = true;
    return SQLITE_OK;
}

/* Reads the row that a statement is at. *learned tells whether the layer is another one than before. */
static int read_layer(struct bloom_layers *layers, sqlite3_stmt *row, bool *learned) {
    unsigned index = layers->count;
    sqlite3_int64 counts[3];
    int code = SQLITE_OK;
    *learned = false;
    if (index == BLOOM_LAYERS_MAXIMUM || sqlite3_column_int64(row, 0) != index)
        return bloom_database_fail(
            layers->database, SQLITE_CORRUPT_VTAB, "%s is damaged: layer %lld is not expected",
            layers->database->shadow_names[BLOOM_SHADOW_LAYERS], sqlite3_column_int64(row, 0));
    struct bloom_layer *layer = &layers->layers[index];
    sqlite3_value *header = sqlite3_column_value(row, 1);
    if (sqlite3_value_type(header) != SQLITE_BLOB ||
        sqlite3_value_bytes(header) != BLOOM_HEADER_BYTES)
        return damaged(layers, "the header of layer %u is not 64 bytes", index);
    const uint8_t *bytes = sqlite3_value_blob(header);
    if (bytes == NULL)
        return SQLITE_NOMEM;
    sqlite3_int64 chunk_blocks = sqlite3_column_int64(row, 2);
    for (int i = 0; i < 3; i++) {
        counts[i] = sqlite3_column_int64(row, 3 + i);
        if (counts[i] < 0 || counts[i] > COUNT_MAXIMUM)
            code = damaged(layers, "the numbers of layer %u are out of range", index);
    }
    if (code == SQLITE_OK &&
        (!layer->learned || memcmp(bytes, layer->header, sizeof layer->header) != 0 ||
         (sqlite3_int64)layer->geometry.chunk_blocks != chunk_blocks)) {
        *learned = true;
        code = learn_layer(layers, index, bytes, chunk_blocks);
    }
    if (code != SQLITE_OK)
        return code;
    layer->keys = (uint64_t)counts[0];
    layer->chunks = (uint64_t)counts[1];
    layer->ones = (uint64_t)counts[2];
    layer->geometry.complete = layer->chunks >= bloom_chunks_of_layer(&layer->geometry);
    layers->count++;
    return SQLITE_OK;
}

/* Adds to a count, which nobody can make negative or overflow: a row may say anything. */
static void add_count(uint64_t *count, int64_t more) {
    if (more < 0 && (uint64_t)-more > *count)
        *count = 0;
    else
        *count += (uint64_t)more;
}

static void add_to_layer(struct bloom_layer *layer, int64_t keys, int64_t chunks, int64_t ones) {
    add_count(&layer->keys, keys);
    add_count(&layer->chunks, chunks);
    add_count(&layer->ones, ones);
    layer->geometry.complete = layer->chunks >= bloom_chunks_of_layer(&layer->geometry);
}

/* Reads all rows; *learned is a set of bits, one for each layer that is another one than before. */
static int read_layers(struct bloom_layers *layers, uint64_t *learned) {
    sqlite3_stmt *statement;
    int code = bloom_database_begin(layers->database, BLOOM_READ_LAYERS, &statement);
    layers->count = 0;
    *learned = 0;
    if (code != SQLITE_OK)
        return code;
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        bool is_new;
        code = read_layer(layers, statement, &is_new);
        if (code == SQLITE_OK && is_new)
            *learned |= UINT64_C(1) << (layers->count - 1);
    }
    int ended = bloom_database_end(layers->database, BLOOM_READ_LAYERS);
    if (ended != SQLITE_OK)
        code = ended;
    return code;
}

int bloom_layers_know(struct bloom_layers *layers) {
    uint64_t learned;
    int code;
    if (is_proven(layers))
        return SQLITE_OK;
    bloom_layers_forget(layers);
    do {
        code = read_layers(layers, &learned);
    } while (bloom_database_changed(layers->database));
    if (code == SQLITE_OK && layers->count == 0)
        code = bloom_database_fail(layers->database, SQLITE_CORRUPT_VTAB,
                                   "%s is damaged: it has no rows",
                                   layers->database->shadow_names[BLOOM_SHADOW_LAYERS]);
    /* Under another chunk size keys would be looked for in the wrong places. */
    for (unsigned i = 0; i < layers->count; i++)
        if (learned >> i & 1) {
            if (code == SQLITE_OK)
                code = bloom_chunks_check(layers->chunks, &layers->layers[i].geometry);
            layers->layers[i].learned = code == SQLITE_OK;
        }
    if (code != SQLITE_OK)
        return code;
    if (layers->outstanding.layer < layers->count)
        add_to_layer(&layers->layers[layers->outstanding.layer], layers->outstanding.keys,
                     layers->outstanding.chunks, layers->outstanding.ones);
    code = find_proof(layers);
    layers->read = code == SQLITE_OK;
    return code;
}

/* Changes */

int bloom_layers_grow(struct bloom_layers *layers) {
    unsigned index = layers->count;
    struct bloom_layer *layer = &layers->layers[index];
    struct bloom_shape shape;
    uint8_t header[BLOOM_HEADER_BYTES];
    char problem[BLOOM_PROBLEM_SIZE];
    uint32_t room;
    sqlite3_stmt *statement;
    if (!bloom_growth_shape(&layers->growth, index, &shape, problem))
        return bloom_database_fail(layers->database, SQLITE_ERROR, "%s", problem);
    int code = bloom_database_room_on_page(layers->database, &room);
    if (code == SQLITE_OK)
        code = bloom_layers_write_counts(layers);
    if (code == SQLITE_OK)
        code = bloom_database_begin(layers->database, BLOOM_NEW_LAYER, &statement);
    if (code != SQLITE_OK)
        return code;
    bloom_header_write(&shape, header);
    sqlite3_int64 chunk_blocks = room / shape.layout->blocks->bytes;
    if (chunk_blocks == 0)
        chunk_blocks = 1; /* of a block larger than a page */
    sqlite3_bind_int64(statement, 1, index);
    sqlite3_bind_blob(statement, 2, header, sizeof header, SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement, 3, chunk_blocks);
    code = bloom_database_write(layers->database, BLOOM_NEW_LAYER);
    if (code == SQLITE_OK)
        code = learn_layer(layers, index, header, chunk_blocks);
    if (code != SQLITE_OK)
        return code;
    layer->keys = layer->chunks = layer->ones = 0;
    layer->geometry.complete = false;
    layers->count++;
    return SQLITE_OK;
}

int bloom_layers_add_counts(struct bloom_layers *layers, unsigned index, int64_t keys,
                            int64_t chunks, int64_t ones) {
    int code = SQLITE_OK;
    if (layers->outstanding.layer != index) {
        code = bloom_layers_write_counts(layers);
        if (code != SQLITE_OK)
            return code;
        layers->outstanding.layer = index;
    }
    add_to_layer(&layers->layers[index], keys, chunks, ones);
    layers->outstanding.keys += keys;
    layers->outstanding.chunks += chunks;
    layers->outstanding.ones += ones;
    return layers->at_once ? bloom_layers_write_counts(layers) : SQLITE_OK;
}

static void drop_outstanding(struct bloom_layers *layers) {
    memset(&layers->outstanding, 0, sizeof layers->outstanding);
    layers->refused_savepoint = BLOOM_NO_SAVEPOINT;
}

/* The counts in the row of a layer. */
struct counts {
    sqlite3_int64 keys, chunks, ones;
};

static int read_counts(struct bloom_layers *layers, unsigned index, struct counts *counts) {
    sqlite3_stmt *row;
    *counts = (struct counts){-1, -1, -1};
    int code = bloom_database_begin(layers->database, BLOOM_READ_LAYERS, &row);
    if (code != SQLITE_OK)
        return code;
    while (sqlite3_step(row) == SQLITE_ROW)
        if (sqlite3_column_int64(row, 0) == index)
            *counts = (struct counts){sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4),
                                      sqlite3_column_int64(row, 5)};
    return bloom_database_end(layers->database, BLOOM_READ_LAYERS);
}

/* Writes counts, to be added to those of the row or in place of them. An authorizer can keep columns as
 * they were without an error: the first time it is looked whether it was done. */
static int write_counts(struct bloom_layers *layers, enum bloom_statement which, unsigned index,
                        struct counts counts) {
    struct bloom_database *database = layers->database;
    sqlite3_stmt *statement;
    struct counts before = {0, 0, 0}, after;
    int code = bloom_database_begin(database, which, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, index);
    sqlite3_bind_int64(statement, 2, counts.keys);
    sqlite3_bind_int64(statement, 3, counts.chunks);
    sqlite3_bind_int64(statement, 4, counts.ones);
    bool tried = bloom_database_is_tried(database, which);
    if (!tried && which == BLOOM_ADD_COUNTS)
        code = read_counts(layers, index, &before);
    if (code != SQLITE_OK) {
        bloom_database_end(database, which);
        return code;
    }
    code = bloom_database_write(database, which);
    if (code != SQLITE_OK || tried)
        return code;
    code = read_counts(layers, index, &after);
    if (code == SQLITE_OK &&
        (after.keys != before.keys + counts.keys || after.chunks != before.chunks + counts.chunks ||
         after.ones != before.ones + counts.ones))
        code = bloom_database_fail(database, SQLITE_AUTH,
                                   "the authorizer of this connection keeps %s from being changed",
                                   database->shadow_names[BLOOM_SHADOW_LAYERS]);
    if (code == SQLITE_OK)
        bloom_database_note_tried(database, which);
    return code;
}

int bloom_layers_write_counts(struct bloom_layers *layers) {
    struct counts counts = {layers->outstanding.keys, layers->outstanding.chunks,
                            layers->outstanding.ones};
    if (counts.keys == 0 && counts.chunks == 0 && counts.ones == 0)
        return SQLITE_OK;
    int code = write_counts(layers, BLOOM_ADD_COUNTS, layers->outstanding.layer, counts);
    if (code == SQLITE_OK)
        drop_outstanding(layers);
    return code;
}

int bloom_layers_set_counts(struct bloom_layers *layers, unsigned index, uint64_t keys,
                            uint64_t chunks, uint64_t ones) {
    struct counts counts = {(sqlite3_int64)keys, (sqlite3_int64)chunks, (sqlite3_int64)ones};
    int code = bloom_layers_write_counts(layers);
    if (code == SQLITE_OK)
        code = write_counts(layers, BLOOM_WRITE_COUNTS, index, counts);
    bloom_layers_forget(layers);
    return code;
}

/* All is prepared before anything is done, so that an authorizer refuses all or nothing. */
int bloom_layers_clear(struct bloom_layers *layers) {
    sqlite3_stmt *statement;
    bool allowed;
    int code = bloom_database_allow(layers->database, BLOOM_WRITE_COUNTS, &allowed);
    if (code == SQLITE_OK)
        code = bloom_database_allow(layers->database, BLOOM_CLEAR_CHUNKS, &allowed);
    if (code == SQLITE_OK)
        code = bloom_database_allow(layers->database, BLOOM_CLEAR_LAYERS, &allowed);
    if (code == SQLITE_OK)
        code = bloom_layers_set_counts(layers, 0, 0, 0, 0);
    if (code == SQLITE_OK)
        code = bloom_chunks_clear(layers->chunks);
    if (code == SQLITE_OK)
        code = bloom_database_begin(layers->database, BLOOM_CLEAR_LAYERS, &statement);
    return code == SQLITE_OK ? bloom_database_write(layers->database, BLOOM_CLEAR_LAYERS) : code;
}

/* Statements and transactions */

void bloom_layers_enter(struct bloom_layers *layers) {
    layers->cursors++;
}

void bloom_layers_leave(struct bloom_layers *layers) {
    if (--layers->cursors > 0 || layers->told)
        return;
    bloom_chunks_rest(layers->chunks);
    if (layers->file == NULL)
        bloom_layers_forget(layers);
}

void bloom_layers_begin(struct bloom_layers *layers) {
    bloom_layers_forget(layers);
    layers->told = true;
}

int bloom_layers_savepoint(struct bloom_layers *layers, int depth) {
    bloom_chunks_rest(layers->chunks);
    int code = bloom_layers_write_counts(layers);
    if (code != SQLITE_OK)
        layers->refused_savepoint = depth;
    return code;
}

void bloom_layers_rollback_to(struct bloom_layers *layers, int depth) {
    bloom_chunks_rest(layers->chunks);
    bloom_layers_forget(layers);
    if (depth == layers->refused_savepoint)
        layers->refused_savepoint = BLOOM_NO_SAVEPOINT;
    else
        drop_outstanding(layers);
}

void bloom_layers_end(struct bloom_layers *layers) {
    bloom_chunks_rest(layers->chunks);
    bloom_layers_forget(layers);
    drop_outstanding(layers);
    layers->told = layers->at_once = false;
}
