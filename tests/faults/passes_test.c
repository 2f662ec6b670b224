/* Long work can be stopped, by a progress handler and by sqlite3_interrupt. No clock
 * decides when: each statement is stopped at places that are the same in every run. It must end in
 * SQLITE_INTERRUPT, leave the database as it was and no memory allocated, and succeed next time.
 *
 * Functions over megabytes ask by a nested statement whether to stop. How often they ask follows
 * from how much they process. They are stopped at the first question, at the second, and so on to
 * the last. Commands of filter tables run statements for each chunk, in which SQLite itself asks;
 * faults_test.c and tests/world interrupt these.
 */
#include "connection.h"

static int questions, stop_at; /* asked so far; that which is answered */
static bool answers;           /* the one that runs */
static bool interrupts;        /* by sqlite3_interrupt instead of the handler's answer */

static int count_questions(unsigned which, void *unused, void *statement, void *sql) {
    (void)which, (void)unused, (void)statement;
    if (strstr(sql, "-- WITH RECURSIVE c(i)") == sql) {
        questions++;
        answers = questions == stop_at;
    }
    return 0;
}

static int stop(sqlite3 *database) {
    if (!interrupts)
        return 1;
    sqlite3_interrupt(database);
    return 0;
}

static int answer(void *database) {
    const bool stops = answers;
    answers = false;
    return stops ? stop(database) : 0;
}

/* The values of f are of 4 to 13 MB; n has the numbers from 1. What Parquet wrote has no number of
 * keys, so filters of two sizes can be united. */
static const char PREPARATION[] =
    "CREATE TABLE f AS SELECT bloom_new(7100000) AS blocked, "
    "bloom_new(7100000, 0.01, 'classic') AS classic, "
    "bloom_export(bloom_new(7100000, 0.01, 'classic'), 'guava') AS guava, "
    "bloom_new(4000000, 0.01, 'counting') AS counting, "
    "bloom_new(100000000, NULL, 'bitmap') AS numbers, bloom_new(50000000, NULL, 'bitmap') AS fewer,"
    "bloom_import(bloom_export(bloom_new(4000000, 0.01, 'parquet'), 'parquet'), 'parquet') AS "
    "parquet, "
    "bloom_import(bloom_export(bloom_new(2000000, 0.01, 'parquet'), 'parquet'), 'parquet') AS half;"
    "CREATE TABLE texts AS SELECT "
    "replace(hex(zeroblob(300000)), '00', '#' || x'0a') AS remarks, "
    "hex(zeroblob(4400000)) AS unbroken, "
    "replace(hex(zeroblob(4400000)), '0', CAST(x'0a' AS TEXT)) AS breaks;"
    "CREATE TABLE n(x INTEGER PRIMARY KEY);"
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100000) "
    "INSERT INTO main.n SELECT x FROM n;";

/* How often each asks: after, or between, each 4 MB that are scanned, copied or searched (of a
 * bitmap, each 4 MB of bits), and once where a value of so many is made; between 256 KB of a list;
 * and after 30,000 keys in each pass over them. Keys come in portions, so that three questions are
 * asked for 100,000. */
