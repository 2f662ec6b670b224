"""Persistent Bloom filters for SQLite: values, aggregates and tables, written in C.

>>> import sqlite3, sqlite_bloom
>>> connection = sqlite3.connect(":memory:")
>>> sqlite_bloom.load(connection)
>>> connection.execute("SELECT bloom_check(bloom_add(bloom_new(100), 'a'), 'a')").fetchone()
(1,)
"""

import inspect
import os
import sys
from typing import Any

__version__ = "@RELEASE@"
__all__ = ["load", "loadable_path"]

_LIBRARY = {"win32": "bloom.dll", "cygwin": "bloom.dll", "darwin": "bloom.dylib"}.get(
    sys.platform, "bloom.so"
)


def loadable_path() -> str:
    """The path of the library, for whatever loads SQLite extensions by path."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), _LIBRARY)


def load(connection: Any) -> None:
    """Gives a connection of sqlite3, apsw, pysqlite3, SQLCipher or the like the functions and
    tables of bloom.

    Extension loading is switched on for this one call and off again. Raises what the module of the
    connection raises when the library cannot be loaded, TypeError when the connection is none, or
    an asynchronous one, and NotImplementedError when its SQLite was built without extension
    loading.
    """
    if not hasattr(connection, "cursor"):
        raise TypeError(
            "sqlite_bloom.load expects a connection of sqlite3, apsw or the like, not"
            f" {type(connection).__module__}.{type(connection).__qualname__}; a wrapper has one"
            " inside, as SQLAlchemy's connection.connection.driver_connection"
        )
    # apsw up to 3.41 writes them in one word.
    enable = getattr(connection, "enable_load_extension", None) or getattr(
        connection, "enableloadextension", None
    )
    load_extension = getattr(connection, "load_extension", None) or getattr(
        connection, "loadextension", None
    )
    if enable is None or load_extension is None:
        raise NotImplementedError(
            f"{type(connection).__module__} of this Python ({sys.executable}) was built without"
            " extension loading. Use the module apsw (pip install apsw), whose connections can be"
            " passed to sqlite_bloom.load, or a Python built with"
            " --enable-loadable-sqlite-extensions"
        )
    if inspect.iscoroutinefunction(enable):
        raise TypeError(
            f"a connection of {type(connection).__module__} is asynchronous: await its"
            " enable_load_extension(True), then its load_extension(sqlite_bloom.loadable_path())"
        )
    enable(True)
    try:
        load_extension(loadable_path())
    finally:
        enable(False)
