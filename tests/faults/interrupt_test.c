/* Statements on filters of 10^8 bits are interrupted at moments spread over their normal run time,
 * by sqlite3_interrupt() from another thread. The outcome must be SQLITE_INTERRUPT, and the
 * database as before; or success, and the database as after it. Half of the statements must have
 * returned within 10 ms. Measured is the time of the processor that the thread of the statement
 * takes from the interrupt on, so that other work on the machine does not count. refusal_test
 * interrupts small statements, at every moment, and passes_test those on large values, by progress
 * handlers, too.
 */
#include "sqlite-bloom.h"

#ifdef __linux__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fatal(const char *title, const char *what, sqlite3 *database) {
    fprintf(stderr, "%s: %s: %s\n", title, what, database ? sqlite3_errmsg(database) : "");
    exit(1);
}

/* A large filter in each layout, bound as ?1 (blocked) and ?2 (classic); without length when not
 * made yet. */
struct value {
    int length;
    void *bytes;
};
static struct value large[2];

/* Runs every statement of sql and mixes what its rows say into *digest (FNV-1a). Returns the code
 * of the first that fails. */
static int run(sqlite3 *database, const char *sql, uint64_t *digest) {
    int code = SQLITE_OK;
    *digest = UINT64_C(14695981039346656037);
    while (code == SQLITE_OK && *sql != '\0') {
        sqlite3_stmt *statement;
        code = sqlite3_prepare_v2(database, sql, -1, &statement, &sql);
        if (code != SQLITE_OK || statement == NULL)
            break;
        for (int i = 0; i < sqlite3_bind_parameter_count(statement); i++)
            sqlite3_bind_blob(statement, i + 1, large[i].bytes, large[i].length, SQLITE_STATIC);
        while (sqlite3_step(statement) == SQLITE_ROW)
            for (int column = 0; column < sqlite3_column_count(statement); column++) {
                const unsigned char *bytes = sqlite3_column_blob(statement, column);
                int length = sqlite3_column_bytes(statement, column);
                /* Of long values every 1009th byte: digesting shall not be what is measured. */
                for (int i = 0; i<length; i += length> 100000 ? 1009 : 1)
                    *digest = (*digest ^ bytes[i]) * UINT64_C(1099511628211);
                *digest = (*digest ^ (uint64_t)length) * UINT64_C(1099511628211);
            }
        code = sqlite3_finalize(statement);
    }
    return code;
}

static void must_run(const char *title, sqlite3 *database, const char *sql) {
    uint64_t digest;
    if (run(database, sql, &digest) != SQLITE_OK)
        fatal(title, sql, database);
}

static uint64_t ask(const char *title, sqlite3 *database, const char *question) {
    uint64_t digest;
    if (run(database, question, &digest) != SQLITE_OK)
        fatal(title, question, database);
    return digest;
}

static sqlite3 *prepare(const char *title, const char *before) {
    sqlite3 *database;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_bloom_init(database, NULL, NULL) != SQLITE_OK)
        fatal(title, "cannot be prepared", database);
    must_run(title, database, before);
    return database;
}

/* Closes a connection, after which nothing may be left of it. */
static int close_clean(const char *title, sqlite3 *database) {
    static sqlite3_int64 leaked; /* and reported */
    if (sqlite3_close(database) != SQLITE_OK)
        fatal(title, "statements are left open", database);
    sqlite3_int64 left = sqlite3_memory_used() - leaked;
    leaked += left;
    if (left != 0)
        printf("%s: %lld bytes leaked\n", title, left);
    return left == 0;
}

#define SERIES(count)                                                                              \
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < " #count ") "
#define SCHEMA "SELECT name FROM sqlite_master ORDER BY 1"

enum { MOMENTS = 10, MILLISECONDS_ALLOWED = 10 };

struct operation {
    const char *title;
    const char *before;
    const char *attempt;
    const char *question;
    double from; /* the moments are after this share of the run time: where it gets interesting */
    int oldest_sqlite; /* that has it */
};

/* Rows by pairing a table of 2000 with itself: number * 0.8 million. */
#define ROWS "CREATE TABLE n(i INTEGER PRIMARY KEY); INSERT INTO n " SERIES(2000) "SELECT i FROM c;"
#define MILLIONS(number) "FROM n AS a, n AS b WHERE a.i <= " #number " * 400"
#define LARGE_TABLE                                                                                \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=10000000, growth=off); INSERT INTO "           \
    "seen(seen, key) "                                                                             \
    "VALUES "                                                                                      \
    "('merge', ?1); "                                                                              \
    "INSERT INTO seen(key) VALUES ('a'), ('b');"
