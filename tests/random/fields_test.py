#!/usr/bin/env python3
"""Tables of indicators beside Python's csv: random tables in every order of columns, of fields
whose kind is known by construction. bloom_list must find the field that was meant, or none.

Python's csv writes each row, and reads it again to say what the field is. Hosts are invented, and
what stands beside them (reports, files, packages, mail) must never become an entry. SEED chooses
the tables and COUNT their number.
"""
import csv
import io
import itertools
import os
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "runner"))
from extended import connect, rows  # noqa: E402

SEED = int(os.environ.get("SEED", "1"))
COUNT = int(os.environ.get("COUNT", "2000"))
NETWORK = {"address": ("ip", "ip-dst", "IPv4", "Intel::ADDR", "ip_address"),
           "name": ("domain", "hostname", "FQDN", "host", "Intel::DOMAIN"),
           "url": ("url", "URI", "Intel::URL"), "port": ("ip:port", "c2", "domain_port"),
           "defanged": ("url", "domain")}
OTHER = {"hash": ("sha256", "md5", "FileHash-SHA1", "hash"), "mail": ("email", "email-src"),
         "file": ("filename", "Intel::FILE_NAME"), "package": ("package_name",),
         "report": ("link", "reference"), "word": ("mutex", "comment")}
SEPARATORS = ",;\t|"
COLUMNS = ("indicator", "value", "ioc", "ioc_value", "data")  # whatever the entry is
CERTAIN = ("domain", "url", "host", "Domain/IP", "c2 server", "ip")
BESIDE = ("note", "first_seen", "Reporter", "score", "reference", "family", "meta source")


