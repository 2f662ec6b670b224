/* Many threads at once, each with a connection of its own: registering, building, checking,
 * merging, a filter table on one shared file. And many threads on one filter through
 * sqlite-bloom-filter.h: what its header allows, all that takes a const filter. run.sh builds this
 * program and the extension with ThreadSanitizer, which reports two threads at one place in memory
 * even when nothing came of it; the program itself compares results, exactly.
 *
 *     threads_test DIRECTORY [LIBRARY]
 *
 * DIRECTORY is where databases may be written. With LIBRARY every connection loads the extension
 * from that file; without, it calls the one that is linked in.
 */
#include "sqlite-bloom-filter.h"
#include "sqlite-bloom.h"

#include "foreign/exchange.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, PROBLEM_SIZE = 300, ANSWER_SIZE = 64, BUSY_MILLISECONDS = 60000 };

static pthread_barrier_t start;
static int passed, failed;
static const char *library; /* to load, or NULL */
static const char *directory;

/* What a thread is and what it found out: written by itself, read after it has been joined. */
struct worker {
    int number;
    void (*work)(struct worker *);
    char problem[PROBLEM_SIZE]; /* the first one; empty when all is well */
};

__attribute__((format(printf, 2, 3))) static void problem(struct worker *worker, const char *format,
                                                          ...) {
    va_list list;
    if (worker->problem[0] != '\0')
        return;
    va_start(list, format);
    vsnprintf(worker->problem, sizeof worker->problem, format, list);
    va_end(list);
}

/* Registers the extension with a connection. */
static int extend(sqlite3 *database) {
    if (library == NULL)
        return sqlite3_bloom_init(database, NULL, NULL);
    int code = sqlite3_enable_load_extension(database, 1);
    return code == SQLITE_OK ? sqlite3_load_extension(database, library, "sqlite3_bloom_init", NULL)
                             : code;
}

static sqlite3 *open_database(struct worker *worker, const char *path) {
    sqlite3 *database;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_PRIVATECACHE;
    if (sqlite3_open_v2(path, &database, flags, NULL) != SQLITE_OK || extend(database) != SQLITE_OK)
        problem(worker, "%s cannot be opened: %s", path, sqlite3_errmsg(database));
    sqlite3_busy_timeout(database, BUSY_MILLISECONDS);
    return database;
}

static void close_database(struct worker *worker, sqlite3 *database) {
    if (sqlite3_close(database) != SQLITE_OK)
        problem(worker, "statements are left open");
}

static void run(struct worker *worker, sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        problem(worker, "%s: %s", sql, sqlite3_errmsg(database));
}

/* The value that a query gives, as text; "no row" when there is none. With waits, all threads are
 * at the same statement. */
static void ask(struct worker *worker, sqlite3 *database, const char *sql, bool waits,
                char answer[ANSWER_SIZE]) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (waits)
        pthread_barrier_wait(&start);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    snprintf(answer, ANSWER_SIZE, "%s",
             code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : "no row");
    if (code != SQLITE_ROW)
        problem(worker, "%s: %s", sql, sqlite3_errmsg(database));
    sqlite3_finalize(statement);
}

static void expect(struct worker *worker, sqlite3 *database, const char *sql,
                   const char *expected) {
    char answer[ANSWER_SIZE];
    ask(worker, database, sql, false, answer);
    if (strcmp(answer, expected) != 0)
        problem(worker, "thread %d: %s: %s instead of %s", worker->number, sql, answer, expected);
}

static void *run_worker(void *argument) {
    struct worker *worker = argument;
    pthread_barrier_wait(&start);
    worker->work(worker);
    return NULL;
}

/* Counts a test, which found nothing wrong if problem is empty. */
static void report(const char *title, const char *problem) {
    passed += problem[0] == '\0';
    failed += problem[0] != '\0';
    if (problem[0] != '\0')
        printf("%s: %s\n", title, problem);
}

