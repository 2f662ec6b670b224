/* The statements of sequences_test.c: what each does to a filter table and to its oracle. */
#ifndef SEQUENCES_STATEMENTS_H
#define SEQUENCES_STATEMENTS_H

#include "sequences_world.h"

struct statement {
    const char *name;
    unsigned needs; /* what must hold, so that it makes sense; and flags */
    bool (*run)(const struct statement *statement); /* false: nothing more comes after it */
    const char *sql, *oracle;                       /* what it does to the two tables */
    int keys;                                       /* new ones in it */
};

/* By a statement that stays prepared. */
static int execute_prepared(const char *pattern) {
    sqlite3_stmt **insert = &run.inserts[run.current];
    char *sql = expand(pattern);
    int code = SQLITE_OK;
    if (*insert == NULL)
        code = sqlite3_prepare_v2(run.database, sql, -1, insert, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int(*insert, 1, run.next);
        sqlite3_step(*insert);
        code = sqlite3_reset(*insert);
    }
    trace(run.database, sql, code, NULL);
    sqlite3_free(sql);
    return code;
}

/* Runs a statement on both tables. The results must be the same. The filter table comes last,
 * because a savepoint, which a statement on the oracle may begin, has what waits in memory written.
 * Only what defines tables comes first, because the oracle does not lock them. */
static bool run_in(sqlite3 *database, const struct statement *statement) {
    const bool defines = (statement->needs & DEFINES) != 0;
    const bool must_fail = (statement->needs & FAILS) != 0;
    const bool is_idle = (state() & IDLE) != 0;
    int oracle = defines ? SQLITE_OK : execute(database, statement->oracle);
    const int oracle_changes = sqlite3_changes(database);
    const int code = strchr(statement->sql, '?') != NULL ? execute_prepared(statement->sql)
                                                         : execute(database, statement->sql);
    const int changes = sqlite3_changes(database);
    if (kind == SHARED && (code == SQLITE_LOCKED || oracle == SQLITE_LOCKED))
        return false; /* the locks of a shared cache are of tables */
    if (defines && is_kept_out(code)) {
        if (run.cursor == NULL && is_idle && /* else every table would be locked, */
            !is_kept_out(execute(database, statement->oracle))) /* as it is by an old snapshot */
            violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(database));
        return is_idle;
    }
    if (defines)
        oracle = execute(database, statement->oracle);
    if (kind == SHARED && oracle == SQLITE_LOCKED)
        return false;
    if (code != oracle)
        violate("%s: result %d, the oracle's %d", statement->name, code, oracle);
    else if (code == SQLITE_OK && (statement->needs & COUNTS) != 0 && changes != oracle_changes)
        violate("%s: %d changes, in the oracle %d", statement->name, changes, oracle_changes);
    if (must_fail && code == SQLITE_OK)
        violate("%s: no error", statement->name);
    run.next += statement->keys;
    return code == SQLITE_OK || (must_fail && !is_kept_out(code));
}

static bool run_both(const struct statement *statement) {
    return run_in(run.database, statement);
}

/* Transactions: only another connection that is in one may keep it from going on. */
static bool succeeds(const struct statement *statement) {
    const int code = execute(run.database, statement->sql);
    if (code != SQLITE_OK && !(is_kept_out(code) && (state() & IDLE) == 0))
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(run.database));
    return code == SQLITE_OK;
}

static bool run_transaction(const struct statement *statement) {
    succeeds(statement);
    return true;
}

static bool run_savepoint(const struct statement *statement) {
    run.savepoints += succeeds(statement);
    return true;
}

static bool run_release(const struct statement *statement) {
    run.savepoints -= succeeds(statement);
    return true;
}

static bool run_to_first(const struct statement *statement) {
    if (succeeds(statement))
        run.savepoints = 1;
    return true;
}

