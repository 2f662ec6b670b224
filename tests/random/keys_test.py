#!/usr/bin/env python3
"""bloom_keys answers as a plain table of the same numbers does, whatever the query: random filters,
conditions with AND, OR and NOT, joins, orders and limits; the filter as a BLOB, pinned, bound, from
a column.

    keys_test.py Here      with apsw as it is installed
    keys_test.py Newest    with the apsw of PyPI, which brings SQLite's latest release

SEED and QUERIES in the environment choose the run.
"""

import os
import pathlib
import random
import subprocess
import sys
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = next((str(TOP / name) for name in ("bloom.so", "bloom.dylib", "bloom.dll")
                if (TOP / name).exists()), "bloom")
SEED = int(os.environ.get("SEED", "1"))
QUERIES = int(os.environ.get("QUERIES", "4000"))

# Sources of keys, and what stands in their place to ask the plain table.
SOURCES = (
    "bloom_keys((SELECT f FROM filters WHERE id = {id}))",
    "bloom_keys((SELECT bloom_pin(f) FROM filters WHERE id = {id}))",
    "bloom_keys(?{id})",
)
PLAIN = "(SELECT key FROM plain WHERE id = {id})"
FILTERS = 3


def connect():
    connection = apsw.Connection(":memory:")
    for names, value in ((("enable_load_extension", "enableloadextension"), True),
                         (("load_extension", "loadextension"), LIBRARY)):
        next(getattr(connection, name) for name in names if hasattr(connection, name))(value)
    return connection


