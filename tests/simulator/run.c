/* Runs statements, does to the model what they do to the database, and judges how they end. What a
 * failed one has left is found out by a look at the shadow tables. */
#include "steps.h"

#include <stdio.h>
#include <string.h>

bool lost_transaction(connection_t *connection) {
    if (!connection->in_transaction || !sqlite3_get_autocommit(connection->database))
        return false;
    note("%s: -- the transaction was rolled back", connection->name);
    model_rollback(connection);
    return true;
}

char last_error[300];

int run(connection_t *connection, sqlite3_stmt *statement, const char *sql, enum fault fault,
        bool *met) {
    sqlite3 *database = connection->database;
    /* The disk is called far less often than memory is allocated. */
    unsigned number = 1 + random_below(1U << random_below(fault >= FAULT_DISK ? 5 : 9));
    int code = SQLITE_OK;
    fault_arm(database, fault, number);
    if (statement != NULL) {
        while (sqlite3_step(statement) == SQLITE_ROW)
            continue;
        code = sqlite3_reset(statement);
    } else {
        code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    }
    sqlite3_snprintf(sizeof last_error, last_error, "%s", sqlite3_errmsg(database));
    *met = fault_disarm(database);
    connection->will_disconnect &= code != SQLITE_OK;
    if (fault != FAULT_NONE && *met)
        note("%s: %s; -- result %d, with %s %u", connection->name,
             sql != NULL ? sql : sqlite3_sql(statement), code, fault_name(), number);
    else
        note("%s: %s; -- result %d", connection->name, sql != NULL ? sql : sqlite3_sql(statement),
             code);
    return code;
}

void judge(connection_t *connection, int code, bool met, const char *what) {
    if (code == SQLITE_OK || met || (code == SQLITE_ABORT && connection->will_disconnect))
        return;
    code = really(connection, code);
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
           "%s: %s: result %d (%s)", connection->name, what, code, last_error);
}

void judge_write(connection_t *connection, int code, bool met, const char *what) {
    bool refused = connection->query_only && (code & 0xff) == SQLITE_READONLY;
    judge(connection, code, met || refused, what);
}

bool plain(connection_t *connection, const char *sql) {
    bool met;
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    lost_transaction(connection);
    judge_write(connection, code, false, sql);
    return code == SQLITE_OK;
}

bool choose(connection_t *connection, unsigned *schema, unsigned *slot, bool exists) {
    *schema = connection->links[1].file != NULL && random_once_in(2);
    *slot = random_below(SLOTS);
    for (unsigned i = 0; i < SLOTS; i++, *slot = (*slot + 1) % SLOTS)
        if (peek(connection, *schema)->tables[*slot].exists == exists)
            return true;
    return false;
}

