#!/usr/bin/env python3
"""What a build must keep: one exported name, a caller's CC, CFLAGS and LDFLAGS, and an installation
that loads."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = "bloom.dylib" if sys.platform == "darwin" else "bloom.so"
ARCHIVE = "libsqlite-bloom-filter.a"
INSTALLED = sorted([
    "include/sqlite-bloom-filter.h", "include/sqlite-bloom.h", f"lib/{LIBRARY}", f"lib/{ARCHIVE}",
    "lib/cmake/sqlite-bloom/sqlite-bloom-config-version.cmake",
    "lib/cmake/sqlite-bloom/sqlite-bloom-config.cmake",
    "lib/pkgconfig/sqlite-bloom-filter.pc", "lib/pkgconfig/sqlite-bloom.pc"])
# The example of a page, the command that compiles it, and what it prints.
PAGE = (TOP / "ext/packages/README.md").read_text().split("\n## From C without SQL\n")[1]
PROGRAM, COMMAND = (re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]
                    for language in ("c", "sh"))
PRINTED = re.search(r"It prints `(.*?)`", PAGE)[1] + "\n"
# Without what GNU make hands on to its children, and ONLY, which chooses suites.
WITHOUT_MAKE = {name: value for name, value in os.environ.items()
                if "MAKE" not in name and name != "ONLY"}
RELEASE = re.search(r'BLOOM_RELEASE "(.*)"', (TOP / "ext/base/version.h").read_text())[1]


def public_functions():
    """Those that the header of the filter library declares."""
    text = (TOP / "ext/sqlite-bloom-filter.h").read_text()
    names = re.findall(r"^[a-z][\w *]*?\b(sqlite_bloom_\w+)\(", text, re.MULTILINE)
    return sorted(name for name in names if not name.endswith("_key"))


def run(*command, **options):
    return subprocess.run(
        command, cwd=options.pop("cwd", TOP), capture_output=True, text=True, check=True, **options
    ).stdout


def build_through_shell(library):
    return run("sqlite3", "-batch", "-init", "/dev/null", "-cmd", f".load {library}", ":memory:",
               "SELECT bloom_build();")


class Build(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def copy(self):
        """The sources alone, as a clean checkout has them."""
        shutil.copytree(TOP / "ext", self.folder / "ext")
        shutil.copytree(TOP / "tests", self.folder / "tests",
                        ignore=shutil.ignore_patterns("__pycache__", "corpus"))
        shutil.copy2(TOP / "Makefile", self.folder)
        return self.folder

    def test_only_the_entry_point_is_exported(self):
        names = run("nm", "-D", "--defined-only", LIBRARY).split("\n")
        self.assertEqual([line.split()[-1] for line in names if line], ["sqlite3_bloom_init"])
        self.assertNotIn("bloom", run("nm", "-D", "--undefined-only", LIBRARY))

    def test_it_needs_nothing_but_the_c_library(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", LIBRARY))
        self.assertLessEqual(set(needed), {"libc.so.6", "libm.so.6"}, needed)

    def test_compiler_and_flags_on_the_command_line_are_honoured(self):
        """Unit tests keep their sanitizers, whatever the flags."""
        flags = ("CC=gcc", "CFLAGS=-O1 -DGIVEN_BY_TEST", "LDFLAGS=-Wl,-z,now")
        program = "build/sanitized/tests/url_test"
        output = run("make", "-n", "V=1", *flags, LIBRARY, program, cwd=self.copy(),
                     env=WITHOUT_MAKE).replace("\\\n", " ")
        compiled = re.findall(rf"^.* -c .*|^.* -o {program}.*", output, re.MULTILINE)
        self.assertGreater(len(compiled), 10)
        for line in compiled:
            self.assertTrue(line.startswith("gcc ") and "-O1 -DGIVEN_BY_TEST" in line, line)
        self.assertRegex(output, rf"(?m)^.* -o {LIBRARY} .*-Wl,-z,now |-Wl,-z,now .* -o {LIBRARY} ")
        self.assertRegex(output, rf"(?m)^gcc .*-fsanitize=address.* -o {program} ")

    def test_install_and_uninstall_take_paths_with_spaces(self):
        for destination, prefix, *kept in ((f"{self.folder}/a b", "/opt/x y"),
                                           (f"{self.folder}", "/o'p", "STRIP="),
                                           (f"{self.folder}", "/n", "DEB_BUILD_OPTIONS=nostrip")):
            arguments = [f"DESTDIR={destination}", f"PREFIX={prefix}", *kept]
            run("make", "install", *arguments)
            root = pathlib.Path(destination + prefix)
            files = sorted(
                str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
            self.assertEqual(files, INSTALLED)
            stripped = [len(run("readelf", "-WS", root / "lib" / name).split(".debug_")) == 1
                        for name in (LIBRARY, ARCHIVE)]
            self.assertEqual(stripped, 2 * [not arguments[2:]])
            other = root / "lib" / "other.so"
            other.write_text("not ours")
            run("make", "uninstall", *arguments)
            self.assertEqual([path for path in root.rglob("*") if path.is_file()], [other])
            run("make", "uninstall", *arguments)  # nothing left is no error

    def test_the_archive_gives_the_functions_of_the_header_and_needs_no_sqlite(self):
        """They are hidden, so that a program keeps its own release of them beside the extension,
        which SQLite loads with RTLD_GLOBAL."""
        self.assertGreater(len(public_functions()), 20)
        names = run("nm", "-g", "--defined-only", ARCHIVE)
        self.assertEqual(sorted(re.findall(r" T (\w+)$", names, re.MULTILINE)), public_functions())
        self.assertEqual(re.findall(r"GLOBAL (\w+) +\d", run("readelf", "-Ws", ARCHIVE)),
                         ["HIDDEN"] * len(public_functions()))
        self.assertNotIn("sqlite3", run("nm", "-u", ARCHIVE))

    def test_pkg_config_finds_the_extension_and_the_filter_library(self):
        """In folders of their own, to which they were moved. The page's example compiles as it
        says, and as C++."""
        if shutil.which("pkg-config") is None:
            self.skipTest("skipped: pkg-config is not installed")
        run("make", "install", f"PREFIX={self.folder}/y", f"LIBDIR={self.folder}/y/lib64")
        (self.folder / "y").rename(self.folder / "x")
        environment = {**os.environ, "PKG_CONFIG_PATH": f"{self.folder}/x/lib64/pkgconfig"}

        def asked(*words):
            return run("pkg-config", *words, "sqlite-bloom", env=environment).strip()

        extension = asked("--variable=extension")
        self.assertEqual(os.path.normpath(extension), f"{self.folder}/x/lib64/{LIBRARY}")
        self.assertEqual(asked("--modversion"), RELEASE)
        self.assertTrue(build_through_shell(extension).startswith(f"bloom {RELEASE}, "))
        major, minor, patch = map(int, RELEASE.split("."))
        (self.folder / "version.c").write_text(
            "#include <sqlite-bloom.h>\n#include <sqlite-bloom-filter.h>\n" * 2
            + f"char same[SQLITE_BLOOM_VERSION_NUMBER == {major * 1000000 + minor * 1000 + patch}"
            " ? 1 : -1];\n")
        for compiler in ("cc -std=c99", "g++ -x c++ -std=c++11"):
            if shutil.which(compiler.split()[0]):
                run(*compiler.split(), "-Wall", "-Werror", "-fsyntax-only", "version.c",
                    *asked("--cflags").split(), cwd=self.folder)
        (self.folder / "program.c").write_text(PROGRAM)
        for command in (COMMAND, COMMAND.replace("cc ", "g++ -x c++ ").replace(
                "program.c ", "program.c -x none ")):
            with self.subTest(command=command):
                if shutil.which(command.split()[0]) is None:
                    self.skipTest("skipped: g++ is not installed")
                run("sh", "-ec", f"{command.strip()} -Wall -Wextra -Werror -o program",
                    cwd=self.folder, env=environment)
                self.assertEqual(run(self.folder / "program"), PRINTED)

    def test_cmake_finds_the_package(self):
        if shutil.which("cmake") is None:
            self.skipTest("skipped: cmake is not installed")
        run("make", "install", f"PREFIX={self.folder}/y")
        (self.folder / "y").rename(self.folder / "x y")
        (self.folder / "program.c").write_text(PROGRAM)

        def configure(release):
            (self.folder / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.13)\nproject(asks C)\n"
                f"find_package(sqlite-bloom {release} REQUIRED)\nadd_executable(asks program.c)\n"
                "target_link_libraries(asks PRIVATE sqlite-bloom::filter)\n"
                'message(STATUS "extension ${sqlite-bloom_EXTENSION}")\n')
            return run("cmake", "-S", ".", "-B", release, f"-DCMAKE_PREFIX_PATH={self.folder}/x y",
                       cwd=self.folder)

        self.assertIn(f"-- extension {self.folder}/x y/lib/{LIBRARY}\n", configure(RELEASE))
        run("cmake", "--build", RELEASE, cwd=self.folder)
        self.assertEqual(run(self.folder / RELEASE / "asks"), PRINTED)
        with self.assertRaises(subprocess.CalledProcessError) as caught:
            configure("2.0.0")
        self.assertIn(f"version: {RELEASE}", caught.exception.stderr)

    def test_another_make_says_that_it_needs_gnu_make(self):
        if shutil.which("bmake") is None:
            self.skipTest("skipped: bmake is not installed")
        result = subprocess.run(["bmake"], cwd=self.copy(), capture_output=True, text=True,
                                check=False, env=WITHOUT_MAKE)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("This Makefile needs GNU make: gmake", result.stdout + result.stderr)


class Release(unittest.TestCase):
    def test_the_version_has_no_empty_field(self):
        for compiler in filter(shutil.which, ("gcc", "clang")):
            with tempfile.TemporaryDirectory() as folder:
                library = pathlib.Path(folder) / LIBRARY
                # The compiler's name comes from the file of bloom_build alone.
                objects = [name for name in run("make", "-s", "V=1", "objects").split()
                           if not name.endswith(("/scalar.o", "/extension.o"))]
                run(compiler, "-std=c11", "-O0", "-shared", "-fPIC", "-Iext", "ext/extension.c",
                    "ext/sqlite/scalar.c", *objects, "-o", str(library), "-lm")
                self.assertRegex(build_through_shell(library), rf"^bloom [\d.]+, format 1, built "
                                 rf"against SQLite [\d.]+ with {compiler} [\d.]+, \d+ bits\n$")

    def test_code_and_changelog_name_the_same_release(self):
        self.assertIn(f"\n## {RELEASE}", (TOP / "CHANGELOG.md").read_text())
        self.assertTrue(build_through_shell(TOP / LIBRARY).startswith(f"bloom {RELEASE}, "))


if __name__ == "__main__":
    unittest.main()
