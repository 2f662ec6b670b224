/* The steps. Each runs one statement or a few, most of them kept since their first use, and does to
 * the model what they do to the database; what a failed one has left is found out by a look at the
 * shadow tables. */
#include "oracle.h"

#include "filter/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct connection connection_t;

/* ---- Running SQL ---- */

/* The transaction is over without our doing: some errors roll it back. */
static bool lost_transaction(connection_t *connection) {
    if (!connection->in_transaction || !sqlite3_get_autocommit(connection->database))
        return false;
    note("%s: -- the transaction was rolled back", connection->name);
    model_rollback(connection);
    return true;
}

/* Runs a statement, or SQL when that is NULL, with a fault perhaps. */
static char error[300]; /* of the last statement that was run */

static int run(connection_t *connection, sqlite3_stmt *statement, const char *sql, enum fault fault,
               bool *met) {
    sqlite3 *database = connection->database;
    unsigned number = 1 + random_below(1U << random_below(9));
    int code = SQLITE_OK;
    fault_arm(database, fault, number);
    if (statement != NULL) {
        while (sqlite3_step(statement) == SQLITE_ROW)
            continue;
        code = sqlite3_reset(statement);
    } else {
        code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    }
    sqlite3_snprintf(sizeof error, error, "%s", sqlite3_errmsg(database));
    *met = fault_disarm(database);
    static const char *const FAULTS[] = {"",     "allocation", "allocations from",
                                         "DENY", "IGNORE",     "interrupt"};
    if (fault != FAULT_NONE && *met)
        note("%s: %s; -- result %d, with %s %u", connection->name,
             sql != NULL ? sql : sqlite3_sql(statement), code, FAULTS[fault], number);
    else
        note("%s: %s; -- result %d", connection->name, sql != NULL ? sql : sqlite3_sql(statement),
             code);
    return code;
}

/* What may go wrong without a fault: a lock, and damage that somebody made by hand. */
static void judge(connection_t *connection, unsigned schema, int code, bool met, const char *what) {
    if (code == SQLITE_OK || met)
        return;
    code = really(connection, schema, code);
    if (is_busy(code)) {
        refusals++;
        return;
    }
    bool tampered = false; /* in any of its files: savepoints concern all */
    for (unsigned i = 0; i < SCHEMAS; i++) {
        const struct link *link = &connection->links[i];
        if (link->file != NULL)
            tampered = tampered || (shared_cache ? link->file->now.tampered
                                                 : connection->in_transaction && link->sees &&
                                                       link->now.tampered);
    }
    expect(tampered && ((code & 0xff) == SQLITE_CORRUPT || code == SQLITE_ERROR ||
                        (code & 0xff) == SQLITE_CONSTRAINT || code == SQLITE_AUTH),
           "%s: %s: result %d (%s)", connection->name, what, code, error);
}

/* Only for the world: must succeed or be refused by a lock. */
static bool plain(connection_t *connection, const char *sql) {
    bool met;
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    lost_transaction(connection);
    judge(connection, 0, code, false, sql);
    return code == SQLITE_OK;
}

static bool choose(connection_t *connection, unsigned *schema, unsigned *slot, bool exists) {
    *schema = connection->links[1].file != NULL && random_once_in(2);
    *slot = random_below(SLOTS);
    for (unsigned i = 0; i < SLOTS; i++, *slot = (*slot + 1) % SLOTS)
        if (peek(connection, *schema)->tables[*slot].exists == exists)
            return true;
    return false;
}

/* Makes sure what a transaction sees, which a statement that fails would leave in doubt; and that
 * the connection knows the last schema, by which SQLite refuses names that are taken. */
static bool settle_view(connection_t *connection, unsigned schema) {
    char sql[80];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]);
    int code = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK && !connection->in_transaction)
        return true;
    if (code == SQLITE_OK) {
        view(connection, schema);
        connection->links[schema].sure = true;
        return true;
    }
    expect(is_busy(code), "%s: %s: %s", connection->name, sql,
           sqlite3_errmsg(connection->database));
    refused(connection, schema);
    return false;
}

/* ---- Changes of one table ---- */

struct attempt {
    connection_t *connection;
    unsigned schema, slot;
    struct table *table; /* as it is in view */
    struct raw raw;      /* before */
    uint64_t keys;       /* new ones at most */
    bool doubtful;       /* it was done, but what changed is not as if nothing had come between */
    bool met, changed;   /* the fault came to pass; the shadow tables changed */
    enum fault fault;
    int code;
};

/* Looks at what there is. False when it cannot be seen, or the table is not there. */
static bool attempt_begin(struct attempt *attempt, connection_t *connection) {
    memset(attempt, 0, sizeof *attempt);
    attempt->connection = connection;
    if (!choose(connection, &attempt->schema, &attempt->slot, true))
        return false;
    attempt->table = &view(connection, attempt->schema)->tables[attempt->slot];
    return look_raw(connection, attempt->schema, attempt->table->name, &attempt->raw);
}

/* Runs it. True when it has succeeded, with attempt->table for the changed model. What failed in a
 * transaction that goes on may have changed bits all the same. */
