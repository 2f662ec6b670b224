#!/usr/bin/env python3
"""The gem, installed into a folder of its own, with Debian's Ruby and its gem sqlite3."""

import re
import subprocess
import unittest

from common import (BUILD, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOP, Scratch, missing,
                    platforms, run)

GEM = BUILD / f"ruby/sqlite-bloom-{RELEASE}.gem"
PROGRAM = f"""
require "sqlite3"
require "sqlite-bloom"
database = SQLite3::Database.new(":memory:")
SqliteBloom.load(database)
p database.get_first_row("{FINGERPRINT}")
p SqliteBloom.to_path == SqliteBloom.loadable_path
RbConfig::CONFIG["host_cpu"] = "riscv64"
begin
  SqliteBloom.loadable_path
rescue LoadError => error
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
class Ruby(Scratch):
    def test_a_database_has_it(self):
        run("gem", "install", "--local", "--no-document", "--install-dir", self.folder, GEM)
        printed = run("ruby", "-e", PROGRAM, cwd=self.folder, env={"GEM_PATH": f"{self.folder}:"})
        self.assertRegex(printed, "^" + re.escape(str(list(FINGERPRINT_ANSWER))) + "\ntrue\n"
                         "sqlite-bloom has no library for .*. If this is the repository, run make"
                         " there. Otherwise build bloom from its source, and load it with"
                         " load_extension\n$")

    def test_what_is_no_database_is_named(self):
        for value, shown in (("nil", "nil"), ("'seen.db'", '"seen.db"')):
            said = run("ruby", "-I", TOP / "ext/packages/ruby/lib", "-rsqlite-bloom", "-e",
                       f"SqliteBloom.load({value}) rescue print $!.class, ': ', $!.message")
            self.assertEqual(said, f"TypeError: SqliteBloom.load: the database is {shown}. Pass a"
                             " SQLite3::Database")

    def test_it_holds_every_platform(self):
        contents = run("gem", "specification", GEM)
        for platform in platforms.PLATFORMS:
            self.assertIn(f"lib/sqlite_bloom/{platform.name}/{platform.library}", contents)


if __name__ == "__main__":
    unittest.main()
