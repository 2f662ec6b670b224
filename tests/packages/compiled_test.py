#!/usr/bin/env python3
"""The crate and the Go module, each taken in by a project as its users would."""

import re
import shutil
import unittest

from common import (BUILD, FINGERPRINT, FINGERPRINT_ANSWER, FINGERPRINT_WORDS, RELEASE, TOP, WORK,
                    Scratch, examples, needs, run)

MODULE = "bloom.example/sqlite-bloom"


@needs("cargo")
class Crate(Scratch):
    def setUp(self):
        super().setUp()
        shutil.unpack_archive(BUILD / f"rust/sqlite-bloom-{RELEASE}.crate", self.folder, "gztar")
        self.crate = self.folder / f"sqlite-bloom-{RELEASE}"

    def cargo(self, *arguments, cwd):
        # In one folder, so that SQLite is compiled once.
        return run("cargo", *arguments, "--quiet", cwd=cwd,
                   env={"CARGO_TARGET_DIR": str(WORK / "rust-user")})

    def test_a_program_with_rusqlite_has_it_by_one_call(self):
        readme = (self.crate / "README.md").read_text()
        program, dependencies = examples(readme, "rust")[0], examples(readme, "toml")[0]
        more = f"""
    let answer = connection.query_row("{FINGERPRINT}", [],
        |row| Ok(vec![row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?]))?;
    println!("{{answer:?}}");
    assert!(sqlite_bloom::register().is_ok());
    Ok(())
"""
        (self.folder / "src").mkdir()
        (self.folder / "src/main.rs").write_text(program.replace("    Ok(())\n", more))
        (self.folder / "Cargo.toml").write_text(
            '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n'
            + dependencies.replace(f'"{RELEASE}"', f'{{ path = "{self.crate.name}" }}'))
        self.assertEqual(self.cargo("run", cwd=self.folder).splitlines(),
                         ["true", str(list(FINGERPRINT_ANSWER))])


@needs("go", "gcc")
class GoModule(Scratch):
    README = BUILD / "go/module/README.md"
    # One folder of modules for all tests and runs, so that SQLite is compiled once, and fast: the
    # module says itself how its own source is compiled.
    MODULES = WORK / "go"
    FAST = {"CGO_CFLAGS": "-O0", "GOFLAGS": "-modcacherw", "GOMODCACHE": str(MODULES),
            "GONOSUMDB": MODULE}

    @classmethod
    def setUpClass(cls):
        for folder in (cls.MODULES, cls.MODULES / "cache/download"):
            shutil.rmtree(folder / "bloom.example", ignore_errors=True)  # of another build
        cls.proxies = run("go", "env", "GOPROXY").strip()

    def go(self, *arguments, **environment):
        return run("go", *arguments, cwd=self.folder, env={**self.FAST, **environment})

    def readme(self, kind):
        return examples(self.README.read_text(), kind)

    def test_go_get_and_one_call(self):
        more = f"""
	var a, b, c int
	if err := database.QueryRow("{FINGERPRINT}").Scan(&a, &b, &c); err != nil {{
		log.Fatal(err)
	}}
	fmt.Println(a, b, c)
}}
"""
        program = self.readme("go")[0].rstrip().removesuffix("}") + more
        (self.folder / "main.go").write_text(program)
        built = {"GOPROXY": f"file://{BUILD}/go/proxy,{self.proxies}",
                 "GOFLAGS": "-mod=mod -modcacherw"}
        self.go("mod", "init", "example.com/user")
        self.go("get", f"{MODULE}@v{RELEASE}", **built)
        self.assertEqual(self.go("run", ".", **built).splitlines()[-2:],
                         ["true", FINGERPRINT_WORDS])
        self.assertRegex(self.go("test", MODULE, **built), r"(?m)^ok\s")
        self.go("mod", "vendor", **built)  # which leaves out folders without Go code
        for name in ("sqlite-bloom.c", "sqlite-bloom.h", "sqlite3.h", "sqlite3ext.h"):
            self.assertTrue((self.folder / "vendor" / MODULE / name).exists(), name)

    def test_a_module_on_this_disk_takes_its_place(self):
        """By the commands of the README, each in a module of its own."""
        for commands in self.readme("sh"):
            with self.subTest(commands=commands):
                self.folder = self.new_folder()
                (self.folder / "main.go").write_text(self.readme("go")[0])
                self.go("mod", "init", "example.com/user")
                commands = commands.replace("DISK", f"{BUILD}/go").replace(
                    "https://proxy.golang.org,direct", self.proxies)
                output = run("sh", "-ec", commands + "\ngo run .", cwd=self.folder, env=self.FAST)
                self.assertEqual(output.splitlines()[-1], "true")

    @needs("sqlite3")
    def test_a_program_without_c_reads_a_filter(self):
        (script,) = self.readme("sql")
        shutil.copy(TOP / "bloom.so", self.folder)
        (self.folder / "write.sql").write_text(script)
        self.assertEqual(
            run("sh", "-c", "sqlite3 -batch -init /dev/null :memory: <write.sql", cwd=self.folder),
            "1\n",
        )
        program = self.readme("go")[1]
        (self.folder / "main.go").write_text(program)
        self.go("mod", "init", "example.com/user")
        self.go("mod", "tidy", CGO_ENABLED="0")
        self.assertEqual(self.go("run", ".", CGO_ENABLED="0").splitlines(),
                         re.findall(r"// (true|false)$", program, re.MULTILINE))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
