/* Compares what tables say with the rows of the shadow tables, and these with the model. */
#include "simulator.h"

#include "filter/header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t refusals, faults_met, looks;

/* ---- What the table says ---- */

enum { SINGLY = 2 }; /* questions by a statement of their own */

struct answers {
    unsigned count;
    unsigned keys[UNIVERSE];
    bool found[UNIVERSE];
    bool covered[SINGLY];  /* by a key rule */
    unsigned wrong_values; /* of key, beside what was asked */
    unsigned errors;       /* of the questions */
    struct value {
        void *bytes; /* NULL: not asked, or an error */
        int length, code;
    } info, filter;
    char error[200];
};

/* Whether the column key is what an ordinary column would hold. */
static bool is_stored_key(sqlite3_stmt *row, int column, enum key_type type, unsigned key) {
    const struct key_value *stored = stored_key(type, key);
    if (sqlite3_column_type(row, column) != stored->type)
        return false;
    if (stored->type == SQLITE_INTEGER)
        return sqlite3_column_int64(row, column) == stored->integer;
    if (stored->type == SQLITE_FLOAT)
        return memcmp(&(double){sqlite3_column_double(row, column)}, &stored->real,
                      sizeof(double)) == 0;
    const void *bytes = stored->type == SQLITE_BLOB
                            ? sqlite3_column_blob(row, column)
                            : (const void *)sqlite3_column_text(row, column);
    return sqlite3_column_bytes(row, column) == stored->length &&
           memcmp(bytes, stored->text, (size_t)stored->length) == 0;
}

/* What became of a statement with questions: its *code. False when a lock was in the way. */
static bool ended(struct connection *connection, unsigned schema, int *code,
                  struct answers *answers) {
    if (*code != SQLITE_OK)
        sqlite3_snprintf(sizeof answers->error, answers->error, "%s",
                         sqlite3_errmsg(connection->database));
    *code = really(connection, *code);
    if (!is_busy(*code))
        return true;
    refused(connection, schema);
    return false;
}

/* A key by a statement of its own, which outside of a transaction takes and gives back a lock. */
static bool ask_singly(struct connection *connection, unsigned schema, unsigned name,
                       enum key_type type, enum statement which, unsigned key, bool *found,
                       struct answers *answers) {
    int code;
    sqlite3_stmt *statement = statement_of(connection, schema, name, which, &code);
    if (statement != NULL) {
        bind_key(statement, 1, key);
        *found = sqlite3_step(statement) == SQLITE_ROW;
        answers->wrong_values += *found && !is_stored_key(statement, 0, type, key);
        code = sqlite3_reset(statement);
    }
    if (!ended(connection, schema, &code, answers))
        return false;
    answers->errors += code != SQLITE_OK && which == CHECK;
    return true;
}

/* One statement for several of them, at most QUESTIONS. */
static bool ask_together(struct connection *connection, unsigned schema, unsigned name,
                         enum key_type type, unsigned first, unsigned count,
                         struct answers *answers) {
    int code;
    sqlite3_stmt *statement = statement_of(connection, schema, name, CHECK_MANY, &code);
    if (statement != NULL) {
        for (unsigned i = 0; i < count; i++) {
            bind_key(statement, (int)i + 1, answers->keys[first + i]);
            answers->found[first + i] = false;
        }
        while (sqlite3_step(statement) == SQLITE_ROW) {
            unsigned i = first + (unsigned)sqlite3_column_int(statement, 0);
            expect(i < first + count, "%s.%s: an answer to no question", SCHEMA[schema],
                   NAME[name]);
            answers->found[i] = true;
            answers->wrong_values += !is_stored_key(statement, 1, type, answers->keys[i]);
        }
        code = sqlite3_reset(statement);
        sqlite3_clear_bindings(statement);
    }
    if (!ended(connection, schema, &code, answers))
        return false;
    answers->errors += code != SQLITE_OK ? count : 0;
    return true;
}

/* False when a lock was in the way. */
static bool ask(struct connection *connection, unsigned schema, unsigned name, enum key_type type,
                struct answers *answers) {
    for (unsigned i = 0; i < SINGLY; i++) {
        const unsigned key = answers->keys[i];
        if (!ask_singly(connection, schema, name, type, CHECK, key, &answers->found[i], answers) ||
            (TYPES[type].rule > 0 && !ask_singly(connection, schema, name, type, COVERS, key,
                                                 &answers->covered[i], answers)))
            return false;
    }
    for (unsigned first = SINGLY, count; first < answers->count; first += count) {
        count = answers->count - first < QUESTIONS ? answers->count - first : QUESTIONS;
        if (!ask_together(connection, schema, name, type, first, count, answers))
            return false;
    }
    return true;
}

