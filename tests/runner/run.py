#!/usr/bin/env python3
"""Runs the suites that make up `make test` one after the other, and sums up what they counted.

Every suite is a command. Its exit status decides whether it failed; the number of tests is read from the closing line of its runner
(cmocka, unittest, sqllogictest.py, or plain `N passed, N failed[, N skipped]`). A suite that counts nothing has failed, so that
a suite cannot get lost. Lines that begin with `figures: ` are repeated. The last line is `N passed, N failed, N skipped`.

    run.py NAME=COMMAND ...
"""
import re
import subprocess
import sys
import time

PLAIN = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED)\s*\] (\d+) test\(s\)", re.MULTILINE)
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
UNITTEST_DETAIL = re.compile(r"(failures|errors|skipped)=(\d+)")


def count(output):
    """Passed, failed and skipped tests by what runners print; None when no runner said anything."""
    counted = [0, 0, 0]
    found = False
    for match in PLAIN.finditer(output):
        found = True
        counted = [have + int(more or 0) for have, more in zip(counted, match.groups())]
    for outcome, number in CMOCKA.findall(output):
        found = True
        counted[("PASSED", "FAILED", "SKIPPED").index(outcome)] += int(number)
    for match in UNITTEST.finditer(output):
        found = True
        closing = output[match.end():].partition("Ran ")[0]
        detail = {name: int(number) for name, number in UNITTEST_DETAIL.findall(closing)}
        bad = detail.get("failures", 0) + detail.get("errors", 0)
        skipped = detail.get("skipped", 0)
        counted[0] += max(0, int(match[1]) - bad - skipped)
        counted[1] += bad
        counted[2] += skipped
    return counted if found else None


def main(suites):
    total = [0, 0, 0]
    for suite in suites:
        name, _, command = suite.partition("=")
        started = time.monotonic()
        run = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        seconds = time.monotonic() - started
        counted = count(run.stdout)
        if counted is None or sum(counted) == 0:
            counted = [0, 1, 0]
        elif run.returncode != 0 and counted[1] == 0:
            counted[1] = 1
        good = counted[1] == 0
        print(f"{'ok  ' if good else 'FAIL'} {name}: {counted[0]} passed, {counted[1]} failed, {counted[2]} skipped "
              f"({seconds:.1f} s)", flush=True)
        for line in run.stdout.splitlines():
            if not good or line.startswith("figures: ") or re.search(r"\bskip", line, re.IGNORECASE) and counted[2]:
                print("     " + line, flush=True)
        total = [have + more for have, more in zip(total, counted)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
