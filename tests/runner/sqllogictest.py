#!/usr/bin/env python3
"""Run sqllogictest scripts against SQLite, with or without a loadable extension.

    sqllogictest.py [--load EXTENSION] FILE_OR_DIRECTORY...

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

query IT rowsort            The SQL must succeed with these results. `query TYPES [rowsort]`: TYPES
SELECT a, b FROM t          has one letter per column. Below the line `----` stands one row per line
----                        with `|` between its values, or one value per line, row by row. No value
1|one                       there means that no row may come. With `rowsort` rows are compared in
2|two                       the order of their values as shown, byte by byte.

TYPES   T   text: a number as SQLite writes it, a BLOB byte by byte. Each byte of the UTF-8 outside
            0x20 to 0x7E is shown as `@`, and a value without bytes as `(empty)`.
        I   an integer of 64 bits; other values are converted by CAST AS INTEGER.
        R   any number, by SQLite's own printf('%.3f').
        NULL is shown as `NULL` in all three.

These stand on lines of their own directly above a statement or query:
onlyif sqlite>=3.44         Leave the record out on an older SQLite. A comment may follow.
connection NAME             Run it on a further connection to the same database file, which is
                            opened when its name is first used.

Control records are one line each:
load FILE                   Close all connections and open FILE, a path in the script's directory, a
                            `file:` URI, or `:memory:` for another empty database.
reconnect                   Close all connections and open the same file again.
loop NAME START END         Run the records up to the matching `endloop` for each integer from START
...                         to END - 1. In all of them `${NAME}` stands for it: in SQL, results,
endloop                     patterns, names of files and connections, and bounds of inner loops.
                            `${x}` for an x that is no loop's name is an error.
foreach NAME...             Run the records up to the matching `endloop` for each line up to the
1 | one                     next blank one, which holds the values of these names with `|` between
2 | two                     them. In patterns they stand for themselves: no character of a value is
...                         one of a regular expression there.
endloop

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
import os
import re
import sqlite3
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from extended import either

# The first word of each control record, and how many follow it; None: at least one.
WORDS_AFTER = {"reconnect": 0, "endloop": 0, "load": 1, "loop": 3, "foreach": None}
LOOPS = ("loop", "foreach")
CONDITION = re.compile(r"onlyif\s+sqlite>=(\d+(?:\.\d+)*)\s*(?:#.*)?")
VARIABLE = re.compile(r"\$\{(\w+)\}")
SHOWN_BYTES = bytes(byte if 0x20 <= byte <= 0x7E else ord("@") for byte in range(256))
MOST_VALUES_SHOWN = 12
CASE = os.environ.get("CASE", "").strip("*")
SQLITE_VERSION = either(apsw, "sqlite_lib_version", "sqlitelibversion")()
APSW_VERSION = either(apsw, "apsw_version", "apswversion")()
# Converts values as SQLite does, without any script's notice.
CASTING_CONNECTION = apsw.Connection(":memory:")


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

    shown_file: str
    line: int
    kind: str = "broken"  # or "statement", "query", the first word of a control record
    argument: str = ""  # what follows the first word; of a broken record, what is wrong with it
    versions: list = field(default_factory=list)  # of SQLite, which it needs at least
    connection: str = ""
    sql: str = ""
    types: str = ""
    sorts: bool = False
    expected: list | None = None
    body: list = field(default_factory=list)  # the records inside a loop
    cases: list = field(default_factory=list)  # of foreach: the values of its names in each round

    @property
    def place(self):
        return f"{self.shown_file}:{self.line}"

    def mark_broken(self, reason):
        self.kind, self.argument, self.body = "broken", reason, []


def read_script(file, shown_file):
    """The records of a script. What cannot be understood becomes a broken record, which fails when
    it is run."""
    try:
        lines = file.read_bytes().decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        return [Record(shown_file, 1, argument=f"the script cannot be read: {error}")]
    records, open_loops = [], []
    for paragraph in split_into_paragraphs(lines):
        while paragraph:
            record = Record(shown_file, paragraph[0][0])
            try:
                read_record(record, paragraph)
                if record.kind == "endloop":
                    if not open_loops:
                        raise Failure("endloop without a loop")
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
    while not words or words[0] in ("onlyif", "connection"):
        if not paragraph:
            raise Failure("nothing follows the condition or connection")
        record.line, text = paragraph.pop(0)
        words = text.split()
        if words[0] == "connection":
            if len(words) != 2:
                raise Failure(f"`{text}` is not `connection NAME`")
            record.connection = words[1]
        elif words[0] == "onlyif":
            condition = CONDITION.fullmatch(text.strip())
            if not condition:
                raise Failure(f"`{text}` is not `onlyif sqlite>=VERSION`")
            record.versions.append(condition[1])
    kind = words[0]
    record.argument = text.strip().removeprefix(kind).strip()
    if kind == "statement":
        if words[1:] != ["ok"] and words[1:2] != ["error"]:
            raise Failure(f"`{text}` is not `statement ok` or `statement error [PATTERN]`")
        record.sql = "\n".join(line for _, line in paragraph)
    elif kind == "query":
        query = re.fullmatch(r"([TIR]+)(\s+rowsort)?", record.argument)
        if not query:
            raise Failure(f"`{text}` is not `query TYPES [rowsort]` with T, I or R per column")
        record.types, record.sorts = query[1], query[2] is not None
        lines = [line for _, line in paragraph]
        if "----" not in lines:
            raise Failure("the query has no line ---- with the expected values below it")
        end = lines.index("----")
        record.sql, record.expected = "\n".join(lines[:end]), lines[end + 1:]
    elif kind not in WORDS_AFTER:
        raise Failure(f"unknown record `{kind}`")
    elif record.connection or record.versions:
        raise Failure(f"a condition or connection stands above a statement or query, not `{kind}`")
    elif WORDS_AFTER[kind] not in (None, len(words) - 1):
        raise Failure(f"wrong number of words after `{kind}`")
    if kind in ("statement", "query") and not record.sql:
        raise Failure(f"there is no SQL for the {kind}")
    if kind == "foreach":
        for _, line in paragraph:
            record.cases.append([value.strip() for value in line.split("|")])
            if len(record.cases[-1]) != len(words) - 1:
                raise Failure(f"`{line}` is not a value for each of {', '.join(words[1:])}")
    record.kind = kind
    if kind in ("statement", "query", "foreach"):
        paragraph.clear()


# Running scripts


def memory_used():
    """What SQLite has allocated, unless it was built not to count."""
    return either(apsw, "memory_used", "memoryused")()


class ScriptRun:
    """One run of one script: its connections and variables, and the count of what happened."""

    def __init__(self, extension):
        self.extension = extension
        self.database = ":memory:"
        self.connections = {}
        self.variables = {}
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
            if not all(map(is_reached, record.versions)):
                self.skipped += 1
                continue
            try:
                self.run_record(record)
                if record.sql and CASE in self.fill(record.sql):
                    self.passed += 1
            except Failure as failure:
                self.report(record, failure)

    def run_record(self, record):
        if record.kind == "broken":
            raise Failure(record.argument)
        if record.kind == "statement":
            self.run_statement(record)
        elif record.kind == "query":
            self.run_query(record)
        elif record.kind in LOOPS:
            self.run_loop(record)
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
        self.variables = outer_variables

    def run_statement(self, record):
        wanted, *pattern = record.argument.split(maxsplit=1)
        pattern = self.fill("".join(pattern), re.escape)
        sql = self.fill(record.sql)
        if wanted == "ok":
            _, error = self.execute(record, sql)
            if error is not None:
                raise Failure("the statement failed", got=error)
            return
        first, last = split_off_last(sql)
        _, error = self.execute(record, first)
        if error is not None:
            raise Failure("a statement before the last failed", got=error)
        _, error = self.execute(record, last)
        if error is None:
            raise Failure("the statement succeeded", expected=f"an error {pattern}".rstrip())
        try:
            found = re.search(pattern, error)
        except re.error as regex_error:
            raise Failure(f"`{pattern}` is not a regular expression: {regex_error}") from None
        if not found:
            raise Failure("wrong error message", expected=pattern, got=error)

    def run_query(self, record):
        rows, error = self.execute(record, self.fill(record.sql))
        if error is not None:
            raise Failure("the query failed", got=error)
        for row in rows:
            if len(row) != len(record.types):
                raise Failure("wrong number of columns", f"{len(record.types)}", f"{len(row)}")
        rows = [[render(*pair) for pair in zip(row, record.types)] for row in rows]
        if record.sorts:
            rows.sort()
        values, lines = [value for row in rows for value in row], ["|".join(row) for row in rows]
        expected = [self.fill(value) for value in record.expected]
        if len(record.types) > 1 and any("|" in value for value in values):
            lines = values  # a line could be that of other values
        if expected not in (values, lines):
            by_row = all("|" in line for line in expected)
            raise describe_difference(expected, lines if by_row else values)

    def execute(self, record, sql):
        """Run the SQL. Give all rows, and the error message or None."""
        cursor = self.connect(self.fill(record.connection)).cursor()
        try:
            return list(cursor.execute(sql)), None
        except apsw.BindingsError:
            raise Failure("the SQL has a parameter, and a script cannot bind it") from None
        except apsw.Error as error:
            return [], message_of(error)
        except ValueError as error:  # from apsw itself, which cannot decode some TEXT
            raise Failure("no result: where TEXT is not valid UTF-8, use CAST(... AS BLOB)",
                          got=str(error)) from None
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


def is_reached(version):
    """Returns true if this SQLite is that release or a newer one."""
    wanted, running = ([int(number) for number in text.split(".")]
                       for text in (version, SQLITE_VERSION))
    return running >= wanted


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


def describe_difference(expected, got):
    first = 0
    while expected[first:first + 1] == got[first:first + 1]:
        first += 1
    return Failure(f"wrong result, first at line {first + 1}", expected=describe(expected, first),
                   got=describe(got, first))


def describe(lines, first):
    """A result, which begins a little before the first difference when it has many lines."""
    start = max(0, first - 2) if len(lines) > MOST_VALUES_SHOWN else 0
    shown = ["..."] * (start > 0) + lines[start : start + MOST_VALUES_SHOWN]
    return "\n".join(shown + ["..."] * (start + MOST_VALUES_SHOWN < len(lines))) or "no rows"


# The command line


def find_scripts(path, parser):
    scripts = sorted(path.rglob("*.test")) if path.is_dir() else [path]
    if not scripts or not scripts[0].is_file():
        parser.error(f"{path}: no script there")
    return scripts


def run_file(path, extension):
    run = ScriptRun(extension)
    run.run_script(read_script(path.resolve(), str(path)))
    # SQLite keeps something of what it does for the first time; what leaks does so again.
    if run.left > 0 and not run.failed:
        with contextlib.redirect_stdout(None):
            again = ScriptRun(extension)
            again.run_script(read_script(path.resolve(), str(path)))
        run.left = again.left
    if run.left > 0:
        run.failed += 1
        print(f"FAIL {path}: {run.left} bytes of SQLite's memory are left when it is over")
    counts = f"{run.passed + run.failed} records"
    counts += f", {run.skipped} skipped" if run.skipped else ""
    print(f"FAIL {path}: {run.failed} of {counts}" if run.failed else f"ok   {path} ({counts})")
    return run


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Run sqllogictest scripts against SQLite.")
    parser.add_argument("--load", metavar="EXTENSION", help="load it into every connection")
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_DIRECTORY", type=Path)
    options = parser.parse_args(arguments)
    scripts = [script for path in options.paths for script in find_scripts(path, parser)]
    extension = os.path.abspath(options.load) if options.load else None
    try:
        open_connection(":memory:", extension).close()
    except apsw.Error as error:
        parser.error(f"{options.load} does not load: {message_of(error)}")
    print(f"SQLite {SQLITE_VERSION}, apsw {APSW_VERSION}"
          + (f", with {options.load}" if extension else ""))
    runs = [run_file(path, extension) for path in scripts]
    passed, failed, skipped = (sum(getattr(run, name) for run in runs)
                               for name in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    sys.exit(main())
