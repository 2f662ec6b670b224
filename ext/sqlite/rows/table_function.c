/* What all table-valued functions have in common.
 *
 * A cursor keeps a copy of its argument, because SQLite hands it over for one call only. In a join
 * the argument of the next outer row is compared with the copy first, because most are equal, and
 * then a filter need not be copied and read again.
 *
 * All plans with an argument have the same cost and the same number of rows. If a function offered
 * a cheaper plan for key = ?, SQLite 3.47 to 3.54 would answer OR with one run for each branch
 * (MULTI-INDEX OR). These releases then compare the argument with the hidden column again, which
 * cannot work for a pin.
 */
#include "sqlite/rows/table_function.h"

#include "sqlite/message.h"
#include "sqlite/poll.h"

#include <string.h>

static const struct bloom_table_function *const TABLE_FUNCTIONS[] = {
    &bloom_url_keys_function, &bloom_keys_function,     &bloom_list_function,
    &bloom_lines_function,    &bloom_integers_function,
};
enum { TABLE_FUNCTION_COUNT = sizeof TABLE_FUNCTIONS / sizeof *TABLE_FUNCTIONS };

struct function_table {
    sqlite3_vtab base; /* first */
    sqlite3 *database;
    const struct bloom_table_function *function;
};

/* idxNum: these, and above them what the function's own plan returned. */
enum { PLAN_ARGUMENT = 1, PLAN_DESCENDING = 2, PLAN_SHIFT = 2 };

static const struct bloom_table_function *function_of(const struct bloom_rows *rows) {
    return ((const struct function_table *)rows->base.pVtab)->function;
}

int bloom_rows_fail(struct bloom_rows *rows, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *message = bloom_message(rows->database, function_of(rows)->name, format, list);
    va_end(list);
    sqlite3_free(rows->base.pVtab->zErrMsg);
    rows->base.pVtab->zErrMsg = message;
    return message != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
}

int bloom_rows_need_text(struct bloom_rows *rows, const struct bloom_run *run, bool is_list) {
    bloom_problem problem;
    return bloom_sql_is_text(run->value, rows->bytes, rows->length, is_list, problem)
               ? SQLITE_OK
               : bloom_rows_fail(rows, "%s", problem);
}

/* Arguments */

/* Reads the bytes that tell arguments of one type apart. Returns false if there is no memory. */
static bool argument_bytes(sqlite3_value *value, int type, uint8_t number[8], const uint8_t **bytes,
                           size_t *length) {
    sqlite3_int64 integer;
    double real;
    uint64_t size;
    *bytes = number;
    *length = 8;
    switch (type) {
    case SQLITE_INTEGER:
        integer = sqlite3_value_int64(value);
        memcpy(number, &integer, sizeof integer);
        return true;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(value);
        memcpy(number, &real, sizeof real);
        return true;
    case SQLITE_NULL:
        *length = 0;
        return true;
    default:
        if (!bloom_sql_bytes(value, type, bytes, &size))
            return false;
        *length = (size_t)size;
        return true;
    }
}

static void argument_forget(struct bloom_rows *rows) {
    bloom_pin_release(&rows->pin);
    rows->pin = (struct bloom_kept_pin){0, NULL};
    rows->type = 0;
}

/* Keeps a value. Sets *same if it equals the one before. Returns an SQLite code. */
static int argument_keep(struct bloom_rows *rows, sqlite3_value *value, bool *same) {
    int type = sqlite3_value_type(value), code = SQLITE_OK;
    uint8_t number[8];
    const uint8_t *bytes;
    size_t length, stretch;
    if (!argument_bytes(value, type, number, &bytes, &length))
        return SQLITE_NOMEM;
    *same = rows->type == type && rows->length == length && bloom_pin_is(&rows->pin, value);
    for (size_t done = 0; done < length && *same; done += stretch) {
        code = bloom_poll_stretch(rows->database, done, length, &stretch);
        if (code != SQLITE_OK)
            return code;
        *same = memcmp(rows->bytes + done, bytes + done, stretch) == 0;
    }
    if (*same)
        return SQLITE_OK;
    argument_forget(rows);
    if (rows->bytes == NULL || rows->room < length) {
        sqlite3_free(rows->bytes);
        rows->room = length;
        rows->bytes =
            sqlite3_malloc64(length + 1); /* at least one byte, because NULL means no memory */
        if (rows->bytes == NULL)
            return SQLITE_NOMEM;
    }
    code = bloom_polled_copy(rows->database, rows->bytes, bytes, length);
    if (code != SQLITE_OK)
        return code;
    rows->type = type;
    rows->length = length;
    rows->pin = bloom_pin_keep(rows->database, value);
    rows->hashed = false;
    return SQLITE_OK;
}

