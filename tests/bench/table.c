/* What checks, inserts and deletes of a filter table cost, from 10^4 to 10^8 keys, against an exact
 * index, in one run.
 *
 *     table EXTENSION FOLDER LARGEST
 *
 * A database each is made in FOLDER and removed.
 *
 * Keys are texts of 17 random hexadecimal digits. Tables of every size are filled first, through
 * the merge command with a filter built by bloom_agg, so that 10^8 keys take a minute. Then, in
 * turn, each runs prepared statements, as does an exact index (a WITHOUT ROWID table, which is the
 * smallest and fastest there is): checks of absent keys, 200,000 of them in a join, and INSERTs and
 * DELETEs of 50,000 new keys, or a tenth of the table's. LEGEND says which are in a transaction of
 * their own; that is with WAL and synchronous=NORMAL.
 *
 * Every table has a database and a connection of its own, whose page cache holds all of it.
 * "counting" has layout=counting and stops at 10^7 keys, where it takes 60 MB. Medians of five
 * rounds, in ns.
 */
#include "bench.h"

#include <sqlite3.h>

#include <stdarg.h>
#include <stdio.h>

enum { ROUNDS = 5, CHECKS = 200000, ALONE = 50000, INSERTS = 50000, COMMITS = 5000 };

enum job { JOB_ALONE, JOB_CHECK, JOB_JOIN, JOB_INSERT, JOB_DELETE, JOB_COMMIT, JOBS };

static const char *const JOB_NAMES[JOBS] = {"alone", "check", "join", "insert", "delete", "commit"};

static const char LEGEND[] =
    "`alone`: one check in a transaction of its own. `check`: the same inside one read transaction."
    "\n`join`: checks of one statement for many keys. `insert` and `delete`: one key a statement "
    "inside a\ntransaction. `commit`: an INSERT in a transaction of its own.";

struct subject {
    const char *kind;
    const char *layout; /* NULL for an index */
    double keys;
    int inserts, commits; /* of a round */
    char *path;
    sqlite3 *database;
    sqlite3_stmt *check, *insert, *join;
    sqlite3_stmt *take_out;     /* NULL where keys cannot be deleted */
    double times[JOBS][ROUNDS]; /* none is 0 but of what is not measured */
};

#define CHECKPOINT "PRAGMA wal_checkpoint(TRUNCATE);"
#define COUNT_TO "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < %.0f) "

static void fail(sqlite3 *database, const char *what) {
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void run(sqlite3 *database, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *sql = sqlite3_vmprintf(format, list);
    va_end(list);
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail(database, sql);
    sqlite3_free(sql);
}

static sqlite3_stmt *prepare(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) !=
        SQLITE_OK)
        fail(database, sql);
    return statement;
}

/* ns for each run of a statement with keys of 17 characters, those of a number and the next. */
static double measure(sqlite3_stmt *statement, uint64_t number, int count) {
    double start = bench_now(CLOCK_MONOTONIC);
    for (int i = 0; i < count; i++) {
        char key[17] = "k";
        uint64_t word = bench_random(number + (uint64_t)i);
        for (size_t j = 1; j < sizeof key; j++, word <<= 4)
            key[j] = "0123456789abcdef"[word >> 60];
        sqlite3_bind_text(statement, 1, key, sizeof key, SQLITE_STATIC);
        sqlite3_step(statement);
        if (sqlite3_reset(statement) != SQLITE_OK)
            fail(sqlite3_db_handle(statement), sqlite3_sql(statement));
    }
    return (bench_now(CLOCK_MONOTONIC) - start) / count;
}

