#!/usr/bin/env python3
"""What people type by mistake, and what they are told: mistakes.txt, to the letter.

A statement stands behind `> `, goes on over indented lines, and the message follows. Each has a
database of its own, made by the SQL above the first one. Of several statements the last one fails.
A message of ours names who speaks and says what to do: it holds one of the words of ADVICE.

    mistakes_test.py             run the tests (and any option of unittest)
    mistakes_test.py --update    write what is said today into mistakes.txt; look at the difference
"""
import pathlib
import re
import sqlite3
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = pathlib.Path(__file__).with_name("mistakes.txt")
# What a message asks of its reader, as imperatives or as what must be.
ADVICE = re.compile(r"(?i)\b(must|make|give|ask|use|check|leave|choose|add|insert|keep|build|"
                    r"import|restore|store|get|cast|delete|select|comes first|the options are|"
                    r"the commands are|takes|needs|as in|have it|write|drop it|"
                    r"unpack|bind|decode|convert)\b")


def read():
    text = TABLE.read_text(encoding="utf-8")
    head, *parts = re.split(r"^> ", text, flags=re.MULTILINE)
    rows = []
    for part in parts:
        lines = [line for line in part.split("\n") if line and not line.startswith("# ")]
        count = 1 + len([line for line in lines[1:] if line.startswith("  ")])
        rows.append(("\n".join(line.removeprefix("  ") for line in lines[:count]), lines[count:]))
    setup = "\n".join(line for line in head.split("\n") if not line.startswith("#"))
    return setup, rows


def told(setup, statements):
    """The message of the last statement; None when nothing fails."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.enable_load_extension(True)
        connection.execute("SELECT load_extension(?)", [str(TOP / "bloom")])
        connection.enable_load_extension(False)
        connection.executescript(setup)
        *before, last = re.split(r";\n", statements)
        for statement in before:
            connection.execute(statement).fetchall()
        connection.execute(last).fetchall()
    except sqlite3.Error as error:
        return str(error)
    finally:
        connection.close()
    return None


class Mistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.setup, cls.rows = read()

    def test_each_says_what_the_table_says(self):
        self.assertGreaterEqual(len(self.rows), 54)
        for statements, message in self.rows:
            with self.subTest(typed=statements):
                self.assertEqual([told(self.setup, statements)], message)

    def test_each_names_who_speaks_and_says_what_to_do(self):
        for statements, (message,) in self.rows:
            with self.subTest(typed=statements):
                who, _, said = message.partition(": ")
                self.assertRegex(who, r"^(bloom\w*|seen|bad|live|aged)$")
                self.assertRegex(said, ADVICE)

    def test_none_stands_there_twice(self):
        typed = [statements for statements, _ in self.rows]
        self.assertEqual(sorted(set(typed)), sorted(typed))


def update():
    setup, rows = read()
    text = TABLE.read_text(encoding="utf-8")
    for statements, message in rows:
        shown = "> " + statements.replace("\n", "\n  ") + "\n"
        old = shown + "".join(line + "\n" for line in message)
        assert text.count(old) == 1, old
        text = text.replace(old, shown + f"{told(setup, statements)}\n")
    TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if "--update" in sys.argv[1:]:
        update()
    else:
        unittest.main()
