/* Reads a filter table by plain SQL, as ext/FORMAT-tables.md has it, and changes what was read as a
 * statement must change the table. The filter library gives the sizes of layers and chunks, which
 * tests/library/growth_test.c compares with that page, and works on blocks. */
#include "simulator.h"

#include "base/portable.h"
#include "hash/murmur3.h"
#include "table/span.h"

#include <math.h>
#include <stdlib.h>

enum {
    CHUNK_BITS = 40,
    SLOT_LAYERS = 64,
    HEAD_BYTES = 16,
    ROW_0_BYTES = 72,
    LAYERS = AGES_MOST * LAYERS_MOST
};

/* ---- Layers ---- */

static const struct bloom_blocks *blocks_of(const struct raw_layer *layer) {
    return layer->form.shape.layout->blocks;
}

static size_t layer_bytes(const struct raw_layer *layer) {
    return (size_t)layer->form.blocks * blocks_of(layer)->bytes;
}

static void *allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    expect(memory != NULL, "no memory");
    return memory;
}

/* The layer of a generation; those before it come to be, too, of zeros. */
static struct raw_layer *layer_at(struct raw *raw, unsigned age, unsigned index) {
    struct raw_layer *first = raw->layers + age * LAYERS_MOST;
    char problem[BLOOM_PROBLEM_SIZE];
    expect(index < LAYERS_MOST, "layer %u", index);
    for (struct raw_layer *layer = first; layer <= first + index; layer++)
        if (layer->blocks == NULL) {
            expect(bloom_growth_layer(&raw->options.growth, (unsigned)(layer - first), &layer->form,
                                      problem),
                   "no layer: %s", problem);
            layer->blocks = allocate(layer_bytes(layer), 1);
            layer->chunks = allocate((size_t)layer->form.chunks, sizeof *layer->chunks);
        }
    return first + index;
}

static struct raw_chunk *chunk_of(const struct raw_layer *layer, const uint64_t *words) {
    const uint64_t block = bloom_block_of(&layer->form.shape, words);
    return &layer->chunks[bloom_layer_chunk_of(&layer->form, block)];
}

static uint8_t *block_of(const struct raw_layer *layer, const uint64_t *words) {
    return layer->blocks +
           bloom_block_of(&layer->form.shape, words) * (size_t)blocks_of(layer)->bytes;
}

/* The bytes of a chunk, from those of its layer on. */
static size_t chunk_start(const struct raw_layer *layer, uint64_t chunk) {
    return (size_t)bloom_layer_chunk_start(&layer->form, chunk) * blocks_of(layer)->bytes;
}

static bool is_full(const struct raw_layer *layer, const struct raw_chunk *chunk) {
    const uint64_t number = (uint64_t)(chunk - layer->chunks);
    return bloom_layer_is_full(&layer->form, bloom_layer_chunk_blocks(&layer->form, number),
                               chunk->keys, chunk->ones);
}

static void clear_layers(struct raw_layer *layers, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        free(layers[i].blocks);
        free(layers[i].chunks);
    }
    memset(layers, 0, count * sizeof *layers);
}

void raw_clear(struct raw *raw) {
    clear_layers(raw->layers, LAYERS);
}

void raw_copy(struct raw *copy, const struct raw *raw) {
    *copy = *raw;
    memset(copy->layers, 0, sizeof copy->layers);
    for (unsigned i = 0; i < LAYERS; i++)
        if (raw->layers[i].blocks != NULL) {
            const struct raw_layer *from = &raw->layers[i];
            const struct raw_layer *to = layer_at(copy, i / LAYERS_MOST, i % LAYERS_MOST);
            memcpy(to->blocks, from->blocks, layer_bytes(from));
            memcpy(to->chunks, from->chunks, (size_t)from->form.chunks * sizeof *from->chunks);
        }
}

bool has_rows(const struct raw_layer *layer) {
    bool has = false;
    for (uint64_t c = 0; c < layer->form.chunks; c++)
        has = has || layer->chunks[c].exists;
    return has;
}

/* ---- Reading ---- */

static void digest_row(uint64_t *digest, sqlite3_int64 id, const void *bytes, size_t length) {
    *digest = bloom_mix(*digest + bloom_hash_integer(id).words[0]) +
              bloom_hash_bytes(bytes != NULL ? bytes : "", length).words[0];
}

/* The state of a connection, which lists the objects of its filter tables. The statement connects
 * this one, as each use does, unless a lock is in the way. A step may disconnect any of them. */