/* Statements that make a table have a place for its options. */
static struct statement with_options(const struct statement *statement) {
    static char sql[300], oracle[300];
    const int which = run.made++ % 2;
    char *options = sqlite3_mprintf(SORT[sort].options, SORT[sort].capacities[which]);
    sqlite3_snprintf(sizeof sql, sql, statement->sql, options);
    sqlite3_snprintf(sizeof oracle, oracle, statement->oracle, which);
    sqlite3_free(options);
    struct statement made = *statement;
    made.sql = sql;
    made.oracle = oracle;
    return made;
}

static bool run_create(const struct statement *statement) {
    const struct statement made = with_options(statement);
    run.current = run.has[0] ? 1 : 0;
    return run_both(&made);
}

/* With the options of the table that was made before. */
static bool run_create_equal(const struct statement *statement) {
    run.made++;
    return run_create(statement);
}

static bool run_switch(const struct statement *statement) {
    (void)statement;
    run.current = !run.current;
    return true;
}

/* Checks every key by a statement of its own. */
static bool run_ask(const struct statement *statement) {
    for (int key = 1; key <= run.next && run.violation == NULL; key++) {
        char sql[100], oracle[100];
        sqlite3_snprintf(sizeof sql, sql, statement->sql, key);
        sqlite3_snprintf(sizeof oracle, oracle, statement->oracle, key);
        const int found = number(run.database, sql), expected = number(run.database, oracle);
        if (found != expected && !is_held(key))
            violate("ASK: key %d is found %d times, in the oracle %d", key, found, expected);
    }
    return true;
}

static bool run_join(const struct statement *statement) {
    check(run.database, statement->name);
    return true;
}

static bool run_info(const struct statement *statement) {
    check_count(run.database, statement->name);
    check_integrity(run.database, statement->name);
    return true;
}

/* A cursor stays open until the next time. */
static bool run_cursor(const struct statement *statement) {
    if (run.cursor != NULL) {
        read_cursor();
        return true;
    }
    run.cursor_last = run.next + 9;
    char *sql = sqlite3_mprintf(statement->sql, keys_until(run.cursor_last + 1));
    const int code = ask(run.database, &run.cursor, sql);
    sqlite3_free(sql);
    run.cursor_options = run.options[run.current];
    run.cursor_disturbed = false;
    run.cursor_key = code == SQLITE_ROW ? sqlite3_column_int(run.cursor, 0) : 0;
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE && !is_kept_out(code))
        violate("CURSOR: result %d (%s)", code, sqlite3_errmsg(run.database));
    sqlite3_finalize(run.cursor);
    run.cursor = NULL;
    return false;
}

/* Another connection, which sees the table, */
static bool begin_other(const char *sql) {
    if (run.other == NULL)
        run.other = open_again();
    return number(run.other, "SELECT count(*) FROM !.made WHERE name = '~'") == 1 &&
           execute(run.other, sql) == SQLITE_OK;
}

/* writes and commits, */
static bool run_other(const struct statement *statement) {
    if (!begin_other("BEGIN IMMEDIATE"))
        return false;
    const bool goes_on = run_in(run.other, statement);
    if (goes_on && execute(run.other, "COMMIT") == SQLITE_OK)
        return true;
    execute(run.other, "ROLLBACK");
    return false;
}

/* or makes the table again, */
static bool run_remake(const struct statement *statement) {
    const struct statement made = with_options(statement);
    return run_other(&made);
}

/* or does not commit until the next time, */
static bool run_hold(const struct statement *statement) {
    if (run.other_writes) {
        run.other_writes = execute(run.other, "COMMIT") != SQLITE_OK;
        return !run.other_writes;
    }
    if (run.other_reads || !begin_other("BEGIN IMMEDIATE"))
        return false;
    run.other_writes = true;
    run.held_key = run.next;
    return run_in(run.other, statement);
}

/* or keeps a snapshot until then. */
static bool run_reader(const struct statement *statement) {
    if (run.other_reads) {
        check(run.other, statement->name);
        execute(run.other, "COMMIT");
        run.other_reads = false;
        return true;
    }
    if (run.other_writes || !begin_other("BEGIN"))
        return false;
    run.other_reads = true;
    return number(run.other, "SELECT count(*) FROM @ WHERE key = 1") >= 0;
}