class Fields(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.connection = connect()
        self.addCleanup(self.connection.close, True)

    def text(self, letters, least, most):
        return "".join(self.random.choices(letters, k=self.random.randint(least, most)))

    def name(self):
        labels = [self.text("abcdefghijk0123", 1, 9) for _ in range(self.random.randint(1, 3))]
        return ".".join(["z" + label for label in labels] + [
            self.random.choice(("example", "test", "io", "com.br", "xn--p1ai"))])

    def address(self):
        return f"{self.random.choice((1, 45, 172, 198, 203))}.{self.random.randint(64, 255)}" \
               f".{self.random.randint(0, 255)}.{self.random.randint(1, 255)}"

    def field(self, kind):
        number = self.random.randint(1, 10**6)
        return {
            "address": self.address, "name": self.name,
            "url": lambda: f"https://{self.name()}/{self.text('abc,;|', 1, 6)}x",
            "port": lambda: f"{self.random.choice((self.address, self.name))()}:{number % 65536}",
            "defanged": lambda: f"hxxp://{self.name().replace('.', '[.]')}/{number}",
            "hash": lambda: self.text("0123456789abcdef", 64, 64),
            "uuid": lambda: f"{number:08x}-0000-4000-8000-{number:012x}",
            "number": lambda: str(number), "empty": str,
            "time": lambda: f"20{number % 90 + 10}-01-02 03:04:05",
            "word": lambda: self.text("ABCDEFGHIJklmnopq", 4, 12) + "w",
            "phrase": lambda: f"seen, at {self.name()}; \"{number}\" times",
            "mail": lambda: f"u{number}@{self.name()}",
            "file": lambda: f"f{number}{self.random.choice(('.exe', '.pdf', '.docx', '.PS1'))}",
            "path": lambda: f"C:\\tmp\\{number}.dll", "version": lambda: f"10.0.{number + 300}.1",
            "package": lambda: f"com.app{number}.spy",
            "report": lambda: f"https://news.test/{number}",
        }[kind]()

    def write(self, separator, *table):
        quoting = csv.QUOTE_MINIMAL
        if separator != "|" and self.random.random() < 0.3:
            quoting = csv.QUOTE_ALL
        file = io.StringIO()
        csv.writer(file, delimiter=separator, quoting=quoting, lineterminator="\n").writerows(table)
        return file.getvalue()

    def check(self, text, separator, meant, what):
        """meant: the number of the field in the last row, or None."""
        found = rows(self.connection, "SELECT key FROM bloom_list(?) WHERE key IS NOT NULL",
                     ("# indicators\n" + text,))
        last = list(csv.reader(io.StringIO(text), delimiter=separator))[-1]
        key = None
        if meant is not None:
            plain = last[meant].replace("hxxp", "http").replace("[.]", ".")
            key = rows(self.connection, "SELECT bloom_url(?)", (plain,))[0][0]
        self.assertEqual([row[0] for row in found], [] if key is None else [key], (what, text))

    def before(self, count, separator):
        """Fields that are passed over; a row that begins with prose is none between bars."""
        kinds = ["hash", "uuid", "number", "time", "word", "mail", "file", "path", "version",
                 "package", "phrase", "empty"]
        chosen = self.random.choices(kinds, k=count)
        if chosen and separator in ";|" and chosen[0] in ("phrase", "empty", "path"):
            chosen[0] = "word"  # `;` begins a remark
        return [self.field(kind) for kind in chosen]

    def after(self, count):
        return [self.field(self.random.choice((
            "report", "name", "address", "file", "word", "number", "hash", "empty", "phrase")))
                for _ in range(count)]

    def test_without_heading(self):
        """The first address, name or URL from the left; but a URL after prose is its source."""
        for _ in range(COUNT):
            separator = self.random.choice(SEPARATORS)
            kind = self.random.choice(list(NETWORK))
            front = self.before(self.random.randint(0, 3), separator)
            if not front and (kind == "url" or (kind == "defanged" and separator == ";")):
                front = ["2026-01-02"]  # a line that begins with a scheme is one URL
            behind = self.after(self.random.randint(1, 3))
            if kind == "address" and not any(front):
                behind[0] = self.field("word")  # two addresses are a range
            row = [*front, self.field(kind), *behind]
            is_source = kind == "url" and any(field.startswith("seen, at") for field in front)
            self.check(self.write(separator, row), separator, None if is_source else len(front),
                       (kind, row))

    def test_words_for_types(self):
        """A word for a type says of the field after it, or before it, whether it is an entry."""
        for _ in range(COUNT):
            separator = self.random.choice(SEPARATORS)
            kind = self.random.choice([*NETWORK, *OTHER])
            word = self.random.choice((NETWORK | OTHER)[kind])
            pair = [word, self.field(kind)]
            last = self.random.random() < 0.3 and kind not in ("report", "url", "word")
            if last:
                pair.reverse()
            front = [self.field("time")] if self.random.random() < 0.5 or separator == ";" else []
            row = [*front, *pair, self.field("word"), self.field("report")]
            meant = len(front) + (not last) if kind in NETWORK else None
            self.check(self.write(separator, row), separator, meant, (kind, row))

    def test_every_sequence_of_classes_up_to_five(self):
        """The rule of ext/URLS.md: a word for a type says what is after it, or else before it."""
        written = {"word": "wordw", "prose": "seen by us", "host type": "domain",
                   "other type": "sha256", "range": "192.0.2.0/24", "file": "f{}.pdf",
                   "name": "n{}.example", "url": "http://u{}.example/x", "sure": "ip:192.0.2.{}"}
        can_be = ("range", "file", "name", "url", "sure")
        rows_, meant = [], []
        for length in range(1, 6):
            for classes in itertools.product(written, repeat=length):
                rows_.append(",".join(["7", *(written[each].format(i)
                                              for i, each in enumerate(classes))]))
                meant.append(None)
                blocked = False
                for i, each in enumerate(classes):
                    before, after = classes[:i][-1:], classes[i + 1:i + 2]
                    if (each == "other type" or (each == "url" and "prose" in classes[:i])
                            or (before == ("host type",) and each in ("word", "prose"))):
                        blocked = True
                    if each not in can_be:
                        continue
                    says_so = after == ("host type",) and not {*classes[i + 2:i + 3]} & {*can_be}
                    no = blocked or (after == ("other type",) and each not in ("url", "sure"))
                    if before == ("host type",) or not (no or (each == "file" and not says_so)):
                        meant[-1] = {"range": None, "file": f"f{i}.pdf/", "name": f"n{i}.example/",
                                     "url": f"u{i}.example/x", "sure": f"192.0.2.{i}/"}[each]
                        break
        found = rows(self.connection, "SELECT line - 1, key FROM bloom_list(?)",
                     ("# indicators\n" + "\n".join(rows_),))
        self.assertEqual(len(found), len(rows_))
        self.assertEqual([(rows_[int(line) - 1], key) for line, key in found],
                         list(zip(rows_, meant)))

    def test_headings(self):
        """The column that the heading names, in any order, whatever is in the others."""
        for _ in range(COUNT):
            separator = self.random.choice(SEPARATORS)
            certain = self.random.random() < 0.5
            kind = self.random.choice(list(NETWORK))
            best = self.random.choice(CERTAIN if certain else COLUMNS)
            names = self.random.sample(BESIDE, self.random.randint(1, 4))
            fields = [self.field(self.random.choice((
                "report", "name", "address", "file", "hash", "number", "time", "phrase", "word",
                "path"))) for _ in names]
            meant = self.random.randrange(len(names) + 1)
            names.insert(meant, self.random.choice((best, best.upper(), best.title())))
            fields.insert(meant, self.field(kind))
            if not certain and self.random.random() < 0.5:
                is_other = self.random.random() < 0.3
                kind = self.random.choice(list(OTHER)) if is_other else kind
                fields[meant] = self.field(kind)
                place = meant + self.random.randrange(2)
                names.insert(place, self.random.choice(("type", "ioc_type", "Indicator Type")))
                fields.insert(place, self.random.choice((OTHER if is_other else NETWORK)[kind]))
                meant = None if is_other else meant + (place == meant)
            self.check(self.write(separator, names, fields), separator, meant, (names, fields))


if __name__ == "__main__":
    unittest.main()
