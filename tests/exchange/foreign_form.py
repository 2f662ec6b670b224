"""The filters of other systems in the plainest Python: how each writes them, how large it makes
them, and which keys it has. Which bits a key has, says pages.py, which was written from
ext/FORMAT-layouts.md alone. Also the golden files, each of which a real library wrote, with the
answers of that library.
"""
import json
import math
import pathlib
import re
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "documentation"))
import pages  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"


def java_text(data):
    """Bytes as Java decodes them from UTF-8: as Python, but an encoded surrogate is one piece."""
    return re.sub(rb"\xed[\xa0-\xbf][\x80-\xbf]?", b"\xff", data).decode("utf-8", "replace")


LN2 = math.log(2)


def classic_bits(n, p):
    return n * -math.log(p) / (LN2 * LN2)


def up(bits, multiple=64):
    return (bits + multiple - 1) // multiple * multiple


def spark_size(n, p):
    bits = int(classic_bits(n, p))
    return up(bits), max(1, math.floor(bits / n * LN2 + 0.5))


def dcso_size(n, p):
    bits = int(classic_bits(n, p))
    return bits, math.ceil(LN2 * bits / n)


def go_size(n, p):
    bits = math.ceil(classic_bits(n, p))
    return bits, math.ceil(LN2 * bits / n)


def redis_size(n, p):
    per_key = -(math.log(p / 2) / 0.480453013918201)
    return up(int(n * per_key)), math.ceil(0.693147180559945 * per_key)


def parquet_size(n, p):
    wanted, bits = min(-8 * n / math.log(1 - p ** (1 / 8)), 2**30), 256
    while bits < int(wanted):
        bits *= 2
    return bits, 8


class Layout:
    """bytes_of(key) is what is hashed, or None for a key that there is not; size(n, p) m and k;
    others are the other forms in which its system writes a filter, which its format reads."""

    def __init__(self, name, format_name, header, size, takes, others=()):
        self.name, self.format, self.header, self.size = name, format_name, header, size
        self.takes, self.forms = takes, ("", *others)
        self.hashing = pages.BY_NAME[name][1]
        self.bytes_of = pages.HASHINGS[self.hashing][0]
        self.to_bits = pages.LAYOUTS[pages.BY_NAME[name]][-1]


# Format, bytes of the header, size, keys in words.
COMMON = "text, BLOBs and whole numbers"
LAYOUTS = {row[0]: Layout(*row) for row in (
    ("classic", "guava", 6, spark_size, None),
    ("classic32", "guava", 6, None, None),
    ("classic-utf16", "guava-utf16", 6, None, "text"),
    ("spark1", "spark", 12, spark_size, COMMON),
    ("spark2", "spark", 16, spark_size, COMMON),
    ("dcso", "dcso", 48, dcso_size, "text and BLOBs"),
    ("go", "go", 24, go_size, "text and BLOBs", ("little", "words", "words little")),
    ("parquet", "parquet", 16, parquet_size, None, ("bitset",)),
    ("parquet-int32", "parquet-int32", 16, parquet_size,
     "whole numbers from -2147483648 to 4294967295", ("bitset",)),
    ("redisbloom", "redisbloom", 73, redis_size, COMMON))}


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


