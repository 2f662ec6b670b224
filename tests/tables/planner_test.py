#!/usr/bin/env python3
"""Plans are good: a filter table is asked before the look-ups that it is there to save, whatever
the sizes and the form of the query, and a function lists nothing that is not wanted. That plans are
right is for tests/random/plans_test.py.

    planner_test.py     run the tests (and any option of unittest)

It needs apsw, of any release from 3.40.
"""

import pathlib
import sys
import tempfile
import unittest

import apsw

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/runner"))
from extended import connect, rows as run  # noqa: E402

# What must be asked after the filter, and what before: each query has visits v, whose rows give the
# key, and details d, whose look-up the filter shall save.
FORMS = {
    "join": "SELECT v.url FROM v JOIN seen ON key = v.url JOIN d ON d.url = v.url",
    "join, filter last": "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN seen ON key = v.url",
    "comma": "SELECT v.url FROM d, seen, v WHERE seen.key = v.url AND d.url = v.url",
    "function": "SELECT v.url FROM v JOIN d ON d.url = v.url, seen(v.url)",
    "MATCH": "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN listed AS seen "
             "ON seen.key MATCH v.url",
    "MATCH, a comma": "SELECT v.url FROM d, listed AS seen, v WHERE seen.key MATCH v.url "
                      "AND d.url = v.url",
    "IS": "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN seen ON key IS v.url",
    "two filters": "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN seen ON seen.key = v.url "
                   "JOIN other ON other.key = v.url",
}


def steps(connection, sql):
    """How the tables are asked, in this order."""
    return [row[3] for row in run(connection, "EXPLAIN QUERY PLAN " + sql)
            if row[3].startswith(("SCAN", "SEARCH"))]


# A filter in front of a table, as sql/QUESTIONS.md advises, for 2,000 keys of which 20 are there,
# and the form of which it says that it reads the index all the same.
IN_FRONT = {
    "join": "SELECT v.url FROM v JOIN seen(v.url) JOIN d ON d.url = v.url",
    "join, the other way": "SELECT v.url FROM v JOIN d ON d.url = v.url JOIN seen(v.url)",
    "join in EXISTS": "SELECT v.url FROM v "
                      "WHERE EXISTS (SELECT 1 FROM seen(v.url) JOIN d ON d.url = v.url)",
    "a value": "SELECT url FROM v WHERE bloom_check((SELECT bloom_pin(f) FROM filters), url) "
               "AND url IN (SELECT url FROM d)",
}
IN_VAIN = ("SELECT url FROM v WHERE EXISTS (SELECT 1 FROM seen(v.url)) "
           "AND url IN (SELECT url FROM d)")
ONE_KEY = "SELECT note FROM seen(?1) JOIN d ON url = ?1"