/* Nothing can be seen of it, whether it succeeds or, with FAILS, fails. */
static bool run_plainly(const struct statement *statement) {
    const bool fails = execute(run.database, statement->sql) != SQLITE_OK;
    return fails == ((statement->needs & FAILS) != 0);
}

/* A statement that is hindered succeeds, or fails with that result and leaves nothing. */
static bool judge(const struct statement *statement, int code, int expected) {
    if (code != SQLITE_OK && code != expected && !is_kept_out(code) && code != SQLITE_READONLY)
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(run.database));
    if (code == SQLITE_OK && execute(run.database, statement->oracle) != SQLITE_OK)
        violate("%s: the oracle fails", statement->name);
    run.next += statement->keys;
    return !is_kept_out(code);
}

/* A function rolls back amid the statement. If that was only to a savepoint, the oracle has the
 * rows after it. */
static bool run_rolled_back(const struct statement *statement) {
    const int code = execute(run.database, statement->sql);
    /* If the table is gone, another object of it may be the first to find no rows. */
    const bool is_gone = number(run.database, "SELECT count(*) FROM !.made WHERE name = '~'") == 0;
    return judge(statement, code, is_gone && code == SQLITE_ERROR ? code : SQLITE_ABORT);
}

/* A function interrupts the connection. */
static bool run_interrupts(const struct statement *statement) {
    return judge(statement, execute(run.database, statement->sql), SQLITE_INTERRUPT);
}

static int countdown;

static int count_down(void *argument) {
    (void)argument;
    return --countdown == 0;
}

/* It is interrupted at some moment, */
static bool run_interrupted(const struct statement *statement) {
    countdown = 15 + 37 * (run.next % 4);
    sqlite3_progress_handler(run.database, 1, count_down, NULL);
    const int code = execute(run.database, statement->sql);
    sqlite3_progress_handler(run.database, 0, NULL, NULL);
    return judge(statement, code, SQLITE_INTERRUPT);
}

/* has no more pages, */
static bool run_without_room(const struct statement *statement) {
    char sql[60];
    const int pages = number(run.database, "PRAGMA !.page_count");
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA !.max_page_count = %d", pages);
    if (pages < 0 || execute(run.database, sql) != SQLITE_OK)
        return false;
    const int code = execute(run.database, statement->sql);
    execute(run.database, "PRAGMA !.max_page_count = 100000");
    return judge(statement, code, SQLITE_FULL);
}

/* or little memory. Afterwards it gets much: without a limit SQLite goes on to spare memory. */
static bool run_without_memory(const struct statement *statement) {
    const sqlite3_int64 much = (sqlite3_int64)1 << 40;
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + 1000 + 2000 * (run.next % 4));
    const int code = execute(run.database, statement->sql);
    sqlite3_hard_heap_limit64(much);
    sqlite3_soft_heap_limit64(much);
    return judge(statement, code, SQLITE_NOMEM);
}

static bool run_query_only(const struct statement *statement) {
    (void)statement;
    const bool is_on = number(run.database, "PRAGMA query_only") == 1;
    execute(run.database, is_on ? "PRAGMA query_only = OFF" : "PRAGMA query_only = ON");
    return true;
}

static bool run_busy_close(const struct statement *statement) {
    if (sqlite3_close(run.database) != SQLITE_BUSY)
        violate("%s: it is closed", statement->name);
    return true;
}

/* The connection is closed, and opened again, read-only if it has SQL. */
static bool run_reopen(const struct statement *statement) {
    if ((kind == MEMDB || kind == SHARED) && run.other == NULL)
        run.other = open_again(); /* it keeps the database */
    close_run();
    run.is_read_only = statement->sql != NULL;
    open_run();
    return true;
}