static bool attempt_run(struct attempt *attempt, sqlite3_stmt *statement, enum fault fault) {
    connection_t *connection = attempt->connection;
    unsigned name = attempt->table->name;
    attempt->fault = fault;
    attempt->code = run(connection, statement, NULL, fault, &attempt->met);
    /* No memory when SQLite takes back the first try of a statement, before it prepares it anew,
     * ends the transaction; the second try succeeds without one. */
    attempt->doubtful = lost_transaction(connection);
    if (attempt->code == SQLITE_OK) {
        attempt->table = &change(connection, attempt->schema)->tables[attempt->slot];
        return true;
    }
    if (attempt->doubtful)
        return false;
    struct raw after;
    if (look_raw(connection, attempt->schema, name, &after)) {
        attempt->changed = after.digest != attempt->raw.digest;
        raw_clear(&after);
        /* SQLite may report an interrupt that came when all was done. */
        bool late = attempt->changed && attempt->met && fault == FAULT_INTERRUPT;
        expect(!attempt->changed || connection->in_transaction || late,
               "%s: a failed statement without a transaction has changed %s", connection->name,
               NAME[name]);
        if (attempt->changed)
            attempt->table = &change(connection, attempt->schema)->tables[attempt->slot];
        attempt->doubtful = late;
        if (late && !connection->in_transaction)
            return true;
    }
    const struct options *options = &OPTIONS[attempt->table->options];
    bool full = options->refuses &&
                (attempt->code == SQLITE_ERROR || attempt->code == SQLITE_FULL) &&
                (attempt->table->merged ||
                 attempt->table->counted_most + attempt->keys > options->capacity);
    judge(connection, attempt->schema, attempt->code, attempt->met || full, sqlite3_sql(statement));
    return false;
}

static void added(struct attempt *attempt, uint64_t least, uint64_t most) {
    attempt->table->counted += least;
    attempt->table->counted_most += most;
    attempt->table->inserted += most;
}

static sqlite3_stmt *statement_for(struct attempt *attempt, enum statement which) {
    int code;
    sqlite3_stmt *statement =
        statement_of(attempt->connection, attempt->schema, attempt->table->name, which, &code);
    if (statement == NULL)
        expect(is_busy(code), "%s: %s.%s: %s", attempt->connection->name, SCHEMA[attempt->schema],
               NAME[attempt->table->name], sqlite3_errmsg(attempt->connection->database));
    return statement;
}

static void step_insert(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    unsigned key = random_below(UNIVERSE);
    bool is_in = raw_has(&attempt.raw, key), only_new = random_once_in(2);
    sqlite3_stmt *statement = statement_for(&attempt, only_new ? ADD_NEW : ADD);
    if (statement != NULL) {
        note("%s: -- key %u", connection->name, key);
        bind_key(statement, 1, key);
        attempt.keys = 1;
        if (attempt_run(&attempt, statement, random_fault(true))) {
            bool sure = !(attempt.met && attempt.fault == FAULT_IGNORE);
            if (only_new && sure && !attempt.doubtful)
                expect(sqlite3_changes(connection->database) == !is_in,
                       "%s: changes() is %d for key %u that was %s", connection->name,
                       sqlite3_changes(connection->database), key, is_in ? "in" : "not in");
            if (sure)
                keys_add(&attempt.table->keys, key);
            added(&attempt, sure && !is_in && !attempt.doubtful, !is_in || attempt.doubtful);
        } else if (attempt.changed) {
            added(&attempt, 0, !is_in);
        }
    }
    raw_clear(&attempt.raw);
}

static struct keys some_keys(void) {
    struct keys keys = {{0}};
    unsigned size = 1 + random_below(UNIVERSE >> random_below(8));
    for (unsigned i = 0; i < size; i++)
        keys_add(&keys, random_below(UNIVERSE));
    return keys;
}

static void step_insert_many(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = statement_for(&attempt, ADD_MANY);
    if (statement != NULL) {
        connection->asked = some_keys();
        note("%s: -- %u keys", connection->name, keys_count(&connection->asked));
        attempt.keys = keys_count(&connection->asked);
        if (attempt_run(&attempt, statement, random_fault(true))) {
            uint64_t changes = (uint64_t)sqlite3_changes(connection->database);
            if (attempt.doubtful) {
                keys_unite(&attempt.table->keys, &connection->asked);
                added(&attempt, 0, keys_count(&connection->asked));
            } else if (attempt.met && attempt.fault == FAULT_IGNORE) {
                added(&attempt, 0, keys_count(&connection->asked));
            } else {
                keys_unite(&attempt.table->keys, &connection->asked);
                added(&attempt, changes, changes);
            }
        } else if (attempt.changed) {
            added(&attempt, 0, keys_count(&connection->asked));
        }
    }
    raw_clear(&attempt.raw);
}

/* The statement fails at one of its keys: it leaves nothing. */
static void step_insert_failing(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = statement_for(&attempt, ADD_MANY_FAILING);
    if (statement != NULL) {
        connection->asked = some_keys();
        unsigned last = UNIVERSE - 1;
        while (!keys_have(&connection->asked, last))
            last--;
        unsigned from = random_below(last + 1);
        note("%s: -- %u keys, fails from %u on", connection->name, keys_count(&connection->asked),
             from);
        sqlite3_bind_int(statement, 1, (int)from);
        attempt.code = run(connection, statement, NULL, FAULT_NONE, &attempt.met);
        expect(attempt.code != SQLITE_OK, "%s: succeeds", sqlite3_sql(statement));
        struct raw after;
        if (!lost_transaction(connection) &&
            look_raw(connection, attempt.schema, attempt.table->name, &after)) {
            expect(after.digest == attempt.raw.digest || connection->in_transaction,
                   "%s: a failed statement without a transaction has changed %s", connection->name,
                   NAME[attempt.table->name]);
            for (unsigned i = 0; i < after.layer_count; i++)
                expect(after.layer_count == attempt.raw.layer_count &&
                           after.layers[i].bits == attempt.raw.layers[i].bits,
                       "%s: a failed statement of several keys has left bits", connection->name);
            raw_clear(&after);
        }
    }
    raw_clear(&attempt.raw);
}

