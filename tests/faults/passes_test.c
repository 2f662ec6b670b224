/* Long work can be stopped, by a progress handler and by sqlite3_interrupt. No clock
 * decides when: each statement is stopped at places that are the same in every run. It must end in
 * SQLITE_INTERRUPT, leave the database as it was and no memory allocated, and succeed next time.
 *
 * Functions over megabytes ask by a nested statement whether to stop. How often they ask follows
 * from how much they process. They are stopped at the first question, at the second, and so on to
 * the last. Commands of filter tables run statements for each chunk, in which SQLite itself asks.
 * They are stopped at operations that are spread evenly over all that they run.
 */
#include "connection.h"

#include "sqlite/poll.h"

static int questions, stop_at; /* asked so far; that which is answered */
static bool answers;           /* the one that runs */
static bool interrupts;        /* by sqlite3_interrupt instead of the handler's answer */

static int count_questions(unsigned which, void *unused, void *statement, void *sql) {
    (void)which, (void)unused, (void)statement;
    if (strstr(sql, "-- WITH RECURSIVE c(i)") == sql) {
        questions++;
        answers = questions == stop_at;
    }
    return 0;
}

static int stop(sqlite3 *database) {
    if (!interrupts)
        return 1;
    sqlite3_interrupt(database);
    return 0;
}

static int answer(void *database) {
    const bool stops = answers;
    answers = false;
    return stops ? stop(database) : 0;
}

/* The values of f are of some megabytes; n has the numbers from 1. */
/* What Parquet wrote has no number of keys, so filters of two sizes can be united. */
#define PARQUET(keys)                                                                              \
    "bloom_import(bloom_export(bloom_new(" #keys ", 0.01, 'parquet'), 'parquet'), 'parquet')"
static const char PREPARATION[] =
    "CREATE TABLE f AS SELECT bloom_new(8000000) AS blocked, bloom_new(8000000, 0.01, 'classic') "
    "AS classic, bloom_new(4000000, 0.01, 'counting') AS counting, bloom_export(bloom_new(8000000, "
    "0.01, 'classic'), 'guava') AS guava, " PARQUET(8000000) " AS parquet, " PARQUET(
        4000000) " AS half, replace(hex(zeroblob(300000)), '00', '#' || x'0a') AS remarks, "
                 "hex(zeroblob(300000)) AS digits, bloom_new(100000000, NULL, 'bitmap') AS "
                 "numbers, bloom_new(50000000, NULL, 'bitmap') AS fewer;"
                 "CREATE TABLE n(x INTEGER PRIMARY KEY);" NUMBERS(
                     100000) "INSERT INTO n SELECT x FROM n;"
                             "CREATE VIRTUAL TABLE seen USING bloom(capacity=200000);"
                             "CREATE VIRTUAL TABLE full USING bloom(capacity=200000, "
                             "growth=error);";

/* Part of the work of a statement, and how often it asks. */
struct work {
    const char *amount; /* SQL over f: bytes, keys or numbers; NULL ends a list */
    uint64_t unit;      /* how many come before a question */
    enum {
        AFTER_EACH, /* unit */
        BETWEEN,    /* two units */
        AT_END      /* if there was at least a unit */
    } when;
    uint64_t times;
};

/* The units are those of the code. The keys of a set come in 512 portions, or 256 where they are
 * sorted, and a question waits for the end of its portion. So it comes after 30,000 to 30,500 keys,
 * which is three times in 100,000. Likewise the hashes that are added to a table come in chunks of
 * about 800, and two questions in 50,000. */
#define COPY(bytes)                                                                                \
    { bytes, BLOOM_SQL_STRETCH, BETWEEN, 1 }
#define SCAN(bytes)                                                                                \
    { bytes, BLOOM_SQL_STRETCH, AFTER_EACH, 1 }
#define CALL(bytes)                                                                                \
    { bytes, BLOOM_SQL_STRETCH, AT_END, 1 }
#define LIST(bytes)                                                                                \
    { bytes, 1 << 18, BETWEEN, 1 }
#define SEARCH(numbers)                                                                            \
    { numbers, 8 * BLOOM_SQL_STRETCH, BETWEEN, 1 }
#define KEYS(keys, passes)                                                                         \
    { keys, 30000, AFTER_EACH, passes }
#define HASHES(hashes, passes)                                                                     \
    { hashes, 20000, AFTER_EACH, passes }

