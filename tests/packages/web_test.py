#!/usr/bin/env python3
"""The WebAssembly module under Node.js, and the page in headless Chromium, used as a person would.
"""

import base64
import gzip
import json
import pathlib
import re
import shutil
import sqlite3
import sys
import tempfile
import unittest

from common import (BUILD, FILTER, FILTER_MD5, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOP, WORK,
                    missing, release, run)

sys.path.insert(0, str(TOP / "tests/documentation"))
from pages import murmur3  # noqa: E402

WEB = BUILD / "web"
BROWSER = WORK / "browser"
MODULE_PROGRAM = f"""
import {{ createHash }} from "node:crypto";
import {{ open }} from "{WEB}/module/sqlite-bloom.mjs";
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
        self.assertRegex(seen["message"], r"^bloom_check: the filter \(argument 1\) is NULL")
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


FILES_PROGRAM = f"""
import {{ open }} from "{WEB}/module/sqlite-bloom.mjs";
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
        self.assertEqual(len(examples), 2)
        for example in examples:
            (folder / "example.mjs").write_text(example)
            said = re.findall(r"console\.log\(.*\); // (.*)", example)
            self.assertEqual(run("node", "example.mjs", cwd=folder).splitlines(), said)

    def test_errors_of_a_worker_keep_their_kind(self):
        program = WORK / "worker.mjs"
        program.write_text(f"""
import {{ openInWorker }} from "{WEB}/module/sqlite-bloom-client.mjs";
const database = await openInWorker();
const told = [];
for (const call of [["SELECT ?"], ["SELECT nonsense"], ["SELECT ?", "x"]])
  await database.run(...call).catch((e) => told.push(`${{e.constructor.name}}: ${{e.message}}`));
const again = await openInWorker({{ bytes: await database.save() }});
await again.close();
await again.run("SELECT 1").catch((error) => told.push(error.message));
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
            ],
        )

    def test_a_run_reports_its_results_and_progress_and_can_be_ended(self):
        """An endless query in constant memory, here and in a worker; callbacks that go wrong."""
        program = WORK / "progress.mjs"
        program.write_text(f"""
import {{ open }} from "{WEB}/module/sqlite-bloom.mjs";
import {{ openInWorker }} from "{WEB}/module/sqlite-bloom-client.mjs";
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
import {{ open }} from "{WEB}/module/sqlite-bloom.mjs";
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
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefer-offline",
            "typescript@5", cwd=folder)
        shutil.rmtree(folder / "node_modules/sqlite-bloom-wasm", ignore_errors=True)
        shutil.copytree(WEB / "module", folder / "node_modules/sqlite-bloom-wasm")
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
            'await openInWorker({ worker: new URL("x.mjs", import.meta.url) });\n'
            'const cut = database.run("SELECT 1", [], { longestValue: 9 })[0].rows[0][0];\n'
            'if (typeof cut === "object" && cut && "start" in cut) cut.bytes.toFixed();\n'
            "// @ts-expect-error\ndatabase.prepare(1);\n"
            '// @ts-expect-error\ndatabase.run("SELECT ?", [undefined]);\n'
            'console.log(row, rows, names, new SqliteError("x"));\n'
        )
        run("node_modules/.bin/tsc", "--strict", "--noEmit", "--module", "nodenext", "--target",
            "es2022", "--lib", "es2022,dom", "use.ts", cwd=folder)


# A list as people have it, in all forms at once, and what a browser reaches that it forbids: the
# URL, whether it does, and by which entry. Written by hand, from ext/URLS.md.
OWN_LIST = """# Title: my list
127.0.0.1 localhost
0.0.0.0 ads.example tracker.example # two names
||evil.example^$third-party
||host.example/Malware/*
@@||good.example^
##.banner
"1","2026-11-22","http://csv.example/a/b.exe","online"
address=/dns.example/0.0.0.0
*.wild.example
hxxp://defanged[.]example/x
192.0.2.7:8080
192.0.2.0/24
foo bar baz
B\u00dcCHER.example
"""
UNUSED_LINES = [
    ["2", "localhost", "a name without a dot"],
    ["6", "@@||good.example^", "an exception"],
    ["13", "192.0.2.0/24", "a range of addresses"],
    ["14", "foo bar baz", "several words"],
]
HIT, CLEAR, WRONG, NO_HOST = "on the list", "certainly not", "false positive", "no host"
FOUND = "probably on it"  # where there is a filter alone
CASE_URL = "http://host.example/malware/deep/x"
OWN_ASKED = [
    ["https://sub.ads.example/page", HIT, "ads.example/"],
    ["http://tracker.example/", HIT, "tracker.example/"],
    ["HTTP://www.Evil.example:80/a?b#c", HIT, "evil.example/"],
    ["http://host.example/Malware/deep/x", HIT, "host.example/Malware/"],
    [CASE_URL, CLEAR, ""],
    ["http://csv.example/a/b.exe?x", HIT, "csv.example/a/b.exe"],
    ["http://csv.example/a/", CLEAR, ""],
    ["http://dns.example", HIT, "dns.example/"],
    ["https://a.wild.example/", HIT, "wild.example/"],
    ["http://defanged.example/x", HIT, "defanged.example/x"],
    ["http://192.0.2.7/", HIT, "192.0.2.7/"],
    ["http://192.0.2.8/", CLEAR, ""],
    ["http://good.example/", CLEAR, ""],
    ["http://xn--bcher-kva.example/", HIT, "xn--bcher-kva.example/"],
    ["mailto:someone@evil", NO_HOST, ""],
]


