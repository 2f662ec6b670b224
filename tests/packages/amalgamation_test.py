#!/usr/bin/env python3
"""The amalgamations compile everywhere without a warning, behave as the library, and cannot be made
of files that collide.
"""

import re
import subprocess
import unittest
import zipfile

from common import (BUILD, FINGERPRINT, FINGERPRINT_ANSWER, FINGERPRINT_WORDS, PROGRAM, RELEASE,
                    TOP, Scratch, loaded, missing, release, run)

FOLDER = BUILD / "amalgamation"
WARNINGS = "-Wall -Wextra -Wpedantic -Werror"
GENERATOR = TOP / "ext/packages/amalgamation/amalgamate.py"


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

    def sh(self, command):
        return run("sh", "-ec", command, cwd=self.sources)

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
        run("python3", GENERATOR, *release.amalgamate_options(), self.folder / "again")
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
        (self.sources / "program.c").write_text(PROGRAM.replace("<sqlite-bloom.h>",
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
        compiling, linking, _ = self.commands()
        linking_objects = linking.replace("-I. ", "").replace("program.c", "program.o")
        self.assertIn(f" *     {compiling}\n *     {linking_objects}\n", header)
        self.assertIn(compiling, (self.sources / "sqlite-bloom-filter.c").read_text())
        self.holds("sqlite-bloom-filter.h", "guard.c", "sqlite-bloom-filter.c")
        self.compile(compiling, "sqlite-bloom-filter.c")
        declared = re.findall(r"^[a-z][\w *]*?\b(sqlite_bloom_\w+)\(", header, re.MULTILINE)
        self.assertGreater(len(declared), 20)
        self.assertEqual(self.names("sqlite-bloom-filter.o")[2::3], sorted(declared))
        for name in self.names("sqlite-bloom-filter.o", "--undefined-only"):
            self.assertNotIn("sqlite3", name)
        (self.sources / "program.c").write_text(
            "#include <sqlite-bloom-filter.h>\nint main(void) {\n"
            "    return *sqlite_bloom_filter_version() == 0;\n}\n")
        self.sh(f"{linking} {WARNINGS}\n./program")

    def test_the_guard_asks_a_filter_that_lies_in_a_row(self):
        compiling, _, guarding = self.commands()
        self.sh(f"{compiling}\n{guarding} {WARNINGS}")
        loaded(database=self.sources / "lists.db").executescript(
            "CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);"
            "INSERT INTO filters SELECT 'bad', bloom_agg(value, NULL, 0.0001, 'key=url')"
            " FROM json_each('[\"evil.example\", \"other.example/a\"]');"
            "INSERT INTO filters VALUES ('broken', x'00');")
        for arguments, printed, status in (
                ("bad http://EVIL.example./x?y https://other.example/b other.example/a no-url",
                 r"refused .*\nallowed .*\nrefused .*\nallowed .*\n", 1),
                ("bad http://good.example/", r"allowed .*\n", 0),
                ("bad --measure", r"1000000 requests, \d+ refused, \d+ ns each\n", 0),
                ("none x", "guard: there is no filter none\n", 2),
                ("broken x", "guard: sqlite_bloom_filter_open: the data is not a filter: it has"
                 " 1 byte and does not begin with 89424c4d.*\n", 2)):
            ran = subprocess.run(["./guard", "lists.db", *arguments.split()], cwd=self.sources,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 check=False)
            self.assertRegex(ran.stdout, f"^{printed}$")
            self.assertEqual(ran.returncode, status)


# Sources that are not ours. The macros may have two meanings, and so may what is in a function.
SOURCES = {
    "sqlite-bloom.h": "int sqlite3_bloom_init(void);\n",
    "low/low.h": "int low_one(void);\n",
    "low/low.c": """#include "low/low.h"
#define SIZE 1
static int same(void) { static int local = SIZE; return local; }
int low_one(void) { return same(); }
""",
    "high/high.c": """#include "low/low.h"
#define SIZE 10
static int same(int x) { static int local = SIZE; return x + local; } /* same */
int high_sum(void) { return same(low_one()) + (int)sizeof "same"; }
""",
    "top.c": """int high_sum(void);
int sqlite3_bloom_init(void) { return high_sum(); }
""",
}


class Generator(Scratch):
    """What the generator does with sources that are not ours."""

    def generate(self, files, *options):
        """What it prints, and the folder with what it makes."""
        folder = self.new_folder()
        (folder / "LICENSE").write_text("free\n")
        for name, text in {**SOURCES, **files}.items():
            path = folder / "ext" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        ran = subprocess.run(["python3", GENERATOR, "--ext", folder / "ext", *options, folder],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False)
        return ran.stdout, folder

    def test_names_that_collide_are_renamed_where_that_is_wanted(self):
        printed, folder = self.generate({}, "--rename")
        self.assertEqual(printed, "")
        self.assertIn("/* same */", (folder / "sqlite-bloom.c").read_text())
        (folder / "main.c").write_text(
            '#include "sqlite-bloom.h"\nint main(void) { return sqlite3_bloom_init(); }\n')
        run("cc", "-std=c11", *WARNINGS.split(), "main.c", "sqlite-bloom.c", cwd=folder)
        ran = subprocess.run(folder / "a.out", check=False)
        self.assertEqual(ran.returncode, 1 + 10 + len("same") + 1)

    def test_what_one_file_cannot_have_is_refused(self):
        for files, *words in (
                ({}, "'same' has two meanings", "ext/low/low.c:3", "ext/high/high.c:3"),
                ({"low/circle.c": '#include "high/high.h"\n', "high/high.h": ""}, "in a circle"),
                ({"high/if.c": '#ifdef X\n#include "high/high.h"\n#endif\n',
                  "high/high.h": "int x;\n", "low/low.c": ""},
                 "high/if.c:2", "under a condition")):
            printed, folder = self.generate(files)
            for word in words:
                self.assertIn(word, printed)
            self.assertNotIn("Traceback", printed)
            self.assertFalse((folder / "sqlite-bloom.c").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
