#!/usr/bin/env python3
"""Every fenced block of every Markdown file: who runs it, or why nobody can.

RUN says it for each file and language, so that a new block is run or explained. Here the page of
trouble is run, README's figures are computed or found in the results, `make` targets and links of
all pages are looked up, and what reads a stored filter for many rows without a pin is found.
"""
import contextlib
import io
import json
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
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SKIPPED = {"build", ".git", "node_modules"}

# A block marked text is what the one before it prints, or is read by the test named. Names are of
# files in tests/; words with a blank say why nothing runs it.
NEWCOMER = "documentation/newcomer_test.py"
EXAMPLES = "documentation/documentation_test.py"
HERE = "documentation/blocks_test.py"
RUN = {
    "README.md": {"sql": EXAMPLES, "text": EXAMPLES, "sh": NEWCOMER},
    "ext/FORMAT.md": {"sql": EXAMPLES, "text": "documentation/format_test.py"},
    "ext/FORMAT-layouts.md": {"sql": EXAMPLES, "text": "documentation/format_test.py"},
    "ext/FORMAT-tables.md": {"sql": "documentation/format_test.py",
                             "text": "a grammar, which format_test.py follows"},
    "ext/URLS.md": {"sql": EXAMPLES, "text": "documentation/urls_test.py"},
    "ext/packages/README.md": {"sh": HERE, "c": "build/build_test.py"},
    "ext/packages/go/README.md": {"go": "packages/compiled_test.py",
                                  "sh": "packages/compiled_test.py",
                                  "sql": "packages/compiled_test.py"},
    "ext/packages/java/README.md": {"java": "packages/java_test.py",
                                    "xml": "names a repository that is not published yet"},
    "ext/packages/npm/README.md": {"js": "packages/npm_test.py", "": "packages/npm_test.py"},
    "ext/packages/python/README.md": {"python": "packages/python_test.py",
                                      "": "names a package that is not published yet"},
    "ext/packages/rust/README.md": {"rust": "packages/compiled_test.py",
                                    "toml": "names a crate that is not published yet"},
    "ext/packages/web/README.md": {"js": "packages/web_test.py"},
    "sql/README.md": dict.fromkeys(("go", "java", "python", "sh", "text"),
                                   "exchange/programs_test.py"),
    "sql/REFERENCE.md": {"sql": EXAMPLES, "text": EXAMPLES},
    "sql/TROUBLE.md": {"sql": HERE, "text": HERE, "python": HERE},
    "tests/README.md": {"sh": HERE},
    "tests/clusters/README.md": {"sh": "commands for several machines, without ports of their own;"
                                       " clusters_test.py starts the same in engines.py",
                                 "sql": "a pattern; clusters_test.py runs it for a table"}}


def blocks(text):
    """Language and text of each block; `indented` is one that has four blanks and no fence."""
    yield from BLOCK.findall(text)
    for block in re.findall(r"\n\n((?:(?: {4}|\t).*\n)+)", BLOCK.sub("", text)):
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
        found = {name: {language for language, _ in BLOCK.findall(text)}
                 for name, text in pages() if BLOCK.search(text)}
        self.assertEqual(found, {name: set(by) for name, by in RUN.items()})

    def test_who_runs_them_is_there_and_reads_them(self):
        for name, by in RUN.items():
            for language, who in by.items():
                if " " in who:
                    continue
                with self.subTest(name=name, language=language):
                    text = (TOP / "tests" / who).read_text(encoding="utf-8")
                    self.assertTrue(re.match(r"\w+", pathlib.Path(name).stem)[0] in text)

    def test_no_fence_is_left_open(self):
        for name, text in pages():
            with self.subTest(name=name):
                self.assertNotIn("\n```", BLOCK.sub("", text))

    def test_make_targets_that_pages_name_are_there(self):
        rules = "".join((TOP / name).read_text() for name in
                        ("Makefile", "tests/rules.mk", "ext/packages/rules.mk"))
        made = set(re.findall(r"^([a-z][a-z ]*):(?!=)", rules, re.MULTILINE))
        made = {word for words in made for word in words.split()}
        rows = (TOP / "ext/packages/packages.py").read_text()
        seen = 0
        for name, text in pages():
            shell = "\n".join(block for language, block in BLOCK.findall(text) if language == "sh")
            named = re.findall(r"(?:^|&& )make ([a-z]+)\b", shell, re.MULTILINE)
            named += re.findall(r"`make ([a-z]+)\b", text)
            for target in named:
                with self.subTest(page=name, target=target):
                    self.assertTrue(target in made or f'"{target}"' in rows)
                    seen += 1
        self.assertGreater(seen, 20)

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