static const struct bloom_connection *state_of(sqlite3 *database, const char *schema,
                                               const char *name) {
    struct bloom_connection *connection = bloom_connection_open(database);
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(database, sql_of("SELECT 1 FROM %s.%s WHERE key = 1", schema, name), -1,
                       &statement, NULL);
    sqlite3_finalize(statement);
    expect(connection != NULL, "no memory for a connection");
    bloom_connection_close(connection);
    return connection;
}

static bool is_of(const struct bloom_span *span, const char *schema, const char *name) {
    return sqlite3_stricmp(span->database.schema, schema) == 0 &&
           sqlite3_stricmp(span->database.name, name) == 0;
}

void write_drafts(const struct connection *connection) {
    for (unsigned schema = 0; schema < SCHEMAS; schema++)
        for (unsigned name = 0; connection->links[schema].file != NULL && name < NAMES; name++)
            for (struct bloom_span *span =
                     state_of(connection->database, SCHEMA[schema], NAME[name])->tables;
                 span != NULL; span = span->next)
                if (is_of(span, SCHEMA[schema], NAME[name]))
                    bloom_span_write(span);
}

void forget_detached(sqlite3 *database) {
    struct bloom_connection *connection = bloom_connection_open(database);
    expect(connection != NULL, "no memory for a connection");
    for (struct bloom_span *span = connection->tables; span != NULL; span = span->next)
        if (sqlite3_stricmp(span->database.schema, SCHEMA[1]) == 0)
            bloom_span_end(span);
    bloom_connection_close(connection);
}

/* Returns true if the rows that an object has in memory must be right now. */
static bool is_current(const struct bloom_span *span) {
    sqlite3 *database = span->database.connection;
    unsigned version = 0;
    if (span->has_twins || span->writing.transaction == BLOOM_MAKING)
        return false;
    if (span->writing.transaction == BLOOM_BEGUN)
        return true;
    sqlite3_file_control(database, span->database.schema, SQLITE_FCNTL_DATA_VERSION, &version);
#if SQLITE_VERSION_NUMBER >= 3034000
    if (sqlite3_txn_state(database, span->database.schema) == SQLITE_TXN_WRITE)
        return false;
#else
    if (!sqlite3_get_autocommit(database))
        return false;
#endif
    return version == span->version;
}

/* The row that counts: a draft, or else what is in the database, which any other row in memory
 * equals. Looking there changes nothing, whereas a savepoint would write the drafts. */
static const void *row_that_counts(const struct bloom_span *span, const char *schema,
                                   const char *name, sqlite3_int64 id, const void *bytes,
                                   size_t length) {
    struct bloom_row *kept;
    for (; span != NULL && id > 0; span = span->next) {
        if (!is_of(span, schema, name) || bloom_rows_find(&span->rows, id, &kept) != BLOOM_KEPT)
            continue;
        if (kept->is_draft)
            return kept->bytes;
        expect(!is_current(span) || memcmp(kept->bytes, bytes, length) == 0,
               "row %lld is another one in memory than in the database", (long long)id);
    }
    return bytes;
}

/* What CREATE has written; only the newest generation and the number of the period change. */
static void read_row_0(struct raw *raw, const uint8_t *bytes) {
    struct bloom_growth *growth = &raw->options.growth;
    uint8_t expected[ROW_0_BYTES] = {0x89, 'B', 'L', 'T', 1};
    uint64_t rate, checksum[2];
    growth->chunk_blocks = bloom_load32(bytes + 12);
    raw->newest = bloom_load32(bytes + 48);
    raw->period = (int64_t)bloom_load64(bytes + 52);
    raw->has_period = bytes[60] != 0;
    expected[5] = growth->layout == &bloom_layout_counting ? 4 : 1;
    expected[6] = growth->keying.salted ? 10 : 1;
    expected[8] = TYPES[raw->options.key].affinity;
    expected[9] = (uint8_t)growth->mode;
    expected[10] = (uint8_t)growth->generations;
    bloom_store32(expected + 12, growth->chunk_blocks);
    bloom_store64(expected + 16, growth->capacity);
    memcpy(&rate, &growth->rate, sizeof rate);
    bloom_store64(expected + 24, rate);
    bloom_store64(expected + 32, growth->keying.salt[0]);
    bloom_store64(expected + 40, growth->keying.salt[1]);
    bloom_store32(expected + 48, (uint32_t)raw->newest);
    bloom_store64(expected + 52, raw->has_period ? (uint64_t)raw->period : 0);
    expected[60] = raw->has_period;
    bloom_murmur3_bytes(expected, 64, checksum);
    bloom_store64(expected + 64, checksum[0]);
    expect(memcmp(bytes, expected, sizeof expected) == 0, "row 0 is not what the options are");
    expect(growth->generations > 1 || (raw->newest == 0 && !raw->has_period),
           "a second generation");
    for (unsigned age = 0; age < growth->generations && age <= raw->newest; age++)
        layer_at(raw, age, 0);
}

