"""Keys of an iterable for one SQL statement, many at a time.

A call of Python from SQL costs several times what a key costs. So strings are joined by line ends
and read by bloom_lines, and whole numbers are packed and read by bloom_integers, 1,000 keys a call.
The first keys choose which. Everything else goes key by key: the other kind, bytes, floats, strings
with a line end in them, empty ones, and what SQLite cannot have, so that the error names it.
"""

import array
import collections
import functools
import itertools
import operator
import sqlite3
import sys

PROGRESS_KEYS = 100_000
_BATCH_KEYS = 1000
_SLICE_KEYS = 50_000  # of an array
_BATCH_LENGTH = 1 << 20  # about; long keys come in smaller batches
_KINDS = {str, bytes, int, float}
NO_KEYS = ("NoneType", "NAType", "NaTType")  # the last two are of pandas


def rows(*names):
    """SQL for what functions return, a column each, until the first one returns NULL. They are
    called in that order."""
    columns = ", ".join(names)
    calls = ", ".join(f"sqlite_bloom_{name}()" for name in names)
    return f"""(
        WITH RECURSIVE b({columns}) AS (SELECT {calls}
            UNION ALL SELECT {calls} FROM b WHERE {names[0]} IS NOT NULL)
        SELECT {columns} FROM b WHERE {names[0]} IS NOT NULL) AS b"""


# For kinds of keys, the rows of a statement, and the key of a row. Where key is not NULL, it takes
# the place of the one key of its batch. (A UNION ALL of the two would copy every key.)
_FORMS = {
    str: (f"{rows('batch', 'key')} CROSS JOIN bloom_lines(b.batch)", "coalesce(b.key, text)"),
    int: (f"{rows('batch', 'key')} CROSS JOIN bloom_integers(b.batch)", "coalesce(b.key, value)"),
    "array": (f"{rows('batch')} CROSS JOIN bloom_integers(b.batch)", "value"),
    None: (rows("key"), "b.key"),
}


