/* The statements: what each does to a filter table and to its oracle. */
#include "world.h"

/* ---- How they end ---- */

/* Judges a statement that has met a fault. If it fails, it leaves nothing of what it has done, or,
 * if the fault may come late, all of it. In a transaction something that fails at the end of a
 * single row may leave it, too. The oracle follows, unless both were one transaction. */
static bool judge_fault(const struct statement *statement, const struct fault *fault, int code,
                        bool was_inside, bool is_one_transaction) {
    sqlite3 *database = run.mine.database;
    const bool must_fail = (statement->needs & FAILS) != 0;
    const bool lost = was_inside && sqlite3_get_autocommit(database);
    const bool may_stay = !must_fail && !lost && (fault->comes_late || was_inside);
    if (fault->is_disk) /* it may keep the pager's error, also when COMMIT succeeds */
        cursor_drop(&run.mine);
    if (code != SQLITE_OK)
        cursors_disturb();
    const bool defines = (statement->needs & DEFINES) != 0;
    /* The snapshot is over, too, so that names are seen which the other connection has given. */
    if (lost || (fault->is_disk && run.has_swapped && !defines))
        look();
    const bool is_made =
        !is_one_transaction && (code == SQLITE_OK || (may_stay && !is_as_oracle(database)));
    if (is_made && execute(database, statement->oracle) != SQLITE_OK)
        violate("%s: the oracle fails", statement->name);
    if ((is_made || is_one_transaction) && defines)
        look(); /* the table may have another name */
    if ((is_made || is_one_transaction) && code != SQLITE_OK && run.violation == NULL &&
        !is_as_oracle(database))
        violate("%s: a part of what it does stays, after result %d", statement->name, code);
    run.next += statement->keys;
    return !is_kept_out(code);
}

/* What statements inside or before another one have done may stay when a fault ends that. */
static bool is_one(const char *sql) {
    return strstr(sql, "effect(") == NULL && strstr(sql, "_data") == NULL &&
           strstr(sql, "'period'") == NULL &&
           (strchr(sql, ';') == NULL || strncmp(sql, "SAVEPOINT", 9) == 0);
}

/* Runs a statement on both tables. The results must be the same. The filter table comes last,
 * because a savepoint, which a statement on the oracle may begin, has what waits in memory written.
 * Only what defines tables, or what may fail, comes first: the oracle does not lock them. */
