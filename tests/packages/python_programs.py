"""sqlite_bloom.load, inside an environment that has the package and the drivers of build/drivers:
python_test.py runs this there. What the package does with keys is in filter_programs.py.
"""

import asyncio
import concurrent.futures
import glob
import hashlib
import importlib
import os
import resource
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import django.conf
import django.db
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import sqlite_bloom

CHECK = "SELECT bloom_check(bloom_agg('a'), 'a')"
QUERY = sqlalchemy.text(CHECK)
django.conf.settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})


def opened(name):
    module = importlib.import_module(name)
    connection = (module.Connection if name == "apsw" else module.connect)(":memory:")
    sqlite_bloom.load(connection)
    return connection


class Load(unittest.TestCase):
    def test_modules_answer_alike_and_bind_a_filter_and_loading_is_off_again(self):
        filter = sqlite_bloom.Filter.build(["a"])
        for name in ("sqlite3", "apsw", "pysqlite3", "sqlcipher3"):
            cursor = opened(name).cursor()
            version, made, value = cursor.execute(
                f"SELECT bloom_version(), ({os.environ['FILTER']}), ?", [filter]).fetchone()
            self.assertEqual(hashlib.md5(made).hexdigest(), os.environ["FILTER_MD5"])
            self.assertRegex(version, f"^{sqlite_bloom.__version__}$")
            self.assertEqual((value, sqlite_bloom.Filter(value)), (bytes(filter), filter))
            with self.assertRaisesRegex(Exception, "not authorized"):
                cursor.execute("SELECT load_extension('x')").fetchone()
        with sqlalchemy.create_engine("sqlite://").connect() as connection:
            self.assertEqual(connection.execute(sqlalchemy.text("SELECT :f"), {"f": filter})
                             .scalar(), bytes(filter))

    def test_connections_within_others(self):
        """ORMS.md has an engine and the app of Django, and README has aiosqlite."""
        for opened_by in (sqlalchemy.engine.Engine.connect, sqlalchemy.orm.Session):
            with opened_by(sqlalchemy.create_engine("sqlite://")) as connection:
                sqlite_bloom.load(connection)
                self.assertEqual(connection.execute(QUERY).scalar(), 1)
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
            with self.assertRaisesRegex(TypeError, f"^sqlite_bloom.load: {words}$"):
                sqlite_bloom.load(value)
        with self.assertRaisesRegex(NotImplementedError,
                                    r"was built without extension loading\. .*pip install apsw"):
            sqlite_bloom.load(mock.Mock(spec=["cursor"]))
        # apsw up to 3.41 writes the names in one word. What fails switches loading off again.
        for enable, load in (("enable_load_extension", "load_extension"),
                             ("enableloadextension", "loadextension")):
            failing = mock.Mock(**{f"{load}.side_effect": ValueError("mine")}, spec=[enable, load])
            with self.assertRaisesRegex(ValueError, "mine"):
                sqlite_bloom.load(failing)
            self.assertEqual(failing.mock_calls, [
                getattr(mock.call, enable)(True),
                getattr(mock.call, load)(sqlite_bloom.loadable_path()),
                getattr(mock.call, enable)(False)])


class Build(unittest.TestCase):
    def test_memory_stays_flat(self):
        def build(keys):
            sqlite_bloom.Filter.build((f"http://example.com/{i}" for i in range(keys)), 2_000_000)
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        self.assertLess(-build(300_000) + build(2_000_000), 4096)


class Processes(unittest.TestCase):
    """What needs a process of its own: settings of Django are made once, and libraries stay."""

    def test_modules_that_bring_an_sqlite_library_each_in_either_order(self):
        names = ["sqlite3", "apsw", "pysqlite3", "adbc_driver_sqlite.dbapi"]
        for order in (names, names[::-1]):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([sys.executable, "-W", "ignore", __file__, "libraries", *order],
                               check=True, env={**os.environ, "TMPDIR": folder})
                self.assertEqual(os.listdir(folder), [])


def mix_libraries(names):
    def loaded(name):
        connection = opened(name)
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
    if sys.argv[1:2] == ["libraries"]:
        mix_libraries(sys.argv[2:])
    else:
        unittest.main()
