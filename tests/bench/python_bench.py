#!/usr/bin/env python3
"""Filters of Python programs, beside rbloom and fastbloom-rs, and beside exact stores.

    python_bench.py BUILD PACKAGE ...

prints Markdown as others.py does, with the same million URLs of 60 to 80 bytes and filters at 1 %.
Text of Python keeps its hash, which rbloom uses, so that rbloom hashes each URL in its first turn
only.
"""
import pathlib
import shutil
import sqlite3
import sys

import fastbloom_rs
import lmdb
import numpy
import polars
import rbloom
import sqlite_bloom

from others import FILTER, KEYS, ORDINARY, VISITS, print_versions, rbloom_of, section, url_of

TURNS = 9


def main(build, *packages):
    build = pathlib.Path(build, "python").resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir()
    print_versions(packages)

    def filter_of(keys):
        made = sqlite_bloom.Filter(KEYS)
        made.update(keys)
        return made

    def fastbloom_of(keys):
        made = fastbloom_rs.FilterBuilder(KEYS, 0.01).build_bloom_filter()
        made.add_str_batch(keys)
        return made

    def add_each(add):
        for url in urls:
            add(url)

    def add_all():
        database = sqlite3.connect(build / "add_all.db")
        sqlite_bloom.load(database)
        database.executescript(f"DROP TABLE IF EXISTS t; {FILTER.format(KEYS)}")
        sqlite_bloom.add_all(database, "t", urls)

    def insert_all():
        database = sqlite3.connect(build / "insert.db")
        database.executescript(f"DROP TABLE IF EXISTS t; {ORDINARY}")
        database.executemany("INSERT INTO t VALUES(?)", zip(urls))
        database.commit()

    def put_all():
        shutil.rmtree(build / "lmdb", ignore_errors=True)
        made = lmdb.open(str(build / "lmdb"), map_size=2**32, sync=False)
        with made.begin(write=True) as transaction, transaction.cursor() as cursor:
            cursor.putmulti((key.encode(), b"") for key in urls)

    urls = [url_of(i) for i in range(KEYS)]
    asked = [url_of(i if i % 2 == 0 else VISITS + i) for i in range(KEYS)]
    numbers, column = numpy.arange(KEYS), polars.Series(asked)
    ours, theirs, others = filter_of(urls), rbloom_of(urls), fastbloom_of(urls)
    whole = sqlite_bloom.Filter.build(numbers)

    section("A filter of a list of URLs", KEYS, {
        "`Filter(n)`, `update(urls)`": lambda: filter_of(urls),
        "rbloom, `update`": lambda: rbloom_of(urls),
        "fastbloom-rs, `add_str_batch`": lambda: fastbloom_of(urls),
        "`build(urls)`, which finds the size": lambda: sqlite_bloom.Filter.build(urls),
        "`build` of 64-bit numbers of numpy": lambda: sqlite_bloom.Filter.build(numbers)}, TURNS)
    section("One URL a call, half of them known", KEYS, {
        "`url in Filter`": lambda: sum(url in ours for url in asked),
        "`url in` rbloom": lambda: sum(url in theirs for url in asked),
        "fastbloom-rs, `contains_str`": lambda: sum(others.contains_str(url) for url in asked)},
        TURNS, KEYS // 2)
    section("Adding one URL a call", KEYS, {
        "`add`": lambda: add_each(sqlite_bloom.Filter(KEYS).add),
        "rbloom, `add`": lambda: add_each(rbloom.Bloom(KEYS, 0.01).add),
        "fastbloom-rs, `add_str`": lambda: add_each(
            fastbloom_rs.FilterBuilder(KEYS, 0.01).build_bloom_filter().add_str)}, TURNS)
    section("A column a call, half of it known", KEYS, {
        "`check` of a list": lambda: sum(ours.check(asked)),
        "`check` of a column of polars": lambda: ours.check(column).sum(),
        "`check` of 64-bit numbers of numpy, all known": lambda: whole.check(numbers).sum() // 2},
        TURNS, KEYS // 2)
    section("A list of URLs into a database", KEYS, {
        "`add_all`, filter table": add_all,
        "SQLite, `executemany`, WITHOUT ROWID": insert_all,
        "LMDB, `putmulti`": put_all})


if __name__ == "__main__":
    main(*sys.argv[1:])
