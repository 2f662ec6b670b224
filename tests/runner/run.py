#!/usr/bin/env python3
"""Runs the suites that make up `make test`, side by side, and sums up what they counted.

Every suite is a command. Its exit status decides whether it failed; the number of tests is read
from the closing line of its runner (cmocka, unittest, sqllogictest.py, or plain
`N passed, N failed[, N skipped]`). A suite that counts nothing has failed, so that a suite cannot
get lost. Lines that begin with `figures: ` are repeated. The last line is
`N passed, N failed, N skipped`.

    run.py [--build LIBRARY] NAME=COMMAND ...

With --build, make builds what is run and nothing else, before all suites: the C program of a
command, and for all others the library; a target in brackets before the command, as in
`wheel=[wheel] python3 ...`, takes its place. A suite that needs a header, a module or a program
that is not installed is skipped, and the package of Debian that has it is named.

As many suites run at once as there are processors (JOBS=N says otherwise), in their order.

ONLY=WORD in the environment runs the suites in whose name or files the word is; of the scripts of
tests/sql, those whose file name has it. CASE=NAME runs that test only of each program of cmocka
(there * and ? stand for others) and of each suite of unittest, and counts only the records of
scripts that have it in their SQL. A word or a name that nothing has is an error.

Of the first suites that fail, the first lines about failures are printed; the whole output of each
is in build/failed. A test counts once, however many of its subtests fail.
"""
import concurrent.futures
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time

PLAIN = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED)\s*\] (\d+) test\(s\)", re.MULTILINE)
UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
UNITTEST_SKIPPED = re.compile(r"skipped=(\d+)")
UNITTEST_FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+ \(\S+\))", re.MULTILINE)
UNITTEST_SUITE = re.compile(r"_test\.py( \w+)*$")
SCRIPTS = pathlib.Path("tests/sql")
FILE = re.compile(r"tests/[\w./]+")
PROGRAM = re.compile(r"\S+/tests/\w+(?= |$)")
# What the compiler, Python and the shell say of what is missing, and the packages of Debian.
MISSING = re.compile(r"fatal error: '?(\S+\.h)'?|No module named '(\w+)'|"
                     r"No such file or directory: '([\w-]+)'|([\w-]+): (?:command )?not found")
PACKAGES = {
    "cmocka.h": "libcmocka-dev", "sqlite3.h": "libsqlite3-dev", "sqlite3ext.h": "libsqlite3-dev",
    "apsw": "python3-apsw", "sqlite3": "sqlite3", "nm": "binutils", "readelf": "binutils",
}
PRINTING = threading.Lock()
FAILED = pathlib.Path("build/failed")
# What runners print besides failures.
PROGRESS = re.compile(r"ok\b|\[ +(RUN|OK|PASSED) +\]|-*$|=+$|"
                      r".* \.\.\. (ok|FAIL|ERROR|skipped .*)?$")
MOST_LINES, MOST_SUITES = 20, 3  # printed of suites that fail
failed_suites = []


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
    start = 0
    for match in UNITTEST.finditer(output):
        found = True
        bad = len(set(UNITTEST_FAILED.findall(output, start, match.start())))
        detail = UNITTEST_SKIPPED.search(output[match.end():].partition("Ran ")[0])
        skipped = int(detail[1]) if detail else 0
        counted[0] += max(0, int(match[1]) - bad - skipped)
        counted[1] += bad
        counted[2] += skipped
        start = match.end()
    return counted if found else None


def missing(output):
    """The first thing of which this says that it is missing and that is not installed."""
    for match in MISSING.finditer(output):
        header, module, *_ = match.groups()
        name = match[match.lastindex]
        here = not header and (importlib.util.find_spec(module) if module else shutil.which(name))
        if name in PACKAGES and not here:
            return f"skipped: {name} is not installed: apt-get install {PACKAGES[name]}"
    return None


def only_shows():
    """Whether it was make -n that called."""
    return re.match(r"\w*n", os.environ.get("MAKEFLAGS", "")) is not None


def make(*arguments):
    """As many at once as suites, unless a make above this one has shared processors out."""
    command = [*shlex.split(os.environ.get("MAKE", "make")), "--no-print-directory", *arguments]
    if "jobserver" not in os.environ.get("MAKEFLAGS", ""):
        command.append(f"-j{os.environ.get('JOBS') or os.cpu_count() or 1}")
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, close_fds=False)


