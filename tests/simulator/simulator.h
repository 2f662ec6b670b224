/* The simulator: one program in which everything that happens follows from one seed. It owns the
 * disk (files in memory, which fail, crash and lose what was not synced), the allocator, the
 * authorizer, the interrupts, SQLite's random numbers and the clock. Several connections take turns
 * in one thread; each step is drawn by its weight. After each step it works out from the shadow
 * table what a filter table must answer, and from what was done what must be in the shadow table.
 *
 *   simulator.c           the program: rounds, weights, the fewest steps to a failure
 *   keys.c                the keys, and what each is in a column of each type
 *   world.c               files and connections, and what each of them must hold (the model)
 *   raw.c                 reads a shadow table by plain SQL; what a change must make of it
 *   look.c                compares
 *   disk.c                the VFS: failures, crashes, locks
 *   crash.c               windows for a crash; what must be there after it
 *   faults.c              what fails a statement: allocations, authorizers, interrupts, the disk
 *   run.c                 runs a step's statements, and judges how they end
 *   steps_keys.c          they add, take out, merge and clear
 *   steps_sets.c          they add sets of hashes
 *   steps_queries.c       they ask
 *   steps_transactions.c  transactions and savepoints
 *   steps_schema.c        tables are created, dropped and renamed
 *   steps_shadow.c        the shadow tables are changed by hand and by changesets
 *   steps_files.c         other files, copies and connections
 *   steps_application.c   what an application does beside SQL
 *
 * It knows of the extension what a user knows: SQL, the shadow table as ext/FORMAT-tables.md
 * describes it, and the filter library, which gives the size of a filter and works on its blocks.
 * It uses nothing of ext/table.
 *
 * Three things are compared:
 *
 *   1. Answers, info and filter of the table with the rows of the shadow table, as the same
 *      connection reads them: the path of each key is followed. This holds in any state, also in
 *      one made by hand that will be rolled back, where a damaged row on the path must be an error.
 *      Queries change nothing.
 *   2. The shadow table with the model, also amid transactions: each key that was added is found in
 *      the generation that has it; the counts of each chunk are those of its bits; a chunk is
 *      closed when it is full; a path leads to each. A statement has made of bits, counts and
 *      marks what raw.c makes of them. A table that counts has each key as often as it was added
 *      and not yet deleted.
 *   3. A file after a crash with what was committed: all rows of all tables are those of a moment
 *      that the crash may have left, to the byte.
 *
 * The model follows the transactions: a content for each file as it was committed, and for each
 * connection and attached file what it sees now and what it saw at each savepoint.
 *
 * A new kind of failure of the disk is a row in disk.c, a new step a function and a row in steps.h.
 */
#ifndef SIMULATOR_H
#define SIMULATOR_H

#ifndef SQLITE_ENABLE_SESSION /* for sqlite3.h: changesets are applied */
#define SQLITE_ENABLE_SESSION
#define SQLITE_ENABLE_PREUPDATE_HOOK
#endif
#include "sqlite-bloom.h"
#include "filter/header.h"
#include "filter/layout.h"
#include "../library/shorthand.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UNIVERSE = 1024, /* keys are numbers below; see keys.c */
    SLOTS = 2,       /* tables of a file */
    NAMES = 3,       /* that they can have */
    FILES = 3,       /* number 0 is main for every connection, the others are attached as x */
    CONNECTIONS = 2,
    SCHEMAS = 2,
    DEPTH_MOST = 6,
    QUESTIONS = 8,    /* of one statement */
    LAYERS_MOST = 12, /* of a generation; UNIVERSE keys fill fewer */
    AGES_MOST = 6     /* generations of a table */
};

/* ---- Sets of keys ---- */

struct keys {
    uint64_t words[UNIVERSE / 64];
};

static inline bool keys_have(const struct keys *keys, unsigned key) {
    return (keys->words[key / 64] >> key % 64 & 1) != 0;
}

static inline void keys_add(struct keys *keys, unsigned key) {
    keys->words[key / 64] |= UINT64_C(1) << key % 64;
}

unsigned keys_count(const struct keys *keys);