static const struct pass {
    const char *sql;
    int questions;
} PASSES[] = {
    {"SELECT length(bloom_new(100000000, NULL, 'bitmap'))", 1},
    {"SELECT bloom_add(blocked, 1) FROM f", 1},
    {"SELECT bloom_count(blocked) FROM f", 2},
    {"SELECT bloom_fpr_now(classic) FROM f", 1},
    {"SELECT bloom_info(counting) FROM f", 4},
    {"SELECT bloom_remove(counting, 1) FROM f", 1},
    {"SELECT bloom_convert(counting, 'blocked') FROM f", 1},
    /* The first filter is copied, each other one is united with the copy, and the copy is returned.
     * Of two sizes, the larger one is halved first, whichever it is. */
    {"SELECT bloom_union(blocked, blocked) FROM f", 1 + 2 + 1},
    {"SELECT bloom_intersect(classic, classic, classic) FROM f", 1 + 2 + 2 + 1},
    {"SELECT bloom_union_agg(blocked) FROM (SELECT blocked FROM f UNION ALL SELECT blocked FROM f)",
     1 + 2 + 1},
    {"SELECT bloom_union(fewer, numbers) FROM f", 1 + 1 + 1},
    {"SELECT bloom_union(parquet, half) FROM f", 1 + 1 + 1 + 1},
    {"SELECT bloom_intersect(half, parquet) FROM f", 1 + 1 + 1 + 1},
    {"SELECT bloom_export(classic, 'guava') FROM f", 1},
    {"SELECT bloom_export(parquet, 'parquet') FROM f", 1},
    {"SELECT bloom_import(guava, 'guava') FROM f", 1},
    {"SELECT count(*) FROM texts, bloom_list(remarks)", 2},
    {"SELECT count(*) FROM texts, bloom_list('a.example' || x'0a' || remarks)", 2},
    /* 9 MB without a break, which are searched for LF and for CR; then of breaks alone. */
    {"SELECT count(*) FROM texts, bloom_lines(unbroken)", 2 + 2 + 2},
    {"SELECT count(*) FROM texts, bloom_lines(breaks)", 2 + 2},
    {"SELECT value FROM bloom_integers(zeroblob(9000000)) LIMIT 1", 2},
    /* The argument is copied, and that of the next row is compared with it. A pin is the copy. */
    {"SELECT count(*) FROM f, bloom_keys(numbers)", 2 + 2},
    {"SELECT key FROM f, bloom_keys(numbers) ORDER BY key DESC", 2 + 2},
    {"SELECT key FROM f, bloom_keys(numbers) WHERE key > 50000000", 2 + 1},
    {"SELECT key FROM f, bloom_keys(numbers) WHERE key < 50000000", 2 + 1},
    {"SELECT key FROM f, bloom_keys(numbers) WHERE key = 50000000", 2},
    {"SELECT count(*) FROM f, (SELECT 1 UNION ALL SELECT 2), bloom_keys(numbers)", 2 + 2 + 2 + 2},
    {"SELECT count(*) FROM bloom_keys((SELECT bloom_pin(numbers) FROM f))", 2 + 2},
    /* The keys are counted, then added. */
    {"SELECT bloom_agg(x) FROM n", 3 + 3},
    {"SELECT bloom_agg(x, 7100000) FROM n WHERE x < 9", 1},
};

/* Stops a statement at each of its questions, then not at all. sqlite3_interrupt is called at the
 * first one only: it lasts until the statement ends, and so would hide that a later answer was
 * ignored. */
static void stop_pass(sqlite3 *database, const char *sql, int expected) {
    questions = 0;
    stop_at = interrupts = 1;
    require(expected == 0 || try(database, NULL, "%s", sql) == SQLITE_INTERRUPT,
            "%s: is not interrupted", sql);
    interrupts = false;
    for (stop_at = 1; stop_at <= expected + 1; stop_at++) {
        questions = 0;
        int code = try(database, NULL, "%s", sql);
        const bool stops = stop_at <= expected;
        require(code == (stops ? SQLITE_INTERRUPT : SQLITE_OK),
                "%s: stopped at question %d of %d: result %d", sql, stop_at, expected, code);
        require(questions == stop_at - !stops, "%s: stopped at question %d of %d: asks %d", sql,
                stop_at, expected, questions);
    }
}

/* Keys of a fuse filter are settled, digested, counted and dealt, in portions as above. Then they
 * are loaded in portions, and assigned 16,384 at a time, with one count of both. The first seed
 * serves these keys, or some of the passes would come again. */
static void stop_fuse(sqlite3 *database) {
    static const char SQL[] = "SELECT bloom_agg(x, NULL, 0.01, 'fuse') FROM n";
    enum { KEYS = 100000, UNIT = 30000, STRETCH = 16384, FOUR_PASSES = 4 * (KEYS / UNIT) };
    questions = stop_at = 0;
    run(database, SQL);
    require(questions >= FOUR_PASSES + 2 * KEYS / (UNIT + STRETCH) &&
                questions <= FOUR_PASSES + 2 * KEYS / UNIT,
            "%s: asks %d times", SQL, questions);
    stop_pass(database, SQL, questions);
}

static void each_question(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, PREPARATION);
    sqlite3_trace_v2(database, SQLITE_TRACE_STMT, count_questions, NULL);
    sqlite3_progress_handler(database, 100, answer, database);
    for (unsigned i = 0; i < COUNT_OF(PASSES); i++)
        stop_pass(database, PASSES[i].sql, PASSES[i].questions);
    stop_fuse(database);
    close_database(database);
    require(sqlite3_memory_used() == 0, "%lld bytes leaked", sqlite3_memory_used());
}

RUN_GROUP("passes", TEST("What takes long is stopped at each of its questions", each_question))
