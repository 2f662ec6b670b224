/* The functions that read and write filters of other systems. The formats are in exchange.h. */
#include "sqlite/sqlite.h"

#include "exchange/exchange.h"

#include <string.h>

/* What a value is, for an error. */
static const char *type_name(sqlite3_value *value) {
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return "an integer";
    case SQLITE_FLOAT:
        return "a real number";
    case SQLITE_TEXT:
        return "text";
    case SQLITE_BLOB:
        return "a BLOB";
    default:
        return "NULL";
    }
}

/* The format that argument 2 names; NULL after failing the function. */
static const struct bloom_exchange *read_format(sqlite3_context *context, sqlite3_value *value) {
    char names[BLOOM_PROBLEM_SIZE];
    bloom_exchange_list(names, sizeof names);
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        bloom_sql_error(context, "format (argument 2) must be one of %s, not %s", names,
                        type_name(value));
        return NULL;
    }
    const char *name = (const char *)sqlite3_value_text(value);
    if (name == NULL) {
        sqlite3_result_error_nomem(context);
        return NULL;
    }
    const struct bloom_exchange *format =
        bloom_exchange_by_name(name, (size_t)sqlite3_value_bytes(value));
    if (format == NULL)
        bloom_sql_error(context, "format (argument 2) must be one of %s, not the text '%!.60s'",
                        names, name);
    return format;
}

/* bloom_import(bytes, format): the filter that another system serialised. */
void bloom_sql_import(sqlite3_context *context, int count, sqlite3_value **arguments) {
    char problem[BLOOM_PROBLEM_SIZE], of_ours[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape;
    (void)count;
    switch (sqlite3_value_type(arguments[0])) {
    case SQLITE_BLOB:
        break;
    case SQLITE_NULL:
        bloom_sql_error(
            context, "the bytes (argument 1) are NULL; does the row or file exist that should hold "
                     "them?");
        return;
    default:
        bloom_sql_error(
            context,
            "the bytes (argument 1) must be a BLOB, not %s; hexadecimal text becomes one with "
            "unhex(), from SQLite 3.41 on",
            type_name(arguments[0]));
        return;
    }
    const struct bloom_exchange *format = read_format(context, arguments[1]);
    if (format == NULL)
        return;
    /* The length first: a zeroblob for which there is no memory turns into NULL when its bytes are asked
     * for. */
    uint64_t length = (uint64_t)sqlite3_value_bytes(arguments[0]);
    const uint8_t *bytes = sqlite3_value_blob(arguments[0]);
    if (bytes == NULL && length > 0) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!format->read(&shape, bytes, length, problem)) {
        if (bloom_filter_read(&shape, bytes, length, of_ours))
            bloom_sql_error(
                context, "the bytes (argument 1) are a filter of this extension already; use them "
                         "without an import");
        else
            bloom_sql_error(context, "the bytes (argument 1) %s", problem);
        return;
    }
    if (!bloom_sql_check_length(context, &shape))
        return;
    uint8_t *filter = sqlite3_malloc64(bloom_filter_bytes(&shape));
    if (filter != NULL) {
        bloom_header_write(&shape, filter);
        format->read_payload(&shape, bytes, length, filter + BLOOM_HEADER_BYTES);
    }
    bloom_sql_result_filter(context, &shape, filter);
}

/* bloom_export(filter, format): the filter as another system serialises it. */
void bloom_sql_export(sqlite3_context *context, int count, sqlite3_value **arguments) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_stored filter;
    uint64_t length;
    (void)count;
    if (!bloom_sql_filter(context, 1, arguments[0], &filter))
        return;
    const struct bloom_exchange *format = read_format(context, arguments[1]);
    if (format == NULL)
        return;
    if (!format->measure(&filter.shape, &length, problem)) {
        bloom_sql_error(context, "the filter (argument 1) %s", problem);
        return;
    }
    uint8_t *bytes = sqlite3_malloc64(length);
    if (bytes == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    format->write(&filter.shape, bloom_stored_payload(&filter), bytes);
    sqlite3_result_blob64(context, bytes, length,
                          sqlite3_free); /* fails itself beyond the length limit */
}
