#!/usr/bin/env python3
"""The page at the top of the results: five figures, each beside what people have without a filter.

    figures.py RESULTS

reads what the other parts have written into the folder RESULTS and writes README.md and figures.csv
there, of which charts.gnuplot draws figures.svg.
"""
import csv
import pathlib
import sys

from report import table, thousands, write_csv, write_lines

PAGES = [
    ("sql-3.40.1.md", "asking, building and sizes in SQL, beside an exact index"),
    ("table.md", "filter tables: check, join, INSERT, DELETE, commit, by size"),
    ("chunks.md", "filter tables beside the design before; file and WAL sizes; measured by hand"),
    ("bulk.md", "ways to load many rows"),
    ("commit.md", "where the time of a committed INSERT goes; measured by hand"),
    ("generations.md", "a table that forgets by age"),
    ("floor.md", "the filter library alone, beside libbloom, RocksDB and libfilter; the rate kept"),
    ("interface.md", "the C interface beside its kernel"),
]


def read_table(path):
    """The rows of a page that are in tables, as lists of cells without marks."""
    return [[cell.strip(" `*") for cell in line.strip("| ").split("|")]
            for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]


def number(text):
    return float(text.replace(",", ""))


def main(results):
    results = pathlib.Path(results)
    with (results / "sql-3.40.1.csv").open() as file:
        # nanoseconds a row, by section and case
        cases = {(row["section"], row["case"]): float(row["seconds"]) * 1e9 / float(row["rows"])
                 for row in csv.DictReader(file)}
    with (results / "floor.csv").open() as file:
        floor = {row["filter"]: float(row["median"]) for row in csv.DictReader(file)
                 if (row["keys"], row["n"], row["p"], row["operation"])
                 == ("hashes", "100000000", "0.01", "check mixed")}
    with (results / "rate_by_fill.csv").open() as file:
        rate, = (float(row["measured"]) for row in csv.DictReader(file)
                 if (row["layout"], row["filled"]) == ("blocked", "1.00"))
    bulk = {row[0]: number(row[1]) for row in read_table(results / "bulk.md")[1:]}
    (_, size, index_size, _), = (row for row in read_table(results / "sql-3.40.1.md")
                                 if row[0] == "10,000,000" and len(row) == 4)
    build, scan = "Building, 10,000,000 URLs", "A scan against 10,000,000 URLs"
    figures = [  # what, unit, the filter, what is beside it, which is what
        ("to keep 10 million URLs", "MB", number(size) / 1e6, number(index_size) / 1e6,
         "UNIQUE index"),
        ("to build it, a URL", "ns", cases[build, "bloom_agg(url)"],
         cases[build, "CREATE UNIQUE INDEX"], "CREATE UNIQUE INDEX"),
        ("a scan that asks it, a row", "ns", cases[scan, "bloom_check, pinned"],
         cases[scan, "url IN (SELECT url FROM bad)"], "IN, by the index"),
        ("a million rows into a table, a row", "ns", bulk["'add_all', bloom_hashes(url)"],
         bulk["a table WITHOUT ROWID"], "table WITHOUT ROWID"),
        ("to ask one of 100 million keys, from C", "ns", floor["blocked"], floor["libbloom"],
         "libbloom of Debian"),
    ]
    rows = [(what, f"{ours:.3g} {unit}", f"{thousands(round(other))} {unit}", beside,
             f"1/{int(other / ours)}") for what, unit, ours, other, beside in figures]
    write_csv(results / "figures.csv", ["what", "filter", "beside"],
              [(f"{what} ({beside})", f"{100 * ours / other:.1f}", 100)
               for what, _, ours, other, beside in figures])
    write_lines(results / "README.md", [
        "# Five figures", "",
        "Made by `make bench` of the pages below, each of which names its machine. Filters at 1 %, "
        "each beside", "what people have without it, measured in the same run.", "",
        *table(["", "filter", "without", "which is", "filter / without"], rows), "",
        "![the filter in percent of what stands beside it](figures.svg)", "",
        f"What is paid for it: of the keys that are not in, {100 * rate:.2f} % are reported when "
        "1 % was asked for", "([drawn](rate_by_fill.svg)). What is in is never missed.",
        "", "| page | what it measures |", "|---|---|",
        *(f"| [{page}]({page}) | {what} |" for page, what in PAGES)])


if __name__ == "__main__":
    main(*sys.argv[1:])
