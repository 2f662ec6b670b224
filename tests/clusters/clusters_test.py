#!/usr/bin/env python3
"""Filters in replicated SQLite: three nodes of libSQL server, dqlite and rqlite each.

For each engine: a filter column and filter tables written through the leader and through others
are equal to the byte on every node; no acknowledged key is lost when the leader is killed in the
middle of writes, and a node that comes back has the same bytes; reads go on with the leader dead; a
node without the extension is noticed. `make clusters` runs it.
"""
import sys
import tempfile
import threading
import time
import unittest

from engines import ENGINES, Refused, wait_for

TABLES = {"plain": "capacity=100, fpr=0.01", "counted": "capacity=100, fpr=0.01, layout=counting",
          "aged": "capacity=1000, fpr=3e-9, growth=off, generations=2"}
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT {0} UNION ALL SELECT i + 1 FROM n WHERE i < {1}) "
SCHEMA = ["CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL)",
          "CREATE TABLE list(url TEXT PRIMARY KEY)"] + [
              f"CREATE VIRTUAL TABLE {name} USING bloom({options})"
              for name, options in TABLES.items()]
KEPT = 5000  # keys that the filter column is made for
# As clusters/README.md advises: to send it twice forgets no generation too early.
NEWEST = "(SELECT json_extract(info, '$.generations[#-1].generation') FROM aged)"
ROTATE = f"INSERT INTO aged(aged) SELECT 'rotate' WHERE {NEWEST} = {{}}"


def values(first, last):
    return ", ".join(f"('key-{i}')" for i in range(first, last + 1))


