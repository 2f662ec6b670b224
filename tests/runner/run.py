#!/usr/bin/env python3
"""Runs the suites that make up `make test`, side by side, and sums up what they counted.

Every suite is a command. Its exit status decides whether it failed; the number of tests is read
from the closing line of its runner (cmocka, unittest, sqllogictest.py, or plain
`N passed, N failed[, N skipped]`). A suite that counts nothing has failed, so that a suite cannot
get lost; one that finds a module of PACKAGES missing is skipped, and says which package has it. Lines that begin with `figures: ` are repeated. The last line is
`N passed, N failed, N skipped`.

    run.py NAME=COMMAND ...

As many suites run at once as there are processors (JOBS=N says otherwise). One whose name ends in
`!` measures, so it runs alone, after the others. ONLY=WORD in the environment runs the suites whose
name holds the word; of the scripts of tests/sql, those whose file name does. A word that nothing
has is an error.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

PLAIN = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED)\s*\] (\d+) test\(s\)", re.MULTILINE)
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
UNITTEST_DETAIL = re.compile(r"(failures|errors|skipped)=(\d+)")
UNITTEST_SUITE = re.compile(r"_test\.py( \w+)*$")
MISSING = re.compile(r"^ModuleNotFoundError: No module named '(\w+)'", re.MULTILINE)
PACKAGES = {"apsw": "python3-apsw"}  # by the names of Debian
SCRIPTS = pathlib.Path("tests/sql")
PRINTING = threading.Lock()


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


def run(suite):
    name, command = suite
    if UNITTEST_SUITE.search(command):
        command += " --verbose"  # names what is skipped, and why
    started = time.monotonic()
    ran = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    seconds = time.monotonic() - started
    counted, said = count(ran.stdout), ran.stdout
    missing = PACKAGES.get((MISSING.search(said) or [None, None])[1])
    if missing and counted is None:
        counted, said = [0, 0, 1], f"skipped: {missing} is not installed"
    elif counted is None or sum(counted) == 0:
        counted = [0, 1, 0]
    elif ran.returncode != 0 and counted[1] == 0:
        counted[1] = 1
    good = counted[1] == 0
    with PRINTING:
        print(f"{'ok  ' if good else 'FAIL'} {name}: {counted[0]} passed, {counted[1]} failed, "
              f"{counted[2]} skipped ({seconds:.1f} s)", flush=True)
        for line in said.splitlines():
            if (not good or line.startswith("figures: ")
                    or re.search(r"\bskip", line, re.IGNORECASE) and counted[2]):
                print("     " + line, flush=True)
    return counted


def chosen(suites, word):
    """The suites that ONLY asks for: by name, and of the scripts single files."""
    if not word:
        return suites
    found = [suite for suite in suites if word in suite[0]]
    files = sorted(str(path) for path in SCRIPTS.glob("*.test") if word in path.name)
    if files:
        found += [(f"scripts {word}", command.replace(f" {SCRIPTS}", " " + " ".join(files)))
                  for name, command in suites if name == "scripts" and (name, command) not in found]
    return found


def main(arguments):
    suites = [(name.strip(), command) for name, _, command in
              (argument.partition("=") for argument in arguments)]
    word = os.environ.get("ONLY", "")
    suites = chosen(suites, word)
    # With this check GCC 13.2 puts vectors of 64 bytes at other addresses than it assumes (GCC bug
    # 110027), so that what was compiled well stops.
    os.environ.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=0")
    if not suites:
        print(f"no suite and no script has {word} in its name")
        return 2
    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        counts = list(pool.map(run, [suite for suite in suites if suite[0][-1] != "!"]))
    counts += [run((name[:-1], command)) for name, command in suites if name[-1] == "!"]
    total = [sum(column) for column in zip(*counts)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
