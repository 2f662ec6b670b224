#!/usr/bin/env python3
"""The binaries of all platforms: what can be run here is, under an emulator where need be; the
others are looked into.

Where a binary runs it must make the bytes that are made here, and pass the scripts of tests/sql,
inside an SQLite that is compiled for the same platform. musl's loader for arm64 is no package of
this machine's own processor: apt-get fetches it (400 kB, and 10 MB of lists, once) into
build/packages/scratch.
"""

import json
import os
import re
import subprocess
import sys
import unittest
import zipfile

from common import BUILD, RELEASE, TOOLS, TOP, WORK, missing, needs, platforms, run

sys.path.insert(0, str(TOP / "tests/hosts"))
import machines  # noqa: E402

MUSL_ARM64 = WORK / "musl-arm64"
MUSL_ARM64_LOADER = MUSL_ARM64 / "root/lib/ld-musl-aarch64.so.1"
BINARIES = BUILD / "binaries"
LIBRARIES = {platform.name: BINARIES / platform.name / platform.library
             for platform in platforms.PLATFORMS}
TARGETS = {platform.name: platform.target for platform in platforms.PLATFORMS}
WINE = "/usr/lib/wine/wine64"

# How a program of the platform is started here, and what that needs.
EMULATED = {
    "linux-aarch64": ("qemu-aarch64 -L /usr/aarch64-linux-gnu",
                      ["qemu-aarch64", "/usr/aarch64-linux-gnu/lib/libc.so.6"]),
    "musl-x86_64": ("/lib/ld-musl-x86_64.so.1", ["/lib/ld-musl-x86_64.so.1"]),
    "musl-aarch64": (f"qemu-aarch64 {MUSL_ARM64_LOADER}", ["qemu-aarch64", MUSL_ARM64_LOADER]),
    "windows-x86_64": (WINE, [WINE])}

# Scripts that another processor is not asked, as an emulated one is five to ten times slower, nor
# another C library. Every script that is not named here is run there.
# What they judge are texts and names, plans and cursors, transactions and connections: SQLite and
# our SQL decide it, on every processor alike.
OF_SQL_ALONE = """arguments lines options pins schema table_arguments table_basics table_connections
    table_damage table_generations table_growth table_keys table_maintenance table_refusals
    table_rows table_transactions table_urls wrong_filters""".split()
# They ask hashes and kernels over and over. The libraries for glibc and for musl have the same
# instructions there, by one compiler of one source: glibc runs them, musl runs what calls the C
# library.
OF_KERNELS_ALONE = "bitmap counting fuse golden keys merges sets table_deletes".split()
LEFT_OUT = {
    "linux-aarch64": OF_SQL_ALONE,
    "musl-x86_64": OF_SQL_ALONE + OF_KERNELS_ALONE,
    "musl-aarch64": OF_SQL_ALONE + OF_KERNELS_ALONE,
}

# By the beginnings of platforms: which libraries of the system one may need, and what it exports,
# with the linker's two names on macOS.
NEEDED = {
    "linux": r"(libc\.so\.6|libm\.so\.6|ld-linux-(x86-64|aarch64)\.so\.[12])",
    "musl": r"libc\.so",
    "macos": r"(/usr/lib/libSystem\.B\.dylib|@rpath/bloom\.dylib)",
    "windows": r"(kernel32|ntdll|api-ms-win-crt-[\w-]+|ucrtbase)\.dll",
}
EXPORTED = {"macos": ["___dso_handle", "__mh_dylib_header", "_sqlite3_bloom_init"]}
OLDEST_MACOS = {"macos-x86_64": "10.13", "macos-aarch64": "11.0"}


def fetch_musl_for_arm64():
    """Unpacks Debian's package of it; the system's own list of processors is left as it is."""
    if MUSL_ARM64_LOADER.exists() or missing("apt-get", "dpkg-deb", "qemu-aarch64"):
        return
    for name in ("lists/partial", "cache/archives/partial", "root"):
        (MUSL_ARM64 / name).mkdir(parents=True, exist_ok=True)
    apt = ["apt-get", "-q"]
    for option in ("APT::Architecture=arm64", "APT::Architectures=arm64", "APT::Sandbox::User=",
                   f"Dir::State::lists={MUSL_ARM64}/lists", "Dir::State::status=/dev/null",
                   f"Dir::Cache={MUSL_ARM64}/cache", "Acquire::Languages=none",
                   "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false"):
        apt += ["-o", option]
    try:
        run(*apt, "update", cwd=MUSL_ARM64, timeout=120)
        run(*apt, "download", "musl", cwd=MUSL_ARM64, timeout=120)
        (package,) = MUSL_ARM64.glob("musl_*_arm64.deb")
        run("dpkg-deb", "-x", package, MUSL_ARM64 / "root")
    except (AssertionError, ValueError, subprocess.SubprocessError) as error:
        print(f"musl for arm64 cannot be had: {error}"[:500])


