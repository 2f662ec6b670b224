/* The database as a filter table sees it: its shadow table, four statements, and messages.
 *
 * A filter table trusts its shadow table as R*Tree and FTS5 trust theirs: what is in it is used
 * when it has the right type and length, whoever wrote it. Four rules keep a shadow
 * table that somebody else made from doing harm:
 *
 *   1. Statements are prepared with SQLITE_PREPARE_NO_VTAB, so neither they nor triggers on the
 *      shadow table can use a virtual table. If a function in such a trigger uses this filter table
 *      all the same, bloom_database_begin_operation refuses it.
 *   2. While a statement runs, no value may be longer than the longest chunk, so that a huge row
 *      costs neither time nor memory.
 *   3. SQLITE_CONSTRAINT from a statement is turned into damage. The caller of xUpdate would take
 *      it for a key that was ignored.
 *   4. A statement begins only on a table, and not on a view.
 *
 * Every int below is an SQLite result code. Any error but SQLITE_NOMEM leaves a message in zErrMsg.
 */
#ifndef BLOOM_TABLE_DATABASE_H
#define BLOOM_TABLE_DATABASE_H

#include "sqlite/connection.h"

enum bloom_statement {
    BLOOM_READ_ROW,    /* by its id */
    BLOOM_EACH_ROW,    /* all, in the order of their ids, from one id to another */
    BLOOM_WRITE_ROW,   /* by its id, which may exist */
    BLOOM_DELETE_ROWS, /* all but row 0 */
    BLOOM_STATEMENTS
};

/* The bytes of the longest row: what the largest page has room for. */
enum { BLOOM_CHUNK_BYTES_MAXIMUM = 65536 };

/* Begins an object of a table, whose memory begins with it. */
struct bloom_database {
    sqlite3_vtab base; /* all that SQLite sees; it takes messages from zErrMsg */
    sqlite3 *connection;
    char *schema;
    const char *file_schema; /* for sqlite3_file_control, which finds main sooner by NULL */
    char *name;
    char *data_name; /* of the shadow table, NAME_data */
    struct bloom_connection *owner;
    sqlite3_stmt *statements[BLOOM_STATEMENTS]; /* NULL: not prepared yet */
    bool is_checked;  /* the shadow table exists and is not a view, since the operation began */
    unsigned running; /* statements */
    int length_limit; /* of the connection, while one runs */
    int changes;      /* of rows, by statements */
};

/* Begins. Touches no database yet. Returns false when there is no memory; close in either case. */
bool bloom_database_open(struct bloom_database *database, struct bloom_connection *owner,
                         const char *schema, const char *name);
void bloom_database_close(struct bloom_database *database);

/* Keeps "TABLE: " and the formatted message (as sqlite3_mprintf), and returns the code. */
int bloom_database_fail(struct bloom_database *database, int code, const char *format, ...);

/* Keeps what SQLite says of the call that failed last, and returns the code. */
int bloom_database_fail_sqlite(struct bloom_database *database, int code);

/* Fails with SQLITE_CORRUPT_VTAB: "TABLE: SHADOW is damaged: " with a message (a literal and its
 * arguments), and what to do. */
#define bloom_database_damaged(database, format, ...)                                              \
    bloom_database_fail(database, SQLITE_CORRUPT_VTAB,                                             \
                        "%s is damaged: " format ". Restore the database from a backup, or make "  \
                        "%s again from its keys",                                                  \
                        (database)->data_name, __VA_ARGS__, (database)->name)

/* Takes the message away: from sqlite3_malloc, and now the caller's, or NULL. A method that
 * succeeds must leave none, because SQLite would show it with a later error. */
char *bloom_database_message(struct bloom_database *database);

/* Begins an operation. Returns SQLITE_LOCKED while a statement of this object runs. Every method
 * that reads or changes the table begins with it. */
int bloom_database_begin_operation(struct bloom_database *database);

/* Inserts no rows into the filter table, in a statement that begins a savepoint. So its transaction
 * begins for this object, if it has not, and SQLite reports every rollback of it. */
int bloom_database_insert_nothing(struct bloom_database *database);

/* Create, drop and rename the shadow table. */
int bloom_database_create_table(struct bloom_database *database);
int bloom_database_drop_table(struct bloom_database *database);
int bloom_database_rename_table(struct bloom_database *database, const char *name);

/* Begins one of the two statements that read: a row, or all from first to last. *row is true
 * when the statement is at a row. On SQLITE_OK, bloom_database_end_statement must follow. */
int bloom_database_begin_statement(struct bloom_database *database, enum bloom_statement which,
                                   sqlite3_int64 first, sqlite3_int64 last, bool *row);

/* Returns the BLOB of the row that the statement is at, valid until the next step, or NULL if the
 * value is not a BLOB. *length is its bytes. */
const uint8_t *bloom_database_blob(const struct bloom_database *database,
                                   enum bloom_statement which, int *length);

/* Ends the statement. Returns its error if it has failed, otherwise code, which is the caller's. */
int bloom_database_end_statement(struct bloom_database *database, enum bloom_statement which,
                                 int code);

/* Prepares for writing rows, so that writing them later cannot fail for lack of permission. */
int bloom_database_prepare_writing(struct bloom_database *database);

/* Writes a row: a new one, or in place of the one with that id, on which no handle may be open. It
 * is not seen in last_insert_rowid(). */
int bloom_database_write_row(struct bloom_database *database, sqlite3_int64 id,
                             const uint8_t *bytes, uint32_t length);

/* Returns true while a row is being written, which a trigger on the shadow table can notice. */
bool bloom_database_is_writing(const struct bloom_database *database);

/* Deletes all rows except row 0. */
int bloom_database_delete_rows(struct bloom_database *database);

/* Opens a row for reading or writing through a BLOB handle, or moves an open handle to it: *handle
 * is NULL, or that handle. It stays NULL, or becomes NULL, without an error when there is no such
 * row, and after every error. */
int bloom_database_open_row(struct bloom_database *database, sqlite3_int64 id, bool writes,
                            sqlite3_blob **handle);

/* Closes a handle, if there is one, and returns code. */
int bloom_database_close_row(sqlite3_blob **handle, int code);

/* Closes a handle that was open while code of the host ran, if there is one. */
void bloom_database_close_reader(struct bloom_database *database, sqlite3_blob **handle);

/* Returns the bytes of the page cache that the database may have, or 0 if it does not say. */
uint64_t bloom_database_cache_bytes(struct bloom_database *database);

/* The largest BLOB that fits into a row of the shadow table on one page, in bytes. */
int bloom_database_page_bytes(struct bloom_database *database, uint32_t *bytes);

#endif
