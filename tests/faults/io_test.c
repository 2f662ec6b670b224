/* Every call of the file system fails in turn while a filter table is read and written, on the disk
 * of the simulator.
 *
 * A scenario is a row of statements on a database file that holds committed keys. The n-th call of
 * one kind is made to fail, for n = 1, 2, ... until the scenario runs without meeting a failure;
 * once, and from then on; with a rollback journal and in WAL mode; with a page cache that holds all
 * and with one that spills pages into the file before they are committed. Each time:
 *
 *   1. A statement that reports success has done its work and gives the right rows; any other
 *      reports an error of the file system, never damage, since nothing was damaged.
 *   2. The same connection goes on: it rolls back, or commits what came before the failed
 *      statement, and adds a key.
 *   3. When it is closed no byte is left allocated and no file open.
 *   4. In the database, opened again, is exactly what was committed, to the byte: every chunk and
 *      every count of the shadow tables is as in a run without failures. For a COMMIT that failed,
 *      all of it or nothing.
 *
 * What a process leaves that is killed there, the simulator looks at. */
#include "../simulator/disk.h"
#include "../simulator/simulator.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Scenarios ---- */

enum { STATEMENTS_MAXIMUM = 12 };

/* Adds keys that are numbers, in one statement. */
#define KEYS(first, count)                                                                         \
    "WITH RECURSIVE c(i) AS (VALUES(" #first ") UNION ALL SELECT i + 1 FROM c LIMIT " #count ") "  \
    "INSERT INTO seen(key) SELECT i FROM c"

/* Four chunks of pages of 512 bytes, and about thirty keys to go until a layer of eleven chunks is
 * opened. */
#define TABLE                                                                                      \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=1200, fpr=0.01);"                              \
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 1150) "             \
    "INSERT INTO seen(key) SELECT i FROM c;"

#define MERGE                                                                                      \
    "INSERT INTO seen(seen, key) SELECT 'merge', bloom_agg(value, 1200, 0.009) FROM "              \
    "json_each('[1,2,1151,1152,1153,1154,1155,1156,1157,1158,1159]')"

#define ROTATE "INSERT INTO seen(seen) VALUES ('rotate')"

/* Generations 1 and 2 of two; slot 0 has the rows of generation 0, of two layers, still. */
#define AGED                                                                                       \
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=300, fpr=0.01, generations=2);" KEYS(          \
        1, 400) ";" ROTATE ";" KEYS(401, 200) ";" ROTATE ";"

struct scenario {
    const char *title;
    const char *before;     /* committed before anything fails */
    const char *unfinished; /* what a process that was killed was at: the attempt finds it first */
    const char *statements[STATEMENTS_MAXIMUM];
};

