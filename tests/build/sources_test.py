#!/usr/bin/env python3
"""The rules of the house that a compiler does not see: folders, widths, names.

A source file includes nothing of a folder above its own; no line of code, comment or text is wider
than 100 columns; no two files give one name to two things, so that all of them make one file; the
headers of others that ext/packages has are as theirs; a new layout with a hashing of its own needs
a file each and one row, which a toy that is not shipped shows.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
# From the lowest; extension.c includes them all.
FOLDERS = " ".join(re.findall(r"^(?:LIBRARY_)?FOLDERS = (?:\$\(LIBRARY_FOLDERS\) )?(.*)",
                              (TOP / "Makefile").read_text(), re.MULTILINE)).split()
WITH_SQLITE = ("sqlite", "sqlite/rows", "table")
WIDTH = 100
# Data, golden files and results, and what a program prints, are not written by hand.
GENERATED = re.compile(r"\.(out|csv|svg|json|lock|sum)$|/(results|data|golden|corpus)/")
# A number, a literal or an address that cannot be broken.
UNBREAKABLE = re.compile(r"[^\s,()]{60}|'[^']{60,}'|https?://\S")

NAME_OF_A_FILE = re.compile(r"\b(?:FORMAT-)?[a-z][a-z0-9_-]*\.(?:c|h|md|py|sql|test)\b")
# Of RedisBloom.
OTHERS_FILES = {"bloom.c"}
INTERFACE = TOP / "ext/packages/sqlite"
NODE_HEADERS = [folder for folder in (pathlib.Path("/usr/include/node"), TOP / "build/exchange"
                "/node/node_modules/node-api-headers/include") if folder.is_dir()]
PYTHON_HEADERS = sorted(pathlib.Path("/usr/include").glob("python3.*/Python.h"))
# Where the number of the release stands in ext/packages, besides pages.
NUMBERED = """amalgamation/README-filter.md amalgamation/README.md binaries/sqlpkg.json
    debian/changelog java/pom.xml npm/package.json python/pyproject.toml
    python/sqlite_bloom/__init__.py recipes/conanfile.py recipes/recipe.yaml
    ruby/lib/sqlite_bloom.rb ruby/sqlite-bloom.gemspec rust/Cargo.toml web/package.json"""


def compile_strictly(*arguments):
    subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-Wall", "-Wextra",
                    "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only",
                    *arguments], check=True)


def sources():
    return sorted(path for path in (TOP / "ext").rglob("*/*.[ch]")
                  if path.relative_to(TOP / "ext").parts[0] != "packages")


def folder_of(path):
    return str(path.parent.relative_to(TOP / "ext"))


def tracked():
    if shutil.which("git") is None or not (TOP / ".git").exists():
        return []
    names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, text=True,
                           check=True).stdout.split("\0")
    return [name for name in names if name and (TOP / name).is_file()]


class House(unittest.TestCase):
    def test_no_file_includes_what_stands_above_it(self):
        seen = 0
        for path in sources():
            allowed = FOLDERS[:FOLDERS.index(folder_of(path)) + 1]
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
                if name in ("sqlite3.h", "sqlite3ext.h"):
                    self.assertIn(folder_of(path), WITH_SQLITE, path)
                    continue
                self.assertIn(name.rpartition("/")[0], allowed, f"{path} includes {name}")
                self.assertTrue((TOP / "ext" / name).is_file(), f"{path} includes {name}")
                seen += 1
        self.assertGreater(seen, 50)

    def test_files_that_comments_name_are_there(self):
        """Of sources and of ARCHITECTURE.md: layout.h, growth_test.c, sql/pins.test."""
        names = {pathlib.Path(name).name for name in tracked()} | OTHERS_FILES
        if not tracked():
            self.skipTest("skipped: git is not installed, or this is no checkout")
        found, missing = 0, []
        for path in sources() + [*(TOP / "ext").glob("*.[ch]"), TOP / "ext/ARCHITECTURE.md"]:
            for comment in re.findall(r"/\*.*?\*/|`.*?`", path.read_text(), re.DOTALL):
                for name in NAME_OF_A_FILE.findall(comment):
                    found += 1
                    if name not in names:
                        missing.append(f"{path.name}: {name}")
        self.assertEqual(missing, [])
        self.assertGreater(found, 50)

    def test_no_line_is_wider_than_100_columns(self):
        names = tracked()
        if not names:
            self.skipTest("skipped: git is not installed, or this is no checkout")
        wide = []
        for name in names:
            contents = (TOP / name).read_bytes()
            if GENERATED.search(name) or b"\0" in contents:
                continue
            text = contents.decode().split("\n")
            for number, line in enumerate(text, 1):
                if len(line) > WIDTH and not UNBREAKABLE.search(line) \
                        and not self.is_of_one_line(name, text, number):
                    wide.append(f"{name}:{number}")
        self.assertEqual(wide, [])

    def test_all_sources_make_one_file(self):
        """ext/sqlite-bloom.c names each, and compiles where SQLite's headers are not installed."""
        names = [str(path.relative_to(TOP / "ext")) for folder in FOLDERS
                 for path in sorted((TOP / "ext" / folder).glob("*.c"))]
        one = (TOP / "ext/sqlite-bloom.c").read_text()
        self.assertEqual(re.findall('^#include "(.*)"$', one, re.M), [*names, "extension.c"])
        for more in ((), ("-DSQLITE_CORE",)):
            compile_strictly("-I", TOP / "ext", "-I", INTERFACE, TOP / "ext/sqlite-bloom.c", *more)

    def test_one_command_sets_the_number_of_the_release_everywhere(self):
        """In a copy, after which no file has the old number, and every place the new one."""
        if not tracked():
            self.skipTest("skipped: git is not installed, or this is no checkout")
        with tempfile.TemporaryDirectory() as folder:
            for name in tracked():
                if not name.startswith(("tests/", "sql/")):
                    path = pathlib.Path(folder) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(TOP / name, path)
            packages = pathlib.Path(folder) / "ext/packages"
            old = re.search(r'BLOOM_RELEASE "(.*)"', (TOP / "ext/base/version.h").read_text())[1]
            command = [sys.executable, str(packages / "release.py"), "12.34.56", "2031-02-03"]
            changed = subprocess.run(command, check=True, capture_output=True,
                                     text=True).stdout.split()
            self.assertLess({f"ext/packages/{name}" for name in NUMBERED.split()}, set(changed))
            for name in changed:
                self.assertNotRegex((pathlib.Path(folder) / name).read_text(),
                                    rf"(?<![\d.]){re.escape(old)}(?![\d.])", name)
            for header in ("sqlite-bloom.h", "sqlite-bloom-filter.h"):
                self.assertIn('_VERSION "12.34.56"\n#define SQLITE_BLOOM_VERSION_NUMBER 12034056\n',
                              (packages.parent / header).read_text())
            self.assertIn("Mon, 03 Feb 2031", (packages / "debian/changelog").read_text())
            self.assertIn("2031-02-03T00:00:00Z", (packages / "java/pom.xml").read_text())
            self.assertIn("datetime(2031, 2, 3,", (packages / "release.py").read_text())

    def is_of_one_line(self, name, text, number):
        """What the form of a file wants on one line: a row of a table and a link of Markdown; in a
        script the pattern of an error, a case of a foreach, and what a query gives."""
        line = text[number - 1]
        if name.endswith(".md"):
            return line.startswith("|") or "](" in line
        if name.endswith((".test", ".inc")):
            before = "\n".join(text[:number - 1]).rpartition("\n\n")[2]
            return line.startswith("statement error ") or re.search(
                r"^(----$|foreach )", before, re.M)
        return False


