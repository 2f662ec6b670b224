#!/usr/bin/env python3
"""Text of others as messages quote it, against Python's decoder: every character at an edge, every
malformed sequence near one, random bytes, and where long text is cut off. SEED chooses the run.

A message is valid UTF-8 without control characters: bytes that are none are written \\xNN, control
characters, separators of lines, marks of direction and what nobody sees \\uNNNN; of more than 60
characters, and where no six bytes more fit 200, dots take the place.
"""
import itertools
import os
import pathlib
import random
import sys
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/runner"))
from extended import connect, rows  # noqa: E402

SEED = int(os.environ.get("SEED", "1"))
BEFORE = "bloom_convert: the layout (argument 2) is the text "
AFTER = ". Give 'blocked', the only one that counting can become"
CHARACTERS, BYTES = 60, 200 - 6 - 5  # quoted, and after how many bytes none follows
HIDDEN = {*range(0x20), *range(0x7f, 0xa1), 0xad, *range(0x200b, 0x2010), *range(0x2028, 0x202f),
          *range(0x2060, 0x206a), 0xfeff}
EDGES = sorted({point + step for point in
                (0, 0x20, 0x7f, 0x80, 0xa0, 0xad, 0x7ff, 0x800, 0x200b, 0x200e, 0x2010, 0x2028,
                 0x202a, 0x202f, 0x2060, 0x2066, 0x206a, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xffff,
                 0x10000, 0x1200e, 0x10ffff)
                for step in (-1, 0, 1)} & {*range(0xd800), *range(0xe000, 0x110000)})


def character(data):
    """The first character and its bytes, None when there is none."""
    for length in range(1, 5):
        try:
            return data[:length].decode("utf-8"), length
        except UnicodeDecodeError:
            pass
    return None, 1


def quoted(data):
    text, place, written = "'", 0, 0
    while place < len(data) and written < CHARACTERS and len(text.encode()) <= BYTES:
        one, length = character(data[place:])
        if one is None:
            text += f"\\x{data[place]:02x}"
        elif ord(one) in HIDDEN:
            text += f"\\u{ord(one):04x}"
        else:
            text += one
        place += length
        written += 1
    return text + ("'..." if place < len(data) else "'")


def samples():
    """What is no character or near one, what is cut off, characters at the edges, random bytes."""
    bytes_at_edges = (0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
                      0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf7, 0xf8, 0xfb,
                      0xff)
    for length in (1, 2, 3):
        yield from map(bytes, itertools.product(bytes_at_edges, repeat=length))
    yield from map(bytes, itertools.product((0xf0, 0xf3, 0xf4, 0xf5), bytes_at_edges,
                                            *2 * [(0x7f, 0x80, 0xbf, 0xc0)]))
    for length in range(1, 70):
        yield b"\xff" * length
        yield b"a" * length + "😀".encode()[:-1]
        for piece in ("a", "😀", "\0", "ab\u202e", "é€😀\0"):
            yield (piece * 70)[:length].encode()
    chance = random.Random(SEED)
    for point in EDGES:
        yield chr(point).encode()
    for _ in range(3000):
        yield b"".join(chr(chance.choice(EDGES)).encode() if chance.random() < 0.7
                       else bytes([chance.randrange(256)]) for _ in range(chance.randrange(1, 80)))


class Quote(unittest.TestCase):
    def setUp(self):
        self.connection = connect()

    def said(self, sql, *bindings):
        with self.assertRaises(apsw.Error) as caught:
            rows(self.connection, sql, bindings)
        return str(caught.exception).removeprefix("SQLError: ")  # as older releases of apsw begin

    def test_text(self):
        for data in samples():
            said = self.said("SELECT bloom_convert(bloom_new(1), CAST(? AS TEXT))", data)
            self.assertEqual(said, BEFORE + quoted(data) + AFTER, data)

    def test_names_of_tables(self):
        """They stand in messages without quotation marks, and whole."""
        names = [f"a{chr(point)}" for point in EDGES[1:]]
        names += [f"x{length * 'é€😀'}y" for length in (9, 10, 15, 18, 19, 22, 39, 40, 41)]
        for name in names:
            in_sql = '"' + name.replace('"', '""') + '"'
            rows(self.connection, f"CREATE VIRTUAL TABLE {in_sql} USING bloom")
            shown = "".join(f"\\u{ord(one):04x}" if ord(one) in HIDDEN else one for one in name)
            self.assertEqual(self.said(f"DELETE FROM {in_sql}").partition(" a filter table")[0],
                             f"{shown}:")
            rows(self.connection, f"DROP TABLE {in_sql}")


if __name__ == "__main__":
    unittest.main()