/* The one value of a statement, in memory of malloc; NULL: an error. False when a lock was in the
 * way. */
static bool ask_value(struct connection *connection, unsigned schema, unsigned name,
                      enum statement which, struct value *value, struct answers *answers) {
    sqlite3_stmt *statement = statement_of(connection, schema, name, which, &value->code);
    if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW) {
        const void *bytes = sqlite3_column_type(statement, 0) == SQLITE_TEXT
                                ? sqlite3_column_text(statement, 0)
                                : sqlite3_column_blob(statement, 0);
        value->length = sqlite3_column_bytes(statement, 0);
        value->bytes = calloc(1, (size_t)value->length + 1);
        expect(value->bytes != NULL, "no memory");
        if (bytes != NULL)
            memcpy(value->bytes, bytes, (size_t)value->length);
    }
    if (statement != NULL)
        value->code = sqlite3_reset(statement);
    if (!ended(connection, schema, &value->code, answers))
        return false;
    if (value->code != SQLITE_OK) {
        free(value->bytes);
        value->bytes = NULL;
    }
    return true;
}

static bool ask_all(struct connection *connection, unsigned schema, unsigned name,
                    enum key_type type, bool info, bool filter, struct answers *answers) {
    const bool info_first = random_once_in(3);
    return (info_first || ask(connection, schema, name, type, answers)) &&
           (!info || ask_value(connection, schema, name, INFO, &answers->info, answers)) &&
           (!filter || ask_value(connection, schema, name, FILTER, &answers->filter, answers)) &&
           (!info_first || ask(connection, schema, name, type, answers));
}

/* ---- That questions change nothing ---- */

struct trace trace_begin(const struct connection *connection) {
    struct trace trace = {.changes = sqlite3_changes(connection->database),
                          .total_changes = sqlite3_total_changes(connection->database),
                          .rowid = (sqlite3_int64)(random_next() >> 1)};
    sqlite3_set_last_insert_rowid(connection->database, trace.rowid);
    return trace;
}

