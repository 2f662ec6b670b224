/* See layers.h. */
#include "table/layers.h"

#include "filter/portable.h"

#include <string.h>

/* No sum of counts comes near the end of 64 bits. */
static const sqlite3_int64 SUM_MAXIMUM = INT64_C(1) << 62;

void bloom_layers_close(struct bloom_layers *layers) {
    sqlite3_free(layers->file);
    sqlite3_free(layers->layers);
}

/* The proof */

/* SQLITE_DBSTATUS_CACHE_HIT: the looks at pages that were in the cache, in all databases of the
 * connection. No change is made without some; rows are counted besides. */
BLOOM_INLINE int status_of(const struct bloom_layers *layers, int which) {
    int current = 0, highest;
    sqlite3_db_status(layers->database->connection, which, &current, &highest, 0);
    return current;
}

/* Whether this connection has changed, or may have changed, what it has not committed. */
static bool is_writing(const struct bloom_layers *layers) {
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_libversion_number() >= 3034000) {
        /* The first question, whether any database is written, compares no names. */
        sqlite3 *connection = layers->database->connection;
        return sqlite3_txn_state(connection, NULL) == SQLITE_TXN_WRITE &&
               sqlite3_txn_state(connection, layers->database->schema) == SQLITE_TXN_WRITE;
    }
#endif
    (void)layers;
    return true; /* it does not say */
}

