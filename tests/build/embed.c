/* A program that links the extension in: builds with -DSQLITE_CORE, needs no file at run time.
 * Exits with 0 when a connection opened after sqlite3_auto_extension has the functions, and one
 * opened before gets them by a direct call. */
#include "sqlite-bloom.h"

#include <stdio.h>

/* Whether the SQL gives one row, with 1 in it. */
static int holds(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    int good = sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK &&
               sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1;
    if (!good)
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
    return good;
}

static const char WORKS[] =
    "SELECT bloom_check(f, 'a') AND bloom_check(f, 'b') AND NOT bloom_check(f, 'c') FROM (SELECT "
    "bloom_agg(column1) AS f FROM (VALUES ('a'), ('b'))) WHERE bloom_version() LIKE '%linked in%'";

int main(void) {
    sqlite3 *before, *after;
    return !(sqlite3_open(":memory:", &before) == SQLITE_OK &&
             sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init) == SQLITE_OK &&
             sqlite3_open(":memory:", &after) == SQLITE_OK && holds(after, WORKS) &&
             holds(before, "SELECT count(*) = 0 FROM pragma_function_list "
                           "WHERE name = 'bloom_check'") &&
             sqlite3_bloom_init(before, NULL, NULL) == SQLITE_OK && holds(before, WORKS) &&
             sqlite3_close(before) == SQLITE_OK && sqlite3_close(after) == SQLITE_OK);
}
