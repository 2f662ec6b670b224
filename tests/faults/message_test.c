/* What others' text is in messages: valid UTF-8 without control characters, cut off at a character,
 * whatever bytes it has; and through every function that quotes an argument.
 */
#include "connection.h"

#include "sqlite/sqlite.h"

static void assert_quoted(const char *text, size_t length, const char *expected) {
    char quoted[BLOOM_QUOTE_SIZE];
    uint8_t *copy = copy_exactly(text, length);
    assert_ptr_equal(bloom_quote(quoted, copy, length), quoted);
    assert_string_equal(quoted, expected);
    free(copy);
}

#define QUOTED(text, expected) assert_quoted(text, sizeof text - 1, expected)

static void text_stays(void **state) {
    (void)state;
    QUOTED("", "''");
    QUOTED("a 'b' \\ c", "'a 'b' \\ c'");
    QUOTED("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "'\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80'");
    QUOTED("\xf4\x8f\xbf\xbf\xef\xbf\xbf\xc2\xa0", "'\xf4\x8f\xbf\xbf\xef\xbf\xbf\xc2\xa0'");
}

static void what_does_not_show_is_escaped(void **state) {
    (void)state;
    QUOTED("a\0b\n\x1b[31m\x7f", "'a\\u0000b\\u000a\\u001b[31m\\u007f'");
    QUOTED("\xc2\x80\xc2\x9f\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f",
           "'\\u0080\\u009f\\u2028\\u202e\\u2066\\u200f'");
}

static void what_is_no_text_is_escaped(void **state) {
    (void)state;
    QUOTED("\x80\xbf\xff\xfe", "'\\x80\\xbf\\xff\\xfe'");
    QUOTED("\xc0\x80\xc1\xbf\xe0\x80\x80\xf0\x8f\xbf\xbf", /* overlong */
           "'\\xc0\\x80\\xc1\\xbf\\xe0\\x80\\x80\\xf0\\x8f\\xbf\\xbf'");
    QUOTED(
        "\xed\xa0\x80\xf4\x90\x80\x80\xf8\x88\x80\x80\x80", /* surrogate, beyond the last, five */
        "'\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xf8\\x88\\x80\\x80\\x80'");
    QUOTED("\xe2\x82", "'\\xe2\\x82'"); /* the end is missing */
    QUOTED("\xe2\x82z", "'\\xe2\\x82z'");
    QUOTED("\xc3", "'\\xc3'");
}

static void long_text_is_cut_off(void **state) {
    char text[400], expected[BLOOM_QUOTE_SIZE];
    (void)state;
    memset(text, 'x', sizeof text);
    snprintf(expected, sizeof expected, "'%.60s'", text);
    assert_quoted(text, 60, expected);
    snprintf(expected, sizeof expected, "'%.60s'...", text);
    assert_quoted(text, 61, expected);
    assert_quoted(text, sizeof text, expected);
    /* Characters count, not bytes, as far as there is room. */
    for (size_t i = 0; i + 3 <= sizeof text; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    snprintf(expected, sizeof expected, "'%.180s'...", text);
    assert_quoted(text, 300, expected);
    for (size_t i = 0; i + 4 <= sizeof text; i += 4)
        memcpy(text + i, "\xf0\x9f\x98\x80", 4);
    char quoted[BLOOM_QUOTE_SIZE];
    bloom_quote(quoted, text, 400);
    assert_int_equal((strlen(quoted) - 5) % 4, 0);
    assert_true(strlen(quoted) > 180);
}

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

static void any_bytes_become_clean_text(void **state) {
    uint64_t random = 5;
    (void)state;
    assert_false(is_clean("\x80"));
    assert_false(is_clean("\n"));
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[100];
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
static void every_message_is_clean(void **state) {
    static const char *const CALLS[] = {"bloom_check(X, 1)",
                                        "bloom_add(X, 1)",
                                        "bloom_info(X)",
                                        "bloom_count(X)",
                                        "bloom_fpr(X)",
                                        "bloom_pin(X)",
                                        "bloom_union(bloom_new(1), X)",
                                        "bloom_intersect(X)",
                                        "bloom_new(X)",
                                        "bloom_new(1, X)",
                                        "bloom_new(1, 0.1, X)",
                                        "bloom_new_bits(X, 1)",
                                        "bloom_new_bits(1, X)",
                                        "bloom_size(X)",
                                        "bloom_size(1, X)",
                                        "bloom_size(1, 0.1, X)",
                                        "bloom_import(X, 'guava')",
                                        "bloom_import(x'00', X)",
                                        "bloom_export(X, 'guava')",
                                        "bloom_export(bloom_new(1), X)",
                                        "bloom_agg(1, X)",
                                        "bloom_agg(1, 1, X)",
                                        "bloom_agg(1, 1, 0.1, X)",
                                        "bloom_union_agg(X)",
                                        "bloom_intersect_agg(X)",
                                        "bloom_convert(bloom_new(1), X)",
                                        "bloom_convert(X, 'blocked')",
                                        "bloom_remove(X, 1)",
                                        "bloom_add(bloom_new(1, 0.1, 'key=url'), '/' || X)"};
    static const char *const TEXTS[] = {
        "CAST(x'fffe80c3' AS TEXT)", "CAST(bloom_new(10) AS TEXT)", "'a' || char(0, 10, 27) || 'b'",
        "CAST(zeroblob(1000) AS TEXT)",
        "replace(hex(zeroblob(59)), '00', 'x') || '\xc3\xa4\xc3\xa4'"};
    (void)state;
    sqlite3 *database = open_database(":memory:");
    for (size_t i = 0; i < COUNT_OF(CALLS); i++)
        for (size_t j = 0; j < COUNT_OF(TEXTS); j++) {
            const char *at = strchr(CALLS[i], 'X');
            char *sql = sqlite3_mprintf("SELECT %.*s%s%s", (int)(at - CALLS[i]), CALLS[i], TEXTS[j],
                                        at + 1);
            assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_ERROR);
            if (!is_clean(sqlite3_errmsg(database)))
                fail_msg("%s: %s", sql, sqlite3_errmsg(database));
            if (strstr(sqlite3_errmsg(database), "the text '") == NULL)
                fail_msg("%s: %s", sql, sqlite3_errmsg(database));
            sqlite3_free(sql);
        }
    sqlite3_close(database);
}

/* Names are whatever bytes an application has chosen. */
static void names_of_tables(void **state) {
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
    (void)state;
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
static void limits_cut_messages(void **state) {
    (void)state;
    static const char *const STATEMENTS[][2] = {
        {"SELECT bloom_new('\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac')",
         "bloom_new: n must be a whole number from 0 to 1099511627776, not the text "
         "'\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac'"},
        {"SELECT bloom_check(NULL, 1)", "bloom_check: the filter (argument 1) is NULL: check that "
                                        "its row exists; a pin is NULL beyond a "
                                        "join, a view, a subquery in FROM or coalesce"},
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

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Text stays as it is", text_stays),
        TEST("What does not show is escaped", what_does_not_show_is_escaped),
        TEST("What is no text is escaped", what_is_no_text_is_escaped),
        TEST("Long text is cut off at a character", long_text_is_cut_off),
        TEST("Any bytes become clean text", any_bytes_become_clean_text),
        TEST("Every message is clean", every_message_is_clean),
        TEST("Names of tables show as they are, or escaped", names_of_tables),
        TEST("A limit on values cuts messages and takes nothing back", limits_cut_messages),
    };
    return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}
