/* The virtual table module `bloom`: a filter updated in place.
 *
 *   CREATE VIRTUAL TABLE seen USING bloom(capacity=1000000, fpr=0.01, growth=on);
 *
 * Columns: key, and hidden ones: one named after the table, which takes commands and in a query is the key (it is
 * the first one that is hidden, for which the argument of seen(?) stands, as in FTS5), info and filter. So
 * INSERT INTO seen VALUES (?) adds a key, and ? IN seen fails as a listing of keys, where it would compare with info
 * if that were the column to be seen. What a statement may do:
 *
 *   1. A query with key = ? gives one row when the key is probably in, none when it is not. NULL is never in.
 *   2. A query of info or filter without a key gives one row. Anything else without a key is an error: keys
 *      cannot be listed.
 *   3. INSERT of a key adds it; with OR IGNORE, one that is probably in already is ignored, so that changes()
 *      tells.
 *   4. INSERT of a command and its argument runs it: 'merge' with a filter as the key, 'clear'.
 *   5. UPDATE and DELETE are errors.
 *
 * Bits and transactions are the business of table_store.c.
 */
#include "table/module.h"

#include "table/store.h"

#include <string.h>

enum column { COLUMN_KEY, COLUMN_COMMAND, COLUMN_INFO, COLUMN_FILTER };

/* idxNum of a plan. */
enum plan { PLAN_KEY = 1, PLAN_DESCRIBE = 2, PLAN_LIST = 3 };

struct table {
    sqlite3_vtab base; /* first: SQLite sees only this */
    sqlite3 *database;
    struct bloom_table_store *store;
    struct cursor
        *spare; /* the last cursor closed: most statements open just one, a thousand times over */
};

struct cursor {
    sqlite3_vtab_cursor base; /* first */
    bool at_row;
    sqlite3_value *key;
    sqlite3_int64
        rowid; /* the key's hash: SQLite tells rows of different keys apart by it, as for key = 1 OR
                            key = 2 */
};

/* How keys are hashed, as the layout of all filter tables does it. */
static const struct bloom_shape KEY_SHAPE = {.layout = &bloom_layout_blocked};

static struct table *table_of(sqlite3_vtab *base) {
    return (struct table *)base;
}

/* Hands the store's message for a failed call on to SQLite. */
static int report(struct table *table, int code) {
    char *message = bloom_store_message(table->store);
    if (message != NULL) {
        sqlite3_free(table->base.zErrMsg);
        table->base.zErrMsg = message;
    }
    return code;
}

/* Fails with "TABLE: " and the formatted message (as sqlite3_mprintf). */
static int table_error(struct table *table, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *text = sqlite3_vmprintf(format, list);
    va_end(list);
    sqlite3_free(table->base.zErrMsg);
    table->base.zErrMsg =
        text ? sqlite3_mprintf("%s: %s", bloom_store_name(table->store), text) : NULL;
    sqlite3_free(text);
    return table->base.zErrMsg ? SQLITE_ERROR : SQLITE_NOMEM;
}

/* Options */

