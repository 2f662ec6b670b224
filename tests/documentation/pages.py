"""Readers of filters and filter tables in the plainest Python, written from ext/FORMAT.md,
FORMAT-layouts.md and FORMAT-tables.md alone. So if they err, the pages do. format_test.py compares
them with the extension, and the tests of exchange compare them with other systems.
"""
import math
import pathlib
import re
import struct
from fractions import Fraction

WORD, HALF = 2**64 - 1, 2**32 - 1
# The rows of the table of sizes in FORMAT.md: k, and the bits per key at both ends.
SIZES = [(int(k), *ends) for k, line in re.findall(r"^(\d+): ((?:\d+\s+)+)", (
    pathlib.Path(__file__).parents[2] / "ext/FORMAT.md").read_text("utf-8"), re.MULTILINE)
         for ends in zip(map(int, line.split()), map(int, line.split()[1:]))]


class Refused(Exception):
    """What a reader must refuse, by a numbered rule of FORMAT.md or of a layout's section (0)."""

    def __init__(self, rule):
        super().__init__(rule)
        self.rule = rule


# --- Hashes ---

def rotl(x, r):
    return (x << r | x >> 64 - r) & WORD


def rotl32(x, r):
    return (x << r | x >> 32 - r) & HALF


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 else value


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


