#!/usr/bin/env python3
"""Visits that people have: the demo and the recipes on histories of browsers that are running, and
on Pi-hole's databases. (The recipe for logs reads logs of Squid and nginx in sql/data.)

Own takes files that are made here. Browsers, of make long, takes those that Chromium and Firefox
make, and skips what is not installed. Safari and Pi-hole cannot run here, so their files have the
schemas of Safari 15 and of Pi-hole 6.
"""
import http.server
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from recipes_test import RunsDemo

SAFARI = """
CREATE TABLE history_items(id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE,
  domain_expansion TEXT NULL, visit_count INTEGER NOT NULL, daily_visit_counts BLOB NOT NULL,
  weekly_visit_counts BLOB NULL, autocomplete_triggers BLOB NULL,
  should_recompute_derived_visit_counts INTEGER NOT NULL, visit_count_score INTEGER NOT NULL,
  status_code INTEGER NOT NULL DEFAULT 0);
CREATE TABLE history_visits(id INTEGER PRIMARY KEY AUTOINCREMENT, history_item INTEGER NOT NULL,
  visit_time REAL NOT NULL, title TEXT NULL, load_successful BOOLEAN NOT NULL DEFAULT 1);
INSERT INTO history_items VALUES
  (7, 'http://sub.evil.example/a?b', NULL, 2, x'', NULL, NULL, 0, 9, 0),
  (8, 'http://harmless.example/', NULL, 1, x'', NULL, NULL, 0, 9, 0);
INSERT INTO history_visits(history_item, visit_time) VALUES (7, 785926800.5), (7, 785930400.25),
  (8, 785930400.75);
"""
PIHOLE = """
CREATE TABLE lists.gravity(domain TEXT NOT NULL, adlist_id INTEGER NOT NULL);
CREATE INDEX lists.idx_gravity ON gravity(domain, adlist_id);
INSERT INTO lists.gravity VALUES ('ads.example', 1), ('||tracker.example^', 2);
CREATE TABLE lists.domainlist(id INTEGER PRIMARY KEY AUTOINCREMENT,
  type INTEGER NOT NULL DEFAULT 0, domain TEXT NOT NULL, enabled BOOLEAN NOT NULL DEFAULT 1);
INSERT INTO lists.domainlist(domain, enabled) VALUES ('a.evil.example', 0);
CREATE TABLE log.query_storage(id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp INTEGER NOT NULL,
  type INTEGER NOT NULL, status INTEGER NOT NULL, domain INTEGER NOT NULL, client INTEGER NOT NULL);
CREATE TABLE log.domain_by_id(id INTEGER PRIMARY KEY, domain TEXT NOT NULL);
CREATE TABLE log.client_by_id(id INTEGER PRIMARY KEY, ip TEXT NOT NULL, name TEXT);
CREATE VIEW log.queries AS SELECT id, timestamp, type, status,
  CASE typeof(domain) WHEN 'integer'
    THEN (SELECT domain FROM domain_by_id AS d WHERE d.id = q.domain) ELSE domain END AS domain,
  CASE typeof(client) WHEN 'integer'
    THEN (SELECT ip FROM client_by_id AS c WHERE c.id = q.client) ELSE client END AS client
  FROM query_storage AS q;
INSERT INTO log.domain_by_id VALUES (1, 'new.example'), (2, 'www.new.example'),
  (3, 'a.evil.example');
INSERT INTO log.client_by_id VALUES (1, '10.0.0.7', NULL);
INSERT INTO log.query_storage(timestamp, type, status, domain, client) VALUES
  (1795510800.25, 1, 2, 1, 1), (1795510801, 1, 2, 2, 1), (1795510802, 1, 3, 3, 1),
  (1795510803, 1, 1, 3, 1), (1795510804, 1, 17, 'new.example', '10.0.0.8');
"""
END = "went to an entry. The filter flagged"


