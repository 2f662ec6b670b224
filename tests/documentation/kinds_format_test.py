#!/usr/bin/env python3
"""A reader and writer of the layouts counting, fuse and bitmap that was written from ext/FORMAT.md
alone, held against the extension: it makes the same bytes, and finds the same keys in them.
"""
import pathlib
import random
import sqlite3
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from format_test import TOP, WORD, key_bytes, murmur3

GOLDEN_RATIO = 0x9E3779B97F4A7C15


def header(layout, hashing, k, m, n, p, extra):
    """The 64 bytes at the front; n and p None for a filter that has none."""
    data = struct.pack("<4sBBBBIIQQd16s", b"\x89BLM", 1, layout, hashing, 0, k, 0, m, n, p, extra)
    return data + struct.pack("<Q", murmur3(data)[0])


class Counting:
    """Layout 4: counters of four bits, all of them in one integer each."""

    def __init__(self, k, blocks, n, p):
        self.k, self.blocks, self.n, self.p = k, blocks, n, p
        self.counters = [0] * (512 * blocks)

    def probes(self, key):
        v = murmur3(key_bytes(key))[0]
        block = v * self.blocks >> 64
        word = (v * GOLDEN_RATIO + 0xB504F333F9DE6485) & WORD
        for i in range(self.k):
            if i in (7, 14):
                word = (word ^ word >> 32) * GOLDEN_RATIO & WORD
            yield 512 * block + (word >> 55 - 9 * (i % 7) & 511)

    def add(self, key):
        for probe in self.probes(key):
            self.counters[probe] = min(15, self.counters[probe] + 1)

    def __contains__(self, key):
        return all(self.counters[probe] for probe in self.probes(key))

    def remove(self, key):
        if key in self:
            for probe in self.probes(key):
                if 0 < self.counters[probe] < 15:
                    self.counters[probe] -= 1

    def data(self):
        payload = bytes(self.counters[i] | self.counters[i + 1] << 4
                        for i in range(0, len(self.counters), 2))
        return header(4, 1, self.k, 2048 * self.blocks, self.n, self.p, b"") + payload


def mix(word):
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & WORD
    return word ^ word >> 31


