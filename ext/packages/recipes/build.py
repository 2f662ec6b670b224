#!/usr/bin/env python3
"""Makes the recipes for conda and Conan, each in a folder with the sources that it builds, and the
package that each makes here.

Needs the modules conan and py-rattler-build.
"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402
from rattler_build import Stage0Recipe  # noqa: E402

OUTPUT = release.BUILD / "recipes"
TREE = release.BUILD / "work" / "recipes"


def tree(folder, recipe):
    """A recipe, and beside it the sources."""
    source = OUTPUT / folder / "source"
    source.mkdir(parents=True)
    (OUTPUT / folder / recipe).write_text(release.fill(f"recipes/{recipe}"))
    shutil.copy(release.TOP / "LICENSE", source)
    for name in ("sqlite-bloom.c", "sqlite-bloom.h"):
        shutil.copy(release.BUILD / "amalgamation" / name, source)
    shutil.copytree(release.sqlite_headers(), source / "sqlite")
    return OUTPUT / folder


def main():
    for folder in (OUTPUT, TREE):
        shutil.rmtree(folder, ignore_errors=True)
    conda = tree("conda", "recipe.yaml")
    built = Stage0Recipe.from_file(str(conda / "recipe.yaml")).run_build(
        output_dir=str(TREE / "conda"), channels=[], no_build_id=True, package_format="tar.bz2"
    )
    print(f"  {pathlib.Path(built[0].packages[0]).name}")
    conan = tree("conan", "conanfile.py")
    environment = {**os.environ, "CONAN_HOME": str(TREE / "conan")}
    program = pathlib.Path(sys.executable).parent / "conan"
    for arguments in (["profile", "detect"], ["create", conan, "-o", "&:system_sqlite=True"]):
        subprocess.run(
            [program, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    print(f"  conan: sqlite-bloom/{release.RELEASE}")


if __name__ == "__main__":
    main()
