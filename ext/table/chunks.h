/* Rows of NAME_chunks: the blocks of a layer, as many in each row as fill a database page without
 * overflowing it, behind the counts of what is in them.
 *
 * FORMAT-tables.md says what a row holds. A row of an older generation than its layer's is stale:
 * it counts as zeros, and is overwritten when a key comes to it. A row is absent until one of its
 * blocks is written.
 *
 * A block is read by a statement, or, where that takes less time, through a BLOB handle, which does
 * not copy the whole row. Rows that are there are changed through a handle alone: bits and counts
 * are written together. Two rules keep handles from doing harm:
 *
 *   1. SQLite asks no authorizer about a handle. So none is used unless the statement that does the
 *      same is prepared, by the authorizer that there is now.
 *   2. An open handle is a reader: it would keep the database's read transaction alive, and keeps
 *      tables from being dropped; one for writing keeps the transaction from being committed. So a
 *      handle for writing lives for one change. The one for reading, kept here, lives while the
 *      table has a cursor open, not even for all of a transaction: when a statement fails and
 *      takes its transaction back, SQLite closes its cursors, ends the transaction and then tells
 *      the tables, and a reader that is still open keeps the lock until the connection's next
 *      statement ends. bloom_chunks_rest is the one function that closes it. SQLite may roll back
 *      and tell us so while a handle is closed or at work: it is taken from its owner before.
 */
#ifndef BLOOM_TABLE_CHUNKS_H
#define BLOOM_TABLE_CHUNKS_H

#include "table/database.h"

/* The first id of the layer with that number. */
static inline sqlite3_int64 bloom_chunks_first_id(unsigned number) {
    return (sqlite3_int64)number << 40;
}

enum { BLOOM_COUNTS_BYTES = 24 };

struct bloom_counts {
    uint32_t keys, ones, reported_keys, reported_ones, generation, zero;
};
#define BLOOM_COUNT_MAXIMUM ((uint32_t)INT32_MAX) /* of the first four, in a sound row */

/* Where the blocks of a layer are. */
struct bloom_geometry {
    unsigned number; /* of the layer */
    struct bloom_shape shape;
    uint32_t chunk_blocks;
    uint32_t generation;
    bool complete; /* every chunk has a row: one that is missing is damage */
    bool checked;  /* there is a row that is as long as chunk_blocks says */
};

/* Begins as the database and zeros. */
struct bloom_chunks {
    struct bloom_database *database;
    sqlite3_blob *handle; /* for reading; NULL when there is none */
    unsigned reads;       /* of blocks, since the handle was closed last */
    uint8_t *chunk;       /* a chunk of largest size, from its first use on */
};

void bloom_chunks_close(struct bloom_chunks *chunks);

/* Closes the handle. */
void bloom_chunks_rest(struct bloom_chunks *chunks);

/* Blocks that go into a row with room for so many bytes, at least 1: SQLite leaves at least 480
 * bytes of a page, more than counts and a block take. */
uint32_t bloom_blocks_in_room(const struct bloom_shape *shape, uint32_t room);

/* Chunks of a layer, with a row or not; bytes of each, and of its blocks; and blocks in one of
 * them: chunk_blocks, fewer in the last one. */
uint64_t bloom_chunks_of_layer(const struct bloom_geometry *geometry);
uint32_t bloom_chunk_bytes(const struct bloom_geometry *geometry);
uint32_t bloom_chunk_block_bytes(const struct bloom_geometry *geometry);
uint32_t bloom_blocks_of_chunk(const struct bloom_geometry *geometry, uint64_t chunk);

/* The block that decides about a key, and the counts of its chunk. A block that is not far from the
 * counts is read and written with them and with what lies between, by one call instead of two: up
 * to 2 KB that takes 50 ns instead of 95, from 3 KB on as long. */
enum { BLOOM_NEAR_BYTES = 3072 };
struct bloom_block {
    const struct bloom_geometry *geometry;
    uint64_t chunk;
    uint32_t offset;      /* in its row */
    sqlite3_blob *handle; /* of what is open for change; NULL: nothing is, or there is no row */
    bool is_stale;        /* the row is; counts and bytes are zeros */
    struct bloom_counts counts;
    uint8_t *bytes; /* in row */
    uint8_t row[BLOOM_NEAR_BYTES + BLOOM_BLOCK_BYTES_MAXIMUM];
};

/* Reads a block, by the words of the key's hash; bytes alone are then of use. */
int bloom_block_read(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     const uint64_t *words, struct bloom_block *block);

/* Reads a block and the counts of its chunk, to change them; handle is NULL before. What is open
 * may be opened as another block, which takes a third of the time of the first. To save, make the
 * row, if there is none, then do what may still be refused, then save; or close it as it was. No
 * statement that writes, but an UPDATE of the layer's row, may come between the last open and save.
 * After an error nothing is open. */
int bloom_block_open(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     const uint64_t *words, struct bloom_block *block);
int bloom_block_make_row(struct bloom_chunks *chunks, struct bloom_block *block);
int bloom_block_save(struct bloom_chunks *chunks, struct bloom_block *block);
void bloom_block_close(struct bloom_block *block);

/* Whether the counts of a chunk may be believed, as far as they alone tell. */
bool bloom_counts_are_sound(const struct bloom_geometry *geometry,
                            const struct bloom_counts *counts);

/* The same as an error. */
int bloom_counts_check(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                       uint64_t chunk, const struct bloom_counts *counts);

/* Reads a chunk: counts, which are checked, and blocks, which *blocks points to until the next
 * call; zeros when it has no row or a stale one. */
int bloom_chunk_read(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t chunk, struct bloom_counts *counts, uint8_t **blocks);

/* Writes the chunk that was read last: with these counts, and the blocks as they are now. */
int bloom_chunk_write(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                      uint64_t chunk, const struct bloom_counts *counts);

/* Reads the first chunk of a layer from *chunk on that has a row which is not stale, and makes
 * *chunk its number; *blocks is NULL when there is none. Counts are not checked. */
int bloom_chunk_next(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t *chunk, struct bloom_counts *counts, uint8_t **blocks);

/* Whether rows of the layer contradict its geometry: a chunk beyond the last, or one of another
 * length. *any tells whether there is a row that says so. */
int bloom_chunks_check(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                       bool *any);

/* The last row from one id to another. */
int bloom_chunks_last(struct bloom_chunks *chunks, sqlite3_int64 from, sqlite3_int64 to, bool *any,
                      sqlite3_int64 *id);

/* Deletes all rows from one id to another, of whatever layers. */
int bloom_chunks_delete(struct bloom_chunks *chunks, sqlite3_int64 from, sqlite3_int64 to);

#endif
