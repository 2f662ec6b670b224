#!/usr/bin/env python3
"""The Debian packages: what they hold, that they are built again to the same bytes, what lintian
and autopkgtest say, and the manual page.
"""

import os
import re
import subprocess
import tempfile
import unittest

from common import (BUILD, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOP, Scratch, missing, needs,
                    run)

DEBIAN = BUILD / "debian"
VERSION = f"{RELEASE}-1"
ARCHITECTURE = run("dpkg", "--print-architecture").strip() if not missing("dpkg") else ""
TRIPLET = (
    run("dpkg-architecture", "-q", "DEB_HOST_MULTIARCH").strip()
    if not missing("dpkg-architecture")
    else ""
)
MODULE, DEVELOPMENT = (DEBIAN / f"{name}_{VERSION}_{ARCHITECTURE}.deb"
                       for name in ("libsqlite3-mod-bloom", "libsqlite-bloom-dev"))
FILES = {
    MODULE: [
        f"usr/lib/{TRIPLET}/bloom.so",
        "usr/share/lintian/overrides/libsqlite3-mod-bloom",
        "usr/share/man/man3/bloom.3sql.gz",
    ],
    DEVELOPMENT: [
        "usr/include/sqlite-bloom-filter.h",
        "usr/include/sqlite-bloom.h",
        f"usr/lib/{TRIPLET}/cmake/sqlite-bloom/sqlite-bloom-config-version.cmake",
        f"usr/lib/{TRIPLET}/cmake/sqlite-bloom/sqlite-bloom-config.cmake",
        f"usr/lib/{TRIPLET}/libsqlite-bloom-filter.a",
        f"usr/lib/{TRIPLET}/pkgconfig/sqlite-bloom-filter.pc",
        f"usr/lib/{TRIPLET}/pkgconfig/sqlite-bloom.pc",
    ],
}
DEPENDS = {MODULE: r"libc6 \(>= [\d.]+\)",
           DEVELOPMENT: rf"libsqlite3-dev, libsqlite3-mod-bloom \(= {re.escape(VERSION)}\)"}

# As its users do, in a copy of this system that is gone afterwards: the system's files lie under an
# overlay in a mount namespace of its own. Images of containers leave manual pages out by an option
# of dpkg.
COPY = """
set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
"""
ENTER = """
mkdir -p "$1/root/root/packages"
cp "$2"/*.deb "$2"/*.dsc "$2"/*.tar.* "$1/root/root/packages/"
for folder in dev proc; do mount --rbind "/$folder" "$1/root/$folder"; done
rm -f "$1/root/etc/dpkg/dpkg.cfg.d/"*
cd "$1/root"
exec chroot . sh -ec "cd /root/packages; $3" sh "$4"
"""
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]


def cannot_copy_the_system(*tools):
    """Why COPY cannot run here, with these tools in it; empty when it can."""
    absent = missing("unshare", "apt-get", *tools)
    if absent:
        return absent
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run(
            [*NAMESPACE, "sh", "-c", COPY, "sh", folder], capture_output=True, check=False
        )
    return "" if tried.returncode == 0 else "skipped: no overlay of this system can be mounted"


