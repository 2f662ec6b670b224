"""sqlite_bloom.Filter beside SQL, which must have the same bytes and answers, and beside a set of
Python, inside an environment as python_programs.py needs it.

    filter_programs.py            the tests
    filter_programs.py leaks      in a Python that counts references: prints how many are lost
"""

import array
import collections
import concurrent.futures
import copy
import gc
import io
import itertools
import math
import mmap
import os
import pathlib
import pickle
import random
import resource
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import unittest
import weakref

import sqlite_bloom
from sqlite_bloom import Filter

OPERATIONS = int(os.environ.get("OPERATIONS", 1_000_000))
SALT = "salt=000102030405060708090a0b0c0d0e0f"
LAYOUTS = ["blocked", "classic", "counting", "bitmap", "classic-utf16", "spark1", "spark2", "dcso",
           "go", "parquet", "parquet-int32", "redisbloom", "key=url", "key=url_nocase", SALT,
           f"layout=counting, key=url, {SALT}"]
KEYS = ["", "a", "\u00fc", "x\0y", "a" * 1000, "\U0001f600", "http://evil.example/A", "b.example",
        b"", b"a", b"\xff\0", 0, 1, -1, 2**31, -2**31, 2**63 - 1, -2**63, 1.5, 2.0, -0.0, 2.0**63,
        float("inf"), 1e-300, True, None, float("nan")]


CHANGED = "RuntimeError: sqlite_bloom.check: the column changed its size. Pass a copy of it"


def connect():
    connection = sqlite3.connect(":memory:")
    sqlite_bloom.load(connection)
    return connection