bool settle_view(connection_t *connection, unsigned schema) {
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

struct keys some_keys(enum key_type type) {
    struct keys keys = {{0}};
    unsigned size = 1 + random_below(UNIVERSE >> random_below(8));
    for (unsigned i = 0; i < size; i++) {
        unsigned key = random_below(UNIVERSE);
        if (added_words(type, key) != NULL)
            keys_add(&keys, key);
    }
    return keys;
}

bool all_have_words(enum key_type type, const struct keys *keys) {
    for (unsigned key = 0; key < UNIVERSE; key++)
        if (keys_have(keys, key) && added_words(type, key) == NULL)
            return false;
    return true;
}

bool may_come_late(enum fault fault) {
    return fault == FAULT_INTERRUPT || fault >= FAULT_DISK;
}

bool late_begin(const connection_t *connection, enum fault fault, struct late *late) {
    *late = (struct late){.may_be = may_come_late(fault)};
    for (unsigned schema = 0; schema < SCHEMAS && late->may_be; schema++) {
        const struct file *file = connection->links[schema].file;
        if (file != NULL && (file->path[0] == '\0' || !digest_file(file, &late->digests[schema])))
            late->may_be = false;
    }
    return late->may_be == may_come_late(fault);
}

bool late_committed(connection_t *connection, unsigned schema, const struct late *late) {
    const struct file *file = connection->links[schema].file;
    uint64_t digest;
    if (!late->may_be || file == NULL)
        return false;
    if (!digest_file(file, &digest)) {
        /* It gives back a lock that the failure has left. */
        sqlite3_exec(connection->database, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
        if (!digest_file(file, &digest))
            return false;
    }
    if (digest != late->digests[schema])
        note("%s: -- %s was committed all the same", connection->name, SCHEMA[schema]);
    return digest != late->digests[schema];
}

/* ---- Changes of one table ---- */

sqlite3_stmt *attempt_begin(struct attempt *attempt, connection_t *connection,
                            enum statement which) {
    int code;
    memset(attempt, 0, sizeof *attempt);
    attempt->connection = connection;
    if (!choose(connection, &attempt->schema, &attempt->slot, true))
        return NULL;
    connection->touched = (int)(attempt->schema * SLOTS + attempt->slot);
    attempt->table = &view(connection, attempt->schema)->tables[attempt->slot];
    if (!look_raw(connection, attempt->schema, attempt->table->name, &attempt->raw))
        return NULL;
    attempt->keys_before = raw_keys(&attempt->raw);
    attempt->known = attempt->raw.sane && attempt->raw.strays == 0 && attempt->raw.damaged == 0;
    const unsigned name = attempt->table->name;
    sqlite3_stmt *statement = statement_of(connection, attempt->schema, name, which, &code);
    expect(statement != NULL || is_busy(code), "%s: %s.%s: %s", connection->name,
           SCHEMA[attempt->schema], NAME[name], sqlite3_errmsg(connection->database));
    if (statement == NULL)
        raw_clear(&attempt->raw);
    return statement;
}

/* Which table has a name, after a rollback that may have undone renames. */
static void find_again(struct attempt *attempt, unsigned name) {
    const struct content *content = peek(attempt->connection, attempt->schema);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (content->tables[slot].exists && content->tables[slot].name == name)
            attempt->slot = slot;
}

bool attempt_run(struct attempt *attempt, sqlite3_stmt *statement, enum fault fault) {
    connection_t *connection = attempt->connection;
    unsigned name = attempt->table->name;
    attempt->fault = fault;
    attempt->code = run(connection, statement, NULL, fault, &attempt->met);
    /* No memory when SQLite takes back the first try of a statement, before it prepares it anew,
     * ends the transaction; the second try succeeds without one. */
    attempt->doubtful = lost_transaction(connection);
    expect(attempt->code != SQLITE_OK || !connection->query_only, "%s: a change under query_only",
           connection->name);
    if (attempt->code == SQLITE_OK && attempt->doubtful)
        find_again(attempt, name);
    if (attempt->code == SQLITE_OK) {
        attempt->table = &change(connection, attempt->schema)->tables[attempt->slot];
        attempt->table->unknown = true;
        expect(!attempt->must_refuse || attempt->doubtful || !attempt->known,
               "%s: %s must refuse what it has taken", connection->name, NAME[name]);
        return true;
    }
    if (attempt->doubtful)
        return false;
    struct raw after;
    if (look_raw(connection, attempt->schema, name, &after)) {
        attempt->changed = after.digest != attempt->raw.digest;
        raw_clear(&after);
        bool late = attempt->changed && attempt->met && may_come_late(fault);
        expect(!attempt->changed || connection->in_transaction || late,
               "%s: a failed statement without a transaction has changed %s", connection->name,
               NAME[name]);
        if (attempt->changed) {
            attempt->table = &change(connection, attempt->schema)->tables[attempt->slot];
            attempt->table->unknown = true;
        }
        attempt->doubtful = late;
        if (late && !connection->in_transaction)
            return true;
    }
    bool refused = (attempt->may_refuse || attempt->must_refuse) && attempt->code == SQLITE_ERROR;
    judge_write(connection, attempt->code, attempt->met || refused, sqlite3_sql(statement));
    return false;
}

bool attempt_compare(struct attempt *attempt) {
    struct raw after;
    if (attempt->doubtful || !attempt->known ||
        !look_raw(attempt->connection, attempt->schema, attempt->table->name, &after))
        return false;
    expect(raw_same(&attempt->raw, &after, attempt->estimated),
           "%s: the rows of %s.%s are not what the statement must have made of them",
           attempt->connection->name, SCHEMA[attempt->schema], NAME[attempt->table->name]);
    attempt->keys_after = raw_keys(&after);
    attempt->table->counted = attempt->keys_after;
    attempt->table->unknown = false;
    raw_clear(&after);
    return true;
}
