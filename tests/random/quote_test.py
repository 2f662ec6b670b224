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
from extended import connect  # noqa: E402

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


class Quote(unittest.TestCase):
    def setUp(self):
        self.cursor = connect().cursor()

    def check(self, data):
        try:
            list(self.cursor.execute("SELECT bloom_convert(bloom_new(1), CAST(? AS TEXT))",
                                     (data,)))
        except apsw.Error as error:
            self.assertEqual(str(error).partition(BEFORE)[2], quoted(data) + AFTER, data)
        else:
            self.fail(f"not refused: {data}")

    def test_what_is_no_character(self):
        edges = (0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
                 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf7, 0xf8, 0xfb, 0xff)
        for length in (1, 2, 3):
            for parts in itertools.product(edges, repeat=length):
                self.check(bytes(parts))
        for parts in itertools.product((0xf0, 0xf3, 0xf4, 0xf5), edges, (0x7f, 0x80, 0xbf, 0xc0),
                                       (0x7f, 0x80, 0xbf, 0xc0)):
            self.check(bytes(parts))

    def test_where_it_is_cut_off(self):
        for piece in ("a", "😀", "\0", "ab\u202e", "é€😀\0"):
            for length in range(1, 70):
                self.check((piece * 70)[:length].encode())
        for length in range(1, 70):
            self.check(b"\xff" * length)
            self.check(b"a" * length + "😀".encode()[:-1])

    def check_name(self, name):
        """Names of tables stand in messages without quotation marks, and whole."""
        in_sql = '"' + name.replace('"', '""') + '"'
        list(self.cursor.execute(f"CREATE VIRTUAL TABLE {in_sql} USING bloom"))
        with self.assertRaises(apsw.Error) as caught:
            list(self.cursor.execute(f"DELETE FROM {in_sql}"))
        list(self.cursor.execute(f"DROP TABLE {in_sql}"))
        shown = "".join(f"\\u{ord(one):04x}" if ord(one) in HIDDEN else one for one in name)
        said = str(caught.exception).removeprefix("SQLError: ")  # as older releases of apsw begin
        self.assertEqual(said.partition(" a filter table")[0], f"{shown}:")

    def test_names_of_tables(self):
        for point in EDGES[1:]:
            self.check_name(f"a{chr(point)}")
        for length in (9, 10, 15, 18, 19, 22, 39, 40, 41):
            self.check_name(f"x{length * 'é€😀'}y")

    def test_characters_at_the_edges_and_random_bytes(self):
        for point in EDGES:
            self.check(chr(point).encode())
        chance = random.Random(SEED)
        for _ in range(3000):
            pieces = [chr(chance.choice(EDGES)).encode() if chance.random() < 0.7
                      else bytes([chance.randrange(256)]) for _ in range(chance.randrange(1, 80))]
            self.check(b"".join(pieces))


if __name__ == "__main__":
    unittest.main()
