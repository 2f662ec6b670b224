#!/usr/bin/env python3
"""Rows of filter tables in memory, clean and changed: what scripts cannot test.

    cache_test.py       run the tests (and any option of unittest)

It needs apsw, of any release from 3.40; for changesets one that has sessions, as PyPI's does. In a
transaction the first changes of a chunk are written and the later ones wait in memory, so keys are
inserted by a statement each, and four together.
"""

import contextlib
import os
import shutil
import unittest

import apsw

from table_test import (NUMBERS, TableTest, count_found, insert_numbers, stored, value,
                        with_real_limits, with_sessions)  # which finds extended.py
from extended import LIBRARY, either, rows


def insert(connection, *keys, table="s"):
    for key in keys:
        rows(connection, f"INSERT INTO {table}(key) VALUES (?)", (key,))


def counted(connection, table="s"):
    """By a walk over all rows."""
    return value(connection, f"SELECT json_extract(info, '$.layers[0].keys') FROM {table}")


class CacheTest(TableTest):
    def check(self, connection, *keys):
        """These keys, and no others, are in, as this connection and a new one see it."""
        for other in (connection, self.open()):
            for _ in range(3):  # a row that is read again is kept
                self.assertEqual([key for key in range(1, 20) if count_found(other, key, key)],
                                 list(keys))
            self.assertEqual(counted(other), len(keys))

    def fail_to_attach(self, connection):
        """Then SQLite reads all schemas again, and each table gets another object."""
        (self.folder / "broken").write_bytes(b"no database" * 100)
        with self.assertRaises(apsw.NotADBError):
            rows(connection, "ATTACH ? AS broken", (str(self.folder / "broken"),))


class Objects(CacheTest):
    """A table has several objects now and then. What one of them has changed, all of them see."""

    def test_a_cursor_that_is_open_across_a_rollback(self):
        connection = self.make(capacity=100)
        insert(connection, 1)
        rows(connection, "BEGIN; CREATE TABLE aside(x)")
        cursor = connection.cursor()
        found = cursor.execute("SELECT value FROM json_each('[1,2,3,4,5]') CROSS JOIN s "
                               "ON s.key = value")
        self.assertEqual(next(found), (1,))
        rows(connection, "ROLLBACK; BEGIN")  # the cursor keeps its object
        insert(connection, 2, 3, 4, 5)
        self.assertEqual(list(found), [(2,), (3,), (4,), (5,)])
        rows(connection, "COMMIT")
        self.check(connection, 1, 2, 3, 4, 5)

    def test_an_attach_that_fails_and_another_load_amid_a_transaction(self):
        connection = self.make(capacity=100)
        copy = self.folder / ("second" + LIBRARY[LIBRARY.rindex("."):])
        shutil.copy(LIBRARY, copy)
        either(connection, "enable_load_extension", "enableloadextension")(True)
        rows(connection, "BEGIN")
        insert(connection, 1, 2, 3, 4)
        self.fail_to_attach(connection)
        self.assertEqual(counted(connection), 4)
        insert(connection, 5, 6, 7, 8)
        either(connection, "load_extension", "loadextension")(str(copy), "sqlite3_bloom_init")
        insert(connection, 9, 10, 11, 12)
        self.fail_to_attach(connection)  # from here on an object of the second library's
        insert(connection, 13, 14, 15, 16)
        rows(connection, "SAVEPOINT a")
        insert(connection, 17, 18, 19)
        rows(connection, "ROLLBACK TO a; COMMIT")
        self.check(connection, *range(1, 17))

    def test_another_file_under_the_same_schema(self):
        connection = self.open()
        for name in "xy":
            made = self.make(f"{name}.db", capacity=100)
            insert(made, *((1, 2) if name == "x" else (3, 4)))
        for keys, name in (([1, 2], "x"), ([3, 4], "y")) * 2:
            rows(connection, "ATTACH ? AS other", (str(self.folder / f"{name}.db"),))
            for _ in range(3):
                self.assertEqual(
                    [key for key in range(1, 9) if rows(
                        connection, "SELECT 1 FROM other.s WHERE key = ?", (key,))], keys)
            rows(connection, "DETACH other")

    def test_a_table_whose_drop_or_renaming_was_rolled_back(self):
        for sql in ("DROP TABLE s", "ALTER TABLE s RENAME TO t", "DROP TABLE s; CREATE VIRTUAL "
                    "TABLE s USING bloom(capacity=100)" + 4 * "; INSERT INTO s VALUES (9)"):
            for ending in ("ROLLBACK; BEGIN IMMEDIATE", "ROLLBACK TO a"):
                with self.subTest(sql=sql, ending=ending):
                    self.begin_again()
                    connection = self.make(capacity=100)
                    self.assertEqual(count_found(connection, 1, 5), 0)  # its statement is kept
                    self.fail_to_attach(connection)
                    rows(connection, "BEGIN; SAVEPOINT a")
                    insert(connection, 1, 2, 3, 4)
                    rows(connection, sql)
                    rows(connection, ending)
                    self.assertEqual(count_found(connection, 1, 9), 0)
                    insert(connection, 5, 6, 7, 8)
                    self.assertEqual(counted(connection), 4)
                    rows(connection, "ROLLBACK")
                    insert(connection, 9)
                    self.check(connection, 9)


