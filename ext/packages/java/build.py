#!/usr/bin/env python3
"""Makes the jar, with the libraries of all platforms in it, by Maven, and a repository of the form
that Maven Central has, with sources and documentation: build/packages/java/repository.
"""

import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platforms  # noqa: E402
import release  # noqa: E402

OUTPUT = release.BUILD / "java"
TREE = release.BUILD / "scratch" / "java"
# Maven's own store of what it fetched: in the user's the jars of other builds might lie.
STORE = release.BUILD / "scratch" / "m2"


def main():
    release.empty(OUTPUT, TREE)
    shutil.copytree(release.PACKAGES / "java", TREE, dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("target"))
    resources = TREE / "src/main/resources"
    for platform in platforms.PLATFORMS:
        target = resources / "sqlitebloom" / platform.name
        target.mkdir(parents=True)
        shutil.copy(release.BUILD / "binaries" / platform.name / platform.library, target)
    (resources / "META-INF").mkdir()
    shutil.copy(release.TOP / "LICENSE", resources / "META-INF")
    repository = (OUTPUT / "repository").as_uri()
    ran = subprocess.run(
        ["mvn", "-B", "-ntp", "-q", f"-Dmaven.repo.local={STORE}", "deploy", "-Dexec.skip",
         "-Dmaven.install.skip", f"-DaltDeploymentRepository=built::{repository}"],
        cwd=TREE, check=False, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={
            **os.environ, "MAVEN_OPTS": "-Duser.language=en -XX:TieredStopAtLevel=1"},
    )
    if ran.returncode != 0:
        sys.exit(f"build.py: mvn failed:\n{ran.stdout[-4000:]}")
    release.show(OUTPUT.rglob("*.jar"))


if __name__ == "__main__":
    main()
