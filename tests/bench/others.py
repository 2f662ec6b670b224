#!/usr/bin/env python3
"""What people wait for, beside what they use without a filter.

    others.py BUILD PACKAGE ...

prints Markdown: nanoseconds of processor time a key, and the ratio to the first way. A million URLs
of 60 to 80 bytes, filters at 1 %; each way that writes gets a new file in the folder BUILD. Ways
take turns; times are medians, ratios those within one turn. All run in one thread. A tenth of the
rows of a scan is found, and half of what is asked for one by one, in one transaction.
"""
import functools
import hashlib
import importlib.metadata
import itertools
import pathlib
import shutil
import sqlite3
import sys

import duckdb
import lmdb
import rbloom
import sqlite_bloom

from report import section

KEYS, VISITS, ASKED = 1_000_000, 2_000_000, 20_000
ORDINARY = "CREATE TABLE t(key TEXT PRIMARY KEY) WITHOUT ROWID;"
FILTER = "CREATE VIRTUAL TABLE t USING bloom(capacity={}, growth=off);"
ONE = "SELECT 1 FROM t WHERE key = ?"
LIST = "SELECT bloom_agg(key, NULL, 0.01, 'key=url') FROM bloom_list(?)"
FORMS = {"hosts": "0.0.0.0 {}\n", "names": "{}\n", "Adblock": "||{}^\n"}


def url_of(number):
    digest = hashlib.sha1(str(number).encode()).hexdigest()
    return f"https://www.{digest[:13]}.example.org/articles/{digest[13:26 + number % 21]}"


def value(database, query, *bindings):
    return (database.execute(query, bindings).fetchone() or [0])[0]


def print_versions(packages):
    print("- versions:", f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version},",
          ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages))


def main(build, *packages):
    build = pathlib.Path(build, "others").resolve()
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir()
    print_versions(packages)
    fresh = (str(build / str(number)) for number in itertools.count())

    def database(script=""):
        made = sqlite3.connect(next(fresh), isolation_level=None)
        sqlite_bloom.load(made)
        made.executescript("PRAGMA journal_mode=WAL; PRAGMA cache_size=-2000000;" + script)
        return made

    def rows_of(script, keys):
        made = database(f"{script} BEGIN")
        made.executemany("INSERT INTO t VALUES(?)", zip(keys))
        made.execute("COMMIT")
        return made

    def duck(script):
        return duckdb.connect(next(fresh), config={"threads": 1}).execute(script)

    def lmdb_of(keys):
        made = lmdb.open(next(fresh), map_size=2**32, sync=False)
        with made.begin(write=True) as transaction, transaction.cursor() as cursor:
            cursor.putmulti((key.encode(), b"") for key in keys)
        return made.begin()

    urls = [url_of(i) for i in range(KEYS)]
    texts = {name: "".join(form.format(url.split("/")[2]) for url in urls)
             for name, form in FORMS.items()}
    (build / "hosts").write_text(texts["hosts"])
    section("A block list of a million hosts", KEYS, {
        **{f"`bloom_agg` of `bloom_list`, {name}": functools.partial(value, database(), LIST, text)
           for name, text in texts.items()},
        "SQLite, `executemany` of split lines, WITHOUT ROWID": lambda: rows_of(
            ORDINARY, [line.split()[1] for line in texts["hosts"].splitlines()]),
        "DuckDB, `read_csv` into a table": lambda: duck(
            f"CREATE TABLE t AS FROM read_csv('{build}/hosts', delim=' ', header=false)")})

    visits = [url_of(i // 2 if i % 10 == 0 else VISITS + i) for i in range(VISITS)]
    stored, ducks, blooms = rows_of(ORDINARY, urls), duck("SELECT 1"), rbloom.Bloom(KEYS, 0.01)
    blooms.update(urls)
    stored.executescript("CREATE TABLE filters AS SELECT bloom_agg(key) AS f FROM t;"
                         "CREATE TABLE visits(url); BEGIN")
    stored.executemany("INSERT INTO visits VALUES(?)", zip(visits))
    stored.execute("COMMIT")
    for name, keys in (("t(key)", urls), ("visits(url)", visits)):
        (build / name).write_text("\n".join(keys))
        ducks.execute(f"CREATE TABLE {name} AS FROM read_csv('{build}/{name}', header=false,"
                      " delim='|')")
    scan = "SELECT count(*) FROM visits WHERE url IN (SELECT key FROM t)"
    section("A scan of two million rows", VISITS, {
        "`bloom_check` of a pinned filter": lambda: value(
            stored, "SELECT count(*) FROM visits"
            " WHERE bloom_check((SELECT bloom_pin(f) FROM filters), url)"),
        "SQLite, `IN` a table WITHOUT ROWID": lambda: value(stored, scan),
        "DuckDB, `IN` a table": lambda: value(ducks, scan),
        "rbloom, for every row": lambda: sum(
            url in blooms for url, in stored.execute("SELECT url FROM visits"))},
        found=VISITS // 10)

    asked = [url_of(i if i % 2 == 0 else VISITS + i) for i in range(ASKED)]
    seen, transaction = database(FILTER.format(KEYS)), lmdb_of(urls)
    sqlite_bloom.add_all(seen, "t", urls)
    seen.execute("BEGIN")
    stored.execute("BEGIN")
    filter_ = value(stored, "SELECT f FROM filters")
    ducks.execute("ALTER TABLE t ADD PRIMARY KEY (key)")

    def each(check):
        return lambda: sum(bool(check(url)) for url in asked)

    section("One key a call, from Python", ASKED, {
        "filter table": each(lambda url: value(seen, ONE, url)),
        "`bloom_check` of a bound filter": each(
            lambda url: value(stored, "SELECT bloom_check(?, ?)", filter_, url)),
        "SQLite, WITHOUT ROWID": each(lambda url: value(stored, ONE, url)),
        "DuckDB, primary key": each(lambda url: value(ducks, ONE, url)),
        "LMDB": each(lambda url: transaction.get(url.encode()) is not None)}, found=ASKED // 2)

    stored.executescript("CREATE TABLE urls AS SELECT key FROM t ORDER BY random(); DROP TABLE t")

    def fill(make, insert):
        stored.executescript(f"{make} BEGIN; {insert} FROM urls; COMMIT; DROP TABLE t")

    make = FILTER.format(KEYS)
    section("Rows of another table", KEYS, {
        "filter table, INSERT": lambda: fill(make, "INSERT INTO t(key) SELECT key"),
        "filter table, `'merge'`": lambda: fill(
            make, f"INSERT INTO t(t, key) SELECT 'merge', bloom_agg(key, {KEYS})"),
        "a table WITHOUT ROWID": lambda: fill(ORDINARY, "INSERT INTO t SELECT key")})


if __name__ == "__main__":
    main(*sys.argv[1:])
