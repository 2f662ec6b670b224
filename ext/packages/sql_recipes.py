"""The recipes of sql/, for the site and for the page to try it: by what they are for, as
sql/README.md groups them, and what their opening comments say.
"""

import re

import release

SQL = release.TOP / "sql"
GROUP = re.compile(r"^## (.*)\n((?:(?!## ).*\n)*)", re.MULTILINE)
# Words whose spelling is another one than in the name of a file.
NAMES = {"pihole": "Pi-hole", "urls": "URLs", "guava": "Guava"}
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


def read_by(sql):
    """The files with made-up tables that a recipe reads."""
    return [release.TOP / name for name in re.findall(r"^\.read (.*)$", sql, re.MULTILINE)]


def needs_no_program(sql):
    """Whether a recipe runs in a browser, which has no programs."""
    texts = [sql, *(path.read_text(encoding="utf-8") for path in read_by(sql))]
    return not any(re.search(r"^\.(import|shell)", each, re.MULTILINE) for each in texts)


def title(name):
    words = " ".join(NAMES.get(word, word) for word in name.split("_"))
    return words[0].upper() + words[1:]


def parts(name):
    """The first sentence of the comment that opens a recipe, the rest of that comment without how
    to run it, and what follows it.
    """
    lines, code = re.match(r"((?:--[^\n]*\n)+)(.*)", text(name), re.DOTALL).groups()
    comment = " ".join(line.removeprefix("--").strip() for line in lines.splitlines())
    comment = comment.partition(" From the top folder:")[0]
    first = re.match(r".*?[.?!](?= |$)", comment)[0]
    return first, comment[len(first):].strip(), code