/* A filter of the first layer's shape, made by the filter library. */
static void step_merge(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = statement_for(&attempt, MERGE);
    if (statement != NULL && attempt.raw.sane) {
        const struct raw_layer *first = &attempt.raw.layers[0];
        struct keys keys = some_keys();
        size_t payload = (size_t)bloom_payload_bytes(&first->shape);
        uint8_t *filter = calloc(1, BLOOM_HEADER_BYTES + payload);
        expect(filter != NULL, "no memory");
        memcpy(filter, attempt.raw.header, BLOOM_HEADER_BYTES);
        for (unsigned key = 0; key < UNIVERSE; key++)
            if (keys_have(&keys, key))
                first->shape.layout->add(&first->shape, filter + BLOOM_HEADER_BYTES, key_words(key),
                                         1);
        uint8_t *merged = filter + BLOOM_HEADER_BYTES;
        struct bloom_estimate estimate;
        uint8_t *unite = malloc(payload);
        expect(unite != NULL, "no memory");
        for (size_t i = 0; i < payload; i++)
            unite[i] = merged[i] | first->payload[i];
        estimate = first->shape.layout->estimate(&first->shape, unite);
        double rate = estimate.rate;
        free(unite);
        bool grows = OPTIONS[attempt.table->options].grows;
        double limit = OPTIONS[attempt.table->options].rate;
        note("%s: -- a filter of %u keys; the layer would have a rate of %g", connection->name,
             keys_count(&keys), rate);
        sqlite3_bind_blob(statement, 1, filter, (int)(BLOOM_HEADER_BYTES + payload), SQLITE_STATIC);
        enum fault fault = random_fault(true);
        attempt.fault = fault;
        attempt.code = run(connection, statement, NULL, fault, &attempt.met);
        grows = grows || OPTIONS[attempt.table->options].refuses;
        bool over = grows && rate > limit * 1.0001;
        if (attempt.code == SQLITE_ERROR && grows && rate > 0.8 * limit && !attempt.met) {
            char *percent = strpbrk(sqlite3_errmsg(connection->database), "0123456789");
            expect(percent != NULL, "the refusal of a merge names no rate: %s",
                   sqlite3_errmsg(connection->database));
        } else if (attempt.code == SQLITE_OK) {
            expect(!over || attempt.met || rate < 1.6 * limit + 0.01,
                   "%s: a merge into %s.%s takes its first layer to %g, %g was asked for",
                   connection->name, SCHEMA[attempt.schema], NAME[attempt.table->name], rate,
                   limit);
            attempt.table = &change(connection, attempt.schema)->tables[attempt.slot];
            if (!(attempt.met && fault == FAULT_IGNORE))
                keys_unite(&attempt.table->keys, &keys);
            attempt.table->unknown = attempt.table->merged = true;
        } else if (!lost_transaction(connection)) {
            struct raw after;
            if (look_raw(connection, attempt.schema, attempt.table->name, &after)) {
                if (after.digest != attempt.raw.digest) {
                    expect(connection->in_transaction || (attempt.met && fault == FAULT_INTERRUPT),
                           "%s: a failed merge has changed something", connection->name);
                    attempt.table = &change(connection, attempt.schema)->tables[attempt.slot];
                    attempt.table->unknown = attempt.table->merged = true;
                }
                raw_clear(&after);
            }
            judge(connection, attempt.schema, attempt.code, attempt.met, "merge");
        }
        sqlite3_bind_null(statement, 1);
        free(filter);
    }
    raw_clear(&attempt.raw);
}

static void step_clear(connection_t *connection) {
    struct attempt attempt;
    if (!attempt_begin(&attempt, connection))
        return;
    sqlite3_stmt *statement = statement_for(&attempt, CLEAR);
    if (statement == NULL) {
        raw_clear(&attempt.raw);
        return;
    }
    bool done = attempt_run(&attempt, statement, random_fault(true));
    bool doubtful =
        attempt.met && (attempt.fault == FAULT_IGNORE || attempt.fault == FAULT_INTERRUPT);
    if (done || (doubtful && attempt.changed)) {
        attempt.table->keys = (struct keys){{0}};
        attempt.table->counted = 0;
        attempt.table->unknown = attempt.table->merged = doubtful;
        if (!doubtful)
            attempt.table->counted_most = attempt.table->inserted = 0;
    }
    raw_clear(&attempt.raw);
}

static void cursor_end(connection_t *connection) {
    sqlite3_finalize(connection->cursor);
    connection->cursor = NULL;
}

/* A query of all keys, some rows at a time, between which the other steps come. Each answer is the
 * one of its moment. */
