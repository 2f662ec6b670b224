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

_program = subprocess.Popen(shlex.split(os.environ["REMOTE"]), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
atexit.register(_program.communicate)  # which ends with its input; who counts time counts its own
_numbers = itertools.count()


class Error(Exception):
    pass


class BindingsError(Error):
    pass


def _value(word):
    kind, rest = word[0], word[1:]
    return {"N": lambda: None, "I": lambda: int(rest), "F": lambda: float(rest),
            "T": lambda: bytes.fromhex(rest).decode(), "B": lambda: bytes.fromhex(rest)}[kind]()


def _ask(kind, number=0, text=""):
    """Sends a request and gives the rows; errors are raised when all is read."""
    _program.stdin.write(f"{kind}{number} {text.encode().hex()}\n")
    _program.stdin.flush()
    rows = []
    for line in _program.stdout:
        words = line[1:].split()
        if line[0] == "R":
            rows.append(words)
        elif line[0] == "E":
            raise Error(bytes.fromhex(words[0]).decode(errors="replace"))
        elif line[0] == "P":
            raise BindingsError("the SQL has a parameter")
        else:
            return [tuple(map(_value, row)) for row in rows]
    raise SystemExit(f"apsw.py: {os.environ['REMOTE']} ended with status {_program.wait()}")


def sqlite_lib_version():
    number = _ask("v")[0][0]
    return f"{number // 10**6}.{number // 1000 % 1000}.{number % 1000}"


def memory_used():
    return _ask("m")[0][0]


def apsw_version():
    return f"replaced by {os.environ['REMOTE']}"


class Connection:
    def __init__(self, database, flags=0):
        self.number = next(_numbers)
        _ask("d", text=os.getcwd())
        _ask("o", self.number, database)

    def enable_load_extension(self, on):
        pass

    def load_extension(self, path):
        _ask("l", self.number, str(path))

    def close(self, force=False):
        _ask("c", self.number)

    def cursor(self):
        return Cursor(self)


class Cursor:
    def __init__(self, connection):
        self.connection = connection

    def execute(self, sql, bindings=()):
        return iter(_ask("x", self.connection.number, sql))

    def close(self, force=False):
        pass
