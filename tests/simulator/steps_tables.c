/* Steps: tables change, and are queried. */
#include "simulator.h"

#include <stdlib.h>

/* ---- A statement that changes a table ---- */

struct attempt {
    struct connection *connection;
    unsigned schema, slot;
    sqlite3_stmt *statement;
    struct raw before, after; /* after: as the statement must leave the table */
    struct keys keys;         /* that it adds */
    int changes;              /* that it must count */
    bool estimated;           /* of after only bits are known */
    bool may_refuse, must_refuse;
};

/* False when a lock is in the way, or there is no table. */
static bool attempt_begin(struct attempt *attempt, struct connection *connection, const char *sql) {
    int code;
    memset(attempt, 0, sizeof *attempt);
    attempt->connection = connection;
    attempt->changes = 1;
    if (!choose(connection, &attempt->schema, &attempt->slot, true))
        return false;
    connection->touched = (int)(attempt->schema * SLOTS + attempt->slot);
    if (!look_raw(connection, attempt->schema, attempt->slot, &attempt->before))
        return false;
    const struct table *table = &view(connection, attempt->schema)->tables[attempt->slot];
    attempt->statement = statement_of(connection, attempt->schema, table->name, sql, &code);
    if (attempt->statement == NULL) {
        raw_clear(&attempt->before);
        judge(connection, code, false, NAME[table->name]);
        return false;
    }
    raw_copy(&attempt->after, &attempt->before);
    return true;
}

/* After a statement that failed, what it did must have been undone, or the failure came when all
 * was done. Amid a transaction some keys of several may be there, but none may be lost. */
static void compare_failed(const struct attempt *attempt, const struct raw *rows, bool late,
                           const char *name) {
    if (rows->digest == attempt->before.digest)
        return;
    expect(attempt->connection->in_transaction ||
               (late && raw_same(rows, &attempt->after, attempt->estimated)),
           "%s: a failed statement without a transaction has changed it", name);
    const bool adds = memchr(attempt->keys.have, true, UNIVERSE) != NULL;
    expect(!adds || raw_contains(rows, &attempt->before), "%s: a failed statement has lost keys",
           name);
}

static void attempt_end(struct attempt *attempt) {
    struct connection *connection = attempt->connection;
    const unsigned schema = attempt->schema, slot = attempt->slot;
    const unsigned name = view(connection, schema)->tables[slot].name;
    const enum fault fault = random_fault();
    static struct raw rows;
    bool met;
    const int code = run(connection, attempt->statement, NULL, fault, &met);
    expect(code != SQLITE_OK || !connection->query_only, "%s: a change under query_only",
           connection->name);
    if (lost_transaction(connection)) {
        /* No memory when SQLite takes back the first try of a statement, before it prepares it
         * again, ends the transaction; the second try succeeds without one, on the table that had
         * that name before. */
        struct table *tables = peek(connection, schema)->tables;
        for (unsigned i = 0; code == SQLITE_OK && i < SLOTS; i++)
            tables[i].unknown |= tables[i].name == name;
    } else if (!raw_read(connection, schema, slot, &rows)) {
        peek(connection, schema)->tables[slot].unknown = true;
    } else {
        if (code != SQLITE_OK) {
            compare_failed(attempt, &rows, met && may_come_late(fault), NAME[name]);
        } else {
            const int changes = sqlite3_changes(connection->database);
            expect(!attempt->must_refuse, "%s must refuse that", NAME[name]);
            expect(changes == attempt->changes, "%s: changes() is %d, not %d", NAME[name], changes,
                   attempt->changes);
            expect(raw_same(&rows, &attempt->after, attempt->estimated),
                   "%s: the rows are not what the statement must have made of them", NAME[name]);
        }
        if (code == SQLITE_OK || rows.digest != attempt->before.digest) {
            struct table *table = &change(connection, schema)->tables[slot];
            table->digest = rows.digest;
            for (unsigned key = 0; key < UNIVERSE; key++)
                table->added.have[key] |= attempt->keys.have[key];
        }
        raw_clear(&rows);
    }
    const bool may_refuse = attempt->may_refuse || attempt->must_refuse;
    judge_write(connection, code, met || (may_refuse && code == SQLITE_ERROR),
                sqlite3_sql(attempt->statement));
    sqlite3_clear_bindings(attempt->statement);
    raw_clear(&attempt->before);
    raw_clear(&attempt->after);
}

/* ---- Keys come and go ---- */

