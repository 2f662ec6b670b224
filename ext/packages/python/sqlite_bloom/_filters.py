"""The class Filter, whose work is done in C, by _filter: what it is passed, and what it returns.

C reads a column as a list, a tuple or an iterator of objects, as a buffer of numbers with a letter
for their type, or as a stream of Arrow's C interface.
"""

import copyreg
import operator
import sys

from . import _columns

try:
    if (sys.implementation.name != "cpython" or sys.version_info < (3, 10)
            or "free-threading" in sys.version):
        raise ImportError(f"this is {sys.implementation.name} {sys.version.partition('(')[0]}")
    from ._filter import Filter as _Filter
except ImportError as _error:
    _REASON = str(_error).strip()

    class _Filter:
        __slots__ = ()

        def __new__(cls, *_, **__):
            raise NotImplementedError(
                "sqlite_bloom.Filter needs a wheel and CPython 3.10 or later with a GIL, but"
                f" {_REASON}. Make and check filters in SQL here: load and add_all work")

# By the letter of a buffer's type: our letters, by the bytes of a number.
_LETTERS = {**dict.fromkeys("bhilqn", " cs i   l"), **dict.fromkeys("BHILQN", " CS I   L"),
            "f": "    f", "d": "        g", "?": " C"}


def _numbers(view):
    """How C reads a buffer of numbers, or None if it does not."""
    view = memoryview(view)
    if view.format[-1:] not in _LETTERS or view.format[0] in "<>=!" or not view.c_contiguous:
        return None
    return view, f"{_LETTERS[view.format[-1]][view.itemsize]}{view.itemsize}"


def _array(column):
    """How C reads an array of numpy."""
    numpy = sys.modules["numpy"]
    if column.dtype.kind == "f" and column.dtype.itemsize not in (4, 8):
        column = column.astype(float)
    if column.dtype.kind in "iufb":
        return _numbers(numpy.require(column, column.dtype.newbyteorder("="), "CA"))
    return None


def _read_in_place(column, what):
    """How C reads a column of a library; None: as objects. A missing value in a column of whole
    numbers is left out, or is 0 for a check.
    """
    dtype = getattr(column, "dtype", None)
    library = _columns.library_of(column)
    if library == "numpy":
        if hasattr(column, "mask"):
            column = column.compressed() if what == "keys" else column.filled(0)
        return _array(column)
    if library == "pandas":
        plain = getattr(dtype, "numpy_dtype", dtype)  # of a column with a mask
        if getattr(plain, "kind", "") not in tuple("iufb"):
            arrow = getattr(getattr(column, "array", column), "__arrow_array__", None)
            if getattr(dtype, "storage", "") != "pyarrow" and not hasattr(dtype, "pyarrow_dtype"):
                return None
            return _read_in_place(arrow(), what)
        if plain is dtype:
            return _array(column.to_numpy())
        column = column.dropna() if what == "keys" else column
        return _array(column.to_numpy(plain, na_value=0))
    if library == "pyarrow" and not hasattr(column, "__arrow_c_stream__"):
        column = sys.modules["pyarrow"].chunked_array([column])
    if hasattr(column, "__arrow_c_stream__"):
        return column.__arrow_c_stream__(), "A"
    return _numbers(column) if type(column).__name__ in ("array", "memoryview") else None


def _read(work, column, name, *more, what="keys"):
    """Calls a method of C with a column."""
    column = _columns.checked(column, name, what)
    if type(column) is list:
        return work(column, None, name, *more)
    source = _read_in_place(column, what)
    if source is not None:
        try:
            return work(*source, name, *more)
        except NotImplementedError:  # of Arrow's types only some are read in place
            pass
    return work(_columns.objects(column), None, name, *more)


def _answered(column, codes):
    """A column of the same kind of answers: 0, 1 or 2 for each value, which was missing."""
    library = _columns.library_of(column)
    if library in ("numpy", "pandas"):
        numpy, pandas = sys.modules["numpy"], sys.modules.get("pandas")
        codes = numpy.frombuffer(codes, "uint8")
        masked = numpy.ma.getmaskarray(column) if library == "numpy" else column.isna()
        missing = numpy.asarray(masked) | (codes == 2)
        found = (codes == 1) & ~missing
        if library == "numpy":
            is_masked = hasattr(column, "mask") or missing.any()
            return numpy.ma.array(found, mask=missing) if is_masked else found
        found = pandas.arrays.BooleanArray(found, missing)
        if isinstance(column, pandas.Series):
            return pandas.Series(found, index=column.index, name=column.name)
        return found
    answers, place = memoryview(codes).cast("?").tolist(), codes.find(2)
    while place >= 0:
        answers[place], place = None, codes.find(2, place + 1)
    if library == "polars":
        return type(column)(column.name, answers, sys.modules["polars"].Boolean)
    if library == "pyarrow":
        pyarrow = sys.modules["pyarrow"]
        array = pyarrow.array(answers, pyarrow.bool_())
        return pyarrow.chunked_array([array]) if hasattr(column, "chunks") else array
    return answers


