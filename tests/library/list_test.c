/* Lists: whatever the bytes, an entry lies in them, lines ascend, and a key is that of a URL and
 * canonical; a quarter of a megabyte of anything takes linear time. What each form means is tested
 * by lists.test. */
#include "library_test.h"

#include "list/list.h"

#include <time.h>

/* Reads a list from memory of exact size, after one that was left amid a line; returns how many of
 * its entries have keys. */
static unsigned read_list(const void *bytes, size_t length, unsigned *entries) {
    static const char LEFT[] = "0.0.0.0 a.example b.example";
    struct bloom_list *list = malloc(sizeof *list);
    struct bloom_list_entry entry;
    enum bloom_list_step step;
    uint8_t *copy = copy_exactly(bytes, length);
    uint64_t line = 0;
    unsigned keys = 0;
    *entries = 0;
    assert_non_null(list);
    assert_null(bloom_list_begin(list, (const uint8_t *)LEFT, strlen(LEFT)));
    assert_int_equal(bloom_list_next(list, &entry), BLOOM_LIST_ENTRY);
    bloom_list_begin(list, copy, length); /* what it refuses is read all the same */
    while ((step = bloom_list_next(list, &entry)) != BLOOM_LIST_END) {
        if (step == BLOOM_LIST_PAUSE)
            continue;
        ++*entries;
        assert_true(entry.line >= line && entry.line >= 1);
        line = entry.line;
        assert_true(entry.written >= copy && entry.written_bytes <= BLOOM_LIST_LINE_MOST);
        assert_true(entry.written + entry.written_bytes <= copy + length);
        assert_true(entry.key != NULL || entry.note != NULL);
        if (entry.key == NULL)
            continue;
        struct bloom_url url;
        uint8_t *key = copy_exactly(entry.key, entry.key_bytes);
        uint8_t *room = allocate_exactly((size_t)BLOOM_URL_ROOM(entry.key_bytes));
        keys++;
        assert_true(bloom_url_parse(&url, key, entry.key_bytes, room));
        assert_true(bloom_list_takes(key, entry.key_bytes, &url, room));
        assert_int_equal(url.length, entry.key_bytes);
        assert_memory_equal(room, key, entry.key_bytes);
        free(room);
        free(key);
    }
    free(copy);
    free(list);
    return keys;
}

static const char *const PIECES[] = {
    "\n",     "\n", "\r\n",     "||",       "^",        "$all",        "@@",         "##",
    "/",      "*",  "*.",       ".",        " ",        "\t",          "#",          "//",
    "\"",     ",",  "http://",  "[.]",      "hxxp",     "(dot)",       "[:]",        "address=/",
    "server", "-",  "0.0.0.0",  "::1",      "/32",      "local-zone:", " CNAME .",   "a.example",
    "b.c",    "[",  "]",        "a",        "\xc3\xbc", "\xff",        "\0",         "://",
    "{.}",    "s",  "fxp",      "@ ",       "$TTL",     "192.0.2.7",   "2001:db8::", "|",
    "url,",   "$",  "$script",  ";",        "host;",    " A ",         "/24",        "5",
    "%2f",    "0.", "10.0.0.0", "a\turl\n", "a,ip\n"};

static void random_lists(void) {
    uint64_t random = 5;
    unsigned keys = 0, entries = 0, more;
    for (unsigned round = 0; round < 60000; round++) {
        uint8_t bytes[600];
        size_t length = 0;
        for (uint64_t pieces = random_below(&random, 30); pieces > 0; pieces--) {
            const char *piece = PIECES[random_below(&random, COUNT_OF(PIECES))];
            size_t size = piece[0] == '\0' ? 1 : strlen(piece);
            memcpy(bytes + length, piece, size);
            length += size;
        }
        keys += read_list(bytes, length, &more);
        entries += more;
    }
    for (unsigned round = 0; round < 5000; round++) {
        uint8_t bytes[200];
        size_t length = random_below(&random, sizeof bytes);
        random_fill(&random, bytes, length);
        read_list(bytes, length, &more);
    }
    assert_true(keys > 1000 && entries > 2 * keys);
}

static char *append(char *to, const char *text) {
    memcpy(to, text, strlen(text));
    return to + strlen(text);
}

