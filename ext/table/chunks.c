/* Every chunk that comes out of the database is judged by its length and its head, whichever way it
 * came. So a row that contradicts the format is never used. */
#include "table/chunks.h"

#include "filter/portable.h"
#include "table/configuration.h"

#include <string.h>

enum {
    SLOT_LAYERS = 64, /* a slot has that many numbers for its layers */
    CHUNK_BITS = 40,  /* of an id: the number of the chunk in its layer */
    /* Reads by statement before the reader is opened; of a row of at least that length, none: to
     * copy it takes longer than to open the reader. */
    READS_BEFORE_READER = 4,
    LARGE_CHUNK_BYTES = 16000
};

static void close_reader(struct bloom_chunks *chunks) {
    chunks->reads = 0;
    bloom_database_close_row(&chunks->reader, SQLITE_OK);
}

void bloom_chunks_rest(struct bloom_chunks *chunks) {
    if (chunks->cursors == 0)
        close_reader(chunks);
}

void bloom_chunks_close(struct bloom_chunks *chunks) {
    close_reader(chunks);
    bloom_copies_close(&chunks->copies);
    sqlite3_free(chunks->buffer);
}

/* The newest generation */

static int read_newest(struct bloom_chunks *chunks, uint8_t bytes[BLOOM_NEWEST_BYTES]) {
    struct bloom_database *database = chunks->database;
    sqlite3_stmt *statement;
    bool row;
    int code = bloom_database_start(database, BLOOM_READ_ROW, 0, 0, &statement, &row);
    if (code != SQLITE_OK)
        return code;
    const uint8_t *configuration = row ? sqlite3_column_blob(statement, 0) : NULL;
    if (configuration != NULL && sqlite3_column_bytes(statement, 0) == BLOOM_CONFIGURATION_BYTES)
        memcpy(bytes, configuration + BLOOM_NEWEST_AT, BLOOM_NEWEST_BYTES);
    else
        code = bloom_database_damaged(database, "row 0 is not a BLOB of %d bytes",
                                      BLOOM_CONFIGURATION_BYTES);
    return bloom_database_end(database, BLOOM_READ_ROW, code);
}

static int open_newest(struct bloom_chunks *chunks, sqlite3_blob **handle,
                       uint8_t bytes[BLOOM_NEWEST_BYTES]) {
    struct bloom_database *database = chunks->database;
    int code = bloom_database_open_row(database, 0, true, handle);
    if (code != SQLITE_OK)
        return code;
    if (*handle == NULL || sqlite3_blob_bytes(*handle) != BLOOM_CONFIGURATION_BYTES)
        return bloom_database_close_row(
            handle, bloom_database_damaged(database, "row 0 is not a BLOB of %d bytes",
                                           BLOOM_CONFIGURATION_BYTES));
    code = sqlite3_blob_read(*handle, bytes, BLOOM_NEWEST_BYTES, BLOOM_NEWEST_AT);
    return code == SQLITE_OK
               ? code
               : bloom_database_close_row(handle, bloom_database_fail_sqlite(database, code));
}

/* In a write transaction only this table's rotate and clear write the newest generation, or a
 * rollback. Outside, it is like a copy. */
int bloom_chunks_start_reading(struct bloom_chunks *chunks) {
    uint8_t bytes[BLOOM_NEWEST_BYTES] = {0};
    bloom_copies_start(&chunks->copies);
    if (chunks->growth.generations == 1 || chunks->newest_known ||
        (chunks->copies.usable && chunks->newest_epoch == chunks->copies.epoch))
        return SQLITE_OK;
    int code = read_newest(chunks, bytes);
    if (code != SQLITE_OK)
        return code;
    chunks->newest = bloom_load32(bytes);
    chunks->newest_epoch = chunks->copies.usable ? chunks->copies.epoch : 0;
    return SQLITE_OK;
}

int bloom_chunks_start_writing(struct bloom_chunks *chunks, sqlite3_blob **handle) {
    uint8_t bytes[BLOOM_NEWEST_BYTES] = {0};
    chunks->copies.usable = false;
    if (chunks->growth.generations == 1 || chunks->newest_known)
        return SQLITE_OK;
    int code = open_newest(chunks, handle, bytes);
    if (code != SQLITE_OK)
        return code;
    chunks->newest = bloom_load32(bytes);
    chunks->newest_known = chunks->copies.writes;
    return SQLITE_OK;
}

