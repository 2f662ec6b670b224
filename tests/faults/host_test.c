/* What the program around the extension may do to it: be linked with an SQLite that is too old, or
 * old; have databases of any name; stop a statement, forbid SQL. */
#include "../library/library_test.h"

#include "sqlite-bloom.h"
#include "filter/header.h"
#include "filter/version.h"

/* Instead of the SQLite library's, for the extension in this program. */
static int pretended_version;
static const char *pretended_name;

int sqlite3_libversion_number(void) {
    return pretended_version;
}

const char *sqlite3_libversion(void) {
    return pretended_name;
}

static const char *pretended_file = "";

const char *sqlite3_db_filename(sqlite3 *database, const char *schema) {
    (void)database, (void)schema;
    return pretended_file;
}

static void pretend(int version, const char *name) {
    pretended_version = version;
    pretended_name = name;
}

static sqlite3 *open_database(void) {
    sqlite3 *database;
    pretend(SQLITE_VERSION_NUMBER, SQLITE_VERSION);
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(sqlite3_bloom_init(database, NULL, NULL), SQLITE_OK);
    return database;
}

/* The BLOB or text that a query of one value gives, in memory of malloc; NULL and the code when it
 * fails. */
static uint8_t *ask(sqlite3 *database, const char *sql, int *code, size_t *length) {
    sqlite3_stmt *statement;
    uint8_t *copy = NULL;
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *length = (size_t)sqlite3_column_bytes(statement, 0);
        copy = copy_exactly(sqlite3_column_blob(statement, 0), *length);
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    }
    *code = sqlite3_finalize(statement);
    return copy;
}

/* ---- Releases of SQLite ---- */

