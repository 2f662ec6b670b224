#!/usr/bin/env python3
"""What scripts cannot test of filter tables, and tests/world does not: pages on disk, dumps,
memory, a second copy of the library, changesets.

    table_test.py       run the tests (and any option of unittest)

It needs apsw, of any release from 3.40, and for some tests the sqlite3 shell, which SQLITE3=path in
the environment names.
"""

import contextlib
import ctypes
import os
import pathlib
import random
import re
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


def connect(path):
    connection = extended.connect(path)
    either(connection, "set_busy_timeout", "setbusytimeout")(30_000)
    rows(connection, "PRAGMA synchronous = off")  # no power fails here
    return connection


def value(connection, sql):
    return rows(connection, sql)[0][0]


def insert(connection, *keys):
    """In a transaction the later changes of a chunk wait in memory, if they are of statements of
    their own."""
    for key in keys:
        rows(connection, "INSERT INTO s(key) VALUES (?)", (key,))


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
    return rows(connection, f'SELECT * FROM "{table}_data"')


def with_real_limits(test):
    """With other limits there is no such test."""
    return None if "BLOOM_LIMITS" in os.environ else test


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

    def open(self, name="a.db"):
        self.connections.append(connect(self.folder / name))
        return self.connections[-1]

    def make(self, name="a.db", page_size=4096, **options):
        """A database with the table s of these options."""
        connection = self.open(name)
        rows(connection, f"PRAGMA page_size = {page_size}")
        listed = ", ".join(f"{option}={given}" for option, given in options.items())
        rows(connection, f"CREATE VIRTUAL TABLE s USING bloom({listed})")
        return connection

    def check(self, connection, *keys):
        """These keys, and no others, are in, as this connection and a new one see it."""
        for other in (connection, self.open()):
            for _ in range(3):  # a row that is read again is kept
                self.assertEqual([key for key in range(1, 20) if count_found(other, key, key)],
                                 list(keys))

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


class Protection(TableTest):
    def test_tables_work_under_defensive_and_shadow_tables_are_protected(self):
        insert_numbers(self.make(capacity=50), 1, 500)
        connection = self.open()
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        rows(connection, "CREATE TABLE s_notes(x); INSERT INTO s_notes VALUES (1)")  # called alike
        insert_numbers(connection, 501, 600)
        for statement in ("UPDATE s_data SET data = x''", "DELETE FROM s_data",
                          "INSERT INTO s_data VALUES (99, x'')", "DROP TABLE s_data",
                          "ALTER TABLE s_data RENAME TO x", "ALTER TABLE s_data ADD COLUMN x"):
            with self.assertRaises(apsw.Error, msg=statement):
                rows(connection, statement)
        rows(connection, "ALTER TABLE s RENAME TO t; VACUUM")
        self.assertEqual(count_found(connection, 1, 600, "t"), 600)
        self.check_integrity(connection)
        rows(connection, "INSERT INTO t(t) VALUES ('clear'); DROP TABLE t")
        self.assertEqual(rows(connection, "SELECT name FROM sqlite_schema"), [("s_notes",)])


class Pages(TableTest):
    def test_a_chunk_fills_a_page_and_overflows_none(self):
        """SQLite needs 40 bytes of a page beside the BLOB of its one row, and the head of a chunk
        has 16. No chunk is longer than there is room for, and a block less would do for none. Bytes
        that are reserved at the end of each page are left alone."""
        for page_size, reserved in ((512, 0), (1024, 0), (4096, 0), (65536, 0), (512, 32),
                                    (1024, 255), (4096, 63), (65536, 100)):
            with self.subTest(page_size=page_size, reserved=reserved):
                name = f"{page_size} {reserved}.db"
                connection = self.open(name)
                rows(connection, f"PRAGMA page_size = {page_size}")
                number = ctypes.c_int(reserved)
                control = either(connection, "file_control", "filecontrol")
                control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(number))
                rows(connection, "VACUUM; CREATE VIRTUAL TABLE s USING bloom(fpr=0.001,"
                                 f" capacity={page_size * 2})")
                last = page_size * 5 // 2
                insert_numbers(connection, 1, last)  # grown: chunks of two layers
                self.assertEqual((self.folder / name).read_bytes()[20], reserved)
                room = (page_size - reserved - 40 - 16) // 64
                row_0 = value(connection, "SELECT data FROM s_data WHERE id = 0")
                self.assertEqual(int.from_bytes(row_0[12:16], "little"), room)
                self.assertGreater(value(connection, "SELECT count(*) FROM s_data"), 3)
                self.assertEqual(value(connection, "SELECT count(*) FROM dbstat WHERE name = "
                                       "'s_data' AND pagetype = 'overflow'"), 0)
                longest = value(connection, "SELECT max(length(data)) FROM s_data")
                self.assertLessEqual(longest, 16 + 64 * room)
                self.assertEqual(count_found(connection, 1, last), last)
                self.check_integrity(connection)