# SQL without blanks and remarks, one blank between tokens; a string in quotes is one token.
BLANK = r"(?:\s|--[^\n]*|/\*.*?\*/)*"
LITERAL = r"(?:x?'(?:[^']|'')*'|[:@$?]\w*|%s|\d[\w.]*(?:(?<=e)[+-]\d+)?|NULL\b)"
TOKEN = re.compile(rf"{BLANK}({LITERAL}|\w+|\S)", re.IGNORECASE | re.DOTALL)
CALL = re.compile(rf"\b(bloom_\w+)[\"`\]]?{BLANK}\(", re.IGNORECASE | re.DOTALL)
# What a query reads once for all its rows. A pin may name what is in its own table alone.
ONCE = r"\( SELECT \w+ FROM \w+ \)"
PIN = (rf"\( SELECT bloom_pin \( (?:\w+|bloom_union_agg \( \w+ \)|coalesce \( {ONCE} , bloom_new "
       rf"\( \d+ \) \)) \)(?: FROM \w+(?: WHERE \w+ (?:=|LIKE) (?:{LITERAL}|{ONCE}))?)? \)")
KEPT = rf"{PIN}|(?:bloom_(?:new|new_bits|import) \( )?{LITERAL}(?: , {LITERAL})*(?: \))?"
# What else is taken without a key: the filter of a row, and what was just made.
OWN = rf"{KEPT}|\w+(?: \. \w+)?|(?:\( SELECT )?bloom_\w+ \( .* \)"
ASKED = {"bloom_check", "bloom_count", "bloom_add", "bloom_remove"}  # filter, key
SHAPED = {"bloom_agg", "bloom_hashes"}  # key, filter
ALONE = {"bloom_count", "bloom_fpr", "bloom_info", "bloom_convert", "bloom_export", "bloom_union",
         "bloom_intersect"}
CONSTANT = re.compile(rf"{LITERAL}|\bAS \w+|(?!random)\b\w+(?= \()", re.IGNORECASE)


def arguments(text, at):
    """Of the call whose parenthesis opens before at."""
    depth, found = 0, [[]]
    for token in TOKEN.finditer(text, at):
        depth += (token[1] == "(") - (token[1] == ")")
        if depth < 0:
            break
        if depth == 0 and token[1] == ",":
            found.append([])
        else:
            found[-1].append(token[1])
    return [" ".join(tokens) for tokens in found]


def unpinned(text):
    """Calls that may take a filter from a table anew for each of many rows: of those whose key
    comes from a row all but the ones whose filter is surely read once, of others all but the ones
    that take their row's own filter."""
    for call in CALL.finditer(text):
        name, given = call[1].lower(), arguments(text, call.end())
        if name in ASKED | SHAPED and len(given) > 1:
            stored, key = given[:2] if name in ASKED else given[1::-1]
            stored = [stored] if re.search(r"\w", CONSTANT.sub("", key)) else []
            known = KEPT
        else:
            stored = given if name in ALONE | {"bloom_keys"} else []
            known = OWN if name in ALONE else KEPT
        if not all(re.fullmatch(known, one, re.IGNORECASE) for one in stored):
            yield f"{name}({', '.join(given)})"


def sql_of(name, text):
    """What may be SQL in a file: all of a script, of a page its blocks and the words in backquotes
    that are more than the form of a call."""
    if name.endswith(".md"):
        words = re.findall(r"`([^`]*\b(?:SELECT|FROM|WHERE|ON|SET)\b[^`]*)`", BLOCK.sub("", text))
        text = "\n".join([block for _, block in blocks(text)] + words)
    return text


# Few rows, or a filter for each of them.
NOT_PINNED = {}


