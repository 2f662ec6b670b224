#!/usr/bin/env python3
"""Prints bloom(3sql), the manual page: bloom.3sql with its functions and options, which are the
tables of sql/REFERENCE.md whose heads are `call | result` and `option | meaning`.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402


def troff(text):
    """Markdown of a table's cell as text of a manual page."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = re.sub(
        r"\[[^]]+\]\(ext/(FORMAT[-a-z]*|URLS)\.md[^)]*\)", r"\1.md", text
    )  # which the package has
    text = re.sub(r":? \[[^]]+\]\([^)]*\)", "", text)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text).replace("**", "")
    return re.sub(r"^\.", r"\\&.", text)


def rows(reference, head):
    """The rows of all tables of sql/REFERENCE.md that have this head."""
    table = None
    for line in reference.splitlines():
        cells = (
            [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if line.startswith("|")
            else None
        )
        if cells is None:
            table = None
        elif table is None:
            table = cells
        elif table == head and not set(cells[0]) <= set("-:| "):
            yield cells


def entries(pairs):
    """The paragraphs of a list: what a cell names, in code, stands one below the other."""
    text = ""
    for cell, said in pairs:
        cell = re.sub(r"\[`(\w+)`\]\([^)]*\)`", r"`\1", cell)  # the name of a call is a link
        names = re.findall(r"`([^`]*)`", cell)
        text += "".join(
            f"{'.TQ' if i else '.TP'}\n.B \"{troff(name)}\"\n" for i, name in enumerate(names)
        )
        text += troff(said) + "\n"
    return text


def manual_page():
    reference = (release.TOP / "sql/REFERENCE.md").read_text()
    functions = list(rows(reference, ["call", "result"]))
    options = list(rows(reference, ["option", "meaning"]))
    if not functions or not options:
        sys.exit(
            "manual_page.py: sql/REFERENCE.md has no table of `| call | result |` or none of"
            " `| option | meaning |`: the manual page needs both"
        )
    page = (release.PACKAGES / "debian/bloom.3sql").read_text()
    page = page.replace("@FUNCTIONS@\n", entries(functions))
    return page.replace("@OPTIONS@\n", entries(options))


if __name__ == "__main__":
    sys.stdout.write(manual_page())
