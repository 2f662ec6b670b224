#!/usr/bin/env python3
"""What the benchmarks have in common (databases, the state of the machine, tables) and the report
of floor.cc.

    report.py SPEED.csv FILL.csv SPACE.csv RESULTS

reads what `floor speed`, `floor fill` and `floor space` have printed and writes into the folder
RESULTS: floor.csv and floor.md (all times, their ratios to libbloom's, the ratios that must hold)
and the data of the three charts: rate_by_fill.csv (with the rate that theory predicts: for layout
blocked from blocked_sizes.py, for layout classic (1 - e^(-k/c))^k at c bits per key),
cost_by_size.csv and space.csv (with the bound of information theory, log2(1/p)).
"""

import csv
import datetime
import math
import os
import pathlib
import platform
import subprocess
import sys

ACTIONS = ["add", "check absent", "check present", "check mixed"]
CALLS = ["", "batch ", "bulk "]  # 1, 32, 1024 keys a call
OPERATIONS = [call + action for action in ACTIONS for call in CALLS]
# What must hold at p = 1 %: operation, the other filter and its operation, at most so
# many times its time. Ratios, since they hold on any machine; to RocksDB's when it was measured.
FLOOR_MARKS = [(call + "check mixed", "blocked", call + "check absent", 1.15) for call in CALLS]
FLOOR_MARKS += [(operation, "RocksDB", operation, limit) for operation, limit in (
    ("check absent", 1.2), ("check mixed", 1.2), ("add", 1.0), ("batch add", 1.0),
    ("bulk add", 1.0), ("batch check mixed", 1.0), ("bulk check mixed", 1.0))]
# Columns of cost_by_size.csv: title, filter, operation.
COSTS = [("blocked check", "blocked", "check absent"),
         ("blocked bulk check", "blocked", "bulk check absent"),
         ("classic check", "classic", "check absent"),
         ("libbloom check", "libbloom", "check absent"), ("blocked add", "blocked", "add"),
         ("blocked bulk add", "blocked", "bulk add"), ("classic add", "classic", "add"),
         ("libbloom add", "libbloom", "add")]


def open_database(path, library, build, **settings):
    """A connection of apsw, old or new, with the extension and read_arguments.c loaded."""
    import apsw  # here: the report of floor.cc does without
    connection = apsw.Connection(str(path))
    modern = hasattr(connection, "load_extension")
    (connection.enable_load_extension if modern else connection.enableloadextension)(True)
    load = connection.load_extension if modern else connection.loadextension
    for file in (pathlib.Path(library), pathlib.Path(build) / "read_arguments.so"):
        load(str(file.resolve()))
    for name, value in settings.items():
        list(connection.cursor().execute(f"PRAGMA {name} = {value}"))
    return connection


def first_line(path, otherwise="not readable"):
    try:
        return pathlib.Path(path).read_text().splitlines()[0].strip()
    except (OSError, IndexError):
        return otherwise


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {name.strip(): value.strip()
             for name, colon, value in (line.partition(":") for line in lines) if colon}
    if "model name" not in facts:
        return platform.machine()
    numbers = [f"{name} {facts[name]}" for name in ("cpu family", "model") if name in facts]
    return f"{facts['model name']} ({', '.join(numbers)})" if numbers else facts["model name"]


def cache_sizes():
    indexes = sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    return ", ".join(f"L{first_line(index / 'level')} {first_line(index / 'size')}"
                     for index in indexes
                     if first_line(index / "type") != "Instruction") or "not readable"


