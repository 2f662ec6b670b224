#!/usr/bin/env python3
"""A program in Python that makes the keys of URLs by ext/URLS.md alone, against the extension.

Written from that page, with other means than the C code: escapes are undone in whole passes,
Python's own Punycode and IPv6 do the names and addresses, lists of components the paths. It must
agree with the vectors of the page, and with the extension on them, on URLs at random, on those of
sql/data, and on these after random changes. Then what SQL does with the keys: the plan, and that it
stops at the first hit. It needs apsw. SEED and COUNT in the environment choose other random URLs
and their number.
"""
import ipaddress
import os
import pathlib
import random
import re
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
COUNT = int(os.environ.get("COUNT", "10000"))
PAGE = (TOP / "ext/URLS.md").read_text(encoding="utf-8")


def escape(text):
    return "".join(chr(byte) if 0x20 < byte < 0x7F and byte not in b"#%" else f"%{byte:02X}"
                   for byte in text)


def ipv6(text):
    """The host that an IPv6 address gives, or None."""
    text, _, zone = text.partition(b"%")
    if b"[" in zone or b"]" in zone:
        return None
    try:
        address = ipaddress.IPv6Address(text.decode("ascii"))
    except ValueError:
        return None
    for network in ("::ffff:0:0/96", "64:ff9b::/96"):
        if address in ipaddress.IPv6Network(network):
            return str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    value = int(address)
    groups = [f"{value >> shift & 0xFFFF:x}" for shift in range(112, -16, -16)]
    runs = [(start, end) for start in range(8) for end in range(start + 2, 9)
            if set(groups[start:end]) == {"0"}]
    if runs:
        start, end = max(runs, key=lambda run: (run[1] - run[0], -run[0]))
        return f"[{':'.join(groups[:start])}::{':'.join(groups[end:])}]"
    return f"[{':'.join(groups)}]"


def ipv4(name):
    parts = name.split(".")
    if len(parts) > 4:
        return None
    numbers = []
    for part in parts:
        if re.fullmatch(r"0x[0-9a-f]+", part):
            numbers.append(int(part, 16))
        elif re.fullmatch(r"0[0-7]*", part):
            numbers.append(int(part, 8))
        elif re.fullmatch(r"[1-9][0-9]*", part):
            numbers.append(int(part))
        else:
            return None
    if max(numbers) >= 2**32:
        return None
    left = 5 - len(numbers)
    data = bytes(number & 0xFF for number in numbers[:-1])
    data += (numbers[-1] % 256**left).to_bytes(left, "big")
    return ".".join(str(byte) for byte in data)


def label(text):
    text = text.lower()  # of bytes: ASCII only
    if max(text) > 0x7F:
        try:
            points = text.decode("utf-8")
        except UnicodeDecodeError:
            return escape(text)
        ascii_part = bytes(byte for byte in text if byte < 0x80)
        name = "xn--" + points.encode("punycode").decode("ascii")
        if escape(ascii_part) == ascii_part.decode("ascii") and len(name) <= 63:
            return name
    return escape(text)


def host_of(authority):
    authority = authority.rpartition(b"@")[2]
    bracketed = re.fullmatch(rb"\[([^\]]*)\](:.*)?", authority, re.DOTALL)
    if bracketed or ipv6(authority):
        return ipv6(bracketed[1] if bracketed else authority)
    if b"[" in authority or b"]" in authority:
        return None
    name = ".".join(label(part) for part in authority.split(b":")[0].split(b".") if part)
    return ipv4(name) or name or None


def byte_of(match):
    return bytes([int(match[1], 16)])


def canonical(url):
    """Host, path and query, or None."""
    url = url.translate(None, b"\t\r\n").strip(b" ").split(b"#")[0]
    before = None
    while before != url:
        before = url
        url = re.sub(rb"%([0-9A-Fa-f]{2})", byte_of, url)
    scheme = re.match(rb"[A-Za-z][A-Za-z0-9+.-]*:", url)
    if url.startswith(b"//"):
        url = url[2:]
    elif scheme and url.startswith(b"//", scheme.end()):
        url = url[scheme.end() + 2:]
    elif scheme and not re.fullmatch(rb"\d+([/?].*)?", url[scheme.end():], re.DOTALL):
        if not ipv6(re.split(rb"[/?]", url)[0]):
            return None
    authority = re.split(rb"[/?]", url)[0]
    path, mark, query = url[len(authority):].partition(b"?")
    host = host_of(authority)
    if host is None:
        return None
    kept, folder = [], True
    for component in path.split(b"/")[1:]:
        folder = component in (b"", b".", b"..")
        if component == b"..":
            del kept[-1:]
        elif not folder:
            kept.append(escape(component))
    return host, "/" + "/".join(kept) + ("/" if kept and folder else ""), escape(mark + query)


def keys(url):
    parts = canonical(url)
    if parts is None:
        return []
    host, path, query = parts
    labels = host.split(".")
    hosts = [host]
    if ipv4(host) is None and not host.startswith("["):
        shorter = (".".join(labels[-count:]) for count in (5, 4, 3, 2) if count < len(labels))
        hosts += [name for name in shorter if ipv4(name) is None]
    folders = [path[:match.end()] for match in re.finditer("/", path)][:4]
    paths = dict.fromkeys([path + query, path] + folders[::-1])
    return [name + end for name in hosts for end in paths]


