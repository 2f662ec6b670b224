#!/usr/bin/env python3
"""What scripts cannot test of generations: pages on disk, several connections, other page sizes,
replicas, and random days against a model.

    generations_test.py     run the tests (and any option of unittest)

It needs apsw, of any release from 3.40.
"""

import json
import random
import shutil
import unittest

import table_test
from table_test import NUMBERS, count_found, insert_numbers, rows, stored, value

GENERATIONS = 6


def rotate(connection, table="s"):
    rows(connection, f"INSERT INTO {table}({table}) VALUES ('rotate')")


class GenerationsTest(table_test.TableTest):
    def make(self, name="a.db", **settings):
        """A table with generations; settings are its options, and those two of the database."""
        connection = self.open(name)
        for pragma in ("page_size", "journal_mode"):
            if pragma in settings:
                rows(connection, f"PRAGMA {pragma} = {settings.pop(pragma)}")
        options = ", ".join(f"{option}={settings[option]}" for option in settings)
        rows(connection, f"CREATE VIRTUAL TABLE s USING bloom({options})")
        return connection

    def forget(self):
        """Begins anew."""
        for connection in self.connections:
            connection.close()
        self.connections.clear()
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def frames(self):
        size = (self.folder / "a.db-wal").stat().st_size
        return (size - 32) // (4096 + 24) if size > 0 else 0

    def rotated(self, keys, generations=GENERATIONS):
        """A table whose generations are full of keys, in WAL mode, checkpointed."""
        connection = self.make(
            capacity=keys, fpr=0.01, journal_mode="wal", generations=generations
        )
        rows(connection, "PRAGMA wal_autocheckpoint = 0")
        for generation in range(generations + 1):
            insert_numbers(connection, generation * keys + 1, (generation + 1) * keys)
            rotate(connection)
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
        return connection

    def test_a_rotation_writes_one_page_whatever_the_size(self):
        for keys in (100, 3000, 30_000):
            with self.subTest(keys=keys):
                self.forget()
                connection = self.rotated(keys)
                for turn in range(1, 2 * GENERATIONS + 1):
                    rotate(connection)
                    self.assertEqual(self.frames(), turn)

    def test_a_first_rotation_writes_one_page_too(self):
        connection = self.make(journal_mode="wal", generations=GENERATIONS)
        rows(connection, "PRAGMA wal_autocheckpoint = 0")
        rows(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
        for turn in range(1, GENERATIONS):
            rotate(connection)
            self.assertEqual(self.frames(), turn)

    def test_the_file_does_not_grow_over_many_rotations(self):
        connection = self.rotated(3000)
        pages = None
        for turn in range(60):
            insert_numbers(connection, 10**6 + turn * 3000, 10**6 + (turn + 1) * 3000 - 1)
            rotate(connection)
            if turn == GENERATIONS:
                pages = value(connection, "PRAGMA page_count")
        self.assertEqual(value(connection, "PRAGMA page_count"), pages)
        self.assertEqual(value(connection, "PRAGMA freelist_count"), 0)

    def test_what_takes_forgotten_bits_out_of_the_file(self):
        """VACUUM alone does not; clear does with secure_delete, and with a VACUUM behind it."""
        for secure in (False, True):
            with self.subTest(secure_delete=secure):
                self.forget()
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

    def test_a_key_of_a_new_generation_writes_one_page(self):
        connection = self.rotated(10_000)
        for turn in range(50):
            before = self.frames()
            rows(connection, "INSERT OR IGNORE INTO s(key) VALUES (?)", (f"new {turn}",))
            self.assertLessEqual(self.frames() - before, 1)

    def test_six_full_generations_take_at_most_17_bits_a_key(self):
        for keys in (1000, 30_000):
            with self.subTest(keys=keys):
                self.forget()
                connection = self.rotated(keys)
                insert_numbers(connection, 10**7, 10**7 + keys - 1)
                info = json.loads(value(connection, "SELECT info FROM s"))
                self.assertEqual(len(info["layers"]), GENERATIONS)
                bits = sum(layer["bits"] for layer in info["layers"])
                counted = sum(layer["keys"] for layer in info["layers"])
                self.assertGreater(counted, 0.99 * GENERATIONS * keys)
                self.assertLess(bits / counted, 17)
                self.assertLess(info["fpr"], 0.01)

    def test_the_rate_is_measured_over_all_generations(self):
        for fpr, generations in ((0.01, 6), (0.05, 2), (0.02, 20)):
            with self.subTest(fpr=fpr, generations=generations):
                self.forget()
                keys = 20_000 // generations
                connection = self.make(capacity=keys // 3, fpr=fpr, generations=generations)
                for generation in range(2 * generations):  # each grows to three layers
                    insert_numbers(connection, generation * keys + 1, (generation + 1) * keys)
                    rotate(connection)
                found = count_found(connection, 10**7 + 1, 10**7 + 50_000)
                self.assertLess(found, 50_000 * fpr)
                self.assertGreater(found, 50_000 * fpr / 10)
                # What was forgotten is found as seldom, what was not always.
                edge = (generations + 1) * keys
                self.assertLess(count_found(connection, 1, edge), edge * fpr)
                self.assertEqual(count_found(connection, edge + 1, 2 * generations * keys),
                                 (generations - 1) * keys)

    def test_other_connections_see_a_rotation_at_their_next_look(self):
        one = self.make(capacity=100, generations=2, journal_mode="wal")
        two = self.open()
        rows(one, "INSERT INTO s(key) VALUES ('a')")
        self.assertEqual(value(two, "SELECT count(*) FROM s('a')"), 1)
        rotate(one)
        rows(two, "BEGIN")
        self.assertEqual(value(two, "SELECT count(*) FROM s('a')"), 1)
        rotate(one)
        self.assertEqual(value(one, "SELECT count(*) FROM s('a')"), 0)
        self.assertEqual(value(two, "SELECT count(*) FROM s('a')"), 1)  # as the transaction began
        rows(two, "COMMIT")
        self.assertEqual(value(two, "SELECT count(*) FROM s('a')"), 0)
        rows(two, "INSERT OR IGNORE INTO s(key) VALUES ('a')")
        self.assertEqual(value(one, "SELECT count(*) FROM s('a')"), 1)
        generations = json.loads(value(one, "SELECT info FROM s"))["generations"]
        self.assertEqual(generations[-1]["generation"], 2)

    def test_vacuum_into_other_pages_keeps_generations(self):
        for before, after in ((512, 4096), (4096, 512), (65536, 1024)):
            with self.subTest(before=before, after=after):
                self.forget()
                connection = self.make(capacity=500, fpr=0.01, generations=3, page_size=before)
                for generation in range(5):
                    insert_numbers(connection, generation * 1000 + 1, generation * 1000 + 1000)
                    rotate(connection)
                rows(connection, f"PRAGMA page_size = {after}")
                rows(connection, "VACUUM")
                self.assertEqual(value(connection, "PRAGMA page_size"), after)
                self.assertEqual(count_found(connection, 3001, 5000), 2000)
                for generation in range(5, 12):
                    insert_numbers(connection, generation * 1000 + 1, generation * 1000 + 1000)
                    rotate(connection)
                    self.assertEqual(
                        count_found(connection, generation * 1000 - 999, generation * 1000 + 1000),
                        2000,
                    )
                self.check_integrity(connection)

    def test_replicas_that_run_the_same_statements_are_equal_to_the_byte(self):
        for seed in range(4):
            with self.subTest(seed=seed):
                self.forget()
                chance = random.Random(seed)
                statements = []
                for _ in range(400):
                    kind = chance.random()
                    if kind < 0.05:
                        statements.append(("INSERT INTO s(s) VALUES ('rotate')", ()))
                    elif kind < 0.06:
                        statements.append(("INSERT INTO s(s) VALUES ('clear')", ()))
                    else:
                        ignore = "OR IGNORE " if chance.random() < 0.5 else ""
                        first = chance.randrange(20_000)
                        sql = f"INSERT {ignore}INTO s(key) " + NUMBERS + "SELECT x FROM n"
                        statements.append(
                            (sql.format(first, first + chance.randrange(1, 40)), ())
                        )
                one = self.make("a.db", capacity=200, fpr=0.01, generations=5)
                two = self.make("b.db", capacity=200, fpr=0.01, generations=5)
                for sql, bindings in statements:
                    rows(one, sql, bindings)
                    # The other replica is closed now and then, asks, and undoes things in between.
                    if chance.random() < 0.05:
                        two.close()
                        self.connections.remove(two)
                        two = self.open("b.db")
                    if chance.random() < 0.2:
                        count_found(two, 1, 20)
                    if chance.random() < 0.1:
                        rows(two, "BEGIN")
                        rotate(two)
                        insert_numbers(two, 1, 30)
                        rows(two, "ROLLBACK")
                    rows(two, sql, bindings)
                self.assertEqual(stored(one), stored(two))

    def test_random_days_against_a_model(self):
        for seed in range(4):
            with self.subTest(seed=seed):
                self.forget()
                chance = random.Random(100 + seed)
                generations = (2, 3, 6, 13)[seed]
                fpr = chance.choice((0.001, 0.02))
                connection = self.make(capacity=100, fpr=fpr, generations=generations)
                written = {}  # key: the generation that wrote it last
                newest = 0
                for _ in range(3 * generations):
                    batch = [chance.randrange(2000) for _ in range(chance.randrange(200))]
                    ignore = chance.random() < 0.5
                    for key in batch:
                        alive = newest - written.get(key, -1000) < generations
                        if ignore:
                            rows(connection, "INSERT OR IGNORE INTO s(key) VALUES (?)", (key,))
                            if not alive and connection.changes() == 1:
                                written[key] = newest
                            self.assertFalse(alive and connection.changes() == 1)
                        else:
                            rows(connection, "INSERT INTO s(key) VALUES (?)", (key,))
                            written[key] = newest
                    if chance.random() < 0.8:
                        rotate(connection)
                        newest += 1
                    if chance.random() < 0.05:
                        rows(connection, "INSERT INTO s(s) VALUES ('clear')")
                        written.clear()
                        newest = 0
                    found = {
                        row[0]
                        for row in rows(
                            connection,
                            NUMBERS.format(0, 1999)
                            + "SELECT x FROM n WHERE EXISTS (SELECT 1 FROM s WHERE key = x)",
                        )
                    }
                    living = {
                        key for key, last in written.items() if newest - last < generations
                    }
                    self.assertEqual(living - found, set())
                    self.assertLessEqual(len(found - living), 2000 * fpr * 1.5 + 10)


if __name__ == "__main__":
    unittest.main()
