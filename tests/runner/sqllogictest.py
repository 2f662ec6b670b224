#!/usr/bin/env python3
"""Run sqllogictest scripts against SQLite, with or without a loadable extension.

    sqllogictest.py [--load EXTENSION] [--update] FILE_OR_DIRECTORY...

A script is a plain text file of SQL and the results it must give. A directory stands for every
*.test file below it. The exit code is 0 when everything passed, 1 when something failed, 2 when the
command line is wrong or the extension does not load. It needs Python 3.11 and apsw, of any release
from 3.40. This text is the reference of the script syntax.

Scripts
    A script is a series of records with at least one blank line between them. A line with `#` in
    its first column is a comment wherever it stands, also inside SQL and among results. So SQL can
    hold neither blank lines nor lines that begin with `#`. The file is UTF-8. Every script starts
    with an empty database in memory and, as its working directory, an empty directory of its own
    that is removed afterwards: ATTACH 'b.db' and VACUUM INTO 'b.db' go there. When it is over, none
    of SQLite's memory may be left.

statement ok                The SQL on the lines below, up to a blank line, must succeed. Several
INSERT INTO t VALUES (1)    statements with semicolons between them are run in turn.

statement error             The SQL must fail; of several statements the last, which begins on a
BEGIN;                      line of its own. What follows the word `error` is optional: a regular
INSERT INTO t VALUES (1)    expression that must be found somewhere in SQLite's message, as in
                            `statement error UNIQUE constraint`.

query IT rowsort            The SQL must succeed with these results. `query TYPES [SORT]`:
SELECT a, b FROM t          TYPES has one letter per column. Below the line `----` stands one row
----                        per line with `|` between its values, or one value per line, row by row.
1|one                       No value there means that no row may come. Of several statements the
2|two                       rows come one after the other.

TYPES   T   text: a number as SQLite writes it, a BLOB byte by byte. Each byte of the UTF-8 outside
            0x20 to 0x7E is shown as `@`, and a value without bytes as `(empty)`.
        I   an integer of 64 bits; other values are converted as by sqlite3_column_int64, which is
            CAST AS INTEGER.
        R   a real number, with SQLite's own printf('%.3f'), as SQLite's reference runner: it tells
            some 16 digits, after which zeros follow, rounds as its release does, and infinity is
            `Inf`. Other values are first converted as by sqlite3_column_double, which is CAST AS
            REAL.
        NULL is shown as `NULL` in all three.
SORT    nosort      as the rows come; the default
        rowsort     rows in the order of their values as shown, compared byte by byte, column after
                    column

Conditions stand on lines of their own directly above the record they apply to, and may end with a
comment:
skipif NAME                 Leave the record out on the database NAME. Ours is `sqlite`.
onlyif NAME                 Leave the record out on all others. With several conditions, all must
                            agree to run it.
onlyif sqlite>=3.44         `sqlite` can be compared (< <= = >= >) with a version, of which only as
                            many numbers count as are given: 3.44.2 is = 3.44 and not > 3.44.
connection NAME             Stands in the same place: runs the statement or query below it on a
                            further connection to the same database file, which is opened when its
                            name is first used.

Control records are one line each:
load FILE                   Close all connections and open FILE, a path in the script's directory, a
                            `file:` URI, or `:memory:` for another empty database.
reconnect                   Close all connections and open the same file again.
include FILE                Run the records of FILE, a path relative to the including script, as if
                            they stood here.
loop NAME START END         Run the records up to the matching `endloop` for each integer from START
...                         to END - 1. In all of them `${NAME}` stands for it: in SQL, results,
endloop                     patterns, names of files and connections, and bounds of inner loops.
                            `${x}` for an x that is no loop's name is an error.
foreach NAME...             Run the records up to the matching `endloop` for each line up to the
1 | one                     next blank one, which holds the values of these names with `|` between
2 | two                     them. In patterns they stand for themselves: no character of a value is
...                         one of a regular expression there.
endloop
require-sqlite VERSION      On an older SQLite, leave out the rest of the script, and say so.

Updating
    --update fills in what the queries return: where a result is missing or differs, the lines below
    `----` are replaced, and nothing else in the file changes. It takes the answers as they come:
    read them. In loops and included files this works if the result is always the same. Values that
    the syntax cannot hold (blank, or beginning with `#`) and everything else that fails are
    reported as usual.

CASE=TEXT in the environment
    Only records with this text in their SQL are counted. All are run, because one needs what others
    before it have made, and those that fail are reported.

What this runner cannot do
    - apsw cannot hand over TEXT that is not valid UTF-8: select CAST(x AS BLOB), which is shown in
      the same way.
    - Nothing binds parameters (`?`, `:name`).
    - apsw 3.40 as built by Debian aborts when a record with more than 16383 bytes of SQL fails
      while it runs.
"""

