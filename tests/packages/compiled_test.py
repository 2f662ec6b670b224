#!/usr/bin/env python3
"""The crate, the Go module and the Debian package, each taken in by a project or a system as its
users would.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
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
        output = run(
            "cargo",
            "run",
            "--quiet",
            cwd=self.folder,
            env={"CARGO_TARGET_DIR": str(WORK / "rust-user")},
        )
        lines = output.splitlines()
        self.assertEqual(lines[0], "true")
        self.assertRegex(lines[1], rf"^bloom {re.escape(RELEASE)}, .*, linked in")
        self.assertEqual(lines[2], str(list(FINGERPRINT_ANSWER)))

    def test_it_builds_alone(self):
        """As cargo publish and docs.rs do."""
        shutil.unpack_archive(BUILD / f"rust/sqlite-bloom-{RELEASE}.crate", self.folder, "gztar")
        run(
            "cargo",
            "build",
            "--quiet",
            cwd=self.folder / f"sqlite-bloom-{RELEASE}",
            env={"CARGO_TARGET_DIR": str(WORK / "rust-alone")},
        )

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
        # One folder of modules for all tests, so that SQLite is compiled once.
        cls.modules = tempfile.mkdtemp()
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
                "GOPROXY": f"file://{BUILD}/go/proxy,{proxies}",
                "GONOSUMDB": MODULE,
                "GONOSUMCHECK": "1",
                "GOFLAGS": "-mod=mod -modcacherw",
                "GOMODCACHE": self.modules,
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
                env={"CGO_CFLAGS": "-O0"},  # SQLite once more: it lies elsewhere
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
                environment = {"GOFLAGS": "-modcacherw", "GOMODCACHE": self.modules}
                # The driver as the module names it, which is compiled already.
                output = run("sh", "-ec", commands + "\ngo run .", cwd=folder, env=environment)
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
        environment = {"CGO_ENABLED": "0", "GOFLAGS": "-modcacherw", "GOMODCACHE": self.modules}
        run("go", "mod", "tidy", cwd=self.folder, env=environment)
        self.assertEqual(
            run("go", "run", ".", cwd=self.folder, env=environment).splitlines(),
            re.findall(r"// (true|false)$", program, re.MULTILINE),
        )


# As its users do, in a copy of this system that is gone afterwards: the system's files lie under an
# overlay in a mount namespace of its own. Images of containers leave manual pages out by an option
# of dpkg.
INSTALLATION = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
cp "$2" "$1/root/root/"
for folder in dev proc; do mount --rbind "/$folder" "$1/root/$folder"; done
rm -f "$1/root/etc/dpkg/dpkg.cfg.d/"*
chroot "$1/root" sh -e -c '
    cd /root
    apt-get install -qq -y --no-install-recommends "./$1" >/dev/null
    sqlite3 -batch -init /dev/null -cmd ".load bloom" :memory: "$2"
    echo "#include <sqlite-bloom.h>" >include.c
    gcc -c include.c
    man bloom
    apt-get remove -qq -y sqlite-bloom >/dev/null
    test ! -e /usr/include/sqlite-bloom.h
' sh "$(basename "$2")" "$3"
"""
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def cannot_copy_the_system():
    """Why INSTALLATION cannot run here; empty when it can."""
    absent = missing("unshare", "apt-get", "man", "sqlite3", "gcc")
    if absent:
        return absent
    with tempfile.TemporaryDirectory() as folder:
        lines = INSTALLATION.split("cp ")[0]
        tried = subprocess.run(
            [*NAMESPACE, "sh", "-c", lines, "sh", folder], capture_output=True, check=False
        )
    return "" if tried.returncode == 0 else "skipped: no overlay of this system can be mounted"


