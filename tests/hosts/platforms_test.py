#!/usr/bin/env python3
"""Other platforms and other options of SQLite: see machines.py. Needs npm, which brings SQLite's
source.

Platforms: the extension gives the same bytes and answers on big-endian, arm64, 32-bit and musl
platforms, and by other compilers, as here. Each platform is a compiler and what runs its programs
(qemu-user); one that is not installed is skipped visibly. .ci/run names Debian's packages.

Options: the extension, as it was built, in a SQLite that was compiled as its documentation
recommends (https://sqlite.org/compile.html): some functions are missing there, so that their place
in the table which extensions get is empty. And in one whose values may have all the bytes that a
value can have: 2.1 GB, of which memory must hold two.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import unittest

import machines

# How the extension is compiled, and what runs it. The last three share an engine that gcc compiled.
PLATFORMS = {
    "s390x": ("s390x-linux-gnu-gcc -O2 -static", "qemu-s390x"),  # big-endian
    "arm64": ("aarch64-linux-gnu-gcc -O2 -static", "qemu-aarch64"),
    "i386": ("i686-linux-gnu-gcc -O2 -static -mfpmath=387", "qemu-i386"),  # x87 arithmetic
    "musl": ("musl-gcc -O0", ""),  # only the C library is another
    "clang": ("clang -O2", ""),
    "plain-c11": (f"gcc -O2 -include {machines.HERE}/remote/plain.h", ""),
    "fast-arithmetic": ("gcc -O3 -ffp-contract=fast -march=native", "")}
ENGINES = {name: PLATFORMS[name][0] for name in ("s390x", "arm64", "i386", "musl")}
# SQLite is one thread's, and loads nothing: the extension is linked in.
ENGINE = ["-O0", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"]
# What judges hashes, kernels and rounding, on processors that nothing else runs the scripts on.
PROCESSORS = ("s390x", "i386")
SCRIPTS = "golden keys sets fuse bitmap counting merges estimates limits table_deletes".split()

OPTIONS = {
    "recommended": "DQS=0 THREADSAFE=0 DEFAULT_MEMSTATUS=0 DEFAULT_WAL_SYNCHRONOUS=1"
    " LIKE_DOESNT_MATCH_BLOBS MAX_EXPR_DEPTH=0 OMIT_DECLTYPE OMIT_DEPRECATED OMIT_PROGRESS_CALLBACK"
    " OMIT_SHARED_CACHE USE_ALLOCA OMIT_AUTOINIT STRICT_SUBTYPE=1",
    "checked": "ENABLE_API_ARMOR DQS=0 STRICT_SUBTYPE=1 OMIT_DECLTYPE",
    "long": "MAX_LENGTH=2147483647",
}


class Platforms(unittest.TestCase):
    def test_every_platform_gives_the_same_bytes(self):
        for name, (compiler, runner) in PLATFORMS.items():
            with self.subTest(platform=name):
                program = compiler.split()[0]
                if not shutil.which(program) or runner and not shutil.which(runner):
                    self.skipTest(f"skipped on {platform.machine()}: {program} or {runner} not"
                                  " installed")
                of_engine = name if name in ENGINES else "gcc"
                engine = machines.engine(of_engine, ENGINES.get(name, "gcc").split(), *ENGINE)
                remote = machines.remote(name, compiler.split(), engine, "-lm", linked=True)
                command = f"{runner} {remote}"
                machines.assert_same_fingerprint(self, "linked in", command)
                if name in PROCESSORS:
                    self.assertRegex(machines.scripts("linked in", command, only=SCRIPTS),
                                     r"^\d{3,} passed, 0 failed")


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
