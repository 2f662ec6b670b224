#!/usr/bin/env python3
"""The WebAssembly module under Node.js, in Chromium after each bundler, and in workerd.
page_test.py uses the page.
"""

import contextlib
import functools
import gzip
import http.server
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

from common import (BUILD, FILTER, FILTER_MD5, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOP, WORK,
                    missing, run, sqlite_source)

WEB = BUILD / "web"
MODULE_PROGRAM = f"""
import {{ createHash }} from "node:crypto";
import {{ open }} from "{WEB}/module/sqlite-bloom-node.mjs";
const [database, other] = await Promise.all([open(), open()]);
database.run("CREATE TABLE apart(x)");
const gone = other.prepare("SELECT 1");
const apart = other.run("SELECT count(*) FROM sqlite_master")[0].rows[0][0];
other.close();
const refusals = [];
for (const run of [
  () => database.run("SELECT ?", [new Date()]),
  () => database.run("SELECT ?", [["ab"]]),
  () => database.run("SELECT ?", [2n ** 64n + 5n]),
  () => database.run("SELECT ?", "a"),
  () => database.run("SELECT ?", new Map()),
  () => database.run("SELECT ?1, ?2", [1]),
  () => database.run("SELECT ?"),
  () => database.run("SELECT 1", [1]),
  () => database.run("SELECT ?", [undefined]),
  () => database.run("SELECT :a, @b", {{ a: 1 }}),
  () => database.run("SELECT :a", {{ a: 1, b: 2, c: 3 }}),
  () => database.run("SELECT ?", {{ a: 1 }}),
  () => database.run("SELECT ?; SELECT 2", [1]),
  () => database.run("SELECT ?; nonsense", [1]),
  () => database.prepare(" -- nothing"),
  () => database.prepare("SELECT nonsense"),
  () => gone.all(),
  () => other.run("SELECT 1"),
  () => other.save(),
]) {{
  try {{ run(); refusals.push("none"); }}
  catch (error) {{ refusals.push(`${{error.constructor.name}}: ${{error.message}}`); }}
}}
const one = (sql, parameters) => database.run(sql, parameters)[0].rows[0];
const digest = createHash("md5").update(one("{FILTER}")[0]).digest("hex");
const bytes = new Uint8Array([0, 255]);
const values = [1, -1.5, 2n ** 62n, 9007199254740993n, "\\ufeffa\\u0000ü", bytes, null, true,
  bytes.buffer, new DataView(bytes.buffer, 1)];
const back = values.map((value) => one("SELECT ?", [value])[0]);
const integers = "SELECT bloom_check(bloom_agg(42), ?)";
let message;
try {{ database.run("SELECT 1; SELECT bloom_check(NULL, 1)"); }}
catch (error) {{ message = error.message; }}
console.log(JSON.stringify({{
  apart, refusals, digest, message,
  fingerprint: one("{FINGERPRINT}"), version: one("SELECT bloom_version()")[0],
  back: back.map((value) => (value instanceof Uint8Array ? [...value]
    : typeof value === "bigint" ? `${{value}}n` : value)),
  found: [42, 42.0, 42n, "42"].map((value) => one(integers, [value])[0]),
  sha3: one("SELECT lower(hex(sha3('abc')))")[0],
  long: one("SELECT lower(hex(sha3(printf('%0300d', 7))))")[0],
  series: database.run("SELECT value FROM generate_series(7, 1, -3)")[0].rows.flat(),
  cut: [{{ maximumCells: 8 }}, {{ maximumLength: 3 }}].map((options) =>
    database.run("SELECT 'äöü', 'abc', 5, NULL FROM generate_series(1, 9)", [],
      {{ longestValue: 3, ...options }})[0]).map(({{ rows, count }}) => [rows, count]),
  several: database.run("SELECT 1 AS a; CREATE TABLE t(x); -- nothing\\nSELECT 2 AS b;")
    .map((result) => result.columns[0]),
}}));
database.close();
"""


