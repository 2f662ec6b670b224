"""Keys of an iterable for one SQL statement, many at a time.

A call of Python from SQL costs several times what a key costs. So strings are joined by line ends
and read by bloom_lines, and whole numbers are packed and read by bloom_integers, many keys a call.
Everything else goes key by key: bytes, floats, strings with a line end in them, empty ones.
"""

import array
import itertools
import operator
import sqlite3
import sys

PROGRESS_KEYS = 100_000
_PIECE = 1000  # keys of an iterator
_SLICE = 10_000  # of a column
_LENGTH = 1 << 20  # about, of a piece; long keys come in smaller ones
_LONGEST = 1 << 24  # of joined strings; longer ones go one by one
_NO_KEYS = ("NoneType", "NAType", "NaTType")  # the last two are of pandas
# None of these libraries is imported: whoever passes a column has done that.
_COLUMNS = (("pandas", "Series"), ("pandas", "Index"), ("pandas.api.extensions", "ExtensionArray"),
            ("polars", "Series"), ("pyarrow", "Array"), ("pyarrow", "ChunkedArray"),
            ("numpy", "ndarray"))

# A row for each batch, until it is NULL. The functions are called in this order.
ROWS = """(
    WITH RECURSIVE b(batch, key) AS (SELECT sqlite_bloom_batch(), sqlite_bloom_key()
        UNION ALL SELECT sqlite_bloom_batch(), sqlite_bloom_key() FROM b WHERE batch IS NOT NULL)
    SELECT batch, key FROM b WHERE batch IS NOT NULL) AS b"""
# For kinds of batches, the rows of a statement, the key of a row, and the batch of a single key,
# which takes its place. (A UNION ALL of the two would copy every key.)
_FORMS = {
    str: (f"{ROWS} CROSS JOIN bloom_lines(b.batch)", "coalesce(b.key, text)", "x"),
    int: (f"{ROWS} CROSS JOIN bloom_integers(b.batch)", "coalesce(b.key, value)", bytes(8)),
    None: (ROWS, "b.key", 1),
}


