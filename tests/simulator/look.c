/* Compares what tables say with the rows of their shadow tables. */
#include "simulator.h"

#include <stdlib.h>

enum { SINGLY = 2, TOGETHER = 8 }; /* keys queried by a statement each, and by one */

struct answers {
    unsigned count;
    unsigned keys[UNIVERSE]; /* the first of them singly */
    bool found[UNIVERSE];
    sqlite3_int64 chunks, counted;
    unsigned char *filter; /* NULL: refused */
    size_t filter_bytes;
    bool has_info, queried_filter;
};

static const char CHECK[] = "SELECT key FROM %s.%s WHERE key = ?1",
                  CHECK_MANY[] = "SELECT e.key FROM json_each(?1) AS e CROSS JOIN %s.%s AS t "
                                 "ON t.key = e.value",
                  INFO[] = "SELECT json_extract(info, '$.chunks'), "
                           "(SELECT sum(json_extract(value, '$.keys')) "
                           "FROM json_each(info, '$.layers')) FROM %s.%s",
                  FILTER[] = "SELECT filter FROM %s.%s";

/* Runs a statement that asks, CHECK and CHECK_MANY for the keys from one to before another.
 * Outside of a transaction it takes and gives back a lock. False when a lock was in the way. Only
 * FILTER may be refused. */
static bool ask(struct connection *connection, unsigned schema, unsigned name, const char *which,
                unsigned first, unsigned end, struct answers *answers) {
    int code;
    sqlite3_stmt *statement = statement_of(connection, schema, name, which, &code);
    if (which == CHECK && statement != NULL)
        bind_key(statement, answers->keys[first]);
    if (which == CHECK_MANY && statement != NULL)
        bind_list(statement, answers->keys + first, end - first);
    for (unsigned i = first; i < end; i++)
        answers->found[i] = false;
    while (statement != NULL && sqlite3_step(statement) == SQLITE_ROW) {
        if (which == CHECK) {
            answers->found[first] = true;
        } else if (which == CHECK_MANY) {
            answers->found[first + (unsigned)sqlite3_column_int(statement, 0)] = true;
        } else if (which == INFO) {
            answers->has_info = true;
            answers->chunks = sqlite3_column_int64(statement, 0);
            answers->counted = sqlite3_column_int64(statement, 1);
        } else {
            answers->filter_bytes = (size_t)sqlite3_column_bytes(statement, 0);
            answers->filter = malloc(answers->filter_bytes);
            expect(answers->filter != NULL, "no memory");
            memcpy(answers->filter, sqlite3_column_blob(statement, 0), answers->filter_bytes);
        }
    }
    if (statement != NULL)
        code = sqlite3_reset(statement);
    answers->queried_filter |= which == FILTER;
    code = really(connection, code);
    if (is_busy(code)) {
        refused(connection, schema);
        return false;
    }
    expect(code == SQLITE_OK || (which == FILTER && code == SQLITE_ERROR), "%s: result %d (%s)",
           connection->name, code, last_error);
    return true;
}

static bool ask_keys(struct connection *connection, unsigned schema, unsigned name,
                     struct answers *answers) {
    for (unsigned i = 0; i < SINGLY; i++)
        if (!ask(connection, schema, name, CHECK, i, i + 1, answers))
            return false;
    return ask(connection, schema, name, CHECK_MANY, SINGLY, answers->count, answers);
}

/* All of it changes nothing: no row, no last_insert_rowid(). */
static bool ask_all(struct connection *connection, unsigned schema, unsigned name, bool thorough,
                    struct answers *answers) {
    sqlite3 *database = connection->database;
    const int changes = sqlite3_changes(database), total = sqlite3_total_changes(database);
    const sqlite3_int64 rowid = (sqlite3_int64)(random_next() >> 1);
    const bool info_first = random_once_in(3);
    sqlite3_set_last_insert_rowid(database, rowid);
    const bool queried =
        (info_first || ask_keys(connection, schema, name, answers)) &&
        ((!thorough && random_once_in(2)) || ask(connection, schema, name, INFO, 0, 0, answers)) &&
        (!random_once_in(6) || ask(connection, schema, name, FILTER, 0, 0, answers)) &&
        (!info_first || ask_keys(connection, schema, name, answers));
    expect(sqlite3_changes(database) == changes && sqlite3_total_changes(database) == total &&
               sqlite3_last_insert_rowid(database) == rowid,
           "%s: queries count as changes", connection->name);
    return queried;
}