@unittest.skipIf(missing("node"), missing("node"))
class Module(unittest.TestCase):
    def test_it_answers_and_hands_over_every_kind_of_value(self):
        path = WORK / "module.mjs"
        path.write_text(MODULE_PROGRAM)
        seen = json.loads(run("node", path))
        self.assertEqual(tuple(seen["fingerprint"]), FINGERPRINT_ANSWER)
        self.assertEqual(seen["digest"], FILTER_MD5)
        self.assertRegex(seen["version"], rf"^bloom {re.escape(RELEASE)}, .*, linked in, 32 bits$")
        self.assertRegex(seen["message"], r"^bloom_check: argument 1 is NULL")
        self.assertEqual(
            seen["back"],
            [1, -1.5, f"{2 ** 62}n", "9007199254740993n", "\ufeffa\0ü", [0, 255], None, 1,
             [0, 255], [255]],
        )
        self.assertEqual(seen["apart"], 0)
        wanted = ("a number, BigInt, boolean, string, null, ArrayBuffer or view of one is wanted,"
                  " not ")
        self.assertEqual(
            seen["refusals"],
            [
                f"TypeError: parameter 1: {wanted}Date",
                f"TypeError: parameter 1: {wanted}Array",
                "RangeError: parameter 1: 18446744073709551621 has more than 64 bits",
                "TypeError: the parameters must be an array, or an object of named ones",
                "TypeError: the parameters must be an array, or an object of named ones",
                "RangeError: 2 parameters are wanted, 1 given",
                "RangeError: 1 parameter is wanted, none given",
                "RangeError: 0 parameters are wanted, 1 given",
                "TypeError: parameter 1 is undefined; NULL is written null",
                "RangeError: parameter @b is missing",
                "RangeError: the statement has no parameter b, c",
                "RangeError: parameter 1 has no name: give an array",
                "SqliteError: one statement is wanted, and there are more in the SQL",
                "SqliteError: one statement is wanted, and there are more in the SQL",
                "SqliteError: there is no statement in the SQL",
                "SqliteError: no such column: nonsense",
                "SqliteError: the statement is finalized",
                "SqliteError: the database is closed",
                "SqliteError: the database is closed",
            ],
        )
        self.assertEqual(seen["found"], [1, 1, 1, 0])
        self.assertEqual(
            seen["sha3"], "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
        )
        self.assertEqual(
            seen["long"], __import__("hashlib").sha3_256(b"7".rjust(300, b"0")).hexdigest()
        )
        self.assertEqual(seen["series"], [7, 4, 1])
        row = [{"start": "ä", "bytes": 6}, "abc", 5, None]
        self.assertEqual(seen["cut"], [[[row, row], 9], [[row], 9]])
        self.assertEqual(seen["several"], ["a", "b"])


def install(folder, *packages):
    """Packages of npm, and the module as it is now."""
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefer-offline", *packages,
        cwd=folder)
    shutil.rmtree(folder / "node_modules/sqlite-bloom-wasm", ignore_errors=True)
    shutil.copytree(WEB / "module", folder / "node_modules/sqlite-bloom-wasm")


FILES_PROGRAM = f"""
import {{ open }} from "{WEB}/module/sqlite-bloom-node.mjs";
import {{ readFileSync, writeFileSync }} from "node:fs";
const [, , theirs, ours] = process.argv;
const database = await open({{ bytes: readFileSync(theirs) }});
const counted = database.prepare("SELECT count(*) FROM seen WHERE key = ?");
const found = ["a", "b"].map((key) => counted.get([key])[0]);
database.run("INSERT INTO seen(key) VALUES (?)", ["b"]); // the bytes may grow
database.run("CREATE TABLE more AS SELECT value FROM generate_series(1, 10000)");
const statement = database.prepare("SELECT value, $a AS a FROM more WHERE value < :b");
const rows = [statement.columns, statement.all({{ $a: "x", b: 3 }})];
rows.push(statement.get({{ a: 1, b: 0 }}));
writeFileSync(ours, database.save());
const copy = await open({{ bytes: (await open()).save() }});
const empty = copy.run("SELECT count(*) FROM sqlite_master");
const refusals = [];
for (const bytes of [new Uint8Array(4096).fill(7), "text", null]) {{
  await open({{ bytes }}).then(
    () => refusals.push("none"),
    (error) => refusals.push(`${{error.constructor.name}}: ${{error.message}}`),
  );
}}
console.log(JSON.stringify({{ found, rows, empty: empty[0].rows, refusals }}));
"""