/* Each row must be one that the extension writes: nobody else leaves damaged ones. */
static void read_chunk(struct raw *raw, sqlite3_int64 id, const uint8_t *bytes, size_t length) {
    const uint64_t slot = (uint64_t)id >> CHUNK_BITS, ages = raw->options.growth.generations;
    const uint64_t number = ((uint64_t)id & ((UINT64_C(1) << CHUNK_BITS) - 1)) - 1;
    const unsigned index = (unsigned)(slot % SLOT_LAYERS);
    const uint64_t age = (raw->newest % ages + ages - slot / SLOT_LAYERS % ages) % ages;
    expect(id > 0 && slot / SLOT_LAYERS < ages && age <= raw->newest &&
               (index == 0 || raw->options.growth.mode == BLOOM_GROWTH_ON),
           "row %lld is of no layer", (long long)id);
    const struct raw_layer *layer = layer_at(raw, (unsigned)age, index);
    expect(number < layer->form.chunks, "row %lld is of no chunk", (long long)id);
    struct raw_chunk *chunk = &layer->chunks[number];
    const size_t start = chunk_start(layer, number), used = chunk_start(layer, number + 1) - start;
    expect(length == HEAD_BYTES + used && bloom_load32(bytes + 8) <= raw->newest - age &&
               (bloom_load32(bytes + 12) == 0x55555555 ||
                (bloom_load32(bytes + 12) == 0xaaaaaaaa && layer->form.ones_limit != UINT64_MAX)),
           "row %lld is damaged", (long long)id);
    if (bloom_load32(bytes + 8) < raw->newest - age)
        return;
    memcpy(layer->blocks + start, bytes + HEAD_BYTES, used);
    *chunk = (struct raw_chunk){.exists = true,
                                .ones = bloom_load32(bytes),
                                .keys = bloom_load32(bytes + 4),
                                .closed = bytes[12] == 0xaa};
}

bool raw_read(struct connection *connection, unsigned schema, unsigned slot, struct raw *raw) {
    const struct table *table = &view(connection, schema)->tables[slot];
    const char *name = NAME[table->name];
    int code;
    *raw = (struct raw){.options = table->options};
    sqlite3_stmt *statement = statement_of(connection, schema, table->name,
                                           "SELECT id, data FROM %s.%s_data ORDER BY id", &code);
    const struct bloom_connection *state =
        statement != NULL ? state_of(connection->database, SCHEMA[schema], name) : NULL;
    for (bool is_first = true; state != NULL && sqlite3_step(statement) == SQLITE_ROW;
         is_first = false) {
        const sqlite3_int64 id = sqlite3_column_int64(statement, 0);
        const void *bytes = sqlite3_column_blob(statement, 1);
        const size_t length = (size_t)sqlite3_column_bytes(statement, 1);
        expect(sqlite3_column_type(statement, 1) == SQLITE_BLOB && is_first == (id == 0) &&
                   (id != 0 || length == ROW_0_BYTES),
               "row %lld of %u bytes", (long long)id, (unsigned)length);
        bytes = row_that_counts(state->tables, SCHEMA[schema], name, id, bytes, length);
        digest_row(&raw->digest, id, bytes, length);
        if (is_first)
            read_row_0(raw, bytes);
        else
            read_chunk(raw, id, bytes, length);
    }
    if (statement != NULL)
        code = sqlite3_reset(statement);
    code = really(connection, code);
    if (is_busy(code)) {
        raw_clear(raw);
        refused(connection, schema);
        return false;
    }
    expect(code == SQLITE_OK && raw->options.growth.chunk_blocks > 0,
           "%s: the shadow table of %s.%s cannot be read: %s", connection->name, SCHEMA[schema],
           name, sqlite3_errmsg(connection->database));
    connection->links[schema].sure = connection->in_transaction;
    return true;
}

bool look_raw(struct connection *connection, unsigned schema, unsigned slot, struct raw *raw) {
    if (!raw_read(connection, schema, slot, raw))
        return false;
    struct table *table = &view(connection, schema)->tables[slot];
    expect(table->unknown || table->digest == raw->digest,
           "%s: the rows of %s.%s are not those that were written last", connection->name,
           SCHEMA[schema], NAME[table->name]);
    table->digest = raw->digest;
    table->unknown = false;
    return true;
}

