#!/usr/bin/env python3
"""What small commits of a filter table cost with pages of different sizes: bytes that are written
to the WAL and time, for each key.

    pages.py LIBRARY FOLDER [KEYS]

The table is made for KEYS keys (10^7) at 1 %, half full, in a file of its own in FOLDER, with WAL
and synchronous=NORMAL. New keys come in commits of 1, 100 and 1,000. A join looks 100,000 keys up.
Medians of three rounds; the sizes come in turn.
"""
import pathlib
import statistics
import sys
import time

from report import NUMBERS, open_database, print_table

SIZES, COMMITS = (512, 1024, 2048, 4096, 8192), (1, 100, 1000)
ROUNDS, INSERTED, CHECKED = 3, 20000, 100000


def open_table(path, library, size, keys):
    connection = open_database(path, library, page_size=size, journal_mode="WAL",
                               synchronous="NORMAL", wal_autocheckpoint=0, cache_size=-400000)
    connection.cursor().execute(
        f"CREATE VIRTUAL TABLE t USING bloom(capacity={keys});"
        f"INSERT INTO t(key) {NUMBERS.format(keys // 2)} SELECT 'old' || i FROM n;"
        f"PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return connection


def insert(connection, path, first, commit):
    """Bytes and ns for each key."""
    wal, cursor = pathlib.Path(f"{path}-wal"), connection.cursor()
    number = min(INSERTED, 4000 * commit)
    began = time.perf_counter_ns()
    for start in range(first, first + number, commit):
        cursor.execute("BEGIN")
        for key in range(start, start + commit):
            cursor.execute("INSERT INTO t(key) VALUES (?)", (f"new{key}",))
        cursor.execute("COMMIT")
    spent = time.perf_counter_ns() - began
    written = wal.stat().st_size
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return written / number, spent / number


def join(connection):
    began = time.perf_counter_ns()
    connection.cursor().execute(
        f"{NUMBERS.format(CHECKED)} SELECT count(*) FROM n JOIN t ON key = 'old' || i").fetchall()
    return (time.perf_counter_ns() - began) / CHECKED


def main(library, folder, keys=10**7):
    folder, keys = pathlib.Path(folder), int(keys)
    tables, figures, first = {}, {}, 0
    for size in SIZES:
        path = folder / f"pages_{size}.db"
        for suffix in ("", "-wal", "-shm"):
            pathlib.Path(f"{path}{suffix}").unlink(missing_ok=True)
        tables[size] = path, open_table(path, library, size, keys)
    for _ in range(ROUNDS):
        for size, (path, connection) in tables.items():
            for commit in COMMITS:
                figures.setdefault((size, commit), []).append(
                    insert(connection, path, first, commit))
                first += INSERTED
            join(connection)
            figures.setdefault((size, "join"), []).append((0, join(connection)))
    rows = []
    for size, (path, connection) in tables.items():
        rows.append([f"{size:,}", f"{path.stat().st_size / 1e6:.1f}"])
        for commit in (*COMMITS, "join"):
            written, spent = (statistics.median(column) for column in zip(*figures[size, commit]))
            rows[-1] += [f"{written:,.0f}"] * (commit != "join") + [f"{spent:,.0f}"]
        connection.close()
        path.unlink()
    print_table(["page size", "file, MB", *(head for commit in COMMITS for head in (
        f"commits of {commit:,}: bytes", "ns")), "join, ns"], rows)


main(*sys.argv[1:])