/* Whether another connection uses one of the caches: total use then exceeds our share. */
static bool is_shared(const struct bloom_layers *layers) {
    return status_of(layers, SQLITE_DBSTATUS_CACHE_USED) !=
           status_of(layers, SQLITE_DBSTATUS_CACHE_USED_SHARED);
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

static bool is_proven_by_looks(const struct bloom_layers *layers) {
    unsigned changes =
        (unsigned)sqlite3_total_changes(layers->database->connection) - layers->changes;
    return (changes == 0 || changes == (unsigned)layers->own_changes) &&
           status_of(layers, SQLITE_DBSTATUS_CACHE_HIT) == layers->looks;
}

static bool is_proven_by_version(const struct bloom_layers *layers) {
    if (is_writing(layers) || version_of(layers) != layers->version)
        return false;
    if (layers->held)
        return true;
    const char *file = layers->file != NULL ? file_of(layers) : NULL;
    return file != NULL && strcmp(file, layers->file) == 0;
}

/* After work that succeeded: all looks at pages since were made by this table. */
static void settle_proof(struct bloom_layers *layers, bool changed) {
    layers->held = layers->cursors > 0;
    if (!layers->told)
        return;
    layers->looks = status_of(layers, SQLITE_DBSTATUS_CACHE_HIT);
    layers->changes = (unsigned)sqlite3_total_changes(layers->database->connection);
    layers->own_changes = changed;
}

void bloom_layers_forget(struct bloom_layers *layers) {
    layers->proof = BLOOM_PROOF_NONE;
}

/* The chunks may be others than were compared with the sizes of the layers. */
static void uncheck(struct bloom_layers *layers) {
    for (unsigned i = 0; i < layers->room; i++)
        layers->layers[i].geometry.checked = false;
}

/* Right after the rows were read, without a proof: by what they may be believed. A name for which
 * there is no memory is as none. */
static void find_proof(struct bloom_layers *layers) {
    const char *file = file_of(layers);
    sqlite3_free(layers->file);
    layers->file = NULL;
    if (is_shared(layers) || (!layers->told && is_writing(layers)))
        return;
    if (layers->told) {
        layers->proof = BLOOM_PROOF_LOOKS;
        return;
    }
    /* What sqlite3_deserialize puts in the place of main has a name, too, but no path. */
    if (layers->database->is_main && file != NULL && strpbrk(file, "/\\") != NULL)
        layers->file = sqlite3_mprintf("%s", file);
    layers->version = version_of(layers);
    layers->proof = BLOOM_PROOF_VERSION;
}

/* Rows */

static int damaged(struct bloom_layers *layers, sqlite3_int64 index, const char *what) {
    return bloom_database_damaged(layers->database, BLOOM_SHADOW_LAYERS, "layer %lld %s", index,
                                  what);
}

/* Makes room for one layer more than there are. */
static int make_room(struct bloom_layers *layers) {
    if (layers->count < layers->room)
        return SQLITE_OK;
    unsigned room = layers->room + layers->room / 2 + 2;
    struct bloom_layer *larger =
        sqlite3_realloc64(layers->layers, room * (sqlite3_uint64)sizeof *larger);
    if (larger == NULL)
        return SQLITE_NOMEM;
    memset(larger + layers->room, 0, (room - layers->room) * sizeof *larger);
    layers->layers = larger;
    layers->room = room;
    return SQLITE_OK;
}

/* Rows of a slot: layers are at most 41. */
enum { SLOT_ROWS = 64 };

/* Works out a layer from its row. */
static int learn_layer(struct bloom_layers *layers, struct bloom_layer *layer, unsigned number,
                       const uint8_t *header, size_t length, sqlite3_int64 chunk_blocks) {
    const unsigned index = number % SLOT_ROWS;
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    layer->learned = false;
    if (!bloom_header_read(&shape, header, length, problem))
        return bloom_database_fail(
            layers->database, SQLITE_CORRUPT_VTAB, "%s is damaged: layer %u %s",
            layers->database->shadow_names[BLOOM_SHADOW_LAYERS], number, problem);
    /* How layers follow from the options is part of the format, so that a header that was exchanged
     * does not go unnoticed. */
    if (!bloom_growth_knows(&layers->growth, index, &shape))
        return damaged(layers, number, "has a header that is not one of this table");
    if (chunk_blocks < 1 ||
        chunk_blocks > (sqlite3_int64)bloom_blocks_in_room(&shape, BLOOM_CHUNK_BYTES_MAXIMUM))
        return damaged(layers, number, "has numbers that are out of range");
    layer->geometry = (struct bloom_geometry){
        .number = number, .shape = shape, .chunk_blocks = (uint32_t)chunk_blocks};
    layer->limits = bloom_growth_limits_of(&layers->growth, index, &shape);
    memcpy(layer->header, header, length);
    layer->learned = true;
    return SQLITE_OK;
}

static void set_sums(struct bloom_layer *layer, const struct bloom_sums *sums) {
    layer->sums = *sums;
    layer->geometry.complete = sums->chunks >= bloom_chunks_of_layer(&layer->geometry);
}

/* The columns of a row that are numbers, of which none is believed that has another type. */
enum { CHUNK_BLOCKS = 2, GENERATION, KEYS, CHUNKS, ONES, COLUMNS };

static bool read_numbers(sqlite3_stmt *row, sqlite3_int64 numbers[COLUMNS]) {
    for (int i = CHUNK_BLOCKS; i < COLUMNS; i++) {
        sqlite3_value *value = sqlite3_column_value(row, i);
        numbers[i] = sqlite3_value_int64(value);
        if (sqlite3_value_type(value) != SQLITE_INTEGER || numbers[i] < 0 ||
            numbers[i] > SUM_MAXIMUM)
            return false;
    }
    return true;
}

/* Reads the row that a statement is at. One of a generation that is forgotten is not looked at,
 * unless it is wanted (see read_layers). */
static int read_layer(struct bloom_layers *layers, sqlite3_stmt *row, struct bloom_layer *wanted) {
    const sqlite3_int64 number = sqlite3_column_int64(row, 0);
    const unsigned index = (unsigned)(number % SLOT_ROWS);
    const struct bloom_layer *before =
        layers->count > 0 ? &layers->layers[layers->count - 1] : NULL;
    sqlite3_int64 numbers[COLUMNS];
    bool is_stale = false;
    if (number < 0 || number / SLOT_ROWS >= layers->growth.generations ||
        index >= BLOOM_LAYERS_MAXIMUM)
        return damaged(layers, number, "is not expected");
    if (!read_numbers(row, numbers) ||
        numbers[GENERATION] > (layers->growth.generations > 1 ? UINT32_MAX : 0) ||
        numbers[GENERATION] % layers->growth.generations != number / SLOT_ROWS)
        return damaged(layers, number, "has numbers that are out of range");
    if (index > 0) {
        const bool in_slot =
            before != NULL && before->geometry.number / SLOT_ROWS == number / SLOT_ROWS;
        is_stale = in_slot && numbers[GENERATION] < before->geometry.generation;
        if (is_stale && (wanted == NULL || wanted->geometry.number != number))
            return SQLITE_OK;
        if (!is_stale && (!in_slot || numbers[GENERATION] != before->geometry.generation ||
                          before->geometry.number + 1 != number))
            return damaged(layers, number, "is not expected");
    }
    int code = make_room(layers);
    if (code != SQLITE_OK)
        return code;
    struct bloom_layer *layer = is_stale ? wanted : &layers->layers[layers->count];
    sqlite3_value *header = sqlite3_column_value(row, 1);
    const uint8_t *bytes = NULL;
    const size_t length =
        layers->growth.keying.salted ? BLOOM_HEADER_BYTES_MAXIMUM : BLOOM_HEADER_BYTES;
    if (sqlite3_value_type(header) == SQLITE_BLOB && sqlite3_value_bytes(header) == (int)length)
        bytes = sqlite3_value_blob(header);
    if (bytes == NULL)
        return damaged(layers, number,
                       length == BLOOM_HEADER_BYTES ? "has a header that is not 64 bytes"
                                                    : "has a header that is not 128 bytes");
    if (!layer->learned || layer->geometry.number != number ||
        memcmp(bytes, layer->header, length) != 0 ||
        (sqlite3_int64)layer->geometry.chunk_blocks != numbers[CHUNK_BLOCKS])
        code = learn_layer(layers, layer, (unsigned)number, bytes, length, numbers[CHUNK_BLOCKS]);
    if (code != SQLITE_OK)
        return code;
    layer->geometry.generation = (uint32_t)numbers[GENERATION];
    set_sums(layer, &(struct bloom_sums){(uint64_t)numbers[KEYS], (uint64_t)numbers[CHUNKS],
                                         (uint64_t)numbers[ONES]});
    if (wanted != NULL && wanted->geometry.number == number)
        *wanted = *layer;
    layers->count += !is_stale;
    return SQLITE_OK;
}

/* Finds the newest generation, and the oldest one's first layer, which follows the newest one's
 * last in the ring. As many generations as there can be must be there, none older than the others
 * allow: then none of them is missing. */
static int find_newest(struct bloom_layers *layers) {
    unsigned last = 0, generations = 0;
    if (layers->count == 0 || layers->layers[0].geometry.number != 0)
        return bloom_database_damaged(layers->database, BLOOM_SHADOW_LAYERS, "%s",
                                      "it has no first layer");
    for (unsigned i = 0; i < layers->count; i++)
        if (layers->layers[i].geometry.generation >= layers->layers[last].geometry.generation)
            last = i;
    layers->newest = layers->layers[last].geometry.generation;
    layers->first = (last + 1) % layers->count;
    for (unsigned i = 0; i < layers->count; i++) {
        const struct bloom_geometry *geometry = &layers->layers[i].geometry;
        generations += geometry->number % SLOT_ROWS == 0;
        if (layers->newest - geometry->generation >= layers->growth.generations)
            return damaged(layers, geometry->number, "is of a generation that should be forgotten");
    }
    if (generations < layers->growth.generations && generations <= layers->newest)
        return bloom_database_damaged(layers->database, BLOOM_SHADOW_LAYERS,
                                      "there are %u generations up to number %u", generations,
                                      layers->newest);
    return SQLITE_OK;
}

/* Reads all rows. When there is one with the number of wanted, wanted becomes it (learned), even if
 * it is of a generation that is forgotten. NULL: none is wanted. */
static int read_layers(struct bloom_layers *layers, struct bloom_layer *wanted) {
    sqlite3_stmt *statement;
    bool row;
    layers->count = 0;
    int code = bloom_database_read(layers->database, BLOOM_READ_LAYERS, 0, 0, &statement, &row);
    if (code != SQLITE_OK)
        return code;
    for (; code == SQLITE_OK && row; row = sqlite3_step(statement) == SQLITE_ROW)
        code = read_layer(layers, statement, wanted);
    code = bloom_database_end(layers->database, BLOOM_READ_LAYERS, code);
    return code == SQLITE_OK ? find_newest(layers) : code;
}

static int know(struct bloom_layers *layers, enum bloom_chunk_sizes sizes) {
    if ((layers->proof == BLOOM_PROOF_LOOKS && is_proven_by_looks(layers)) ||
        (layers->proof == BLOOM_PROOF_VERSION && is_proven_by_version(layers)))
        return SQLITE_OK;
    bloom_layers_forget(layers);
    int code = read_layers(layers, NULL);
    if (code == SQLITE_OK)
        find_proof(layers);
    const bool proven = layers->proof != BLOOM_PROOF_NONE;
    const bool checks = sizes == BLOOM_SIZES_NOW || (sizes == BLOOM_SIZES_LATER && proven);
    for (unsigned i = 0; checks && code == SQLITE_OK && i < layers->count; i++) {
        struct bloom_geometry *geometry = &layers->layers[i].geometry;
        if (!geometry->checked)
            code = bloom_chunks_check(layers->chunks, geometry, &geometry->checked);
    }
    if (!checks || !proven)
        uncheck(layers);
    return code;
}

int bloom_layers_start(struct bloom_layers *layers, enum bloom_chunk_sizes sizes) {
    int code = bloom_database_enter(layers->database);
    if (code != SQLITE_OK)
        return code;
    layers->page_room = 0;
    code = know(layers, sizes);
    return code == SQLITE_OK ? code : bloom_layers_finish(layers, code, false);
}

int bloom_layers_finish(struct bloom_layers *layers, int code, bool changed) {
    if (layers->cursors == 0)
        bloom_chunks_rest(layers->chunks);
    if (code == SQLITE_OK)
        settle_proof(layers, changed);
    else
        bloom_layers_forget(layers);
    return code;
}

/* Changes */

unsigned bloom_layers_older(const struct bloom_layers *layers) {
    const unsigned last = layers->count - 1;
    return last - bloom_layers_at(layers, last)->geometry.number % SLOT_ROWS;
}

/* Whether a row has that generation and these sums; the other rows may be anything. */
static int read_back(struct bloom_layers *layers, unsigned number, uint32_t generation,
                     const struct bloom_sums *sums, bool *same) {
    sqlite3_stmt *statement;
    sqlite3_int64 numbers[COLUMNS];
    bool row;
    *same = false;
    int code = bloom_database_read(layers->database, BLOOM_READ_LAYERS, 0, 0, &statement, &row);
    if (code != SQLITE_OK)
        return code;
    for (; row; row = sqlite3_step(statement) == SQLITE_ROW)
        *same |= sqlite3_column_int64(statement, 0) == number && read_numbers(statement, numbers) &&
                 numbers[GENERATION] == generation && (uint64_t)numbers[KEYS] == sums->keys &&
                 (uint64_t)numbers[CHUNKS] == sums->chunks && (uint64_t)numbers[ONES] == sums->ones;
    return bloom_database_end(layers->database, BLOOM_READ_LAYERS, code);
}

static int update_row(struct bloom_layers *layers, unsigned number, uint32_t generation,
                      const struct bloom_sums *sums) {
    sqlite3_stmt *statement;
    int code = bloom_database_begin(layers->database, BLOOM_WRITE_LAYER, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)sums->keys);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)sums->chunks);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)sums->ones);
    sqlite3_bind_int64(statement, 5, generation);
    return bloom_database_write(layers->database, BLOOM_WRITE_LAYER, 1);
}