class Generations(TableTest):
    def test_what_takes_forgotten_bits_out_of_the_file(self):
        """VACUUM alone does not; clear does with secure_delete, and with a VACUUM behind it."""
        for secure in (False, True):
            with self.subTest(secure_delete=secure):
                connection = self.make(f"{secure}.db", capacity=10_000, generations=2)
                rows(connection, f"PRAGMA secure_delete = {secure:d}")
                insert_numbers(connection, 1, 9000)
                bits = value(connection, "SELECT substr(data, 101, 100) FROM s_data WHERE id > 0")

                def is_there(bits=bits, secure=secure):
                    return bits in (self.folder / f"{secure}.db").read_bytes()

                rows(connection, "INSERT INTO s(s) VALUES ('rotate'), ('rotate'); VACUUM")
                self.assertEqual(count_found(connection, 1, 9000), 0)
                self.assertTrue(is_there())
                rows(connection, "INSERT INTO s(s) VALUES ('clear')")
                self.assertEqual(is_there(), not secure)
                rows(connection, "VACUUM")
                self.assertFalse(is_there())

    def test_replicas_that_run_the_same_statements_are_equal_to_the_byte(self):
        """Also if one of them is closed now and then, asks, and undoes things in between."""
        chance = random.Random(1)
        one, two = (self.make(name, capacity=200, fpr=0.01, generations=5)
                    for name in ("a.db", "b.db"))
        for turn in range(300):
            first = chance.randrange(20_000)
            sql = chance.choices(
                ("INSERT INTO s(s) VALUES ('rotate')", "INSERT INTO s(s) VALUES ('clear')",
                 f"INSERT {chance.choice(('', 'OR IGNORE '))}INTO s(key) "
                 + NUMBERS.format(first, first + chance.randrange(1, 40)) + "SELECT x FROM n"),
                (5, 1, 94))[0]
            if turn % 20 == 0:
                self.connections.pop().close()
                two = self.open("b.db")
            if turn % 5 == 0:
                rows(two, "SELECT key FROM s WHERE key IN (1, 2, 3); BEGIN; INSERT INTO s(s) VALUES"
                     " ('rotate'); INSERT INTO s(key) VALUES (1), (2), (3); ROLLBACK")
            for replica in (one, two):
                rows(replica, sql)
        self.assertEqual(stored(one), stored(two))


class Dumps(TableTest):
    def test_dump_and_restore(self):
        """Also without the extension, and into a database of another page size."""
        connection = self.make(capacity=300, fpr=0.001)
        rows(connection, "CREATE VIRTUAL TABLE \"it's one\" USING bloom(capacity=500, fpr=0.02)")
        insert_numbers(connection, 1, 100, '"it\'s one"')
        for turn, (load, *before) in enumerate((
                (True,), (False,), (True, "PRAGMA page_size = 1024;", ".dbconfig defensive off"))):
            insert_numbers(connection, 2000 * turn + 1, 2000 * turn + 1000)
            dump, name = self.folder / f"{turn}.sql", f"{turn}.db"
            dump.write_text(self.shell("a.db", ".dump", load=load), encoding="utf-8")
            self.shell(name, *before, f".read {dump}", load=load)
            copy = self.open(name)
            self.assertEqual(stored(copy), stored(connection))
            self.assertEqual(stored(copy, "it's one"), stored(connection, "it's one"))
            for replica in (copy, connection):  # the copy goes on like the original
                insert_numbers(replica, 2000 * turn + 1001, 2000 * turn + 2000)
            self.assertEqual(count_found(copy, 1, 2000 * turn + 2000), 2000 * turn + 2000)
            self.assertEqual(stored(copy), stored(connection))
            self.check_integrity(copy)


