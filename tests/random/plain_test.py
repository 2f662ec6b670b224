#!/usr/bin/env python3
"""Plain URLs and lines take a shortcut. Here bloom_list, bloom_url and what a filter takes are
compared with a library without it, the argument, which reads BLOOM_LIMITS=url_plain=0: over random
lines, plain or nearly so, and over the list in sql/data. COUNT chooses how many lists, SEED which.
"""
import os
import pathlib
import random
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/runner"))
import extended  # noqa: E402

COUNT = int(os.environ.get("COUNT", "4000"))
SEED = int(os.environ.get("SEED", "1"))
OTHER = sys.argv.pop(1)

NAMES = ["evil.example", "a.b.c.example", "a-b_c.x", "a1.b2c.d", "1a.example", "local-zone",
         "xn--a.b", "a.xn--tda", "A.example", "a..b", ".a.b", "a.b.", "a.1", "a.0x7f", "a.0x7f.b",
         "hxxp.com", "hxxps.com", "fxp.com", "localhost", "ab", "a" * 64 + ".b", "a" * 249 + ".b1",
         "abc." * 62 + "defgh", "abc." * 62 + "defghi", "url.txt", "-1.b", "a.-b", "_a.b",
         "\u00fc.b", "http.com", "ftp.x", "address.x", "server", "h.p--x.y", "xn-.a", "e*l.x",
         "localhost.localdomain", "localhost6.local", "-a.js", "_b.gif", "c.html"]
ADDRESSES = ["192.0.2.7", "0.0.0.0", "127.0.0.1", "255.255.255.255", "256.0.0.1", "1.2.3",
             "01.2.3.4", "1.2.3.4.5", "1.2.3.4.", "1.2.3.4a", "1.2.3.4.a", "10.0.0.0", "1.2.3.1000",
             "0", "::1", "[::1]", "1.2.3.4-5", "1.2.3.4-1.2.3.9", "2001:db8::1", "3.5", "1.2.3.-4"]
PORTS = [":80", ":65535", ":65536", ":123456", ":", ":x", ":8a", ":080", ":80?"]
PATHS = ["/", "/a", "/a/b.exe", "/24", "/32", "/33", "/255.255.255.0", "/0x", "/a.b/c-1", "//",
         "/a//b", "/./a", "/../a", "/.", "/..", "/.a", "/a/..b", "/a.", "/%41", "/a%", "/A?b=C&d",
         "?", "?a", "/?", "/?a/../b", "/?a//b", "/a?b?c", "/~x+y=z", "/:80", "/a:b", "/http://x.y/",
         "/*", "/a*b", "/a,b", "/a;b", "/a b", "/a#b", "/a@b", "/a'b", "/(.)", "/[.]", "/\u00fc",
         "/a\\b", "/a|b", "/a^b", "/a$b", "/x!", "\\x"]
SCHEMES = ["http://", "https://", "HTTP://", "http:", "http:/", "http:///", "httpx://", "ftp://",
           "hxxp://", "//", "http://u@", "*.", "*://", "https//", "httpss://"]
BEFORE = ["", "", "", "", "||", "||", "||", "|", "@@||", "0.0.0.0 ", "0.0.0.0 ", "127.0.0.1 ",
          "0.0.0.0\t", "127.0.0.1\t", "0.0.0.0  ", "::1 ", "0 ", "0.0.0.0", "127.0.0.1 0.0.0.0 ",
          "0.0.0.0 ||", "192.0.2.9 ", " ", "\t", "address=/", "local-zone: \"", "#", "!", "\"", "-",
          "\ufeff", "17,", "1;2;", "- ", "- '", "+.", "DOMAIN,", "HOST-SUFFIX, ",
          "- DOMAIN-SUFFIX,", "\"1\",\"2024-01-02 03:04:05\",\"", "x ", "\"\",\"a\"\"b\",\""]
OPTIONS = ["$third-party", "$script,image", "$all", "$domain=a.x|~b.x", "$popup", "$badfilter",
           "$x", "$", "$,all", "$~third-party", "$csp=a b", "$removeparam", "$1p", "$all$all",
           "$all,", "$domain=a.x#b", "$a*", "$$x", "$@$x", "$to=~a.x", "$document,popup", "$x.y",
           "$-", "$_=|", "$domain=~evil.example", "$from=~a.x|~c.example", "$doc", "$~image", "$__",
           "$dnsrewrite=NXDOMAIN", "$dnsrewrite=0.0.0.0", "$dnsrewrite=NOERROR;A;1.2.3.4"]
