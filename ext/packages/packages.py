#!/usr/bin/env python3
"""The packages, what each needs to be built, and how each is tested.

    packages.py can NAME...    prints those that can be built here, and says of the others what to
                               install; fails when there are such
    packages.py suites         prints all tests as tests/runner/run.py takes them
    packages.py sums           writes SHA256SUMS of what is published
"""

import hashlib
import pathlib
import shlex
import shutil
import sys
import sysconfig

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import release  # noqa: E402

PYTHON = sys.executable


# What packages are built with: the package of Debian, and the command or file by which it is here.
# Debian splits ensurepip, without which a new environment has no pip, from Python. And
# dpkg-buildpackage asks for the package python3-apsw, not for the module.
TOOLS = {
    "gcc": "gcc",
    "libsqlite3-dev": "/usr/include/sqlite3ext.h",
    "python3-venv": f"{sysconfig.get_path('stdlib')}/ensurepip",
    "npm": "npm",
    "cargo": "cargo",
    "dpkg-dev": "dpkg-buildpackage",
    "debhelper": "dh",
    "lowdown": "lowdown",
    "python3-apsw": "/usr/lib/python3/dist-packages/apsw",
    "emscripten": "emcc",
    "default-jdk-headless": "javac",
    "maven": "mvn",
    "ruby": "gem",
}
# By the names of their targets: what each needs, and its suites: a title, and the arguments of its
# program in tests/packages. Those that take longest come first.
BINARIES = "gcc libsqlite3-dev python3-venv"
PACKAGES = {
    "wheel": (BINARIES, {
        "Python programs": "python_test.py Programs",
        "sdist and files of Python": "python_test.py SourceDistribution Files Versions"}),
    "amalgamation": ("gcc libsqlite3-dev", {
        **{f"a checkout and {name}": f"checkout_test.py {name}"
           for name in "Go Cargo Pip Maven Bundler CMake".split()},
        "amalgamation": "amalgamation_test.py"}),
    "crate": ("cargo", {"crate": "checkout_test.py Crate"}),
    "page": ("npm emscripten", {"WebAssembly": "web_test.py", "the page": "page_test.py"}),
    "site": ("python3-venv", {"the site": "site_test.py"}),
    "deb": ("gcc libsqlite3-dev python3-apsw dpkg-dev debhelper lowdown",
            {"Debian packages": "debian_test.py"}),
    "binaries": (BINARIES, {
        "binaries on arm64": "binaries_test.py Arm64",
        "binaries on arm64 with musl": "binaries_test.py MuslArm64",
        "binaries": "binaries_test.py X86 Contents"}),
    "npm": (f"{BINARIES} npm", {
        "a checkout and npm": "checkout_test.py Npm",
        "npm packages": "npm_test.py Npm Files",
        "drivers of Node.js": "npm_test.py Drivers"}),
    "gem": (f"{BINARIES} ruby", {"gem": "ruby_test.py"}),
    "recipes": (BINARIES, {"recipes for conda and Conan": "package_recipes_test.py"}),
    "jar": (f"{BINARIES} default-jdk-headless maven", {"Java package": "java_test.py"}),
}
# The packages whose tests need what tests/packages/fetch.sh fetches: drivers and bundlers.
WITH_DRIVERS = ("page", "site", "wheel", "npm")


def reason(name):
    """Why a package cannot be built here, in words; empty if it can."""
    lacking = " ".join(tool for tool in PACKAGES[name][0].split()
                       if not (shutil.which(TOOLS[tool]) or pathlib.Path(TOOLS[tool]).exists()))
    return lacking and f"make {name} needs {lacking}: apt-get install {lacking}"


def suites():
    """Each as a word of the shell."""
    for name, (_, tests) in PACKAGES.items():
        target = f"[{name} drivers]" if name in WITH_DRIVERS else f"[{name}]"
        said = f"skipped: {reason(name)}\\n0 passed, 0 failed, 1 skipped\\n"
        for title, test in tests.items():
            command = (f"printf {shlex.quote(said)}" if reason(name) else
                       f"{target} {shlex.quote(PYTHON)} tests/packages/{test}")
            yield shlex.quote(f"{title}={command}")


def write_sums():
    """SHA256SUMS of the files that RELEASING.md uploads, as sha256sum prints and checks them."""
    published = sorted(
        path
        for pattern in ("*/*.zip", "*/*.whl", "*/*.tar.gz", "*/*.tgz", "*/*.crate", "*/*.gem",
                        "*/*.deb", "java/**/*.jar")
        for path in release.BUILD.glob(pattern)
        if path.relative_to(release.BUILD).parts[0] != "scratch"
    )
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(release.BUILD)}\n"
             for path in published]
    (release.BUILD / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def main(arguments):
    command, *names = arguments or [""]
    if unknown := set(names) - set(PACKAGES):
        sys.exit(f"packages.py: there is no package {', '.join(sorted(unknown))}; there are "
                 f"{', '.join(PACKAGES)}")
    if command == "can" and names:
        print(*(name for name in names if not reason(name)))
        return "\n".join(filter(None, map(reason, names))) or 0
    if command in ("suites", "sums") and not names:
        print(*suites()) if command == "suites" else write_sums()
        return 0
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
