#!/usr/bin/env python3
"""No plan changes an answer: random queries of filter tables and table-valued functions, beside the
same queries of ordinary tables that hold what is in them.

The model is a connection without the extension, without indexes and statistics, in which each
filter table and function is an ordinary table of its rows: a function's argument is a column there,
as SQLite has it, and `x MATCH y` a list of the URLs that are covered. The other connection varies
plans: indexes, forged statistics, unary plus, CROSS JOIN, pragmas.

A query is generated from a list of choices. What a filter table is asked is known while it is
written: where its key is given in every plan that SQL allows, any error is a failure; elsewhere a
refusal in our words will do, and an answer must be right all the same.

SEED and QUERIES in the environment choose the run, FIRST the number of its first query. A failure
prints these, and the shortest query that fails, with its plan.
"""

import collections
import ctypes
import json
import os
import pathlib
import random
import re
import sys
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/runner"))
import extended  # noqa: E402

SEED = int(os.environ.get("SEED", "1"))
QUERIES = int(os.environ.get("QUERIES", "3000"))
FIRST = int(os.environ.get("FIRST", "0"))
WORLD = 100  # queries on the same tables
DEAREST = 100000  # opcodes that a query of the model may take; a dearer one is left out

# Where a key is not given. The last two: an argument that an outer join has left NULL, or a pin
# that SQLite compares once more.
REFUSALS = re.compile(
    r"\w+: a filter table cannot list its keys"
    r"|key MATCH cannot be used here"
    r"|bloom_\w+: the (filter|URL) is missing"
    r"|bloom_keys: argument 1 is NULL"
    r"|bloom_keys: a pinned filter cannot be read from its column")

# Column affinities play the part that they play in SQL, but for digits as text in a column without
# affinity (table_keys.test): none are here.
MIXED = [*range(0, 20, 2), "a1", "a2", "a3", b"\x01z", 2.5]
INTEGERS = list(range(0, 40, 3))
# No entry has two spellings here: it is one row for OR, and two for IN.
ENTRIES = ["evil.example/", "host.example/a/", "www.pages.example/x?y", "deep.sub.example/"]
URLS = ["evil.example/", "https://www.evil.example/p/q?r", "http://host.example/a/b",
        "http://host.example/b", "host.example/a/", "www.pages.example/x?y",
        "http://pages.example/x?y", "a.deep.sub.example", "sub.example", "http://ok.example/"]
NO_URLS = ["/nothing", ""]


def url_keys(url):
    """The keys of a URL by URLS.md, most exact first."""
    host, _, path = url.partition("://")[2].partition("/") if "://" in url else url.partition("/")
    if not host:
        return []
    path, mark, query = path.partition("?")
    parts = path.split("/")
    paths = ["/" + path + mark + query] if mark else []
    paths += ["/" + path] if path else []
    paths += ["/" + "".join(part + "/" for part in parts[:count])
              for count in range(len(parts) - 1, -1, -1)
              if parts[:count] != parts[:-1] or parts[-1] or not path]
    labels = host.split(".")
    hosts = [".".join(labels[start:]) for start in range(len(labels) - 1)]
    return [one + other for one in hosts for other in paths]


# --- Choices -------------------------------------------------------------------------------------

class Choices:
    """Numbers that decide; 0 is the simplest. Those of a list, then 0; or by lot, and kept."""

    def __init__(self, lot=None, given=()):
        self.lot, self.given, self.taken = lot, given, []

    def pick(self, count):
        at = len(self.taken)
        number = (self.lot.randrange(count) if self.lot else
                  self.given[at] % count if at < len(self.given) else 0)
        self.taken.append(number)
        return number

    def of(self, values):
        return values[self.pick(len(values))]

    def chance(self, percent):
        return self.pick(100) >= 100 - percent

    def some(self, values):
        return [value for value in values if self.chance(50)]


# --- Queries -------------------------------------------------------------------------------------

def both(real, model):
    """A text that is another one in the model."""
    return f"\x01{real}\x02{model}\x03"


def text_for(model, text):
    innermost = re.compile("\x01([^\x01\x02\x03]*)\x02([^\x01\x02\x03]*)\x03")
    while "\x01" in text:
        text = innermost.sub(lambda match: match[1 + model], text)
    return text


Column = collections.namedtuple("Column", "name kind nullable")

