#!/usr/bin/env python3
"""Each package as it stands in a checkout, by the commands and programs of its README.

They run on a new machine: this system without SQLite's headers and without these sources, under an
overlay that is gone afterwards, with an empty home. The checkout's path has a space, and nothing
can be written there. Only what a registry serves, and SQLite compiled, is kept, in
build/packages/scratch/checkout. Where no overlay can be mounted they run on this system.
"""

import http.server
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading
import unittest

from common import (BUILD, DRIVERS, FILTER_PROGRAM, FINGERPRINT, FINGERPRINT_ANSWER,
                    FINGERPRINT_WORDS, NAMESPACE, OVERLAY, PROGRAM, PYTHON_PROGRAM, QUICK_JAVA,
                    RELEASE, TOP, WORK, Scratch, can_mount, comments, examples, missing, needs,
                    quick_compilers, release, run)

CACHE = WORK / "checkout"
# $2: what is kept; $3: what is installed from registries; $4: these sources; $5: the script.
MACHINE = OVERLAY + """
rm -f usr/include/sqlite3*.h
mkdir cache
mount --bind "$2" ".$2"
mount --bind "$3" cache
mount -t tmpfs tmpfs ".$4"
if [ -n "$READ_ONLY" ]; then
    mount --bind "./$BLOOM" "./$BLOOM"
    mount -o remount,bind,ro "./$BLOOM"
fi
exec chroot . sh -ec "$5"
"""
HOME_OF_RUST = os.environ.get("RUSTUP_HOME", f"{pathlib.Path.home()}/.rustup")

class Checkout(Scratch):
    readme = None  # the folder of the package

    def setUp(self):
        super().setUp()
        self.clone = self.folder / "a clone"
        for name in release.sources():
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, self.clone / name)
        run("sh", "-ec", "git init -q; git symbolic-ref HEAD refs/heads/main; git add -A;"
            f"git -c user.name=a -c user.email=b commit -qm c; git tag v{RELEASE}", cwd=self.clone)
        for name in ("home", "machine", "project"):
            (self.folder / name).mkdir()
        self.project = self.folder / "project"
        self.overlay = can_mount(self.folder / "machine")
        quick_compilers(CACHE / "compilers")

    def address(self):
        """Of a git repository."""
        run("git", "clone", "-q", "--bare", self.clone, self.folder / "repository")
        return f"file://{self.folder}/repository"

    def machine(self, script, read_only=True, **environment):
        """Runs a script in the folder of the user's project."""
        cache = "/cache" if self.overlay else str(CACHE)
        environment = {
            "PATH": f"{cache}/compilers:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"), "BLOOM": str(self.clone), "PYTHONPATH": "/nowhere",
            "READ_ONLY": "1" if read_only else "", "RUSTUP_HOME": HOME_OF_RUST,
            "CARGO_HOME": f"{cache}/cargo", "CARGO_TARGET_DIR": f"{cache}/target",
            "GOMODCACHE": f"{cache}/go", "GOCACHE": f"{cache}/go-build",
            "GOFLAGS": "-modcacherw -mod=mod", "MAVEN_OPTS": f"-Dmaven.repo.local={cache}/m2",
            "JDK_JAVA_OPTIONS": QUICK_JAVA, "PIP_CACHE_DIR": f"{cache}/pip",
            "PIP_NO_COMPILE": "1", "npm_config_cache": f"{cache}/npm", **environment}
        script = f"cd {shlex.quote(str(self.project))}\n{script}"
        if not self.overlay:
            return run("sh", "-ec", script, env=environment)
        return run(*NAMESPACE, MACHINE, "sh", self.folder / "machine", self.folder, CACHE, TOP,
                   script, env=environment)

    def blocks(self, language):
        return examples((TOP / "ext/packages" / self.readme / "README.md").read_text(), language)

    def shows(self, program, command, file):
        """The program prints what its comments say."""
        (self.project / file).parent.mkdir(parents=True, exist_ok=True)
        (self.project / file).write_text(program)
        wanted = comments(program)
        self.assertNotEqual(wanted, [])
        self.assertEqual(self.machine(command).splitlines()[-len(wanted):], wanted)

    def stops(self, said, script, **environment):
        with self.assertRaises(AssertionError) as caught:
            self.machine(script, **environment)
        self.assertIn(said, " ".join(str(caught.exception).split()))

