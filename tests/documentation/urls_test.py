#!/usr/bin/env python3
"""bloom_url and bloom_url_keys against parsers of the URL Standard that others wrote, and against
urls_program.py, a program written from ext/URLS.md alone.

The key of a URL is the key of what a browser makes of it. So whatwg-url is asked for the href of
each URL, and the program makes the key of that: on the vectors of the page, on URLs at random, on
those of the list in sql/data, on these after random changes, on code points, and on spellings that
a browser opens or nearly opens. In `make long` Chromium, if it is installed, must open the same as
whatwg-url. COUNT in the environment chooses how many spellings (make long takes 30,000, and a third
of it of others), SEED which. The vectors hold without a parser, too; and what SQL does with the
keys: the plan, and that it stops at the first hit. It needs apsw; what cannot be fetched is skipped
and says so.
"""
import os
import pathlib
import random
import re
import sys
import unicodedata
import unittest

import urls_program

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path += [str(TOP / "tests/exchange"), str(TOP / "tests/runner")]

import browsers  # noqa: E402
import extended  # noqa: E402

COUNT = int(os.environ.get("COUNT", "3000"))
OTHERS = COUNT // 3  # of each kind that is no spelling
LONG = COUNT >= 10000
SEED = int(os.environ.get("SEED", "1"))
BATCH = 100000
PAGE = (TOP / "ext/URLS.md").read_text(encoding="utf-8")


def vectors():
    lines = (TOP / "tests/documentation/golden/urls.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(re.sub(rb"<([0-9A-F]{2})>", urls_program.byte_of, url.encode("ascii")),
             None if wanted == "none" else wanted) for url, wanted in rows]


def key_vectors():
    block = re.search(r"## Vectors\n.*?```text\n(.*?)```", PAGE, re.DOTALL)[1]
    return [(url.encode("ascii"), lines.split())
            for url, lines in re.findall(r"^(\S+)\n((?: .*\n)+)", block, re.MULTILINE)]


def listed_urls():
    return [re.sub(rb"^\|\||\^\$all$", b"", line)
            for line in (TOP / "sql/data/urlhaus.txt").read_bytes().splitlines()
            if not line.startswith(b"!")]


