#!/usr/bin/env python3
"""ext/filter/layouts/blocked_sizes.h is what blocked_sizes.py computes from the exact formula."""
import pathlib
import subprocess
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


class Table(unittest.TestCase):
    def test_the_table_is_the_computed_one(self):
        computed = subprocess.run(
            [sys.executable, TOP / "ext/filter/layouts/blocked_sizes.py"],
            capture_output=True, text=True, check=True).stdout
        self.assertEqual(computed, (TOP / "ext/filter/layouts/blocked_sizes.h").read_text())


if __name__ == "__main__":
    unittest.main()
