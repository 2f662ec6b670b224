#!/usr/bin/env python3
"""The amalgamation compiles everywhere without a warning, behaves as the library, and cannot be
made of files that collide.
"""

import itertools
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import zipfile

from common import (BUILD, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOP, missing, release, run,
                    scripts)

FOLDER = BUILD / "amalgamation"
ZIP = FOLDER / f"sqlite-bloom-amalgamation-{RELEASE}.zip"
LIBRARY = f"sqlite-bloom-filter-amalgamation-{RELEASE}"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
STRICT = ["-Wconversion", "-Wshadow"]
# How a compiler looks for what it warns of: gcc finds some of it as it optimizes.
LOOKING = {"gcc": ["-O2", "-c"], "clang": ["-fsyntax-only"]}
GENERATOR = TOP / "ext/packages/amalgamation/amalgamate.py"


class Amalgamation(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        with zipfile.ZipFile(ZIP) as archive:
            archive.extractall(self.folder)
        self.sources = self.folder / f"sqlite-bloom-amalgamation-{RELEASE}"

    def test_the_zip_holds_two_sources_the_licence_and_how_to_build(self):
        self.assertEqual(sorted(path.name for path in self.sources.iterdir()),
                         ["LICENSE", "README.md", "sqlite-bloom.c", "sqlite-bloom.h"])

    def test_the_printed_command_builds_a_library_that_passes_every_script(self):
        readme = (self.sources / "README.md").read_text()
        command = re.search(r"^    (cc .*\\\n +sqlite-bloom\.c .*)$", readme, re.MULTILINE)[1]
        source = (self.sources / "sqlite-bloom.c").read_text()
        self.assertIn(re.sub(r"\\\s+", "", command), re.sub(r"\n \*\s+", " ", source))
        run("sh", "-c", command, cwd=self.sources)
        library = self.sources / "bloom.so"
        exported = run("nm", "-D", "--defined-only", library).split()
        self.assertEqual(exported[2::3], ["sqlite3_bloom_init"])
        self.assertRegex(scripts(library), r"^\d{4,} passed, 0 failed")

    def test_the_printed_commands_link_it_into_a_program(self):
        """In the README and in the header: the same, and nothing is missing at the link."""
        (self.sources / "program.c").write_text(
            '#include "sqlite-bloom.h"\n#include <stdio.h>\nint main(void) {\n'
            "    sqlite3 *database;\n    sqlite3_stmt *statement;\n"
            "    sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init);\n"
            '    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||\n'
            f'        sqlite3_prepare_v2(database, "{FINGERPRINT}", -1, &statement, 0) !='
            " SQLITE_OK ||\n        sqlite3_step(statement) != SQLITE_ROW)\n        return 1;\n"
            '    for (int i = 0; i < 3; i++)\n        printf("%d ", sqlite3_column_int(statement,'
            " i));\n    sqlite3_finalize(statement);\n    return sqlite3_close(database);\n}\n"
        )
        compiling, linking = re.search(
            r"^    (cc .*SQLITE_CORE.*)\n    (cc .*)$",
            (self.sources / "README.md").read_text(),
            re.MULTILINE,
        ).groups()
        self.assertIn(f" *     {compiling}\n *     {linking.replace('program.c', 'program.o')}\n",
                      (self.sources / "sqlite-bloom.h").read_text())
        run("sh", "-ec", f"{compiling}\n{linking}", cwd=self.sources)
        answer = tuple(map(int, run(self.sources / "program").split()))
        self.assertEqual(answer, FINGERPRINT_ANSWER)

    def test_a_program_gets_one_name(self):
        """With SQLite linked in and without, where its macros would define a pointer for all."""
        for embedded in ([], ["-DSQLITE_CORE"]):
            with self.subTest(embedded=embedded):
                run("gcc", "-std=c11", "-O0", *embedded, "-c", "sqlite-bloom.c", cwd=self.sources)
                names = run("nm", "-g", "--defined-only", "sqlite-bloom.o", cwd=self.sources)
                self.assertEqual(names.split()[1:], ["T", "sqlite3_bloom_init"])

    def test_gcc_and_clang_have_nothing_to_say(self):
        for compiler, embedded in itertools.product(LOOKING, ([], ["-DSQLITE_CORE"])):
            with self.subTest(compiler=compiler, embedded=embedded):
                if missing(compiler):
                    self.skipTest(missing(compiler))
                run(*(compiler, "-std=c11", *LOOKING[compiler], *WARNINGS, *STRICT, *embedded),
                    "sqlite-bloom.c", cwd=self.sources)

    def test_a_cpp_program_links_it_in(self):
        (self.sources / "main.cpp").write_text(
            '#include "sqlite-bloom.h"\n#include <cstdio>\nint main() {\n    sqlite3 *database;\n'
            "    sqlite3_stmt *statement;\n    sqlite3_auto_extension(reinterpret_cast<void"
            ' (*)()>(sqlite3_bloom_init));\n    if (sqlite3_open(":memory:", &database) !='
            f' SQLITE_OK) return 1;\n    if (sqlite3_prepare_v2(database, "{FINGERPRINT}", -1,'
            " &statement, nullptr) != SQLITE_OK) return 2;\n    if (sqlite3_step(statement) !="
            ' SQLITE_ROW) return 3;\n    for (int i = 0; i < 3; i++) std::printf("%d\\n",'
            " sqlite3_column_int(statement, i));\n    sqlite3_finalize(statement);\n    return"
            " sqlite3_close(database);\n}\n"
        )
        run("gcc", "-std=c11", "-O0", "-DSQLITE_CORE", "-c", "sqlite-bloom.c", cwd=self.sources)
        run("g++", "-std=c++11", "-Wall", "-Wextra", "-DSQLITE_CORE", "main.cpp", "sqlite-bloom.o",
            "-lsqlite3", "-o", "main", cwd=self.sources)
        self.assertEqual(tuple(map(int, run(self.sources / "main").split())), FINGERPRINT_ANSWER)

    def test_the_header_is_that_of_the_sources(self):
        self.assertEqual(
            (self.sources / "sqlite-bloom.h").read_text(), (TOP / "ext/sqlite-bloom.h").read_text()
        )

    def test_it_comes_out_the_same_every_time(self):
        before = ZIP.read_bytes()
        run("python3", GENERATOR, *release.amalgamate_options(), self.folder / "again")
        self.assertEqual((self.folder / "again" / ZIP.name).read_bytes(), before)


class FilterLibrary(unittest.TestCase):
    """The second amalgamation, which needs the C library alone."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        with zipfile.ZipFile(FOLDER / f"{LIBRARY}.zip") as archive:
            archive.extractall(self.folder)
        self.sources = self.folder / LIBRARY

    def compile(self):
        run("gcc", "-std=c11", "-O0", "-c", "sqlite-bloom-filter.c", cwd=self.sources)

    def test_the_zip_holds_sources_an_example_the_licence_and_how_to_build(self):
        self.assertEqual(
            sorted(path.name for path in self.sources.iterdir()),
            ["LICENSE", "README.md", "guard.c", "sqlite-bloom-filter.c", "sqlite-bloom-filter.h"],
        )
        self.assertEqual((self.sources / "sqlite-bloom-filter.h").read_text(),
                         (TOP / "ext/sqlite-bloom-filter.h").read_text())

    def test_gcc_and_clang_have_nothing_to_say(self):
        for compiler in LOOKING:
            with self.subTest(compiler=compiler):
                if missing(compiler):
                    self.skipTest(missing(compiler))
                run(*(compiler, "-std=c11", *LOOKING[compiler], *WARNINGS, *STRICT),
                    "sqlite-bloom-filter.c", cwd=self.sources)

    def test_a_program_gets_the_functions_of_the_header_and_needs_no_sqlite(self):
        self.compile()
        header = (self.sources / "sqlite-bloom-filter.h").read_text()
        declared = re.findall(r"^[a-z][\w *]*?\b(sqlite_bloom_\w+)\(", header, re.MULTILINE)
        self.assertGreater(len(declared), 20)
        names = run("nm", "-g", "--defined-only", "sqlite-bloom-filter.o", cwd=self.sources)
        self.assertEqual(names.split()[2::3], sorted(declared))
        self.assertNotIn("sqlite3", run("nm", "-u", "sqlite-bloom-filter.o", cwd=self.sources))

    def test_both_amalgamations_make_one_program(self):
        """And a program in C++ that asks in C what it made in SQL."""
        self.compile()
        for name in ("sqlite-bloom.c", "sqlite-bloom.h"):
            shutil.copy(FOLDER / name, self.sources)
        run("gcc", "-std=c11", "-O0", "-DSQLITE_CORE", "-c", "sqlite-bloom.c", cwd=self.sources)
        (self.sources / "main.cpp").write_text(
            '#include "sqlite-bloom-filter.h"\n#include "sqlite-bloom.h"\n#include <cstdio>\n'
            "int main() {\n    sqlite3 *database;\n    sqlite3_stmt *row;\n"
            "    sqlite_bloom_filter *filter;\n    char problem[SQLITE_BLOOM_PROBLEM_SIZE];\n"
            "    sqlite3_auto_extension(reinterpret_cast<void (*)()>(sqlite3_bloom_init));\n"
            '    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||\n'
            '        sqlite3_prepare_v2(database, "SELECT bloom_agg(value, NULL, 0.001) FROM'
            " json_each('[1, 2.5, \\\"x\\\"]')\", -1, &row, nullptr) != SQLITE_OK ||\n"
            "        sqlite3_step(row) != SQLITE_ROW ||\n"
            "        sqlite_bloom_filter_open(&filter, sqlite3_column_blob(row, 0),\n"
            "            static_cast<size_t>(sqlite3_column_bytes(row, 0)), nullptr, problem))\n"
            "        return 1;\n"
            '    std::printf("%d%d%d%d\\n",\n'
            "        sqlite_bloom_filter_check(filter, sqlite_bloom_integer_key(1)),\n"
            "        sqlite_bloom_filter_check(filter, sqlite_bloom_real_key(2.5)),\n"
            '        sqlite_bloom_filter_check(filter, sqlite_bloom_text_key("x", 1)),\n'
            "        sqlite_bloom_filter_check(filter, sqlite_bloom_integer_key(2)));\n"
            "    sqlite_bloom_filter_close(filter);\n    sqlite3_finalize(row);\n"
            "    return sqlite3_close(database);\n}\n"
        )
        run("g++", "-std=c++11", *WARNINGS, "-DSQLITE_CORE", "main.cpp", "sqlite-bloom.o",
            "sqlite-bloom-filter.o", "-lsqlite3", "-o", "main", cwd=self.sources)
        self.assertEqual(run(self.sources / "main"), "1110\n")

    def test_the_guard_asks_a_filter_that_lies_in_a_row(self):
        """By the commands of the README; the filter is made in SQL."""
        readme = (self.sources / "README.md").read_text()
        header = (self.sources / "sqlite-bloom-filter.h").read_text()
        compiling, linking, guard = re.findall(r"^    (cc .*)$", readme, re.MULTILINE)
        linking_objects = linking.replace("-I. ", "").replace("program.c", "program.o")
        self.assertIn(f" *     {compiling}\n *     {linking_objects}\n", header)
        self.assertIn(compiling, (self.sources / "sqlite-bloom-filter.c").read_text())
        (self.sources / "program.c").write_text(
            "#include <sqlite-bloom-filter.h>\nint main(void) {\n"
            "    return *sqlite_bloom_filter_version() == 0;\n}\n")
        run("sh", "-ec", f"{compiling}\n{linking}\n./program\n{guard} -Wall -Wextra -Werror",
            cwd=self.sources)
        run("sqlite3", "-batch", "-init", "/dev/null", "-cmd", f".load {TOP}/bloom",
            self.sources / "lists.db",
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
        told, status = self.guard("bad", "--measure")
        self.assertRegex(told, r"^1000000 requests, \d+ refused, \d+ ns each\n$")
        self.assertLess(int(told.split()[2]), 2000)
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


class Generator(unittest.TestCase):
    """What the generator does with sources that are not ours."""

    def generate(self, files, *options):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "LICENSE").write_text("free\n")
        for name, text in {"sqlite-bloom.h": "int sqlite3_bloom_init(void);\n", **files}.items():
            (folder / "ext" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "ext" / name).write_text(text)
        run("python3", GENERATOR, "--ext", folder / "ext", *options, folder / "out")
        self.out = folder / "out"
        return (self.out / "sqlite-bloom.c").read_text()

    def refused(self, files, *words):
        with self.assertRaises(AssertionError) as caught:
            self.generate(files)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertNotIn("Traceback", str(caught.exception))

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

    def test_everything_but_the_entry_point_becomes_static(self):
        text = self.generate(
            {
                "a/one.h": "static_assert(1, \"so\");\n_Static_assert(1, \"so\");\n"
                "extern const int bloom_numbers[];\nextern const struct pair bloom_pair;"
                "\nstruct pair { int x, y; };\nenum kind { A, B };\n#define FAST static inline\n"
                "unsigned bloom_twice(unsigned x);\nFAST int once(int x) { return x; }\n",
                "a/one.c": '#include "a/one.h"\nconst int bloom_numbers[] = {1, 2};\n'
                "const struct pair bloom_pair = {.x = 1};\nstatic int mine;\n"
                "unsigned bloom_twice(unsigned x) {\n    return 2 * x;\n}\n"
                "int (*const bloom_table[])(int) = {once};\nunion both { int x; } bloom_both;\n",
                "b/two.c": '#include "sqlite-bloom.h"\nSQLITE_EXTENSION_INIT3\n'
                "int sqlite3_bloom_init(void) { return 0; }\n",
                "b/three.c": "SQLITE_EXTENSION_INIT1\nint bloom_three;\n",
            }
        )
        for line in (
            "BLOOM_INTERNAL const struct pair bloom_pair;",
            "BLOOM_INTERNAL unsigned bloom_twice(unsigned x);",
            "BLOOM_INTERNAL unsigned bloom_twice(unsigned x) {",
            "BLOOM_INTERNAL const int bloom_numbers[] = {1, 2};",
            "BLOOM_INTERNAL int (*const bloom_table[])(int) = {once};",
            "BLOOM_INTERNAL union both { int x; } bloom_both;",
            "BLOOM_INTERNAL int bloom_three;",
            "struct pair { int x, y; };",
            "enum kind { A, B };",
            'static_assert(1, "so");',
            '_Static_assert(1, "so");',
            "static int mine;",
            "FAST int once(int x) { return x; }",
            "int sqlite3_bloom_init(void) { return 0; }",
        ):
            self.assertIn(f"\n{line}\n", text)
        self.assertNotIn("extern", text.partition("a/one.h")[2])
        self.assertNotIn("SQLITE_EXTENSION_INIT", text)
        self.assertEqual(text.count("static const sqlite3_api_routines *sqlite3_api;"), 1)

    def test_what_is_not_at_file_scope_does_not_collide(self):
        text = (
            "static int {0}(int y) {{ static int same = 1; enum {{ LOCAL = 3 }}; struct local {{"
            " int a; }} z = {{y}};\n  return same + LOCAL + z.a; }}\n"
        )
        self.generate(
            {
                "a/one.c": text.format("one"),
                "a/two.c": (
                    text.format("two") + '/* same */ const char *bloom_x = "static int one;";\n'
                ),
            }
        )

    def test_with_rename_members_comments_and_strings_stay(self):
        text = self.generate(
            {
                "a/one.c": (
                    "static int same(void) { return 1; }\nint bloom_one(void) { return same(); }\n"
                ),
                "a/two.c": (
                    "struct pair { int other; };\nstatic int same(const struct pair *p) { return"
                    " p->other; } /* same */\nint bloom_two(void) { struct pair p = {.other = 2};"
                    ' return same(&p) + (int)sizeof "same"; }\n'
                ),
            },
            "--rename",
        )
        self.assertIn("return a_one_same();", text)
        self.assertIn('a_two_same(&p) + (int)sizeof "same"', text)
        self.assertIn("/* same */", text)

    def test_macros_of_a_file_end_with_it(self):
        text = self.generate(
            {
                "a/one.c": "#define SIZE 1\nint bloom_one = SIZE;\n",
                "a/two.c": "#define SIZE 2\nint bloom_two = SIZE;\n",
            }
        )
        self.assertRegex(text, r"(?s)bloom_one = SIZE;\n#undef SIZE\n.*#define SIZE 2")

    def test_a_folder_stands_behind_those_that_it_includes_and_each_header_stands_once(self):
        text = self.generate(
            {
                "a/high.c": '#include "b/low.h"\nint bloom_high(void) { return bloom_low(); }\n',
                "b/low.h": "#ifndef L\n#define L\nint bloom_low(void);\n#endif\n",
                "b/low.c": '#include "b/low.h"\nint bloom_low(void) { return 1; }\n',
                "top.c": '#include "b/low.h"\n',
            }
        )
        self.assertEqual(text.count("int bloom_low(void);"), 1)
        self.assertLess(text.index("return 1;"), text.index("return bloom_low();"))
        self.assertNotRegex(text, r'#include "b/')

    def test_the_filter_library_is_its_file_and_the_folders_that_it_needs(self):
        text = self.generate(
            {
                "sqlite-bloom-filter.h": "int sqlite_bloom_twice(void);\n",
                "sqlite-bloom-filter.c": '#include "sqlite-bloom-filter.h"\n#include "b/two.h"\n'
                "int sqlite_bloom_twice(void) { return bloom_two(); }\n",
                "b/two.h": "int bloom_two(void);\n",
                "b/two.c": '#include "a/one.h"\n#include "b/two.h"\n'
                "int bloom_two(void) { return 2 * bloom_one; }\n",
                "a/one.h": "extern int bloom_one;\n",
                "a/one.c": '#include "a/one.h"\nint bloom_one = 1;\n',
                "c/sql.c": '#include "b/two.h"\nint bloom_sql(void) { return bloom_two(); }\n',
                "top.c": "int sqlite3_bloom_init(void) { return 0; }\n",
            }
        )
        self.assertNotIn("sqlite_bloom_twice", text)
        self.assertIn("BLOOM_INTERNAL int bloom_sql(void)", text)
        text = (self.out / "sqlite-bloom-filter.c").read_text()
        self.assertIn("\nint sqlite_bloom_twice(void) { return bloom_two(); }\n", text)
        self.assertIn("\nBLOOM_INTERNAL int bloom_one = 1;\n", text)
        self.assertNotIn("bloom_sql", text)
        self.assertNotIn("sqlite3_bloom_init", text)

    def test_circles_of_folders_and_conditional_headers_are_refused(self):
        self.refused(
            {
                "a/one.c": '#include "b/two.h"\n',
                "a/one.h": "",
                "b/two.h": "",
                "b/two.c": '#include "a/one.h"\n',
            },
            "in a circle",
        )
        self.refused(
            {"a/one.c": '#ifdef X\n#include "a/one.h"\n#endif\n', "a/one.h": "int x;\n"},
            "a/one.c:2",
            "under a condition",
        )


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
