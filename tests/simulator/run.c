/* Runs statements, and judges how they end. */
#include "simulator.h"

#include <stdio.h>
#include <string.h>

char last_error[300];

bool lost_transaction(struct connection *connection) {
    if (!connection->in_transaction || !sqlite3_get_autocommit(connection->database))
        return false;
    note("%s: -- the transaction was rolled back", connection->name);
    model_rollback(connection);
    return true;
}

int run(struct connection *connection, sqlite3_stmt *statement, const char *sql, enum fault fault,
        bool *met) {
    sqlite3 *database = connection->database;
    int code = SQLITE_OK;
    const char *name = fault_arm(database, fault);
    if (statement != NULL) {
        while (sqlite3_step(statement) == SQLITE_ROW)
            continue;
        code = sqlite3_reset(statement);
    } else {
        code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    }
    sqlite3_snprintf(sizeof last_error, last_error, "%s", sqlite3_errmsg(database));
    *met = fault_disarm(database);
    note("%s: %s; -- result %d, with %s", connection->name,
         statement != NULL ? sqlite3_sql(statement) : sql, code, *met ? name : "no fault");
    return code;
}

bool may_come_late(enum fault fault) {
    return fault == FAULT_INTERRUPT || fault >= FAULT_DISK;
}

bool is_busy(int code) {
    return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

int really(struct connection *connection, int code) {
    char sql[80];
    if (code == SQLITE_OK || is_busy(code))
        return code;
    sqlite3_snprintf(sizeof last_error, last_error, "%s", sqlite3_errmsg(connection->database));
    int locked = SQLITE_OK;
    for (unsigned schema = 0; schema < SCHEMAS && locked == SQLITE_OK; schema++) {
        sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]);
        if (connection->links[schema].file != NULL)
            locked = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    }
    return is_busy(locked) ? locked : code;
}

void refused(struct connection *connection, unsigned schema) {
    const struct link *link = &connection->links[schema];
    refusals++;
    if (!connection->in_transaction || link->sure || link->file->shared)
        return;
    sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
    note("%s: ROLLBACK, since its first look was refused", connection->name);
    model_rollback(connection);
}

void judge(struct connection *connection, int code, bool met, const char *what) {
    if (code == SQLITE_OK || met)
        return;
    code = really(connection, code);
    expect(is_busy(code), "%s: %s: result %d (%s)", connection->name, what, code, last_error);
    refusals++;
}

void judge_write(struct connection *connection, int code, bool met, const char *what) {
    bool is_read_only = connection->query_only && (code & 0xff) == SQLITE_READONLY;
    judge(connection, code, met || is_read_only, what);
}

bool plain(struct connection *connection, const char *sql) {
    bool met;
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    lost_transaction(connection);
    judge_write(connection, code, false, sql);
    return code == SQLITE_OK;
}

unsigned random_schema(const struct connection *connection) {
    return connection->links[1].file != NULL && random_once_in(2);
}

bool choose(struct connection *connection, unsigned *schema, unsigned *slot, bool exists) {
    *schema = random_schema(connection);
    *slot = random_below(SLOTS);
    for (unsigned i = 0; i < SLOTS; i++, *slot = (*slot + 1) % SLOTS)
        if (peek(connection, *schema)->tables[*slot].exists == exists)
            return true;
    return false;
}

bool settle_view(struct connection *connection, unsigned schema) {
    char sql[80];
    sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM %s.sqlite_master", SCHEMA[schema]);
    int code = sqlite3_exec(connection->database, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK && connection->in_transaction) {
        view(connection, schema);
        connection->links[schema].sure = true;
    }
    if (code == SQLITE_OK)
        return true;
    expect(is_busy(code), "%s: %s: %s", connection->name, sql,
           sqlite3_errmsg(connection->database));
    refused(connection, schema);
    return false;
}
