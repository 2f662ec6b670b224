/* Loads the extension into connections of a program that is linked with it, as SQLite loads it:
 * with the table of SQLite's functions, which SQLite hands to automatic extensions. */
#ifndef LOAD_H
#define LOAD_H

#include "sqlite-bloom.h"

#include <sqlite3.h>

static const struct sqlite3_api_routines *sqlite_functions;

static int keep_functions(sqlite3 *database, char **error, const struct sqlite3_api_routines *api) {
    (void)database, (void)error;
    sqlite_functions = api;
    return SQLITE_OK;
}

/* Before main, because a program may replace SQLite's allocator. */
__attribute__((constructor)) static void find_functions(void) {
    sqlite3 *database;
    sqlite3_auto_extension((void (*)(void))keep_functions);
    sqlite3_open(":memory:", &database);
    sqlite3_close(database);
    sqlite3_reset_auto_extension();
    sqlite3_shutdown();
}

static inline int load_bloom(sqlite3 *database, char **error) {
    return sqlite3_bloom_init(database, error, sqlite_functions);
}

#endif
