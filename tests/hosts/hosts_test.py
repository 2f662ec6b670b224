#!/usr/bin/env python3
"""Loads the built packages in languages that are installed here. Java, Go, Rust and Ruby are not
among them: tests/packages loads their packages.

Each host is one of the short scripts in load/, which a user can copy. A script makes a filter of
'a', 'b' and 42, and prints its MD5 digest as the host sees the BLOB. It binds the filter again to
check 'a', 'c' and the integer 42, bound as that host does, and shows the message of an error.
Those called ORM are the programs of ext/packages/ORMS.md, each in an empty folder; they print what
their comments say.

What is not installed is skipped and says so. Drivers of PyPI and npm come from
tests/packages/fetch.sh. Our packages are installed each time.
"""

import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tests/packages"))
from common import (BUILD, DRIVERS, Python, comments, examples, loaded, missing,  # noqa: E402
                    npm_install, run)

SCRIPTS = HERE / "load"
# That of the packages, or where they cannot be built (packages.py says why) the one of make.
PACKAGED = BUILD / "binaries/linux-x86_64/bloom.so"
LIBRARY = PACKAGED if PACKAGED.exists() else TOP / "bloom.so"
BUN, DENO = (str(DRIVERS / "node_modules/.bin" / name) for name in ("bun", "deno"))
MESSAGE = "bloom_check: argument 1 is NULL. Check that the row with the filter exists"


def need(*tools):
    if missing(*tools):
        raise unittest.SkipTest(missing(*tools).removeprefix("skipped: "))


def need_package(target, folder):
    if not (BUILD / folder / "built").exists():
        raise unittest.SkipTest(f"make {target} did not build it")


def shell():
    need("sqlite3")
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(LIBRARY, name)
        printed = run("sh", "-c", f"sqlite3 -batch -init /dev/null :memory: <{SCRIPTS}/shell.sql"
                      " 2>&1 || true; md5sum filter.bloom", cwd=name)
    digest = printed.splitlines()[-1].split()[0]
    return f"md5 {digest}\n" + printed.replace("Runtime error", "error")


@functools.cache
def environment():
    """One for all hosts in Python, with our wheel as pip chooses it."""
    need_package("wheel", "python")
    return Python("--no-index", with_drivers=True)


def python(*arguments, **variables):
    return lambda: environment().run(SCRIPTS / "python.py", *arguments, env=variables)


def command_line(script):
    """A program of Python's that a shell script calls; it finds our package by itself."""
    def load():
        folder = environment().folder
        return run("sh", SCRIPTS / script, "host.db", cwd=folder,
                   env={"PATH": f"{folder}/bin:{os.environ['PATH']}"})

    return load


def of_page(heading, language):
    """The program of a section of ORMS.md, beside the extension and filters.sql."""
    page = (TOP / "ext/packages/ORMS.md").read_text(encoding="utf-8")
    (program,) = examples(re.search(rf"^## {heading}\n(.*?)^## ", page, re.M | re.S)[1], language)
    (filters,) = examples(page, "sql")

    def load():
        with tempfile.TemporaryDirectory(dir=DRIVERS) as name:
            folder = pathlib.Path(name)
            (folder / "filters.sql").write_text(filters, encoding="utf-8")
            shutil.copy(LIBRARY, folder)
            printed = {"js": javascript_of_page, "python": python_of_page,
                       "rust": rust_of_page}[language](program, folder, page)
        wanted = comments(program)
        assert wanted and printed.splitlines() == wanted, printed

    return load


def javascript_of_page(program, folder, _):
    need("npm", "node")
    need_package("npm", "npm")
    npm_install(folder)
    (folder / "program.mjs").write_text(program, encoding="utf-8")
    return run("node", "program.mjs", cwd=folder)


def python_of_page(program, folder, _):
    (folder / "program.py").write_text(program, encoding="utf-8")
    return run(environment().folder / "bin/python", "-W", "error", "program.py", cwd=folder)


def rust_of_page(program, folder, page):
    """What cargo compiles stays, because SQLite is in it."""
    need("cargo", "cc")
    (dependencies,) = examples(page, "sh")
    target = {"CARGO_TARGET_DIR": str(DRIVERS / "cargo"), "CARGO_PROFILE_DEV_DEBUG": "0"}
    run("sh", "-ec", f"cargo init -q --name page .\n{dependencies}", cwd=folder, env=target)
    (folder / "src/main.rs").write_text(program, encoding="utf-8")
    return run("cargo", "run", "-q", cwd=folder, env=target)


