/* Lists: whatever the bytes, what read_list.h says of them holds; a quarter of a megabyte of
 * anything takes linear time. What each form means is tested by lists.test, and that lines are read
 * alike with the shortcut for plain ones by plain_test.py. */
#include "library_test.h"

#include "../fuzz/read_list.h"

#include <time.h>

static const char *const PIECES[] = {
    "\n",       "\n",        "\r\n",        "||",          "^",          "$all",
    "@@",       "##",        "/",           "*",           "*.",         ".",
    " ",        "\t",        "#",           "//",          "\"",         ",",
    "http://",  "[.]",       "hxxp",        "(dot)",       "[:]",        "address=/",
    "server",   "-",         "0.0.0.0",     "::1",         "/32",        "local-zone:",
    " CNAME .", "a.example", "b.c",         "[",           "]",          "a",
    "\xc3\xbc", "\xff",      "\0",          "://",         "{.}",        "s",
    "fxp",      "@ ",        "$TTL",        "192.0.2.7",   "2001:db8::", "|",
    "url,",     "$",         "$script",     ";",           "host;",      " A ",
    "/24",      "5",         "%2f",         "0.",          "10.0.0.0",   "a\turl\n",
    "a,ip\n",   "\n- ",      "'",           "+.",          "DOMAIN,",    "~",
    "=",        "$to=",      "[adblock]\n", "$dnsrewrite", ".js",        "localhost",
    ",domain,", "sha256,",   "ip\t",        "url: ",       "\n- url: ",  "[url:value='",
    "']",       "#fields\t", "Data,Note\n", ".exe",        "com.",       "\xe3\x80\x80",
    "\xc2\xa0", "(.)",       "~b.*|",       "denyallow=",  ",2026,",     "value,type\n"};

static void random_lists(void) {
    struct bloom_list list;
    uint64_t random = 5;
    unsigned keys = 0, entries = 0, more;
    for (unsigned round = 0; round < 12000; round++) {
        uint8_t bytes[600];
        size_t length = 0;
        for (uint64_t pieces = random_below(&random, 30); pieces > 0; pieces--) {
            const char *piece = PIECES[random_below(&random, COUNT_OF(PIECES))];
            size_t size = piece[0] == '\0' ? 1 : strlen(piece);
            memcpy(bytes + length, piece, size);
            length += size;
        }
        FREED uint8_t *copy = fuzz_copy(bytes, length);
        memset(&list, (int)(round % 256), sizeof list); /* as if another one was left amid a line */
        entries += read_list(&list, copy, length, &more);
        keys += more;
    }
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t bytes[200];
        size_t length = random_below(&random, sizeof bytes);
        random_fill(&random, bytes, length);
        FREED uint8_t *copy = fuzz_copy(bytes, length);
        read_list(&list, copy, length, &more);
    }
    assert_true(keys > 500 && entries > 2 * keys);
}

/* A list takes 0.1 s of the processor or so; it was 1.8 s where each field looked beyond its end.
 */
static void assert_soon_read(const uint8_t *bytes, size_t length, unsigned entries_least) {
    static struct bloom_list list;
    FREED uint8_t *copy = fuzz_copy(bytes, length);
    unsigned keys;
    const clock_t start = clock();
    assert_true(read_list(&list, copy, length, &keys) >= entries_least);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 1);
}

/* Between letters, which keep what is blank in the line. */
static void long_lists(void) {
    enum { LENGTH = 1 << 18 };
    FREED uint8_t *bytes = malloc(LENGTH + 20);
    assert_non_null(bytes);
    for (size_t i = 0; i < COUNT_OF(PIECES); i++)
        for (unsigned line = i % 3 ? 16000 : 126; line <= 16000; line *= 127) {
            size_t size = PIECES[i][0] == '\0' ? 1 : strlen(PIECES[i]), length = 0, written = 0;
            while (length < LENGTH) {
                memcpy(bytes + length, PIECES[i], size);
                length += size;
                written += size;
                if (written > line) {
                    memcpy(bytes + length, "x\nx", 3);
                    length += 3;
                    written = 0;
                }
            }
            assert_soon_read(bytes, length, 0);
        }
}

/* Lines that are made of parts, each a text that is repeated up to an end. What is asked of the
 * first field or the end of a line is asked once, however many fields there are. Each of many
 * exceptions is compared with the host of its rule, which is as long as a host can be or longer. */
static void many_fields_and_exceptions(void) {
    enum { LINES = 64, LINE = 16000, HALF = LINE / 2, END = LINE - 8 };
    static const struct {
        const char *text;
        size_t end;
    } CASES[][5] = {
        {{"x,", 2}, {"1", HALF}, {"x", HALF + 1}, {",", END}, {"a[.]bc\"", LINE - 1}},
        {{"1", HALF}, {"x", HALF + 1}, {",", END}, {"a[.]bc\"", LINE - 1}},
        {{"local-data: \"h ", 15},
         {"a ", HALF},
         {"x", HALF + 1},
         {" ", END},
         {"a[.]bc\"", LINE - 1}},
        {{"1 ", 2}, {"- ", HALF}, {"x", HALF + 1}, {" ", END}, {"a[.]bc\"", LINE - 1}},
        {{"-", HALF}, {"x", HALF + 1}, {"-", END}, {"a[.]bc\"", LINE - 1}},
        {{"||", 2}, {"w.", 250}, {"w^$denyallow=", 263}, {"a|", LINE - 1}},
        {{"||", 2}, {"w.", HALF}, {"w^$denyallow=", HALF + 13}, {"a|", LINE - 1}},
        {{"||", 2}, {"w.", 250}, {"w^$domain=", 260}, {"~z.*|", LINE - 5}},
        {{"||", 2}, {"w.", HALF}, {"w^$domain=", HALF + 10}, {"~z.*|", LINE - 5}},
    };
    FREED uint8_t *bytes = malloc(LINES * LINE);
    assert_non_null(bytes);
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        memset(bytes, '\n', LINES * LINE);
        for (uint8_t *line = bytes; line < bytes + LINES * LINE; line += LINE)
            for (size_t part = 0, used = 0; part < COUNT_OF(*CASES); part++)
                for (; used < CASES[i][part].end; used += strlen(CASES[i][part].text))
                    memcpy(line + used, CASES[i][part].text, strlen(CASES[i][part].text));
        assert_soon_read(bytes, LINES * LINE, LINES);
    }
}

RUN_GROUP("list",
          TEST("Whatever the bytes, entries lie in them and keys are canonical", random_lists),
          TEST("A quarter of a megabyte of anything takes linear time", long_lists),
          TEST("Lines of many fields, and rules with many exceptions, take linear time",
               many_fields_and_exceptions))
