/* What tests do with connections, each of which has the extension. */
#ifndef BLOOM_CONNECTION_H
#define BLOOM_CONNECTION_H

#include "../library/library_test.h"
#include "../runner/load.h"

/* Fails the test with a message unless the condition holds. */
static inline void require(bool holds, const char *format, ...) {
    va_list list;
    if (holds)
        return;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    fail();
}

static inline sqlite3 *open_database(const char *path) {
    sqlite3 *database;
    int code = sqlite3_open_v2(path, &database,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    if (code == SQLITE_OK)
        code = load_bloom(database, NULL);
    require(code == SQLITE_OK, "%s cannot be opened: %s", path, sqlite3_errmsg(database));
    return database;
}

static inline void close_database(sqlite3 *database) {
    require(sqlite3_close(database) == SQLITE_OK, "the connection cannot be closed");
}

/* A connection that is declared with CLOSED_AT_END is closed at the end of its block. */
#define CLOSED_AT_END __attribute__((cleanup(close_at_end))) sqlite3

static inline void close_at_end(sqlite3 **database) {
    close_database(*database);
}

/* Returns the result code of SQL, and writes its message into error, which may be NULL. */
static inline int try(sqlite3 *database, char *error, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *sql = sqlite3_vmprintf(format, list);
    va_end(list);
    int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    if (error != NULL)
        sqlite3_snprintf(300, error, "%s", sqlite3_errmsg(database));
    sqlite3_free(sql);
    return code;
}

static inline void run(sqlite3 *database, const char *sql) {
    int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    require(code == SQLITE_OK, "%s: result %d (%s)", sql, code, sqlite3_errmsg(database));
}

/* Returns a query that is at its first row. */
static inline sqlite3_stmt *begin(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    require(code == SQLITE_ROW, "%s: result %d (%s)", sql, code, sqlite3_errmsg(database));
    return statement;
}

/* Returns the one number of a query. */
static inline sqlite3_int64 number(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = begin(database, sql);
    sqlite3_int64 result = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result;
}

static inline void require_number(sqlite3 *database, sqlite3_int64 expected, const char *sql) {
    sqlite3_int64 found = number(database, sql);
    require(found == expected, "%s: %lld, not %lld", sql, (long long)found, (long long)expected);
}

/* SQL must fail with a message that contains this word. */
static inline void require_error(sqlite3 *database, const char *word, const char *sql) {
    char error[300];
    int code = try(database, error, "%s", sql);
    require(code != SQLITE_OK && code != SQLITE_NOMEM, "%s: result %d instead of an error", sql,
            code);
    require(strstr(error, word) != NULL, "%s: fails with: %s", sql, error);
}

#define NUMBERS(most)                                                                              \
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < " #most ") "

#endif
