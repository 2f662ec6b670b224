"""sqlite_bloom.Filter and add_all beside SQL, which must have the same bytes and
answers, inside an environment that has the package and the drivers of build/drivers.

    filter_programs.py            the tests
    filter_programs.py leaks      in a Python that counts references: prints the tests after which
                                  there are more of them, or of malloc's bytes, each time
"""

import array
import contextlib
import copy
import ctypes
import datetime
import gc
import io
import itertools
import mmap
import operator
import os
import pathlib
import pickle
import random
import re
import resource
import signal
import sqlite3
import sys
import tempfile
import threading
import time
import unittest
import weakref

import hypothesis
import numpy
import pandas
import polars
import pyarrow
from hypothesis import stateful, strategies

import sqlite_bloom
from sqlite_bloom import Filter

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "documentation"))
import pages  # noqa: E402

SALT = "salt=000102030405060708090a0b0c0d0e0f"
LAYOUTS = [*sorted(pages.BY_NAME.keys() - pages.IMPORTED - {"fuse"}), "key=url",
           "key=url_nocase", SALT, f"layout=counting, key=url, {SALT}"]
KEYS = ["", "a", "\u00fc", "x\0y", "a" * 1000, "\U0001f600", "http://evil.example/A", "b.example",
        "a\n", "\r", "\ufeffx", "\0", b"", b"a", b"\xff\0", 0, 1, -1, 2**31, -2**31, 2**63 - 1,
        -2**63, 1.5, 2.0, -0.0, 2.0**63, float("inf"), 1e-300, True, None, float("nan")]
RUNS = 20  # of a test, when leaks are looked for
CHANGED = "RuntimeError: sqlite_bloom.Filter.check: the column changed its size. Pass a copy of it"
BEYOND = "which SQLite cannot store. Pass an int of at most 64 bits, or a str of valid Unicode"
LINES = ("each key has a line end, which would be part of it. Pass the open file itself, or"
         " text.splitlines(). If the keys are longer texts, pass them as bytes")


def connect():
    connection = sqlite3.connect(":memory:")
    sqlite_bloom.load(connection)
    return connection


CURSOR = connect().cursor()  # only one, since a connection keeps references to those that are gone
CURSOR.execute("CREATE TABLE keys(key)")
CURSOR.execute("CREATE TABLE asked(key)")
CURSOR.executemany("INSERT INTO asked VALUES (?)", zip(KEYS))


def sql(expression, *values):
    ((value,),) = CURSOR.execute(f"SELECT {expression}", values).fetchall()
    return value


def agg(keys, *arguments):
    """The bytes that SQL makes of keys."""
    CURSOR.execute("DELETE FROM keys")
    CURSOR.executemany("INSERT INTO keys VALUES (?)", [[key] for key in keys])
    return sql(f"bloom_agg(key{', ?' * len(arguments)}) FROM keys", *arguments)


def keywords(options):
    """The options of SQL as arguments of Python."""
    parts = (option.strip().rpartition("=") for option in options.split(","))
    return {name or "layout": value for name, _, value in parts}


def breaks(*keys):
    yield from keys
    raise KeyError("mine")


def stop(done):
    raise KeyboardInterrupt(done)


def listed(column):
    ways = (way for way in ("to_pylist", "to_list", "tolist") if hasattr(column, way))
    return next((getattr(column, way)() for way in ways), column)


