#!/usr/bin/env python3
"""The self-test of sqllogictest.py: above all, that it fails when it should, with the right message
at the right line.

Each test runs small scripts and compares all that the runner prints below its first line. `make
test` runs this before it trusts the runner.
"""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))

import sqllogictest  # noqa: E402 (it is found through the line above)

NEWER_VERSION = "{}.{}".format(
    *(int(number) + 1 for number in sqllogictest.SQLITE_VERSION.split(".")[:2])
)


class RunnerTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        """Each test works in an empty directory of its own."""
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        previous_directory = os.getcwd()
        self.addCleanup(os.chdir, previous_directory)
        os.chdir(directory.name)

    def run_paths(self, *arguments):
        """The exit code and what was printed below the first line."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exit_code = sqllogictest.main(list(arguments))
        return exit_code, output.getvalue().partition("\n")[2]

    def run_script(self, script, *options, **other_files):
        """Run t.test with this content; each keyword argument x is the content of a file x.inc
        beside it."""
        Path("t.test").write_bytes(script.encode())
        for name, content in other_files.items():
            Path(f"{name}.inc").write_bytes(content.encode())
        return self.run_paths(*options, "t.test")

    def assert_passes(self, script, passed, skipped=0, **other_files):
        exit_code, output = self.run_script(script, **other_files)
        left_out = f", {skipped} skipped" if skipped else ""
        self.assertEqual(
            output,
            f"ok   t.test ({passed} records{left_out})\n{passed} passed, 0 failed, {skipped}"
            " skipped\n",
        )
        self.assertEqual(exit_code, 0)

    def assert_fails(self, script, report, passed=0, failed=1, skipped=0, **other_files):
        """The report leaves out the two last lines, which only count."""
        exit_code, output = self.run_script(script, **other_files)
        left_out = f", {skipped} skipped" if skipped else ""
        counts = f"FAIL t.test: {failed} of {passed + failed} records{left_out}\n"
        self.assertEqual(
            output, report + counts + f"{passed} passed, {failed} failed, {skipped} skipped\n"
        )
        self.assertEqual(exit_code, 1)

    def assert_updates(self, before, after, updated):
        exit_code, output = self.run_script(before, "--update")
        self.assertEqual(Path("t.test").read_bytes().decode(), after)
        self.assertIn(f"updated t.test ({updated} queries)\n", output)
        self.assertEqual(exit_code, 0)
        self.assertNotIn("updated", self.run_paths("--update", "t.test")[1])
        self.assertEqual(Path("t.test").read_bytes().decode(), after)
        self.assertEqual(self.run_paths("t.test")[0], 0)


class Values(RunnerTest):
    def test_text(self):
        self.assert_passes("query TTT\nSELECT 'a b~', '', NULL\n----\na b~\n(empty)\nNULL\n", 1)

    def test_text_outside_ascii_is_shown_byte_by_byte(self):
        self.assert_passes(
            "query TT\nSELECT 'é€', char(9, 10, 31, 127, 128512)\n----\n@@@@@\n@@@@@@@@\n", 1
        )

    def test_text_with_a_zero_byte_counts_whole(self):
        self.assert_passes("query TT\nSELECT 'a' || char(0) || 'b', char(0)\n----\na@b\n@\n", 1)

    def test_blob_as_text(self):
        self.assert_passes(
            "query TTT\nSELECT x'4100ff42', x'', zeroblob(2)\n----\nA@@B\n(empty)\n@@\n", 1
        )

    def test_numbers_as_text(self):
        self.assert_passes("query TTT\nSELECT 42, 2.0, 1e100\n----\n42\n2.0\n1.0e+100\n", 1)

    def test_integers_have_64_bits(self):
        numbers = "-9223372036854775808\n9223372036854775807\n4294967296\n"
        self.assert_passes(
            "query I\nVALUES (-9223372036854775808), (9223372036854775807), (1 <<"
            f" 32)\n----\n{numbers}",
            1,
        )

    def test_other_values_as_integers(self):
        script = "query IIIIII\nSELECT 2.9, -2.9, 1e300, '12abc', 'abc', x'3132'\n----\n"
        self.assert_passes(script + "2\n-2\n9223372036854775807\n12\n0\n12\n", 1)

    def test_reals(self):
        self.assert_passes(
            "query RRRRR\nSELECT 2.0001, 1, -0.25, 1e15, 0\n----\n"
            "2.000\n1.000\n-0.250\n1000000000000000.000\n0.000\n",
            1,
        )

    def test_reals_as_sqlite_writes_them(self):
        """Not as C's printf: of decimal digits there are only so many."""
        self.assert_passes("query RR\nSELECT 9e999, -9e999\n----\nInf\n-Inf\n", 1)
        # With the sum of the corpus's slt_lang_aggfunc; the last digits differ between releases.
        rows = "(SELECT 1 << 63 AS x UNION ALL SELECT 1 << 63)"
        for real in ("total(x)", "1.0005", "1e23", "1e300", "0.1 + 0.2", "1e17 / 3"):
            with self.subTest(real):
                query = f"SELECT {real} FROM {rows} LIMIT 1"
                written = sqllogictest.convert(f"printf('%.3f', ({query})) || ?", "")
                self.assert_passes(f"query R\n{query}\n----\n{written}\n", 1)

    def test_other_values_as_reals(self):
        self.assert_passes(
            "query RRR\nSELECT '1.5x', 'abc', x'322e35'\n----\n1.500\n0.000\n2.500\n", 1
        )

    def test_null_has_no_type(self):
        self.assert_passes("query TIR\nSELECT NULL, NULL, NULL\n----\nNULL\nNULL\nNULL\n", 1)

    def test_null_is_not_empty_text(self):
        report = "FAIL t.test:1: wrong result, first at row 1, column 1\n"
        report += (
            "     expected: 1 values: (empty)\n     got:      1 values: NULL\n     SQL:      SELECT"
            " NULL\n"
        )
        self.assert_fails("query T\nSELECT NULL\n----\n(empty)\n", report)

    def test_text_that_is_not_utf8(self):
        script = "query T\nSELECT CAST(x'41ff' AS TEXT)\n----\nA@\n\n"
        script += "query T\nSELECT CAST(CAST(x'41ff' AS TEXT) AS BLOB)\n----\nA@\n"
        report = "FAIL t.test:1: no result: where TEXT is not valid UTF-8, use CAST(... AS BLOB)\n"
        report += (
            "     got:      'utf-8' codec can't decode byte 0xff in position 1: invalid start"
            " byte\n"
        )
        report += "     SQL:      SELECT CAST(x'41ff' AS TEXT)\n"
        self.assert_fails(script, report, passed=1)