class Pip(Checkout):
    readme = "python"

    def machine(self, script, *, _folder=pathlib.Path(sys.executable).parent, **options):
        """With the Python of the tests, which can load extensions, behind the compilers."""
        return super().machine(f'PATH="${{PATH%%:*}}:{_folder}:$PATH"\n{script}', **options)

    def test_a_folder(self):
        (install,) = self.blocks("sh")
        self.machine(install)
        for program in self.blocks("python")[:2]:
            self.shows(program, "venv/bin/python example.py", "example.py")
        again = 'venv/bin/pip install "$BLOOM/ext/packages/python"'
        self.stops("Install gcc or clang, or set CC to one", again, CC="no-such-compiler")
        self.stops("pip before 21.3 copies the folder away from them: update pip",
                   f"venv/bin/pip install -q 'pip==21.2.4' setuptools\n{again}")

    def test_an_address_another_compiler_and_an_editable_one(self):
        compiler = {} if missing("clang") else {"CC": "clang -Wall -Werror"}
        (self.project / "answer.py").write_text(PYTHON_PROGRAM)
        printed = self.machine(
            f"python3 -m venv venv; venv/bin/pip install -q 'git+{self.address()}"
            "#subdirectory=ext/packages/python'\nvenv/bin/python answer.py\n"
            'venv/bin/pip install -q -e "$BLOOM/ext/packages/python"\nvenv/bin/python answer.py',
            read_only=False, **compiler)
        self.assertEqual(printed.splitlines()[-2:], [FINGERPRINT_WORDS] * 2)

@needs("cargo")
class Cargo(Checkout):
    readme = "rust"

    def test_a_folder_and_an_address(self):
        install, (first, *more) = self.blocks("sh")[0], self.blocks("rust")
        self.machine(install)
        for program in more:
            self.shows(program, "cargo run -q", "src/main.rs")
        self.machine("cargo remove -q sqlite-bloom\n"
                     f"cargo add -q sqlite-bloom --git {self.address()}")
        self.shows(first, "cargo run -q", "src/main.rs")

@needs("cargo")
class Crate(Cargo):
    """The crate that is published, which make crate has made."""

    def test_a_folder_and_an_address(self):
        shutil.unpack_archive(BUILD / f"rust/sqlite-bloom-{RELEASE}.crate", self.folder, "gztar")
        self.machine(self.blocks("sh")[0].replace(
            "$BLOOM/ext/packages/rust", f"../sqlite-bloom-{RELEASE}"))
        more = f"""
    let answer = connection.query_row("{FINGERPRINT}", [],
        |row| Ok(vec![row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?]))?;
    println!("{{answer:?}}"); // {list(FINGERPRINT_ANSWER)}
    assert!(sqlite_bloom::register().is_ok());
    Ok(())
"""
        self.shows(self.blocks("rust")[0].replace("    Ok(())\n", more), "cargo run -q",
                   "src/main.rs")

@needs("go", "gcc")
class Go(Checkout):
    readme = "go"

    def test_a_folder_vendored_and_changed(self):
        (install, run_it), (first, *more) = self.blocks("sh"), self.blocks("go")
        self.machine(install)
        for program in (first, *more):
            self.shows(program, run_it, "main.go")
        # go mod vendor writes the folder into a file that must not have a space in it.
        self.shows(first, 'git clone -q "$BLOOM" ~/bloom\ngo mod edit -replace'
                   " bloom.example/sqlite-bloom=$HOME/bloom\ngo mod vendor\n"
                   "GOFLAGS=-mod=vendor go run .", "main.go")
        version = self.clone / "ext/base/version.h"
        version.write_text(version.read_text().replace(RELEASE, "9.9.9"))
        self.shows(first.replace('"SELECT bloom_check(bloom_add(bloom_new(100), ?1), ?1)"',
                                 '"SELECT bloom_version() = \'9.9.9\' AND ? = \'a\'"'),
                   f"rm -r vendor\n{install.splitlines()[1]}\ngo run .", "main.go")
        self.machine('cd "$BLOOM"; go vet .')

    def test_go_get_of_an_address(self):
        """The proxy of the test tells go where the address of the module has its repository."""
        place = "bloom.example/sqlite-bloom"
        answer = f'<meta name="go-import" content="{place} git https://{place}.git">'
        proxy = type("Proxy", (http.server.BaseHTTPRequestHandler,), {
            "do_GET": lambda self: self.wfile.write(f"HTTP/1.0 200 OK\r\n\r\n{answer}".encode())})
        (self.project / "main.go").write_text(self.blocks("go")[0])
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), proxy) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            printed = self.machine(
                "(cd $GOMODCACHE; rm -rf bloom.example cache/download/bloom.example cache/vcs)\n"
                f"go mod init example.com/visits; go get {place}@v{RELEASE}\n"
                "go run .", HTTP_PROXY=f"http://127.0.0.1:{server.server_port}",
                GOPRIVATE="bloom.example", GOINSECURE="bloom.example", GIT_CONFIG_COUNT="1",
                GIT_CONFIG_KEY_0=f"url.{self.address()}.insteadOf",
                GIT_CONFIG_VALUE_0=f"https://{place}.git")
            server.shutdown()
        self.assertEqual(printed.splitlines()[-1], "true")

