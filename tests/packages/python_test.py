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

from common import (BUILD, FILTER, FILTER_MD5, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, platforms,
                    run)

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
        return run(self.folder / "bin/python", "-m", "pip", *arguments, "-q",
                   "--disable-pip-version-check", "--find-links", PYTHON, cwd=self.folder)

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
        self.assertRegex(self.environment.run("python", "-m", "pip", "list", "--format=freeze"),
                         rf"sqlite-bloom=={re.escape(RELEASE)}\n")
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

    def test_tools_that_count_every_table_do_not_see_an_attached_file(self):
        self.environment.pip("install", "datasette", "sqlite-utils", "setuptools")
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.environment.run("python", "-c", f"""
import os, sqlite3, sqlite_bloom
os.chdir({folder!r})
connection = sqlite3.connect("shop.db")
sqlite_bloom.load(connection)
connection.execute("ATTACH 'filters.db' AS filters")
connection.execute("CREATE TABLE visits(url)")
connection.execute("INSERT INTO visits VALUES ('a'), ('b')")
connection.execute("CREATE VIRTUAL TABLE filters.seen USING bloom")
connection.commit()
""")
        counts = self.environment.run("sqlite-utils", "tables", f"{folder}/shop.db", "--counts")
        self.assertEqual(json.loads(counts), [{"table": "visits", "count": 2}])
        # Datasette gives its list of tables 10 ms a count, and null after that, so the count is
        # read where the limit can be set.
        ask = ("datasette", f"{folder}/shop.db", "--setting", "sql_time_limit_ms", "60000", "--get")
        listed = json.loads(self.environment.run(*ask, "/shop.json"))
        self.assertEqual([table["name"] for table in listed["tables"]], ["visits"])
        visits = json.loads(self.environment.run(*ask, "/shop/visits.json"))
        self.assertEqual(visits["filtered_table_rows_count"], 2)

    def test_a_python_without_extension_loading_is_told_of_apsw(self):
        program = (
            "import sqlite_bloom\nclass Connection:\n    cursor = None\ntry:\n   "
            " sqlite_bloom.load(Connection())\nexcept NotImplementedError as error:\n   "
            " print(error)\n"
        )
        self.assertRegex(self.environment.run("python", "-c", program),
                         r"was built without extension loading\. .*pip install apsw")

    def test_a_connection_on_which_loading_fails_has_loading_off_again(self):
        program = (
            "import sqlite_bloom\nclass Connection:\n    cursor = None\n    state = []\n    def"
            " enable_load_extension(self, on):\n        self.state.append(on)\n    def"
            " load_extension(self, path):\n        raise ValueError(path)\ntry:\n   "
            " sqlite_bloom.load(Connection())\nexcept ValueError:\n    print(Connection.state)\n"
        )
        self.assertEqual(self.environment.run("python", "-c", program), "[True, False]\n")

    def test_what_is_no_connection_is_refused(self):
        program = """
import sqlite_bloom
class Postgres:
    vendor = "postgresql"
    def ensure_connection(self): print("opened")
for value in ("a.db", None, Postgres()):
    try:
        sqlite_bloom.load(value)
    except TypeError as error:
        print(error)
"""
        lines = self.environment.run("python", "-c", program).splitlines()
        wanted = "is not a connection to SQLite. Pass one of sqlite3, apsw, SQLAlchemy," \
            " Django or aiosqlite"
        self.assertEqual(
            lines,
            [
                f"sqlite_bloom.load: 'a.db' {wanted}",
                f"sqlite_bloom.load: None {wanted}",
                "sqlite_bloom.load: this is a connection to postgresql. Pass a connection to"
                " SQLite",
            ],
        )

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
            run(folder / "bin/python", "-m", "pip", "install", "--disable-pip-version-check",
                "--find-links", PYTHON, "--no-binary", "sqlite-bloom", "sqlite-bloom",
                env={"CC": "no-such-compiler"})
        self.assertIn("Install gcc or clang, or set CC to one", str(caught.exception))


