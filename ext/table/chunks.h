/* Rows of NAME_chunks: the blocks of a layer, as many in each row as fill a database page without
 * overflowing it.
 *
 * Chunk c of layer l is the row with id l * 2^40 + c. It holds the blocks from c * chunk_blocks on
 * and is always of full length, the last one of a layer, too, so that it fills its page; blocks
 * beyond the last one are zero. It is absent until one of its blocks is written; an absent one is
 * zeros.
 *
 * A block is read and changed by a statement, or, where that takes less time, through a BLOB
 * handle, which does not copy the whole row. Two rules keep handles from doing harm:
 *
 *   1. SQLite asks no authorizer about a handle. So none is used unless the statement that does the
 *      same is prepared, by the authorizer that there is now.
 *   2. An open handle is a reader: it would keep the database's read transaction alive, and keeps
 *      tables from being dropped; one for writing keeps the transaction from being committed. So a
 *      handle for writing lives for one change, and the one for reading, which is kept here, no
 *      longer than its owner says: bloom_chunks_rest is the one function that closes it. SQLite may
 *      roll back and tell us so while a handle is closed or at work: it is taken from its owner
 *      before.
 *
 * When a statement fails and takes its transaction back, SQLite first ends the transaction and then
 * tells the tables. Who still reads then keeps the lock, which nobody lets go of until the
 * connection's next statement ends. So a handle is not kept from one statement to the next, not
 * even within a transaction, but only while the table has a cursor open: SQLite closes the cursors
 * of a statement before.
 */
#ifndef BLOOM_TABLE_CHUNKS_H
#define BLOOM_TABLE_CHUNKS_H

#include "table/database.h"

/* Chunk ids of a layer. */
enum { BLOOM_CHUNK_ID_BITS = 40 };

/* Where the blocks of a layer are. */
struct bloom_geometry {
    unsigned layer;
    struct bloom_shape shape;
    uint32_t chunk_blocks;
    bool complete; /* every chunk has a row: one that is missing is damage */
    bool checked;  /* there is a row that is as long as chunk_blocks says */
};

struct bloom_chunks {
    struct bloom_database *database;
    sqlite3_blob *handle; /* for reading; NULL when there is none */
    unsigned reads;       /* of blocks, since the handle was closed last */
    uint8_t *chunk;       /* the buffer: a chunk of largest size */
};

/* False: no memory. To be closed in either case. */
bool bloom_chunks_open(struct bloom_chunks *chunks, struct bloom_database *database);
void bloom_chunks_close(struct bloom_chunks *chunks);

/* Closes the handle. */
void bloom_chunks_rest(struct bloom_chunks *chunks);

/* Chunks of a layer, with a row or not; bytes of each; and blocks in one of them: chunk_blocks,
 * fewer in the last one. */
uint64_t bloom_chunks_of_layer(const struct bloom_geometry *geometry);
uint32_t bloom_chunk_bytes(const struct bloom_geometry *geometry);
uint32_t bloom_blocks_of_chunk(const struct bloom_geometry *geometry, uint64_t chunk);

/* Reads a block. */
int bloom_block_read(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t block, uint8_t *bytes);

/* A block that is open for change; none while the handle is NULL and nothing was opened. No
 * statement may come between the last open and save. */
struct bloom_block_edit {
    const struct bloom_geometry *geometry;
    uint64_t block;
    sqlite3_blob *handle; /* NULL: the whole chunk is in the buffer */
    bool has_row;
    uint8_t bytes[BLOOM_BLOCK_BYTES_MAXIMUM];
};

/* Reads a block to change its bytes; then saves them, or closes it as it was. One that is open may
 * be opened as another one, which takes a third of the time of the first. After an error nothing is
 * open. Saving may have made a new row: edit->has_row was false. */
int bloom_block_open(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t block, struct bloom_block_edit *edit);
int bloom_block_save(struct bloom_chunks *chunks, struct bloom_block_edit *edit);
void bloom_block_close(struct bloom_block_edit *edit);

/* Reads a chunk into the buffer, zeros when it has no row; writes it from there. */
int bloom_chunk_read(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                     uint64_t chunk, bool *has_row);
int bloom_chunk_write(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                      uint64_t chunk);

/* Calls visit for every chunk of a layer that has a row, in order. */
int bloom_chunks_for_each(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                          void (*visit)(void *argument, const struct bloom_geometry *geometry,
                                        uint64_t chunk, const uint8_t *bits),
                          void *argument);

/* Whether rows of the layer contradict its geometry: a chunk beyond the last, or one of another
 * length. *any tells whether there is a row that says so. */
int bloom_chunks_check(struct bloom_chunks *chunks, const struct bloom_geometry *geometry,
                       bool *any);

/* All rows, whatever layer they are of. */
int bloom_chunks_count(struct bloom_chunks *chunks, uint64_t *rows);

/* Takes all rows away. */
int bloom_chunks_clear(struct bloom_chunks *chunks);

#endif