void bloom_chunks_transaction(struct bloom_chunks *chunks, bool begins) {
    chunks->copies.writes = begins;
    chunks->newest_known = false;
}

void bloom_chunks_rolled_back(struct bloom_chunks *chunks) {
    chunks->newest_known = false;
}

int bloom_chunks_write_newest(struct bloom_chunks *chunks, uint32_t newest) {
    uint8_t bytes[BLOOM_NEWEST_BYTES];
    sqlite3_blob *handle = NULL;
    int code = open_newest(chunks, &handle, bytes);
    if (code != SQLITE_OK)
        return code;
    chunks->newest_known = false;
    bloom_store32(bytes, newest);
    code = sqlite3_blob_write(handle, bytes, BLOOM_NEWEST_BYTES, BLOOM_NEWEST_AT);
    if (code != SQLITE_OK)
        code = bloom_database_fail_sqlite(chunks->database, code);
    return bloom_database_close_row(&handle, code);
}

/* Places */

/* Every layer is possible when the first one is, of which row 0 was found to be. */
const struct bloom_layer *bloom_chunks_layer(struct bloom_chunks *chunks, unsigned index) {
    char problem[BLOOM_PROBLEM_SIZE];
    for (; chunks->layer_count <= index; chunks->layer_count++)
        bloom_growth_layer(&chunks->growth, chunks->layer_count,
                           &chunks->layers[chunks->layer_count], problem);
    return &chunks->layers[index];
}

/* Counted over all slots. */
static unsigned layer_number(const struct bloom_chunks *chunks, uint32_t generation,
                             unsigned index) {
    return generation % chunks->growth.generations * SLOT_LAYERS + index;
}

static sqlite3_int64 first_id(unsigned number) {
    return (sqlite3_int64)(number + 1) << CHUNK_BITS;
}

struct bloom_chunk bloom_chunk_of(struct bloom_chunks *chunks, unsigned index, uint32_t generation,
                                  uint64_t number) {
    const struct bloom_layer *layer = bloom_chunks_layer(chunks, index);
    return (struct bloom_chunk){.layer = layer,
                                .index = index,
                                .generation = generation,
                                .number = number,
                                .blocks = bloom_layer_chunk_blocks(layer, number)};
}

static sqlite3_int64 id_of(const struct bloom_chunks *chunks, const struct bloom_chunk *chunk) {
    return first_id(layer_number(chunks, chunk->generation, chunk->index)) +
           (sqlite3_int64)chunk->number;
}

static uint32_t block_bytes(const struct bloom_chunk *chunk) {
    return chunk->layer->shape.layout->blocks->bytes;
}

static uint32_t bytes_of(const struct bloom_chunk *chunk) {
    return BLOOM_CHUNK_HEAD_BYTES + chunk->blocks * block_bytes(chunk);
}

struct bloom_place bloom_place_of(struct bloom_chunks *chunks, unsigned index, uint32_t generation,
                                  const uint64_t *words) {
    const struct bloom_layer *layer = bloom_chunks_layer(chunks, index);
    const struct bloom_blocks *blocks = layer->shape.layout->blocks;
    const uint64_t block = blocks->of(&layer->shape, words);
    const uint64_t number = bloom_layer_chunk_of(layer, block);
    const uint32_t before = (uint32_t)(block - bloom_layer_chunk_start(layer, number));
    return (struct bloom_place){bloom_chunk_of(chunks, index, generation, number),
                                BLOOM_CHUNK_HEAD_BYTES + before * blocks->bytes};
}

/* Heads */

static struct bloom_head load_head(const uint8_t *row) {
    return (struct bloom_head){bloom_load32(row), bloom_load32(row + 4), bloom_load32(row + 8),
                               bloom_load32(row + 12)};
}

static void store_head(uint8_t *row, const struct bloom_head *head) {
    bloom_store32(row, head->ones);
    bloom_store32(row + 4, head->keys);
    bloom_store32(row + 8, head->generation);
    bloom_store32(row + 12, head->closed);
}

