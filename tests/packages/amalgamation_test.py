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

    def setUp(self):
        """Compiles it by the commands of the README and the header."""
        super().setUp()
        self.header = (self.sources / "sqlite-bloom-filter.h").read_text()
        compiling, self.linking, self.guarding = re.findall(r"^    (cc .*)$", self.readme,
                                                            re.MULTILINE)
        linking_objects = self.linking.replace("-I. ", "").replace("program.c", "program.o")
        self.assertIn(f" *     {compiling}\n *     {linking_objects}\n", self.header)
        self.assertIn(compiling, (self.sources / "sqlite-bloom-filter.c").read_text())
        self.holds("sqlite-bloom-filter.h", "guard.c", "sqlite-bloom-filter.c")
        self.compile(compiling, "sqlite-bloom-filter.c")

    def test_a_program_gets_the_functions_of_the_header_and_needs_no_sqlite(self):
        """Also beside the other amalgamation, and in C++."""
        declared = re.findall(r"^[a-z][\w *]*?\b(sqlite_bloom_\w+)\(", self.header, re.MULTILINE)
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

    def test_the_guard_asks_a_filter_that_lies_in_a_row(self):
        """The filter is made in SQL."""
        (self.sources / "program.c").write_text(
            "#include <sqlite-bloom-filter.h>\nint main(void) {\n"
            "    return *sqlite_bloom_filter_version() == 0;\n}\n")
        self.sh(f"{self.linking}\n./program\n{self.guarding} -Wall -Wextra -Werror")
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


