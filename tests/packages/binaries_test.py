"""The binaries of all platforms: what can be run here is, under an emulator where need be; the
others are looked into.

Where a binary runs it must pass the scripts of tests/sql, inside an SQLite that is compiled for the
same platform; and the filter library, compiled as the binary was, must make the bytes that it makes
here. musl's loader for arm64 is no package of this machine's own processor: apt-get fetches it
(400 kB, and 10 MB of lists, once) into build/packages/work.
"""

import fcntl
import json
import os
import pathlib
import re
import struct
import subprocess
import unittest
import zipfile

from common import BUILD, RELEASE, TOOLS, TOP, WORK, missing, platforms, run, scripts, sqlite_source

MUSL_ARM64 = WORK / "musl-arm64"
MUSL_ARM64_LOADER = MUSL_ARM64 / "root/lib/ld-musl-aarch64.so.1"
BINARIES = BUILD / "binaries"
LIBRARIES = {
    platform.name: BINARIES / platform.name / platform.library for platform in platforms.PLATFORMS
}
TARGETS = {platform.name: platform.target for platform in platforms.PLATFORMS}
WINE = "/usr/lib/wine/wine64"

# How a program of the platform is started here, and what that needs.
EMULATED = {
    "linux-aarch64": (
        "qemu-aarch64 -L /usr/aarch64-linux-gnu",
        ["qemu-aarch64", "/usr/aarch64-linux-gnu/lib/libc.so.6"],
    ),
    "musl-x86_64": ("/lib/ld-musl-x86_64.so.1", ["/lib/ld-musl-x86_64.so.1"]),
    "musl-aarch64": (f"qemu-aarch64 {MUSL_ARM64_LOADER}", ["qemu-aarch64", MUSL_ARM64_LOADER]),
    "windows-x86_64": (WINE, [WINE]),
}

# Scripts that another processor is not asked, as an emulated one is five to ten times slower, nor
# another C library. Every script that is not named here is run there.
# What they judge are texts and names, plans and cursors, transactions and connections: SQLite and
# our SQL decide it, on every processor alike.
OF_SQL_ALONE = """arguments null_filters options pins schema table_arguments table_basics
    table_connections table_generations table_maintenance table_refusals table_rows
    table_transactions""".split()
# They ask hashes and kernels over and over. The libraries for glibc and for musl have the same
# instructions there, by one compiler of one source: glibc runs them, musl runs what calls the C
# library.
OF_KERNELS_ALONE = "bitmap sets table_add_all table_growth".split()
LEFT_OUT = {
    "linux-aarch64": OF_SQL_ALONE,
    "musl-x86_64": OF_SQL_ALONE + OF_KERNELS_ALONE,
    "musl-aarch64": OF_SQL_ALONE + OF_KERNELS_ALONE,
}


