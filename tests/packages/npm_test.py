#!/usr/bin/env python3
"""The npm packages, installed by npm from a registry of this machine's own. tests/hosts runs them
in every JavaScript host.
"""

import json
import pathlib
import re
import shutil
import tarfile
import tempfile
import unittest

from common import BUILD, RELEASE, WORK, missing, platforms, run
from registry import manifests, registry

NPM = BUILD / "npm"


@unittest.skipIf(missing("npm", "node"), missing("npm", "node"))
class Npm(unittest.TestCase):
    def install(self, *options):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "package.json").write_text("{}")
        with registry(NPM) as address:
            run("npm", "install", "--silent", "--no-audit", "--no-fund", "--registry", address,
                "--cache", folder / "cache", *options, "sqlite-bloom", cwd=folder)
        return folder

    def modules(self, folder):
        return sorted(
            path.name
            for path in (folder / "node_modules").iterdir()
            if not path.name.startswith(".")
        )

    def test_npm_installs_the_library_of_this_platform_alone(self):
        folder = self.install()
        self.assertEqual(self.modules(folder), ["sqlite-bloom", "sqlite-bloom-linux-x64"])
        expected = folder / "node_modules/sqlite-bloom-linux-x64/bloom.so"
        self.assertEqual(
            expected.read_bytes(), (BUILD / "binaries/linux-x86_64/bloom.so").read_bytes()
        )
        for program in (
            "console.log(require('sqlite-bloom').getLoadablePath())",
            "import('sqlite-bloom').then((module) => console.log(module.getLoadablePath()))",
        ):
            self.assertEqual(run("node", "-e", program, cwd=folder).strip(), str(expected))
        (folder / "module.mjs").write_text(
            "import { load } from 'sqlite-bloom';\n"
            "load({ loadExtension(path) { console.log(path); } });\n"
        )
        self.assertEqual(run("node", "module.mjs", cwd=folder).strip(), str(expected))

    def test_tarballs_are_installed_by_name_where_no_registry_has_it(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "empty").mkdir()
        with registry(folder / "empty") as address:
            # As the README says, in the folder where the tarballs are.
            command = re.search(r"^npm install (\./.*)$", self.readme(), re.MULTILINE)[1]
            run(*("npm", "install", "--silent", "--no-audit", "--no-fund", "--registry", address),
                *("--cache", folder / "cache", "--prefix", folder, *command.split()), cwd=NPM)
        self.assertEqual(self.modules(folder), ["sqlite-bloom", "sqlite-bloom-linux-x64"])
        program = "console.log(require('sqlite-bloom').getLoadablePath())"
        self.assertIn("sqlite-bloom-linux-x64/bloom.so", run("node", "-e", program, cwd=folder))

    def readme(self):
        return (BUILD / "work/npm/sqlite-bloom/README.md").read_text()

    def test_npm_installs_the_library_of_each_other_platform_there(self):
        for platform, package in (("linux arm64 glibc", "linux-arm64"),
                                  ("linux x64 musl", "linux-x64-musl"),
                                  ("linux arm64 musl", "linux-arm64-musl"),
                                  ("darwin x64 ", "darwin-x64"), ("darwin arm64 ", "darwin-arm64"),
                                  ("win32 x64 ", "windows-x64"), ("win32 arm64 ", "windows-arm64")):
            with self.subTest(platform=platform):
                system, processor, libc = platform.split(" ")
                folder = self.install(
                    "--os", system, "--cpu", processor, *(["--libc", libc] if libc else [])
                )
                self.assertEqual(self.modules(folder), ["sqlite-bloom", f"sqlite-bloom-{package}"])

    def test_without_the_optional_package_the_error_says_what_to_do(self):
        folder = self.install("--omit=optional")
        self.assertEqual(self.modules(folder), ["sqlite-bloom"])
        message = run(
            "node",
            "-e",
            "try { require('sqlite-bloom').getLoadablePath() } catch (error) {"
            " console.log(error.message) }",
            cwd=folder,
        )
        self.assertIn(
            "the package sqlite-bloom-linux-x64 or sqlite-bloom-linux-x64-musl is not installed",
            message,
        )
        self.assertIn("without --omit=optional", message)
        self.assertIn(
            f"npm install ./sqlite-bloom-{RELEASE}.tgz ./sqlite-bloom-linux-x64-{RELEASE}.tgz.",
            message,
        )

    def test_a_library_inside_an_archive_of_electron(self):
        folder = self.install()
        inside = folder / "app.asar"
        inside.mkdir()
        (folder / "node_modules").rename(inside / "node_modules")
        program = "try { console.log(require('./app.asar/node_modules/sqlite-bloom')" \
            ".getLoadablePath()) } catch (error) { console.log(error.message) }"
        self.assertIn("bloom.so is inside app.asar, from where no library can be loaded. Unpack it:"
                      ' "asarUnpack": ["**/sqlite-bloom-*/**"]',
                      run("node", "-e", program, cwd=folder))
        shutil.copytree(inside, folder / "app.asar.unpacked")
        self.assertIn("app.asar.unpacked/node_modules/sqlite-bloom-linux-x64/bloom.so",
                      run("node", "-e", program, cwd=folder))

    def test_what_is_no_connection_is_refused(self):
        folder = self.install()
        for value in ("undefined", "null", "{}", "'x'"):
            message = run(
                "node",
                "-e",
                f"try {{ require('sqlite-bloom').load({value}) }} catch (error) {{"
                " console.log(String(error)) }",
                cwd=folder,
            )
            self.assertIn(
                "TypeError: sqlite-bloom: load(): this is not a connection that has"
                " loadExtension()", message
            )

    def test_the_musl_library_is_chosen_where_node_runs_on_musl(self):
        folder = self.install("--libc", "musl")
        self.assertEqual(self.modules(folder), ["sqlite-bloom", "sqlite-bloom-linux-x64-musl"])
        shutil.copytree(folder / "node_modules/sqlite-bloom-linux-x64-musl",
                        folder / "node_modules/sqlite-bloom-linux-x64")
        program = (
            "Object.defineProperty(process, 'report', { value: { getReport: () => ({ header: {} })"
            " } });console.log(require('sqlite-bloom').getLoadablePath())"
        )
        self.assertIn(
            "sqlite-bloom-linux-x64-musl/bloom.so", run("node", "-e", program, cwd=folder)
        )