static const struct pass {
    const char *sql;
    struct work work[5];
} PASSES[] = {
    {"SELECT length(bloom_new(100000000, NULL, 'bitmap'))", {CALL("length(numbers)")}},
    {"SELECT bloom_add(blocked, 1) FROM f", {CALL("length(blocked)")}},
    {"SELECT bloom_count(blocked) FROM f", {SCAN("length(blocked)")}},
    {"SELECT bloom_fpr(classic) FROM f", {CALL("length(classic)")}},
    {"SELECT bloom_info(counting) FROM f", {SCAN("length(counting)")}},
    {"SELECT bloom_remove(counting, 1) FROM f", {CALL("length(counting)")}},
    {"SELECT bloom_convert(counting, 'blocked') FROM f", {CALL("length(counting) / 4")}},
    /* The first filter is copied, each other one is united with the copy, and the copy is returned.
     */
    {"SELECT bloom_union(blocked, blocked) FROM f",
     {CALL("length(blocked)"), SCAN("length(blocked)"), CALL("length(blocked)")}},
    {"SELECT bloom_intersect(classic, classic, classic) FROM f",
     {CALL("length(classic)"), SCAN("length(classic)"), SCAN("length(classic)"),
      CALL("length(classic)")}},
    {"SELECT bloom_union_agg(blocked) FROM (SELECT blocked FROM f UNION ALL SELECT blocked FROM f)",
     {CALL("length(blocked)"), SCAN("length(blocked)"), CALL("length(blocked)")}},
    {"SELECT bloom_union(fewer, numbers) FROM f",
     {CALL("length(fewer)"), SCAN("length(fewer)"), CALL("length(numbers)")}},
    /* The larger one is halved first, whichever it is. */
    {"SELECT bloom_union(parquet, half) FROM f",
     {CALL("length(parquet)"), CALL("length(parquet)"), SCAN("length(half) - 64"),
      CALL("length(half)")}},
    {"SELECT bloom_intersect(half, parquet) FROM f",
     {CALL("length(half)"), CALL("length(parquet)"), SCAN("length(half) - 64"),
      CALL("length(half)")}},
    {"SELECT bloom_export(classic, 'guava') FROM f", {CALL("length(guava)")}},
    {"SELECT bloom_export(parquet, 'parquet') FROM f", {CALL("length(parquet)")}},
    {"SELECT bloom_import(guava, 'guava') FROM f", {CALL("length(classic)")}},
    {"SELECT count(*) FROM f, bloom_list(remarks)", {LIST("length(remarks)")}},
    {"SELECT count(*) FROM f, bloom_list(digits)", {LIST("length(digits)")}},
    {"SELECT count(*) FROM f, bloom_list('a.example' || x'0a' || remarks)",
     {LIST("length(remarks)")}},
    /* 12 MB without a break, which are searched for LF and for CR; then of breaks alone. */
    {"SELECT count(*) FROM bloom_lines((SELECT replace(hex(zeroblob(6000000)), '0', 'a')))",
     {COPY("12000000"), COPY("12000000"), COPY("12000000")}},
    {"SELECT count(*) FROM bloom_lines((SELECT replace(hex(zeroblob(6000000)), '0', x'0a')))",
     {COPY("12000000"), SCAN("12000000")}},
    {"SELECT value FROM bloom_integers(zeroblob(12000000)) LIMIT 1", {COPY("12000000")}},
    /* The argument is copied, and that of the next row is compared with it. A pin is the copy. */
    {"SELECT count(*) FROM f, bloom_keys(numbers)", {COPY("length(numbers)"), SEARCH("100000000")}},
    {"SELECT key FROM f, bloom_keys(numbers) ORDER BY key DESC",
     {COPY("length(numbers)"), SEARCH("100000000")}},
    {"SELECT count(*) FROM f, (SELECT 1 UNION ALL SELECT 2), bloom_keys(numbers)",
     {COPY("length(numbers)"), SEARCH("100000000"), COPY("length(numbers)"), SEARCH("100000000")}},
    {"SELECT count(*) FROM bloom_keys((SELECT bloom_pin(numbers) FROM f))",
     {COPY("length(numbers)"), SEARCH("100000000")}},
    /* The keys are counted, then added. A set is put in one piece, then sorted; where keys have
     * been dropped because they came twice, others are looked for before. */
    {"SELECT bloom_agg(x) FROM n", {KEYS("100000", 2)}},
    {"SELECT bloom_agg(x, NULL, 0.01, 'classic') FROM n", {KEYS("100000", 2)}},
    {"SELECT bloom_agg(x, 8000000) FROM n WHERE x < 9", {CALL("length(blocked)")}},
    {"SELECT bloom_hashes(x) FROM n", {KEYS("100000", 2)}},
    {"SELECT bloom_hashes(y) FROM (SELECT 1 AS y FROM n WHERE x <= 9000 UNION ALL SELECT x FROM n)",
     {KEYS("100000", 3)}},
    {"INSERT INTO seen(seen, key) SELECT 'add_all', bloom_hashes(x) FROM n WHERE x <= 50000",
     {KEYS("50000", 2), HASHES("50000", 1)}},
    /* The first pass finds out whether all keys go in. */
    {"INSERT INTO full(full, key) SELECT 'add_all', bloom_hashes(x) FROM n WHERE x <= 50000",
     {KEYS("50000", 2), HASHES("50000", 2)}},
};