/* ---- The path of a key ---- */

/* Follows the path in one generation. *index is the layer where the key is found, or the first one
 * whose chunk is not closed. */
static bool follow(const struct raw *raw, unsigned age, unsigned key, unsigned *index) {
    const uint64_t *words = words_of(raw->options.key, key);
    const struct raw_layer *layer = raw->layers + age * LAYERS_MOST;
    for (*index = 0; *index < LAYERS_MOST && layer->blocks != NULL; ++*index, layer++) {
        const struct raw_chunk *chunk = chunk_of(layer, words);
        if (chunk->exists &&
            blocks_of(layer)->check(&layer->form.shape, block_of(layer, words), words))
            return true;
        if (!chunk->closed)
            return false;
    }
    return false;
}

bool raw_has(const struct raw *raw, unsigned key) {
    unsigned index;
    for (unsigned age = 0; age < raw->options.growth.generations; age++)
        if (follow(raw, age, key, &index))
            return true;
    return false;
}

/* ---- What a change makes of the bits ---- */

enum raw_added raw_add(struct raw *raw, unsigned key, bool again) {
    const uint64_t *words = words_of(raw->options.key, key);
    unsigned index;
    if (!again && raw_has(raw, key))
        return RAW_KNOWN;
    const bool found = follow(raw, 0, key, &index);
    if (!found && index > 0 && raw->options.growth.mode != BLOOM_GROWTH_ON)
        return RAW_FULL;
    if (found && raw->options.growth.layout != &bloom_layout_counting)
        return RAW_KNOWN;
    struct raw_layer *layer = layer_at(raw, 0, index);
    struct raw_chunk *chunk = chunk_of(layer, words);
    chunk->ones += blocks_of(layer)->add(&layer->form.shape, block_of(layer, words), words);
    if (found)
        return RAW_KNOWN;
    chunk->keys++;
    chunk->exists = true;
    chunk->closed = chunk->closed || is_full(layer, chunk);
    return RAW_NEW;
}

bool raw_remove(struct raw *raw, unsigned key) {
    const uint64_t *words = words_of(raw->options.key, key);
    unsigned index;
    if (!follow(raw, 0, key, &index))
        return false;
    const struct raw_layer *layer = &raw->layers[index];
    struct raw_chunk *chunk = chunk_of(layer, words);
    const unsigned zeros =
        blocks_of(layer)->remove(&layer->form.shape, block_of(layer, words), words);
    chunk->ones -= zeros;
    chunk->keys -= zeros > 0 && chunk->keys > 0;
    return true;
}

void raw_rotate(struct raw *raw) {
    const unsigned others = (raw->options.growth.generations - 1) * LAYERS_MOST;
    clear_layers(raw->layers + others, LAYERS_MOST);
    memmove(raw->layers + LAYERS_MOST, raw->layers, others * sizeof *raw->layers);
    memset(raw->layers, 0, LAYERS_MOST * sizeof *raw->layers);
    raw->newest++;
}

void raw_rotate_to(struct raw *raw, int64_t period) {
    if (raw->has_period && period <= raw->period)
        return;
    const uint64_t passed = raw->has_period ? (uint64_t)period - (uint64_t)raw->period : 0;
    for (unsigned i = 0; i < raw->options.growth.generations && i < passed; i++)
        raw_rotate(raw);
    raw->has_period = true;
    raw->period = period;
}

/* ---- Comparing ---- */

struct raw_size raw_size(const struct raw *raw) {
    struct raw_size size = {0, 0};
    for (const struct raw_layer *layer = raw->layers; layer < raw->layers + LAYERS; layer++)
        for (uint64_t c = 0; c < layer->form.chunks; c++) {
            size.rows += layer->chunks[c].exists;
            size.keys += layer->chunks[c].keys;
        }
    return size;
}

bool raw_same(const struct raw *raw, const struct raw *other, bool estimated) {
    bool same = raw->newest == other->newest && raw->has_period == other->has_period &&
                raw->period == other->period && raw_size(raw).rows == raw_size(other).rows;
    for (unsigned i = 0; i < LAYERS; i++) {
        const struct raw_layer *a = &raw->layers[i], *b = &other->layers[i];
        if (a->blocks == NULL || b->blocks == NULL)
            continue;
        same = same && memcmp(a->blocks, b->blocks, layer_bytes(a)) == 0;
        for (uint64_t c = 0; c < a->form.chunks; c++) {
            const struct raw_chunk *x = &a->chunks[c], *y = &b->chunks[c];
            same =
                same && x->exists == y->exists &&
                (estimated || (x->ones == y->ones && x->keys == y->keys && x->closed == y->closed));
        }
    }
    return same;
}

