/* Copies of chunks in memory, for reading.
 *
 * A check of a filter table reads one block of one row, and finding the row takes several times as
 * long as checking the block. So a chunk that is read for the second time is copied, and later
 * checks use the copy. One rule says when a copy may be used:
 *
 *   Outside of a write transaction of this connection, in a database whose file is not memdb, a
 *   chunk that was copied while the cache was not shared is valid as long as
 *   SQLITE_FCNTL_DATA_VERSION is the same.
 *
 * Only commits change such a chunk, and each of them changes the version. memdb is the file that
 * sqlite3_deserialize makes: it may put another database there whose version begins again. In
 * shared-cache mode another connection's uncommitted changes can be seen.
 *
 * Copies are kept in an array for each slot and layer, indexed by chunk. Each table has a limit of
 * BLOOM_COPIES_BYTES; chunks beyond it are read from the database each time. Nothing else depends
 * on this file: with BLOOM_COPIES_BYTES 0, everything works without copies.
 */
#ifndef BLOOM_TABLE_COPIES_H
#define BLOOM_TABLE_COPIES_H

#include "table/database.h"

#ifndef BLOOM_COPIES_BYTES
#define BLOOM_COPIES_BYTES (32 << 20)
#endif

struct bloom_copy_array;

/* Begins as the database and zeros. */
struct bloom_copies {
    struct bloom_database *database;
    const void *methods;             /* of the database's file, asked about last */
    bool is_memory_file;             /* these are memdb's */
    bool writes;                     /* between xBegin and xCommit or xRollback */
    bool usable;                     /* at this query */
    unsigned version;                /* of the database, to which the epoch belongs */
    uint64_t epoch;                  /* entries of another epoch are void */
    uint64_t bytes;                  /* allocated */
    struct bloom_copy_array *arrays; /* by slot and layer */
    unsigned count;                  /* of arrays */
};

void bloom_copies_close(struct bloom_copies *copies);

/* Returns true if the file is memdb now. Then row 0 must be read again when the first cursor of a
 * table opens and when its transaction begins, because the file may be another one. */
bool bloom_copies_is_memory_file(struct bloom_copies *copies);

/* Returns true if what is read now may be kept. */
bool bloom_copies_may_keep(const struct bloom_copies *copies);

/* Call at each query: decides whether copies may be used, and forgets them when the database has
 * changed. */
void bloom_copies_start(struct bloom_copies *copies);

/* What is known of a chunk: nothing; that it was read before and that its row, of that length, fits
 * into the limit, so that it should be copied now; that it has no row; or its copy, which *row then
 * is, valid until the next call but find. Arrays are numbered by slot and layer, and have `chunks`
 * entries. This is the only place that asks about the limit of rows. */
enum bloom_copy { BLOOM_COPY_UNKNOWN, BLOOM_COPY_WANTED, BLOOM_COPY_ABSENT, BLOOM_COPY_FOUND };
enum bloom_copy bloom_copies_find(const struct bloom_copies *copies, unsigned array, uint64_t chunk,
                                  uint32_t length, const uint8_t **row);

/* Notes that a chunk of which nothing was known was read, and whether its row exists. Returns
 * SQLITE_OK or SQLITE_NOMEM. */
int bloom_copies_note(struct bloom_copies *copies, unsigned array, uint64_t chunks, uint64_t chunk,
                      bool exists);

/* Copies the whole row of a chunk that bloom_copies_find has just said to be wanted. Returns
 * SQLITE_OK or SQLITE_NOMEM. */
int bloom_copies_make(struct bloom_copies *copies, unsigned array, uint64_t chunk,
                      const uint8_t *row, uint32_t length);

#endif