class Visits(RunsDemo):
    maxDiff = None

    def found(self, listed=b"||evil.example^", **variables):
        """What the demo prints of the visits, without times and before the summary."""
        before = self.files()
        run = self.demo(URLS=self.write(listed, "l/mine"), **variables)
        (self.base / "l/mine").unlink()
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        self.assertEqual(self.files(), before)
        printed = run.stdout.split("\nThe visits: ")[1].split("\n\n")[0]
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d  ", "", printed).splitlines()

    def database(self, name, script):
        connection = sqlite3.connect(self.write(b"", name))
        connection.executescript(script)
        connection.close()
        return str(self.base / name)

    def with_own(self, recipe, **files):
        """What a recipe prints with other files than what is made up or in sql/data."""
        text = re.sub(r"(?m)^\.read (.*)$",
                      lambda read: (self.top / read[1]).read_text(encoding="utf-8"),
                      (self.top / "sql" / recipe).read_text(encoding="utf-8"))
        (self.top / "sql/data/mine.txt").write_text("evil.example\n127.0.0.1\n", encoding="utf-8")
        for name, path in files.items():
            text = re.sub(rf"^(CREATE TABLE|INSERT INTO) {name}\..*?;\n", "", text,
                          flags=re.MULTILINE | re.DOTALL)
            replaced = text.replace(f" ':memory:' AS {name};", f" '{path}' AS {name};")
            self.assertNotEqual(replaced, text)
            text = replaced
        run = self.run_in_copy(["sqlite3"], text)
        self.assertEqual((run.stderr, run.returncode), ("", 0))
        return [line.split() for line in run.stdout.splitlines()]


