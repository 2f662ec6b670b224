#!/usr/bin/env python3
"""Makes the packages of conda and Conan for this machine by the recipes.

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

RECIPES = release.PACKAGES / "recipes"
OUTPUT = release.BUILD / "recipes"


def main():
    shutil.rmtree(OUTPUT, ignore_errors=True)
    built = Stage0Recipe.from_file(str(RECIPES / "recipe.yaml")).run_build(
        output_dir=str(OUTPUT / "conda"), channels=[], no_build_id=True, package_format="tar.bz2"
    )
    print(f"  {pathlib.Path(built[0].packages[0]).name}")
    environment = {**os.environ, "CONAN_HOME": str(OUTPUT / "conan")}
    program = pathlib.Path(sys.executable).parent / "conan"
    for arguments in (["profile", "detect"], ["create", RECIPES, "-o", "&:system_sqlite=True"]):
        subprocess.run([program, *arguments], check=True, env=environment,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"  conan: sqlite-bloom/{release.RELEASE}")


if __name__ == "__main__":
    main()
