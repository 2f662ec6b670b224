/* What a connection, an application and a database file may do to a filter table: each test is one
 * way in which a table once gave a wrong answer, lost its counts, or brought its host down.
 *
 * Every test runs in a process of its own, so that one that crashes, or that a sanitizer stops,
 * fails alone. Black-box, as tests/tables/oracle: SQL, SQLite's interface, and the shadow tables as
 * ext/FORMAT.md describes them.
 */
#include "../library/library_test.h"

#ifndef SQLITE_ENABLE_SESSION /* for sqlite3.h: changesets are applied */
#define SQLITE_ENABLE_SESSION
#define SQLITE_ENABLE_PREUPDATE_HOOK
#endif
#include "sqlite-bloom.h"

#include <dirent.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Tests in processes of their own ---- */

static char folder[64]; /* of the test that runs, for its files */

static void remove_folder(void) {
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened)) != NULL;) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(opened);
    assert_int_equal(rmdir(folder), 0);
}

static void run_apart(void **state, void (*test)(void)) {
    const char *parent = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof folder, "%.40s/hostile.XXXXXX", parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(folder));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(120); /* what hangs fails, too */
        test();
        exit(0); /* with what a sanitizer or a coverage build does at the end */
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    remove_folder();
    if (WIFSIGNALED(status))
        fail_msg("ended by signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* In such a process: what does not hold ends it. */
static void require(bool holds, const char *format, ...) {
    va_list list;
    if (holds)
        return;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    printf("\n");
    fflush(NULL);
    _exit(1);
}

/* ---- Databases ---- */

static const char *path_of(const char *name) {
    static char paths[4][100];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static sqlite3 *open_database(const char *path) {
    sqlite3 *database;
    int code = sqlite3_open(path, &database);
    if (code == SQLITE_OK)
        code = sqlite3_bloom_init(database, NULL, NULL);
    require(code == SQLITE_OK, "%s cannot be opened: %s", path, sqlite3_errmsg(database));
    return database;
}

static void close_database(sqlite3 *database) {
    require(sqlite3_close(database) == SQLITE_OK, "the connection cannot be closed");
}

/* The result of SQL; error, which may be NULL, gets the message. */
static int try(sqlite3 *database, char *error, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *sql = sqlite3_vmprintf(format, list);
    va_end(list);
    int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    if (error != NULL)
        sqlite3_snprintf(300, error, "%s", sqlite3_errmsg(database));
    sqlite3_free(sql);
    return code;
}

static void run(sqlite3 *database, const char *sql) {
    int code = sqlite3_exec(database, sql, NULL, NULL, NULL);
    require(code == SQLITE_OK, "%s: result %d (%s)", sql, code, sqlite3_errmsg(database));
}

/* The one number that a query gives. */
static sqlite3_int64 number(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    require(code == SQLITE_ROW, "%s: result %d (%s)", sql, code, sqlite3_errmsg(database));
    sqlite3_int64 result = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result;
}

static void require_number(sqlite3 *database, sqlite3_int64 expected, const char *sql) {
    sqlite3_int64 found = number(database, sql);
    require(found == expected, "%s: %lld, not %lld", sql, (long long)found, (long long)expected);
}

/* It fails in words that hold a word. */
static void require_error(sqlite3 *database, const char *word, const char *sql) {
    char error[300];
    int code = try(database, error, "%s", sql);
    require(code != SQLITE_OK && code != SQLITE_NOMEM, "%s: result %d instead of an error", sql,
            code);
    require(strstr(error, word) != NULL, "%s: fails with: %s", sql, error);
}

#define NUMBERS(most)                                                                              \
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < " #most ") "

/* Bits that are set in all chunks of layers of the table seen in a schema, by the rows. */
static sqlite3_int64 ones_in_chunks(sqlite3 *database, const char *schema) {
    sqlite3_stmt *statement;
    sqlite3_int64 ones = 0;
    char *sql = sqlite3_mprintf("SELECT bits FROM %s.seen_chunks", schema);
    int code = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    require(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const unsigned char *bytes = sqlite3_column_blob(statement, 0);
        int length = sqlite3_column_bytes(statement, 0);
        for (int i = 0; i < length; i++)
            for (unsigned byte = bytes[i]; byte != 0; byte &= byte - 1)
                ones++;
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return ones;
}

/* The counts of the table seen are those of its rows, and its keys so many. */
static void require_counts(sqlite3 *database, const char *schema, sqlite3_int64 keys) {
    char sql[200];
    sqlite3_snprintf(sizeof sql, sql, "SELECT sum(ones) FROM %s.seen_layers", schema);
    require_number(database, ones_in_chunks(database, schema), sql);
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT sum(chunks) = (SELECT count(*) FROM %s.seen_chunks) FROM "
                     "%s.seen_layers",
                     schema, schema);
    require_number(database, 1, sql);
    sqlite3_snprintf(sizeof sql, sql, "SELECT sum(keys) FROM %s.seen_layers", schema);
    require_number(database, keys, sql);
}

/* ---- One state, and it is the database's ---- */

static const char FIVE_HUNDRED[] = "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
                                   "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n";

#define FOUND NUMBERS(500) "SELECT count(*) FROM n WHERE EXISTS (SELECT 1 FROM seen WHERE key = x)"

static void layers_deleted_and_rolled_back(void) {
    static const char *const WAYS[][2] = {{"BEGIN", "ROLLBACK"},
                                          {"BEGIN; SAVEPOINT s", "ROLLBACK TO s; COMMIT"},
                                          {"SAVEPOINT s", "ROLLBACK TO s; RELEASE s"}};
    for (unsigned i = 0; i < COUNT_OF(WAYS); i++) {
        sqlite3 *database = open_database(":memory:");
        run(database, FIVE_HUNDRED);
        run(database, WAYS[i][0]);
        run(database, "DELETE FROM seen_layers WHERE layer > 0");
        number(database, FOUND);
        run(database, WAYS[i][1]);
        require_number(database, 500, FOUND);
        run(database, "INSERT INTO seen(key) VALUES ('another')");
        require_number(database, 500, FOUND);
        require_counts(database, "main", 501);
        close_database(database);
    }
}

static void layers_deleted_after_an_insert(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, FIVE_HUNDRED);
    run(database, "BEGIN; INSERT INTO seen(key) VALUES (501); SAVEPOINT s;"
                  "DELETE FROM seen_layers WHERE layer > 0");
    number(database, FOUND);
    run(database, "ROLLBACK TO s; INSERT INTO seen(key) VALUES (502); COMMIT");
    require_number(database, 500, FOUND);
    require_counts(database, "main", 502);
    close_database(database);
}

static void rows_written_and_rolled_back(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6); BEGIN;"
                  "UPDATE seen_layers SET chunks = 1, keys = 1, ones = 1;"
                  "INSERT INTO seen_chunks SELECT 0, zeroblob(64 * chunk_blocks) FROM seen_layers");
    number(database, FOUND);
    run(database, "ROLLBACK");
    require_number(database, 0, FOUND);
    run(database, "INSERT INTO seen(key) VALUES (1)");
    require_counts(database, "main", 1);
    close_database(database);
}

static int abort_on_conflict(void *unused, int conflict, sqlite3_changeset_iter *iterator) {
    (void)unused, (void)conflict, (void)iterator;
    return SQLITE_CHANGESET_ABORT;
}

