/* What the program around the extension may do to it: be linked with an SQLite that is too old, or
 * old; forbid SQL; allow short values only; close what is busy. */
#include "connection.h"

#include "base/version.h"

#include <sqlite3ext.h>

static int pretended_version;
static const char *pretended_name;
enum { NOTHING, MODULES, BLOBS };
static int omitted = NOTHING;

static int give_version(void) {
    return pretended_version;
}

static const char *give_name(void) {
    return pretended_name;
}

/* Loads the extension as an SQLite of another release would. */
static int load_pretending(int version, const char *name, sqlite3 *database, char **error) {
    static struct sqlite3_api_routines pretending;
    pretending = *sqlite_functions;
    pretending.libversion_number = give_version;
    pretending.libversion = give_name;
    if (omitted == MODULES)
        pretending.create_module_v2 = NULL;
    if (omitted == BLOBS)
        pretending.blob_open = NULL;
    pretended_version = version;
    pretended_name = name;
    return sqlite3_bloom_init(database, error, &pretending);
}

/* ---- Releases of SQLite ---- */

static void old_sqlite_is_refused(void) {
    CLOSED_AT_END *database;
    char *error = NULL;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(load_pretending(3030001, "3.30.1", database, &error), SQLITE_ERROR);
    assert_string_equal(error,
                        "bloom " BLOOM_RELEASE
                        " needs SQLite 3.31.0 or later, but this is 3.30.1. Use another SQLite");
    sqlite3_free(error);
    assert_int_equal(load_pretending(3030001, "3.30.1", database, NULL), SQLITE_ERROR);
    require_error(database, "no such function: bloom_version", "SELECT bloom_version()");
    /* The oldest that is good enough. */
    error = NULL;
    assert_int_equal(load_pretending(3031000, "3.31.0", database, &error), SQLITE_OK);
    assert_null(error);
    run(database, "SELECT bloom_version()");
}

/* One that was built without what tables need. */
static void sqlite_without_functions_is_refused(void) {
    CLOSED_AT_END *database;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    for (omitted = MODULES; omitted <= BLOBS; omitted++) {
        char *error = NULL;
        assert_int_equal(load_pretending(3040001, "3.40.1", database, &error), SQLITE_ERROR);
        assert_string_equal(error,
                            "bloom " BLOOM_RELEASE
                            " needs an SQLite that was built without SQLITE_OMIT_VIRTUALTABLE and "
                            "SQLITE_OMIT_INCRBLOB, but this is 3.40.1. Use another SQLite");
        sqlite3_free(error);
    }
    omitted = NOTHING;
    assert_int_equal(load_bloom(database, NULL), SQLITE_OK); /* what failed is no user */
}

/* ---- Two libraries ---- */

static bool is_refused(sqlite3 *database) {
    char *error = NULL;
    if (load_pretending(3040001, "3.40.1", database, &error) == SQLITE_OK)
        return false;
    assert_string_equal(error, "bloom " BLOOM_RELEASE
                               " serves another SQLite library in this process. Load a copy of the "
                               "file, or first close the connections of that library");
    sqlite3_free(error);
    assert_int_equal(load_pretending(3040001, "3.40.1", database, NULL), SQLITE_ERROR);
    return true;
}

/* A library is known by its table of functions. Another one is refused until SQLite has released
 * the last thing that was registered on a connection of the first. (That no call goes to a library
 * that is no longer served: tests/threads/two_libraries_test.c.) */
