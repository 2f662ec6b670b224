"""sqlite_bloom.scrapy with Scrapy itself, inside an environment as python_programs.py needs it.

    scrapy_programs.py                   the tests
    scrapy_programs.py crawl JOB PORT    crawls a site on this machine
"""

import collections
import http.server
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

import scrapy
import scrapy.core.scheduler
import scrapy.crawler
import scrapy.utils.test

import sqlite_bloom.scrapy

PAGES = 5_000
SETTINGS = {"DUPEFILTER_CLASS": "sqlite_bloom.scrapy.DupeFilter",
            "SCHEDULER_PRIORITY_QUEUE": "sqlite_bloom.scrapy.Queue"}


class Spider(scrapy.Spider):
    name = "site"

    def parse(self, response):
        yield from response.follow_all(css="a")


def requests(*pages, **more):
    return [scrapy.Request(f"http://a.example/{page}", **more) for page in pages]


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class Schedulers(Programs):
    """Scrapy's scheduler without a crawl."""

    def scheduler(self, job="job", **settings):
        crawler = scrapy.utils.test.get_crawler(Spider, {
            **SETTINGS, "JOBDIR": job and str(self.folder / job), **settings})
        crawler.spider = Spider.from_crawler(crawler)
        crawler.engine = types.SimpleNamespace(_slot=types.SimpleNamespace(inprogress=set()))
        made = scrapy.core.scheduler.Scheduler.from_crawler(crawler)
        made.open(crawler.spider)
        return made

    def after_a_kill(self):
        """A scheduler of a copy of the file as it is now."""
        for path in (self.folder / "job").glob("requests.bloom*"):
            (self.folder / "copy").mkdir(exist_ok=True)
            shutil.copy(path, self.folder / "copy")
        return self.scheduler("copy")

    def take(self, scheduler):
        return [request.url[17:] for request in iter(scheduler.next_request, None)]

    def test_requests_wait_by_priority_as_they_are(self):
        for connect in (sqlite3.connect, lambda name: mock.Mock(spec=["cursor", "close"])):
            with mock.patch("sqlite3.connect", connect):  # apsw is used where sqlite3 cannot load
                scheduler = self.scheduler()
                for request in (*requests(1, 2), *requests(3, priority=-1), *requests(
                        4, priority=2, method="POST", body=b"\xff", meta={"a": [1]},
                        callback=scheduler.spider.parse), *requests(5, callback=print)):
                    self.assertTrue(scheduler.enqueue_request(request))
                stats = scheduler.stats.get_stats()
                self.assertEqual({name[10:]: stats[name] for name in stats}, {
                    "enqueued": 5, "enqueued/disk": 4, "enqueued/memory": 1, "unserializable": 1})
                scheduler.close("shutdown")
                scheduler = self.scheduler()
                self.assertEqual(len(scheduler), 4)
                first = scheduler.next_request()
                self.assertEqual((first.method, first.body, first.meta, first.callback), (
                    "POST", b"\xff", {"a": [1]}, scheduler.spider.parse))
                self.assertEqual(self.take(scheduler), ["2", "1", "3"])
                self.assertFalse(any(map(scheduler.enqueue_request, requests(1, 2, 3, 5))))
                scheduler.close("finished")
                self.assertFalse(self.scheduler().has_pending_requests())
            shutil.rmtree(self.folder / "job")

    def test_a_kill_leaves_what_is_not_done(self):
        scheduler = self.scheduler()
        for request in requests(1, 2, 3):
            scheduler.enqueue_request(request)
        held = scheduler.next_request()  # 3
        scheduler.crawler.engine._slot.inprogress.add(held)
        scheduler.next_request()
        scheduler.df.due = 0
        self.assertFalse(scheduler.enqueue_request(held))
        scheduler.enqueue_request(*requests(4))  # which is not committed
        again = self.after_a_kill()
        self.assertEqual([*map(again.enqueue_request, requests(1, 2, 3, 4))],
                         [False, False, False, True])
        self.assertEqual(self.take(again), ["4", "3", "1"])

    def test_a_row_of_a_done_request_can_be_used_again(self):
        scheduler = self.scheduler()
        self.assertEqual([scheduler.df.run(f"PRAGMA {name}").fetchone()[0] for name in (
            "page_size", "journal_mode", "locking_mode")], [1024, "wal", "exclusive"])
        scheduler.enqueue_request(*requests(1))
        scheduler.next_request()
        for page in (2, 3):
            scheduler.df.due = 0
            scheduler.enqueue_request(*requests(page))
        self.assertEqual(self.take(scheduler), ["3", "2"])

    def test_after_a_full_disk_nothing_more_is_committed(self):
        scheduler = self.scheduler()
        scheduler.enqueue_request(*requests(1))
        scheduler.df.due = 0
        held = scheduler.next_request()
        self.assertEqual(held.url, "http://a.example/1")
        scheduler.crawler.engine._slot.inprogress.add(held)
        scheduler.df.run("PRAGMA max_page_count=30")
        with self.assertRaisesRegex(sqlite3.OperationalError, "full"):
            for page in range(2, 100):
                scheduler.enqueue_request(*requests(page))
        for _ in range(2):
            with self.assertRaisesRegex(sqlite3.ProgrammingError, "closed"):
                scheduler.enqueue_request(*requests(100))
        self.assertEqual(self.take(self.after_a_kill()), ["1"])

    def test_in_memory(self):
        scheduler = self.scheduler(None)
        with self.assertLogs("scrapy.dupefilters", "DEBUG") as logged:
            self.assertEqual([*map(scheduler.enqueue_request, requests(1, 2, 1, 1))],
                             [True, True, False, False])
        self.assertEqual([record.getMessage() for record in logged.records], [
            "Filtered duplicate request: <GET http://a.example/1> - no more duplicates will be"
            " shown (see DUPEFILTER_DEBUG to show all duplicates)"])
        self.assertEqual(scheduler.stats.get_value("dupefilter/filtered"), 2)
        self.assertEqual(self.take(scheduler), ["2", "1"])

    def test_the_filter_alone(self):
        theirs = "scrapy.pqueues.ScrapyPriorityQueue"
        scheduler = self.scheduler(SCHEDULER_PRIORITY_QUEUE=theirs, DUPEFILTER_DEBUG=True)
        with self.assertLogs("scrapy.dupefilters", "DEBUG") as logged:
            for request in requests(1, 1, 1):
                scheduler.enqueue_request(request)
        self.assertEqual(len(logged.records), 2)
        scheduler.close("shutdown")
        with self.assertRaisesRegex(ValueError, "queue has requests of another SCHEDULER_PRIORITY_"
                                    "QUEUE. Finish that crawl with it, or use a new JOBDIR$"):
            self.scheduler()

    def test_settings(self):
        for name, value, message in (
                ("BLOOM_FPR", 2, "fpr is '2.0'. Write a number between 0 and 1"),
                ("BLOOM_CAPACITY", "many", "invalid literal for int.*'many'"),
                ("DUPEFILTER_CLASS", "scrapy.dupefilters.BaseDupeFilter",
                 "sqlite_bloom.scrapy.Queue: Set DUPEFILTER_CLASS, too, to"
                 " 'sqlite_bloom.scrapy.DupeFilter'")):
            with self.assertRaisesRegex(Exception, message):
                self.scheduler("other", **{name: value})
        self.scheduler(BLOOM_CAPACITY=5000).close("finished")
        with self.assertLogs("sqlite_bloom.scrapy", "WARNING") as logged:
            self.scheduler(BLOOM_FPR=0.01)
        self.assertEqual(logged.records[0].getMessage(), (
            f"{self.folder}/job/requests.bloom keeps BLOOM_CAPACITY = 5000 and BLOOM_FPR = 0.0001,"
            " with which it was made. To change them, use a new JOBDIR"))

    def test_job_folders_that_cannot_be_used(self):
        (self.folder / "theirs").mkdir()
        (self.folder / "theirs/requests.seen").touch()
        (self.folder / "taken/requests.bloom").mkdir(parents=True)
        running = self.scheduler()
        for job, message in (
                ("theirs", "has requests.seen of Scrapy's RFPDupeFilter. Finish that crawl with it,"
                 " or use a new JOBDIR"),
                ("taken", "requests.bloom: unable to open database file. Use a new JOBDIR in which"
                 " files can be written"),
                ("job", "requests.bloom: database is locked. Another crawl uses this JOBDIR. Give"
                 " each its own")):
            with self.assertRaisesRegex(Exception, f"^sqlite_bloom.scrapy: .*{message}$"):
                self.scheduler(job)
        running.close("finished")


