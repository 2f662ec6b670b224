#!/usr/bin/env python3
"""The extension, as it was built, in a SQLite that was compiled as its documentation recommends
(https://sqlite.org/compile.html): some functions are missing there, so that their place in the
table which extensions get is empty. And in one whose values may have all the bytes that a value can
have: 2.1 GB, of which memory must hold two.

Needs npm, which brings SQLite's source; skips visibly without it.
"""
import os
import pathlib
import re
import subprocess
import unittest

import machines

OPTIONS = {
    "recommended": "DQS=0 THREADSAFE=0 DEFAULT_MEMSTATUS=0 DEFAULT_WAL_SYNCHRONOUS=1"
    " LIKE_DOESNT_MATCH_BLOBS MAX_EXPR_DEPTH=0 OMIT_DECLTYPE OMIT_DEPRECATED OMIT_PROGRESS_CALLBACK"
    " OMIT_SHARED_CACHE USE_ALLOCA OMIT_AUTOINIT STRICT_SUBTYPE=1",
    "checked": "ENABLE_API_ARMOR DQS=0 STRICT_SUBTYPE=1 OMIT_DECLTYPE",
    "long": "MAX_LENGTH=2147483647",
}


class Options(unittest.TestCase):
    def passes(self, name, *scripts):
        compiler = [*os.environ.get("CC", "cc").split(),
                    *(f"-DSQLITE_{option}" for option in OPTIONS[name].split())]
        try:
            engine = machines.engine(name, compiler, "-O0")
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"skipped: SQLite's amalgamation cannot be had: {error}")
        program = machines.remote(name, compiler, engine, "-ldl", "-lm", "-lpthread")
        output = machines.run_in(str(program), machines.RUNNER, "--load",
                                 machines.TOP / "bloom.so", *scripts)
        self.assertRegex(output, r"\n\d+ passed, 0 failed")

    def test_recommended_and_checked(self):
        for name in ("recommended", "checked"):
            with self.subTest(options=name):
                self.passes(name, *sorted(machines.SCRIPTS.glob("*.test")))

    def test_the_longest_values(self):
        memory = pathlib.Path("/proc/meminfo")
        if not memory.exists() or 5 << 20 > int(
                re.search(r"MemAvailable: +([0-9]+) kB", memory.read_text())[1]):
            self.skipTest("skipped: fewer than 5 GiB of memory are free, or it is not known")
        self.passes("long", machines.HERE / "longest_values.test")


if __name__ == "__main__":
    unittest.main()