static void changeset_rolled_back(void) {
    sqlite3 *from = open_database(":memory:"), *to = open_database(":memory:");
    static const char CREATE[] = "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6)";
    sqlite3_session *session;
    void *changeset;
    int size;
    run(from, CREATE);
    run(to, CREATE);
    sqlite3session_create(from, "main", &session);
    sqlite3session_attach(session, NULL);
    run(from, "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
    require(sqlite3session_changeset(session, &size, &changeset) == SQLITE_OK, "no changeset");
    sqlite3session_delete(session);
    for (int round = 0; round < 3; round++) {
        run(to, "BEGIN");
        if (round == 1)
            number(to, FOUND);
        int code = sqlite3changeset_apply(to, size, changeset, NULL, abort_on_conflict, NULL);
        require(code == SQLITE_OK, "a changeset is not applied: %d", code);
        require_number(to, 500, FOUND);
        run(to, round == 2 ? "COMMIT" : "ROLLBACK");
        require_number(to, round == 2 ? 500 : 0, FOUND);
    }
    require_counts(to, "main", 500);
    sqlite3_free(changeset);
    close_database(from);
    close_database(to);
}

static sqlite3 *open_shared(const char *path) {
    sqlite3 *database;
    int code =
        sqlite3_open_v2(path, &database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_SHAREDCACHE, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bloom_init(database, NULL, NULL);
    require(code == SQLITE_OK, "%s cannot be opened: %s", path, sqlite3_errmsg(database));
    return database;
}

static void uncommitted_rows_seen(void) {
    sqlite3 *writer = open_shared(path_of("shared.db")),
            *reader = open_shared(path_of("shared.db"));
    run(reader, "PRAGMA read_uncommitted = 1");
    run(writer, FIVE_HUNDRED);
    require_number(reader, 500, FOUND);
    run(writer, "BEGIN; INSERT INTO seen(seen) VALUES ('clear')");
    require_number(reader, 0, FOUND);
    run(writer, "ROLLBACK");
    require_number(reader, 500, FOUND);
    run(writer, "INSERT INTO seen(seen) VALUES ('clear'); BEGIN;"
                "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
    require_number(reader, 500, FOUND);
    run(writer, "ROLLBACK");
    require_number(reader, 0, FOUND);
    run(reader, "INSERT INTO seen(key) VALUES (1)");
    require_counts(writer, "main", 1);
    close_database(reader);
    close_database(writer);
}

/* Two files with a table of that name: one of keys 1 to 10, one of 1 to 500. */
static void make_two_files(void) {
    sqlite3 *a = open_database(path_of("a.db")), *b = open_database(path_of("b.db"));
    run(a, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
           "INSERT INTO seen(key) " NUMBERS(10) "SELECT x FROM n");
    run(b, FIVE_HUNDRED);
    close_database(a);
    close_database(b);
}

/* Asks a kept statement for the numbers up to 500. */
static int found_by(sqlite3_stmt *statement) {
    int found = 0;
    for (int i = 1; i <= 500; i++) {
        sqlite3_bind_int(statement, 1, i);
        found += sqlite3_step(statement) == SQLITE_ROW;
        int code = sqlite3_reset(statement);
        require(code == SQLITE_OK, "%s: result %d (%s)", sqlite3_sql(statement), code,
                sqlite3_errmsg(sqlite3_db_handle(statement)));
    }
    return found;
}

static sqlite3_stmt *kept(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    require(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
    return statement;
}

static void add_by(sqlite3_stmt *statement) {
    sqlite3_step(statement);
    int code = sqlite3_reset(statement);
    require(code == SQLITE_OK, "%s: result %d (%s)", sqlite3_sql(statement), code,
            sqlite3_errmsg(sqlite3_db_handle(statement)));
}

/* The second file takes the place of the first, after a query of it or a change, too. */
static void attach_in_turn(const char *first, int in_first, const char *second, int in_second,
                           bool change) {
    make_two_files();
    sqlite3 *database = open_database(":memory:");
    char *attach_first = sqlite3_mprintf("ATTACH %Q AS x", path_of(first));
    char *attach_second = sqlite3_mprintf("ATTACH %Q AS x", path_of(second));
    run(database, attach_first);
    sqlite3_stmt *check = kept(database, "SELECT 1 FROM x.seen WHERE key = ?1");
    sqlite3_stmt *add = kept(database, "INSERT INTO x.seen(key) VALUES ('new')");
    require(found_by(check) == in_first, "not the keys of %s are found", first);
    if (change)
        add_by(add);
    run(database, "DETACH x");
    run(database, attach_second);
    int found = found_by(check);
    require(found == in_second, "%s after %s: %d of %d found", second, first, found, in_second);
    add_by(add);
    require_counts(database, "x", in_second + 1);
    run(database, "DETACH x");
    run(database, attach_first);
    require(found_by(check) == in_first, "not the keys of %s are found again", first);
    add_by(add);
    require_counts(database, "x", in_first + 1);
    sqlite3_finalize(check);
    sqlite3_finalize(add);
    sqlite3_free(attach_first);
    sqlite3_free(attach_second);
    close_database(database);
    unlink(path_of("a.db"));
    unlink(path_of("b.db"));
}

static void other_file_attached(void) {
    for (int change = 0; change < 2; change++) {
        attach_in_turn("a.db", 10, "b.db", 500, change);
        attach_in_turn("b.db", 500, "a.db", 10, change);
    }
}

static void other_file_deserialized(void) {
    make_two_files();
    sqlite3 *database = open_database(":memory:"), *b = open_database(path_of("b.db"));
    char *attach = sqlite3_mprintf("ATTACH %Q AS x", path_of("a.db"));
    run(database, attach);
    sqlite3_stmt *check = kept(database, "SELECT 1 FROM x.seen WHERE key = ?1");
    sqlite3_stmt *add = kept(database, "INSERT INTO x.seen(key) VALUES ('new')");
    require(found_by(check) == 10, "not 10 found");
    sqlite3_int64 size;
    unsigned char *bytes = sqlite3_serialize(b, "main", &size, 0);
    require(bytes != NULL, "cannot be serialized");
    int code = sqlite3_deserialize(database, "x", bytes, size, size,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    require(code == SQLITE_OK, "cannot be deserialized: %d", code);
    require(found_by(check) == 500, "not 500 found");
    sqlite3_step(add);
    require(sqlite3_reset(add) == SQLITE_OK, "no insert: %s", sqlite3_errmsg(database));
    require_counts(database, "x", 501);
    sqlite3_finalize(check);
    sqlite3_finalize(add);
    sqlite3_free(attach);
    close_database(b);
    close_database(database);
}

/* As hosts that keep statements do: the look and the insert are prepared once. */
static void undone_in_a_savepoint(const char *undone, const char *then) {
    static const char *const LOOKS[] = {FOUND, "SELECT info FROM seen",
                                        "SELECT 1 FROM seen WHERE key = 1"};
    for (unsigned i = 0; i < COUNT_OF(LOOKS); i++)
        for (unsigned capacity = 100; capacity <= 100000; capacity *= 1000) {
            sqlite3 *database = open_database(":memory:");
            char sql[300];
            sqlite3_snprintf(sizeof sql, sql,
                             "CREATE VIRTUAL TABLE other USING bloom(capacity=100);"
                             "CREATE VIRTUAL TABLE seen USING bloom(capacity=%u, fpr=1e-6);"
                             "INSERT INTO seen(key) VALUES ('x')",
                             capacity);
            run(database, sql);
            sqlite3_stmt *look = kept(database, LOOKS[i]);
            sqlite3_stmt *add = kept(database, "INSERT INTO seen(key) VALUES ('y')");
            run(database, "BEGIN; INSERT INTO seen(key) " NUMBERS(50) "SELECT x FROM n; "
                                                                      "SAVEPOINT s");
            run(database, undone);
            run(database, "ROLLBACK TO s");
            require(sqlite3_step(look) == SQLITE_ROW, "%s: %s", LOOKS[i], sqlite3_errmsg(database));
            sqlite3_reset(look);
            run(database, then);
            run(database, "ROLLBACK");
            add_by(add);
            sqlite3_step(look);
            require(sqlite3_reset(look) == SQLITE_OK, "%s: %s", LOOKS[i], sqlite3_errmsg(database));
            require_counts(database, "main", 2);
            require_number(database, 0, FOUND);
            sqlite3_finalize(look);
            sqlite3_finalize(add);
            close_database(database);
        }
}

static void dropped_in_a_savepoint(void) {
    undone_in_a_savepoint("DROP TABLE seen", "RELEASE s");
    undone_in_a_savepoint("DROP TABLE seen", "DROP TABLE other");
}

static void renamed_in_a_savepoint(void) {
    undone_in_a_savepoint("ALTER TABLE seen RENAME TO third", "RELEASE s");
    undone_in_a_savepoint("ALTER TABLE seen RENAME TO third", "DROP TABLE other");
}

/* Refuses whatever concerns a shadow table. */
static int refuses_shadow_tables(void *answer, int action, const char *a, const char *b,
                                 const char *c, const char *d) {
    (void)action, (void)b, (void)c, (void)d;
    bool shadow = a != NULL && (strcmp(a, "seen_layers") == 0 || strcmp(a, "seen_chunks") == 0);
    return shadow ? *(const int *)answer : SQLITE_OK;
}

/* Inserts, some of which fail within a transaction that is committed. */
static void failed_savepoints_are_harmless(void) {
    static const char *const FAILS[] = {
        "INSERT INTO seen(key) " NUMBERS(50) "SELECT x + 1000 FROM n",
        "SAVEPOINT s",
        "INSERT INTO seen(key) VALUES (2000)",
        "DROP TABLE seen",
        "ALTER TABLE seen RENAME TO other",
        "INSERT INTO seen(seen) VALUES ('clear')",
    };
    for (unsigned i = 0; i < COUNT_OF(FAILS); i++) {
        sqlite3 *database = open_database(":memory:");
        int deny = SQLITE_DENY;
        run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=1e-6); BEGIN;"
                      "INSERT INTO seen(key) VALUES (1); INSERT INTO seen(key) VALUES (2)");
        sqlite3_set_authorizer(database, refuses_shadow_tables, &deny);
        int code = try(database, NULL, "%s", FAILS[i]);
        sqlite3_set_authorizer(database, NULL, NULL);
        if (code == SQLITE_OK) /* a savepoint that needs nothing of the shadow tables */
            require(i == 1, "%s: succeeds", FAILS[i]);
        require(!sqlite3_get_autocommit(database), "%s: rolls back", FAILS[i]);
        run(database, "INSERT INTO seen(key) VALUES (3); COMMIT");
        require_counts(database, "main", 3);
        require_number(database, 3, FOUND);
        close_database(database);
    }
}

static const char *refused_table; /* a shadow table */
static long calls_before_refusal;

static int refuses_once(void *unused, int action, const char *a, const char *b, const char *c,
                        const char *d) {
    (void)unused, (void)action, (void)b, (void)c, (void)d;
    if (a == NULL || strcmp(a, refused_table) != 0)
        return SQLITE_OK;
    return calls_before_refusal-- == 0 ? SQLITE_DENY : SQLITE_OK;
}

/* SQLite tells every table of a rollback that follows from the failure of one; to those that were
 * not told of the savepoint it must mean nothing. */
static void failure_of_another_table_is_harmless(void) {
    static const char *const TABLES[] = {"other_layers", "seen_layers", "other_chunks",
                                         "seen_chunks"};
    static const char *const FAILS[] = {
        "INSERT INTO other(key) " NUMBERS(50) "SELECT x + 1000 FROM n",
        "INSERT INTO seen(key) " NUMBERS(50) "SELECT x + 1000 FROM n",
        "SAVEPOINT s",
        "INSERT INTO t " NUMBERS(50) "SELECT x FROM n",
        "DROP TABLE other",
        "ALTER TABLE other RENAME TO third",
        "INSERT INTO other(key) VALUES (3)",
    };
    for (unsigned table = 0; table < COUNT_OF(TABLES); table++)
        for (unsigned i = 0; i < COUNT_OF(FAILS); i++)
            for (long call = 0;; call++) {
                sqlite3 *database = open_database(":memory:");
                run(database, "CREATE VIRTUAL TABLE other USING bloom(capacity=1000, fpr=1e-6);"
                              "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=1e-6);"
                              "CREATE TABLE t(x); BEGIN; INSERT INTO other(key) VALUES (1);"
                              "INSERT INTO seen(key) VALUES (1), (2);"
                              "INSERT INTO other(key) VALUES (2)");
                refused_table = TABLES[table];
                calls_before_refusal = call;
                sqlite3_set_authorizer(database, refuses_once, NULL);
                int code = try(database, NULL, "%s", FAILS[i]);
                sqlite3_set_authorizer(database, NULL, NULL);
                bool refused = calls_before_refusal < 0;
                require(!sqlite3_get_autocommit(database), "%s: rolls back", FAILS[i]);
                run(database, "INSERT INTO seen(key) VALUES (3); COMMIT");
                require_counts(database, "main", i == 1 && code == SQLITE_OK ? 53 : 3);
                close_database(database);
                if (!refused)
                    break;
            }
}

static int interrupt_after;

static int interrupts(void *unused) {
    (void)unused;
    return interrupt_after > 0 && --interrupt_after == 0;
}

/* SQLite may report an interrupt when a statement has done its work. */
static void late_interrupt_is_harmless(void) {
    static const char *const STOPPED[] = {"SAVEPOINT s", "RELEASE r",
                                          "INSERT INTO seen(key) " NUMBERS(5) "SELECT x FROM n",
                                          "CREATE TABLE t(x)"};
    for (unsigned i = 0; i < COUNT_OF(STOPPED); i++)
        for (int operations = 1;; operations++) {
            sqlite3 *database = open_database(":memory:");
            run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=1e-6);"
                          "BEGIN; SAVEPOINT r; INSERT INTO seen(key) VALUES (1);"
                          "INSERT INTO seen(key) VALUES (2)");
            interrupt_after = operations;
            sqlite3_progress_handler(database, 1, interrupts, NULL);
            int code = try(database, NULL, "%s", STOPPED[i]);
            sqlite3_progress_handler(database, 0, NULL, NULL);
            bool stopped = interrupt_after == 0;
            bool goes_on = !sqlite3_get_autocommit(database);
            run(database, goes_on ? "INSERT INTO seen(key) VALUES (3); COMMIT"
                                  : "INSERT INTO seen(key) VALUES (3)");
            sqlite3_int64 keys = number(database, FOUND);
            require_counts(database, "main", keys);
            require(keys >= (goes_on ? 3 : 1), "%s: %lld keys, result %d", STOPPED[i],
                    (long long)keys, code);
            close_database(database);
            interrupt_after = 0;
            if (!stopped)
                break;
        }
}

static void locked_shadow_table_is_harmless(void) {
    sqlite3 *writer = open_shared(path_of("locked.db")),
            *reader = open_shared(path_of("locked.db"));
    run(writer, "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=1e-6);"
                "CREATE TABLE t(x); BEGIN; INSERT INTO seen(key) VALUES (1)");
    /* A reader of the one shadow table that the writer has not written yet keeps it locked. */
    int locked = try(reader, NULL, "BEGIN; SELECT count(*) FROM seen_layers");
    int code = try(writer, NULL, "INSERT INTO seen(key) " NUMBERS(50) "SELECT x + 1000 FROM n");
    try(reader, NULL, "ROLLBACK");
    require(!sqlite3_get_autocommit(writer), "the transaction is rolled back");
    run(writer, "INSERT INTO seen(key) VALUES (2); COMMIT");
    (void)locked;
    require_counts(writer, "main", code == SQLITE_OK ? 52 : 2);
    close_database(reader);
    close_database(writer);
}

/* ---- Merges and counts ---- */

/* Whether a message names a rate, as a share or in per cent, within a tenth. */
static bool names_rate(const char *message, double rate) {
    for (const char *at = message; *at != '\0'; at++) {
        if ((*at < '0' || *at > '9') ||
            (at > message && (at[-1] == '.' || (at[-1] >= '0' && at[-1] <= '9'))))
            continue;
        double value = strtod(at, NULL);
        if (fabs(value - rate) <= rate / 10 || fabs(value / 100 - rate) <= rate / 10)
            return true;
    }
    return false;
}

static void merges_keep_the_rate(void) {
    sqlite3 *database = open_database(":memory:");
    char error[300];
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=0.01);"
                  "CREATE VIRTUAL TABLE over USING bloom(capacity=1000, fpr=0.01, growth=off);"
                  "CREATE TABLE parts(f, g);" NUMBERS(
                      3000) "INSERT INTO parts SELECT bloom_agg(x, (SELECT filter FROM seen)),"
                            "bloom_agg(x, (SELECT filter FROM over)) FROM n GROUP BY x % 3");
    run(database, "INSERT INTO seen(seen, key) SELECT 'merge', f FROM parts LIMIT 1");
    require_counts(database, "main", number(database, "SELECT sum(keys) FROM seen_layers"));
    sqlite3_int64 ones = ones_in_chunks(database, "main");
    int code = try(database, error,
                   "INSERT INTO seen(seen, key) SELECT 'merge', f FROM parts LIMIT 1 OFFSET 1");
    require(code != SQLITE_OK, "a merge that takes the layer to twice its keys is done");
    double rate = (double)number(database, "SELECT 1e9 * bloom_fpr(bloom_union_agg(f)) FROM "
                                           "(SELECT f FROM parts LIMIT 2)") /
                  1e9;
    require(names_rate(error, rate), "the refusal of a merge to %g says: %s", rate, error);
    require(ones_in_chunks(database, "main") == ones, "a refused merge has set bits");
    run(database, "INSERT INTO over(over, key) SELECT 'merge', g FROM parts");
    require_number(database, 3000,
                   NUMBERS(3000) "SELECT count(*) FROM n WHERE EXISTS (SELECT 1 FROM over(x))");
    close_database(database);
}