class Results(RunnerTest):
    def test_wrong_value(self):
        report = (
            "FAIL t.test:3: wrong result, first at row 2, column 1\n"
            "     expected: 4 values: 1 | a | 3 | b\n"
            "     got:      4 values: 1 | a | 2 | b\n"
            "     SQL:      VALUES (1, 'a'),\n"
            "               (2, 'b')\n"
        )
        self.assert_fails(
            "# comment\n\nquery IT\nVALUES (1, 'a'),\n(2, 'b')\n----\n1\na\n3\nb\n", report
        )

    def test_later_records_run_after_a_failure(self):
        script = "query I\nSELECT 1\n----\n2\n\nstatement ok\nCREATE TABLE t(a)\n\n"
        script += "query I\nSELECT count(*) FROM t\n----\n0\n"
        report = "FAIL t.test:1: wrong result, first at row 1, column 1\n"
        report += (
            "     expected: 1 values: 2\n     got:      1 values: 1\n     SQL:      SELECT 1\n"
        )
        self.assert_fails(script, report, passed=2)

    def test_too_few_values(self):
        report = "FAIL t.test:1: wrong result, first at row 2, column 1\n"
        report += (
            "     expected: 2 values: 1 | 2\n     got:      1 values: 1\n     SQL:      SELECT 1\n"
        )
        self.assert_fails("query I\nSELECT 1\n----\n1\n2\n", report)

    def test_too_many_values(self):
        report = "FAIL t.test:1: wrong result, first at row 2, column 1\n"
        report += (
            "     expected: 1 values: 1\n     got:      2 values: 1 | 2\n     SQL:      VALUES (1),"
            " (2)\n"
        )
        self.assert_fails("query I\nVALUES (1), (2)\n----\n1\n", report)

    def test_no_values(self):
        self.assert_passes("query I\nSELECT 1 WHERE 0\n----\n", 1)
        report = "FAIL t.test:1: wrong result, first at row 1, column 1\n"
        report += "     expected: no values\n     got:      1 values: 1\n     SQL:      SELECT 1\n"
        self.assert_fails("query I\nSELECT 1\n----\n", report)

    def test_values_are_compared_exactly(self):
        for expected in ("1 ", " 1", "1.0", "01"):
            self.assertEqual(
                self.run_script(f"query I\nSELECT 1\n----\n{expected}\n")[0], 1, expected
            )

    def test_long_results_are_shown_around_the_difference(self):
        numbers = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i"
            " FROM n"
        )
        values = "\n".join(str(i) for i in range(1, 21)) + "\n"
        report = (
            "FAIL t.test:1: wrong result, first at row 21, column 1\n     expected: 20 values: ..."
            " | 19 | 20\n     got:      30 values: ... | 19 | 20 | 21 | 22 | 23 | 24 | 25 | 26 |"
            f" 27 | 28 | 29 | 30\n     SQL:      {numbers}\n"
        )
        self.assert_fails(f"query I\n{numbers}\n----\n{values}", report)
        values = values.replace("\n2\n", "\n-2\n")
        _, output = self.run_script(f"query I\n{numbers}\n----\n{values}")
        self.assertIn(
            "expected: 20 values: 1 | -2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | ...\n", output
        )

    def test_wrong_number_of_columns(self):
        for types, sql, count in (
            ("I", "SELECT 1, 2", 2),
            ("III", "SELECT 1, 2", 2),
            ("I", "SELECT 1, 2 WHERE 0", 2),
        ):
            report = "FAIL t.test:1: wrong number of columns\n"
            report += f"     expected: {len(types)}\n     got:      {count}\n     SQL:      {sql}\n"
            self.assert_fails(f"query {types}\n{sql}\n----\n1\n2\n", report)

    def test_no_columns(self):
        report = "FAIL t.test:1: wrong number of columns\n"
        report += "     expected: 1\n     got:      0\n     SQL:      CREATE TABLE t(a)\n"
        self.assert_fails("query I\nCREATE TABLE t(a)\n----\n", report)

    def test_several_statements_in_a_query(self):
        self.assert_passes(
            "query I\nCREATE TABLE t(a); INSERT INTO t VALUES (7); SELECT a FROM t; SELECT"
            " 8;\n----\n7\n8\n",
            1,
        )
        exit_code, output = self.run_script("query I\nSELECT 1; SELECT 2, 3\n----\n1\n2\n")
        self.assertEqual(
            (exit_code, output.splitlines()[0]), (1, "FAIL t.test:1: wrong number of columns")
        )

    def test_failing_query(self):
        report = (
            "FAIL t.test:1: the query failed\n     got:      no such table: t\n     SQL:     "
            " SELECT * FROM t\n"
        )
        self.assert_fails("query I\nSELECT * FROM t\n----\n", report)

    def test_query_that_fails_after_its_first_rows(self):
        sql = "SELECT abs(column1) FROM (VALUES (1), (-9223372036854775808))"
        report = (
            "FAIL t.test:1: the query failed\n     got:      integer overflow\n     SQL:     "
            f" {sql}\n"
        )
        self.assert_fails(f"query I\n{sql}\n----\n1\n", report)

    def test_parameters_cannot_be_bound(self):
        report = (
            "FAIL t.test:1: the SQL has a parameter, and a script cannot bind it\n     SQL:     "
            " SELECT ?\n"
        )
        self.assert_fails("statement error\nSELECT ?\n", report)

    def test_missing_separator(self):
        message = (
            "the query has no line ---- with the expected values below it (--update can write them)"
        )
        self.assert_fails(
            "query I\nSELECT 1\n", f"FAIL t.test:1: {message}\n     SQL:      SELECT 1\n"
        )