# What other modules, and SQL, call the arguments.
_CALLED = {
    **dict.fromkeys(("n", "size", "items", "expected_items", "expected_elements", "max_elements",
                     "initial_capacity"), "capacity"),
    **dict.fromkeys(("p", "rate", "error", "error_rate", "false_positive_rate",
                     "false_positive_probability"), "fpr"),
    "options": "layout=, key= or salt=",
}
# What other modules have, and what to write here.
_ELSEWHERE = {
    "save": "open(path, 'wb').write(f)", "load": "Filter(open(path, 'rb').read())",
    "clear": "f = Filter(capacity, fpr)", "approx_items": "f.count()", "error_rate": "f.fpr",
}


def _parameters(name, arguments, fpr, options):
    """The rate and the options, in the words of SQL."""
    layout, key, salt = (options.pop(option, None) for option in ("layout", "key", "salt"))
    for word in options:
        advice = f"Write {_CALLED[word]}" if word in _CALLED else (
            f"The arguments are {arguments}layout, key and salt")
        raise TypeError(f"{name}: there is no argument {word}. {advice}")
    if isinstance(salt, (bytes, bytearray)):
        salt = salt.hex()
    given = [(option, value) for option, value in (
        ("layout", layout), ("key", key), ("salt", salt)) if value is not None]
    for option, value in given:
        if not isinstance(value, str):
            raise TypeError(f"{name}: {option} is {value!r:.60}. Pass text")
    if fpr is not None and not isinstance(fpr, (int, float)):
        raise TypeError(f"{name}: fpr is {fpr!r:.60}. Pass a number, for example 0.01")
    if fpr is None:
        fpr = 0 if layout == "bitmap" else 0.0001 if key else 0.01
    return fpr, ", ".join(option + "='" + value.replace("'", "''") + "'"
                          for option, value in given) or None


def _is_buffer(value):
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _described(place, words):
    return property(lambda filter: filter._describe()[place] or None, doc=words)


