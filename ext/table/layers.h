/* The layers of a filter table: what is known of NAME_layers, and for how long it is believed.
 *
 * The rows that count have one owner, this file, and one rule: **what was read is believed only as
 * long as it is proven, at every look, that nothing has changed it; otherwise it is read again**,
 * which takes 0.5 us and is always right.
 *
 *   Two proofs     Outside of a write transaction of this connection only commits change anything,
 *                  and each of them the database's data version (SQLITE_FCNTL_DATA_VERSION). So it
 *                  must be the same, and no write transaction open, then and now.
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
 *                  the header and chunk_blocks that were read are those of the last time. Nor is
 *                  chunk_blocks compared with the length of a chunk again once there was one, until
 *                  a rollback; where there is no proof it is whenever a chunk is missing.
 *
 * Which rows count, and when a chunk reports its counts to the row of its layer, is in
 * FORMAT-tables.md. Nothing is outstanding between two calls of SQLite. To write the row takes a
 * second page and 0.3 us, so a chunk may hide 15 keys until the layer may be full. A chunk that
 * gets no key from then on still hides its own: before a layer of few chunks takes a key then, its
 * chunks are counted; of more chunks that happens to one in 10^9. The row is written before the
 * chunk, since another connection of a shared cache, or an authorizer, may refuse it.
 */
#ifndef BLOOM_TABLE_LAYERS_H
#define BLOOM_TABLE_LAYERS_H

#include "filter/growth.h"
#include "table/chunks.h"

/* A chunk that has so many keys more or fewer than it reported reports. */
enum { BLOOM_REPORT_KEYS = 16 };

/* As the row has them. */
struct bloom_sums {
    uint64_t keys;   /* reported ones */
    uint64_t chunks; /* that have reported a key */
    uint64_t ones;   /* reported bits that are set; of counters: that are not zero */
};

struct bloom_layer {
    struct bloom_geometry geometry;
    bool learned; /* geometry and limits follow from this header */
    uint8_t header[BLOOM_HEADER_BYTES_MAXIMUM];
    struct bloom_sums sums;
    struct bloom_growth_limits limits;
};

/* The layers of all generations that live. They lie by their numbers, in slots; first is that of
 * the oldest generation, from which bloom_layers_at counts. Begins as the first three and zeros. */
struct bloom_layers {
    struct bloom_database *database;
    struct bloom_chunks *chunks;
    struct bloom_growth growth;

    unsigned count, room, first;
    uint32_t newest;            /* generation */
    uint32_t page_room;         /* on a page, asked for in this call of SQLite; 0: not yet */
    struct bloom_layer *layers; /* room of them, from the first look on */

    enum { BLOOM_PROOF_NONE, BLOOM_PROOF_VERSION, BLOOM_PROOF_LOOKS } proof;
    unsigned version; /* of the database */
    char *file;       /* of the database; NULL: not believed beyond a statement */
    int looks;        /* at pages */
    unsigned changes; /* rows counted */
    bool own_changes; /* and one more when the statement at work ends */
    unsigned cursors; /* open ones */
    bool held;        /* what is known was known under the cursors that are open */
    bool told;        /* of savepoints */
    bool expects_new; /* the last key added was new, so the next one may be: see keys.c */
};

void bloom_layers_close(struct bloom_layers *layers);

/* Whether chunks of another size than the rows say, in which keys would be looked for in the wrong
 * places, are noticed now; later, before one that is missing is believed to be zeros; or not, since
 * all will be taken away. */
enum bloom_chunk_sizes { BLOOM_SIZES_NOW, BLOOM_SIZES_LATER, BLOOM_SIZES_ANY };

/* Begins whatever is done to a table in one call of SQLite: makes layers[] and count what the
 * database says; at least one layer. */
int bloom_layers_start(struct bloom_layers *layers, enum bloom_chunk_sizes sizes);

/* Ends it, and returns code, with which it ended. changed tells whether SQLite will count a row. */
int bloom_layers_finish(struct bloom_layers *layers, int code, bool changed);

/* The one function that forgets. */
void bloom_layers_forget(struct bloom_layers *layers);

/* Where layer number index is, from the first of the oldest generation, and how many are older than
 * the first of the newest. */
static inline struct bloom_layer *bloom_layers_at(const struct bloom_layers *layers,
                                                  unsigned index) {
    return &layers->layers[(layers->first + index) % layers->count];
}
unsigned bloom_layers_older(const struct bloom_layers *layers);

/* Makes the first layer of an empty table; a further one of the newest generation; the first one of
 * a new generation, which takes the slot of the one that is forgotten. Then indices are others. */
int bloom_layers_create(struct bloom_layers *layers);
int bloom_layers_grow(struct bloom_layers *layers);
int bloom_layers_rotate(struct bloom_layers *layers);

/* Prepares all that keys need to be written, and further layers if it grows. */
int bloom_layers_prepare(struct bloom_layers *layers, bool grows);

/* Whether a layer that has so many keys and ones takes one more; what it does not take is a key
 * that is new. */
static inline bool bloom_layer_takes(const struct bloom_layer *layer,
                                     const struct bloom_sums *has) {
    return has->keys < layer->limits.keys && has->ones < layer->limits.ones;
}

/* Whether so many keys more may fill a layer, by its row and what chunks may not have reported. */
bool bloom_layer_may_fill(const struct bloom_layer *layer, uint64_t keys);

/* Sums of what a layer has, reported or not; chunks is 0. */
int bloom_layers_count(struct bloom_layers *layers, const struct bloom_layer *layer,
                       struct bloom_sums *has);

/* Reports the counts of a chunk to sums; and to the row, if they are about to be written and that
 * is due, when so many keys more may come to the layer before the chunk is written again. */
void bloom_sums_report(struct bloom_sums *sums, struct bloom_counts *counts);
int bloom_layers_report(struct bloom_layers *layers, struct bloom_layer *layer,
                        struct bloom_counts *counts, uint64_t more);

/* Writes sums in the place of those in the row. */
int bloom_layers_write(struct bloom_layers *layers, struct bloom_layer *layer,
                       const struct bloom_sums *sums);

/* Takes layers and chunks from a number on away, also chunks of no layer. */
int bloom_layers_truncate(struct bloom_layers *layers, unsigned number);

/* Takes all keys, all generations and all layers but the first away. */
int bloom_layers_clear(struct bloom_layers *layers);

/* A cursor is closed, which was counted in cursors when it was opened. */
void bloom_layers_leave(struct bloom_layers *layers);

/* What SQLite tells of the transaction; see the rule above. */
void bloom_layers_begin(struct bloom_layers *layers);
void bloom_layers_savepoint(struct bloom_layers *layers, bool rolled_back);
void bloom_layers_end(struct bloom_layers *layers, bool rolled_back);

#endif
