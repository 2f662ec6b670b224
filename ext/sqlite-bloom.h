/* Bloom filters for SQLite, for programs that link them in.
 *
 * Compile every .c file of ext/, ext/filter, ext/exchange, ext/sqlite and ext/table into the
 * program with -std=c11 -ffp-contract=off -DSQLITE_CORE -Iext, and link it with -lm; then, before
 * the first connection is opened:
 *
 *     sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init);
 *
 * or, for a connection that is open already: sqlite3_bloom_init(database, NULL, NULL). README.md
 * lists the functions that the connection then has.
 */
#ifndef SQLITE_BLOOM_H
#define SQLITE_BLOOM_H

#include "sqlite3.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sqlite3_api_routines;

/* The one name that the library exports. A program that links the sources in exports nothing. */
#if defined(SQLITE_CORE)
#define SQLITE_BLOOM_API
#elif defined(_WIN32)
#define SQLITE_BLOOM_API __declspec(dllexport)
#elif defined(__GNUC__)
#define SQLITE_BLOOM_API __attribute__((visibility("default")))
#else
#define SQLITE_BLOOM_API
#endif

/* Registers the functions with a connection. Returns SQLITE_OK or an SQLite error code. error may
 * be NULL; otherwise, on failure, *error may be set to a message that the caller frees with
 * sqlite3_free(). api is NULL when linked in; SQLite passes it to a loaded extension. */
SQLITE_BLOOM_API int sqlite3_bloom_init(sqlite3 *database, char **error,
                                        const struct sqlite3_api_routines *api);

#ifdef __cplusplus
}
#endif

#endif
