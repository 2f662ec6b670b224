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


class Failure(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("ext", "tests", "sql", "Makefile", "README.md", "LICENSE"):
            copy = shutil.copytree if (TOP / name).is_dir() else shutil.copy
            copy(TOP / name, cls.folder / name)

    def first_screen(self, name, right, wrong):
        """What make test prints first when a source has wrong in the place of right."""
        path = self.folder / name
        text = path.read_text()
        self.assertEqual(text.count(right), 1, f"{name} does not have this line once")
        path.write_text(text.replace(right, wrong))
        environment = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}
        try:
            with subprocess.Popen(["make", "test"], cwd=self.folder, text=True, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  start_new_session=True) as make:
                lines = [make.stdout.readline() for _ in range(SCREEN)]
                os.killpg(make.pid, signal.SIGKILL)
        finally:
            path.write_text(text)
        return "".join(lines)

    def test_a_kernel(self):
        screen = self.first_screen("ext/filter/layouts/blocked.c", "KERNEL", "BROKEN")
        self.assertRegex(screen, "x")


if __name__ == "__main__":
    unittest.main()
