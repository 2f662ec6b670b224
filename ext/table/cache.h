/* Chunks in memory, for reading and for writing.
 *
 * Finding the row of a chunk takes several times as long as checking or changing a key in it. So
 * rows that are used again are kept in memory, clean as they are in the database, or changed: such
 * a row is a draft, which is written later. Two rules say when a row in memory may be used:
 *
 *   1. Outside of a write transaction of this connection, in a database whose file is not memdb, a
 *      chunk that was copied while the page cache was not shared is valid as long as
 *      SQLITE_FCNTL_DATA_VERSION is the same. Only commits change it, and each changes the version.
 *   2. In a write transaction that has begun for this table (xBegin), what was read or written
 *      since is valid until it ends or is rolled back, in part or whole, which SQLite reports.
 *
 * memdb is the file that sqlite3_deserialize makes. It may put another database there, whose
 * version begins again. In shared-cache mode another connection's uncommitted changes can be seen,
 * except while this one writes.
 *
 * Drafts are written before SQLite commits or begins a savepoint, before a walk over rows, and when
 * memory is short. So a rollback to a savepoint may drop all that is in memory. A statement that
 * fails is rolled back only in the databases that it writes itself, and not where a function in it
 * writes. So within another statement that writes there are no drafts.
 *
 * sqlite3_close calls xRollback, too, before it says that it is busy, and the transaction goes on.
 * SQLite 3.34 and later report whether it does. With earlier ones there are no drafts.
 *
 * A cache belongs to a connection and the name of a table, because SQLite may have several objects
 * of one table: a cursor that is open across a rollback keeps the old one. All caches of a
 * connection share one limit of memory: BLOOM_CACHE_BYTES, or the largest cache_size of their
 * databases if that is more. What was not used for long makes room. With 0 everything works without
 * memory.
 */
#ifndef BLOOM_TABLE_CACHE_H
#define BLOOM_TABLE_CACHE_H

#include "table/database.h"

/* The memory for the rows and indexes of all filter tables of a connection. */
#ifndef BLOOM_CACHE_BYTES
#define BLOOM_CACHE_BYTES (32 << 20)
#endif

struct bloom_cache_array;
struct bloom_cache_entry;

/* A row in memory. */
struct bloom_cache_row {
    struct bloom_cache_row *next, *previous; /* in the ring */
    struct bloom_cache *cache;
    struct bloom_cache_entry *entry;
    sqlite3_int64 id;
    uint32_t length;
    bool is_draft;
    uint64_t used; /* at that time */
    uint8_t bytes[];
};

struct bloom_cache {
    struct bloom_database database;
    struct bloom_caches *shared;
    struct bloom_cache *next;         /* of the connection */
    unsigned references;              /* by objects of the table */
    bool knows_transactions;          /* SQLite reports whether a write transaction is under way */
    bool is_named;                    /* a table got the name while this was open */
    unsigned named_version;           /* of the database, when it got the name */
    uint64_t incarnation;             /* rises when another table gets the name */
    bool is_memory_file;              /* when it was last asked about */
    bool writes;                      /* between xBegin and xCommit or xRollback */
    bool has_written;                 /* a row since then, so that the table is locked */
    bool usable;                      /* at this operation */
    unsigned version;                 /* of the database, to which the epoch belongs */
    int changes;                      /* of rows by the connection, at the last savepoint */
    int depth;                        /* of the savepoint after which all drafts were made */
    bool is_outside;                  /* of other statements that write, since a savepoint */
    uint64_t epoch;                   /* what is known of another epoch is void */
    uint64_t changes_made;            /* by keys, since everything was forgotten */
    uint64_t changes_before;          /* between the last two times of that */
    uint64_t limit;                   /* of memory, for this table's database */
    uint32_t newest;                  /* generation, if it is known in this epoch */
    uint64_t newest_epoch;            /* in which it is known */
    struct bloom_cache_array *arrays; /* by slot and layer */
    unsigned array_count;
    struct bloom_cache_row **drafts;
    size_t draft_count, draft_room;
};

