/* See database.h. */
#include "table/database.h"

#include <stdarg.h>
#include <string.h>

/* Of a table leaf page, what is not the BLOB of its one row: 35 bytes that SQLite keeps off a payload
 * that shall not overflow, and up to 5 bytes of record header. */
enum { PAGE_OVERHEAD = 40, PAGE_MINIMUM = 512, PAGE_MAXIMUM = 65536 };

enum { COLUMNS_MAXIMUM = 6 };

struct column {
    const char *name;
    const char *type;
};

/* As CREATE makes them. The first column of each is its INTEGER PRIMARY KEY. */
static const struct {
    const char *suffix;
    int count;
    struct column columns[COLUMNS_MAXIMUM];
} SHADOW_TABLES[] = {
    [BLOOM_SHADOW_LAYERS] = {"layers",
                             6,
                             {{"layer", "INTEGER"},
                              {"header", "BLOB"},
                              {"chunk_blocks", "INTEGER"},
                              {"keys", "INTEGER"},
                              {"chunks", "INTEGER"},
                              {"ones", "INTEGER"}}},
    [BLOOM_SHADOW_CHUNKS] = {"chunks", 2, {{"id", "INTEGER"}, {"bits", "BLOB"}}},
};

enum kind { READS, CHANGES_A_ROW, CLEARS };

/* types: of the columns of a result, one letter each: i an INTEGER, b a BLOB, - one without a type. */
static const struct {
    enum kind kind;
    const char *types;
    const char *sql; /* of schema and name */
} STATEMENTS[BLOOM_STATEMENTS] = {
    [BLOOM_READ_LAYERS] = {READS, "ibiiii",
                           "SELECT layer, header, chunk_blocks, keys, chunks, ones FROM "
                           "\"%w\".\"%w_layers\" ORDER BY layer"},
    [BLOOM_ADD_COUNTS] = {CHANGES_A_ROW, "",
                          "UPDATE \"%w\".\"%w_layers\" SET keys = keys + ?2, chunks = chunks + ?3, "
                          "ones = ones + ?4 WHERE layer = ?1"},
    [BLOOM_WRITE_COUNTS] = {CHANGES_A_ROW, "",
                            "UPDATE \"%w\".\"%w_layers\" SET keys = ?2, chunks = ?3, ones = ?4 "
                            "WHERE layer = ?1"},
    [BLOOM_NEW_LAYER] = {CHANGES_A_ROW, "",
                         "INSERT INTO \"%w\".\"%w_layers\"(layer, header, chunk_blocks, keys, "
                         "chunks, ones) VALUES (?1, ?2, ?3, 0, 0, 0)"},
    [BLOOM_CLEAR_LAYERS] = {CLEARS, "", "DELETE FROM \"%w\".\"%w_layers\" WHERE layer > 0"},
    [BLOOM_READ_CHUNK] = {READS, "b", "SELECT bits FROM \"%w\".\"%w_chunks\" WHERE id = ?1"},
    [BLOOM_WRITE_CHUNK] = {CHANGES_A_ROW, "",
                           "UPDATE \"%w\".\"%w_chunks\" SET bits = ?2 WHERE id = ?1"},
    [BLOOM_NEW_CHUNK] = {CHANGES_A_ROW, "",
                         "INSERT INTO \"%w\".\"%w_chunks\"(id, bits) VALUES (?1, ?2)"},
    [BLOOM_EACH_CHUNK] = {READS, "ib",
                          "SELECT id, bits FROM \"%w\".\"%w_chunks\" WHERE id >= ?1 AND id < ?2 "
                          "ORDER BY id"},
    [BLOOM_LAST_CHUNK] = {READS, "i",
                          "SELECT id FROM \"%w\".\"%w_chunks\" WHERE id < ?1 ORDER BY id "
                          "DESC LIMIT 1"},
    [BLOOM_COUNT_CHUNKS] = {READS, "-", "SELECT count(*) FROM \"%w\".\"%w_chunks\""},
    [BLOOM_CLEAR_CHUNKS] = {CLEARS, "", "DELETE FROM \"%w\".\"%w_chunks\""},
};

/* Messages */

