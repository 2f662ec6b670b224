#!/usr/bin/env python3
"""The page at the top of the results: five figures, each beside what people have without a filter.

    figures.py LIBRARY RESULTS

reads the pages that the other parts have written into the folder RESULTS, measures the rates of
filters as they fill, and writes README.md and figures.svg there.
"""
import contextlib
import html
import json
import math
import pathlib
import sys

from report import NUMBERS, open_database, print_table

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "ext/filter/layouts"))
import blocked_sizes  # noqa: E402

MILLION = 10**6

PAGES = [
    ("sql-3.40.1.md", "checking, building and sizes in SQL, beside an exact index"),
    ("table.md", "filter tables: check, join, INSERT, DELETE, commit, by size"),
    ("pages.md", "small commits of a filter table, by the size of pages"),
    ("chunks.md", "filter tables before and after a redesign; file and WAL sizes; by hand"),
    ("scrapy.md", "Scrapy's dupefilter and queue, beside ours"),
    ("others.md", "lists, programs, scans and look-ups, beside what people use for them"),
    ("python.md", "filters of Python programs, beside rbloom, abloom and fastbloom-rs"),
    ("node.md", "the class Filter of Node.js, beside npm's bloomfilter and a statement"),
    ("billion.md", "a table of 10^9 keys: filling it, and its rate"),
    ("commit.md", "where the time of a committed INSERT goes; by hand"),
    ("floor.md", "the C library beside libbloom and libfilter; its measured rate"),
]

TITLE = "What a filter takes, in percent of what it replaces"
# The picture has its own background, because it cannot know whether the page that shows it is dark.
STYLE = ("text{font:13px sans-serif;fill:#4a4f57}.what{font-size:14px;fill:#22262b}"
         ".end{text-anchor:end}rect{fill:#2f7fe0}.whole{fill:#dddddd}.card{fill:#ffffff}"
         "@media (prefers-color-scheme:dark){text{fill:#b8bdc6}.what{fill:#e6edf3}"
         ".whole{fill:#30363d}.card{fill:#1e2129}}")


def read_table(path):
    """The rows of a page that are in tables, as lists of cells without marks."""
    return [[cell.replace("`", "").strip(" *") for cell in line[1:-1].split("|")]
            for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]


def number(text):
    return float(text.replace(",", ""))


def chart(bars):
    """A bar for each figure, with words above and below it: narrow, so that a phone shows the
    letters in a size that can be read.
    """
    bars, shapes = list(bars), [f'<text x="10" y="26">{TITLE}</text>']
    for row, (what, percent, values) in enumerate(bars):
        top = 48 + 60 * row
        shapes += [f'<text x="10" y="{top + 10}" class="what">{html.escape(what)}</text>',
                   f'<text x="370" y="{top + 10}" class="what end">{percent:.1f} %</text>',
                   f'<rect x="10" y="{top + 17}" width="360" height="8" class="whole"/>',
                   f'<rect x="10" y="{top + 17}" width="{3.6 * percent:.1f}" height="8"/>',
                   f'<text x="10" y="{top + 40}">{html.escape(values)}</text>']
    height = 48 + 60 * len(bars)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="380" height="{height}"
 viewBox="0 0 380 {height}">