class Own(Visits):
    def test_a_text_file(self):
        own = self.write(b"\xef\xbb\xbfhttp://evil.example/\x1b[31mred\r\nhttps://good.example/\r"
                         b"HTTP://EVIL.example\nfoo\xff.example\n\nHTTP://EVIL.example",
                         "own/it's \"my\" $visits; \\n.txt")
        self.assertEqual(self.found(VISITS=own), [
            "5 lines", '  "http://evil.example/\\u001b[31mred"',
            f"      ||evil.example^  ({self.base}/l/mine)", "  2 visits  HTTP://EVIL.example",
            f"      ||evil.example^  ({self.base}/l/mine)",
            f"3 of 5 lines {END} 3, and the list confirmed 3."])
        shutil.copy(own, self.home / "visits")
        for visits in ("../home/visits", "~/visits"):
            self.assertEqual(self.found(VISITS=visits, listed=b"other.example")[1:],
                             [f"None of 5 lines {END} 0, and the list confirmed 0."])

    def test_a_folder_of_lists_and_how_to_keep_the_filter(self):
        self.write(b"||other.example^\n", "it's lists/a")
        self.write(b"evil.example\nevil.example/bad", "it's lists/b")
        run = self.run_in_copy(["sh", "sql/demo.sh"], "http://evil.example/BAD",
                               VISITS="/dev/stdin", URLS="../it's lists/")
        self.assertRegex(run.stdout, r"^The list: ../it's lists/a\nThe list: ../it's lists/b\n"
                         r" +a URL or name +2 lines\n +Adblock rule +1 line\n")
        self.assertIn(f"\n      evil.example/bad  (../it's lists/b)\n1 of 1 line {END}", run.stdout)
        shell = run.stdout.split("sqlite3 my.db\n")[1]
        kept = self.run_in_copy(["sqlite3"], shell + shell.splitlines()[-1].replace("evil", "good"))
        self.assertEqual((kept.stdout, kept.stderr), ("1\n0\n", ""))

    def test_a_summary_of_much_has_twenty_lines(self):
        """By entry and site, most visits first."""
        own = self.write(b"".join(b"http://s%d.evil.example/%d\n" % (i % 23, i % 5)
                                  for i in range(230)) + b"http://s22.evil.example\n")
        run = self.demo(VISITS=own, URLS=self.write(b"evil.example\ns22.evil.example/", "mine"))
        summary = run.stdout.split("By entry and site:")[1].split("\n\n")[0]
        title, first, *rest = summary.splitlines()
        self.assertEqual((title, first), ("", "      11 lines   s22.evil.example  by "
                                              f"s22.evil.example/  ({self.base}/mine)"))
        self.assertEqual((len(rest), rest[-1]), (20, "  and 3 more"))

    def test_what_it_refuses(self):
        text, folder = self.write(b"http://evil.example/\n", "own/visits"), self.base / "own"
        views = "CREATE VIEW urls AS SELECT 1 AS id; CREATE VIEW visits AS SELECT 1 AS url"
        for message, visits in (
            ("there is no file 'nope'. Name", "nope"), ("the number of VISITS must", "123456789"),
            ("is a folder. Name a history", str(folder)),
            ("is empty. Name", self.write(b"", "empty")),
            ("is not a text in UTF-8. Unpack", self.write("a.example".encode("utf-16"), "16")),
            (r"but 8 of its first 9 lines are not URLs, for example line 1\.",
             "sql/data/visits.csv"),
            ("but 5 of its first 5 lines are not URLs", "sql/data/squid.log"),
            ("is no history of Chrome, Firefox or", self.database("other", views)),
        ):
            self.refused(f".*{message}.*", VISITS=visits)
        for message, content in (
            ("bloom_list: the text is UTF-16. Convert", "a.example".encode("utf-16")),
            ("is not a list, because only 1 of 4 lines are entries",
             b"This is a text\nthat names the host\nevil.example\nand is not a list.\n"),
        ):
            self.refused(f".*{message}.*", URLS=self.write(content, "list"), VISITS=text)
        self.refused("'/dev/stdin' is a pipe, .*", URLS="/dev/stdin", VISITS=text)
        self.database("own/History", "CREATE TABLE t(a)")
        self.refused(f".*Take the file in it: VISITS={folder}/History", VISITS=f"{folder}/")
        damaged = self.database("own/History", SAFARI)
        with open(damaged, "r+b") as file:
            file.truncate(5000)
        self.refused("the copy of .* is damaged: .* Try again, or close .*", VISITS=damaged)
        self.refused("there is no folder for temporary files.*", TMPDIR=f"{self.temporary}/none")
        self.assertTrue((self.top / "sql/demo.sh").exists())  # as the folder to remove is none

    def test_safari_with_visits_that_are_not_yet_in_the_main_file(self):
        history = self.database("own/it's a History.db", "PRAGMA journal_mode = wal")
        writer = sqlite3.connect(history)
        self.addCleanup(writer.close)
        writer.executescript(f"BEGIN; {SAFARI} COMMIT; BEGIN IMMEDIATE")
        for path in (*(self.base / "own").iterdir(), self.base / "own"):
            path.chmod(0o500)
        self.addCleanup((self.base / "own").chmod, 0o700)
        self.assertEqual(self.found(VISITS=history), [
            "3 visits by Safari", "  2 visits  http://sub.evil.example/a?b",
            f"      ||evil.example^  ({self.base}/l/mine)",
            f"2 of 3 visits {END} 2, and the list confirmed 2."])
        self.assertIn("3 visits by Safari", self.found(VISITS=f"{self.base}/own/it*History.db"))
        self.assertIn(
            " 2.\n\nBy entry and site:\n       2 visits  sub.evil.example  by evil.example"
            f"  ({self.base}/l/mine)\n\nTo keep the filter", self.demo(
                VISITS=history, URLS=self.write(b"evil.example", "l/mine")).stdout)
        self.assertIn("  2025-11-27 10:00  2 visits",
                      self.demo(VISITS=history, URLS=self.write(b"evil.example", "l/mine")).stdout)
        printed = self.with_own("browser_history.sql", safari=self.database("copy", SAFARI))
        self.assertIn(["2025-11-27", "10:00:00", "2", "Safari", "mine", "evil.example",
                       "http://sub.evil.example/a?b"], printed)

    def test_a_million_visits_on_a_terminal(self):
        """It shows what is being done, in parts of a tenth. Mistakes of the filter are left out."""
        own = self.write(b"".join(b"http://site%d.example/%d\n" % (i % 997, i)
                                  for i in range(1_000_000)))
        try:
            reader, terminal = pty.openpty()
        except OSError as error:
            self.skipTest(f"skipped: there is no terminal here: {error}")
        command = ["sh", "sql/demo.sh", self.write(
            b"site7.example\n" + b"".join(b"other%d.example\n" % i for i in range(2000)), "list")]
        with subprocess.Popen(command, cwd=self.top, stdout=terminal, stderr=terminal,
                              env=os.environ | {"VISITS": own}) as program:
            os.close(terminal)
            printed, shown = b"", []
            try:
                while True:
                    printed += os.read(reader, 65536)
                    shown.append(printed.count(b"\r\x1b[K"))
            except OSError:
                os.close(reader)
        self.assertEqual(program.returncode, 0, printed[-500:])
        self.assertRegex(printed, rb"Checking the visits: part 10 of 10")
        self.assertGreaterEqual(len(set(shown)), 8)
        flagged, = re.findall(rb"\n1,004 of 1,000,000 lines .* flagged ([\d,]+), and .* 1,004\.",
                              printed)
        self.assertGreater(int(flagged.replace(b",", b"")), 1004)
        self.assertEqual(len(re.findall(rb"\n  http://site7\.example/\d+\r\n", printed)), 1004)
        self.assertEqual(len(re.findall(rb"\n  http://", printed)), 1004)

    def test_pihole(self):
        lists, log = self.write(b"", "gravity.db"), self.write(b"", "ftl.db")
        connection = sqlite3.connect(":memory:")
        connection.executescript(f"ATTACH '{lists}' AS lists; ATTACH '{log}' AS log; {PIHOLE}")
        connection.close()
        printed = self.with_own("pihole.sql", lists=lists, log=log)
        self.assertEqual(printed[3], ["4", "2", "1"])
        self.assertEqual(printed[-2:], [
            ["2026-11-24", "09:00:04", "2", "2", "new.example", "new.example"],
            ["2026-11-24", "09:00:02", "1", "1", "a.evil.example", "||evil.example^"]])


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers every page of the web, as a proxy."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"hi")

    def log_message(self, *_):
        pass


