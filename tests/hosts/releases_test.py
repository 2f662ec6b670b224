#!/usr/bin/env python3
"""The oldest SQLite that is supported, 3.31.1, and the newest. Skips visibly when the source cannot
be had. (That older ones are refused: host_test.c.)

Oldest, Newest: the tests of pins, messages and faults, and tests/world, with that SQLite compiled
in, under the sanitizers, in build/oldest and build/newest. PROGRAMS in the environment names other
programs.

Scripts: the sources compile with the headers of the oldest, and all scripts are run on it, in a
library that takes the place of the system's for Python's apsw.
"""
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/packages"))
from common import run, sqlite_source  # noqa: E402

PROGRAMS = os.environ.get("PROGRAMS", "pins_test message_test faults_test world").split()
CRATE = "https://static.crates.io/crates/libsqlite3-sys/libsqlite3-sys-0.18.0.crate"
CRATE_SHA256 = "1e704a02bcaecd4a08b93a23f6be59d0bd79cd161e0963e9499165a0a35df7bd"
CRATE_FOLDER = "libsqlite3-sys-0.18.0/sqlite3"
OPTIONS = "JSON1 COLUMN_METADATA UNLOCK_NOTIFY RTREE FTS5 SESSION PREUPDATE_HOOK".split()
LONG = 3600  # seconds, on a machine that is busy


def oldest():
    """The folder with the source of 3.31.1, fetched once, from a crate that carries it."""
    folder = TOP / "build" / "oldest-source"
    if not folder.exists():
        try:
            crate, _ = urllib.request.urlretrieve(CRATE)
        except OSError as error:
            raise unittest.SkipTest(f"skipped: {CRATE} cannot be had: {error}")
        digest = hashlib.sha256(pathlib.Path(crate).read_bytes()).hexdigest()
        assert digest == CRATE_SHA256, f"{CRATE} is not what it was"
        with tempfile.TemporaryDirectory(dir=TOP / "build") as made:
            shutil.unpack_archive(crate, made, "gztar")
            with contextlib.suppress(OSError):  # another suite was first
                pathlib.Path(made, CRATE_FOLDER).rename(folder)
    return folder


def newest():
    try:
        return sqlite_source.folder()
    except (OSError, subprocess.CalledProcessError) as error:
        raise unittest.SkipTest(f"skipped: SQLite's amalgamation cannot be had: {error}")


class Release:
    """What is tested; a class for each release says where its source comes from."""
    build = version = source = None

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.source()
        run("make", "-j2", f"SQLITE={cls.folder}", f"BUILD=build/{cls.build}",
            *map(cls.path, PROGRAMS), timeout=LONG)

    @classmethod
    def path(cls, program):
        kind = "counted" if program == "cost_test" else "sanitized"
        return f"build/{cls.build}/{kind}/tests/{program}"

    def test_is_the_release(self):
        header = (self.folder / "sqlite3.h").read_text(encoding="utf-8")
        version = re.search(r'#define SQLITE_VERSION +"([\d.]+)"', header)[1]
        self.assertRegex(version, self.version)

    def test_programs(self):
        for program in PROGRAMS:
            with self.subTest(program=program):
                printed = run(self.path(program),
                              env={"RARE": "0"}, timeout=LONG)
                for figures in re.findall(r"^figures: .*", printed, re.MULTILINE):
                    print("\n" + figures, flush=True)


class Oldest(Release, unittest.TestCase):
    build, version, source = "oldest", r"^3\.31\.1$", staticmethod(oldest)


class Newest(Release, unittest.TestCase):
    build, version, source = "newest", r"^3\.(5[3-9]|[6-9]\d)\.", staticmethod(newest)


@unittest.skipUnless(sys.platform == "linux",
                     "skipped: takes the place of a library with LD_PRELOAD")
class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sqlite = oldest()
        cls.compiler = os.environ.get("CC", "cc").split()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.library = pathlib.Path(folder.name, "libsqlite3.so.0")
        run(*cls.compiler, "-O0", "-w", "-DSQLITE_THREADSAFE=1",
            *(f"-DSQLITE_ENABLE_{option}" for option in OPTIONS), "-shared", "-fPIC", "-o",
            cls.library, cls.sqlite / "sqlite3.c", "-lpthread", "-ldl", "-lm")

    def test_the_sources_compile_with_its_headers(self):
        """As a program has them that brings its own, old SQLite: for loading and for linking in."""
        for defines in ([], ["-DSQLITE_CORE"]):
            run(*self.compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                *defines, f"-I{self.sqlite}", "-Iext", "ext/sqlite-bloom.c")

    def test_no_plan_changes_an_answer(self):
        print(run(sys.executable, "tests/random/plans_test.py", timeout=LONG, env={
            "SEED": "3", "QUERIES": "10000", "LD_PRELOAD": str(self.library)}))

    def test_every_script_passes(self):
        printed = run(sys.executable, "tests/runner/sqllogictest.py", "--load", "./bloom.so",
                      "tests/sql", timeout=LONG, env={"LD_PRELOAD": str(self.library)})
        self.assertRegex(printed, r"^SQLite 3\.31\.1, ")
        self.assertRegex(printed, r"\n\d{4,} passed, 0 failed\n$")


if __name__ == "__main__":
    unittest.main()