bool raw_contains(const struct raw *raw, const struct raw *part) {
    bool contains = true;
    for (unsigned i = 0; i < LAYERS && contains; i++) {
        const struct raw_layer *layer = &raw->layers[i], *less = &part->layers[i];
        contains = less->blocks == NULL || layer->blocks != NULL;
        if (less->blocks == NULL || layer->blocks == NULL)
            continue;
        const bool counts = blocks_of(layer)->remove != NULL; /* by 4 bits */
        for (size_t j = 0; j < layer_bytes(layer); j++) {
            const unsigned has = layer->blocks[j], must = less->blocks[j];
            contains = contains && (counts ? has >> 4 >= must >> 4 && (has & 15) >= (must & 15)
                                           : (must & ~has) == 0);
        }
        for (uint64_t c = 0; c < layer->form.chunks; c++)
            contains = contains && (layer->chunks[c].closed || !less->chunks[c].closed);
    }
    return contains;
}

static unsigned count_ones(const struct raw_layer *layer, uint64_t chunk) {
    const bool counts = blocks_of(layer)->remove != NULL; /* by 4 bits */
    unsigned ones = 0;
    for (size_t i = chunk_start(layer, chunk); i < chunk_start(layer, chunk + 1); i++) {
        unsigned byte = layer->blocks[i];
        if (counts)
            byte = (byte | byte >> 1 | byte >> 2 | byte >> 3) & 0x11;
        ones += (unsigned)__builtin_popcount(byte);
    }
    return ones;
}

/* A key that is counted has set one bit at least, and at most as many as there are probes. Where
 * keys are removed that is not so: some were not counted, because they seemed to be in. A chunk is
 * closed when it is full, and where no key can be removed only then. */
static void compare_chunk(const struct raw_layer *layer, uint64_t number, const char *where) {
    const struct raw_chunk *chunk = &layer->chunks[number];
    const bool counts = blocks_of(layer)->remove != NULL;
    const unsigned ones = count_ones(layer, number);
    expect(chunk->ones == ones, "%s: a chunk counts %u ones, and has %u", where,
           (unsigned)chunk->ones, ones);
    expect(counts || (chunk->keys <= ones && chunk->keys * layer->form.shape.probes >= ones),
           "%s: a chunk has %u keys, and %u bits are set", where, (unsigned)chunk->keys, ones);
    expect(chunk->closed == is_full(layer, chunk) || (counts && chunk->closed),
           "%s: a chunk with %u keys and %u ones is %s", where, (unsigned)chunk->keys, ones,
           chunk->closed ? "closed" : "not closed");
}

void compare_counts(const struct raw *raw, const char *where) {
    for (const struct raw_layer *layer = raw->layers; layer < raw->layers + LAYERS; layer++)
        for (uint64_t c = 0; c < layer->form.chunks; c++)
            if (layer->chunks[c].exists)
                compare_chunk(layer, c, where);
}

/* ---- Files ---- */

enum holding file_holds(const struct file *file, const struct content *content) {
    sqlite3 *database = open_database(file, SQLITE_OPEN_PRIVATECACHE);
    enum holding result = HOLDS;
    int code = SQLITE_OK;
    for (unsigned name = 0; name < NAMES && !is_busy(code); name++) {
        const struct table *table = table_named(content, name);
        sqlite3_stmt *statement;
        uint64_t digest = 0;
        const char *sql = sql_of("SELECT id, data FROM %s_data ORDER BY id", NAME[name]);
        code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
        const bool exists = code == SQLITE_OK;
        while (exists && sqlite3_step(statement) == SQLITE_ROW)
            digest_row(&digest, sqlite3_column_int64(statement, 0),
                       sqlite3_column_blob(statement, 1),
                       (size_t)sqlite3_column_bytes(statement, 1));
        if (exists)
            code = sqlite3_finalize(statement);
        expect(code == SQLITE_OK || is_busy(code) || (!exists && code == SQLITE_ERROR),
               "%s cannot be read: %s", file->path, sqlite3_errmsg(database));
        if (exists != (table != NULL) || (exists && !table->unknown && table->digest != digest))
            result = DIFFERS;
    }
    sqlite3_close(database);
    return is_busy(code) ? LOCKED : result;
}
