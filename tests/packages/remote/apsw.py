"""As much of the module apsw as tests/runner/sqllogictest.py uses, with SQLite in another program:
see remote.c.

The environment variable REMOTE holds the command that starts it. With this folder in front of
PYTHONPATH, every script runs on an emulated machine without knowing.
"""

import atexit
import itertools
import os
import shlex
import subprocess

SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE, SQLITE_OPEN_URI = 2, 4, 64

_program = subprocess.Popen(
    shlex.split(os.environ["REMOTE"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
atexit.register(_program.communicate)  # which ends with its input; who counts time counts its own
_numbers = itertools.count()


class Error(Exception):
    pass


class BindingsError(Error):
    pass


def _read(length):
    data = _program.stdout.read(length)
    if len(data) != length:
        raise SystemExit(f"apsw.py: {os.environ['REMOTE']} ended with status {_program.wait()}")
    return data


def _read_number():
    return int.from_bytes(_read(4), "little")


def _read_value():
    kind = _read(1)
    if kind == b"N":
        return None
    data = _read(_read_number())
    return {b"I": int, b"F": float, b"T": bytes.decode, b"B": bytes}[kind](data)


def _ask(kind, number=0, text=""):
    """Sends a request and gives the rows, and of each statement its SQL and number of columns;
    errors are raised when all is read.
    """
    data = text.encode()
    _program.stdin.write(
        kind + number.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data
    )
    _program.stdin.flush()
    rows, statements, problem = [], [], None
    while True:
        part = _read(1)
        if part == b"S":
            columns = _read_number()
            statements.append((_read(_read_number()).decode(), columns))
        elif part == b"R":
            row = []
            for _ in range(columns):
                try:
                    row.append(_read_value())
                except UnicodeDecodeError as error:
                    problem = error
            rows.append(tuple(row))
        elif part == b"T":
            rows.append(_read(_read_number()).decode())
        elif part == b"E":
            raise Error(_read(_read_number()).decode(errors="replace"))
        elif part == b"P":
            raise BindingsError("the SQL has a parameter")
        elif problem is not None:
            raise problem
        else:
            return rows, statements


def sqlite_lib_version():
    return _ask(b"v")[0][0]


def memory_used():
    return int(_ask(b"m")[0][0])


def apsw_version():
    return f"replaced by {os.environ['REMOTE']}"


class Connection:
    def __init__(self, database, flags=0):
        self.number = next(_numbers)
        _ask(b"d", text=os.getcwd())
        _ask(b"o", self.number, database)

    def enable_load_extension(self, on):
        pass

    def load_extension(self, path):
        _ask(b"l", self.number, path)

    def close(self, force=False):
        _ask(b"c", self.number)

    def cursor(self):
        return Cursor(self)


class Cursor:
    def __init__(self, connection):
        self.connection = connection
        self.columns = 0
        self.trace = lambda cursor, statement, bindings: True

    def set_exec_trace(self, trace):
        self.trace = trace

    def get_description(self):
        return [None] * self.columns

    def execute(self, sql, bindings=()):
        if bindings:  # the runner's casts: numbers and text alone
            sql = sql.replace("?", _literal(bindings[0]))
        rows, statements = _ask(b"x", self.connection.number, sql)
        for statement, self.columns in statements:
            self.trace(self, statement, bindings)
        return iter(rows)

    def close(self, force=False):
        pass


def _literal(value):
    if isinstance(value, (int, float)):
        return repr(value).replace("inf", "9e999")
    data = value if isinstance(value, bytes) else value.encode()
    return f"x'{data.hex()}'" if isinstance(value, bytes) else f"CAST(x'{data.hex()}' AS TEXT)"
