/* What the callbacks of a connection may do while a statement that the extension runs for itself is
 * at work: ask a filter table, make or drop one. What functions may do between the look at a key
 * and its change. And what a connection that has functions of these names already makes of
 * registering the extension. What an authorizer denies is in faults_test.c.
 *
 * SQLite's documentation forbids some of it. A host that does it all the same gets an answer that
 * is right or an error, and its table stays whole. */
#include "connection.h"

#include "base/version.h"

/* ---- Statements that run within statements ---- */

/* What a trace callback runs once, when a statement on the shadow tables of seen begins. */
static struct {
    const char *sql; /* NULL: nothing */
    int code;
    char error[300];
} inner;

static int run_inner(unsigned type, void *database, void *statement, void *text) {
    (void)type, (void)statement;
    const char *sql = inner.sql;
    if (sql == NULL || strstr(text, "\"seen_") == NULL)
        return 0;
    inner.sql = NULL;
    inner.code = try(database, inner.error, "%s", sql);
    return 0;
}

#define KEYS "SELECT json_extract(info, '$.layers[0].keys') FROM seen"
#define HANGS "seen: a trigger on seen_data uses the filter table. Drop the trigger"

/* Other tables can be used. */
static void no_table_is_used_within_its_own_statements(void) {
    static const struct {
        const char *sql, *error; /* NULL: none */
    } INNER[] = {
        {"SELECT 1 FROM seen WHERE key = 'a'", HANGS},
        {"INSERT INTO seen(key) VALUES ('b')", HANGS},
        {"ALTER TABLE seen RENAME TO another", HANGS},
        {"SELECT info FROM other", NULL},
        {"INSERT INTO other(key) VALUES (1)", NULL},
        {"DROP TABLE other", "database table is locked"},
    };
    static const char *const OUTER[] = {
        "SELECT count(*) FROM seen WHERE key = 'a'",
        "INSERT INTO seen(seen) VALUES ('clear')",
        "SELECT info FROM seen",
    };
    for (size_t i = 0; i < COUNT_OF(INNER); i++)
        for (size_t j = 0; j < COUNT_OF(OUTER); j++) {
            CLOSED_AT_END *database = open_database(":memory:");
            run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
                          "CREATE VIRTUAL TABLE other USING bloom(capacity=100, fpr=1e-6);"
                          "INSERT INTO seen(key) VALUES ('a'); INSERT INTO other(key) VALUES (1)");
            sqlite3_int64 tables = number(database, "SELECT count(*) FROM sqlite_master");
            sqlite3_trace_v2(database, SQLITE_TRACE_STMT, run_inner, database);
            inner.sql = INNER[i].sql;
            inner.code = -1;
            int code = sqlite3_exec(database, OUTER[j], NULL, NULL, NULL);
            sqlite3_trace_v2(database, 0, NULL, NULL);
            /* SQLite itself rolls back when what changes the schema fails. */
            if (code != SQLITE_OK && (code != SQLITE_ABORT || i < 2))
                fail_msg("%s: result %d (%s)", OUTER[j], code, sqlite3_errmsg(database));
            assert_int_equal(inner.code, INNER[i].error != NULL ? SQLITE_LOCKED : SQLITE_OK);
            if (INNER[i].error != NULL)
                assert_string_equal(inner.error, INNER[i].error);
            require_number(database, tables, "SELECT count(*) FROM sqlite_master");
            require_number(database, 1, "SELECT count(*) FROM other(1)");
            const int left = j == 1 && code == SQLITE_OK ? 0 : 1;
            require_number(database, left, KEYS);
            require_number(database, left, "SELECT count(*) FROM seen WHERE key IN ('a', 'b')");
        }
}

/* ---- An authorizer that ignores PRAGMA ---- */

static int ignore_pragma(void *unused, int action, const char *a, const char *b, const char *c,
                         const char *d) {
    (void)unused, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_PRAGMA ? SQLITE_IGNORE : SQLITE_OK;
}