class Cluster:
    """The tests; one class for each engine below."""

    engine_class = None

    @classmethod
    def setUpClass(cls):
        if reason := cls.engine_class.missing():
            raise unittest.SkipTest(f"skipped: {cls.engine_class.name}: {reason}")

    def setUp(self):
        self.begin()

    def begin(self, **options):
        folder = tempfile.TemporaryDirectory(prefix="bloom-cluster-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.engine = self.engine_class(folder.name, **options)
        self.addCleanup(self.engine.close)
        self.engine.start()

    def write(self, *statements, node=None):
        """Writes at last: engines refuse for a while after an election."""
        def done():
            self.engine.write(statements, self.engine.leader() if node is None else node)
            return True
        wait_for(done, f"{statements[0][:60]} is acknowledged")

    def state(self, node):
        """Every byte of every ordinary table that a node has, shadow tables included."""
        tables = self.engine.read(
            node, "SELECT t.name, group_concat('quote(' || c.name || ')') FROM sqlite_master t,"
            " pragma_table_info(t.name) c WHERE t.type = 'table' AND t.rootpage > 0 GROUP BY t.name"
            " ORDER BY t.name")
        return tables, [self.engine.read(node, f"SELECT {columns} FROM {table} ORDER BY 1")
                        for table, columns in tables]

    def assert_equal_and_sound(self):
        wait_for(lambda: self.state(0) == self.state(1) == self.state(2), "all nodes are equal")
        self.on_each_node("SELECT * FROM pragma_integrity_check", "ok")

    def on_each_node(self, sql, answer):
        for node in range(3):
            self.assertEqual(self.engine.read(node, sql), [(answer,)], f"node {node}")

    def keys_in(self, table, first, last):
        return (NUMBERS.format(first, last) + "SELECT count(*) FROM n WHERE "
                f"EXISTS (SELECT 1 FROM {table} WHERE key = 'key-' || i)")

    def checked(self, name, first, last):
        return (NUMBERS.format(first, last) + "SELECT sum(bloom_check((SELECT bloom_pin(f) FROM"
                f" filters WHERE name = '{name}'), 'key-' || i)) FROM n")

    def test_what_any_node_writes_is_equal_on_all(self):
        self.write(*SCHEMA)
        leader = self.engine.leader()
        other = (leader + 1) % 3
        self.write("INSERT INTO filters VALUES ('added', bloom_new(1000, 0.01))", node=other)
        for table in TABLES:
            self.write(f"INSERT INTO {table}(key) VALUES {values(1, 60)}", node=leader)
            # Growth, in one replicated statement.
            self.write(f"INSERT INTO {table}(key) " + NUMBERS.format(61, 1000)
                       + "SELECT 'key-' || i FROM n", node=other)
        for i in range(5):
            self.write(f"UPDATE filters SET f = bloom_add(f, 'key-{i}') WHERE name = 'added'",
                       node=(leader, other)[i % 2])
        # An aggregate that each node may run itself.
        self.write("INSERT INTO list " + NUMBERS.format(1, 2000) + "SELECT 'key-' || i FROM n")
        self.write("INSERT INTO filters SELECT 'aggregate', bloom_agg(url) FROM list", node=other)
        self.write("DELETE FROM counted WHERE key = 'key-1000'", node=other)
        for _ in range(2):
            self.write(ROTATE.format(0), node=other)
        self.assert_equal_and_sound()
        self.on_each_node(self.keys_in("plain", 1, 1000), 1000)
        self.on_each_node(self.keys_in("counted", 1, 999), 999)
        self.on_each_node(self.keys_in("aged", 1, 1000), 1000)
        self.on_each_node(f"SELECT {NEWEST}", 1)
        self.on_each_node(self.checked("added", 0, 4), 5)
        self.on_each_node(self.checked("aggregate", 1, 2000), 2000)
        self.on_each_node("SELECT json_array_length(info, '$.layers') > 2 FROM plain", 1)

    def test_no_acknowledged_key_is_lost_when_the_leader_dies(self):
        engine = self.engine
        self.write(*SCHEMA, f"INSERT INTO filters VALUES ('kept', bloom_new({KEPT}))")
        acknowledged, refused, stop = [], [], threading.Event()

        def write_once(first, last):
            node = engine.leader()
            if node is None:
                raise Refused("no leader")
            for table in TABLES:
                engine.write([f"INSERT OR IGNORE INTO {table}(key) VALUES {values(first, last)}"],
                             node)
            engine.write([f"UPDATE filters SET f = bloom_union(f, ({NUMBERS.format(first, last)}"
                          f"SELECT bloom_agg('key-' || i, {KEPT}) FROM n)) WHERE name = 'kept'"],
                         node)

        def work():
            while not stop.is_set():
                first = 20 * len(acknowledged) + 1
                try:
                    write_once(first, first + 19)
                    acknowledged.append(first)
                except Refused:
                    refused.append(first)
                    time.sleep(0.05)

        def more(what):
            done = len(acknowledged)
            wait_for(lambda: len(acknowledged) >= done + 20, what)

        writer = threading.Thread(target=work)
        writer.start()
        try:
            more("writes before the leader dies")
            dead = engine.leader()
            engine.kill(dead)
            # The others answer from what they have.
            for node in {0, 1, 2} - {dead}:
                wait_for(lambda node=node: engine.read(node, self.keys_in("plain", 1, 20))
                         == [(20,)], f"node {node} answers with the leader dead")
            if engine.elects:
                more("writes to the new leader")
                self.assertNotEqual(engine.leader(), dead)
            else:
                time.sleep(1)
            engine.restart(dead)
            more("writes after the old one is back")
        finally:
            stop.set()
            writer.join(60)
        self.assertTrue(refused or engine.client_waits, "the leader's death was not noticed")
        self.assert_equal_and_sound()
        last = 20 * len(acknowledged)
        for table in TABLES:
            self.on_each_node(self.keys_in(table, 1, last), last)
        self.on_each_node(self.checked("kept", 1, last), last)
        print(f"\nfigures: {engine.name}: leader killed: {last} keys acknowledged, all found on"
              f" every node; {len(refused)} attempts refused meanwhile", flush=True)

    def test_a_node_without_the_extension(self):
        self.engine.close()
        self.begin(without_extension=(2,))
        engine = self.engine
        # A node without it must not lead: it could not run the statements.
        if engine.leader() == 2:
            engine.kill(2)
            wait_for(lambda: engine.leader() in (0, 1), "another leader")
            engine.restart(2)
        leader = engine.leader()
        self.write(SCHEMA[0], SCHEMA[1], "INSERT INTO list VALUES ('a'), ('b')", node=leader)
        self.write("INSERT INTO filters SELECT 'a', bloom_agg(url) FROM list", node=leader)
        wait_for(lambda: engine.read(2, "SELECT count(*) FROM list") == [(2,)],
                 "plain tables arrive")
        if engine.replicates_pages:  # the filter is there, only nothing can ask it
            wait_for(lambda: engine.read(2, "SELECT count(*) FROM filters") == [(1,)],
                     "the filter arrives")
        else:  # the statement that failed there is missing, in silence
            time.sleep(1)
            self.assertEqual(engine.read(2, "SELECT count(*) FROM filters"), [(0,)])
        if engine.name == "libSQL":
            with self.assertRaisesRegex(Refused, "no such function: bloom_count"):
                engine.read(2, "SELECT bloom_count(f) FROM filters")


for one in ENGINES:
    globals()[one.name] = type(one.name, (Cluster, unittest.TestCase), {"engine_class": one})

if __name__ == "__main__":
    sys.exit(unittest.main())