/* The table t of a database of its own, with that many keys. */
static void make(struct subject *subject, const char *extension, const char *folder) {
    sqlite3 *database;
    const char *layout = subject->layout;
    /* A round inserts at most a tenth of the keys of a small table, which would not stay one. */
    const double tenth = subject->keys / 10;
    subject->inserts = INSERTS < tenth ? INSERTS : (int)tenth;
    subject->commits = COMMITS < tenth ? COMMITS : (int)tenth;
    subject->path = sqlite3_mprintf("%s/table_%s_%.0e.db", folder, subject->kind, subject->keys);
    remove(subject->path);
    if (sqlite3_open(subject->path, &database) != SQLITE_OK ||
        sqlite3_enable_load_extension(database, 1) != SQLITE_OK ||
        sqlite3_load_extension(database, extension, NULL, NULL) != SQLITE_OK)
        fail(database, subject->path);
    subject->database = database;
    run(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA mmap_size=0;"
                  "PRAGMA cache_size=-2000000");
    /* A tenth more than it will ever hold. It does not grow: then its shape is that of bloom_agg.
     */
    double capacity = 1.1 * (subject->keys + ROUNDS * (subject->inserts + subject->commits));
    if (layout != NULL)
        run(database,
            "CREATE VIRTUAL TABLE t USING bloom(capacity=%.0f, fpr=0.01, growth=off, "
            "layout=%s);" COUNT_TO
            "INSERT INTO t(t, key) SELECT 'merge', bloom_agg(i, %.0f, 0.01, '%s') FROM c",
            capacity, layout, subject->keys, capacity, layout);
    else
        run(database,
            "CREATE TABLE t(key TEXT PRIMARY KEY) WITHOUT ROWID;" COUNT_TO
            "INSERT INTO t SELECT 'k' || lower(hex(substr(bloom_hash(i), 1, 8))) AS key FROM c "
            "ORDER BY key",
            subject->keys);
    /* All pages into the connection's cache, and the log into the file. */
    run(database, layout != NULL ? CHECKPOINT "SELECT sum(length(data)) FROM t_data"
                                 : CHECKPOINT "SELECT sum(length(key)) FROM t");
    run(database,
        "CREATE TEMP TABLE absent AS " COUNT_TO
        "SELECT 'k' || lower(hex(randomblob(8))) AS key FROM c",
        (double)CHECKS);
    subject->check = prepare(database, "SELECT 1 FROM t WHERE key = ?");
    subject->insert = prepare(database, "INSERT OR IGNORE INTO t(key) VALUES (?)");
    if (layout == NULL || strcmp(layout, "counting") == 0)
        subject->take_out = prepare(database, "DELETE FROM t WHERE key = ?");
    subject->join =
        prepare(database, "SELECT count(*) FROM absent WHERE NOT EXISTS (SELECT 1 FROM t WHERE "
                          "t.key = absent.key)");
}

static void measure_all(struct subject *subject, int round) {
    sqlite3 *database = subject->database;
    const uint64_t number = (uint64_t)round << 40;       /* of absent keys */
    const uint64_t added = number + (UINT64_C(1) << 32); /* of those that this round inserts */
    measure(subject->check, number, ALONE);              /* its pages into the processor's caches */
    subject->times[JOB_ALONE][round] = measure(subject->check, number + ALONE, ALONE);
    run(database, "BEGIN");
    subject->times[JOB_CHECK][round] = measure(subject->check, number + 2 * ALONE, CHECKS);
    double start = bench_now(CLOCK_MONOTONIC);
    if (sqlite3_step(subject->join) != SQLITE_ROW ||
        sqlite3_column_int(subject->join, 0) < CHECKS * 98 / 100)
        fail(database, "join");
    sqlite3_reset(subject->join);
    subject->times[JOB_JOIN][round] = (bench_now(CLOCK_MONOTONIC) - start) / CHECKS;
    subject->times[JOB_INSERT][round] = measure(subject->insert, added, subject->inserts);
    if (subject->take_out != NULL)
        subject->times[JOB_DELETE][round] = measure(subject->take_out, added, subject->inserts);
    run(database, "COMMIT;" CHECKPOINT);
    subject->times[JOB_COMMIT][round] = measure(subject->insert, added + INSERTS, subject->commits);
    run(database, CHECKPOINT);
}

int main(int count, char **arguments) {
    static struct subject subjects[32];
    int subject_count = 0;
    if (count != 4) {
        fputs("usage: table EXTENSION FOLDER LARGEST\n", stderr);
        return 2;
    }
    double largest = atof(arguments[3]);
    static const struct subject KINDS[] = {
        {.kind = "filter", .layout = "blocked", .keys = 1e8},
        {.kind = "counting", .layout = "counting", .keys = 1e7},
        {.kind = "index", .keys = 1e7}, /* 10^8 would take 3 GB */
    };
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        for (double keys = 1e4; keys <= largest && keys <= KINDS[i].keys; keys *= 10) {
            subjects[subject_count] = KINDS[i];
            subjects[subject_count++].keys = keys;
        }
    for (int i = 0; i < subject_count; i++)
        make(&subjects[i], arguments[1], arguments[2]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < subject_count; i++)
            measure_all(&subjects[i], round);
    printf("\n%s\n\nSQLite %s; ns, medians of %d rounds; ratios to the first line of each kind in "
           "brackets\n\n| table | keys |",
           LEGEND, sqlite3_libversion(), ROUNDS);
    for (int job = 0; job < JOBS; job++)
        printf(" %s |", JOB_NAMES[job]);
    printf("\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
    const struct subject *first = subjects;
    for (struct subject *subject = subjects; subject < subjects + subject_count; subject++) {
        if (strcmp(first->kind, subject->kind) != 0)
            first = subject;
        printf("| %s | %.0e |", subject->kind, subject->keys);
        for (int job = 0; job < JOBS; job++) {
            double time = bench_median(subject->times[job], ROUNDS);
            if (time == 0)
                printf(" |");
            else
                printf(" %.0f (%.2f) |", time, time / first->times[job][ROUNDS / 2]);
        }
        printf("\n");
    }
    for (int i = 0; i < subject_count; i++) {
        run(subjects[i].database, "PRAGMA journal_mode=DELETE");
        remove(subjects[i].path); /* the connection stays open */
    }
    return 0;
}
