#!/usr/bin/env python3
"""What scripts cannot test of filter tables, and the simulator does not: pages on disk, dumps,
several processes, statements left open, memory, replicas.

    table_test.py       run the tests (and any option of unittest)

It needs apsw, of any release from 3.40, and for some tests the sqlite3 shell, which SQLITE3=path in
the environment names.
"""

import ctypes
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/runner"))
import extended  # noqa: E402
from extended import LIBRARY, either, rows  # noqa: E402

SQLITE = os.environ.get("SQLITE3", "sqlite3")
NUMBERS = "WITH RECURSIVE n(x) AS (SELECT {0} UNION ALL SELECT x + 1 FROM n WHERE x < {1}) "
FRAME, WAL_HEADER = 4096 + 24, 32


def connect(path):
    connection = extended.connect(path)
    either(connection, "set_busy_timeout", "setbusytimeout")(30_000)
    rows(connection, "PRAGMA synchronous = off")  # no power fails here
    return connection


def value(connection, sql, bindings=()):
    return rows(connection, sql, bindings)[0][0]


def insert_numbers(connection, first, last, table="s"):
    rows(connection, f"INSERT INTO {table}(key) " + NUMBERS.format(first, last) + "SELECT x FROM n")


def count_found(connection, first, last, table="s"):
    return value(
        connection,
        NUMBERS.format(first, last)
        + f"SELECT count(*) FROM n WHERE EXISTS (SELECT 1 FROM {table} WHERE key = x)",
    )


def stored(connection, table="s"):
    """All that a table stores."""
    return rows(connection, f"SELECT * FROM {table}_data")


def rotate(connection):
    rows(connection, "INSERT INTO s(s) VALUES ('rotate')")


def with_real_limits(test):
    """A build with other limits has no such test."""
    return None if "EXTENSION" in os.environ else test


def with_sessions(test):
    """PyPI's apsw has them, with which tests/rules.mk runs these tests, and Debian's has not."""
    return test if hasattr(apsw, "Session") else None


class TableTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.connections = []
        self.addCleanup(self.close)

    def close(self):
        while self.connections:
            self.connections.pop().close(True)

    def begin_again(self):
        self.close()
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def open(self, name="a.db"):
        self.connections.append(connect(self.folder / name))
        return self.connections[-1]

    def make(self, name="a.db", page_size=4096, journal_mode="delete", **options):
        """A database with the table s of these options."""
        connection = self.open(name)
        rows(connection, f"PRAGMA page_size = {page_size}; PRAGMA journal_mode = {journal_mode}")
        rows(connection, "PRAGMA wal_autocheckpoint = 0")
        listed = ", ".join(f"{option}={given}" for option, given in options.items())
        rows(connection, f"CREATE VIRTUAL TABLE s USING bloom({listed})")
        return connection

    def check_integrity(self, connection):
        """Also of the filter tables from SQLite 3.44 on."""
        self.assertEqual(rows(connection, "PRAGMA integrity_check"), [("ok",)])

    def shell(self, database, *commands, load=True):
        if shutil.which(SQLITE) is None:
            self.skipTest("skipped: sqlite3 is not installed")
        commands = [f".load {LIBRARY}" if load else "", *commands, ""]
        run = subprocess.run([SQLITE, "-batch", "-init", os.devnull, str(self.folder / database)],
                             input="\n".join(commands), capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def frames(self):
        """How many pages the WAL holds."""
        return max(0, (self.folder / "a.db-wal").stat().st_size - WAL_HEADER) // FRAME


class Limits(TableTest):
    def test_the_limit_of_a_connection_counts_for_the_filter(self):
        connection = self.make(capacity=100_000)
        insert_numbers(connection, 1, 10)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, 100_000)
        with self.assertRaisesRegex(apsw.Error, "values of this connection are limited to 100000"):
            rows(connection, "SELECT filter FROM s")
        self.assertEqual(count_found(connection, 1, 10), 10)

    def test_a_limit_below_the_length_of_a_row_does_not_count_for_rows(self):
        connection = self.make(capacity=100_000)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, 1000)
        insert_numbers(connection, 1, 1000)
        self.assertEqual(connection.limit(apsw.SQLITE_LIMIT_LENGTH), 1000)
        self.assertEqual(count_found(connection, 1, 1000), 1000)