/* Of the key column: the first ones are those of an ordinary column, too; then key rules, salts. */
enum key_type {
    AS_IT_IS,
    BLOBS,
    TEXTS,
    NUMBERS,
    INTEGERS,
    REALS,
    COLUMN_TYPES,
    URLS = COLUMN_TYPES,
    URLS_NOCASE,
    SALTED,
    SALTED_TEXTS,
    SALTED_URLS,
    KEY_TYPES
};

extern const struct key_type_properties {
    const char *options; /* that bloom_hashes takes for it */
    enum key_type column;
    unsigned rule; /* number of its key rule, or 0 */
    bool salted;
} TYPES[KEY_TYPES];

enum { KEY_TEXT_SIZE = 40 };

struct key_value {
    int type; /* as sqlite3_value_type */
    sqlite3_int64 integer;
    double real;
    char text[KEY_TEXT_SIZE]; /* or bytes */
    int length;
};

void keys_learn(void); /* what SQLite makes of them; first of all */
void bind_key(sqlite3_stmt *statement, int parameter, unsigned key);

/* What a column of that type stores of a key; the hash of that; that of what is compared with the
 * column; and those of all entries that cover it, by a key rule. NULL: it has none by the rule. */
const struct key_value *stored_key(enum key_type type, unsigned key);
const uint64_t *added_words(enum key_type type, unsigned key);
const uint64_t *asked_words(enum key_type type, unsigned key);
unsigned covering_words(enum key_type type, unsigned key, const uint64_t **words);

/* The key rule and the salt of a filter with keys of that type. */
struct bloom_keying keying_of(enum key_type type);

/* ---- The model ---- */

struct options {
    uint64_t capacity;
    double rate;
    bool grows, refuses; /* growth=on, growth=error */
    enum key_type key;
    bool counts;   /* layout=counting */
    unsigned ages; /* generations=G, or 1 */
};

struct table {
    bool exists;
    unsigned name;
    struct options options;
    /* That must be in: those that the newest generation has, the one before it, ... */
    struct keys keys[AGES_MOST];
    /* When it counts: how often each key is in at least, up to COPIES_MOST. */
    uint8_t copies[UNIVERSE];
    uint64_t counted; /* what info counts */
    bool unknown;     /* that is, because a change was not followed; the next look settles it */
};

enum { COPIES_MOST = 15 };

struct content {
    struct table tables[SLOTS];
    bool tampered; /* shadow tables were written by hand; the transaction will be rolled back */
};

struct file {
    char path[200]; /* empty: in memory, of one connection */
    struct content committed;
    struct content now;        /* in a shared cache, with what writer has not committed */
    struct connection *writer; /* in a shared cache */
};

enum statement {
    CONFIGURATION,
    CHUNKS,
    ADD,
    ADD_NEW,
    ADD_COUNTED,
    ADD_MANY,
    ADD_MANY_NEW,
    ADD_ALL, /* hashed as ?1 says */
    REMOVE,
    REMOVE_MANY,
    CHECK,
    CHECK_MANY, /* of QUESTIONS keys; gives their numbers, from 0 */
    COVERS,
    INFO,
    FILTER,
    MERGE,
    CLEAR,
    ROTATE,
    STATEMENTS
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
    struct file memory[SCHEMAS]; /* behind a schema after sqlite3_deserialize */
    sqlite3_stmt *statements[SCHEMAS][NAMES][STATEMENTS];
    sqlite3_stmt *cursor; /* a query that is not over, of a table; only within a transaction */
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
    /* After sqlite3_deserialize SQLite disconnects tables while the next statement is prepared.
     * When a table prepares it amid another statement, SQLite may abort that one. */
    bool will_disconnect;
    bool other_schema[SCHEMAS]; /* than when statements were prepared, perhaps: see deserialize */
    struct keys asked;          /* what in_set() tells */
    int touched; /* the one table that the step is about, as schema * SLOTS + slot, or -1 */
};

extern struct file files[FILES];
extern struct connection connections[CONNECTIONS];
extern bool shared_cache, main_in_memory; /* in this round */
enum journal { JOURNAL_DELETE, JOURNAL_TRUNCATE, JOURNAL_PERSIST, JOURNAL_MEMORY, JOURNAL_WAL };
enum synchronous { SYNCHRONOUS_OFF, SYNCHRONOUS_NORMAL, SYNCHRONOUS_FULL, SYNCHRONOUS_EXTRA };
extern enum journal journal;
extern enum synchronous synchronous;
extern char broken_file[200]; /* the path of one that is no database */
extern const char *const NAME[NAMES], *const SCHEMA[SCHEMAS];

