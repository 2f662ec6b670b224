"""Persistent Bloom filters for SQLite: values, aggregates and tables, written in C.

>>> import sqlite3, sqlite_bloom
>>> connection = sqlite3.connect(":memory:")
>>> sqlite_bloom.load(connection)
>>> connection.execute("SELECT bloom_check(bloom_add(bloom_new(100), 'a'), 'a')").fetchone()
(1,)
"""

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
    connection raises when the library cannot be loaded, and NotImplementedError when its SQLite was
    built without extension loading.
    """
    if not hasattr(connection, "enable_load_extension"):
        raise NotImplementedError(
            f"{type(connection).__module__} of this Python ({sys.executable}) was built without"
            " extension loading. Use the module apsw (pip install apsw), whose connections can be"
            " passed to sqlite_bloom.load, or a Python built with"
            " --enable-loadable-sqlite-extensions"
        )
    connection.enable_load_extension(True)
    try:
        connection.load_extension(loadable_path())
    finally:
        connection.enable_load_extension(False)
