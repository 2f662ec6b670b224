/* See database.h. */
#include "table/database.h"

#include "filter/portable.h"

#include <stdarg.h>
#include <string.h>

/* The bytes of a table leaf page that the BLOB of its one row cannot use: a payload that does not
 * overflow is at least 35 bytes shorter than the page, and up to 5 bytes of it are the record
 * header. */
enum { PAGE_OVERHEAD = 40, PAGE_MINIMUM = 512 };

/* As CREATE makes them, and as SQLite keeps them after a new name. */
static const struct {
    const char *suffix;
    const char *columns;
} SHADOW_TABLES[] = {
    [BLOOM_SHADOW_LAYERS] =
        {"layers", "(layer INTEGER PRIMARY KEY, header BLOB NOT NULL, chunk_blocks INTEGER NOT "
                   "NULL, generation INTEGER NOT NULL, keys INTEGER NOT NULL, chunks INTEGER NOT "
                   "NULL, ones INTEGER NOT NULL)"},
    [BLOOM_SHADOW_CHUNKS] = {"chunks", "(id INTEGER PRIMARY KEY, bits BLOB NOT NULL)"},
};

enum { SHADOW_TABLE_COUNT = sizeof SHADOW_TABLES / sizeof *SHADOW_TABLES };

/* Of schema and name, and these again. Where a column of a result stands in a condition, too,
 * SQLite asks the authorizer about it once, in the subquery, so that what hides it from the one
 * hides it from the other. */
static const char *const STATEMENTS[BLOOM_STATEMENTS] = {
    [BLOOM_READ_LAYERS] = "SELECT layer, header, chunk_blocks, generation, keys, chunks, ones FROM "
                          "\"%w\".\"%w_layers\" ORDER BY layer",
    [BLOOM_READ_CHUNK] =
        "SELECT id, bits FROM (SELECT id, bits FROM \"%w\".\"%w_chunks\") WHERE id = ?1",
    [BLOOM_NEXT_CHUNK] = "SELECT id, bits FROM (SELECT id, bits FROM \"%w\".\"%w_chunks\") WHERE "
                         "id >= ?1 AND id < ?2 ORDER BY 1",
    [BLOOM_LAST_CHUNK] = "SELECT id FROM (SELECT id FROM \"%w\".\"%w_chunks\") WHERE id >= ?1 AND "
                         "id <= ?2 ORDER BY 1 DESC LIMIT 1",
    [BLOOM_STRAY_CHUNK] = "SELECT id FROM (SELECT id FROM \"%w\".\"%w_chunks\") WHERE id >> 40 NOT "
                          "IN (SELECT layer FROM \"%w\".\"%w_layers\") LIMIT 1",
    [BLOOM_NEW_LAYER] = "INSERT INTO \"%w\".\"%w_layers\"(layer, header, chunk_blocks, generation, "
                        "keys, chunks, ones) VALUES (?1, ?2, ?3, ?4, 0, 0, 0)",
    [BLOOM_WRITE_LAYER] = "UPDATE \"%w\".\"%w_layers\" SET keys = ?2, chunks = ?3, ones = ?4, "
                          "generation = ?5 WHERE layer = ?1",
    [BLOOM_DELETE_LAYERS] = "DELETE FROM \"%w\".\"%w_layers\" WHERE layer >= ?1",
    [BLOOM_NEW_CHUNK] = "INSERT INTO \"%w\".\"%w_chunks\"(id, bits) VALUES (?1, ?2)",
    [BLOOM_WRITE_CHUNK] = "UPDATE \"%w\".\"%w_chunks\" SET bits = ?2 WHERE id = ?1",
    [BLOOM_DELETE_CHUNKS] = "DELETE FROM \"%w\".\"%w_chunks\" WHERE id >= ?1 AND id <= ?2",
};

/* Messages */

int bloom_database_fail(struct bloom_database *database, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = sqlite3_vmprintf(format, list);
    va_end(list);
    char *whole = text != NULL ? sqlite3_mprintf("%s: %s", database->name, text) : NULL;
    sqlite3_free(text);
    sqlite3_free(database->message);
    database->message = whole != NULL ? bloom_sql_legible(whole) : NULL;
    sqlite3_free(whole);
    if (database->message == NULL)
        return SQLITE_NOMEM;
    bloom_sql_cut(database->connection, database->message);
    return code;
}