import argparse
import contextlib
import gc
import operator
import os
import re
import sqlite3
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import apsw

SORT_MODES = ("nosort", "rowsort")
# The first word of each control record, and how many follow it.
WORDS_AFTER = dict.fromkeys(("reconnect", "endloop"), 0) | {"loop": 3}
WORDS_AFTER |= dict.fromkeys(("load", "include", "require-sqlite"), 1)
LOOPS = ("loop", "foreach")
COMPARISONS = {"<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge,
               ">": operator.gt}
CONDITION = re.compile(r"(skipif|onlyif)\s+(\w+)(?:\s*(<=|>=|=|<|>)\s*(\d+(?:\.\d+)*))?\s*(?:#.*)?")
VARIABLE = re.compile(r"\$\{(\w+)\}")
SHOWN_BYTES = bytes(byte if 0x20 <= byte <= 0x7E else ord("@") for byte in range(256))
MOST_VALUES_SHOWN = 12
CASE = os.environ.get("CASE", "").strip("*")


def either(owner, name, older_name):
    """The attribute of an apsw object under its present name, or under the one it had in apsw
    3.40."""
    return getattr(owner, name, None) or getattr(owner, older_name)


SQLITE_VERSION = either(apsw, "sqlite_lib_version", "sqlitelibversion")()
APSW_VERSION = either(apsw, "apsw_version", "apswversion")()
CASTING_CONNECTION = apsw.Connection(
    ":memory:"
)  # to convert values as SQLite does, without any script's notice


class Failure(Exception):
    """A record did not do what the script says, or the script says something that makes no
    sense."""

    def __init__(self, message, expected=None, got=None):
        super().__init__(message)
        self.expected = expected
        self.got = got


# Reading scripts


@dataclass
class Record:
    """One record of a script, as written: `${...}` is still in place."""

    file: Path
    shown_file: str
    line: int
    kind: str = "broken"  # or "statement", "query", the first word of a control record
    argument: str = ""  # what follows the first word; of a broken record, what is wrong with it
    conditions: list = field(default_factory=list)
    connection: str = ""
    sql: str = ""
    types: str = ""
    sort_mode: str = ""
    expected: list | None = None  # None: there is no line `----`
    result_lines: slice | None = None  # where in the file the expected values are, or should be
    body: list = field(default_factory=list)  # the records inside a loop or an included file
    cases: list = field(default_factory=list)  # of foreach: the values of its names in each round

    @property
    def place(self):
        return f"{self.shown_file}:{self.line}"

    def mark_broken(self, reason):
        self.kind, self.argument, self.body = "broken", reason, []


def read_script(file, shown_file, including_files=()):
    """The records of a script. What cannot be understood becomes a broken record, which fails when
    it is run."""
    try:
        lines = file.read_bytes().decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        return [Record(file, shown_file, 1, argument=f"the script cannot be read: {error}")]
    records, open_loops = [], []
    for paragraph in split_into_paragraphs(lines):
        while paragraph:
            record = Record(file, shown_file, paragraph[0][0])
            try:
                read_record(record, paragraph)
                if record.kind == "include":
                    read_included_script(record, (file, *including_files))
                elif record.kind == "endloop":
                    if not open_loops or record.conditions:
                        raise Failure(
                            "endloop with a condition" if open_loops else "endloop without a loop"
                        )
                    open_loops.pop()
                    continue
            except Failure as failure:
                record.mark_broken(str(failure))
                paragraph.clear()
            (open_loops[-1].body if open_loops else records).append(record)
            if record.kind in LOOPS:
                open_loops.append(record)
    for loop in open_loops:
        loop.mark_broken("loop without endloop")
    return records


def split_into_paragraphs(lines):
    """The runs of lines between blank lines, each line with its number, without comments."""
    paragraph = []
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip():
            if paragraph:
                yield paragraph
            paragraph = []
        elif not line.startswith("#"):
            paragraph.append((number, line.removesuffix("\r")))