static void wrong_chunk_size_is_noticed(void) {
    static const char *const SIZES[] = {"1",  "chunk_blocks - 1", "chunk_blocks + 1", "1024", "0",
                                        "-1", "1 << 40"};
    static const char *const LOOKS[] = {
        "SELECT 1 FROM seen WHERE key = 1",
        "SELECT 1 FROM seen WHERE key = 'absent'",
        "INSERT INTO seen(key) VALUES ('new')",
        "INSERT OR IGNORE INTO seen(key) VALUES (1)",
        "SELECT info FROM seen",
        "SELECT filter FROM seen",
        "INSERT INTO seen(seen, key) VALUES ('merge', bloom_new(1000, 0.009))",
    };
    for (unsigned i = 0; i < COUNT_OF(SIZES); i++)
        for (unsigned j = 0; j < COUNT_OF(LOOKS); j++) {
            sqlite3 *database = open_database(path_of("size.db"));
            run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=10000, fpr=0.01);"
                          "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
            char *sql = sqlite3_mprintf("UPDATE seen_layers SET chunk_blocks = %s", SIZES[i]);
            run(database, sql);
            require_error(database, j == 6 ? "seen" : "damaged", LOOKS[j]);
            close_database(database);
            database = open_database(path_of("size.db"));
            require_error(database, j == 6 ? "seen" : "damaged", LOOKS[j]);
            sqlite3_free(sql);
            close_database(database);
            unlink(path_of("size.db"));
        }
}

