/* A request guard: reads a filter that is stored in a row, once, and checks URLs in memory.
 *
 *     guard DATABASE NAME URL ...       exit status 1 when one of these URLs is on the list
 *
 * The row was made in SQL, as in
 *
 *     CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);
 *     INSERT INTO filters SELECT 'bad', bloom_agg(url, NULL, 0.0001, 'key=url') FROM entries;
 *
 * The filter's own key rule makes a browser's keys of each URL. This program needs SQLite for
 * reading the row alone; the extension need not be loaded. */
#include "sqlite-bloom-filter.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

/* Opens the filter of that name. A BLOB is valid only until its statement goes on, so the statement
 * is kept, and the filter is a view on SQLite's bytes: nothing is copied. */
static struct sqlite_bloom_filter *read_filter(sqlite3 *database, const char *name,
                                               sqlite3_stmt **row) {
    struct sqlite_bloom_filter *filter = NULL;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    if (sqlite3_prepare_v2(database, "SELECT f FROM filters WHERE name = ?", -1, row, NULL) !=
            SQLITE_OK ||
        sqlite3_bind_text(*row, 1, name, -1, SQLITE_STATIC) != SQLITE_OK) {
        fprintf(stderr, "guard: %s\n", sqlite3_errmsg(database));
        return NULL;
    }
    if (sqlite3_step(*row) != SQLITE_ROW) {
        fprintf(stderr, "guard: there is no filter %s\n", name);
        return NULL;
    }
    const void *bytes = sqlite3_column_blob(*row, 0);
    size_t length = (size_t)sqlite3_column_bytes(*row, 0);
    if (sqlite_bloom_filter_open(&filter, bytes, length, NULL, problem) != SQLITE_BLOOM_OK)
        fprintf(stderr, "guard: %s\n", problem);
    return filter;
}

/* What has no key, as text that is no URL has none, is let through; where memory is short, nothing
 * is. */
static int is_refused(const struct sqlite_bloom_filter *filter, const char *url) {
    int answer = sqlite_bloom_filter_check_text(filter, url, strlen(url));
    return answer != 0 && answer != SQLITE_BLOOM_NO_KEY;
}

int main(int count, char **arguments) {
    sqlite3 *database;
    sqlite3_stmt *row = NULL;
    int refused = 0;
    if (count < 4) {
        fprintf(stderr, "usage: guard DATABASE NAME URL ...\n");
        return 2;
    }
    if (sqlite3_open_v2(arguments[1], &database, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        fprintf(stderr, "guard: %s\n", sqlite3_errmsg(database));
        sqlite3_close(database);
        return 2;
    }
    struct sqlite_bloom_filter *filter = read_filter(database, arguments[2], &row);
    for (int i = 3; filter != NULL && i < count; i++) {
        int is_listed = is_refused(filter, arguments[i]);
        printf("%s %s\n", is_listed ? "refused" : "allowed", arguments[i]);
        refused |= is_listed;
    }
    int status = filter != NULL ? refused : 2;
    sqlite_bloom_filter_close(filter); /* before its bytes go */
    sqlite3_finalize(row);
    sqlite3_close(database);
    return status;
}
