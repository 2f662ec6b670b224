/* What the benchmarks of filter tables share: a connection with the extension, statements that must
 * go well, random keys, and time that passes on the clock. Each program is one file, which includes
 * this one.
 */
#ifndef BENCH_CONNECTION_H
#define BENCH_CONNECTION_H

#include "keys.h"

#include <sqlite3.h>

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

/* The caller closes it. */
static inline sqlite3 *open_connection(const char *path, const char *extension) {
    sqlite3 *database;
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

/* For qsort of doubles. */
static inline int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#endif
