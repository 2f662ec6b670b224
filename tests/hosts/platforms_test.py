#!/usr/bin/env python3
"""The extension gives the same bytes and answers on big-endian, arm64, 32-bit and musl platforms,
and by other compilers, as here: see machines.py.

Each platform is a compiler and what runs its programs (qemu-user); one that is not installed is
skipped visibly. Debian packages: gcc-s390x-linux-gnu gcc-aarch64-linux-gnu gcc-i686-linux-gnu
libc6-dev-s390x-cross libc6-dev-arm64-cross libc6-dev-i386-cross qemu-user musl-tools.
"""

import platform
import shutil
import unittest

import machines

# How the extension is compiled, and what runs it. The last three share an engine that gcc compiled.
PLATFORMS = {
    "s390x": ("s390x-linux-gnu-gcc -O2 -static", "qemu-s390x"),  # big-endian
    "arm64": ("aarch64-linux-gnu-gcc -O2 -static", "qemu-aarch64"),
    "i386": ("i686-linux-gnu-gcc -O2 -static -mfpmath=387", "qemu-i386"),  # x87 arithmetic
    "musl": ("musl-gcc -O2", ""),
    "clang": ("clang -O2", ""),
    "no-int128": ("gcc -O2 -U__SIZEOF_INT128__ -Wno-builtin-macro-redefined", ""),
    "fast-arithmetic": ("gcc -O3 -ffp-contract=fast -march=native", "")}
ENGINES = {name: PLATFORMS[name][0] for name in ("s390x", "arm64", "i386", "musl")}
# SQLite is one thread's, and loads nothing: the extension is linked in.
ENGINE = ["-O0", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"]
# What judges hashes, kernels and rounding, on processors that nothing else runs the scripts on.
PROCESSORS = ("s390x", "i386")
SCRIPTS = "golden keys sets fuse counting merges estimates limits table_deletes".split()


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


if __name__ == "__main__":
    unittest.main()
