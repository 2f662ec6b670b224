"""SQLAlchemy, with the package sqlite-bloom: every connection of the engine has the functions."""

import hashlib

import sqlalchemy
import sqlite_bloom

engine = sqlalchemy.create_engine("sqlite://")
sqlite_bloom.load(engine)
connection = engine.connect()


def one(sql, **values):
    return connection.execute(sqlalchemy.text(sql), values).scalar()


f = one("SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))")
print("md5", hashlib.md5(f).hexdigest())
print("found", one("SELECT bloom_check(:f, 'a') || bloom_check(:f, 'c') || bloom_check(:f, :key)",
                   f=f, key=42))
try:
    one("SELECT bloom_check(NULL, 1)")
except sqlalchemy.exc.OperationalError as error:
    print("error", error.orig)
