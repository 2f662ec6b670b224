/* Steps: what an application does beside SQL, and what it sees of it. */
#include "steps.h"

/* A close that is refused, since a statement is left, tells all tables of a rollback that does not
 * take place: the transaction goes on. */
void step_busy_close(connection_t *connection) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(connection->database, "SELECT 1", -1, &statement, NULL);
    if (is_busy(code))
        return;
    expect(code == SQLITE_OK, "%s: SELECT 1: result %d", connection->name, code);
    code = sqlite3_close(connection->database);
    note("%s: sqlite3_close with a statement left; -- result %d", connection->name, code);
    expect(code == SQLITE_BUSY, "%s: closed with a statement left: result %d", connection->name,
           code);
    sqlite3_finalize(statement);
}

void step_query_only(connection_t *connection) {
    bool on = random_once_in(3);
    if (on != connection->query_only &&
        plain(connection, on ? "PRAGMA query_only = 1" : "PRAGMA query_only = 0"))
        connection->query_only = on;
}

/* After an ATTACH that fails SQLite reads all schemas anew: each table gets a second object. */
void step_failed_attach(connection_t *connection) {
    bool met;
    for (unsigned schema = 0; schema < SCHEMAS && connection->in_transaction; schema++)
        if (connection->links[schema].file != NULL && !settle_view(connection, schema))
            return;
    char *sql = sqlite3_mprintf("ATTACH %Q AS broken", broken_file);
    int code = run(connection, NULL, sql, FAULT_NONE, &met);
    expect(code == SQLITE_NOTADB || is_busy(code), "%s: %s: result %d (%s)", connection->name, sql,
           code, last_error);
    sqlite3_free(sql);
    connection->schema_in_doubt |= connection->in_transaction;
}

/* A copy holds what the connection sees, also amid a transaction. From memory SQLite copies what is
 * committed; and from a shared cache what nobody has committed. */
void step_serialize(connection_t *connection) {
    unsigned schema = connection->links[1].file != NULL && random_once_in(2);
    struct link *link = &connection->links[schema];
    sqlite3_int64 size;
    bool foreign = link->file->writer != NULL && link->file->writer != connection;
    if (link->file->path[0] == '\0' || foreign || !settle_view(connection, schema) ||
        peek(connection, schema)->tampered)
        return;
    unsigned char *bytes = sqlite3_serialize(connection->database, SCHEMA[schema], &size, 0);
    note("%s: sqlite3_serialize of %s, %s bytes", connection->name, SCHEMA[schema],
         bytes != NULL ? "with" : "without");
    if (bytes != NULL)
        look_at_copy(bytes, size, peek(connection, schema));
}