class Program(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.connection = connect()

    def sql(self, expression, *values):
        return self.connection.execute(f"SELECT {expression}", values).fetchone()[0]

    def says(self, message, call, *arguments, **options):
        """That a call raises an error, and which."""
        with self.assertRaises(BaseException) as caught:
            call(*arguments, **options)
        self.assertEqual(f"{type(caught.exception).__name__}: {caught.exception}", message)


class AsInSql(Program):
    def test_keys_of_every_type_in_every_layout(self):
        for options in LAYOUTS:
            rate = None if options == "bitmap" else 0.02
            filter = Filter(50, rate, options)
            value = self.sql("bloom_new(50, ?, ?)", rate, options)
            self.assertEqual(bytes(filter), value)
            for key in KEYS:
                with self.subTest(options=options, key=key):
                    try:
                        value = self.sql("bloom_add(?, ?)", value, key)
                    except sqlite3.OperationalError:
                        with self.assertRaises(ValueError):
                            filter.add(key)
                        with self.assertRaises(ValueError):
                            filter.update([key])
                    else:
                        filter.add(key)
                    self.assertEqual(bytes(filter), value)
            answers = [self.sql("bloom_check(?, ?)", value, key) for key in KEYS]
            self.assertEqual(filter.check(KEYS), [answer and bool(answer) for answer in answers])
            self.assertEqual([key in filter for key in KEYS], [answer == 1 for answer in answers])

    def test_keys_of_subclasses(self):
        keys = [type("Own", (kind,), {})(value) for kind, value in (
            (str, "a"), (bytes, b"b"), (int, 7), (float, 1.5))]
        self.assertEqual(Filter.build(keys), Filter.build(["a", b"b", 7, 1.5]))

    def test_what_is_built(self):
        for options, count, with_capacity in itertools.product(
                [*LAYOUTS, "fuse", f"layout=fuse, key=url, {SALT}"], (1, 300, 5000), (False, True)):
            kind = int if options in ("bitmap", "parquet-int32") else str
            keys = [kind(i) if kind is int else f"host{i}.example" for i in range(count)] * 2
            rate = None if options == "bitmap" else 0.003
            capacity = count if with_capacity else None
            if with_capacity and "fuse" in options:
                with self.assertRaisesRegex(ValueError, "empty filter of layout fuse"):
                    sqlite_bloom.build(keys, capacity, rate, options)
                continue
            key = "i % ?1" if kind is int else "format('host%d.example', i % ?1)"
            value = self.connection.execute(
                "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n LIMIT 2 * ?1)"
                f" SELECT bloom_agg({key}, ?2, ?3, ?4) FROM n",
                [count, capacity, rate, options]).fetchone()[0]
            counting = "counting" in (options or "")
            for given in (keys, tuple(keys), iter(keys), *(
                    [] if counting else [set(keys), dict.fromkeys(keys)])):
                built = Filter.build(given, capacity, rate, options)
                self.assertEqual(bytes(built), value, (options, count, type(given)))
            if kind is int and not with_capacity:
                self.assertEqual(
                    bytes(Filter.build(array.array("i", keys), None, rate, options)), value)

    def test_unions_intersections_and_removals(self):
        for options in ("blocked", "classic", "counting", "key=url", SALT):
            one, two = (Filter.build([f"h{i}.example" for i in numbers], 100, options=options)
                        for numbers in (range(60), range(40, 100)))
            self.assertEqual(bytes(one | two), self.sql("bloom_union(?, ?)", one, two))
            if options == "counting":
                self.assertRaises(ValueError, lambda: one & two)
            else:
                self.assertEqual(bytes(one & two), self.sql("bloom_intersect(?, ?)", one, two))
            self.assertEqual(one | two, two | one)
            self.assertNotEqual(one, two)
            self.assertEqual(one, one.copy())
        counting = Filter.build(["a", "a", "b"], options="counting")
        for key in ("a", "b"):
            value = self.sql("bloom_remove(?, ?)", counting, key)
            counting.remove(key)
            self.assertEqual(bytes(counting), value)
        self.assertEqual(["a" in counting, "b" in counting], [True, False])
        self.assertRaises(KeyError, counting.remove, "b")
        counting.discard("b")
        self.assertEqual(bytes(counting), value)
        self.says("ValueError: sqlite_bloom.Filter.discard: cannot remove keys from a filter of"
                  " layout blocked. Make it with layout counting", one.remove, "h50.example")

    def test_what_a_filter_says_of_itself(self):
        filter = Filter.build(["http://a.example/"], 100, 0.001, f"key=url, {SALT}")
        self.assertEqual(
            (filter.capacity, filter.fpr, filter.layout, filter.key, filter.count),
            (100, 0.001, "blocked", "url", 1))
        self.assertEqual(repr(filter), "<sqlite_bloom.Filter layout=blocked key=url salted"
                         f" capacity=100 fpr=0.001 {len(bytes(filter))} bytes>")
        exact = Filter.build([5, 7], fpr=None, options="bitmap")
        self.assertEqual((exact.capacity, exact.fpr, exact.layout, exact.key, exact.count),
                         (8, None, "bitmap", None, 2))
        self.assertEqual([bool(Filter(9)), bool(exact)], [False, True])
        self.assertIsNone(Filter.build(range(10_000), 10).count)
        for keys in (range(5000), ["a"]):
            made = Filter.build(keys, options="fuse")
            self.assertEqual((made.count, bool(made)), (len(keys), True))


class AsASet(Program):
    def test_what_is_not_offered_says_why(self):
        filter = Filter(10)
        self.says("TypeError: sqlite_bloom.Filter: a filter does not know how many keys it has. Its"
                  " count is an estimate, and len(bytes(f)) is its size", len, filter)
        for call in (iter, list, hash, lambda f: f | {1}, lambda f: f & [1], lambda f: f < f,
                     lambda f: f - f, lambda f: f[0], lambda f: {1} | f, lambda f: 5 & f,
                     lambda f: None | f, *(
                         lambda f, kind=kind: f._update(bytes(8), kind, None, "name", None)
                         for kind in ("v", ""))):
            self.assertRaises((TypeError, ValueError), call, filter)
        self.assertFalse(filter == {1})
        self.assertFalse(filter == bytes(filter))
        self.assertTrue(filter != None)  # noqa: E711

    def test_update_takes_columns_and_adds_what_comes_before_an_error(self):
        filter, wanted = Filter(1000), {1, 2, "a", b"c"}
        filter.update([1, 2], ("a",), {b"c"}, [])
        self.assertEqual(filter, Filter.build(wanted, 1000))
        for broken in ([*range(300), []], itertools.chain(range(300), breaks())):
            filter = Filter(1000)
            self.assertRaises((TypeError, KeyError), filter.update, broken)
            self.assertEqual(filter, Filter.build(range(300), 1000))

    def test_errors_name_what_was_passed(self):
        filter = Filter(10)
        fuse = Filter.build(["a"], options="fuse")
        for message, call, *arguments in (
                ("TypeError: sqlite_bloom.Filter.add: the key is a list. Pass it as a str, bytes,"
                 " int or float", filter.add, []),
                ("TypeError: sqlite_bloom.Filter: the key is a object. Pass it as a str, bytes, int"
                 " or float", filter.__contains__, object()),
                (f"ValueError: sqlite_bloom.Filter.add: the key is {2**63}, which SQLite cannot"
                 " store. Pass an int of at most 64 bits, or a str of valid Unicode",
                 filter.add, 2**63),
                ("ValueError: sqlite_bloom.Filter.add: the key is '\\ud800', which SQLite cannot"
                 " store. Pass an int of at most 64 bits, or a str of valid Unicode",
                 filter.add, "\ud800"),
                ("ValueError: sqlite_bloom.Filter: capacity is -1. Pass a whole number from 0 to"
                 f" {2**40}", Filter, -1),
                ("ValueError: sqlite_bloom.Filter: fpr is 2. Pass a number between 0 and 1, for"
                 " example 0.01 for 1 %", Filter, 1, 2),
                ("ValueError: sqlite_bloom.Filter: fpr is 0.01. Pass 0, because layout bitmap is"
                 " exact", Filter, 1, 0.01, "bitmap"),
                ("TypeError: sqlite_bloom.Filter: fpr is '1 %'. Pass a number, for example 0.01",
                 Filter, 1, "1 %"),
                ("TypeError: sqlite_bloom.Filter: capacity is None. Pass a whole number, or the"
                 " bytes of a filter", Filter, None),
                ("TypeError: sqlite_bloom.Filter: fpr and options are those of the filter that is"
                 " opened. Leave them out", Filter, bytes(filter), 0.1),
                ("ValueError: sqlite_bloom.Filter: the data is not a filter: it has 0 bytes and"
                 " does not begin with 89424c4d", Filter, b""),
                ("TypeError: sqlite_bloom.Filter.update: keys is one key. Pass a list of it,"
                 " ['abc']", filter.update, "abc"),
                ("TypeError: sqlite_bloom.Filter.update: keys is one key. Pass a list of it,"
                 " [<memory at", filter.update, memoryview(b"abc")),
                ("TypeError: sqlite_bloom.Filter.update: keys is <sqlite_bloom.Filter"
                 " layout=blocked capacity=10 fpr=0.01 128 and cannot be iterated. Pass an"
                 " iterable of keys", filter.update, filter),
                ("ValueError: sqlite_bloom.Filter.add: cannot add keys to a filter of layout fuse."
                 " Build it from all its keys at once", fuse.add, "b")):
            with self.subTest(message):
                with self.assertRaises(Exception) as caught:
                    call(*arguments)
                said = f"{type(caught.exception).__name__}: {caught.exception}"
                self.assertEqual(said[:len(message)], message)
        for word, meant in (*((word, "Write capacity") for word in ("n", "size", "expected_items")),
                            *((word, "Write fpr") for word in ("p", "rate", "error_rate")),
                            ("key", "Write options='key=...'"),
                            ("hashes", "The arguments are {}capacity, fpr{}")):
            words = f": there is no argument {word}. {meant}"
            self.says("TypeError: sqlite_bloom.Filter" + words.format("", " and options"), Filter,
                      **{word: 5})
            for build in (Filter.build, sqlite_bloom.build):
                self.says("TypeError: sqlite_bloom.build" + words.format(
                    "keys, ", ", options and progress"), build, ["a"], **{word: 5})
        with self.assertRaisesRegex(ValueError, "differs"):
            filter | Filter(1000, 0.1)
        with self.assertRaisesRegex(ValueError, "cannot unite a filter of layout fuse"):
            fuse | fuse


def breaks():
    raise KeyError("mine")
    yield


class Bytes(Program):
    """Filters where bytes are."""

    def test_sqlite_stores_one_and_gives_it_back(self):
        filter = Filter.build(["a", "b"])
        self.connection.execute("CREATE TABLE filters(f)")
        self.connection.execute("INSERT INTO filters VALUES (?)", [filter])
        value, = self.connection.execute("SELECT f FROM filters").fetchone()
        self.assertEqual((type(value), Filter(value)), (bytes, filter))
        self.assertEqual(self.sql("bloom_check(f, 'a') FROM filters"), 1)

    def test_they_are_read_in_place_and_copied_before_a_change(self):
        filled = Filter.build(range(1000))
        with tempfile.TemporaryFile() as file:
            file.write(filled)
            file.flush()
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                for given in (bytes(filled), bytearray(filled), memoryview(filled), mapped,
                              array.array("B", bytes(filled))):
                    filter = Filter(given)
                    self.assertEqual(filter, filled)
                    self.assertTrue(all(filter.check(range(1000))))
                    held = memoryview(filter)
                    filter.add("more")
                    self.assertIn("more", filter)
                    self.assertEqual(held, bytes(filled))  # the memoryview is of what was there
                    self.assertEqual(bytes(given), bytes(filled))
                    self.assertIn("more", Filter(memoryview(filter)))
                    del held, filter
        given = bytearray(filled)
        filter = Filter(given)
        with self.assertRaises(BufferError):  # it cannot go away under the filter
            given.clear()
        filter.check([0.5])
        filter.add(0.5)
        given.clear()
        self.assertEqual(len(bytes(filter)), len(bytes(filled)))

    def test_a_view_of_it_can_only_be_read(self):
        filter = Filter(10)
        view = memoryview(filter)
        self.assertEqual((view.readonly, view.format, view.ndim, view.shape, view.strides),
                         (True, "B", 1, (128,), (1,)))
        with self.assertRaises(TypeError):
            view[0] = 1
        with self.assertRaises((BufferError, TypeError)):
            io.BytesIO(b"x" * 200).readinto(filter)
        filter.add("a")
        self.assertEqual(view, bytes(filter))
        self.assertEqual(bytes(view.cast("Q")), bytes(filter))

    def test_copies_pickles_subclasses_and_weak_references(self):
        class Named(Filter):
            def __init__(self, *_, name=None):
                self.name = name

        filter = Named(100)
        filter.name = ["n"]
        filter.add("a")
        for copied in (copy.copy(filter), copy.deepcopy(filter)):
            self.assertEqual((type(copied), copied.name, copied), (Named, ["n"], filter))
            copied.add("b")
            self.assertNotEqual(copied, filter)
        self.assertIs(type(filter | filter), Named)
        self.assertIs(type(Named.build(["a"])), Named)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            plain = pickle.loads(pickle.dumps(Filter.build(["a"]), protocol))
            self.assertEqual((type(plain), plain), (Filter, Filter.build(["a"])))
        reference = weakref.ref(filter)
        filter.self = filter
        del filter
        gc.collect()
        self.assertIsNone(reference())
        self.assertRaises(AttributeError, setattr, Filter(1), "name", 1)

        class Asked(Filter):
            def __contains__(self, key):
                return not super().__contains__(key)

        self.assertIn("a", Asked(10))
        for base in (Filter.__base__, Filter):
            self.assertRaises(TypeError, base)
        self.assertRaises(TypeError, object.__new__, Filter)


class Columns(Program):
    """Those of numpy, pandas, polars and pyarrow are in python_programs.py."""

    def test_files_are_read_by_lines_as_by_bloom_lines(self):
        texts = ["", "a", "a\nb\n", "a\r\nb\r\n\r\nc", "a\rb\r\rc\n", "\ufeffa\n\ufeffb", "\n\n",
                 "x" * 3_000_000 + "\r\n" + "y\r\n" * 700_000 + "z", "\u00fc\n\u00fd"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "keys.txt")
            for text in texts:
                path.write_bytes(text.encode())
                value = self.sql("bloom_agg(text, 9, 0.01, 'counting') FROM bloom_lines(?)",
                                 text.encode())
                for opened in (lambda: open(path, encoding="utf-8"), lambda: open(path, "rb"),
                               lambda: open(path, encoding="utf-8", newline=""),
                               lambda: io.StringIO(text), lambda: io.BytesIO(text.encode())):
                    with opened() as file:
                        if value is None:
                            self.assertRaises(ValueError, Filter.build, file, 9)
                        else:
                            built = Filter.build(file, 9, options="counting")
                            self.assertEqual(bytes(built), value, text[:40])
                if text:
                    with open(path, "rb") as file, mmap.mmap(
                            file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                        self.assertEqual(len(Filter.build(["a"]).check(mapped)),
                                         self.sql("count(*) FROM bloom_lines(?)", text.encode()))

    def test_columns_of_arrow_of_every_type(self):
        """Whole and as slices, of pyarrow and of polars, beside the same values as objects."""
        import polars
        import pyarrow

        generator = random.Random(3)
        text = ["", "a", "\u00fc" * 5, "k" * 12, "k" * 13, "k" * 200, "\n"]
        kinds = {
            **{getattr(pyarrow, f"{sign}int{bits}")(): [0, 1, 2**(bits - 1) - 1, 77]
               for sign in ("", "u") for bits in (8, 16, 32, 64)},
            pyarrow.int64(): [-2**63, 2**63 - 1, 5, -1], pyarrow.bool_(): [True, False],
            pyarrow.float32(): [1.5, float("nan"), 2.0], pyarrow.float64(): [0.1, 7.0, -0.0],
            pyarrow.float16(): [1.5, 2.0], pyarrow.null(): [None],
            **{kind: text for kind in (pyarrow.string(), pyarrow.large_string(),
                                       pyarrow.string_view(),
                                       pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
                                       pyarrow.dictionary(pyarrow.uint32(),
                                                          pyarrow.large_string()))},
            **{kind: [item.encode() for item in text] for kind in (
                pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view())},
            pyarrow.binary(2): [b"ab", b"\0\xff"]}
        self.assertEqual(len(kinds), 22)
        for kind, choices in kinds.items():
            values = [generator.choice([*choices, None]) for _ in range(2000)]
            whole = pyarrow.array(values, kind)
            parts = [whole, whole[3:], whole[13:1501], whole[:0],
                     pyarrow.chunked_array([whole[5:900], whole[1:1], whole[901:]], whole.type)]
            if kind not in (pyarrow.string_view(), pyarrow.binary_view(), pyarrow.float16()):
                series = polars.Series("s", whole)
                parts += [series, series[7:], series[::3], series.append(series[9:])]
            for part in parts:
                objects = part.to_pylist() if hasattr(part, "to_pylist") else part.to_list()
                self.assertGreaterEqual(len(objects), 0)
                filter = Filter(3000, options="counting")
                filter.update(objects[::2])
                answers = filter.check(part)
                answers = answers.to_pylist() if hasattr(answers, "to_pylist") else list(answers)
                self.assertEqual(answers, filter.check(objects), kind)
                one, two = Filter(3000, options="counting"), Filter(3000, options="counting")
                one.update(part)
                two.update(objects)
                if hasattr(part, "chunks") and kind not in (pyarrow.float16(), pyarrow.binary(2)):
                    other = Filter(3000, options="counting")
                    other._update(part.__arrow_c_stream__(), "A", None, "in place", None)
                    self.assertEqual(other, two, kind)
                self.assertEqual(one, two, kind)
        bits = pyarrow.array([True, False, None, False, True] * 3)
        self.assertEqual(Filter.build([1]).check(bits).to_pylist(), bits.to_pylist())
        for kind in ("string", "large_string", "string_view"):  # a layout whose keys are text
            self.assertEqual(Filter.build(pyarrow.array(text, kind), options="classic-utf16"),
                             Filter.build(text, options="classic-utf16"))
        for kind in ("binary", "large_binary", "binary_view"):
            self.assertRaises(ValueError, Filter.build, pyarrow.array([b"a"], kind),
                              options="classic-utf16")
        for wrong in (pyarrow.array([[1]]), pyarrow.array([{"a": 1}])):
            self.assertRaises(TypeError, filter.check, wrong)
        stream = pyarrow.chunked_array([["a"]]).__arrow_c_stream__()
        given = type("Given", (), {"__arrow_c_stream__": lambda *_: stream,
                                   "__len__": lambda self: 1, "__iter__": lambda self: iter("a")})()
        self.assertEqual(Filter.build(["a"]).check(given), [True])
        pyarrow.chunked_array(given)
        self.says("ValueError: sqlite_bloom.check: the stream of Arrow has been read",
                  Filter(9).check, given)

    def test_keys_that_all_have_line_ends_are_refused(self):
        advice = ("each key ends in a line end, which would be part of it. Pass the open file"
                  " itself, or text.splitlines()")
        database = connect()
        database.execute("CREATE VIRTUAL TABLE seen USING bloom")
        for keys in ("a\r\nb\r\n".split("\n"), ["a\n"], ["a\n", "b"],
                     "hunter2\r\nb\r\nletmein".split("\n"),
                     [f"{i}\n" for i in range(300)]):
            for name, call in (("build", Filter.build), ("Filter.update", Filter(9).update),
                               ("add_all", lambda given: sqlite_bloom.add_all(
                                   database, "seen", given))):
                self.says(f"ValueError: sqlite_bloom.{name}: {advice}", call, keys)
        for keys in ([b"a\n", b"b\r\n"], ["a", "b\n"], [7, 8], ["a\n", "b\n", "c", "d"]):
            self.assertEqual(Filter.build(keys).check(keys), [True] * len(keys))
        self.assertEqual(database.execute("SELECT json_extract(info, '$.count') FROM seen")
                         .fetchone(), (0,))

    def test_arrays(self):
        for code in "bBhHiIlLqQfd":
            values = array.array(code, [0, 1, 7, 100] * 3)
            filter = Filter.build(values, options="counting")
            self.assertEqual(filter, Filter.build(values.tolist(), options="counting"))
            self.assertEqual(filter.check(values), [True] * 12)
            if code not in "bB":  # which are one key
                self.assertEqual(filter.check(memoryview(values)[::2]), [True] * 6)
        for numbers in (array.array("Q", [1, 2**63]), [1, 2**63]):
            self.says(f"ValueError: sqlite_bloom.check: key 2 is {2**63}, which SQLite cannot"
                      " store. Pass an int of at most 64 bits, or a str of valid Unicode",
                      filter.check, numbers)

    def test_a_column_that_changes_while_it_is_read(self):
        def index(act):
            return type("Index", (), {"__index__": lambda self: act() or 7})()

        for act in (lambda keys: keys.clear(), lambda keys: keys.append("x"),
                    lambda keys: keys.__setitem__(slice(None), [None] * 3)):
            keys = ["a" * 1000, *(f"k{i}" for i in range(10)), None, *map(str, range(600))]
            keys[11] = index(lambda: act(keys))
            filter = Filter(1000)
            self.says(CHANGED, filter.check, keys)
            keys = ["a" * 1000, *(f"k{i}" for i in range(10)), None, *map(str, range(600))]
            keys[11] = index(lambda: act(keys))
            filter.update(itertools.islice(keys, 900) if "append" in str(act) else keys)
            self.assertEqual(filter.check(["a" * 1000, "k9", 7]), [True] * 3)
        # The filter itself changes while it reads.
        filter = Filter(bytes(Filter.build(["a"])))
        self.assertEqual(filter.check(["a", index(lambda: filter.add(7)), "a"])[::2], [True] * 2)
        filter = Filter(10)
        filter.update(["a", index(lambda: filter.update(["b"])), "c"])
        self.assertEqual(filter.check(["a", "b", "c", 7]), [True] * 4)

    def test_buffers_that_lie(self):
        class Lies(array.array):
            def __len__(self):
                return memoryview(self).nbytes // 8 + self.more

        filter = Filter.build(range(9))
        for length, Lies.more in itertools.product((1, 9, 70_000), (-1, 1)):
            self.says(CHANGED, filter.check, Lies("q", range(length)))
        given = type("Given", (), {"__len__": lambda self: 1,
                                   "__iter__": lambda self: itertools.chain("a", breaks())})()
        self.says("KeyError: 'mine'", filter.check, given)

    def test_progress_and_interrupts(self):
        for keys in (range(250_000), array.array("i", range(250_000)), iter(range(250_000))):
            reports = []
            filter = Filter(250_000)
            filter.update(keys, progress=reports.append)
            self.assertEqual(reports, [100_000, 200_000, 250_000])
        for keys in ([1], array.array("i", [1]), array.array("i", range(100_000))):
            self.assertRaises(ZeroDivisionError, filter.update, keys, progress=lambda done: 1 / 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # polars has put its own there
        for endless in (itertools.count(), array.array("q", bytes(1 << 28))):
            timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(100):
                    filter.update(endless)
            timer.join()

    def test_no_memory_is_a_memory_error(self):
        filter = Filter(bytes(Filter(2**25)))
        limit = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (
            pages * resource.getpagesize() + (8 << 20), limit[1]))
        try:
            for call in (lambda: Filter(2**38, 0.001), lambda: filter.add("a"), filter.copy,
                         lambda: filter | filter, lambda: filter.update(["a"])):
                self.assertRaises(MemoryError, call)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limit)
        self.assertNotIn("a", filter)


class Threads(Program):
    def test_all_keys_of_all_threads_are_in(self):
        filter = Filter(bytes(Filter(2_000_000)))
        parts = [array.array("q", range(i * 200_000, (i + 1) * 200_000)) for i in range(8)]

        def work(part):
            filter.update(part)
            filter.update(part.tolist()[:50_000])
            for key in part[:1000]:
                filter.add(-key)
            return all(filter.check(part)) and bytes(filter)[:4]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(set(pool.map(work, parts)), {b"\x89BLM"})
        wanted = Filter.build(itertools.chain(range(1_600_000), *(
            (-key for key in part[:1000]) for part in parts)), 2_000_000)
        self.assertEqual(filter, wanted)

    def test_an_addition_waits_for_an_update(self):
        """All keys are in one block, which the update writes again and again."""
        again, done = array.array("q", [0] * 60_000), threading.Event()

        def work():
            while not done.is_set():
                filter.update(again)

        for _ in range(20):
            filter = Filter(10)
            done.clear()
            thread = threading.Thread(target=work)
            thread.start()
            for key in range(1, 40):
                filter.add(key)
                time.sleep(0.0001)
            done.set()
            thread.join()
            self.assertEqual(filter.check(list(range(40))), [True] * 40)

    def test_others_run_while_a_buffer_is_read(self):
        """A thread that waits for the GIL gets it only if somebody lets it go."""
        big, filter = array.array("q", range(60_000)), Filter(60_000)
        ticks, done, interval = [], threading.Event(), sys.getswitchinterval()

        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.0001)

        thread = threading.Thread(target=tick)
        thread.start()
        sys.setswitchinterval(1000)
        try:
            for call in (filter.update, filter.check, Filter.build):
                for _ in range(5000):
                    begin = time.perf_counter()
                    call(big)
                    end = time.perf_counter()
                    if any(begin < moment < end for moment in ticks[-9:]):
                        break
                    time.sleep(0.0001)
                else:
                    self.fail(call)
        finally:
            sys.setswitchinterval(interval)
            done.set()
            thread.join()


