#!/usr/bin/env python3
"""Loads the built packages in every language that is installed here, and prints a table.

    hosts.py [NAME...]      only the hosts whose names hold one of the words

Each host is one of the short scripts in load/, which a user can copy. A script makes the filter of
key-1 to key-1000 and prints its MD5 digest as the host sees the BLOB, binds it again to count how
many of its keys and of 1000 others it finds, binds the integer 42 as that host does, and shows the
message of an error. What is not installed is skipped and says so. Packages of PyPI, npm, crates.io
and the Go proxy are fetched by their own clients into build/packages/hosts, once; ours is installed
by them each time.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tests/packages"))
from common import BUILD, FILTER_MD5, FINGERPRINT_ANSWER, has_module, missing, run  # noqa: E402
from registry import registry  # noqa: E402

SCRIPTS = HERE / "load"
FOLDER = BUILD / "hosts"
# That of the packages, or where they cannot be built (packages.py says why) the one of make.
PACKAGED = BUILD / "binaries/linux-x86_64/bloom.so"
LIBRARY = PACKAGED if PACKAGED.exists() else TOP / "bloom.so"
BUN, DENO = "../node_modules/.bin/bun", "../node_modules/.bin/deno"
JAR = "/usr/share/java/sqlite-jdbc.jar"
WANTED = {"md5": FILTER_MD5, "found": "{1} {2}".format(*FINGERPRINT_ANSWER), "integer": "1"}
MESSAGE = "bloom_check: argument 1 is NULL. Check that the row with the filter exists"


class Skip(Exception):
    """Something that the host needs is not here."""


def need(*tools):
    if missing(*tools):
        raise Skip(missing(*tools).removeprefix("skipped: "))


def need_package(target, folder):
    if not (BUILD / folder / "built").exists():
        raise Skip(f"make {target} did not build it")


def fresh(name):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def shell():
    need("sqlite3")
    folder = fresh("shell")
    shutil.copy(LIBRARY, folder)
    with open(SCRIPTS / "shell.sql", encoding="utf-8") as script:
        ran = subprocess.run(
            ["sqlite3", "-batch", "-init", "/dev/null", ":memory:"],
            stdin=script, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False)
    digest = hashlib.md5((folder / "filter.bloom").read_bytes()).hexdigest()
    return f"md5 {digest}\n" + ran.stdout.replace("Runtime error", "error")


def environment(name, *packages):
    """A virtual environment with our wheel, as pip chooses it, and with packages of PyPI."""
    need_package("wheel", "python")
    folder = fresh(name)
    if not (folder / "bin/python").exists():
        run(
            "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable,
            "-m", "venv", folder)
    pip = [folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    run(*pip, "--no-index", "--find-links", BUILD / "python", "--force-reinstall", "sqlite-bloom")
    if packages:
        run(*pip, *packages)
    return folder


def python(module, *packages, script="python", file=None):
    """A driver of Python; file: one that it encrypts."""

    def load():
        folder = environment(f"python_{packages[0] if packages else module}", *packages)
        if file is not None:
            (folder / file).unlink(missing_ok=True)
        encrypted = [] if file is None else [file, "secret"]
        return run(folder / "bin/python", SCRIPTS / f"{script}.py", module, *encrypted, cwd=folder)

    return load


def command_line(script, *packages):
    """A program of Python's that a shell script calls; it finds our package by itself."""

    def load():
        folder = environment(script, *packages)
        (folder / "host.db").unlink(missing_ok=True)
        path = f"{folder}/bin:{os.environ['PATH']}"
        return run("sh", SCRIPTS / f"{script}.sh", "host.db", cwd=folder, env={"PATH": path})

    return load


def debian_python():
    if not has_module("sqlite3"):
        raise Skip("sqlite3 of Python not installed")
    return python("sqlite3")()


def interpreter(tool, script, *options, probe=None):
    """A language with its binding to SQLite; probe: a command that fails when the binding is not
    installed.
    """

    def load():
        need(tool)
        if (
            probe
            and subprocess.run(
                probe, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
            != 0
        ):
            raise Skip(f"{tool} is there, its binding to SQLite is not: {' '.join(probe)}")
        return run(tool, *options, SCRIPTS / script, LIBRARY)

    return load


def java():
    need("java", JAR)
    return run(
        "java",
        "-Djava.library.path=/usr/lib/x86_64-linux-gnu/jni",
        "-Dorg.sqlite.lib.path=/usr/lib/x86_64-linux-gnu/jni",
        "-cp", JAR, SCRIPTS / "Xerial.java", LIBRARY)


def go():
    need("go", "gcc")
    folder = fresh("go")
    shutil.copy(SCRIPTS / "mattn.go", folder)
    if not (folder / "go.mod").exists():
        run("go", "mod", "init", "example.com/host", cwd=folder)
        run("go", "get", "github.com/mattn/go-sqlite3@v1.14.22", cwd=folder)
    return run("go", "run", "mattn.go", LIBRARY, cwd=folder)


def rust():
    need("cargo")
    folder = fresh("rust")
    (folder / "src").mkdir(exist_ok=True)
    shutil.copy(SCRIPTS / "rusqlite.rs", folder / "src/main.rs")
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "host"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
        'rusqlite = { version = "0.41", features = ["bundled", "load_extension"] }\nmd5 = "0.8"\n')
    return run("cargo", "run", "--quiet", "--", LIBRARY, cwd=folder)