int bloom_database_fail_sqlite(struct bloom_database *database, int code) {
    if (code == SQLITE_NOMEM)
        return code;
    return bloom_database_fail(database, code, "%s", sqlite3_errmsg(database->connection));
}

int bloom_database_hidden(struct bloom_database *database) {
    bloom_database_forget(database);
    return bloom_database_fail(database, SQLITE_AUTH,
                               "the authorizer of this connection hides the shadow tables; let it "
                               "show them");
}

char *bloom_database_message(struct bloom_database *database) {
    char *message = database->message;
    database->message = NULL;
    return message;
}

/* Life */

/* All three names in one piece of memory. */
static bool set_name(struct bloom_database *database, const char *name) {
    const sqlite3_uint64 length = strlen(name) + sizeof "_layers";
    char *names = sqlite3_malloc64(3 * length);
    if (names == NULL)
        return false;
    sqlite3_free(database->name);
    database->name = sqlite3_snprintf((int)length, names, "%s", name);
    for (int i = 0; i < SHADOW_TABLE_COUNT; i++) {
        names += length;
        database->shadow_names[i] =
            sqlite3_snprintf((int)length, names, "%s_%s", name, SHADOW_TABLES[i].suffix);
    }
    return true;
}

bool bloom_database_open(struct bloom_database *database, sqlite3 *connection, const char *schema,
                         const char *name, unsigned *running) {
    memset(database, 0, sizeof *database);
    database->connection = connection;
    database->running = running;
    database->is_main = sqlite3_stricmp(schema, "main") == 0;
    database->schema = sqlite3_mprintf("%s", schema);
    return database->schema != NULL && set_name(database, name);
}

void bloom_database_forget(struct bloom_database *database) {
    database->shape_known = database->writes_layers = false;
    for (int i = 0; i < BLOOM_STATEMENTS; i++) {
        sqlite3_stmt *statement = database->statements[i];
        database->statements[i] = NULL;
        sqlite3_finalize(statement);
    }
}

void bloom_database_close(struct bloom_database *database) {
    bloom_database_forget(database);
    sqlite3_free(database->schema);
    sqlite3_free(database->name);
    sqlite3_free(database->message);
}