AFTER = ["^", "^", "^", "^*", "^|", "^^", "|", " ", "\t", " # x", "#x", "##x", " x", " b.example",
         "/", "^ ", "\"", "\",\"online\"", "\",\"a;b\",17", ",x", ";x", "/32", " CNAME .",
         "/0.0.0.0", "\" static", ".", "\0", "\"x\",y", "\" ; x", " // x", "\x0b", "'",
         ",REJECT", ",DIRECT"]
ENDS = ["\n", "\n", "\n", "\n", "\r\n", "\r", "\n\n", "\n\r", ""]
HEADINGS = ["", "", "", "a.b\n", "x\n", "# id,date,url,status\n", "# a,url\n", "url\ttype\n",
            "domain,path\n", "# Title: x\n", "[Adblock Plus 2.0]\n", "a;ip\n", "\ufeff"]


class Plain(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.connections = [extended.connect(), extended.connect(library=OTHER)]
        for connection in self.connections:
            self.addCleanup(connection.close, True)

    def check(self, sql, value):
        def answer(connection):
            try:
                return extended.rows(connection, sql, (value,))
            except extended.apsw.SQLError as error:
                return str(error)

        found, wanted = map(answer, self.connections)
        if found != wanted:
            pairs = [pair for pair in zip(found, wanted) if pair[0] != pair[1]]
            self.fail((pairs[:1], len(found), len(wanted), value[:4000]))
        return found

    def of(self, texts):
        """As random.choice, in a third of the time."""
        return texts[int(self.random.random() * len(texts))]

    def often_none(self, texts):
        return self.of(texts) if self.random.random() < 0.5 else ""

    def url(self):
        hosts = self.of((NAMES[:4], NAMES, "", "", ADDRESSES[:1], ADDRESSES))
        host = self.of(hosts) if hosts else "".join(
            self.random.choices("abz09-.._`{\u1c30", k=self.random.randrange(30)))
        return self.often_none(SCHEMES) + host + self.often_none(PORTS) + self.often_none(PATHS)

    def line(self):
        rule = self.of(OPTIONS) if self.random.random() < 0.33 else ""
        return self.of(BEFORE) + self.url() + self.often_none(AFTER) + rule

    def list(self):
        lines = [self.line() + self.of(ENDS) for _ in range(30)]
        return (self.of(HEADINGS) + "".join(lines)).encode()

    def test_random_lists(self):
        entries = 0
        for _ in range(COUNT):
            answer = self.check("SELECT count(key), group_concat(line || quote(entry) || quote(key)"
                                " || quote(note), char(10)) FROM bloom_list(?)", self.list())
            entries += isinstance(answer, list) and answer[0][0]
        self.assertGreater(entries, 5 * COUNT)

    def test_random_urls(self):
        for _ in range(10 * COUNT):
            text = self.url() if self.random.random() < 0.5 else self.line()
            self.check("SELECT bloom_url(?1), group_concat(key || ' ' || rank)"
                       " FROM bloom_url_keys(?1)", text)
            for rule in ("url", "url_nocase"):
                self.check(f"SELECT hex(bloom_agg(?1, 10, 0.01, 'key={rule}'))", text)

    def test_the_longest_lines(self):
        for length in range(16384 - 40, 16384 + 40):
            lines = [before + "a.b/" + (length - len(before) - 4 - len(after)) * "x" + after
                     for before in ("", "||", "http://") for after in ("", "^", "^$all", "$x")]
            self.check("SELECT * FROM bloom_list(?)", "\n".join(["a.b", *lines, *lines[:1]]))
            self.check("SELECT * FROM bloom_list(?)", "a.b\n||a.b^$" + (length - 7) * "x" + "\nc.d")

    def test_the_list_of_the_demo(self):
        data = (TOP / "sql/data/urlhaus.txt").read_bytes()
        for text in (data, data[:len(data) // 2].replace(b"\n", b"\r\n")):
            self.check("SELECT * FROM bloom_list(?)", text)
            self.check("SELECT bloom_agg(key, NULL, 0.001, 'key=url') FROM bloom_list(?)", text)


if __name__ == "__main__":
    unittest.main()
