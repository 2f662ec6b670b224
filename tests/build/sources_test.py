#!/usr/bin/env python3
"""The rules of the house that a compiler does not see: folders, widths, names.

A source file includes nothing of a folder above its own; the filter library names no SQLite; no
line of code, comment or text is wider than 100 columns; no two files give one name to two things,
so that all of them make one file; a new layout with a hashing of its own needs a file each and one
row, which a toy that is not shipped shows.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
# From the lowest; extension.c includes them all.
FOLDERS = " ".join(re.findall(r"^(?:LIBRARY_)?FOLDERS = (?:\$\(LIBRARY_FOLDERS\) )?(.*)",
                              (TOP / "Makefile").read_text(), re.MULTILINE)).split()
WITH_SQLITE = ("sqlite", "sqlite/rows", "table")
WIDTH = 100
# Data, golden files and results, and what a program prints, are not written by hand.
GENERATED = re.compile(r"\.(out|csv|svg|json|lock)$|/(results|data|golden|corpus)/")
# A number, a literal or an address that cannot be broken.
UNBREAKABLE = re.compile(r"[^\s,()]{60}|'[^']{60,}'|https?://\S")

NAME_OF_A_FILE = re.compile(r"\b(?:FORMAT-)?[a-z][a-z0-9_-]*\.(?:c|h|md|py|sql)\b")
# Of SQLite, of RedisBloom, and the amalgamation, which is made.
OTHERS_FILES = {"sqlite3.h", "sqlite3ext.h", "bloom.c", "sqlite-bloom.c"}


def sources():
    return sorted(path for path in (TOP / "ext").rglob("*/*.[ch]") if "packages" not in path.parts)


def folder_of(path):
    return str(path.parent.relative_to(TOP / "ext"))


def tracked():
    if shutil.which("git") is None or not (TOP / ".git").exists():
        return []
    names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True,
                           check=True).stdout.split("\0")
    return [name for name in names if name and (TOP / name).is_file()]


class House(unittest.TestCase):
    def test_no_file_includes_what_stands_above_it(self):
        seen = 0
        for path in sources():
            allowed = FOLDERS[:FOLDERS.index(folder_of(path)) + 1]
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
                if name in ("sqlite3.h", "sqlite3ext.h"):
                    self.assertIn(folder_of(path), WITH_SQLITE, path)
                    continue
                self.assertIn(name.rpartition("/")[0], allowed, f"{path} includes {name}")
                self.assertTrue((TOP / "ext" / name).is_file(), f"{path} includes {name}")
                seen += 1
        self.assertGreater(seen, 50)

    def test_the_filter_library_knows_no_sqlite(self):
        for path in sources():
            if folder_of(path) not in WITH_SQLITE:
                self.assertIsNone(re.search(r"\bsqlite3_\w+\s*\(", path.read_text()), path)

    def test_files_that_comments_name_are_there(self):
        """layout.h, filter/layout.h, growth_test.c: of this folder, of ext, or of the tests."""
        names = {pathlib.Path(name).name for name in tracked()} | OTHERS_FILES
        if not tracked():
            self.skipTest("skipped: git is not installed, or this is no checkout")
        found, missing = 0, []
        for path in sources() + sorted((TOP / "ext").glob("*.[ch]")):
            for comment in re.findall(r"/\*.*?\*/", path.read_text(), re.DOTALL):
                for name in NAME_OF_A_FILE.findall(comment):
                    found += 1
                    if name not in names:
                        missing.append(f"{path.name}: {name}")
        self.assertEqual(missing, [])
        self.assertGreater(found, 50)

    def test_no_line_is_wider_than_100_columns(self):
        names = tracked()
        if not names:
            self.skipTest("skipped: git is not installed, or this is no checkout")
        wide = []
        for name in names:
            contents = (TOP / name).read_bytes()
            if GENERATED.search(name) or b"\0" in contents:
                continue
            text = contents.decode().split("\n")
            for number, line in enumerate(text, 1):
                if len(line) > WIDTH and not UNBREAKABLE.search(line) \
                        and not self.is_of_one_line(name, text, number):
                    wide.append(f"{name}:{number}")
        self.assertEqual(wide, [])

    def test_all_sources_make_one_file(self):
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run([sys.executable, TOP / "ext/packages/amalgamation/amalgamate.py",
                                   folder], capture_output=True, text=True, check=False)
            self.assertEqual((made.stderr, made.returncode), ("", 0))
            subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-Wall", "-Wextra",
                            "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only",
                            f"{folder}/sqlite-bloom.c"], check=True)

    def is_of_one_line(self, name, text, number):
        """What the form of a file wants on one line: a row of a table and a link of Markdown; in a
        script the pattern of an error, a case of a foreach, and what a query gives."""
        line = text[number - 1]
        if name.endswith(".md"):
            return line.startswith("|") or "](" in line
        if name.endswith((".test", ".inc")):
            before = "\n".join(text[:number - 1]).rpartition("\n\n")[2]
            return line.startswith("statement error ") or re.search(
                r"^(----$|foreach )", before, re.M)
        return False


TOY = {
    "ext/hash/toy.c": """
/* A hashing for the test alone: the length of a text. */
#include "hash/hashing.h"
static void toy_text(const uint64_t seed[2], const void *text, size_t length, uint64_t *words) {
    (void)seed;
    (void)text;
    words[0] = length;
}
const struct bloom_hashing bloom_hashing_toy = {
    .name = "toy", .keys = "text", .number = 200, .text_only = true,
    .bytes = toy_text};
