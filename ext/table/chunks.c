/* See chunks.h. */
#include "table/chunks.h"

#include "filter/portable.h"

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

uint32_t bloom_blocks_in_room(const struct bloom_shape *shape, uint32_t room) {
    uint32_t most = BLOOM_CHUNK_BYTES_MAXIMUM;
    return ((room < most ? room : most) - BLOOM_COUNTS_BYTES) / shape->layout->blocks->bytes;
}

uint32_t bloom_chunk_block_bytes(const struct bloom_geometry *geometry) {
    return geometry->chunk_blocks * block_bytes(geometry);
}

uint32_t bloom_chunk_bytes(const struct bloom_geometry *geometry) {
    return BLOOM_COUNTS_BYTES + bloom_chunk_block_bytes(geometry);
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

static sqlite3_int64 chunk_id(const struct bloom_geometry *geometry, uint64_t chunk) {
    return bloom_chunks_first_id(geometry->number) + (sqlite3_int64)chunk;
}

/* Counts */

enum { AT_GENERATION = 16, AT_ZERO = 20 };

static struct bloom_counts no_counts(const struct bloom_geometry *geometry) {
    return (struct bloom_counts){.generation = geometry->generation};
}

/* Whether a row is of a generation that is forgotten. */
static bool is_stale(const struct bloom_geometry *geometry, uint32_t generation) {
    return generation < geometry->generation;
}

static struct bloom_counts load_counts(const uint8_t *bytes) {
    return (struct bloom_counts){bloom_load32(bytes),
                                 bloom_load32(bytes + 4),
                                 bloom_load32(bytes + 8),
                                 bloom_load32(bytes + 12),
                                 bloom_load32(bytes + AT_GENERATION),
                                 bloom_load32(bytes + AT_ZERO)};
}

bool bloom_counts_are_sound(const struct bloom_geometry *geometry,
                            const struct bloom_counts *counts) {
    return (counts->keys | counts->ones | counts->reported_keys | counts->reported_ones) <=
               BLOOM_COUNT_MAXIMUM &&
           counts->zero == 0 && counts->generation <= geometry->generation;
}

int bloom_counts_check(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                       uint64_t chunk, const struct bloom_counts *counts) {
    if (bloom_counts_are_sound(geometry, counts))
        return SQLITE_OK;
    return bloom_database_fail(chunks->database, SQLITE_CORRUPT_VTAB,
                               "%s is damaged: the counts of chunk %lld are out of range; count "
                               "anew with INSERT INTO %s(%s) VALUES ('repair')",
                               chunks->database->shadow_names[BLOOM_SHADOW_CHUNKS],
                               chunk_id(geometry, chunk), chunks->database->name,
                               chunks->database->name);
}

static void write_counts(const struct bloom_counts *counts, uint8_t bytes[BLOOM_COUNTS_BYTES]) {
    bloom_store32(bytes, counts->keys);
    bloom_store32(bytes + 4, counts->ones);
    bloom_store32(bytes + 8, counts->reported_keys);
    bloom_store32(bytes + 12, counts->reported_ones);
    bloom_store32(bytes + AT_GENERATION, counts->generation);
    bloom_store32(bytes + AT_ZERO, 0);
}

/* Rows by statement */

/* A part of the row that a statement is at; of a stale one zeros. */
static int copy_row(struct bloom_chunks *chunks, sqlite3_stmt *row,
                    const struct bloom_geometry *geometry, uint32_t offset, uint32_t length,
                    uint8_t *bytes) {
    /* One look at the value: each call of sqlite3_column_... takes the connection's mutex. */
    sqlite3_value *value = sqlite3_column_value(row, 1);
    bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
    int found = sqlite3_value_bytes(value); /* of text in the database's encoding */
    const uint8_t *bits = NULL;
    if (is_blob && (uint32_t)found == bloom_chunk_bytes(geometry))
        bits = sqlite3_value_blob(value);
    if (bits == NULL)
        return bloom_database_damaged(chunks->database, BLOOM_SHADOW_CHUNKS,
                                      "chunk %lld is not a BLOB of %u bytes (%d bytes found)",
                                      sqlite3_column_int64(row, 0), bloom_chunk_bytes(geometry),
                                      found);
    if (is_stale(geometry, bloom_load32(bits + AT_GENERATION)))
        memset(bytes, 0, length);
    else
        memcpy(bytes, bits + offset, length);
    return SQLITE_OK;
}

/* A part of a row, or zeros when there is none or it is stale. */
BLOOM_INLINE int read_row(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                          uint64_t chunk, uint32_t offset, uint32_t length, uint8_t *bytes,
                          bool *has_row) {
    sqlite3_stmt *statement;
    bool any;
    sqlite3_int64 id = chunk_id(geometry, chunk);
    int code = bloom_database_read(chunks->database, BLOOM_READ_CHUNK, id, 0, &statement, has_row);
    if (code != SQLITE_OK)
        return code;
    if (*has_row)
        code = copy_row(chunks, statement, geometry, offset, length, bytes);
    code = bloom_database_end(chunks->database, BLOOM_READ_CHUNK, code);
    if (code != SQLITE_OK || *has_row)
        return code;
    if (geometry->complete)
        return bloom_database_damaged(chunks->database, BLOOM_SHADOW_CHUNKS,
                                      "chunk %lld is missing", id);
    memset(bytes, 0, length);
    return geometry->checked ? SQLITE_OK : bloom_chunks_check(chunks, geometry, &any);
}

int bloom_chunks_last(struct bloom_chunks *chunks, sqlite3_int64 from, sqlite3_int64 to, bool *any,
                      sqlite3_int64 *id) {
    sqlite3_stmt *statement;
    int code = bloom_database_read(chunks->database, BLOOM_LAST_CHUNK, from, to, &statement, any);
    if (code != SQLITE_OK)
        return code;
    *id = *any ? sqlite3_column_int64(statement, 0) : 0;
    return bloom_database_end(chunks->database, BLOOM_LAST_CHUNK, code);
}

int bloom_chunks_check(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                       bool *any) {
    sqlite3_int64 first = bloom_chunks_first_id(geometry->number), last;
    bool found;
    *any = false;
    int code = bloom_chunks_last(chunks, first, bloom_chunks_first_id(geometry->number + 1) - 1,
                                 &found, &last);
    if (code != SQLITE_OK || !found)
        return code;
    if ((uint64_t)(last - first) >= bloom_chunks_of_layer(geometry))
        return bloom_database_damaged(chunks->database, BLOOM_SHADOW_CHUNKS,
                                      "chunk %lld is beyond the last one of layer %u", last,
                                      geometry->number);
    code = read_row(chunks, geometry, (uint64_t)(last - first), 0, 0, (uint8_t[1]){0}, &found);
    *any = code == SQLITE_OK && found;
    return code;
}

int bloom_chunks_delete(struct bloom_chunks *chunks, sqlite3_int64 from, sqlite3_int64 to) {
    sqlite3_stmt *statement;
    sqlite3_int64 last;
    bool any;
    int code = bloom_database_begin(chunks->database, BLOOM_DELETE_CHUNKS, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, from);
    sqlite3_bind_int64(statement, 2, to);
    code = bloom_database_write(chunks->database, BLOOM_DELETE_CHUNKS, -1);
    if (code == SQLITE_OK)
        code = bloom_chunks_last(chunks, from, to, &any, &last);
    return code == SQLITE_OK && any ? bloom_database_hidden(chunks->database) : code;
}

/* Rows by handle */

static int end_handle(sqlite3_blob **handle, int code) {
    sqlite3_blob *closing = *handle;
    *handle = NULL;
    sqlite3_blob_close(closing); /* NULL: does nothing */
    return code;
}

/* Moves a handle to a row, or makes one when *handle is NULL. After an error it is closed and NULL.
 * So it is, without an error, where the row is missing or is not as long as a chunk, which a
 * statement reports better (a TEXT of that length passes, since a handle does not tell the type),
 * or where a rollback has ended it (SQLITE_ABORT). */
BLOOM_INLINE int move_handle(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                             uint64_t chunk, bool for_writing, sqlite3_blob **handle) {
    struct bloom_database *database = chunks->database;
    sqlite3_int64 id = chunk_id(geometry, chunk);
    int code;
    if (*handle != NULL)
        code = sqlite3_blob_reopen(*handle, id);
    else
        code = sqlite3_blob_open(database->connection, database->schema,
                                 database->shadow_names[BLOOM_SHADOW_CHUNKS], "bits", id,
                                 for_writing, handle);
    if (code == SQLITE_OK && (uint32_t)sqlite3_blob_bytes(*handle) == bloom_chunk_bytes(geometry))
        return code;
    if ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_ABORT)
        code = SQLITE_OK;
    return end_handle(handle,
                      code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code));
}

