#!/usr/bin/env python3
"""Kills a process that writes to a filter table, at random moments, and looks at what is left:
nothing that was committed may be lost.

    crash_test.py           run the tests (and any option of unittest)

A writer commits batches of keys, of known sizes and in a known order, to a table that grows all the
time; it prints the number of each batch once COMMIT has returned. SIGKILL ends it. Then every key
of every batch that was reported must be found, the batch that was being written must be in as a
whole or not at all, and the database and the table's bookkeeping must be sound. The next writer
goes on in the same database.

ROUNDS=n in the environment sets how often a writer is killed, for each journal mode (60; for a long
run some hundreds or thousands), SEED=n the moments. KEEP=folder keeps the databases there. What was
done is printed to standard error, one line for each journal mode.
"""

import os
import pathlib
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from table_test import connect, count_found, rows, stored, value

ROUNDS = int(os.environ.get("ROUNDS", "60"))
SEED = int(os.environ.get("SEED", "1"))
LONGEST_LIFE = 0.05  # of a writer after its first commit, in seconds
CAPACITY = 300
# Then a new one: every round looks at all keys, so that the time for a database goes with the
# square.
ROUNDS_OF_DATABASE = 100


def first_key(batch):
    """Batches have 1 to 40 keys, in cycles, so that the first key of each is known: 820 keys in 40
    batches."""
    cycle, place = divmod(batch, 40)
    return cycle * 820 + place * (place + 1) // 2


def add_batch(connection, batch):
    for key in range(first_key(batch), first_key(batch + 1)):
        rows(connection, "INSERT INTO s(key) VALUES (?)", (key,))


def write(path, synchronous):
    """The writer: goes on where the last one was killed."""
    connection = connect(path)
    # With a small cache pages reach the file before they are committed, too. Not so in WAL mode:
    # there, SQLite 3.40 itself loses what was committed last when it is killed, if pages were
    # written ahead more than once and taken back by ROLLBACK TO.
    if value(connection, "PRAGMA journal_mode") != "wal":
        rows(connection, "PRAGMA cache_size = 5")
    rows(connection, f"PRAGMA synchronous = {synchronous}")
    batch = value(connection, "SELECT coalesce(max(batch), -1) FROM log") + 1
    while True:
        rows(connection, "BEGIN IMMEDIATE")
        add_batch(connection, batch)
        if batch % 3 == 0:  # a part that is taken back, in the midst of it
            rows(connection, "SAVEPOINT doubtful")
            add_batch(connection, batch + 1000)
            rows(connection, "ROLLBACK TO doubtful; RELEASE doubtful")
        rows(connection, "INSERT INTO log VALUES (?)", (batch,))
        rows(connection, "COMMIT")
        os.write(1, b"%d\n" % batch)
        batch += 1


