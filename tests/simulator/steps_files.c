/* Steps: other files under the same name, and other connections. */
#include "steps.h"

#include <stdio.h>
#include <string.h>

static void reset_link(connection_t *connection, struct file *file) {
    struct link *link = &connection->links[1];
    memset(link, 0, sizeof *link);
    link->file = file;
}

/* Detaches, attaches, or both. The statements stay. */
void step_attach(connection_t *connection) {
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
    if (plain(connection, sql)) {
        set_durability(connection->database, "x");
        reset_link(connection, file);
        schema_changed();
    }
    sqlite3_free(sql);
}

static bool same_schema(const struct content *a, const struct content *b) {
    for (unsigned i = 0; i < SLOTS; i++)
        if (!a->tables[i].exists || !b->tables[i].exists ||
            a->tables[i].name != b->tables[i].name ||
            memcmp(&a->tables[i].options, &b->tables[i].options, sizeof(struct options)) != 0)
            return false;
    return true;
}

void step_deserialize(connection_t *connection) {
    unsigned schema = !main_in_memory || random_once_in(2);
    struct link *link = &connection->links[schema];
    struct file *from = &files[random_below(FILES)];
    /* Not below a query that goes on: it would have no database any more. */
    if (connection->cursor != NULL || shared_cache || link->file == NULL)
        return;
    struct content before = *peek(connection, schema);
    if (!deserialize(connection, schema, from)) {
        /* Refused, it leaves the number of the schema where SQLite looks for the schema of a table
         * that it declares; when that is detached, SQLite crashes (3.53.2). An ATTACH clears it. */
        step_failed_attach(connection);
        return;
    }
    /* SQLite may not prepare statements anew for this, so that they serve only when the schema is
     * the same. */
    if (!same_schema(&before, &from->committed))
        forget_statements(connection, schema);
}

int copy_file(sqlite3 *database, const char *schema, const struct file *from) {
    sqlite3 *source = fresh_connection(from, SQLITE_OPEN_PRIVATECACHE);
    sqlite3_backup *backup = sqlite3_backup_init(database, schema, source, "main");
    int code = SQLITE_ERROR;
    if (backup != NULL) {
        sqlite3_backup_step(backup, -1);
        code = sqlite3_backup_finish(backup);
    }
    sqlite3_close(source);
    return code;
}

void step_backup(connection_t *connection) {
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    struct link *link = &connection->links[schema];
    struct file *from = &files[random_below(FILES)];
    /* A file in WAL mode cannot be brought into memory like this. */
    if (connection->in_transaction || shared_cache || from == link->file ||
        link->file->path[0] == '\0')
        return;
    int code = copy_file(connection->database, SCHEMA[schema], from);
    note("%s: backup of %s into %s; -- result %d", connection->name, from->path, SCHEMA[schema],
         code);
    if (code == SQLITE_OK) {
        link->file->committed = from->committed;
        schema_changed();
    }
}

void step_vacuum(connection_t *connection) {
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    char sql[100];
    bool met;
    if (connection->in_transaction)
        return;
    snprintf(sql, sizeof sql, "PRAGMA %s.page_size = %u; VACUUM %s", SCHEMA[schema],
             512U << random_below(6), SCHEMA[schema]);
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    judge_write(connection, code, false, sql);
}

void step_reopen(connection_t *connection) {
    /* Not while a lock might keep it from reading the schema. */
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (connections[i].in_transaction && &connections[i] != connection)
            return;
    note("%s: closed and opened", connection->name);
    connection_close(connection);
    connection_open(connection);
}

void step_read_uncommitted(connection_t *connection) {
    if (shared_cache && !connection->in_transaction)
        plain(connection,
              random_once_in(3) ? "PRAGMA read_uncommitted = 0" : "PRAGMA read_uncommitted = 1");
}

int add_elsewhere(sqlite3 *database, struct table *table) {
    enum { KEYS = 40 };
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("INSERT OR IGNORE INTO %s(key) VALUES (?1)", NAME[table->name]);
    int code = sqlite3_exec(database, "BEGIN", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    sqlite3_free(sql);
    for (unsigned i = 0; i < KEYS && code == SQLITE_OK; i++) {
        const unsigned key = random_below(UNIVERSE);
        bind_key(statement, 1, key);
        sqlite3_step(statement);
        const bool new = sqlite3_changes(database) > 0;
        if (sqlite3_reset(statement) != SQLITE_OK)
            continue; /* it is not a key of this table, or finds it full */
        if (new || table->options.ages == 1)
            table_add(table, key, new, 0);
        table->counted += new;
    }
    sqlite3_finalize(statement);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    note("somebody else adds keys to %s; -- result %d", NAME[table->name], code);
    expect(code == SQLITE_OK || is_busy(code), "somebody else: result %d (%s)", code,
           sqlite3_errmsg(database));
    return code;
}

/* Another connection adds keys, all or none, and is gone. */
void step_stranger(connection_t *connection) {
    struct file *file = &files[random_below(FILES)];
    const unsigned slot = random_below(SLOTS);
    struct table table = file->committed.tables[slot];
    (void)connection;
    if (shared_cache || !table.exists)
        return;
    sqlite3 *database = fresh_connection(file, SQLITE_OPEN_PRIVATECACHE);
    if (add_elsewhere(database, &table) == SQLITE_OK)
        file->committed.tables[slot] = table;
    expect(sqlite3_close(database) == SQLITE_OK, "a stranger cannot close");
}
