/* Steps: transactions and savepoints. */
#include "steps.h"

#include <stdio.h>

void step_begin(connection_t *connection) {
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

void step_rollback(connection_t *connection) {
    bool met;
    if (!connection->in_transaction)
        return;
    if (random_once_in(2))
        cursor_end(connection);
    int code = run(connection, NULL, "ROLLBACK", random_fault(), &met);
    if (code != SQLITE_OK && !sqlite3_get_autocommit(connection->database))
        code = run(connection, NULL, "ROLLBACK", FAULT_NONE, &met);
    /* No statement is prepared while another connection of the cache changes the schema. */
    if (is_busy(code) && shared_cache)
        return;
    expect(sqlite3_get_autocommit(connection->database), "%s: ROLLBACK: result %d",
           connection->name, code);
    model_rollback(connection);
}

void step_commit(connection_t *connection) {
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
    enum fault fault = random_fault();
    struct late late;
    if (!late_begin(connection, fault, &late))
        fault = FAULT_NONE;
    int code = run(connection, NULL, sql, fault, &met);
    /* A savepoint that begins a transaction stays open when its commit fails, but what was in it is
     * rolled back, unless that was SQLITE_BUSY. */
    if (code != SQLITE_OK && code != SQLITE_BUSY && connection->by_savepoint &&
        !sqlite3_get_autocommit(connection->database)) {
        judge(connection, code, met, sql);
        run(connection, NULL, "ROLLBACK", FAULT_NONE, &met);
        code = SQLITE_ABORT;
    }
    if (code == SQLITE_OK) {
        model_commit(connection);
    } else if (sqlite3_get_autocommit(connection->database)) {
        /* In WAL mode each file commits by itself. */
        for (unsigned schema = 0; schema < SCHEMAS; schema++)
            if (connection->links[schema].wrote && late_committed(connection, schema, &late))
                model_keep(connection, schema);
        lost_transaction(connection);
    } else {
        judge(connection, code, met, sql);
    }
}

void step_savepoint(connection_t *connection) {
    char sql[60], release[60];
    bool met;
    if (!connection->in_transaction || connection->depth == DEPTH_MOST)
        return;
    snprintf(sql, sizeof sql, "SAVEPOINT s%u", connection->depth + 1);
    snprintf(release, sizeof release, "RELEASE s%u", connection->depth + 1);
    int code = run(connection, NULL, sql, random_fault(), &met);
    if (lost_transaction(connection))
        return;
    if (code != SQLITE_OK) {
        judge(connection, code, met, sql);
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

void step_release(connection_t *connection) {
    char sql[60];
    bool met;
    if (!connection->in_transaction || connection->depth == 0)
        return;
    unsigned level = 1 + random_below(connection->depth);
    snprintf(sql, sizeof sql, "RELEASE s%u", level);
    int code = run(connection, NULL, sql, random_fault(), &met);
    if (lost_transaction(connection))
        return;
    if (code != SQLITE_OK) { /* it may be released all the same */
        judge(connection, code, met, sql);
        run(connection, NULL, sql, FAULT_NONE, &met);
        if (lost_transaction(connection))
            return;
    }
    connection->depth = level - 1;
}

void step_rollback_to(connection_t *connection) {
    char sql[60];
    bool met;
    if (!connection->in_transaction || (connection->depth == 0 && !connection->by_savepoint))
        return;
    unsigned least = connection->by_savepoint ? 0 : 1;
    unsigned level = least + random_below(connection->depth - least + 1);
    snprintf(sql, sizeof sql, "ROLLBACK TO s%u", level);
    int code = run(connection, NULL, sql, random_fault(), &met);
    if (lost_transaction(connection))
        return;
    if (code != SQLITE_OK) {
        judge(connection, code, met, sql);
        code = run(connection, NULL, sql, FAULT_NONE, &met);
        if (lost_transaction(connection))
            return;
        judge(connection, code, false, sql);
    }
    model_rollback_to(connection, level);
}