class Files(TableTest):
    def change_file(self, change):
        """Lets a function change the bytes, and opens the database again."""
        self.close()
        content = bytearray((self.folder / "a.db").read_bytes())
        change(content)
        (self.folder / "a.db").write_bytes(content)
        return self.open()

    def test_rowids_out_of_order_end_every_statement(self):
        """Two rows of chunks exchange their places in the b-tree, so that ids do not ascend."""
        connection = self.make(capacity=300, fpr=0.001, page_size=65536)
        insert_numbers(connection, 1, 2000)
        root = value(connection, "SELECT rootpage FROM sqlite_master WHERE name = 's_data'")

        def exchange(content):
            leaf = (root - 1) * 65536
            self.assertEqual(content[leaf], 13)  # its cell pointers begin at byte 8
            content[leaf + 10 : leaf + 14] = (content[leaf + 12 : leaf + 14]
                                              + content[leaf + 10 : leaf + 12])

        connection = self.change_file(exchange)
        with self.assertRaisesRegex(apsw.CorruptError, "is out of order"):
            rows(connection, "SELECT info FROM s")
        for sql in ("SELECT count(*) FROM s(1)", "PRAGMA integrity_check",
                    "INSERT INTO s(key) VALUES ('a')", "INSERT INTO s(s) VALUES ('clear')"):
            with contextlib.suppress(apsw.Error):
                rows(connection, sql)

    def test_a_chain_of_pages_that_is_cut_within_rows_is_damage_and_nothing_is_lost(self):
        """Rows of 4 KB go over nine pages of 512 bytes. Those of the last row are cut."""
        connection = self.make(capacity=200000)
        insert_numbers(connection, 1, 5000)
        rows(connection, "PRAGMA page_size = 512; VACUUM")
        chains = {}

        def cut(content):
            for page in range(len(content) - 8 * 512, len(content), 512):
                if content[page] not in (2, 5, 10, 13):  # of no b-tree: the next page's number
                    chains[page] = content[page : page + 4]
                    content[page : page + 4] = b"\xff\xff\xff\xff"

        def mend(content):
            for page, chain in chains.items():
                content[page : page + 4] = chain

        connection = self.change_file(cut)
        rows(connection, "CREATE TEMP TABLE n AS " + NUMBERS.format(1, 5000) + "SELECT x FROM n")
        inserts = [f"INSERT INTO s(key) VALUES ({-i})" for i in range(1, 1000)]
        for statements in (["SELECT count(*) FROM n JOIN s ON key = x"], inserts,
                           ["SELECT count(*) FROM n WHERE (SELECT 1 FROM s WHERE key = x)"],
                           ["BEGIN", *inserts], ["INSERT INTO s(key) SELECT -x FROM n"],
                           ["SELECT info FROM s"]):
            with self.subTest(sql=statements[-1]), self.assertRaisesRegex(
                    apsw.CorruptError, "s: database disk image is malformed"):
                for sql in statements:
                    rows(connection, sql)
            if connection.in_transaction:
                rows(connection, "ROLLBACK")
        connection = self.change_file(mend)
        self.check_integrity(connection)
        self.assertEqual(count_found(connection, 1, 5000), 5000)


