#!/usr/bin/env python3
"""The one reader of the pages: each block of every Markdown file is run, or it is said why not.

RUN names the test for each file and language, so that a block in a new place is run or explained.
Here run the blocks marked `sql` and `text` of README.md, sql/*.md except sql/README.md, and
ext/*.md. Here, too, the functions, options, commands and fields of sql/REFERENCE.md are compared
with those that exist, and figures with what is computed, or with tests/bench/results. Links and
make commands of all pages must lead somewhere.
"""
import contextlib
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
from xml.etree import ElementTree

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^(?:|#.*)\n((?:(?: {4}|\t)(?!- ).*\n)+)", re.MULTILINE)
SKIPPED = {"build", ".git", "node_modules", "target"}
SEPARATOR = "-- next example --"
SVG = "{http://www.w3.org/2000/svg}"

# A block marked text is what the one before it prints, or is read by the test named. Names are of
# files in tests/; words with a blank say why no test runs a block.
HERE = "documentation/documentation_test.py"
FORMATS = "documentation/format_test.py"
PROGRAMS = "exchange/programs_test.py"
NEWCOMER = "documentation/newcomer_test.py"
PACKAGES = "packages/"
HOSTS = "hosts/hosts_test.py"
RUN = {
    "CONTRIBUTING.md": {"sh": HERE},
    "README.md": {"sql": HERE, "text": HERE, "python": HERE, "sh": NEWCOMER},
    "ext/ARCHITECTURE.md": {"text": "a drawing"},
    "ext/FORMAT.md": {"sql": HERE, "text": FORMATS},
    "ext/packages/PLATFORMS.md": {
        "c": PACKAGES, "sh": "needs the NDK", "kotlin": "needs Android",
        "swift": "needs Xcode", "dart": "needs Flutter", "tsx": "needs React Native",
        "csharp": "needs .NET"},
    "ext/packages/ORMS.md": {"sql": HOSTS, "js": HOSTS, "python": HOSTS, "sh": HOSTS,
                             "rust": HOSTS},
    "ext/FORMAT-layouts.md": {"sql": HERE, "text": FORMATS},
    "ext/FORMAT-tables.md": {"sql": FORMATS},
    "ext/URLS.md": {"sql": HERE, "text": "documentation/urls_test.py"},
    "ext/packages/README.md": {"sh": HERE, "c": "build/build_test.py", "cmake": PACKAGES},
    "ext/packages/amalgamation/README-filter.md": {"indented": PACKAGES},
    "ext/packages/amalgamation/README.md": {"indented": PACKAGES},
    "ext/packages/go/README.md": {"go": PACKAGES, "sh": PACKAGES},
    "ext/packages/java/README.md": {"java": PACKAGES, "sh": PACKAGES, "xml": PACKAGES},
    "ext/packages/npm/README.md": {"js": PACKAGES, "sh": PACKAGES, "": PACKAGES},
    "ext/packages/python/README.md": {"python": PACKAGES, "sh": PACKAGES},
    "ext/packages/rust/README.md": {"rust": PACKAGES, "sh": PACKAGES},
    "ext/packages/ruby/README.md": {"ruby": PACKAGES, "yaml": "is read by Rails"},
    "ext/packages/web/README.md": {"js": PACKAGES, "c": PACKAGES, "sh": PACKAGES},
    "sql/EXPLAINED.md": {"sql": HERE, "text": HERE},
    "sql/QUESTIONS.md": {"sql": HERE, "text": HERE},
    "sql/README.md": {"go": PROGRAMS, "java": PROGRAMS, "python": PROGRAMS, "sh": PROGRAMS,
                      "text": PROGRAMS},
    "sql/REFERENCE.md": {"sql": HERE, "text": HERE, "indented": HERE},
    "sql/SCALE.md": {"sql": HERE, "python": "needs Spark, and files that it wrote"},
    "sql/TROUBLE.md": {"sql": HERE, "text": HERE, "python": HERE},
    "tests/README.md": {"sh": HERE},
    "tests/bench/results/billion.md": {"sql": "takes five minutes",
                                       "text": "takes five minutes"},
    "tests/clusters/README.md": {"sql": "is a statement of clusters/clusters_test.py"}}


def page(name):
    return (TOP / name).read_text(encoding="utf-8")


def pages():
    for folder, folders, names in os.walk(TOP):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            if name.endswith(".md"):
                path = str(pathlib.Path(folder, name).relative_to(TOP))
                yield path, page(path)


def examples(text):
    """Language and text of each block but those marked text, and what is printed right below."""
    blocks = BLOCK.findall(text)
    for (language, block), (following, printed) in zip(blocks, [*blocks[1:], ("", "")]):
        if language != "text":
            yield language, block, printed if following == "text" else ""


def connect(path=":memory:", load=True):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.enable_load_extension(True)
    if load:
        connection.execute("SELECT load_extension(?)", [str(TOP / "bloom")])
    return connection


def run_python(program, folder):
    """What a program prints beside the extension."""
    for library in TOP.glob("bloom.*"):
        shutil.copy(library, folder)
    run = subprocess.run([sys.executable, "-c", program], cwd=folder, text=True,
                         capture_output=True, check=False)
    return run.stdout + run.stderr


class Blocks(unittest.TestCase):
    maxDiff = None

    def test_each_is_run_or_it_is_said_why_not(self):
        found = {}
        for name, text in pages():
            languages = {language for language, _ in BLOCK.findall(text)}
            if INDENTED.search(BLOCK.sub("", text)):
                languages.add("indented")
            if languages:
                found[name] = languages
        self.assertEqual(found, {name: set(by) for name, by in RUN.items()})
        for who in {who for by in RUN.values() for who in by.values() if " " not in who}:
            self.assertTrue((TOP / "tests" / who).exists(), who)

    def test_no_block_is_hidden(self):
        """No fence is left open, indented, of other signs or with other words behind it; what is
        printed stands right behind what prints it."""
        for name, text in pages():
            with self.subTest(name=name):
                self.assertNotRegex(BLOCK.sub("", text), r"(?m)^[ \t>*+\d.-]*(```|~~~)|<(pre|code)")
                if not name.startswith("ext/"):
                    self.assertNotRegex(text, r"(?m)^(?!```)[^\n]*\n+```text$")

    def test_what_pages_link_to_is_there(self):
        for name, text in pages():
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                file, _, heading = link.partition("#")
                if "://" in file or "@" in file:
                    continue
                with self.subTest(page=name, link=link):
                    target = (TOP / name).parent / file if file else TOP / name
                    self.assertTrue(target.exists())
                    if heading:  # as GitHub makes it of the words
                        headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
                        self.assertIn(heading, {re.sub(r"[^\w\- ]", "", words.lower())
                                                .replace(" ", "-") for words in headings})

    def test_what_pages_type_after_make_is_a_target_and_its_variables_are_read(self):
        rules = "".join(map(page, ("Makefile", "tests/rules.mk", "ext/packages/rules.mk")))
        targets = set(" ".join(re.findall(r"^\.PHONY: (.*)", rules, re.MULTILINE)).split())
        programs = rules + "".join(path.read_text(encoding="utf-8")
                                   for path in (TOP / "tests").rglob("*")
                                   if path.suffix in (".py", ".sh", ".c"))
        for name, text in pages():
            shells = "".join(block for language, block in BLOCK.findall(text) if language == "sh")
            for line in re.findall(r"(?m)^make\b(.*)", shells) + re.findall(
                    r"`make\b([^`]*)`", BLOCK.sub("", text)):
                for word in shlex.split(line.partition(" #")[0].partition("&&")[0]):
                    variable, is_one, _ = word.partition("=")
                    with self.subTest(page=name, word=word):
                        if is_one:
                            self.assertRegex(
                                programs, rf'\$[({{]?{variable}\b|["\']{variable}["\']')
                        elif not word.startswith(("-", "build/")):
                            self.assertIn(word, targets)

    def test_stored_filters_are_pinned(self):
        """A filter that a scalar subquery reads is copied for every row, unless it is pinned."""
        plain = re.compile(r"bloom_(?:check|count|add|remove)\(\s*\(SELECT\s+(?!bloom_pin)\w+\s"
                           r"+FROM", re.IGNORECASE)
        texts = {f"sql/{path.name}": path.read_text(encoding="utf-8")
                 for path in (TOP / "sql").glob("*.s[qh]*")} | dict(pages())
        found = {name: len(plain.findall(text)) for name, text in texts.items()}
        # What goes wrong without a pin.
        self.assertEqual({name: count for name, count in found.items() if count},
                         {"sql/TROUBLE.md": 2})


class Pictures(unittest.TestCase):
    def test_each_is_shown_and_has_words_and_colours_for_the_dark(self):
        shown = {(TOP / name).parent.joinpath(link).resolve() for name, text in pages()
                 for link in re.findall(r"!\[[^\]]+\]\((\S+\.svg)\)", text)}
        drawn = {path for folder in ("ext", "sql") for path in (TOP / folder).glob("*.svg")}
        self.assertEqual(drawn - shown, set())
        self.assertGreaterEqual(len(shown), 4)
        for path in shown:
            with self.subTest(path=path):
                picture = ElementTree.parse(path).getroot()
                self.assertIn("prefers-color-scheme:dark", picture.findtext(f"{SVG}style"))
                self.assertNotEqual(picture.findtext(f"{SVG}title"), "Gnuplot")

    def test_the_keys_of_the_drawn_url(self):
        texts = [(text.get("class"), text.text) for text in
                 ElementTree.parse(TOP / "ext/URLS-keys.svg").iter(f"{SVG}text")]
        (url,), (canonical,), keys = ([text for kind, text in texts if kind == f"mono {wanted}"]
                                      for wanted in ("url", "canonical", "key"))
        with contextlib.closing(connect()) as connection:
            self.assertEqual(connection.execute("SELECT key FROM bloom_url_keys(?)", [url])
                             .fetchall(), [(key,) for key in keys])
            self.assertEqual(canonical, keys[0])


class Examples(unittest.TestCase):
    """The blocks of a page share one database, in order, as a reader would type them."""

    def test_what_is_typed_into_the_shell_prints_what_the_page_says(self):
        for name in ("README.md", "sql/EXPLAINED.md", "sql/REFERENCE.md", "sql/SCALE.md",
                     "ext/FORMAT.md", "ext/FORMAT-layouts.md", "ext/URLS.md"):
            typed = [(block, wanted) for language, block, wanted in examples(page(name))
                     if language == "sql"]
            script = "".join(f"{block}\n.print '{SEPARATOR}'\n" for block, _ in typed)
            run = subprocess.run(
                ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", ".load ./bloom", ":memory:"],
                input=script, cwd=TOP, capture_output=True, text=True, check=False)
            *printed, rest = run.stdout.split(SEPARATOR + "\n")
            for (block, wanted), got in zip(typed, printed):
                with self.subTest(page=name, sql=block):
                    self.assertEqual(got, wanted)
            self.assertEqual((rest, run.stderr, len(printed)), ("", "", len(typed)), name)

    @unittest.skipUnless(shutil.which("file"), "file is not installed")
    def test_file_recognises_a_filter(self):
        lines = "".join(re.findall("^    (.*\n)", page("sql/REFERENCE.md").split("## Files")[1],
                                   re.MULTILINE))
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "magic").write_text(lines)
            (place / "f").write_bytes(connect().execute("SELECT bloom_new(1000)").fetchone()[0])
            told = subprocess.run(["file", "-b", "-m", "magic", "f"], cwd=folder, text=True,
                                  capture_output=True, check=True).stdout
        self.assertEqual(told, "SQLite bloom filter, version 1, 10240 bits, for 1000 keys\n")

    def test_the_program_of_the_readme_prints_what_it_says(self):
        (_, program, wanted), = (example for example in examples(page("README.md"))
                                 if example[0] == "python")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run_python(program, folder), wanted)
            # The keys are known after a restart.
            self.assertEqual(run_python(program, folder), re.sub(r"\d", "0", wanted))


