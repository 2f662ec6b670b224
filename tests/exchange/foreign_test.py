#!/usr/bin/env python3
"""The formats of other systems: golden files that their libraries wrote, with the answers and the
sizes of these; keys of every type, hostile input, and what is said of it. Which bits a key has, the
reader of the pages in tests/documentation/pages.py says. The programs of sql/README.md, which
programs_test.py runs, call the libraries themselves.
"""
import gzip
import itertools
import json
import math
import pathlib
import random
import re
import struct
import sys
import typing
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = TOP / "tests/exchange"
sys.path += [str(TOP / "tests/runner"), str(TOP / "tests/documentation")]
import pages  # noqa: E402
from extended import connect  # noqa: E402

IMPORT = "SELECT bloom_import(?1, ?2)"
EXPORT = "SELECT bloom_export(?1, ?2)"
CHECK = "SELECT bloom_check(?1, ?2)"
TEXTS = ["", "abc", "http://evil.example/a", "\u00e9", "e\u0301", "\u65e5\u672c\u8a9e",
         "\U0001f600", "a\0b", "0123456789abcdef", "x" * 100, "\ufeff", "\uffff", "\U0010ffff"]
# What bytes are made of that are not UTF-8.
PIECES = [b"a", b"\x80", b"\xbf", b"\xc2", b"\xe0", b"\xa0", b"\x9f", b"\xed", b"\xf0", b"\x90",
          b"\xf4", b"\x8f", b"\xe1", b"\xf1", b"\xc1", b"\xf5", b"\xff"]


class Layout(typing.NamedTuple):
    """header is the number of its bytes; takes says which keys there are, if not every key is one.
    Those that are not made here are only imported."""
    format: str
    header: int
    takes: str = None
    made_here: bool = True


COMMON = "text, BLOBs and whole numbers"
LAYOUTS = {
    "classic": Layout("guava", 6),
    "classic32": Layout("guava", 6, made_here=False),
    "classic-utf16": Layout("guava-utf16", 6, "text", made_here=False),
    "spark1": Layout("spark", 12, COMMON),
    "spark2": Layout("spark", 16, COMMON),
    "dcso": Layout("dcso", 48, "text and BLOBs"),
    "bits-and-blooms": Layout("bits-and-blooms", 24, "text and BLOBs"),
    "parquet": Layout("parquet", 16),
    "parquet-int32": Layout("parquet-int32", 16, "whole numbers from -2147483648 to 4294967295"),
    "redisbloom": Layout("redisbloom", 73, COMMON)}
# Bytes of the header in which each format counts what it cannot know later.
COUNTERS = {"dcso": [(40, 48)], "redisbloom": [(0, 8), (36, 44)]}


def without_counters(layout, data):
    data = bytearray(data)
    for start, end in COUNTERS.get(layout, []):
        data[start:end] = bytes(end - start)
    return bytes(data)


def bytes_of(layout, key):
    """What is hashed of a key, or None for a key that this layout does not have."""
    return pages.HASHINGS[pages.BY_NAME[layout][1]][0](key)


