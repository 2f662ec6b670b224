"""SQLite3 Multiple Ciphers (apsw-sqlite3mc), with the package sqlite-bloom: filters in an encrypted
file.
"""

import hashlib
import pathlib
import tempfile

import apsw
import sqlite_bloom

folder = tempfile.TemporaryDirectory()
path = pathlib.Path(folder.name) / "encrypted.db"


def connect(key):
    connection = apsw.Connection(str(path))
    connection.pragma("key", key)  # before anything else
    sqlite_bloom.load(connection)
    return connection


connection = connect("secret")
connection.execute(
    "CREATE TABLE numbers AS WITH RECURSIVE c(i) AS"
    " (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c")
connection.execute(
    "CREATE TABLE filters AS SELECT bloom_agg('key-' || i, 1000, 0.01) AS f FROM numbers")
connection.close()
if b"CREATE TABLE" in path.read_bytes():
    print("error: the file is not encrypted")
connection = connect("secret")


def one(sql, *values):
    return connection.execute(sql, values).fetchone()[0]


f = one("SELECT f FROM filters")
print("md5", hashlib.md5(f).hexdigest())
print(
    "found",
    one(
        "SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' ||"
        " sum(bloom_check(?1, 'absent-' || i)) FROM numbers",
        f))
print("integer", one("SELECT bloom_check(bloom_agg(42), ?)", 42))
try:
    one("SELECT bloom_check(NULL, 1)")
except apsw.Error as error:
    print("error", error)
connection.close()
