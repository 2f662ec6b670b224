/* The database as a filter table sees it: statements, names and messages. The first storey of a
 * table: everything that it asks of SQLite goes through here or through a BLOB handle of chunks.c.
 *
 * The two shadow tables come out of a file that anybody may have written, and are believed no more
 * than any bytes:
 *
 *   1. Their stored CREATE texts are the ones that CREATE wrote, and no index or trigger (of temp,
 *      too) is on them. This is looked at before statements are prepared. SQLite prepares a
 *      statement anew when the schema has changed, and counts that: a deed begins with a statement
 *      that reads; if it was prepared anew, all statements are dropped, the texts are compared
 *      again, and it reads again. Within one call of SQLite the schema cannot change after that,
 *      since the caller's statement holds a read transaction.
 *   2. A statement of ours runs nothing but itself: no trigger, foreign key action or function,
 *      which EXPLAIN would show.
 *   3. Should something run all the same, it cannot enter a filter table of this connection: see
 *      bloom_database_enter.
 *   4. No value that is longer than a chunk can be is loaded: while a statement is at work, the
 *      limit of the connection is as low as that.
 *   5. Authorizers count. What one denies is denied. What one answers with SQLITE_IGNORE is found
 *      out: a column that reads as NULL has no type, EXPLAIN shows whether every value that is
 *      bound is used, the first UPDATE after it was prepared is read back (layers.c), and so is
 *      every DELETE. A statement that ended in an error is prepared anew.
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

/* Those that write come last. */
enum bloom_statement {
    BLOOM_READ_LAYERS, /* all rows of NAME_layers */
    BLOOM_NEXT_CHUNK,  /* the first from one id to before another */
    BLOOM_LAST_CHUNK,  /* the largest id from one to another */
    BLOOM_STRAY_CHUNK, /* an id of a layer that has no row */
    BLOOM_READ_CHUNK,
    BLOOM_WRITE_CHUNK, /* never run: whether it may be asks the authorizer before a handle writes */
    BLOOM_NEW_CHUNK,
    BLOOM_DELETE_CHUNKS, /* from one id to another */
    BLOOM_NEW_LAYER,
    BLOOM_WRITE_LAYER,   /* its counts and its generation */
    BLOOM_DELETE_LAYERS, /* from one number on */
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
    bool writes_layers; /* BLOOM_WRITE_LAYER was seen to change keys and ones: see write_row */
    bool shape_known;   /* rule 1 */
    int length_limit;   /* of the connection, while a statement is at work */
    char *message;
};

/* The shadow tables, as indices of shadow_names. */
enum { BLOOM_SHADOW_LAYERS, BLOOM_SHADOW_CHUNKS };

/* Touches no database yet. False: no memory. To be closed in either case. */
bool bloom_database_open(struct bloom_database *database, sqlite3 *connection, const char *schema,
                         const char *name, unsigned *running);
void bloom_database_close(struct bloom_database *database);

/* Keeps "TABLE: " and a message (as sqlite3_mprintf) and returns the code; or what SQLite says
 * about a failed call. */
int bloom_database_fail(struct bloom_database *database, int code, const char *format, ...);
int bloom_database_fail_sqlite(struct bloom_database *database, int code);

/* What to do when bits are lost or not to be trusted any more; it takes the name of the table. */
#define BLOOM_RESTORE_DATABASE "; restore the database from a backup, or drop %s and make it anew"

/* "SHADOW is damaged: ", a message (a literal and arguments), and what to do, of the shadow table
 * with that index; SQLITE_CORRUPT_VTAB. */
#define bloom_database_damaged(database, shadow, format, ...)                                      \
    bloom_database_fail(database, SQLITE_CORRUPT_VTAB,                                             \
                        "%s is damaged: " format BLOOM_RESTORE_DATABASE,                           \
                        (database)->shadow_names[shadow], __VA_ARGS__, (database)->name)

/* The authorizer was found to hide rows or columns; SQLITE_AUTH. */
int bloom_database_hidden(struct bloom_database *database);

/* The message kept, from sqlite3_malloc, now the caller's; NULL when there is none. */
char *bloom_database_message(struct bloom_database *database);

/* SQLITE_LOCKED while a statement of a filter table is at work on the connection: a trigger or the
 * like on a shadow table has called this one. Every door into a table asks. */
int bloom_database_enter(struct bloom_database *database);

/* Creates, drops and renames the shadow tables. */
int bloom_database_create_tables(struct bloom_database *database);
int bloom_database_drop_tables(struct bloom_database *database);
int bloom_database_rename_tables(struct bloom_database *database, const char *name);

/* Makes sure that statements (bits 1u << BLOOM_...) are prepared, by the schema and the authorizer
 * that there are now. What is done in several steps prepares all of them before the first, so that
 * an authorizer refuses all or nothing. */
int bloom_database_prepare(struct bloom_database *database, unsigned statements);

/* Whether SQLite tells which statements are outdated (it was not built with OMIT_DEPRECATED).
 * Otherwise bloom_database_prepare costs a read. */
bool bloom_database_tells_expiry(void);

/* Binds its parameters, takes the first step of a statement that reads, and tells whether it
 * is at a row. Until bloom_database_end it counts as running, and may be stepped on. After an error
 * it has ended. The end returns the error that SQLite had meanwhile, otherwise code, that of the
 * work on the rows: where SQLite had no memory, what was found in them is not what is there. */
int bloom_database_read(struct bloom_database *database, enum bloom_statement which,
                        sqlite3_int64 first, sqlite3_int64 second, sqlite3_stmt **statement,
                        bool *row);
int bloom_database_end(struct bloom_database *database, enum bloom_statement which, int code);

/* Makes a statement that writes ready to be bound; then steps and ends it: it must change so many
 * rows, or it is an error; -1: any. What is bound stays bound: numbers, and memory that lives as
 * long. */
int bloom_database_begin(struct bloom_database *database, enum bloom_statement which,
                         sqlite3_stmt **statement);
int bloom_database_write(struct bloom_database *database, enum bloom_statement which, int rows);

/* Drops all statements, so that they will be prepared anew: one of them behaved oddly. */
void bloom_database_forget(struct bloom_database *database);

/* The largest BLOB that fits into a row of NAME_chunks on one page, in bytes. */
int bloom_database_room_on_page(struct bloom_database *database, uint32_t *bytes);

#endif
