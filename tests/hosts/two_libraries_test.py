#!/usr/bin/env python3
"""Two SQLite libraries in one process that load the same file of the extension.

Each is a copy of the system's library, so each has its own static data, as the SQLite in the wheel
of apsw has beside the one of Python. Every test runs in a process of its own, because the fault
that it looks for is a crash. Each runs twice: with the file unloaded when its last connection
closes, and with the file kept in the process, as musl keeps it, where dlclose does nothing.
"""

import ctypes
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BLOOM = TOP / "bloom.so"
RELEASE = re.search(r'VERSION "(.*)"', (TOP / "ext/sqlite-bloom.h").read_text())[1]
REFUSAL = (f"bloom {RELEASE} serves another SQLite library in this process. Load a copy of the"
           " file, or first close the connections of that library")

# What every program begins with; the last line keeps the file where that is asked for. Then what
# it ends with: both libraries have got back all memory that they gave, each its own.
BEGINNING = """
import ctypes, sys
BLOOM, REFUSAL = sys.argv[3], sys.argv[4]
Entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)

class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.functions.sqlite3_errmsg.restype = ctypes.c_char_p
        self.functions.sqlite3_column_text.restype = ctypes.c_char_p
        self.functions.sqlite3_memory_used.restype = ctypes.c_int64

    def open(self):
        return Connection(self.functions)

class Connection:
    def __init__(self, functions):
        self.functions = functions
        self.database = ctypes.c_void_p()
        self.opened = functions.sqlite3_open(b":memory:", ctypes.byref(self.database))
        functions.sqlite3_enable_load_extension(self.database, 1)

    def message(self):
        return self.functions.sqlite3_errmsg(self.database).decode()

    def load(self, path=BLOOM):
        "Nothing, or the message."
        error = ctypes.c_char_p()
        code = self.functions.sqlite3_load_extension(self.database, path.encode(), None,
                                                     ctypes.byref(error))
        assert (code == 0) == (error.value is None)
        message = error.value and error.value.decode()
        self.functions.sqlite3_free(error)
        return message and message.removeprefix("error during initialization: ")

    def prepare(self, sql):
        statement = ctypes.c_void_p()
        code = self.functions.sqlite3_prepare_v2(self.database, sql.encode(), -1,
                                                 ctypes.byref(statement), None)
        assert code == 0, self.message()
        return statement

    def step(self, statement):
        "The first column, or None when there is no further row."
        code = self.functions.sqlite3_step(statement)
        assert code in (100, 101), self.message()
        return self.functions.sqlite3_column_text(statement, 0) if code == 100 else None

    def ask(self, sql):
        statement = self.prepare(sql)
        value = self.step(statement)
        while value is not None and self.step(statement) is not None:
            pass
        self.functions.sqlite3_finalize(statement)
        return value

    def answers(self):
        return (self.ask("SELECT bloom_check(bloom_agg(key), 7) FROM"
                         " (SELECT 7 AS key UNION ALL SELECT 8)") == b"1")

    def close(self):
        assert self.functions.sqlite3_close(self.database) == 0, self.message()

one, two = Library(sys.argv[1]), Library(sys.argv[2])
kept = sys.argv[5:] and ctypes.CDLL(BLOOM)
"""

ENDING = """
used = [library.functions.sqlite3_memory_used() for library in (one, two)]
assert used == [0, 0], used
"""

IN_TURN = """
first = one.open()
assert first.load() is None and first.answers()
second = two.open()
assert second.load() == REFUSAL
assert first.answers()
another = one.open()  # of the library that is served
assert another.load() is None and another.load() is None and another.answers()
first.close()
assert second.load() == REFUSAL
another.close()
assert second.load() is None and second.answers()
first = one.open()
assert first.load() == REFUSAL
assert second.answers()
second.close()
assert first.load() is None and first.answers()
first.close()
"""

# A connection is in use until SQLite has released the last thing that was registered on it.
LAST_USE = """
FILTER = "bloom_new(1000000, NULL, 'bitmap')"
USES = [
    f"SELECT bloom_pin({FILTER}) IS NULL FROM (SELECT 1 UNION ALL SELECT 2)",
    f"SELECT count(*) FROM bloom_keys({FILTER}), bloom_list('a.example'), bloom_url_keys('b')",
    "SELECT CAST(info AS TEXT) FROM seen",
]
second = two.open()
for use in USES:
    first = one.open()
    assert first.load() is None
    first.ask("CREATE VIRTUAL TABLE seen USING bloom")
    first.ask("INSERT INTO seen(key) VALUES (1)")
    statement = first.prepare(use)
    first.step(statement)
    assert first.functions.sqlite3_close_v2(first.database) == 0  # waits for the statement
    assert second.load() == REFUSAL, use
    first.functions.sqlite3_finalize(statement)
    assert second.load() is None and second.answers(), use
    second.close()
    second = two.open()
    for drop in (None, "bloom"):  # sqlite3_drop_modules: all, or all but that one
        first = one.open()
        assert first.load() is None
        first.ask("SELECT 1 FROM bloom_list('a.example')")
        first.functions.sqlite3_drop_modules(
            first.database, drop and (ctypes.c_char_p * 2)(drop.encode(), None))
        assert second.load() == REFUSAL
        assert first.answers()
        first.close()
        assert second.load() is None and second.answers()
        second.close()
        second = two.open()
second.close()
"""

