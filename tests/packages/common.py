"""What the tests of packages and hosts share: where things are, what a loaded extension must
answer, commands that must succeed, and environments as users have them.
"""

import atexit
import contextlib
import functools
import http.server
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = TOP / "build" / "packages"
WORK = BUILD / "scratch"
DRIVERS = TOP / "build" / "drivers"  # see fetch.sh
CHROMIUM = "/usr/bin/chromium"
sys.path.insert(0, str(TOP / "ext/packages"))
import platforms  # noqa: E402,F401
import release  # noqa: E402
import sqlite_source  # noqa: E402,F401

TOOLS = BUILD / "tools/bin/python"
RELEASE = release.RELEASE
# For programs of seconds, in which the JVM shall not spend more than that on making them faster.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# The filter of key-1 to key-1000, made for 1000 keys at 1 %: every build, host and machine must
# make these bytes.
KEYS = (
    "(WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT '{}-'"
    " || i AS k FROM c)"
)
FILTER = f"SELECT bloom_agg(k, 1000, 0.01) FROM {KEYS.format('key')}"
FILTER_MD5 = "6d00a095962eef091a8d7210a1b976de"
# Its length; how many of its keys and of 1000 others are found.
FINGERPRINT = (
    f"SELECT length(f), (SELECT sum(bloom_check(f, k)) FROM {KEYS.format('key')}), (SELECT"
    f" sum(bloom_check(f, k)) FROM {KEYS.format('absent')}) FROM"
    f" ({FILTER.replace('bloom_agg(k, 1000, 0.01)', 'bloom_agg(k, 1000, 0.01) AS f')})"
)
FINGERPRINT_ANSWER = (1344, 1000, 9)
FINGERPRINT_WORDS = " ".join(map(str, FINGERPRINT_ANSWER))
# A program in C, and in C++, that has the extension linked in and prints the answer.
PROGRAM = f"""
#include <sqlite-bloom.h>
#include <stdio.h>
int main(void) {{
    sqlite3 *database;
    sqlite3_stmt *row;
    sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init);
    if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
        sqlite3_prepare_v2(database, "{FINGERPRINT}", -1, &row, NULL) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_ROW)
        return 1;
    printf("%d %d %d\\n", sqlite3_column_int(row, 0), sqlite3_column_int(row, 1),
           sqlite3_column_int(row, 2));
    sqlite3_finalize(row);
    return sqlite3_close(database);
}}
"""
# A program of the filters without SQL, which needs no SQLite; and FINGERPRINT in Python.
FILTER_PROGRAM = """#include <sqlite-bloom-filter.h>
int main(void) {
    return *sqlite_bloom_filter_version() == 0;
}
"""
PYTHON_PROGRAM = f"""
import sqlite3, sqlite_bloom
connection = sqlite3.connect(":memory:")
sqlite_bloom.load(connection)
print(*connection.execute({FINGERPRINT!r}).fetchone())
"""


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
        raise AssertionError(f"{' '.join(map(str, command))} ended with {result.returncode}:\n"
                             f"{result.stdout[-6000:]}")
    return result.stdout


def missing(*tools):
    """Which of these commands are not installed, in words for a skip; empty when all are there."""
    absent = [str(tool) for tool in tools
              if shutil.which(tool) is None and not pathlib.Path(tool).exists()]
    return f"skipped: {', '.join(absent)} not installed" if absent else ""


def needs(*tools):
    """A test, or a class of tests, that is skipped where one of these commands is missing."""
    return unittest.skipIf(missing(*tools), missing(*tools))


