"""What the tests of packages share: where things are, the reference answers, and commands that must
succeed.
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = TOP / "build" / "packages"
WORK = BUILD / "work"
sys.path.insert(0, str(TOP / "ext/packages"))
import platforms  # noqa: E402,F401
import release  # noqa: E402
import sqlite_source  # noqa: E402,F401

TOOLS = BUILD / "tools/bin/python"
RELEASE = release.RELEASE

# The filter of key-1 to key-1000, made for 1000 keys at 1 %: every build, host and machine must
# make these bytes.
KEYS = (
    "(WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT '{}-'"
    " || i AS k FROM c)"
)
FILTER = f"SELECT bloom_agg(k, 1000, 0.01) FROM {KEYS.format('key')}"
FILTER_BYTES = 1344
FILTER_MD5 = "6d00a095962eef091a8d7210a1b976de"
# Length; how many of its keys and of 1000 others are found.
FINGERPRINT = (
    f"SELECT length(f), (SELECT sum(bloom_check(f, k)) FROM {KEYS.format('key')}), (SELECT"
    f" sum(bloom_check(f, k)) FROM {KEYS.format('absent')}) FROM"
    f" ({FILTER.replace('bloom_agg(k, 1000, 0.01)', 'bloom_agg(k, 1000, 0.01) AS f')})"
)
FINGERPRINT_ANSWER = (FILTER_BYTES, 1000, 9)


def run(*command, **options):
    """Runs a command and gives what it printed; a failure shows all of it."""
    result = subprocess.run(
        [str(word) for word in command],
        cwd=options.pop("cwd", TOP),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=options.pop("timeout", 600),
        env={**os.environ, **options.pop("env", {})},
        **options,
    )
    if result.returncode != 0:
        raise AssertionError(
            f"{' '.join(map(str, command))} ended with"
            f" {result.returncode}:\n{result.stdout[-6000:]}"
        )
    return result.stdout


def missing(*tools):
    """Which of these commands are not installed, in words for a skip; empty when all are there."""
    absent = [
        str(tool)
        for tool in tools
        if shutil.which(tool) is None and not pathlib.Path(tool).exists()
    ]
    return f"skipped: {', '.join(absent)} not installed" if absent else ""


def has_module(name):
    return importlib.util.find_spec(name) is not None


def scripts(library, program=None, left_out=()):
    """Runs the scripts of tests/sql but those named with a library, in this process's SQLite or in
    the one of a program; gives the last line.
    """
    paths = {path.stem: path for path in sorted((TOP / "tests/sql").glob("*.test"))}
    if unknown := set(left_out) - set(paths):
        raise AssertionError(f"there is no script {', '.join(sorted(unknown))} to leave out")
    environment = {}
    if program:
        environment = {"PYTHONPATH": str(TOP / "tests/packages/remote"), "REMOTE": program}
    output = run(
        sys.executable,
        TOP / "tests/runner/sqllogictest.py",
        *(["--load", library] if library else []),
        *(path for name, path in paths.items() if name not in left_out),
        env=environment,
        timeout=3600,  # an emulator on a machine that is busy
    )
    return output.splitlines()[-1]
