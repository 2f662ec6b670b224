#!/usr/bin/env python3
"""The exchange with the real libraries: both sides answer alike and write the same bytes.

- Spark's spark-sketch of both versions, by Maven and a JVM
- Guava, from Debian's libguava-java: both strategies and every funnel; GUAVA=path names another jar
- Go's bits-and-blooms/bloom and DCSO/bloom, by go
- Python's pyarrow, from PyPI; programs_test.py has flor

What cannot be had is skipped and says so. Everything that is fetched lies in build/exchange and is
fetched once.

A library has a side, an object that is asked, with keys as an argument of its own:

    make KIND N P               a filter with these keys
    put KIND FILTER             the filter with the keys in it
    check KIND FILTER           a 1 or 0 for each key
    seeded KIND N BITS SEED     an empty filter with that seed: Spark 4.1
"""
import base64
import functools
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import unittest

import apsw

from fetched import BUILD, Missing, fetched, module
from foreign_form import LAYOUTS
from foreign_test import EXPORT, IMPORT, TEXTS, WithExtension, without_counters

HERE = pathlib.Path(__file__).resolve().parent


def spark(version):
    jar = BUILD / f"spark-sketch_2.13-{version}.jar"
    if not jar.exists():
        fetched("mvn", "-q", "-B", "dependency:copy", f"-DoutputDirectory={BUILD}",
                f"-Dartifact=org.apache.spark:spark-sketch_2.13:{version}")
    return module("java_side").Spark(jar)


def guava():
    jar = os.environ.get("GUAVA", "/usr/share/java/guava.jar")
    if not os.path.exists(jar):
        raise Missing("libguava-java is not installed")
    return module("java_side").Guava(jar)


def go():
    folder = BUILD / "go"
    shutil.copytree(HERE / "go_side", folder, dirs_exist_ok=True)
    fetched("go", "build", "-o", str(folder / "side"), ".", cwd=folder)
    return GoSide(folder / "side")


def encoded(key):
    return base64.b64encode(key.encode() if isinstance(key, str) else key).decode()


