#!/usr/bin/env python3
"""Runs the programs of sql/README.md as they are printed: each block in a programming language is
written into the file that its first line names, each sh block typed into a shell, which must print
the text block after it. A section whose tools or packages cannot be had is skipped and says so.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from fetched import GO_PLACE, PATIENCE

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
GUAVA = pathlib.Path(os.environ.get("GUAVA", "/usr/share/java/guava.jar"))
GUAVA_PRINTED = "/usr/share/java/guava.jar"
PATH = f"/usr/bin:{os.environ['PATH']}:{GO_PLACE}"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FETCHES = re.compile(r"mvn .*|.*pip install .*|.*go get .*")
# What mvn, pip and go say of a registry; what it does not have is a mistake of the page.
UNREACHED = re.compile(r"ould not transfer|onnection (refused|reset|broken)|new connection|"
                       r"dial tcp|imed out|No plugin found for prefix 'dependency'")
# Sections and the programs that they need beside sqlite3.
NEEDS = {"Guava": ["javac"], "Spark": ["mvn", "javac"], "DCSO bloom and hashlookup": ["python3"],
         "Go": ["go"], "Parquet": ["python3"]}


def sections():
    text = (TOP / "sql/README.md").read_text(encoding="utf-8")
    parts = re.split(r"^### (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


class Programs(unittest.TestCase):
    def run_section(self, name):
        missing = [tool for tool in ["sqlite3", *NEEDS[name]] if not shutil.which(tool, path=PATH)]
        if name == "Guava" and not GUAVA.exists():
            missing.append(str(GUAVA))
        if missing:
            self.skipTest(f"skipped: not installed: {', '.join(missing)}")
        blocks = BLOCK.findall(sections()[name])
        self.assertGreaterEqual(len(blocks), 3)
        with tempfile.TemporaryDirectory() as folder:
            for library in ("bloom.so", "bloom.dylib"):
                if (TOP / library).exists():
                    shutil.copy(TOP / library, folder)
            for (language, text), (after, wanted) in zip(blocks, [*blocks[1:], ("", "")]):
                if language == "sh":
                    self.run_block(folder, text, wanted if after == "text" else "")
                elif language != "text":
                    file = re.match(r"(?://|#) ([\w.]+)\n", text)[1]
                    pathlib.Path(folder, file).write_text(text, encoding="utf-8")

    def run_block(self, folder, script, wanted):
        script = script.replace(GUAVA_PRINTED, str(GUAVA))
        try:
            run = subprocess.run(["sh", "-e"], input=script, cwd=folder, capture_output=True,
                                 text=True, check=False, timeout=PATIENCE,
                                 env=os.environ | {"PATH": PATH})
        except subprocess.TimeoutExpired:
            self.skipTest("skipped: a registry does not answer in time")
        if run.returncode != 0 and FETCHES.search(script) and UNREACHED.search(
                run.stdout + run.stderr):
            self.skipTest(f"skipped: a registry cannot be reached: {run.stderr[-200:]}")
        printed = run.stdout.replace("\x1b[0m", "")  # Maven's, also when it has nothing to say
        self.assertEqual((run.returncode, printed), (0, wanted), script + run.stderr)

    def test_every_section_with_programs_is_run(self):
        self.assertEqual({name for name, text in sections().items() if "```sh" in text},
                         set(NEEDS))


for each in NEEDS:
    setattr(Programs, f"test_{each.split()[0].lower()}",
            lambda self, name=each: self.run_section(name))


if __name__ == "__main__":
    unittest.main()
