/* Rows of the shadow table of chunks, whole or block by block: see table_internal.h. */
#include "table/internal.h"

#include <string.h>

enum {
    LAYER_SHIFT = 40, /* chunk ids: layer * 2^40 + chunk */
    /* Reads by statement before a handle is opened: opening takes as long as three reads through it save. */
    READS_BEFORE_HANDLE = 4,
    /* From here on it is opened at once, since a statement copies the whole row. With pages of 16 KB (251 blocks
     * and more, whatever is reserved) a check takes as long either way while all is in cache, and 1.7 times as
     * long by statement at 10^8 keys; with 64 KB 1.9 and 3.8 times. */
    LARGE_CHUNK_BLOCKS = 250
};

static sqlite3_int64 chunk_id(unsigned layer, uint64_t chunk) {
    return (sqlite3_int64)((uint64_t)layer << LAYER_SHIFT | chunk);
}

uint32_t bloom_chunk_blocks(const struct bloom_layer *layer, uint64_t chunk) {
    uint64_t left = layer->shape.layout->blocks->count(&layer->shape) - chunk * layer->chunk_blocks;
    return left < layer->chunk_blocks ? (uint32_t)left : layer->chunk_blocks;
}

static int wrong_length(struct bloom_table_store *store, sqlite3_int64 id, int length,
                        const struct bloom_layer *layer) {
    return bloom_store_fail(
        store, SQLITE_CORRUPT_VTAB,
        "%s_chunks is damaged: chunk %lld is not a BLOB of %u bytes (%d bytes found)", store->name,
        id, layer->chunk_blocks * BLOOM_BLOCK_BYTES, length);
}

/* The chunk in a column of the row that a statement is at; valid until it goes on. */
static int chunk_of_column(struct bloom_table_store *store, sqlite3_stmt *row, int column,
                           sqlite3_int64 id, const struct bloom_layer *layer,
                           const uint8_t **bits) {
    /* One look at the value: each call of sqlite3_column_... takes the connection's mutex. */
    sqlite3_value *value = sqlite3_column_value(row, column);
    bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
    *bits = sqlite3_value_blob(value);
    int length = sqlite3_value_bytes(value);
    if (is_blob && *bits != NULL && (uint32_t)length == layer->chunk_blocks * BLOOM_BLOCK_BYTES)
        return SQLITE_OK;
    return wrong_length(store, id, length, layer);
}

uint64_t bloom_layer_chunks(const struct bloom_layer *layer) {
    return (layer->shape.layout->blocks->count(&layer->shape) - 1) / layer->chunk_blocks + 1;
}

/* A row of the shadow table: part of it, zeros when there is none, which *written tells. */
static int read_row(struct bloom_table_store *store, unsigned index, uint64_t chunk,
                    uint32_t offset, uint32_t length, uint8_t *bytes, bool *written) {
    const struct bloom_layer *layer = &store->state.layers[index];
    sqlite3_stmt *statement;
    const uint8_t *bits;
    int code = bloom_store_prepare(store, BLOOM_READ_CHUNK, &statement);
    *written = false;
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, chunk_id(index, chunk));
    if (sqlite3_step(statement) != SQLITE_ROW) {
        memset(bytes, 0, length);
        code = bloom_store_finish(store, statement);
        if (code == SQLITE_OK && layer->chunks >= bloom_layer_chunks(layer))
            code = bloom_store_fail(store, SQLITE_CORRUPT_VTAB,
                                    "%s_chunks is damaged: chunk %lld is missing", store->name,
                                    chunk_id(index, chunk));
        return code;
    }
    code = chunk_of_column(store, statement, 0, chunk_id(index, chunk), layer, &bits);
    if (code == SQLITE_OK) {
        memcpy(bytes, bits + offset, length);
        *written = true;
    }
    int finished = bloom_store_finish(store, statement);
    return code == SQLITE_OK ? finished : code;
}

/* The chunk that a block is in, and where. */
static uint64_t chunk_of_block(const struct bloom_layer *layer, uint64_t block, uint32_t *offset) {
    *offset = (uint32_t)(block % layer->chunk_blocks) * BLOOM_BLOCK_BYTES;
    return block / layer->chunk_blocks;
}

/* Reads a block through a handle: *handle, moved to the row, or a new one when that is NULL. After an error the
 * handle is closed and NULL. So it is, without an error, where the row is missing or is not as long as a chunk,
 * which a statement reports better (a TEXT of that length passes, since a handle does not tell the type), or
 * where no handle can be had, as when somebody has put an index on the column. */
static int read_by_handle(struct bloom_table_store *store, unsigned index, uint64_t block,
                          bool for_writing, sqlite3_blob **handle, uint8_t *bytes) {
    const struct bloom_layer *layer = &store->state.layers[index];
    uint32_t offset;
    sqlite3_int64 id = chunk_id(index, chunk_of_block(layer, block, &offset));
    int code;
    if (*handle != NULL)
        code = sqlite3_blob_reopen(*handle, id);
    else
        code = sqlite3_blob_open(store->database, store->schema, store->chunks_name, "bits", id,
                                 for_writing, handle);
    if (code == SQLITE_OK &&
        (uint32_t)sqlite3_blob_bytes(*handle) != layer->chunk_blocks * BLOOM_BLOCK_BYTES)
        code = SQLITE_ERROR;
    if (code == SQLITE_OK)
        code = sqlite3_blob_read(*handle, bytes, BLOOM_BLOCK_BYTES, (int)offset);
    if (code == SQLITE_OK)
        return code;
    /* SQLITE_ABORT is a handle that a rollback has ended. */
    if ((code & 0xff) == SQLITE_ERROR || (code & 0xff) == SQLITE_ABORT)
        code = SQLITE_OK;
    else
        code = bloom_store_fail_sqlite(store, code);
    sqlite3_blob_close(*handle);
    *handle = NULL;
    return code;
}