/* Another file gets the name of the schema. */
static bool run_reattach(const struct statement *statement) {
    finalize_all();
    if (execute(run.database, statement->sql) != SQLITE_OK)
        return false;
    run.file = !run.file;
    if (attach() != SQLITE_OK)
        fatal("ATTACH", run.database);
    return true;
}

/* Another database takes its place. */
static bool run_restore(const struct statement *statement) {
    (void)statement;
    sqlite3_backup *backup = sqlite3_backup_init(run.database, schema, images[1].database, "main");
    const int code = backup == NULL ? SQLITE_ERROR : sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    return code == SQLITE_DONE;
}

static bool run_deserialize(const struct statement *statement) {
    (void)statement;
    deserialize_image(1);
    return true;
}

static bool run_backup(const struct statement *statement) {
    copy_database(copy, "main", run.database, schema);
    check_copy(copy, statement->name);
    return true;
}

#define MANY "(1), (#0), (#1), (#2), (#3), (#4), (#5), (#6)"
#define FEW "(#0), (#1), (#2)"
#define FILTER(keys) "INSERT INTO @(key) SELECT column1 FROM (VALUES " keys ")"
#define ORACLE(keys) "INSERT INTO !.oracle(name, key) SELECT '~', column1 FROM (VALUES " keys ")"
#define SOURCE(keys) "INSERT INTO !.source SELECT column1 FROM (VALUES " keys ")"
/* A table of another database. */
#define ELSEWHERE                                                                                  \
    "CREATE TABLE IF NOT EXISTS `.elsewhere(key NOT NULL); INSERT INTO `.elsewhere SELECT "        \
    "column1 "                                                                                     \
    "FROM (VALUES " MANY ")"
#define AT(key, sql) " WHERE effect(CASE column1 WHEN " key " THEN '" sql "' END)"
/* A statement inside for each row of the one around it, until perhaps the last fails. */
#define EACH(insert) " WHERE effect('" insert "' || column1 || ')')"
#define EACH_FAILS(insert)                                                                         \
    " WHERE effect(CASE column1 WHEN #6 THEN 'fail' ELSE '" insert "' || column1 || ')' END)"
#define INSERT_FILTER "INSERT INTO @(key) VALUES ("
#define INSERT_ORACLE "INSERT INTO !.oracle(name, key) VALUES (''~'', "

