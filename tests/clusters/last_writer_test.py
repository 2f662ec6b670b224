#!/usr/bin/env python3
"""Filters under last-writer-wins replication, by simulation.

Nodes write at random moments to their own copies; copies are exchanged at random, the row with the
later stamp wins. In one row that all write keys get lost; with one row for each node none does, in
whatever order copies travel, and in the end all nodes are equal to the byte.
"""
import pathlib
import random
import sqlite3
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
NODES, STEPS, SEEDS = 4, 300, 10


class Node:
    def __init__(self, number):
        self.number = number
        self.database = sqlite3.connect(":memory:")
        self.database.enable_load_extension(True)
        self.database.load_extension(str(TOP / "bloom"))
        self.database.execute("CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB, stamp, node)")

    def add(self, name, key, stamp):
        self.database.execute(
            "INSERT INTO filters VALUES (?1, bloom_add(bloom_new(5000, 0.001), ?2), ?3, ?4) "
            "ON CONFLICT(name) DO UPDATE SET f = bloom_add(f, ?2), stamp = ?3, node = ?4",
            (name, key, stamp, self.number))

    def receive(self, other):
        for row in other.database.execute("SELECT * FROM filters"):
            self.database.execute(
                "INSERT INTO filters VALUES (?, ?, ?, ?) ON CONFLICT(name) DO UPDATE SET "
                "f = excluded.f, stamp = excluded.stamp, node = excluded.node "
                "WHERE (excluded.stamp, excluded.node) > (stamp, node)", row)

    def filter(self, names):
        return self.database.execute("SELECT bloom_union_agg(f) FROM filters WHERE name GLOB ?",
                                     (names,)).fetchone()[0]

    def missing(self, names, keys):
        found = self.filter(names)
        return [key for key in keys if not self.database.execute(
            "SELECT bloom_check(?, ?)", (found, key)).fetchone()[0]]


class LastWriterWins(unittest.TestCase):
    def simulate(self, seed):
        """The nodes after all has been exchanged, and the keys that were added."""
        chance = random.Random(seed)
        nodes = [Node(number) for number in range(NODES)]
        keys = []
        for step in range(STEPS):
            node = chance.choice(nodes)
            if chance.random() < 0.7:
                keys.append(f"key-{step}")
                stamp = step + chance.randrange(-3, 4)  # clocks differ
                node.add("shared", keys[-1], stamp)
                # A node's own row is written by nobody else, so a counter of its own will do.
                node.add(f"own-{node.number}", keys[-1], step)
            else:
                node.receive(chance.choice(nodes))
        for _ in range(NODES):
            for node in nodes:
                for other in nodes:
                    node.receive(other)
        return nodes, keys

    def test_one_shared_row_loses_keys_and_one_row_for_each_node_does_not(self):
        lost = 0
        for seed in range(SEEDS):
            nodes, keys = self.simulate(seed)
            self.assertGreater(len(keys), 150)
            lost += len(nodes[0].missing("shared", keys))
            for node in nodes:
                self.assertEqual(node.missing("own-*", keys), [], f"seed {seed}")
                self.assertEqual(node.filter("own-*"), nodes[0].filter("own-*"))
                self.assertEqual(node.filter("shared"), nodes[0].filter("shared"))
        self.assertGreater(lost, SEEDS * 10)


if __name__ == "__main__":
    unittest.main()
