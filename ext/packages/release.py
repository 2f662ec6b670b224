"""What all packages share: where things are, the release, and archives that come out the same every
time. As a program it writes the number and the date of a release into every file that has them:

    python3 ext/packages/release.py 1.2.0 2027-03-31
"""

import datetime
import gzip
import io
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile

PACKAGES = pathlib.Path(__file__).resolve().parent
EXT = PACKAGES.parent
TOP = EXT.parent
BUILD = TOP / "build" / "packages"

# ext/base/version.h is the one place that names the release.
RELEASE = re.search(r'BLOOM_RELEASE "([^"]+)"', (EXT / "base/version.h").read_text())[1]

# When the release was made: of Debian's changelog too, and of all that is built from it.
DATE = datetime.datetime(2026, 11, 22, tzinfo=datetime.timezone.utc)

# The oldest date that a zip can hold: equal contents give equal bytes.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
EPOCH = 315532800  # the same in seconds


def empty(*folders):
    """Makes folders, or makes them empty."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)


def show(paths):
    """Prints what was made."""
    for path in sorted(paths):
        print(f"  {path.name} {path.stat().st_size:,} bytes")


def write_zip(path, files):
    """Writes the files, a dict of name to bytes or text, into a zip in the order of their names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])


def sources():
    """The files of the project, less what is built: those that git knows or would take, or all of
    them in a copy without git.
    """
    if (TOP / ".git").exists():
        command = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
        listed = subprocess.run(
            command, cwd=TOP, check=True, capture_output=True, text=True
        ).stdout.split("\0")
        return sorted(name for name in listed if name and (TOP / name).is_file())
    kept = (path.relative_to(TOP) for path in TOP.rglob("*") if path.is_file())
    return sorted(
        str(path)
        for path in kept
        if path.parts[0] not in ("build", "debian")
        and "__pycache__" not in path.parts
        and path.name not in ("bloom.so", "bloom.dylib")
    )


def write_tar(path, folder, names):
    """Writes files of the project into a .tar.gz, below a folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name in names:
            entry = tarfile.TarInfo(f"{folder}/{name}")
            contents = (TOP / name).read_bytes()
            entry.size, entry.mtime = len(contents), int(DATE.timestamp())
            entry.mode = 0o755 if os.access(TOP / name, os.X_OK) else 0o644
            entry.uname = entry.gname = "root"
            archive.addfile(entry, io.BytesIO(contents))
    path.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=0))


def set_release(number, date):
    """Writes number and date into each file that names the present ones, and returns their names.
    The changelog keeps its headings, because somebody writes the one of the new release.
    """
    moment = datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.timezone.utc)
    major, minor, patch = map(int, number.split("."))
    new = {
        rf"(?<![\d.=]){re.escape(RELEASE)}(?!\.?\d)": number,
        r"(?<=SQLITE_BLOOM_VERSION_NUMBER )\d+": str(major * 1000000 + minor * 1000 + patch),
        rf"{DATE:%Y-%m-%d}(?=T00:00:00Z)": f"{moment:%Y-%m-%d}",
        f"{DATE:%a, %d %b %Y}": f"{moment:%a, %d %b %Y}",
        r"(?<=^DATE = datetime.datetime\()[\d, ]+(?=, tz)":
            f"{moment.year}, {moment.month}, {moment.day}",
    }
    changed = []
    for name in sources():
        if name == "CHANGELOG.md" or name.startswith(("tests/", "sql/data/")):
            continue
        try:
            old = text = (TOP / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for pattern, word in new.items():
            text = re.sub(pattern, word, text, flags=re.MULTILINE)
        if text != old:
            (TOP / name).write_text(text, encoding="utf-8")
            changed.append(name)
    return changed


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("release.py: give the number and the date, for example 1.2.0 2027-03-31")
    print(*set_release(*sys.argv[1:]), sep="\n")