@unittest.skipIf(missing("npm", "node"), missing("npm", "node"))
class Readme(unittest.TestCase):
    def test_its_example_prints_what_it_says(self):
        """With better-sqlite3, which is installed once: it is compiled here, and fast."""
        folder = WORK / "better-sqlite3"
        folder.mkdir(parents=True, exist_ok=True)
        options = ("--silent", "--no-audit", "--no-fund", "--prefer-offline")
        if not (folder / "node_modules/better-sqlite3/build").exists():
            (folder / "package.json").write_text("{}")
            run("npm", "install", *options, "better-sqlite3@12", cwd=folder,
                env={"CFLAGS": "-O0", "CXXFLAGS": "-O0"})
        shutil.rmtree(folder / "user", ignore_errors=True)
        (folder / "user").mkdir()
        (folder / "user/package.json").write_text("{}")
        with registry(NPM) as address:
            run("npm", "install", *options, "--registry", address, "--cache", folder / "cache",
                "sqlite-bloom", cwd=folder / "user")
        readme = (folder / "user/node_modules/sqlite-bloom/README.md").read_text()
        examples = re.findall(r"```js\n(.*?)```", readme, re.DOTALL)
        self.assertEqual(len(examples), 2)
        for example, wanted in zip(examples, (["1"], ["1", "10000"])):
            (folder / "user/example.mjs").write_text(example)
            said = re.findall(r"console.log\(.*\); // (.*)", example)
            printed = run("node", "example.mjs", cwd=folder / "user")
            self.assertEqual(printed.splitlines(), said)
            self.assertEqual(said, wanted)