static bool is_space(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

static size_t trim(const char **text, size_t length) {
    while (length > 0 && is_space(**text)) {
        (*text)++;
        length--;
    }
    while (length > 0 && is_space((*text)[length - 1]))
        length--;
    return length;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return length == strlen(word) && sqlite3_strnicmp(text, word, (int)length) == 0;
}

/* Reads a number as SQL writes it, 1000000 or 1e6 or 0.01, by letting SQLite do it: strtod() depends on the
 * locale. Only numbers and arithmetic, since the value must be the same whenever the table is opened. Returns
 * SQLITE_ERROR for anything else. */
static int read_number(sqlite3 *database, const char *text, size_t length, double *number) {
    sqlite3_stmt *statement;
    if (length == 0 || strspn(text, "0123456789abcdefABCDEFxX.+-*/() \t\n") < length)
        return SQLITE_ERROR;
    char *sql = sqlite3_mprintf("SELECT (%.*s)", (int)length, text);
    if (sql == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    sqlite3_free(sql);
    if (code != SQLITE_OK)
        return code == SQLITE_NOMEM || code == SQLITE_INTERRUPT ? code : SQLITE_ERROR;
    sqlite3_step(statement);
    int type = sqlite3_column_type(statement, 0);
    *number = sqlite3_column_double(statement, 0);
    code = sqlite3_finalize(statement);
    if (code != SQLITE_OK)
        return code;
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? SQLITE_OK : SQLITE_ERROR;
}

/* Reads one option, NAME = VALUE. */
static int read_option(sqlite3 *database, const char *argument, struct bloom_table_options *options,
                       unsigned *seen, char **error) {
    static const char *const NAMES[] = {"capacity", "fpr", "growth"};
    const char *equals = strchr(argument, '=');
    const char *name = argument, *value = equals ? equals + 1 : "";
    size_t name_length = trim(&name, equals ? (size_t)(equals - argument) : strlen(argument));
    size_t value_length = trim(&value, strlen(value));
    unsigned option = 0;
    while (option < 3 && !is_word(name, name_length, NAMES[option]))
        option++;
    if (option == 3 || equals == NULL) {
        *error = sqlite3_mprintf(
            "bloom: unknown option '%.*s'; the options are capacity=N, fpr=P and growth=on or off",
            (int)name_length, name);
        return SQLITE_ERROR;
    }
    if (*seen & 1u << option) {
        *error = sqlite3_mprintf("bloom: option %s is given twice", NAMES[option]);
        return SQLITE_ERROR;
    }
    *seen |= 1u << option;
    if (option == 2) {
        options->growth = is_word(value, value_length, "on");
        if (options->growth || is_word(value, value_length, "off"))
            return SQLITE_OK;
        *error = sqlite3_mprintf("bloom: growth must be on or off, not '%.*s'", (int)value_length,
                                 value);
        return SQLITE_ERROR;
    }
    double number = 0;
    int code = read_number(database, value, value_length, &number);
    bool valid = false;
    if (code != SQLITE_OK && code != SQLITE_ERROR)
        return code;
    if (option == 0) {
        valid = code == SQLITE_OK && number >= 1 && number <= (double)BLOOM_CAPACITY_MAXIMUM &&
                (double)(uint64_t)number == number;
        options->capacity = valid ? (uint64_t)number : 0;
    } else {
        valid = code == SQLITE_OK && number > 0 && number < 1;
        options->rate = number;
    }
    if (valid)
        return SQLITE_OK;
    if (option == 0)
        *error =
            sqlite3_mprintf("bloom: capacity must be a whole number from 1 to %llu, not '%.*s'",
                            (sqlite3_uint64)BLOOM_CAPACITY_MAXIMUM, (int)value_length, value);
    else
        *error = sqlite3_mprintf("bloom: fpr must be between 0 and 1, not '%.*s'",
                                 (int)value_length, value);
    return SQLITE_ERROR;
}

static int read_options(sqlite3 *database, int count, const char *const *arguments,
                        struct bloom_table_options *options, char **error) {
    enum { FIRST = 3 }; /* after module, schema and table */
    unsigned seen = 0;
    int code = SQLITE_OK;
    *options = (struct bloom_table_options){.capacity = 1000000, .rate = 0.01, .growth = true};
    for (int i = FIRST; i < count && code == SQLITE_OK; i++)
        code = read_option(database, arguments[i], options, &seen, error);
    if (code != SQLITE_OK)
        return code;
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_shape_for(&shape, &bloom_layout_blocked, options->capacity, options->rate,
                         problem)) {
        *error = sqlite3_mprintf("bloom: %s", problem);
        return SQLITE_ERROR;
    }
    /* Further layers have a twentieth of the rate and less, and the layout keeps 1e-9. */
    if (options->growth && options->rate < 1e-6) {
        *error = sqlite3_mprintf(
            "bloom: a table that grows needs an fpr of 1e-6 or more, not %!.15g; use "
            "growth=off with the capacity it needs",
            options->rate);
        return SQLITE_ERROR;
    }
    return SQLITE_OK;
}

/* Life of a table */

static int open_table(sqlite3 *database, void *registry, int count, const char *const *arguments,
                      bool create, sqlite3_vtab **result, char **error) {
    struct bloom_table_options options;
    int code = read_options(database, count, arguments, &options, error);
    if (code != SQLITE_OK)
        return code;
    char *declaration = sqlite3_mprintf(
        "CREATE TABLE x(key, \"%w\" HIDDEN, info HIDDEN, filter HIDDEN)", arguments[2]);
    struct table *table = sqlite3_malloc(sizeof *table);
    if (declaration == NULL || table == NULL) {
        sqlite3_free(declaration);
        sqlite3_free(table);
        return SQLITE_NOMEM;
    }
    memset(table, 0, sizeof *table);
    table->database = database;
    code = sqlite3_declare_vtab(database, declaration);
    sqlite3_free(declaration);
    if (code != SQLITE_OK)
        *error = sqlite3_mprintf("bloom: a filter table cannot be called %s: %s", arguments[2],
                                 sqlite3_errmsg(database));
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(database, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1); /* for OR IGNORE */
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    if (code == SQLITE_OK) {
        table->store =
            bloom_store_open(registry, database, arguments[1], arguments[2], &options, create);
        code = table->store ? SQLITE_OK : SQLITE_NOMEM;
    }
    if (code == SQLITE_OK && create) {
        code = bloom_store_create(table->store);
        if (code != SQLITE_OK)
            *error = bloom_store_message(table->store);
    }
    if (code == SQLITE_OK) {
        *result = &table->base;
    } else {
        bloom_store_close(table->store);
        sqlite3_free(table);
    }
    return code;
}

static int table_create(sqlite3 *database, void *data, int count, const char *const *arguments,
                        sqlite3_vtab **result, char **error) {
    return open_table(database, data, count, arguments, true, result, error);
}

static int table_connect(sqlite3 *database, void *data, int count, const char *const *arguments,
                         sqlite3_vtab **result, char **error) {
    return open_table(database, data, count, arguments, false, result, error);
}

static int table_disconnect(sqlite3_vtab *base) {
    struct table *table = table_of(base);
    bloom_store_close(table->store);
    sqlite3_free(table->spare);
    sqlite3_free(base->zErrMsg); /* SQLite takes no message from a failed xDestroy or xSavepoint */
    sqlite3_free(table);
    return SQLITE_OK;
}

static int table_destroy(sqlite3_vtab *base) {
    struct table *table = table_of(base);
    int code = bloom_store_drop(table->store);
    return code == SQLITE_OK ? table_disconnect(base) : report(table, code);
}

/* A column has the table's name, so that under the name of another one the table could not be opened any more. */
static int table_rename(sqlite3_vtab *base, const char *name) {
    static const char *const TAKEN[] = {"key", "info", "filter"};
    for (size_t i = 0; i < sizeof TAKEN / sizeof *TAKEN; i++)
        if (sqlite3_stricmp(name, TAKEN[i]) == 0)
            return table_error(table_of(base),
                               "a filter table cannot be called %s: it has a column of that name",
                               name);
    return report(table_of(base), bloom_store_rename(table_of(base)->store, name));
}

/* Queries */

/* A plan that cannot be is refused only where a better one exists; the others fail when they are run, with
 * words. */
static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
    bool waits_for_key = false;
    (void)base;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if ((constraint->iColumn != COLUMN_KEY && constraint->iColumn != COLUMN_COMMAND) ||
            constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        if (!constraint->usable) {
            waits_for_key = true;
            continue;
        }
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->idxNum = PLAN_KEY;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->estimatedCost = 5;
        info->estimatedRows = 1;
        return SQLITE_OK;
    }
    if (waits_for_key)
        return SQLITE_CONSTRAINT;
    uint64_t used = info->colUsed;
    bool describes = (used & (1u << COLUMN_INFO | 1u << COLUMN_FILTER)) != 0;
    bool lists = (used & (1u << COLUMN_KEY | 1u << COLUMN_COMMAND)) != 0;
    info->idxNum = describes && !lists ? PLAN_DESCRIBE : PLAN_LIST;
    info->estimatedCost = 1e12;
    info->estimatedRows = 1;
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result) {
    struct table *table = table_of(base);
    struct cursor *cursor = table->spare ? table->spare : sqlite3_malloc(sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    table->spare = NULL;
    memset(cursor, 0, sizeof *cursor);
    bloom_store_enter(table->store);
    *result = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base) {
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = table_of(base->pVtab);
    if (cursor->key != NULL)
        sqlite3_value_free(cursor->key);
    bloom_store_leave(table->store);
    sqlite3_free(table->spare);
    table->spare = cursor;
    return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count,
                         sqlite3_value **arguments) {
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = table_of(base->pVtab);
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    (void)text;
    (void)count;
    if (cursor->key != NULL)
        sqlite3_value_free(cursor->key);
    cursor->key = NULL;
    cursor->at_row = false;
    cursor->rowid = 0;
    if (plan == PLAN_LIST)
        return table_error(
            table, "a filter table can neither list nor count nor delete its keys: ask with "
                   "WHERE key = ..., or select info or "
                   "filter alone");
    if (plan == PLAN_DESCRIBE) {
        cursor->at_row = true;
        return SQLITE_OK;
    }
    switch (bloom_sql_key(arguments[0], &KEY_SHAPE, words)) {
    case BLOOM_KEY_NO_MEMORY:
        return SQLITE_NOMEM;
    case BLOOM_KEY_NULL:
    case BLOOM_KEY_FOREIGN:
        return SQLITE_OK;
    case BLOOM_KEY:
        break;
    }
    int code = bloom_store_check(table->store, words, &cursor->at_row);
    if (code != SQLITE_OK)
        return report(table, code);
    if (cursor->at_row) {
        cursor->rowid = (sqlite3_int64)words[0];
        cursor->key = sqlite3_value_dup(arguments[0]);
        if (cursor->key == NULL)
            return SQLITE_NOMEM;
    }
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base) {
    ((struct cursor *)base)->at_row = false;
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base) {
    return !((struct cursor *)base)->at_row;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = table_of(base->pVtab);
    struct bloom_shape shape;
    uint8_t *bytes;
    char *json;
    int code;
    switch (column) {
    case COLUMN_INFO:
        code = bloom_store_info(table->store, &json);
        if (code != SQLITE_OK)
            return report(table, code);
        sqlite3_result_text(context, json, -1, sqlite3_free);
        return SQLITE_OK;
    case COLUMN_FILTER:
        code = bloom_store_filter(
            table->store, sqlite3_limit(table->database, SQLITE_LIMIT_LENGTH, -1), &shape, &bytes);
        if (code != SQLITE_OK)
            return report(table, code);
        bloom_sql_result_filter(context, &shape, bytes);
        return SQLITE_OK;
    default: /* the key, also under the name of the table */
        if (cursor->key != NULL)
            sqlite3_result_value(context, cursor->key);
        return SQLITE_OK;
    }
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    *rowid = ((struct cursor *)base)->rowid;
    return SQLITE_OK;
}

/* Changes */

static int run_command(struct table *table, sqlite3_value *command, sqlite3_value *argument) {
    const char *name = (const char *)sqlite3_value_text(command);
    struct bloom_stored filter;
    char problem[BLOOM_PROBLEM_SIZE];
    if (name == NULL)
        return SQLITE_NOMEM;
    if (sqlite3_stricmp(name, "clear") == 0) {
        if (sqlite3_value_type(argument) != SQLITE_NULL)
            return table_error(table, "the command clear takes no key");
        return report(table, bloom_store_clear(table->store));
    }
    if (sqlite3_stricmp(name, "merge") != 0)
        return table_error(
            table,
            "unknown command '%!.60s'; the commands are merge (with a filter as key) and clear",
            name);
    switch (bloom_sql_stored(table->database, argument, &filter, problem)) {
    case BLOOM_STORED:
        return report(table, bloom_store_merge(table->store, &filter));
    case BLOOM_STORED_NO_MEMORY:
        return SQLITE_NOMEM;
    default:
        return table_error(table, "the command merge needs a filter as key: the filter %s",
                           problem);
    }
}

static int table_update(sqlite3_vtab *base, int count, sqlite3_value **arguments,
                        sqlite3_int64 *rowid) {
    struct table *table = table_of(base);
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    bool found;
    if (count == 1)
        return table_error(table,
                           "keys cannot be deleted from a filter table, since keys share bits; the "
                           "command clear empties it");
    if (sqlite3_value_type(arguments[0]) != SQLITE_NULL)
        return table_error(table, "keys cannot be changed in a filter table; insert the new key");

    /* Writing the shadow tables must not be seen in last_insert_rowid(). */
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(table->database);
    sqlite3_value **columns = arguments + 2;
    int code;
    *rowid = last_rowid;
    if (sqlite3_value_type(arguments[1]) != SQLITE_NULL)
        return table_error(
            table, "keys of a filter table have no rowid that could be chosen; insert into key");
    if (sqlite3_value_type(columns[COLUMN_INFO]) != SQLITE_NULL ||
        sqlite3_value_type(columns[COLUMN_FILTER]) != SQLITE_NULL)
        return table_error(
            table, "info and filter cannot be written; insert into key, or use the command merge");
    if (sqlite3_value_type(columns[COLUMN_COMMAND]) != SQLITE_NULL) {
        code = run_command(table, columns[COLUMN_COMMAND], columns[COLUMN_KEY]);
    } else {
        bool ignore = sqlite3_vtab_on_conflict(table->database) == SQLITE_IGNORE;
        switch (bloom_sql_key(columns[COLUMN_KEY], &KEY_SHAPE, words)) {
        case BLOOM_KEY_NO_MEMORY:
            return SQLITE_NOMEM;
        case BLOOM_KEY_NULL:
        case BLOOM_KEY_FOREIGN:
            return ignore ? SQLITE_CONSTRAINT : SQLITE_OK;
        case BLOOM_KEY:
            break;
        }
        code = report(table, bloom_store_add(table->store, words, &found));
        if (code == SQLITE_OK && found && ignore)
            return SQLITE_CONSTRAINT;
    }
    sqlite3_set_last_insert_rowid(table->database, last_rowid);
    return code;
}

/* Transactions */

static int table_begin(sqlite3_vtab *base) {
    return report(table_of(base), bloom_store_begin(table_of(base)->store));
}

/* Writes the counts, which must not be seen in last_insert_rowid(). */
static int write_counts(struct table *table, int (*write)(struct bloom_table_store *store)) {
    sqlite3_int64 last_rowid = sqlite3_last_insert_rowid(table->database);
    int code = write(table->store);
    sqlite3_set_last_insert_rowid(table->database, last_rowid);
    return report(table, code);
}

static int table_sync(sqlite3_vtab *base) {
    return write_counts(table_of(base), bloom_store_sync);
}

static int table_end(sqlite3_vtab *base) {
    bloom_store_end(table_of(base)->store);
    return SQLITE_OK;
}

static int table_savepoint(sqlite3_vtab *base, int depth) {
    (void)depth;
    return table_sync(base);
}

static int table_release(sqlite3_vtab *base, int depth) {
    (void)depth;
    return write_counts(table_of(base), bloom_store_release);
}

static int table_rollback_to(sqlite3_vtab *base, int depth) {
    (void)depth;
    bloom_store_rollback(table_of(base)->store);
    return SQLITE_OK;
}

static int table_shadow_name(const char *name) {
    return sqlite3_stricmp(name, "layers") == 0 || sqlite3_stricmp(name, "chunks") == 0;
}

static int table_integrity(sqlite3_vtab *base, const char *schema, const char *name, int flags,
                           char **problem) {
    (void)schema;
    (void)name;
    (void)flags;
    return bloom_store_verify(table_of(base)->store, problem);
}

/* The module. xIntegrity came with SQLite 3.44 (version 4 of the structure); earlier ones do not look beyond
 * the members they know, so that one binary serves all. */
struct module {
    sqlite3_module base;
#if SQLITE_VERSION_NUMBER < 3044000
    int (*xIntegrity)(sqlite3_vtab *, const char *, const char *, int, char **);
#endif
};

static const struct module MODULE = {
    .base =
        {
            .iVersion = 4,
            .xCreate = table_create,
            .xConnect = table_connect,
            .xBestIndex = table_best_index,
            .xDisconnect = table_disconnect,
            .xDestroy = table_destroy,
            .xOpen = cursor_open,
            .xClose = cursor_close,
            .xFilter = cursor_filter,
            .xNext = cursor_next,
            .xEof = cursor_eof,
            .xColumn = cursor_column,
            .xRowid = cursor_rowid,
            .xUpdate = table_update,
            .xBegin = table_begin,
            .xSync = table_sync,
            .xCommit = table_end,
            .xRollback = table_end,
            .xRename = table_rename,
            .xSavepoint = table_savepoint,
            .xRelease = table_release,
            .xRollbackTo = table_rollback_to,
            .xShadowName = table_shadow_name,
#if SQLITE_VERSION_NUMBER >= 3044000
            .xIntegrity = table_integrity,
#endif
        },
#if SQLITE_VERSION_NUMBER < 3044000
    .xIntegrity = table_integrity,
#endif
};

int bloom_table_register(sqlite3 *database) {
    struct bloom_table_registry *registry = sqlite3_malloc(sizeof *registry);
    if (registry == NULL)
        return SQLITE_NOMEM;
    registry->first = NULL;
    /* SQLite releases the registry after the last table, and at once when this fails. */
    return sqlite3_create_module_v2(database, "bloom", &MODULE.base, registry, sqlite3_free);
}
