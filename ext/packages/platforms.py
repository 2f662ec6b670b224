"""The platforms that binaries are built for, and what each packager calls them.

zig brings a compiler, headers and C libraries for all of them (PyPI: ziglang), so that none of
these machines is needed. The versions in the targets are the oldest systems that the binaries run
on: glibc 2.17 is what manylinux2014 asks for, macOS 10.13 the oldest that zig knows for x86-64,
11.0 the first on Apple's own processors.
"""

import collections
import subprocess
import sys

import release

Platform = collections.namedtuple("Platform", "name target library wheel os cpu libc")

PLATFORMS = [
    Platform("linux-x86_64", "x86_64-linux-gnu.2.17", "bloom.so", "manylinux2014_x86_64",
             "linux", "x64", "glibc"),
    Platform("linux-aarch64", "aarch64-linux-gnu.2.17", "bloom.so", "manylinux2014_aarch64",
             "linux", "arm64", "glibc"),
    Platform("musl-x86_64", "x86_64-linux-musl", "bloom.so", "musllinux_1_2_x86_64",
             "linux", "x64", "musl"),
    Platform("musl-aarch64", "aarch64-linux-musl", "bloom.so", "musllinux_1_2_aarch64",
             "linux", "arm64", "musl"),
    Platform("macos-x86_64", "x86_64-macos.10.13", "bloom.dylib", "macosx_10_13_x86_64",
             "darwin", "x64", None),
    Platform("macos-aarch64", "aarch64-macos.11.0", "bloom.dylib", "macosx_11_0_arm64",
             "darwin", "arm64", None),
    Platform("windows-x86_64", "x86_64-windows-gnu", "bloom.dll", "win_amd64",
             "win32", "x64", None),
    Platform("windows-aarch64", "aarch64-windows-gnu", "bloom.dll", "win_arm64",
             "win32", "arm64", None),
]

# -ffp-contract=off: no machine rounds otherwise.
FLAGS = ["-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off",
         "-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
         "-Wshadow", "-Werror"]


def filter_object(platform):
    """The filter library for a platform, which binaries/build.py has compiled."""
    return release.BUILD / "scratch" / f"filter-{platform.name}.o"


def zig(*arguments):
    """Runs a tool of the module ziglang."""
    subprocess.run([sys.executable, "-m", "ziglang", *map(str, arguments)], check=True)


def compile_object(platform, *arguments):
    zig("cc", "-target", platform.target, *FLAGS, "-c", *arguments)


def link_library(platform, *arguments):
    """A shared library, without what it does not use."""
    unused = "-Wl,-dead_strip" if platform.os == "darwin" else "-Wl,--gc-sections"
    zig("cc", "-target", platform.target, *FLAGS, "-s", "-shared", unused, *arguments,
        *(["-lm"] if platform.os == "linux" else []))
