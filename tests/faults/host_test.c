/* What the program around the extension may do to it: be linked with an SQLite that is too old, or
 * old; have databases of any name; forbid SQL. */
#include "../library/library_test.h"

#include "sqlite-bloom.h"
#include "base/version.h"
#include "filter/header.h"

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

static void old_sqlite_is_refused(void) {
    sqlite3 *database;
    sqlite3_stmt *statement;
    char *error = NULL;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    pretend(3030001, "3.30.1");
    assert_int_equal(sqlite3_bloom_init(database, &error, NULL), SQLITE_ERROR);
    assert_string_equal(error,
                        "bloom " BLOOM_RELEASE
                        " needs SQLite 3.31.0 or later, but this is 3.30.1. Use another SQLite");
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

/* ---- Limits and authorizers ---- */

static const char AGGREGATE[] = "SELECT bloom_agg(x) FROM keys";

static sqlite3 *open_with_keys(void) {
    sqlite3 *database = open_database();
    run(database,
        "CREATE TABLE keys(x INTEGER PRIMARY KEY); WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL "
        "SELECT i + 1 FROM c WHERE i < 100000) INSERT INTO keys SELECT i FROM c");
    return database;
}

static int forbid_recursion(void *argument, int action, const char *a, const char *b, const char *c,
                            const char *d) {
    (void)a, (void)b, (void)c, (void)d;
    *(unsigned *)argument += action == SQLITE_RECURSIVE;
    return action == SQLITE_RECURSIVE ? SQLITE_DENY : SQLITE_OK;
}

static void forbidden_questions_do_not_stop(void) {
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
static void tiny_limits(void) {
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
        TEST("An authorizer and a limit that forbid to ask whether to stop do not stop bloom_agg",
             forbidden_questions_do_not_stop),
        TEST("A bitmap that is longer than a value may be is refused", tiny_limits),
    };
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
