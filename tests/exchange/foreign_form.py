"""The foreign filters in the plainest Python, written from the description of their forms and from
nothing in ext/: hashes, positions, bytes and sizes. Also the golden files, each of which a real
library wrote (its field `library` says which), with the answers of that library.
"""
import json
import math
import pathlib
import re
import struct

import guava_form

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
MASK = 2**64 - 1
MASK32 = 2**32 - 1


def rotate32(word, count):
    return (word << count | word >> (32 - count)) & MASK32


def spark_mix(hashed, word):
    word = rotate32(word * 0xCC9E2D51 & MASK32, 15) * 0x1B873593 & MASK32
    return (rotate32(hashed ^ word, 13) * 5 + 0xE6546B64) & MASK32


def spark_hash(data, seed):
    hashed, whole = seed, len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        hashed = spark_mix(hashed, word)
    for byte in data[whole:]:
        hashed = spark_mix(hashed, (byte - 256 if byte > 127 else byte) & MASK32)
    hashed ^= len(data) & MASK32
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & MASK32
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & MASK32
    return hashed ^ hashed >> 16


def fnv1(data):
    hashed = 0xCBF29CE484222325
    for byte in data:
        hashed = (hashed * 0x100000001B3 & MASK) ^ byte
    return hashed


def xxh64(data, seed=0):
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                          0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
    rotate = guava_form.rotate

    def mixed(lane, word):
        return rotate((lane + word * p2) & MASK, 31) * p1 & MASK

    at = 0
    if len(data) >= 32:
        lanes = [(seed + p1 + p2) & MASK, (seed + p2) & MASK, seed, (seed - p1) & MASK]
        while at + 32 <= len(data):
            words = struct.unpack_from("<4Q", data, at)
            lanes = [mixed(lane, word) for lane, word in zip(lanes, words)]
            at += 32
        hashed = sum(rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            hashed = ((hashed ^ mixed(0, lane)) * p1 + p4) & MASK
    else:
        hashed = (seed + p5) & MASK
    hashed = (hashed + len(data)) & MASK
    while at + 8 <= len(data):
        hashed ^= mixed(0, struct.unpack_from("<Q", data, at)[0])
        hashed = (rotate(hashed, 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(data):
        hashed ^= struct.unpack_from("<I", data, at)[0] * p1 & MASK
        hashed = (rotate(hashed, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        hashed = rotate(hashed ^ byte * p5 & MASK, 11) * p1 & MASK
    hashed = (hashed ^ hashed >> 33) * p2 & MASK
    hashed = (hashed ^ hashed >> 29) * p3 & MASK
    return hashed ^ hashed >> 32


def murmur64a(data, seed):
    m = 0xC6A4A7935BD1E995
    hashed, whole = seed ^ len(data) * m & MASK, len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        word = word * m & MASK
        hashed = ((hashed ^ (word ^ word >> 47) * m & MASK) * m) & MASK
    if len(data) > whole:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * m & MASK
    hashed = (hashed ^ hashed >> 47) * m & MASK
    return hashed ^ hashed >> 47


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def java_text(data):
    """Bytes as Java decodes them from UTF-8: as Python, but an encoded surrogate is one piece."""
    return re.sub(rb"\xed[\xa0-\xbf][\x80-\xbf]?", b"\xff", data).decode("utf-8", "replace")


class Layout:
    """bytes_of(key) is what is hashed, or None for a key that there is not; positions(data, m, k,
    extra) are its bits."""

    def __init__(self, name, bytes_of, positions, size):
        self.name, self.bytes_of, self.positions, self.size = name, bytes_of, positions, size


def text_and_bytes(key):
    return key.encode() if isinstance(key, str) else key if isinstance(key, bytes) else None


def whole(key):
    if isinstance(key, float) and key.is_integer() and -2**63 <= key < 2**63:
        return int(key)
    return key if isinstance(key, int) else None


def spark_bytes(key):
    number = whole(key) if not isinstance(key, (str, bytes)) else None
    return text_and_bytes(key) if number is None else struct.pack("<q", number)


def redis_bytes(key):
    number = whole(key) if not isinstance(key, (str, bytes)) else None
    return text_and_bytes(key) if number is None else str(number).encode()


def parquet_bytes(key):
    if isinstance(key, float):
        return struct.pack("<d", key)
    return struct.pack("<q", key) if isinstance(key, int) else text_and_bytes(key)


def int32_bytes(key):
    number = whole(key) if not isinstance(key, (str, bytes)) else None
    if number is None or not -2**31 <= number < 2**32:
        return None
    return struct.pack("<I", number & MASK32)


def spark1(data, m, k, _):
    first = spark_hash(data, 0)
    second = spark_hash(data, first)
    for i in range(1, k + 1):
        c = signed((first + i * second) & MASK32, 32)
        yield (~c if c < 0 else c) % m


def spark2(data, m, k, seed):
    first = spark_hash(data, seed)
    second = signed(spark_hash(data, first), 32)
    c = signed(first, 32) * 0x7FFFFFFF
    for _ in range(k):
        c = signed((c + second) & MASK, 64)
        yield (~c if c < 0 else c) % m


def dcso(data, m, k, _):
    modulus = 2**64 - 59
    value = fnv1(data) % modulus
    for _ in range(k):
        value = (value * 18446744073709550147 & MASK) % modulus
        yield value % m


def go(data, m, k, _):
    h = [*guava_form.murmur3(data), *guava_form.murmur3(data + b"\1")]
    for i in range(k):
        yield (h[i & 1] + i * h[2 + (((i + (i & 1)) & 3) >> 1)] & MASK) % m


def parquet(data, m, _, __):
    salt = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947,
            0x5C6BFB31)
    hashed = xxh64(data)
    block = (hashed >> 32) * (m // 256) >> 32
    for i, factor in enumerate(salt):
        yield 256 * block + 32 * i + (((hashed & MASK32) * factor & MASK32) >> 27)


def redisbloom(data, m, k, _):
    a = murmur64a(data, 0xC6A4A7935BD1E995)
    b = murmur64a(data, a)
    for i in range(k):
        yield (a + i * b & MASK) % m


def classic_utf16(data, m, k, _):
    first, second = guava_form.murmur3(data)
    for i in range(k):
        yield ((first + i * second) & (2**63 - 1)) % m


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


LAYOUTS = {
    layout.name: layout for layout in (
        Layout("spark1", spark_bytes, spark1, spark_size),
        Layout("spark2", spark_bytes, spark2, spark_size),
        Layout("dcso", text_and_bytes, dcso, dcso_size),
        Layout("go", text_and_bytes, go, go_size),
        Layout("parquet", parquet_bytes, parquet, parquet_size),
        Layout("parquet-int32", int32_bytes, parquet, parquet_size),
        Layout("redisbloom", redis_bytes, redisbloom, redis_size),
        Layout("classic-utf16", lambda key: key.encode("utf-16-le") if isinstance(key, str)
               else None, classic_utf16, None),
    )
}


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
        data = self.layout.bytes_of(key)
        return None if data is None else self.layout.positions(data, self.m, self.k, self.seed)

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
# By layout, the formats that are one form alone; the format named as the layout reads them, too.
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
