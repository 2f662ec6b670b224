#!/usr/bin/env python3
"""The self-test of sqllogictest.py: above all, that it fails when it should, with the right message
at the right line.

Each test runs small scripts and compares all that the runner prints below its first line. In the
tables of scripts a `/` stands for the end of a line. `make test` runs this before it trusts the
runner.
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))

import sqllogictest  # noqa: E402 (it is found through the line above)

MAJOR, MINOR = (int(number) for number in sqllogictest.SQLITE_VERSION.split(".")[:2])
NEWER = f"{MAJOR}.{MINOR + 1}"
ONE = "statement ok/SELECT 1//"
FILL = "statement ok/CREATE TABLE t(a); INSERT INTO t VALUES (1)//"
COUNT = "query I/SELECT count(*) FROM t/----/1//"
ROWS = "VALUES ('b', 10), ('a', 9), ('b', 9)"


def script(text):
    return text.replace("/", "\n") + "\n"


class RunnerTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        """Each test works in an empty directory of its own."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(directory.name)

    def run_paths(self, *arguments):
        """The exit code and what was printed below the first line."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exit_code = sqllogictest.main(list(arguments))
        return exit_code, output.getvalue().partition("\n")[2]

    def run_script(self, text, *options, **other_files):
        """Run t.test with this content; each keyword argument x is the content of a file x.inc
        beside it."""
        Path("t.test").write_bytes(text.encode())
        for name, content in other_files.items():
            Path(f"{name}.inc").write_bytes(script(content).encode())
        return self.run_paths(*options, "t.test")

    def assert_passes(self, text, passed, skipped=0, **other_files):
        left_out = f", {skipped} skipped" if skipped else ""
        with self.subTest(text):
            self.assertEqual(
                self.run_script(script(text), **other_files),
                (0, f"ok   t.test ({passed} records{left_out})\n{passed} passed, 0 failed,"
                    f" {skipped} skipped\n"),
            )

    def assert_fails(self, text, message, passed=0, failed=1, line=1, **other_files):
        """The message is that of the only failing record; in the lines below it, which tell what
        was expected, got and run, spaces at the front do not matter."""
        with self.subTest(text):
            code, output = self.run_script(script(text), **other_files)
            lines = [part.lstrip() for part in output.splitlines()]
            place = "" if message.startswith("FAIL") else f"FAIL t.test:{line}: "
            counts = [f"FAIL t.test: {failed} of {passed + failed} records"]
            counts.append(f"{passed} passed, {failed} failed, 0 skipped")
            self.assertEqual(lines, (place + message).split("\n") + counts)
            self.assertEqual(code, 1)

    def assert_updates(self, before, after, updated):
        code, output = self.run_script(before, "--update")
        self.assertEqual(Path("t.test").read_bytes().decode(), after)
        self.assertIn(f"updated t.test ({updated} queries)\n", output)
        self.assertEqual(code, 0)
        self.assertNotIn("updated", self.run_paths("--update", "t.test")[1])
        self.assertEqual(Path("t.test").read_bytes().decode(), after)
        self.assertEqual(self.run_paths("t.test")[0], 0)


class Records(RunnerTest):
    def test_values(self):
        numbers = "-9223372036854775808/9223372036854775807/4294967296"
        for query in (
            "TTT/SELECT 'a b~', '', NULL/----/a b~/(empty)/NULL",
            "TT/SELECT 'é€', char(9, 10, 31, 127, 128512)/----/@@@@@/@@@@@@@@",
            "TT/SELECT 'a' || char(0) || 'b', char(0)/----/a@b/@",
            "TTT/SELECT x'4100ff42', x'', zeroblob(2)/----/A@@B/(empty)/@@",
            "TTT/SELECT 42, 2.0, 1e100/----/42/2.0/1.0e+100",
            "I/VALUES (-9223372036854775808), (9223372036854775807), (1 << 32)/----/" + numbers,
            "IIIIII/SELECT 2.9, -2.9, 1e300, '12abc', 'abc', x'3132'/----/"
            "2/-2/9223372036854775807/12/0/12",
            "RRRRR/SELECT 2.0001, 1, -0.25, 1e15, 0/----/"
            "2.000/1.000/-0.250/1000000000000000.000/0.000",
            "RR/SELECT 9e999, -9e999/----/Inf/-Inf",
            "RRR/SELECT '1.5x', 'abc', x'322e35'/----/1.500/0.000/2.500",
            "TIR/SELECT NULL, NULL, NULL/----/NULL/NULL/NULL",
            "T/SELECT CAST(CAST(x'41ff' AS TEXT) AS BLOB)/----/A@",
        ):
            self.assert_passes("query " + query, 1)
        self.assert_fails(
            "query T/SELECT NULL/----/(empty)",
            "wrong result, first at row 1, column 1\nexpected: 1 values: (empty)\n"
            "got:      1 values: NULL\nSQL:      SELECT NULL",
        )
        self.assert_fails(
            "query T/SELECT CAST(x'41ff' AS TEXT)/----/A@",
            "no result: where TEXT is not valid UTF-8, use CAST(... AS BLOB)\ngot:      'utf-8'"
            " codec can't decode byte 0xff in position 1: invalid start byte\n"
            "SQL:      SELECT CAST(x'41ff' AS TEXT)",
        )

    def test_reals_as_sqlite_writes_them(self):
        """Not as C's printf: of decimal digits there are only so many, and the last ones differ
        between releases."""
        rows = "(SELECT 1 << 63 AS x UNION ALL SELECT 1 << 63)"
        for real in ("total(x)", "1.0005", "1e23", "1e300", "0.1 + 0.2", "1e17 * 0.3"):
            query = f"SELECT {real} FROM {rows} LIMIT 1"
            written = sqllogictest.convert(f"printf('%.3f', ({query})) || ?", "")
            self.assert_passes(f"query R/{query}/----/{written}", 1)

    def test_results(self):
        for text in (
            "query I/SELECT 1 WHERE 0/----",
            "query I/CREATE TABLE t(a); INSERT INTO t VALUES (7); SELECT a FROM t; SELECT 8;"
            "/----/7/8",
            f"query TI/{ROWS}/----/b/10/a/9/b/9",
            f"query TI nosort/{ROWS}/----/b|10/a|9/b|9",
            f"query TI rowsort/{ROWS}/----/a|9/b|10/b|9",
            f"query TI rowsort/{ROWS}/----/a/9/b/10/b/9",
            "query TT rowsort/VALUES ('ab', 'a'), ('a', 'z')/----/a/z/ab/a",
            "query T rowsort/VALUES ('b'), ('B'), (NULL), ('~'), ('é'), ('')/----/"
            "(empty)/@@/B/NULL/b/~",
            "query TT/SELECT 'a|b', 'c'/----/a|b/c",
            "query T/VALUES ('a|b'), ('c')/----/a|b/c",
        ):
            self.assert_passes(text, 1)

    def test_wrong_results(self):
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 30)"
        numbers += " SELECT i FROM n"
        first = "/".join(str(i) for i in range(1, 21))
        wrong = "wrong result, first at row {}, column 1\nexpected: {}\ngot:      {}\nSQL:      "
        two = "2 values: 1 | 2"
        for sql, result, report in (
            ("I/SELECT 1", "2", wrong.format(1, "1 values: 2", "1 values: 1")),
            ("I/SELECT 1", "1/2", wrong.format(2, two, "1 values: 1")),
            ("I/VALUES (1), (2)", "1", wrong.format(2, "1 values: 1", two)),
            ("I/SELECT 1", "", wrong.format(1, "no values", "1 values: 1")),
            ("IT/VALUES (1, 'a'),/(2, 'b')", "1/a/3/b",
             wrong.format(2, "4 values: 1 | a | 3 | b", "4 values: 1 | a | 2 | b")),
            ("IT/VALUES (1, 'a'), (2, 'b')", "1|a/3|b",
             wrong.format(2, "2 values: 1|a | 3|b", "2 values: 1|a | 2|b")
             .replace(", column 1", "")),
            ("TT/SELECT 'a|b', 'c'", "a|b|c",
             wrong.format(1, "1 values: a|b|c", "2 values: a|b | c")),
            (f"I/{numbers}", first, wrong.format(
                21, "20 values: ... | 19 | 20",
                "30 values: ... | 19 | 20 | 21 | 22 | 23 | 24 | 25 | 26 | 27 | 28 | 29 | 30")),
            (f"I/{numbers}", first.replace("/2/", "/-2/"), wrong.format(
                2, "20 values: 1 | -2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | ...",
                "30 values: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | ...")),
            ("II/SELECT 1", "1/2", "wrong number of columns\nexpected: 2\ngot:      1\nSQL:      "),
            ("I/SELECT 1, 2 WHERE 0", "",
             "wrong number of columns\nexpected: 1\ngot:      2\nSQL:      "),
            ("I/CREATE TABLE t(a)", "",
             "wrong number of columns\nexpected: 1\ngot:      0\nSQL:      "),
            ("I/SELECT * FROM t", "", "the query failed\ngot:      no such table: t\nSQL:      "),
            ("I/SELECT abs(column1) FROM (VALUES (1), (-9223372036854775808))", "1",
             "the query failed\ngot:      integer overflow\nSQL:      "),
        ):
            text = f"query {sql}/----/{result}//".replace("//", "/") + "//"
            report += sql.partition("/")[2].replace("/", "\n")
            self.assert_fails(f"# comment//{text}{ONE}", report, passed=1, line=3)
        for text in (
            *(f"query I/SELECT 1/----/{value}" for value in ("1 ", " 1", "1.0", "01")),
            f"query TI nosort/{ROWS}/----/a|9/b|10/b|9",
            f"query TI rowsort/{ROWS}/----/b|10/a|9/b|9",
            "query I/SELECT 1; SELECT 2, 3/----/1/2",
        ):
            self.assertEqual(self.run_script(script(text))[0], 1, text)

    def test_statements(self):
        twice = "CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (1);/INSERT INTO t VALUES (1)"
        self.assert_passes(f"statement error UNIQUE/{twice}//{COUNT}", 2)
        self.assert_passes("statement ok/CREATE TABLE t(a);/SELECT 1//statement ok/SELECT 1", 2)
        for pattern in ("", " no such table", " ^no such table: t$", " [Nn]o (such)?  *table: ."):
            self.assert_passes(f"statement error{pattern}/DROP TABLE t", 1)
        drop, one = "\nSQL:      DROP TABLE t", "\nSQL:      SELECT 1"
        for text, report in (
            ("ok/DROP TABLE t", "the statement failed\ngot:      no such table: t" + drop),
            ("error/SELECT 1", "the statement succeeded\nexpected: an error" + one),
            ("error x y/SELECT 1", "the statement succeeded\nexpected: an error x y" + one),
            *((f"error {pattern}/DROP TABLE t",
               f"wrong error message\nexpected: {pattern}\ngot:      no such table: t" + drop)
              for pattern in ("no such column", "^table", "SQLError", "no such table: t.")),
            ("error table/SELECT x;/DROP TABLE t", "a statement before the last failed\n"
             "got:      no such column: x\nSQL:      SELECT x;\nDROP TABLE t"),
            ("error (/DROP TABLE t", "`(` is not a regular expression: missing ), unterminated"
             " subpattern at position 0" + drop),
            ("error/SELECT ?", "the SQL has a parameter, and a script cannot bind it"
             "\nSQL:      SELECT ?"),
        ):
            self.assert_fails(f"statement {text}//{ONE}", report, passed=1)

class Syntax(RunnerTest):
    def test_mistakes(self):
        """What is no script: the message names the line, and what follows still runs."""
        statement = "`{}` is not `statement ok` or `statement error [PATTERN]`"
        types = "`{}` is not `query TYPES [SORT]` with one of T, I, R per column"
        condition = "`{}` is not `{}` or `{}>=VERSION`"
        cases = [("statment ok/SELECT 1", "unknown record `statment`")]
        for word in ("", " okay", " ok then", "s", " OK"):
            head = "statement" + (" error" if word == "s" else "") + word
            cases.append((head + "/SELECT 1", statement.format(head)))
        for head in ("query", "query X", "query TIX", "query i", "query I nosort more"):
            cases.append((head + "/SELECT 1/----/1", types.format(head)))
        for head in ("load", "reconnect x", "include", "loop i 0", "require-sqlite"):
            cases.append((head, f"wrong number of words after `{head.split()[0]}`"))
        for head in ("skipif", "onlyif a b", "onlyif sqlite>=", "skipif sqlite>=new",
                     "onlyif sqlite~3"):
            name = head.split()[0] + " NAME"
            cases.append((f"{head}/{ONE}", condition.format(head, name, name)))
        nothing = "nothing follows the condition or connection"
        for text, message in (
            ("SELECT 1", "unknown record `SELECT`"),
            ("query I sorted/SELECT 1/----/1",
             "unknown sort mode `sorted`; there are nosort, rowsort"),
            ("statement ok", "there is no SQL for the statement"),
            ("query I/----/1", "there is no SQL for the query"),
            ("query I/SELECT 1", "the query has no line ---- with the expected values below it"
             " (--update can write them)\nSQL:      SELECT 1"),
            ("onlyif sqlite", nothing),
            ("skipif mysql//# alone", nothing),
            ("connection/SELECT 1", "`connection` is not `connection NAME`"),
            ("endloop", "endloop without a loop"),
            ("loop i 0 ten//endloop", "`ten` is not an integer"),
            ("foreach a b/1 | 2/3", "`3` is not a value for each of a, b"),
            ("statement ok/SELECT ${i}", "${i} is no loop variable here\nSQL:      SELECT ${i}"),
        ):
            cases.append((text, message))
        for text, message in cases:
            self.assert_fails(f"{text}//{ONE}", message, passed=1)
        for text, line, message in (
            ("connection a/reconnect", 2,
             "`connection` stands above a statement or query, not above `reconnect`"),
            (f"connection a/{ONE}", 2, "a database in memory has only one connection; `load FILE`"
             " first\nSQL:      SELECT 1"),
            ("loop j 0 1//endloop//statement ok/SELECT ${j}", 5,
             "${j} is no loop variable here\nSQL:      SELECT ${j}"),
        ):
            self.assert_fails(f"{text}//{ONE}", message, passed=1, line=line)
        self.assert_fails(ONE + "loop i 0 2//" + ONE, "loop without endloop", 1, line=4)
        text = "loop i 0 2//" + ONE + "skipif mysql/endloop"
        self.assert_fails(text, "loop without endloop")
        self.assert_fails("foreach i/1//" + ONE, "loop without endloop")
        Path("t.test").write_bytes(b"statement ok\nSELECT '\xff'\n")
        code, output = self.run_paths("t.test")
        begin = "FAIL t.test:1: the script cannot be read: 'utf-8' codec"
        self.assertEqual((code, output[: len(begin)]), (1, begin))

    def test_layout(self):
        for text, passed in (
            ("# a/query II/# b/SELECT 1/#c/, 2 -- SELECT/# d/----/# e/1/# f/2", 1),
            ("query T/SELECT '/ # not a comment'/----/@ # not a comment", 1),
            ("/ /statement ok/SELECT 1/\t/statement ok/SELECT 2///", 2),
            ("statement ok\r/CREATE TABLE t(a)\r/\r/query I\r/SELECT 1\r/----\r/1\r", 2),
            ("loop i 0 2/statement ok/SELECT ${i}//endloop/" + ONE, 3),
            ("", 0),
            ("# nothing", 0),
        ):
            self.assert_passes(text, passed)

    def test_conditions(self):
        version = f"{MAJOR}.{MINOR}"
        cases = [("onlyif sqlite", True), ("onlyif SQLite # any case", True),
                 ("skipif sqlite", False), ("onlyif mysql", False), ("skipif mysql#comment", True),
                 ("onlyif sqlite/skipif mysql", True), ("onlyif sqlite/skipif sqlite>=3", False),
                 ("skipif sqlite/onlyif sqlite", False)]
        for comparison, holds in (
            (f">={version}", True), (f" >= {version}", True), (f"<={version}", True),
            (f"={version}", True), (f"={sqllogictest.SQLITE_VERSION}", True),
            (f">{version}", False), (f"<{version}", False), (f">{MAJOR}.{MINOR - 1}", True),
            (f"<={MAJOR}.{MINOR - 1}", False), (f"<{NEWER}", True), (f">={NEWER}", False),
            (">=3.9", True),
        ):
            cases.append((f"onlyif sqlite{comparison}", holds))
            cases.append((f"skipif sqlite{comparison}", not holds))
            cases.append((f"onlyif mysql{comparison}", False))
        for condition, runs in cases:
            self.assert_passes(f"{condition}/{ONE}", int(runs), skipped=int(not runs))
        control = "onlyif mysql/reconnect//onlyif mysql/load /nowhere/a.db//onlyif mysql/whatever//"
        self.assert_passes(control.replace("load /nowhere/a.db", "load x") + ONE, 1)
        self.assert_passes(f"skipif sqlite/loop i 0 9//{ONE}endloop", 0, skipped=1)

    def test_ends(self):
        self.assert_passes(f"require-sqlite 3.0//{ONE}", 1)
        query = "query I/SELECT x/----//"
        for text, expected in (
            (f"{ONE}require-sqlite {NEWER}//{ONE}loop i 0 9//{query}endloop",
             (0, f"skip t.test: t.test:4 requires SQLite {NEWER}, this is"
                 f" {sqllogictest.SQLITE_VERSION} (1 records, 2 skipped)\n"
                 "1 passed, 0 failed, 2 skipped\n")),
        ):
            self.assertEqual(self.run_script(script(text)), expected)
        for text, end in (
            (f"statement error/SELECT 1//require-sqlite {NEWER}", "0 passed, 1 failed, 0 skipped"),
            (f"loop i 0 9//{ONE}require-sqlite {NEWER}//{query}endloop//{query}",
             "1 passed, 0 failed, 2 skipped"),
        ):
            self.assertEqual(self.run_script(script(text))[1].splitlines()[-1], end)

    def test_loops(self):
        made = "SELECT group_concat(a, ' ') FROM t/----"
        for text, passed in (
            ("loop i 3 6//statement ok/CREATE TABLE t${i}(a${i})//query T/"
             "SELECT '${i}+${i}'/----/${i}+${i}//statement error no such table: u${i}/"
             "SELECT * FROM u${i}//endloop//query T/SELECT name FROM sqlite_master ORDER BY 1/"
             "----/t3/t4/t5", 10),
            ("statement ok/CREATE TABLE t(a)//loop i 0 4//loop j ${i} 4//statement ok/"
             f"INSERT INTO t VALUES (${{i}}${{j}})//endloop//endloop//query T/{made}/"
             "0 1 2 3 11 12 13 22 23 33", 12),
            ("loop i 1 2//loop i 5 6//query I/SELECT 5/----/${i}//endloop//"
             "query I/SELECT 1/----/${i}//endloop", 2),
            ("loop i -2 0//query I/SELECT ${i}/----/${i}//endloop//loop i 3 3//statement ok/x//"
             "endloop", 2),
            ("foreach sql value/'a b' | a b/ 1 + 1|2 //query T/SELECT ${sql}/----/${value}//"
             "endloop", 2),
            ("statement ok/CREATE TABLE t(a)//foreach i/0/1//loop j 0 ${i}//statement ok/"
             f"INSERT INTO t VALUES ('${{i}}${{j}}')//endloop//endloop//query T/{made}/10", 3),
            ("foreach name/a.(*/[b//statement error ^no such table: ${name}$/"
             'DROP TABLE "${name}"//endloop', 2),
        ):
            self.assert_passes(text, passed)
        self.assert_fails(
            "foreach name/t.//statement error ^no such table: ${name}$/DROP TABLE tx//endloop",
            "wrong error message (name = t.)\nexpected: ^no such table: t\\.$\n"
            "got:      no such table: tx\nSQL:      DROP TABLE tx", line=4,
        )
        text = "loop i 7 9//loop j 0 3//query I/SELECT ${i} * ${j}/----/0//endloop//endloop"
        self.assert_fails(
            text, "wrong result, first at row 1, column 1 (i = 7, j = 1)\nexpected: 1 values: 0\n"
            "got:      1 values: 7\nSQL:      SELECT ${i} * ${j}", passed=2, failed=4, line=5,
        )

    def test_includes(self):
        text = "loop i 0 2//include a.inc//endloop//query I nosort/SELECT 2/----/2"
        self.assert_passes(text, 3, a="query I/SELECT ${i}/----/${i}")
        Path("below/deep").mkdir(parents=True)
        Path("below/a.inc").write_text("include deep/b.inc\n")
        Path("below/deep/b.inc").write_text("query I\nSELECT 1\n----\n2\n")
        code, output = self.run_script("include below/a.inc\n")
        self.assertEqual(code, 1)
        self.assertTrue(output.startswith("FAIL below/deep/b.inc:1: wrong result"), output)
        there_is_none = "there is no file b.inc to include"
        self.assert_fails(f"{ONE}include b.inc", there_is_none, passed=1, line=4)
        own = "FAIL a.inc:1: t.test includes itself"
        self.assert_fails("include a.inc", own, a="include t.test")


class Databases(RunnerTest):
    def test_load_and_reconnect(self):
        temp = "statement ok/CREATE TEMP TABLE u(a)//"
        gone = "statement error no such table/SELECT * FROM {}//"
        for text, passed in (
            (f"load a.db//{FILL}statement ok/BEGIN; DELETE FROM t//reconnect//{COUNT}load b.db//"
             f"load a.db//{COUNT}", 4),
            (f"load a.db//{FILL}{temp}reconnect//{gone.format('u')}", 3),
            (f"load a.db//{FILL}load b.db//{gone.format('t')}", 2),
            (f"load a.db//{FILL}load :memory://{gone.format('t')}", 2),
            (f"{FILL}load :memory://{gone.format('t')}", 2),
            (f"load a.db//{FILL}load file:a.db?mode=ro//statement error attempt to write a readonly"
             f" database/DELETE FROM t//{COUNT}", 3),
        ):
            self.assert_passes(text, passed)
        message = "a database in memory cannot be opened again; `load FILE` first"
        self.assert_fails(f"{FILL}reconnect//{COUNT}", message, passed=2, line=4)
        nowhere = "load nowhere\\a.db\n\nload a.db\n\n".replace("\\", "/") + script(FILL)
        self.assertTrue(self.run_script(nowhere)[1].startswith(
            "FAIL t.test:1: nowhere/a.db cannot be opened\n     got:      unable to open database"
            " file\nFAIL t.test: 1 of 2 records\n1 passed, 1 failed"))

    def test_scripts_share_no_files_and_leave_none(self):
        others = "statement ok/ATTACH 'b.db' AS b; CREATE TABLE b.u(a); VACUUM main INTO 'c.db'//"
        for _ in range(2):
            self.assert_passes(f"load a.db//{FILL}{others}load c.db//{COUNT}", 3)
        self.assertEqual(os.listdir(), ["t.test"])

    def test_connections(self):
        zero = COUNT.replace("/1//", "/0//")
        self.assert_passes(
            f"load a.db//{FILL}statement ok/BEGIN; DELETE FROM t//connection other/{COUNT}{zero}"
            "connection other/statement error database is locked/DELETE FROM t//"
            f"statement ok/COMMIT//skipif mysql/connection other/{zero}", 7,
        )
        temp = "connection other/statement ok/CREATE TEMP TABLE u(a)//"
        for record in ("reconnect", "load a.db"):  # ends them
            self.assert_passes(f"load a.db//{temp}{record}//{temp}", 2)
        self.assertEqual(self.run_script(script(f"load a.db//{temp}{temp}"))[0], 1)


class Update(RunnerTest):
    def test_what_is_written(self):
        for before, after, updated in (
            ("# head/query IT/SELECT 1,/'a'//query I/SELECT 1 WHERE 0///query I/SELECT 2/----//"
             "query I/SELECT 3",
             "# head/query IT/SELECT 1,/'a'/----/1|a//query I/SELECT 1 WHERE 0/----///query I/"
             "SELECT 2/----/2//query I/SELECT 3/----/3", 4),
            ("//#a/  query   I  rowsort/SELECT 1 -- x  /#b/----/#c/2/3/#d// /query I/SELECT 4/#e/"
             "----/#f/4///#g/",
             "//#a/  query   I  rowsort/SELECT 1 -- x  /#b/----/#c/1/#d// /query I/SELECT 4/#e/"
             "----/#f/4///#g/", 1),
            ("query I rowsort/VALUES (2), (1)/", "query I rowsort/VALUES (2), (1)/----/1/2/", 1),
            ("query I\r/SELECT 1\r/\r/statement ok\r/SELECT 1\r/",
             "query I\r/SELECT 1\r/----\r/1\r/\r/statement ok\r/SELECT 1\r/", 1),
            ("loop i 0 3//query I/SELECT ${i} >= 0/----/0//query I/SELECT ${i}/----/${i}//endloop/",
             "loop i 0 3//query I/SELECT ${i} >= 0/----/1//query I/SELECT ${i}/----/${i}//endloop/",
             1),
        ):
            with self.subTest(before):
                before, after = before.replace("/", "\n"), after.replace("/", "\n")
                self.assert_updates(before, after, updated)
        _, output = self.run_script(
            "include a.inc\n\ninclude a.inc\n\nquery I\nSELECT 2\n", "--update",
            a="query I/SELECT 1",
        )
        self.assertIn("updated a.inc (1 queries)\nupdated t.test (1 queries)\n", output)
        self.assertEqual(Path("a.inc").read_text(), "query I\nSELECT 1\n----\n1\n")

    def test_what_is_left_alone(self):
        right = "query I/VALUES (1), (2), (3)/----/1/2/3//query IT/SELECT 1, 'a'/----/1/a"
        loop = "loop i 0 3//query I/SELECT ${i}/----/7//endloop"
        changing = "FAIL t.test:3: cannot be updated: its result is not the same each time it runs"
        blank = "FAIL t.test:1: a script cannot hold this value: use quote()"
        for text, code, fails in (
            (right, 0, []),
            (loop, 1, [changing]),
            (loop.replace("/7/", "/0/"), 1, [changing]),
            ("query T/SELECT ' '", 1, [blank, "FAIL t.test: 1 of 1 records"]),
            ("query T/SELECT '#1'", 1, [blank, "FAIL t.test: 1 of 1 records"]),
            ("statement error no such column/DROP TABLE t//statement error/SELECT 1//statement ok/x"
             "//onlyif mysql/query I/SELECT 1//query I/SELECT x//query I/SELECT 1, 2/----/5",
             1, ["FAIL t.test:1: wrong error message", "FAIL t.test:4: the statement succeeded",
                 "FAIL t.test:7: the statement failed", "FAIL t.test:14: the query failed",
                 "FAIL t.test:17: wrong number of columns",
                 "FAIL t.test: 5 of 5 records, 1 skipped"]),
        ):
            result, output = self.run_script(script(text), "--update")
            said = [line for line in output.splitlines() if line.startswith("FAIL")]
            self.assertEqual((result, said), (code, fails))
            self.assertNotIn("updated t", output)
            self.assertEqual(Path("t.test").read_text(), script(text))
        text = script("query I/SELECT 1/----/2")
        self.run_script(text)  # without --update
        self.assertEqual(Path("t.test").read_text(), text)


class CommandLine(RunnerTest):
    def run_program(self, *arguments):
        command = [sys.executable, str(TESTS / "sqllogictest.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_output_and_exit_codes(self):
        Path("pass.test").write_text(script(ONE))
        Path("fail.test").write_text("statement ok\nSELECT x\n")
        result = self.run_program("pass.test")
        head = f"SQLite {sqllogictest.SQLITE_VERSION}, apsw {sqllogictest.APSW_VERSION}\n"
        ok = "ok   pass.test (1 records)\n1 passed, 0 failed, 0 skipped\n"
        self.assertEqual((result.stdout, result.stderr, result.returncode), (head + ok, "", 0))
        result = self.run_program("pass.test", "fail.test", "pass.test")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines()[-1], "2 passed, 1 failed, 0 skipped")

if __name__ == "__main__":
    unittest.main()
