/* A filter table without the virtual table around it: keys, commands and the transaction.
 *
 * The tables of a connection know of each other, for two reasons:
 *
 *   1. SQLite may connect a table anew in the middle of a transaction, when the schema has changed,
 *      and keeps the older object for the rest of it. Counts that one has not written yet (see
 *      layers.h) are written before the other reads.
 *   2. While a statement of one is at work, none can be entered: see database.h.
 *
 * The list of them, the registry, belongs to all together, to the module and to each table: SQLite
 * releases what belongs to a module before the last table is disconnected when another module takes
 * its name (3.40), which a second load of the extension does. Two copies of the library on one
 * connection have a registry each; what that costs is that a layer may be closed later than it
 * should.
 */
#ifndef BLOOM_TABLE_STORE_H
#define BLOOM_TABLE_STORE_H

#include "table/whole.h"

struct bloom_store;

struct bloom_registry {
    unsigned references;
    unsigned running; /* statements of all stores at work */
    struct bloom_store *first;
};

/* One reference, the caller's; NULL: no memory. */
struct bloom_registry *bloom_registry_new(void);
void bloom_registry_release(struct bloom_registry *registry);

/* Every int below is an SQLite result code. On an error other than SQLITE_NOMEM the message is kept
 * for bloom_store_message. */

/* The store for table name in schema, to be given back with bloom_store_close; touches no database
 * yet. NULL when there is no memory. */
struct bloom_store *bloom_store_open(struct bloom_registry *registry, sqlite3 *connection,
                                     const char *schema, const char *name,
                                     const struct bloom_growth *growth);
void bloom_store_close(struct bloom_store *store);

/* Keeps "TABLE: " and the text as the message; SQLITE_ERROR or SQLITE_NOMEM. */
int bloom_store_fail(struct bloom_store *store, const char *text);

/* How its keys are hashed, and whether they can be taken out. */
const struct bloom_layout *bloom_store_layout(const struct bloom_store *store);

/* The message of the last error, allocated by sqlite3_malloc, now the caller's; NULL when there is
 * none. */
char *bloom_store_message(struct bloom_store *store);

/* Creates the shadow tables with one empty layer; drops them; renames them. */
int bloom_store_create(struct bloom_store *store);
int bloom_store_drop(struct bloom_store *store);
int bloom_store_rename(struct bloom_store *store, const char *name);

/* Whether a key is probably in. */
int bloom_store_check(struct bloom_store *store, const uint64_t *words, bool *found);

/* Adds a key, unless it is probably in already, which *found tells. With again, and a layout that
 * counts, one that is in is counted once more. */
int bloom_store_add(struct bloom_store *store, const uint64_t *words, bool again, bool *found);

/* Takes a key out once, unless it seems to be in no layer or in several: from which one is then not
 * known, and the wrong one would lose other keys. The layout counts. */
int bloom_store_remove(struct bloom_store *store, const uint64_t *words);

/* The whole: see whole.h; clear is bloom_layers_clear. */
int bloom_store_filter(struct bloom_store *store, int64_t length_limit, struct bloom_shape *shape,
                       uint8_t **bytes);
int bloom_store_info(struct bloom_store *store, char **json);
int bloom_store_merge(struct bloom_store *store, const struct bloom_stored *filter);
int bloom_store_clear(struct bloom_store *store);
int bloom_store_repair(struct bloom_store *store);
int bloom_store_verify(struct bloom_store *store, char **problem);

/* A cursor is opened, and closed: while any is, checks that follow one another share what it takes
 * to read. */
void bloom_store_enter(struct bloom_store *store);
void bloom_store_leave(struct bloom_store *store);

/* The transaction: begun; about to commit; over, committed or not; a savepoint begins; is released;
 * rolled back to one. */
void bloom_store_begin(struct bloom_store *store);
int bloom_store_sync(struct bloom_store *store);
void bloom_store_end(struct bloom_store *store, bool rolled_back);
int bloom_store_savepoint(struct bloom_store *store, int depth);
void bloom_store_release(struct bloom_store *store, int depth);
void bloom_store_rollback_to(struct bloom_store *store, int depth);

#endif
