#!/usr/bin/env python3
"""Makes the npm packages: sqlite-bloom, and for every platform one that holds its library and is
installed there alone.
"""

import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platforms  # noqa: E402
import release  # noqa: E402

OUTPUT = release.BUILD / "npm"
TREE = release.BUILD / "work" / "npm"


def package_name(platform):
    system = "windows" if platform.os == "win32" else platform.os
    return f"sqlite-bloom-{system}-{platform.cpu}" + ("-musl" if platform.libc == "musl" else "")


def pack(name, manifest, files):
    """Writes a tree and lets npm pack it."""
    folder = TREE / name
    folder.mkdir(parents=True)
    manifest = {
        "name": name,
        "version": release.RELEASE,
        "license": "MIT",
        "homepage": release.publishing("homepage"),
        "repository": {"type": "git", "url": "git+" + release.publishing("repository")},
        "bugs": release.publishing("issues"),
        **manifest,
    }
    files["package.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    for file, content in {"LICENSE": (release.TOP / "LICENSE").read_bytes(), **files}.items():
        (folder / file).write_bytes(content)
        (folder / file).chmod(0o644)  # whatever the umask is: npm packs the modes
    subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", OUTPUT],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def main():
    for folder in (OUTPUT, TREE):
        shutil.rmtree(folder, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    for platform in platforms.PLATFORMS:
        library = release.BUILD / "binaries" / platform.name / platform.library
        manifest = {
            "description": f"The library of sqlite-bloom for {platform.name}",
            "os": [platform.os],
            "cpu": [platform.cpu],
            **({"libc": [platform.libc]} if platform.libc else {}),
            "files": [platform.library],
        }
        readme = (
            f"# {package_name(platform)}\n\nThe library of"
            " [sqlite-bloom](https://www.npmjs.com/package/sqlite-bloom): install that.\n"
        )
        pack(
            package_name(platform),
            manifest,
            {platform.library: library.read_bytes(), "README.md": readme.encode()},
        )
    files = ("index.cjs", "index.mjs", "index.d.ts")
    types = (release.PACKAGES / "npm" / "index.d.ts").read_bytes()
    pack(
        "sqlite-bloom",
        {
            "description": release.SUMMARY,
            "keywords": [
                "sqlite",
                "sqlite-extension",
                "bloom-filter",
                "better-sqlite3",
                "probabilistic",
            ],
            "main": "./index.cjs",
            "module": "./index.mjs",
            "types": "./index.d.ts",
            "exports": {
                # The same declarations twice: by its name a file is one of a module or not.
                ".": {
                    "import": {"types": "./index.d.mts", "default": "./index.mjs"},
                    "require": {"types": "./index.d.ts", "default": "./index.cjs"},
                },
                "./package.json": "./package.json",
            },
            "files": [*files, "index.d.mts"],
            "optionalDependencies": {
                package_name(platform): release.RELEASE for platform in platforms.PLATFORMS
            },
        },
        {
            **{
                name: release.fill(f"npm/{name}").encode()
                for name in (*files, "README.md")
            },
            "index.d.mts": types,
        },
    )
    for path in sorted(OUTPUT.iterdir()):
        print(f"  {path.name} {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
