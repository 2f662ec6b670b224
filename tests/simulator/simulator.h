/* The simulator: one program in which everything that happens follows from one seed. It owns the
 * disk (files in memory, which fail, crash and lose what was not synced), the allocator, the
 * authorizer, the interrupts, SQLite's random numbers and the clock. Several connections take turns
 * in one thread; each step is drawn by its weight. After each step it works out from the shadow
 * table what a filter table must answer, and from what was done what must be in the shadow table.
 *
 *   simulator.c     the program: rounds, steps and their weights
 *   keys.c          the keys, and what is hashed of them
 *   world.c         files and connections, and what each of them must hold (the model)
 *   raw.c           reads a shadow table by plain SQL; what a change must make of it
 *   look.c          compares what a table says with its shadow table
 *   disk.c          the VFS: failures, crashes, locks
 *   run.c           runs statements, with what fails them, and judges how they end
 *   steps_tables.c  steps: tables change and are queried
 *   steps_world.c   steps: transactions, schemas, files, connections, crashes
 *
 * It knows of the extension what a user knows: SQL, the shadow table as ext/FORMAT-tables.md
 * describes it, and the filter library, which computes the sizes of layers and works on blocks. Of
 * ext/table it only reads which rows wait in memory.
 *
 * Three things are compared:
 *
 *   1. Answers, info and filter of a table with the rows of its shadow table, as the same
 *      connection reads them: the path of each key is followed. This holds in any state, also in
 *      one made by hand that will be rolled back. Queries change nothing.
 *   2. The rows with those that the statement must have made of what was there before, to the bit.
 *      Only where the order of keys is not known, it must be enough that no key was lost. Each
 *      chunk must agree with itself.
 *   3. The rows with the model. It follows the transactions, and has a hash of the rows of each
 *      table: for each file as it was committed, and for each connection as it sees the file now
 *      and saw it at each savepoint. So whatever is read must be what was written and neither
 *      rolled back nor lost, after a crash, too.
 *
 * A failure of the disk is a row in disk.c, and a step is a function and a row below.
 */
#ifndef SIMULATOR_H
#define SIMULATOR_H

#include "sqlite-bloom.h"
#include "filter/growth.h"
#include "filter/header.h"
#include "../library/shorthand.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    UNIVERSE = 1024, /* keys are numbers below; see keys.c */
    SLOTS = 2,       /* tables of a file */
    NAMES = 3,       /* that they can have */
    FILES = 3,       /* number 0 is main for every connection, the others are attached as x */
    CONNECTIONS = 2,
    SCHEMAS = 2,
    DEPTH_MOST = 6,
    STATEMENTS_MOST = 100,
    LAYERS_MOST = 12, /* of a generation; UNIVERSE keys fill fewer */
    AGES_MOST = 6     /* generations of a table */
};

/* ---- Keys ---- */

struct keys {
    bool have[UNIVERSE];
};

enum key_type { AS_IT_IS, TEXTS, SALTED, KEY_TYPES };

extern const struct key_type_properties {
    const char *options;
    uint8_t affinity; /* as row 0 has it */
    struct bloom_keying keying;
} TYPES[KEY_TYPES];

/* Bind ?1 of a statement: a key, or JSON of several, in that order. */
void bind_key(sqlite3_stmt *statement, unsigned key);
void bind_list(sqlite3_stmt *statement, const unsigned *keys, unsigned count);
void bind_keys(sqlite3_stmt *statement, const struct keys *keys);

/* What a table of that type hashes a key to; until the next call. */
const uint64_t *words_of(enum key_type type, unsigned key);

/* ---- The model ---- */

struct options {
    struct bloom_growth growth; /* chunk_blocks is 0 until row 0 was read */
    enum key_type key;
};

struct table {
    bool exists;
    unsigned name;
    struct options options;
    uint64_t digest;   /* of the rows of its shadow table */
    bool unknown;      /* that is; what is read next is taken */
    struct keys added; /* at some time: keys to query */
};