class Feed:
    """name: of the function, and what: of its argument, for errors."""

    def __init__(self, keys, name, progress=None, what="keys"):
        if isinstance(keys, (str, bytes, bytearray)):
            raise TypeError(f"{name}: {what} is one key. Pass a list of it, [{keys[:40]!r}]")
        if not hasattr(keys, "__iter__") and not hasattr(keys, "__getitem__"):
            lines = hasattr(keys, "__fspath__")  # it is a path
            raise TypeError(
                f"{name}: {what} is {keys!r:.60} and cannot be iterated. Pass "
                + ("the lines of the file without their ends" if lines else "an iterable of keys")
            )
        if hasattr(keys, "columns") or getattr(keys, "ndim", 1) != 1:
            raise TypeError(
                f"{name}: {what} is a {type(keys).__qualname__}. Pass one column of it, as in"
                " frame['url']"
            )
        self.name = name
        self.progress = progress
        self.done = 0  # keys, None and NaN left out
        self.problem = None  # what an iterator, progress or a check raised
        self.read = 0  # keys, with None
        self.places = ()  # of the keys of the row, from 0
        self.key = None  # of the row, if it is single
        self.kinds = ()  # of batches
        self.single = 1
        self._length = 0  # of the last piece
        self._parts = self._slices(keys) if library_of(keys) else self._pieces(iter(keys))
        self._rows = self._all_rows()

    def choose(self):
        """SQL for one kind of batches, which the first keys choose: rows, and the key of a row."""
        kind = None
        for part in self._parts:
            if not all(map(_is_missing, part)):
                kind = next((kind for key in part for kind in _PACKERS if pack([key], [kind])),
                            None) if isinstance(part, list) else int
                self._parts = itertools.chain([part], self._parts)
                break
            self.read += len(part)
        self.kinds = () if kind is None else (kind,)
        rows, key, self.single = _FORMS[kind]
        return rows, key

    def define(self, connection, is_over=False):
        """Gives a connection of sqlite3 or apsw the functions of ROWS, or takes them away."""
        define = (
            getattr(connection, "create_scalar_function", None)
            or getattr(connection, "createscalarfunction", None)  # apsw up to 3.41
            or (lambda name, function, _: connection.create_function(name, 0, function))
        )
        define("sqlite_bloom_batch", None if is_over else self.next_batch, 0)
        define("sqlite_bloom_key", None if is_over else lambda: self.key, 0)

    def next_batch(self):
        """For the next row of ROWS. An error is kept, because sqlite3 does not hand it on."""
        try:
            self.places, batch, self.key = next(self._rows, ((), None, None))
            return batch
        except BaseException as error:
            self.problem = error
            raise

    def _slices(self, column):
        column = getattr(column, "array", column)  # of a Series or an Index of pandas
        for start in range(0, len(column), _SLICE):
            part = column[start : start + _SLICE]
            for method in ("to_pylist", "to_list", "to_numpy"):  # of pyarrow, polars, pandas
                if hasattr(part, method):
                    part = getattr(part, method)()
                    break
            kind = part.dtype.kind if hasattr(part, "dtype") else ""
            if kind in tuple("mM"):
                raise TypeError(
                    f"{self.name}: the column has times ({part.dtype}). Convert them to str or int"
                )
            is_plain = not kind or kind in "iu" and not hasattr(part, "mask")
            yield part if is_plain else part.tolist()

    def _pieces(self, keys):
        part = list(itertools.islice(keys, 100))
        while part:
            self._length = 1
            yield part
            size = min(_PIECE, _LENGTH * len(part) // self._length)
            part = list(itertools.islice(keys, max(1, size)))

    def _all_rows(self):
        """For each row the places of its keys, the batch, and the key if it is single."""
        for part in self._parts:
            start, self.read = self.read, self.read + len(part)
            if isinstance(part, list):
                kinds = dict.fromkeys(map(type, part))
                for kind in kinds:
                    if kind.__name__ not in _NO_KEYS:
                        yield from self._rows_of(kind, part, start, len(kinds) > 1)
            else:
                self._count(len(part))
                yield range(start, self.read), self._packed_array(part, start), None

    def _rows_of(self, kind, part, start, is_mixed=False):
        places = range(start, start + len(part))
        if is_mixed:
            places = [start + i for i, key in enumerate(part) if type(key) is kind]
            part = [key for key in part if type(key) is kind]
        batch = pack(part, self.kinds)
        if batch is not None:
            self._count(len(part))
            self._length += len(batch)
            yield places, batch, None
            return
        part = [self.plain(key, place + 1) for key, place in zip(part, places)]
        self._count(sum(key == key for key in part))  # NaN is not
        fits = [pack([key], self.kinds) is not None for key in part]
        batch = pack(list(itertools.compress(part, fits)), self.kinds)
        if batch is not None:
            self._length += len(batch)
            yield list(itertools.compress(places, fits)), batch, None
        for place, key, is_done in zip(places, part, fits):
            if key == key and not (is_done and batch is not None):
                self._length += len(key) if isinstance(key, (str, bytes)) else 8
                yield range(place, place + 1), self.single, key

    def plain(self, key, number):
        """The key, if SQLite can have it; what has __index__ as an int."""
        if not isinstance(key, (str, bytes, int, float)):
            try:
                key = operator.index(key)
            except (AttributeError, TypeError):
                raise TypeError(
                    f"{self.name}: key {number} is a {type(key).__qualname__}. Pass each key as a"
                    " str, bytes, int or float"
                ) from None
        if isinstance(key, int) and not -(2**63) <= key < 2**63 or isinstance(key, str) and any(
            "\ud800" <= letter <= "\udfff" for letter in key
        ):
            raise self._beyond(key, number)
        return key

    def _beyond(self, key, number):
        return ValueError(
            f"{self.name}: key {number} is {key!r:.60}, which SQLite cannot store. Pass an int of"
            " at most 64 bits, or a str of valid Unicode"
        )

    def _packed_array(self, part, start):
        if part.dtype.kind == "u" and part.max() >= 2**63:
            place = int((part >= 2**63).argmax())
            raise self._beyond(int(part[place]), start + place + 1)
        return part.astype("<i8").tobytes()

    def _count(self, keys):
        before, self.done = self.done, self.done + keys
        if self.progress is not None:
            for reached in range(before // PROGRESS_KEYS + 1, self.done // PROGRESS_KEYS + 1):
                self.progress(reached * PROGRESS_KEYS)

    def report_the_end(self):
        if self.progress is not None and self.done % PROGRESS_KEYS != 0:
            self.progress(self.done)

    def explain(self, error):
        """Raises what the user is to see in the place of an error of the statement."""
        if self.problem is not None:
            raise self.problem from None
        raise error


def _is_missing(key):
    return type(key).__name__ in _NO_KEYS or isinstance(key, float) and key != key


def library_of(column):
    """The library of a column; None for a list and the like."""
    for module, name in _COLUMNS:
        known = getattr(sys.modules.get(module), name, None)
        if known is not None and isinstance(column, known):
            return module.partition(".")[0]
    return None


def pack(keys, kinds):
    """Keys of one kind as a batch, or None."""
    for kind in kinds:
        if keys and isinstance(keys[0], kind):
            return _PACKERS[kind](keys)
    return None


def _joined(keys):
    """The keys as lines, or None if one of them is no line. They begin with a line end, because
    bloom_lines leaves out a byte order mark at the start of a text.
    """
    text = "\n" + "\n".join(keys)
    if text.count("\n") != len(keys) or "\n\n" in text or text[-1] == "\n" or "\r" in text:
        return None
    if len(text) > _LONGEST:
        return None
    if not text.isascii():
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


_PACKERS = {str: _joined, int: _packed}


def own_connection(load, path=":memory:"):
    """A connection of sqlite3, or of apsw where that cannot load extensions."""
    connection = sqlite3.connect(path)
    try:
        load(connection)
    except NotImplementedError:
        connection.close()
        try:
            import apsw
        except ImportError:
            apsw = None
        if apsw is None:
            raise
        connection = apsw.Connection(path)
        load(connection)
    return connection
