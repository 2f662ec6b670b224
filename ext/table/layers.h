/* The layers of a filter table: what is known of NAME_layers, and for how long it is believed.
 *
 * The state has one owner, this file, and one rule: **what was read is believed only as long as it
 * is proven, at every look, that nothing has changed it; otherwise it is read again.** Reading
 * again takes 0.3 us and is always right, so whatever is in doubt is read again.
 *
 *   What is kept   The rows of NAME_layers (41 at most): header, chunk_blocks, keys, chunks, ones.
 *
 *   Two proofs     Outside of a write transaction of this connection only commits change anything,
 *                  and each commit changes the database's data version (SQLITE_FCNTL_DATA_VERSION).
 *                  So it must be the same, and no write transaction open, then and now.
 *                  In a write transaction in which SQLite tells this table of savepoints, which it
 *                  does from the table's xBegin on, only this connection changes anything. It does
 *                  so by statements, which look at pages and count rows, or by rolling back to a
 *                  savepoint, of which the table is told. So the looks at pages
 *                  (SQLITE_DBSTATUS_CACHE_HIT) must stand still, and of rows none may be
 *                  counted but the one of this table's own last INSERT. A host that sets the first
 *                  back, and then happens to look at as many pages, is found out by the second, and
 *                  the other way round. Neither tells of a write through a BLOB handle that a host
 *                  had open before, which can reach a header, but no number of a row; bits are read
 *                  each time.
 *
 *   No proof       In a write transaction before xBegin; where the cache is shared with other
 *                  connections, whose uncommitted changes may be seen; before SQLite 3.34, which
 *                  does not say whether a transaction writes.
 *
 *   Which file     DETACH and ATTACH, or sqlite3_deserialize, may put another database in the place
 *                  of this one, with the same version. Neither can while the table has a cursor
 *                  open or a part in a transaction (up to SQLite 3.40 at least deserialize can,
 *                  which leaves what is open without its database, and a host must not do). Beyond
 *                  that only the database main is believed, as long as its file is called the same:
 *                  main cannot be detached, and what is deserialized has no path.
 *
 *   Boundaries     xBegin, the end of a transaction, a rollback to a savepoint and every error
 *                  forget (bloom_layers_forget). So does the end of a statement, where no file
 *                  proves more.
 *
 *   Immutable      The shape of a layer follows from its header. It is not worked out again when
 *                  the 64 bytes and chunk_blocks that were read are those of the last time. Nor is
 *                  chunk_blocks compared with the length of a chunk again once there was one, until
 *                  a rollback; where there is no proof it is whenever a chunk is missing.
 *
 * **Counts.** The bits of a key are written at once. Its counts are added to the last layer's row
 * before the transaction commits or opens a savepoint, since a write for each key would cost half
 * as much again as the bits. Until then they are outstanding: here, as differences. Since a
 * savepoint that the table was told of began with none outstanding,
 *
 *   - a rollback to it takes back the bits of exactly those keys that are outstanding, which are
 *     dropped;
 *   - a rollback to one that the table was not told of takes back nothing: SQLite tells of it when
 *     a savepoint could not begin, since this table or another one refused it. One that was told
 *     of, and then refused by another filter table, counts as not told of (see store.c);
 *   - a second object of the same table (SQLite connects a table anew when the schema has changed,
 *     and keeps the older object until the transaction ends) first has those of the others added:
 *     see store.c;
 *   - a table that was created in this transaction may be taken back by a rollback that it is not
 *     told of. So its counts are added at once.
 *
 * A write that failed may have been done all the same (an interrupt can come late). The row itself
 * tells: it has the sums or it has not.
 */
#ifndef BLOOM_TABLE_LAYERS_H
#define BLOOM_TABLE_LAYERS_H

#include "filter/growth.h"
#include "table/chunks.h"

struct bloom_layer {
    struct bloom_geometry geometry;
    bool learned; /* geometry and limits follow from this header */
    uint8_t header[BLOOM_HEADER_BYTES_MAXIMUM];
    uint64_t keys;
    uint64_t chunks; /* that have a row */
    uint64_t ones;   /* bits set; of counters: that are not zero */
    struct bloom_growth_limits limits;
};