def read_record(record, paragraph):
    """Take the first record off a paragraph: its conditions, its first line and, unless that is
    all, the rest."""
    words = []
    while not words or words[0] in ("skipif", "onlyif", "connection"):
        if not paragraph:
            raise Failure("nothing follows the condition or connection")
        record.line, text = paragraph.pop(0)
        words = text.split()
        if words[0] == "connection":
            if len(words) != 2:
                raise Failure(f"`{text}` is not `connection NAME`")
            record.connection = words[1]
        elif words[0] in ("skipif", "onlyif"):
            condition = CONDITION.fullmatch(text.strip())
            if not condition:
                raise Failure(f"`{text}` is not `{words[0]} NAME` or `{words[0]} NAME>=VERSION`")
            record.conditions.append(condition.groups())
    kind = words[0]
    record.argument = text.strip().removeprefix(kind).strip()
    if kind == "statement":
        if words[1:] != ["ok"] and words[1:2] != ["error"]:
            raise Failure(f"`{text}` is not `statement ok` or `statement error [PATTERN]`")
    elif kind == "query":
        if not 2 <= len(words) <= 3 or not re.fullmatch("[TIR]+", words[1]):
            raise Failure(f"`{text}` is not `query TYPES [SORT]` with one of T, I, R per column")
        record.types = words[1]
        record.sort_mode = words[2] if len(words) > 2 else "nosort"
        if record.sort_mode not in SORT_MODES:
            raise Failure(
                f"unknown sort mode `{record.sort_mode}`; there are {', '.join(SORT_MODES)}"
            )
    elif kind == "foreach":
        for _, line in paragraph:
            record.cases.append([value.strip() for value in line.split("|")])
            if len(record.cases[-1]) != len(words) - 1:
                raise Failure(f"`{line}` is not a value for each of {', '.join(words[1:])}")
        paragraph.clear()
    elif kind not in WORDS_AFTER:
        raise Failure(f"unknown record `{kind}`")
    elif len(words) - 1 != WORDS_AFTER[kind]:
        raise Failure(f"wrong number of words after `{kind}`")
    elif record.connection:
        raise Failure(f"`connection` stands above a statement or query, not above `{kind}`")
    record.kind = kind
    if kind in ("statement", "query"):
        read_sql_and_result(record, paragraph)


def read_sql_and_result(record, paragraph):
    sql = []
    while paragraph and (record.kind == "statement" or paragraph[0][1].rstrip() != "----"):
        record.result_lines = slice(paragraph[0][0], paragraph[0][0])
        sql.append(paragraph.pop(0)[1])
    if not sql:
        raise Failure(f"there is no SQL for the {record.kind}")
    record.sql = "\n".join(sql)
    if paragraph:
        record.result_lines = slice(paragraph[0][0], paragraph[-1][0])
        record.expected = [value for _, value in paragraph[1:]]
    paragraph.clear()


def read_included_script(record, including_files):
    file = (record.file.parent / record.argument).resolve()
    if file in including_files:
        raise Failure(f"{record.argument} includes itself")
    if not file.is_file():
        raise Failure(f"there is no file {record.argument} to include")
    shown_file = os.path.join(os.path.dirname(record.shown_file), record.argument)
    record.body = read_script(file, shown_file, including_files)


# Running scripts


def memory_used():
    """What SQLite has allocated, unless it was built not to count; under both names of apsw."""
    return (getattr(apsw, "memory_used", None) or apsw.memoryused)()


