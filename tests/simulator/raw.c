/* Reads the shadow tables by plain SQL, as ext/FORMAT-tables.md describes them; and does to what
 * was read what a statement must do to it. */
#include "simulator.h"

#include "filter/growth.h"
#include "filter/header.h"

#include <stdlib.h>
#include <string.h>

bool is_busy(int code) {
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

unsigned failed_caches;

/* After memory or the disk has failed in a rollback, a cache that is shared answers so to
 * everything, until no connection reads any more. Whoever reads then plays the journal back. */
static void end_all(void) {
    failed_caches++;
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (connections[i].in_transaction) {
            model_rollback(&connections[i]);
            sqlite3_exec(connections[i].database, "ROLLBACK", NULL, NULL, NULL);
            note("%s: ROLLBACK, since the cache that is shared has failed", connections[i].name);
        }
}

static bool fails_of_itself(int code) {
    return code == SQLITE_NOMEM || (code & 0xff) == SQLITE_IOERR || code == SQLITE_FULL;
}

int really(struct connection *connection, int code) {
    char sql[80];
    if (code == SQLITE_OK || is_busy(code))
        return code;
    char *message = sqlite3_mprintf("%s", sqlite3_errmsg(connection->database));
    int locked = SQLITE_OK;
    for (unsigned schema = 0; schema < SCHEMAS && locked == SQLITE_OK; schema++) {
        sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]);
        if (connection->links[schema].file != NULL)
            locked = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    }
    note("%s: -- result %d (%s)", connection->name, code, message);
    sqlite3_free(message);
    if (shared_cache && (fails_of_itself(code) || fails_of_itself(locked))) {
        end_all();
        locked = sqlite3_exec(connection->database, "SELECT count(*) FROM main.sqlite_master", NULL,
                              NULL, NULL);
        return locked == SQLITE_OK ? SQLITE_BUSY : locked;
    }
    return is_busy(locked) ? locked : code;
}

void refused(struct connection *connection, unsigned schema) {
    refusals++;
    if (!connection->in_transaction || connection->links[schema].sure || shared_cache)
        return;
    sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
    note("%s: ROLLBACK, since its first look was refused", connection->name);
    model_rollback(connection);
}

/* ---- The shadow tables ---- */

void raw_clear(struct raw *raw) {
    for (unsigned i = 0; i < raw->layer_count; i++)
        free(raw->layers[i].payload), free(raw->layers[i].each);
    raw->layer_count = 0;
}

static void digest(struct raw *raw, const void *bytes, size_t length) {
    raw->digest = raw->digest * 31 + bloom_hash_bytes(bytes, length).words[0];
}

static void digest_number(struct raw *raw, sqlite3_int64 number) {
    raw->digest = raw->digest * 31 + bloom_hash_integer(number).words[0];
}

/* The form of the rows. A chunk begins with five numbers of four bytes, and four zero bytes. */
enum { LAYER_SHIFT = 40, COUNT_BYTES = 4, COUNTS_BYTES = 24, ROW_BYTES_MOST = 65536 };
enum { KEYS, ONES, REPORTED_KEYS, REPORTED_ONES, GENERATION, ZERO };
enum { REPORT_AT = 16 }; /* keys that a chunk has not reported */