class Protection(TableTest):
    def test_everything_works_under_defensive_and_shadow_tables_are_protected(self):
        connection = self.open()
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        rows(connection, "CREATE TABLE s_notes(x)")  # only called alike
        rows(connection, "CREATE VIRTUAL TABLE s USING bloom(capacity=50, fpr=0.001)")
        rows(connection, "INSERT INTO s_notes VALUES (1)")
        rows(connection, "BEGIN")
        insert_numbers(connection, 1, 500)
        rows(connection, "SAVEPOINT a")
        insert_numbers(connection, 501, 600)
        rows(connection, "ROLLBACK TO a; COMMIT")
        for statement in ("UPDATE s_data SET data = x''", "DELETE FROM s_data",
                          "INSERT INTO s_data VALUES (99, x'')", "DROP TABLE s_data",
                          "ALTER TABLE s_data RENAME TO x", "ALTER TABLE s_data ADD COLUMN x"):
            with self.assertRaises(apsw.Error, msg=statement):
                rows(connection, statement)
        rows(connection, "ALTER TABLE s RENAME TO t")
        rows(connection, "INSERT INTO t(key) VALUES ('renamed')")
        self.assertEqual(count_found(connection, 1, 500, "t"), 500)
        rows(connection, "INSERT INTO t(t) VALUES ('clear')")
        rows(connection,
             "INSERT INTO t(t, key) VALUES ('merge', (SELECT bloom_add(filter, 'm') FROM t))")
        self.assertEqual(
            rows(connection, "SELECT key FROM t WHERE key IN ('m', 'renamed', 1)"), [("m",)]
        )
        rows(connection, "VACUUM")
        self.check_integrity(connection)
        rows(connection, "DROP TABLE t")
        self.assertEqual(rows(connection, "SELECT name FROM sqlite_schema"), [("s_notes",)])

    def test_a_file_opened_anew_is_protected_once_its_table_was_asked(self):
        insert_numbers(self.make(capacity=50), 1, 5)
        connection = self.open()
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self.assertEqual(count_found(connection, 1, 5), 5)
        with self.assertRaises(apsw.Error):
            rows(connection, "DELETE FROM s_data")