static bool run_in(sqlite3 *database, const struct statement *statement) {
    const bool is_mine = database == run.mine.database;
    const struct fault *fault = is_mine && is_one(statement->sql) ? fault_chosen() : NULL;
    const bool defines = (statement->needs & DEFINES) != 0;
    const bool must_fail = (statement->needs & FAILS) != 0;
    const bool was_inside = !sqlite3_get_autocommit(database);
    const bool is_idle = (state() & IDLE) != 0;
    const bool is_first = defines || (fault != NULL && !fault->is_crash);
    /* What survives a crash is a transaction, also one that was not synced. */
    const bool begins =
        fault != NULL && !was_inside && (fault->is_crash || strcmp(fault->name, "sync") == 0);
    if (begins && execute(database, "BEGIN IMMEDIATE") != SQLITE_OK)
        return false;
    int oracle = is_first ? SQLITE_OK : execute(database, statement->oracle);
    int oracle_changes = sqlite3_changes(database);
    if (fault != NULL)
        fault_arm(database);
    int code = strchr(statement->sql, '?') != NULL && database == run.mine.database
                   ? execute_prepared(statement->sql)
                   : execute(database, statement->sql);
    const int changes = sqlite3_changes(database);
    run.has_merged |= strstr(statement->sql, "'merge'") != NULL;
    if (code != SQLITE_OK && strncmp(statement->sql, "SAVEPOINT", 9) == 0 &&
        execute(database, "ROLLBACK TO many; RELEASE many") != SQLITE_OK)
        execute(database, "ROLLBACK");
    bool has_oracle = !is_first;
    if (begins && is_first && (must_fail || code == SQLITE_OK)) {
        oracle = execute(database, statement->oracle);
        oracle_changes = sqlite3_changes(database);
        has_oracle = true;
    }
    const int committed = begins ? execute(database, "COMMIT") : SQLITE_OK;
    if (committed != SQLITE_OK)
        execute(database, "ROLLBACK");
    if (fault != NULL)
        fault_disarm(database);
    if (fault != NULL && !fault->is_crash && fault_was_met)
        return judge_fault(statement, fault, committed == SQLITE_OK ? code : committed, was_inside,
                           begins);
    if ((kind->holds & IN_SHARED) != 0 && (code == SQLITE_LOCKED || oracle == SQLITE_LOCKED)) {
        run.is_over = true; /* the locks of a shared cache are of tables */
        return false;
    }
    if (defines && is_kept_out_of(database, code)) {
        if (run.mine.cursor.statement == NULL && is_idle && /* else every table would be locked, */
            !is_kept_out(execute(database, statement->oracle))) /* as it is by an old snapshot */
            violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(database));
        return is_idle;
    }
    if (!has_oracle) {
        oracle = execute(database, statement->oracle);
        oracle_changes = sqlite3_changes(database);
    }
    if ((kind->holds & IN_SHARED) != 0 && oracle == SQLITE_LOCKED) {
        run.is_over = true;
        return false;
    }
    const bool is_refused = is_kept_out(code) || code == SQLITE_READONLY;
    if (code != oracle && !(is_refused && oracle != SQLITE_OK))
        violate("%s: result %d, the oracle's %d (%s)", statement->name, code, oracle,
                sqlite3_errmsg(database));
    else if (code == SQLITE_OK && (statement->needs & COUNTS) != 0 && changes != oracle_changes)
        violate("%s: %d changes, in the oracle %d", statement->name, changes, oracle_changes);
    if (must_fail && code == SQLITE_OK)
        violate("%s: no error", statement->name);
    run.next += statement->keys;
    return code == SQLITE_OK || (must_fail && !is_kept_out(code));
}

static bool run_both(const struct statement *statement) {
    run.id = run.ids[run.current];
    return run_in(run.mine.database, statement);
}

/* Transactions: only another connection that is in one may keep it from going on, and what fails.
 * Afterwards nobody knows whether the savepoint of a statement that failed is there, so the
 * transaction ends. */
static bool succeeds(const struct statement *statement) {
    sqlite3 *database = run.mine.database;
    const struct fault *fault = fault_chosen();
    fault_arm(database);
    int code = execute(database, statement->sql);
    const bool met = fault_disarm(database) && !fault->is_crash;
    if (met && fault->is_disk) /* no query goes on, although ROLLBACK says nothing of it */
        cursor_drop(&run.mine);
    if (code == SQLITE_OK)
        return true;
    if (!met && !is_kept_out_of(database, code))
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(database));
    if (met) {
        cursors_disturb();
        if (run.mine.savepoints > 0 && !sqlite3_get_autocommit(database) &&
            execute(database, "ROLLBACK") != SQLITE_OK && !sqlite3_get_autocommit(database))
            violate("%s: ROLLBACK: %s", statement->name, sqlite3_errmsg(database));
        look();
    }
    return false;
}

static bool run_transaction(const struct statement *statement) {
    succeeds(statement);
    return true;
}

static bool run_savepoint(const struct statement *statement) {
    run.mine.savepoints += succeeds(statement);
    return true;
}

static bool run_release(const struct statement *statement) {
    run.mine.savepoints -= succeeds(statement);
    return true;
}

static bool run_to_first(const struct statement *statement) {
    if (succeeds(statement))
        run.mine.savepoints = 1;
    return true;
}

/* ---- Tables come and go ---- */

/* Statements that make a table have a place for its options, and the oracle for its number and
 * which options these are. */
static struct statement with_options(const struct statement *statement) {
    static char sql[300], oracle[300];
    const int which = run.made++ % 2;
    sqlite3_snprintf(sizeof sql, sql, statement->sql, sort->options[which]);
    sqlite3_snprintf(sizeof oracle, oracle, statement->oracle, run.made, which);
    struct statement made = *statement;
    made.sql = sql;
    made.oracle = oracle;
    return made;
}

