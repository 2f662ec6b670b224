/* Every chunk that comes out of the database is judged by its length and its head, whichever way it
 * came. So a row that contradicts the format is never used. */
#include "table/chunks.h"

#include "base/portable.h"
#include "table/configuration.h"

#include <string.h>

enum {
    SLOT_LAYERS = 64, /* a slot has that many numbers for its layers */
    CHUNK_BITS = 40   /* of an id: the number of the chunk in its layer, counted from 1 */
};

/* Limits, which a build may set. The number of rows that a query reads by statement before it opens
 * the reader. */
#ifndef BLOOM_READS_BEFORE_READER
#define BLOOM_READS_BEFORE_READER 4
#endif
/* A row of at least that length is read by the reader at once, because copying it takes longer than
 * opening the reader. */
#ifndef BLOOM_LARGE_ROW_BYTES
#define BLOOM_LARGE_ROW_BYTES 16000
#endif

void bloom_chunks_close_reader(struct bloom_chunks *chunks) {
    chunks->reads = 0;
    bloom_database_close_row(&chunks->reader, SQLITE_OK);
}

void bloom_chunks_finish(struct bloom_chunks *chunks) {
    if (chunks->cursors == 0)
        bloom_chunks_close_reader(chunks);
}

void bloom_chunks_close(struct bloom_chunks *chunks) {
    bloom_chunks_close_reader(chunks);
    sqlite3_free(chunks->buffer);
}

/* The newest generation */

int bloom_chunks_open_row_0(struct bloom_database *database, bool writes, sqlite3_blob **handle,
                            uint8_t *row) {
    int code = bloom_database_open_row(database, 0, writes, handle);
    if (code != SQLITE_OK)
        return code;
    if (*handle == NULL || sqlite3_blob_bytes(*handle) != BLOOM_CONFIGURATION_BYTES)
        code = bloom_database_damaged(database, "row 0 is not a BLOB of %d bytes",
                                      BLOOM_CONFIGURATION_BYTES);
    else if ((code = sqlite3_blob_read(*handle, row, BLOOM_CONFIGURATION_BYTES, 0)) != SQLITE_OK)
        code = bloom_database_fail_sqlite(database, code);
    return code == SQLITE_OK ? code : bloom_database_close_row(handle, code);
}

/* Reads row 0 unless its newest generation is known, as long as a row in memory is valid. */
int bloom_chunks_start(struct bloom_chunks *chunks, sqlite3_blob **handle) {
    struct bloom_cache *cache = chunks->cache;
    bloom_cache_start(cache);
    chunks->newest = 0;
    if (chunks->growth.generations == 1)
        return SQLITE_OK;
    if (!cache->usable || cache->newest_epoch != cache->epoch) {
        uint8_t row[BLOOM_CONFIGURATION_BYTES] = {0};
        sqlite3_blob *reading = NULL;
        int code = bloom_chunks_open_row_0(chunks->database, handle != NULL,
                                           handle != NULL ? handle : &reading, row);
        bloom_database_close_row(&reading, code);
        if (code != SQLITE_OK)
            return code;
        cache->newest = bloom_load32(row + BLOOM_NEWEST_AT);
        cache->newest_epoch = bloom_cache_may_keep(cache) ? cache->epoch : 0;
    }
    chunks->newest = cache->newest;
    return SQLITE_OK;
}

int bloom_chunks_write_newest(struct bloom_chunks *chunks, uint32_t newest) {
    uint8_t row[BLOOM_CONFIGURATION_BYTES];
    sqlite3_blob *handle = NULL;
    /* By the handle, because an authorizer may deny a statement, and 'clear' would be half done. */
    int code = bloom_chunks_open_row_0(chunks->database, true, &handle, row);
    if (code != SQLITE_OK)
        return code;
    chunks->cache->newest_epoch = 0;
    bloom_store32(row + BLOOM_NEWEST_AT, newest);
    code = sqlite3_blob_write(handle, row, sizeof row, 0);
    if (code != SQLITE_OK)
        code = bloom_database_fail_sqlite(chunks->database, code);
    return bloom_database_close_row(&handle, code);
}

/* Places */

/* Every layer is possible when the first one is, of which row 0 was found to be. */
void bloom_chunks_compute(struct bloom_chunks *chunks, unsigned index) {
    char problem[BLOOM_PROBLEM_SIZE];
    for (; chunks->layer_count <= index; chunks->layer_count++)
        bloom_growth_layer(&chunks->growth, chunks->layer_count,
                           &chunks->layers[chunks->layer_count], problem);
}

