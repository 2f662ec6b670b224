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
}

void bloom_layers_close(struct bloom_layers *layers) {
    sqlite3_free(layers->file);
    layers->file = NULL;
}

/* The proof */

/* Looks at pages, of all databases of the connection, that were in the cache: nothing is changed
 * without some, and rows are counted besides. */
static int count_looks(const struct bloom_layers *layers) {
    int looks = 0, highest;
    sqlite3_db_status(layers->database->connection, SQLITE_DBSTATUS_CACHE_HIT, &looks, &highest, 0);
    return looks;
}

/* Whether this connection has changed, or may have changed, what it has not committed. */
static bool is_writing(const struct bloom_layers *layers) {
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() >= 3034000) {
        /* That none of all databases is written is found out without comparing names. */
        sqlite3 *connection = layers->database->connection;
        return sqlite3_txn_state(connection, NULL) == SQLITE_TXN_WRITE &&
               sqlite3_txn_state(connection, layers->database->schema) == SQLITE_TXN_WRITE;
    }
#endif
    (void)layers;
    return true; /* it does not say */
}

/* Whether another connection uses one of the caches: what is used by all is then more than our
 * share. */
static bool is_shared(const struct bloom_layers *layers) {
    int used, share, highest;
    sqlite3 *connection = layers->database->connection;
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED, &used, &highest, 0);
    sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_USED_SHARED, &share, &highest, 0);
    return used != share;
}