class GoSide:
    FIELDS = {"make": ("N", "P"), "form": ("To", "Filter")}

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, command, kind, *words, keys=()):
        question = {"Command": command, "Kind": kind, "Keys": list(map(encoded, keys))}
        for name, word in zip(self.FIELDS.get(command, ("Filter",)), words):
            question[name] = encoded(word) if isinstance(word, bytes) else word
        print(json.dumps(question), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        return answer if command == "check" else base64.b64decode(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def text_keys(count, seed):
    generator = random.Random(seed)
    keys = TEXTS + [generator.randbytes(generator.randint(0, 60)) for _ in range(count // 2)]
    return keys + [f"http://example.com/{i}/\u00e4" for i in range(count - len(keys))]


def mixed_keys(count, seed):
    generator = random.Random(seed)
    numbers = [generator.choice([generator.randint(-2**63, 2**63 - 1), generator.randint(0, 99)])
               for _ in range(count // 3)]
    return [0, 1, -1, 2**63 - 1, -2**63, *numbers, *text_keys(count, seed)]


def string_keys(count, seed):
    return (["a\0b", "e\u0301", "\U0001f600"] + [f"{seed}: {i}" for i in range(count)])[:count]


def long_keys(count, seed):
    return ([-1, 2**63 - 1, -(2**63)] + [seed + 3 * i for i in range(count)])[:count]


def bytes_keys(count, seed):
    generator = random.Random(count)
    return [generator.randbytes(i % 64) + bytes([seed]) for i in range(count)]


class Sides:
    """What holds of every library with a side. kinds: by the name of the side for it, the layout,
    and a function that makes keys."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.side = cls.library()
        except Missing as reason:
            raise unittest.SkipTest(f"skipped: {reason}") from reason

    def exported(self, filter_value, layout):
        return without_counters(layout, self.value(EXPORT, filter_value, LAYOUTS[layout].format))

    def test_both_directions(self):
        for kind, (layout, keys_of) in self.kinds.items():
            for n, p, count in ((1, 0.5, 1), (200, 0.05, 200), (1000, 0.03, 3000),
                                (1000, 1e-6, 500), (20_000, 0.01, 20_000)):
                with self.subTest(kind=kind, n=n, p=p):
                    keys, others = keys_of(count, 1), keys_of(5000, 2)
                    empty = self.value(IMPORT, self.side.ask("make", kind, n, p),
                                       LAYOUTS[layout].format)
                    written = self.side.ask("make", kind, n, p, keys=keys)
                    made = self.value(f"SELECT bloom_agg(key, ?1) FROM {self.keys(keys)}", empty)
                    self.assertEqual(self.exported(made, layout), without_counters(layout, written))
                    self.assertEqual(self.value(IMPORT, written, LAYOUTS[layout].format), made)
                    self.assertEqual(self.answers(made, keys), "1" * len(keys))
                    answers = self.side.ask("check", kind, written, keys=others)
                    self.assertEqual(self.answers(made, others), answers)
                    self.assertIn("1" if p > 0.01 else "0", answers)  # false positives
                    # And on there with what was written here.
                    exported = self.value(EXPORT, made, LAYOUTS[layout].format)
                    there = self.side.ask("put", kind, exported, keys=others)
                    both = self.value("SELECT bloom_union(?1, bloom_agg(key, ?1)) FROM "
                                      + self.keys(others), made)
                    self.assertEqual(self.exported(both, layout), without_counters(layout, there))

    def test_filters_of_the_same_n_and_p_are_the_same(self):
        """So they merge. Where this extension refuses, the library's filter would miss its rate."""
        for kind, (layout, _) in self.kinds.items():
            generator, same = random.Random(kind), 0
            for _ in range(150 if LAYOUTS[layout].size else 0):
                n = generator.choice([generator.randint(1, 300), 10 ** generator.randint(0, 5),
                                      generator.randint(1, 100_000)])
                p = generator.choice([0.5, 0.1, 0.05, 0.03, 0.01, 0.001, 1e-6, 1e-9, 0.25, 0.125,
                                      round(generator.uniform(0.01, 0.99), 2), generator.random(),
                                      10 ** -generator.uniform(0, 12)])
                try:
                    ours = self.value("SELECT bloom_new(?1, ?2, ?3)", n, p, layout)
                except apsw.SQLError as error:
                    self.assertRegex(str(error), "Ask for (layout blocked|a smaller p)")
                    continue
                self.assertEqual(self.exported(ours, layout), without_counters(
                    layout, self.side.ask("make", kind, n, p)), (n, p))
                same += 1
            self.assertTrue(same > 50 or not LAYOUTS[layout].size)


class Spark(Sides, WithExtension):
    kinds = {"spark": ("spark1", mixed_keys)}
    library = functools.partial(spark, "3.5.1")


class Spark4(Sides, WithExtension):
    kinds = {"spark": ("spark2", mixed_keys)}
    library = functools.partial(spark, "4.1.1")

    def test_seeds(self):
        for seed in (1, -1, 42, 2**31 - 1, -2**31):
            keys = mixed_keys(500, 1)
            empty = self.side.ask("seeded", "spark", 500, 4000, seed)
            written = self.side.ask("put", "spark", empty, keys=keys)
            here = self.value(f"SELECT bloom_export(bloom_agg(key, bloom_import(?1, 'spark')), "
                              f"'spark') FROM {self.keys(keys)}", empty)
            self.assertEqual(here, written)


class Go(Sides, WithExtension):
    kinds = {"go": ("go", text_keys), "dcso": ("dcso", text_keys)}
    library = staticmethod(go)

    @classmethod
    def tearDownClass(cls):
        cls.side.close()

    def test_every_form(self):
        for n in (1, 13, 200, 1000):
            usual = self.side.ask("make", "go", n, 0.03, keys=[f"{i}" for i in range(n)])
            filter_value = self.value(IMPORT, usual, "go")
            written = {form: self.side.ask("form", "go", form, usual)
                       for form in ("big", "little", "words-big", "words-little")}
            for form, data in written.items():
                with self.subTest(n=n, form=form):
                    self.assertEqual(self.value(IMPORT, data, "go"), filter_value)
            self.assertEqual(len(set(written.values())), 4)  # no m is whole words


class Guava(Sides, WithExtension):
    kinds = {"string:64": ("classic", string_keys), "string:32": ("classic32", string_keys),
             "long:64": ("classic", long_keys), "long:32": ("classic32", long_keys),
             "bytes:64": ("classic", bytes_keys), "chars:64": ("classic-utf16", string_keys)}
    library = staticmethod(guava)


class Arrow(WithExtension):
    """pyarrow writes files, in which there are filters of columns."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.library = module("pyarrow", "pyarrow")
        except Missing as reason:
            raise unittest.SkipTest(f"skipped: {reason}") from reason
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.file = pathlib.Path(folder.name, "filter")

    def written(self, kind, values, n, p):
        parquet = module("pyarrow.parquet")
        column = self.library.array(values, getattr(self.library, kind)())
        parquet.write_table(self.library.table({"v": column}), self.file, row_group_size=1 << 20,
                            bloom_filter_options={"v": {"ndv": n, "fpp": p}})
        chunk = parquet.read_metadata(self.file).row_group(0).column(0)
        if not hasattr(chunk, "bloom_filter_offset"):
            self.skipTest("skipped: this pyarrow does not tell where a filter is")
        data = self.file.read_bytes()
        with self.assertRaisesRegex(apsw.SQLError, "are a whole Parquet file"):
            self.value(IMPORT, data, "parquet")
        return data[chunk.bloom_filter_offset:][:chunk.bloom_filter_length]

    def test_columns(self):
        generator = random.Random(1)
        numbers = [generator.randint(-2**31, 2**31 - 1) for _ in range(2000)]
        for kind, form, values in (
                ("string", "parquet", [f"key {i}\u00e4" for i in range(2000)]),
                ("binary", "parquet", [generator.randbytes(i % 50) + struct.pack("<H", i)
                                       for i in range(2000)]),
                ("int64", "parquet", [number * 2**31 + 5 for number in numbers]),
                ("float64", "parquet", [number / 3 for number in numbers]),
                ("int32", "parquet-int32", numbers),
                ("uint32", "parquet-int32", [number + 2**31 for number in numbers])):
            with self.subTest(kind=kind):
                values = list(dict.fromkeys(values))
                for n, p in ((2000, 0.05), (3000, 0.01)):
                    written = self.written(kind, values, n, p)
                    made = self.value(f"SELECT bloom_agg(key, ?1, ?2, ?3) FROM {self.keys(values)}",
                                      n, p, form)
                    self.assertEqual(self.value(EXPORT, made, form), written)

    def test_both_zeros(self):
        """They are equal, and only one of them can be in a column of SQLite."""
        for column in ([0.0], [-0.0]):
            imported = self.value(IMPORT, self.written("float64", column, 1, 0.001), "parquet")
            for zero in (0.0, -0.0, 0):
                self.assertEqual(self.value("SELECT bloom_check(?1, ?2)", imported, zero), 1)
            self.assertEqual(self.value("SELECT bloom_check(?1, ?2)", imported, 1.0), 0)

    def test_halved_filters(self):
        """Row groups of one n and p with few keys and many: filters of several sizes, each ours
        halved until it is as short, and with all their keys when united."""
        generator, written, every = random.Random(2), [], []
        for count in (1, 20, 100, 500, 1000, 2000, 5000, 10000, 20000, 20000):
            keys = [f"key {generator.getrandbits(60)}" for _ in range(count)]
            data = self.value(IMPORT, self.written("string", keys, 20000, 0.01), "parquet")
            shape = self.value("SELECT bloom_add(?1, 'x')", data)[:64] + bytes(len(data) - 64)
            full = self.value("SELECT bloom_import(bloom_export(bloom_agg(key, 20000, 0.01, "
                              f"'parquet'), 'parquet'), 'parquet') FROM {self.keys(keys)}")
            self.assertEqual(self.value("SELECT bloom_union(?1, ?2)", full, shape), data, count)
            written.append(data)
            every += keys
        self.assertGreater(len({len(data) for data in written}), 5)
        self.keys(written)
        united = self.value("SELECT bloom_union_agg(key) FROM keys")
        self.assertEqual(len(united), min(map(len, written)))
        self.assertEqual(set(self.answers(united, every)), {"1"})


if __name__ == "__main__":
    unittest.main()