static bool run_create(const struct statement *statement) {
    const struct statement made = with_options(statement);
    run.current = run.has[0] ? 1 : 0;
    run.mine.has_made = true;
    return run_both(&made);
}

/* The clock goes on. */
static bool run_period(const struct statement *statement) {
    run.period++;
    return run_both(statement);
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

/* ---- Queries ---- */

/* Checks every key by a statement of its own. */
static bool run_ask(const struct statement *statement) {
    run.id = run.ids[run.current];
    for (int key = 1; key <= run.next && run.violation == NULL; key++) {
        char sql[100], oracle[100];
        sqlite3_snprintf(sizeof sql, sql, statement->sql, key);
        sqlite3_snprintf(sizeof oracle, oracle, statement->oracle, key);
        const int found = number(run.mine.database, sql);
        const int expected = number(run.mine.database, oracle);
        if (found != expected && !is_held(key) && !(other_is_inside() && expected == -1))
            violate("ASK: key %d is found %d times, in the oracle %d", key, found, expected);
    }
    return true;
}

static bool run_join(const struct statement *statement) {
    check(run.mine.database, statement->name);
    return true;
}

static bool run_info(const struct statement *statement) {
    check_counted(run.mine.database, statement->name);
    return true;
}

/* Queries that fail half way change nothing. */
static bool run_query(const struct statement *statement) {
    sqlite3 *database = run.mine.database;
    const bool was_inside = !sqlite3_get_autocommit(database);
    const struct fault *fault = fault_chosen();
    fault_arm(database);
    const int code = execute(database, statement->sql);
    const bool met = fault_disarm(database);
    if (code != SQLITE_OK && !met && !is_kept_out_of(database, code))
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(database));
    if (met && code != SQLITE_OK) {
        cursors_disturb();
        if (fault->is_disk)
            cursor_drop(&run.mine);
        if (was_inside && sqlite3_get_autocommit(database))
            look();
    }
    return true;
}

/* A cursor stays open until the next time. */
static bool run_cursor(const struct statement *statement) {
    if (run.mine.cursor.statement != NULL) {
        cursor_read(&run.mine);
        look(); /* it may have kept a snapshot */
        return true;
    }
    cursor_open(statement->sql);
    return run.mine.cursor.statement != NULL;
}

/* ---- Another connection ---- */

/* which sees the table, */
static bool begin_other(const char *sql) {
    if (run.other.database == NULL && !open_other())
        return false;
    run.id = number(run.other.database, "SELECT id FROM !.made WHERE name = '~'");
    return run.id >= 0 && execute(run.other.database, sql) == SQLITE_OK;
}

/* writes and commits, */
static bool run_other(const struct statement *statement) {
    if (!begin_other("BEGIN IMMEDIATE"))
        return false;
    const bool goes_on = run_in(run.other.database, statement);
    if (goes_on && execute(run.other.database, "COMMIT") == SQLITE_OK)
        return true;
    execute(run.other.database, "ROLLBACK");
    return false;
}

/* or makes the table again, */
static bool run_remake(const struct statement *statement) {
    const struct statement made = with_options(statement);
    return run_other(&made);
}

static bool commit_other(void) {
    const int code = execute(run.other.database, "COMMIT");
    if (code == SQLITE_OK)
        run.other.savepoints = 0;
    if (run.has_swapped)
        look(); /* it may have made tables */
    return code == SQLITE_OK;
}

/* or does not commit until the next time, */
static bool run_hold(const struct statement *statement) {
    if (other_is_inside() && run.held_key != 0)
        return commit_other();
    if (other_is_inside() || !begin_other("BEGIN IMMEDIATE"))
        return false;
    run.held_key = run.next;
    return run_in(run.other.database, statement);
}

/* or keeps a snapshot until then. */
static bool run_reader(const struct statement *statement) {
    if (other_is_inside() && run.held_key == 0) {
        check(run.other.database, statement->name);
        commit_other();
        return true;
    }
    if (other_is_inside() || !begin_other("BEGIN"))
        return false;
    run.held_key = 0;
    return number(run.other.database, "SELECT count(*) FROM @ WHERE key = 1") >= 0;
}