def siphash(key, salt):
    k0, k1 = struct.unpack("<QQ", salt)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    words = [*struct.unpack_from(f"<{len(key) // 8}Q", key),
             int.from_bytes(key[len(key) // 8 * 8:], "little") + (len(key) % 256 << 56)]
    for word in [*words, None]:
        if word is None:
            v2 ^= 0xFF
        else:
            v3 ^= word
        for _ in range(4 if word is None else 2):
            v0 = (v0 + v1) & WORD
            v1, v0 = rotl(v1, 13) ^ v0, rotl(v0, 32)
            v2 = (v2 + v3) & WORD
            v3 = rotl(v3, 16) ^ v2
            v0 = (v0 + v3) & WORD
            v3 = rotl(v3, 21) ^ v0
            v2 = (v2 + v1) & WORD
            v1, v2 = rotl(v1, 17) ^ v2, rotl(v2, 32)
        if word is not None:
            v0 ^= word
    return v0 ^ v1 ^ v2 ^ v3


def spark_hash(key, seed):
    def mix32(h, w):
        w = rotl32(w * 0xCC9E2D51 & HALF, 15) * 0x1B873593 & HALF
        return (rotl32(h ^ w, 13) * 5 + 0xE6546B64) & HALF

    h, whole = seed, len(key) // 4 * 4
    for word, in struct.iter_unpack("<I", key[:whole]):
        h = mix32(h, word)
    for byte in key[whole:]:
        h = mix32(h, signed(byte, 8) & HALF)
    h ^= len(key)
    h = (h ^ h >> 16) * 0x85EBCA6B & HALF
    h = (h ^ h >> 13) * 0xC2B2AE35 & HALF
    return h ^ h >> 16


def fnv1(key):
    v = 0xCBF29CE484222325
    for byte in key:
        v = v * 0x100000001B3 & WORD ^ byte
    return v


def xxh64(key):
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                          0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)

    def lane(x, w):
        return rotl((x + w * p2) & WORD, 31) * p1 & WORD

    v, at = p5, len(key) // 32 * 32
    if at > 0:
        lanes = [(p1 + p2) & WORD, p2, 0, -p1 & WORD]
        for words in struct.iter_unpack("<4Q", key[:at]):
            lanes = [lane(x, w) for x, w in zip(lanes, words)]
        v = sum(rotl(x, r) for x, r in zip(lanes, (1, 7, 12, 18))) & WORD
        for x in lanes:
            v = ((v ^ lane(0, x)) * p1 + p4) & WORD
    v = (v + len(key)) & WORD
    for at in range(at, len(key) - 7, 8):
        v = (rotl(v ^ lane(0, int.from_bytes(key[at:at + 8], "little")), 27) * p1 + p4) & WORD
    left = key[len(key) // 8 * 8:]
    if len(left) >= 4:
        v = (rotl(v ^ int.from_bytes(left[:4], "little") * p1 & WORD, 23) * p2 + p3) & WORD
        left = left[4:]
    for byte in left:
        v = rotl(v ^ byte * p5 & WORD, 11) * p1 & WORD
    v = (v ^ v >> 33) * p2 & WORD
    v = (v ^ v >> 29) * p3 & WORD
    return v ^ v >> 32


def murmur64a(key, seed):
    m, whole = 0xC6A4A7935BD1E995, len(key) // 8 * 8
    h = seed ^ len(key) * m & WORD
    for w, in struct.iter_unpack("<Q", key[:whole]):
        w = w * m & WORD
        h = (h ^ (w ^ w >> 47) * m & WORD) * m & WORD
    if key[whole:]:
        h = (h ^ int.from_bytes(key[whole:], "little")) * m & WORD
    h = (h ^ h >> 47) * m & WORD
    return h ^ h >> 47


# --- From keys to words: None for a key that a hashing has not ---

def whole_number(key):
    if isinstance(key, float) and key.is_integer() and -2**63 <= key <= 2**63 - 1:
        return int(key)
    return key if isinstance(key, int) else None


def plain_bytes(key):
    """As in FORMAT.md."""
    if isinstance(key, (str, bytes)):
        return key.encode() if isinstance(key, str) else key
    number = whole_number(key)
    return struct.pack("<d", key) if number is None else struct.pack("<q", number)


def utf16_bytes(key):
    if isinstance(key, bytes):
        return None
    return key.encode("utf-16-le") if isinstance(key, str) else None


def text_and_bytes(key):
    return plain_bytes(key) if isinstance(key, (str, bytes)) else None


def spark_bytes(key):
    number = whole_number(key)
    return text_and_bytes(key) if number is None else struct.pack("<q", number)


def parquet_bytes(key):
    return struct.pack("<d", key) if isinstance(key, float) else plain_bytes(key)


def int32_bytes(key):
    number = whole_number(key)
    known = number is not None and -2**31 <= number < 2**32
    return struct.pack("<I", number & HALF) if known else None


def redis_bytes(key):
    number = whole_number(key)
    return text_and_bytes(key) if number is None else str(number).encode()


def spark_words(data, extra):
    first = spark_hash(data, int.from_bytes(extra[:4], "little"))
    return first, spark_hash(data, first)


def redis_words(data, _):
    a = murmur64a(data, 0xC6A4A7935BD1E995)
    return a, murmur64a(data, a)


# Number: bytes of a key, words of these and of the seed: bytes 40 to 55 of the header, or the salt.
HASHINGS = {
    1: (plain_bytes, lambda data, _: murmur3(data)),
    2: (whole_number, lambda number, _: (number,)),
    3: (utf16_bytes, lambda data, _: murmur3(data)),
    4: (spark_bytes, spark_words),
    5: (text_and_bytes, lambda data, _: (fnv1(data),)),
    6: (text_and_bytes, lambda data, _: (*murmur3(data), *murmur3(data + b"\1"))),
    7: (parquet_bytes, lambda data, _: (xxh64(data),)),
    8: (int32_bytes, lambda data, _: (xxh64(data),)),
    9: (redis_bytes, redis_words),
    10: (plain_bytes, lambda data, salt: (siphash(data, salt),))}


def words_of(hashing, seed, key):
    to_bytes, to_words = HASHINGS[hashing]
    data = to_bytes(key)
    return None if data is None else to_words(data, seed)


# --- From words to bits ---

def blocked_bits(h, m, k):
    block = h[0] * (m // 512) >> 64
    word = (h[0] * 0x9E3779B97F4A7C15 + 0xB504F333F9DE6485) & WORD
    for i in range(k):
        if i in (7, 14):
            word = (word ^ word >> 32) * 0x9E3779B97F4A7C15 & WORD
        yield 512 * block + (word >> 55 - 9 * (i % 7) & 511)


def classic_bits(h, m, k):
    for i in range(k):
        yield (h[0] + i * h[1] & 2**63 - 1) % m


def classic32_bits(h, m, k):
    return spark1_bits((h[0] & HALF, h[0] >> 32), m, k)


def spark1_bits(h, m, k):
    for i in range(1, k + 1):
        c = signed(h[0] + i * h[1] & HALF, 32)
        yield (~c if c < 0 else c) % m


def spark2_bits(h, m, k):
    c = signed(h[0], 32) * 0x7FFFFFFF
    for _ in range(k):
        c = signed(c + signed(h[1], 32) & WORD, 64)
        yield (~c if c < 0 else c) % m


def dcso_bits(h, m, k):
    modulus = 2**64 - 59
    c = h[0] % modulus
    for _ in range(k):
        c = (c * (2**64 - 1469) & WORD) % modulus
        yield c % m


def go_bits(h, m, k):
    for i in range(k):
        yield (h[i % 2] + i * h[(2, 3, 3, 2)[i % 4]] & WORD) % m


def parquet_bits(h, m, _):
    salts = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947,
             0x5C6BFB31)
    block = (h[0] >> 32) * (m // 256) >> 32
    for i, salt in enumerate(salts):
        yield 256 * block + 32 * i + ((h[0] * salt & HALF) >> 27)


def redisbloom_bits(h, m, k):
    for i in range(k):
        yield (h[0] + i * h[1] & WORD) % m


def mix(x):
    """For the places of a key in layout fuse."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


def bitmap_bits(h, m, _):
    if 0 <= h[0] < m:
        yield h[0]


FOREIGN = 65535  # k of the layouts whose k has no narrower bound
# Layout, hashing: name, most k, most bits, multiple of m, bits.
LAYOUTS = {
    (1, 1): ("blocked", 21, 2**52, 512, blocked_bits),
    (2, 1): ("classic", 255, 2**52, 1, classic_bits),
    (2, 3): ("classic-utf16", 255, 2**52, 1, classic_bits),
    (3, 1): ("classic32", 255, 2**52, 64, classic32_bits),
    (4, 1): ("counting", 21, 2**52, 2048, lambda h, m, k: blocked_bits(h, m // 4, k)),
    (5, 1): ("fuse", 3, 2**52, 1, None),
    (6, 2): ("bitmap", 1, 2**40, 1, bitmap_bits),
    (7, 4): ("spark1", FOREIGN, 2**37 - 64, 64, spark1_bits),
    (8, 4): ("spark2", FOREIGN, 2**37 - 64, 64, spark2_bits),
    (9, 5): ("dcso", FOREIGN, 2**52, 1, dcso_bits),
    (10, 6): ("bits-and-blooms", FOREIGN, 2**52, 1, go_bits),
    (11, 7): ("parquet", 8, 2**40, 256, parquet_bits),
    (11, 8): ("parquet-int32", 8, 2**40, 256, parquet_bits),
    (12, 9): ("redisbloom", FOREIGN, 2**52, 64, redisbloom_bits)}
SALTED = (1, 4, 5)
BY_NAME = {row[0]: numbers for numbers, row in LAYOUTS.items()}
IMPORTED = {"classic32"}  # and never made


# --- Filters ---

def header(layout, hashing, k, m, n=0, p=0.0, extra=b"", rule=0, salt=b""):
    """The header of a filter, as bytes."""
    data = struct.pack("<4s4BIB3xQQd16s", b"\x89BLM", 1, layout, hashing, 1 if salt else 0, k, rule,
                       m, n, p, extra)
    line = salt + bytes(48) if salt else b""
    return data + struct.pack("<Q", murmur3(data + line)[0]) + line


def resealed(data, at=0, value=b""):
    """A filter with other bytes at a place of its header, and the checksum right."""
    data = bytearray(data)
    data[at:at + len(value)] = value
    lines = 64 * (1 + min(data[7], 1))
    data[56:64] = struct.pack("<Q", murmur3(bytes(data[:56] + data[64:lines]))[0])
    return bytes(data)


class Filter:
    """A filter as bytes; raises Refused for what a reader must refuse."""

    def __init__(self, data):
        self.read_header(data)
        self.payload = bytearray(data[len(self.header):])
        if (len(self.payload) != (self.m + 7) // 8
                or self.m % 8 and self.payload[-1] >> self.m % 8):
            raise Refused(12)

    def read_header(self, data):
        def need(rule, holds):
            if not holds:
                raise Refused(rule)

        need(1, data[:4] == b"\x89BLM")
        need(2, data[4:5] in (b"", b"\1"))
        need(3, data[7:8] <= b"\1" and len(data) >= 64 * (1 + (data[7:8] == b"\1")))
        self.header = bytes(data[:64 * (1 + data[7])])
        (self.number, self.hashing, lines, self.k, self.rule, self.m, self.n, self.p,
         self.extra, checksum) = struct.unpack_from("<5x3BIB3xQQd16sQ", data)
        need(4, checksum == murmur3(self.header[:56] + self.header[64:])[0])
        salted = self.hashing == 10
        key = self.number, 1 if salted else self.hashing
        need(5, key in LAYOUTS and (not salted or self.number in SALTED))
        self.layout, most_k, most_m, multiple, self.to_bits = LAYOUTS[key]
        need(6, salted == (lines == 1))
        need(7, self.rule in (0, 1, 2, 3) and (self.rule == 0 or self.number in SALTED))
        spare = data[13:16] + (data[80:128] if salted else b"")
        if self.layout == "redisbloom":
            spare += data[45:48] + bytes([data[44] >> 1])
        elif self.layout == "spark2":
            spare += data[44:56]
        elif self.layout != "fuse":
            spare += self.extra
        need(8, not any(spare))
        if most_k == FOREIGN:
            most_k = min(FOREIGN, max(255, self.m))
        need(9, 1 <= self.k <= most_k and (self.k == most_k or most_k not in (3, 8)))
        need(10, 1 <= self.m <= most_m and self.m % multiple == 0)
        need(11, self.n <= 2**40 and not data[39] & 0x80 and self.p < 1)
        self.seed = data[64:80] if salted else self.extra
        if self.layout == "bitmap":
            need(0, self.n == self.m and self.p == 0)
        if self.layout == "fuse":
            self.fuse_seed, self.w, self.s = struct.unpack_from("<QBB", data, 40)
            self.segments = int.from_bytes(data[50:56], "little")
            numbers = self.segments + 2 << min(self.s, 64)
            need(0, 1 <= self.w <= 32 and 5 <= self.s <= 31 and self.segments >= 1
                 and numbers < 2**32 and self.m == numbers * self.w)

    def bits(self, key):
        """The bits of a key, counters of counting; None for a key that there is not."""
        words = words_of(self.hashing, self.seed, key)
        return None if words is None else list(self.to_bits(words, self.m, self.k))

    def counter(self, probe):
        at = probe // 512 * 256 + (probe % 512 >> 1)
        return at, 4 * (probe % 2), self.payload[at] >> 4 * (probe % 2) & 15

    def add(self, *keys):
        for key in keys:
            for bit in self.bits(key):
                if self.layout == "counting":
                    self.count(bit, 1)
                else:
                    self.payload[bit >> 3] |= 1 << (bit & 7)
        return self

    def count(self, probe, by):
        at, shift, value = self.counter(probe)
        if 0 <= value + by <= 15 and (by > 0 or value < 15):
            self.payload[at] += by << shift

    def remove(self, key):
        if key in self:
            for probe in self.bits(key):
                self.count(probe, -1)

    def __contains__(self, key):
        if self.layout == "fuse":
            return self.n > 0 and self.is_in_fuse(self.words(key))
        bits = self.bits(key)
        if self.hashing == 7 and self.words(key) in map(self.words, (0.0, -0.0)):
            return any(all(map(self.is_set, self.bits(zero))) for zero in (0.0, -0.0))
        return bool(bits) and all(map(self.is_set, bits))

    def is_set(self, bit):
        if self.layout == "counting":
            return self.counter(bit)[2] > 0
        return self.payload[bit >> 3] >> (bit & 7) & 1

    def is_in_fuse(self, words):
        x, size = mix(words[0] + self.fuse_seed & WORD), 1 << self.s
        first = x * self.segments * size >> 64
        places = first, first + size ^ (x >> 18) % size, first + 2 * size ^ x % size
        numbers, total = int.from_bytes(self.payload, "little"), x ^ x >> 32
        for place in places:
            total ^= numbers >> place * self.w
        return total % (1 << self.w) == 0

    def words(self, key):
        return words_of(self.hashing, self.seed, key)

    def data(self):
        return self.header + bytes(self.payload)

    def estimate(self):
        """Number of keys (None when it is infinite) and rate."""
        if self.layout == "fuse":
            return self.n, 2.0**-self.w if self.n else 0.0
        payload, m = self.payload, self.m
        if self.layout == "counting":
            bits = sum(1 << i for i in range(m // 4) if self.counter(i)[2])
            payload, m = bits.to_bytes(m // 32, "little"), m // 4
        ones = sum(byte.bit_count() for byte in payload)
        if self.layout == "bitmap":
            return ones, 0.0
        if self.layout in ("blocked", "counting"):
            fill = [sum(byte.bit_count() for byte in payload[i:i + 64]) / 512
                    for i in range(0, len(payload), 64)]
            rate = sum(share**self.k for share in fill) / len(fill)
            per_key = math.log1p(-(1 - (511 / 512)**self.k) * 512 / m)
        elif self.number == 11:
            fill = [math.prod(word.bit_count() / 32 for word in words)
                    for words in struct.iter_unpack("<8I", payload)]
            rate, per_key = sum(fill) / len(fill), math.log1p(-8 / m)
        else:
            rate, per_key = (ones / m)**self.k, -self.k / m
        if ones == m:
            return None, rate
        return math.floor(math.log1p(-ones / m) / per_key + 0.5), rate


def empty(layout, k, m, n=0, p=0.0, extra=b"", salt=b"", rule=0):
    number, hashing = BY_NAME[layout]
    return Filter(header(number, 10 if salt else hashing, k, m, n, p, extra, rule, salt)
                  + bytes((m + 7) // 8))


# --- Filter tables ---

def size(n, p):
    """k and the number of blocks that FORMAT.md gives for n keys at rate p."""
    f = min(int(Fraction(p) * 2**64) - n, 7 * 2**61 - 1)
    o = f.bit_length() - 1
    w = f - 2**o
    k, lower, upper = SIZES[8 * (o - 34) + (8 * w >> o)]
    bits = lower - ((lower - upper) * ((w << 19 >> o) % 2**16) >> 16)
    return k, -(-n * bits >> 25)


GROWTH_ON, GROWTH_OFF = 0, 1


class Layer:
    """Layer i of a table: its k, blocks and chunks."""

    def __init__(self, table, i):
        parts = 10 * table.ring
        n = table.capacity if i == 0 else min(table.capacity * 2**i, 2**40)
        p = (max(table.fpr / parts / 2**i, 1e-9 + n / 2**63) if i > 0 else
             table.fpr * 9 / parts if table.growth == GROWTH_ON else
             table.fpr if table.ring == 1 else table.fpr * 10 / parts)
        self.k, self.blocks = size(n, p)
        self.chunks = -(-self.blocks // table.most_blocks)
        if i == 0 and table.growth != GROWTH_OFF and self.chunks > 1:
            q = max(n // self.chunks, 1)
            n = min(n + (n * math.isqrt(49 * 2**30 // q) >> 16), 2**40)
            self.k, self.blocks = size(n, p)
            self.chunks = -(-self.blocks // table.most_blocks)

    def chunk_of(self, block):
        """The number of its chunk, and of the first block of this."""
        shorter, longer = divmod(self.blocks, self.chunks)
        c = block // (shorter + 1)
        if c >= longer:
            c = (block - longer) // shorter
        return c, c * shorter + min(c, longer)


class Table:
    """A reader of a filter table: of its rows, which are ids and values. memory is a connection of
    Python's sqlite3, which applies affinities."""

    def __init__(self, rows, memory):
        self.rows, self.memory = rows, memory
        self.judge_row_0(rows[0])
        (layout, self.hashing, affinity, self.growth, self.ring, self.most_blocks, self.capacity,
         self.fpr, self.seed, self.newest) = struct.unpack_from("<5x2Bx3BxIQd16sI", rows[0])
        self.width = {1: 1, 4: 4}[layout]  # bits of a place
        self.affinity = ("", "BLOB", "TEXT", "NUMERIC", "INTEGER", "REAL")[affinity]

    @staticmethod
    def judge_row_0(row):
        """Raises Refused with the number of the rule; rules 5 and 6 only for layout and hashing."""
        for rule, holds in ((1, len(row) < 4 or row[:4] == b"\x89BLT"),
                            (2, len(row) < 5 or row[4] == 1), (3, len(row) == 72),
                            (4, row[64:72] == struct.pack("<Q", murmur3(row[:64])[0])),
                            (5, len(row) == 72 and row[5] in (1, 4) and row[6] in (1, 10))):
            if not holds:
                raise Refused(rule)

    def stored(self, key):
        """The key as a column of the table's affinity compares it."""
        if self.affinity == "REAL" and isinstance(key, int) or not self.affinity:
            return key
        self.memory.execute(f"CREATE TEMP TABLE IF NOT EXISTS {self.affinity}_a(k {self.affinity})")
        self.memory.execute(f"DELETE FROM {self.affinity}_a")
        self.memory.execute(f"INSERT INTO {self.affinity}_a VALUES (?)", (key,))
        return self.memory.execute(f"SELECT k FROM {self.affinity}_a").fetchone()[0]

    def __contains__(self, key):
        h = words_of(self.hashing, self.seed, self.stored(key))
        return any(self.is_in(generation, h) for generation in
                   range(self.newest, max(self.newest - self.ring, -1), -1))

    def is_in(self, generation, h):
        for i in range(41):
            layer = Layer(self, i)
            bits = list(blocked_bits(h, 512 * layer.blocks, layer.k))
            c, first = layer.chunk_of(bits[0] // 512)
            row = self.rows.get((64 * (generation % self.ring) + i) * 2**40 + 1 + c)
            if row is None or struct.unpack_from("<I", row, 8)[0] != generation:
                return False
            blocks = int.from_bytes(row[16:], "little")
            places = [(bit - 512 * first) * self.width for bit in bits]
            if all(blocks >> place & (1 << self.width) - 1 for place in places):
                return True
            if row[12:16] == b"\x55" * 4:
                return False
        return False