static void one_library_is_served(void) {
    static const char FILTER[] = "bloom_new(1000000, NULL, 'bitmap')";
    static const char *const USES[] = {
        "SELECT bloom_pin(%s) IS NULL FROM (SELECT 1 UNION ALL SELECT 2)",
        "SELECT count(*) FROM bloom_keys(%s), bloom_list('a.example'), bloom_url_keys('b')",
        "SELECT CAST(info AS TEXT) FROM seen"};
    static const char *const BLOOM[] = {"bloom", NULL};
    sqlite3 *other;
    for (int ending = 0; ending < 6; ending++) {
        sqlite3 *first = open_database(":memory:"), *another = open_database(":memory:");
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_open(":memory:", &other), SQLITE_OK);
        run(first, "CREATE VIRTUAL TABLE seen USING bloom; INSERT INTO seen(key) VALUES (1);"
                   "SELECT 1 FROM bloom_list('a.example')");
        assert_int_equal(load_bloom(another, NULL), SQLITE_OK); /* once more */
        close_database(another);
        if (ending < 3) { /* before its statement */
            char *use = sqlite3_mprintf(USES[ending], FILTER);
            statement = begin(first, use);
            sqlite3_free(use);
            assert_int_equal(sqlite3_close_v2(first), SQLITE_OK);
        } else if (ending < 5) { /* without its modules, or those of the functions */
            run(first, "DROP TABLE seen");
            sqlite3_drop_modules(first, ending == 3 ? NULL : (const char **)BLOOM);
        }
        assert_true(is_refused(other));
        sqlite3_finalize(statement);
        if (ending >= 3) {
            run(first, "SELECT bloom_check(bloom_agg(7), 7)");
            close_database(first);
        }
        assert_false(is_refused(other));
        assert_int_equal(load_bloom(other, NULL), SQLITE_ERROR); /* and now the first one is */
        run(other, "SELECT bloom_check(bloom_agg(7), 7)");
        close_database(other);
    }
}

static void give_build(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    sqlite3_result_text(context, "bloom " BLOOM_RELEASE ", of a copy", -1, SQLITE_STATIC);
}

/* A copy of the library on the connection is found by its bloom_build, and left in place. */
static void a_copy_is_left_in_place(void) {
    sqlite3 *first, *other;
    assert_int_equal(sqlite3_open(":memory:", &first), SQLITE_OK);
    assert_int_equal(sqlite3_open(":memory:", &other), SQLITE_OK);
    sqlite3_create_function(first, "bloom_build", 0, SQLITE_UTF8, NULL, give_build, NULL, NULL);
    assert_int_equal(load_bloom(first, NULL), SQLITE_OK);
    require_error(first, "no such function: bloom_version", "SELECT bloom_version()");
    assert_false(is_refused(other));
    close_database(other);
    close_database(first);
}

/* ---- Limits and authorizers ---- */

static const char AGGREGATE[] = "SELECT bloom_hash(bloom_agg(x)) = h FROM keys, expected";

static int forbid_recursion(void *argument, int action, const char *a, const char *b, const char *c,
                            const char *d) {
    (void)a, (void)b, (void)c, (void)d;
    *(unsigned *)argument += action == SQLITE_RECURSIVE;
    return action == SQLITE_RECURSIVE ? SQLITE_DENY : SQLITE_OK;
}

static void forbidden_questions_do_not_stop(void) {
    CLOSED_AT_END *database = open_database(":memory:");
    unsigned forbidden = 0;
    run(database,
        "CREATE TABLE keys(x INTEGER PRIMARY KEY);"
        "INSERT INTO keys " NUMBERS(
            100000) "SELECT x FROM n;"
                    "CREATE TABLE expected AS SELECT bloom_hash(bloom_agg(x)) AS h FROM keys");
    sqlite3_set_authorizer(database, forbid_recursion, &forbidden);
    require_number(database, 1, AGGREGATE);
    assert_true(forbidden > 0);
    sqlite3_set_authorizer(database, NULL, NULL);
    sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, (int)sizeof AGGREGATE);
    require_number(database, 1, AGGREGATE);
}