/* The number of a layer, counted over all slots. */
static unsigned layer_number(const struct bloom_chunks *chunks, uint32_t generation,
                             unsigned index) {
    return generation % chunks->growth.generations * SLOT_LAYERS + index;
}

static sqlite3_int64 first_id(unsigned number) {
    return ((sqlite3_int64)number << CHUNK_BITS) + 1;
}

static sqlite3_int64 id_of(const struct bloom_chunks *chunks, const struct bloom_place *place) {
    return first_id(layer_number(chunks, place->generation, place->index)) +
           (sqlite3_int64)place->chunk;
}

static uint32_t row_bytes(const struct bloom_place *place) {
    return BLOOM_CHUNK_HEAD_BYTES + place->blocks * place->layer->shape.layout->blocks->bytes;
}

struct bloom_place bloom_place_of_chunk(struct bloom_chunks *chunks, unsigned index,
                                        uint32_t generation, uint64_t chunk) {
    const struct bloom_layer *layer = bloom_chunks_layer(chunks, index);
    const uint32_t blocks = bloom_layer_chunk_blocks(layer, chunk);
    return (struct bloom_place){layer,
                                index,
                                generation,
                                chunk,
                                blocks,
                                BLOOM_CHUNK_HEAD_BYTES,
                                blocks * layer->shape.layout->blocks->bytes};
}

struct bloom_place bloom_place_of_key(struct bloom_chunks *chunks, unsigned index,
                                      uint32_t generation, const uint64_t *words) {
    const struct bloom_layer *layer = bloom_chunks_layer(chunks, index);
    const uint64_t block = bloom_block_of(&layer->shape, words);
    const uint64_t chunk = bloom_layer_chunk_of(layer, block);
    struct bloom_place place = bloom_place_of_chunk(chunks, index, generation, chunk);
    place.bytes = layer->shape.layout->blocks->bytes;
    place.offset += (uint32_t)(block - bloom_layer_chunk_start(layer, chunk)) * place.bytes;
    return place;
}

/* Rows */

static struct bloom_head load_head(const uint8_t *row) {
    return (struct bloom_head){bloom_load32(row), bloom_load32(row + 4), bloom_load32(row + 8),
                               bloom_load32(row + 12)};
}

/* Judges the head of a row from the database. A row in memory was judged when it came there. */
static int check_head(struct bloom_chunks *chunks, const struct bloom_place *place,
                      const uint8_t *row) {
    const bool may_close = place->layer->ones_limit != UINT64_MAX;
    const struct bloom_head head = load_head(row);
    if (head.closed > may_close)
        return bloom_database_damaged(
            chunks->database, "the closed mark of chunk %lld is %u, but can only be %s",
            id_of(chunks, place), head.closed, may_close ? "0 or 1" : "0");
    if (head.generation > place->generation)
        return bloom_database_damaged(chunks->database,
                                      "chunk %lld is of generation %u, which has not begun",
                                      id_of(chunks, place), head.generation);
    return SQLITE_OK;
}

/* A row of a generation that is forgotten counts as zeros. */
static bool is_stale(const struct bloom_head *head, const struct bloom_place *place) {
    return head->generation < place->generation;
}

static int wrong_length(struct bloom_chunks *chunks, const struct bloom_place *place, int found) {
    return bloom_database_damaged(chunks->database,
                                  "chunk %lld is not a BLOB of %u bytes (it has %d bytes)",
                                  id_of(chunks, place), row_bytes(place), found);
}

/* The row that a statement is at, in a column; NULL with an error when it is not a chunk's. */
static int row_of(struct bloom_chunks *chunks, sqlite3_stmt *statement, int column,
                  const struct bloom_place *place, const uint8_t **row) {
    /* One look at the value: each call of sqlite3_column_... takes the connection's mutex. */
    sqlite3_value *value = sqlite3_column_value(statement, column);
    const bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
    const int found = sqlite3_value_bytes(value);
    *row = NULL;
    if (is_blob && (uint32_t)found == row_bytes(place))
        *row = sqlite3_value_blob(value);
    return *row != NULL ? SQLITE_OK : wrong_length(chunks, place, found);
}

/* Opens the row of a chunk, or moves a handle to it; it is NULL when there is no row. */
static int open_chunk(struct bloom_chunks *chunks, const struct bloom_place *place, bool writes,
                      sqlite3_blob **handle) {
    int code = bloom_database_open_row(chunks->database, id_of(chunks, place), writes, handle);
    if (code == SQLITE_OK && *handle != NULL &&
        (uint32_t)sqlite3_blob_bytes(*handle) != row_bytes(place))
        code = bloom_database_close_row(handle,
                                        wrong_length(chunks, place, sqlite3_blob_bytes(*handle)));
    return code;
}

