"""Keys of an iterable for one INSERT into a filter table, many at a time.

A call of Python from SQL costs several times what a key costs. So strings are joined by line ends
and read by bloom_lines, or whole numbers are packed and read by bloom_integers. The first key
decides which. Everything else goes key by key.
"""

import array
import itertools
import operator
import sys

from . import _columns

_PROGRESS = 100_000
_PIECE = 1000  # keys
_LENGTH = 1 << 20  # about, of a piece; long keys come in smaller ones
_MISSING = ("NoneType", "NAType", "NaTType")  # the last two are of pandas
# A row for each batch, until it is NULL. The functions are called in this order.
_ROWS = """(
    WITH RECURSIVE b(batch, key) AS (SELECT sqlite_bloom_batch(), sqlite_bloom_key()
        UNION ALL SELECT sqlite_bloom_batch(), sqlite_bloom_key() FROM b WHERE batch IS NOT NULL)
    SELECT batch, key FROM b WHERE batch IS NOT NULL) AS b"""


def _joined(keys):
    """The keys as lines, or None if one of them is no line. They begin with a line end, because
    bloom_lines leaves out a byte order mark at the start of a text.
    """
    text = "\n" + "\n".join(keys)
    if text.count("\n") != len(keys) or "\n\n" in text or text[-1] == "\n" or "\r" in text:
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


# By the type of the first key: how a batch is made, what is read from it, and the batch of a key
# that goes alone.
_FORMS = {
    str: (_joined, f"coalesce(b.key, text) FROM {_ROWS} CROSS JOIN bloom_lines(b.batch)", "x"),
    int: (_packed, f"coalesce(b.key, value) FROM {_ROWS} CROSS JOIN bloom_integers(b.batch)",
          bytes(8)),
}
_ALONE = (lambda keys: None, f"b.key FROM {_ROWS}", 1)


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


class Feed:
    """The rows of one SELECT, and the functions that they need."""

    def __init__(self, keys, name, progress):
        self.name, self.progress = name, progress
        self.done = 0  # keys
        self.problem = None  # what keys or progress raised, because sqlite3 does not hand it on
        keys, first = iter(_columns.objects(_columns.checked(keys, name))), []
        for key in keys:
            first.append(key)
            if not _is_missing(key):
                break
        self._kind = type(first[-1]) if first else None
        self._pack, self.rows, self._alone = _FORMS.get(self._kind, _ALONE)
        self._batches = self._all_batches(itertools.chain(first, keys))

    def define(self, connection, is_over=False):
        """Gives a connection of sqlite3 or apsw the functions, or takes them away."""
        define = (
            getattr(connection, "create_scalar_function", None)
            or getattr(connection, "createscalarfunction", None)  # apsw up to 3.41
            or (lambda name, function, _: connection.create_function(name, 0, function))
        )
        define("sqlite_bloom_batch", None if is_over else self._next_batch, 0)
        define("sqlite_bloom_key", None if is_over else lambda: self._key, 0)

    def _next_batch(self):
        try:
            batch, self._key = next(self._batches, (None, None))
            return batch
        except BaseException as error:
            self.problem = error
            raise

    def _all_batches(self, keys):
        """Batches, and the key of one that goes alone."""
        number, size = 0, 100
        while part := list(itertools.islice(keys, size)):
            plain = [key for key in part if type(key) is self._kind]
            if number == 0:
                _columns.check_ends(plain, self.name)
            batch = self._pack(plain) if plain else None
            length = 1 if batch is None else len(batch)
            if batch is not None:
                self._count(len(plain))
                yield batch, None
            alone = part if batch is None or len(plain) < len(part) else ()
            for place, key in enumerate(alone, number + 1):
                if (batch is None or type(key) is not self._kind) and not _is_missing(key):
                    key = _plain(key, self.name, place)
                    length += len(key) if isinstance(key, (str, bytes)) else 8
                    self._count(1)
                    yield self._alone, key
            number += len(part)
            size = max(1, min(_PIECE, _LENGTH * len(part) // length))

    def _count(self, keys):
        before, self.done = self.done, self.done + keys
        if self.progress is not None and before // _PROGRESS < self.done // _PROGRESS:
            self.progress(self.done // _PROGRESS * _PROGRESS)

    def report_the_end(self):
        if self.progress is not None and self.done % _PROGRESS != 0:
            self.progress(self.done)