/* integrity_check reaches virtual tables from 3.44 on. */
static void integrity_check_compares_bits_with_counts(void) {
    static const char *const DAMAGE[] = {
        "UPDATE seen_layers SET ones = ones + 1",
        "UPDATE seen_layers SET ones = 0",
        "UPDATE seen_layers SET keys = keys * 10",
        "UPDATE seen_layers SET keys = 0",
        "UPDATE seen_layers SET chunks = chunks + 1",
        "UPDATE seen_chunks SET bits = zeroblob(length(bits))",
        "UPDATE seen_chunks SET bits = zeroblob(length(bits)) WHERE id = 1",
        "UPDATE seen_layers SET chunk_blocks = 1",
        "DELETE FROM seen_chunks WHERE id = 1",
        "INSERT INTO seen_chunks SELECT 1 << 42, bits FROM seen_chunks WHERE id = 0",
    };
    for (unsigned i = 0; i <= COUNT_OF(DAMAGE); i++) {
        sqlite3 *database = open_database(":memory:");
        run(database, "PRAGMA page_size = 1024;"
                      "CREATE VIRTUAL TABLE seen USING bloom(capacity=3000, fpr=0.01);"
                      "INSERT INTO seen(key) " NUMBERS(2000) "SELECT x FROM n");
        if (i < COUNT_OF(DAMAGE))
            run(database, DAMAGE[i]);
        sqlite3_int64 well = number(
            database, "SELECT group_concat(integrity_check) = 'ok' FROM pragma_integrity_check");
        require(well == (i == COUNT_OF(DAMAGE)), "%s: integrity_check says %s",
                i < COUNT_OF(DAMAGE) ? DAMAGE[i] : "no damage", well ? "ok" : "damage");
        close_database(database);
    }
}

/* ---- Capacity and options ---- */

static void capacity_is_exact(void) {
    static const struct {
        unsigned capacity;
        const char *rate;
        unsigned sets;
    } SHAPES[] = {{1, "0.01", 20},   {2, "0.1", 50},     {8, "0.05", 50},   {40, "0.02", 50},
                  {100, "0.01", 50}, {1000, "0.01", 20}, {1000, "1e-6", 5}, {3000, "0.5", 5}};
    static const char *const GROWTH[] = {"on", "off"};
    for (unsigned i = 0; i < COUNT_OF(SHAPES); i++)
        for (unsigned growth = 0; growth < 2; growth++)
            for (unsigned set = 0; set < SHAPES[i].sets; set++) {
                sqlite3 *database = open_database(":memory:");
                char *sql = sqlite3_mprintf(
                    "CREATE VIRTUAL TABLE seen USING bloom(capacity=%u, fpr=%s, growth=%s);"
                    "INSERT INTO seen(key) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
                    "SELECT x + 1 FROM n WHERE x < %u) SELECT %u * 100000 + x FROM n",
                    SHAPES[i].capacity, SHAPES[i].rate, GROWTH[growth], SHAPES[i].capacity, set);
                run(database, sql);
                require(number(database, "SELECT count(*) FROM seen_layers") == 1,
                        "capacity %u, fpr %s: grown with set %u", SHAPES[i].capacity,
                        SHAPES[i].rate, set);
                number(database, "SELECT filter IS NOT NULL FROM seen");
                sqlite3_free(sql);
                close_database(database);
            }
}

static void first_layer_is_what_is_promised(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE grows USING bloom(capacity=1000, fpr=0.01);"
                  "CREATE VIRTUAL TABLE never USING bloom(capacity=1000, fpr=0.01, growth=off)");
    require_number(database, 1, "SELECT filter = bloom_new(1000, 0.01) FROM never");
    require_number(database, 1,
                   "SELECT json_extract(bloom_info(filter), '$.bits') ="
                   "json_extract(bloom_info(bloom_new(1000, 0.009)), '$.bits') FROM grows");
    require_number(database, 1,
                   "SELECT bloom_check(bloom_union(filter, bloom_agg(7, filter)), 7) FROM grows");
    close_database(database);
}

static void growth_may_be_an_error(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=500, fpr=1e-6, growth=error);"
                  "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
    require_error(database, "capacity", "INSERT INTO seen(key) VALUES (501)");
    require_error(database, "capacity", "INSERT OR IGNORE INTO seen(key) VALUES (501)");
    run(database, "INSERT INTO seen(key) VALUES (500)"); /* is in */
    require_number(database, 500, FOUND);
    require_number(database, 0, "SELECT count(*) FROM seen(501)");
    require_counts(database, "main", 500);
    close_database(database);
}

static void options_may_be_quoted(void) {
    static const char *const GOOD[] = {
        "capacity='1000', fpr='0.01', growth='on'", "capacity=\"1000\", fpr=\"0.01\"",
        "'capacity'=1000", "capacity = 1e3", "capacity=1000.0, fpr=1e-2, growth=\"off\""};
    for (unsigned i = 0; i < COUNT_OF(GOOD); i++) {
        sqlite3 *database = open_database(":memory:");
        char error[300];
        int code = try(database, error, "CREATE VIRTUAL TABLE seen USING bloom(%s)", GOOD[i]);
        if (i == 2 && code != SQLITE_OK) { /* quoting the name may be refused in words */
            close_database(database);
            continue;
        }
        require(code == SQLITE_OK, "%s: %s", GOOD[i], error);
        require_number(database, 1000, "SELECT json_extract(info, '$.capacity') FROM seen");
        close_database(database);
    }
}

static unsigned decade_calls;

static void decade(sqlite3_context *context, int count, sqlite3_value **arguments) {
    (void)count, (void)arguments;
    decade_calls++;
    sqlite3_result_int(context, 10);
}