/* Adds the keys of an attempt in their order. */
static void add_keys(struct attempt *attempt, bool only_new) {
    attempt->changes = 0;
    for (unsigned key = 0; key < UNIVERSE && !attempt->must_refuse; key++)
        if (attempt->keys.have[key]) {
            const enum raw_added added = raw_add(&attempt->after, key, !only_new);
            attempt->must_refuse = added == RAW_FULL;
            attempt->changes += added == RAW_NEW || !only_new;
        }
}

void step_insert(struct connection *connection) {
    static const char ADD[] = "INSERT INTO %s.%s(key) VALUES (?1)",
                      ADD_NEW[] = "INSERT OR IGNORE INTO %s.%s(key) VALUES (?1)",
                      ADD_COUNTED[] = "INSERT OR IGNORE INTO %s.%s(%s, key) VALUES ('add', ?1)";
    static const char *const WAYS[] = {ADD_NEW, ADD_NEW, ADD_NEW, ADD, ADD, ADD_COUNTED};
    struct attempt attempt;
    const char *sql = WAYS[random_below(6)];
    const unsigned key = random_below(UNIVERSE);
    if (!attempt_begin(&attempt, connection, sql))
        return;
    attempt.keys.have[key] = true;
    add_keys(&attempt, sql == ADD_NEW);
    bind_key(attempt.statement, key);
    attempt_end(&attempt);
}

static struct keys some_keys(void) {
    struct keys keys = {{false}};
    for (unsigned i = 1 + random_below(UNIVERSE >> random_below(8)); i > 0; i--)
        keys.have[random_below(UNIVERSE)] = true;
    return keys;
}

void step_insert_many(struct connection *connection) {
    struct attempt attempt;
    const bool only_new = !random_once_in(3);
    if (!attempt_begin(&attempt, connection,
                       only_new ? "INSERT OR IGNORE INTO %s.%s(key) SELECT value FROM json_each(?1)"
                                : "INSERT INTO %s.%s(key) SELECT value FROM json_each(?1)"))
        return;
    attempt.keys = some_keys();
    add_keys(&attempt, only_new);
    bind_keys(attempt.statement, &attempt.keys);
    attempt_end(&attempt);
}

/* Of a key that only seems to be in, counts of others are taken, which may then be lost: as rows
 * are compared to the bit, that is no matter here. */
void step_delete(struct connection *connection) {
    struct attempt attempt;
    unsigned key = random_below(UNIVERSE);
    if (!attempt_begin(&attempt, connection, "DELETE FROM %s.%s WHERE key = ?1"))
        return;
    for (unsigned i = 0; !random_once_in(4) && i < UNIVERSE && !raw_has(&attempt.before, key); i++)
        key = (key + 1) % UNIVERSE;
    const bool counts = attempt.before.options.growth.layout == &bloom_layout_counting;
    attempt.must_refuse = !counts && raw_has(&attempt.before, key);
    attempt.changes = counts && raw_remove(&attempt.after, key);
    bind_key(attempt.statement, key);
    attempt_end(&attempt);
}

/* ---- Whole tables ---- */

/* Unites the first layer with keys; a chunk that gets no bits gets no row. Returns the filter that
 * has them, with its length. */
static uint8_t *unite(struct attempt *attempt, size_t *length) {
    struct raw_layer *layer = attempt->after.layers;
    const struct bloom_shape *shape = &layer->form.shape;
    const size_t header = bloom_header_bytes(shape), bytes = (size_t)bloom_payload_bytes(shape);
    uint8_t *filter = calloc(1, header + bytes), *payload = filter + header;
    expect(filter != NULL, "no memory");
    bloom_header_write(shape, filter);
    for (unsigned key = 0; key < UNIVERSE; key++)
        if (attempt->keys.have[key]) {
            const uint64_t *words = words_of(attempt->after.options.key, key);
            const uint64_t block = bloom_block_of(shape, words);
            shape->layout->add(shape, payload, words, 1);
            layer->chunks[bloom_layer_chunk_of(&layer->form, block)].exists = true;
        }
    shape->layout->unite(layer->blocks, layer->blocks, payload, bytes);
    *length = header + bytes;
    return filter;
}

void step_merge(struct connection *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection, "INSERT INTO %s.%s(%s, key) VALUES ('merge', ?1)"))
        return;
    const struct bloom_growth *growth = &attempt.before.options.growth;
    const struct raw_layer *first = attempt.after.layers;
    size_t length;
    attempt.keys = some_keys();
    uint8_t *filter = unite(&attempt, &length);
    attempt.estimated = true;
    for (unsigned i = 1; i < LAYERS_MOST; i++)
        attempt.must_refuse |= has_rows(&first[i]);
    if (growth->mode != BLOOM_GROWTH_OFF) {
        const double rate =
            first->form.shape.layout->estimate(&first->form.shape, first->blocks).rate;
        attempt.may_refuse = rate > 0.8 * growth->rate / growth->generations;
        attempt.must_refuse |= rate > 1.6 * growth->rate + 0.01;
    }
    sqlite3_bind_blob(attempt.statement, 1, filter, (int)length, free);
    attempt_end(&attempt);
}