class Amid(TableTest):
    """What comes amid a transaction: another copy of the library, another database, other rows."""

    def test_a_second_copy_of_the_library_leaves_the_first_one_at_work(self):
        """Until an ATTACH fails: then SQLite reads all schemas again, and each table gets another
        object, of the second copy."""
        connection = self.make(capacity=100)
        copy = self.folder / ("second" + pathlib.Path(LIBRARY).suffix)
        shutil.copy(LIBRARY, copy)
        either(connection, "enable_load_extension", "enableloadextension")(True)
        rows(connection, "BEGIN")
        insert(connection, *range(1, 5))
        found = connection.cursor().execute("SELECT key FROM s WHERE key IN (1, 2, 3)")
        self.assertEqual(next(found), (1,))
        either(connection, "load_extension", "loadextension")(str(copy), "sqlite3_bloom_init")
        self.assertEqual(list(found), [(2,), (3,)])
        insert(connection, *range(5, 9))
        with self.assertRaises(apsw.CantOpenError):
            rows(connection, "ATTACH '/nonexistent/file' AS missing")
        insert(connection, *range(9, 13))
        rows(connection, "SAVEPOINT a")
        insert(connection, 13, 14, 15)
        rows(connection, "ROLLBACK TO a; COMMIT")
        self.check(connection, *range(1, 13))

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
        with self.assertRaisesRegex(apsw.AbortError, "Commit before you deserialize"):
            rows(connection, "INSERT INTO s(key) VALUES (101)")
        rows(connection, "ROLLBACK")
        rows(connection, "INSERT INTO s(key) VALUES (102)")
        self.assertEqual(count_found(connection, 1, 50), 50)
        self.assertEqual(count_found(connection, 51, 200), 1)

    def test_changes_of_hundreds_of_chunks_wait(self):
        connection = self.make(page_size=512, capacity=100_000)
        rows(connection, "BEGIN")
        insert_numbers(connection, 1, 3000)
        waiting = stored(connection)
        rows(connection, "SAVEPOINT a")
        if "CACHE_SIZE" not in os.environ:
            self.assertGreater(sum(a != b for a, b in zip(waiting, stored(connection))), 200)
        insert_numbers(connection, 3001, 9000)
        rows(connection, "ROLLBACK TO a; COMMIT")
        self.assertEqual(count_found(connection, 1, 3000), 3000)
        self.assertLess(count_found(connection, 3001, 9000), 10)

    def test_a_row_that_undoes_its_table_is_not_added_to_the_one_before(self):
        connection = self.make(capacity=100)
        insert(connection, 1, 2, 3)
        rows(connection, "BEGIN; SAVEPOINT a; DROP TABLE s; "
             "CREATE VIRTUAL TABLE s USING bloom(capacity=100)")
        either(connection, "create_scalar_function", "createscalarfunction")(
            "undo", lambda: rows(connection, "ROLLBACK TO a") or 7, 0)
        with self.assertRaises(apsw.AbortError):
            rows(connection, "INSERT INTO s(key) VALUES (undo())")
        rows(connection, "COMMIT")
        self.check(connection, 1, 2, 3)

    def test_a_merge_that_may_not_add_rows_changes_none(self):
        connection = self.make(page_size=512, capacity=1000, growth="off")
        insert(connection, 1)
        made, = rows(connection, NUMBERS.format(1, 300) + "SELECT bloom_agg(x, (SELECT "
                     "bloom_pin(filter) FROM s)) FROM n")
        rows(connection, "BEGIN")
        either(connection, "set_authorizer", "setauthorizer")(
            lambda action, name, *others: apsw.SQLITE_DENY if (action, name) == (
                apsw.SQLITE_INSERT, "s_data") else apsw.SQLITE_OK)
        with self.assertRaises(apsw.AuthError):
            rows(connection, "INSERT INTO s(s, key) VALUES ('merge', ?)", made)
        either(connection, "set_authorizer", "setauthorizer")(None)
        rows(connection, "COMMIT")
        self.assertEqual(count_found(connection, 1, 300), 1)

    def test_rows_are_written_while_a_query_reads(self):
        """In a transaction that has written another table, each key asked four times."""
        connection = self.make(capacity=100)
        insert(connection, *range(1, 51))
        rows(connection, "CREATE TABLE aside(x); BEGIN; INSERT INTO aside VALUES (1)")
        found = connection.cursor().execute(NUMBERS.format(0, 249) + "SELECT x FROM n JOIN s ON "
                                            "key = 1 + x % 50")
        for x in range(200):
            self.assertEqual(next(found), (x,))
            if x % 100 < 50:
                rows(connection, "UPDATE s_data SET data = data WHERE id = 0")
        rows(connection, "DELETE FROM s_data WHERE id > 0")
        self.assertEqual(list(found), [])
        rows(connection, "COMMIT")