class ScriptRun:
    """One run of one script: its connections and variables, and the count of what happened."""

    def __init__(self, extension, query_outcomes):
        self.extension = extension
        self.query_outcomes = query_outcomes  # None unless updating; see note_outcome
        self.database = ":memory:"
        self.connections = {}
        self.variables = {}
        self.skip_reason = ""
        self.passed = self.failed = self.skipped = 0
        self.reported_places = set()
        self.left = 0

    def run_script(self, records):
        before = memory_used()
        with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
            try:
                self.run_records(records)
            finally:
                self.disconnect()
        gc.collect()  # statements of cursors that a failure has kept
        self.left = memory_used() - before

    def run_records(self, records):
        for record in records:
            try:
                if self.skip_reason:
                    self.skipped += count_records(record)
                elif all(condition_allows(*condition) for condition in record.conditions):
                    self.run_record(record)
                    self.passed += (
                        record.kind in ("statement", "query") and CASE in self.fill(record.sql)
                    )
                else:
                    self.skipped += count_records(record)
            except Failure as failure:
                self.report(record, failure)

    def run_record(self, record):
        if record.kind == "broken":
            raise Failure(record.argument)
        if record.kind == "statement":
            self.run_statement(record)
        elif record.kind == "query":
            self.run_query(record)
        elif record.kind == "include":
            self.run_records(record.body)
        elif record.kind in LOOPS:
            self.run_loop(record)
        elif record.kind == "require-sqlite":
            if not condition_allows("onlyif", "sqlite", ">=", record.argument):
                self.skip_reason = (
                    f"{record.place} requires SQLite {record.argument}, this is {SQLITE_VERSION}"
                )
        else:  # load or reconnect
            if record.kind == "reconnect" and self.database == ":memory:":
                raise Failure("a database in memory cannot be opened again; `load FILE` first")
            self.disconnect()
            self.database = self.fill(record.argument) or self.database
            self.connect("")

    def run_loop(self, record):
        names, cases = record.argument.split(), record.cases
        if record.kind == "loop":
            cases = [[value] for value in range(*map(self.integer, names[1:]))]
        outer_variables = self.variables
        for values in cases:
            self.variables = outer_variables | dict(zip(names, values))
            self.run_records(record.body)
            if self.skip_reason:
                break
        self.variables = outer_variables

    def run_statement(self, record):
        wanted, *pattern = record.argument.split(maxsplit=1)
        pattern = self.fill("".join(pattern), re.escape)
        first, last = split_off_last(self.fill(record.sql))
        if wanted == "error" and first:
            _, _, error = self.execute(record, first)
            if error is not None:
                raise Failure("a statement before the last failed", got=error)
        _, _, error = self.execute(record, last if wanted == "error" else None)
        if wanted == "ok":
            if error is not None:
                raise Failure("the statement failed", got=error)
        elif error is None:
            raise Failure("the statement succeeded", expected=f"an error {pattern}".rstrip())
        else:
            try:
                found = re.search(pattern, error)
            except re.error as regex_error:
                raise Failure(f"`{pattern}` is not a regular expression: {regex_error}") from None
            if not found:
                raise Failure("wrong error message", expected=pattern, got=error)

    def run_query(self, record):
        if record.expected is None and self.query_outcomes is None:
            raise Failure(
                "the query has no line ---- with the expected values below it (--update can write"
                " them)"
            )
        rows, column_counts, error = self.execute(record)
        if error is not None:
            raise Failure("the query failed", got=error)
        for count in [count for count in column_counts if count] or [0]:
            if count != len(record.types):
                raise Failure(
                    "wrong number of columns", expected=f"{len(record.types)}", got=f"{count}"
                )
        rows = [[render(*pair) for pair in zip(row, record.types)] for row in rows]
        if record.sort_mode == "rowsort":
            rows.sort()
        values = [value for row in rows for value in row]
        expected = (
            None if record.expected is None else [self.fill(value) for value in record.expected]
        )
        matches = expected is not None and expected in (values, lines_of(record, rows))
        if self.query_outcomes is not None:
            self.note_outcome(record, matches, values, rows)
        elif not matches:
            raise describe_difference(record, expected, values, rows)

    def note_outcome(self, record, matches, values, rows):
        """Remember for write_updates what the lines of the result should be; None for "as they
        are"."""
        lines = tuple(lines_of(record, rows) or values)
        for line in lines:
            if not matches and (not line.strip() or line.startswith("#")):
                raise Failure("a script cannot hold this value: use quote()", got=repr(line))
        _, outcomes = self.query_outcomes.setdefault((record.file, record.line), (record, set()))
        outcomes.add(None if matches else lines)

    def execute(self, record, sql=None):
        """Run the SQL, by default that of the record. Give all rows, the number of columns of each
        statement, and the error message or None."""
        column_counts = []

        def note_columns(cursor, statement, bindings):
            # SQLite 3.31 tells columns of ALTER TABLE, which has none.
            if not statement.lstrip().upper().startswith("ALTER"):
                column_counts.append(len(either(cursor, "get_description", "getdescription")()))
            return True

        cursor = self.connect(self.fill(record.connection)).cursor()
        either(cursor, "set_exec_trace", "setexectrace")(note_columns)
        try:
            return list(cursor.execute(sql or self.fill(record.sql))), column_counts, None
        except apsw.BindingsError:
            raise Failure("the SQL has a parameter, and a script cannot bind it") from None
        except apsw.Error as error:
            return [], column_counts, message_of(error)
        except (
            ValueError
        ) as error:  # from apsw itself; it has no means to get at TEXT that it cannot decode
            raise Failure(
                "no result: where TEXT is not valid UTF-8, use CAST(... AS BLOB)", got=str(error)
            ) from None
        finally:
            cursor.close(True)

    def connect(self, name):
        """The connection of that name, opened if need be. The one that is used by default has the
        name ""."""
        if name not in self.connections:
            if name and self.database == ":memory:":
                raise Failure("a database in memory has only one connection; `load FILE` first")
            try:
                self.connections[name] = open_connection(self.database, self.extension)
            except apsw.Error as error:
                raise Failure(f"{self.database} cannot be opened", got=message_of(error)) from None
        return self.connections[name]

    def disconnect(self):
        while self.connections:
            self.connections.popitem()[1].close(True)

    def fill(self, text, quote=str):
        """The text with the values of the loop variables, quoted, in place of ${...}."""

        def value_of(match):
            if match[1] not in self.variables:
                raise Failure(f"{match[0]} is no loop variable here")
            return quote(str(self.variables[match[1]]))

        return VARIABLE.sub(value_of, text)

    def integer(self, text):
        try:
            return int(self.fill(text))
        except ValueError:
            raise Failure(f"`{text}` is not an integer") from None

    def report(self, record, failure):
        """Count a failure, and print it unless it is a later one of the same record."""
        self.failed += 1
        if record.place in self.reported_places:
            return
        self.reported_places.add(record.place)
        variables = ", ".join(f"{name} = {value}" for name, value in self.variables.items())
        print(f"FAIL {record.place}: {failure}" + (f" ({variables})" if variables else ""))
        for title, text in (("expected", failure.expected), ("got", failure.got),
                            ("SQL", record.sql)):
            if text:
                print(f"     {title + ':':<10}" + text.replace("\n", "\n" + 15 * " "))


