#!/usr/bin/env python3
"""The data of the charts, as charts.gnuplot reads them.

    charts.py LIBRARY BUILD

writes into the folder BUILD rate_by_fill.csv (the rate of a filter as it fills: measured over a
million absent keys, and predicted: for layout blocked by blocked_sizes.py, for layout classic
(1 - e^(-k/c))^k at c bits per key) and space.csv (bits per key against p, with the bound of
information theory, log2(1/p)).
"""
import csv
import json
import math
import pathlib
import subprocess
import sys

from report import NUMBERS, open_database

MILLION = 10**6
SIZES = pathlib.Path(__file__).resolve().parents[2] / "ext/filter/layouts/blocked_sizes.py"


def predicted_rate(layout, hashes, bits_per_key):
    if layout == "classic":
        return (1 - math.exp(-hashes / bits_per_key)) ** hashes
    command = [sys.executable, SIZES, "rate", str(hashes), str(bits_per_key)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rate_with(cursor, layout, keys):
    """Of a filter for a million keys at 1 %: its hashes and bits, and the rate measured."""
    (filter_,), = cursor.execute(
        f"{NUMBERS.format(keys)} SELECT bloom_agg(i, {MILLION}, 0.01, '{layout}') FROM n")
    (info, rate), = cursor.execute(f"{NUMBERS.format(MILLION)} SELECT bloom_info(?1),"
                                   " avg(bloom_check(?1, -i)) FROM n", [filter_])
    info = json.loads(info)
    return info["hashes"], info["bits"], rate


def rates_by_fill(cursor):
    """From a tenth of the keys to twice as many."""
    for layout in ("blocked", "classic"):
        for keys in range(MILLION // 10, 2 * MILLION + 1, MILLION // 10):
            hashes, bits, rate = rate_with(cursor, layout, keys)
            yield layout, keys / MILLION, rate, predicted_rate(layout, hashes, bits / keys)


def space(cursor):
    """Of large filters, where rounding up to whole blocks and words does not show."""
    for p in (float(f"{digit}e-{decade}") for decade in range(1, 10) for digit in (5, 2, 1)):
        yield p, -math.log2(p), *(bits for layout in ("blocked", "classic", "fuse", "counting")
                                  for bits, in cursor.execute(
                                      "SELECT bloom_size(100000000, ?, ?) * 8e-8", (p, layout)))


def main(library, build):
    cursor = open_database(":memory:", library).cursor()
    for name, rows in (("rate_by_fill", rates_by_fill(cursor)), ("space", space(cursor))):
        with open(pathlib.Path(build, f"{name}.csv"), "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