class Files(unittest.TestCase):
    def test_pip_finds_the_right_wheel_on_every_platform(self):
        for platform in platforms.PLATFORMS:
            with self.subTest(platform=platform.name):
                folder = pathlib.Path(tempfile.mkdtemp())
                self.addCleanup(shutil.rmtree, folder)
                run(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check",
                    "--no-index", "--find-links", PYTHON, "--no-deps", "--only-binary", ":all:",
                    "--platform", platform.wheel, "-d", folder, "sqlite-bloom")
                wheel = f"sqlite_bloom-{RELEASE}-py3-none-{platform.wheel}.whl"
                self.assertEqual([path.name for path in folder.iterdir()], [wheel])
                with zipfile.ZipFile(folder / wheel) as archive:
                    library = (BUILD / "binaries" / platform.name / platform.library).read_bytes()
                    self.assertEqual(archive.read(f"sqlite_bloom/{platform.library}"), library)
                    self.assertIn(f"Tag: py3-none-{platform.wheel}\n",
                                  archive.read(f"sqlite_bloom-{RELEASE}.dist-info/WHEEL").decode())
                    self.assertIn("Root-Is-Purelib: false",
                                  archive.read(f"sqlite_bloom-{RELEASE}.dist-info/WHEEL").decode())
                    metadata = archive.read(f"sqlite_bloom-{RELEASE}.dist-info/METADATA").decode()
                    for name in ("Homepage", "Repository", "Issues"):
                        self.assertIn(f"Project-URL: {name}, https://", metadata)

    def test_wheels_come_out_the_same_every_time(self):
        def digests():
            return {
                path.name: hashlib.md5(path.read_bytes()).hexdigest()
                for path in PYTHON.glob("*.whl")
            }

        before = digests()
        run(BUILD / "tools/bin/python", "ext/packages/python/build.py")
        self.assertEqual(digests(), before)