/* Writes sums and generation of the row of a layer. They are read back until every column was seen
 * to change since the statement was prepared: an authorizer may have hidden one from it. The others
 * are then written as they were, and same is false. */
static int try_row(struct bloom_layers *layers, const struct bloom_layer *former,
                   uint32_t generation, const struct bloom_sums *sums, bool *same) {
    const unsigned number = former->geometry.number;
    bool *const proven = &layers->database->writes_layers;
    *same = true;
    *proven &= generation == former->geometry.generation && sums->chunks == former->sums.chunks;
    if (*proven)
        return update_row(layers, number, generation, sums);
    /* What reads must not be refused when the row is written. */
    int code = bloom_database_prepare(layers->database, 1u << BLOOM_READ_LAYERS);
    if (code == SQLITE_OK)
        code = update_row(layers, number, generation, sums);
    if (code == SQLITE_OK)
        code = read_back(layers, number, generation, sums, same);
    if (code != SQLITE_OK)
        return code;
    *proven = *same && sums->keys != former->sums.keys && sums->ones != former->sums.ones;
    return *same ? code : update_row(layers, number, former->geometry.generation, &former->sums);
}

/* The statement may be of an authorizer that is gone, which SQLite does not say: it is prepared
 * anew before somebody is told of one. */
static int write_row(struct bloom_layers *layers, const struct bloom_layer *former,
                     uint32_t generation, const struct bloom_sums *sums) {
    bool same;
    int code = try_row(layers, former, generation, sums, &same);
    if (code == SQLITE_OK && !same) {
        bloom_database_forget(layers->database);
        code = try_row(layers, former, generation, sums, &same);
    }
    return code == SQLITE_OK && !same ? bloom_database_hidden(layers->database) : code;
}

