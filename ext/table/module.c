/* The virtual table module `bloom`: a filter that is updated in place. This file decides what each
 * SQL statement does to a table, as sql/REFERENCE.md has it. keys.c, maintain.c and chunks.c do it.
 *
 * The column key is visible, so that INSERT INTO seen VALUES (?) adds a key. Three columns are
 * hidden. The first is named after the table: an INSERT takes a command there, and seen(?) binds a
 * key to it, as in FTS5. The others are info and filter.
 */
#include "table/module.h"

#include "base/text.h"
#include "table/configuration.h"
#include "table/keys.h"
#include "table/maintain.h"

#include <string.h>

enum table_column { COLUMN_KEY, COLUMN_COMMAND, COLUMN_INFO, COLUMN_FILTER };

/* idxNum of a plan. */
enum plan { PLAN_KEY = 1, PLAN_DESCRIBE, PLAN_LIST, PLAN_COUNT, PLAN_ARGUMENTS, PLAN_MATCH };

struct table {
    struct bloom_chunks chunks; /* first: they begin with what SQLite sees */
    bool expects_change;        /* see bloom_keys_add */
    /* The last cursor closed: most statements open just one, a thousand times over. */
    struct cursor *spare;
};

static struct table *table_of(sqlite3_vtab *base) {
    return (struct table *)base;
}

static struct bloom_span *span_of(sqlite3_vtab *base) {
    return (struct bloom_span *)base;
}

static struct bloom_database *database_of(struct table *table) {
    return &table->chunks.span.database;
}

/* Fails with "TABLE: " and the formatted message (as sqlite3_mprintf). */
#define table_error(table, ...) bloom_database_fail(database_of(table), SQLITE_ERROR, __VA_ARGS__)

/* The rowid of the row that a question by a key rule returns. It stands for the table and not for
 * one key, so a DELETE knows it from the row of a key. Only a forged key has this hash. */
#define MATCH_ROWID INT64_MIN

struct cursor {
    sqlite3_vtab_cursor base; /* first */
    bool at_row;
    unsigned revision; /* of the table that it reads; 0: it has not read yet */
    struct bloom_kept_key key;
    /* The key's hash. By it SQLite knows rows of different keys apart, for example in key = 1 OR
     * key = 2, and it is all that a DELETE passes back. */
    sqlite3_int64 rowid;
};

static void cursor_free(struct cursor *cursor) {
    if (cursor != NULL)
        bloom_kept_key_free(&cursor->key);
    sqlite3_free(cursor);
}

/* Life of a table */

/* One column has the table's name, so a table named as another column could not be opened. */
#define NAME_OF_COLUMN                                                                             \
    "a filter table cannot be called '%s', because one of its columns is. Choose another name"

static bool is_column(const char *name) {
    return sqlite3_stricmp(name, "key") == 0 || sqlite3_stricmp(name, "info") == 0 ||
           sqlite3_stricmp(name, "filter") == 0;
}

