#!/usr/bin/env python3
"""The Python packages, installed by pip as their users would."""

import unittest
import zipfile

from common import (BUILD, FILTER, FILTER_MD5, FINGERPRINT, FINGERPRINT_WORDS, RELEASE, TOP, Python,
                    Scratch, comments, examples, platforms)

PYTHON = BUILD / "python"
TYPED = """
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
filter: sqlite_bloom.Filter = sqlite_bloom.build(["a", 1, None], 10, options="fuse")
sqlite_bloom.build([b''], progress=print)
added: int = sqlite_bloom.add_all(sqlite3.connect(path), 'seen', [1, 'a'])
sqlite_bloom.build([object()])  # type: ignore[list-item]
found: list[bool | None] = sqlite_bloom.check(filter, ["a", 1, None])
frame = numpy.array([1])[sqlite_bloom.check(filter, numpy.array([1]))]
sqlite_bloom.check("a", ["a"])  # type: ignore[call-overload]
sqlite_bloom.check(bytes(filter), ["a"])
sqlite3.connect(path).execute("SELECT ?", [filter])
class Named(sqlite_bloom.Filter):
    name: str
named: Named = Named(10, fpr=0.1) | filter
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


class SourceDistribution(Scratch):
    def test_it_compiles_where_there_is_no_wheel(self):
        environment = Python("--no-binary", "sqlite-bloom")
        self.addCleanup(environment.remove)
        printed = environment.run("-c", f"""
import sqlite3, sqlite_bloom
connection = sqlite3.connect(":memory:")
sqlite_bloom.load(connection)
print(*connection.execute({FINGERPRINT!r}).fetchone())
""")
        self.assertEqual(printed.strip(), FINGERPRINT_WORDS)


class Files(Scratch):
    def test_there_is_a_wheel_for_every_platform_with_its_library(self):
        wheels = {f"sqlite_bloom-{RELEASE}-py3-none-{platform.wheel}.whl": platform
                  for platform in platforms.PLATFORMS}
        self.assertEqual({path.name for path in PYTHON.glob("*.whl")}, set(wheels))
        for wheel, platform in wheels.items():
            with zipfile.ZipFile(PYTHON / wheel) as archive:
                library = (BUILD / "binaries" / platform.name / platform.library).read_bytes()
                self.assertEqual(archive.read(f"sqlite_bloom/{platform.library}"), library)
                folder = f"sqlite_bloom-{RELEASE}.dist-info"
                self.assertIn(f"{folder}/licenses/LICENSE", archive.namelist())
                self.assertIn(f"Root-Is-Purelib: false\nTag: py3-none-{platform.wheel}\n",
                              archive.read(f"{folder}/WHEEL").decode())


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
