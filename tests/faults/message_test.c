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
    for (int i = 0; i < 100000; i++) {
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

/* Names are whatever bytes an application has chosen. */
static void names_of_tables(void) {
    static const struct {
        const char *unit, *shown;
        int units;
    } NAMES[] = {
        {"a", "a", 1},
        {"gr\xc3\xbcn ", "gr\xc3\xbcn ", 3},
        {"\xc3\xa4", "\xc3\xa4", 60},
        {"\xe2\x82\xac", "\xe2\x82\xac", 40},
        {"\x7f", "\\u007f", 3},
        {"\n", "\\u000a", 5},
        {"\xf0\x9f\x98\x80~", "\xf0\x9f\x98\x80~", 30},
        {"\x80", "\\x80", 100},
        {"\xff", "\\xff", 41},
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 25},
    };
    for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
        char name[401] = "", expected[700] = "";
        for (int unit = 0; unit < NAMES[i].units; unit++) {
            strcat(name, NAMES[i].unit);
            strcat(expected, NAMES[i].shown);
        }
        strcat(expected, ": a filter table cannot list");
        sqlite3 *database = open_database(":memory:");
        char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE \"%w\" USING bloom; SELECT key FROM "
                                    "\"%w\"",
                                    name, name);
        assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_ERROR);
        const char *message = sqlite3_errmsg(database);
        assert_true(is_clean(message));
        if (strncmp(message, expected, strlen(expected)) != 0)
            fail_msg("%s, not %s", message, expected);
        sqlite3_free(sql);
        close_database(database);
    }
}

/* A limit on values cuts messages, at a character, and neither empties them nor takes the caller's
 * transaction back. */
static void limits_cut_messages(void) {
    static const char *const STATEMENTS[][2] = {
        {"SELECT bloom_new('\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac')",
         "bloom_new: n is the text '\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac'. Give a number, not "
         "text"},
        {"SELECT bloom_check(NULL, 1)",
         "bloom_check: argument 1 is NULL. Check that the row with the filter exists, "
         "or that its pin was not lost in a join, a view, a "
         "subquery in FROM or coalesce"},
        {"SELECT bloom_info(bloom_new(1))",
         "bloom_new: the filter needs 128 bytes, but a value of this connection is limited to "},
        {"INSERT INTO "
         "\"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\"(\"\xc3\xa4\xc3\xa4\xc3\xa4"
         "\xc3\xa4\xc3\xa4\xc3\xa4\") VALUES ('wrong')",
         "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4: unknown command 'wrong'"},
    };
    for (int limit = 100; limit >= 30; limit--)
        for (size_t i = 0; i < COUNT_OF(STATEMENTS); i++) {
            sqlite3 *database = open_database(":memory:");
            assert_int_equal(
                sqlite3_exec(database,
                             "CREATE VIRTUAL TABLE \"\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
                             "\xc3\xa4\" USING bloom; CREATE TABLE t(x); BEGIN; INSERT INTO t "
                             "VALUES (1)",
                             NULL, NULL, NULL),
                SQLITE_OK);
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

/* Of keys that were chosen against layout fuse, with which 63 seeds fail, the 64th makes a filter;
 * with which 64 do, the statement ends with advice: a salt, which the chooser does not know, helps.
 */
static void advice_against_chosen_keys(void) {
#define FOUND(options)                                                                             \
    "WITH f(f) AS (SELECT bloom_agg(key, NULL, 0.004, " options ") FROM chosen) "                  \
    "SELECT sum(bloom_check(f, key)) FROM f, chosen"
    static const char ADVICE[] =
        "bloom_agg: cannot make a filter of layout fuse, because the keys were chosen against it. "
        "Give a salt of 32 random hexadecimal digits, as in 'layout=fuse, salt=...'";
    for (size_t seeds = 63; seeds <= 64; seeds++) {
        uint64_t words[2 * 64 + 1];
        const int count = 2 * (int)seeds + 1;
        sqlite3 *database = open_database(":memory:");
        sqlite3_stmt *insert;
        attack_words(words, seeds);
        run(database, "CREATE TABLE chosen(key)");
        sqlite3_prepare_v2(database, "INSERT INTO chosen VALUES (?)", -1, &insert, NULL);
        for (int i = 0; i < count; i++) {
            uint8_t key[16];
            key_of_words(words[i], 0, key);
            sqlite3_bind_blob(insert, 1, key, sizeof key, SQLITE_TRANSIENT);
            assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
            sqlite3_reset(insert);
        }
        sqlite3_finalize(insert);
        if (seeds == 63) {
            require_number(database, count, FOUND("'fuse'"));
        } else {
            assert_int_equal(try(database, NULL, "%s", FOUND("'fuse'")), SQLITE_ERROR);
            assert_string_equal(sqlite3_errmsg(database), ADVICE);
        }
        require_number(database, count,
                       FOUND("'layout=fuse, salt=6c7967656e657261736f6d6570736575'"));
        close_database(database);
    }
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
