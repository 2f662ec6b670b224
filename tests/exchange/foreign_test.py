#!/usr/bin/env python3
"""The formats of Spark, DCSO, Go, Parquet, RedisBloom and Guava's other funnel, without their
libraries: golden files that these wrote, a second implementation (foreign_form.py), hostile input,
every error message. libraries_test.py asks the libraries themselves.
"""
import gzip
import itertools
import json
import math
import random
import struct
import unittest

import apsw

import exchange_test
import foreign_form
from foreign_form import FORMS, Filter, LAYOUTS, pages

FORMATS = {name: foreign_form.FORMAT_OF.get(name, name) for name in LAYOUTS}
IMPORT = "SELECT bloom_import(?1, ?2)"
EXPORT = "SELECT bloom_export(?1, ?2)"
TEXTS = ["", "abc", "http://evil.example/a", "\u00e9", "e\u0301", "\u65e5\u672c\u8a9e",
         "\U0001f600", "a\0b", "0123456789abcdef", "x" * 100, "\ufeff", "\uffff", "\U0010ffff"]
# Bytes of the header in which each format counts what it cannot know later.
COUNTERS = {"dcso": [(40, 48)], "redisbloom": [(0, 8), (36, 44)]}


def without_counters(name, data):
    data = bytearray(data)
    for start, end in COUNTERS.get(name, []):
        data[start:end] = bytes(end - start)
    return bytes(data)


def made(name, n=200, p=0.05, seed=0):
    """An empty filter of Python's, of the size of the library."""
    if name == "classic-utf16":
        return Filter(name, 1280, 4)
    m, k = LAYOUTS[name].size(n, p)
    return Filter(name, m, k, n, p, seed)


def random_key(generator, layout):
    while True:
        key = generator.choice([
            lambda: generator.randint(-(2**63), 2**63 - 1),
            lambda: generator.randint(-300, 300),
            lambda: float(generator.randint(-2**40, 2**40)),
            lambda: generator.uniform(-1e6, 1e6),
            lambda: generator.choice(TEXTS) + str(generator.randint(0, 99)),
            lambda: "k" * generator.randint(0, 70),
            lambda: generator.randbytes(generator.randint(0, 70))])()
        if LAYOUTS[layout].bytes_of(key) is not None:
            return key


class Golden(exchange_test.WithExtension):
    def each(self):
        for name, layout, form, data, present, others in foreign_form.golden():
            if not name.endswith("_gzip"):
                with self.subTest(filter=name):
                    yield layout, form, data, self.value(IMPORT, data, form), present, others

    def test_there_are_ten_files(self):
        names = {name for name, *_ in foreign_form.golden()}
        self.assertEqual(names, {
            "dcso_text", "dcso_text_data", "dcso_text_gzip", "go_text", "parquet_int",
            "parquet_text", "redisbloom_text", "spark1_int", "spark1_text", "spark2_text"})

    def test_every_answer_is_that_of_the_library(self):
        found = 0
        for _, _, _, imported, present, others in self.each():
            self.assertEqual(self.answers(imported, present), "1" * 200)
            answers = "".join(str(answer) for _, answer in others)
            self.assertEqual(self.answers(imported, [key for key, _ in others]), answers)
            found += answers.count("1")
        self.assertGreater(found, 50)  # false positives

    def test_the_same_keys_added_here_give_the_same_bits(self):
        for _, form, data, imported, present, _ in self.each():
            made_here = self.value(f"SELECT bloom_agg(key, ?1) FROM {self.keys(present)}", imported)
            self.assertEqual(made_here, imported)

    def test_an_export_returns_the_bytes_that_were_imported(self):
        exact = []
        for layout, form, data, imported, _, _ in self.each():
            exported = self.value(EXPORT, imported, form)
            if layout in COUNTERS:
                self.assertEqual(without_counters(layout, exported),
                                 without_counters(layout, data)[:len(exported)])
            else:
                self.assertEqual(exported, data)
                exact.append(layout)
        self.assertEqual(exact, ["go", "parquet", "parquet", "spark1", "spark1", "spark2"])

    def test_what_is_not_kept_is_the_data_and_the_counters(self):
        for name, layout, _, data, _, _ in foreign_form.golden():
            if name == "dcso_text_data":
                self.assertEqual(data[224:], b'{"note":"golden"}')
                exported = self.value("SELECT bloom_export(bloom_import(?1, 'dcso'), 'dcso')", data)
                self.assertEqual(len(exported), 224)
                self.assertEqual(struct.unpack_from("<Q", exported, 40)[0], 195)
                self.assertEqual(struct.unpack_from("<Q", data, 40)[0], 199)
            if layout == "redisbloom":
                exported = self.value("SELECT bloom_export(bloom_import(?1, ?2), ?2)", data, layout)
                for at in (0, 36):
                    self.assertEqual(struct.unpack_from("<Q", exported, at)[0], 200)
                    self.assertEqual(struct.unpack_from("<Q", data, at)[0], 199)

    def test_a_compressed_file(self):
        for name, _, _, data, _, _ in foreign_form.golden():
            if name == "dcso_text_gzip":
                self.refused("bloom_import: the bytes (argument 1) are compressed with gzip. "
                             "Unpack the file first, with gunzip", IMPORT, data, "dcso")
                plain = gzip.decompress(data)
                self.assertEqual(self.value("SELECT bloom_count(bloom_import(?1, 'dcso'))", plain),
                                 195)

    def test_shapes(self):
        shapes = {name: self.value("SELECT json_extract(bloom_info(bloom_import(?1, ?2)), "
                                   "'$.n', '$.p', '$.bits', '$.hashes')", data, form)
                  for name, _, form, data, _, _ in foreign_form.golden() if "gzip" not in name}
        self.assertEqual(shapes, {
            "dcso_text": "[220,0.05,1371,5]", "dcso_text_data": "[220,0.05,1371,5]",
            "go_text": "[null,null,1248,5]", "parquet_int": "[null,null,2048,8]",
            "parquet_text": "[null,null,2048,8]", "redisbloom_text": "[200,0.05,1280,5]",
            "spark1_int": "[null,null,1280,4]", "spark1_text": "[null,null,1280,4]",
            "spark2_text": "[null,null,1280,4]"})


