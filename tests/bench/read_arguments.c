/* What bloom_check is measured against: a loadable extension with a function that does nothing but
 * look at its arguments, and one that makes the URLs of the tables.
 *
 *   read_arguments(a, b)   reads type, pointer and length of both arguments and returns 0
 *   bench_url(number)      the URL of that number, see keys.h
 */
#include "keys.h"

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

static int read_argument(sqlite3_value *value) {
    const void *bytes;
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL: /* as bloom_check: it may be a pinned filter */
        return sqlite3_value_pointer(value, "bloom_filter") != NULL;
    case SQLITE_TEXT:
        bytes = sqlite3_value_text(value);
        break;
    default:
        bytes = sqlite3_value_blob(value);
    }
    return bytes != NULL && sqlite3_value_bytes(value) >= 0;
}

static void read_arguments(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    sqlite3_result_int(context, (read_argument(arguments[0]) + read_argument(arguments[1])) / 3);
}

static void make_url(sqlite3_context *context, int count, sqlite3_value **arguments) {
    char text[BENCH_URL_MOST];
    size_t length = bench_url((uint64_t)sqlite3_value_int64(arguments[0]), text);
    (void)count;
    sqlite3_result_text(context, text, (int)length, SQLITE_TRANSIENT);
}

int sqlite3_extension_init(sqlite3 *database, char **error, const sqlite3_api_routines *api);

int sqlite3_extension_init(sqlite3 *database, char **error, const sqlite3_api_routines *api) {
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    SQLITE_EXTENSION_INIT2(api)
    (void)error;
    int result = sqlite3_create_function(database, "read_arguments", 2, flags, NULL, read_arguments,
                                         NULL, NULL);
    if (result == SQLITE_OK)
        result =
            sqlite3_create_function(database, "bench_url", 1, flags, NULL, make_url, NULL, NULL);
    return result;
}
