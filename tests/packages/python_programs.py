"""The package sqlite-bloom, inside an environment that has it and the drivers of build/drivers:
python_test.py runs this there. Also the Python hosts, as sqlite_bloom.load takes connections.
"""

import asyncio
import concurrent.futures
import datetime
import gc
import glob
import hashlib
import importlib
import itertools
import os
import pathlib
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import apsw
import django.conf
import django.core.management
import numpy
import pandas
import polars
import pyarrow
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import sqlite_bloom

CHECK = "SELECT bloom_check(bloom_agg('a'), 'a')"
QUERY = sqlalchemy.text(CHECK)
BEYOND = "which SQLite cannot store. Pass an int of at most 64 bits, or a str of valid Unicode"
NO_KEY = ("sqlite_bloom.build: there is no key, and an empty filter lets everything pass. Look"
          " where the keys come from, or make an empty filter with sqlite_bloom.Filter(capacity)")
django.conf.settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["sqlite_bloom.django"] if "app" in sys.argv else [])


def connect(sql="", module=sqlite3):
    connection = module.connect(":memory:") if module is sqlite3 else module.Connection(":memory:")
    sqlite_bloom.load(connection)
    if sql:
        connection.cursor().execute(sql)
    return connection


def one(connection, sql, *values):
    return connection.cursor().execute(sql, values).fetchone()[0]


def agg(keys, more=""):
    """What SQL makes of keys that were inserted one by one."""
    connection = connect("CREATE TABLE t(x)")
    connection.executemany("INSERT INTO t VALUES (?)", [[key] for key in keys])
    return one(connection, f"SELECT bloom_agg(x{more}) FROM t")


def breaks(*keys):
    yield from keys
    raise KeyError("mine")


def stop(done):
    raise KeyboardInterrupt(done)


def listed(column):
    ways = (way for way in ("to_pylist", "to_list", "tolist") if hasattr(column, way))
    return next((getattr(column, way)() for way in ways), column)


class Program(unittest.TestCase):
    maxDiff = None

    def says(self, message, call, *arguments, **options):
        """That a call raises an error, and which."""
        with self.assertRaises(BaseException) as caught:
            call(*arguments, **options)
        said = str(caught.exception).replace("PosixPath", "Path")
        self.assertEqual(f"{type(caught.exception).__name__}: {said}", message)


