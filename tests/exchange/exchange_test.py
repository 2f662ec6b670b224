#!/usr/bin/env python3
"""bloom_import and bloom_export, without Java: golden files that Guava wrote, hostile input, every
error message.

golden/NAME.guava is a filter as Guava 31.1 wrote it, golden/answers.txt what Guava said of it, a
line for each: name, approximateElementCount, expectedFpp, and its answers for the absent keys of
guava_form.py as one hexadecimal number, the first key highest. libraries_test.py asks Guava itself.
"""

import math
import pathlib
import re
import struct
import sys
import unittest

import apsw

import guava_form

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = TOP / ("bloom.dylib" if sys.platform == "darwin" else "bloom.so")

# n=10, p=0.01 by Guava 31.1: "http://evil.example/a" and "abc"; and 42 with longFunnel.
STRINGS = bytes.fromhex("0107000000020a028080000008030040108420080000")
LONG = bytes.fromhex("01070000000200000000000000000100000000000000")

FORMATS = ("'guava', 'guava-utf16', 'spark', 'dcso', 'go', 'parquet', 'parquet-int32', "
           "'redisbloom'")

IMPORT = "SELECT bloom_import(?1, 'guava')"
EXPORT = "SELECT bloom_export(?1, 'guava')"
CHECK = "SELECT bloom_check(?1, ?2)"


class WithExtension(unittest.TestCase):
    def setUp(self):
        self.database = apsw.Connection(":memory:")
        self.addCleanup(self.database.close)
        self.database.enableloadextension(True)
        self.database.loadextension(str(LIBRARY))

    def value(self, sql, *arguments):
        (row,) = self.database.cursor().execute(sql, arguments).fetchall()
        return row[0]

    def values(self, sql, *arguments):
        return [row[0] for row in self.database.cursor().execute(sql, arguments)]

    def keys(self, keys):
        """A table of these keys, of whatever type."""
        self.database.cursor().execute("CREATE TEMP TABLE IF NOT EXISTS keys(key)")
        self.database.cursor().execute("DELETE FROM keys")
        with self.database:
            self.database.cursor().executemany(
                "INSERT INTO keys VALUES (?)", [(key,) for key in keys])
        return "keys"

    def answers(self, filter_value, keys):
        return "".join(
            map(
                str,
                self.values(
                    f"SELECT bloom_check(?1, key) FROM {self.keys(keys)} ORDER BY rowid",
                    filter_value)))

    def refused(self, message, sql, *arguments):
        with self.assertRaises(apsw.Error) as caught:
            self.value(sql, *arguments)
        self.assertEqual(str(caught.exception).removeprefix("SQLError: "), message)


def golden(name):
    return (guava_form.GOLDEN / f"{name}.guava").read_bytes()


def golden_answers():
    with open(guava_form.GOLDEN / "answers.txt", encoding="utf-8") as lines:
        return {
            name: (int(count), float(fpp), answers)
            for name, count, fpp, answers in map(str.split, lines)}


class Golden(WithExtension):
    def each(self):
        answers = golden_answers()
        for parameters in guava_form.SETS:
            name = guava_form.name(*parameters)
            with self.subTest(filter=name):
                data = golden(name)
                yield parameters, data, self.value(IMPORT, data), answers[name]

    def test_every_file_is_tested(self):
        files = {path.stem for path in guava_form.GOLDEN.glob("*.guava")}
        self.assertEqual(files, {guava_form.name(*parameters) for parameters in guava_form.SETS})
        self.assertEqual(files, set(golden_answers()))

    def test_an_export_returns_the_bytes_that_were_imported(self):
        for _, data, imported, _ in self.each():
            self.assertEqual(self.value(EXPORT, imported), data)

    def test_what_guava_put_in_is_found(self):
        for (funnel, n, _, _), _, imported, _ in self.each():
            self.assertEqual(self.answers(imported, guava_form.present(funnel, n)), "1" * n)

    def test_absent_keys_are_answered_as_guava_answered_them(self):
        for (funnel, _, _, _), _, imported, (_, _, answers) in self.each():
            wanted = bin(int(answers, 16))[2:].zfill(guava_form.ABSENT)
            self.assertEqual(self.answers(imported, guava_form.absent(funnel)), wanted)

    def test_estimates_are_those_of_guava(self):
        for _, _, imported, (count, fpp, _) in self.each():
            self.assertEqual(self.value("SELECT bloom_count(?1)", imported), count)
            self.assertTrue(
                math.isclose(self.value("SELECT bloom_fpr(?1)", imported), fpp, rel_tol=1e-13))

    def test_the_same_keys_added_here_give_the_same_bytes(self):
        for (funnel, n, _, _), data, imported, _ in self.each():
            empty = self.value(IMPORT, data[:6] + bytes(len(data) - 6))
            table = self.keys(guava_form.present(funnel, n))
            self.assertEqual(self.value(f"SELECT bloom_agg(key, ?1) FROM {table}", empty), imported)
            self.assertEqual(
                self.value(f"SELECT bloom_agg(key, ?1) FROM {table}", imported), imported)

    def test_shape(self):
        for (funnel, n, p, strategy), data, imported, _ in self.each():
            guava = guava_form.Filter.read(data)
            self.assertEqual(guava.strategy, strategy)
            info = self.value(
                "SELECT json_extract(bloom_info(?1), '$.layout', '$.n', '$.p', '$.bits',"
                " '$.hashes', '$.bytes')", imported)
            layout = {64: "classic", 32: "classic32"}[strategy]
            self.assertEqual(
                info, f'["{layout}",null,null,{64 * guava.words},{guava.k},{len(data) + 58}]')


