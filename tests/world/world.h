/* One world for the tests of filter tables: databases of each kind, on a disk in memory that fails
 * and loses power, with one or two connections, in which statements change filter tables.
 *
 * An ordinary table in the same database is the oracle: it has a row for each key of each filter
 * table, and each statement changes both. So SQLite itself says what a transaction, a savepoint, a
 * lock, a failure or a crash leaves, and there is no model. Another table, made, says which filter
 * tables there are. A table keeps its number there when it is renamed.
 *
 *   world.c       kinds of database, sorts of tables, connections, and what is compared
 *   statements.c  what each statement does to a filter table and to the oracle
 *   disk.c        the VFS: failures, locks, crashes
 *   faults.c      what makes a statement fail at the n-th call, allocation or instruction
 *   every.c       runs every short sequence of statements; shortens and prints what fails
 *   random.c      draws long sequences from a seed
 *
 * A kind of database, a sort of table, a statement and a fault are one row each. Rows are combined
 * in every.c, and drawn in random.c. The world knows of the extension only SQL.
 */
#ifndef WORLD_H
#define WORLD_H

#include <sqlite3.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum {
    KEYS = 99, /* the largest key */
    KEYS_OF_STATEMENT = 10,
    HOG_KEYS = 100,
    LAYERS = 8,
    LONGEST = 100, /* sequence */
    OUTCOMES = 2
};

/* ---- What holds, and what a statement needs ---- */

enum {
    INSIDE = 1,      /* of a transaction */
    OUTSIDE = 2,     /* of transactions */
    SAVEPOINT = 4,   /* one is open */
    TABLE = 8,       /* there is one */
    ROOM = 16,       /* for one more */
    OTHER = 32,      /* another connection can be opened, */
    IDLE = 64,       /* and has no transaction */
    NO_CURSOR = 128, /* is open */
    IN_PLAIN = 256,  /* sort of table */
    IN_COUNTING = 512,
    IN_AGED = 1024,
    IN_FILE = 2048, /* of main */
    IN_ATTACHED = 4096,
    KEPT = 8192,     /* when the connection closes */
    PRIVATE = 16384, /* to the connection, in memory */
    NESTED = 32768,  /* savepoints */
    BOTH = 65536,    /* tables are there */
    IN_SHARED = 1 << 17,
    APART = 1 << 18, /* connections share no cache, or are in no transaction */
    /* and what else is true of it. */
    RARE = 1 << 20,
    FAILS = 1 << 21,    /* it must, in both tables alike */
    DEFINES = 1 << 22,  /* other tables may be there now, */
    DISTURBS = 1 << 23, /* and cursors may end */
    COUNTS = 1 << 24,   /* changes() must be equal */
    UNHEARD = 1 << 25,  /* objects do not hear of it if it is rolled back: see table/span.h */
    NEEDS = RARE - 1
};

/* ---- Rows ---- */

struct kind {
    const char *name, *schema, *uri;
    const char *made;   /* how its image is made, */
    const char *opened; /* and what each connection says when it is open */
    unsigned holds;
    bool only_named; /* by KINDS, and not in all others */
};
extern const struct kind KIND[];
extern const size_t KIND_COUNT;

struct sort {
    const char *name, *options[2]; /* of tables that are made one after the other, by turns */
    unsigned holds;
};
extern const struct sort SORT[];
extern const size_t SORT_COUNT;

/* How a sequence begins. The tables of an image are made once for all sequences. */
struct start {
    const char *name, *statements;
    bool is_image, only_named;
};
extern const struct start START[];
extern const size_t START_COUNT;

struct statement {
    const char *name;
    unsigned needs; /* what must hold, so that it makes sense; and flags */
    bool (*run)(const struct statement *statement); /* false: nothing more comes after it */
    const char *sql, *oracle;                       /* what it does to the two tables */
    int keys;                                       /* new ones in it */
    int weight;                                     /* when it is drawn */
};
extern const struct statement STATEMENT[];
extern const size_t STATEMENT_COUNT;

/* ---- The world ---- */

struct cursor {
    sqlite3_stmt *statement; /* NULL: none is open */
    int table;               /* its number in made */
    int key, last;           /* where it is, and where it ends */
    bool disturbed;          /* a rollback may have ended it */
};

struct connection {
    sqlite3 *database;
    sqlite3_stmt *tables;     /* which ones there are; as it is prepared, closing is refused */
    sqlite3_stmt *inserts[2]; /* kept prepared, of t and u */
    int savepoints;
    bool is_unheard; /* something in its transaction */
    bool has_made;   /* it a table, */
    bool is_unmade;  /* which a rollback to a savepoint may have undone */
    struct cursor cursor;
};

