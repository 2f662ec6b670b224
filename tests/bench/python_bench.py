#!/usr/bin/env python3
"""Filters of Python programs, beside rbloom, abloom and fastbloom-rs, and beside exact stores.

    python_bench.py BUILD PACKAGE ...

prints Markdown as others.py does, with the same million URLs of 60 to 80 bytes and filters at 1 %.
Text of Python keeps its hash, which rbloom uses, so that rbloom hashes each URL in its first turn
only. That hash is of one process, as Python salts it. abloom is asked for its stable hash, because
a filter that is stored needs one. Both have the hash of Python for integers, where -1 and -2 are
the same key.
"""
import functools
import operator
import pathlib
import shutil
import sqlite3
import sys

import abloom
import fastbloom_rs
import numpy
import polars
import rbloom
import sqlite_bloom

from others import FILTER, KEYS, ORDINARY, VISITS, print_versions, url_of
from report import section

TURNS = 9


def main(build, *packages):
    build = pathlib.Path(build, "python").resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir()
    print_versions(packages)

    makers = {"`Filter`": lambda: sqlite_bloom.Filter(KEYS),
              "rbloom": lambda: rbloom.Bloom(KEYS, 0.01),
              "abloom": lambda: abloom.BloomFilter(KEYS, 0.01, serializable=True)}

    def updated(make, keys):
        made = make()
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

    urls = [url_of(i) for i in range(KEYS)]
    asked = [url_of(i if i % 2 == 0 else VISITS + i) for i in range(KEYS)]
    numbers, column = numpy.arange(KEYS), polars.Series(asked)
    ours, theirs, third = (updated(make, urls) for make in makers.values())
    other, whole = fastbloom_of(urls), sqlite_bloom.Filter.build(numbers)

    section("A filter of a list of URLs", KEYS, {
        "`Filter(n)`, `update(urls)`": lambda: updated(makers["`Filter`"], urls),
        "rbloom, `update`": lambda: updated(makers["rbloom"], urls),
        "abloom, `update`": lambda: updated(makers["abloom"], urls),
        "fastbloom-rs, `add_str_batch`": lambda: fastbloom_of(urls),
        "`build(urls)`, which finds the size": lambda: sqlite_bloom.Filter.build(urls),
        "`build` of 64-bit numbers of numpy": lambda: sqlite_bloom.Filter.build(numbers)}, TURNS)
    for what, keys in (("bytes", [url.encode() for url in urls]), ("integers", numbers.tolist())):
        section(f"A filter of a list of {what}", KEYS, {
            f"{name}, `update` of {what}": functools.partial(updated, make, keys)
            for name, make in makers.items()}, TURNS)
    section("One URL a call, half of them known", KEYS, {
        "`url in Filter`": lambda: sum(url in ours for url in asked),
        "`url in` rbloom": lambda: sum(url in theirs for url in asked),
        "`url in` abloom": lambda: sum(url in third for url in asked),
        "fastbloom-rs, `contains_str`": lambda: sum(other.contains_str(url) for url in asked)},
        TURNS, KEYS // 2)
    section("Adding one URL a call", KEYS, {
        **{f"{name}, `add`": functools.partial(lambda make: add_each(make().add), make)
           for name, make in makers.items()},
        "fastbloom-rs, `add_str`": lambda: add_each(
            fastbloom_rs.FilterBuilder(KEYS, 0.01).build_bloom_filter().add_str)}, TURNS)
    section("A column a call, half of it known", KEYS, {
        "`check` of a list": lambda: sum(ours.check(asked)),
        "rbloom, `[url in f for url in urls]`": lambda: sum([url in theirs for url in asked]),
        "abloom, `[url in f for url in urls]`": lambda: sum([url in third for url in asked]),
        "`check` of a column of polars": lambda: ours.check(column).sum(),
        "`check` of 64-bit numbers of numpy, all known": lambda: whole.check(numbers).sum() // 2},
        TURNS, KEYS // 2)
    kilobytes, pairs = len(bytes(ours)) / 1024, {
        name: (updated(make, urls), updated(make, asked)) for name, make in makers.items()}
    section("Union and intersection of two filters", kilobytes, {
        **{f"{name}, union": functools.partial(operator.or_, *pairs[name]) for name in pairs},
        **{f"{name}, intersection": functools.partial(operator.and_, *pairs[name])
           for name in ("`Filter`", "rbloom")}}, TURNS, unit="KB")
    section("A list of URLs into a database", KEYS, {
        "`add_all`, filter table": add_all,
        "SQLite, `executemany`, WITHOUT ROWID": insert_all})


if __name__ == "__main__":
    main(*sys.argv[1:])