class Changesets(TableTest):
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

    @with_sessions
    def test_changesets_amid_a_transaction(self):
        """They make and change chunks that memory knows, beside one that waits there. One begins a
        savepoint of its own, and around the other is one, as REFERENCE.md advises."""
        connection, replica, scratch = (
            self.make(f"{name}.db", page_size=512, capacity=2000) for name in "abc")

        def chunks_of(key):
            rows(scratch, "BEGIN")
            insert(scratch, key)
            chunks = [row for row, _ in stored(scratch) if row > 0]
            rows(scratch, "ROLLBACK")
            return chunks

        mine = [key for key in range(1, 20) if chunks_of(key) == chunks_of(1)]
        theirs = [key for key in range(1, 20) if key not in mine]
        self.assertGreater(min(len(mine), len(theirs)), 2)
        rows(connection, "BEGIN")
        insert(connection, *mine)
        for count, flags, before, after in (
                (len(theirs) // 2, 0, "SELECT 1", "SELECT 1"),
                (len(theirs), apsw.SQLITE_CHANGESETAPPLY_NOSAVEPOINT, "SAVEPOINT a", "RELEASE a")):
            for _ in range(3):
                count_found(connection, 1, 20)
            session = apsw.Session(replica, "main")
            session.attach()
            insert(replica, *theirs[:count])
            rows(connection, before)
            apsw.Changeset.apply(session.changeset(), connection, flags=flags)
            rows(connection, after)
            for _ in range(3):
                self.assertEqual(count_found(connection, 1, 20), len(mine) + count)
        rows(connection, "COMMIT")
        self.check(connection, *range(1, 20))


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

    def make_tables(self, count, capacity, keys):
        connection = self.open()
        rows(connection, "PRAGMA page_size = 65536")
        for table in range(count):
            rows(connection, f"CREATE VIRTUAL TABLE t{table} USING bloom(capacity={capacity})")
            insert_numbers(connection, 1, keys, f"t{table}")
        self.close()
        return self.open()

    def status(self, connection, name):
        return connection.status(getattr(apsw, f"SQLITE_DBSTATUS_CACHE_{name}"))[0]

    @with_real_limits
    def test_all_tables_of_a_connection_share_32_mib_or_the_cache_size(self):
        """Of 100 tables of 0.5 MB, read in turn."""
        connection = self.make_tables(100, 400_000, 100)
        used = either(apsw, "memory_used", "memoryused")
        for table in range(100):
            count_found(connection, 1, 1, f"t{table}")
        before = used() - self.status(connection, "USED")
        for megabytes in (32, 40):
            rows(connection, f"PRAGMA user_version = {megabytes}")  # it is asked in each span
            rows(connection, f"PRAGMA cache_size = {-1024 * megabytes if megabytes > 32 else 4}")
            for table in range(100):
                for _ in range(3):
                    count_found(connection, 1, 100, f"t{table}")
            memory = (used() - self.status(connection, "USED") - before) / (1 << 20)
            # Less a table that found no room.
            self.assertTrue(megabytes - 1.5 < memory < megabytes + 1, memory)

    @with_real_limits
    def test_idle_connections_together_keep_32_mib(self):
        """Of a table of 27 MB that each of them has joined, in any transaction, written or not."""
        used = either(apsw, "memory_used", "memoryused")
        rows(self.make_tables(1, 22_500_000, 3000), "CREATE TABLE aside(x)")
        for before, after in (("SELECT 1", "SELECT 1"), ("BEGIN", "SELECT 1"), ("BEGIN", "COMMIT"),
                              ("BEGIN; INSERT INTO aside VALUES (1)", "COMMIT"),
                              ("BEGIN; INSERT INTO t0(key) VALUES (1)", "ROLLBACK")):
            self.close()
            empty = used()
            for _ in range(3):
                connection = self.open()
                rows(connection, "PRAGMA cache_size = 1; " + before)
                for _ in range(3):
                    count_found(connection, 1, 3000, "t0")
                rows(connection, after)
            self.assertLess((used() - empty) / (1 << 20), 36, (before, after))

    def pages(self, connection, first, last, table="s"):
        """How many pages of the database it takes to check these keys."""
        before = self.status(connection, "HIT") + self.status(connection, "MISS")
        count_found(connection, first, last, table)
        return self.status(connection, "HIT") + self.status(connection, "MISS") - before

    @with_real_limits
    def test_a_transaction_that_has_written_another_table_has_the_same_memory(self):
        """Within each statement, and, while SQL cannot edit rows, beyond it. A connection may have
        used the table before or not."""
        connection = self.make(page_size=512, capacity=5000)
        insert_numbers(connection, 1, 2000)
        rows(connection, "CREATE TABLE aside(x)")
        for defensive, connection in ((0, connection), (1, connection),
                                      (0, self.open()), (1, self.open())):
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, defensive)
            pages = []
            for write in ("INSERT INTO aside VALUES (1)", "SELECT 1"):
                rows(connection, "BEGIN; " + write)
                pages.append([self.pages(connection, 1, 2000) for _ in range(3)])
                rows(connection, "UPDATE aside SET x = 2")
                pages[-1].append(self.pages(connection, 1, 2000))
                rows(connection, "ROLLBACK")
            written, read = pages
            self.assertEqual(read[1:3], [0, 0])
            if defensive:
                self.assertEqual(written[1:], [0, 0, 0])
            else:  # each reads each chunk, and no more
                self.assertEqual(written[1:], [written[1]] * 3)
            self.assertLess(written[0], 60)

    @with_real_limits
    def test_two_large_tables_keep_what_they_have(self):
        """Of 24 MB each, read together."""
        connection = self.make_tables(2, 20_000_000, 3000)
        for _ in range(6):
            before = self.status(connection, "HIT") + self.status(connection, "MISS")
            rows(connection, NUMBERS.format(1, 3000) + "SELECT sum(EXISTS (SELECT 1 FROM t0 WHERE "
                 "key = x) + EXISTS (SELECT 1 FROM t1 WHERE key = x)) FROM n")
            pages = self.status(connection, "HIT") + self.status(connection, "MISS") - before
        self.assertLess(pages, 2200)  # each look-up without memory takes two


if __name__ == "__main__":
    unittest.main()
