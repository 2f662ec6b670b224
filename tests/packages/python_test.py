#!/usr/bin/env python3
"""The Python packages, installed by pip as their users would."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest
import zipfile

from common import (BUILD, DRIVERS, FILTER, FILTER_MD5, FINGERPRINT_WORDS, PYTHON_PROGRAM, RELEASE,
                    TOP, Python, Scratch, comments, examples, needs, platforms, quick_compilers,
                    run, sanitized_module)

PYTHON = BUILD / "python"
TYPED = """
import collections.abc
import sqlite3
import aiosqlite
import numpy
import sqlalchemy
import sqlite_bloom
from sqlalchemy.ext.asyncio import AsyncConnection
path: str = sqlite_bloom.loadable_path()
sqlite_bloom.load(sqlite3.connect(path))
release: str = sqlite_bloom.__version__
sqlite_bloom.load(sqlalchemy.create_engine("sqlite://"))
async def asynchronous(one: aiosqlite.Connection, two: AsyncConnection) -> None:
    await sqlite_bloom.load(one)
    await sqlite_bloom.load(two)
filter: sqlite_bloom.Filter = sqlite_bloom.Filter.build(["a", 1, None], layout="fuse")
sqlite_bloom.Filter.build([b''], progress=print)
added: int = sqlite_bloom.add_all(sqlite3.connect(path), 'seen', [1, 'a'])
sqlite_bloom.Filter.build([object()])  # type: ignore[list-item]
found: list[bool | None] = filter.check(["a", 1, None])
frame = numpy.array([1])[filter.check(numpy.array([1]))]
sqlite_bloom.Filter(bytes(filter)).check(["a"])
sqlite_bloom.Filter(10, key="url", salt=bytes(16))
sqlite_bloom.Filter.from_blocklist("0.0.0.0 a.example", 0.001, layout="fuse")
sqlite_bloom.Filter("x")  # type: ignore[call-overload]
sqlite_bloom.Filter(0.01, 1000)  # type: ignore[call-overload]
sqlite_bloom.load("x")  # type: ignore[call-overload]
hashed: collections.abc.Hashable = filter  # type: ignore[assignment]
sqlite_bloom.load(sqlite3.connect(path).cursor())
with sqlalchemy.create_engine("sqlite://").connect() as connection:
    sqlite_bloom.load(connection)
sqlite3.connect(path).execute("SELECT ?", [filter])
class Named(sqlite_bloom.Filter):
    def __init__(self, name: str) -> None:
        super().__init__(10, fpr=0.1)
named: Named = Named("a") | filter
named |= filter
count: int | None = named.count()
named.update(["a"], [1], progress=print)
within: bool = "a" in named
capacity: int | None = Named.build([1]).copy().capacity
[] in named  # type: ignore[operator]
named.add([])  # type: ignore[arg-type]
"""


class Programs(unittest.TestCase):
    """With the packages that people use."""

    @classmethod
    def setUpClass(cls):
        cls.environment = Python("--no-index", with_drivers=True)
        cls.addClassCleanup(cls.environment.remove)
        cls.python = staticmethod(cls.environment.run)

    def test_programs(self):
        self.python(TOP / "tests/packages/python_programs.py",
                    env={"FILTER": FILTER, "FILTER_MD5": FILTER_MD5})

    def test_filters(self):
        self.python(TOP / "tests/packages/filter_programs.py")

    @needs("gcc")
    def test_filters_with_sanitizers(self):
        folder = self.environment.folder / "sanitized"
        (package,) = self.environment.folder.glob("lib/*/site-packages/sqlite_bloom")
        shutil.copytree(package, folder / "sqlite_bloom")
        environment = sanitized_module(
            folder / "sqlite_bloom/_filter.abi3.so", TOP / "ext/packages/cpython",
            *(TOP / "ext/packages/python").glob("*.c"))
        self.python(
            TOP / "tests/packages/filter_programs.py", "AsInSql", "AsASet", "Lists", "Bytes",
            "Columns", "Random", env={**environment, "PYTHONPATH": str(folder),
                                      "PYTHONMALLOC": "malloc", "EXAMPLES": "30"})

    def test_scrapy(self):
        self.python(TOP / "tests/packages/scrapy_programs.py")

    def test_type_hints(self):
        (self.environment.folder / "typed.py").write_text(TYPED)
        self.assertIn("Success", self.python("-m", "mypy", "--strict", "typed.py"))

    def test_every_example_of_the_readme_prints_what_it_says(self):
        programs = examples((TOP / "ext/packages/python/README.md").read_text(), "python")
        self.assertGreater(len(programs), 8)
        for program in programs:
            (self.environment.folder / "example.py").write_text(program)
            printed = self.python("-W", "error", "example.py").splitlines()
            self.assertNotEqual(printed, [])
            self.assertEqual(printed, comments(program))


# Run by every Python that is here. In one without the stable ABI the rest of the package works.
EVERYWHERE = """
import array, pickle, sqlite3, sys, sqlite_bloom
if (sys.implementation.name == "cpython" and sys.version_info >= (3, 10)
        and "free-threading" not in sys.version):
    f = sqlite_bloom.Filter.build(map(str, range(1000)))
    f.update(array.array("q", range(1000)))
    assert f.check(["7", None]) == [True, None] and 7 in f and pickle.loads(pickle.dumps(f)) == f
    f = sqlite_bloom.Filter(sqlite3.connect("").execute("SELECT ?", [f]).fetchone()[0])
    f.add("more")
    assert memoryview(f) == bytes(f) and "more" in f
