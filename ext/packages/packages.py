#!/usr/bin/env python3
"""The packages, what each needs to be built, and how each is tested.

    packages.py need NAME      succeeds when package NAME can be built here; otherwise says what to
                               install
    packages.py build NAME...  builds those that can be built here, and says why the others are not
    packages.py all            the same with every package, then runs the tests of what was built,
                               and writes SHA256SUMS of what is published; the last line is
                               `N passed, N failed, N skipped`
    packages.py suites         prints these tests as tests/runner/run.py takes them
    packages.py wait NAME      waits until `all` has built NAME, or can build no more; succeeds when
                               it has
"""

import fcntl
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import release  # noqa: E402

PYTHON = sys.executable


def has_header():
    return pathlib.Path("/usr/include/sqlite3ext.h").exists()


def has_venv():
    """Debian splits ensurepip, without which a new environment has no pip, from Python."""
    command = [PYTHON, "-c", "import ensurepip, venv"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def has_apsw():
    """dpkg-buildpackage asks for the package, not for the module."""
    return pathlib.Path("/usr/lib/python3/dist-packages/apsw").exists()


def has(command):
    return lambda: shutil.which(command) is not None


# What packages are built with: the package of Debian that has it, and whether it is here.
TOOLS = {
    "gcc": has("gcc"),
    "libsqlite3-dev": has_header,
    "python3-venv": has_venv,
    "npm": has("npm"),
    "cargo": has("cargo"),
    "dpkg-dev": has("dpkg-buildpackage"),
    "debhelper": has("dh"),
    "python3-apsw": has_apsw,
    "emscripten": has("emcc"),
    "default-jdk-headless": has("javac"),
    "maven": has("mvn"),
    "ruby": has("gem"),
}


class Package:
    def __init__(self, folder, needs, *tests):
        self.folder = folder  # of build/packages
        self.needs = needs.split()
        self.tests = tests  # suites: a title, and the arguments of its program in tests/packages

    def lacks(self):
        """The packages of Debian that are missing."""
        return [tool for tool in self.needs if not TOOLS[tool]()]

    def stamp(self):
        return release.BUILD / self.folder / "built"


# By the names of their targets, in the order of their tests: first what is soon built, of which the
# tests that take longest come first.
BINARIES = "gcc libsqlite3-dev python3-venv"
PACKAGES = {
    "amalgamation": Package(
        "amalgamation",
        "gcc libsqlite3-dev",
        *((f"a checkout and {name}", f"checkout_test.py {name}")
          for name in "Go Cargo Pip Maven Bundler CMake".split()),
        ("amalgamation", "amalgamation_test.py"),
    ),
    "crate": Package("rust", "cargo", ("crate", "checkout_test.py Crate")),
    "page": Package("web", "npm emscripten", ("WebAssembly", "web_test.py"),
                    ("the page", "page_test.py")),
    "site": Package("site", "python3-venv", ("the site", "site_test.py")),
    "deb": Package(
        "debian",
        "gcc libsqlite3-dev python3-apsw dpkg-dev debhelper",
        ("Debian packages", "debian_test.py"),
    ),
    "binaries": Package(
        "binaries",
        BINARIES,
        ("binaries on arm64", "binaries_test.py Arm64"),
        ("binaries on arm64 with musl", "binaries_test.py MuslArm64"),
        ("binaries", "binaries_test.py X86 Contents"),
    ),
    "wheel": Package(
        "python",
        BINARIES,
        ("Python programs", "python_test.py Programs"),
        ("sdist and files of Python", "python_test.py SourceDistribution Files Versions"),
    ),
    "npm": Package(
        "npm",
        BINARIES + " npm",
        ("a checkout and npm", "checkout_test.py Npm"),
        ("npm packages", "npm_test.py Npm Files"),
        ("drivers of Node.js", "npm_test.py Drivers"),
    ),
    "gem": Package("ruby", BINARIES + " ruby", ("gem", "ruby_test.py")),
    "recipes": Package(
        "recipes", BINARIES, ("recipes for conda and Conan", "package_recipes_test.py")
    ),
    "jar": Package(
        "java", BINARIES + " default-jdk-headless maven", ("Java package", "java_test.py")
    ),
}
# The packages whose tests need what tests/packages/fetch.sh fetches: drivers and bundlers.
WITH_DRIVERS = ("page", "site", "wheel", "npm")
DRIVERS = release.TOP / "build/drivers/ready"
BUILDING = release.BUILD / "building"  # locked as long as `all` builds
SKIPPED = "0 passed, 0 failed, 1 skipped"
# Much of the testing waits: for registries, for a browser, for one thread of a compiler.
JOBS = 2 * (os.cpu_count() or 1)


def reason(name, lacking):
    return f"make {name} needs {' '.join(lacking)}: apt-get install {' '.join(lacking)}"


def make(*arguments):
    command = [*shlex.split(os.environ.get("MAKE", "make")), "--no-print-directory", *arguments]
    if "jobserver" not in os.environ.get("MAKEFLAGS", ""):
        command.append(f"-j{os.cpu_count() or 1}")
    return subprocess.run(command, cwd=release.TOP, check=False).returncode


def refusal(words):
    """A suite that says why it does not run."""
    return f"printf '%s\\n' {shlex.quote(words)}"


def problem_of(name):
    """Why there is no package: a sum of no tests in words, as the tests' runner reads them; empty
    when it is built.
    """
    if lacking := PACKAGES[name].lacks():
        return f"skipped: {reason(name, lacking)}\n{SKIPPED}\n"
    for target, stamp in stamps(name).items():
        if make("-q", str(stamp.relative_to(release.TOP))) != 0:
            return f"make {target} failed, see above\n0 passed, 1 failed\n"
    return ""


def stamps(name):
    """What the tests of a package need: targets, and the last file that each makes."""
    return {name: PACKAGES[name].stamp(), **({"drivers": DRIVERS} if name in WITH_DRIVERS else {})}


def build(names):
    """Builds what can be built."""
    if wanted := [name for name in names if not PACKAGES[name].lacks()]:
        make("-k", *wanted)


def build_under(lock):
    """Builds everything. What the tests fetch and the binaries come first, because most packages
    are made from the binaries, and zig takes long to compile them.
    """
    with lock:  # which its end releases
        wanted = [name for name in ["binaries", *PACKAGES] if not PACKAGES[name].lacks()]
        make("-k", "drivers", *wanted)


def wait(name):
    with open(BUILDING, encoding="ascii") as lock:
        begun = BUILDING.stat().st_mtime
        while not all(stamp.exists() and stamp.stat().st_mtime >= begun
                      for stamp in stamps(name).values()):
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.2)
    problem = problem_of(name)
    print(problem, end="")
    return int(bool(problem))


