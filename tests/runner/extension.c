/* The smallest extension: one function, so that sqllogictest_test.py can see where --load has
 * loaded it. */

#include <stddef.h>
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

static void extension_loaded(sqlite3_context *context, int argument_count,
                             sqlite3_value **arguments) {
    (void)argument_count;
    (void)arguments;
    sqlite3_result_text(context, "loaded", -1, SQLITE_STATIC);
}

int sqlite3_extension_init(sqlite3 *database, char **message, const sqlite3_api_routines *api) {
    (void)message;
    SQLITE_EXTENSION_INIT2(api);
    return sqlite3_create_function(database, "extension_loaded", 0, SQLITE_UTF8, NULL,
                                   extension_loaded, NULL, NULL);
}