int bloom_layers_write(struct bloom_layers *layers, struct bloom_layer *layer,
                       const struct bloom_sums *sums) {
    int code = write_row(layers, layer, layer->geometry.generation, sums);
    if (code == SQLITE_OK)
        set_sums(layer, sums);
    return code;
}

/* Chunks whose layer somebody took away count for nothing: none is left from that layer on to the
 * end of its slot. */
static int delete_strays(struct bloom_layers *layers, unsigned number) {
    const sqlite3_int64 from = bloom_chunks_first_id(number);
    const sqlite3_int64 to = layers->growth.generations == 1
                                 ? INT64_MAX
                                 : bloom_chunks_first_id((number / SLOT_ROWS + 1) * SLOT_ROWS) - 1;
    sqlite3_int64 id;
    bool any;
    int code = bloom_chunks_last(layers->chunks, from, to, &any, &id);
    return code == SQLITE_OK && any ? bloom_chunks_delete(layers->chunks, from, to) : code;
}

static int prepare_layer(struct bloom_layers *layers) {
    int code =
        bloom_database_prepare(layers->database, 1u << BLOOM_LAST_CHUNK | 1u << BLOOM_NEW_LAYER);
    return code == SQLITE_OK && layers->page_room == 0
               ? bloom_database_room_on_page(layers->database, &layers->page_room)
               : code;
}

