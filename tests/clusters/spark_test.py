#!/usr/bin/env python3
"""Filters built by a cluster: Spark with several workers, and SQLite that asks what they built.

One way Spark's own stat.bloomFilter builds the filter and bloom_import reads it; the other way each
partition builds one with this extension (bloom_agg with the same n and p), and the driver unites
them: equal to the byte to the filter that one process builds of all keys.

KEYS=n in the environment says how many URLs (1,000,000). Needs a JDK and PyPI's pyspark, which is
installed into build/spark; skips visibly where they cannot be had.
"""
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import time
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
VENV = TOP / "build/spark"
KEYS = int(os.environ.get("KEYS", "1000000"))
PARTITIONS, RATE, ASKED = 8, 0.01, 100_000
PATIENCE = 600  # seconds for what a registry has to send


def url(i):
    return f"http://host{i % 9973}.example/path/{i * 2654435761 % 2 ** 32:08x}/page{i}.html"


def connect():
    database = sqlite3.connect(":memory:")
    database.enable_load_extension(True)
    database.load_extension(str(TOP / "bloom"))
    database.create_function("url", 1, url, deterministic=True)
    return database


def partial_filter(numbers):
    """What a worker does with its partition: one filter of its keys, made for all of them."""
    database = connect()
    database.execute("CREATE TEMP TABLE keys(key TEXT)")
    database.executemany("INSERT INTO keys VALUES (?)", ((url(i),) for i in numbers))
    yield database.execute("SELECT bloom_agg(key, ?, ?) FROM keys", (KEYS, RATE)).fetchone()[0]


def found(database, filter, first):
    """How many of some URLs a filter has."""
    return database.execute(
        "WITH RECURSIVE n(i) AS (VALUES (?1) UNION ALL SELECT i + 1 FROM n WHERE i < ?1 + ?2 - 1) "
        "SELECT sum(bloom_check((SELECT bloom_pin(?3)), url(i))) FROM n",
        (first, ASKED, filter)).fetchone()[0]


def work():
    """The driver; runs in the environment that has pyspark."""
    from pyspark.sql import SparkSession, functions
    session = (SparkSession.builder.master("local[2]").appName("bloom")
               .config("spark.ui.enabled", "false").config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "2g")
               # Else it makes no filter for more than 4,000,000 keys, and does not say so.
               .config("spark.sql.optimizer.runtime.bloomFilter.maxNumItems", KEYS)
               .config("spark.sql.optimizer.runtime.bloomFilter.maxNumBits", 64 * KEYS)
               .getOrCreate())
    session.sparkContext.setLogLevel("ERROR")
    database = connect()
    numbers = session.range(0, KEYS, 1, PARTITIONS)
    urls = numbers.select(functions.expr(
        "format_string('http://host%d.example/path/%s/page%d.html', id % 9973, "
        "lpad(lower(hex(id * 2654435761 % 4294967296)), 8, '0'), id)").alias("url"))
    assert [row.url for row in urls.limit(3).collect()] == [url(i) for i in range(3)]

    started = time.monotonic()
    stream = session._jvm.java.io.ByteArrayOutputStream()
    urls._jdf.stat().bloomFilter("url", KEYS, RATE).writeTo(stream)
    foreign = bytes(stream.toByteArray())
    spark_seconds = time.monotonic() - started

    started = time.monotonic()
    parts = numbers.rdd.map(lambda row: row.id).mapPartitions(partial_filter).collect()
    database.execute("CREATE TABLE parts(f BLOB)")
    database.executemany("INSERT INTO parts VALUES (?)", ((part,) for part in parts))
    (united,) = database.execute("SELECT bloom_union_agg(f) FROM parts").fetchone()
    ours_seconds = time.monotonic() - started
    session.stop()

    (whole,) = partial_filter(range(KEYS))
    assert united == whole and len(parts) == PARTITIONS
    spark, as_asked = database.execute(
        "SELECT f, bloom_size(?, ?, json_extract(bloom_info(f), '$.layout')) = length(f)"
        " FROM (SELECT bloom_import(?, 'spark') AS f)", (KEYS, RATE, foreign)).fetchone()
    assert as_asked, "Spark made another size than it was asked for"
    for filter in (spark, united):
        assert found(database, filter, 0) == ASKED
        absent = found(database, filter, KEYS)
        assert 810 <= absent <= 1190, absent  # six standard deviations
    print(
        f"figures: {KEYS} URLs, {PARTITIONS} partitions, 2 workers: Spark's own filter "
        f"{spark_seconds:.1f} s, {len(foreign)} bytes; partial filters of this extension, united: "
        f"{ours_seconds:.1f} s, {len(united)} bytes, {len(united) * len(parts)} shipped")


class Spark(unittest.TestCase):
    def test_what_a_cluster_builds_is_asked_in_sqlite(self):
        if shutil.which("java") is None:
            self.skipTest("skipped: no java")
        if not (VENV / "installed").exists():
            try:
                subprocess.run([sys.executable, "-m", "venv", VENV], check=True,
                               capture_output=True)
                subprocess.run([VENV / "bin/pip", "install", "-q", "pyspark"], check=True,
                               capture_output=True, timeout=PATIENCE)
            except (subprocess.SubprocessError, OSError) as error:
                self.skipTest(f"skipped: pyspark cannot be had: {error}")
            (VENV / "installed").touch()
        python = str(VENV / "bin/python")
        ran = subprocess.run([python, __file__, "work"], capture_output=True, text=True,
                             check=False, timeout=max(1500, KEYS // 2000),
                             env={**os.environ, "PYSPARK_PYTHON": python})
        self.assertEqual(ran.returncode, 0, ran.stderr[-3000:])
        print("\n" + next(line for line in ran.stdout.split("\n") if line.startswith("figures")))


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        work()
    else:
        unittest.main()
