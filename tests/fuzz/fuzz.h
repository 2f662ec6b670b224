/* What the fuzz targets share: a connection with the extension, and running a statement with bytes bound. */
#ifndef BLOOM_FUZZ_H
#define BLOOM_FUZZ_H

#include "bloom.h"
#include "format.h"
#include "hash.h"
#include "portable.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An in-memory connection with small limits, so that no input can ask for more memory or time than a test may
 * take. */
static inline sqlite3 *fuzz_open(void) {
    sqlite3 *database;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_bloom_init(database, NULL, NULL) != SQLITE_OK)
        abort();
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 1 << 20);
    return database;
}

/* Runs one statement to its end, whatever the outcome, with the same bytes bound to every parameter. */
static inline void fuzz_run(sqlite3 *database, const char *sql, const void *bytes, size_t size) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        return;
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++)
        sqlite3_bind_blob64(statement, i, bytes, size, SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            sqlite3_column_bytes(statement, i);
    sqlite3_finalize(statement);
}

/* A copy of exactly the size, for the sanitizer to see reads beyond. With repair, a header in it gets magic,
 * version and a valid checksum, so that the fuzzer gets behind them. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size, int repair) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    if (repair && size >= BLOOM_HEADER_BYTES) {
        memcpy(copy,
               "\x89"
               "BLM\x01",
               5);
        bloom_store64(copy + 56, bloom_hash_bytes(copy, 56).words[0]);
    }
    return copy;
}

#endif
