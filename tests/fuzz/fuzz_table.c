/* Arbitrary content of a filter table's shadow tables: every operation ends in an answer or an
 * error. The first bytes say which of two tables is damaged, how, and what is done then; the rest
 * is what is written.
 *
 * The tables stay from one input to the next; their shadow tables get back the rows that they had.
 * What is dropped, renamed or has triggers, fuzz_database.c has. */
#include "fuzz.h"

/* t has one layer of several chunks, g several layers. */
static const char SETUP[] =
    "PRAGMA page_size = 512;"
    "CREATE VIRTUAL TABLE t USING bloom(capacity=600, fpr=0.01);"
    "INSERT INTO t(key) VALUES (1), ('a'), (x'00');"
    "CREATE VIRTUAL TABLE g USING bloom(capacity=3, fpr=0.1);"
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 20) INSERT INTO "
    "g(key) SELECT i FROM c;";

/* ?1 is the bytes, ?2 an integer made of them, ?3 the header of a layer with what could be changed
 * without breaking the checksum. For every column of every shadow table, whatever they are called.
 */
static const char *const VALUES[] = {"?1",
                                     "?2",
                                     "?3",
                                     "CAST(?1 AS TEXT)",
                                     "substr(?1, 1, 64)",
                                     "%w + ?2 % 3",
                                     "CAST(substr(?1, 1, length(%w)) AS BLOB)"};
enum { VALUE_COUNT = sizeof VALUES / sizeof *VALUES };

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
    ("WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 12) INSERT INTO "
     "%w(key) SELECT i + ?2 FROM c"),
    "ROLLBACK TO a",
    "INSERT INTO %w(%w, key) VALUES ('merge', bloom_add(bloom_new(600, 0.009), 1))",
    "SELECT info FROM %w",
    "COMMIT",
    "INSERT INTO %w(%w, key) VALUES ('merge', bloom_add(bloom_new(3, 0.1 * 9 / 10), ?1))",
    "INSERT INTO %w(%w, key) VALUES (CAST(?1 AS TEXT), ?1)",
    "PRAGMA integrity_check",
    "INSERT INTO %w(%w) VALUES ('clear')",
    "INSERT INTO %w(key) VALUES (?1)",
    "SELECT info FROM %w",
};
enum { OPERATION_COUNT = sizeof OPERATIONS / sizeof *OPERATIONS };

enum { TABLES = 2, SHADOWS_MOST = 4, DAMAGES_MOST = 200 };

static const char *const NAMES[TABLES] = {"t", "g"};

static sqlite3 *database;
static struct table {
    sqlite3_stmt *damages[DAMAGES_MOST], *operations[OPERATION_COUNT], *restore[2 * SHADOWS_MOST];
    char *damage_sql[DAMAGES_MOST]; /* prepared when first used: there are many */
    int damage_count, restore_count;
    uint8_t header[BLOOM_HEADER_BYTES];
} tables[TABLES];

/* Replaces %w, as often as it comes. */
static sqlite3_stmt *prepare(const char *format, const char *name) {
    char *sql = sqlite3_mprintf(format, name, name, name);
    sqlite3_stmt *statement = fuzz_prepare(database, sql);
    sqlite3_free(sql);
    return statement;
}

static void add_damage(struct table *table, char *sql) {
    if (table->damage_count == DAMAGES_MOST)
        abort();
    table->damage_sql[table->damage_count++] = sql;
}

static sqlite3_stmt *damage(struct table *table, unsigned choice) {
    choice %= (unsigned)table->damage_count;
    if (table->damages[choice] == NULL)
        table->damages[choice] = fuzz_prepare(database, table->damage_sql[choice]);
    return table->damages[choice];
}

/* The damages to one column, and to the rows by a further one that differs in the column. */
static void add_column(struct table *table, const char *shadow, const char *columns,
                       const char *column) {
    char *others = sqlite3_mprintf("%s,", columns), *name = sqlite3_mprintf("\"%w\",", column);
    char *at = strstr(others, name);
    if (at == NULL)
        abort();
    int before = (int)(at - others);
    const char *behind = at + strlen(name);
    for (int i = 0; i < VALUE_COUNT; i++) {
        char *value = sqlite3_mprintf(VALUES[i], column);
        add_damage(table, sqlite3_mprintf("UPDATE OR REPLACE \"%w\" SET \"%w\" = %s", shadow,
                                          column, value));
        if (i < 3)
            add_damage(table,
                       sqlite3_mprintf(
                           "INSERT OR REPLACE INTO \"%w\"(%.*s%s \"%w\") SELECT %.*s%s %s FROM "
                           "\"%w\" ORDER BY rowid DESC LIMIT 1",
                           shadow, before, others, behind, column, before, others, behind, value,
                           shadow));
        sqlite3_free(value);
    }
    sqlite3_free(others);
    sqlite3_free(name);
}