/* Puts bytes of sqlite3_serialize behind a schema, and owns them. */
bool put_bytes(struct connection *connection, unsigned schema, unsigned char *bytes,
               sqlite3_int64 size);

/* A schema was changed in some file, or is of another file now. */
void schema_changed(void);

/* Puts the committed content of a file behind a schema. */
bool deserialize(struct connection *connection, unsigned schema, const struct file *from);

struct options random_options(void);

/* CREATE VIRTUAL TABLE; from sqlite3_malloc. */
char *sql_to_create(const char *schema, unsigned name, const struct options *options);

void world_begin(void);
void world_end(bool readable);
void connection_open(struct connection *connection);
void connection_close(struct connection *connection);
sqlite3 *fresh_connection(const struct file *file, int flags);

/* For what must succeed. */
void must_run(sqlite3 *database, const char *sql);
sqlite3_stmt *must_prepare(sqlite3 *database, const char *sql);

/* What commits to a schema are worth, in this round. */
void set_durability(sqlite3 *database, const char *schema);

/* A statement, prepared once and kept, whatever becomes of the file. NULL when it cannot be
 * prepared; then *code says why. */
sqlite3_stmt *statement_of(struct connection *connection, unsigned schema, unsigned name,
                           enum statement which, int *code);

void forget_statements(struct connection *connection, unsigned schema);

/* What the connection must see, when it reads, or has read; when it does not read now; and after a
 * change, which has been made. */
struct content *view(struct connection *connection, unsigned schema);
const struct content *peek(struct connection *connection, unsigned schema);
struct content *change(struct connection *connection, unsigned schema);

/* The model's part in what is done to a table. copy: it was counted; age: of the generation in
 * which the key is now. */
void table_add(struct table *table, unsigned key, bool copy, unsigned age);
void table_rotate(struct table *table);
void table_remove(struct table *table, const struct keys *keys);
void table_clear(struct table *table);

/* The transaction's end, and its savepoints, in the model. */
void model_begin(struct connection *connection, bool by_savepoint);
void model_commit(struct connection *connection);
void model_keep(struct connection *connection, unsigned schema); /* only this one is committed */
void model_rollback(struct connection *connection);
void model_rollback_to(struct connection *connection, unsigned level);

/* Whether a change is open that others may or may not see. */
bool change_is_open(const struct connection *connection, unsigned schema);
bool is_tampered(const struct connection *connection); /* by itself: it may not commit */

/* ---- Looking ---- */

struct raw_chunk {
    bool exists;         /* it has a row that does not count as zeros; else all but damaged is 0 */
    bool damaged;        /* it has a row that a reader must refuse */
    bool closed;         /* as its head says, as the next two */
    uint64_t ones, keys; /* of which keys may lack some that seemed to be in */
    uint64_t bits;       /* or counters, that are set */
};

struct raw_layer {
    unsigned index;
    struct bloom_shape shape;
    uint64_t block_count, chunk_count;
    uint64_t keys_limit, ones_limit; /* at which a chunk closes; UINT64_MAX: never */
    uint8_t *payload;
    struct raw_chunk *chunks;
    uint64_t rows, keys, bits; /* of its chunks, as they were read */
};

struct raw {
    struct options options;
    bool sane;                /* row 0 is what the options say; else there is nothing below */
    unsigned strays, damaged; /* rows of no chunk, or that nobody writes; rows to be refused */
    unsigned ages;            /* generations=G, or 1 */
    uint64_t newest, chunk_blocks;
    struct raw_generation {
        unsigned layer_count;
        struct raw_layer layers[LAYERS_MOST];
    } generations[AGES_MOST]; /* by age, 0 for the newest; without layers those that are not yet */
    unsigned closings;        /* by raw_add */
    uint64_t digest;          /* of all rows but row 0 */
};

/* Reads a shadow table. False when it was refused or there is nothing to read. */
bool look_raw(struct connection *connection, unsigned schema, unsigned name, struct raw *raw);
void raw_clear(struct raw *raw);

/* The keys that all chunks count, as they were read. */
uint64_t raw_keys(const struct raw *raw);