static struct bloom_cache_key cache_key(const struct bloom_chunks *chunks,
                                        const struct bloom_place *place) {
    return (struct bloom_cache_key){layer_number(chunks, place->generation, place->index),
                                    place->chunk, place->layer->chunks, id_of(chunks, place),
                                    row_bytes(place)};
}

/* Reading a block. Both functions set *row to the head followed by the block, or to NULL when there
 * is no row. */

/* The row goes into `room`, if there is any: only here is all of it in memory. */
static int read_by_statement(struct bloom_chunks *chunks, const struct bloom_place *place,
                             uint8_t *room, const uint8_t **row) {
    sqlite3_stmt *statement;
    bool has_row;
    *row = NULL;
    int code = bloom_database_start(chunks->database, BLOOM_READ_ROW, id_of(chunks, place), 0,
                                    &statement, &has_row);
    if (code != SQLITE_OK)
        return code;
    if (has_row)
        code = row_of(chunks, statement, 0, place, row);
    if (*row != NULL && room != NULL)
        memcpy(room, *row, row_bytes(place));
    if (*row != NULL) {
        memcpy(chunks->block, *row, BLOOM_CHUNK_HEAD_BYTES);
        memcpy(chunks->block + BLOOM_CHUNK_HEAD_BYTES, *row + place->offset, place->bytes);
        *row = chunks->block;
    }
    return bloom_database_end(chunks->database, BLOOM_READ_ROW, code);
}

/* A host may put a database of memdb in the place of this one while a cursor is open (SQLite 3.40
 * lets it), which ends the reader's cursor. So the reader is not used there. */
static bool uses_reader(struct bloom_chunks *chunks, const struct bloom_place *place) {
    if (row_bytes(place) < BLOOM_LARGE_ROW_BYTES &&
        (chunks->cursors == 0 || chunks->reads++ < BLOOM_READS_BEFORE_READER))
        return false;
    return !bloom_cache_is_memory_file(chunks->cache);
}

static int read_by_reader(struct bloom_chunks *chunks, const struct bloom_place *place,
                          const uint8_t **row) {
    uint8_t *block = chunks->block;
    sqlite3_blob *handle = chunks->reader;
    chunks->reader = NULL; /* SQLite may end the query meanwhile */
    *row = NULL;
    int code = open_chunk(chunks, place, false, &handle);
    if (code == SQLITE_OK && handle != NULL) {
        code = sqlite3_blob_read(handle, block, BLOOM_CHUNK_HEAD_BYTES, 0);
        if (code == SQLITE_OK)
            code = sqlite3_blob_read(handle, block + BLOOM_CHUNK_HEAD_BYTES, (int)place->bytes,
                                     (int)place->offset);
        if (code != SQLITE_OK)
            code = bloom_database_close_row(&handle,
                                            bloom_database_fail_sqlite(chunks->database, code));
        *row = block;
    }
    chunks->reader = handle;
    chunks->reads = handle != NULL ? chunks->reads : 0;
    return code;
}

/* Reads a row that is not in memory. It is kept if it was read before and there is room. */
static int read_row(struct bloom_chunks *chunks, const struct bloom_place *place,
                    enum bloom_known known, const uint8_t **row) {
    const struct bloom_cache_key key = cache_key(chunks, place);
    uint8_t *room = NULL;
    if (known == BLOOM_SEEN)
        bloom_cache_room(chunks->cache, &key, false, &room);
    int code = room == NULL && uses_reader(chunks, place)
                   ? read_by_reader(chunks, place, row)
                   : read_by_statement(chunks, place, room, row);
    if (code == SQLITE_OK && *row != NULL)
        code = check_head(chunks, place, *row);
    if (code == SQLITE_OK && room != NULL && *row != NULL)
        bloom_cache_keep(chunks->cache, &key);
    else if (code == SQLITE_OK)
        bloom_cache_note(chunks->cache, &key, *row != NULL);
    return code;
}

int bloom_chunks_read(struct bloom_chunks *chunks, const struct bloom_place *place,
                      const uint8_t **block, bool *closed) {
    uint32_t offset = BLOOM_CHUNK_HEAD_BYTES;
    uint8_t *kept;
    const uint8_t *row;
    int code = SQLITE_OK;
    const enum bloom_known known =
        bloom_cache_find(chunks->cache, layer_number(chunks, place->generation, place->index),
                         place->chunk, row_bytes(place), &kept);
    *block = NULL;
    *closed = false;
    if (known == BLOOM_ABSENT)
        return SQLITE_OK;
    if (known == BLOOM_KEPT) {
        row = kept;
        offset = place->offset;
    } else {
        code = read_row(chunks, place, known, &row);
    }
    if (code != SQLITE_OK || row == NULL)
        return code;
    const struct bloom_head head = load_head(row);
    if (is_stale(&head, place))
        return code;
    *block = row + offset;
    *closed = head.closed != 0;
    return code;
}