class Exchange(WithExtension):

    def test_the_strategies_do_not_mix(self):
        self.refused(
            "bloom_union: argument 2 differs from the first filter (first and argument 2: "
            "layout classic and classic32). Make them with the same parameters, as "
            "bloom_agg(key, filter) does",
            "SELECT bloom_union(bloom_import(?1, 'guava'), bloom_import(?2, 'guava'))",
            STRINGS,
            b"\0" + STRINGS[1:])

    def test_filters_made_here(self):
        for n in (0, 1, 2, 10, 63, 1000, 12345):
            for p in (0.6, 0.5, 0.03, 0.01):
                with self.subTest(n=n, p=p):
                    made = self.value(
                        "SELECT bloom_agg(value, ?1, ?2, 'classic') FROM json_each('[1, 2,"
                        " \"three\"]')", n, p)
                    exported = self.value(EXPORT, made)
                    plain = guava_form.Filter.read(exported)
                    self.assertEqual(
                        plain.write(),
                        guava_form.Filter(64, plain.k, plain.words).add(1, 2, "three").write())
                    again = self.value(IMPORT, exported)
                    self.assertEqual(again[64:], made[64:])
                    self.assertEqual(self.value(EXPORT, again), exported)

    def test_the_shape_of_guava_made_here_merges_with_guavas(self):
        self.assertEqual(self.value(IMPORT, STRINGS),
                         self.value("SELECT bloom_add(bloom_add(bloom_new_bits(128, 7), 'abc'), 'http://evil.example/a')"))
        self.assertEqual(
            self.value(IMPORT, LONG), self.value("SELECT bloom_add(bloom_new_bits(128, 7), 42)"))

    def test_a_round_trip_forgets_n_and_p(self):
        self.assertEqual(
            self.value(
                "SELECT bloom_import(bloom_export(bloom_new(10, 0.01, 'classic'), 'guava'),"
                " 'guava')")[24:40],
            bytes(16))

    def test_names_in_any_case(self):
        for name in ("guava", "Guava", "GUAVA"):
            self.assertEqual(
                self.value("SELECT bloom_export(bloom_import(?1, ?2), ?2)", STRINGS, name), STRINGS)

    def test_a_pinned_filter_is_exported(self):
        self.assertEqual(
            self.value(
                "SELECT bloom_export((SELECT bloom_pin(bloom_import(?1, 'guava'))), 'guava')",
                STRINGS),
            STRINGS)

    def test_nothing_is_modified(self):
        self.database.cursor().execute("CREATE TABLE stored(bytes, filter)")
        self.database.cursor().execute(
            "INSERT INTO stored VALUES (?1, bloom_import(?1, 'guava'))", (STRINGS,))
        for sql in (
            "bloom_import(bytes, 'guava') = filter",
            "bloom_export(filter, 'guava') = bytes",
        ):
            self.assertEqual(self.value(f"SELECT {sql} AND {sql} FROM stored"), 1)

    def test_they_may_be_used_in_a_schema_that_is_not_trusted(self):
        cursor = self.database.cursor()
        cursor.execute("PRAGMA trusted_schema = OFF")
        cursor.execute(
            "CREATE TABLE received(bytes BLOB CHECK (bloom_import(bytes, 'guava') IS NOT NULL),"
            " filter AS (bloom_import(bytes, 'guava')), again AS (bloom_export(bloom_import(bytes,"
            " 'guava'), 'guava')) STORED)")
        cursor.execute(
            "CREATE INDEX exported ON received(bloom_export(bloom_import(bytes, 'guava'), 'guava'))"
        )
        cursor.execute("INSERT INTO received(bytes) VALUES (?)", (STRINGS,))
        self.assertEqual(
            self.value("SELECT bloom_check(filter, 'abc') AND again = bytes FROM received"), 1)
        self.refused(
            "bloom_import: the bytes (argument 1) are cut off: there are 0, but the header of a "
            "Guava filter alone has 6. Store all that BloomFilter.writeTo writes",
            "INSERT INTO received(bytes) VALUES (x'') RETURNING 1")

    def test_a_large_filter(self):
        words = 2_000_000
        data = struct.pack(">bBi", 1, 3, words) + bytes(8 * words)
        added = self.value(
            "SELECT bloom_export(bloom_add(bloom_import(?1, 'guava'), 'abc'), 'guava')", data)
        plain = guava_form.Filter(64, 3, words)
        for position in plain.positions("abc"):
            at = 6 + position // 64 * 8 + 7 - position % 64 // 8
            self.assertTrue(added[at] >> position % 8 & 1)
        self.assertEqual(len(added) - added.count(0), len(data) - data.count(0) + 3)


