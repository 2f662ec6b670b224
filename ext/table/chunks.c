/* Every chunk that comes out of the database is judged by its length and its head, whichever way it
 * came. So a row that contradicts the format is never used. */
#include "table/chunks.h"

#include "base/limits.h"
#include "base/portable.h"

#include <string.h>

enum {
    SLOT_LAYERS = 64, /* a slot has that many numbers for its layers */
    CHUNK_BITS = 40   /* of an id: the number of the chunk in its layer, counted from 1 */
};

void bloom_chunks_close_reader(struct bloom_chunks *chunks) {
    chunks->reads = 0;
    bloom_database_close_reader(&chunks->span.database, &chunks->reader);
}

void bloom_chunks_end_operation(struct bloom_chunks *chunks) {
    bloom_database_close_row(&chunks->writer, SQLITE_OK);
    if (chunks->cursors > 0)
        return;
    bloom_chunks_close_reader(chunks);
    bloom_span_rest(&chunks->span);
}

void bloom_chunks_close(struct bloom_chunks *chunks) {
    bloom_chunks_close_reader(chunks);
    sqlite3_free(chunks->buffer);
    bloom_span_close(&chunks->span);
}

/* One way to read a row */

/* How a row is read: a statement takes less time to begin than a handle, and more for each further
 * row. A reader that is open is used. One is opened for a query that reads many rows, and for a row
 * that takes long to copy. */
enum access {
    BY_STATEMENT,
    BY_READER,
    TO_CHANGE /* by the writer, which stays at the row */
};

static enum access choose_access(struct bloom_chunks *chunks, uint32_t length) {
    if (chunks->reader == NULL && length < bloom_limits.large_row_bytes &&
        (chunks->cursors == 0 || chunks->reads++ < bloom_limits.reads_before_reader))
        return BY_STATEMENT;
    /* In SQLite 3.40 a host may put a memdb file in the place of the database while a cursor is
     * open, which ends the reader's own cursor. */
    bloom_span_ask_file(&chunks->span);
    return chunks->span.is_memory_file ? BY_STATEMENT : BY_READER;
}

/* What is wanted of a row, and what is found. */
struct reading {
    uint8_t *row;           /* gets what is wanted, each byte at its place */
    uint32_t head;          /* the number of bytes that are wanted from its start, */
    uint32_t offset, bytes; /* and from an offset; what the row does not have is left out */
    bool exists;
    const uint8_t *stored; /* its bytes, if a statement reads it, */
    sqlite3_blob *handle;  /* or what reads it; both NULL: it is not a BLOB */
    int length;
};

static bool is_blob(const struct reading *reading) {
    return reading->stored != NULL || reading->handle != NULL;
}

