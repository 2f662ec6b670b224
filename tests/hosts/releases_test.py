#!/usr/bin/env python3
"""The tests of pins, messages and refusals, and the simulator for a short time, with the oldest
SQLite that is supported and with the newest compiled in, under the sanitizers. On the system's
SQLite they run by themselves, see tests/rules.mk. PROGRAMS in the environment names others of
tests/faults and tests/tables.

Each release has a build folder of its own, build/oldest and build/newest, so that what was compiled
stays. Skips visibly when the source cannot be had.

    releases_test.py [Oldest | Newest]
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "ext" / "packages"), str(TOP / "tests" / "hosts")]
import oldest_test  # noqa: E402
import sqlite_source  # noqa: E402

PROGRAMS = os.environ.get("PROGRAMS", "pins message refusal").split()


class Release:
    """What is tested; a class for each release says where its source comes from."""
    build = None
    version = None

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.source()
        cls.make(f"build/{cls.build}/tests/simulator",
                 *(f"build/{cls.build}/tests/{program}_test" for program in PROGRAMS))

    @classmethod
    def make(cls, *targets):
        run = subprocess.run(["make", "-j2", f"SQLITE={cls.folder}", f"BUILD=build/{cls.build}",
                              *targets], cwd=TOP, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise AssertionError((run.stdout + run.stderr)[-4000:])

    def test_is_the_release(self):
        header = (pathlib.Path(self.folder) / "sqlite3.h").read_text(encoding="utf-8")
        version = re.search(r'#define SQLITE_VERSION +"([\d.]+)"', header)[1]
        self.assertRegex(version, self.version)

    def run_program(self, program, *arguments, **environment):
        run = subprocess.run([f"build/{self.build}/tests/{program}", *arguments], cwd=TOP,
                             env={**os.environ, **environment}, capture_output=True,
                             text=True, errors="replace", check=False)
        self.assertEqual(run.returncode, 0, (run.stdout + run.stderr)[-4000:])
        for figures in re.findall(r"^figures: .*", run.stdout, re.MULTILINE):
            print("\n" + figures, flush=True)

    def test_simulator(self):
        self.run_program("simulator", STEPS="3000", SEED="1")

    def test_simulator_with_one_fault_after_the_other(self):
        weights = sorted(map(str, (TOP / "tests/simulator").glob("*.steps")))
        self.run_program("simulator", *weights, STEPS="6000", SEED="1")


for each in PROGRAMS:
    setattr(Release, f"test_{each}", lambda self, program=each: self.run_program(f"{program}_test"))


class Oldest(Release, unittest.TestCase):
    build = "oldest"
    version = r"^3\.31\.1$"

    @staticmethod
    def source():
        return oldest_test.source()


class Newest(Release, unittest.TestCase):
    build = "newest"
    version = r"^3\.(5[3-9]|[6-9]\d)\."

    @staticmethod
    def source():
        try:
            return sqlite_source.folder()
        except (OSError, subprocess.CalledProcessError) as error:
            raise unittest.SkipTest(f"skipped: SQLite's amalgamation cannot be had: {error}")


if __name__ == "__main__":
    unittest.main()
