#!/usr/bin/env python3
"""Filters in replicated SQLite: three nodes of libSQL server, dqlite and rqlite each.

For each engine: a filter column and filter tables written through the leader and through others
are equal to the byte on every node; no acknowledged key is lost when the leader is killed in the
middle of writes; tables that forget by age forget the same on all when it is killed amid rotations;
reads go on with the leader dead; a node without the extension, and one that was tampered with, are
noticed. Then a load of 10^5 keys. `make clusters` runs it.
"""
import random
import sys
import tempfile
import threading
import time
import unittest

from engines import ENGINES, Refused, wait_for

TABLES = {"plain": "capacity=100, fpr=0.01", "counted": "capacity=100, fpr=0.01, layout=counting"}
NEWEST = "json_extract(info, '$.generations[#-1].generation')"
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT {0} UNION ALL SELECT i + 1 FROM n WHERE i < {1}) "
SCHEMA = ["CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL)",
          "CREATE TABLE list(url TEXT PRIMARY KEY)"] + [
              f"CREATE VIRTUAL TABLE {name} USING bloom({options})"
              for name, options in TABLES.items()]
KEPT = 5000  # keys that the filter column is made for
# Tables that forget by age: the first is told to rotate, the second to rotate if its newest
# generation is that of the hour. At this fpr no key that is asked for is found by chance; the
# second grows in each generation, for which 1e-6 for each is the least.
GENERATIONS = 3
AGES = {"told": f"capacity=1000, fpr=3e-9, growth=off, generations={GENERATIONS}",
        "guarded": f"capacity=20, fpr=3e-6, generations={GENERATIONS}"}
KEYS_AN_HOUR = 30
EQUAL_SECONDS = 30
HOURS_SECONDS = 120  # some 15 hours at 12 statements each
LOAD_KEYS = 100_000


def figures(text):
    print(f"\nfigures: {text}", flush=True)  # unittest's dots end without a line feed


def keys_in(engine, node, table, first, last):
    """How many of the keys first to last a node finds by itself."""
    return engine.read(node, NUMBERS.format(first, last) + "SELECT count(*) FROM n WHERE "
                       f"EXISTS (SELECT 1 FROM {table} WHERE key = 'key-' || i)")[0][0]


def values(first, last):
    return ", ".join(f"('key-{i}')" for i in range(first, last + 1))


def state(engine, node):
    """Every byte of every ordinary table that a node has, shadow tables included."""
    tables = engine.read(node, "SELECT t.name, group_concat('quote(' || c.name || ')') FROM "
                         "sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND "
                         "t.rootpage > 0 GROUP BY t.name ORDER BY t.name")
    return tables, [engine.read(node, f"SELECT {columns} FROM {table} ORDER BY 1")
                    for table, columns in tables]


def all_equal(engine, nodes=range(3)):
    first, *others = [state(engine, node) for node in nodes]
    return all(other == first for other in others)


class Days:
    """Hours that pass in the tables of AGES, statement by statement; and the model of what they
    know: which hour a key was written in last.

    One statement at a time, tried until it is acknowledged. One that was refused may have been done
    all the same. For INSERT and OR IGNORE that makes no difference. The table guarded rotates once
    for each hour, however often that is tried. Before the table told is told again, the number of
    its newest generation says whether it heard the last time; once a later write is acknowledged,
    nothing of what was sent before it is still to come.
    """

    def __init__(self, engine):
        self.engine = engine
        self.leader = None
        self.hour = 0
        self.written = {}  # key: hour
        self.chance = random.Random(28)
        self.rotating = {table: threading.Event() for table in AGES}
        self.seconds = {}  # that the last rotation of a table took
        self.refused = self.unsure = self.done_unheard = 0

    def try_once(self, statement):
        self.leader = self.engine.leader() if self.leader is None else self.leader
        try:
            if self.leader is None:
                raise Refused("no leader")
            self.engine.write([statement], self.leader)
            return True
        except Refused:
            self.leader = None
            self.refused += 1
            raise

    def write(self, statement):
        wait_for(lambda: self.try_once(statement), f"{statement[:60]} is acknowledged")

    def living(self):
        return {key for key, hour in self.written.items() if self.hour - hour < GENERATIONS}

    def add(self, keys, ignore=False):
        living = self.living() if ignore else ()
        rows = ", ".join(f"('key-{key}')" for key in keys)
        for table in AGES:
            self.write(f"INSERT {'OR IGNORE ' if ignore else ''}INTO {table}(key) VALUES {rows}")
        self.written.update((key, self.hour) for key in keys if key not in living)

    def newest(self):
        self.try_once(f"INSERT INTO list VALUES ('{random.random()}')")
        return self.engine.read(self.leader, f"SELECT {NEWEST} FROM told")[0]

    def rotate_told(self):
        newest = self.hour
        while newest == self.hour:
            try:
                self.try_once("INSERT INTO told(told) VALUES ('rotate')")
                return
            except Refused:
                self.unsure += 1
            (newest,) = wait_for(self.newest, "the newest generation")
        self.done_unheard += 1

    def timed(self, table, rotate):
        self.rotating[table].set()
        started = time.monotonic()
        rotate()
        self.rotating[table].clear()
        self.seconds[table] = time.monotonic() - started

    def pass_hour(self):
        """New keys; known ones once more; and on to the next hour."""
        self.add(range(KEYS_AN_HOUR * self.hour, KEYS_AN_HOUR * (self.hour + 1)))
        before = range(max(0, KEYS_AN_HOUR * (self.hour - 2 * GENERATIONS)),
                       KEYS_AN_HOUR * (self.hour + 1))
        self.add(self.chance.sample(before, 5))
        self.add(self.chance.sample(before, 20), ignore=True)
        self.timed("told", self.rotate_told)
        self.timed("guarded", lambda: self.write(
            "INSERT INTO guarded(guarded) SELECT 'rotate' WHERE "
            "(SELECT json_extract(info, '$.generations[#-1].generation') FROM guarded) = "
            f"{self.hour}"))
        self.hour += 1

    def found(self, node, table):
        """Which keys a node finds, of those that were written and as many others."""
        return {key for (key,) in self.engine.read(
            node, NUMBERS.format(0, 2 * KEYS_AN_HOUR * self.hour) + "SELECT i FROM n WHERE EXISTS "
            f"(SELECT 1 FROM {table} WHERE key = 'key-' || i)")}


