/* The database as a filter table sees it: statements, names and messages. The first storey of a
 * table: everything that it asks of SQLite goes through here or through a BLOB handle of chunks.c.
 *
 * The two shadow tables come out of a file that anybody may have written, and are believed no more
 * than any bytes:
 *
 *   1. They are ordinary tables of the very shape that CREATE gave them. Not views, virtual tables,
 *      tables without rowid or with generated columns; id and layer are INTEGER PRIMARY KEY, which
 *      makes them the rowid. This is looked at before statements are prepared. They are prepared in
 *      the legacy way, so that after a change of the schema SQLite does not prepare them anew and
 *      run them, but ends them with SQLITE_SCHEMA: then everything is forgotten, and the deed
 *      begins again.
 *   2. A statement of ours runs nothing but itself: no virtual table, and no trigger, foreign key
 *      action or function, which EXPLAIN would show.
 *   3. Should something run all the same, it cannot enter a filter table of this connection: see
 *      bloom_database_enter.
 *   4. No value that is longer than a chunk can be is loaded: while a statement is at work, the
 *      limit of the connection is as low as that (bloom_database_begin).
 *   5. Authorizers count. What one denies is denied. What one answers with SQLITE_IGNORE is found
 *      out: columns that read as NULL have no type, a write that does nothing is no write to
 *      SQLite, and one whose conditions or values are NULL changes no row or violates NOT NULL.
 *      Rows are replaced, never updated, since UPDATE can leave columns as they were without a
 *      sign. A statement that ended in an error is prepared anew.
 *
 * Every int below is an SQLite result code; on an error other than SQLITE_NOMEM the message is kept
 * for bloom_database_message.
 */
#ifndef BLOOM_TABLE_DATABASE_H
#define BLOOM_TABLE_DATABASE_H

#include "sqlite/sqlite.h"

/* Compiled for SQLite 3.31, too, whose headers lack it; an SQLite that does not know the number
 * says so. */
#ifndef SQLITE_FCNTL_RESERVE_BYTES
#define SQLITE_FCNTL_RESERVE_BYTES 38
#endif

enum bloom_statement {
    BLOOM_READ_LAYERS,  /* all rows of NAME_layers */
    BLOOM_ADD_COUNTS,   /* to keys, chunks and ones of a layer */
    BLOOM_WRITE_COUNTS, /* in place of them */
    BLOOM_NEW_LAYER,
    BLOOM_CLEAR_LAYERS, /* all but the first */
    BLOOM_READ_CHUNK,
    BLOOM_WRITE_CHUNK,
    BLOOM_EACH_CHUNK, /* from one id to before another */
    BLOOM_LAST_CHUNK, /* the largest id before another */
    BLOOM_COUNT_CHUNKS,
    BLOOM_CLEAR_CHUNKS,
    BLOOM_STATEMENTS
};

/* A row is written with a BLOB of at most so many bytes: what the largest page has room for. */
enum { BLOOM_CHUNK_BYTES_MAXIMUM = 65536 };

struct bloom_database {
    sqlite3 *connection;
    char *schema;
    bool is_main; /* SQLite's own interfaces then know it by NULL, too, and sooner */
    char *name;
    char *shadow_names[2]; /* NAME_layers, NAME_chunks */
    unsigned *running; /* statements of this kind at work, of all filter tables of the connection */
    sqlite3_stmt *statements[BLOOM_STATEMENTS]; /* NULL: to be prepared */
    bool finds_chunks; /* BLOOM_READ_CHUNK was seen to find a row since it was prepared */
    bool shape_known;  /* rule 1 */
    int length_limit;  /* of the connection, while a statement is at work */
    char *message;
};

/* The shadow tables, as indices of shadow_names. */
enum { BLOOM_SHADOW_LAYERS, BLOOM_SHADOW_CHUNKS };

/* Touches no database yet. False: no memory. To be closed in either case. */
bool bloom_database_open(struct bloom_database *database, sqlite3 *connection, const char *schema,
                         const char *name, unsigned *running);
void bloom_database_close(struct bloom_database *database);

/* Ends all statements, so that they will be prepared anew. */
void bloom_database_forget(struct bloom_database *database);

/* Keeps "TABLE: " and a message (as sqlite3_mprintf) and returns the code; or what SQLite says
 * about a failed call. */
int bloom_database_fail(struct bloom_database *database, int code, const char *format, ...);
int bloom_database_fail_sqlite(struct bloom_database *database, int code);

/* The message kept, from sqlite3_malloc, now the caller's; NULL when there is none. */
char *bloom_database_message(struct bloom_database *database);

/* SQLITE_LOCKED while a statement of a filter table is at work on the connection: something that
 * hangs on a shadow table has called this one. Every door into a table asks. */
int bloom_database_enter(struct bloom_database *database);

/* Creates, drops and renames the shadow tables. */
int bloom_database_create_tables(struct bloom_database *database);
int bloom_database_drop_tables(struct bloom_database *database);
int bloom_database_rename_tables(struct bloom_database *database, const char *name);

/* A statement that is ready to be bound and stepped, which the shape of the tables and the
 * authorizer allow; then its end. Between the two it counts as running. What is bound stays bound:
 * numbers, and memory that lives as long. SQLITE_SCHEMA: bloom_database_forget, and begin the deed
 * again. */
int bloom_database_begin(struct bloom_database *database, enum bloom_statement which,
                         sqlite3_stmt **statement);
int bloom_database_end(struct bloom_database *database, enum bloom_statement which);

/* Steps and ends a statement that writes, and must change so many rows, or it is an error; -1: any.
 * */
int bloom_database_write(struct bloom_database *database, enum bloom_statement which, int rows);

/* As if the statement had ended in an error: it behaved oddly. */
void bloom_database_drop(struct bloom_database *database, enum bloom_statement which);

/* Whether what the statement does may be done without it, through a BLOB handle: it is prepared,
 * under the authorizer that there is now. *allowed is false where SQLite does not tell (it was
 * built without sqlite3_expired). An error is what preparing it says. */
int bloom_database_allow(struct bloom_database *database, enum bloom_statement which,
                         bool *allowed);

/* The largest BLOB that fits into a row of NAME_chunks on one page, in bytes. */
int bloom_database_room_on_page(struct bloom_database *database, uint32_t *bytes);

#endif
