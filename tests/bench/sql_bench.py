#!/usr/bin/env python3
"""Measures the extension in SQL, against a function that only reads its arguments and against exact
indexes.

    sql_bench.py [--label NAME] [--full] [--visits N] [--keys N] [--library FILE] [--build FOLDER]
    [--results FOLDER]

It writes sql-NAME.md and sql-NAME.csv into the results; NAME is the version of SQLite when left
out. Needs apsw: the one of the system, or the newest of PyPI through PYTHONPATH, for a newer
SQLite. What it measures:

- a scan of the visits (2,000,000) with bloom_check against a filter of ten million keys, handed
  over in each of the ways that SQL has, and read_arguments with the same arguments; with a filter
  that is always in cache, which tells what of bloom_check is the hash and the call; and with
  read_line, which adds nothing but one access to memory. The ways in which an old SQLite copies the
  filter for every row are measured on the first 200 visits;
- the same scan with a filter of as many keys as an exact index holds (2,000,000), against IN and
  EXISTS on that index, which is in the page cache; the order of visits has nothing to do with that
  of the index, and every tenth hits;
- building: bloom_agg with and without n, and as fuse, against CREATE UNIQUE INDEX and
  count(DISTINCT); and the sizes of filter and index. --full repeats this and the scan above with
  ten million keys;
- 100,000 groups of 20 keys: bloom_agg against group_concat and count(DISTINCT);
- URLs of 60 to 80 bytes with nine or ten keys each: bloom_check with key=url, a filter of as many
  keys as the URLhaus list has (6,000), always in cache, and one of 1,000,000, against the exact
  join of bloom_url_keys with the keys in a table WITHOUT ROWID.

The cases of a section take turns; a time is the median of up to seven turns (fewer for cases that
take long), and is processor time: the data are in the page cache of the connection, and what other
programs do meanwhile does not count. The exact side gets what helps it: no journal, no waiting for
the disk, temporary data in memory.
"""

import argparse
import pathlib
import statistics
import time

import apsw

from report import machine_state, open_database, table, thousands, write_csv, write_lines

TURNS = 7
SECONDS_ENOUGH = 20       # for one case; it runs at least once
FILTER_KEYS = 10_000_000
CACHED_KEYS = 1000
FEW_VISITS = 200
SLOW_SECONDS_PER_ROW = 1e-4
GROUPS = 100_000
URL_KEYS = (6_000, 1_000_000)
GROUP_KEYS = 20
ABSENT = 1 << 40
CACHE_KILOBYTES = 6_000_000