#define LARGE_STATE                                                                                \
    "SELECT key FROM seen WHERE key IN ('a', 'b', 'c'); SELECT info FROM seen; SELECT "            \
    "count(*), total(length(data)) FROM seen_data;" SERIES(                                        \
        1000) "SELECT key FROM seen WHERE key IN "                                                 \
              "(SELECT i * 7 FROM c)"
#define NONE "SELECT 1"

static const struct operation OPERATIONS[] = {
    {"bloom_agg, n left out", ROWS, "SELECT bloom_agg(a.i * 2000 + b.i) " MILLIONS(3), NONE, 0, 0},
    {"bloom_agg, n left out, its final step", ROWS,
     "SELECT bloom_agg(a.i * 2000 + b.i) " MILLIONS(3), NONE, 0.8, 0},
    {"bloom_agg, n left out, repeated keys", ROWS,
     "SELECT bloom_agg(a.i * 20 + b.i % 2000) " MILLIONS(2), NONE, 0, 0},
    {"bloom_agg, n left out, classic", ROWS,
     "SELECT bloom_agg(a.i * 2000 + b.i, NULL, 0.01, 'classic') " MILLIONS(2), NONE, 0.5, 0},
    {"bloom_agg, n = 10^7", ROWS, "SELECT bloom_agg(a.i * 2000 + b.i, 10000000) " MILLIONS(2), NONE,
     0, 0},
    {"bloom_agg, n = 10^7, classic", ROWS,
     "SELECT bloom_agg(a.i * 2000 + b.i, 10000000, 0.01, 'classic') " MILLIONS(1), NONE, 0, 0},
    {"bloom_agg in the shape of a filter", ROWS,
     "SELECT bloom_agg(a.i * 2000 + b.i, ?1) " MILLIONS(2), NONE, 0, 0},
    {"bloom_agg, 60 groups of n = 10^7", ROWS,
     "SELECT bloom_agg(i, 10000000) FROM n WHERE i <= 60 GROUP BY i", NONE, 0, 0},
    {"bloom_hashes", ROWS, "SELECT bloom_hashes(a.i * 2000 + b.i) " MILLIONS(3), NONE, 0, 0},
    {"bloom_hashes, its final step", ROWS, "SELECT bloom_hashes(a.i * 2000 + b.i) " MILLIONS(3),
     NONE, 0.8, 0},
    {"bloom_hashes, repeated keys", ROWS, "SELECT bloom_hashes(a.i * 20 + b.i % 2000) " MILLIONS(2),
     NONE, 0, 0},
    {"bloom_union_agg", ROWS, "SELECT bloom_union_agg(?1) FROM n WHERE i <= 30", NONE, 0, 0},
    {"bloom_union", "", "SELECT bloom_union(?1, ?1)", NONE, 0, 0},
    {"bloom_union of 20", "",
     "SELECT bloom_union(?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, "
     "?1, ?1)",
     NONE, 0, 0},
    {"bloom_intersect", "", "SELECT bloom_intersect(?2, ?2)", NONE, 0, 0},
    {"bloom_intersect of 20", "",
     "SELECT bloom_intersect(?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, "
     "?1, ?1, ?1)",
     NONE, 0, 0},
    {"bloom_count", "", "SELECT bloom_count(?1)", NONE, 0, 0},
    {"bloom_count, classic", "", "SELECT bloom_count(?2)", NONE, 0, 0},
    {"bloom_info", "", "SELECT bloom_info(?1)", NONE, 0, 0},
    {"bloom_info, classic", "", "SELECT bloom_info(?2)", NONE, 0, 0},
    {"bloom_fpr", "", "SELECT bloom_fpr(?1)", NONE, 0, 0},
    {"bloom_new", "", "SELECT bloom_new(10000000)", NONE, 0, 0},
    {"bloom_add", "", "SELECT bloom_add(?1, 'a')", NONE, 0, 0},
    {"bloom_pin", ROWS,
     "SELECT sum(bloom_check((SELECT bloom_pin(?1)), a.i * 2000 + b.i)) " MILLIONS(1), NONE, 0, 0},
    {"bloom_export", "", "SELECT bloom_export(?2, 'guava')", NONE, 0, 0},
    {"bloom_import", "", "SELECT bloom_import(bloom_export(?2, 'guava'), 'guava')", NONE, 0, 0},
    {"bloom_list of remarks",
     "CREATE TABLE l AS SELECT replace(hex(zeroblob(50000000)), '00', '#' || x'0a') AS l",
     "SELECT count(*) FROM l, bloom_list(l)", NONE, 0.5, 0},
    {"bloom_keys of few", "CREATE TABLE f AS SELECT bloom_new(4000000000, NULL, 'bitmap') AS f",
     "SELECT count(*) FROM f, bloom_keys(f)", NONE, 0.9, 0},
    {"a table merged into", LARGE_TABLE,
     "INSERT INTO seen(seen, key) VALUES ('merge', bloom_add(?1, 'c'))", LARGE_STATE, 0, 0},
    {"a table merged into in a transaction", LARGE_TABLE,
     "BEGIN; INSERT INTO seen(key) VALUES ('c'); INSERT INTO seen(seen, key) VALUES ('merge', ?1); "
     "COMMIT",
     LARGE_STATE, 0, 0},
    {"an empty table merged into",
     "CREATE VIRTUAL TABLE seen USING bloom(capacity=10000000, growth=off)",
     "INSERT INTO seen(seen, key) VALUES ('merge', ?1)", LARGE_STATE, 0, 0},
    {"a table cleared", LARGE_TABLE, "INSERT INTO seen(seen) VALUES ('clear')", LARGE_STATE, 0, 0},
    {"a table dropped", LARGE_TABLE, "DROP TABLE seen", SCHEMA, 0, 0},
    {"a table's info", LARGE_TABLE, "SELECT info FROM seen", LARGE_STATE, 0, 0},
    {"a table's filter", LARGE_TABLE, "SELECT filter FROM seen", LARGE_STATE, 0, 0},
    {"a table filled", LARGE_TABLE ROWS, "INSERT INTO seen(key) SELECT i * 1000000007 FROM n",
     LARGE_STATE, 0, 0},
    {"a table filled by add_all", LARGE_TABLE ROWS,
     "INSERT INTO seen(seen, key) SELECT 'add_all', bloom_hashes(a.i * 2000 + b.i) " MILLIONS(2),
     LARGE_STATE, 0.5, 0},
    {"a table asked", LARGE_TABLE ROWS,
     "SELECT count(*) FROM n AS a, n AS b CROSS JOIN seen ON key = a.i * 2000 + b.i WHERE a.i <= "
     "20",
     LARGE_STATE, 0, 0},
    {"a table checked for damage", LARGE_TABLE, "PRAGMA integrity_check(seen)", LARGE_STATE, 0,
     3044000},
};

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Of the thread that runs statements. */
static clockid_t worker_clock;

