/* What the files of a filter table's store share, and nobody else: its state, its statements and its chunks.
 *
 *   table_store.c   life, layers and transactions; checks and adds keys
 *   table_chunks.c  rows of the shadow table of chunks, whole or block by block
 *   table_whole.c   what concerns all chunks: info, filter, merge, clear, integrity
 *
 * Every int below is an SQLite result code; on an error other than SQLITE_NOMEM the message has been kept.
 */
#ifndef BLOOM_TABLE_INTERNAL_H
#define BLOOM_TABLE_INTERNAL_H

#include "filter/blocked_kernel.h"
#include "table/store.h"

#include <stdbool.h>
#include <stdint.h>

enum { BLOOM_LAYERS_MAXIMUM = 41 /* from one key on, doubling reaches the largest capacity */ };

/* Blocks of a chunk: 64 KB, the largest page. */
enum { BLOOM_CHUNK_BLOCKS_MAXIMUM = 1024 };

struct bloom_layer {
    struct bloom_shape shape;
    uint32_t chunk_blocks;
    uint64_t keys;
    uint64_t chunks;    /* that have a row */
    uint64_t ones;      /* bits set */
    uint64_t closed_at; /* bits set when it is full */
};

/* What a transaction changes without writing it at once. */
struct bloom_table_state {
    bool loaded;
    bool dirty; /* the last layer's counts differ from its row */
    unsigned layer_count;
    struct bloom_layer layers[BLOOM_LAYERS_MAXIMUM];
};

enum bloom_table_statement {
    BLOOM_LOAD_LAYERS,
    BLOOM_WRITE_LAYER,
    BLOOM_READ_CHUNK,
    BLOOM_WRITE_CHUNK,
    BLOOM_EACH_CHUNK,
    BLOOM_TABLE_STATEMENTS
};

struct bloom_table_store {
    struct bloom_table_registry *registry; /* NULL when no longer in it */
    struct bloom_table_store *next;        /* in the registry */
    int references;
    sqlite3 *database;
    char *schema;
    char *name;
    char *chunks_name; /* of the shadow table */
    struct bloom_table_options options;
    struct bloom_table_state state;
    unsigned
        data_version;  /* of the database when the state was loaded: changes with commits of other
                              connections */
    int total_changes; /* of this connection, likewise: it may write shadow tables by hand */
    bool in_transaction;
    bool
        created; /* in this transaction. A rollback to a savepoint before takes the table away without
                   * telling this store, which must not then write its counts into what is called the same; so
                   * they are written at once. */
    sqlite3_stmt *statements[BLOOM_TABLE_STATEMENTS];
    /* An open handle reads a chunk in less than half the time of a statement, but is a reader: it would keep
     * the database's read transaction alive, and keeps other tables from being dropped. So, as in SQLite's
     * R*Tree, it lives no longer than the cursors at work or the write transaction, and not beyond a savepoint,
     * which DROP opens. */
    sqlite3_blob *handle;
    unsigned cursors; /* open */
    unsigned reads;   /* of blocks, since the handle was closed last */
    bool expects_new; /* the last key added was new, so the next one may be */
    unsigned running; /* statements of the store's own at work */
    uint8_t *chunk;   /* the chunk at hand, largest size */
    char *message;
};

/* table_store.c: SQL on the database of the table */

/* Keeps "TABLE: " and a message (as sqlite3_mprintf) and returns the code, or what SQLite says about a failed
 * call. */
int bloom_store_fail(struct bloom_table_store *store, int code, const char *format, ...);
int bloom_store_fail_sqlite(struct bloom_table_store *store, int code);

/* Runs SQL whose two first arguments are schema and name; a third may follow. */
int bloom_store_execute(struct bloom_table_store *store, const char *format, const char *more);

/* Prepares SQL whose two first arguments are schema and name; the statement is the caller's. */
int bloom_store_prepare_new(struct bloom_table_store *store, const char *format, unsigned flags,
                            sqlite3_stmt **statement);

/* A statement, prepared at its first use and kept, and the end of it after it has been stepped. It may not use a
 * virtual table (a trigger might make it): it would keep this one from being closed. */
int bloom_store_prepare(struct bloom_table_store *store, enum bloom_table_statement which,
                        sqlite3_stmt **statement);
int bloom_store_finish(struct bloom_table_store *store, sqlite3_stmt *statement);

/* table_store.c: layers */

/* Makes the state that of the database, unless nobody can have changed it since it was loaded. Refuses while a
 * statement of the store's own is at work: a trigger on a shadow table could otherwise call the table, and so
 * itself, until the stack is used up. */
int bloom_store_load(struct bloom_table_store *store);

/* Writes the row of a layer. */
int bloom_layer_write(struct bloom_table_store *store, unsigned index);

/* table_chunks.c: a block of a layer, BLOOM_BLOCK_BYTES bytes */

/* Reads a block: zeros when its chunk was never written. */
int bloom_block_read(struct bloom_table_store *store, unsigned index, uint64_t block,
                     uint8_t *bytes);

/* A block that is open for change. No statement may come between open and save or close. */
struct bloom_block_edit {
    unsigned index; /* of the layer */
    uint64_t block;
    sqlite3_blob *handle; /* NULL: the whole chunk is in the store's buffer */
    bool written;         /* the chunk has a row */
    uint8_t bytes[BLOOM_BLOCK_BYTES];
};

/* Reads a block to change its bytes; then saves them, or closes it as it was. After an error nothing is open. */
int bloom_block_open(struct bloom_table_store *store, unsigned index, uint64_t block,
                     struct bloom_block_edit *edit);
int bloom_block_save(struct bloom_table_store *store, struct bloom_block_edit *edit);
void bloom_block_close(struct bloom_block_edit *edit);

/* Closes what is kept open to read blocks. */
void bloom_block_close_handle(struct bloom_table_store *store);

/* table_chunks.c: chunks. Each has a row of full length, the last one of a layer too, so that it fills its page. */

/* Chunks of a layer, written or not, and blocks in one of them: chunk_blocks, fewer in the last one. */
uint64_t bloom_layer_chunks(const struct bloom_layer *layer);
uint32_t bloom_chunk_blocks(const struct bloom_layer *layer, uint64_t chunk);

/* Reads a chunk into the store's buffer: zeros, and *written false, when it was never written. */
int bloom_chunk_read(struct bloom_table_store *store, unsigned index, uint64_t chunk,
                     bool *written);

/* Writes a chunk from the store's buffer, and counts it in its layer when it was not written before. */
int bloom_chunk_write(struct bloom_table_store *store, unsigned index, uint64_t chunk,
                      bool written);

/* Calls visit for every chunk of a layer that has a row, in order. */
int bloom_chunk_for_each(struct bloom_table_store *store, unsigned index,
                         void (*visit)(void *argument, const struct bloom_layer *layer,
                                       uint64_t chunk, const uint8_t *bits),
                         void *argument);

/* Rows of the shadow table of chunks, whatever layer they are of. */
int bloom_chunk_count(struct bloom_table_store *store, uint64_t *rows);

#endif
