"""add_all: the keys of an iterable into a filter table, many by one statement.

A statement costs several times what a key costs. So strings are joined by line ends and read by
bloom_lines, and whole numbers are packed and read by bloom_integers. Everything else goes key by
key.
"""

import array
import itertools
import operator
import sys

from . import _columns

_PROGRESS = 100_000
_PIECE = 2000  # keys
_MISSING = ("NoneType", "NAType", "NaTType")  # the last two are of pandas
# What SQLite says when there is no filter table, and what to do.
_NO_FILTER_TABLE = {
    "no such table": "Create it with CREATE VIRTUAL TABLE. Pass its name without a database",
    "no such column: info": "{} is not a filter table, so use INSERT",
    "no such module": "To read {}, pass the connection to sqlite_bloom.load first",
}


def _joined(keys):
    """The keys as lines, or None if one of them is no line. They begin with a line end, because
    bloom_lines leaves out a byte order mark at the start of a text.
    """
    text = "\n".join(["", *keys])
    if not all(keys) or text.count("\n") != len(keys) or "\r" in text:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text


def _packed(keys):
    """The keys as 8 bytes each, or None if one of them has more than 64 bits."""
    try:
        packed = array.array("q", keys)
    except OverflowError:
        return None
    if sys.byteorder != "little":
        packed.byteswap()
    return packed.tobytes()


_FORMS = {str: (_joined, "SELECT text FROM bloom_lines(?)"),
          int: (_packed, "SELECT value FROM bloom_integers(?)")}


def _plain(key, name, number):
    """The key, if SQLite can have it; what has __index__ as an int."""
    if not isinstance(key, (str, bytes, int, float)):
        try:
            key = operator.index(key)
        except (AttributeError, TypeError):
            raise TypeError(f"{name}: key {number} is a {type(key).__qualname__}. Pass each key as"
                            " a str, bytes, int or float") from None
    if isinstance(key, int) and not -(2**63) <= key < 2**63 or isinstance(key, str) and any(
            "\ud800" <= letter <= "\udfff" for letter in key):
        raise ValueError(f"{name}: key {number} is {key!r:.60}, which SQLite cannot store. Pass an"
                         " int of at most 64 bits, or a str of valid Unicode")
    return key


def _is_missing(key):
    return type(key).__name__ in _MISSING or isinstance(key, float) and key != key


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
            _refuse_lines([key for key in part if not _is_missing(key)], name)
        kinds = set(map(type, part))
        for kind, (pack, select) in _FORMS.items():
            same = [key for key in part if type(key) is kind] if kind in kinds else ()
            packed = pack(same) if same else None
            if packed is not None:
                kinds.remove(kind)
                yield select, [[packed]], len(same)
        if kinds:
            alone = [[_plain(key, name, place)] for place, key in enumerate(part, number + 1)
                     if type(key) in kinds and not _is_missing(key)]
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
    cursor, done, reported = connection.cursor(), 0, 0
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
            if progress is not None and reported < done // _PROGRESS * _PROGRESS:
                reported = done // _PROGRESS * _PROGRESS
                progress(reported)
        if progress is not None and reported < done:
            progress(done)
    except BaseException:
        cursor.execute("ROLLBACK TO sqlite_bloom_add_all")
        raise
    finally:
        cursor.execute("RELEASE sqlite_bloom_add_all")
    return done