/* A line in a common form, or nearly so, and how it ends. Returns how many bytes it has. */
static size_t write_plain_line(uint64_t *random, char *to) {
    static const char *const STARTS[] = {"",   "",  "0.0.0.0 ", "127.0.0.1 ", "||",
                                         "||", "0", "0.0.0.0",  "0.0.0.0  ",  "0.0.0.0 0.0.0.0 ",
                                         "-",  "|", ".",        "127.0.0.1"};
    static const char *const LABELS[] = {
        "a",     "b",   "evil", "a-b",  "a_b", "1", "1.2", "-1",       "-",       "xn--", "xn",
        "xn--a", "x--", "_",    "0x7f", "7f",  "A", "",    "\xc3\xbc", "example", "com",  "com"};
    static const char *const ENDS[] = {"",  "",   "^",  "^",  "^$all", ".",  "/", ":80",
                                       "*", "^^", "\t", " #", "#x",    "^|", ","};
    static const char *const BREAKS[] = {"\n", "\n", "\r\n", "\r", "\n\n"};
    char *at = to;
    at = append(at, STARTS[random_below(random, COUNT_OF(STARTS))]);
    for (uint64_t labels = 1 + random_below(random, 4); labels > 0; labels--) {
        at = append(at, LABELS[random_below(random, COUNT_OF(LABELS))]);
        at = append(at, labels > 1 ? "." : "");
    }
    at = append(at, ENDS[random_below(random, COUNT_OF(ENDS))]);
    at = append(at, BREAKS[random_below(random, COUNT_OF(BREAKS))]);
    return (size_t)(at - to);
}

/* Blanks around a line do not count, but keep it from being taken without reading it. */
static void check_blanks(const uint8_t *bytes, size_t length) {
    static const char BEGUN[] = "x y z\n"; /* a heading may come before */
    struct bloom_list *lists[2] = {malloc(sizeof *lists[0]), malloc(sizeof *lists[1])};
    struct bloom_list_entry entries[2];
    enum bloom_list_step step;
    uint8_t *texts[2] = {malloc(2 * length + sizeof BEGUN), malloc(2 * length + sizeof BEGUN)};
    size_t lengths[2];
    for (unsigned blanks = 0; blanks < 2; blanks++) {
        assert_non_null(lists[blanks]);
        assert_non_null(texts[blanks]);
        memcpy(texts[blanks], BEGUN, sizeof BEGUN - 1);
        size_t used = sizeof BEGUN - 1;
        for (size_t i = 0; i < length; i++) {
            if (blanks == 1 &&
                (bytes[i] == '\r' || (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r'))))
                texts[blanks][used++] = ' ';
            texts[blanks][used++] = bytes[i];
        }
        lengths[blanks] = used;
        assert_null(bloom_list_begin(lists[blanks], texts[blanks], lengths[blanks]));
    }
    do {
        step = bloom_list_next(lists[0], &entries[0]);
        assert_int_equal(bloom_list_next(lists[1], &entries[1]), step);
        if (step != BLOOM_LIST_ENTRY)
            continue;
        assert_int_equal(entries[0].line, entries[1].line);
        assert_ptr_equal(entries[0].note, entries[1].note);
        assert_int_equal(entries[0].is_text, entries[1].is_text);
        assert_int_equal(entries[0].written_bytes, entries[1].written_bytes);
        assert_memory_equal(entries[0].written, entries[1].written, entries[0].written_bytes);
        assert_int_equal(entries[0].key != NULL, entries[1].key != NULL);
        if (entries[0].key == NULL)
            continue;
        assert_string_equal((const char *)entries[0].key, (const char *)entries[1].key);
        assert_int_equal(strlen((const char *)entries[0].key), entries[0].key_bytes);
    } while (step != BLOOM_LIST_END);
    for (unsigned blanks = 0; blanks < 2; blanks++) {
        free(lists[blanks]);
        free(texts[blanks]);
    }
}

static void plain_lines(void) {
    uint64_t random = 6;
    for (unsigned round = 0; round < 20000; round++) {
        char text[2000];
        size_t length = 0;
        for (uint64_t lines = random_below(&random, 12); lines > 0; lines--)
            length += write_plain_line(&random, text + length);
        check_blanks((const uint8_t *)text, length);
    }
}

/* Between letters, which keep what is blank in the line. */
static void long_lists(void) {
    enum { LENGTH = 1 << 18 };
    uint8_t *bytes = malloc(LENGTH + 20);
    unsigned entries;
    assert_non_null(bytes);
    for (size_t i = 0; i < COUNT_OF(PIECES); i++)
        for (unsigned line = 1; line <= 16000; line *= 126) {
            size_t size = PIECES[i][0] == '\0' ? 1 : strlen(PIECES[i]), length = 0, written = 0;
            clock_t start = clock();
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
            read_list(bytes, length, &entries);
            /* 0.1 s of the processor at most; 1.8 s where each field looked beyond its end. */
            assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 1);
        }
    free(bytes);
}

/* What is asked of the first field or the end of a line is asked once, however many fields there
 * are. */
static void many_fields(void) {
    enum { LINES = 64, LINE = 16000 };
    static const struct {
        const char *start;
        char first, others;
    } CASES[] = {
        {"x,", '1', ','}, {"1", '1', ','}, {"local-data: \"h ", 'a', ' '}, {"1 ", '-', ' '}};
    uint8_t *bytes = malloc(LINES * LINE);
    unsigned entries;
    assert_non_null(bytes);
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        clock_t start = clock();
        memset(bytes, CASES[i].others, LINES * LINE);
        for (uint8_t *line = bytes; line < bytes + LINES * LINE; line += LINE) {
            size_t used = strlen(CASES[i].start);
            memcpy(line, CASES[i].start, used);
            for (size_t j = used; j < LINE / 2; j++)
                line[j] = CASES[i].others == ' ' && j % 2 ? ' ' : (uint8_t)CASES[i].first;
            line[LINE / 2] = 'x';
            line[LINE - 2] = '"';
            line[LINE - 1] = '\n';
        }
        read_list(bytes, LINES * LINE, &entries);
        assert_int_equal(entries, LINES);
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 1); /* 0.1 s or so */
    }
    free(bytes);
}