struct content {
    struct table tables[SLOTS];
    bool tampered; /* shadow tables were written by hand; the transaction will be rolled back */
};

struct file {
    char path[200];
    bool shared; /* connections share its cache */
    struct content committed;
    struct content now;        /* in a shared cache, with what writer has not committed */
    struct connection *writer; /* in a shared cache */
};

/* A connection's view of the file behind a schema. */
struct link {
    struct file *file; /* NULL: none */
    struct content now, before[DEPTH_MOST + 1];
    bool sees; /* the transaction has read: from here on it sees this */
    bool sure; /* and was not refused */
    bool wrote;
};

struct connection {
    const char *name;
    sqlite3 *database;
    struct link links[SCHEMAS];
    sqlite3_stmt *statements[STATEMENTS_MOST],
        *cursor; /* a query that is not over, of a table; only within a transaction */
    unsigned cursor_schema, cursor_slot, cursor_name;
    bool cursor_renamed; /* its table, since, if only for a time */
    int cursor_key;      /* where it is */
    bool in_transaction, by_savepoint;
    bool query_only;
    unsigned depth;
    /* A change of the schema was refused within the transaction, or an ATTACH failed, after which
     * SQLite reads the schema that is not committed: it may keep the number of one that did not
     * come to be, and not see another connection's that gets the same one. */
    bool schema_in_doubt;
    int touched; /* the one table that the step is about, as schema * SLOTS + slot, or -1 */
    struct saved {
        struct options options; /* chunk_blocks is 0: nothing is saved */
        uint64_t digest;
    } saved; /* the rows of a table, in temp.saved */
};

extern struct file files[FILES];
extern struct connection connections[CONNECTIONS];
extern const char *const NAME[NAMES], *const SCHEMA[SCHEMAS];

/* What is drawn for a round. */
extern struct setting {
    bool shared_cache, wal, synced;
    /* Percent of statements that fail, of tables that count and that have generations, and steps of
     * a thousand with a crash. */
    unsigned faults, counting, generations, crashes;
} setting;

#define BROKEN_FILE "/broken" /* no database */

struct options random_options(void);

/* SQL, written like sqlite3_mprintf does, in memory that is used again 64 calls later. */
const char *sql_of(const char *format, ...);

/* CREATE VIRTUAL TABLE, likewise. */
const char *sql_to_create(const char *schema, unsigned name, const struct options *options);

void world_begin(void);
void world_end(void);

/* A connection of a file; its memory is zeros, or of one that was closed. */
void connection_open(struct connection *connection, const char *name, struct file *file);
void connection_close(struct connection *connection);

/* One that sees what is committed, and is no part of the world. */
sqlite3 *open_database(const struct file *file, int flags);

/* What commits to a schema are worth, in this round. */
void set_durability(sqlite3 *database, const char *schema);

/* Runs SQL; must_run what must succeed. */
int exec(sqlite3 *database, const char *sql);
void must_run(sqlite3 *database, const char *sql);

/* A statement, prepared once and kept, whatever becomes of the file. The format has places for a
 * schema and a name, and for the name as a column. NULL when it cannot be prepared; then *code says
 * why. */
sqlite3_stmt *statement_of(struct connection *connection, unsigned schema, unsigned name,
                           const char *format, int *code);

/* What the connection must see, when it reads, or has read; when it does not read now; and after a
 * change, which has been made. */
struct content *view(struct connection *connection, unsigned schema);
struct content *peek(struct connection *connection, unsigned schema);
struct content *change(struct connection *connection, unsigned schema);

/* What the transaction has made of a file so far. */
struct content *now_of(struct link *link);

/* Returns the table with that name, or NULL if the file has no such table. */
const struct table *table_named(const struct content *content, unsigned name);

/* A transaction begins and ends in the model; what it has made is committed before, or nowhere. */
void model_begin(struct connection *connection, bool by_savepoint);
void model_end(struct connection *connection);

