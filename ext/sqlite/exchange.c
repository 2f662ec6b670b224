/* bloom_import and bloom_export: foreign/exchange.h knows the formats, and here the bytes come from
 * SQL and go back to it. */
#include "sqlite/functions.h"

#include "foreign/exchange.h"

#include <string.h>

/* Returns the format that argument 2 names, or NULL after failing the function. */
static const struct bloom_exchange *read_format(sqlite3_context *context, sqlite3_value *value) {
    char advice[BLOOM_PROBLEM_SIZE] = "Give one of ";
    size_t length = strlen(advice);
    if (sqlite3_value_type(value) == SQLITE_TEXT) {
        struct bloom_text name;
        if (!bloom_sql_text_argument(context, value, &name))
            return NULL;
        const struct bloom_exchange *format = bloom_exchange_by_name(name.start, name.length);
        if (format != NULL)
            return format;
    }
    bloom_exchange_list(advice + length, sizeof advice - length);
    bloom_sql_error_value(context, "the format (argument 2) is", value, advice);
    return NULL;
}

/* bloom_import(bytes, format) returns the filter that another system serialised. */
void bloom_sql_import(sqlite3_context *context, int count, sqlite3_value **arguments) {
    bloom_problem problem;
    struct bloom_shape shape;
    struct bloom_foreign foreign;
    const uint8_t *bytes;
    uint64_t length;
    (void)count;
    if (sqlite3_value_type(arguments[0]) != SQLITE_BLOB) {
        bloom_sql_error_value(context, "the bytes (argument 1) are not a BLOB but", arguments[0],
                              sqlite3_value_type(arguments[0]) == SQLITE_NULL
                                  ? "Check that the row or file that should hold them exists"
                                  : "Bind the bytes, or convert hexadecimal text with unhex() in "
                                    "SQLite 3.41 or later");
        return;
    }
    const struct bloom_exchange *format = read_format(context, arguments[1]);
    if (format == NULL)
        return;
    if (!bloom_sql_blob(arguments[0], &bytes, &length)) {
        sqlite3_result_error_nomem(context);
        return;
    }
    /* This comes first, because a format without a header would accept a filter of this extension
     * as its own. */
    if (bloom_filter_read(&shape, bytes, length, problem)) {
        bloom_sql_error(context, "argument 1 is a filter of this extension already. Use it without "
                                 "an import");
        return;
    }
    if (!bloom_exchange_read(format, bytes, length, &foreign, problem)) {
        bloom_sql_error(context, "the bytes (argument 1) %s", problem);
        return;
    }
    if (!bloom_sql_check_length(context, &foreign.shape))
        return;
    uint8_t *filter = sqlite3_malloc64(bloom_filter_bytes(&foreign.shape));
    if (filter != NULL)
        bloom_exchange_import(&foreign, filter);
    bloom_sql_result_filter(context, &foreign.shape, filter);
}

/* bloom_export(filter, format) returns the filter as another system serialises it. */
void bloom_sql_export(sqlite3_context *context, int count, sqlite3_value **arguments) {
    bloom_problem problem;
    struct bloom_stored filter;
    uint64_t length = 0;
    if (!bloom_sql_filter(context, 1, count, arguments, &filter))
        return;
    const struct bloom_exchange *format = read_format(context, arguments[1]);
    if (format == NULL)
        return;
    if (!bloom_exchange_measure(format, &filter.shape, &length, problem)) {
        bloom_sql_error(context, "argument 1 %s", problem);
        return;
    }
    uint8_t *bytes = sqlite3_malloc64(length);
    if (bytes != NULL)
        bloom_exchange_export(format, &filter.shape, bloom_stored_payload(&filter), bytes);
    bloom_sql_result_bytes(context, bytes, length); /* SQLite checks the length limit itself */
}