class InFront(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.connection = connect(str(pathlib.Path(folder.name, "front.db")))
        self.addCleanup(self.connection.close)
        run(self.connection, """
            CREATE TABLE v(url TEXT); CREATE TABLE d(url TEXT PRIMARY KEY, note);
            CREATE VIRTUAL TABLE seen USING bloom(capacity=20000);
            CREATE TABLE filters(f BLOB NOT NULL);
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
                INSERT INTO d SELECT hex(bloom_hash(x)), x FROM n;
            INSERT INTO seen(key) SELECT url FROM d;
            INSERT INTO filters SELECT bloom_agg(url) FROM d;
            INSERT INTO v SELECT hex(bloom_hash(-note)) FROM d WHERE note <= 1980;
            INSERT INTO v SELECT url FROM d WHERE note <= 20; BEGIN""")

    def pages(self, sql, *given):
        """How many rows a query has, and how many pages it asks for when all are in the cache."""
        def asked():
            return sum(self.connection.status(which)[0]
                       for which in (apsw.SQLITE_DBSTATUS_CACHE_HIT,
                                     apsw.SQLITE_DBSTATUS_CACHE_MISS))
        for _ in range(2):
            run(self.connection, sql, given)
        before = asked()
        found = len(run(self.connection, sql, given))
        return found, asked() - before

    def test_a_filter_saves_the_look_ups(self):
        plain = self.pages("SELECT url FROM v WHERE url IN (SELECT url FROM d)")
        self.assertGreater(plain[1], 4000)
        for form, sql in IN_FRONT.items():
            with self.subTest(form=form):
                rows, pages = self.pages(sql)
                self.assertEqual(rows, plain[0])
                self.assertLess(pages, 300)
        self.assertGreater(self.pages(IN_VAIN)[1], 4000)

    def test_one_key(self):
        absent, *_, present = [url for url, in run(self.connection, "SELECT url FROM v")]
        self.assertEqual(self.pages(ONE_KEY, absent), (0, 0))
        self.assertEqual(self.pages(ONE_KEY, present)[0], 1)
        self.assertGreaterEqual(self.pages(ONE_KEY, present)[1], 2)


class Planner(unittest.TestCase):
    def test_the_filter_comes_before_the_look_up(self):
        """Where SQLite scans the visits: it may as well scan details when those are few."""
        for visits, details, analyzed in ((1000, 20000, False), (20000, 1000, True),
                                          (20000, 20000, True)):
            connection = connect()
            run(connection, f"""
                CREATE TABLE v(url TEXT); CREATE TABLE d(url TEXT PRIMARY KEY, note);
                CREATE VIRTUAL TABLE seen USING bloom(capacity=1000);
                CREATE VIRTUAL TABLE other USING bloom(capacity=1000);
                CREATE VIRTUAL TABLE listed USING bloom(capacity=1000, key=URL);
                WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000)
                    INSERT INTO d SELECT 'u' || x, x FROM n;
                INSERT INTO v SELECT url FROM d WHERE note <= {visits};
                DELETE FROM d WHERE note > {details}; {"ANALYZE" if analyzed else ""}""")
            for form, sql in FORMS.items():
                with self.subTest(form=form, visits=visits, details=details, analyzed=analyzed):
                    order = [step.split()[1] for step in steps(connection, sql)]
                    self.assertTrue(analyzed or order[0] == "v")
                    if order[0] == "v":
                        self.assertLess(order.index("seen"), order.index("d"))

    def test_a_check_shows_its_key_in_the_plan(self):
        connection = connect()
        run(connection, "CREATE VIRTUAL TABLE seen USING bloom")
        for sql in ("SELECT 1 FROM seen WHERE key = 5", "SELECT 1 FROM seen(5)",
                    "SELECT 1 FROM seen WHERE key IS 5"):
            self.assertRegex(steps(connection, sql)[0], "INDEX [16]:key(=| MATCH )[?]$")

    def test_nothing_is_left_to_filter_or_sort(self):
        connection = connect()
        for end in ("WHERE key > 5 ORDER BY key", "WHERE key BETWEEN 3 AND 9 ORDER BY key DESC",
                    "WHERE key = 7", "WHERE key < 5 AND key >= 2", "ORDER BY key"):
            sql = f"SELECT key FROM bloom_keys(bloom_new(20, NULL, 'bitmap')) {end}"
            codes = [row[1] for row in run(connection, "EXPLAIN " + sql)]
            self.assertIn("VFilter", codes)
            for code in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "SorterOpen"):
                self.assertNotIn(code, codes, end)

    def test_a_function_is_asked_once_for_all_branches_of_an_or(self):
        """What is asked for each branch compares its argument once more."""
        connection = connect()
        for source in ("bloom_keys(?1)", "bloom_url_keys(?1)", "bloom_list(?1)"):
            for condition in ("key = 7 OR key > 9", "key = 7 OR key BETWEEN 8 AND 9 OR key < 3"):
                for rest in ("", "JOIN v ON v.x = key", "CROSS JOIN v"):
                    run(connection, "CREATE TABLE IF NOT EXISTS v(x)")
                    sql = f"EXPLAIN QUERY PLAN SELECT key FROM {source} {rest} WHERE {condition}"
                    details = [row[3] for row in connection.cursor().execute(sql, (None,))]
                    self.assertNotIn("MULTI-INDEX OR", details, sql)


if __name__ == "__main__":
    unittest.main()