def compiled(name, target, *words):
    """What zig compiles of these words for a platform, by the first suite that asks for it."""
    path = WORK / "foreign" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    sources = [word.stat().st_mtime for word in words if isinstance(word, pathlib.Path)]
    with open(f"{path}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists() or path.stat().st_mtime < max(sources):
            dynamic = ["-dynamic"] if "musl" in target else []
            run(TOOLS, "-m", "ziglang", "cc", "-target", target, *dynamic, *words, "-o", path)
    return path


def fetch_musl_for_arm64():
    """Unpacks Debian's package of it; the system's own list of processors is left as it is."""
    if MUSL_ARM64_LOADER.exists() or missing("apt-get", "dpkg-deb", "qemu-aarch64"):
        return
    for name in ("lists/partial", "cache/archives/partial", "root"):
        (MUSL_ARM64 / name).mkdir(parents=True, exist_ok=True)
    options = (
        "APT::Architecture=arm64",
        "APT::Architectures=arm64",
        "APT::Sandbox::User=",
        f"Dir::State::lists={MUSL_ARM64}/lists",
        "Dir::State::status=/dev/null",
        f"Dir::Cache={MUSL_ARM64}/cache",
        "Acquire::Languages=none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
    )
    apt = ["apt-get", "-q", *(word for option in options for word in ("-o", option))]
    try:
        run(*apt, "update", cwd=MUSL_ARM64, timeout=120)
        run(*apt, "download", "musl", cwd=MUSL_ARM64, timeout=120)
        (package,) = MUSL_ARM64.glob("musl_*_arm64.deb")
        run("dpkg-deb", "-x", package, MUSL_ARM64 / "root")
    except (AssertionError, ValueError, subprocess.SubprocessError) as error:
        print(f"musl for arm64 cannot be had: {error}"[:500])


def mathematics(name):
    return [] if name.startswith("windows") else ["-lm"]


def fingerprint(name, command="", *arguments):
    """The filter library on a platform, compiled as its binary was: what it says of its bytes, or
    of its kernels.
    """
    program = compiled(
        f"fingerprint-{name}.exe",
        TARGETS[name],
        *(flag for flag in platforms.FLAGS if flag != "-shared"),
        *("-I", TOP / "ext", "-include", BUILD / "amalgamation/sqlite-bloom-filter.c"),
        *(TOP / "tests/hosts/fingerprint.c", *mathematics(name)),
    )
    # %a of Windows writes zeros at the end: 0x1.8000000000000p-1.
    said = re.sub(r"\.([0-9a-f]*?)0+p", r".\1p", run(*command.split(), program, *arguments))
    return said.replace(".p", "p").splitlines()


def remote(name):
    """SQLite behind a pipe, for that platform."""
    sqlite, source = sqlite_source.folder(), TOP / "tests/packages/remote/remote.c"
    target, optimize = TARGETS[name], "-O0"  # what this processor runs is compiled for longer
    if name.endswith("aarch64"):
        # Without threads, SQLite uses of C libraries for arm64 what all of them lay out alike.
        target, optimize = TARGETS["musl-aarch64"], "-O1"
    engine = compiled(f"sqlite3-{target}.o", target,
                      *(optimize, "-g0", "-w", "-fno-sanitize=all", "-DSQLITE_THREADSAFE=0", "-c"),
                      sqlite / "sqlite3.c")
    return compiled(f"remote-{name}.exe", TARGETS[name],
                    *("-O1", "-s", "-I", sqlite, source, engine, *mathematics(name)))


def kernels(name):
    """The lines of fingerprint.c, by what Linux says of this processor, which the emulated ones of
    arm64 are not.
    """
    flags = ["neon"]
    if name.endswith("x86_64"):
        processor = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii")
        flags = re.search(r"^flags\s*: (.*)", processor, re.M)[1].split()
    known = {"blocked": ["avx512f", "avx2", "neon"], "counting": ["avx512f"], "parquet": ["avx2"]}
    return [
        " ".join([layout, *(flag.rstrip("f") for flag in kinds if flag in flags), "portable"])
        for layout, kinds in known.items()
    ]


class Running(unittest.TestCase):
    def passes_scripts(self, name):
        command, needs = EMULATED[name]
        if missing(*needs):
            self.skipTest(missing(*needs))
        os.environ |= {"WINEDEBUG": "-all", "WINEPREFIX": str(WORK / "wine")}
        if name.startswith("windows"):
            subprocess.run([WINE, "wineboot", "-i"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False, timeout=300)
        here = fingerprint(f"linux-{os.uname().machine}")
        there = fingerprint(name, command)
        self.assertGreater(len(there), 3000)
        self.assertEqual(len(there), len(here))
        for line, line_here in zip(there, here):  # of two long lists a difference takes long
            self.assertEqual(line, line_here)
        self.assertEqual(fingerprint(name, command, "kernels"), kernels(name))
        self.assertRegex(
            scripts(LIBRARIES[name], f"{command} {remote(name)}", LEFT_OUT.get(name, ())),
            r"^\d{4,} passed, 0 failed",
        )


class X86(Running):
    def test_linux_x86_64(self):
        if os.uname().machine != "x86_64":
            self.skipTest("skipped: this is no x86_64")
        self.assertEqual(fingerprint("linux-x86_64", "", "kernels"), kernels("linux-x86_64"))
        self.assertRegex(scripts(LIBRARIES["linux-x86_64"]), r"^\d{4,} passed, 0 failed")

    def test_musl_x86_64(self):
        self.passes_scripts("musl-x86_64")

    def test_windows_x86_64(self):
        self.passes_scripts("windows-x86_64")


class Arm64(Running):
    def test_linux_aarch64(self):
        self.passes_scripts("linux-aarch64")


class MuslArm64(Running):
    def test_musl_aarch64(self):
        fetch_musl_for_arm64()
        self.passes_scripts("musl-aarch64")


class Portable:
    """A library of Windows, read far enough to tell what it exports and which libraries it needs
    (PE/COFF specification).
    """

    def __init__(self, data):
        self.data = data
        start = self.number("<I", 0x3C)
        assert data[start : start + 4] == b"PE\0\0"
        self.machine, sections = self.number("<H", start + 4), self.number("<H", start + 6)
        optional = start + 24
        assert self.number("<H", optional) == 0x20B, "64 bits"
        first = optional + self.number("<H", start + 20)
        self.sections = [
            struct.unpack_from("<IIII", data, first + 40 * i + 8) for i in range(sections)
        ]
        exports, imports = self.number("<I", optional + 112), self.number("<I", optional + 120)
        table = self.place(exports)
        names = self.place(self.number("<I", table + 32))
        self.exports = [
            self.text(self.number("<I", names + 4 * i))
            for i in range(self.number("<I", table + 24))
        ]
        self.needs, entry = [], self.place(imports)
        while self.number("<I", entry + 12):
            self.needs.append(self.text(self.number("<I", entry + 12)).lower())
            entry += 20

    def number(self, kind, offset):
        return struct.unpack_from(kind, self.data, offset)[0]

    def place(self, address):
        return next(
            address - virtual + raw
            for size, virtual, raw_size, raw in self.sections
            if virtual <= address < virtual + max(size, raw_size)
        )

    def text(self, address):
        start = self.place(address)
        return self.data[start : self.data.index(b"\0", start)].decode()


class MachO:
    """A library of macOS, read far enough (Apple's mach-o/loader.h describes the format)."""

    SYMTAB, LOAD_DYLIB, ID_DYLIB, SIGNATURE, MINIMUM, BUILD = 0x2, 0xC, 0xD, 0x1D, 0x24, 0x32

    def __init__(self, data):
        magic, self.processor, _, kind, count = struct.unpack_from("<5I", data)
        assert (magic, kind) == (0xFEEDFACF, 6), "a library of 64 bits"
        self.needs, self.exports, self.name, self.oldest, self.signed = [], [], None, None, False
        offset = 32
        for _ in range(count):
            command, size = struct.unpack_from("<2I", data, offset)
            if command in (self.LOAD_DYLIB, self.ID_DYLIB):
                start = offset + struct.unpack_from("<I", data, offset + 8)[0]
                text = data[start : offset + size].split(b"\0")[0].decode()
                if command == self.ID_DYLIB:
                    self.name = text
                else:
                    self.needs.append(text)
            elif command in (self.MINIMUM, self.BUILD):
                version = struct.unpack_from(
                    "<I", data, offset + (8 if command == self.MINIMUM else 12)
                )[0]
                self.oldest = (version >> 16, version >> 8 & 0xFF)
            elif command == self.SIGNATURE:
                self.signed = True
            elif command == self.SYMTAB:
                symbols, number, strings = struct.unpack_from("<3I", data, offset + 8)
                for i in range(number):
                    where, flags, section = struct.unpack_from("<IBB", data, symbols + 16 * i)
                    if (
                        flags & 0x0F == 0x0F and not flags & 0x10
                    ):  # defined here, seen by others, and not private
                        self.exports.append(data[strings + where :].split(b"\0", 1)[0].decode())
            offset += size


class Contents(unittest.TestCase):
    def test_every_platform_has_its_zip(self):
        for platform in platforms.PLATFORMS:
            with self.subTest(platform=platform.name), zipfile.ZipFile(
                BINARIES / f"sqlite-bloom-{RELEASE}-{platform.name}.zip"
            ) as archive:
                self.assertEqual(
                    archive.namelist(), ["LICENSE", platform.library, "sqlite-bloom.h"]
                )
                self.assertEqual(archive.read(platform.library),
                                 LIBRARIES[platform.name].read_bytes())

    def test_sqlpkg_finds_a_zip_for_each_system_that_it_knows(self):
        files = json.loads((BINARIES / "sqlpkg.json").read_text())["assets"]["files"]
        self.assertEqual(sorted(files), ["darwin-amd64", "darwin-arm64", "linux-amd64",
                                         "linux-arm64", "windows-amd64", "windows-arm64"])
        for name in files.values():
            self.assertTrue((BINARIES / name).exists(), name)

    def test_on_linux_nothing_newer_than_glibc_2_17_is_needed_and_one_name_exported(self):
        for name, library in LIBRARIES.items():
            if not name.startswith(("linux", "musl")):
                continue
            with self.subTest(platform=name):
                machine = run("readelf", "-h", library)
                self.assertIn("AArch64" if name.endswith("aarch64") else "X86-64", machine)
                needed = set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library)))
                self.assertLessEqual(
                    needed,
                    (
                        {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
                        if name.startswith("linux")
                        else {"libc.so"}
                    ),
                    needed,
                )
                symbols = run("readelf", "--dyn-syms", "-W", library)
                versions = {
                    tuple(map(int, version.split(".")))
                    for version in re.findall(r"@GLIBC_([\d.]+)", symbols)
                }
                self.assertEqual(bool(versions), name.startswith("linux"))
                self.assertLessEqual(max(versions, default=(0,)), (2, 17))
                defined = [
                    line.split()
                    for line in symbols.splitlines()
                    if re.search(r" (GLOBAL|WEAK) +DEFAULT +\d+ ", line)
                ]
                self.assertEqual([words[-1] for words in defined], ["sqlite3_bloom_init"])

    def test_on_windows_one_name_is_exported_and_the_systems_own_libraries_suffice(self):
        for name, machine in (("windows-x86_64", 0x8664), ("windows-aarch64", 0xAA64)):
            with self.subTest(platform=name):
                library = Portable(LIBRARIES[name].read_bytes())
                self.assertEqual(library.machine, machine)
                self.assertEqual(library.exports, ["sqlite3_bloom_init"])
                for needed in library.needs:
                    self.assertRegex(
                        needed, r"^(kernel32|ntdll|api-ms-win-crt-[\w-]+|ucrtbase)\.dll$"
                    )

    def test_on_macos_one_name_is_exported_and_the_oldest_system_is_as_promised(self):
        for name, processor, oldest in (
            ("macos-x86_64", 0x01000007, (10, 13)),
            ("macos-aarch64", 0x0100000C, (11, 0)),
        ):
            with self.subTest(platform=name):
                library = MachO(LIBRARIES[name].read_bytes())
                self.assertEqual(library.processor, processor)
                self.assertEqual((library.oldest[0], library.oldest[1] & 0xFF), oldest)
                self.assertEqual(
                    set(library.exports) - {"__mh_dylib_header", "___dso_handle"},
                    {"_sqlite3_bloom_init"},
                )  # the linker's two
                self.assertEqual(library.name, "@rpath/bloom.dylib")
                self.assertEqual(library.needs, ["/usr/lib/libSystem.B.dylib"])
                if (
                    name == "macos-aarch64"
                ):  # Apple's processors run nothing that is not signed, if only by the linker
                    self.assertTrue(library.signed)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
