"""Persistent filters for SQLite: values, aggregates and tables, written in C.

>>> import sqlite3, sqlite_bloom
>>> connection = sqlite3.connect(":memory:")
>>> sqlite_bloom.load(connection)
>>> connection.execute("SELECT bloom_check(bloom_add(bloom_new(100), 'a'), 'a')").fetchone()
(1,)
"""

import atexit
import inspect
import os
import shutil
import sqlite3
import sys
import tempfile

__version__ = "@RELEASE@"
__all__ = ["build", "load", "loadable_path"]

_LIBRARY = {"win32": "bloom.dll", "cygwin": "bloom.dll", "darwin": "bloom.dylib"}.get(
    sys.platform, "bloom.so"
)
_PROGRESS_KEYS = 100_000

# Folders with private copies of the library, which this process made for further SQLite libraries.
# A child after a fork makes its own, because its parent removes these when it exits.
_copies = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_copies.clear)


def loadable_path():
    """The path of the library, for whatever loads SQLite extensions by path."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), _LIBRARY)


def load(connection):
    """Gives a connection the functions and tables of bloom.

    Takes connections of sqlite3, apsw, pysqlite3 and SQLCipher's modules, of SQLAlchemy, Django and
    aiosqlite. An engine of SQLAlchemy gives them to every connection that it opens from then on.
    What is asynchronous is awaited: await load(connection).

    Modules that bring an SQLite library of their own can be mixed in one process. The first library
    gets the file of this package, and each other one a private copy of it in the folder for
    temporary files. The copies are removed when the process exits.

    Extension loading is switched on for this one call and off again. Raises what the module of the
    connection raises when the library cannot be loaded, TypeError when this is no connection to
    SQLite, and NotImplementedError when its SQLite was built without extension loading.
    """
    # apsw up to 3.41 writes them in one word.
    enable = getattr(connection, "enable_load_extension", None) or getattr(
        connection, "enableloadextension", None
    )
    load_extension = getattr(connection, "load_extension", None) or getattr(
        connection, "loadextension", None
    )
    if enable is not None and load_extension is not None:
        if inspect.iscoroutinefunction(enable):
            return _load_awaiting(enable, load_extension)
        enable(True)
        try:
            for attempt in _attempts():
                with attempt:
                    load_extension(attempt.path)
        finally:
            enable(False)
        return None
    return _load_wrapped(connection)


async def _load_awaiting(enable, load_extension):
    await enable(True)
    try:
        for attempt in _attempts():
            with attempt:
                await load_extension(attempt.path)
    finally:
        await enable(False)


class _Attempt:
    """A load from one path. It may be refused because the file there serves another SQLite library,
    unless it is the last attempt.
    """

    def __init__(self, path, last=False):
        self.path = path
        self.last = last
        self.refused = False

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.refused = "serves another SQLite library" in str(error)
        return self.refused and not self.last


def _attempts():
    """Loads from the file of the package, then from the copies that there are, then from a new one,
    until one is not refused. Other threads learn of the new copy when it has been loaded.
    """
    for folder in [os.path.dirname(loadable_path()), *_copies]:
        attempt = _Attempt(os.path.join(folder, _LIBRARY))
        yield attempt
        if not attempt.refused:
            return
    folder = tempfile.mkdtemp(prefix="sqlite-bloom-")
    atexit.register(_remove, folder, os.getpid())
    yield _Attempt(shutil.copy(loadable_path(), folder), last=True)
    _copies.append(folder)


def _remove(folder, process):
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _load_wrapped(connection):
    """The connections that are inside of others, by what those others have."""

    def has(name):
        return hasattr(connection, name)

    if has("ensure_connection"):  # Django; its connection is opened when it is first used
        if connection.vendor != "sqlite":
            raise TypeError(
                f"sqlite_bloom.load expects a connection to SQLite, not to {connection.vendor}"
            )
        connection.ensure_connection()
        return load(connection.connection)
    # SQLAlchemy: an asynchronous connection, and engine; what it makes of one of aiosqlite.
    if has("sync_connection"):
        return load(connection.sync_connection.connection.driver_connection)
    if has("sync_engine"):
        return load(connection.sync_engine)
    if has("run_async"):
        return connection.run_async(load)
    if has("driver_connection"):
        return load(connection.driver_connection)
    if has("raw_connection") and has("dialect"):  # an engine of it
        from sqlalchemy import event

        event.listen(connection, "connect", lambda opened, record: load(opened))
        return None
    if has("connection"):  # a connection of it, in which connection is no method, or a session
        inner = connection.connection
        return load(inner() if callable(inner) else inner)
    kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
    if not has("cursor"):
        raise TypeError(
            "sqlite_bloom.load expects a connection of sqlite3, apsw, SQLAlchemy, Django or"
            f" aiosqlite, not {kind}"
        )
    raise NotImplementedError(
        f"{type(connection).__module__} of this Python ({sys.executable}) was built without"
        " extension loading. Use the module apsw (pip install apsw), whose connections can be"
        " passed to sqlite_bloom.load, or a Python built with"
        " --enable-loadable-sqlite-extensions"
    )


def build(keys, n=None, p=0.01, options=None, *, progress=None):
    """The bytes of a filter of all keys, as bloom_agg makes it.

    keys: any iterable of str, bytes, int (64 bits) and float; None is no key. It is run through
    once, and nothing of it is kept: memory is that of the filter, and without n 16 bytes for each
    distinct key until the filter is made. n: how many keys it is made for; without it, as many as
    there are. p: the rate of false positives (None for a bitmap). options: the fourth argument of
    bloom_agg, as 'fuse'. progress: called with the number of keys so far, after every 100,000 and
    at the end; what it raises stops the build.

    Raises what keys and progress raise, TypeError or ValueError for a key that SQLite cannot have,
    ValueError when there is no key at all (a download that failed, lines that were all skipped: a
    filter of nothing lets everything pass; SELECT bloom_new(n) makes one where it is meant), and
    sqlite3.OperationalError with the message of bloom_agg.
    """
    if isinstance(keys, (str, bytes, bytearray)):
        raise TypeError(f"sqlite_bloom.build expects many keys, not one: [{keys[:40]!r}]")
    source = iter(keys)
    done, added, key, problem = 0, False, None, None

    def next_key():  # NULL ends it
        nonlocal done, added, key, problem
        try:
            for key in source:
                if not isinstance(key, (str, bytes, int, float)):
                    if key is None:
                        continue
                    raise TypeError(
                        f"sqlite_bloom.build: key {done + 1} is a {type(key).__qualname__}; a str,"
                        " bytes, int or float is expected"
                    )
                done += 1
                if progress is not None and done % _PROGRESS_KEYS == 0:
                    progress(done)
                if key == key:  # a float that is no number would be NULL
                    added = True
                    return key
        except BaseException as error:
            problem = error
            raise
        return None

    connection = _connection_with(next_key)
    arguments = ["key", "?", "?"] + ["?"] * (options is not None)
    try:
        query = connection.cursor().execute(
            "WITH RECURSIVE k(key) AS (SELECT next_key() UNION ALL"
            " SELECT next_key() FROM k WHERE key IS NOT NULL)"
            f" SELECT bloom_agg({', '.join(arguments)}) FROM k",
            [n, p] + [options] * (options is not None),
        )
        result = query.fetchone()[0]
    except Exception:
        if problem is not None:
            raise problem from None
        if not _beyond_sqlite(key):
            raise
        raise ValueError(
            f"sqlite_bloom.build: key {done} is {key!r:.60}, which SQLite cannot have: an int needs"
            " 64 bits at most, a str must be valid Unicode"
        ) from None
    finally:
        connection.close()
    if not added:
        raise ValueError(
            "sqlite_bloom.build: there is no key, and a filter of nothing lets everything pass;"
            " look where the keys come from, or make an empty filter with SELECT bloom_new(n)"
        )
    if progress is not None and done % _PROGRESS_KEYS != 0:
        progress(done)
    return result


def _beyond_sqlite(key):
    if isinstance(key, int):
        return not -(2**63) <= key < 2**63
    return isinstance(key, str) and any("\ud800" <= letter <= "\udfff" for letter in key)


def _connection_with(next_key):
    """A connection of sqlite3, or of apsw where that cannot load extensions, with the function."""
    connection = sqlite3.connect(":memory:")
    try:
        load(connection)
        connection.create_function("next_key", 0, next_key)
    except NotImplementedError:
        connection.close()
        try:
            import apsw
        except ImportError:
            apsw = None
        if apsw is None:
            raise
        connection = apsw.Connection(":memory:")
        load(connection)
        connection.create_scalar_function("next_key", next_key, 0)
    return connection
