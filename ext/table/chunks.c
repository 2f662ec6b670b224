/* See chunks.h. */
#include "table/chunks.h"

#include <string.h>

enum {
    /* Reads by statement before a handle is opened: opening takes as long as three reads through it
     * save. */
    READS_BEFORE_HANDLE = 4,
    /* From here on it is opened at once, since a statement copies the whole row. With pages of 16
     * KB (16,000 bytes and more, whatever is reserved) a check takes as long either way while all
     * is in cache, and 1.7 times as long by statement at 10^8 keys; with 64 KB 1.9 and 3.8 times.
     * */
    LARGE_CHUNK_BYTES = 16000
};

bool bloom_chunks_open(struct bloom_chunks *chunks, struct bloom_database *database) {
    *chunks = (struct bloom_chunks){.database = database};
    chunks->chunk = sqlite3_malloc(BLOOM_CHUNK_BYTES_MAXIMUM);
    return chunks->chunk != NULL;
}

void bloom_chunks_rest(struct bloom_chunks *chunks) {
    sqlite3_blob *handle = chunks->handle;
    chunks->handle = NULL;
    chunks->reads = 0;
    if (handle != NULL)
        sqlite3_blob_close(handle); /* an error in it has been reported when it happened */
}

void bloom_chunks_close(struct bloom_chunks *chunks) {
    bloom_chunks_rest(chunks);
    sqlite3_free(chunks->chunk);
}

/* Geometry */

static uint32_t block_bytes(const struct bloom_geometry *geometry) {
    return geometry->shape.layout->blocks->bytes;
}

uint32_t bloom_chunk_bytes(const struct bloom_geometry *geometry) {
    return geometry->chunk_blocks * block_bytes(geometry);
}

static uint64_t blocks_of_layer(const struct bloom_geometry *geometry) {
    return geometry->shape.layout->blocks->count(&geometry->shape);
}

uint64_t bloom_chunks_of_layer(const struct bloom_geometry *geometry) {
    return (blocks_of_layer(geometry) - 1) / geometry->chunk_blocks + 1;
}

uint32_t bloom_blocks_of_chunk(const struct bloom_geometry *geometry, uint64_t chunk) {
    uint64_t left = blocks_of_layer(geometry) - chunk * geometry->chunk_blocks;
    return left < geometry->chunk_blocks ? (uint32_t)left : geometry->chunk_blocks;
}

static sqlite3_int64 first_id(unsigned layer) {
    return (sqlite3_int64)((uint64_t)layer << BLOOM_CHUNK_ID_BITS);
}

static sqlite3_int64 chunk_id(const struct bloom_geometry *geometry, uint64_t chunk) {
    return first_id(geometry->layer) + (sqlite3_int64)chunk;
}

/* The chunk that a block is in, and where. */
static uint64_t chunk_of_block(const struct bloom_geometry *geometry, uint64_t block,
                               uint32_t *offset) {
    *offset = (uint32_t)(block % geometry->chunk_blocks) * block_bytes(geometry);
    return block / geometry->chunk_blocks;
}

/* Rows by statement */

/* The chunk in a column of the row that a statement is at; valid until it goes on. */
static int chunk_of_column(struct bloom_chunks *chunks, sqlite3_stmt *row, int column,
                           sqlite3_int64 id, const struct bloom_geometry *geometry,
                           const uint8_t **bits) {
    /* One look at the value: each call of sqlite3_column_... takes the connection's mutex. */
    sqlite3_value *value = sqlite3_column_value(row, column);
    bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
    int length = sqlite3_value_bytes(value); /* of text in the database's encoding */
    *bits = NULL;
    if (is_blob && (uint32_t)length == bloom_chunk_bytes(geometry))
        *bits = sqlite3_value_blob(value);
    if (*bits != NULL)
        return SQLITE_OK;
    return bloom_database_fail(
        chunks->database, SQLITE_CORRUPT_VTAB,
        "%s is damaged: chunk %lld is not a BLOB of %u bytes (%d bytes found)",
        chunks->database->shadow_names[BLOOM_SHADOW_CHUNKS], id, bloom_chunk_bytes(geometry),
        length);
}

static int hidden_tables(struct bloom_chunks *chunks) {
    return bloom_database_fail(chunks->database, SQLITE_AUTH,
                               "the authorizer of this connection hides the shadow tables");
}

