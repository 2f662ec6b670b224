#!/usr/bin/env python3
"""run.py: what it builds, chooses, counts and skips, on suites of a folder of its own."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parent / "run.py"
MAKEFILE = """
library other build/tests/good_test:
	@mkdir -p build/tests
	@echo 'echo 2 passed, 1 failed; exit 1' >$@; chmod +x $@
build/tests/cmocka_test:
	@echo 'x.c:1:10: fatal error: cmocka.h: No such file or directory'; exit 1
build/tests/bad_test:
	@echo 'x.c:1:10: error: expected ;'; exit 1
"""
UNITTEST = """
import unittest
class A(unittest.TestCase):
    def test_one(self):
        pass
    def test_two(self):
        self.skipTest("skipped: not here")
unittest.main()
"""
SUBTESTS = """
import unittest
class A(unittest.TestCase):
    def test_many(self):
        for i in range(30):
            with self.subTest(i=i):
                self.assertEqual(i, -1, "a number")
    def test_more(self):
        raise ValueError
    def test_good(self):
        pass
unittest.main()
"""


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.top = pathlib.Path(self.folder.name)
        self.write("Makefile", MAKEFILE)

    def write(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_it(self, *suites, options=("--build", "library"), **variables):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("MAKEFLAGS", "MAKE", "ONLY", "CASE", "JOBS")}
        ran = subprocess.run([sys.executable, RUN, *options, *suites], cwd=self.top, text=True,
                             capture_output=True, check=False, env=environment | variables)
        self.assertEqual(ran.stderr, "")
        return ran.returncode, ran.stdout

    def last(self, *suites, **variables):
        code, output = self.run_it(*suites, **variables)
        return code, output.splitlines()[-1]

    def files(self):
        return sorted(str(path.relative_to(self.top)) for path in self.top.rglob("*")
                      if path.is_file() and path.name != "Makefile" and path.suffix != ".log")

    def test_runners_are_counted_and_what_counts_nothing_fails(self):
        self.write("a_test.py", UNITTEST)
        self.assertEqual(self.last(f"unit={sys.executable} a_test.py"),
                         (0, "1 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.last("p=echo 3 passed, 0 failed, 4 skipped",
                                   "c=echo '[  PASSED  ] 2 test(s).'"),
                         (0, "5 passed, 0 failed, 4 skipped"))
        self.assertEqual(self.last("silent=true"), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.last("ends badly=echo 3 passed, 0 failed; exit 1"),
                         (1, "3 passed, 1 failed, 0 skipped"))

    def test_a_test_fails_once_and_its_first_lines_are_printed(self):
        self.write("sub_test.py", SUBTESTS)
        suite = f"{sys.executable} sub_test.py"
        code, output = self.run_it(*(f"{name}={suite}" for name in "abcd"), JOBS="1")
        self.assertEqual((code, output.splitlines()[-1]), (1, "4 passed, 8 failed, 0 skipped"))
        lines = output.split("FAIL ")
        self.assertIn("FAIL: test_many", lines[1] + lines[2])
        self.assertLess(len(output.splitlines()), 80)
        self.assertEqual(len(lines[-1].splitlines()), 3, "name, more lines, sum")
        kept = (self.top / "build/failed/d.log").read_text()
        self.assertEqual(kept.count("a number"), 60)

    def test_only_what_is_run_is_built(self):
        suites = ("good=sh build/tests/good_test", "wheel=[other] echo 1 passed, 0 failed",
                  "broken=build/tests/bad_test")
        self.assertEqual(self.last(*suites, ONLY="wheel"), (0, "1 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.files(), ["other"])
        self.assertEqual(self.last(*suites, ONLY="good"), (1, "2 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.files(), ["build/tests/good_test", "other"])
        code, output = self.run_it(*suites, ONLY="broken")
        self.assertEqual(code, 1)
        self.assertIn("error: expected ;", output)
        self.assertEqual(self.last("plain=echo 1 passed, 0 failed")[0], 0)
        self.assertIn("library", self.files())

    def test_only_looks_in_names_and_files(self):
        suites = ("alpha=python3 tests/x/beta_test.py", "gamma=echo 1 passed, 0 failed")
        self.assertIn("FAIL alpha", self.run_it(*suites, ONLY="beta")[1])
        self.write("tests/unit/cmocka_test.c", "")
        self.assertIn("skipped: cmocka.h", self.run_it(
            *suites, "program=build/tests/cmocka_test", ONLY="tests/unit")[1])
        self.assertNotIn("alpha", self.run_it(*suites, ONLY="gam")[1])
        self.assertEqual(self.last(*suites, ONLY="python"),
                         (2, "no suite and no script has python in its name"))

    def test_one_case(self):
        self.write("a_test.py", UNITTEST)
        suites = (f"unit={sys.executable} a_test.py", "none=echo '[  PASSED  ] 0 test(s).'")
        self.assertEqual(self.last(*suites, CASE="one"), (0, "1 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.last(*suites, CASE="three"),
                         (2, "no test of these suites is named three"))

    def test_what_is_not_installed_is_skipped_by_the_name_of_its_package(self):
        code, output = self.run_it("unit=build/tests/cmocka_test")
        self.assertEqual((code, output.splitlines()[-1]), (0, "0 passed, 0 failed, 1 skipped"))
        self.assertIn("cmocka.h is not installed: apt-get install libcmocka-dev", output)
        (self.top / "bin").mkdir()
        (self.top / "bin/sh").symlink_to("/bin/sh")
        code, output = self.run_it("shell=sqlite3 x.db", options=(), PATH=str(self.top / "bin"))
        self.assertEqual((code, output.splitlines()[-1]), (0, "0 passed, 0 failed, 1 skipped"))
        self.assertIn("sqlite3 is not installed: apt-get install sqlite3", output)
        # What is installed is not what is missing, whatever a program says.
        self.write("bin/sqlite3", "#!/bin/sh\necho 'sqlite3: not found'; exit 1\n")
        (self.top / "bin/sqlite3").chmod(0o755)
        code, _ = self.run_it("shell=sqlite3 x.db", options=(), PATH=str(self.top / "bin"))
        self.assertEqual(code, 1)


if __name__ == "__main__":
    unittest.main()