class Sorting(RunnerTest):
    rows = "VALUES ('b', 10), ('a', 9), ('b', 9)"

    def check(self, sort_mode, expected):
        self.assert_passes(
            f"query TI{sort_mode}\n{self.rows}\n----\n" + "\n".join(expected.split()) + "\n", 1
        )

    def test_nosort(self):
        self.check("", "b 10 a 9 b 9")
        self.check(" nosort", "b 10 a 9 b 9")

    def test_rowsort_compares_values_as_shown(self):
        self.check(" rowsort", "a 9 b 10 b 9")

    def test_rowsort_goes_column_by_column(self):
        self.assert_passes(
            "query TT rowsort\nVALUES ('ab', 'a'), ('a', 'z')\n----\na\nz\nab\na\n", 1
        )

    def test_valuesort(self):
        self.check(" valuesort", "10 9 9 a b b")

    def test_wrong_order(self):
        for sort_mode, wrong in (
            ("nosort", "a 9 b 10 b 9"),
            ("rowsort", "b 10 a 9 b 9"),
            ("valuesort", "a 9 b 10 b 9"),
        ):
            script = f"query TI {sort_mode}\n{self.rows}\n----\n" + "\n".join(wrong.split()) + "\n"
            exit_code, output = self.run_script(script)
            self.assertEqual(exit_code, 1, sort_mode)
            self.assertTrue(
                output.startswith("FAIL t.test:1: wrong result, first at row 1, column 1\n"), output
            )

    def test_order_is_that_of_the_bytes(self):
        self.assert_passes(
            "query T rowsort\nVALUES ('b'), ('B'), (NULL), ('~'), ('é'),"
            " ('')\n----\n(empty)\n@@\nB\nNULL\nb\n~\n",
            1,
        )


class Digests(RunnerTest):
    digest = "3 values hashing to c0710d6b4f15dfa88f600b0e6b624077"  # printf '1\n2\n3\n' | md5sum

    def test_digest(self):
        self.assert_passes(f"query I\nVALUES (1), (2), (3)\n----\n{self.digest}\n", 1)

    def test_digest_is_taken_after_sorting(self):
        self.assert_passes(f"query I rowsort\nVALUES (3), (1), (2)\n----\n{self.digest}\n", 1)
        self.assert_passes(f"query III valuesort\nVALUES (3, 1, 2)\n----\n{self.digest}\n", 1)
        exit_code, _ = self.run_script(f"query I\nVALUES (3), (1), (2)\n----\n{self.digest}\n")
        self.assertEqual(exit_code, 1)

    def test_threshold_does_not_matter_for_checking(self):
        for threshold in (0, 2, 3):
            head = f"hash-threshold {threshold}\n\nquery I\nVALUES (1), (2), (3)\n----\n"
            self.assert_passes(head + self.digest + "\n", 1)
            self.assert_passes(head + "1\n2\n3\n", 1)

    def test_wrong_digest(self):
        wrong = "3 values hashing to 00000000000000000000000000000000"
        report = "FAIL t.test:1: wrong result\n"
        report += (
            f"     expected: {wrong}\n     got:      {self.digest}, which are 3 values: 1 | 2 | 3\n"
        )
        self.assert_fails(
            f"query I\nVALUES (1), (2), (3)\n----\n{wrong}\n",
            report + "     SQL:      VALUES (1), (2), (3)\n",
        )

    def test_wrong_count(self):
        exit_code, _ = self.run_script(f"query I\nVALUES (1), (2), (3)\n----\n4{self.digest[1:]}\n")
        self.assertEqual(exit_code, 1)


class Statements(RunnerTest):
    def test_statement_ok(self):
        self.assert_passes(
            "statement ok\nCREATE TABLE t(a); INSERT INTO t\nVALUES (1);\n\nstatement ok\nSELECT *"
            " FROM t",
            2,
        )

    def test_unexpected_error(self):
        report = (
            "FAIL t.test:1: the statement failed\n     got:      no such table: t\n     SQL:     "
            " DROP TABLE t\n"
        )
        self.assert_fails("statement ok\nDROP TABLE t\n", report)

    def test_error_in_a_later_statement(self):
        sql = (
            "CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (1); INSERT INTO t VALUES (1); INSERT"
            " INTO t VALUES (2)"
        )
        query = "query I\nSELECT a FROM t\n----\n1\n"
        self.assert_passes(f"statement error UNIQUE\n{sql}\n\n{query}", 2)

    def test_missing_error(self):
        report = (
            "FAIL t.test:1: the statement succeeded\n     expected: an error\n     SQL:     "
            " SELECT 1\n"
        )
        self.assert_fails("statement error\nSELECT 1\n", report)
        report = report.replace("an error", "an error no such table")
        self.assert_fails("statement error no such table\nSELECT 1\n", report)

    def test_error_messages_match_as_regular_expressions(self):
        for pattern in (
            "",
            " no such table",
            " ^no such table: t$",
            " [Nn]o (such)?  *table: .",
            "   table:",
        ):
            self.assert_passes(f"statement error{pattern}\nDROP TABLE t\n", 1)

    def test_wrong_error_message(self):
        for pattern in ("no such column", "^table", "SQLError", "no such table: t."):
            report = "FAIL t.test:1: wrong error message\n"
            report += (
                f"     expected: {pattern}\n     got:      no such table: t\n     SQL:      DROP"
                " TABLE t\n"
            )
            self.assert_fails(f"statement error {pattern}\nDROP TABLE t\n", report)

    def test_bad_regular_expression(self):
        report = (
            "FAIL t.test:1: `(` is not a regular expression: missing ), unterminated subpattern at"
            " position 0\n"
        )
        self.assert_fails(
            "statement error (\nDROP TABLE t\n", report + "     SQL:      DROP TABLE t\n"
        )


