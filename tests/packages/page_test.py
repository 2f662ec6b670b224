#!/usr/bin/env python3
"""The page in headless Chromium (Debian's), opened as a file, without a network, and used as a
person would. Playwright and axe are in build/drivers: see fetch.sh.
"""
import gzip
import json
import pathlib
import re
import shutil
import sqlite3
import unittest
from urllib.parse import urlparse

from common import (BUILD, CHROMIUM, DRIVERS, RELEASE, TOP, WORK, Scratch, chromium, loaded, needs,
                    run)

DESKTOP = {"viewport": {"width": 1100, "height": 900}, "color_scheme": "light",
           "reduced_motion": "reduce", "permissions": ["clipboard-read", "clipboard-write"]}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True,
         "has_touch": True}
HIT, CLEAR, WRONG, NO_HOST = "on the list", "certainly not", "false positive", "no host"
FOUND = "probably on it"  # where there is only a filter
# A list in several forms at once, and what a browser reaches that it forbids: the URL, whether it
# does, and by which entry. Written by hand, from ext/URLS.md.
OWN_NAME = "my 'list'.txt"
OWN_LIST = """# Title: my list
127.0.0.1 localhost
0.0.0.0 ads.example tracker.example # two names
||host.example/Malware/*
@@||good.example^
B\u00dcCHER.example
"""
OWN_ENTRIES = ["ads.example", "tracker.example", "host.example/Malware/", "b\u00fccher.example"]
UNUSED_LINES = [["2", "localhost", "a name without a dot"],
                ["5", "@@||good.example^", "an exception"]]
CASE_URL = "http://host.example/malware/deep/x"
OWN_ASKED = [
    ["https://sub.ads.example/page", HIT, "ads.example/"],
    ["HTTP://www.Tracker.example:80/a?b#c", HIT, "tracker.example/"],
    [CASE_URL, CLEAR, ""],
    ["http://host.example/Malware/deep/x", HIT, "host.example/Malware/"],
    ["http://good.example/", CLEAR, ""],
    ["http://xn--bcher-kva.example/", HIT, "xn--bcher-kva.example/"],
    ["\x01 ws:clean.example", CLEAR, ""],  # a browser skips what comes first
    ["what is this?", NO_HOST, ""],
    ["mailto:someone@evil", NO_HOST, ""]]
MORE = ", and more for a URL, which has several keys."
# Drops a long list on the page.
LINES = """() => {
    const lines = Array.from({length: 5e6}, (_, i) => `0.0.0.0 h${i}.example${i % 7}.test`);
    const transfer = new DataTransfer();
    transfer.items.add(new File([lines.join("\\n")], "million.txt"));
    document.dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, cancelable: true}));
}"""


def sorted_rows(rows):
    """As the page shows them: what was found first."""
    return sorted(rows, key=lambda row: (HIT, FOUND, WRONG).index(row[1]) if row[2] else 3)


def made(options, keys=OWN_ENTRIES):
    return loaded().execute(f"SELECT bloom_agg(value, NULL, 0.000001, '{options}')"
                            " FROM json_each(?)", [json.dumps(keys)]).fetchone()[0]


