#!/usr/bin/env python3
"""The planner asks a filter table before the look-ups that it is there to save, whatever the sizes
and the form of the query.

    planner_test.py     run the tests (and any option of unittest)

It needs apsw, of any release from 3.40.
"""

import itertools
import pathlib
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = next((str(TOP / name) for name in ("bloom.so", "bloom.dylib", "bloom.dll")
                if (TOP / name).exists()), "bloom")

# What must be asked after the filter, and what before: each query has visits v, whose rows give the
# key, and details d, whose look-up the filter shall save.
FORMS = {
    "join": "SELECT v.url FROM v JOIN seen ON key = v.url JOIN d ON d.url = v.url",
    "join, filter last": "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN seen ON key = v.url",
    "comma": "SELECT v.url FROM d, seen, v WHERE seen.key = v.url AND d.url = v.url",
    "function": "SELECT v.url FROM v JOIN d ON d.url = v.url, seen(v.url)",
    "MATCH": (
        "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN listed AS seen ON seen.key MATCH v.url"
    ),
    "MATCH, a comma": "SELECT v.url FROM d, listed AS seen, v WHERE seen.key MATCH v.url "
                      "AND d.url = v.url",
    "IS": "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN seen ON key IS v.url",
    "two filters": (
        "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN seen ON seen.key = v.url "
        "JOIN other ON other.key = v.url"
    ),
    "aggregate": (
        "SELECT count(*), max(d.note) FROM v JOIN d ON d.url = v.url JOIN seen ON key = v.url"
    ),
    "ordered": (
        "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN seen ON key = v.url ORDER BY v.rowid"
    ),
}


def connect():
    connection = apsw.Connection(":memory:")
    for names, value in ((("enable_load_extension", "enableloadextension"), True),
                         (("load_extension", "loadextension"), LIBRARY)):
        next(getattr(connection, name) for name in names if hasattr(connection, name))(value)
    return connection


def run(connection, sql):
    return list(connection.cursor().execute(sql))


def plan(connection, sql):
    """The tables in the order in which they are asked, and how."""
    details = [row[3] for row in run(connection, "EXPLAIN QUERY PLAN " + sql)]
    steps = []
    for detail in details:
        words = detail.replace(" TABLE ", " ").split()
        if words[0] in ("SCAN", "SEARCH"):
            steps.append((words[1], detail))
    return steps


class Planner(unittest.TestCase):
    def order(self, connection, sql):
        return [name for name, _ in plan(connection, sql)]

    def test_the_filter_comes_before_the_look_up(self):
        """Where SQLite scans the visits: it may as well scan details when those are few."""
        for visits, details, analyzed in itertools.product(
            (1000, 20000), (1000, 20000), (False, True)
        ):
            connection = connect()
            run(connection, f"""
                CREATE TABLE v(url TEXT); CREATE TABLE d(url TEXT PRIMARY KEY, note);
                CREATE VIRTUAL TABLE seen USING bloom(capacity=1000);
                CREATE VIRTUAL TABLE other USING bloom(capacity=1000);
                CREATE VIRTUAL TABLE listed USING bloom(capacity=1000, key=URL);
                WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {visits})
                    INSERT INTO v SELECT 'u' || x FROM n;
                WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {details})
                    INSERT INTO d SELECT 'u' || x, x FROM n""")
            if analyzed:
                run(connection, "ANALYZE")
            for form, sql in FORMS.items():
                with self.subTest(form=form, visits=visits, details=details, analyzed=analyzed):
                    order = self.order(connection, sql)
                    if order[0] == "v":
                        self.assertLess(order.index("seen"), order.index("d"))

    def test_without_statistics_the_visits_are_scanned(self):
        connection = connect()
        run(connection, "CREATE TABLE v(url TEXT); CREATE TABLE d(url TEXT PRIMARY KEY, note);"
                        "CREATE VIRTUAL TABLE seen USING bloom(capacity=1000);"
                        "CREATE VIRTUAL TABLE other USING bloom(capacity=1000);"
                        "CREATE VIRTUAL TABLE listed USING bloom(capacity=1000, key=URL)")
        for form, sql in FORMS.items():
            with self.subTest(form=form):
                self.assertEqual(self.order(connection, sql)[0], "v")

    def test_a_check_shows_its_key_in_the_plan(self):
        connection = connect()
        run(connection, "CREATE VIRTUAL TABLE seen USING bloom")
        for sql in ("SELECT 1 FROM seen WHERE key = 5", "SELECT 1 FROM seen(5)",
                    "SELECT 1 FROM seen WHERE key IS 5"):
            self.assertTrue(
                plan(connection, sql)[0][1].endswith("VIRTUAL TABLE INDEX 1:key=?"), sql
            )

    def test_what_no_plan_can_answer_is_said_in_words(self):
        connection = connect()
        run(connection, "CREATE VIRTUAL TABLE seen USING bloom; CREATE TABLE v(url)")
        for sql in (
            "SELECT a.key FROM seen AS a JOIN seen AS b ON a.key = b.key",
            "SELECT key FROM seen",
            "SELECT v.url FROM seen LEFT JOIN v ON v.url = seen.key",
            "SELECT v.url FROM seen CROSS JOIN v ON v.url = seen.key",
            "SELECT info FROM seen WHERE key = (SELECT key FROM seen)",
        ):
            with self.subTest(sql=sql), self.assertRaisesRegex(
                apsw.Error, "seen: a filter table cannot list"
            ):
                run(connection, sql)

    def test_arguments_of_the_function(self):
        connection = connect()
        run(connection, "CREATE VIRTUAL TABLE seen USING bloom; INSERT INTO seen(key) VALUES ('a')")
        for arguments in ("'a', 'b'", "'a', 'b', 'c'", "'a', NULL"):
            with self.assertRaisesRegex(
                apsw.Error, "seen: as a function a filter table takes one argument, the key"
            ):
                run(connection, f"SELECT 1 FROM seen({arguments})")
        self.assertEqual(run(connection, "SELECT key FROM seen('a')"), [("a",)])

    def test_is_and_is_not_distinct_from(self):
        connection = connect()
        run(connection, "CREATE VIRTUAL TABLE seen USING bloom; INSERT INTO seen(key) VALUES ('a')")
        for key, found in (("'a'", [(1,)]), ("'b'", []), ("(SELECT NULL)", [])):
            self.assertEqual(run(connection, f"SELECT 1 FROM seen WHERE key IS {key}"), found)
            if key != "'b'" or apsw.SQLITE_VERSION_NUMBER >= 3039000:
                self.assertEqual(
                    run(connection, f"SELECT 1 FROM seen WHERE key IS NOT DISTINCT FROM {key}"),
                    found,
                )

    def test_creating_a_table_leaves_last_insert_rowid_alone(self):
        connection = connect()
        run(
            connection,
            "CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (77); CREATE VIRTUAL"
            " TABLE seen USING bloom",
        )
        self.assertEqual(run(connection, "SELECT last_insert_rowid()"), [(77,)])

    def test_info_is_json_to_functions_of_json(self):
        connection = connect()
        run(connection, "CREATE VIRTUAL TABLE seen USING bloom")
        self.assertEqual(
            run(connection, "SELECT json_type(json_object('x', info), '$.x') FROM seen"),
            [("object",)],
        )


if __name__ == "__main__":
    unittest.main()