/* The largest id below another one; -1 when there is none from 0 on. */
static int id_before(struct bloom_chunks *chunks, sqlite3_int64 limit, sqlite3_int64 *id) {
    sqlite3_stmt *statement;
    int code = bloom_database_begin(chunks->database, BLOOM_LAST_CHUNK, &statement);
    *id = -1;
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, limit);
    if (sqlite3_step(statement) == SQLITE_ROW)
        *id = sqlite3_column_int64(statement, 0);
    return bloom_database_end(chunks->database, BLOOM_LAST_CHUNK);
}

/* Before the first row that is not found is believed to be absent: whether the statement finds one
 * that is there, and is not one whose key an authorizer has hidden, which is forgotten. */
static int find_another(struct bloom_chunks *chunks, bool *finds) {
    struct bloom_database *database = chunks->database;
    sqlite3_stmt *statement;
    sqlite3_int64 id;
    *finds = true;
    int code = id_before(chunks, INT64_MAX, &id);
    if (code == SQLITE_OK && id >= 0)
        code = bloom_database_begin(database, BLOOM_READ_CHUNK, &statement);
    if (code != SQLITE_OK || id < 0)
        return code;
    sqlite3_bind_int64(statement, 1, id);
    *finds = database->finds_chunks = sqlite3_step(statement) == SQLITE_ROW;
    code = bloom_database_end(database, BLOOM_READ_CHUNK);
    if (!*finds)
        bloom_database_drop(database, BLOOM_READ_CHUNK);
    return code;
}

/* A part of a row, or zeros when there is none. */
static int read_row_once(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                         uint64_t chunk, uint32_t offset, uint32_t length, uint8_t *bytes,
                         bool *has_row) {
    sqlite3_stmt *statement;
    const uint8_t *bits;
    int code = bloom_database_begin(chunks->database, BLOOM_READ_CHUNK, &statement);
    *has_row = false;
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, chunk_id(geometry, chunk));
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *has_row = chunks->database->finds_chunks = true;
        code = chunk_of_column(chunks, statement, 0, chunk_id(geometry, chunk), geometry, &bits);
        if (code == SQLITE_OK)
            memcpy(bytes, bits + offset, length);
    } else {
        memset(bytes, 0, length);
    }
    int ended = bloom_database_end(chunks->database, BLOOM_READ_CHUNK);
    return code == SQLITE_OK ? ended : code;
}

/* Before a chunk without a row is believed to be zeros. The check takes the buffer, which the bytes
 * may be in. */
static int check_before_zeros(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                              uint32_t length, uint8_t *bytes) {
    bool any;
    int code = bloom_chunks_check(chunks, geometry, &any);
    memset(bytes, 0, length);
    return code;
}

static int read_row(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                    uint64_t chunk, uint32_t offset, uint32_t length, uint8_t *bytes,
                    bool *has_row) {
    enum { TRIES = 2 };
    for (int i = 0; i < TRIES; i++) {
        bool finds = true;
        int code = read_row_once(chunks, geometry, chunk, offset, length, bytes, has_row);
        if (code == SQLITE_OK && !*has_row && !chunks->database->finds_chunks)
            code = find_another(chunks, &finds);
        if (code != SQLITE_OK)
            return code;
        if (*has_row)
            return SQLITE_OK;
        if (finds && !geometry->complete)
            return geometry->checked ? SQLITE_OK
                                     : check_before_zeros(chunks, geometry, length, bytes);
        if (finds)
            return bloom_database_fail(
                chunks->database, SQLITE_CORRUPT_VTAB, "%s is damaged: chunk %lld is missing",
                chunks->database->shadow_names[BLOOM_SHADOW_CHUNKS], chunk_id(geometry, chunk));
    }
    return hidden_tables(chunks);
}

int bloom_chunk_read(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t chunk, bool *has_row) {
    return read_row(chunks, geometry, chunk, 0, bloom_chunk_bytes(geometry), chunks->chunk,
                    has_row);
}

int bloom_chunk_write(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                      uint64_t chunk) {
    sqlite3_stmt *statement;
    int code = bloom_database_begin(chunks->database, BLOOM_WRITE_CHUNK, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, chunk_id(geometry, chunk));
    sqlite3_bind_blob(statement, 2, chunks->chunk, (int)bloom_chunk_bytes(geometry), SQLITE_STATIC);
    return bloom_database_write(chunks->database, BLOOM_WRITE_CHUNK, 1);
}