/* A table without a page size would have chunks of any size. */
static void ignored_pragma(void) {
    CLOSED_AT_END *database = open_database(":memory:");
    sqlite3_set_authorizer(database, ignore_pragma, NULL);
    require_error(database,
                  "seen: the authorizer of this connection hides the page size. Let it allow "
                  "PRAGMA page_size",
                  "CREATE VIRTUAL TABLE seen USING bloom(capacity=10)");
    require_number(database, 0, "SELECT count(*) FROM sqlite_master");
}

/* ---- Functions between the look at a key and its change ---- */

/* Runs its SQL once, and is true. */
static void run_between(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    const char *sql = inner.sql;
    inner.sql = NULL;
    if (sql != NULL)
        inner.code = sqlite3_exec(sqlite3_context_db_handle(context), sql, NULL, NULL, NULL);
    sqlite3_result_int(context, 1);
}

static sqlite3_blob *positioned; /* at the chunk, from before the statement */

/* Writes its argument there, of which SQLite counts neither a row nor a look at a page. */
static void write_positioned(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count;
    int code = sqlite3_blob_write(positioned, sqlite3_value_blob(arguments[0]),
                                  sqlite3_value_bytes(arguments[0]), 0);
    sqlite3_result_error_code(context, code);
}

/* DELETE looks for the key, SQLite asks the rest of WHERE, and then the key is taken out: of the
 * block as it is then. All keys are in the same block. */
static void block_as_it_is_then(void) {
    static const struct {
        const char *between;
        const char *left; /* of the keys a, a, b, c, when one a was to be taken out */
    } CASES[] = {
        {"SELECT 1", "a1 b1 c1 d0"},
        {"SELECT 1 FROM seen WHERE key = 'c'", "a1 b1 c1 d0"},
        {"INSERT INTO seen(key) VALUES ('d')", "a1 b1 c1 d1"},
        {"DELETE FROM seen WHERE key = 'c'", "a1 b1 c0 d0"},
        {"DELETE FROM seen WHERE key = 'a'", "a0 b1 c1 d0"},
        {"DELETE FROM seen WHERE key IN ('a', 'b', 'c')", "a0 b0 c0 d0"},
        {"INSERT INTO seen(seen) VALUES ('clear')", "a0 b0 c0 d0"},
        {"INSERT INTO seen(seen, key) SELECT 'merge', bloom_agg('d', 60, 0.01, 'counting')",
         "a1 b1 c1 d1"},
        {"UPDATE seen_data SET data = CAST(zeroblob(12) || x'55555555' || "
         "zeroblob(length(data) - 16) AS BLOB) WHERE id > 0",
         "a0 b0 c0 d0"},
        {"UPDATE seen_data SET data = (SELECT data FROM kept) WHERE id > 0", "a0 b1 c0 d0"},
        {"SELECT write_positioned(data) FROM kept", "a0 b1 c0 d0"},
    };
    static const char *const FRAMES[][2] = {{"SELECT 1", "SELECT 2"}, {"BEGIN", "COMMIT"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES * 2; i++) {
        CLOSED_AT_END *database = open_database(":memory:");
        const char *between = CASES[i / 2].between;
        sqlite3_create_function(database, "between_them", 0, SQLITE_UTF8, NULL, run_between, NULL,
                                NULL);
        sqlite3_create_function(database, "write_positioned", 1, SQLITE_UTF8, NULL,
                                write_positioned, NULL, NULL);
        run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=60, fpr=0.01, growth=off, "
                      "layout=counting);"
                      "INSERT INTO seen(key) VALUES ('a'), ('b');"
                      "CREATE TABLE kept AS SELECT data FROM seen_data WHERE id > 0;"
                      "INSERT INTO seen(key) VALUES ('a'), ('c')");
        run(database, FRAMES[i % 2][0]);
        assert_int_equal(
            sqlite3_blob_open(database, "main", "seen_data", "data", 1, 1, &positioned), SQLITE_OK);
        inner.sql = between;
        run(database, "DELETE FROM seen WHERE key = 'a' AND between_them()");
        sqlite3_blob_close(positioned); /* an error if its row was written otherwise */
        assert_null(inner.sql);
        if (inner.code != SQLITE_OK)
            fail_msg("%s: %s", between, sqlite3_errmsg(database));
        run(database, FRAMES[i % 2][1]);
        char *left = sqlite3_mprintf(
            "SELECT group_concat(k || (SELECT count(*) FROM seen WHERE key = k), ' ') = '%q' FROM "
            "(SELECT 'a' AS k UNION ALL SELECT 'b' UNION ALL SELECT 'c' UNION ALL SELECT 'd')",
            CASES[i / 2].left);
        if (number(database, left) != 1)
            fail_msg("%s; %s: not %s", FRAMES[i % 2][0], between, CASES[i / 2].left);
        sqlite3_free(left);
    }
}