static const struct scenario SCENARIOS[] = {
    {"one key", TABLE, NULL, {"INSERT INTO seen(key) VALUES (1151)"}},
    {"keys that may be in",
     TABLE,
     NULL,
     {"INSERT OR IGNORE INTO seen(key) VALUES (1151)", "SELECT changes()",
      "INSERT OR IGNORE INTO seen(key) VALUES (7)", "SELECT changes()"}},
    {"a statement that opens a layer", TABLE, NULL, {KEYS(1151, 70)}},
    {"a transaction that opens a layer",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1151, 20), "INSERT INTO seen(key) VALUES (1171)", KEYS(1172, 30),
      "INSERT INTO seen(key) VALUES (1202)",
      "SELECT count(*) FROM seen WHERE key IN (1, 1160, 1202)", KEYS(1203, 20), "COMMIT"}},
    {"a savepoint taken back",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1151, 10), "SAVEPOINT doubtful", KEYS(1161, 60), "ROLLBACK TO doubtful",
      "INSERT INTO seen(key) VALUES (1161)", "RELEASE doubtful", "COMMIT"}},
    {"a savepoint kept",
     TABLE,
     NULL,
     {"SAVEPOINT outer", KEYS(1151, 20), "SAVEPOINT inner", KEYS(1171, 30), "RELEASE inner",
      "INSERT INTO seen(key) VALUES (1201)", "RELEASE outer"}},
    {"merge", TABLE, NULL, {MERGE}},
    {"merge and keys in a transaction",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1160, 5), MERGE, KEYS(1165, 5), "COMMIT"}},
    {"clear", TABLE KEYS(1151, 60), NULL, {"INSERT INTO seen(seen) VALUES ('clear')"}},
    {"clear in a transaction",
     TABLE KEYS(1151, 60),
     NULL,
     {"BEGIN", KEYS(1211, 5), "INSERT INTO seen(seen) VALUES ('clear')", KEYS(1151, 20), "COMMIT"}},
    {"rotation", AGED, NULL, {ROTATE}},
    {"rotation and keys in a transaction",
     AGED,
     NULL,
     {"BEGIN", KEYS(1151, 5), ROTATE, KEYS(1156, 40), "COMMIT"}},
    {"rotations taken back to a savepoint",
     AGED,
     NULL,
     {"BEGIN", KEYS(1151, 5), ROTATE, "SAVEPOINT doubtful", KEYS(1156, 40), ROTATE, ROTATE,
      "ROLLBACK TO doubtful", "INSERT INTO seen(key) VALUES (1161)", "COMMIT"}},
    {"what a forgotten generation has left overwritten", AGED, NULL, {KEYS(1151, 60)}},
    {"asking",
     TABLE KEYS(1151, 60),
     NULL,
     {"SELECT key FROM seen WHERE key IN (1, 2, 600, 1150, 1151, 1210, 'absent')",
      "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 40 FROM c WHERE i < 1150) "
      "SELECT count(*), sum((SELECT 1 FROM seen WHERE key = i)) FROM c"}},
    {"describing", TABLE, NULL, {"SELECT info FROM seen", "SELECT filter FROM seen"}},
    {"creating", "", NULL, {"CREATE VIRTUAL TABLE seen USING bloom(capacity=1200)"}},
    {"creating and filling in a transaction",
     "CREATE TABLE other(x);",
     NULL,
     {"BEGIN", "CREATE VIRTUAL TABLE seen USING bloom(capacity=500, fpr=0.001)", KEYS(1, 40),
      "INSERT INTO seen(key) VALUES (41)", "COMMIT"}},
    {"dropping", TABLE, NULL, {"DROP TABLE seen"}},
    {"dropping and creating anew",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1151, 5), "DROP TABLE seen",
      "CREATE VIRTUAL TABLE seen USING bloom(capacity=300)", KEYS(1156, 5), "COMMIT"}},
    {"renaming", TABLE, NULL, {"ALTER TABLE seen RENAME TO other"}},
    {"renaming in a transaction",
     TABLE,
     NULL,
     {"BEGIN", KEYS(1151, 5), "ALTER TABLE seen RENAME TO other",
      "INSERT INTO other(key) VALUES (1156)", "COMMIT"}},
    {"VACUUM", TABLE "DELETE FROM seen_chunks WHERE id < 0;", NULL, {"VACUUM"}},
    {"a checkpoint",
     TABLE,
     NULL,
     {KEYS(1151, 60), "PRAGMA wal_checkpoint(TRUNCATE)", "INSERT INTO seen(key) VALUES (1211)",
      "PRAGMA wal_checkpoint"}},
    {"recovery after a kill",
     TABLE,
     KEYS(1151, 10) "; BEGIN;" KEYS(1161, 60),
     {"SELECT count(*) FROM seen WHERE key IN (1, 2, 600, 1151, 1160)",
      "INSERT INTO seen(key) VALUES (1161)"}},
};

static const struct mode {
    const char *title;
    const char *journal;
    bool small_cache;
} MODES[] = {
    {"rollback journal", "DELETE", false},
    {"rollback journal, small cache", "DELETE", true},
    {"WAL", "WAL", false},
    {"WAL, small cache", "WAL", true},
};

/* ---- What is going on ---- */

static const struct scenario *scenario;
static const struct mode *mode;
static const char *failure; /* its name; NULL while nothing fails */
static unsigned number;     /* of the call that fails */
static bool lasting;
static long attempts, errors_reported, kept;

