/* See database.h. */
#include "table/database.h"

#include <stdarg.h>
#include <string.h>

/* Of a table leaf page, what is not the BLOB of its one row: 35 bytes that SQLite keeps off a
 * payload that shall not overflow, and up to 5 bytes of record header. */
enum { PAGE_OVERHEAD = 40, PAGE_MINIMUM = 512 };

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

enum kind { READS, WRITES };

/* columns: of a result, one letter each: c a column of the table, - what is worked out. */
static const struct {
    enum kind kind;
    const char *columns;
    const char *sql; /* of schema and name, up to six times */
} STATEMENTS[BLOOM_STATEMENTS] = {
    [BLOOM_READ_LAYERS] = {READS, "cccccc",
                           "SELECT layer, header, chunk_blocks, keys, chunks, ones FROM "
                           "\"%w\".\"%w_layers\" ORDER BY layer"},
    /* VALUES, and not SELECT, for which SQLite would begin a savepoint of its own: these are run
     * where one is about to begin, and that would be taken for it. */
    [BLOOM_ADD_COUNTS] = {WRITES, "",
                          "REPLACE INTO \"%w\".\"%w_layers\"(layer, header, chunk_blocks, keys, "
                          "chunks, ones) VALUES "
                          "(?1, (SELECT header FROM \"%w\".\"%w_layers\" WHERE layer = ?1), "
                          "(SELECT chunk_blocks FROM \"%w\".\"%w_layers\" WHERE layer = ?1), "
                          "(SELECT keys FROM \"%w\".\"%w_layers\" WHERE layer = ?1) + ?2, "
                          "(SELECT chunks FROM \"%w\".\"%w_layers\" WHERE layer = ?1) + ?3, "
                          "(SELECT ones FROM \"%w\".\"%w_layers\" WHERE layer = ?1) + ?4)"},
    [BLOOM_WRITE_COUNTS] =
        {WRITES, "",
         "REPLACE INTO \"%w\".\"%w_layers\"(layer, header, chunk_blocks, keys, chunks, ones) "
         "VALUES "
         "(?1, (SELECT header FROM \"%w\".\"%w_layers\" WHERE layer = ?1), "
         "(SELECT chunk_blocks FROM \"%w\".\"%w_layers\" WHERE layer = ?1), ?2, ?3, ?4)"},
    [BLOOM_NEW_LAYER] = {WRITES, "",
                         "INSERT INTO \"%w\".\"%w_layers\"(layer, header, chunk_blocks, keys, "
                         "chunks, ones) VALUES (?1, ?2, ?3, 0, 0, 0)"},
    [BLOOM_CLEAR_LAYERS] = {WRITES, "", "DELETE FROM \"%w\".\"%w_layers\" WHERE layer > 0"},
    [BLOOM_READ_CHUNK] = {READS, "c", "SELECT bits FROM \"%w\".\"%w_chunks\" WHERE id = ?1"},
    [BLOOM_WRITE_CHUNK] = {WRITES, "",
                           "REPLACE INTO \"%w\".\"%w_chunks\"(id, bits) VALUES (?1, ?2)"},
    [BLOOM_EACH_CHUNK] = {READS, "cc",
                          "SELECT id, bits FROM \"%w\".\"%w_chunks\" WHERE id >= ?1 AND id < ?2 "
                          "ORDER BY id"},
    [BLOOM_LAST_CHUNK] = {READS, "c",
                          "SELECT id FROM \"%w\".\"%w_chunks\" WHERE id < ?1 ORDER BY id "
                          "DESC LIMIT 1"},
    [BLOOM_COUNT_CHUNKS] = {READS, "-", "SELECT count(*) FROM \"%w\".\"%w_chunks\""},
    [BLOOM_CLEAR_CHUNKS] = {WRITES, "", "DELETE FROM \"%w\".\"%w_chunks\""},
};

/* Messages */

static bool is_plain(char letter) {
    return letter >= ' ' && letter <= '~';
}

/* The length of the longest beginning of text, which is not empty, that goes into one quotation:
 * printable ASCII, or anything else. */
