/* What others' text is in messages: none of its bytes is read beyond its end, and a limit on values
 * cuts it at a character. What it is exactly, tests/random/quote_test.py and messages.test say. */
#include "../library/chosen_keys.h"
#include "connection.h"

#include "sqlite/message.h"

/* Any bytes are quoted in the room for it, and none is read beyond their end. */
static void any_bytes_are_quoted(void) {
    uint64_t random = 5;
    for (int i = 0; i < 30000; i++) {
        uint8_t bytes[400];
        char quoted[BLOOM_QUOTE_SIZE];
        size_t length = (size_t)random_below(&random, sizeof bytes + 1);
        for (size_t j = 0; j < length; j++) /* of bytes that mean something to UTF-8 often */
            bytes[j] = (uint8_t)(random_below(&random, 2) ? random_next(&random)
                                                          : 0x80 | random_next(&random) % 0x80);
        FREED uint8_t *copy = copy_exactly(bytes, length);
        bloom_quote(quoted, copy, length);
        assert_true(strlen(quoted) < sizeof quoted);
    }
}

/* Names are whatever bytes an application has chosen; those of Unicode are in quote_test.py. */
static void names_that_are_not_unicode(void) {
    static const char NAME[] = "a\xff\n\x80", SHOWN[] = "a\\xff\\u000a\\x80: a filter table cannot";
    CLOSED_AT_END *database = open_database(":memory:");
    char error[300];
    assert_int_equal(try(database, error,
                         "CREATE VIRTUAL TABLE \"%w\" USING bloom; SELECT key FROM \"%w\"", NAME,
                         NAME),
                     SQLITE_ERROR);
    assert_memory_equal(error, SHOWN, sizeof SHOWN - 1);
}

/* A limit on values cuts messages, at a character, and neither empties them nor takes the caller's
 * transaction back. */
static void limits_cut_messages(void) {
    static const char *const STATEMENTS[][2] = {
        {"SELECT bloom_new('\u20ac\u20ac\u20ac')",
         "bloom_new: n is the text '\u20ac\u20ac\u20ac'. Give a number, not text"},
        {"SELECT bloom_check(NULL, 1)",
         "bloom_check: argument 1 is NULL. Check that the row with the filter exists, or that its "
         "pin was not lost in a join, a view, a subquery in FROM or coalesce"},
        {"SELECT bloom_info(bloom_new(1))",
         "bloom_new: the filter needs 128 bytes, but a value of this connection is limited to "},
        {"INSERT INTO \"\u00e4\u00e4\u00e4\u00e4\"(\"\u00e4\u00e4\u00e4\u00e4\") VALUES ('wrong')",
         "\u00e4\u00e4\u00e4\u00e4: unknown command 'wrong'"},
    };
    for (int limit = 100; limit >= 30; limit--)
        for (size_t i = 0; i < COUNT_OF(STATEMENTS); i++) {
            CLOSED_AT_END *database = open_database(":memory:");
            run(database, "CREATE VIRTUAL TABLE \"\u00e4\u00e4\u00e4\u00e4\" USING bloom;"
                          "CREATE TABLE t(x); BEGIN; INSERT INTO t VALUES (1)");
            sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limit);
            assert_int_equal(sqlite3_exec(database, STATEMENTS[i][0], NULL, NULL, NULL),
                             SQLITE_ERROR);
            const char *message = sqlite3_errmsg(database);
            size_t length = strlen(message), whole = strlen(STATEMENTS[i][1]);
            assert_true(length < (size_t)limit && (length + 3 >= (size_t)limit || length >= whole));
            size_t known = length < whole ? length : whole;
            if (strncmp(message, STATEMENTS[i][1], known) != 0)
                fail_msg("%s, not %s", message, STATEMENTS[i][1]);
            assert_true((STATEMENTS[i][1][known] & 0xc0) != 0x80); /* not within a character */
            assert_int_equal(sqlite3_get_autocommit(database), 0);
        }
}

/* Keys that were chosen against layout fuse (fuse_test.c) end the statement with advice: a salt,
 * which the chooser does not know, helps. */
static void advice_against_chosen_keys(void) {
    enum { SEEDS = 64, KEYS = 2 * SEEDS + 1 };
    uint64_t words[KEYS];
    CLOSED_AT_END *database = open_database(":memory:");
    run(database, "CREATE TABLE chosen(key)");
    attack_words(words, SEEDS);
    for (int i = 0; i < KEYS; i++) {
        uint8_t key[16];
        char digits[33];
        key_of_words(words[i], 0, key);
        for (int j = 0; j < 16; j++)
            snprintf(digits + 2 * j, 3, "%02x", (unsigned)key[j]);
        assert_int_equal(try(database, NULL, "INSERT INTO chosen VALUES (x'%s')", digits),
                         SQLITE_OK);
    }
    require_error(database,
                  "bloom_agg: cannot make a filter of layout fuse, because the keys were chosen "
                  "against it. Give a new salt of 32 random hexadecimal digits, as in "
                  "'layout=fuse, salt=...'",
                  "SELECT bloom_agg(key, NULL, 0.004, 'fuse') FROM chosen");
    require_number(
        database, KEYS,
        "SELECT sum(bloom_check(f, key)) FROM chosen, (SELECT bloom_agg(key, NULL, "
        "0.004, 'layout=fuse, salt=6c7967656e657261736f6d6570736575') AS f FROM chosen)");
}

RUN_GROUP("messages", TEST("Any bytes are quoted within bounds", any_bytes_are_quoted),
          TEST("Names of tables that are not Unicode are escaped", names_that_are_not_unicode),
          TEST("A limit on values cuts messages and takes nothing back", limits_cut_messages),
          TEST("Chosen keys end in advice, and a salt helps", advice_against_chosen_keys))