static int copy_part(struct bloom_database *database, const struct reading *reading,
                     uint32_t offset, uint32_t bytes) {
    const uint32_t length = (uint32_t)reading->length;
    const uint32_t end = offset + bytes < length ? offset + bytes : length;
    if (offset >= end)
        return SQLITE_OK;
    if (reading->stored != NULL)
        memcpy(reading->row + offset, reading->stored + offset, end - offset);
    if (reading->stored != NULL)
        return SQLITE_OK;
    const int code =
        sqlite3_blob_read(reading->handle, reading->row + offset, (int)(end - offset), (int)offset);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* While a handle moves, SQLite may roll back, and nobody else must close it then. */
static int read_row(struct bloom_chunks *chunks, sqlite3_int64 id, enum access access,
                    struct reading *reading) {
    struct bloom_database *database = &chunks->span.database;
    sqlite3_blob **place = access == TO_CHANGE ? &chunks->writer : &chunks->reader;
    int code;
    if (access == BY_STATEMENT) {
        code = bloom_database_begin_statement(database, BLOOM_READ_ROW, id, 0, &reading->exists);
        if (code == SQLITE_OK && reading->exists)
            reading->stored = bloom_database_blob(database, BLOOM_READ_ROW, &reading->length);
    } else {
        sqlite3_blob *handle = *place;
        *place = NULL;
        code = bloom_database_open_row(database, id, access == TO_CHANGE, &handle);
        *place = reading->handle = handle;
        reading->exists = handle != NULL;
        reading->length = sqlite3_blob_bytes(handle); /* NULL: 0 */
    }
    if (code != SQLITE_OK)
        return code;
    if (is_blob(reading))
        code = copy_part(database, reading, 0, reading->head);
    if (is_blob(reading) && code == SQLITE_OK)
        code = copy_part(database, reading, reading->offset, reading->bytes);
    if (access == BY_STATEMENT)
        return bloom_database_end_statement(database, BLOOM_READ_ROW, code);
    return code == SQLITE_OK ? code : bloom_database_close_row(place, code);
}

/* Row 0 */

int bloom_chunks_configure(struct bloom_chunks *chunks,
                           const uint8_t row[BLOOM_CONFIGURATION_BYTES], int length) {
    struct bloom_database *database = &chunks->span.database;
    struct bloom_configuration configuration;
    char problem[BLOOM_PROBLEM_SIZE];
    const enum bloom_row_0 verdict = bloom_configuration_read(&configuration, row, length, problem);
    if (verdict == BLOOM_ROW_0_NEWER)
        return bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                                   "a newer release of this extension made the table (row 0 of %s "
                                   "%s). Load that release",
                                   database->data_name, problem);
    if (verdict == BLOOM_ROW_0_DAMAGED)
        return bloom_database_damaged(database, "row 0 %s", problem);
    const struct bloom_growth *growth = &configuration.growth;
    uint8_t *buffer = sqlite3_realloc64(
        chunks->buffer, BLOOM_CHUNK_HEAD_BYTES +
                            growth->chunk_blocks * (sqlite3_uint64)growth->layout->blocks->bytes);
    if (buffer == NULL)
        return SQLITE_NOMEM;
    bloom_span_end(&chunks->span);
    chunks->buffer = buffer;
    memcpy(chunks->row_0, row, BLOOM_CONFIGURATION_BYTES);
    chunks->configuration = configuration;
    memset(chunks->layers, 0, sizeof chunks->layers);
    chunks->span.revision++;
    return SQLITE_OK;
}

int bloom_chunks_begin_operation(struct bloom_chunks *chunks, bool changes) {
    struct bloom_span *span = &chunks->span;
    int code = bloom_span_begin_operation(span);
    if (code != SQLITE_OK || span->knows_row_0)
        return code;
    uint8_t row[BLOOM_CONFIGURATION_BYTES] = {0};
    struct reading reading = {.row = row, .head = sizeof row};
    if (!changes && span->is_usable) /* it may be of a table that has another name now */
        bloom_chunks_close_reader(chunks);
    code = read_row(chunks, 0, changes ? TO_CHANGE : choose_access(chunks, sizeof row), &reading);
    if (code != SQLITE_OK)
        return code;
    if (!is_blob(&reading))
        reading.length = 0;
    if (span->revision == 0 || reading.length != sizeof row ||
        !bloom_configuration_same(row, chunks->row_0))
        code = bloom_chunks_configure(chunks, row, reading.length);
    if (code != SQLITE_OK)
        return code;
    memcpy(chunks->row_0, row, sizeof row);
    chunks->rotation = bloom_rotation_load(row);
    span->knows_row_0 = bloom_span_may_keep(span);
    return code;
}