/* The first block of a chunk. Whether it is so full that a key would close it. */
uint64_t chunk_start(const struct raw_layer *layer, uint64_t chunk);
bool is_full(const struct raw_layer *layer, const struct raw_chunk *chunk);

/* What a table must answer for a key of that hash, which may be NULL. Either: there is damage in
 * one generation, and the key in another. */
enum raw_answer { RAW_ABSENT, RAW_FOUND, RAW_DAMAGED, RAW_EITHER };
enum raw_answer raw_find(const struct raw *raw, const uint64_t *words);

/* Whether a key is in the generation of that age; the age of the newest generation that has it, or
 * AGES_MOST; how often it can be deleted, at most COPIES_MOST. */
bool raw_has_at(const struct raw *raw, const uint64_t *words, unsigned age);
unsigned raw_age(const struct raw *raw, const uint64_t *words);
unsigned raw_copies(const struct raw *raw, const uint64_t *words);

/* Add a key, as INSERT does (again) or INSERT OR IGNORE; delete one, if it is there; rotate. */
enum raw_added { RAW_NEW, RAW_KNOWN, RAW_FULL };
enum raw_added raw_add(struct raw *raw, const uint64_t *words, bool again);
bool raw_remove(struct raw *raw, const uint64_t *words);
void raw_rotate(struct raw *raw);

/* Returns true if `more` keys might close the chunk that a new key would go to, whatever bits they
 * set. */
bool raw_may_close(const struct raw *raw, const uint64_t *words, unsigned more);

/* Whether two tables are the same, but for what is stored of forgotten generations. estimated: only
 * their bits are compared. */
bool raw_same(const struct raw *raw, const struct raw *other, bool estimated);

/* That each chunk agrees with itself, and that a path leads to it. */
void compare_counts(const struct raw *raw, const char *where);

/* Questions between the two must change nothing: no row, no last_insert_rowid(). */
struct trace {
    int changes, total_changes;
    sqlite3_int64 rowid;
};
struct trace trace_begin(const struct connection *connection);
void trace_end(const struct connection *connection, const struct trace *trace, const char *where);

/* Compares everything that can be known of a table; all keys when thorough. */
void look(struct connection *connection, unsigned schema, unsigned slot, bool thorough);

/* The same for all tables of a file from a new connection. */
void look_from_outside(const struct file *file);

/* And of a copy that sqlite3_serialize has made; owns the bytes. */
void look_at_copy(unsigned char *bytes, sqlite3_int64 size, const struct content *content);

/* Whether a result is one of a lock of somebody else. */
bool is_busy(int code);

/* A result, or that of a lock on any database, for which SQLite could not see that a schema is an
 * old one. */
int really(struct connection *connection, int code);

/* A lock of somebody else was in the way. When that was the first look of a transaction, nobody can
 * say what it sees; so it ends. */
void refused(struct connection *connection, unsigned schema);

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

void faults_install(void); /* before SQLite is initialised */
void fault_arm(sqlite3 *database, enum fault fault, unsigned number);
bool fault_disarm(sqlite3 *database); /* whether it came to pass */
const char *fault_name(void);         /* of the one that was armed last */

/* ---- Crashes ---- */

/* Of the schema and all rows of ordinary tables, as committed. False: a lock is in the way. */
bool digest_file(const struct file *file, uint64_t *digest);

void crash_begin(void); /* before a step: a window may be opened */

/* After it. False: what is on the disk now means nothing, and no connection is open. */
bool crash_after_step(void);
void crash_forget(void);
bool crash_spares_disk(void); /* no call of it may fail: what a failure leaves is in doubt */
extern uint64_t crashes;

/* ---- The run ---- */

uint64_t random_next(void);
unsigned random_below(unsigned range);
bool random_once_in(unsigned times);
enum fault random_fault(void); /* FAULT_NONE mostly, by the weight of faults */

/* Notes what is done, for the report of a failure. */
void note(const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* Ends the program as failed unless holds. */
void expect(bool holds, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

extern uint64_t refusals, faults_met, looks;

/* Percent: of statements, of rounds, of tables, of tables, of tables. */
extern unsigned weight_of_faults, weight_of_shared, weight_of_counting, weight_of_types,
    weight_of_generations;

/* Per thousand steps. */
extern unsigned weight_of_crashes;

#endif
