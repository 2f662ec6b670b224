/* Statements are prepared when they are first needed and kept. SQLite prepares them again by itself
 * when the schema has changed. Names are quoted as identifiers, so any name of a table works. */
#include "table/database.h"

#include "sqlite/message.h"

#include <string.h>

/* The bytes of a table leaf page that the BLOB of its one row cannot use: a payload that does not
 * overflow is at least 35 bytes shorter than the page, and up to 5 bytes of it are the record
 * header. */
enum { PAGE_OVERHEAD = 40, PAGE_MINIMUM = 512 };

/* Of schema and shadow table. By rowid, as a BLOB handle finds a row. */
static const char *const STATEMENTS[BLOOM_STATEMENTS] = {
    [BLOOM_READ_ROW] = "SELECT data FROM \"%w\".\"%w\" WHERE rowid = ?1",
    [BLOOM_EACH_ROW] = ("SELECT data, rowid FROM \"%w\".\"%w\" WHERE rowid BETWEEN ?1 "
                        "AND ?2 ORDER BY rowid"),
    [BLOOM_WRITE_ROW] = "REPLACE INTO \"%w\".\"%w\"(rowid, data) VALUES (?1, ?2)",
    [BLOOM_DELETE_ROWS] = "DELETE FROM \"%w\".\"%w\" WHERE rowid <> ?1",
};

/* Messages */

int bloom_database_fail(struct bloom_database *database, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = bloom_message(database->connection, database->name, format, list);
    va_end(list);
    sqlite3_free(database->base.zErrMsg);
    database->base.zErrMsg = message;
    return message == NULL ? SQLITE_NOMEM : code;
}

int bloom_database_fail_sqlite(struct bloom_database *database, int code) {
    if (code == SQLITE_NOMEM)
        return code;
    return bloom_database_fail(database, code, "%s", sqlite3_errmsg(database->connection));
}

char *bloom_database_message(struct bloom_database *database) {
    char *message = database->base.zErrMsg;
    database->base.zErrMsg = NULL;
    return message;
}

/* Life */

bool bloom_database_open(struct bloom_database *database, struct bloom_connection *owner,
                         const char *schema, const char *name) {
    database->connection = owner->database;
    database->owner = owner;
    database->schema = sqlite3_mprintf("%s", schema);
    database->file_schema = sqlite3_stricmp(schema, "main") == 0 ? NULL : database->schema;
    database->name = sqlite3_mprintf("%s", name);
    database->data_name = sqlite3_mprintf("%s_data", name);
    return database->schema != NULL && database->name != NULL && database->data_name != NULL;
}

/* Some hosts finalize all statements of a connection before they close it, also those that are not
 * theirs. So a statement is finalized only if the connection still has it. */
static void finalize_statements(struct bloom_database *database) {
    sqlite3_stmt *left[BLOOM_STATEMENTS];
    sqlite3_stmt *statement = NULL;
    memcpy(left, database->statements, sizeof left);
    memset(database->statements, 0, sizeof left);
    for (int i = 0; i < BLOOM_STATEMENTS; i++) {
        if (left[i] == NULL)
            continue;
        do
            statement = sqlite3_next_stmt(database->connection, statement);
        while (statement != NULL && statement != left[i]);
        sqlite3_finalize(statement);
        statement = NULL;
    }
}

void bloom_database_close(struct bloom_database *database) {
    finalize_statements(database);
    sqlite3_free(database->base.zErrMsg);
    sqlite3_free(database->schema);
    sqlite3_free(database->name);
    sqlite3_free(database->data_name);
}

int bloom_database_begin_operation(struct bloom_database *database) {
    database->is_checked = false;
    if (database->running == 0)
        return SQLITE_OK;
    return bloom_database_fail(database, SQLITE_LOCKED,
                               "a trigger on %s uses the filter table. Drop the trigger",
                               database->data_name);
}

/* Statements of one use */