struct interrupter {
    sqlite3 *database;
    double due; /* by the worker's clock */
    double at;  /* when it was done; 0 when the statement was faster */
    atomic_int over;
};

static void *interrupt_when_due(void *argument) {
    struct interrupter *interrupter = argument;
    const struct timespec pause = {0, 100000};
    while (!atomic_load(&interrupter->over)) {
        double now = seconds_of(worker_clock);
        if (now >= interrupter->due) {
            interrupter->at = now;
            sqlite3_interrupt(interrupter->database);
            break;
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int by_size(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* How long statements went on, one entry for each interrupt that met one. */
struct latencies {
    int count, stopped;
    double seconds[MOMENTS];
};

/* Interrupts an operation after some of its time. */
static int interrupt_once(const struct operation *operation, sqlite3 *database, double after,
                          struct latencies *latencies, uint64_t expected, int *code) {
    struct interrupter interrupter = {.database = database};
    pthread_t thread;
    uint64_t digest;
    interrupter.due = seconds_of(worker_clock) + after;
    if (pthread_create(&thread, NULL, interrupt_when_due, &interrupter) != 0)
        fatal(operation->title, "no thread to be had", NULL);
    *code = run(database, operation->attempt, &digest);
    double end = seconds_of(worker_clock);
    atomic_store(&interrupter.over, 1);
    pthread_join(thread, NULL);
    /* What came after the end was no interrupt of this statement. */
    if (interrupter.at > 0 && interrupter.at <= end)
        latencies->seconds[latencies->count++] = end - interrupter.at;
    latencies->stopped += *code == SQLITE_INTERRUPT;
    if (*code == SQLITE_INTERRUPT || (*code == SQLITE_OK && digest == expected))
        return 1;
    printf("%s: result %d (%s)\n", operation->title, *code, sqlite3_errmsg(database));
    return 0;
}

/* What an operation does when nobody interrupts it. */
struct normal {
    double seconds;
    uint64_t result, before, after;
};

/* Interrupts an operation again and again; prints the latencies. Returns whether all was right. */
static int interrupt_often(const struct operation *operation, const struct normal *normal,
                           double limit) {
    const char *title = operation->title;
    struct latencies latencies = {0};
    sqlite3 *database = prepare(title, operation->before);
    uint64_t digest;
    int good = 1;
    for (int i = 0; i < MOMENTS && good; i++) {
        int code;
        double share = operation->from + (1 - operation->from) * (i + 0.5) / MOMENTS;
        good = interrupt_once(operation, database, normal->seconds * share, &latencies,
                              normal->result, &code);
        if (!sqlite3_get_autocommit(database))
            must_run(title, database, "ROLLBACK");
        if (good && ask(title, database, operation->question) !=
                        (code == SQLITE_OK ? normal->after : normal->before)) {
            printf("%s, result %d: another state than %s\n", title, code,
                   code == SQLITE_OK ? "after it" : "before");
            good = 0;
        }
        if (code == SQLITE_OK && normal->after != normal->before) { /* it has been faster */
            good &= close_clean(title, database);
            database = prepare(title, operation->before);
        }
    }
    if (good &&
        (run(database, operation->attempt, &digest) != SQLITE_OK || digest != normal->result)) {
        printf("%s: does not succeed afterwards\n", title);
        good = 0;
    }
    good &= close_clean(title, database);
    if (latencies.count == 0) {
        printf(" |  -%24s", "");
        return good;
    }
    qsort(latencies.seconds, (size_t)latencies.count, sizeof *latencies.seconds, by_size);
    double median = latencies.seconds[latencies.count / 2];
    printf(" | %2d of %2d %5.1f %5.1f %5.1f%s", latencies.stopped, latencies.count,
           latencies.seconds[0] * 1e3, median * 1e3, latencies.seconds[latencies.count - 1] * 1e3,
           median > limit ? " LATE" : "");
    return good && median <= limit;
}

static int try_operation(const struct operation *operation, double limit) {
    const char *title = operation->title;
    sqlite3 *database = prepare(title, operation->before);
    struct normal normal;
    normal.before = ask(title, database, operation->question);
    normal.seconds = seconds_of(worker_clock);
    normal.result = ask(title, database, operation->attempt);
    normal.seconds = seconds_of(worker_clock) - normal.seconds;
    normal.after = ask(title, database, operation->question);
    int good = close_clean(title, database);
    printf("%-42s %6.1f", title, normal.seconds * 1e3);
    good &= interrupt_often(operation, &normal, limit);
    puts("");
    return good;
}

/* A single call that copies a filter of this size is not asked to stop on the way: where that takes
 * so long that two of them come to more than 10 ms, the machine is slow, and that is the limit. */
static double limit_here(void) {
    const char *title = "copying a filter";
    sqlite3 *database = prepare(title, "");
    double least = 1;
    for (int i = 0; i < 5; i++) {
        double begin = seconds_of(worker_clock);
        ask(title, database, "SELECT bloom_add(?1, 'a')");
        double spent = seconds_of(worker_clock) - begin;
        least = spent < least ? spent : least;
    }
    sqlite3_close(database);
    return 2 * least > MILLISECONDS_ALLOWED / 1e3 ? 2 * least : MILLISECONDS_ALLOWED / 1e3;
}

static void make_large_filters(void) {
    static const char *const LARGE[] = {
        SERIES(300000) "SELECT bloom_agg(i * 7, 10000000) FROM c",
        SERIES(300000) "SELECT bloom_import(bloom_export(bloom_agg(i * 7, (SELECT "
                       "bloom_pin(bloom_new_bits(100000000, 7)))), 'guava'), 'guava') FROM c",
    };
    sqlite3 *database = prepare("large filters", "");
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *statement;
        if (sqlite3_prepare_v2(database, LARGE[i], -1, &statement, NULL) != SQLITE_OK ||
            sqlite3_step(statement) != SQLITE_ROW)
            fatal("large filters", LARGE[i], database);
        large[i].length = sqlite3_column_bytes(statement, 0);
        large[i].bytes = malloc((size_t)large[i].length);
        memcpy(large[i].bytes, sqlite3_column_blob(statement, 0), (size_t)large[i].length);
        sqlite3_finalize(statement);
    }
    sqlite3_close(database);
}

int main(int count, char **arguments) {
    const char *only = count > 1 ? arguments[1] : ""; /* a part of the titles of what is tried */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    pthread_getcpuclockid(pthread_self(), &worker_clock);
#ifdef M_MMAP_THRESHOLD
    /* Memory that was freed is used again: else every large filter comes on new pages, which costs
     * five times what is done with it on a virtual machine, or not, as the C library sees fit. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    make_large_filters();
    double limit = limit_here();
    int passed = 0, failed = 0;
    printf(
        "\nMilliseconds of the processor: of the whole statement; then how many interrupts stopped "
        "it, and least,\nmedian and most from the interrupt to the return (allowed: %.1f)\n",
        limit * 1e3);
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++)
        if (strstr(OPERATIONS[i].title, only) != NULL &&
            sqlite3_libversion_number() >= OPERATIONS[i].oldest_sqlite)
            ++*(try_operation(&OPERATIONS[i], limit) ? &passed : &failed);
    free(large[0].bytes);
    free(large[1].bytes);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
