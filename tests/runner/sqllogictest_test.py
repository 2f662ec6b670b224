#!/usr/bin/env python3
"""The self-test of sqllogictest.py: that it fails when it should, with the right message at the
right line, and that nothing of a script is left out unseen.

In the scripts here a `/` stands for the end of a line.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import sqllogictest  # noqa: E402 (it is found through the line above)

MAJOR, MINOR = (int(number) for number in sqllogictest.SQLITE_VERSION.split(".")[:2])
ONE = "statement ok/SELECT 1//"
ROWS = "VALUES ('b', 10), ('a', 9), ('b', 9)"
# What a record of one statement or query must not let pass.
BAD = [
    ("query I/SELECT 1/----/2", "wrong result, first at line 1"),
    ("query I/SELECT 1/----/1/2", "wrong result, first at line 2"),
    ("query I/VALUES (1), (2)/----/1", "wrong result, first at line 2"),
    ("query I/SELECT 1/----", "wrong result, first at line 1"),
    ("query T/SELECT NULL/----/(empty)", "wrong result, first at line 1"),
    ("query I/SELECT 1/----/1 ", "wrong result, first at line 1"),
    (f"query TI/{ROWS}/----/a|9/b|10/b|9", "wrong result, first at line 1"),
    (f"query TI rowsort/{ROWS}/----/b|10/a|9/b|9", "wrong result, first at line 1"),
    ("query TT/SELECT 'a|b', 'c'/----/a|b|c", "wrong result, first at line 1"),
    ("query II/SELECT 1/----/1", "wrong number of columns"),
    ("query I/SELECT 1; SELECT 2, 3/----/1/2/3", "wrong number of columns"),
    ("query I/SELECT x/----", "the query failed"),
    ("query I/SELECT abs(column1) FROM (VALUES (1), (-1 << 63))/----/1", "the query failed"),
    ("query T/SELECT CAST(x'41ff' AS TEXT)/----/A@",
     "no result: where TEXT is not valid UTF-8, use CAST(... AS BLOB)"),
    ("statement ok/DROP TABLE t", "the statement failed"),
    ("statement error/SELECT 1", "the statement succeeded"),
    ("statement error ^table/DROP TABLE t", "wrong error message"),
    ("statement error table/SELECT x;/DROP TABLE t", "a statement before the last failed"),
    ("statement error (/DROP TABLE t", "`(` is not a regular expression: missing ), unterminated"
     " subpattern at position 0"),
    ("statement error/SELECT ?", "the SQL has a parameter, and a script cannot bind it"),
    ("statement ok/SELECT ${i}", "${i} is no loop variable here"),
    # Files that are not scripts.
    *((f"{line}/SELECT 1", f"`{line}` begins no record") for line in (
        "statment ok", "statement okay", "query X", "query I sorted", "onlyif sqlite",
        "reconnect x", "loop i 0 ten", "foreach")),
    ("onlyif sqlite>=3", "`onlyif sqlite>=3` begins no record"),
    ("query I/SELECT 1", "the query has no line ---- with the expected values below it"),
    ("statement ok", "there is no SQL for the statement"),
    ("query I/----/1", "there is no SQL for the query"),
    ("load a.db/statement ok", "`load a.db` is a record of one line"),
    ("onlyif sqlite>=3/load a.db", "`load a.db` is a record of one line"),
    ("reconnect", "a database in memory cannot be opened again; `load FILE` first"),
    ("endloop", "endloop without a loop"),
    ("foreach a b/1 | 2/3", "`3` is not a value for each of a b"),
    *((line, f"`{line}` runs its records for nothing") for line in ("foreach a", "loop i 3 3"))]


class Runner(unittest.TestCase):
    def setUp(self):
        """Each test works in an empty directory of its own."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)

    def run_script(self, text):
        """Returns the exit code, and the output after its first line."""
        Path("t.test").write_text(text.replace("/", "\n") + "\n")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = sqllogictest.main(["t.test"])
        return code, output.getvalue().partition("\n")[2]

    def passes(self, text, passed, for_others=0):
        with self.subTest(text):
            code, output = self.run_script(text)
            self.assertEqual((code, output.splitlines()[-1]), (0, f"{passed} passed, 0 failed"),
                             output)
            self.assertEqual(", 1 for another SQLite" in output, bool(for_others))

    def test_what_passes(self):
        """The scripts of tests/sql have all other forms of records and results."""
        self.passes("query TT/SELECT 'é€ ~', x'4100ff42'/----/@@@@@ ~|A@@B", 1)
        self.passes(f"/ /statement ok/SELECT 1\t/ /{ONE}", 2)
        self.passes(ONE.replace("/", "\r/") + ONE, 2)
        self.passes("", 0)

    def test_what_fails_is_named_and_what_follows_it_is_run(self):
        for text, message in BAD:
            with self.subTest(text):
                code, output = self.run_script(f"# comment//{text}//{ONE}")
                first, *_, last = output.splitlines()
                self.assertEqual((code, last), (1, "1 passed, 1 failed"))
                self.assertRegex(first, rf"^FAIL t.test:[34]: {re.escape(message)}")
        for text in ("loop i 0 2//" + ONE, "foreach i/1//" + ONE):
            _, output = self.run_script(text)
            self.assertIn("FAIL t.test:1: loop without endloop", output)
            self.assertIn("0 passed, 1 failed", output)
        _, output = self.run_script("query IT/VALUES (1, 'a'), (2, 'b')/----/1|a/3|b")
        self.assertEqual([line.split() for line in output.splitlines()[:5]], [
            "FAIL t.test:1: wrong result, first at line 2".split(), ["expected:", "1|a"], ["3|b"],
            ["got:", "1|a"], ["2|b"]])

    def test_conditions(self):
        for version, runs in ((sqllogictest.SQLITE_VERSION, 1), ("3.9", 1),
                              (f"{MAJOR}.{MINOR + 1}", 0),
                              (f"{MAJOR + 1}", 0), (f"{MAJOR}.{MINOR} # why", 1)):
            self.passes(f"onlyif sqlite>={version}/{ONE}", runs, for_others=1 - runs)

    def test_loops(self):
        for text, passed in (
            ("loop i 3 6//statement ok/CREATE TABLE t${i}(a${i})//query T/"
             "SELECT '${i}+${i}'/----/${i}+${i}//statement error no such table: u${i}/"
             "SELECT * FROM u${i}//endloop//query T/SELECT name FROM sqlite_master ORDER BY 1/"
             "----/t3/t4/t5", 10),
            ("statement ok/CREATE TABLE t(a)//loop i 0 2//loop j 0 3//statement ok/"
             "INSERT INTO t VALUES (${i}${j})//endloop//endloop//query T/"
             "SELECT group_concat(a, ' ') FROM t/----/0 1 2 10 11 12", 8),
            ("foreach sql value/'a b' | a b/ 1 + 1|2 //query T/SELECT ${sql}/----/${value}//"
             "endloop", 2),
            ("foreach name/a.(*/[b//statement error ^no such table: ${name}$/"
             'DROP TABLE "${name}"//endloop', 2),
        ):
            self.passes(text, passed)
        code, output = self.run_script(
            "foreach name/t.//statement error ^no such table: ${name}$/DROP TABLE tx//endloop")
        self.assertEqual((code, output.splitlines()[0]),
                         (1, "FAIL t.test:4: wrong error message (name = t.)"))
        code, output = self.run_script(
            "loop i 7 9//loop j 0 3//query I/SELECT ${i} * ${j}/----/0//endloop//endloop")
        self.assertEqual(output.count("FAIL t.test:5:"), 1)
        self.assertIn("2 passed, 4 failed", output)

    def test_databases_and_connections(self):
        """What they do, the scripts of tests/sql would not pass without."""
        temp = "load a.db//" + 2 * "connection b/statement ok/CREATE TEMP TABLE u(a)//"
        for text, said in ((temp, "table u already exists"), ("load .", ". cannot be opened"),
                           (f"connection a/{ONE}", "has only one connection")):
            code, output = self.run_script(text)
            self.assertEqual(code, 1)
            self.assertIn(said, output)
        self.assertNotIn("a.db", os.listdir())


if __name__ == "__main__":
    unittest.main()