class Load(Program):
    def test_the_bytes_are_those_of_every_host_and_loading_is_off_again(self):
        for module in (sqlite3, apsw):
            connection = connect(module=module)
            self.assertEqual(hashlib.md5(one(connection, os.environ["FILTER"])).hexdigest(),
                             os.environ["FILTER_MD5"])
            self.assertRegex(one(connection, "SELECT bloom_version()"),
                             f"^bloom {sqlite_bloom.__version__}, ")
            with self.assertRaisesRegex((sqlite3.Error, apsw.Error), "not authorized"):
                one(connection, "SELECT load_extension('x')")

    def test_connections_within_others(self):
        """README has an engine, the app of Django and aiosqlite."""
        with sqlalchemy.create_engine("sqlite://").connect() as connection:
            sqlite_bloom.load(connection)
            self.assertEqual(connection.execute(QUERY).scalar(), 1)
        with sqlalchemy.orm.Session(sqlalchemy.create_engine("sqlite://")) as session:
            sqlite_bloom.load(session)
            self.assertEqual(session.execute(QUERY).scalar(), 1)
        django.setup()
        sqlite_bloom.load(django.db.connection)
        with django.db.connection.cursor() as cursor:
            self.assertEqual(cursor.execute(CHECK).fetchone()[0], 1)

    def test_asynchronous_connections_and_engines(self):
        async def work():
            for whole in (True, False):
                engine = sqlalchemy.ext.asyncio.create_async_engine("sqlite+aiosqlite://")
                if whole:
                    sqlite_bloom.load(engine)
                async with engine.connect() as connection:
                    if not whole:
                        await sqlite_bloom.load(connection)
                    self.assertEqual((await connection.execute(QUERY)).scalar(), 1)
                await engine.dispose()

        asyncio.run(work())

    def test_every_module_binds_a_filter(self):
        filter = sqlite_bloom.build(["a"])
        for name in ("sqlite3", "apsw", "pysqlite3", "sqlcipher3"):
            module = importlib.import_module(name)
            connection = (module.Connection if name == "apsw" else module.connect)(":memory:")
            value, = connection.cursor().execute("SELECT ?", [filter]).fetchone()
            self.assertEqual((value, sqlite_bloom.Filter(value)), (bytes(filter), filter))
        with sqlalchemy.create_engine("sqlite://").connect() as connection:
            self.assertEqual(connection.execute(sqlalchemy.text("SELECT :f"), {"f": filter})
                             .scalar(), bytes(filter))

    def test_an_engine_reaches_pooled_connections(self):
        engine = sqlalchemy.create_engine("sqlite://")
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("CREATE TABLE t(x)"))
        sqlite_bloom.load(engine)
        with engine.connect() as connection:
            self.assertEqual(connection.execute(QUERY).scalar(), 1)
            self.assertEqual(connection.execute(sqlalchemy.text("SELECT count(*) FROM t")).scalar(),
                             0)

    def test_what_cannot_be_loaded_into(self):
        postgres = mock.Mock(spec=["ensure_connection", "vendor"], vendor="postgresql")
        for value, words in (
                ("a.db", "'a.db' is not a connection to SQLite. Pass one of sqlite3, apsw,"
                 " SQLAlchemy, Django or aiosqlite"),
                (postgres, "this is a connection to postgresql. Pass a connection to SQLite")):
            self.says(f"TypeError: sqlite_bloom.load: {words}", sqlite_bloom.load, value)
        with self.assertRaisesRegex(NotImplementedError,
                                    r"was built without extension loading\. .*pip install apsw"):
            sqlite_bloom.load(mock.Mock(spec=["cursor"]))
        # apsw up to 3.41 writes the names in one word. What fails switches loading off again.
        for enable, load in (("enable_load_extension", "load_extension"),
                             ("enableloadextension", "loadextension")):
            failing = mock.Mock(**{f"{load}.side_effect": ValueError("mine")}, spec=[enable, load])
            self.says("ValueError: mine", sqlite_bloom.load, failing)
            self.assertEqual(failing.mock_calls, [
                getattr(mock.call, enable)(True),
                getattr(mock.call, load)(sqlite_bloom.loadable_path()),
                getattr(mock.call, enable)(False)])


class Build(Program):
    def test_it_is_what_bloom_agg_makes(self):
        values = ["a", b"\0\xff", "\u00fc", 7, -2**63, 2**63 - 1, 1.5, float("inf"), True, ""]
        def build(*arguments, **options):
            return bytes(sqlite_bloom.build(*arguments, **options))

        self.assertEqual(build(values), agg(values))
        self.assertEqual(build(values, 50, 0.001), agg(values, ", 50, 0.001"))
        self.assertEqual(build(range(9), fpr=None, options="bitmap"),
                         agg(range(9), ", NULL, NULL, 'bitmap'"))
        self.assertEqual(build([mock.MagicMock(__index__=lambda self: 7), "a"]), agg([7, "a"]))
        self.assertEqual(build([None, float("nan"), 1, None, 2]), agg([1, 2]))

    def test_what_is_refused(self):
        for message, keys, *more in (
                ("TypeError: sqlite_bloom.build: key 2 is a list. Pass each key as a str, bytes,"
                 " int or float", [1, [2]]),
                ("TypeError: sqlite_bloom.build: keys is one key. Pass a list of it, ['abc']",
                 "abc"),
                ("TypeError: sqlite_bloom.build: keys is Path('list.txt') and cannot be iterated."
                 " Pass the open file", pathlib.Path("list.txt")),
                ("TypeError: sqlite_bloom.build: keys is a DataFrame. Pass one column of it, as in"
                 " frame['url']", pandas.DataFrame({"url": ["a"]})),
                ("ValueError: sqlite_bloom.build: fpr is 2. Pass a number between 0 and 1, for"
                 " example 0.01 for 1 %", [1], None, 2),
                ("TypeError: sqlite_bloom.build: options is {'key': 'url'}. Pass text, for example"
                 " 'key=url'", ["a"], None, 0.01, {"key": "url"}),
                *(("ValueError: " + NO_KEY, nothing) for nothing in ([], [None, float("nan")]))):
            self.says(message, sqlite_bloom.build, keys, *more)

    def test_memory_stays_flat(self):
        def build(keys):
            sqlite_bloom.build((f"http://example.com/{i}" for i in range(keys)), 2_000_000)
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        self.assertLess(-build(300_000) + build(2_000_000), 4096)