def remote(name):
    """SQLite behind a pipe, for that platform, by zig."""
    def zig(platform, *flags):
        return [TOOLS, "-m", "ziglang", "cc", "-target", TARGETS[platform], *flags]

    # Without threads, SQLite uses of C libraries for arm64 what all of them lay out alike.
    one = "musl-aarch64" if name.endswith("aarch64") else name
    engine = machines.engine(one, zig(one, "-fno-sanitize=all", "-fPIC"), "-O0",
                             "-DSQLITE_THREADSAFE=0")
    # zig compiles the platform's C library for a link, which takes a minute. With these flags it
    # finds what it compiled for the binary.
    linked = ["-O2", "-s", *(["-dynamic"] if "musl" in TARGETS[name] else [])]
    return machines.remote(name, zig(name, *linked), engine,
                           *([] if name.startswith("windows") else ["-lm"]))


class Running(unittest.TestCase):
    def passes(self, name):
        command, tools = EMULATED[name]
        if missing(*tools):
            self.skipTest(missing(*tools))
        program = f"{command} {remote(name)}"
        machines.assert_same_fingerprint(self, LIBRARIES[name], program)
        self.assertRegex(machines.scripts(LIBRARIES[name], program, LEFT_OUT.get(name, ())),
                         r"^\d{3,} passed, 0 failed")


class X86(Running):
    @unittest.skipIf(os.uname().machine != "x86_64", "skipped: this is no x86_64")
    def test_linux_x86_64(self):
        self.assertRegex(machines.scripts(LIBRARIES["linux-x86_64"]), r"^\d{4,} passed, 0 failed")

    def test_musl_x86_64(self):
        self.passes("musl-x86_64")

    @needs(WINE)
    def test_windows_x86_64(self):
        os.environ |= {"WINEDEBUG": "-all", "WINEPREFIX": str(WORK / "wine")}
        subprocess.run([WINE, "wineboot", "-i"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False, timeout=300)
        self.passes("windows-x86_64")


class Arm64(Running):
    def test_linux_aarch64(self):
        self.passes("linux-aarch64")


class MuslArm64(Running):
    def test_musl_aarch64(self):
        fetch_musl_for_arm64()
        self.passes("musl-aarch64")


class Contents(unittest.TestCase):
    def test_every_platform_has_its_zip(self):
        for platform in platforms.PLATFORMS:
            path = BINARIES / f"sqlite-bloom-{RELEASE}-{platform.name}.zip"
            with zipfile.ZipFile(path) as archive:
                self.assertEqual(archive.namelist(),
                                 ["LICENSE", platform.library, "sqlite-bloom.h"])
                self.assertEqual(archive.read(platform.library),
                                 LIBRARIES[platform.name].read_bytes())

    def test_sqlpkg_finds_a_zip_for_each_system_that_it_knows(self):
        files = json.loads((BINARIES / "sqlpkg.json").read_text())["assets"]["files"]
        self.assertEqual(sorted(files), ["darwin-amd64", "darwin-arm64", "linux-amd64",
                                         "linux-arm64", "windows-amd64", "windows-arm64"])
        for name in files.values():
            self.assertTrue((BINARIES / name).exists(), name)

    @needs("llvm-readobj", "llvm-nm", "llvm-objdump")
    def test_they_export_one_name_and_need_only_what_old_systems_have(self):
        for name, library in LIBRARIES.items():
            system, processor = name.split("-")
            with self.subTest(platform=name):
                said = run("llvm-readobj", "--file-header", "--needed-libs", "--coff-exports",
                           *(["--macho-version-min"] if system == "macos" else []), library)
                self.assertIn(f"Arch: {processor}\n", said)
                needed = re.search(r"NeededLibraries \[\n(.*?)\]", said, re.S)[1].lower().split()
                self.assertNotEqual(needed, [])
                for one in needed:
                    self.assertRegex(one, f"(?i)^{NEEDED[system]}$")
                symbols = run("llvm-nm", *(["-D"] if system in ("linux", "musl") else ["-g"]),
                              library) if system != "windows" else ""
                exported = (re.findall(r"Export {[^}]* Name: (\w+)", said)
                            or re.findall(r"^\w+ [A-Z] (\w+)$", symbols, re.M))
                self.assertEqual(exported, EXPORTED.get(system, ["sqlite3_bloom_init"]))
                versions = re.findall(r"@GLIBC_([\d.]+)", symbols)
                self.assertEqual(bool(versions), system == "linux")
                for version in versions:
                    self.assertLessEqual(tuple(map(int, version.split("."))), (2, 17))
                self.assertEqual(re.findall(r"  Version: ([\d.]+)\n  SDK", said),
                                 [OLDEST_MACOS[name]] if system == "macos" else [])
                code = run("llvm-objdump", "-dp", "--no-show-raw-insn", library)
                if name == "macos-aarch64":  # Apple's processors run nothing that is not signed
                    self.assertIn("LC_CODE_SIGNATURE", code)
                # The kernels are in it: AVX-512, AVX2, NEON.
                kernels = ("%zmm", "%ymm") if processor == "x86_64" else ("uminv",)
                for instruction in kernels:
                    self.assertIn(instruction, code)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