/* The steps to the end of a list of which a line ends at a place, with an entry behind it: "p" for
 * a pause, the line's number for an entry. */
static const char *steps_to_the_end(uint8_t *bytes, size_t place, uint8_t filling) {
    static char steps[20];
    static const char REST[] = "\r\na.example\r\n#";
    struct bloom_list *list = malloc(sizeof *list);
    struct bloom_list_entry entry;
    enum bloom_list_step step;
    size_t count = 0;
    assert_non_null(list);
    memset(bytes, filling, place);
    memcpy(bytes + place, REST, sizeof REST - 1);
    assert_null(bloom_list_begin(list, bytes, place + sizeof REST - 1));
    while ((step = bloom_list_next(list, &entry)) != BLOOM_LIST_END && count + 1 < sizeof steps)
        steps[count++] = step == BLOOM_LIST_PAUSE ? 'p' : (char)('0' + entry.line);
    steps[count] = '\0';
    free(list);
    return steps;
}

static void pauses(void) {
    uint8_t *bytes = malloc(3 * BLOOM_LIST_STRETCH + 100);
    assert_non_null(bytes);
    for (size_t place = BLOOM_LIST_STRETCH - 13; place < BLOOM_LIST_STRETCH + 5; place++) {
        bool is_whole = place + 2 + strlen("a.example") < BLOOM_LIST_STRETCH;
        assert_string_equal(steps_to_the_end(bytes, place, ' '), is_whole ? "2" : "p2");
        assert_string_equal(steps_to_the_end(bytes, place, 'x'),
                            place < BLOOM_LIST_STRETCH ? "12" : "p12");
    }
    assert_string_equal(steps_to_the_end(bytes, 3 * BLOOM_LIST_STRETCH, ' '), "ppp2");
    assert_string_equal(steps_to_the_end(bytes, 3 * BLOOM_LIST_STRETCH, 'x'), "ppp12");
    free(bytes);
}

static void the_longest_line(void) {
    unsigned entries;
    uint8_t *bytes = malloc(BLOOM_LIST_LINE_MOST + 1);
    assert_non_null(bytes);
    memset(bytes, 0xff, BLOOM_LIST_LINE_MOST + 1);
    memcpy(bytes, "a.b/", 4);
    assert_int_equal(read_list(bytes, BLOOM_LIST_LINE_MOST, &entries), 1);
    assert_int_equal(read_list(bytes, BLOOM_LIST_LINE_MOST + 1, &entries), 0);
    assert_int_equal(entries, 1);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Whatever the bytes, entries lie in them and keys are canonical", random_lists),
        TEST("Lines taken without reading them are as if read", plain_lines),
        TEST("A quarter of a megabyte of anything takes linear time", long_lists),
        TEST("Lines of many fields take linear time", many_fields),
        TEST("What passes a megabyte without an entry pauses", pauses),
        TEST("A line has 16384 bytes at most", the_longest_line),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