/* A connection whose values are shorter than the smallest filter, and than the row of a table. */
static void tiny_limits(void) {
    CLOSED_AT_END *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE told USING bloom(capacity=10)");
    for (int limit = 60; limit <= 70; limit += 10) {
        sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limit);
        assert_int_equal(try(database, NULL, "SELECT info FROM told"), SQLITE_TOOBIG);
        require_error(database, "told: the filter needs 128 bytes, ", "SELECT filter FROM told");
        run(database, "INSERT INTO told(key) VALUES (1)");
        require_number(database, 1, "SELECT 1 FROM told WHERE key = 1");
        assert_int_equal(sqlite3_limit(database, SQLITE_LIMIT_LENGTH, -1), limit);
        assert_int_equal(try(database, NULL, "SELECT bloom_agg(3, NULL, NULL, 'bitmap')"),
                         limit < 65 ? SQLITE_ERROR : SQLITE_OK);
    }
}

/* ---- Busy connections ---- */

/* How many keys the one chunk of the table has in the database: others wait in memory. */
static void require_stored(sqlite3 *database, sqlite3_int64 keys) {
    require_number(database, keys,
                   "SELECT unicode(CAST(substr(data, 5, 1) AS TEXT)) FROM t_data WHERE id > 0");
}

static void close_busily(sqlite3 *database) {
    sqlite3_stmt *statement = begin(database, "SELECT 1");
    assert_int_equal(sqlite3_close(database), SQLITE_BUSY);
    sqlite3_finalize(statement);
}

/* Four keys of a transaction, of which the last ones wait in memory, if SQLite tells a busy close
 * from a rollback. */
static void begin_keys(sqlite3 *database, bool waits) {
    run(database, "BEGIN;"
                  "INSERT INTO t(key) VALUES (1);"
                  "INSERT INTO t(key) VALUES (2);"
                  "INSERT INTO t(key) VALUES (3);"
                  "INSERT INTO t(key) VALUES (4)");
    require_stored(database, waits ? 1 : 4);
}

/* What a committed transaction has made is not undone by a later rollback. Statements that were
 * prepared before the close end, because nothing tells them how the transaction ends. */