static int declare(sqlite3 *connection, const char *name, enum bloom_key_type key_type,
                   char **error) {
    if (is_column(name)) {
        *error = sqlite3_mprintf("bloom: " NAME_OF_COLUMN, name);
        return SQLITE_ERROR;
    }
    char *declaration =
        sqlite3_mprintf("CREATE TABLE x(key %s, \"%w\" HIDDEN, info HIDDEN, filter HIDDEN)",
                        bloom_key_type_name(key_type), name);
    if (declaration == NULL)
        return SQLITE_NOMEM;
    int code = sqlite3_declare_vtab(connection, declaration);
    sqlite3_free(declaration);
    if (code == SQLITE_OK) /* for OR IGNORE */
        code = sqlite3_vtab_config(connection, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(connection, SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK && code != SQLITE_NOMEM)
        *error = sqlite3_mprintf("bloom: %s", sqlite3_errmsg(connection));
    return code;
}

static int create_shadow_table(struct table *table, const uint8_t *row_0) {
    int code = bloom_database_create_table(database_of(table));
    if (code == SQLITE_OK)
        code = bloom_database_write_row(database_of(table), 0, row_0, BLOOM_CONFIGURATION_BYTES);
    return code == SQLITE_OK
               ? bloom_chunks_configure(&table->chunks, row_0, BLOOM_CONFIGURATION_BYTES)
               : code;
}

static int table_disconnect(sqlite3_vtab *base) {
    cursor_free(table_of(base)->spare);
    bloom_chunks_close(&table_of(base)->chunks); /* after it, SQLite must not be called */
    return SQLITE_OK;
}

/* Connecting reads nothing, because it happens while a statement is prepared, before SQLite holds a
 * lock: another connection could change the schema meanwhile (SQLITE_SCHEMA) or be writing
 * (SQLITE_BUSY). It also lets a table be dropped whose row 0 is damaged. */
static int open_table(sqlite3 *connection, void *data, int count, const char *const *arguments,
                      bool create, sqlite3_vtab **result, char **error) {
    enum { OPTIONS = 3 }; /* after module, schema and table */
    uint8_t row_0[BLOOM_CONFIGURATION_BYTES];
    uint32_t page_bytes;
    int code = SQLITE_OK;
    const enum bloom_key_type key_type =
        bloom_configuration_key_type(count - OPTIONS, arguments + OPTIONS);
    struct table *table = bloom_span_open(sizeof *table, data, arguments[1], arguments[2]);
    if (table == NULL)
        return SQLITE_NOMEM;
    if (create)
        code = bloom_database_page_bytes(database_of(table), &page_bytes);
    if (code == SQLITE_OK && create)
        code = bloom_configuration_of_text(connection, count - OPTIONS, arguments + OPTIONS,
                                           page_bytes, row_0, error);
    if (code == SQLITE_OK)
        code = declare(connection, arguments[2], key_type, error);
    if (code == SQLITE_OK && create) {
        bloom_span_create(&table->chunks.span);
        code = create_shadow_table(table, row_0);
    }
    *result = &database_of(table)->base;
    if (code == SQLITE_OK)
        return code;
    if (*error == NULL)
        *error = bloom_database_message(database_of(table));
    table_disconnect(*result);
    return code;
}

static int table_create(sqlite3 *connection, void *data, int count, const char *const *arguments,
                        sqlite3_vtab **result, char **error) {
    return open_table(connection, data, count, arguments, true, result, error);
}

static int table_connect(sqlite3 *connection, void *data, int count, const char *const *arguments,
                         sqlite3_vtab **result, char **error) {
    return open_table(connection, data, count, arguments, false, result, error);
}

static int table_destroy(sqlite3_vtab *base) {
    struct bloom_database *database = &span_of(base)->database;
    int code = bloom_database_begin_operation(database);
    if (code == SQLITE_OK)
        code = bloom_database_drop_table(database);
    return code == SQLITE_OK ? table_disconnect(base) : code;
}

static int table_rename(sqlite3_vtab *base, const char *name) {
    struct table *table = table_of(base);
    if (is_column(name))
        return table_error(table, NAME_OF_COLUMN, name);
    int code = bloom_chunks_begin_operation(&table->chunks, false);
    bloom_chunks_end_operation(&table->chunks);
    if ((code & 0xff) == SQLITE_CORRUPT) { /* damage is no reason against it */
        sqlite3_free(bloom_database_message(database_of(table)));
        code = SQLITE_OK;
    }
    if (code == SQLITE_OK)
        code = bloom_database_insert_nothing(database_of(table));
    if (code == SQLITE_OK)
        code = bloom_span_write(span_of(base));
    if (code == SQLITE_OK)
        code = bloom_database_rename_table(database_of(table), name);
    if (code != SQLITE_OK)
        return code;
    bloom_chunks_close_reader(&table->chunks);
    return bloom_span_rename(span_of(base), name);
}

/* Begins an operation of a query. When the table that it has read is gone or is another one now,
 * the query ends, as one of an ordinary table does. */
static int begin_cursor_operation(struct cursor *cursor) {
    struct table *table = table_of(cursor->base.pVtab);
    const int code = bloom_chunks_begin_operation(&table->chunks, false);
    const bool is_gone = (code & 0xff) == SQLITE_CORRUPT ||
                         (code == SQLITE_OK && cursor->revision != table->chunks.span.revision);
    if (cursor->revision > 0 && is_gone) {
        sqlite3_free(bloom_database_message(database_of(table)));
        return SQLITE_ABORT_ROLLBACK;
    }
    if (code == SQLITE_OK)
        cursor->revision = table->chunks.span.revision;
    return code;
}

/* Queries */

/* The constraints that a plan can use. */
struct request {
    int key;               /* index of a constraint that asks for a key itself, or -1 */
    int match;             /* index of one that asks what bloom_check asks, or -1 */
    bool matches;          /* there is such a constraint; perhaps it waits for another table */
    bool by_command;       /* the column named after the table is compared by =, */
    bool by_others;        /* and info or filter are: seen(?, ?) makes both */
    const char *collation; /* of a comparison with the key, if it is not BINARY; or NULL */
};

static struct request read_request(sqlite3_index_info *info) {
    struct request request = {.key = -1, .match = -1};
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        const bool is_match = constraint->op == SQLITE_INDEX_CONSTRAINT_MATCH;
        const bool is_command = constraint->iColumn == COLUMN_COMMAND;
        if (!is_match && constraint->op != SQLITE_INDEX_CONSTRAINT_EQ &&
            constraint->op != SQLITE_INDEX_CONSTRAINT_IS)
            continue;
        request.by_command = request.by_command || (is_command && !is_match);
        request.by_others = request.by_others || constraint->iColumn > COLUMN_COMMAND;
        if (constraint->iColumn != COLUMN_KEY && !is_command)
            continue;
        const char *collation = is_match ? "BINARY" : sqlite3_vtab_collation(info, i);
        if (sqlite3_stricmp(collation, "BINARY") != 0)
            request.collation = collation;
        request.matches = request.matches || is_match || is_command;
        int *index = is_match || is_command ? &request.match : &request.key;
        if (constraint->usable && *index < 0)
            *index = i;
    }
    return request;
}