int bloom_database_fail(struct bloom_database *database, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = sqlite3_vmprintf(format, list);
    va_end(list);
    sqlite3_free(database->message);
    database->message = text ? sqlite3_mprintf("%s: %s", database->name, text) : NULL;
    sqlite3_free(text);
    return database->message ? code : SQLITE_NOMEM;
}

int bloom_database_fail_sqlite(struct bloom_database *database, int code) {
    if (code == SQLITE_NOMEM)
        return code;
    return bloom_database_fail(database, code, "%s", sqlite3_errmsg(database->connection));
}

char *bloom_database_message(struct bloom_database *database) {
    char *message = database->message;
    database->message = NULL;
    return message;
}

/* Life */

static bool set_name(struct bloom_database *database, const char *name) {
    char *names[3] = {sqlite3_mprintf("%s", name), sqlite3_mprintf("%s_layers", name),
                      sqlite3_mprintf("%s_chunks", name)};
    bool made = names[0] != NULL && names[1] != NULL && names[2] != NULL;
    char **places[3] = {&database->name, &database->shadow_names[BLOOM_SHADOW_LAYERS],
                        &database->shadow_names[BLOOM_SHADOW_CHUNKS]};
    for (int i = 0; i < 3; i++) {
        if (made) {
            sqlite3_free(*places[i]);
            *places[i] = names[i];
        } else {
            sqlite3_free(names[i]);
        }
    }
    return made;
}

bool bloom_database_open(struct bloom_database *database, sqlite3 *connection, const char *schema,
                         const char *name, unsigned *running) {
    memset(database, 0, sizeof *database);
    database->connection = connection;
    database->running = running;
    database->schema = sqlite3_mprintf("%s", schema);
    return database->schema != NULL && set_name(database, name);
}

void bloom_database_forget(struct bloom_database *database) {
    for (int i = 0; i < BLOOM_STATEMENTS; i++) {
        sqlite3_stmt *statement = database->statements[i].statement;
        database->statements[i].statement = NULL;
        database->statements[i].tried = false;
        sqlite3_finalize(statement);
    }
    database->shape_known = database->writes_known = database->changed = false;
}

void bloom_database_close(struct bloom_database *database) {
    bloom_database_forget(database);
    sqlite3_free(database->schema);
    sqlite3_free(database->name);
    sqlite3_free(database->shadow_names[BLOOM_SHADOW_LAYERS]);
    sqlite3_free(database->shadow_names[BLOOM_SHADOW_CHUNKS]);
    sqlite3_free(database->message);
}

int bloom_database_enter(struct bloom_database *database) {
    if (*database->running == 0)
        return SQLITE_OK;
    return bloom_database_fail(database, SQLITE_LOCKED,
                               "something that hangs on the shadow tables of a filter table uses a "
                               "filter table");
}

/* Statements */