/* Finds the cache of a table, or makes it. NULL: no memory. */
struct bloom_cache *bloom_cache_open(struct bloom_connection *connection, const char *schema,
                                     const char *name);
void bloom_cache_close(struct bloom_cache *cache);

/* Returns true if the file is memdb now. Then row 0 must be read again when the first cursor of a
 * table opens and when its transaction begins, because the file may be another one. */
bool bloom_cache_is_memory_file(struct bloom_cache *cache);

/* The version of the database, which every commit changes, whoever makes it. */
unsigned bloom_cache_version(const struct bloom_cache *cache);

/* Call at each operation: decides whether memory may be used, and forgets what has changed. */
void bloom_cache_start(struct bloom_cache *cache);

/* Returns true if what is read now may be kept. */
bool bloom_cache_may_keep(const struct bloom_cache *cache);

/* A chunk: the number of its layer over all slots, its number in it, how many these are, the id of
 * its row, and its length. */
struct bloom_cache_key {
    unsigned array;
    uint64_t chunk, chunks;
    sqlite3_int64 id;
    uint32_t length;
};

/* What is known of a chunk: nothing; that it was read; that it has no row; or its row, of which
 * *row is then the memory, valid until the next call but find. */
enum bloom_known { BLOOM_UNKNOWN, BLOOM_SEEN, BLOOM_ABSENT, BLOOM_KEPT };
enum bloom_known bloom_cache_find(struct bloom_cache *cache, unsigned array, uint64_t chunk,
                                  uint32_t length, uint8_t **row);

/* Notes that a chunk was read that is not kept, and whether its row exists. */
void bloom_cache_note(struct bloom_cache *cache, const struct bloom_cache_key *key, bool exists);

/* Makes room for the whole row of a chunk, which is not known until bloom_cache_keep says that the
 * row is in it. Without room *row is NULL. Drafts are written to make room only for a change, and
 * only that can fail. */
int bloom_cache_room(struct bloom_cache *cache, const struct bloom_cache_key *key, bool changes,
                     uint8_t **row);
void bloom_cache_keep(struct bloom_cache *cache, const struct bloom_cache_key *key);

/* Forgets a row that was changed in memory and could not be written. */
void bloom_cache_drop(struct bloom_cache *cache, const struct bloom_cache_key *key);

/* Returns true if a row that is kept may be changed now without writing it. */
bool bloom_cache_may_draft(struct bloom_cache *cache);

/* Makes a draft of a row that is kept and has changed. bloom_cache_may_draft must have said so. */
void bloom_cache_draft(struct bloom_cache *cache, const struct bloom_cache_key *key);

/* Writes all drafts. After an error they are drafts still. */
int bloom_cache_write(struct bloom_cache *cache);

/* Forgets everything, drafts, too. */
void bloom_cache_forget(struct bloom_cache *cache);

/* SQLite begins a transaction in which the table is written, ends it, rolls it back, begins or
 * releases the savepoint of that depth, or rolls back to it. */
int bloom_cache_begin(struct bloom_cache *cache);
void bloom_cache_end(struct bloom_cache *cache);
bool bloom_cache_rollback(struct bloom_cache *cache); /* false: the transaction may go on */
int bloom_cache_savepoint(struct bloom_cache *cache, int depth);
void bloom_cache_release(struct bloom_cache *cache, int depth);
void bloom_cache_rollback_to(struct bloom_cache *cache, int depth);

/* Another table gets the name, or none: everything is forgotten, and objects that know another
 * incarnation are of a table that is gone. */
void bloom_cache_rename(struct bloom_cache *cache);

/* SQLite makes an object for a table that exists, perhaps in another file than before. */
void bloom_cache_connect(struct bloom_cache *cache);

#endif
