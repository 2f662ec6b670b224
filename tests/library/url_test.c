/* URLs as keys: names beyond ASCII, IPv6 addresses and keys by examples; by properties over random
 * URLs; and at the limits, a megabyte of what could take quadratic time. The other rules of
 * ext/URLS.md have their examples on that page, which urls_test.py tries. */
#include "library_test.h"

#include "url/url.h"

#include <time.h>

/* A parsed URL with its canonical text in memory of exact size. */
struct parsed {
    bool has_host;
    struct bloom_url url;
    uint8_t *text;
};

static struct parsed parse(const void *bytes, size_t length) {
    struct parsed parsed = {0};
    uint8_t *copy = copy_exactly(bytes, length);
    uint8_t *room = allocate_exactly((size_t)BLOOM_URL_ROOM(length));
    parsed.has_host = bloom_url_parse(&parsed.url, copy, length, room);
    free(copy);
    if (parsed.has_host) {
        assert_true(parsed.url.host >= 1);
        assert_true(parsed.url.host < parsed.url.path);
        assert_true(parsed.url.path <= parsed.url.length);
        assert_true(parsed.url.length <= 3 * length + 256);
        parsed.text = copy_exactly(room, parsed.url.length);
    }
    free(room);
    return parsed;
}

/* The canonical text as a string, or "(none)". */
static char *canonical(const void *bytes, size_t length) {
    struct parsed parsed = parse(bytes, length);
    size_t used = parsed.has_host ? parsed.url.length : 6;
    char *text = malloc(used + 1);
    assert_non_null(text);
    memcpy(text, parsed.has_host ? (const char *)parsed.text : "(none)", used);
    text[used] = '\0';
    free(parsed.text);
    return text;
}

struct example {
    const char *written;
    const char *canonical; /* NULL: no host */
};

static void check_examples(const struct example *examples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct example *example = &examples[i];
        char *text = canonical(example->written, strlen(example->written));
        const char *expected = example->canonical != NULL ? example->canonical : "(none)";
        if (strcmp(text, expected) != 0)
            fail_msg("%s gives %s, not %s", example->written, text, expected);
        free(text);
    }
}

/* What UTS #46 asks of names beyond ASCII: joiners (RFC 5892), text from right to left (RFC 5893),
 * composition, Hangul, Punycode that is none; and an address. ada-url, and Node for those in
 * Punycode, say which ones browsers open, and as what; of the others the labels become Punycode as
 * they are. */
