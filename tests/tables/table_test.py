#!/usr/bin/env python3
"""What scripts cannot test of filter tables: pages on disk, backups and dumps, several processes,
statements left open.

    table_test.py       run the tests (and any option of unittest)

It needs apsw, of any release from 3.40, and for some tests the sqlite3 shell, which SQLITE3=path in
the environment names.
"""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/runner"))
import extended  # noqa: E402
from extended import LIBRARY, either, rows  # noqa: E402

SQLITE = os.environ.get("SQLITE3", "sqlite3")
NUMBERS = "WITH RECURSIVE n(x) AS (SELECT {0} UNION ALL SELECT x + 1 FROM n WHERE x < {1}) "
SQLITE_VERSION = either(apsw, "sqlite_lib_version", "sqlitelibversion")()


def connect(path):
    connection = extended.connect(path)
    either(connection, "set_busy_timeout", "setbusytimeout")(30_000)
    rows(connection, "PRAGMA synchronous = off")  # no power fails here
    return connection


def total_keys(connection):
    """The keys that the table s counts."""
    return value(
        connection, "SELECT sum(json_extract(value, '$.keys')) FROM s, json_each(info, '$.layers')"
    )


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


def stored(connection, table="s", schema="main"):
    """All that a table stores."""
    return rows(connection, f"SELECT * FROM {schema}.{table}_data")


class TableTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.connections = []
        self.addCleanup(lambda: [connection.close(True) for connection in self.connections])

    def open(self, name="a.db"):
        self.connections.append(connect(self.folder / name))
        return self.connections[-1]

    def make(self, capacity=1000, fpr=0.001, name="a.db", page_size=None, journal_mode=None):
        connection = self.open(name)
        if page_size:
            rows(connection, f"PRAGMA page_size = {page_size}")
        if journal_mode:
            rows(connection, f"PRAGMA journal_mode = {journal_mode}")
        rows(connection, f"CREATE VIRTUAL TABLE s USING bloom(capacity={capacity}, fpr={fpr})")
        return connection

    def check_integrity(self, connection):
        """Also of the filter tables from SQLite 3.44 on."""
        self.assertEqual(rows(connection, "PRAGMA integrity_check"), [("ok",)])

    def shell(self, database, *commands):
        if shutil.which(SQLITE) is None:
            self.skipTest("skipped: sqlite3 is not installed")
        run = subprocess.run([SQLITE, "-batch", "-init", os.devnull, str(self.folder / database)],
                             input="\n".join([f".load {LIBRARY}", *commands, ""]),
                             capture_output=True, text=True, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout


class Limits(TableTest):
    def test_the_limit_of_a_connection_counts_for_the_filter(self):
        connection = self.make(capacity=100_000)
        insert_numbers(connection, 1, 10)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, 100_000)
        with self.assertRaisesRegex(
            apsw.Error,
            r"s: the filter needs \d+ bytes, but values of this connection are limited to 100000"
            r" bytes. Query the table itself$",
        ):
            rows(connection, "SELECT filter FROM s")
        self.assertEqual(count_found(connection, 1, 10), 10)


class Protection(TableTest):
    def test_everything_works_under_defensive_and_shadow_tables_are_protected(self):
        connection = self.open()
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        rows(connection, "CREATE VIRTUAL TABLE s USING bloom(capacity=50, fpr=0.001)")
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
        self.assertEqual(count_found(connection, 1, 500), 500)
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
        self.assertEqual(rows(connection, "SELECT name FROM sqlite_schema"), [])

    def test_a_file_opened_anew_is_protected_once_its_table_was_asked(self):
        insert_numbers(self.make(capacity=50), 1, 5)
        connection = self.open()
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self.assertEqual(count_found(connection, 1, 5), 5)
        with self.assertRaises(apsw.Error):
            rows(connection, "DELETE FROM s_data")

    def test_a_table_that_is_only_called_alike_is_not_protected(self):
        connection = self.open()
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        rows(connection, "CREATE TABLE s_notes(x)")
        rows(connection, "CREATE VIRTUAL TABLE s USING bloom(capacity=50)")
        rows(connection, "INSERT INTO s_notes VALUES (1)")
        with self.assertRaises(apsw.Error):
            rows(connection, "DELETE FROM s_data")
        rows(connection, "DROP TABLE s")
        self.assertEqual(rows(connection, "SELECT x FROM s_notes"), [(1,)])

    def test_options_stand_between_white_space_of_any_kind(self):
        connection = self.open()
        rows(connection,
             "CREATE VIRTUAL TABLE s USING bloom(\r\n\t capacity \r\n=\f\t50\r, growth\t=\f\roff)")
        self.assertEqual(
            value(
                connection,
                "SELECT json_extract(info, '$.capacity') || json_extract(info, '$.growth') FROM s",
            ),
            "500",
        )


