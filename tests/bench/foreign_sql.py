#!/usr/bin/env python3
"""What bloom_check costs in a scan with a filter of another system, beside one of layout classic
with as many hashes and about as many bits (for Parquet: beside blocked).

    foreign_sql.py LIBRARY

prints Markdown: nanoseconds a row and the ratio. A filter has the header that bloom_new gives it
and random bits, half of which are set, as in a full one; then half of the keys that are asked for
are added. Keys are 40 upper-case hexadecimal digits in a table in memory. The two sides take turns,
and the ratio is the median of those within one; processor time of this thread.
"""
import os
import sqlite3
import statistics
import sys
import time

ROWS, TURNS = 200_000, 7
RATE = 2**-8
# The rates give 8 hashes; go and dcso round their number up, redisbloom takes half of the rate.
PAIRS = [("classic-utf16", "classic", RATE), ("spark1", "classic", RATE),
         ("spark2", "classic", RATE), ("dcso", "classic", RATE * 1.001),
         ("go", "classic", RATE * 1.001), ("redisbloom", "classic", RATE * 2.001),
         ("parquet", "blocked", RATE)]


def filter_of(database, layout, keys, rate):
    """Full, and with every other key of the table in it."""
    empty, = database.execute("SELECT bloom_new(?, ?, ?)", (keys, rate, layout)).fetchone()
    bits, hashes = database.execute("SELECT json_extract(i, '$.bits'), json_extract(i, '$.hashes') "
                                    "FROM (SELECT bloom_info(?) AS i)", (empty,)).fetchone()
    payload = bytearray(os.urandom(len(empty) - 64))
    payload[-1] &= (1 << bits % 8) - 1 if bits % 8 else 0xFF
    full, = database.execute("SELECT bloom_union(?1, (SELECT bloom_agg(key, ?1) FROM keys "
                             "WHERE rowid % 2))", (empty[:64] + bytes(payload),)).fetchone()
    return full, hashes


def scan(database, filter_value):
    started = time.thread_time()
    database.execute("SELECT sum(bloom_check(?, key)) FROM keys", (filter_value,)).fetchone()
    return (time.thread_time() - started) * 1e9 / ROWS


def main(library):
    database = sqlite3.connect(":memory:")
    database.enable_load_extension(True)
    database.load_extension(os.path.join(".", library))
    database.execute("CREATE TABLE keys(key TEXT)")
    database.executemany("INSERT INTO keys VALUES (?)",
                         ((os.urandom(20).hex().upper(),) for _ in range(ROWS)))
    for keys in (100_000, 10_000_000):
        print(f"\nbloom_check over a table, filters for {keys} keys:\n\n"
              "| layout | hashes | ns a row | ratio |\n|---|---:|---:|---:|")
        for layout, yardstick, rate in PAIRS:
            mine, hashes = filter_of(database, layout, keys, rate)
            other, _ = filter_of(database, yardstick, keys, RATE)
            times, ratios = [], []
            for _ in range(TURNS):
                before, between, after = (scan(database, value) for value in (other, mine, other))
                times.append(between)
                ratios.append(2 * between / (before + after))
            print(f"| {layout} | {hashes} | {statistics.median(times):.0f} | "
                  f"{statistics.median(ratios):.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
