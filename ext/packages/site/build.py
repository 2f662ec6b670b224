#!/usr/bin/env python3
"""Makes a site of the Markdown files of the project, with MkDocs and Material, in build/packages.

The files are copied to where they are in the project, so their links stay as they are. What they
link to that no browser shows, for example a recipe in SQL, becomes a page of its own. A folder does
not, so a link to one becomes its text. The search knows the pages of mkdocs.yml and the recipes,
but no sources. The page to try it is in a frame of a page of the site.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402
import sql_recipes  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OUTPUT = release.BUILD / "site"
SOURCE = OUTPUT / "source"
PAGE = release.BUILD / "web/index.html"  # to try it, if it is built
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
TO_TRY = re.compile(r"\]\([\w/]*README\.md#the-page-to-try-it\)")
SHOWN = (".md", ".svg", ".png")
LANGUAGES = {".sh": "sh", ".sql": "sql", ".py": "python", ".c": "c", ".h": "c", ".ini": "ini"}
# The site's page with the page to try it, whose heading it has.
TO_TRY_IT = """---
hide: [navigation, toc]
search:
  exclude: true
---

<h1 hidden>Try it</h1>
<iframe id="try" title="The page to try it"></iframe>
"""
# What counts how much in the search, beside a page for all users.
ASKED_BOOST, RARE_BOOST, INSIDE_BOOST = 2, 0.3, 0.02


def write(name, text):
    (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
    (SOURCE / name).write_text(text, encoding="utf-8")


def head(**search):
    """What Material reads at the top of a page."""
    settings = "".join(f"  {name}: {str(value).lower()}\n" for name, value in search.items())
    return f"---\nsearch:\n{settings}---\n\n"


def block(path, text=None):
    """What a file has, or the part of it that is given, without blanks at the ends of lines."""
    lines = (text or path.read_text(encoding="utf-8")).rstrip().splitlines()
    language = LANGUAGES.get(path.suffix, "text")
    return "\n".join([f"````{language}", *map(str.rstrip, lines), "````\n"])


def source_page(path):
    """A page that shows a file. The search does not know it."""
    return head(exclude=True) + f"# {path.name}\n\n{block(path)}"


def recipe_page(name, have, want):
    """A page that shows a recipe and what it prints. The search knows what it is for."""
    path = release.TOP / f"sql/{name}.sql"
    first, rest, code = sql_recipes.parts(name)
    here = ""
    if PAGE.exists() and sql_recipes.needs_no_program(code):
        here = f', or <a href="../try.html#recipe={name}">run it in your browser</a>'
    read = "".join(f"## {each.name} in sql/data {{ data-search-exclude }}\n\n{block(each)}\n"
                   for each in sql_recipes.read_by(code))
    return (f"# {sql_recipes.title(name)}\n\n{first} {rest}\n\n"
            f"You have: {have}. You want: {want}.\n\n"
            f"Run it from the top folder with `sqlite3 < sql/{name}.sql`{here}.\n\n"
            f"## {path.name} {{ data-search-exclude }}\n\n{block(path, code)}\n"
            f"## It prints {{ data-search-exclude }}\n\n{block(path.with_suffix('.out'))}\n{read}")


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
        written = f"{file.relative_to(release.TOP)}.md"
        if not (SOURCE / written).exists():
            write(written, source_page(file))
        return f"{mark}[{words}]({target}.md{heading})"

    return LINK.sub(link, path.read_text(encoding="utf-8"))


def search_head(name, configuration):
    """The head of a page for the search, by its tab."""
    if name == "README.md":
        return head(boost=RARE_BOOST)  # it names everything, and explains little
    if name == "sql/QUESTIONS.md":
        return head(boost=ASKED_BOOST)
    place, inside = configuration.find(f": {name}\n"), configuration.index("  - Inside:\n")
    if place < 0:
        return head(exclude=True)
    return head(boost=INSIDE_BOOST) if place > inside else ""


def with_recipes(configuration):
    """Their pages, by group, below those that list and explain them. The last group is for few."""
    entries, groups = "", sql_recipes.groups()
    for group, rows in groups.items():
        entries += f"      - {group}:\n"
        for name, (have, want) in rows.items():
            rare = head(boost=RARE_BOOST) if group == list(groups)[-1] else ""
            write(f"sql/{name}.sql.md", rare + recipe_page(name, have, want))
            entries += f"          - {sql_recipes.title(name)}: sql/{name}.sql.md\n"
    explained = "      - What just happened?: sql/EXPLAINED.md\n"
    return configuration.replace(explained, explained + entries)


def main():
    shutil.rmtree(OUTPUT, ignore_errors=True)
    configuration = (HERE / "mkdocs.yml").read_text(encoding="utf-8")
    everything = with_recipes(configuration)
    for name in release.sources():
        if name.endswith(".md"):
            write(name, search_head(name, configuration) + page(name))
        elif name.endswith((".svg", ".png")):
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(release.TOP / name, SOURCE / name)
    for name in ("site.css", "site.js", "favicon.svg"):
        shutil.copy(HERE / name, SOURCE)
    write("logo.svg", re.sub("<style>.*</style>", "<style>rect{fill:#fff}</style>",
                             (HERE / "favicon.svg").read_text(encoding="utf-8")))
    if PAGE.exists():
        write("try.md", TO_TRY_IT)
        shutil.copy(PAGE, SOURCE / "page.html")
        for name in ("README.md", "ext/packages/README.md"):
            there = os.path.relpath(SOURCE / "try.md", (SOURCE / name).parent)
            write(name, TO_TRY.sub(f"]({there})", (SOURCE / name).read_text(encoding="utf-8")))
        everything = everything.replace("\nnav:\n", "\nnav:\n  - Try it: try.md\n")
    (OUTPUT / "mkdocs.yml").write_text(everything, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict",
                    "--config-file", OUTPUT / "mkdocs.yml"], check=True,
                   env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    print(f"  site {len(list((OUTPUT / 'html').rglob('*.html')))} pages")


if __name__ == "__main__":
    main()
