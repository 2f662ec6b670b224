/* Two threads in turn, each with an SQLite library of its own, load the same file of the extension,
 * use everything and close. The turns are passed on by a relaxed variable, which orders nothing. So
 * ThreadSanitizer reports any call of SQLite that the extension makes after it has said that the
 * first library is no longer in use, even when nothing came of it.
 *
 *     two_libraries_test DIRECTORY EXTENSION
 *
 * DIRECTORY holds the libraries, one.so and two.so. EXTENSION stays loaded all the time, as with
 * musl.
 */
#define _GNU_SOURCE
#include "sqlite3.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { LIBRARIES = 2, ROUNDS = 20 };

static const char *extension;
static atomic_uint turn;

/* A library, which one thread uses, and what went wrong. */
struct library {
    const char *name;
    unsigned number;
    void *handle;
    const char *problem;
};

/* A function of a library. dlsym returns it as a pointer to data, which ISO C does not convert. */
#define OF(library, name) (__extension__(__typeof__(&(name))) dlsym((library)->handle, #name))

static const char SQL[] =
    "CREATE TABLE f AS SELECT bloom_agg(x) AS f FROM (SELECT 1 AS x UNION ALL SELECT 2);"
    "SELECT bloom_check((SELECT bloom_pin(f) FROM f), 1), bloom_info(f) FROM f;"
    "SELECT count(*) FROM bloom_list('a.example'), bloom_url_keys('b.example');"
    "SELECT key FROM bloom_keys(bloom_new(10, NULL, 'bitmap'));"
    "CREATE VIRTUAL TABLE seen USING bloom; INSERT INTO seen(key) VALUES (1);"
    "SELECT 1 FROM seen WHERE key = 1";

static void use(struct library *library) {
    sqlite3 *database;
    if (OF(library, sqlite3_open)(":memory:", &database) != SQLITE_OK ||
        OF(library, sqlite3_enable_load_extension)(database, 1) != SQLITE_OK)
        library->problem = "no connection";
    else if (OF(library, sqlite3_load_extension)(database, extension, "sqlite3_bloom_init", NULL) !=
             SQLITE_OK)
        library->problem = "the extension was refused, or not found";
    else if (OF(library, sqlite3_exec)(database, SQL, NULL, NULL, NULL) != SQLITE_OK)
        library->problem = "a statement failed";
    if (OF(library, sqlite3_close)(database) != SQLITE_OK)
        library->problem = "the connection stays open";
}

static void *take_turns(void *argument) {
    struct library *library = argument;
    for (unsigned round = 0; round < ROUNDS; round++) {
        while (atomic_load_explicit(&turn, memory_order_relaxed) % LIBRARIES != library->number)
            usleep(100);
        use(library);
        atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
    }
    return NULL;
}

static int open_library(struct library *library, const char *directory) {
    char path[500];
    snprintf(path, sizeof path, "%s/%s", directory, library->name);
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    /* Otherwise each allocation takes a mutex. */
    return library->handle != NULL &&
           OF(library, sqlite3_config)(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK;
}

int main(int count, char **arguments) {
    static struct library libraries[LIBRARIES] = {{.name = "one.so", .number = 0},
                                                  {.name = "two.so", .number = 1}};
    pthread_t threads[LIBRARIES];
    int failed = 0;
    extension = count == 3 ? arguments[2] : "";
    for (int i = 0; i < LIBRARIES; i++) {
        if (!open_library(&libraries[i], arguments[1]) || dlopen(extension, RTLD_NOW) == NULL) {
            printf("%s: %s\n0 passed, 1 failed\n", libraries[i].name, dlerror());
            return 1;
        }
    }
    for (int i = 0; i < LIBRARIES; i++)
        if (pthread_create(&threads[i], NULL, take_turns, &libraries[i]) != 0)
            return 1;
    for (int i = 0; i < LIBRARIES; i++) {
        pthread_join(threads[i], NULL);
        failed += libraries[i].problem != NULL;
        if (libraries[i].problem != NULL)
            printf("%s: %s\n", libraries[i].name, libraries[i].problem);
    }
    printf("%d passed, %d failed\n", LIBRARIES - failed, failed);
    return failed > 0;
}