/* Makes the argument, as it was given, the value of its column. Returns an SQLite code. A pin is
 * NULL to a comparison, and SQLite compares the argument with the column once more where an OR
 * is before a later table of the join. Then no row would be left, so it is an error. */
static int argument_result(struct bloom_rows *rows, sqlite3_context *context) {
    sqlite3_int64 integer;
    double real;
    switch (rows->type) {
    case SQLITE_INTEGER:
        memcpy(&integer, rows->bytes, sizeof integer);
        sqlite3_result_int64(context, integer);
        break;
    case SQLITE_FLOAT:
        memcpy(&real, rows->bytes, sizeof real);
        sqlite3_result_double(context, real);
        break;
    case SQLITE_NULL:
        return bloom_rows_fail(rows, "a pinned filter cannot be read from its column, which SQLite "
                                     "does to compare it, as with OR in a join. Give the filter "
                                     "without bloom_pin");
    case SQLITE_TEXT:
        sqlite3_result_text64(context, (const char *)rows->bytes, rows->length, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
        break;
    default:
        sqlite3_result_blob64(context, rows->bytes, rows->length, SQLITE_TRANSIENT);
    }
    return SQLITE_OK;
}

/* The table */

static int rows_connect(sqlite3 *database, void *data, int count, const char *const *arguments,
                        sqlite3_vtab **result, char **error) {
    const struct bloom_table_function *const *function = TABLE_FUNCTIONS;
    (void)data, (void)count, (void)error;
    while (strcmp((*function)->name, arguments[0]) != 0)
        function++;
    int code = sqlite3_declare_vtab(database, (*function)->declaration);
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK)
        return code;
    struct function_table *table = sqlite3_malloc(sizeof *table);
    if (table == NULL)
        return SQLITE_NOMEM;
    *table = (struct function_table){.database = database, .function = *function};
    *result = &table->base;
    return SQLITE_OK;
}

static int rows_disconnect(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

/* Refuses a plan in which the argument is not known yet, so that SQLite chooses another one. A plan
 * without an argument fails with a message when it runs. */
static int rows_best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
    const struct bloom_table_function *function = ((struct function_table *)table)->function;
    int found = -1;
    bool waits = false;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (constraint->iColumn != function->argument_column ||
            (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ &&
             constraint->op != SQLITE_INDEX_CONSTRAINT_IS))
            continue;
        if (constraint->usable)
            found = i;
        else
            waits = true;
    }
    if (found < 0) {
        info->idxNum = 0; /* so expensive that any other plan is chosen */
        info->estimatedCost = 1e99;
        info->estimatedRows = INT64_C(1) << 40;
        return waits ? SQLITE_CONSTRAINT : SQLITE_OK;
    }
    info->idxNum = PLAN_ARGUMENT;
    info->aConstraintUsage[found].argvIndex = 1;
    info->aConstraintUsage[found].omit = 1;
    if (function->plan != NULL)
        info->idxNum |= (int)(function->plan(info, 2) << PLAN_SHIFT);
    if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == function->ordered_column &&
        (function->descends || !info->aOrderBy[0].desc)) {
        info->orderByConsumed = 1;
        info->idxNum |= info->aOrderBy[0].desc ? PLAN_DESCENDING : 0;
    }
    info->estimatedCost = function->rows;
    info->estimatedRows = (sqlite3_int64)function->rows;
    return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result) {
    const struct function_table *function_table = (const struct function_table *)table;
    size_t size = function_table->function->cursor_size;
    struct bloom_rows *rows = sqlite3_malloc64(size);
    if (rows == NULL)
        return SQLITE_NOMEM;
    memset(rows, 0, size);
    rows->database = function_table->database;
    *result = &rows->base;
    return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *base) {
    struct bloom_rows *rows = (struct bloom_rows *)base;
    const struct bloom_table_function *function = function_of(rows);
    if (function->close != NULL)
        function->close(rows);
    bloom_pin_release(&rows->pin);
    sqlite3_free(rows->bytes);
    sqlite3_free(rows);
    return SQLITE_OK;
}

