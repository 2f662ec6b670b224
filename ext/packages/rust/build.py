#!/usr/bin/env python3
"""Makes the crate: the folder of this file with the amalgamation and the headers beside it."""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

OUTPUT = release.BUILD / "rust"
TREE = release.BUILD / "scratch" / "rust"
TARGET = release.BUILD / "scratch" / "rust-target"


def main():
    release.empty(OUTPUT, TREE)
    shutil.copytree(release.PACKAGES / "rust", TREE, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("build.py", "target", "Cargo.lock"))
    shutil.copytree(release.PACKAGES / "sqlite", TREE / "sqlite")
    shutil.copy(release.TOP / "LICENSE", TREE)
    for name in ("sqlite-bloom.c", "sqlite-bloom.h"):
        shutil.copy(release.BUILD / "amalgamation" / name, TREE)
    subprocess.run(["cargo", "package", "--quiet", "--allow-dirty", "--no-verify", "--target-dir",
                    TARGET], cwd=TREE, check=True)
    shutil.copy(TARGET / "package" / f"sqlite-bloom-{release.RELEASE}.crate", OUTPUT)
    release.show(OUTPUT.iterdir())


if __name__ == "__main__":
    main()
