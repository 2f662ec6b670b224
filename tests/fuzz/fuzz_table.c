/* Arbitrary content of a filter table's shadow table: every operation ends in an answer or an
 * error. The first bytes say which table is damaged, how, and what is done then; the rest is what
 * is written.
 *
 * The tables stay from one input to the next, and their shadow tables get back the rows that they
 * had. fuzz_database.c has what is dropped, renamed or has triggers. */
#include "fuzz.h"

/* t has one layer of several chunks, g several layers, a generations, c counters. */
static const char SETUP[] =
    "PRAGMA page_size = 512;"
    "CREATE TABLE numbers(i INTEGER PRIMARY KEY);"
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 20) "
    "INSERT INTO numbers SELECT i FROM c;"
    "CREATE VIRTUAL TABLE t USING bloom(capacity=600, fpr=0.01);"
    "INSERT INTO t(key) VALUES (1), ('a'), (x'00');"
    "CREATE VIRTUAL TABLE g USING bloom(capacity=3, fpr=0.1);"
    "INSERT INTO g(key) SELECT i FROM numbers;"
    "CREATE VIRTUAL TABLE a USING bloom(capacity=3, fpr=0.1, generations=2, key=TEXT);"
    "INSERT INTO a(key) SELECT i FROM numbers; INSERT INTO a(a) VALUES ('rotate');"
    "INSERT INTO a(key) VALUES (1);"
    "CREATE VIRTUAL TABLE c USING bloom(capacity=9, fpr=0.3, layout=counting);"
    "INSERT INTO c(key) SELECT i FROM numbers;";

/* ?1 is the bytes, ?2 an integer made of them. The last ones change a part of a row. */
static const char *const VALUES[] = {
    "?1",
    "?2",
    "CAST(?1 AS TEXT)",
    "substr(?1, 1, 64)",
    "CAST(substr(?1, 1, length(data)) AS BLOB)",
    "CAST(?1 || substr(data, 1 + length(?1)) AS BLOB)",
    "CAST(substr(data, 1, 8) || ?1 || substr(data, 9 + length(?1)) AS BLOB)",
    "CAST(substr(data, 1, ?2 & 63) || ?1 || substr(data, 1 + (?2 & 63) + length(?1)) AS BLOB)",
};
static const char *const ROWS[] = {"id = 0", "id > 0", "id >> 40 & 1", "id >> 40 = 0", "1"};
enum { VALUE_COUNT = sizeof VALUES / sizeof *VALUES, ROW_COUNT = sizeof ROWS / sizeof *ROWS };

static const char *const DAMAGES[] = {
    "DELETE FROM %w_data",
    "DELETE FROM %w_data WHERE id = 0",
    "DELETE FROM %w_data WHERE id = (SELECT max(id) FROM %w_data)",
    "UPDATE OR REPLACE %w_data SET id = ?2 WHERE id > 0",
    "UPDATE OR REPLACE %w_data SET id = id + ?2 %% 3",
    "UPDATE OR REPLACE %w_data SET id = id + (1 << 40) * (?2 %% 70) WHERE id > 0",
    "INSERT OR REPLACE INTO %w_data SELECT ?2, data FROM %w_data",
    "INSERT OR REPLACE INTO %w_data VALUES (?2, ?1)",
};
enum { DAMAGE_COUNT = sizeof DAMAGES / sizeof *DAMAGES };

static const char *const OPERATIONS[] = {
    "SELECT 1 FROM %w WHERE key = ?1",
    "INSERT INTO %w(key) VALUES (?1)",
    "SELECT key FROM %w WHERE key IN ('a', 1, 2)",
    "INSERT OR IGNORE INTO %w(key) VALUES ('a'), (2), (?1), (?2)",
    "SELECT info FROM %w",
    "SELECT filter FROM %w",
    "BEGIN",
    "INSERT INTO %w(key) VALUES (?2)",
    "SAVEPOINT a",
    "INSERT INTO %w(key) SELECT i + ?2 FROM numbers",
    "ROLLBACK TO a",
    "INSERT INTO %w(%w, key) VALUES ('merge', bloom_add(bloom_new(600, 0.009), 1))",
    "SELECT info FROM %w",
    "COMMIT",
    "INSERT INTO %w(%w, key) VALUES ('merge', bloom_add(bloom_new(3, 0.1 * 9 / 10), ?1))",
    "INSERT INTO %w(%w, key) VALUES (CAST(?1 AS TEXT), ?1)",
    "INSERT INTO %w(%w, key) SELECT 'add_all', bloom_hashes(i + ?2, 'key=TEXT') FROM numbers",
    "INSERT INTO %w(%w, key) SELECT 'add_all', bloom_hashes(i + ?2) FROM numbers",
    "DELETE FROM %w WHERE key IN (1, 2, ?2)",
    "INSERT INTO %w(%w) VALUES ('rotate')",
    "SELECT count(*) FROM numbers JOIN %w ON key = i",
    "PRAGMA integrity_check",
    "INSERT INTO %w(%w) VALUES ('clear')",
    "INSERT INTO %w(key) VALUES (?1)",
    "SELECT info FROM %w",
};
enum { OPERATION_COUNT = sizeof OPERATIONS / sizeof *OPERATIONS };

