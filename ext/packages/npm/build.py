#!/usr/bin/env python3
"""Makes the npm packages: sqlite-bloom, and for every platform one that holds its library and the
addon with the class Filter, and is installed there alone. Needs the module ziglang.
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

OUTPUT = release.BUILD / "npm"
TREE = release.BUILD / "scratch" / "npm"
SOURCES = release.PACKAGES / "npm"
AMALGAMATION = release.BUILD / "amalgamation"
NAMES = ("index.cjs", "index.mjs", "index.d.ts", "index.d.mts", "filter.cjs")
MANIFEST = json.loads((SOURCES / "package.json").read_text())


def package_name(platform):
    system = "windows" if platform.os == "win32" else platform.os
    return f"sqlite-bloom-{system}-{platform.cpu}" + ("-musl" if platform.libc == "musl" else "")


def compile_addon(platform):
    """The bytes of filter.node. It finds Node's functions in the program that loads it."""
    addon = TREE / platform.name / "filter.node"
    addon.parent.mkdir(parents=True)
    platforms.link_library(
        platform, "-I", AMALGAMATION, "-isystem", release.PACKAGES / "nodejs",
        SOURCES / "filter.c", platforms.filter_object(platform), "-o", addon,
        *(["-Wl,-undefined,dynamic_lookup"] if platform.os == "darwin" else []))
    return addon.read_bytes()


def pack(manifest, files):
    """Writes a tree and lets npm pack it."""
    folder = TREE / manifest["name"]
    folder.mkdir(parents=True)
    files["package.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    for file, content in {"LICENSE": (release.TOP / "LICENSE").read_bytes(), **files}.items():
        (folder / file).write_bytes(content)
        (folder / file).chmod(0o644)  # whatever the umask is: npm packs the modes
    subprocess.run(["npm", "pack", "--silent", "--pack-destination", OUTPUT], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    release.empty(OUTPUT, TREE)
    common = {key: MANIFEST[key]
              for key in ("version", "license", "homepage", "repository", "bugs")}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        addons = list(pool.map(compile_addon, platforms.PLATFORMS))
    for platform, addon in zip(platforms.PLATFORMS, addons):
        name = package_name(platform)
        manifest = {
            "name": name,
            **common,
            "description": f"The library of sqlite-bloom for {platform.name}",
            "os": [platform.os],
            "cpu": [platform.cpu],
            **({"libc": [platform.libc]} if platform.libc else {}),
            "files": [platform.library, "filter.node"],
        }
        readme = f"# {name}\n\nThe library of the package sqlite-bloom: install that.\n"
        library = release.BUILD / "binaries" / platform.name / platform.library
        pack(manifest, {platform.library: library.read_bytes(), "filter.node": addon,
                        "README.md": readme.encode()})
    # Not in the repository, where npm would look for them in its registry.
    optional = {package_name(platform): release.RELEASE for platform in platforms.PLATFORMS}
    pack({**MANIFEST, "files": NAMES, "optionalDependencies": optional},
         {name: (SOURCES / name).read_bytes() for name in (*NAMES, "README.md")})
    release.show(OUTPUT.iterdir())


if __name__ == "__main__":
    main()