/* ---- Registering where something of these names is registered ---- */

static const char *version_of_another;

static void another_version(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    sqlite3_result_text(context, version_of_another, -1, SQLITE_STATIC);
}

static void seven(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    sqlite3_result_int(context, 7);
}

static sqlite3 *open_with(const char *name, int arguments,
                          void (*function)(sqlite3_context *, int, sqlite3_value **)) {
    sqlite3 *database;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_create_function(database, name, arguments, SQLITE_UTF8, NULL, function, NULL, NULL),
        SQLITE_OK);
    return database;
}

static void functions_at_work_are_not_replaced(void) {
    CLOSED_AT_END *database = open_with("bloom_check", 2, seven);
    sqlite3_stmt *statement = begin(database, "SELECT bloom_check(1, 2) UNION ALL SELECT 7");
    char *error = NULL;
    assert_int_equal(load_bloom(database, &error), SQLITE_BUSY);
    assert_string_equal(error, "bloom " BLOOM_RELEASE
                               " cannot replace the copy that is loaded while a statement runs. "
                               "Load it earlier, or when all statements have finished");
    sqlite3_free(error);
    assert_int_equal(load_bloom(database, NULL), SQLITE_BUSY);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 7);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    error = NULL;
    assert_int_equal(load_bloom(database, &error), SQLITE_OK);
    assert_null(error);
    require_number(database, 0, "SELECT bloom_check(bloom_new(1), 2)");
}

/* Another copy of this release stays: host_test.c. */
static void another_release_is_replaced(void) {
    static const char *const VERSIONS[] = {"bloom " BLOOM_RELEASE "0, format 1, built elsewhere",
                                           "bloom 0.9.0, format 1, built elsewhere", BLOOM_RELEASE,
                                           "", NULL};
    for (size_t i = 0; i < COUNT_OF(VERSIONS); i++) {
        CLOSED_AT_END *database = open_with("bloom_build", 0, another_version);
        version_of_another = VERSIONS[i];
        assert_int_equal(load_bloom(database, NULL), SQLITE_OK);
        require_number(database, 1, "SELECT length(bloom_new(1)) > 64");
        require_number(database, 1,
                       "SELECT bloom_build() LIKE 'bloom " BLOOM_RELEASE
                       ", %built against SQLite%'");
    }
}

RUN_GROUP(
    "callbacks",
    TEST("No filter table is asked, filled, made, renamed or dropped while a statement of one "
         "is at work",
         no_table_is_used_within_its_own_statements),
    TEST("An authorizer that ignores PRAGMA makes no table", ignored_pragma),
    TEST("A DELETE takes a key out of the block as it is then", block_as_it_is_then),
    TEST("Functions at work are not replaced, in words", functions_at_work_are_not_replaced),
    TEST("Another release is replaced", another_release_is_replaced))
