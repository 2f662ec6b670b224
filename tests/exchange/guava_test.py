#!/usr/bin/env python3
"""The exchange with the real Guava: both sides answer alike, and write the same bytes.

Needs a JDK and Guava's jar (Debian: default-jdk-headless, libguava-java; GUAVA=path names another
jar); skips visibly without them.

    guava_test.py             run the tests (and any option of unittest)
    guava_test.py --update    write the golden files anew; look at the difference before you keep it
"""

import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import exchange_test
import guava_form

HERE = pathlib.Path(__file__).resolve().parent
GUAVA = pathlib.Path(os.environ.get("GUAVA", "/usr/share/java/guava.jar"))
# By the names of Debian's packages.
MISSING = [package for package, there in (
    ("default-jdk-headless", shutil.which("java") and shutil.which("javac")),
    ("libguava-java", GUAVA.exists())) if not there]


def encoded(value):
    if isinstance(value, int):
        return str(value)
    return "x" + (value.encode() if isinstance(value, str) else value).hex()


class Guava:
    """GuavaSide.java as a process."""

    def __init__(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [
                    "javac", "-nowarn", "-proc:none", "-cp", GUAVA, "-d", folder,
                    HERE / "GuavaSide.java"],
                check=True)
            self.process = subprocess.Popen(
                ["java", "-cp", f"{GUAVA}{os.pathsep}{folder}", "com.google.common.hash.GuavaSide"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.ask(
                "create", "long", "1", "0.5", "64")  # its classes are loaded; the folder can go

    def ask(self, command, funnel, *words):
        words = [
            word if isinstance(word, str) and command == "create" else encoded(word)
            for word in words]
        self.process.stdin.write(" ".join([command, funnel, *words]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        if not answer or answer.startswith("error"):
            raise RuntimeError(answer or "GuavaSide has ended")
        return answer

    def filter(self, *words):
        return bytes.fromhex(self.ask(*words)[1:])

    def create(self, funnel, n, p, strategy):
        return self.filter("create", funnel, str(n), repr(p), str(strategy))

    def estimate(self, funnel, data):
        count, fpp = self.ask("estimate", funnel, data).split()
        return int(count), float(fpp)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


# Funnel, n, p, strategy, keys put in: from far below n to twice as many.
CASES = [
    (funnel, n, p, strategy, keys)
    for funnel in ("string", "long")
    for strategy in (64, 32)
    for n, p, keys in (
        (1, 0.5, 1),
        (7, 0.2, 14),
        (100, 0.01, 100),
        (1000, 0.03, 1000),
        (1000, 1e-6, 500),
        (20_000, 0.001, 20_000),
        (1_000_000, 0.01, 3000))]


@unittest.skipIf(MISSING, f"skipped: {', '.join(MISSING)} not installed")
class WithGuava(exchange_test.WithExtension):
    @classmethod
    def setUpClass(cls):
        cls.guava = Guava()
        cls.addClassCleanup(cls.guava.close)

    def each(self):
        for funnel, n, p, strategy, keys in CASES:
            with self.subTest(funnel=funnel, n=n, p=p, strategy=strategy):
                yield (
                    funnel,
                    self.guava.create(funnel, n, p, strategy),
                    guava_form.present(funnel, keys))

    def estimates_agree(self, filter_value, estimate):
        self.assertEqual(self.value("SELECT bloom_count(?1)", filter_value), estimate[0])
        self.assertTrue(
            math.isclose(
                self.value("SELECT bloom_fpr(?1)", filter_value), estimate[1], rel_tol=1e-13))

    def test_filters_that_guava_wrote(self):
        for funnel, empty, keys in self.each():
            written = self.guava.filter("put", funnel, empty, *keys)
            imported = self.value(exchange_test.IMPORT, written)
            self.assertEqual(self.answers(imported, keys), "1" * len(keys))
            others = guava_form.absent(funnel, 5000)
            self.assertEqual(
                self.answers(imported, others), self.guava.ask("check", funnel, written, *others))
            self.assertEqual(self.value(exchange_test.EXPORT, imported), written)
            self.estimates_agree(imported, self.guava.estimate(funnel, written))

    def test_keys_added_on_either_side_set_the_same_bits(self):
        for funnel, empty, keys in self.each():
            half = len(keys) // 2
            written = self.guava.filter("put", funnel, empty, *keys)
            added = self.value(
                f"SELECT bloom_agg(key, bloom_import(?1, 'guava')) FROM {self.keys(keys)}", empty)
            self.assertEqual(self.value(exchange_test.EXPORT, added), written)
            first = self.value(
                "SELECT bloom_export(bloom_agg(key, bloom_import(?1, 'guava')), 'guava') FROM"
                f" {self.keys(keys[:half + 1])}",
                empty)
            self.assertEqual(self.guava.filter("put", funnel, first, *keys[half:]), written)

    def test_unions(self):
        for funnel, empty, keys in self.each():
            half = len(keys) // 2
            first, second = (
                self.guava.filter("put", funnel, empty, *part)
                for part in (keys[:half], keys[half:]))
            union = self.value(
                "SELECT bloom_export(bloom_union(bloom_import(?1, 'guava'), bloom_import(?2,"
                " 'guava')), 'guava')", first, second)
            self.assertEqual(union, self.guava.filter("union", funnel, first, second))

    def test_filters_made_here(self):
        for funnel in ("string", "long"):
            for n, p, count in (
                (1, 0.5, 1),
                (10, 0.01, 10),
                (1000, 0.001, 1000),
                (30_000, 0.01, 30_000),
            ):
                with self.subTest(funnel=funnel, n=n, p=p):
                    keys = guava_form.present(funnel, count)
                    made = self.value(
                        f"SELECT bloom_agg(key, ?1, ?2, 'classic') FROM {self.keys(keys)}", n, p)
                    exported = self.value(exchange_test.EXPORT, made)
                    self.assertEqual(self.guava.ask("check", funnel, exported, *keys), "1" * count)
                    others = guava_form.absent(funnel, 5000)
                    self.assertEqual(
                        self.guava.ask("check", funnel, exported, *others),
                        self.answers(made, others))
                    self.assertEqual(self.guava.filter("same", funnel, exported), exported)
                    self.estimates_agree(made, self.guava.estimate(funnel, exported))

    def test_filters_of_the_same_n_and_p_are_the_same(self):
        """So they merge. Where this extension refuses, Guava's filter would miss its rate."""
        made = 0
        for p in (0.6, 0.5, 0.3, 0.1, 0.03, 0.02, 0.01, 0.001, 1e-4, 1e-5):
            for n in (1, 2, 3, 7, 10, 25, 42, 64, 100, 1000, 1001, 4711, 50_000, 123_456):
                try:
                    ours = self.value(
                        "SELECT bloom_export(bloom_new(?1, ?2, 'classic'), 'guava')", n, p)
                except exchange_test.apsw.SQLError as error:
                    self.assertIn("ask for layout blocked", str(error))
                    continue
                self.assertEqual(ours, self.guava.create("string", n, p, 64), (n, p))
                made += 1
        self.assertGreater(made, 70)

    def test_a_filter_made_here_merges_with_one_of_guava_in_its_shape(self):
        plain = guava_form.Filter.read(self.guava.create("string", 1000, 0.01, 64))
        made = self.value(
            "SELECT bloom_export(bloom_add(bloom_new_bits(?1, ?2), 'here'), 'guava')",
            64 * plain.words, plain.k)
        there = self.guava.filter("put", "string", plain.write(), "there")
        self.assertEqual(
            self.guava.filter("union", "string", made, there), plain.add("here", "there").write())

    def test_bytes_are_blobs_and_an_int_is_its_four_bytes(self):
        generator = random.Random(3)
        keys = [generator.randbytes(length) for length in range(64)]
        empty = self.guava.create("bytes", 100, 0.001, 64)
        self.assertEqual(
            self.value(
                "SELECT bloom_export(bloom_agg(key, bloom_import(?1, 'guava')), 'guava') FROM"
                f" {self.keys(keys)}",
                empty),
            self.guava.filter("put", "bytes", empty, *keys))
        written = self.value(exchange_test.IMPORT, self.guava.filter("put", "int", empty, 42, -7))
        self.assertEqual(
            self.answers(written, [b"\x2a\0\0\0", b"\xf9\xff\xff\xff", 42, -7]), "1100")

    def test_guava_reads_the_golden_files(self):
        for parameters in guava_form.SETS:
            name = guava_form.name(*parameters)
            with self.subTest(filter=name):
                self.assertEqual(
                    golden_of(self.guava, exchange_test.golden(name), *parameters),
                    (exchange_test.golden(name), *exchange_test.golden_answers()[name]))

    def test_every_filter_that_is_accepted_here_is_one_to_guava(self):
        generator = random.Random(4)
        for k in (1, 2, 127, 128, 255):
            for words in (1, 2, 33):
                for strategy in (0, 1):
                    data = (
                        bytes([strategy, k])
                        + words.to_bytes(4, "big")
                        + generator.randbytes(8 * words))
                    self.assertEqual(
                        self.value("SELECT bloom_export(bloom_import(?1, 'guava'), 'guava')", data),
                        data)
                    self.assertEqual(self.guava.filter("same", "string", data), data)
                    self.estimates_agree(
                        self.value(exchange_test.IMPORT, data), self.guava.estimate("string", data))


def golden_of(guava, data, funnel, n, _, __):
    """A golden file and what Guava says of it."""
    answers = guava.ask("check", funnel, data, *guava_form.absent(funnel))
    if guava.ask("check", funnel, data, *guava_form.present(funnel, n)) != "1" * n:
        raise AssertionError("Guava does not find what it put in")
    return (
        guava.filter("same", funnel, data),
        *guava.estimate(funnel, data),
        f"{int(answers, 2):0{guava_form.ABSENT // 4}x}")


def update():
    guava = Guava()
    guava_form.GOLDEN.mkdir(exist_ok=True)
    with open(guava_form.GOLDEN / "answers.txt", "w", encoding="utf-8") as lines:
        for parameters in guava_form.SETS:
            funnel, n, *_ = parameters
            name = guava_form.name(*parameters)
            data = guava.filter(
                "put", funnel, guava.create(*parameters), *guava_form.present(funnel, n))
            data, count, fpp, answers = golden_of(guava, data, *parameters)
            (guava_form.GOLDEN / f"{name}.guava").write_bytes(data)
            lines.write(f"{name} {count} {fpp!r} {answers}\n")
    guava.close()


if __name__ == "__main__":
    if "--update" in sys.argv[1:]:
        update()
    else:
        unittest.main()
