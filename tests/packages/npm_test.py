#!/usr/bin/env python3
"""The npm packages, installed by npm from a registry of this machine's own. tests/hosts runs them
in every JavaScript host.
"""

import os
import re
import shutil
import tarfile
import unittest

from common import (BUILD, DRIVERS, RELEASE, TOP, Scratch, comments, examples, needs, platforms,
                    run)
from registry import install, manifests, registry

NPM = BUILD / "npm"
NODE24 = DRIVERS / "node24/node_modules/node/bin/node"
PATH = "console.log(require('sqlite-bloom').getLoadablePath())"


def message(call):
    return f"try {{ {call} }} catch (error) {{ console.log(String(error)) }}"


def modules(folder):
    return sorted(path.name for path in (folder / "node_modules").iterdir()
                  if not path.name.startswith("."))


@needs("npm", "node")
class Npm(Scratch):
    def install(self, *options):
        folder = self.new_folder()
        install(folder, NPM, "npm", "install", *options)
        return folder

    def test_npm_installs_the_library_of_this_platform_alone(self):
        folder = self.install()
        self.assertEqual(modules(folder), ["sqlite-bloom", "sqlite-bloom-linux-x64"])
        library = folder / "node_modules/sqlite-bloom-linux-x64/bloom.so"
        self.assertEqual(
            library.read_bytes(), (BUILD / "binaries/linux-x86_64/bloom.so").read_bytes()
        )
        (folder / "module.mjs").write_text(
            "import { load } from 'sqlite-bloom';\n"
            "load({ loadExtension(path) { console.log(path); } });\n"
        )
        for program in (["-e", PATH], ["module.mjs"]):
            self.assertEqual(run("node", *program, cwd=folder).strip(), str(library))
        for value in ("null", "{}"):
            self.assertIn(
                "TypeError: sqlite-bloom: load(): this is not a connection that has"
                " loadExtension()",
                run("node", "-e", message(f"require('sqlite-bloom').load({value})"), cwd=folder))
        inside = folder / "app.asar"  # as Electron has it
        inside.mkdir()
        (folder / "node_modules").rename(inside / "node_modules")
        program = message(PATH.replace("sqlite-bloom", "./app.asar/node_modules/sqlite-bloom"))
        self.assertIn("bloom.so is inside app.asar, from where no library can be loaded. Unpack it:"
                      ' "asarUnpack": ["**/sqlite-bloom-*/**"]',
                      run("node", "-e", program, cwd=folder))
        shutil.copytree(inside, folder / "app.asar.unpacked")
        self.assertIn("app.asar.unpacked/node_modules/sqlite-bloom-linux-x64/bloom.so",
                      run("node", "-e", program, cwd=folder))

    def test_tarballs_are_installed_by_name_where_no_registry_has_it(self):
        (self.folder / "empty").mkdir()
        with registry(self.folder / "empty") as environment:
            # As the README says, in the folder where the tarballs are.
            readme = (BUILD / "work/npm/sqlite-bloom/README.md").read_text()
            command = re.search(r"^npm install (\./.*)$", readme, re.MULTILINE)[1]
            run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", self.folder,
                *command.split(), cwd=NPM, env=environment)
        self.assertEqual(modules(self.folder), ["sqlite-bloom", "sqlite-bloom-linux-x64"])
        self.assertIn("sqlite-bloom-linux-x64/bloom.so", run("node", "-e", PATH, cwd=self.folder))

    def test_npm_installs_the_library_of_each_other_platform_there(self):
        for platform in platforms.PLATFORMS:
            system = "windows" if platform.os == "win32" else platform.os
            name = f"sqlite-bloom-{system}-{platform.cpu}"
            name += "-musl" if platform.libc == "musl" else ""
            with self.subTest(platform=platform.name):
                folder = self.install("--os", platform.os, "--cpu", platform.cpu,
                                      *(["--libc", platform.libc] if platform.libc else []))
                self.assertEqual(modules(folder), ["sqlite-bloom", name])

    def test_without_the_optional_package_the_error_says_what_to_do(self):
        folder = self.install("--omit=optional")
        self.assertEqual(modules(folder), ["sqlite-bloom"])
        self.assertRegex(
            run("node", "-e", message(PATH), cwd=folder),
            "the package sqlite-bloom-linux-x64 or sqlite-bloom-linux-x64-musl is not installed.*"
            f"npm install ./sqlite-bloom-{RELEASE}.tgz ./sqlite-bloom-linux-x64-{RELEASE}.tgz")


@needs("npm", "node")
class Drivers(Scratch):
    """With the drivers of build/drivers, in folders below."""

    def setUp(self):
        self.folder = self.new_folder(below=DRIVERS)
        install(self.folder, NPM, "npm", "install")
        shutil.copy(TOP / "tests/packages/npm_programs.cjs", self.folder)

    def test_every_example_of_the_readme_prints_what_it_says(self):
        readme = (self.folder / "node_modules/sqlite-bloom/README.md").read_text()
        programs = examples(readme, "js")
        self.assertEqual(len(programs), 2)
        for program in programs:
            (self.folder / "example.mjs").write_text(program)
            self.assertEqual(run("node", "example.mjs", cwd=self.folder).splitlines(),
                             comments(program))

    def test_build_and_add_all(self):
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
        (self.folder / "use.mts").write_text(
            'import Database from "better-sqlite3";\nimport { getLoadablePath, load } from'
            ' "sqlite-bloom";\nconst path: string = getLoadablePath();\nload(new'
            ' Database(":memory:"));\n// @ts-expect-error\nload(path);\n'
            '// @ts-expect-error\nimport none from "sqlite-bloom";\n'
        )
        run(DRIVERS / "node_modules/.bin/tsc", "--strict", "--noEmit", "--module", "nodenext",
            "--target", "es2022", "use.mts", cwd=self.folder)


class Files(unittest.TestCase):
    def test_there_is_a_package_for_every_platform_with_its_library(self):
        found = manifests(NPM)
        main, _ = found.pop("sqlite-bloom")
        self.assertEqual(main["optionalDependencies"], {name: RELEASE for name in found})
        self.assertEqual(len(found), len(platforms.PLATFORMS))
        for name, (manifest, path) in found.items():
            self.assertLessEqual({"homepage", "repository", "bugs"}, set(manifest), name)
            files = ("LICENSE", "README.md", "package.json", manifest["files"][0])
            with tarfile.open(path) as archive:
                self.assertEqual(sorted(archive.getnames()),
                                 sorted(f"package/{file}" for file in files), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
