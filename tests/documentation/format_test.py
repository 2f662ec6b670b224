#!/usr/bin/env python3
"""Compares pages.py, written from ext/FORMAT*.md alone, with the extension. Both must hash keys,
and judge, fill, merge and estimate filters of every layout, alike, and find the same keys in filter
tables. The vectors of golden/vectors.txt hold for both.
"""
import contextlib
import inspect
import json
import os
import math
import pathlib
import random
import re
import sqlite3
import struct
import unittest
from fractions import Fraction

import pages
from pages import Filter, Layer, Refused, Table, empty, murmur3, resealed, words_of

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
VECTORS = [line for line in (TOP / "tests/documentation/golden/vectors.txt").read_text("ascii")
           .splitlines() if line and not line.startswith("#")]
SALT = bytes(range(16))
# What the extension says where a rule of FORMAT.md is broken; 0: one of a layout's section.
BROKEN = {1: "is not a filter", 2: "has format version|is damaged: its format version is 0",
          3: "Get a newer release, or restore it|is cut off", 4: "is damaged",
          12: "was cut off or extended|is damaged: bits are set"}
BROKEN |= dict.fromkeys((5, 6, 7, 8), "Get a newer release$|It is private to the program")
BROKEN |= dict.fromkeys((0, 9, 10, 11), "is invalid")
KEYS = ["", "a", "hello", "grün", "x" * 1000, b"", b"\0", b"\xff\xfe", b"\0" * 33, 0, 1, -1, 42,
        2**63 - 1, -2**63, 1.0, -0.0, 0.5, 1e300, float("inf"), 9.2e18, -9223372036854775808.0,
        9223372036854775808.0]
# Layout: filters of it, as pages.header has them (k, m, n, p, extra).
SHAPES = {
    "blocked": [(6, 512 * 2, 100, 0.01), (21, 512), (1, 512 * 7, 1, 0.5), (9, 512 * 1000)],
    "classic": [(7, 960, 100, 0.01), (3, 20), (1, 1), (255, 9999)],
    "classic-utf16": [(7, 960)],
    "classic32": [(7, 128), (3, 640)],
    "counting": [(6, 2048 * 2, 100, 0.01), (16, 2048)],
    "bitmap": [(1, 50, 50), (1, 8, 8)],
    "spark1": [(4, 1280), (255, 64)],
    "spark2": [(4, 1280), (5, 640, 0, 0.0, b"\x05\x80\xff\xff")],
    "dcso": [(5, 1371, 220, 0.05)],
    "bits-and-blooms": [(5, 1248, 200, 0.05), (3, 100)],
    "parquet": [(8, 2048), (8, 256 * 3)],
    "parquet-int32": [(8, 2048)],
    "redisbloom": [(5, 1280, 1, 0.1, b"\2")]}


def every_filter():
    for layout, shapes in SHAPES.items():
        for shape in shapes:
            yield empty(layout, *shape)
            if layout in ("blocked", "counting"):
                yield empty(layout, *shape, salt=SALT)


def some_keys(source, count):
    return KEYS + [source.choice((
        lambda: source.randbytes(source.randrange(40)),
        lambda: source.getrandbits(64) - 2**63,
        lambda: source.randrange(60),
        lambda: source.random() * 10**source.randrange(-5, 20),
        lambda: "k" * source.randrange(40) + str(source.random())))() for _ in range(count)]


def judged(data):
    """The rule by which pages.py refuses it; None: it is valid."""
    try:
        Filter(data)
    except Refused as refused:
        return refused.rule
    return None


def connection():
    database = sqlite3.connect(":memory:")
    database.text_factory = lambda text: text.decode("utf-8", "replace")
    database.enable_load_extension(True)
    database.load_extension(os.path.abspath(os.environ.get("EXTENSION", TOP / "bloom")))
    return database