static void rules_of_names(void) {
    static const struct {
        const char *written, *canonical;
        bool opened;
    } NAMES[] = {
        {"a\xe2\x80\x8c"
         "b.example",
         "xn--ab-j1t.example/", false},
        {"\xe2\x80\x8c"
         "a.example",
         "xn--a-rgn.example/", false},
        {"\xe0\xa4\x95\xe0\xa5\x8d\xe2\x80\x8d\xe0\xa4\xb7.example", "xn--11b2ezcw70k.example/",
         true},
        {"\xd9\x86\xd8\xa7\xd9\x85\xd9\x87\xe2\x80\x8c\xd8\xa7\xdb\x8c.example",
         "xn--mgba3gch31f060k.example/", true},
        {"a\xe2\x80\x8d"
         "b.example",
         "xn--ab-m1t.example/", false},
        {"\xd8\xa8\xe2\x80\x8c.example", "xn--ngb073k.example/", false},
        {"\xd8\xa8\xe2\x80\x8c"
         "a.example",
         "xn--a-0mc899q.example/", false},
        {"\xd8\xa8\xd9\x8b\xe2\x80\x8c\xd9\x8b\xd8\xa8.example", "xn--ngba8ha8704a.example/", true},
        {"\xd8\xa8\xe2\x80\x8c\xd7\x90.example", "xn--4db9om05e.example/", false},
        {"a\xe0\xa5\x8d\xe2\x80\x8c"
         "b.example",
         "xn--ab-fsf604u.example/", true},
        {"\xe1\x84\x80\xe1\x84\x80.example", "xn--ypda.example/", true},
        {"\xe1\x84\x80"
         "a.example",
         "xn--a-n5g.example/", true},
        {"\xea\xb0\x80\xe1\x86\xa7.example", "xn--qud9310f.example/", true},
        {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8.example", "xn--p39a.example/", true},
        {"\xea\xb0\x80"
         "a.example",
         "xn--a-2x5e.example/", true},
        {"\xea\xb0\x80\xe1\x84\x80.example", "xn--ypd3740f.example/", true},
        {"\xea\xb0\x80\xed\x9e\xa3.example", "xn--o39an14f.example/", true},
        {"\xea\xb0\x80\xed\x9e\xb0.example", "xn--o39am24f.example/", true},
        {"\xf0\xa0\x80\x80\xf0\xa0\x80\x80.example", "xn--j50ia.example/", true},
        {"\xe4\xb8\x80\xf0\xa0\x80\x80.example", "xn--4gq2496h.example/", true},
        {"a\xf0\x90\x8c\x80.example", "xn--a-sb2i.example/", true},
        {"a\xcc\x82\xcc\xa3.example", "xn--zkg.example/", true},
        {"q\xcc\xa3\xcc\x87.example", "xn--q-9bb7f.example/", true},
        {"\xe3\x81\x8c.example", "xn--v8j.example/", true},
        {"\xe3\x81\x8b\xe3\x82\x99.example", "xn--v8j.example/", true},
        {"q\xcc\x81\xcc\x82.example", "xn--q-xbbd.example/", true},
        {"q\xcc\x87\xcc\xa3.example", "xn--q-9bb7f.example/", true},
        {"\xd7\x90"
         "1.example",
         "xn--1-zhc.example/", true},
        {"\xd7\x90\xd9\xa1.example", "xn--4db40a.example/", true},
        {"\xd7\x90"
         "1\xd9\xa1.example",
         "xn--1-zhc05b.example/", false},
        {"\xd7\x90\xd9\xa1"
         "1.example",
         "xn--1-zhc94b.example/", false},
        {"xn-\xc3\xbc.example", "xn--xn--joa.example/", true},
        {"xn--\xc3\xbc.example", "xn--xn---3ra.example/", false},
        {"xn\xc3\xbc--.example", "xn--xn---1ra.example/", true},
        {"x\xc3\xbc--.example", "xn--x---hoa.example/", true},
        {"xnn-\xc3\xbc.example", "xn--xnn--3ra.example/", true},
        {"\xe3\x8f\x82.example", "xn--6yk.example/", false},
        {"\xcc\x80\xe3\x8f\x82.example", "xn--ksa870w.example/", false},
        {"a\xc2\xad"
         "b.example",
         "ab.example/", true},
        {"\xc2\xad\xc3\xbc.example", "xn--tda.example/", true},
        {"\xe2\x80\x8d.example", "xn--1ug.example/", false},
        {"\xc3\xbc.xn--a-vbb.example", "xn--tda.xn--a-vbb.example/", false},
        {"\xc3\xbc.xn--q-9bb8f.example", "xn--tda.xn--q-9bb8f.example/", false},
        {"\xc3\xbc.xn--72g.example", "xn--tda.xn--72g.example/", false},
        {"\xc3\xbc.xn--ib9b.example", "xn--tda.xn--ib9b.example/", false},
        {"\xc3\xbc.xn--ab-zd9k.example", "xn--tda.xn--ab-zd9k.example/", false},
        {"\xc3\xbc.xn--99999999.example", "xn--tda.xn--99999999.example/", false},
        {"\xc3\xbc.xn--9999999999.example", "xn--tda.xn--9999999999.example/", false},
        {"\xc3\xbc.xn--zzzzzzzzz.example", "xn--tda.xn--zzzzzzzzz.example/", false},
        {"\xc3\xbc.xn--a-99999999.example", "xn--tda.xn--a-99999999.example/", false},
        {"\xc3\xbc.xn--99999zzz.example", "xn--tda.xn--99999zzz.example/", false},
        {"\xc3\xbc.xn--0000000000.example", "xn--tda.xn--0000000000.example/", false},
        {"\xc3\xbc.xn--99990a.example", "xn--tda.xn--99990a.example/", false},
        {"\xc3\xbc.xn--z9999a.example", "xn--tda.xn--z9999a.example/", false},
        {"\xc3\xbc.xn--ab-zzzzz99.example", "xn--tda.xn--ab-zzzzz99.example/", false},
        {"\xc3\xbc.xn--tda9.example", "xn--tda.xn--tda9.example/", false},
        {"\xc3\xbc.xn--tda9999999999.example", "xn--tda.xn--tda9999999999.example/", false},
        {"\xc3\xbc.xn--tda43883t.example", "xn--tda.xn--tda43883t.example/", false},
        {"\xc3\xbc.xn--tda2021i.example", "xn--tda.xn--tda2021i.example/", false},
        {"\xd7\x90..\xd7\x91", "xn--4db.xn--5db/", true},
        {"\xe1\xb9\xa1\xcc\xa3.example", "xn--1ig.example/", true},
        {"\xd8\xa8\xe2\x80\x8c\xd8\xa8\xd7\x90.example", "xn--4db9oa526x.example/", true},
        {"1\xd7\x90.example", "xn--1-0hc.example/", false},
        {"xn--mnchen-3ya.example", "xn--mnchen-3ya.example/", true},
        {"xn--a-vbb.example", "xn--a-vbb.example/", true},
        {"xn--99999999.%65xample:80/a%2fb", "xn--99999999.example/a/b", true},
        {"xn--0y0c.1", "xn--0y0c.1/", false},
        {"xn--0y0c.a^b", "xn--0y0c.a^b/", false},
        {"//xn--0y0c.example:x", "xn--0y0c.example/", false},
        {"xn--a%62://a.example", "a.example/", false},
        {"a.b/x//%2e%2e", "a.b/x/", true},
        {"[::1]", "[::1]/", true},
        {"1..2.3", "1.2.0.3/", false},
    };
    for (size_t i = 0; i < COUNT_OF(NAMES); i++) {
        struct parsed parsed = parse(NAMES[i].written, strlen(NAMES[i].written));
        assert_true(parsed.has_host);
        assert_int_equal(parsed.url.length, strlen(NAMES[i].canonical));
        assert_memory_equal(parsed.text, NAMES[i].canonical, parsed.url.length);
        if (parsed.url.opened != NAMES[i].opened)
            fail_msg("%s is %s", NAMES[i].canonical, NAMES[i].opened ? "refused" : "opened");
        free(parsed.text);
    }
    /* What is mapped to many letters: of 57 words of 18, more than a name can have. No room is left
     * for a label beyond ASCII behind 252 bytes. */
    char many[600];
    size_t used = 0;
    for (unsigned i = 0; i < 57; i++, used += 3)
        memcpy(many + used, "\xef\xb7\xba", 3);
    struct parsed parsed = parse(many, used);
    assert_false(parsed.has_host);
    for (used = 0; used < 252; used += 2)
        memcpy(many + used, "a.", 2);
    memcpy(many + used, "\xc3\xbc", 2);
    parsed = parse(many, used + 2);
    assert_true(parsed.has_host);
    assert_false(parsed.url.opened);
    assert_int_equal(parsed.url.length, used + strlen("xn--tda/"));
    assert_memory_equal(parsed.text + used, "xn--tda/", 8);
    free(parsed.text);
}

/* A name beyond ASCII has at most 255 bytes where the standard decides, and a label 63 where it
 * refuses the URL. */
static void labels_at_their_longest(void) {
    char written[300], expected[300];
    for (unsigned letters = 50; letters < 260; letters++) {
        memset(written, 'a', letters);
        strcpy(written + letters, "\xc3\xbc");
        char *opened = canonical(written, letters + 2);
        strcat(written, ":x");
        char *refused = canonical(written, letters + 4);
        /* With "xn--", a dash and what tells the letter and its place. */
        assert_string_equal(refused, letters <= 55 ? opened : "(none)");
        if (letters <= 247) {
            assert_int_equal(strlen(opened), 4 + letters + 1 + 3 + 1);
            snprintf(expected, sizeof expected, "xn--%.*s-", (int)letters, written);
            assert_memory_equal(opened, expected, letters + 5);
        } else {
            assert_string_equal(opened, "(none)");
        }
        free(opened);
        free(refused);
    }
}

static void ipv6_addresses(void) {
    static const struct example EXAMPLES[] = {
        {"http://[2001:DB8:0:0:0:0:0:1]:80/x", "[2001:db8::1]/x"},
        {"http://[2001:0db8:0000:0000:0001:0000:0000:0000]", "[2001:db8:0:0:1::]/"},
        {"http://[1:0:0:2:0:0:0:3]/", "[1:0:0:2::3]/"},
        {"http://[1:0:0:2:3:0:0:4]/", "[1::2:3:0:0:4]/"},
        {"http://[1:0:2:3:4:5:6:7]/", "[1:0:2:3:4:5:6:7]/"},
        {"http://[1::2:3:4:5:6:7]/", "[1:0:2:3:4:5:6:7]/"},
        {"http://[0:0:0:0:0:0:0:0]/", "[::]/"},
        {"http://[::]/", "[::]/"},
        {"http://[::1]", "[::1]/"},
        {"http://[1::]", "[1::]/"},
        {"http://[::2:3:4:5:6:7:8]", "[0:2:3:4:5:6:7:8]/"},
        {"http://[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:0]/"},
        {"http://[1:2:3:4:5:6:7:8]?q", "[1:2:3:4:5:6:7:8]/?q"},
        {"http://[::ffff:1.2.3.4]/", "1.2.3.4/"},
        {"http://[::FFFF:102:304]/", "1.2.3.4/"},
        {"http://[64:ff9b::1.2.3.4]/", "1.2.3.4/"},
        {"http://[64:ff9b:1::1.2.3.4]/", "[64:ff9b:1::102:304]/"},
        {"http://[::1.2.3.4]/", "[::102:304]/"},
        {"http://[1:2:3:4:5:6:255.255.255.255]/", "[1:2:3:4:5:6:ffff:ffff]/"},
        {"http://[fe80::1%25eth0]:80/", "[fe80::1]/"},
        {"http://[fe80::1%eth0]/", "[fe80::1]/"},
        {"http://user@[::1]:80/", "[::1]/"},
        {"http://[::1.2.3.04]/", "[::102:304]/"},
        {"http://[::ffff:0X7F.0.0.0x]/", "127.0.0.0/"},
        {"http://[::01.2.3.100]/", "[::102:364]/"},
        {"http://[::1.2.3.100]/", "[::102:364]/"},
        {"::ffff:0X7F.0.0.010", "127.0.0.8/"},
        {"http://[%3a:1]/", "[::1]/"},
        /* Without brackets, as lists of addresses have it. */
        {"::1", "[::1]/"},
        {"2001:db8::1", "[2001:db8::1]/"},
        {"fe80::1/x", "[fe80::1]/x"},
        {"abcd:1:2:3:4:5:6:7?x", "[abcd:1:2:3:4:5:6:7]/?x"},
        {"http://::1/", "[::1]/"},
        {"::ffff:1.2.3.4", "1.2.3.4/"},
        {"fe80::1%25x", "[fe80::1]/"},
        {"a::%25x@b", "b/"},
        {"a::%25]@b", NULL}, /* a scheme, since the zone of an address has no brackets */
        {"fe80::1%25[x]@b.example/p", NULL},
        {"fe80::1%[@b.example/p", NULL},
        {"evil.example:", NULL},
        /* None. */
        {"http://[", NULL},
        {"http://[]/", NULL},
        {"http://[::1", NULL},
        {"http://[::1]x/", NULL},
        {"http://[:1]/", NULL},
        {"http://[1:]/", NULL},
        {"http://[:::]/", NULL},
        {"http://[1::2::3]/", NULL},
        {"http://[1:2:3:4:5:6:7]/", NULL},
        {"http://[1:2:3:4:5:6:7:8:9]/", NULL},
        {"http://[1:2:3:4::5:6:7:8]/", NULL},
        {"http://[::1:2:3:4:5:6:7:8]/", NULL},
        {"http://[1:2:3:4:5:6:7:8::]/", NULL},
        {"http://[12345::]/", NULL},
        {"http://[g::]/", NULL},
        {"http://[1.2.3.4]/", NULL},
        {"http://[1:2:3:4:5:6:7:1.2.3.4]/", NULL},
        {"http://[::1.2.3]/", NULL},
        {"http://[::1.2.3.4.5]/", NULL},
        {"http://[::1.2.3.256]/", NULL},
        {"http://[::1.2..4]/", NULL},
        {"http://[::1.2.3.4:5]/", NULL},
        {"http://[::1.2-3.4]/", NULL},
        {"http://[::1.2.3.a]/", NULL},
        {"http://[%eth0]/", NULL},
        {"http://[::1%[]/", NULL},
        {"::1%[", NULL},
        {"::1%]", NULL},
        {"http://[[::1]/", NULL},
        {"http://host:[/", NULL},
        {"http://[evil.example]/", NULL},
    };
    check_examples(EXAMPLES, COUNT_OF(EXAMPLES));
}

/* Full-width percent signs and brackets, which Chromium takes for others once a host is mapped, and
 * blanks, which it escapes before and after that. */
static void mapped_hosts(void) {
    static const struct example EXAMPLES[] = {
        {"http://e\xef\xbc\x85"
         "76il.com/a",
         "evil.com/a"},
        {"e\xef\xb9\xaa"
         "56il.com:80/",
         "evil.com/"},
        {"http://evil\xef\xbc\x85"
         "2ecom",
         "evil.com/"},
        {"http://\xef\xbc\x85"
         "31.2.3.4/",
         "1.2.3.4/"},
        {"http://e\xef\xbc\x85"
         "76il.com:80:90/",
         "evil.com/"},
        {"http://a\xef\xbc\x85"
         "2fb.com/",
         "xn--a2fb-g79x.com/"},
        {"http://\xef\xbc\x85"
         "2e/",
         "xn--2e-5t3n/"},
        {"http://\xef\xbc\xbb::1\xef\xbc\xbd:80/", "[::1]/"},
        {"http://\xef\xbc\xbb::1\xef\xbc\xbd/", "[::1]/"},
        {"http://[\xef\xbc\x85"
         "31::1]/",
         "[1::1]/"},
        {"http://a%\xef\xbc\x85"
         "41.com/",
         "a%25%EF%BC%8541.com/"},
        {"http://\xc3\xbc B.\xc3\x9c/", "xn--%20b-zra.xn--tda/"},
        {"http://\xc3\xbc\xe3\x80\x80\x42/", "xn--%20b-wka/"},
        {"http://\xc3\xbc\xe3\x80\x80*/", "xn--%20*-zra/"},
        {"http://a\xef\xbc\x85"
         "20.b/",
         "a%20.b/"},
        {"http://\xc3\xbc \xc3\xbc.a%25/", "xn--%20-goad.a%25/"},
        {"http://\xc3\xbc \x01.b/", "%C3%BC%20%01.b/"},
        {"file:\\\\h\\a", "h/a"},
        {"file:/\\h/a", "h/a"},
        {"file:\\/h", "h/"},
        {"foo:/\\h/a", NULL},
        {"foo:\\/h/a", NULL},
    };
    enum { LETTERS = 300 };
    char text[5 * 256 + 100], *canonical_text;
    size_t used = 0;
    check_examples(EXAMPLES, COUNT_OF(EXAMPLES));
    /* With each letter escaped, a name may be as long as DNS has them, and not longer. */
    for (unsigned most = 255; most <= 256; most++) {
        memcpy(text, "http://", used = 7);
        for (unsigned i = 0; i < most; i++) {
            const char *letter = i % 60 == 59 ? "\xef\xbc\x85"
                                                "2e"
                                              : "\xef\xbc\x85"
                                                "61";
            memcpy(text + used, letter, 5);
            used += 5;
        }
        canonical_text = canonical(text, used);
        assert_int_equal(strncmp(canonical_text, "aaa", 3) == 0, most == 255);
        free(canonical_text);
    }
    memcpy(text, "http://", used = 7);
    memset(text + used, 'a', LETTERS);
    memcpy(text + used + LETTERS,
           "\xef\xbc\x85"
           "41",
           5);
    canonical_text = canonical(text, used + LETTERS + 5);
    assert_string_equal(canonical_text, "(none)");
    free(canonical_text);
    /* Punycode that is longer than that is none. */
    memcpy(text, "http://[::1].xn--", used = 17);
    memset(text + used, 'a', LETTERS);
    canonical_text = canonical(text, used + LETTERS);
    assert_string_equal(canonical_text, "(none)");
    free(canonical_text);
}

static void bytes_that_end_strings(void) {
    char *text = canonical("http://a\0b.example/c\0d?\0", 24);
    assert_string_equal(text, "a%00b.example/c%00d?");
    free(text);
    text = canonical("\0", 1);
    assert_string_equal(text, "(none)");
    free(text);
    text = canonical("\0a\0", 3);
    assert_string_equal(text, "a/");
    free(text);
    text = canonical(NULL, 0);
    assert_string_equal(text, "(none)");
    free(text);
}

/* Most URLs are looked at eight bytes at a time: whatever byte, wherever it stands. */
static void each_byte_at_each_place(void) {
    for (unsigned length = 6; length < 30; length++)
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
                char *text = canonical(written, length);
                if (strcmp(text, expected) != 0)
                    fail_msg("byte %u at %u of %u gives %s", byte, place, length, text);
                free(text);
            }
}

