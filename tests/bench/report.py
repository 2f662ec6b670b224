#!/usr/bin/env python3
"""What the benchmarks have in common (databases, the state of the machine, tables) and the report
of floor.c.

    report.py SPEED.csv LIBRARY RESULTS

reads what floor.c has printed and writes into the folder RESULTS: floor.csv and floor.md (all times
and their ratios to libbloom's) and the data of the three charts: cost_by_size.csv; rate_by_fill.csv
(the rate of a filter as it fills: measured over a million absent keys, as bloom_fpr returns it, and
predicted: for layout blocked by blocked_sizes.py, for layout classic (1 - e^(-k/c))^k at c bits per
key); and space.csv (bits per key against p, with the bound of information theory, log2(1/p)).
"""

import csv
import datetime
import json
import math
import os
import pathlib
import platform
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "runner"))

OPERATIONS = [call + action for action in ("add", "check absent", "check mixed")
              for call in ("", "bulk ")]  # a key a call, and 1024
# Columns of cost_by_size.csv: filter and operation.
COSTS = [cost for action in ("check absent", "add")
         for cost in (("blocked", action), ("blocked", f"bulk {action}"), ("classic", action),
                      ("libbloom", action))]
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) "
FILL_HEADS = ["layout", "filled", "hashes", "bits per key", "measured", "from bits", "predicted"]
LAYOUTS = ["blocked", "classic", "fuse", "counting"]


def open_database(path, library, **settings):
    """A connection with the extension."""
    from extended import connect  # here: a page's head does without apsw
    connection = connect(path, str(pathlib.Path(library).resolve()))
    for name, value in settings.items():
        list(connection.cursor().execute(f"PRAGMA {name} = {value}"))
    return connection


def url_of(number):
    """SQL for the URL of a number, of 60 to 80 bytes, whose order is not that of the numbers."""
    return (f"'https://www.' || substr(lower(hex(bloom_hash({number}))), 1, 13) ||"
            f" '.example.org/articles/' || substr(lower(hex(bloom_hash(-1 - ({number})))), 1,"
            f" 13 + abs({number}) % 21)")


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


def predicted_rate(layout, hashes, bits_per_key):
    if layout == "classic":
        return (1 - math.exp(-hashes / bits_per_key)) ** hashes
    top = pathlib.Path(__file__).resolve().parent.parent.parent
    script = top / "ext/filter/layouts/blocked_sizes.py"
    command = [sys.executable, script, "rate", str(hashes), str(bits_per_key)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rates_by_fill(cursor):
    """A filter for 1,000,000 keys at 1 %, from a tenth of them to twice as many."""
    million = 10**6
    for layout in LAYOUTS[:2]:
        for tenth in range(1, 21):
            keys = tenth * million // 10
            (filter_,), = cursor.execute(
                f"{NUMBERS.format(keys)} SELECT bloom_agg(i, {million}, 0.01, '{layout}') FROM n")
            (info, rate, found), = cursor.execute(
                f"{NUMBERS.format(million)} SELECT bloom_info(?1), bloom_fpr(?1),"
                " sum(bloom_check(?1, -i)) FROM n", [filter_])
            info = json.loads(info)
            bits = info["bits"] / keys
            yield [layout, f"{tenth / 10:.2f}", info["hashes"], f"{bits:.5f}",
                   f"{found / million:.7f}", f"{rate:.7f}",
                   f"{predicted_rate(layout, info['hashes'], bits):.7f}"]


def space(cursor):
    """Of large filters, where rounding up to whole blocks and words does not show."""
    for p in (float(f"{digit}e-{decade}") for decade in range(1, 10) for digit in (5, 2, 1)):
        blocked, classic, fuse, counting = (
            f"{bits:.4f}" for layout in LAYOUTS for bits, in cursor.execute(
                "SELECT bloom_size(100000000, ?, ?) * 8e-8", (p, layout)))
        yield [f"{p:g}", blocked, classic, f"{-math.log2(p):.4f}", fuse, counting]


def time_table(values, sizes, filters):
    """values: by size, filter and operation."""
    rows = []
    for operation in OPERATIONS:
        rows += [[operation, name, *(f"{values[size, name, operation]:.1f}" for size in sizes)]
                 for name in filters if (sizes[0], name, operation) in values]
        single = operation.removeprefix("bulk ")
        ratios = [values[size, "libbloom", single] / values[size, "blocked", operation]
                  for size in sizes]
        rows.append([operation,
                     f"libbloom{' one by one' if single != operation else ''} / blocked",
                     *(f"**{ratio:.1f} x**" for ratio in ratios)])
    return table(["ns per key", "filter", *map("{:,}".format, sizes)], rows)


def floor_page(values):
    sizes = sorted({size for size, _, _ in values})
    filters = list(dict.fromkeys(name for _, name, _ in values))
    return [
        "# The filter library alone", "",
        "Made by `make bench`. What was measured and how: the comment of `tests/bench/floor.c`.",
        "Times are medians, in nanoseconds per key.", "",
        *machine_state(), "",
        "## Times", "",
        "Filters at 1 %. `bulk` is 1024 keys a call, which only our layouts have; libfilter is its",
        "split block filter.", "",
        *time_table(values, sizes, filters), "",
        "## The rate that was asked for, and the rate measured", "",
        "Over a million keys that are not in the filter: sampling alone moves 1 % by 0.01",
        "percentage points (one standard deviation).", "",
        *table(["filter", "bits per key", *map("{:,}".format, sizes)], [
            [name, f"{values[sizes[-1], name, 'bits per key']:.2f}",
             *(f"{values[size, name, 'rate']:.3%}" for size in sizes)] for name in filters]), "",
        "![rate against fill](rate_by_fill.svg)", "",
        "![cost against size](cost_by_size.svg)", "",
        "![space against rate](space.svg)"]


def main(speed, library, results):
    results = pathlib.Path(results)
    cursor = open_database(":memory:", library).cursor()
    values = {(int(row["n"]), row["filter"], row["operation"]): float(row["median"])
              for row in read_csv(speed)}
    (results / "floor.csv").write_text(pathlib.Path(speed).read_text())
    write_csv(results / "rate_by_fill.csv", FILL_HEADS, rates_by_fill(cursor))
    write_csv(results / "cost_by_size.csv", ["n", *(f"{name} {what}" for name, what in COSTS)],
              [[size, *(values[size, *cost] for cost in COSTS)]
               for size in sorted({size for size, _, _ in values})])
    write_csv(results / "space.csv", ["p", *LAYOUTS[:2], "bound", *LAYOUTS[2:]], space(cursor))
    write_lines(results / "floor.md", floor_page(values))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