/* Takes sql, from sqlite3_malloc. */
static int prepare_text(struct bloom_database *database, char *sql, unsigned flags,
                        sqlite3_stmt **statement) {
    *statement = NULL;
    if (sql == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_prepare_v3(database->connection, sql, -1, flags | SQLITE_PREPARE_NO_VTAB,
                                  statement, NULL);
    sqlite3_free(sql);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* Runs SQL that changes the schema. */
static int execute(struct bloom_database *database, char *sql) {
    sqlite3_stmt *statement;
    finalize_statements(database);
    int code = prepare_text(database, sql, 0, &statement);
    if (code != SQLITE_OK)
        return code;
    ++database->running;
    sqlite3_step(statement);
    code = sqlite3_finalize(statement);
    --database->running;
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

int bloom_database_create_table(struct bloom_database *database) {
    return execute(database, sqlite3_mprintf("CREATE TABLE \"%w\".\"%w\""
                                             "(id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
                                             database->schema, database->data_name));
}

/* Looks for the shadow table. Returns SQLITE_OK if it exists, SQLITE_ERROR if it does not or is a
 * view, or another error. */
static int find_table(struct bloom_database *database, const char *name) {
    return sqlite3_table_column_metadata(database->connection, database->schema, name, NULL, NULL,
                                         NULL, NULL, NULL, NULL);
}

/* A view is no table of ours: it stays, as everything else that DROP TABLE does not drop. */
int bloom_database_drop_table(struct bloom_database *database) {
    if (find_table(database, database->data_name) == SQLITE_ERROR)
        return SQLITE_OK;
    return execute(database, sqlite3_mprintf("DROP TABLE IF EXISTS \"%w\".\"%w\"", database->schema,
                                             database->data_name));
}

int bloom_database_rename_table(struct bloom_database *database, const char *name) {
    int code = execute(database, sqlite3_mprintf("ALTER TABLE \"%w\".\"%w\" RENAME TO \"%w_data\"",
                                                 database->schema, database->data_name, name));
    /* An authorizer that ignores a part of it would part the table from its rows. */
    if (code == SQLITE_OK && find_table(database, database->data_name) == SQLITE_OK)
        code = bloom_database_fail(database, SQLITE_AUTH,
                                   "the authorizer of this connection ignores a part of ALTER "
                                   "TABLE %s. Let it allow or deny that",
                                   database->data_name);
    return code;
}

/* Of several rows, so that it begins a savepoint. */
int bloom_database_insert_nothing(struct bloom_database *database) {
    char *sql = sqlite3_mprintf("INSERT INTO \"%w\".\"%w\"(key) SELECT NULL WHERE 0",
                                database->schema, database->name);
    int code =
        sql == NULL ? SQLITE_NOMEM : sqlite3_exec(database->connection, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* Statements that stay */

static int prepare(struct bloom_database *database, enum bloom_statement which) {
    if (database->statements[which] != NULL)
        return SQLITE_OK;
    return prepare_text(database,
                        sqlite3_mprintf(STATEMENTS[which], database->schema, database->data_name),
                        SQLITE_PREPARE_PERSISTENT, &database->statements[which]);
}

/* The rows of a view may have no end. Anybody may replace the table, so this is asked in each
 * operation. It does not ask for a column, because SQLite 3.53 and 3.54 crash if the table is a
 * virtual one that is not connected. Preparing a statement refuses such a table. */
static int check_table(struct bloom_database *database) {
    if (database->is_checked)
        return SQLITE_OK;
    const int code = find_table(database, database->data_name);
    database->is_checked = code == SQLITE_OK;
    if (code == SQLITE_ERROR && sqlite3_db_readonly(database->connection, database->schema) < 0)
        return bloom_database_fail(database, code,
                                   "the connection has no database '%s' any more. Use one name for "
                                   "it, or open the connection again",
                                   database->schema);
    if (code == SQLITE_ERROR && find_table(database, database->name) == SQLITE_ERROR)
        return SQLITE_ABORT_ROLLBACK; /* the statement has rolled back to before it was made */
    if (code == SQLITE_ERROR)
        return bloom_database_damaged(database, "%s", "it is gone, or a view");
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* Binds the second parameter to `second`, or to as many bytes. Binding fails while the statement
 * runs. From then on until it ends, the connection allows values as long as a row, because its own
 * limit may be lower. */
static int begin_statement(struct bloom_database *database, enum bloom_statement which,
                           sqlite3_int64 first, sqlite3_int64 second, const uint8_t *bytes,
                           bool *row) {
    enum { ROW_BYTES_MAXIMUM = BLOOM_CHUNK_BYTES_MAXIMUM + 1024 };
    *row = false;
    int code = check_table(database);
    if (code == SQLITE_OK)
        code = prepare(database, which);
    if (code != SQLITE_OK)
        return code;
    sqlite3_stmt *statement = database->statements[which];
    code = sqlite3_bind_int64(statement, 1, first);
    if (code != SQLITE_OK)
        return bloom_database_fail_sqlite(database, code);
    if (++database->running == 1)
        database->length_limit =
            sqlite3_limit(database->connection, SQLITE_LIMIT_LENGTH, ROW_BYTES_MAXIMUM);
    if (which == BLOOM_EACH_ROW)
        sqlite3_bind_int64(statement, 2, second);
    else if (bytes != NULL)
        sqlite3_bind_blob(statement, 2, bytes, (int)second, SQLITE_STATIC);
    const int stepped = sqlite3_step(statement);
    *row = stepped == SQLITE_ROW;
    return *row || stepped == SQLITE_DONE
               ? SQLITE_OK
               : bloom_database_end_statement(database, which, SQLITE_ERROR);
}

int bloom_database_begin_statement(struct bloom_database *database, enum bloom_statement which,
                                   sqlite3_int64 first, sqlite3_int64 last, bool *row) {
    return begin_statement(database, which, first, last, NULL, row);
}

/* One look at the value: each call of sqlite3_column_... takes the connection's mutex. */
const uint8_t *bloom_database_blob(const struct bloom_database *database,
                                   enum bloom_statement which, int *length) {
    sqlite3_value *value = sqlite3_column_value(database->statements[which], 0);
    const bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
    *length = sqlite3_value_bytes(value);
    return is_blob ? sqlite3_value_blob(value) : NULL;
}

int bloom_database_end_statement(struct bloom_database *database, enum bloom_statement which,
                                 int code) {
    const int ended = sqlite3_reset(database->statements[which]);
    if (--database->running == 0)
        sqlite3_limit(database->connection, SQLITE_LIMIT_LENGTH, database->length_limit);
    if (ended == SQLITE_TOOBIG)
        code = bloom_database_damaged(database, "%s", "a row is longer than any chunk");
    else if ((ended & 0xff) == SQLITE_CONSTRAINT)
        code = bloom_database_damaged(database, "%s", sqlite3_errmsg(database->connection));
    else if (ended != SQLITE_OK)
        code = bloom_database_fail_sqlite(database, ended);
    if (which == BLOOM_WRITE_ROW)
        sqlite3_bind_null(database->statements[which], 2); /* the bytes are the caller's */
    return code;
}

/* Runs a statement that writes. */
static int run_statement(struct bloom_database *database, enum bloom_statement which,
                         sqlite3_int64 first, const uint8_t *bytes, uint32_t length) {
    bool row;
    const int before = sqlite3_total_changes(database->connection);
    int code = begin_statement(database, which, first, length, bytes, &row);
    if (code == SQLITE_OK)
        code = bloom_database_end_statement(database, which, code);
    database->changes += sqlite3_total_changes(database->connection) - before;
    return code;
}

/* An authorizer that ignores INSERT would lose the keys of every new chunk in silence. */
static int refuse_ignored(struct bloom_database *database) {
    if (!sqlite3_stmt_readonly(database->statements[BLOOM_WRITE_ROW]))
        return SQLITE_OK;
    return bloom_database_fail(database, SQLITE_AUTH,
                               "the authorizer of this connection ignores an INSERT into %s. Let "
                               "it allow or deny that",
                               database->data_name);
}

/* The authorizer may be another one than that which permitted the statements. */
int bloom_database_prepare_writing(struct bloom_database *database) {
    finalize_statements(database);
    int code = prepare(database, BLOOM_READ_ROW); /* for a row that does not exist */
    if (code == SQLITE_OK)
        code = prepare(database, BLOOM_WRITE_ROW);
    return code == SQLITE_OK ? refuse_ignored(database) : code;
}

int bloom_database_write_row(struct bloom_database *database, sqlite3_int64 id,
                             const uint8_t *bytes, uint32_t length) {
    const sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(database->connection);
    const int code = run_statement(database, BLOOM_WRITE_ROW, id, bytes, length);
    sqlite3_set_last_insert_rowid(database->connection, last_rowid);
    return code == SQLITE_OK ? refuse_ignored(database) : code;
}

bool bloom_database_is_writing(const struct bloom_database *database) {
    return sqlite3_stmt_busy(database->statements[BLOOM_WRITE_ROW]) != 0;
}

int bloom_database_delete_rows(struct bloom_database *database) {
    return run_statement(database, BLOOM_DELETE_ROWS, 0, NULL, 0);
}

/* Rows by handle */

int bloom_database_close_row(sqlite3_blob **handle, int code) {
    sqlite3_blob *closing = *handle;
    *handle = NULL;
    sqlite3_blob_close(closing); /* NULL: does nothing */
    return code;
}

/* A handle has a statement of its own, without SQL. If a host finalizes all statements amid a
 * query, nobody can close the handle any more. SQLite frees it with the lookaside of the
 * connection, or, without one, not at all. */
void bloom_database_close_reader(struct bloom_database *database, sqlite3_blob **handle) {
    sqlite3_stmt *statement = NULL;
    if (*handle == NULL)
        return;
    do
        statement = sqlite3_next_stmt(database->connection, statement);
    while (statement != NULL && sqlite3_sql(statement) != NULL);
    if (statement == NULL)
        *handle = NULL;
    bloom_database_close_row(handle, SQLITE_OK);
}

/* SQLite gives SQLITE_ERROR both when there is no such row and when a value is neither text nor
 * BLOB. Only the first must count as no row, so a statement decides. If it finds a row, the message
 * of the failure stays. */
static int explain_no_handle(struct bloom_database *database, sqlite3_int64 id, int failure) {
    bool row;
    failure = bloom_database_fail_sqlite(database, failure);
    database->is_checked = false; /* a rollback may have taken the table away */
    int code = bloom_database_begin_statement(database, BLOOM_READ_ROW, id, 0, &row);
    if (code == SQLITE_OK)
        code = bloom_database_end_statement(database, BLOOM_READ_ROW, row ? failure : SQLITE_OK);
    if (code == SQLITE_OK || code == SQLITE_NOMEM)
        sqlite3_free(bloom_database_message(database));
    return code;
}

int bloom_database_open_row(struct bloom_database *database, sqlite3_int64 id, bool writes,
                            sqlite3_blob **handle) {
    int code = *handle != NULL ? sqlite3_blob_reopen(*handle, id) : SQLITE_OK;
    if ((code & 0xff) == SQLITE_ABORT && !writes) /* a rollback has ended the handle */
        code = bloom_database_close_row(handle, SQLITE_OK);
    if (*handle == NULL)
        code = check_table(database);
    if (*handle == NULL && code != SQLITE_OK)
        return code;
    if (*handle == NULL)
        code = sqlite3_blob_open(database->connection, database->schema, database->data_name,
                                 "data", id, writes, handle);
    if (code == SQLITE_OK)
        return code;
    if ((code & 0xff) == SQLITE_ERROR)
        code = explain_no_handle(database, id, code);
    else
        code = bloom_database_fail_sqlite(database, code);
    return bloom_database_close_row(handle, code);
}

/* Asks a PRAGMA for a number; 0 if there is no answer. */
static int ask_pragma(struct bloom_database *database, const char *name, sqlite3_int64 *number) {
    sqlite3_stmt *statement;
    *number = 0;
    int code = prepare_text(database, sqlite3_mprintf("PRAGMA \"%w\".%s", database->schema, name),
                            0, &statement);
    if (code != SQLITE_OK)
        return code;
    if (sqlite3_step(statement) == SQLITE_ROW)
        *number = sqlite3_column_int64(statement, 0);
    code = sqlite3_finalize(statement);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

uint64_t bloom_database_cache_bytes(struct bloom_database *database) {
    enum { KIB = 1024 };
    sqlite3_int64 size, page = KIB;
    int code = ask_pragma(database, "cache_size", &size);
    if (code == SQLITE_OK && size > 0) /* in pages; a negative one is in KiB */
        code = ask_pragma(database, "page_size", &page);
    if (code == SQLITE_OK)
        return (uint64_t)(size < 0 ? -size : size) * (uint64_t)page;
    sqlite3_free(bloom_database_message(database));
    return 0;
}

int bloom_database_page_bytes(struct bloom_database *database, uint32_t *bytes) {
    sqlite3_int64 page;
    *bytes = 0;
    int code = ask_pragma(database, "page_size", &page);
    if (code != SQLITE_OK)
        return code;
    if (page < PAGE_MINIMUM)
        return bloom_database_fail(database, SQLITE_AUTH,
                                   "the authorizer of this connection hides the page size. Let it "
                                   "allow PRAGMA page_size");
    int reserved = -1; /* bytes at the end of each page that extensions use; asked, not set */
    enum { RESERVE_BYTES = 38 }; /* SQLITE_FCNTL_..., which SQLite before 3.32 does not know */
    sqlite3_file_control(database->connection, database->schema, RESERVE_BYTES, &reserved);
    *bytes = (uint32_t)((int)page - (reserved > 0 ? reserved : 0) - PAGE_OVERHEAD);
    return SQLITE_OK;
}
