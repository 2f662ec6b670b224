#!/usr/bin/env python3
"""make packages on machines that lack tools: what cannot be built is skipped, with the name of the
package that is missing, and nothing ends in a traceback.
"""

import concurrent.futures
import contextlib
import fcntl
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from common import TOP, run

sys.path.insert(0, str(TOP / "ext/packages"))
import packages  # noqa: E402

PROGRAM = TOP / "ext/packages/packages.py"
# What the packages are built with, and what their tests ask for.
OPTIONAL = {
    *("npm", "node", "cargo", "go", "emcc", "dpkg-buildpackage", "dpkg-deb", "dh"),
    *("mvn", "javac", "java", "man", "qemu-aarch64", "chromium", "wine64", "clang"),
}
BASES = {"Scratch", "Running"}  # classes that others have their tests from


def needs(target, lacking):
    """What is said of a target whose tools were taken away; others may lack on this machine."""
    return rf"make {target} needs ((?:python3-venv )?){lacking}: apt-get install \1{lacking}\n"


class PlainMachine(unittest.TestCase):
    """The commands of this machine, but for those that only packages need."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for folder in ("/bin", "/usr/bin"):
            for path in pathlib.Path(folder).iterdir():
                if path.name not in OPTIONAL and not (self.folder / path.name).exists():
                    (self.folder / path.name).symlink_to(path)

    def run(self, result=None):
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("MAKE")
        }
        return super().run(result)

    def command(self, *words, **variables):
        return subprocess.run(
            words,
            cwd=TOP,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            env={**self.environment, "PATH": str(self.folder), **variables},
        )

    def test_a_target_whose_tools_are_missing_says_what_to_install(self):
        for target, lacking in (("npm", "npm"), ("crate", "cargo"), ("deb", "dpkg-dev debhelper"),
                                ("jar", "default-jdk-headless maven"), ("page", "npm emscripten")):
            with self.subTest(target=target):
                ran = self.command("make", target)
                self.assertEqual(ran.returncode, 2)
                self.assertRegex(ran.stdout, needs(target, lacking))
                self.assertNotIn("Traceback", ran.stdout)

    def test_headers_of_sqlite_are_missed_by_name(self):
        ran = self.command("make", "amalgamation", SQLITE_INCLUDE="/nowhere")
        self.assertIn("make amalgamation needs libsqlite3-dev: apt-get", ran.stdout)

    def test_what_can_be_built_is_and_the_rest_is_named(self):
        ran = self.command(sys.executable, PROGRAM, "build", "npm", "amalgamation", "crate")
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertRegex(ran.stdout, "skipped: " + needs("npm", "npm"))
        self.assertRegex(ran.stdout, "skipped: " + needs("crate", "cargo"))
        self.assertNotIn("skipped: make amalgamation", ran.stdout)
        self.assertNotIn("Traceback", ran.stdout)

    def test_a_build_that_fails_is_no_skip(self):
        failing = self.folder / "make-fails"
        failing.write_text("#!/bin/sh\nexit 2\n")
        failing.chmod(0o755)
        ran = self.command(sys.executable, PROGRAM, "build", "amalgamation", MAKE=str(failing))
        self.assertEqual(ran.returncode, 1)
        self.assertIn("make amalgamation failed, see above\n", ran.stdout)

    def test_tests_of_packages_skip_in_words(self):
        """Those that need no build: what they miss is a skip with its name, not an error."""
        for test, word in (("compiled_test.py Crate GoModule", "cargo not installed"),
                           ("npm_test.py Npm", "npm, node not installed")):
            with self.subTest(test=test):
                ran = self.command(sys.executable, *f"tests/packages/{test} -v".split())
                self.assertEqual(ran.returncode, 0, ran.stdout)
                self.assertIn(word, ran.stdout)

    def test_an_unknown_package_is_refused(self):
        ran = self.command(sys.executable, PROGRAM, "build", "rpm")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout, r"^packages.py: there is no package rpm; there are crate, ")


class Table(unittest.TestCase):
    def test_every_package_has_a_target_tests_and_a_line_of_help(self):
        help_text = run("make", "help")
        for name, package in packages.PACKAGES.items():
            with self.subTest(package=name):
                self.assertRegex(help_text, rf"(?m)^make {name} +\w")
                self.assertTrue(package.tests)
                for _, test in package.tests:
                    self.assertTrue((TOP / "tests/packages" / test.split()[0]).exists(), test)

    def test_every_test_of_packages_is_run(self):
        """A suite names a file, or classes of it; all classes of all files are named."""
        wanted, run_by_all = set(), set()
        for path in (TOP / "tests/packages").glob("*_test.py"):
            classes = re.findall(r"^class (\w+)\(\w+(?:\.\w+)?\):", path.read_text(), re.M)
            wanted |= {(path.name, name) for name in classes if name not in BASES}
        for package in packages.PACKAGES.values():
            for _, test in package.tests:
                file, *classes = test.split()
                run_by_all |= {(file, name) for name in classes} or {
                    pair for pair in wanted if pair[0] == file
                }
        own = {pair for pair in wanted if pair[0] == pathlib.Path(__file__).name}
        self.assertEqual(run_by_all, wanted - own)
        self.assertGreater(len(wanted), 10)

    def waiting(self, make):
        """What a suite says that waits for a package, and its exit code: while others are built,
        and when make, which has answered so, is over or has made it.
        """
        folder = pathlib.Path(tempfile.mkdtemp(dir=packages.release.BUILD))
        self.addCleanup(shutil.rmtree, folder)
        one = packages.Package(folder.name, "")
        with contextlib.ExitStack() as stack:
            stack.enter_context(unittest.mock.patch.dict(packages.PACKAGES, {"one": one}))
            stack.enter_context(unittest.mock.patch.dict(os.environ, {"MAKE": make}))
            stack.enter_context(unittest.mock.patch.object(packages, "BUILDING", folder / "lock"))
            said = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor())
            lock = stack.enter_context(open(packages.BUILDING, "w", encoding="ascii"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            ended = pool.submit(packages.wait, "one")
            self.assertFalse(concurrent.futures.wait([ended], timeout=0.5).done)
            if make == "true":
                one.stamp().touch()  # while other packages are built
            else:
                fcntl.flock(lock, fcntl.LOCK_UN)
            return ended.result(timeout=60), said.getvalue()

    def test_tests_of_a_package_wait_until_it_is_built_or_cannot_be(self):
        packages.release.BUILD.mkdir(parents=True, exist_ok=True)
        self.assertEqual(self.waiting("true"), (0, ""))
        self.assertEqual(self.waiting("false"),
                         (1, "make one failed, see above\n0 passed, 1 failed\n"))

    def test_a_tool_without_its_part_is_missing(self):
        before = packages.TOOLS["python3-venv"]
        self.addCleanup(packages.TOOLS.__setitem__, "python3-venv", before)
        packages.TOOLS["python3-venv"] = lambda: False
        for name in ("binaries", "wheel", "npm"):
            self.assertIn("python3-venv", packages.PACKAGES[name].lacks())


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
