#!/usr/bin/env python3
"""The amalgamations compile everywhere without a warning, and behave as the library."""

import os
import re
import signal
import subprocess
import unittest
import zipfile

from common import (BUILD, FILTER_PROGRAM, FINGERPRINT, FINGERPRINT_ANSWER, FINGERPRINT_WORDS,
                    PROGRAM, RELEASE, TOP, Scratch, loaded, missing, quick_compilers, run)

FOLDER = BUILD / "amalgamation"
WARNINGS = "-Wall -Wextra -Wpedantic -Werror"


class Unpacked(Scratch):
    zip = None

    def setUp(self):
        super().setUp()
        with zipfile.ZipFile(FOLDER / f"{self.zip}.zip") as archive:
            archive.extractall(self.folder)
        self.sources = self.folder / self.zip
        self.readme = (self.sources / "README.md").read_text()

    def holds(self, header, *others):
        self.assertEqual(sorted(path.name for path in self.sources.iterdir()),
                         ["LICENSE", "README.md", *sorted([header, *others])])
        self.assertEqual((self.sources / header).read_text(), (TOP / "ext" / header).read_text())

    def sh(self, command, **variables):
        return run("sh", "-ec", command, cwd=self.sources, env=variables)

    def makes(self, command):
        """Runs commands of a compiler that need not optimise."""
        quick_compilers(self.folder / "compilers")
        self.sh(command, PATH=f"{self.folder}/compilers:{os.environ['PATH']}")

    def compile(self, command, source, defines=""):
        """By a printed command, without a warning of gcc, which finds some as it optimizes, and of
        clang."""
        warnings = f"{WARNINGS} -Wconversion -Wshadow"
        self.sh(f"{command} {warnings}")
        if not missing("clang"):
            self.sh(f"clang -std=c11 {warnings} {defines} -fsyntax-only {source}")

    def names(self, object, which="--defined-only"):
        return run("nm", "-g", which, object, cwd=self.sources).split()


class Amalgamation(Unpacked):
    zip = f"sqlite-bloom-amalgamation-{RELEASE}"

    def test_the_zip_holds_sources_that_come_out_the_same_every_time(self):
        self.holds("sqlite-bloom.h", "sqlite-bloom.c")
        run("python3", "ext/packages/amalgamation/amalgamate.py", self.folder / "again")
        self.assertEqual((self.folder / f"again/{self.zip}.zip").read_bytes(),
                         (FOLDER / f"{self.zip}.zip").read_bytes())

    def test_the_printed_command_builds_a_library(self):
        command = re.search(r"^    (cc .*\\\n +sqlite-bloom\.c .*)$", self.readme, re.MULTILINE)[1]
        source = (self.sources / "sqlite-bloom.c").read_text()
        self.assertIn(re.sub(r"\\\s+", "", command), re.sub(r"\n \*\s+", " ", source))
        self.compile(command, "sqlite-bloom.c")
        library = self.sources / "bloom.so"
        exported = run("nm", "-D", "--defined-only", library).split()
        self.assertEqual(exported[2::3], ["sqlite3_bloom_init"])
        self.assertEqual(loaded(library).execute(FINGERPRINT).fetchone(), FINGERPRINT_ANSWER)

    def test_the_printed_commands_link_it_into_a_program(self):
        """In the README and in the header: the same, and nothing is missing at the link, of C or of
        C++."""
        page = (TOP / "ext/packages/PLATFORMS.md").read_text()
        program = re.search(r"```c\n(.*?)```", page, re.DOTALL)[1] + re.sub(
            r"sqlite3_auto_extension\(.*\)", "register_bloom()", PROGRAM)
        (self.sources / "program.c").write_text(program.replace("<sqlite-bloom.h>",
                                                                '"sqlite-bloom.h"'))
        compiling, linking = re.search(
            r"^    (cc .*SQLITE_CORE.*)\n    (cc .*)$", self.readme, re.MULTILINE).groups()
        self.assertIn(f" *     {compiling}\n *     {linking.replace('program.c', 'program.o')}\n",
                      (self.sources / "sqlite-bloom.h").read_text())
        self.compile(compiling, "sqlite-bloom.c", "-DSQLITE_CORE")
        self.assertEqual(self.names("sqlite-bloom.o")[1:], ["T", "sqlite3_bloom_init"])
        self.assertEqual(self.sh(f"{linking}\n./program").strip(), FINGERPRINT_WORDS)
        self.sh("g++ -std=c++11 -Wall -Wextra -DSQLITE_CORE -o program -x c++ program.c"
                " -x none sqlite-bloom.o -lsqlite3")
        self.assertEqual(self.sh("./program").strip(), FINGERPRINT_WORDS)


