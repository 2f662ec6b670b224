/* Database files from strangers, whose shadow tables are not what the extension made: something
 * else in their place, chunks of any size, other keys, constraints and triggers. */
#include "hostile.h"

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
        {"seen_chunks", "CREATE VIEW seen_chunks AS %s SELECT 0 AS id, zeroblob(4056) AS bits FROM "
                        "e WHERE i < 0"},
        {"seen_chunks", "CREATE VIEW seen_chunks AS %s SELECT 0 AS id, zeroblob(4056) AS bits FROM "
                        "e"},
        {"seen_layers", "CREATE VIRTUAL TABLE seen_layers USING bloom(capacity=10)"},
        {"seen_chunks", "CREATE VIRTUAL TABLE seen_chunks USING bloom(capacity=10)"},
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
                        "other %s (%u): %s: result %d (%s)", INSTEAD[i].name, i, LOOKS[j], code,
                        error);
                close_database(database);
                database = open_database(path_of("stranger.db"));
            }
            close_database(database);
            unlink(path_of("stranger.db"));
        }
}

static sqlite3_mem_methods original;
static sqlite3_int64 largest; /* allocation */

static void *measuring_malloc(int bytes) {
    largest = bytes > largest ? bytes : largest;
    return original.xMalloc(bytes);
}

static void *measuring_realloc(void *memory, int bytes) {
    largest = bytes > largest ? bytes : largest;
    return original.xRealloc(memory, bytes);
}

static void measure_allocations(void) {
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &original);
    sqlite3_mem_methods measuring = original;
    measuring.xMalloc = measuring_malloc;
    measuring.xRealloc = measuring_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &measuring);
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
    measure_allocations();
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
        ("CREATE TRIGGER t BEFORE INSERT ON seen_chunks BEGIN SELECT RAISE(ABORT, 'no'); END"),
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
                run(database, "PRAGMA page_size = 512;"
                              "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=1e-6);"
                              "INSERT INTO seen(key) VALUES (1)");
                run(database, OBSTACLES[i]);
                if (together)
                    run(database, "BEGIN");
                for (int key = 2; key < 20; key++) {
                    int code = try(database, NULL, INSERTS[j], key);
                    require(code == SQLITE_CORRUPT_VTAB || code == SQLITE_CORRUPT, "%s: result %d",
                            OBSTACLES[i], code);
                }
                if (together)
                    run(database, "COMMIT");
                run(database, strstr(OBSTACLES[i], "INDEX") ? "DROP INDEX i" : "DROP TRIGGER t");
                require_counts(database, "main", 1);
                require_number(database, 1, FOUND);
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
        run(database, "DROP TRIGGER t");
        require_number(database, 1, "SELECT count(*) FROM other('kept')");
        require_number(database, 500, FOUND);
        sqlite3_free(sql);
        close_database(database);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        APART("Endless views and filter tables in place of shadow tables are an error at once",
              other_shadow_tables),
        APART("A huge chunk is refused by its length", huge_chunk),
        APART("Shadow tables of other primary keys lose no key", other_primary_keys),
        APART("A broken constraint of a shadow table is no known key",
              constraints_on_shadow_tables),
        APART("Triggers on shadow tables reach no other table", triggers_on_shadow_tables),
    };
    return cmocka_run_group_tests_name("stranger", tests, NULL, NULL);
}