class Vanished(CacheTest):
    def half_read(self, connection, table):
        cursor = connection.cursor()
        found = cursor.execute("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n "
                               f"WHERE x < 500) SELECT x FROM n JOIN {table} ON key = x")
        for x in range(1, 100):
            self.assertEqual(next(found), (x,))
        return found

    def test_a_cursor_whose_table_vanished_is_aborted(self):
        """Also when another table has its name then, whichever is created."""
        other = ("CREATE VIRTUAL TABLE v USING bloom(capacity=9, generations=3);"
                 "INSERT INTO v(key) SELECT value FROM json_each('[300,301]')")
        for gone, afters in (
            ("CREATE VIRTUAL TABLE v USING bloom(capacity=1000)", ("SELECT 1", other)),
            ("ALTER TABLE s RENAME TO v", ("SELECT 1", other)),
            ("DROP TABLE v; CREATE VIRTUAL TABLE v USING bloom(capacity=1000)", ("SELECT 1",)),
        ):
            for ending in ("ROLLBACK", "ROLLBACK TO a"):
                for after in afters:
                    with self.subTest(gone=gone, ending=ending, after=after):
                        self.begin_again()
                        connection = self.make(capacity=1000)
                        if gone.startswith("DROP"):
                            rows(connection, other)
                        rows(connection, "BEGIN; SAVEPOINT a; " + gone)
                        insert_numbers(connection, 1, 500, "v")
                        found = self.half_read(connection, "v")
                        rows(connection, ending)
                        rows(connection, after)
                        with self.assertRaisesRegex(apsw.AbortError, "abort due to ROLLBACK"):
                            list(found)
                        if after == other or gone.startswith("DROP"):
                            self.assertEqual(count_found(connection, 1, 500, "v"), 2)


    def test_however_early_the_cursor_is_and_whatever_follows(self):
        """The table that is back has the same sizes, so that only the keys would differ."""
        for after in ("SELECT 1", "COMMIT", "".join(f"CREATE TABLE t{i}(x);" for i in range(5))):
            with self.subTest(after=after):
                self.begin_again()
                connection = self.make(capacity=3000)
                insert_numbers(connection, 1, 50)
                rows(connection, "BEGIN; SAVEPOINT a; DROP TABLE s; CREATE VIRTUAL TABLE s USING "
                     f"bloom(capacity=3000, salt='{'07' * 16}')")
                found = connection.cursor().execute(
                    "SELECT EXISTS (SELECT 1 FROM s WHERE key = value) FROM json_each('[1,2,3]')")
                self.assertEqual(next(found), (0,))
                rows(connection, "ROLLBACK TO a")
                rows(connection, after)
                with self.assertRaisesRegex(apsw.AbortError, "abort due to ROLLBACK"):
                    list(found)
                self.assertEqual(count_found(connection, 1, 50), 50)