int bloom_database_enter(struct bloom_database *database) {
    if (*database->running == 0)
        return SQLITE_OK;
    return bloom_database_fail(database, SQLITE_LOCKED,
                               "a trigger on the shadow tables of a filter table uses a filter "
                               "table; drop the trigger");
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

/* Runs SQL of the schema, the name of a shadow table, its columns or a new name of the table, and
 * its suffix, for each. */
static int execute(struct bloom_database *database, const char *format, const char *new_name) {
    sqlite3_stmt *statement;
    int code = SQLITE_OK;
    bloom_database_forget(database);
    for (int i = 0; i < SHADOW_TABLE_COUNT && code == SQLITE_OK; i++) {
        const char *text = new_name != NULL ? new_name : SHADOW_TABLES[i].columns;
        code = prepare_text(database,
                            sqlite3_mprintf(format, database->schema, database->shadow_names[i],
                                            text, SHADOW_TABLES[i].suffix),
                            0, &statement);
        if (code != SQLITE_OK)
            return code;
        ++*database->running;
        sqlite3_step(statement);
        code = sqlite3_finalize(statement);
        --*database->running;
    }
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

int bloom_database_create_tables(struct bloom_database *database) {
    return execute(database, "CREATE TABLE \"%w\".\"%w\" %s", NULL);
}

int bloom_database_drop_tables(struct bloom_database *database) {
    return execute(database, "DROP TABLE IF EXISTS \"%w\".\"%w\"", NULL);
}

int bloom_database_rename_tables(struct bloom_database *database, const char *name) {
    int code = execute(database, "ALTER TABLE \"%w\".\"%w\" RENAME TO \"%w_%s\"", name);
    for (int i = 0; i < SHADOW_TABLE_COUNT && code == SQLITE_OK; i++) {
        char *shadow = sqlite3_mprintf("%s_%s", name, SHADOW_TABLES[i].suffix);
        if (shadow == NULL)
            return SQLITE_NOMEM;
        /* An authorizer that ignores ALTER TABLE leaves it undone, and SQLite says nothing. */
        if (sqlite3_table_column_metadata(database->connection, database->schema, shadow, NULL,
                                          NULL, NULL, NULL, NULL, NULL) != SQLITE_OK)
            code = bloom_database_hidden(database);
        sqlite3_free(shadow);
    }
    return code == SQLITE_OK && !set_name(database, name) ? SQLITE_NOMEM : code;
}

/* Shape */

static int on_shadow_tables(struct bloom_database *database) {
    return bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                               "the shadow tables are damaged: a trigger, an index or a foreign "
                               "key is on them; drop it");
}

/* Judges one row of the schema that names a shadow table as its table. */
static int check_object(struct bloom_database *database, int shadow, const char *expected,
                        sqlite3_stmt *row) {
    const char *type = (const char *)sqlite3_column_text(row, 0);
    const char *text = (const char *)sqlite3_column_text(row, 1);
    if (type == NULL || text == NULL)
        return bloom_database_hidden(database); /* or there was no memory, which the end tells */
    if (sqlite3_stricmp(type, "trigger") == 0 || sqlite3_stricmp(type, "index") == 0)
        return on_shadow_tables(database);
    return sqlite3_stricmp(text, expected) == 0
               ? SQLITE_OK
               : bloom_database_damaged(database, shadow, "%s",
                                        "it is not the table that CREATE made, or of a "
                                        "development build");
}

/* Compares what the schema, and what temp says of triggers, with what CREATE made. A question to
 * temp would open it, and each call of SQLite would look at it from then on. */
static int check_shadow(struct bloom_database *database, int shadow) {
    const char *name = database->shadow_names[shadow];
    sqlite3_stmt *statement;
    bool present = false;
    char *text = sqlite3_mprintf(
        "SELECT type, sql FROM \"%w\".sqlite_master WHERE tbl_name = %Q COLLATE NOCASE",
        database->schema, name);
    if (text != NULL && sqlite3_db_filename(database->connection, "temp") != NULL)
        text = sqlite3_mprintf("%z UNION ALL SELECT type, sql FROM sqlite_temp_master WHERE "
                               "type = 'trigger' AND tbl_name = %Q COLLATE NOCASE",
                               text, name);
    int code = prepare_text(database, text, 0, &statement);
    if (code != SQLITE_OK)
        return code;
    char *expected = sqlite3_mprintf("CREATE TABLE \"%w\" %s", name, SHADOW_TABLES[shadow].columns);
    code = expected != NULL ? SQLITE_OK : SQLITE_NOMEM;
    for (; code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW; present = true)
        code = check_object(database, shadow, expected, statement);
    sqlite3_free(expected);
    int ended = sqlite3_finalize(statement);
    if (ended != SQLITE_OK)
        return bloom_database_fail_sqlite(database, ended);
    if (code == SQLITE_OK && !present)
        code = bloom_database_fail(database, SQLITE_ERROR,
                                   "no such table: %s.%s, which holds the keys; restore it, or "
                                   "drop %s and make it anew",
                                   database->schema, name, database->name);
    return code;
}

/* Whether this SQLite tells the types of columns. With SQLITE_OMIT_DECLTYPE it does not. */
static bool tells_types(void) {
#if defined(SQLITE_OMIT_DECLTYPE)
    return false;
#elif defined(SQLITE_CORE)
    return true;
#else
    return sqlite3_api->column_decltype != NULL;
#endif
}

/* Whether a result has a type in every place: what was put there instead of a column has none. */
static bool has_columns(sqlite3_stmt *statement) {
    int count = sqlite3_column_count(statement);
    bool all = count > 0;
#if !defined(SQLITE_OMIT_DECLTYPE)
    for (int i = 0; i < count && all && tells_types(); i++)
        all = sqlite3_column_decltype(statement, i) != NULL;
#endif
    return all;
}

static char *text_of(const struct bloom_database *database, enum bloom_statement which) {
    return sqlite3_mprintf(STATEMENTS[which], database->schema, database->name, database->schema,
                           database->name);
}

/* Whether a statement runs only itself, and all of itself: its program must not call anything, must
 * use every value that is bound, and, when it reads, must make no NULL, where no types tell. An
 * authorizer may have put that in the place of a column, or taken the whole statement away. */
static int check_program(struct bloom_database *database, enum bloom_statement which,
                         sqlite3_stmt *prepared) {
    const bool writes = which >= BLOOM_WRITE_CHUNK;
    static const char *const CALLS[] = {"Program",  "Function", "Function0",
                                        "PureFunc", "VOpen",    "IdxInsert"};
    sqlite3_stmt *statement;
    int parameters = 0;
    bool calls = false, makes_null = false;
    char *sql = text_of(database, which);
    int code = prepare_text(database, sql != NULL ? sqlite3_mprintf("EXPLAIN %s", sql) : NULL, 0,
                            &statement);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        /* NULL: no memory, which sqlite3_finalize tells. */
        const char *operation = (const char *)sqlite3_column_text(statement, 1);
        makes_null |= sqlite3_stricmp(operation, "Null") == 0;
        parameters += sqlite3_stricmp(operation, "Variable") == 0;
        for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
            calls |= sqlite3_stricmp(operation, CALLS[i]) == 0;
    }
    code = sqlite3_finalize(statement);
    if (code != SQLITE_OK)
        return bloom_database_fail_sqlite(database, code);
    if (parameters < sqlite3_bind_parameter_count(prepared) ||
        (sqlite3_stmt_readonly(prepared) != 0) == writes ||
        (!writes && (!has_columns(prepared) || (makes_null && !tells_types()))))
        return bloom_database_hidden(database);
    return calls ? on_shadow_tables(database) : SQLITE_OK;
}