class Crash(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.path = self.folder / "crash.db"
        self.random = random.Random(SEED)
        self.addCleanup(self.remove)
        self.reported = -1  # the last batch that a writer has reported
        self.rounds = self.kills = self.hot = self.unreported = 0
        self.databases = self.batches = self.keys = self.checked = 0

    def remove(self):
        if os.environ.get("KEEP"):
            shutil.copytree(self.folder, pathlib.Path(os.environ["KEEP"]) / self.id())
        shutil.rmtree(self.folder)

    def create(self, journal_mode):
        for leftover in self.folder.iterdir():
            leftover.unlink()
        self.reported = -1
        self.databases += 1
        connection = connect(self.path)
        rows(connection, f"PRAGMA journal_mode = {journal_mode}")
        rows(connection, "CREATE TABLE log(batch INTEGER PRIMARY KEY)")
        rows(connection, f"CREATE VIRTUAL TABLE s USING bloom(capacity={CAPACITY}, fpr=0.0001)")
        connection.close()

    def kill_a_writer(self):
        # Waiting for the disk takes most of a writer's life: most of them do not wait, and so are
        # killed at other moments.
        synchronous = "full" if self.random.random() < 0.3 else "off"
        writer = subprocess.Popen(
            [sys.executable, __file__, "--write", str(self.path), synchronous],
            stdout=subprocess.PIPE,
        )
        try:
            ready, _, _ = select.select([writer.stdout], [], [], 60)
            if self.random.random() < 0.9:  # else at once after a commit
                time.sleep(self.random.random() * LONGEST_LIFE)
        finally:
            writer.send_signal(signal.SIGKILL)
            reported, _ = writer.communicate()
        self.assertTrue(ready, "the writer commits nothing")
        self.assertEqual(writer.returncode, -signal.SIGKILL, "the writer ended by itself")
        self.kills += 1
        whole_lines = reported.decode().split("\n")[:-1]
        if whole_lines:
            self.assertEqual(
                list(map(int, whole_lines)),
                list(range(int(whole_lines[0]), int(whole_lines[0]) + len(whole_lines))),
            )
            self.assertGreater(int(whole_lines[0]), self.reported)
            self.reported = int(whole_lines[-1])
        journal = self.folder / "crash.db-journal"
        self.hot += journal.exists() and journal.stat().st_size > 0

    def check(self, connection):
        last = value(connection, "SELECT max(batch) FROM log")
        self.assertIn(
            last, (self.reported, self.reported + 1)
        )  # the report of the last one may have been too late
        self.unreported += last > self.reported
        self.reported = last
        keys = first_key(last + 1)
        self.assertEqual(count_found(connection, 0, keys - 1), keys)
        self.checked += keys
        self.assertEqual(rows(connection, "PRAGMA integrity_check"), [("ok",)])
        (chunks,) = rows(
            connection, "SELECT (SELECT sum(chunks) FROM s_layers), (SELECT count(*) FROM s_chunks)"
        )
        self.assertEqual(chunks[0], chunks[1])
        new = value(
            connection,
            "SELECT sum(json_extract(value, '$.keys')) FROM s, json_each(info, '$.layers')",
        )
        self.assertLessEqual(new, keys)
        self.assertGreaterEqual(new, keys * (1 - 0.0002) - 5)
        # Almost no key that comes later is in yet: what was not committed has left no bits.
        self.assertLessEqual(count_found(connection, keys, keys + 1999), 5)

    def check_against_an_undisturbed_table(self, connection):
        calm = connect(":memory:")
        rows(calm, f"CREATE VIRTUAL TABLE s USING bloom(capacity={CAPACITY}, fpr=0.0001)")
        for batch in range(self.reported + 1):
            add_batch(calm, batch)
        self.assertEqual(stored(connection), stored(calm))

    def play_round(self, journal_mode, last_of_database):
        self.kill_a_writer()
        connection = connect(self.path)
        self.assertEqual(value(connection, "PRAGMA journal_mode"), journal_mode)
        self.check(connection)
        if last_of_database:
            self.check_against_an_undisturbed_table(connection)
            self.batches += self.reported + 1
            self.keys += first_key(self.reported + 1)
        connection.close()
        self.rounds += 1

    def check_mode(self, journal_mode):
        start = time.monotonic()
        for round_ in range(ROUNDS):
            if round_ % ROUNDS_OF_DATABASE == 0:
                self.create(journal_mode)
            with self.subTest(seed=SEED, round=round_):
                self.play_round(
                    journal_mode, (round_ + 1) % ROUNDS_OF_DATABASE == 0 or round_ == ROUNDS - 1
                )
            if (
                self.rounds == round_
            ):  # it failed, and what comes later in this database says nothing
                break
        # A line of its own: unittest has just printed a dot.
        print(
            f"\nfigures: {journal_mode}: {self.rounds} of {ROUNDS} rounds sound, {self.kills} kills"
            f" ({self.hot} leaving a rollback journal, {self.unreported} after a commit that was"
            f" not reported yet), {self.databases} databases, {self.batches} batches, {self.keys}"
            f" keys, {self.checked} times a key looked for, seed {SEED},"
            f" {time.monotonic() - start:.0f} s",
            file=sys.stderr,
        )
        self.assertEqual(self.rounds, ROUNDS)
        self.assertGreater(self.batches, ROUNDS)

    def test_rollback_journal(self):
        self.check_mode("delete")

    def test_wal(self):
        self.check_mode("wal")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], sys.argv[3])
    else:
        unittest.main()
