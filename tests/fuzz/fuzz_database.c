/* Whole database files from strangers: schemas that were tampered with, rows of shadow tables with
 * any content, and bytes that were changed.
 *
 * The first byte chooses how many statements of VISIT are run, mostly a few, so that an input takes
 * a fraction of a millisecond, or all; the third with which of them to begin and in which order to
 * go on. If the second is below 128, it and the first choose what was done to the schema of a file
 * with filter tables (see TAMPERING), and the rest is a list of changes to the bytes of the file:
 * offset (two bytes, little-endian, modulo the length) and new byte. Otherwise the first chooses a
 * filter table, the second what is done to its rows (see VALUES and DAMAGES), and the rest is what
 * is written.
 * Whoever opens such a file may get errors and wrong answers, but no crash, no memory out of
 * proportion to the file, and an end of each statement.
 */
#include "fuzz.h"

/* seen has one layer of several chunks, grown several layers, aged generations, counted counters.
 */
static const char SETUP[] =
    "PRAGMA page_size = 512;"
    "CREATE TABLE numbers(i INTEGER PRIMARY KEY);"
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 20) "
    "INSERT INTO numbers SELECT i FROM c;"
    "CREATE TABLE t(i INTEGER PRIMARY KEY, v, b);"
    "INSERT INTO t VALUES (1, 'a', bloom_new(10)), (2, 2.5, bloom_add(bloom_new(10), 1));"
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=600, fpr=0.01);"
    "INSERT INTO seen(key) VALUES (1), ('a'), (x'00');"
    "CREATE VIRTUAL TABLE grown USING bloom(capacity=3, fpr=0.1);"
    "INSERT INTO grown(key) SELECT i FROM numbers;"
    "CREATE VIRTUAL TABLE aged USING bloom(capacity=3, fpr=0.1, generations=2, key=TEXT);"
    "INSERT INTO aged(key) SELECT i FROM numbers; INSERT INTO aged(aged) VALUES ('rotate');"
    "INSERT INTO aged(key) VALUES (1);"
    "CREATE VIRTUAL TABLE counted USING bloom(capacity=9, fpr=0.3, layout=counting);"
    "INSERT INTO counted(key) SELECT i FROM numbers;"
    "CREATE VIEW hits AS SELECT v, bloom_check(nullif(bloom_pin(b), v), nullif(v || 1, upper(v))) "
    "FROM t;";
static const char *const NAMES[] = {"seen", "grown", "aged", "counted"};
enum { TABLES = sizeof NAMES / sizeof *NAMES, TAMPERED_TABLES = 2 };

/* What replaces a part of the schema; sqlite_schema may be written. */
#define SCHEMA(name, sql) "UPDATE sqlite_master SET sql = '" sql "' WHERE name = '" name "';"
#define AS_VIEW(name, sql)                                                                         \
    "UPDATE sqlite_master SET type = 'view', rootpage = 0, sql = '" sql "' WHERE name = '" name "';"