<title>{TITLE}</title>
<style>{STYLE}</style>
<rect class="card" width="380" height="{height}" rx="6"/>
""" + "\n".join(shapes) + "\n</svg>\n"


def rates(cursor, percent):
    """Of filters for a million keys at 1 % with that share of them: measured over a million keys
    that are absent, and predicted."""
    for layout in ("blocked", "classic"):
        keys = MILLION * percent // 100
        (filter_,), = cursor.execute(
            f"{NUMBERS.format(keys)} SELECT bloom_agg(i, {MILLION}, 0.01, '{layout}') FROM n")
        (info, rate), = cursor.execute(f"{NUMBERS.format(MILLION)} SELECT bloom_info(?1),"
                                       " avg(bloom_check(?1, -i)) FROM n", [filter_])
        hashes, bits_per_key = json.loads(info)["hashes"], json.loads(info)["bits"] / keys
        yield rate
        yield (blocked_sizes.rate(hashes, bits_per_key) if layout == "blocked" else
               (1 - math.exp(-hashes / bits_per_key)) ** hashes)


def main(library, results):
    results = pathlib.Path(results)
    # nanoseconds, by way
    ways = {row[0]: number(row[1]) for page in ("sql-3.40.1.md", "others.md", "python.md")
            for row in read_table(results / page) if row[0] not in ("way", "URLs")}
    floor = {row[1]: number(row[-1]) for row in read_table(results / "floor.md")
             if row[0] == "check mixed" and "/" not in row[1]}
    (_, size, index_size, _), = (row for row in read_table(results / "sql-3.40.1.md")
                                 if row[0] == "10,000,000" and len(row) == 4)
    figures = [  # what, unit, the filter, what is beside it, which is what
        ("size for 10 million URLs", "MB", number(size) / 1e6, number(index_size) / 1e6,
         "UNIQUE index"),
        ("building, per URL", "ns", ways["bloom_agg(url)"], ways["CREATE UNIQUE INDEX"],
         "CREATE UNIQUE INDEX"),
        ("checking every row of a table, per row", "ns", ways["bloom_check, pinned"],
         ways["url IN (SELECT url FROM bad)"], "IN, by the index"),
        ("adding a million rows to a table, per row", "ns", ways["filter table, INSERT"],
         ways["a table WITHOUT ROWID"], "table WITHOUT ROWID"),
        ("checking one of 100 million keys, in C", "ns", floor["blocked"], floor["libbloom"],
         "libbloom of Debian"),
    ]
    rows = [(what, f"{ours:.3g} {unit}", f"{other:,.0f} {unit}", beside,
             f"1/{int(other / ours)}") for what, unit, ours, other, beside in figures]
    compared = [  # what may be faster than the filter, likewise
        ("filling a filter from a Python list, per URL", ways["Filter(n), update(urls)"],
         ways["rbloom, update"], "rbloom"),
        ("checking one URL a call, from Python", ways["url in Filter"], ways["url in rbloom"],
         "rbloom"),
        ("checking one stored key a call, from Python", ways["filter table"], ways["LMDB"],
         "LMDB"),
        ("checking one of 100 million keys, in C", floor["blocked"],
         floor.get("libfilter", floor["blocked"]), "libfilter")]
    cursor = open_database(":memory:", library).cursor()
    filled = {percent: [*rates(cursor, percent)] for percent in (25, 50, 75, 100, 125, 150, 200)}
    (results / "figures.svg").write_text(chart(
        (what, 100 * ours / other, f"{row[1]} instead of {row[2]} ({beside})")
        for (what, _, ours, other, beside), row in zip(figures, rows)), encoding="utf-8")
    with open(results / "README.md", "w", encoding="utf-8") as file, \
            contextlib.redirect_stdout(file):
        print("# Five figures\n\n"
              "Made by `make bench` of the pages below, each of which names its machine. Filters at"
              " 1 %,\neach beside what people have without it, measured in the same run.")
        print_table(["", "filter", "without it", "by", "filter / without it"], rows)
        print("\n![Size and time of a filter, as a percentage of what it replaces](figures.svg)\n"
              f"\nThe price: {100 * filled[100][0]:.2f} % of the keys that were never added are"
              " found, too, where 1 % was asked for. A key\nthat was added is never missed. With"
              " fewer or more keys, in percent of the capacity:")
        heads = [f"{layout}, {how}" for layout in ("blocked", "classic")
                 for how in ("measured", "predicted")]
        print_table(["keys", *heads], (
            [f"{percent} %", *map("{:.3%}".format, found)] for percent, found in filled.items()))
        print("\nWhere something else is ahead:")
        print_table(["", "filter", "ahead", "by"], (
            (what, f"{ours:,.0f} ns", f"{other:,.0f} ns", beside)
            for what, ours, other, beside in compared if other < ours))
        print("\n| page | what it measures |\n|---|---|")
        for page, what in PAGES:
            print(f"| [{page}]({page}) | {what} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
