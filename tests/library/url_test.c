/* URLs as keys: names at their longest; properties over random URLs, in memory of exact size; and a
 * megabyte of what could take quadratic time. Examples of the rules are in
 * tests/documentation/golden/urls.txt, and urls_test.py holds names, addresses and all else at
 * random against what browsers' parsers make of them. */
#include "library_test.h"

#include "url/url.h"

#include <time.h>

/* A parsed URL with its canonical text, a string, in memory of exact size. */
struct parsed {
    struct bloom_url url;
    char *text; /* "(none)" without a host */
};

static struct parsed parse(const void *bytes, size_t length) {
    struct parsed parsed = {.text = NULL};
    FREED uint8_t *copy = copy_exactly(bytes, length);
    FREED uint8_t *room = allocate_exactly((size_t)BLOOM_URL_ROOM(length));
    if (bloom_url_parse(&parsed.url, copy, length, room)) {
        assert_true(parsed.url.host >= 1);
        assert_true(parsed.url.host < parsed.url.path);
        assert_true(parsed.url.path <= parsed.url.length);
        assert_true(parsed.url.length <= 3 * length + 256);
        parsed.text = (char *)allocate_exactly(parsed.url.length + 1);
        memcpy(parsed.text, room, parsed.url.length);
    } else {
        parsed.url.length = 0;
        parsed.text = (char *)copy_exactly("(none)", 7);
    }
    return parsed;
}

/* Fails unless the canonical text begins so; its end, too, if whole. */
static void assert_canonical(const void *bytes, size_t length, const char *expected, bool whole) {
    struct parsed parsed = parse(bytes, length);
    if (whole ? strcmp(parsed.text, expected) != 0
              : strncmp(parsed.text, expected, strlen(expected)) != 0)
        fail_msg("%.*s gives %s, not %s", (int)length, (const char *)bytes, parsed.text, expected);
    free(parsed.text);
}

/* What is mapped to many letters: 57 words of 18, more than a name can have. No room is left for a
 * label beyond ASCII behind 252 bytes. */
static void long_names(void) {
    char many[600], expected[600] = "";
    for (unsigned i = 0; i < 57; i++)
        memcpy(many + 3 * i, "\ufdfa", 3);
    assert_canonical(many, 3 * 57, "(none)", true);
    for (unsigned i = 0; i < 252; i += 2)
        strcat(expected, "a.");
    strcpy(many, expected);
    strcat(many, "\u00fc");
    strcat(expected, "xn--tda/");
    assert_canonical(many, strlen(many), expected, true);
}

/* A name beyond ASCII has at most 255 bytes where the standard decides, and a label 63 where it
 * refuses the URL. */
static void labels_at_their_longest(void) {
    char written[300], expected[300];
    for (unsigned letters = 50; letters < 260; letters++) {
        memset(written, 'a', letters);
        strcpy(written + letters, "\u00fc:x");
        /* With "xn--", a dash and what tells the letter and its place. */
        snprintf(expected, sizeof expected, "xn--%.*s-", (int)letters, written);
        assert_canonical(written, letters + 2, letters <= 247 ? expected : "(none)", false);
        assert_canonical(written, letters + 4, letters <= 55 ? expected : "(none)", false);
    }
}

/* With each letter escaped, a name may be as long as DNS has them, and not longer. Longer Punycode
 * is not a name, either. */
static void escaped_names(void) {
    enum { LETTERS = 300 };
    char text[5 * 256 + 100];
    for (unsigned most = 255; most <= 256; most++) {
        strcpy(text, "http://");
        for (unsigned i = 0; i < most; i++)
            strcat(text, i % 60 == 59 ? "\uff052e" : "\uff0561");
        assert_canonical(text, strlen(text), most == 255 ? "aaa" : "(none)", false);
    }
    memset(text, 'a', LETTERS + 17);
    memcpy(text, "http://[::1].xn--", 17);
    assert_canonical(text, LETTERS + 17, "(none)", true);
    memcpy(text + LETTERS, "\uff0541", 5);
    assert_canonical(text + 17, LETTERS - 17 + 5, "(none)", true);
}

/* Most URLs are looked at eight bytes at a time: whatever byte, wherever it stands. */
static void each_byte_at_each_place(void) {
    for (unsigned length = 6; length < 20; length++)
        for (unsigned place = 2; place < length - 1; place++)
            for (unsigned byte = 0; byte < 256; byte++) {
                char written[32], expected[40];
                if (byte != 0 && strchr("/\\?#.\t\r\n", (int)byte) != NULL)
                    continue;
                memset(written, 'z', length);
                written[1] = '/';
                written[place] = (char)byte;
                bool plain = byte > 32 && byte < 127 && byte != '%';
                snprintf(expected, sizeof expected, plain ? "%.*s%c%.*s" : "%.*s%%%02X%.*s",
                         (int)place, written, byte, (int)(length - place - 1), written + place + 1);
                assert_canonical(written, length, expected, true);
            }
}

static void dots_at_each_place(void) {
    for (unsigned length = 10; length < 40; length++)
        for (unsigned place = 2; place + 4 < length; place++) {
            char written[48], expected[48];
            memset(written, 'z', length);
            written[1] = '/';
            memcpy(written + place, place % 2 ? "/./" : "a//", 3);
            snprintf(expected, sizeof expected, "z/%.*s%s/%.*s", (int)place - 2, written + 2,
                     place % 2 ? "" : "a", (int)(length - place - 3), written + place + 3);
            assert_canonical(written, length, expected, true);
        }
}