def from_page(cell):
    """A cell of a table: `text` in which <0A> is a byte."""
    text = re.fullmatch(r"`(.*)`", cell)[1]
    return re.sub(rb"<([0-9A-F]{2})>", byte_of, text.encode("utf-8"))


def vectors():
    rows = re.findall(r"^\| (`[^|]*`) \| (none|`[^|` ]*`) \|$", PAGE, re.MULTILINE)
    return [(from_page(url), None if wanted == "none" else wanted.strip("`"))
            for url, wanted in rows]


def key_vectors():
    block = re.search(r"\nThe keys of some URLs.*?```text\n(.*?)```", PAGE, re.DOTALL)[1]
    return [(url.encode("ascii"), lines.split())
            for url, lines in re.findall(r"^(\S+)\n((?: .*\n)+)", block, re.MULTILINE)]


class Urls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.connection = apsw.Connection(":memory:")
        cls.method("enable_load_extension", "enableloadextension")(True)
        cls.method("load_extension", "loadextension")(str(TOP / "bloom"))

    @classmethod
    def method(cls, name, older_name):
        """A method of the connection, under its name in newer or older releases of apsw."""
        return getattr(cls.connection, name, None) or getattr(cls.connection, older_name)

    def rows(self, sql, *bindings):
        return list(self.connection.cursor().execute(sql, bindings))

    def check(self, url):
        """The extension against the program, as a BLOB and, where it is one, as text."""
        wanted = canonical(url)
        wanted_keys = keys(url)
        for form in (url, url.decode("utf-8") if is_text(url) else None):
            if form is not None:
                got = self.rows("SELECT bloom_url(?1)", form)[0][0]
                self.assertEqual(got, "".join(wanted) if wanted else None, url)
                got = self.rows("SELECT key FROM bloom_url_keys(?1) ORDER BY rank", form)
                self.assertEqual([key for key, in got], wanted_keys, url)
        return wanted is not None

    def test_vectors_of_the_page(self):
        self.assertGreater(len(vectors()), 60)
        for url, wanted in vectors():
            with self.subTest(url=url):
                parts = canonical(url)
                self.assertEqual("".join(parts) if parts else None, wanted)
                self.check(url)

    def test_keys_of_the_page(self):
        self.assertEqual(len(key_vectors()), 8)
        for url, wanted in key_vectors():
            with self.subTest(url=url):
                self.assertEqual(keys(url), wanted)
                self.check(url)

    def test_real_urls_and_changed_ones(self):
        lines = (TOP / "sql/data/urlhaus.txt").read_bytes().splitlines()
        source = random.Random(int(os.environ.get("SEED", "1")))
        for line in lines:
            self.assertTrue(self.check(line))
            self.assertTrue(self.check(b"http://" + line))
        for _ in range(COUNT):
            url = bytearray(b"http://" + source.choice(lines))
            for _ in range(source.randrange(1, 6)):
                place = source.randrange(len(url) + 1)
                url[place:place + source.randrange(3)] = source.choice(PIECES)
            self.check(bytes(url))

    def test_random_urls(self):
        source = random.Random(int(os.environ.get("SEED", "2")))
        hosts = 0
        for _ in range(COUNT):
            pieces = (source.choice(PIECES) for _ in range(source.randrange(1, 12)))
            hosts += self.check(b"".join(pieces))
        self.assertGreater(hosts, 1000)

    def test_random_addresses(self):
        source = random.Random(int(os.environ.get("SEED", "3")))
        pieces = [b":", b":", b"::", b"0", b"1", b"00", b"ff", b"2001", b"db8", b"ffff:",
                  b"1.2.3.4", b".", b"0x1", b"256", b"08", b"%z"]
        found = 0
        for _ in range(COUNT):
            text = b"".join(source.choice(pieces) for _ in range(source.randrange(1, 12)))
            found += ipv6(text) is not None
            self.check(b"http://[" + text + b"]/")
            self.check(text)
            self.check(text + source.choice((b"@b.c", b"%]@b.c", b"%25[x]@b.c/", b"%z@b.c")))
        self.assertGreater(found, 100)

    def test_punycode(self):
        source = random.Random(int(os.environ.get("SEED", "4")))
        ranges = ((0x61, 0x7A), (0x80, 0x7FF), (0x4E00, 0x9FFF), (0x10000, 0x10FFFF), (0xE0, 0xE5))
        for _ in range(COUNT // 4):
            length = source.randrange(1, 30)
            name = "".join(chr(source.randint(*source.choice(ranges))) for _ in range(length))
            self.check(f"http://{name}.example/".encode("utf-8"))

    def test_plan_and_first_hit(self):
        """The keys come first, each is looked up in turn, and the first hit ends it."""
        asked = []

        def ask(key):
            asked.append(key)
            return key

        self.method("create_scalar_function", "createscalarfunction")("ask", ask, 1)
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
          b"\x7f", b"www.", b"x.y.z."]

if __name__ == "__main__":
    unittest.main()