class Feed:
    """name: of the function, for errors."""

    def __init__(self, keys, name, progress):
        if isinstance(keys, (str, bytes, bytearray)):
            raise TypeError(f"{name}: keys is one key. Pass a list of it, [{keys[:40]!r}]")
        if not hasattr(keys, "__iter__") and not hasattr(keys, "__getitem__"):
            lines = hasattr(keys, "__fspath__")  # it is a path
            raise TypeError(
                f"{name}: keys is {keys!r:.60} and cannot be iterated. Pass "
                + ("the lines of the file without their ends" if lines else "an iterable of keys")
            )
        if hasattr(keys, "to_numpy"):  # of pandas, or the like
            if hasattr(keys, "columns"):
                raise TypeError(
                    f"{name}: keys is a {type(keys).__qualname__}. Pass one column of it, as in"
                    " frame['url']"
                )
            keys = keys.to_numpy()
        self.name = name
        self.progress = progress
        self.done = 0  # keys, None left out
        self.added = False  # there was a key
        self.problem = None  # what an iterator, progress or a check raised
        is_array = is_array_of_integers(keys)
        self._array = keys if is_array else ()
        self._sliced = 0  # of the array
        self._source = iter(() if is_array else keys)
        self._size = 100
        self._kinds = set()
        self._unread = []  # the first keys
        self._aside = collections.deque()  # number and key, for key by key
        self._last = None  # number and key that SQLite was given last, key by key
        self._key = None  # of the row, key by key
        self._kind = "array" if is_array else self._kind_of_the_first()
        self.rows, self.key = _FORMS[self._kind]  # SQL

    def _kind_of_the_first(self):
        self._unread = self._read()
        for kind, pack in PACKERS.items():
            if any(isinstance(key, kind) and pack([key]) for key in self._unread):
                return kind
        return None

    def functions(self):
        """Names and functions. What one raises is kept, because sqlite3 does not hand it on."""
        batches = self._slices if self._kind == "array" else self._batches
        keys = self._one_by_one if self._kind is None else self._keys
        for name, values in (("batch", batches()), ("key", keys())):
            yield f"sqlite_bloom_{name}", functools.partial(next, self._kept(values))

    def _kept(self, values):
        try:
            yield from values
        except BaseException as error:
            self.problem = error
            raise

    # Generators of what the functions return. NULL ends the statement.

    def _batches(self):
        pack = PACKERS[self._kind]
        one = pack([self._kind(1)])  # any key; self._key takes its place
        while True:
            self._key = None
            if self._aside:
                self._key = self._next_aside()
                if self._key is not None:
                    yield one
                continue
            keys = self._read()
            if not keys:
                yield None
                continue
            batch = pack(keys) if self._kinds == {self._kind} else None
            if batch is None:
                fits = [isinstance(key, self._kind) and pack([key]) is not None for key in keys]
                self._aside.extend(
                    pair for pair, good in zip(self._numbered(keys), fits) if not good
                )
                keys = [key for key, good in zip(keys, fits) if good]
                if not keys:
                    continue
                batch = pack(keys)
            self.added = True
            self._size = max(1, min(_BATCH_KEYS, _BATCH_LENGTH * len(keys) // len(batch)))
            yield batch

    def _keys(self):
        while True:
            yield self._key

    def _one_by_one(self):
        while True:
            if not self._aside:
                self._aside.extend(self._numbered(self._read()))
            if not self._aside:
                yield None
                continue
            key = self._next_aside()
            if key is not None:
                yield key

    def _next_aside(self):
        """The next key of those aside; None for a float that is no number, which would be NULL."""
        self._last = self._aside.popleft()
        if self._last[1] != self._last[1]:
            return None
        self.added = True
        return self._last[1]

    def _slices(self):
        while True:
            yield self._slice()

    def _slice(self):
        """The next part of an array."""
        part = self._array[self._sliced : self._sliced + _SLICE_KEYS]
        if len(part) == 0:
            return None
        packed = packed_array(part, self.name, self.done)
        self._sliced += len(part)
        self.added = True
        self._count(len(part))
        return packed

    def _numbered(self, keys):
        """What _read has just returned, with the number of each key."""
        return enumerate(keys, self.done - len(keys) + 1)

    def _read(self):
        """The next keys, at most a batch; none at the end."""
        keys, self._unread = self._unread, []
        if keys:
            return keys
        more = True
        while more and not keys:
            keys = list(itertools.islice(self._source, self._size))
            more = len(keys) > 0
            self._kinds = set(map(type, keys))
            if not self._kinds <= _KINDS:
                keys = [key for key in keys if type(key).__name__ not in NO_KEYS]
                keys = [checked(key, self.name, self.done + i) for i, key in enumerate(keys, 1)]
                self._kinds = set(map(type, keys))
        self._count(len(keys))
        return keys

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
        if self._last is None or not beyond_sqlite(self._last[1]):
            raise error
        raise beyond(self._last[1], self.name, self._last[0]) from None


def checked(key, name, number):
    """The key, if SQLite can have it; what has __index__ as an int."""
    if isinstance(key, (str, bytes, int, float)):
        return key
    try:
        return operator.index(key)
    except (AttributeError, TypeError):
        raise TypeError(
            f"{name}: key {number} is a {type(key).__qualname__}. Pass each key as a str,"
            " bytes, int or float"
        ) from None


def beyond(key, name, number):
    return ValueError(
        f"{name}: key {number} is {key!r:.60}, which SQLite cannot store. Pass an int of"
        " at most 64 bits, or a str of valid Unicode"
    )


def is_array_of_integers(keys):
    """One of numpy, or of what looks like it. True is 1, as it is to SQLite."""
    dtype = getattr(keys, "dtype", None)
    return (getattr(dtype, "kind", "") in ("i", "u", "b") and getattr(keys, "ndim", 0) == 1
            and hasattr(keys, "astype"))


def packed_array(part, name, done):
    """An array of whole numbers as 8 bytes each. done: how many keys are before it."""
    if part.dtype.kind == "u" and part.max() >= 2**63:
        place = int((part >= 2**63).argmax())
        raise beyond(int(part[place]), name, done + place + 1)
    return part.astype("<i8").tobytes()


def _joined(keys):
    """The keys as lines, or None if one of them is no line. They begin with a line end, because
    bloom_lines leaves out a byte order mark at the start of a text.
    """
    text = "\n" + "\n".join(keys)
    if text.count("\n") != len(keys) or "\n\n" in text or text[-1] == "\n" or "\r" in text:
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


PACKERS = {str: _joined, int: _packed}


def beyond_sqlite(key):
    if isinstance(key, int):
        return not -(2**63) <= key < 2**63
    return isinstance(key, str) and any("\ud800" <= letter <= "\udfff" for letter in key)


def define(connection, name, function):
    """Gives a connection of sqlite3 or apsw a function without arguments; None takes it away."""
    if hasattr(connection, "create_scalar_function"):
        connection.create_scalar_function(name, function, 0)
    elif hasattr(connection, "createscalarfunction"):  # apsw up to 3.41
        connection.createscalarfunction(name, function, 0)
    else:
        connection.create_function(name, 0, function)


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