class Crawl(Programs):
    """A site of many pages with three links each, whose crawl is killed and started again."""

    def serve(self):
        """In threads. self.served: when, and which page."""
        served, enough = self.served, self.enough = [], threading.Event()

        class Site(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # a connection has many requests
            log_message = mock.Mock()

            def do_GET(self):
                page = int(self.path[1:])
                served.append((time.time(), page))
                if len(served) == PAGES * 4 // 10:
                    enough.set()
                links = "".join(f"<a href=/{(page * 7 + i) % PAGES}>x</a>" for i in range(3))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", len(links))
                self.end_headers()
                self.wfile.write(links.encode())

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        server.handle_error = mock.Mock()  # the kill resets connections
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server.server_port

    def test_no_page_is_lost_by_a_kill(self):
        port, job = self.serve(), self.folder / "job"
        command = [sys.executable, __file__, "crawl", job, str(port)]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as crawl:
            threading.Thread(target=crawl.stderr.read).start()
            self.assertTrue(self.enough.wait(300))
            crawl.send_signal(signal.SIGKILL)
        first, committed = len(self.served), (job / "requests.bloom-wal").stat().st_mtime
        log = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr
        self.assertIn("Resuming crawl (", log)
        self.assertIn("'finish_reason': 'finished'", log)
        pages = collections.Counter(page for _, page in self.served)
        # At this size of the filter about 10^-10 of the pages would be taken for seen.
        self.assertEqual(set(pages), set(range(PAGES)))
        pages.pop(0)  # where each run starts
        again = {page for page, times in pages.items() if times > 1}
        self.assertLessEqual(max(pages.values()), 2)
        self.assertGreater(len(self.served) - first, PAGES // 2)
        early = [page for when, page in self.served[:first] if when < committed]
        self.assertGreater(len(early), PAGES // 10)
        self.assertLessEqual(len(again.intersection(early)), 32)  # whose responses were not handled


if __name__ == "__main__":
    if sys.argv[1:2] == ["crawl"]:
        Spider.start_urls = [f"http://127.0.0.1:{sys.argv[3]}/0"]
        process = scrapy.crawler.CrawlerProcess({
            **SETTINGS, "JOBDIR": sys.argv[2], "LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16})
        process.crawl(Spider)
        process.start()
    else:
        unittest.main()
