#!/usr/bin/env python3
"""The Debian packages: what they hold, what lintian and autopkgtest say, and the manual page."""

import re
import unittest

from common import BUILD, NAMESPACE, OVERLAY, RELEASE, TOP, Scratch, can_mount, needs, run

DEBIAN = BUILD / "debian"
VERSION = f"{RELEASE}-1"
MODULE = "libsqlite3-mod-bloom"
# Without what is in usr/share/doc; LIB is the folder of the architecture.
FILES = {
    MODULE: """LIB/bloom.so usr/share/lintian/overrides/libsqlite3-mod-bloom
        usr/share/man/man3/bloom.3sql.gz""",
    "libsqlite-bloom-dev": """LIB/cmake/sqlite-bloom/sqlite-bloom-config-version.cmake
        LIB/cmake/sqlite-bloom/sqlite-bloom-config.cmake LIB/libsqlite-bloom-filter.a
        LIB/pkgconfig/sqlite-bloom-filter.pc LIB/pkgconfig/sqlite-bloom.pc
        usr/include/sqlite-bloom-filter.h usr/include/sqlite-bloom.h"""}

# $2: our packages.
AUTOPKGTEST = OVERLAY + """
mkdir -p root/packages
cp "$2"/*.deb "$2"/*.dsc "$2"/*.tar.* root/packages/
exec chroot . sh -c "cd /root/packages; autopkgtest ./libsqlite*_*.deb ./*.dsc -- null 2>&1"
"""


class Packages(Scratch):
    def path(self, package):
        (path,) = DEBIAN.glob(f"{package}_{VERSION}_*.deb")
        return path

    def test_they_hold_module_manual_page_header_and_pkg_config(self):
        for package, files in FILES.items():
            listing = re.sub(r"usr/lib/[^/]+-linux-[^/\n]+", "LIB",
                             run("dpkg-deb", "-c", self.path(package)))
            self.assertEqual(set(re.findall(r"^(\S+) (\S+)", listing, re.MULTILINE)),
                             {("drwxr-xr-x", "root/root"), ("-rw-r--r--", "root/root")})
            names = re.findall(r" \./(\S*[^/\s])$", listing, re.MULTILINE)
            self.assertEqual(sorted(name for name in names if "/doc/" not in name), files.split())
            if package == MODULE:
                self.assertLessEqual(
                    {f"usr/share/doc/{MODULE}/{name}"
                     for name in ("FORMAT.md.gz", "URLS.md.gz", "README.md.gz", "copyright")},
                    set(names))

    def test_the_source_package_holds_the_sources(self):
        names = run("tar", "tzf", DEBIAN / f"sqlite-bloom_{RELEASE}.orig.tar.gz").splitlines()
        folder = f"sqlite-bloom-{RELEASE}"
        self.assertEqual({name.split("/")[0] for name in names}, {folder})
        for name in ("Makefile", "LICENSE", "ext/extension.c", "tests/runner/run.py"):
            self.assertIn(f"{folder}/{name}", names)
        version, *_, pattern = (BUILD / f"scratch/debian/{folder}/debian/watch").read_text().split()
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

    @needs("unshare", "autopkgtest")
    def test_autopkgtest_passes(self):
        if not can_mount(self.folder):
            self.skipTest("skipped: no overlay of this system can be mounted")
        said = run(*NAMESPACE, AUTOPKGTEST, "sh", self.folder, DEBIAN)
        control = (TOP / "ext/packages/debian/tests/control").read_text()
        tests = re.findall(r"^Tests: (\w+)", control, re.M)
        self.assertGreater(len(tests), 2)
        for name in tests:
            self.assertRegex(said, rf"(?m)^(autopkgtest \[[\d:]+\]: )?{name} +PASS")

    @needs("man")
    def test_the_manual_page_names_everything(self):
        run("dpkg-deb", "-x", self.path(MODULE), self.folder)
        page = self.folder / "usr/share/man/man3/bloom.3sql.gz"
        shown = run("man", "--warnings=w", "--nj", "-l", page,
                    env={"MANPAGER": "cat", "MANWIDTH": "100"})
        self.assertIn("bloom_agg(key [, n [, p [, ", shown)
        self.assertNotRegex(shown, r"\*\*|`|warning")
        source = run("gzip", "-dc", page)
        names = re.findall(r'\{"(bloom_\w+)"', (TOP / "ext/extension.c").read_text())
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertRegex(source, rf"(?m)^\.SS\n{name}$")
        self.assertIn(f'"bloom {RELEASE}"', source)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
