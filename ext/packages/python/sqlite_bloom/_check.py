"""Whether a filter has each value of a column, for columns of several libraries.

The values go through one SQL statement as keys of a Feed. The answer to a batch is a string of
codes, a digit for each value.
"""

import collections
import sys

from . import _feed

_FOUND, _MISSING = ord("1"), ord("2")  # codes
_ANSWERS = {ord("0"): False, _FOUND: True, _MISSING: None}

# A filter is pinned once for each place that names it. NULL: no URL.
_CHECK = "coalesce(bloom_check((SELECT bloom_pin(?1)), {}), 2)"
_JOINED = "(SELECT group_concat(" + _CHECK + ", '') FROM bloom_{}(b.batch))"
_QUERY = f"""
    SELECT CASE typeof(b.batch) WHEN 'text' THEN {_JOINED.format('text', 'lines')}
        WHEN 'blob' THEN {_JOINED.format('value', 'integers')} ELSE {_CHECK.format('b.key')} END
    FROM {_feed.ROWS}"""


class _Values(_feed.Feed):
    def __init__(self, column):
        super().__init__(column, "sqlite_bloom.check", what="column")
        self.kinds = (str, int)
        self.asked = collections.deque()  # the places of each row that has no answer yet

    def next_batch(self):
        batch = super().next_batch()
        self.asked.append(self.places)
        return batch

    def plain(self, key, number):
        """A float that is a whole number is an int to a filter, too."""
        key = super().plain(key, number)
        if isinstance(key, float) and key.is_integer() and -(2**63) <= key < 2**63:
            return int(key)
        return key


def check(filter, column, load):
    """See sqlite_bloom.check."""
    if not isinstance(filter, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"sqlite_bloom.check: filter is a {type(filter).__qualname__}. Pass the bytes of a"
            " filter first, then the column"
        )
    values, codes = _Values(column), bytearray()
    connection = _feed.own_connection(load)
    try:
        # Bytes that are not a filter are an error for an empty column, too.
        connection.cursor().execute("SELECT bloom_check(?, NULL)", [filter]).fetchone()
        values.define(connection)
        for (answer,) in connection.cursor().execute(_QUERY, [filter]):
            codes.extend(b"2" * (values.read - len(codes)))
            places, answer = values.asked.popleft(), str(answer).encode()
            if isinstance(places, range):
                codes[places.start : places.stop] = answer
            else:
                for place, code in zip(places, answer):
                    codes[place] = code
    except Exception as error:
        values.explain(error)
    finally:
        connection.close()
    codes.extend(b"2" * (values.read - len(codes)))
    return _result(column, bytes(codes))


def _result(column, codes):
    """A column of the same kind from a code for each value."""
    library = _feed.library_of(column)
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
