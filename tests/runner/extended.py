"""Connections of apsw, of any release from 3.40, that have loaded the extension: that of the tree,
or the file that EXTENSION in the environment names. CACHE_SIZE there is SQLite's cache_size, since
filter tables may have as much memory as that."""
import os
import pathlib

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = next((str(path.resolve()) for path in (pathlib.Path(os.environ.get("EXTENSION", "")),
                                                 TOP / "bloom.so", TOP / "bloom.dylib",
                                                 TOP / "bloom.dll") if path.is_file()), "bloom")
FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI


def either(owner, name, older_name):
    """The attribute of an apsw object under its present name, or under the one it had in apsw
    3.40."""
    return getattr(owner, name, None) or getattr(owner, older_name)


def connect(path=":memory:", library=LIBRARY):
    """library: another one than the tree's, or None."""
    connection = apsw.Connection(str(path), FLAGS)
    if library:
        either(connection, "enable_load_extension", "enableloadextension")(True)
        either(connection, "load_extension", "loadextension")(library)
        either(connection, "enable_load_extension", "enableloadextension")(False)
    if "CACHE_SIZE" in os.environ:
        rows(connection, f"PRAGMA cache_spill = 0; PRAGMA cache_size = {os.environ['CACHE_SIZE']}")
    return connection


def rows(connection, sql, bindings=()):
    return list(connection.cursor().execute(sql, bindings))
