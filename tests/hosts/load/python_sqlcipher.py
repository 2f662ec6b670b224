"""SQLCipher (sqlcipher3-wheels), with the package sqlite-bloom."""

import hashlib

import sqlite_bloom
from sqlcipher3 import dbapi2 as sqlite3

connection = sqlite3.connect(":memory:")
sqlite_bloom.load(connection)
connection.execute(
    "CREATE TABLE numbers AS WITH RECURSIVE c(i) AS"
    " (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c")


def one(sql, *values):
    return connection.execute(sql, values).fetchone()[0]


f = one("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers")
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
except sqlite3.Error as error:
    print("error", error)