class Made(exchange_test.WithExtension):
    """bloom_new and bloom_agg make what the libraries make."""

    def test_sizes_by_the_formulas(self):
        generator = random.Random(5)
        kept = dict.fromkeys(LAYOUTS, 0)
        for turn in range(4000):
            layout = generator.choice([name for name in LAYOUTS if LAYOUTS[name].size])
            n = generator.choice([generator.randint(1, 300), generator.randint(300, 20000)])
            p = generator.choice([0.1, 0.05, 0.03, 0.01, 0.001, generator.random() or 0.5,
                                  10 ** -generator.uniform(0, 9)])
            try:
                info = self.value("SELECT json_extract(bloom_info(bloom_new(?1, ?2, ?3)), '$.bits',"
                                  " '$.hashes')", n, p, layout)
            except apsw.SQLError as error:
                self.assertRegex(str(error), f"layout {layout}, with the size that its own library "
                                             "gives it, would have no bits")
                continue
            kept[layout] += 1
            self.assertEqual(json.loads(info), list(LAYOUTS[layout].size(n, p)), (layout, n, p))
        self.assertTrue(all(kept[name] > 200 for name in LAYOUTS if LAYOUTS[name].size), kept)

    def test_bytes(self):
        for layout in LAYOUTS:
            if LAYOUTS[layout].size is None:
                continue
            with self.subTest(layout=layout):
                generator = random.Random(layout)
                keys = [random_key(generator, layout) for _ in range(300)]
                plain = made(layout, 300, 0.05).add(*keys)
                form = FORMATS[layout]
                for sql in ("bloom_agg(key, 300, 0.05, ?1)",
                            "bloom_union(bloom_new(300, 0.05, ?1), bloom_agg(key, "
                            "bloom_new(300, 0.05, ?1)))"):
                    here = self.value(f"SELECT bloom_export({sql}, ?2) FROM {self.keys(keys)}",
                                      layout, form)
                    self.assertEqual(without_counters(layout, here), plain.write())

    def test_n_left_out_is_the_number_of_distinct_keys(self):
        for layout in LAYOUTS:
            with self.subTest(layout=layout):
                keys = [f"key {i}" if layout != "parquet-int32" else i for i in range(2000)]
                self.keys(keys)
                self.assertEqual(
                    self.value("SELECT bloom_agg(key, NULL, 0.05, ?1) = bloom_agg(key, 2000, 0.05,"
                               " ?1) FROM (SELECT key FROM keys UNION ALL SELECT key FROM keys)",
                               layout), 1)

    def test_parquet_of_sizes_that_are_a_power_of_two_apart(self):
        """The larger filter is halved: neighbouring blocks become one."""
        generator = random.Random(3)
        for layout in ("parquet", "parquet-int32"):
            filters = []
            for blocks in (1, 2, 8, 16, 3, 6, 24):
                keys = [random_key(generator, layout) for _ in range(12)]
                data = Filter(layout, 256 * blocks, 8).add(*keys).write()
                filters.append((blocks, keys, self.value(IMPORT, data, layout)))
            for blocks, keys, one in filters:
                for other_blocks, other_keys, other in filters:
                    least = min(blocks, other_blocks)
                    if max(blocks, other_blocks) / least not in (1, 2, 4, 8, 16):
                        self.refused("bloom_union: argument 2 differs from the first filter "
                                     f"(first and argument 2: {256 * blocks} and "
                                     f"{256 * other_blocks} bits). Make them with the same "
                                     "parameters, as bloom_agg(key, filter) does",
                                     "SELECT bloom_union(?1, ?2)",
                                     one, other)
                        continue
                    made = Filter(layout, 256 * least, 8).add(*keys, *other_keys).write()
                    self.assertEqual(self.value("SELECT bloom_export(bloom_union(?1, ?2), ?3)",
                                                one, other, layout), made)
                    both = self.value("SELECT bloom_intersect(?1, ?2)", one, other)
                    halves = [Filter(layout, 256 * least, 8).add(*of) for of in (keys, other_keys)]
                    self.assertEqual(both[64:], bytes(a & b for a, b in zip(halves[0].bits,
                                                                            halves[1].bits)))
            powers = [one for blocks, _, one in filters if blocks not in (3, 6, 24)]
            wanted = Filter(layout, 256, 8).add(*(key for blocks, keys, _ in filters
                                                  if blocks not in (3, 6, 24) for key in keys))
            for order in itertools.permutations(powers):
                self.keys(order)
                self.assertEqual(self.value("SELECT bloom_union_agg(key) FROM keys")[64:],
                                 bytes(wanted.bits))

    def test_no_bits(self):
        for layout in ("spark1", "spark2", "dcso"):
            self.refused(f"bloom_size: n = 1 and p = 0.9: layout {layout}, with the size that its "
                         "own library gives it, would have no bits. Ask for a smaller p",
                         "SELECT bloom_size(1, 0.9, ?1)", layout)

    def test_sizes_beyond_what_a_library_can_count(self):
        self.refused("bloom_size: n = 1000000000000 at p = 0.01 takes 9585058377408 bits, but "
                     "layout spark2 has at most 137438953408. Make several filters, or one of "
                     "layout blocked", "SELECT bloom_size(1000000000000, 0.01, 'spark2')")
        self.refused("bloom_size: p = 1.23457e-301 is less than layout redisbloom can keep: "
                     "1e-300. Ask for layout blocked and a larger p",
                     "SELECT bloom_size(1000, 1.234567e-301, 'redisbloom')")

    def test_a_layout_that_is_no_text_in_a_later_row(self):
        self.refused("bloom_agg: the options are not text but 5. Give the name of a layout, or "
                     "text such as 'layout=fuse, key=url'",
                     "SELECT bloom_agg(column1, 100, 0.1, column2) FROM (VALUES ('a', 'go'), "
                     "('b', 5))")

    def test_n_of_zero(self):
        for layout in LAYOUTS:
            size = self.value("SELECT bloom_size(1, 0.4, ?1)", layout) if layout not in (
                "dcso", "go", "spark1", "spark2") else None
            if size:
                self.assertEqual(self.value("SELECT length(bloom_new(0, 0.4, ?1))", layout), size)
        self.refused("bloom_export: argument 1 was made for n = 0 keys, and "
                     "RedisBloom has no such filter. Build it for 1",
                     "SELECT bloom_export(bloom_new(0, 0.4, 'redisbloom'), 'redisbloom')")

    def test_seeds_do_not_mix(self):
        one, two = (made("spark2", seed=seed).write() for seed in (0, 5))
        with self.assertRaisesRegex(apsw.SQLError, "header bytes 40 to 55"):
            self.value("SELECT bloom_union(bloom_import(?1, 'spark'), bloom_import(?2, 'spark'))",
                       one, two)