static size_t piece_of(const char *text) {
    enum { PIECE_MOST = 40 };
    bool plain = is_plain(*text);
    size_t length = 1;
    while (text[length] != '\0' && is_plain(text[length]) == plain)
        length++;
    if (plain || length <= PIECE_MOST)
        return length;
    length = PIECE_MOST;
    while (length > PIECE_MOST - 4 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--; /* to the beginning of a character */
    return length;
}

/* A message as valid UTF-8 without control characters, whatever names and SQLite's own messages
 * hold, from sqlite3_malloc; NULL: no memory. */
static char *make_legible(sqlite3 *connection, const char *text) {
    char quoted[BLOOM_QUOTE_SIZE];
    sqlite3_str *legible = sqlite3_str_new(NULL); /* of any length, whatever the connection's */
    while (*text != '\0') {
        size_t length = piece_of(text);
        if (is_plain(*text)) {
            sqlite3_str_append(legible, text, (int)length);
        } else {
            bloom_sql_quote(quoted, text, length);
            sqlite3_str_append(legible, quoted + 1, (int)strlen(quoted) - 2);
        }
        text += length;
    }
    char *message = sqlite3_str_finish(legible);
    if (message != NULL)
        bloom_sql_cut(connection, message);
    return message;
}

int bloom_database_fail(struct bloom_database *database, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = sqlite3_vmprintf(format, list);
    va_end(list);
    char *whole = text != NULL ? sqlite3_mprintf("%s: %s", database->name, text) : NULL;
    sqlite3_free(text);
    sqlite3_free(database->message);
    database->message = whole != NULL ? make_legible(database->connection, whole) : NULL;
    sqlite3_free(whole);
    return database->message != NULL ? code : SQLITE_NOMEM;
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
    database->is_main = sqlite3_stricmp(schema, "main") == 0;
    database->schema = sqlite3_mprintf("%s", schema);
    return database->schema != NULL && set_name(database, name);
}

void bloom_database_forget(struct bloom_database *database) {
    for (int i = 0; i < BLOOM_STATEMENTS; i++)
        bloom_database_drop(database, (enum bloom_statement)i);
    database->shape_known = false;
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

static int prepare_text(struct bloom_database *database, const char *sql,
                        sqlite3_stmt **statement) {
    *statement = NULL;
    if (sql == NULL)
        return SQLITE_NOMEM;
    int code =
        sqlite3_prepare_v3(database->connection, sql, -1, SQLITE_PREPARE_NO_VTAB, statement, NULL);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* SQL of schema and name, up to six times, from sqlite3_malloc. */
static char *text_of(const struct bloom_database *database, const char *format) {
    const char *schema = database->schema, *name = database->name;
    return sqlite3_mprintf(format, schema, name, schema, name, schema, name, schema, name, schema,
                           name, schema, name);
}

/* Runs SQL of schema, name and one text more. */
static int execute_format(struct bloom_database *database, const char *format, const char *more) {
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf(format, database->schema, database->name, more);
    int code = prepare_text(database, sql, &statement);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code;
    ++*database->running;
    sqlite3_step(statement);
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

static int find_table(struct bloom_database *database, int shadow) {
    return sqlite3_table_column_metadata(database->connection, database->schema,
                                         database->shadow_names[shadow], NULL, NULL, NULL, NULL,
                                         NULL, NULL);
}

/* When a statement that drops this table is taken back, SQLite does not know the shadow tables that
 * are there again, until it is asked to prepare a statement that uses them. */
static int check_presence(struct bloom_database *database, int shadow) {
    int code = find_table(database, shadow);
    if (code == SQLITE_ERROR) {
        sqlite3_stmt *statement;
        char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".\"%w\"", database->schema,
                                    database->shadow_names[shadow]);
        code = prepare_text(database, sql, &statement);
        sqlite3_free(sql);
        if (code != SQLITE_OK)
            return code;
        sqlite3_finalize(statement);
        code = find_table(database, shadow);
    }
    if (code == SQLITE_ERROR) /* a view is none, either */
        return bloom_database_fail(database, code, "no such table: %s.%s", database->schema,
                                   database->shadow_names[shadow]);
    return code == SQLITE_OK ? code : bloom_database_fail_sqlite(database, code);
}

/* The number of columns of an ordinary table with a rowid, which is counted; it is no column of
 * other tables, unless one has that name. Comes before check_column: of a virtual table that is not
 * in use yet SQLite has no columns, and newer releases read them nevertheless. */
static int count_columns(struct bloom_database *database, int shadow, int *count) {
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf("SELECT *, rowid FROM \"%w\".\"%w\"", database->schema,
                                database->shadow_names[shadow]);
    int code = prepare_text(database, sql, &statement);
    sqlite3_free(sql);
    if ((code & 0xff) == SQLITE_ERROR)
        return not_ours(database, shadow, "it is not an ordinary table");
    if (code != SQLITE_OK)
        return code;
    *count = sqlite3_column_count(statement);
    sqlite3_finalize(statement);
    return SQLITE_OK;
}

/* Whether the table has that column of that type; only the first one is the key. */
static int check_column(struct bloom_database *database, int shadow, int position) {
    const struct column *column = &SHADOW_TABLES[shadow].columns[position];
    const char *type = NULL;
    int is_key = 0, is_not_null = 0;
    int code = sqlite3_table_column_metadata(database->connection, database->schema,
                                             database->shadow_names[shadow], column->name, &type,
                                             NULL, &is_not_null, &is_key, NULL);
    if (code == SQLITE_ERROR)
        return bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                                   "%s is damaged: it has no column %s",
                                   database->shadow_names[shadow], column->name);
    if (code != SQLITE_OK)
        return bloom_database_fail_sqlite(database, code);
    if (type != NULL && sqlite3_stricmp(type, column->type) == 0 &&
        (is_key != 0) == (position == 0) && (is_not_null != 0 || position == 0))
        return SQLITE_OK;
    return bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                               "%s is damaged: its column %s is not %s%s",
                               database->shadow_names[shadow], column->name, column->type,
                               position == 0 ? " PRIMARY KEY" : " NOT NULL");
}

/* What the program of a statement would call or look for. */
struct program {
    bool seeks_rowid;
    bool makes_null; /* as in the place of a column that an authorizer hides */
    /* A trigger, an action of a foreign key, a function; or fills an index, for which SQLite begins
     * savepoints (see BLOOM_ADD_COUNTS). */
    bool calls;
};

static int explain(struct bloom_database *database, const char *format, struct program *program) {
    static const char *const CALLS[] = {"Program",  "Function", "Function0",
                                        "PureFunc", "VOpen",    "IdxInsert"};
    sqlite3_stmt *statement;
    *program = (struct program){false, false, false};
    char *sql = text_of(database, format);
    char *explanation = sql != NULL ? sqlite3_mprintf("EXPLAIN %s", sql) : NULL;
    int code = prepare_text(database, explanation, &statement);
    sqlite3_free(explanation);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        /* NULL: no memory, which sqlite3_finalize tells. */
        const char *operation = (const char *)sqlite3_column_text(statement, 1);
        program->seeks_rowid |= sqlite3_stricmp(operation, "SeekRowid") == 0;
        program->makes_null |= sqlite3_stricmp(operation, "Null") == 0;
        for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
            program->calls |= sqlite3_stricmp(operation, CALLS[i]) == 0;
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
        int count = 0;
        code = check_presence(database, shadow);
        if (code == SQLITE_OK)
            code = count_columns(database, shadow, &count);
        for (int i = 0; i < SHADOW_TABLES[shadow].count && code == SQLITE_OK; i++)
            code = check_column(database, shadow, i);
        if (code == SQLITE_OK && count != SHADOW_TABLES[shadow].count + 1)
            code = not_ours(database, shadow, "it has other columns");
        if (code == SQLITE_OK)
            code = check_key(database, shadow);
    }
    database->shape_known = code == SQLITE_OK;
    return code;
}

