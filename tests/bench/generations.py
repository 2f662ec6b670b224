#!/usr/bin/env python3
"""What it costs to forget by age.

    generations.py LIBRARY BUILD EVENTS

EVENTS a day, evenly, for two days; is each seen for the first time within 24 hours? Of five events
one repeats one of the last 20 hours. A filter table with generations=6, rotated every four hours,
beside an ordinary table of keys and times with an index on the times, from which every hour all
older than 24 hours is deleted. Both take the events of an hour in turn, 1000 to a transaction; WAL,
synchronous=NORMAL, a page cache of 64 MB each, keys of 17 characters; of each event about one
microsecond is Python's. What is printed sums up the second day, when both tables have their size;
only the last column is of both days.
"""
import array
import pathlib
import random
import sys
import tempfile
import time

from report import open_database, table

BATCH, HOURS = 1000, 48


def events_by_hour(hourly):
    """Yields the events of an hour: a key, and true if it comes for the first time; otherwise it
    came within the 20 hours before."""
    words, fresh, begins = random.Random(1), array.array("Q"), []
    for hour in range(HOURS):
        begins.append(len(fresh))
        oldest, events = begins[max(0, hour - 19)], []
        for _ in range(hourly):
            is_new = oldest == len(fresh) or words.random() >= 0.2
            if is_new:
                fresh.append(words.getrandbits(64))
            word = fresh[-1 if is_new else words.randrange(oldest, len(fresh))]
            events.append((f"k{word:016x}", is_new))
        yield hour, events


class Subject:
    """A table that takes events by insert; forget(hour) is the SQL by which it forgets."""

    def __init__(self, folder, name, library, create, insert, forget):
        self.connection = open_database(pathlib.Path(folder, f"{name}.db"), library,
                                        journal_mode="WAL", synchronous="NORMAL",
                                        cache_size=-64000)
        self.cursor = self.connection.cursor()
        self.cursor.execute(create)
        self.name, self.insert, self.forget, self.wrong_new = name, insert, forget, 0
        self.seconds = self.new = self.wrong_old = 0  # of the second day

    def pass_hour(self, hour, events):
        second_day, start = hour >= 24, time.perf_counter()
        self.cursor.execute(self.forget(hour))
        for at in range(0, len(events), BATCH):
            self.cursor.execute("BEGIN")
            for key, is_new in events[at:at + BATCH]:
                self.cursor.execute(self.insert, (key, hour)[:self.insert.count("?")])
                taken_for_new = self.connection.changes() > 0
                self.wrong_new += taken_for_new and not is_new
                self.wrong_old += second_day and is_new and not taken_for_new
            self.cursor.execute("COMMIT")
        if second_day:
            self.seconds += time.perf_counter() - start
            self.new += sum(is_new for _, is_new in events)

    def row(self, events):
        (size,), = self.cursor.execute("SELECT page_count * page_size FROM pragma_page_count, "
                                       "pragma_page_size")
        return [self.name, f"{size / 1e6:.1f}", f"{self.seconds:.1f}",
                f"{1e6 * self.seconds / events:.2f}",
                f"{100 * self.wrong_old / self.new:.3f} %", self.wrong_new]


def main(library, build, events):
    hourly = int(float(events)) // 24
    with tempfile.TemporaryDirectory(dir=build) as folder:
        tables = [
            Subject(folder, "filter table", library,
                    f"CREATE VIRTUAL TABLE t USING bloom(capacity={4 * hourly}, fpr=0.01,"
                    " generations=6)", "INSERT OR IGNORE INTO t(key) VALUES (?)",
                    lambda hour: "INSERT INTO t(t) VALUES ('rotate')" if hour % 4 == 0 < hour
                    else ""),
            Subject(folder, "ordinary table", library,
                    "CREATE TABLE t(key TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID; "
                    "CREATE INDEX t_at ON t(at)", "INSERT OR IGNORE INTO t(key, at) VALUES (?, ?)",
                    lambda hour: f"DELETE FROM t WHERE at <= {hour - 24}")]
        for hour, keys in events_by_hour(hourly):
            for subject in tables:
                subject.pass_hour(hour, keys)
        print(f"## A day of {24 * hourly} events\n")
        print("\n".join(table(["", "MB", "s", "us an event", "new events taken for old",
                               "old events taken for new"],
                              [subject.row(24 * hourly) for subject in tables])))
    print("\nAn old event is taken for new when it was taken for old by mistake at first, and so\n"
          "not written, and the generation that seemed to have it is gone.")


if __name__ == "__main__":
    main(*sys.argv[1:])
