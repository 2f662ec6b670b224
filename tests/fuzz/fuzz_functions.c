/* Arbitrary bytes as every argument of every function. SQLite hands on the bytes that are bound, so
 * that the sanitizer sees reads beyond them. */
#include "fuzz.h"

/* The last ones say that bloom_url leaves a key as it is, every key is printable ASCII, and an
 * entry of a list has a key or a note (fuzz_step). */
static const char *const STATEMENTS[] = {
    "SELECT bloom_check(?1, ?1), bloom_check(?1, 'a'), bloom_check(bloom_new(10), ?1)",
    "SELECT bloom_add(?1, ?1)",
    "SELECT bloom_add(bloom_new(10, 0.01, 'classic'), ?1)",
    "SELECT bloom_union(?1, ?1), bloom_union(?1, bloom_new(10))",
    "SELECT bloom_intersect(?1, ?1), bloom_intersect(bloom_new(10), ?1)",
    "SELECT bloom_info(?1), bloom_count(?1), bloom_fpr_now(?1)",
    "SELECT bloom_check((SELECT bloom_pin(?1)), 1)",
    "SELECT bloom_check(nullif(bloom_pin(?1), 1), nullif(?1 || 'a', upper(?1)))",
    "SELECT bloom_import(?1, 'guava')",
    "SELECT bloom_export(?1, 'guava')",
    "SELECT bloom_import(x'01020000000100000000000000ff', CAST(?1 AS TEXT))",
    "SELECT bloom_new(?1, ?1, ?1)",
    "SELECT bloom_new(CAST(?1 AS TEXT)), bloom_new(10, CAST(?1 AS REAL)), bloom_new(CAST(?1 AS "
    "INTEGER), 0.5)",
    "SELECT bloom_new_bits(CAST(?1 AS INTEGER), length(?1)), bloom_size(CAST(?1 AS INTEGER))",
    "SELECT bloom_new(10, 0.1, CAST(?1 AS TEXT)), bloom_hash(CAST(?1 AS TEXT)), bloom_hash(?1), "
    "bloom_hash(CAST(?1 AS REAL))",
    "SELECT bloom_url(CAST(?1 AS TEXT)), bloom_check(bloom_new(10, 0.1, 'key=url'), ?1), "
    "(SELECT sum(length(entry)) FROM bloom_list(?1))",
    "SELECT bloom_check(?1, ?1), bloom_check(?1, 'http://a.b.c/1/2?3')",
    "WITH k(k) AS (VALUES (1), (?1), (NULL)) SELECT bloom_agg(k, ?1) FROM k",
    "WITH k(k) AS (VALUES (1), (?1), (CAST(?1 AS TEXT))) SELECT bloom_agg(k), bloom_agg(k, 5), "
    "bloom_agg(k, NULL, 0.1, 'classic') FROM k",
    "WITH f(f) AS (VALUES (?1), (NULL), (?1)) SELECT bloom_union_agg(f) FROM f",
    "SELECT bloom_new(10, 0.1, 'salt=' || CAST(?1 AS TEXT)), bloom_size(10, 0.1, 'key=' || ?1), "
    "bloom_new(10, 0.1, 'layout=' || substr(CAST(?1 AS TEXT), 1, 7) || ', salt=' || hex(?1))",
    "WITH k(k) AS (VALUES (1), (?1), (length(?1))) SELECT bloom_check(bloom_agg(k, NULL, 0.1, "
    "'layout=fuse, salt=' || substr(hex(zeroblob(16) || ?1), 1, 32)), ?1), bloom_agg(k, 5, 0.1, "
    "'layout=counting, salt=' || substr(hex(?1 || zeroblob(16)), 1, 32)) FROM k",
    "SELECT bloom_remove(?1, ?1), bloom_remove(?1, 5), bloom_count(?1, ?1), bloom_count(?1, 5)",
    "SELECT bloom_convert(?1, 'blocked'), bloom_convert(?1, CAST(?1 AS TEXT))",
    "SELECT key, rowid FROM bloom_keys(?1) WHERE key > 3 LIMIT 300",
    "SELECT key FROM bloom_keys(?1) ORDER BY key DESC LIMIT 300",
    "SELECT key FROM bloom_keys(bloom_new(300, NULL, 'bitmap')) WHERE key >= ?1 AND key < CAST(?1 "
    "AS REAL)",
    "WITH k(k) AS (VALUES (1), (?1), (length(?1))) SELECT bloom_agg(k, NULL, 0.1, 'fuse'), "
    "bloom_agg(k, NULL, 0.1, 'counting'), bloom_agg(length(k), NULL, NULL, 'bitmap') FROM k",
    "SELECT ?1 AS never WHERE bloom_url(bloom_url(?1)) IS NOT bloom_url(?1)",
    "SELECT ?1 AS never WHERE bloom_url(?1) GLOB '*[^!-~]*'",
    "SELECT key AS never FROM bloom_url_keys(?1) WHERE key IS NULL OR key IS NOT bloom_url(key)",
    "SELECT key AS never FROM bloom_list(?1) WHERE key IS NOT bloom_url(key)",
    "SELECT key AS never FROM bloom_list(?1) WHERE key IS NULL AND note IS NULL",
};
enum { STATEMENT_COUNT = sizeof STATEMENTS / sizeof *STATEMENTS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static sqlite3 *database;
    static sqlite3_stmt *statements[STATEMENT_COUNT];
    uint8_t *bytes = fuzz_copy(data, size);
    if (database == NULL) {
        database = fuzz_open();
        for (int i = 0; i < STATEMENT_COUNT; i++)
            if (sqlite3_prepare_v3(database, STATEMENTS[i], -1, SQLITE_PREPARE_PERSISTENT,
                                   &statements[i], NULL) != SQLITE_OK)
                abort(); /* the target itself is wrong */
    }
    do {
        for (int i = 0; i < STATEMENT_COUNT; i++) {
            fuzz_work = FUZZ_WORK_MOST;
            sqlite3_bind_blob64(statements[i], 1, bytes, size, SQLITE_STATIC);
            fuzz_step(statements[i]);
        }
    } while (fuzz_repair(bytes, size));
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_clear_bindings(statements[i]);
    free(bytes);
    return 0;
}