static const struct statement STATEMENTS[] = {
    {"BEGIN", OUTSIDE, run_transaction, "BEGIN", NULL, 0},
    {"COMMIT", INSIDE, run_transaction, "COMMIT", NULL, 0},
    {"ROLLBACK", INSIDE | DISTURBS, run_transaction, "ROLLBACK", NULL, 0},
    {"SAVEPOINT", 0, run_savepoint, "SAVEPOINT {", NULL, 0},
    {"RELEASE", SAVEPOINT, run_release, "RELEASE }", NULL, 0},
    {"ROLLBACK_TO", SAVEPOINT | DISTURBS, run_transaction, "ROLLBACK TO }", NULL, 0},
    {"CREATE", ROOM | DEFINES, run_create, "CREATE VIRTUAL TABLE @ USING bloom(%s)",
     "INSERT INTO !.made VALUES ('~', %d)", 0},
    {"DROP", TABLE | DEFINES, run_both, "DROP TABLE @",
     "DELETE FROM !.made WHERE name = '~'; DELETE FROM !.oracle WHERE name = '~'", 0},
    {"RENAME", TABLE | ROOM | DEFINES | DISTURBS, run_both, "ALTER TABLE @ RENAME TO ^",
     "UPDATE !.made SET name = '^' WHERE name = '~'; UPDATE !.oracle SET name = '^' WHERE name = "
     "'~'",
     0},
    {"ONE", TABLE, run_both, "INSERT INTO @(key) VALUES (?)",
     "INSERT INTO !.oracle(name, key) VALUES ('~', #0)", 1},
    {"MANY", TABLE, run_both, FILTER(MANY), ORACLE(MANY), 7},
    {"IGNORE", TABLE | COUNTS, run_both, "INSERT OR IGNORE INTO @(key) VALUES (1), (#0 - 1), (#0)",
     "INSERT INTO !.oracle(name, key) SELECT '~', column1 FROM (VALUES (1), (#0 - 1), (#0)) WHERE "
     "NOT EXISTS (SELECT 1 FROM !.oracle AS o WHERE o.name = '~' AND o.key = column1)",
     1},
    {"FAILS", TABLE | FAILS, run_both, FILTER(FEW) AT("#2", "fail"), ORACLE(FEW) AT("#2", "fail"),
     3},
    {"DELETE", TABLE | IN_COUNTING | COUNTS, run_both, "DELETE FROM @ WHERE key IN (1, #0 - 1)",
     "DELETE FROM !.oracle WHERE rowid IN (SELECT min(rowid) FROM !.oracle WHERE name = '~' AND "
     "key IN (1, #0 - 1) GROUP BY key)",
     0},
    {"CLEAR", TABLE, run_both, "INSERT INTO @(~) VALUES ('clear')",
     "DELETE FROM !.oracle WHERE name = '~'", 0},
    {"ROTATE", TABLE | IN_AGED, run_both, "INSERT INTO @(~) VALUES ('rotate')",
     "DELETE FROM !.oracle WHERE name = '~' AND age = 1; UPDATE !.oracle SET age = age + 1 WHERE "
     "name = '~'",
     0},
    {"ASK", TABLE, run_ask, "SELECT count(*) FROM @ WHERE key = %d",
     "SELECT count(*) > 0 FROM !.oracle WHERE name = '~' AND key = %d", 0},
    {"JOIN", TABLE, run_join, NULL, NULL, 0},
    {"CURSOR", TABLE, run_cursor,
     "SELECT column1 FROM (VALUES %s) CROSS JOIN @ AS f ON f.key = column1", NULL, 0},
    {"OTHER", TABLE | OTHER | IDLE, run_other, "INSERT INTO @(key) VALUES (#0)",
     "INSERT INTO !.oracle(name, key) VALUES ('~', #0)", 1},
    {"READER", TABLE | OTHER, run_reader, NULL, NULL, 0},
    {"ATTACH", FAILS, run_plainly, "ATTACH '/nonexistent/file' AS missing", NULL, 0},

    {"ROLLBACK_TO_FIRST", RARE | NESTED | DISTURBS, run_to_first, "ROLLBACK TO s0", NULL, 0},
    {"CREATE_EQUAL", RARE | ROOM | DEFINES, run_create_equal,
     "CREATE VIRTUAL TABLE @ USING bloom(%s)", "INSERT INTO !.made VALUES ('~', %d)", 0},
    {"SWITCH", RARE | BOTH, run_switch, NULL, NULL, 0},
    {"MERGE", RARE | TABLE | IN_PLAIN, run_both,
     "INSERT INTO @(~, key) SELECT 'merge', bloom_agg(column1, (SELECT bloom_pin(filter) FROM @)) "
     "FROM (VALUES " MANY ")",
     ORACLE(MANY), 7},
    {"INFO", RARE | TABLE, run_info, NULL, NULL, 0},
    {"HOLD", RARE | TABLE | OTHER, run_hold, "INSERT INTO @(key) VALUES (#0)",
     "INSERT INTO !.oracle(name, key) VALUES ('~', #0)", 1},
    {"OTHER_REMAKES", RARE | TABLE | OTHER | IDLE | DEFINES, run_remake,
     "DROP TABLE @; CREATE VIRTUAL TABLE @ USING bloom(%s)",
     "DELETE FROM !.oracle WHERE name = '~'; UPDATE !.made SET options = %d WHERE name = '~'", 0},
    {"TRIGGER", RARE | TABLE | DEFINES, run_both,
     "CREATE TRIGGER !.fill AFTER INSERT ON source BEGIN INSERT INTO ~(key) VALUES (new.key); "
     "END; " SOURCE(FEW) "; DROP TRIGGER !.fill",
     ORACLE(FEW), 3},
    {"WRITES_AMID", RARE | TABLE, run_both, FILTER(FEW) AT("#1", INSERT_FILTER "#3)"),
     ORACLE(FEW) AT("#1", INSERT_ORACLE "#3)"), 4},
    {"AROUND", RARE | TABLE, run_both, SOURCE(MANY) EACH(INSERT_FILTER), ORACLE(MANY), 7},
    {"AROUND_FAILS", RARE | TABLE | FAILS, run_both, SOURCE(MANY) EACH_FAILS(INSERT_FILTER),
     SOURCE(MANY) EACH_FAILS(INSERT_ORACLE), 7},
    {"ELSEWHERE", RARE | TABLE, run_both, ELSEWHERE EACH(INSERT_FILTER), ORACLE(MANY), 7},
    {"ELSEWHERE_FAILS", RARE | TABLE | FAILS, run_both, ELSEWHERE EACH_FAILS(INSERT_FILTER),
     ELSEWHERE EACH_FAILS(INSERT_ORACLE), 7},
    {"ROLLS_BACK", RARE | TABLE | INSIDE | DISTURBS, run_rolled_back,
     FILTER(FEW) AT("#1", "ROLLBACK"), "no oracle", 3},
    {"ROLLS_BACK_TO", RARE | TABLE | SAVEPOINT | DISTURBS, run_rolled_back,
     FILTER(FEW) AT("#1", "ROLLBACK TO }"),
     "INSERT INTO !.oracle(name, key) VALUES ('~', #1), ('~', #2)", 3},
    {"INTERRUPTS", RARE | TABLE | NO_CURSOR | DISTURBS, run_interrupts,
     FILTER(FEW) AT("#2", "interrupt"), "no oracle", 3},
    {"INTERRUPTED", RARE | TABLE | DISTURBS, run_interrupted, FILTER(MANY), ORACLE(MANY), 7},
    {"FULL", RARE | TABLE | DISTURBS, run_without_room, FILTER(MANY), ORACLE(MANY), 7},
    {"NO_MEMORY", RARE | TABLE | DISTURBS, run_without_memory, FILTER(MANY), ORACLE(MANY), 7},
    {"HOG", RARE | DEFINES, run_both,
     "CREATE VIRTUAL TABLE IF NOT EXISTS !.hog USING bloom(capacity=400, fpr=1e-9, growth=off); "
     "INSERT INTO !.hog(key) SELECT column1 FROM (VALUES &); SELECT count(*) FROM "
     "(VALUES &) JOIN !.hog AS f ON f.key = column1",
     "INSERT OR IGNORE INTO !.made VALUES ('hog', 0); INSERT INTO !.oracle(name, key) SELECT "
     "'hog', column1 FROM (VALUES &)",
     0},
    {"SCHEMA", RARE, run_plainly, "CREATE TABLE !.x(y); DROP TABLE !.x", NULL, 0},
    {"QUERY_ONLY", RARE | OUTSIDE, run_query_only, NULL, NULL, 0},
    {"VACUUM", RARE | OUTSIDE | NO_CURSOR, run_plainly, "VACUUM !", NULL, 0},
    {"BACKUP", RARE | OUTSIDE | IDLE, run_backup, NULL, NULL, 0},
    {"RESTORE", RARE | OUTSIDE | NO_CURSOR | DEFINES, run_restore, NULL, NULL, 0},
    {"DESERIALIZE", RARE | OUTSIDE | NO_CURSOR | PRIVATE | DEFINES, run_deserialize, NULL, NULL, 0},
    {"BUSY_CLOSE", RARE, run_busy_close, NULL, NULL, 0},
    {"REOPEN", RARE | KEPT | IDLE | DEFINES, run_reopen, NULL, NULL, 0},
    {"READ_ONLY", RARE | IN_FILE | DEFINES, run_reopen, "", NULL, 0},
    {"REATTACH", RARE | IN_ATTACHED | OUTSIDE | NO_CURSOR | DEFINES, run_reattach, "DETACH aux1",
     NULL, 0},
};

#endif
