#!/usr/bin/env python3
"""The gem, installed into a folder of its own, with Debian's Ruby and its gem sqlite3."""

import re
import subprocess
import tempfile
import unittest

from common import BUILD, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOP, missing, platforms, run

GEM = BUILD / f"ruby/sqlite-bloom-{RELEASE}.gem"
PROGRAM = f"""
require "sqlite3"
require "sqlite-bloom"
database = SQLite3::Database.new(":memory:")
SqliteBloom.load(database)
p database.get_first_row("{FINGERPRINT}")
p SqliteBloom.to_path == SqliteBloom.loadable_path
begin
  database.get_first_value("SELECT load_extension('x')")
rescue SQLite3::Exception => error
  puts error.message
end
"""


def lacking():
    """What is not installed, in words for a skip."""
    if tools := missing("ruby", "gem"):
        return tools
    has = subprocess.run(["ruby", "-e", "require 'sqlite3'"], capture_output=True, check=False)
    return "" if has.returncode == 0 else "skipped: ruby-sqlite3 is not installed"


@unittest.skipIf(lacking(), lacking())
class Ruby(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        run("gem", "install", "--local", "--no-document", "--install-dir", self.folder, GEM)

    def ruby(self, program):
        return run("ruby", "-e", program, cwd=self.folder, env={"GEM_PATH": self.folder + ":"})

    def test_a_database_has_it_and_loads_nothing_else(self):
        self.assertEqual(self.ruby(PROGRAM).splitlines(),
                         [str(list(FINGERPRINT_ANSWER)), "true", "not authorized"])

    def test_the_example_of_the_readme(self):
        readme = (TOP / "ext/packages/ruby/README.md").read_text()
        program, answer = re.search(r"```ruby\n(.*?)```\n\nIt prints `(.*?)`", readme,
                                    re.DOTALL).groups()
        self.assertEqual(self.ruby(program), answer + "\n")

    def test_it_holds_every_platform_and_where_the_project_is(self):
        contents = run("gem", "specification", GEM)
        for platform in platforms.PLATFORMS:
            self.assertIn(f"lib/sqlite_bloom/{platform.name}/{platform.library}", contents)
        for name in ("source_code_uri", "bug_tracker_uri", "homepage"):
            self.assertRegex(contents, rf"{name}: https://")

    def test_a_machine_without_a_library_is_told(self):
        output = self.ruby("""
            require "rbconfig"
            RbConfig::CONFIG["host_cpu"] = "riscv64"
            require "sqlite_bloom"
            begin
              SqliteBloom.loadable_path
            rescue LoadError => error
              puts error.message
            end""")
        self.assertRegex(output, "^sqlite-bloom has no library for .*. Build bloom from its "
                                 "source, and load it with load_extension$")


if __name__ == "__main__":
    unittest.main()
