#!/usr/bin/env python3
"""Fetches SQLite's own amalgamation, for what needs SQLite compiled in: the WebAssembly module, and
tests on foreign machines.

npm's better-sqlite3 carries it. Prints the folder of sqlite3.c, sqlite3.h and sqlite3ext.h, which
is filled once.
"""

import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import release  # noqa: E402

PACKAGE = "better-sqlite3@12.11.1"
NAMES = ("sqlite3.c", "sqlite3.h", "sqlite3ext.h")


def folder():
    target = release.BUILD / "work" / "sqlite-source"
    if not all((target / name).exists() for name in NAMES):
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            subprocess.run(
                ["npm", "pack", "--silent", "--prefer-offline", PACKAGE],
                cwd=temporary,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            with tarfile.open(next(pathlib.Path(temporary).glob("*.tgz"))) as archive:
                for name in NAMES:
                    contents = archive.extractfile(f"package/deps/sqlite3/{name}").read()
                    release.replace(target / name, contents)
    return target


if __name__ == "__main__":
    print(folder())