void expect(bool holds, const char *format, ...) {
    va_list list;
    if (holds)
        return;
    if (scenario != NULL)
        printf("%s (%s): ", scenario->title, mode->title);
    if (failure != NULL)
        printf("%s %s call %u: ", failure, lasting ? "from" : "at", number);
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    puts("\n0 passed, 1 failed");
    exit(1);
}

/* ---- SQL ---- */

static sqlite3 *open_database(void) {
    sqlite3 *database;
    int code = sqlite3_open("io.db", &database);
    if (code == SQLITE_OK)
        code = sqlite3_bloom_init(database, NULL, NULL);
    expect(code == SQLITE_OK, "the database cannot be opened: %s", sqlite3_errmsg(database));
    sqlite3_extended_result_codes(database, 1);
    return database;
}

static void close_database(sqlite3 *database) {
    expect(sqlite3_close(database) == SQLITE_OK, "statements are left open");
}

static void append_value(sqlite3_str *text, sqlite3_stmt *row, int column) {
    if (sqlite3_column_type(row, column) != SQLITE_BLOB) {
        sqlite3_str_appendf(text, "%s ", sqlite3_column_text(row, column));
        return;
    }
    const unsigned char *bytes = sqlite3_column_blob(row, column);
    int length = sqlite3_column_bytes(row, column);
    sqlite3_uint64 digest = 0xcbf29ce484222325; /* FNV-1a: enough to tell chunks apart */
    for (int i = 0; i < length; i++)
        digest = (digest ^ bytes[i]) * 0x100000001b3;
    sqlite3_str_appendf(text, "%016llx ", digest);
}

/* Runs SQL and appends the rows to text. */
static int run(sqlite3 *database, const char *sql, sqlite3_str *text) {
    int code = SQLITE_OK;
    while (code == SQLITE_OK && *sql != '\0') {
        sqlite3_stmt *statement;
        code = sqlite3_prepare_v2(database, sql, -1, &statement, &sql);
        if (code != SQLITE_OK || statement == NULL)
            continue;
        while (sqlite3_step(statement) == SQLITE_ROW)
            for (int i = 0; i < sqlite3_column_count(statement); i++)
                append_value(text, statement, i);
        code = sqlite3_finalize(statement);
    }
    return code;
}

/* The rows of SQL that does not fail, off SQLite's heap, which is to be empty after each attempt:
 * to be freed. */
static char *must_run(sqlite3 *database, const char *sql) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, " "); /* a text of nothing would be NULL */
    int code = run(database, sql, text);
    expect(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(database));
    char *rows = sqlite3_str_finish(text), *copy = strdup(rows);
    sqlite3_free(rows);
    return copy;
}

/* The rows of the SQL that the rows of a query are. */
static char *must_run_rows(sqlite3 *database, const char *query) {
    char *sql = must_run(database, query);
    char *rows = must_run(database, sql);
    free(sql);
    return rows;
}

/* All there is to say about the database: schema, every row to the byte, what filter tables say
 * about themselves, and how many keys of a sample they have. */
static char *state_of(sqlite3 *database) {
    return must_run_rows(
        database,
        "SELECT 'SELECT name, sql FROM sqlite_master ORDER BY name;' UNION ALL SELECT * FROM ("
        "SELECT printf(CASE WHEN rootpage > 0 THEN 'SELECT * FROM \"%w\";' ELSE 'SELECT info FROM "
        "\"%w\"; WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + CASE WHEN i < 1150 THEN 29 "
        "ELSE 3 END FROM c WHERE i < 1240) SELECT count(*) FROM c WHERE EXISTS (SELECT 1 FROM "
        "\"%w\" WHERE key = i);' END, name, name) FROM sqlite_master WHERE type = 'table' ORDER BY "
        "name)");
}

/* Goes on working: adds a key to the table, or makes a table when there is none. */
static void go_on(sqlite3 *database) {
    char *found = must_run_rows(
        database,
        "SELECT printf('%sINSERT INTO \"%w\"(key) VALUES (''later''); SELECT count(*) FROM \"%w\" "
        "WHERE key = ''later''', CASE WHEN count(*) > 0 THEN '' ELSE 'CREATE VIRTUAL TABLE seen "
        "USING bloom(capacity=10);' END, coalesce(max(name), 'seen'), coalesce(max(name), 'seen')) "
        "FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%'");
    expect(strcmp(found, " 1 ") == 0, "the key that was added later is not found");
    free(found);
}