/* A failed read or write, after which the handle is of no more use. */
static int handle_failed(struct bloom_chunks *chunks, sqlite3_blob **handle, int code) {
    return end_handle(handle, bloom_database_fail_sqlite(chunks->database, code));
}

/* Whether the handle pays: not before some reads, since it must be opened, unless the chunks are
 * large; and not as long as the layer has chunks without a row, each of which would cost the
 * handle. */
static bool handle_pays(struct bloom_chunks *chunks, const struct bloom_geometry *geometry) {
    if (!geometry->complete || !bloom_database_tells_expiry())
        return false;
    return chunks->handle != NULL || bloom_chunk_bytes(geometry) >= LARGE_CHUNK_BYTES ||
           chunks->reads++ >= READS_BEFORE_HANDLE;
}

/* Finds the block that decides about a key. */
BLOOM_INLINE void find_block(struct bloom_block *block, const struct bloom_geometry *geometry,
                             const uint64_t *words) {
    const uint64_t number = geometry->shape.layout->blocks->of(&geometry->shape, words);
    const uint32_t before = (uint32_t)(number % geometry->chunk_blocks) * block_bytes(geometry);
    block->geometry = geometry;
    block->chunk = number / geometry->chunk_blocks;
    block->offset = BLOOM_COUNTS_BYTES + before;
    block->is_stale = false;
    block->bytes =
        block->row + (block->offset <= BLOOM_NEAR_BYTES ? block->offset : BLOOM_COUNTS_BYTES);
}

