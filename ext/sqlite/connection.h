/* What belongs to no single call: the lock, the SQLite library that is served, and the state of a
 * connection. */
#ifndef BLOOM_SQLITE_CONNECTION_H
#define BLOOM_SQLITE_CONNECTION_H

#include "sqlite/value.h"

/* library.c: the lock guards every static variable that changes. Hold it for a few instructions,
 * and do not call SQLite meanwhile. */
void bloom_lock(void);
void bloom_unlock(void);

/* Begins a use of SQLite's functions. Returns false, and begins none, while another SQLite library
 * is in use. */
bool bloom_library_enter(const struct sqlite3_api_routines *api);

/* Adds a use. The caller must have one already. */
void bloom_library_keep(void);

/* Ends a use. The caller must not call SQLite afterwards, unless it has another use. */
void bloom_library_leave(void);

/* An object of a filter table counts for `now` bytes of memory, and not for `before` any more.
 * Returns the sum of all objects of the process. */
uint64_t bloom_library_count(uint64_t before, uint64_t now);

/* What the functions and filter tables of a connection share. */
struct bloom_connection {
    sqlite3 *database;
    struct bloom_connection *next;
    uint64_t references;       /* by functions, live pins, modules and objects of tables */
    uint64_t deaths;           /* of pins */
    struct bloom_span *tables; /* objects of filter tables: see table/span.h */
    uint64_t table_bytes;      /* of their rows in memory */
    unsigned tables_opened;    /* objects, so far */
    bool has_orphans;          /* a rollback of the transaction may change rows unreported */
    bool loaded;               /* everything is registered: see extension.c */
};

/* Finds the state of a connection, or makes it, and takes a reference. NULL: no memory. */
struct bloom_connection *bloom_connection_open(sqlite3 *database);

/* Takes one more reference. Returns the connection. */
struct bloom_connection *bloom_connection_keep(struct bloom_connection *connection);

/* Gives a reference to a connection back; SQLite calls it as a destructor, too. After the last one
 * of a connection another SQLite library may be served, so this must be the last thing that a
 * destructor does. */
void bloom_connection_close(void *connection);

#endif
