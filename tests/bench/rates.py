#!/usr/bin/env python3
"""The rate of a filter as it fills: measured over a million absent keys, and predicted, for layout
blocked by blocked_sizes.py, for layout classic (1 - e^(-k/c))^k at c bits per key.

    rates.py LIBRARY

prints CSV for rates.gnuplot: layout, share of the keys, rate measured and predicted.
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


def main(library):
    csv.writer(sys.stdout).writerows(rates_by_fill(open_database(":memory:", library).cursor()))


if __name__ == "__main__":
    main(*sys.argv[1:])