/* The two exchange their parts. */
static bool run_swap(const struct statement *statement) {
    (void)statement;
    if (run.other.database == NULL && !open_other())
        return false;
    const struct connection mine = run.mine;
    run.mine = run.other;
    run.other = mine;
    run.held_key = 0;
    run.has_swapped = true;
    memset(run.has, 0, sizeof run.has);
    look();
    return true;
}

/* ---- What hinders and disturbs ---- */

/* Nothing can be seen of it, whether it succeeds or, with FAILS, fails. */
static bool run_plainly(const struct statement *statement) {
    const bool fails = execute(run.mine.database, statement->sql) != SQLITE_OK;
    const bool must_fail = (statement->needs & FAILS) != 0;
    if (must_fail && !fails)
        violate("%s: no error", statement->name);
    return fails == must_fail;
}

/* See table/span.h for what is left out. */
static bool run_attach(const struct statement *statement) {
    return !run.mine.is_unmade && run_plainly(statement);
}

/* A statement that is hindered succeeds, or fails with that result and leaves nothing. */
static bool judge(const struct statement *statement, int code, int expected) {
    if (code != SQLITE_OK && code != expected && !is_kept_out_of(run.mine.database, code) &&
        code != SQLITE_READONLY)
        violate("%s: result %d (%s)", statement->name, code, sqlite3_errmsg(run.mine.database));
    const int oracle =
        code == SQLITE_OK ? execute(run.mine.database, statement->oracle) : SQLITE_OK;
    if (oracle == SQLITE_LOCKED && (kind->holds & IN_SHARED) != 0) {
        run.is_over = true;
        execute(run.mine.database, "ROLLBACK");
        look();
    } else if (oracle != SQLITE_OK)
        violate("%s: the oracle fails", statement->name);
    run.next += statement->keys;
    return !is_kept_out(code);
}

/* A function rolls back amid the statement. If that was only to a savepoint, the oracle has the
 * rows after it. */
static bool run_rolled_back(const struct statement *statement) {
    run.id = run.ids[run.current];
    const int code = execute(run.mine.database, statement->sql);
    return judge(statement, code, SQLITE_ABORT);
}

/* A function exchanges the names of the two tables amid the statement, and takes that back. */
static bool run_interrupts(const struct statement *statement) {
    return judge(statement, execute(run.mine.database, statement->sql), SQLITE_INTERRUPT);
}

/* Another statement of this table fails at some moment: its faults are rows, too, but here they
 * come amid sequences. */
static bool run_with(const struct statement *statement, const char *name, int count) {
    for (size_t i = 0; i < FAULT_COUNT && fault_chosen() == NULL; i++)
        if (strcmp(FAULT[i].name, name) == 0)
            fault_choose(&FAULT[i], count);
    return run_both(statement);
}

static bool run_interrupted(const struct statement *statement) {
    return run_with(statement, "interrupt", 15 + 37 * (run.next % 4));
}

static bool run_without_memory(const struct statement *statement) {
    return run_with(statement, "allocation", -(5 + 30 * (run.next % 4)));
}

/* There are no more pages. */
static bool run_without_room(const struct statement *statement) {
    char sql[60];
    run.id = run.ids[run.current];
    const int pages = number(run.mine.database, "PRAGMA !.page_count");
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA !.max_page_count = %d", pages);
    if (pages < 0 || execute(run.mine.database, sql) != SQLITE_OK)
        return false;
    const int code = execute(run.mine.database, statement->sql);
    execute(run.mine.database, "PRAGMA !.max_page_count = 100000");
    return judge(statement, code, SQLITE_FULL);
}

static bool run_toggle(const struct statement *statement) {
    char sql[80];
    const bool is_on = number(run.mine.database, statement->sql) == 1;
    sqlite3_snprintf(sizeof sql, sql, "%s = %d", statement->sql, !is_on);
    execute(run.mine.database, sql);
    return true;
}

/* ---- Files ---- */

/* Before 3.34 the transaction counts as over. In one that has named a table, statements that were
 * prepared are of no use any more. */
