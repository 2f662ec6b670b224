/* Whole database files from strangers: schemas that were tampered with, and bytes that were
 * changed.
 *
 * The first two bytes choose what was done to the schema of a file with filter tables (see
 * TAMPERING); the first also how many statements of VISIT are run, mostly a few, so that an input
 * takes a fraction of a millisecond, or all; the third with which of them to begin and in which
 * order to go on. The rest is a list of changes to the bytes of the file: offset (two bytes,
 * little-endian, modulo the length) and new byte.
 * Whoever opens such a file may get errors and wrong answers, but no crash, no memory out of
 * proportion to the file, and an end of each statement.
 */
#include "fuzz.h"

static const char SETUP[] =
    "PRAGMA page_size = 512;"
    "CREATE TABLE t(i INTEGER PRIMARY KEY, v, b);"
    "INSERT INTO t VALUES (1, 'a', bloom_new(10)), (2, 2.5, bloom_add(bloom_new(10), 1));"
    "CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=0.01);"
    "INSERT INTO seen(key) VALUES (1), ('a'), (x'00');"
    "CREATE VIRTUAL TABLE grown USING bloom(capacity=3, fpr=0.1);"
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 20) "
    "INSERT INTO grown(key) SELECT i FROM c;"
    "CREATE VIEW hits AS SELECT v, bloom_check(nullif(bloom_pin(b), v), nullif(v || 1, upper(v))) "
    "FROM t;";

/* What replaces a part of the schema; sqlite_schema may be written. */
#define SCHEMA(name, sql) "UPDATE sqlite_master SET sql = '" sql "' WHERE name = '" name "';"
#define AS_VIEW(name, sql)                                                                         \
    "UPDATE sqlite_master SET type = 'view', rootpage = 0, sql = '" sql "' WHERE name = '" name "';"
static const char *const TAMPERING[] = {
    "",
    AS_VIEW("seen_data", "CREATE VIEW seen_data AS WITH RECURSIVE c(i) AS (VALUES(0) UNION ALL "
                         "SELECT i + 1 FROM c) SELECT i AS id, zeroblob(80) AS data FROM c"),
    AS_VIEW("seen_data", "CREATE VIEW seen_data AS WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL "
                         "SELECT i FROM c) SELECT 0 AS id, zeroblob(64) AS data FROM c"),
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
    "UPDATE seen_data SET data = zeroblob(64) WHERE id = 0; DELETE FROM grown_data;",
    "UPDATE seen_data SET data = zeroblob(1) WHERE id > 0; UPDATE grown_data SET id = id << 20;",
};
enum { TAMPERINGS = sizeof TAMPERING / sizeof *TAMPERING };

static const char *const VISIT[] = {
    "SELECT * FROM hits",
    "SELECT info FROM seen",
    "SELECT 1 FROM seen WHERE key = 'a'",
    "SELECT key FROM grown WHERE key IN (1, 2, 'x')",
    "INSERT INTO seen(key) VALUES (7)",
    "INSERT OR IGNORE INTO grown(key) VALUES (5), (500)",
    "BEGIN",
    "INSERT INTO seen(seen, key) SELECT 'merge', bloom_new(100, 0.009)",
    "SELECT filter FROM grown",
    "SAVEPOINT s",
    "INSERT INTO seen(key) SELECT i FROM t",
    "ROLLBACK TO s",
    "SELECT bloom_union_agg(nullif(b, 1)), bloom_info(max(b)) FROM t",
    "COMMIT",
    "PRAGMA quick_check",
    "INSERT INTO grown(grown) VALUES ('clear')",
    "SELECT info, filter FROM seen",
    "DROP TABLE seen",
    "ALTER TABLE grown RENAME TO seen",
    "SELECT count(*) FROM t JOIN grown ON key = v",
    "VACUUM",
};
enum { VISITS = sizeof VISIT / sizeof *VISIT, VISITS_FEW = 4 };

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
        fuzz_must(database, SETUP);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t NOTHING[3];
    sqlite3 *database = fuzz_open();
    const uint8_t *choice = size >= 3 ? data : NOTHING;
    const struct image *image = image_of(choice[0] % TAMPERINGS, choice[1] % TAMPERINGS);
    uint8_t *bytes = sqlite3_malloc64((sqlite3_uint64)image->length);
    if (bytes == NULL)
        abort();
    memcpy(bytes, image->bytes, (size_t)image->length);
    for (size_t i = 3; i + 3 <= size; i += 3)
        bytes[(data[i] | data[i + 1] << 8) % image->length] = data[i + 2];
    if (sqlite3_deserialize(database, "main", bytes, image->length, image->length,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) !=
        SQLITE_OK)
        abort();
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, choice[2] >> 7, NULL);
    /* As a program has it; the sanitizer is told how much memory is too much. */
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, 1000000000);
    unsigned visits = choice[0] >= 10 * TAMPERINGS ? VISITS : VISITS_FEW;
    for (unsigned i = 0; i < visits; i++) {
        /* Odd steps through the list, which has an odd length, so that each comes once. */
        const char *sql = VISIT[(i * (1 + choice[2] % 2 * 4) + choice[2] / 2 % 64) % VISITS];
        sqlite3_stmt *statement = NULL;
        fuzz_work = FUZZ_WORK_MOST / 4;
        if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK)
            fuzz_step(statement);
        sqlite3_finalize(statement);
    }
    if (sqlite3_close(database) != SQLITE_OK)
        abort(); /* something was left open */
    return 0;
}
