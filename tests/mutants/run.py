#!/usr/bin/env python3
"""How much of what could be wrong in ext/ the tests see: one line is changed, and they are run.

    run.py NAME=COMMAND ...     suites, as tests/runner/run.py takes them

Each mutant is one change of one place (mutate.py makes them) in a copy of the tree. It is killed
when a suite fails or takes too long. Those of its folder come first, and of these the ones that
killed others; make builds what a suite needs when its turn comes. What does not compile, and what
makes the same machine code, is passed over and another one drawn. The survivors are printed as
diffs; what equivalents.txt has, with the reason why nobody can tell them from the source, does not
count.

In the environment: N (200) mutants, drawn with SEED (1) from the lines that WORD (all) is in, as
table/keys or url.c:289, or with WORD=limits from those that name a limit; AGAIN=1 runs the
survivors of the last run alone, after the tests were changed; JOBS (2) at once. What was found is
kept in build/mutants, so that a run that was stopped goes on where it was. The last line is
`N passed, N failed`, of mutants killed and survivors.
"""
import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import math
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import time

import mutate

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = TOP / "build/mutants"
COUNT, SEED = int(os.environ.get("N") or 200), os.environ.get("SEED") or "1"
WORD, AGAIN = os.environ.get("WORD", ""), os.environ.get("AGAIN")
JOBS = int(os.environ.get("JOBS") or 2)
TABLES = {"idna_tables.h", "blocked_sizes.h"}  # of constants
PREFETCH = "BLOOM_PREFETCH("  # what is fetched ahead shows in time alone
# A wrong type is no mutant: no compiler takes it with the warnings of the project.
FLAGS = "CFLAGS=-O2 -Werror=int-conversion -Werror=incompatible-pointer-types " \
        "-Werror=return-type -Werror=discarded-qualifiers"
PRODUCTS = "bloom.so libsqlite-bloom-filter.a"
BLOCKS, KILOBYTES = 1 << 22, 6 << 20  # of a file, of memory
# They compile all sources once more, or read text alone.
LEFT_OUT = {"build", "sources", "script runner", "runner of suites", "documentation"}


def sources():
    return [path for path in sorted((TOP / "ext").rglob("*.[ch]"))
            if path.name not in TABLES and "packages" not in path.parts]


class Mutant:
    def __init__(self, path, text, change):
        start, end, instead = change
        self.name, self.text = str(path.relative_to(TOP)), text
        self.changed = text[:start] + instead + text[end:]
        first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        self.before = text[first:last]
        after = text[first:start] + instead + text[end:last]
        self.line = text.count("\n", 0, start) + 1
        lines = ["- " + line.strip() for line in self.before.split("\n")]
        lines += ["+ " + line.strip() for line in after.split("\n") if line.strip()]
        self.diff = "\n".join(lines)
        self.rank, self.folder = None, self.name.split("/")[1]


def mutants():
    """All of them in an order that follows from the seed and what each is: elsewhere a line may
    change without drawing others."""
    found, times = [], {}
    for path in sources():
        text = path.read_text(encoding="utf-8")
        for change in mutate.mutants_of(text):
            mutant = Mutant(path, text, change)
            # Such a one is run first with each limit at its smallest, where it changes most.
            mutant.limited = "bloom_limits." in mutant.before
            chosen = mutant.limited if WORD == "limits" else \
                WORD in f"{mutant.name}:{mutant.line}"
            if not chosen or PREFETCH in mutant.before:
                continue
            alike = mutant.name, mutant.diff
            times[alike] = times.get(alike, 0) + 1
            words = f"{SEED} {mutant.name} {times[alike]} {mutant.diff}"
            mutant.rank = hashlib.sha256(words.encode()).hexdigest()[:16]
            found.append(mutant)
    return sorted(found, key=lambda mutant: mutant.rank)