/* Makes the row of a layer, by its number, for a generation; or takes the one that an older
 * generation has left, which was learned. */
static int open_layer(struct bloom_layers *layers, const struct bloom_layer *layer,
                      uint32_t generation) {
    const unsigned number = layer->geometry.number;
    struct bloom_shape shape;
    uint8_t header[BLOOM_HEADER_BYTES_MAXIMUM];
    char problem[BLOOM_PROBLEM_SIZE];
    bool any;
    sqlite3_stmt *statement;
    if (layer->learned) {
        int code = bloom_chunks_check(layers->chunks, &layer->geometry, &any);
        return code == SQLITE_OK ? write_row(layers, layer, generation, &(struct bloom_sums){0})
                                 : code;
    }
    int code = prepare_layer(layers);
    if (code == SQLITE_OK)
        code = delete_strays(layers, number);
    if (code == SQLITE_OK)
        code = bloom_database_begin(layers->database, BLOOM_NEW_LAYER, &statement);
    if (code != SQLITE_OK)
        return code;
    /* Every layer is possible when the first one is, which the options were asked for. */
    bloom_growth_shape(&layers->growth, number % SLOT_ROWS, &shape, problem);
    bloom_header_write(&shape, header);
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_blob(statement, 2, header, (int)bloom_header_bytes(&shape), SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement, 3, bloom_blocks_in_room(&shape, layers->page_room));
    sqlite3_bind_int64(statement, 4, generation);
    return bloom_database_write(layers->database, BLOOM_NEW_LAYER, 1);
}