/* Properties that hold for any bytes. */
static void check_properties(const uint8_t *bytes, size_t length) {
    struct parsed parsed = parse(bytes, length);
    struct bloom_url_key found[BLOOM_URL_KEYS_MOST];
    if (parsed.url.length > 0) {
        for (size_t i = 0; i < parsed.url.length; i++)
            assert_true(parsed.text[i] > ' ' && parsed.text[i] < 127 && parsed.text[i] != '#');
        unsigned count = bloom_url_keys(&parsed.url, (const uint8_t *)parsed.text, found);
        assert_true(count >= 1 && count <= BLOOM_URL_KEYS_MOST);
        assert_int_equal(found[0].start, 0);
        assert_int_equal(found[0].length, parsed.url.length);
        for (unsigned i = 0; i < count; i++) {
            const char *key = parsed.text + found[i].start;
            FREED char *copy = (char *)allocate_exactly(found[i].length + 1);
            memcpy(copy, key, found[i].length);
            assert_canonical(key, found[i].length, copy, true);
            for (unsigned j = 0; j < i; j++)
                assert_false(found[i].length == found[j].length &&
                             memcmp(key, parsed.text + found[j].start, found[i].length) == 0);
        }
    }
    free(parsed.text);
}

static void random_bytes(void) {
    /* What rules are about, so that all of them meet; escapes of escapes come from "%25". */
    static const char *const PIECES[][13] = {
        {"http://", "://", "//", "/", "/", "/./", "/../", "..", ".", ".", ":", ":80", "@"},
        {"?", "#", "%", "%2", "%25", "25", "41", "%2f", "%2e", "%3a", "%40", "%00", "%20"},
        {" ", "\t", "[", "]", "::", "ffff:", "1.2.3.4", "0x", "0", "1", "9", "a", "b"},
        {"Z", "g", "-", "xn--", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff",
         "\xe3\x80\x80", "\x01", "example", "e.com", "64:ff9b::"}};
    uint64_t random = 1;
    uint8_t bytes[200];
    for (unsigned round = 0; round < 15000; round++) {
        size_t length = 0;
        unsigned pieces = 1 + (unsigned)random_below(&random, 14);
        for (unsigned i = 0; i < pieces; i++) {
            uint64_t choice = random_below(&random, COUNT_OF(PIECES) * COUNT_OF(*PIECES));
            const char *piece = PIECES[choice / COUNT_OF(*PIECES)][choice % COUNT_OF(*PIECES)];
            memcpy(bytes + length, piece, strlen(piece));
            length += strlen(piece);
        }
        check_properties(bytes, length);
    }
    for (unsigned round = 0; round < 4000; round++) {
        size_t length = random_below(&random, sizeof bytes);
        random_fill(&random, bytes, length);
        check_properties(bytes, length);
    }
}

/* A megabyte of one piece behind a beginning. Quadratic time would be hours with sanitizers. */
static void megabytes(void) {
    static const char *const BEGINNINGS[] = {"h", "http://", "http://h/a/", "http://[", "1"};
    static const char *const PIECES[] = {
        "%25", "%2", "/../",   "/./",     "/a/..", ".",       "@",
        "#",   "\t", ":",      "a:",      "[",     "]",       "?",
        "a.",  "1.", "\u00fc", "\u00fc.", "\xff",  "f",       "-",
        "0x",  "A",  "xn--",   "%2525",   "::",    "%2e%2e/", "\xf0\x9f\x98\x80"};
    enum { LENGTH = 1 << 20 };
    FREED uint8_t *bytes = malloc(LENGTH + 10), *room = malloc((size_t)BLOOM_URL_ROOM(LENGTH + 10));
    assert_non_null(bytes);
    assert_non_null(room);
    clock_t start = clock();
    unsigned hosts_found = 0;
    for (size_t i = 0; i < COUNT_OF(BEGINNINGS) * COUNT_OF(PIECES); i++) {
        const char *beginning = BEGINNINGS[i / COUNT_OF(PIECES)];
        const char *piece = PIECES[i % COUNT_OF(PIECES)];
        struct bloom_url url;
        struct bloom_url_key found[BLOOM_URL_KEYS_MOST];
        size_t length = strlen(beginning), size = strlen(piece);
        memcpy(bytes, beginning, length);
        for (; length < (i % 4 ? LENGTH / 4 : LENGTH); length += size) /* a sample is enough */
            memcpy(bytes + length, piece, size);
        if (bloom_url_parse(&url, bytes, length, room)) {
            hosts_found++;
            assert_true(bloom_url_keys(&url, room, found) >= 1);
            assert_true(url.length <= 3 * length + 256);
        }
    }
    assert_true(hosts_found > 50);
    /* 0.01 s or so for each, however busy the machine is. */
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60);
}

RUN_GROUP("url", TEST("Names that are mapped to too much have no key", long_names),
          TEST("A name beyond ASCII that DNS cannot hold has no key", labels_at_their_longest),
          TEST("An escaped name is as long as DNS has them", escaped_names),
          TEST("Every byte is told apart at every place", each_byte_at_each_place),
          TEST("Dots and double slashes are found at every place", dots_at_each_place),
          TEST("Every key is canonical and there once, whatever the bytes", random_bytes),
          TEST("A megabyte of anything takes linear time", megabytes))