@unittest.skipIf(missing("dpkg-deb"), missing("dpkg-deb"))
class Debian(Scratch):
    def package(self, architecture):
        return BUILD / f"debian/sqlite-bloom_{RELEASE}_{architecture}.deb"

    def unpack(self, architecture):
        run("dpkg-deb", "-x", self.package(architecture), self.folder)
        return sorted(
            str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()
        )

    def test_it_holds_library_header_manual_page_and_licence(self):
        for architecture, triplet in (
            ("amd64", "x86_64-linux-gnu"),
            ("arm64", "aarch64-linux-gnu"),
        ):
            with self.subTest(architecture=architecture):
                shutil.rmtree(self.folder / "usr", ignore_errors=True)
                self.assertEqual(
                    self.unpack(architecture),
                    [
                        "usr/include/sqlite-bloom.h",
                        f"usr/lib/{triplet}/bloom.so",
                        "usr/share/doc/sqlite-bloom/FORMAT.md.gz",
                        "usr/share/doc/sqlite-bloom/URLS.md.gz",
                        "usr/share/doc/sqlite-bloom/changelog.gz",
                        "usr/share/doc/sqlite-bloom/copyright",
                        "usr/share/man/man3/bloom.3sql.gz",
                    ],
                )
                fields = run("dpkg-deb", "-f", self.package(architecture))
                for field in (
                    "Package: sqlite-bloom",
                    f"Version: {RELEASE}",
                    f"Architecture: {architecture}",
                    r"Depends: libc6 \(>= 2\.17\)",
                    "Installed-Size: \\d+",
                    "Maintainer: .+ <.+>",
                ):
                    self.assertRegex(fields, rf"(?m)^{field}$")
                for line in run("dpkg-deb", "-c", self.package(architecture)).splitlines():
                    self.assertRegex(line, r"^(drwxr-xr-x|-rw-r--r--) root/root ")
                    self.assertRegex(line, r" 19(79-12-31|80-01-01) ")

    def test_dpkg_installs_it_and_takes_it_away(self):
        # In a root of its own: dpkg's database and all files are there, and the system is left
        # alone.
        admin = self.folder / "var/lib/dpkg"
        for name in ("info", "updates", "triggers"):
            (admin / name).mkdir(parents=True)
        (admin / "status").write_text("")
        (admin / "available").write_text("")
        command = [
            "dpkg",
            f"--root={self.folder}",
            "--force-not-root",
            "--force-depends",
            "--log=/dev/null",
        ]
        if run("dpkg", "--print-architecture").strip() != "amd64":
            self.skipTest("skipped: this is no amd64")
        run(*command, "-i", self.package("amd64"))
        answer = run(
            "sqlite3",
            "-batch",
            "-init",
            "/dev/null",
            "-cmd",
            ".load bloom",
            ":memory:",
            FINGERPRINT,
            env={"LD_LIBRARY_PATH": str(self.folder / "usr/lib/x86_64-linux-gnu")},
        )
        self.assertEqual(answer, "|".join(map(str, FINGERPRINT_ANSWER)) + "\n")
        (self.folder / "main.c").write_text(
            "#include <sqlite-bloom.h>\nint main(void) { return sqlite3_bloom_init == 0; }\n"
        )
        run("gcc", "-c", "-I", self.folder / "usr/include", "main.c", cwd=self.folder)
        run(*command, "-r", "sqlite-bloom")
        self.assertEqual([path for path in (self.folder / "usr").rglob("*") if path.is_file()], [])

    def test_apt_installs_it_and_man_shows_its_page(self):
        if run("dpkg", "--print-architecture").strip() != "amd64":
            self.skipTest("skipped: this is no amd64")
        if cannot_copy_the_system():
            self.skipTest(cannot_copy_the_system())
        command = [*NAMESPACE, "sh", "-c", INSTALLATION, "sh", self.folder, self.package("amd64")]
        output = run(
            *command,
            FINGERPRINT,
            env={"DEBIAN_FRONTEND": "noninteractive", "MANPAGER": "cat", "MANWIDTH": "100"},
        )
        self.assertIn("|".join(map(str, FINGERPRINT_ANSWER)) + "\n", output)
        self.assertIn("BLOOM(3sql)", output)
        self.assertIn("bloom_agg(key [, n [, p [, layout]]])", output)

    def test_the_manual_page_is_well_formed_and_names_everything(self):
        self.unpack("amd64")
        page = self.folder / "usr/share/man/man3/bloom.3sql.gz"
        text = gzip.decompress(page.read_bytes()).decode()
        names = set(re.findall(r'\{"(bloom_\w+)"', (TOP / "ext/extension.c").read_text()))
        self.assertGreater(len(names), 10)
        for name in sorted(names):
            self.assertIn(f'\n.B "{name}(', text, name)
        self.assertIn(f'"bloom {RELEASE}"', text)
        if missing("man"):
            self.skipTest(missing("man"))
        shown = subprocess.run(
            ["man", "--warnings=w", "-l", page],
            capture_output=True,
            text=True,
            check=True,
            env={
                "MANWIDTH": "100",
                "LC_ALL": "C.UTF-8",
                "PATH": "/usr/bin:/bin",
                "MANPAGER": "cat",
            },
        )
        self.assertEqual(shown.stderr, "")
        self.assertRegex(shown.stdout, r"BLOOM\(3sql\)")
        self.assertRegex(shown.stdout, r"bloom_agg\(key \[, n \[, p \[, layout\]\]\]\)")
        self.assertNotRegex(shown.stdout, r"\*\*|`")


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
