#!/usr/bin/env python3
"""Two SQLite libraries in one process that load the same file of the extension.

Each is a copy of the system's library, so each has its own static data, as the SQLite in the wheel
of apsw has beside the one of Python. Every test runs in a process of its own, because the fault
that it looks for is a crash. Each runs twice: with the file unloaded when its last connection
closes, and with the file kept in the process, as musl keeps it, where dlclose does nothing.
tests/threads/two_libraries_test.c finds calls of a library that is no longer served.
"""

import ctypes
import functools
import multiprocessing
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASE = re.search(r'VERSION "(.*)"', (TOP / "ext/sqlite-bloom.h").read_text())[1]
REFUSAL = (f"bloom {RELEASE} serves another SQLite library in this process. Load a copy of the"
           " file, or first close the connections of that library")
ROW, DONE = 100, 101  # of SQLite's header
Entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Connection:
    def __init__(self, functions, bloom):
        self.functions, self.bloom = functions, str(bloom)
        self.database = ctypes.c_void_p()
        functions.sqlite3_open(b":memory:", ctypes.byref(self.database))
        functions.sqlite3_enable_load_extension(self.database, 1)

    def message(self):
        return self.functions.sqlite3_errmsg(self.database).decode()

    def load(self, suffix=""):
        """Loads the file, or its copy with a suffix; gives nothing, or the message."""
        error = ctypes.c_char_p()
        code = self.functions.sqlite3_load_extension(
            self.database, (self.bloom + suffix).encode(), None, ctypes.byref(error))
        assert (code == 0) == (error.value is None)
        message = error.value and error.value.decode()
        self.functions.sqlite3_free(error)
        return message and message.removeprefix("error during initialization: ")

    def begin(self, sql):
        """A statement after its first step."""
        statement = ctypes.c_void_p()
        code = self.functions.sqlite3_prepare_v2(self.database, sql.encode(), -1,
                                                 ctypes.byref(statement), None)
        assert code == 0, self.message()
        assert self.functions.sqlite3_step(statement) in (ROW, DONE), self.message()
        return statement

    def ask(self, sql):
        """The first value."""
        statement = self.begin(sql)
        value = self.functions.sqlite3_column_text(statement, 0)
        self.functions.sqlite3_finalize(statement)
        return value

    def answers(self):
        return (self.ask("SELECT bloom_check(bloom_agg(key), 7) FROM"
                         " (SELECT 7 AS key UNION ALL SELECT 8)") == b"1")

    def drop_modules(self, *kept):
        """All modules of the connection but these."""
        names = (ctypes.c_char_p * (len(kept) + 1))(*(name.encode() for name in kept), None)
        self.functions.sqlite3_drop_modules(self.database, names if kept else None)

    def close(self):
        assert self.functions.sqlite3_close(self.database) == 0, self.message()


def of_both(test):
    """A test of both libraries, which have got back all memory afterwards. In a process of its own,
    with the file unloaded when its last connection closes, and kept."""
    def run_in_child(self, kept):
        libraries = [ctypes.CDLL(self.folder / name) for name in ("one.so", "two.so")]
        for functions in libraries:
            functions.sqlite3_errmsg.restype = ctypes.c_char_p
            functions.sqlite3_column_text.restype = ctypes.c_char_p
            functions.sqlite3_memory_used.restype = ctypes.c_int64
        held = kept and ctypes.CDLL(self.bloom)
        test(self, *libraries)
        used = [functions.sqlite3_memory_used() for functions in libraries]
        assert used == [0, 0], (used, held)

    @functools.wraps(test)
    def run(self):
        for kept in (False, True):
            with self.subTest(kept=kept):
                child = multiprocessing.get_context("fork").Process(
                    target=run_in_child, args=(self, kept))
                child.start()
                child.join()
                self.assertEqual(child.exitcode, 0)

    return run


@unittest.skipUnless(sys.platform == "linux", "skipped: looks for libsqlite3.so.0")
class TwoLibraries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        ctypes.CDLL("libsqlite3.so.0")
        maps = pathlib.Path("/proc/self/maps").read_text()
        system = re.search(r" (/\S*/libsqlite3\.so\.0\S*)$", maps, re.MULTILINE)[1]
        for name in ("one.so", "two.so"):
            shutil.copy(system, cls.folder / name)
        cls.bloom = cls.folder / "bloom.so"
        for name in ("bloom.so", "bloom.so.copy"):
            shutil.copy(TOP / "bloom.so", cls.folder / name)

    def open(self, functions):
        return Connection(functions, self.bloom)

    @of_both
    def test_each_is_served_while_it_is_the_only_one(self, one, two):
        first = self.open(one)
        assert first.load() is None and first.answers()
        second = self.open(two)
        assert second.load() == REFUSAL
        assert first.answers()
        another = self.open(one)  # of the library that is served
        assert another.load() is None and another.load() is None and another.answers()
        first.close()
        assert second.load() == REFUSAL
        another.close()
        assert second.load() is None and second.answers()
        first = self.open(one)
        assert first.load() == REFUSAL
        assert second.answers()
        second.close()
        assert first.load() is None and first.answers()
        first.close()

    @of_both
    def test_a_connection_counts_until_its_last_use(self, one, two):
        """In use until SQLite has released the last thing that was registered on it."""
        filter = "bloom_new(1000000, NULL, 'bitmap')"
        uses = [f"SELECT bloom_pin({filter}) IS NULL FROM (SELECT 1 UNION ALL SELECT 2)",
                f"SELECT count(*) FROM bloom_keys({filter}), bloom_list('a.example'),"
                " bloom_url_keys('b')",
                "SELECT CAST(info AS TEXT) FROM seen"]

        def check(ending):
            first, second = self.open(one), self.open(two)
            assert first.load() is None
            ending(first, second)
            assert second.load() is None and second.answers(), ending
            second.close()

        def closed_before_its_statement(first, second):
            first.ask("CREATE VIRTUAL TABLE seen USING bloom")
            first.ask("INSERT INTO seen(key) VALUES (1)")
            statement = first.begin(use)
            assert first.functions.sqlite3_close_v2(first.database) == 0
            assert second.load() == REFUSAL, use
            first.functions.sqlite3_finalize(statement)

        def modules_dropped(first, second):
            first.ask("SELECT 1 FROM bloom_list('a.example')")
            first.drop_modules(*kept)
            assert second.load() == REFUSAL and first.answers()
            first.close()

        for use in uses:
            check(closed_before_its_statement)
        for kept in ([], ["bloom"]):
            check(modules_dropped)

    @of_both
    def test_a_load_that_fails_or_registers_nothing_does_not_count(self, one, two):
        first, second = self.open(one), self.open(two)
        assert first.load(".copy") is None and first.answers()
        assert first.load() is None  # it leaves everything to the copy
        assert second.load() is None and second.answers()
        first.close()
        second.close()

        tables = []
        capture = Entry(lambda database, error, table: tables.append(table) or 0)
        assert one.sqlite3_auto_extension(capture) == 0
        old = self.open(one)
        functions = ctypes.c_void_p * 240
        table = functions.from_buffer_copy(functions.from_address(tables[0]))
        address = ctypes.cast(one.sqlite3_blob_open, ctypes.c_void_p).value
        table[table[:].index(address)] = None
        entry = Entry(("sqlite3_bloom_init", ctypes.CDLL(self.bloom)))
        assert entry(old.database, None, ctypes.addressof(table)) == 1
        second = self.open(two)
        assert second.load() is None and second.answers()
        second.close()
        old.close()
        one.sqlite3_reset_auto_extension()


if __name__ == "__main__":
    unittest.main()