class Trouble(unittest.TestCase):
    """Each section of TROUBLE and QUESTIONS in an empty database, with the extension loaded, but
    where the section itself loads it. A row is printed as the shell does, which runs a block that
    imports, an error behind `error: `; an indented line of what is printed goes on with the line
    before it. The heading of a section is a message that it prints, or begins with a capital
    letter."""

    def test_each_section_prints_what_it_says(self):
        sections = re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)",
                              page("sql/TROUBLE.md") + page("sql/QUESTIONS.md"),
                              re.MULTILINE | re.DOTALL)
        for heading, section in sections:
            said = ""
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "trouble.db")
                connection = connect(path, load=".load" not in section)
                for language, block, wanted in examples(section):
                    with self.subTest(section=heading, block=block):
                        if ".import" in block:
                            printed = self.run_shell(block, folder)
                        elif language == "sql":
                            printed, connection = self.run_sql(connection, block, path)
                        else:
                            printed = run_python(block, folder).splitlines()
                        said += "\n".join(printed)
                        self.assertEqual(printed, re.sub(r"\n {2,}", " ", wanted).splitlines())
                connection.close()
            if not heading[0].isupper() or heading.startswith(("NOT NULL", "UPSERT")):
                self.assertIn(heading, said)

    def run_shell(self, block, folder):
        run = subprocess.run(["sqlite3", "-batch", "-init", "/dev/null", "-cmd",
                              f".load {TOP}/bloom"], input=block, cwd=folder, text=True,
                             capture_output=True, check=False)
        return run.stdout.splitlines()

    def run_sql(self, connection, block, path):
        """What the block prints, and the connection that it leaves."""
        printed, statement = [], ""
        for line in block.splitlines():
            statement += line + "\n"
            if statement == ".load ./bloom\n":
                connection.execute("SELECT load_extension(?)", [str(TOP / "bloom")])
            elif statement == ".connect\n":
                connection.close()
                connection = connect(path, load=False)
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


