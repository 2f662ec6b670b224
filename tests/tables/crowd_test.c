/* That the work on a filter table does not depend on how many others the connection has. What is
 * counted is the same in every run: basic blocks of ext/, which is compiled to call us in each;
 * opcodes of all statements; and pages that SQLite looks at. Beside one other and beside 500 all
 * three must be equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>

#include "sqlite-bloom.h"

enum { OTHERS = 500, KEYS = 100 };

struct work {
    uint64_t blocks, opcodes;
    int pages;
};

static struct work work;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    work.blocks++;
}

static int count_opcode(void *unused) {
    (void)unused;
    work.opcodes++;
    return 0;
}

static void run(sqlite3 *database, const char *sql) {
    char *message = NULL;
    int code = sqlite3_exec(database, sql, NULL, NULL, &message);
    if (code != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static void run_for_each(sqlite3 *database, unsigned others, const char *format) {
    for (unsigned i = 0; i < others; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, format, i);
        run(database, sql);
    }
}

static int pages_looked_at(sqlite3 *database) {
    int hits, misses, highest;
    sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_HIT, &hits, &highest, 0);
    sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, 0);
    return hits + misses;
}

/* The work of the statement for all keys, after one that is not counted. */
static struct work count_work(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    struct work before = work;
    int pages = 0;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    for (int key = 0; key <= KEYS; key++) {
        if (key == 1) {
            sqlite3_progress_handler(database, 1, count_opcode, NULL);
            before = work;
            pages = pages_looked_at(database);
        }
        sqlite3_bind_int(statement, 1, key);
        while (sqlite3_step(statement) == SQLITE_ROW)
            continue;
        if (sqlite3_reset(statement) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    }
    struct work done = {work.blocks - before.blocks, work.opcodes - before.opcodes,
                        pages_looked_at(database) - pages};
    sqlite3_progress_handler(database, 0, NULL, NULL);
    sqlite3_finalize(statement);
    return done;
}

/* Beside others, each of which was asked, and in a transaction written. */
static struct work work_beside(unsigned others, const char *sql, bool in_transaction) {
    sqlite3 *database;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_bloom_init(database, NULL, NULL) != SQLITE_OK)
        fail_msg("no database");
    run(database, "CREATE VIRTUAL TABLE seen USING bloom(capacity=10000);"
                  "INSERT INTO seen(key) WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL "
                  "SELECT x + 1 FROM n WHERE x < 1000) SELECT 2 * x FROM n;"
                  "BEGIN");
    run_for_each(database, others, "CREATE VIRTUAL TABLE other%u USING bloom");
    run(database, "COMMIT");
    run_for_each(database, others, "SELECT 1 FROM other%u(1)");
    if (in_transaction)
        run(database, "BEGIN; INSERT INTO seen(key) VALUES (0)");
    run_for_each(database, in_transaction ? others : 0, "INSERT INTO other%u(key) VALUES (1)");
    struct work done = count_work(database, sql);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    return done;
}

static void compare(const char *sql, bool in_transaction) {
    struct work few = work_beside(1, sql, in_transaction);
    struct work many = work_beside(OTHERS, sql, in_transaction);
    assert_true(few.blocks > KEYS && few.opcodes > KEYS && few.pages > KEYS);
    if (few.blocks != many.blocks || few.opcodes != many.opcodes || few.pages != many.pages)
        fail_msg("%s%s: beside one other %llu basic blocks, %llu opcodes and %d pages, beside %d "
                 "%llu, %llu and %d",
                 sql, in_transaction ? " in a transaction" : "", (unsigned long long)few.blocks,
                 (unsigned long long)few.opcodes, few.pages, OTHERS,
                 (unsigned long long)many.blocks, (unsigned long long)many.opcodes, many.pages);
}

static const char CHECK[] = "SELECT 1 FROM seen WHERE key = ?1";
static const char INSERT[] = "INSERT OR IGNORE INTO seen(key) VALUES (?1)";

static void check(void **state) {
    (void)state;
    compare(CHECK, false);
    compare(CHECK, true);
}

static void join(void **state) {
    (void)state;
    compare("SELECT count(*) FROM (VALUES (?1), (1), (2), (3)) AS v CROSS JOIN seen "
            "ON seen.key = v.column1",
            false);
}

static void insert(void **state) {
    (void)state;
    compare(INSERT, false);
    compare(INSERT, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        {"A check does not depend on other filter tables", check, NULL, NULL, NULL},
        {"Nor does a join", join, NULL, NULL, NULL},
        {"Nor does an insert", insert, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("other filter tables", tests, NULL, NULL);
}
