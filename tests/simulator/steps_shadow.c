/* Steps: the shadow tables are changed by hand and by changesets, and checked. */
#include "steps.h"

#include <string.h>

static void edit_by_hand(connection_t *connection, const char *edit) {
    unsigned schema, slot;
    bool met;
    if (!connection->in_transaction || !choose(connection, &schema, &slot, true) ||
        !settle_view(connection, schema))
        return;
    const char *name = NAME[peek(connection, schema)->tables[slot].name];
    char *sql = sqlite3_mprintf(edit, SCHEMA[schema], name, SCHEMA[schema], name);
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    if (!lost_transaction(connection)) {
        judge_write(connection, code, false, sql);
        if (code == SQLITE_OK)
            change(connection, schema)->tampered = true;
    }
    sqlite3_free(sql);
}

/* Rows go, or are damaged in length, type, generation, closed mark, counts or bits; or rows come
 * that belong to no chunk. */
void step_hand_edit(connection_t *connection) {
    static const char *const EDITS[] = {
        "DELETE FROM %s.%s_data WHERE id",
        "UPDATE %s.%s_data SET data = substr(data, 2) WHERE id",
        "UPDATE %s.%s_data SET data = zeroblob(length(data) + 1) WHERE id",
        "UPDATE %s.%s_data SET data = x'' WHERE id",
        "UPDATE %s.%s_data SET data = 'x' WHERE id",
        "UPDATE %s.%s_data SET data = 5 WHERE id",
        "UPDATE %s.%s_data SET data = zeroblob(length(data)) WHERE id",
        "UPDATE %s.%s_data SET data = CAST(substr(data, 1, 16) || randomblob(length(data) - 16) "
        "AS BLOB) WHERE id",
        "UPDATE %s.%s_data SET data = CAST(randomblob(1) || substr(data, 2) AS BLOB) WHERE id",
        "UPDATE %s.%s_data SET data = CAST(substr(data, 1, 4) || randomblob(1) || substr(data, 6) "
        "AS BLOB) WHERE id",
        "UPDATE %s.%s_data SET data = CAST(substr(data, 1, 8) || x'01' || substr(data, 10) "
        "AS BLOB) WHERE id",
        "UPDATE %s.%s_data SET data = CAST(substr(data, 1, 12) || x'01' || substr(data, 14) "
        "AS BLOB) WHERE id",
        "UPDATE %s.%s_data SET data = CAST(substr(data, 1, 12) || x'02' || substr(data, 14) "
        "AS BLOB) WHERE id",
    };
    static const char *const WHICH[] = {
        " > 0", " >> 40 > 0",
        " IN (SELECT id FROM %s.%s_data WHERE id > 0 ORDER BY random() LIMIT 1)"};
    static const char *const OTHERS[] = {
        "INSERT OR REPLACE INTO %s.%s_data VALUES (1 << 45, x'00')",
        "INSERT OR REPLACE INTO %s.%s_data VALUES (-1, x'00')",
        "INSERT OR REPLACE INTO %s.%s_data VALUES ((41 << 40) + 1, zeroblob(80))"};
    char sql[300];
    if (random_once_in(6)) {
        edit_by_hand(connection, OTHERS[random_below(sizeof OTHERS / sizeof *OTHERS)]);
        return;
    }
    sqlite3_snprintf(sizeof sql, sql, "%s%s", EDITS[random_below(sizeof EDITS / sizeof *EDITS)],
                     WHICH[random_below(3)]);
    edit_by_hand(connection, sql);
}

static int abort_on_conflict(void *unused, int conflict, sqlite3_changeset_iter *iterator) {
    (void)unused, (void)conflict, (void)iterator;
    return SQLITE_CHANGESET_ABORT;
}

/* What another replica has done to a copy of the file, as a changeset. */
static void *make_changeset(struct link *link, struct table *table, int *size) {
    static const struct file MEMORY;
    sqlite3_session *session;
    void *changeset = NULL;
    sqlite3 *copy = fresh_connection(&MEMORY, 0);
    if (copy_file(copy, "main", link->file) == SQLITE_OK) {
        sqlite3session_create(copy, "main", &session);
        sqlite3session_attach(session, NULL);
        if (table->options.ages > 1 && random_once_in(2)) {
            const char *name = NAME[table->name];
            char *sql = sqlite3_mprintf("INSERT INTO %s(%s) VALUES ('rotate')", name, name);
            must_run(copy, sql);
            sqlite3_free(sql);
            table_rotate(table);
        }
        if (add_elsewhere(copy, table) == SQLITE_OK)
            sqlite3session_changeset(session, size, &changeset);
        sqlite3session_delete(session);
    }
    expect(sqlite3_close(copy) == SQLITE_OK, "the copy cannot be closed");
    return changeset;
}

/* It is applied to the shadow table. */
void step_changeset(connection_t *connection) {
    struct link *link = &connection->links[0];
    const struct content *content = peek(connection, 0);
    const unsigned slot = random_below(SLOTS);
    struct table table = content->tables[slot];
    int size = 0;
    if (main_in_memory || change_is_open(connection, 0) || !table.exists || content->tampered)
        return;
    /* The snapshot must be the last state: then the copy is the same. */
    if (!shared_cache && memcmp(content, &link->file->committed, sizeof *content) != 0)
        return;
    if (!settle_view(connection, 0))
        return;
    void *changeset = make_changeset(link, &table, &size);
    if (size > 0) {
        int code = sqlite3changeset_apply(connection->database, size, changeset, NULL,
                                          abort_on_conflict, NULL);
        note("%s: a changeset of %d bytes for %s applied; -- result %d", connection->name, size,
             NAME[table.name], code);
        /* It ends its savepoint, and when a lock is in the way of that commit, leaves it. */
        if (code != SQLITE_OK && !connection->in_transaction)
            sqlite3_exec(connection->database, "ROLLBACK", NULL, NULL, NULL);
        if (!lost_transaction(connection)) {
            judge_write(connection, code, false, "a changeset");
            if (code == SQLITE_OK)
                change(connection, 0)->tables[slot] = table;
        }
    }
    sqlite3_free(changeset);
}

void step_integrity_check(connection_t *connection) {
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    sqlite3_stmt *statement;
    char sql[60];
    if (shared_cache || sqlite3_libversion_number() < 3044000 || !settle_view(connection, schema) ||
        peek(connection, schema)->tampered)
        return;
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA %s.integrity_check", SCHEMA[schema]);
    note("%s: %s", connection->name, sql);
    struct trace trace = trace_begin(connection);
    if (sqlite3_prepare_v2(connection->database, sql, -1, &statement, NULL) == SQLITE_OK) {
        if (sqlite3_step(statement) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(statement, 0);
            expect(strcmp(text, "ok") == 0 || strstr(text, "lock") != NULL, "%s: %s: %s",
                   connection->name, sql, text);
        }
        sqlite3_finalize(statement);
    }
    trace_end(connection, &trace, sql);
}
