#!/usr/bin/env python3
"""The amalgamations compile everywhere without a warning, behave as the library, and cannot be made
of files that collide.
"""

import re
import shutil
import subprocess
import unittest
import zipfile

from common import (BUILD, FINGERPRINT, FINGERPRINT_ANSWER, FINGERPRINT_WORDS, PROGRAM, RELEASE,
                    TOP, Scratch, loaded, missing, release, run)

FOLDER = BUILD / "amalgamation"
WARNINGS = "-Wall -Wextra -Wpedantic -Werror"
GENERATOR = TOP / "ext/packages/amalgamation/amalgamate.py"
# Both amalgamations in one program, which asks in C what it made in SQL.
BOTH = r"""
#include "sqlite-bloom-filter.h"
#include "sqlite-bloom.h"
#include <cstdio>
int main() {
    sqlite3 *database;
    sqlite3_stmt *row;
    sqlite_bloom_filter *filter;
    char problem[SQLITE_BLOOM_PROBLEM_SIZE];
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(sqlite3_bloom_init));
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_prepare_v2(database, "SELECT bloom_agg(value, NULL, 0.001)"
            " FROM json_each('[1, 2.5, \"x\"]')", -1, &row, nullptr) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_ROW ||
        sqlite_bloom_filter_open(&filter, sqlite3_column_blob(row, 0),
            static_cast<size_t>(sqlite3_column_bytes(row, 0)), nullptr, problem))
        return 1;
    std::printf("%d%d%d%d\n",
        sqlite_bloom_filter_check(filter, sqlite_bloom_integer_key(1)),
        sqlite_bloom_filter_check(filter, sqlite_bloom_real_key(2.5)),
        sqlite_bloom_filter_check(filter, sqlite_bloom_text_key("x", 1)),
        sqlite_bloom_filter_check(filter, sqlite_bloom_integer_key(2)));
    sqlite_bloom_filter_close(filter);
    sqlite3_finalize(row);
    return sqlite3_close(database);
}
"""


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

    def test_a_program_gets_the_functions_of_the_header_and_needs_no_sqlite(self):
        """Compiled by the commands of the README and the header; also beside the other
        amalgamation, in C++; and the guard, which asks a filter that lies in a row."""
        header = (self.sources / "sqlite-bloom-filter.h").read_text()
        compiling, linking, guarding = re.findall(r"^    (cc .*)$", self.readme, re.MULTILINE)
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
        for name in ("sqlite-bloom.c", "sqlite-bloom.h"):
            shutil.copy(FOLDER / name, self.sources)
        (self.sources / "main.cpp").write_text(BOTH)
        self.sh("gcc -std=c11 -O0 -DSQLITE_CORE -c sqlite-bloom.c")
        self.sh(f"g++ -std=c++11 {WARNINGS} -DSQLITE_CORE main.cpp sqlite-bloom.o"
                " sqlite-bloom-filter.o -lsqlite3 -o main")
        self.assertEqual(self.sh("./main"), "1110\n")
        (self.sources / "program.c").write_text(
            "#include <sqlite-bloom-filter.h>\nint main(void) {\n"
            "    return *sqlite_bloom_filter_version() == 0;\n}\n")
        self.sh(f"{linking}\n./program\n{guarding} -Wall -Wextra -Werror")
        self.use_guard()

    def use_guard(self):
        loaded(database=self.sources / "lists.db").executescript(
            "CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB);"
            "INSERT INTO filters SELECT 'bad', bloom_agg(value, NULL, 0.0001, 'key=url')"
            " FROM json_each('[\"evil.example\", \"other.example/a\"]');"
            "INSERT INTO filters VALUES ('broken', x'00');")
        urls = ["http://EVIL.example./x?y", "http://good.example/", "https://other.example/b",
                "other.example/a", "no url"]
        told, status = self.guard("bad", *urls)
        self.assertEqual(([line.split()[0] for line in told.splitlines()], status),
                         (["refused", "allowed", "allowed", "refused", "allowed"], 1))
        self.assertEqual(self.guard("bad", "http://good.example/")[1], 0)
        self.assertRegex(self.guard("bad", "--measure")[0],
                         r"^1000000 requests, \d+ refused, \d+ ns each\n$")
        self.assertEqual(self.guard("none", "x"), ("guard: there is no filter none\n", 2))
        self.assertEqual(self.guard("broken", "x"),
                         ("guard: sqlite_bloom_filter_open: the data is not a filter: it has"
                          " 1 byte and does not begin with 89424c4d. Import a filter of another"
                          " system with bloom_import\n",
                          2))

    def guard(self, *arguments):
        """What it prints, and its exit status."""
        ran = subprocess.run(["./guard", "lists.db", *arguments], cwd=self.sources,
                             capture_output=True, text=True, check=False)
        return ran.stdout + ran.stderr, ran.returncode