/* ---- Shadow tables ---- */

struct raw_chunk {
    bool exists; /* it has a row that does not count as zeros; else all is 0 */
    bool closed; /* as its head says, as the next two */
    uint64_t ones, keys;
};

struct raw_layer {
    struct bloom_layer form;
    uint8_t *blocks;
    struct raw_chunk *chunks;
};

struct raw {
    struct options options;
    uint64_t newest;
    bool has_period; /* the last number that 'rotate' was given */
    int64_t period;
    /* By age, 0 for the newest generation. Layers that are not yet have no blocks and no chunks. */
    struct raw_layer layers[AGES_MOST * LAYERS_MOST];
    uint64_t digest; /* of all rows */
};

/* Reads a shadow table, as it is. False when a lock is in the way; then nothing is to be cleared.
 */
bool raw_read(struct connection *connection, unsigned schema, unsigned slot, struct raw *raw);

/* Writes what filter tables keep in memory. */
void write_drafts(const struct connection *connection);

/* After DETACH x. A statement may keep an object of the former file, which is never used again, so
 * what it has in memory is not judged. */
void forget_detached(sqlite3 *database);

/* The same as raw_read, and it must be what the model says. */
bool look_raw(struct connection *connection, unsigned schema, unsigned slot, struct raw *raw);

/* Whether a chunk of a layer has a row. */
bool has_rows(const struct raw_layer *layer);

void raw_copy(struct raw *copy, const struct raw *raw);
void raw_clear(struct raw *raw);

/* Rows of chunks, and the keys that they count; of all generations. */
struct raw_size {
    uint64_t rows, keys;
} raw_size(const struct raw *raw);

/* Whether a key is found, as a table must answer. */
bool raw_has(const struct raw *raw, unsigned key);

/* Add a key, as INSERT does (again) or INSERT OR IGNORE; delete one, if it is there; rotate, and
 * rotate with a number. */
enum raw_added { RAW_NEW, RAW_KNOWN, RAW_FULL };
enum raw_added raw_add(struct raw *raw, unsigned key, bool again);
bool raw_remove(struct raw *raw, unsigned key);
void raw_rotate(struct raw *raw);
void raw_rotate_to(struct raw *raw, int64_t period);

/* Whether two tables are the same, except what is stored of forgotten generations. estimated: only
 * their bits are compared. */
bool raw_same(const struct raw *raw, const struct raw *other, bool estimated);

/* Whether no key of a table is lost in the other one: no bit, count or closed mark is. */
bool raw_contains(const struct raw *raw, const struct raw *part);

/* That each chunk agrees with itself. */
void compare_counts(const struct raw *raw, const char *where);

/* Whether a file, as it is committed, holds these tables with these rows. */
enum holding { DIFFERS, HOLDS, LOCKED };
enum holding file_holds(const struct file *file, const struct content *content);

/* ---- The disk ---- */

/* Makes the disk the VFS that SQLite takes; once. */
void disk_install(void);

/* An empty disk, and a seed for the numbers that SQLite takes for random. No file may be open. */
void disk_format(uint64_t seed);

/* A file that SQLite has not written. */
void disk_put(const char *path, const void *bytes, size_t size);

/* The call number n of a kind that is drawn fails, and all after it when it is lasting. Returns the
 * name of the failure. */
const char *disk_fail(unsigned n, bool lasting);
bool disk_forgive(void); /* nothing fails any more; whether something did */

/* Takes all that is there for synced, and an image at the n-th call that changes something, of a
 * loss of power or of a kill. */
void disk_watch(bool power, unsigned n);

/* What the image holds is on the disk, and else nothing. Taken now when none was. No file may be
 * open. */
void disk_crash(void);

unsigned disk_open_files(void);

/* ---- Looking ---- */