/* What a sequence has done so far. */
struct run {
    struct connection mine, other; /* other.database is NULL until it is needed */
    int next;                      /* key; none that follows was ever used, */
    bool repeats;                  /* unless keys have begun again */
    int made;                      /* tables */
    int period;                    /* the last one that was given */
    bool has[2];                   /* tables t and u, */
    int options[2], ids[2];        /* which of the sort's they have, and their numbers in made */
    int current;                   /* the one that statements use, */
    int id;                        /* and its number */
    int file;                      /* of the two that are attached by turns */
    int held_key;                  /* which the other connection has not committed, or 0 */
    bool is_read_only;
    bool has_swapped;
    bool has_merged; /* which estimates keys: perhaps one or two off */
    bool is_over;    /* a lock has kept out one of the two tables */
    char *violation; /* what was found first, or NULL */
};
extern struct run run;

/* The combination that is under way. */
extern const struct kind *kind;
extern const struct sort *sort;
extern const struct start *start;
extern const char *schema;
extern const char *const NAMES[2];
extern bool tracing, has_small_cache;

void world_begin(void); /* once, before SQLite is initialised */
void world_end(void);

/* Makes what sequences of the combination begin with; run_names runs statements by their names. */
void world_make(void (*run_names)(const char *names));

void run_begin(void);
void run_end(void); /* closes what is open */

/* Ends the program. */
void fatal(const char *what, sqlite3 *database) __attribute__((noreturn));

/* Notes the first thing that is wrong. */
void violate(const char *format, ...) __attribute__((format(printf, 1, 2)));

unsigned state(void); /* what holds now */
void look(void);      /* which tables are there; it begins a transaction */
bool is_kept_out(int code);
/* Whether it is, or the schema could not be read again, because another connection has a lock. */
bool is_kept_out_of(sqlite3 *database, int code);
bool other_is_inside(void);
bool is_held(int key);

/* SQL, in which signs stand for names and keys: see world.c. */
char *expand(const char *pattern);
const char *keys_until(int key);
int execute(sqlite3 *database, const char *pattern);
int execute_prepared(const char *pattern); /* one that stays prepared, with a new key */
int ask(sqlite3 *database, sqlite3_stmt **statement, const char *pattern);
int number(sqlite3 *database, const char *pattern); /* of its first row, or -1 */

void open_mine(void);
bool open_other(void); /* false: a lock keeps it out */
void finalize_all(struct connection *connection);
void close_connection(struct connection *connection);
int attach(void);
void deserialize_image(int which);
sqlite3 *image_database(int which);

/* ---- What is compared ---- */

void check(sqlite3 *database, const char *when);         /* the keys of all tables */
void check_counted(sqlite3 *database, const char *when); /* info, filter, integrity_check */
bool is_as_oracle(sqlite3 *database);
void check_copy(sqlite3 *from); /* as another connection sees it */
void check_written(void);       /* the same, and what a file has; ends run.mine */
void cursors_disturb(void);
void cursor_open(const char *sql);
void cursor_read(struct connection *connection);
void cursor_drop(struct connection *connection);

/* ---- Sequences ---- */

/* A statement, and what makes it fail: fault 0 for nothing. A count below 0: from then on. */
struct step {
    unsigned char statement, fault;
    short count;
};
struct sequence {
    int length;
    struct step steps[LONGEST];
};

extern long passed, failed;

/* Runs it, and reports it shortened if it shows a fault. Of a drawn sequence the steps that make no
 * sense where they come are left out. */
bool run_drawn(const struct sequence *sequence);
void run_random(uint64_t seed, int rounds);
bool is_chosen(const char *list, const char *word);
const char *from_environment(const char *name, const char *otherwise);

/* ---- Faults ---- */

struct fault {
    const char *name;
    bool comes_late; /* SQLite may report it when all was done */
    bool is_disk;    /* needs one that fails, */
    bool is_crash;   /* or that forgets */
};
extern const struct fault FAULT[];
extern const size_t FAULT_COUNT;

void faults_install(void); /* at first */

/* The next call of hinder makes the n-th occasion fail, and if lasting all that follow. */
void fault_choose(const struct fault *fault, int count);
const struct fault *fault_chosen(void); /* NULL: none */
/* From arm to disarm it happens; disarm returns whether it did, and forgets the choice. */
void fault_arm(sqlite3 *database);
bool fault_disarm(sqlite3 *database);
extern bool fault_was_met; /* by the last statement */
extern bool fault_counts;  /* while SQLite runs it */

/* ---- The disk ---- */

/* Makes the disk the VFS that SQLite takes; once. */
void disk_install(void);

/* An empty disk, on which what SQLite takes for random is the same again. No file may be open. */
void disk_format(void);

/* A file that SQLite has not written. */
void disk_put(const char *path, const void *bytes, size_t size);

extern const struct disk_failure {
    const char *name;
    int call, code;
} DISK_FAILURE[];
extern const size_t DISK_FAILURE_COUNT;

/* The n-th call of the failure's kind fails, and all after it when it is lasting. */
void disk_fail(const struct disk_failure *failure, int n, bool lasting);
bool disk_forgive(void); /* nothing fails any more; whether something did */

/* Takes all that is there for synced, and an image at the n-th call that changes something, of a
 * loss of power or of a kill. Whether it was taken; then disk_crash makes it what the disk has. */
void disk_watch(bool power, int n);
bool disk_watched(void);
void disk_crash(void);

#endif
