/* Whoever chooses keys, in SQL: a filter of layout fuse cannot be made of keys that were chosen
 * against it, and the statement ends with advice; a salt, which the chooser does not know, helps.
 */
#include "../library/fuse_attack.h"
#include "connection.h"
#include "sqlite/sqlite.h"

/* A table `chosen` of the keys with which so many seeds fail. */
static sqlite3 *open_chosen(size_t seeds) {
    sqlite3 *database;
    sqlite3_stmt *insert;
    size_t count = 2 * seeds + 1;
    uint64_t *words = malloc(count * sizeof *words);
    assert_non_null(words);
    attack_words(words, seeds);
    database = open_database(":memory:");
    sqlite3_exec(database, "CREATE TABLE chosen(key); BEGIN", NULL, NULL, NULL);
    sqlite3_prepare_v2(database, "INSERT INTO chosen VALUES (?)", -1, &insert, NULL);
    for (size_t i = 0; i < count; i++) {
        uint8_t key[16];
        key_of_words(words[i], 0, key);
        sqlite3_bind_blob(insert, 1, key, sizeof key, SQLITE_TRANSIENT);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    free(words);
    return database;
}

/* The one integer that a query gives, -1 on an error. */
static sqlite3_int64 ask(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement;
    sqlite3_int64 answer = -1;
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    if (sqlite3_step(statement) == SQLITE_ROW)
        answer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return answer;
}

static void chosen_keys_end(void) {
    static const size_t SEEDS[] = {64, 32000};
    for (size_t i = 0; i < COUNT_OF(SEEDS); i++) {
        sqlite3 *database = open_chosen(SEEDS[i]);
        assert_int_equal(ask(database, "SELECT bloom_agg(key, NULL, 0.004, 'fuse') FROM chosen"),
                         -1);
        assert_string_equal(sqlite3_errmsg(database),
                            "bloom_agg: no filter of layout fuse can be made of these keys: they "
                            "were chosen against it; give a salt of 32 random hexadecimal digits, "
                            "as in 'layout=fuse, salt=...'");
        assert_int_equal(ask(database,
                             "WITH f(f) AS (SELECT bloom_agg(key, NULL, 0.004, 'layout="
                             "fuse, salt=6c7967656e657261736f6d6570736575') FROM chosen) SELECT "
                             "sum(bloom_check((SELECT bloom_pin(f) FROM f), key)) FROM chosen"),
                         2 * (sqlite3_int64)SEEDS[i] + 1);
        close_database(database);
    }
}

static void one_seed_is_left(void) {
    sqlite3 *database = open_chosen(63);
    assert_int_equal(ask(database, "WITH f(f) AS (SELECT bloom_agg(key, NULL, 0.004, 'fuse') FROM "
                                   "chosen) SELECT sum(bloom_check(f, key)) FROM f, chosen"),
                     127);
    close_database(database);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Keys that were chosen against layout fuse end at once, and a salt helps",
             chosen_keys_end),
        TEST("A set with which 63 seeds fail has the 64th", one_seed_is_left),
    };
    return cmocka_run_group_tests_name("attack", tests, NULL, NULL);
}