/* Judges the head of a row; *is_stale is true when the row counts as zeros. */
static int check_head(struct bloom_chunks *chunks, const struct bloom_chunk *chunk,
                      const struct bloom_head *head, bool *is_stale) {
    const bool may_close = chunk->layer->ones_limit != UINT64_MAX;
    *is_stale = head->generation < chunk->generation;
    if (head->closed > may_close)
        return bloom_database_damaged(
            chunks->database, "the closed mark of chunk %lld is %u, but can only be %s",
            id_of(chunks, chunk), head->closed, may_close ? "0 or 1" : "0");
    if (head->generation > chunk->generation)
        return bloom_database_damaged(chunks->database,
                                      "chunk %lld is of generation %u, which has not begun",
                                      id_of(chunks, chunk), head->generation);
    return SQLITE_OK;
}

static int wrong_length(struct bloom_chunks *chunks, const struct bloom_chunk *chunk, int found) {
    return bloom_database_damaged(chunks->database,
                                  "chunk %lld is not a BLOB of %u bytes (it has %d bytes)",
                                  id_of(chunks, chunk), bytes_of(chunk), found);
}

/* The row that a statement is at, in a column; NULL with an error when it is not a chunk's. */
static int row_of(struct bloom_chunks *chunks, sqlite3_stmt *statement, int column,
                  const struct bloom_chunk *chunk, const uint8_t **row) {
    /* One look at the value: each call of sqlite3_column_... takes the connection's mutex. */
    sqlite3_value *value = sqlite3_column_value(statement, column);
    const bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
    const int found = sqlite3_value_bytes(value);
    *row = NULL;
    if (is_blob && (uint32_t)found == bytes_of(chunk))
        *row = sqlite3_value_blob(value);
    return *row != NULL ? SQLITE_OK : wrong_length(chunks, chunk, found);
}

/* Reading a block */

/* Copies head and block of a row into the buffer of blocks. */
static const uint8_t *take_block(struct bloom_chunks *chunks, const struct bloom_place *place,
                                 const uint8_t *row) {
    memcpy(chunks->block, row, BLOOM_CHUNK_HEAD_BYTES);
    memcpy(chunks->block + BLOOM_CHUNK_HEAD_BYTES, row + place->offset, block_bytes(&place->chunk));
    return chunks->block;
}

/* *row becomes head and block, or NULL when there is no row. Notes the row for copies. */
static int read_by_statement(struct bloom_chunks *chunks, const struct bloom_place *place,
                             const uint8_t **row) {
    const struct bloom_chunk *chunk = &place->chunk;
    sqlite3_stmt *statement;
    bool has_row;
    *row = NULL;
    int code = bloom_database_start(chunks->database, BLOOM_READ_ROW, id_of(chunks, chunk), 0,
                                    &statement, &has_row);
    if (code != SQLITE_OK)
        return code;
    if (has_row)
        code = row_of(chunks, statement, 0, chunk, row);
    if (code == SQLITE_OK)
        code = bloom_copies_note(&chunks->copies,
                                 layer_number(chunks, chunk->generation, chunk->index),
                                 chunk->layer->chunks, chunk->number, *row, bytes_of(chunk));
    if (code == SQLITE_OK && has_row)
        *row = take_block(chunks, place, *row);
    return bloom_database_end(chunks->database, BLOOM_READ_ROW, code);
}

/* Opens the row of a chunk, or moves a handle to it; it is NULL when there is no row. */
static int open_chunk(struct bloom_chunks *chunks, const struct bloom_chunk *chunk, bool writes,
                      sqlite3_blob **handle) {
    int code = bloom_database_open_row(chunks->database, id_of(chunks, chunk), writes, handle);
    if (code == SQLITE_OK && *handle != NULL &&
        (uint32_t)sqlite3_blob_bytes(*handle) != bytes_of(chunk))
        code = bloom_database_close_row(handle,
                                        wrong_length(chunks, chunk, sqlite3_blob_bytes(*handle)));
    return code;
}

/* Decides whether a block is read through the reader. A host may put a database of memdb in the
 * place of this one while a cursor is open (SQLite 3.40 lets it), which ends the reader's cursor. */
static bool uses_reader(struct bloom_chunks *chunks, const struct bloom_chunk *chunk) {
    if (bytes_of(chunk) < LARGE_CHUNK_BYTES &&
        (chunks->cursors == 0 || chunks->reads++ < READS_BEFORE_READER))
        return false;
    return !bloom_copies_is_memory_file(&chunks->copies);
}