class Pages(TableTest):
    def overflow_pages(self, connection):
        sql = "SELECT sum(pagetype = 'overflow') FROM dbstat WHERE name = 's_data'"
        try:
            return value(connection, sql)
        except apsw.Error:
            return int(self.shell("a.db", ".mode list", sql + ";"))

    def test_a_chunk_fills_a_page_and_overflows_none(self):
        """SQLite needs 40 bytes of a page beside the BLOB of its one row, and the head of a chunk
        has 16. No chunk is longer than there is room for, and a block less would do for none. Bytes
        that are reserved at the end of each page are left alone."""
        for page_size, reserved in ((512, 0), (1024, 0), (4096, 0), (65536, 0), (512, 32),
                                    (1024, 255), (4096, 63), (65536, 100)):
            with self.subTest(page_size=page_size, reserved=reserved):
                self.begin_again()
                connection = self.open()
                rows(connection, f"PRAGMA page_size = {page_size}")
                number = ctypes.c_int(reserved)
                control = either(connection, "file_control", "filecontrol")
                control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(number))
                rows(connection, "VACUUM; CREATE VIRTUAL TABLE s USING bloom(fpr=0.001,"
                                 f" capacity={page_size * 2})")
                last = page_size * 5 // 2
                insert_numbers(connection, 1, last)  # grown: chunks of two layers
                self.assertEqual((self.folder / "a.db").read_bytes()[20], reserved)
                room = (page_size - reserved - 40 - 16) // 64
                row_0 = value(connection, "SELECT data FROM s_data WHERE id = 0")
                self.assertEqual(int.from_bytes(row_0[12:16], "little"), room)
                self.assertGreater(value(connection, "SELECT count(*) FROM s_data"), 3)
                self.assertEqual(self.overflow_pages(connection), 0)
                longest = value(connection, "SELECT max(length(data)) FROM s_data")
                self.assertLessEqual(longest, 16 + 64 * room)
                self.assertEqual(count_found(connection, 1, last), last)
                self.check_integrity(connection)

    def full_table(self):
        """A table of many chunks all of which have a row, on a database page each."""
        connection = self.make(capacity=100_000, fpr=0.01, journal_mode="wal")
        insert_numbers(connection, 1, 5000)
        bits = json.loads(value(connection, "SELECT info FROM s"))["layers"][0]["bits"]
        self.assertEqual(
            value(connection, "SELECT count(*) FROM s_data WHERE id > 0"), -(-bits // (63 * 512))
        )
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
        return connection

    def test_an_insert_writes_one_page_and_a_known_key_none(self):
        connection = self.full_table()
        for key in range(1, 50):
            rows(connection, "INSERT INTO s(key) VALUES (?)", (key,))
            rows(connection, "INSERT OR IGNORE INTO s(key) VALUES (?)", (key,))
        self.assertEqual(self.frames(), 0)
        for key in range(100):
            before = self.frames()
            rows(connection, "INSERT INTO s(key) VALUES (?)", (f"single {key}",))
            self.assertLessEqual(self.frames() - before, 1)

    def test_chunks_that_hold_no_key_take_no_page(self):
        connection = self.make(capacity=100_000_000, fpr=0.01)
        self.assertLess((self.folder / "a.db").stat().st_size, 100_000)
        insert_numbers(connection, 1, 100)
        self.assertLess((self.folder / "a.db").stat().st_size, 1_000_000)
        self.assertEqual(count_found(connection, 1, 100), 100)


class Generations(TableTest):
    GENERATIONS = 6

    def rotated(self, keys):
        """A table whose generations are full of keys, in WAL mode, checkpointed."""
        connection = self.make(
            capacity=keys, fpr=0.01, journal_mode="wal", generations=self.GENERATIONS
        )
        for generation in range(self.GENERATIONS + 1):
            insert_numbers(connection, generation * keys + 1, (generation + 1) * keys)
            rotate(connection)
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
        return connection

    def test_a_rotation_and_a_key_after_it_write_one_page_each(self):
        for keys in (100, 10_000):
            with self.subTest(keys=keys):
                self.begin_again()
                connection = self.rotated(keys)
                for turn in range(self.GENERATIONS + 1):
                    before = self.frames()
                    rotate(connection)
                    self.assertEqual(self.frames() - before, 1)
                    rows(connection, "INSERT OR IGNORE INTO s(key) VALUES (?)", (f"new {turn}",))
                    self.assertLessEqual(self.frames() - before, 2)

    def test_the_file_does_not_grow_over_many_rotations(self):
        connection = self.rotated(1000)
        pages = None
        for turn in range(3 * self.GENERATIONS):
            insert_numbers(connection, 10**6 + turn * 1000, 10**6 + turn * 1000 + 999)
            rotate(connection)
            if turn == self.GENERATIONS:
                pages = value(connection, "PRAGMA page_count")
        self.assertEqual(value(connection, "PRAGMA page_count"), pages)
        self.assertEqual(value(connection, "PRAGMA freelist_count"), 0)

    def test_what_takes_forgotten_bits_out_of_the_file(self):
        """VACUUM alone does not; clear does with secure_delete, and with a VACUUM behind it."""
        for secure in (False, True):
            with self.subTest(secure_delete=secure):
                self.begin_again()
                connection = self.make(capacity=10_000, generations=2)
                rows(connection, f"PRAGMA secure_delete = {secure:d}")
                insert_numbers(connection, 1, 9000)
                bits = value(connection, "SELECT substr(data, 101, 100) FROM s_data WHERE id > 0")

                def is_there(bits=bits):
                    return bits in (self.folder / "a.db").read_bytes()

                rotate(connection)
                rotate(connection)
                rows(connection, "VACUUM")
                self.assertEqual(count_found(connection, 1, 9000), 0)
                self.assertTrue(is_there())
                rows(connection, "INSERT INTO s(s) VALUES ('clear')")
                self.assertEqual(is_there(), not secure)
                rows(connection, "VACUUM")
                self.assertFalse(is_there())

    def test_replicas_that_run_the_same_statements_are_equal_to_the_byte(self):
        """Also if one of them is closed now and then, asks, and undoes things in between."""
        chance = random.Random(1)
        one = self.make("a.db", capacity=200, fpr=0.01, generations=5)
        two = self.make("b.db", capacity=200, fpr=0.01, generations=5)
        for _ in range(300):
            first = chance.randrange(20_000)
            sql = chance.choices(
                ("INSERT INTO s(s) VALUES ('rotate')", "INSERT INTO s(s) VALUES ('clear')",
                 f"INSERT {chance.choice(('', 'OR IGNORE '))}INTO s(key) "
                 + NUMBERS.format(first, first + chance.randrange(1, 40)) + "SELECT x FROM n"),
                (5, 1, 94))[0]
            if chance.random() < 0.05:
                self.connections.remove(two)
                two.close()
                two = self.open("b.db")
            if chance.random() < 0.2:
                count_found(two, 1, 20)
            if chance.random() < 0.1:
                rows(two, "BEGIN")
                rotate(two)
                insert_numbers(two, 1, 30)
                rows(two, "ROLLBACK")
            rows(one, sql)
            rows(two, sql)
        self.assertEqual(stored(one), stored(two))


class Dumps(TableTest):
    def check_dump(self, load, *before):
        connection = self.make(capacity=300, fpr=0.001)
        insert_numbers(connection, 1, 2000)
        rows(connection, "CREATE VIRTUAL TABLE \"it's one\" USING bloom(capacity=500, fpr=0.02)")
        insert_numbers(connection, 1, 100, '"it\'s one"')
        dump = self.shell("a.db", ".dump", load=load)
        (self.folder / "dump.sql").write_text(dump, encoding="utf-8")
        self.shell("b.db", *before, f".read {self.folder / 'dump.sql'}", load=load)
        copy = self.open("b.db")
        self.assertEqual(count_found(copy, 1, 2000), 2000)
        self.assertEqual(stored(copy), stored(connection))
        for table, column in (("s", "info"), ('"it\'s one"', "info"), ('"it\'s one"', "filter")):
            sql = f"SELECT {column} FROM {table}"
            self.assertEqual(value(copy, sql), value(connection, sql))
        self.check_integrity(copy)
        insert_numbers(connection, 2001, 3000)  # and it lives on like the original
        insert_numbers(copy, 2001, 3000)
        self.assertEqual(stored(copy), stored(connection))

    def test_dump_and_restore(self):
        self.check_dump(True)

    def test_dump_and_restore_without_the_extension(self):
        self.check_dump(False)

    def test_restore_into_a_database_of_another_page_size(self):
        self.check_dump(True, "PRAGMA page_size = 1024;", ".dbconfig defensive off")


class Files(TableTest):
    def test_rowids_out_of_order_end_every_statement(self):
        """Two rows of chunks exchange their places in the b-tree, so that ids do not ascend."""
        connection = self.make(capacity=300, fpr=0.001, page_size=65536)
        insert_numbers(connection, 1, 2000)
        root = value(connection, "SELECT rootpage FROM sqlite_master WHERE name = 's_data'")
        self.close()
        path = self.folder / "a.db"
        page = bytearray(path.read_bytes()[(root - 1) * 65536 :][:65536])
        self.assertEqual(page[0], 13)  # a leaf; its cell pointers begin at byte 8
        self.assertGreater(int.from_bytes(page[3:5], "big"), 2)  # cells
        page[10:12], page[12:14] = page[12:14], page[10:12]
        with path.open("r+b") as file:
            file.seek((root - 1) * 65536)
            file.write(page)
        connection = self.open()
        for sql in ("SELECT info FROM s", "SELECT filter FROM s", "SELECT count(*) FROM s(1)",
                    "PRAGMA integrity_check", "INSERT INTO s(key) VALUES ('a')",
                    "INSERT INTO s(s) VALUES ('clear')"):
            try:
                rows(connection, sql)
            except apsw.Error as error:
                self.assertIn("s", str(error))

    def test_a_chain_of_pages_that_is_cut_within_rows_is_damage_and_nothing_is_lost(self):
        """Rows of 4 KB go over nine pages of 512 bytes. Those of the last row are cut."""
        numbers = json.dumps(list(range(1, 5001)))
        connection = self.make(capacity=200000)
        insert_numbers(connection, 1, 5000)
        rows(connection, "PRAGMA page_size = 512; VACUUM")
        self.close()
        path = self.folder / "a.db"
        content = bytearray(path.read_bytes())
        # Those that are of no b-tree begin with the number of the next one.
        chains = {page: content[page : page + 4]
                  for page in range(len(content) - 8 * 512, len(content), 512)
                  if content[page] not in (2, 5, 10, 13)}
        for page in chains:
            content[page : page + 4] = b"\xff\xff\xff\xff"
        path.write_bytes(content)
        connection = self.open()
        rows(connection, "CREATE TEMP TABLE n AS SELECT value FROM json_each(?)",
             (numbers,))
        inserts = [f"INSERT INTO s(key) VALUES ({-i})" for i in range(1, 1000)]
        for statements in (["SELECT count(*) FROM n JOIN s ON key = value"], inserts,
                           ["SELECT count(*) FROM n WHERE (SELECT 1 FROM s WHERE key = value)"],
                           ["BEGIN", *inserts], ["INSERT INTO s(key) SELECT -value FROM n"],
                           ["SELECT info FROM s"]):
            with self.subTest(sql=statements[-1]), self.assertRaisesRegex(
                    apsw.CorruptError, "s: database disk image is malformed"):
                for sql in statements:
                    rows(connection, sql)
            if connection.in_transaction:
                rows(connection, "ROLLBACK")
        self.close()
        content = bytearray(path.read_bytes())
        for page, chain in chains.items():
            content[page : page + 4] = chain
        path.write_bytes(content)
        connection = self.open()
        self.check_integrity(connection)
        self.assertEqual(
            value(connection, "SELECT count(*) FROM json_each(?) n JOIN s ON s.key = n.value",
                  (numbers,)), 5000)


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from table_test import connect, rows
connection = connect(sys.argv[2])
first, last, size = map(int, sys.argv[3:6])
print("ready", flush=True)
sys.stdin.readline()
new = 0
for begin in range(first, last, size):
    rows(connection, "BEGIN IMMEDIATE")
    for key in range(begin, min(begin + size, last)):
        rows(connection, "INSERT OR IGNORE INTO s(key) VALUES (?)", (key,))
        new += connection.changes()
    rows(connection, "COMMIT")
    print(min(begin + size, last), flush=True)
print(new, flush=True)
"""


class Processes(TableTest):
    def writer(self, *numbers, **streams):
        """Adds the keys from, to, and as many in a transaction; prints the end of each that was
        committed."""
        return subprocess.Popen([sys.executable, "-c", WRITER, str(pathlib.Path(__file__).parent),
                                 str(self.folder / "a.db"), *map(str, numbers)], **streams)

    def check_processes(self, journal_mode):
        connection = self.make(capacity=200, fpr=0.001, journal_mode=journal_mode)
        writers = [
            self.writer(*numbers, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for numbers in ((1, 1500, 20), (1001, 2500, 5), (2001, 3500, 7), (3001, 4500, 100))
        ]
        for writer in writers:
            self.assertEqual(writer.stdout.readline(), "ready\n")
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        answers = 0
        while any(writer.poll() is None for writer in writers):  # this process asks all the time
            found = count_found(connection, 1, 4500)
            self.assertGreaterEqual(found, answers)
            answers = found
        new = 0
        for writer in writers:
            out, _ = writer.communicate()
            self.assertEqual(writer.returncode, 0)
            new += int(out.split()[-1])
        self.assertEqual(count_found(connection, 1, 4499), 4499)
        info = json.loads(value(connection, "SELECT info FROM s"))
        self.assertEqual(sum(layer["keys"] for layer in info["layers"]), new)
        self.assertGreater(len(info["layers"]), 3)
        self.assertLessEqual(new, 4499)
        self.assertGreaterEqual(new, 4499 - 4499 * 0.004)
        self.check_integrity(connection)

    def test_four_processes_write_and_grow_one_table_in_wal_mode(self):
        self.check_processes("wal")

    def test_four_processes_write_and_grow_one_table_with_a_rollback_journal(self):
        self.check_processes("delete")


    def test_writers_that_are_killed_lose_no_committed_key(self):
        """KILLS in the environment says how often."""
        connection = self.make(capacity=200, fpr=0.001, journal_mode="wal")
        chance = random.Random(int(os.environ.get("SEED", 1)))
        logs = [self.folder / f"{i}.log" for i in range(4)]
        firsts = [i * 1_000_000 for i in range(4)]
        writers = [None] * 4

        for log in logs:
            log.touch()

        def committed(i):
            ends = re.findall(r"^\d+$", logs[i].read_text(), re.MULTILINE)
            return int(ends[-1]) if ends else firsts[i]

        def start(i):
            with logs[i].open("a") as log:
                writers[i] = self.writer(committed(i), firsts[i] + 1_000_000,
                                         chance.choice((1, 7, 50, 400)), stdout=log,
                                         stdin=subprocess.DEVNULL)

        for i in range(4):
            start(i)
        for _ in range(int(os.environ.get("KILLS", 12))):
            time.sleep(chance.uniform(0.02, 0.3))
            i = chance.randrange(4)
            writers[i].kill()
            writers[i].wait()  # or it has ended, since the others did not let it write in time
            start(i)
            self.check_integrity(connection)
        for writer in writers:
            writer.kill()
            writer.wait()
        added = [committed(i) - firsts[i] for i in range(4)]
        self.assertGreater(sum(added), 0)
        for used in (connection, self.open()):
            for first, count in zip(firsts, added):
                self.assertEqual(count_found(used, first, first + count - 1), count)
        self.check_integrity(connection)


class Loads(TableTest):
    def test_a_second_copy_of_the_library_leaves_the_first_one_at_work(self):
        copy = self.folder / ("second" + pathlib.Path(LIBRARY).suffix)
        shutil.copy(LIBRARY, copy)
        connection = self.make()
        insert_numbers(connection, 1, 10)
        found = connection.cursor().execute("SELECT key FROM s WHERE key IN (1, 2, 3)")
        self.assertEqual(next(found), (1,))
        either(connection, "enable_load_extension", "enableloadextension")(True)
        either(connection, "load_extension", "loadextension")(str(copy), "sqlite3_bloom_init")
        self.assertEqual(list(found), [(2,), (3,)])
        insert_numbers(connection, 11, 20)
        self.assertEqual(count_found(connection, 1, 20), 20)


class OpenStatements(TableTest):
    def half_read(self, connection):
        """A statement that stands at its first row of a filter table."""
        rows(connection, "CREATE TABLE IF NOT EXISTS wanted(x)")
        rows(connection, "INSERT INTO wanted VALUES (1), (2), (3)")
        cursor = connection.cursor()
        cursor.execute("SELECT x FROM wanted JOIN s ON s.key = x")
        self.assertEqual(next(cursor), (1,))
        return cursor

    def test_a_table_that_is_being_read_may_grow_and_cannot_be_dropped(self):
        connection = self.make(capacity=10)
        insert_numbers(connection, 1, 10)
        cursor = self.half_read(connection)
        with self.assertRaises(apsw.LockedError):
            rows(connection, "DROP TABLE s")
        rows(connection, "CREATE TABLE aside(x)")
        insert_numbers(connection, 11, 500)
        self.assertEqual(list(cursor), [(2,), (3,)])
        self.assertEqual(count_found(connection, 1, 500), 500)
        rows(connection, "DROP TABLE s")
        self.assertEqual(rows(connection, "SELECT name FROM sqlite_schema"),
                         [("wanted",), ("aside",)])

    def test_a_statement_that_fails_takes_back_nothing_in_another_database(self):
        for table, failing in (("main.s", "other.numbers"), ("other.s", "main.numbers")):
            connection = connect(":memory:")
            either(connection, "create_scalar_function", "createscalarfunction")(
                "added", lambda x: rows(connection, "INSERT INTO s(key) VALUES (?)", (x,)) or x, 1)
            rows(connection, "ATTACH ':memory:' AS other")
            rows(connection, f"CREATE TABLE {failing}(x UNIQUE, y)")
            rows(connection, f"CREATE VIRTUAL TABLE {table} USING bloom(capacity=100, fpr=1e-6)")
            rows(connection, "BEGIN")
            insert_numbers(connection, 1, 5)
            with self.assertRaises(apsw.ConstraintError):
                rows(connection, f"INSERT INTO {failing} " + NUMBERS.format(6, 15) +
                     "SELECT x / 15, added(x) FROM n")
            self.assertEqual(count_found(connection, 1, 15), 7)
            rows(connection, "COMMIT")
            self.assertEqual(count_found(connection, 1, 15), 7)

    def test_a_savepoint_that_fails_for_one_table_has_not_begun_for_the_others(self):
        connection = connect(":memory:")
        for table in "fst":
            rows(connection, f"CREATE VIRTUAL TABLE {table} USING bloom(capacity=100, fpr=1e-6)")

        def begin_with_a_broken_row(sql, table):
            good = value(connection, f"SELECT data FROM {table}_data WHERE id = 1")
            rows(connection, f"UPDATE {table}_data SET data = x'00' WHERE id = 1")
            try:
                rows(connection, sql)
            except apsw.CorruptError:
                pass
            rows(connection, f"UPDATE {table}_data SET data = ? WHERE id = 1", (good,))

        rows(connection, "BEGIN")
        for sql, broken in (("SAVEPOINT a", "t"), ("CREATE TABLE other(x)", "f")):
            for table in "fst":
                for key in range(10) if sql == "SAVEPOINT a" else range(10, 20):
                    rows(connection, f"INSERT INTO {table}(key) VALUES (?)", (key,))
            begin_with_a_broken_row(sql, broken)
        rows(connection, "COMMIT")
        self.assertEqual(count_found(connection, 0, 19), 20)


class OtherContent(TableTest):
    """The rows of the table are replaced behind its back, but between its transactions."""

    def test_another_database_is_deserialized_in_the_place_of_an_open_one(self):
        for first, second in ((("capacity=1000", 0), ("capacity=1000", 0)),
                              (("capacity=1000", 0), ("capacity=50", 0)),
                              (("generations=3", 0), ("generations=3", 2))):
            images = []
            for keys, (options, rotations) in (((1, 500), first), ((501, 1000), second)):
                made = connect(":memory:")
                rows(made, f"CREATE VIRTUAL TABLE s USING bloom({options}, fpr=1e-5)")
                for _ in range(rotations):
                    rows(made, "INSERT INTO s(s) VALUES ('rotate')")
                insert_numbers(made, *keys)
                images.append(made.serialize("main"))
            connection = connect(":memory:")
            for image, keys, others in ((images[0], (1, 500), (501, 1000)),
                                        (images[1], (501, 1000), (1, 500))):
                connection.deserialize("main", image)
                for _ in range(3):  # from the third time on, copies would be asked
                    self.assertEqual(count_found(connection, *keys), 500)
                self.assertEqual(count_found(connection, *others), 0)

    def test_another_database_is_deserialized_amid_a_transaction(self):
        made, connection = connect(":memory:"), connect(":memory:")
        for each, keys in ((made, (1, 50)), (connection, (51, 60))):
            rows(each, "CREATE VIRTUAL TABLE s USING bloom(capacity=100, fpr=1e-6)")
            rows(each, "BEGIN")
            insert_numbers(each, *keys)
        for key in range(61, 101):
            rows(connection, "INSERT INTO s(key) VALUES (?)", (key,))
        rows(made, "COMMIT")
        try:
            connection.deserialize("main", made.serialize("main"))
        except apsw.BusyError:
            self.skipTest("skipped: this SQLite refuses it")
        # What was inserted before it cannot be written any more.
        with self.assertRaisesRegex(apsw.SQLError, "deserialized amid the transaction"):
            rows(connection, "INSERT INTO s(key) VALUES (101)")
        rows(connection, "ROLLBACK")
        rows(connection, "INSERT INTO s(key) VALUES (102)")
        self.assertEqual(count_found(connection, 1, 50), 50)
        self.assertEqual(count_found(connection, 51, 200), 1)

    @with_sessions
    def test_changesets_of_a_replica_are_applied(self):
        replica, connection = (self.make(f"{name}.db", capacity=100, generations=2)
                               for name in ("replica", "other"))
        for last in (100, 200, 300):
            session = apsw.Session(replica, "main")
            session.attach()
            rows(replica, "INSERT INTO s(s) VALUES ('rotate')")
            insert_numbers(replica, last - 99, last)
            apsw.Changeset.apply(session.changeset(), connection)
            for _ in range(3):
                self.assertEqual(count_found(connection, last - 99, last), 100)
            self.assertEqual(stored(connection), stored(replica))
        self.check_integrity(connection)


# Calls the entry point of an extension (second argument) for a connection of the SQLite library
# (first argument), with a copy of its table of functions in which those named by further arguments
# are NULL; prints the result code and the message. The copy is of 240 functions: SQLite 3.31 has a
# few more, and all that the extension calls are among them.
WITHOUT_A_FUNCTION = """
import ctypes, sys
sqlite = ctypes.CDLL(sys.argv[1])
Entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
tables = []
capture = Entry(lambda database, error, table: tables.append(table) or 0)
assert sqlite.sqlite3_auto_extension(capture) == 0
database, error = ctypes.c_void_p(), ctypes.c_char_p()
assert sqlite.sqlite3_open(b":memory:", ctypes.byref(database)) == 0
table = (ctypes.c_void_p * 240).from_buffer_copy((ctypes.c_void_p * 240).from_address(tables[0]))
for name in sys.argv[3:]:
    table[table[:].index(ctypes.cast(sqlite[name], ctypes.c_void_p).value)] = None
code = ctypes.CDLL(sys.argv[2]).sqlite3_bloom_init(database, ctypes.byref(error), table)
print(code, (error.value or b"").decode())
"""


class Hosts(unittest.TestCase):
    @unittest.skipUnless(sys.platform == "linux", "skipped: looks for libsqlite3.so.0")
    def test_an_sqlite_built_without_what_tables_need_is_refused(self):
        refusal = (r"1 bloom \d+\.\d+\.\d+ needs an SQLite that was built without"
                   r" SQLITE_OMIT_VIRTUALTABLE and SQLITE_OMIT_INCRBLOB,"
                   r" but this is 3\.\d+\.\d+\. Use another SQLite")
        for missing in ([], ["sqlite3_create_module_v2"], ["sqlite3_blob_open"]):
            with self.subTest(missing=missing):
                run = subprocess.run(
                    [sys.executable, "-c", WITHOUT_A_FUNCTION, "libsqlite3.so.0", LIBRARY,
                     *missing], capture_output=True, text=True, check=True)
                self.assertRegex(run.stdout, f"^{refusal if missing else '0 '}\n$")


class Memory(TableTest):
    @unittest.skipUnless(pathlib.Path("/sys/kernel/mm/transparent_hugepage").exists(),
                         "skipped: this system has no huge pages to ask for")
    @with_real_limits
    def test_a_pin_of_32_megabytes_asks_for_huge_pages(self):
        connection = connect(":memory:")
        for keys, asks in ((25_000_000, False), (27_500_000, True)):
            cursor = connection.cursor()
            cursor.execute("SELECT bloom_check((SELECT bloom_pin(bloom_new(?, 0.01))), 1)", (keys,))
            self.assertEqual(next(cursor), (0,))
            mapped = pathlib.Path("/proc/self/smaps").read_text(encoding="ascii", errors="replace")
            self.assertEqual(re.search(r"^VmFlags:.* hg", mapped, re.MULTILINE) is not None, asks)
            cursor.close(True)

    def test_a_long_key_that_was_asked_is_not_kept(self):
        used = either(apsw, "memory_used", "memoryused")
        connection = self.make(capacity=10)
        rows(connection, "INSERT INTO s(key) VALUES (hex(zeroblob(500000)))")
        asked = "SELECT length(key) FROM s WHERE key = hex(zeroblob({}))"
        rows(connection, asked.format(1))
        before = used()
        self.assertEqual(rows(connection, asked.format(500_000)), [(1_000_000,)])
        self.assertLess(used() - before, 100_000)


if __name__ == "__main__":
    unittest.main()