@unittest.skipIf(missing("node"), missing("node"))
class DatabaseFiles(unittest.TestCase):
    def test_it_opens_what_sqlite_wrote_and_writes_what_sqlite_opens(self):
        """A file in WAL mode with a filter table, by the SQLite and the library of this machine."""
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        connection = sqlite3.connect(folder / "theirs.db")
        connection.enable_load_extension(True)
        connection.load_extension(str(TOP / "bloom.so"))
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("CREATE VIRTUAL TABLE seen USING bloom(capacity=1000)")
        connection.execute("INSERT INTO seen(key) VALUES ('a')")
        connection.commit()
        connection.close()
        (folder / "files.mjs").write_text(FILES_PROGRAM)
        seen = json.loads(
            run("node", folder / "files.mjs", folder / "theirs.db", folder / "ours.db")
        )
        self.assertEqual(seen["found"], [1, 0])
        self.assertEqual(seen["rows"], [["value", "a"], [[1, "x"], [2, "x"]], None])
        self.assertEqual(seen["empty"], [[0]])
        wanted = "TypeError: bytes: an ArrayBuffer or view of one is wanted, not "
        self.assertEqual(
            seen["refusals"],
            ["SqliteError: file is not a database", f"{wanted}String", f"{wanted}Null"],
        )
        connection = sqlite3.connect(folder / "ours.db")
        connection.enable_load_extension(True)
        connection.load_extension(str(TOP / "bloom.so"))
        one = lambda sql: connection.execute(sql).fetchone()[0]
        self.assertEqual(one("PRAGMA integrity_check"), "ok")
        self.assertEqual(one("SELECT count(*) FROM seen WHERE key = 'b'"), 1)
        self.assertEqual(one("SELECT sum(value) FROM more"), 50005000)

    def test_every_example_of_the_readme_prints_what_it_says(self):
        folder = WORK / "web-readme"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(WEB / "module", folder)
        examples = re.findall(r"```js\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
        self.assertEqual(len(examples), 3)
        for example in examples[:2]:  # Bundlers runs the third
            (folder / "example.mjs").write_text(example)
            said = re.findall(r"console\.log\(.*\); // (.*)", example)
            self.assertEqual(run("node", "example.mjs", cwd=folder).splitlines(), said)

    def test_errors_of_a_worker_keep_their_kind(self):
        program = WORK / "worker.mjs"
        program.write_text(f"""
import {{ openInWorker }} from "{WEB}/module/sqlite-bloom-node.mjs";
const database = await openInWorker();
const told = [];
for (const call of [["SELECT ?"], ["SELECT nonsense"], ["SELECT ?", "x"]])
  await database.run(...call).catch((e) => told.push(`${{e.constructor.name}}: ${{e.message}}`));
const again = await openInWorker({{ bytes: await database.save() }});
await again.close();
await again.run("SELECT 1").catch((error) => told.push(error.message));
await database.run("SELECT 'ü';\\nSELECT nonsense").catch((e) => told.push(e.position));
await database.close();
console.log(JSON.stringify(told));
""")
        self.assertEqual(
            json.loads(run("node", program)),
            [
                "RangeError: 1 parameter is wanted, none given",
                "SqliteError: no such column: nonsense",
                "TypeError: the parameters must be an array, or an object of named ones",
                "the database is closed",
                len("SELECT 'ü';\nSELECT "),
            ],
        )

    def test_a_run_reports_its_results_and_progress_and_can_be_ended(self):
        """An endless query in constant memory, here and in a worker; callbacks that go wrong."""
        program = WORK / "progress.mjs"
        program.write_text(f"""
import {{ open }} from "{WEB}/module/sqlite-bloom-node.mjs";
import {{ openInWorker }} from "{WEB}/module/sqlite-bloom-node.mjs";
const ENDLESS = "SELECT 7 AS a; CREATE TABLE t(x);"
  + "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c";
const SERIES = "CREATE TABLE s(x); INSERT INTO s SELECT value FROM generate_series(1, 1000000)";
const database = await open();
const said = (run) => {{
  try {{ return run(); }}
  catch (error) {{ return `${{error.constructor.name}}: ${{error.message}}`; }}
}};
const results = [], reports = [], inserted = [];
const stopped = said(() => database.run(ENDLESS, [], {{
  maximumRows: 3,
  onResult: (result) => results.push(result),
  onProgress: (report) => reports.push(report) < 5,
}}));
const after = database.run("SELECT value FROM generate_series(1, 10)", [], {{ maximumRows: 2 }});
database.run(SERIES, [], {{ onProgress: (report) => {{ inserted.push(report.inserted); }} }});
const misused = [
  () => database.run("SELECT 1", [], {{ onResult() {{ database.run("SELECT 2"); }} }}),
  () => database.run("SELECT 1", [], {{ onResult() {{ database.close(); }} }}),
  () => database.run(SERIES.replaceAll(" s", " r"), [],
    {{ onProgress() {{ throw new RangeError("mine"); }} }}),
].map(said);
const alive = database.run("SELECT count(*) FROM s")[0].rows;

const remote = await openInWorker();
const far = [], firsts = [];
const ended = remote.run(ENDLESS, [], {{
  maximumRows: 3,
  onResult: (result) => firsts.push(result),
  onProgress(report) {{ if (far.push(report) === 5) remote.terminate(); }},
}});
const end = await ended.catch((error) => error.message);
console.log(JSON.stringify({{ results, reports, inserted, stopped, after, misused, alive,
  far, firsts, end }}));
""")
        seen = json.loads(run("node", program))
        self.assertEqual(seen["results"], [{"columns": ["a"], "rows": [[7]], "count": 1}])
        self.assertEqual(seen["stopped"], "SqliteError: interrupted")
        self.assertEqual(
            seen["after"], [{"columns": ["value"], "rows": [[1], [2]], "count": 10}]
        )
        for reports in (seen["reports"], seen["far"]):
            self.assertEqual(len(reports), 5)
            self.assertEqual({report["statement"] for report in reports}, {3})
            rows = [report["rows"] for report in reports]
            self.assertEqual(rows, sorted(set(rows)))
            self.assertGreater(rows[0], 3)
        self.assertGreater(len(seen["inserted"]), 10)
        self.assertEqual(seen["inserted"], sorted(seen["inserted"]))
        self.assertGreater(seen["inserted"][-1], 900_000)
        self.assertLessEqual(seen["inserted"][-1], 1_000_000)
        guarded = "SqliteError: onResult and onProgress cannot use a database"
        self.assertEqual(seen["misused"], [guarded, guarded, "RangeError: mine"])
        self.assertEqual(seen["alive"], [[1_000_000]])
        self.assertEqual(seen["firsts"], seen["results"])
        self.assertEqual(seen["end"], "the worker was terminated")

    def test_sql_reads_the_files_that_it_was_given_and_no_others(self):
        program = WORK / "readfile.mjs"
        program.write_text(f"""
import {{ open }} from "{WEB}/module/sqlite-bloom-node.mjs";
const bytes = new TextEncoder().encode("0.0.0.0 a.example\\n||b.example/c^");
const database = await open({{ files: {{ "hösts.txt": bytes, empty: new ArrayBuffer(0) }} }});
const other = await open({{ files: {{ "hösts.txt": new Uint8Array([0, 255]) }} }});
const one = (from, sql) => {{
  try {{ return from.run(sql)[0].rows.flat(); }} catch (error) {{ return error.message; }}
}};
console.log(JSON.stringify([
  one(database, "SELECT key FROM bloom_list(readfile('hösts.txt'))"),
  one(database, "SELECT typeof(readfile('empty')), length(readfile('empty')), readfile(NULL)"),
  one(other, "SELECT hex(readfile('hösts.txt'))"),
  one(other, "SELECT readfile('constructor')"),
  await open({{ files: {{ a: "text" }} }}).catch((error) => error.message),
]));
""")
        self.assertEqual(
            json.loads(run("node", program)),
            [
                ["a.example/", "b.example/c"],
                ["blob", 0, None],
                ["00FF"],
                "readfile: open() was given no file 'constructor', and SQL in WebAssembly sees no"
                " disk",
                "files: a: an ArrayBuffer or view of one is wanted, not String",
            ],
        )

    def test_types(self):
        if missing("npm"):
            self.skipTest(missing("npm"))
        folder = WORK / "web-types"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
        install(folder, "typescript@5")
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
        run("node_modules/.bin/tsc", "--strict", "--noEmit", "--module", "nodenext", "--target",
            "es2022", "--lib", "es2022,dom", "use.ts", cwd=folder)


CHROMIUM = "/usr/bin/chromium"
BUNDLERS = ("vite@8.3.8 webpack@5.112.2 webpack-cli@7.3.1 esbuild@0.28.2 rollup@4.68.8"
            " @rollup/plugin-node-resolve@16.0.3 parcel@2.16.4 workerd@1.20261117.1").split()
# It answers in the page and in a module worker, and sends what it found to the test.
APP = """
import { open } from "sqlite-bloom-wasm";
import { openInWorker } from "sqlite-bloom-wasm/client";
const answers = async () =>
  [await open(), await openInWorker()].map(async (database) => (await database.run(SQL))[0].rows);
answers().then((all) => Promise.all(all)).catch(String).then((found) =>
  fetch(HOME, { method: "POST", mode: "no-cors", body: JSON.stringify(found) }));
"""
# workerd reads modules, and a WebAssembly.Module that it has compiled, from a file like this.
WORKERD = """using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (compatibilityDate = "2025-01-01", modules = [
    (name = "worker.js", esModule = embed "dist/worker.js"),
    (name = "sqlite-bloom-wasm/sqlite-bloom.wasm", wasm = embed "dist/sqlite-bloom.wasm")]))],
  sockets = [(name = "http", address = "127.0.0.1:%d", http = (), service = "main")]);
"""


@contextlib.contextmanager
def running(*command, **options):
    """A program in a process group of its own, which ends with the block."""
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, **options)
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def answered(address):
    """What a server answers, as soon as it listens."""
    for _ in range(300):
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=30) as answer:
            return answer.read()
        time.sleep(0.1)
    raise AssertionError(f"{address} does not answer")


