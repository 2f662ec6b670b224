#!/usr/bin/env python3
"""No work has become slower than it was, in relation to other work of the same run: a gate, not a
measurement, which `make bench` makes. Each case has its turn in each round, in processor time, and
its least time counts. A bound is twice the ratio that was found when the gate was made (3.40, on an
AMD EPYC, beside five other programs on two processors), so that noise does not reach it.

Needs apsw; the rows are in memory.
"""
import os
import pathlib
import sys
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/runner"))
from extended import connect, rows  # noqa: E402

ROWS = int(os.environ.get("ROWS", "300000"))
ROUNDS = int(os.environ.get("ROUNDS", "7"))

CASES = {
    "scan": "SELECT count(*) FROM visits WHERE url > ''",
    "check": "SELECT count(*) FROM visits WHERE bloom_check(?1, url)",
    "check, pinned": "SELECT count(*) FROM visits"
                     " WHERE bloom_check((SELECT bloom_pin(f) FROM filters), url)",
    "join": "SELECT count(*) FROM visits CROSS JOIN seen ON key = url",
    "bloom_agg": "SELECT bloom_agg(url) FROM visits",
    "bloom_agg, n given": f"SELECT bloom_agg(url, {ROWS}) FROM visits",
    "merge": f"INSERT INTO flat(flat, key) SELECT 'merge', bloom_agg(url, {ROWS}, 0.01)"
             " FROM visits",
    "add_all": "INSERT INTO seen(seen, key) SELECT 'add_all', bloom_hashes(url) FROM visits",
    "INSERT ... SELECT": "INSERT INTO seen(key) SELECT url FROM visits"}
BOUNDS = [
    ("check", "scan", 4),
    ("check, pinned", "scan", 4.5),
    ("join", "scan", 18),
    ("bloom_agg", "scan", 5.5),
    ("bloom_agg, n given", "scan", 3.5),
    ("add_all", "merge", 4.5),
    ("add_all", "INSERT ... SELECT", 0.25)]


class Ratios(unittest.TestCase):
    def test_ratios(self):
        connection = connect()

        def run(sql, bindings=()):
            return rows(connection, sql, bindings)

        run(f"""
            CREATE TABLE visits(url TEXT);
            WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < {ROWS})
                INSERT INTO visits SELECT printf('https://www.example-%d.com/pages/%d', x % 999, x)
                FROM n;
            CREATE TABLE filters AS SELECT bloom_agg(url, {ROWS}) AS f FROM visits
                WHERE rowid % 10 = 0;
            CREATE VIRTUAL TABLE flat USING bloom(capacity={ROWS}, fpr=0.01, growth=off);
            CREATE VIRTUAL TABLE seen USING bloom(capacity={ROWS}, fpr=0.01)""")
        filter_, = run("SELECT f FROM filters")[0]
        times = {}
        for _ in range(ROUNDS):
            for name, sql in CASES.items():
                if "INSERT" in sql:
                    run("INSERT INTO seen(seen) VALUES ('clear')")
                started = time.process_time()
                run(sql, (filter_,) if "?" in sql else ())
                spent = time.process_time() - started
                times[name] = min(spent, times.get(name, spent))
        for name, other, most in BOUNDS:
            ratio = times[name] / times[other]
            print(f"figures: {name} takes {ratio:.2f} x {other}, at most {most}")
            with self.subTest(name=name, other=other):
                self.assertLessEqual(ratio, most)


if __name__ == "__main__":
    unittest.main()