/* A plan without the key fails in xFilter, with a message. If it were refused here, SQLite would
 * only say "no query solution". Its cost is so high that SQLite takes any other plan.
 *
 * A check costs as much as a look-up in an index that is in memory, which SQLite estimates at 10 to
 * 30. But the filter is there to save look-ups, so it must come first. With a cost of 100 and at
 * most one row it came first in every join that was tried on 3.40 and 3.54. With 5 it came last. */
static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info) {
    static const double CHECK_COST = 100, FAILURE_COST = 1e99;
    struct request request = read_request(info);
    /* Keys are known by their bytes, so that keys which the collation takes for equal would be
     * missed. */
    if (request.collation != NULL)
        return table_error(table_of(base),
                           "key is compared with COLLATE %s, but a filter knows only the bytes of "
                           "keys. Add lower(x), and ask for key = lower(x)",
                           request.collation);
    info->estimatedRows = 1;
    info->estimatedCost = FAILURE_COST;
    if (request.by_command && request.by_others) {
        info->idxNum = PLAN_ARGUMENTS;
        return SQLITE_OK;
    }
    /* SQLite compares the column key with the other constraints, so what is asked comes first. */
    const int given = request.matches ? request.match : request.key;
    if (given >= 0) {
        const bool matches = request.matches;
        info->aConstraintUsage[given].argvIndex = 1;
        info->aConstraintUsage[given].omit = 1;
        info->idxNum = matches ? PLAN_MATCH : PLAN_KEY;
        /* For EXPLAIN QUERY PLAN; not freed. */
        info->idxStr = (char *)(matches ? "key MATCH ?" : "key=?");
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->estimatedCost = CHECK_COST;
        return SQLITE_OK;
    }
    uint64_t used = info->colUsed;
    bool describes = (used & (1u << COLUMN_INFO | 1u << COLUMN_FILTER)) != 0;
    bool lists = (used & (1u << COLUMN_KEY | 1u << COLUMN_COMMAND)) != 0;
    if (describes && !lists) {
        info->idxNum = PLAN_DESCRIBE;
        info->estimatedCost = CHECK_COST;
        return SQLITE_OK;
    }
    info->idxNum =
        lists ? PLAN_LIST : PLAN_COUNT; /* a DELETE without WHERE uses no column, either */
    info->estimatedRows = INT64_C(1) << 40;
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result) {
    struct table *table = table_of(base);
    struct cursor *cursor = table->spare;
    if (cursor == NULL) {
        cursor = sqlite3_malloc(sizeof *cursor);
        if (cursor == NULL)
            return SQLITE_NOMEM;
        memset(cursor, 0, sizeof *cursor);
    }
    table->spare = NULL;
    cursor->base = (sqlite3_vtab_cursor){.pVtab = base};
    /* A cursor that is open may be of the same statement, which has read the table. */
    cursor->revision = table->chunks.cursors > 0 ? table->chunks.span.revision : 0;
    if (table->chunks.cursors++ == 0)
        bloom_span_ask_file(span_of(base));
    *result = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base) {
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = table_of(base->pVtab);
    bloom_kept_key_shrink(&cursor->key);
    table->chunks.cursors--;
    bloom_chunks_end_operation(&table->chunks);
    cursor_free(table->spare);
    table->spare = cursor;
    return SQLITE_OK;
}