class Labels(RunnerTest):
    def test_equal_results(self):
        script = (
            "query I rowsort x\nVALUES (1), (2)\n----\n1\n2\n\nquery I rowsort x\nVALUES (2),"
            " (1)\n----\n1\n2\n\n"
        )
        self.assert_passes(script + "query I nosort y\nSELECT 3\n----\n3\n", 3)

    def test_different_results(self):
        report = (
            "FAIL t.test:6: another result of label x than at t.test:1\n"
            "     expected: 1 values hashing to b026324c6904b2a9cb4b88d6d61c81d1\n"
            "     got:      1 values hashing to 26ab0db90d72e28ad0ba1e22ee510510\n"
            "     SQL:      SELECT 2\n"
        )
        self.assert_fails(
            "query I nosort x\nSELECT 1\n----\n1\n\nquery I nosort x\nSELECT 2\n----\n2\n",
            report,
            passed=1,
        )

    def test_a_skipped_query_still_counts(self):
        head = (
            "query I nosort x\nSELECT 1\n----\n1\n\nonlyif mysql\nquery I nosort x\nSELECT"
            " one\n----\n"
        )
        self.assert_passes(head + "1\n", 1, skipped=1)
        self.assert_passes(
            head + "1 values hashing to b026324c6904b2a9cb4b88d6d61c81d1\n", 1, skipped=1
        )
        exit_code, output = self.run_script(head + "2\n")
        self.assertEqual(
            (exit_code, output[:63]),
            (1, "FAIL t.test:7: another result of label x than at t.test:1\n     "),
        )

    def test_each_script_has_its_own(self):
        Path("a.test").write_text("query I nosort x\nSELECT 1\n----\n1\n")
        Path("b.test").write_text("query I nosort x\nSELECT 2\n----\n2\n")
        self.assertEqual(self.run_paths("a.test", "b.test")[0], 0)


class Mistakes(RunnerTest):
    """What is no script: the message names the line, and what follows still runs."""

    def check(self, record, message, line=1, sql=""):
        report = f"FAIL t.test:{line}: {message}\n" + (f"     SQL:      {sql}\n" if sql else "")
        self.assert_fails(f"{record}\n\nstatement ok\nSELECT 1\n", report, passed=1)

    def test_unknown_record(self):
        self.check("statment ok\nSELECT 1", "unknown record `statment`")
        self.check("SELECT 1", "unknown record `SELECT`")

    def test_statement(self):
        for line in (
            "statement",
            "statement okay",
            "statement ok then",
            "statement errors",
            "statement OK",
        ):
            self.check(
                f"{line}\nSELECT 1",
                f"`{line}` is not `statement ok` or `statement error [PATTERN]`",
            )

    def test_types(self):
        for line in ("query", "query X", "query TIX", "query i", "query I nosort label more"):
            message = f"`{line}` is not `query TYPES [SORT [LABEL]]` with one of T, I, R per column"
            self.check(f"{line}\nSELECT 1\n----\n1", message)

    def test_sort_mode(self):
        self.check(
            "query I sorted\nSELECT 1\n----\n1",
            "unknown sort mode `sorted`; there are nosort, rowsort, valuesort",
        )

    def test_no_sql(self):
        self.check("statement ok", "there is no SQL for the statement")
        self.check("query I\n----\n1", "there is no SQL for the query")

    def test_control_records(self):
        for line in (
            "halt now",
            "hash-threshold",
            "load",
            "reconnect x",
            "include",
            "loop i 0",
            "require-sqlite",
        ):
            self.check(line, f"wrong number of words after `{line.split()[0]}`")
        self.check("hash-threshold many", "`many` is not an integer")

    def test_conditions(self):
        for line in (
            "skipif",
            "onlyif a b",
            "onlyif sqlite>=",
            "skipif sqlite>=new",
            "onlyif sqlite~3",
        ):
            message = (
                f"`{line}` is not `{line.split()[0]} NAME` or `{line.split()[0]} NAME>=VERSION`"
            )
            self.check(f"{line}\nstatement ok\nSELECT 1", message)
        self.check("onlyif sqlite", "nothing follows the condition or connection")
        self.check("skipif mysql\n\n# alone", "nothing follows the condition or connection")

    def test_connection(self):
        self.check("connection\nstatement ok\nSELECT 1", "`connection` is not `connection NAME`")
        self.check(
            "connection a\nreconnect",
            "`connection` stands above a statement or query, not above `reconnect`",
            line=2,
        )
        message = "a database in memory has only one connection; `load FILE` first"
        self.check("connection a\nstatement ok\nSELECT 1", message, line=2, sql="SELECT 1")

    def test_loops(self):
        self.check("endloop", "endloop without a loop")
        self.check("loop i 0 ten\n\nstatement ok\nSELECT 1\n\nendloop", "`ten` is not an integer")
        script = "statement ok\nSELECT 1\n\nloop i 0 2\n\nstatement ok\nSELECT 1\n"
        self.assert_fails(script, "FAIL t.test:4: loop without endloop\n", passed=1)
        script = "loop i 0 2\n\nstatement ok\nSELECT 1\n\nskipif mysql\nendloop\n"
        self.assert_fails(script, "FAIL t.test:1: loop without endloop\n")

    def test_variable_without_loop(self):
        message = "${i} is no loop variable here"
        self.check("statement ok\nSELECT '${i}'", message, sql="SELECT '${i}'")
        self.check(
            "loop j 0 1\n\nendloop\n\nstatement ok\nSELECT ${j}",
            "${j} is no loop variable here",
            5,
            "SELECT ${j}",
        )

    def test_file_that_is_not_utf8(self):
        Path("t.test").write_bytes(b"statement ok\nSELECT '\xff'\n")
        exit_code, output = self.run_paths("t.test")
        self.assertEqual(exit_code, 1)
        self.assertTrue(
            output.startswith("FAIL t.test:1: the script cannot be read: 'utf-8' codec"), output
        )