static void step_cursor(connection_t *connection) {
    struct raw raw;
    if (!connection->in_transaction)
        return;
    if (connection->cursor == NULL) {
        unsigned schema, slot;
        if (!choose(connection, &schema, &slot, true) || !settle_view(connection, schema))
            return;
        char *sql =
            sqlite3_mprintf("SELECT u.i FROM temp.universe AS u CROSS JOIN %s.%s AS t "
                            "ON t.key = u.k",
                            SCHEMA[schema], NAME[peek(connection, schema)->tables[slot].name]);
        int code = sqlite3_prepare_v2(connection->database, sql, -1, &connection->cursor, NULL);
        note("%s: cursor: %s", connection->name, sql);
        judge(connection, schema, code, false, sql);
        sqlite3_free(sql);
        if (connection->cursor == NULL)
            return;
        connection->cursor_schema = schema;
        connection->cursor_slot = slot;
        connection->cursor_name = peek(connection, schema)->tables[slot].name;
        connection->cursor_key = -1;
    }
    for (unsigned rows = 1 + random_below(3); rows > 0; rows--) {
        unsigned schema = connection->cursor_schema;
        const struct table *table = &view(connection, schema)->tables[connection->cursor_slot];
        int code = sqlite3_step(connection->cursor);
        int key = code == SQLITE_ROW ? sqlite3_column_int(connection->cursor, 0) : UNIVERSE;
        note("%s: cursor: result %d, key %d", connection->name, code, key);
        if (lost_transaction(connection))
            return;
        if ((code == SQLITE_ROW || code == SQLITE_DONE) && table->exists &&
            look_raw(connection, schema, table->name, &raw)) {
            for (int i = connection->cursor_key + 1; raw.sane && i <= key && i < UNIVERSE; i++)
                expect(raw_has(&raw, (unsigned)i) == (i == key),
                       "%s: a query that goes on says of key %d what is not so", connection->name,
                       i);
            raw_clear(&raw);
        }
        if (connection->cursor == NULL)
            return; /* the look has ended the transaction */
        connection->cursor_key = key;
        if (code != SQLITE_ROW) {
            bool rolled_back = (code & 0xff) == SQLITE_ABORT;
            bool renamed = table->name != connection->cursor_name; /* an error is an answer */
            if (code != SQLITE_DONE && !rolled_back && !renamed)
                judge(connection, schema, code, false, "a query that goes on");
            cursor_end(connection);
            return;
        }
    }
}

static void step_query(connection_t *connection) {
    static const char *const QUERIES[] = {
        "SELECT count(*) FROM temp.universe AS u CROSS JOIN %s.%s AS t ON t.key = u.k",
        "SELECT info, filter FROM %s.%s",
        "SELECT count(*) FROM %s.%s WHERE key IN (2, 4, 6, 'a', 'b', NULL)",
        "SELECT count(*) FROM %s.%s('http://1.example/')",
    };
    unsigned schema, slot;
    bool met;
    if (!choose(connection, &schema, &slot, true))
        return;
    const struct table *table = &peek(connection, schema)->tables[slot];
    if (!settle_view(connection, schema))
        return;
    unsigned which = random_below(4);
    char *sql = sqlite3_mprintf(QUERIES[which], SCHEMA[schema], NAME[table->name]);
    int code = run(connection, NULL, sql, random_fault(true), &met);
    if (!lost_transaction(connection) && (which != 1 || code != SQLITE_ERROR))
        judge(connection, schema, code, met, sql);
    sqlite3_free(sql);
}

/* ---- Transactions and savepoints ---- */

static void step_begin(connection_t *connection) {
    static const char *const BEGIN[] = {"BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s0"};
    unsigned how = random_below(3);
    if (connection->in_transaction || !plain(connection, BEGIN[how]))
        return;
    model_begin(connection, how == 2);
    if (how == 1) /* of all schemas */
        for (unsigned schema = 0; schema < SCHEMAS; schema++)
            if (connection->links[schema].file != NULL) {
                view(connection, schema);
                connection->links[schema].sure = true;
            }
}

static void step_rollback(connection_t *connection) {
    bool met;
    if (!connection->in_transaction)
        return;
    if (random_once_in(2))
        cursor_end(connection);
    int code = run(connection, NULL, "ROLLBACK", random_fault(false), &met);
    if (code != SQLITE_OK && !sqlite3_get_autocommit(connection->database))
        code = run(connection, NULL, "ROLLBACK", FAULT_NONE, &met);
    /* No statement is prepared while another connection of the cache changes the schema. */
    if (is_busy(code) && shared_cache)
        return;
    expect(sqlite3_get_autocommit(connection->database), "%s: ROLLBACK: result %d",
           connection->name, code);
    model_rollback(connection);
}

static void step_commit(connection_t *connection) {
    bool met;
    if (!connection->in_transaction)
        return;
    if (is_tampered(connection)) {
        step_rollback(connection);
        return;
    }
    const char *sql = connection->by_savepoint ? "RELEASE s0" : "COMMIT";
    if (random_once_in(2))
        cursor_end(connection);
    enum fault fault = random_fault(true);
    if (fault == FAULT_INTERRUPT) /* which SQLite may report when all is committed */
        fault = FAULT_NONE;
    int code = run(connection, NULL, sql, fault, &met);
    /* A savepoint that begins a transaction stays open when its commit fails, but what was in it is
     * rolled back, unless that was SQLITE_BUSY. */
    if (code != SQLITE_OK && code != SQLITE_BUSY && connection->by_savepoint &&
        !sqlite3_get_autocommit(connection->database)) {
        judge(connection, 0, code, met, sql);
        run(connection, NULL, "ROLLBACK", FAULT_NONE, &met);
        if (lost_transaction(connection))
            return;
    }
    if (code == SQLITE_OK) {
        model_commit(connection);
    } else if (!lost_transaction(connection)) {
        judge(connection, 0, code, met, sql);
    }
}