class Pins(unittest.TestCase):
    maxDiff = None

    def test_what_is_found(self):
        for stored in ("(SELECT f FROM filters)", "( SELECT f FROM filters)", "f", "x.f", '"f"',
                       'x."f"', "[f]", "((SELECT f FROM filters))", "(SELECT\nf FROM filters)",
                       "coalesce((SELECT f FROM filters), bloom_new(1))", "+f", "CAST(f AS BLOB)",
                       "(WITH a AS (SELECT f FROM filters) SELECT f FROM a)", "(f)", "ifnull(f, 1)",
                       "(VALUES ((SELECT f FROM filters)))", "CASE WHEN 1 THEN f END", "f || x''",
                       "(SELECT bloom_pin(f) FROM filters WHERE name = visits.user)",
                       "(SELECT bloom_pin(f) FROM filters WHERE name = user)",
                       "(SELECT bloom_pin(f) FROM filters, b WHERE name = 'a' AND b.c = d)",
                       "(SELECT bloom_pin(f) FROM filters WHERE name = (SELECT user))",
                       "(SELECT bloom_pin(visits.f))", "bloom_pin(f)", "(SELECT bloom_pin(f), 1)",
                       "(SELECT f FROM filters /* bloom_pin(f) */)", "(SELECT f -- bloom_pin(\n)",
                       "bloom_union(f, f)", "bloom_import(readfile('a'))", "bloom_add(f, 1)"):
            for call in ("bloom_check(%s, url)", "bloom_add(%s, lower(url))", "bloom_remove(%s, a)",
                         "BLOOM_COUNT (%s, u.url)", "bloom_check(%s, 'a--b' || url)",
                         "bloom_agg(url, %s)", "bloom_hashes(b || 'a', %s)", "bloom_keys(%s)",
                         "bloom_check/* of */(%s, \"url\")", "bloom_check -- of\n (%s, [url])",
                         '"bloom_check"(%s, url)', "bloom_check(%s, random())"):
                sql = f"SELECT 'a--b', {call.replace('%s', stored)} FROM visits"
                self.assertTrue(list(unpinned(sql)), sql)
        for sql in ("bloom_fpr((SELECT f FROM filters))", "bloom_union(f, (SELECT f FROM a))",
                    "bloom_count((f))", "bloom_info(coalesce(f, 1))"):
            self.assertEqual(len(list(unpinned(f"SELECT {sql} FROM visits"))), 1, sql)
        for sql in ("SELECT bloom_check((SELECT bloom_pin(f) FROM filters), url) FROM visits",
                    "SELECT bloom_check( ( select bloom_pin( f )\n  FROM filters -- all\n "
                    "WHERE name = 'a--b' ), url) FROM visits",
                    "SELECT name FROM filters WHERE bloom_check(f, 'http://a.example/')",
                    "SELECT bloom_check((SELECT f FROM filters), :url)",
                    "SELECT bloom_check(f, upper('da39')), bloom_check(f, x'00') FROM filters",
                    "SELECT bloom_agg(key, 1000), bloom_agg(key, NULL, 1e-9), bloom_agg(a) FROM b",
                    "SELECT bloom_check(bloom_new(1, 1e-9), a), bloom_add(f, CAST(1 AS REAL))",
                    "SELECT bloom_fpr(f), bloom_union(a.f, b.f), bloom_count(bloom_agg(a)) FROM c",
                    "SELECT bloom_agg(key, NULL) FROM a", "SELECT bloom_check(?, key) FROM a"):
            self.assertEqual(list(unpinned(sql)), [], sql)

    def test_stored_filters_are_pinned_for_many_rows(self):
        scripts = [(f"sql/{path.name}", path.read_text(encoding="utf-8"))
                   for path in sorted((TOP / "sql").glob("*.s[qh]*"))]
        self.assertGreater(len(scripts), 15)
        found = {}
        for name, text in [*scripts, *pages()]:
            if name.startswith("tests/bench/results/"):  # the names of cases
                continue
            if calls := set(unpinned(sql_of(name, text))):
                found[name] = calls
        self.assertEqual(found, NOT_PINNED)


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
        millions = int(self.said(r"10\^9 by default: (\d+) million keys"))
        self.assertLess(self.value("SELECT bloom_size(?)", millions * 10**6), 10**9)
        self.assertGreater(self.value("SELECT bloom_size(?)", (millions + 10) * 10**6), 10**9)

    def test_rates(self):
        twice, once = self.said(r"twice its n answers falsely about (\d+) % instead of (\d+) %")
        rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
        for n, rate in ((100000, twice), (200000, once)):
            fpr = self.value(f"{rows} SELECT bloom_fpr(bloom_agg(i, ?)) FROM n", n)
            self.assertEqual(f"{100 * fpr:.0f}", rate)

    def test_second_opinions(self):
        """How many false positives of a filter at 0.1 % one at 1 % has, too."""
        told = self.said(r"of the false positives at 0.1 % the filter at 1 % has (\d+) % "
                         r"\(`blocked`\) or all \(`fuse`\), too\.")
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
        self.assertEqual((f"{shares[0]:.0f}", shares[1]), (told, 100))
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
        merge = self.said(r"`'merge'` of `bloom_agg\(url, n, p\)` takes 1/(\d+)")
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
