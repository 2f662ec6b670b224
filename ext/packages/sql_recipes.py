"""The recipes of sql/, for the site and for the page to try it: by what they are for, as
sql/README.md groups them, and what their opening comments say.
"""

import re

import release

SQL = release.TOP / "sql"
GROUP = re.compile(r"^## (.*)\n((?:(?!## ).*\n)*)", re.MULTILINE)
ROW = re.compile(r"^\| ([^|]*) \| ([^|]*) \| \[\w+\.sql\]\((\w+)\.sql\) \|", re.MULTILINE)


def groups():
    """The names of the recipes by group, each with what one has and what one wants."""
    found = {heading: {name: (have, want) for have, want, name in ROW.findall(text)}
             for heading, text in GROUP.findall((SQL / "README.md").read_text(encoding="utf-8"))}
    found = {heading: rows for heading, rows in found.items() if rows}
    names = sorted(name for rows in found.values() for name in rows)
    assert names == sorted(path.stem for path in SQL.glob("*.sql")), names
    return found


def text(name):
    return (SQL / f"{name}.sql").read_text(encoding="utf-8")


def needs_no_program(sql):
    """Whether a recipe runs in a browser, which has no files and no programs."""
    return re.search(r"^\.(import|shell)", sql, re.MULTILINE) is None


def opening(sql):
    """The comment that opens a recipe: its first sentence, and the rest without how to run it."""
    comment = " ".join(line.removeprefix("--").strip()
                       for line in re.match(r"(--.*\n)+", sql)[0].splitlines())
    comment = comment.partition(" From the top folder:")[0]
    first = re.match(r".*?[.?!](?= |$)", comment)[0]
    return first, comment[len(first):].strip()