class Layout(WithExtension):
    """classic32: filters come from Guava alone."""

    ONLY = (
        "layout classic32 is only for filters imported from Guava's older strategy"
        " MURMUR128_MITZ_32. Ask for layout classic")

    def test_none_is_made(self):
        self.refused(f"bloom_new: {self.ONLY}", "SELECT bloom_new(10, 0.01, 'classic32')")
        self.refused(f"bloom_size: {self.ONLY}", "SELECT bloom_size(10, 0.01, 'Classic32')")
        self.refused(f"bloom_agg: {self.ONLY}", "SELECT bloom_agg(1, 10, 0.01, 'classic32')")
        self.refused(f"bloom_agg: {self.ONLY}", "SELECT bloom_agg(1, NULL, 0.01, 'classic32')")

    def test_it_is_not_offered(self):
        with self.assertRaisesRegex(apsw.SQLError, "bloom_new: layout is 'classic64'. "
                                    "Write one of 'blocked', ") as caught:
            self.value("SELECT bloom_new(10, 0.01, 'classic64')")
        self.assertNotIn("'classic32'", str(caught.exception))

    def test_a_filter_with_another_number_of_bits_is_none(self):
        """A header that nothing writes: 65 bits."""
        header = bytearray(
            self.value("SELECT bloom_import(x'0003000000010000000000000000', 'guava')")[:64])
        header[16] = 65
        header[56:] = struct.pack("<Q", guava_form.pages.murmur3(bytes(header[:56]))[0])
        self.refused(
            "bloom_check: argument 1 is invalid: its header says 65 bits, but"
            " layout classic32 has a multiple of 64 up to 4503599627370496. Ask its author to"
            " write it again", CHECK,
            bytes(header) + bytes(9),
            1)