void step_clear(struct connection *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection, "INSERT INTO %s.%s(%s) VALUES ('clear')"))
        return;
    raw_clear(&attempt.after);
    attempt.after.newest = 0;
    attempt.after.has_period = false;
    attempt.after.period = 0;
    attempt_end(&attempt);
}

void step_rotate(struct connection *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection, "INSERT INTO %s.%s(%s) VALUES ('rotate')"))
        return;
    attempt.must_refuse =
        attempt.before.options.growth.generations == 1 || attempt.before.has_period;
    if (!attempt.must_refuse)
        raw_rotate(&attempt.after);
    attempt_end(&attempt);
}

void step_rotate_to(struct connection *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection, "INSERT INTO %s.%s(%s, key) VALUES ('period', ?1)"))
        return;
    const int64_t passed = random_once_in(8) ? INT32_MAX : (int64_t)random_below(AGES_MOST + 2) - 2;
    const int64_t period = attempt.before.period + (random_once_in(3) ? 0 : passed);
    const int64_t generations = attempt.before.options.growth.generations;
    attempt.must_refuse = generations == 1 || (attempt.before.has_period &&
                                               period < attempt.before.period - generations);
    if (!attempt.must_refuse)
        raw_rotate_to(&attempt.after, period);
    if (random_once_in(2))
        sqlite3_bind_int64(attempt.statement, 1, period);
    else
        sqlite3_bind_double(attempt.statement, 1, (double)period);
    note("%s: -- period %lld", connection->name, (long long)period);
    attempt_end(&attempt);
}

/* ---- By hand ---- */

/* Rows of chunks go, or become zeros, amid a transaction that will be rolled back. */
void step_tamper(struct connection *connection) {
    static const char *const EDITS[] = {"DELETE FROM %s.%s_data WHERE id",
                                        "UPDATE %s.%s_data SET data = CAST(zeroblob(12) || "
                                        "x'55555555' || zeroblob(length(data) - 16) AS BLOB) "
                                        "WHERE id"};
    static const char *const ROWS_TO_EDIT[] = {" > 0", " >> 40 > 0", " > 0 AND random() % 2"};
    unsigned schema, slot;
    struct raw raw;
    if (!connection->in_transaction || !choose(connection, &schema, &slot, true) ||
        !settle_view(connection, schema))
        return;
    const char *edit = sql_of("%s%s", EDITS[random_below(2)], ROWS_TO_EDIT[random_below(3)]);
    const char *sql =
        sql_of(edit, SCHEMA[schema], NAME[peek(connection, schema)->tables[slot].name]);
    /* Within a savepoint, as sqlite3changeset_apply changes rows. */
    const bool begun = plain(connection, "SAVEPOINT edit");
    const bool edited = begun && plain(connection, sql);
    if (begun && connection->in_transaction)
        plain(connection, "RELEASE edit");
    if (edited) {
        struct content *content = change(connection, schema);
        content->tampered = content->tables[slot].unknown = true;
        if (look_raw(connection, schema, slot, &raw))
            raw_clear(&raw);
    }
}

static bool is_like_saved(const struct options *saved, const struct options *options) {
    return saved->growth.chunk_blocks == options->growth.chunk_blocks &&
           strcmp(sql_to_create("a", 0, saved), sql_to_create("a", 0, options)) == 0;
}

/* Between transactions, all rows become again what they were at some time, or those of a table like
 * it. A changeset that is applied writes rows like this, too. */
void step_restore(struct connection *connection) {
    struct saved *saved = &connection->saved;
    unsigned schema, slot;
    struct raw raw;
    if (connection->in_transaction || !choose(connection, &schema, &slot, true) ||
        !look_raw(connection, schema, slot, &raw))
        return;
    struct table *table = &view(connection, schema)->tables[slot];
    const char *from = SCHEMA[schema], *name = NAME[table->name];
    const bool restores = is_like_saved(&saved->options, &raw.options);
    const char *sql =
        restores ? sql_of("BEGIN IMMEDIATE; DELETE FROM %s.%s_data; INSERT INTO %s.%s_data "
                          "SELECT * FROM temp.saved; COMMIT",
                          from, name, from, name)
                 : sql_of("DROP TABLE IF EXISTS temp.saved; CREATE TEMP TABLE saved AS "
                          "SELECT * FROM %s.%s_data",
                          from, name);
    const bool done = plain(connection, sql);
    if (!sqlite3_get_autocommit(connection->database))
        must_run(connection->database, "ROLLBACK");
    if (done && restores)
        table->digest = saved->digest;
    if (!restores)
        *saved = (struct saved){raw.options, raw.digest};
    if (!restores && !done)
        saved->options.growth.chunk_blocks = 0;
    raw_clear(&raw);
}

