/* Reads the shadow tables by plain SQL, as ext/FORMAT.md describes them, and compares. */
#include "oracle.h"

#include "filter/header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYER_SHIFT = 40, CHUNK_BLOCKS_MOST = 1024 };

uint64_t refusals, faults_met, looks;

bool is_busy(int code) {
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

int really(struct connection *connection, unsigned schema, int code) {
    char sql[80];
    if (code == SQLITE_OK || is_busy(code))
        return code;
    sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]);
    char *message = sqlite3_mprintf("%s", sqlite3_errmsg(connection->database));
    int locked = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    note("%s: -- result %d (%s)", connection->name, code, message);
    sqlite3_free(message);
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
        free(raw->layers[i].payload);
    raw->layer_count = 0;
}

static void digest(struct raw *raw, const void *bytes, size_t length) {
    raw->digest = raw->digest * 31 + bloom_hash_bytes(bytes, length).words[0];
}

static void digest_number(struct raw *raw, sqlite3_int64 number) {
    raw->digest = raw->digest * 31 + bloom_hash_integer(number).words[0];
}

static void read_layer(struct raw *raw, sqlite3_stmt *row) {
    struct raw_layer *layer = &raw->layers[raw->layer_count];
    char problem[BLOOM_PROBLEM_SIZE];
    const uint8_t *header = sqlite3_column_blob(row, 1);
    int length = sqlite3_column_bytes(row, 1);
    for (int i = 0; i < 6; i++)
        if (i != 1)
            digest_number(raw, sqlite3_column_int64(row, i));
    if (header != NULL)
        digest(raw, header, (size_t)length);
    if (!raw->sane || raw->layer_count == LAYERS_MOST ||
        sqlite3_column_int64(row, 0) != raw->layer_count || length != BLOOM_HEADER_BYTES ||
        !bloom_header_read(&layer->shape, header, problem) || layer->shape.layout->blocks == NULL) {
        raw->sane = false;
        return;
    }
    if (raw->layer_count == 0)
        memcpy(raw->header, header, BLOOM_HEADER_BYTES);
    layer->chunk_blocks = (uint64_t)sqlite3_column_int64(row, 2);
    layer->keys = (uint64_t)sqlite3_column_int64(row, 3);
    layer->chunks = (uint64_t)sqlite3_column_int64(row, 4);
    layer->ones = (uint64_t)sqlite3_column_int64(row, 5);
    layer->rows = layer->bits = 0;
    layer->payload = calloc(1, (size_t)bloom_payload_bytes(&layer->shape));
    expect(layer->payload != NULL, "no memory");
    if (layer->chunk_blocks < 1 || layer->chunk_blocks > CHUNK_BLOCKS_MOST)
        raw->sane = false;
    raw->layer_count++;
}

static void read_chunk(struct raw *raw, sqlite3_stmt *row) {
    sqlite3_int64 id = sqlite3_column_int64(row, 0);
    const uint8_t *bits = sqlite3_column_blob(row, 1);
    uint64_t length = (uint64_t)sqlite3_column_bytes(row, 1);
    digest_number(raw, id);
    digest(raw, bits, (size_t)length);
    uint64_t index = (uint64_t)id >> LAYER_SHIFT;
    if (id < 0 || index >= raw->layer_count) {
        raw->strays++;
        return;
    }
    struct raw_layer *layer = &raw->layers[index];
    uint64_t first = ((uint64_t)id & ((UINT64_C(1) << LAYER_SHIFT) - 1)) * layer->chunk_blocks *
                     layer->shape.layout->blocks->bytes;
    uint64_t whole = bloom_payload_bytes(&layer->shape);
    if (length != layer->chunk_blocks * layer->shape.layout->blocks->bytes) {
        raw->sane = false;
        raw->wrong_chunk_size = true;
        return;
    }
    if (first >= whole) {
        raw->strays++;
        return;
    }
    layer->rows++;
    uint64_t used = whole - first < length ? whole - first : length;
    memcpy(layer->payload + first, bits, (size_t)used);
    for (uint64_t i = used; i < length; i++)
        if (bits[i] != 0)
            raw->sane = false;
}

