/* What goes over megabytes asks in between whether to stop, by a nested statement, and is stopped
 * here at the first question, at the second, and so on to the last, by a progress handler and by
 * sqlite3_interrupt in turn: each time the statement ends in SQLITE_INTERRUPT, leaves everything as
 * it was, and no memory behind. SQLite itself hides nothing, since it is not told again.
 */
#include "connection.h"

static int questions, stop_at; /* asked so far; that which is answered */
static bool answers;           /* the one that runs */

static int count_questions(unsigned which, void *unused, void *statement, void *sql) {
    (void)which, (void)unused, (void)statement;
    if (strstr(sql, "-- WITH RECURSIVE c(i)") == sql) {
        questions++;
        answers = questions == stop_at;
    }
    return 0;
}

static int answer(void *database) {
    const bool stops = answers;
    answers = false;
    if (!stops || stop_at % 2 == 1)
        return stops;
    sqlite3_interrupt(database);
    return 0;
}

/* The values of f are of some megabytes; n has the numbers from 1. */
static const char PREPARATION[] =
    "CREATE TABLE f AS SELECT bloom_new(8000000) AS blocked, bloom_new(8000000, 0.01, 'classic') "
    "AS classic, bloom_new(4000000, 0.01, 'counting') AS counting, bloom_export(bloom_new(8000000, "
    "0.01, 'classic'), 'guava') AS guava, bloom_new(8000000, 0.01, 'parquet') AS parquet, "
    "replace(hex(zeroblob(300000)), '00', '#' || x'0a') AS remarks, hex(zeroblob(300000)) AS "
    "digits, bloom_new(100000000, NULL, 'bitmap') AS numbers;"
    "CREATE TABLE n(x INTEGER PRIMARY KEY);" NUMBERS(
        90000) "INSERT INTO n SELECT x FROM n;"
               "CREATE VIRTUAL TABLE seen USING bloom(capacity=40000);";

/* A statement and how often it asks. */
static const struct pass {
    const char *sql;
    int questions;
} PASSES[] = {
    {"SELECT length(bloom_new(100000000, NULL, 'bitmap'))", 2},
    {"SELECT bloom_add(blocked, 1) FROM f", 1},
    {"SELECT bloom_count(blocked) FROM f", 2},
    {"SELECT bloom_fpr(classic) FROM f", 1},
    {"SELECT bloom_info(counting) FROM f", 4},
    {"SELECT bloom_remove(counting, 1) FROM f", 1},
    {"SELECT bloom_convert(counting, 'blocked') FROM f", 1},
    {"SELECT bloom_union(blocked, blocked) FROM f", 3},
    {"SELECT bloom_intersect(classic, classic, classic) FROM f", 5},
    {"SELECT bloom_union_agg(blocked) FROM (SELECT blocked FROM f UNION ALL SELECT blocked FROM f)",
     3},
    {"SELECT bloom_export(classic, 'guava') FROM f", 1},
    {"SELECT bloom_export(parquet, 'parquet') FROM f", 1},
    {"SELECT bloom_import(guava, 'guava') FROM f", 1},
    {"SELECT count(*) FROM f, bloom_list(remarks)", 2},
    {"SELECT count(*) FROM f, bloom_list(digits)", 2},
    {"SELECT count(*) FROM f, bloom_list('a.example' || x'0a' || remarks)", 2},
    /* 12 MB without a break, then of breaks alone; and the copy of the argument, two questions. */
    {"SELECT count(*) FROM bloom_lines((SELECT replace(hex(zeroblob(6000000)), '0', 'a')))", 6},
    {"SELECT count(*) FROM bloom_lines((SELECT replace(hex(zeroblob(6000000)), '0', x'0a')))", 4},
    {"SELECT count(*) FROM bloom_integers(x''), bloom_integers(zeroblob(12000000))", 0},
    /* The argument is copied, and each row's is compared with the copy: two questions each. */
    {"SELECT count(*) FROM f, bloom_keys(numbers)", 4},
    {"SELECT key FROM f, bloom_keys(numbers) ORDER BY key DESC", 4},
    {"SELECT count(*) FROM f, (SELECT 1 UNION ALL SELECT 2), bloom_keys(numbers)", 8},
    {"SELECT count(*) FROM bloom_keys((SELECT bloom_pin(numbers) FROM f))", 4},
    {"SELECT bloom_agg(x) FROM n", 4},
    {"SELECT bloom_agg(x, NULL, 0.01, 'classic') FROM n", 4},
    {"SELECT bloom_agg(x, NULL, 0.01, 'fuse') FROM n WHERE x < 40000", 6},
    {"SELECT bloom_agg(x, 8000000) FROM n WHERE x < 9", 1},
    {"SELECT bloom_hashes(x) FROM n", 6},
    {"INSERT INTO seen(seen, key) SELECT 'add_all', bloom_hashes(x) FROM n WHERE x < 40000", 6},
};

static void each_question(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, PREPARATION);
    sqlite3_trace_v2(database, SQLITE_TRACE_STMT, count_questions, NULL);
    sqlite3_progress_handler(database, 100, answer, database);
    for (unsigned i = 0; i < COUNT_OF(PASSES); i++) {
        const char *sql = PASSES[i].sql;
        for (stop_at = 1; stop_at <= PASSES[i].questions + 1; stop_at++) {
            questions = 0;
            int code = try(database, NULL, "%s", sql);
            const bool stops = stop_at <= PASSES[i].questions;
            require(code == (stops ? SQLITE_INTERRUPT : SQLITE_OK),
                    "%s: stopped at question %d: result %d", sql, stop_at, code);
            require(questions == stop_at - !stops, "%s: stopped at question %d: asks %d", sql,
                    stop_at, questions);
            if (strstr(sql, "seen") != NULL) /* all keys, or none */
                require_number(database, stops ? 0 : 39999,
                               "SELECT count(*) FROM n JOIN seen ON key = x WHERE x < 40000");
        }
    }
    close_database(database);
    require(sqlite3_memory_used() == 0, "%lld bytes leaked", sqlite3_memory_used());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("What takes long is stopped at each of its questions", each_question),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