/* Runs work in all threads at once. Counts as one test. */
static void in_threads(const char *title, void (*work)(struct worker *)) {
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    const char *found = "";
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i, .work = work};
        if (pthread_create(&threads[i], NULL, run_worker, &workers[i]) != 0) {
            fputs("no thread to be had\n", stderr);
            exit(1);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        found = found[0] == '\0' ? workers[i].problem : found;
    }
    pthread_barrier_destroy(&start);
    report(title, found);
}

/* Values: every query of this list gives the same bytes, here their hash, in every thread. */

#define SERIES(count)                                                                              \
    "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < " #count ") "
#define HASH(series, value) series "SELECT hex(bloom_hash(" value ")) FROM c"

static const char *const QUERIES[] = {
    /* Enough keys for many partitions; half of them are repeated. */
    HASH(SERIES(80000), "bloom_agg('key ' || (i % 40000))"),
    HASH(SERIES(80000), "bloom_agg(i % 40000, NULL, 0.01, 'classic')"),
    HASH(SERIES(20000), "bloom_agg(i, 20000, 0.0001, 'classic')"),
    HASH(SERIES(5000), "bloom_agg(i, bloom_new(9000, 0.02))"),
    HASH(SERIES(100), "bloom_union_agg(bloom_add(bloom_new(500), i))"),
    HASH(SERIES(1), "bloom_union(bloom_add(bloom_new(500), i), NULL, bloom_new(500))"),
    HASH(SERIES(1), "bloom_intersect(bloom_add(bloom_new(500), i), bloom_new(500))"),
    HASH(SERIES(1), "bloom_add(bloom_new_bits(12345, 6), 1.5)"),
    HASH(SERIES(1000), "bloom_info(bloom_agg(i, 1000, 0.01, 'classic'))"),
    HASH(SERIES(1000), "bloom_count(bloom_agg(i)) || ' ' || bloom_fpr_now(bloom_agg(i))"),
    HASH(SERIES(1000), "bloom_import(bloom_export(bloom_agg(i, 1000, 0.01, 'classic'), 'guava'), "
                       "'guava')"),
};

enum { QUERY_COUNT = sizeof QUERIES / sizeof *QUERIES };

/* The first use of everything, by all threads at the same moment: what is set up at first use would
 * be set up here. The barrier before each statement comes after all that SQLite locks on the way to
 * it, since a lock that two threads happen to take one after the other hides a race from the
 * sanitizer. */
static char first_answers[THREADS][QUERY_COUNT][ANSWER_SIZE];

static void use_for_the_first_time(struct worker *worker) {
    static const char *const TABLE_STATEMENTS[] = {
        "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=0.02)",
        "INSERT INTO seen(key) VALUES ('a')",
        "SELECT 1 FROM seen WHERE key = 'a'",
        "SELECT info, filter FROM seen",
        "INSERT INTO seen(seen, key) SELECT 'merge', filter FROM seen",
        "INSERT INTO seen(seen) VALUES ('clear')",
        "ALTER TABLE seen RENAME TO other",
        "DROP TABLE other",
    };
    sqlite3 *database = open_database(worker, ":memory:");
    for (int i = 0; i < QUERY_COUNT; i++)
        ask(worker, database, QUERIES[i], true, first_answers[worker->number][i]);
    for (size_t i = 0; i < sizeof TABLE_STATEMENTS / sizeof *TABLE_STATEMENTS; i++) {
        pthread_barrier_wait(&start);
        run(worker, database, TABLE_STATEMENTS[i]);
    }
    close_database(worker, database);
}

/* What one thread gets is what all must have got. */
static void compare_first_answers(void) {
    struct worker here = {.number = -1};
    char answer[ANSWER_SIZE];
    sqlite3 *database = open_database(&here, ":memory:");
    for (int query = 0; query < QUERY_COUNT; query++) {
        ask(&here, database, QUERIES[query], false, answer);
        for (int i = 0; i < THREADS; i++)
            if (strcmp(first_answers[i][query], answer) != 0)
                problem(&here, "thread %d: another result than in a single thread: %s", i,
                        QUERIES[query]);
    }
    close_database(&here, database);
    report("answers at first use", here.problem);
}

