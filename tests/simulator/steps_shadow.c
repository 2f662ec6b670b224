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

/* What another replica has added to a copy of the file is applied to the shadow table. */
void step_changeset(connection_t *connection) {
    struct link *link = &connection->links[0];
    const struct content *content = peek(connection, 0);
    sqlite3_session *session = NULL;
    sqlite3_backup *backup;
    sqlite3 *copy, *original;
    void *changeset = NULL;
    struct raw raw;
    int size = 0, code;
    unsigned slot = random_below(SLOTS), rotated = 0;
    if (main_in_memory || change_is_open(connection, 0) || !content->tables[slot].exists ||
        content->tampered)
        return;
    /* The snapshot must be the last state: then the copy is the same. */
    if (!shared_cache && memcmp(content, &link->file->committed, sizeof *content) != 0)
        return;
    if (!look_raw(connection, 0, content->tables[slot].name, &raw))
        return;
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
        struct keys keys = some_keys(OPTIONS[table.options].key);
        if (raw.ages > 1 && random_once_in(2)) {
            char *rotate = sqlite3_mprintf("INSERT INTO %s(%s) VALUES ('rotate')", NAME[table.name],
                                           NAME[table.name]);
            code = sqlite3_exec(copy, rotate, NULL, NULL, NULL);
            sqlite3_free(rotate);
            table_rotate(&table);
            rotated = 1;
        }
        uint64_t least = 0;
        char *sql = sqlite3_mprintf("INSERT OR IGNORE INTO %s(key) VALUES (?1)", NAME[table.name]);
        sqlite3_stmt *statement = NULL;
        code = sqlite3_prepare_v2(copy, sql, -1, &statement, NULL);
        sqlite3_exec(copy, "BEGIN", NULL, NULL, NULL);
        for (unsigned key = 0; key < UNIVERSE && code == SQLITE_OK; key++)
            if (keys_have(&keys, key)) {
                bind_key(statement, 1, key);
                sqlite3_step(statement);
                bool new = sqlite3_changes(copy) > 0;
                unsigned age =
                    raw_age(&raw, added_words(OPTIONS[table.options].key, key)) + rotated;
                table_add(&table, key, new, new || age >= raw.ages ? 0 : age);
                least += new;
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
        table.counted += least;
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
            judge_write(connection, code, false, "a changeset");
            if (code == SQLITE_OK)
                change(connection, 0)->tables[slot] = table;
        }
    }
    sqlite3_free(changeset);
    raw_clear(&raw);
}

void step_integrity(connection_t *connection) {
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    sqlite3_stmt *statement;
    char sql[60];
    if (shared_cache || sqlite3_libversion_number() < 3044000 || !settle_view(connection, schema) ||
        peek(connection, schema)->tampered)
        return;
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA %s.integrity_check", SCHEMA[schema]);
    note("%s: %s", connection->name, sql);
    struct trace trace = trace_begin(connection, schema, true);
    if (sqlite3_prepare_v2(connection->database, sql, -1, &statement, NULL) == SQLITE_OK) {
        if (sqlite3_step(statement) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(statement, 0);
            expect(strcmp(text, "ok") == 0 || strstr(text, "lock") != NULL, "%s: %s: %s",
                   connection->name, sql, text);
        }
        sqlite3_finalize(statement);
    }
    trace_end(connection, schema, &trace, sql);
}