class Filter:
    """A filter of one of these layouts; n and p where its form has them."""

    def __init__(self, layout, m, k, n=0, p=0.0, seed=0):
        self.layout, self.m, self.k, self.n, self.p, self.seed = LAYOUTS[layout], m, k, n, p, seed
        self.bits = bytearray((m + 7) // 8)

    def positions(self, key):
        seed = struct.pack("<I12x", self.seed)
        words = pages.words_of(self.layout.hashing, seed, key)
        return None if words is None else self.layout.to_bits(words, self.m, self.k)

    def add(self, *keys):
        for key in keys:
            for position in self.positions(key):
                self.bits[position >> 3] |= 1 << (position & 7)
        return self

    def check(self, key):
        positions = self.positions(key)
        return positions is not None and all(self.bits[at >> 3] >> (at & 7) & 1
                                             for at in positions)

    def words(self, order):
        row = bytes(self.bits) + bytes(-len(self.bits) % 8)
        return struct.pack(f"{order}{len(row) // 8}Q", *struct.unpack(f"<{len(row) // 8}Q", row))

    def write(self, form=""):
        """The bytes in the usual form, or in another one of the layout's."""
        name, words = self.layout.name, (self.m + 63) // 64
        if name.startswith("classic"):
            return struct.pack(">BBi", name != "classic32", self.k, words) + self.words(">")
        if name == "spark1":
            return struct.pack(">iii", 1, self.k, words) + self.words(">")
        if name == "spark2":
            return struct.pack(">iiIi", 2, self.k, self.seed, words) + self.words(">")
        if name == "dcso":
            return (struct.pack("<QQdQQQ", 1, self.n, self.p, self.k, self.m, 0)
                    + self.words("<"))
        if name == "go":
            order = "<" if form.endswith("little") else ">"
            row = 64 * words if form.startswith("words") else self.m
            return (struct.pack(">QQ", self.m, self.k) + struct.pack(order + "Q", row)
                    + self.words(order))
        if name == "redisbloom":
            per_key = -(math.log(self.p / 2) / 0.480453013918201)
            return struct.pack("<QIIIQQQddIQB", 0, 1, 5, 2, self.m // 8, self.m, 0, self.p / 2,
                               per_key, self.k, self.n, 0) + bytes(self.bits)
        if form == "bitset":
            return bytes(self.bits)
        return (b"\x15" + varint(2 * len(self.bits)) + bytes.fromhex("1c1c0000") * 3 + b"\0"
                + bytes(self.bits))


# Golden files

# Funnel, n, p, strategy. n keys are in the filter.
GUAVA = [("string", 1, 0.5, 64), ("string", 10, 0.01, 64), ("string", 500, 0.03, 64),
         ("string", 1000, 0.001, 64), ("string", 60, 1e-9, 64), ("string", 10, 0.01, 32),
         ("string", 700, 0.02, 32), ("long", 1, 0.5, 64), ("long", 10, 0.01, 64),
         ("long", 1000, 0.1, 64), ("long", 700, 0.0001, 64),
         ("long", 12, 1e-75, 64),  # k = 249
         ("long", 10, 0.01, 32), ("long", 500, 0.03, 32), ("long", 12, 1e-75, 32)]
ABSENT = 1000  # keys that are not in, for each of which Guava's answer is in answers.txt


def guava_keys(funnel, count):
    if funnel == "long":
        keys = [0, 42, -1, 1, 2**63 - 1, -(2**63), 2**53 + 1, 2**32, -(2**31), 255]
        return (keys + [i * i * 7919 + 1000 for i in range(count)])[:count]
    keys = ["", "abc", "http://evil.example/a", "\u00e9", "e\u0301", "\u65e5\u672c\u8a9e",
            "\U0001f600", "a\0b", "0123456789abcdef", "x" * 100]
    return (keys + [f"http://example.com/{i}" for i in range(count)])[:count]


def absent_keys(funnel, count=ABSENT):
    if funnel == "long":
        return [10**15 + 3 * i for i in range(count)]
    return [f"http://absent.example/{i}" for i in range(count)]


def guava_answers():
    """By name, what Guava said of a filter: approximateElementCount, expectedFpp, and its answers
    for the absent keys as a hexadecimal number, the first key highest."""
    lines = (GOLDEN / "answers.txt").read_text(encoding="utf-8").splitlines()
    return {name: (int(count), float(fpp), answers)
            for name, count, fpp, answers in map(str.split, lines)}


def key_of(coded):
    ((kind, value),) = coded.items()
    return int(value) if kind in "iu" else bytes.fromhex(value) if kind == "b" else value


def golden():
    """Name, layout, bytes, keys that are in, pairs of key and answer for others."""
    for path in sorted(GOLDEN.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        data = b"".join(bytes.fromhex(part["hex"]) for part in told["files"].values())
        present = [key_of(coded) for coded in told["present"]]
        others = [(key_of(coded), answer) for coded, answer in told["not_inserted"]]
        yield path.stem, LAYOUTS[path.stem.split("_")[0]], data, present, others
    said = guava_answers()
    for funnel, n, p, strategy in GUAVA:
        name = f"{funnel}_{n}_{p:g}_mitz{strategy}"
        answers = bin(int(said[name][2], 16))[2:].zfill(ABSENT)
        yield (name, LAYOUTS["classic" if strategy == 64 else "classic32"],
               (GOLDEN / f"{name}.guava").read_bytes(), guava_keys(funnel, n),
               list(zip(absent_keys(funnel), map(int, answers))))