class FilterLibrary(Unpacked):
    """The second amalgamation, which needs the C library alone."""
    zip = f"sqlite-bloom-filter-amalgamation-{RELEASE}"

    def commands(self):
        return re.findall(r"^    (cc .*)$", self.readme, re.MULTILINE)

    def test_a_program_gets_the_functions_of_the_header_and_needs_no_sqlite(self):
        """By the commands of the README and the header."""
        header = (self.sources / "sqlite-bloom-filter.h").read_text()
        compiling, linking, *_ = self.commands()
        linking_objects = linking.replace("-I. ", "").replace("program.c", "program.o")
        self.assertIn(f" *     {compiling}\n *     {linking_objects}\n", header)
        self.assertIn(compiling, (self.sources / "sqlite-bloom-filter.c").read_text())
        self.holds("sqlite-bloom-filter.h", "blocker.c", "guard.c", "sqlite-bloom-filter.c")
        self.compile(compiling, "sqlite-bloom-filter.c")
        declared = re.findall(r"^[a-z][\w *]*?\b(sqlite_bloom_\w+)\(", header, re.MULTILINE)
        self.assertGreater(len(declared), 20)
        self.assertEqual(self.names("sqlite-bloom-filter.o")[2::3], sorted(declared))
        for name in self.names("sqlite-bloom-filter.o", "--undefined-only"):
            self.assertNotIn("sqlite3", name)
        (self.sources / "program.c").write_text(FILTER_PROGRAM)
        self.sh(f"{linking} {WARNINGS}\n./program")

    def test_the_blocker_makes_its_filter_again(self):
        """When it is told to; a list without an entry leaves the old filter in place."""
        compiling, _, blocking, _ = self.commands()
        self.makes(f"{compiling}\n{blocking} {WARNINGS}")
        listed = self.sources / "hosts.txt"
        listed.write_text("0.0.0.0 evil.example\n")
        with subprocess.Popen(["./blocker", listed], cwd=self.sources, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as blocker:
            def asked(name):
                blocker.stdin.write(f"{name}\n")
                blocker.stdin.flush()
                return blocker.stdout.readline()

            self.assertEqual(asked("www.EVIL.example"), "blocked www.EVIL.example\n")
            self.assertEqual(asked("new.example"), "passed new.example\n")
            for text, known in (("0.0.0.0 new.example\n", "blocked"), ("Not found", "blocked")):
                listed.write_text(text)
                blocker.send_signal(signal.SIGHUP)
                self.assertEqual(asked("new.example"), f"{known} new.example\n")
            self.assertEqual(asked("evil.example"), "passed evil.example\n")
            self.assertRegex(blocker.communicate()[1], "^blocker: sqlite_bloom_filter_from_list: ")
        self.assertEqual(blocker.returncode, 0)

    def test_the_guard_asks_a_filter_that_lies_in_a_row(self):
        compiling, _, _, guarding = self.commands()
        self.makes(f"{compiling}\n{guarding} {WARNINGS}")
        loaded(database=self.sources / "lists.db").executescript(
            "CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);"
            "INSERT INTO filters SELECT 'bad', bloom_agg(value, NULL, 0.0001, 'key=url')"
            " FROM json_each('[\"evil.example\", \"other.example/a\"]');"
            "INSERT INTO filters VALUES ('broken', x'00');")
        for arguments, printed, status in (
                ("bad http://EVIL.example./x?y https://other.example/b other.example/a no-url",
                 r"refused .*\nallowed .*\nrefused .*\nallowed .*\n", 1),
                ("bad http://good.example/", r"allowed .*\n", 0),
                ("none x", "guard: there is no filter none\n", 2),
                ("broken x", "guard: sqlite_bloom_filter_open: the data is not a filter: it has"
                 " 1 byte and does not begin with 89424c4d.*\n", 2)):
            ran = subprocess.run(["./guard", "lists.db", *arguments.split()], cwd=self.sources,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 check=False)
            self.assertRegex(ran.stdout, f"^{printed}$")
            self.assertEqual(ran.returncode, status)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