/* All pins of the process are in one table, so threads wait for each other. */
static void pin_often(struct worker *worker) {
    sqlite3 *database = open_database(worker, ":memory:");
    expect(worker, database,
           SERIES(10000) "SELECT sum(bloom_check(bloom_pin(bloom_new(i % 9 + 1)), i)) FROM c", "0");
    close_database(worker, database);
}

/* A filter table that grows, on one file: each thread adds keys of its own and finds them. */

#define OWN_KEYS "WITH RECURSIVE c(i) AS (VALUES (%d) UNION ALL SELECT i + 1 FROM c WHERE i < %d) "

static char path[400];

static void use_one_file(struct worker *worker) {
    enum { ROUNDS = 24, KEYS_A_ROUND = 50 };
    char sql[300], all[20];
    sqlite3 *database = open_database(worker, path);
    for (int round = 1; round <= ROUNDS; round++) {
        const int first = worker->number * ROUNDS * KEYS_A_ROUND;
        const int last = first + round * KEYS_A_ROUND - 1;
        snprintf(sql, sizeof sql, OWN_KEYS "INSERT INTO seen(key) SELECT i FROM c",
                 last - KEYS_A_ROUND + 1, last);
        run(worker, database, sql);
        snprintf(sql, sizeof sql, OWN_KEYS "SELECT count(*) FROM c CROSS JOIN seen ON key = i",
                 first, last);
        snprintf(all, sizeof all, "%d", round * KEYS_A_ROUND);
        expect(worker, database, sql, all);
    }
    close_database(worker, database);
}

static void share_file(void) {
    struct worker here = {.number = -1};
    snprintf(path, sizeof path, "%s/threads_%d.db", directory, (int)getpid());
    unlink(path);
    sqlite3 *database = open_database(&here, path);
    run(&here, database,
        "PRAGMA journal_mode=wal; CREATE VIRTUAL TABLE seen USING bloom(capacity=700)");
    in_threads("threads on one file", use_one_file);
    expect(&here, database, SERIES(9599) "SELECT count(*) FROM c CROSS JOIN seen ON key = i",
           "9599");
    close_database(&here, database);
    report("what they left", here.problem);
    unlink(path);
}

/* One filter for all: keys of all types, of which the first ADDED are added. */

enum { KEYS = 600, ADDED = 300, TEXT_SIZE = 700, LONG_URLS = 10 };

static const struct sqlite_bloom_filter *shared;
static struct sqlite_bloom_key keys[KEYS];
static int wanted[KEYS]; /* what one thread alone finds */

static void make_keys(bool are_numbers) {
    static char texts[KEYS][TEXT_SIZE];
    for (int i = 0; i < KEYS; i++) {
        /* A key rule needs memory for long ones. */
        const int digits = i < LONG_URLS || i >= KEYS - LONG_URLS ? 600 : 1;
        const int length =
            snprintf(texts[i], TEXT_SIZE, "http://host%d.example/%0*d", i % 40, digits, i);
        const struct sqlite_bloom_key kinds[] = {
            sqlite_bloom_text_key(texts[i], (size_t)length),
            sqlite_bloom_bytes_key(texts[i], (size_t)length),
            sqlite_bloom_integer_key(i),
            sqlite_bloom_real_key(i + 0.5),
        };
        keys[i] = kinds[are_numbers ? 2 : i % 4];
    }
}

/* All else that leaves a filter as it is. */
static bool can_be_used_otherwise(void) {
    struct sqlite_bloom_description description;
    struct sqlite_bloom_estimate estimate;
    struct sqlite_bloom_filter *made = NULL;
    const struct sqlite_bloom_filter *const twice[] = {shared, shared};
    size_t length, other, exported = 0;
    const void *bytes = sqlite_bloom_filter_bytes(shared, &length);
    sqlite_bloom_filter_describe(shared, &description);
    sqlite_bloom_filter_estimate(shared, &estimate);
    sqlite_bloom_filter_export(shared, "dcso", NULL, &exported, NULL);
    if (sqlite_bloom_filter_copy(&made, shared, NULL, NULL) != SQLITE_BLOOM_OK ||
        memcmp(sqlite_bloom_filter_bytes(made, &other), bytes, length) != 0)
        return false;
    sqlite_bloom_filter_close(made);
    const int status = sqlite_bloom_filter_union(&made, twice, 2, NULL, NULL);
    if (status == SQLITE_BLOOM_OK)
        sqlite_bloom_filter_close(made);
    return status == SQLITE_BLOOM_OK || status == SQLITE_BLOOM_REFUSED;
}