int bloom_layers_create(struct bloom_layers *layers) {
    return open_layer(layers, &(struct bloom_layer){.learned = false}, 0);
}

static int open_next(struct bloom_layers *layers, unsigned number, uint32_t generation) {
    struct bloom_layer next = {.geometry.number = number};
    int code = read_layers(layers, &next);
    if (code == SQLITE_OK)
        code = open_layer(layers, &next, generation);
    return code == SQLITE_OK ? read_layers(layers, NULL) : code;
}

int bloom_layers_prepare(struct bloom_layers *layers, bool grows) {
    int code = bloom_database_prepare(layers->database,
                                      1u << BLOOM_READ_LAYERS | 1u << BLOOM_READ_CHUNK |
                                          1u << BLOOM_NEXT_CHUNK | 1u << BLOOM_WRITE_LAYER |
                                          1u << BLOOM_NEW_CHUNK | 1u << BLOOM_WRITE_CHUNK);
    return code == SQLITE_OK && grows ? prepare_layer(layers) : code;
}

int bloom_layers_grow(struct bloom_layers *layers) {
    const unsigned last = bloom_layers_at(layers, layers->count - 1)->geometry.number;
    if (layers->growth.mode == BLOOM_GROWTH_ERROR)
        return bloom_database_fail(layers->database, SQLITE_ERROR,
                                   "the table is full: it was made for %llu keys, and growth=error "
                                   "refuses more; make one with a larger capacity",
                                   (sqlite3_uint64)layers->growth.capacity);
    int code = bloom_layers_prepare(layers, true);
    return code == SQLITE_OK ? open_next(layers, last + 1, layers->newest) : code;
}

int bloom_layers_rotate(struct bloom_layers *layers) {
    const unsigned generations = layers->growth.generations;
    if (generations == 1)
        return bloom_database_fail(layers->database, SQLITE_ERROR,
                                   "the table has no generations to rotate; make one with "
                                   "generations=G, from 2 to 64");
    if (layers->newest == UINT32_MAX)
        return bloom_database_fail(layers->database, SQLITE_ERROR,
                                   "the table has rotated 4294967295 times, and there are no more "
                                   "numbers; the command clear begins anew");
    return open_next(layers, (layers->newest + 1) % generations * SLOT_ROWS, layers->newest + 1);
}

int bloom_layers_count(struct bloom_layers *layers, const struct bloom_layer *layer,
                       struct bloom_sums *has) {
    struct bloom_counts counts;
    uint8_t *blocks;
    *has = (struct bloom_sums){0};
    for (uint64_t chunk = 0;; chunk++) {
        int code = bloom_chunk_next(layers->chunks, &layer->geometry, &chunk, &counts, &blocks);
        if (code == SQLITE_OK && blocks != NULL)
            code = bloom_counts_check(layers->chunks, &layer->geometry, chunk, &counts);
        if (code != SQLITE_OK || blocks == NULL)
            return code;
        has->keys += counts.keys;
        has->ones += counts.ones;
    }
}

bool bloom_layer_may_fill(const struct bloom_layer *layer, uint64_t keys) {
    const uint64_t more = (BLOOM_REPORT_KEYS - 1) * layer->sums.chunks + keys;
    return layer->sums.keys + more >= layer->limits.keys ||
           layer->sums.ones + more * layer->geometry.shape.probes >= layer->limits.ones;
}