enum { TABLES = 4 };

static const char *const NAMES[TABLES] = {"t", "g", "a", "c"};

static sqlite3 *database;
static struct table {
    sqlite3_stmt *updates[VALUE_COUNT * ROW_COUNT], *damages[DAMAGE_COUNT];
    sqlite3_stmt *operations[OPERATION_COUNT], *restore[2];
} tables[TABLES];

/* Replaces %w, as often as it comes. */
static sqlite3_stmt *prepare(const char *format, const char *name) {
    char *sql = sqlite3_mprintf(format, name, name, name);
    sqlite3_stmt *statement = fuzz_prepare(database, sql);
    sqlite3_free(sql);
    return statement;
}

static sqlite3_stmt *damage(struct table *table, unsigned choice) {
    choice %= VALUE_COUNT * ROW_COUNT + DAMAGE_COUNT;
    return choice < DAMAGE_COUNT ? table->damages[choice] : table->updates[choice - DAMAGE_COUNT];
}

static void open_table(struct table *table, const char *name) {
    char *sql = sqlite3_mprintf("CREATE TABLE saved_%w AS SELECT * FROM %w_data", name, name);
    fuzz_must(database, sql);
    sqlite3_free(sql);
    table->restore[0] = prepare("DELETE FROM %w_data", name);
    table->restore[1] = prepare("INSERT INTO %w_data SELECT * FROM saved_%w", name);
    for (int i = 0; i < VALUE_COUNT * ROW_COUNT; i++) {
        sql = sqlite3_mprintf("UPDATE %w_data SET data = %s WHERE %s", name,
                              VALUES[i % VALUE_COUNT], ROWS[i / VALUE_COUNT]);
        table->updates[i] = fuzz_prepare(database, sql);
        sqlite3_free(sql);
    }
    for (int i = 0; i < DAMAGE_COUNT; i++)
        table->damages[i] = prepare(DAMAGES[i], name);
    for (int i = 0; i < OPERATION_COUNT; i++)
        table->operations[i] = prepare(OPERATIONS[i], name);
}

/* Has the tables read their row 0 again. */
static void reopen_tables(void) {
    fuzz_work = FUZZ_WORK_MOST;
    sqlite3_exec(database, "PRAGMA writable_schema = RESET", NULL, NULL, NULL);
}

static void open_database(void) {
    database = fuzz_open();
    fuzz_must(database, SETUP);
    for (int i = 0; i < TABLES; i++)
        open_table(&tables[i], NAMES[i]);
}

static void run(sqlite3_stmt *statement, const uint8_t *bytes, size_t size) {
    uint8_t number[8] = {0};
    memcpy(number, bytes, size < sizeof number ? size : sizeof number);
    sqlite3_bind_blob64(statement, 1, bytes, size, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)bloom_load64(number));
    fuzz_work = FUZZ_WORK_MOST;
    int code = fuzz_step(statement) & 0xff;
    if (code == SQLITE_INTERNAL || code == SQLITE_MISUSE) {
        fprintf(stderr, "%s: result %d: %s\n", sqlite3_sql(statement), code,
                sqlite3_errmsg(database));
        abort();
    }
    sqlite3_clear_bindings(statement);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { FIRST = 3, OPERATIONS_EACH = 8 };
    if (size < FIRST)
        return 0;
    if (database == NULL)
        open_database();
    struct table *table = &tables[data[0] % TABLES];
    const bool reopens = data[0] >> 3 == 31; /* which takes long */
    uint8_t *bytes = fuzz_copy(data + FIRST, size - FIRST);
    size -= FIRST;
    run(damage(table, data[1]), bytes, size);
    if (data[0] & 4)
        run(damage(table, data[2]), bytes, size);
    if (reopens)
        reopen_tables();
    for (int i = 0; i < OPERATIONS_EACH; i++)
        run(table->operations[(data[0] / 16 * 2 + i) % OPERATION_COUNT], bytes, size);
    free(bytes);
    if (!sqlite3_get_autocommit(database))
        fuzz_must(database, "ROLLBACK");
    for (int i = 0; i < 2; i++)
        if (fuzz_work = FUZZ_WORK_MOST, fuzz_step(table->restore[i]) != SQLITE_DONE)
            abort();
    if (reopens)
        reopen_tables();
    return 0;
}
