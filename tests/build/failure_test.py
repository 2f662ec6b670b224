#!/usr/bin/env python3
"""A failure reads well: one line is broken in a copy of the project, and the first screen of `make
test` must name the test's file and the fact that is wrong.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SCREEN = 50  # lines
# A source, what is right in it, what breaks it, and what the screen must name.
BROKEN = [
    ("ext/filter/layouts/bitmap.c", "(1u << (words[i] & 7))", "(1u << (words[i] & 6))",
     r"FAIL bitmap_test: (?s:.*)tests/library/bitmap_test\.c:\d+: error: Failure!"),
    ("ext/list/adblock.c", 'begins(*line, "||") ? 2', 'begins(*line, "||") ? 1',
     r"FAIL scripts: (?s:.*)tests/sql/lists\.test:\d+: (?s:.*)\|\|"),
    ("ext/table/chunks.c", "*closed = head.closed != 0", "*closed = false",
     r"FAIL scripts: (?s:.*)tests/sql/table_\w+\.test:\d+: ")]


class Failure(unittest.TestCase):
    def first_screen(self, name, right, wrong):
        """Of make test in a copy of the project with what is built, of which only what is broken
        is built again."""
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        for part in ("ext", "tests", "sql", "build", "Makefile", "README.md", "LICENSE"):
            copy = shutil.copytree if (TOP / part).is_dir() else shutil.copy2
            copy(TOP / part, folder / part)
        text = (folder / name).read_text()
        self.assertEqual(text.count(right), 1, f"{name} does not have this line once")
        (folder / name).write_text(text.replace(right, wrong))
        environment = {key: value for key, value in os.environ.items()
                       if "MAKE" not in key and key not in ("ONLY", "CASE")}
        with subprocess.Popen(["make", "test"], cwd=folder, text=True, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True) as make:
            lines = [make.stdout.readline() for _ in range(SCREEN)]
            os.killpg(make.pid, signal.SIGKILL)
        return "".join(lines)

    def test_the_first_screen_names_the_file_and_the_fact(self):
        for *broken, said in BROKEN:
            with self.subTest(broken=broken):
                self.assertRegex(self.first_screen(*broken), said)


if __name__ == "__main__":
    unittest.main()