static void busy_close_leaves_names(void) {
    CLOSED_AT_END *database = open_database(":memory:");
    sqlite3_stmt *insert;
    run(database, "BEGIN; CREATE VIRTUAL TABLE t USING bloom(capacity=10)");
    assert_int_equal(
        sqlite3_prepare_v2(database, "INSERT INTO t(key) VALUES (1)", -1, &insert, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    assert_int_equal(sqlite3_reset(insert), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_BUSY);
    run(database, "COMMIT; SAVEPOINT s");
    assert_int_equal(sqlite3_step(insert), SQLITE_ABORT);
    sqlite3_finalize(insert);
    for (int i = 0; i < 2; i++)
        run(database, "INSERT INTO t(key) VALUES (1); ROLLBACK TO s");
}

/* Steps through a query, and requires what it ends with and how many rows come. */
static void require_rest(sqlite3_stmt *query, int code, int rows) {
    while (sqlite3_step(query) == SQLITE_ROW)
        rows--;
    assert_int_equal(rows, 0);
    assert_int_equal(sqlite3_finalize(query), code);
}

#define TABLE_OF_20 "USING bloom(capacity=20, fpr=1e-9, growth=off)"
#define FOUND NUMBERS(20) "SELECT x FROM n JOIN t ON key = x"

/* After a close that is refused, a query is under way, and the transaction is rolled back. The
 * query would read the table that has its table's name again. */
static void busy_close_loses_no_names(void) {
#if SQLITE_VERSION_NUMBER >= 3034000
    static const char *const MAKES[] = {
        "DROP TABLE t; CREATE VIRTUAL TABLE t " TABLE_OF_20,
        "ALTER TABLE t RENAME TO v; ALTER TABLE u RENAME TO t; ALTER TABLE v RENAME TO u",
    };
    for (size_t i = 0; i < COUNT_OF(MAKES); i++) {
        CLOSED_AT_END *database = open_database(":memory:");
        run(database, "CREATE VIRTUAL TABLE t " TABLE_OF_20 "; CREATE VIRTUAL TABLE u " TABLE_OF_20
                      "; INSERT INTO t(key) VALUES (1), (2), (3); BEGIN");
        run(database, MAKES[i]);
        run(database, "INSERT INTO t(key) VALUES (1), (7), (8)");
        sqlite3_stmt *query = begin(database, FOUND);
        assert_int_equal(sqlite3_close(database), SQLITE_BUSY);
        run(database, "ROLLBACK");
        require_rest(query, SQLITE_ABORT, 0);
        require_number(database, 3, "SELECT count(*) FROM (" FOUND ")");
    }
#endif
}

/* A query of a table that was undone after such a close, which nobody reports, does not read the
 * table that gets its name. */
static void a_name_ends_queries_of_those_who_had_it(void) {
    CLOSED_AT_END *database = open_database(":memory:");
    run(database,
        "BEGIN; CREATE VIRTUAL TABLE t " TABLE_OF_20 "; INSERT INTO t(key) VALUES (1), (7)");
    close_busily(database);
    sqlite3_stmt *query = begin(database, FOUND);
    run(database, "ROLLBACK; CREATE VIRTUAL TABLE t " TABLE_OF_20
                  "; INSERT INTO t(key) VALUES (1), (2), (3)");
    require_rest(query, SQLITE_ABORT, 0);
}

/* A query ends with SQLITE_ABORT_ROLLBACK if row 0 of its table is exchanged or deleted. */
static void another_row_0_ends_a_query(void) {
    static const char *const CHANGES[] = {
        "UPDATE t_data SET data = (SELECT data FROM u_data WHERE id = 0) WHERE id = 0",
        "DELETE FROM t_data WHERE id = 0",
    };
    for (size_t i = 0; i < COUNT_OF(CHANGES); i++) {
        CLOSED_AT_END *database = open_database(":memory:");
        run(database, "CREATE VIRTUAL TABLE t " TABLE_OF_20 "; CREATE VIRTUAL TABLE u USING "
                      "bloom(capacity=30, fpr=1e-9, growth=off); "
                      "INSERT INTO t(key) VALUES (1), (2), (3)");
        sqlite3_stmt *query = begin(database, FOUND);
        run(database, CHANGES[i]);
        require_rest(query, SQLITE_ABORT, 0);
    }
}

/* A query ends with SQLITE_ABORT_ROLLBACK, and not with damage, if its table is gone, of which
 * SQLite does not tell an object whose first rows were written by hand. */
static void an_undone_table_ends_a_query(void) {
    CLOSED_AT_END *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE u " TABLE_OF_20 "; INSERT INTO u(key) VALUES (1), (2), (3);"
                  "BEGIN; SAVEPOINT s; CREATE VIRTUAL TABLE t " TABLE_OF_20
                  "; INSERT INTO t_data VALUES ((SELECT max(id) FROM u_data), "
                  "(SELECT data FROM u_data ORDER BY id DESC))");
    sqlite3_stmt *query = begin(database, FOUND);
    run(database, "ROLLBACK TO s");
    require_rest(query, SQLITE_ABORT, 0);
    run(database, "COMMIT");
}

/* A table that was dropped is back with keys that a rollback takes away, which no object hears of:
 * the one that has changed it is gone. */
static void dropped_keys_are_not_remembered(void) {
    CLOSED_AT_END *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE t " TABLE_OF_20 "; INSERT INTO t(key) VALUES (1);"
                  "BEGIN; SAVEPOINT a; INSERT INTO t(key) VALUES (7), (8); SAVEPOINT b;"
                  "DROP TABLE t; ROLLBACK TO b");
    sqlite3_stmt *query = begin(database, FOUND);
    for (int i = 0; i < 2; i++)
        require_number(database, 3, "SELECT count(*) FROM (" FOUND ")");
    run(database, "ROLLBACK TO a");
    require_rest(query, SQLITE_OK, 0);
    run(database, "COMMIT");
}