@needs("npm", "node")
class Npm(Checkout):
    readme = "npm"

    def test_a_folder_after_make(self):
        path = "console.log(require('sqlite-bloom').getLoadablePath())"
        install, _ = self.blocks("sh"), self.blocks("js")
        self.machine('npm install --silent "$BLOOM/ext/packages/npm"')
        self.stops("run make in the repository, and then npm uninstall", f'node -e "{path}"')
        self.machine(install[0].replace("npm install", "npm install --silent"), read_only=False)
        for module in ("better-sqlite3", "bindings", "file-uri-to-path"):
            shutil.copytree(DRIVERS / "node_modules" / module,
                            self.project / "node_modules" / module)
        for program in self.blocks("js"):
            self.shows(program, "node example.mjs", "example.mjs")
        self.assertEqual(self.machine(  # as npm 9.0 to 9.3 and Debian's do
            'npm install --silent --install-links --no-save "$BLOOM/ext/packages/npm"\n'
            f'node -e "{path}"'), f"{self.project}/node_modules/sqlite-bloom/bloom.so\n")

@needs("mvn", "java", "javac")
class Maven(Checkout):
    readme = "java"
    def test_a_folder(self):
        (install, run_it), (project,) = self.blocks("sh"), self.blocks("xml")
        self.stops("no-such-compiler", install.replace("-q", "-q -Dcc=no-such-compiler"),
                   read_only=False)
        self.machine("rm -rf ${MAVEN_OPTS#*=}/example/bloom\n" + install, read_only=False)
        (self.project / "pom.xml").write_text(project)
        sources = self.project / "src/main/java"
        sources.mkdir(parents=True)
        programs = {re.search(r"^class (\w+)", program, re.M)[1]: program
                    for program in self.blocks("java")}
        for name, program in programs.items():
            (sources / f"{name}.java").write_text(program)
        compile_it, run_visits = run_it.splitlines()
        self.machine(compile_it)
        for name, program in programs.items():
            self.shows(program, f"{run_visits.replace('Visits', name)} 2>&1 | grep -v SLF4J",
                       f"{name}.java")

@needs("ruby")
class Bundler(Checkout):
    readme = "ruby"
    BUNDLE = 'bundle() { ruby "$(ruby -e "puts Gem.bin_path(%q(bundler), %q(bundle))")" "$@"; }\n'

    @unittest.skipIf(subprocess.run(["ruby", "-rsqlite3", "-rbundler", "-e", ""], check=False,
                                    capture_output=True).returncode if not missing("ruby") else 0,
                     "skipped: ruby-sqlite3 or Bundler is not installed")
    def test_an_address(self):
        """With Debian's gem sqlite3, which Ruby finds without Bundler."""
        gemfile, *programs = self.blocks("ruby")
        (line,) = re.findall(r"^gem .*git:.*\n", gemfile, re.M)
        (self.project / "Gemfile").write_text(line)
        install = f"{self.BUNDLE}bundle config set --local path vendor\nbundle install"
        self.stops("Install gcc or clang, or set CC to one", install, CC="no-such-compiler")
        self.machine(install)
        for program in programs:
            self.shows(program, f"{self.BUNDLE}bundle exec ruby example.rb", "example.rb")

@needs("cmake", "gcc", "/usr/include/sqlite3.h")
class CMake(Checkout):
    def test_add_subdirectory_and_fetch_content(self):
        (self.project / "program.c").write_text(PROGRAM)
        (self.project / "filter.c").write_text(FILTER_PROGRAM)
        shutil.copy("/usr/include/sqlite3.h", self.project)  # which the program has, not its system
        page = (TOP / "ext/packages/README.md").read_text()
        for block, commands in zip(examples(page, "cmake"), (
                "cmake --build build -j2; build/program; build/filter",
                "cmake --build build -j2; build/filter; cd build; find . -name '*bloom*.a'"),
                strict=True):
            (self.project / "CMakeLists.txt").write_text(
                f"cmake_minimum_required(VERSION 3.14)\nproject(user C)\n{block}")
            printed = self.machine('rm -rf build; cmake -S . -B build -DBLOOM="$BLOOM";'
                                   f" {commands}", CPATH=str(self.project))
            if "program" in commands:
                self.assertIn(FINGERPRINT_WORDS, printed.splitlines())
            else:  # and nothing of SQLite
                self.assertEqual(printed.splitlines()[-1],
                                 "./_deps/sqlite-bloom-build/libsqlite-bloom-filter.a")

if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
