#!/usr/bin/env python3
"""Measures the extension in SQL, against exact indexes.

    sql_bench.py LIBRARY BUILD

prints Markdown, of the SQLite that apsw has:

- building a set of ten million URLs: bloom_agg with and without n, and as fuse and classic,
  against CREATE UNIQUE INDEX; and the sizes of filter and index;
- a scan of two million visits, of which every tenth hits and whose order has nothing to do with
  that of the index: without a filter; with bloom_check against this filter, handed over in each of
  the ways that SQL has; and with IN and EXISTS on the index, which is in the page cache. The way in
  which SQLite copies the filter for every row is measured on the first 200 visits;
- URLs of 60 to 80 bytes with nine or ten keys each: bloom_check with key=url, a filter of as many
  keys as the URLhaus list has (6,000), always in cache, and one of 1,000,000, against the exact
  join of bloom_url_keys with the keys in a table WITHOUT ROWID.

The data are in the page cache of the connection. The exact side gets what helps it: no journal, no
waiting for the disk, temporary data in memory.
"""
import functools
import pathlib
import sys

import apsw

from report import open_database, print_table, section, url_of

VISITS, KEYS = 2_000_000, 10_000_000
FEW_VISITS = 200
URL_VISITS, URL_KEYS = 200_000, (6_000, 1_000_000)
ABSENT = 1 << 40
CACHE_KILOBYTES = 6_000_000
INDEX = "CREATE UNIQUE INDEX exact ON bad(url)"


def numbers(count):
    return (f"(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {count}) "
            "SELECT i FROM n)")


def pinned(name):
    return f"(SELECT bloom_pin(f) FROM filters WHERE name = '{name}')"


class Bench:
    def __init__(self, path, library):
        self.connection = open_database(
            path, library, journal_mode="OFF", synchronous="OFF",
            cache_size=-CACHE_KILOBYTES, temp_store="MEMORY", locking_mode="EXCLUSIVE")

    def run(self, sql, *bindings):
        return list(self.connection.cursor().execute(sql, bindings))

    def value(self, sql, *bindings):
        return (self.run(sql, *bindings) or [[None]])[0][0]

    def section(self, heading, rows, queries, found=None):
        """Queries, with bindings, by their names."""
        section(heading, rows, {f"`{name}`": functools.partial(self.value, *query)
                                for name, query in queries.items()}, found=found, unit="row")

    def make_tables(self):
        self.run("CREATE TABLE bad(url TEXT NOT NULL)")
        self.run(f"INSERT INTO bad SELECT {url_of('i')} FROM {numbers(KEYS)}")
        self.run("CREATE TABLE visits(id INTEGER PRIMARY KEY, url TEXT NOT NULL)")
        number = f"CASE WHEN i % 10 = 0 THEN i * 7919 % {KEYS} ELSE i + {ABSENT} END"
        self.run(f"INSERT INTO visits SELECT i, {url_of(number)} FROM {numbers(VISITS)}")
        self.run("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB)")

    def used_bytes(self):
        return self.value("PRAGMA page_size") * (
            self.value("PRAGMA page_count") - self.value("PRAGMA freelist_count"))

    def build(self):
        """Filter and index of the table bad; leaves both behind."""
        before = self.used_bytes()
        calls = (f"bloom_agg(url, {KEYS})", "bloom_agg(url)", "bloom_agg(url, NULL, 0.01, 'fuse')",
                 f"bloom_agg(url, {KEYS}, 0.01, 'classic')")
        self.section(f"Building, {KEYS:,} URLs", KEYS, {
            **{call: [f"SELECT length({call}) FROM bad"] for call in calls},
            "CREATE UNIQUE INDEX": [f"DROP INDEX IF EXISTS exact; {INDEX}"]})
        index_bytes = self.used_bytes() - before
        self.run(f"INSERT INTO filters SELECT 'same', {calls[0]} FROM bad")
        filter_bytes = self.value("SELECT length(f) FROM filters")
        print("\n## Bytes of filter (p = 1 %) and exact index")
        print_table(["URLs", "filter", "index", "index / filter"], [
            [*map("{:,}".format, (KEYS, filter_bytes, index_bytes)),
             f"{index_bytes / filter_bytes:.1f}"]])

    def scan(self):
        count = "SELECT count(*) FROM visits WHERE "
        stored, exact = "SELECT f FROM filters WHERE name = 'same'", "url IN (SELECT url FROM bad)"
        filtered = f"bloom_check({pinned('same')}, url)"
        self.section("A scan with nothing to check", VISITS, {"url = 'x'": [f"{count}url = 'x'"]})
        self.section(f"A scan against {KEYS:,} URLs, copied for every row", FEW_VISITS, {
            "bloom_check, (SELECT f ...)": [
                f"{count}bloom_check(({stored}), url) AND id < {FEW_VISITS}"]})
        self.section(f"A scan against {KEYS:,} URLs", VISITS, {
            "bloom_check, pinned": [count + filtered],
            "bloom_check, bound": [f"{count}bloom_check(?1, url)", self.value(stored)],
            "bloom_check, then IN: exact": [f"{count}{filtered} AND {exact}"],
            exact: [count + exact],
            "EXISTS": [f"{count}EXISTS (SELECT 1 FROM bad WHERE bad.url = visits.url)"]},
            found=VISITS // 10)

    def urls(self):
        """The look-up of visits under all keys of their URLs."""
        self.run(f"CREATE TABLE url_visits AS SELECT {url_of(f'i + {ABSENT}')} || "
                 f"substr('?id=7', 1, i % 2 * 5) AS url FROM {numbers(URL_VISITS)}")
        (keys, length), = self.run(
            "SELECT avg((SELECT count(*) FROM bloom_url_keys(url_visits.url))), avg(length(url)) "
            "FROM url_visits")
        base = "SELECT count(*) FROM url_visits WHERE "
        for listed in URL_KEYS:
            self.run("DROP TABLE IF EXISTS url_list;"
                     "CREATE TABLE url_list(key TEXT PRIMARY KEY) WITHOUT ROWID;"
                     f"INSERT INTO url_list SELECT bloom_url({url_of('i')}) FROM {numbers(listed)};"
                     "REPLACE INTO filters "
                     "SELECT 'urls', bloom_agg(key, NULL, 0.0001, 'key=url') FROM url_list")
            self.section(
                f"URLs of {length:.0f} bytes with {keys:.1f} keys, against {listed:,} keys",
                URL_VISITS, {
                    "bloom_check, key=url": [f"{base}bloom_check({pinned('urls')}, url)"],
                    "bloom_url": [f"{base}bloom_url(url) = ''"],
                    "exact join": [f"{base}EXISTS (SELECT 1 FROM bloom_url_keys(url_visits.url) u "
                                   "JOIN url_list USING (key))"]})


def main(library, build):
    path = pathlib.Path(build) / "sql.db"
    path.unlink(missing_ok=True)
    print(f"- SQLite: {apsw.sqlitelibversion()}, through apsw {apsw.apswversion()}")
    bench = Bench(path, library)
    bench.make_tables()
    bench.build()
    bench.scan()
    bench.urls()
    bench.connection.close()
    path.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
