/* What the files of steps share: how a statement is run, and judged. */
#ifndef SIMULATOR_STEPS_H
#define SIMULATOR_STEPS_H

#include "simulator.h"

typedef struct connection connection_t;

/* The transaction is over without our doing: some errors roll it back. */
bool lost_transaction(connection_t *connection);

/* Runs a statement, or SQL when that is NULL, with a fault perhaps; whether it came to pass. */
int run(connection_t *connection, sqlite3_stmt *statement, const char *sql, enum fault fault,
        bool *met);
extern char last_error[300]; /* of that */

/* SQLite may report an interrupt when all was done, and the failure of a disk when a journal was
 * gone already by which the statement would have been taken back. */
bool may_come_late(enum fault fault);

/* For a statement that commits. Before it: false when it could not be seen afterwards. After it:
 * whether it was committed though it failed. */
struct late {
    bool may_be;
    uint64_t digests[SCHEMAS];
};
bool late_begin(const connection_t *connection, enum fault fault, struct late *late);
bool late_committed(connection_t *connection, unsigned schema, const struct late *late);

/* What may go wrong without a fault: a lock, and damage that somebody made by hand. */
void judge(connection_t *connection, int code, bool met, const char *what);

/* And a statement that writes, which query_only refuses. */
void judge_write(connection_t *connection, int code, bool met, const char *what);

/* Only for the world: must succeed or be refused by a lock. */
bool plain(connection_t *connection, const char *sql);

/* A table that is there, or a place for one that is not. */
bool choose(connection_t *connection, unsigned *schema, unsigned *slot, bool exists);

/* Makes sure what a transaction sees, which a statement that fails would leave in doubt; and that
 * the connection knows the last schema, by which SQLite refuses names that are taken. */
bool settle_view(connection_t *connection, unsigned schema);

/* The committed content of a file replaces that of a schema, by sqlite3_backup_init. */
int copy_file(sqlite3 *database, const char *schema, const struct file *from);

/* Another connection adds keys to its table of that name, and to what is known of it, all or none.
 * Returns a result of SQLite. */
int add_elsewhere(sqlite3 *database, struct table *table);

/* Such as have a key by the type's rule; whether those all do. */
struct keys some_keys(enum key_type type);
bool all_have_words(enum key_type type, const struct keys *keys);

/* ---- Changes of one table ---- */

struct attempt {
    connection_t *connection;
    unsigned schema, slot;
    struct table *table;              /* as it is in view */
    struct raw raw;                   /* before; then, as the statement must change it */
    uint64_t keys_before, keys_after; /* that the chunks count */
    bool known;                       /* what the statement must do: no row is damaged before it */
    bool estimated;                   /* only bits are known */
    bool may_refuse;                  /* the table, in words */
    bool must_refuse;                 /* if it is known */
    bool doubtful;     /* it was done, but what changed is not as if nothing had come between */
    bool met, changed; /* the fault came to pass; the shadow table changed */
    enum fault fault;
    int code;
};

/* Looks at what there is, and gives the statement. NULL when a lock is in the way, or there is no
 * table. Else attempt->raw is to be cleared in the end. */
sqlite3_stmt *attempt_begin(struct attempt *attempt, connection_t *connection,
                            enum statement which);

/* Runs it. True when it has succeeded, with attempt->table for the changed model. What failed in a
 * transaction that goes on may have changed bits all the same. */
bool attempt_run(struct attempt *attempt, sqlite3_stmt *statement, enum fault fault);

/* Looks whether the table is as attempt->raw, which was changed as the statement must change the
 * table, and sets attempt->keys_after. False: it could not look, or what must be there is not
 * known. */
bool attempt_compare(struct attempt *attempt);

const uint64_t *words_to_add(const struct attempt *attempt, unsigned key);

/* A filter of the first layer's shape, made by the filter library; from malloc. */
uint8_t *make_filter(const struct attempt *attempt, const struct keys *keys, size_t *bytes);

/* ---- The steps ---- */

/* Each with its weight. */
#define EACH_STEP(STEP)                                                                            \
    STEP(insert, 300), STEP(insert_many, 80), STEP(delete, 100), STEP(delete_many, 20),            \
        STEP(merge, 30), STEP(clear, 15), STEP(rotate, 50), STEP(add_all, 80), STEP(query, 60),    \
        STEP(cursor, 20), STEP(begin, 120), STEP(commit, 40), STEP(rollback, 40),                  \
        STEP(savepoint, 100), STEP(release, 50), STEP(rollback_to, 70), STEP(create, 25),          \
        STEP(drop, 15), STEP(rename, 20), STEP(aside, 20), STEP(hand_edit, 40),                    \
        STEP(changeset, 10), STEP(integrity_check, 5), STEP(attach, 40), STEP(deserialize, 6),     \
        STEP(backup, 5), STEP(vacuum, 5), STEP(reopen, 2), STEP(read_uncommitted, 10),             \
        STEP(stranger, 10), STEP(busy_close, 15), STEP(query_only, 15), STEP(failed_attach, 15),   \
        STEP(serialize, 15)

#define DECLARED(name, weight) step_##name(connection_t *connection)
void EACH_STEP(DECLARED);

/* Ends a query that goes on. */
void cursor_end(connection_t *connection);

#endif