bool look_raw(struct connection *connection, unsigned schema, unsigned name, struct raw *raw) {
    int code;
    memset(raw, 0, sizeof *raw);
    raw->sane = true;
    bool tampered = view(connection, schema)->tampered;
    for (enum statement which = LAYERS; which <= CHUNKS; which++) {
        sqlite3_stmt *statement = statement_of(connection, schema, name, which, &code);
        if (code == SQLITE_OK)
            while ((code = sqlite3_step(statement)) == SQLITE_ROW)
                which == LAYERS ? read_layer(raw, statement) : read_chunk(raw, statement);
        if (statement != NULL)
            code = sqlite3_reset(statement);
        code = really(connection, schema, code);
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
    for (unsigned i = 0; i < raw->layer_count; i++) {
        struct raw_layer *layer = &raw->layers[i];
        struct bloom_estimate estimate =
            layer->shape.layout->estimate(&layer->shape, layer->payload);
        layer->bits = estimate.ones;
        layer->count = estimate.count;
        layer->rate = estimate.rate;
    }
    return true;
}

bool raw_has(const struct raw *raw, unsigned key) {
    for (unsigned i = 0; i < raw->layer_count; i++) {
        const struct raw_layer *layer = &raw->layers[i];
        if (layer->shape.layout->check(&layer->shape, layer->payload, key_words(key)))
            return true;
    }
    return false;
}

/* ---- What the table says ---- */

struct answers {
    unsigned count;
    unsigned keys[UNIVERSE];
    bool found[UNIVERSE];
    unsigned errors; /* of the questions */
    char *info;      /* NULL: an error */
    uint8_t *filter; /* NULL: none asked, or an error */
    int filter_bytes;
    int filter_code;
    char error[200];
};

static void keep_error(struct connection *connection, struct answers *answers) {
    sqlite3_snprintf(sizeof answers->error, answers->error, "%s",
                     sqlite3_errmsg(connection->database));
}

/* False when a lock was in the way. */
static bool ask(struct connection *connection, unsigned schema, unsigned name,
                struct answers *answers) {
    int code;
    sqlite3_stmt *statement = statement_of(connection, schema, name, CHECK, &code);
    for (unsigned i = 0; i < answers->count; i++) {
        if (statement != NULL) {
            bind_key(statement, 1, answers->keys[i]);
            answers->found[i] = sqlite3_step(statement) == SQLITE_ROW;
            code = sqlite3_reset(statement);
        }
        if (code != SQLITE_OK)
            keep_error(connection, answers);
        code = really(connection, schema, code);
        if (is_busy(code)) {
            refused(connection, schema);
            return false;
        }
        if (code != SQLITE_OK) {
            answers->errors++;
        }
    }
    return true;
}

/* The one value of a statement, in memory of malloc. */
static void *ask_value(struct connection *connection, unsigned schema, unsigned name,
                       enum statement which, int *length, int *code) {
    void *copy = NULL;
    sqlite3_stmt *statement = statement_of(connection, schema, name, which, code);
    *length = 0;
    if (statement == NULL)
        return NULL;
    if (sqlite3_step(statement) == SQLITE_ROW) {
        const void *bytes =
            which == INFO ? sqlite3_column_text(statement, 0) : sqlite3_column_blob(statement, 0);
        *length = sqlite3_column_bytes(statement, 0);
        copy = calloc(1, (size_t)*length + 1);
        expect(copy != NULL, "no memory");
        if (bytes != NULL)
            memcpy(copy, bytes, (size_t)*length);
    }
    *code = sqlite3_reset(statement);
    return copy;
}

static bool ask_all(struct connection *connection, unsigned schema, unsigned name, bool filter,
                    struct answers *answers) {
    int code, length;
    bool info_first = random_once_in(3);
    if (!info_first && !ask(connection, schema, name, answers))
        return false;
    answers->info = ask_value(connection, schema, name, INFO, &length, &code);
    if (code != SQLITE_OK)
        keep_error(connection, answers);
    code = really(connection, schema, code);
    if (is_busy(code)) {
        refused(connection, schema);
        return false;
    }
    if (code != SQLITE_OK) {
        free(answers->info);
        answers->info = NULL;
    }
    if (filter) {
        answers->filter = ask_value(connection, schema, name, FILTER, &answers->filter_bytes,
                                    &answers->filter_code);
        if (is_busy(answers->filter_code)) {
            refused(connection, schema);
            return false;
        }
    }
    return !info_first || ask(connection, schema, name, answers);
}

/* The number after "name": from text on; and the place behind it. */
static double number_in(const char **text, const char *name, const char *where) {
    char *key = sqlite3_mprintf("\"%s\":", name);
    const char *found = *text != NULL ? strstr(*text, key) : NULL;
    expect(found != NULL, "%s: info has no %s", where, name);
    *text = found + strlen(key);
    sqlite3_free(key);
    return strtod(*text, NULL);
}

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-12;
}