static void options_call_nothing(void) {
    /* Arithmetic with literals stays, since tables were made with it. */
    static const char *const BAD[] = {
        "capacity=(decade())",   "capacity=decade()", "capacity=10+decade()", "fpr=1/decade()",
        "capacity=x'10'",        "capacity=10--5",    "capacity=1/*",         "capacity=''",
        "capacity='(decade())'", "capacity=decade",   "capacity=abs(5)"};
    for (unsigned i = 0; i < COUNT_OF(BAD); i++) {
        sqlite3 *database = open_database(":memory:");
        sqlite3_create_function(database, "decade", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                decade, NULL, NULL);
        int code = try(database, NULL, "CREATE VIRTUAL TABLE seen USING bloom(%s)", BAD[i]);
        require(decade_calls == 0, "%s: calls a function of the application", BAD[i]);
        require(code == SQLITE_ERROR, "%s: result %d", BAD[i], code);
        close_database(database);
    }
}

/* ---- Loading again ---- */

static void loaded_again(void) {
    for (int renewed = 0; renewed < 3; renewed++) {
        sqlite3 *database = open_database(path_of("again.db")), *other;
        run(database, "CREATE VIRTUAL TABLE IF NOT EXISTS seen USING bloom(capacity=100);"
                      "INSERT INTO seen(key) VALUES (1)");
        sqlite3_stmt *check = kept(database, "SELECT 1 FROM seen WHERE key = ?1");
        sqlite3_bind_int(check, 1, 1);
        sqlite3_step(check);
        sqlite3_reset(check);
        if (renewed == 1)
            run(database, "BEGIN; INSERT INTO seen(key) VALUES (2)");
        int code = sqlite3_bloom_init(database, NULL, NULL);
        require(code == SQLITE_OK, "loaded again: result %d", code);
        if (renewed == 2) { /* the schema changes: the table is connected anew */
            other = open_database(path_of("again.db"));
            run(other, "CREATE TABLE IF NOT EXISTS t(x)");
            close_database(other);
        }
        sqlite3_bind_int(check, 1, 1);
        require(sqlite3_step(check) == SQLITE_ROW, "1 is not found");
        sqlite3_reset(check);
        run(database, "INSERT INTO seen(key) VALUES (3)");
        if (renewed == 1)
            run(database, "COMMIT");
        require(sqlite3_bloom_init(database, NULL, NULL) == SQLITE_OK, "not loaded a third time");
        run(database, "CREATE VIRTUAL TABLE another USING bloom(capacity=10); DROP TABLE another");
        sqlite3_finalize(check);
        close_database(database);
    }
}

static void loaded_while_a_statement_runs(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100);"
                  "INSERT INTO seen(key) VALUES (1)");
    sqlite3_stmt *check = kept(database, "SELECT key FROM seen WHERE key IN (1, 2)");
    require(sqlite3_step(check) == SQLITE_ROW, "no row");
    char *error = NULL;
    int code = sqlite3_bloom_init(database, &error, NULL);
    require(code == SQLITE_OK || (error != NULL && strlen(error) > 10),
            "result %d without words: %s", code, error != NULL ? error : "NULL");
    sqlite3_free(error);
    require(sqlite3_column_int(check, 0) == 1, "the row is lost");
    require(sqlite3_step(check) == SQLITE_DONE, "the statement does not end");
    sqlite3_finalize(check);
    require(sqlite3_bloom_init(database, NULL, NULL) == SQLITE_OK, "not loaded afterwards");
    require_number(database, 1, "SELECT count(*) FROM seen(1)");
    close_database(database);
}

/* ---- Memory ---- */

static sqlite3_mem_methods original;
static long countdown; /* allocations until one fails, and all after it when all is set; 0: none */
static bool all, met;
static sqlite3_int64 largest; /* allocation */

static bool allocation_fails(void) {
    if (countdown == 0)
        return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    met = true;
    if (!all)
        countdown = 0;
    return true;
}

static void *failing_malloc(int bytes) {
    largest = bytes > largest ? bytes : largest;
    return allocation_fails() ? NULL : original.xMalloc(bytes);
}

static void *failing_realloc(void *memory, int bytes) {
    largest = bytes > largest ? bytes : largest;
    return allocation_fails() ? NULL : original.xRealloc(memory, bytes);
}

static void count_allocations(void) {
    sqlite3_mem_methods failing;
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &original);
    failing = original;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    sqlite3_initialize();
}

static const unsigned PAGES[] = {512, 4096, 16384, 65536};

/* A transaction that has written, and has read so often that a handle is open. */
static sqlite3 *open_with_handle(unsigned page) {
    sqlite3 *database = open_database(path_of("handle.db"));
    char *sql = sqlite3_mprintf(
        "PRAGMA page_size = %u; PRAGMA synchronous = off;"
        "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
        "INSERT INTO seen(key) " NUMBERS(
            50) "SELECT x FROM n;"
                "BEGIN; INSERT INTO seen(key) VALUES (51);"
                "SELECT count(*) FROM seen WHERE key IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)",
        page);
    run(database, sql);
    sqlite3_free(sql);
    return database;
}

static void no_memory_with_a_handle_open(void) {
    static const char *const NEXT[] = {
        "SAVEPOINT s",
        "COMMIT",
        "INSERT INTO seen(key) VALUES (52)",
        "INSERT INTO seen(key) " NUMBERS(60) "SELECT x + 100 FROM n",
        "INSERT INTO seen(seen) VALUES ('clear')",
        "INSERT INTO seen(seen, key) SELECT 'merge', bloom_agg(77, filter) FROM seen",
        "SELECT count(*) FROM seen WHERE key IN (1, 2, 3, 4, 5, 6, 7)",
        "CREATE TABLE t(x)",
        "ROLLBACK",
        "DROP TABLE seen",
    };
    count_allocations();
    for (unsigned page = 0; page < COUNT_OF(PAGES); page++)
        for (unsigned i = 0; i < COUNT_OF(NEXT); i++)
            for (int from_then_on = 0; from_then_on < 2; from_then_on++)
                for (long n = 1;; n += 1 + n / 100) {
                    sqlite3 *database = open_with_handle(PAGES[page]);
                    met = false;
                    all = from_then_on;
                    countdown = n;
                    int code = try(database, NULL, "%s", NEXT[i]);
                    countdown = 0;
                    require(code == SQLITE_OK || met, "%s: result %d", NEXT[i], code);
                    if (!sqlite3_get_autocommit(database))
                        run(database, "ROLLBACK");
                    if (i != 9 || code != SQLITE_OK)
                        require(number(database, "SELECT count(*) FROM seen(60)") == 0, "found");
                    close_database(database);
                    unlink(path_of("handle.db"));
                    unlink(path_of("handle.db-journal"));
                    if (!met)
                        break;
                }
}

static void hard_heap_limit_with_a_handle_open(void) {
    static const char *const NEXT[] = {"SAVEPOINT s", "COMMIT", "INSERT INTO seen(key) VALUES (52)",
                                       "INSERT INTO seen(seen) VALUES ('clear')"};
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    sqlite3_initialize();
    for (unsigned page = 0; page < COUNT_OF(PAGES); page++)
        for (unsigned i = 0; i < COUNT_OF(NEXT); i++)
            for (int spare = 0; spare < 20000; spare += 400) {
                sqlite3 *database = open_with_handle(PAGES[page]);
                sqlite3_hard_heap_limit64(sqlite3_memory_used() + spare);
                int code = try(database, NULL, "%s", NEXT[i]);
                sqlite3_hard_heap_limit64(0);
                require(code == SQLITE_OK || code == SQLITE_NOMEM, "%s: result %d", NEXT[i], code);
                if (!sqlite3_get_autocommit(database))
                    run(database, "ROLLBACK");
                require_number(database, 1, "SELECT count(*) FROM seen(50)");
                close_database(database);
                unlink(path_of("handle.db"));
                unlink(path_of("handle.db-journal"));
            }
}

/* ---- Authorizers ---- */

struct refusal {
    int action, other_action, answer;
    const char *table; /* NULL: any */
    unsigned times;
};