def javascript(script, packages, *command, module="", add=("npm", "install")):
    """A JavaScript host, with a module that the script is told: packages of npm once into a folder,
    and in an empty folder below it ours by the host's own client (add).
    """

    def load():
        need("npm", "node")
        need_package("npm", "npm")
        folder = fresh(re.sub(r"\W", "-", f"{script} {packages[0]}"))
        options = ["--silent", "--no-audit", "--no-fund"]
        if not all((folder / "node_modules" / name.split("@")[0]).exists() for name in packages):
            (folder / "package.json").write_text("{}")
            run("npm", "install", *options, "--prefer-offline", *packages, cwd=folder)
        user = folder / "user"
        shutil.rmtree(user, ignore_errors=True)
        user.mkdir()
        (user / "package.json").write_text("{}")
        environment = {
            "NO_COLOR": "1",
            "BUN_INSTALL_CACHE_DIR": str(user / "cache"),
            "DENO_DIR": str(user / "cache"),
            "npm_config_cache": str(user / "cache")}
        with registry(BUILD / "npm") as address:
            run(
                *add,
                *(options if add[0] == "npm" else []),
                "npm:sqlite-bloom" if "deno" in add[0] else "sqlite-bloom",
                cwd=user,
                env={**environment, "NPM_CONFIG_REGISTRY": address, "npm_config_registry": address})
        shutil.copy(SCRIPTS / script, user)
        return run(*command, script, module, cwd=user, env=environment)

    return load


HOSTS = [
    ("sqlite3 shell", shell),
    ("Python: sqlite3", debian_python),
    ("Python: apsw", python("apsw", "apsw")),
    ("Python: pysqlite3", python("pysqlite3.dbapi2", "pysqlite3-binary")),
    ("Python: SQLAlchemy", python("sqlalchemy", "sqlalchemy", script="python_sqlalchemy")),
    ("Python: SQLCipher", python("sqlcipher3.dbapi2", "sqlcipher3-wheels")),
    ("Python: apsw-sqlite3mc", python("apsw", "apsw-sqlite3mc", file="encrypted.db")),
    ("sqlite-utils", command_line("sqlite_utils", "sqlite-utils")),
    ("Datasette", command_line("datasette", "datasette")),
    (
        "PHP: SQLite3",
        interpreter(
            "php", "php.php", "-d",
            f"sqlite3.extension_dir={LIBRARY.parent}",
            probe=["php", "-r", "exit(class_exists('SQLite3') ? 0 : 1);"])),
    ("Ruby: sqlite3", interpreter("ruby", "ruby.rb", probe=["ruby", "-e", "require 'sqlite3'"])),
    ("Perl: DBD::SQLite", interpreter("perl", "perl.pl", probe=["perl", "-e", "use DBD::SQLite"])),
    (
        "Tcl: sqlite3",
        interpreter(
            "tclsh", "tcl.tcl",
            probe=["sh", "-c", "echo 'puts [package require sqlite3]' | tclsh | grep ."])),
    ("R: RSQLite", interpreter("Rscript", "r.R", probe=["Rscript", "-e", "library(RSQLite)"])),
    ("Java: xerial", java),
    ("Go: mattn/go-sqlite3", go),
    ("Rust: rusqlite", rust),
    ("Node.js: better-sqlite3", javascript("synchronous.mjs", ["better-sqlite3@12"], "node",
                                           module="better-sqlite3")),
    ("Node.js: node:sqlite", javascript("synchronous.mjs", ["node@24"],
                                        "../node_modules/node/bin/node", module="node:sqlite")),
    ("Node.js: sqlite3", javascript("node-sqlite3.mjs", ["sqlite3@6"], "node")),
    ("Node.js: libsql", javascript("synchronous.mjs", ["libsql"], "node", module="libsql")),
    ("bun: bun:sqlite", javascript("synchronous.mjs", ["bun"], BUN, module="bun:sqlite",
                                   add=(BUN, "add"))),
    ("deno: node:sqlite", javascript(
        "synchronous.mjs", ["deno"], DENO, "run", "--quiet", "--allow-ffi", "--allow-read",
        "--allow-env", "--allow-sys", module="node:sqlite", add=(DENO, "add")))]


def judge(output):
    """What is wrong with the output of a script; empty when nothing is."""
    said = dict(
        line.strip().split(" ", 1) for line in output.splitlines() if line.startswith(tuple(WANTED))
    )
    wrong = [
        f"{name} is {said.get(name, 'not printed')}, expected {value}"
        for name, value in WANTED.items()
        if said.get(name) != value]
    errors = [line for line in output.splitlines() if line.startswith("error")]
    if not errors or MESSAGE not in errors[0]:
        wrong.append(f"the message is {errors or 'not printed'}")
    return "; ".join(wrong)


def examine(host):
    name, load = host
    started = time.monotonic()
    try:
        problem = judge(load())
        outcome = "FAIL" if problem else "ok"
    except Skip as reason:
        outcome, problem = "skip", str(reason)
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        outcome, problem = "FAIL", str(error)
    return name, outcome, problem, time.monotonic() - started


def main(words):
    if not LIBRARY.exists():
        sys.exit("hosts.py: there is no library; run make hosts")
    chosen = [host for host in HOSTS if not words or any(word in host[0] for word in words)]
    with concurrent.futures.ThreadPoolExecutor(
        int(os.environ.get("JOBS") or os.cpu_count() or 1)
    ) as pool:
        results = list(pool.map(examine, chosen))
    print(f"{'host':26} {'bytes':7} {'counts':7} {'integer':8} {'error':6} {'seconds':>7}")
    for name, outcome, problem, seconds in results:
        cells = ["same", "exact", "found", "text"] if outcome == "ok" else [outcome, "", "", ""]
        print(
            f"{name:26} {cells[0]:7} {cells[1]:7} {cells[2]:8} {cells[3]:6} {seconds:7.1f}"
            + (f"  {problem}" if problem else ""))
    counts = [
        sum(outcome == kind for _, outcome, _, _ in results) for kind in ("ok", "FAIL", "skip")]
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if counts[1] or not counts[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
