#!/usr/bin/env python3
"""Filters as large as users have them, which no other test is: tables whose chunks pass the memory
for copies, values of 50 MB, and one of nearly 10^9 bytes, which is the largest value of an SQLite
as it is shipped.

Every key is found: of a table by a join, a million once more, which are in all that the join kept,
and a sample by single queries; of a value, which is pinned, by a scan. Of other keys as many are
found as the rate allows: their number is binomial, and five standard deviations pass once in three
million runs. A connection reads that has not written.

It needs apsw, of any release from 3.40, 1 GB of memory (for the largest value 3 GB) and 300 MB of
disk.
"""
import math
import pathlib
import re
import struct
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests/runner"), str(TOP / "tests/documentation")]
import apsw  # noqa: E402
import extended  # noqa: E402
import pages  # noqa: E402
from extended import rows  # noqa: E402

MILLION = 1_000_000
# Key number x + MILLION * y; SQLite makes them in 50 ns.
NUMBERS = ("CREATE TEMP TABLE n(x INTEGER PRIMARY KEY); CREATE TEMP TABLE m(y INTEGER PRIMARY KEY);"
           "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c LIMIT 1000000)"
           " INSERT INTO temp.n SELECT i FROM c; INSERT INTO temp.m SELECT x FROM n LIMIT 64")
KEY = f"(m.y * {MILLION} + n.x)"
SINGLE = 20_000  # keys that are asked one by one
COPIES = 32 << 20  # bytes of memory