def interpreter(*command, probe):
    """A language with its binding to SQLite; probe: a command that fails when the binding is not
    installed.
    """

    def load():
        need(command[0])
        probed = subprocess.run(probe, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if probed.returncode != 0:
            raise unittest.SkipTest(
                f"{command[0]} is there, its binding to SQLite is not: {' '.join(probe)}")
        return run(*command[:-1], SCRIPTS / command[-1], LIBRARY)

    return load


def javascript(script, *command, driver=""):
    """A JavaScript host, with a driver that the script gets, in a folder of drivers."""

    def load():
        need("npm", "node")
        need_package("npm", "npm")
        with tempfile.TemporaryDirectory(dir=DRIVERS) as name:
            folder = pathlib.Path(name)
            npm_install(folder)
            shutil.copy(SCRIPTS / script, folder)
            return run(*command, script, driver, cwd=folder,
                       env={"NO_COLOR": "1", "DENO_DIR": str(folder / "cache")})

    return load


HOSTS = {
    "sqlite3 shell": shell,
    "Python: sqlite3": python("sqlite3"),
    "Python: apsw": python("apsw"),
    "Python: pysqlite3": python("pysqlite3.dbapi2"),
    "Python: SQLCipher": python("sqlcipher3.dbapi2"),
    "Python: apsw-sqlite3mc": python("apsw", "encrypted.db", "secret",
                                     PYTHONPATH=str(DRIVERS / "multiple_ciphers")),
    "sqlite-utils": command_line("sqlite_utils.sh"),
    "Datasette": command_line("datasette.sh"),
    "PHP: SQLite3": interpreter(
        "php", "-d", f"sqlite3.extension_dir={LIBRARY.parent}", "php.php",
        probe=["php", "-r", "exit(class_exists('SQLite3') ? 0 : 1);"]),
    "Perl: DBD::SQLite": interpreter("perl", "perl.pl", probe=["perl", "-e", "use DBD::SQLite"]),
    "Tcl: sqlite3": interpreter(
        "tclsh", "tcl.tcl",
        probe=["sh", "-c", "echo 'exit [catch {package require sqlite3}]' | tclsh"]),
    "R: RSQLite": interpreter("Rscript", "r.R", probe=["Rscript", "-e", "library(RSQLite)"]),
    "Node.js: better-sqlite3": javascript("synchronous.mjs", "node", driver="better-sqlite3"),
    "Node.js: node:sqlite": javascript(
        "synchronous.mjs", DRIVERS / "node24/node_modules/node/bin/node", driver="node:sqlite"),
    "Node.js 26: node:sqlite": javascript(
        "synchronous.mjs", DRIVERS / "node26/node_modules/node/bin/node", driver="node:sqlite"),
    "Node.js: sqlite3": javascript("node-sqlite3.mjs", "node"),
    "Node.js: libsql": javascript("synchronous.mjs", "node", driver="libsql"),
    "bun: bun:sqlite": javascript("synchronous.mjs", BUN, driver="bun:sqlite"),
    "deno: node:sqlite": javascript(
        "synchronous.mjs", DENO, "run", "--quiet", "--allow-ffi", "--allow-read", "--allow-env",
        "--allow-sys", driver="node:sqlite"),
    **{f"ORM: {heading}": of_page(heading, language) for heading, language in (
        ("Drizzle", "js"), ("Knex", "js"), ("Kysely", "js"), ("TypeORM", "js"),
        ("SQLAlchemy", "python"), ("Alembic", "python"), ("Django", "python"),
        ("peewee", "python"), ("sqlx", "rust"))}}


class Hosts(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        if environment.cache_info().currsize:
            environment().remove()

    def judge(self, name):
        """Fails unless a script prints what it must."""
        output = HOSTS[name]()
        if name.startswith("ORM"):
            return  # it has been judged by its comments
        (filter_,) = loaded(TOP / "bloom.so").execute(
            "SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))").fetchone()
        said = [line.strip() for line in output.splitlines()
                if line.startswith(("md5 ", "found ", "error"))]
        self.assertEqual(said[:2], [f"md5 {hashlib.md5(filter_).hexdigest()}", "found 101"], output)
        self.assertRegex(said[2], f"^error.*{MESSAGE}")


for each in HOSTS:
    setattr(Hosts, "test_" + re.sub(r"\W+", "_", each),
            lambda self, name=each: self.judge(name))

if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
