#!/usr/bin/env python3
"""Runs the examples of README.md and ext/*.md as they are printed there.

A fenced block marked `sql` that is followed by one marked `text` is typed into the sqlite3 shell,
with the extension loaded, and must print exactly that. The blocks of one document share one
database, in order, as a reader would type them. Every `make` target and file that the documents
name must exist.
"""

import pathlib
import re
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = re.compile(r"^```sql\n(.*?)^```\n(?:\n?```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
SEPARATOR = "-- next example --"


def examples(document):
    return [(match[1], match[2]) for match in EXAMPLE.finditer((TOP / document).read_text())]


class Examples(unittest.TestCase):
    def run_document(self, document, at_least):
        pairs = examples(document)
        self.assertGreaterEqual(sum(1 for _, wanted in pairs if wanted is not None), at_least)
        script = "".join(f"{sql}\n.print '{SEPARATOR}'\n" for sql, _ in pairs)
        run = subprocess.run(
            ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", ".load ./bloom", ":memory:"],
            input=script,
            cwd=TOP,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = (run.stdout + "\n" + run.stderr if run.stderr else run.stdout).split(
            SEPARATOR + "\n"
        )
        for (sql, wanted), got in zip(pairs, printed):
            with self.subTest(document=document, sql=sql):
                self.assertEqual(got, wanted or "", sql)
        self.assertEqual(run.stderr, "")
        self.assertEqual(len(printed), len(pairs) + 1)

    def test_examples_of_the_readme_print_what_it_says(self):
        self.run_document("README.md", 3)

    def test_examples_of_the_format_print_what_it_says(self):
        self.run_document("ext/FORMAT.md", 2)
        self.run_document("ext/FORMAT-layouts.md", 6)

    def test_examples_of_the_urls_print_what_it_says(self):
        self.run_document("ext/URLS.md", 1)


class Names(unittest.TestCase):
    def test_files_that_the_readme_names_exist(self):
        text = (TOP / "README.md").read_text()
        names = set(re.findall(r"`((?:ext|sql|tests)/[\w./-]+)`", text)) | set(
            re.findall(r"\]\(([\w./-]+)\)", text)
        )
        self.assertGreater(len(names), 3)
        for name in sorted(names):
            with self.subTest(name=name):
                self.assertTrue((TOP / name).exists(), name)

    def test_make_targets_that_the_readme_names_exist(self):
        text = (TOP / "README.md").read_text()
        targets = set(re.findall(r"(?:`|&& )make ([a-z]+)\b", text))
        self.assertIn("test", targets)
        makefile = "".join((TOP / name).read_text() for name in
                           ("Makefile", "tests/rules.mk", "ext/packages/rules.mk"))
        for target in sorted(targets):
            with self.subTest(target=target):
                self.assertTrue(
                    re.search(rf"(?m)^{target}:", makefile), f"no such target: {target}"
                )

    def test_every_function_that_is_registered_is_in_the_readme(self):
        text = (TOP / "README.md").read_text()
        names = re.findall(r'\{"(bloom\w+)",', (TOP / "ext/extension.c").read_text())
        self.assertGreater(len(names), 10)
        for name in names:
            with self.subTest(name=name):
                self.assertTrue(f"`{name}(" in text, f"{name} is not in the README")


if __name__ == "__main__":
    unittest.main()
