"""The form of Guava's Bloom filters in the plainest Python, and the keys that the golden files
hold. Which bits a key has, says pages.py, which was written from ext/FORMAT-layouts.md alone.
"""

import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "documentation"))
import pages  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"

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


class Filter:
    def __init__(self, strategy, k, words, bits=0):
        self.strategy, self.k, self.words, self.bits = strategy, k, words, bits

    @classmethod
    def read(cls, data):
        strategy, k, words = struct.unpack(">bBi", data[:6])
        bits = int.from_bytes(
            struct.pack(f"<{words}Q", *struct.unpack(f">{words}Q", data[6:])), "little")
        return cls((32, 64)[strategy], k, words, bits)

    def write(self):
        words = struct.unpack(f"<{self.words}Q", self.bits.to_bytes(8 * self.words, "little"))
        return struct.pack(
            f">bBi{self.words}Q", (32, 64).index(self.strategy), self.k, self.words, *words)

    def positions(self, key):
        layout = pages.classic_bits if self.strategy == 64 else pages.classic32_bits
        return layout(pages.words_of(1, b"", key), 64 * self.words, self.k)

    def add(self, *keys):
        for key in keys:
            for position in self.positions(key):
                self.bits |= 1 << position
        return self

    def check(self, key):
        return all(self.bits >> position & 1 for position in self.positions(key))
