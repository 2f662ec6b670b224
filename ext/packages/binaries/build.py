#!/usr/bin/env python3
"""Compiles the amalgamation for every platform, and packs each library with the header and the
licence into a zip, without a folder on top, because sqlpkg does not unpack folders. Writes
sqlpkg.json, which sqlpkg installs from.

    build.py [PLATFORM...]      the names are those of platforms.py; without any, all

Needs the Python module ziglang, and the headers of SQLite from /usr/include or the folder that
SQLITE_INCLUDE names.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platforms  # noqa: E402
import release  # noqa: E402

OUTPUT = release.BUILD / "binaries"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]


def compile_library(platform, source, headers, library):
    library.parent.mkdir(parents=True, exist_ok=True)
    extra = ["-lm"] if platform.os != "win32" else []
    if platform.os == "darwin":
        extra.append("-Wl,-install_name,@rpath/bloom.dylib")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "ziglang",
            "cc",
            "-target",
            platform.target,
            *platforms.FLAGS,
            *WARNINGS,
            "-isystem",
            headers,
            source,
            "-o",
            library,
            *extra,
        ],
        check=True,
    )
    for leftover in ("bloom.lib", "bloom.pdb"):
        (library.parent / leftover).unlink(missing_ok=True)


def zip_name(platform):
    return f"sqlite-bloom-{release.RELEASE}-{platform.name}.zip"


def sqlpkg():
    """What sqlpkg reads: it knows systems and processors by Go's names, and no musl."""
    systems, processors = {"win32": "windows"}, {"x64": "amd64"}
    return {
        "owner": "sqlite-bloom",
        "name": "bloom",
        "version": release.RELEASE,
        "homepage": release.publishing("homepage"),
        "repository": release.publishing("repository").removesuffix(".git"),
        "authors": [release.publishing("maintainer")],
        "license": "MIT",
        "description": release.SUMMARY,
        "assets": {
            "path": release.publishing("homepage"),
            "files": {
                f"{systems.get(platform.os, platform.os)}-"
                f"{processors.get(platform.cpu, platform.cpu)}": zip_name(platform)
                for platform in platforms.PLATFORMS
                if platform.libc != "musl"
            },
        },
    }


def main(names):
    chosen = [platform for platform in platforms.PLATFORMS if not names or platform.name in names]
    if unknown := set(names) - {platform.name for platform in chosen}:
        sys.exit(
            f"build.py: there is no platform {', '.join(sorted(unknown))}; there are "
            f"{', '.join(platform.name for platform in platforms.PLATFORMS)}"
        )
    headers = release.sqlite_headers()
    for old in OUTPUT.glob("*.zip"):
        old.unlink()
    amalgamation = release.BUILD / "amalgamation"
    libraries = [OUTPUT / platform.name / platform.library for platform in chosen]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(
            pool.map(
                lambda platform, library: compile_library(
                    platform, amalgamation / "sqlite-bloom.c", headers, library
                ),
                chosen,
                libraries,
            )
        )
    for platform, library in zip(chosen, libraries):
        release.write_zip(
            OUTPUT / zip_name(platform),
            {
                platform.library: library.read_bytes(),
                "sqlite-bloom.h": (amalgamation / "sqlite-bloom.h").read_bytes(),
                "LICENSE": (release.TOP / "LICENSE").read_bytes(),
            },
        )
        print(f"  {platform.name:16} {library.stat().st_size:8,} bytes")
    (OUTPUT / "sqlpkg.json").write_text(json.dumps(sqlpkg(), indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
