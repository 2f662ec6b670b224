"""What the benchmarks in Python have in common: databases, keys, times and tables."""
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "runner"))

NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) "


def open_database(path, library, **settings):
    """A connection with the extension."""
    from extended import connect  # here: scrapy_bench.py does without apsw
    connection = connect(path, str(pathlib.Path(library).resolve()))
    for name, value in settings.items():
        list(connection.cursor().execute(f"PRAGMA {name} = {value}"))
    return connection


def url_of(number):
    """SQL for the URL of a number, of 60 to 80 bytes, whose order is not that of the numbers."""
    return (f"'https://www.' || substr(lower(hex(bloom_hash({number}))), 1, 13) ||"
            f" '.example.org/articles/' || substr(lower(hex(bloom_hash(-1 - ({number})))), 1,"
            f" 13 + abs({number}) % 21)")


def print_table(heads, rows):
    """As Markdown: the first column to the left, numbers to the right."""
    print(f"\n| {' | '.join(heads)} |\n|---|{'---:|' * (len(heads) - 1)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def section(heading, keys, ways, turns=5, found=None, unit="key"):
    """ways: functions by their names, which take turns. Times are medians, of the processor, ratios
    those within one turn. found: what each returns, filters up to a tenth more."""
    times = []
    for _ in range(turns):
        times.append([])
        for name, way in ways.items():
            start = time.process_time()
            result = way()
            times[-1].append((time.process_time() - start) * 1e9 / keys)
            assert found is None or found <= result <= 1.1 * found, (name, result)
    print(f"\n## {heading}")
    print_table(["way", f"ns a {unit}", "ratio"], (
        (name, f"{statistics.median(turn[i] for turn in times):,.0f}",
         f"{statistics.median(turn[i] / turn[0] for turn in times):.2f}")
        for i, name in enumerate(ways)))
