/* What the fuzz targets share: a connection with the extension, and a filter put through all that
 * can be done with it on the library floor. */
#ifndef BLOOM_FUZZ_H
#define BLOOM_FUZZ_H

#include "sqlite-bloom.h"
#include "base/portable.h"
#include "filter/header.h"
#include "hash/murmur3.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input must not take more than this: operations of SQLite's machine in hundreds, and bytes of a
 * value. */
enum { FUZZ_WORK_MOST = 200, FUZZ_LENGTH_MOST = 1 << 15 };

static int fuzz_work; /* hundreds of operations that are left */

static inline int fuzz_stop(void *argument) {
    (void)argument;
    return fuzz_work-- <= 0;
}

/* An in-memory connection with small limits, so that no input can ask for more memory or time than
 * a test may take. Without mutexes and statistics, which take time; without lookaside, so that all
 * memory but that of pages is the sanitizer's. */
static inline sqlite3 *fuzz_open(void) {
    enum { PAGE = 4096 + 512, PAGES = 400 };
    static uint64_t pages[PAGES][PAGE / sizeof(uint64_t)];
    static int configured;
    sqlite3 *database;
    if (!configured) {
        sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        sqlite3_config(SQLITE_CONFIG_PAGECACHE, pages, PAGE, PAGES);
        sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
        configured = 1;
    }
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_bloom_init(database, NULL, NULL) != SQLITE_OK)
        abort();
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, FUZZ_LENGTH_MOST);
    sqlite3_progress_handler(database, 100, fuzz_stop, NULL);
    fuzz_work = FUZZ_WORK_MOST;
    return database;
}

/* Runs a statement to its end, whatever the outcome, which is returned. A query whose column is
 * called never must return no row. */
static inline int fuzz_step(sqlite3_stmt *statement) {
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            sqlite3_column_bytes(statement, i);
        if (strcmp(sqlite3_column_name(statement, 0), "never") == 0) {
            fprintf(stderr, "%s: %s\n", sqlite3_sql(statement), sqlite3_column_text(statement, 0));
            abort();
        }
    }
    sqlite3_reset(statement);
    return code;
}

static inline uint8_t *fuzz_allocate(uint64_t size) {
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    if (bytes == NULL)
        abort();
    return bytes;
}

/* A copy of exactly the size, for the sanitizer to see reads beyond. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size) {
    uint8_t *copy = fuzz_allocate(size);
    if (size > 0)
        memcpy(copy, data, size);
    return copy;
}

/* Gives a header magic, version and a valid checksum, so that the fuzzer gets behind them. False
 * when nothing is to be changed: an input need not be tried twice. */
static inline int fuzz_repair(uint8_t *bytes, size_t size) {
    if (size < BLOOM_HEADER_BYTES)
        return 0;
    uint8_t before[BLOOM_HEADER_BYTES], covered[BLOOM_HEADER_BYTES_MAXIMUM - 8];
    uint64_t words[2];
    size_t length = 56;
    memcpy(before, bytes, sizeof before);
    memcpy(bytes,
           "\x89"
           "BLM\x01",
           5);
    memcpy(covered, bytes, length);
    if (bytes[7] != 0 && size >= BLOOM_HEADER_BYTES_MAXIMUM) {
        memcpy(covered + length, bytes + BLOOM_HEADER_BYTES, BLOOM_HEADER_BYTES);
        length = sizeof covered;
    }
    bloom_murmur3_bytes(covered, length, words);
    bloom_store64(bytes + 56, words[0]);
    return memcmp(before, bytes, sizeof before) != 0;
}

/* A filter that was let in can be read, written and counted within its bounds; bytes is its copy of
 * exact size, header first. What only some layouts offer, fuzz_functions.c calls. */
static inline void fuzz_use_filter(const struct bloom_shape *shape, uint8_t *bytes) {
    enum { KEYS = 8 };
    uint8_t *payload = bytes + bloom_header_bytes(shape);
    const struct bloom_layout *layout = shape->layout;
    uint8_t found[KEYS];
    uint64_t values[BLOOM_HASH_WORDS_MAXIMUM * KEYS];
    char problem[BLOOM_PROBLEM_SIZE];
    for (unsigned i = 0; i < BLOOM_HASH_WORDS_MAXIMUM * KEYS; i++)
        values[i] = i * 0x0810204081020408U - (i & 1);
    for (unsigned i = 0; i < KEYS; i++)
        if (!bloom_shape_has_room(shape, values + i * layout->hash_words, problem))
            memset(values + i * layout->hash_words, 0, layout->hash_words * sizeof *values);
    if (layout->add != NULL)
        layout->add(shape, payload, values, KEYS);
    bloom_check_many(shape, payload, values, KEYS, found);
    for (unsigned i = 0; i < KEYS; i++)
        if ((layout->add != NULL && !found[i]) ||
            layout->check(shape, payload, values + i * layout->hash_words) != found[i])
            abort(); /* a false negative */
    struct bloom_estimate estimate = layout->estimate(shape, payload);
    if (!(estimate.rate >= 0 && estimate.rate <= 1) || !(estimate.count >= 0) ||
        !(estimate.fill <= 1))
        abort();

    /* It is still a filter: no bit has been set beyond the last. */
    struct bloom_shape again;
    if (!bloom_filter_read(&again, bytes, bloom_filter_bytes(shape), problem) ||
        !bloom_shape_same(shape, &again, problem))
        abort();
}

#endif