static bool run_busy_close(const struct statement *statement) {
    const bool inside = !sqlite3_get_autocommit(run.mine.database);
    if (run.mine.tables == NULL || (inside && sqlite3_libversion_number() < 3034000))
        return true;
    if (sqlite3_close(run.mine.database) != SQLITE_BUSY)
        violate("%s: it is closed", statement->name);
    for (int i = 0; i < 2; i++) {
        sqlite3_finalize(run.mine.inserts[i]);
        run.mine.inserts[i] = NULL;
    }
    return true;
}

/* The connection is closed, and opened again, read-only if it has SQL. */
static bool run_reopen(const struct statement *statement) {
    if ((kind->holds & (IN_FILE | IN_ATTACHED)) == 0 && run.other.database == NULL)
        (void)open_other(); /* it keeps the database */
    close_connection(&run.mine);
    run.is_read_only = statement->sql != NULL;
    open_mine();
    return true;
}

/* Another file gets the name of the schema. */
static bool run_reattach(const struct statement *statement) {
    finalize_all(&run.mine);
    if (execute(run.mine.database, statement->sql) != SQLITE_OK)
        return false;
    run.file = !run.file;
    if (attach() != SQLITE_OK)
        fatal("ATTACH", run.mine.database);
    return true;
}

/* Another database takes its place. */
static bool run_restore(const struct statement *statement) {
    (void)statement;
    sqlite3_backup *backup =
        sqlite3_backup_init(run.mine.database, schema, image_database(1), "main");
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
    (void)statement;
    check_copy(run.mine.database);
    return true;
}

/* ---- The rows ---- */

#define ID "(SELECT id FROM !.made WHERE name = '~')"
#define OTHER_ID "(SELECT id FROM !.made WHERE name = '^')"
#define MANY "(1), (#0), (#1), (#2), (#3), (#4), (#5), (#6)"
#define FEW "(#0), (#1), (#2)"
#define FILTER(keys) "INSERT INTO @(key) SELECT column1 FROM (VALUES " keys ")"
#define ORACLE(keys) "INSERT INTO !.oracle(id, key) SELECT \", column1 FROM (VALUES " keys ")"
#define SOURCE(keys) "INSERT INTO !.source SELECT column1 FROM (VALUES " keys ")"
/* A table of another database. */
#define ELSEWHERE                                                                                  \
    "CREATE TABLE IF NOT EXISTS `.elsewhere(key NOT NULL); "                                       \
    "INSERT INTO `.elsewhere SELECT column1 FROM (VALUES " MANY ")"
#define AT(key, sql) " WHERE effect(CASE column1 WHEN " key " THEN '" sql "' END)"
/* A statement inside for each row of the one around it, until perhaps the last fails. */
#define EACH(insert) " WHERE effect('" insert "' || column1 || ')')"
#define EACH_FAILS(insert)                                                                         \
    " WHERE effect(CASE column1 WHEN #6 THEN 'fail' ELSE '" insert "' || column1 || ')' END)"
#define INSERT_FILTER "INSERT INTO @(key) VALUES ("
#define INSERT_ORACLE "INSERT INTO !.oracle(id, key) VALUES (\", "
#define CREATE "CREATE VIRTUAL TABLE @ USING bloom(%s)"
#define MADE "INSERT INTO !.made VALUES (%d, '~', %d, NULL)"
#define RENAME(from, to) "ALTER TABLE " from " RENAME TO " to "; "
#define EXCHANGE_NAMES                                                                             \
    "SAVEPOINT many; " RENAME("@", "x") RENAME("!.^", "~") RENAME("!.x", "^") "RELEASE many"