static void dots_at_each_place(void) {
    for (unsigned length = 10; length < 40; length++)
        for (unsigned place = 2; place + 4 < length; place++) {
            char written[48], expected[48];
            memset(written, 'z', length);
            written[1] = '/';
            memcpy(written + place, place % 2 ? "/./" : "a//", 3);
            char *text = canonical(written, length);
            snprintf(expected, sizeof expected, "z/%.*s%s/%.*s", (int)place - 2, written + 2,
                     place % 2 ? "" : "a", (int)(length - place - 3), written + place + 3);
            if (strcmp(text, expected) != 0)
                fail_msg("%.*s gives %s, not %s", (int)length, written, text, expected);
            free(text);
        }
}

/* All keys, one a line. */
static char *keys_of(const char *written) {
    struct parsed parsed = parse(written, strlen(written));
    struct bloom_url_key keys[BLOOM_URL_KEYS_MOST];
    assert_true(parsed.has_host);
    unsigned count = bloom_url_keys(&parsed.url, parsed.text, keys);
    char *text = calloc(BLOOM_URL_KEYS_MOST, parsed.url.length + 1);
    assert_non_null(text);
    for (unsigned i = 0; i < count; i++) {
        assert_true(keys[i].start + keys[i].length <= parsed.url.length);
        strncat(text, (const char *)parsed.text + keys[i].start, keys[i].length);
        strcat(text, "\n");
    }
    free(parsed.text);
    return text;
}

