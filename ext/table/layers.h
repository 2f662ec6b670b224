/* The layers of a filter table: what is known of NAME_layers, and for how long it is believed.
 *
 * The state has one owner, this file, and one rule: **what was read is believed for as long as nothing
 * can have changed it, which is proven anew at every look; otherwise it is read again.** Reading again
 * takes 0.3 us, and is always right, so everything that is in doubt is read again.
 *
 *   What is kept      The rows of NAME_layers (41 at most): header, chunk_blocks, keys, chunks, ones.
 *
 *   What proves it    This connection has not looked at a single page of its databases since
 *                     (SQLITE_DBSTATUS_CACHE_HIT and _MISS stand still). Whatever changes a table, by
 *                     hand, by a trigger, a changeset, a backup, a changed schema, looks at pages; so
 *                     does a new transaction, which looks at page 1 for the commits of others.
 *
 *   What that does    A rollback to a savepoint need not look at a page. So nothing is believed in a
 *   not prove         write transaction, unless SQLite tells this table of savepoints, which it does
 *                     from the table's xBegin to the end of the transaction.
 *                     A cache shared with other connections shows what they roll back likewise: then
 *                     nothing is believed.
 *                     DETACH and ATTACH, or sqlite3_deserialize, may put another database in the place
 *                     of this one, whose counts of pages happen to be the same. Neither can while the
 *                     table has a cursor open or a part in a transaction. Otherwise only what is in the
 *                     database main is believed, while its file has the same name.
 *
 *   At the boundaries xBegin, the end of a transaction and a rollback to a savepoint forget
 *                     (bloom_layers_forget); a statement's end does, unless the database is main in
 *                     a file; an error does.
 *
 *   What is immutable The shape of a layer follows from its header. It is not worked out again when the
 *                     64 bytes and chunk_blocks read are those of the last time.
 *
 * **Counts.** The bits of a key are written at once. Its counts are added to the last layer's row before
 * the transaction commits or opens a savepoint, since a write for each key would cost half as much again
 * as the bits. Until then they are here as differences, not as sums: whatever the row says at the
 * end, they are added to it. Since every savepoint begins with none outstanding,
 *
 *   - a rollback to a savepoint takes back the bits of exactly those keys that are outstanding, which
 *     are therefore dropped;
 *   - but not after a savepoint that was refused because adding them failed: nothing was rolled back
 *     then, and they stay;
 *   - a second object of the same table (SQLite connects a table anew when the schema has changed, and
 *     keeps the older object until the transaction ends) first has those of the others added: see
 *     store.c;
 *   - a table that was created in this transaction may be taken back by a rollback that it is not told
 *     of. So its counts are added at once.
 */
#ifndef BLOOM_TABLE_LAYERS_H
#define BLOOM_TABLE_LAYERS_H

#include "filter/growth.h"
#include "table/chunks.h"

struct bloom_layer {
    struct bloom_geometry geometry;
    bool learned; /* geometry and limits follow from this header */
    uint8_t header[BLOOM_HEADER_BYTES];
    uint64_t keys;
    uint64_t chunks; /* that have a row */
    uint64_t ones;   /* bits set; of counters: that are not zero */
    struct bloom_growth_limits limits;
};

/* No depth of a savepoint: they count from 0, and -1 is the transaction that SAVEPOINT began. */
enum { BLOOM_NO_SAVEPOINT = -2 };

struct bloom_layers {
    struct bloom_database *database;
    struct bloom_chunks *chunks;
    struct bloom_growth growth;

    unsigned count;
    struct bloom_layer layers[BLOOM_LAYERS_MAXIMUM];

    /* The proof. */
    bool read;        /* the rows above are those of some time */
    bool provable;    /* and nothing can change them without a look at a page */
    int hits, misses; /* looks at pages when they were last known to be right */
    char *file;       /* name of the database's file; NULL: not believed beyond a statement */
    unsigned cursors; /* open ones */
    bool told;        /* of savepoints */

    /* Counts to be added to the row of a layer; those in layers[] include them. */
    struct {
        unsigned layer;
        int64_t keys, chunks, ones;
    } outstanding;
    int refused_savepoint; /* the one that could not begin; BLOOM_NO_SAVEPOINT */
    bool at_once;          /* the table was created in this transaction */
};

/* Nothing to be closed but by bloom_layers_close. */
void bloom_layers_open(struct bloom_layers *layers, struct bloom_database *database,
                       struct bloom_chunks *chunks, const struct bloom_growth *growth);
void bloom_layers_close(struct bloom_layers *layers);

/* Makes layers[] and count what the database says; at least one layer. */
int bloom_layers_know(struct bloom_layers *layers);

/* After work that went well: whatever looks at pages there were, they were ours. Called last. */
void bloom_layers_settle(struct bloom_layers *layers);

/* The one function that forgets. Outstanding counts are no knowledge, and stay. */
void bloom_layers_forget(struct bloom_layers *layers);

/* Makes the first layer, or the one after the last. */
int bloom_layers_grow(struct bloom_layers *layers);

/* Notes that a layer has so many more keys, chunks and ones. */
int bloom_layers_add_counts(struct bloom_layers *layers, unsigned index, int64_t keys,
                            int64_t chunks, int64_t ones);

/* Writes the outstanding counts. When that fails they stay outstanding. */
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
void bloom_layers_rollback_to(struct bloom_layers *layers, int depth);
void bloom_layers_end(struct bloom_layers *layers);

#endif