# Sources that are not ours: declarations of all kinds, and names that do not collide, because they
# are in functions or macros.
OTHERS = {
    "sqlite-bloom.h": "int sqlite3_bloom_init(void);\n",
    "sqlite-bloom-filter.h": "int sqlite_bloom_twice(int x);\n",
    "sqlite-bloom-filter.c": """#include "sqlite-bloom-filter.h"
#include "low/low.h"
int sqlite_bloom_twice(int x) { return low_twice(x); }
""",
    "low/low.h": """#ifndef LOW
#define LOW
struct pair { int x, y; };
struct item { int same; };
enum kind { A, B };
_Static_assert(1, "so");
extern const int low_numbers[];
extern const struct pair low_pair;
extern int (*const low_table[])(int);
int low_twice(int x);
#endif
""",
    "low/low.c": """#include "low/low.h"
#define SIZE 1
const int low_numbers[] = {1, 2};
const struct pair low_pair = {.y = 3};
static int same(int x) { static int local = 1; enum { LOCAL = 3 }; return x + local + LOCAL; }
int (*const low_table[])(int) = {same};
union both { int x; } low_both;
int low_twice(int x) { return 2 * x * SIZE; }
""",
    "high/high.c": """#include "low/low.h"
#define SIZE 10 /* same */
static int more(int x) { static int local = 2; enum { LOCAL = 4 }; return x + local + LOCAL; }
int high_sum(void) {
    return low_numbers[1] + low_pair.y + low_table[0](0) + low_twice(B) + more(0) + SIZE;
}
""",
    "top.c": """int high_sum(void);
int sqlite3_bloom_init(void) { return high_sum(); }
""",
}
SUM = 2 + 3 + 4 + 2 + 6 + 10
# One that gives the name of another file to something else.
COLLIDING = """#include "low/low.h"
static int same(const struct item *item) { return item->same; } /* same */
int high_other(void) { struct item item = {.same = 2}; return same(&item) + (int)sizeof "same"; }
"""
# What else counts as a name that a file gives.
NAMES = ["static const int same[] = {1, 2};", "enum { FIRST, same };", "struct same { int x; };",
         "typedef unsigned same;", "static int (*const same[])(void) = {0};", "enum same { A };",
         "__attribute__((unused)) static inline int\nsame(int x)\n{\n    return x;\n}"]


class Generator(Scratch):
    """What the generator does with sources that are not ours."""

    def generate(self, files, *options):
        """What it prints, and the folder with what it makes."""
        folder = self.new_folder()
        (folder / "LICENSE").write_text("free\n")
        for name, text in {**OTHERS, **files}.items():
            path = folder / "ext" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        ran = subprocess.run(["python3", GENERATOR, "--ext", folder / "ext", *options, folder],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False)
        return ran.stdout, folder

    def assert_gives(self, folder, source, call, wanted):
        """That a program gets one name from a file, and what that returns."""
        name = call.partition("(")[0]
        (folder / "main.c").write_text(f"int {name}();\nint main(void) {{ return {call}; }}\n")
        run("cc", "-std=c11", *WARNINGS.split(), "-c", source, "-o", "one.o", cwd=folder)
        names = run("nm", "-g", "--defined-only", "one.o", cwd=folder)
        self.assertEqual(names.split()[2::3], [name])
        run("cc", "-w", "main.c", "one.o", cwd=folder)
        self.assertEqual(subprocess.run(folder / "a.out", check=False).returncode, wanted)

    def test_one_file_behaves_as_many(self):
        printed, folder = self.generate({})
        self.assertEqual(printed, "")
        text = (folder / "sqlite-bloom.c").read_text()
        self.assertEqual(text.count("int low_twice(int x);"), 1)  # each header once
        self.assert_gives(folder, "sqlite-bloom.c", "sqlite3_bloom_init()", SUM)
        self.assert_gives(folder, "sqlite-bloom-filter.c", "sqlite_bloom_twice(4)", 8)
        self.assertNotIn("high_sum", (folder / "sqlite-bloom-filter.c").read_text())

    def test_names_that_collide_are_refused_or_renamed(self):
        for kind in (COLLIDING, *NAMES):
            printed, folder = self.generate({"high/other.c": f"/* static int same; */\n{kind}\n"})
            for words in ("'same' has two meanings", "ext/low/low.c:5", "ext/high/other.c:"):
                self.assertIn(words, printed, kind)
            self.assertFalse((folder / "sqlite-bloom.c").exists())
        top = OTHERS["top.c"].replace("return high_sum()", "return high_sum() + high_other()")
        files = {"high/other.c": COLLIDING, "top.c": f"int high_other(void);\n{top}"}
        _, folder = self.generate(files, "--rename")
        self.assert_gives(folder, "sqlite-bloom.c", "sqlite3_bloom_init()",
                          SUM + 2 + len("same") + 1)
        self.assertIn("/* same */", (folder / "sqlite-bloom.c").read_text())

    def test_circles_of_folders_and_conditional_headers_are_refused(self):
        for files, *words in (
                ({"low/circle.c": '#include "high/high.h"\n', "high/high.h": ""}, "in a circle"),
                ({"high/if.c": '#ifdef X\n#include "high/high.h"\n#endif\n',
                  "high/high.h": "int x;\n"}, "high/if.c:2", "under a condition")):
            printed, folder = self.generate(files)
            for word in words:
                self.assertIn(word, printed)
            self.assertNotIn("Traceback", printed)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