class Feed(Program):
    """Keys of every kind and mixture, by build and add_all, against one INSERT a key."""

    ODD = ["", "a\n", "\r", "\ufeffx", "x\0y", "\u00fc", b"a", b"\xff", b"", 1.5, True, 2**63 - 1,
           -2**63, None]

    def test_keys_of_every_kind(self):
        generator = random.Random(1)
        for count, share in itertools.product((1, 100, 101, 1100, 5000), (0, 0.01, 0.9)):
            for plain in ([f"k{i}" for i in range(count)], list(range(count)),
                          [*range(count), *(f"k{i}" for i in range(count))]):
                keys = ["first", 1, *(
                    generator.choice(self.ODD if generator.random() < share else plain)
                    for _ in range(count))]
                real = [key for key in keys if key is not None]
                self.assertEqual(bytes(sqlite_bloom.build(iter(keys), options="counting")),
                                 agg(real, ", NULL, 0.01, 'counting'"))
                database = connect("CREATE VIRTUAL TABLE seen USING bloom(capacity=2000)")
                self.assertEqual(sqlite_bloom.add_all(database, "seen", iter(keys)), len(real))
                for key in set(real):
                    self.assertEqual(one(database, "SELECT count(*) FROM seen(?)", key), 1)

    def test_arrays_and_columns(self):
        for keys in (*(numpy.array([1, 2, 100], dtype=kind)
                       for kind in ("int8", "uint16", "<i8", ">i8", "uint64")),
                     numpy.arange(120_000, dtype="int32"), pandas.Index([1, 2, 100]),
                     pandas.RangeIndex(1, 4), pandas.Series([1, None, 100], dtype="Int64"),
                     pandas.Series([1.5, None, 7]), pandas.Series(["a", None, "b"]),
                     pandas.Series(["a", None], dtype="string"), polars.Series(["a", None]),
                     pandas.Series([None] * 12_000 + [7, 8], dtype="Int64"), [None] * 200 + ["a"],
                     pyarrow.chunked_array([["a"], [None, "b"]]), numpy.array([True, False]),
                     numpy.ma.array([7, 8], mask=[0, 1]), [float("nan"), "a", 1.5, 1.0]):
            wanted = [key for key in listed(keys) if not pandas.isna(key)]
            self.assertEqual(bytes(sqlite_bloom.build(keys, options="counting")),
                             agg(wanted, ", NULL, 0.01, 'counting'"), keys)
            database = connect("CREATE VIRTUAL TABLE seen USING bloom")
            self.assertEqual(sqlite_bloom.add_all(database, "seen", keys), len(wanted))

    def test_add_all_is_all_or_nothing(self):
        database, reports = connect("CREATE VIRTUAL TABLE seen USING bloom(capacity=100000)"), []
        self.assertEqual(sqlite_bloom.add_all(database, "seen", range(120_000),
                                              progress=reports.append), 120_000)
        self.assertEqual((reports, database.in_transaction), ([100_000, 120_000], False))
        self.assertEqual(sqlite_bloom.add_all(database, "seen", []), 0)
        before = one(database, "SELECT info FROM seen")
        for message, keys, progress in (
                ("KeyError: 'mine'", breaks(*range(200_000, 250_000)), None),
                ("KeyboardInterrupt: 100000", range(150_000, 300_000), stop),
                (f"ValueError: sqlite_bloom.add_all: key 60001 is {2**70}, {BEYOND}",
                 [*range(200_000, 260_000), 2**70], None),
                (f"ValueError: sqlite_bloom.add_all: key 50001 is '\\ud800', {BEYOND}",
                 ["b"] * 50_000 + ["\ud800"], None),
                (f"ValueError: sqlite_bloom.add_all: key 201 is {2**70}, {BEYOND}",
                 [None] * 200 + [2**70], None),
                (f"ValueError: sqlite_bloom.add_all: key 2 is {2**63}, {BEYOND}",
                 numpy.array([1, 2**63], dtype="uint64"), None)):
            self.says(message, sqlite_bloom.add_all, database, "seen", keys, progress=progress)
            self.assertEqual(one(database, "SELECT info FROM seen"), before)
            self.assertFalse(database.in_transaction)
        database.execute("BEGIN")
        sqlite_bloom.add_all(database, "seen", ["within"])
        self.assertTrue(database.in_transaction)
        found = "SELECT count(*) FROM seen('within')"
        self.assertEqual(one(database, found), 1)
        database.rollback()
        self.assertEqual(one(database, found), 0)

    def test_the_table_says_how(self):
        database = connect("CREATE VIRTUAL TABLE seen USING bloom(key=URL,"
                           " salt='000102030405060708090a0b0c0d0e0f')")
        sqlite_bloom.add_all(database, "seen", ["http://evil.example/"])
        self.assertEqual(one(database, "SELECT count(*) FROM seen WHERE key MATCH"
                             " 'http://a.evil.example/b'"), 1)
        database = connect('CREATE VIRTUAL TABLE "a ""b" USING bloom', apsw)
        self.assertEqual(sqlite_bloom.add_all(database, 'a "b', map(str, range(2500))), 2500)

    def test_what_is_no_filter_table(self):
        database = connect("CREATE TABLE plain(key)")
        for message, *arguments in (
                ("ValueError: sqlite_bloom.add_all: no such table: none. Create it with CREATE"
                 " VIRTUAL TABLE. Pass its name without a database", database, "none"),
                ('ValueError: sqlite_bloom.add_all: no such column: info. "plain" is not a filter'
                 " table, so use INSERT", database, "plain"),
                ("TypeError: sqlite_bloom.add_all: a Cursor is not a connection. Pass a connection"
                 " of sqlite3 or apsw", database.cursor(), "plain")):
            self.says(message, sqlite_bloom.add_all, *arguments, ["a"])