/* Plans by which there is no row, and what to write instead. */
static int refuse_plan(struct table *table, int plan) {
    const char *name = database_of(table)->name;
    switch (plan) {
    case PLAN_LIST:
        return table_error(table,
                           "a filter table cannot list its keys. Check a key with EXISTS (SELECT 1 "
                           "FROM %s(x)), or select info or filter without key",
                           name);
    case PLAN_COUNT:
        return table_error(table,
                           "a filter table cannot list its keys, so it has no rows to count or "
                           "delete. Delete all keys with "
                           "INSERT INTO %s(%s) VALUES ('clear'), or estimate their number with "
                           "SELECT json_extract(info, '$.count') FROM %s",
                           name, name, name);
    default:
        return table_error(
            table, "as a function a filter table takes one argument, the key. Write %s(x)", name);
    }
}

/* Says what is wrong with a key that is a filter, or one of bloom_list without a key rule. As a key
 * each would be certainly not in, or find all keys certainly not in. */
static int refuse_key_value(struct table *table, enum bloom_key_kind kind) {
    if (kind == BLOOM_KEY_OF_LIST)
        return table_error(table, "the key " BLOOM_OF_LIST_ADVICE);
    return table_error(
        table,
        "the key is a filter. Add its keys with the command merge, as in INSERT INTO "
        "%s(%s, key) VALUES ('merge', ...), or pass hex(x) if the bytes are meant",
        database_of(table)->name, database_of(table)->name);
}

static int cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count,
                         sqlite3_value **arguments) {
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = table_of(base->pVtab);
    const struct bloom_shape *shape = &table->chunks.configuration.key_shape;
    uint64_t words[BLOOM_ASKED_WORDS];
    unsigned asked = 1;
    (void)text;
    (void)count;
    cursor->rowid = 0;
    cursor->key.type = 0;
    int code = begin_cursor_operation(cursor);
    if (code != SQLITE_OK)
        return code;
    cursor->at_row = plan == PLAN_DESCRIBE;
    if (cursor->at_row)
        return SQLITE_OK;
    if (plan != PLAN_KEY && plan != PLAN_MATCH)
        return refuse_plan(table, plan);
    const bool by_rule = plan == PLAN_MATCH && shape->keying.rule != NULL;
    struct bloom_typed_key key =
        bloom_typed_key(table->chunks.configuration.key, arguments[0], false);
    enum bloom_key_kind kind = by_rule ? bloom_sql_asked_keys(arguments[0], shape, words, &asked)
                                       : bloom_typed_key_words(&key, shape, words);
    if (kind == BLOOM_KEY_FILTER || kind == BLOOM_KEY_OF_LIST)
        return refuse_key_value(table, kind);
    if (kind != BLOOM_KEY) /* NULL, or a key that the layout has not, is not in */
        return kind == BLOOM_KEY_NO_MEMORY ? SQLITE_NOMEM : SQLITE_OK;
    code = bloom_keys_check(&table->chunks, words, asked, &cursor->at_row);
    if (code != SQLITE_OK)
        return code;
    if (!cursor->at_row)
        return SQLITE_OK;
    cursor->rowid = by_rule ? MATCH_ROWID : (sqlite3_int64)words[0];
    return bloom_kept_key_keep(&cursor->key, &key) ? SQLITE_OK : SQLITE_NOMEM;
}

