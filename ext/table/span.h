/* The span of time in which nobody else can have changed the rows of a filter table, so that what
 * is in memory is right.
 *
 * Memory belongs to one object that SQLite has made of a table, and to one span. There are three
 * kinds of spans:
 *
 *   - Outside of a write transaction of this connection, a span lasts as long as
 *     SQLITE_FCNTL_DATA_VERSION is the same, because every commit that changes the database changes
 *     this number. What was read while the page cache is shared is not kept.
 *   - In a write transaction that has begun for this object (xBegin), a span lasts until the
 *     transaction ends or is rolled back, in part or whole.
 *   - In another write transaction of this connection the object is a guest: only SQL by hand
 *     changes its rows. A span begins with the second operation and lasts until the last cursor is
 *     closed, as long as sqlite3_total_changes is the same, so rows that are changed by hand and
 *     then rolled back are not noticed. While SQLITE_DBCONFIG_DEFENSIVE is on, SQL cannot change
 *     them, and the span lasts as long as outside.
 *
 * In each span, row 0 is read once. It tells which table this is, and nothing else does. There is
 * no span, so that row 0 and chunks are read in each operation,
 *
 *   - in a write transaction that has not begun for this object, if the object has twins, or if
 *     sqlite3_close was refused, a table was dropped or a CREATE failed in it, so that a rollback
 *     could change rows unreported;
 *   - before SQLite 3.34, which does not report whether a transaction writes, in any that has not
 *     begun for this object;
 *   - in the transaction that made the table, as long as SQLite does not report a rollback to an
 *     older savepoint. It does from the next savepoint on, which the first change brings by an
 *     INSERT of no rows, unless an authorizer refuses it;
 *   - in a memdb file. sqlite3_deserialize may put another one in its place, whose version begins
 *     again.
 *
 * This is what can be known of a row, and what happens to it:
 *
 *   known    the row is                     its chunk is read        its chunk is changed
 *   ------------------------------------------------------------------------------------------
 *   unknown  in the database, or nowhere    seen, or absent          written, and then seen
 *   seen     in the database                clean                    as if it were clean
 *   absent   nowhere: it counts as zeros    stays absent             a new row, and then seen
 *   clean    equal in both                  taken from memory        written, or a draft
 *   draft    newer in memory                taken from memory        stays a draft, unless another
 *                                                                    statement writes, or none has
 *                                                                    written since a savepoint
 *                                                                    began or ended: then all
 *                                                                    drafts are written first
 *
 * When memory is full, what is unknown or seen stays so. When drafts are written, they are clean.
 * When the span ends, everything is unknown. After a dense transaction an unknown row is kept at
 * its first use, like one that was seen. Within another statement that writes there are no drafts:
 * if that fails, SQLite does not report it for databases that only a function in it has written.
 *
 * And this is what each method of SQLite may assume, and what it leaves:
 *
 *   method       may assume                                     leaves
 *   ------------------------------------------------------------------------------------------
 *   xCreate      a write transaction; only a rollback of the    BLOOM_MAKING, no memory; other
 *                whole is reported before the first savepoint   objects of that name stale
 *   xBegin       a write transaction, and that all of its       BLOOM_BEGUN, a new span
 *                rollbacks from now on are reported
 *   xSavepoint   xCreate or xBegin came before. SQLite itself   drafts written, so that all are
 *                begins savepoints for statements, too          clean; BLOOM_MAKING becomes
 *                                                               BLOOM_BEGUN
 *   xRelease     nothing: rows may have been changed by         drafts stay. If others have changed
 *                others since the savepoint, for example        rows, everything else is unknown,
 *                by a changeset                                 row 0, too
 *   xRename      xBegin came before: see below                  drafts written, and all objects of
 *                                                               either name stale
 *   xRollbackTo  the rows are those of the savepoint again,     everything unknown, row 0, too.
 *                and the table itself may be gone               Drafts that are older than a
 *                                                               savepoint that failed stay. If
 *                                                               it undoes CREATE or a renaming,
 *                                                               objects of either name are stale
 *   xSync        COMMIT has begun, and may still fail           drafts written
 *   xCommit      the transaction is over; nothing may fail      BLOOM_OUTSIDE, everything unknown
 *   xRollback    the transaction is over, or sqlite3_close      BLOOM_OUTSIDE, everything unknown.
 *                finds the connection busy and it goes on       If it goes on, drafts are written.
 *                                                               Names as by xRollbackTo
 *   none yet     a guest                                        what was read in its span
 *
 * Nothing tells an object that has not begun the transaction of a rollback. So whatever names a
 * table begins it: CREATE by itself, RENAME by an INSERT of no rows into the table. After a
 * renaming, and when one or a CREATE is rolled back, SQLite makes new objects for the statements to
 * come. Those that are left belong to statements under way. Their names may be of other tables now,
 * so they are stale, and those statements end with SQLITE_ABORT_ROLLBACK. When a table gets a name,
 * whatever had it before is stale as well. When sqlite3_close is refused, nobody will report how
 * the transaction ends, so the names that it has given count as undone. A query that begins after
 * that close may go on when a rollback undoes them, and then reads another table.
 *
 * One thing is known too late. Nobody hears that ROLLBACK TO undoes a CREATE that no statement has
 * used. If a failed ATTACH then lets SQLite make new objects without the schema having changed, a
 * later rollback makes those stale for good: their statements end with SQLITE_ABORT_ROLLBACK until
 * the schema changes or the database is opened again.
 *
 * SQLite may have several objects of one table, for example when a cursor is open across a
 * rollback. They are twins. Before one of them is used, the others write their drafts and end their
 * spans.
 */