static int rows_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count,
                       sqlite3_value **arguments) {
    struct bloom_rows *rows = (struct bloom_rows *)base;
    const struct bloom_table_function *function = function_of(rows);
    (void)text, (void)count;
    rows->at_end = true;
    if ((plan & PLAN_ARGUMENT) == 0)
        return bloom_rows_fail(rows, "%s", function->missing);
    struct bloom_run run = {.value = arguments[0],
                            .descending = (plan & PLAN_DESCENDING) != 0,
                            .plan = (unsigned)plan >> PLAN_SHIFT,
                            .further = arguments + 1};
    int code = argument_keep(rows, run.value, &run.same);
    if (code != SQLITE_OK)
        return code;
    code = function->begin(rows, &run);
    if (code != SQLITE_OK)
        argument_forget(rows); /* so that the next run is not taken for the same */
    return code;
}

static int rows_next(sqlite3_vtab_cursor *base) {
    struct bloom_rows *rows = (struct bloom_rows *)base;
    return function_of(rows)->next(rows);
}

static int rows_eof(sqlite3_vtab_cursor *base) {
    return ((const struct bloom_rows *)base)->at_end;
}

static int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    struct bloom_rows *rows = (struct bloom_rows *)base;
    const struct bloom_table_function *function = function_of(rows);
    if (column == function->argument_column)
        return argument_result(rows, context);
    function->column(rows, context, column);
    return SQLITE_OK;
}

/* SQLite tells rows apart by these numbers if a query has several arguments with OR. The rows of
 * one argument all have different numbers. The numbers for two arguments are as if drawn at random
 * from 2^64, so two arguments of a million rows each share a number in one of 18 million cases. */
static int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid) {
    struct bloom_rows *rows = (struct bloom_rows *)base;
    if (!rows->hashed) {
        const struct bloom_stored *pinned = rows->pin.filter;
        const size_t length = pinned == NULL ? rows->length : (size_t)pinned->length;
        bloom_murmur3_bytes(pinned == NULL ? rows->bytes : pinned->bytes, length, rows->hash);
        rows->hash[0] = bloom_mix(rows->hash[0] + (uint64_t)rows->type);
        rows->hashed = true;
    }
    uint64_t mixed = bloom_mix(rows->row ^ rows->hash[0]);
    *rowid = (sqlite3_int64)bloom_mix(mixed ^ rows->hash[1]);
    return SQLITE_OK;
}

int bloom_table_functions_register(struct bloom_connection *connection) {
    /* Without xCreate the table exists under its name, and no other can be created. */
    static const sqlite3_module MODULE = {
        .xConnect = rows_connect,
        .xBestIndex = rows_best_index,
        .xDisconnect = rows_disconnect,
        .xOpen = rows_open,
        .xClose = rows_close,
        .xFilter = rows_filter,
        .xNext = rows_next,
        .xEof = rows_eof,
        .xColumn = rows_column,
        .xRowid = rows_rowid,
    };
    int code = SQLITE_OK;
    /* SQLite releases the module's reference with the module, and at once when this fails. */
    for (size_t i = 0; i < TABLE_FUNCTION_COUNT && code == SQLITE_OK; i++)
        code = sqlite3_create_module_v2(connection->database, TABLE_FUNCTIONS[i]->name, &MODULE,
                                        bloom_connection_keep(connection), bloom_connection_close);
    return code;
}
