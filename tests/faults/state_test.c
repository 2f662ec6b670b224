/* A table's state is the database's: what other statements, connections, changesets, rollbacks and
 * failures do to the rows of a filter table is what it answers and counts next.
 */
#include "hostile.h"

static const char FIVE_HUNDRED[] = "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
                                   "INSERT INTO seen(key) " NUMBERS(500) "SELECT x FROM n";

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
    run(database,
        "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6); BEGIN;"
        "UPDATE seen_layers SET chunks = 1, keys = 1, ones = 1;"
        "INSERT INTO seen_chunks SELECT 0, zeroblob(24 + 64 * chunk_blocks) FROM seen_layers");
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
                             "CREATE VIRTUAL TABLE other USING bloom(capacity=100, fpr=1e-6);"
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
        /* A savepoint needs nothing of the shadow tables. */
        require((code == SQLITE_OK) == (i == 1), "%s: result %d", FAILS[i], code);
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

/* Keys of one transaction that are fewer than a report is due for. */
static const char NINE_KEYS[] = "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
                                "BEGIN; INSERT INTO seen(key) " NUMBERS(9) "SELECT x FROM n";

/* SQLite tells the tables of the end of the transaction, and then does not end it. */
static void busy_close_loses_no_counts(void) {
    sqlite3 *database = open_database(path_of("busy.db"));
    run(database, NINE_KEYS);
    sqlite3_stmt *open = kept(database, "SELECT 1 UNION ALL SELECT 2");
    require(sqlite3_step(open) == SQLITE_ROW, "no row");
    require(sqlite3_close(database) == SQLITE_BUSY, "the connection is closed");
    run(database, "INSERT INTO seen(key) VALUES (10)");
    require_counts(database, "main", 10);
    sqlite3_finalize(open);
    run(database, "COMMIT");
    close_database(database);
    database = open_database(path_of("busy.db"));
    require_counts(database, "main", 10);
    require_number(database, 10, FOUND);
    close_database(database);
}

/* sqlite3_serialize copies what is not committed yet, without a word to the tables. */
static void copy_amid_a_transaction_has_the_counts(void) {
    sqlite3 *from = open_database(":memory:"), *to = open_database(":memory:");
    sqlite3_int64 size = 0;
    run(from, NINE_KEYS);
    unsigned char *bytes = sqlite3_serialize(from, "main", &size, 0);
    require(bytes != NULL, "nothing is serialized");
    int code = sqlite3_deserialize(to, "main", bytes, size, size,
                                   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    require(code == SQLITE_OK, "%s", sqlite3_errmsg(to));
    require_counts(to, "main", 9);
    run(to, "INSERT INTO seen(key) " NUMBERS(100) "SELECT x FROM n");
    require_counts(to, "main", 100);
    require_number(to, 1, "SELECT count(*) FROM seen_layers");
    run(from, "COMMIT");
    require_counts(from, "main", 9);
    close_database(from);
    close_database(to);
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

/* SQLite ends the transaction of a failed statement before it tells the tables: what a table still
 * reads then keeps the lock, which nobody lets go of before the connection's next statement. */
static void failed_statement_leaves_no_lock(void) {
    static const char NUMBER_TABLE[] =
        "CREATE TABLE n(x INTEGER PRIMARY KEY); INSERT INTO n " NUMBERS(500) "SELECT x FROM n";
    static const char SET_UP[] =
        "CREATE VIEW failing AS"
        "    SELECT CASE WHEN x < 9 THEN x ELSE abs(-9223372036854775807 - 1) END AS x FROM n;"
        "CREATE TABLE visits(x UNIQUE);"
        "CREATE TRIGGER visit AFTER INSERT ON visits BEGIN"
        "    INSERT OR IGNORE INTO seen(key) VALUES (new.x); END;"
        "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-6);"
        "CREATE VIRTUAL TABLE live USING bloom(capacity=500, fpr=1e-6, layout=counting);"
        "INSERT INTO seen(key) SELECT x FROM n; INSERT INTO live(key) SELECT x FROM n";
    static const char *const FAILING[] = {
        "DELETE FROM seen WHERE key = 1",
        "INSERT INTO seen(key) SELECT x FROM failing",
        "INSERT OR IGNORE INTO live(key) SELECT x FROM failing",
        "DELETE FROM live WHERE key IN (SELECT x FROM failing)",
        "INSERT INTO visits SELECT x FROM n UNION ALL SELECT 1",
        "BEGIN; INSERT INTO seen(key) VALUES (501); SELECT count(*) FROM seen(3);"
        "INSERT OR ROLLBACK INTO visits VALUES (1), (1)",
        "BEGIN; DELETE FROM live WHERE key = 1; DELETE FROM live WHERE key = 2;"
        "SELECT count(*) FROM live(3); INSERT OR ROLLBACK INTO visits VALUES (1), (1)",
        "BEGIN; INSERT OR IGNORE INTO seen(key) SELECT x FROM n;"
        "INSERT OR ROLLBACK INTO visits VALUES (1), (1)"};
    for (unsigned i = 0; i < COUNT_OF(PAGES); i++) {
        char name[20];
        sqlite3_snprintf(sizeof name, name, "%u.db", PAGES[i]);
        const char *path = path_of(name);
        sqlite3 *database = open_database(path), *other = open_database(path);
        require(try(database, NULL, "PRAGMA page_size = %u", PAGES[i]) == SQLITE_OK, "%s",
                sqlite3_errmsg(database));
        run(database, NUMBER_TABLE);
        run(database, SET_UP);
        for (unsigned j = 0; j < COUNT_OF(FAILING); j++) {
            require(try(database, NULL, "%s", FAILING[j]) != SQLITE_OK, "%s: succeeds", FAILING[j]);
            require(sqlite3_get_autocommit(database), "%s: the transaction goes on", FAILING[j]);
            int code = try(other, NULL, "UPDATE visits SET x = x");
            require(code == SQLITE_OK, "pages of %u bytes, after %s: another connection gets %s",
                    PAGES[i], FAILING[j], sqlite3_errmsg(other));
        }
        require_counts(database, "main", 500);
        close_database(other);
        close_database(database);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        APART("Layers that were gone for the time of a transaction are there again",
              layers_deleted_and_rolled_back),
        APART("The same after an insert, whose counts are kept", layers_deleted_after_an_insert),
        APART("Rows that were there for the time of a transaction are gone again",
              rows_written_and_rolled_back),
        APART("A changeset that is applied and rolled back leaves nothing", changeset_rolled_back),
        APART("What was read uncommitted in a shared cache is not believed later",
              uncommitted_rows_seen),
        APART("Another file under the same name is another table, for kept statements too",
              other_file_attached),
        APART("Another content by sqlite3_deserialize is another table", other_file_deserialized),
        APART("A table dropped in a savepoint that is rolled back keeps no undone counts",
              dropped_in_a_savepoint),
        APART("So does one that was renamed", renamed_in_a_savepoint),
        APART("A statement or savepoint that fails loses no counts of those before it",
              failed_savepoints_are_harmless),
        APART("Nor those of another table", failure_of_another_table_is_harmless),
        APART("A close that is busy loses no counts of the transaction",
              busy_close_loses_no_counts),
        APART("A copy of a database amid a transaction has the counts of its bits",
              copy_amid_a_transaction_has_the_counts),
        APART("An interrupt that comes late counts nothing twice", late_interrupt_is_harmless),
        APART("Nor does one that a lock in a shared cache refuses",
              locked_shadow_table_is_harmless),
        APART("A statement that fails leaves no lock behind", failed_statement_leaves_no_lock),
    };
    return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