static uint32_t read_count(const uint8_t *row, unsigned which) {
    const uint8_t *bytes = row + (size_t)which * COUNT_BYTES;
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Rows of a slot: generation g of G has those from 64 * (g mod G) on. */
enum { SLOT_ROWS = 64 };

/* A further row of a slot that an older generation has left. */
static bool is_stale_layer(const struct raw *raw, sqlite3_stmt *row) {
    const struct raw_layer *before =
        raw->layer_count > 0 ? &raw->layers[raw->layer_count - 1] : NULL;
    uint64_t number = (uint64_t)sqlite3_column_int64(row, 0);
    return before != NULL && number % SLOT_ROWS > 0 &&
           number / SLOT_ROWS == before->number / SLOT_ROWS &&
           sqlite3_column_int64(row, 6) < (sqlite3_int64)before->generation;
}

static bool is_next_layer(const struct raw *raw, sqlite3_stmt *row) {
    const struct raw_layer *before =
        raw->layer_count > 0 ? &raw->layers[raw->layer_count - 1] : NULL;
    sqlite3_int64 number = sqlite3_column_int64(row, 0), generation = sqlite3_column_int64(row, 6);
    if (number < 0 || number / SLOT_ROWS >= raw->ages || generation < 0 ||
        generation > (raw->ages > 1 ? UINT32_MAX : 0) ||
        generation % raw->ages != number / SLOT_ROWS)
        return false;
    return number % SLOT_ROWS == 0 || (before != NULL && (uint64_t)number == before->number + 1 &&
                                       (uint64_t)generation == before->generation);
}

/* Brings the layers of the newest generation to the end. Of all that may live, none is missing. */
static void sort_generations(struct raw *raw) {
    static struct raw_layer sorted[LAYERS_MOST];
    unsigned last = 0, generations = 0;
    for (unsigned i = 0; i < raw->layer_count; i++) {
        uint64_t age = raw->newest - raw->layers[i].generation;
        last = age == 0 ? i : last;
        raw->sane = raw->sane && age < raw->ages;
        raw->layers[i].age = age < AGES_MOST ? (unsigned)age : 0;
        generations += raw->layers[i].index == 0;
    }
    if (raw->layer_count == 0 || raw->layers[0].number != 0 ||
        (generations < raw->ages && generations <= raw->newest))
        raw->sane = false;
    for (unsigned i = 0; i < raw->layer_count; i++)
        sorted[i] = raw->layers[(last + 1 + i) % raw->layer_count];
    memcpy(raw->layers, sorted, raw->layer_count * sizeof *sorted);
}

static void read_layer(struct raw *raw, sqlite3_stmt *row) {
    struct raw_layer *layer = &raw->layers[raw->layer_count];
    char problem[BLOOM_PROBLEM_SIZE];
    const uint8_t *header = sqlite3_column_blob(row, 1);
    int length = sqlite3_column_bytes(row, 1);
    for (int i = 0; i < 7; i++)
        if (i != 1)
            digest_number(raw, sqlite3_column_int64(row, i));
    if (header != NULL)
        digest(raw, header, (size_t)length);
    if (is_stale_layer(raw, row))
        return;
    if (!raw->sane || raw->layer_count == LAYERS_MOST || !is_next_layer(raw, row) ||
        !bloom_header_read(&layer->shape, header, (uint64_t)length, problem) ||
        (unsigned)length != bloom_header_bytes(&layer->shape) ||
        layer->shape.layout->blocks == NULL) {
        raw->sane = false;
        return;
    }
    layer->number = (uint64_t)sqlite3_column_int64(row, 0);
    layer->index = (unsigned)(layer->number % SLOT_ROWS);
    layer->generation = (uint64_t)sqlite3_column_int64(row, 6);
    if (layer->generation > raw->newest)
        raw->newest = layer->generation;
    if (raw->layer_count == 0)
        memcpy(raw->header, header, (size_t)length);
    size_t block_bytes = layer->shape.layout->blocks->bytes;
    layer->chunk_blocks = (uint64_t)sqlite3_column_int64(row, 2);
    layer->keys = (uint64_t)sqlite3_column_int64(row, 3);
    layer->chunks = (uint64_t)sqlite3_column_int64(row, 4);
    layer->ones = (uint64_t)sqlite3_column_int64(row, 5);
    layer->rows = layer->bits = layer->chunk_count = 0;
    layer->payload = calloc(1, (size_t)bloom_payload_bytes(&layer->shape));
    if (layer->chunk_blocks < 1 ||
        layer->chunk_blocks > (ROW_BYTES_MOST - COUNTS_BYTES) / block_bytes) {
        raw->sane = false;
    } else {
        uint64_t chunk_bytes = layer->chunk_blocks * block_bytes;
        layer->chunk_count = (bloom_payload_bytes(&layer->shape) + chunk_bytes - 1) / chunk_bytes;
    }
    layer->each = calloc((size_t)layer->chunk_count + 1, sizeof *layer->each);
    expect(layer->payload != NULL && layer->each != NULL, "no memory");
    raw->layer_count++;
}

static unsigned count_set(const struct bloom_shape *shape, const uint8_t *bytes, uint64_t length) {
    const bool counters = shape->layout->blocks->remove != NULL; /* of 4 bits */
    unsigned count = 0;
    for (uint64_t i = 0; i < length; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word); /* blocks are of whole words */
        if (counters)
            word = (word | word >> 1 | word >> 2 | word >> 3) & UINT64_C(0x1111111111111111);
        count += (unsigned)__builtin_popcountll(word);
    }
    return count;
}

