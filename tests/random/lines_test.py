#!/usr/bin/env python3
"""bloom_lines and bloom_integers against Python's bytes.splitlines and struct, over random bytes.
SEED chooses the run."""
import itertools
import os
import pathlib
import random
import struct
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/runner"))
from extended import connect, rows  # noqa: E402

SEED = int(os.environ.get("SEED", "1"))
MARK = b"\xef\xbb\xbf"
PARTS = [b"\n", b"\r", b"\r\n", b"a", b"bc", b"\0", b" ", MARK, "\u00fc\U0001f600".encode(),
         b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"word " * 5, b"x" * 127, b"y" * 128]


def as_value(line):
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line


def lines_of(data):
    data = data.removeprefix(MARK)
    return [(number, as_value(line)) for number, line in enumerate(data.splitlines(), 1) if line]


class Lines(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.connection = connect()
        self.addCleanup(self.connection.close, True)

    def lines(self, value):
        return [(number, bytes(data).decode() if kind == "text" else bytes(data))
                for number, kind, data in rows(
                    self.connection, "SELECT line, typeof(text), CAST(text AS BLOB)"
                                     " FROM bloom_lines(?)", (value,))]

    def test_random_bytes(self):
        for _ in range(3000):
            data = b"".join(self.random.choices(PARTS, k=self.random.randint(0, 12)))
            if data[:2] not in (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b"):
                self.assertEqual(self.lines(data), lines_of(data), data)

    def test_every_short_text_of_ends_and_letters(self):
        for length in range(7):
            for letters in itertools.product("a\n\r", repeat=length):
                text = "".join(letters)
                self.assertEqual(self.lines(text), lines_of(text.encode()), repr(text))

    def test_integers(self):
        for count in (0, 1, 2, 1000):
            numbers = [self.random.randint(-2**63, 2**63 - 1) for _ in range(count)]
            packed = struct.pack(f"<{count}q", *numbers)
            self.assertEqual(
                rows(self.connection, "SELECT position, value FROM bloom_integers(?)", (packed,)),
                list(enumerate(numbers, 1)))


if __name__ == "__main__":
    unittest.main()
