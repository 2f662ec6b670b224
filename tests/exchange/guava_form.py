"""Guava's Bloom filters in the plainest Python, written from the description of their form and from
nothing in ext/; and the keys that the golden files hold.
"""

import pathlib
import struct

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
MASK = 2**64 - 1

# Funnel, n, p, strategy. n keys are in the filter.
SETS = [
    ("string", 1, 0.5, 64),
    ("string", 10, 0.01, 64),
    ("string", 500, 0.03, 64),
    ("string", 1000, 0.001, 64),
    ("string", 60, 1e-9, 64),
    ("string", 10, 0.01, 32),
    ("string", 700, 0.02, 32),
    ("long", 1, 0.5, 64),
    ("long", 10, 0.01, 64),
    ("long", 1000, 0.1, 64),
    ("long", 700, 0.0001, 64),
    ("long", 12, 1e-75, 64),  # k = 249
    ("long", 10, 0.01, 32),
    ("long", 500, 0.03, 32),
    ("long", 12, 1e-75, 32),
]
ABSENT = 1000  # keys that are not in, for each of which Guava's answer is in answers.txt


def name(funnel, n, p, strategy):
    return f"{funnel}_{n}_{p:g}_mitz{strategy}"


def present(funnel, count):
    if funnel == "string":
        keys = ["", "abc", "http://evil.example/a", "\u00e9", "e\u0301", "\u65e5\u672c\u8a9e", "\U0001f600", "a\0b", "0123456789abcdef", "x" * 100]
        return (keys + [f"http://example.com/{i}" for i in range(count)])[:count]
    keys = [0, 42, -1, 1, 2**63 - 1, -(2**63), 2**53 + 1, 2**32, -(2**31), 255]
    return (keys + [i * i * 7919 + 1000 for i in range(count)])[:count]


def absent(funnel, count=ABSENT):
    return [f"http://absent.example/{i}" for i in range(count)] if funnel == "string" else [10**15 + 3 * i for i in range(count)]


def rotate(word, count):
    return (word << count | word >> (64 - count)) & MASK


def finalize(word):
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return word ^ word >> 33


def murmur3(data):
    """MurmurHash3 x64 128, seed 0: its two words."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for k1, k2 in struct.iter_unpack("<QQ", data[:whole]):
        h1 ^= rotate(k1 * c1 & MASK, 31) * c2 & MASK
        h1 = ((rotate(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        h2 ^= rotate(k2 * c2 & MASK, 33) * c1 & MASK
        h2 = ((rotate(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    k1, k2 = struct.unpack("<QQ", data[whole:].ljust(16, b"\0"))
    h2 ^= rotate(k2 * c2 & MASK, 33) * c1 & MASK
    h1 ^= rotate(k1 * c1 & MASK, 31) * c2 & MASK
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    h1, h2 = finalize(h1), finalize(h2)
    h1 = (h1 + h2) & MASK
    return h1, (h2 + h1) & MASK


def hashed(key):
    if isinstance(key, int):
        return murmur3(struct.pack("<q", key))
    return murmur3(key.encode() if isinstance(key, str) else key)


class Filter:
    def __init__(self, strategy, k, words, bits=0):
        self.strategy, self.k, self.words, self.bits = strategy, k, words, bits

    @classmethod
    def read(cls, data):
        strategy, k, words = struct.unpack(">bBi", data[:6])
        bits = int.from_bytes(
            struct.pack(f"<{words}Q", *struct.unpack(f">{words}Q", data[6:])), "little"
        )
        return cls((32, 64)[strategy], k, words, bits)

    def write(self):
        words = struct.unpack(f"<{self.words}Q", self.bits.to_bytes(8 * self.words, "little"))
        return struct.pack(
            f">bBi{self.words}Q", (32, 64).index(self.strategy), self.k, self.words, *words
        )

    def positions(self, key):
        first, second = hashed(key)
        if self.strategy == 64:
            for i in range(self.k):
                yield ((first + i * second) & (2**63 - 1)) % (64 * self.words)
        else:
            low, high = first & (2**32 - 1), first >> 32
            for i in range(1, self.k + 1):
                combined = (low + i * high) & (2**32 - 1)
                yield (combined if combined < 2**31 else 2**32 - 1 - combined) % (64 * self.words)

    def add(self, *keys):
        for key in keys:
            for position in self.positions(key):
                self.bits |= 1 << position
        return self

    def check(self, key):
        return all(self.bits >> position & 1 for position in self.positions(key))
