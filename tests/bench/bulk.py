#!/usr/bin/env python3
"""The ways to get many rows into a filter table, beside an ordinary table.

    bulk.py LIBRARY

prints Markdown: nanoseconds a row, and the ratio to INSERT ... SELECT. The rows are URLs of 60 to
80 bytes in a database in a file, cached; each way begins with an empty table of the right
capacity, in one transaction. The ways take turns; medians of processor time of this thread, the
ratios those within one turn.
"""
import pathlib
import statistics
import sys
import tempfile
import time

from report import open_database, table, thousands, url_of

ROWS, TURNS = 1_000_000, 5
FILTER = f"CREATE VIRTUAL TABLE t USING bloom(capacity={ROWS}, growth=off)"
WAYS = [
    ("`INSERT INTO t(key) SELECT url`", FILTER, "INSERT INTO t(key) SELECT url FROM urls"),
    ("`'add_all', bloom_hashes(url)`", FILTER,
     "INSERT INTO t(t, key) SELECT 'add_all', bloom_hashes(url) FROM urls"),
    ("`'merge', bloom_agg(url, n, p)`", FILTER,
     f"INSERT INTO t(t, key) SELECT 'merge', bloom_agg(url, {ROWS}, 0.01) FROM urls"),
    ("a table WITHOUT ROWID", "CREATE TABLE t(key TEXT PRIMARY KEY) WITHOUT ROWID",
     "INSERT INTO t SELECT url FROM urls")]


def run(database, make, fill):
    cursor = database.cursor()
    cursor.execute(make)
    started = time.thread_time()
    cursor.execute("BEGIN")
    cursor.execute(fill)
    cursor.execute("COMMIT")
    taken = time.thread_time() - started
    cursor.execute("DROP TABLE t")
    return taken * 1e9 / ROWS


def main(library):
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(pathlib.Path(folder, "bulk.db"), library,
                                 cache_size=-1_000_000, journal_mode="WAL")
        database.cursor().execute(
            "CREATE TABLE urls(url TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
            f"FROM n WHERE i < {ROWS}) INSERT INTO urls SELECT {url_of('i')} FROM n")
        turns = [[run(database, make, fill) for _, make, fill in WAYS] for _ in range(TURNS)]
        database.close()
    print(f"\n{thousands(ROWS)} rows, {TURNS} turns:\n")
    print("\n".join(table(["way", "ns a row", "ratio"], [
        (name, thousands(round(statistics.median(turn[i] for turn in turns))),
         f"{statistics.median(turn[i] / turn[0] for turn in turns):.2f}")
        for i, (name, _, _) in enumerate(WAYS)])))


if __name__ == "__main__":
    main(*sys.argv[1:])
