#!/usr/bin/env python3
"""What the benchmarks have in common: databases, keys, tables, and the state of the machine, which
it prints as Markdown when it is run: on what, with what and when was measured.
"""
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "runner"))

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) "


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


def first_line(path):
    try:
        return pathlib.Path(path).read_text().splitlines()[0].strip()
    except (OSError, IndexError):
        return "not readable"


def processor():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    facts = dict(re.findall(r"^(cpu family|model|model name)\s*: (.*)", text, re.MULTILINE))
    if len(facts) < 3:
        return platform.processor() or platform.machine()
    return "{model name} (cpu family {cpu family}, model {model})".format_map(facts)


def print_machine_state():
    caches = [f"L{first_line(cache / 'level')} {first_line(cache / 'size')}"
              for cache in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
              if first_line(cache / "type") != "Instruction"]
    memory = first_line("/proc/meminfo").removeprefix("MemTotal:").strip()
    compiler = subprocess.run([*os.environ.get("CC", "cc").split(), "--version"],
                              capture_output=True, text=True, check=False)
    print(f"""- processor: {processor()}
- cores: {os.cpu_count()}, of them used: 1
- caches: {', '.join(caches) or 'not readable'}
- frequency governor: {first_line('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')}
- load average at the end: {' '.join(first_line('/proc/loadavg').split()[:3])}
- memory: {memory}, huge pages: {first_line('/sys/kernel/mm/transparent_hugepage/enabled')}
- system: {platform.system()} {platform.machine()}
- compiler: {compiler.stdout.splitlines()[0]}, {os.environ.get('CFLAGS', '-O2 -g')}
- date: {datetime.date.today().isoformat()}""")


def print_table(heads, rows):
    """As Markdown: the first column to the left, numbers to the right."""
    print(f"\n| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    print_machine_state()