/* Statements that stay */

bool bloom_database_tells_expiry(void) {
#if defined(SQLITE_OMIT_DEPRECATED)
    return false;
#elif defined(SQLITE_CORE)
    return true;
#else
    return sqlite3_api->expired != NULL;
#endif
}

/* Whether a statement must be prepared: an authorizer that was set is then asked at once, and not
 * only when it is stepped. */
static bool is_due(const struct bloom_database *database, enum bloom_statement which) {
    sqlite3_stmt *statement = database->statements[which];
#if !defined(SQLITE_OMIT_DEPRECATED)
    if (bloom_database_tells_expiry())
        return sqlite3_expired(statement) != 0; /* also of NULL */
#endif
    return statement == NULL;
}

static int prepare_statement(struct bloom_database *database, enum bloom_statement which) {
    sqlite3_stmt *statement = database->statements[which];
    int code = SQLITE_OK;
    /* It is outdated, and so may be the others. */
    if (statement != NULL)
        bloom_database_forget(database);
    for (int i = 0; i < SHADOW_TABLE_COUNT && code == SQLITE_OK && !database->shape_known; i++)
        code = check_shadow(database, i);
    if (code == SQLITE_OK)
        code =
            prepare_text(database, text_of(database, which), SQLITE_PREPARE_PERSISTENT, &statement);
    /* Without a statement, nothing would tell that the tables have changed since. */
    database->shape_known = code == SQLITE_OK;
    if (code != SQLITE_OK)
        return code;
    code = check_program(database, which, statement);
    if (code == SQLITE_OK) {
        database->statements[which] = statement;
    } else {
        sqlite3_finalize(statement);
        bloom_database_forget(database);
    }
    return code;
}

int bloom_database_prepare(struct bloom_database *database, unsigned statements) {
    int code = SQLITE_OK;
    if (!bloom_database_tells_expiry()) {
        sqlite3_stmt *statement;
        bool row;
        code = bloom_database_read(database, BLOOM_READ_CHUNK, -1, 0, &statement, &row);
        if (code == SQLITE_OK)
            code = bloom_database_end(database, BLOOM_READ_CHUNK, code);
    }
    for (; code == SQLITE_OK && statements != 0; statements &= statements - 1) {
        const enum bloom_statement which = (enum bloom_statement)bloom_lowest_one64(statements);
        if (is_due(database, which))
            code = prepare_statement(database, which);
    }
    return code;
}

int bloom_database_begin(struct bloom_database *database, enum bloom_statement which,
                         sqlite3_stmt **statement) {
    enum { ROW_BYTES_MAXIMUM = BLOOM_CHUNK_BYTES_MAXIMUM + 1024 };
    int code = is_due(database, which) ? prepare_statement(database, which) : SQLITE_OK;
    *statement = database->statements[which];
    if (code != SQLITE_OK)
        return code;
    ++*database->running;
    database->length_limit =
        sqlite3_limit(database->connection, SQLITE_LIMIT_LENGTH, ROW_BYTES_MAXIMUM);
    return SQLITE_OK;
}