/* The same as read_by_statement, through the reader. */
static int read_by_reader(struct bloom_chunks *chunks, const struct bloom_place *place,
                          const uint8_t **row) {
    const struct bloom_chunk *chunk = &place->chunk;
    sqlite3_blob *handle = chunks->reader;
    chunks->reader = NULL; /* SQLite may end the query meanwhile */
    *row = NULL;
    int code = open_chunk(chunks, chunk, false, &handle);
    if (code == SQLITE_OK && handle != NULL) {
        *row = chunks->block;
        code = sqlite3_blob_read(handle, chunks->block, BLOOM_CHUNK_HEAD_BYTES, 0);
        if (code == SQLITE_OK)
            code = sqlite3_blob_read(handle, chunks->block + BLOOM_CHUNK_HEAD_BYTES,
                                     (int)block_bytes(chunk), (int)place->offset);
        if (code != SQLITE_OK)
            code = bloom_database_close_row(&handle,
                                            bloom_database_fail_sqlite(chunks->database, code));
    }
    chunks->reader = handle;
    if (handle == NULL)
        chunks->reads = 0;
    if (code == SQLITE_OK)
        code = bloom_copies_note(&chunks->copies,
                                 layer_number(chunks, chunk->generation, chunk->index),
                                 chunk->layer->chunks, chunk->number, *row, 0);
    return code;
}

int bloom_chunks_read(struct bloom_chunks *chunks, const struct bloom_place *place,
                      const uint8_t **block, bool *closed) {
    const struct bloom_chunk *chunk = &place->chunk;
    uint32_t offset = BLOOM_CHUNK_HEAD_BYTES;
    const uint8_t *row;
    bool is_stale;
    int code = SQLITE_OK;
    const enum bloom_copy copy =
        bloom_copies_find(&chunks->copies, layer_number(chunks, chunk->generation, chunk->index),
                          chunk->number, &row);
    *block = NULL;
    *closed = false;
    if (copy == BLOOM_COPY_ABSENT)
        return SQLITE_OK;
    if (copy == BLOOM_COPY_FOUND)
        offset = place->offset;
    else if (copy == BLOOM_COPY_UNKNOWN && uses_reader(chunks, chunk))
        code = read_by_reader(chunks, place, &row);
    else
        code = read_by_statement(chunks, place, &row);
    if (code != SQLITE_OK || row == NULL)
        return code;
    const struct bloom_head head = load_head(row);
    code = check_head(chunks, chunk, &head, &is_stale);
    if (code != SQLITE_OK || is_stale)
        return code;
    *block = row + offset;
    *closed = head.closed != 0;
    return SQLITE_OK;
}

/* Changing a block */

static bool is_near(const struct bloom_place *place) {
    return place->offset <= BLOOM_NEAR_BYTES;
}

/* Bytes from the beginning of the row to the end of the block where that is near; else of the head
 * alone. */
static int bytes_with_head(const struct bloom_place *place) {
    return is_near(place) ? (int)(place->offset + block_bytes(&place->chunk))
                          : BLOOM_CHUNK_HEAD_BYTES;
}

static int read_change(struct bloom_chunks *chunks, struct bloom_change *change) {
    const struct bloom_place *place = &change->place;
    int code = sqlite3_blob_read(change->handle, change->row, bytes_with_head(place), 0);
    if (code == SQLITE_OK && !is_near(place))
        code = sqlite3_blob_read(change->handle, change->block, (int)block_bytes(&place->chunk),
                                 (int)place->offset);
    if (code != SQLITE_OK)
        return bloom_database_fail_sqlite(chunks->database, code);
    change->head = load_head(change->row);
    return check_head(chunks, &place->chunk, &change->head, &change->is_stale);
}

int bloom_change_open(struct bloom_chunks *chunks, const struct bloom_place *place,
                      struct bloom_change *change) {
    change->place = *place;
    change->is_stale = false;
    change->block = change->row + (is_near(place) ? place->offset : BLOOM_CHUNK_HEAD_BYTES);
    int code = open_chunk(chunks, &place->chunk, true, &change->handle);
    if (code == SQLITE_OK && change->handle != NULL)
        code = read_change(chunks, change);
    if (code != SQLITE_OK)
        return bloom_change_close(change, code);
    if (change->handle == NULL || change->is_stale) {
        change->head = (struct bloom_head){.generation = place->chunk.generation};
        memset(change->row, 0, (size_t)(change->block - change->row) + block_bytes(&place->chunk));
    }
    return SQLITE_OK;
}