class Functions(CacheTest):
    """SQLite goes on with a statement in which a function rolls back."""

    def with_function(self, sql, **options):
        """A connection with a function that runs SQL for the key 2 or 5."""
        connection = self.make(**options)

        def run(key):
            if key in (2, 5):
                try:
                    rows(connection, sql)
                except apsw.ConstraintError:
                    pass
            return key

        either(connection, "create_scalar_function", "createscalarfunction")("f", run, 1)
        return connection

    def test_a_rollback(self):
        for inner in ("ROLLBACK", "ROLLBACK; BEGIN", "INSERT OR ROLLBACK INTO o VALUES (1)"):
            for sql in ("INSERT INTO s(key) SELECT f(value) FROM json_each('[4,5,6]')",
                        "INSERT INTO s(key) VALUES (4), (f(5)), (6)",
                        "DELETE FROM s WHERE key IN (1, 2, 3) AND f(key)"):
                with self.subTest(inner=inner, sql=sql):
                    self.begin_again()
                    connection = self.with_function(inner, capacity=100, layout="counting")
                    insert(connection, 1, 2, 3)
                    rows(connection, "CREATE TABLE o(x UNIQUE); INSERT INTO o VALUES (1)")
                    self.check(connection, 1, 2, 3)
                    rows(connection, "BEGIN")
                    with self.assertRaisesRegex(apsw.AbortError, "abort due to ROLLBACK"):
                        rows(connection, sql)
                    if not either(connection, "get_autocommit", "getautocommit")():
                        rows(connection, "ROLLBACK")
                    self.check(connection, 1, 2, 3)

    def test_a_rollback_to_before_the_table_was_made(self):
        connection = self.with_function("ROLLBACK TO a", capacity=1000)
        insert(connection, 1, 2, 3)
        rows(connection, "BEGIN; SAVEPOINT a; DROP TABLE s; CREATE VIRTUAL TABLE s USING "
             "bloom(capacity=100000)")
        with self.assertRaisesRegex(apsw.AbortError, "abort due to ROLLBACK"):
            rows(connection, "INSERT INTO s(key) SELECT f(value) FROM json_each('[4,5,6]')")
        rows(connection, "COMMIT")
        self.check(connection, 1, 2, 3)
        # SQLite does not report this one.
        with self.assertRaisesRegex(apsw.AbortError, "abort due to ROLLBACK"):
            rows(connection, "BEGIN; SAVEPOINT a; DROP TABLE s; CREATE VIRTUAL TABLE s USING "
                 "bloom(capacity=100000); INSERT INTO s(key) VALUES (f(5))")
        rows(connection, "COMMIT")
        self.check(connection, 1, 2, 3)

    def test_row_0_is_replaced_amid_a_transaction(self):
        """By that of a table whose chunks have another length, and another object reads it."""
        connection = self.make(capacity=20000, growth="off")
        other = self.make("b.db", capacity=20232, growth="off")
        row_0 = value(other, "SELECT data FROM s_data WHERE id = 0")
        insert_numbers(other, 1, 200)
        insert_numbers(connection, 1, 200)
        chunks = [row[0] for row in rows(connection, "SELECT id FROM s_data WHERE id > 0")]
        length = value(other, "SELECT length(data) FROM s_data WHERE id > 0")
        rows(connection, "BEGIN")
        insert(connection, *range(1000, 1100))
        rows(connection, "UPDATE s_data SET data = ? WHERE id = 0", (row_0,))
        for chunk in chunks:
            rows(connection, "UPDATE s_data SET data = zeroblob(?) WHERE id = ?", (length, chunk))
        rows(connection, "PRAGMA writable_schema = RESET")
        for key in range(600):
            with contextlib.suppress(apsw.CorruptError):
                rows(connection, "SELECT 1 FROM s WHERE key = ?", (key % 300,))
        with self.assertRaisesRegex(apsw.CorruptError, "was changed in the meantime"):
            rows(connection, "COMMIT")


class FailedCommits(CacheTest):
    def begin(self):
        connection = self.make(capacity=100)
        rows(connection, "BEGIN")
        insert(connection, 1, 2, 3, 4)
        return connection

    def test_another_reads(self):
        connection = self.begin()
        reader = self.open()
        either(connection, "set_busy_timeout", "setbusytimeout")(0)
        reading = reader.cursor().execute("SELECT name FROM sqlite_schema, (SELECT 1 UNION "
                                          "SELECT 2)")
        next(reading)
        for key in (5, 9):
            with self.assertRaisesRegex(apsw.BusyError, "database is locked"):
                rows(connection, "COMMIT")
            insert(connection, *range(key, key + 4))  # the transaction goes on
        list(reading)
        rows(connection, "COMMIT")
        self.check(connection, *range(1, 13))

    def test_the_disk_is_full(self):
        connection = self.make(capacity=100_000)
        insert_numbers(connection, 1, 50)
        before = stored(connection)
        pages = value(connection, "PRAGMA page_count")
        rows(connection, f"PRAGMA max_page_count = {pages + 3}; BEGIN")
        with self.assertRaises(apsw.FullError):
            insert_numbers(connection, 51, 5000)
        if either(connection, "get_autocommit", "getautocommit")():
            rows(connection, "BEGIN")  # SQLite has rolled it back
        rows(connection, "ROLLBACK; PRAGMA max_page_count = 1000000")
        self.assertEqual(stored(connection), before)
        insert_numbers(connection, 51, 5000)
        self.assertEqual(count_found(connection, 1, 5000), 5000)
        self.check_integrity(connection)


