#!/usr/bin/env python3
"""Filters in replicated SQLite: three nodes of libSQL server, dqlite and rqlite each.

For each engine: a filter column and filter tables are written through the leader and through
another node, then the leader is killed in the middle of writes and comes back. Reads go on
meanwhile. In the end all nodes are equal to the byte and have every acknowledged key. `make
clusters` runs it.
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
FIRST = 1000  # keys of the tables before the leader is killed
KEPT = 5000  # keys that the filter column is made for
# As clusters/README.md advises: to send one twice forgets no generation too early.
ROTATE = [f"INSERT INTO aged(aged, key) VALUES ('period', {period})" for period in (17, 18, 18)]
NEWEST = "(SELECT json_extract(info, '$.generations[#-1].generation') FROM aged)"


def keys_in(table, first, last):
    return (NUMBERS.format(first, last) + "SELECT count(*) FROM n WHERE "
            f"EXISTS (SELECT 1 FROM {table} WHERE key = 'key-' || i)")


def checked(name, first, last):
    return (NUMBERS.format(first, last) + "SELECT sum(bloom_check((SELECT bloom_pin(f) FROM"
            f" filters WHERE name = '{name}'), 'key-' || i)) FROM n")


class Cluster:
    """The test; a class for each engine below."""

    engine_class = None

    def setUp(self):
        if reason := self.engine_class.missing():
            self.skipTest(f"{reason} ({self.engine_class.name})")
        folder = tempfile.TemporaryDirectory(prefix="bloom-cluster-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.engine = self.engine_class(folder.name)
        self.addCleanup(self.engine.close)
        self.engine.start()

    def write(self, node, *statements):
        """Writes at last: engines refuse for a while after an election."""
        wait_for(lambda: self.engine.write(statements, node) or True,
                 f"{statements[0][:60]} is acknowledged")

    def state(self, node):
        """Every byte of every ordinary table that a node has, shadow tables included."""
        tables = self.engine.read(
            node, "SELECT t.name, group_concat('quote(' || c.name || ')') FROM sqlite_master t,"
            " pragma_table_info(t.name) c WHERE t.type = 'table' AND t.rootpage > 0 GROUP BY t.name"
            " ORDER BY t.name")
        return tables, [self.engine.read(node, f"SELECT {columns} FROM {table} ORDER BY 1")
                        for table, columns in tables]

    def write_through(self, leader, other):
        self.write(leader, *SCHEMA, f"INSERT INTO filters VALUES ('kept', bloom_new({KEPT}))")
        self.write(other, "INSERT INTO filters VALUES ('added', bloom_new(1000, 0.01))")
        for table in TABLES:
            self.write(leader, f"INSERT INTO {table}(key) VALUES ('key-1'), ('key-2')")
            # Growth, in one replicated statement.
            self.write(other, f"INSERT INTO {table}(key) {NUMBERS.format(3, FIRST)}"
                              "SELECT 'key-' || i FROM n")
        for i, node in enumerate((leader, other, leader, other)):
            self.write(node, f"UPDATE filters SET f = bloom_add(f, 'key-{i}')"
                             " WHERE name = 'added'")
        # An aggregate that each node may run itself.
        self.write(other, f"INSERT INTO list {NUMBERS.format(1, 2000)}SELECT 'key-' || i FROM n",
                   "INSERT INTO filters SELECT 'aggregate', bloom_agg(url) FROM list",
                   f"DELETE FROM counted WHERE key = 'key-{FIRST}'", *ROTATE)

    def write_while_the_leader_dies(self):
        """Returns the last key that was acknowledged, and how many attempts were refused."""
        engine, acknowledged, refused, stop = self.engine, [FIRST], [], threading.Event()

        def write_keys(first, last):
            node = engine.leader()
            if node is None:
                raise Refused("no leader")
            keys = NUMBERS.format(first, last) + "SELECT {} FROM n"
            for table in TABLES:
                engine.write([f"INSERT OR IGNORE INTO {table}(key) "
                              + keys.format("'key-' || i")], node)
            agg = keys.format(f"bloom_agg('key-' || i, {KEPT})")
            engine.write([f"UPDATE filters SET f = bloom_union(f, ({agg})) WHERE name = 'kept'"],
                         node)

        def work():
            while not stop.is_set():
                last = acknowledged[-1] + 20
                try:
                    write_keys(last - 19, last)
                    acknowledged.append(last)
                except Refused:
                    refused.append(last)
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
            for node in {0, 1, 2} - {dead}:
                wait_for(lambda node=node: engine.read(node, keys_in("plain", 1, 20)) == [(20,)],
                         f"node {node} answers with the leader dead")
            if engine.elects:
                more("writes to the new leader")
                self.assertNotEqual(engine.leader(), dead)
            else:
                time.sleep(1)
            engine.start_node(dead)
            engine.settle(dead)
            more("writes after the old one is back")
        finally:
            stop.set()
            writer.join(60)
        self.assertTrue(refused or engine.client_waits, "the leader's death was not noticed")
        return acknowledged[-1], len(refused)

    def test_nodes_are_equal_and_have_all_acknowledged_keys(self):
        leader = self.engine.leader()
        self.write_through(leader, (leader + 1) % 3)
        last, refused = self.write_while_the_leader_dies()
        wait_for(lambda: self.state(0) == self.state(1) == self.state(2), "all nodes are equal")
        answers = {
            "SELECT * FROM pragma_integrity_check": "ok",
            **{keys_in(table, 1, FIRST - 1): FIRST - 1 for table in TABLES},
            **{keys_in(table, FIRST + 1, last): last - FIRST for table in TABLES},
            f"SELECT {NEWEST}": 1,
            checked("added", 0, 3): 4,
            checked("aggregate", 1, 2000): 2000,
            checked("kept", FIRST + 1, last): last - FIRST,
            "SELECT json_array_length(info, '$.layers') > 2 FROM plain": 1}
        for node in range(3):
            for sql, answer in answers.items():
                self.assertEqual(self.engine.read(node, sql), [(answer,)], (node, sql))
        print(f"\nfigures: {self.engine.name}: leader killed: {last - FIRST} keys acknowledged, all"
              f" found on every node; {refused} attempts refused meanwhile", flush=True)


for one in ENGINES:
    globals()[one.name] = type(one.name, (Cluster, unittest.TestCase), {"engine_class": one})

if __name__ == "__main__":
    sys.exit(unittest.main())