/* Makes a row of zeros, and opens it. */
static int make_row(struct bloom_chunks *chunks, const struct bloom_chunk *chunk,
                    sqlite3_blob **handle) {
    int code = bloom_database_run(chunks->database, BLOOM_INSERT_ROW, id_of(chunks, chunk),
                                  bytes_of(chunk));
    if (code == SQLITE_OK)
        code = open_chunk(chunks, chunk, true, handle);
    return code == SQLITE_OK && *handle == NULL
               ? bloom_database_fail(chunks->database, SQLITE_CORRUPT_VTAB,
                                     "a new row of %s is gone at once. Drop the triggers on it",
                                     chunks->database->data_name)
               : code;
}

/* Zeros over a row of a forgotten generation. */
static int wipe(sqlite3_blob *handle) {
    static const uint8_t ZEROS[4096];
    int length = sqlite3_blob_bytes(handle), code = SQLITE_OK;
    for (int at = 0; at < length && code == SQLITE_OK; at += (int)sizeof ZEROS)
        code = sqlite3_blob_write(
            handle, ZEROS, length - at < (int)sizeof ZEROS ? length - at : (int)sizeof ZEROS, at);
    return code;
}

int bloom_change_save(struct bloom_chunks *chunks, struct bloom_change *change) {
    const struct bloom_place *place = &change->place;
    int code = SQLITE_OK;
    if (change->handle == NULL)
        code = make_row(chunks, &place->chunk, &change->handle);
    if (code != SQLITE_OK)
        return bloom_change_close(change, code);
    if (change->is_stale)
        code = wipe(change->handle);
    store_head(change->row, &change->head);
    if (code == SQLITE_OK)
        code = sqlite3_blob_write(change->handle, change->row, bytes_with_head(place), 0);
    if (code == SQLITE_OK && !is_near(place))
        code = sqlite3_blob_write(change->handle, change->block, (int)block_bytes(&place->chunk),
                                  (int)place->offset);
    if (code != SQLITE_OK)
        code = bloom_database_fail_sqlite(chunks->database, code);
    return bloom_change_close(change, code);
}

int bloom_change_close(struct bloom_change *change, int code) {
    return bloom_database_close_row(&change->handle, code);
}

/* Whole chunks */

int bloom_chunk_read(struct bloom_chunks *chunks, const struct bloom_chunk *chunk,
                     struct bloom_head *head, uint8_t **blocks) {
    sqlite3_stmt *statement;
    const uint8_t *row = NULL;
    bool has_row, is_zero = true;
    if (chunks->buffer == NULL)
        chunks->buffer = sqlite3_malloc(BLOOM_CHUNK_BYTES_MAXIMUM);
    if (chunks->buffer == NULL)
        return SQLITE_NOMEM;
    *blocks = chunks->buffer + BLOOM_CHUNK_HEAD_BYTES;
    int code = bloom_database_start(chunks->database, BLOOM_READ_ROW, id_of(chunks, chunk), 0,
                                    &statement, &has_row);
    if (code != SQLITE_OK)
        return code;
    if (has_row)
        code = row_of(chunks, statement, 0, chunk, &row);
    if (row != NULL) {
        *head = load_head(row);
        code = check_head(chunks, chunk, head, &is_zero);
    }
    if (code == SQLITE_OK && is_zero) {
        *head = (struct bloom_head){.generation = chunk->generation};
        memset(chunks->buffer, 0, bytes_of(chunk));
    } else if (code == SQLITE_OK) {
        memcpy(chunks->buffer, row, bytes_of(chunk));
    }
    return bloom_database_end(chunks->database, BLOOM_READ_ROW, code);
}

int bloom_chunk_write(struct bloom_chunks *chunks, const struct bloom_chunk *chunk,
                      const struct bloom_head *head) {
    sqlite3_blob *handle = NULL;
    int code = open_chunk(chunks, chunk, true, &handle);
    if (code == SQLITE_OK && handle == NULL)
        code = make_row(chunks, chunk, &handle);
    if (code != SQLITE_OK)
        return code;
    store_head(chunks->buffer, head);
    code = sqlite3_blob_write(handle, chunks->buffer, (int)bytes_of(chunk), 0);
    if (code != SQLITE_OK)
        code = bloom_database_fail_sqlite(chunks->database, code);
    return bloom_database_close_row(&handle, code);
}