def sorted_rows(rows):
    """As the page shows them: what was found first."""
    return sorted(rows, key=lambda row: (HIT, FOUND, WRONG).index(row[1]) if row[2] else 3)


OWN_ENTRIES = ["ads.example", "tracker.example", "evil.example", "host.example/Malware/",
               "csv.example/a/b.exe", "dns.example", "wild.example", "defanged.example/x",
               "192.0.2.7", "b\u00fccher.example"]
# sqlite3 of this machine, with the library: what the page's SQL must do there, too.
PICTURE_BITS, PICTURE_HASHES = 64, 3


def native():
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(str(TOP / "bloom.so"))
    return connection


def shell(sql, folder):
    """What the sqlite3 shell prints for a script, run in a folder that has the library."""
    with tempfile.TemporaryDirectory() as place:
        script = pathlib.Path(place) / "script.sql"
        script.write_text(sql)
        return run("sqlite3", "-batch", "-init", "/dev/null", ":memory:", f".read {script}",
                   cwd=folder).splitlines()


def visits():
    """URLs in every spelling, and whether the list of the page names them: by visits.awk, which
    knows nothing of the extension.
    """
    lines = run("awk", "-f", "sql/visits.awk", "-v", "harmless=60", "-v", "listed=60",
                "sql/data/urlhaus.txt").splitlines()
    pairs = [line.split("\x1f") for line in lines]
    # Turn and turn about, so that a mistake in the order is seen.
    pairs = [pair for both in zip(pairs[:60], pairs[60:]) for pair in both]
    return [(url, listed == "1") for listed, url in pairs]