def allocated():
    """The bytes of malloc: the eighth number of its mallinfo2."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = type("Info", (ctypes.Structure,), {
        "_fields_": [(f"n{i}", ctypes.c_size_t) for i in range(10)]})
    gc.collect()
    return mallinfo2().n7


class Program(unittest.TestCase):
    maxDiff = None

    def says(self, message, call, *arguments, **options):
        """That a call raises an error, and which; a message that ends in ... only begins so."""
        with self.assertRaises(BaseException) as caught:
            call(*arguments, **options)
        said = str(caught.exception).replace("PosixPath", "Path")
        said = f"{type(caught.exception).__name__}: {said}"
        length = len(message) - 3 if message.endswith("...") else None
        self.assertEqual(said[:length], message[:length])


class Operations(stateful.RuleBasedStateMachine):
    """What hypothesis chooses of a filter in memory, beside the same in SQL."""
    KEYS = strategies.one_of(strategies.sampled_from(KEYS), strategies.integers(-40, 40),
                             strategies.text(max_size=3), strategies.binary(max_size=2),
                             # SQLite decides how it rounds the text of what has more digits
                             strategies.floats(width=16).filter(
                                 lambda real: float(f"{real:.15g}") == real or real != real))
    test = unittest.TestCase()

    @stateful.initialize(options=strategies.sampled_from(LAYOUTS))
    def begin(self, options):
        self.options, self.rate = options, None if options == "bitmap" else 0.02
        self.words = {"fpr": self.rate, **keywords(options)}
        self.filter = Filter(50, **self.words)
        self.value = sql("bloom_new(50, ?, ?)", self.rate, options)

    def changed(self, function, key):
        """The bytes after a change in SQL, or None when it is an error there."""
        try:
            return sql(f"{function}(?, ?)", self.value, key)
        except sqlite3.OperationalError:
            return None

    @stateful.rule(key=KEYS)
    def add(self, key):
        value = self.changed("bloom_add", key)
        if value is None:
            self.test.assertRaises(ValueError, self.filter.add, key)
            self.test.assertRaises(ValueError, self.filter.update, [key])
        else:
            self.filter.add(key)
            self.value = value

    @stateful.rule(key=KEYS.filter(lambda key: key is not None and key == key))
    def remove(self, key):
        value = self.changed("bloom_remove", key)
        if value is None:
            self.test.assertRaises(ValueError, self.filter.remove, key)
        elif key in self.filter:
            self.filter.remove(key)
            self.value = value
        else:
            self.test.assertRaises(KeyError, self.filter.remove, key)
            if self.changed("bloom_add", key) is not None:
                self.filter.discard(key)

    @stateful.rule(keys=strategies.lists(KEYS), form=strategies.sampled_from((
        list, tuple, iter, dict.fromkeys)))
    def update(self, keys, form):
        keys = [1, *(key for key in keys if self.changed("bloom_add", key) is not None)]
        while keys[-1:] == [""]:  # as text.split leaves one, which is refused
            keys.pop()
        if self.changed("bloom_add", 1) is None:
            keys[0] = "b.example"
        self.filter.update(form(keys))
        keys = keys if form in (tuple, iter) else list(form(keys))
        for key in keys:
            self.value = self.changed("bloom_add", key)
        for capacity in (None, 50):
            built = Filter.build(form(keys), capacity, **self.words)
            self.test.assertEqual(bytes(built), agg(keys, capacity, self.rate, self.options))

    @stateful.rule(key=KEYS, is_held=strategies.booleans())
    def merge(self, key, is_held):
        other = Filter(50, **self.words)
        if self.changed("bloom_add", key) is not None:
            other.add(key)
        for function, merged in (("bloom_intersect", lambda: self.filter & other),
                                 ("bloom_union", lambda: self.filter | other)):
            value = self.changed(function, other)
            in_place = operator.ior if function == "bloom_union" else operator.iand
            if value is None:
                self.test.assertRaises(ValueError, merged)
                self.test.assertRaises(ValueError, in_place, self.filter, other)
            else:
                held, result = memoryview(self.filter) if is_held else None, merged()
                self.test.assertIs(in_place(self.filter, other), self.filter)
                self.test.assertEqual(self.filter, result)
                self.value = value
                del held

    @stateful.rule(way=strategies.sampled_from((
        Filter.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f)),
        lambda f: Filter(bytes(f)), lambda f: Filter(memoryview(f)))))
    def again(self, way):
        self.filter = way(self.filter)

    @stateful.invariant()
    def equal(self):
        self.test.assertEqual(bytes(self.filter), self.value)
        answers = [answer for answer, in CURSOR.execute(
            "SELECT bloom_check((SELECT bloom_pin(?)), key) FROM asked ORDER BY rowid",
            [self.value])]
        self.test.assertEqual(self.filter.check(KEYS), [
            answer and bool(answer) for answer in answers])
        self.test.assertEqual([key in self.filter for key in KEYS], [
            answer == 1 for answer in answers])


Random = Operations.TestCase
Random.settings = hypothesis.settings(
    max_examples=int(os.environ.get("EXAMPLES", 300)), stateful_step_count=20, deadline=None,
    database=None, suppress_health_check=list(hypothesis.HealthCheck))


class AsInSql(Program):
    def test_what_a_filter_says_of_itself(self):
        filter = Filter.build(["http://a.example/"], 100, 0.001, key="url", salt=bytes(range(16)))
        self.assertEqual(
            (filter.capacity, filter.fpr, filter.layout, filter.key, filter.count()),
            (100, 0.001, "blocked", "url", 1))
        self.assertEqual(filter.fpr_now, sql("bloom_fpr_now(?)", filter))
        self.assertEqual(filter, Filter.build(["a.example/"], 100, 0.001, **keywords(
            f"key=url, {SALT}")))
        self.assertEqual(repr(filter), "<sqlite_bloom.Filter layout=blocked key=url salted"
                         f" capacity=100 fpr=0.001 {len(bytes(filter))} bytes>")
        exact = Filter.build([5, 7], layout="bitmap")
        self.assertEqual((exact.capacity, exact.fpr, exact.layout, exact.key, exact.count()),
                         (8, None, "bitmap", None, 2))
        self.assertEqual([made.fpr for made in (Filter(9), Filter(9, key="url"), Filter(9, 0.5))],
                         [0.01, 0.0001, 0.5])
        self.assertEqual([bool(Filter(9)), bool(exact)], [False, True])
        self.assertIsNone(Filter.build(range(10_000), 10).count())
        for keys in (range(5000), ["a"]):
            made = Filter.build(keys, layout="fuse")
            self.assertEqual((made.count(), bool(made)), (len(keys), True))
        for options in ("counting", "layout=counting, key=url"):
            made = Filter.build(["a.example"] * 3 + ["b.example"] * 20, **keywords(options))
            for key in KEYS[1:] + ["a.example", "b.example"]:
                self.assertEqual(made.count(key) if key is not None else None,
                                 sql("bloom_count(?, ?)", made, key), key)
        for length in (10, 10_000):
            owned = Filter(length)
            self.assertEqual(sys.getsizeof(owned) - sys.getsizeof(Filter(bytes(owned))),
                             len(bytes(owned)))


class Blocklists(Program):
    def test_a_published_list_is_read_as_in_sql(self):
        for text in ("0.0.0.0 evil.example\n", "||host.example/malware/*\nevil.example\n"):
            for given in (text, text.encode(), io.StringIO(text), io.BytesIO(text.encode())):
                made = Filter.from_blocklist(given)
                self.assertEqual(bytes(made), sql("bloom_list_agg(?)", text))
                self.assertIn("http://www.evil.example/a", made)
            self.assertEqual(Filter.from_blocklist(text, 0.001, layout="fuse", key="url"), Filter(
                sql("bloom_list_agg(?, 0.001, 'layout=fuse, key=url')", text)))


class AsASet(Program):
    def test_what_is_not_offered_says_why(self):
        filter = Filter(10)
        self.says("TypeError: sqlite_bloom.Filter: a filter does not know how many keys it has."
                  " f.count() is an estimate, and len(bytes(f)) is its size", len, filter)
        self.says("AttributeError: sqlite_bloom.Filter: there is no attribute save. Write"
                  " open(path, 'wb').write(f)", getattr, filter, "save")
        self.says("AttributeError: sqlite_bloom.Filter: there is no attribute names", getattr,
                  filter, "names")
        for call in (iter, list, hash, lambda f: f | {1}, lambda f: f & [1], lambda f: f < f,
                     lambda f: f - f, lambda f: f[0], lambda f: {1} | f, lambda f: 5 & f,
                     lambda f: None | f, lambda f: f | Filter(1000, 0.1)):
            self.assertRaises((TypeError, ValueError), call, filter)
        self.assertFalse(filter == {1})
        self.assertFalse(filter == bytes(filter))
        self.assertTrue(filter != None)  # noqa: E711

    def test_update_takes_columns_and_adds_what_comes_before_an_error(self):
        filter, wanted = Filter(1000), {1, 2, "a", b"c"}
        filter.update([1, 2], ("a",), {b"c"}, [], progress=str)
        self.assertEqual(filter, Filter.build(wanted, 1000))
        for broken in ([*range(300), []], breaks(*range(300))):
            filter = Filter(1000)
            self.assertRaises((TypeError, KeyError), filter.update, broken)
            self.assertEqual(filter, Filter.build(range(300), 1000))

    def test_errors(self):
        filter, fuse = Filter(10), Filter.build(["a"], layout="fuse")
        build, check = Filter.build, fuse.check
        no_rate = ": fpr is 2. Pass a number between 0 and 1, for example 0.01 for 1 %"
        type_errors = (
            (".add: the key is a list. Pass it as a str, bytes, int or float", filter.add, []),
            (": the key is a object. Pass it as a str, bytes, int or float",
             filter.__contains__, object()),
            (": fpr is '1 %'. Pass a number, for example 0.01", Filter, 1, "1 %"),
            (".build: key is ['url']. Pass text", lambda: build(["a"], key=["url"])),
            *((f": capacity is {wrong!r}. Pass a whole number, or the bytes of a filter, as in"
               " Filter(open(path, 'rb').read())", Filter, wrong)
              for wrong in (None, "a.bloom", 0.01)),
            (": the filter that is opened has its own fpr, layout, key and salt. Leave them out",
             Filter, bytes(filter), 0.1),
            # Columns, of which each function takes the same.
            *((f".build: keys is one {type(one).__name__}, {one!r:.19}...", build, one)
              for one in ("list.txt", b"", bytearray(b"a\r"), memoryview(b"abc"))),
            (".check: column is one str, 'a\\nb'. Pass a list of keys, an open file, or"
             " text.splitlines()", check, "a\nb"),
            (".from_blocklist: text is None. Pass the text of the list, or the open file",
             Filter.from_blocklist, None),
            (".check: column is None and cannot be iterated. Pass an iterable of keys", check,
             None),
            (".build: keys is Path('list.txt') and cannot be iterated. Pass the open file", build,
             pathlib.Path("list.txt")),
            (".build: key 2 is a list. Pass each key as a str, bytes, int or float", build,
             [1, [2]]))
        value_errors = (
            (f".add: the key is {2**63}, {BEYOND}", filter.add, 2**63),
            (f".add: the key is '\\ud800', {BEYOND}", filter.add, "\ud800"),
            *((f"{place}: the key is a filter. Merge filters with |, or pass its hex() if the bytes"
               " are meant", call, given) for place, call, given in (
                   (".add", filter.add, bytes(fuse)), ("", filter.__contains__, bytes(fuse)),
                   (".update", filter.update, [b"a", bytes(fuse)]),
                   (".check", check, [b"a", bytes(fuse)]), (".build", build, [bytes(fuse)]),
                   (".check", Filter(9, key="url").check, [bytes(fuse)]))),
            (".add: cannot add keys to a filter of layout fuse. Build it from all its keys at"
             " once...", fuse.add, "b"),
            (f": capacity is -1. Pass a whole number from 0 to {2**40}", Filter, -1),
            (no_rate, Filter, 1, 2), (f".build{no_rate}", build, [1], None, 2),
            (": fpr is 0.01. Pass 0, because layout bitmap is exact...",
             lambda: Filter(1, 0.01, layout="bitmap")),
            (": one option has the value 'counting, key=url...",
             lambda: Filter(9, layout="counting, key=url")),
            (": one option has the value 'counting'', key=''url...",
             lambda: Filter(9, layout="counting', key='url")),
            (": cannot make an empty filter of layout fuse...",
             lambda: build(["a"], 9, layout="fuse")),
            (": it was made before. Make another one", filter.__init__, 10),
            (".remove: cannot remove keys from a filter of layout blocked...", filter.remove, "a"),
            (".discard: cannot remove keys from a filter of layout blocked...", filter.discard,
             "a"),
            (".count: cannot count keys in a filter of layout blocked. Make it with layout"
             " counting", filter.count, "a"),
            (": the data is not a filter: it has 0 bytes and does not begin with 89424c4d...",
             Filter, b""),
            (".build: the last key is empty, as text.split('\\n') leaves one. Pass"
             " text.splitlines(). If '' is a key, add it before the others", build,
             "a\nb\n".split("\n")),
            (".from_blocklist: fpr is 0. Pass a number between 0 and 1", Filter.from_blocklist,
             "a.example", 0),
            (".from_blocklist: ...", Filter.from_blocklist, ""),
            *((f".check: key 3 is {2**63}, {BEYOND}", check, big)
              for big in ([1, "a", 2**63], array.array("Q", [1, 2, 2**63]))),
            (f".check: key 10002 is '\\ud800', {BEYOND}", check, ["a"] * 10_001 + ["\ud800"]),
            *((".build: there is no key, and an empty filter lets everything pass. Look where the"
               " keys come from, or make an empty filter with sqlite_bloom.Filter(capacity)",
               build, nothing) for nothing in ([], [None, float("nan")])),
            *((f".build: {LINES}", build, keys) for keys in (
                "a\r\nb\r\nc".split("\n"), ["a\n"], ["a\n", "b"], ["a\nb"],
                "hunter2\r\nb\r\nletmein".split("\n"), [f"{i}\n" for i in range(300)])),
            (f".update: {LINES}", filter.update, ["a\n"]))
        memory_errors = (
            (f": there is no memory for capacity {2**40}. Pass a smaller one", Filter, 2**40, 0.1),)
        for kind, rows in (("TypeError", type_errors), ("ValueError", value_errors),
                           ("MemoryError", memory_errors)):
            for message, call, *arguments in rows:
                with self.subTest(message, arguments=arguments):
                    self.says(f"{kind}: sqlite_bloom.Filter{message}", call, *arguments)
        for keys in ([b"a\n", b"b\r\n"], ["a", "b\n"], [7, 8], ["a\n", "b\n", "c", "d"]):
            self.assertEqual(build(keys).check(keys), [True] * len(keys))
        for word, meant in (("n", "Write capacity"), ("error_rate", "Write fpr"),
                            ("options", "Write layout=, key= or salt="),
                            ("hashes", "The arguments are {}capacity, fpr, {}layout, key and"
                             " salt")):
            words = f": there is no argument {word}. {meant}"
            self.says("TypeError: sqlite_bloom.Filter" + words.format("", ""), Filter, 9,
                      **{word: 5})
            self.says("TypeError: sqlite_bloom.Filter.build" + words.format(
                "keys, ", "progress, "), build, ["a"], **{word: 5})


class Lists(Program):
    def test_a_column_that_changes_while_it_is_read(self):
        def index(act):
            return type("Index", (), {"__index__": lambda self: act() or 7})()

        for act in (lambda keys: keys.clear(), lambda keys: keys.append("x"),
                    lambda keys: keys.__setitem__(slice(None), [None] * 3)):
            for update in (False, True):
                keys = ["a" * 1000, *(f"k{i}" for i in range(10)), None, *map(str, range(600))]
                keys[11] = index(lambda: act(keys))
                filter = Filter(1000)
                if update:
                    filter.update(itertools.islice(keys, 900) if "append" in str(act) else keys)
                    self.assertEqual(filter.check(["a" * 1000, "k9", 7]), [True] * 3)
                else:
                    self.says(CHANGED, filter.check, keys)
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
                                   "__iter__": lambda self: breaks("a")})()
        self.says("KeyError: 'mine'", filter.check, given)


class Bytes(Program):
    """Filters where bytes are."""

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
            def __init__(self, name, capacity):
                super().__init__(capacity)
                self.name = name

            def __contains__(self, key):
                return not super().__contains__(key)

        class Slotted(Named):
            __slots__ = ("slot", "unset")

        filter = Slotted(["n"], 100)
        filter.slot = 7
        filter.add("a")
        for copied in (copy.copy(filter), copy.deepcopy(filter)):
            self.assertEqual((type(copied), copied.name, copied.slot, copied),
                             (Slotted, ["n"], 7, filter))
            copied.add("b")
            self.assertNotEqual(copied, filter)
        self.assertIs(type(filter | filter), Slotted)
        for made in (Named.build(["a"]), Named.build(["a"], 9), Named.__new__(Named)):
            self.assertIs(type(made), Named)
        for call, argument in (
                *((call, "a") for call in (made.add, made.remove, made.count, made.__contains__)),
                *((call, ["a"]) for call in (made.check, made.update)),
                *((call, made) for call in (
                    bytes, repr, pickle.dumps, copy.copy, Named.copy, Named.count, made.__eq__,
                    filter.__eq__, made.__or__, filter.__and__, filter.__ior__, made.__iand__))):
            self.says("ValueError: sqlite_bloom.Filter: it was not made. Call"
                      " super().__init__(capacity) first", call, argument)
        self.assertNotIn("a", filter)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            plain = pickle.loads(pickle.dumps(Filter.build(["a"]), protocol))
            self.assertEqual((type(plain), plain), (Filter, Filter.build(["a"])))
        reference = weakref.ref(filter)
        filter.self = filter
        del filter
        gc.collect()
        self.assertIsNone(reference())
        self.assertRaises(AttributeError, setattr, Filter(1), "name", 1)
        self.assertRaises(TypeError, Filter)


def arrow():
    """Columns of every type of Arrow, whole and as slices, of pyarrow and of polars."""
    generator = random.Random(3)
    text = ["", "a", "\u00fc" * 5, "k" * 12, "k" * 13, "k" * 200, "\n"]
    kinds = {
        **{getattr(pyarrow, f"{sign}int{bits}")(): [0, 1, 2**(bits - 1) - 1, 77]
           for sign in ("", "u") for bits in (8, 16, 32, 64)},
        pyarrow.int64(): [-2**63, 2**63 - 1, 5, -1], pyarrow.bool_(): [True, False],
        pyarrow.float32(): [1.5, float("nan"), 2.0], pyarrow.float64(): [0.1, 7.0, -0.0],
        pyarrow.float16(): [1.5, 2.0], pyarrow.null(): [None],
        **{kind: text for kind in (
            pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(),
            pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
            pyarrow.dictionary(pyarrow.uint32(), pyarrow.large_string()))},
        **{kind: [item.encode() for item in text] for kind in (
            pyarrow.binary(), pyarrow.large_binary(), pyarrow.binary_view())},
        pyarrow.binary(2): [b"ab", b"\0\xff"]}
    for kind, choices in kinds.items():
        whole = pyarrow.array([7 if kind == "n" else generator.choice([*choices, None])
                               for _ in range(700)], kind)
        for part in (whole, whole[3:], whole[13:501], whole[:0]):
            yield part, pyarrow.BooleanArray
        yield pyarrow.chunked_array([whole[5:300], whole[1:1], whole[301:]],
                                    whole.type), pyarrow.ChunkedArray
        if kind not in (pyarrow.string_view(), pyarrow.binary_view(), pyarrow.float16()):
            series = polars.Series("s", whole)
            for part in (series, series[7:], series[::3], series.append(series[9:])):
                yield part, polars.Series


def columns():
    """Columns of every other kind, and the type of the answers to each."""
    for code in "bBhHiIlLqQfd":
        values = array.array(code, [0, 1, 7, 100] * 3)
        yield values, list
        if code not in "bB":  # which are one key
            yield memoryview(values)[::2], list
    for kind in ("int8", "uint16", "<i8", ">i8", "uint64", "float16", "float32", "float64", "bool",
                 "U9", "O"):
        yield numpy.array([1, 7, 0, 2], kind), numpy.ndarray
    yield numpy.arange(30_000)[::-3], numpy.ndarray
    yield numpy.arange(120_000, dtype="int32"), numpy.ndarray
    yield numpy.array(["k7", None, 7], "O"), numpy.ma.MaskedArray
    for mask in ([0, 1, 0], [0, 0, 0]):
        yield numpy.ma.array([7, 7, 2], mask=mask), numpy.ma.MaskedArray
    for index in (pandas.Index(["k7", "b"]), pandas.RangeIndex(1, 4),
                  pandas.array([7, None], "Int64")):
        yield index, pandas.arrays.BooleanArray
    for kind in (None, "object", "string", "category"):
        yield pandas.Series(["k7", None, "b"], dtype=kind), pandas.Series
    for values in ([7, 9], [7, None, 2.5], ["", "k7", b"a"], []):
        yield pandas.Series(values), pandas.Series
    yield pandas.Series([None] * 12_000 + [7, 8], dtype="Int64"), pandas.Series
    for kind in (polars.Categorical, polars.Enum(["k7", "b"])):
        yield polars.Series("n", ["k7", None, "b"], kind), polars.Series
    # Values of every kind in lists, which add_all and C read in pieces.
    generator = random.Random(1)
    for count, share in itertools.product((1, 100, 101, 1100, 12_000), (0, 0.01, 0.9)):
        for plain in ([f"k{i}" for i in range(count)], list(range(count)),
                      [*range(count), *(f"k{i}" for i in range(count))]):
            yield ["first", 1, *(
                generator.choice([*KEYS, pandas.NA] if generator.random() < share else plain)
                for _ in range(count))], list
    yield ["k" * 3_000_000, "b" * 3_000_000, "b" * 3_000_001], list
    yield [None] * 200 + ["k7"], list
    yield ["k7", pandas.NA], list  # which cannot be compared
    for kind in (str, bytes, int, float):
        yield [type("Own", (kind,), {})(b"7" if kind is bytes else 7)], list


class Columns(Program):
    @unittest.skipUnless(pathlib.Path("/sys/kernel/mm/transparent_hugepage").exists(),
                         "skipped: this system has no huge pages to ask for")
    def test_a_filter_of_32_megabytes_asks_for_huge_pages(self):
        for keys, asks in ((25_000_000, False), (27_500_000, True)):
            filter = Filter(keys)
            place = numpy.frombuffer(filter, "u1").ctypes.data + (4 << 20)
            (flags,) = (flags for begin, end, flags in re.findall(
                r"(?m)^([0-9a-f]+)-([0-9a-f]+) .*(?:\n[A-Z].*)*?\nVmFlags:(.*)",
                pathlib.Path("/proc/self/smaps").read_text())
                        if int(begin, 16) <= place < int(end, 16))
            self.assertEqual(" hg" in flags, asks)

    @classmethod
    def setUpClass(cls):
        cls.filters = [Filter.build([*KEYS[:-2], "k7", 7, 8], layout=layout)
                       for layout in ("fuse", "classic")]
        cls.filters.append(Filter.build(["evil.example", "k7"], key="url"))
        cls.fuse = cls.filters[0]

    def compare(self, column, kind):
        """A column beside the same values in SQL."""
        values = [None if pandas.isna(value) else value for value in listed(column)]
        keys = [value for value in values if value is not None]
        if keys:
            self.assertEqual(bytes(Filter.build(column, layout="counting")),
                             agg(keys, None, 0.01, "counting"))
            self.assertEqual(bytes(Filter.build(column, layout="fuse")),
                             agg(keys, None, 0.01, "fuse"))
        one, two = Filter(3000, layout="counting"), Filter(3000, layout="counting")
        one.update(column)
        two.update(values)
        self.assertEqual(one, two)
        database = connect()
        database.execute("CREATE VIRTUAL TABLE seen USING bloom(capacity=2000)")
        self.assertEqual(sqlite_bloom.add_all(database, "seen", column), len(keys))
        for key in set(keys):
            self.assertTrue(database.execute("SELECT 1 FROM seen(?)", [key]).fetchone())
        for filter in self.filters:
            known = {key: sql("bloom_check(?, ?)", filter, key) for key in set(values)}
            answers = filter.check(column)
            self.assertIs(type(answers), kind)
            self.assertIn(str(getattr(answers, "dtype", "bool")).lower(), ("bool", "boolean"))
            self.assertEqual([None if pandas.isna(answer) else answer
                              for answer in listed(answers)],
                             [None if known[key] is None else known[key] == 1 for key in values])

    def test_columns_of_every_kind(self):
        for column, kind in columns():
            with self.subTest(str(column)[:200]):
                self.compare(column, kind)

    def test_columns_of_arrow_of_every_type(self):
        read_in_place = 0
        for column, kind in arrow():
            with self.subTest(str(column)[:200]):
                self.compare(column, kind)
                if hasattr(column, "chunks") and column.type not in (
                        pyarrow.float16(), pyarrow.bool_(), pyarrow.binary(2)):
                    one, two = Filter(3000, layout="counting"), Filter(3000, layout="counting")
                    one._use(column.__arrow_c_stream__(), "A", "in place", None, True, None)
                    two.update(column.to_pylist())
                    self.assertEqual(one, two)
                    read_in_place += 1
        self.assertEqual(read_in_place, 19)
        text = ["", "a", "\u00fc" * 5, "k" * 13]
        for kind in ("string", "large_string", "string_view"):  # a layout whose keys are text
            self.assertEqual(Filter.build(pyarrow.array(text, kind), layout="classic-utf16"),
                             Filter.build(text, layout="classic-utf16"))
        for kind in ("binary", "large_binary", "binary_view"):
            self.assertRaises(ValueError, Filter.build, pyarrow.array([b"a"], kind),
                              layout="classic-utf16")
        for wrong in (pyarrow.array([[1]]), pyarrow.array([{"a": 1}])):
            self.assertRaises(TypeError, Filter(9).check, wrong)
        stream = pyarrow.chunked_array([["a"]]).__arrow_c_stream__()
        given = type("Given", (), {"__arrow_c_stream__": lambda *_: stream,
                                   "__len__": lambda self: 1, "__iter__": lambda self: iter("a")})()
        self.assertEqual(Filter.build(["a"]).check(given), [True])
        pyarrow.chunked_array(given)
        self.says("ValueError: sqlite_bloom.Filter.check: the stream of Arrow has been read",
                  Filter(9).check, given)

    def test_what_is_refused(self):
        day = datetime.date(2026, 1, 1)
        for message, column in (
                *(("TypeError: sqlite_bloom.Filter.check: key 1 is a date. Pass each key as a str,"
                   " bytes, int or float", days)
                  for days in ([day], polars.Series([day]), pyarrow.array([day]))),
                ("TypeError: sqlite_bloom.Filter.check: the column has times (datetime64[us])."
                 " Convert them to str or int", pandas.date_range("2026", periods=2, unit="us")),
                (f"ValueError: sqlite_bloom.Filter.check: key 3 is {2**63}, {BEYOND}",
                 numpy.array([1, 2, 2**63], "uint64")),
                *((f"TypeError: sqlite_bloom.Filter.check: column is a {type(no).__name__}. Pass"
                   " one column of it, as in frame['url']", no)
                  for no in (numpy.ones((2, 2), int), numpy.array(1), pandas.DataFrame(),
                             polars.DataFrame(), pyarrow.table({})))):
            self.says(message, self.fuse.check, column)

    def test_memory_is_given_back(self):
        columns = [pyarrow.array(["a", None]), pyarrow.array(["a"]).dictionary_encode(),
                   pyarrow.array([[1]]), polars.Series(["a"]), array.array("Q", [2**64 - 1]),
                   numpy.ma.array([7, 8], mask=[0, 1]), ["a", 7, "b"], ["a", []], []]
        counting = Filter.build(["a"], 9, layout="counting")
        calls = [Filter, Filter.build, lambda keys: Filter(9).update(keys), self.fuse.check,
                 lambda keys: Filter.build(keys, layout="fuse"), lambda _: Filter(b"none"),
                 lambda _: counting | counting, lambda _: counting & counting,
                 lambda _: Filter(bytes(counting)).add(7)]

        def work(_):
            before = allocated()
            for call, column in itertools.product(calls, columns * RUNS):
                with contextlib.suppress(TypeError, ValueError):
                    call(column)
            return allocated() - before

        self.assertLess(min(map(work, range(4))), RUNS)

    def test_indexes_and_names_are_kept(self):
        series = pandas.Series(["k7", "b", None], index=[3, 3, 1], name="x")
        pandas.testing.assert_series_equal(
            self.fuse.check(series),
            pandas.Series([True, False, None], index=[3, 3, 1], name="x", dtype="boolean"))
        self.assertEqual(self.fuse.check(polars.Series("x", ["k7", "b"])).name, "x")

    def test_files_are_read_by_lines_as_by_bloom_lines(self):
        texts = ["", "a", "a\nb\n", "a\r\nb\r\n\r\nc", "a\rb\r\rc\n", "\ufeffa\n\ufeffb", "\n\n",
                 "x" * 3_000_000 + "\r\n" + "y\r\n" * 700_000 + "z", "\u00fc\n\u00fd"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "keys.txt")
            for text in texts:
                path.write_bytes(text.encode())
                value = sql("bloom_agg(text, 9, 0.01, 'counting') FROM bloom_lines(?)",
                                 text.encode())
                for opened in (lambda: open(path, encoding="utf-8"), lambda: open(path, "rb"),
                               lambda: open(path, encoding="utf-8", newline=""),
                               lambda: io.StringIO(text), lambda: io.BytesIO(text.encode())):
                    with opened() as file:
                        if value is None:
                            self.assertRaises(ValueError, Filter.build, file, 9)
                        else:
                            built = Filter.build(file, 9, layout="counting")
                            self.assertEqual(bytes(built), value, text[:40])

    def test_progress_and_interrupts(self):
        for keys in (range(250_000), array.array("i", range(250_000)), iter(range(250_000))):
            reports = []
            filter = Filter(250_000)
            filter.update(keys, progress=reports.append)
            self.assertEqual(reports, [100_000, 200_000, 250_000])
        for keys in ([1], array.array("i", [1]), array.array("i", range(100_000))):
            self.assertRaises(KeyboardInterrupt, filter.update, keys, progress=stop)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # polars has put its own there
        for endless in (itertools.count(), array.array("q", bytes(1 << 28))):
            timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(100):
                    filter.update(endless)
            timer.join()

    def test_no_memory_is_a_memory_error(self):
        filter = Filter(bytes(Filter(2**26)))  # more than the 64 MB that a thread's arena may have
        limit = resource.getrlimit(resource.RLIMIT_AS)
        gc.collect()  # what other tests left would be freed below the limit
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


class AddAll(Program):
    def test_all_or_nothing(self):
        database, reports = connect(), []

        def one(sql):
            return database.execute(sql).fetchone()[0]

        database.execute("CREATE VIRTUAL TABLE seen USING bloom(capacity=100000)")
        self.assertEqual(sqlite_bloom.add_all(database, "seen", range(120_000),
                                              progress=reports.append), 120_000)
        self.assertEqual((reports, database.in_transaction), ([100_000, 120_000], False))
        self.assertEqual(sqlite_bloom.add_all(database, "seen", []), 0)
        long = [str(i) * (1 << 19) for i in range(10, 27)]  # more than are joined
        self.assertEqual(sqlite_bloom.add_all(database, "seen", long), len(long))
        self.assertTrue(all(database.execute("SELECT 1 FROM seen(?)", [key]).fetchone()
                            for key in long))
        before = one("SELECT info FROM seen")
        for message, keys, progress in (
                ("KeyError: 'mine'", breaks(*range(200_000, 250_000)), None),
                ("KeyboardInterrupt: 100000", range(150_000, 300_000), stop),
                *((f"ValueError: sqlite_bloom.add_all: key {place} is {shown}, {BEYOND}", keys,
                   None) for place, shown, keys in (
                       (60001, 2**70, [*range(200_000, 260_000), 2**70]),
                       (50001, "'\\ud800'", ["b"] * 50_000 + ["\ud800"]),
                       (201, 2**70, [None] * 200 + [2**70]),
                       (2, 2**63, numpy.array([1, 2**63], dtype="uint64")))),
                ("TypeError: sqlite_bloom.add_all: key 2 is a list. Pass each key as a str, bytes,"
                 " int or float", [1, []], None),
                (f"ValueError: sqlite_bloom.add_all: {LINES}", ["a\n", "b"], None)):
            self.says(message, sqlite_bloom.add_all, database, "seen", keys, progress=progress)
            self.assertEqual(one("SELECT info FROM seen"), before)
            self.assertFalse(database.in_transaction)
        database.execute("BEGIN")
        sqlite_bloom.add_all(database, "seen", ["within"])
        self.assertTrue(database.in_transaction)
        self.assertEqual(one("SELECT count(*) FROM seen('within')"), 1)
        database.rollback()
        self.assertEqual(one("SELECT count(*) FROM seen('within')"), 0)

    def test_tables(self):
        database = connect()
        database.executescript(
            "CREATE VIRTUAL TABLE \"a \"\"b\" USING bloom(key=URL,"
            " salt='000102030405060708090a0b0c0d0e0f'); CREATE TABLE plain(key)")
        sqlite_bloom.add_all(database, 'a "b', ["http://evil.example/"])
        self.assertEqual(database.execute('SELECT count(*) FROM "a ""b" WHERE key MATCH'
                                          " 'http://a.evil.example/b'").fetchone(), (1,))
        for message, *arguments in (
                ("OperationalError: sqlite_bloom.add_all: no such table: none. Create it with"
                 " CREATE VIRTUAL TABLE. Pass its name without a database", database, "none"),
                ('OperationalError: sqlite_bloom.add_all: no such column: info. "plain" is not a'
                 " filter table, so use INSERT", database, "plain"),
                ("TypeError: sqlite_bloom.add_all: a Cursor is not a connection. Pass a connection"
                 " of sqlite3 or apsw", database.cursor(), "plain")):
            self.says(message, sqlite_bloom.add_all, *arguments, ["a"])


class Threads(Program):
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
            for key in range(1, 40, 2):
                filter.add(key)
                time.sleep(0.0001)
                filter.update([key + 1])
                time.sleep(0.0001)
            done.set()
            thread.join()
            self.assertEqual(filter.check(list(range(41))), [True] * 41)

    def test_others_run_while_a_buffer_is_read(self):
        """A thread that waits for the GIL gets it only if somebody lets it go."""
        big, filter, ran = array.array("q", range(1_000_000)), Filter(1_000_000), []
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1000)
        for call in (filter.update, filter.check, Filter.build):
            for _ in range(200):
                timer = threading.Timer(0.002, lambda: ran.append(time.perf_counter()))
                timer.start()
                begin = time.perf_counter()
                call(big)
                end = time.perf_counter()
                timer.join()
                if begin < ran[-1] < end:
                    break
            else:
                self.fail(call)


def print_leaks():
    """More or fewer references. Without columns of libraries, which do not count them."""
    for test in itertools.chain(*map(unittest.defaultTestLoader.loadTestsFromTestCase, (
            AsInSql, AsASet, Lists, Bytes))):
        lost = sys.maxsize
        for _ in range(3):
            gc.collect()
            before = sys.gettotalrefcount()
            for _ in range(RUNS):
                result = unittest.TestResult()
                unittest.TestSuite([test]).run(result)
                assert result.wasSuccessful(), result.errors or result.failures
            del result
            gc.collect()
            lost = min(lost, abs(sys.gettotalrefcount() - before))
        if lost >= RUNS:
            print(test, lost / RUNS)


if __name__ == "__main__":
    if sys.argv[1:] == ["leaks"]:
        print_leaks()
    else:
        unittest.main()
