#!/usr/bin/env python3
"""What the recipes for conda and Conan make: used as somebody who installed the package would."""

import shutil
import unittest

from common import (BUILD, FINGERPRINT, FINGERPRINT_ANSWER, FINGERPRINT_WORDS, PROGRAM, RELEASE,
                    TOOLS, Scratch, loaded, run)


class Recipes(Scratch):
    def test_conda(self):
        (package,) = (BUILD / "recipes/conda").glob(f"*/sqlite-bloom-{RELEASE}-*.tar.bz2")
        shutil.unpack_archive(package, self.folder)
        connection = loaded(self.folder / "lib/bloom")
        self.assertEqual(connection.execute(FINGERPRINT).fetchone(), FINGERPRINT_ANSWER)
        self.assertTrue((self.folder / "include/sqlite-bloom.h").exists())

    def test_conan(self):
        (self.folder / "program.c").write_text(PROGRAM)
        run(TOOLS.parent / "conan", "install", f"--requires=sqlite-bloom/{RELEASE}",
            "-o=*:system_sqlite=True", "-g=PkgConfigDeps", "-of", self.folder,
            env={"CONAN_HOME": str(BUILD / "recipes/conan")})
        flags = run("pkg-config", "--cflags", "--libs", "sqlite-bloom",
                    env={"PKG_CONFIG_PATH": str(self.folder)}).split()
        run("cc", "program.c", *flags, "-lsqlite3", "-lm", cwd=self.folder)
        self.assertEqual(run(self.folder / "a.out").strip(), FINGERPRINT_WORDS)


if __name__ == "__main__":
    unittest.main()