class Forms(exchange_test.WithExtension):
    """Other forms of the same filter: other byte orders and rows of Go, bitsets of Parquet without
    their header."""

    def test_every_form_is_read_and_the_usual_one_is_written(self):
        for layout, forms in FORMS.items():
            generator = random.Random(layout)
            for m in ([1, 7, 8, 9, 63, 64, 65, 127, 128, 1248, 1279, 1280, 1281]
                      if layout == "go" else [256, 512, 2048, 8192]):
                plain = Filter(layout, m, 3 if layout == "go" else 8)
                plain.add(*(random_key(generator, layout) for _ in range(1 + m // 20)))
                imported = self.value(IMPORT, plain.write(), layout)
                self.assertEqual(self.value(EXPORT, imported, layout), plain.write())
                for form in forms:
                    with self.subTest(m=m, form=form):
                        written = plain.write(form=form)
                        self.assertEqual(self.value(IMPORT, written, layout), imported)
                        for function in ("import", "export"):  # a form is no format
                            with self.assertRaisesRegex(apsw.SQLError, "the format .* Give one of"):
                                self.value(f"SELECT bloom_{function}(?1, ?2)",
                                           written if function == "import" else imported, form)

    def test_a_row_of_go_that_is_shorter_than_m(self):
        short = struct.pack(">QQQ", 100, 3, 70) + struct.pack(">2Q", 1, 1)
        imported = self.value(IMPORT, short, "go")
        self.assertEqual(self.value(EXPORT, imported, "go"), short[:16] + struct.pack(">Q", 100)
                         + short[24:])


class Keys(exchange_test.WithExtension):
    def empty(self, layout):
        return self.value(IMPORT, made(layout).write(), FORMATS[layout])

    def test_filters_of_every_shape_agree_with_the_rules(self):
        for layout in LAYOUTS:
            generator = random.Random(layout)
            for turn in range(30):
                k = 8 if layout.startswith("parquet") else generator.choice(
                    [1, 2, 3, 7, generator.randint(1, 40)])
                m = generator.randint(1, 3000)
                m = m if layout in ("dcso", "go") else -(-m // 256) * 256
                seed = generator.randint(0, 2**32 - 1) if layout == "spark2" else 0
                plain = Filter(layout, m, k, 100, 0.1, seed)
                if layout == "redisbloom":
                    p = 10 ** -generator.uniform(0.1, 9)
                    k = foreign_form.redis_size(1, p)[1]
                    plain = Filter(layout, m, k, 100, p)
                keys = [random_key(generator, layout) for _ in range(generator.randint(1, 30))]
                filter_value = self.value(IMPORT, plain.write(), FORMATS[layout])
                for key in keys[:3]:
                    filter_value = self.value("SELECT bloom_add(?1, ?2)", filter_value, key)
                filter_value = self.value(f"SELECT bloom_union(?1, bloom_agg(key, ?1)) "
                                          f"FROM {self.keys(keys)}", filter_value)
                plain.add(*keys)
                with self.subTest(layout=layout, m=m, k=k, turn=turn):
                    exported = self.value(EXPORT, filter_value, FORMATS[layout])
                    self.assertEqual(without_counters(layout, exported), plain.write())
                    asked = keys + [random_key(generator, layout) for _ in range(50)]
                    self.assertEqual(self.answers(filter_value, asked),
                                     "".join(str(int(plain.check(key))) for key in asked))

    def full(self, layout):
        """A filter with every bit set: it has every key that there is."""
        full = bytearray(self.empty(layout))
        full[64:] = b"\xff" * (len(full) - 64)
        if made(layout).m % 8:
            full[-1] = (1 << made(layout).m % 8) - 1
        return bytes(full)

    def test_every_type_in_every_layout(self):
        """What a format has a rule for, foreign_form.py says by itself."""
        samples = ["", "1", "abc", "\u00e9", b"", b"\1\0\0\0", 0, 1, -1, 2**31 - 1, 2**31,
                   -2**31, -2**31 - 1, 2**32 - 1, 2**32, 2**63 - 1, -2**63, 0.0, -0.0, 1.0, -2.0,
                   4294967295.0, 4294967296.0, 0.5, -1e300, 1e19, 2.0**63, -2.0**63, 5e-324,
                   math.inf, -math.inf]
        takes = {"dcso": "text and BLOBs", "go": "text and BLOBs", "classic-utf16": "text",
                 "parquet-int32": "whole numbers from -2147483648 to 4294967295"}
        refused = dict.fromkeys(LAYOUTS, 0)
        for layout in LAYOUTS:
            full, empty = self.full(layout), self.empty(layout)
            words = takes.get(layout, "text, BLOBs and whole numbers")
            for key in samples:
                there_is = LAYOUTS[layout].bytes_of(key) is not None
                with self.subTest(layout=layout, key=key):
                    self.assertEqual(self.value(exchange_test.CHECK, full, key), int(there_is))
                    for sql in ("bloom_add(?1, ?2)", "bloom_agg(?2, ?1)",
                                f"bloom_agg(?2, 100, 0.1, '{layout}')",
                                f"bloom_agg(?2, NULL, 0.1, '{layout}')"):
                        refused[layout] += not there_is
                        if not there_is:
                            with self.assertRaisesRegex(
                                    apsw.SQLError, r": argument \d is .*, but the keys of "
                                    rf"layout {layout} are {words}\. Convert"):
                                self.value(f"SELECT {sql}", full, key)
                        elif "100" not in sql and "NULL" not in sql:
                            held = self.value(f"SELECT {sql}", empty, key)
                            self.assertEqual(held[64:], bytes(made(layout).add(key).bits))
            for sql in ("bloom_add(?1, NULL)", "bloom_agg(NULL, ?1)"):
                self.assertEqual(self.value(f"SELECT {sql}", empty), empty)
            self.assertIsNone(self.value(exchange_test.CHECK, full, None))
        self.assertEqual({layout for layout in refused if not refused[layout]}, {"parquet"})

    def test_a_key_too_strange_spoils_nothing(self):
        """An error in the middle of an aggregate leaves the table as it was, and no filter."""
        self.database.cursor().execute("CREATE TEMP TABLE f(f)")
        for layout, key in (("dcso", 1), ("go", 2.5), ("spark2", 0.1), ("redisbloom", 0.1),
                            ("parquet-int32", "a"), ("classic-utf16", b"a")):
            good = 7 if layout == "parquet-int32" else "x"
            self.keys([good] * 50 + [key] + [good] * 50)
            with self.assertRaisesRegex(apsw.SQLError, f"keys of layout {layout} are "):
                self.value("INSERT INTO f SELECT bloom_agg(key, ?1) FROM keys RETURNING 1",
                           self.empty(layout))
            self.assertEqual(self.value("SELECT count(*) FROM f"), 0)

    def test_text_that_is_not_utf8(self):
        """Each longest piece that could begin a character becomes one U+FFFD; as in Java, where an
        encoded surrogate is one such piece."""
        generator = random.Random(6)
        samples = [b"\x80", b"\xc3", b"a\xc3b", b"\xe2\x82", b"\xe2\x82\xe2", b"\xf0\x9f\x98",
                   b"\xf0\x9f\x98a", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80",
                   b"\xf4\x90\x80\x80",
                   b"\xf5\x80\x80\x80", b"\xff\xfe", b"\xf8\x88\x80\x80\x80", b"\xf0\x8f\xbf\xbf",
                   b"\xf1\x80\x80\x80", b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xe1\x80\xc2\xa9",
                   b"\xf4\x8f\xbf\xbf", b"\xf0\x90\x80"]
        parts = [b"a", b"\x80", b"\xbf", b"\xc2", b"\xe0", b"\xa0", b"\x9f", b"\xed", b"\xf0",
                 b"\x90", b"\xf4", b"\x8f", b"\xe1", b"\xf1", b"\xc1", b"\xf5"]
        samples += [b"".join(generator.choices(parts, k=generator.randint(1, 12)))
                    for _ in range(2000)]
        empty = self.empty("classic-utf16")
        for sample in samples:
            plain = made("classic-utf16").add(foreign_form.java_text(sample))
            held = self.value("SELECT bloom_add(?1, CAST(?2 AS TEXT))", empty, sample)
            self.assertEqual(held[64:], bytes(plain.bits), sample)

    def test_a_database_in_utf16(self):
        self.database.cursor().execute("PRAGMA encoding='UTF-16'; CREATE TABLE t(x)")
        for text in TEXTS[1:]:
            if text == "\uffff":  # which SQLite itself turns into U+FFFD there
                continue
            self.database.cursor().execute("DELETE FROM t")
            self.database.cursor().execute("INSERT INTO t VALUES (?)", (text,))
            held = self.value("SELECT bloom_add(?1, x) FROM t", self.empty("classic-utf16"))
            self.assertEqual(held[64:], bytes(made("classic-utf16").add(text).bits), repr(text))


class Refusals(exchange_test.WithExtension):
    maxDiff = None

    def refused_bytes(self, problem, data, form):
        self.refused(f"bloom_import: the bytes (argument 1) {problem}", IMPORT, data, form)

    def sample(self, layout):
        generator = random.Random(layout)
        return made(layout, 60, 0.1).add(*(random_key(generator, layout) for _ in range(40)))

    def forms(self):
        """Each layout with its format, and a filter in each form that the format reads."""
        for layout in LAYOUTS:
            for form in ("", *FORMS.get(layout, ())):
                yield layout, FORMATS[layout], form, self.sample(layout).write(form=form)
        for name in ("string_10_0.01_mitz64", "long_500_0.03_mitz32"):
            yield "classic", "guava", "", exchange_test.golden(name)

    def test_every_truncation_and_extension(self):
        for layout, format_name, form, data in self.forms():
            for length in list(range(len(data))) + [len(data) + more for more in (1, 7, 8, 32, 99)]:
                cut = data[:length] + bytes(max(0, length - len(data)))
                # DCSO's files end in data of any length; whole blocks of Parquet are a bitset.
                if (layout == "dcso" and length > len(data)) or (
                        layout.startswith("parquet") and length % 32 == 0 and length > 0):
                    self.assertIsNotNone(self.value(IMPORT, cut, format_name))
                    continue
                with self.subTest(format=format_name, form=form, length=length):
                    with self.assertRaisesRegex(apsw.SQLError, r"\(argument 1\) (are|were|say) "):
                        self.value(IMPORT, cut, format_name)

    def test_every_bit_of_the_header(self):
        """A changed header is refused, or is a filter that goes back as it came."""
        headers = {"spark1": 12, "spark2": 16, "dcso": 48, "go": 24, "parquet": 16,
                   "parquet-int32": 16, "redisbloom": 73, "classic-utf16": 6, "classic": 6}
        accepted = {}
        for layout, form, other, data in self.forms():
            taken = set()
            for bit in range(8 * headers[layout] if other == "" else 0):
                changed = bytearray(data)
                changed[bit // 8] ^= 1 << bit % 8
                try:
                    imported = self.value(IMPORT, bytes(changed), form)
                except apsw.SQLError as error:
                    self.assertRegex(str(error), r"\(argument 1\) (are|were|say) ")
                    continue
                taken.add(bit // 8)
                if form == "go":  # the length of the row is written as m
                    changed[16:24] = changed[:8]
                self.assertEqual(without_counters(layout, self.value(EXPORT, imported, form)),
                                 without_counters(layout, bytes(changed)), (form, bit))
            if other == "":
                accepted[layout if form == "spark" else form] = sorted(taken)
        # k, the seed, n and p, N, growth and scaling, last digits of rates, and lengths that agree
        # with the bytes.
        self.assertEqual(accepted, {
            "spark1": [6, 7], "spark2": [6, 7, 8, 9, 10, 11],
            "dcso": [*range(8, 13), *range(16, 24), 24, 25, 32, *range(40, 48)],
            "go": [7, 14, 15, 23], "parquet": [], "parquet-int32": [],
            "redisbloom": [12, *range(16, 20), 44, 52, *range(64, 69)], "guava-utf16": [1],
            "guava": [0, 1]})

    def test_lengths_that_lie_allocate_nothing(self):
        largest = apsw.SQLITE_STATUS_MALLOC_SIZE
        small = bytes(40)
        for form, data in (
                ("guava", struct.pack(">bBi", 1, 7, 2**31 - 1) + small),
                ("spark", struct.pack(">iii", 1, 3, 2**31 - 1) + small),
                ("spark", struct.pack(">iiii", 2, 3, 0, 2**31 - 1) + small),
                ("dcso", struct.pack("<QQdQQQ", 1, 9, 0.1, 3, 2**52, 0) + small),
                ("go", struct.pack(">QQQ", 2**52, 3, 2**52) + small),
                ("go", struct.pack(">QQ", 2**40, 3) + struct.pack("<Q", 2**40) + small),
                ("parquet", b"\x15\x80\x80\x80\x08" + bytes.fromhex("1c1c0000") * 3 + b"\0"
                 + small),
                ("redisbloom", struct.pack("<QIIIQQQddIQB", 0, 1, 5, 2, 2**40, 2**43, 0, 0.025,
                                           7.677932, 6, 100, 0) + small)):
            apsw.status(largest, True)
            with self.assertRaises(apsw.SQLError):
                self.value(IMPORT, data, form)
            self.assertLess(apsw.status(largest)[1], 100_000, form)

    def test_bits_beyond_the_last(self):
        for layout, again in (("dcso", "Fetch the file again"),
                              ("go", "Write it again with WriteTo")):
            plain = Filter(layout, 100, 3, 20, 0.1)
            data = bytearray(plain.write())
            at = len(data) - 8 + (4 if layout == "dcso" else 3)  # bits 96 to 103 of 100
            data[at] = 0x0F
            self.assertIsNotNone(self.value(IMPORT, bytes(data), layout))
            for value in (0x10, 0x80, 0xFF):
                data[at] = value
                self.refused_bytes("are damaged: bits are set beyond the last of the filter. "
                                   + again, bytes(data), layout)

    def test_spark(self):
        good = self.sample("spark1").write()
        release = self.value("SELECT bloom_version()").split()[1].rstrip(",")
        self.refused_bytes("are a serialised object of Java. Write the filter with "
                           "BloomFilter.writeTo instead of ObjectOutputStream",
                           bytes.fromhex("aced0005737200"), "spark")
        for version in (0, 3, 256, 2**31):
            self.refused_bytes(f"are not a Spark filter that release {release} of this extension "
                               f"knows: they begin with version {version}, but known are 1 and 2. "
                               "Write the filter with BloomFilter.writeTo or get a newer release",
                               struct.pack(">I", version) + good[4:], "spark")
        for k, told in ((0, 0), (-1, -1), (65536, 65536), (-2**31, -2**31)):
            self.refused_bytes(f"say {told} hashes per key, which must be 1 to 65535. Write the "
                               "filter again with BloomFilter.writeTo",
                               good[:4] + struct.pack(">i", k) + good[8:], "spark")
        for words in (0, -1, -2**31):
            self.refused_bytes(f"are damaged: they say {words} words of 64 bits, but a Spark "
                               "filter has 1 to 2147483647. Write the filter again with "
                               "BloomFilter.writeTo",
                               good[:8] + struct.pack(">i", words) + good[12:], "spark")
        self.refused_bytes("are cut off: there are 15, but the header of a Spark filter alone has "
                           "16. Store all that BloomFilter.writeTo writes",
                           self.sample("spark2").write()[:15], "spark")
        self.refused_bytes("are cut off: there are 0, but the header of a Spark filter alone has "
                           "12. Store all that BloomFilter.writeTo writes", b"", "spark")
        self.refused_bytes(f"were cut off or extended: there are {len(good) + 3}, but their header "
                           f"says {len(good)}. Store exactly what BloomFilter.writeTo writes",
                           good + b"123", "spark")

    def test_dcso(self):
        good = self.sample("dcso").write()
        self.refused_bytes("have version 2, which is poppy's own and not a DCSO filter. Make the "
                           "filter with poppy's version 1", b"\2" + good[1:], "dcso")
        for flags, told in ((0, "0000000000000000"), (0x101, "0000000000000101"),
                            (1 | 1 << 63, "8000000000000001"), (3, "0000000000000003")):
            self.refused_bytes(f"are not a DCSO filter that is known: they begin with the flags "
                               f"{told}, but a filter of version 1 has 0000000000000001. Check "
                               "where it comes from", struct.pack("<Q", flags) + good[8:],
                               "dcso")
        for n, p, told in ((0, 0.1, "0.1"), (2**40 + 1, 0.1, "0.1"), (5, 0.0, "0"), (5, 1.0, "1"),
                           (5, -1.234567, "-1.23457"), (5, math.inf, "inf"), (5, math.nan, "nan")):
            self.refused_bytes(f"are damaged: their header says n = {n} and p = {told}, but n must "
                               "be 1 to 1099511627776, p between 0 and 1. Fetch the file again",
                               good[:8] + struct.pack("<Qd", n, p) + good[24:], "dcso")
        for k, m in ((0, 100), (65536, 100), (2**63, 100), (3, 0), (3, 2**52 + 1), (3, 2**64 - 1)):
            self.refused_bytes(f"are damaged: their header says {k} hashes and {m} bits, but there "
                               "must be 1 to 65535 and 1 to 4503599627370496. Fetch the file again",
                               good[:24] + struct.pack("<QQ", k, m) + good[40:], "dcso")
        self.refused_bytes("are damaged: their header says 300 hashes for 299 bits, but more than "
                           "255 need as many bits. Write them again where they come from",
                           good[:24] + struct.pack("<QQ", 300, 299) + good[40:], "dcso")
        self.refused_bytes("are cut off: there are 47, but the header of a DCSO filter alone has "
                           "48. Store the whole file", good[:47], "dcso")
        self.refused_bytes(f"are cut off: there are {len(good) - 1}, but their header says at "
                           f"least {len(good)}. Store the whole file", good[:-1], "dcso")

    def test_go(self):
        plain = self.sample("go")
        good = plain.write()
        self.refused_bytes("are JSON. Write the filter with WriteTo or MarshalBinary instead",
                           b'{"m":1,"k":1,"b":""}', "go")
        for m, k in ((0, 3), (2**52 + 1, 3), (100, 0), (100, 65536)):
            self.refused_bytes(f"are not a filter of bits-and-blooms: their header says {k} hashes "
                               f"and {m} bits. There must be 1 to 65535 and 1 to 4503599627370496. "
                               "Write the filter with WriteTo or MarshalBinary",
                               struct.pack(">QQ", m, k) + good[16:], "go")
        self.refused_bytes(f"are not a filter of bits-and-blooms: their header says {plain.m} "
                           "bits, but a row of 64. Write the filter with WriteTo or MarshalBinary",
                           good[:16] + struct.pack(">Q", 64) + good[24:], "go")
        self.refused_bytes("are cut off: there are 23, but the header of a filter of "
                           "bits-and-blooms alone has 24. Store all that WriteTo writes", good[:23],
                           "go")
        self.refused_bytes(f"were cut off or extended: there are {len(good) + 8}, but their header "
                           f"says {len(good)}. Store exactly what WriteTo writes",
                           good + bytes(8), "go")

    def test_go_little_endian(self):
        for m in (1, 63, 64, 65, 1248, 1279, 1280):
            plain = Filter("go", m, 3).add("a", "b", "c")
            little = struct.pack(">QQ", m, 3) + struct.pack("<Q", m) + plain.words("<")
            imported = self.value(IMPORT, little, "go")
            self.assertEqual(imported, self.value(IMPORT, plain.write(), "go"))
            self.assertEqual(self.value(EXPORT, imported, "go"), plain.write())

    def test_go_rows_of_other_lengths(self):
        """A program may give a row of its own: FromWithM. Bits beyond it are zero."""
        plain = Filter("go", 100, 3).add("a", "b", "c")
        for row in (128, 101, 127):
            data = plain.write()[:16] + struct.pack(">Q", row) + plain.words(">")
            imported = self.value(IMPORT, data, "go")
            self.assertEqual(self.value(EXPORT, imported, "go"), plain.write())
        short = struct.pack(">QQQQQ", 100, 3, 70, 0, 1 << 6)
        self.refused_bytes("are damaged: bits are set beyond the last of the filter. Write it "
                           "again with WriteTo", short, "go")

    def test_parquet(self):
        plain = self.sample("parquet")
        good = plain.write()
        bare = bytes(plain.bits)
        imported = self.value(IMPORT, bare, "parquet")
        self.assertEqual(imported, self.value(IMPORT, good, "parquet"))
        self.assertEqual(self.value(EXPORT, imported, "parquet"), good)
        self.refused_bytes("are a whole Parquet file. Cut out the filter of one column and row "
                           "group, at bloom_filter_offset with bloom_filter_length",
                           b"PAR1" + bytes(100) + b"PAR1", "parquet")
        for bitset in (b"PAR1" + bytes(60), bytes(60) + b"PAR1"):  # is no file for that
            self.assertEqual(self.value(IMPORT, bitset, "parquet")[64:], bitset)
        for data in (b"", good[:-1], good[:5] + b"\x2c" + good[6:], bare[:31], bare + b"\0",
                     b"\x15\x00" + good[3:], good + bytes(32)):
            self.refused_bytes(f"are not a Bloom filter of Parquet: these {len(data)} are neither "
                               "a header of split blocks, XXH64 and no compression with the bitset "
                               "that it announces, nor a bitset of whole blocks of 32. Take "
                               "bloom_filter_length bytes at bloom_filter_offset", data, "parquet")
        for other in ("parquet", "parquet-int32"):
            wrong = "parquet" if other != "parquet" else "parquet-int32"
            self.refused(f"bloom_export: argument 1 has layout {wrong}, which is "
                         f"not the layout of this format. Build it with layout {other}",
                         EXPORT, self.value(IMPORT, bare, wrong), other)

    def test_parquet_headers_of_every_length(self):
        for blocks, length in ((1, 15), (2, 16), (128, 16), (255, 16), (256, 17), (16384, 17),
                               (32768, 18)):
            data = Filter("parquet", 256 * blocks, 8).add("abc").write()
            self.assertEqual(len(data), 32 * blocks + length)
            again = self.value(EXPORT, self.value(IMPORT, data, "parquet"), "parquet")
            self.assertEqual(again, data)

    def test_redisbloom(self):
        good = self.sample("redisbloom").write()

        def changed(at, form, *values):
            data = bytearray(good)
            struct.pack_into("<" + form, data, at, *values)
            return bytes(data)

        for links in (0, 2, 7):
            self.refused_bytes(f"are {links} filters in a chain, and only one can be read. Reserve "
                               "room for all keys with BF.RESERVE, so that there is one",
                               changed(8, "I", links), "redisbloom")
        for options in (0, 1, 4, 7, 12, 15):
            self.refused_bytes("are not a filter of RedisBloom 2.2 or newer: their header says "
                               f"options {options}, but known are 5 and 13. Join all chunks of "
                               "BF.SCANDUMP, the first one first",
                               changed(12, "I", options), "redisbloom")
        bits = 8 * (len(good) - 73)
        for at, form, value, told in (
                (20, "Q", 0, f"60 keys, rate 0.1, 5 hashes and {bits} bits in 0 bytes"),
                (28, "Q", bits + 64, f"60 keys, rate 0.1, 5 hashes and {bits + 64} bits in "
                                     f"{bits // 8} bytes"),
                (36, "Q", 3, f"60 keys, rate 0.1, 5 hashes and {bits} bits in {bits // 8} bytes"),
                (44, "d", 0.6172835, f"60 keys, rate 1.23457, 5 hashes and {bits} bits in "
                                     f"{bits // 8} bytes"),
                (44, "d", 5e-302, f"60 keys, rate 1e-301, 5 hashes and {bits} bits in "
                                  f"{bits // 8} bytes"),
                (52, "d", 6.3, f"60 keys, rate 0.1, 5 hashes and {bits} bits in {bits // 8} bytes"),
                (60, "I", 4, f"60 keys, rate 0.1, 4 hashes and {bits} bits in {bits // 8} bytes"),
                (60, "I", 0, f"60 keys, rate 0.1, 0 hashes and {bits} bits in {bits // 8} bytes"),
                (60, "I", 70000,
                 f"60 keys, rate 0.1, 70000 hashes and {bits} bits in {bits // 8} bytes"),
                (64, "Q", 0, f"0 keys, rate 0.1, 5 hashes and {bits} bits in {bits // 8} bytes"),
                (72, "B", 1, f"60 keys, rate 0.1, 5 hashes and {bits} bits in {bits // 8} bytes")):
            self.refused_bytes(f"are damaged: their header says {told}, which no filter of "
                               "RedisBloom has. Dump it again with BF.SCANDUMP",
                               changed(at, form, value), "redisbloom")
        odd = bytearray(changed(20, "Q", bits // 8 + 4))
        struct.pack_into("<Q", odd, 28, bits + 32)
        self.refused_bytes(f"are damaged: their header says 60 keys, rate 0.1, 5 hashes and "
                           f"{bits + 32} bits in {bits // 8 + 4} bytes, which no filter of "
                           "RedisBloom has. Dump it again with BF.SCANDUMP", bytes(odd),
                           "redisbloom")
        self.refused_bytes("are cut off: there are 72, but the header of a RedisBloom filter alone "
                           "has 73. Join all chunks of BF.SCANDUMP", good[:72], "redisbloom")
        self.refused_bytes(f"were cut off or extended: there are {len(good) - 1}, but their header "
                           f"says {len(good)}. Join exactly the chunks of BF.SCANDUMP", good[:-1],
                           "redisbloom")

    def test_redisbloom_without_scaling(self):
        for name, _, _, data, _, _ in foreign_form.golden():
            if name == "redisbloom_text":
                self.assertEqual(data[12], 13)
                imported = self.value(IMPORT, data, "redisbloom")
                self.assertEqual(imported[40:48].hex(), "0200000001000000")
                self.assertEqual(imported[48:56], data[52:60])

    def test_guava_utf16(self):
        self.refused_bytes("are a Guava filter of the older strategy MURMUR128_MITZ_32, which is "
                           "read as format 'guava' alone. Write the filter with a current Guava",
                           b"\0" + exchange_test.STRINGS[1:], "guava-utf16")
        imported = self.value(IMPORT, exchange_test.STRINGS, "guava-utf16")
        self.assertEqual(imported[6], 3)
        self.assertEqual(self.value(EXPORT, imported, "guava-utf16"), exchange_test.STRINGS)
        self.refused("bloom_export: argument 1 has layout classic-utf16, which Guava "
                     "does not know. Build it with layout classic", EXPORT, imported, "guava")

    def test_exports_of_other_layouts(self):
        blocked = self.value("SELECT bloom_new(10)")
        known = {"spark": "Spark does not know", "dcso": "DCSO's bloom does not know",
                 "go": "bits-and-blooms does not know", "redisbloom": "RedisBloom does not know",
                 "guava": "Guava does not know",
                 "guava-utf16": "Guava does not know by this funnel"}
        built = {"spark": "spark1, or spark2 for Spark 4.1 and newer",
                 "guava-utf16": "classic-utf16"}
        for layout, form, _, _ in self.forms():
            usual = FORMATS.get(layout, form)
            who = known.get(usual, "is not the layout of this format")
            self.refused(f"bloom_export: argument 1 has layout blocked, which {who}. "
                         f"Build it with layout {built.get(usual, layout)}", EXPORT, blocked, form)

    def test_headers_that_nothing_writes(self):
        """With a right checksum, but parameters that the layout has not."""
        def with_header(layout, at, value):
            data = bytearray(self.value(IMPORT, made(layout).write(), FORMATS[layout]))
            data[at:at + len(value)] = value
            data[56:64] = struct.pack("<Q", pages.murmur3(bytes(data[:56]))[0])
            return bytes(data)

        for layout, at, value, problem in (
                ("spark1", 40, b"\1", "is invalid: layout spark1 has no seed"),
                ("spark1", 48, b"\1", "is invalid: layout spark1 has no seed"),
                ("spark2", 44, b"\1", "is invalid: layout spark2 has a seed of 32 bits"),
                ("spark2", 48, b"\1", "is invalid: layout spark2 has a seed of 32 bits"),
                ("parquet", 21, b"\x02", "is invalid: layout parquet has 8 hashes, at most 2^40 "
                                         "bits and no further parameters"),
                ("parquet", 8, b"\7", "is invalid: layout parquet has 8 hashes, at most 2^40 bits "
                                      "and no further parameters"),
                ("parquet-int32", 40, b"\1", "is invalid: layout parquet-int32 has 8 hashes, at "
                                             "most 2^40 bits and no further parameters"),
                ("redisbloom", 44, b"\2", "is invalid: its header has options that RedisBloom "
                                          "does not know")):
            self.refused(f"bloom_check: argument 1 {problem}. Ask its author to "
                         "write it again", exchange_test.CHECK,
                         with_header(layout, at, value), 1)
        self.refused("bloom_export: argument 1 was made for n = 0 keys, and DCSO's "
                     "bloom has no such filter. Build it for 1", EXPORT,
                     with_header("dcso", 24, bytes(8)), "dcso")
        self.refused("bloom_export: argument 1 was made for n = 0 keys, and DCSO's "
                     "bloom has no such filter. Build it for 1", EXPORT,
                     with_header("dcso", 32, bytes(8)), "dcso")
        for at, value in ((8, b"\7"), (48, b"\x99\x99"), (32, struct.pack("<d", 0))):
            k = 7 if at == 8 else 6
            filter_value = with_header("redisbloom", at, value)
            self.assertEqual(self.value(exchange_test.CHECK, filter_value, "a"), 0)
            self.refused("bloom_export: argument 1 says p or bits per key that no "
                         f"filter of RedisBloom has for its {k} hashes. Build it with "
                         "bloom_agg(key, n, p, 'redisbloom')", EXPORT, filter_value, "redisbloom")
        words = struct.pack("<Q", 2**31 * 64)
        for layout in ("spark1", "spark2"):
            self.refused(f"bloom_check: argument 1 is invalid: layout {layout} has at "
                         "most 2^31 - 1 words. Ask its author to write it again",
                         exchange_test.CHECK,
                         with_header(layout, 16, words), 1)


if __name__ == "__main__":
    unittest.main()
