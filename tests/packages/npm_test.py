#!/usr/bin/env python3
"""The npm packages, installed by npm from their tarballs. tests/hosts runs them in every JavaScript
host.
"""

import json
import os
import shutil
import tarfile
import unittest

from common import (BUILD, DRIVERS, RELEASE, TOP, Scratch, needs, npm_install, platforms, run,
                    sanitized_module)

NODE24 = DRIVERS / "node24/node_modules/node/bin/node"
PATH = "console.log(require('sqlite-bloom').getLoadablePath())"


@needs("npm", "node")
class Npm(Scratch):
    def node(self, program):
        """What a program prints, or its error."""
        program = f"try {{ {program} }} catch (error) {{ console.log(String(error)) }}"
        return run("node", "-e", program, cwd=self.folder).strip()

    def test_it_finds_the_library_of_this_platform(self):
        npm_install(self.folder)
        library = self.folder / "node_modules/sqlite-bloom-linux-x64/bloom.so"
        self.assertEqual(self.node(PATH), str(library))
        (self.folder / "module.mjs").write_text(
            "import sqliteBloom, { Filter, load } from 'sqlite-bloom';\n"
            "load({ loadExtension(path) { console.log(path, load === sqliteBloom.load &&"
            " Filter.build(['a']) instanceof sqliteBloom.Filter); } });\n")
        self.assertEqual(run("node", "module.mjs", cwd=self.folder).strip(), f"{library} true")
        shutil.copytree(library.parent, f"{library.parent}-musl")
        musl = ("Object.defineProperty(process, 'report',"
                " { value: { getReport: () => ({ header: {} }) } });")
        self.assertIn("sqlite-bloom-linux-x64-musl/bloom.so", self.node(musl + PATH))
        for value, shown in (("null", "null"), ("{}", "{}"), ("'x.db'", "'x.db'")):
            self.assertIn(f"TypeError: sqlite-bloom: load(): the connection is {shown}. Pass a",
                          self.node(f"require('sqlite-bloom').load({value})"))
        inside = self.folder / "app.asar"  # as Electron has it
        inside.mkdir()
        (self.folder / "node_modules").rename(inside / "node_modules")
        program = PATH.replace("sqlite-bloom", "./app.asar/node_modules/sqlite-bloom")
        self.assertIn("bloom.so is inside app.asar, from where no library can be loaded. Unpack it:"
                      ' "asarUnpack": ["**/sqlite-bloom-*/**"]', self.node(program))
        shutil.copytree(inside, self.folder / "app.asar.unpacked")
        self.assertIn("app.asar.unpacked/node_modules/sqlite-bloom-linux-x64/bloom.so",
                      self.node(program))

    def test_without_the_package_of_the_platform_the_error_says_what_to_do(self):
        npm_install(self.folder, tarballs=1)
        self.assertRegex(
            self.node(PATH),
            "the package sqlite-bloom-linux-x64 or sqlite-bloom-linux-x64-musl is not installed.*"
            f"npm install ./sqlite-bloom-{RELEASE}.tgz ./sqlite-bloom-linux-x64-{RELEASE}.tgz")

    def test_without_the_addon_the_rest_works(self):
        npm_install(self.folder)
        addon = self.folder / "node_modules/sqlite-bloom-linux-x64/filter.node"
        for damage, said in ((lambda: addon.write_bytes(b"no ELF"), f"{addon}: .*"),
                             (addon.unlink, "no filter.node for linux on x64: the package .*")):
            damage()
            self.assertRegex(self.node(PATH), "bloom.so$")
            for call in ("new Filter(9)", "Filter.build(['a'])"):
                self.assertRegex(
                    self.node(f"const {{ Filter }} = require('sqlite-bloom'); {call}"), said)

    def test_the_class_filter(self):
        npm_install(self.folder)
        shutil.copy(TOP / "tests/packages/npm_filter.cjs", self.folder)
        self.assertEqual(run("node", "npm_filter.cjs", "sqlite-bloom", cwd=self.folder),
                         "10 passed, 0 failed\n")
        run("node", "--expose-gc", "npm_filter.cjs", "sqlite-bloom", "objects", 1000000,
            cwd=self.folder)

    @needs("gcc")
    def test_random_calls_under_sanitizers(self):
        npm_install(self.folder)
        environment = sanitized_module(
            self.folder / "node_modules/sqlite-bloom-linux-x64/filter.node",
            TOP / "ext/packages/nodejs", TOP / "ext/packages/npm/filter.c")
        shutil.copy(TOP / "tests/packages/npm_filter.cjs", self.folder)
        for words in (["cases"], ["random", 7, 100000]):
            run("node", "npm_filter.cjs", "sqlite-bloom", *words, cwd=self.folder, env=environment)


