#!/usr/bin/env python3
"""Makes the Go module: a folder to publish, and the same as a module proxy serves it
(GOPROXY=file://...).

A Go module is named after the place where it is published: publishing.ini names
it, or GO_MODULE=github.com/you/sqlite-bloom-go in the environment.
"""

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

OUTPUT = release.BUILD / "go"
MODULE = release.publishing("go_module")
DRIVER = "github.com/mattn/go-sqlite3 v1.14.22"


def main():
    shutil.rmtree(OUTPUT, ignore_errors=True)
    module = f"module {MODULE}\n\ngo 1.21\n\nrequire {DRIVER}\n"
    files = {
        name: release.fill(f"go/{name}")
        for name in ("bloom.go", "bloom_test.go", "README.md")
    }
    files |= {"go.mod": module, "LICENSE": (release.TOP / "LICENSE").read_text()}
    for name in ("sqlite-bloom.c", "sqlite-bloom.h"):
        files[name] = (release.BUILD / "amalgamation" / name).read_text()
    for name in ("sqlite3.h", "sqlite3ext.h"):
        files[name] = (release.sqlite_headers() / name).read_text()
    for name, text in files.items():
        path = OUTPUT / "module" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    version, proxy = f"v{release.RELEASE}", OUTPUT / "proxy" / MODULE / "@v"
    release.write_zip(
        proxy / f"{version}.zip",
        {f"{MODULE}@{version}/{name}": text for name, text in files.items()},
    )
    (proxy / f"{version}.mod").write_text(module)
    (proxy / f"{version}.info").write_text(
        json.dumps({"Version": version, "Time": "2026-01-01T00:00:00Z"})
    )
    (proxy / "list").write_text(version + "\n")
    print(f"  {MODULE} {version} {(proxy / f'{version}.zip').stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