/* Walks */

/* Finds the chunk of the row that the walk is at, by its id. */
static int find_chunk(struct bloom_chunks *chunks, struct bloom_walk *walk) {
    const unsigned generations = chunks->growth.generations;
    const sqlite3_int64 number = (walk->id >> CHUNK_BITS) - 1;
    const unsigned index = (unsigned)(number % SLOT_LAYERS);
    const uint64_t chunk = (uint64_t)walk->id & ((UINT64_C(1) << CHUNK_BITS) - 1);
    if (number >= 0 && number / SLOT_LAYERS < generations && index < BLOOM_LAYERS_MAXIMUM &&
        (index == 0 || chunks->growth.mode == BLOOM_GROWTH_ON) &&
        chunk < bloom_chunks_layer(chunks, index)->chunks) {
        const unsigned slot = (unsigned)(number / SLOT_LAYERS);
        const uint32_t age = (chunks->newest % generations + generations - slot) % generations;
        if (age <= chunks->newest) {
            walk->chunk = bloom_chunk_of(chunks, index, chunks->newest - age, chunk);
            return SQLITE_OK;
        }
    }
    return bloom_database_damaged(chunks->database, "row %lld is of no chunk", walk->id);
}

/* Judges the row that the walk is at. */
static int visit_row(struct bloom_chunks *chunks, struct bloom_walk *walk) {
    const sqlite3_int64 id = sqlite3_column_int64(walk->statement, 0);
    const uint8_t *row;
    if (id <= walk->id)
        return bloom_database_damaged(chunks->database, "row %lld comes after row %lld", id,
                                      walk->id);
    walk->id = id;
    walk->is_stale = true;
    walk->blocks = NULL;
    if (id == 0)
        return SQLITE_OK;
    int code = find_chunk(chunks, walk);
    if (code == SQLITE_OK)
        code = row_of(chunks, walk->statement, 1, &walk->chunk, &row);
    if (code != SQLITE_OK)
        return code;
    walk->head = load_head(row);
    walk->blocks = row + BLOOM_CHUNK_HEAD_BYTES;
    return check_head(chunks, &walk->chunk, &walk->head, &walk->is_stale);
}

/* Goes on to the first row that counts. */
static int visit_rows(struct bloom_chunks *chunks, struct bloom_walk *walk) {
    for (; walk->at_row; walk->at_row = sqlite3_step(walk->statement) == SQLITE_ROW) {
        int code = visit_row(chunks, walk);
        if (code != SQLITE_OK)
            return bloom_walk_end(chunks, walk, code);
        if (!walk->is_stale)
            return SQLITE_OK;
    }
    return SQLITE_OK;
}

static int start_walk(struct bloom_chunks *chunks, struct bloom_walk *walk, sqlite3_int64 first,
                      sqlite3_int64 end) {
    walk->id = first > INT64_MIN ? first - 1 : first;
    int code = bloom_database_start(chunks->database, BLOOM_WALK_ROWS, first, end, &walk->statement,
                                    &walk->at_row);
    return code == SQLITE_OK ? visit_rows(chunks, walk) : code;
}

int bloom_walk_layers(struct bloom_chunks *chunks, struct bloom_walk *walk, uint32_t generation,
                      unsigned first, unsigned end) {
    return start_walk(chunks, walk, first_id(layer_number(chunks, generation, first)),
                      first_id(layer_number(chunks, generation, end)));
}

int bloom_walk_all(struct bloom_chunks *chunks, struct bloom_walk *walk) {
    return start_walk(chunks, walk, INT64_MIN, INT64_MAX);
}

int bloom_walk_next(struct bloom_chunks *chunks, struct bloom_walk *walk) {
    walk->at_row = sqlite3_step(walk->statement) == SQLITE_ROW;
    return visit_rows(chunks, walk);
}

int bloom_walk_end(struct bloom_chunks *chunks, struct bloom_walk *walk, int code) {
    walk->at_row = false;
    return bloom_database_end(chunks->database, BLOOM_WALK_ROWS, code);
}
