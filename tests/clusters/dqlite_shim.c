/* Gets the extension into a program that opens its databases with a shared libsqlite3, as dqlite
 * does: LD_PRELOAD this object, and name the library in BLOOM_LIBRARY. At the first connection it
 * makes the extension one of those that SQLite gives to each new connection. Not in a constructor:
 * there SQLite may not be initialised yet.
 *
 *     cc -shared -fPIC -o shim.so dqlite_shim.c -ldl -lsqlite3
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void register_extension(void) {
    const char *path = getenv("BLOOM_LIBRARY");
    void *library = path != NULL ? dlopen(path, RTLD_NOW) : NULL;
    void (*entry)(void) = NULL;
    if (library != NULL)
        *(void **)&entry = dlsym(library, "sqlite3_bloom_init");
    if (entry == NULL || sqlite3_auto_extension(entry) != SQLITE_OK) {
        fprintf(stderr, "dqlite_shim: cannot load BLOOM_LIBRARY: %s\n", path ? path : "not set");
        exit(1);
    }
}

int sqlite3_open_v2(const char *name, sqlite3 **database, int flags, const char *vfs) {
    int (*next)(const char *, sqlite3 **, int, const char *);
    *(void **)&next = dlsym(RTLD_NEXT, "sqlite3_open_v2");
    pthread_once(&once, register_extension);
    return next(name, database, flags, vfs);
}