""",
    "ext/filter/layouts/toy.c": """
/* A layout for the test alone: one bit, number h[0] mod m. */
#include "base/bitset.h"
#include "filter/layout.h"
extern const struct bloom_hashing bloom_hashing_toy;
extern const struct bloom_layout bloom_layout_toy;
static bool toy_size(struct bloom_shape *shape, char problem[BLOOM_PROBLEM_SIZE]) {
    (void)problem;
    shape->probes = 1;
    shape->bits = 64;
    shape->extra[0] = 5;
    return true;
}
static bool toy_valid(const struct bloom_shape *shape) {
    return shape->extra[0] == 5 && shape->extra[1] == 0;
}
static bool toy_check(const struct bloom_shape *shape, const uint8_t *payload,
                      const uint64_t *words) {
    return (payload[words[0] % shape->bits / 8] >> words[0] % 8 & 1) != 0;
}
static void toy_add(const struct bloom_shape *shape, uint8_t *payload, const uint64_t *words,
                    size_t count) {
    for (size_t i = 0; i < count; i++)
        payload[words[i] % shape->bits / 8] |= (uint8_t)(1u << words[i] % 8);
}
static struct bloom_estimate toy_estimate(const struct bloom_shape *shape,
                                          const uint8_t *payload) {
    struct bloom_estimate estimate = {.rate = 1};
    estimate.ones = bloom_bitset_ones(payload, (size_t)bloom_payload_bytes(shape));
    estimate.count = (double)estimate.ones;
    return estimate;
}
const struct bloom_layout bloom_layout_toy = {
    .name = "toy", .hashing = &bloom_hashing_toy, .number = 200, .hash_words = 1,
    .probes_maximum = 1, .bits_multiple = 64, .advice = "Make another toy", .size = toy_size,
    .valid = toy_valid, .check = toy_check, .add = toy_add, .estimate = toy_estimate};
""",
}
TOY_STATEMENTS = [
    ("SELECT bloom_check(bloom_add(bloom_new(3, 0.1, 'toy'), 'abc'), 'xyz')", "1"),
    ("SELECT bloom_check(bloom_add(bloom_new(3, 0.1, 'toy'), 'abc'), 'abcd')", "0"),
    ("SELECT bloom_check(bloom_new(3, 0.1, 'toy'), 7)", "0"),
    ("SELECT substr(hex(bloom_agg(v, 3, 0.1, 'toy')), 11, 4) || '.' || "
     "substr(hex(bloom_agg(v, 3, 0.1, 'toy')), 81, 16) || '.' || "
     "substr(hex(bloom_agg(v, 3, 0.1, 'toy')), 129) "
     "FROM (SELECT 'a' AS v UNION SELECT 'bb')", "C8C8.0500000000000000.0600000000000000"),
    ("SELECT bloom_agg(v, NULL, 0.1, 'toy') = bloom_agg(v, 2, 0.1, 'toy') "
     "FROM (SELECT 'a' AS v UNION SELECT 'bb')", "1")]
TOY_ERRORS = [
    ("SELECT bloom_add(bloom_new(3, 0.1, 'toy'), 7)",
     "bloom_add: argument 2 is 7, but the keys of layout toy are text. Convert it with CAST, or "
     "leave it out"),
    ("SELECT bloom_union(bloom_new(3, 0.1, 'toy'), bloom_new(3, 0.1, 'toy'))",
     "bloom_union: cannot unite a filter of layout toy. Make another toy")]


class NewLayout(unittest.TestCase):
    """A layout with a hashing of its own: two files, a row, and every function has it."""

    def test_a_layout_and_a_hashing_join_by_a_file_each_and_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            shutil.copytree(TOP / "ext", top / "ext")
            for name, text in TOY.items():
                (top / name).write_text(text)
            path = top / "ext/filter/layout.c"
            path.write_text(path.read_text().replace(
                "&bloom_layout_blocked,", "&bloom_layout_blocked,\n    &bloom_layout_toy,", 1)
                .replace("\nstatic const struct", "\nextern const struct bloom_layout "
                         "bloom_layout_toy;\nstatic const struct", 1))
            files = [path, *(top / name for name in TOY)]
            files += [path for path in sorted((TOP / "build/loadable").rglob("*.o"))
                      if path.name != "layout.o"]
            subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-O1", "-Wall",
                            "-Wextra", "-Werror", "-shared", "-fPIC", "-I", str(top / "ext"),
                            *files, "-o", str(top / "bloom.so"), "-lm"], check=True)
            for sql, wanted in TOY_STATEMENTS:
                self.assertEqual(self.shell(top, sql), (wanted, ""), sql)
            for sql, wanted in TOY_ERRORS:
                output, error = self.shell(top, sql)
                self.assertEqual(output, "")
                self.assertIn(wanted, error)

    def shell(self, top, sql):
        ran = subprocess.run(["sqlite3", "-batch", "-init", "/dev/null", "-cmd",
                              f".load {top}/bloom", ":memory:", sql], capture_output=True,
                             text=True, check=False)
        return ran.stdout.strip(), ran.stderr.strip()


if __name__ == "__main__":
    unittest.main()
