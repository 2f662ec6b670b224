/* What one check and one insert of a filter table cost, from 10^4 to 10^8 keys, against an exact index, in
 * one run.
 *
 *   table EXTENSION DATABASE [LARGEST]      (DATABASE is made anew; LARGEST is 100000000 when left out)
 *
 * Keys are texts of 17 random hexadecimal digits. Tables of every size are filled first, through the merge
 * command with a filter built by bloom_agg, so that 10^8 keys take a minute; then, in turn, a prepared SELECT
 * 1 ... WHERE key = ? of absent keys, and a prepared INSERT of new ones inside a transaction, both against
 * the same statements on tables with an exact index. Medians of five rounds, in ns; the cache holds the whole
 * file.
 */
#include <sqlite3.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 5, CHECKS = 200000, INSERTS = 50000 };

static sqlite3 *database;

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void run(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(sql);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        fail(sql);
    return statement;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t next_random = 1;

static uint64_t random_word(void) {
    uint64_t word = next_random += 0x9e3779b97f4a7c15U;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9U;
    word = (word ^ word >> 27) * 0x94d049bb133111ebU;
    return word ^ word >> 31;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ns for each execution of a statement with one random key. */
static double measure(sqlite3_stmt *statement, int count) {
    char key[32];
    double start = now();
    for (int i = 0; i < count; i++) {
        int length = snprintf(key, sizeof key, "k%016llx", (unsigned long long)random_word());
        sqlite3_bind_text(statement, 1, key, length, SQLITE_STATIC);
        sqlite3_step(statement);
        if (sqlite3_reset(statement) != SQLITE_OK)
            fail(sqlite3_sql(statement));
    }
    return (now() - start) / count;
}

/* What making a key alone costs, so that it can be taken off. */
static double key_cost(void) {
    char key[32];
    volatile int sum = 0;
    double start = now();
    for (int i = 0; i < CHECKS; i++)
        sum += snprintf(key, sizeof key, "k%016llx", (unsigned long long)random_word());
    return (now() - start) / CHECKS;
}

struct subject {
    char name[32];
    double keys;
    sqlite3_stmt *check, *insert;
    double check_times[ROUNDS], insert_times[ROUNDS];
};

int main(int count, char **arguments) {
    static struct subject subjects[16];
    int subject_count = 0;
    double largest = count > 3 ? atof(arguments[3]) : 1e8;
    char sql[600];
    if (count < 3) {
        fputs("usage: table EXTENSION DATABASE [LARGEST]\n", stderr);
        return 2;
    }
    remove(arguments[2]);
    if (sqlite3_open(arguments[2], &database) != SQLITE_OK)
        fail("open");
    sqlite3_enable_load_extension(database, 1);
    if (sqlite3_load_extension(database, arguments[1], NULL, NULL) != SQLITE_OK)
        fail("load");
    run("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-2000000; PRAGMA mmap_size=0");
    for (double keys = 1e4; keys <= largest; keys *= 10) {
        struct subject *subject = &subjects[subject_count++];
        snprintf(subject->name, sizeof subject->name, "filter_%.0e", keys);
        subject->keys = keys;
        /* Twice the capacity, so that the inserts measured do not make it grow. */
        snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE \"%.31s\" USING bloom(capacity=%.0f, fpr=0.01)",
                 subject->name, keys + 2 * ROUNDS * INSERTS);
        run(sql);
        snprintf(sql, sizeof sql,
                 "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < %.0f) INSERT "
                 "INTO \"%.31s\"(\"%.31s\", key) "
                 "SELECT 'merge', bloom_agg(i, %.0f, 0.01) FROM c",
                 keys, subject->name, subject->name, keys + 2 * ROUNDS * INSERTS);
        run(sql);
        snprintf(sql, sizeof sql, "SELECT 1 FROM \"%.31s\" WHERE key = ?", subject->name);
        subject->check = prepare(sql);
        snprintf(sql, sizeof sql, "INSERT INTO \"%.31s\"(key) VALUES (?)", subject->name);
        subject->insert = prepare(sql);
    }
    for (double keys = 1e4; keys <= largest && keys <= 1e7; keys *= 10) {
        struct subject *subject = &subjects[subject_count++];
        snprintf(subject->name, sizeof subject->name, "index_%.0e", keys);
        subject->keys = keys;
        snprintf(
            sql, sizeof sql,
            "CREATE TABLE \"%.31s\"(key TEXT PRIMARY KEY) WITHOUT ROWID; WITH RECURSIVE c(i) AS (VALUES(1) "
            "UNION ALL SELECT i + 1 FROM c WHERE i < "
            "%.0f) INSERT INTO \"%.31s\" SELECT 'k' || lower(hex(substr(bloom_hash(i), 1, 8))) AS key FROM "
            "c ORDER BY key",
            subject->name, keys, subject->name);
        run(sql);
        snprintf(sql, sizeof sql, "SELECT 1 FROM \"%.31s\" WHERE key = ?", subject->name);
        subject->check = prepare(sql);
        snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO \"%.31s\"(key) VALUES (?)", subject->name);
        subject->insert = prepare(sql);
    }
    double making = key_cost();
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < subject_count; i++) {
            measure(subjects[i].check, CHECKS / 4); /* its pages into the cache */
            run("BEGIN");
            subjects[i].check_times[round] = measure(subjects[i].check, CHECKS) - making;
            subjects[i].insert_times[round] = measure(subjects[i].insert, INSERTS) - making;
            run("COMMIT");
        }
    printf("SQLite %s; ns, medians of %d rounds, inside a transaction\n\n", sqlite3_libversion(), ROUNDS);
    printf("| table | keys | check | insert |\n|---|---:|---:|---:|\n");
    for (int i = 0; i < subject_count; i++) {
        struct subject *subject = &subjects[i];
        qsort(subject->check_times, ROUNDS, sizeof(double), compare);
        qsort(subject->insert_times, ROUNDS, sizeof(double), compare);
        printf("| %s | %.0e | %.0f | %.0f |\n", subject->name, subject->keys,
               subject->check_times[ROUNDS / 2], subject->insert_times[ROUNDS / 2]);
        sqlite3_finalize(subject->check);
        sqlite3_finalize(subject->insert);
    }
    sqlite3_close(database);
    return 0;
}