/* By a handle, because an authorizer may deny a statement, and 'clear' would be half done. */
int bloom_chunks_write_rotation(struct bloom_chunks *chunks,
                                const struct bloom_rotation *rotation) {
    struct bloom_database *database = &chunks->span.database;
    int code = bloom_database_open_row(database, 0, true, &chunks->writer);
    if (code == SQLITE_OK && chunks->writer == NULL)
        code = bloom_database_damaged(database, "row 0 %s", "is gone");
    if (code != SQLITE_OK)
        return code;
    chunks->span.knows_row_0 = false;
    bloom_rotation_store(rotation, chunks->row_0);
    code = sqlite3_blob_write(chunks->writer, chunks->row_0, sizeof chunks->row_0, 0);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* Places */

/* Every layer is possible when the first one is, of which row 0 was found to be. */
void bloom_chunks_compute(struct bloom_chunks *chunks, unsigned index) {
    char problem[BLOOM_PROBLEM_SIZE];
    bloom_growth_layer(bloom_chunks_growth(chunks), index, &chunks->layers[index], problem);
}

/* The number of a layer, counted over all slots. */
static unsigned layer_number(const struct bloom_chunks *chunks, uint32_t generation,
                             unsigned index) {
    return generation % bloom_chunks_growth(chunks)->generations * SLOT_LAYERS + index;
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

enum { ONES_AT = 0, KEYS_AT = 4, GENERATION_AT = 8, MARK_AT = 12 };

/* The marks. They differ in every bit, and a row of zeros has neither. */
static const uint32_t MARK_OPEN = 0x55555555, MARK_CLOSED = 0xaaaaaaaa;

static struct bloom_head load_head(const uint8_t *row) {
    return (struct bloom_head){.ones = bloom_load32(row + ONES_AT),
                               .keys = bloom_load32(row + KEYS_AT),
                               .generation = bloom_load32(row + GENERATION_AT),
                               .is_closed = bloom_load32(row + MARK_AT) == MARK_CLOSED};
}

static void store_head(uint8_t *row, const struct bloom_head *head) {
    bloom_store32(row + ONES_AT, head->ones);
    bloom_store32(row + KEYS_AT, head->keys);
    bloom_store32(row + GENERATION_AT, head->generation);
    bloom_store32(row + MARK_AT, head->is_closed ? MARK_CLOSED : MARK_OPEN);
}

/* Judges the head of a row from the database. A row in memory was judged when it came there. */
static int check_head(struct bloom_chunks *chunks, const struct bloom_place *place,
                      const uint8_t *row) {
    const bool may_close = place->layer->ones_limit != UINT64_MAX;
    const struct bloom_head head = load_head(row);
    const uint32_t mark = bloom_load32(row + MARK_AT);
    if (mark != MARK_OPEN && (mark != MARK_CLOSED || !may_close))
        return bloom_database_damaged(
            &chunks->span.database, "the mark of chunk %lld is %08x, but can only be %s",
            id_of(chunks, place), mark, may_close ? "55555555 or aaaaaaaa" : "55555555");
    if (head.generation > place->generation)
        return bloom_database_damaged(&chunks->span.database,
                                      "chunk %lld is of generation %u, which has not begun",
                                      id_of(chunks, place), head.generation);
    return SQLITE_OK;
}

/* A row of a generation that is forgotten counts as zeros. */
static bool is_stale(const struct bloom_head *head, const struct bloom_place *place) {
    return head->generation < place->generation;
}

static int wrong_length(struct bloom_chunks *chunks, const struct bloom_place *place, int found) {
    return bloom_database_damaged(&chunks->span.database,
                                  "chunk %lld is not a BLOB of %u bytes (it has %d bytes)",
                                  id_of(chunks, place), row_bytes(place), found);
}

/* Reads the row of a place from the database, judges it, and notes what is known of it. *row
 * becomes NULL if the row does not exist. *kept becomes NULL if the row does not stay in memory,
 * because it will probably not be used again, or because memory is full. Then only the head and the
 * blocks of the place are read, and for a change what is between them, too, by one call. */
static int read_chunk(struct bloom_chunks *chunks, const struct bloom_place *place,
                      enum bloom_known known, enum access access, uint8_t **row,
                      struct bloom_row **kept) {
    struct bloom_span *span = &chunks->span;
    const sqlite3_int64 id = id_of(chunks, place);
    const bool is_used_again =
        known == BLOOM_SEEN ||
        (known == BLOOM_UNKNOWN && span->writing.has_changed && span->writing.was_dense);
    const bool keeps = is_used_again && !span->rows.is_full && bloom_span_may_keep(span);
    struct reading reading = {.row = chunks->buffer,
                              .head = keeps                 ? row_bytes(place)
                                      : access == TO_CHANGE ? place->offset + place->bytes
                                                            : BLOOM_CHUNK_HEAD_BYTES,
                              .offset = place->offset,
                              .bytes = keeps || access == TO_CHANGE ? 0 : place->bytes};
    *row = NULL;
    *kept = NULL;
    int code = read_row(chunks, id, access, &reading);
    if (code == SQLITE_OK && !reading.exists && bloom_span_may_keep(span))
        bloom_rows_note(&span->rows, id, false);
    if (code != SQLITE_OK || !reading.exists)
        return code;
    if (!is_blob(&reading) || (uint32_t)reading.length != row_bytes(place))
        return wrong_length(chunks, place, reading.length);
    code = check_head(chunks, place, reading.row);
    if (code != SQLITE_OK)
        return code;
    if (keeps)
        *kept = bloom_rows_keep(&span->rows, id, reading.row, row_bytes(place));
    else if (span->is_usable)
        bloom_rows_note(&span->rows, id, true);
    *row = *kept != NULL ? (*kept)->bytes : reading.row;
    return code;
}

static enum bloom_known find_row(const struct bloom_chunks *chunks, const struct bloom_place *place,
                                 struct bloom_row **kept) {
    *kept = NULL;
    return chunks->span.is_usable ? bloom_rows_find(&chunks->span.rows, id_of(chunks, place), kept)
                                  : BLOOM_UNKNOWN;
}

/* Reading */

int bloom_chunks_read(struct bloom_chunks *chunks, const struct bloom_place *place,
                      const uint8_t **block, bool *closed) {
    struct bloom_row *kept;
    uint8_t *row = NULL;
    int code = SQLITE_OK;
    const enum bloom_known known = find_row(chunks, place, &kept);
    *block = NULL;
    *closed = false;
    if (known == BLOOM_KEPT)
        row = kept->bytes;
    else if (known != BLOOM_ABSENT)
        code =
            read_chunk(chunks, place, known, choose_access(chunks, row_bytes(place)), &row, &kept);
    if (code != SQLITE_OK || row == NULL)
        return code;
    const struct bloom_head head = load_head(row);
    if (is_stale(&head, place))
        return code;
    *block = row + place->offset;
    *closed = head.is_closed;
    return code;
}

/* Changing */

/* Opens the row of change->place, from memory if it is there. Without a row change->row is NULL. */
static int open_row(struct bloom_chunks *chunks, struct bloom_change *change) {
    const struct bloom_place *place = &change->place;
    enum bloom_known known = find_row(chunks, place, &change->kept);
    int code = SQLITE_OK;
    change->may_draft = bloom_span_may_draft(&chunks->span);
    if (known == BLOOM_KEPT && change->kept->is_draft && !change->may_draft) {
        /* Another statement that writes has begun since. All drafts are written, so that a part of
         * them is never written later than this row. */
        code = bloom_span_write(&chunks->span);
        known = find_row(chunks, place, &change->kept);
    }
    if (code != SQLITE_OK || known == BLOOM_ABSENT)
        return code;
    if (known != BLOOM_KEPT)
        return read_chunk(chunks, place, known, TO_CHANGE, &change->row, &change->kept);
    if (!change->may_draft)
        code = bloom_database_open_row(&chunks->span.database, id_of(chunks, place), true,
                                       &chunks->writer);
    if (change->may_draft || chunks->writer != NULL)
        change->row = change->kept->bytes;
    return code;
}

int bloom_change_open(struct bloom_chunks *chunks, const struct bloom_place *place,
                      struct bloom_change *change) {
    *change = (struct bloom_change){.place = *place};
    int code = open_row(chunks, change);
    if (code != SQLITE_OK)
        return code;
    if (change->row != NULL)
        change->head = load_head(change->row);
    change->is_new = change->row == NULL || is_stale(&change->head, place);
    if (change->is_new) {
        bloom_database_close_row(&chunks->writer, code);
        change->kept = NULL;
        change->head = (struct bloom_head){.generation = place->generation};
        change->row = memset(chunks->buffer, 0, row_bytes(place));
    }
    change->blocks = change->row + place->offset;
    return code;
}

int bloom_change_save(struct bloom_chunks *chunks, struct bloom_change *change) {
    struct bloom_span *span = &chunks->span;
    const struct bloom_place *place = &change->place;
    const sqlite3_int64 id = id_of(chunks, place);
    int code = SQLITE_OK;
    store_head(change->row, &change->head);
    if (change->kept != NULL && change->may_draft) {
        bloom_rows_draft(&span->rows, change->kept);
    } else if (!change->is_new) {
        code =
            sqlite3_blob_write(chunks->writer, change->row, (int)(place->offset + place->bytes), 0);
        if (code != SQLITE_OK)
            code = bloom_database_fail_sqlite(&chunks->span.database, code);
    } else {
        code = bloom_database_write_row(&chunks->span.database, id, change->row, row_bytes(place));
    }
    /* A row that is new, or that could not be written, is not the one in memory. */
    if (span->is_usable && (code != SQLITE_OK || change->is_new))
        bloom_rows_note(&span->rows, id, true);
    span->writing.has_changed = span->writing.has_changed || code == SQLITE_OK;
    span->writing.changes++;
    return code;
}

/* Walks */

/* Finds the chunk of a row, by its id. */
static int find_chunk(struct bloom_chunks *chunks, sqlite3_int64 id, struct bloom_place *place) {
    const unsigned generations = bloom_chunks_growth(chunks)->generations;
    const sqlite3_int64 number = id >> CHUNK_BITS;
    const unsigned index = (unsigned)(number % SLOT_LAYERS);
    /* The number before 1 is larger than that of any chunk. */
    const uint64_t chunk = ((uint64_t)id & ((UINT64_C(1) << CHUNK_BITS) - 1)) - 1;
    if (number >= 0 && number / SLOT_LAYERS < generations && index < BLOOM_LAYERS_MAXIMUM &&
        (index == 0 || bloom_chunks_growth(chunks)->mode == BLOOM_GROWTH_ON) &&
        chunk < bloom_chunks_layer(chunks, index)->chunks) {
        const unsigned slot = (unsigned)(number / SLOT_LAYERS);
        const uint32_t age =
            (chunks->rotation.newest % generations + generations - slot) % generations;
        if (age <= chunks->rotation.newest) {
            *place = bloom_place_of_chunk(chunks, index, chunks->rotation.newest - age, chunk);
            return SQLITE_OK;
        }
    }
    return bloom_database_damaged(&chunks->span.database, "row %lld is of no chunk", id);
}

/* Visits the chunk of the row that the statement is at. */
static int visit_row(struct bloom_chunks *chunks, sqlite3_int64 id, bloom_chunk_visit *visit,
                     void *argument) {
    struct bloom_place place;
    struct bloom_row *kept;
    int length;
    int code = find_chunk(chunks, id, &place);
    if (code != SQLITE_OK)
        return code;
    const uint8_t *row = bloom_database_blob(&chunks->span.database, BLOOM_EACH_ROW, &length);
    if (find_row(chunks, &place, &kept) == BLOOM_KEPT && kept->is_draft) {
        row = kept->bytes;
        length = (int)kept->length;
    }
    if (row == NULL || (uint32_t)length != row_bytes(&place))
        return wrong_length(chunks, &place, length);
    code = check_head(chunks, &place, row);
    const struct bloom_head head = load_head(row);
    return code != SQLITE_OK || is_stale(&head, &place)
               ? code
               : visit(argument, &place, &head, row + BLOOM_CHUNK_HEAD_BYTES);
}

/* In a damaged file the ids may go round in circles, so they must rise. */
int bloom_chunks_each(struct bloom_chunks *chunks, const uint32_t *generation,
                      bloom_chunk_visit *visit, void *argument) {
    struct bloom_database *database = &chunks->span.database;
    const unsigned number = generation != NULL ? layer_number(chunks, *generation, 0) : 0;
    sqlite3_int64 next = generation != NULL ? first_id(number) : INT64_MIN;
    bool row;
    int code = bloom_database_begin_statement(
        database, BLOOM_EACH_ROW, next,
        generation != NULL ? first_id(number + SLOT_LAYERS) - 1 : INT64_MAX, &row);
    if (code != SQLITE_OK)
        return code;
    sqlite3_stmt *statement = database->statements[BLOOM_EACH_ROW];
    for (; row && code == SQLITE_OK; row = sqlite3_step(statement) == SQLITE_ROW) {
        const sqlite3_int64 id = sqlite3_column_int64(statement, 1);
        if (id < next)
            code = bloom_database_damaged(database, "row %lld is out of order", id);
        else if (id != 0)
            code = visit_row(chunks, id, visit, argument);
        next = id < INT64_MAX ? id + 1 : id;
    }
    return bloom_database_end_statement(database, BLOOM_EACH_ROW, code);
}