/* Changing */

/* Bytes of a row up to the end of what changes: one call reads or writes them. */
static int bytes_changed(const struct bloom_place *place) {
    return (int)(place->offset + place->bytes);
}

/* Reads the row that the handle is at: all of it into room, if there is any, or else what may
 * change into the buffer. */
static int read_change(struct bloom_chunks *chunks, uint8_t *room, struct bloom_change *change) {
    const struct bloom_place *place = &change->place;
    const int bytes = room != NULL ? (int)row_bytes(place) : bytes_changed(place);
    change->row = room != NULL ? room : chunks->buffer;
    int code = sqlite3_blob_read(change->handle, change->row, bytes, 0);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(chunks->database, code);
}

/* Opens a row that is not in memory. It is kept if there is room and if it was used before, or if
 * the last transaction changed more keys than there are chunks, so that it will be used again. */
static int open_row(struct bloom_chunks *chunks, const struct bloom_cache_key *key,
                    enum bloom_known known, struct bloom_change *change) {
    uint8_t *room = NULL;
    int code = SQLITE_OK;
    if (known == BLOOM_SEEN || chunks->cache->changes_before > key->chunks)
        code = bloom_cache_room(chunks->cache, key, true, &room);
    if (code == SQLITE_OK)
        code = open_chunk(chunks, &change->place, true, &change->handle);
    if (code == SQLITE_OK && change->handle != NULL)
        code = read_change(chunks, room, change);
    if (code == SQLITE_OK && change->handle != NULL)
        code = check_head(chunks, &change->place, change->row);
    if (code != SQLITE_OK || change->handle == NULL)
        return code;
    change->is_kept = room != NULL;
    if (change->is_kept)
        bloom_cache_keep(chunks->cache, key);
    else
        bloom_cache_note(chunks->cache, key, true);
    return code;
}

/* Opens the row of the place, from memory if it is there. Without a row change->row is NULL. */
static int open_known(struct bloom_chunks *chunks, struct bloom_change *change) {
    const struct bloom_cache_key key = cache_key(chunks, &change->place);
    uint8_t *kept;
    int code = SQLITE_OK;
    const enum bloom_known known =
        bloom_cache_find(chunks->cache, key.array, key.chunk, key.length, &kept);
    change->row = NULL;
    change->is_kept = change->is_draft = false;
    if (known != BLOOM_KEPT)
        return open_row(chunks, &key, known, change);
    change->is_draft = bloom_cache_may_draft(chunks->cache);
    if (!change->is_draft)
        code = open_chunk(chunks, &change->place, true, &change->handle);
    change->is_kept = change->is_draft || change->handle != NULL;
    if (change->is_kept)
        change->row = kept;
    return code;
}

int bloom_change_open(struct bloom_chunks *chunks, const struct bloom_place *place,
                      struct bloom_change *change) {
    if (chunks->buffer == NULL)
        chunks->buffer = sqlite3_malloc(BLOOM_CHUNK_BYTES_MAXIMUM);
    if (chunks->buffer == NULL)
        return bloom_change_close(change, SQLITE_NOMEM);
    change->place = *place;
    int code = open_known(chunks, change);
    if (code != SQLITE_OK)
        return bloom_change_close(change, code);
    if (change->row != NULL)
        change->head = load_head(change->row);
    if (change->row == NULL || is_stale(&change->head, place)) {
        bloom_change_close(change, code);
        change->is_kept = change->is_draft = false;
        change->head = (struct bloom_head){.generation = place->generation};
        change->row = memset(chunks->buffer, 0, row_bytes(place));
    }
    change->blocks = change->row + place->offset;
    return code;
}

/* Writes head and blocks through the handle. */
static int save_through(struct bloom_chunks *chunks, const struct bloom_cache_key *key,
                        struct bloom_change *change) {
    int code = sqlite3_blob_write(change->handle, change->row, bytes_changed(&change->place), 0);
    if (code == SQLITE_OK)
        return code;
    if (change->is_kept)
        bloom_cache_drop(chunks->cache, key);
    return bloom_database_fail_sqlite(chunks->database, code);
}

