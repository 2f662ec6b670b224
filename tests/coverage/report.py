#!/usr/bin/env python3
"""Reports what the tests reach of each source file, from the JSON file of gcovr, and what they do
not reach and is not excepted.

    report.py COVERAGE.json FOLDER EXCEPTIONS.txt

A file has passed when each of its lines and branches was reached, or is excepted, and each of its
exceptions is still needed. The exit status is 1 when one has not. Branches are numbered from 1
within a line, in gcov's order: for a condition the first is the one that goes on to the next line
of the listing, which is mostly the way taken when it holds. Branches of a line that was never
reached count, but are not listed besides the line.

The exceptions are paragraphs:

    FILE FUNCTION ...
    with FLAG           only for processors that have FLAG in /proc/cpuinfo, or are called so (uname
                        -m)
    without FLAG        only for the others; elsewhere the paragraph is left out
    all                 whatever of these functions is not reached
    line TEXT           a line of the function, without the space around it
    branch N TEXT       branch N of such a line
    because REASON      up to the end of the paragraph

Each `line` and `branch` excepts one; a second line of the same text in the same function takes a
second one. A text that ends in ... stands for any line that begins so. Lines that begin with # are
comments.
"""

import json
import pathlib
import platform
import re
import sys
from dataclasses import dataclass, field


@dataclass
class Source:
    name: str
    lines: list = field(default_factory=lambda: [0, 0])  # reached, all
    branches: list = field(default_factory=lambda: [0, 0])
    missed: list = field(default_factory=list)  # (line number, function, what, text)
    excepted: int = 0
    stale: list = field(default_factory=list)


def processor_flags():
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        flags = []
    return {platform.machine(), *flags}


def read_exceptions(path):
    """A list of (file, function, what, text) for each single exception; what is "all", "line" or
    "branch N"."""
    flags = processor_flags()
    exceptions = []
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if not paragraph:
            continue
        head, *lines = paragraph.split("\n")
        items, applies, reason = [], True, False
        for line in lines:
            if reason:
                continue
            if match := re.fullmatch(r"(with|without) (\w+)", line):
                applies = applies and (match[2] in flags) == (match[1] == "with")
            elif match := re.fullmatch(r"(all)|(line|branch \d+) +(.*\S)", line):
                items.append((match[1] or match[2], match[3] or ""))
            elif line.startswith("because "):
                reason = True
            else:
                sys.exit(f"{path}: not understood: {line}")
        name, *functions = head.split()
        if not functions or not items or not reason:
            sys.exit(f"{path}: needs a file and a function, what is excepted, and because: {head}")
        if applies:
            exceptions += [(name, function, *item) for function in functions for item in items]
    return exceptions


def covers(exception, missed):
    """Whether an exception (function, what, text) is of a line or branch that was missed."""
    text = exception[2]
    same = missed[2].startswith(text[:-3]) if text.endswith("...") else missed[2] == text
    return same and exception[:2] == missed[:2]


def examine(entry, folder, exceptions):
    path = pathlib.Path(entry["file"])
    source = Source(str(path.relative_to(folder)))
    text = path.read_text(encoding="utf-8").split("\n")
    functions = sorted((function["lineno"], function["name"]) for function in entry["functions"])
    for line in entry["lines"]:
        number = line["line_number"]
        if line["gcovr/noncode"] or line["gcovr/excluded"]:
            continue
        function = next((name for start, name in reversed(functions) if start <= number), "-")
        missed = [
            f"branch {i}" for i, branch in enumerate(line["branches"], 1) if branch["count"] == 0]
        source.lines[0] += line["count"] > 0
        source.lines[1] += 1
        source.branches[0] += len(line["branches"]) - len(missed)
        source.branches[1] += len(line["branches"])
        for what in missed if line["count"] > 0 else ["line"]:
            source.missed.append((number, function, what, text[number - 1].strip()))

    left = []
    unused = [exception[1:] for exception in exceptions if exception[0] == source.name]
    whole = {function for function, what, _ in unused if what == "all"}
    whole_needed = set()
    for missed in source.missed:
        if missed[1] in whole:
            whole_needed.add(missed[1])
        elif match := next((one for one in unused if covers(one, missed[1:])), None):
            unused.remove(match)
        else:
            left.append(missed)
    source.excepted = len(source.missed) - len(left)
    source.missed = left
    source.stale = [exception for exception in unused if exception[0] not in whole_needed]
    return source


def share(counts):
    percent = 100 * counts[0] / counts[1] if counts[1] else 100
    return f"{counts[0]:5} of {counts[1]:5} {percent:6.1f} %"


def main(coverage, folder, exceptions_path):
    exceptions = read_exceptions(pathlib.Path(exceptions_path))
    entries = json.loads(pathlib.Path(coverage).read_text(encoding="utf-8"))["files"]
    sources = [examine(entry, pathlib.Path(folder), exceptions) for entry in entries]
    total = Source("all")
    print(f"     {'':27} {'lines':>23} {'branches':>24}")
    for source in sources:
        good = not source.missed and not source.stale
        print(
            f"{'ok  ' if good else 'FAIL'} {source.name:27} {share(source.lines)} "
            f" {share(source.branches)}"
            + (f"  {source.excepted} excepted" if source.excepted else ""))
        for counts, more in ((total.lines, source.lines), (total.branches, source.branches)):
            counts[:] = [have + new for have, new in zip(counts, more)]
        total.excepted += source.excepted
    print(
        f"     {total.name:27} {share(total.lines)}  {share(total.branches)}  {total.excepted}"
        " excepted")
    for source in sources:
        for number, function, what, text in source.missed:
            print(f"{folder}/{source.name}:{number}: not reached: {function}: {what}: {text}")
        for function, what, text in source.stale:
            print(
                f"{folder}/{source.name}: reached, or gone, though excepted: {function}: {what}:"
                f" {text}")
    known = {source.name for source in sources}
    lost = sorted({exception[0] for exception in exceptions} - known)
    for name in lost:
        print(f"{exceptions_path}: no code was measured of {name}")
    failed = sum(bool(source.missed or source.stale) for source in sources) + len(lost)
    print(f"{len(sources) + len(lost) - failed} passed, {failed} failed")
    return 1 if failed or not sources else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
