#!/usr/bin/env python3
"""What it costs to forget by age.

    generations.py LIBRARY BUILD EVENTS CSV

EVENTS a day, evenly, for two days; is each seen for the first time within 24 hours? Of five events
one repeats one of the last 20 hours. A filter table with generations=6, rotated every four hours,
beside an ordinary table of keys and times with an index on the times, from which every hour all
older than 24 hours is deleted. Both take the events of an hour in turn, 1000 to a transaction; WAL,
synchronous=NORMAL, a page cache of 64 MB each, keys of 17 characters; of each event about one
microsecond is Python's. A new event that the filter takes for an old one is not written. So it is
taken for new when it is repeated after the generation that seemed to have it is gone: the last
column, of both days. CSV gets a line for each hour; what is printed sums up the second day, when
both tables have their size.
"""
import array
import pathlib
import random
import sys
import tempfile
import time

from report import open_database, table, write_csv

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
    """A table that takes events; forget(hour) is the SQL by which it forgets."""

    def __init__(self, path, library, build, create, insert, forget):
        self.connection = open_database(path, library, build, journal_mode="WAL",
                                        synchronous="NORMAL", cache_size=-64000)
        self.cursor = self.connection.cursor()
        self.cursor.execute(create)
        self.insert, self.forget = insert, forget
        self.seconds, self.wrong_old, self.wrong_new = [], [], 0  # the first two by the hour

    def pass_hour(self, hour, events):
        """Yields events: a key, and true if the key comes for the first time."""
        wrong_old, start = 0, time.perf_counter()
        self.cursor.execute(self.forget(hour))
        for at in range(0, len(events), BATCH):
            self.cursor.execute("BEGIN")
            for key, is_new in events[at:at + BATCH]:
                self.cursor.execute(self.insert, (key, hour)[:self.insert.count("?")])
                if (self.connection.changes() > 0) != is_new:
                    wrong_old += is_new
                    self.wrong_new += not is_new
            self.cursor.execute("COMMIT")
        self.seconds.append(time.perf_counter() - start)
        self.wrong_old.append(wrong_old)

    def size(self):
        (pages,), = self.cursor.execute("SELECT page_count * page_size FROM pragma_page_count, "
                                        "pragma_page_size")
        return pages


def main(library, build, events, csv):
    hourly, lines, new = int(float(events)) // 24, [], []
    with tempfile.TemporaryDirectory(dir=build) as folder:
        filter_table = Subject(
            pathlib.Path(folder, "filter.db"), library, build,
            f"CREATE VIRTUAL TABLE t USING bloom(capacity={4 * hourly}, fpr=0.01, generations=6)",
            "INSERT OR IGNORE INTO t(key) VALUES (?)",
            lambda hour: "INSERT INTO t(t) VALUES ('rotate')" if hour % 4 == 0 < hour else "")
        ordinary = Subject(
            pathlib.Path(folder, "ordinary.db"), library, build,
            "CREATE TABLE t(key TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID; "
            "CREATE INDEX t_at ON t(at)", "INSERT OR IGNORE INTO t(key, at) VALUES (?, ?)",
            lambda hour: f"DELETE FROM t WHERE at <= {hour - 24}")
        for hour, keys in events_by_hour(hourly):
            new.append(sum(is_new for _, is_new in keys))
            for subject in (filter_table, ordinary):
                subject.pass_hour(hour, keys)
            lines.append([hour + 1, filter_table.size(), ordinary.size(),
                          f"{filter_table.seconds[-1]:.3f}", f"{ordinary.seconds[-1]:.3f}",
                          f"{filter_table.wrong_old[-1] / new[-1]:.6f}"])
        write_csv(csv, ["hour", "filter_bytes", "ordinary_bytes", "filter_seconds",
                        "ordinary_seconds", "filter_rate"], lines)
        rows, sizes, seconds = [], [], []
        for name, subject in (("filter table", filter_table), ("ordinary table", ordinary)):
            sizes.append(subject.size())
            seconds.append(sum(subject.seconds[24:]))
            rows.append([name, f"{sizes[-1] / 1e6:.1f}", f"{seconds[-1]:.1f}",
                         f"{1e6 * seconds[-1] / (24 * hourly):.2f}",
                         f"{100 * sum(subject.wrong_old[24:]) / sum(new[24:]):.3f} %",
                         subject.wrong_new])
    print(f"## A day of {24 * hourly} events\n")
    print("\n".join(table(["", "MB", "s", "us an event", "new events taken for old",
                           "old events taken for new"], rows)))
    print("\nAn old event is taken for new when it was taken for old by mistake at first, and so\n"
          "not written, and the generation that seemed to have it is gone.\n\n"
          f"Ratio of the ordinary table's to the filter table's: {sizes[1] / sizes[0]:.1f} of size,"
          f" {seconds[1] / seconds[0]:.1f} of time.")


if __name__ == "__main__":
    main(*sys.argv[1:])
