"""SQLite on other machines: the scripts of tests/sql, and fingerprint.py, run in a program that was
compiled for another processor, C library or system, or with other options of SQLite, and that an
emulator may run. The folder remote has that program, and the module that puts it in the place of
apsw.
"""

import fcntl
import functools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tests/packages"))
from common import WORK, run, sqlite_source  # noqa: E402

SCRIPTS = TOP / "tests/sql"
RUNNER = TOP / "tests/runner/sqllogictest.py"
EXTENSION = [TOP / "ext/sqlite-bloom.c"]  # includes all others


def compiled(name, *command):
    """What a command compiles, of the sources in it, by the first suite that asks for it."""
    path = WORK / "machines" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    sources = [word for word in command if isinstance(word, pathlib.Path)]
    if EXTENSION[0] in sources:
        sources += (TOP / "ext").rglob("*.[ch]")
    newest = max(source.stat().st_mtime for source in sources)
    with open(f"{path}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists() or path.stat().st_mtime < newest:
            run(*command, "-o", path, timeout=1800)  # much to compile on a machine that is busy
    return path


def engine(name, compiler, *flags):
    """SQLite itself as an object."""
    return compiled(f"sqlite3-{name}.o", *compiler, *flags, "-g0", "-w", "-c",
                    sqlite_source.folder() / "sqlite3.c")


def remote(name, compiler, *engine_and_libraries, linked=False):
    """The program for a machine. linked: with the extension in it, for what loads no libraries."""
    extension = ["-std=c11", "-DSQLITE_CORE", "-I", TOP / "ext", *EXTENSION] if linked else []
    return compiled(f"remote-{name}.exe", *compiler, "-I", sqlite_source.folder(), *extension,
                    HERE / "remote/remote.c", *engine_and_libraries)


def run_in(program, *arguments):
    """A program of Python with that SQLite, or with this process's."""
    environment = {"PYTHONPATH": str(HERE / "remote"), "REMOTE": program} if program else {}
    return run(sys.executable, *arguments, env=environment,
               timeout=3600)  # an emulator on a machine that is busy


def scripts(library, program=None, left_out=(), only=None):
    """Runs scripts of tests/sql; gives the last line."""
    paths = {path.stem: path for path in sorted(SCRIPTS.glob("*.test"))}
    if unknown := {*left_out, *(only or ())} - set(paths):
        raise AssertionError(f"there is no script {', '.join(sorted(unknown))}")
    chosen = [paths[name] for name in only or paths if name not in left_out]
    return run_in(program, RUNNER, "--load", library, *chosen).splitlines()[-1]


@functools.cache
def fingerprint(library, program):
    return run_in(program, HERE / "fingerprint.py", library).splitlines()


def assert_same_fingerprint(test, library, program):
    """That a machine makes the bytes that this one makes."""
    here, there = fingerprint(TOP / "bloom.so", None), fingerprint(library, program)
    test.assertGreater(len(here), 3000)
    for ours, theirs in zip(here, there):  # of two long lists a difference takes long
        test.assertEqual(theirs, ours)
    test.assertEqual(len(there), len(here))
