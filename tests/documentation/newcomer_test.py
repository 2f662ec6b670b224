#!/usr/bin/env python3
"""README.md as somebody types it who has nothing: a bare Debian and a bare Ubuntu, as debootstrap
makes them, a clone of the commit that is checked out, and the blocks in their order. The sh blocks
go to a shell, the sql blocks to the sqlite3 shell that the page opens, the program to Python, and
what they print must be what the page says. `make demo` must print the rates that README names. The
block of the tests is typed in a system of its own, so it must name all that it needs.

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
        cls.bare = bare

    def setUp(self):
        """A bare system for each command."""
        self.root = self.folder / self._testMethodName
        subprocess.run(["cp", "-a", self.bare, self.root], check=True)
        subprocess.run(["git", "clone", "-q", TOP, self.root / "root/bloom"], check=True)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        for system, place in (("proc", "proc"), ("devpts", "dev/pts")):
            subprocess.run(["mount", "-t", system, system, self.root / place], check=False)
            self.addCleanup(subprocess.run, ["umount", self.root / place], check=False)

    def type(self, *command, text):
        environment = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb",
                       "DEBIAN_FRONTEND": "noninteractive", "DEBCONF_NOWARNINGS": "yes"}
        return subprocess.run(["chroot", self.root, "sh", "-c", 'cd /root/bloom && exec "$@"', "sh",
                               *command], input=text, env=environment, text=True,
                              capture_output=True, check=False)

    def test_the_main_job(self):
        blocks = BLOCK.findall(README)
        start, own, _ = [text for language, text in blocks if language == "sh"]
        demo = self.succeeds(self.type("sh", "-e", text=start))
        self.assertRegex(demo, r"missed by the filter +0\n")
        rates = re.search(r"At ([\d.]+) % the demo flags\s+([\d.]+) % of", README)
        expected = float(re.search(r"for one key +([\d.]+) %", demo)[1])
        measured = float(re.search(r"flagged by mistake, ([\d.]+) %", demo)[1])
        self.assertLess(expected, 1.5 * float(rates[1]))
        self.assertEqual(measured, float(rates[2]))
        (self.root / "root/bloom/hosts.txt").write_text("0.0.0.0 evil.example\n")
        history = self.root / "root" / re.search(r"VISITS=~/(\S+)", own)[1]
        history.parent.mkdir(parents=True)
        history.write_text("https://sqlite.org/\nhttp://www.evil.example/a?b\n")
        self.assertIn("\n  http://www.evil.example/a?b\n      evil.example  (hosts.txt)\n",
                      self.succeeds(self.type("sh", "-e", text=own)))
        typed = "".join(text for language, text in blocks if language == "sql")
        printed = "".join(following[1] for block, following in zip(blocks, blocks[1:])
                          if block[0] == "sql" and following[0] == "text")
        run = self.type("sqlite3", "my.db", text=typed)
        self.assertEqual((run.stdout, run.stderr, run.returncode), (printed, "", 0))
        program, = [text for language, text in blocks if language == "python"]
        self.succeeds(self.type("apt-get", "install", "-qy", "python3", text=""))
        self.assertEqual(self.succeeds(self.type("python3", "-", text=program)), "1\n1\n0\n")
        self.succeeds(self.type("make", "install", text=""))
        path = re.search(r"`(/\S+)`, after `make install` as root", README)[1]
        loads = f".load {path}\nSELECT bloom_build();\n"
        self.assertRegex(self.succeeds(self.type("sh", "-ec", "cd / && sqlite3", text=loads)),
                         "^bloom ")
        self.succeeds(self.type("make", "help", text=""))

    def test_the_tests(self):
        *_, tests = [text for language, text in BLOCK.findall(README) if language == "sh"]
        printed = self.succeeds(self.type("sh", "-e", text=tests))
        passed, skipped = re.search(r"\n(\d+) passed, 0 failed, (\d+) skipped\n", printed).groups()
        self.assertGreater(int(passed), 4000)
        self.assertLessEqual(int(skipped), 10, "\n".join(re.findall(".*skipped: .*", printed)))
        self.assertNotRegex(printed, "skipped: .* is not installed")

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
