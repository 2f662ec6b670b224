#!/usr/bin/env python3
"""The crate and the Go module, each taken in by a project as its users would."""

import pathlib
import re
import shutil
import tempfile
import unittest

from common import BUILD, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOP, WORK, missing, run

MODULE = "bloom.example/sqlite-bloom"


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(
            lambda: (run("chmod", "-R", "u+w", self.folder), shutil.rmtree(self.folder))
        )


@unittest.skipIf(missing("cargo"), missing("cargo"))
class Crate(Scratch):
    def test_a_program_with_rusqlite_has_it_by_one_call(self):
        shutil.unpack_archive(BUILD / f"rust/sqlite-bloom-{RELEASE}.crate", self.folder, "gztar")
        readme = (self.folder / f"sqlite-bloom-{RELEASE}/README.md").read_text()
        program = re.search(r"```rust\n(.*?)```", readme, re.DOTALL)[1]
        more = (
            '    let version: String = connection.query_row("SELECT bloom_version()", [], |row|'
            ' row.get(0))?;\n    println!("{version}");\n    let answer ='
            f' connection.query_row("{FINGERPRINT}", [], |row| Ok(vec![row.get::<_, i64>(0)?,'
            ' row.get(1)?, row.get(2)?]))?;\n    println!("{answer:?}");\n   '
            " assert!(sqlite_bloom::register().is_ok());\n    Ok(())\n"
        )
        (self.folder / "src").mkdir()
        (self.folder / "src/main.rs").write_text(program.replace("    Ok(())\n", more))
        dependencies = re.search(r"```toml\n(.*?)```", readme, re.DOTALL)[1]
        dependencies = dependencies.replace(
            f'"{RELEASE}"', f'{{ path = "sqlite-bloom-{RELEASE}" }}'
        )
        (self.folder / "Cargo.toml").write_text(
            '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n' + dependencies
        )
        output = run("cargo", "run", "--quiet", cwd=self.folder,
                     env={"CARGO_TARGET_DIR": str(WORK / "rust-user")})
        lines = output.splitlines()
        self.assertEqual(lines[0], "true")
        self.assertRegex(lines[1], rf"^bloom {re.escape(RELEASE)}, .*, linked in")
        self.assertEqual(lines[2], str(list(FINGERPRINT_ANSWER)))

    def test_it_builds_alone(self):
        """As cargo publish and docs.rs do."""
        shutil.unpack_archive(BUILD / f"rust/sqlite-bloom-{RELEASE}.crate", self.folder, "gztar")
        crate = self.folder / f"sqlite-bloom-{RELEASE}"
        run("cargo", "build", "--quiet", cwd=crate,
            env={"CARGO_TARGET_DIR": str(WORK / "rust-alone")})
        self.assertRegex((crate / "Cargo.toml").read_text(),
                         r'(?s)\nhomepage = "https://.*\nrepository = "https://')

    def test_it_is_documented_and_its_example_runs(self):
        shutil.unpack_archive(BUILD / f"rust/sqlite-bloom-{RELEASE}.crate", self.folder, "gztar")
        output = run(
            "cargo",
            "test",
            "--quiet",
            "--doc",
            cwd=self.folder / f"sqlite-bloom-{RELEASE}",
            env={"CARGO_TARGET_DIR": str(WORK / "rust-user")},
        )
        self.assertRegex(output, r"1 passed; 0 failed")


@unittest.skipIf(missing("go", "gcc"), missing("go", "gcc"))
class GoModule(Scratch):
    @classmethod
    def setUpClass(cls):
        # One folder of modules for all tests, so that SQLite is compiled once, and fast: the module
        # says itself how its own source is compiled.
        cls.modules = tempfile.mkdtemp()
        cls.environment = {
            "CGO_CFLAGS": "-O0", "GOFLAGS": "-modcacherw", "GOMODCACHE": cls.modules
        }
        cls.addClassCleanup(
            lambda: (run("chmod", "-R", "u+w", cls.modules), shutil.rmtree(cls.modules))
        )

    def go(self, *arguments):
        proxies = run("go", "env", "GOPROXY").strip()
        return run(
            "go",
            *arguments,
            cwd=self.folder,
            env={
                **self.environment,
                "GOPROXY": f"file://{BUILD}/go/proxy,{proxies}",
                "GONOSUMDB": MODULE,
                "GONOSUMCHECK": "1",
                "GOFLAGS": "-mod=mod -modcacherw",
            },
        )

    def test_go_get_and_one_call(self):
        program = re.search(
            r"```go\n(.*?)```", (BUILD / "go/module/README.md").read_text(), re.DOTALL
        )[1]
        more = (
            '\tvar version string\n\tif err := database.QueryRow("SELECT'
            ' bloom_version()").Scan(&version); err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tvar a,'
            f' b, c int\n\tif err := database.QueryRow("{FINGERPRINT}").Scan(&a, &b, &c); err !='
            " nil {\n\t\tlog.Fatal(err)\n\t}\n\tfmt.Println(version)\n\tfmt.Println(a, b,"
            " c)\n}\n"
        )
        (self.folder / "main.go").write_text(program.rstrip().removesuffix("}") + more)
        self.go("mod", "init", "example.com/user")
        self.go("get", f"{MODULE}@v{RELEASE}")
        lines = self.go("run", ".").splitlines()
        self.assertEqual(lines[-3], "true")
        self.assertRegex(lines[-2], rf"^bloom {re.escape(RELEASE)}, .*, linked in")
        self.assertEqual(lines[-1], " ".join(map(str, FINGERPRINT_ANSWER)))
        self.assertRegex(self.go("test", MODULE), r"(?m)^ok\s")
        self.go("mod", "vendor")  # which leaves out folders without Go code
        self.assertEqual(
            run(
                *("go", "run", "-mod=vendor", "."),
                cwd=self.folder,
                env=self.environment | {"GOFLAGS": ""},  # SQLite once more: it lies elsewhere
            ).splitlines()[-3:],
            lines[-3:],
        )

    def readme(self, kind):
        text = (BUILD / "go/module/README.md").read_text()
        return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)

    def test_a_module_on_this_disk_takes_its_place(self):
        """By the commands of the README, each in a module of its own."""
        for number, commands in enumerate(self.readme("sh")):
            with self.subTest(commands=commands):
                folder = self.folder / str(number)
                folder.mkdir()
                (folder / "main.go").write_text(self.readme("go")[0])
                run("go", "mod", "init", "example.com/user", cwd=folder)
                proxies = run("go", "env", "GOPROXY").strip()
                commands = commands.replace("DISK", f"{BUILD}/go").replace(
                    "https://proxy.golang.org,direct", proxies
                )
                # The driver as the module names it, which is compiled already.
                output = run("sh", "-ec", commands + "\ngo run .", cwd=folder, env=self.environment)
                self.assertEqual(output.splitlines()[-1], "true")

    @unittest.skipIf(missing("sqlite3"), missing("sqlite3"))
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
        run("go", "mod", "init", "example.com/user", cwd=self.folder)
        environment = self.environment | {"CGO_ENABLED": "0"}
        run("go", "mod", "tidy", cwd=self.folder, env=environment)
        self.assertEqual(run("go", "run", ".", cwd=self.folder, env=environment).splitlines(),
                         re.findall(r"// (true|false)$", program, re.MULTILINE))


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
