#!/usr/bin/env python3
"""Every block of every Markdown file: which test runs it, or why none can.

RUN names the test for each file and language, so that a block in a new place is run or explained.
This file runs sql/TROUBLE.md, computes the figures of README.md and sql/REFERENCE.md or finds them
in tests/bench/results, and checks the links, the make commands and the pins of all pages.

    blocks_test.py --update    write what the blocks of sql/TROUBLE.md print into the page
"""
import contextlib
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^(?:|#.*)\n((?:(?: {4}|\t).*\n)+)", re.MULTILINE)
SKIPPED = {"build", ".git", "node_modules"}

# A block marked text is what the one before it prints, or is read by the test named. Names are of
# files in tests/; words with a blank say why no test runs a block.
NEWCOMER = "documentation/newcomer_test.py"
EXAMPLES = "documentation/documentation_test.py"
FORMATS = "documentation/format_test.py"
HERE = "documentation/blocks_test.py"
PROGRAMS = "exchange/programs_test.py"
AMALGAMATION, COMPILED, NPM, PYTHON, RUBY, WEB = (f"packages/{name}_test.py" for name in (
    "amalgamation", "compiled", "npm", "python", "ruby", "web"))
RUN = {
    "CONTRIBUTING.md": {"sh": HERE},
    "README.md": {"sql": EXAMPLES, "text": EXAMPLES, "python": EXAMPLES, "sh": NEWCOMER},
    "ext/ARCHITECTURE.md": {"text": "a drawing"},
    "ext/FORMAT.md": {"sql": EXAMPLES, "text": FORMATS},
    "ext/FORMAT-layouts.md": {"sql": EXAMPLES, "text": FORMATS},
    "ext/FORMAT-tables.md": {"sql": FORMATS, "text": FORMATS},
    "ext/URLS.md": {"sql": EXAMPLES, "text": "documentation/urls_test.py"},
    "ext/packages/README.md": {"sh": HERE, "c": "build/build_test.py"},
    "ext/packages/amalgamation/README-filter.md": {"indented": AMALGAMATION},
    "ext/packages/amalgamation/README.md": {"indented": AMALGAMATION},
    "ext/packages/go/README.md": {"go": COMPILED, "sh": COMPILED, "sql": COMPILED},
    "ext/packages/java/README.md": {"java": "packages/java_test.py",
                                    "xml": "names a repository that is not published yet"},
    "ext/packages/npm/README.md": {"js": NPM, "": NPM},
    "ext/packages/python/README.md": {"python": PYTHON,
                                      "": "names a package that is not published yet"},
    "ext/packages/rust/README.md": {"rust": COMPILED,
                                    "toml": "names a crate that is not published yet"},
    "ext/packages/ruby/README.md": {"sh": "names a gem that is not published yet", "ruby": RUBY,
                                    "yaml": "is read by Rails"},
    "ext/packages/web/README.md": {"js": WEB, "c": WEB},
    "sql/README.md": {"go": PROGRAMS, "java": PROGRAMS, "python": PROGRAMS, "sh": PROGRAMS,
                      "text": PROGRAMS},
    "sql/REFERENCE.md": {"sql": EXAMPLES, "text": EXAMPLES},
    "sql/TROUBLE.md": {"sql": HERE, "text": HERE, "python": HERE},
    "tests/README.md": {"sh": HERE},
    "tests/clusters/README.md": {"sh": "starts nodes, which clusters/engines.py does",
                                 "sql": "is a statement of clusters/clusters_test.py"}}
# Pages that a package takes with it are read where its build puts them.
BUILT = {"amalgamation": 'self.sources / "README.md"', "go": 'go/module/README.md"',
         "java": 'java/README.md"', "npm": 'work/npm/sqlite-bloom/README.md"',
         "python": 'work/python/README.md"', "rust": 'sqlite-bloom-{RELEASE}/README.md"',
         "web": 'folder / "README.md"'}


def blocks(text):
    """Language and text of each block; `indented` is one that has four blanks and no fence."""
    yield from BLOCK.findall(text)
    for block in INDENTED.findall(BLOCK.sub("", text)):
        yield "indented", block


def pages():
    for folder, folders, names in os.walk(TOP):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            if name.endswith(".md"):
                path = pathlib.Path(folder, name)
                yield str(path.relative_to(TOP)), path.read_text(encoding="utf-8")


class Blocks(unittest.TestCase):
    maxDiff = None

    def test_each_is_run_or_it_is_said_why_not(self):
        found = {}
        for name, text in pages():
            for language, _ in blocks(text):
                found.setdefault(name, set()).add(language)
        self.assertEqual(found, {name: set(by) for name, by in RUN.items()})

    def test_who_runs_them_is_there_and_reads_them(self):
        for name, by in RUN.items():
            read = f'"{name}"'
            if (package := pathlib.Path(name).parent.name) in BUILT:
                read = BUILT[package]
            for language, who in by.items():
                if " " not in who:
                    with self.subTest(name=name, language=language):
                        text = (TOP / "tests" / who).read_text(encoding="utf-8")
                        self.assertTrue(read in re.sub(r'"""[^"]*"""|#.*', "", text))

    def test_what_is_printed_stands_right_behind_what_prints_it(self):
        for name in ("README.md", "sql/REFERENCE.md", "sql/README.md", "sql/TROUBLE.md"):
            text = (TOP / name).read_text(encoding="utf-8")
            self.assertNotRegex(text, r"(?m)^(?!```)[^\n]*\n+```text$", name)

    def test_no_block_is_hidden(self):
        """No fence is left open, indented, of other signs or with other words behind it."""
        for name, text in pages():
            with self.subTest(name=name):
                self.assertNotRegex(BLOCK.sub("", text), r"(?m)^[ \t>*+\d.-]*(```|~~~)|<(pre|code)")

    def test_files_that_pages_link_to_are_there(self):
        for name, text in pages():
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                file, _, heading = link.partition("#")
                if "://" in file or "@" in file:
                    continue
                with self.subTest(page=name, link=link):
                    target = (TOP / name).parent / file if file else TOP / name
                    self.assertTrue(target.exists())
                    if heading:
                        self.assertIn(heading, anchors(target.read_text(encoding="utf-8")))


def anchors(text):
    """What GitHub makes of headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


class Commands(unittest.TestCase):
    def test_what_pages_type_after_make_is_a_target_and_its_variables_are_read(self):
        rules = "".join((TOP / name).read_text(encoding="utf-8") for name in (
            "Makefile", "tests/rules.mk", "ext/packages/rules.mk"))
        targets = {word for words in re.findall(r"^\.PHONY: (.*)", rules, re.MULTILINE)
                   for word in words.split()}
        programs = rules + "".join(path.read_text(encoding="utf-8")
                                   for path in (TOP / "tests").rglob("*")
                                   if path.suffix in (".py", ".sh", ".c"))
        for name, text in pages():
            shells = [block for language, block in BLOCK.findall(text) if language == "sh"]
            for line in re.findall(r"(?m)^make\b(.*)", "\n".join(shells)) + re.findall(
                    r"`make\b([^`]*)`", BLOCK.sub("", text)):
                for word in shlex.split(line.partition(" #")[0].partition("&&")[0]):
                    variable, is_one, _ = word.partition("=")
                    with self.subTest(page=name, word=word):
                        if is_one:
                            self.assertRegex(
                                programs, rf'\$[({{]?{variable}\b|["\']{variable}["\']')
                        elif not word.startswith(("-", "build/")):
                            self.assertIn(word, targets)


class Pins(unittest.TestCase):
    def test_stored_filters_are_pinned(self):
        """A filter that a scalar subquery reads is copied for every row, unless it is pinned."""
        plain = re.compile(r"bloom_(?:check|count|add|remove)\(\s*\(SELECT\s+(?!bloom_pin)\w+\s"
                           r"+FROM", re.IGNORECASE)
        texts = {f"sql/{path.name}": path.read_text(encoding="utf-8")
                 for path in (TOP / "sql").glob("*.s[qh]*")} | dict(pages())
        found = {name: len(plain.findall(text)) for name, text in texts.items()
                 if not name.startswith("tests/")}
        # What goes wrong without a pin; constant keys; a filter for each row.
        self.assertEqual({name: count for name, count in found.items() if count},
                         {"sql/TROUBLE.md": 2, "sql/shards.sql": 1})


class Figures(unittest.TestCase):
    """Numbers of README.md and sql/REFERENCE.md are computed, or are in tests/bench/results."""

    README, REFERENCE = (" ".join((TOP / name).read_text(encoding="utf-8").split())
                         for name in ("README.md", "sql/REFERENCE.md"))

    @classmethod
    def setUpClass(cls):
        cls.connection = sqlite3.connect(":memory:")
        cls.connection.enable_load_extension(True)
        cls.connection.execute("SELECT load_extension(?)", [str(TOP / "bloom")])
        cls.addClassCleanup(cls.connection.close)

    def said(self, pattern, page=None):
        found = re.findall(pattern, page or self.REFERENCE)
        self.assertEqual(len(found), 1, pattern)
        return found[0]

    def value(self, sql, *given):
        return self.connection.execute(sql, given).fetchone()[0]

    def test_sizes(self):
        million = self.value("SELECT bloom_size(1000000)")
        self.assertEqual(self.said(r"here ([\d.]+) MB", self.README), f"{million / 1e6:.2f}")
        for layout, one, tenth in re.findall(
                r"\| `(\w+)` \|[^|]*\| ([\d.]+), ([\d.]+) \|", self.REFERENCE):
            for p, bits in ((0.01, one), (0.001, tenth)):
                size = self.value("SELECT 8e-6 * bloom_size(1000000, ?, ?)", p, layout)
                self.assertEqual(bits, f"{size:.1f}", (layout, p))
        least = int(self.said(r"the smallest from ([\d,]+) keys on").replace(",", ""))
        self.assertIn(f"the smallest from {least:,} keys on", self.README)
        for p in (0.01, 0.001, 1e-4):
            for n in [*range(least, least + 2000, 7), 10**5, 10**6, 10**8]:
                fuse, *others = (self.value("SELECT bloom_size(?, ?, ?)", n, p, layout)
                                 for layout in ("fuse", "blocked", "classic"))
                self.assertLess(fuse, min(others), (n, p))
        millions = int(self.said(r"which is (\d+) million keys at 1 %"))
        self.assertLess(self.value("SELECT bloom_size(?)", millions * 10**6), 10**9)
        self.assertGreater(self.value("SELECT bloom_size(?)", (millions + 10) * 10**6), 10**9)

    def test_rates(self):
        once, twice = self.said(
            r"With twice its n keys, a filter at (\d+) % reports about (\d+) %")
        rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
        for n, rate in ((100000, twice), (200000, once)):
            fpr = self.value(f"{rows} SELECT bloom_fpr(bloom_agg(i, ?)) FROM n", n)
            self.assertEqual(f"{100 * fpr:.0f}", rate)

    def test_second_opinions(self):
        """A `fuse` filter at 1 % confirms each mistake of one at 0.1 %, unless it has a salt."""
        rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        shares = []
        for salt in ("", f", salt={'5' * 32}"):
            strict, loose = (self.value(f"{rows} SELECT bloom_agg(i, NULL, ?, ?) FROM n", 100000,
                                        *options)
                             for options in ((0.001, "fuse"), (0.01, f"layout=fuse{salt}")))
            shares.append(100 * self.value(
                f"{rows} SELECT avg(bloom_check(?, -i)) FROM n WHERE bloom_check(?, -i)", 1000000,
                loose, strict))
        self.assertEqual(shares[0], 100)
        self.assertLess(shares[1], 3)

    def test_layers(self):
        first, second, least, most = map(int, self.said(
            r"the first layer takes (\d+) bits for each key of `capacity`. The second layer takes "
            r"(\d+) bits for each key of its own, and each further layer (\d) to (\d) more"))
        self.connection.execute("CREATE VIRTUAL TABLE grown USING bloom(capacity=1000, fpr=0.01)")
        self.connection.execute(
            "INSERT INTO grown(grown, key) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
            "FROM n WHERE i < 200000) SELECT 'add_all', bloom_hashes(i) FROM n")
        layers = json.loads(self.value("SELECT info FROM grown"))["layers"]
        bits = [layer["bits"] / layer["n"] for layer in layers[1:]]
        self.assertGreaterEqual(len(bits), 7)
        self.assertEqual(int(bits[0]), second)
        for one, next_one in zip(bits, bits[1:]):
            self.assertTrue(least - 0.1 < next_one - one < most, bits)
        self.connection.execute("CREATE VIRTUAL TABLE usual USING bloom")
        size = self.value("SELECT json_extract(info, '$.layers[0].bits') FROM usual")
        self.assertEqual(round(size / 1e6), first)

    def test_limits(self):
        self.said("p is at least 1e-9 for `blocked`, and more for over 10\\^9 keys")
        self.value("SELECT bloom_size(1000000000, 1e-9)")
        for sql, least in (("SELECT bloom_size(2000000000, 1e-9)", "1.04e-09"),
                           ("SELECT bloom_new(1, 9e-10)", "9.36e-10")):
            with self.assertRaisesRegex(sqlite3.OperationalError, least):
                self.value(sql)
        self.assertEqual(int(self.said(r"- A URL has up to (\d+) keys")), self.value(
            "SELECT count(*) FROM bloom_url_keys('http://a.b.c.d.e.f.g/1/2/3/4/5/6/7?x')"))

    def test_figures_of_the_results(self):
        """Each row of README's table has the numbers of a row of the results."""
        results = (TOP / "tests/bench/results/README.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| [^|]+ \| ([\d.,]+ \w+) \| ([\d.,]+ \w+) \| ([^|]+) \|$",
                          (TOP / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertGreaterEqual(len(rows), 4)
        for row in rows:
            self.assertIn(f"| {row[0]} | {row[1]} | {row[2].split(', ')[-1]}",
                          results.replace("IN, by the index", "by the index"))
        bulk = (TOP / "tests/bench/results/bulk.md").read_text(encoding="utf-8")
        measured = re.findall(r"\| ([\d,]+) \| [\d.]+ \|$", bulk, re.MULTILINE)
        table = self.said(r"\| way \| ns a row \|(.*?)\| 3,100 \|") + "| 3,100 |"
        self.assertEqual(re.findall(r" \| ([\d,]+) \|", table), measured)


class Trouble(unittest.TestCase):
    """Each section in an empty database, with the extension loaded, but where the section itself
    loads it. A row is printed as the shell does, an error behind `error: `; an indented line of
    what is printed goes on with the line before it."""

    PAGE = (TOP / "sql/TROUBLE.md").read_text(encoding="utf-8")
    SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name in ("bloom.so", "bloom.dylib", "bloom.dll"):
            if (TOP / name).exists():
                shutil.copy(TOP / name, self.folder.name)

    def open(self):
        return sqlite3.connect(pathlib.Path(self.folder.name, "trouble.db"), isolation_level=None)

    def load(self, connection):
        connection.enable_load_extension(True)
        connection.execute("SELECT load_extension(?)", [str(TOP / "bloom")])

    def run_sql(self, connection, block):
        """What the block prints, and the connection that it leaves."""
        printed, statement = [], ""
        for line in block.splitlines():
            statement += line + "\n"
            if statement == ".load ./bloom\n":
                self.load(connection)
            elif statement == ".connect\n":
                connection.close()
                connection = self.open()
            elif sqlite3.complete_statement(statement):
                try:
                    for row in connection.execute(statement):
                        printed.append("|".join(map(str, row)))
                except sqlite3.Error as error:
                    printed.append(f"error: {error}")
            else:
                continue
            statement = ""
        self.assertEqual(statement, "", "a statement without an end")
        return printed, connection

    def run_python(self, block):
        run = subprocess.run([sys.executable, "-c", block], cwd=self.folder.name, text=True,
                             capture_output=True, check=False)
        return (run.stdout + run.stderr).splitlines()

    def run_section(self, heading):
        """What each block prints: its text, the text that follows it, and the lines."""
        blocks = BLOCK.findall(self.SECTIONS[heading])
        connection = self.open()
        connection.enable_load_extension(True)
        if not any(".load" in block for _, block in blocks):
            self.load(connection)
        ran = []
        for (language, block), (following, wanted) in zip(blocks, [*blocks[1:], ("", "")]):
            if language == "text":
                continue
            if language == "sql":
                printed, connection = self.run_sql(connection, block)
            else:
                printed = self.run_python(block)
            ran.append((block, wanted if following == "text" else "", printed))
        connection.close()
        return ran

    def test_each_section_prints_what_it_says(self):
        for heading in self.SECTIONS:
            self.setUp()
            for block, wanted, printed in self.run_section(heading):
                with self.subTest(section=heading, block=block):
                    self.assertEqual(printed, re.sub(r"\n {2,}", " ", wanted).splitlines())

    def test_each_message_in_a_heading_is_printed_below_it(self):
        """A heading that begins with a capital letter is not a message, except these two."""
        for heading in self.SECTIONS:
            if heading[0].isupper() and not heading.startswith(("NOT NULL", "UPSERT")):
                continue
            self.setUp()
            with self.subTest(heading=heading), contextlib.redirect_stderr(io.StringIO()):
                said = "\n".join(line for *_, lines in self.run_section(heading) for line in lines)
                self.assertIn(heading, said)


def update():
    """Writes what the blocks of sql/TROUBLE.md print into the page, for example new messages."""
    page, trouble = Trouble.PAGE, Trouble()
    for heading, section in Trouble.SECTIONS.items():
        trouble.setUp()
        for block, wanted, printed in trouble.run_section(heading):
            lines = "".join(textwrap.fill(line, 100, subsequent_indent="  ", break_on_hyphens=False,
                                          break_long_words=False) + "\n" for line in printed)
            if wanted:
                changed = section.replace(f"{block}```\n```text\n{wanted}```",
                                          f"{block}```\n```text\n{lines}```")
                page, section = page.replace(section, changed), changed
    (TOP / "sql/TROUBLE.md").write_text(page, encoding="utf-8")
    trouble.doCleanups()


if __name__ == "__main__":
    if "--update" in sys.argv[1:]:
        update()
    else:
        unittest.main()
