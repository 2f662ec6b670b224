#!/usr/bin/env python3
"""What the benchmarks have in common (databases, the state of the machine, tables) and the report of floor.c.

    report.py SPEED.csv FILL.csv SPACE.csv RESULTS

reads what `floor speed`, `floor fill` and `floor space` have printed and writes into the folder RESULTS: floor.csv and
floor.md (all times, their ratios to libbloom's, the figures of DESIGN that must hold) and the data of the three charts:
rate_by_fill.csv (with the rate that theory predicts: for layout blocked from ext/filter/blocked_sizes.py, for
layout classic (1 - e^(-k/c))^k at c bits per key), cost_by_size.csv and space.csv (with the bound of information
theory, log2(1/p)).
"""
import csv
import datetime
import math
import os
import pathlib
import platform
import subprocess
import sys

OPERATIONS = ["add", "bulk add", "check absent", "check present", "bulk check absent", "bulk check present"]
# Nanoseconds a key that must hold on the reference machine (2.5 GHz Cascade Lake), hashes given, p = 1 %.
FLOOR_MARKS = {"check absent": {10**6: 6, 10**7: 24, 10**8: 50},
               "bulk check absent": {10**6: 5, 10**7: 11, 10**8: 28},
               "bulk add": {10**6: 6, 10**7: 20, 10**8: 45}}


def open_database(path, library, build, **settings):
    """A connection of apsw, old or new, with the extension and read_arguments.c loaded."""
    import apsw  # here: the report of floor.c does without
    connection = apsw.Connection(str(path))
    modern = hasattr(connection, "load_extension")
    (connection.enable_load_extension if modern else connection.enableloadextension)(True)
    load = connection.load_extension if modern else connection.loadextension
    for file in (pathlib.Path(library), pathlib.Path(build) / "read_arguments.so"):
        load(str(file.resolve()))
    for name, value in settings.items():
        list(connection.cursor().execute(f"PRAGMA {name.replace('__', '.')} = {value}"))
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
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    if "model name" not in facts:
        return platform.machine()
    numbers = [f"{name} {facts[name]}" for name in ("cpu family", "model") if name in facts]
    return f"{facts['model name']} ({', '.join(numbers)})" if numbers else facts["model name"]


def cache_sizes():
    sizes = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if first_line(index / "type") != "Instruction":
            sizes.append(f"L{first_line(index / 'level')} {first_line(index / 'size')}")
    return ", ".join(sizes) or "not readable"