# The other library tries to load at each moment at which the first one frees memory while it closes
# a connection. Had it been served too early, memory of the first would be freed by the second.
AT_EACH_MOMENT = """
Free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
methods = (ctypes.c_void_p * 8)()  # struct sqlite3_mem_methods; the second is xFree
assert one.functions.sqlite3_config(5, methods) == 0  # SQLITE_CONFIG_GETMALLOC
free, closing, messages = Free(methods[1]), False, []

def free_and_try(memory):
    free(memory)
    if closing and (not messages or messages[-1] is not None):
        messages.append(second.load())

replaced = Free(free_and_try)
methods[1] = ctypes.cast(replaced, ctypes.c_void_p).value
assert one.functions.sqlite3_config(4, methods) == 0  # SQLITE_CONFIG_MALLOC
for use in ("CREATE VIRTUAL TABLE seen USING bloom", "SELECT 1 FROM bloom_keys(x'')",
            "SELECT count(*) FROM bloom_list('a.example'), bloom_url_keys('b.example')",
            "SELECT bloom_pin(bloom_new(10)) IS NULL"):
    first, second, messages = one.open(), two.open(), []
    assert first.load() is None
    statement = first.prepare(use)
    first.functions.sqlite3_step(statement)
    first.functions.sqlite3_finalize(statement)
    if "FROM" in use:  # all modules but those that are in use, so that these are released last
        used = [name.encode() for name in ("bloom_keys", "bloom_list", "bloom_url_keys")]
        first.functions.sqlite3_drop_modules(first.database, (ctypes.c_char_p * 4)(*used, None))
    closing = True
    first.close()
    closing = False
    assert messages.count(REFUSAL) > 10 and set(messages) <= {REFUSAL, None}, messages
    if messages[-1] is not None:
        assert second.load() is None
    assert second.answers()
    second.close()
"""

# A load that fails, or that registers nothing, leaves no use behind.
WITHOUT_USE = """
first, second = one.open(), two.open()
assert first.load(BLOOM + ".copy") is None and first.answers()
assert first.load() is None  # it leaves everything to the copy
assert second.load() is None and second.answers()
first.close()
second.close()

tables = []
capture = Entry(lambda database, error, table: tables.append(table) or 0)
assert one.functions.sqlite3_auto_extension(capture) == 0
old = one.open()
table = (ctypes.c_void_p * 240).from_buffer_copy((ctypes.c_void_p * 240).from_address(tables[0]))
address = ctypes.cast(one.functions.sqlite3_blob_open, ctypes.c_void_p).value
table[table[:].index(address)] = None
entry = Entry(("sqlite3_bloom_init", ctypes.CDLL(BLOOM)))
assert entry(old.database, None, ctypes.addressof(table)) == 1
second = two.open()
assert second.load() is None and second.answers()
second.close()
old.close()
one.functions.sqlite3_reset_auto_extension()
"""

# The entry point as an automatic extension of both libraries.
AUTOMATIC = """
kept = ctypes.CDLL(BLOOM)
for library in (one, two):
    library.functions.sqlite3_auto_extension(kept.sqlite3_bloom_init)
first = one.open()
assert first.opened == 0 and first.answers()
second = two.open()
assert second.opened == 1, second.opened
assert second.message() == f"automatic extension loading failed: {REFUSAL}", second.message()
second.close()
first.close()
second = two.open()
assert second.opened == 0 and second.answers()
second.close()
for library in (one, two):
    library.functions.sqlite3_reset_auto_extension()
"""

# Threads that open, load and close at any moment. While one uses the extension in one library, none
# uses it in the other.
THREADS = """
import threading
served, refused, using, wrong = [0, 0], [0, 0], [0, 0], []
meeting, lock = threading.Barrier(4), threading.Lock()

def work(number):
    own = number % 2
    for step in range(1200):
        if step % 100 == 0:
            meeting.wait()
        connection = (one, two)[own].open()
        message = connection.load()
        if message is None:
            with lock:
                served[own] += 1
                using[own] += 1
                if using[1 - own] > 0 or not connection.answers():
                    wrong.append(using)
            connection.answers()
            with lock:
                using[own] -= 1
        elif message == REFUSAL:
            refused[own] += 1
        else:
            wrong.append(message)
        connection.close()

threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong[:3]
assert min(served) > 0, (served, refused)
for library in (one, two, one):
    connection = library.open()
    assert connection.load() is None and connection.answers()
    connection.close()
"""


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
        shutil.copy(BLOOM, cls.folder / "bloom.so")
        shutil.copy(BLOOM, cls.folder / "bloom.so.copy")

    def runs(self, program):
        for kept in ([], ["kept"]):
            with self.subTest(kept=bool(kept)):
                ran = subprocess.run(
                    [sys.executable, "-c", BEGINNING + program + ENDING,
                     *(self.folder / name for name in ("one.so", "two.so", "bloom.so")), REFUSAL,
                     *kept],
                    capture_output=True, text=True, check=False)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_each_is_served_while_it_is_the_only_one(self):
        self.runs(IN_TURN)

    def test_a_connection_counts_until_its_last_use(self):
        self.runs(LAST_USE)

    def test_none_is_served_before_a_connection_has_freed_its_last_memory(self):
        self.runs(AT_EACH_MOMENT)

    def test_a_load_that_registers_nothing_does_not_count(self):
        self.runs(WITHOUT_USE)

    def test_automatic_extensions(self):
        self.runs(AUTOMATIC)

    def test_threads(self):
        self.runs(THREADS)


if __name__ == "__main__":
    unittest.main()