/* Bytes from the beginning of the row to the end of the block where that is near; else of counts
 * alone. */
static int bytes_with_counts(const struct bloom_block *block) {
    return (int)(block->offset <= BLOOM_NEAR_BYTES ? block->offset + block_bytes(block->geometry)
                                                   : BLOOM_COUNTS_BYTES);
}

/* What counts in the place of a row that is stale, or of none. */
static void clear_block(struct bloom_block *block) {
    block->counts = no_counts(block->geometry);
    memset(block->row, 0, (size_t)(block->bytes - block->row) + block_bytes(block->geometry));
}

/* Reads a block through a handle, and the counts, unless the block alone is asked for. */
BLOOM_INLINE int read_handle(struct bloom_chunks *chunks, struct bloom_block *block, bool counts,
                             sqlite3_blob **handle) {
    const int with_counts = counts ? bytes_with_counts(block) : 0;
    int code = SQLITE_OK;
    if (counts)
        code = sqlite3_blob_read(*handle, block->row, with_counts, 0);
    if (code == SQLITE_OK && with_counts <= BLOOM_COUNTS_BYTES)
        code = sqlite3_blob_read(*handle, block->bytes, (int)block_bytes(block->geometry),
                                 (int)block->offset);
    if (code != SQLITE_OK)
        return handle_failed(chunks, handle, code);
    if (!counts)
        return code;
    block->counts = load_counts(block->row);
    block->is_stale = is_stale(block->geometry, block->counts.generation);
    if (block->is_stale)
        clear_block(block);
    return code;
}