class Bench:
    def __init__(self, options):
        self.options = options
        self.sections, self.marks, self.bounds, self.sizes = [], [], [], []
        self.path = pathlib.Path(options.build) / "sql.db"
        self.path.unlink(missing_ok=True)
        self.connection = open_database(
            self.path, options.library, options.build, journal_mode="OFF", synchronous="OFF",
            cache_size=-CACHE_KILOBYTES, temp_store="MEMORY", locking_mode="EXCLUSIVE")

    def run(self, sql, bindings=()):
        return list(self.connection.cursor().execute(sql, bindings))

    def value(self, sql, bindings=()):
        return self.run(sql, bindings)[0][0]

    def section(self, heading, rows, cases, turns=TURNS):
        """Runs cases, (name, SQL, bindings, SQL that undoes it or None), in turns. Returns their
        medians and results."""
        times = {name: [] for name, *_ in cases}
        results = {}
        for turn in range(turns):
            for place in range(len(cases)):
                name, sql, bindings, undo = cases[(place + turn) % len(cases)]
                if sum(times[name]) > SECONDS_ENOUGH:
                    continue
                start = time.process_time()
                result = self.run(sql, bindings)
                times[name].append(time.process_time() - start)
                results[name] = result[0][0] if result else None
                if undo:
                    self.run(undo)
        medians = {name: statistics.median(taken) for name, taken in times.items()}
        self.sections.append(
            (heading, rows, medians, {name: len(taken) for name, taken in times.items()}))
        print(
            f"{heading}:",
            ", ".join(f"{name} {seconds:.3f} s" for name, seconds in medians.items()),
            flush=True)
        return medians, results

    def mark(self, text, limit, value, at_least=False):
        holds = value >= limit if at_least else value <= limit
        self.marks.append([text, f"at {'least' if at_least else 'most'} {limit:g}", f"{value:.2f}",
                           "yes" if holds else "**no**"])

    def count_from(self, count):
        return (
            f"(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {count}) SELECT"
            " i FROM n)")

    def make_tables(self):
        visits, keys = self.options.visits, self.options.keys
        self.run("CREATE TABLE bad(url TEXT NOT NULL)")
        self.run(f"INSERT INTO bad SELECT bench_url(i) FROM {self.count_from(keys)}")
        self.run("CREATE TABLE visits(id INTEGER PRIMARY KEY, url TEXT NOT NULL)")
        number = f"CASE WHEN i % 10 = 0 THEN i * 7919 % {keys} ELSE i + {ABSENT} END"
        self.run(f"INSERT INTO visits SELECT i, bench_url({number}) FROM {self.count_from(visits)}")
        self.run("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB)")
        self.run(f"INSERT INTO filters SELECT 'large', bloom_agg(bench_url(i), {FILTER_KEYS}) "
                 f"FROM {self.count_from(FILTER_KEYS)}")
        self.run(
            f"INSERT INTO filters SELECT 'cached', bloom_agg(url, {CACHED_KEYS}) FROM bad WHERE"
            f" rowid <= {CACHED_KEYS}")

    def scan(self):
        """The cost of bloom_check itself, for each way in which the filter may arrive."""
        visits = self.options.visits
        large, cached = (
            self.value(f"SELECT f FROM filters WHERE name = '{name}'")
            for name in ("large", "cached"))
        self.section("A scan with nothing to check", visits,
                     [("url = 'x'", "SELECT count(*) FROM visits WHERE url = 'x'", (), None)])
        for way, copied, argument, tables, bindings, cached_bindings in (
            ("bound, ?1", False, "?1", "visits", (large,), (cached,)),
            (
                "pinned, (SELECT bloom_pin(f) ...)",
                False,
                "(SELECT bloom_pin(f) FROM filters WHERE name = 'large')",
                "visits",
                (),
                ()),
            (
                "scalar subquery, (SELECT f ...)",
                True,
                "(SELECT f FROM filters WHERE name = 'large')",
                "visits",
                (),
                ()),
            ("join, FROM filters, visits", True, "f", "filters CROSS JOIN visits", (), ()),
        ):
            where = "name = 'large' AND " if "JOIN" in tables else ""
            sql = f"SELECT count(*) FROM {tables} WHERE {where}{{}}({argument}, url) AND id < {{}}"
            start = time.process_time()
            self.run(sql.format("read_arguments", FEW_VISITS), bindings)
            slow = (time.process_time() - start) / FEW_VISITS > SLOW_SECONDS_PER_ROW
            rows = FEW_VISITS if copied and slow else visits
            cases = [
                (name, sql.format(name, rows), bindings, None)
                for name in ("read_arguments", "bloom_check")]
            if not copied:
                small = sql.format("bloom_check", rows).replace("'large'", "'cached'")
                cases.append(
                    (f"bloom_check, {thousands(CACHED_KEYS)} keys", small, cached_bindings, None))
                cases.append(
                    (
                        "read_line, bound",
                        f"SELECT count(*) FROM visits WHERE read_line(?1, url) AND id < {rows}",
                        (large,),
                        None))
            medians, results = self.section(
                f"Filter of {thousands(FILTER_KEYS)} keys ({len(large) / 1e6:.1f} MB): {way}",
                rows, cases)
            assert results["read_arguments"] == 0 and results["bloom_check"] >= rows // 10
            if not copied:
                self.mark(f"bloom_check / read_arguments, 10 M keys, {way}", 1.3,
                          medians["bloom_check"] / medians["read_arguments"])
                self.bounds.append(
                    [
                        f"10 M keys, {way}",
                        f"{medians['read_line, bound'] / medians['read_arguments']:.2f}",
                        f"{medians['bloom_check'] / medians['read_line, bound']:.2f}"])

    def build(self, keys):
        """Filter and index of the table bad; leaves both behind."""
        size = thousands(keys)
        medians, _ = self.section(
            f"Building, {size} URLs",
            keys,
            [
                (
                    f"bloom_agg(url, {keys})",
                    f"SELECT length(bloom_agg(url, {keys})) FROM bad",
                    (),
                    None),
                ("bloom_agg(url)", "SELECT length(bloom_agg(url)) FROM bad", (), None),
                (
                    "bloom_agg(url, NULL, 0.01, 'fuse')",
                    "SELECT length(bloom_agg(url, NULL, 0.01, 'fuse')) FROM bad",
                    (),
                    None),
                (
                    f"bloom_agg(url, {keys}, 0.01, 'classic')",
                    f"SELECT length(bloom_agg(url, {keys}, 0.01, 'classic')) FROM bad",
                    (),
                    None),
                (
                    "CREATE UNIQUE INDEX",
                    "CREATE UNIQUE INDEX exact ON bad(url)",
                    (),
                    "DROP INDEX exact"),
                ("count(DISTINCT url)", "SELECT count(DISTINCT url) FROM bad", (), None)])
        given, found, fuse, _, index, _ = medians.values()
        self.mark(
            f"CREATE UNIQUE INDEX / bloom_agg(url, n), {size} URLs",
            10 if keys >= 10_000_000 else 8,
            index / given, at_least=True)
        self.mark(f"bloom_agg(url) / bloom_agg(url, n), {size} URLs", 1.5, found / given)
        self.mark(f"fuse / bloom_agg(url, n), {size} URLs", 2.0, fuse / given)
        page_size = self.value("PRAGMA page_size")
        free = self.value("PRAGMA freelist_count")
        pages = self.value("PRAGMA page_count")
        self.run("CREATE UNIQUE INDEX exact ON bad(url)")
        index_bytes = page_size * (
            self.value("PRAGMA page_count") - pages + free - self.value("PRAGMA freelist_count"))
        self.run(f"REPLACE INTO filters SELECT 'same', bloom_agg(url, {keys}) FROM bad")
        filter_bytes = self.value("SELECT length(f) FROM filters WHERE name = 'same'")
        self.sizes.append(
            [
                size,
                thousands(filter_bytes),
                thousands(index_bytes),
                f"{index_bytes / filter_bytes:.1f}"])
        self.mark(
            f"index / filter, bytes, {size} URLs", 40, index_bytes / filter_bytes, at_least=True)

    def against_index(self, keys):
        visits = self.options.visits
        filtered = "bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'same'), url)"
        count = "SELECT count(*) FROM visits WHERE "
        medians, results = self.section(
            f"A scan against {thousands(keys)} URLs",
            visits,
            [
                ("bloom_check, pinned", count + filtered, (), None),
                (
                    "bloom_check, then IN: exact",
                    f"{count}{filtered} AND url IN (SELECT url FROM bad)",
                    (),
                    None),
                ("url IN (SELECT url FROM bad)", f"{count}url IN (SELECT url FROM bad)", (), None),
                (
                    "EXISTS",
                    f"{count}EXISTS (SELECT 1 FROM bad WHERE bad.url = visits.url)",
                    (),
                    None)])
        probably, both, exact, exists = results.values()
        assert both == exact == exists == (visits + 9) // 10, results
        assert 0 <= probably - exact <= 0.011 * (visits - exact) + 50, results
        bloom, _, index, _ = medians.values()
        self.mark(
            f"IN on the exact index / bloom_check, {thousands(keys)} URLs",
            5, index / bloom, at_least=True)

    def groups(self):
        self.run(
            "CREATE TABLE reads(reader INTEGER, item INTEGER, PRIMARY KEY (reader, item)) WITHOUT"
            " ROWID")
        self.run(
            f"INSERT OR IGNORE INTO reads SELECT i / {GROUP_KEYS}, abs(i * 2654435761 % 1000003) "
            f"FROM {self.count_from(GROUPS * GROUP_KEYS)}")
        medians, results = self.section(
            f"{thousands(GROUPS)} groups of {GROUP_KEYS} keys",
            GROUPS * GROUP_KEYS,
            [
                (
                    call,
                    f"SELECT count(f) FROM (SELECT {call} AS f FROM reads GROUP BY reader)",
                    (),
                    None)
                for call in (
                    "group_concat(item)",
                    "bloom_agg(item)",
                    f"bloom_agg(item, {GROUP_KEYS})",
                    "count(DISTINCT item)")])
        assert set(results.values()) == {GROUPS}, results
        for call in ("bloom_agg(item)", f"bloom_agg(item, {GROUP_KEYS})"):
            self.mark(f"{call} / group_concat(item), {thousands(GROUPS)} groups", 1.5,
                      medians[call] / medians["group_concat(item)"])

    def urls(self):
        """The look-up of visits under all keys of their URLs."""
        scanned = min(self.options.visits, 200_000)
        self.run(
            f"CREATE TABLE url_visits AS SELECT bench_url(i + {ABSENT}) || substr('?id=7', 1, i % 2"
            f" * 5) AS url FROM {self.count_from(scanned)}")
        keys, length = self.run(
            "SELECT avg((SELECT count(*) FROM bloom_url_keys(url_visits.url))), avg(length(url)) "
            "FROM url_visits")[0]
        base = "SELECT count(*) FROM url_visits WHERE "
        for listed in URL_KEYS:
            self.run("CREATE TABLE url_list(key TEXT PRIMARY KEY) WITHOUT ROWID")
            self.run(
                "INSERT INTO url_list SELECT bloom_url(bench_url(i)) FROM"
                f" {self.count_from(listed)}")
            self.run(
                "REPLACE INTO filters"
                " SELECT 'urls', bloom_agg(key, NULL, 0.0001, 'key=url') FROM url_list")
            medians, results = self.section(
                f"URLs of {length:.0f} bytes with {keys:.1f} keys, against {thousands(listed)}"
                " keys",
                scanned,
                [
                    (
                        "read_arguments",
                        (
                            f"{base}read_arguments((SELECT bloom_pin(f) FROM filters WHERE name ="
                            " 'urls'), url)"),
                        (),
                        None),
                    (
                        "bloom_check, key=url",
                        (
                            f"{base}bloom_check((SELECT bloom_pin(f) FROM filters WHERE name ="
                            " 'urls'), url)"),
                        (),
                        None),
                    ("bloom_url", f"{base}bloom_url(url) = ''", (), None),
                    (
                        "exact join",
                        (
                            f"{base}EXISTS (SELECT 1 FROM bloom_url_keys(url_visits.url) u "
                            "JOIN url_list USING (key))"),
                        (),
                        None)])
            assert (
                results["exact join"] == 0 and results["bloom_check, key=url"] <= 0.002 * scanned
            ), results
            check = medians["bloom_check, key=url"]
            self.mark(f"bloom_check with key=url, us, {thousands(listed)} keys", 1,
                      (check - medians["read_arguments"]) / scanned * 1e6)
            self.mark(
                f"exact join / bloom_check with key=url, {thousands(listed)} keys",
                4,
                medians["exact join"] / check,
                at_least=True)
            self.run("DROP TABLE url_list")

    def report(self):
        label = self.options.label or apsw.sqlitelibversion()
        stem = pathlib.Path(self.options.results) / f"sql-{label}"
        rows = []
        for heading, count, medians, _ in self.sections:
            base = next(iter(medians.values()))
            rows.append([f"**{heading}**", "", "", ""])
            rows += [
                [
                    f"`{name}`",
                    thousands(count),
                    f"{seconds / count * 1e9:,.0f}",
                    f"{seconds / base:.2f}"]
                for name, seconds in medians.items()]
        write_csv(
            f"{stem}.csv",
            ["section", "case", "rows", "turns", "seconds", "ratio to the first"],
            [
                [
                    heading, name, count,
                    turns[name],
                    f"{seconds:.4f}",
                    f"{seconds / next(iter(medians.values())):.3f}"]
                for heading, count, medians, turns in self.sections
                for name, seconds in medians.items()])
        versions = [("SQLite", f"{apsw.sqlitelibversion()}, through apsw {apsw.apswversion()}")]
        write_lines(
            f"{stem}.md",
            [
                f"# The extension in SQL, SQLite {apsw.sqlitelibversion()}",
                "",
                (
                    "Made by `make bench`. What was measured and how: the comment of"
                    " `tests/bench/sql_bench.py`. Times are medians; a ratio is that to the first"
                    " line of its section: above 1 is slower."),
                "",
                *machine_state(versions),
                "",
                "## Goals",
                "",
                *table(["ratio", "goal", "measured", "reached"], self.marks),
                "",
                (
                    "read_line reads its arguments and one random 64-byte line of the filter, which"
                    " no filter can do without:"),
                "",
                *table(
                    ["filter", "read_line / read_arguments", "bloom_check / read_line"], self.bounds
                ),
                "",
                "## All cases",
                "",
                *table(["case", "rows", "ns per row", "ratio"], rows),
                "",
                "## Bytes of filter (p = 1 %) and exact index",
                "",
                *table(["URLs", "filter", "index", "index / filter"], self.sizes)])

    def close(self):
        self.connection.close()
        self.path.unlink()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).parent
    parser.add_argument("--label")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--visits", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=2_000_000)
    parser.add_argument("--library", default="bloom.so")
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--results", default=here / "results")
    bench = Bench(parser.parse_args())
    options = bench.options
    bench.make_tables()
    bench.scan()
    bench.build(options.keys)
    bench.against_index(options.keys)
    bench.groups()
    bench.urls()
    if options.full and options.keys < FILTER_KEYS:
        bench.run("DROP INDEX exact")
        more = bench.count_from(FILTER_KEYS - options.keys)
        bench.run(f"INSERT INTO bad SELECT bench_url(i + {options.keys}) FROM {more}")
        bench.build(FILTER_KEYS)
        bench.against_index(FILTER_KEYS)
    bench.report()
    bench.close()


if __name__ == "__main__":
    main()