class Drafts(CacheTest):
    def test_a_row_that_is_deleted_amid_a_transaction(self):
        """After it was read once, and before it is in memory."""
        connection = self.make(capacity=100)
        insert(connection, 1)
        rows(connection, "BEGIN")
        insert(connection, 2)
        rows(connection, "DELETE FROM s_data WHERE id > 0")
        for _ in range(2):
            self.assertEqual(count_found(connection, 1, 2), 0)
        rows(connection, "ROLLBACK")
        self.assertEqual(count_found(connection, 1, 2), 1)

    @with_real_limits
    def test_a_row_that_was_deleted_is_written_again_and_is_not_the_last_insert(self):
        for end in ("COMMIT", "SAVEPOINT a"):
            connection = self.make(f"{end}.db", page_size=512, capacity=2000)
            rows(connection, "CREATE TABLE ordinary(x); BEGIN")
            insert_numbers(connection, 1, 500)
            insert_numbers(connection, 501, 1000)
            chunks = value(connection, "SELECT count(*) FROM s_data")
            rows(connection, "DELETE FROM s_data WHERE id > 0")
            rows(connection, "INSERT INTO ordinary(rowid) VALUES (12345)")
            rows(connection, end)
            self.assertEqual(connection.last_insert_rowid(), 12345, end)
            self.assertEqual(count_found(connection, 1, 1000), 1000)
            self.assertEqual(value(connection, "SELECT count(*) FROM s_data"), chunks)

    def test_rows_that_others_change_within_a_savepoint(self):
        """As a changeset does, which begins further savepoints within its own."""
        connection = self.make(capacity=100, generations=2)
        rows(connection, "CREATE VIRTUAL TABLE o USING bloom(capacity=100, generations=2)")
        insert(connection, 5, 6, 7, 8, table="o")
        rows(connection, "INSERT INTO o(o) VALUES ('rotate')")
        for row in (1, 0):
            rows(connection, "BEGIN")
            insert(connection, 1, 2, 3)
            rows(connection, "SAVEPOINT a; UPDATE s_data SET data = (SELECT data FROM o_data WHERE "
                 f"id = {row}) WHERE id = {row}; SAVEPOINT b; RELEASE b; RELEASE a")
            insert(connection, 9)
            rows(connection, "COMMIT")
            for other in (connection, self.open()):
                self.assertEqual([key for key in range(1, 10) if count_found(other, key, key)],
                                 [5, 6, 7, 8, 9] if row else [1, 2, 3, 5, 6, 7, 8, 9])
        self.assertEqual(value(connection, "SELECT json_group_array(value ->> 'keys') FROM s, "
                               "json_each(info, '$.generations')"), "[8,1]")

    def test_row_0_is_written_while_a_query_without_memory_reads(self):
        connection = self.make(capacity=100)
        insert(connection, *range(1, 51))
        rows(connection, "CREATE TABLE aside(x); BEGIN; INSERT INTO aside VALUES (1)")
        found = connection.cursor().execute(NUMBERS.format(1, 50) + "SELECT x FROM n JOIN s ON "
                                            "key = x")
        for x in range(1, 51):
            self.assertEqual(next(found), (x,))
            rows(connection, "UPDATE s_data SET data = data WHERE id = 0")
        self.assertEqual(list(found), [])
        rows(connection, "COMMIT")

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
        for other in (connection, self.open()):
            self.assertEqual(count_found(other, 1, 3000), 3000)
            self.assertEqual(counted(other), counted(connection))
            self.assertLess(count_found(other, 3001, 9000), 10)


    def test_a_statement_that_cannot_begin(self):
        """Since what waits in one of two tables cannot be written, whichever comes first."""
        for first, second in ("st", "ts"):
            self.begin_again()
            connection = self.make(capacity=100)
            rows(connection, "CREATE VIRTUAL TABLE t USING bloom(capacity=100); BEGIN")
            for table in "st":  # then SQLite tells each of savepoints that begin for others
                rows(connection, f"INSERT INTO {table}(key) SELECT 1 UNION ALL SELECT 2")
            self.fail_to_attach(connection)
            insert(connection, 3, 4, 5, 6, table=first)
            insert(connection, 3, 4, 5, 6, table=second)
            rows(connection, "UPDATE s_data SET data = x'00' WHERE id = 1")
            with self.assertRaises(apsw.CorruptError):  # SQLite has no message of a savepoint
                rows(connection, "INSERT INTO t(key) SELECT value FROM json_each('[7,8,9]')")
            self.assertEqual([count_found(connection, 1, 9, table) for table in "st"], [6, 6])


class Changesets(CacheTest):
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


class Memory(CacheTest):
    """Tables of chunks of 64 KB, so that few keys fill a table."""

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
