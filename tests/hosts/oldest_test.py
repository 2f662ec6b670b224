#!/usr/bin/env python3
"""The oldest SQLite that is supported, 3.31.1: the sources compile with its headers, and all
scripts are run on it. Its source, from a crate that carries it, is compiled into a library that
takes the place of the system's for Python's apsw. (That older ones are refused: host_test.c.)
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
CRATE = "https://static.crates.io/crates/libsqlite3-sys/libsqlite3-sys-0.18.0.crate"
CRATE_SHA256 = "1e704a02bcaecd4a08b93a23f6be59d0bd79cd161e0963e9499165a0a35df7bd"
SOURCES = "libsqlite3-sys-0.18.0/sqlite3/"
OPTIONS = [
    "JSON1", "COLUMN_METADATA", "UNLOCK_NOTIFY", "RTREE", "FTS5", "SESSION", "PREUPDATE_HOOK"]


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
        run = self.run_on_3_31_1("tests/random/plans_test.py", SEED="3", QUERIES="40000")
        self.assertEqual(run.returncode, 0, run.stderr[-4000:])
        print(run.stdout)

    def test_every_script_passes_on_3_31_1(self):
        run = self.run_on_3_31_1("tests/runner/sqllogictest.py", "--load", "./bloom.so",
                                 "tests/sql")
        self.assertRegex(run.stdout, r"^SQLite 3\.31\.1, ")
        self.assertRegex(run.stdout, r"\n[3-9]\d{3} passed, 0 failed, \d+ skipped\n$",
                         run.stdout[-4000:])
        self.assertEqual(run.returncode, 0)


if __name__ == "__main__":
    unittest.main()