/* All that waits is written. What cannot be, and nobody can be told of, ends the transaction. */
static void busy_close_writes_or_ends(void) {
#if SQLITE_VERSION_NUMBER >= 3034000
    sqlite3 *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE t USING bloom(capacity=10)");
    begin_keys(database, true);
    close_busily(database);
    require_stored(database, 4);
    run(database, "ROLLBACK");
    begin_keys(database, true);
    run(database, "UPDATE t_data SET data = x'00' WHERE id = 1");
    close_busily(database);
    require_error(database, "no transaction is active", "COMMIT");
    require_number(database, 0, "SELECT json_extract(info, '$.count') FROM t");
    close_database(database);
#endif
}

static void keep_message(void *message, int code, const char *text) {
    if (code == SQLITE_READONLY && strncmp(text, "t: ", 3) == 0)
        sqlite3_snprintf(200, message, "%s", text);
}

/* SQLite takes no message from a table for a SAVEPOINT that fails. */
static void savepoint_logs_what_waits(void) {
    char message[200] = "";
    if (sqlite3_libversion_number() < 3034000) /* nothing waits */
        return;
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOG, keep_message, message);
    sqlite3 *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE t USING bloom(capacity=10)");
    begin_keys(database, true);
    run(database, "PRAGMA query_only = on");
    assert_int_equal(try(database, NULL, "SAVEPOINT a"), SQLITE_READONLY);
    assert_string_equal(message, "t: keys that were added wait in memory, and PRAGMA query_only is "
                                 "on, so they cannot be written. Turn it off");
    run(database, "PRAGMA query_only = off; SAVEPOINT a; COMMIT");
    require_stored(database, 4);
    close_database(database);
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOG, NULL, NULL);
}

static void older_releases_have_no_drafts(void) {
    CLOSED_AT_END *database;
    assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
    assert_int_equal(load_pretending(3033000, "3.33.0", database, NULL), SQLITE_OK);
    run(database, "CREATE VIRTUAL TABLE t USING bloom(capacity=10)");
    begin_keys(database, false);
    close_busily(database);
    run(database, "COMMIT");
    require_stored(database, 4);
}

/* ---- Statements that the host finalizes ---- */

static void finalize_everything(sqlite3 *database) {
    for (sqlite3_stmt *statement; (statement = sqlite3_next_stmt(database, NULL)) != NULL;)
        sqlite3_finalize(statement);
}

void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void leave_leaks(bool leave) {
    if (__lsan_disable != NULL)
        (leave ? __lsan_disable : __lsan_enable)();
}

/* Hosts like Expo, Bun and FMDB finalize all that SQLite lists and then close the connection. That
 * includes statements of tables and, within a query, those of BLOB handles. Nobody can close such a
 * handle any more, so its own memory is freed with the connection's lookaside, or, without one, not
 * at all. */
