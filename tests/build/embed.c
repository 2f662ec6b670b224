/* A program that links the extension in: builds with -DSQLITE_CORE, needs no file at run time.
 * Exits with 0 when a connection opened after sqlite3_auto_extension has the functions, and one
 * opened before gets them by a direct call. */
#include "sqlite-bloom.h"

#include <stdio.h>
#include <string.h>

static int query_is(sqlite3 *database, const char *sql, const char *expected) {
    sqlite3_stmt *statement;
    int same = 0;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(database));
        return 0;
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        same = text != NULL && strcmp(text, expected) == 0;
        if (!same)
            fprintf(stderr, "%s: expected %s, got %s\n", sql, expected, text ? text : "NULL");
    } else {
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(database));
    }
    sqlite3_finalize(statement);
    return same;
}

static const char QUERY[] =
    "WITH urls(url) AS (VALUES ('a'), ('b')), built(f) AS (SELECT bloom_agg(url) FROM urls) "
    "SELECT bloom_check(f, 'a') || bloom_check(f, 'b') || bloom_check(f, 'c') FROM built";

int main(void) {
    sqlite3 *before, *after;
    int good = 1;
    good &= sqlite3_open(":memory:", &before) == SQLITE_OK;
    good &= sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init) == SQLITE_OK;
    good &= sqlite3_open(":memory:", &after) == SQLITE_OK;
    good &= query_is(after, QUERY, "110");
    good &= query_is(before, "SELECT count(*) FROM pragma_function_list WHERE name = 'bloom_check'",
                     "0");
    good &= sqlite3_bloom_init(before, NULL, NULL) == SQLITE_OK;
    good &= query_is(before, QUERY, "110");
    good &= query_is(before, "SELECT bloom_version() LIKE '%linked in%'", "1");
    sqlite3_close(before);
    sqlite3_close(after);
    puts(good ? "1 passed, 0 failed" : "0 passed, 1 failed");
    return !good;
}