static void read_chunk(struct raw *raw, sqlite3_stmt *row) {
    sqlite3_int64 id = sqlite3_column_int64(row, 0);
    const uint8_t *bytes = sqlite3_column_blob(row, 1);
    uint64_t length = (uint64_t)sqlite3_column_bytes(row, 1);
    digest_number(raw, id);
    digest(raw, bytes, (size_t)length);
    uint64_t layer_number = (uint64_t)id >> LAYER_SHIFT;
    uint64_t number = (uint64_t)id & ((UINT64_C(1) << LAYER_SHIFT) - 1);
    struct raw_layer *layer = NULL;
    for (unsigned i = 0; i < raw->layer_count; i++)
        if (raw->layers[i].number == layer_number)
            layer = &raw->layers[i];
    if (layer == NULL) {
        raw->strays += raw->ages == 1 || layer_number / SLOT_ROWS >= raw->ages;
        return;
    }
    uint64_t chunk_bytes = layer->chunk_blocks * layer->shape.layout->blocks->bytes;
    if (length != COUNTS_BYTES + chunk_bytes) {
        raw->sane = false;
        raw->wrong_chunk_size = true;
        return;
    }
    if (number >= layer->chunk_count) {
        raw->strays++;
        return;
    }
    if (read_count(bytes, GENERATION) < layer->generation)
        return;
    const uint8_t *bits = bytes + COUNTS_BYTES;
    uint64_t first = number * chunk_bytes, whole = bloom_payload_bytes(&layer->shape);
    uint64_t used = whole - first < chunk_bytes ? whole - first : chunk_bytes;
    layer->rows++;
    layer->each[number] = (struct raw_chunk){.keys = read_count(bytes, KEYS),
                                             .ones = read_count(bytes, ONES),
                                             .reported_keys = read_count(bytes, REPORTED_KEYS),
                                             .reported_ones = read_count(bytes, REPORTED_ONES),
                                             .bits = count_set(&layer->shape, bits, used)};
    layer->bits += layer->each[number].bits;
    memcpy(layer->payload + first, bits, (size_t)used);
    for (uint64_t i = used; i < chunk_bytes; i++)
        if (bits[i] != 0)
            raw->sane = false;
    if (read_count(bytes, GENERATION) != layer->generation || read_count(bytes, ZERO) != 0)
        raw->sane = false;
}

static int read_rows(struct raw *raw, enum statement which, sqlite3_stmt *statement) {
    while (sqlite3_step(statement) == SQLITE_ROW)
        which == LAYERS ? read_layer(raw, statement) : read_chunk(raw, statement);
    if (which == LAYERS)
        sort_generations(raw);
    return sqlite3_reset(statement);
}

void raw_estimate(struct raw *raw) {
    for (unsigned i = 0; i < raw->layer_count; i++) {
        struct raw_layer *layer = &raw->layers[i];
        struct bloom_estimate estimate =
            layer->shape.layout->estimate(&layer->shape, layer->payload);
        layer->count = estimate.count;
        layer->rate = estimate.rate;
    }
}

bool look_raw_in_crowd(struct connection *connection, const char *name, struct raw *raw) {
    int code = SQLITE_OK;
    memset(raw, 0, sizeof *raw);
    raw->sane = true;
    raw->ages = 1;
    for (enum statement which = LAYERS; which <= CHUNKS && code == SQLITE_OK; which++) {
        sqlite3_stmt *statement = prepare(connection, "crowd", name, which, &code);
        if (code == SQLITE_OK)
            code = read_rows(raw, which, statement);
        sqlite3_finalize(statement);
    }
    if (is_busy(really(connection, code))) {
        raw_clear(raw);
        return false;
    }
    expect(code == SQLITE_OK && raw->sane && raw->strays == 0 && raw->layer_count > 0,
           "%s: the shadow tables of %s are damaged", connection->name, name);
    return true;
}

bool look_raw(struct connection *connection, unsigned schema, unsigned name, struct raw *raw) {
    int code;
    memset(raw, 0, sizeof *raw);
    raw->sane = true;
    const struct content *content = view(connection, schema);
    bool tampered = content->tampered;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (content->tables[slot].exists && content->tables[slot].name == name)
            raw->ages = OPTIONS[content->tables[slot].options].ages;
    for (enum statement which = LAYERS; which <= CHUNKS; which++) {
        sqlite3_stmt *statement = statement_of(connection, schema, name, which, &code);
        if (code == SQLITE_OK)
            code = read_rows(raw, which, statement);
        code = really(connection, code);
        if (is_busy(code)) {
            raw_clear(raw);
            refused(connection, schema);
            return false;
        }
        expect(code == SQLITE_OK, "%s: the shadow tables of %s.%s cannot be read: %s",
               connection->name, SCHEMA[schema], NAME[name], sqlite3_errmsg(connection->database));
    }
    connection->links[schema].sure = connection->in_transaction;
    if (raw->layer_count == 0)
        raw->sane = false;
    expect(raw->sane || tampered, "%s: the shadow tables of %s.%s are damaged", connection->name,
           SCHEMA[schema], NAME[name]);
    return true;
}

