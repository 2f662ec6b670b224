#!/usr/bin/env python3
"""The oldest SQLite that is supported, 3.31.1, and the refusal of the one before, by way of the
libraries that sqlite-jdbc carries.

Needs a JDK and Maven, which brings the jars from Maven Central; skips visibly without them.

The sources compile with the headers of 3.31.1, and all scripts are run on it: its source, from a
crate that carries it, is compiled into a library that takes the place of the system's for Python's
apsw.
"""

import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.error
import urllib.request

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = ("java", "javac", "mvn")
CRATE = "https://static.crates.io/crates/libsqlite3-sys/libsqlite3-sys-0.18.0.crate"
CRATE_SHA256 = "1e704a02bcaecd4a08b93a23f6be59d0bd79cd161e0963e9499165a0a35df7bd"
SOURCES = "libsqlite3-sys-0.18.0/sqlite3/"
OPTIONS = [
    "JSON1", "COLUMN_METADATA", "UNLOCK_NOTIFY", "RTREE", "FTS5", "SESSION", "PREUPDATE_HOOK"]

STATEMENTS = [
    (
        (
            "SELECT bloom_check(f, 'b') || bloom_check(f, 'c') FROM (SELECT bloom_agg(k) AS f FROM"
            " (SELECT 'a' AS k UNION SELECT 'b'))"),
        "10"),
    ("CREATE TABLE filters(f BLOB NOT NULL)", "done"),
    (
        (
            "INSERT INTO filters SELECT bloom_agg(k, 100, 0.01) FROM (SELECT 'a' AS k UNION SELECT"
            " 'b')"),
        "done"),
    ("SELECT bloom_check((SELECT bloom_pin(f) FROM filters), 'a')", "1"),
    ("SELECT hex(substr(f, 1, 16)) FROM filters", "89424C4D010101000600000000000000"),
    (
        (
            "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 300000)"
            " INSERT INTO filters SELECT bloom_agg(i) FROM c"),
        "done"),
    ("SELECT length(f) FROM filters WHERE rowid = 2", "372096"),
    ("CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=0.01, growth=off)", "done"),
    ("INSERT INTO seen(key) VALUES ('a'), ('b')", "done"),
    ("SELECT count(*) FROM seen WHERE key IN ('a', 'b', 'x')", "2"),
    ("SELECT filter = (SELECT f FROM filters WHERE rowid = 1) FROM seen", "1"),
    ("ALTER TABLE seen RENAME TO other", "done"),
    ("SELECT count(*) FROM other('b')", "1"),
    ("DROP TABLE other", "done"),
    ("SELECT count(*) FROM sqlite_master WHERE name LIKE 'other%' OR name LIKE 'seen%'", "0")]


def source():
    """The folder with the source of 3.31.1, fetched once."""
    folder = TOP / "build" / "oldest-source"
    if folder.exists():
        return folder
    try:
        with urllib.request.urlopen(CRATE, timeout=60) as answer:
            crate = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise unittest.SkipTest(f"skipped: {CRATE} cannot be had: {error}")
    if hashlib.sha256(crate).hexdigest() != CRATE_SHA256:
        raise AssertionError(f"{CRATE} is not what it was")
    folder.parent.mkdir(exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
    with tarfile.open(fileobj=io.BytesIO(crate)) as archive:
        for name in ("sqlite3.c", "sqlite3.h", "sqlite3ext.h"):
            (made / name).write_bytes(archive.extractfile(SOURCES + name).read())
    try:
        made.rename(folder)
    except OSError:  # another suite was first
        shutil.rmtree(made)
    return folder


@unittest.skipUnless(
    all(shutil.which(tool) for tool in TOOLS), "skipped: needs java, javac and mvn")
class Oldest(unittest.TestCase):
    def run_on(self, version, statements):
        artifact = f"org.xerial:sqlite-jdbc:{version}"
        subprocess.run(
            ["mvn", "-q", "dependency:get", f"-Dartifact={artifact}", "-Dtransitive=false"],
            check=True, capture_output=True)
        repository = pathlib.Path(
            os.environ.get("MAVEN_REPOSITORY", pathlib.Path.home() / ".m2/repository"))
        jar = repository / f"org/xerial/sqlite-jdbc/{version}/sqlite-jdbc-{version}.jar"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [
                    "javac", "-cp", jar, "-d", folder,
                    pathlib.Path(__file__).parent / "Statements.java"],
                check=True)
            run = subprocess.run(
                ["java", "-cp", f"{jar}:{folder}", "Statements", TOP / "bloom.so"],
                input="\n".join(statements),
                capture_output=True, text=True, check=True)
        return run.stdout.splitlines()

    def test_everything_works_on_3_31_1(self):
        lines = self.run_on("3.31.1", [sql for sql, _ in STATEMENTS])
        self.assertEqual(lines[0], "3.31.1")
        self.assertEqual(lines[2:], [wanted for _, wanted in STATEMENTS])

    def test_3_30_1_is_refused_with_a_reason(self):
        lines = self.run_on("3.30.1", [])
        self.assertEqual(lines[0], "3.30.1")
        self.assertRegex(
            lines[1], r"bloom \d+\.\d+\.\d+ needs SQLite 3\.31\.0 or later, this is 3\.30\.1")


@unittest.skipUnless(sys.platform == "linux",
                     "skipped: takes the place of a library with LD_PRELOAD")
class Source(unittest.TestCase):
    """What needs the source of 3.31.1."""
    FLAGS = ["-O1", "-w", "-DSQLITE_THREADSAFE=1",
             *(f"-DSQLITE_ENABLE_{option}" for option in OPTIONS)]
    compiler = os.environ.get("CC", "cc").split()

    @classmethod
    def setUpClass(cls):
        cls.sqlite = source()
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def compile(self, *arguments):
        run = subprocess.run([*self.compiler, *arguments], cwd=TOP, capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stderr[-4000:])

    def test_every_source_compiles_with_its_headers(self):
        """As a program has them that brings its own, old SQLite: for loading and for linking in."""
        for file in sorted((TOP / "ext").rglob("*.c")):
            if "packages" in file.parts:
                continue
            for defines in ([], ["-DSQLITE_CORE"]):
                with self.subTest(source=file.name, defines=defines):
                    self.compile("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                 *defines, f"-I{self.sqlite}", "-Iext", str(file))

    def run_on_3_31_1(self, *command, **environment):
        library = self.folder / "libsqlite3.so.0"
        if not library.exists():
            self.compile(*self.FLAGS, "-shared", "-fPIC", "-o", str(library),
                         str(self.sqlite / "sqlite3.c"), "-lpthread", "-ldl", "-lm")
        return subprocess.run([sys.executable, *command], cwd=TOP,
                              env={**os.environ, **environment, "LD_PRELOAD": str(library)},
                              capture_output=True, text=True, check=False)

    def test_no_plan_changes_an_answer(self):
        run = self.run_on_3_31_1("tests/random/plans_test.py", "Here", SEED="3", QUERIES="40000")
        self.assertEqual(run.returncode, 0, run.stderr[-4000:])
        print(run.stdout)

    def test_every_script_passes_on_3_31_1(self):
        run = self.run_on_3_31_1("tests/runner/sqllogictest.py", "--load", "./bloom.so",
                                 "tests/sql")
        self.assertRegex(run.stdout, r"^SQLite 3\.31\.1, ")
        self.assertRegex(run.stdout, r"\n[5-9]\d{3} passed, 0 failed, \d+ skipped\n$",
                         run.stdout[-4000:])
        self.assertEqual(run.returncode, 0)


if __name__ == "__main__":
    unittest.main()