static void step_savepoint(connection_t *connection) {
    char sql[60], release[60];
    bool met;
    if (!connection->in_transaction || connection->depth == DEPTH_MOST)
        return;
    snprintf(sql, sizeof sql, "SAVEPOINT s%u", connection->depth + 1);
    snprintf(release, sizeof release, "RELEASE s%u", connection->depth + 1);
    int code = run(connection, NULL, sql, random_fault(true), &met);
    if (lost_transaction(connection))
        return;
    if (code != SQLITE_OK) {
        judge(connection, 0, code, met, sql);
        run(connection, NULL, release, FAULT_NONE, &met);
        lost_transaction(connection);
        return;
    }
    connection->depth++;
    for (unsigned schema = 0; schema < SCHEMAS; schema++) {
        struct link *link = &connection->links[schema];
        if (shared_cache ? link->wrote : link->sees)
            link->before[connection->depth] = shared_cache ? link->file->now : link->now;
    }
}

static void step_release(connection_t *connection) {
    char sql[60];
    bool met;
    if (!connection->in_transaction || connection->depth == 0)
        return;
    unsigned level = 1 + random_below(connection->depth);
    snprintf(sql, sizeof sql, "RELEASE s%u", level);
    int code = run(connection, NULL, sql, random_fault(true), &met);
    if (lost_transaction(connection))
        return;
    if (code != SQLITE_OK) { /* it may be released all the same */
        judge(connection, 0, code, met, sql);
        run(connection, NULL, sql, FAULT_NONE, &met);
        if (lost_transaction(connection))
            return;
    }
    connection->depth = level - 1;
}

static void step_rollback_to(connection_t *connection) {
    char sql[60];
    bool met;
    if (!connection->in_transaction || (connection->depth == 0 && !connection->by_savepoint))
        return;
    unsigned least = connection->by_savepoint ? 0 : 1;
    unsigned level = least + random_below(connection->depth - least + 1);
    snprintf(sql, sizeof sql, "ROLLBACK TO s%u", level);
    int code = run(connection, NULL, sql, random_fault(true), &met);
    if (lost_transaction(connection))
        return;
    if (code != SQLITE_OK) {
        judge(connection, 0, code, met, sql);
        code = run(connection, NULL, sql, FAULT_NONE, &met);
        if (lost_transaction(connection))
            return;
        judge(connection, 0, code, false, sql);
    }
    model_rollback_to(connection, level);
}

/* ---- The schema ---- */

/* SQL that changes the schema; false when the model stays as it is. */
static bool change_schema(connection_t *connection, unsigned schema, const char *sql) {
    bool met;
    if (!settle_view(connection, schema))
        return false;
    enum fault fault = random_fault(false);
    if (fault == FAULT_INTERRUPT) /* which SQLite may report when all is done */
        fault = FAULT_NONE;
    int code = run(connection, NULL, sql, fault, &met);
    if (lost_transaction(connection))
        return false;
    judge(connection, schema, code, met, sql);
    return code == SQLITE_OK;
}

static unsigned free_name(const struct content *content) {
    unsigned name = random_below(NAMES);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (content->tables[slot].exists && content->tables[slot].name == name) {
            name = (name + 1) % NAMES;
            slot = UINT32_MAX; /* from the beginning */
        }
    return name;
}

static void step_drop(connection_t *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, true))
        return;
    const struct table *table = &peek(connection, schema)->tables[slot];
    char *sql = sqlite3_mprintf("DROP TABLE %s.%s", SCHEMA[schema], NAME[table->name]);
    if (change_schema(connection, schema, sql))
        change(connection, schema)->tables[slot].exists = false;
    sqlite3_free(sql);
}

static void step_create(connection_t *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, false))
        return;
    struct table table = {.exists = true,
                          .name = free_name(peek(connection, schema)),
                          .options = random_below(options_known)};
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE %s.%s USING bloom(%s)", SCHEMA[schema],
                                NAME[table.name], OPTIONS[table.options].text);
    if (change_schema(connection, schema, sql))
        change(connection, schema)->tables[slot] = table;
    sqlite3_free(sql);
}

static void step_rename(connection_t *connection) {
    unsigned schema, slot;
    if (!choose(connection, &schema, &slot, true))
        return;
    const struct content *content = peek(connection, schema);
    unsigned name = free_name(content);
    char *sql = sqlite3_mprintf("ALTER TABLE %s.%s RENAME TO %s", SCHEMA[schema],
                                NAME[content->tables[slot].name], NAME[name]);
    if (change_schema(connection, schema, sql))
        change(connection, schema)->tables[slot].name = name;
    sqlite3_free(sql);
}