int bloom_change_save(struct bloom_chunks *chunks, struct bloom_change *change) {
    const struct bloom_cache_key key = cache_key(chunks, &change->place);
    int code = SQLITE_OK;
    bloom_store32(change->row, change->head.ones);
    bloom_store32(change->row + 4, change->head.keys);
    bloom_store32(change->row + 8, change->head.generation);
    bloom_store32(change->row + 12, change->head.closed);
    if (change->is_draft)
        bloom_cache_draft(chunks->cache, &key);
    else if (change->handle != NULL)
        code = save_through(chunks, &key, change);
    else
        code = bloom_database_write_row(chunks->database, key.id, change->row, key.length);
    if (code == SQLITE_OK && !change->is_kept) /* a new row, or one that counted as zeros */
        bloom_cache_note(chunks->cache, &key, true);
    chunks->cache->has_written = chunks->cache->has_written || code == SQLITE_OK;
    chunks->cache->changes_made++;
    return bloom_change_close(change, code);
}

int bloom_change_close(struct bloom_change *change, int code) {
    return bloom_database_close_row(&change->handle, code);
}

/* Walks */

/* Finds the chunk of a row, by its id. */
static int find_chunk(struct bloom_chunks *chunks, sqlite3_int64 id, struct bloom_place *place) {
    const unsigned generations = chunks->growth.generations;
    const sqlite3_int64 number = id >> CHUNK_BITS;
    const unsigned index = (unsigned)(number % SLOT_LAYERS);
    /* The number before 1 is larger than that of any chunk. */
    const uint64_t chunk = ((uint64_t)id & ((UINT64_C(1) << CHUNK_BITS) - 1)) - 1;
    if (number >= 0 && number / SLOT_LAYERS < generations && index < BLOOM_LAYERS_MAXIMUM &&
        (index == 0 || chunks->growth.mode == BLOOM_GROWTH_ON) &&
        chunk < bloom_chunks_layer(chunks, index)->chunks) {
        const unsigned slot = (unsigned)(number / SLOT_LAYERS);
        const uint32_t age = (chunks->newest % generations + generations - slot) % generations;
        if (age <= chunks->newest) {
            *place = bloom_place_of_chunk(chunks, index, chunks->newest - age, chunk);
            return SQLITE_OK;
        }
    }
    return bloom_database_damaged(chunks->database, "row %lld is of no chunk", id);
}

/* Visits the chunk that a statement is at. */
static int visit_row(struct bloom_chunks *chunks, sqlite3_stmt *statement, bloom_chunk_visit *visit,
                     void *argument) {
    const sqlite3_int64 id = sqlite3_column_int64(statement, 0);
    struct bloom_place place;
    const uint8_t *row;
    int code = find_chunk(chunks, id, &place);
    if (code == SQLITE_OK)
        code = row_of(chunks, statement, 1, &place, &row);
    if (code != SQLITE_OK)
        return code;
    code = check_head(chunks, &place, row);
    const struct bloom_head head = load_head(row);
    return code != SQLITE_OK || is_stale(&head, &place)
               ? code
               : visit(argument, &place, &head, row + BLOOM_CHUNK_HEAD_BYTES);
}

/* In a damaged file the ids may go round in circles, so they must rise. */
static int walk(struct bloom_chunks *chunks, sqlite3_int64 first, sqlite3_int64 end,
                bloom_chunk_visit *visit, void *argument) {
    sqlite3_stmt *statement;
    bool row;
    int code = bloom_cache_write(chunks->cache);
    if (code == SQLITE_OK)
        code =
            bloom_database_start(chunks->database, BLOOM_WALK_ROWS, first, end, &statement, &row);
    if (code != SQLITE_OK)
        return code;
    for (sqlite3_int64 least = first; row && code == SQLITE_OK;
         row = sqlite3_step(statement) == SQLITE_ROW) {
        const sqlite3_int64 id = sqlite3_column_int64(statement, 0);
        if (id < least)
            code = bloom_database_damaged(chunks->database, "row %lld is out of order", id);
        else if (id != 0)
            code = visit_row(chunks, statement, visit, argument);
        least = id + 1;
    }
    return bloom_database_end(chunks->database, BLOOM_WALK_ROWS, code);
}

int bloom_chunks_each(struct bloom_chunks *chunks, bloom_chunk_visit *visit, void *argument) {
    return walk(chunks, INT64_MIN, INT64_MAX, visit, argument);
}

int bloom_chunks_each_of(struct bloom_chunks *chunks, uint32_t generation, unsigned first,
                         bloom_chunk_visit *visit, void *argument) {
    return walk(chunks, first_id(layer_number(chunks, generation, first)),
                first_id(layer_number(chunks, generation, SLOT_LAYERS)), visit, argument);
}
