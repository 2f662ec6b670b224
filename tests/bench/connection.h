/* What the benchmarks of filter tables share: a connection with the extension, statements that must
 * go well, random keys, and time that passes on the clock. Each program is one file, which includes
 * this one.
 */
#ifndef BENCH_CONNECTION_H
#define BENCH_CONNECTION_H

#include "keys.h"

#include <sqlite3.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void fail(sqlite3 *database, const char *what) {
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static inline void run(sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(database, sql);
}

static inline sqlite3_stmt *prepare(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
        SQLITE_OK)
        fail(database, sql);
    return statement;
}

/* A new database at a path. */
static inline sqlite3 *open_connection(const char *path, const char *extension) {
    sqlite3 *database;
    remove(path);
    if (sqlite3_open(path, &database) != SQLITE_OK)
        fail(database, path);
    sqlite3_enable_load_extension(database, 1);
    if (sqlite3_load_extension(database, extension, NULL, NULL) != SQLITE_OK)
        fail(database, "load");
    return database;
}

/* In ns. */
static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* What random_word goes on from: whoever sets it back gets the same words again. */
static uint64_t next_random = 1;

static inline uint64_t random_word(void) {
    return bench_mixed(next_random += BENCH_STEP);
}

/* Runs a statement once, and tells whether it gave or changed a row. */
static inline bool step(sqlite3_stmt *statement) {
    sqlite3 *database = sqlite3_db_handle(statement);
    bool row = sqlite3_step(statement) == SQLITE_ROW || sqlite3_changes(database) > 0;
    if (sqlite3_reset(statement) != SQLITE_OK)
        fail(database, sqlite3_sql(statement));
    return row;
}

/* Likewise with a key of 17 characters, of which there is one for each word. */
static inline bool step_with_key(sqlite3_stmt *statement, uint64_t word) {
    char key[32];
    int length = snprintf(key, sizeof key, "k%016llx", (unsigned long long)word);
    sqlite3_bind_text(statement, 1, key, length, SQLITE_STATIC);
    return step(statement);
}

/* ns for each run of a statement with random keys. */
static inline double measure(sqlite3_stmt *statement, int count) {
    double start = now();
    for (int i = 0; i < count; i++)
        step_with_key(statement, random_word());
    return (now() - start) / count;
}

static inline double number(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = prepare(database, sql);
    if (sqlite3_step(statement) != SQLITE_ROW)
        fail(database, sql);
    double result = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return result;
}

/* Removes the database of a connection, which stays open, with its statements, until the program
 * ends. */
static inline void remove_database(sqlite3 *database, const char *path) {
    run(database, "PRAGMA journal_mode=DELETE");
    remove(path);
}

static inline int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *times, size_t count) {
    qsort(times, count, sizeof *times, compare);
    return times[count / 2];
}

#endif
