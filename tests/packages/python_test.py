#!/usr/bin/env python3
"""The Python packages, installed by pip into clean environments as their users would."""

import hashlib
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import zipfile

from common import (
    BUILD,
    FILTER,
    FILTER_MD5,
    FINGERPRINT,
    FINGERPRINT_ANSWER,
    RELEASE,
    platforms,
    run,
)

PYTHON = BUILD / "python"
PROGRAM = f"""
import hashlib, sqlite_bloom
from MODULE import CONNECT as connect
connection = connect(":memory:")
sqlite_bloom.load(connection)
cursor = connection.cursor()
print(list(cursor.execute({FINGERPRINT!r}))[0])
print(hashlib.md5(list(cursor.execute({FILTER!r}))[0][0]).hexdigest())
print(list(cursor.execute("SELECT bloom_version()"))[0][0])
try:
    list(cursor.execute("SELECT load_extension('x')"))
    print("loads")
except Exception as error:
    print(error)
"""


class Environment:
    """A virtual environment of its own, in which pip sees our packages beside those of PyPI."""

    def __init__(self, *packages):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        run(sys.executable, "-m", "venv", self.folder)
        self.pip("install", *packages)

    def pip(self, *arguments):
        return run(
            self.folder / "bin/python",
            "-m",
            "pip",
            *arguments,
            "-q",
            "--disable-pip-version-check",
            "--find-links",
            PYTHON,
            cwd=self.folder,
        )

    def run(self, program, *arguments, **options):
        return run(self.folder / "bin" / program, *arguments, cwd=self.folder, **options)

    def remove(self):
        shutil.rmtree(self.folder)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.environment = Environment("--no-index", "sqlite-bloom")
        cls.addClassCleanup(cls.environment.remove)

    def answers(self, module, connect):
        lines = self.environment.run(
            "python", "-c", PROGRAM.replace("MODULE", module).replace("CONNECT", connect)
        ).splitlines()
        self.assertEqual(lines[0], str(FINGERPRINT_ANSWER))
        self.assertEqual(lines[1], FILTER_MD5)
        self.assertRegex(lines[2], rf"^bloom {re.escape(RELEASE)}, ")
        self.assertIn("not authorized", lines[3])  # loading is off again

    def test_pip_chose_the_wheel_and_nothing_else(self):
        self.assertRegex(
            self.environment.run("python", "-m", "pip", "list", "--format=freeze"),
            rf"sqlite-bloom=={re.escape(RELEASE)}\n",
        )
        files = self.environment.run("python", "-m", "pip", "show", "-f", "sqlite-bloom")
        self.assertIn("sqlite_bloom/bloom.so", files)

    def test_sqlite3(self):
        self.answers("sqlite3", "connect")

    def test_apsw_and_sqlalchemy(self):
        self.environment.pip("install", "apsw", "sqlalchemy")
        self.answers("apsw", "Connection")
        program = (
            "import sqlalchemy, sqlite_bloom\n"
            'engine = sqlalchemy.create_engine("sqlite://")\n'
            'sqlalchemy.event.listens_for(engine, "connect")(lambda connection, record:'
            " sqlite_bloom.load(connection))\n"
            f"print(engine.connect().execute(sqlalchemy.text({FINGERPRINT!r})).fetchone())\n"
        )
        self.assertEqual(self.environment.run("python", "-c", program), f"{FINGERPRINT_ANSWER}\n")

    def test_datasette_and_sqlite_utils_need_no_more_than_the_installation(self):
        self.environment.pip("install", "datasette", "sqlite-utils", "setuptools")
        answer = json.loads(
            self.environment.run(
                "sqlite-utils", "memory", FINGERPRINT.replace("length(f)", "length(f) AS bytes")
            )
        )[0]
        self.assertEqual(tuple(answer.values()), FINGERPRINT_ANSWER)
        answer = self.environment.run(
            "datasette",
            "--memory",
            "--get",
            "/_memory.json?_shape=array&k=1&sql="
            "select+bloom_check(bloom_agg(1),CAST(:k+AS+INTEGER))+as+found",
        )
        self.assertEqual(json.loads(answer), [{"found": 1}])
        self.assertIn("sqlite-bloom", self.environment.run("datasette", "plugins"))
        self.assertIn("sqlite-bloom", self.environment.run("sqlite-utils", "plugins"))

    def test_type_hints(self):
        self.environment.pip("install", "mypy")
        source = self.environment.folder / "typed.py"
        source.write_text(
            "import sqlite3\nimport sqlite_bloom\npath: str = sqlite_bloom.loadable_path()\n"
            "sqlite_bloom.load(sqlite3.connect(path))\nrelease: str = sqlite_bloom.__version__\n"
        )
        self.assertIn("Success", self.environment.run("mypy", "--strict", source))

    def test_a_python_without_extension_loading_is_told_of_apsw(self):
        program = (
            "import sqlite_bloom\nclass Connection:\n    cursor = None\ntry:\n   "
            " sqlite_bloom.load(Connection())\nexcept NotImplementedError as error:\n   "
            " print(error)\n"
        )
        self.assertRegex(
            self.environment.run("python", "-c", program),
            r"was built without extension loading\. .*pip install apsw",
        )

    def test_a_connection_on_which_loading_fails_has_loading_off_again(self):
        program = (
            "import sqlite_bloom\nclass Connection:\n    cursor = None\n    state = []\n    def"
            " enable_load_extension(self, on):\n        self.state.append(on)\n    def"
            " load_extension(self, path):\n        raise ValueError(path)\ntry:\n   "
            " sqlite_bloom.load(Connection())\nexcept ValueError:\n    print(Connection.state)\n"
        )
        self.assertEqual(self.environment.run("python", "-c", program), "[True, False]\n")


    def test_what_is_no_connection_or_an_asynchronous_one_is_refused(self):
        program = """
import sqlite_bloom
class Asynchronous:
    cursor = None
    async def enable_load_extension(self, on): pass
    async def load_extension(self, path): pass
for value in ("a.db", None, Asynchronous()):
    try:
        sqlite_bloom.load(value)
    except TypeError as error:
        print(error)
"""
        lines = self.environment.run("python", "-c", program).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("expects a connection of sqlite3, apsw or the like", lines[0])
        self.assertIn("not builtins.str", lines[0])
        self.assertIn("not builtins.NoneType", lines[1])
        self.assertIn("is asynchronous: await its enable_load_extension(True)", lines[2])

    def test_apsw_up_to_3_41_has_other_names(self):
        program = """
import sqlite_bloom
class Connection:
    cursor = None
    def enableloadextension(self, on): print(on)
    def loadextension(self, path): print(path == sqlite_bloom.loadable_path())
sqlite_bloom.load(Connection())
"""
        self.assertEqual(self.environment.run("python", "-c", program), "True\nTrue\nFalse\n")