def build_and_test():
    """The tests of a package begin as soon as it is built."""
    BUILDING.parent.mkdir(parents=True, exist_ok=True)
    lock = open(BUILDING, "w", encoding="ascii")
    fcntl.flock(lock, fcntl.LOCK_EX)
    building = threading.Thread(target=build_under, args=[lock])
    building.start()
    suites = []
    for name, package in PACKAGES.items():
        for title, test in package.tests:
            command = f"{shlex.quote(PYTHON)} tests/packages/{test}"
            if package.lacks():
                command = refusal(problem_of(name))
            else:
                command = f"{shlex.quote(PYTHON)} ext/packages/packages.py wait {name} && {command}"
            suites.append(f"{title}={command}")
    environment = {**os.environ, "JOBS": os.environ.get("JOBS") or str(JOBS)}
    runner = [PYTHON, "tests/runner/run.py", *suites]
    status = subprocess.run(runner, cwd=release.TOP, check=False, env=environment).returncode
    building.join()
    write_sums()
    return status


def write_sums():
    """SHA256SUMS of the files that RELEASING.md uploads, as sha256sum prints and checks them."""
    published = sorted(
        path
        for pattern in ("*/*.zip", "*/*.whl", "*/*.tar.gz", "*/*.tgz", "*/*.crate", "*/*.gem",
                        "*/*.deb", "java/**/*.jar")
        for path in release.BUILD.glob(pattern)
        if path.relative_to(release.BUILD).parts[0] != "work"
    )
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(release.BUILD)}\n"
             for path in published]
    (release.BUILD / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def suites():
    """Each as a word of the shell."""
    for name, package in PACKAGES.items():
        for title, test in package.tests:
            needed = " ".join(stamps(name))
            command = f"[{needed}] {shlex.quote(PYTHON)} tests/packages/{test}"
            if package.lacks():
                command = refusal(f"skipped: {reason(name, package.lacks())}\n{SKIPPED}")
            yield shlex.quote(f"{title}={command}")


def main(arguments):
    command, *names = arguments or [""]
    if unknown := set(names) - set(PACKAGES):
        sys.exit(f"packages.py: there is no package {', '.join(sorted(unknown))}; there are "
                 f"{', '.join(PACKAGES)}")
    if command == "need" and len(names) == 1:
        lacking = PACKAGES[names[0]].lacks()
        return reason(names[0], lacking) if lacking else 0
    if command == "build" and names:
        build(names)
        problems = list(filter(None, map(problem_of, names)))
        for problem in problems:
            print(problem.splitlines()[0])
        return int(any("skipped" not in problem for problem in problems))
    if command == "wait" and len(names) == 1:
        return wait(names[0])
    if command == "all" and not names:
        return build_and_test()
    if command == "suites" and not names:
        print(" ".join(suites()))
        return 0
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