def empty(layout, m=None, k=5, seed=0):
    """A filter of pages.py."""
    m = m or (287 if layout in ("dcso", "bits-and-blooms") else 384)
    if layout.startswith("parquet"):
        m, k = -(-m // 256) * 256, 8
    if layout == "redisbloom":  # made for 60 keys at 0.1
        return pages.empty(layout, k, m, 60, 0.1, struct.pack("<IId", 2, 0, -math.log(0.05)
                                                              / 0.480453013918201))
    n, p = (60, 0.1) if layout == "dcso" else (0, 0)  # which the others do not store
    return pages.empty(layout, k, m, n, p, struct.pack("<I12x", seed))


def random_key(generator, layout):
    while True:
        key = generator.choice([
            lambda: generator.randint(-(2**63), 2**63 - 1),
            lambda: generator.randint(-300, 300),
            lambda: generator.uniform(-1e6, 1e6),
            lambda: generator.choice(TEXTS) + str(generator.randint(0, 99)),
            lambda: generator.randbytes(generator.randint(0, 70))])()
        if bytes_of(layout, key) is not None:
            return key


def random_keys(layout, count):
    generator = random.Random(layout)
    return [random_key(generator, layout) for _ in range(count)]


def key_of(coded):
    ((kind, value),) = coded.items()
    return {"t": str, "b": bytes.fromhex, "i": int, "u": int,
            "r": lambda digits: struct.unpack(">d", bytes.fromhex(digits))[0]}[kind](value)


class WithExtension(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.database = connect()
        self.addCleanup(self.database.close)

    def rows(self, sql, *arguments):
        return list(self.database.cursor().execute(sql, arguments))

    def value(self, sql, *arguments):
        (value,), = self.rows(sql, *arguments)
        return value

    def keys(self, keys):
        """A table of these keys, of whatever type."""
        self.rows("CREATE TEMP TABLE IF NOT EXISTS keys(key); DELETE FROM keys")
        with self.database:
            self.database.cursor().executemany(
                "INSERT INTO keys VALUES (?)", [(key,) for key in keys])
        return "keys"

    def sample(self, layout):
        """A filter of pages.py, and its bytes in the form of its system."""
        one = empty(layout).add(*random_keys(layout, 40))
        return one, self.value(EXPORT, one.data(), LAYOUTS[layout].format)

    def answers(self, filter_value, keys):
        sql = f"SELECT bloom_check(?1, key) FROM {self.keys(keys)} ORDER BY rowid"
        return "".join(str(answer) for answer, in self.rows(sql, filter_value))

    def refused(self, message, sql, *arguments):
        with self.assertRaises(apsw.Error) as caught:
            self.value(sql, *arguments)
        self.assertEqual(str(caught.exception).removeprefix("SQLError: "), message)


class Golden(WithExtension):
    def test_each_file(self):
        found = 0
        for path in sorted((HERE / "golden").glob("*.json")):
            golden, name = json.loads(path.read_text(encoding="utf-8")), path.stem
            data = b"".join(bytes.fromhex(part["hex"]) for part in golden["files"].values())
            layout = name.split("_")[0]
            if name == "dcso_text_gzip":
                self.refused("bloom_import: the bytes (argument 1) are compressed with gzip. "
                             "Unpack the file first, with gunzip", IMPORT, data, "dcso")
                data = gzip.decompress(data)
            with self.subTest(filter=name):
                imported = self.value(IMPORT, data, LAYOUTS[layout].format)
                # The library's answers, of which some are false positives.
                present = list(map(key_of, golden["present"]))
                self.assertEqual(self.answers(imported, present), "1" * len(present))
                answers = "".join(str(answer) for _, answer in golden["not_inserted"])
                self.assertEqual(answers, self.answers(
                    imported, [key_of(coded) for coded, _ in golden["not_inserted"]]))
                found += answers.count("1")
                # The same keys, added here and by pages.py.
                its_layout, m, k = json.loads(self.value(
                    "SELECT json_extract(bloom_info(?1), '$.layout', '$.bits', '$.hashes')",
                    imported))
                seed = int.from_bytes(imported[40:44], "little")  # of spark2
                self.assertEqual(its_layout, layout)
                self.assertEqual(imported[64:], empty(layout, m, k, seed).add(*present).payload)
                self.assertEqual(imported, self.value(
                    f"SELECT bloom_agg(key, ?1) FROM {self.keys(present)}",
                    imported[:64] + bytes(len(imported) - 64)))
                self.same_bytes(name, layout, imported, data)
                for form in golden.get("forms", {}).values():
                    self.assertEqual(self.value(IMPORT, bytes.fromhex(form), layout), imported)
                if name == "parquet_halved":  # as a larger filter is when it is merged
                    self.assertEqual(imported, self.value(
                        "SELECT bloom_union(bloom_import(bloom_export(bloom_agg(key, 20000, 0.01, "
                        f"'parquet'), 'parquet'), 'parquet'), ?1) FROM {self.keys(present)}",
                        imported))
                if "fpp" in golden:
                    self.assertEqual(self.value("SELECT bloom_count(?1)", imported),
                                     golden["count"])
                    self.assertTrue(math.isclose(self.value("SELECT bloom_fpr_now(?1)", imported),
                                                 golden["fpp"], rel_tol=1e-13))
        self.assertGreater(found, 250)

    def same_bytes(self, name, layout, imported, data):
        """An export returns what was imported: all but the counters, which are estimated, and data
        that stands behind a filter of DCSO's."""
        exported = self.value(EXPORT, imported, LAYOUTS[layout].format)
        self.assertEqual(without_counters(layout, exported),
                         without_counters(layout, data)[:len(exported)])
        self.assertEqual(data[len(exported):],
                         b'{"note":"golden"}' if name == "dcso_text_data" else b"")
        for start, end in COUNTERS.get(layout, ()):
            self.assertEqual(int.from_bytes(exported[start:end], "little"),
                             195 if layout == "dcso" else 200)
        if layout == "redisbloom":  # without scaling
            self.assertEqual((data[12], imported[40:48].hex()), (13, "0200000001000000"))
            self.assertEqual(imported[48:56], data[52:60])


class Made(WithExtension):
    """bloom_new and bloom_agg make what the libraries make."""

    def test_sizes(self):
        """n, p, bits and hashes. The libraries were asked for those in sizes.json: Guava in Debian,
        Spark 3.5.1 and 4.1.1, DCSO/bloom 0.2.4 and bits-and-blooms 3.7.1. Those of RedisBloom and
        Parquet were computed as their sources do."""
        sizes = json.loads((HERE / "sizes.json").read_text(encoding="utf-8"))
        sizes["parquet-int32"] = sizes["parquet"]
        self.assertEqual(sizes.keys(), {name for name, layout in LAYOUTS.items()
                                        if layout.made_here})
        for layout, rows in sizes.items():
            for n, p, bits, hashes in rows:
                with self.subTest(layout=layout, n=n, p=p):
                    info = self.value("SELECT bloom_info(bloom_new(?1, ?2, ?3))", n, p, layout)
                    self.assertEqual([json.loads(info)[field] for field in ("bits", "hashes")],
                                     [bits, hashes])

    def test_filters_of_n_and_p(self):
        """n left out is the number of distinct keys."""
        for layout, row in LAYOUTS.items():
            keys = [i if layout == "parquet-int32" else f"key {i}" for i in range(300)]
            sql = f"SELECT bloom_agg(key, ?1, 0.05, ?2) FROM {self.keys(keys + keys)}"
            if row.made_here:
                self.assertEqual(self.value(sql, 300, layout), self.value(sql, None, layout))

    def test_parquet_of_sizes_that_are_a_power_of_two_apart(self):
        """The larger filter is halved: neighbouring blocks become one."""
        generator = random.Random(3)
        for layout in ("parquet", "parquet-int32"):
            sets = {blocks: [random_key(generator, layout) for _ in range(12)]
                    for blocks in (1, 2, 3, 16)}
            made_of = {blocks: empty(layout, 256 * blocks).add(*keys).data()
                       for blocks, keys in sets.items()}
            for one, other in itertools.permutations((1, 2, 16), 2):
                halves = [empty(layout, 256 * min(one, other)).add(*sets[blocks])
                          for blocks in (one, other)]
                for function, join in (("union", int.__or__), ("intersect", int.__and__)):
                    both = self.value(f"SELECT bloom_{function}(?1, ?2)", made_of[one],
                                      made_of[other])
                    self.assertEqual(both[64:], bytes(map(join, *(half.payload
                                                                  for half in halves))))
            self.refused("bloom_union: argument 2 differs from the first filter (first and "
                         "argument 2: 768 and 4096 bits). Make them with the same parameters, as "
                         "bloom_agg(key, filter) does", "SELECT bloom_union(?1, ?2)", made_of[3],
                         made_of[16])
            wanted = empty(layout, 256).add(*sets[1], *sets[2], *sets[16])
            for order in itertools.permutations((1, 2, 16)):
                self.keys([made_of[blocks] for blocks in order])
                self.assertEqual(self.value("SELECT bloom_union_agg(key) FROM keys")[64:],
                                 wanted.payload)

    def test_what_is_refused(self):
        no_bits = ("bloom_size: n = 1 and p = 0.9: layout {0}, with the size that its own library "
                   "gives it, would have no bits. Ask for a smaller p")
        only = ("bloom_{0}: layout classic32 is only for filters imported from Guava's older "
                "strategy MURMUR128_MITZ_32. Ask for layout classic")
        for message, sql in (
                *((no_bits.format(layout), f"bloom_size(1, 0.9, '{layout}')")
                  for layout in ("spark1", "spark2", "dcso")),
                ("bloom_size: n = 1000000000000 at p = 0.01 takes 9585058377408 bits, but layout "
                 "spark2 has at most 137438953408. Make several filters, or one of layout blocked",
                 "bloom_size(1000000000000, 0.01, 'spark2')"),
                (only.format("size"), "bloom_size(10, 0.01, 'Classic32')"),
                (only.format("agg"), "bloom_agg(1, 10, 0.01, 'classic32')"),
                (only.format("agg"), "bloom_agg(1, NULL, 0.01, 'classic32')"),
                ("bloom_agg: the options are not text but 5. Give the name of a layout, or text "
                 "such as 'layout=fuse, key=url'", "bloom_agg(column1, 100, 0.1, column2) FROM "
                 "(VALUES ('a', 'bits-and-blooms'), ('b', 5))"),
                ("bloom_export: argument 1 was made for n = 0 keys, and RedisBloom has no such "
                 "filter. Build it for 1",
                 "bloom_export(bloom_new(0, 0.4, 'redisbloom'), 'redisbloom')")):
            self.refused(message, f"SELECT {sql}")
        union = "SELECT bloom_union(?1, ?2)"
        with self.assertRaisesRegex(apsw.SQLError, "header bytes 40 to 55"):
            self.value(union, empty("spark2").data(), empty("spark2", seed=5).data())
        self.refused("bloom_union: argument 2 differs from the first filter (first and argument 2: "
                     "layout classic and classic32). Make them with the same parameters, as "
                     "bloom_agg(key, filter) does", union, empty("classic").data(),
                     empty("classic32").data())

    def test_small_things(self):
        for layout in ("classic", "classic-utf16", "parquet", "parquet-int32", "redisbloom"):
            self.assertEqual(self.value("SELECT length(bloom_new(0, 0.4, ?1)) = "
                                        "bloom_size(1, 0.4, ?1)", layout), 1)
        # A format in any case, a filter that is pinned.
        data = self.sample("classic")[1]
        self.assertEqual(self.value("SELECT bloom_export((SELECT bloom_pin(bloom_import(?1, "
                                    "'Guava'))), 'GUAVA')", data), data)
        # As many hashes as bits, beyond 255, are not too many.
        data = struct.pack(">QQQ", 300, 300, 300) + bytes(40)
        self.assertEqual(self.value("SELECT bloom_count(bloom_import(?1, 'bits-and-blooms'))",
                                    data), 0)
        # A round trip through Guava forgets n and p.
        self.assertEqual(self.value("SELECT bloom_import(bloom_export(bloom_new(10, 0.01, "
                                    "'classic'), 'guava'), 'guava')")[24:40], bytes(16))


class Forms(WithExtension):
    """Other forms of the same filter are read, and the usual one is written."""

    def test_go_in_both_byte_orders_and_with_rows_of_whole_words(self):
        for m in (1, 7, 8, 9, 63, 64, 65, 127, 128, 1248, 1281):
            one = empty("bits-and-blooms", m, 3).add(*random_keys("bits-and-blooms", 1 + m // 20))
            count = -(-m // 64)
            words = struct.unpack(f"<{count}Q", one.payload + bytes(8 * count - len(one.payload)))
            for row, order in itertools.product((m, 64 * count), "<>"):
                form = struct.pack(">QQ", m, 3) + struct.pack(f"{order}Q{count}Q", row, *words)
                self.assertEqual(self.value(IMPORT, form, "bits-and-blooms"), one.data())
            self.assertEqual(self.value(EXPORT, one.data(), "bits-and-blooms"),
                             struct.pack(f">QQQ{count}Q", m, 3, m, *words))

    def test_rows_of_go_of_other_lengths(self):
        """A program may give a row of its own: FromWithM. Bits beyond it are zero."""
        head, words = struct.pack(">QQ", 100, 3), struct.pack(">2Q", 1, 1)
        for row in (70, 101, 127, 128):
            imported = self.value(IMPORT, head + struct.pack(">Q", row) + words, "bits-and-blooms")
            self.assertEqual(self.value(EXPORT, imported, "bits-and-blooms"),
                             head + struct.pack(">Q", 100) + words)

    def test_parquet_with_headers_of_every_length_and_without(self):
        for blocks, length in ((1, 15), (2, 16), (128, 16), (255, 16), (256, 17), (16384, 17),
                               (32768, 18)):
            one = empty("parquet", 256 * blocks).add("abc")
            data = self.value(EXPORT, one.data(), "parquet")
            self.assertEqual(len(data), 32 * blocks + length)
            for form in (data, bytes(one.payload)):
                self.assertEqual(self.value(IMPORT, form, "parquet"), one.data())


class Keys(WithExtension):
    def test_every_type_in_every_layout(self):
        samples = ["", "1", "abc", "\u00e9", b"", b"\1\0\0\0", 0, 1, -1, 2**31 - 1, 2**31,
                   -2**31, -2**31 - 1, 2**32 - 1, 2**32, 2**63 - 1, -2**63, 0.0, -0.0, 1.0, -2.0,
                   4294967295.0, 4294967296.0, 0.5, -1e300, 1e19, 2.0**63, -2.0**63, 5e-324,
                   math.inf, -math.inf]
        for layout, row in LAYOUTS.items():
            one, refused = empty(layout), 0
            blank = one.data()
            full = blank[:64] + b"\xff" * (len(blank) - 65)  # it has every key that there is
            full += bytes([0xFF >> -one.m % 8])
            calls = ["bloom_add(?1, ?2)", "bloom_agg(?2, ?1)"]
            if row.made_here:
                calls += [f"bloom_agg(?2, 100, 0.1, '{layout}')",
                          f"bloom_agg(?2, NULL, 0.1, '{layout}')"]
            for key, sql in itertools.product(samples, calls):
                there_is = bytes_of(layout, key) is not None
                with self.subTest(layout=layout, key=key):
                    self.assertEqual(self.value(CHECK, full, key), int(there_is))
                    refused += not there_is
                    if not there_is:
                        with self.assertRaisesRegex(
                                apsw.SQLError, r": argument \d is .*, but the keys of "
                                rf"layout {layout} are {row.takes}\. Convert"):
                            self.value(f"SELECT {sql}", full, key)
                    elif sql in calls[:2]:
                        held = self.value(f"SELECT {sql}", blank, key)
                        self.assertEqual(held[64:], empty(layout).add(key).payload)
            self.assertEqual(self.value("SELECT bloom_add(?1, NULL)", blank), blank)
            self.assertIsNone(self.value(CHECK, full, None))
            self.assertEqual(refused > 0, row.takes is not None)

    def test_text_that_is_not_utf8(self):
        """Each longest piece that could begin a character becomes one U+FFFD; as in Java, where an
        encoded surrogate is one such piece."""
        generator = random.Random(6)
        samples = [b"".join(generator.choices(PIECES, k=generator.randint(1, 12)))
                   for _ in range(3000)]
        blank = empty("classic-utf16").data()
        for sample in samples:
            as_java = re.sub(rb"\xed[\xa0-\xbf][\x80-\xbf]?", b"\xff", sample)
            held = self.value("SELECT bloom_add(?1, CAST(?2 AS TEXT))", blank, sample)
            self.assertEqual(held[64:], empty("classic-utf16").add(
                as_java.decode("utf-8", "replace")).payload, sample)

    def test_a_database_in_utf16(self):
        self.rows("PRAGMA encoding='UTF-16'; CREATE TABLE t(x)")
        for text in TEXTS[1:]:
            if text == "\uffff":  # which SQLite itself turns into U+FFFD there
                continue
            self.rows("DELETE FROM t; INSERT INTO t VALUES (?)", text)
            held = self.value("SELECT bloom_add(?1, x) FROM t",
                              empty("classic-utf16").data())
            self.assertEqual(held[64:], empty("classic-utf16").add(text).payload, repr(text))


def changed(data, at, form, *values):
    data = bytearray(data)
    struct.pack_into(form, data, at, *values)
    return bytes(data)


# What is refused of each layout. Its system, what its user should do, and numbers that no filter of
# it has: where they are put, and k and m as the message then has them (None: as they were).
WRITE_TO = "Store exactly what BloomFilter.writeTo writes"
OF_JAVA = ("are a serialised object of Java. Write the filter with BloomFilter.writeTo instead of "
           "ObjectOutputStream"), bytes.fromhex("aced0005")
BEYOND = "are damaged: bits are set beyond the last of the filter. "
DAMAGED = {
    "classic": ("Guava", WRITE_TO, [
        (2, ">I", [0], None, 0), (2, ">I", [2**31], None, 2**37), (0, "BB", [0, 0], 0, None),
        (0, "BB", [1, 0], 0, None)]),
    "spark1": ("Spark", WRITE_TO, [
        (4, ">I", [0], 0, None), (4, ">I", [65536], 65536, None), (8, ">I", [0], None, 0),
        (8, ">I", [2**31], None, 2**37)]),
    "dcso": ("DCSO's bloom", "Store the whole file", [
        *((8, "<Qd", [n, p], None, None)
          for n, p in ((0, 0.1), (2**40 + 1, 0.1), (5, 0.0), (5, 1.0), (5, math.nan))),
        *((24, "<QQ", [k, m], k, m)
          for k, m in ((0, 100), (65536, 100), (3, 0), (3, 2**52 + 1), (300, 299)))]),
    "bits-and-blooms": ("bits-and-blooms", "Store exactly what WriteTo or MarshalBinary writes", [
        *((0, ">QQ", [m, k], k, m)
          for m, k in ((0, 3), (2**52 + 1, 3), (100, 0), (100, 65536))),
        (16, ">Q", [64], None, None)]),
    "redisbloom": ("RedisBloom", "Join exactly the chunks of BF.SCANDUMP, the first one first", [
        *((at, "<Q", [value], None, m) for at, value, m in (
            (20, 0, None), (28, 512, 512), (36, 3, None), (64, 0, None))),
        (20, "<QQ", [60, 480], None, 480),
        *((at, "<d", [value], None, None)
          for at, value in ((44, 0.6172835), (44, 5e-302), (52, 6.3))),
        *((60, "<I", [k], k, None) for k in (4, 0, 70000)), (72, "B", [1], None, None)])}


def refusals(layout, good, release):
    """What is said of bytes, and the bytes."""
    if layout in DAMAGED:
        system, advice, rows = DAMAGED[layout]
        k, m, least = empty(layout).k, empty(layout).m, LAYOUTS[layout].header
        for at, form, values, new_k, new_m in rows:
            yield (f"are damaged: no filter of {system} has k = {k if new_k is None else new_k} "
                   f"and m = {m if new_m is None else new_m} with the rest of their header. "
                   + advice), changed(good, at, form, *values)
        yield (f"are cut off: there are {least - 1}, but the header of a filter of {system} alone "
               f"has {least}. {advice}"), good[:least - 1]
        for data in (good[:-1], good + bytes(8)):
            if layout != "dcso" or data < good:
                yield (f"were cut off or extended: there are {len(data)}, but their header says "
                       f"{len(good)}. {advice}"), data
    yield from {
        "classic": lambda: [
            OF_JAVA,
            (f"are not a Guava filter that release {release} of this extension knows: the strategy "
             "in their first byte is 2, but only 0 (MURMUR128_MITZ_32) and 1 (MURMUR128_MITZ_64) "
             "are known. Write the filter with BloomFilter.writeTo or get a newer release",
             changed(good, 0, "B", 2))],
        "classic-utf16": lambda: [
            ("are a Guava filter of the older strategy MURMUR128_MITZ_32, which only format "
             "'guava' reads. Write the filter with a current Guava", b"\0" + good[1:])],
        "spark1": lambda: [
            OF_JAVA,
            *((f"are not a Spark filter that release {release} of this extension knows: they begin "
               f"with version {version}, but only 1 and 2 are known. Write the filter with "
               "BloomFilter.writeTo or get a newer release", changed(good, 0, ">I", version))
              for version in (0, 3, 2**31))],
        "spark2": lambda: [
            ("are cut off: there are 15, but the header of a filter of Spark alone has 16. "
             + WRITE_TO, good[:15])],
        "dcso": lambda: [
            *((f"are not a filter of DCSO's bloom: they begin with the flags {flags:x}, but its "
               "version 1 has 1, and 2 is poppy's own. Make the filter with version 1",
               changed(good, 0, "<Q", flags)) for flags in (0, 2, 1 | 1 << 63)),
            *((BEYOND + advice, struct.pack("<QQdQQQ", 1, 9, 0.1, 3, 100, 0) + bytes(12)
               + bytes([last, 0, 0, 0])) for last in (0x10, 0x80))],  # bits from 100 on
        "bits-and-blooms": lambda: [
            ("are JSON. Write the filter with WriteTo or MarshalBinary instead",
             b'{"m":1,"k":1,"b":""}'),
            *((BEYOND + advice, struct.pack(">QQQQQ", 100, 3, row, 0, word))
              for row, word in ((70, 1 << 6), (100, 1 << 36), (100, 1 << 63)))],
        "parquet": lambda: [
            ("are a whole Parquet file. Cut out the filter of one column and row group, at "
             "bloom_filter_offset with bloom_filter_length", b"PAR1" + bytes(100) + b"PAR1"),
            *((f"are not a Bloom filter of Parquet: these {len(data)} are neither a header of "
               "split blocks, XXH64 and no compression with the bitset that it announces, nor a "
               "bitset of whole blocks of 32. Take bloom_filter_length bytes at "
               "bloom_filter_offset", data)
              for data in (b"", good[:-1], good[:5] + b"\x2c" + good[6:], good[16:-1],
                           b"\x15\x00" + good[3:], good + bytes(32)))],
        "redisbloom": lambda: [
            *((f"are {links} filters in a chain, and only one can be read. Reserve room for all "
               "keys with BF.RESERVE, so that there is one", changed(good, 8, "<I", links))
              for links in (0, 2)),
            *((f"are not a filter of RedisBloom 2.2 or newer: their header says options {options}, "
               "but only 5 and 13 are known. Join all chunks of BF.SCANDUMP, the first one first",
               changed(good, 12, "<I", options)) for options in (1, 4, 7, 12, 15))],
    }.get(layout, list)()


class Refusals(WithExtension):
    def test_what_is_said_of_bytes(self):
        release = self.value("SELECT bloom_version()")
        for layout in LAYOUTS:
            for problem, data in refusals(layout, self.sample(layout)[1], release):
                with self.subTest(layout=layout, problem=problem):
                    self.refused(f"bloom_import: the bytes (argument 1) {problem}", IMPORT, data,
                                 LAYOUTS[layout].format)

    def test_bitsets_that_only_begin_or_end_as_a_parquet_file(self):
        for bitset in (b"PAR1" + bytes(60), bytes(60) + b"PAR1"):
            self.assertEqual(self.value(IMPORT, bitset, "parquet")[64:], bitset)

    def test_every_truncation_and_extension(self):
        for layout, row in LAYOUTS.items():
            data = self.sample(layout)[1]
            longer = [len(data) + more for more in (1, 7, 8, 32, 99)]
            for length in [*range(len(data)), *longer]:
                cut = data[:length] + bytes(max(0, length - len(data)))
                with self.subTest(layout=layout, length=length):
                    # DCSO's files end in data of any length; whole blocks of Parquet are a bitset.
                    if (layout == "dcso" and length > len(data)) or (
                            layout.startswith("parquet") and length % 32 == 0 < length):
                        self.assertIsNotNone(self.value(IMPORT, cut, row.format))
                        continue
                    with self.assertRaisesRegex(apsw.SQLError, r"\(argument 1\) (are|were) "):
                        self.value(IMPORT, cut, row.format)

    def test_every_bit_of_the_header(self):
        """A changed header is refused, or is a filter that goes back as it came."""
        accepted = {}
        for layout, row in LAYOUTS.items():
            data, taken = self.sample(layout)[1], set()
            for bit in range(8 * row.header):
                other = bytearray(data)
                other[bit // 8] ^= 1 << bit % 8
                try:
                    imported = self.value(IMPORT, bytes(other), row.format)
                except apsw.SQLError as error:
                    self.assertRegex(str(error), r"\(argument 1\) (are|were) ")
                    continue
                taken.add(bit // 8)
                if layout == "bits-and-blooms":  # the length of the row is written as m
                    other[16:24] = other[:8]
                exported = self.value(EXPORT, imported, row.format)
                self.assertEqual(without_counters(layout, exported),
                                 without_counters(layout, bytes(other)), (layout, bit))
            accepted[layout] = sorted(taken)
        # k, the seed, n and p, N, growth and scaling, last digits of rates, and lengths that agree
        # with the bytes.
        self.assertEqual(accepted, {
            "classic": [0, 1], "classic32": [0, 1], "classic-utf16": [1],
            "spark1": [6, 7], "spark2": [6, 7, 8, 9, 10, 11],
            "dcso": [*range(8, 13), *range(16, 24), 24, 25, 32, *range(40, 48)],
            "bits-and-blooms": [7, 14, 15, 23], "parquet": [], "parquet-int32": [],
            "redisbloom": [12, *range(16, 20), 44, 52, *range(64, 69)]})

    def test_lengths_that_lie_allocate_nothing(self):
        largest, small = apsw.SQLITE_STATUS_MALLOC_SIZE, bytes(40)
        for form, data in (
                ("guava", struct.pack(">bBi", 1, 7, 2**31 - 1)),
                ("spark", struct.pack(">iiii", 2, 3, 0, 2**31 - 1)),
                ("dcso", struct.pack("<QQdQQQ", 1, 9, 0.1, 3, 2**52, 0)),
                ("bits-and-blooms", struct.pack(">QQQ", 2**52, 3, 2**52)),
                ("parquet", b"\x15\x80\x80\x80\x08" + bytes.fromhex("1c1c0000") * 3 + b"\0"),
                ("redisbloom", struct.pack("<QIIIQQQddIQB", 0, 1, 5, 2, 2**40, 2**43, 0, 0.025,
                                           7.677932, 6, 100, 0))):
            apsw.status(largest, True)
            with self.assertRaises(apsw.SQLError):
                self.value(IMPORT, data + small, form)
            self.assertLess(apsw.status(largest)[1], 100_000, form)

    def test_names_that_are_no_format(self):
        """Of layouts and of forms, and parts of a name. The formats and layouts are those of the
        lists here and in pages.py."""
        for sql, names in (("SELECT bloom_import(x'', 'no such')",
                            {layout.format for layout in LAYOUTS.values()}),
                           ("SELECT bloom_new(1, 0.1, 'no such')",
                            set(pages.BY_NAME) - pages.IMPORTED)):
            with self.assertRaises(apsw.SQLError) as raised:
                self.value(sql)
            self.assertEqual(set(re.findall(r"'([\w-]+)'", str(raised.exception))) - {"no such"},
                             names)
        for name in ("", "guav", "guavas", " guava", "guava\0", "classic", "go-little"):
            one, data = self.sample("classic")
            for sql, value in ((IMPORT, data), (EXPORT, one.data())):
                with self.assertRaisesRegex(apsw.SQLError, "format .argument 2. is the text '"):
                    self.value(sql, value, name)

    def test_exports_of_other_layouts(self):
        one = self.value("SELECT bloom_new(9, 0.1, 'classic')")
        for form, who, build in (
                ("spark", "Spark does not know", "spark1, or spark2 for Spark 4.1 and newer"),
                ("dcso", "DCSO's bloom does not know", "dcso"),
                ("bits-and-blooms", "bits-and-blooms does not know", "bits-and-blooms"),
                ("redisbloom", "RedisBloom does not know", "redisbloom"),
                ("guava-utf16", "Guava does not know by this funnel", "classic-utf16"),
                ("parquet", "is not the layout of this format", "parquet"),
                ("parquet-int32", "is not the layout of this format", "parquet-int32")):
            self.refused(f"bloom_export: argument 1 has layout classic, which {who}. Build it with "
                         f"layout {build}", EXPORT, one, form)
        for bits, enough in ((1, 64), (65, 128)):
            self.refused(f"bloom_export: argument 1 has {bits} bits, but Guava has only multiples "
                         f"of 64. Build it with {enough} bits, or with bloom_new and layout "
                         "classic", "SELECT bloom_export(bloom_new_bits(?1, 3), 'guava')", bits)

    def test_the_length_limit_of_the_connection(self):
        data = self.value(EXPORT, empty("classic", 64 * 225).data(), "guava")
        self.database.limit(apsw.SQLITE_LIMIT_LENGTH, 1863)
        self.refused("bloom_import: the filter needs 1864 bytes, but a value of this connection is "
                     "limited to 1863 bytes. Make it smaller", IMPORT, data, "guava")
        self.database.limit(apsw.SQLITE_LIMIT_LENGTH, 1864)
        self.assertEqual(len(self.value(IMPORT, data, "guava")), 1864)

    def test_headers_that_cannot_go_back(self):
        for at in (24, 32):
            self.refused("bloom_export: argument 1 was made for n = 0 keys, and DCSO's bloom has "
                         "no such filter. Build it for 1", EXPORT,
                         pages.resealed(empty("dcso").data(), at, bytes(8)), "dcso")
        for at, value in ((8, b"\7"), (48, b"\x99\x99"), (32, struct.pack("<d", 0))):
            filter_value = pages.resealed(empty("redisbloom").data(), at, value)
            self.assertEqual(self.value(CHECK, filter_value, "a"), 0)
            self.refused("bloom_export: argument 1 says p or bits per key that no filter of "
                         f"RedisBloom has for its {7 if at == 8 else 5} hashes. Build it with "
                         "bloom_agg(key, n, p, 'redisbloom')", EXPORT, filter_value, "redisbloom")


if __name__ == "__main__":
    unittest.main()