class Cluster:
    """The tests; one class for each engine below."""

    engine_class = None

    @classmethod
    def setUpClass(cls):
        reason = cls.engine_class.missing()
        if reason:
            raise unittest.SkipTest(f"skipped: {cls.engine_class.name}: {reason}")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bloom-cluster-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.engine = self.begin(folder.name)

    def begin(self, folder, **options):
        engine = self.engine_class(folder, **options)
        self.addCleanup(engine.close)
        engine.start()
        return engine

    def write(self, *statements, node=None):
        """Writes at last: engines refuse for a while after an election."""
        def done():
            self.engine.write(statements, self.engine.leader() if node is None else node)
            return True
        wait_for(done, f"{statements[0][:60]} is acknowledged")

    def assert_all_equal(self):
        wait_for(lambda: all_equal(self.engine), "all nodes are equal", EQUAL_SECONDS)

    def assert_sound(self, nodes=range(3)):
        for node in nodes:
            self.assertEqual(self.engine.read(node, "SELECT * FROM pragma_integrity_check"),
                             [("ok",)], f"node {node}")

    def test_what_any_node_writes_is_equal_on_all(self):
        engine = self.engine
        self.write(*SCHEMA)
        leader = engine.leader()
        other = (leader + 1) % 3
        self.write("INSERT INTO filters VALUES ('added', bloom_new(1000, 0.01))", node=other)
        for table in TABLES:
            self.write(f"INSERT INTO {table}(key) VALUES {values(1, 60)}", node=leader)
            self.write(f"INSERT INTO {table}(key) VALUES {values(61, 90)}", node=other)
        for i in range(5):
            self.write(f"UPDATE filters SET f = bloom_add(f, 'key-{i}') WHERE name = 'added'",
                       node=(leader, other)[i % 2])
        # Growth, in one replicated statement, and an aggregate that each node may run itself.
        for table in TABLES:
            self.write(f"INSERT INTO {table}(key) " + NUMBERS.format(91, 1000)
                       + "SELECT 'key-' || i FROM n", node=other)
        self.write("INSERT INTO list " + NUMBERS.format(1, 2000) + "SELECT 'key-' || i FROM n")
        self.write("INSERT INTO filters SELECT 'aggregate', bloom_agg(url) FROM list", node=other)
        self.write("INSERT INTO filters SELECT 'shaped', bloom_agg(url, 5000, 0.001) FROM list")
        self.write(f"DELETE FROM counted WHERE key = 'key-{1000}'", node=other)
        self.assert_all_equal()
        self.assert_sound()
        for node in range(3):
            self.assertEqual(keys_in(engine, node, "plain", 1, 1000), 1000)
            self.assertEqual(keys_in(engine, node, "counted", 1, 999), 999)
            self.assertEqual(engine.read(
                node, "SELECT count(*) FROM list WHERE bloom_check((SELECT bloom_pin(f) "
                "FROM filters WHERE name = 'aggregate'), url)"), [(2000,)])
            self.assertGreater(engine.read(
                node, "SELECT json_array_length(info, '$.layers') FROM plain")[0][0], 2)

    def test_no_acknowledged_key_is_lost_when_the_leader_dies(self):
        engine = self.engine
        self.write(*SCHEMA, f"INSERT INTO filters VALUES ('kept', bloom_new({KEPT}))")
        acknowledged, refused, stop = [], [], threading.Event()

        def work():
            first = 1
            while not stop.is_set():
                last = first + 19
                try:
                    node = engine.leader()
                    if node is None:
                        raise Refused("no leader")
                    for table in TABLES:
                        engine.write([f"INSERT OR IGNORE INTO {table}(key) VALUES "
                                      f"{values(first, last)}"], node)
                    engine.write(["UPDATE filters SET f = bloom_union(f, ("
                                  + NUMBERS.format(first, last) + "SELECT bloom_agg('key-' || i, "
                                  f"{KEPT}) FROM n)) WHERE name = 'kept'"], node)
                    acknowledged.append((first, last))
                    first = last + 1
                except Refused:
                    refused.append(first)
                    time.sleep(0.05)

        writer = threading.Thread(target=work)
        writer.start()
        try:
            wait_for(lambda: len(acknowledged) >= 20, "writes before the leader dies")
            dead = engine.leader()
            engine.kill(dead)
            alive = [node for node in range(3) if node != dead]
            # The others answer from what they have.
            before = acknowledged[0]
            for node in alive:
                wait_for(lambda node=node: keys_in(engine, node, "plain", *before) == 20,
                         f"node {node} answers with the leader dead")
            if engine.elects:
                done = len(acknowledged)
                wait_for(lambda: len(acknowledged) >= done + 20, "writes to the new leader")
                self.assertNotEqual(engine.leader(), dead)
            else:
                time.sleep(1)
            engine.restart(dead)
            done = len(acknowledged)
            wait_for(lambda: len(acknowledged) >= done + 20, "writes after the old one is back")
        finally:
            stop.set()
            writer.join(60)
        self.assertTrue(refused or engine.client_waits, "the leader's death was not noticed")
        self.assert_all_equal()
        self.assert_sound()
        last = acknowledged[-1][1]  # one range begins where the other ended
        self.assertEqual(last, 20 * len(acknowledged))
        for node in range(3):
            for table in TABLES:
                self.assertEqual(keys_in(engine, node, table, 1, last), last,
                                 f"node {node}, {table}")
            self.assertEqual(engine.read(
                node, NUMBERS.format(1, last) + "SELECT sum(bloom_check((SELECT bloom_pin(f) FROM "
                "filters WHERE name = 'kept'), 'key-' || i)) FROM n"), [(last,)], f"node {node}")
        figures(f"{engine.name}: leader killed: {20 * len(acknowledged)} keys acknowledged, all "
                f"found on every node; {len(refused)} attempts refused meanwhile")

    def test_ages_are_equal_when_the_leader_dies_amid_rotations(self):
        engine = self.engine
        self.write(*SCHEMA, *(f"CREATE VIRTUAL TABLE {name} USING bloom({options})"
                              for name, options in AGES.items()))
        days = Days(engine)
        stop = threading.Event()

        def work():
            while not stop.is_set():
                days.pass_hour()

        def pass_hours(what):
            end = days.hour + GENERATIONS + 2
            wait_for(lambda: days.hour >= end, what, HOURS_SECONDS)

        writer = threading.Thread(target=work)
        writer.start()
        try:
            for table in AGES:
                pass_hours("hours before the leader dies")
                dead = engine.leader()
                self.assertTrue(days.rotating[table].wait(HOURS_SECONDS))
                time.sleep(days.seconds[table] / 2)
                engine.kill(dead)
                if engine.elects:
                    pass_hours("hours of the new leader")
                    self.assertNotEqual(engine.leader(), dead)
                else:
                    time.sleep(1)
                engine.restart(dead)
            pass_hours("hours after the old one is back")
        finally:
            stop.set()
            writer.join(60)
        self.assertFalse(writer.is_alive())
        self.assertTrue(days.refused or engine.client_waits, "the leader's death was not noticed")
        self.assert_all_equal()
        self.assert_sound()
        living = days.living()
        self.assertGreater(len(living), KEYS_AN_HOUR * (GENERATIONS - 1))
        self.assertGreater(len(days.written) - len(living), 10 * KEYS_AN_HOUR)
        for node in range(3):
            for table in AGES:
                self.assertEqual(days.found(node, table), living, f"node {node}, {table}")
                self.assertEqual(engine.read(
                    node, f"SELECT {NEWEST} - json_extract(info, '$.generations[0].generation'), "
                    f"{NEWEST} FROM {table}"), [(GENERATIONS - 1, days.hour)])
        figures(f"{engine.name}: leader killed twice amid rotations: {days.hour} rotations of each "
                f"table, {days.refused} attempts refused, {days.unsure} of them to rotate, of "
                f"which {days.done_unheard} were done; {len(living)} of {len(days.written)} keys "
                "known, on every node")

    def test_a_tampered_node_is_found_unequal(self):
        """The comparison of the other tests finds one bit, in a filter column and in a table."""
        engine = self.engine
        self.write(*SCHEMA, f"INSERT INTO plain(key) VALUES {values(1, 50)}",
                   "INSERT INTO filters SELECT 'a', bloom_new(10)")
        self.assert_all_equal()
        for table in ("filters", "plain_data"):
            engine.tamper(2, table)
            self.assertFalse(all_equal(engine), table)
            self.assertTrue(all_equal(engine, (0, 1)), table)
            engine.tamper(2, table)
            self.assertTrue(all_equal(engine), table)

    def test_a_load_of_many_keys(self):
        engine, batch = self.engine, 500
        self.write(*SCHEMA, "CREATE VIRTUAL TABLE load USING bloom(capacity=200000, fpr=0.01)")
        leader = engine.leader()
        batches = iter(range(0, LOAD_KEYS, batch))
        taking = threading.Lock()
        acknowledged, checks = [], []
        done = threading.Event()

        def work(node):
            while True:
                with taking:
                    first = next(batches, None)
                if first is None:
                    return
                sql = f"INSERT INTO load(key) VALUES {values(first + 1, first + batch)}"
                for _ in range(50):
                    try:
                        engine.write([sql], node)
                        acknowledged.append(first)
                        break
                    except Refused: # two writers at once: busy
                        time.sleep(0.05)

        def ask(node):
            while not done.is_set():
                try:
                    keys_in(engine, node, "load", 1, 2000)
                    checks.append(2000)
                except Refused:
                    time.sleep(0.05)

        writers = [threading.Thread(target=work, args=((leader + i) % 3,)) for i in range(2)]
        readers = [threading.Thread(target=ask, args=((leader + i) % 3,)) for i in (1, 2)]
        started = time.monotonic()
        for thread in writers + readers:
            thread.start()
        for thread in writers:
            thread.join()
        seconds = time.monotonic() - started
        done.set()
        for thread in readers:
            thread.join()
        self.assertEqual(len(acknowledged) * batch, LOAD_KEYS)
        wait_for(lambda: all(keys_in(engine, node, "load", 1, LOAD_KEYS) == LOAD_KEYS
                             for node in range(3)), "every acknowledged key on every node", 60)
        started = time.monotonic()
        self.assertEqual(keys_in(engine, (leader + 1) % 3, "load", 1, LOAD_KEYS), LOAD_KEYS)
        alone = time.monotonic() - started
        figures(f"{engine.name}: {LOAD_KEYS} keys in {seconds:.1f} s by two writers, "
                f"{sum(checks)} checks at two other nodes meanwhile; then {LOAD_KEYS} checks in "
                f"one statement at a follower: {LOAD_KEYS / alone:,.0f} a second")

    def test_a_node_without_the_extension(self):
        with tempfile.TemporaryDirectory(prefix="bloom-cluster-",
                                         ignore_cleanup_errors=True) as folder:
            engine = self.begin(folder, without_extension=(2,))
            self.engine = engine
            # A node without it must not lead: it could not run the statements.
            if engine.elects and engine.leader() == 2:
                engine.kill(2)
                wait_for(lambda: engine.leader() in (0, 1), "another leader")
                engine.restart(2)
            leader = engine.leader()
            self.write(SCHEMA[0], SCHEMA[1], "INSERT INTO list VALUES ('a'), ('b')", node=leader)
            self.write("INSERT INTO filters SELECT 'a', bloom_agg(url) FROM list", node=leader)
            self.assertEqual(engine.read(leader, "SELECT count(*) FROM filters"), [(1,)])
            self.without_extension(engine)
            engine.close()


def add(engine):
    class Tests(Cluster, unittest.TestCase):
        engine_class = engine

        def without_extension(self, engine):
            wait_for(lambda: engine.read(2, "SELECT count(*) FROM list") == [(2,)],
                     "plain tables arrive")
            if engine.name == "rqlite":
                # It replicates statements: the one that failed there is missing, in silence.
                time.sleep(1)
                self.assertEqual(engine.read(2, "SELECT count(*) FROM filters"), [(0,)])
            else:
                # They replicate pages: the filter is there, only nothing can ask it.
                wait_for(lambda: engine.read(2, "SELECT count(*) FROM filters") == [(1,)],
                         "the filter arrives")
                if engine.name == "libSQL":
                    with self.assertRaisesRegex(Refused, "no such function: bloom_count"):
                        engine.read(2, "SELECT bloom_count(f) FROM filters")

    Tests.__name__ = Tests.__qualname__ = engine.name
    globals()[engine.name] = Tests


for one in ENGINES:
    add(one)
del one

if __name__ == "__main__":
    sys.exit(unittest.main())