static void old_sqlite_is_refused(void **state) {
    (void)state;
    sqlite3 *database;
    sqlite3_stmt *statement;
    char *error = NULL;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    pretend(3030001, "3.30.1");
    assert_int_equal(sqlite3_bloom_init(database, &error, NULL), SQLITE_ERROR);
    assert_string_equal(error,
                        "bloom " BLOOM_RELEASE " needs SQLite 3.31.0 or later, this is 3.30.1");
    sqlite3_free(error);
    assert_int_equal(sqlite3_bloom_init(database, NULL, NULL), SQLITE_ERROR);
    assert_int_equal(sqlite3_prepare_v2(database, "SELECT bloom_version()", -1, &statement, NULL),
                     SQLITE_ERROR);
    assert_string_equal(sqlite3_errmsg(database), "no such function: bloom_version");
    /* The oldest that is good enough. */
    pretend(3031000, "3.31.0");
    error = NULL;
    assert_int_equal(sqlite3_bloom_init(database, &error, NULL), SQLITE_OK);
    assert_null(error);
    assert_int_equal(sqlite3_prepare_v2(database, "SELECT bloom_version()", -1, &statement, NULL),
                     SQLITE_OK);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void run(sqlite3 *database, const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
}

static int count_looks(unsigned type, void *looks, void *statement, void *text) {
    (void)type, (void)statement;
    *(unsigned *)looks += strstr(text, "seen_layers\" ORDER BY layer") != NULL;
    return 0;
}

/* Asks a filter table whether 'a' is in, which it is; how often it reads its layers for that. */
static unsigned looks_of_a_check(sqlite3 *database) {
    unsigned looks = 0;
    int code;
    size_t length;
    sqlite3_trace_v2(database, SQLITE_TRACE_STMT, count_looks, &looks);
    uint8_t *key = ask(database, "SELECT key FROM seen WHERE key = 'a'", &code, &length);
    sqlite3_trace_v2(database, 0, NULL, NULL);
    assert_int_equal(code, SQLITE_OK);
    assert_non_null(key);
    free(key);
    return looks;
}

static const char SEEN[] = "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6); "
                           "INSERT INTO seen(key) VALUES ('a')";

/* Before 3.34 SQLite does not tell whether a transaction writes: the layers are read at each look,
 * as in a database without a file. */
static void transactions_that_are_not_told_of(void **state) {
    (void)state;
    sqlite3 *database = open_database();
    pretended_file = "/seen.db";
    run(database, SEEN);
    assert_int_equal(looks_of_a_check(database), 1);
    assert_int_equal(looks_of_a_check(database), 0);
    pretend(3033000, "3.33.0");
    assert_int_equal(looks_of_a_check(database), 1);
    assert_int_equal(looks_of_a_check(database), 1);
    run(database, "BEGIN; INSERT INTO seen(key) VALUES ('b'); SAVEPOINT s; INSERT INTO seen(key) "
                  "VALUES ('c'); ROLLBACK TO s; UPDATE seen_layers SET keys = keys + 1; COMMIT");
    assert_int_equal(looks_of_a_check(database), 1);
    pretended_file = "";
    pretend(SQLITE_VERSION_NUMBER, SQLITE_VERSION);
    assert_int_equal(looks_of_a_check(database), 1);
    int code;
    size_t length;
    uint8_t *keys = ask(database, "SELECT keys FROM seen_layers", &code, &length);
    assert_int_equal(length, 1);
    assert_memory_equal(keys, "2", 1); /* the first key was reported, and one is added here */
    free(keys);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* What was read of the database main is believed as long as its file is called the same. */
static void files_of_other_names(void **state) {
    static const char *const OTHERS[] = {"/other.db", "C:\\other.db", "no path", "", NULL};
    (void)state;
    sqlite3 *database = open_database();
    pretended_file = "/seen.db";
    run(database, SEEN);
    for (size_t i = 0; i < COUNT_OF(OTHERS); i++) {
        pretended_file = "/seen.db";
        assert_int_equal(looks_of_a_check(database), 1);
        assert_int_equal(looks_of_a_check(database), 0);
        pretended_file = OTHERS[i];
        assert_int_equal(looks_of_a_check(database), 1);
        assert_int_equal(looks_of_a_check(database), i < 2 ? 0 : 1); /* the name of a file */
    }
    pretended_file = "";
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* ---- Long work in one call ---- */

/* Sizing and filling a filter takes long after the last row was read. last(x) gives x and notes
 * that the last row was there. */

enum { KEYS = 100000 };

static const char AGGREGATE[] = "SELECT bloom_agg(last(x)) FROM keys";
static const char FUSE[] = "SELECT bloom_agg(last(x), NULL, 0.01, 'fuse') FROM keys";

/* Work on large filters, of 5 MB each, begins after the last row, too, of which there is one. */
static const char LARGE_BUILD[] = "SELECT bloom_agg(last(100000), 4000000)";
static const char LARGE_UNION[] =
    "SELECT bloom_union(bloom_new(4000000 + last(100000)), bloom_new(4100000), bloom_new(4100000))";
static const char LARGE_UNION_OF_ROWS[] = "SELECT bloom_union_agg(bloom_new(4000000 + last(x))) "
                                          "FROM (SELECT 100000 AS x UNION ALL SELECT 100000)";

static bool last_was_seen;
static int calls, call_that_stops; /* of the progress handler after the last row; 0: none stops */
static sqlite3
    *to_interrupt; /* with sqlite3_interrupt(), else by what the progress handler returns */

static void note_last(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    last_was_seen = last_was_seen || sqlite3_value_int(arguments[0]) == KEYS;
    sqlite3_result_value(context, arguments[0]);
}

static int progress(void *argument) {
    (void)argument;
    if (!last_was_seen || ++calls != call_that_stops)
        return 0;
    if (to_interrupt == NULL)
        return 1;
    sqlite3_interrupt(to_interrupt);
    return 0;
}

static sqlite3 *open_with_keys(void) {
    sqlite3 *database = open_database();
    char *sql =
        sqlite3_mprintf("CREATE TABLE keys(x INTEGER PRIMARY KEY); WITH RECURSIVE c(i) AS (VALUES "
                        "(1) UNION ALL SELECT i + 1 FROM c WHERE "
                        "i < %d) INSERT INTO keys SELECT i FROM c",
                        KEYS);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    assert_int_equal(
        sqlite3_create_function(database, "last", 1, SQLITE_UTF8, NULL, note_last, NULL, NULL),
        SQLITE_OK);
    return database;
}

/* A statement stops at each question whether to go on, of which there are at least so many. */
static void assert_stops(const char *sql, unsigned questions, bool by_interrupt) {
    sqlite3 *database = open_with_keys();
    int code;
    size_t length, expected_length;
    uint8_t *expected = ask(database, sql, &code, &expected_length);
    assert_non_null(expected);
    to_interrupt = by_interrupt ? database : NULL;
    /* Fewer operations than there are after the last row in the statement itself, but some in each
     * question whether to go on. */
    sqlite3_progress_handler(database, 500, progress, NULL);
    unsigned stopped = 0;
    for (call_that_stops = 1;; call_that_stops++) {
        last_was_seen = false;
        calls = 0;
        uint8_t *filter = ask(database, sql, &code, &length);
        if (calls < call_that_stops) {
            assert_int_equal(code, SQLITE_OK);
            assert_int_equal(length, expected_length);
            assert_memory_equal(filter, expected, length);
            free(filter);
            break;
        }
        assert_null(filter);
        assert_int_equal(code, SQLITE_INTERRUPT);
        stopped++;
    }
    assert_true(stopped >= questions);
    free(expected);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void progress_handler_stops(void **state) {
    (void)state;
    /* It is asked every 30000 keys or so, both while they are sized and while they are filled in.
     */
    assert_stops(AGGREGATE, 6, false);
    assert_stops(FUSE, 9, false);
    assert_stops(LARGE_BUILD, 1, false);
    assert_stops(LARGE_UNION, 2, false);
    assert_stops(LARGE_UNION_OF_ROWS, 1, false);
}

static void interrupt_stops(void **state) {
    (void)state;
    assert_stops(AGGREGATE, 6, true);
    assert_stops(FUSE, 9, true);
    assert_stops(LARGE_BUILD, 1, true);
    assert_stops(LARGE_UNION, 2, true);
    assert_stops(LARGE_UNION_OF_ROWS, 1, true);
}

static int forbid_recursion(void *argument, int action, const char *a, const char *b, const char *c,
                            const char *d) {
    (void)a, (void)b, (void)c, (void)d;
    *(unsigned *)argument += action == SQLITE_RECURSIVE;
    return action == SQLITE_RECURSIVE ? SQLITE_DENY : SQLITE_OK;
}

static void forbidden_questions_do_not_stop(void **state) {
    (void)state;
    sqlite3 *database = open_with_keys();
    int code;
    size_t length, expected_length;
    unsigned forbidden = 0;
    uint8_t *expected = ask(database, AGGREGATE, &code, &expected_length);
    assert_non_null(expected);
    sqlite3_set_authorizer(database, forbid_recursion, &forbidden);
    uint8_t *filter = ask(database, AGGREGATE, &code, &length);
    assert_int_equal(code, SQLITE_OK);
    assert_true(forbidden > 0);
    assert_int_equal(length, expected_length);
    assert_memory_equal(filter, expected, length);
    free(filter);
    sqlite3_set_authorizer(database, NULL, NULL);
    sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, (int)sizeof AGGREGATE);
    filter = ask(database, AGGREGATE, &code, &length);
    assert_int_equal(code, SQLITE_OK);
    assert_int_equal(length, expected_length);
    assert_memory_equal(filter, expected, length);
    free(filter);
    free(expected);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

/* A connection whose values are shorter than the smallest filter. */
static void tiny_limits(void **state) {
    (void)state;
    static const char NONE[] = "SELECT bloom_agg(NULL, NULL, NULL, 'bitmap')";
    static const char SOME[] = "SELECT bloom_agg(3, NULL, NULL, 'bitmap')";
    sqlite3 *database = open_with_keys();
    int code;
    size_t length;
    assert_int_equal(sqlite3_exec(database, "CREATE VIRTUAL TABLE told USING bloom(capacity=10)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    for (int limit = 60; limit <= 70; limit += 10) {
        sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limit);
        assert_null(ask(database, "SELECT info FROM told", &code, &length));
        assert_int_equal(code, SQLITE_TOOBIG);
        for (int i = 0; i < 2; i++) {
            uint8_t *filter = ask(database, i == 0 ? NONE : SOME, &code, &length);
            assert_int_equal(code, limit < 65 ? SQLITE_ERROR : SQLITE_OK);
            assert_int_equal(filter != NULL, limit >= 65);
            free(filter);
        }
    }
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("An SQLite that is too old is refused in words, and gets no function",
             old_sqlite_is_refused),
        TEST("An SQLite that tells nothing of transactions is asked at each look",
             transactions_that_are_not_told_of),
        TEST("Another file, or none, is read anew", files_of_other_names),
        TEST("A progress handler stops long work after the last row, too", progress_handler_stops),
        TEST("sqlite3_interrupt stops long work after the last row, too", interrupt_stops),
        TEST("An authorizer and a limit that forbid to ask whether to stop do not stop bloom_agg",
             forbidden_questions_do_not_stop),
        TEST("A bitmap that is longer than a value may be is refused", tiny_limits),
    };
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
