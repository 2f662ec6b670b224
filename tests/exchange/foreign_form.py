"""The filters of other systems in the plainest Python: how each writes them, how large it makes
them. Which keys it has, and the bits of a key, pages.py says, which was written from
ext/FORMAT-layouts.md alone. Also the golden files, each of which a real library wrote, with the
answers of that library.
"""
import json
import math
import pathlib
import struct
import sys
import typing

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "documentation"))
import pages  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"


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


class Layout(typing.NamedTuple):
    """size(n, p) gives m and k; forms are those in which its system writes a filter, all of which
    its format reads, the usual one first."""
    name: str
    format: str
    header: int
    size: typing.Callable
    takes: str = None
    forms: tuple = ("",)


# Name: format, bytes of the header, size, and the keys in words where not every key is one.
COMMON = "text, BLOBs and whole numbers"
LAYOUTS = {name: Layout(name, *row) for name, row in {
    "classic": ("guava", 6, spark_size),
    "classic32": ("guava", 6, None),
    "classic-utf16": ("guava-utf16", 6, None, "text"),
    "spark1": ("spark", 12, spark_size, COMMON),
    "spark2": ("spark", 16, spark_size, COMMON),
    "dcso": ("dcso", 48, dcso_size, "text and BLOBs"),
    "go": ("go", 24, go_size, "text and BLOBs", ("", "little", "words", "words little")),
    "parquet": ("parquet", 16, parquet_size, None, ("", "bitset")),
    "parquet-int32": ("parquet-int32", 16, parquet_size,
                      "whole numbers from -2147483648 to 4294967295", ("", "bitset")),
    "redisbloom": ("redisbloom", 73, redis_size, COMMON)}.items()}


def bytes_of(layout, key):
    """What is hashed of a key, or None for a key that this layout does not have."""
    return pages.HASHINGS[pages.BY_NAME[layout][1]][0](key)


def empty(layout, m, k, n=0, p=0.0, seed=0):
    return pages.empty(layout, k, m, n, p, struct.pack("<I12x", seed))


def made(layout, n=200, p=0.05, seed=0):
    """An empty filter, of the size that its library gives it."""
    m, k = LAYOUTS[layout].size(n, p) if LAYOUTS[layout].size else (1280, 4)
    return empty(layout, m, k, n, p, seed)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def written(one, form=""):
    """The bytes of a filter in the usual form of its system, or in another one of its forms."""
    name, k, m, n, p = one.layout, one.k, one.m, one.n, one.p
    row = bytes(one.payload) + bytes(-len(one.payload) % 8)
    count = len(row) // 8
    turned = struct.pack(f">{count}Q", *struct.unpack(f"<{count}Q", row))
    if name.startswith("classic"):
        return struct.pack(">BBi", name != "classic32", k, count) + turned
    if name == "spark1":
        return struct.pack(">iii", 1, k, count) + turned
    if name == "spark2":
        return struct.pack(">ii4si", 2, k, one.extra[3::-1], count) + turned
    if name == "dcso":
        return struct.pack("<QQdQQQ", 1, n, p, k, m, 0) + row
    if name == "go":
        length = 64 * count if form.startswith("words") else m
        if form.endswith("little"):
            return struct.pack(">QQ", m, k) + struct.pack("<Q", length) + row
        return struct.pack(">QQQ", m, k, length) + turned
    if name == "redisbloom":
        per_key = -(math.log(p / 2) / 0.480453013918201)
        return struct.pack("<QIIIQQQddIQB", 0, 1, 5, 2, m // 8, m, 0, p / 2, per_key, k, n,
                           0) + one.payload
    if form == "bitset":
        return bytes(one.payload)
    return (b"\x15" + varint(2 * len(one.payload)) + bytes.fromhex("1c1c0000") * 3 + b"\0"
            + one.payload)


def key_of(coded):
    ((kind, value),) = coded.items()
    return int(value) if kind in "iu" else bytes.fromhex(value) if kind == "b" else value


def golden():
    """Of each golden file the name, layout, bytes, keys that are in, pairs of key and answer for
    others, and all that it tells."""
    for path in sorted(GOLDEN.glob("*.json")):
        figures = json.loads(path.read_text(encoding="utf-8"))
        data = b"".join(bytes.fromhex(part["hex"]) for part in figures["files"].values())
        present = [key_of(coded) for coded in figures["present"]]
        others = [(key_of(coded), answer) for coded, answer in figures["not_inserted"]]
        yield path.stem, LAYOUTS[path.stem.split("_")[0]], data, present, others, figures
