#!/usr/bin/env python3
"""Makes a site of the Markdown files of the project, with MkDocs and Material, in build/packages.

The files are copied to where they are in the project, so their links stay as they are. What they
link to that no browser shows, for example a recipe in SQL, becomes a page of its own. A folder does
not, so a link to one becomes its text.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = release.BUILD / "site"
SOURCE = OUTPUT / "source"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
SHOWN = (".md", ".svg", ".png")
LANGUAGES = {".sh": "sh", ".sql": "sql", ".py": "python", ".c": "c", ".h": "c", ".ini": "ini"}


def write(name, text):
    (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
    (SOURCE / name).write_text(text, encoding="utf-8")


def block(path):
    language = LANGUAGES.get(path.suffix, "text")
    return f"````{language}\n{path.read_text(encoding='utf-8').rstrip()}\n````\n"


def source_page(path):
    """A page that shows a file, and what it prints if that is beside it."""
    printed = path.with_suffix(".out")
    return (f"# {path.name}\n\n{block(path)}"
            + (f"\nIt prints:\n\n{block(printed)}" if printed.exists() else ""))


def page(name):
    """The text of a page for MkDocs. The pages of the files that it links to are written."""
    path = release.TOP / name

    def link(found):
        mark, words, target, heading = found.groups(default="")
        file = pathlib.Path(os.path.normpath(path.parent / target))
        if "://" in target or file.suffix in SHOWN:
            return found[0]
        if file.is_dir():
            return words
        write(f"{file.relative_to(release.TOP)}.md", source_page(file))
        return f"{mark}[{words}]({target}.md{heading})"

    return LINK.sub(link, path.read_text(encoding="utf-8"))


def main():
    shutil.rmtree(OUTPUT, ignore_errors=True)
    for name in release.sources():
        if name.endswith(".md"):
            write(name, page(name))
        elif name.endswith((".svg", ".png")):
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(release.TOP / name, SOURCE / name)
    for name in ("site.css", "site.js", "favicon.svg"):
        shutil.copy(HERE / name, SOURCE)
    configuration = (HERE / "mkdocs.yml").read_text(encoding="utf-8")
    recipes = sorted(path.relative_to(SOURCE) for path in SOURCE.glob("sql/*.sql.md"))
    first = "      - sql/README.md\n"
    configuration = configuration.replace(
        first, first + "".join(f"      - {name}\n" for name in recipes))
    if (release.BUILD / "web/index.html").exists():
        shutil.copy(release.BUILD / "web/index.html", SOURCE / "try.html")
        configuration = configuration.replace("\nnav:\n", "\nnav:\n  - Try it: try.html\n")
    (OUTPUT / "mkdocs.yml").write_text(configuration, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict",
                    "--config-file", OUTPUT / "mkdocs.yml"], check=True,
                   env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    print(f"  site {len(list((OUTPUT / 'html').rglob('*.html')))} pages")


if __name__ == "__main__":
    main()