CHECK = "SELECT bloom_check(bloom_agg('a'), 'a')"
WRAPPERS = f"""
import asyncio, sqlalchemy, sqlite_bloom
import sqlalchemy.orm, sqlalchemy.ext.asyncio as alchemy
query = sqlalchemy.text({CHECK!r})
engine = sqlalchemy.create_engine("sqlite://")
with engine.connect() as connection:
    sqlite_bloom.load(connection)
    print("connection", connection.execute(query).scalar())
with sqlalchemy.orm.Session(sqlalchemy.create_engine("sqlite://")) as session:
    sqlite_bloom.load(session)
    print("session", session.execute(query).scalar())
raw = sqlalchemy.create_engine("sqlite://").raw_connection()
sqlite_bloom.load(raw)
print("raw", raw.cursor().execute({CHECK!r}).fetchone()[0])
async def main():
    engine = alchemy.create_async_engine("sqlite+aiosqlite://")
    sqlite_bloom.load(engine)
    async with engine.connect() as connection:
        print("asynchronous engine", (await connection.execute(query)).scalar())
    other = alchemy.create_async_engine("sqlite+aiosqlite://")
    async with other.connect() as connection:
        await sqlite_bloom.load(connection)
        print("asynchronous connection", (await connection.execute(query)).scalar())
    await engine.dispose()
    await other.dispose()
asyncio.run(main())
import django.conf, django.db
databases = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}}}
django.conf.settings.configure(DATABASES=databases)
django.setup()
sqlite_bloom.load(django.db.connection)
with django.db.connection.cursor() as cursor:
    print("Django", cursor.execute({CHECK!r}).fetchone()[0])
    try:
        cursor.execute("SELECT load_extension('x')")
    except django.db.OperationalError as error:
        print(error)
"""
BUILDING = """
import resource, sqlite3, sqlite_bloom
def raised(*arguments, **options):
    try:
        sqlite_bloom.build(*arguments, **options)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
connection = sqlite3.connect(":memory:")
sqlite_bloom.load(connection)
def agg(values, arguments):
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute("CREATE TABLE t(x)")
    connection.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
    return connection.execute(f"SELECT bloom_agg(x{arguments}) FROM t").fetchone()[0]
values = ["a", b"\\0\\xff", "\\u00fc", 7, -2**63, 2**63 - 1, 1.5, float("inf"), True, ""]
print("values", sqlite_bloom.build(values) == agg(values, ""))
print("n", sqlite_bloom.build(values, 50, 0.001) == agg(values, ", 50, 0.001"))
print("fuse", sqlite_bloom.build(values, options="fuse") == agg(values, ", NULL, 0.01, 'fuse'"))
print("bitmap", sqlite_bloom.build(range(9), p=None, options="bitmap")
      == agg(range(9), ", NULL, NULL, 'bitmap'"))
class Index:
    def __index__(self):
        return 7
print("index", sqlite_bloom.build([Index(), "a"]) == agg([7, "a"], ""))
print("later", sqlite_bloom.build([None, float("nan"), 1, None, 2]) == agg([1, 2], ""))
def breaks():
    yield 1
    raise KeyError("mine")
def stop(done):
    raise KeyboardInterrupt(done)
raised(breaks())
raised(range(150_000), progress=stop)
raised([1, [2]])
raised([1, 2**63])
raised(["a", "\\ud800"])
raised("abc")
raised(7)
raised([1], p=2)
reports = []
for nothing in ([], [None, None], [float("nan")], iter(())):
    raised(nothing, progress=reports.append)
sqlite_bloom.build(range(200_000), 200_000, progress=reports.append)
sqlite_bloom.build([None, "a", None], progress=reports.append)
print(reports)
few, many = 300_000, 3_000_000
size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sqlite_bloom.build(("http://example.com/%d" % i for i in range(few)), many)
before = size()
sqlite_bloom.build(("http://example.com/%d" % i for i in range(many)), many)
print("flat", size() - before < 4096)
"""
# Keys of every kind and mixture, by build and add_all, against one INSERT a key.
FEEDING = """
import random, sqlite3, apsw, numpy, pandas, sqlite_bloom
generator = random.Random(1)
odd = ["", "a\\n", "\\r", "\\ufeffx", "x\\0y", "\\u00fc", b"a", b"\\xff", b"", 1.5, True, 2**63 - 1,
       -2**63, None]
def made(count, strings, integers, share):
    plain = [f"k{i}" for i in range(count if strings else 0)]
    plain += range(count if integers else 0)
    return [generator.choice(odd if generator.random() < share else plain) for _ in range(count)]
connection = sqlite3.connect(":memory:")
sqlite_bloom.load(connection)
def agg(keys):
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute("CREATE TABLE t(x)")
    connection.executemany("INSERT INTO t VALUES (?)", [[key] for key in keys])
    return connection.execute("SELECT bloom_agg(x, NULL, 0.01, 'counting') FROM t").fetchone()[0]
def table(options="capacity=2000"):
    database = sqlite3.connect(":memory:")
    sqlite_bloom.load(database)
    database.execute(f"CREATE VIRTUAL TABLE seen USING bloom({options})")
    return database
def is_in(database, key):
    return database.execute("SELECT count(*) FROM seen WHERE key = ?", [key]).fetchone()[0]
tried = 0
for count in (1, 99, 100, 101, 1100, 5000):
    for strings, integers in ((1, 0), (0, 1), (1, 1)):
        for share in (0, 0.001, 0.05, 0.9):
            keys = ["first", 1, *made(count, strings, integers, share)]
            real = [key for key in keys if key is not None]
            assert sqlite_bloom.build(iter(keys), options="counting") == agg(real)
            database = table()
            assert sqlite_bloom.add_all(database, "seen", iter(keys)) == len(real)
            assert all(is_in(database, key) for key in real)
            tried += 1
print(tried)
for kind in ("int8", "uint16", "<i8", ">i8", "uint64"):
    numbers = numpy.array([1, 2, 100], dtype=kind)
    assert sqlite_bloom.build(numbers, options="counting") == agg([1, 2, 100]), kind
for column in (pandas.Series([1, 2, 100]), pandas.Index([1, 2, 100]), pandas.RangeIndex(1, 4),
               pandas.Series([1, None, 100], dtype="Int64"), pandas.Series([1.5, None, 7]),
               pandas.Series(["a", None, "b"]), pandas.Series(["a", None], dtype="string")):
    keys = [key for key in column.to_list() if not pandas.isna(key)]
    assert sqlite_bloom.build(column, options="counting") == agg(keys), column
many = numpy.arange(120_000, dtype="int32")
assert sqlite_bloom.build(many) == sqlite_bloom.build(range(120_000))
database = table("capacity=100000")
reports = []
print(sqlite_bloom.add_all(database, "seen", many, progress=reports.append), reports,
      database.in_transaction, sqlite_bloom.add_all(database, "seen", []))
before = database.execute("SELECT info, filter FROM seen").fetchone() if 0 else \
    database.execute("SELECT info FROM seen").fetchone()
def breaks():
    yield from range(200_000, 250_000)
    raise KeyError("mine")
def stop(done):
    raise KeyboardInterrupt(done)
for keys, progress in ((breaks(), None), ([1, [2]], None), (range(150_000, 300_000), stop),
                       ([*range(200_000, 260_000), 2**70], None),
                       (["b"] * 50_000 + ["\\ud800"], None),
                       (numpy.array([1, 2**63], dtype="uint64"), None)):
    try:
        sqlite_bloom.add_all(database, "seen", keys, progress=progress)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
    assert database.execute("SELECT info FROM seen").fetchone() == before
    assert not database.in_transaction
database.execute("BEGIN")
sqlite_bloom.add_all(database, "seen", ["within"])
print(database.in_transaction, is_in(database, "within"))
database.rollback()
print(is_in(database, "within"))
salted = "key=url, salt=000102030405060708090a0b0c0d0e0f"
database = table("key=URL, salt='000102030405060708090a0b0c0d0e0f'")
sqlite_bloom.add_all(database, "seen", ["http://evil.example/"], salted)
ruled = table("key=URL")
sqlite_bloom.add_all(ruled, "seen", ["http://evil.example/"])  # the table says how
print(ruled.execute("SELECT count(*) FROM seen WHERE key MATCH 'http://a.evil.example/b'")
      .fetchone()[0])
print(database.execute("SELECT count(*) FROM seen WHERE key MATCH 'http://a.evil.example/b'")
      .fetchone()[0])
other = apsw.Connection(":memory:")
sqlite_bloom.load(other)
other.cursor().execute('CREATE VIRTUAL TABLE "a ""b" USING bloom')
print(sqlite_bloom.add_all(other, 'a "b', (f"k{i}" for i in range(2500))))
"""
# Modules that bring an SQLite library each, in the order of the arguments. The number of copies of
# the library is printed after each first load.
LIBRARIES = """
import glob, importlib, os, sys, tempfile, threading
import sqlite_bloom

def connect(name):
    module = importlib.import_module(name)
    return module.Connection(":memory:") if name == "apsw" else module.connect(":memory:")

def answer(connection):
    cursor = connection.cursor()
    cursor.execute("SELECT bloom_check(bloom_agg('a'), 'a') + count(*)"
                   " FROM bloom_keys((SELECT bloom_agg(7, NULL, NULL, 'bitmap')))")
    return cursor.fetchone()[0]

def copies():
    return len(glob.glob(os.path.join(tempfile.gettempdir(), "sqlite-bloom-*", "bloom.so")))

def loaded(name):
    connection = connect(name)
    sqlite_bloom.load(connection)
    sqlite_bloom.load(connection)
    return connection

names, connections = sys.argv[1:], []
for name in names:
    connections.append(loaded(name))
    print([answer(connection) for connection in connections], copies())
connections += [loaded(name) for name in reversed(names)]
print([answer(connection) for connection in connections], copies())

wrong = []
def work(name):
    try:
        for _ in range(50):
            connection = loaded(name)
            wrong.extend([name] * (answer(connection) != 2))
            connection.close()
    except BaseException as error:
        wrong.append(f"{name}: {error}")
        raise
threads = [threading.Thread(target=work, args=[name]) for name in names * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(wrong, copies())

if os.fork() == 0:
    print("child", answer(loaded(names[-1])), flush=True)
    sys.exit()
os.wait()
print("parent", answer(loaded(names[-1])), copies())
"""


