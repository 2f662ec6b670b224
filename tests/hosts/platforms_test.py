#!/usr/bin/env python3
"""The filter library gives the same bytes on big-endian, arm64, 32-bit and musl platforms as here,
and every kernel of theirs the answers and bytes of a program that looks at one bit after the other.

Each platform is a compiler and what runs its programs (qemu-user); one that is not installed is
skipped visibly. Debian packages: gcc-s390x-linux-gnu gcc-aarch64-linux-gnu gcc-i686-linux-gnu
libc6-dev-s390x-cross libc6-dev-arm64-cross libc6-dev-i386-cross qemu-user musl-tools.
"""

import pathlib
import platform
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = [path for folder in ("base", "hash", "url", "list", "filter", "foreign")
           for path in sorted((TOP / "ext" / folder).rglob("*.c"))]

PLATFORMS = {
    "big-endian (s390x)": (["s390x-linux-gnu-gcc", "-static"], ["qemu-s390x"]),
    "arm64": (["aarch64-linux-gnu-gcc", "-static"], ["qemu-aarch64"]),
    "32-bit (i386, x87 arithmetic)": (
        ["i686-linux-gnu-gcc", "-static", "-mfpmath=387"],
        ["qemu-i386"]),
    "musl": (["musl-gcc"], []),
    "clang": (["clang"], []),
    "without 128-bit integers and prefetch": (
        ["gcc", "-U__SIZEOF_INT128__", "-Wno-builtin-macro-redefined"],
        []),
    "fast arithmetic of the compiler": (["gcc", "-O3", "-ffp-contract=fast", "-march=native"], [])}


def run(folder, compiler, runner, name, test):
    """The output of a program that is made of the filter library and a test."""
    program = pathlib.Path(folder) / name
    subprocess.run([*compiler, "-std=c11", "-O2", "-I", TOP / "ext",
                    "-I", TOP / "tests/hosts/cmocka", TOP / test, *SOURCES, "-lm", "-o", program],
                   check=True, capture_output=True, text=True)
    return subprocess.run([*runner, program], check=True, capture_output=True, text=True).stdout


def fingerprint(folder, compiler, runner, name):
    return run(folder, compiler, runner, name, "tests/hosts/fingerprint.c")


class Platforms(unittest.TestCase):
    def each_platform(self):
        for name, (compiler, runner) in PLATFORMS.items():
            with self.subTest(platform=name):
                if shutil.which(compiler[0]) is None or runner and shutil.which(runner[0]) is None:
                    self.skipTest(
                        f"skipped on {platform.machine()}: {' '.join(compiler + runner)} not"
                        " installed")
                yield name, compiler, runner

    def test_every_platform_gives_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            here = fingerprint(folder, ["cc"], [], "here")
            self.assertGreater(here.count("\n"), 3000)
            self.assertNotIn("different", here)
            self.assertNotRegex(here, r"[1-9]\d* missed")
            for name, compiler, runner in self.each_platform():
                self.assertEqual(fingerprint(folder, compiler, runner, "there"), here, name)

    def test_every_kernel_of_every_platform_is_right(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, compiler, runner in self.each_platform():
                told = run(folder, compiler, runner, "kernels", "tests/library/kernel_test.c")
                self.assertIn("kernel portable of blocked: compared", told, name)
                self.assertIn("kernel: 10 passed", told, name)
                if name == "arm64":
                    self.assertIn("kernel neon of blocked: compared", told)


if __name__ == "__main__":
    unittest.main()