int bloom_database_end(struct bloom_database *database, enum bloom_statement which, int code) {
    const int ended = sqlite3_reset(database->statements[which]);
    sqlite3_limit(database->connection, SQLITE_LIMIT_LENGTH, database->length_limit);
    --*database->running;
    if (ended == SQLITE_OK)
        return code;
    if (ended == SQLITE_TOOBIG)
        code = bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                                   "the shadow tables are damaged: a value is longer than any of "
                                   "theirs can be" BLOOM_RESTORE_DATABASE,
                                   database->name);
    else if ((ended & 0xff) == SQLITE_CONSTRAINT)
        /* As it is, the caller would take it for a key that was ignored. */
        code = bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                                   "the shadow tables are damaged, or hidden by the authorizer of "
                                   "this connection: %s; let it read and write them",
                                   sqlite3_errmsg(database->connection));
    else
        code = bloom_database_fail_sqlite(database, ended);
    bloom_database_forget(database);
    return code;
}

/* Whether SQLite has prepared a statement anew since it was asked last. */
static bool was_prepared_anew(sqlite3_stmt *statement) {
    return sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 1) > 0;
}

int bloom_database_read(struct bloom_database *database, enum bloom_statement which,
                        sqlite3_int64 first, sqlite3_int64 second, sqlite3_stmt **statement,
                        bool *row) {
    enum { TRIES = 5 };
    *row = false;
    for (int i = 0; i < TRIES; i++) {
        int code = bloom_database_begin(database, which, statement);
        if (code != SQLITE_OK)
            return code;
        const int parameters = sqlite3_bind_parameter_count(*statement);
        if (parameters > 0)
            sqlite3_bind_int64(*statement, 1, first);
        if (parameters > 1)
            sqlite3_bind_int64(*statement, 2, second);
        int stepped = sqlite3_step(*statement);
        *row = stepped == SQLITE_ROW;
        if (!was_prepared_anew(*statement))
            return *row || stepped == SQLITE_DONE ? code
                                                  : bloom_database_end(database, which, code);
        code = bloom_database_end(database, which, code);
        if (code != SQLITE_OK)
            return code;
        bloom_database_forget(database);
    }
    return bloom_database_fail(database, SQLITE_SCHEMA,
                               "the schema changes all the time; try again");
}

int bloom_database_write(struct bloom_database *database, enum bloom_statement which, int rows) {
    /* Without a sign, since the number of all changes wraps around. */
    unsigned before = (unsigned)sqlite3_total_changes(database->connection);
    sqlite3_step(database->statements[which]);
    bool anew = was_prepared_anew(database->statements[which]);
    int code = bloom_database_end(database, which, SQLITE_OK);
    if (code != SQLITE_OK ||
        (!anew && (rows < 0 || (unsigned)sqlite3_total_changes(database->connection) - before ==
                                   (unsigned)rows)))
        return code;
    bloom_database_forget(database);
    return bloom_database_fail(
        database, SQLITE_CORRUPT_VTAB,
        anew ? "the schema changed while the table was written; try again"
             : "the shadow tables are damaged: expected rows are missing" BLOOM_RESTORE_DATABASE,
        database->name);
}

int bloom_database_room_on_page(struct bloom_database *database, uint32_t *bytes) {
    sqlite3_stmt *statement;
    *bytes = 0;
    int code = prepare_text(database, sqlite3_mprintf("PRAGMA \"%w\".page_size", database->schema),
                            0, &statement);
    if (code != SQLITE_OK)
        return code;
    int page = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    code = sqlite3_finalize(statement);
    if (code != SQLITE_OK)
        return bloom_database_fail_sqlite(database, code);
    if (page < PAGE_MINIMUM)
        return bloom_database_fail(database, SQLITE_AUTH,
                                   "the page size of the database cannot be learned: PRAGMA "
                                   "page_size must be allowed on this connection");
    int reserved = -1; /* bytes at the end of each page that extensions use; asked, not set */
    sqlite3_file_control(database->connection, database->schema, SQLITE_FCNTL_RESERVE_BYTES,
                         &reserved);
    /* Still -1 before SQLite 3.32, which does not tell. */
    *bytes = (uint32_t)(page - (reserved > 0 ? reserved : 0) - PAGE_OVERHEAD);
    return SQLITE_OK;
}