/* Visits the rows as the statement finds them. */
static int visit_rows(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                      void (*visit)(void *argument, const struct bloom_geometry *geometry,
                                    uint64_t chunk, const uint8_t *bits),
                      void *argument, bool *any) {
    sqlite3_int64 first = chunk_id(geometry, 0);
    sqlite3_stmt *statement;
    int code = bloom_database_begin(chunks->database, BLOOM_EACH_CHUNK, &statement);
    *any = false;
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, first);
    sqlite3_bind_int64(statement, 2, chunk_id(geometry, bloom_chunks_of_layer(geometry)));
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        sqlite3_int64 id = sqlite3_column_int64(statement, 0);
        const uint8_t *bits;
        code = chunk_of_column(chunks, statement, 1, id, geometry, &bits);
        if (code == SQLITE_OK)
            visit(argument, geometry, (uint64_t)(id - first), bits);
        *any = true;
    }
    int ended = bloom_database_end(chunks->database, BLOOM_EACH_CHUNK);
    return code == SQLITE_OK ? ended : code;
}

/* Where none is found, an authorizer may have hidden the key when the statement was prepared, so
 * that no row is between two: it is prepared once more. */
int bloom_chunks_for_each(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                          void (*visit)(void *argument, const struct bloom_geometry *geometry,
                                        uint64_t chunk, const uint8_t *bits),
                          void *argument) {
    enum { TRIES = 2 };
    for (int i = 0; i < TRIES; i++) {
        sqlite3_int64 last;
        bool any;
        int code = visit_rows(chunks, geometry, visit, argument, &any);
        if (code != SQLITE_OK || any)
            return code;
        code = id_before(chunks, chunk_id(geometry, bloom_chunks_of_layer(geometry)), &last);
        if (code != SQLITE_OK || last < chunk_id(geometry, 0))
            return code;
        bloom_database_drop(chunks->database, BLOOM_EACH_CHUNK);
    }
    return hidden_tables(chunks);
}

int bloom_chunks_check(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                       bool *any) {
    sqlite3_int64 last;
    *any = false;
    int code = id_before(chunks, first_id(geometry->layer + 1), &last);
    if (code != SQLITE_OK || last < first_id(geometry->layer))
        return code;
    uint64_t chunk = (uint64_t)(last - first_id(geometry->layer));
    if (chunk >= bloom_chunks_of_layer(geometry))
        return bloom_database_fail(chunks->database, SQLITE_CORRUPT_VTAB,
                                   "%s is damaged: chunk %lld is beyond the last one of layer %u",
                                   chunks->database->shadow_names[BLOOM_SHADOW_CHUNKS], last,
                                   geometry->layer);
    code = bloom_chunk_read(chunks, geometry, chunk, any);
    *any = *any && code == SQLITE_OK;
    return code;
}

int bloom_chunks_count(struct bloom_chunks *chunks, uint64_t *rows) {
    sqlite3_stmt *statement;
    int code = bloom_database_begin(chunks->database, BLOOM_COUNT_CHUNKS, &statement);
    if (code != SQLITE_OK)
        return code;
    *rows =
        sqlite3_step(statement) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    return bloom_database_end(chunks->database, BLOOM_COUNT_CHUNKS);
}

int bloom_chunks_clear(struct bloom_chunks *chunks) {
    sqlite3_stmt *statement;
    int code = bloom_database_begin(chunks->database, BLOOM_CLEAR_CHUNKS, &statement);
    return code == SQLITE_OK ? bloom_database_write(chunks->database, BLOOM_CLEAR_CHUNKS, -1)
                             : code;
}

/* Blocks */

/* Moves a handle to the row of a block, or makes one when *handle is NULL, and reads the block.
 * After an error the handle is closed and NULL. So it is, without an error, where the row is
 * missing or is not as long as a chunk, which a statement reports better (a TEXT of that length
 * passes, since a handle does not tell the type), or where no handle can be had, as when somebody
 * has put an index on the column. */