class Check(Program):
    """Columns of every kind, against bloom_check of one value a statement."""

    ODD = [*Feed.ODD, "http://a.evil.example/", "\0", -0.0, 2.0**63, 2.5, float("nan"), pandas.NA]
    @classmethod
    def setUpClass(cls):
        keys = [*Feed.ODD[:-1], "k7", 7, 8]
        cls.filters = [sqlite_bloom.build(keys, options=layout) for layout in ("fuse", "classic")]
        cls.filters.append(sqlite_bloom.build(["evil.example", "k7"], options="key=url"))
        cls.fuse = cls.filters[0]

    def compare(self, filter, column, values, kind):
        """Returns the answers, which must be of a kind, and right."""
        database = connect()
        database.execute("CREATE TABLE f(f)")
        database.execute("INSERT INTO f VALUES (?)", [filter])
        keys = [None if pandas.isna(value) else value for value in values]
        known = {key: one(database, "SELECT bloom_check(f, ?) FROM f", key) for key in set(keys)}
        answers = sqlite_bloom.check(filter, column)
        self.assertIs(type(answers), kind)
        self.assertEqual([None if pandas.isna(answer) else answer for answer in listed(answers)],
                         [None if known[key] is None else known[key] == 1 for key in keys])
        return answers

    def test_values_of_every_kind_in_lists(self):
        generator = random.Random(2)
        for filter, share in itertools.product(self.filters, (0, 0.001, 0.9)):
            for plain in ([f"k{i}" for i in range(99)], list(range(99)), [1.0, 7.0, None]):
                self.compare(filter, iter(values := [
                    generator.choice(self.ODD if generator.random() < share else plain)
                    for _ in range(12_000)]), values, list)

    def test_columns_of_libraries(self):
        def arrays():
            for kind in ("int8", "<i8", ">i8", "uint64", "float32", "float64", "bool", "U9", "O"):
                yield numpy.array([1, 7, 0, 2], kind), numpy.ndarray
            yield numpy.arange(30_000)[::-3], numpy.ndarray
            yield numpy.array(["k7", None, 7], "O"), numpy.ma.MaskedArray
            for mask in ([0, 1, 0], [0, 0, 0]):
                yield numpy.ma.array([7, 7, 2], mask=mask), numpy.ma.MaskedArray
            yield pandas.Index(["k7", "b"]), pandas.arrays.BooleanArray
            yield pandas.array([7, None], "Int64"), pandas.arrays.BooleanArray
            for kind in (None, "object", "string", "category"):
                yield pandas.Series(["k7", None, "b"], dtype=kind), pandas.Series
            for values in ([7, 9], [7, None, 2.5], ["", "k7", b"a"], []):
                yield pandas.Series(values), pandas.Series
            for kind in (polars.String, polars.Categorical, polars.Enum(["k7", "b"])):
                yield polars.Series("n", ["k7", None, "b"], kind), polars.Series
            for values in ([7, None, 3], [2.5, 7.0], [b"a", b""], [True, False], []):
                yield polars.Series(values), polars.Series
                yield pyarrow.array(values), pyarrow.BooleanArray
                yield pyarrow.chunked_array([values, values[1:]]), pyarrow.ChunkedArray
            yield pyarrow.array(["k7", None]).dictionary_encode(), pyarrow.BooleanArray

        for column, kind in arrays():
            for filter in self.filters:
                answers = self.compare(filter, column, listed(column), kind)
                self.assertIn(str(getattr(answers, "dtype", "bool")).lower(), ("bool", "boolean"))

    def test_long_values_go_alone(self):
        long = ["a" * 9_000_000, "b" * 9_000_000]
        filter = sqlite_bloom.build(long)
        self.assertEqual(bytes(filter), agg(long))
        self.assertEqual(sqlite_bloom.check(filter, [*long, long[0] + "c"]), [True, True, False])

    def test_indexes_names_and_masks_are_kept(self):
        series = pandas.Series(["k7", "b", None], index=[3, 3, 1], name="x")
        pandas.testing.assert_series_equal(
            sqlite_bloom.check(self.fuse, series),
            pandas.Series([True, False, None], index=[3, 3, 1], name="x", dtype="boolean"))
        found = sqlite_bloom.check(self.fuse, polars.Series("x", ["k7", "b"]))
        self.assertEqual(polars.DataFrame({"x": ["k7", "b"]}).filter(found)["x"].to_list(), ["k7"])
        self.assertEqual((found.name, found.dtype), ("x", polars.Boolean))

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for answers in pool.map(lambda _: sqlite_bloom.check(
                    self.fuse, ["k7", None, 5] * 5000), range(16)):
                self.assertEqual(answers, [True, None, False] * 5000)

    def test_what_is_refused(self):
        day = datetime.date(2026, 1, 1)
        for message, values in (
                ("TypeError: sqlite_bloom.check: the column has times (datetime64[us]). Convert"
                 " them to str or int", pandas.date_range("2026", periods=2, unit="us")),
                *(("TypeError: sqlite_bloom.check: key 1 is a date. Pass each key as a str, bytes,"
                   " int or float", days)
                  for days in ([day], polars.Series([day]), pyarrow.array([day]))),
                *((f"ValueError: sqlite_bloom.check: key 3 is {2**63}, {BEYOND}", big)
                  for big in ([1, "a", 2**63], numpy.array([1, 2, 2**63], "uint64"),
                              [1.5, None, 2**63])),
                (f"ValueError: sqlite_bloom.check: key 10002 is '\\ud800', {BEYOND}",
                 ["a"] * 10_001 + ["\ud800"]),
                ("KeyError: 'mine'", breaks("a")),
                ("TypeError: sqlite_bloom.check: column is one key. Pass a list of it, ['a']", "a"),
                ("TypeError: sqlite_bloom.check: column is None and cannot be iterated. Pass an"
                 " iterable of keys", None),
                *((f"TypeError: sqlite_bloom.check: column is a {type(no).__name__}. Pass one"
                   " column of it, as in frame['url']", no)
                  for no in (numpy.ones((2, 2), int), numpy.array(1), pandas.DataFrame(),
                             polars.DataFrame(), pyarrow.table({})))):
            self.says(message, sqlite_bloom.check, self.fuse, values)
        self.says("TypeError: sqlite_bloom.check: filter is a list. Pass a filter or its bytes"
                  " first, then the column", sqlite_bloom.check, ["a"], self.fuse)
        self.says("ValueError: sqlite_bloom.Filter: the data is not a filter: it has 1 byte and"
                  " does not begin with 89424c4d. Import a filter of another system with"
                  " bloom_import",
                  sqlite_bloom.check, b"x", [])