int bloom_block_read(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     const uint64_t *words, struct bloom_block *block) {
    bool has_row;
    find_block(block, geometry, words);
    if (handle_pays(chunks, geometry)) {
        int code = bloom_database_prepare(chunks->database, 1u << BLOOM_READ_CHUNK);
        if (code != SQLITE_OK)
            return code;
        sqlite3_blob *handle = chunks->handle;
        chunks->handle = NULL;
        code = move_handle(chunks, geometry, block->chunk, false, &handle);
        if (handle != NULL)
            code = read_handle(chunks, block, geometry->generation > 0, &handle);
        chunks->handle = handle;
        if (handle != NULL || code != SQLITE_OK)
            return code;
        chunks->reads = 0;
    }
    return read_row(chunks, geometry, block->chunk, block->offset, block_bytes(geometry),
                    block->bytes, &has_row);
}

/* Opens a row for change, by the permission to read and to write it; *handle stays NULL where there
 * is none. */
BLOOM_INLINE int open_row(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                          uint64_t chunk, sqlite3_blob **handle) {
    bool has_row;
    int code =
        bloom_database_prepare(chunks->database, 1u << BLOOM_READ_CHUNK | 1u << BLOOM_WRITE_CHUNK);
    if (code != SQLITE_OK)
        return end_handle(handle, code);
    code = move_handle(chunks, geometry, chunk, true, handle);
    if (code != SQLITE_OK || *handle != NULL)
        return code;
    code = read_row(chunks, geometry, chunk, 0, 0, (uint8_t[1]){0}, &has_row);
    if (code == SQLITE_OK && has_row)
        code = bloom_database_damaged(chunks->database, BLOOM_SHADOW_CHUNKS,
                                      "chunk %lld cannot be opened", chunk_id(geometry, chunk));
    return code;
}

int bloom_block_open(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     const uint64_t *words, struct bloom_block *block) {
    find_block(block, geometry, words);
    int code = open_row(chunks, geometry, block->chunk, &block->handle);
    if (code == SQLITE_OK && block->handle == NULL)
        clear_block(block);
    if (block->handle == NULL)
        return code;
    code = read_handle(chunks, block, true, &block->handle);
    if (code == SQLITE_OK)
        code = bloom_counts_check(chunks, geometry, block->chunk, &block->counts);
    return code == SQLITE_OK ? code : end_handle(&block->handle, code);
}

/* Makes a row of zeros, and opens it. It counts for nothing until it has reported a key. */
static int make_row(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                    uint64_t chunk, sqlite3_blob **handle) {
    sqlite3_stmt *statement;
    int code = bloom_database_begin(chunks->database, BLOOM_NEW_CHUNK, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, chunk_id(geometry, chunk));
    sqlite3_bind_zeroblob(statement, 2, (int)bloom_chunk_bytes(geometry));
    code = bloom_database_write(chunks->database, BLOOM_NEW_CHUNK, 1);
    if (code == SQLITE_OK)
        code = open_row(chunks, geometry, chunk, handle);
    return code == SQLITE_OK && *handle == NULL ? bloom_database_hidden(chunks->database) : code;
}

int bloom_block_make_row(struct bloom_chunks *chunks, struct bloom_block *block) {
    return make_row(chunks, block->geometry, block->chunk, &block->handle);
}

/* Zeros over a stale row. */
static int wipe(sqlite3_blob *handle) {
    static const uint8_t ZEROS[4096];
    int length = sqlite3_blob_bytes(handle), code = SQLITE_OK;
    for (int at = 0; at < length && code == SQLITE_OK; at += (int)sizeof ZEROS)
        code = sqlite3_blob_write(
            handle, ZEROS, length - at < (int)sizeof ZEROS ? length - at : (int)sizeof ZEROS, at);
    return code;
}