class WithExtension(unittest.TestCase):
    README, REFERENCE = page("README.md"), page("sql/REFERENCE.md")

    @classmethod
    def setUpClass(cls):
        cls.connection = connect()
        cls.addClassCleanup(cls.connection.close)

    def value(self, sql, *given):
        return self.connection.execute(sql, given).fetchone()[0]

    def message(self, sql):
        """What follows the first sentence of the error."""
        with self.assertRaises(sqlite3.OperationalError) as caught:
            self.connection.execute(sql).fetchall()
        return str(caught.exception).partition(". ")[2]


class Reference(WithExtension):
    """sql/REFERENCE.md has an example of all there is, and tells of nothing else."""

    EXAMPLES = "".join(block for _, block, wanted in examples(page("sql/REFERENCE.md")) if wanted)

    def first_column(self, heading):
        """The words in backquotes in the first column of the first table after a heading."""
        rows = self.REFERENCE.split(heading, 1)[1].split("\n|---", 1)[1].split("\n\n", 1)[0]
        cells = [row.split("|")[1] for row in rows.splitlines()[1:]]
        return [word for cell in cells for word in re.findall(r"`([\w-]+)", cell)]

    def has_examples(self, names, pattern):
        for name in names:
            self.assertRegex(self.EXAMPLES, pattern.replace("NAME", name))

    def test_functions(self):
        rows = self.connection.execute(
            "SELECT name FROM pragma_function_list WHERE name LIKE 'bloom~_%' ESCAPE '~' "
            "UNION SELECT name FROM pragma_module_list WHERE name LIKE 'bloom~_%' ESCAPE '~'")
        names = {name for name, in rows}
        listed = self.first_column("## All functions")
        self.assertEqual(set(listed), names)
        # A heading for each, in this order, with its signature, a sentence and an example.
        headings = re.findall(r"(?m)^### (bloom_\w+)\n\n\*\*`\1\([^`]*\)`\*\*(?:[^#]|#(?!##))*?"
                              r"\n\n```sql\n[^`]*?\b\1\(", self.REFERENCE)
        self.assertEqual(headings, listed)

    def test_options_of_values(self):
        names = re.findall(r"(\w+)=", self.message("SELECT bloom_new(1, 0.1, 'no=1')"))
        self.assertEqual(self.first_column("## Options of values"), names)
        self.has_examples(names, r"bloom_\w+\([^;]*'[^';]*\bNAME=")

    def test_layouts(self):
        names = re.findall(r"'([\w-]+)'", self.message("SELECT bloom_new(1, 0.1, 'no such')"))
        self.assertGreaterEqual(len(names), 13)
        self.assertEqual(sorted(self.first_column("| layout | for")), sorted(names))
        self.has_examples(set(names) - {"blocked"}, r"[='\s]NAME[,']")  # which is the default

    def test_formats(self):
        names = re.findall(r"'([\w-]+)'", self.message("SELECT bloom_import(x'', '')"))
        listed = re.search(r"The \[formats\]\(.*?\) are ([^.]*)", self.REFERENCE)[1]
        self.assertEqual(re.findall(r"`([\w-]+)`", listed), names)

    def test_options_of_tables(self):
        names = re.findall(r"(\w+)=", self.message("CREATE VIRTUAL TABLE t USING bloom(no=1)"))
        self.assertEqual(set(self.first_column("### Options of tables")), set(names))
        self.has_examples(names, r"USING bloom\([^;]*\bNAME=")
        for option, at_least in (("key", 7), ("growth", 3)):
            said = self.message(f"CREATE VIRTUAL TABLE t USING bloom({option}=none)")
            values = set(re.findall(r"\w+", said)) - {"Write", "one", "of", "or"}
            self.assertGreaterEqual(len(values), at_least)
            self.has_examples(values, rf"(?i)USING bloom\([^;]*{option}=NAME\b")

    def test_commands(self):
        self.connection.execute("CREATE VIRTUAL TABLE commanded USING bloom")
        said = self.message("INSERT INTO commanded(commanded) VALUES ('none')")
        names = re.findall(r"\w+", re.sub(r"Use| \([^)]*\)|, or .*| or ", " ", said))
        self.assertEqual(len(names), 5)
        self.assertEqual(sorted(self.first_column("### Commands")), sorted(names))
        self.has_examples(names, r"INSERT [^;]*'NAME'")

    def test_columns_and_fields(self):
        self.connection.executescript(
            "CREATE VIRTUAL TABLE seen USING bloom;"
            "CREATE VIRTUAL TABLE ages USING bloom(generations=2, key=url, "
            f"salt='{32 * '0'}'); INSERT INTO ages(ages, key) VALUES ('period', 7)")
        hidden = [name for name, in self.connection.execute(
            "SELECT name FROM pragma_table_xinfo('seen') WHERE hidden ORDER BY name")]
        self.assertEqual(sorted([*self.first_column("leaves out:"), "seen"]), hidden)
        plain, both, exact, table, ages = (json.loads(self.value(f"SELECT {sql}")) for sql in (
            "bloom_info(bloom_new(9))",
            "bloom_info(bloom_new(9, 0.1, 'key=url, salt=' || hex(zeroblob(16))))",
            "bloom_info(bloom_agg(1, NULL, 0.1, 'fuse'))", "info FROM seen", "info FROM ages"))
        optional = ("key", "salted", "generations", "period")
        for heading, without, with_all in (("## Fields of bloom_info", plain, both),
                                           ("## Fields of info", table, ages)):
            self.assertEqual(self.first_column(heading), list(with_all))
            self.assertEqual([name for name in with_all if name not in optional], list(without))
        self.assertEqual(list(exact), list(plain))
        self.assertEqual([name for name, value in exact.items() if value is None], ["ones", "fill"])
        self.assertEqual(self.first_column("| field of a generation |"),
                         list(ages["generations"][0]))
        for info in (table, ages):
            self.assertEqual(self.first_column("| field of a layer |"), list(info["layers"][0]))