class SourceDistribution(unittest.TestCase):
    def test_it_compiles_where_there_is_no_wheel(self):
        environment = Environment("--no-binary", "sqlite-bloom", "sqlite-bloom")
        self.addCleanup(environment.remove)
        lines = environment.run(
            "python", "-c", PROGRAM.replace("MODULE", "sqlite3").replace("CONNECT", "connect")
        ).splitlines()
        self.assertEqual(lines[:2], [str(FINGERPRINT_ANSWER), FILTER_MD5])
        self.assertIn("gcc", lines[2])  # not zig's clang

    def test_without_a_compiler_it_says_what_to_do(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        run(sys.executable, "-m", "venv", folder)
        with self.assertRaises(AssertionError) as caught:
            run(
                folder / "bin/python",
                "-m",
                "pip",
                "install",
                "--disable-pip-version-check",
                "--find-links",
                PYTHON,
                "--no-binary",
                "sqlite-bloom",
                "sqlite-bloom",
                env={"CC": "no-such-compiler"},
            )
        self.assertIn("Install gcc or clang, or set CC to one", str(caught.exception))


class Files(unittest.TestCase):
    def test_pip_finds_the_right_wheel_on_every_platform(self):
        for platform in platforms.PLATFORMS:
            with self.subTest(platform=platform.name):
                folder = pathlib.Path(tempfile.mkdtemp())
                self.addCleanup(shutil.rmtree, folder)
                run(
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "-q",
                    "--disable-pip-version-check",
                    "--no-index",
                    "--find-links",
                    PYTHON,
                    "--no-deps",
                    "--only-binary",
                    ":all:",
                    "--platform",
                    platform.wheel,
                    "-d",
                    folder,
                    "sqlite-bloom",
                )
                wheel = f"sqlite_bloom-{RELEASE}-py3-none-{platform.wheel}.whl"
                self.assertEqual([path.name for path in folder.iterdir()], [wheel])
                with zipfile.ZipFile(folder / wheel) as archive:
                    library = (BUILD / "binaries" / platform.name / platform.library).read_bytes()
                    self.assertEqual(archive.read(f"sqlite_bloom/{platform.library}"), library)
                    self.assertIn(
                        f"Tag: py3-none-{platform.wheel}\n",
                        archive.read(f"sqlite_bloom-{RELEASE}.dist-info/WHEEL").decode(),
                    )
                    self.assertIn(
                        "Root-Is-Purelib: false",
                        archive.read(f"sqlite_bloom-{RELEASE}.dist-info/WHEEL").decode(),
                    )

    def test_wheels_come_out_the_same_every_time(self):
        def digests():
            return {
                path.name: hashlib.md5(path.read_bytes()).hexdigest()
                for path in PYTHON.glob("*.whl")
            }

        before = digests()
        run(BUILD / "tools/bin/python", "ext/packages/python/build.py")
        self.assertEqual(digests(), before)

    def test_the_example_of_the_readme_runs(self):
        environment = Environment("--no-index", "sqlite-bloom")
        self.addCleanup(environment.remove)
        example = re.search(
            r"```python\n(.*?)```", (BUILD / "work/python/README.md").read_text(), re.DOTALL
        )[1]
        self.assertEqual(environment.run("python", "-c", example), "1\n0\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
