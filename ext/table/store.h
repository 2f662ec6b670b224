/* Where a filter table keeps its bits: layers of blocks in two shadow tables.
 *
 *   NAME_layers  layer INTEGER PRIMARY KEY, header BLOB, chunk_blocks INTEGER, keys INTEGER, chunks INTEGER,
 *                ones INTEGER
 *   NAME_chunks  id INTEGER PRIMARY KEY, bits BLOB
 *
 * A layer is one filter of layout blocked. header is the 64-byte header of FORMAT.md; the payload is cut into
 * chunks of chunk_blocks blocks, as many as fill a database page without overflowing it. Chunk c of layer l
 * is the row with id l * 2^40 + c, and is absent until a bit of it is set. keys counts the keys that were new
 * to the table when they were added to the layer, chunks its rows, ones its bits that are set.
 *
 * Only the last layer takes keys. It is closed when it holds as many as its rate allows, and a further one
 * opened: twice the capacity, half the rate (Almeida, Baquero, Preguica, Hutchison, "Scalable Bloom Filters",
 * 2007). The rates add up to at most that of the table: the first layer has the very shape of a filter made
 * for its capacity and rate, but is closed already when its rate reaches 9/10 of that; the others share the
 * last tenth, 1/20, 1/40, ...
 *
 * Counts live in memory during a transaction and are written once, before it commits or
 * opens a savepoint; the bits are written at once.
 */
#ifndef BLOOM_TABLE_STORE_H
#define BLOOM_TABLE_STORE_H

#include "sqlite/sqlite.h"

/* What the arguments of CREATE VIRTUAL TABLE say. */
struct bloom_table_options {
    uint64_t capacity;
    double rate;
    bool growth;
};

struct bloom_table_store;

/* Every int below is an SQLite result code. On an error other than SQLITE_NOMEM the message is kept for
 * bloom_store_message. */

/* The stores of a connection. SQLite may connect a table anew in the middle of a transaction, when the schema
 * has changed, and keeps the older object for the rest of it; both then share one store, and with it the
 * counts that are not written yet. */
struct bloom_table_registry {
    struct bloom_table_store *first;
};

/* The store for table name in schema, to be given back with bloom_store_close; touches no database yet. With
 * create, the table is about to be created, and shares nothing with one that had its name before. NULL when
 * there is no memory. */
struct bloom_table_store *bloom_store_open(struct bloom_table_registry *registry, sqlite3 *database,
                                           const char *schema, const char *name,
                                           const struct bloom_table_options *options, bool create);
void bloom_store_close(struct bloom_table_store *store);

/* The name of the table; valid until it is renamed. */
const char *bloom_store_name(const struct bloom_table_store *store);

/* The message of the last error, allocated by sqlite3_malloc, now the caller's; NULL when there is none. */
char *bloom_store_message(struct bloom_table_store *store);

/* Creates the shadow tables with one empty layer; drops them; renames them. */
int bloom_store_create(struct bloom_table_store *store);
int bloom_store_drop(struct bloom_table_store *store);
int bloom_store_rename(struct bloom_table_store *store, const char *name);

/* Whether a key is probably in. */
int bloom_store_check(struct bloom_table_store *store, const uint64_t *words, bool *found);

/* Adds a key unless it is probably in already, which *found tells. */
int bloom_store_add(struct bloom_table_store *store, const uint64_t *words, bool *found);

/* Adds the keys of a filter that has the shape of the first layer. */
int bloom_store_merge(struct bloom_table_store *store, const struct bloom_stored *filter);

/* Takes all keys and all but the first layer away. */
int bloom_store_clear(struct bloom_table_store *store);

/* A table that has not grown as a filter: its shape, and its bytes from sqlite3_malloc64, which become the
 * caller's. */
int bloom_store_filter(struct bloom_table_store *store, int64_t length_limit,
                       struct bloom_shape *shape, uint8_t **bytes);

/* Everything about the table as a JSON object, from sqlite3_malloc, the caller's. */
int bloom_store_info(struct bloom_table_store *store, char **json);

/* Looks for damage in the shadow tables. *problem stays NULL when all is well, otherwise it is the caller's
 * to sqlite3_free. */
int bloom_store_verify(struct bloom_table_store *store, char **problem);

/* A cursor is opened, and closed: while any is, checks that follow one another share what it takes to read. */
void bloom_store_enter(struct bloom_table_store *store);
void bloom_store_leave(struct bloom_table_store *store);

/* The transaction: begun; about to commit or to open a savepoint, for which the counts are written; over,
 * committed or not; a savepoint released, within which a changeset may have been applied to the shadow tables;
 * rolled back to a savepoint. All may be told more than once, by each object that shares
 * the store. */
int bloom_store_begin(struct bloom_table_store *store);
int bloom_store_sync(struct bloom_table_store *store);
void bloom_store_end(struct bloom_table_store *store);
int bloom_store_release(struct bloom_table_store *store);
void bloom_store_rollback(struct bloom_table_store *store);

#endif