static const char *const TAMPERING[] = {
    "",
    AS_VIEW("seen_data", "CREATE VIEW seen_data AS WITH RECURSIVE c(i) AS (VALUES(0) UNION ALL "
                         "SELECT i + 1 FROM c) SELECT i AS id, zeroblob(80) AS data FROM c"),
    AS_VIEW("seen_data", "CREATE VIEW seen_data AS WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL "
                         "SELECT i FROM c) SELECT 0 AS id, zeroblob(72) AS data FROM c"),
    AS_VIEW("seen_data", "CREATE VIEW seen_data AS SELECT key AS id, info AS data FROM grown"),
    AS_VIEW("grown_data", "CREATE VIEW grown_data AS SELECT * FROM seen_data, seen(1)"),
    SCHEMA("seen_data", "CREATE TABLE seen_data(id INTEGER PRIMARY KEY, x, data AS "
                        "(zeroblob(999999999)))"),
    SCHEMA("seen_data", "CREATE TABLE seen_data(id, x, data, PRIMARY KEY(id, x))"),
    SCHEMA("seen_data", "CREATE TABLE seen_data(id INTEGER PRIMARY KEY, data) WITHOUT ROWID"),
    SCHEMA("seen_data", "CREATE TABLE seen_data(id, data)"),
    SCHEMA("grown_data", "CREATE VIRTUAL TABLE grown_data USING bloom(capacity=3)"),
    SCHEMA("grown_data", "CREATE VIRTUAL TABLE grown_data USING bloom_keys(x)"),
    SCHEMA("seen", "CREATE VIRTUAL TABLE seen USING bloom(capacity=(random()))"),
    SCHEMA("seen", "CREATE VIRTUAL TABLE seen USING bloom(capacity=1099511627776, fpr=''0.01'')"),
    SCHEMA("seen",
           "CREATE VIRTUAL TABLE seen USING bloom(growth=''off'', key=TEXT, layout=''counting'')"),
    SCHEMA("seen", "CREATE VIRTUAL TABLE grown USING bloom(capacity=3, fpr=0.1)"),
    SCHEMA("hits", "CREATE VIEW hits AS SELECT info AS v, filter FROM seen, grown(bloom_pin(1))"),
    "CREATE TRIGGER one AFTER INSERT ON seen_data BEGIN INSERT INTO grown(key) VALUES (new.id); "
    "END;"
    "CREATE TRIGGER two AFTER INSERT ON grown_data BEGIN INSERT INTO seen(key) VALUES (new.id); "
    "INSERT INTO grown(grown) VALUES ('clear'); END;",
    "CREATE TRIGGER three AFTER DELETE ON seen_data BEGIN INSERT INTO grown(grown) VALUES "
    "('clear'); END;"
    "CREATE TRIGGER four AFTER DELETE ON grown_data BEGIN INSERT INTO seen(seen) VALUES "
    "('clear'); END;",
    "CREATE INDEX five ON seen_data(length(data)); CREATE INDEX six ON grown_data(data);",
    "ALTER TABLE seen_data ADD COLUMN more DEFAULT 5; DELETE FROM grown_data WHERE id > 0;",
    "DROP TABLE grown_data; CREATE TABLE grown_data AS SELECT * FROM seen_data, t;",
    "UPDATE seen_data SET data = zeroblob(72) WHERE id = 0; DELETE FROM grown_data;",
    "UPDATE seen_data SET data = zeroblob(1) WHERE id > 0; UPDATE grown_data SET id = id << 20;",
};
enum { TAMPERINGS = sizeof TAMPERING / sizeof *TAMPERING };

/* What is written into which rows. ?1 is the bytes, ?2 an integer made of them. The last values
 * change a part of a row. */
static const char *const VALUES[] = {
    "?1",
    "?2",
    "CAST(?1 AS TEXT)",
    "substr(?1, 1, 72)",
    "CAST(substr(?1, 1, length(data)) AS BLOB)",
    "CAST(?1 || substr(data, 1 + length(?1)) AS BLOB)",
    "CAST(substr(data, 1, 8) || ?1 || substr(data, 9 + length(?1)) AS BLOB)",
    "CAST(substr(data, 1, ?2 & 63) || ?1 || substr(data, 1 + (?2 & 63) + length(?1)) AS BLOB)",
};
static const char *const ROWS[] = {"id = 0", "id > 0", "id >> 40 & 1", "id >> 40 = 0", "1"};
enum { VALUE_COUNT = sizeof VALUES / sizeof *VALUES, ROW_COUNT = sizeof ROWS / sizeof *ROWS };

/* Of the table named %w. */
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

static const char *const VISIT[] = {
    "SELECT * FROM hits",
    "SELECT 1 FROM %w WHERE key = ?1",
    "SELECT key FROM %w WHERE key IN ('a', 1, 2)",
    "INSERT INTO %w(key) VALUES (?1), (?2)",
    "INSERT OR IGNORE INTO %w(key) VALUES ('a'), (2), (?1), (?2)",
    "BEGIN",
    "INSERT INTO %w(%w, key) VALUES ('merge', bloom_add(bloom_new(600, 0.009), 1))",
    "INSERT INTO %w(%w, key) VALUES ('merge', bloom_add(bloom_new(3, 0.1 * 9 / 10), ?1))",
    "SELECT filter FROM %w",
    "SAVEPOINT s",
    "INSERT INTO %w(key) SELECT i + ?2 FROM numbers",
    "ROLLBACK TO s",
    "SELECT bloom_union_agg(nullif(b, 1)), bloom_info(max(b)) FROM t",
    "INSERT OR IGNORE INTO %w(key) SELECT i + ?2 FROM numbers",
    "COMMIT",
    "INSERT INTO %w(%w, key) VALUES (CAST(?1 AS TEXT), ?1)",
    "DELETE FROM %w WHERE key IN (1, 2, ?2)",
    "INSERT INTO %w(%w) VALUES ('rotate')",
    "PRAGMA integrity_check",
    "INSERT INTO %w(%w) VALUES ('clear')",
    "SELECT info, filter FROM %w",
    "SELECT count(*) FROM numbers JOIN %w ON key = i",
    "DROP TABLE %w",
    "ALTER TABLE %w RENAME TO renamed",
    "SELECT count(*) FROM t JOIN %w ON key = v",
    "VACUUM",
};
enum { VISITS = sizeof VISIT / sizeof *VISIT, VISITS_FEW = 6 };

