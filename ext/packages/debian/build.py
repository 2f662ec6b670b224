#!/usr/bin/env python3
"""Makes the Debian packages as Debian does: the tarball of the sources, the source package, and
from that by dpkg-buildpackage, with the compilers and headers of the archive alone, the binary
packages for this machine.
"""

import email.utils
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

OUTPUT = release.BUILD / "debian"
WORK = release.BUILD / "work" / "debian"
SOURCES = release.PACKAGES / "debian"
# Not of the folder debian/ of a source package.
OURS = {"build.py", "manual_page.py", "bloom.3sql"}
DATE = email.utils.formatdate(release.release_time())


def license_text():
    """The licence below its title and its copyright, as the format of copyright files has it."""
    lines = (release.TOP / "LICENSE").read_text().splitlines()[4:]
    return "\n".join(f" {line or '.'}" for line in lines)


def make_tree(tree):
    """The sources, and the folder debian/ filled in."""
    shutil.rmtree(tree, ignore_errors=True)
    for name in release.sources():
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release.TOP / name, target)
    for path in sorted(SOURCES.rglob("*")):
        name = path.relative_to(SOURCES)
        if not path.is_file() or path.name in OURS or "__pycache__" in name.parts:
            continue
        target = tree / "debian" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(release.fill(f"debian/{name}", LICENSE=license_text(), DATE=DATE))
        target.chmod(0o755 if os.access(path, os.X_OK) else 0o644)


def main():
    tree = WORK / f"sqlite-bloom-{release.RELEASE}"
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    release.write_tar(
        WORK / f"sqlite-bloom_{release.RELEASE}.orig.tar.gz", tree.name, release.sources()
    )
    make_tree(tree)
    # Nothing of the make that called this, nor of its flags.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKE", "CFLAGS", "LDFLAGS", "CC")
    }
    built = subprocess.run(
        ["dpkg-buildpackage", "--no-sign", "--build=full"],
        cwd=tree,
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    (WORK / "log").write_text(built.stdout)
    if built.returncode != 0:
        sys.exit(f"build.py: dpkg-buildpackage failed:\n{built.stdout[-4000:]}")
    for path in sorted(WORK.glob("*sqlite*_*")):
        if path.is_file():
            shutil.copy(path, OUTPUT)
            print(f"  {path.name} {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
