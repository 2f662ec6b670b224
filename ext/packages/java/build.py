#!/usr/bin/env python3
"""Makes the jar, with the libraries of all platforms in it, by Maven, and a repository of the form
that Maven Central has, with sources and documentation: build/packages/java/repository.
"""

import datetime
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import platforms  # noqa: E402
import release  # noqa: E402

OUTPUT = release.BUILD / "java"
TREE = release.BUILD / "work" / "java"
# Maven's own store of what it fetched: in the user's the jars of other builds might lie.
STORE = release.BUILD / "work" / "m2"
PACKAGE = "sqlitebloom"


def maven(folder, *arguments):
    """Runs Maven and gives what it printed; a failure ends this program with it."""
    command = ["mvn", "-B", "-ntp", "-q", f"-Dmaven.repo.local={STORE}", *arguments]
    environment = {**os.environ, "MAVEN_OPTS": "-Duser.language=en"}
    ran = subprocess.run(
        command, cwd=folder, check=False, text=True, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    if ran.returncode != 0:
        sys.exit(f"build.py: {' '.join(command)} failed:\n{ran.stdout[-4000:]}")
    return ran.stdout


def main():
    for folder in (OUTPUT, TREE):
        shutil.rmtree(folder, ignore_errors=True)
    source = f"src/main/java/{PACKAGE}/SqliteBloom.java"
    time = datetime.datetime.fromtimestamp(release.release_time(), datetime.timezone.utc)
    for name in ("pom.xml", source, "README.md"):
        (TREE / name).parent.mkdir(parents=True, exist_ok=True)
        (TREE / name).write_text(release.fill(f"java/{name}", TIME=f"{time:%Y-%m-%dT%H:%M:%SZ}"))
    resources = TREE / "src/main/resources"
    for platform in platforms.PLATFORMS:
        target = resources / PACKAGE / platform.name / platform.library
        target.parent.mkdir(parents=True)
        target.write_bytes(
            (release.BUILD / "binaries" / platform.name / platform.library).read_bytes()
        )
    (resources / "META-INF").mkdir()
    shutil.copy(release.TOP / "LICENSE", resources / "META-INF" / "LICENSE")
    maven(TREE, "deploy", f"-DaltDeploymentRepository=built::{(OUTPUT / 'repository').as_uri()}")
    for path in sorted(OUTPUT.rglob("*.jar")):
        print(f"  {path.name} {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