class Generator(Scratch):
    """What the generator does with sources that are not ours."""

    def command(self, files, *options):
        self.folder = self.new_folder()
        (self.folder / "LICENSE").write_text("free\n")
        for name, text in {"sqlite-bloom.h": "int sqlite3_bloom_init(void);\n", **files}.items():
            path = self.folder / "ext" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return ["python3", GENERATOR, "--ext", self.folder / "ext", *options, self.folder]

    def generate(self, files, *options):
        run(*self.command(files, *options))
        return (self.folder / "sqlite-bloom.c").read_text()

    def refused(self, files, *words):
        said = self.fails(*self.command(files))
        for word in words:
            self.assertIn(word, said)
        self.assertNotIn("Traceback", said)

    def test_a_name_that_two_files_give_is_refused_with_both_places(self):
        for kind in (
            "static int same(void) { return 1; }",
            "static const int same[] = {1, 2};",
            "enum { FIRST, same };",
            "struct same { int x; };",
            "typedef unsigned same;",
            "static int (*const same[])(void) = {0};",
            "enum same { A };",
            "__attribute__((unused)) static inline int\nsame(int x)\n{\n    return x;\n}",
        ):
            with self.subTest(kind=kind):
                other = "static int (same_not)(void);\nstatic int same(int);\n"
                self.refused({"a/one.c": "/* static int same; */\n\n" + kind, "a/two.c": other},
                             "'same' has two meanings", "a/one.c:", "a/two.c:2")

    def test_circles_of_folders_and_conditional_headers_are_refused(self):
        self.refused({"a/one.c": '#include "b/two.h"\n', "a/one.h": "", "b/two.h": "",
                      "b/two.c": '#include "a/one.h"\n'}, "in a circle")
        self.refused({"a/one.c": '#ifdef X\n#include "a/one.h"\n#endif\n', "a/one.h": "int x;\n"},
                     "a/one.c:2", "under a condition")

    def test_everything_but_the_entry_point_becomes_static(self):
        """Lines as they are written, those with # before them as internal ones."""
        lines = """
#const int bloom_numbers[] = {1, 2};
#const struct pair bloom_pair;
#unsigned bloom_twice(unsigned x);
#unsigned bloom_twice(unsigned x) {
#int (*const bloom_table[])(int) = {once};
#union both { int x; } bloom_both;
struct pair { int x, y; };
enum kind { A, B };
static_assert(1, "so");
_Static_assert(1, "so");
static int mine;
FAST int once(int x) { return x; }
int sqlite3_bloom_init(void) { return 0; }
"""
        text = self.generate({
            "a/one.h": 'static_assert(1, "so");\n_Static_assert(1, "so");\n'
            "extern const int bloom_numbers[];\nextern const struct pair bloom_pair;\n"
            "struct pair { int x, y; };\nenum kind { A, B };\n#define FAST static inline\n"
            "unsigned bloom_twice(unsigned x);\nFAST int once(int x) { return x; }\n",
            "a/one.c": '#include "a/one.h"\nconst int bloom_numbers[] = {1, 2};\n'
            "const struct pair bloom_pair = {.x = 1};\nstatic int mine;\n"
            "unsigned bloom_twice(unsigned x) {\n    return 2 * x;\n}\n"
            "int (*const bloom_table[])(int) = {once};\nunion both { int x; } bloom_both;\n",
            "b/two.c": '#include "sqlite-bloom.h"\nSQLITE_EXTENSION_INIT3\n'
            "int sqlite3_bloom_init(void) { return 0; }\n",
            "b/three.c": "SQLITE_EXTENSION_INIT1\nint bloom_three;\n"})
        for line in lines.replace("#", "BLOOM_INTERNAL ").strip().splitlines():
            self.assertIn(f"\n{line}\n", text)
        self.assertNotIn("extern", text.partition("a/one.h")[2])
        self.assertNotIn("SQLITE_EXTENSION_INIT", text)
        self.assertEqual(text.count("static const sqlite3_api_routines *sqlite3_api;"), 1)

    def test_what_is_not_at_file_scope_does_not_collide(self):
        text = (
            "static int {0}(int y) {{ static int same = 1; enum {{ LOCAL = 3 }}; struct local {{"
            " int a; }} z = {{y}};\n  return same + LOCAL + z.a; }}\n"
        )
        self.generate({"a/one.c": text.format("one"),
                       "a/two.c": text.format("two") + '/* same */ const char *bloom_x ='
                       ' "static int one;";\n'})

    def test_with_rename_members_comments_and_strings_stay(self):
        text = self.generate({
            "a/one.c": "static int same(void) { return 1; }\n"
            "int bloom_one(void) { return same(); }\n",
            "a/two.c": "struct pair { int other; };\n"
            "static int same(const struct pair *p) { return p->other; } /* same */\n"
            "int bloom_two(void) { struct pair p = {.other = 2};"
            ' return same(&p) + (int)sizeof "same"; }\n'}, "--rename")
        self.assertIn("return a_one_same();", text)
        self.assertIn('a_two_same(&p) + (int)sizeof "same"', text)
        self.assertIn("/* same */", text)

    def test_the_order_of_folders_headers_once_and_macros_until_the_end_of_a_file(self):
        text = self.generate({
            "a/high.c": '#include "b/low.h"\n#define SIZE 2\n'
            "int bloom_high(void) { return bloom_low() + SIZE; }\n",
            "b/low.h": "#ifndef L\n#define L\nint bloom_low(void);\n#endif\n",
            "b/low.c": '#include "b/low.h"\n#define SIZE 1\n'
            "int bloom_low(void) { return SIZE; }\n",
            "top.c": '#include "b/low.h"\n'})
        self.assertEqual(text.count("int bloom_low(void);"), 1)
        self.assertRegex(text, r"(?s)return SIZE; }\n#undef SIZE\n.*#define SIZE 2\n.*\+ SIZE;")
        self.assertNotRegex(text, r'#include "b/')

    def test_the_filter_library_is_its_file_and_the_folders_that_it_needs(self):
        text = self.generate({
            "sqlite-bloom-filter.h": "int sqlite_bloom_twice(void);\n",
            "sqlite-bloom-filter.c": '#include "sqlite-bloom-filter.h"\n#include "b/two.h"\n'
            "int sqlite_bloom_twice(void) { return bloom_two(); }\n",
            "b/two.h": "int bloom_two(void);\n",
            "b/two.c": '#include "a/one.h"\n#include "b/two.h"\n'
            "int bloom_two(void) { return 2 * bloom_one; }\n",
            "a/one.h": "extern int bloom_one;\n",
            "a/one.c": '#include "a/one.h"\nint bloom_one = 1;\n',
            "c/sql.c": '#include "b/two.h"\nint bloom_sql(void) { return bloom_two(); }\n',
            "top.c": "int sqlite3_bloom_init(void) { return 0; }\n"})
        self.assertNotIn("sqlite_bloom_twice", text)
        self.assertIn("BLOOM_INTERNAL int bloom_sql(void)", text)
        text = (self.folder / "sqlite-bloom-filter.c").read_text()
        self.assertIn("\nint sqlite_bloom_twice(void) { return bloom_two(); }\n", text)
        self.assertIn("\nBLOOM_INTERNAL int bloom_one = 1;\n", text)
        self.assertNotIn("bloom_sql", text)
        self.assertNotIn("sqlite3_bloom_init", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