class Fuse:
    """Layout 5: reads a filter, or makes one of keys."""

    def __init__(self, data):
        self.n, = struct.unpack_from("<Q", data, 24)
        self.seed, = struct.unpack_from("<Q", data, 40)
        self.w, self.s = data[48], data[49]
        self.segments = int.from_bytes(data[50:56], "little")
        numbers = int.from_bytes(data[64:], "little")
        places = self.segments + 2 << self.s
        self.numbers = [numbers >> self.w * i & (1 << self.w) - 1 for i in range(places)]

    def places(self, h):
        length = 1 << self.s
        first = h * self.segments * length >> 64
        return (first, first + length ^ (h >> 18) % length, first + 2 * length ^ h % length)

    def fingerprint(self, h):
        return (h ^ h >> 32) & (1 << self.w) - 1

    def __contains__(self, key):
        h = mix(murmur3(key_bytes(key))[0] + self.seed & WORD)
        total = self.fingerprint(h)
        for place in self.places(h):
            total ^= self.numbers[place]
        return self.n > 0 and total == 0

    @staticmethod
    def size(n):
        """s and segments for n keys."""
        wanted, s = 0, 5
        if n > 1:
            e = n.bit_length() - 1
            log = (e << 16) + ((n << 16 >> e) & 0xFFFF)
            wanted = n - n // 8 + max(n * 5 * 65536 // log, n // 4)
            s = max(5, min(14 if n < 2 ** 26 else 15, (log * 6 // 10 + 3 * 2 ** 15) // 65536))
        total = -(-wanted // 2 ** s)
        return s, max(1, total - 2)

    @classmethod
    def of(cls, keys, p):
        """The very bytes that the extension makes."""
        words = {murmur3(key_bytes(key))[0] for key in keys}
        n, w = len(words), next(w for w in range(1, 33) if 2.0 ** -w <= p)
        self = cls.__new__(cls)
        self.n, self.w, self.seed = n, w, 0
        self.s, self.segments = self.size(n)
        places = self.segments + 2 << self.s
        self.numbers = [0] * places
        digest, turn = sum(map(mix, words)) & WORD, 0
        peeled = None
        while n > 0 and (peeled is None or len(peeled) < n):
            self.seed = mix(digest + turn & WORD)
            peeled = self.peel(sorted(mix(v + self.seed & WORD) for v in words), places)
            turn += 1
        for h, place in reversed(peeled or []):
            number = self.fingerprint(h)
            for other in self.places(h):
                number ^= self.numbers[other]
            self.numbers[place] = number
        bits = places * w
        payload = sum(number << w * i for i, number in enumerate(self.numbers))
        extra = struct.pack("<QBB", self.seed, w, self.s) + self.segments.to_bytes(6, "little")
        return header(5, 1, 3, bits, n, p, extra) + payload.to_bytes((bits + 7) // 8, "little")

    def peel(self, hashes, places):
        keys_at = [set() for _ in range(places)]
        peeled, loaded, done = [], 0, 0
        buckets = max(0, min(12, len(hashes).bit_length() - 1 - 13))
        for bucket in range(1, 2 ** buckets + 1):
            while loaded < len(hashes) and hashes[loaded] >> 64 - buckets < bucket:
                for place in self.places(hashes[loaded]):
                    keys_at[place].add(hashes[loaded])
                loaded += 1
            complete = bucket * (self.segments << self.s) >> buckets
            if bucket == 2 ** buckets:
                complete = places
            for start in range(done, complete):
                waiting = [start]
                while waiting:
                    place = waiting.pop()
                    if len(keys_at[place]) != 1:
                        continue
                    h, = keys_at[place]
                    peeled.append((h, place))
                    for other in self.places(h):
                        keys_at[other].discard(h)
                        if other < complete and len(keys_at[other]) == 1:
                            waiting.append(other)
            done = complete
        return peeled


def bitmap(numbers, n):
    payload = bytearray((n + 7) // 8)
    for number in numbers:
        payload[number // 8] |= 1 << number % 8
    return header(6, 2, 1, n, n, 0.0, b"") + bytes(payload)


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.database = sqlite3.connect(":memory:")
        cls.database.enable_load_extension(True)
        cls.database.load_extension(str(TOP / "bloom"))
        cls.database.execute("CREATE TABLE keys(key)")

    def ask(self, sql, *arguments):
        return self.database.execute(sql, arguments).fetchone()[0]

    def fill(self, keys):
        self.database.execute("DELETE FROM keys")
        self.database.executemany("INSERT INTO keys VALUES (?)", [(key,) for key in keys])

    def test_counting_after_any_history(self):
        source = random.Random(1)
        for k, blocks, n, p in ((6, 1, 10, 0.01), (6, 2, 100, 0.01), (16, 1, 1, 1e-6)):
            empty = self.ask("SELECT bloom_new(?, ?, 'counting')", n, p)
            own = Counting(k, blocks, n, p)
            self.assertEqual(empty, own.data())
            theirs, keys = empty, ["", "a", "hello", 1, 2.5, b"\0"] + list(range(100, 130))
            for _ in range(600):
                key = source.choice(keys[:source.randrange(1, len(keys) + 1)])
                if source.random() < 0.6:
                    own.add(key)
                    theirs = self.ask("SELECT bloom_add(?, ?)", theirs, key)
                else:
                    own.remove(key)
                    theirs = self.ask("SELECT bloom_remove(?, ?)", theirs, key)
            self.assertEqual(theirs, own.data())
            self.assertIn(15, own.counters)
            for key in keys:
                self.assertEqual(self.ask("SELECT bloom_check(?, ?)", theirs, key), key in own)

    def test_fuse_of_any_set(self):
        for count, p in ((0, 0.1), (1, 0.5), (2, 0.01), (3, 0.25), (60, 1e-9), (1000, 0.004),
                         (20000, 0.1)):
            keys = list(range(count))
            self.fill(keys + keys[:10] + [None])
            theirs = self.ask("SELECT bloom_agg(key, NULL, ?, 'fuse') FROM keys", p)
            self.assertEqual(theirs, Fuse.of(keys, p), count)
            read = Fuse(theirs)
            for key in list(range(-200, 0)) + keys[:200]:
                self.assertEqual(self.ask("SELECT bloom_check(?, ?)", theirs, key), key in read)
            self.assertTrue(all(key in read for key in keys))

    def test_bitmap_of_any_numbers(self):
        source = random.Random(2)
        for n in (1, 2, 7, 8, 9, 64, 65, 1000):
            numbers = {source.randrange(n) for _ in range(n // 2)}
            self.fill(numbers)
            self.assertEqual(self.ask("SELECT bloom_agg(key, ?, NULL, 'bitmap') FROM keys", n)
                             or bitmap((), n), bitmap(numbers, n))
            if numbers:
                self.assertEqual(self.ask("SELECT bloom_agg(key, NULL, NULL, 'bitmap') FROM keys"),
                                 bitmap(numbers, max(numbers) + 1))

    def test_bloom_keys_leaves_nothing_to_filter_or_sort(self):
        for end in ("WHERE key > 5 ORDER BY key", "WHERE key BETWEEN 3 AND 9 ORDER BY key DESC",
                    "WHERE key = 7", "WHERE key < 5 AND key >= 2", "ORDER BY key"):
            sql = f"SELECT key FROM bloom_keys(bloom_new(20, NULL, 'bitmap')) {end}"
            plan = " ".join(row[3] for row in self.database.execute("EXPLAIN QUERY PLAN " + sql))
            self.assertNotIn("B-TREE", plan)
            codes = [row[1] for row in self.database.execute("EXPLAIN " + sql)]
            self.assertIn("VFilter", codes)
            for code in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "SorterOpen"):
                self.assertNotIn(code, codes, end)


if __name__ == "__main__":
    unittest.main()