def equivalents():
    """What is known to change nothing: files and diffs, without line numbers."""
    text = (TOP / "tests/mutants/equivalents.txt").read_text(encoding="utf-8")
    found = re.findall(r"^(ext/\S+\n(?:- .*\n)+(?:\+ .*\n)+)", text, re.MULTILINE)
    assert len(found) == text.count("\next/"), "equivalents.txt: no diff below a file"
    return {entry.rstrip() for entry in found}


def run(command, folder, seconds, sanitized=False):
    """Whether it succeeds when each of its processes computes for no longer. Others may compute
    beside it, and it may wait: that takes several times as long."""
    limits = f"ulimit -c 0; ulimit -f {BLOCKS}; ulimit -t {math.ceil(seconds)}; "
    if not sanitized:  # which takes terabytes
        limits += f"ulimit -d {KILOBYTES}; "
    with open(folder / "build/mutant.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(limits + command, shell=True, cwd=folder, stdout=log,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            return process.wait(10 + 5 * seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Suite:
    def __init__(self, name, command):
        # As run.py has them, [TARGET] COMMAND; what is in this tree is in the mutant's.
        named, self.command = re.fullmatch(r"(?:\[(.*?)\] +)?(.*)", command, re.DOTALL).groups()
        self.name, self.command = name, self.command.replace(f"{TOP}/", "./")
        program = re.search(r"\S+/tests/\w+(?= |$)", command)
        self.target = named or (program[0] if program else None)
        self.is_sanitized = program is not None or "LD_PRELOAD" in command
        self.for_limits = "sanitized limits" in name  # they take long
        self.seconds, self.kills = 0, {}
        if re.search(r"_test\.py( \w+)*$", command):
            self.command += " --failfast"

    def order(self, mutant):
        """By the chance that it kills in a second: what was seen, and a guess to begin with."""
        folder, stem = mutant.folder, pathlib.Path(mutant.name).stem
        chance = self.kills.get(folder, 0) + 0.2 + (folder in self.name) + 2 * (stem in self.name)
        chance *= 10 if mutant.limited and "limits" in self.name else 1
        return -chance / (self.seconds + 0.3)

    def fails(self, folder, seconds):
        return not run(self.command, folder, seconds, sanitized=self.is_sanitized)


def suites_of(arguments):
    """The scripts one by one."""
    for argument in arguments:
        name, _, command = argument.partition("=")
        before, scripts, files = command.partition("tests/sql")
        if scripts:
            for path in sorted((TOP / "tests/sql").glob("*.test")):
                if not files or f"/{path.name}" in files:
                    yield Suite(f"{path.name} ({name})", f"{before}tests/sql/{path.name}")
        elif name not in LEFT_OUT:
            yield Suite(name, command)


class Tree:
    """A copy of the project, built, in which one mutant after the other stands."""

    def __init__(self, number):
        self.folder = FOLDER / f"tree{number}"
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                                "--exclude-standard"], cwd=TOP, capture_output=True, text=True,
                               check=True).stdout.split("\0")
        digest = hashlib.sha256()
        for name in filter(None, names):
            contents = (TOP / name).read_bytes() if (TOP / name).is_file() else None
            if not name.startswith("tests/mutants/"):
                digest.update(f"{name} ".encode() + (contents or b""))
            self.put(name, contents)
        self.digest = digest.hexdigest()[:16]
        self.build()
        self.same = self.digests()

    def put(self, name, contents):
        """What stays the same keeps its time, by which make goes."""
        path = self.folder / name
        if contents is None:
            path.unlink(missing_ok=True)
        elif not path.exists() or path.read_bytes() != contents:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)
            shutil.copymode(TOP / name, path)

    def build(self):
        (self.folder / "build").mkdir(exist_ok=True)
        for name in ("venv", "exchange"):  # of make fetch
            link = self.folder / "build" / name
            if (TOP / "build" / name).exists() and not link.exists():
                link.symlink_to(TOP / "build" / name)
        if not self.make(PRODUCTS):
            raise SystemExit(self.last_log())

    def make(self, target):
        return not target or run(f"make -s '{FLAGS}' {target}", self.folder, 600)

    def last_log(self):
        return (self.folder / "build/mutant.log").read_text()[-3000:]

    def digests(self):
        return [hashlib.sha256((self.folder / name).read_bytes()).digest()
                for name in PRODUCTS.split()]

    def judge(self, mutant, suites):
        """broken, same, survived, or the name of the suite that killed it."""
        self.put(mutant.name, mutant.changed.encode())
        try:
            if not self.make(PRODUCTS):
                return "broken"
            if self.digests() == self.same:
                return "same"
            chosen = [suite for suite in suites if mutant.limited or not suite.for_limits]
            for suite in sorted(chosen, key=lambda suite: suite.order(mutant)):
                if not self.make(suite.target):
                    return "broken"
                if suite.fails(self.folder, 3 + 4 * suite.seconds):
                    suite.kills[mutant.folder] = suite.kills.get(mutant.folder, 0) + 1
                    return "killed: " + suite.name
            return "survived"
        finally:
            self.put(mutant.name, mutant.text.encode())


