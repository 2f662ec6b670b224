"""SQLAlchemy, with the package sqlite-bloom: every connection of the engine has the functions."""

import hashlib

import sqlalchemy
import sqlite_bloom

engine = sqlalchemy.create_engine("sqlite://")
sqlite_bloom.load(engine)
connection = engine.connect()
connection.execute(
    sqlalchemy.text(
        "CREATE TABLE numbers AS WITH RECURSIVE c(i) AS"
        " (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c"))


def one(sql, **values):
    return connection.execute(sqlalchemy.text(sql), values).scalar()


f = one("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers")
print("md5", hashlib.md5(f).hexdigest())
print(
    "found",
    one(
        "SELECT sum(bloom_check(:f, 'key-' || i)) || ' ' ||"
        " sum(bloom_check(:f, 'absent-' || i)) FROM numbers",
        f=f))
print("integer", one("SELECT bloom_check(bloom_agg(42), :key)", key=42))
try:
    one("SELECT bloom_check(NULL, 1)")
except sqlalchemy.exc.OperationalError as error:
    print("error", error.orig)