static int refuses_action(void *argument, int action, const char *a, const char *b, const char *c,
                          const char *d) {
    struct refusal *refusal = argument;
    (void)b, (void)c, (void)d;
    if ((action != refusal->action && action != refusal->other_action) ||
        (refusal->table != NULL && (a == NULL || strcmp(a, refusal->table) != 0)))
        return SQLITE_OK;
    refusal->times++;
    return refusal->answer;
}

static void ignored_pragma(void) {
    for (unsigned page = 0; page < COUNT_OF(PAGES); page++) {
        sqlite3 *database = open_database(":memory:");
        struct refusal refusal = {SQLITE_PRAGMA, SQLITE_PRAGMA, SQLITE_IGNORE, NULL, 0};
        char error[300], sql[60];
        sqlite3_snprintf(sizeof sql, sql, "PRAGMA page_size = %u", PAGES[page]);
        run(database, sql);
        sqlite3_set_authorizer(database, refuses_action, &refusal);
        int code =
            try(database, error, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6)");
        if (code == SQLITE_OK) {
            require_number(database, 1, "SELECT chunk_blocks BETWEEN 1 AND 1024 FROM seen_layers");
            run(database, "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
            require_number(database, 500, FOUND);
            require_counts(database, "main", 500);
        } else {
            require(strstr(error, "page") != NULL, "fails with: %s", error);
        }
        sqlite3_set_authorizer(database, NULL, NULL);
        close_database(database);
    }
}

static void ignored_pragma_while_growing(void) {
    sqlite3 *database = open_database(":memory:");
    struct refusal refusal = {SQLITE_PRAGMA, SQLITE_PRAGMA, SQLITE_IGNORE, NULL, 0};
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6)");
    sqlite3_set_authorizer(database, refuses_action, &refusal);
    int code = try(database, NULL, "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
    sqlite3_set_authorizer(database, NULL, NULL);
    require_number(database, code == SQLITE_OK ? 500 : 0, FOUND);
    require_number(database, 1,
                   "SELECT min(chunk_blocks) >= 1 AND max(chunk_blocks) <= 1024 FROM seen_layers");
    close_database(database);
}

/* What is denied on a shadow table is denied through the table, however its pages are read; counts
 * may be written late, by COMMIT. */
static void denied_shadow_tables(void) {
    static const struct {
        int action, other_action; /* which a change of a row is called, the release may choose */
        const char *table, *sql;
    } DENIED[] = {
        {SQLITE_READ, 0, "seen_chunks",
         "SELECT count(*) FROM seen WHERE key IN (1, 2, 3, 4, 5, 6, 7)"},
        {SQLITE_READ, 0, "seen_chunks", "SELECT 1 FROM seen WHERE key = 1"},
        {SQLITE_READ, 0, "seen_layers", "SELECT 1 FROM seen WHERE key = 1"},
        {SQLITE_READ, 0, "seen_chunks", "SELECT filter FROM seen"},
        {SQLITE_READ, 0, "seen_chunks", "SELECT info FROM seen"},
        {SQLITE_READ, 0, "seen_chunks", "INSERT INTO seen(key) VALUES (51)"},
        {SQLITE_UPDATE, SQLITE_INSERT, "seen_chunks", "INSERT INTO seen(key) VALUES (51)"},
        {SQLITE_UPDATE, SQLITE_INSERT, "seen_layers", "INSERT INTO seen(key) VALUES (51)"},
        {SQLITE_DELETE, 0, "seen_chunks", "INSERT INTO seen(seen) VALUES ('clear')"},
    };
    for (unsigned page = 0; page < COUNT_OF(PAGES); page++)
        for (unsigned i = 0; i < COUNT_OF(DENIED); i++)
            for (int opened = 0; opened < 2; opened++) {
                sqlite3 *database = open_with_handle(PAGES[page]);
                struct refusal refusal = {DENIED[i].action, DENIED[i].other_action, SQLITE_DENY,
                                          DENIED[i].table, 0};
                run(database, "ROLLBACK");
                if (opened)
                    run(database, "BEGIN; INSERT INTO seen(key) VALUES (60);"
                                  "SELECT count(*) FROM seen WHERE key IN (1, 2, 3, 4, 5, 6, 7)");
                sqlite3_int64 ones = ones_in_chunks(database, "main");
                sqlite3_set_authorizer(database, refuses_action, &refusal);
                int code = try(database, NULL, "%s", DENIED[i].sql);
                if (code == SQLITE_OK && i == 7 && opened)
                    code = try(database, NULL, "COMMIT");
                sqlite3_set_authorizer(database, NULL, NULL);
                require(code != SQLITE_OK, "page size %u%s: action %d denied on %s: %s succeeds",
                        PAGES[page], opened ? ", a handle open" : "", DENIED[i].action,
                        DENIED[i].table, DENIED[i].sql);
                if (i == 6)
                    require(ones_in_chunks(database, "main") == ones, "%s: bits are changed",
                            DENIED[i].sql);
                if (!sqlite3_get_autocommit(database))
                    run(database, "ROLLBACK");
                close_database(database);
                unlink(path_of("handle.db"));
            }
}

static long authorizer_calls, authorizer_call_that_is_ignored;

static int ignores_one_call(void *unused, int action, const char *a, const char *b, const char *c,
                            const char *d) {
    (void)unused, (void)b, (void)c, (void)d;
    bool shadow = a != NULL && (strcmp(a, "seen_layers") == 0 || strcmp(a, "seen_chunks") == 0);
    if (!shadow && action != SQLITE_PRAGMA)
        return SQLITE_OK;
    return ++authorizer_calls == authorizer_call_that_is_ignored ? SQLITE_IGNORE : SQLITE_OK;
}

/* Whatever is ignored, and wherever: what was in is in, counts are those of the bits, and what is
 * answered is right or an error. */
static void ignored_shadow_tables(void) {
    static const char *const SQL[] = {
        "SELECT count(*) FROM seen WHERE key IN (1, 2, 3, 4, 5, 6, 7)",
        "INSERT INTO seen(key) VALUES (51)",
        "INSERT INTO seen(key) " NUMBERS(100) "SELECT x + 100 FROM n",
        "INSERT INTO seen(seen, key) SELECT 'merge', bloom_agg(77, filter) FROM seen",
        "SELECT info FROM seen",
        ("BEGIN; INSERT INTO seen(key) VALUES (51); SAVEPOINT s; INSERT INTO seen(key) VALUES (52);"
         "RELEASE s; COMMIT"),
    };
    for (unsigned i = 0; i < COUNT_OF(SQL); i++) {
        unsigned ignored = 0;
        for (authorizer_call_that_is_ignored = 1;; authorizer_call_that_is_ignored++, ignored++) {
            sqlite3 *database = open_database(":memory:");
            run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
                          "INSERT INTO seen(key) " NUMBERS(50) "SELECT x FROM n");
            authorizer_calls = 0;
            sqlite3_set_authorizer(database, ignores_one_call, NULL);
            int code = SQLITE_OK;
            if (i == 0) {
                sqlite3_stmt *statement;
                code = sqlite3_prepare_v2(database, SQL[i], -1, &statement, NULL);
                if (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
                    require(sqlite3_column_int(statement, 0) == 7,
                            "call %ld ignored: %d of 7 keys are found without an error",
                            authorizer_call_that_is_ignored, sqlite3_column_int(statement, 0));
                sqlite3_finalize(statement);
            } else {
                code = try(database, NULL, "%s", SQL[i]);
            }
            sqlite3_set_authorizer(database, NULL, NULL);
            bool last = authorizer_calls < authorizer_call_that_is_ignored;
            if (!sqlite3_get_autocommit(database))
                try(database, NULL, "COMMIT");
            require(number(database, FOUND) >= 50, "%s: call %ld ignored: keys are lost", SQL[i],
                    authorizer_call_that_is_ignored);
            sqlite3_int64 ones = number(database, "SELECT sum(ones) FROM seen_layers");
            require(ones == ones_in_chunks(database, "main"),
                    "%s: call %ld ignored: %lld ones in the layers, %lld in the chunks", SQL[i],
                    authorizer_call_that_is_ignored, (long long)ones,
                    (long long)ones_in_chunks(database, "main"));
            if (code == SQLITE_OK && (i == 1 || i == 5))
                require(number(database, "SELECT count(*) FROM seen(51)") == 1,
                        "%s: call %ld ignored: succeeds, and the key is not in", SQL[i],
                        authorizer_call_that_is_ignored);
            close_database(database);
            if (last)
                break;
        }
        require(ignored > 0, "%s: nothing was asked", SQL[i]);
    }
}

/* ---- Databases from strangers ---- */

/* Bounds the time of what follows: so many operations, in SQLite's counting. */
static int stop(void *unused) {
    (void)unused;
    return 1;
}

/* In place of a shadow table stands something else. */
static void other_shadow_tables(void) {
    static const char ENDLESS[] =
        "WITH RECURSIVE e(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM e) ";
    static const struct {
        const char *name, *sql;
    } INSTEAD[] = {
        {"seen_layers", "CREATE VIEW seen_layers AS %s SELECT 0 AS layer, zeroblob(64) AS header, "
                        "1 AS chunk_blocks, 0 AS keys, 0 AS chunks, 0 AS ones FROM e WHERE i < 0"},
        {"seen_layers", "CREATE VIEW seen_layers AS %s SELECT i AS layer, "
                        "(SELECT header FROM good) AS header, 63 AS chunk_blocks, 0 AS keys, "
                        "0 AS chunks, 0 AS ones FROM e"},
        {"seen_chunks", "CREATE VIEW seen_chunks AS %s SELECT 0 AS id, zeroblob(4032) AS bits FROM "
                        "e WHERE i < 0"},
        {"seen_chunks", "CREATE VIEW seen_chunks AS %s SELECT 0 AS id, zeroblob(4032) AS bits FROM "
                        "e"},
    };
    static const char *const LOOKS[] = {
        "SELECT 1 FROM seen WHERE key = 1",
        "INSERT INTO seen(key) VALUES ('new')",
        "SELECT info FROM seen",
        "SELECT filter FROM seen",
        "INSERT INTO seen(seen) VALUES ('clear')",
    };
    for (unsigned i = 0; i < COUNT_OF(INSTEAD); i++)
        for (unsigned j = 0; j < COUNT_OF(LOOKS); j++) {
            sqlite3 *database = open_database(path_of("stranger.db"));
            run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
                          "INSERT INTO seen(key) " NUMBERS(
                              50) "SELECT x FROM n;"
                                  "CREATE TABLE good AS SELECT * FROM seen_layers");
            char *sql = sqlite3_mprintf("DROP TABLE %s", INSTEAD[i].name);
            run(database, sql);
            sqlite3_free(sql);
            sql = sqlite3_mprintf(INSTEAD[i].sql, ENDLESS);
            run(database, sql);
            sqlite3_free(sql);
            for (int again = 0; again < 2; again++) {
                sqlite3_progress_handler(database, 1000000, stop, NULL);
                char error[300];
                int code = try(database, error, "%s", LOOKS[j]);
                sqlite3_progress_handler(database, 0, NULL, NULL);
                require(code != SQLITE_OK && code != SQLITE_INTERRUPT && code != SQLITE_FULL,
                        "%s as a view (%u): %s: result %d (%s)", INSTEAD[i].name, i, LOOKS[j], code,
                        error);
                close_database(database);
                database = open_database(path_of("stranger.db"));
            }
            close_database(database);
            unlink(path_of("stranger.db"));
        }
}