/* Whether a chunk must report counts that have become these, when so many keys may follow. */
static bool must_report(const struct bloom_layers *layers, const struct bloom_layer *layer,
                        const struct bloom_counts *counts, uint64_t more) {
    const int64_t most = BLOOM_REPORT_KEYS - 1;
    const int64_t most_ones = BLOOM_REPORT_KEYS * (int64_t)layer->geometry.shape.probes - 1;
    int64_t keys = (int64_t)counts->keys - counts->reported_keys;
    int64_t ones = (int64_t)counts->ones - counts->reported_ones;
    return counts->reported_keys == 0 || keys > most || keys < -most || ones > most_ones ||
           ones < -most_ones || layers->growth.mode == BLOOM_GROWTH_ERROR ||
           bloom_layer_may_fill(layer, more);
}

/* A sum and what is added to it, or taken off. Clamped at 0: stored counts are not trusted. */
static uint64_t sum_of(uint64_t sum, uint32_t now, uint32_t reported) {
    return sum + now > reported ? sum + now - reported : 0;
}

void bloom_sums_report(struct bloom_sums *sums, struct bloom_counts *counts) {
    sums->keys = sum_of(sums->keys, counts->keys, counts->reported_keys);
    sums->chunks = sum_of(sums->chunks, counts->keys > 0, counts->reported_keys > 0);
    sums->ones = sum_of(sums->ones, counts->ones, counts->reported_ones);
    counts->reported_keys = counts->keys;
    counts->reported_ones = counts->ones;
}

int bloom_layers_report(struct bloom_layers *layers, struct bloom_layer *layer,
                        struct bloom_counts *counts, uint64_t more) {
    struct bloom_sums sums = layer->sums;
    if (!must_report(layers, layer, counts, more))
        return SQLITE_OK;
    bloom_sums_report(&sums, counts);
    return bloom_layers_write(layers, layer, &sums);
}

int bloom_layers_truncate(struct bloom_layers *layers, unsigned number) {
    sqlite3_stmt *statement;
    int code = bloom_chunks_delete(layers->chunks, bloom_chunks_first_id(number), INT64_MAX);
    if (code == SQLITE_OK)
        code = bloom_database_begin(layers->database, BLOOM_DELETE_LAYERS, &statement);
    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(statement, 1, number);
    code = bloom_database_write(layers->database, BLOOM_DELETE_LAYERS, -1);
    if (code == SQLITE_OK)
        code = read_layers(layers, NULL);
    return code == SQLITE_OK && layers->count > number ? bloom_database_hidden(layers->database)
                                                       : code;
}

/* Numbers of generations begin anew. The row comes first, and is put back when the chunks cannot be
 * deleted: another connection of a shared cache reads them, or the authorizer hides them. */
int bloom_layers_clear(struct bloom_layers *layers) {
    const struct bloom_layer *first = &layers->layers[0];
    bloom_chunks_rest(layers->chunks);
    int code = bloom_database_prepare(layers->database, 1u << BLOOM_LAST_CHUNK |
                                                            1u << BLOOM_DELETE_LAYERS |
                                                            1u << BLOOM_DELETE_CHUNKS);
    if (code == SQLITE_OK)
        code = write_row(layers, first, 0, &(struct bloom_sums){0});
    if (code != SQLITE_OK)
        return code;
    code = bloom_chunks_delete(layers->chunks, INT64_MIN, INT64_MAX);
    if (code == SQLITE_OK)
        return bloom_layers_truncate(layers, 1);
    const int restored = update_row(layers, 0, first->geometry.generation, &first->sums);
    return restored == SQLITE_OK ? code : restored;
}

/* Statements and transactions */

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
}

/* A statement of our own may make savepoints, which are its own business: it goes well or it fails,
 * which its caller deals with. */
void bloom_layers_savepoint(struct bloom_layers *layers, bool rolled_back) {
    if (*layers->database->running > 0)
        return;
    bloom_chunks_rest(layers->chunks);
    if (rolled_back) {
        bloom_layers_forget(layers);
        uncheck(layers);
    }
}

void bloom_layers_end(struct bloom_layers *layers, bool rolled_back) {
    bloom_chunks_rest(layers->chunks);
    bloom_layers_forget(layers);
    if (rolled_back)
        uncheck(layers);
    layers->told = false;
}
