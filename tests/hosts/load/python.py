"""The package sqlite-bloom in a driver of Python: python python.py sqlite3; or apsw, which brings
the newest SQLite; pysqlite3.dbapi2 (pysqlite3-binary), for a Python whose own sqlite3 cannot load
extensions; sqlcipher3.dbapi2 (sqlcipher3-wheels). With a file and a key, for SQLite3 Multiple
Ciphers (apsw-sqlite3mc), the filter comes from that file, encrypted.
"""

import hashlib
import importlib
import pathlib
import sys

import sqlite_bloom

driver = importlib.import_module(sys.argv[1])
path, key = (sys.argv[2:] + [":memory:", None])[:2]


def connect():
    connection = driver.Connection(path)
    if key is not None:
        connection.pragma("key", key)  # before anything else
    sqlite_bloom.load(connection)
    return connection


connection = connect()
connection.execute("CREATE TABLE filters AS"
                   " SELECT bloom_agg(column1) AS f FROM (VALUES ('a'), ('b'), (42))")
if key is not None:
    connection.close()
    if b"CREATE TABLE" in pathlib.Path(path).read_bytes():
        print("error: the file is not encrypted")
    connection = connect()


def one(sql, *values):
    return connection.execute(sql, values).fetchone()[0]


f = one("SELECT f FROM filters")
print("md5", hashlib.md5(f).hexdigest())
print("found", one("SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c') || bloom_check(?1, ?2)",
                   f, 42))
try:
    one("SELECT bloom_check(NULL, 1)")
except driver.Error as error:
    print("error", error)
