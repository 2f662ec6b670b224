"""Prints what must come out the same on every machine: the bytes of many filters of each layout and
tables, their sizes over the whole range, and hashes. A question has a line, with a digest of the
answer.

    fingerprint.py LIBRARY

It runs in apsw's SQLite; machines.py puts one in its place that runs on another processor.
"""

import hashlib
import pathlib
import sys

import apsw

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / name) for name in ("runner", "documentation", "exchange")]
import foreign_test  # noqa: E402
import pages  # noqa: E402
from extended import connect  # noqa: E402

# The columns of the table k, with keys of each type that it has.
COLUMNS = {"mixed": (1, "key", 2.5, b"key"), "text": ("key",), "number": (3,)}
# Each layout, and the first column whose keys it takes.
LAYOUTS = {name: next(column for column, keys in COLUMNS.items()
                      if all(pages.HASHINGS[hashing][0](key) is not None for key in keys))
           for name, (_, hashing) in pages.BY_NAME.items() if name not in pages.IMPORTED}
KEYS = """WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < {})
    SELECT 3 * i AS number, 'key-' || i AS text, CASE i % 4 WHEN 0 THEN i WHEN 1 THEN 'key-' || i
           WHEN 2 THEN i + 0.5 ELSE CAST('key-' || i AS BLOB) END AS mixed FROM c"""
REALS = "0.0 -0.0 1.0 0.5 -1e300 9223372036854775808.0 -9223372036854775808.0 5e-324".split()


def rate(i):
    """Falling rates below 1, three to an octave, that every arithmetic represents exactly."""
    return f"({64 + i * 37 % 64} / 64.0 / {2 << i // 3}.0)"


def questions():
    for length in range(70):
        yield f"SELECT bloom_hash(substr('{'abcdefg' * 12}', {1 + length % 9}, {length}))"
    for number in REALS:
        yield f"SELECT bloom_hash({number})"
    for count in (1, 10, 73, 514, 3601):
        yield "DROP TABLE IF EXISTS k"
        yield f"CREATE TABLE k AS {KEYS.format(count)}"
        for layout, key in LAYOUTS.items():
            for i in range(1, 90, 7 if count < 1000 else 29):
                n = "NULL" if layout in ("fuse", "bitmap") else count
                p = "NULL" if layout == "bitmap" else rate(i)
                absent = "text || '-'" if key == "text" else "number + 1"
                yield (f"WITH filter(f) AS MATERIALIZED (SELECT bloom_agg({key}, {n}, {p},"
                       f" '{layout}') FROM k) SELECT f, (SELECT sum(bloom_check(f, {key})) FROM k),"
                       f" (SELECT sum(bloom_check(f, {absent})) FROM k) FROM filter")
            if layout in foreign_test.LAYOUTS:
                yield (f"SELECT bloom_export(bloom_agg({key}, {count}, 0.015625, '{layout}'),"
                       f" '{foreign_test.LAYOUTS[layout].format}') FROM k")
        yield f"SELECT bloom_convert(bloom_agg(mixed, {count}, 0.01, 'counting'), 'blocked') FROM k"
        yield ("SELECT group_concat(key) FROM bloom_keys((SELECT bloom_agg(number, NULL, NULL,"
               f" 'bitmap') FROM k)) WHERE key > {count}")
    for layout in ("blocked", "counting", "fuse", "classic"):
        for i in range(1, 93, 2):
            yield from (f"SELECT bloom_size({5 ** power}, {rate(i)}, '{layout}')"
                        for power in range(18))
    for capacity in (1, 10, 300, 10**6, 10**12):
        for layout in ("blocked", "counting"):
            yield "DROP TABLE IF EXISTS t"
            yield ("CREATE VIRTUAL TABLE t USING"
                   f" bloom(capacity={capacity}, fpr=0.015625, layout={layout})")
            yield f"INSERT INTO t(key) SELECT mixed FROM ({KEYS.format(2000)})"
            yield "SELECT quote(id), quote(data) FROM t_data ORDER BY id"
            yield (f"SELECT sum(EXISTS (SELECT 1 FROM t WHERE key = mixed)), sum(EXISTS (SELECT 1"
                   f" FROM t WHERE key = number + 1)) FROM ({KEYS.format(2000)})")


def main(library):
    connection = connect(":memory:", library)
    for question in questions():
        try:
            answer = repr(list(connection.cursor().execute(question)))
        except apsw.Error as error:
            answer = str(error).removeprefix("SQLError: ")
        digest = hashlib.md5(answer.encode()).hexdigest()
        print(f"{digest} {answer[:60]} {' '.join(question.split())[:120]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
