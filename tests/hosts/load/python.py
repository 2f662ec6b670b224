"""A module of Python's DB-API or apsw, with the package sqlite-bloom: python.py MODULE [KEY]. With
a key the filters are in a file that it encrypts, as SQLite3 Multiple Ciphers does.

    sqlite3                 Python's own
    pysqlite3.dbapi2        for a Python whose own sqlite3 cannot load extensions (pysqlite3-binary)
    sqlcipher3.dbapi2       SQLCipher (sqlcipher3-wheels)
    apsw                    brings the newest SQLite; SQLite3 Multiple Ciphers as apsw-sqlite3mc
"""

import hashlib
import importlib
import pathlib
import sys
import tempfile

import sqlite_bloom

module = importlib.import_module(sys.argv[1])
folder = tempfile.TemporaryDirectory()
path = pathlib.Path(folder.name) / "filters.db"


def connect():
    connection = (module.Connection if module.__name__ == "apsw" else module.connect)(str(path))
    if len(sys.argv) > 2:
        connection.pragma("key", sys.argv[2])  # before anything else
    sqlite_bloom.load(connection)
    return connection


def one(sql, *values):
    return connection.execute(sql, values).fetchone()[0]


connection = connect()
connection.execute(
    "CREATE TABLE numbers AS WITH RECURSIVE c(i) AS"
    " (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c"
)
connection.execute(
    "CREATE TABLE filters AS SELECT bloom_agg('key-' || i, 1000, 0.01) AS f FROM numbers"
)
connection.close()
if len(sys.argv) > 2 and b"CREATE TABLE" in path.read_bytes():
    print("error: the file is not encrypted")
connection = connect()
f = one("SELECT f FROM filters")
print("md5", hashlib.md5(f).hexdigest())
counts = "SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' || sum(bloom_check(?1, 'absent-' || i))"
print("found", one(counts + " FROM numbers", f))
print("integer", one("SELECT bloom_check(bloom_agg(42), ?)", 42))
try:
    one("SELECT bloom_check(NULL, 1)")
except module.Error as error:
    print("error", error)
connection.close()