ORDINARY = {
    "t": {"k": "mixed", "n": "integer", "s": "text", "url": "text"},
    "u": {"k": "mixed", "n": "integer", "s": "text"},
    "filters": {"id": "integer", "f": "filter"}}
FILTERS = {"seen": "mixed", "recent": "mixed", "ints": "integer", "bad": "text",
           "bad MATCH": "matched"}
FUNCTIONS = {
    "bloom_keys": ("filter", "f", {"key": "integer"}),
    "bloom_url_keys": ("argument", "url", {"key": "text", "rank": "integer"})}
# A key that was matched is what was asked, and not an entry to compare.
NOT_TO_COMPARE = ("filter", "matched")


class Query:
    def __init__(self, choices, world, depth=2):
        self.choices, self.world, self.depth = choices, world, depth
        self.must = True  # be answered
        self.aliases = 0

    def alias(self):
        self.aliases += 1
        return f"a{self.aliases}"

    # Expressions

    def constant(self):
        choices = self.choices
        number = choices.of((0, 2, 3, 6, choices.pick(30)))  # these are in most of what there is
        return choices.of((
            str(number), str(number), "'a%d'" % (number % 5), f"'{number}'", "NULL", f"{number}.0",
            f"-{number}", f"{number}.5", "2.5", "x'017a'", str(60 * number), "1e300",
            "9223372036854775807",
            f"'{number}x'", "'" + choices.of(URLS + NO_URLS) + "'"))

    def column(self, scope):
        """One that may be compared; None when there is none."""
        fit = [column.name for column in scope if column.kind not in NOT_TO_COMPARE]
        return self.choices.of(fit) if fit else None

    def expression(self, scope):
        column = self.column(scope)
        form = self.choices.pick(12) if column else 0
        if form == 0:
            return self.constant()
        if form == 1:
            return f"+{column}"
        if form == 2:
            return f"coalesce({column}, {self.constant()})"
        if form == 3:
            return f"(SELECT max(v.n) FROM u AS v WHERE v.n <> {column})"
        return column

    def atom(self, scope):
        choices = self.choices
        left = self.column(scope)
        if not left:
            return f"{self.constant()} < {self.constant()}"
        one, two = self.expression(scope), self.constant()
        text = choices.of((
            f"{left} = {one}", f"{left} < {one}", f"{left} >= {one}",
            f"{one} > {left}", f"{left} IS {one}", f"{left} IS NOT {one}",
            f"{left} <> {one}", f"{left} BETWEEN {one} AND {two}",
            f"{left} IN ({one}, {two}, {self.constant()})", f"{left} IS NULL",
            f"{left} IS NOT NULL", f"{left} NOT IN ({one}, {two})",
            f"+{left} = {one}", f"{left} % 3 = 1"))
        if " IN (" in text and left.endswith(".key"):
            self.must = False  # of two INs for a key older releases try one order of tables only
        return text

    def condition(self, scope, depth=2):
        choices = self.choices
        form = choices.pick(12) if depth > 0 else 0
        if form in (6, 7):
            return f"({self.condition(scope, depth - 1)} AND {self.condition(scope, depth - 1)})"
        if form in (8, 9):
            return f"({self.condition(scope, depth - 1)} OR {self.condition(scope, depth - 1)})"
        if form == 10:
            return f"NOT ({self.condition(scope, depth - 1)})"
        if form == 11 and self.depth > 0:
            return self.subquery_condition(scope)
        return self.atom(scope)

    def subquery_condition(self, scope):
        choices = self.choices
        form = choices.pick(4)
        word = choices.of(("", "NOT "))
        if form == 0:
            return f"{word}EXISTS ({self.select(scope, ends=False)[0]})"
        if form == 1:
            return f"{word}EXISTS ({self.inner_match(scope)})"
        inner = self.select(scope, ends=False, single=True, one_row=form == 3)[0]
        left = self.expression(scope)
        return f"{left} {word}IN ({inner})" if form == 2 else (
            f"{left} {choices.of(('=', '>'))} ({inner})")

    def inner_match(self, scope):
        """MATCH, also where OR stands between several."""
        alias = self.alias()
        matches = [f"{alias}.key MATCH {self.expression(scope)}"
                   for _ in range(1 + self.choices.pick(2))]
        # It may have made a join of EXISTS, and takes no OR apart within one of its own.
        if len(matches) > 1 and self.world.version >= 3051000:
            self.must = False
        bad = both("bad", "covered")
        return f"SELECT 1 FROM {bad} AS {alias} WHERE {' OR '.join(matches)}"

    # Sources

    def bind(self, name, alias, scope, extra):
        """A condition that gives the key of a filter table, from the columns of a scope; extra are
        those that other conditions may compare."""
        choices = self.choices
        key = f"{alias}.key"
        one = self.expression(scope)
        if name == "bad MATCH":
            return f"{key} MATCH {one}"
        form = choices.pick(10)
        if form == 0:
            return f"{key} = {one}"
        if form == 1:
            return f"{one} = {key}"
        if form == 2:
            return f"{key} {'=' if one == 'NULL' else 'IS'} {one}"
        if form == 3:
            return f"{one} = {alias}.{name}"
        two = self.expression(scope)
        if form == 4:
            return f"{key} IN ({one}, {two}, {self.constant()})"
        if form == 5:
            return f"({key} = {one} OR {key} = {two})"
        if form == 6:
            conditions = [self.condition(extra, 1) if choices.chance(50) else f"{key} <> -1"
                          for _ in range(2)]
            return f"({key} = {one} AND {conditions[0]} OR {conditions[1]} AND {key} = {two})"
        if form == 7:
            return f"{key} IN (SELECT v.n FROM u AS v WHERE v.n < {one})"
        if form == 8:
            return f"{key} IN (SELECT v.k FROM u AS v WHERE {self.condition(scope, 0)})"
        return f"{key} = {one}"

    def argument(self, name):
        """A text for the argument of a function that depends on no row."""
        if name == "bloom_url_keys":
            return "'" + self.choices.of(URLS + NO_URLS) + "'"
        number = 1 + self.choices.pick(len(self.world.bound))
        if self.choices.chance(20):
            return f"?{number}"
        value = self.choices.of(("f", "bloom_pin(f)"))
        return f"(SELECT {value} FROM filters WHERE id = {number})"

    def hidden(self, column, argument, scope, alias, columns):
        """The argument as a column, also another one in each branch of an OR."""
        if self.choices.chance(50):
            return f"{column} {self.choices.of(('=', 'IS'))} {argument}"
        other = re.sub(r"id = \d+", f"id = {1 + self.choices.pick(2)}", argument)
        if argument[0] == "'":
            other = f"'{self.choices.of(URLS)}'"
        if "bloom_pin" in argument:
            self.must = False
        scope = scope + [Column(f"{alias}.{name}", kind, False) for name, kind in columns.items()]
        conditions = [self.condition(scope, 1) if self.choices.chance(50) else f"{alias}.key <> -1"
                      for _ in range(2)]
        return (f"({column} = {argument} AND {conditions[0]} OR"
                f" {column} = {other} AND {conditions[1]})")

    def from_clause(self, outer):
        """The text behind FROM, its columns, and the conditions for WHERE."""
        choices = self.choices
        texts, scope, where, late, any_derived = [], [], [], [], False
        items = 1 + (choices.pick(3) if self.depth > 0 else choices.pick(2))
        allowed = ["JOIN", ",", "LEFT JOIN", "LEFT JOIN", "CROSS JOIN"]
        joins = [choices.of(allowed) for _ in range(items)]
        free = all(join in ("JOIN", ",") for join in joins[1:])
        for place in range(items):
            join = joins[place] if place else ""
            on = []
            nullable = join == "LEFT JOIN"
            left = outer + scope
            given = [column for column in left if not column.name.startswith(
                tuple(f"{other}." for _, other, _ in late))]
            kind = choices.of(("ordinary", "filter", "filter", "function", "function", "derived")
                              if self.depth > 0 else ("ordinary", "filter", "function"))
            alias = self.alias()
            if kind == "ordinary":
                table = choices.of(list(ORDINARY))
                hint = choices.of(["", "", "", "", " NOT INDEXED", *(
                    f" INDEXED BY {name}" for name in self.world.indexes[table])])
                if "BY" in hint:
                    self.must = False  # an index may want what only comes after
                text = both(f"{table} AS {alias}{hint}", f"{table} AS {alias}")
                columns = ORDINARY[table]
            elif kind == "filter":
                name = choices.of(list(FILTERS))
                real = name.split()[0]
                text = f"{both(real, 'covered') if name == 'bad MATCH' else real} AS {alias}"
                columns = {"key": FILTERS[name]}
                if choices.chance(3):
                    self.must = False  # and the key is not given
                elif nullable:
                    on.append(self.bind(name, alias, given, left))
                elif free and choices.chance(40):
                    late.append((name, alias, place))
                else:
                    (where if choices.chance(50) or join in ("", ",") else on).append(
                        self.bind(name, alias, given, left))
            elif kind == "function":
                name = choices.of([name for name in FUNCTIONS if any(
                    c.name.endswith("." + FUNCTIONS[name][1]) for c in left)] or
                                  ["bloom_keys", *FUNCTIONS])
                hidden, column, columns = FUNCTIONS[name]
                lateral = [c for c in left if c.name.endswith("." + column)]
                if lateral and choices.chance(70):
                    row = choices.of(lateral)
                    if row.nullable and name != "bloom_url_keys":
                        self.must = False
                    real = f"{name}({row.name}) AS {alias}"
                    text = both(real, f"{name} AS {alias}")
                    asked = both("1", f"{alias}.{hidden} = {row.name}")
                    (on if nullable else where).append(asked)
                else:
                    argument = self.argument(name)
                    model = f"(SELECT * FROM {name} WHERE {hidden} = {argument}) AS {alias}"
                    text = both(f"{name}({argument}) AS {alias}", model)
                    if not nullable and choices.chance(40):
                        text = f"{name} AS {alias}"
                        where.append(self.hidden(f"{alias}.{hidden}", argument, outer + scope,
                                                 alias, columns))
            else:
                self.depth -= 1
                inner, kinds = self.select([], ends=True)
                self.depth += 1
                columns = {f"c{n}": kind for n, kind in enumerate(kinds, 1)}
                text, any_derived = f"({inner}) AS {alias}", True
            own = [Column(f"{alias}.{column}", kind, nullable) for column, kind in columns.items()]
            scope = scope + own
            if kind == "function" and choices.chance(40):
                (on if nullable else where).append(
                    f"{alias}.key {choices.of(('<', '<=', '>', '>=', '='))}"
                    f" {choices.of(('0', '-1', '0.5', '2.5', '30', self.constant()))}"
                    if name == "bloom_keys" else self.atom(own))
            if place and join != "," and (join != "CROSS JOIN" or on) and not (
                    kind == "filter" and not on) and choices.chance(60):
                on.append(self.condition(outer + scope, 1))
            if nullable and not on:
                on.append("1")
            texts.append(f"{join} {text}" + (f" ON {' AND '.join(on)}" if on else ""))
        if late and (any_derived or self.depth < 1):  # SQLite may have joined in an order of joins
            self.must = False
        for name, alias, place in late:  # from any of those that are not given late
            late_aliases = tuple(f"{other}." for _, other, at in late if at >= place)
            fit = outer + [column for column in scope if not column.name.startswith(late_aliases)]
            where.append(self.bind(name, alias, fit, fit))
        return " ".join(texts), scope, where

    # Statements

    def select(self, outer, ends, single=False, one_row=False):
        """A SELECT and the kinds of its columns: with ends also DISTINCT, GROUP BY, ORDER BY, LIMIT
        in a total order; single: of one column."""
        choices = self.choices
        self.depth -= 1
        source, scope, where = self.from_clause(outer)
        if choices.chance(50):
            where.append(self.condition(outer + scope))
        self.depth += 1
        fit = [column for column in scope if column.kind != "filter"]
        fit = fit or [Column("7", "integer", False)]
        columns = [choices.of(fit) for _ in range(1 if single else 1 + choices.pick(3))]
        names, kinds = [column.name for column in columns], [column.kind for column in columns]
        group, distinct = "", ""
        form = choices.pick(8) if ends else 0
        if one_row or single and choices.chance(40):
            names = [f"{choices.of(('max', 'min', 'count'))}({names[0]})"]
            kinds = ["integer"] if names[0][0] == "c" else kinds
        elif form == 4:
            distinct = "DISTINCT "
        elif form == 5:
            group = " GROUP BY " + ", ".join(names)
            names = names + ["count(*)", f"min({choices.of(fit).name})"]
            kinds = kinds + ["integer", "mixed"]
            if choices.chance(30):
                group += f" HAVING count(*) {choices.of(('>', '<='))} 1"
        elif form == 6:
            names = ["count(*)", f"count(DISTINCT {names[0]})",
                     f"{choices.of(('max', 'min'))}({names[0]})"]
            kinds = ["integer", "integer", "mixed"]
        tail = ""
        if ends and self.depth < 2 and choices.chance(20):
            order = ", ".join(f"{n}{choices.of(('', ' DESC'))}" for n in
                              range(1, len(names) + 1))
            tail = f" ORDER BY {order} LIMIT {choices.pick(6)} OFFSET {choices.pick(3)}"
        listed = ", ".join(f"{name} AS c{number}" for number, name in enumerate(names, 1))
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return f"SELECT {distinct}{listed} FROM {source}{condition}{group}{tail}", kinds

    def whole(self):
        """A statement, and by which columns it is ordered (by number, from 1)."""
        choices = self.choices
        form = choices.pick(18)
        text, kinds = self.select([], ends=True)
        if form >= 15:
            other, more = self.select([], ends=True)
            if "LIMIT" not in text.rpartition(")")[2] + other.rpartition(")")[2]:
                count = min(len(kinds), len(more))
                listed = ", ".join(f"c{number}" for number in range(1, count + 1))
                word = choices.of(("UNION ALL", "UNION", "EXCEPT", "INTERSECT"))
                text = f"SELECT {listed} FROM ({text}) {word} SELECT {listed} FROM ({other})"
                kinds = kinds[:count]
        elif form == 14:
            hint = choices.of(("", "", "MATERIALIZED ", "NOT MATERIALIZED ")
                              if self.world.version >= 3035000 else ("",))
            equal = "1" if kinds[0] == "matched" else "w.c1 = x.c1"
            listed = ", ".join(f"w.c{number}" for number in range(1, len(kinds) + 1))
            text = (f"WITH w AS {hint}({text}) SELECT {listed} FROM w"
                    f"{choices.of(('', ' JOIN w AS x ON ' + equal))}")
        if " LIMIT " in text.rpartition(")")[2]:
            return text, []
        limit = choices.chance(25)
        numbers = choices.some(range(1, len(kinds) + 1))
        if limit:  # only in a total order
            numbers = list(range(1, len(kinds) + 1))
            if choices.chance(50):
                numbers.reverse()
        if numbers:
            text += " ORDER BY " + ", ".join(
                f"{number}{choices.of(('', ' DESC'))}" for number in numbers)
        if limit:
            text += f" LIMIT {choices.pick(6)} OFFSET {choices.pick(4)}"
        return text, numbers


