#!/usr/bin/env python3
"""Makes the Debian packages, one for amd64 and one for arm64: the library, the header, the format
and bloom(3sql).

The library stands where the system looks for libraries, so that `.load bloom` finds it. The
functions of the manual page come from the tables of README.md, whose first column holds the calls.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

OUTPUT = release.BUILD / "debian"
ARCHITECTURES = {
    "amd64": ("linux-x86_64", "x86_64-linux-gnu"),
    "arm64": ("linux-aarch64", "aarch64-linux-gnu"),
}
MAINTAINER = "the bloom contributors <bloom@localhost>"
CONTROL = """Package: sqlite-bloom
Version: {release}
Architecture: {architecture}
Multi-Arch: same
Maintainer: {maintainer}
Installed-Size: {size}
Depends: libc6 (>= 2.17)
Recommends: sqlite3
Section: database
Priority: optional
Description: {summary}
 A loadable extension for SQLite: a Bloom filter is a BLOB value that an aggregate
 makes and functions merge and ask, or a virtual table that is updated in place.
 No false negatives, a false-positive rate of choice, the same bytes everywhere.
"""


def troff(text):
    """Markdown of a table's cell as text of a manual page."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace(", see below", ": NOTES below")
    text = re.sub(
        r"\[[^]]+\]\(ext/(FORMAT[-a-z]*|URLS)\.md[^)]*\)", r"\1.md", text
    )  # which the package has
    text = re.sub(r":? \[[^]]+\]\([^)]*\)", "", text)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text).replace("**", "")
    return re.sub(r"^\.", r"\\&.", text)


def rows(readme, second):
    """The rows of all tables of README.md whose second column has that head."""
    table = None
    for line in readme.splitlines():
        cells = (
            [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if line.startswith("|")
            else None
        )
        if cells is None:
            table = None
        elif table is None:
            table = cells
        elif len(cells) == 2 and table[1:] == [second] and not set(cells[0]) <= set("-:| "):
            yield cells


def entries(pairs):
    """The paragraphs of a list: what a cell names, in code, stands one below the other."""
    text = ""
    for cell, said in pairs:
        names = re.findall(r"`([^`]*)`", cell)
        text += "".join(
            f"{'.TQ' if i else '.TP'}\n.B \"{troff(name)}\"\n" for i, name in enumerate(names)
        )
        text += troff(said) + "\n"
    return text


def manual_page():
    readme = (release.TOP / "README.md").read_text()
    functions = [row for row in rows(readme, "result") if row[0].startswith("`bloom_")]
    options = list(rows(readme, "meaning"))
    if not functions or not options:
        sys.exit(
            "build.py: README.md has no table of `| call | result |` or none of `| option | meaning"
            " |`: the manual page needs both"
        )
    page = release.fill("debian/bloom.3sql").replace("@FUNCTIONS@\n", entries(functions))
    return page.replace("@OPTIONS@\n", entries(options))


def compressed(data):
    return gzip.compress(data, 9, mtime=0)


def main():
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    (OUTPUT / "bloom.3sql").write_text(manual_page())
    for architecture, (platform, triplet) in ARCHITECTURES.items():
        tree = release.BUILD / "work" / "debian" / architecture
        shutil.rmtree(tree, ignore_errors=True)
        copyright_text = (
            "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles:"
            " *\nCopyright: 2026 the bloom contributors\nLicense: Expat\n"
            + "".join(
                f" {line or '.'}\n"
                for line in (release.TOP / "LICENSE").read_text().splitlines()[4:]
            )
        )
        files = {
            f"usr/lib/{triplet}/bloom.so": (
                (release.BUILD / "binaries" / platform / "bloom.so").read_bytes()
            ),
            "usr/include/sqlite-bloom.h": (
                (release.BUILD / "amalgamation/sqlite-bloom.h").read_bytes()
            ),
            "usr/share/man/man3/bloom.3sql.gz": compressed((OUTPUT / "bloom.3sql").read_bytes()),
            **{
                f"usr/share/doc/sqlite-bloom/{page}.md.gz": compressed(
                    (release.EXT / f"{page}.md").read_bytes()
                )
                for page in ("FORMAT", "FORMAT-layouts", "FORMAT-tables", "URLS")
            },
            "usr/share/doc/sqlite-bloom/changelog.gz": compressed(
                (release.TOP / "CHANGELOG.md").read_bytes()
            ),
            "usr/share/doc/sqlite-bloom/copyright": copyright_text.encode(),
        }
        size = (sum(map(len, files.values())) + 1023) // 1024
        files["DEBIAN/control"] = CONTROL.format(
            release=release.RELEASE,
            architecture=architecture,
            size=size,
            summary=release.SUMMARY,
            maintainer=MAINTAINER,
        ).encode()
        for name, content in files.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o644)
        for path in [tree, *tree.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        package = OUTPUT / f"sqlite-bloom_{release.RELEASE}_{architecture}.deb"
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, package],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(release.EPOCH)},
        )
        print(f"  {package.name} {package.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