def split_off_last(sql):
    """The statements before the last, and the last, which begins on a line of its own."""
    end = sql.rfind(";\n")
    while end >= 0 and not sqlite3.complete_statement(sql[: end + 1]):
        end = sql.rfind(";\n", 0, end)
    return sql[: end + 1], sql[end + 1 :]


def open_connection(database, extension):
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(database, flags)
    if extension:
        either(connection, "enable_load_extension", "enableloadextension")(True)
        either(connection, "load_extension", "loadextension")(extension)
        either(connection, "enable_load_extension", "enableloadextension")(False)
    return connection


def message_of(error):
    """SQLite's own message; apsw 3.40 puts the name of the exception before it."""
    return str(error).removeprefix(type(error).__name__ + ": ")


def count_records(record):
    """How many statements and queries a record that is left out stands for; a loop counts once."""
    return (record.kind in ("statement", "query")) + sum(
        count_records(inner) for inner in record.body
    )


def condition_allows(word, name, comparison, version):
    holds = name.lower() == "sqlite"
    if holds and comparison:
        wanted, running = (
            [int(number) for number in text.split(".")] for text in (version, SQLITE_VERSION)
        )
        holds = COMPARISONS[comparison](running[: len(wanted)], wanted)
    return holds == (word == "onlyif")


# Results


def render(value, column_type):
    """A value as scripts show it."""
    if value is None:
        return "NULL"
    if column_type == "I":
        return str(value if isinstance(value, int) else convert("CAST(? AS INTEGER)", value))
    if column_type == "R":
        return convert("printf('%.3f', ?)", value)
    if not isinstance(value, bytes):
        text = convert("CAST(? AS TEXT)", value) if isinstance(value, float) else str(value)
        value = text.encode()
    return value.translate(SHOWN_BYTES).decode() or "(empty)"


def convert(expression, value):
    return next(CASTING_CONNECTION.cursor().execute(f"SELECT {expression}", (value,)))[0]


def lines_of(record, rows):
    """A line per row, unless it could be that of other values."""
    lines = ["|".join(row) for row in rows]
    clear = all(line.count("|") == len(record.types) - 1 for line in lines)
    return lines if clear else None