class Programs(unittest.TestCase):
    """What people have in hand, and the README: with the packages that they use."""

    @classmethod
    def setUpClass(cls):
        cls.environment = Environment(
            "sqlite-bloom", "apsw", "sqlalchemy", "greenlet", "aiosqlite", "django", "mypy",
            "pysqlite3-binary", "adbc-driver-sqlite", "pyarrow", "numpy", "pandas"
        )
        cls.addClassCleanup(cls.environment.remove)

    def test_modules_with_an_sqlite_of_their_own_can_be_mixed(self):
        names = ["sqlite3", "apsw", "pysqlite3", "adbc_driver_sqlite.dbapi"]
        for order in (names, names[::-1]):
            with self.subTest(order=order), tempfile.TemporaryDirectory() as folder:
                printed = self.environment.run("python", "-W", "ignore", "-c", LIBRARIES, *order,
                                               env={"TMPDIR": folder})
                self.assertEqual(printed.splitlines(), [
                    *(f"{[2] * (count + 1)} {count}" for count in range(4)),
                    *(f"{[2] * 8} 3", "[] 3", "child 2", "parent 2 3"),
                ])
                self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

    def test_wrapped_connections(self):
        self.assertEqual(
            self.environment.run("python", "-W", "error", "-c", WRAPPERS).splitlines(),
            [
                *("connection 1", "session 1", "raw 1", "asynchronous engine 1"),
                *("asynchronous connection 1", "Django 1", "not authorized"),
            ],
        )

    def test_building_from_an_iterable(self):
        seen = self.environment.run("python", "-c", BUILDING.replace("\\\\", "\\")).splitlines()
        refused = "which SQLite cannot store. Pass an int of at most 64 bits, or a str of" \
            " valid Unicode"
        nothing = "ValueError: sqlite_bloom.build: there is no key, and an empty filter lets" \
            " everything pass. Look where the keys come from, or make an empty filter with SELECT" \
            " bloom_new(n)"
        self.assertEqual(
            seen,
            [
                *("values True", "n True", "fuse True", "bitmap True"),
                "index True",
                "later True",
                "KeyError: 'mine'",
                "KeyboardInterrupt: 100000",
                "TypeError: sqlite_bloom.build: key 2 is a list. Pass each key as a str, bytes,"
                " int or float",
                f"ValueError: sqlite_bloom.build: key 2 is 9223372036854775808, {refused}",
                f"ValueError: sqlite_bloom.build: key 2 is '\\ud800', {refused}",
                "TypeError: sqlite_bloom.build: keys is one key. Pass a list of it, ['abc']",
                "TypeError: sqlite_bloom.build: keys is 7 and cannot be iterated. Pass an"
                " iterable of keys",
                "OperationalError: bloom_agg: p is 2. Give a number between 0 and 1, for example"
                " 0.01 for 1 %",
                *[nothing] * 4,
                "[100000, 200000, 1]",
                "flat True",
            ],
        )

    def test_feeding_keys_of_every_kind(self):
        beyond = "which SQLite cannot store. Pass an int of at most 64 bits, or a str of" \
            " valid Unicode"
        self.assertEqual(
            self.environment.run("python", "-c", FEEDING).splitlines(),
            [
                "72",
                "120000 [100000, 120000] False 0",
                "KeyError: 'mine'",
                "TypeError: sqlite_bloom.add_all: key 2 is a list. Pass each key as a str, bytes,"
                " int or float",
                "KeyboardInterrupt: 100000",
                f"ValueError: sqlite_bloom.add_all: key 60001 is {2**70}, {beyond}",
                f"ValueError: sqlite_bloom.add_all: key 50001 is '\\ud800', {beyond}",
                f"ValueError: sqlite_bloom.add_all: key 2 is {2**63}, {beyond}",
                *("True 1", "0", "1", "1", "2500"),
            ],
        )

    def test_what_is_no_filter_table_is_refused(self):
        program = """
import pandas, pathlib, sqlite3, sqlite_bloom
connection = sqlite3.connect(":memory:")
sqlite_bloom.load(connection)
connection.execute("CREATE TABLE plain(key)")
for table in "none", "plain", pathlib.Path("x"):
    try:
        sqlite_bloom.add_all(connection, table, ["a"])
    except (ValueError, TypeError) as error:
        print(error)
for call in (lambda: sqlite_bloom.add_all(connection.cursor(), "plain", ["a"]),
             lambda: sqlite_bloom.build(pathlib.Path("list.txt")),
             lambda: sqlite_bloom.build(pandas.DataFrame({"url": ["a"]})),
             lambda: sqlite_bloom.build(["a"], options={"key": "url"})):
    try:
        call()
    except TypeError as error:
        print(str(error).replace("PosixPath", "Path"))
"""
        self.assertEqual(self.environment.run("python", "-c", program).splitlines(), [
            "sqlite_bloom.add_all: no such table: none. Create it with CREATE VIRTUAL TABLE. Pass"
            " its name without a database",
            'sqlite_bloom.add_all: no such column: info. "plain" is not a filter table, so use'
            " INSERT",
            "sqlite_bloom.add_all: the table is a PosixPath. Pass its name as str",
            "sqlite_bloom.add_all: a Cursor is not a connection. Pass a connection of sqlite3 or"
            " apsw",
            "sqlite_bloom.build: keys is Path('list.txt') and cannot be iterated. Pass the lines of"
            " the file without their ends",
            "sqlite_bloom.build: keys is a DataFrame. Pass one column of it, as in frame['url']",
            "sqlite_bloom.build: options is {'key': 'url'}. Pass text, for example 'key=url'"])

    def test_an_engine_reaches_pooled_connections(self):
        program = (
            "import sqlalchemy, sqlite_bloom\n"
            f"query = sqlalchemy.text({CHECK!r})\n"
            "for url in ('sqlite://', 'sqlite:///engine.db'):\n"
            "    engine = sqlalchemy.create_engine(url)\n"
            "    with engine.begin() as connection:\n"
            "        connection.execute(sqlalchemy.text('CREATE TABLE t(x)'))\n"
            "    sqlite_bloom.load(engine)\n"
            "    with engine.connect() as connection:\n"
            "        rows = connection.execute(sqlalchemy.text('SELECT count(*) FROM t'))\n"
            "        print(connection.execute(query).scalar(), rows.scalar())\n"
            "    engine.dispose()\n"
        )
        self.assertEqual(self.environment.run("python", "-W", "error", "-c", program),
                         "1 0\n1 0\n")

    def test_the_app_of_django(self):
        program = (
            "import django.conf, gc, threading\n"
            "engine = {'ENGINE': 'django.db.backends.sqlite3', 'NAME': ':memory:'}\n"
            "django.conf.settings.configure(DATABASES={'default': engine},\n"
            "                               INSTALLED_APPS=['sqlite_bloom.django'])\n"
            "django.setup()\n"
            "gc.collect()  # a receiver that nobody keeps would be gone\n"
            "import django.core.management, django.db\n"
            "def work():\n"
            "    with django.db.connection.cursor() as cursor:\n"
            f"        print(cursor.execute({CHECK!r}).fetchone()[0])\n"
            "work()\n"
            "thread = threading.Thread(target=work)\n"
            "thread.start()\n"
            "thread.join()\n"
            "django.core.management.call_command('check', fail_level='WARNING')\n"
        )
        self.assertEqual(
            self.environment.run("python", "-W", "error", "-c", program).splitlines()[:2],
            ["1", "1"])

    def test_advice_where_sqlite3_cannot_load_extensions(self):
        apsw = "Install apsw (pip install apsw), whose connections sqlite_bloom.load takes"
        for platform, executable, more in (
                ("darwin", "/Library/Frameworks/Python.framework/Versions/3.13/bin/python3",
                 ", or use the Python of Homebrew (brew install python)"),
                ("linux", "/opt/python/bin/python",
                 ", or use your distribution's Python (/usr/bin/python3)"),
                ("linux", "/root/.pyenv/versions/3.13.0/bin/python",
                 ", or build this Python again by PYTHON_CONFIGURE_OPTS="
                 "--enable-loadable-sqlite-extensions pyenv install --force VERSION"),
                ("win32", "C:\\python.exe", "")):
            with self.subTest(platform=platform, executable=executable):
                self.assertEqual(
                    self.environment.run(
                        "python", "-c", "import sys, sqlite_bloom\n"
                        "print(sqlite_bloom._advice(*sys.argv[1:]))", platform, executable),
                    f"{apsw}{more}\n")

    def test_building_goes_by_apsw_where_sqlite3_cannot_load(self):
        program = (
            "import sqlite3, sqlite_bloom\n"
            "class Connection:\n"
            "    def __init__(self, name): pass\n"
            "    def cursor(self): pass\n"
            "    def close(self): pass\n"
            "wanted = sqlite_bloom.build(range(100))\n"
            "sqlite3.connect = Connection\n"
            "print(sqlite_bloom.build(range(100)) == wanted)\n"
            "for keys in ([2**63], [None, []]):\n"
            "    try: sqlite_bloom.build(keys)\n"
            "    except (TypeError, ValueError) as error: print(error)\n"
        )
        lines = self.environment.run("python", "-c", program).splitlines()
        self.assertEqual(lines[0], "True")
        self.assertIn("key 1 is 9223372036854775808, which SQLite cannot store", lines[1])
        self.assertIn("key 1 is a list", lines[2])

    def test_type_hints(self):
        source = self.environment.folder / "typed.py"
        source.write_text(
            "import sqlite3\nimport aiosqlite\nimport sqlalchemy\nimport sqlite_bloom\n"
            "from sqlalchemy.ext.asyncio import AsyncConnection\n"
            "path: str = sqlite_bloom.loadable_path()\n"
            "sqlite_bloom.load(sqlite3.connect(path))\nrelease: str = sqlite_bloom.__version__\n"
            'sqlite_bloom.load(sqlalchemy.create_engine("sqlite://"))\n'
            "async def asynchronous(one: aiosqlite.Connection, two: AsyncConnection) -> None:\n"
            "    await sqlite_bloom.load(one)\n    await sqlite_bloom.load(two)\n"
            'filter: bytes = sqlite_bloom.build(["a", 1, None], 10, options="fuse")\n'
            "sqlite_bloom.build([b''], progress=print)\n"
            "added: int = sqlite_bloom.add_all(sqlite3.connect(path), 'seen', [1, 'a'])\n"
            "sqlite_bloom.build([object()])  # type: ignore[list-item]\n"
        )
        self.assertIn("Success", self.environment.run("mypy", "--strict", source))

    def test_every_example_of_the_readme_prints_what_it_says(self):
        readme = (BUILD / "work/python/README.md").read_text()
        examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        self.assertGreater(len(examples), 8)
        for number, example in enumerate(examples):
            with self.subTest(example=number):
                said = re.findall(r"print\(.*\)  # ([^:\n]*)", example)
                self.assertTrue(said, example)
                wanted = [
                    line for words in said
                    for line in ([words] if words[0] == "[" else words.split(", "))
                ]
                (self.environment.folder / "example.py").write_text(example)
                printed = self.environment.run("python", "-W", "error", "example.py")
                self.assertEqual(printed.splitlines(), wanted)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
