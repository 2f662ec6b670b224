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
endloop                     patterns, and names of files and connections. `${x}` for an x that is no
                            loop's name is an error.
foreach NAME...             Run the records up to the matching `endloop` for each line up to the
1 | one                     next blank one, which holds the values of these names with `|` between
2 | two                     them. In patterns they stand for themselves: no character of a value is
...                         one of a regular expression there.
endloop

${numbers 2000} in SQL makes the table numbers(x INTEGER PRIMARY KEY) with 1 to 2000 in it.

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

from extended import connect, either

# The first line of each record, and what may stand above it.
FORMS = {kind: re.compile(pattern) for kind, pattern in {
    "statement": r"statement (?P<wanted>ok|error(?: +(?P<pattern>.+))?)",
    "query": r"query (?P<types>[TIR]+)(?P<rowsort> rowsort)?",
    "load": r"load (?P<file>\S+)", "reconnect": "reconnect", "endloop": "endloop",
    "loop": r"loop (?P<names>\w+) (?P<start>\d+) (?P<end>\d+)",
    "foreach": r"foreach (?P<names>\w+(?: +\w+)*)"}.items()}
ABOVE = re.compile(r"onlyif sqlite>=(?P<version>\d+(?:\.\d+)*)(?: *#.*)?|connection (?P<name>\S+)")
LOOPS, WITH_SQL = ("loop", "foreach"), ("statement", "query")
VARIABLE = re.compile(r"\$\{(\w+)\}")
NUMBERS = re.compile(r"\$\{numbers (\d+)\}"), (
    r"CREATE TABLE numbers(x INTEGER PRIMARY KEY); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
    r"SELECT x + 1 FROM n WHERE x < \1) INSERT INTO numbers SELECT x FROM n")
SHOWN_BYTES = bytes(byte if 0x20 <= byte <= 0x7E else ord("@") for byte in range(256))
MOST_LINES_SHOWN = 12
CASE = os.environ.get("CASE", "").strip("*")
SQLITE_VERSION = either(apsw, "sqlite_lib_version", "sqlitelibversion")()
# Converts values as SQLite does, without any script's notice.
CASTING_CONNECTION = sqlite3.connect(":memory:")


class Failure(Exception):
    """A record did not do what the script says, or the script says something that makes no
    sense."""

    def __init__(self, message, expected=None, got=None):
        super().__init__(message)
        self.expected, self.got = expected, got


# Reading scripts


@dataclass
class Record:
    """One record of a script, as written: `${...}` is still in place."""

    place: str
    kind: str = "broken"
    words: dict = field(default_factory=dict)  # of its first line, by the names in FORMS
    broken: str = ""  # what makes no sense
    versions: list = field(default_factory=list)  # of SQLite, which it needs at least
    connection: str = ""
    sql: str = ""
    expected: list = field(default_factory=list)
    body: list = field(default_factory=list)  # the records inside a loop
    cases: list = field(default_factory=list)  # the values of a loop's names in each round


def read_script(file, shown_file):
    """The records of a script. What cannot be understood becomes a broken record, which fails when
    it is run."""
    try:
        lines = file.read_bytes().decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        return [Record(f"{shown_file}:1", broken=f"the script cannot be read: {error}")]
    records, loops = [], []
    for paragraph in paragraphs_of(lines):
        record = read_record(paragraph, shown_file)
        if record.kind == "endloop" and loops:
            loops.pop()
            continue
        if record.kind == "endloop":
            record.kind, record.broken = "broken", "endloop without a loop"
        (loops[-1].body if loops else records).append(record)
        if record.kind in LOOPS:
            loops.append(record)
    for loop in loops:
        loop.kind, loop.broken = "broken", "loop without endloop"
    return records


def paragraphs_of(lines):
    """The runs of lines between blank lines, each line with its number, without comments."""
    paragraph = []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            paragraph += [] if line.startswith("#") else [(number, line.removesuffix("\r"))]
        elif paragraph:
            yield paragraph
            paragraph = []


def read_record(paragraph, shown_file):
    lines = [line for _, line in paragraph]
    record = Record("")
    above = 0
    while above + 1 < len(lines) and (match := ABOVE.fullmatch(lines[above].strip())):
        above += 1
        record.versions += [match["version"]] if match["version"] else []
        record.connection = match["name"] or record.connection
    first, *lines = lines[above:]
    record.place = f"{shown_file}:{paragraph[above][0]}"
    for kind, form in FORMS.items():
        if match := form.fullmatch(first.strip()):
            record.kind, record.words = kind, match.groupdict()
    try:
        read_lines(record, first, above, lines)
    except Failure as failure:
        record.kind, record.broken = "broken", str(failure)
    return record


