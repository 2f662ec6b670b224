/* Polls for the end of a long operation: for sqlite3_interrupt and progress handlers. */
#ifndef BLOOM_SQLITE_POLL_H
#define BLOOM_SQLITE_POLL_H

#include "base/limits.h"
#include "sqlite/value.h"

#include <assert.h>

static_assert(BLOOM_MOST(sql_stretch) % BLOOM_BLOCK_BYTES_MAXIMUM == 0,
              "a stretch of whole blocks");

/* Returns SQLITE_INTERRUPT or SQLITE_NOMEM if the running statement is to end, otherwise SQLITE_OK.
 * Runs a statement, so call it rarely. */
int bloom_poll(sqlite3 *database);

/* A poll as the callback of a key set; code is what ended it. */
struct bloom_poller {
    sqlite3 *database;
    int code;
};
bool bloom_poller_ends(void *poller);

/* Call after each `bytes` that a function has processed. Polls every 4 MB; *unpolled carries the
 * remainder. Returns true if the function is to end; it has then failed. */
bool bloom_sql_interrupted(sqlite3_context *context, uint64_t bytes, uint64_t *unpolled);

/* Sets the length of the next stretch of a pass, of which some bytes are done. Polls between two
 * stretches. Returns an SQLite code. */
static inline int bloom_poll_stretch(sqlite3 *database, uint64_t done, uint64_t length,
                                     size_t *stretch) {
    *stretch = length - done < bloom_limits.sql_stretch ? (size_t)(length - done)
                                                        : bloom_limits.sql_stretch;
    return done > 0 ? bloom_poll(database) : SQLITE_OK;
}

/* As memcpy, in stretches. Unless it returns SQLITE_OK, the work is not done. */
int bloom_polled_copy(sqlite3 *database, uint8_t *target, const uint8_t *source, uint64_t length);

#endif