class Headers(unittest.TestCase):
    """ext/packages/sqlite, cpython and nodejs say of SQLite, and of the stable ABIs of Python and
    Node, what their own headers say.
    """

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def compiles(self, text, *arguments):
        (self.folder / "types.c").write_text(text)
        compile_strictly(*arguments, self.folder / "types.c")

    def assert_same(self, before, values, places, *folders, least=20):
        """Values, and where a member of a struct is, in the headers of both folders."""
        self.assertGreater(min(len(values), len(places)), least)
        lines = [f'printf("{name} %lld\\n", (long long){name});' for name in values]
        lines += [f'printf("{struct} {name} %zu\\n", offsetof({struct}, {name}));'
                  for struct, name in places]
        (self.folder / "places.c").write_text(
            f"#include <stddef.h>\n#include <stdio.h>\n{before}\nint main(void) {{\n"
            + "\n".join(lines) + "\n}\n")
        said = []
        for folder in folders:
            subprocess.run(["cc", f"-I{folder}", "-o", self.folder / "places",
                            self.folder / "places.c"], check=True)
            said.append(subprocess.run([self.folder / "places"], check=True, text=True,
                                       capture_output=True).stdout)
        self.assertEqual(*said)

    @unittest.skipUnless(pathlib.Path("/usr/include/sqlite3ext.h").exists(),
                         "skipped: libsqlite3-dev is not installed")
    def test_of_sqlite(self):
        text = (INTERFACE / "sqlite3.h").read_text()
        table = re.search(r"#define SQLITE_BLOOM_FUNCTIONS.*?\n/\*", text, re.S)[0].rstrip("/*")
        types = re.findall(r"^typedef void \(\*sqlite3_(?:step|final)_type.*$", text, re.M)
        self.compiles("\n".join(["#include <sqlite3.h>", *types, table, """
#define F(type, name, parameters, arguments) type sqlite3_##name parameters;
#define P(name, parameters, arguments) void sqlite3_##name parameters;
#define V(type, name, member, parameters) type sqlite3_##name parameters;
#define U(name, count)
SQLITE_BLOOM_FUNCTIONS(F, P, V, U)
"""]))
        values = re.findall(r"(SQLITE_\w+) =", text)
        places = [("sqlite3_api_routines", name)
                  for name in re.findall(r"\bU\((\w+), ", table)]
        while inner := re.search(r"struct (sqlite3_\w+) \{([^{}]*)\}", text):
            text = text.replace(inner[0], "")
            members = re.sub(r"\)\([^;]*\);", ");", inner[2])
            places += [(inner[1], name) for name in re.findall(r"(\w+)\)?[,;]", members)]
        self.assert_same(
            "#include <sqlite3ext.h>\nSQLITE_EXTENSION_INIT1", values,
            [(f"struct {struct}", "xsnprintf" if name == "snprintf" else name)
             for struct, name in places if name != "xIntegrity"], "/usr/include", INTERFACE)

    @unittest.skipUnless(PYTHON_HEADERS, "skipped: python3-dev is not installed")
    def test_of_python(self):
        folder = TOP / "ext/packages/cpython"
        text = (folder / "Python.h").read_text()
        table = re.search(r"#define SQLITE_BLOOM_PYTHON.*?\n/\*", text, re.S)[0].rstrip("/*")
        names = re.findall(r"\b[FO]\([\w *]+, (\w+)[,)]", table)
        self.assertGreater(len(names), 40)
        declared = subprocess.run(
            ["cc", "-E", "-DPy_LIMITED_API=0x030A0000", "-isystem", PYTHON_HEADERS[0].parent,
             "-include", "Python.h", "-x", "c", os.devnull], check=True, text=True,
            capture_output=True).stdout
        self.assertEqual([name for name in names if not re.search(rf"\b{name}\b", declared)], [])
        self.compiles(f"""
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#undef Py_NewRef
{table}
#define F(type, name, parameters) type name parameters;
#define O(type, name) extern type name;
SQLITE_BLOOM_PYTHON(F, O)
""", "-Wno-deprecated-declarations", "-isystem", PYTHON_HEADERS[0].parent)
        values = re.findall(r"\b(Py_\w+|PyBUF_\w+|METH_\w+) = ",
                            re.search(r"enum \{.*?\};", text, re.S)[0])
        places = [(struct, name.split()[-1].strip("*"))
                  for body, struct in re.findall(r"typedef struct \{([^{}]*)\} (\w+);", text)
                  for line in body.split(";")[:-1] if "(" not in line for name in line.split(",")]
        self.assert_same(
            "#define Py_LIMITED_API 0x030B0000\n#include <Python.h>",
            [*values, *(f"sizeof({struct})" for struct in dict(places))],
            [*places, ("PyModuleDef_Base", "m_init"), ("PyObject", "ob_type")],
            PYTHON_HEADERS[0].parent, folder)


    @unittest.skipUnless(NODE_HEADERS, "skipped: node-api-headers is not there: make fetch")
    def test_of_node(self):
        folder = TOP / "ext/packages/nodejs"
        text = (folder / "node_api.h").read_text()
        table = re.search(r"#define SQLITE_BLOOM_NODE\(F\).*?\n/\*", text, re.S)[0].rstrip("/*")
        before = "#define NAPI_VERSION 8\n#include <node_api.h>\n"
        members = re.search(r"typedef struct \{(.*?)\}", text, re.S)[1]
        values = re.findall(r"\bnapi_\w+(?=[ },]| = \d)", " ".join(re.findall(
            r"enum \{(.*?\})", text, re.S)))
        for own in NODE_HEADERS:
            self.compiles(f"{before}{table}\n#define F(name, parameters) napi_status name"
                          " parameters;\nSQLITE_BLOOM_NODE(F)\n", "-isystem", own)
            self.assert_same(before, [*values, "NAPI_AUTO_LENGTH"], [
                ("napi_property_descriptor", name) for name in re.findall(r"(\w+)[,;]", members)
            ], own, folder, least=4)