class Random(Program):
    """Operations that hypothesis chooses, beside a set, or a multiset, and beside SQL."""

    def test_operations(self):
        import hypothesis
        from hypothesis import stateful, strategies

        test = self
        keys = strategies.one_of(
            strategies.integers(-40, 40), strategies.text(max_size=3),
            strategies.binary(max_size=2), strategies.floats(width=16),
        ).filter(lambda key: isinstance(key, (int, float)) or not key[-1:].strip() == key[:0])
        done = 0
        steps = 50

        class Machine(stateful.RuleBasedStateMachine):
            @stateful.initialize(layout=strategies.sampled_from(("blocked", "counting", "classic")))
            def begin(self, layout):
                self.filter, self.counts = Filter(300, options=layout), collections.Counter()
                self.counting = layout == "counting"
                self.value = test.sql("bloom_new(300, 0.01, ?)", layout)

            def in_sql(self, function, key):
                self.value = test.sql(f"{function}(?, ?)", self.value, key)

            @stateful.rule(seed=strategies.integers(0, 2**32))
            def many(self, seed):
                nonlocal done
                generator = random.Random(seed)
                for _ in range(OPERATIONS // (100 * steps)):
                    done += 1
                    key = generator.choice((generator.randrange(90), f"k{generator.randrange(90)}"))
                    if generator.random() < 0.5:
                        self.filter.add(key)
                        self.counts[key] += 1
                        self.in_sql("bloom_add", key)
                    elif self.counting and 0 < self.counts[key] < 15:
                        self.filter.remove(key)
                        self.counts[key] -= 1
                        self.in_sql("bloom_remove", key)
                    elif key in self.filter:
                        test.assertEqual(test.sql("bloom_check(?, ?)", self.value, key), 1)
                    else:
                        test.assertEqual((self.counts[key], test.sql(
                            "bloom_check(?, ?)", self.value, key)), (0, 0))

            @stateful.rule(added=strategies.lists(keys), form=strategies.sampled_from(
                (list, tuple, iter, None)))
            def update(self, added, form):
                if form is None:
                    other = Filter(300, options=self.filter.layout)
                    other.update(added)
                    self.filter = self.filter | other
                else:
                    self.filter.update(form(added))
                for key in added:
                    self.counts[key] += 1
                    self.in_sql("bloom_add", key)

            @stateful.rule(way=strategies.sampled_from((
                lambda f: f.copy(), lambda f: pickle.loads(pickle.dumps(f)), copy.deepcopy,
                lambda f: Filter(bytes(f)), lambda f: Filter(memoryview(f)), lambda f: f)))
            def again(self, way):
                self.filter = way(self.filter)

            @stateful.invariant()
            def equal(self):
                test.assertEqual(bytes(self.filter), self.value)
                known = [key for key, count in self.counts.items() if count > 0 and key == key]
                test.assertTrue(all(self.filter.check(known)))

        stateful.run_state_machine_as_test(Machine, settings=hypothesis.settings(
            max_examples=200, stateful_step_count=steps, deadline=None, database=None,
            suppress_health_check=list(hypothesis.HealthCheck)))
        self.assertGreater(done, OPERATIONS // 10)


def everything():
    """Each function once, and each way to fail."""
    filter = Filter.build(["a", 1, 1.5, b"b", None, float("nan")], 20_000, options="counting")
    for key in ("a", 1, None, [], 2**70, "\ud800", object()):
        for call in (filter.add, filter.discard, filter.__contains__):
            try:
                call(key)
            except (TypeError, ValueError):
                pass
    numbers = array.array("q", range(1000))
    other = Filter(bytes(filter))
    view = memoryview(other)
    other.update(numbers, ["x", "y"], progress=lambda done: None)
    filter.check(numbers), filter.check(["a", None, 5]), filter.check(iter("abc"))
    for call in (lambda: filter | other, lambda: other & other, lambda: filter == other,
                 lambda: filter.remove("no"), lambda: filter.update([1, []]),
                 lambda: Filter.build([], options="none"), lambda: Filter.build([]),
                 lambda: Filter(b"none"), lambda: Filter(9, 7), lambda: filter | Filter(9),
                 lambda: filter.check([1, []]), lambda: filter.check(array.array("Q", [2**64 - 1])),
                 lambda: filter.update(breaks()), lambda: pickle.loads(pickle.dumps(filter)),
                 lambda: copy.deepcopy(filter), lambda: (filter.count, filter.fpr, repr(filter)),
                 lambda: filter.update([1] * 100_000, progress=lambda done: 1 / 0),
                 lambda: Filter.build(numbers, options="fuse"), filter.copy):
        try:
            call()
        except (TypeError, ValueError, KeyError, ZeroDivisionError):
            pass
    for module in ("pyarrow", "polars", "numpy"):
        if module in sys.modules:
            column = getattr(sys.modules[module], {"polars": "Series"}.get(module, "array"))(
                ["a", "b"])
            filter.check(column)
            Filter.build(column)
    del view


class Leaks(Program):
    def test_memory_stays(self):
        import numpy  # noqa: F401
        import polars  # noqa: F401
        import pyarrow  # noqa: F401

        def grown(times):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(times):
                everything()
            gc.collect()
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

        grown(100)
        self.assertLess(grown(400), 1000)


def lost_references():
    """How many references a round of everything leaves."""
    rounds = []
    for _ in range(20):
        before = sys.gettotalrefcount()
        for _ in range(50):
            everything()
        gc.collect()
        rounds.append((sys.gettotalrefcount() - before) / 50)
    print(min(map(abs, rounds[5:])))


if __name__ == "__main__":
    if sys.argv[1:] == ["leaks"]:
        lost_references()
    else:
        unittest.main()
