#!/usr/bin/env python3
"""A reader of filters that was written from ext/FORMAT.md alone, held against the extension.

What it knows is what the document says; where it errs, the document does. It validates headers,
hashes keys, checks, fills, merges and estimates filters of the layouts that are not of another
system, and asks filter tables by their shadow tables.
"""
import math
import pathlib
import random
import sqlite3
import struct
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
WORD = (1 << 64) - 1


def rotl(x, r):
    return ((x << r) | (x >> (64 - r))) & WORD


def murmur3(key, seed=0):
    """The two words of a key's hash."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def word(i):
        return int.from_bytes(key[i:i + 8], "little")

    def first(w):
        return rotl(w * c1 & WORD, 31) * c2 & WORD

    def second(w):
        return rotl(w * c2 & WORD, 33) * c1 & WORD

    def mix(x):
        x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & WORD
        x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & WORD
        return x ^ x >> 33

    a = b = seed
    whole = len(key) // 16 * 16
    for i in range(0, whole, 16):
        a = ((rotl(a ^ first(word(i)), 27) + b) * 5 + 0x52DCE729) & WORD
        b = ((rotl(b ^ second(word(i + 8)), 31) + a) * 5 + 0x38495AB5) & WORD
    b ^= second(word(whole + 8))
    a ^= first(word(whole))
    a ^= len(key)
    b ^= len(key)
    a = (a + b) & WORD
    b = (b + a) & WORD
    a, b = mix(a), mix(b)
    a = (a + b) & WORD
    return a, (b + a) & WORD


def key_bytes(key):
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes):
        return key
    if isinstance(key, float):
        if not (key.is_integer() and -2 ** 63 <= key <= 2 ** 63 - 1):
            return struct.pack("<d", key)
        key = int(key)
    return struct.pack("<q", key)


class Filter:
    """A filter as bytes; raises ValueError for what a reader must refuse."""

    NAMES = {1: "blocked", 2: "classic", 3: "classic32"}

    def __init__(self, data):
        if len(data) < 64:
            raise ValueError("no header")
        self.header, self.payload = data[:64], bytearray(data[64:])
        magic, version, layout, hashing, zero, k, zero_too, m, n, p, extra, checksum = \
            struct.unpack("<4sBBBBIIQQd16sQ", self.header)
        if (magic != b"\x89BLM" or version != 1 or layout not in self.NAMES or hashing != 1 or zero
                or zero_too or extra != bytes(16) or checksum != murmur3(self.header[:56])[0]):
            raise ValueError("header")
        if not 1 <= k <= (21 if layout == 1 else 255) or not 1 <= m <= 2 ** 52:
            raise ValueError("k or m")
        if m % {1: 512, 2: 1, 3: 64}[layout] or n > 2 ** 40:
            raise ValueError("m or n")
        if self.header[39] & 0x80 or not p < 1:
            raise ValueError("p")
        if len(self.payload) != (m + 7) // 8 or m % 8 and self.payload[-1] >> m % 8:
            raise ValueError("payload")
        self.layout, self.k, self.m, self.n, self.p = self.NAMES[layout], k, m, n, p

    def bits(self, key):
        h = murmur3(key_bytes(key))
        if self.layout == "blocked":
            block = h[0] * (self.m // 512) >> 64
            word = (h[0] * 0x9E3779B97F4A7C15 + 0xB504F333F9DE6485) & WORD
            for i in range(self.k):
                if i in (7, 14):
                    word = (word ^ word >> 32) * 0x9E3779B97F4A7C15 & WORD
                yield 512 * block + (word >> 55 - 9 * (i % 7) & 511)
        elif self.layout == "classic":
            c = h[0]
            for _ in range(self.k):
                yield (c & 0x7FFFFFFFFFFFFFFF) % self.m
                c = (c + h[1]) & WORD
        else:
            a, b = h[0] & 0xFFFFFFFF, h[0] >> 32
            for i in range(1, self.k + 1):
                c = (a + i * b) % 2 ** 32
                yield (2 ** 32 - 1 - c if c >= 2 ** 31 else c) % self.m

    def add(self, key):
        for bit in self.bits(key):
            self.payload[bit >> 3] |= 1 << (bit & 7)

    def __contains__(self, key):
        return all(self.payload[bit >> 3] >> (bit & 7) & 1 for bit in self.bits(key))

    def data(self):
        return self.header + bytes(self.payload)

    def estimate(self):
        """Number of keys (None when every bit is set) and rate."""
        ones = sum(byte.bit_count() for byte in self.payload)
        if self.layout == "blocked":
            blocks = [sum(byte.bit_count() for byte in self.payload[i:i + 64])
                      for i in range(0, len(self.payload), 64)]
            rate = sum((block / 512) ** self.k for block in blocks) / len(blocks)
            share = 1 - (511 / 512) ** self.k
            per_key = math.log1p(-share * 512 / self.m)
        else:
            rate = (ones / self.m) ** self.k
            per_key = -self.k / self.m
        if ones == self.m:
            return None, rate
        return math.floor(math.log1p(-ones / self.m) / per_key + 0.5), rate


KEYS = ["", "a", "hello", "grün", "x" * 1000, b"", b"\0", b"\xff\xfe", b"\0" * 33, 0, 1, -1, 42,
        2 ** 63 - 1, -2 ** 63, 1.0, -0.0, 0.5, 1e300, float("inf"), 9.2e18, -9223372036854775808.0,
        9223372036854775808.0]
SHAPES = ["bloom_new(100, 0.01)", "bloom_new(1, 0.5)", "bloom_new(5000, 1e-6)",
          "bloom_new(0, 0.001)", "bloom_new(300, 1e-9)", "bloom_new(100, 0.01, 'classic')",
          "bloom_new_bits(20, 3)", "bloom_new_bits(1, 1)", "bloom_new_bits(9999, 255)",
          "bloom_import(CAST(x'000700000002' || zeroblob(16) AS BLOB), 'guava')"]


class Reader(unittest.TestCase):
    def setUp(self):
        self.database = sqlite3.connect(":memory:")
        self.addCleanup(self.database.close)
        self.database.enable_load_extension(True)
        self.database.load_extension(str(TOP / "bloom"))
        self.random = random.Random(7)

    def value(self, sql, *arguments):
        return self.database.execute(sql, arguments).fetchone()[0]

    def keys(self, count):
        return KEYS + [self.random.choice((
            lambda: self.random.randbytes(self.random.randrange(40)),
            lambda: self.random.getrandbits(64) - 2 ** 63,
            lambda: self.random.random() * 10 ** self.random.randrange(-5, 20),
            lambda: "k" * self.random.randrange(40) + str(self.random.random())))()
                       for _ in range(count)]

    def test_the_verification_value_is_that_of_murmur3(self):
        hashes = b"".join(struct.pack("<QQ", *murmur3(bytes(range(i)), 256 - i))
                          for i in range(256))
        self.assertEqual(struct.pack("<QQ", *murmur3(hashes))[:4], struct.pack("<I", 0x6384BA69))

    def test_keys_hash_alike(self):
        for key in self.keys(2000):
            self.assertEqual(struct.pack("<QQ", *murmur3(key_bytes(key))),
                             self.value("SELECT bloom_hash(?)", key), key)

    def test_filters_are_read_filled_and_merged_alike(self):
        for shape in SHAPES:
            with self.subTest(shape=shape):
                empty = self.value(f"SELECT CAST({shape} AS BLOB)")
                ours, other = Filter(empty), Filter(empty)
                for key in self.keys(60):
                    ours.add(key)
                theirs = empty
                self.random.seed(7)
                for key in self.keys(60):
                    theirs = self.value("SELECT bloom_add(?, ?)", theirs, key)
                self.random.seed(7)
                self.assertEqual(ours.data(), theirs)
                for key in self.keys(200):
                    self.assertEqual(int(key in ours),
                                     self.value("SELECT bloom_check(?, ?)", theirs, key))
                self.random.seed(7)
                count, rate = ours.estimate()
                self.assertEqual(self.value("SELECT bloom_count(?)", theirs), count)
                self.assertAlmostEqual(self.value("SELECT bloom_fpr(?)", theirs), rate, 12)
                other.add("another")
                both = self.value("SELECT bloom_union(?, ?)", theirs, other.data())
                self.assertEqual(both[64:], bytes(a | b for a, b in
                                                  zip(ours.payload, other.payload)))

    def refused_by_the_extension(self, data):
        try:
            self.value("SELECT bloom_count(?)", data)
        except sqlite3.OperationalError:
            return True
        return False

    def refused_here(self, data):
        try:
            Filter(data)
        except ValueError:
            return True
        return False

    def assert_judged_alike(self, data, what):
        self.assertEqual(self.refused_here(data), self.refused_by_the_extension(data), what)

    def test_headers_are_refused_alike(self):
        """Every bit of a header flipped, its checksum made right again; and values at each edge."""
        judged = [0, 0]
        for shape in ("bloom_new(10, 0.01)", "bloom_new_bits(20, 3)"):
            sound = self.value(f"SELECT {shape}")
            cases = [bytes(byte ^ (1 << bit & 0xFF if i == at else 0)
                           for i, byte in enumerate(sound[:56]))
                     for at in range(7, 56) for bit in range(8)]
            for at, form, values in ((24, "<Q", (0, 1, 2 ** 40, 2 ** 40 + 1, 2 ** 64 - 1)),
                                     (32, "<d", (0.0, -0.0, 5e-324, 0.999, 1.0, -0.5, math.inf,
                                                 -math.inf, math.nan)),
                                     (8, "<I", (0, 1, 21, 22, 255, 256))):
                for value in values:
                    packed = struct.pack(form, value)
                    cases.append(sound[:at] + packed + sound[at + len(packed):56])
            for case in cases:
                data = case + struct.pack("<Q", murmur3(case)[0]) + sound[64:]
                if data[40:56] != bytes(16):
                    continue  # the layout's own bytes: other layouts say
                self.assert_judged_alike(data, data[:64].hex())
                judged[self.refused_here(data)] += 1
            for data in (b"", sound[:63], sound[:-1], sound + b"\0", sound[:56] + bytes(8)):
                self.assert_judged_alike(data, data.hex())
        self.assertGreater(judged[0], 100)
        self.assertGreater(judged[1], 100)

    def test_filter_tables_are_asked_alike(self):
        self.database.execute("CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=0.02)")
        for i in range(1000):
            self.database.execute("INSERT INTO seen(key) VALUES (?)", (f"key-{i}",))
        layers = self.database.execute("SELECT layer, header, chunk_blocks FROM seen_layers "
                                       "ORDER BY layer").fetchall()
        filters = []
        for layer, header, chunk_blocks in layers:
            (bits,) = struct.unpack_from("<Q", header, 16)
            payload = bytearray(bits // 8)
            for number, chunk in self.database.execute(
                    "SELECT id - ?1 * (1 << 40), bits FROM seen_chunks WHERE id >> 40 = ?1",
                    (layer,)):
                self.assertEqual(len(chunk), 64 * chunk_blocks)
                at = number * chunk_blocks * 64
                kept = chunk[:len(payload) - at]
                payload[at:at + len(kept)] = kept
            filters.append(Filter(header + bytes(payload)))
        self.assertGreater(len(filters), 2)
        found = [0, 0]
        for i in range(3000):
            ours = any(f"key-{i}" in one for one in filters)
            theirs = self.value("SELECT count(*) FROM seen WHERE key = ?", f"key-{i}")
            self.assertEqual(int(ours), theirs, i)
            found[ours] += 1
        self.assertGreaterEqual(found[1], 1000)
        self.assertGreater(found[0], 1800)


if __name__ == "__main__":
    unittest.main()