static int cursor_next(sqlite3_vtab_cursor *base) {
    ((struct cursor *)base)->at_row = false;
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base) {
    return !((struct cursor *)base)->at_row;
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    static const unsigned JSON = 'J';
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = table_of(base->pVtab);
    struct bloom_shape shape;
    uint8_t *bytes = NULL;
    char *json = NULL;
    if (sqlite3_vtab_nochange(context)) /* for an UPDATE, which fails with a message of its own */
        return SQLITE_OK;
    if (column != COLUMN_INFO && column != COLUMN_FILTER) {
        bloom_kept_key_result(context, &cursor->key); /* also under the name of the table */
        return SQLITE_OK;
    }
    int code = begin_cursor_operation(cursor);
    if (code == SQLITE_OK)
        code = column == COLUMN_INFO ? bloom_maintain_info(&table->chunks, &json)
                                     : bloom_maintain_filter(&table->chunks, &shape, &bytes);
    if (code != SQLITE_OK)
        return code;
    if (column == COLUMN_FILTER) {
        bloom_sql_result_filter(context, &shape, bytes);
        return SQLITE_OK;
    }
    sqlite3_result_text(context, json, -1, sqlite3_free);
    sqlite3_result_subtype(context, JSON);
    return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    struct cursor *cursor = (struct cursor *)base;
    struct table *table = table_of(base->pVtab);
    if (cursor->key.type == 0) /* the row that describes the table */
        return table_error(table,
                           "a row with info and filter has no rowid. Leave the rowid out, or "
                           "name a key, as in WHERE key = ...");
    *rowid = cursor->rowid;
    return SQLITE_OK;
}

/* Changes */

/* With ignore a key that is in is ignored, and so is what is no key. */
static int insert_key(struct table *table, sqlite3_value *value, bool ignore) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM];
    struct bloom_typed_key key = bloom_typed_key(table->chunks.configuration.key, value, true);
    const struct bloom_key_rule *rule = table->chunks.configuration.key_shape.keying.rule;
    char found_words[BLOOM_WORDS_SIZE];
    bool found = false; /* gcc does not see that what succeeds sets it */
    const enum bloom_key_kind kind =
        bloom_typed_key_words(&key, &table->chunks.configuration.key_shape, words);
    switch (kind) {
    case BLOOM_KEY_NO_MEMORY:
        return SQLITE_NOMEM;
    case BLOOM_KEY_FOREIGN: /* by a rule: without one the layouts of tables take every key */
        return bloom_sql_describe(found_words, value) == NULL
                   ? SQLITE_NOMEM
                   : table_error(table, "%s is not %s. %s", found_words, rule->wants,
                                 bloom_sql_key_advice(rule));
    case BLOOM_KEY_FILTER:
    case BLOOM_KEY_OF_LIST:
        return refuse_key_value(table, kind);
    case BLOOM_KEY_NULL:
        return ignore ? SQLITE_CONSTRAINT : SQLITE_OK;
    default:
        break;
    }
    const int code = bloom_keys_add(&table->chunks, words, !ignore, &table->expects_change, &found);
    return code == SQLITE_OK && found && ignore ? SQLITE_CONSTRAINT : code;
}

static int run_merge(struct table *table, sqlite3_value *argument) {
    struct bloom_stored filter;
    char problem[BLOOM_PROBLEM_SIZE];
    switch (bloom_sql_stored(database_of(table)->connection, argument, &filter, problem)) {
    case BLOOM_STORED:
        return bloom_maintain_merge(&table->chunks, &filter);
    case BLOOM_STORED_NO_MEMORY:
        return SQLITE_NOMEM;
    default:
        return table_error(table, "the command merge needs a filter as key, but the key %s",
                           problem);
    }
}

/* A REAL that is a whole number counts as one, because some hosts bind all numbers as REAL. NULL is
 * refused: a date that is misspelt is NULL. */
static int run_period(struct table *table, sqlite3_value *argument) {
    const double real = sqlite3_value_double(argument);
    const int type = sqlite3_value_type(argument);
    if (type == SQLITE_INTEGER)
        return bloom_maintain_period(&table->chunks, sqlite3_value_int64(argument));
    if (type == SQLITE_FLOAT && real >= -0x1p53 && real <= 0x1p53 &&
        (double)(sqlite3_int64)real == real)
        return bloom_maintain_period(&table->chunks, (sqlite3_int64)real);
    return table_error(table,
                       "the key of the command period is %s. Give the number of the present "
                       "period, for example unixepoch() / 86400",
                       type == SQLITE_NULL ? "NULL" : "not a whole number");
}

/* A command that takes no key. */
static int run_alone(struct table *table, const char *command, sqlite3_value *argument,
                     int run(struct bloom_chunks *chunks), const char *advice) {
    return bloom_sql_is_null(argument)
               ? run(&table->chunks)
               : table_error(table, "the command %s takes no key. Leave it out%s", command, advice);
}