static void keys(void) {
    static const struct example EXAMPLES[] = {
        {"http://a.b.c/1/2.html?param=1",
         "a.b.c/1/2.html?param=1\na.b.c/1/2.html\na.b.c/1/\na.b.c/\n"
         "b.c/1/2.html?param=1\nb.c/1/2.html\nb.c/1/\nb.c/\n"},
        {"http://a.b.c.d.e.f.g/1.html",
         "a.b.c.d.e.f.g/1.html\na.b.c.d.e.f.g/\nc.d.e.f.g/1.html\nc.d.e.f.g/\n"
         "d.e.f.g/1.html\nd.e.f.g/\ne.f.g/1.html\ne.f.g/\nf.g/1.html\nf.g/\n"},
        {"a.b.c.d.e.f", "a.b.c.d.e.f/\nb.c.d.e.f/\nc.d.e.f/\nd.e.f/\ne.f/\n"},
        {"a.b.c.d.e", "a.b.c.d.e/\nb.c.d.e/\nc.d.e/\nd.e/\n"},
        {"a.b.c.d", "a.b.c.d/\nb.c.d/\nc.d/\n"},
        {"http://1.2.3.4/1/", "1.2.3.4/1/\n1.2.3.4/\n"},
        {"http://[2001:db8::1]/1/", "[2001:db8::1]/1/\n[2001:db8::1]/\n"},
        {"host", "host/\n"},
        {"evil.example", "evil.example/\n"},
        {"host?", "host/?\nhost/\n"},
        {"host/a/b/c/d/e/f?g=/h/",
         "host/a/b/c/d/e/f?g=/h/\nhost/a/b/c/d/e/f\nhost/a/b/c/\nhost/a/b/\nhost/a/\nhost/\n"},
        {"host/a/b/c/", "host/a/b/c/\nhost/a/b/\nhost/a/\nhost/\n"},
        {"host/a/b/c/d/", "host/a/b/c/d/\nhost/a/b/c/\nhost/a/b/\nhost/a/\nhost/\n"},
        {"host/a/?b", "host/a/?b\nhost/a/\nhost/\n"},
        {"http://host/a/%252e./b", "host/b\nhost/\n"},
        /* Shorter hosts that would be addresses. */
        {"a.1.2.3.4", "a.1.2.3.4/\n"},
        {"a.b.1", "a.b.1/\nb.1/\n"},
        {"1.2.3.4.5", "1.2.3.4.5/\n"},
        {"a.b.0x1.2", "a.b.0x1.2/\nb.0x1.2/\n"},
    };
    for (size_t i = 0; i < COUNT_OF(EXAMPLES); i++) {
        char *text = keys_of(EXAMPLES[i].written);
        assert_string_equal(text, EXAMPLES[i].canonical);
        free(text);
    }
}

