#!/usr/bin/env python3
"""Runs the recipes of sql/ and compares what they print with their .out files; runs the demo.
(Which lists it can read: tests/sql/lists.test.)

    recipes_test.py             run the tests; those of SlowRecipes belong to make long
    recipes_test.py --update    write the .out files anew from what the recipes print, and sizes
                                into the table of sql/README.md; look at the difference before you
                                keep it

Everything runs in a copy of the tree, with an empty home.
"""

import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARIES = [TOP / name for name in ("bloom.so", "bloom.dylib", "bloom.dll")]
MAP = TOP / "sql" / "README.md"
RECIPES = sorted((TOP / "sql").glob("*.sql"))
UPDATE = "--update" in sys.argv
# In the table of sql/README.md: the recipe and the size of its filters.
ROW = re.compile(r"^(\|.*\]\((\w+)\.sql\).*?\|) ([^|]*) \|$", re.MULTILINE)
ROWS = {name: size for _, name, size in ROW.findall(MAP.read_text(encoding="utf-8"))}
# They take more than half a second, and belong to make long.
SLOW = {"crawler", "remove_duplicates", "decontaminate"}
# Above this line a recipe has what a user copies.
MADE_UP = "\n-- From here on the data is made up"


def filter_bytes(path):
    """All that is kept as filters in a database: values, and rows of filter tables."""
    database = sqlite3.connect(path)
    database.text_factory = bytes
    database.execute("PRAGMA writable_schema = on")  # temporary views of other databases
    size = 0
    for name, sql in database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"):
        name = name.decode()
        if sql is not None and sql.startswith(b"CREATE VIRTUAL TABLE"):
            rows = database.execute(f'SELECT data FROM "{name}_data"')
            size += sum(len(bits) for bits, in rows)
        else:
            size += sum(len(value) for row in database.execute(f'SELECT * FROM "{name}"')
                        for value in row
                        if isinstance(value, bytes) and value.startswith(b"\x89BLM"))
    database.close()
    return size


def read_by(text):
    """The files with made-up tables that a recipe reads."""
    return [TOP / name for name in re.findall(r"^\.read (.*)$", text, re.MULTILINE)]


def in_words(size):
    """Two digits, so that a row's header more or less changes nothing."""
    if size < 1000:
        return f"{size} bytes"
    digits = len(str(size)) - 2
    return f"{round(size, -digits) / 1000:g} kB"


class InCopy(unittest.TestCase):
    """A copy of what a user runs: the extension and sql/, in a folder of its own beside an empty
    home and a temporary folder, whose name is a strange one."""

    def setUp(self):
        self.base = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.base)
        self.top, self.home = self.base / "top", self.base / "home"
        self.temporary = self.base / "temporary 'quoted\" $name"
        for folder in (self.top, self.home, self.temporary):
            folder.mkdir()
        shutil.copytree(TOP / "sql", self.top / "sql")
        for library in filter(pathlib.Path.exists, LIBRARIES):
            shutil.copy(library, self.top)

    def files(self):
        return sorted((str(path.relative_to(self.base)), path.stat().st_size)
                      for path in self.base.rglob("*") if path.is_file())

    def run_in_copy(self, command, script="", **variables):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("URLS", "VISITS", "SQLITE3")}
        environment |= {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home),
                        "TMPDIR": str(self.temporary)} | variables
        return subprocess.run(command, input=script, cwd=self.top, env=environment,
                              capture_output=True, text=True, errors="surrogateescape",
                              check=False, timeout=300)