/* Whether the statements that write run only themselves. */
static int check_writes(struct bloom_database *database) {
    int code = SQLITE_OK;
    for (int i = 0; i < BLOOM_STATEMENTS && code == SQLITE_OK; i++) {
        struct program program;
        if (STATEMENTS[i].kind == READS)
            continue;
        code = explain(database, STATEMENTS[i].sql, &program);
        if (code == SQLITE_OK && program.calls)
            code = bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                                       "the shadow tables are damaged: a trigger, an index, a "
                                       "foreign key or a check hangs on "
                                       "them");
    }
    return code;
}

/* Whether this SQLite tells the types of columns: not with SQLITE_OMIT_DECLTYPE. */
static bool tells_types(void) {
#if defined(SQLITE_OMIT_DECLTYPE)
    return false;
#elif defined(SQLITE_CORE)
    return true;
#else
    return sqlite3_api->column_decltype != NULL;
#endif
}

/* Whether a result has a column of a table in every place where it should: what was put there
 * instead has no type, and is made by the program. */
static int check_columns(struct bloom_database *database, enum bloom_statement which,
                         sqlite3_stmt *statement, bool *whole) {
    const char *columns = STATEMENTS[which].columns;
    int count = (int)strlen(columns);
    *whole = sqlite3_column_count(statement) == count;
    if (!tells_types()) {
        struct program program;
        int code = explain(database, STATEMENTS[which].sql, &program);
        *whole = *whole && (!program.makes_null || strchr(columns, 'c') == NULL);
        return code;
    }
#if !defined(SQLITE_OMIT_DECLTYPE)
    for (int i = 0; i < count && *whole; i++)
        *whole = columns[i] != 'c' || sqlite3_column_decltype(statement, i) != NULL;
#endif
    return SQLITE_OK;
}

/* Whether a statement does what it says: an authorizer may have put NULL in the place of columns,
 * or taken the whole statement away. */
