#!/usr/bin/env python3
"""The WebAssembly module: under Node.js, its README and its types, in Chromium after each bundler,
and in workerd. page_test.py uses the page.
"""

import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.request
import zipfile

from common import (BUILD, CHROMIUM, DRIVERS, FILTER, FILTER_MD5, FINGERPRINT, FINGERPRINT_ANSWER,
                    FINGERPRINT_WORDS, PROGRAM, RELEASE, TOP, Scratch, chromium, comments, examples,
                    free_ports, loaded, needs, run, sqlite_source)

WEB = BUILD / "web"
MODULE = WEB / "module"
README = (MODULE / "README.md").read_text()


@needs("node")
class Module(Scratch):
    def test_under_node(self):
        theirs, ours = (self.folder / name for name in ("theirs.db", "ours.db"))
        connection = loaded(database=theirs)
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE VIRTUAL TABLE seen USING bloom(capacity=1000)")
        connection.execute("INSERT INTO seen(key) VALUES ('a')")
        connection.commit()
        connection.close()
        run("node", TOP / "tests/packages/web_module.mjs", MODULE / "sqlite-bloom-node.mjs",
            theirs, ours, env={"FINGERPRINT": FINGERPRINT, "FINGERPRINT_WORDS": FINGERPRINT_WORDS,
                               "FILTER": FILTER, "FILTER_MD5": FILTER_MD5, "RELEASE": RELEASE})
        connection = loaded(database=ours)
        for sql, answer in (("PRAGMA integrity_check", "ok"),
                            ("SELECT count(*) FROM seen WHERE key = 'b'", 1),
                            ("SELECT sum(value) FROM more", 50005000)):
            self.assertEqual(connection.execute(sql).fetchone(), (answer,))

    def test_every_example_of_the_readme_prints_what_it_says(self):
        programs = examples(README, "js")
        self.assertEqual(len(programs), 3)
        shutil.copytree(MODULE, self.folder, dirs_exist_ok=True)
        for program in programs[:2]:  # Bundlers runs the third
            (self.folder / "example.mjs").write_text(program)
            self.assertEqual(run("node", "example.mjs", cwd=self.folder).splitlines(),
                             comments(program))

    def test_types(self):
        folder = self.new_folder(below=DRIVERS)
        shutil.copytree(MODULE, folder / "node_modules/sqlite-bloom-wasm")
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "use.ts").write_text(
            'import { open, SqliteError, type Value } from "sqlite-bloom-wasm";\n'
            'import { openInWorker } from "sqlite-bloom-wasm/client";\n'
            "const database = await open({ bytes: new Uint8Array(0) });\n"
            'const row: Value[] | undefined = database.prepare("SELECT ?").get([1n]);\n'
            'const rows: Value[][] = database.prepare("SELECT :a").all({ a: null });\n'
            "const bytes: Uint8Array = database.save();\n"
            "const remote = await openInWorker({ bytes });\n"
            'const [one] = await remote.run("SELECT 1", [], { onProgress: (p) => p.inserted });\n'
            "const names: string[] = one.columns;\n"
            'database.run("SELECT 1", [], { maximumRows: one.count, onResult() {} });\n'
            'await openInWorker({ worker: new Worker("x.mjs"), wasm: new URL("https://x/") });\n'
            'const cut = database.run("SELECT 1", [], { longestValue: 9 })[0].rows[0][0];\n'
            'if (typeof cut === "object" && cut && "start" in cut) cut.bytes.toFixed();\n'
            "// @ts-expect-error\ndatabase.prepare(1);\n"
            '// @ts-expect-error\ndatabase.run("SELECT ?", [undefined]);\n'
            'console.log(row, rows, names, new SqliteError("x"));\n'
        )
        run(DRIVERS / "node_modules/.bin/tsc", "--strict", "--noEmit", "--module", "nodenext",
            "--target", "es2022", "--lib", "es2022,dom", "use.ts", cwd=folder)


# It answers in the page and in a module worker.
APP = f"""
import {{ open }} from "sqlite-bloom-wasm";
import {{ openInWorker }} from "sqlite-bloom-wasm/client";
const answers = async () =>
  [await open(), await openInWorker()].map(async (database) =>
    (await database.run({json.dumps(FINGERPRINT)}))[0].rows);
answers().then((all) => Promise.all(all)).catch(String)
  .then((found) => {{ window.found = found; }});
"""
# workerd reads modules, and a WebAssembly.Module that it has compiled, from a file like this.
WORKERD = """using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (compatibilityDate = "2025-01-01", modules = [
    (name = "worker.js", esModule = embed "dist/worker.js"),
    (name = "sqlite-bloom-wasm/sqlite-bloom.wasm", wasm = embed "dist/sqlite-bloom.wasm")]))],
  sockets = [(name = "http", http = (), service = "main")]);
"""
# How each makes dist; the page's script; and whether the package has to be copied beside it.
BUNDLERS = {
    "vite": ("build --base ./", None, False),
    "parcel": ("build index.html --public-url ./ --no-cache --dist-dir dist", None, False),
    "webpack": ("--mode production --entry ./app.mjs", "dist/main.js", False),
    "esbuild": ("app.mjs --bundle --format=esm --outdir=dist", "dist/app.js", True),
    "rollup": ("-p node-resolve app.mjs -d dist", "dist/app.js", True),
}


