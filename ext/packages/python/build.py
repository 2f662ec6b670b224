#!/usr/bin/env python3
"""Makes the Python packages: an sdist that compiles itself, and a wheel for every platform with the
library in it.

Needs the module hatchling, the amalgamation, and the binaries.
"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platforms  # noqa: E402
import release  # noqa: E402

OUTPUT = release.BUILD / "python"
TREE = release.BUILD / "work" / "python"


def make_tree():
    """What the sdist holds; the wheels are made from the same."""
    shutil.rmtree(TREE, ignore_errors=True)
    (TREE / "sqlite_bloom").mkdir(parents=True)
    for name in (
        "pyproject.toml",
        "hatch_build.py",
        "README.md",
        "sqlite_bloom/__init__.py",
        "sqlite_bloom/__init__.pyi",
        "sqlite_bloom/_check.py",
        "sqlite_bloom/_datasette.py",
        "sqlite_bloom/_feed.py",
        "sqlite_bloom/_sqlite_utils.py",
        "sqlite_bloom/django/__init__.py",
        "sqlite_bloom/django/apps.py",
        "sqlite_bloom/py.typed",
        "sqlite_bloom/scrapy.py",
    ):
        (TREE / name).parent.mkdir(exist_ok=True)
        (TREE / name).write_text(release.fill(f"python/{name}"))
    shutil.copy(release.TOP / "LICENSE", TREE)
    for name in ("sqlite-bloom.c", "sqlite-bloom.h"):
        shutil.copy(release.BUILD / "amalgamation" / name, TREE)
    shutil.copytree(release.sqlite_headers(), TREE / "sqlite")


def hatch(target, **environment):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", OUTPUT],
        cwd=TREE,
        check=True,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(release.EPOCH), **environment},
    )


def main():
    make_tree()
    shutil.rmtree(OUTPUT, ignore_errors=True)
    hatch("sdist")
    for platform in platforms.PLATFORMS:
        library = release.BUILD / "binaries" / platform.name / platform.library
        hatch("wheel", SQLITE_BLOOM_LIBRARY=str(library), SQLITE_BLOOM_PLATFORM=platform.wheel)
    for path in sorted(OUTPUT.iterdir()):
        print(f"  {path.name} {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
