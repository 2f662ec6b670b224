/* What others' text is in messages: valid UTF-8 without control characters, whatever bytes it has,
 * none of which is read beyond its end; and through every function that quotes an argument. What it
 * is exactly, tests/random/quote_test.py says.
 */
#include "../library/fuse_attack.h"
#include "connection.h"

#include "sqlite/message.h"

/* A second opinion: whether all of a text is well-formed and shows. Table 3-7 of the Unicode
 * standard. */
static bool is_clean(const char *text) {
    static const uint8_t TABLE[][8] = {{0x20, 0x7e},
                                       {0xc2, 0xdf, 0x80, 0xbf},
                                       {0xe0, 0xe0, 0xa0, 0xbf, 0x80, 0xbf},
                                       {0xe1, 0xec, 0x80, 0xbf, 0x80, 0xbf},
                                       {0xed, 0xed, 0x80, 0x9f, 0x80, 0xbf},
                                       {0xee, 0xef, 0x80, 0xbf, 0x80, 0xbf},
                                       {0xf0, 0xf0, 0x90, 0xbf, 0x80, 0xbf, 0x80, 0xbf},
                                       {0xf1, 0xf3, 0x80, 0xbf, 0x80, 0xbf, 0x80, 0xbf},
                                       {0xf4, 0xf4, 0x80, 0x8f, 0x80, 0xbf, 0x80, 0xbf}};
    while (*text != '\0') {
        const uint8_t *bytes = (const uint8_t *)text;
        size_t length = 0;
        for (size_t row = 0; row < COUNT_OF(TABLE) && length == 0; row++) {
            size_t i = 0;
            while (i < 4 && TABLE[row][2 * i] != 0 && bytes[i] >= TABLE[row][2 * i] &&
                   bytes[i] <= TABLE[row][2 * i + 1])
                i++;
            if (i == 4 || TABLE[row][2 * i] == 0)
                length = i;
        }
        if (length == 0 || (bytes[0] == 0xc2 && bytes[1] < 0xa0))
            return false;
        text += length;
    }
    return true;
}

static void any_bytes_become_clean_text(void) {
    uint64_t random = 5;
    assert_false(is_clean("\x80"));
    assert_false(is_clean("\n"));
    for (int i = 0; i < 30000; i++) {
        uint8_t bytes[400];
        char quoted[BLOOM_QUOTE_SIZE];
        size_t length = (size_t)random_below(&random, sizeof bytes + 1);
        for (size_t j = 0; j < length; j++) /* of bytes that mean something to UTF-8 often */
            bytes[j] = (uint8_t)(random_below(&random, 2) ? random_next(&random)
                                                          : 0x80 | random_next(&random) % 0x80);
        uint8_t *copy = copy_exactly(bytes, length);
        bloom_quote(quoted, copy, length);
        free(copy);
        if (!is_clean(quoted))
            fail_msg("round %d: %s", i, quoted);
    }
}

/* Every function and argument that quotes text, with text that is none. */
static void every_message_is_clean(void) {
    static const char *const CALLS[][6] = {
        {"bloom_check(X, 1)", "bloom_add(X, 1)", "bloom_info(X)", "bloom_count(X)", "bloom_fpr(X)",
         "bloom_pin(X)"},
        {"bloom_union(bloom_new(1), X)", "bloom_intersect(X)", "bloom_new(X)", "bloom_new(1, X)",
         "bloom_new(1, 0.1, X)", "bloom_new_bits(X, 1)"},
        {"bloom_new_bits(1, X)", "bloom_size(X)", "bloom_size(1, X)", "bloom_size(1, 0.1, X)",
         "bloom_import(X, 'guava')", "bloom_import(x'00', X)"},
        {"bloom_export(X, 'guava')", "bloom_export(bloom_new(1), X)", "bloom_agg(1, X)",
         "bloom_agg(1, 1, X)", "bloom_agg(1, 1, 0.1, X)", "bloom_union_agg(X)"},
        {"bloom_intersect_agg(X)", "bloom_convert(bloom_new(1), X)", "bloom_convert(X, 'blocked')",
         "bloom_remove(X, 1)", "bloom_add(bloom_new(1, 0.1, 'key=url'), '/' || X)",
         "bloom_union(X)"}};
    static const char *const TEXTS[] = {
        "CAST(x'fffe80c3' AS TEXT)", "CAST(bloom_new(10) AS TEXT)", "'a' || char(0, 10, 27) || 'b'",
        "CAST(zeroblob(1000) AS TEXT)",
        "replace(hex(zeroblob(59)), '00', 'x') || '\xc3\xa4\xc3\xa4'"};
    sqlite3 *database = open_database(":memory:");
    for (size_t i = 0; i < COUNT_OF(CALLS) * COUNT_OF(*CALLS); i++)
        for (size_t j = 0; j < COUNT_OF(TEXTS); j++) {
            const char *call = CALLS[i / COUNT_OF(*CALLS)][i % COUNT_OF(*CALLS)];
            const char *at = strchr(call, 'X');
            char *sql =
                sqlite3_mprintf("SELECT %.*s%s%s", (int)(at - call), call, TEXTS[j], at + 1);
            assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_ERROR);
            if (!is_clean(sqlite3_errmsg(database)))
                fail_msg("%s: %s", sql, sqlite3_errmsg(database));
            if (strstr(sqlite3_errmsg(database), "the text '") == NULL &&
                strstr(sqlite3_errmsg(database), " is '") == NULL)
                fail_msg("%s: %s", sql, sqlite3_errmsg(database));
            sqlite3_free(sql);
        }
    sqlite3_close(database);
}