@contextlib.contextmanager
def running(*command, cwd):
    """The address of a server at a PORT, in a process group of its own, until the block ends."""
    (port,) = free_ports(1)
    words = [str(word).replace("PORT", str(port)) for word in command]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=cwd,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(address, timeout=30).close()
                break
            time.sleep(0.1)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@needs("npm", CHROMIUM)
class Bundlers(Scratch):
    def setUp(self):
        """A folder with our package and a program, in which the tools are found."""
        self.folder = self.new_folder(below=DRIVERS)
        shutil.copytree(MODULE, self.folder / "node_modules/sqlite-bloom-wasm")
        (self.folder / "app.mjs").write_text(APP)
        (self.folder / "package.json").write_text(json.dumps(
            {"private": True, "@parcel/resolver-default": {"packageExports": True}}))
        (self.folder / "package-lock.json").touch()  # by which parcel knows its project

    def bundle(self, name, arguments, needs_package):
        shutil.rmtree(self.folder / "dist", ignore_errors=True)
        (self.folder / "dist").mkdir()
        run(DRIVERS / "node_modules/.bin" / name, *arguments.split(), cwd=self.folder)
        for path in MODULE.iterdir() if needs_package else ():
            if path.suffix in (".mjs", ".wasm"):
                shutil.copy(path, self.folder / "dist")

    def test_each_in_production(self):
        server = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "PORT"]
        with chromium() as browser, running(*server, cwd=self.folder) as address:
            for name, (arguments, script, needs_package) in BUNDLERS.items():
                with self.subTest(bundler=name):
                    (self.folder / "index.html").write_text(
                        "<!doctype html><title>test</title>"
                        f'<script type="module" src="./{script or "app.mjs"}"></script>')
                    self.bundle(name, arguments, needs_package)
                    page = browser.new_page()
                    page.goto(f"{address}/{'' if script else 'dist/'}index.html")
                    page.wait_for_function("window.found", timeout=120_000)
                    self.assertEqual(page.evaluate("found"), [[list(FINGERPRINT_ANSWER)]] * 2)
                    page.close()

    def test_workerd_runs_the_example_of_the_readme(self):
        (self.folder / "worker.mjs").write_text(examples(README, "js")[2])
        self.bundle("esbuild", "worker.mjs --bundle --format=esm --outdir=dist --external:*.wasm",
                    needs_package=True)
        (self.folder / "config.capnp").write_text(WORKERD)
        with running(DRIVERS / "node_modules/.bin/workerd", "serve", "config.capnp",
                     "--socket-addr=http=127.0.0.1:PORT", cwd=self.folder) as address:
            for path, answer in (("a", b"[1]"), ("b", b"[0]")):
                with urllib.request.urlopen(f"{address}/{path}") as said:
                    self.assertEqual(said.read(), answer)


class Files(Scratch):
    @needs("gcc")
    def test_the_c_file_of_the_readme_puts_bloom_into_sqlite(self):
        """As SQLite's build for WebAssembly does, but compiled for this machine."""
        (source,) = examples(README, "c")
        (self.folder / "sqlite3_wasm_extra_init.c").write_text(source)
        (self.folder / "program.c").write_text(
            re.sub(r" *sqlite3_auto_extension\(.*;\n", "", PROGRAM))
        for path in (BUILD / "amalgamation").glob("sqlite-bloom.?"):
            shutil.copy(path, self.folder)
        sqlite = sqlite_source.folder()
        run("gcc", "-O0", "-w", "-DSQLITE_EXTRA_INIT=sqlite3_wasm_extra_init", "-I", sqlite, "-I.",
            sqlite / "sqlite3.c", "sqlite3_wasm_extra_init.c", "program.c", "-lm", cwd=self.folder)
        self.assertEqual(run(self.folder / "a.out").strip(), FINGERPRINT_WORDS)

    def test_the_page_is_small_enough_and_loads_nothing(self):
        page = (WEB / "index.html").read_bytes()
        self.assertLessEqual(len(gzip.compress(page)), 700_000)
        self.assertEqual(re.findall(r"<link (?![^>]*href=\"data:)|\bsrc=|@import|url\(",
                                    page.decode().split('<script type="application/json"')[0]), [])

    def test_the_zip_holds_the_module(self):
        folder = f"sqlite-bloom-wasm-{RELEASE}"
        with zipfile.ZipFile(WEB / f"{folder}.zip") as archive:
            names = {name.removeprefix(f"{folder}/") for name in archive.namelist()}
        self.assertEqual(names, {
            *("LICENSE", "README.md", "package.json", "engine.mjs", "sqlite-bloom.wasm"),
            *("sqlite-bloom.mjs", "sqlite-bloom.d.mts", "sqlite-bloom-worker.mjs"),
            *("sqlite-bloom-client.mjs", "sqlite-bloom-client.d.mts"),
            *("sqlite-bloom-node.mjs", "sqlite-bloom-node-worker.mjs"),
        })


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
