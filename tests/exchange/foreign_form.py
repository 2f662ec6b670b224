"""The forms of foreign filters in the plainest Python, and their sizes; which bits a key has, says
pages.py, which was written from ext/FORMAT-layouts.md alone. Also the golden files, each of which a
real library wrote (its field `library` says which), with the answers of that library.
"""
import json
import math
import pathlib
import re
import struct

from guava_form import pages

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
    """bytes_of(key) is what is hashed, or None for a key that there is not; size(n, p) m and k."""

    def __init__(self, name, size):
        self.name, self.size = name, size
        self.hashing = pages.BY_NAME[name][1]
        self.bytes_of = pages.HASHINGS[self.hashing][0]
        self.to_bits = pages.LAYOUTS[pages.BY_NAME[name]][-1]


LAYOUTS = {name: Layout(name, size) for name, size in (
    ("spark1", spark_size), ("spark2", spark_size), ("dcso", dcso_size), ("go", go_size),
    ("parquet", parquet_size), ("parquet-int32", parquet_size), ("redisbloom", redis_size),
    ("classic-utf16", None))}


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

    def write(self, count=0, form=""):
        """The bytes in the usual form, or in another one of FORMS."""
        name, words = self.layout.name, (self.m + 63) // 64
        if name == "spark1":
            return struct.pack(">iii", 1, self.k, words) + self.words(">")
        if name == "spark2":
            return struct.pack(">iiIi", 2, self.k, self.seed, words) + self.words(">")
        if name == "dcso":
            return (struct.pack("<QQdQQQ", 1, self.n, self.p, self.k, self.m, count)
                    + self.words("<"))
        if name == "go":
            order = "<" if form.endswith("little") else ">"
            row = 64 * words if form.startswith("go-words") else self.m
            return (struct.pack(">QQ", self.m, self.k) + struct.pack(order + "Q", row)
                    + self.words(order))
        if name == "classic-utf16":
            return struct.pack(">bBi", 1, self.k, words) + self.words(">")
        if name == "redisbloom":
            per_key = -(math.log(self.p / 2) / 0.480453013918201)
            return struct.pack("<QIIIQQQddIQB", count, 1, 5, 2, self.m // 8, self.m, count,
                               self.p / 2, per_key, self.k, self.n, 0) + bytes(self.bits)
        if form.endswith("bitset"):
            return bytes(self.bits)
        return (b"\x15" + varint(2 * len(self.bits)) + bytes.fromhex("1c1c0000") * 3 + b"\0"
                + bytes(self.bits))


FORMAT_OF = {"spark1": "spark", "spark2": "spark", "classic-utf16": "guava-utf16"}
# By layout, the other forms in which its system writes a filter. The layout's format reads them.
FORMS = {"go": ("go-little", "go-words", "go-words-little"), "parquet": ("parquet-bitset",),
         "parquet-int32": ("parquet-int32-bitset",)}


def key_of(coded):
    ((kind, value),) = coded.items()
    return int(value) if kind in "iu" else bytes.fromhex(value) if kind == "b" else value


def golden():
    """Name, layout, format, bytes, keys that are in, pairs of key and answer for others."""
    for path in sorted(GOLDEN.glob("*.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        layout = path.stem.split("_")[0]
        data = b"".join(bytes.fromhex(part["hex"]) for part in told["files"].values())
        present = [key_of(coded) for coded in told["present"]]
        others = [(key_of(coded), answer) for coded, answer in told["not_inserted"]]
        yield path.stem, layout, FORMAT_OF.get(layout, layout), data, present, others