/* ---- What a change makes of the bits ---- */

unsigned newest_first(const struct raw *raw) {
    unsigned first = raw->layer_count - 1;
    while (first > 0 && raw->layers[first].index > 0)
        first--;
    return first;
}

static bool layer_has(const struct raw_layer *layer, const uint64_t *words) {
    return words != NULL && layer->shape.layout->check(&layer->shape, layer->payload, words);
}

bool raw_has(const struct raw *raw, const uint64_t *words) {
    for (unsigned i = 0; i < raw->layer_count; i++)
        if (layer_has(&raw->layers[i], words))
            return true;
    return false;
}

bool raw_has_at(const struct raw *raw, const uint64_t *words, unsigned age) {
    for (unsigned i = 0; i < raw->layer_count; i++)
        if (raw->layers[i].age == age && layer_has(&raw->layers[i], words))
            return true;
    return false;
}

unsigned raw_age(const struct raw *raw, const uint64_t *words) {
    unsigned age = AGES_MOST;
    for (unsigned i = 0; i < raw->layer_count; i++)
        if (raw->layers[i].age < age && layer_has(&raw->layers[i], words))
            age = raw->layers[i].age;
    return age;
}

unsigned raw_layers_with(const struct raw *raw, const uint64_t *words) {
    unsigned count = 0;
    for (unsigned i = 0; i < raw->layer_count; i++)
        count += layer_has(&raw->layers[i], words);
    return count;
}

unsigned raw_copies(const struct raw *raw, const uint64_t *words) {
    enum { BLOCK_BYTES_MOST = 1024 };
    unsigned copies = 0;
    for (unsigned i = 0; i < raw->layer_count && copies < COPIES_MOST; i++) {
        const struct bloom_shape *shape = &raw->layers[i].shape;
        const struct bloom_blocks *blocks = shape->layout->blocks;
        uint8_t block[BLOCK_BYTES_MOST];
        memcpy(block, raw->layers[i].payload + blocks->of(shape, words) * blocks->bytes,
               blocks->bytes);
        for (; copies < COPIES_MOST && blocks->check(shape, block, words); copies++)
            blocks->remove(shape, block, words);
    }
    return copies;
}

static struct raw_chunk *chunk_of(const struct raw_layer *layer, const uint64_t *words) {
    return &layer
                ->each[layer->shape.layout->blocks->of(&layer->shape, words) / layer->chunk_blocks];
}

bool raw_add(struct raw *raw, const uint64_t *words, bool again) {
    struct raw_layer *last = &raw->layers[raw->layer_count - 1];
    for (unsigned i = 0; i < raw->layer_count; i++) {
        struct raw_layer *layer = &raw->layers[i];
        if ((again && layer->age > 0) || !layer_has(layer, words))
            continue;
        if (again && layer->shape.layout->blocks->remove != NULL)
            layer->shape.layout->add(&layer->shape, layer->payload, words, 1);
        return false;
    }
    last->shape.layout->add(&last->shape, last->payload, words, 1);
    chunk_of(last, words)->keys++;
    chunk_of(last, words)->took = true;
    return true;
}

/* One that is in several layers stays: which of them it was added to is not known. */
bool raw_remove(struct raw *raw, const uint64_t *words) {
    if (raw_layers_with(raw, words) != 1)
        return false;
    for (unsigned i = 0; i < raw->layer_count; i++) {
        struct raw_layer *layer = &raw->layers[i];
        if (!layer_has(layer, words))
            continue;
        layer->shape.layout->remove(&layer->shape, layer->payload, words);
        if (!layer_has(layer, words) && chunk_of(layer, words)->keys > 0)
            chunk_of(layer, words)->keys--;
    }
    return !raw_has(raw, words);
}

bool raw_same_bits(const struct raw *raw, const struct raw *other) {
    if (other->layer_count < raw->layer_count)
        return false;
    for (unsigned i = 0; i < raw->layer_count; i++)
        if (memcmp(raw->layers[i].payload, other->layers[i].payload,
                   (size_t)bloom_payload_bytes(&raw->layers[i].shape)) != 0)
            return false;
    return true;
}

bool raw_same_keys(const struct raw *raw, const struct raw *other) {
    for (unsigned i = 0; i < raw->layer_count; i++)
        for (uint64_t c = 0; c < raw->layers[i].chunk_count; c++)
            if (raw->layers[i].each[c].keys != other->layers[i].each[c].keys)
                return false;
    return true;
}

/* ---- Counts ---- */