static void hosts_finalize_everything(void) {
    static const char *const BEFORE[] = {
        "",                                                                /* nothing was used */
        "SELECT info FROM t; INSERT INTO t(key) SELECT x FROM n",          /* all was */
        "BEGIN; INSERT INTO t(key) VALUES (1); INSERT INTO t(key) VALUES " /* drafts wait */
        "(2); INSERT INTO t(key) VALUES (3); INSERT INTO t(key) VALUES (4)",
        "BEGIN; INSERT INTO aside VALUES (1)", /* there is no memory */
    };
    static const char *const UNDER_WAY[] = {
        NULL,
        "SELECT x FROM n JOIN t ON key = x",
        "SELECT x FROM n WHERE EXISTS (SELECT 1 FROM t WHERE key = x) AND EXISTS (SELECT 1 FROM u "
        "WHERE key = x)",
        "SELECT info, filter FROM t",
    };
    static const int HANDLES[] = {0, 1, 2, 0}; /* that such a query has open */
    enum { HANDLE_BYTES = 64 };
    leave_leaks(true);
    for (size_t i = 0; i < COUNT_OF(BEFORE) * COUNT_OF(UNDER_WAY); i++) {
        const char *query = UNDER_WAY[i % COUNT_OF(UNDER_WAY)];
        sqlite3_stmt *statement = NULL;
        const sqlite3_int64 left = sqlite3_memory_used();
        sqlite3 *database = open_database(":memory:");
        run(database,
            "CREATE TABLE n(x); CREATE TABLE aside(x);"
            "CREATE VIRTUAL TABLE t USING bloom(capacity=50000);"
            "CREATE VIRTUAL TABLE u USING bloom(capacity=50000);"
            "INSERT INTO n " NUMBERS(100) "SELECT x FROM n; INSERT INTO t(key) SELECT x FROM n;"
                                          "INSERT INTO u(key) SELECT x FROM n");
        run(database, BEFORE[i / COUNT_OF(UNDER_WAY)]);
        if (query != NULL)
            assert_int_equal(sqlite3_prepare_v2(database, query, -1, &statement, NULL), SQLITE_OK);
        for (int row = 0; query != NULL && row < 20; row++)
            sqlite3_step(statement);
        finalize_everything(database);
        close_database(database);
        const sqlite3_int64 leaked = sqlite3_memory_used() - left;
        require(leaked <= HANDLE_BYTES * HANDLES[i % COUNT_OF(UNDER_WAY)], "case %zu: %lld bytes",
                i, leaked);
    }
    leave_leaks(false);
}

/* ---- Names of schemas ---- */

/* What a table was told is the schema need not be its name any more. */
static void the_name_of_main_changes(void) {
    CLOSED_AT_END *database = open_database(":memory:");
    sqlite3_db_config(database, SQLITE_DBCONFIG_MAINDBNAME, "one");
    run(database, "CREATE VIRTUAL TABLE t USING bloom(capacity=10); INSERT INTO t(key) VALUES (1)");
    sqlite3_db_config(database, SQLITE_DBCONFIG_MAINDBNAME, "two");
    require_error(database,
                  "t: the connection has no database 'one' any more. Use one name for it, or open "
                  "the connection again",
                  "INSERT INTO t(key) VALUES (2)");
}

RUN_GROUP(
    "host",
    TEST("An SQLite that is too old is refused in words, and gets no function",
         old_sqlite_is_refused),
    TEST("An SQLite without what tables need is refused in words",
         sqlite_without_functions_is_refused),
    TEST("Another SQLite library is refused until the last use by the first one is over",
         one_library_is_served),
    TEST("A copy that is loaded already is left in place, and nothing else is used",
         a_copy_is_left_in_place),
    TEST("An authorizer and a limit that forbid to ask whether to stop do not stop bloom_agg",
         forbidden_questions_do_not_stop),
    TEST("A limit on values is for filters, and not for the rows of a table", tiny_limits),
    TEST("A close that is refused writes what waits, or ends the transaction",
         busy_close_writes_or_ends),
    TEST("After a close that is refused a name is committed as ever", busy_close_leaves_names),
    TEST("After a close that is refused a name is rolled back for queries under way, too",
         busy_close_loses_no_names),
    TEST("A query whose table is another one now, or is gone, ends", another_row_0_ends_a_query),
    TEST("A name ends the queries of tables that had it", a_name_ends_queries_of_those_who_had_it),
    TEST("A query of a table that was undone ends", an_undone_table_ends_a_query),
    TEST("Keys of a table that was dropped and is back are not remembered",
         dropped_keys_are_not_remembered),
    TEST("A SAVEPOINT that cannot write what waits says so in the log", savepoint_logs_what_waits),
    TEST("Before SQLite 3.34 every key is written at once", older_releases_have_no_drafts),
    TEST("A host may finalize all statements before it closes", hosts_finalize_everything),
    TEST("A schema that has another name now is named", the_name_of_main_changes))
