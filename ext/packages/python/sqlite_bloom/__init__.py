"""Persistent filters for SQLite: values, aggregates and tables, written in C; and Filter in memory.

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
import sys
import tempfile

from ._filters import Filter
from ._tables import add_all

__version__ = "1.1.0"
__all__ = ["Filter", "add_all", "load", "loadable_path"]

_LIBRARY = {"win32": "bloom.dll", "cygwin": "bloom.dll", "darwin": "bloom.dylib"}.get(
    sys.platform, "bloom.so"
)

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
    aiosqlite. An engine of SQLAlchemy gives them to every connection that it hands out from then
    on, whether new or pooled. A connection that is in use at that moment gets them when it is
    handed out again; pass it by itself to give them at once. What is asynchronous is awaited: await
    load(connection).

    Modules that bring an SQLite library of their own can be mixed in one process. The first library
    gets the file of this package, and each other one a private copy of it in the folder for
    temporary files. The copies are removed when the process exits.

    Extension loading is switched on for this one call and off again. Raises what the module of the
    connection raises when the library cannot be loaded, TypeError when this is no connection to
    SQLite, and NotImplementedError when its SQLite was built without extension loading.
    """
    for names in (("enable_load_extension", "load_extension"),
                  ("enableloadextension", "loadextension")):  # of apsw up to 3.41
        if all(hasattr(connection, name) for name in names):
            enable, load_extension = (getattr(connection, name) for name in names)
            loading = _loading(enable, load_extension)
            if inspect.iscoroutinefunction(enable):
                return loading
            try:
                loading.send(None)  # it waits for nothing, so this is all of it
            except StopIteration:
                return None
    return _load_wrapped(connection)


async def _loading(enable, load_extension):
    """Loads from the file of the package, then from the copies that there are, then from a new one,
    until one is not refused because it serves another SQLite library. Other threads learn of the
    new copy when it has been loaded.
    """

    async def call(function, argument):
        result = function(argument)
        return await result if inspect.isawaitable(result) else result

    await call(enable, True)
    try:
        for folder in [os.path.dirname(loadable_path()), *_copies]:
            try:
                return await call(load_extension, os.path.join(folder, _LIBRARY))
            except Exception as error:
                if "serves another SQLite library" not in str(error):
                    raise
        folder = tempfile.mkdtemp(prefix="sqlite-bloom-")
        atexit.register(_remove, folder, os.getpid())
        await call(load_extension, shutil.copy(loadable_path(), folder))
        _copies.append(folder)
    finally:
        await call(enable, False)


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
                f"sqlite_bloom.load: this is a connection to {connection.vendor}."
                " Pass a connection to SQLite"
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

        event.listen(connection, "connect", _load_connected)
        event.listen(connection, "checkout", _load_checked_out)
        return None
    if has("connection"):  # a connection or session of it, or a cursor of sqlite3
        inner = connection.connection
        return load(inner() if inspect.isroutine(inner) else inner)
    if not has("cursor"):
        raise TypeError(
            f"sqlite_bloom.load: {connection!r:.60} is not a connection to SQLite. Pass one of"
            " sqlite3, apsw, SQLAlchemy, Django or aiosqlite"
        )
    raise NotImplementedError(
        f"{type(connection).__module__} of this Python ({sys.executable}) was built without"
        " extension loading. Install apsw (pip install apsw), whose connections sqlite_bloom.load"
        " takes, use the Python of your distribution or of Homebrew, or build this one again with"
        " PYTHON_CONFIGURE_OPTS=--enable-loadable-sqlite-extensions"
    )


def _load_connected(opened, record):
    load(opened)
    record.info["sqlite_bloom"] = True


def _load_checked_out(opened, record, _):
    """For connections that were in the pool before load(engine)."""
    if "sqlite_bloom" not in record.info:
        _load_connected(opened, record)