static void add_shadow(struct table *table, const char *shadow) {
    char *sql = sqlite3_mprintf(
        "SELECT group_concat('\"' || name || '\"', ',') FROM pragma_table_info(%Q)", shadow);
    sqlite3_stmt *statement = fuzz_prepare(database, sql);
    sqlite3_free(sql);
    if (sqlite3_step(statement) != SQLITE_ROW)
        abort();
    char *columns = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);

    sql = sqlite3_mprintf("CREATE TABLE \"saved_%w\" AS SELECT * FROM \"%w\"", shadow, shadow);
    fuzz_must(database, sql);
    sqlite3_free(sql);
    table->restore[table->restore_count++] = prepare("DELETE FROM \"%w\"", shadow);
    table->restore[table->restore_count++] =
        prepare("INSERT INTO \"%w\" SELECT * FROM \"saved_%w\"", shadow);
    add_damage(table, sqlite3_mprintf("DELETE FROM \"%w\"", shadow));
    add_damage(table,
               sqlite3_mprintf("DELETE FROM \"%w\" WHERE rowid = (SELECT max(rowid) FROM \"%w\")",
                               shadow, shadow));
    sql = sqlite3_mprintf("SELECT name FROM pragma_table_info(%Q)", shadow);
    statement = fuzz_prepare(database, sql);
    sqlite3_free(sql);
    while (sqlite3_step(statement) == SQLITE_ROW)
        add_column(table, shadow, columns, (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_free(columns);
}

static void open_database(void) {
    database = fuzz_open();
    fuzz_must(database, SETUP);
    memset(tables, 0, sizeof tables);
    for (int i = 0; i < TABLES; i++) {
        struct table *table = &tables[i];
        char *shadows[SHADOWS_MOST];
        int count = 0;
        sqlite3_stmt *statement = prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB '%w_*'", NAMES[i]);
        while (sqlite3_step(statement) == SQLITE_ROW)
            if (count < SHADOWS_MOST)
                shadows[count++] = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
        sqlite3_finalize(statement);
        statement = prepare("SELECT header FROM %w_layers", NAMES[i]);
        if (sqlite3_step(statement) != SQLITE_ROW ||
            sqlite3_column_bytes(statement, 0) != BLOOM_HEADER_BYTES)
            abort();
        memcpy(table->header, sqlite3_column_blob(statement, 0), BLOOM_HEADER_BYTES);
        sqlite3_finalize(statement);
        while (count > 0) {
            add_shadow(table, shadows[--count]);
            sqlite3_free(shadows[count]);
        }
        for (int operation = 0; operation < OPERATION_COUNT; operation++)
            table->operations[operation] = prepare(OPERATIONS[operation], NAMES[i]);
    }
}

static void run(sqlite3_stmt *statement, const uint8_t *bytes, size_t size, const uint8_t *header) {
    uint8_t number[8] = {0};
    memcpy(number, bytes, size < sizeof number ? size : sizeof number);
    sqlite3_bind_blob64(statement, 1, bytes, size, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)bloom_load64(number));
    sqlite3_bind_blob(statement, 3, header, BLOOM_HEADER_BYTES, SQLITE_STATIC);
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
    struct table *table = &tables[data[0] & 1];
    uint8_t header[BLOOM_HEADER_BYTES], *bytes = fuzz_copy(data + FIRST, size - FIRST);
    size -= FIRST;
    if (data[0] & 2)
        fuzz_repair(bytes, size);
    memcpy(header, table->header, sizeof header);
    memcpy(header + 8, bytes, size < 16 ? size : 16); /* k and m; n and p would be noticed */
    fuzz_repair(header, sizeof header);

    run(damage(table, data[1]), bytes, size, header);
    if (data[0] & 4)
        run(damage(table, data[2]), bytes, size, header);
    for (int i = 0; i < OPERATIONS_EACH; i++)
        run(table->operations[(data[0] / 8 + i) % OPERATION_COUNT], bytes, size, header);
    free(bytes);
    if (!sqlite3_get_autocommit(database))
        fuzz_must(database, "ROLLBACK");
    for (int i = 0; i < table->restore_count; i++)
        if (fuzz_work = FUZZ_WORK_MOST, fuzz_step(table->restore[i]) != SQLITE_DONE)
            abort();
    return 0;
}