static int prepare_text(struct bloom_database *database, const char *sql, unsigned flags,
                        sqlite3_stmt **statement) {
    *statement = NULL;
    if (sql == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_prepare_v3(database->connection, sql, -1, flags | SQLITE_PREPARE_NO_VTAB,
                                  statement, NULL);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* Prepares SQL of schema and name. */
static int prepare_format(struct bloom_database *database, const char *prefix, const char *format,
                          unsigned flags, sqlite3_stmt **statement) {
    char *sql = sqlite3_mprintf(format, database->schema, database->name);
    char *whole = sql != NULL && *prefix != '\0' ? sqlite3_mprintf("%s%s", prefix, sql) : NULL;
    int code = prepare_text(database, *prefix != '\0' ? whole : sql, flags, statement);
    sqlite3_free(whole);
    sqlite3_free(sql);
    return code;
}

/* Runs SQL of schema, name and one text more. */
static int execute_format(struct bloom_database *database, const char *format, const char *more) {
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf(format, database->schema, database->name, more);
    int code = prepare_text(database, sql, 0, &statement);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code;
    ++*database->running;
    while (sqlite3_step(statement) == SQLITE_ROW)
        continue;
    code = sqlite3_finalize(statement);
    --*database->running;
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

int bloom_database_create_tables(struct bloom_database *database) {
    int code = execute_format(
        database,
        "CREATE TABLE \"%w\".\"%w_layers\" (layer INTEGER PRIMARY KEY, header BLOB NOT NULL, "
        "chunk_blocks INTEGER NOT NULL, keys INTEGER NOT NULL, chunks INTEGER NOT NULL, "
        "ones INTEGER NOT NULL)",
        NULL);
    if (code == SQLITE_OK)
        code = execute_format(
            database,
            "CREATE TABLE \"%w\".\"%w_chunks\" (id INTEGER PRIMARY KEY, bits BLOB NOT NULL)", NULL);
    return code;
}

int bloom_database_drop_tables(struct bloom_database *database) {
    bloom_database_forget(database);
    int code = execute_format(database, "DROP TABLE IF EXISTS \"%w\".\"%w_chunks\"", NULL);
    if (code == SQLITE_OK)
        code = execute_format(database, "DROP TABLE IF EXISTS \"%w\".\"%w_layers\"", NULL);
    return code;
}

int bloom_database_rename_tables(struct bloom_database *database, const char *name) {
    bloom_database_forget(database);
    int code =
        execute_format(database, "ALTER TABLE \"%w\".\"%w_layers\" RENAME TO \"%w_layers\"", name);
    if (code == SQLITE_OK)
        code = execute_format(database, "ALTER TABLE \"%w\".\"%w_chunks\" RENAME TO \"%w_chunks\"",
                              name);
    if (code != SQLITE_OK)
        return code;
    return set_name(database, name) ? SQLITE_OK : SQLITE_NOMEM;
}

/* Shape */

static int not_ours(struct bloom_database *database, int shadow, const char *why) {
    return bloom_database_fail(database, SQLITE_CORRUPT_VTAB, "%s is damaged: %s",
                               database->shadow_names[shadow], why);
}

/* Whether the table has that column of that type; only the first one is the key. */
static int check_column(struct bloom_database *database, int shadow, int position) {
    const struct column *column = &SHADOW_TABLES[shadow].columns[position];
    const char *type = NULL;
    int is_key = 0;
    int code = sqlite3_table_column_metadata(database->connection, database->schema,
                                             database->shadow_names[shadow], column->name, &type,
                                             NULL, NULL, &is_key, NULL);
    if (code == SQLITE_ERROR)
        return bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                                   "%s is damaged: there is no such table with a column %s",
                                   database->shadow_names[shadow], column->name);
    if (code != SQLITE_OK)
        return bloom_database_fail_sqlite(database, code);
    if (type != NULL && sqlite3_stricmp(type, column->type) == 0 &&
        (is_key != 0) == (position == 0))
        return SQLITE_OK;
    return bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                               "%s is damaged: its column %s is not %s%s",
                               database->shadow_names[shadow], column->name, column->type,
                               position == 0 ? " PRIMARY KEY" : " alone");
}

/* Whether there are no more columns; a table without rowid has none of that name, unless it is a column. */
static int check_width(struct bloom_database *database, int shadow) {
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf("SELECT *, rowid FROM \"%w\".\"%w\"", database->schema,
                                database->shadow_names[shadow]);
    int code = prepare_text(database, sql, 0, &statement);
    sqlite3_free(sql);
    if ((code & 0xff) == SQLITE_ERROR)
        return not_ours(database, shadow, "it is not an ordinary table");
    if (code != SQLITE_OK)
        return code;
    int count = sqlite3_column_count(statement);
    sqlite3_finalize(statement);
    if (count != SHADOW_TABLES[shadow].count + 1)
        return not_ours(database, shadow, "it has other columns");
    return SQLITE_OK;
}

/* What the program of a statement would call or look for. */
struct program {
    bool seeks_rowid;
    bool calls; /* a trigger, an action of a foreign key, a function */
};

static int explain(struct bloom_database *database, const char *format, struct program *program) {
    static const char *const CALLS[] = {"Program", "Function", "Function0", "PureFunc", "VOpen"};
    sqlite3_stmt *statement;
    *program = (struct program){false, false};
    int code = prepare_format(database, "EXPLAIN ", format, 0, &statement);
    if (code != SQLITE_OK)
        return code;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *operation = (const char *)sqlite3_column_text(statement, 1);
        if (operation == NULL)
            continue; /* no memory, which sqlite3_finalize tells */
        program->seeks_rowid = program->seeks_rowid || strcmp(operation, "SeekRowid") == 0;
        for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
            program->calls = program->calls || strcmp(operation, CALLS[i]) == 0;
    }
    code = sqlite3_finalize(statement);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* A key that is not the rowid (INTEGER PRIMARY KEY DESC) is looked for in an index. */
static int check_key(struct bloom_database *database, int shadow) {
    static const char *const BY_KEY[] = {
        [BLOOM_SHADOW_LAYERS] = "SELECT header, chunk_blocks, keys, chunks, ones FROM "
                                "\"%w\".\"%w_layers\" WHERE layer = 1",
        [BLOOM_SHADOW_CHUNKS] = "SELECT bits FROM \"%w\".\"%w_chunks\" WHERE id = 1"};
    struct program program;
    int code = explain(database, BY_KEY[shadow], &program);
    if (code == SQLITE_OK && !program.seeks_rowid)
        code = not_ours(database, shadow, "its key is not the rowid");
    if (code == SQLITE_OK && program.calls)
        code = not_ours(database, shadow, "reading it calls functions");
    return code;
}

static int learn_shape(struct bloom_database *database) {
    int code = SQLITE_OK;
    for (int shadow = 0; shadow < 2 && code == SQLITE_OK; shadow++) {
        for (int i = 0; i < SHADOW_TABLES[shadow].count && code == SQLITE_OK; i++)
            code = check_column(database, shadow, i);
        if (code == SQLITE_OK)
            code = check_width(database, shadow);
        if (code == SQLITE_OK)
            code = check_key(database, shadow);
    }
    database->shape_known = code == SQLITE_OK;
    return code;
}

/* Whether the statements that write run only themselves. */
static int learn_writes(struct bloom_database *database) {
    int code = SQLITE_OK;
    for (int i = 0; i < BLOOM_STATEMENTS && code == SQLITE_OK; i++) {
        struct program program;
        if (STATEMENTS[i].kind == READS)
            continue;
        code = explain(database, STATEMENTS[i].sql, &program);
        if (code == SQLITE_OK && program.calls)
            code = bloom_database_fail(
                database, SQLITE_CORRUPT_VTAB,
                "the shadow tables are damaged: a trigger, a foreign key or a check hangs on them, "
                "which writing would run");
    }
    database->writes_known = code == SQLITE_OK;
    return code;
}

/* Whether the columns of a result are those of the table: an authorizer may have put NULL in their
 * place, or taken the whole statement away. */
static int check_result(struct bloom_database *database, enum bloom_statement which,
                        sqlite3_stmt *statement) {
    const char *types = STATEMENTS[which].types;
    int count = (int)strlen(types);
    bool same = sqlite3_column_count(statement) == count;
    for (int i = 0; i < count && same; i++) {
        const char *type = sqlite3_column_decltype(statement, i);
        if (types[i] != '-')
            same = type != NULL && sqlite3_stricmp(type, types[i] == 'i' ? "INTEGER" : "BLOB") == 0;
    }
    if (same)
        return SQLITE_OK;
    return bloom_database_fail(database, SQLITE_AUTH,
                               "the authorizer of this connection hides the shadow tables");
}

/* Whether this SQLite tells which statements an authorizer, or anything else, has made to be prepared
 * anew; and whether one is. */
static bool tells_expiry(void) {
#if defined(SQLITE_OMIT_DEPRECATED)
    return false;
#elif defined(SQLITE_CORE)
    return true;
#else
    return sqlite3_api->expired != NULL;
#endif
}

static bool is_due(const struct bloom_database *database, enum bloom_statement which) {
    sqlite3_stmt *statement = database->statements[which].statement;
#if !defined(SQLITE_OMIT_DEPRECATED)
    if (tells_expiry())
        return sqlite3_expired(statement) != 0; /* also of NULL */
#endif
    return statement == NULL;
}

static int prepare_statement(struct bloom_database *database, enum bloom_statement which) {
    sqlite3_stmt *statement = database->statements[which].statement;
    int code = SQLITE_OK;
    database->statements[which].statement = NULL;
    sqlite3_finalize(statement);
    if (!database->shape_known)
        code = learn_shape(database);
    if (code == SQLITE_OK && STATEMENTS[which].kind != READS && !database->writes_known)
        code = learn_writes(database);
    if (code != SQLITE_OK)
        return code;
    code =
        prepare_format(database, "", STATEMENTS[which].sql, SQLITE_PREPARE_PERSISTENT, &statement);
    if (code == SQLITE_OK)
        code = check_result(database, which, statement);
    if (code != SQLITE_OK) {
        sqlite3_finalize(statement);
        return code;
    }
    database->statements[which].statement = statement;
    database->statements[which].tried = STATEMENTS[which].kind == READS;
    database->statements[which].prepared_anew = 0;
    return SQLITE_OK;
}

int bloom_database_allow(struct bloom_database *database, enum bloom_statement which,
                         bool *allowed) {
    int code = is_due(database, which) ? prepare_statement(database, which) : SQLITE_OK;
    *allowed = code == SQLITE_OK && tells_expiry() && database->statements[which].tried;
    return code;
}

void bloom_database_note_tried(struct bloom_database *database, enum bloom_statement which) {
    database->statements[which].tried = true;
}

bool bloom_database_is_tried(const struct bloom_database *database, enum bloom_statement which) {
    return database->statements[which].tried;
}

int bloom_database_begin(struct bloom_database *database, enum bloom_statement which,
                         sqlite3_stmt **statement) {
    int code = is_due(database, which) ? prepare_statement(database, which) : SQLITE_OK;
    *statement = database->statements[which].statement;
    *database->running += code == SQLITE_OK;
    return code;
}

int bloom_database_end(struct bloom_database *database, enum bloom_statement which) {
    sqlite3_stmt *statement = database->statements[which].statement;
    int code = sqlite3_reset(statement);
    --*database->running;
    if (code != SQLITE_OK)
        return bloom_database_fail_sqlite(database, code);
    int times = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_REPREPARE, 0);
    if (times == database->statements[which].prepared_anew)
        return SQLITE_OK;
    database->statements[which].prepared_anew = times;
    database->statements[which].tried = STATEMENTS[which].kind == READS;
    database->changed = database->changed || which == BLOOM_READ_LAYERS;
    return check_result(database, which, statement);
}