#ifndef BLOOM_TABLE_SPAN_H
#define BLOOM_TABLE_SPAN_H

#include "table/database.h"
#include "table/rows.h"

enum bloom_transaction {
    BLOOM_OUTSIDE, /* none has begun for this object */
    BLOOM_MAKING,  /* the one that made the table, of which SQLite has reported nothing yet */
    BLOOM_BEGUN    /* one of which SQLite reports every rollback */
};

/* By what a transaction has given the table its name. */
enum bloom_naming { BLOOM_BY_CREATE, BLOOM_BY_RENAME, BLOOM_NAMINGS };

/* Of the write transaction. Outside, only was_dense counts, and foreign_changes for a guest. */
struct bloom_writing {
    enum bloom_transaction transaction;
    bool was_dense;      /* the last changes were of more than 1.5 keys a row */
    uint64_t changes;    /* of keys, since that was judged */
    bool has_changed;    /* a row since the last savepoint, so that the table is locked */
    bool is_alone;       /* no other statement writes, asked since the last savepoint */
    int foreign_changes; /* of rows, by others or by whole statements, when the outermost savepoint
                            began; of all, when the span of a guest began */
    int depth;           /* of the savepoint at which all was written; -1: when it began */
};

/* One for each object of a table. */
struct bloom_span {
    struct bloom_database database; /* first */
    struct bloom_row_memory rows;
    struct bloom_span *next;     /* of the connection */
    unsigned references;         /* by the object, and while drafts are written */
    bool has_twins;              /* other objects have the same schema and name */
    bool is_memory_file;         /* memdb, when it was last asked */
    bool is_usable;              /* memory is, in the operation under way */
    bool knows_row_0;            /* in this span */
    bool has_asked;              /* SQLite for its cache_size, in this span */
    bool is_guest;               /* in a write transaction that has not begun for this object */
    bool is_stale;               /* its name may be of another table now, for good */
    int named_at[BLOOM_NAMINGS]; /* a rollback to a savepoint of less depth undoes that; -1: none */
    char *new_name;              /* by RENAME; NULL: none */
    unsigned version;            /* of the database, in a span outside */
    uint64_t counted;            /* bytes in the sum of the process */
    unsigned revision;           /* rises when row 0 is of another table; 0: not read */
    struct bloom_writing writing;
};

/* Makes an object of `size` bytes, which begins with its span and is otherwise zeros, and adds it
 * to the connection's list. It has a reference to the connection, because SQLite may release what
 * belongs to a module before the last table is disconnected. NULL: no memory. */
void *bloom_span_open(size_t size, struct bloom_connection *connection, const char *schema,
                      const char *name);

/* Gives a reference back. After the last one the object is off the list, and freed. As with
 * bloom_connection_close, that must be the last thing that a destructor does. */
void bloom_span_close(struct bloom_span *span);

/* The table has another name now. bloom_database_insert_nothing came before. */
int bloom_span_rename(struct bloom_span *span, const char *name);

/* Returns true if the transaction has made the table, and SQLite does not report each rollback. */
bool bloom_span_is_making(const struct bloom_span *span);

/* Asks whether the file is memdb. Call when the first cursor of an object opens. */
void bloom_span_ask_file(struct bloom_span *span);

/* Begins an operation: decides whether memory is usable, and ends a span that is over. Returns
 * SQLITE_ABORT_ROLLBACK if the object is stale. */
int bloom_span_begin_operation(struct bloom_span *span);

/* Call when no cursor of the object is open any more. Ends the span of a guest. Unless a write
 * transaction has begun for the object, it frees the memory if all tables of the process together
 * use more than the limit. */
void bloom_span_rest(struct bloom_span *span);

/* Ends the span: everything in memory is dropped, drafts, too. */
void bloom_span_end(struct bloom_span *span);

/* Returns true if what is read now may be kept. */
bool bloom_span_may_keep(const struct bloom_span *span);

/* Returns true if a kept row may be changed now without writing it. */
bool bloom_span_may_draft(struct bloom_span *span);

/* Writes all drafts. After an error those that are not written are still drafts. */
int bloom_span_write(struct bloom_span *span);

/* The methods of a transaction: see above. SQLite calls those that take what it sees of a span. */
int bloom_span_begin(sqlite3_vtab *base);
int bloom_span_savepoint(sqlite3_vtab *base, int depth);
int bloom_span_release(sqlite3_vtab *base, int depth);
int bloom_span_sync(sqlite3_vtab *base);
int bloom_span_commit(sqlite3_vtab *base);
void bloom_span_create(struct bloom_span *span);
void bloom_span_rollback_to(struct bloom_span *span, int depth);
void bloom_span_rollback(struct bloom_span *span);

/* Executes the two tables above: fails unless memory is as that method leaves it. `depth` is that
 * of the savepoint. Each method ends with it. */
enum bloom_method {
    BLOOM_X_CREATE,
    BLOOM_X_BEGIN,
    BLOOM_X_SAVEPOINT,
    BLOOM_X_RELEASE,
    BLOOM_X_ROLLBACK_TO,
    BLOOM_X_SYNC,
    BLOOM_X_COMMIT,
    BLOOM_X_ROLLBACK,
    BLOOM_OPERATION /* any other, when no cursor is open any more */
};
#ifdef BLOOM_ASSERTS
void bloom_span_check(const struct bloom_span *span, enum bloom_method method, int depth);
#else
#define bloom_span_check(span, method, depth) ((void)0)
#endif

#endif