class Processes(Program):
    """What needs a process of its own: settings of Django are made once, and libraries stay."""

    def test_the_app_of_django(self):
        subprocess.run([sys.executable, "-W", "error", __file__, "app"], check=True)

    def test_modules_that_bring_an_sqlite_library_each_in_either_order(self):
        names = ["sqlite3", "apsw", "pysqlite3", "adbc_driver_sqlite.dbapi"]
        for order in (names, names[::-1]):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([sys.executable, "-W", "ignore", __file__, "libraries", *order],
                               check=True, env={**os.environ, "TMPDIR": folder})
                self.assertEqual(os.listdir(folder), [])


def use_django_app():
    def work():
        with django.db.connection.cursor() as cursor:
            assert cursor.execute(CHECK).fetchone()[0] == 1

    django.setup()
    gc.collect()  # a receiver that nobody keeps would be gone
    work()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(work).result()
    django.core.management.call_command("check", fail_level="WARNING")


def mix_libraries(names):
    def loaded(name):
        module = importlib.import_module(name)
        connection = (module.Connection if name == "apsw" else module.connect)(":memory:")
        sqlite_bloom.load(connection)
        sqlite_bloom.load(connection)
        return connection

    def assert_answers(connection):
        cursor = connection.cursor()
        cursor.execute("SELECT bloom_check(bloom_agg('a'), 'a') + count(*)"
                       " FROM bloom_keys((SELECT bloom_agg(7, NULL, NULL, 'bitmap')))")
        assert cursor.fetchone()[0] == 2

    def assert_copies(count):
        found = glob.glob(os.path.join(tempfile.gettempdir(), "sqlite-bloom-*", "bloom.so"))
        assert len(found) == count, found

    def work(name):
        for _ in range(50):
            connection = loaded(name)
            assert_answers(connection)
            connection.close()

    connections = []
    for further, name in enumerate(names):
        connections.append(loaded(name))
        for connection in connections:
            assert_answers(connection)
        assert_copies(further)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(work, names * 2))
    child = os.fork()
    if child == 0:
        work(names[-1])
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
    work(names[-1])
    assert_copies(3)


if __name__ == "__main__":
    if sys.argv[1:] == ["app"]:
        use_django_app()
    elif sys.argv[1:2] == ["libraries"]:
        mix_libraries(sys.argv[2:])
    else:
        unittest.main()
