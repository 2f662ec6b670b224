#!/usr/bin/env python3
"""What the recipes for conda and Conan make: used as somebody who installed the package would."""

import pathlib
import shutil
import sqlite3
import tempfile
import unittest

from common import BUILD, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, TOOLS, WORK, run

CONDA = WORK / "recipes/conda"
CONAN = {"CONAN_HOME": str(WORK / "recipes/conan")}
PROGRAM = f"""
#include <sqlite-bloom.h>
#include <stdio.h>
int main(void) {{
    sqlite3 *database;
    sqlite3_stmt *statement;
    sqlite3_auto_extension((void (*)(void))sqlite3_bloom_init);
    sqlite3_open(":memory:", &database);
    sqlite3_prepare_v2(database, "{FINGERPRINT}", -1, &statement, NULL);
    sqlite3_step(statement);
    for (int i = 0; i < 3; i++)
        printf("%d ", sqlite3_column_int(statement, i));
    return 0;
}}
"""


class Recipes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_conda(self):
        (package,) = CONDA.glob(f"*/sqlite-bloom-{RELEASE}-*.tar.bz2")
        shutil.unpack_archive(package, self.folder)
        connection = sqlite3.connect(":memory:")
        connection.enable_load_extension(True)
        connection.load_extension(str(self.folder / "lib/bloom"))
        self.assertEqual(connection.execute(FINGERPRINT).fetchone(), FINGERPRINT_ANSWER)
        self.assertTrue((self.folder / "include/sqlite-bloom.h").exists())

    def test_conan(self):
        (self.folder / "program.c").write_text(PROGRAM)
        run(TOOLS.parent / "conan", "install", f"--requires=sqlite-bloom/{RELEASE}",
            "-o=*:system_sqlite=True", "-g=PkgConfigDeps", "-of", self.folder, env=CONAN)
        flags = run("pkg-config", "--cflags", "--libs", "sqlite-bloom",
                    env={"PKG_CONFIG_PATH": str(self.folder)}).split()
        run("cc", "-o", self.folder / "program", self.folder / "program.c", *flags, "-lsqlite3",
            "-lm")
        self.assertEqual(run(self.folder / "program").split(), list(map(str, FINGERPRINT_ANSWER)))


if __name__ == "__main__":
    unittest.main()