/* Compares everything that can be known of a table; all keys when thorough. */
void look(struct connection *connection, unsigned schema, unsigned slot, bool thorough);

/* The same for all tables of a file from a new connection, and PRAGMA integrity_check. */
void look_from_outside(const struct file *file);

/* ---- Faults ---- */

enum fault {
    FAULT_NONE,
    FAULT_ALLOCATION,
    FAULT_ALLOCATIONS,
    FAULT_DENY,
    FAULT_INTERRUPT,
    FAULT_DISK,
    FAULT_DISK_LASTING
};

void faults_install(void);     /* before SQLite is initialised */
enum fault random_fault(void); /* FAULT_NONE mostly, by the weight of faults */

/* SQLite may report an interrupt when all was done, and the failure of a disk when a journal was
 * gone already by which the statement would have been taken back. */
bool may_come_late(enum fault fault);

/* ---- Running ---- */

/* Runs a statement, or SQL when that is NULL, with a fault perhaps; whether it came to pass. */
int run(struct connection *connection, sqlite3_stmt *statement, const char *sql, enum fault fault,
        bool *met);
extern char last_error[300]; /* of that */

/* The transaction is over without our doing: some errors roll it back. */
bool lost_transaction(struct connection *connection);

/* Whether a result is one of a lock of somebody else. */
bool is_busy(int code);

/* A result, or that of a lock on any database, for which SQLite could not see that a schema is an
 * old one. */
int really(struct connection *connection, int code);

/* A lock of somebody else was in the way. When that was the first look of a transaction, nobody can
 * say what it sees; so it ends. */
void refused(struct connection *connection, unsigned schema);

/* What may go wrong without a fault: a lock; and query_only refuses what writes. */
void judge(struct connection *connection, int code, bool met, const char *what);
void judge_write(struct connection *connection, int code, bool met, const char *what);

/* Must succeed or be refused by a lock. */
bool plain(struct connection *connection, const char *sql);

/* A table that is there, or a place for one that is not. */
bool choose(struct connection *connection, unsigned *schema, unsigned *slot, bool exists);
unsigned random_schema(const struct connection *connection);

/* Makes sure what a transaction sees, which a statement that fails would leave in doubt; and that
 * the connection knows the last schema, by which SQLite refuses names that are taken. */
bool settle_view(struct connection *connection, unsigned schema);

/* ---- The steps ---- */

typedef void step(struct connection *connection);

/* Each with its weight. */
#define EACH_STEP(STEP)                                                                            \
    STEP(insert, 300), STEP(insert_many, 160), STEP(delete, 100), STEP(merge, 30),                 \
        STEP(clear, 15), STEP(rotate, 50), STEP(rotate_to, 30), STEP(query, 60), STEP(cursor, 20), \
        STEP(begin, 120), STEP(commit, 40), STEP(rollback, 40), STEP(savepoint, 100),              \
        STEP(release, 50), STEP(rollback_to, 70), STEP(create, 25), STEP(drop, 15),                \
        STEP(rename, 20), STEP(tamper, 30), STEP(restore, 20), STEP(attach, 40), STEP(backup, 5),  \
        STEP(vacuum, 5), STEP(reopen, 2), STEP(read_uncommitted, 10), STEP(stranger, 15),          \
        STEP(busy_close, 15), STEP(query_only, 15), STEP(failed_attach, 15), STEP(serialize, 10)

#define DECLARED(name, weight) step_##name
step EACH_STEP(DECLARED);

/* Ends a query that goes on. */
void cursor_end(struct connection *connection);

/* Makes a step, in which the process is killed or the power goes, and what follows. */
void crash_in(step *made, struct connection *connection);

/* ---- The run ---- */

uint64_t random_next(void);
unsigned random_below(unsigned range);
bool random_once_in(unsigned times);

/* Notes what is done, for the report of a failure. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program as failed unless holds. */
void expect(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

extern uint64_t refusals, faults_met, looks, crashes; /* how many there were */

#endif
