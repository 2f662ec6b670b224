#!/usr/bin/env python3
"""The false-positive rate of filter tables, measured: on average over tables it is at most `fpr`,
for any number of keys, however they come.

A series is many tables of one kind. Each gets other keys and is queried for keys that are absent.
The mean of the rates may exceed `fpr` by SIGMAS standard errors of that mean. The standard error
is the larger of two: one is computed from how the tables differ, the other is that of queries that
are answered by chance at the rate `fpr`. The keys are numbers, so every run measures the same.

    rates_test.py           run the tests; KEYS=100000 gives each series so many keys

PRINT=1 in the environment prints each mean and its standard error, both divided by `fpr`.
"""
import math
import os
import pathlib
import sqlite3
import unittest
import zlib

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
KEYS = int(os.environ.get("KEYS", "2000"))
SIGMAS = 4.5  # some 250 series are tried; one of 10^5 exceeds this by chance
CAPACITIES = (1, 2, 3, 10, 30, 100, 1000, 10000, 100000, 1000000)
RATES = (0.5, 0.1, 0.01, 0.001, 0.0001)
MULTIPLES = (1, 2, 7, 20)
TABLES_LEAST, TABLES_MOST = 4, 1000


def by_insert(database, first, count):
    database.execute("INSERT INTO t(key) SELECT n + ? FROM numbers WHERE n < ?", (first, count))


def by_ignore(database, first, count):
    database.execute("INSERT OR IGNORE INTO t(key) SELECT n + ? FROM numbers WHERE n < ?",
                     (first, count))


def by_add_all(database, first, count):
    database.execute("INSERT INTO t(t, key) SELECT 'add_all', bloom_hashes(n + ?) FROM numbers "
                     "WHERE n < ?", (first, count))


def by_parts(database, first, count):
    """A tenth of the keys at a time."""
    for start in range(0, count, max(1, count // 10)):
        by_add_all(database, first + start, min(max(1, count // 10), count - start))


def by_merge(database, first, count):
    """As many keys as one filter may have, then the others one at a time."""
    capacity = database.execute("SELECT json_extract(info, '$.capacity') FROM t").fetchone()[0]
    merged = min(count, capacity)
    try:
        database.execute(
            "INSERT INTO t(t, key) SELECT 'merge', bloom_agg(n + ?, "
            "(SELECT bloom_pin(filter) FROM t)) FROM numbers WHERE n < ?", (first, merged))
    except sqlite3.OperationalError as error:
        if "exceed" not in str(error) and "room" not in str(error):
            raise
        merged = 0
    by_insert(database, first + merged, count - merged)


WAYS = {"insert": by_insert, "ignore": by_ignore, "add_all": by_add_all, "parts": by_parts,
        "merge": by_merge}


class RatesTest(unittest.TestCase):
    def setUp(self):
        self.first = zlib.crc32(self.id().encode()) << 30  # each test has keys of its own

    def open(self, page_size, most):
        database = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(database.close)
        database.enable_load_extension(True)
        database.load_extension(str(TOP / "bloom"))
        database.execute(f"PRAGMA page_size = {page_size}")
        database.execute("CREATE TABLE numbers(n INTEGER PRIMARY KEY)")
        database.execute("WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c "
                         "WHERE n < ? - 1) INSERT INTO numbers SELECT n FROM c", (most,))
        return database

    def measure(self, capacity, fpr, multiple, way="insert", generations=1, layout="blocked",
                page_size=4096, growth="on", keys=KEYS):
        """The mean rate of the tables of a series, and its standard error."""
        count = capacity * multiple
        tables = min(max(keys // (count * generations), TABLES_LEAST), TABLES_MOST)
        queries = max(keys * 4 // tables, 200)
        database = self.open(page_size, max(count, queries))
        options = f"capacity={capacity}, fpr={fpr}, layout={layout}, growth={growth}"
        if generations > 1:
            options += f", generations={generations}"
        database.execute(f"CREATE VIRTUAL TABLE t USING bloom({options})")
        rates = []
        for _ in range(tables):
            database.execute("BEGIN")
            database.execute("INSERT INTO t(t) VALUES ('clear')")
            for generation in range(generations):
                if generation > 0:
                    database.execute("INSERT INTO t(t) VALUES ('rotate')")
                WAYS[way](database, self.first, count)
                self.first += count
            database.execute("COMMIT")
            found = database.execute("SELECT count(*) FROM numbers CROSS JOIN t ON key = -1 - n - ?"
                                     " WHERE n < ?", (self.first, queries)).fetchone()[0]
            self.first += queries
            rates.append(found / queries)
        mean = sum(rates) / tables
        variance = sum((rate - mean) ** 2 for rate in rates) / (tables - 1)
        chance = fpr * (1 - fpr) / queries
        return mean, math.sqrt(max(variance, chance) / tables)

    def check(self, *kind, **settings):
        mean, error = self.measure(*kind, **settings)
        if "PRINT" in os.environ:
            print(f"{mean / kind[1]:6.3f} +- {error / kind[1]:.3f}  {kind} {settings}", flush=True)
        with self.subTest(kind=kind, **settings):
            self.assertLessEqual(mean, kind[1] + SIGMAS * error)

    def kinds(self):
        """Every fifth of all capacities, rates and multiples, begun elsewhere in each test."""
        kinds = [(capacity, fpr, multiple) for capacity in CAPACITIES for fpr in RATES
                 for multiple in MULTIPLES if capacity * multiple <= 4 * KEYS]
        return kinds[zlib.crc32(self.id().encode()) % 5::5]

    def test_plain(self):
        for kind in self.kinds():
            self.check(*kind)

    def test_add_all(self):
        for kind in self.kinds():
            self.check(*kind, way="add_all")

    def test_others(self):
        for number, kind in enumerate(self.kinds()):
            self.check(*kind, way=("ignore", "parts", "merge")[number % 3])

    def test_counting(self):
        for number, kind in enumerate(self.kinds()):
            self.check(*kind, way=("insert", "add_all")[number % 2], layout="counting")

    def test_generations(self):
        for number, kind in enumerate(self.kinds()):
            self.check(*kind, way=("insert", "add_all", "ignore")[number % 3],
                       generations=(2, 3, 7)[number % 3])

    def test_pages_of_other_sizes(self):
        for number, kind in enumerate(self.kinds()):
            self.check(*kind, way=("insert", "add_all", "merge")[number % 3],
                       page_size=(512, 65536)[number % 2])

    def test_a_table_that_does_not_grow_has_the_rate_of_its_size(self):
        """So the test can tell. 1000 keys at 0.01 have 20 blocks and 6 probes. A block gets a
        binomial number j of the keys. Each of its 512 bits is set unless all 6 * j probes miss it,
        and an absent key is found if its own 6 probes meet set bits. The rate is below 0.01
        because the number of blocks is a whole number. With twice as many keys it is above."""
        for multiple in (1, 2):
            keys = 1000 * multiple
            expected = sum(math.comb(keys, j) * 19**(keys - j) / 20**keys *
                           (1 - (511 / 512)**(6 * j))**6 for j in range(keys + 1))
            mean, error = self.measure(1000, 0.01, multiple, growth="off", keys=50000)
            self.assertLessEqual(abs(mean - expected), SIGMAS * error)
            self.assertEqual(expected > 0.01, multiple == 2)


if __name__ == "__main__":
    unittest.main()
