#!/usr/bin/env python3
"""Makes the gem, with the libraries of all platforms in it."""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platforms  # noqa: E402
import release  # noqa: E402

OUTPUT = release.BUILD / "ruby"
TREE = release.BUILD / "scratch" / "ruby"


def main():
    release.empty(OUTPUT, TREE)
    shutil.copytree(release.PACKAGES / "ruby", TREE, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("compiled"))
    shutil.copy(release.TOP / "LICENSE", TREE)
    for platform in platforms.PLATFORMS:
        target = TREE / "lib/sqlite_bloom" / platform.name
        target.mkdir(parents=True)
        shutil.copy(release.BUILD / "binaries" / platform.name / platform.library, target)
    gem = f"sqlite-bloom-{release.RELEASE}.gem"
    subprocess.run(
        ["gem", "build", "--quiet", "--output", OUTPUT / gem, "sqlite-bloom.gemspec"], cwd=TREE,
        check=True, env={**os.environ, "SOURCE_DATE_EPOCH": f"{release.DATE.timestamp():.0f}"},
        stdout=subprocess.DEVNULL)
    release.show(OUTPUT.iterdir())


if __name__ == "__main__":
    main()