static int questions_of(sqlite3 *database, const struct pass *pass) {
    uint64_t sum = 0;
    for (const struct work *work = pass->work; work->amount != NULL; work++) {
        char *sql = sqlite3_mprintf("SELECT %s FROM f", work->amount);
        const uint64_t amount = (uint64_t)number(database, sql);
        sqlite3_free(sql);
        const uint64_t units = (amount - (work->when == BETWEEN)) / work->unit;
        sum += work->times * (work->when == AT_END && units > 1 ? 1 : units);
    }
    return (int)sum;
}

/* Stops a statement at each of its questions, then not at all. sqlite3_interrupt is called at the
 * first one only: it lasts until the statement ends, and so would hide that a later answer was
 * ignored. */
static void stop_pass(sqlite3 *database, const char *sql, int expected) {
    questions = 0;
    stop_at = interrupts = 1;
    require(expected == 0 || try(database, NULL, "%s", sql) == SQLITE_INTERRUPT,
            "%s: is not interrupted", sql);
    interrupts = false;
    for (stop_at = 1; stop_at <= expected + 1; stop_at++) {
        questions = 0;
        int code = try(database, NULL, "%s", sql);
        const bool stops = stop_at <= expected;
        require(code == (stops ? SQLITE_INTERRUPT : SQLITE_OK),
                "%s: stopped at question %d of %d: result %d", sql, stop_at, expected, code);
        require(questions == stop_at - !stops, "%s: stopped at question %d of %d: asks %d", sql,
                stop_at, expected, questions);
        if (strncmp(sql, "INSERT", 6) == 0) { /* all keys, or none */
            char *count = sqlite3_mprintf("SELECT count(*) FROM n JOIN %.4s ON key = x "
                                          "WHERE x <= 50000",
                                          sql + 12);
            require_number(database, stops ? 0 : 50000, count);
            sqlite3_free(count);
        }
    }
}

static sqlite3 *open_for_questions(void) {
    sqlite3 *database = open_database(":memory:");
    run(database, PREPARATION);
    sqlite3_trace_v2(database, SQLITE_TRACE_STMT, count_questions, NULL);
    sqlite3_progress_handler(database, 100, answer, database);
    return database;
}

static void each_question(void) {
    sqlite3 *database = open_for_questions();
    for (unsigned i = 0; i < COUNT_OF(PASSES); i++)
        stop_pass(database, PASSES[i].sql, questions_of(database, &PASSES[i]));
    close_database(database);
    require(sqlite3_memory_used() == 0, "%lld bytes leaked", sqlite3_memory_used());
}

/* Keys are settled, digested, counted and dealt, in portions as above. Then they are loaded in
 * portions, and assigned 16,384 at a time, with one count of both. The first seed serves these
 * keys, or some of the passes would come again. */
static void fuse_questions(void) {
    static const char SQL[] = "SELECT bloom_agg(x, NULL, 0.01, 'fuse') FROM n";
    enum { KEYS = 100000, UNIT = 30000, STRETCH = 16384, FOUR_PASSES = 4 * (KEYS / UNIT) };
    sqlite3 *database = open_for_questions();
    questions = stop_at = 0;
    run(database, SQL);
    require(questions >= FOUR_PASSES + 2 * KEYS / (UNIT + STRETCH) &&
                questions <= FOUR_PASSES + 2 * KEYS / UNIT,
            "%s: asks %d times", SQL, questions);
    stop_pass(database, SQL, questions);
    close_database(database);
}

/* Commands of tables */

static long operations, stop_after; /* of SQLite, so far; the one to stop at, or 0 */

static int count_operation(void *database) {
    return ++operations == stop_after ? stop(database) : 0;
}

/* A table of 300 chunks or more, and how to see that nothing has changed: by the rows, and by what
 * is found, since the connection keeps copies of chunks. */
#define TABLE(options)                                                                             \
    "PRAGMA page_size = 512; CREATE TABLE n(x INTEGER PRIMARY KEY);" NUMBERS(                      \
        2000) "INSERT INTO n SELECT x FROM n; CREATE VIRTUAL TABLE seen USING "                    \
              "bloom(capacity=120000" options "); CREATE TABLE made(f);"
