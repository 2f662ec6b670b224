#!/usr/bin/env python3
"""Makes the crate: the amalgamation with SQLite's headers, and the few lines of Rust that register
it.
"""

import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

OUTPUT = release.BUILD / "rust"
TREE = release.BUILD / "work" / "rust"


def main():
    for folder in (OUTPUT, TREE):
        shutil.rmtree(folder, ignore_errors=True)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    (TREE / "src").mkdir(parents=True)
    for name in ("Cargo.toml", "build.rs", "src/lib.rs", "README.md"):
        (TREE / name).write_text(release.fill(f"rust/{name}"))
    shutil.copy(release.TOP / "LICENSE", TREE)
    for name in ("sqlite-bloom.c", "sqlite-bloom.h"):
        shutil.copy(release.BUILD / "amalgamation" / name, TREE)
    shutil.copytree(release.sqlite_headers(), TREE / "sqlite")
    subprocess.run(
        [
            "cargo",
            "package",
            "--quiet",
            "--allow-dirty",
            "--no-verify",
            "--target-dir",
            release.BUILD / "work" / "rust-target",
        ],
        cwd=TREE,
        check=True,
    )
    crate = f"sqlite-bloom-{release.RELEASE}.crate"
    shutil.copy(release.BUILD / "work" / "rust-target" / "package" / crate, OUTPUT)
    print(f"  {crate} {(OUTPUT / crate).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