class Large(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "a.db"

    def connect(self):
        connection = extended.connect(self.path)
        rows(connection, NUMBERS)
        return connection

    def keys(self, millions):
        return f"m CROSS JOIN n WHERE m.y < {millions}"

    def assert_rate(self, found, asked, rate, least):
        """least: the share of the rate that is found at least, where the filter is full."""
        deviation = 5 * math.sqrt(asked * rate) + 1
        self.assertLessEqual(found, asked * rate + deviation)
        self.assertGreaterEqual(found, asked * rate * least - deviation)

    def read(self, millions, rate, least=0.0, asked=1):
        connection = self.connect()
        rows(connection, "PRAGMA mmap_size = 1000000000")  # pages are read without a call
        (size,), = rows(connection, "SELECT sum(length(data)) FROM t_data")
        self.assertGreater(size, COPIES)
        join = "SELECT count(*) FROM m CROSS JOIN n CROSS JOIN t ON t.key = {} WHERE m.y < {}"
        for wanted in (millions, 1):
            self.assertEqual(rows(connection, join.format(KEY, wanted)), [(wanted * MILLION,)])
        (found,), = rows(connection, join.format(f"-1 - {KEY}", asked))
        self.assert_rate(found, asked * MILLION, rate, least)
        step = millions * MILLION // SINGLE
        self.assertEqual(sum(len(rows(connection, "SELECT 1 FROM t WHERE key = ?", (key,)))
                             for key in range(0, millions * MILLION, step)), SINGLE)

    def make(self, options, page_size=4096, cache="-200000"):
        connection = self.connect()
        rows(connection, f"PRAGMA page_size = {page_size}; PRAGMA cache_size = {cache};"
             "PRAGMA journal_mode = off; PRAGMA synchronous = off;"
             f"CREATE VIRTUAL TABLE t USING bloom({options})")
        return connection

    def insert(self, connection, millions):
        rows(connection, f"INSERT INTO t(key) SELECT {KEY} FROM {self.keys(millions)}")

    def fill(self, options, millions, rate):
        """As many keys as it has room for: the first million as rows, the others as a value."""
        connection = self.make(f"capacity={millions * MILLION}, fpr={rate}, {options}")
        self.insert(connection, 1)
        rows(connection, "INSERT INTO t(t, key) SELECT 'merge', (SELECT bloom_agg("
             f"{KEY}, (SELECT bloom_pin(filter) FROM t)) FROM {self.keys(millions)} AND m.y > 0)")
        connection.close(True)
        self.read(millions, rate, 0.7, 3)


class Tables(Large):
    def test_full(self):
        self.fill("growth=off", 11, 1e-5)

    def test_full_and_counting(self):
        self.fill("growth=off, layout=counting", 5, 1e-3)

    def test_nearly_empty(self):
        """Without a cache, and with small and large pages."""
        for options in (("capacity=50000000", 4096, "-2000"), ("capacity=30000000", 512),
                        ("capacity=30000000", 65536)):
            with self.subTest(options=options):
                self.path.unlink(missing_ok=True)
                connection = self.make(*options)
                self.insert(connection, 1)
                connection.close(True)
                self.read(1, 0.01)

    def test_counting_in_large_pages(self):
        connection = self.make("capacity=10000000, layout=counting", 65536)
        self.insert(connection, 2)
        rows(connection, f"DELETE FROM t WHERE key IN (SELECT {KEY} "
             f"FROM {self.keys(2)} AND m.y = 1)")
        connection.close(True)
        self.read(1, 0.01)

    def test_generations(self):
        connection = self.make("capacity=15000000, generations=3")
        for y in range(3):
            rows(connection, f"INSERT INTO t(key) SELECT {KEY} FROM m CROSS JOIN n WHERE y = {y}")
            if y < 2:
                rows(connection, "INSERT INTO t(t) VALUES ('rotate')")
        connection.close(True)
        self.read(3, 0.01)

    def test_grown_from_a_tenth(self):
        self.insert(self.make("capacity=500000, fpr=0.000001"), 5)
        self.read(5, 1e-6)


class Values(Large):
    def check(self, options, millions, rate, asked=2):
        """options: the arguments of bloom_agg after the key."""
        connection = self.connect()
        made, = rows(connection, f"SELECT bloom_agg({KEY}, {options}) FROM {self.keys(millions)}")
        self.assertGreater(len(made[0]), 49 * MILLION)
        scan = f"SELECT sum(bloom_check((SELECT bloom_pin(?)), {{}})) FROM {self.keys('?')}"
        self.assertEqual(rows(connection, scan.format(KEY), (*made, millions)),
                         [(millions * MILLION,)])
        (found,), = rows(connection, scan.format(f"-1 - {KEY}"), (*made, asked))
        self.assert_rate(found, asked * MILLION, rate, 0.7)

    def test_nearly_full(self):
        """Of fuse more keys than its buckets grow with."""
        for options, millions, rate in (
                ("20500000, 1e-4", 20, 1e-4), ("NULL, 1e-8", 10, 1e-8),
                ("10500000, 1e-8, 'classic'", 10, 1e-8), ("10000000, 0.01, 'counting'", 10, 0.01),
                ("NULL, 0.001, 'fuse'", 36, 2 ** -10)):
            with self.subTest(options=options):
                self.check(options, millions, rate)

    def test_bitmap(self):
        """Every 64th number: what is asked is between them."""
        connection = self.connect()
        made, = rows(connection, f"SELECT bloom_agg({KEY} * 64, NULL, NULL, 'bitmap') FROM "
                     f"{self.keys(7)}")
        self.assertGreater(len(made[0]), 49 * MILLION)
        pinned = "(SELECT bloom_pin(?1))"
        self.assertEqual(rows(
            connection, f"SELECT sum(bloom_check({pinned}, 64 * {KEY})), sum(bloom_check({pinned}, "
            f"64 * {KEY} + 1)) FROM {self.keys(5)}", made), [(5 * MILLION, 0)])
        self.assertEqual(rows(connection, "SELECT count(*), min(key), max(key) FROM bloom_keys(?)",
                              made), [(7 * MILLION, 0, 64 * 7 * MILLION - 64)])

    def test_the_largest_is_imported_with_one_copy_beside_the_argument(self):
        """A file of DCSO's, about as large as that which CIRCL publishes."""
        memory = pathlib.Path("/proc/meminfo")
        if not memory.exists() or 3 << 20 > int(
                re.search(r"MemAvailable: +([0-9]+) kB", memory.read_text())[1]):
            self.skipTest("skipped: fewer than 3 GiB of memory are free, or it is not known")
        bits, key = 8 * 999_999_000 - 1000, b"DA39A3EE5E6B4B0D3255BFEF95601890AFD80709"
        data = bytearray(48 + (bits + 63) // 64 * 8)
        struct.pack_into("<QQdQQQ", data, 0, 1, 500_000_000, 1e-4, 14, bits, 1)
        for position in pages.dcso_bits(pages.words_of(5, b"", key), bits, 14):
            data[48 + position // 8] |= 1 << position % 8
        connection = extended.connect(self.path)
        apsw.memoryhighwater(True)
        self.assertEqual(rows(connection, "SELECT bloom_check(bloom_import(?, 'dcso'), ?)",
                              (data, key)), [(1,)])
        self.assertLess(apsw.memoryhighwater(), 2 * len(data) + (32 << 20))


if __name__ == "__main__":
    unittest.main(verbosity=2)