/* Whether the handle pays: not before some reads, since it must be opened, unless the chunks are large; and not
 * as long as the layer has chunks that were never written, each of which would cost the handle. */
static bool handle_pays(struct bloom_table_store *store, const struct bloom_layer *layer) {
    if (layer->chunks != bloom_layer_chunks(layer))
        return false;
    return store->handle != NULL || layer->chunk_blocks >= LARGE_CHUNK_BLOCKS ||
           store->reads++ >= READS_BEFORE_HANDLE;
}

int bloom_block_read(struct bloom_table_store *store, unsigned index, uint64_t block,
                     uint8_t *bytes) {
    const struct bloom_layer *layer = &store->state.layers[index];
    uint32_t offset;
    bool written;
    if (handle_pays(store, layer)) {
        /* On some errors SQLite rolls the transaction back before it returns, and tells bloom_store_end, which
         * must not close the handle that is at work. */
        sqlite3_blob *handle = store->handle;
        store->handle = NULL;
        int code = read_by_handle(store, index, block, false, &handle, bytes);
        store->handle = handle;
        if (handle != NULL || code != SQLITE_OK)
            return code;
        store->reads = 0;
    }
    uint64_t chunk = chunk_of_block(layer, block, &offset);
    return read_row(store, index, chunk, offset, BLOOM_BLOCK_BYTES, bytes, &written);
}

void bloom_block_close_handle(struct bloom_table_store *store) {
    sqlite3_blob_close(store->handle); /* an error in it has been reported when it happened */
    store->handle = NULL;
    store->reads = 0;
}

/* A handle of its own for each change, since SQLite does not commit while one for writing is open. Even so it
 * takes less time than reading the row and replacing it, and it leaves the rest of the page alone. */
int bloom_block_open(struct bloom_table_store *store, unsigned index, uint64_t block,
                     struct bloom_block_edit *edit) {
    const struct bloom_layer *layer = &store->state.layers[index];
    uint32_t offset;
    *edit = (struct bloom_block_edit){.index = index, .block = block, .written = true};
    int code = read_by_handle(store, index, block, true, &edit->handle, edit->bytes);
    if (code != SQLITE_OK || edit->handle != NULL)
        return code;
    code = bloom_chunk_read(store, index, chunk_of_block(layer, block, &offset), &edit->written);
    memcpy(edit->bytes, store->chunk + offset, BLOOM_BLOCK_BYTES);
    return code;
}

int bloom_block_save(struct bloom_table_store *store, struct bloom_block_edit *edit) {
    uint32_t offset;
    uint64_t chunk = chunk_of_block(&store->state.layers[edit->index], edit->block, &offset);
    if (edit->handle == NULL) {
        memcpy(store->chunk + offset, edit->bytes, BLOOM_BLOCK_BYTES);
        return bloom_chunk_write(store, edit->index, chunk, edit->written);
    }
    int code = sqlite3_blob_write(edit->handle, edit->bytes, BLOOM_BLOCK_BYTES, (int)offset);
    if (code != SQLITE_OK)
        code = bloom_store_fail_sqlite(store, code);
    bloom_block_close(edit);
    return code;
}

void bloom_block_close(struct bloom_block_edit *edit) {
    sqlite3_blob_close(edit->handle);
    edit->handle = NULL;
}

int bloom_chunk_read(struct bloom_table_store *store, unsigned index, uint64_t chunk,
                     bool *written) {
    return read_row(store, index, chunk, 0,
                    store->state.layers[index].chunk_blocks * BLOOM_BLOCK_BYTES, store->chunk,
                    written);
}

int bloom_chunk_write(struct bloom_table_store *store, unsigned index, uint64_t chunk,
                      bool written) {
    struct bloom_layer *layer = &store->state.layers[index];
    sqlite3_stmt *statement;
    int code = bloom_store_prepare(store, BLOOM_WRITE_CHUNK, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, chunk_id(index, chunk));
    sqlite3_bind_blob(statement, 2, store->chunk, (int)(layer->chunk_blocks * BLOOM_BLOCK_BYTES),
                      SQLITE_STATIC);
    sqlite3_step(statement);
    code = bloom_store_finish(store, statement);
    layer->chunks += code == SQLITE_OK && !written;
    return code;
}

int bloom_chunk_for_each(struct bloom_table_store *store, unsigned index,
                         void (*visit)(void *argument, const struct bloom_layer *layer,
                                       uint64_t chunk, const uint8_t *bits),
                         void *argument) {
    const struct bloom_layer *layer = &store->state.layers[index];
    uint64_t chunk_count = bloom_layer_chunks(layer);
    sqlite3_stmt *statement;
    int code = bloom_store_prepare(store, BLOOM_EACH_CHUNK, &statement);
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
    int finished = bloom_store_finish(store, statement);
    return code == SQLITE_OK ? finished : code;
}

int bloom_chunk_count(struct bloom_table_store *store, uint64_t *rows) {
    sqlite3_stmt *statement;
    int code =
        bloom_store_prepare_new(store, "SELECT count(*) FROM \"%w\".\"%w_chunks\"", 0, &statement);
    if (code != SQLITE_OK)
        return code;
    *rows =
        sqlite3_step(statement) == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
    code = sqlite3_finalize(statement);
    return code == SQLITE_OK ? code : bloom_store_fail_sqlite(store, code);
}