class Refusals(WithExtension):
    def import_refused(self, problem, data):
        self.refused(f"bloom_import: the bytes (argument 1) {problem}", IMPORT, data)

    def test_other_lengths(self):
        for data in (b"", STRINGS[:5]):
            self.import_refused(
                f"are cut off: there are {len(data)}, but the header of a Guava filter alone has "
                "6. Store all that BloomFilter.writeTo writes", data)
        for data in (STRINGS[:6], STRINGS[:-1], STRINGS + b"\0"):
            self.import_refused(
                f"were cut off or extended: there are {len(data)}, but their header says 22. "
                "Store exactly what BloomFilter.writeTo writes", data)

    def test_negative_and_zero_counts(self):
        for words in (0, -1, -2, -(2**31), -(2**31) + 1):
            self.import_refused(
                f"are damaged: they say {words} words of 64 bits, but a Guava filter has 1 to"
                " 2147483647. Write the filter again with BloomFilter.writeTo",
                struct.pack(">bBi", 1, 7, words) + bytes(16))

    def test_unknown_strategies(self):
        for strategy in range(2, 256):
            self.import_refused(
                "are not a Guava filter that release "
                + self.value("SELECT bloom_version()").split()[1].rstrip(",")
                + f" of this extension knows: the strategy in their first byte is {strategy}, but"
                " known are 0 (MURMUR128_MITZ_32) and 1 (MURMUR128_MITZ_64). Write the filter with"
                " BloomFilter.writeTo or get a newer release",
                bytes([strategy]) + STRINGS[1:])

    def test_no_hashes(self):
        for strategy in (0, 1):
            self.import_refused(
                "are damaged: they say 0 hashes per key, but a Guava filter has 1 to 255. Write the"
                " filter again with BloomFilter.writeTo",
                bytes([strategy, 0]) + STRINGS[2:])
            for k in range(1, 256):
                data = bytes([strategy, k]) + STRINGS[2:]
                self.assertEqual(
                    self.value("SELECT bloom_export(bloom_import(?1, 'guava'), 'guava')", data),
                    data)

    def test_java_serialisation(self):
        self.import_refused(
            "are a serialised object of Java. Write the filter with BloomFilter.writeTo instead of"
            " ObjectOutputStream",
            bytes.fromhex("aced0005737200"))

    def test_filters_of_this_extension(self):
        for sql in ("bloom_new(1)", "bloom_import(?1, 'guava')"):
            self.refused(
                "bloom_import: argument 1 is a filter of this extension already. Use it without an"
                " import",
                f"SELECT bloom_import({sql}, 'guava')",
                *([STRINGS] if "?" in sql else []))

    def test_filters_of_this_extension_as_every_format(self):
        """A bitset without a header could be anything, of ours, too."""
        for format in re.findall("'([^']+)'", FORMATS):
            for layout in ("blocked", "counting", "parquet"):
                self.refused(
                    "bloom_import: argument 1 is a filter of this extension already. Use it without"
                    " an import",
                    f"SELECT bloom_import(bloom_agg(1, NULL, 0.01, '{layout}'), ?1)",
                    format)

    def test_bytes_that_are_none(self):
        self.import_refused("are not a BLOB but NULL. Check that the row or file that should hold"
                            " them exists", None)
        for value, what in (
            ("0107", "the text '0107'"),
            ("", "the text ''"),
            (1, "1"),
            (1.5, "1.5"),
        ):
            self.import_refused(
                f"are not a BLOB but {what}. Bind the bytes, or convert hexadecimal text with"
                " unhex() in SQLite 3.41 or later", value)
        self.refused(
            "bloom_import: the bytes (argument 1) are not a BLOB but NULL. Check that the row or"
            " file that should hold them exists",
            "SELECT bloom_import((SELECT bloom_pin(bloom_new(1))), 'guava')")

    def test_unknown_formats(self):
        for function, argument in (
            ("bloom_import", STRINGS),
            ("bloom_export", self.value("SELECT bloom_new(1, 0.1, 'classic')")),
        ):
            sql = f"SELECT {function}(?1, ?2)"
            problem = f"{function}: the format (argument 2) is "
            for name, found in (
                ("", "''"),
                ("guav", "'guav'"),
                ("guavas", "'guavas'"),
                (" guava", "' guava'"),
                ("redis", "'redis'"),
                ("guava\0", "'guava\\u0000'"),
                ("g" * 100, "'" + "g" * 60 + "'..."),
                ("gu\u00e4va", "'gu\u00e4va'"),
            ):
                self.refused(f"{problem}the text {found}. Give one of {FORMATS}", sql, argument,
                             name)
            for value, found in (
                (None, "NULL"),
                (1, "1"),
                (1.0, "1.0"),
                (b"guava", "a BLOB of 5 bytes"),
            ):
                self.refused(f"{problem}{found}. Give one of {FORMATS}", sql, argument, value)

    def test_wrong_numbers_of_arguments(self):
        for function in ("bloom_import", "bloom_export"):
            for arguments in ("", "x''", "x'', 'guava', 1"):
                self.refused(
                    f"wrong number of arguments to function {function}()",
                    f"SELECT {function}({arguments})")

    def test_filters_that_guava_has_not(self):
        self.refused(
            "bloom_export: argument 1 has layout blocked, which Guava does not know."
            " Build it with layout classic",
            "SELECT bloom_export(bloom_new(10), 'guava')")
        for bits, enough in ((1, 64), (63, 64), (65, 128), (100, 128), (1000, 1024)):
            self.refused(
                f"bloom_export: argument 1 has {bits} bits, but Guava has only"
                f" multiples of 64. Build it with {enough} bits, or with bloom_new and layout"
                " classic",
                "SELECT bloom_export(bloom_new_bits(?1, 3), 'guava')",
                bits)

    def test_exports_of_what_is_no_filter(self):
        self.refused(
            "bloom_export: argument 1 is NULL. Check that the row with the filter exists, or that"
            " its pin was not lost in a join, a view, a subquery in FROM or coalesce", EXPORT, None)
        self.refused(
            "bloom_export: argument 1 is not a filter: it has 22 bytes and does not begin"
            " with 89424c4d. Import a filter of another system with bloom_import",
            EXPORT, STRINGS)

    def test_the_length_limit_of_the_connection(self):
        data = golden("string_1000_0.001_mitz64")
        self.database.limit(apsw.SQLITE_LIMIT_LENGTH, 1863)
        self.refused(
            "bloom_import: the filter needs 1864 bytes, but a value of this connection is limited"
            " to 1863 bytes. Make it smaller", IMPORT, data)
        self.database.limit(apsw.SQLITE_LIMIT_LENGTH, 1864)
        self.assertEqual(len(self.value(IMPORT, data)), 1864)


if __name__ == "__main__":
    unittest.main()