/* Other tables, and their rows: refused when they are there already, or not there. */
static void step_aside(connection_t *connection) {
    static const char *const ASIDE[] = {"CREATE TABLE %s.aside(x)", "DROP TABLE %s.aside",
                                        "INSERT INTO %s.aside VALUES (1)"};
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    bool met;
    if (!settle_view(connection, schema))
        return;
    char *sql = sqlite3_mprintf(ASIDE[random_below(3)], SCHEMA[schema]);
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    if (!lost_transaction(connection) && code == SQLITE_OK)
        change(connection, schema);
    sqlite3_free(sql);
}

/* ---- The shadow tables ---- */

static void edit_by_hand(connection_t *connection, const char *edit) {
    unsigned schema, slot;
    bool met;
    if (!connection->in_transaction || !choose(connection, &schema, &slot, true) ||
        !settle_view(connection, schema))
        return;
    const char *table = NAME[peek(connection, schema)->tables[slot].name];
    char *sql = sqlite3_mprintf(edit, SCHEMA[schema], table, SCHEMA[schema], table);
    int code = SQLITE_OK;
    for (char *part = sql, *end; part != NULL && code == SQLITE_OK; part = end) {
        end = strchr(part, ';');
        if (end != NULL)
            *end++ = '\0';
        code = run(connection, NULL, part, FAULT_NONE, &met);
        if (lost_transaction(connection))
            break;
        judge(connection, schema, code, false, part);
        if (code == SQLITE_OK)
            change(connection, schema)->tampered = true;
    }
    sqlite3_free(sql);
}

static void step_hand_edit(connection_t *connection) {
    static const char *const EDITS[] = {
        "DELETE FROM %s.%s_layers WHERE layer > 0",
        "DELETE FROM %s.%s_layers WHERE layer > 0; DELETE FROM %s.%s_chunks WHERE id >> 40 > 0",
        "UPDATE %s.%s_layers SET keys = keys + 1000, ones = ones + 7",
        "UPDATE %s.%s_layers SET keys = 0, ones = 0",
        ("DELETE FROM %s.%s_chunks WHERE id IN (SELECT id FROM %s.%s_chunks ORDER BY random() "
         "LIMIT 1)"),
        "DELETE FROM %s.%s_chunks; UPDATE %s.%s_layers SET chunks = 0, keys = 0, ones = 0",
        "UPDATE %s.%s_chunks SET bits = zeroblob(length(bits))",
        "DELETE FROM %s.%s_chunks",
        "INSERT INTO %s.%s_chunks VALUES (1 << 45, x'00')",
        "DELETE FROM %s.%s_layers",
    };
    edit_by_hand(connection, EDITS[random_below(sizeof EDITS / sizeof *EDITS)]);
}

static void step_chunk_size(connection_t *connection) {
    edit_by_hand(connection, random_once_in(2)
                                 ? "UPDATE %s.%s_layers SET chunk_blocks = 1 + (chunk_blocks = 1)"
                                 : "UPDATE %s.%s_layers SET chunk_blocks = chunk_blocks + 1");
}

static int abort_on_conflict(void *unused, int conflict, sqlite3_changeset_iter *iterator) {
    (void)unused, (void)conflict, (void)iterator;
    return SQLITE_CHANGESET_ABORT;
}

/* What another replica has added to a copy of the file is applied to the shadow tables. */
static void step_changeset(connection_t *connection) {
    struct link *link = &connection->links[0];
    const struct content *content = peek(connection, 0);
    sqlite3_session *session = NULL;
    sqlite3_backup *backup;
    sqlite3 *copy, *original;
    void *changeset = NULL;
    struct raw raw;
    int size = 0, code;
    unsigned slot = random_below(SLOTS);
    if (main_in_memory || change_is_open(connection, 0) || !content->tables[slot].exists ||
        content->tampered)
        return;
    /* The snapshot must be the last state: then the copy is the same. */
    if (!shared_cache && memcmp(content, &link->file->committed, sizeof *content) != 0)
        return;
    if (!look_raw(connection, 0, content->tables[slot].name, &raw))
        return;
    raw_clear(&raw);
    struct table table = content->tables[slot];
    static const struct file MEMORY;
    copy = fresh_connection(&MEMORY, 0);
    original = fresh_connection(link->file, SQLITE_OPEN_PRIVATECACHE);
    backup = sqlite3_backup_init(copy, "main", original, "main");
    sqlite3_backup_step(backup, -1);
    code = sqlite3_backup_finish(backup);
    sqlite3_close(original);
    if (code == SQLITE_OK)
        code = sqlite3session_create(copy, "main", &session);
    if (code == SQLITE_OK) {
        sqlite3session_attach(session, NULL);
        struct keys keys = some_keys();
        uint64_t least = 0;
        char *sql = sqlite3_mprintf("INSERT OR IGNORE INTO %s(key) VALUES (?1)", NAME[table.name]);
        sqlite3_stmt *statement = NULL;
        code = sqlite3_prepare_v2(copy, sql, -1, &statement, NULL);
        sqlite3_exec(copy, "BEGIN", NULL, NULL, NULL);
        for (unsigned key = 0; key < UNIVERSE && code == SQLITE_OK; key++)
            if (keys_have(&keys, key)) {
                bind_key(statement, 1, key);
                sqlite3_step(statement);
                least += (uint64_t)sqlite3_changes(copy);
                code = sqlite3_reset(statement);
            }
        sqlite3_finalize(statement);
        sqlite3_free(sql);
        if (code == SQLITE_OK)
            code = sqlite3_exec(copy, "COMMIT", NULL, NULL, NULL);
        if (code == SQLITE_OK)
            code = sqlite3session_changeset(session, &size, &changeset);
        expect(code == SQLITE_OK || is_busy(code) || OPTIONS[table.options].refuses,
               "%s: no changeset: %s", connection->name, sqlite3_errmsg(copy));
        keys_unite(&table.keys, &keys);
        table.counted += least;
        table.counted_most += least;
        table.inserted += least;
    }
    if (session != NULL)
        sqlite3session_delete(session);
    expect(sqlite3_close(copy) == SQLITE_OK, "the copy cannot be closed");
    if (code == SQLITE_OK && size > 0) {
        code = sqlite3changeset_apply(connection->database, size, changeset, NULL,
                                      abort_on_conflict, NULL);
        note("%s: a changeset of %d bytes for %s applied; -- result %d", connection->name, size,
             NAME[table.name], code);
        /* It ends its savepoint, and when a lock is in the way of that commit, leaves it. */
        if (code != SQLITE_OK && !connection->in_transaction)
            sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
        if (!lost_transaction(connection)) {
            expect(code == SQLITE_OK || is_busy(code), "%s: a changeset: result %d",
                   connection->name, code);
            if (code == SQLITE_OK)
                change(connection, 0)->tables[slot] = table;
        }
    }
    sqlite3_free(changeset);
}

