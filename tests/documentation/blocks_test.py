#!/usr/bin/env python3
"""Every block of every Markdown file: who runs it, or why nobody can.

RUN says it for each file and language, and how many there are, so that a new block is run or
explained. Here the page of trouble is run, README's figures are computed or found in the results,
what pages type after make is looked up, as are links, and subqueries that read a filter without a
pin are found.
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
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^(?:|#.*)\n((?:(?: {4}|\t).*\n)+)", re.MULTILINE)
SKIPPED = {"build", ".git", "node_modules"}

# How many, and who reads them. A block marked text is what the one before it prints, or is read by
# the test named. Names are of files in tests/; words with a blank say why nothing runs it.
NEWCOMER = "documentation/newcomer_test.py"
EXAMPLES = "documentation/documentation_test.py"
FORMATS = "documentation/format_test.py"
HERE = "documentation/blocks_test.py"
PROGRAMS = "exchange/programs_test.py"
AMALGAMATION, COMPILED, NPM, PYTHON = (f"packages/{name}_test.py" for name in (
    "amalgamation", "compiled", "npm", "python"))
RUN = {
    "README.md": {"sql": (2, EXAMPLES), "text": (2, EXAMPLES), "sh": (2, NEWCOMER)},
    "ext/FORMAT.md": {"sql": (2, EXAMPLES), "text": (6, FORMATS)},
    "ext/FORMAT-layouts.md": {"sql": (7, EXAMPLES), "text": (17, FORMATS)},
    "ext/FORMAT-tables.md": {"sql": (1, FORMATS), "text": (1, FORMATS)},
    "ext/URLS.md": {"sql": (3, EXAMPLES), "text": (4, "documentation/urls_test.py")},
    "ext/packages/README.md": {"sh": (2, HERE), "c": (1, "build/build_test.py")},
    "ext/packages/amalgamation/README-filter.md": {"indented": (2, AMALGAMATION)},
    "ext/packages/amalgamation/README.md": {"indented": (3, AMALGAMATION)},
    "ext/packages/go/README.md": {"go": (2, COMPILED), "sh": (2, COMPILED), "sql": (1, COMPILED)},
    "ext/packages/java/README.md": {"java": (2, "packages/java_test.py"),
                                    "xml": (1, "names a repository that is not published yet")},
    "ext/packages/npm/README.md": {"js": (2, NPM), "": (2, NPM)},
    "ext/packages/python/README.md": {"python": (12, PYTHON),
                                      "": (1, "names a package that is not published yet")},
    "ext/packages/rust/README.md": {"rust": (1, COMPILED),
                                    "toml": (1, "names a crate that is not published yet")},
    "ext/packages/web/README.md": {"js": (2, "packages/web_test.py")},
    "sql/README.md": {"go": (1, PROGRAMS), "java": (3, PROGRAMS), "python": (3, PROGRAMS),
                      "sh": (6, PROGRAMS), "text": (6, PROGRAMS)},
    "sql/REFERENCE.md": {"sql": (38, EXAMPLES), "text": (38, EXAMPLES)},
    "sql/TROUBLE.md": {"sql": (33, HERE), "text": (38, HERE), "python": (5, HERE)},
    "tests/README.md": {"sh": (3, HERE)},
    "tests/clusters/README.md": {"sh": (3, "starts nodes, which clusters/engines.py does"),
                                 "sql": (1, "is a statement of clusters/clusters_test.py")}}
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
                by = found.setdefault(name, {})
                by[language] = by.get(language, 0) + 1
        self.assertEqual(found, {name: {language: count for language, (count, _) in by.items()}
                                 for name, by in RUN.items()})

    def test_who_runs_them_is_there_and_reads_them(self):
        for name, by in RUN.items():
            read = f'"{name}"'
            if (package := pathlib.Path(name).parent.name) in BUILT:
                read = BUILT[package]
            for language, (_, who) in by.items():
                if " " not in who:
                    with self.subTest(name=name, language=language):
                        text = (TOP / "tests" / who).read_text(encoding="utf-8")
                        self.assertTrue(read in re.sub(r'"""[^"]*"""|#.*', "", text))

    def test_what_is_printed_stands_right_behind_what_prints_it(self):
        for name in ("README.md", "ext/URLS.md", "sql/REFERENCE.md", "sql/README.md",
                     "sql/TROUBLE.md"):
            text = (TOP / name).read_text(encoding="utf-8")
            behind = len(re.findall(r"^```\n\n?```text$", text, re.MULTILINE))
            keys_of_urls = name == "ext/URLS.md"
            self.assertEqual(behind + keys_of_urls, RUN[name]["text"][0], name)

    def test_no_block_is_hidden(self):
        """No fence is left open, indented, of other signs or with other words behind it."""
        for name, text in pages():
            with self.subTest(name=name):
                self.assertNotRegex(BLOCK.sub("", text), r"(?m)^[ \t>*+\d.-]*(```|~~~)|<(pre|code)")

    def test_files_that_pages_link_to_are_there(self):
        seen = 0
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
                    seen += 1
        self.assertGreater(seen, 60)


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
        typed = 0
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
                        typed += 1
        self.assertGreater(typed, 40)


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
    """What README says in numbers is computed, or stands in tests/bench/results."""

    README = " ".join((TOP / "README.md").read_text(encoding="utf-8").split())

    @classmethod
    def setUpClass(cls):
        cls.connection = sqlite3.connect(":memory:")
        cls.connection.enable_load_extension(True)
        cls.connection.execute("SELECT load_extension(?)", [str(TOP / "bloom")])
        cls.addClassCleanup(cls.connection.close)

    def said(self, pattern):
        found = re.findall(pattern, self.README)
        self.assertEqual(len(found), 1, pattern)
        return found[0]

    def value(self, sql, *given):
        return self.connection.execute(sql, given).fetchone()[0]

    def measured(self, name, pattern):
        text = (TOP / "tests/bench/results" / name).read_text(encoding="utf-8")
        return [float(figure) for figure in re.findall(pattern, text)]

    def test_sizes(self):
        million = self.value("SELECT bloom_size(1000000)")
        self.assertEqual(self.said(r"a million take ([\d.]+) MB"), f"{million / 1e6:.2f}")
        for layout, one, tenth in re.findall(
                r"\| `(\w+)`[^|]*\|[^|]*\| ([\d.]+), ([\d.]+) \|", self.README):
            for p, bits in ((0.01, one), (0.001, tenth)):
                digits = len(bits.partition(".")[2])
                size = self.value("SELECT 8e-6 * bloom_size(1000000, ?, ?)", p, layout)
                self.assertEqual(bits, f"{size:.{digits}f}", (layout, p))
        for p in (0.01, 0.001, 1e-6):
            fuse, *others = (self.value("SELECT length(bloom_agg(value, NULL, ?, ?)) FROM "
                                        "json_each(?)", p, layout, json.dumps([*range(20000)]))
                             for layout in ("fuse", "blocked", "classic"))
            self.assertLess(fuse, min(others), "fuse, the smallest at 1 % and below")
        millions = int(self.said(r"10\^9 by default: (\d+) million keys"))
        self.assertLess(self.value("SELECT bloom_size(?)", millions * 10**6), 10**9)
        self.assertGreater(self.value("SELECT bloom_size(?)", (millions + 10) * 10**6), 10**9)

    def test_rates(self):
        once, twice = self.said(r"Filled to twice its n, a filter at (\d+) % errs about (\d+) %")
        rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
        for n, rate in ((100000, twice), (200000, once)):
            fpr = self.value(f"{rows} SELECT bloom_fpr(bloom_agg(i, ?)) FROM n", n)
            self.assertEqual(f"{100 * fpr:.0f}", rate)

    def test_second_opinions(self):
        """How many false positives of a filter at 0.1 % one at 1 % has, too."""
        least, most = map(int, self.said(
            r"of the false positives at 0.1 % the filter at 1 % has (\d+) to (\d+) % "
            r"\(`blocked`\) or all \(`fuse`\), too\."))
        rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        shares = []
        for layout, other in (("blocked", "blocked"), ("fuse", "fuse"),
                              ("blocked", f"salt={'5' * 32}")):
            strict, loose = (self.value(f"{rows} SELECT bloom_agg(i, NULL, ?, ?) FROM n", 100000,
                                        *options)
                             for options in ((0.001, layout), (0.01, other)))
            shares.append(100 * self.value(
                f"{rows} SELECT avg(bloom_check(?, -i)) FROM n WHERE bloom_check(?, -i)", 1000000,
                loose, strict))
        self.assertTrue(least <= round(shares[0]) <= most, shares)
        self.assertEqual(shares[1], 100)
        self.assertLess(shares[2], 3)

    def test_layers(self):
        second, least, most = map(int, self.said(
            r"(\d+) bits a key in the second layer, (\d) to (\d) more in each"))
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

    def test_limits(self):
        self.said("p at least 1e-9 (?:.{,20})more beyond some 10\\^9 keys")
        self.value("SELECT bloom_size(1000000000, 1e-9)")
        for sql, least in (("SELECT bloom_size(2000000000, 1e-9)", "1.04e-09"),
                           ("SELECT bloom_new(1, 9e-10)", "9.36e-10")):
            with self.assertRaisesRegex(sqlite3.OperationalError, least):
                self.value(sql)
        self.assertEqual(int(self.said(r"A URL has up to (\d+) keys")), self.value(
            "SELECT count(*) FROM bloom_url_keys('http://a.b.c.d.e.f.g/1/2/3/4/5/6/7?x')"))

    def test_the_list_of_the_demo(self):
        keys, length = self.said(r"with ([\d,]+) keys of (\d+) bytes at 0.01 %")
        text = (TOP / "sql/data/urlhaus.txt").read_text(encoding="utf-8")
        count, mean = self.connection.execute(
            "SELECT count(*), avg(length(key)) FROM (SELECT DISTINCT key FROM bloom_list(?) "
            "WHERE key NOT NULL)", [text]).fetchone()
        self.assertEqual((keys, length), (f"{count:,}", f"{mean:.0f}"))

    def test_speed_beside_an_index(self):
        million, size, scan, build = map(int, self.said(
            r"on (\d+) million URLs of 60 to 80 bytes, a filter at 1 % has 1/(\d+) of the size, a "
            r"scan that asks it takes 1/(\d+) of the time, building it 1/(\d+) "))
        for what, ratio in (("index / filter, bytes", size),
                            ("IN on the exact index / bloom_check", scan),
                            (r"CREATE UNIQUE INDEX / bloom_agg\(url, n\)", build)):
            measured, = self.measured("sql-3.40.1.md", rf"\| {what}, {million},000,000 URLs \|"
                                      r" at least \d+ \| ([\d.]+) \|")
            self.assertEqual(int(measured), ratio, what)
        least, most = self.said(r"a stored filter for every row: ([\d.]+) to ([\d.]+) ms at 12 MB")
        text = (TOP / "tests/bench/results/sql-3.40.1.md").read_text(encoding="utf-8")
        cases = re.findall(r"\(12\.4 MB\): (?:scalar subquery|join).*?\n((?:\| `.*\n)+)", text)
        copies = [int(figure.replace(",", "")) / 1e6
                  for case in cases for figure in re.findall(r"\| 200 \| ([\d,]+) \|", case)]
        self.assertEqual((len(cases), f"{min(copies):.1f}", f"{max(copies):.1f}"), (2, least, most))

    def test_many_rows(self):
        share, fast, slow, table = self.said(
            r"`'add_all'` takes 1/(\d+) of the time of INSERT ... SELECT \(a million URLs of 60 to"
            r" 80 bytes: ([\d.]+) s, ([\d.]+) s; into an ordinary table WITHOUT ROWID ([\d.]+) s\)")
        merge = self.said(r"`'merge'` of `bloom_agg\(url, n, p\)` into one .{,50} takes 1/(\d+)")
        rows = re.findall(r"^\| .*? \| ([\d,]+) \| ([\d.]+) \|$",
                          (TOP / "tests/bench/results/bulk.md").read_text(), re.MULTILINE)
        inserted, added, merged, ordinary = (int(row[0].replace(",", "")) for row in rows)
        self.assertEqual((fast, slow, table), (f"{added / 1e3:.2f}", f"{inserted / 1e3:.1f}",
                                               f"{ordinary / 1e3:.1f}"))
        self.assertEqual((int(share), int(merge)),
                         (int(inserted / added), round(inserted / merged)))


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
        blocks = BLOCK.findall(self.SECTIONS[heading])
        connection = self.open()
        connection.enable_load_extension(True)
        if not any(".load" in block for _, block in blocks):
            self.load(connection)
        all_printed, printed = [], []
        for (language, block), (following, wanted) in zip(blocks, [*blocks[1:], ("", "")]):
            if language == "text":
                continue
            if language == "sql":
                printed, connection = self.run_sql(connection, block)
            else:
                printed = self.run_python(block)
            wanted = re.sub(r"\n {2,}", " ", wanted) if following == "text" else ""
            with self.subTest(section=heading, block=block):
                self.assertEqual(printed, wanted.splitlines())
            all_printed += printed
        connection.close()
        return all_printed

    def test_each_section_prints_what_it_says(self):
        self.assertGreaterEqual(len(self.SECTIONS), 15)
        for heading in self.SECTIONS:
            self.setUp()
            self.run_section(heading)

    def test_each_message_in_a_heading_is_printed_below_it(self):
        """A heading is a message, or part of one, or begins with a capital and is none."""
        messages = 0
        for heading in self.SECTIONS:
            if heading[0].isupper() and not heading.startswith(("NOT NULL", "UPSERT")):
                continue
            self.setUp()
            with self.subTest(heading=heading), contextlib.redirect_stderr(io.StringIO()):
                said = "\n".join(self.run_section(heading))
                for part in heading.split(" ... "):
                    self.assertIn(part, said)
            messages += 1
        self.assertGreaterEqual(messages, 10)

    def test_the_readme_leads_here(self):
        self.assertTrue("(sql/TROUBLE.md)" in (TOP / "README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