class Layout(RunnerTest):
    def test_comments_are_dropped_everywhere(self):
        script = "# a\nquery I\n# b\nSELECT 1\n#c\n, 2 -- SELECT\n# d\n----\n# e\n1\n# f\n2\n"
        self.assert_passes(script.replace("query I", "query II"), 1)

    def test_only_the_first_column_makes_a_comment(self):
        self.assert_passes("query T\nSELECT '\n # not a comment'\n----\n@ # not a comment\n", 1)

    def test_blank_lines_may_hold_spaces(self):
        self.assert_passes("\n \nstatement ok\nSELECT 1\n\t\nstatement ok\nSELECT 2\n\n\n", 2)

    def test_carriage_returns(self):
        self.assert_passes(
            "statement ok\r\nCREATE TABLE t(a)\r\n\r\nquery I\r\nSELECT 1\r\n----\r\n1\r\n", 2
        )

    def test_a_control_record_ends_with_its_line(self):
        self.assert_passes(
            "hash-threshold 8\nloop i 0 2\nstatement ok\nSELECT ${i}\n\nendloop\nstatement"
            " ok\nSELECT 1\n",
            3,
        )

    def test_empty_script(self):
        self.assert_passes("", 0)
        self.assert_passes("# nothing\n", 0)


class Conditions(RunnerTest):
    def check(self, condition, runs):
        script = f"{condition}\nstatement ok\nSELECT 1\n"
        self.assert_passes(script, 1 if runs else 0, skipped=0 if runs else 1)

    def test_names(self):
        self.check("onlyif sqlite", True)
        self.check("onlyif SQLite # any case", True)
        self.check("skipif sqlite", False)
        self.check("onlyif mysql", False)
        self.check("skipif mysql#comment", True)

    def test_versions(self):
        major, minor, *_ = sqllogictest.SQLITE_VERSION.split(".")
        older, newer = f"{major}.{int(minor) - 1}", f"{major}.{int(minor) + 1}"
        for condition, holds in (
            (f">={major}.{minor}", True),
            (f" >= {major}.{minor}", True),
            (f"<={major}.{minor}", True),
            (f"={major}.{minor}", True),
            (f"={sqllogictest.SQLITE_VERSION}", True),
            (f">{major}.{minor}", False),
            (f"<{major}.{minor}", False),
            (f">{older}", True),
            (f"<={older}", False),
            (f"<{newer}", True),
            (f">={newer}", False),
            (">=3.9", True),
        ):
            self.check(f"onlyif sqlite{condition}", holds)
            self.check(f"skipif sqlite{condition}", not holds)
            self.check(f"onlyif mysql{condition}", False)

    def test_all_conditions_must_agree(self):
        self.check("onlyif sqlite\nskipif mysql", True)
        self.check("onlyif sqlite\nskipif sqlite>=3", False)
        self.check("skipif sqlite\nonlyif sqlite", False)

    def test_control_records(self):
        self.assert_passes(
            "onlyif mysql\nhalt\n\nonlyif mysql\nload /nowhere/a.db\n\nonlyif mysql\nwhatever\n\n"
            "statement ok\nSELECT 1\n",
            1,
        )
        self.assert_passes(
            "skipif sqlite\nloop i 0 9\n\nstatement ok\nSELECT x\n\nendloop\n", 0, skipped=1
        )

    def test_require_sqlite(self):
        self.assert_passes("require-sqlite 3.0\n\nstatement ok\nSELECT 1\n", 1)
        head = "statement ok\nSELECT 1\n\n"
        rest = "\n\nstatement ok\nSELECT x\n\nloop i 0 9\n\nquery I\nSELECT x\n----\n\nendloop\n"
        exit_code, output = self.run_script(f"{head}require-sqlite {NEWER_VERSION}{rest}")
        reason = f"t.test:4 requires SQLite {NEWER_VERSION}, this is {sqllogictest.SQLITE_VERSION}"
        self.assertEqual(
            output, f"skip t.test: {reason} (1 records, 2 skipped)\n1 passed, 0 failed, 2 skipped\n"
        )
        self.assertEqual(exit_code, 0)

    def test_a_failure_before_require_sqlite_still_counts(self):
        exit_code, output = self.run_script(
            f"statement error\nSELECT 1\n\nrequire-sqlite {NEWER_VERSION}\n"
        )
        self.assertEqual((exit_code, output.splitlines()[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_halt(self):
        exit_code, output = self.run_script(
            "statement ok\nSELECT 1\n\nhalt\n\nstatement ok\nSELECT x\n"
        )
        self.assertEqual(
            (exit_code, output),
            (0, "ok   t.test (1 records, halted at t.test:4)\n1 passed, 0 failed, 0 skipped\n"),
        )


class Loops(RunnerTest):
    def test_substitution(self):
        script = (
            "loop i 3 6\n\nstatement ok\nCREATE TABLE t${i}(a${i})\n\nquery I nosort x${i}\nSELECT"
            " ${i} * 2\n----\n${i}+${i}\n\nstatement error no such table: u${i}\nSELECT * FROM"
            " u${i}\n\nendloop\n\nquery T\nSELECT name FROM sqlite_schema ORDER BY"
            " 1\n----\nt3\nt4\nt5\n"
        )
        self.assert_passes(
            script.replace("SELECT ${i} * 2", "SELECT '${i}+${i}'").replace("query I", "query T"),
            10,
        )

    def test_nested_loops_with_bounds_of_the_outer_one(self):
        script = "statement ok\nCREATE TABLE t(a)\n\n"
        script += "loop i 0 4\n\nloop j ${i} 4\n\nstatement ok\nINSERT INTO t VALUES (${i}${j})\n\n"
        script += (
            "endloop\n\nendloop\n\nquery T\nSELECT group_concat(a, ' ') FROM t\n----\n0 1 2 3 11 12"
            " 13 22 23 33\n"
        )
        self.assert_passes(script, 12)

    def test_an_inner_loop_hides_the_variable_of_an_outer_one(self):
        script = "loop i 1 2\n\nloop i 5 6\n\nquery I\nSELECT 5\n----\n${i}\n\nendloop\n\n"
        script += "query I\nSELECT 1\n----\n${i}\n\nendloop\n"
        self.assert_passes(script, 2)

    def test_negative_and_empty_ranges(self):
        self.assert_passes(
            "loop i -2 0\n\nquery I\nSELECT ${i}\n----\n${i}\n\nendloop\n\nloop i 3 3\n\nstatement"
            " ok\nx\n\nendloop\n",
            2,
        )

    def test_a_failing_record_is_counted_each_time_and_shown_once(self):
        report = (
            "FAIL t.test:5: wrong result, first at row 1, column 1 (i = 7, j = 1)\n     expected: 1"
            " values: 0\n     got:      1 values: 7\n     SQL:      SELECT ${i} * ${j}\n"
        )
        script = (
            "loop i 7 9\n\nloop j 0 3\n\nquery I\nSELECT ${i} *"
            " ${j}\n----\n0\n\nendloop\n\nendloop\n"
        )
        self.assert_fails(script, report, passed=2, failed=4)

    def test_halt_and_require_sqlite_end_a_loop(self):
        rest = "endloop\n\nstatement ok\nx\n"
        _, output = self.run_script(f"loop i 0 9\n\nstatement ok\nSELECT 1\n\nhalt\n\n{rest}")
        self.assertIn("1 passed, 0 failed, 0 skipped\n", output)
        script = (
            f"loop i 0 9\n\nstatement ok\nSELECT 1\n\nrequire-sqlite {NEWER_VERSION}\n\nstatement"
            f" ok\nx\n\n{rest}"
        )
        self.assertIn("1 passed, 0 failed, 2 skipped\n", self.run_script(script)[1])


class Includes(RunnerTest):
    def test_records_run_as_if_they_stood_there(self):
        script = "loop i 0 2\n\ninclude a.inc\n\nendloop\n\nquery I nosort x\nSELECT 2\n----\n2\n"
        self.assert_passes(script, 3, a="query I nosort x${i}\nSELECT ${i}\n----\n${i}\n")

    def test_paths_are_relative_to_the_including_file(self):
        Path("below/deep").mkdir(parents=True)
        Path("below/a.inc").write_text("include deep/b.inc\n")
        Path("below/deep/b.inc").write_text("query I\nSELECT 1\n----\n2\n")
        report = "FAIL below/deep/b.inc:1: wrong result, first at row 1, column 1\n"
        report += (
            "     expected: 1 values: 2\n     got:      1 values: 1\n     SQL:      SELECT 1\n"
        )
        self.assert_fails("include below/a.inc\n", report)

    def test_mistakes(self):
        self.assert_fails(
            "statement ok\nSELECT 1\n\ninclude b.inc\n",
            "FAIL t.test:4: there is no file b.inc to include\n",
            passed=1,
        )
        self.assert_fails(
            "include a.inc\n", "FAIL a.inc:1: t.test includes itself\n", a="include t.test\n"
        )

    def test_halt_stops_the_whole_script(self):
        exit_code, output = self.run_script("include a.inc\n\nstatement ok\nx\n", a="halt\n")
        self.assertEqual(
            (exit_code, output),
            (0, "ok   t.test (0 records, halted at a.inc:1)\n0 passed, 0 failed, 0 skipped\n"),
        )


class Databases(RunnerTest):
    fill = "statement ok\nCREATE TABLE t(a); INSERT INTO t VALUES (1)\n\n"
    count = "query I\nSELECT count(*) FROM t\n----\n1\n\n"

    def test_load_and_reconnect_keep_what_is_committed(self):
        change = "statement ok\nBEGIN; DELETE FROM t\n\n"
        self.assert_passes(
            f"load a.db\n\n{self.fill}{change}reconnect\n\n{self.count}load b.db\n\nload"
            f" a.db\n\n{self.count}",
            4,
        )

    def test_reconnect_opens_a_new_connection(self):
        script = f"load a.db\n\n{self.fill}statement ok\nCREATE TEMP TABLE u(a)\n\nreconnect\n\n"
        script += "statement error no such table: u\nSELECT * FROM u\n"
        self.assert_passes(script, 3)

    def test_each_file_is_another_database(self):
        for name in ("b.db", ":memory:"):
            self.assert_passes(
                f"load a.db\n\n{self.fill}load {name}\n\nstatement error no such table\nSELECT *"
                " FROM t\n",
                2,
            )

    def test_load_memory_twice_gives_another_database(self):
        self.assert_passes(
            f"{self.fill}load :memory:\n\nstatement error no such table\nSELECT * FROM t\n", 2
        )

    def test_reconnect_in_memory(self):
        report = "FAIL t.test:4: a database in memory cannot be opened again; `load FILE` first\n"
        self.assert_fails(self.fill + "reconnect\n\n" + self.count, report, passed=2)

    def test_file_that_cannot_be_opened(self):
        report = (
            "FAIL t.test:1: nowhere/a.db cannot be opened\n     got:      unable to open database"
            " file\n"
        )
        self.assert_fails("load nowhere/a.db\n\nload a.db\n\n" + self.fill, report, passed=1)

    def test_uri(self):
        error = "statement error attempt to write a readonly database\nDELETE FROM t\n\n"
        self.assert_passes(
            f"load a.db\n\n{self.fill}load file:a.db?mode=ro\n\n{error}{self.count}", 3
        )

    def test_scripts_share_no_files_and_leave_none(self):
        other_files = (
            "statement ok\nATTACH 'b.db' AS b; CREATE TABLE b.u(a); VACUUM main INTO 'c.db'\n\n"
        )
        script = f"load a.db\n\n{self.fill}{other_files}load c.db\n\n{self.count}"
        self.assert_passes(script, 3)
        self.assert_passes(script, 3)
        self.assertEqual(os.listdir(), ["t.test"])

    def test_connections(self):
        script = (
            f"load a.db\n\n{self.fill}statement ok\nBEGIN; DELETE FROM t\n\n"
            "connection other\nquery I\nSELECT count(*) FROM t\n----\n1\n\n"
            "query I\nSELECT count(*) FROM t\n----\n0\n\n"
            "connection other\nstatement error database is locked\nDELETE FROM t\n\n"
            "statement ok\nCOMMIT\n\n"
            "skipif mysql\nconnection other\nquery I\nSELECT count(*) FROM t\n----\n0\n\n"
        )
        self.assert_passes(script, 7)

    def test_connections_end_with_load_and_reconnect(self):
        temp = "connection other\nstatement ok\nCREATE TEMP TABLE u(a)\n\n"
        for record in ("reconnect", "load a.db"):
            self.assert_passes(f"load a.db\n\n{temp}{record}\n\n{temp}", 2)
        self.assertEqual(self.run_script(f"load a.db\n\n{temp}{temp}")[0], 1)


class Update(RunnerTest):
    def test_missing_results_are_written(self):
        before = "# head\nquery IT\nSELECT 1,\n'a'\n\nquery I\nSELECT 1 WHERE 0\n\n\n"
        before += "query I\nSELECT 2\n----\n\nquery I\nSELECT 3"
        after = (
            "# head\nquery IT\nSELECT 1,\n'a'\n----\n1\na\n\nquery I\nSELECT 1 WHERE 0\n----\n\n\n"
        )
        after += "query I\nSELECT 2\n----\n2\n\nquery I\nSELECT 3\n----\n3"
        self.assert_updates(before, after, 4)

    def test_wrong_results_are_replaced_and_all_else_is_kept(self):
        head = "\n\n#a\n  query   I  rowsort\nSELECT 1 -- x  \n#b\n----\n#c\n"
        tail = "\n#d\n\n \nquery I\nSELECT 4\n#e\n----\n#f\n4\n\n\n#g\n"
        self.assert_updates(f"{head}2\n3{tail}", f"{head}1{tail}", 1)

    def test_results_are_sorted(self):
        self.assert_updates(
            "query I rowsort\nVALUES (2), (1)\n",
            "query I rowsort\nVALUES (2), (1)\n----\n1\n2\n",
            1,
        )

    def test_hash_threshold(self):
        before = (
            "hash-threshold 2\n\nquery I\nVALUES (1), (2), (3)\n\n"
            "query I\nVALUES (1), (2)\n\nhash-threshold 0\n\nquery I\nVALUES (1), (2), (3)\n"
        )
        after = (
            f"hash-threshold 2\n\nquery I\nVALUES (1), (2), (3)\n----\n{Digests.digest}\n\nquery"
            " I\nVALUES (1), (2)\n----\n1\n2\n\nhash-threshold 0\n\nquery I\nVALUES (1), (2),"
            " (3)\n----\n1\n2\n3\n"
        )
        self.assert_updates(before, after, 3)

    def test_right_results_stay_as_they_are_written(self):
        script = "hash-threshold 1\n\nquery I\nVALUES (1), (2), (3)\n----\n1\n2\n3\n\n"
        script += f"hash-threshold 9\n\nquery I\nVALUES (1), (2), (3)\n----\n{Digests.digest}\n"
        self.assertEqual(
            self.run_script(script, "--update")[1],
            "ok   t.test (2 records)\n2 passed, 0 failed, 0 skipped\n",
        )
        self.assertEqual(Path("t.test").read_text(), script)

    def test_carriage_returns(self):
        self.assert_updates(
            "query I\r\nSELECT 1\r\n\r\nstatement ok\r\nSELECT 1\r\n",
            "query I\r\nSELECT 1\r\n----\r\n1\r\n\r\nstatement ok\r\nSELECT 1\r\n",
            1,
        )

    def test_loop_with_the_same_result_each_time(self):
        before = (
            "loop i 0 3\n\nquery I\nSELECT ${i} >= 0\n----\n0\n\nquery I\nSELECT"
            " ${i}\n----\n${i}\n\nendloop\n"
        )
        self.assert_updates(before, before.replace("----\n0", "----\n1"), 1)

    def test_loop_with_different_results(self):
        for expected in ("0", "7"):
            script = f"loop i 0 3\n\nquery I\nSELECT ${{i}}\n----\n{expected}\n\nendloop\n"
            exit_code, output = self.run_script(script, "--update")
            report = (
                "FAIL t.test:3: cannot be updated: its result is not the same each time it runs\n"
            )
            self.assertEqual(
                (exit_code, output),
                (1, f"ok   t.test (3 records)\n{report}3 passed, 1 failed, 0 skipped\n"),
            )
            self.assertEqual(Path("t.test").read_text(), script)

    def test_included_files(self):
        _, output = self.run_script(
            "include a.inc\n\ninclude a.inc\n\nquery I\nSELECT 2\n",
            "--update",
            a="query I\nSELECT 1\n",
        )
        self.assertIn("updated a.inc (1 queries)\nupdated t.test (1 queries)\n", output)
        self.assertEqual(Path("a.inc").read_text(), "query I\nSELECT 1\n----\n1\n")
        self.assertEqual(
            Path("t.test").read_text(),
            "include a.inc\n\ninclude a.inc\n\nquery I\nSELECT 2\n----\n2\n",
        )

    def test_statements_skipped_queries_and_failures_are_left_alone(self):
        script = (
            "statement error no such column\nDROP TABLE t\n\nstatement error\nSELECT 1\n\nstatement"
            " ok\nx\n\nonlyif mysql\nquery I\nSELECT 1\n\nquery I\nSELECT x\n\nquery I\nSELECT 1,"
            " 2\n----\n5\n"
        )
        exit_code, output = self.run_script(script, "--update")
        self.assertEqual(
            [line[:14] for line in output.splitlines() if line.startswith("FAIL t.test:")],
            [
                "FAIL t.test:1:",
                "FAIL t.test:4:",
                "FAIL t.test:7:",
                "FAIL t.test:14",
                "FAIL t.test:17",
                "FAIL t.test: 5",
            ],
        )
        self.assertEqual(exit_code, 1)
        self.assertEqual(Path("t.test").read_text(), script)

    def test_values_that_a_script_cannot_hold(self):
        for value in ("' '", "'#1'"):
            script = f"query T\nSELECT {value}\n"
            report = "FAIL t.test:1: a script cannot hold this value: use quote()\n"
            report += f"     got:      {value}\n     SQL:      SELECT {value}\n"
            exit_code, output = self.run_script(script, "--update")
            self.assertEqual(
                (exit_code, output),
                (1, report + "FAIL t.test: 1 of 1 records\n0 passed, 1 failed, 0 skipped\n"),
            )
            self.assertEqual(Path("t.test").read_text(), script)

    def test_without_update_nothing_is_written(self):
        script = "query I\nSELECT 1\n----\n2\n"
        self.run_script(script)
        self.assertEqual(Path("t.test").read_text(), script)


class CommandLine(RunnerTest):
    def run_program(self, *arguments):
        command = [sys.executable, str(TESTS / "sqllogictest.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_output_and_exit_codes(self):
        Path("pass.test").write_text("statement ok\nSELECT 1\n")
        Path("fail.test").write_text("statement ok\nSELECT x\n")
        result = self.run_program("pass.test")
        head = f"SQLite {sqllogictest.SQLITE_VERSION}, apsw {sqllogictest.APSW_VERSION}\n"
        self.assertEqual(
            result.stdout, head + "ok   pass.test (1 records)\n1 passed, 0 failed, 0 skipped\n"
        )
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        result = self.run_program("pass.test", "fail.test", "pass.test")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout.splitlines()[-1], "2 passed, 1 failed, 0 skipped")

    def test_wrong_command_lines(self):
        Path("empty").mkdir()
        for arguments, message in (
            ((), "the following arguments are required: FILE_OR_DIRECTORY"),
            (("nowhere.test",), "nowhere.test: no script there"),
            (("empty",), "empty: no script there"),
            (("--load", "./nowhere", "empty/../t.test"), "./nowhere does not load: "),
        ):
            Path("t.test").write_text("")
            result = self.run_program(*arguments)
            self.assertEqual((result.stdout, result.returncode), ("", 2))
            self.assertIn(f"error: {message}", result.stderr)

    def test_directories(self):
        for path in ("b.test", "a/z.test", "a/y.test", "a/x.inc", "c.test"):
            Path("d", path).parent.mkdir(parents=True, exist_ok=True)
            Path("d", path).write_text("statement ok\nSELECT 1\n")
        _, output = self.run_paths("d")
        names = ("d/a/y.test", "d/a/z.test", "d/b.test", "d/c.test")
        self.assertEqual(
            output,
            "".join(f"ok   {name} (1 records)\n" for name in names)
            + "4 passed, 0 failed, 0 skipped\n",
        )

    def test_timing(self):
        _, output = self.run_script("statement ok\nSELECT 1\n", "--timing")
        self.assertRegex(
            output, r"^ok   t\.test \(1 records, \d+\.\d{3} s\)\n1 passed, 0 failed, 0 skipped\n$"
        )

    def test_the_tour_of_the_syntax_passes(self):
        exit_code, output = self.run_paths(str(TESTS))
        tour = TESTS / "syntax.test"
        line = tour.read_text().split("\n").index("halt") + 1
        self.assertEqual(
            output,
            f"ok   {tour} (28 records, 1 skipped, halted at {tour}:{line})\n28 passed, 0 failed, 1"
            " skipped\n",
        )
        self.assertEqual(exit_code, 0)

    @unittest.skipUnless(shutil.which("cc"), "skipped: gcc is not installed")
    def test_load(self):
        source = TESTS / "extension.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "extension.so", str(source)], check=True)
        query = "query T\nSELECT extension_loaded()\n----\nloaded\n\n"
        script = (
            f"{query}load a.db\n\n{query}reconnect\n\n{query}connection other\n{query}load"
            f" :memory:\n\n{query}"
        )
        closed = "statement error not authorized\nSELECT load_extension('extension')\n"
        for path in ("extension.so", "./extension", os.path.abspath("extension.so")):
            exit_code, output = self.run_script(script + closed, "--load", path)
            self.assertEqual(
                (exit_code, output), (0, "ok   t.test (6 records)\n6 passed, 0 failed, 0 skipped\n")
            )
        result = self.run_program("--load", "./extension.so", "t.test")
        self.assertIn(", with ./extension.so\n", result.stdout)
        for options in (("--no-load",), ("--load", "./extension.so", "--no-load"), ()):
            exit_code, output = self.run_script(script, *options)
            self.assertEqual(
                (exit_code, output.count("got:      no such function: extension_loaded\n")), (1, 5)
            )


if __name__ == "__main__":
    unittest.main()