uint64_t keys_of_layer(const struct raw_layer *layer) {
    uint64_t sum = 0;
    for (uint64_t c = 0; c < layer->chunk_count; c++)
        sum += layer->each[c].keys;
    return sum;
}

uint64_t raw_keys(const struct raw *raw) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < raw->layer_count; i++)
        sum += keys_of_layer(&raw->layers[i]);
    return sum;
}

static struct bloom_growth_limits limits_of(const struct raw_layer *layer,
                                            const struct options *options) {
    struct bloom_growth growth = {.layout = layer->shape.layout,
                                  .capacity = options->capacity,
                                  .rate = options->rate,
                                  .generations = options->ages,
                                  .mode = options->grows     ? BLOOM_GROWTH_ON
                                          : options->refuses ? BLOOM_GROWTH_ERROR
                                                             : BLOOM_GROWTH_OFF};
    return bloom_growth_limits_of(&growth, layer->index, &layer->shape);
}

bool is_full(const struct raw_layer *layer, const struct options *options) {
    struct bloom_growth_limits limits = limits_of(layer, options);
    return keys_of_layer(layer) >= limits.keys ||
           layer->shape.layout->estimate(&layer->shape, layer->payload).ones >= limits.ones;
}

uint64_t room_of(const struct raw_layer *layer, const struct options *options) {
    struct bloom_growth_limits limits = limits_of(layer, options);
    uint64_t keys = keys_of_layer(layer);
    return keys < limits.keys && layer->bits < limits.ones ? limits.keys - keys : 0;
}

/* A key that is counted has set one bit at least, and at most as many as there are probes. Where
 * keys are taken out that is not so: some were not counted, as they seemed to be in. */
static void compare_chunk(const struct raw_layer *layer, const struct raw_chunk *chunk,
                          const char *where) {
    uint64_t lag = chunk->keys > chunk->reported_keys ? chunk->keys - chunk->reported_keys
                                                      : chunk->reported_keys - chunk->keys;
    bool counting = layer->shape.layout->blocks->remove != NULL;
    expect(chunk->ones == chunk->bits, "%s: a chunk counts %llu ones, and has %llu", where,
           (unsigned long long)chunk->ones, (unsigned long long)chunk->bits);
    expect(counting ||
               (chunk->keys <= chunk->bits && chunk->keys * layer->shape.probes >= chunk->bits),
           "%s: a chunk has %llu keys, and %llu bits are set", where,
           (unsigned long long)chunk->keys, (unsigned long long)chunk->bits);
    expect(lag < REPORT_AT, "%s: a chunk has %llu keys, and has reported %llu", where,
           (unsigned long long)chunk->keys, (unsigned long long)chunk->reported_keys);
    expect(chunk->reported_keys > 0 || chunk->keys == 0, "%s: a chunk has not reported a key",
           where);
}

void compare_counts(const struct raw *raw, const char *where) {
    for (unsigned i = 0; i < raw->layer_count; i++) {
        const struct raw_layer *layer = &raw->layers[i];
        uint64_t keys = 0, ones = 0, chunks = 0;
        for (uint64_t c = 0; c < layer->chunk_count; c++) {
            compare_chunk(layer, &layer->each[c], where);
            keys += layer->each[c].reported_keys;
            ones += layer->each[c].reported_ones;
            chunks += layer->each[c].reported_keys > 0;
        }
        expect(layer->keys == keys && layer->ones == ones && layer->chunks == chunks,
               "%s: the row of layer %u has %llu keys, %llu ones, %llu chunks; reported are %llu, "
               "%llu, %llu",
               where, i, (unsigned long long)layer->keys, (unsigned long long)layer->ones,
               (unsigned long long)layer->chunks, (unsigned long long)keys,
               (unsigned long long)ones, (unsigned long long)chunks);
    }
}

void compare_reports(const struct raw *before, const struct raw *after,
                     const struct options *options, const char *where) {
    for (unsigned i = 0; i < before->layer_count; i++) {
        const struct raw_layer *layer = &before->layers[i];
        bool near = layer->keys + (REPORT_AT - 1) * layer->chunks >= layer->shape.capacity;
        for (uint64_t c = 0; c < layer->chunk_count; c++) {
            const struct raw_chunk *chunk = &after->layers[i].each[c];
            expect(!layer->each[c].took || !(options->refuses || (options->grows && near)) ||
                       chunk->keys == chunk->reported_keys,
                   "%s: near its end layer %u has a chunk of %llu keys, which reported %llu", where,
                   i, (unsigned long long)chunk->keys, (unsigned long long)chunk->reported_keys);
        }
    }
}