# --- The world -----------------------------------------------------------------------------------

class World:
    """Both connections, with the same rows in them."""

    def __init__(self):
        self.real, self.model = extended.connect(), connect_model()
        (version,), = self.run(self.model, "SELECT sqlite_version()")
        self.version = int("%d%03d%03d" % tuple(map(int, version.split("."))))
        schema = ("CREATE TABLE t(k, n INTEGER, s TEXT, url TEXT);"
                  "CREATE TABLE u(k, n INTEGER, s TEXT);"
                  "CREATE TABLE filters(id INTEGER PRIMARY KEY, f BLOB)")
        self.run(self.real, schema)
        self.run(self.model, schema)
        self.run(self.model, """
            CREATE TABLE seen(key, seen); CREATE TABLE recent(key, recent);
            CREATE TABLE ints(key INTEGER, ints INTEGER);
            CREATE TABLE bad(key, bad); CREATE TABLE covered(key);
            CREATE TABLE bloom_keys(key INTEGER, filter BLOB);
            CREATE TABLE bloom_url_keys(key TEXT, rank INTEGER, argument BLOB)""")
        salt = "salt='000102030405060708090a0b0c0d0e0f'"
        self.run(self.real, f"""
            CREATE VIRTUAL TABLE seen USING bloom(capacity=100, fpr=1e-9, growth=off);
            CREATE VIRTUAL TABLE recent USING bloom(capacity=100, fpr=1e-5, generations=3, {salt});
            CREATE VIRTUAL TABLE ints USING bloom(capacity=100, fpr=1e-9, growth=off,
                                                  key=INTEGER, layout=counting);
            CREATE VIRTUAL TABLE bad USING bloom(capacity=100, fpr=1e-9, growth=off, key=URL)""")
        for table, keys in (("seen", MIXED), ("recent", MIXED[:4]), ("recent", MIXED[4:]),
                            ("ints", INTEGERS), ("bad", ENTRIES)):
            if table == "recent":
                self.run(self.real, "INSERT INTO recent(recent) VALUES ('rotate')")
            for key in keys:
                self.run(self.real, f"INSERT INTO {table}(key) VALUES (?)", (key,))
                if table != "bad":
                    self.run(self.model, f"INSERT INTO {table} VALUES (?1, ?1)", (key,))
        for url in {*URLS, *(key for url in URLS for key in url_keys(url))}:
            if url_keys(url)[0] in ENTRIES:
                self.run(self.model, "INSERT INTO bad VALUES (?1, ?1)", (url,))
            if set(url_keys(url)) & set(ENTRIES):
                self.run(self.model, "INSERT INTO covered VALUES (?)", (url,))
        for url in URLS:
            self.run(self.model, "INSERT INTO bloom_url_keys SELECT value, key, ?1"
                     " FROM json_each(?2)", (url, json.dumps(url_keys(url))))

    @staticmethod
    def run(connection, sql, bindings=()):
        return list(connection.cursor().execute(sql, bindings))

    def fill(self, lot):
        """Other rows, other plans."""
        real, model = self.real, self.model
        choices = Choices(lot)
        for connection in (real, model):
            self.run(connection, "DELETE FROM t; DELETE FROM u; DELETE FROM filters")
        self.run(model, "DELETE FROM bloom_keys")
        for table, columns in (("t", 4), ("u", 3)):
            for _ in range(choices.pick(9)):
                row = (choices.of(MIXED + INTEGERS + [None, "a4", "a9", b"z"] + URLS),
                       choices.of([None, *range(25)]),
                       choices.of([None, "a1", "a2", "a9"] + URLS), choices.of(
                           [None] + URLS + NO_URLS))[:columns]
                for connection in (real, model):
                    self.run(connection, f"INSERT INTO {table} VALUES ({'?, ' * (columns - 1)}?)",
                             row)
        self.bound = []
        for number in range(1, 3 + choices.pick(2)):
            room = choices.of((1, 30, 30, 64, 2000))  # keys are listed 128 at a time
            share = 0.07 if room == 2000 else choices.of((1, 0.3, 0.1, 0))
            keys = [key for key in range(room) if lot.random() < share]
            f, = self.run(real, "INSERT INTO filters SELECT ?1, coalesce(bloom_agg(value, ?2, NULL,"
                          " 'bitmap'), bloom_new(?2, NULL, 'bitmap')) FROM json_each(?3);"
                          "SELECT f FROM filters WHERE id = ?1",
                          (number, room, json.dumps(keys), number))[0]
            self.run(model, "INSERT INTO filters VALUES (?1, ?2)", (number, f))
            self.bound.append(f)
            if not self.run(model, "SELECT 1 FROM bloom_keys WHERE filter = ?", (f,)):
                self.run(model, "INSERT INTO bloom_keys SELECT value, ? FROM json_each(?)",
                         (f, json.dumps(keys)))
        self.vary(choices)

    def vary(self, choices):
        # Of one column each: SQLite 3.40 answers wrongly where it skips the first in a LEFT JOIN.
        indexes = {"by_k": "t(k)", "by_n": "t(n)", "by_s": "t(s)", "by_url": "t(url)",
                   "u_by_k": "u(k)", "u_by_n": "u(n)", "by_some": "t(k) WHERE n > 5"}
        for name in indexes:
            self.run(self.real, f"DROP INDEX IF EXISTS {name}")
        chosen = choices.some(indexes)
        self.indexes = {table: [name for name in chosen if indexes[name].startswith(table + "(")
                                and "WHERE" not in indexes[name]]
                        for table in ORDINARY}
        for name in chosen:
            self.run(self.real, f"CREATE INDEX {name} ON {indexes[name]}")
        self.run(self.real, "ANALYZE; DELETE FROM sqlite_stat1")
        for table, names in (("t", ("by_k", "by_n", "by_s", "by_url")),
                             ("u", ("u_by_k", "u_by_n"))):
            if choices.chance(60):
                for name in [None, *(name for name in names if name in chosen)]:
                    rows = choices.of((1, 10, 1000, 10**6, 10**9))
                    self.run(self.real, "INSERT INTO sqlite_stat1 VALUES (?, ?, ?)",
                             (table, name, f"{rows}" if name is None else
                              f"{rows} {max(1, rows // choices.of((1, 10, 1000)))}"))
        self.run(self.real, "ANALYZE sqlite_master")
        for pragma in ("reverse_unordered_selects", "automatic_index"):
            self.run(self.real, f"PRAGMA {pragma} = {choices.pick(2)}")