/* ---- Comparing ---- */

/* With foreign counts, of a change that is open in another connection or was made by hand, those of
 * keys and chunks mean nothing. */
static void compare_info(struct table *table, const struct raw *raw, const char *info, bool settled,
                         bool foreign, const char *where) {
    const char *at = info;
    uint64_t chunks = 0, sum = 0;
    double count = 0, pass = 1;
    for (unsigned i = 0; i < raw->layer_count; i++) {
        chunks += raw->layers[i].rows;
        count += raw->layers[i].count;
        pass *= 1 - raw->layers[i].rate;
    }
    double told = number_in(&at, "chunks", where);
    expect(foreign || near(told, (double)chunks), "%s: info has %.0f chunks, there are %llu", where,
           told, (unsigned long long)chunks);
    told = number_in(&at, "count", where);
    expect(!isfinite(count) || near(told, floor(count + 0.5)), "%s: info has a count of %g, not %g",
           where, told, count);
    told = number_in(&at, "fpr", where);
    expect(near(told, 1 - pass), "%s: info has fpr %g, not %g", where, told, 1 - pass);
    at = strstr(at, "\"layers\":");
    for (unsigned i = 0; i < raw->layer_count; i++) {
        const struct raw_layer *layer = &raw->layers[i];
        expect(at != NULL && strstr(at, "\"keys\"") != NULL,
               "%s: info has fewer than %u layers: %s", where, raw->layer_count, info);
        told = number_in(&at, "bits", where);
        expect(near(told, (double)layer->shape.bits), "%s: info has %.0f bits in layer %u", where,
               told, i);
        uint64_t keys = (uint64_t)number_in(&at, "keys", where);
        expect(!settled || keys == layer->keys, "%s: info has %llu keys in layer %u, its row %llu",
               where, (unsigned long long)keys, i, (unsigned long long)layer->keys);
        sum += keys;
        told = number_in(&at, "fill", where);
        expect(near(told, (double)layer->bits / (double)layer->shape.bits),
               "%s: info has a fill of %g in layer %u, not %g", where, told, i,
               (double)layer->bits / (double)layer->shape.bits);
    }
    expect(strstr(at, "\"keys\"") == NULL, "%s: info has more than %u layers: %s", where,
           raw->layer_count, info);
    if (foreign)
        return;
    if (table->unknown) {
        table->counted = table->counted_most = sum;
        table->unknown = false;
    }
    expect(sum >= table->counted && sum <= table->counted_most,
           "%s: info has %llu keys; %llu to %llu were added", where, (unsigned long long)sum,
           (unsigned long long)table->counted, (unsigned long long)table->counted_most);
    table->counted = table->counted_most = sum;
}

static void compare_counts(const struct raw *raw, const char *where) {
    for (unsigned i = 0; i < raw->layer_count; i++) {
        const struct raw_layer *layer = &raw->layers[i];
        expect(layer->ones == layer->bits,
               "%s: layer %u has %llu ones in its row, %llu in its bits", where, i,
               (unsigned long long)layer->ones, (unsigned long long)layer->bits);
        expect(layer->chunks == layer->rows,
               "%s: layer %u has %llu chunks in its row, %llu are there", where, i,
               (unsigned long long)layer->chunks, (unsigned long long)layer->rows);
    }
}

/* What the model says must be in the bits. */
static void compare_model(const struct table *table, const struct raw *raw, const char *where) {
    const struct options *options = &OPTIONS[table->options];
    unsigned missing = 0;
    double pass = 1;
    for (unsigned key = 0; key < UNIVERSE; key++)
        missing += keys_have(&table->keys, key) && !raw_has(raw, key);
    expect(missing == 0, "%s: %u of %u keys are not in the bits", where, missing,
           keys_count(&table->keys));
    expect(raw->strays == 0, "%s: %llu chunks of no layer", where, (unsigned long long)raw->strays);
    expect(options->grows || raw->layer_count == 1, "%s: %u layers without growth", where,
           raw->layer_count);
    expect(table->merged || raw->layer_count == 1 || table->inserted > options->capacity,
           "%s: %u layers for at most %llu keys, capacity %llu", where, raw->layer_count,
           (unsigned long long)table->inserted, (unsigned long long)options->capacity);
    expect(!options->refuses || table->merged || table->counted <= options->capacity,
           "%s: %llu keys, though growth is an error", where, (unsigned long long)table->counted);
    /* The rate is kept on average; a layer of one block may be some way off. */
    for (unsigned i = 0; i < raw->layer_count; i++)
        pass *= 1 - raw->layers[i].rate;
    expect((!options->grows && !options->refuses) || 1 - pass <= 1.6 * options->rate + 0.01,
           "%s: a rate of %g, %g was asked for", where, 1 - pass, options->rate);
}