class NewLayout(unittest.TestCase):
    """A layout with a hashing of its own: a file, a row, and every function has it."""

    def test_a_layout_and_a_hashing_join_by_a_file_and_a_row(self):
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            table = (TOP / "ext/foreign/layouts.c").read_text()
            for place, row in (("&bloom_layout_blocked,", "&bloom_layout_toy, "),
                               ("static const struct", "extern const struct bloom_layout "
                                "bloom_layout_toy;\n")):
                table = table.replace(place, row + place, 1)
            (top / "layouts.c").write_text(table)
            objects = subprocess.run(["make", "-s", "V=1", "objects"], cwd=TOP, check=True,
                                     capture_output=True, text=True).stdout.split()
            objects.remove("build/loadable/foreign/layouts.o")
            subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c11", "-O1", "-Wall",
                            "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{TOP}/ext",
                            top / "layouts.c", TOP / "tests/build/toy.c", *objects,
                            "-o", top / "bloom.so", "-lm"], cwd=TOP, check=True)
            for sql, wanted in (
                    ("bloom_check(bloom_add(bloom_new(3, 0.1, 'toy'), 'abc'), 'xyz')", "1"),
                    ("bloom_check(bloom_add(bloom_new(3, 0.1, 'toy'), 'abc'), 'abcd')", "0"),
                    ("substr(hex(f), 11, 4) || substr(hex(f), 81, 16) || substr(hex(f), 129) FROM "
                     "(SELECT bloom_agg(column1, NULL, 0.1, 'toy') AS f FROM (VALUES ('a'), "
                     "('bb')))", "C8C805000000000000000600000000000000")):
                self.assertEqual(self.shell(top, sql), (wanted, ""), sql)
            for sql, wanted in (
                    ("bloom_add(bloom_new(3, 0.1, 'toy'), 7)",
                     "bloom_add: argument 2 is 7, but the keys of layout toy are text. Convert"),
                    ("bloom_union(bloom_new(3, 0.1, 'toy'), bloom_new(3, 0.1, 'toy'))",
                     "bloom_union: cannot unite a filter of layout toy. Make another toy")):
                output, error = self.shell(top, sql)
                self.assertEqual(output, "")
                self.assertIn(wanted, error)

    def shell(self, top, sql):
        ran = subprocess.run(["sqlite3", "-batch", "-init", "/dev/null", "-cmd",
                              f".load {top}/bloom", ":memory:", f"SELECT {sql}"],
                             capture_output=True, text=True, check=False)
        return ran.stdout.strip(), ran.stderr.strip()


if __name__ == "__main__":
    unittest.main()
