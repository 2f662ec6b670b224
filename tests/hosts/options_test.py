#!/usr/bin/env python3
"""The extension, as it was built, in a SQLite that was compiled as its documentation recommends
(https://sqlite.org/compile.html): some functions are missing there, so that their place in the
table which extensions get is empty. And in one whose values may have all the bytes that a value can
have: 2.1 GB, of which memory must hold two.

Needs npm, which brings SQLite's source; skips visibly without it.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "ext" / "packages"))
import sqlite_source  # noqa: E402

RECOMMENDED = ("DQS=0", "THREADSAFE=0", "DEFAULT_MEMSTATUS=0", "DEFAULT_WAL_SYNCHRONOUS=1",
               "LIKE_DOESNT_MATCH_BLOBS", "MAX_EXPR_DEPTH=0", "OMIT_DECLTYPE", "OMIT_DEPRECATED",
               "OMIT_PROGRESS_CALLBACK", "OMIT_SHARED_CACHE", "USE_ALLOCA", "OMIT_AUTOINIT",
               "STRICT_SUBTYPE=1")
CHECKED = ("ENABLE_API_ARMOR", "DQS=0", "STRICT_SUBTYPE=1", "OMIT_DECLTYPE")

VALUES = [
    ("SELECT bloom_check(f, 'b') || bloom_check(f, 'c') FROM (SELECT bloom_agg(k) AS f FROM"
     " (SELECT 'a' AS k UNION SELECT 'b'))", "10"),
    ("CREATE TABLE filters(f BLOB NOT NULL)", "done"),
    ("INSERT INTO filters SELECT bloom_agg(k, 100, 0.01) FROM (SELECT 'a' AS k UNION SELECT 'b')",
     "done"),
    ("SELECT bloom_check((SELECT bloom_pin(f) FROM filters), 'a')", "1"),
    ("SELECT hex(substr(f, 1, 16)) FROM filters", "89424C4D010101000600000000000000"),
    ("WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 300000)"
     " INSERT INTO filters SELECT bloom_agg(i) FROM c", "done"),
    ("SELECT length(f) FROM filters WHERE rowid = 2", "372096")]
TABLES = [
    ("CREATE VIRTUAL TABLE other USING bloom(capacity=100, fpr=0.01, growth=off)", "done"),
    ("INSERT INTO other(key) VALUES ('a'), ('b')", "done"),
    ("SELECT count(*) FROM other WHERE key IN ('a', 'b', 'x')", "2"),
    ("SELECT filter = (SELECT f FROM filters WHERE rowid = 1) FROM other", "1"),
    ("ALTER TABLE other RENAME TO another", "done"),
    ("SELECT count(*) FROM another('b')", "1"),
    ("DROP TABLE another", "done"),
    ("SELECT count(*) FROM sqlite_master WHERE name LIKE '%other%'", "0"),
    ("CREATE VIRTUAL TABLE seen USING bloom(capacity=100, layout=counting)", "done"),
    ("BEGIN", "done"),
    ("INSERT INTO seen(key) VALUES ('a'), ('b'), ('c')", "done"),
    ("SAVEPOINT s", "done"),
    ("DELETE FROM seen WHERE key IN ('a', 'b')", "done"),
    ("SELECT count(*) FROM seen WHERE key IN ('a', 'b', 'c')", "1"),
    ("ROLLBACK TO s", "done"),
    ("SELECT count(*) FROM seen WHERE key IN ('a', 'b', 'c')", "3"),
    ("DELETE FROM seen WHERE key = 'a'", "done"),
    ("COMMIT", "done"),
    ("SELECT json_extract(info, '$.layers[0].keys') FROM seen", "2"),
    ("SELECT group_concat(key) FROM bloom_keys((SELECT bloom_agg(value, NULL, NULL, 'bitmap') FROM "
     "json_each('[5,1]')))", "1,5"),
    ("SELECT group_concat(key) FROM bloom_url_keys('http://a.example/b')",
     "a.example/b,a.example/"),
    ("INSERT INTO seen(seen) VALUES ('clear')", "done"),
    ("SELECT count(*) FROM seen('c')", "0"),
    ("INSERT INTO seen(key) VALUES ('c')", "done"),
    ("PRAGMA integrity_check", "ok"),
    ("SELECT count(*) FROM seen('c')", "1")]


# A filter that grows past 1.43e9 bytes, of which half as much again is more than SQLite allocates;
# then the largest, and a number more.
LARGE = [
    (f"SELECT bloom_count(bloom_agg(column1, NULL, NULL, 'bitmap')) FROM (VALUES {numbers})",
     answer)
    for numbers, answer in (
        ("(1), (8000000000), (7), (13000000000), (17000000000)", "5"),
        ("(1), (17179866615)", "2"),
        ("(17179866616), (1)",
         "bloom_agg: the filter needs 2147483392 bytes, but a value of this connection is limited "
         "to 2147483391 bytes. Make it smaller"))
] + [("SELECT length(bloom_new(17179866616, NULL, 'bitmap'))", "2147483391"),
     ("SELECT length(bloom_new(17179866617, NULL, 'bitmap'))",
      "bloom_new: the filter needs 2147483392 bytes, but a value of this connection is limited to "
      "2147483391 bytes. Make it smaller")]


def free_memory():
    """Bytes that programs may still take."""
    try:
        text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return 0
    return 1024 * int(re.search(r"MemAvailable: +([0-9]+) kB", text)[1])


class Options(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        try:
            cls.source = sqlite_source.folder()
        except (OSError, subprocess.CalledProcessError) as error:
            raise unittest.SkipTest(f"skipped: SQLite's amalgamation cannot be had: {error}")

    def run_with(self, options, statements=(*VALUES, *TABLES)):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "options"
            subprocess.run(
                [os.environ.get("CC", "cc"), "-O1", "-w", f"-I{self.source}",
                 *(f"-DSQLITE_{option}" for option in options), "-o", program,
                 TOP / "tests" / "hosts" / "options.c", self.source / "sqlite3.c", "-ldl", "-lm",
                 "-lpthread"],
                check=True)
            run = subprocess.run([program, TOP / "bloom.so"],
                                 input="\n".join(sql for sql, _ in statements) + "\n",
                                 capture_output=True, text=True, check=False)
        wanted = [answer for _, answer in statements if answer is not None]
        self.assertEqual(run.stdout.splitlines(), wanted, run.stderr)
        self.assertEqual(run.returncode, 0)

    def test_recommended_options(self):
        self.run_with(RECOMMENDED)

    def test_api_armor(self):
        self.run_with(CHECKED)

    def test_the_longest_values(self):
        if free_memory() < 5 << 30:
            self.skipTest("skipped: fewer than 5 GiB of memory are free, or it is not known")
        self.run_with(("MAX_LENGTH=2147483647",), LARGE)


if __name__ == "__main__":
    unittest.main()
