#!/usr/bin/env python3
"""A filter of nearly 10^9 bytes, the largest value of an SQLite as it is shipped, and about what
CIRCL publishes: imported with no more than one copy beside the argument, and asked from there.

Needs 3 GB of memory and 1 GB of disk; skips visibly where there is less.
"""
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(TOP / "tests/documentation"))
import pages  # noqa: E402

BITS = 8 * 999_999_000 - 1000
KEY = b"DA39A3EE5E6B4B0D3255BFEF95601890AFD80709"
NEEDS_MEMORY, NEEDS_DISK = 3 << 20, 2 << 30  # in KiB, in bytes
MEMORY = pathlib.Path("/proc/meminfo")


class Large(unittest.TestCase):
    def setUp(self):
        if shutil.which("sqlite3") is None:
            self.skipTest("skipped: sqlite3 is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        memory = re.search(r"MemAvailable: *(\d+)", MEMORY.read_text()) if MEMORY.exists() else None
        disk = shutil.disk_usage(self.folder).free
        if not memory or int(memory[1]) < NEEDS_MEMORY or disk < NEEDS_DISK:
            self.skipTest("skipped: too little memory or disk for a filter of 1 GB")

    def test_one_copy_beside_the_argument(self):
        row = (BITS + 63) // 64 * 8
        with open(self.folder / "large.bloom", "wb") as file:  # sparse
            file.write(struct.pack("<QQdQQQ", 1, 500_000_000, 1e-4, 14, BITS, 1))
            file.truncate(48 + row)
            for position in pages.dcso_bits(pages.words_of(5, b"", KEY), BITS, 14):
                file.seek(48 + position // 8)
                file.write(bytes([1 << position % 8]))  # no two are in one byte
        question = ("SELECT bloom_check(bloom_import(readfile('large.bloom'), 'dcso'), "
                    f"'{KEY.decode()}')")
        run = subprocess.run(["sqlite3", "-batch", "-init", "/dev/null", ":memory:",
                              f".load {TOP / 'bloom'}", question],
                             cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((run.stdout, run.stderr), ("1\n", ""))
        peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"figures: a DCSO filter of {48 + row:,} bytes imported with {peak:,} bytes resident")
        self.assertLess(peak, 2 * row + (32 << 20))


if __name__ == "__main__":
    unittest.main()
