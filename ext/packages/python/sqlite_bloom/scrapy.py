"""For Scrapy: the requests that a crawl has seen, in a filter table, and those that wait.

    DUPEFILTER_CLASS = "sqlite_bloom.scrapy.DupeFilter"
    SCHEDULER_PRIORITY_QUEUE = "sqlite_bloom.scrapy.Queue"

With JOBDIR both have one file there, and one transaction that is committed once a second. So a
process that is killed leaves a file in which the seen requests are those that wait or are done.
"""

import logging
import os
import pickle
import re
import sqlite3
import time
import weakref

from scrapy.dupefilters import RFPDupeFilter
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.utils.job import job_dir
from scrapy.utils.request import request_from_dict

from . import load

logger = logging.getLogger(__name__)
_SECONDS = 1  # between commits
_filters = weakref.WeakKeyDictionary()  # by their crawlers


def _own_connection(path):
    """A connection of sqlite3, or of apsw where that cannot load extensions."""
    connection = sqlite3.connect(path)
    try:
        load(connection)
    except NotImplementedError as error:
        connection.close()
        try:
            import apsw
        except ImportError:
            raise error from None
        connection = apsw.Connection(path)
        load(connection)
    return connection


class DupeFilter(RFPDupeFilter):
    """Scrapy's own, with a filter table instead of a set and a text file."""

    @classmethod
    def from_crawler(cls, crawler):
        made = cls(None, crawler.settings.getbool("DUPEFILTER_DEBUG"),
                   fingerprinter=crawler.request_fingerprinter)
        made.settings, made.connection, made.before_commit = crawler.settings, None, lambda: None
        _filters[crawler] = made
        return made

    def open(self):
        if self.connection is not None:  # the queue has opened it
            return
        job = job_dir(self.settings)
        path = os.path.join(job, "requests.bloom") if job else ":memory:"
        if job and os.path.exists(os.path.join(job, "requests.seen")):
            raise ValueError(f"sqlite_bloom.scrapy: JOBDIR {job} has requests.seen of Scrapy's"
                             " RFPDupeFilter. Finish that crawl with it, or use a new JOBDIR")
        try:
            self.connection = _own_connection(path)
            # Small pages, because each request changes one. Nobody else may write.
            for setting in ("busy_timeout=0", "page_size=1024", "locking_mode=EXCLUSIVE",
                            "journal_mode=WAL", "synchronous=NORMAL"):
                self.run(f"PRAGMA {setting}").fetchall()
            self.run("BEGIN IMMEDIATE")
        except Exception as error:
            advice = "Use a new JOBDIR in which files can be written"
            if "locked" in str(error):
                advice = "Another crawl uses this JOBDIR. Give each its own"
            raise type(error)(f"sqlite_bloom.scrapy: {path}: {error}. {advice}") from error
        wanted = (f"capacity={self.settings.getint('BLOOM_CAPACITY', 1_000_000)},"
                  f" fpr={self.settings.getfloat('BLOOM_FPR', 0.0001)}")
        self.run(f"CREATE VIRTUAL TABLE IF NOT EXISTS seen USING bloom({wanted})")
        made = self.run("SELECT sql FROM sqlite_master WHERE name = 'seen'").fetchone()[0]
        if wanted not in made:
            logger.warning("%s keeps BLOOM_CAPACITY = %s and BLOOM_FPR = %s, with which it was"
                           " made. To change them, use a new JOBDIR", path,
                           *re.search("capacity=(.*), fpr=(.*)\\)", made).groups())
        self.due = time.monotonic() + _SECONDS

    def run(self, sql, values=()):
        """After an error, as of a full disk, the file stays as it was at the last commit."""
        try:
            return self.connection.cursor().execute(sql, values)
        except Exception:
            self.connection.close()
            raise

    def request_seen(self, request):
        self.commit()
        fingerprint = self.fingerprinter.fingerprint(request)
        done = self.run("INSERT OR IGNORE INTO seen(key) VALUES (?)", [fingerprint])
        changes = getattr(self.connection, "changes", None)  # of apsw
        return (done.rowcount if changes is None else changes()) == 0

    def commit(self):
        """Once a second, between requests."""
        if time.monotonic() >= self.due:
            self.before_commit()
            self.run("COMMIT")
            self.run("BEGIN IMMEDIATE")
            self.due = time.monotonic() + _SECONDS

    def close(self, reason):
        self.run("COMMIT")
        self.connection.close()


class Queue:
    """The requests that wait, by priority, the newest first, in the file of the DupeFilter.

    A row stays until its request is done. That is when the engine no longer has it in progress,
    because the spider has handled the response.
    """

    @classmethod
    def from_crawler(cls, crawler, downstream_queue_cls, key, startprios=(), **more):
        if not key:  # the queue in memory, for requests that cannot be pickled
            return ScrapyPriorityQueue.from_crawler(
                crawler, downstream_queue_cls, key, startprios, **more)
        if crawler not in _filters:
            raise ValueError("sqlite_bloom.scrapy.Queue: Set DUPEFILTER_CLASS, too, to"
                             " 'sqlite_bloom.scrapy.DupeFilter'")
        if startprios:
            raise ValueError(f"sqlite_bloom.scrapy.Queue: {key} has requests of another"
                             " SCHEDULER_PRIORITY_QUEUE. Finish that crawl with it, or use a new"
                             " JOBDIR")
        _filters[crawler].open()
        return cls(crawler, _filters[crawler])

    def __init__(self, crawler, seen):
        self.crawler, self.commit, self.run = crawler, seen.commit, seen.run
        seen.before_commit = self.forget_done
        self.taken = {}  # requests that may not be done yet, by their rows
        self.run("CREATE TABLE IF NOT EXISTS queue(id INTEGER PRIMARY KEY, priority INTEGER NOT"
                 " NULL, request BLOB NOT NULL, taken INTEGER NOT NULL)")
        self.run("CREATE INDEX IF NOT EXISTS waiting ON queue(priority, id) WHERE taken = 0")
        self.run("UPDATE queue SET taken = 0 WHERE taken = 1")
        self.count = self.run("SELECT count(*) FROM queue").fetchone()[0]

    def __len__(self):
        return self.count

    def push(self, request):
        try:
            pickled = pickle.dumps(request.to_dict(spider=self.crawler.spider), protocol=4)
        except Exception as error:
            raise ValueError(str(error)) from error
        self.run("INSERT INTO queue(priority, request, taken) VALUES (?, ?, 0)",
                 [request.priority, pickled])
        self.count += 1

    def pop(self):
        self.commit()
        row = self.run("SELECT id, request FROM queue WHERE taken = 0"
                       " ORDER BY priority DESC, id DESC LIMIT 1").fetchone()
        if row is None:
            return None
        self.run("UPDATE queue SET taken = 1 WHERE id = ?", row[:1])
        self.count -= 1
        request = request_from_dict(pickle.loads(row[1]), spider=self.crawler.spider)
        self.taken[row[0]] = request
        return request

    def forget_done(self):
        busy = self.crawler.engine._slot.inprogress
        for row in [row for row, request in self.taken.items() if request not in busy]:
            self.run("DELETE FROM queue WHERE id = ?", [row])
            del self.taken[row]

    def close(self):
        """When no request is in progress. What is returned is for queues that need it to begin
        again."""
        self.forget_done()
        return []