class WithExtension(unittest.TestCase):
    def setUp(self):
        self.database = connection()
        self.addCleanup(self.database.close)
        self.database.execute("CREATE TABLE keys(key)")
        self.random = random.Random(7)

    def value(self, sql, *arguments):
        return self.database.execute(sql, arguments).fetchone()[0]

    def fill(self, keys):
        self.database.execute("DELETE FROM keys")
        self.database.executemany("INSERT INTO keys VALUES (?)", [(key,) for key in keys])

    def judge_alike(self, data):
        """Compares the judgements of pages.py and the extension, and returns the rule that is
        broken, or None."""
        rule = judged(data)
        try:
            self.value("SELECT bloom_count(?)", data)
        except sqlite3.OperationalError as refused:
            self.assertIsNotNone(rule, data[:128].hex())
            self.assertRegex(str(refused), BROKEN[rule], data[:128].hex())
        else:
            self.assertIsNone(rule, data[:128].hex())
        return rule


class Filters(WithExtension):
    def test_published_values(self):
        hashes = b"".join(struct.pack("<QQ", *murmur3(bytes(range(i)), 256 - i))
                          for i in range(256))
        self.assertEqual(murmur3(hashes)[0] & 0xFFFFFFFF, 0x6384BA69)
        self.assertEqual(pages.siphash(bytes(range(15)), SALT), 0xA129CA6149BE45E5)

    def test_keys_hash_alike(self):
        for key in some_keys(self.random, 2000):
            self.assertEqual(struct.pack("<QQ", *words_of(1, b"", key)),
                             self.value("SELECT bloom_hash(?)", key), key)

    def test_filters_are_filled_asked_merged_and_estimated_alike(self):
        for ours in every_filter():
            with self.subTest(layout=ours.layout, header=ours.header.hex()):
                blank, theirs, kept = ours.data(), ours.data(), []
                for key in some_keys(self.random, 60):
                    if not ours.bits(key):
                        with self.assertRaises(sqlite3.OperationalError):
                            self.value("SELECT bloom_add(?, ?)", theirs, key)
                        continue
                    kept.append(key)
                    ours.add(key)
                    theirs = self.value("SELECT bloom_add(?, ?)", theirs, key)
                self.assertEqual(ours.data(), theirs)
                self.fill(kept)
                self.assertEqual(self.value("SELECT bloom_agg(key, ?) FROM keys", blank), theirs)
                for key in kept + some_keys(self.random, 200):
                    self.assertEqual(int(key in ours),
                                     self.value("SELECT bloom_check(?, ?)", theirs, key), key)
                count, rate = ours.estimate()
                self.assertEqual(self.value("SELECT bloom_count(?)", theirs), count)
                self.assertAlmostEqual(self.value("SELECT bloom_fpr_now(?)", theirs), rate, 12)
                if ours.layout != "counting":
                    other = Filter(blank).add(*kept[:5])
                    for function, join in (("union", int.__or__), ("intersect", int.__and__)):
                        both = self.value(f"SELECT bloom_{function}(?, ?)", theirs, other.data())
                        self.assertEqual(both[len(ours.header):],
                                         bytes(map(join, ours.payload, other.payload)))

    def test_headers_are_refused_alike(self):
        """Every bit of a header changed, without and with a right checksum; values at each edge."""
        fuse = [self.fuse(*made) for made in ((3, 0.25), (1, 0.5), (9, 0.01, SALT))]
        judgements = [0, 0]
        for sound in [one.data() for one in every_filter()] + fuse:
            for bit in range(512 * (1 + sound[7])):
                flipped = bytearray(sound)
                flipped[bit // 8] ^= 1 << bit % 8
                self.assertIsNotNone(self.judge_alike(bytes(flipped)))
            cases = [sound[:-1], sound + b"\0", b"x" + sound,
                     *(sound[:size] for size in range(130))]
            cases += [resealed(sound, at, bytes([sound[at] ^ 1 << bit]))
                      for at in [*range(4, 56), *range(64, min(len(sound), 128))]
                      for bit in range(8)]
            for at, form, values in (
                    (12, "<B", range(0, 256, 5)), (5, "<B", range(14)), (6, "<B", range(14)),
                    (24, "<Q", (0, 1, 2**40, 2**40 + 1, 2**64 - 1)),
                    (32, "<d", (0.0, -0.0, 5e-324, 0.999, 1.0, -0.5, math.inf, -math.inf,
                                math.nan)),
                    (8, "<I", (0, 1, 3, 7, 8, 21, 22, 255, 256, 65535, 65536))):
                cases += [resealed(sound, at, struct.pack(form, value)) for value in values]
            for data in cases:
                judgements[self.judge_alike(data) is not None] += 1
        self.assertGreater(min(judgements), 2000)

    def test_counting_after_any_history(self):
        for ours in (empty("counting", 6, 2048, 10, 0.01), empty("counting", 16, 4096, 1, 1e-6),
                     empty("counting", 6, 4096, salt=SALT)):
            theirs, keys = ours.data(), ["", "a", "hello", 1, 2.5, b"\0"] + list(range(100, 130))
            for _ in range(600):
                key = self.random.choice(keys[:self.random.randrange(1, len(keys) + 1)])
                add = self.random.random() < 0.6
                (ours.add if add else ours.remove)(key)
                theirs = self.value(f"SELECT bloom_{'add' if add else 'remove'}(?, ?)", theirs,
                                    key)
            self.assertEqual(theirs, ours.data())
            self.assertIn(15, [ours.counter(probe)[2] for probe in range(ours.m // 4)])

    def fuse(self, count, p, salt=b""):
        """A filter of the numbers below count."""
        self.fill([None, *range(count)])
        return self.value("SELECT bloom_agg(key, NULL, ?, 'layout=fuse' || ?) FROM keys", p,
                          f", salt={salt.hex()}" if salt else "")

    def test_fuse_is_read_alike(self):
        for count, p in ((1, 0.5), (2, 0.01), (3, 0.25), (60, 1e-9), (1000, 0.004),
                         (20000, 0.1)):
            for salt in (b"", SALT):
                data = self.fuse(count, p, salt)
                ours = Filter(data)
                for key in range(-100, 100):
                    self.assertEqual(self.value("SELECT bloom_check(?, ?)", data, key), key in ours)
                    self.assertTrue(key in ours or not 0 <= key < count)
                self.assertEqual((self.value("SELECT bloom_count(?)", data),
                                  self.value("SELECT bloom_fpr_now(?)", data)), ours.estimate())

    def test_bitmap_of_any_numbers(self):
        for n in (1, 2, 7, 8, 9, 64, 65, 1000):
            numbers = {self.random.randrange(n) for _ in range(n // 2 + 1)}
            self.fill(numbers)
            for size, told in ((n, n), (max(numbers) + 1, None)):
                self.assertEqual(
                    self.value("SELECT bloom_agg(key, ?, NULL, 'bitmap') FROM keys", told),
                    empty("bitmap", 1, size, size).add(*numbers).data())


class Tables(WithExtension):
    OPTIONS = ("capacity=100, fpr=0.02", "capacity=100, fpr=0.1, growth=off", "capacity=3000",
               "capacity=1, fpr=1e-6", "layout=counting, capacity=64, key=TEXT",
               "layout=counting, capacity=2000, fpr=0.1", "capacity=50, key=INTEGER",
               "growth=error, key=REAL, capacity=400", "key=NUMERIC, capacity=20",
               "key=BLOB, fpr=.5", "salt='000102030405060708090A0b0c0d0e0f', capacity=100",
               "layout=counting, salt='ff0102030405060708090a0b0c0d0e0f'",
               "generations=3, capacity=30, fpr=0.1", "generations=64, capacity=2000",
               "generations=2, growth=off, capacity=9, fpr=0.3", "generations=2, capacity=4000", "")

    def make(self, options):
        self.database.execute("DROP TABLE IF EXISTS seen")
        self.database.execute(f"CREATE VIRTUAL TABLE seen USING bloom({options})")

    def ours(self):
        return Table(dict(self.database.execute("SELECT id, data FROM seen_data")), self.database)

    def fill_table(self, keys):
        """In between it forgets some keys, and begins new generations."""
        ours = self.ours()
        for number, key in enumerate(keys):
            if ours.ring > 1 and number % (len(keys) // 6) == len(keys) // 7:
                self.database.execute("INSERT INTO seen(seen) VALUES ('rotate')")
            if ours.width == 4 and self.random.random() < 0.3:
                self.database.execute("DELETE FROM seen WHERE key = ?", (keys[number // 2],))
            with contextlib.suppress(sqlite3.OperationalError):  # growth=error: the table is full
                self.database.execute("INSERT INTO seen(key) VALUES (?)", (key,))
        self.database.commit()  # until then rows wait in memory

    def test_keys_are_found_by_the_page(self):
        for page_size, count in ((512, 1100), (4096, 500)):
            self.database = connection()
            self.addCleanup(self.database.close)
            self.database.execute(f"PRAGMA page_size = {page_size}")
            for options in self.OPTIONS:
                with self.subTest(options=options, page_size=page_size):
                    self.make(options)
                    keys = some_keys(self.random, count)
                    self.fill_table(keys)
                    ours = self.ours()
                    asked = keys[::5] + [1, "1", 1.0, b"1", "01", " 1", "1.5", 1.5, 2**53 + 1]
                    asked += some_keys(self.random, 100)
                    theirs = [self.value("SELECT count(*) FROM seen WHERE key = ?", key) > 0
                              for key in asked]
                    self.assertEqual([key in ours for key in asked], theirs)

    def test_every_flipped_bit_of_row_0_is_refused(self):
        """And what the page judges in which order is what the message of the extension says."""
        damaged = (r"^seen: seen_data is damaged: row 0 {}\. Restore the database from a backup, "
                   "or make seen again from its keys$")
        said = {1: damaged.format("does not begin with 89424c54"), 2: "has version",
                3: damaged.format("is not a BLOB of 72 bytes"),
                4: damaged.format("has a wrong checksum"), 5: "this release does not know"}
        for options in ("capacity=100", "layout=counting, key=TEXT", "key=URL", "generations=3",
                        f"growth=error, salt='{SALT.hex()}'"):
            self.make(options)
            self.database.execute("INSERT INTO seen(key) VALUES ('a.example')")
            self.database.commit()
            good = self.value("SELECT data FROM seen_data WHERE id = 0")
            flipped = (bytes(byte ^ (1 << bit % 8 if at == bit // 8 else 0)
                             for at, byte in enumerate(good)) for bit in range(8 * 72))
            unknown = good[:5] + b"\x63" + good[6:64]
            for row in (*flipped, good[:3], good[:4], good[:5], good + b"\0", b"\x89BLT\2",
                        b"\x89BLT\0", good[:4] + b"\2" + good[5:], b"",
                        unknown + struct.pack("<Q", murmur3(unknown)[0])):
                self.database.execute("UPDATE seen_data SET data = ? WHERE id = 0", (row,))
                with self.assertRaises(Refused) as refused:
                    self.ours()
                with self.assertRaisesRegex(sqlite3.DatabaseError, said[refused.exception.rule]):
                    self.value("SELECT count(*) FROM seen('a.example')")

    def sizes_are_those_of_the_page(self, options):
        self.make(options)
        ours = Layer(self.ours(), 0)
        layer = json.loads(self.value("SELECT info FROM seen"))["layers"][0]
        self.assertEqual((layer["bits"], layer["hashes"]),
                         (ours.blocks * 512 * self.ours().width, ours.k), options)

    def test_layers_have_the_sizes_of_the_page(self):
        for _ in range(400):
            growth = self.random.choice(("on", "off", "error"))
            generations = self.random.choice((1, 1, 2, 3, 7, 64))
            layout = "counting" if generations == 1 and self.random.random() < 0.3 else "blocked"
            options = (f"capacity={int(2**self.random.uniform(0, 36))}, growth={growth}, fpr="
                       f"{2**-self.random.uniform(0.001, 13)}, layout={layout}")
            self.sizes_are_those_of_the_page(
                options + (f", generations={generations}" if generations > 1 else ""))

    def test_each_row_of_the_table_of_sizes(self):
        """On both sides of its ends and between them. No rate is less than the first row's, to
        which the chance is added that two of the keys have the same hash."""
        for row in range(240):
            start = 2**(row // 8 - 30) * (1 + row % 8 / 8)
            for n in (int(2**self.random.uniform(0, 40)), 2**40):
                least = start + n / 2**64
                within = start * self.random.random() / 8
                for p in (math.nextafter(least, 0), least, least + within, least + within / 2):
                    p = min(p, math.nextafter(1, 0))
                    options = f"capacity={n}, growth=off, fpr={p!r}"
                    if Fraction(p) >= Fraction(2**34 + n, 2**64):
                        self.sizes_are_those_of_the_page(options)
                        continue
                    self.assertEqual(row, 0)
                    with self.assertRaisesRegex(sqlite3.OperationalError,
                                                "is less than layout blocked can keep for "):
                        self.make(options)


class LaterReleases(WithExtension):
    """What a later release may store is refused in words, in any length, and by whatever asks."""

    def said(self, sql, *given):
        with self.assertRaises(sqlite3.DatabaseError, msg=given) as said:
            self.database.execute(sql, given).fetchall()
        return str(said.exception)

    def test_filters(self):
        for sound in (one.data() for one in every_filter()):
            size = 64 * (1 + sound[7])
            wide = sound[:64] + (sound[64:] if sound[7] else bytes(64) + sound[64:])
            later = {"version": sound[:4] + b"\2" + sound[5:],
                     "lines": sound[:7] + b"\2" + sound[8:],
                     "layout": resealed(sound, 5, b"\x7f"), "hash": resealed(sound, 6, b"\x7f"),
                     "key rule": resealed(sound, 12, b"\x7f"),
                     "reserved": resealed(sound, 13, b"\1"),
                     "a header line": resealed(wide, 80 if sound[7] else 7, b"\1")}
            for kind, data in later.items():
                for form in (data[:5], data[:63], data[:size], data[:-1], data, data + bytes(99)):
                    judged_at = {"version": 5, "lines": 8}.get(kind, 64)
                    wanted = (r"is cut off: .*Store it whole$" if len(form) < judged_at
                              else r"is cut off: |Get a newer release" if kind == "a header line"
                              else r"Get a newer release")
                    for sql in ("SELECT bloom_check(?, 1)", "SELECT bloom_union(?)"):
                        self.assertRegex(self.said(sql, form), wanted, (kind, form[:64].hex()))

    def test_tables(self):
        for options in ("capacity=100", "key=URL", "generations=3, layout=blocked",
                        f"layout=counting, salt='{SALT.hex()}'"):
            self.database.execute("DROP TABLE IF EXISTS seen")
            self.database.execute(f"CREATE VIRTUAL TABLE seen USING bloom({options})")
            self.database.execute("INSERT INTO seen(key) VALUES ('a.example')")
            self.database.commit()
            good, = self.database.execute("SELECT data FROM seen_data WHERE id = 0").fetchone()
            version = good[:4] + b"\2" + good[5:]
            later = dict.fromkeys((version[:5], version[:71], version, version + bytes(99)),
                                  "version 2")
            for at, value in ((5, 99), (6, 99), (7, 99), (8, 99), (9, 99), (11, 1), (52, 1),
                              (60, 2), (61, 1), (61 if good[10] > 1 else 48, 1)):
                row = good[:at] + bytes([value]) + good[at + 1:64]
                row += struct.pack("<Q", murmur3(row)[0])
                later[row] = ("numbers that this release does not know" if at < 10 else
                              "numbers where this release knows only zeros")
            for row, has in later.items():
                self.database.execute("UPDATE seen_data SET data = ? WHERE id = 0", (row,))
                for sql in ("SELECT 1 FROM seen('a.example')", "SELECT info FROM seen",
                            "SELECT filter FROM seen", "INSERT INTO seen(key) VALUES ('b.example')",
                            "INSERT INTO seen(seen) VALUES ('clear')"):
                    self.assertEqual(self.said(sql), "seen: a newer release of this extension made "
                                     f"the table (row 0 of seen_data has {has}). Load that release",
                                     row.hex())
            self.database.execute("UPDATE seen_data SET data = ? WHERE id = 0", (good,))
            self.assertEqual(self.value("SELECT count(*) FROM seen('a.example')"), 1)


# --- Pages ---

PAGES = ("ext/FORMAT.md", "ext/FORMAT-layouts.md", "ext/FORMAT-tables.md")


def page(name):
    """Its text, and its blocks but those that are typed and printed: language and text of each."""
    text = (TOP / name).read_text(encoding="utf-8")
    typed = re.compile(r"^```sql\n[^`]*^```\n```text\n[^`]*^```$", re.MULTILINE)
    return text, re.findall(r"^```(\w*)\n(.*?)^```$", typed.sub("", text), re.MULTILINE | re.DOTALL)


# Layout, k, m and keys of which the text around the blocks says words and bits.
TOLD = [("blocked", 6, 512, "hello", ""), ("classic", 3, 20, "hello"),
        ("classic32", 3, 64, "hello"), ("spark1", 4, 1280, "hello", 42),
        ("spark2", 4, 1280, "hello", 42),
        ("dcso", 5, 1371, "hello", ""), ("bits-and-blooms", 5, 1248, "hello", ""),
        ("parquet", 8, 2048, "hello", 42), ("redisbloom", 5, 1280, "hello", 42)]


class Pages(WithExtension):
    def test_the_table_of_sizes_is_that_of_the_sources(self):
        text = (TOP / "ext/filter/layouts/blocked_sizes.h").read_text("ascii")
        rows = re.findall(r"\{(\d+), (\d+), (\d+)\}", text)
        self.assertEqual(pages.SIZES, [tuple(map(int, row)) for row in rows])

    def test_figures_in_the_text_are_those_of_the_examples(self):
        text = "".join(re.sub(r"^```.*?^```$", "", page(name)[0], flags=re.MULTILINE | re.DOTALL)
                       for name in PAGES)
        told = " ".join(text.replace(",", "").split())
        words = [pages.siphash(bytes(range(15)), SALT), 0xC6A4A7935BD1E995]
        for layout, k, m, *keys in TOLD:
            filled = empty(layout, k, m)
            for key in keys:
                bits = " ".join(map(str, filled.bits(key)))
                self.assertTrue(re.search(rf"(\D| {key}) {bits}\b", told), (layout, key))
            for key in (*keys, "", 258, 1.5, 2.0):
                words += filled.words(key) or ()
        words += [word * 0x9E3779B97F4A7C15 + 0xB504F333F9DE6485 & pages.WORD for word in words]
        known = {form % number for word in words for form, number in (
            ("%016x", word), ("%08x", word >> 32), ("%08x", word & pages.HALF))}
        self.assertLessEqual(set(re.findall(r"\b(?:[0-9a-f]{8}){1,2}\b", text)), known)

    def test_constants_of_pseudo_code_are_those_of_pages_py(self):
        source = inspect.getsource(pages).lower()
        constants = {int(digits, 16) for digits in re.findall(r"0x([0-9a-f]{8,})", source)}
        constants.add(2**63 - 1)
        blocks = "".join(block for name in PAGES for language, block in page(name)[1]
                         if language == "text" and "=" in block)
        found = {int(digits, 16) for digits in re.findall(r"\b[0-9a-f]{8,16}\b", blocks)}
        self.assertGreater(len(found), 20)
        self.assertLessEqual(found, constants)

    def test_tables_are_created_as_the_page_says(self):
        language, sql = page("ext/FORMAT-tables.md")[1][0]
        self.assertEqual(language, "sql")
        self.database.execute("CREATE VIRTUAL TABLE NAME USING bloom")
        created = self.database.execute("SELECT sql FROM sqlite_schema WHERE name LIKE 'NAME~_%' "
                                        "ESCAPE '~' ORDER BY rowid")
        self.assertEqual([re.findall(r"\w+|[^\s\w\"]", text) for text, in created],
                         [re.findall(r"\w+|\S", text) for text in sql.split(";")[:-1]])


def key_of(coded):
    kind, value = coded[0], coded[1:]
    if kind == "i":
        return int(value)
    data = bytes.fromhex(value)
    return {"b": data, "t": data.decode("utf-8", "replace"),
            "r": struct.unpack(">d", data)[0] if kind == "r" else None}[kind]


def keys_of(listed):
    return list(map(key_of, listed.split(","))) if listed else []


class Vectors(WithExtension):
    """They hold for pages.py and for the extension."""

    def test_lines_have_the_fields_that_the_page_names(self):
        fields = {"HASHING": r"\d+", "LAYOUT": "[a-z][a-z0-9-]*", "SEED": "([0-9a-f]{32}|-)",
                  "KEY": "([tb][0-9a-f]*|i-?[0-9]+|r[0-9a-f]{16})", "RULE": r"(\d+|-)",
                  "WORD": "(0|[1-9a-f][0-9a-f]*)", "BYTES": "([0-9a-f]{2,}|-)"}
        fields["IN"] = fields["OUT"] = "({0}(,{0})*|-)".format(fields["KEY"])
        forms = [line.split("  ")[0].replace("[,WORD...]", "(,WORD)*")
                 for line in page("ext/FORMAT.md")[1][-1][1].splitlines()]
        forms = [re.sub("[A-Z]+", lambda name: fields[name[0]], form) for form in forms]
        self.assertEqual(len(forms), 3)
        for line in VECTORS:
            self.assertEqual(sum(re.fullmatch(form, line) is not None for form in forms), 1,
                             line[:200])

    def test_each(self):
        seen = set()
        for line in VECTORS:
            with self.subTest(line=line[:200]):
                kind, name, *words = ("" if word == "-" else word for word in line.split(" "))
                seen.add((kind, name) if kind != "invalid" else (kind, int(words[0] or 0)))
                getattr(self, kind)(name, *words)
        self.assertEqual(seen, {("hash", str(number)) for number in pages.HASHINGS if number != 2}
                         | {("valid", row[0]) for row in pages.LAYOUTS.values()}
                         | {("invalid", rule) for rule in range(13)})

    def hash(self, hashing, seed, key, words):
        self.assertEqual(words_of(int(hashing), bytes.fromhex(seed) or bytes(16), key_of(key)),
                         tuple(int(word, 16) for word in words.split(",")))

    def valid(self, layout, data, present, absent):
        data, present = bytes.fromhex(data), keys_of(present)
        one = Filter(data)
        self.assertEqual(one.layout, layout)
        if layout != "fuse":
            blank = Filter(one.header + bytes(len(one.payload)))
            self.assertEqual(blank.add(*present).data(), data)
        self.assertTrue(all(key in one for key in present))
        self.assertFalse(any(key in one for key in keys_of(absent)))
        for key in present + keys_of(absent):
            self.assertEqual(self.value("SELECT bloom_check(?, ?)", data, key), key in present)

    def invalid(self, _, rule, data):
        self.assertEqual(self.judge_alike(bytes.fromhex(data)), int(rule or 0))


if __name__ == "__main__":
    unittest.main()