/* ---- Other files under the same name ---- */

static void reset_link(connection_t *connection, struct file *file) {
    struct link *link = &connection->links[1];
    memset(link, 0, sizeof *link);
    link->file = file;
}

/* Detaches, attaches, or both. The statements stay. */
static void step_attach(connection_t *connection) {
    bool met;
    if (connection->in_transaction || shared_cache)
        return;
    if (connection->links[1].file != NULL) {
        int code = run(connection, NULL, "DETACH x", FAULT_NONE, &met);
        if (code != SQLITE_OK) { /* "database x is locked" is a plain error */
            expect(code == SQLITE_ERROR || is_busy(code), "DETACH: result %d (%s)", code,
                   sqlite3_errmsg(connection->database));
            return;
        }
        reset_link(connection, NULL);
        if (random_once_in(4))
            return;
    }
    struct file *file = &files[random_below(FILES)];
    char *sql = sqlite3_mprintf("ATTACH %Q AS x", file->path);
    if (plain(connection, sql))
        reset_link(connection, file);
    sqlite3_free(sql);
}

static bool same_schema(const struct content *a, const struct content *b) {
    for (unsigned i = 0; i < SLOTS; i++)
        if (!a->tables[i].exists || !b->tables[i].exists ||
            a->tables[i].name != b->tables[i].name || a->tables[i].options != b->tables[i].options)
            return false;
    return true;
}

static void step_deserialize(connection_t *connection) {
    unsigned schema = !main_in_memory || random_once_in(2);
    struct link *link = &connection->links[schema];
    struct file *from = &files[random_below(FILES)];
    if (connection->in_transaction || shared_cache || link->file == NULL)
        return;
    struct content before = link->file->committed;
    /* SQLite does not prepare statements anew for this, so that they serve only when the schema is
     * the same. */
    if (deserialize(connection, schema, from) && !same_schema(&before, &from->committed))
        forget_statements(connection, schema);
}

/* What proves to a table that nothing has happened may begin anew. */
static void step_status(connection_t *connection) {
    int now, most;
    sqlite3_db_status(connection->database, SQLITE_DBSTATUS_CACHE_HIT, &now, &most, 1);
    sqlite3_db_status(connection->database, SQLITE_DBSTATUS_CACHE_MISS, &now, &most, 1);
    note("%s: the counters of the page cache are reset", connection->name);
}

static void step_backup(connection_t *connection) {
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    struct link *link = &connection->links[schema];
    struct file *from = &files[random_below(FILES)];
    /* A file in WAL mode cannot be brought into memory like this. */
    if (connection->in_transaction || shared_cache || from == link->file ||
        link->file->path[0] == '\0')
        return;
    sqlite3 *source = fresh_connection(from, SQLITE_OPEN_PRIVATECACHE);
    sqlite3_backup *backup =
        sqlite3_backup_init(connection->database, SCHEMA[schema], source, "main");
    if (backup != NULL) {
        sqlite3_backup_step(backup, -1);
        int code = sqlite3_backup_finish(backup);
        note("%s: backup of %s into %s; -- result %d", connection->name, from->path, SCHEMA[schema],
             code);
        if (code == SQLITE_OK)
            link->file->committed = from->committed;
    }
    sqlite3_close(source);
}

static void step_vacuum(connection_t *connection) {
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    char sql[100];
    bool met;
    if (connection->in_transaction)
        return;
    snprintf(sql, sizeof sql, "PRAGMA %s.page_size = %u; VACUUM %s", SCHEMA[schema],
             512U << random_below(6), SCHEMA[schema]);
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    expect(code == SQLITE_OK || is_busy(code), "%s: %s: %s", connection->name, sql,
           sqlite3_errmsg(connection->database));
}

static void step_reopen(connection_t *connection) {
    /* Not while a lock might keep it from reading the schema. */
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (connections[i].in_transaction && &connections[i] != connection)
            return;
    note("%s: closed and opened", connection->name);
    connection_close(connection);
    connection_open(connection);
}

