#!/usr/bin/env python3
"""Makes the Debian packages as Debian does: the tarball of the sources, the source package, and
from that by dpkg-buildpackage, with the compilers and headers of the archive alone, the binary
packages for this machine.
"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

OUTPUT = release.BUILD / "debian"
WORK = release.BUILD / "scratch" / "debian"
SOURCES = release.PACKAGES / "debian"


def main():
    tree = WORK / f"sqlite-bloom-{release.RELEASE}"
    tar = WORK / f"sqlite-bloom_{release.RELEASE}.orig.tar.gz"
    release.empty(OUTPUT, WORK)
    release.write_tar(tar, tree.name, release.sources())
    shutil.unpack_archive(tar, WORK)
    shutil.copytree(SOURCES, tree / "debian",
                    ignore=shutil.ignore_patterns("build.py", "__pycache__"))
    # Nothing of the make that called this, nor of its flags.
    environment = {name: value for name, value in os.environ.items() if name not in
                   ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKE", "CFLAGS", "LDFLAGS", "CC")}
    built = subprocess.run(
        ["dpkg-buildpackage", "--no-sign", "--build=full"], cwd=tree, env=environment, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace")
    (WORK / "log").write_text(built.stdout)
    if built.returncode != 0:
        sys.exit(f"build.py: dpkg-buildpackage failed:\n{built.stdout[-4000:]}")
    for path in filter(pathlib.Path.is_file, WORK.glob("*sqlite*_*")):
        shutil.copy(path, OUTPUT)
    release.show(OUTPUT.iterdir())


if __name__ == "__main__":
    main()