static void huge_chunk(void) {
    static const char *const CHUNKS[] = {
        "CREATE TABLE seen_chunks(id INTEGER PRIMARY KEY, bits AS (zeroblob(999999999)))",
        "CREATE TABLE seen_chunks(id INTEGER PRIMARY KEY, x, bits AS (zeroblob(999999999 + x)))",
        "CREATE VIEW seen_chunks AS SELECT 0 AS id, zeroblob(999999999) AS bits",
    };
    static const char *const LOOKS[] = {
        "SELECT 1 FROM seen WHERE key = 1",
        "INSERT INTO seen(key) VALUES ('new')",
        "SELECT info FROM seen",
        "SELECT filter FROM seen",
        "INSERT INTO seen(seen, key) VALUES ('merge', bloom_agg(1, 100, 9e-7))",
    };
    count_allocations();
    for (unsigned i = 0; i < COUNT_OF(CHUNKS); i++)
        for (unsigned j = 0; j < COUNT_OF(LOOKS); j++) {
            sqlite3 *database = open_database(":memory:");
            char error[300];
            run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
                          "UPDATE seen_layers SET chunks = 1; DROP TABLE seen_chunks");
            run(database, CHUNKS[i]);
            if (i < 2)
                run(database, "INSERT INTO seen_chunks(id) VALUES (0)");
            largest = 0;
            int code = try(database, error, "%s", LOOKS[j]);
            require(largest < 50000000, "%s: %s: allocates %lld bytes", CHUNKS[i], LOOKS[j],
                    (long long)largest);
            require(code != SQLITE_OK, "%s: %s: no error", CHUNKS[i], LOOKS[j]);
            close_database(database);
        }
}

static void other_primary_keys(void) {
    static const char *const TABLES[] = {
        "seen_chunks(id INTEGER, x, bits BLOB NOT NULL, PRIMARY KEY(id, x))",
        "seen_chunks(x, id INTEGER, bits BLOB NOT NULL, PRIMARY KEY(x, id))",
        "seen_chunks(id INTEGER, bits BLOB NOT NULL)",
        "seen_chunks(id INTEGER PRIMARY KEY DESC, bits BLOB NOT NULL)",
        "seen_chunks(id INT PRIMARY KEY, bits BLOB NOT NULL)",
        "seen_chunks(id INTEGER PRIMARY KEY, bits BLOB NOT NULL) WITHOUT ROWID",
    };
    for (unsigned page = 0; page < COUNT_OF(PAGES); page++)
        for (unsigned i = 0; i < COUNT_OF(TABLES); i++) {
            sqlite3 *database = open_database(path_of("keys.db"));
            char *sql = sqlite3_mprintf(
                "PRAGMA page_size = %u; CREATE VIRTUAL TABLE seen USING bloom(capacity=300000);"
                "INSERT INTO seen(key) " NUMBERS(
                    2000) "SELECT x FROM n;"
                          "CREATE TABLE copy AS SELECT * FROM seen_chunks ORDER BY id DESC;"
                          "DROP TABLE seen_chunks; CREATE TABLE %s;"
                          "INSERT INTO seen_chunks(id, bits) SELECT id, bits FROM copy ORDER BY id "
                          "DESC",
                PAGES[page], TABLES[i]);
            if (strncmp(TABLES[i], "seen_chunks(x", 13) != 0 && strstr(TABLES[i], ", x,") == NULL)
                run(database, sql);
            else
                try(database, NULL, "%s", sql);
            sqlite3_free(sql);
            close_database(database);
            database = open_database(path_of("keys.db"));
            sqlite3_stmt *statement = kept(database, FOUND);
            bool answered = sqlite3_step(statement) == SQLITE_ROW;
            int found = answered ? sqlite3_column_int(statement, 0) : 0;
            int code = sqlite3_finalize(statement);
            require(code != SQLITE_OK || found == 500, "%s: %d of 500 keys found without an error",
                    TABLES[i], found);
            code = try(database, NULL, "INSERT INTO seen(key) VALUES ('new')");
            if (code == SQLITE_OK)
                require(number(database, "SELECT count(*) FROM seen('new')") == 1,
                        "%s: an added key is not in", TABLES[i]);
            close_database(database);
            unlink(path_of("keys.db"));
        }
}

/* A constraint that a shadow table breaks is no key that was in already, which is what SQLite takes
 * SQLITE_CONSTRAINT for under OR IGNORE. */