/* ---- What a run without failures gives ---- */

static struct {
    unsigned char *start; /* the database file */
    sqlite3_int64 start_size;
    int count;                         /* of statements */
    char *answers[STATEMENTS_MAXIMUM]; /* of each statement */
    /* After the first i statements and a key more: what is committed; what is there when a COMMIT
     * comes before that key. */
    char *committed[STATEMENTS_MAXIMUM + 1];
    char *kept[STATEMENTS_MAXIMUM + 1];
} expected;

/* A connection to the database of the scenario as it is at first. */
static sqlite3 *start(void) {
    disk_format(1, 512, true);
    disk_put("/io.db", expected.start, (size_t)expected.start_size);
    sqlite3 *database = open_database();
    if (scenario->unfinished != NULL) {
        free(must_run(database, "PRAGMA cache_size = 5"));
        free(must_run(database, scenario->unfinished));
        disk_watch(CRASH_KILL, 1); /* before anything is tidied up */
        free(must_run(database, "ROLLBACK"));
        close_database(database);
        expect(disk_has_image(), "there is nothing to recover");
        disk_crash();
        database = open_database();
    }
    if (mode->small_cache)
        free(must_run(database, "PRAGMA cache_size = 5"));
    return database;
}

static void prepare_start(void) {
    disk_format(1, 512, true);
    sqlite3 *database = open_database();
    char *sql = sqlite3_mprintf(
        "PRAGMA page_size = 512; PRAGMA journal_mode = %s; PRAGMA cache_size = 5; %s",
        mode->journal, scenario->before);
    free(must_run(database, sql));
    sqlite3_free(sql);
    unsigned char *bytes = sqlite3_serialize(database, "main", &expected.start_size, 0);
    expected.start = malloc((size_t)expected.start_size + 1);
    if (bytes != NULL) /* of an empty database nothing */
        memcpy(expected.start, bytes, (size_t)expected.start_size);
    sqlite3_free(bytes);
    close_database(database);
}

static char *closing_state(int count, const char *ending) {
    sqlite3 *database = start();
    for (int i = 0; i < count; i++)
        free(must_run(database, scenario->statements[i]));
    if (!sqlite3_get_autocommit(database))
        free(must_run(database, ending));
    go_on(database);
    char *state = state_of(database);
    close_database(database);
    return state;
}

static void expect_all(void) {
    prepare_start();
    sqlite3 *database = start();
    expected.count = 0;
    for (int i = 0; i < STATEMENTS_MAXIMUM && scenario->statements[i] != NULL; i++) {
        expected.answers[i] = must_run(database, scenario->statements[i]);
        expected.count = i + 1;
    }
    close_database(database);
    for (int i = 0; i <= expected.count; i++) {
        expected.committed[i] = closing_state(i, "ROLLBACK");
        expected.kept[i] = closing_state(i, "COMMIT");
    }
}

static void forget_all(void) {
    free(expected.start);
    for (int i = 0; i <= expected.count; i++) {
        if (i < expected.count)
            free(expected.answers[i]);
        free(expected.committed[i]);
        free(expected.kept[i]);
    }
}

/* ---- Attempts ---- */

static bool is_of_the_file_system(int code) {
    code &= 0xff;
    return code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_CANTOPEN;
}

/* The database as it is found in its files: by a process that comes after this one. */
static void look_into_files(const char *wanted, const char *or_wanted) {
    sqlite3 *database = open_database();
    char *state = state_of(database);
    expect(strcmp(state, wanted) == 0 || strcmp(state, or_wanted) == 0,
           "the database is\n  %s\nnot\n  %s\nnor\n  %s", state, wanted, or_wanted);
    free(state);
    char *integrity = must_run(database, "PRAGMA integrity_check");
    expect(strcmp(integrity, " ok ") == 0, "integrity_check says %s", integrity);
    free(integrity);
    close_database(database);
}

