/* What the application around a table may do: load the extension again, run out of memory while a
 * handle is open, and answer the authorizer's questions as it likes.
 */
#include "hostile.h"

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

/* What is denied on a shadow table is denied through the table, however its pages are read. So many
 * keys are inserted that a chunk reports. */
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
        {SQLITE_UPDATE, SQLITE_INSERT, "seen_layers",
         "INSERT INTO seen(key) " NUMBERS(100) "SELECT x + 100 FROM n"},
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
                sqlite3_int64 ones = sum_chunks(database, "main").set;
                sqlite3_set_authorizer(database, refuses_action, &refusal);
                int code = try(database, NULL, "%s", DENIED[i].sql);
                sqlite3_set_authorizer(database, NULL, NULL);
                require(code != SQLITE_OK, "page size %u%s: action %d denied on %s: %s succeeds",
                        PAGES[page], opened ? ", a handle open" : "", DENIED[i].action,
                        DENIED[i].table, DENIED[i].sql);
                if (i == 6)
                    require(sum_chunks(database, "main").set == ones, "%s: bits are changed",
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
 * answered is right or an error; and once nobody is asked any more, all goes well. */
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
            require_sums(database, "main");
            if (code == SQLITE_OK && (i == 1 || i == 5))
                require(number(database, "SELECT count(*) FROM seen(51)") == 1,
                        "%s: call %ld ignored: succeeds, and the key is not in", SQL[i],
                        authorizer_call_that_is_ignored);
            run(database, "INSERT INTO seen(key) " NUMBERS(100) "SELECT x + 300 FROM n");
            close_database(database);
            if (last)
                break;
        }
        require(ignored > 0, "%s: nothing was asked", SQL[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        APART("The extension may be loaded again with tables open", loaded_again),
        APART("The extension may be loaded while a statement runs, or says why not",
              loaded_while_a_statement_runs),
        APART("No memory while a handle is open: nothing is closed twice",
              no_memory_with_a_handle_open),
        APART("An authorizer that ignores PRAGMA makes no chunks without size", ignored_pragma),
        APART("Nor when the table grows", ignored_pragma_while_growing),
        APART("What is denied on a shadow table is denied through the table", denied_shadow_tables),
        APART("What is ignored on a shadow table loses no key and no count", ignored_shadow_tables),
    };
    return cmocka_run_group_tests_name("application", tests, NULL, NULL);
}