def column_mode(shown):
    """What the sqlite3 shell prints in mode column for the parts that the page showed."""
    lines = []
    for part in shown:
        if "text" in part:
            lines.append(part["text"])
        elif part["rows"]:
            rows = [["" if value is None else value for value in row] for row in part["rows"]]
            widths = [max(len(cell) for cell in column) for column in zip(part["columns"], *rows)]
            for cells in (part["columns"], ["-" * width for width in widths], *rows):
                lines.append("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)))
    return [line.rstrip() for line in lines]


@unittest.skipIf(missing("node", "npm", "sqlite3", "/usr/bin/chromium"),
                 missing("node", "npm", "sqlite3", "/usr/bin/chromium"))
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        BROWSER.mkdir(parents=True, exist_ok=True)
        tools = ("playwright-core", "axe-core")
        if not all((BROWSER / "node_modules" / tool).exists() for tool in tools):
            (BROWSER / "package.json").write_text("{}")
            run(*("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefer-offline"),
                *tools, cwd=BROWSER)
        # In a folder of its own, with nothing beside it: the page is one file.
        alone = WORK / "page"
        shutil.rmtree(alone, ignore_errors=True)
        alone.mkdir()
        shutil.copy(WEB / "index.html", alone)
        cls.visits = visits()
        connection = native()
        made = {
            layout: connection.execute(
                f"SELECT bloom_agg(value, NULL, 0.000001, '{options}') FROM json_each(?)",
                [json.dumps(keys)],
            ).fetchone()[0]
            for layout, options, keys in (
                ("fuse", "layout=fuse, key=url", OWN_ENTRIES),
                ("salted", f"key=url, salt={'5a' * 16}", OWN_ENTRIES),
                ("counting", "layout=counting, key=url_nocase", OWN_ENTRIES),
                ("plain", "blocked", ["http://192.0.2.7/"]),
            )
        }
        (BROWSER / "input.json").write_text(json.dumps({
            "visits": [url for url, _ in cls.visits],
            "own": {"name": "my 'list'.txt", "text": OWN_LIST,
                    "asked": [row[0] for row in OWN_ASKED]},
            "filters": {name: base64.b64encode(filter).decode() for name, filter in made.items()},
        }))
        seen = run("node", TOP / "tests/packages/page.mjs", alone / "index.html", BROWSER,
                   BROWSER / "input.json", timeout=1200)
        (BROWSER / "seen.json").write_text(seen)
        cls.seen = json.loads(seen)

    def test_it_works_without_a_network_and_asks_for_nothing_else(self):
        self.assertEqual(self.seen["errors"], [])
        schemes = {address.split(":")[0] for address in self.seen["requests"]}
        self.assertLessEqual(schemes, {"file", "data", "blob"})
        self.assertEqual(
            [address for address in self.seen["requests"]
             if address.startswith("file") and len(address) < 60 and "index.html" not in address],
            [],
        )
        self.assertRegex(self.seen["version"], rf"^bloom {re.escape(RELEASE)}, ")
        self.assertRegex(
            self.seen["list"]["figures"],
            r"^URLhaus, malicious hosts and pages: 6,\d{3} keys in a filter of 12\.\d KB;"
            r" a key is wrongly found 1 time in 1,000, and a URL, which has several, more often\.$",
        )

    def test_the_first_answer_is_there_within_a_second_and_a_half(self):
        """By the processor's time, all threads together: other work may go on beside the test. The
        clock shows less where it does not.
        """
        first = self.seen["first"]
        self.assertRegex(first["verdict"], "^Probably on the list, by the key ")
        self.assertLess(min(first["processor"], first["clock"] / 1000), 1.5)
        self.assertGreater(first["processor"], 0.05)

    def test_the_picture_shows_bits_set_a_key_asked_and_a_false_positive(self):
        """The bits are those of the murmur3 and the formula of ext/FORMAT-layouts.md."""
        self.assertEqual(len(re.findall(r"\.(?= |$)", self.seen["sentences"])), 3)
        self.assertEqual(self.seen["pictureEnds"], ["picture-next", "10 of 10"])
        bits, added = set(), []
        kinds = []
        steps = self.seen["picture"]
        for step in steps:
            shown = {
                name: {bit for bit, kind in enumerate(step["bits"]) if name in kind.split()}
                for name in ("set", "new", "probe")
            }
            self.assertEqual(len(step["bits"]), PICTURE_BITS)
            c, add = murmur3(step["key"].encode())
            of_key = set()
            for _ in range(PICTURE_HASHES if step["key"] else 0):
                of_key.add((c & (1 << 63) - 1) % PICTURE_BITS)
                c = c + add & (1 << 64) - 1
            self.assertEqual(step["rays"], len(of_key))
            if step["words"].startswith("Add "):
                bits |= of_key
                added.append(step["key"])
                self.assertEqual(shown["new"], of_key)
                kinds.append("added")
            elif step["words"].startswith("Ask "):
                self.assertEqual(shown["probe"], of_key)
                said = step["words"].rsplit(": ", 1)[1]
                kinds.append(said)
                truth = {
                    (True, True): "probably in, and so it is.",
                    (False, False): "it was certainly never added.",
                    (True, False): "a false positive.",
                }[of_key <= bits, step["key"] in added]
                self.assertEqual(said, truth)
            else:
                kinds.append("empty")
            self.assertEqual(shown["set"], bits, step["words"])
        self.assertEqual(
            kinds,
            ["empty", *["added"] * 6, "probably in, and so it is.",
             "it was certainly never added.", "a false positive."],
        )

    def test_the_picture_moves_unless_motion_is_not_wanted(self):
        moves = self.seen["moves"]
        self.assertRegex(moves["paused"], r"^[3-9] of 10$")
        self.assertEqual(moves["later"], moves["paused"])
        self.assertEqual(moves["ray"], "ray")
        self.assertEqual(self.seen["pictureRests"], "1 of 10")
        self.assertEqual(self.seen["motion"], ["none 0s"])

    def test_one_url_is_judged_and_its_block_is_drawn(self):
        page, host, clean, unknown, nonsense = self.seen["urls"]
        for asked in (page, host):
            self.assertEqual(asked["kind"], "verdict hit")
            self.assertRegex(
                asked["verdict"],
                r"^Probably on the list, by the key \S+\. The exact list confirms it\.$",
            )
            decided = re.search(r"by the key (\S+)\. ", asked["verdict"])[1]
            self.assertEqual(asked["chosen"], [decided])
            self.assertEqual(asked["probes"], asked["lit"])
        self.assertTrue(page["keys"][0].endswith("probably in"))
        self.assertTrue(
            host["keys"][0].endswith("certainly not") and host["keys"][-1].endswith("probably in")
        )
        for asked in (clean, unknown):
            self.assertEqual(
                (asked["kind"], asked["verdict"]), ("verdict clear", "Certainly not on the list.")
            )
            self.assertLess(asked["lit"], asked["probes"])
        self.assertEqual(len(unknown["keys"]), 4)
        self.assertEqual({asked["bits"] for asked in (page, host, clean, unknown)}, {512})
        self.assertEqual({asked["rows"] == [] for asked in self.seen["urls"]}, {True})
        self.assertEqual((self.seen["nothing"]["kind"], self.seen["nothing"]["keys"]),
                         ("verdict doubt", []))
        self.assertIn(nonsense["kind"], ("verdict doubt", "verdict clear"))

    def test_many_urls_are_judged_as_the_maker_of_the_visits_says(self):
        many = self.seen["many"]
        self.assertEqual(len(many["rows"]), len(self.visits))
        listed = {url.strip(): listed for url, listed in self.visits}
        verdicts = [verdict for _, verdict, _ in many["rows"]]
        for url, verdict, key in many["rows"]:
            self.assertIn(verdict, (HIT,) if listed[url] else (CLEAR, WRONG), url)
            self.assertEqual(key == "", verdict == CLEAR, url)
        self.assertEqual(verdicts, sorted(verdicts, key=[HIT, WRONG, CLEAR].index))
        wrong = verdicts.count(WRONG)
        self.assertLess(wrong, 5)
        said = "" if wrong == 0 else "; [1-4] more (is a|are) false positives? of the filter"
        self.assertRegex(many["verdict"], rf"^60 of 120 are on the list{said}\.$")
        self.assertEqual(
            self.seen["detail"], [f"Keys of {many['rows'][3][0]}, most exact first"]
        )

    def test_very_many_urls_are_pasted_and_false_positives_are_told_apart(self):
        many = self.seen["veryMany"]
        self.assertEqual(many["field"], "100,000 lines: too long to be shown")
        told = re.fullmatch(
            r"1 of 100,000 is on the list; (\d+) more are false positives of the filter\. The"
            r" first 500 are shown, those on the list before the others\.", many["verdict"])
        self.assertEqual([verdict for _, verdict, _ in many["rows"]],
                         [HIT] + [WRONG] * int(told[1]) + [CLEAR] * (499 - int(told[1])))
        self.assertEqual(many["rows"][0][0], self.seen["urls"][0]["url"])
        self.assertEqual(many["sql"].count("('http://h"), 10_000)
        self.assertIn("  -- and 90,000 more\n", many["sql"])
        self.assertEqual(many["typed"], "x")

    def test_urls_in_quotes_are_asked_and_what_cannot_be_a_host_is_none(self):
        real = self.seen["urls"][0]["url"]
        self.assertEqual(
            [row[:2] for row in self.seen["quoted"]["rows"]],
            [*[[real, HIT]] * 3, ["http://a b.example/", NO_HOST],
             ['http://a"b.example/', NO_HOST], ["http://a.example/b c", CLEAR],
             ["http://u'v@a.example:80/", CLEAR]],
        )

    def test_the_legend_names_every_kind_of_bit_of_the_block(self):
        legend = {frozenset(kind.split()): words for words, kind in self.seen["legend"]}
        drawn = {frozenset(kind.split()) for kind in self.seen["blockClasses"]}
        self.assertEqual(len(legend), 4)
        self.assertEqual(len(set(legend.values())), 4)
        self.assertLessEqual(drawn, set(legend))
        kinds = ({"bit"}, {"bit", "set"}, {"bit", "probe"})
        self.assertLessEqual({frozenset(kind) for kind in kinds}, drawn)

    def test_the_probes_drawn_are_those_that_decide(self):
        self.assertEqual(self.seen["probes"]["different"], 0)
        self.assertEqual(self.seen["probes"]["checked"], 7500)
        self.assertGreater(self.seen["probes"]["found"], 2500)

    def test_a_list_of_ones_own_is_pasted_opened_and_dropped(self):
        own = self.seen["own"]
        for way, name in (("paste", "pasted.txt"), ("file", "my 'list'.txt"),
                          ("drop", "my 'list'.txt")):
            with self.subTest(way=way):
                state = own[way]
                self.assertEqual(state["problem"], "")
                self.assertEqual(
                    state["figures"],
                    f"{name}: 10 keys in a filter of 128 bytes; a key is wrongly found 1 time in"
                    " 1,000, and a URL, which has several, more often.",
                )
                self.assertEqual(state["summary"], "4 lines have no entry")
                self.assertEqual(state["unused"], UNUSED_LINES)
                self.assertEqual(state["rows"], sorted_rows(OWN_ASKED))
                self.assertEqual(state["verdict"], "10 of 15 are on the list.")
        self.assertTrue(own["dropIsShown"])
        self.assertTrue(own["address"].endswith("index.html"))  # the browser has not left

    def test_a_text_that_is_dropped_is_no_list(self):
        """It goes into a field, as the browser does it, and elsewhere nowhere."""
        dropped = self.seen["dropped"]
        self.assertEqual(dropped["field"], [False, True])  # no overlay; the browser acts
        self.assertEqual(dropped["page"], [False, False])
        self.assertEqual(dropped["work"], 0)
        self.assertEqual(dropped["two"], [True, False])
        self.assertEqual(dropped["said"], "One list at a time: one.txt.")
        self.assertTrue(dropped["figures"].startswith("one.txt: 1 key "))

    def test_case_and_rate_are_chosen(self):
        nocase, rate = self.seen["own"]["nocase"], self.seen["own"]["rate"]
        lower = [
            [CASE_URL, HIT, "host.example/malware/"] if row[0] == CASE_URL
            else [row[0], row[1], row[2].lower()]
            for row in OWN_ASKED
        ]
        self.assertEqual(nocase["rows"], sorted_rows(lower))
        self.assertIn("'key=url_nocase'", nocase["sql"])
        self.assertEqual(rate["rows"], sorted_rows(OWN_ASKED))
        self.assertIn("bloom_agg(key, NULL, 0.000001, 'key=url')", rate["sql"])
        self.assertIn("a key is wrongly found 1 time in 1,000,000, ", rate["figures"])

    def test_an_option_that_is_chosen_while_a_list_loads_is_one_for_it(self):
        told, figures, focused = self.seen["changed"]
        self.assertTrue(told.startswith("Reading pasted.txt"))
        self.assertRegex(figures, r"^pasted\.txt: 1,000,000 keys in .* found 1 time in 100, ")
        self.assertEqual(focused, "list-figures")

    def test_the_filter_is_saved_as_a_file_that_sqlite_asks(self):
        self.assertEqual(self.seen["saved"], "my 'list'.bloom")
        saved = (BROWSER / "saved.bloom").read_bytes()
        connection = native()
        for url, verdict, _ in OWN_ASKED:
            self.assertEqual(
                connection.execute("SELECT bloom_check(?, ?)", [saved, url]).fetchone()[0],
                {HIT: 1, CLEAR: 0, NO_HOST: None}[verdict], url,
            )
        made = connection.execute(
            "SELECT bloom_agg(key, NULL, 0.000001, 'key=url') FROM bloom_list(?)"
            " WHERE key NOT NULL", [OWN_LIST]).fetchone()[0]
        self.assertEqual(saved, made)

    def test_a_filter_is_opened_again_of_any_layout(self):
        opened = self.seen["opened"]
        whole = opened["whole"]
        self.assertEqual(
            whole["figures"],
            "saved.bloom: a filter of 128 bytes, of layout blocked, made for 10 keys;"
            " a key is wrongly found 1 time in 1,000,000, and a URL, which has several, more"
            " often.",
        )
        found = [[url, FOUND if said == HIT else said, key] for url, said, key in OWN_ASKED]
        self.assertEqual(whole["rows"], sorted_rows(found))
        self.assertEqual(whole["verdict"], "10 of 15 are probably on the list.")
        self.assertTrue(opened["options"])
        self.assertEqual(
            opened["one"]["verdict"],
            "Probably on the list, by the key tracker.example/. A filter alone cannot confirm it.",
        )
        self.assertIn("readfile('saved.bloom')", whole["sql"])
        self.assertRegex(opened["cut"]["problem"],
                         r"^cut\.bloom: the filter was cut off or extended: .*"
                         r" saved\.bloom is still the list\.$")
        url = OWN_ASKED[1][0]
        for layout in ("fuse", "salted", "counting"):
            made = opened["made"][layout]
            self.assertEqual(made["problem"], "")
            self.assertTrue(made["verdict"].startswith(
                "Probably on the list, by the key tracker.example/"))
            self.assertEqual(made["keys"], ["tracker.example/probably in"])
            self.assertFalse(made["hasBlock"])
        self.assertEqual(
            opened["made"]["plain"]["verdict"],
            "Certainly not on the list. The filter has no key rule: the line itself was asked, as"
            " text.",
        )
        self.assertEqual(opened["made"]["plain"]["keys"], [f"{url}certainly not"])

    def test_what_is_no_list_is_refused_in_words(self):
        opened = self.seen["opened"]
        kept = r" plain\.bloom is still the list\.$"
        self.assertRegex(opened["noEntry"]["problem"],
                         r"^none\.txt: there is no entry in it; line 2, for one: an"
                         r" exception\." + kept)
        self.assertRegex(opened["empty"]["problem"],
                         r"^empty\.txt: there is no entry in it; a list has URLs or names, .*"
                         + kept)
        kept = r" list\.txt is still the list\.$"
        self.assertRegex(opened["damaged"]["problem"],
                         r"^bad\.gz: what gzip compressed here is damaged\." + kept)
        self.assertRegex(opened["packed"]["problem"],
                         r"^list\.bz2: the text is compressed with bzip2; unpack it first, as with"
                         r" bunzip2\." + kept)
        noise = opened["noise"]
        self.assertEqual(noise["problem"], "")
        self.assertRegex(noise["summary"],
                         r"^This looks like no list: 2 of 1,\d\d\d lines have an entry$")
        self.assertEqual(opened["isUnfolded"], "")

    def test_gzip_and_utf_16_are_read(self):
        opened = self.seen["opened"]
        self.assertEqual(opened["utf16"]["problem"], "")
        self.assertTrue(opened["utf16"]["figures"].startswith("utf16.txt: 1 key "))
        self.assertTrue(opened["utf16"]["sql"].startswith("-- Convert utf16.txt from UTF-16 to"))
        packed = opened["gzip"]
        self.assertTrue(packed["figures"].startswith("list.txt: 10 keys "))
        self.assertEqual(packed["unused"], UNUSED_LINES)
        self.assertTrue(packed["sql"].startswith("-- Unpack list.txt.gz first"))

    def test_a_million_lines_do_not_stop_the_page_and_can_be_stopped(self):
        stopped, million = self.seen["stopped"], self.seen["million"]
        for seen in (stopped, million):
            self.assertGreater(len(seen["elapsed"]), 3)
            self.assertGreater(len(seen["parts"]), 5)
            self.assertTrue(any(re.match(r"Reading million\.txt: [\d,]{7,} entries$", told)
                                for told in seen["told"]), seen["told"])
            self.assertTrue(all(re.match(r"\d+\.\d s$", text) for text in seen["elapsed"]))
        # The longest time in which the page did nothing, beside the whole.
        self.assertLess(million["longest"], million["time"] / 4)
        self.assertEqual(stopped["asked"], "Certainly not on the list.")
        self.assertEqual(stopped["problem"], "Stopped. sql/data/urlhaus.txt is still the list.")
        self.assertTrue(stopped["figures"].startswith("URLhaus"))
        self.assertEqual(million["problem"], "")
        self.assertRegex(
            million["figures"],
            r"^million\.txt: 1,000,000 keys in a filter of 1\.94 MB; a key is wrongly found 1 time"
            r" in 1,000, ",
        )
        self.assertEqual([row[1] for row in million["rows"]][0], HIT)
        self.assertIn(million["rows"][1][1], (CLEAR, WRONG))
        self.assertTrue(self.seen["pasted"]["figures"].startswith("pasted.txt: 1,000,000 keys"))

    def test_every_recipe_prints_what_the_shell_prints(self):
        """But for those that run a program: the page does not have them."""
        recipes = [path for path in sorted((TOP / "sql").glob("*.sql"))
                   if not re.search(r"^\.import '\|", path.read_text(), re.M)]
        self.assertGreater(len(recipes), 18)
        self.assertEqual(
            sorted(self.seen["recipes"]),
            sorted(["first steps", *(path.stem.replace("_", " ") for path in recipes)]),
        )
        self.assertEqual(
            [row[1] for row in self.seen["recipes"]["first steps"]["shown"][-1]["rows"]],
            ["0", "1", "1"],
        )
        for path in recipes:
            with self.subTest(recipe=path.stem):
                seen = self.seen["recipes"][path.stem.replace("_", " ")]
                self.assertEqual(
                    [part["problem"] for part in seen["shown"] if "problem" in part], []
                )
                self.assertTrue(seen["status"].startswith("Done in "))
                wanted = [
                    line.rstrip() for line in path.with_suffix(".out").read_text().splitlines()
                ]
                self.assertEqual(column_mode(seen["shown"]), wanted)
                self.assertGreater(seen["tables"], 0)

    def test_an_endless_query_shows_how_far_it_is_and_stops(self):
        endless = self.seen["endless"]
        rows = []
        for state in ("early", "late"):
            words, elapsed = endless[state]
            self.assertRegex(words, r"^Statement 2, [\d,]+ rows$")
            self.assertRegex(elapsed, r"^\d+\.\d s$")
            rows.append(int(re.sub(r"\D", "", words[len("Statement 2"):])))
        self.assertLess(rows[0], rows[1])
        self.assertLess(float(endless["early"][1][:-2]), float(endless["late"][1][:-2]))
        self.assertEqual(endless["shown"], ["first"])
        self.assertRegex(endless["status"],
                         r"^Stopped after \d+\.\d s; what had finished is shown\.$")
        self.assertTrue(endless["isHidden"])
        self.assertEqual(self.seen["manyRows"], ["The first 500 of 12,345 rows", 500])

    def test_of_wide_values_and_rows_the_start_is_shown(self):
        text, rows, blobs, cells = self.seen["wide"]
        self.assertEqual(text["ends"], ["2000x… 5,000,000 bytes", "1999x… 2,003 bytes"])
        self.assertEqual((rows["cells"], rows["caption"]), (250, "The first 250 of 500 rows"))
        self.assertEqual(rows["ends"][0], "2000x… 200,000 bytes")
        self.assertEqual((blobs["cells"], blobs["letters"]), (100, 100 * 50))
        self.assertEqual(blobs["ends"][0], f"{'0' * 32}… 10,000,000 bytes")
        self.assertEqual((cells["cells"], cells["caption"]), (10_000, "The first 50 of 500 rows"))
        self.assertEqual(self.seen["noRows"], ["No rows"])

    def test_another_recipe_ends_what_runs_and_keeps_what_was_written(self):
        self.assertEqual(self.seen["replaced"], ["", ""])
        self.assertEqual(*self.seen["yours"])

    def test_an_error_is_shown_and_values_are_shown_as_text(self):
        self.assertRegex(self.seen["problem"], r"^bloom_check: the filter \(argument 1\) is NULL")
        self.assertEqual(self.seen["beforeProblem"], 1)
        self.assertEqual(
            self.seen["unknownCommand"], ".import is not known here; the sqlite3 shell has it"
        )
        self.assertEqual(self.seen["values"][:4], ["<b>&", "NULL", "x'00ff'", "12345678901234567"])
        self.assertEqual(self.seen["markup"], 0)

    def test_the_sql_of_the_list_does_in_the_shell_what_the_page_shows(self):
        copied = self.seen["copied"]
        self.assertEqual(copied["sql"], copied["shown"])
        hits = [row[0] for row in copied["hits"]]
        self.assertEqual(len(hits), 6)
        printed = [line.strip() for line in shell(copied["sql"], TOP)]
        self.assertEqual(sorted(printed), sorted(hits))
        self.assertEqual(sorted(copied["here"]), sorted(hits))
        printed = [line.strip() for line in shell(copied["all"]["sql"], TOP)]
        self.assertEqual(len(printed), 60 + copied["all"]["wrong"])
        self.assertEqual(sorted(printed), sorted(copied["all"]["hits"]))
        with tempfile.TemporaryDirectory() as name:  # a pasted list stands in the SQL
            shutil.copy(TOP / "bloom.so", name)
            state = self.seen["own"]["paste"]
            self.assertEqual(shell(state["sql"], name),
                             [row[0] for row in state["rows"] if row[1] == HIT])
        for way in ("file", "nocase", "rate"):
            with self.subTest(way=way), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                shutil.copy(TOP / "bloom.so", folder)
                (folder / "my 'list'.txt").write_text(OWN_LIST)
                state = self.seen["own"][way]
                self.assertEqual(shell(state["sql"], folder),
                                 [row[0] for row in state["rows"] if row[1] == HIT])

    def test_sizes_are_chosen_by_number_and_by_slider(self):
        sizes = self.seen["sizes"]
        connection = native()
        wanted = [(5000, 0.001), (12345, 0.01), (10**9, 0.0001), (1, 0.5), (2**40, 1e-9),
                  (10**6, 0.01)]
        for state, (n, p) in zip(sizes["typed"], wanted):
            self.assertEqual(state["problems"], [])
            self.assertEqual(state["hash"].split("&layout")[0], f"#n={n}&p={js_number(p)}")
            self.assertNotIn(True, state["curves"])
            for layout, bits, size in state["rows"]:
                try:
                    length = connection.execute("SELECT bloom_size(?, ?, ?)", [n, p, layout]
                                                ).fetchone()[0]
                except sqlite3.Error:
                    self.assertEqual((bits, size), ("–", "not made"))
                    continue
                self.assertEqual(bits, f"{8 * length / n:.2f}", (layout, n, p))
        first = {row[0]: row[1:] for row in sizes["first"]["rows"]}
        self.assertEqual(first["blocked"], ["9.92", "1.24 MB"])  # 9,920,512 bits: ext/FORMAT.md
        self.assertEqual(first["classic"], ["9.59", "1.20 MB"])
        self.assertEqual(
            sizes["first"]["said"],
            "1,000,000 keys take 1.24 MB in layout blocked, and of 100 keys that were never added,"
            " one is wrongly found.",
        )
        self.assertRegex(sizes["first"]["caption"], r"(0\.9\d|1) % with 1 million keys")
        for text, problems, hash_, invalid in sizes["wrong"]:
            self.assertEqual(len(problems), 1, text)
            self.assertRegex(problems[0], "^(Keys must be|False positives must be) ")
            self.assertEqual((hash_.split("&layout")[0], invalid), ("#n=1000000&p=0.01", "true"))
        self.assertNotEqual(sizes["slid"][0]["n"], "1,000,000")
        self.assertEqual(sizes["slid"][1]["p"], "1e-9")

    def test_sizes_at_the_edges_are_told_in_words_and_their_sql_runs(self):
        often, one, large, classic, none = self.seen["sizes"]["edges"]
        self.assertEqual(
            often["said"],
            "1,000,000 keys take 77.9 KB in layout blocked, and of 100 keys that were never added,"
            " 80 are found.",
        )
        self.assertIn(": 80 % with 1 million keys, 91 % with half", often["caption"])
        self.assertEqual({curve for edge in self.seen["sizes"]["edges"]
                          for curve in edge["curves"]}, {False})
        self.assertTrue(one["said"].startswith("1 key takes 128 bytes "))
        self.assertIn(" cannot be so large: use a table", large["said"])
        self.assertEqual(shell(large["sql"], TOP), ["2"])
        self.assertNotIn("bloom_agg", large["sql"])
        self.assertEqual((classic["sql"], none["sql"]), ("", ""))

    def test_a_page_that_was_saved_as_it_stood_opens_again(self):
        self.assertEqual(self.seen["partsAgain"], self.seen["parts"])
        self.assertEqual(self.seen["parts"][".copied button"], 4)

    def test_what_was_typed_before_the_page_is_ready_stays(self):
        self.assertEqual(self.seen["early"], "http://typed.example/")

    def test_a_choice_of_size_has_an_address(self):
        shared = self.seen["shared"]
        self.assertTrue(shared["address"].endswith("index.html#n=250000&p=0.001&layout=fuse"))
        state = shared["seen"]
        self.assertEqual((state["n"], state["p"], state["layout"]), ("250,000", "0.001", "fuse"))
        self.assertGreater(shared["top"], 500)  # it is what the visitor sees
        state = shared["changed"]
        self.assertEqual((state["n"], state["p"], state["layout"]), ("10", "0.5", "counting"))
        self.assertEqual([problem.split(". ")[0] for problem in shared["wrong"]],
                         ["The address has n=ten", "The address has p=2"])
        self.assertRegex(shared["wrongLayout"][0], "^The address has layout=magic. It must be one")
        self.assertEqual([problem.split(". ")[0] for problem in shared["bothWrong"]],
                         ["The address has n=ten", "The address has layout=magic"])

    def test_the_sql_of_a_size_makes_what_the_page_shows(self):
        for layout, state in self.seen["sizes"]["layouts"].items():
            with self.subTest(layout=layout):
                self.assertEqual(state["layout"], layout)
                sql = state["sql"] + "SELECT 'made', length(f) FROM filters;\n"
                urls = ["http://example.org/a|1", "http://example.org/b|1"]
                printed = shell(sql, TOP)
                self.assertEqual(printed[:2], urls)
                self.assertEqual(printed[2:-1], ["2"] if "VIRTUAL" in sql else [])
                if layout != "fuse":  # which is made for its keys alone
                    shown = {row[0]: row[1] for row in state["rows"]}[layout]
                    length = int(printed[-1].removeprefix("made|"))
                    self.assertEqual(shown, f"{8 * length / 10**6:.2f}")
                if layout in ("blocked", "fuse", "counting"):
                    self.assertIn("key=url'", sql)

    def test_links_lead_to_the_source_and_the_recipes(self):
        away = [link for link in self.seen["links"] if not link.startswith("#")]
        homepage = release.publishing("homepage")
        # No link leads to the placeholder.
        self.assertEqual(away, [] if ".example/" in homepage else [homepage])
        self.assertEqual(len(self.seen["recipeLinks"]), len(self.seen["recipes"]) - 1)
        self.assertEqual(self.seen["linked"], "crawler")
        install = [" ".join(line.split()) for line in self.seen["install"]]
        for line in ("pip install --no-index --find-links python sqlite-bloom",
                     f"npm install ./npm/sqlite-bloom-{release.RELEASE}.tgz"
                     f" ./npm/sqlite-bloom-linux-x64-{release.RELEASE}.tgz",
                     f"go mod edit -replace {release.publishing('go_module')}=go/module",
                     "cargo add --path work/rust"):
            self.assertIn(line, install)

    def test_it_can_be_used_by_keyboard_alone(self):
        order = [name for name, _ in self.seen["order"]]
        for name in ("picture-next", "urls", "file", "paste", "use-paste", "save", "rate-wanted",
                     "rule", "n", "n-slider", "p", "p-slider", "share", "recipe", "sql", "run"):
            self.assertIn(name, order)
        self.assertEqual([name for name, outlined in self.seen["order"] if not outlined], [])
        self.assertEqual(
            self.seen["typed"]["rows"],
            [["http://www.evil.example/", HIT, "evil.example/"],
             ["http://good.example/", CLEAR, ""]],
        )
        self.assertEqual(self.seen["unlabelled"], [])

    def test_axe_finds_nothing(self):
        self.assertEqual(
            self.seen["axe"],
            {name: [] for name in ("first", "many", "own", "long name", "problem", "endless",
                                   "sizes", "phone", "phone, many", "small phone", "large text",
                                   "dark")},
        )

    def test_it_fits_a_phone_and_has_a_dark_side(self):
        for name, (content, window) in self.seen["widths"].items():
            self.assertLessEqual(content, window, name)
        self.assertEqual(
            [self.seen["widths"][name][1] for name in ("phone", "small phone", "long name")],
            [390, 320, 390],
        )
        self.assertEqual(self.seen["dark"], "rgb(23, 25, 28)")


def js_number(value):
    return repr(value).replace("e-0", "e-")


class Files(unittest.TestCase):
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
        })


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