static int run_command(struct table *table, sqlite3_value *command, sqlite3_value *argument) {
    char quoted[BLOOM_QUOTE_SIZE];
    const int type = sqlite3_value_type(command);
    if (type == SQLITE_NULL || (type != SQLITE_TEXT && sqlite3_value_type(argument) == SQLITE_TEXT))
        return table_error(
            table, "the command is not text. Name it before the key, as in INSERT INTO %s(%s, key)",
            database_of(table)->name, database_of(table)->name);
    const char *text = (const char *)sqlite3_value_text(command);
    const size_t length = (size_t)sqlite3_value_bytes(command);
    if (text == NULL)
        return SQLITE_NOMEM;
    /* Whatever OR the statement has, which in a trigger is that of the statement around it. */
    if (bloom_name_is("add", text, length))
        return insert_key(table, argument, false);
    if (bloom_name_is("merge", text, length))
        return run_merge(table, argument);
    if (bloom_name_is("period", text, length))
        return run_period(table, argument);
    if (bloom_name_is("rotate", text, length))
        return run_alone(table, "rotate", argument, bloom_maintain_rotate,
                         ", or give the number of the present period to the command period");
    if (bloom_name_is("clear", text, length))
        return run_alone(table, "clear", argument, bloom_maintain_clear, "");
    return table_error(table,
                       "unknown command %s. Use add (with a key), merge (with a filter as key), "
                       "clear, rotate or period (with a number as key), or add a key with INSERT "
                       "INTO %s(key)",
                       bloom_quote(quoted, text, length), database_of(table)->name);
}

static int insert_row(struct table *table, sqlite3_value *rowid, sqlite3_value **columns) {
    if (sqlite3_value_type(rowid) != SQLITE_NULL)
        return table_error(table, "a filter table assigns no rowids. Insert into key only");
    if (sqlite3_value_type(columns[COLUMN_INFO]) != SQLITE_NULL ||
        sqlite3_value_type(columns[COLUMN_FILTER]) != SQLITE_NULL)
        return table_error(
            table, "info and filter cannot be written. Insert into key, or use the command merge");
    /* A pin is not NULL. Here it is the key of a command whose columns were exchanged. */
    if (!bloom_sql_is_null(columns[COLUMN_COMMAND]))
        return run_command(table, columns[COLUMN_COMMAND], columns[COLUMN_KEY]);
    return insert_key(table, columns[COLUMN_KEY],
                      sqlite3_vtab_on_conflict(database_of(table)->connection) == SQLITE_IGNORE);
}

static int delete_row(struct table *table, sqlite3_value *rowid) {
    uint64_t words[BLOOM_HASH_WORDS_MAXIMUM] = {(uint64_t)sqlite3_value_int64(rowid)};
    if (table->chunks.configuration.key_shape.layout->blocks->remove == NULL)
        return table_error(
            table,
            "keys share bits, so no key can be deleted from a table with layout=%s. Make "
            "one with layout=counting, or delete all keys with the command clear",
            table->chunks.configuration.key_shape.layout->name);
    if ((sqlite3_int64)words[0] == MATCH_ROWID)
        return table_error(table,
                           "%s MATCH x does not tell which entry to delete. Delete the entry "
                           "itself with WHERE key = x",
                           database_of(table)->name);
    return bloom_keys_remove(&table->chunks, words);
}

static int table_update(sqlite3_vtab *base, int count, sqlite3_value **arguments,
                        sqlite3_int64 *rowid) {
    struct table *table = table_of(base);
    const struct bloom_connection *owner = database_of(table)->owner;
    const unsigned opened = owner->tables_opened;
    int code = SQLITE_OK;
    if (bloom_span_is_making(span_of(base)))
        code = bloom_database_insert_nothing(database_of(table));
    /* SQLite goes on with a statement in which a function has rolled back. If that has undone the
     * table, no table has that name, or another one has it, for which SQLite has a new object. */
    if (table->chunks.span.writing.transaction == BLOOM_OUTSIDE || code == SQLITE_ERROR ||
        owner->tables_opened != opened) {
        sqlite3_free(bloom_database_message(database_of(table)));
        return SQLITE_ABORT_ROLLBACK;
    }
    if (code == SQLITE_AUTH) { /* which leaves it without memory */
        sqlite3_free(bloom_database_message(database_of(table)));
        code = SQLITE_OK;
    }
    if (code == SQLITE_OK)
        code = bloom_chunks_begin_operation(&table->chunks, count == 1 || table->expects_change);
    if (code == SQLITE_OK && count == 1)
        code = delete_row(table, arguments[0]);
    else if (code == SQLITE_OK && sqlite3_value_type(arguments[0]) != SQLITE_NULL)
        code = table_error(table, "keys cannot be changed in a filter table. %s the new key",
                           table->chunks.configuration.key_shape.layout->blocks->remove != NULL
                               ? "Delete the old key, then insert"
                               : "Insert");
    else if (code == SQLITE_OK)
        code = insert_row(table, arguments[1], arguments + 2);
    bloom_chunks_end_operation(&table->chunks);
    *rowid = sqlite3_last_insert_rowid(database_of(table)->connection); /* which stays as it is */
    return code;
}