class Packages(Scratch):
    def in_a_copy(self, commands, *arguments, tools):
        if reason := cannot_copy_the_system(*tools):
            self.skipTest(reason)
        return run(*NAMESPACE, "sh", "-c", COPY + ENTER, "sh", self.folder, DEBIAN, commands,
                   *arguments,
                   env={"DEBIAN_FRONTEND": "noninteractive", "MANPAGER": "cat", "MANWIDTH": "100"})

    def test_they_hold_module_manual_page_header_and_pkg_config(self):
        for package, files in FILES.items():
            lines = [line.split() for line in run("dpkg-deb", "-c", package).splitlines()]
            self.assertLessEqual({(mode, owner) for mode, owner, *_ in lines},
                                 {("drwxr-xr-x", "root/root"), ("-rw-r--r--", "root/root")})
            names = [words[5].removeprefix("./") for words in lines if words[0][0] == "-"]
            self.assertEqual(
                sorted(name for name in names if not name.startswith("usr/share/doc/")), files)
            self.assertRegex(run("dpkg-deb", "-f", package, "Depends"), f"^{DEPENDS[package]}\n$")
            if package == MODULE:
                documents = {name.removeprefix("usr/share/doc/libsqlite3-mod-bloom/")
                             for name in names}
                self.assertLessEqual({"FORMAT.md.gz", "URLS.md.gz", "README.md.gz", "copyright"},
                                     documents)

    def test_the_source_package_builds_the_same_bytes_elsewhere(self):
        """In another folder, on another day, in another time zone and language; without the
        scripts, which passed as the first one was built."""
        run("dpkg-source", "-x", DEBIAN / f"sqlite-bloom_{VERSION}.dsc", "source", cwd=self.folder)
        environment = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "USER": "other", "MAKEFLAGS": "",
                       "DEB_BUILD_OPTIONS": "nocheck"}
        run("dpkg-buildpackage", "--no-sign", "--build=binary", cwd=self.folder / "source",
            env=environment)
        again = sorted(self.folder.glob("*.deb"))
        self.assertEqual([path.name for path in again],
                         sorted(path.name for path in DEBIAN.glob("*.deb")))
        self.assertGreater(len(again), 2)  # with what a debugger reads
        for path in again:
            self.assertTrue(path.read_bytes() == (DEBIAN / path.name).read_bytes(), path.name)

    def test_the_source_package_holds_the_sources(self):
        names = run("tar", "tzf", DEBIAN / f"sqlite-bloom_{RELEASE}.orig.tar.gz").splitlines()
        folder = f"sqlite-bloom-{RELEASE}"
        self.assertEqual({name.split("/")[0] for name in names}, {folder})
        for name in ("Makefile", "LICENSE", "ext/extension.c", "tests/runner/run.py"):
            self.assertIn(f"{folder}/{name}", names)
        self.assertEqual([name for name in names if name.startswith(f"{folder}/debian/")], [])
        version, *_, pattern = (BUILD / f"work/debian/{folder}/debian/watch").read_text().split()
        self.assertEqual(version, "version=4")
        self.assertEqual(re.fullmatch(pattern, f"{folder}.tar.gz")[1], RELEASE)

    @needs("lintian")
    def test_lintian_finds_no_error(self):
        said = run("lintian", "--allow-root", "--fail-on", "none",
                   *DEBIAN.glob(f"*_{VERSION}_*.changes"))
        self.assertNotRegex(said, r"(?m)^E: ")
        warnings = set(re.findall(r"(?m)^W: \S+(?: source)?: (\S+)", said))
        # The number of the report that asks for the package is its uploader's.
        self.assertLessEqual(warnings, {"initial-upload-closes-no-bugs"})

    def test_autopkgtest_passes(self):
        said = self.in_a_copy("autopkgtest ./libsqlite*_*.deb ./*.dsc -- null 2>&1",
                              tools=["autopkgtest"])
        control = (TOP / "ext/packages/debian/tests/control").read_text()
        tests = re.findall(r"^Tests: (\w+)", control, re.M)
        self.assertGreater(len(tests), 2)
        for name in tests:
            self.assertRegex(said, rf"(?m)^(autopkgtest \[[\d:]+\]: )?{name} +PASS")

    def test_apt_installs_them_and_man_shows_a_page_that_names_everything(self):
        output = self.in_a_copy(
            """
            apt-get install -qq -y --no-install-recommends ./libsqlite3-mod-bloom_*.deb \
                ./libsqlite-bloom-dev_*.deb >/dev/null
            sqlite3 -batch -init /dev/null -cmd '.load bloom' :memory: "$1"
            man --warnings=w bloom
            gzip -dc /usr/share/man/man3/bloom.3sql.gz
            apt-get remove -qq -y libsqlite3-mod-bloom >/dev/null
            test ! -e /usr/include/sqlite-bloom.h
            """,
            FINGERPRINT,
            tools=["man", "sqlite3", "gcc"],
        )
        answer, shown, source = re.fullmatch(
            r"(?s)(.*?\n)(BLOOM\(3sql\).*?)(\n\.(?:TH|\\).*)", output).groups()
        self.assertIn("|".join(map(str, FINGERPRINT_ANSWER)) + "\n", answer)
        self.assertIn("bloom_agg(key [, n [, p [, ", shown)
        self.assertNotRegex(shown, r"\*\*|`|warning")
        names = set(re.findall(r'\{"(bloom_\w+)"', (TOP / "ext/extension.c").read_text()))
        self.assertGreater(len(names), 10)
        for name in sorted(names):
            self.assertIn(f'\n.B "{name}(', source, name)
        self.assertIn(f'"bloom {RELEASE}"', source)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
