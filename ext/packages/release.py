"""What all packages share: where things are, the release, and archives that come out the same every
time.
"""

import os
import pathlib
import re
import stat
import sys
import tempfile
import zipfile

PACKAGES = pathlib.Path(__file__).resolve().parent
EXT = PACKAGES.parent
TOP = EXT.parent
BUILD = TOP / "build" / "packages"

SUMMARY = "Persistent Bloom filters for SQLite: values, aggregates and tables"

# ext/filter/version.h is the one place that names the release.
RELEASE = re.search(r'BLOOM_RELEASE "([^"]+)"', (EXT / "filter/version.h").read_text())[1]

SQLITE_HEADERS = ("sqlite3.h", "sqlite3ext.h")

# The oldest date that a zip can hold: equal contents give equal bytes.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
EPOCH = 315532800  # the same in seconds


def write_zip(path, files):
    """Writes the files, a dict of name to bytes or text, into a zip in the order of their names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])


def fill(template):
    """The text of a file of this folder, with the release in place of @RELEASE@ and so on."""
    text = (PACKAGES / template).read_text()
    for name, value in (("RELEASE", RELEASE), ("SUMMARY", SUMMARY)):
        text = text.replace(f"@{name}@", value)
    return text


def amalgamate_options():
    """How `make packages` calls the generator: AMALGAMATE_OPTIONS in the environment may hold
    --rename.
    """
    return os.environ.get("AMALGAMATE_OPTIONS", "").split()


def sqlite_include():
    """Where SQLite's headers are taken from."""
    return pathlib.Path(os.environ.get("SQLITE_INCLUDE", "/usr/include"))


def sqlite_headers():
    """A folder of SQLite's two headers alone: the others of /usr/include are not those of every
    target.
    """
    folder = BUILD / "work" / "sqlite"
    folder.mkdir(parents=True, exist_ok=True)
    for name in SQLITE_HEADERS:
        source = sqlite_include() / name
        if not source.exists():
            sys.exit(
                f"there is no {source}; install libsqlite3-dev, or set SQLITE_INCLUDE to where it"
                " is"
            )
        replace(folder / name, source.read_bytes())
    return folder


def replace(path, contents):
    """Writes a file at once: packages are built side by side."""
    if not path.exists() or path.read_bytes() != contents:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(contents)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