static void constraints_on_shadow_tables(void) {
    static const char *const OBSTACLES[] = {
        "CREATE UNIQUE INDEX i ON seen_chunks(length(bits))",
        ("CREATE TRIGGER t BEFORE INSERT ON seen_chunks "
         "BEGIN SELECT RAISE(ABORT, 'no'); END"),
        "CREATE TRIGGER t BEFORE INSERT ON seen_chunks BEGIN SELECT RAISE(FAIL, 'no'); END",
        "CREATE TRIGGER t BEFORE INSERT ON seen_chunks BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t BEFORE UPDATE ON seen_chunks BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t BEFORE UPDATE ON seen_layers BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t BEFORE UPDATE ON seen_layers BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE UNIQUE INDEX i ON seen_layers(chunk_blocks)",
    };
    static const char *const INSERTS[] = {"INSERT OR IGNORE INTO seen(key) VALUES (%d)",
                                          "INSERT INTO seen(key) VALUES (%d)",
                                          "REPLACE INTO seen(key) VALUES (%d)"};
    for (unsigned i = 0; i < COUNT_OF(OBSTACLES); i++)
        for (unsigned j = 0; j < COUNT_OF(INSERTS); j++)
            for (int together = 0; together < 2; together++) {
                sqlite3 *database = open_database(":memory:");
                char sql[100];
                run(database, "PRAGMA page_size = 512;"
                              "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=1e-6);"
                              "INSERT INTO seen(key) VALUES (1)");
                run(database, OBSTACLES[i]);
                if (together)
                    run(database, "BEGIN");
                for (int key = 2; key < 1500; key++) {
                    int code = try(database, NULL, INSERTS[j], key);
                    sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM seen(%d)", key);
                    if (code == SQLITE_OK)
                        require(number(database, sql) == 1, "%s: key %d is added and not in",
                                OBSTACLES[i], key);
                    if (together && sqlite3_get_autocommit(database))
                        break;
                }
                if (!sqlite3_get_autocommit(database) &&
                    try(database, NULL, "COMMIT") != SQLITE_OK && !sqlite3_get_autocommit(database))
                    run(database, "ROLLBACK");
                require_number(database, ones_in_chunks(database, "main"),
                               "SELECT sum(ones) FROM seen_layers");
                close_database(database);
            }
}

/* Tables that clear one another by triggers on their shadow tables: nothing that the extension runs
 * may use a virtual table, or a chain of 12000 would use up the stack. */
static void triggers_on_shadow_tables(void) {
    static const char *const TRIGGERS[] = {
        "AFTER DELETE ON seen_chunks BEGIN INSERT INTO other(other) VALUES ('clear'); END",
        "AFTER DELETE ON seen_layers BEGIN INSERT INTO other(other) VALUES ('clear'); END",
        ("BEFORE DELETE ON seen_chunks WHEN EXISTS (SELECT 1 FROM other('kept')) "
         "BEGIN INSERT INTO other(other) VALUES ('clear'); END"),
    };
    for (unsigned i = 0; i < COUNT_OF(TRIGGERS); i++) {
        sqlite3 *database = open_database(":memory:");
        run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
                      "CREATE VIRTUAL TABLE other USING bloom(capacity=100, fpr=1e-6);"
                      "INSERT INTO other(key) VALUES ('kept');"
                      "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n");
        char *sql = sqlite3_mprintf("CREATE TRIGGER t %s", TRIGGERS[i]);
        run(database, sql);
        int code = try(database, NULL, "INSERT INTO seen(seen) VALUES ('clear')");
        require(code != SQLITE_OK, "%s: clear runs a virtual table", TRIGGERS[i]);
        require_number(database, 1, "SELECT count(*) FROM other('kept')");
        require_number(database, 500, FOUND);
        sqlite3_free(sql);
        close_database(database);
    }
}

/* ---- */

#define APART(name)                                                                                \
    static void name##_apart(void **state) {                                                       \
        run_apart(state, name);                                                                    \
    }
APART(layers_deleted_and_rolled_back)
APART(layers_deleted_after_an_insert)
APART(rows_written_and_rolled_back)
APART(changeset_rolled_back)
APART(uncommitted_rows_seen)
APART(other_file_attached)
APART(other_file_deserialized)
APART(dropped_in_a_savepoint)
APART(renamed_in_a_savepoint)
APART(failed_savepoints_are_harmless)
APART(failure_of_another_table_is_harmless)
APART(late_interrupt_is_harmless)
APART(locked_shadow_table_is_harmless)
APART(merges_keep_the_rate)
APART(wrong_chunk_size_is_noticed)
APART(integrity_check_compares_bits_with_counts)
APART(capacity_is_exact)
APART(first_layer_is_what_is_promised)
APART(growth_may_be_an_error)
APART(options_may_be_quoted)
APART(options_call_nothing)
APART(loaded_again)
APART(loaded_while_a_statement_runs)
APART(no_memory_with_a_handle_open)
APART(hard_heap_limit_with_a_handle_open)
APART(ignored_pragma)
APART(ignored_pragma_while_growing)
APART(denied_shadow_tables)
APART(ignored_shadow_tables)
APART(other_shadow_tables)
APART(huge_chunk)
APART(other_primary_keys)
APART(constraints_on_shadow_tables)
APART(triggers_on_shadow_tables)

static void integrity(void **state) {
    if (sqlite3_libversion_number() < 3044000)
        skip();
    integrity_check_compares_bits_with_counts_apart(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Layers that were gone for the time of a transaction are there again",
             layers_deleted_and_rolled_back_apart),
        TEST("The same after an insert, whose counts are kept",
             layers_deleted_after_an_insert_apart),
        TEST("Rows that were there for the time of a transaction are gone again",
             rows_written_and_rolled_back_apart),
        TEST("A changeset that is applied and rolled back leaves nothing",
             changeset_rolled_back_apart),
        TEST("What was read uncommitted in a shared cache is not believed later",
             uncommitted_rows_seen_apart),
        TEST("Another file under the same name is another table, for kept statements too",
             other_file_attached_apart),
        TEST("Another content by sqlite3_deserialize is another table",
             other_file_deserialized_apart),
        TEST("A table dropped in a savepoint that is rolled back keeps no undone counts",
             dropped_in_a_savepoint_apart),
        TEST("So does one that was renamed", renamed_in_a_savepoint_apart),
        TEST("A statement or savepoint that fails loses no counts of those before it",
             failed_savepoints_are_harmless_apart),
        TEST("Nor those of another table", failure_of_another_table_is_harmless_apart),
        TEST("An interrupt that comes late counts nothing twice", late_interrupt_is_harmless_apart),
        TEST("Nor does one that a lock in a shared cache refuses",
             locked_shadow_table_is_harmless_apart),
        TEST("A merge that takes a layer beyond its rate is refused and names the rate",
             merges_keep_the_rate_apart),
        TEST("A wrong chunk size is noticed by any look", wrong_chunk_size_is_noticed_apart),
        TEST("integrity_check compares bits with counts", integrity),
        TEST("A table given exactly its capacity has not grown", capacity_is_exact_apart),
        TEST("The first layer has the shape that is promised",
             first_layer_is_what_is_promised_apart),
        TEST("With growth=error the key too many is refused", growth_may_be_an_error_apart),
        TEST("Options may be quoted", options_may_be_quoted_apart),
        TEST("Options are literals and call nothing", options_call_nothing_apart),
        TEST("The extension may be loaded again with tables open", loaded_again_apart),
        TEST("The extension may be loaded while a statement runs, or says why not",
             loaded_while_a_statement_runs_apart),
        TEST("No memory while a handle is open: nothing is closed twice",
             no_memory_with_a_handle_open_apart),
        TEST("A hard heap limit while a handle is open", hard_heap_limit_with_a_handle_open_apart),
        TEST("An authorizer that ignores PRAGMA makes no chunks without size",
             ignored_pragma_apart),
        TEST("Nor when the table grows", ignored_pragma_while_growing_apart),
        TEST("What is denied on a shadow table is denied through the table",
             denied_shadow_tables_apart),
        TEST("What is ignored on a shadow table loses no key and no count",
             ignored_shadow_tables_apart),
        TEST("Endless views in place of shadow tables are an error at once",
             other_shadow_tables_apart),
        TEST("A huge chunk is refused by its length", huge_chunk_apart),
        TEST("Shadow tables of other primary keys lose no key", other_primary_keys_apart),
        TEST("A broken constraint of a shadow table is no known key",
             constraints_on_shadow_tables_apart),
        TEST("Triggers on shadow tables reach no other table", triggers_on_shadow_tables_apart),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
