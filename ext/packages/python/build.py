#!/usr/bin/env python3
"""Makes the Python packages: an sdist that compiles itself, and from what it holds a wheel for
every platform. Needs the modules hatchling and ziglang, and the binaries.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platforms  # noqa: E402
import release  # noqa: E402

OUTPUT = release.BUILD / "python"
WORK = release.BUILD / "scratch" / "python"
AMALGAMATION = release.BUILD / "amalgamation"

def hatch(target, folder, **environment):
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", OUTPUT]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(release.EPOCH), **environment}
    subprocess.run(command, cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def compile_module(platform):
    """Python's own headers and libraries are not needed: ext/packages/cpython has what is used."""
    folder = WORK / platform.name
    folder.mkdir(parents=True)
    module = folder / ("_filter.pyd" if platform.os == "win32" else "_filter.abi3.so")
    more = ["-Wl,-undefined,dynamic_lookup"] if platform.os == "darwin" else []
    if platform.os == "win32":
        header = (release.PACKAGES / "cpython/Python.h").read_text()
        names = re.findall(r"\b([FO])\([\w *]+, (\w+)[,)]", header)
        (folder / "python3.def").write_text("LIBRARY python3.dll\nEXPORTS\n" + "".join(
            f"{name}{' DATA' * (kind == 'O')}\n" for kind, name in names))
        more = [folder / "python3.lib"]
        platforms.zig("dlltool", "-m", "arm64" if platform.cpu == "arm64" else "i386:x86-64",
                      "-d", folder / "python3.def", "-l", *more)
    platforms.link_library(
        platform, "-I", AMALGAMATION, "-isystem", release.PACKAGES / "cpython",
        *sorted((release.PACKAGES / "python").glob("*.c")), platforms.filter_object(platform),
        "-o", module, *more)
    return module


def main():
    release.empty(OUTPUT, WORK)
    hatch("sdist", release.PACKAGES / "python")
    sdist = f"sqlite_bloom-{release.RELEASE}"
    shutil.unpack_archive(OUTPUT / f"{sdist}.tar.gz", WORK)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        modules = list(pool.map(compile_module, platforms.PLATFORMS))
    for platform, module in zip(platforms.PLATFORMS, modules):
        library = release.BUILD / "binaries" / platform.name / platform.library
        hatch("wheel", WORK / sdist, SQLITE_BLOOM_LIBRARY=str(library),
              SQLITE_BLOOM_MODULE=str(module), SQLITE_BLOOM_PLATFORM=platform.wheel)
    release.show(OUTPUT.iterdir())


if __name__ == "__main__":
    main()