static void step_load(connection_t *connection) {
    char *words = NULL;
    int code = sqlite3_bloom_init(connection->database, &words, NULL);
    note("%s: the extension is loaded again: result %d", connection->name, code);
    expect(code == SQLITE_OK || words != NULL, "%s: loaded again: result %d (%s)", connection->name,
           code, words != NULL ? words : "no words");
    sqlite3_free(words);
}

static void step_read_uncommitted(connection_t *connection) {
    if (shared_cache && !connection->in_transaction)
        plain(connection,
              random_once_in(3) ? "PRAGMA read_uncommitted = 0" : "PRAGMA read_uncommitted = 1");
}

static void step_integrity(connection_t *connection) {
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf("PRAGMA main.integrity_check");
    if (shared_cache || connection->in_transaction || sqlite3_libversion_number() < 3044000) {
        sqlite3_free(sql);
        return;
    }
    if (sqlite3_prepare_v2(connection->database, sql, -1, &statement, NULL) == SQLITE_OK) {
        if (sqlite3_step(statement) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(statement, 0);
            expect(strcmp(text, "ok") == 0 || strstr(text, "lock") != NULL, "%s: %s: %s",
                   connection->name, sql, text);
        }
        sqlite3_finalize(statement);
    }
    sqlite3_free(sql);
}

/* ---- Another process ---- */

int other_process(char **arguments) {
    struct file file;
    sqlite3_stmt *statement = NULL;
    memset(&file, 0, sizeof file);
    snprintf(file.path, sizeof file.path, "%s", arguments[0]);
    sqlite3 *database = fresh_connection(&file, 0);
    char *sql = sqlite3_mprintf("INSERT OR IGNORE INTO %s(key) VALUES (?1)", arguments[1]);
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK)
        for (char **key = arguments + 2; *key != NULL; key++) {
            bind_key(statement, 1, (unsigned)atoi(*key));
            int code = sqlite3_step(statement);
            putchar(code == SQLITE_DONE ? '0' + (sqlite3_changes(database) > 0) : 'x');
            sqlite3_reset(statement);
        }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return sqlite3_close(database) == SQLITE_OK ? 0 : 1;
}

static void step_process(connection_t *connection) {
    enum { KEYS = 40 };
    struct file *file = &files[random_below(FILES)];
    struct table *table = &file->committed.tables[random_below(SLOTS)];
    char texts[KEYS][12], *arguments[KEYS + 5], answer[KEYS + 1] = "";
    unsigned keys[KEYS];
    int ends[2], status = 0;
    (void)connection;
    if (shared_cache || !table->exists || pipe(ends) != 0)
        return;
    arguments[0] = (char *)(uintptr_t)program;
    arguments[1] = (char *)(uintptr_t) "--process";
    arguments[2] = file->path;
    arguments[3] = (char *)(uintptr_t)NAME[table->name];
    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = random_below(UNIVERSE);
        snprintf(texts[i], sizeof texts[i], "%u", keys[i]);
        arguments[4 + i] = texts[i];
    }
    arguments[4 + KEYS] = NULL;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        execv(program, arguments);
        _exit(127);
    }
    close(ends[1]);
    ssize_t length = 0, got;
    while (length < KEYS && (got = read(ends[0], answer + length, (size_t)(KEYS - length))) > 0)
        length += got;
    close(ends[0]);
    waitpid(child, &status, 0);
    note("another process adds %d keys to %s in %s: %s", KEYS, NAME[table->name], file->path,
         answer);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other process ended with %d",
           status);
    for (unsigned i = 0; i < (unsigned)length; i++) {
        if (answer[i] == 'x')
            continue;
        keys_add(&table->keys, keys[i]);
        table->counted += answer[i] == '1';
        table->counted_most += answer[i] == '1';
        table->inserted += answer[i] == '1';
    }
}

/* ---- The table of steps ---- */

struct step STEPS[] = {
    {"insert", 300, step_insert},
    {"insert_many", 80, step_insert_many},
    {"insert_failing", 20, step_insert_failing},
    {"merge", 20, step_merge},
    {"clear", 8, step_clear},
    {"query", 60, step_query},
    {"cursor", 20, step_cursor},
    {"begin", 120, step_begin},
    {"commit", 40, step_commit},
    {"rollback", 40, step_rollback},
    {"savepoint", 100, step_savepoint},
    {"release", 50, step_release},
    {"rollback_to", 70, step_rollback_to},
    {"drop", 15, step_drop},
    {"create", 25, step_create},
    {"rename", 20, step_rename},
    {"aside", 20, step_aside},
    {"hand_edit", 40, step_hand_edit},
    {"chunk_size", 5, step_chunk_size},
    {"changeset", 10, step_changeset},
    {"attach", 40, step_attach},
    {"deserialize", 6, step_deserialize},
    {"status", 10, step_status},
    {"backup", 5, step_backup},
    {"vacuum", 5, step_vacuum},
    {"reopen", 2, step_reopen},
    {"load", 3, step_load},
    {"read_uncommitted", 10, step_read_uncommitted},
    {"integrity_check", 5, step_integrity},
    {"process", 1, step_process},
};
const unsigned STEP_COUNT = sizeof STEPS / sizeof *STEPS;