static int read_by_handle(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                          uint64_t block, bool for_writing, sqlite3_blob **handle, uint8_t *bytes) {
    struct bloom_database *database = chunks->database;
    uint32_t offset;
    sqlite3_int64 id = chunk_id(geometry, chunk_of_block(geometry, block, &offset));
    int code;
    if (*handle != NULL)
        code = sqlite3_blob_reopen(*handle, id);
    else
        code = sqlite3_blob_open(database->connection, database->schema,
                                 database->shadow_names[BLOOM_SHADOW_CHUNKS], "bits", id,
                                 for_writing, handle);
    if (code == SQLITE_OK && (uint32_t)sqlite3_blob_bytes(*handle) != bloom_chunk_bytes(geometry))
        code = SQLITE_ERROR;
    if (code == SQLITE_OK)
        code = sqlite3_blob_read(*handle, bytes, (int)block_bytes(geometry), (int)offset);
    if (code == SQLITE_OK)
        return code;
    /* SQLITE_ABORT is a handle that a rollback has ended. */
    if ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_ABORT)
        code = SQLITE_OK;
    else
        code = bloom_database_fail_sqlite(database, code);
    sqlite3_blob *closing = *handle;
    *handle = NULL;
    sqlite3_blob_close(closing);
    return code;
}

/* Whether the handle pays: not before some reads, since it must be opened, unless the chunks are
 * large; and not as long as the layer has chunks without a row, each of which would cost the
 * handle. */
static bool handle_pays(struct bloom_chunks *chunks, const struct bloom_geometry *geometry) {
    if (!geometry->complete)
        return false;
    return chunks->handle != NULL || bloom_chunk_bytes(geometry) >= LARGE_CHUNK_BYTES ||
           chunks->reads++ >= READS_BEFORE_HANDLE;
}

int bloom_block_read(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t block, uint8_t *bytes) {
    uint32_t offset;
    bool has_row, allowed = false;
    int code = SQLITE_OK;
    uint64_t chunk = chunk_of_block(geometry, block, &offset);
    if (handle_pays(chunks, geometry))
        code = bloom_database_allow(chunks->database, BLOOM_READ_CHUNK, &allowed);
    if (code != SQLITE_OK)
        return code;
    if (allowed) {
        sqlite3_blob *handle = chunks->handle;
        chunks->handle = NULL;
        code = read_by_handle(chunks, geometry, block, false, &handle, bytes);
        chunks->handle = handle;
        if (handle != NULL || code != SQLITE_OK)
            return code;
        chunks->reads = 0;
    }
    return read_row(chunks, geometry, chunk, offset, block_bytes(geometry), bytes, &has_row);
}

/* A handle of its own for each change takes less time than to read the row and to write it, and
 * leaves the rest of the page alone. */
int bloom_block_open(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t block, struct bloom_block_edit *edit) {
    uint32_t offset;
    bool allowed = false;
    edit->geometry = geometry;
    edit->block = block;
    edit->has_row = true;
    uint64_t chunk = chunk_of_block(geometry, block, &offset);
    int code = bloom_database_allow(chunks->database, BLOOM_READ_CHUNK, &allowed);
    if (code == SQLITE_OK)
        code = bloom_database_allow(chunks->database, BLOOM_WRITE_CHUNK, &allowed);
    if (code != SQLITE_OK || !allowed)
        bloom_block_close(edit);
    else
        code = read_by_handle(chunks, geometry, block, true, &edit->handle, edit->bytes);
    if (code != SQLITE_OK || edit->handle != NULL)
        return code;
    code = bloom_chunk_read(chunks, geometry, chunk, &edit->has_row);
    memcpy(edit->bytes, chunks->chunk + offset, block_bytes(geometry));
    return code;
}

int bloom_block_save(struct bloom_chunks *chunks, struct bloom_block_edit *edit) {
    uint32_t offset, length = block_bytes(edit->geometry);
    uint64_t chunk = chunk_of_block(edit->geometry, edit->block, &offset);
    if (edit->handle == NULL) {
        memcpy(chunks->chunk + offset, edit->bytes, length);
        return bloom_chunk_write(chunks, edit->geometry, chunk);
    }
    int code = sqlite3_blob_write(edit->handle, edit->bytes, (int)length, (int)offset);
    if (code != SQLITE_OK)
        code = bloom_database_fail_sqlite(chunks->database, code);
    bloom_block_close(edit);
    return code;
}

void bloom_block_close(struct bloom_block_edit *edit) {
    sqlite3_blob *handle = edit->handle;
    edit->handle = NULL;
    if (handle != NULL)
        sqlite3_blob_close(handle);
}