# node:sqlite and libsql, in the order of the arguments, in the main thread and then in three more.
LIBRARIES = """
const { Worker, isMainThread, workerData } = require("worker_threads");
const fs = require("fs");
const sqliteBloom = require("sqlite-bloom");
const names = isMainThread ? process.argv.slice(2) : workerData;
function open(name) {
  const module = require(name);
  return module.DatabaseSync
    ? new module.DatabaseSync(":memory:", { allowExtension: true })
    : new module(":memory:");
}
function answer(connection) {
  return connection.prepare("SELECT bloom_check(bloom_agg('a'), 'a') AS found").get().found;
}
const connections = [];
for (let round = 0; round < 3; round++) {
  for (const name of names) {
    const connection = open(name);
    sqliteBloom.load(connection);
    sqliteBloom.load(connection);
    connections.push(connection);
  }
}
fs.writeSync(1, connections.map(answer).join(" ") + "\\n");
if (isMainThread) {
  fs.writeSync(1, fs.readdirSync(process.env.TMPDIR).length + "\\n");
  for (let i = 0; i < 3; i++) new Worker(__filename, { workerData: names });
}
"""

# Keys of every kind by build and addAll, against one INSERT a key.
FEEDING = """
const sqliteBloom = require("sqlite-bloom");
const module_ = require(process.argv[2]);
const database = module_.DatabaseSync
  ? new module_.DatabaseSync(":memory:", { allowExtension: true })
  : new module_(":memory:");
sqliteBloom.load(database);
const value = (sql, ...bound) => Object.values(database.prepare(sql).get(...bound))[0];
const same = (one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)) === 0;
function agg(keys, more) {
  database.exec("DROP TABLE IF EXISTS t; CREATE TABLE t(x, y)");
  const insert = database.prepare("INSERT INTO t VALUES (?, ?)");
  for (const key of keys) insert.run(key, 0);
  return value(`SELECT bloom_agg(x${more}) FROM t`);
}
function attempt(work) {
  try {
    console.log(work());
  } catch (error) {
    console.log(error.message);
  }
}
const counting = { options: "counting" };
const odd = ["", "a\\n", "\\r", "\\ufeffx", "\\u00fc", 1.5, 2 ** 53 - 1, -(2 ** 53 - 1), -1, 0,
  2n ** 63n - 1n, -(2n ** 63n), new Uint8Array([97]), new Uint8Array([255])];
const many = Array.from({ length: 3500 }, (_, i) => (i % 3 ? `k${i}` : i));
for (const keys of [odd, many, [...odd, ...many], ["\\ufeff"], [7]]) {
  console.log(same(sqliteBloom.build(database, keys, counting),
                   agg(keys, ", NULL, 0.01, 'counting'")));
}
console.log(same(sqliteBloom.build(database, [1, null, undefined, NaN, "a"], { n: 50, p: 0.001 }),
                 agg([1, "a"], ", 50, 0.001")));
attempt(() => sqliteBloom.build(database, []));
attempt(() => sqliteBloom.build(database, "abc"));
attempt(() => sqliteBloom.build(database, [1, {}]));
attempt(() => sqliteBloom.build(database, [2n ** 63n]));
attempt(() => sqliteBloom.build(database, ["a"], { p: 2 }));
database.exec("CREATE VIRTUAL TABLE seen USING bloom(capacity=20000)");
const numbers = Array.from({ length: 120000 }, (_, i) => i);
const reports = [];
console.log(sqliteBloom.addAll(database, "seen", many, { progress: (n) => reports.push(n) }),
            sqliteBloom.addAll(database, "seen", []), reports.join());
console.log(many.every((key) => value("SELECT count(*) FROM seen WHERE key = ?", key) === 1));
const before = value("SELECT info FROM seen");
attempt(() => sqliteBloom.addAll(database, "seen", (function* () {
  yield* numbers.slice(4000, 9000);
  throw new Error("mine");
})()));
console.log(value("SELECT info FROM seen") === before);
sqliteBloom.build(database, numbers, { progress: (n) => reports.push(n) });
console.log(reports.join());
database.exec("CREATE VIRTUAL TABLE listed USING bloom(key=URL)"); // the table says how
sqliteBloom.addAll(database, "listed", ["http://evil.example/"]);
console.log(value("SELECT count(*) FROM listed WHERE key MATCH ?", "a.evil.example/b"));
"""


