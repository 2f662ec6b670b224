#!/usr/bin/env python3
"""README.md as somebody types it who has nothing: a bare Debian and a bare Ubuntu, as debootstrap
makes them, a clone of the commit that is checked out, and the blocks in their order. The sh blocks
go to a shell, the sql blocks to the sqlite3 shell that the page opens, and what they print must be
what the page says; `make demo` must print the figures that README tells of it.

    newcomer_test.py [Debian | Ubuntu]

It needs root, debootstrap, git and a network, takes some six minutes for each system, and says what
it skips. ROOTS=FOLDER keeps the bare systems there for the next run.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
README = (TOP / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPTS = pathlib.Path("/usr/share/debootstrap/scripts")


class Newcomer:
    suite, mirror, script, components, keyring = "", "", "", "main", None

    @classmethod
    def setUpClass(cls):
        missing = [tool for tool in ("debootstrap", "git", "chroot") if shutil.which(tool) is None]
        if missing or os.geteuid() != 0:
            raise unittest.SkipTest(f"skipped: needs root and {', '.join(missing) or 'nothing'}")
        try:
            urllib.request.urlopen(f"{cls.mirror}/dists/{cls.suite}/Release", timeout=20).close()
        except OSError as error:
            raise unittest.SkipTest(f"skipped: {cls.mirror} does not answer: {error}") from error
        kept = os.environ.get("ROOTS")
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        bare = pathlib.Path(kept, cls.suite) if kept else cls.folder / "bare"
        if not (bare / "etc/os-release").exists():
            keys = [f"--keyring={cls.keyring}"] if cls.keyring else ["--no-check-gpg"]
            subprocess.run(["debootstrap", *keys, "--variant=minbase",
                            f"--components={cls.components}", cls.suite, bare, cls.mirror,
                            SCRIPTS / cls.script], check=True, stdout=subprocess.DEVNULL)
        cls.root = bare
        if kept:
            cls.root = cls.folder / "root"
            subprocess.run(["cp", "-a", bare, cls.root], check=True)
        subprocess.run(["git", "clone", "-q", TOP, cls.root / "root/bloom"], check=True)
        shutil.copy("/etc/resolv.conf", cls.root / "etc/resolv.conf")
        subprocess.run(["mount", "-t", "proc", "proc", cls.root / "proc"], check=False)
        cls.addClassCleanup(subprocess.run, ["umount", cls.root / "proc"], check=False)

    def type(self, *command, text):
        environment = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb",
                       "DEBIAN_FRONTEND": "noninteractive", "DEBCONF_NOWARNINGS": "yes"}
        return subprocess.run(["chroot", self.root, "sh", "-c", 'cd /root/bloom && exec "$@"', "sh",
                               *command], input=text, env=environment, text=True,
                              capture_output=True, check=False)

    def test_everything_in_its_order(self):
        blocks = BLOCK.findall(README)
        scripts = [text for language, text in blocks if language == "sh"]
        self.assertEqual(len(scripts), 2)
        self.assertIn("&& make\n", scripts[0])
        self.succeeds(self.type("sh", "-e", text=scripts[0]))
        typed = "".join(text for language, text in blocks if language == "sql")
        printed = "".join(text for language, text in blocks if language == "text")
        run = self.type("sqlite3", "my.db", text=typed)
        self.assertEqual((run.stdout, run.stderr, run.returncode), (printed, "", 0))
        demo = self.succeeds(self.type("make", "demo", text=""))
        told = re.search(r"([\d,]+) keys of (\d+) bytes at", README)
        self.assertRegex(demo, rf"different keys of them +{told[1]} keys")
        self.assertRegex(demo, r"missed +0 visits")
        sizes = re.search(r"  size +([\d,]+) +([\d,]+) bytes", demo)
        filtered, index = (int(size.replace(",", "")) for size in sizes.groups())
        self.assertIn(f"prints 1/{round(index / filtered)} of the size and less than 1/3 of",
                      README.replace("\n", " "))
        for _ in range(5):  # what else runs on the machine may slow one of the two
            times = re.search(r"  time to look all visits up +([\d,]+) +([\d,]+) ms", demo)
            filtered, index = (int(time.replace(",", "")) for time in times.groups())
            if filtered < index / 3:
                break
            demo = self.succeeds(self.type("make", "demo", text=""))
        self.assertLess(filtered, index / 3)
        self.without_what_tests_need()
        tests = self.succeeds(self.type("sh", "-e", text=scripts[1]))
        self.assertRegex(tests, r"\d{4,} passed, 0 failed, \d+ skipped")
        self.assertNotIn("apt-get install", tests)
        self.assertIn("skipped: pkg-config is not installed", tests)
        self.succeeds(self.type("make", "install", text=""))
        load = re.search(r"After `make install`[^.]*`(\.load \S+)` in any folder", README)[1]
        loads = f"{load}\nSELECT bloom_version();\n"
        self.assertRegex(self.succeeds(self.type("sh", "-ec", "cd / && sqlite3", text=loads)),
                         "^bloom ")
        self.succeeds(self.type("make", "help", text=""))

    def without_what_tests_need(self):
        """`make test` before the packages for it are there."""
        run = self.type("make", "test", text="")
        if run.returncode != 0:
            self.assertIn("make test needs python3: apt-get install python3\n", run.stderr)
            self.succeeds(self.type("apt-get", "install", "-y", "python3", text=""))
            run = self.type("make", "test", text="")
        tests = self.succeeds(run)
        for package in ("libcmocka-dev", "python3-apsw"):
            self.assertIn(f" is not installed: apt-get install {package}\n", tests)
        self.assertIn("skipped: git is not installed", tests)
        self.assertRegex(tests, r"\d{2,} passed, 0 failed, \d+ skipped")

    def succeeds(self, run):
        failed = "".join(re.findall(r"^FAIL .*\n(?: .*\n)*", run.stdout, re.MULTILINE))
        self.assertEqual(run.returncode, 0, (failed or run.stdout)[-6000:] + run.stderr[-3000:])
        self.assertNotIn("warning:", run.stdout + run.stderr)
        return run.stdout


class Debian(Newcomer, unittest.TestCase):
    suite, mirror, script = "bookworm", "http://deb.debian.org/debian", "bookworm"
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Ubuntu(Newcomer, unittest.TestCase):
    """Of the archive's keys Debian has none; nothing that is fetched leaves the folder."""
    suite, mirror, script = "noble", "http://archive.ubuntu.com/ubuntu", "gutsy"
    components = "main,universe"


if __name__ == "__main__":
    if not set(sys.argv[1:]) <= {"Debian", "Ubuntu"}:
        print(__doc__)
    unittest.main(verbosity=2)