def read_lines(record, first, above, lines):
    """What follows the first line of a record."""
    if record.kind == "broken":
        raise Failure(f"`{first}` begins no record")
    if record.kind == "query":
        if "----" not in lines:
            raise Failure("the query has no line ---- with the expected values below it")
        end = lines.index("----")
        lines, record.expected = lines[:end], lines[end + 1:]
    if record.kind in WITH_SQL:
        record.sql = "\n".join(lines)
        if not lines:
            raise Failure(f"there is no SQL for the {record.kind}")
    elif record.kind == "foreach":
        record.cases = [[value.strip() for value in line.split("|")] for line in lines]
        for line, case in zip(lines, record.cases):
            if len(case) != len(record.words["names"].split()):
                raise Failure(f"`{line}` is not a value for each of {record.words['names']}")
    elif lines or above:
        raise Failure(f"`{first}` is a record of one line")
    if record.kind == "loop":
        start, end = int(record.words["start"]), int(record.words["end"])
        record.cases = [[str(value)] for value in range(start, end)]
    if record.kind in LOOPS and not record.cases:
        raise Failure(f"`{first}` runs its records for nothing")


# Running scripts


class ScriptRun:
    """One run of one script: its connections and variables, and the count of what happened."""

    def __init__(self, extension):
        self.extension = extension
        self.database = ":memory:"
        self.connections, self.variables = {}, {}
        self.passed = self.failed = self.for_others = self.left = 0
        self.reported_places = set()

    def run_script(self, records):
        memory_used = either(apsw, "memory_used", "memoryused")
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
                self.for_others += 1
                continue
            try:
                getattr(self, f"run_{record.kind}")(record)
                if record.sql and CASE in self.fill(record.sql):
                    self.passed += 1
            except Failure as failure:
                self.report(record, failure)

    def run_broken(self, record):
        raise Failure(record.broken)

    def run_load(self, record):
        self.disconnect()
        self.database = self.fill(record.words["file"])
        self.connect("")

    def run_reconnect(self, _):
        if self.database == ":memory:":
            raise Failure("a database in memory cannot be opened again; `load FILE` first")
        self.disconnect()
        self.connect("")

    def run_foreach(self, record):
        outer_variables = self.variables
        for values in record.cases:
            self.variables = outer_variables | dict(zip(record.words["names"].split(), values))
            self.run_records(record.body)
        self.variables = outer_variables

    run_loop = run_foreach

    def run_statement(self, record):
        sql = self.fill(record.sql)
        if record.words["wanted"] == "ok":
            _, error = self.execute(record, sql)
            if error is not None:
                raise Failure("the statement failed", got=error)
            return
        pattern = self.fill(record.words["pattern"] or "", re.escape)
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
        types = record.words["types"]
        rows, error = self.execute(record, self.fill(record.sql))
        if error is not None:
            raise Failure("the query failed", got=error)
        for row in rows:
            if len(row) != len(types):
                raise Failure("wrong number of columns", f"{len(types)}", f"{len(row)}")
        rows = [[render(*pair) for pair in zip(row, types)] for row in rows]
        if record.words["rowsort"]:
            rows.sort()
        values, lines = [value for row in rows for value in row], ["|".join(row) for row in rows]
        expected = [self.fill(value) for value in record.expected]
        if len(types) > 1 and any("|" in value for value in values):
            lines = values  # a line could be that of other values
        if expected not in (values, lines):
            raise difference(expected, lines if all("|" in line for line in expected) else values)

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
                self.connections[name] = connect(self.database, self.extension)
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
            return quote(self.variables[match[1]])

        return VARIABLE.sub(value_of, NUMBERS[0].sub(NUMBERS[1], text))

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
    return CASTING_CONNECTION.execute(f"SELECT {expression}", [value]).fetchone()[0]


def difference(expected, got):
    """The failure: of long results what is around the first line that differs."""
    first = 0
    while expected[first:first + 1] == got[first:first + 1]:
        first += 1

    def shown(lines):
        start = max(0, first - 2) if len(lines) > MOST_LINES_SHOWN else 0
        end = start + MOST_LINES_SHOWN
        return "\n".join(["..."] * (start > 0) + lines[start:end]
                         + ["..."] * (end < len(lines))) or "no rows"

    return Failure(f"wrong result, first at line {first + 1}", shown(expected), shown(got))


# The command line


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
    counts += f", {run.for_others} for another SQLite" if run.for_others else ""
    print(f"FAIL {path}: {run.failed} of {counts}" if run.failed else f"ok   {path} ({counts})")
    return run


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Run sqllogictest scripts against SQLite.")
    parser.add_argument("--load", metavar="EXTENSION", help="load it into every connection")
    parser.add_argument("paths", nargs="+", metavar="FILE_OR_DIRECTORY", type=Path)
    options = parser.parse_args(arguments)
    scripts = []
    for path in options.paths:
        scripts += sorted(path.rglob("*.test")) if path.is_dir() else [path]
        if not scripts or not scripts[-1].is_file():
            parser.error(f"{path}: no script there")
    extension = os.path.abspath(options.load) if options.load else None
    try:
        connect(":memory:", extension).close()
    except apsw.Error as error:
        parser.error(f"{options.load} does not load: {message_of(error)}")
    print(f"SQLite {SQLITE_VERSION}, apsw {either(apsw, 'apsw_version', 'apswversion')()}"
          + (f", with {options.load}" if extension else ""))
    runs = [run_file(path, extension) for path in scripts]
    passed, failed = (sum(getattr(run, name) for run in runs) for name in ("passed", "failed"))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    sys.exit(main())