/* What is added to the counts of a layer, or taken off. */
struct bloom_more {
    int64_t keys, chunks, ones;
};

struct bloom_layers {
    struct bloom_database *database;
    struct bloom_chunks *chunks;
    struct bloom_growth growth;

    unsigned count;
    struct bloom_layer layers[BLOOM_LAYERS_MAXIMUM];

    enum { BLOOM_PROOF_NONE, BLOOM_PROOF_VERSION, BLOOM_PROOF_LOOKS } proof;
    unsigned version; /* of the database */
    char *file;       /* of the database; NULL: not believed beyond a statement */
    int looks;        /* at pages */
    unsigned changes; /* rows counted */
    bool own_changes; /* and one more when the statement at work ends */
    unsigned cursors; /* open ones */
    bool held;        /* what is known was known under the cursors that are open */
    bool told;        /* of savepoints */

    /* Counts to be added to the row of a layer; those in layers[] include them. */
    struct {
        unsigned layer;
        struct bloom_more more;
        uint64_t row_keys, row_chunks, row_ones; /* of the row, without them */
        bool doubtful;                           /* they may be in the row already */
    } outstanding;
    int savepoints; /* the table was told of the one before this depth, and of no deeper one */
    bool at_once;   /* the table was created in this transaction */
};

/* Nothing to be closed but by bloom_layers_close. */
void bloom_layers_open(struct bloom_layers *layers, struct bloom_database *database,
                       struct bloom_chunks *chunks, const struct bloom_growth *growth);
void bloom_layers_close(struct bloom_layers *layers);

/* Whether chunks of another size than the rows say, in which keys would be looked for in the wrong
 * places, are noticed now; later, before one that is missing is believed to be zeros; or not, since
 * all will be taken away. */
enum bloom_chunk_sizes { BLOOM_SIZES_NOW, BLOOM_SIZES_LATER, BLOOM_SIZES_ANY };

/* Makes layers[] and count what the database says; at least one layer. */
int bloom_layers_know(struct bloom_layers *layers, enum bloom_chunk_sizes sizes);

/* After work that went well: whatever looks at pages there were, they were ours. Called last;
 * changed tells whether SQLite will count a row. */
void bloom_layers_settle(struct bloom_layers *layers, bool changed);

/* The one function that forgets. Outstanding counts are no knowledge, and stay. */
void bloom_layers_forget(struct bloom_layers *layers);

/* Makes the first layer, or the one after the last. */
int bloom_layers_grow(struct bloom_layers *layers);

/* Before a layer is changed: those of one layer alone can be outstanding. */
int bloom_layers_expect_counts(struct bloom_layers *layers, unsigned index);

/* Notes that a layer has so many more keys, chunks and ones. */
int bloom_layers_add_counts(struct bloom_layers *layers, unsigned index, int64_t keys,
                            int64_t chunks, int64_t ones);

/* Writes the outstanding counts. When that fails they stay outstanding, and are in doubt. */
int bloom_layers_write_counts(struct bloom_layers *layers);

/* Puts other counts in the place of those in the row, and of outstanding ones. */
int bloom_layers_set_counts(struct bloom_layers *layers, unsigned index, uint64_t keys,
                            uint64_t chunks, uint64_t ones);

/* Takes all keys and all layers but the first away. */
int bloom_layers_clear(struct bloom_layers *layers);

/* A cursor is opened, and closed. */
void bloom_layers_enter(struct bloom_layers *layers);
void bloom_layers_leave(struct bloom_layers *layers);

/* What SQLite tells of the transaction; see the rule above. */
void bloom_layers_begin(struct bloom_layers *layers);
int bloom_layers_savepoint(struct bloom_layers *layers, int depth);
void bloom_layers_release(struct bloom_layers *layers, int depth);
void bloom_layers_rollback_to(struct bloom_layers *layers, int depth);
void bloom_layers_end(struct bloom_layers *layers, bool rolled_back);

#endif