class Pages(TableTest):
    def overflow_pages(self, connection, table):
        sql = f"SELECT sum(pagetype = 'overflow') FROM dbstat WHERE name = '{table}'"
        try:
            return value(connection, sql)
        except apsw.Error:
            return int(self.shell("a.db", ".mode list", sql + ";"))

    def check_one_chunk_a_page(self, connection, usable):
        """SQLite needs 40 bytes of a page beside the BLOB of its one row, and the head of a chunk
        has 16. No chunk is longer than there is room for, and a block less would do for none."""
        room = (usable - 40 - 16) // 64
        row_0 = value(connection, "SELECT data FROM s_data WHERE id = 0")
        self.assertEqual(int.from_bytes(row_0[12:16], "little"), room)
        self.assertGreater(value(connection, "SELECT count(*) FROM s_data"), 3)
        self.assertEqual(self.overflow_pages(connection, "s_data"), 0)
        longest = value(connection, "SELECT max(length(data)) FROM s_data")
        self.assertLessEqual(longest, 16 + 64 * room)

    def test_a_chunk_fills_a_page_of_every_size_and_overflows_none(self):
        for page_size in (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536):
            with self.subTest(page_size=page_size):
                (self.folder / "a.db").unlink(missing_ok=True)
                connection = self.make(capacity=page_size * 2, page_size=page_size)
                last = page_size * 5 // 2
                insert_numbers(connection, 1, last)  # grown: chunks of two layers
                self.check_one_chunk_a_page(connection, page_size)
                self.assertEqual(count_found(connection, 1, last), last)
                self.check_integrity(connection)
                connection.close()
                self.connections.clear()

    def test_reserved_bytes_at_the_end_of_each_page_are_left_alone(self):
        for page_size, reserved in ((512, 32), (1024, 255), (4096, 8), (4096, 32), (4096, 63),
                                    (65536, 100)):
            with self.subTest(page_size=page_size, reserved=reserved):
                (self.folder / "a.db").unlink(missing_ok=True)
                connection = self.open()
                rows(connection, f"PRAGMA page_size = {page_size}")
                number = ctypes.c_int(reserved)
                control = either(connection, "file_control", "filecontrol")
                control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(number))
                rows(connection, "VACUUM")
                rows(connection,
                     f"CREATE VIRTUAL TABLE s USING bloom(capacity={page_size * 2}, fpr=0.001)")
                last = page_size * 5 // 2
                insert_numbers(connection, 1, last)
                self.assertEqual((self.folder / "a.db").read_bytes()[20], reserved)
                self.check_one_chunk_a_page(connection, page_size - reserved)
                self.assertEqual(count_found(connection, 1, last), last)
                connection.close()
                self.connections.clear()

    def full_table(self, journal_mode):
        """A table of many chunks all of which have a row, on a database page each."""
        connection = self.make(capacity=100_000, fpr=0.01, journal_mode=journal_mode)
        insert_numbers(connection, 1, 5000)
        bits = json.loads(value(connection, "SELECT info FROM s"))["layers"][0]["bits"]
        self.assertEqual(
            value(connection, "SELECT count(*) FROM s_data WHERE id > 0"), -(-bits // (63 * 512))
        )
        return connection

    def test_an_insert_changes_one_page(self):
        connection = self.full_table("delete")
        path = self.folder / "a.db"
        most = set()
        before = path.read_bytes()
        for key in range(100):
            rows(connection, "INSERT INTO s(key) VALUES (?)", (f"single {key}",))
            after = path.read_bytes()
            self.assertEqual(len(after), len(before))
            changed = {
                page + 1
                for page in range(len(after) // 4096)
                if after[page * 4096 :][:4096] != before[page * 4096 :][:4096]
            }
            self.assertIn(1, changed)  # the file change counter
            most.add(len(changed))
            before = after
        self.assertEqual(max(most), 2)

    def test_an_insert_writes_one_page_to_the_wal(self):
        connection = self.full_table("wal")
        rows(connection, "PRAGMA wal_autocheckpoint = 0")
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
        wal = self.folder / "a.db-wal"
        frames = 0
        for key in range(100):
            rows(connection, "INSERT INTO s(key) VALUES (?)", (f"single {key}",))
            written = (wal.stat().st_size - 32) // (4096 + 24)
            self.assertLessEqual(written - frames, 1)
            frames = written

    def test_a_key_that_is_known_writes_no_page(self):
        for statement in (
            "INSERT INTO s(key) VALUES (?)",
            "INSERT OR IGNORE INTO s(key) VALUES (?)",
        ):
            with self.subTest(statement=statement):
                shutil.rmtree(self.folder)
                self.folder.mkdir()
                connection = self.full_table("wal")
                rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
                for key in range(1, 50):
                    rows(connection, statement, (key,))
                self.assertEqual((self.folder / "a.db-wal").stat().st_size, 0)
                connection.close()
                self.connections.clear()

    def test_a_transaction_of_many_keys_writes_each_page_once(self):
        connection = self.full_table("wal")
        rows(connection, "PRAGMA wal_autocheckpoint = 0")
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
        rows(connection, "BEGIN")
        for key in range(1000):
            rows(connection, "INSERT INTO s(key) VALUES (?)", (f"single {key}",))
        rows(connection, "COMMIT")
        frames = ((self.folder / "a.db-wal").stat().st_size - 32) // (4096 + 24)
        self.assertLessEqual(frames, value(connection, "SELECT count(*) FROM s_data WHERE id > 0"))

    def test_chunks_that_hold_no_key_take_no_page(self):
        connection = self.make(capacity=100_000_000, fpr=0.01)
        self.assertLess((self.folder / "a.db").stat().st_size, 100_000)
        insert_numbers(connection, 1, 100)
        self.assertLess((self.folder / "a.db").stat().st_size, 1_000_000)
        self.assertEqual(count_found(connection, 1, 100), 100)


class Copies(TableTest):
    def grown(self, **arguments):
        connection = self.make(capacity=300, **arguments)
        insert_numbers(connection, 1, 2000)
        rows(connection, "CREATE VIRTUAL TABLE \"it's one\" USING bloom(capacity=500, fpr=0.02)")
        insert_numbers(connection, 1, 100, '"it\'s one"')
        return connection

    def check_copy(self, connection, copy):
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
        connection = self.grown()
        connection.close()
        dump = self.shell("a.db", ".dump")
        (self.folder / "dump.sql").write_text(dump, encoding="utf-8")
        self.shell("b.db", f".read {self.folder / 'dump.sql'}")
        self.check_copy(self.open("a.db"), self.open("b.db"))

    def test_dump_without_the_extension(self):
        self.grown().close()
        if shutil.which(SQLITE) is None:
            self.skipTest("skipped: sqlite3 is not installed")
        dump = subprocess.run(
            [SQLITE, "-batch", "-init", os.devnull, str(self.folder / "a.db"), ".dump"],
            capture_output=True,
            check=True,
        ).stdout
        subprocess.run([SQLITE, "-batch", "-init", os.devnull, str(self.folder / "b.db")],
                       input=dump, capture_output=True, check=True)
        self.check_copy(self.open("a.db"), self.open("b.db"))

    def test_restore_into_a_database_of_another_page_size(self):
        self.grown().close()
        dump = self.shell("a.db", ".dump")
        (self.folder / "dump.sql").write_text(dump, encoding="utf-8")
        self.shell("b.db", "PRAGMA page_size = 1024;", ".dbconfig defensive off",
                   f".read {self.folder / 'dump.sql'}")
        connection, copy = self.open("a.db"), self.open("b.db")
        self.assertEqual(value(copy, "PRAGMA page_size"), 1024)
        self.assertEqual(stored(copy), stored(connection))
        insert_numbers(copy, 2001, 9000)
        self.assertEqual(count_found(copy, 1, 9000), 9000)
        self.check_integrity(copy)

    def test_backup_over_a_table_in_use(self):
        """The connection that is written to has seen another table of the same name: it must forget
        it."""
        connection = self.grown()
        target = self.make(capacity=10, name="b.db")
        insert_numbers(target, 5000, 5020)
        self.assertEqual(count_found(target, 5000, 5020), 21)
        with target.backup("main", connection, "main") as backup:
            while not backup.done:
                backup.step(100)
        self.check_copy(connection, target)

    def test_a_file_copied_under_a_connection_that_then_asks_again(self):
        """Changes by others are noticed even if nothing but the file tells."""
        connection = self.make(capacity=10)
        insert_numbers(connection, 1, 5)
        other = self.open()
        for last in range(10, 200, 10):
            insert_numbers(other, 1, last)
            self.assertEqual(count_found(connection, 1, last), last)


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from table_test import connect, rows, value
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
rows(connection, "INSERT OR IGNORE INTO s(key) VALUES ('end of ' || ?)", (first,))
new += connection.changes()
print(new, flush=True)
"""


class Files(TableTest):
    def test_rowids_out_of_order_end_every_statement(self):
        """Two rows of chunks exchange their places in the b-tree, so that ids do not ascend."""
        connection = self.make(capacity=300, page_size=65536)
        insert_numbers(connection, 1, 2000)
        root = value(connection, "SELECT rootpage FROM sqlite_master WHERE name = 's_data'")
        connection.close()
        path = self.folder / "a.db"
        page = bytearray(path.read_bytes()[(root - 1) * 65536 :][:65536])
        self.assertEqual(page[0], 13)  # a leaf; its cell pointers begin at byte 8
        cells = int.from_bytes(page[3:5], "big")
        self.assertGreater(cells, 2)
        page[10:12], page[12:14] = page[12:14], page[10:12]
        with path.open("r+b") as file:
            file.seek((root - 1) * 65536)
            file.write(page)
        connection = self.open()
        for sql in ("SELECT info FROM s", "SELECT filter FROM s", "SELECT count(*) FROM s(1)",
                    "PRAGMA integrity_check", "INSERT INTO s(key) VALUES ('a')",
                    "INSERT INTO s(s, key) SELECT 'add_all', bloom_hashes(1)",
                    "INSERT INTO s(s) VALUES ('clear')"):
            try:
                rows(connection, sql)
            except apsw.Error as error:
                self.assertIn("s", str(error))

    def test_another_database_in_the_place_of_this_one(self):
        """sqlite3_deserialize keeps prepared statements when the schema is as old; row 0 and the
        chunks are others."""
        images = []
        for options, first in (("capacity=100, key=TEXT", 1), ("capacity=3000", 501)):
            other = connect(":memory:")
            rows(other, f"CREATE VIRTUAL TABLE s USING bloom({options})")
            insert_numbers(other, first, first + 99)
            images.append(other.serialize("main"))
        connection = connect(":memory:")
        for turn in range(6):
            connection.deserialize("main", images[turn % 2])
            for _ in range(3):
                found = [count_found(connection, 1, 100), count_found(connection, 501, 600)]
                self.assertEqual(found[turn % 2], 100)
                self.assertLess(found[1 - turn % 2], 10)


class Processes(TableTest):
    def check_processes(self, journal_mode):
        connection = self.make(capacity=200, fpr=0.001, journal_mode=journal_mode)
        ranges = [
            (1, 3000, 20),
            (2001, 5000, 1 if journal_mode == "wal" else 10),
            (4001, 7000, 7),
            (6001, 9000, 100),
        ]  # which overlap
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(pathlib.Path(__file__).parent),
                 str(self.folder / "a.db"), *map(str, numbers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for numbers in ranges
        ]
        for writer in writers:
            self.assertEqual(writer.stdout.readline(), "ready\n")
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        answers = 0
        while any(writer.poll() is None for writer in writers):  # this process asks all the time
            found = count_found(connection, 1, 9000)
            self.assertGreaterEqual(found, answers)
            answers = found
        new = 0
        for writer in writers:
            out, _ = writer.communicate()
            self.assertEqual(writer.returncode, 0)
            new += int(out)
        self.assertEqual(count_found(connection, 1, 8999), 8999)
        info = json.loads(value(connection, "SELECT info FROM s"))
        self.assertEqual(sum(layer["keys"] for layer in info["layers"]), new)
        self.assertEqual(total_keys(connection), new)
        self.assertEqual(
            info["chunks"], value(connection, "SELECT count(*) FROM s_data WHERE id > 0")
        )
        self.assertGreater(len(info["layers"]), 4)
        self.assertLessEqual(new, 9003)
        self.assertGreaterEqual(new, 9003 - 9003 * 0.004)
        self.check_integrity(connection)

    def test_four_processes_write_and_grow_one_table_in_wal_mode(self):
        self.check_processes("wal")

    def test_four_processes_write_and_grow_one_table_with_a_rollback_journal(self):
        self.check_processes("delete")


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


class Messages(TableTest):
    def test_a_name_that_cannot_be_printed_is_escaped(self):
        connection = connect(":memory:")
        connection.cursor().execute('CREATE VIRTUAL TABLE "a\x7f\x7fb" USING bloom')
        connection.cursor().execute('DROP TABLE "a\x7f\x7fb_data"')
        with self.assertRaises(apsw.SQLError) as caught:
            value(connection, 'SELECT count(*) FROM "a\x7f\x7fb" WHERE key = 1')
        self.assertEqual(
            str(caught.exception).removeprefix("SQLError: "),
            r"a\u007f\u007fb: no such table: main.a\u007f\u007fb_data",
        )


class OpenStatements(TableTest):
    def half_read(self, connection):
        """A statement that stands at its first row of a filter table."""
        rows(connection, "CREATE TABLE IF NOT EXISTS wanted(x)")
        rows(connection, "INSERT INTO wanted VALUES (1), (2), (3)")
        cursor = connection.cursor()
        cursor.execute("SELECT x FROM wanted JOIN s ON s.key = x")
        self.assertEqual(next(cursor), (1,))
        return cursor

    def test_a_table_that_is_being_read_cannot_be_dropped(self):
        connection = self.make()
        insert_numbers(connection, 1, 10)
        cursor = self.half_read(connection)
        with self.assertRaises(apsw.LockedError):
            rows(connection, "DROP TABLE s")
        self.assertEqual(list(cursor), [(2,), (3,)])
        self.assertEqual(count_found(connection, 1, 10), 10)
        insert_numbers(connection, 11, 20)
        self.assertEqual(count_found(connection, 1, 20), 20)
        rows(connection, "DROP TABLE s")
        self.assertEqual(rows(connection, "SELECT name FROM sqlite_schema"), [("wanted",)])

    def test_reading_goes_on_while_the_schema_changes(self):
        connection = self.make()
        insert_numbers(connection, 1, 10)
        cursor = self.half_read(connection)
        rows(connection, "CREATE TABLE aside(x)")
        insert_numbers(connection, 11, 5000)  # grows
        self.assertEqual(list(cursor), [(2,), (3,)])
        self.assertEqual(count_found(connection, 1, 5000), 5000)

    def test_inserting_while_the_same_table_is_read(self):
        connection = self.make(capacity=10)
        rows(connection, "CREATE TABLE wanted(x)")
        rows(connection, "INSERT INTO wanted VALUES (1), (2), (3), (4), (5)")
        rows(connection, "INSERT INTO s(key) VALUES (1)")
        cursor = connection.cursor()
        seen = []
        for (key,) in cursor.execute(
            "SELECT x FROM wanted WHERE EXISTS (SELECT 1 FROM s WHERE key = x)"
        ):
            seen.append(key)
            insert_numbers(connection, 10 * key, 10 * key + 9)
            rows(connection, "INSERT INTO s(key) VALUES (?)", (key + 1,))
        self.assertEqual(seen, [1, 2, 3, 4, 5])
        self.assertEqual(count_found(connection, 10, 59), 50)

    def test_a_drop_that_is_refused_half_way_leaves_a_table_that_answers(self):
        refuses = False

        def authorize(action, name, *_):
            denied = refuses and action == apsw.SQLITE_DROP_TABLE and name == "s_data"
            return apsw.SQLITE_DENY if denied else apsw.SQLITE_OK

        connection = connect(":memory:")
        either(connection, "set_authorizer", "setauthorizer")(authorize)
        rows(connection, "CREATE VIRTUAL TABLE s USING bloom(capacity=100)")
        rows(connection, "INSERT INTO s(key) VALUES ('a')")
        for begin in ("PRAGMA schema_version", "BEGIN", "SAVEPOINT t"):
            with self.subTest(begin):
                rows(connection, begin)
                self.assertEqual(rows(connection, "SELECT key FROM s WHERE key = 'a'"), [("a",)])
                refuses = True
                with self.assertRaises(apsw.AuthError):
                    rows(connection, "DROP TABLE s")
                refuses = False
                self.assertEqual(rows(connection, "SELECT key FROM s WHERE key = 'a'"), [("a",)])
                rows(connection, "INSERT INTO s(key) VALUES ('b')")
        rows(connection, "COMMIT")
        self.assertEqual(total_keys(connection), 2)

    def test_another_connection_changes_the_schema_between_two_questions(self):
        connection, other = self.make(), self.open()
        insert_numbers(connection, 1, 10)
        self.assertEqual(count_found(other, 1, 10), 10)
        rows(connection, "CREATE TABLE aside(x)")
        self.assertEqual(count_found(other, 1, 10), 10)
        rows(connection, "DROP TABLE s; CREATE VIRTUAL TABLE s USING bloom(capacity=20)")
        self.assertEqual(count_found(other, 1, 10), 0)
        insert_numbers(other, 1, 100)
        self.assertEqual(count_found(connection, 1, 100), 100)

    def test_rollback_while_a_statement_reads(self):
        connection = self.make(capacity=10)
        insert_numbers(connection, 1, 5)
        rows(connection, "BEGIN")
        insert_numbers(connection, 6, 300)
        cursor = self.half_read(connection)
        rows(connection, "ROLLBACK")
        try:
            list(cursor)
        except apsw.Error:
            pass  # SQLite aborts it when the schema has changed
        self.assertEqual(count_found(connection, 1, 5), 5)
        self.assertEqual(value(connection, "SELECT json_array_length(info, '$.layers') FROM s"), 1)
        insert_numbers(connection, 6, 100)
        self.assertEqual(count_found(connection, 1, 100), 100)
        self.check_integrity(connection)

    def test_closing_with_a_statement_open(self):
        connection = self.make()
        insert_numbers(connection, 1, 10)
        cursor = self.half_read(connection)
        connection.close(True)
        del cursor
        again = self.open()
        self.assertEqual(count_found(again, 1, 10), 10)


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
        for missing in ([], ["sqlite3_create_module_v2"], ["sqlite3_blob_open"]):
            with self.subTest(missing=missing):
                run = subprocess.run(
                    [sys.executable, "-c", WITHOUT_A_FUNCTION, "libsqlite3.so.0", LIBRARY,
                     *missing],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                if missing:
                    self.assertRegex(
                        run.stdout,
                        r"^1 bloom \d+\.\d+\.\d+ needs an SQLite that was built without"
                        r" SQLITE_OMIT_VIRTUALTABLE "
                        r"and SQLITE_OMIT_INCRBLOB, but this is 3\.\d+\.\d+\. Use another"
                        r" SQLite\n$",
                    )
                else:
                    self.assertEqual(run.stdout, "0 \n")


class Memory(TableTest):
    """What bloom_hashes takes at its peak, beside what the statement takes with max() in its
    place: 20 bytes a distinct key, and for few keys 256 KiB at most, however many rows there
    are."""

    def peak(self, connection, sql):
        high_water = either(apsw, "memory_high_water", "memoryhighwater")
        before = either(apsw, "memory_used", "memoryused")()
        high_water(True)
        result = rows(connection, sql)
        return high_water() - before, result

    def check(self, rows_read, distinct, more=0):
        connection, select = self.open(), "SELECT {}(x % {}) IS NULL FROM n"
        plain, _ = self.peak(connection, NUMBERS.format(1, 10) + select.format("max", 1))
        sql = NUMBERS.format(1, rows_read) + select.format("bloom_hashes", distinct)
        peak, result = self.peak(connection, sql)
        self.assertEqual(result, [(1,)])
        self.assertLessEqual(peak - plain, 20 * distinct + more)
        self.assertGreater(peak - plain, 8 * distinct)  # else it was not measured

    def test_a_long_key_that_was_asked_is_not_kept(self):
        used = either(apsw, "memory_used", "memoryused")
        connection = self.open()
        rows(connection, "CREATE VIRTUAL TABLE s USING bloom(capacity=10)")
        rows(connection, "INSERT INTO s(key) VALUES (hex(zeroblob(500000)))")
        asked = "SELECT length(key) FROM s WHERE key = hex(zeroblob({}))"
        rows(connection, asked.format(1))
        before = used()
        self.assertEqual(rows(connection, asked.format(500_000)), [(1_000_000,)])
        self.assertLess(used() - before, 100_000)

    def test_distinct_keys(self):
        self.check(300_000, 300_000)
        self.check(1_000_000, 1_000_000)

    def test_many_repeated_keys(self):
        self.check(3_000_000, 100_000)

    def test_few_keys(self):
        for distinct in (1, 1000, 2047, 2048, 4096, 4097, 16_384, 16_385, 50_000):
            with self.subTest(distinct=distinct):
                self.check(200_000, distinct, 256 * 1024)

    def test_the_whole_statement(self):
        connection = self.make(capacity=1_000_000)
        sql = NUMBERS.format(1, 1_000_000) + "SELECT 'add_all', bloom_hashes(x) FROM n"
        peak, _ = self.peak(connection, "INSERT INTO s(s, key) " + sql)
        self.assertLessEqual(peak, 20 * 1_000_000)
        self.assertEqual(count_found(connection, 1, 1000), 1000)


class Failures(TableTest):
    def test_a_key_too_many_is_a_plain_error_that_ends_the_statement_alone(self):
        connection = self.open()
        rows(connection, "CREATE VIRTUAL TABLE s USING bloom(capacity=3, growth=error)")
        rows(connection, "BEGIN")
        insert_numbers(connection, 1, 3)
        for verb in ("INSERT", "INSERT OR IGNORE", "INSERT OR ROLLBACK", "REPLACE"):
            for sql in ("(key) VALUES (3), (4)", "(s, key) SELECT 'add_all', bloom_hashes(4)"):
                with self.assertRaisesRegex(apsw.SQLError, "s: the table is full"):
                    rows(connection, f"{verb} INTO s{sql}")
        rows(connection, "COMMIT")
        self.assertEqual(count_found(connection, 1, 4), 3)

    def test_a_full_disk_takes_back_what_did_not_fit(self):
        connection = self.make(capacity=1000, page_size=512)
        insert_numbers(connection, 1, 500)
        pages = value(connection, "PRAGMA page_count")
        rows(connection, f"PRAGMA max_page_count = {pages + 20}")
        with self.assertRaises(apsw.FullError):
            insert_numbers(connection, 1, 20_000)
        self.assertEqual(count_found(connection, 1, 500), 500)
        self.assertEqual(total_keys(connection), 500)
        self.check_integrity(connection)
        committed = 500
        with self.assertRaises(apsw.FullError):
            while True:
                insert_numbers(connection, committed + 1, committed + 50)
                committed += 50
        self.assertEqual(count_found(connection, 1, committed), committed)
        self.check_integrity(connection)
        rows(connection, "PRAGMA max_page_count = 1000000")
        insert_numbers(connection, 1, 5000)
        self.assertEqual(count_found(connection, 1, 5000), 5000)
        self.check_integrity(connection)

    def test_a_merge_that_fails_half_way_leaves_the_transaction_as_it_was(self):
        connection = self.make(capacity=10_000, page_size=512)
        filter_ = value(
            connection,
            NUMBERS.format(1, 5000) + "SELECT bloom_agg(x, (SELECT filter FROM s)) FROM n",
        )
        rows(
            connection, "INSERT INTO s_data VALUES (21, x'00')"
        )  # found when the chunks before it are written
        rows(connection, "BEGIN")
        with self.assertRaisesRegex(apsw.Error, "s_data is damaged: chunk 21 "):
            rows(connection, "INSERT INTO s(s, key) VALUES ('merge', ?)", (filter_,))
        rows(connection, "COMMIT")
        self.assertEqual(rows(connection, "SELECT id FROM s_data"), [(0,), (21,)])

    def test_a_begin_that_was_interrupted_leaves_no_trace(self):
        connection, other = self.make(capacity=10), self.open()
        insert_numbers(connection, 1, 5)
        failures = 0
        for steps in range(1, 60):
            either(connection, "set_progress_handler", "setprogresshandler")(lambda: True, steps)
            try:
                rows(connection, "INSERT INTO s(key) VALUES (?)", (steps,))
            except apsw.InterruptError:
                failures += 1
            either(connection, "set_progress_handler", "setprogresshandler")(None)
            count_found(connection, 1, 5)
            insert_numbers(other, 1000 * steps, 1000 * steps + 20)
            self.assertEqual(count_found(connection, 1000 * steps, 1000 * steps + 20), 21,
                             f"after an interrupt at step {steps}")
        self.assertGreater(failures, 0)


if __name__ == "__main__":
    unittest.main()