int bloom_block_save(struct bloom_chunks *chunks, struct bloom_block *block) {
    const int with_counts = bytes_with_counts(block);
    int code = block->is_stale ? wipe(block->handle) : SQLITE_OK;
    write_counts(&block->counts, block->row);
    if (code == SQLITE_OK)
        code = sqlite3_blob_write(block->handle, block->row, with_counts, 0);
    if (code == SQLITE_OK && with_counts == BLOOM_COUNTS_BYTES)
        code = sqlite3_blob_write(block->handle, block->bytes, (int)block_bytes(block->geometry),
                                  (int)block->offset);
    if (code != SQLITE_OK)
        return handle_failed(chunks, &block->handle, code);
    bloom_block_close(block);
    return SQLITE_OK;
}

void bloom_block_close(struct bloom_block *block) {
    end_handle(&block->handle, SQLITE_OK);
}

/* Whole chunks */

static int take_buffer(struct bloom_chunks *chunks) {
    if (chunks->chunk == NULL)
        chunks->chunk = sqlite3_malloc(BLOOM_CHUNK_BYTES_MAXIMUM);
    return chunks->chunk != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

int bloom_chunk_read(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t chunk, struct bloom_counts *counts, uint8_t **blocks) {
    bool has_row;
    int code = take_buffer(chunks);
    if (code != SQLITE_OK)
        return code;
    *blocks = chunks->chunk + BLOOM_COUNTS_BYTES;
    code =
        read_row(chunks, geometry, chunk, 0, bloom_chunk_bytes(geometry), chunks->chunk, &has_row);
    if (code != SQLITE_OK)
        return code;
    *counts = load_counts(chunks->chunk);
    if (is_stale(geometry, counts->generation)) /* there is no row, or it is */
        *counts = no_counts(geometry);
    return bloom_counts_check(chunks, geometry, chunk, counts);
}

int bloom_chunk_next(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t *chunk, struct bloom_counts *counts, uint8_t **blocks) {
    const sqlite3_int64 first = chunk_id(geometry, 0);
    const sqlite3_int64 end = chunk_id(geometry, bloom_chunks_of_layer(geometry));
    sqlite3_stmt *statement;
    bool row;
    int code = take_buffer(chunks);
    *blocks = NULL;
    for (sqlite3_int64 id = first + (sqlite3_int64)*chunk; code == SQLITE_OK; id++) {
        code = bloom_database_read(chunks->database, BLOOM_NEXT_CHUNK, id, end, &statement, &row);
        if (code != SQLITE_OK)
            return code;
        if (row) {
            id = sqlite3_column_int64(statement, 0);
            code = copy_row(chunks, statement, geometry, 0, bloom_chunk_bytes(geometry),
                            chunks->chunk);
        }
        code = bloom_database_end(chunks->database, BLOOM_NEXT_CHUNK, code);
        if (code != SQLITE_OK || !row)
            return code;
        *counts = load_counts(chunks->chunk);
        if (!is_stale(geometry, counts->generation)) {
            *chunk = (uint64_t)(id - first);
            *blocks = chunks->chunk + BLOOM_COUNTS_BYTES;
            return code;
        }
    }
    return code;
}

int bloom_chunk_write(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                      uint64_t chunk, const struct bloom_counts *counts) {
    sqlite3_blob *handle = NULL;
    int code = open_row(chunks, geometry, chunk, &handle);
    if (code == SQLITE_OK && handle == NULL)
        code = make_row(chunks, geometry, chunk, &handle);
    if (code != SQLITE_OK)
        return code;
    write_counts(counts, chunks->chunk);
    code = sqlite3_blob_write(handle, chunks->chunk, (int)bloom_chunk_bytes(geometry), 0);
    return code == SQLITE_OK ? end_handle(&handle, code) : handle_failed(chunks, &handle, code);
}
