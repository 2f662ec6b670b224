#!/usr/bin/env python3
"""Writes the amalgamations: sqlite-bloom.c, all sources of the extension in one file, and
sqlite-bloom-filter.c, all of the filter library; the header of each beside it, and a zip of both.

    amalgamate.py [--ext FOLDER] [--rename] OUTPUT_FOLDER

The sources of the extension are all .c files of ext, less ext/packages and sqlite-bloom-filter.c;
those of the library are that file and the folders that it needs. Folders come in the order in which
they include each other, files of a folder by name; each header stands where it is first needed.
Comments stay: the file is meant to be read.

Everything becomes static but the entry points, which the header declares, so that a program that
links the file in gets no other name. A name that a header declares is declared static there; an
array that it declares without its length cannot be, so that declaration goes: such an array is used
behind its definition alone.

One file is one translation unit, so two files may not give the same name to different things at
file scope: static functions and variables, constants of enums, tags, types. Where they do, this
ends with both places named, and the remedy is to rename one of them. With --rename this program
does it, in the amalgamation alone: FILE_NAME in place of NAME. Macros that a .c file defines are
undefined at its end.
"""

import argparse
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
DIRECTIVE = re.compile(r"^\s*#\s*(\w+)\s*(\w*)")
# What a file of C is made of, as far as finding names goes. A comment or a string is one token.
TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|\s+)
      | (?P<directive>(?:^|(?<=\n))[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
      | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)

Token = collections.namedtuple("Token", "kind text line")


class Problem(Exception):
    """The sources cannot be made one file."""


def tokens(text):
    """The tokens of a source that matter, each with its line."""
    line = 1
    for match in TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield Token(match.lastgroup, match[0].strip(), line)
        line += match[0].count("\n")


def declarations(text):
    """The declarations at file scope: lists of tokens, without directives; what braces hold is part
    of them.
    """
    declaration, depth = [], 0
    for token in tokens(text):
        if token.kind == "directive":
            continue
        declaration.append(token)
        depth += token.text in ("{", "(", "[")
        depth -= token.text in ("}", ")", "]")
        if depth == 0 and (token.text == ";" or token.text == "}" and is_function(declaration)):
            yield declaration
            declaration = []


def is_function(declaration):
    """Whether a declaration that ends in a brace is the definition of a function, and so needs no
    semicolon.
    """
    level = 0
    for before, token in zip(declaration, declaration[1:]):
        level += before.text in ("(", "[", "{")
        level -= before.text in (")", "]", "}")
        if level == 0 and token.text in ("=",):
            return False
        if token.text == "{" and level == 0:
            return before.text == ")"
    return False


def without_attributes(declaration):
    """The declaration less __attribute__((...)), _Static_assert and the like, and less what braces
    hold.
    """
    kept, skip, depth = [], 0, 0
    for i, token in enumerate(declaration):
        if depth == 0 and token.text in ("__attribute__", "_Alignas"):
            skip = 1
        elif skip:
            depth += token.text == "("
            depth -= token.text == ")"
            skip = int(depth > 0 or token.text != ")")
        else:
            kept.append(token)
    return kept


def declared_name(declaration):
    """The name that a static function, a static variable or a typedef declares."""
    level = 0
    for i, token in enumerate(declaration):
        if level == 0 and token.text == "(" and i + 1 < len(declaration):
            if declaration[i + 1].text == "*":  # a pointer to a function, or an array of them
                end = next(
                    j for j in range(i, len(declaration)) if declaration[j].text in (")", "[")
                )
                return next(t for t in reversed(declaration[i:end]) if t.kind == "name")
            return declaration[i - 1]
        if level == 0 and token.text in ("=", "[", ";"):
            return next((t for t in reversed(declaration[:i]) if t.kind == "name"), None)
        level += token.text == "{"
        level -= token.text == "}"
    return None


def names_of(text):
    """The names that belong to a .c file alone: name to line, and the names of its macros."""
    found = {}

    def note(token):
        if token is not None:
            found.setdefault(token.text, token.line)

    for declaration in declarations(text):
        declaration = without_attributes(declaration)
        words = [token.text for token in declaration]
        if (
            words[0] in ("static", "typedef")
            or "static" in words[: words.index("(") if "(" in words else None]
        ):
            note(declared_name(declaration))
        for i, token in enumerate(declaration):
            if token.text not in ("enum", "struct", "union"):
                continue
            brace = i + 1 + (i + 1 < len(declaration) and declaration[i + 1].kind == "name")
            if (
                brace >= len(declaration)
                or declaration[brace].text != "{"
                or inside_function(declaration, i)
            ):
                continue
            if brace == i + 2:
                note(declaration[i + 1])
            if token.text == "enum":
                level = 0
                for before, constant in zip(declaration[brace:], declaration[brace + 1 :]):
                    level += before.text in ("{", "(")
                    if level == 1 and before.text in ("{", ",") and constant.kind == "name":
                        note(constant)
                    level -= constant.text in ("}", ")")
                    if level == 0:
                        break
    macros = [
        DIRECTIVE.match(token.text)[2]
        for token in tokens(text)
        if token.kind == "directive" and DIRECTIVE.match(token.text)[1] == "define"
    ]
    return found, list(dict.fromkeys(macros))


def inside_function(declaration, index):
    brace = next((i for i, token in enumerate(declaration) if token.text == "{"), len(declaration))
    return brace < index and is_function(declaration)


def rename(text, names):
    """The text with other names, a dict; members (after . and ->) keep theirs, and so do comments
    and strings.
    """
    result, before = [], ""
    for match in TOKEN.finditer(text):
        word = match[0]
        if match.lastgroup == "name" and before not in (".", "->"):
            word = names.get(word, word)
        elif match.lastgroup == "directive":
            word = re.sub(
                r"(?<![\w.>])[A-Za-z_]\w*", lambda name: names.get(name[0], name[0]), word
            )
        if match.lastgroup != "skip":
            before = "->" if before == "-" and match[0] == ">" else match[0]
        result.append(word)
    return "".join(result)


# How all else is declared; TITLE defines it.
INTERNAL = "BLOOM_INTERNAL"
# What begins a declaration that no other file sees.
NO_LINKAGE = {"static", "typedef", "_Static_assert", "static_assert"}
# The names that a program gets.
PUBLIC = re.compile(r"sqlite3_bloom_init|sqlite_bloom_\w+")
# The file on top of the filter library.
LIBRARY = pathlib.PurePath("sqlite-bloom-filter.c")
# SQLite's macros would define a name that all extensions of a program share, where SQLite is not
# linked in: the pointer to its functions.
API_POINTER = re.compile(r"^SQLITE_EXTENSION_INIT[13]\b", re.MULTILINE)
# A macro that makes a function static, as WITH_AVX2 does, or defines static functions.
STATIC_MACRO = re.compile(
    r"^\s*#\s*define\s+(\w+)(?:\([^)\n]*\))?\s[^\n]*\bstatic\b", re.MULTILINE
)
STATIC_API_POINTER = """#if !defined(SQLITE_CORE) && !defined(SQLITE_OMIT_LOAD_EXTENSION)
static const sqlite3_api_routines *sqlite3_api;
#endif
"""


def made_static(text, static_macros):
    """The text of a source in which every function and variable at file scope is static."""
    changes = []  # first and last character, what stands there instead
    for first, last, declaration in placed_declarations(text):
        change = static_change(declaration, static_macros)
        if change is not None:
            changes.append((first, last, *change))
    for first, last, dropped, instead in reversed(changes):
        text = text[:first] + instead + text[last if dropped == "all" else first + len(dropped) :]
    return text


def placed_declarations(text):
    """The declarations at file scope, each with the places where it begins and ends."""
    declaration, depth, first = [], 0, 0
    for match in TOKEN.finditer(text):
        if match.lastgroup in ("skip", "directive"):
            continue
        first = first if declaration else match.start()
        declaration.append(Token(match.lastgroup, match[0], 0))
        depth += match[0] in ("{", "(", "[")
        depth -= match[0] in ("}", ")", "]")
        if depth == 0 and (match[0] == ";" or match[0] == "}" and is_function(declaration)):
            yield first, match.end(), declaration
            declaration = []


def static_change(declaration, static_macros):
    """What is to be done with a declaration: the words that go from its front ("all": it goes as a
    whole) and those that come; None when it is static, or declares no function and no variable.
    """
    whole, declaration = declaration, without_attributes(declaration)
    words, level = [], 0  # those outside of braces and brackets
    for token in declaration:
        level -= token.text in ("}", ")", "]")
        if level == 0:
            words.append(token.text)
        level += token.text in ("{", "(", "[")
    if not (NO_LINKAGE | static_macros).isdisjoint(words):
        return None
    if words[0] in ("struct", "union", "enum") and (words[2] == ";" or words[-2] == "}"):
        return None
    name = declared_name(declaration)
    if name is None or PUBLIC.fullmatch(name.text):
        return None
    if words[0] == "extern":
        place = [token.text for token in declaration].index(name.text)
        if [token.text for token in declaration[place + 1 : place + 3]] == ["[", "]"]:
            return ("all", "")
        if whole[0].text == "extern":
            return ("extern", INTERNAL)
    return ("", f"{INTERNAL} ")


class Amalgamation:
    def __init__(self, ext, may_rename, library):
        self.ext = ext
        self.library = library  # whether it is the filter library's
        self.may_rename = may_rename
        self.done = set()
        self.parts = []
        self.has_pointer = False
        self.static_macros = {
            name
            for path in ext.rglob("*.[ch]")
            for name in STATIC_MACRO.findall(path.read_text().replace("\\\n", " "))
        }

    def source(self, path):
        """The text of a file, in which all is static; the headers on top of ext/ are public."""
        text = (self.ext / path).read_text()
        if path.parent.name == "" and path.suffix == ".h":
            return text
        return made_static(API_POINTER.sub(self.pointer, text), self.static_macros)

    def pointer(self, match):
        """In place of SQLite's macros: the pointer once, where it is first needed."""
        if self.has_pointer:
            return ""
        self.has_pointer = True
        return STATIC_API_POINTER

    def sources(self):
        """All .c files: a folder after those that it includes from, the files of a folder by name.
        """
        files = sorted(path.relative_to(self.ext) for path in self.ext.rglob("*.c"))
        files = [
            path
            for path in files
            if path.parts[0] != "packages"
            and (str(path.parent) != "." or self.library == (path == LIBRARY))
        ]
        needs = collections.defaultdict(set)
        for path in self.ext.rglob("*/*.[ch]"):
            folder = str(path.parent.relative_to(self.ext))
            needs[folder] |= self.folders(path) - {folder}
        if self.library:
            wanted = self.folders(self.ext / LIBRARY)
            while more := {folder for one in wanted for folder in needs[one]} - wanted:
                wanted |= more
            files = [path for path in files if str(path.parent) in wanted | {"."}]
        order = []
        while len(order) < len({path.parent for path in files} - {pathlib.Path(".")}):
            ready = sorted(
                folder
                for folder in {str(path.parent) for path in files} - {"."}
                if folder not in order and needs[folder] <= set(order)
            )
            if not ready:
                raise Problem(
                    f"folders of {self.ext} include each other in a circle, beyond"
                    f" {', '.join(order)}"
                )
            order.append(ready[0])
        order.append(".")
        return sorted(files, key=lambda path: (order.index(str(path.parent)), path))

    def included(self, path):
        return [
            match[1]
            for line in path.read_text().splitlines()
            if (match := INCLUDE.match(line)) and (self.ext / match[1]).exists()
        ]

    def folders(self, path):
        """The folders that a file includes from."""
        return {name.rpartition("/")[0] for name in self.included(path) if "/" in name}

    def add(self, path, text):
        """Appends a file, with its headers in front of where they are included."""
        self.parts.append(f"/************** {path} **************/\n")
        depth, guard = 0, False
        for number, line in enumerate(text.splitlines(), 1):
            directive = DIRECTIVE.match(line)
            include = INCLUDE.match(line)
            if include and (self.ext / include[1]).exists():
                if depth > guard:
                    raise Problem(f"{path}:{number}: {include[1]} is included under a condition")
                if include[1] not in self.done:
                    self.done.add(include[1])
                    self.add(include[1], self.source(pathlib.PurePath(include[1])))
                    self.parts.append(f"/************** {path}, continued **************/\n")
                continue
            if directive:
                depth += directive[1] in ("if", "ifdef", "ifndef")
                depth -= directive[1] == "endif"
                guard = guard or directive[1] == "ifndef" and depth == 1 and path.endswith(".h")
            self.parts.append(line + "\n")

    def text(self):
        sources = self.sources()
        texts = {path: (self.ext / path).read_text() for path in sources}
        owned = {path: names_of(text) for path, text in texts.items()}
        places = collections.defaultdict(list)
        for path, (names, _) in owned.items():
            for name, line in names.items():
                places[name].append((path, line))
        collisions = {name: found for name, found in places.items() if len(found) > 1}
        if collisions and not self.may_rename:
            raise Problem(
                "\n".join(
                    f"'{name}' has two meanings: "
                    + " and ".join(f"{self.ext / path}:{line}" for path, line in found)
                    + "; rename one of them"
                    for name, found in sorted(collisions.items())
                )
            )
        for path in sources:
            names = {
                name: f"{path.parent.name}_{path.stem}_{name}"
                for name in collisions
                if name in owned[path][0]
            }
            text = self.source(path)
            self.add(str(path), rename(text, names) if names else text)
            self.parts += [f"#undef {macro}\n" for macro in owned[path][1]]
        return "".join(self.parts)


TITLE = """/* bloom {release}, persistent filters for SQLite, in one file.
 *
 * Made from the sources of ext/ by ext/packages/amalgamation/amalgamate.py; change them, not this
 * file.
 *
 * As a loadable extension (macOS: -dynamiclib -o bloom.dylib; -I for where sqlite3ext.h is):
 *     cc -O2 -std=c11 -ffp-contract=off -fPIC -fvisibility=hidden -shared -o bloom.so
 *         sqlite-bloom.c -lm
 * In a program that has SQLite in it:
 *     cc -O2 -std=c11 -ffp-contract=off -DSQLITE_CORE -c sqlite-bloom.c
 * which is linked with -lm (not on Windows); sqlite-bloom.h says what the program calls.
 *
{license} */
"""

LIBRARY_TITLE = """/* bloom {release}, filters from C and C++ without SQLite, in one file:
 * what sqlite-bloom-filter.h declares.
 *
 * Made from the sources of ext/ by ext/packages/amalgamation/amalgamate.py; change them, not this
 * file.
 *
 *     cc -O2 -std=c11 -ffp-contract=off -c sqlite-bloom-filter.c
 * which is linked with -lm (not on Windows). It needs the C library alone.
 *
{license} */
"""

PROLOGUE = """
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

"""


def amalgamation(ext, may_rename=False, library=False):
    license_lines = (ext.parent / "LICENSE").read_text().splitlines()
    title = (LIBRARY_TITLE if library else TITLE).format(
        release=release.RELEASE,
        license="".join(f" * {line}".rstrip() + "\n" for line in license_lines),
    )
    return title + PROLOGUE + Amalgamation(ext, may_rename, library).text()


def write(options, name, text, readme, *more):
    """A file of sources and its header, and a zip of them, a README and further files."""
    (options.output / f"{name}.c").write_text(text)
    header = (options.ext / f"{name}.h").read_text()
    (options.output / f"{name}.h").write_text(header)
    folder = f"{name}-amalgamation-{release.RELEASE}"
    files = {
        f"{name}.c": text,
        f"{name}.h": header,
        "README.md": release.fill(f"amalgamation/{readme}"),
        "LICENSE": (options.ext.parent / "LICENSE").read_text(),
        **{path.name: path.read_text() for path in more},
    }
    release.write_zip(
        options.output / f"{folder}.zip",
        {f"{folder}/{file}": contents for file, contents in files.items()},
    )


def main():
    parser = argparse.ArgumentParser(description="Write the amalgamations.")
    parser.add_argument(
        "--ext", type=pathlib.Path, default=release.EXT, help="the folder of the sources"
    )
    parser.add_argument("--rename", action="store_true", help="rename what would collide")
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    has_library = (options.ext / LIBRARY).exists()
    try:
        text = amalgamation(options.ext, options.rename)
        library = amalgamation(options.ext, options.rename, True) if has_library else None
    except Problem as problem:
        sys.exit(f"amalgamate.py: {problem}")
    options.output.mkdir(parents=True, exist_ok=True)
    for old in options.output.glob("*.zip"):
        old.unlink()
    write(options, "sqlite-bloom", text, "README.md")
    if library is not None:
        write(options, "sqlite-bloom-filter", library, "README-filter.md",
              release.PACKAGES / "amalgamation/guard.c")


if __name__ == "__main__":
    main()