def computed():
    return sum(os.times()[2:4])  # by children


def baseline(tree, suites):
    """What each computes, of a tree that passes them all. Kept as long as the tree stays."""
    kept = FOLDER / f"seconds-{tree.digest}.json"
    seconds = json.loads(kept.read_text()) if kept.exists() else {}
    for suite in suites:
        if suite.name not in seconds:
            tree.make(suite.target)
            before = computed()
            if suite.fails(tree.folder, 600):
                raise SystemExit(f"{suite.name} fails without a mutant:\n{tree.last_log()}")
            seconds[suite.name] = computed() - before
            kept.write_text(json.dumps(seconds))
        suite.seconds = seconds[suite.name]


def main(arguments):
    os.environ.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=0:hard_rss_limit_mb=4000")
    for name in ("MAKEFLAGS", "MFLAGS", "ONLY", "CASE", "N", "SEED", "WORD", "AGAIN"):
        os.environ.pop(name, None)
    FOLDER.mkdir(parents=True, exist_ok=True)
    known = equivalents()
    suites = list(suites_of(arguments))
    drawn = mutants()
    kept = FOLDER / f"found-{SEED}.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    found = {rank: what for rank, what in found.items() if what != "survived" or not AGAIN}

    trees = queue.Queue()
    for number in range(JOBS):
        trees.put(Tree(number))
    tree = trees.get()
    baseline(tree, suites)
    trees.put(tree)

    def judge(mutant):
        if f"{mutant.name}\n{mutant.diff}" in known:
            return mutant, "equivalent"
        if mutant.rank not in found:
            tree = trees.get()
            started = time.monotonic()
            try:
                found[mutant.rank] = tree.judge(mutant, suites)
            finally:
                trees.put(tree)
            kept.write_text(json.dumps(found))
            print(f"{time.monotonic() - started:5.1f} s  {found[mutant.rank]:30} {mutant.name}",
                  flush=True)
        return mutant, found[mutant.rank]

    judged = []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        upcoming = iter(drawn)
        while len(judged) < COUNT:
            batch = list(itertools.islice(upcoming, min(COUNT - len(judged), 4 * JOBS)))
            if not batch:
                break
            judged += [(mutant, what) for mutant, what in pool.map(judge, batch)
                       if what not in ("broken", "same")]
    survivors = [mutant for mutant, what in judged if what == "survived"]
    for mutant in survivors:
        print(f"\n{mutant.name}:{mutant.line}\n{mutant.diff}")
    killed = sum(what.startswith("killed") for _, what in judged)
    print(f"figures: of {len(judged)} mutants (seed {SEED}) {killed} killed, {len(survivors)} "
          f"survived, {len(judged) - killed - len(survivors)} equivalent: "
          f"{100 * killed / max(1, killed + len(survivors)):.1f} %")
    print(f"{killed} passed, {len(survivors)} failed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
