#!/usr/bin/env python3
"""Compiles the amalgamation for every platform, and packs each library with the header and the
licence into a zip, without a folder on top, because sqlpkg does not unpack folders. sqlpkg.json
beside this file names these zips by Go's names of systems and processors, and knows no musl.
The filter library is compiled, too, as an object for the modules of Python and Node.js.

    build.py [PLATFORM...]      the names are those of platforms.py; without any, all

Needs the Python module ziglang.
"""

import concurrent.futures
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platforms  # noqa: E402
import release  # noqa: E402

OUTPUT = release.BUILD / "binaries"
AMALGAMATION = release.BUILD / "amalgamation"


def build(platform):
    """Gives the library."""
    library = OUTPUT / platform.name / platform.library
    library.parent.mkdir(parents=True, exist_ok=True)
    platforms.link_library(
        platform, "-isystem", release.PACKAGES / "sqlite", AMALGAMATION / "sqlite-bloom.c",
        "-o", library,
        *(["-Wl,-install_name,@rpath/bloom.dylib"] if platform.os == "darwin" else []))
    for leftover in ("bloom.lib", "bloom.pdb"):
        (library.parent / leftover).unlink(missing_ok=True)
    platforms.filter_object(platform).parent.mkdir(exist_ok=True)
    platforms.compile_object(platform, AMALGAMATION / "sqlite-bloom-filter.c",
                             "-o", platforms.filter_object(platform))
    return library


def main(names):
    chosen = [platform for platform in platforms.PLATFORMS if not names or platform.name in names]
    if unknown := set(names) - {platform.name for platform in chosen}:
        sys.exit(
            f"build.py: there is no platform {', '.join(sorted(unknown))}; there are "
            f"{', '.join(platform.name for platform in platforms.PLATFORMS)}"
        )
    for old in OUTPUT.glob("*.zip"):
        old.unlink()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        libraries = list(pool.map(build, chosen))
    for platform, library in zip(chosen, libraries):
        release.write_zip(OUTPUT / f"sqlite-bloom-{release.RELEASE}-{platform.name}.zip", {
            platform.library: library.read_bytes(),
            "sqlite-bloom.h": (release.EXT / "sqlite-bloom.h").read_bytes(),
            "LICENSE": (release.TOP / "LICENSE").read_bytes(),
        })
        print(f"  {platform.name:16} {library.stat().st_size:8,} bytes")
    shutil.copy(pathlib.Path(__file__).with_name("sqlpkg.json"), OUTPUT)


if __name__ == "__main__":
    main(sys.argv[1:])