class Browsers(Visits):
    LISTED = "http://sub.evil.example/a?b"
    SITES = (LISTED, "http://harmless.example/", LISTED)

    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def start(self, command, *arguments):
        """Starts a program, which ends with the test."""
        command = shutil.which(command, path="/usr/bin") or self.skipTest(
            f"skipped: {command} is not installed (apt install {command})")
        program = subprocess.Popen([command, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)

        def stop():
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGTERM)
                program.wait()
        self.addCleanup(stop)
        return program

    def folder(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def is_ready(self, history, browser):
        """Locked, and with the visits in it."""
        run = self.run_in_copy(["sqlite3", str(history), "SELECT count(*) FROM sqlite_master"])
        return "database is locked" in run.stderr and f"\nThe visits: 3 visits by {browser}" in \
            self.demo(VISITS=str(history), URLS=self.write(b"a.example", "list")).stdout

    def check_history(self, history, browser, attached):
        """What the demo and the recipe find while the browser holds a lock."""
        until = time.monotonic() + 60
        while not self.is_ready(history, browser):
            self.assertLess(time.monotonic(), until, "nothing came in a minute")
            time.sleep(0.2)
        self.assertEqual(self.found(VISITS=str(history)), [
            f"3 visits by {browser}", f"  2 visits  {self.LISTED}",
            f"      ||evil.example^  ({self.base}/l/mine)",
            f"2 of 3 visits {END} 2, and the list confirmed 2."])
        for path in history.parent.glob(history.name + "*"):
            shutil.copy(path, self.top)
        rows = [row for row in self.with_own("browser_history.sql", **{attached: history.name})
                if row[-1:] == [self.LISTED]]
        self.assertEqual([row[2:] for row in rows],
                         [["2", attached.title(), "mine", "evil.example", self.LISTED]])
        self.assertEqual(rows[0][0][:4], time.strftime("%Y", time.gmtime()))

    def test_chromium(self):
        profile = self.folder() / "a profile"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                   "--no-first-run", "--disable-background-networking", "--disable-sync",
                   "--disable-component-update", f"--user-data-dir={profile}",
                   f"--proxy-server=127.0.0.1:{self.port}"]
        for site in self.SITES[1:]:
            self.start("chromium", *options, "--dump-dom", site).wait()
        self.start("chromium", *options, "--remote-debugging-port=0", self.LISTED)
        self.check_history(profile / "Default/History", "Chrome or its like", "chrome")

    def test_firefox(self):
        profile = self.folder() / "a profile"
        profile.mkdir()
        settings = {"type": 1, "http": "127.0.0.1", "http_port": self.port}
        (profile / "user.js").write_text(
            'user_pref("dom.security.https_first", false);\n' + "".join(
                f'user_pref("network.proxy.{name}", {json.dumps(value)});\n'
                for name, value in settings.items()))
        self.start("firefox-esr", "--headless", "--no-remote", "--profile", profile, *self.SITES)
        self.check_history(profile / "places.sqlite", "Firefox", "firefox")


if __name__ == "__main__":
    unittest.main()
