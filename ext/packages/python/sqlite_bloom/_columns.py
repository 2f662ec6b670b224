"""What keys and columns may be. None of the libraries here is imported: whoever passes a column has
done that.
"""

import operator
import sys

_COLUMNS = (("pandas", "Series"), ("pandas", "Index"), ("pandas.api.extensions", "ExtensionArray"),
            ("polars", "Series"), ("pyarrow", "Array"), ("pyarrow", "ChunkedArray"),
            ("numpy", "ndarray"))
_READ = 1 << 20  # characters of a file, at a time
_SLICE = 10_000  # values of a column


def is_missing(key):
    """None, NaN, and NA and NaT of pandas, which are not keys."""
    return (key is None or isinstance(key, float) and key != key
            or type(key).__name__ in ("NAType", "NaTType"))


def plain(key, name, number):
    """A key as SQLite has it: what has __index__ as an int, and None for what is missing. number:
    of the key in its column, or 0 if it is by itself.
    """
    which, each = (f"key {number}", "each key") if number else ("the key", "it")
    if is_missing(key):
        return None
    if not isinstance(key, (str, bytes, int, float)):
        try:
            key = operator.index(key)
        except TypeError:
            raise TypeError(f"{name}: {which} is a {type(key).__qualname__}. Pass {each} as a str,"
                            " bytes, int or float") from None
    if isinstance(key, int) and not -(2**63) <= key < 2**63 or isinstance(key, str) and any(
            "\ud800" <= letter <= "\udfff" for letter in key):
        raise ValueError(f"{name}: {which} is {key!r:.60}, which SQLite cannot store. Pass an int"
                         " of at most 64 bits, or a str of valid Unicode")
    return key


def checked(keys, name, what="keys"):
    """The keys, or the lines of an open file. name: of the function, for errors."""
    if isinstance(keys, (str, bytes, bytearray)) or (
            isinstance(keys, memoryview) and keys.format in ("B", "c")):
        raise TypeError(f"{name}: {what} is one {type(keys).__name__}, {keys!r:.60}. Pass a list of"
                        " keys, an open file, or text.splitlines()")
    if what == "keys" and isinstance(keys, list) and len(keys) > 1 and type(keys[-1]) is str and (
            not keys[-1]) and all(type(key) is str for key in keys):
        raise ValueError(f"{name}: the last key is empty, as text.split('\\n') leaves one. Pass"
                         " text.splitlines(). If '' is a key, add it before the others")
    if hasattr(keys, "read"):
        return _lines(keys)
    if not hasattr(keys, "__iter__") and not hasattr(keys, "__getitem__"):
        advice = "the open file" if hasattr(keys, "__fspath__") else "an iterable of keys"
        raise TypeError(f"{name}: {what} is {keys!r:.60} and cannot be iterated. Pass {advice}")
    if hasattr(keys, "columns") or getattr(keys, "ndim", 1) != 1:
        raise TypeError(f"{name}: {what} is a {type(keys).__qualname__}. Pass one column of it, as"
                        " in frame['url']")
    if getattr(getattr(keys, "dtype", None), "kind", "") in tuple("mM"):
        raise TypeError(f"{name}: the column has times ({keys.dtype}). Convert them to str or int")
    return keys


def _lines(file):
    """Lines as bloom_lines has them: without ends, a byte order mark and empty lines."""
    text = file.read(_READ)
    feed, back, mark = ("\n", "\r", "\ufeff") if isinstance(text, str) else (
        b"\n", b"\r", b"\xef\xbb\xbf")
    rest, text = text[:0], text[len(mark) if text.startswith(mark) else 0:]
    while text:
        *lines, rest = (rest + text).replace(back, feed).split(feed)
        yield from filter(None, lines)
        text = file.read(_READ)
    if rest:
        yield rest


def library_of(column):
    """None for a list and the like."""
    for module, name in _COLUMNS:
        known = getattr(sys.modules.get(module), name, None)
        if known is not None and isinstance(column, known):
            return module.partition(".")[0]
    return None


def objects(column):
    """The values of a column as objects of Python."""
    return iter(column) if library_of(column) is None else _objects(column)


def _objects(column):
    column = getattr(column, "array", column)  # of a Series or an Index of pandas
    for start in range(0, len(column), _SLICE):
        part = column[start:start + _SLICE]
        for method in ("to_pylist", "to_list", "tolist"):  # of pyarrow, polars, numpy and pandas
            if hasattr(part, method):
                yield from getattr(part, method)()
                break