/* Changes with every commit, whoever makes it. */
static unsigned version_of(const struct bloom_layers *layers) {
    unsigned version = 0;
    const struct bloom_database *database = layers->database;
    sqlite3_file_control(database->connection, database->is_main ? NULL : database->schema,
                         SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

static const char *file_of(const struct bloom_layers *layers) {
    return sqlite3_db_filename(layers->database->connection, layers->database->schema);
}

/* Whether the database is main, in a file with a path: what sqlite3_deserialize puts in the place
 * of main has a name, too, but no path. */
static bool is_main_file(const struct bloom_layers *layers, const char *file) {
    return layers->database->is_main && file != NULL && strpbrk(file, "/\\") != NULL;
}

static bool is_proven_by_looks(const struct bloom_layers *layers) {
    unsigned changes =
        (unsigned)sqlite3_total_changes(layers->database->connection) - layers->changes;
    return (changes == 0 || changes == (unsigned)layers->own_changes) &&
           count_looks(layers) == layers->looks;
}

static bool is_proven_by_version(const struct bloom_layers *layers) {
    if (is_writing(layers) || version_of(layers) != layers->version)
        return false;
    if (layers->held)
        return true;
    const char *file = layers->file != NULL ? file_of(layers) : NULL;
    return file != NULL && strcmp(file, layers->file) == 0;
}

void bloom_layers_settle(struct bloom_layers *layers, bool changed) {
    layers->held = layers->cursors > 0;
    if (!layers->told)
        return;
    layers->looks = count_looks(layers);
    layers->changes = (unsigned)sqlite3_total_changes(layers->database->connection);
    layers->own_changes = changed;
}

void bloom_layers_forget(struct bloom_layers *layers) {
    layers->proof = BLOOM_PROOF_NONE;
}

/* The chunks may be others than were compared with the sizes of the layers. */
static void uncheck(struct bloom_layers *layers) {
    for (unsigned i = 0; i < BLOOM_LAYERS_MAXIMUM; i++)
        layers->layers[i].geometry.checked = false;
}

/* Right after the rows were read: by what they may be believed. */
static int find_proof(struct bloom_layers *layers) {
    const char *file = file_of(layers);
    layers->proof = BLOOM_PROOF_NONE;
    sqlite3_free(layers->file);
    layers->file = NULL;
    if (is_shared(layers))
        return SQLITE_OK;
    if (layers->told) {
        layers->proof = BLOOM_PROOF_LOOKS;
        return SQLITE_OK;
    }
    if (is_writing(layers))
        return SQLITE_OK;
    if (is_main_file(layers, file)) {
        layers->file = sqlite3_mprintf("%s", file);
        if (layers->file == NULL)
            return SQLITE_NOMEM;
    }
    layers->version = version_of(layers);
    layers->proof = BLOOM_PROOF_VERSION;
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
                       size_t length, sqlite3_int64 chunk_blocks) {
    struct bloom_layer *layer = &layers->layers[index];
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    layer->learned = false;
    if (!bloom_header_read(&shape, header, length, problem))
        return bloom_database_fail(
            layers->database, SQLITE_CORRUPT_VTAB, "%s is damaged: layer %u %s",
            layers->database->shadow_names[BLOOM_SHADOW_LAYERS], index, problem);
    /* How layers follow from the options is part of the format, so that a header that was exchanged
     * does not go unnoticed. */
    if (!bloom_growth_knows(&layers->growth, index, &shape))
        return damaged(layers, "the header of layer %u is not one of this table", index);
    if (chunk_blocks < 1 ||
        chunk_blocks > (sqlite3_int64)(BLOOM_CHUNK_BYTES_MAXIMUM / shape.layout->blocks->bytes))
        return damaged(layers, "the numbers of layer %u are out of range", index);
    layer->geometry = (struct bloom_geometry){
        .layer = index, .shape = shape, .chunk_blocks = (uint32_t)chunk_blocks};
    layer->limits = bloom_growth_limits_of(&layers->growth, index, &shape);
    memcpy(layer->header, header, length);
    layer->learned = true;
    return SQLITE_OK;
}

/* Reads the row that a statement is at. */
static int read_layer(struct bloom_layers *layers, sqlite3_stmt *row) {
    unsigned index = layers->count;
    sqlite3_int64 counts[3];
    int code = SQLITE_OK;
    if (index == BLOOM_LAYERS_MAXIMUM || sqlite3_column_int64(row, 0) != index)
        return bloom_database_fail(
            layers->database, SQLITE_CORRUPT_VTAB, "%s is damaged: layer %lld is not expected",
            layers->database->shadow_names[BLOOM_SHADOW_LAYERS], sqlite3_column_int64(row, 0));
    struct bloom_layer *layer = &layers->layers[index];
    sqlite3_value *header = sqlite3_column_value(row, 1);
    const uint8_t *bytes = NULL;
    const size_t length =
        layers->growth.keying.salted ? BLOOM_HEADER_BYTES_MAXIMUM : BLOOM_HEADER_BYTES;
    if (sqlite3_value_type(header) == SQLITE_BLOB && sqlite3_value_bytes(header) == (int)length)
        bytes = sqlite3_value_blob(header);
    if (bytes == NULL)
        return damaged(layers,
                       length == BLOOM_HEADER_BYTES ? "the header of layer %u is not 64 bytes"
                                                    : "the header of layer %u is not 128 bytes",
                       index);
    sqlite3_int64 chunk_blocks = sqlite3_column_int64(row, 2);
    for (int i = 0; i < 3; i++) {
        counts[i] = sqlite3_column_int64(row, 3 + i);
        if (counts[i] < 0 || counts[i] > COUNT_MAXIMUM)
            code = damaged(layers, "the numbers of layer %u are out of range", index);
    }
    if (code == SQLITE_OK && (!layer->learned || memcmp(bytes, layer->header, length) != 0 ||
                              (sqlite3_int64)layer->geometry.chunk_blocks != chunk_blocks))
        code = learn_layer(layers, index, bytes, length, chunk_blocks);
    if (code != SQLITE_OK)
        return code;
    layer->keys = (uint64_t)counts[0];
    layer->chunks = (uint64_t)counts[1];
    layer->ones = (uint64_t)counts[2];
    layer->geometry.complete = layer->chunks >= bloom_chunks_of_layer(&layer->geometry);
    layers->count++;
    return SQLITE_OK;
}

/* Adds to a count, which nobody can make negative or overflow: a row may say anything. So *more may
 * become less. */
static void add_count(uint64_t *count, int64_t *more) {
    if (*more < 0 && (uint64_t) - *more > *count)
        *more = -(int64_t)*count;
    *count += (uint64_t)*more;
}

static void add_to_layer(struct bloom_layer *layer, struct bloom_more *more) {
    add_count(&layer->keys, &more->keys);
    add_count(&layer->chunks, &more->chunks);
    add_count(&layer->ones, &more->ones);
    layer->geometry.complete = layer->chunks >= bloom_chunks_of_layer(&layer->geometry);
}

/* Reads all rows. */
static int read_layers(struct bloom_layers *layers) {
    sqlite3_stmt *statement;
    int code = bloom_database_begin(layers->database, BLOOM_READ_LAYERS, &statement);
    layers->count = 0;
    if (code != SQLITE_OK)
        return code;
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
        code = read_layer(layers, statement);
    int ended = bloom_database_end(layers->database, BLOOM_READ_LAYERS);
    if (ended != SQLITE_OK)
        code = ended;
    return code;
}

static void drop_outstanding(struct bloom_layers *layers) {
    memset(&layers->outstanding, 0, sizeof layers->outstanding);
}

/* After the rows were read: with outstanding counts, unless the row has them already. */
static void include_outstanding(struct bloom_layers *layers) {
    if (layers->outstanding.layer >= layers->count)
        return;
    struct bloom_layer *layer = &layers->layers[layers->outstanding.layer];
    struct bloom_layer written = *layer;
    written.keys = layers->outstanding.row_keys;
    written.chunks = layers->outstanding.row_chunks;
    written.ones = layers->outstanding.row_ones;
    add_to_layer(&written, &layers->outstanding.more);
    if (layers->outstanding.doubtful && written.keys == layer->keys &&
        written.chunks == layer->chunks && written.ones == layer->ones) {
        drop_outstanding(layers);
        return;
    }
    layers->outstanding.doubtful = false;
    layers->outstanding.row_keys = layer->keys;
    layers->outstanding.row_chunks = layer->chunks;
    layers->outstanding.row_ones = layer->ones;
    add_to_layer(layer, &layers->outstanding.more);
}

int bloom_layers_know(struct bloom_layers *layers, enum bloom_chunk_sizes sizes) {
    if ((layers->proof == BLOOM_PROOF_LOOKS && is_proven_by_looks(layers)) ||
        (layers->proof == BLOOM_PROOF_VERSION && is_proven_by_version(layers)))
        return SQLITE_OK;
    bloom_layers_forget(layers);
    int code = read_layers(layers);
    if (code == SQLITE_OK && layers->count == 0)
        code = bloom_database_fail(layers->database, SQLITE_CORRUPT_VTAB,
                                   "%s is damaged: it has no rows",
                                   layers->database->shadow_names[BLOOM_SHADOW_LAYERS]);
    if (code != SQLITE_OK)
        return code;
    include_outstanding(layers);
    code = find_proof(layers);
    if (sizes == BLOOM_SIZES_ANY ||
        (sizes == BLOOM_SIZES_LATER && layers->proof == BLOOM_PROOF_NONE)) {
        uncheck(layers);
        return code;
    }
    for (unsigned i = 0; code == SQLITE_OK && i < layers->count; i++) {
        struct bloom_geometry *geometry = &layers->layers[i].geometry;
        if (!geometry->checked)
            code = bloom_chunks_check(layers->chunks, geometry, &geometry->checked);
    }
    if (layers->proof == BLOOM_PROOF_NONE)
        uncheck(layers);
    if (code != SQLITE_OK)
        bloom_layers_forget(layers);
    return code;
}

/* Changes */

int bloom_layers_grow(struct bloom_layers *layers) {
    unsigned index = layers->count;
    struct bloom_layer *layer = &layers->layers[index];
    struct bloom_shape shape;
    uint8_t header[BLOOM_HEADER_BYTES_MAXIMUM];
    char problem[BLOOM_PROBLEM_SIZE];
    uint32_t room;
    sqlite3_stmt *statement;
    /* Every layer is possible when the first one is, which the options were asked for. */
    bloom_growth_shape(&layers->growth, index, &shape, problem);
    int code = bloom_database_room_on_page(layers->database, &room);
    if (code != SQLITE_OK)
        return code;
    bloom_header_write(&shape, header);
    const size_t length = bloom_header_bytes(&shape);
    /* Not 0: SQLite leaves at least 480 bytes of a page, more than a block has. */
    sqlite3_int64 chunk_blocks = room / shape.layout->blocks->bytes;
    learn_layer(layers, index, header, length,
                chunk_blocks); /* of a header of our own: cannot fail */
    /* Chunks whose layer somebody took away may be of another size. */
    if (index > 0)
        code = bloom_chunks_check(layers->chunks, &layer->geometry, &layer->geometry.checked);
    if (code == SQLITE_OK)
        code = bloom_layers_write_counts(layers);
    if (code == SQLITE_OK)
        code = bloom_database_begin(layers->database, BLOOM_NEW_LAYER, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, index);
    sqlite3_bind_blob(statement, 2, header, (int)length, SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement, 3, chunk_blocks);
    code = bloom_database_write(layers->database, BLOOM_NEW_LAYER, 1);
    if (code != SQLITE_OK)
        return code;
    layer->keys = layer->chunks = layer->ones = 0;
    layers->count++;
    return SQLITE_OK;
}

static bool any_outstanding(const struct bloom_layers *layers) {
    const struct bloom_more *more = &layers->outstanding.more;
    return more->keys != 0 || more->chunks != 0 || more->ones != 0;
}

int bloom_layers_expect_counts(struct bloom_layers *layers, unsigned index) {
    return layers->outstanding.layer == index ? SQLITE_OK : bloom_layers_write_counts(layers);
}

int bloom_layers_add_counts(struct bloom_layers *layers, unsigned index, int64_t keys,
                            int64_t chunks, int64_t ones) {
    struct bloom_layer *layer = &layers->layers[index];
    struct bloom_more more = {keys, chunks, ones};
    if (!any_outstanding(layers)) {
        layers->outstanding.layer = index;
        layers->outstanding.row_keys = layer->keys;
        layers->outstanding.row_chunks = layer->chunks;
        layers->outstanding.row_ones = layer->ones;
    }
    add_to_layer(layer, &more);
    layers->outstanding.more.keys += more.keys;
    layers->outstanding.more.chunks += more.chunks;
    layers->outstanding.more.ones += more.ones;
    return layers->at_once ? bloom_layers_write_counts(layers) : SQLITE_OK;
}

/* SQLite may ask for counts when the schema has changed, outside of a deed that would begin again:
 * then what they need is tried again here. */
enum { SCHEMA_TRIES = 3 };

/* Reads the rows anew. */
static int know_anew(struct bloom_layers *layers) {
    int code = SQLITE_SCHEMA;
    for (int i = 0; code == SQLITE_SCHEMA && i < SCHEMA_TRIES; i++) {
        if (i > 0)
            bloom_database_forget(layers->database);
        bloom_layers_forget(layers);
        code = bloom_layers_know(layers, BLOOM_SIZES_NOW);
    }
    return code;
}

/* Writes counts, to be added to those of the row or in the place of them. */
static int write_row(struct bloom_layers *layers, enum bloom_statement which, unsigned index,
                     const struct bloom_more *counts) {
    int code = SQLITE_SCHEMA;
    for (int i = 0; code == SQLITE_SCHEMA && i < SCHEMA_TRIES; i++) {
        sqlite3_stmt *statement;
        if (i > 0)
            bloom_database_forget(layers->database);
        code = bloom_database_begin(layers->database, which, &statement);
        if (code != SQLITE_OK)
            continue;
        sqlite3_bind_int64(statement, 1, index);
        sqlite3_bind_int64(statement, 2, counts->keys);
        sqlite3_bind_int64(statement, 3, counts->chunks);
        sqlite3_bind_int64(statement, 4, counts->ones);
        code = bloom_database_write(layers->database, which, 1);
    }
    return code;
}

int bloom_layers_write_counts(struct bloom_layers *layers) {
    int code = SQLITE_OK;
    if (!any_outstanding(layers))
        return SQLITE_OK;
    if (layers->outstanding.doubtful) {
        code = know_anew(layers);
        if (code != SQLITE_OK || !any_outstanding(layers))
            return code;
    }
    code =
        write_row(layers, BLOOM_ADD_COUNTS, layers->outstanding.layer, &layers->outstanding.more);
    if (code == SQLITE_OK)
        drop_outstanding(layers);
    else
        layers->outstanding.doubtful = true;
    return code;
}

int bloom_layers_set_counts(struct bloom_layers *layers, unsigned index, uint64_t keys,
                            uint64_t chunks, uint64_t ones) {
    const struct bloom_more counts = {(int64_t)keys, (int64_t)chunks, (int64_t)ones};
    int code = bloom_layers_write_counts(layers);
    if (code == SQLITE_OK)
        code = write_row(layers, BLOOM_WRITE_COUNTS, index, &counts);
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
    return code == SQLITE_OK
               ? bloom_database_write(layers->database, BLOOM_CLEAR_LAYERS, (int)layers->count - 1)
               : code;
}

/* Statements and transactions */

void bloom_layers_enter(struct bloom_layers *layers) {
    layers->cursors++;
}

void bloom_layers_leave(struct bloom_layers *layers) {
    if (--layers->cursors > 0)
        return;
    layers->held = false;
    bloom_chunks_rest(layers->chunks);
    if (!layers->told && layers->proof == BLOOM_PROOF_VERSION && layers->file == NULL)
        bloom_layers_forget(layers);
}

void bloom_layers_begin(struct bloom_layers *layers) {
    bloom_layers_forget(layers);
    layers->told = true;
    layers->savepoints = 0;
}

int bloom_layers_savepoint(struct bloom_layers *layers, int depth) {
    bloom_chunks_rest(layers->chunks);
    int code = bloom_layers_write_counts(layers);
    if (code == SQLITE_OK)
        layers->savepoints = depth + 1;
    return code;
}

void bloom_layers_release(struct bloom_layers *layers, int depth) {
    if (layers->savepoints > depth)
        layers->savepoints = depth;
}

void bloom_layers_rollback_to(struct bloom_layers *layers, int depth) {
    bloom_chunks_rest(layers->chunks);
    bloom_layers_forget(layers);
    uncheck(layers);
    if (depth >= layers->savepoints)
        return;
    drop_outstanding(layers);
    layers->savepoints = depth + 1;
}

void bloom_layers_end(struct bloom_layers *layers, bool rolled_back) {
    bloom_chunks_rest(layers->chunks);
    bloom_layers_forget(layers);
    if (rolled_back)
        uncheck(layers);
    drop_outstanding(layers);
    layers->told = layers->at_once = false;
}