def machine_state(more=()):
    """Markdown lines that say on what, with what and when was measured."""
    memory = first_line("/proc/meminfo").removeprefix("MemTotal:").strip()
    compiler = subprocess.run([*os.environ.get("CC", "cc").split(), "--version"], capture_output=True, text=True)
    facts = [("processor", processor()),
             ("cores", f"{os.cpu_count()}, of them used: 1"),
             ("caches", cache_sizes()),
             ("frequency governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
             ("load average at the end", " ".join(first_line("/proc/loadavg").split()[:3])),
             ("memory", f"{memory}, huge pages: {first_line('/sys/kernel/mm/transparent_hugepage/enabled')}"),
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
    """The lines of `floor speed`: the median of (keys, n, p, filter, operation)."""

    def __init__(self, path):
        with open(path, newline="") as file:
            self.values = {(row["keys"], int(row["n"]), float(row["p"]), row["filter"], row["operation"]):
                           float(row["median"]) for row in csv.DictReader(file)}
        self.sizes = sorted({key[1] for key in self.values})
        self.rates = sorted({key[2] for key in self.values}, reverse=True)
        self.filters = list(dict.fromkeys(key[3] for key in self.values))
        self.best = self.filters[0]

    def get(self, keys, size, rate, name, operation):
        return self.values.get((keys, size, rate, name, operation))

    def cells(self, keys, rate, name, operation):
        values = [self.get(keys, size, rate, name, operation) for size in self.sizes]
        return values if any(value is not None for value in values) else None

    def title(self, name, operation):
        if name in ("classic", "libbloom"):
            return name
        return "blocked" if operation.endswith("add") else f"blocked, {name}"

    def time_table(self, keys, rate):
        rows = []
        for operation in OPERATIONS:
            single = operation.removeprefix("bulk ")
            for name in self.filters:
                values = self.cells(keys, rate, name, operation)
                if values:
                    rows.append([operation, self.title(name, operation), *map(significant, values)])
            ours = self.cells(keys, rate, self.best, operation)
            theirs = self.cells(keys, rate, "libbloom", single)
            how = " one by one" if single != operation else ""
            rows.append([operation, f"libbloom{how} / {self.title(self.best, operation)}",
                         *(f"**{b / a:.1f} x**" if a else "-" for a, b in zip(ours, theirs))])
        return table(["ns per key", "filter", *map(thousands, self.sizes)], rows)

    def rate_table(self):
        rows = []
        for rate in self.rates:
            for name in (self.best, "classic", "libbloom"):
                bits = self.cells("hashes", rate, name, "bits per key")
                for keys in ("hashes", "URLs"):
                    measured = self.cells(keys, rate, name, "rate")
                    rows.append([f"{rate:.1%}", self.title(name, "add"), keys, f"{bits[-1]:.2f}",
                                 *(f"{value:.4%}" if value else "-" for value in measured)])
        return table(["p asked for", "filter", "keys", "bits per key", *map(thousands, self.sizes)], rows)

    def marks(self):
        rows = []
        for operation, limits in FLOOR_MARKS.items():
            for size, limit in limits.items():
                value = self.get("hashes", size, 0.01, self.best, operation)
                if value is not None:
                    rows.append([operation, thousands(size), limit, f"{value:.1f}",
                                 "yes" if value <= limit else "**no**"])
        return table(["work", "n", "at most, ns", "measured, ns", "holds"], rows)

    def report(self, fill):
        lines = ["# The filter library alone", "",
                 "Made by `make bench`. What was measured and how: the comment of `tests/bench/floor.c`. Times are "
                 "medians, in nanoseconds per key.", "", *machine_state(), "",
                 "## Figures that must hold", "",
                 "Hashes given, p = 1 %. The limits were set for a 2.5 GHz Cascade Lake Xeon.", "", *self.marks()]
        for keys, heading in (("hashes", "hashes given"), ("URLs", "URLs of 60 to 80 bytes, hashed")):
            for rate in self.rates:
                lines += ["", f"## p = {rate:.1%}, {heading}", "", *self.time_table(keys, rate)]
        lines += ["", "## The rate that was asked for, and the rate measured", "",
                  "Over four million keys that are not in the filter: sampling alone moves 1 % by 0.005 percentage points "
                  "and 0.1 % by 0.0016 (one standard deviation).", "", *self.rate_table(), "",
                  "## As a filter fills", "",
                  "A filter for 1,000,000 keys at p = 1 %; `from bits` is what `bloom_fpr` returns.", "",
                  *table(["layout", "filled", "measured", "predicted", "from bits"],
                         [[row["layout"], f"{float(row['filled']):.0%}",
                           *(f"{float(row[name]):.4%}" for name in ("measured", "predicted", "from bits"))]
                          for row in fill if round(float(row["filled"]) * 10) in (2, 5, 8, 10, 12, 15, 20)]), "",
                  "![rate against fill](rate_by_fill.svg)", "", "![cost against size](cost_by_size.svg)", "",
                  "![space against rate](space.svg)"]
        return lines

    def cost_by_size(self):
        columns = [("blocked check", self.best, "check absent"), ("blocked bulk check", self.best, "bulk check absent"),
                   ("classic check", "classic", "check absent"), ("libbloom check", "libbloom", "check absent"),
                   ("blocked add", self.best, "add"), ("blocked bulk add", self.best, "bulk add"),
                   ("classic add", "classic", "add"), ("libbloom add", "libbloom", "add")]
        rows = [[size, *(self.get("hashes", size, 0.01, name, operation) for _, name, operation in columns)]
                for size in self.sizes]
        return ["n", *(title for title, _, _ in columns)], rows


def predicted_rate(layout, hashes, bits_per_key):
    if layout == "classic":
        return (1 - math.exp(-hashes / bits_per_key)) ** hashes
    script = pathlib.Path(__file__).resolve().parent.parent.parent / "ext/filter/blocked_sizes.py"
    command = [sys.executable, script, "rate", str(hashes), str(bits_per_key)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(speed, fill_path, space_path, results):
    results = pathlib.Path(results)
    floor = Floor(speed)
    (results / "floor.csv").write_text(pathlib.Path(speed).read_text())
    with open(fill_path, newline="") as file:
        fill = list(csv.DictReader(file))
    for row in fill:
        row["predicted"] = f"{predicted_rate(row['layout'], int(row['hashes']), float(row['bits per key'])):.7f}"
    write_csv(results / "rate_by_fill.csv", list(fill[0]), [row.values() for row in fill])
    write_csv(results / "cost_by_size.csv", *floor.cost_by_size())
    with open(space_path, newline="") as file:
        rows = list(csv.DictReader(file))
    write_csv(results / "space.csv", ["p", "blocked", "classic", "bound"],
              [[row["p"], row["blocked"], row["classic"], f"{-math.log2(float(row['p'])):.4f}"] for row in rows])
    write_lines(results / "floor.md", floor.report(fill))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