else:
    for call in (sqlite_bloom.Filter, sqlite_bloom.Filter.build):
        try:
            raise SystemExit(call([1]))
        except NotImplementedError as error:
            assert "needs a wheel and CPython 3.10 or later with a GIL, but" in str(error)
try:
    connection = sqlite3.connect(":memory:")
    sqlite_bloom.load(connection)
    connection.execute("CREATE VIRTUAL TABLE seen USING bloom")
    assert sqlite_bloom.add_all(connection, "seen", "abc".split()) == 1
except NotImplementedError as error:
    assert "was built without extension loading" in str(error)
"""


class Versions(Scratch):
    def setUp(self):
        super().setUp()
        (wheel,) = PYTHON.glob("*manylinux*x86_64.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.folder)

    def test_every_python_that_is_here(self):
        names = [*(f"python3.{minor}{kind}" for minor in range(8, 20) for kind in ("", "t")),
                 "pypy3", *map(str, pathlib.Path.home().glob(".pyenv/versions/*/bin/python3"))]
        versions = {}
        for name in filter(shutil.which, names):
            said = subprocess.run([name, "-c", "import sys; print(sys.version)"], text=True,
                                  capture_output=True, check=False).stdout
            if said and tuple(map(int, re.findall(r"\d+", said)[:2])) >= (3, 8):
                versions.setdefault(said, name)
        self.assertNotEqual(versions, {})
        for version, name in versions.items():
            with self.subTest(version=version):
                run(name, "-W", "error", "-c", EVERYWHERE, cwd=self.folder)

    @needs("python3-dbg")
    def test_no_reference_is_lost(self):
        (drivers,) = DRIVERS.glob("lib/*/site-packages")
        self.assertEqual(run("python3-dbg", TOP / "tests/packages/filter_programs.py", "leaks",
                             env={"PYTHONPATH": f"{self.folder}:{drivers}"}), "")


class SourceDistribution(Scratch):
    def test_it_compiles_where_there_is_no_wheel(self):
        quick_compilers(self.folder)
        environment = Python("--no-binary", "sqlite-bloom",
                             PATH=f"{self.folder}:{os.environ['PATH']}")
        self.addCleanup(environment.remove)
        self.assertEqual(environment.run("-c", PYTHON_PROGRAM).strip(), FINGERPRINT_WORDS)


class Files(Scratch):
    def test_there_is_a_wheel_for_every_platform_with_its_library(self):
        wheels = {f"sqlite_bloom-{RELEASE}-py3-none-{platform.wheel}.whl": platform
                  for platform in platforms.PLATFORMS}
        self.assertEqual({path.name for path in PYTHON.glob("*.whl")}, set(wheels))
        for wheel, platform in wheels.items():
            with zipfile.ZipFile(PYTHON / wheel) as archive:
                library = (BUILD / "binaries" / platform.name / platform.library).read_bytes()
                self.assertEqual(archive.read(f"sqlite_bloom/{platform.library}"), library)
                module = "_filter.pyd" if platform.os == "win32" else "_filter.abi3.so"
                compiled = re.findall(r"\S+\.(?:so|dylib|dll|pyd)\b", "\n".join(archive.namelist()))
                self.assertEqual(
                    compiled, [f"sqlite_bloom/{name}" for name in (module, platform.library)])
                folder = f"sqlite_bloom-{RELEASE}.dist-info"
                self.assertIn(f"{folder}/licenses/LICENSE", archive.namelist())
                self.assertIn(f"Root-Is-Purelib: false\nTag: py3-none-{platform.wheel}\n",
                              archive.read(f"{folder}/WHEEL").decode())


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