class Filter(_Filter):
    """A filter in memory, with the bytes that it has in SQL.

    Filter(capacity, fpr=None, *, layout=None, key=None, salt=None): an empty one for a number of
    keys. fpr: the rate of false positives: 0.01, or with a key rule 0.0001. layout: 'blocked' (the
    default), 'counting' or another one of SQL. key: 'url', or another key rule. salt: 16 bytes, or
    their 32 hexadecimal digits.
    Filter(b): of the bytes of a filter, or of another buffer, such as mmap. They are read in place,
    and copied before the first change.

    It has the methods of a set where they mean the same: in, add, update, remove, discard, copy,
    union, intersection, |, &, |= and &=. It is stored where bytes are: execute("INSERT INTO filters
    VALUES (?)", [f]), bytes(f), file.write(f), pickle.

    A key is a str, bytes, int (64 bits), float, or what has __index__, which is an int. None, NaN
    and NA of pandas are not keys: adding them changes nothing, and they are never in.
    """

    __slots__ = ("__weakref__",)
    __module__ = "sqlite_bloom"

    def __init__(self, capacity=None, fpr=None, **options):
        name = "sqlite_bloom.Filter"
        if _is_buffer(capacity):
            if fpr is not None or any(value is not None for value in options.values()):
                raise TypeError(f"{name}: the filter that is opened has its own fpr, layout, key"
                                " and salt. Leave them out")
            self._open(capacity)
            return
        parameters = _parameters(name, "capacity, fpr, ", fpr, options)
        try:
            n = operator.index(capacity)
        except TypeError:
            raise TypeError(f"{name}: capacity is {capacity!r:.60}. Pass a whole number, or the"
                            " bytes of a filter, as in Filter(open(path, 'rb').read())") from None
        if not 0 <= n <= 2**40:
            raise ValueError(f"{name}: capacity is {n}. Pass a whole number from 0 to {2**40}")
        try:
            self._new(name, n, *parameters)
        except MemoryError:
            raise MemoryError(f"{name}: there is no memory for capacity {n}. Pass a smaller one"
                              ) from None

    @classmethod
    def build(cls, keys, capacity=None, fpr=None, *, progress=None, **options):
        """A filter of all keys, as bloom_agg makes it.

        keys: any iterable of keys, the lines of an open text file without their ends, an array of
        numpy, or a column of pandas, polars or another library with Arrow's C interface. It is run
        through once. capacity: how many keys it is made for; without it, as many as there are,
        which takes 8 to 32 bytes of memory for each until the filter is made. fpr, layout, key and
        salt: those of Filter, and the layout may also be 'fuse'. progress: called with the number
        of keys so far, after every 100,000 and at the end; what it raises stops the build.

        Raises what keys and progress raise, TypeError or ValueError for a key that SQLite cannot
        have, and ValueError when there is no key at all (a download that failed, lines that were
        all skipped: a filter of nothing lets everything pass; Filter(capacity) makes one where it
        is meant).
        """
        name = "sqlite_bloom.Filter.build"
        made, parameters = _Filter.__new__(cls), _parameters(
            name, "keys, capacity, fpr, progress, ", fpr, {**options})
        if capacity is None:
            count = _read(made._build, keys, name, progress, *parameters)
        else:
            Filter.__init__(made, capacity, fpr, **options)
            count = _read(made._use, keys, name, progress, False, None)
        if count == 0:
            raise ValueError(
                f"{name}: there is no key, and an empty filter lets everything pass. Look where the"
                " keys come from, or make an empty filter with sqlite_bloom.Filter(capacity)")
        return made

    @classmethod
    def from_blocklist(cls, text, fpr=None, **options):
        """A filter of the entries of a published block list, as bloom_list_agg makes it.

        text: a str, bytes or an open file. The key rule is 'url_nocase', or 'host' if no entry has
        a path. Raises ValueError if there is no entry.
        """
        name = "sqlite_bloom.Filter.from_blocklist"
        _, options = _parameters(name, "text, fpr, ", fpr, options)
        text = text.read() if hasattr(text, "read") else text
        if type(text) not in (str, bytes):
            raise TypeError(f"{name}: text is {text!r:.60}. Pass the text of the list, or the open"
                            " file")
        if fpr == 0:
            raise ValueError(f"{name}: fpr is 0. Pass a number between 0 and 1")
        made = _Filter.__new__(cls)
        made._new(name, text, fpr or 0.0, options)
        return made

    def update(self, *columns, progress=None):
        """Adds all keys of columns, which are those of build. The keys before one that cannot be a
        key are added.
        """
        for keys in columns:
            _read(self._use, keys, "sqlite_bloom.Filter.update", progress, True, None)

    def discard(self, key):
        """Removes a key once, if it is in a filter of layout counting."""
        self._remove(key, "sqlite_bloom.Filter.discard")

    def remove(self, key):
        """Removes a key once from a filter of layout counting. Raises KeyError if it is certainly
        not in.
        """
        if self.layout == "counting" and not _Filter.__contains__(self, key):
            raise KeyError(key)
        self._remove(key, "sqlite_bloom.Filter.remove")

    def copy(self):
        """A filter of its own with the same keys."""
        return self._merge(_Filter.__new__(type(self)), self, "")

    def __or__(self, other):
        return self._merge(_Filter.__new__(type(self)), other, "|")

    def __and__(self, other):
        return self._merge(_Filter.__new__(type(self)), other, "&")

    def __ior__(self, other):
        return self._merge(self, other, "|")

    def __iand__(self, other):
        return self._merge(self, other, "&")

    def union(self, other):
        return self | other

    def intersection(self, other):
        return self & other

    def check(self, column):
        """Whether the filter has each value of a column: a column of the same kind, of booleans.

        column: one of those that build takes. None, NaN and NA stay missing, and so is text that is
        not a URL for a filter with key='url'.

        The answers are a Series of pandas of type boolean with the same index and name (for an
        Index and an array, an array), a Series of polars, an Array or ChunkedArray of pyarrow, an
        array of numpy (a masked one if a value is missing), or a list of True, False and None.
        """
        name = "sqlite_bloom.Filter.check"
        column = _columns.checked(column, name, "column")
        column = column if hasattr(column, "__len__") else list(column)
        answers = bytearray(b"\2") * len(column)
        _read(self._use, column, name, None, False, answers, what="column")
        return _answered(column, answers)

    layout = _described(0, "The name of the layout.")
    key = _described(1, "The key rule, for example 'url', or None.")
    capacity = _described(3, "How many keys it was made for, or None if an import does not say it.")
    fpr = _described(4, "The rate that it was made for. None: an import does not say it, or it is"
                        " exact.")

    @property
    def fpr_now(self):
        """The rate to expect now, by its bits."""
        return self._estimate()[1]

    def count(self, key=None):
        """The number of different keys, estimated from its bits, or None if all are set. With a
        key, how often it was added to a filter of layout counting, from 0 to 15.
        """
        if key is not None:
            return self._count(key)
        count = self._estimate()[0]
        return None if count == float("inf") else round(count)

    def __len__(self):
        raise TypeError("sqlite_bloom.Filter: a filter does not know how many keys it has."
                        " f.count() is an estimate, and len(bytes(f)) is its size")

    def __bool__(self):
        return self._estimate()[0] != 0

    def __getattr__(self, name):
        meant = f". Write {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        raise AttributeError(f"sqlite_bloom.Filter: there is no attribute {name}{meant}")

    def __sizeof__(self):
        return object.__sizeof__(self) + self._describe()[5]

    def __reduce__(self):
        names = [*getattr(self, "__dict__", ()), *copyreg._slotnames(type(self))]
        kept = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return copyreg.__newobj__, (type(self),), (bytes(self), kept)

    def __setstate__(self, state):
        self._open(state[0])
        for name, value in state[1].items():
            setattr(self, name, value)

    def __repr__(self):
        layout, key, is_salted, capacity, fpr, _ = self._describe()
        return (f"<sqlite_bloom.{type(self).__qualname__} layout={layout}"
                + f" key={key}" * (key is not None) + " salted" * is_salted
                + f" capacity={capacity}" * (capacity > 0) + f" fpr={fpr:g}" * (fpr > 0)
                + f" {memoryview(self).nbytes} bytes>")