const struct statement STATEMENT[] = {
    {"BEGIN", OUTSIDE, run_transaction, "BEGIN", NULL, 0, 90},
    {"COMMIT", INSIDE | DEFINES, run_transaction, "COMMIT", NULL, 0, 40},
    {"ROLLBACK", INSIDE | DISTURBS, run_transaction, "ROLLBACK", NULL, 0, 40},
    {"SAVEPOINT", 0, run_savepoint, "SAVEPOINT {", NULL, 0, 60},
    {"RELEASE", SAVEPOINT | DEFINES, run_release, "RELEASE }", NULL, 0, 30},
    {"ROLLBACK_TO", SAVEPOINT | DISTURBS, run_transaction, "ROLLBACK TO }", NULL, 0, 50},
    {"CREATE", ROOM | DEFINES, run_create, CREATE, MADE, 0, 30},
    {"DROP", TABLE | DEFINES, run_both, "DROP TABLE @",
     "DELETE FROM !.made WHERE id = \"; DELETE FROM !.oracle WHERE id = \"", 0, 10},
    {"RENAME", TABLE | ROOM | DEFINES | DISTURBS, run_both, "ALTER TABLE @ RENAME TO ^",
     "UPDATE !.made SET name = '^' WHERE name = '~'", 0, 20},
    {"ONE", TABLE, run_both, "INSERT INTO @(key) VALUES (?)",
     "INSERT INTO !.oracle(id, key) VALUES (\", #0)", 1, 150},
    {"MANY", TABLE, run_both, FILTER(MANY), ORACLE(MANY), 7, 100},
    {"IGNORE", TABLE | COUNTS, run_both, "INSERT OR IGNORE INTO @(key) VALUES (1), (#0 - 1), (#0)",
     "INSERT INTO !.oracle(id, key) SELECT \", column1 FROM (VALUES (1), (#0 - 1), (#0)) WHERE "
     "NOT EXISTS (SELECT 1 FROM !.oracle AS o WHERE o.id = \" AND o.key = column1)",
     1, 80},
    {"FAILS", TABLE | FAILS, run_both, FILTER(FEW) AT("#2", "fail"), ORACLE(FEW) AT("#2", "fail"),
     3, 20},
    {"DELETE", TABLE | IN_COUNTING | COUNTS, run_both, "DELETE FROM @ WHERE key IN (1, #0 - 1)",
     "DELETE FROM !.oracle WHERE rowid IN (SELECT min(rowid) FROM !.oracle WHERE id = \" AND "
     "key IN (1, #0 - 1) GROUP BY key)",
     0, 100},
    {"CLEAR", TABLE, run_both, "INSERT INTO @(~) VALUES ('clear')",
     "DELETE FROM !.oracle WHERE id = \"; UPDATE !.made SET period = NULL WHERE id = \"", 0, 15},
    {"ROTATE", TABLE | IN_AGED, run_both, "INSERT INTO @(~) VALUES ('rotate')",
     "SELECT effect(CASE WHEN period > 0 THEN 'fail' END) FROM !.made WHERE id = \"; DELETE FROM "
     "!.oracle WHERE id = \" AND age = 1; UPDATE !.oracle SET age = age + 1 WHERE id = \"",
     0, 50},
    /* The first one is kept, and each further one rotates by the difference. */
    {"PERIOD", TABLE | IN_AGED, run_period, "INSERT INTO @(~, key) VALUES ('period', %)",
     "UPDATE !.oracle SET age = age + coalesce((SELECT % - period FROM !.made WHERE id = \"), 0) "
     "WHERE id = \"; DELETE FROM !.oracle WHERE age > 1; UPDATE !.made SET period = % WHERE id = "
     "\"",
     0, 20},
    {"ASK", TABLE, run_ask, "SELECT count(*) FROM @ WHERE key = %d",
     "SELECT count(*) > 0 FROM !.oracle WHERE id = \" AND key = %d", 0, 30},
    {"JOIN", TABLE, run_join, NULL, NULL, 0, 100},
    {"CURSOR", TABLE, run_cursor,
     "SELECT column1 FROM (VALUES %s) CROSS JOIN @ AS f ON f.key = column1", NULL, 0, 60},
    {"OTHER", TABLE | OTHER | IDLE, run_other, "INSERT INTO @(key) VALUES (#0)",
     "INSERT INTO !.oracle(id, key) VALUES (\", #0)", 1, 40},
    {"READER", TABLE | OTHER, run_reader, NULL, NULL, 0, 20},
    /* After it SQLite makes new objects of all tables. */
    {"ATTACH", FAILS, run_attach, "ATTACH 'file:/missing?vfs=disk' AS missing", NULL, 0, 15},

    {"ROLLBACK_TO_FIRST", RARE | NESTED | DISTURBS, run_to_first, "ROLLBACK TO s0", NULL, 0, 30},
    {"CREATE_EQUAL", RARE | ROOM | DEFINES, run_create_equal, CREATE, MADE, 0, 20},
    {"SWITCH", RARE | BOTH, run_switch, NULL, NULL, 0, 60},
    {"EXCHANGE", RARE | BOTH | DEFINES | DISTURBS, run_both, EXCHANGE_NAMES,
     "UPDATE !.made SET name = CASE name WHEN 't' THEN 'u' ELSE 't' END WHERE name IN ('t', 'u')",
     0, 20},
    {"COPY_ROWS", RARE | BOTH | OUTSIDE | NO_CURSOR | APART | DEFINES | DISTURBS, run_both,
     "SAVEPOINT many; DELETE FROM !.~_data; INSERT INTO !.~_data SELECT * FROM !.^_data; RELEASE "
     "many",
     "DELETE FROM !.oracle WHERE id = \"; INSERT INTO !.oracle SELECT \", key, age FROM !.oracle "
     "WHERE id = " OTHER_ID "; UPDATE !.made SET (options, period) = (SELECT options, period FROM "
     "!.made WHERE name = '^') WHERE id = \"",
     0, 15},
    {"TAMPER", RARE | TABLE | DISTURBS | UNHEARD, run_both,
     "SAVEPOINT many; DELETE FROM !.~_data WHERE id > 0; RELEASE many",
     "DELETE FROM !.oracle WHERE id = \"", 0, 10},
    {"MERGE", RARE | TABLE | IN_PLAIN, run_both,
     /* One row: SQLite does not undo what is half done. */
     "INSERT INTO @(~, key) VALUES ('merge', (SELECT bloom_agg(column1, (SELECT bloom_pin(filter) "
     "FROM @)) FROM (VALUES " MANY ")))",
     ORACLE(MANY), 7, 30},
    {"INFO", RARE | TABLE, run_info, NULL, NULL, 0, 30},
    {"QUERY", RARE | TABLE, run_query,
     "SELECT info FROM @; SELECT count(*) FROM (VALUES " MANY ") JOIN @ AS f ON f.key = column1; "
     "SELECT count(*) FROM @ WHERE key IN (1, 2, 'b', NULL)",
     NULL, 0, 40},
    {"HOLD", RARE | TABLE | OTHER, run_hold, "INSERT INTO @(key) VALUES (#0)",
     "INSERT INTO !.oracle(id, key) VALUES (\", #0)", 1, 20},
    {"SWAP", RARE | OTHER | APART | DEFINES, run_swap, NULL, NULL, 0, 60},
    {"OTHER_REMAKES", RARE | NO_CURSOR | TABLE | OTHER | IDLE | DEFINES, run_remake,
     "DROP TABLE @; CREATE VIRTUAL TABLE @ USING bloom(%s)",
     "DELETE FROM !.oracle WHERE id = \"; UPDATE !.made SET id = %d, options = %d, period = NULL "
     "WHERE id = \"",
     0, 10},
    {"TRIGGER", RARE | TABLE | DEFINES, run_both,
     "CREATE TRIGGER !.fill AFTER INSERT ON source BEGIN INSERT INTO ~(key) VALUES (new.key); "
     "END; " SOURCE(FEW) "; DROP TRIGGER !.fill",
     ORACLE(FEW), 3, 0},
    {"WRITES_AMID", RARE | TABLE, run_both, FILTER(FEW) AT("#1", INSERT_FILTER "#3)"),
     ORACLE(FEW) AT("#1", INSERT_ORACLE "#3)"), 4, 15},
    {"AROUND", RARE | TABLE, run_both, SOURCE(MANY) EACH(INSERT_FILTER), ORACLE(MANY), 7, 15},
    {"AROUND_FAILS", RARE | TABLE | FAILS, run_both, SOURCE(MANY) EACH_FAILS(INSERT_FILTER),
     SOURCE(MANY) EACH_FAILS(INSERT_ORACLE), 7, 10},
    {"ELSEWHERE", RARE | TABLE, run_both, ELSEWHERE EACH(INSERT_FILTER), ORACLE(MANY), 7, 10},
    {"ELSEWHERE_FAILS", RARE | TABLE | FAILS, run_both, ELSEWHERE EACH_FAILS(INSERT_FILTER),
     ELSEWHERE EACH_FAILS(INSERT_ORACLE), 7, 10},
    {"ROLLS_BACK", RARE | TABLE | INSIDE | DISTURBS, run_rolled_back,
     FILTER(FEW) AT("#1", "ROLLBACK"), "no oracle", 3, 10},
    {"ROLLS_BACK_TO", RARE | TABLE | SAVEPOINT | DISTURBS, run_rolled_back,
     FILTER(FEW) AT("#1", "ROLLBACK TO }"),
     "INSERT INTO !.oracle(id, key) VALUES (" ID ", #1), (" ID ", #2)", 3, 10},
    {"INTERRUPTS", RARE | TABLE | NO_CURSOR | DISTURBS, run_interrupts,
     FILTER(FEW) AT("#2", "interrupt"), "no oracle", 3, 10},
    {"INTERRUPTED", RARE | TABLE | DISTURBS, run_interrupted, FILTER(MANY), ORACLE(MANY), 7, 0},
    {"FULL", RARE | TABLE | DISTURBS, run_without_room, FILTER(MANY), ORACLE(MANY), 7, 15},
    {"NO_MEMORY", RARE | TABLE | DISTURBS, run_without_memory, FILTER(MANY), ORACLE(MANY), 7, 0},
    {"HOG", RARE | DEFINES, run_both,
     "CREATE VIRTUAL TABLE IF NOT EXISTS !.hog USING bloom(capacity=400, fpr=1e-9, growth=off); "
     "INSERT INTO !.hog(key) SELECT column1 FROM (VALUES &); SELECT count(*) FROM "
     "(VALUES &) JOIN !.hog AS f ON f.key = column1",
     "INSERT OR IGNORE INTO !.made VALUES (0, 'hog', 0, NULL); "
     "INSERT INTO !.oracle(id, key) SELECT 0, column1 FROM (VALUES &)",
     0, 5},
    {"SCHEMA", RARE, run_plainly, "CREATE TABLE IF NOT EXISTS !.z(y); DROP TABLE !.z", NULL, 0, 10},
    {"QUERY_ONLY", RARE | OUTSIDE, run_toggle, "PRAGMA query_only", NULL, 0, 5},
    {"READ_UNCOMMITTED", RARE | OUTSIDE | IN_SHARED, run_toggle, "PRAGMA read_uncommitted", NULL, 0,
     10},
    {"VACUUM", RARE | OUTSIDE | NO_CURSOR, run_plainly, "VACUUM !", NULL, 0, 5},
    {"BACKUP", RARE | OUTSIDE | IDLE, run_backup, NULL, NULL, 0, 10},
    {"RESTORE", RARE | OUTSIDE | NO_CURSOR | DEFINES, run_restore, NULL, NULL, 0, 3},
    {"DESERIALIZE", RARE | OUTSIDE | NO_CURSOR | PRIVATE | DEFINES, run_deserialize, NULL, NULL, 0,
     3},
    {"BUSY_CLOSE", RARE | DISTURBS | UNHEARD, run_busy_close, NULL, NULL, 0, 10},
    {"REOPEN", RARE | KEPT | IDLE | DEFINES, run_reopen, NULL, NULL, 0, 5},
    {"READ_ONLY", RARE | IN_FILE | DEFINES, run_reopen, "", NULL, 0, 0},
    {"REATTACH", RARE | IN_ATTACHED | OUTSIDE | NO_CURSOR | DEFINES, run_reattach, "DETACH aux1",
     NULL, 0, 10},
};
const size_t STATEMENT_COUNT = COUNT_OF(STATEMENT);