/* Names are whatever bytes an application has chosen, and stand in messages whole. */
static void names_of_tables(void) {
    static const char *const UNITS[][2] = {
        {"\xc3\xa4", "\xc3\xa4"}, {"\n", "\\u000a"}, {"\x80", "\\x80"}, {"\xff", "\\xff"}};
    for (size_t i = 0; i < COUNT_OF(UNITS); i++) {
        char name[401] = "", expected[700] = "", error[700];
        for (int unit = 0; unit < 60; unit++) {
            strcat(name, UNITS[i][0]);
            strcat(expected, UNITS[i][1]);
        }
        strcat(expected, ": a filter table cannot list");
        sqlite3 *database = open_database(":memory:");
        assert_int_equal(try(database, NULL,
                             "CREATE VIRTUAL TABLE \"%w\" USING bloom; SELECT key FROM \"%w\"",
                             name, name),
                         SQLITE_ERROR);
        snprintf(error, sizeof error, "%.*s", (int)strlen(expected), sqlite3_errmsg(database));
        assert_true(is_clean(sqlite3_errmsg(database)));
        assert_string_equal(error, expected);
        close_database(database);
    }
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
            sqlite3 *database = open_database(":memory:");
            run(database, "CREATE VIRTUAL TABLE \"\u00e4\u00e4\u00e4\u00e4\" USING bloom;"
                          "CREATE TABLE t(x); BEGIN; INSERT INTO t VALUES (1)");
            sqlite3_limit(database, SQLITE_LIMIT_LENGTH, limit);
            assert_int_equal(sqlite3_exec(database, STATEMENTS[i][0], NULL, NULL, NULL),
                             SQLITE_ERROR);
            const char *message = sqlite3_errmsg(database);
            assert_true(is_clean(message));
            size_t length = strlen(message), whole = strlen(STATEMENTS[i][1]);
            assert_true(length < (size_t)limit && (length + 3 >= (size_t)limit || length >= whole));
            size_t known = length < whole ? length : whole;
            if (strncmp(message, STATEMENTS[i][1], known) != 0)
                fail_msg("%s, not %s", message, STATEMENTS[i][1]);
            assert_int_equal(sqlite3_get_autocommit(database), 0);
            close_database(database);
        }
}

/* Keys that were chosen against layout fuse (fuse_test.c) end the statement with advice: a salt,
 * which the chooser does not know, helps. */
static void advice_against_chosen_keys(void) {
    enum { SEEDS = 64, KEYS = 2 * SEEDS + 1 };
    uint64_t words[KEYS];
    sqlite3 *database = open_database(":memory:");
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
    close_database(database);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Any bytes become clean text", any_bytes_become_clean_text),
        TEST("Every message is clean", every_message_is_clean),
        TEST("Names of tables show as they are, or escaped", names_of_tables),
        TEST("A limit on values cuts messages and takes nothing back", limits_cut_messages),
        TEST("Chosen keys end in advice, and a salt helps", advice_against_chosen_keys),
    };
    return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}
