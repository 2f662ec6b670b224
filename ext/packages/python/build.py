#!/usr/bin/env python3
"""Makes the Python packages: an sdist that compiles itself, and from what it holds a wheel for
every platform. Needs the module hatchling, and the binaries.
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
WORK = release.BUILD / "work" / "python"


def hatch(target, folder, **environment):
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", OUTPUT]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.EPOCH), **environment}
    subprocess.run(command, cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def main():
    for folder in (OUTPUT, WORK):
        shutil.rmtree(folder, ignore_errors=True)
    hatch("sdist", release.PACKAGES / "python")
    sdist = f"sqlite_bloom-{release.RELEASE}"
    shutil.unpack_archive(OUTPUT / f"{sdist}.tar.gz", WORK)
    for platform in platforms.PLATFORMS:
        library = release.BUILD / "binaries" / platform.name / platform.library
        hatch("wheel", WORK / sdist, SQLITE_BLOOM_LIBRARY=str(library),
              SQLITE_BLOOM_PLATFORM=platform.wheel)
    for path in sorted(OUTPUT.iterdir()):
        print(f"  {path.name} {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