/* Runs the statements until one fails. Returns how many succeeded. */
static int run_statements(sqlite3 *database) {
    for (int i = 0; i < expected.count; i++) {
        sqlite3_str *text = sqlite3_str_new(NULL);
        sqlite3_str_appendall(text, " ");
        int code = run(database, scenario->statements[i], text);
        char *answer = sqlite3_str_finish(text);
        expect(code == SQLITE_OK || is_of_the_file_system(code), "%s: result %d (%s)",
               scenario->statements[i], code, sqlite3_errmsg(database));
        expect(code != SQLITE_OK || strcmp(answer, expected.answers[i]) == 0, "%s gives %s, not %s",
               scenario->statements[i], answer, expected.answers[i]);
        sqlite3_free(answer);
        if (code != SQLITE_OK)
            return i;
    }
    return expected.count;
}

/* Ends the transaction that a failed statement may have left open. Returns whether it was
 * committed. After ROLLBACK TO that failed nobody could want it committed; after RELEASE of the
 * outermost savepoint that failed, SQLite has rolled everything back, but stays in a transaction,
 * so that COMMIT commits nothing. */
static bool end_transaction(sqlite3 *database, const char *failed) {
    bool may_commit = strncmp(failed, "ROLLBACK TO", 11) != 0 && strncmp(failed, "RELEASE", 7) != 0;
    bool committed = false;
    if (!sqlite3_get_autocommit(database) && number % 2 == 0 && may_commit) {
        disk_forgive();
        committed = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
        kept += committed;
    }
    /* ROLLBACK itself may meet a failure that lasts. */
    if (!sqlite3_get_autocommit(database))
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    disk_forgive();
    if (!sqlite3_get_autocommit(database))
        free(must_run(database, "ROLLBACK"));
    return committed;
}

/* Runs the scenario with its n-th call failing. Returns false when there was no n-th. */
static bool attempt(unsigned kind) {
    sqlite3 *database = start();
    failure = disk_fail(kind, number, lasting);
    int done = run_statements(database);
    bool failed = done < expected.count;
    int next = failed ? done + 1 : done; /* a COMMIT that failed may have been one nevertheless */
    bool committed = end_transaction(database, failed ? scenario->statements[done] : "");
    errors_reported += failed;
    go_on(database);
    close_database(database);
    expect(sqlite3_memory_used() == 0, "%lld bytes leaked", sqlite3_memory_used());
    expect(disk_open_files() == 0, "%u files left open", disk_open_files());
    bool has_failed = disk_has_failed();
    look_into_files(committed ? expected.kept[done] : expected.committed[done],
                    committed ? expected.kept[done] : expected.committed[next]);
    failure = NULL;
    return has_failed;
}

/* Every failure in the scenario and mode. */
static void fail_everywhere(void) {
    expect_all();
    for (unsigned kind = 0; kind < disk_failures(); kind++)
        for (int i = 0; i <= 1; i++) {
            if (strstr(disk_fail(kind, 0, false), "BUSY") != NULL)
                continue; /* no failure: a checkpoint tells it in a row */
            lasting = i == 1;
            /* Of the many like calls of a long statement, a sample. */
            for (number = 1; attempt(kind); number += 1 + number / 3)
                attempts++;
        }
    forget_all();
}

int main(void) {
    enum { SCENARIO_COUNT = sizeof SCENARIOS / sizeof *SCENARIOS };
    enum { MODE_COUNT = sizeof MODES / sizeof *MODES };
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* complaints are seen even if a sanitizer ends it */
    /* The journal of a statement becomes a file at once: opening it is a failure that undoes the
     * statement alone, whereas SQLite undoes the transaction for most others. */
    sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, 0);
    sqlite3_initialize();
    disk_install();
    for (int i = 0; i < SCENARIO_COUNT; i++)
        for (int j = 0; j < MODE_COUNT; j++) {
            scenario = &SCENARIOS[i];
            mode = &MODES[j];
            fail_everywhere();
        }
    printf("figures: %ld attempts with a failure, %ld ended in an error, %ld transactions "
           "committed after a failed statement\n",
           attempts, errors_reported, kept);
    expect(errors_reported > attempts / 2 && kept > 100, "the failures did not get there");
    printf("%d passed, 0 failed\n", SCENARIO_COUNT * MODE_COUNT);
    return 0;
}