class WithExtension(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.connection = extended.connect()

    def rows(self, sql, *bindings):
        return extended.rows(self.connection, sql, bindings)

    def key(self, url):
        return self.rows("SELECT bloom_url(?1)", url)[0][0]

    def keys(self, url):
        return [key for key, in self.rows("SELECT key FROM bloom_url_keys(?1) ORDER BY rank", url)]


class Parsers(WithExtension):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            browsers.by_whatwg(["http://host/"])
        except browsers.Missing as reason:
            raise unittest.SkipTest(f"skipped: {reason}") from reason

    @staticmethod
    def hrefs(texts):
        """What whatwg-url makes of each text, where there is one."""
        texts = list(texts)
        found = iter(browsers.by_whatwg([text for text in texts if text is not None]))
        return [None if text is None else next(found) for text in texts]

    def check(self, urls):
        """The extension against the program with whatwg-url, as BLOBs and, where it is one, as
        text. Returns how many URLs have a key."""
        hrefs = self.hrefs(map(urls_program.for_parser, urls))
        asked = [(None,) * 3 if href else urls_program.for_mapping(url)
                 for url, href in zip(urls, hrefs)]
        mapped = self.hrefs(text for texts in asked for text in texts)
        found = 0
        for url, href, *hosts in zip(urls, hrefs, mapped[::3], mapped[1::3], mapped[2::3]):
            parts = urls_program.of_href(href) if href else urls_program.refused(url, hosts)
            wanted = "".join(parts) if parts else None
            keys = urls_program.keys(parts) if parts else []
            found += bool(parts)
            for form in (url, url.decode("utf-8") if is_text(url) else None):
                if form is None:
                    continue
                self.assertEqual(self.key(form), wanted, (url, href))
                self.assertEqual(self.keys(form), keys, url)
            if href:
                self.assertEqual(self.key(href), wanted, (url, href))
        return found

    def test_vectors_of_the_page(self):
        self.check([url for url, _ in vectors() + key_vectors()])

    def test_real_urls_and_changed_ones(self):
        lines = listed_urls()
        self.assertEqual(len(lines), 6254)
        source = random.Random(SEED)
        asked = lines if LONG else source.sample(lines, 1500)
        self.assertEqual(self.check(asked), len(asked))
        self.assertEqual(self.check([b"http://" + line for line in asked]), len(asked))
        urls = []
        for _ in range(OTHERS):
            url = bytearray(b"http://" + source.choice(lines))
            for _ in range(source.randrange(1, 6)):
                place = source.randrange(len(url) + 1)
                url[place:place + source.randrange(3)] = source.choice(PIECES)
            urls.append(bytes(url))
        self.check(urls)

    def test_random_urls(self):
        source = random.Random(SEED + 1)
        urls = [b"".join(source.choices(PIECES, k=source.randrange(1, 12))) for _ in range(OTHERS)]
        self.assertGreater(self.check(urls), OTHERS // 10)

    def test_random_addresses(self):
        source = random.Random(SEED + 2)
        pieces = [b":", b":", b"::", b"0", b"1", b"00", b"ff", b"2001", b"db8", b"ffff:",
                  b"1.2.3.4", b".", b"0x1", b"256", b"08", b"%z"]
        found, urls = 0, []
        for _ in range(OTHERS):
            text = b"".join(source.choices(pieces, k=source.randrange(1, 12)))
            if source.randrange(4) == 0:  # as many groups as there may be, or nearly so
                groups = [b"%x" % source.randrange(16) for _ in range(source.randrange(6, 10))]
                place = source.randrange(len(groups) + 1)
                text = b"::".join(b":".join(part) for part in (groups[:place], groups[place:]))
            found += urls_program.ipv6(text) is not None
            urls += [b"http://[" + text + b"]/", b"http://" + text + b"/", text,
                     text + source.choice((b"@b.c", b"%]@b.c", b"%25[x]@b.c/", b"%z@b.c"))]
        self.check(urls)
        self.assertGreater(found, OTHERS // 100)

    def test_punycode(self):
        source = random.Random(SEED + 3)
        ranges = ((0x61, 0x7A), (0x80, 0x7FF), (0x4E00, 0x9FFF), (0x10000, 0x10FFFF), (0xE0, 0xE5))
        urls = []
        for _ in range(OTHERS // 2):
            name = "".join(chr(source.randint(*source.choice(ranges)))
                           for _ in range(source.randrange(1, 30)))
            encoded = name.encode("punycode", "replace").decode("ascii")
            urls += [f"http://{name}.example/".encode("utf-8", "replace"),
                     f"http://xn--{encoded}.example/".encode("utf-8")]
        self.check(urls)

    def test_code_points(self):
        """Alone and between letters, in a label of its own direction and in one of the other, and
        behind what a joiner or a mark may follow; in an address, if this Python knows it. Every
        one up to U+3000 if COUNT is 100,000, and one of 11 from there on; others with another SEED.
        """
        low, high = (1, 11) if COUNT >= 100000 else (5, 197) if LONG else (31, 997)
        points = [point for point in range(0x80, 0x110000) if not 0xD800 <= point < 0xE000
                  and (point + SEED) % (low if point < 0x3000 else high) == 0]
        forms = ("{}", "a{}b", "\u05d0{}\u05d1", "{}\u0301\u0323.x", "\u0628\u200c{}\u0628",
                 "b.{}1", "\u1100{}")
        urls = [f"http://{form.format(chr(point))}/".encode() for point in points for form in forms]
        urls += [f"http://[::{chr(point)}1]/".encode() for point in points
                 if unicodedata.category(chr(point)) != "Cn"]
        for start in range(0, len(urls), BATCH):
            self.check(urls[start:start + BATCH])

    def test_spellings(self):
        source = random.Random(SEED + 4)
        found = 0
        for start in range(0, COUNT, BATCH):
            found += self.check([spelling(source) for _ in range(min(BATCH, COUNT - start))])
        self.assertGreater(found, COUNT * 9 // 10)


class Chromium(WithExtension):
    def others(self, texts):
        """Texts that do not have the key of what Chromium opens, which URLS.md explains: it escapes
        a * before it maps a name."""
        try:
            hrefs = browsers.by_chromium(texts)
        except browsers.Missing as reason:
            self.skipTest(f"skipped: {reason}")
        self.assertGreater(sum(href is not None for href in hrefs), len(texts) // 3)
        found = []
        for text, href in zip(texts, hrefs):
            parts = urls_program.of_href(href) if href else None
            if parts and self.key(text) != "".join(parts):
                host = href.split("/")[2].rpartition("@")[2]
                self.assertTrue("%2A" in host and "%20" not in host, (text, href, self.key(text)))
                found.append(text)
        return found

    def test_spellings(self):
        source = random.Random(SEED + 4)
        for start in range(0, COUNT, BATCH):
            urls = (spelling(source) for _ in range(min(BATCH, COUNT - start)))
            texts = list(filter(None, map(urls_program.for_parser, urls)))
            self.assertLess(len(self.others(texts)), len(texts) // 20)

    def test_signs_in_hosts(self):
        """Each ASCII sign as it is, escaped and full-width, with letters beyond ASCII and without:
        only a * beside such letters is not what Chromium opens."""
        forms = ("http://a{}b.test/#", "http://\u00fc{}b.test/#", "http://a{}b.\u00fc.test/#",
                 "http://a{}b.xn--tda.test/#", "http://\uff41{}b.B\u00dcCHER.test/#",
                 "http://{}.\u00fc/#", "http://\uff0541{}b.test/#")
        signs = [chr(code) for code in range(0x80) if not chr(code).isalnum()]
        spelled = signs + [f"%{ord(sign):02x}" for sign in signs]
        spelled += [chr(ord(sign) + 0xFEE0) for sign in signs if "!" <= sign <= "~"]
        spelled += ["\u3000", "\u00a0", "\u00a8", "\uff0520", "\uff052a"]
        others = self.others([form.format(sign) for sign in spelled for form in forms])
        plain = (unicodedata.normalize("NFKC", text) for text in others)
        self.assertEqual({re.search(r"%2a|\*", text)[0] for text in plain}, {"*", "%2a"})


class Page(WithExtension):
    def test_the_keys_of_all_code_points_are_frozen(self):
        """Stored keys depend on them, so this hash never changes (URLS.md)."""
        self.assertEqual(self.rows(
            "WITH RECURSIVE n(c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n WHERE c < 1114111)"
            " SELECT hex(bloom_hash(bloom_agg(c || ' ' || coalesce(bloom_url("
            "'http://a' || char(c) || 'b.example/' || char(c)), '-'), 1114111, 0.000001))) FROM n"
            " WHERE c NOT BETWEEN 55296 AND 57343"), [("92AF2DB4AF4A193E10CC168ACE3355B5",)])

    def test_vectors(self):
        self.assertGreater(len(vectors()), 60)
        for url, wanted in vectors():
            with self.subTest(url=url):
                self.assertEqual(self.key(url), wanted)

    def test_keys(self):
        self.assertEqual(len(key_vectors()), 8)
        for url, wanted in key_vectors():
            with self.subTest(url=url):
                self.assertEqual(self.keys(url), wanted)

    def test_plan_and_first_hit(self):
        """The keys come first, each is looked up in turn, and the first hit ends it."""
        asked = []

        def ask(key):
            asked.append(key)
            return key

        extended.either(self.connection, "create_scalar_function", "createscalarfunction")(
            "ask", ask, 1)
        self.rows("CREATE VIRTUAL TABLE seen USING bloom(capacity=1000, fpr=1e-6)")
        self.rows("INSERT INTO seen(key) VALUES ('a.b/1/')")
        self.rows("CREATE TABLE visits(url)")
        self.rows("INSERT INTO visits VALUES ('x.a.b/1/2?3')")
        exists = "SELECT url FROM visits v WHERE EXISTS (SELECT 1 FROM {}"
        for joined in ("bloom_url_keys(v.url) u JOIN seen ON seen.key = u.key)",
                       "seen JOIN bloom_url_keys(v.url) u ON seen.key = u.key)",
                       "seen, bloom_url_keys u WHERE u.key = seen.key AND v.url = u.argument)"):
            with self.subTest(joined=joined):
                plan = [row[-1] for row in self.rows("EXPLAIN QUERY PLAN " + exists.format(joined))]
                scans = [step for step in plan if step.startswith(("SCAN", "SEARCH"))]
                names = [re.search(r"\b(v|u|seen)\b", step)[1] for step in scans]
                self.assertEqual(names, ["v", "u", "seen"], plan)
                self.assertEqual(self.rows(exists.format(joined)), [("x.a.b/1/2?3",)])
        asked.clear()
        self.rows(exists.format("bloom_url_keys(v.url) u JOIN seen ON seen.key = ask(u.key))"))
        self.assertEqual(asked, ["x.a.b/1/2?3", "x.a.b/1/2", "x.a.b/1/", "x.a.b/", "a.b/1/2?3",
                                 "a.b/1/2", "a.b/1/"])


# A spelling of a URL: for each part one of the ways to write it, most of which a browser opens.
LETTERS = {
    "e": "eE\uff45\uff25\u24d4\u212f\U0001d41e", "x": "xX\uff58\u2179\u24e7",
    "a": "aA\uff41\u00aa\u24d0", "m": "mM\uff4d\u216f", "p": "pP\uff50", "l": "lL\u2113\uff4c",
    "1": "1\u00b9\uff11\u2460\U0001d7cf", "2": "2\u00b2\uff12", "0": "0\uff10\u2070",
    "k": "kK\u212a",
    "\u00fc": ["\u00fc", "\u00dc", "u\u0308", "U\u0308"], "s": "sS\u017f",
    "\u00e9": ["\u00e9", "e\u0301", "\u00c9"], "\uac00": ["\uac00", "\u1100\u1161"],
    ".": "...\u3002\uff0e\uff61"}
NOTHING = ["\u00ad", "\u200b", "\u2060", "\ufe0f", "\ufeff", "\u180b", "\U000e0100"]
NAMES = ["evil.example", "www.evil.example", "a.b.c.example.com", "m\u00fcnchen.example",
         "192.0.2.7",
         "3221225991", "0xc0.0.0x2.07", "xn--mnchen-3ya.example", "\u05d0\u05d1.example",
         "fa\u00df.example", "\u0628\u0628.example", "\uac00\u00e9.kr", "\u0bb5\u0bb0\u0bcd.x",
         "[2001:db8::1]", "[::ffff:192.0.2.7]", "a_b.example", "1.2.3",
         "\u0646\u0627\u0645\u0647\u200c\u0627\u06cc",
         "\u0915\u094d\u200d\u0937.x", "\u1e9e.x", "\u2488x", "\u03c3\u03c2.gr", "localhost",
         "0x", "a.0x7f.1", "[::ffff:0x7f.0.0.01]", "[64:ff9b::0xC0.0.2.07]",
         "\uff3b::ffff:192.0.2.7\uff3d", "\uff3b::0300.1.2.3\uff1a80\uff3d", "[2001:db8::1\uff3d"]
SCHEMES = ["http://", "https://", "HTTP://", "hTTps://", "http:", "http:/", "http:///", "http:\\\\",
           "ws://", "wss:", "ftp:/\\", "", "", "//", "\\\\", "/\\", "h\tttp://", " http://",
           "\x01\x1fhttp://",
           "foo://", "http:\n//", "file:\\\\", "file:/\\", "FILE:\\/", "file://", "https:\\"]
USERS = ["", "", "", "", "u@", "u:p@", "u:p%2Fq@", "good.example@", "a@b@", ":@", "u:p%3Fq%23@",
           "%40@"]
PORTS = ["", "", "", ":", ":80", ":8080", ":65535", ":65536", ":0080", ":x", "."]
PATHS = ["", "/", "/a/b", "/a\\b", "/a/./b/../c", "/a/%2e/b/%2E%2e/c", "/a/..\\m", "\\x", "/%61",
           "/%2561",
         "/a//b", "/a//../b", "/%5c", "/a%2Fb", "/\u00fc", "/a b", "/x%3fy", "/..", "/.", "/a/.%2e",
         "/%252e%252e/x", "/a/b/c/d/e", "/%zz%4", "/\u200b", "//", "/a\tb", "/%00",
         "/~a!$&'()*+,;="]
QUERIES = ["", "", "", "?", "?a=b", "?a\\b", "?\u00fc", "?a/../b", "?%41", "?a b", "?x?y",
           "?'\"<>`"]
ENDS = ["", "", "", "#", "#x", "#a#b", " ", "\n", "\x0b", "# @evil.example"]


def spelled(source, name):
    """A name with letters, digits and dots of every kind, escapes, and what vanishes."""
    rate, text = source.choice((0, 0, 0.1, 0.5)), ""
    for letter in name:
        if letter in LETTERS and source.random() < rate:
            letter = source.choice(LETTERS[letter])
        elif source.random() < rate / 2:
            letter = letter.upper()
        if source.random() < rate / 3:
            letter += source.choice(NOTHING)
        if source.random() < rate / 4:
            sign = source.choice("%%%\uff05\ufe6a")
            letter = "".join(f"{sign}{byte:02x}" for byte in letter.encode())
        text += letter
    if source.random() < rate / 10:
        place = source.randrange(len(text) + 1)
        text = text[:place] + chr(source.choice((source.randrange(0x80, 0x3000),
                                                 source.randrange(0xE000, 0x110000),
                                                 source.randrange(0, 0x80)))) + text[place:]
    return text


def spelling(source):
    name = source.choice(NAMES)
    if source.random() < 0.1:
        name = f"{source.choice(NAMES)}.{name}"
    return "".join((source.choice(SCHEMES), source.choice(USERS), spelled(source, name),
                    source.choice(PORTS), source.choice(PATHS), source.choice(QUERIES),
                    source.choice(ENDS))).encode()


def is_text(url):
    """Whether these bytes can be bound as text that comes back the same."""
    try:
        return "\0" not in url.decode("utf-8")
    except UnicodeDecodeError:
        return False


PIECES = [b"http://", b"://", b"//", b"/", b"/", b"/./", b"/../", b"..", b".", b".", b":", b":80",
          b"@", b"?", b"#", b"%", b"%2", b"%25", b"25", b"41", b"%2f", b"%2e", b"%3a", b"%40",
          b"%00", b"%20", b" ", b"\t", b"[", b"]", b"::", b"::1", b"1.2.3.4", b"0x7f", b"0",
          b"017", b"9", b"a", b"bc", b"Z", b"-", b"xn--", b"\xc3\xbc", b"\xe2\x82\xac",
          b"\xf0\x9f\x98\x80", b"\xff", b"\x80", b"\x01", b"\0", b"example", b"e.com", b"\\",
          b"\x7f", b"www.", b"x.y.z.", b"\xef\xbc\x85", b"\xef\xb9\xaa", b"\xef\xbc\xbb",
          b"\xef\xbc\xbd", b"file:", b"*", b"\xe3\x80\x80"]

if __name__ == "__main__":
    unittest.main()
