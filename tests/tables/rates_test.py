#!/usr/bin/env python3
"""The false-positive rate of filter tables, measured: on average over tables it is at most `fpr`,
for any number of keys, however they come. That of values, too, which have a fixed number of keys.

A series is many tables of one kind. Each gets other keys and is queried for keys that are absent.
The mean of the rates may exceed `fpr` by SIGMAS standard errors of that mean. The standard error
is the larger of two: one is computed from how the tables differ, the other is that of queries that
are answered by chance at the rate `fpr`. The keys are numbers, so every run measures the same.

    rates_test.py           run the tests; KEYS=100000 gives each series that many keys
"""
import itertools
import json
import math
import os
import pathlib
import sqlite3
import unittest
import zlib

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
KEYS = int(os.environ.get("KEYS", "2000"))
SIGMAS = 4.5  # some 100 series are tried; one of 10^5 exceeds this by chance
CAPACITIES = (1, 2, 3, 10, 30, 100, 1000, 10000, 100000, 1000000)
RATES = (0.5, 0.1, 0.01, 0.001, 0.0001)
MULTIPLES = (1, 2, 7, 20)
TABLES_LEAST, TABLES_MOST = 4, 1000

# How the keys from ?1 on, ?2 in number, get into the table t.
WAYS = {
    "insert": "INSERT INTO t(key) SELECT n + ?1 FROM numbers WHERE n < ?2",
    "ignore": "INSERT OR IGNORE INTO t(key) SELECT n + ?1 FROM numbers WHERE n < ?2",
    "merge": "INSERT INTO t(t, key) SELECT 'merge', bloom_agg(n + ?1,"
             " (SELECT bloom_pin(filter) FROM t)) FROM numbers WHERE n < ?2"}


def fill(database, way, first, count, capacity):
    """By merge: as many keys as one filter may have, then the others one at a time."""
    done = 0
    if way == "merge":
        way, done = "insert", min(count, capacity)
        try:
            database.execute(WAYS["merge"], (first, done))
        except sqlite3.OperationalError as error:
            if "false-positive rate" not in str(error):
                raise
            done = 0
    database.execute(WAYS[way], (first + done, count - done))


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
                fill(database, way, self.first, count, capacity)
                self.first += count
            database.execute("COMMIT")
            found = database.execute("SELECT count(*) FROM numbers CROSS JOIN t ON key = -1 - n - ?"
                                     " WHERE n < ?", (self.first, queries)).fetchone()[0]
            self.first += queries
            rates.append(found / queries)
        return self.mean(rates, fpr, queries)

    def mean(self, rates, fpr, queries):
        mean = sum(rates) / len(rates)
        variance = sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1)
        chance = fpr * (1 - fpr) / queries
        return mean, math.sqrt(max(variance, chance) / len(rates))

    def measure_values(self, database, layout, count, fpr):
        filters, queries = (KEYS // 50, 10000) if count < 10**5 else (2, 200000)
        rates = []
        for _ in range(filters):
            rates.append(database.execute(
                "SELECT avg(bloom_check((SELECT bloom_pin(bloom_agg(n + ?1, ?2, ?3, ?4)) FROM"
                " numbers WHERE n < ?5), -1 - n - ?1)) FROM numbers"
                " WHERE n < ?6", (self.first, None if layout == "fuse" else count, fpr, layout,
                                  count, queries)).fetchone()[0])
            self.first += max(count, queries)
        return self.mean(rates, fpr, queries)

    def check(self, *kind, **settings):
        mean, error = self.measure(*kind, **settings)
        with self.subTest(kind=kind, **settings):
            self.assertLessEqual(mean, kind[1] + SIGMAS * error)

    def kinds(self):
        """Every sixth of all capacities, rates and multiples, begun elsewhere in each test."""
        kinds = [(capacity, fpr, multiple) for capacity in CAPACITIES for fpr in RATES
                 for multiple in MULTIPLES if capacity * multiple <= 4 * KEYS]
        return kinds[zlib.crc32(self.id().encode()) % 6::6]

    def check_kinds(self, *settings):
        """These settings by turns."""
        for number, kind in enumerate(self.kinds()):
            self.check(*kind, **settings[number % len(settings)])

    def test_ways(self):
        self.check_kinds(*({"way": way} for way in WAYS))

    def test_counting(self):
        self.check_kinds({"layout": "counting"})

    def test_generations(self):
        self.check_kinds({"generations": 2}, {"generations": 3},
                         {"generations": 7, "way": "ignore"})

    def test_pages_of_other_sizes(self):
        self.check_kinds({"page_size": 512}, {"page_size": 65536},
                         {"page_size": 512, "way": "merge"})

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

    def test_values(self):
        """At most the rate that was asked for, and nearly that with many keys, so filters are not
        simply too large. Fuse has a rate of 2^-w for any number of keys. Classic has the size that
        Guava gives it, and the rate of the textbook."""
        database = self.open(4096, 200000)
        counts, rates = (1, 2, 3, 10, 100, 1000, 10**5), (0.5, 0.125, 2**-7, 2**-10)
        for count, fpr in itertools.product(counts, rates):
            for layout in ("blocked", "fuse", "classic") if count == 10**5 else ("blocked", "fuse"):
                expected, least = fpr, fpr if layout == "fuse" else 0.95 * fpr * (count == 10**5)
                if layout == "classic":
                    bits, hashes = json.loads(database.execute(
                        "SELECT json_extract(bloom_info(bloom_new(?, ?, 'classic')), '$.bits',"
                        " '$.hashes')", (count, fpr)).fetchone()[0])
                    expected = least = (-math.expm1(-hashes * count / bits))**hashes
                mean, error = self.measure_values(database, layout, count, fpr)
                with self.subTest(layout=layout, count=count, fpr=fpr):
                    self.assertLessEqual(mean, expected + SIGMAS * error)
                    self.assertGreaterEqual(mean, least - SIGMAS * error)


if __name__ == "__main__":
    unittest.main()
