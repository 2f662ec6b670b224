/* Arbitrary content of a filter table's shadow tables: every operation ends in an answer or an error. The
 * first byte says what is overwritten and how; the rest is what is written. */
#include "fuzz.h"

static const char *const DAMAGES[] = {
    "UPDATE t_layers SET header = ?1",
    "UPDATE t_layers SET header = substr(?1, 1, 64), chunk_blocks = length(?1)",
    "UPDATE t_chunks SET bits = ?1 WHERE id = 0",
    "UPDATE t_chunks SET bits = CAST(?1 AS TEXT)",
    "UPDATE t_layers SET keys = CAST(?1 AS INTEGER)",
    "UPDATE t_layers SET chunks = CAST(?1 AS INTEGER), keys = ?1",
    "UPDATE t_layers SET chunk_blocks = CAST(?1 AS INTEGER)",
    "UPDATE t_layers SET layer = CAST(?1 AS INTEGER) WHERE layer = 0",
    "INSERT INTO t_layers SELECT layer + 1, ?1, chunk_blocks, keys, chunks FROM t_layers ORDER BY 1 DESC "
    "LIMIT 1",
    "INSERT OR REPLACE INTO t_chunks VALUES (CAST(?1 AS INTEGER), ?1)",
    "DROP TABLE t_chunks",
    "DELETE FROM t_layers",
};

static const char *const OPERATIONS[] = {
    "SELECT 1 FROM t WHERE key = ?1",
    "INSERT INTO t(key) VALUES (?1)",
    "INSERT OR IGNORE INTO t(key) VALUES ('a'), (2), (?1)",
    "SELECT info FROM t",
    "SELECT filter FROM t",
    "INSERT INTO t(t, key) VALUES ('merge', ?1)",
    "INSERT INTO t(t, key) VALUES ('merge', bloom_add(bloom_new(600, 0.01), 1))",
    "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 30) INSERT INTO t(key) SELECT "
    "i || ?1 FROM c",
    "PRAGMA integrity_check",
    "INSERT INTO t(t, key) VALUES (CAST(?1 AS TEXT), NULL)",
    "INSERT INTO t(t) VALUES ('clear')",
    "ALTER TABLE t RENAME TO u",
    "DROP TABLE IF EXISTS u",
    "DROP TABLE IF EXISTS t",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    sqlite3 *database = fuzz_open();
    uint8_t *bytes = fuzz_copy(data + 2, size - 2, data[1] & 1);
    if (sqlite3_exec(database,
                     "PRAGMA page_size = 1024; CREATE VIRTUAL TABLE t USING bloom(capacity=600, fpr=0.01); "
                     "INSERT INTO t(key) VALUES (1), ('a'), (x'00')",
                     NULL, NULL, NULL) != SQLITE_OK)
        abort();
    fuzz_run(database, DAMAGES[data[0] % (sizeof DAMAGES / sizeof *DAMAGES)], bytes, size - 2);
    fuzz_run(database, DAMAGES[data[1] / 2 % (sizeof DAMAGES / sizeof *DAMAGES)], bytes, size - 2);
    for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++)
        fuzz_run(database, OPERATIONS[i], bytes, size - 2);
    if (sqlite3_close(database) != SQLITE_OK)
        abort();
    free(bytes);
    return 0;
}
