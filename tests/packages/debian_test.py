#!/usr/bin/env python3
"""The Debian packages: what they hold, that they are built again to the same bytes, what lintian
and autopkgtest say, and the manual page.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from common import BUILD, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOP, missing, run

DEBIAN = BUILD / "debian"
VERSION = f"{RELEASE}-1"
ARCHITECTURE = run("dpkg", "--print-architecture").strip() if not missing("dpkg") else ""
TRIPLET = (
    run("dpkg-architecture", "-q", "DEB_HOST_MULTIARCH").strip()
    if not missing("dpkg-architecture")
    else ""
)
MODULE = DEBIAN / f"libsqlite3-mod-bloom_{VERSION}_{ARCHITECTURE}.deb"
DEVELOPMENT = DEBIAN / f"libsqlite-bloom-dev_{VERSION}_{ARCHITECTURE}.deb"

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


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def in_a_copy(self, commands, *arguments):
        return run(*(*NAMESPACE, "sh", "-c", COPY + ENTER, "sh", self.folder, DEBIAN, commands),
                   *arguments,
                   env={"DEBIAN_FRONTEND": "noninteractive", "MANPAGER": "cat", "MANWIDTH": "100"})

    def files(self, package):
        lines = run("dpkg-deb", "-c", package).splitlines()
        for line in lines:
            self.assertRegex(line, r"^(drwxr-xr-x|-rw-r--r--) root/root ")
        found = {line.split()[5].removeprefix("./") for line in lines if line.startswith("-")}
        return sorted(name for name in found if not name.startswith("usr/share/doc/"))

    def test_they_hold_module_manual_page_header_and_pkg_config(self):
        self.assertEqual(
            self.files(MODULE),
            [
                f"usr/lib/{TRIPLET}/bloom.so",
                "usr/share/lintian/overrides/libsqlite3-mod-bloom",
                "usr/share/man/man3/bloom.3sql.gz",
            ],
        )
        self.assertEqual(
            self.files(DEVELOPMENT),
            [
                "usr/include/sqlite-bloom-filter.h",
                "usr/include/sqlite-bloom.h",
                f"usr/lib/{TRIPLET}/cmake/sqlite-bloom/sqlite-bloom-config-version.cmake",
                f"usr/lib/{TRIPLET}/cmake/sqlite-bloom/sqlite-bloom-config.cmake",
                f"usr/lib/{TRIPLET}/libsqlite-bloom-filter.a",
                f"usr/lib/{TRIPLET}/pkgconfig/sqlite-bloom-filter.pc",
                f"usr/lib/{TRIPLET}/pkgconfig/sqlite-bloom.pc",
            ],
        )
        depends = run("dpkg-deb", "-f", MODULE, "Depends").strip()
        self.assertRegex(depends, r"^libc6 \(>= [\d.]+\)$")
        wanted = f"libsqlite3-dev, libsqlite3-mod-bloom (= {VERSION})"
        self.assertEqual(run("dpkg-deb", "-f", DEVELOPMENT, "Depends").strip(), wanted)
        for name in ("FORMAT.md.gz", "URLS.md.gz", "README.md.gz", "copyright"):
            self.assertIn(f"/usr/share/doc/libsqlite3-mod-bloom/{name}",
                          run("dpkg-deb", "-c", MODULE))

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
        orig = f"sqlite-bloom_{RELEASE}.orig.tar.gz"
        names = run("tar", "tzf", DEBIAN / orig).splitlines()
        folder = f"sqlite-bloom-{RELEASE}"
        self.assertEqual({name.split("/")[0] for name in names}, {folder})
        for name in ("Makefile", "LICENSE", "ext/extension.c", "tests/runner/run.py"):
            self.assertIn(f"{folder}/{name}", names)
        self.assertEqual([name for name in names if name.startswith(f"{folder}/debian/")], [])
        watch = (BUILD / f"work/debian/{folder}/debian/watch").read_text()
        self.assertEqual(watch.splitlines()[0], "version=4")
        pattern = watch.split()[-1]
        self.assertEqual(re.fullmatch(pattern, f"{folder}.tar.gz")[1], RELEASE)

    @unittest.skipIf(missing("lintian"), missing("lintian"))
    def test_lintian_finds_no_error(self):
        said = run("lintian", "--allow-root", "--fail-on", "none",
                   *DEBIAN.glob(f"*_{VERSION}_*.changes"))
        self.assertNotRegex(said, r"(?m)^E: ")
        warnings = set(re.findall(r"(?m)^W: \S+(?: source)?: (\S+)", said))
        # The number of the report that asks for the package is its uploader's.
        self.assertLessEqual(warnings, {"initial-upload-closes-no-bugs"})

    def test_autopkgtest_passes(self):
        reason = cannot_copy_the_system("autopkgtest")
        if reason:
            self.skipTest(reason)
        control = (TOP / "ext/packages/debian/tests/control").read_text()
        tests = re.findall(r"^Tests: (\w+)", control, re.M)
        self.assertGreater(len(tests), 2)
        said = self.in_a_copy("autopkgtest ./libsqlite*_*.deb ./*.dsc -- null 2>&1")
        for name in tests:
            self.assertRegex(said, rf"(?m)^(autopkgtest \[[\d:]+\]: )?{name} +PASS")

    def test_apt_installs_them_and_man_shows_the_page(self):
        reason = cannot_copy_the_system("man", "sqlite3", "gcc")
        if reason:
            self.skipTest(reason)
        output = self.in_a_copy(
            """
            apt-get install -qq -y --no-install-recommends ./libsqlite3-mod-bloom_*.deb \
                ./libsqlite-bloom-dev_*.deb >/dev/null
            sqlite3 -batch -init /dev/null -cmd '.load bloom' :memory: "$1"
            man bloom
            apt-get remove -qq -y libsqlite3-mod-bloom >/dev/null
            test ! -e /usr/include/sqlite-bloom.h
            """,
            FINGERPRINT,
        )
        self.assertIn("|".join(map(str, FINGERPRINT_ANSWER)) + "\n", output)
        self.assertIn("BLOOM(3sql)", output)
        self.assertIn("bloom_agg(key [, n [, p [, ", output)

    def test_the_manual_page_is_well_formed_and_names_everything(self):
        run("dpkg-deb", "-x", MODULE, self.folder)
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
            env={"MANWIDTH": "100", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin",
                 "MANPAGER": "cat"},
        )
        self.assertEqual(shown.stderr, "")
        self.assertRegex(shown.stdout, r"BLOOM\(3sql\)")
        self.assertRegex(shown.stdout, r"bloom_agg\(key \[, n \[, p \[, ")
        self.assertNotRegex(shown.stdout, r"\*\*|`")


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