def quick_compilers(folder):
    """Fills a folder to be in front of PATH where something only has to compile: no compiler in it
    optimises. They stay the same files, by which Go knows what it has compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cc", "gcc", "x86_64-linux-gnu-gcc", "clang"):
        if not (folder / name).exists() and (compiler := shutil.which(name)):
            made = folder / f"{name}.{os.getpid()}"
            made.write_text(f'#!/bin/sh\nexec {compiler} "$@" -O0\n')
            made.chmod(0o755)
            made.replace(folder / name)


def sanitized_module(path, headers, *sources):
    """Compiles a module of Python or Node.js with sanitizers, and the filter library in it. Returns
    the environment of programs that load it."""
    run("gcc", "-std=c11", "-O1", "-g", "-w", "-shared", "-fPIC", "-fvisibility=hidden",
        "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I", BUILD / "amalgamation",
        "-isystem", headers, *sources, BUILD / "amalgamation/sqlite-bloom-filter.c", "-lm",
        "-o", path)
    libraries = (run("gcc", f"-print-file-name=lib{name}.so").strip() for name in ("asan", "ubsan"))
    return {"LD_PRELOAD": " ".join(libraries),
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}


def examples(text, kind):
    """The blocks of a page in a language."""
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def comments(program):
    """What a program of a page prints, a line each, by the comments beside its prints."""
    said = re.findall(r"(?:[Pp]rint|log|puts)\w*!?[( ].*\S +(?:#|//) (.*?)(?:: .*)?$", program,
                      re.MULTILINE)
    return [line for words in said
            for line in ([words] if "[" in words else words.split(", "))]


def loaded(library=TOP / "bloom.so", database=":memory:"):
    """A connection of this process that has a library."""
    connection = sqlite3.connect(database)
    connection.enable_load_extension(True)
    connection.load_extension(str(library))
    return connection


# A copy of this system that is gone afterwards: its files lie under an overlay in a mount namespace
# of its own, in "$1/root". $1 is an empty folder.
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-ec"]
OVERLAY = """
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
for folder in dev proc; do mount --rbind "/$folder" "$folder"; done
"""


def can_mount(folder):
    return subprocess.run([*NAMESPACE, OVERLAY, "sh", folder], capture_output=True,
                          check=False).returncode == 0


def free_ports(count):
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                   for _ in range(count)]
        return [server.getsockname()[1] for server in servers]


@contextlib.contextmanager
def chromium():
    """Debian's browser, by Playwright."""
    sys.path.extend(str(path) for path in DRIVERS.glob("lib/python3*/site-packages")
                    if str(path) not in sys.path)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[
            "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        yield browser
        browser.close()


@contextlib.contextmanager
def served(folder):
    """The address of a server of a folder on this machine."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@functools.cache
def npm_installed(tarballs):
    """A folder with our package from its two tarballs, or one, as its README says."""
    folder = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    readme = (TOP / "ext/packages/npm/README.md").read_text()
    names = re.search(r"^npm install (\./.*)$", readme, re.MULTILINE)[1].split()
    (folder / "package.json").write_text("{}")
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--offline",
        *(BUILD / "npm" / name for name in names[:tarballs]), cwd=folder)
    return folder


def npm_install(folder, tarballs=2):
    """npm has installed it once."""
    shutil.copytree(npm_installed(tarballs), folder, symlinks=True, dirs_exist_ok=True)


class Scratch(unittest.TestCase):
    """Tests that have an empty folder each."""

    def setUp(self):
        self.folder = self.new_folder()

    def new_folder(self, below=None):
        folder = pathlib.Path(tempfile.mkdtemp(dir=below))
        self.addCleanup(shutil.rmtree, folder)
        return folder


class Python:
    """A virtual environment with our package; with_drivers: and all modules of build/drivers."""

    def __init__(self, *options, with_drivers=False, **variables):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        run(sys.executable, "-m", "venv", self.folder)
        self.run("-m", "pip", "-q", "--disable-pip-version-check", "install", "--find-links",
                 BUILD / "python", *options, "sqlite-bloom", env=variables)
        if with_drivers:
            (site,) = self.folder.glob("lib/*/site-packages")
            (drivers,) = DRIVERS.glob("lib/*/site-packages")
            (site / "drivers.pth").write_text(f"{drivers}\n")

    def run(self, *arguments, **options):
        return run(self.folder / "bin/python", *arguments, cwd=self.folder, **options)

    def remove(self):
        shutil.rmtree(self.folder)
