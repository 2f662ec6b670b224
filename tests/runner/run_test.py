#!/usr/bin/env python3
"""run.py: what it builds, chooses, counts and skips, on suites of a folder of its own."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parent / "run.py"
FILES = {
    "Makefile": """
library other build/tests/good_test:
	@mkdir -p build/tests
	@echo 'echo 2 passed, 1 failed; exit 1' >$@; chmod +x $@
build/tests/cmocka_test:
	@echo 'x.c:1:10: fatal error: cmocka.h: No such file or directory'; exit 1
build/tests/bad_test:
	@echo 'x.c:1:10: error: expected ;'; exit 1
""",
    "a_test.py": """
import unittest
class A(unittest.TestCase):
    def test_one(self):
        pass
    def test_two(self):
        self.skipTest("skipped: not here")
unittest.main()
""",
    "sub_test.py": """
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
""",
    "tests/unit/cmocka_test.c": ""}
UNIT = f"unit={sys.executable} a_test.py"
CHOICE = ("alpha=python3 tests/x/beta_test.py", "gamma=echo 1 passed, 0 failed",
          "program=build/tests/cmocka_test")
BUILT = ("good=sh build/tests/good_test", "wheel=[other] echo 1 passed, 0 failed",
         "broken=build/tests/bad_test")
# Suites, variables of the environment, the exit code, what is printed, and the files that are made.
RUNS = [
    # Each runner is counted, and what counts nothing fails.
    ([UNIT], {}, 0, "\n1 passed, 0 failed, 1 skipped\n", None),
    (["p=echo 3 passed, 0 failed, 4 skipped", "c=echo '[  PASSED  ] 2 test(s).'"], {}, 0,
     "\n5 passed, 0 failed, 4 skipped\n", None),
    (["silent=true"], {}, 1, "\n0 passed, 1 failed, 0 skipped\n", None),
    (["ends badly=echo 3 passed, 0 failed; exit 1"], {}, 1, "\n3 passed, 1 failed, 0 skipped\n",
     None),
    # What is run is built, and nothing else.
    (BUILT, {"ONLY": "wheel"}, 0, "\n1 passed, 0 failed, 0 skipped\n", ["other"]),
    (BUILT, {"ONLY": "good"}, 1, "\n2 passed, 1 failed, 0 skipped\n", ["build/tests/good_test"]),
    (BUILT, {"ONLY": "broken"}, 1, "error: expected ;", []),
    (["plain=echo 1 passed, 0 failed"], {}, 0, "1 passed", ["library"]),
    # ONLY is looked for in names and files, CASE in tests.
    (CHOICE, {"ONLY": "beta"}, 1, "FAIL alpha", None),
    (CHOICE, {"ONLY": "gam"}, 0, "ok   gamma: 1 passed, 0 failed", None),
    (CHOICE, {"ONLY": "tests/unit"}, 0, "skipped: cmocka.h", None),
    (CHOICE, {"ONLY": "python"}, 2, "no suite and no script has python in its name.", None),
    ([UNIT, "none=echo '[  PASSED  ] 0 test(s).'"], {"CASE": "one"}, 0,
     "\n1 passed, 0 failed, 0 skipped\n", None),
    ([UNIT], {"CASE": "three"}, 2, "no test of these suites is named three\n", None),
    # What is not installed is skipped by the name of its package.
    (["unit=build/tests/cmocka_test"], {}, 0,
     "cmocka.h is not installed: apt-get install libcmocka-dev\n",
     [])]


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = pathlib.Path(folder.name)
        for name, text in FILES.items():
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            (self.top / name).write_text(text)

    def run_it(self, *suites, options=("--build", "library"), **variables):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("MAKEFLAGS", "MAKE", "ONLY", "CASE", "JOBS")}
        ran = subprocess.run([sys.executable, RUN, *options, *suites], cwd=self.top, text=True,
                             capture_output=True, check=False, env=environment | variables)
        self.assertEqual(ran.stderr, "")
        return ran.returncode, ran.stdout

    def test_each(self):
        for suites, variables, code, printed, made in RUNS:
            with self.subTest(suites=suites, variables=variables):
                self.setUp()
                returned, output = self.run_it(*suites, **variables)
                self.assertEqual(returned, code, output)
                self.assertIn(printed, output)
                files = {str(path.relative_to(self.top)) for path in self.top.rglob("*")
                         if path.is_file() and path.suffix != ".log"}
                if made is not None:
                    self.assertEqual(sorted(files - set(FILES)), made)

    def test_a_test_fails_once_and_its_first_lines_are_printed(self):
        suite = f"{sys.executable} sub_test.py"
        code, output = self.run_it(*(f"{name}={suite}" for name in "abcd"), JOBS="1")
        self.assertEqual((code, output.splitlines()[-1]), (1, "4 passed, 8 failed, 0 skipped"))
        lines = output.split("FAIL ")
        self.assertIn("FAIL: test_many", lines[1] + lines[2])
        self.assertLess(len(output.splitlines()), 80)
        self.assertEqual(len(lines[-1].splitlines()), 3, "name, more lines, sum")
        self.assertEqual((self.top / "build/failed/d.log").read_text().count("a number"), 60)

    def test_a_program_that_is_not_installed(self):
        """What is installed is not what is missing, whatever a program says."""
        (self.top / "bin").mkdir()
        (self.top / "bin/sh").symlink_to("/bin/sh")
        code, output = self.run_it("shell=sqlite3 x.db", options=(), PATH=str(self.top / "bin"))
        self.assertEqual((code, output.splitlines()[-1]), (0, "0 passed, 0 failed, 1 skipped"))
        self.assertIn("sqlite3 is not installed: apt-get install sqlite3", output)
        (self.top / "bin/sqlite3").write_text("#!/bin/sh\necho 'sqlite3: not found'; exit 1\n")
        (self.top / "bin/sqlite3").chmod(0o755)
        code, _ = self.run_it("shell=sqlite3 x.db", options=(), PATH=str(self.top / "bin"))
        self.assertEqual(code, 1)


if __name__ == "__main__":
    unittest.main()