@unittest.skipIf(missing("npm", CHROMIUM), missing("npm", CHROMIUM))
class Bundlers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = WORK / "bundlers"
        cls.folder.mkdir(parents=True, exist_ok=True)
        (cls.folder / "package.json").write_text(json.dumps({
            "private": True, "@parcel/resolver-default": {"packageExports": True}}))
        try:
            install(cls.folder, *BUNDLERS)
        except AssertionError as error:
            if not re.search("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT", str(error)):
                raise
            raise unittest.SkipTest("skipped: no network for npm install") from None
        cls.reports = reports = queue.Queue()

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_POST(self):
                reports.put(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, directory=str(cls.folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.home = f"http://127.0.0.1:{server.server_port}"

    def app(self, name, script):
        """A folder with the program and a page that starts a script."""
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "dist").mkdir(parents=True)
        values = f"const [SQL, HOME] = {json.dumps([FINGERPRINT, self.home])};"
        (folder / "app.mjs").write_text(APP + values)
        (folder / "index.html").write_text(
            f'<!doctype html><title>test</title><script type="module" src="{script}"></script>')
        return folder

    def bundle(self, folder, bundler, *arguments):
        run(self.folder / "node_modules/.bin" / bundler, *arguments, cwd=folder)

    def copy_package(self, folder):
        for path in (WEB / "module").iterdir():
            if path.suffix in (".mjs", ".wasm"):
                shutil.copy(path, folder)

    def assert_answers(self, address):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, running(
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                f"--user-data-dir={profile}", address):
            found = json.loads(self.reports.get(timeout=120))
        self.assertEqual(found, [[list(FINGERPRINT_ANSWER)]] * 2)

    def test_vite_as_a_server_and_in_production(self):
        folder = self.app("vite", "./app.mjs")
        port = free_port()
        with running(self.folder / "node_modules/.bin/vite", "--host", "127.0.0.1", "--port", port,
                     "--strictPort", cwd=folder):
            answered(f"http://127.0.0.1:{port}/")
            self.assert_answers(f"http://127.0.0.1:{port}/")
        self.bundle(folder, "vite", "build", "--base", "./")
        self.assert_answers(f"{self.home}/vite/dist/index.html")

    def test_webpack(self):
        folder = self.app("webpack", "./dist/main.js")
        self.bundle(folder, "webpack", "--mode", "production", "--entry", "./app.mjs")
        self.assert_answers(f"{self.home}/webpack/index.html")

    def test_parcel(self):
        folder = self.app("parcel", "./app.mjs")
        self.bundle(folder, "parcel", "build", "index.html", "--public-url", "./", "--no-cache",
                    "--dist-dir", "dist")
        self.assert_answers(f"{self.home}/parcel/dist/index.html")

    def test_esbuild(self):
        folder = self.app("esbuild", "./dist/app.js")
        self.bundle(folder, "esbuild", "app.mjs", "--bundle", "--format=esm", "--outdir=dist")
        self.copy_package(folder / "dist")
        self.assert_answers(f"{self.home}/esbuild/index.html")

    def test_rollup(self):
        folder = self.app("rollup", "./dist/app.js")
        self.bundle(folder, "rollup", "-p", "node-resolve", "app.mjs", "-d", "dist")
        self.copy_package(folder / "dist")
        self.assert_answers(f"{self.home}/rollup/index.html")

    def test_workerd_runs_the_example_of_the_readme(self):
        folder = self.app("workerd", "")
        readme = (WEB / "module/README.md").read_text()
        (folder / "worker.mjs").write_text(re.findall(r"```js\n(.*?)```", readme, re.DOTALL)[2])
        self.bundle(folder, "esbuild", "worker.mjs", "--bundle", "--format=esm", "--outdir=dist",
                    "--external:*.wasm")
        self.copy_package(folder / "dist")
        port = free_port()
        (folder / "config.capnp").write_text(WORKERD % port)
        with running(self.folder / "node_modules/.bin/workerd", "serve", "config.capnp",
                     cwd=folder):
            self.assertEqual(answered(f"http://127.0.0.1:{port}/a"), b"[1]")
            self.assertEqual(answered(f"http://127.0.0.1:{port}/b"), b"[0]")


# It prints the one row of a SELECT of three columns.
SHELL = r"""
#include <stdio.h>
#include "sqlite3.h"
static int show(void *unused, int count, char **values, char **names) {
  return printf("%s|%s|%s\n", values[0], values[1], values[2]) < 0;
}
int main(int count, char **arguments) {
  sqlite3 *database;
  return sqlite3_open(":memory:", &database) || sqlite3_exec(database, arguments[1], show, 0, 0);
}
"""


class Files(unittest.TestCase):
    @unittest.skipIf(missing("gcc"), missing("gcc"))
    def test_the_c_file_of_the_readme_puts_bloom_into_sqlite(self):
        """As SQLite's build for WebAssembly does, but compiled for this machine."""
        source = re.search(r"```c\n(.*?)```", (WEB / "module/README.md").read_text(), re.DOTALL)[1]
        folder = WORK / "web-extra-init"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sqlite3_wasm_extra_init.c").write_text(source)
        (folder / "shell.c").write_text(SHELL)
        for path in (BUILD / "amalgamation").glob("sqlite-bloom.?"):
            shutil.copy(path, folder)
        sqlite = sqlite_source.folder()
        run("gcc", "-O0", "-w", "-DSQLITE_EXTRA_INIT=sqlite3_wasm_extra_init", "-I", sqlite, "-o",
            "shell", sqlite / "sqlite3.c", "sqlite3_wasm_extra_init.c", "shell.c", "-lm",
            cwd=folder)
        self.assertEqual(run(folder / "shell", FINGERPRINT).strip(),
                         "|".join(map(str, FINGERPRINT_ANSWER)))

    def test_the_page_is_small_enough_and_loads_nothing(self):
        page = (WEB / "index.html").read_bytes()
        self.assertLessEqual(len(gzip.compress(page)), 700_000)
        self.assertEqual(re.findall(r"<link (?![^>]*href=\"data:)|\bsrc=|@import|url\(",
                                    page.decode().split('<script type="application/json"')[0]), [])

    def test_the_zip_holds_the_module(self):
        path = WEB / f"sqlite-bloom-wasm-{RELEASE}.zip"
        names = {
            pathlib.PurePath(name).name for name in __import__("zipfile").ZipFile(path).namelist()
        }
        self.assertEqual(names, {
            *("LICENSE", "README.md", "package.json", "engine.mjs", "sqlite-bloom.wasm"),
            *("sqlite-bloom.mjs", "sqlite-bloom.d.mts", "sqlite-bloom-worker.mjs"),
            *("sqlite-bloom-client.mjs", "sqlite-bloom-client.d.mts"),
            *("sqlite-bloom-node.mjs", "sqlite-bloom-node-worker.mjs"),
        })


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
