"""Whether a filter has each value of a column, for columns of several libraries.

The values go through one SQL statement, many in a row, as in _feed.py: strings joined by line ends,
whole numbers packed, and everything else one by one. The answer to a row is a string of codes.
None of the libraries is imported: whoever passes its column has done that.
"""

import collections
import itertools
import sys

from . import _feed

_NAME = "sqlite_bloom.check"
_PART = 10_000  # values
_LONGEST = 1 << 24  # of joined strings; longer ones go one by one
_FOUND, _MISSING = ord("1"), ord("2")  # codes, as their digits
_ANSWERS = {ord("0"): False, _FOUND: True, _MISSING: None}
_COLUMNS = (("pandas", "Series"), ("pandas", "Index"), ("pandas.api.extensions", "ExtensionArray"),
            ("polars", "Series"), ("pyarrow", "Array"), ("pyarrow", "ChunkedArray"),
            ("numpy", "ndarray"))

# A filter is pinned once for each place that names it. NULL: no URL, or NaN.
_CHECK = "coalesce(bloom_check((SELECT bloom_pin(?1)), {}), 2)"
_JOINED = "(SELECT group_concat(" + _CHECK + ", '') FROM bloom_{}(b.batch))"
_QUERY = f"""
    SELECT CASE typeof(b.batch) WHEN 'text' THEN {_JOINED.format('text', 'lines')}
        WHEN 'blob' THEN {_JOINED.format('value', 'integers')} ELSE {_CHECK.format('b.key')} END
    FROM {_feed.rows('batch', 'key')}"""


def check(filter, column, load):
    """See sqlite_bloom.check."""
    if not isinstance(filter, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"{_NAME}: filter is a {type(filter).__qualname__}. Pass the bytes of a filter first,"
            " then the column"
        )
    questions = _Questions(_parts(column))
    connection = _feed.own_connection(load)
    try:
        # Bytes that are not a filter are an error for an empty column, too.
        connection.cursor().execute("SELECT bloom_check(?, NULL)", [filter]).fetchone()
        _feed.define(connection, "sqlite_bloom_batch", questions.next_batch)
        _feed.define(connection, "sqlite_bloom_key", lambda: questions.key)
        for (answer,) in connection.cursor().execute(_QUERY, [filter]):
            questions.note(str(answer).encode())
    except Exception:
        if questions.problem is not None:  # sqlite3 does not hand it on
            raise questions.problem from None
        raise
    finally:
        connection.close()
    return _result(column, b"".join(questions.codes))


class _Questions:
    """The rows of the statement, from parts of a column, and where their answers belong."""

    def __init__(self, parts):
        self.codes = []  # for each part
        self.key = None  # of the row
        self.problem = None  # what the column raised
        self._asked = collections.deque()  # for each row, the codes of its part, and which of them
        self._batches = self._all(parts)

    def next_batch(self):
        try:
            return next(self._batches, None)
        except BaseException as error:
            self.problem = error
            raise

    def _all(self, parts):
        done = 0
        for part in parts:
            self.codes.append(bytearray([_MISSING]) * len(part))
            for places, batch, self.key in _rows_of(part, done):
                self._asked.append((self.codes[-1], places))
                yield batch
            done += len(part)

    def note(self, answer):
        codes, places = self._asked.popleft()
        if isinstance(places, slice):
            codes[places] = answer
        else:
            for place, code in zip(places, answer):
                codes[place] = code


def _rows_of(part, done):
    """For each row, places of values in a part, and the batch that has them, or the one key."""
    if not isinstance(part, list):
        yield slice(None), _feed.packed_array(part, _NAME, done), None
        return
    for kind in set(map(type, part)):
        if kind.__name__ in _feed.NO_KEYS:
            continue
        places = [place for place, value in enumerate(part) if type(value) is kind]
        values = part if len(places) == len(part) else [part[place] for place in places]
        batch = _packed(values)
        if batch is not None:
            yield slice(None) if values is part else places, batch, None
            continue
        values = [_plain(value, done + place) for value, place in zip(values, places)]
        fits = [_packed([value]) is not None for value in values]
        batch = _packed(list(itertools.compress(values, fits)))
        if batch is None:
            fits = [False] * len(fits)
        else:
            yield list(itertools.compress(places, fits)), batch, None
        for place, value, is_done in zip(places, values, fits):
            if not is_done:
                yield slice(place, place + 1), 1, value


def _plain(value, before):
    """The value as SQLite can have it, and a float that is a whole number as an int."""
    value = _feed.checked(value, _NAME, before + 1)
    if isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**63:
        return int(value)
    if _feed.beyond_sqlite(value):
        raise _feed.beyond(value, _NAME, before + 1)
    return value


def _packed(values):
    """Values of one kind as a batch, or None."""
    kind = next((kind for kind in _feed.PACKERS if values and isinstance(values[0], kind)), None)
    if kind is None or kind is str and sum(map(len, values)) > _LONGEST:
        return None
    return _feed.PACKERS[kind](values)


def _library(column):
    """The library of a column; None for a list and the like."""
    for module, name in _COLUMNS:
        known = getattr(sys.modules.get(module), name, None)
        if known is not None and isinstance(column, known):
            return module.partition(".")[0]
    return None


def _parts(column):
    """Lists and arrays of whole numbers that are the column together."""
    if (isinstance(column, (str, bytes, bytearray)) or getattr(column, "ndim", 1) != 1
            or hasattr(column, "columns") or not hasattr(column, "__iter__")):
        raise TypeError(
            f"{_NAME}: column is a {type(column).__qualname__}. Pass one column: a list, an array"
            " of one dimension, or a Series"
        )
    library = _library(column)
    if library is None:
        values = iter(column)
        return iter(lambda: list(itertools.islice(values, _PART)), [])
    if library == "pandas":  # a Series and an Index have an array
        column = getattr(column, "array", column)
    slices = (column[start : start + _PART] for start in range(0, len(column), _PART))
    return (_as_part(part) for part in slices)


def _as_part(part):
    for method in ("to_pylist", "to_list"):  # of pyarrow and polars
        if hasattr(part, method):
            return getattr(part, method)()
    array = part.to_numpy() if hasattr(part, "to_numpy") else part
    if array.dtype.kind in "mM":
        raise TypeError(
            f"{_NAME}: column has times ({array.dtype}). Convert them to what the filter has, for"
            " example to str or int"
        )
    is_plain = _feed.is_array_of_integers(array) and not hasattr(array, "mask")
    return array if is_plain else array.tolist()


def _result(column, codes):
    """A column of the same kind from a code for each value."""
    library = _library(column)
    if library in ("numpy", "pandas"):
        numpy, pandas = sys.modules["numpy"], sys.modules.get("pandas")
        codes = numpy.frombuffer(codes, "uint8")
        found, missing = codes == _FOUND, codes == _MISSING
        if library == "numpy":
            is_masked = hasattr(column, "mask") or missing.any()
            return numpy.ma.array(found, mask=missing) if is_masked else found
        found = pandas.arrays.BooleanArray(found, missing)
        if isinstance(column, pandas.Series):
            return pandas.Series(found, index=column.index, name=column.name)
        return found
    answers = list(map(_ANSWERS.__getitem__, codes))
    if library == "polars":
        return type(column)(column.name, answers, sys.modules["polars"].Boolean)
    if library == "pyarrow":
        pyarrow = sys.modules["pyarrow"]
        array = pyarrow.array(answers, pyarrow.bool_())
        return pyarrow.chunked_array([array]) if hasattr(column, "chunks") else array
    return answers
