#!/usr/bin/env python3
"""Fetches the source of SQLite and of its shell, for what needs SQLite compiled in: the WebAssembly
module, and tests on foreign machines.

npm's better-sqlite3 and sqlite3 carry them. Prints the folder of sqlite3.c, sqlite3.h, sqlite3ext.h
and shell.c, which is filled once.
"""

import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import release  # noqa: E402

# A package of npm, an archive within it, and the files with the folder that they are in.
PACKAGES = (
    ("better-sqlite3@12.11.1", None, "package/deps/sqlite3",
     ("sqlite3.c", "sqlite3.h", "sqlite3ext.h")),
    ("sqlite3@6.0.1", "package/deps/sqlite-autoconf-3520000.tar.gz", "sqlite-autoconf-3520000",
     ("shell.c",)),
)


def fetch(target, package, inner, below, names):
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run(["npm", "pack", "--silent", "--prefer-offline", package], cwd=temporary,
                       check=True, stdout=subprocess.DEVNULL)
        data = next(pathlib.Path(temporary).glob("*.tgz")).read_bytes()
    if inner is not None:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            data = archive.extractfile(inner).read()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for name in names:
            new = target / f"{name}.{os.getpid()}"  # whole at once, for what is built beside this
            new.write_bytes(archive.extractfile(f"{below}/{name}").read())
            new.replace(target / name)


def folder():
    target = release.BUILD / "scratch" / "sqlite-source"
    target.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if not all((target / name).exists() for name in package[-1]):
            fetch(target, *package)
    return target


if __name__ == "__main__":
    print(folder())