@needs("npm", "node")
class Drivers(Scratch):
    """With the drivers of build/drivers, in folders below."""

    def setUp(self):
        self.folder = self.new_folder(below=DRIVERS)
        npm_install(self.folder)
        shutil.copy(TOP / "tests/packages/npm_programs.cjs", self.folder)

    def test_filters_and_add_all(self):
        for driver in ("node:sqlite", "libsql"):
            with self.subTest(driver=driver):
                run(NODE24, "--no-warnings", "npm_programs.cjs", "feed", driver, cwd=self.folder)

    def test_drivers_with_an_sqlite_of_their_own_can_be_mixed(self):
        for names in (["node:sqlite", "libsql"], ["libsql", "node:sqlite"]):
            with self.subTest(names=names):
                temporary = self.new_folder()
                run(NODE24, "--no-warnings", "npm_programs.cjs", "mix", *names, cwd=self.folder,
                    env={"TMPDIR": str(temporary)})
                self.assertEqual(os.listdir(temporary), [])

    def test_types(self):
        (self.folder / "use.mts").write_text("""
import Database from "better-sqlite3";
import sqliteBloom, { addAll, Filter, getLoadablePath, load } from "sqlite-bloom";
const database = new Database(getLoadablePath());
load(database);
sqliteBloom.load(database);
const filter: Filter = Filter.build(["a"], { capacity: 9, fpr: null, layout: "bitmap" });
const found: boolean = new Filter(9, { key: "url", salt: new Uint8Array(16) }).add("a").has(7n);
const all: Uint8Array = new Filter(filter.bytes()).addAll(new Set([1n, null])).check(["a"]);
const bad: Filter = Filter.fromBlocklist("0.0.0.0 bad.example", { fpr: 0.001 });
const numbers: number[] = [filter.union(filter).count, filter.intersection(filter).fprNow];
addAll(database, "seen", new Set([1n, null]), { progress: console.log });
// @ts-expect-error
load("path");
// @ts-expect-error
Filter.build(["a"], { p: 0.0001 });
// @ts-expect-error
Filter.build(["a"], 0.001);
// @ts-expect-error
Filter.build(["a"], { fpr: undefined });
// @ts-expect-error
new Filter(9n);
// @ts-expect-error
filter.has({});
// @ts-expect-error
filter.union(filter.bytes());
// @ts-expect-error
addAll(database, "seen", ["a"], { key: "url" });
""")
        run(DRIVERS / "node_modules/.bin/tsc", "--strict", "--noEmit",
            "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022", "use.mts",
            cwd=self.folder)


class Files(unittest.TestCase):
    def test_there_is_a_package_for_every_platform_with_its_library(self):
        manifests = {}
        for path in (BUILD / "npm").glob("*.tgz"):
            with tarfile.open(path) as archive:
                manifest = json.load(archive.extractfile("package/package.json"))
                files = {"LICENSE", "README.md", "package.json", *manifest["files"]}
                self.assertEqual(set(archive.getnames()), {f"package/{file}" for file in files})
            manifests[manifest["name"]] = manifest
        main = manifests.pop("sqlite-bloom")
        self.assertEqual(main["optionalDependencies"], {name: RELEASE for name in manifests})
        self.assertEqual(  # by which npm chooses
            sorted([*manifest["os"], *manifest["cpu"], *manifest.get("libc", [""]),
                    *manifest["files"]] for manifest in manifests.values()),
            sorted([platform.os, platform.cpu, platform.libc or "", platform.library, "filter.node"]
                   for platform in platforms.PLATFORMS))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