int bloom_database_write(struct bloom_database *database, enum bloom_statement which) {
    int before = sqlite3_total_changes(database->connection);
    sqlite3_step(database->statements[which].statement);
    int code = bloom_database_end(database, which);
    if (code == SQLITE_OK && STATEMENTS[which].kind == CHANGES_A_ROW &&
        sqlite3_total_changes(database->connection) - before != 1)
        code = bloom_database_fail(database, SQLITE_AUTH,
                                   "a row of the shadow tables was not written: it is gone, or the "
                                   "authorizer of this connection keeps it from being written");
    return code;
}

bool bloom_database_changed(struct bloom_database *database) {
    bool changed = database->changed;
    database->changed = false;
    if (changed)
        bloom_database_forget(database);
    return changed;
}

int bloom_database_room_on_page(struct bloom_database *database, uint32_t *bytes) {
    sqlite3_stmt *statement;
    *bytes = 0;
    int code = prepare_format(database, "", "PRAGMA \"%w\".page_size", 0, &statement);
    if (code != SQLITE_OK)
        return code;
    int page = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
    code = sqlite3_finalize(statement);
    if (code != SQLITE_OK)
        return bloom_database_fail_sqlite(database, code);
    if (page < PAGE_MINIMUM || page > PAGE_MAXIMUM)
        return bloom_database_fail(database, SQLITE_AUTH,
                                   "the page size of the database cannot be learned: PRAGMA "
                                   "page_size must be allowed on this connection");
    int reserved = -1; /* bytes at the end of each page that extensions use; asked, not set */
    sqlite3_file_control(database->connection, database->schema, SQLITE_FCNTL_RESERVE_BYTES,
                         &reserved);
    if (reserved < 0 || reserved > 255)
        reserved = 0;
    *bytes = (uint32_t)(page - reserved - PAGE_OVERHEAD);
    return SQLITE_OK;
}
