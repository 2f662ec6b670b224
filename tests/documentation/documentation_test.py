#!/usr/bin/env python3
"""Runs the examples of README.md, sql/REFERENCE.md and ext/*.md as they are printed there.

A fenced block marked `sql` that is followed by one marked `text` is typed into the sqlite3 shell,
with the extension loaded, and must print exactly that. The blocks of one document share one
database, in order, as a reader would type them. The Python program of README.md runs as printed.
sql/REFERENCE.md is compared with what the extension has: each function, option, value, command and
field.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = re.compile(r"^```sql\n(.*?)^```\n(?:\n?```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
SEPARATOR = "-- next example --"


def examples(document):
    return [(match[1], match[2]) for match in EXAMPLE.finditer((TOP / document).read_text())]


class Examples(unittest.TestCase):
    def run_document(self, document):
        pairs = examples(document)
        script = "".join(f"{sql}\n.print '{SEPARATOR}'\n" for sql, _ in pairs)
        run = subprocess.run(
            ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", ".load ./bloom", ":memory:"],
            input=script, cwd=TOP, capture_output=True, text=True, check=False)
        printed = (run.stdout + "\n" + run.stderr if run.stderr else run.stdout).split(
            SEPARATOR + "\n")
        for (sql, wanted), got in zip(pairs, printed):
            with self.subTest(document=document, sql=sql):
                self.assertEqual(got, wanted or "", sql)
        self.assertEqual(run.stderr, "")
        self.assertEqual(len(printed), len(pairs) + 1)

    def test_examples_of_the_readme_print_what_it_says(self):
        self.run_document("README.md")

    def test_the_python_program_of_the_readme_prints_what_it_says(self):
        text = (TOP / "README.md").read_text()
        for program, wanted in re.findall(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", text,
                                          re.MULTILINE | re.DOTALL):
            with tempfile.TemporaryDirectory() as folder:
                for library in TOP.glob("bloom.*"):
                    shutil.copy(library, folder)
                # The keys are known after a restart.
                for printed in (wanted, re.sub(r"\d", "0", wanted)):
                    run = subprocess.run([sys.executable, "-c", program], cwd=folder, text=True,
                                         capture_output=True, check=False)
                    self.assertEqual((run.stdout, run.stderr), (printed, ""))

    def test_examples_of_the_reference_print_what_it_says(self):
        self.run_document("sql/REFERENCE.md")

    def test_examples_of_the_format_print_what_it_says(self):
        self.run_document("ext/FORMAT.md")
        self.run_document("ext/FORMAT-layouts.md")

    def test_examples_of_the_urls_print_what_it_says(self):
        self.run_document("ext/URLS.md")


def shell(sql):
    """The lines that the shell prints, errors included."""
    run = subprocess.run(
        ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", ".load ./bloom", ":memory:"],
        input=sql, cwd=TOP, capture_output=True, text=True, check=False)
    return (run.stdout + run.stderr).splitlines()


class Reference(unittest.TestCase):
    """sql/REFERENCE.md has an example of all there is, and tells of nothing else."""

    TEXT = (TOP / "sql/REFERENCE.md").read_text()
    EXAMPLES = "".join(sql for sql, wanted in examples("sql/REFERENCE.md") if wanted)

    def source(self, name):
        return (TOP / "ext" / name).read_text()

    def table(self, heading):
        """The rows of the first table after a heading."""
        return self.TEXT.split(heading, 1)[1].split("\n|---", 1)[1].split("\n\n", 1)[0]

    def first_column(self, heading, column=1):
        """The words in backquotes in a column of the first table after a heading."""
        cells = [row.split("|")[column] for row in self.table(heading).splitlines()[1:]]
        return [word for cell in cells for word in re.findall(r"`([\w-]+)", cell)]

    def test_functions(self):
        names = re.findall(r'\{"(bloom\w+)",', self.source("extension.c"))
        for path in (TOP / "ext/sqlite/rows").glob("*.c"):
            names += re.findall(r'\.name = "(bloom\w+)"', path.read_text())
        for name in names:
            self.assertIn(f"{name}(", self.EXAMPLES, name)
            self.assertRegex(self.TEXT, rf"\*\*`{name}\(", name)
        self.assertEqual(set(re.findall(r"`(bloom_\w+)\(", self.table("## All functions"))),
                         set(names))

    def test_options_of_values(self):
        names = re.findall(r'\{"(\w+)", bloom_option_', self.source("filter/options.c"))
        self.assertEqual(self.first_column("## Options of values"), names)
        for name in names:
            self.assertRegex(self.EXAMPLES, rf"bloom_\w+\([^;]*'[^';]*\b{name}=")

    def test_layouts(self):
        message, = shell("SELECT bloom_new(1, 0.1, 'no such');")
        names = re.findall(r"'([\w-]+)'", message.split("Write one of")[1])
        self.assertGreaterEqual(len(names), 13)
        self.assertEqual(sorted(self.first_column("| layout | for |"[:-2])), sorted(names))
        for name in set(names) - {"blocked"}:  # the default
            self.assertRegex(self.EXAMPLES, rf"[='\s]{name}[,']")

    def test_options_of_tables(self):
        options = self.source("table/configuration.c")
        names = re.findall(r'\{"(\w+)", (?:read|bloom_option)_', options)
        self.assertEqual(set(self.first_column("### Options of tables")), set(names))
        for name in names:
            self.assertRegex(self.EXAMPLES, rf"USING bloom\([^;]*\b{name}=")
        for option, at_least in (("key", 7), ("growth", 3)):
            message, = shell(f"CREATE VIRTUAL TABLE t USING bloom({option}=none);")
            values = set(re.findall(r"\w+", message.split(". Write", 1)[1])) - {"one", "of", "or"}
            self.assertGreaterEqual(len(values), at_least)
            for value in values:
                self.assertRegex(self.EXAMPLES, rf"(?i)USING bloom\([^;]*{option}={value}\b")

    def test_commands(self):
        message, = shell("CREATE VIRTUAL TABLE t USING bloom; INSERT INTO t(t) VALUES ('none');")
        told = re.sub(r" \([^)]*\)|, or .*| or ", " ", message.split(". Use ")[1])
        names = re.findall(r"\w+", told)
        self.assertEqual(len(names), 5)
        self.assertEqual(sorted(self.first_column("### Commands")), sorted(names))
        for name in names:
            self.assertRegex(self.EXAMPLES, rf"INSERT [^;]*'{name}'")

    def test_columns(self):
        rows = shell("CREATE VIRTUAL TABLE seen USING bloom;"
                     "SELECT name FROM pragma_table_xinfo('seen') WHERE hidden ORDER BY name;")
        self.assertEqual(sorted([*self.first_column("leaves out:"), "seen"]), rows)

    def test_fields_of_bloom_info(self):
        plain, both, exact = (json.loads(line) for line in shell(
            "SELECT bloom_info(bloom_new(9));"
            "SELECT bloom_info(bloom_new(9, 0.1, 'key=url, salt=' || hex(zeroblob(16))));"
            "SELECT bloom_info(bloom_agg(1, NULL, 0.1, 'fuse'));"))
        fields = self.first_column("## Fields of bloom_info")
        self.assertEqual(fields, list(both))
        self.assertEqual([name for name in fields if name not in ("key", "salted")], list(plain))
        self.assertEqual(list(exact), list(plain))
        self.assertEqual([name for name, value in exact.items() if value is None], ["ones", "fill"])

    def test_fields_of_info(self):
        plain, ages = (json.loads(line) for line in shell(
            "CREATE VIRTUAL TABLE a USING bloom;"
            "CREATE VIRTUAL TABLE b USING bloom(generations=2, key=url, salt=zeros);"
            .replace("zeros", f"'{32 * '0'}'") +
            "SELECT info FROM a; SELECT info FROM b;"))
        fields = self.first_column("## Fields of info")
        self.assertEqual(fields, list(ages))
        self.assertEqual([name for name in fields
                          if name not in ("generations", "key", "salted")], list(plain))
        self.assertEqual(self.first_column("| field of a generation |"),
                         list(ages["generations"][0]))
        for info in (plain, ages):
            self.assertEqual(self.first_column("| field of a layer |"), list(info["layers"][0]))


if __name__ == "__main__":
    unittest.main()