/* ---- Queries ---- */

void cursor_end(struct connection *connection) {
    sqlite3_finalize(connection->cursor);
    connection->cursor = NULL;
}

static void cursor_begin(struct connection *connection) {
    unsigned schema, slot;
    struct keys all;
    if (!choose(connection, &schema, &slot, true) || !settle_view(connection, schema))
        return;
    const char *sql = sql_of("SELECT e.key FROM json_each(?1) AS e CROSS JOIN %s.%s AS t "
                             "ON t.key = e.value",
                             SCHEMA[schema], NAME[peek(connection, schema)->tables[slot].name]);
    int code = sqlite3_prepare_v2(connection->database, sql, -1, &connection->cursor, NULL);
    note("%s: cursor: %s", connection->name, sql);
    judge(connection, code, false, sql);
    if (connection->cursor == NULL)
        return;
    memset(&all, true, sizeof all);
    bind_keys(connection->cursor, &all);
    connection->cursor_schema = schema;
    connection->cursor_slot = slot;
    connection->cursor_name = view(connection, schema)->tables[slot].name;
    connection->cursor_renamed = false;
    connection->cursor_key = -1;
}

/* Takes the next row of a query of all keys, which must be the next key that is in now. Returns
 * false when the query is over. */
static bool cursor_next(struct connection *connection) {
    const unsigned schema = connection->cursor_schema, slot = connection->cursor_slot;
    struct raw raw;
    const int code = sqlite3_step(connection->cursor);
    const int key = code == SQLITE_ROW ? sqlite3_column_int(connection->cursor, 0) : UNIVERSE;
    note("%s: cursor: result %d, key %d", connection->name, code, key);
    if (lost_transaction(connection))
        return false;
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        /* A rollback ends it. Of a renamed table an error is an answer, too, also of one whose
         * renaming was rolled back. */
        if ((code & 0xff) != SQLITE_ABORT && !connection->cursor_renamed &&
            view(connection, schema)->tables[slot].name == connection->cursor_name)
            judge(connection, code, false, "a query that goes on");
        return false;
    }
    if (view(connection, schema)->tables[slot].exists && look_raw(connection, schema, slot, &raw)) {
        for (int i = connection->cursor_key + 1; i <= key && i < UNIVERSE; i++)
            expect(raw_has(&raw, (unsigned)i) == (i == key),
                   "%s: a query that goes on says of key %d what is not so", connection->name, i);
        raw_clear(&raw);
    }
    connection->cursor_key = key;
    return code == SQLITE_ROW && connection->cursor != NULL;
}

/* A query of all keys, some rows at a time, between which the other steps come. */
void step_cursor(struct connection *connection) {
    if (!connection->in_transaction)
        return;
    if (connection->cursor == NULL)
        cursor_begin(connection);
    for (unsigned rows = 1 + random_below(3); rows > 0 && connection->cursor != NULL; rows--)
        if (!cursor_next(connection))
            cursor_end(connection);
}

/* Other queries, which fail half way; the look after the step compares answers. */
void step_query(struct connection *connection) {
    static const char *const QUERIES[] = {
        ("SELECT count(*) FROM json_each('[1,2,3,4,5,6,7,8]') CROSS JOIN %s.%s AS t ON t.key = "
         "value"),
        "SELECT info, filter FROM %s.%s", /* may be refused */
        "SELECT count(*) FROM %s.%s WHERE key IN (2, 4, 6, 'k1', 'b', NULL)",
        "SELECT count(*) FROM %s.%s('k1')",
    };
    unsigned schema, slot;
    bool met;
    if (!choose(connection, &schema, &slot, true) || !settle_view(connection, schema))
        return;
    const unsigned which = random_below(sizeof QUERIES / sizeof *QUERIES);
    const char *sql =
        sql_of(QUERIES[which], SCHEMA[schema], NAME[peek(connection, schema)->tables[slot].name]);
    int code = run(connection, NULL, sql, random_fault(), &met);
    if (!lost_transaction(connection))
        judge(connection, code, met || (which == 1 && code == SQLITE_ERROR), sql);
}
