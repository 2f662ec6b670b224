/* The rows of a filter table in memory: a hash table from the id of a row to what is known of it.
 *
 * Finding the row of a chunk takes several times as long as checking or changing a key in it. So a
 * row that is used again is kept. span.h says how long that is right, and what the states mean.
 *
 * Nothing makes room. Keys are hashes, so every chunk is as likely as any other to be used next,
 * and no replacement can do better than keeping what there is. When the memory is full, further
 * rows are read from the database and written to it each time.
 *
 * Nothing here runs SQL, and nothing fails.
 */
#ifndef BLOOM_TABLE_ROWS_H
#define BLOOM_TABLE_ROWS_H

#include "sqlite/connection.h"

/* What is known of a row: nothing, that it was used once, that it does not exist, or its bytes. */
enum bloom_known { BLOOM_UNKNOWN, BLOOM_SEEN, BLOOM_ABSENT, BLOOM_KEPT };

/* A row in memory. It is clean, and equals the row in the database, or it is a draft: changed, and
 * not written yet. */
struct bloom_row {
    struct bloom_row *next; /* draft */
    sqlite3_int64 id;
    uint32_t length;
    bool is_draft;
    uint8_t bytes[];
};

struct bloom_slot;

/* Begins as zeros, except for total and limit. */
struct bloom_row_memory {
    uint64_t *total; /* bytes of all rows and slots of the connection's tables */
    uint64_t limit;  /* of that */
    uint64_t bytes;  /* of this table */
    struct bloom_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;       /* slots */
    struct bloom_row *drafts;
    bool is_full; /* the limit was reached, so no further row becomes known */
};

/* Returns what is known of a row. If it is kept, *row is the row, valid until it is dropped. */
enum bloom_known bloom_rows_find(const struct bloom_row_memory *rows, sqlite3_int64 id,
                                 struct bloom_row **row);

/* Notes that a row was used and is not kept, or that it does not exist. */
void bloom_rows_note(struct bloom_row_memory *rows, sqlite3_int64 id, bool exists);

/* Keeps a copy of a row, whose bytes are those of the database. NULL: there is no room. */
struct bloom_row *bloom_rows_keep(struct bloom_row_memory *rows, sqlite3_int64 id,
                                  const uint8_t *bytes, uint32_t length);

/* Makes a draft of a kept row that has changed. */
void bloom_rows_draft(struct bloom_row_memory *rows, struct bloom_row *row);

/* Sorts the drafts by their ids. */
void bloom_rows_sort_drafts(struct bloom_row_memory *rows);

/* The first draft was written, so it is clean now. */
void bloom_rows_clean_first(struct bloom_row_memory *rows);

/* Drops everything except drafts. */
void bloom_rows_drop_clean(struct bloom_row_memory *rows);

/* Drops everything. */
void bloom_rows_drop(struct bloom_row_memory *rows);

#ifdef BLOOM_ASSERTS
/* Fails unless what is noted of each row is found, the drafts are those in the list, and the bytes
 * are those of rows and slots. */
void bloom_rows_check(const struct bloom_row_memory *rows);
#endif

#endif
