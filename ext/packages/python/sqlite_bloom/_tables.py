"""add_all: the keys of an iterable into a filter table, many by one statement.

A statement costs several times what a key costs. So strings are joined by line ends and read by
bloom_lines, and whole numbers are packed and read by bloom_integers. Everything else goes key by
key.
"""

import array
import itertools
import sys

from . import _columns

_PROGRESS = 100_000
_PIECE = 2000  # keys
_LENGTH = 1 << 24  # of texts that are joined; longer ones go one by one
# What SQLite says when there is no filter table, and what to do.
_NO_FILTER_TABLE = {
    "no such table": "Create it with CREATE VIRTUAL TABLE. Pass its name without a database",
    "no such column: info": "{} is not a filter table, so use INSERT",
    "no such module": "To read {}, pass the connection to sqlite_bloom.load first",
}


def _joined(keys):
    """The keys as lines. They begin with a line end, because bloom_lines leaves out a byte order
    mark at the start of a text. Raises ValueError if a key is not a line.
    """
    text = "\n".join(["", *keys]) if sum(map(len, keys)) < _LENGTH else ""
    if not all(keys) or text.count("\n") != len(keys) or "\r" in text:
        raise ValueError
    return text.encode()


def _packed(keys):
    """The keys as 8 bytes each. Raises OverflowError if a key has more than 64 bits."""
    packed = array.array("q", keys)
    if sys.byteorder != "little":
        packed.byteswap()
    return packed.tobytes()


_FORMS = {str: (_joined, "SELECT text FROM bloom_lines(?)"),
          int: (_packed, "SELECT value FROM bloom_integers(?)")}


def _refuse_lines(keys, name):
    """Texts that have the line ends of a file. The last line may have none."""
    ends = [isinstance(key, str) and ("\n" in key or "\r" in key) for key in keys]
    if any(ends) and sum(ends) + (not ends[-1]) >= len(ends):
        raise ValueError(f"{name}: each key has a line end, which would be part of it. Pass the"
                         " open file itself, or text.splitlines(). If the keys are longer texts,"
                         " pass them as bytes")


def _pieces(keys, name):
    """What follows INSERT, rows of bindings for it, and how many keys they are."""
    number = 0
    while part := list(itertools.islice(keys, _PIECE)):
        if number == 0:
            _refuse_lines([key for key in part if not _columns.is_missing(key)], name)
        kinds = set(map(type, part))
        for kind, (pack, select) in _FORMS.items():
            same = [key for key in part if type(key) is kind]
            try:
                rows = [[pack(same)]] if same else []
            except (ValueError, OverflowError):  # its keys go one by one
                continue
            kinds.discard(kind)
            yield select, rows, len(same)
        others = [_columns.plain(key, name, place) for place, key in enumerate(part, number + 1)
                  if type(key) in kinds]
        alone = [[key] for key in others if key is not None]
        yield "VALUES (?)", alone, len(alone)
        number += len(part)


def add_all(connection, table, keys, *, progress=None):
    """Adds all keys to a filter table, and returns how many there were.

    connection: of sqlite3, apsw or the like, which has loaded the extension. table: its name. keys
    and progress: as those of Filter.build.

    An error leaves the table as it was. If no transaction is open, all keys are committed at the
    end. Raises what the module of the connection raises, and what Filter.build does for its keys,
    except that no key at all adds nothing.
    """
    name = "sqlite_bloom.add_all"
    if not isinstance(table, str):
        raise TypeError(f"{name}: the table is a {type(table).__qualname__}. Pass its name as str")
    if not hasattr(connection, "cursor"):
        raise TypeError(f"{name}: a {type(connection).__qualname__} is not a connection. Pass a"
                        " connection of sqlite3 or apsw")
    quoted = '"' + table.replace('"', '""') + '"'
    cursor, done = connection.cursor(), 0
    try:
        cursor.execute(f"SELECT info FROM {quoted} LIMIT 0")
    except Exception as error:
        for problem, advice in _NO_FILTER_TABLE.items():
            if problem in str(error):
                raise type(error)(f"{name}: {error}. {advice.format(quoted)}") from error
        raise
    keys = iter(_columns.objects(_columns.checked(keys, name)))
    cursor.execute("SAVEPOINT sqlite_bloom_add_all")
    try:
        for source, rows, count in _pieces(keys, name):
            cursor.executemany(f"INSERT INTO {quoted}(key) {source}", rows)
            done += count
            if progress is not None and done % _PROGRESS < count:
                progress(done - done % _PROGRESS)
        if progress is not None and done % _PROGRESS > 0:
            progress(done)
    except BaseException:
        cursor.execute("ROLLBACK TO sqlite_bloom_add_all")
        raise
    finally:
        cursor.execute("RELEASE sqlite_bloom_add_all")
    return done