def describe_difference(record, expected, values, rows):
    columns, lines = len(record.types), lines_of(record, rows)
    if lines and columns > 1 and all(line.count("|") == columns - 1 for line in expected):
        values, columns = lines, 0
    first = 0
    while first < min(len(expected), len(values)) and expected[first] == values[first]:
        first += 1
    message = f"wrong result, first at row {first // max(columns, 1) + 1}"
    if columns:
        message += f", column {first % columns + 1}"
    return Failure(
        message, expected=describe_values(expected, first), got=describe_values(values, first)
    )


def describe_values(values, first):
    """A line about a result, which begins a little before the first difference when there are many
    values."""
    start = max(0, first - 2) if len(values) > MOST_VALUES_SHOWN else 0
    shown = values[start : start + MOST_VALUES_SHOWN]
    before = "... | " if start else ""
    after = " | ..." if start + len(shown) < len(values) else ""
    return f"{len(values)} values: {before}{' | '.join(shown)}{after}" if values else "no values"


# The command line


def write_updates(query_outcomes):
    """Rewrite the results that differed. Give the number of queries that could not be updated."""
    changes, conflicts = {}, 0
    for record, outcomes in query_outcomes.values():
        if len(outcomes) > 1:
            conflicts += 1
            print(
                f"FAIL {record.place}: cannot be updated: its result is not the same each time it"
                " runs"
            )
        elif outcomes != {None}:
            changes.setdefault(record.file, []).append((record.line, record, *outcomes))
    for file, file_changes in changes.items():
        lines = file.read_bytes().decode().split("\n")
        for _, record, values in sorted(
            file_changes, reverse=True
        ):  # from the end, so that line numbers stay valid
            line_end = "\r" if lines[record.line - 1].endswith("\r") else ""
            comments = [line for line in lines[record.result_lines] if line.startswith("#")]
            separator = ["----" + line_end] if record.expected is None else []
            lines[record.result_lines] = (
                separator + comments + [value + line_end for value in values]
            )
        file.write_bytes("\n".join(lines).encode())
        print(f"updated {record.shown_file} ({len(file_changes)} queries)")
    return conflicts


def find_scripts(path, parser):
    scripts = sorted(path.rglob("*.test")) if path.is_dir() else [path]
    if not scripts or not scripts[0].is_file():
        parser.error(f"{path}: no script there")
    return scripts


def run_file(path, extension, query_outcomes):
    run = ScriptRun(extension, query_outcomes)
    run.run_script(read_script(path.resolve(), str(path)))
    counts = f"{run.passed + run.failed} records"
    counts += f", {run.skipped} skipped" if run.skipped else ""
    # SQLite keeps something of what it does for the first time; what leaks does so again.
    if run.left > 0 and not run.failed:
        with contextlib.redirect_stdout(None):
            again = ScriptRun(extension, None)
            again.run_script(read_script(path.resolve(), str(path)))
        run.left = again.left
    if run.left > 0:
        run.failed += 1
        print(f"FAIL {path}: {run.left} bytes of SQLite's memory are left when it is over")
    if run.failed:
        print(f"FAIL {path}: {run.failed} of {counts}")
    if run.skip_reason:
        print(f"skip {path}: {run.skip_reason} ({counts})")
    elif not run.failed:
        print(f"ok   {path} ({counts})")
    return run


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Run sqllogictest scripts against SQLite.")
    parser.add_argument(
        "--load", metavar="EXTENSION", help="load this extension into every connection"
    )
    parser.add_argument(
        "--update", action="store_true", help="write the actual results of queries into the scripts"
    )
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_DIRECTORY", type=Path)
    options = parser.parse_args(arguments)
    scripts = [script for path in options.paths for script in find_scripts(path, parser)]
    extension = os.path.abspath(options.load) if options.load else None
    try:
        open_connection(":memory:", extension).close()
    except apsw.Error as error:
        parser.error(f"{options.load} does not load: {message_of(error)}")

    print(
        f"SQLite {SQLITE_VERSION}, apsw {APSW_VERSION}"
        + (f", with {options.load}" if extension else "")
    )
    query_outcomes = {} if options.update else None
    runs = [run_file(path, extension, query_outcomes) for path in scripts]
    failed = sum(run.failed for run in runs) + (
        write_updates(query_outcomes) if options.update else 0
    )
    print(
        f"{sum(run.passed for run in runs)} passed, {failed} failed,"
        f" {sum(run.skipped for run in runs)} skipped"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    sys.exit(main())