class EachRecipe(InCopy):
    def check(self, recipe):
        """It prints what is in its .out file, in lines that newer shells align otherwise; it leaves
        filters of the size that the table says, and no file behind."""
        text = recipe.read_text(encoding="utf-8")
        data = "".join(path.read_text(encoding="utf-8") for path in read_by(text))
        databases = ["main", "temp", *re.findall(r"^ATTACH .* AS (\w+);", data, re.MULTILINE)]
        before = self.files()
        with tempfile.TemporaryDirectory() as folder:
            text += "".join(f".backup {each} {folder}/{each}\n" for each in databases)
            run = self.run_in_copy(["sqlite3"], text)
            self.assertEqual((run.stderr, run.returncode), ("", 0))
            size = in_words(sum(filter_bytes(f"{folder}/{each}") for each in databases))
        self.assertEqual(self.files(), before)
        if UPDATE:
            recipe.with_suffix(".out").write_text(run.stdout, encoding="utf-8")
            MAP.write_text(ROW.sub(
                lambda row: f"{row[1]} {size} |" if row[2] == recipe.stem
                else row[0], MAP.read_text(encoding="utf-8")), encoding="utf-8")
            return
        self.assertEqual(ROWS[recipe.stem], size, "in the table of sql/README.md")
        wanted = recipe.with_suffix(".out").read_text(encoding="utf-8")
        wanted, got = ([line.split() for line in printed.splitlines()]
                       for printed in (wanted, run.stdout))
        self.assertEqual(got, wanted)


class Recipes(EachRecipe):
    def test_the_table_has_each_recipe_once(self):
        self.assertGreaterEqual(len(RECIPES), 6)
        names = [path.stem for path in RECIPES]
        self.assertEqual(sorted(path.stem for path in (TOP / "sql").glob("*.out")), names)
        self.assertEqual(sorted(name for _, name, _ in ROW.findall(MAP.read_text())), names)
        for recipe in RECIPES:
            self.assertIn(f"sqlite3 < sql/{recipe.name}", recipe.read_text(encoding="utf-8"))

    def test_the_lines_to_copy_come_first(self):
        """Above MADE_UP nothing is made up: what these lines need is read from sql/data. A recipe
        that reads all its data has no such line."""
        read = []
        for recipe in RECIPES:
            with self.subTest(recipe.stem):
                text = recipe.read_text(encoding="utf-8")
                self.assertEqual(text.lower().count("from here on"), text.count(MADE_UP))
                first, *made_up = text.split(MADE_UP)
                code = re.sub(r"^ *--.*| --[ ].*", "", first, flags=re.MULTILINE)
                self.assertNotRegex(code, "(?i)generate_series|[.]example|:memory:")
                self.assertRegex(code, r"bloom_(agg|list_agg|import|new)\(|USING bloom\(")
                self.assertLessEqual(len(made_up), 1)
                if not made_up:
                    self.assertIn("sql/data/", code)
                self.assertNotIn("\n.read ", "".join(made_up))
                for path in read_by(text):
                    self.assertIn(f"-- Made up for sql/{recipe.name}: ",
                                  path.read_text(encoding="utf-8"))
                    read.append(path)
        self.assertEqual(sorted(read), sorted((TOP / "sql/data").glob("*.sql")))

    def test_a_recipe_without_the_extension_stops_at_once(self):
        for library in LIBRARIES:
            (self.top / library.name).unlink(missing_ok=True)
        run = self.run_in_copy(["sqlite3"], RECIPES[0].read_text(encoding="utf-8"))
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(run.stdout, "")


class SlowRecipes(EachRecipe):
    """Those that take more than half a second."""


for each in RECIPES:
    setattr(SlowRecipes if each.stem in SLOW else Recipes, f"test_{each.stem}",
            lambda self, recipe=each: self.check(recipe))


class RunsDemo(InCopy):
    def demo(self, **variables):
        return self.run_in_copy([shutil.which("sh"), "sql/demo.sh"], TZ="UTC", **variables)

    def write(self, content, name="list.txt"):
        path = self.base / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return str(path)

    def refused(self, message, **variables):
        with self.subTest(message):
            run = self.demo(**({"VISITS": "1000"} | variables))
            self.assertEqual((run.stdout, run.returncode), ("", 1))
            self.assertRegex(run.stderr, f"^demo: {message}\n$")
            self.assertEqual(os.listdir(self.temporary), [])