class Here(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.connection = connect()
        self.run_sql("CREATE TABLE filters(id INTEGER PRIMARY KEY, f BLOB);"
                     "CREATE TABLE plain(id INTEGER, key INTEGER);"
                     "CREATE TABLE outside(k, x);"
                     "CREATE INDEX by_k ON outside(k)")

    def run_sql(self, sql, bindings=()):
        return list(self.connection.cursor().execute(sql, bindings))

    def fresh(self):
        """Other filters, other rows to join with."""
        self.run_sql("DELETE FROM filters; DELETE FROM plain; DELETE FROM outside")
        for filter_id in range(1, FILTERS + 1):
            room = self.random.choice((1, 9, 64, 300, 2000))
            share = self.random.choice((0, 0.01, 0.3, 1))
            numbers = [key for key in range(room) if self.random.random() < share]
            for key in numbers:
                self.run_sql("INSERT INTO plain VALUES (?, ?)", (filter_id, key))
            self.run_sql("INSERT INTO filters SELECT ?1, coalesce(bloom_agg(key, ?2, NULL,"
                         " 'bitmap'), bloom_new(?2, NULL, 'bitmap')) FROM plain WHERE id = ?1",
                         (filter_id, room))
        for _ in range(self.random.randrange(8)):
            self.run_sql(f"INSERT INTO outside VALUES ({self.constant()}, {self.constant()})")
        self.bound = [f for f, in self.run_sql("SELECT f FROM filters ORDER BY id")]

    def constant(self):
        number = self.random.choice((self.random.randrange(20), self.random.randrange(2000)))
        return self.random.choice((
            str(number), str(number), str(number), f"{number}.0", f"{number}.5", f"-{number}",
            f"'{number}'", f"'{number}x'", "NULL", "1e300", "x'31'", "9223372036854775807",
        ))

    def atom(self, key, outer):
        other = self.random.choice(outer) if outer and self.random.random() < 0.5 else (
            self.constant())
        return self.random.choice((
            f"{key} = {other}", f"{key} > {other}", f"{key} >= {other}", f"{key} < {other}",
            f"{key} <= {other}", f"{key} IS {other}", f"{other} > {key}",
            f"{key} BETWEEN {other} AND {self.constant()}",
            f"{key} IN ({other}, {self.constant()}, {self.constant()})",
            f"{key} % 3 = 1",
        ))

    def condition(self, key, outer, depth=2):
        if depth == 0 or self.random.random() < 0.3:
            return self.atom(key, outer)
        one, two = (self.condition(key, outer, depth - 1) for _ in range(2))
        return self.random.choice((f"({one} AND {two})", f"({one} OR {two})", f"({one} OR {two})",
                                   f"NOT ({one} AND {two})"))

    def source(self):
        """Both texts of a source."""
        filter_id = self.random.randrange(1, FILTERS + 1)
        return [text.format(id=filter_id) for text in (self.random.choice(SOURCES), PLAIN)]

    def query(self):
        """A query with holes for two sources of keys, and whether its rows have an order."""
        where = self.condition("a.key", ())
        joined = self.condition("a.key", ("t.k", "t.x", "t.k + 1"))
        both = self.condition("a.key", ("b.key", "b.key + 1", "t.k"))
        order = self.random.choice(("", "DESC"))
        limit = self.random.choice(
            ("", f"LIMIT {self.random.randrange(5)}",
             f"LIMIT {self.random.randrange(9)} OFFSET {self.random.randrange(9)}"))
        return self.random.choice((
            (f"SELECT a.key FROM {{0}} a WHERE {where}", False),
            (f"SELECT a.key FROM {{0}} a WHERE {where} ORDER BY a.key {order} {limit}", True),
            (f"SELECT a.key FROM {{0}} a WHERE {where} ORDER BY a.key {order} {limit}", True),
            (f"SELECT count(*), min(a.key), max(a.key), sum(a.key) FROM {{0}} a WHERE {where}",
             False),
            (f"SELECT t.k, t.x, a.key FROM outside t JOIN {{0}} a ON {joined}", False),
            (f"SELECT t.k, a.key FROM {{0}} a, outside t WHERE {joined} AND {where}", False),
            (f"SELECT t.k, a.key FROM outside t LEFT JOIN {{0}} a ON {joined}", False),
            (f"SELECT t.k, a.key FROM outside t LEFT JOIN {{0}} a ON {joined} WHERE {where}",
             False),
            (f"SELECT count(*), sum(a.key), sum(b.key) FROM {{0}} a JOIN {{1}} b ON"
             f" b.key < 9 AND ({both}), outside t", False),
            (f"SELECT k FROM outside t WHERE EXISTS (SELECT 1 FROM {{0}} a WHERE {joined})", False),
            (f"SELECT k FROM outside t WHERE k IN (SELECT a.key FROM {{0}} a WHERE {where})",
             False),
            (f"SELECT k, (SELECT a.key FROM {{0}} a WHERE {joined} ORDER BY a.key {order} LIMIT 1)"
             " FROM outside t", False),
        ))

    def compare(self, sql, plain, ordered):
        bindings = self.bound if "?" in sql else ()
        if bindings:  # a query takes as many as its highest parameter
            bindings = bindings[:max(n for n in range(1, FILTERS + 1) if f"?{n}" in sql)]
        rows, wanted = self.run_sql(sql, bindings), self.run_sql(plain)
        if not ordered:
            rows.sort(key=repr)
            wanted.sort(key=repr)
        self.assertEqual(rows, wanted, f"\n{sql}\nSEED={SEED}, SQLite {self.version()}")
        return len(rows)

    def version(self):
        return self.run_sql("SELECT sqlite_version()")[0][0]

    def test_as_a_plain_table(self):
        found = 0
        for number in range(QUERIES):
            if number % 50 == 0:
                self.fresh()
            sql, ordered = self.query()
            one, other = self.source(), self.source()
            found += self.compare(sql.format(one[0], other[0]), sql.format(one[1], other[1]),
                                  ordered)
        self.assertGreater(found, QUERIES)

    def test_several_filters_with_or_and_of_each_row(self):
        """The filter comes from a column, or from each branch of an OR."""
        found = 0
        for number in range(QUERIES // 4):
            if number % 50 == 0:
                self.fresh()
            one, other = self.condition("key", ()), self.condition("key", ())
            pin = self.random.choice(("f", "bloom_pin(f)"))
            found += self.compare(
                f"SELECT s.id, key FROM filters s, bloom_keys(s.f) WHERE {one}",
                f"SELECT id, key FROM plain WHERE {one}", False)
            found += self.compare(
                f"SELECT key FROM bloom_keys"
                f" WHERE filter = (SELECT {pin} FROM filters WHERE id = 1) AND ({one})"
                f" OR filter = (SELECT {pin} FROM filters WHERE id = 2) AND ({other})",
                f"SELECT key FROM plain WHERE id = 1 AND ({one})"
                f" UNION ALL SELECT key FROM plain WHERE id = 2 AND ({other})", False)
        self.assertGreater(found, QUERIES)

    def test_no_plan_asks_for_each_branch_of_an_or(self):
        self.fresh()
        for _ in range(QUERIES // 10):
            sql = self.query()[0].format(SOURCES[1].format(id=1), SOURCES[1].format(id=2))
            for row in self.run_sql("EXPLAIN QUERY PLAN " + sql):
                self.assertNotIn("MULTI-INDEX OR", row[3], sql)


    def test_nothing_is_left_to_filter_or_sort(self):
        for end in ("WHERE key > 5 ORDER BY key", "WHERE key BETWEEN 3 AND 9 ORDER BY key DESC",
                    "WHERE key = 7", "WHERE key < 5 AND key >= 2", "ORDER BY key"):
            sql = f"SELECT key FROM bloom_keys(bloom_new(20, NULL, 'bitmap')) {end}"
            codes = [row[1] for row in self.run_sql("EXPLAIN " + sql)]
            self.assertIn("VFilter", codes)
            for code in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "SorterOpen"):
                self.assertNotIn(code, codes, end)


class Newest(unittest.TestCase):
    def test_with_the_apsw_of_pypi(self):
        folder = TOP / "build" / "apsw"
        python = folder / "bin" / "python"
        try:
            if not python.exists():
                subprocess.run([sys.executable, "-m", "venv", folder], check=True,
                               capture_output=True)
            subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                            "apsw"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise unittest.SkipTest(f"skipped: apsw cannot be installed from PyPI: {error}")
        run = subprocess.run([python, __file__, "Here"], capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stderr[-4000:])


if __name__ == "__main__":
    unittest.main()
