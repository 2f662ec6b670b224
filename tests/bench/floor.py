#!/usr/bin/env python3
"""Runs floor.c and prints its page: floor.py PROGRAM N ..."""
import csv
import subprocess
import sys

from report import print_table

OPERATIONS = "add", "bulk add", "check mixed", "bulk check mixed"


def times(values, sizes, filters):
    for operation in OPERATIONS:
        for name in filters:
            if (sizes[0], name, operation) in values:
                yield [operation, name, *(f"{values[n, name, operation]:.1f}" for n in sizes)]
        single = operation.removeprefix("bulk ")
        yield [operation, f"libbloom{' one by one' * (single != operation)} / blocked", *(
            f"**{values[n, 'libbloom', single] / values[n, 'blocked', operation]:.1f} x**"
            for n in sizes)]


def main(*command):
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    values = {(int(n), name, operation): float(value)
              for n, name, operation, value in csv.reader(printed.splitlines())}
    sizes = sorted({n for n, _, _ in values})
    filters = list(dict.fromkeys(name for _, name, _ in values))
    heads = [f"{n:,}" for n in sizes]
    print("\n## Times\n\nMedians at 1 %. The keys are integers. `bulk` is many keys a call, which"
          "\nonly our layouts have. libfilter has its split block filter, of SplitMix64 of a key.")
    print_table(["ns per key", "filter", *heads], times(values, sizes, filters))
    print("\n## The rate that was asked for, and the rate measured\n\n"
          "Over a million keys that are not in the filter: sampling alone moves 1 % by 0.01\n"
          "percentage points (one standard deviation).")
    print_table(["filter", "bits per key", *heads], (
        [name, f"{values[sizes[-1], name, 'bits per key']:.2f}",
         *(f"{values[n, name, 'rate']:.3%}" for n in sizes)] for name in filters))


if __name__ == "__main__":
    main(*sys.argv[1:])