class Demo(RunsDemo):
    LINE = re.compile(r"^ +(.+?) {2,}([\d,.]+)( \S+)?$")

    def figures(self, visits=20_000, **variables):
        """What it prints, and the figures by what stands before them, which agree with each
        other."""
        before = self.files()
        run = self.demo(VISITS=str(visits), **variables)
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        self.assertEqual(self.files(), before)
        self.assertEqual(os.listdir(self.temporary), [])
        figures = {match[1]: float(match[2].replace(",", ""))
                   for match in map(self.LINE.match, run.stdout.splitlines()) if match}
        self.assertEqual(figures["all visits that the filter finds"],
                         figures["confirmed by the exact list"] + figures["false positives"])
        self.assertEqual(figures["missed by the filter"], 0)
        self.assertEqual(figures["visits"], visits)
        self.assertEqual(figures["visits to an entry of the list"], visits // 20)
        self.assertEqual(figures["found by the filter"], visits // 20)
        self.assertGreaterEqual(figures["confirmed by the exact list"], visits // 20)
        self.assertLess(figures["confirmed by the exact list"], 0.12 * visits)
        # Each key of a visit may be found by mistake, and a key of many visits for all of them.
        expected = figures["expected false positives, for one key"] / 100
        expected *= visits * figures["keys of a visit, on average"]
        self.assertLessEqual(figures["false positives"], 200 + 2 * expected)
        return figures, run.stdout

    def test_the_list_of_the_project(self):
        figures, printed = self.figures(visits=200_000)
        self.assertEqual(printed.splitlines()[0], "The list: sql/data/urlhaus.txt")
        self.assertEqual(figures["a URL or name"], 2908)
        self.assertEqual(figures["Adblock rule, options ignored"], 3346)
        self.assertEqual(figures["no entry: a remark, or blank"], 6)
        self.assertEqual(figures["distinct keys"], 6239)
        self.assertEqual(figures["spelt exactly as in the list"], 0)
        self.assertEqual(figures["confirmed by the exact list"], 10_000)
        self.assertGreater(figures["false positives"], 100)
        self.assertRegex(printed, r"\n  size +17,280 +393,216 bytes\n")
        mistakes = figures["false positives"]
        self.assertRegex(printed, rf"""
10,000 of 10,000 visits to an entry found, none missed.
{mistakes:.0f} of 190,000 other visits flagged by mistake, {mistakes / 1900:.2f} %.
The filter is 22.8 times smaller than the index, and [\d.]+ times as fast.
""")
        for step in ("read the list", "build", "check all visits", "confirm what was found"):
            self.assertRegex(printed, rf"\n  time to {step}  .* ms\n")
        self.assertEqual(self.figures(URLS="")[0]["a URL or name"], 2908)
        # Visits that visits.awk made to an entry, and one to a look-alike.
        made = self.run_in_copy(["awk", "-f", "sql/visits.awk", "-v", "harmless=190000", "-v",
                                 "listed=10000", "sql/data/urlhaus.txt"], LC_ALL="C").stdout
        shown = printed[printed.index("Some visits"):printed.index("\nThe visits:")]
        visits = re.findall(r"\n  ([\w -]+): +(\S+)(?:\n +(\S+)  \((\S+)\))?", shown)
        self.assertEqual(sorted(words for words, *_ in visits), [
            "after a user name", "in capitals", "look-alike", "with backslashes"])
        published = (TOP / "sql/data/urlhaus.txt").read_text(encoding="utf-8").splitlines()
        for words, url, entry, name in visits:
            listed = words != "look-alike"
            self.assertIn(f"\n{int(listed)}\x1f{url}\n", f"\n{made}")
            if listed:
                self.assertEqual(name, "sql/data/urlhaus.txt")
                self.assertIn(entry, published)
                host = re.match(r"[|]*([^/^]+)", entry)[1]
                self.assertIn(host, url.lower().replace("\\", "/"))

    def test_what_is_shown_of_little(self):
        run = self.demo(URLS=self.write(b"a.example\n"), VISITS="20")
        self.assertIn("another way:\n  in capitals:       HTTP://A.EXAMPLE/\n", run.stdout)
        run = self.demo(URLS=self.write(b"||www.example^\n"), VISITS="400")
        self.assertNotIn("look-alike:", run.stdout)
        run = self.demo(URLS=self.write(b"http://A.example/\n"), VISITS="1")
        self.assertNotIn("went to an entry.", run.stdout)

    def test_other_names_and_addresses(self):
        for name in ("url", "urls", "visit", "visits", "sqlite3", "URL", "VISIT"):
            run = subprocess.run(["make", "demo", f"{name}=hosts.txt"], cwd=TOP,
                                 capture_output=True, text=True, check=False)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(f"demo: there is no {name}=. Write URLS=, VISITS= or SQLITE3=, for "
                          "example make demo URLS=hosts.txt VISITS=History", run.stderr)
        address = "https://lists.example/it.txt"
        for name, file in (("URLS", "list.txt"), ("VISITS", "visits.txt")):
            self.refused(f"'{address}' is an address. Download it first: curl -Lo {file} "
                         f"'{address}'. Then {name}={file}", **{name: address})

    def test_other_lists(self):
        path = self.write(b"a.example\n", "it's a \"list\" of $URLs; `one`\\n.txt")
        figures, printed = self.figures(URLS=path)
        self.assertEqual(printed.splitlines()[0], f"The list: {path}")
        self.assertEqual(figures["distinct keys"], 1)
        run = self.run_in_copy(["sh", "sql/demo.sh", path], VISITS="1000")
        self.assertEqual((run.stdout.splitlines()[0], run.returncode), (f"The list: {path}", 0))
        # A rule with a condition blocks no visit.
        path = self.write(b"||a.example^\n||b.example^$domain=c.example|d.example\n"
                          b"||e.example^$document\n||f.example^$script,1p\n")
        figures, _ = self.figures(URLS=path)
        self.assertEqual(figures["no entry: a rule with a condition"], 2)
        self.assertEqual(figures["distinct keys"], 2)
        # Harmless visits on the list, except the look-alike, are not false positives.
        run = self.demo(URLS=self.write(b"shop0.example\n"), VISITS="20")
        self.assertRegex(run.stdout, r"confirmed by the exact list +19\n")
        self.assertRegex(run.stdout, r"false positives +0\n")
        self.assertRegex(run.stdout, r"\n  visits to an entry of the list +1\n")

    def test_lists_and_numbers_that_it_refuses(self):
        for content, why in (
            (b"", ""), (b"\r\n\r\n", ""), (b"# only\n# comments", ""), (b"\xef\xbb\xbf", ""),
            (b"a b\nme@mail.example\nyou@mail.example\n", r" \(2 x no entry: a mail address\)"),
            (b"||a.example^$domain=b.example", r" \(1 x no entry: a rule with a condition\)"),
        ):
            path = self.write(content)
            self.refused(f"'{path}' has no entry{why}. It should have URLs or domains, one on "
                         "each line or in any form of a list", URLS=path)
        path = self.write(b"http://a.example/#part\n")
        self.refused("visits.awk could not make visits, because it knows no form of the entries in "
                     f"'{path}'", URLS=path)
        path = str(self.base / "it's missing.txt")
        self.refused(f"there is no file '{path}'. Name a list with URLS=path", URLS=path)
        path = str(self.home)
        self.refused(f"there is no file in the folder '{path}'. Name a list with URLS=path",
                     URLS=path)

    def test_what_it_cannot_do_without(self):
        tools, stand_in = self.base / "tools", self.base / "stand_in"
        tools.mkdir()
        for tool in ("dirname", "mktemp", "rm", "sed", "tr"):
            (tools / tool).symlink_to(shutil.which(tool))
        self.refused(r"there is no 'sqlite3'. Install the sqlite3 shell \(on Debian: apt install "
                     r"sqlite3\) or name one with SQLITE3=path", PATH=str(tools), SQLITE3="")
        stand_in.write_text("#!/bin/sh\necho 'Error: unknown command or invalid arguments:  "
                            "\"load\". Enter \".help\" for help' >&2; exit 1\n")
        stand_in.chmod(0o755)
        self.refused("this sqlite3 shell was built without the loading of extensions. Name another "
                     "one with SQLITE3=path", SQLITE3=str(stand_in))
        for library in LIBRARIES:
            (self.top / library.name).write_text("not a library", encoding="utf-8")
        self.refused("the extension does not load: Error: .*")
        for library in LIBRARIES:
            (self.top / library.name).unlink(missing_ok=True)
        self.refused("the extension is not built yet. Run make first")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "Recipes", "SlowRecipes"] if UPDATE else None)