static void thirty_keys(void) {
    char *text = keys_of("http://a.b.c.d.e.f/1/2/3/4/5?6");
    unsigned lines = 0;
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    assert_int_equal(lines, BLOOM_URL_KEYS_MOST);
    free(text);
}

/* Properties that hold for any bytes. */
static void check_properties(const uint8_t *bytes, size_t length) {
    struct parsed parsed = parse(bytes, length);
    struct bloom_url_key found[BLOOM_URL_KEYS_MOST];
    if (!parsed.has_host)
        return;
    for (size_t i = 0; i < parsed.url.length; i++)
        assert_true(parsed.text[i] > ' ' && parsed.text[i] < 127 && parsed.text[i] != '#');
    unsigned count = bloom_url_keys(&parsed.url, parsed.text, found);
    assert_true(count >= 1 && count <= BLOOM_URL_KEYS_MOST);
    assert_int_equal(found[0].start, 0);
    assert_int_equal(found[0].length, parsed.url.length);
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *key = parsed.text + found[i].start;
        struct parsed again = parse(key, found[i].length);
        if (!again.has_host || again.url.length != found[i].length ||
            memcmp(again.text, key, found[i].length) != 0)
            fail_msg("key %u of %.*s is not canonical: %.*s", i, (int)length, (const char *)bytes,
                     (int)found[i].length, (const char *)key);
        free(again.text);
        for (unsigned j = 0; j < i; j++)
            assert_false(found[i].length == found[j].length &&
                         memcmp(key, parsed.text + found[j].start, found[i].length) == 0);
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
    for (unsigned round = 0; round < 60000; round++) {
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
    for (unsigned round = 0; round < 20000; round++) {
        size_t length = random_below(&random, sizeof bytes);
        random_fill(&random, bytes, length);
        check_properties(bytes, length);
    }
}

/* A megabyte of one piece behind a beginning. Quadratic time would be hours with sanitizers. */
static void megabytes(void) {
    static const char *const BEGINNINGS[] = {
        "", "h", "http://", "http://h/", "http://h/a/", "http://h/?", "http://[", "a:", "1"};
    static const char *const PIECES[][11] = {
        {"%25", "%", "%2", "25", "/../", "/./", "/a", "/a/..", ".", "@", "#"},
        {" ", "\t", ":", "::", "a:", "[", "]", "?", "a.", "1.", "0"},
        {"0x", "\xc3\xbc", "\xc3\xbc.", "\xf0\x9f\x98\x80", "\xff", "f", "-", "xn--", "%2525",
         "%2e%2e/", "A"}};
    enum { LENGTH = 1 << 20 };
    uint8_t *bytes = malloc(LENGTH + 10);
    uint8_t *room = malloc((size_t)BLOOM_URL_ROOM(LENGTH + 10));
    struct bloom_url_key found[BLOOM_URL_KEYS_MOST];
    assert_non_null(bytes);
    assert_non_null(room);
    clock_t start = clock();
    unsigned hosts = 0;
    for (size_t i = 0; i < COUNT_OF(BEGINNINGS); i++)
        for (size_t j = 0; j < COUNT_OF(PIECES) * COUNT_OF(*PIECES); j++) {
            const char *piece = PIECES[j / COUNT_OF(*PIECES)][j % COUNT_OF(*PIECES)];
            struct bloom_url url;
            size_t length = strlen(BEGINNINGS[i]), size = strlen(piece);
            const size_t end = i % 4 == 2 ? LENGTH : LENGTH / 8; /* a sample is enough */
            memcpy(bytes, BEGINNINGS[i], length);
            for (; length < end; length += size)
                memcpy(bytes + length, piece, size);
            if (bloom_url_parse(&url, bytes, length, room)) {
                hosts++;
                assert_true(bloom_url_keys(&url, room, found) >= 1);
                assert_true(url.length <= 3 * length + 256);
            }
        }
    assert_true(hosts > 100);
    /* 0.01 s or so for each of some 300, however busy the machine is. */
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 120);
    free(room);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Names beyond ASCII are read as browsers read them", rules_of_names),
        TEST("A name beyond ASCII that DNS cannot hold has no key", labels_at_their_longest),
        TEST("IPv6 addresses as RFC 5952 writes them, and the IPv4 ones in them", ipv6_addresses),
        TEST("Full-width signs that Chromium takes for others", mapped_hosts),
        TEST("Zero bytes are bytes like others", bytes_that_end_strings),
        TEST("Every byte is told apart at every place", each_byte_at_each_place),
        TEST("Dots and double slashes are found at every place", dots_at_each_place),
        TEST("Keys: hosts and folders, the most exact first, no key twice", keys),
        TEST("A URL has thirty keys at most", thirty_keys),
        TEST("Every key is canonical and there once, whatever the bytes", random_bytes),
        TEST("A megabyte of anything takes linear time", megabytes),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