#define FILLED "INSERT INTO seen(key) SELECT x FROM n WHERE x <= 1000;"
#define GIVEN "INSERT INTO made SELECT bloom_agg(x, (SELECT filter FROM seen)) FROM n;"
static const char STATE[] =
    "SELECT (SELECT group_concat(id || hex(bloom_hash(data))) FROM (SELECT id, data FROM seen_data "
    "ORDER BY id)) || (SELECT count(*) FROM n JOIN seen ON key = x)";

static const struct {
    const char *preparation, *sql;
} COMMANDS[] = {
    {TABLE("") GIVEN, "INSERT INTO seen(seen, key) SELECT 'merge', f FROM made"},
    {TABLE("") GIVEN FILLED, "INSERT INTO seen(seen, key) SELECT 'merge', f FROM made"},
    {TABLE(""), "INSERT INTO seen(seen, key) SELECT 'add_all', bloom_hashes(x) FROM n"},
    {TABLE("") FILLED, "INSERT INTO seen(seen, key) SELECT 'add_all', bloom_hashes(x) FROM n"},
    {TABLE(", growth=error") FILLED,
     "INSERT INTO seen(seen, key) SELECT 'add_all', bloom_hashes(x) FROM n"},
    {TABLE("") FILLED, "INSERT INTO seen(key) SELECT -x FROM n"},
    {TABLE("") FILLED, "INSERT OR IGNORE INTO seen(key) SELECT x FROM n"},
    {TABLE(", layout=counting") FILLED, "DELETE FROM seen WHERE key IN (SELECT x FROM n)"},
    {TABLE("") FILLED, "INSERT INTO seen(seen) VALUES ('clear')"},
    {TABLE(", generations=3") FILLED, "INSERT INTO seen(seen) VALUES ('clear')"},
    {TABLE("") FILLED, "SELECT info FROM seen"},
    {TABLE("") FILLED, "SELECT filter FROM seen"},
    {TABLE("") FILLED, "SELECT count(*) FROM n CROSS JOIN seen ON key = x"},
};

/* From sqlite3_malloc; NULL when there is no table. */
static char *state_of(sqlite3 *database) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, STATE, -1, &statement, NULL) != SQLITE_OK)
        return NULL;
    require(sqlite3_step(statement) == SQLITE_ROW, "no state: %s", sqlite3_errmsg(database));
    char *state = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return state;
}

static bool same_state(sqlite3 *database, const char *expected) {
    char *found = state_of(database);
    const bool same =
        found == NULL || expected == NULL ? found == expected : strcmp(found, expected) == 0;
    sqlite3_free(found);
    return same;
}

static int run_counted(sqlite3 *database, const char *sql, long stop_then) {
    operations = 0;
    stop_after = stop_then;
    sqlite3_progress_handler(database, 1, count_operation, database);
    int code = try(database, NULL, "%s", sql);
    sqlite3_progress_handler(database, 0, NULL, NULL);
    return code;
}

/* Each statement runs a few operations before its loop and after it, and hundreds in it. */
static void commands_of_tables(void) {
    enum { MOMENTS = 24, OPERATIONS_LEAST = 1000 };
    for (unsigned i = 0; i < COUNT_OF(COMMANDS); i++) {
        const char *sql = COMMANDS[i].sql;
        sqlite3 *database = open_database(":memory:");
        run(database, COMMANDS[i].preparation);
        char *before = state_of(database);
        run(database, "SAVEPOINT whole");
        require(run_counted(database, sql, 0) == SQLITE_OK, "%s: fails", sql);
        const long all = operations;
        char *after = state_of(database);
        run(database, "ROLLBACK TO whole; RELEASE whole");
        require(all >= OPERATIONS_LEAST, "%s: %ld operations", sql, all);
        for (stop_at = 1; stop_at <= MOMENTS; stop_at++) {
            const long moment = all * (2 * stop_at - 1) / (2 * MOMENTS);
            interrupts = stop_at % 2 == 0;
            int code = run_counted(database, sql, moment);
            require(code == SQLITE_INTERRUPT, "%s: stopped at operation %ld of %ld: result %d", sql,
                    moment, all, code);
            require(same_state(database, before), "%s: stopped at operation %ld of %ld: changed",
                    sql, moment, all);
        }
        require(run_counted(database, sql, 0) == SQLITE_OK && same_state(database, after),
                "%s: does not succeed afterwards", sql);
        sqlite3_free(before);
        sqlite3_free(after);
        close_database(database);
        require(sqlite3_memory_used() == 0, "%s: %lld bytes leaked", sql, sqlite3_memory_used());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("What takes long is stopped at each of its questions", each_question),
        TEST("Building a fuse filter is stopped at each of its questions", fuse_questions),
        TEST("A command of a table is stopped amid its chunks", commands_of_tables),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