def machine_state(more=()):
    """Markdown lines that say on what, with what and when was measured."""
    memory = first_line("/proc/meminfo").removeprefix("MemTotal:").strip()
    compiler = subprocess.run([*os.environ.get("CC", "cc").split(), "--version"],
                              capture_output=True, text=True, check=False)
    facts = [
        ("processor", processor()),
        ("cores", f"{os.cpu_count()}, of them used: 1"),
        ("caches", cache_sizes()),
        ("frequency governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("load average at the end", " ".join(first_line("/proc/loadavg").split()[:3])),
        ("memory",
         f"{memory}, huge pages: {first_line('/sys/kernel/mm/transparent_hugepage/enabled')}"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("compiler", f"{compiler.stdout.splitlines()[0]}, {os.environ.get('CFLAGS', '-O2 -g')}"),
        *more,
        ("date", datetime.date.today().isoformat())]
    return [f"- {name}: {value}" for name, value in facts]


def table(heads, rows):
    """A Markdown table: the first column to the left, numbers to the right."""
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def write_lines(path, lines):
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_csv(path, heads, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(rows)


def thousands(number):
    return f"{number:,}"


def significant(value):
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


class Floor:
    """The lines of `floor speed`: the median of (n, p, filter, operation)."""

    def __init__(self, path):
        self.values = {(int(row["n"]), float(row["p"]), row["filter"], row["operation"]):
                       float(row["median"]) for row in read_csv(path)}
        self.sizes = sorted({key[0] for key in self.values})
        self.rates = sorted({key[1] for key in self.values}, reverse=True)
        self.filters = list(dict.fromkeys(key[2] for key in self.values))

    def cells(self, rate, name, operation):
        """By size; None when there is none."""
        values = [self.values.get((size, rate, name, operation)) for size in self.sizes]
        return values if any(value is not None for value in values) else None

    def time_table(self, rate):
        rows = []
        for operation in OPERATIONS:
            single = operation.removeprefix("batch ").removeprefix("bulk ")
            for name in self.filters:
                if values := self.cells(rate, name, operation):
                    rows.append([operation, name, *map(significant, values)])
            ours = self.cells(rate, "blocked", operation)
            theirs = self.cells(rate, "libbloom", single)
            how = " one by one" if single != operation else ""
            rows.append([operation, f"libbloom{how} / blocked",
                         *(f"**{b / a:.1f} x**" if a else "-" for a, b in zip(ours, theirs))])
        return table(["ns per key", "filter", *map(thousands, self.sizes)], rows)

    def rate_table(self):
        rows = [[f"{rate:.1%}", name, f"{self.cells(rate, name, 'bits per key')[-1]:.2f}",
                 *(f"{value:.3%}" for value in self.cells(rate, name, "rate"))]
                for rate in self.rates for name in self.filters]
        return table(["p asked for", "filter", "bits per key", *map(thousands, self.sizes)], rows)

    def marks(self):
        rows = []
        for operation, other, theirs, limit in FLOOR_MARKS:
            ours = self.cells(0.01, "blocked", operation)
            values = self.cells(0.01, other, theirs) or []
            of = theirs if other == "blocked" else f"{other}, {theirs}"
            rows += [[operation, of, thousands(size), f"{limit:.2f}", f"{our / value:.2f}",
                      "yes" if our <= limit * value else "**no**"]
                     for size, our, value in zip(self.sizes, ours, values)]
        return table(["work", "against", "n", "at most, times", "measured", "holds"], rows)

    def report(self, fill):
        filled = [[row["layout"], f"{float(row['filled']):.0%}",
                   *(f"{float(row[name]):.4%}" for name in ("measured", "predicted", "from bits"))]
                  for row in fill if round(float(row["filled"]) * 10) in (2, 5, 8, 10, 12, 15, 20)]
        lines = [
            "# The filter library alone", "",
            "Made by `make bench`. What was measured and how: the comment of"
            " `tests/bench/floor.cc`. Times are medians, in nanoseconds per key.", "",
            *machine_state(), "",
            "## Goals", "",
            "p = 1 %; ratios of medians of one run. With `make bench PEERS=FOLDER`"
            " RocksDB's filter is among them.", "",
            *self.marks(), "",
            "`add` is one key a call, `batch` 32, `bulk` 1024; RocksDB is its FastLocalBloom with"
            " as many bits, libfilter its split block filter. Beyond the caches a batch of 32"
            " waits for memory about once, whoever asks it, so that there both are level."]
        for rate in self.rates:
            lines += ["", f"## p = {rate:.1%}", "", *self.time_table(rate)]
        return lines + [
            "", "## The rate that was asked for, and the rate measured", "",
            "Over a million keys that are not in the filter: sampling alone moves 1 % by 0.01"
            " percentage points and 0.1 % by 0.0032 (one standard deviation).", "",
            *self.rate_table(), "",
            "## As a filter fills", "",
            "A filter for 1,000,000 keys at p = 1 %; `from bits` is what `bloom_fpr` returns.", "",
            *table(["layout", "filled", "measured", "predicted", "from bits"], filled), "",
            "![rate against fill](rate_by_fill.svg)", "",
            "![cost against size](cost_by_size.svg)", "",
            "![space against rate](space.svg)"]


def predicted_rate(layout, hashes, bits_per_key):
    if layout == "classic":
        return (1 - math.exp(-hashes / bits_per_key)) ** hashes
    top = pathlib.Path(__file__).resolve().parent.parent.parent
    script = top / "ext/filter/layouts/blocked_sizes.py"
    command = [sys.executable, script, "rate", str(hashes), str(bits_per_key)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(speed, fill_path, space_path, results):
    results = pathlib.Path(results)
    floor, fill, space = Floor(speed), read_csv(fill_path), read_csv(space_path)
    (results / "floor.csv").write_text(pathlib.Path(speed).read_text())
    for row in fill:
        rate = predicted_rate(row["layout"], int(row["hashes"]), float(row["bits per key"]))
        row["predicted"] = f"{rate:.7f}"
    write_csv(results / "rate_by_fill.csv", list(fill[0]), [row.values() for row in fill])
    costs = [floor.cells(0.01, name, operation) for _, name, operation in COSTS]
    write_csv(results / "cost_by_size.csv", ["n", *(title for title, *_ in COSTS)],
              zip(floor.sizes, *costs))
    write_csv(results / "space.csv", ["p", "blocked", "classic", "bound", "fuse", "counting"],
              [[row["p"], row["blocked"], row["classic"], f"{-math.log2(float(row['p'])):.4f}",
                row["fuse"], row["counting"]] for row in space])
    write_lines(results / "floor.md", floor.report(fill))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