static int check_statement(struct bloom_database *database, enum bloom_statement which,
                           sqlite3_stmt *statement) {
    bool whole = true;
    int code = SQLITE_OK;
    if (STATEMENTS[which].kind == READS)
        code = check_columns(database, which, statement, &whole);
    else
        whole = !sqlite3_stmt_readonly(statement);
    if (code != SQLITE_OK || whole)
        return code;
    return bloom_database_fail(database, SQLITE_AUTH,
                               "the authorizer of this connection hides the shadow tables");
}

/* Whether this SQLite tells which statements an authorizer, or anything else, has outdated. */
static bool tells_expiry(void) {
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
    if (tells_expiry())
        return sqlite3_expired(statement) != 0; /* also of NULL */
#endif
    return statement == NULL;
}

void bloom_database_drop(struct bloom_database *database, enum bloom_statement which) {
    sqlite3_stmt *statement = database->statements[which];
    database->statements[which] = NULL;
    if (which == BLOOM_READ_CHUNK)
        database->finds_chunks = false;
    sqlite3_finalize(statement);
}

/* In the legacy way: see rule 1. */
static int prepare_statement(struct bloom_database *database, enum bloom_statement which) {
    sqlite3_stmt *statement = database->statements[which];
    int code = SQLITE_OK;
    bloom_database_drop(database, which);
    /* An authorizer is new: what it lets us see is looked at, too. Or the schema is: that is found
     * out by what is stepped, but what is prepared would take it up as it is, so what reads the
     * layers, which comes before all else, and what writes look at it anew. */
    if (statement != NULL || which == BLOOM_READ_LAYERS || STATEMENTS[which].kind == WRITES)
        database->shape_known = false;
    if (!database->shape_known)
        code = learn_shape(database);
    if (code == SQLITE_OK && STATEMENTS[which].kind == WRITES)
        code = check_writes(database);
    if (code != SQLITE_OK)
        return code;
    char *sql = text_of(database, STATEMENTS[which].sql);
    if (sql == NULL)
        return SQLITE_NOMEM;
    code = sqlite3_prepare(database->connection, sql, -1, &statement, NULL);
    sqlite3_free(sql);
    code = code == SQLITE_OK ? check_statement(database, which, statement)
                             : bloom_database_fail_sqlite(database, code);
    if (code == SQLITE_OK)
        database->statements[which] = statement;
    else
        sqlite3_finalize(statement);
    return code;
}

int bloom_database_allow(struct bloom_database *database, enum bloom_statement which,
                         bool *allowed) {
    *allowed = tells_expiry();
    return is_due(database, which) ? prepare_statement(database, which) : SQLITE_OK;
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

int bloom_database_end(struct bloom_database *database, enum bloom_statement which) {
    int code = sqlite3_reset(database->statements[which]);
    sqlite3_limit(database->connection, SQLITE_LIMIT_LENGTH, database->length_limit);
    --*database->running;
    if (code == SQLITE_OK)
        return code;
    if (code == SQLITE_TOOBIG)
        code = bloom_database_fail(database, SQLITE_CORRUPT_VTAB,
                                   "the shadow tables are damaged: a value is longer than any of "
                                   "theirs can be");
    else if ((code & 0xff) ==
             SQLITE_CONSTRAINT) /* which to who inserts would mean an ignored key */
        code = bloom_database_fail(
            database, SQLITE_CORRUPT_VTAB,
            "the shadow tables are damaged, or hidden by the authorizer of this "
            "connection: %s",
            sqlite3_errmsg(database->connection));
    else
        code = bloom_database_fail_sqlite(database, code);
    bloom_database_drop(database, which);
    return code;
}

int bloom_database_write(struct bloom_database *database, enum bloom_statement which, int rows) {
    /* Without a sign, since the number of all changes wraps around. */
    unsigned before = (unsigned)sqlite3_total_changes(database->connection);
    sqlite3_step(database->statements[which]);
    int code = bloom_database_end(database, which);
    if (code != SQLITE_OK || rows < 0 ||
        (unsigned)sqlite3_total_changes(database->connection) - before == (unsigned)rows)
        return code;
    bloom_database_drop(database, which);
    return bloom_database_fail(
        database, SQLITE_CORRUPT_VTAB,
        "the shadow tables are damaged: there are not the rows to be changed");
}

int bloom_database_room_on_page(struct bloom_database *database, uint32_t *bytes) {
    sqlite3_stmt *statement;
    *bytes = 0;
    char *sql = text_of(database, "PRAGMA \"%w\".page_size");
    int code = prepare_text(database, sql, &statement);
    sqlite3_free(sql);
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