@unittest.skipIf(missing("npm", "node"), missing("npm", "node"))
class Libraries(unittest.TestCase):
    def test_build_and_add_all(self):
        folder, node = self.user()
        (folder / "program.cjs").write_text(FEEDING)
        for module in ("node:sqlite", "libsql"):
            with self.subTest(module=module):
                printed = run(node, "--no-warnings", "program.cjs", module, cwd=folder)
                refused = "Pass a string, number, bigint or Uint8Array"
                self.assertEqual(printed.splitlines(), [
                    *["true"] * 6,
                    "sqlite-bloom: build(): there is no key, and an empty filter lets"
                    " everything pass. Look where the keys come from, or make an empty filter with"
                    " SELECT bloom_new(n)",
                    "sqlite-bloom: build(): keys is not an iterable of keys. Pass an array, as in"
                    " [key]",
                    f"sqlite-bloom: build(): key 2 is of type object. {refused}",
                    "sqlite-bloom: build(): key 1 is a bigint of more than 64 bits. " + refused,
                    "bloom_agg: p is 2.0. Give a number between 0 and 1, for example 0.01 for 1 %",
                    *("3500 0 3500", "true", "mine", "true", "3500,100000,120000", "1"),
                ])

    def user(self):
        """A folder with our package, node:sqlite's Node and libsql."""
        folder = WORK / "libraries"
        folder.mkdir(parents=True, exist_ok=True)
        options = ("--silent", "--no-audit", "--no-fund", "--prefer-offline")
        if not (folder / "node_modules/libsql").exists():
            (folder / "package.json").write_text("{}")
            run("npm", "install", *options, "libsql", "node@24", cwd=folder)
        user = folder / "user"
        shutil.rmtree(user, ignore_errors=True)
        user.mkdir()
        (user / "package.json").write_text("{}")
        with registry(NPM) as address:
            run("npm", "install", *options, "--registry", address, "--cache", folder / "cache",
                "sqlite-bloom", cwd=user)
        return user, folder / "node_modules/node/bin/node"

    def test_modules_with_an_sqlite_of_their_own_can_be_mixed(self):
        user, node = self.user()
        (user / "program.cjs").write_text(LIBRARIES)
        for names in (["node:sqlite", "libsql"], ["libsql", "node:sqlite"]):
            with self.subTest(names=names), tempfile.TemporaryDirectory() as temporary:
                printed = run(node, "--no-warnings", "program.cjs", *names, cwd=user,
                              env={"TMPDIR": temporary})
                answers = " ".join("1" * 6)
                self.assertEqual(printed.splitlines(), [answers, "1", answers, answers, answers])
                self.assertEqual(list(pathlib.Path(temporary).iterdir()), [])


class Files(unittest.TestCase):
    def test_there_is_a_package_for_every_platform_with_its_library(self):
        found = manifests(NPM)
        main, _ = found.pop("sqlite-bloom")
        self.assertEqual(main["optionalDependencies"], {name: RELEASE for name in found})
        conditions = {
            (tuple(manifest["os"]), tuple(manifest["cpu"]), tuple(manifest.get("libc", [None])))
            for manifest, _ in found.values()
        }
        self.assertEqual(
            conditions,
            {
                ((platform.os,), (platform.cpu,), (platform.libc,))
                for platform in platforms.PLATFORMS
            },
        )
        for name, (manifest, path) in found.items():
            self.assertLessEqual({"homepage", "repository", "bugs"}, set(manifest), name)
            with tarfile.open(path) as archive:
                self.assertEqual(
                    sorted(archive.getnames()),
                    sorted(
                        f"package/{file}"
                        for file in ("LICENSE", "README.md", "package.json", manifest["files"][0])
                    ),
                    name,
                )

    def test_types(self):
        if missing("npm"):
            self.skipTest(missing("npm"))
        folder = BUILD / "work/typescript"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefer-offline",
            "typescript@5", "better-sqlite3@12", "@types/better-sqlite3", "@types/node",
            "--ignore-scripts", cwd=folder)
        target = folder / "node_modules/sqlite-bloom"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(BUILD / "work/npm/sqlite-bloom", target)
        (folder / "use.ts").write_text(
            'import Database from "better-sqlite3";\nimport { getLoadablePath, load } from'
            ' "sqlite-bloom";\nconst path: string = getLoadablePath();\nload(new'
            ' Database(":memory:"));\n// @ts-expect-error\nload(path);\n'
            '// @ts-expect-error\nimport none from "sqlite-bloom";\n'
        )
        run("node_modules/.bin/tsc", "--strict", "--noEmit", "--module", "nodenext", "--target",
            "es2022", "use.ts", cwd=folder)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