@needs("npm", "sqlite3", CHROMIUM)
class Page(Scratch):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.axe = (DRIVERS / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
        # In a folder with nothing beside it, because the page is one file.
        alone = WORK / "page"
        shutil.rmtree(alone, ignore_errors=True)
        alone.mkdir()
        cls.address = pathlib.Path(shutil.copy(BUILD / "web/index.html", alone)).as_uri()
        cls.browser = cls.enterClassContext(chromium())

    def setUp(self):
        super().setUp()
        self.errors, self.requests = [], []
        self.page = self.open()

    def open(self, address="", **options):
        context = self.browser.new_context(**{**DESKTOP, **options})
        self.addCleanup(context.close)
        context.set_default_timeout(120_000)  # milliseconds; the machine may be busy
        context.set_offline(True)
        page = context.new_page()
        page.on("console", lambda message: self.errors.append(message.text)
                if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(self.address + address)
        page.wait_for_selector("body[data-ready]")
        return page

    def tearDown(self):
        self.assertEqual(self.errors, [])
        self.assertLessEqual({urlparse(url).scheme for url in self.requests},
                             {"file", "data", "blob"})

    # What is on the page, and what a person does there.

    def shell(self, sql, files=None):
        """What the sqlite3 shell prints for a script, with the library and files beside it."""
        folder = self.new_folder()
        shutil.copy(TOP / "bloom.so", folder)
        (folder / "sql").symlink_to(TOP / "sql")
        (folder / "script.sql").write_text(sql)
        for file, text in (files or {}).items():
            (folder / file).write_text(text)
        return run("sqlite3", "-batch", "-init", "/dev/null", ":memory:", ".read script.sql",
                   cwd=folder).splitlines()

    def text(self, selector):
        """Of what can be seen; else nothing."""
        return "" if self.page.is_hidden(selector) else self.page.text_content(selector)

    def texts(self, selector):
        return [text.strip() for text in self.page.locator(selector).all_text_contents()]

    def rows(self, table):
        return self.page.eval_on_selector_all(
            f"{table} tbody tr",
            "rows => rows.map(row => [...row.children].map(cell => cell.textContent.trim()))")

    def wait(self, condition):
        self.page.wait_for_function(condition)

    def wait_for_list(self):
        self.wait("document.getElementById('list-work').children.length === 0")

    def ask(self, *lines):
        self.page.fill("#urls", "\n".join(lines))
        self.page.evaluate("document.getElementById('verdict').textContent = ''")
        self.page.click("#ask-form button[type=submit]")
        self.wait("document.getElementById('verdict').textContent !== ''")
        self.page.wait_for_timeout(100)  # the keys of the first one

    def verdicts(self):
        return [] if self.page.is_hidden("#several") else self.rows("#verdicts")

    def use_list(self, name, data):
        data = data.encode() if isinstance(data, str) else data
        self.page.set_input_files("#file", {"name": name, "buffer": data,
                                            "mimeType": "application/octet-stream"})
        self.wait_for_list()

    def select(self, field, value):
        self.page.select_option(field, value)
        self.wait_for_list()

    def wait_for_end(self):
        self.wait("/^(Done|It stopped)/.test(document.getElementById('status').textContent)")

    def run_sql(self, sql):
        self.page.fill("#sql", sql)
        self.page.click("#run")
        self.wait_for_end()

    def inspect(self):
        """axe finds nothing, and the page is no wider than its window."""
        self.page.evaluate(self.axe)
        found = self.page.evaluate(
            "async () => (await axe.run()).violations.map(({id, nodes}) =>"
            " id + ': ' + nodes.map(({html}) => html.slice(0, 120)).join('|'))")
        self.assertEqual(found, [])
        width = self.page.evaluate("Math.max(document.documentElement.scrollWidth, innerWidth)")
        self.assertLessEqual(width, self.page.viewport_size["width"])

    # The list that comes with the page.

    def test_it_opens_with_an_answer_on_every_screen(self):
        for look in (DESKTOP, PHONE, {"color_scheme": "dark"}):
            self.page = self.open(**look)
            self.assertRegex(self.text("#version"), rf"^bloom {re.escape(RELEASE)}, ")
            self.assertRegex(self.text("#verdict"), "^Probably on the list, by the key ")
            box = self.page.locator("#verdict").bounding_box()  # on the first screen
            self.assertLess(box["y"] + box["height"], self.page.viewport_size["height"])
            self.ask(*self.texts("#examples button"))
            self.run_sql("SELECT 1; SELECT bloom_check(NULL, 1)")
            self.page.click("#own > summary")
            self.inspect()

    def test_a_url_is_judged_and_the_bits_that_decide_are_drawn(self):
        hit, host, clean = self.texts("#examples button")[:3]
        for url in (hit, f' "{hit}"', f"<{host}>"):
            self.ask(url)
            self.assertEqual(self.page.get_attribute("#verdict", "class"), "verdict hit")
            decided = re.fullmatch(r"Probably on the list, by the key (\S+)\. The exact list"
                                   r" confirms it\.", self.text("#verdict"))[1]
            self.assertEqual(self.texts("#keys label:has(:checked) code"), [decided])
            self.assertEqual(self.page.locator("#block .bit.probe").count(),
                             self.page.locator("#block .bit.probe.set").count())
        for url in (clean, "https://unknown.example/a/b?c"):
            self.ask(url)
            self.assertEqual(self.text("#verdict"), "Certainly not on the list.")
            self.assertEqual(self.page.get_attribute("#verdict", "class"), "verdict clear")
            self.assertGreater(self.page.locator("#block .bit.probe:not(.set)").count(), 0)
        self.ask("")
        self.assertEqual(self.page.get_attribute("#verdict", "class"), "verdict doubt")

    def test_many_urls_are_judged_and_the_sql_that_is_shown_finds_the_same(self):
        """URLs in every spelling, and whether the list of the page names them: by visits.awk, which
        knows nothing of the extension."""
        listed = {}
        for line in run("awk", "-f", "sql/visits.awk", "-v", "harmless=60", "-v", "listed=60",
                        "sql/data/urlhaus.txt").splitlines():
            is_listed, url = line.split("\x1f")
            listed[url.strip()] = is_listed == "1"
        self.ask(*sorted(listed))
        for url, verdict, _ in self.verdicts():
            self.assertIn(verdict, (HIT,) if listed[url] else (CLEAR, WRONG), url)
        self.assertTrue(self.text("#verdict").startswith(f"60 of {len(listed)} are on the list"))
        hits = sorted(url for url, verdict, _ in self.verdicts() if verdict != CLEAR)
        self.page.click("[data-sql=list] button >> text=Copy")
        self.wait("document.querySelector('[data-sql=list] [role=status]').textContent"
                  " === 'Copied.'")
        sql = self.page.evaluate("navigator.clipboard.readText()")
        self.assertEqual(sorted(line.strip() for line in self.shell(sql)), hits)
        self.page.click("[data-sql=list] button >> text=Run it here")
        self.wait_for_end()
        self.assertEqual(sorted(self.texts("#output td")), hits)

    # A list of one's own.

    def assert_own_list(self, name, asked=OWN_ASKED):
        self.assertEqual(self.text("#list-problem"), "")
        self.assertEqual(self.rows("#unused-lines"), UNUSED_LINES)
        self.assertEqual(self.verdicts(), sorted_rows(asked))
        self.assertTrue(self.text("#list-figures").startswith(name))
        self.assertEqual(self.shell(self.text("#list-sql"), {OWN_NAME: OWN_LIST}),
                         [row[0] for row in self.verdicts() if row[1] == HIT])

    def test_a_list_of_ones_own_is_pasted_or_opened(self):
        self.page.click("#own > summary")
        self.page.fill("#paste", OWN_LIST)
        self.page.click("#use-paste")
        self.wait_for_list()
        self.ask(*(row[0] for row in OWN_ASKED))
        self.assert_own_list("pasted.txt: 4 keys in a filter of 128 bytes. False positives: 1 in"
                             f" 1,000 keys{MORE}")
        self.assertEqual(self.text("#verdict"), "4 of 9 are on the list.")
        self.use_list(OWN_NAME, OWN_LIST)
        self.assert_own_list(OWN_NAME)
        self.select("#rule", "url_nocase")
        self.assert_own_list(OWN_NAME, [
            [CASE_URL, HIT, "host.example/malware/"] if url == CASE_URL
            else [url, said, key.lower()] for url, said, key in OWN_ASKED])
        self.select("#rule", "url")
        self.select("#rate-wanted", "0.000001")
        self.assertIn("False positives: 1 in 1,000,000 keys,", self.text("#list-figures"))
        with self.page.expect_download() as download:
            self.page.click("#save")
        self.assertEqual(download.value.suggested_filename, "my 'list'.bloom")
        self.assertEqual(pathlib.Path(download.value.path()).read_bytes(), made("key=url"))
        self.page.reload()  # which keeps all of it
        self.page.wait_for_selector("body[data-ready]")
        self.assert_own_list(OWN_NAME)

    def test_a_filter_is_opened_of_any_layout(self):
        filters = {"saved": made("key=url"), "fuse": made("layout=fuse, key=url"),
                   "salted": made(f"key=url, salt={'5a' * 16}"),
                   "counting": made("layout=counting, key=url_nocase")}
        self.ask(*(row[0] for row in OWN_ASKED))
        self.use_list("saved.bloom", filters["saved"])
        self.assertEqual(
            self.text("#list-figures"),
            "saved.bloom: a filter of 128 bytes, of layout blocked, made for 4 keys. False"
            f" positives: 1 in 1,000,000 keys{MORE}")
        self.assertEqual(self.verdicts(), sorted_rows(
            [url, FOUND if said == HIT else said, key] for url, said, key in OWN_ASKED))
        self.use_list("cut.bloom", filters["saved"][:-1])
        self.assertRegex(self.text("#list-problem"), r"^cut\.bloom: the filter was cut off or"
                         r" extended: .* saved\.bloom is still the list\.$")
        self.ask("http://tracker.example/")
        for layout, data in filters.items():
            self.use_list(f"{layout}.bloom", data)
            self.assertEqual(self.text("#verdict"), "Probably on the list, by the key"
                             " tracker.example/. A filter alone cannot confirm it.")
            self.assertEqual(self.page.is_visible("#block"), layout == "saved")

    def test_what_is_no_list_is_refused_in_words(self):
        packed = gzip.compress(OWN_LIST.encode())
        kept = r" sql/data/urlhaus\.txt is still the list\.$"
        for name, data, said in (
                ("none.txt", "# only\n@@||x.example^\n",
                 r"there is no entry in it; line 2, for one: an exception\. If its lines are the"
                 r' keys, choose "keys as they are"\.'),
                ("bad.gz", packed[:40], r"what gzip compressed here is damaged\."),
                ("list.bz2", b"BZh91AY&SY\0\1", "the text is binary, with a zero byte near .*")):
            self.use_list(name, data)
            self.assertRegex(self.text("#list-problem"), rf"^{name}: {said}{kept}")
        self.use_list("list.txt.gz", packed)
        self.assertTrue(self.text("#list-figures").startswith("list.txt: 4 keys "))
        self.assertTrue(self.text("#list-sql").startswith("-- Unpack list.txt.gz first"))
        # A list of passwords is refused as one of hosts, and taken when its lines are the keys.
        self.use_list("leaked.txt", "hunter2\r\n\r\nlet'me in\n")
        self.assertIn('choose "keys as they are"', self.text("#list-problem"))
        self.select("#rule", "")
        self.ask("hunter2", "Hunter2", "let'me in")
        self.assertEqual(self.verdicts(), [["hunter2", HIT, "hunter2"],
                                           ["let'me in", HIT, "let'me in"], ["Hunter2", CLEAR, ""]])
        self.assertEqual(self.shell(self.text("#list-sql"), {"leaked.txt": "hunter2\nlet'me in\n"}),
                         ["hunter2", "let'me in"])

    def test_millions_of_lines_do_not_stop_the_page_and_can_be_stopped(self):
        self.page.evaluate(LINES)
        self.wait("document.querySelector('#list-work progress')?.value > 0.1")
        self.ask("https://sqlite.org/")  # the list before still answers
        self.assertEqual(self.text("#verdict"), "Certainly not on the list.")
        self.page.click("#list-work button")
        self.wait_for_list()
        self.assertEqual(self.text("#list-problem"),
                         "Stopped. sql/data/urlhaus.txt is still the list.")

    # SQL.

    def test_every_recipe_prints_what_the_shell_prints(self):
        """Except those that read a file or run a program, which the page cannot."""
        def whole(path):
            return re.sub(r"(?m)^\.read (.*)$", lambda read: (TOP / read[1]).read_text(),
                          path.read_text())

        recipes = {path.stem.replace("_", " "): path for path in (TOP / "sql").glob("*.sql")
                   if not re.search(r"^\.(import|shell)", whole(path), re.M)}
        self.assertGreater(len(recipes), 18)
        options = self.texts("#recipe option:not([hidden])")
        self.assertEqual(sorted(options), sorted(["first steps", *recipes]))
        for option in options:
            self.page.select_option("#recipe", label=option)
            self.page.press("#sql", "Control+Enter")
            self.wait_for_end()
            self.assertTrue(self.text("#status").startswith("Done in "), option)
            shown = self.page.evaluate("""bloomPage.shown().map(part => "rows" in part
                ? [part.columns, ...part.rows].flat().map(value => value instanceof Uint8Array
                    ? `${value.length} bytes` : value).join(" ") : part.text).join(" ")""")
            if option in recipes:  # words, as the shell has them in columns below lines of dashes
                wanted = recipes[option].with_suffix(".out").read_text()
                self.assertEqual(shown.split(), re.sub(r"(?m)^-[- ]*$", "", wanted).split(), option)

    def test_an_endless_query_shows_how_far_it_is_and_stops(self):
        self.page.fill("#sql", "SELECT 'first'; WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT"
                       " i + 1 FROM c) SELECT i FROM c")
        self.page.click("#run")
        self.wait("/^Statement 2, [\\d,]+,\\d+ rows$/.test("
                  "document.querySelector('#sql-work span')?.textContent)")
        self.page.click("#sql-work button")
        self.wait("document.getElementById('status').textContent.startsWith('Stopped')")
        self.assertRegex(self.text("#status"),
                         r"^Stopped after \d+\.\d s; what had finished is shown\.$")
        self.assertEqual(self.texts("#output td"), ["first"])

    def test_values_and_errors_are_shown_and_only_the_start_of_much(self):
        for sql, cells, caption, first in (
                ("SELECT value FROM generate_series(1, 12345)", 500,
                 "The first 500 of 12,345 rows", "1"),
                ("SELECT printf('%.*c', 200000, 'x') FROM generate_series(1, 500)", 250,
                 "The first 250 of 500 rows", "x" * 2000 + "\u2026 200,000 bytes"),
                ("SELECT zeroblob(10000000)", 1, "", "0" * 32 + "\u2026 10,000,000 bytes"),
                ("SELECT '<b>&' AS \"<i>\"", 1, "", "<b>&")):
            self.run_sql(sql)
            shown = self.texts("#output td")
            self.assertEqual((len(shown), "".join(self.texts("#output caption")), shown[0]),
                             (cells, caption, first), sql)
        self.run_sql("SELECT NULL, x'00ff', 12345678901234567")
        self.assertEqual(self.texts("#output td"), ["NULL", "x'00ff'", "12345678901234567"])
        for sql, line, problem in (
                (".import '|ls' t", 1, ".import is not known here; the sqlite3 shell has it"),
                ("SELECT 'ü';\n.print 1\nSELECT 2,\n  nonsense;", 4, "no such column: nonsense"),
                ("/* one\n*/ SELECT bloom_check(NULL, 1);", 2, "bloom_check: argument 1 is NULL")):
            self.run_sql(sql)
            self.assertTrue(self.text("#output .problem").startswith(f"Line {line}: {problem}"))
            self.assertEqual(self.page.evaluate(
                "(({value, selectionStart, selectionEnd}) => value.slice(selectionStart,"
                " selectionEnd))(document.getElementById('sql'))"), sql.split("\n")[line - 1])

    # Sizes.

    def size(self, n, p, layout="blocked"):
        self.page.fill("#n", n)
        self.page.fill("#p", p)
        self.page.check(f"#space input[value={layout}]")
        self.page.wait_for_timeout(400)

    def test_sizes_are_those_of_bloom_size(self):
        connection = loaded()
        for n, p, number, rate in (("12,345", "1 %", 12345, 0.01), ("1", "0.5", 1, 0.5),
                                   ("1e9", "1 in 10,000", 10**9, 1e-4),
                                   ("1099511627776", "1e-9", 2**40, 1e-9)):
            self.size(n, p)
            for layout, bits, size, *_ in self.rows("#space"):
                try:
                    length, = connection.execute("SELECT bloom_size(?, ?, ?)",
                                                 [number, rate, layout]).fetchone()
                    self.assertEqual(bits, f"{8 * length / number:.2f}", (layout, n, p))
                except sqlite3.Error:
                    self.assertEqual((bits, size), ("\u2013", "not made"))
        for field, text in (("n", "many"), ("n", "0"), ("n", "2e12"), ("p", "1"), ("p", "often")):
            self.size("1000000", "0.01")
            self.page.fill(f"#{field}", text)
            self.wait(f"!document.getElementById('{field}-problem').hidden")
            self.assertRegex(self.text(f"#{field}-problem"),
                             "^(Keys must be|False positives must be) ")

    def test_the_sql_of_a_size_works_and_a_size_has_an_address(self):
        for layout in ("counting", "dcso", "blocked", "fuse"):
            self.size("250000", "0.001", layout)
            self.assertEqual(self.shell(self.text("#size-sql"))[:2],
                             ["http://example.org/a|1", "http://example.org/b|1"])
        self.page.click("#share")
        self.wait("document.getElementById('shared').textContent === 'Copied.'")
        shared = self.page.evaluate("navigator.clipboard.readText()")
        self.page = self.open(shared.removeprefix(self.address))
        self.assertEqual([self.page.input_value("#n"), self.page.input_value("#p"),
                          self.page.locator("#space :checked").get_attribute("value")],
                         ["250,000", "1 in 1,000", "fuse"])
        self.size("1e9", "0.01")
        self.assertIn(" cannot be so large: use a table", self.text("#size-said"))
        self.assertEqual(self.shell(self.text("#size-sql")), ["2"])


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