class Figures(WithExtension):
    """Numbers of README.md and sql/REFERENCE.md are computed, or are in tests/bench/results."""

    NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "

    def said(self, pattern, text=None):
        found = re.findall(pattern, " ".join((text or self.REFERENCE).split()))
        self.assertEqual(len(found), 1, pattern)
        return found[0]

    def test_sizes(self):
        million = self.value("SELECT bloom_size(1000000)")
        self.assertEqual(self.said(r"This is release ([\d.]+)\.", self.README),
                         self.value("SELECT bloom_version()"))
        self.assertEqual(self.said(r"here ([\d.]+) MB", self.README), f"{million / 1e6:.2f}")
        for layout, one, tenth in re.findall(
                r"\| `(\w+)` \|[^|]*\| ([\d.]+), ([\d.]+) \|", self.REFERENCE):
            for p, bits in ((0.01, one), (0.001, tenth)):
                size = self.value("SELECT 8e-6 * bloom_size(1000000, ?, ?)", p, layout)
                self.assertEqual(bits, f"{size:.1f}", (layout, p))
        least = self.said(r"the smallest from ([\d,]+) keys on")
        self.assertEqual(self.said(r"the smallest from ([\d,]+) keys on", self.README), least)
        least = int(least.replace(",", ""))
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
        for n, rate in ((100000, twice), (200000, once)):
            fpr = self.value(f"{self.NUMBERS} SELECT bloom_fpr_now(bloom_agg(i, ?)) FROM n",
                             200000, n)
            self.assertEqual(f"{100 * fpr:.0f}", rate)

    def test_second_opinions(self):
        """A `fuse` filter at 1 % confirms each mistake of one at 0.1 %, unless it has a salt."""
        shares = []
        for salt in ("", f", salt={'5' * 32}"):
            strict, loose = (
                self.value(f"{self.NUMBERS} SELECT bloom_agg(i, NULL, ?, ?) FROM n", 100000, p,
                           options)
                for p, options in ((0.001, "fuse"), (0.01, f"layout=fuse{salt}")))
            shares.append(100 * self.value(
                f"{self.NUMBERS} SELECT avg(bloom_check(?, -i)) FROM n WHERE bloom_check(?, -i)",
                1000000, loose, strict))
        self.assertEqual(shares[0], 100)
        self.assertLess(shares[1], 3)

    def test_layers(self):
        first, second, least, most = map(int, self.said(
            r"the first layer takes (\d+) bits for each key of `capacity`. The second layer takes "
            r"(\d+) bits for each key of its own, and each further layer (\d) to (\d) more"))
        self.connection.execute("CREATE VIRTUAL TABLE grown USING bloom(capacity=1000, fpr=0.01)")
        self.connection.execute(f"INSERT INTO grown(key) {self.NUMBERS} SELECT i FROM n",
                                [200000])
        layers = json.loads(self.value("SELECT info FROM grown"))["layers"]
        bits = [layer["bits"] / layer["capacity"] for layer in layers[1:]]
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
        self.assertIn("1.04e-09", self.message("SELECT bloom_size(2000000000, 1e-9)"))
        self.assertEqual(int(self.said(r"- A URL has up to (\d+) keys")), self.value(
            "SELECT count(*) FROM bloom_url_keys('http://a.b.c.d.e.f.g/1/2/3/4/5/6/7?x')"))

    def test_figures_of_the_results(self):
        """README's chart and the text around it have numbers of the results."""
        results = page("tests/bench/results/README.md").replace("IN, by the index", "by the index")
        chart = [text.text for text in ElementTree.parse(
            TOP / "tests/bench/results/figures.svg").iter(f"{SVG}text")][1:]
        self.assertGreaterEqual(len(chart), 3 * 4)
        percents = {}
        for what, percent, values in zip(*[iter(chart)] * 3):
            ours, unit, other, beside = re.match(
                r"([\d.]+) (\w+) instead of ([\d,]+) \w+ \((.*)\)$", values).groups()
            self.assertIn(f"| {what} | {ours} {unit} | {other} {unit} | {beside.split(', ')[-1]}",
                          results)
            percents[what] = 100 * float(ours) / float(other.replace(",", ""))
            self.assertAlmostEqual(percents[what], float(percent.split()[0]), delta=0.1)
        size, least, most = self.said(
            r"a filter takes ([\d.]+) % of the space of an index, and (\d+) to (\d+) % of its time",
            self.README)
        space, *times = list(percents.values())[:4]
        self.assertEqual((f"{space:.1f}", f"{min(times):.0f}", f"{max(times):.0f}"),
                         (size, least, most))
        self.assertEqual(self.said(r"it is (\d+) times as large", self.README),
                         f"{100 / space:.0f}")
        others = page("tests/bench/results/others.md") + page("tests/bench/results/python.md")
        compared = self.README.partition("## bloom or something else?")[2].partition("\n## ")[0]
        for way, figure in (("`url in Filter`", "in 116 ns"), ("`url in` rbloom", "needs 117 ns"),
                            ("DuckDB, `IN` a table", "in 266 ns"),
                            ("`bloom_check` of a pinned filter", "in 251 ns"),
                            ("DuckDB, primary key", "540,075 ns")):
            self.assertIn(figure, " ".join(compared.split()))
            self.assertIn(f"| {way} | {figure.split()[-2]} |", others)
        self.assertEqual(len(re.findall(r"[\d,]+ ns", compared)), 5)
        measured, = re.findall(r"## Rows of another table\n(.*?)(?:\n#|\Z)",
                               page("tests/bench/results/others.md"), re.DOTALL)
        self.assertEqual(re.findall(r" ([\d,]+) ", self.said(r"\| way \| ns a row \|(.*?) - ")),
                         re.findall(r" ([\d,]+) ", measured))

    def test_figures_of_the_python_package(self):
        measured = dict(re.findall(r"^\| (.*?) \| ([\d,]+) \| [\d.]+ \|$",
                                   page("tests/bench/results/python.md"), re.MULTILINE))
        rows = re.findall(r"^\| [^|]* \| (\d+) \|" + r" (\d*) ?\|" * 3 + "$",
                          page("ext/packages/python/README.md"), re.MULTILINE)
        names = ("`Filter`", "rbloom", "abloom")
        ways = [
            ["`Filter(n)`, `update(urls)`", "rbloom, `update`", "abloom, `update`",
             "fastbloom-rs, `add_str_batch`"],
            *([*(f"{name}, `update` of {what}" for name in names), None]
              for what in ("bytes", "integers")),
            ["`url in Filter`", "`url in` rbloom", "`url in` abloom",
             "fastbloom-rs, `contains_str`"],
            [*(f"{name}, `add`" for name in names), "fastbloom-rs, `add_str`"],
            ["`check` of a list", *(f"{name}, `[url in f for url in urls]`"
                                    for name in names[1:]), None]]
        self.assertEqual(rows, [tuple(measured.get(way, "") for way in row) for row in ways])

    def test_figures_of_the_node_package(self):
        ratios = dict(re.findall(r"^\| (.*?) \| \d+ \| ([\d.]+) \|$",
                                 page("tests/bench/results/node.md"), re.MULTILINE))
        self.assertEqual(
            self.said(r"a key takes ([\d.]+) of the time to add and ([\d.]+) to check, and in an"
                      r" array ([\d.]+) and ([\d.]+) ", page("ext/packages/npm/README.md")),
            tuple(f"{float(ratios[way]):.1f}"
                  for way in ("`add`", "`has`", "`addAll(array)`", "`check(array)`")))


if __name__ == "__main__":
    unittest.main()
