#!/usr/bin/env python3
"""The WebAssembly module: under Node.js, its README and its types, and in Chromium after each
bundler. page_test.py uses the page.
"""

import gzip
import json
import re
import shutil
import unittest
import zipfile

from common import (BUILD, CHROMIUM, DRIVERS, FILTER, FILTER_MD5, FINGERPRINT, FINGERPRINT_ANSWER,
                    FINGERPRINT_WORDS, PROGRAM, RELEASE, TOP, Scratch, chromium, comments, examples,
                    loaded, needs, run, served, sqlite_source)

WEB = BUILD / "web"
MODULE = WEB / "module"
README = (TOP / "ext/packages/web/README.md").read_text()
TYPED = """
import { open, SqliteError, type Value } from "sqlite-bloom-wasm";
import { openInWorker } from "sqlite-bloom-wasm/client";
const database = await open({ bytes: new Uint8Array(0) });
const row: Value[] | undefined = database.prepare("SELECT ?").get([1n]);
const rows: Value[][] = database.prepare("SELECT :a").all({ a: null });
const cuts = database.prepare("SELECT :a").all({ a: "a" }, { longestValue: 9, maximumRows: 1 });
const bytes: Uint8Array = database.save();
const remote = await openInWorker({ bytes, worker: new Worker("x"), wasm: new URL("https://x/") });
const [one] = await remote.run("SELECT 1", [], { onProgress: (p) => p.inserted });
const cut = database.run("SELECT 1", [], { longestValue: 9 })[0].rows[0][0];
if (typeof cut === "object" && cut && "start" in cut) cut.bytes.toFixed();
// @ts-expect-error
database.run("SELECT ?", [undefined]);
// @ts-expect-error
database.run("SELECT 1", [], { maxRows: 1 });
// @ts-expect-error
database.run("SELECT 1", [], { maximumRows: undefined });
// @ts-expect-error
remote.run("SELECT 1", [], 1);
// @ts-expect-error
database.prepare("SELECT ?", [1]);
// @ts-expect-error
open("x.db");
// @ts-expect-error
openInWorker({ byte: bytes });
console.log(cuts, row, rows, one.columns.length, new SqliteError("x"));
"""


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
            theirs, ours, env={"FILTER": FILTER, "FILTER_MD5": FILTER_MD5, "RELEASE": RELEASE})
        connection = loaded(database=ours)
        for sql, answer in (("PRAGMA integrity_check", "ok"),
                            ("SELECT count(*) FROM seen WHERE key = 'b'", 1),
                            ("SELECT sum(value) FROM more", 50005000)):
            self.assertEqual(connection.execute(sql).fetchone(), (answer,))

    def test_every_example_of_the_readme_prints_what_it_says(self):
        programs, (install,) = examples(README, "js"), examples(README, "sh")
        self.assertEqual(len(programs), 3)
        install = re.sub("^npm install", "npm install --silent --offline", install, flags=re.M)
        run("sh", "-ec", install, cwd=self.folder, env={"BLOOM": str(TOP)})
        worker = re.sub("^import wasm from.*$", """import { readFileSync } from "node:fs";
const file = "node_modules/sqlite-bloom-wasm/sqlite-bloom.wasm";
const wasm = new WebAssembly.Module(readFileSync(file)); // as wrangler has it""",
                        programs.pop().replace("export default", "const worker ="), flags=re.M)
        programs.append(f"""{worker};
const answer = await worker.fetch(new Request("https://site.example/a"));
console.log(await answer.text()); // [1]
""")
        for program in programs:
            (self.folder / "example.mjs").write_text(program)
            self.assertEqual(run("node", "example.mjs", cwd=self.folder).splitlines(),
                             comments(program))

    def test_types(self):
        folder = self.new_folder(below=DRIVERS)
        shutil.copytree(MODULE, folder / "node_modules/sqlite-bloom-wasm")
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "use.ts").write_text(TYPED)
        run(DRIVERS / "node_modules/.bin/tsc", "--strict", "--noEmit",
            "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022", "--lib",
            "es2022,dom", "use.ts", cwd=folder)


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
# How each makes dist; the page's script; and whether the package has to be copied beside it.
BUNDLERS = {
    "vite": ("build --base ./", None, False),
    "parcel": ("build index.html --public-url ./ --no-cache --dist-dir dist", None, False),
    "webpack": ("--mode production --entry ./app.mjs", "dist/main.js", False),
    "esbuild": ("app.mjs --bundle --format=esm --outdir=dist", "dist/app.js", True),
    "rollup": ("-p node-resolve app.mjs -d dist", "dist/app.js", True),
}


@needs("npm", CHROMIUM)
class Bundlers(Scratch):
    def test_each_in_production(self):
        """In a folder with our package and a program, in which the tools are found."""
        folder = self.new_folder(below=DRIVERS)
        shutil.copytree(MODULE, folder / "node_modules/sqlite-bloom-wasm")
        (folder / "app.mjs").write_text(APP)
        (folder / "package.json").write_text(json.dumps(
            {"private": True, "@parcel/resolver-default": {"packageExports": True}}))
        (folder / "package-lock.json").touch()  # by which parcel knows its project
        with served(folder) as address, chromium() as browser:
            for name, (arguments, script, needs_package) in BUNDLERS.items():
                with self.subTest(bundler=name):
                    (folder / "index.html").write_text(
                        "<!doctype html><title>test</title>"
                        f'<script type="module" src="./{script or "app.mjs"}"></script>')
                    shutil.rmtree(folder / "dist", ignore_errors=True)
                    (folder / "dist").mkdir()
                    run(DRIVERS / "node_modules/.bin" / name, *arguments.split(), cwd=folder)
                    for path in MODULE.iterdir():
                        if needs_package and path.suffix in (".mjs", ".wasm"):
                            shutil.copy(path, folder / "dist")
                    page = browser.new_page()
                    page.goto(f"{address}{'' if script else 'dist/'}index.html")
                    page.wait_for_function("window.found", timeout=120_000)
                    self.assertEqual(page.evaluate("found"), [[list(FINGERPRINT_ANSWER)]] * 2)
                    page.close()


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

    def test_the_page_is_small_enough(self):
        page = (WEB / "index.html").read_bytes()
        self.assertLessEqual(len(gzip.compress(page)), 700_000)

    def test_the_zip_holds_the_module(self):
        folder = f"sqlite-bloom-wasm-{RELEASE}"
        with zipfile.ZipFile(WEB / f"{folder}.zip") as archive:
            names = {name.removeprefix(f"{folder}/") for name in archive.namelist()}
        self.assertEqual(" ".join(sorted(names)), (
            "LICENSE README.md engine.mjs package.json sqlite-bloom-client.d.mts"
            " sqlite-bloom-client.mjs sqlite-bloom-common.mjs sqlite-bloom-node-worker.mjs"
            " sqlite-bloom-node.mjs sqlite-bloom-worker.mjs sqlite-bloom.d.mts sqlite-bloom.mjs"
            " sqlite-bloom.wasm"))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