struct image {
    uint8_t *bytes;
    sqlite3_int64 length;
};

/* A file with two things done to it, kept. Not everything can be done, nor after something else. */
static const struct image *image_of(unsigned first, unsigned second) {
    static struct image images[TAMPERINGS][TAMPERINGS];
    struct image *image = &images[first][second];
    if (image->bytes == NULL) {
        sqlite3 *database = fuzz_open();
        fuzz_work = 1000 * FUZZ_WORK_MOST;
        if (sqlite3_exec(database, SETUP, NULL, NULL, NULL) != SQLITE_OK)
            abort(); /* the target itself is wrong */
        sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
        sqlite3_exec(database, "PRAGMA writable_schema = 1", NULL, NULL, NULL);
        sqlite3_exec(database, TAMPERING[first], NULL, NULL, NULL);
        fuzz_work = FUZZ_WORK_MOST;
        sqlite3_exec(database, TAMPERING[second], NULL, NULL, NULL);
        image->bytes = sqlite3_serialize(database, "main", &image->length, 0);
        if (image->bytes == NULL)
            abort();
        sqlite3_close(database);
    }
    return image;
}

/* Runs what it can of a statement with %w in place of a table's name. */
static void run(sqlite3 *database, const char *format, const char *name, const uint8_t *bytes,
                size_t size) {
    char *sql = sqlite3_mprintf(format, name, name);
    uint8_t number[8] = {0};
    sqlite3_stmt *statement = NULL;
    memcpy(number, bytes, size < sizeof number ? size : sizeof number);
    fuzz_work = FUZZ_WORK_MOST / 2;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_blob64(statement, 1, bytes, size, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)bloom_load64(number));
        const int code = fuzz_step(statement) & 0xff;
        if (code == SQLITE_INTERNAL || code == SQLITE_MISUSE) {
            fprintf(stderr, "%s: result %d: %s\n", sql, code, sqlite3_errmsg(database));
            abort();
        }
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
}

static void damage(sqlite3 *database, unsigned choice, const char *name, const uint8_t *bytes,
                   size_t size) {
    char format[200];
    choice %= DAMAGE_COUNT + VALUE_COUNT * ROW_COUNT;
    if (choice < DAMAGE_COUNT) {
        run(database, DAMAGES[choice], name, bytes, size);
        return;
    }
    choice -= DAMAGE_COUNT;
    snprintf(format, sizeof format, "UPDATE %%w_data SET data = %s WHERE %s",
             VALUES[choice % VALUE_COUNT], ROWS[choice / VALUE_COUNT]);
    run(database, format, name, bytes, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { CHOICES = 3, OF_ROWS = 128 };
    if (size < CHOICES)
        return 0;
    const uint8_t *choice = data, *rest = data + CHOICES;
    const size_t left = size - CHOICES;
    const bool is_of_rows = choice[1] >= OF_ROWS;
    const struct image *image =
        is_of_rows ? image_of(0, 0) : image_of(choice[0] % TAMPERINGS, choice[1] % TAMPERINGS);
    sqlite3 *database = fuzz_open();
    uint8_t *bytes = sqlite3_malloc64((sqlite3_uint64)image->length);
    if (bytes == NULL)
        abort();
    memcpy(bytes, image->bytes, (size_t)image->length);
    for (size_t i = 0; i + 3 <= left && !is_of_rows; i += 3)
        bytes[(rest[i] | rest[i + 1] << 8) % image->length] = rest[i + 2];
    if (sqlite3_deserialize(database, "main", bytes, image->length, image->length,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) !=
        SQLITE_OK)
        abort();
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, choice[2] >> 7, NULL);
    /* Less than run.sh lets one allocation take, which a damaged capacity may need for `filter`. */
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 50000000);
    if (is_of_rows)
        damage(database, choice[1] - OF_ROWS, NAMES[choice[0] % TABLES], rest, left);
    const unsigned visits = choice[0] >= 10 * TAMPERINGS ? VISITS : VISITS_FEW;
    for (unsigned i = 0; i < visits; i++) {
        /* Steps of 1 or 5 through the list, of whose length 5 is no divisor: each comes once. */
        const char *sql = VISIT[(i * (1 + choice[2] % 2 * 4) + choice[2] / 2 % 64) % VISITS];
        run(database, sql, NAMES[is_of_rows ? choice[0] % TABLES : i % TAMPERED_TABLES], rest,
            left);
    }
    if (sqlite3_close(database) != SQLITE_OK)
        abort(); /* something was left open */
    return 0;
}