def connect_model():
    connection = apsw.Connection(":memory:")
    define = getattr(connection, "create_scalar_function", None) or connection.createscalarfunction
    limit = getattr(connection, "set_progress_handler", None) or connection.setprogresshandler
    limit(lambda: True, DEAREST)
    define("bloom_pin", lambda value: value, 1)
    define("match", lambda url, key: None if url is None else int(url == key), 2)
    if list(connection.cursor().execute("SELECT sqlite_version()")) == [("3.31.1",)]:
        # This release answers wrongly where it puts constants in the place of columns.
        ctypes.CDLL(None).sqlite3_test_control(
            15, ctypes.c_void_p(connection.sqlite3pointer()), 0xffff)  # no optimizations
    return connection


def outcome(connection, sql, bound):
    highest = max(map(int, re.findall(r"\?(\d+)", sql)), default=0)
    return World.run(connection, sql, bound[:highest])


class Failure(Exception):
    pass


class Plans(unittest.TestCase):
    def attempt(self, world, choices, counts):
        """Asks a query of both. Raises Failure with the query and what is wrong."""
        query = Query(choices, world)
        text, ordered = query.whole()
        real, model = text_for(False, text), text_for(True, text)
        try:
            wanted = outcome(world.model, model, world.bound)
        except apsw.InterruptError:
            counts["too dear"] += 1
            return
        try:
            rows = outcome(world.real, real, world.bound)
        except apsw.Error as error:
            words = str(error).partition("Error: ")[2] or str(error)
            if not ("no query solution" in words and "INDEXED BY" in real) and (
                    query.must or not REFUSALS.match(words)):
                raise Failure(real, model, words) from error
            counts["refused"] += 1
            return
        counts["answered"] += 1
        counts["with rows"] += bool(rows)
        if collections.Counter(rows) != collections.Counter(wanted) or (
                [[row[n - 1] for n in ordered] for row in rows] !=
                [[row[n - 1] for n in ordered] for row in wanted]):
            raise Failure(real, model, f"{rows!s:.500} instead of {wanted!s:.500}")

    def fails(self, world, given):
        """What is wrong with the query of these choices, and which of them it takes."""
        choices = Choices(given=given)
        try:
            self.attempt(world, choices, collections.Counter())
        except Failure as failure:
            return failure, choices.taken
        except apsw.Error:
            pass
        return None, given

    def shortest(self, world, given):
        """Leaves out choices, and makes others 0, as long as the query fails and gets no longer."""
        best, given = self.fails(world, given)
        width = len(given)
        while width:
            changed = False
            for start in range(len(given), -1, -max(1, width // 2)):
                for put in ([], [0] * width, [0]):
                    tried = given[:start] + put + given[start + width:]
                    failure, taken = self.fails(world, tried)
                    if failure and (len(failure.args[0]), taken) < (len(best.args[0]), given):
                        best, given, changed = failure, taken, True
            width = width if changed else width // 2
        return best

    def report(self, world, failure, number):
        real, model, wrong = self.shortest(world, failure).args
        plan = [row[-1] for row in outcome(world.real, "EXPLAIN QUERY PLAN " + real, world.bound)]
        self.fail(f"\n{real}\n{wrong}\nthe model: {model}\n" + "\n".join(plan) +
                  f"\nSEED={SEED} FIRST={number} QUERIES=1, SQLite {world.version}")

    def test_answers_are_those_of_ordinary_tables(self):
        world, counts = World(), collections.Counter()
        for number in range(FIRST, FIRST + QUERIES):
            if number % WORLD == 0 or number == FIRST:
                world.fill(random.Random(f"{SEED} {number // WORLD}"))
            choices = Choices(random.Random(f"{SEED} query {number}"))
            try:
                self.attempt(world, choices, counts)
            except Failure:
                self.report(world, choices.taken, number)
            except apsw.Error as error:
                raise AssertionError(f"SEED={SEED} FIRST={number}: {error}") from error
        print(f"figures: plans on SQLite {world.version}: {dict(counts)}")
        if QUERIES >= 1000:
            self.assertGreater(counts["answered"], 0.9 * QUERIES)
            self.assertGreater(counts["with rows"], 0.25 * QUERIES)


if __name__ == "__main__":
    unittest.main()