/* Each thread begins at another key, so that they ask different ones at the same time. */
static void read_filter(struct worker *worker) {
    unsigned char found[KEYS];
    for (int i = 0; i < KEYS; i++) {
        const int at = (i + worker->number * KEYS / THREADS) % KEYS;
        if (sqlite_bloom_filter_check(shared, keys[at]) != wanted[at])
            problem(worker, "another answer than in a single thread");
    }
    sqlite_bloom_filter_check_many(shared, keys, KEYS, found);
    for (int i = 0; i < KEYS; i++)
        if (found[i] != (wanted[i] == 1))
            problem(worker, "another answer than in a single thread, of many");
    if (!can_be_used_otherwise())
        problem(worker, "no copy or union of it");
}

static void must(int status, const char *said) {
    if (status != SQLITE_BLOOM_OK) {
        fprintf(stderr, "%s\n", said);
        exit(1);
    }
}

/* A view on a filter that a builder makes of the keys that it takes. Threads share the view, not
 * what made it. */
static void share_filter(double p, const char *options) {
    struct sqlite_bloom_builder *builder;
    struct sqlite_bloom_filter *filter, *view;
    char said[SQLITE_BLOOM_PROBLEM_SIZE] = "";
    size_t length;
    int in = 0;
    must(sqlite_bloom_builder_open(&builder, p, options, NULL, said), said);
    for (int i = 0; i < ADDED; i++)
        sqlite_bloom_builder_add(builder, keys[i], said);
    must(sqlite_bloom_builder_finish(builder, &filter, said), said);
    const void *bytes = sqlite_bloom_filter_bytes(filter, &length);
    must(sqlite_bloom_filter_open(&view, bytes, length, NULL, said), said);
    for (int i = 0; i < KEYS; i++)
        in += (wanted[i] = sqlite_bloom_filter_check(filter, keys[i])) == 1;
    shared = view;
    in_threads(options, read_filter);
    report(options, in < ADDED / 4 ? "too few keys are in" : "");
    sqlite_bloom_filter_close(view);
    sqlite_bloom_filter_close(filter);
    sqlite_bloom_builder_close(builder);
}

static void share_filters(void) {
    static const char *const KEYINGS[] = {"salt=000102030405060708090a0b0c0d0e0f", "key=url",
                                          "key=url_nocase, salt=000102030405060708090a0b0c0d0e0f",
                                          "layout=counting, key=url", "layout=fuse, key=url"};
    for (size_t i = 0; bloom_layouts()[i] != NULL; i++) {
        const struct bloom_layout *layout = bloom_layouts()[i];
        if (layout->size == NULL)
            continue; /* it is only imported */
        make_keys(layout->exact || layout == &bloom_layout_parquet_int32);
        share_filter(layout->exact ? 0 : 0.01, layout->name);
    }
    make_keys(false);
    for (size_t i = 0; i < sizeof KEYINGS / sizeof *KEYINGS; i++)
        share_filter(0.01, KEYINGS[i]);
}

int main(int count, char **arguments) {
    if (count < 2 || !sqlite3_threadsafe()) {
        puts(count < 2 ? "usage: threads_test DIRECTORY [LIBRARY]"
                       : "skipped: SQLite is not made for threads");
        puts("0 passed, 0 failed, 1 skipped");
        return count < 2;
    }
    directory = arguments[1];
    library = arguments[2];
    /* Else every allocation takes one mutex, and the sanitizer takes threads for synchronised that
     * are not. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    in_threads("first use", use_for_the_first_time);
    compare_first_answers();
    in_threads("pins", pin_often);
    share_file();
    if (library == NULL) /* sharing filters does not depend on how the extension came in */
        share_filters();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
