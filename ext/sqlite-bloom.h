/* Persistent filters for SQLite, for programs that link them in.
 *
 * Compile the amalgamation, sqlite-bloom.c, into the program, beside its SQLite (3.31 or later),
 * and link with the mathematical library (-lm, except on Windows):
 *
 *     cc -O2 -std=c11 -ffp-contract=off -DSQLITE_CORE -c sqlite-bloom.c
 *     cc -o program program.o sqlite-bloom.o -lsqlite3 -lm
 *
 * The command "make amalgamation" makes that file. The program calls, before it opens a connection:
 *
 *     sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init);
 *
 * For a connection that is already open it calls sqlite3_bloom_init(database, NULL, NULL) instead.
 * sql/REFERENCE.md of the repository lists the functions that the connection then has.
 */
#ifndef SQLITE_BLOOM_H
#define SQLITE_BLOOM_H

#include "sqlite3.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The release that this header belongs to, and the same as a number: 1002003 is 1.2.3. SELECT
 * bloom_version() returns the release of the library that runs. */
#define SQLITE_BLOOM_VERSION "1.1.0"
#define SQLITE_BLOOM_VERSION_NUMBER 1001000

struct sqlite3_api_routines;

/* How the one name is declared that the library exports. */
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