def build(suites, library):
    """Builds what the suites need. In place of one for which that failed comes one that says so."""
    needs = []
    for _, command in suites:
        program, target = PROGRAM.search(command), re.match(r"\[(.*)\] ", command)
        needs.append(target[1].split() if target else [program[0]] if program else [library])
    targets = list(dict.fromkeys(target for need in needs for target in need))
    ran = make("-k", *targets)
    print("".join(line + "\n" for line in ran.stdout.splitlines()
                  if "warning" in line or only_shows()), end="")
    problems = {}
    if ran.returncode != 0:
        for target in targets:
            output = make(target)
            if output.returncode != 0:
                problems[target] = output.stdout
    built = []
    for (name, command), need in zip(suites, needs):
        command = re.sub(r"^\[.*\] ", "", command)
        wrong = "".join(problems.get(target, "") for target in need)
        if wrong:
            said = missing(wrong)
            said = f"{said}\n0 passed, 0 failed, 1 skipped" if said else wrong
            command = f"printf '%s\\n' {shlex.quote(said)}"
        built.append((name, command))
    return built


def failures(name, output):
    """What is printed of a suite that failed; all of it is kept in a file."""
    FAILED.mkdir(parents=True, exist_ok=True)
    path = FAILED / (re.sub(r"\W+", "_", name) + ".log")
    path.write_text(output, encoding="utf-8")
    failed_suites.append(name)
    lines = [line for line in output.splitlines() if not PROGRESS.match(line)]
    shown = MOST_LINES if len(failed_suites) <= MOST_SUITES else 0
    if len(lines) > shown:
        lines[shown:] = [f"{len(lines) - shown} more lines: {path}"]
    return lines


def run(suite):
    name, command = suite
    if UNITTEST_SUITE.search(command):
        command += " --verbose"  # names what is skipped, and why
        if os.environ.get("CASE"):
            command += " -k " + shlex.quote(os.environ["CASE"])
    started = time.monotonic()
    ran = subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace")
    with ran.stdout:
        output = ran.stdout.read()
    _, status, used = os.wait4(ran.pid, 0)
    ran.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - started
    counted = count(output)
    if os.environ.get("CASE") and counted == [0, 0, 0]:
        return counted
    if ran.returncode != 0 and missing(output):
        counted = [0, 0, 1]
        output = missing(output)
    elif counted is None or sum(counted) == 0:
        counted = [0, 1, 0]
    elif ran.returncode != 0 and counted[1] == 0:
        counted[1] = 1
    good = counted[1] == 0
    with PRINTING:
        print(f"{'ok  ' if good else 'FAIL'} {name}: {counted[0]} passed, {counted[1]} failed, "
              f"{counted[2]} skipped ({seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of"
              " processors)", flush=True)
        for line in output.splitlines() if good else failures(name, output):
            if (not good or line.startswith("figures: ")
                    or re.search(r"\bskip", line, re.IGNORECASE) and counted[2]):
                print("     " + line, flush=True)
    return counted


def files_of(command):
    """What a suite is made of: the files that its command names, and the sources of its program."""
    program = PROGRAM.search(command)
    name = pathlib.Path(program[0]).name if program else ""
    sources = [str(path) for path in pathlib.Path("tests").glob(f"*/{name}.c")]
    return FILE.findall(PROGRAM.sub("", command)) + sources


def chosen(suites, word):
    """The suites that ONLY asks for: by name and files, and of the scripts single files."""
    if not word:
        return suites
    found = [(name, command) for name, command in suites
             if word in name or any(word in file for file in files_of(command))]
    files = sorted(str(path) for path in SCRIPTS.glob("*.test") if word in str(path))
    if files:
        found += [(f"scripts {word}", command.replace(f" {SCRIPTS}", " " + " ".join(files)))
                  for name, command in suites if name == "scripts" and (name, command) not in found]
    return found


def main(arguments):
    library = None
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    if arguments[:1] == ["--build"]:
        library, arguments = arguments[1], arguments[2:]
    suites = [(name.strip(), command) for name, _, command in
              (argument.partition("=") for argument in arguments)]
    word = os.environ.get("ONLY", "")
    suites = chosen(suites, word)
    # With this check GCC 13.2 puts vectors of 64 bytes at other addresses than it assumes (GCC bug
    # 110027), so that what was compiled well stops.
    os.environ.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=0")
    if not suites:
        print(f"no suite and no script has {word} in its name. make long, exhaustive, packages and"
              " clusters have others, and take ONLY, too")
        return 2
    if library:
        suites = build(suites, library)
    if only_shows():
        print("\n".join(f"'{name}={command}'" for name, command in suites))
        return 0
    # What suites make shares no processors with the make above, whose pipe they do not see.
    os.environ["MAKEFLAGS"] = re.sub(r" *(-j\d*|--jobserver-\w+=\S+)", "",
                                     os.environ.get("MAKEFLAGS", ""))
    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        counts = list(pool.map(run, suites))
    total = [sum(column) for column in zip(*counts)]
    if os.environ.get("CASE") and sum(total) == 0:
        print(f"no test of these suites is named {os.environ['CASE']}")
        return 2
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