/* A table has a filter when no generation but one, and of that only the first layer, has rows. */
static const struct raw_layer *layer_of_filter(const struct raw *raw) {
    const struct raw_layer *holder = raw->layers;
    unsigned holders = 0;
    for (unsigned i = 0; i < AGES_MOST * LAYERS_MOST; i++)
        if (has_rows(&raw->layers[i])) {
            holder = i % LAYERS_MOST == 0 ? &raw->layers[i] : NULL;
            holders++;
        }
    return holders <= 1 ? holder : NULL;
}

static void compare_filter(const struct raw *raw, const struct answers *answers,
                           const char *where) {
    const struct raw_layer *layer = layer_of_filter(raw);
    uint8_t header[BLOOM_HEADER_BYTES_MAXIMUM];
    expect((answers->filter != NULL) == (layer != NULL), "%s: filter: %s", where, last_error);
    if (layer == NULL)
        return;
    const size_t header_bytes = bloom_header_bytes(&layer->form.shape);
    const size_t bytes = (size_t)bloom_payload_bytes(&layer->form.shape);
    bloom_header_write(&layer->form.shape, header);
    expect(answers->filter_bytes == header_bytes + bytes &&
               memcmp(answers->filter, header, header_bytes) == 0 &&
               memcmp(answers->filter + header_bytes, layer->blocks, bytes) == 0,
           "%s: filter is not what the bits are", where);
}

static void compare(const struct raw *raw, const struct answers *answers, const char *where) {
    for (unsigned i = 0; i < answers->count; i++) {
        const unsigned key = answers->keys[i];
        expect(answers->found[i] == raw_has(raw, key), "%s: key %u is said to be %s", where, key,
               answers->found[i] ? "in" : "not in");
    }
    const struct raw_size size = raw_size(raw);
    expect(!answers->has_info ||
               ((uint64_t)answers->chunks == size.rows && (uint64_t)answers->counted == size.keys),
           "%s: info has %lld chunks and %lld keys, not %llu and %llu", where, answers->chunks,
           answers->counted, (unsigned long long)size.rows, (unsigned long long)size.keys);
    if (answers->queried_filter)
        compare_filter(raw, answers, where);
}

/* Every other one was added at some time, if any was. */
static unsigned key_to_ask(const struct table *table, unsigned number) {
    const unsigned key = random_below(UNIVERSE);
    for (unsigned i = 0; number % 2 == 0 && i < UNIVERSE; i++)
        if (table->added.have[(key + i) % UNIVERSE])
            return (key + i) % UNIVERSE;
    return key;
}

void look(struct connection *connection, unsigned schema, unsigned slot, bool thorough) {
    static struct raw raw;
    static struct answers answers;
    char where[80];
    const bool raw_first = random_once_in(2);
    if (!peek(connection, schema)->tables[slot].exists)
        return;
    const struct content *content = view(connection, schema);
    const unsigned name = content->tables[slot].name;
    looks++;
    sqlite3_snprintf(sizeof where, where, "%s: %s.%s", connection->name, SCHEMA[schema],
                     NAME[name]);
    memset(&answers, 0, sizeof answers);
    answers.count = thorough ? UNIVERSE : SINGLY + TOGETHER;
    for (unsigned i = 0; i < answers.count; i++)
        answers.keys[i] = thorough ? i : key_to_ask(&content->tables[slot], i);
    bool read = raw_first && look_raw(connection, schema, slot, &raw);
    if ((read || !raw_first) && ask_all(connection, schema, name, thorough, &answers) &&
        (read || (read = look_raw(connection, schema, slot, &raw)))) {
        compare(&raw, &answers, where);
        if (!content->tampered)
            compare_counts(&raw, where);
    }
    if (read)
        raw_clear(&raw);
    free(answers.filter);
}

void look_from_outside(const struct file *file) {
    static struct connection outside;
    struct file copy = *file;
    sqlite3_stmt *statement;
    copy.shared = false;
    connection_open(&outside, "a new connection", &copy);
    exec(outside.database, "BEGIN");
    model_begin(&outside, false);
    for (unsigned slot = 0; slot < SLOTS && outside.in_transaction; slot++)
        look(&outside, 0, slot, true);
    if (sqlite3_prepare_v2(outside.database, "PRAGMA integrity_check", -1, &statement, NULL) ==
            SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        expect(strcmp(text, "ok") == 0 || strstr(text, "lock") != NULL, "%s: %s", file->path, text);
    }
    sqlite3_finalize(statement);
    connection_close(&outside);
}
