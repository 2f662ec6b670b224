#!/usr/bin/env python3
"""Writes the amalgamations: sqlite-bloom.c, all sources of the extension in one file, and
sqlite-bloom-filter.c, all of the filter library; the header of each beside it, and a zip of both.

    amalgamate.py OUTPUT_FOLDER

ext/sqlite-bloom.c names the sources in their order, and here they stand in place of its lines. Each
header stands where it is first included. Comments stay: the file is meant to be read.

Everything becomes static but what the header declares, so that a program that links the file in
gets no other name. A declaration of other linkage begins its line, because clang-format sets the
sources. An array that a header declares without its length cannot be static, so that declaration
goes: such an array is used behind its definition alone.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.MULTILINE)
# A function or a variable at file scope that is not static: "extern", then type and name.
LINKED = re.compile(
    r"^(?!(?:BLOOM_RARE )?static|typedef|(?:struct|enum|union) \w+;)(?:extern )?"
    r"((?:BLOOM_RARE )?(?:[a-z]\w*[ *\n]+)+)(\w+)(?=\(|;|,| =|\[)(\[\];)?",
    re.MULTILINE,
)
# The names that a program gets.
PUBLIC = re.compile(r"sqlite3_bloom_init|sqlite_bloom_\w+")

TITLE = """/* bloom {release}, {what}
 *
 * Made from the sources of ext/ by ext/packages/amalgamation/amalgamate.py; change them, not this
 * file.
 *
{license} */

/* No machine may round otherwise. gcc keeps to this by -std=c11 alone; clang wants to be told. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* Nothing but what the public header declares leaves this file. The folders in it offer more than
 * is used. */
#if defined(__GNUC__)
#define BLOOM_INTERNAL static __attribute__((unused))
#else
#define BLOOM_INTERNAL static
#endif

/* SQLite's pointer to its functions, which all extensions in a program would share. */
#define sqlite3_api sqlite_bloom_api

"""
EXTENSION = """persistent filters for SQLite, in one file.
 *
 * As a loadable extension (macOS: -dynamiclib -o bloom.dylib; -I for where sqlite3ext.h is):
 *     cc -O2 -std=c11 -ffp-contract=off -fPIC -fvisibility=hidden -shared -o bloom.so
 *         sqlite-bloom.c -lm
 * In a program that has SQLite in it:
 *     cc -O2 -std=c11 -ffp-contract=off -DSQLITE_CORE -c sqlite-bloom.c
 * which is linked with -lm (not on Windows); sqlite-bloom.h says what the program calls."""
LIBRARY = """filters from C and C++ without SQLite, in one file:
 * what sqlite-bloom-filter.h declares.
 *
 *     cc -O2 -std=c11 -ffp-contract=off -c sqlite-bloom-filter.c
 * which is linked with -lm (not on Windows). It needs the C library alone."""


def made_static(match):
    kind, name, array = match.groups()
    if array:
        return ""
    return match[0] if PUBLIC.fullmatch(name) else f"BLOOM_INTERNAL {kind}{name}"


def resolved(name, done):
    """The text of a file of ext with what it includes from there, each file once."""
    done.add(name)
    text = (release.EXT / name).read_text()
    if "/" in name or name.endswith(".c"):  # the headers on top of ext are public
        text = LINKED.sub(made_static, text)
    text = INCLUDE.sub(
        lambda line: line[0] if not (release.EXT / line[1]).exists()
        else "" if line[1] in done
        else resolved(line[1], done) + f"/************** {name}, continued **************/\n",
        text,
    )
    return f"/************** {name} **************/\n{text}"


def amalgamation(what, names):
    license_lines = (release.TOP / "LICENSE").read_text().splitlines()
    done = set()
    return TITLE.format(
        release=release.RELEASE,
        what=what,
        license="".join(f" * {line}".rstrip() + "\n" for line in license_lines),
    ) + "".join(resolved(name, done) for name in names)


def write(output, name, text, *more):
    """A file of sources and its header, and a zip of them, a README and further files."""
    header = (release.EXT / f"{name}.h").read_text()
    (output / f"{name}.c").write_text(text)
    (output / f"{name}.h").write_text(header)
    folder = f"{name}-amalgamation-{release.RELEASE}"
    files = {
        f"{name}.c": text,
        f"{name}.h": header,
        "LICENSE": (release.TOP / "LICENSE").read_text(),
        **{path.name.replace("README-filter", "README"): path.read_text()
           for path in map((release.PACKAGES / "amalgamation").joinpath, more)},
    }
    release.write_zip(
        output / f"{folder}.zip",
        {f"{folder}/{file}": contents for file, contents in files.items()},
    )


def main(output):
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("*.zip"):
        old.unlink()
    names = INCLUDE.findall((release.EXT / "sqlite-bloom.c").read_text())
    write(output, "sqlite-bloom", amalgamation(EXTENSION, names), "README.md")
    write(
        output,
        "sqlite-bloom-filter",
        amalgamation(
            LIBRARY,
            [name for name in names if not re.match("sqlite/|table/|extension", name)]
            + ["sqlite-bloom-filter.c"],
        ),
        "README-filter.md",
        "guard.c",
        "blocker.c",
    )


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