void look(struct connection *connection, unsigned schema, unsigned slot, bool thorough) {
    static struct raw raw;
    static struct answers answers;
    char where[80];
    bool raw_first = random_once_in(2), asked = false, read = false;
    if (!peek(connection, schema)->tables[slot].exists)
        return;
    struct content *content = view(connection, schema);
    struct table *table = &content->tables[slot];
    unsigned name = table->name;
    looks++;
    sqlite3_snprintf(sizeof where, where, "%s: %s.%s", connection->name, SCHEMA[schema],
                     NAME[name]);
    memset(&answers, 0, offsetof(struct answers, keys));
    answers.errors = 0;
    answers.info = NULL;
    answers.filter = NULL;
    /* Outside of a transaction each question takes and gives back a lock, which costs ten times the
     * rest. */
    answers.count = !thorough ? 20 : connection->in_transaction ? UNIVERSE : 100;
    for (unsigned i = 0; i < answers.count; i++)
        answers.keys[i] = answers.count == UNIVERSE ? i : random_below(UNIVERSE);
    memset(&raw, 0, sizeof raw);
    bool wants_filter = random_once_in(4);
    if (raw_first)
        read = look_raw(connection, schema, name, &raw);
    if (read || !raw_first)
        asked = ask_all(connection, schema, name, wants_filter, &answers);
    if (asked && !raw_first)
        read = look_raw(connection, schema, name, &raw);
    if (asked && read && raw.wrong_chunk_size) {
        expect(answers.errors == answers.count,
               "%s: a wrong chunk size, and %u of %u questions are answered", where,
               answers.count - answers.errors, answers.count);
    } else if (asked && read && raw.sane) {
        bool tampered = content->tampered;
        expect(tampered || (answers.errors == 0 && answers.info != NULL), "%s: an error: %s", where,
               answers.error);
        if (answers.errors == 0)
            for (unsigned i = 0; i < answers.count; i++)
                expect(answers.found[i] == raw_has(&raw, answers.keys[i]),
                       "%s: key %u is said to be %s, by the bits it is %s", where, answers.keys[i],
                       answers.found[i] ? "in" : "not in",
                       raw_has(&raw, answers.keys[i]) ? "in" : "not in");
        bool settled = !change_is_open(connection, schema), own = connection->links[schema].wrote;
        if (answers.info != NULL)
            compare_info(table, &raw, answers.info, settled, tampered || (!settled && !own), where);
        if (answers.filter != NULL) {
            const struct raw_layer *layer = &raw.layers[0];
            size_t bytes = (size_t)bloom_payload_bytes(&layer->shape);
            expect(raw.layer_count == 1 && (size_t)answers.filter_bytes == 64 + bytes &&
                       memcmp(answers.filter + 64, layer->payload, bytes) == 0,
                   "%s: filter is not what the bits are", where);
        } else if (wants_filter) {
            expect(raw.layer_count > 1 || tampered, "%s: no filter of a table of one layer", where);
        }
        if (settled && !tampered)
            compare_counts(&raw, where);
        if (!tampered)
            compare_model(table, &raw, where);
    }
    raw_clear(&raw);
    free(answers.info);
    free(answers.filter);
    answers.info = NULL;
    answers.filter = NULL;
}

/* ---- From outside ---- */

void look_from_outside(const struct file *file) {
    struct connection outside;
    struct file copy = *file;
    if (file->path[0] == '\0')
        return;
    memset(&outside, 0, sizeof outside);
    outside.name = "a new connection";
    bool shared = shared_cache;
    shared_cache = false;
    copy.writer = NULL;
    outside.links[0].file = &copy;
    outside.database = fresh_connection(file, SQLITE_OPEN_PRIVATECACHE);
    sqlite3_exec(outside.database, "BEGIN", NULL, NULL, NULL);
    model_begin(&outside, false);
    for (unsigned slot = 0; slot < SLOTS && outside.in_transaction; slot++)
        look(&outside, 0, slot, true);
    connection_close(&outside);
    shared_cache = shared;
}