/* Transactions */

static int table_rollback_to(sqlite3_vtab *base, int depth) {
    bloom_chunks_close_reader(
        &table_of(base)->chunks); /* if it has failed, this may roll back all */
    if (span_of(base)->writing.transaction != BLOOM_OUTSIDE)
        bloom_span_rollback_to(span_of(base), depth);
    return SQLITE_OK;
}

static int table_rollback(sqlite3_vtab *base) {
    bloom_chunks_close_reader(&table_of(base)->chunks);
    bloom_span_rollback(span_of(base));
    return SQLITE_OK;
}

/* MATCH where SQLite has no plan that hands it to the table, and would evaluate a function. */
static void refuse_match(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    (void)arguments;
    sqlite3_result_error(
        context,
        "MATCH cannot be used here. Write EXISTS (SELECT 1 FROM seen(x)), or LEFT JOIN seen ON "
        "seen = x",
        -1);
}

static int table_find_function(sqlite3_vtab *base, int count, const char *name,
                               void (**function)(sqlite3_context *, int, sqlite3_value **),
                               void **data) {
    (void)base;
    *data = NULL;
    *function = refuse_match;
    return count == 2 && sqlite3_stricmp(name, "match") == 0;
}

static int table_shadow_name(const char *name) {
    return sqlite3_stricmp(name, "data") == 0;
}

static int table_integrity(sqlite3_vtab *base, const char *schema, const char *name, int flags,
                           char **problem) {
    (void)schema;
    (void)name;
    (void)flags;
    struct table *table = table_of(base);
    int code = bloom_chunks_begin_operation(&table->chunks, false);
    if (code == SQLITE_OK)
        code = bloom_maintain_verify(&table->chunks);
    bloom_chunks_end_operation(&table->chunks);
    /* Damage is what is to be found; of any other error nothing is known. */
    if ((code & 0xff) != SQLITE_CORRUPT && (code & 0xff) != SQLITE_ERROR)
        return code;
    *problem = bloom_database_message(database_of(table));
    return *problem != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* The module. xIntegrity came with SQLite 3.44 (version 4 of the structure); earlier ones do not
 * look beyond the members they know, so that one binary serves all. */
struct module {
    sqlite3_module base;
#if SQLITE_VERSION_NUMBER < 3044000
    int (*xIntegrity)(sqlite3_vtab *, const char *, const char *, int, char **);
#endif
};

static const struct module MODULE = {
    .base.iVersion = 4,
    .base.xCreate = table_create,
    .base.xConnect = table_connect,
    .base.xBestIndex = table_best_index,
    .base.xDisconnect = table_disconnect,
    .base.xDestroy = table_destroy,
    .base.xOpen = cursor_open,
    .base.xClose = cursor_close,
    .base.xFilter = cursor_filter,
    .base.xNext = cursor_next,
    .base.xEof = cursor_eof,
    .base.xColumn = cursor_column,
    .base.xRowid = cursor_rowid,
    .base.xUpdate = table_update,
    .base.xBegin = bloom_span_begin,
    .base.xSync = bloom_span_sync,
    .base.xCommit = bloom_span_commit,
    .base.xRollback = table_rollback,
    .base.xFindFunction = table_find_function,
    .base.xRename = table_rename,
    .base.xSavepoint = bloom_span_savepoint,
    .base.xRelease = bloom_span_release,
    .base.xRollbackTo = table_rollback_to,
    .base.xShadowName = table_shadow_name,
#if SQLITE_VERSION_NUMBER >= 3044000
    .base.xIntegrity = table_integrity,
#else
    .xIntegrity = table_integrity,
#endif
};

int bloom_table_register(struct bloom_connection *connection) {
    /* SQLite releases the module's reference with the module, and at once when this fails. */
    return sqlite3_create_module_v2(connection->database, "bloom", &MODULE.base,
                                    bloom_connection_keep(connection), bloom_connection_close);
}
