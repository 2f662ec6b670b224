#!/usr/bin/env python3
"""Scrapy with its own dupefilter and queue, and with those of sqlite_bloom.scrapy.

    scrapy_bench.py [REQUESTS]    prints Markdown; a million requests, if not said

Needs Scrapy and the package sqlite-bloom. Each is measured in a process and a JOBDIR of its own:
processor time of one request when it is new and when it is known, both with its fingerprint; memory
that the process has more than before; bytes in JOBDIR; seconds until the second start has opened
it. The queues get a tenth of the requests, and give them back.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import types

import scrapy
import scrapy.core.scheduler
import scrapy.dupefilters
import scrapy.utils.test
from report import print_table

THEIRS = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
FILTER = {**THEIRS, "DUPEFILTER_CLASS": "sqlite_bloom.scrapy.DupeFilter"}
QUEUE = {**FILTER, "SCHEDULER_PRIORITY_QUEUE": "sqlite_bloom.scrapy.Queue"}
NONE = {**THEIRS, "DUPEFILTER_CLASS": "__main__.Fingerprints"}


class Fingerprints(scrapy.dupefilters.RFPDupeFilter):
    def request_seen(self, request):
        return self.fingerprinter.fingerprint(request) == b""


def memory():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def measure(work, job, requests, settings):
    """Prints numbers, in a process of its own."""
    def timed(function):
        start = time.process_time()
        for number in range(requests):
            function(scrapy.Request(f"https://www.example.org/articles/{number}?page=1"))
        return (time.process_time() - start) * 1e6 / requests

    crawler = scrapy.utils.test.get_crawler(scrapy.Spider, {**settings, "JOBDIR": job})
    crawler.spider = scrapy.Spider.from_crawler(crawler, name="x")
    crawler.engine = types.SimpleNamespace(_slot=types.SimpleNamespace(inprogress=()))
    before, start = memory(), time.perf_counter()
    scheduler = scrapy.core.scheduler.Scheduler.from_crawler(crawler)
    scheduler.open(crawler.spider)
    numbers = [time.perf_counter() - start]
    if work == "filter":
        numbers += [timed(scheduler.df.request_seen), timed(scheduler.df.request_seen)]
    if work == "queue":
        waiting = iter(scheduler.next_request, None)
        numbers += [timed(scheduler.enqueue_request), timed(lambda _: next(waiting))]
    numbers.append(memory() - before)
    scheduler.close("finished")
    numbers.append(sum(path.stat().st_size for path in pathlib.Path(job).rglob("*")
                       if path.is_file()))
    print(json.dumps(numbers))


def rows(ways, work, requests):
    for name, settings in ways.items():
        with tempfile.TemporaryDirectory() as job:
            numbers = [json.loads(subprocess.run(
                [sys.executable, __file__, what, job, str(requests), json.dumps(settings)],
                check=True, stdout=subprocess.PIPE).stdout) for what in (work, "open")]
        (_, first, second, taken, size), (opened, *_) = numbers
        yield [name, f"{first:.1f}", f"{second:.1f}", f"{taken / 1e6:.1f}", f"{size / 1e6:.1f}",
               f"{opened:.2f}"]


def main(requests=1_000_000):
    heads = ["MB of memory", "MB in JOBDIR", "s to open again"]
    print(f"\n## {requests:,} requests")
    print_table(["dupefilter", "us, new", "us, known", *heads], rows(
        {"fingerprints alone": NONE, "Scrapy's RFPDupeFilter": THEIRS,
         "sqlite_bloom.scrapy.DupeFilter": FILTER}, "filter", requests))
    print(f"\n## A queue of {requests // 10:,} requests")
    print_table(["dupefilter and queue", "us, in", "us, out", *heads], rows(
        {"Scrapy's": THEIRS, "sqlite_bloom.scrapy's": QUEUE}, "queue", requests // 10))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(*sys.argv[1:3], int(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        main(*map(int, sys.argv[1:]))
