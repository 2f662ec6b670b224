#!/usr/bin/env python3
"""Runs a script of the sqlite3 shell, and prints what it took.

    billion.py DATABASE SCRIPT
"""
import os
import resource
import subprocess
import sys
import time


def main(database, script):
    began = time.monotonic()
    with open(script, "rb") as commands:
        subprocess.run(["sqlite3", database], stdin=commands, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.monotonic() - began:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of a "
          f"processor, at most {used.ru_maxrss / 1e6:.1f} GB of memory, a file of "
          f"{os.path.getsize(database) / 1e9:.2f} GB")


if __name__ == "__main__":
    main(*sys.argv[1:])