void trace_end(const struct connection *connection, const struct trace *trace, const char *where) {
    expect(sqlite3_changes(connection->database) == trace->changes &&
               sqlite3_total_changes(connection->database) == trace->total_changes,
           "%s: questions count as changes", where);
    expect(sqlite3_last_insert_rowid(connection->database) == trace->rowid,
           "%s: after questions last_insert_rowid() is another one", where);
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

/* Bits of a layer, or counters. */
static double cells_of(const struct raw_layer *layer) {
    return (double)layer->shape.bits / (layer->shape.layout->blocks->remove != NULL ? 4 : 1);
}

/* ---- Comparing ---- */

/* The number after "name" must be that one, in six digits at least. */
static void expect_number(const char **at, const char *name, double number, const char *where) {
    double told = number_in(at, name, where);
    expect(fabs(told - number) <= 5.1e-6 * fabs(number), "%s: info has %s %.12g, not %.12g", where,
           name, told, number);
}

/* Whether info has a row for a layer. */
static bool is_listed(const struct raw_layer *layer) {
    return layer->index == 0 || layer->rows > 0;
}

static uint64_t keys_at(const struct raw *raw, unsigned age) {
    uint64_t keys = 0;
    for (unsigned i = 0; i < raw->generations[age].layer_count; i++)
        keys += raw->generations[age].layers[i].keys;
    return keys;
}

/* The totals, then each generation, the oldest first, then each layer in the same order. What is
 * estimated of them, tests/sql and tests/tables/rates_test.py have. */
static void compare_info(const struct raw *raw, const char *info, const char *where) {
    const char *at = info, *generations = strstr(info, "\"generations\":");
    uint64_t chunks = 0;
    for (unsigned age = 0; age < raw->ages; age++)
        for (unsigned i = 0; i < raw->generations[age].layer_count; i++)
            chunks += raw->generations[age].layers[i].rows;
    expect_number(&at, "capacity", (double)raw->options.capacity, where);
    expect_number(&at, "p", raw->options.rate, where);
    expect_number(&at, "chunks", (double)chunks, where);
    expect_number(&at, "used", (double)keys_at(raw, 0) / (double)raw->options.capacity, where);
    expect((generations != NULL) == (raw->ages > 1), "%s: generations in info", where);
    for (unsigned age = raw->ages; age-- > 0 && generations != NULL;)
        if (raw->generations[age].layer_count > 0) {
            expect_number(&generations, "generation", (double)(raw->newest - age), where);
            expect_number(&generations, "keys", (double)keys_at(raw, age), where);
        }
    at = strstr(info, "\"layers\":");
    for (unsigned age = raw->ages; age-- > 0;)
        for (unsigned i = 0; i < raw->generations[age].layer_count; i++) {
            const struct raw_layer *layer = &raw->generations[age].layers[i];
            if (!is_listed(layer))
                continue;
            expect_number(&at, "n", (double)layer->shape.capacity, where);
            expect_number(&at, "p", layer->shape.rate, where);
            expect_number(&at, "bits", (double)layer->shape.bits, where);
            expect_number(&at, "hashes", layer->shape.probes, where);
            expect_number(&at, "keys", (double)layer->keys, where);
            expect_number(&at, "fill", (double)layer->bits / cells_of(layer), where);
        }
    expect(strstr(at, "\"n\"") == NULL, "%s: info has more layers: %s", where, info);
}

/* The first layer that holds all keys, in one generation; NULL when there are chunks of several. */
static const struct raw_layer *holder_of(const struct raw *raw) {
    const struct raw_layer *holder = &raw->generations[0].layers[0];
    unsigned with_rows = 0;
    for (unsigned age = 0; age < raw->ages; age++)
        for (unsigned i = 0; i < raw->generations[age].layer_count; i++)
            if (raw->generations[age].layers[i].rows > 0) {
                holder = &raw->generations[age].layers[i];
                with_rows++;
            }
    return with_rows <= 1 && holder->index == 0 ? holder : NULL;
}

static void compare_filter(const struct raw *raw, const struct answers *answers, bool wanted,
                           const char *where) {
    const struct raw_layer *layer = holder_of(raw);
    uint8_t header[BLOOM_HEADER_BYTES_MAXIMUM];
    expect((answers->filter.bytes != NULL) == (wanted && layer != NULL),
           "%s: filter: result %d, %s", where, answers->filter.code, answers->error);
    if (answers->filter.bytes == NULL)
        return;
    const size_t header_bytes = bloom_header_bytes(&layer->shape);
    const size_t bytes = (size_t)bloom_payload_bytes(&layer->shape);
    bloom_header_write(&layer->shape, header);
    expect((size_t)answers->filter.length == header_bytes + bytes &&
               memcmp(answers->filter.bytes, header, header_bytes) == 0 &&
               memcmp((const uint8_t *)answers->filter.bytes + header_bytes, layer->payload,
                      bytes) == 0,
           "%s: filter is not what the bits are", where);
}

/* What the model says must be in the bits: each key in the generation that has it. */
static void compare_model(struct table *table, const struct raw *raw, const char *where) {
    const struct options *options = &table->options;
    unsigned missing = 0;
    for (unsigned age = 0; age < options->ages; age++) {
        for (unsigned key = 0; key < UNIVERSE; key++)
            missing += keys_have(&table->keys[age], key) &&
                       !raw_has_at(raw, added_words(options->key, key), age);
        expect(missing == 0, "%s: %u of %u keys are not found in generation %llu less %u", where,
               missing, keys_count(&table->keys[age]), (unsigned long long)raw->newest, age);
    }
    for (unsigned key = 0; options->counts && key < UNIVERSE; key++) {
        unsigned copies =
            table->copies[key] > 1 ? raw_copies(raw, added_words(options->key, key)) : COPIES_MOST;
        expect(copies >= table->copies[key], "%s: key %u was added %u times, and is in %u times",
               where, key, table->copies[key], copies);
    }
    uint64_t keys = raw_keys(raw);
    expect(table->unknown || keys == table->counted, "%s: %llu keys are counted, not %llu", where,
           (unsigned long long)keys, (unsigned long long)table->counted);
    table->counted = keys;
    table->unknown = false;
}

/* One answer beside the rows on the paths of these keys. */
static void compare_answer(const struct raw *raw, const uint64_t *words, unsigned count, bool found,
                           unsigned key, const char *where) {
    unsigned with = 0;
    for (unsigned i = 0; i < count; i++) {
        const enum raw_answer answer = raw_find(raw, words + (size_t)i * 2);
        if (answer == RAW_EITHER)
            return;
        with += answer == RAW_FOUND;
    }
    expect(found == (with > 0), "%s: key %u is said to be %s, %u of %u are found", where, key,
           found ? "in" : "not in", with, count);
}

/* Where rows are damaged: an error is due at each of them, and else nowhere. */
static void compare_errors(const struct raw *raw, enum key_type type, bool wants_info,
                           const struct answers *answers, const char *where) {
    unsigned least = 0;
    for (unsigned i = 0; i < SINGLY; i++)
        least += raw_find(raw, asked_words(type, answers->keys[i])) == RAW_DAMAGED;
    expect(answers->errors >= least, "%s: %u errors, and %u damaged rows are on the way", where,
           answers->errors, least);
    expect(raw->damaged == 0 || !wants_info || answers->info.bytes == NULL,
           "%s: info of damaged rows: %s", where, (const char *)answers->info.bytes);
}

/* Every other one is in, if the model knows of any. */
static unsigned key_to_ask(const struct table *table, unsigned number) {
    unsigned key = random_below(UNIVERSE);
    for (unsigned i = 0; number % 2 == 0 && i < UNIVERSE; i++)
        if (keys_have(&table->keys[0], (key + i) % UNIVERSE))
            return (key + i) % UNIVERSE;
    return key;
}

void look(struct connection *connection, unsigned schema, unsigned slot, bool thorough) {
    static struct raw raw;
    static struct answers answers;
    char where[80];
    const bool raw_first = random_once_in(2);
    bool asked = false, read = false;
    if (!peek(connection, schema)->tables[slot].exists)
        return;
    struct content *content = view(connection, schema);
    struct table *table = &content->tables[slot];
    unsigned name = table->name;
    enum key_type type = table->options.key;
    looks++;
    sqlite3_snprintf(sizeof where, where, "%s: %s.%s", connection->name, SCHEMA[schema],
                     NAME[name]);
    memset(&answers, 0, sizeof answers);
    answers.count = thorough ? UNIVERSE : SINGLY + QUESTIONS;
    for (unsigned i = 0; i < answers.count; i++)
        answers.keys[i] = thorough ? i : key_to_ask(table, i);
    memset(&raw, 0, sizeof raw);
    bool wants_info = thorough || random_once_in(2), wants_filter = random_once_in(6);
    if (raw_first)
        read = look_raw(connection, schema, name, &raw);
    if (read || !raw_first) {
        struct trace trace = trace_begin(connection);
        asked = ask_all(connection, schema, name, type, wants_info, wants_filter, &answers);
        trace_end(connection, &trace, where);
    }
    if (asked && !raw_first)
        read = look_raw(connection, schema, name, &raw);
    if (asked && read && raw.sane && raw.damaged > 0) {
        compare_errors(&raw, type, wants_info, &answers, where);
    } else if (asked && read && raw.sane) {
        bool tampered = content->tampered;
        expect(answers.errors == 0 &&
                   (raw.strays > 0 || (answers.info.bytes != NULL) == wants_info),
               "%s: an error: %s", where, answers.error);
        for (unsigned i = 0; i < answers.count; i++) {
            const uint64_t *words = asked_words(type, answers.keys[i]);
            compare_answer(&raw, words, words != NULL, answers.found[i], answers.keys[i], where);
        }
        for (unsigned i = 0; TYPES[type].rule > 0 && i < SINGLY; i++) {
            const uint64_t *words;
            unsigned count = covering_words(type, answers.keys[i], &words);
            compare_answer(&raw, words, count, answers.covered[i], answers.keys[i], where);
        }
        expect(answers.wrong_values == 0, "%s: %u keys come back as other values", where,
               answers.wrong_values);
        if (answers.info.bytes != NULL)
            compare_info(&raw, answers.info.bytes, where);
        if (raw.strays == 0)
            compare_filter(&raw, &answers, wants_filter, where);
        if (!tampered) {
            compare_counts(&raw, where);
            compare_model(table, &raw, where);
        }
    }
    raw_clear(&raw);
    free(answers.info.bytes);
    free(answers.filter.bytes);
}

/* ---- From outside ---- */

/* Looks at all tables of a file from a connection that is there for this alone. */
static void look_at_all(struct connection *outside, struct file *file) {
    bool shared = shared_cache;
    shared_cache = false;
    outside->links[0].file = file;
    sqlite3_exec(outside->database, "BEGIN", NULL, NULL, NULL);
    model_begin(outside, false);
    for (unsigned slot = 0; slot < SLOTS && outside->in_transaction; slot++)
        look(outside, 0, slot, true);
    connection_close(outside);
    shared_cache = shared;
}

void look_from_outside(const struct file *file) {
    struct connection outside;
    struct file copy = *file;
    if (file->path[0] == '\0')
        return;
    memset(&outside, 0, sizeof outside);
    outside.name = "a new connection";
    copy.writer = NULL;
    outside.database = fresh_connection(file, SQLITE_OPEN_PRIVATECACHE);
    look_at_all(&outside, &copy);
}

void look_at_copy(unsigned char *bytes, sqlite3_int64 size, const struct content *content) {
    struct connection outside;
    struct file memory;
    memset(&outside, 0, sizeof outside);
    memset(&memory, 0, sizeof memory);
    outside.name = "a copy";
    memory.committed = *content;
    outside.database = fresh_connection(&memory, SQLITE_OPEN_PRIVATECACHE);
    expect(put_bytes(&outside, 0, bytes, size), "a copy cannot be opened");
    look_at_all(&outside, &memory);
}
