#!/usr/bin/env python3
"""Makes the WebAssembly module and the page.

build/packages/web/module holds SQLite with bloom as an ES module; build/packages/web/index.html is
the page with all that it needs in one file, so that it opens from a disk as from a server.

Needs emscripten (Debian's emcc), SQLite's amalgamation (sqlite_source.py), and npm for the style
sheet and the renderer of others on which the page is built.
"""

import base64
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import release  # noqa: E402
import sql_recipes  # noqa: E402
import sqlite_source  # noqa: E402

OUTPUT = release.BUILD / "web"
MODULE = OUTPUT / "module"
WORK = release.BUILD / "scratch" / "web"
SOURCES = release.PACKAGES / "web"
# What is in the zip besides the engine that emscripten makes.
FILES = """sqlite-bloom.mjs sqlite-bloom.d.mts sqlite-bloom-common.mjs sqlite-bloom-worker.mjs
    sqlite-bloom-client.mjs sqlite-bloom-client.d.mts sqlite-bloom-node.mjs
    sqlite-bloom-node-worker.mjs package.json README.md""".split()
EMSCRIPTEN_CACHE = pathlib.Path("/usr/share/emscripten/cache")

# SQLite is three quarters of the module: made for size it takes a quarter less to download.
# Of the shell the linker takes little, and optimizes that.
OPTIMIZE = {"sqlite3.c": "-Os", "shell_functions.c": "-O0"}
COMPILE = """-w -std=gnu11 -ffp-contract=off -DSQLITE_CORE -DSQLITE_OMIT_LOAD_EXTENSION
    -DSQLITE_THREADSAFE=0 -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_DQS=0
    -DSQLITE_TEMP_STORE=3""".split()
SQLITE_FUNCTIONS = """open close_v2 errmsg error_offset prepare_v2 step reset clear_bindings
    finalize bind_parameter_count bind_parameter_name bind_null bind_int64 bind_double bind_text
    bind_blob column_count column_name column_type column_int64 column_double column_text
    column_blob column_bytes serialize deserialize malloc64 free""".split()
# With a file system, if an empty one: SQLite would look for /dev/urandom for ever.
LINK = [
    "-O2",
    "-sMODULARIZE=1",
    "-sEXPORT_ES6=1",
    "-sUSE_ES6_IMPORT_META=0",  # bundlers would look for the file that its address names
    "-sALLOW_MEMORY_GROWTH=1",
    "-sMAXIMUM_MEMORY=2GB",
    "-sWASM_BIGINT=1",
    "-sENVIRONMENT=web,worker",
    "-sEXPORTED_FUNCTIONS=_web_register,_web_watch,_malloc,_free,"
    + ",".join(f"_sqlite3_{name}" for name in SQLITE_FUNCTIONS),
    "-sEXPORTED_RUNTIME_METHODS=UTF8ToString",
]


def emscripten(*arguments):
    """Runs emcc with a cache that it may write to: links to the system's, which it may not."""
    cache = release.BUILD / "scratch" / "emscripten"
    if not cache.exists() and EMSCRIPTEN_CACHE.exists():
        subprocess.run(["cp", "-rs", EMSCRIPTEN_CACHE, cache], check=True)
    environment = {**os.environ, "EM_CACHE": str(cache), "EM_FROZEN_CACHE": "0",
                   "NODE_PATH": "/usr/share/nodejs"}
    run = subprocess.run(
        ["emcc", *map(str, arguments)], check=False, env=environment, capture_output=True, text=True
    )
    if run.returncode != 0:
        sys.exit(f"build.py: emcc failed:\n{run.stderr}")


def compile_module():
    sqlite = sqlite_source.folder()
    WORK.mkdir(parents=True, exist_ok=True)
    amalgamation = release.BUILD / "amalgamation"
    objects = []
    for source in (sqlite / "sqlite3.c", amalgamation / "sqlite-bloom.c",
                   SOURCES / "shell_functions.c"):
        target = WORK / f"{source.stem}.o"
        newest = max(source.stat().st_mtime, pathlib.Path(__file__).stat().st_mtime)
        if not target.exists() or target.stat().st_mtime < newest:
            emscripten(OPTIMIZE.get(source.name, "-O2"), *COMPILE, "-I", sqlite, "-I", amalgamation,
                       "-c", source, "-o", target)
        objects.append(target)
    emscripten(*LINK, *objects, "-o", WORK / "engine.mjs")
    shutil.rmtree(OUTPUT, ignore_errors=True)
    MODULE.mkdir(parents=True)
    shutil.copy(WORK / "engine.mjs", MODULE)
    shutil.copy(WORK / "engine.wasm", MODULE / "sqlite-bloom.wasm")
    for name in FILES:
        shutil.copy(SOURCES / name, MODULE)
    shutil.copy(release.TOP / "LICENSE", MODULE)
    folder = f"sqlite-bloom-wasm-{release.RELEASE}"
    release.write_zip(
        OUTPUT / f"{folder}.zip",
        {f"{folder}/{path.name}": path.read_bytes() for path in MODULE.iterdir()},
    )


def packed(data):
    """Data as the page holds it: compressed, and in letters that need no quoting."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def theirs(name, file):
    """A file of a package of npm, below its licence, which the page has."""
    folder = WORK / name
    package = folder / "node_modules" / name.split("@")[0]
    if not package.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", folder, name], check=True)
    licence, text = ((package / each).read_text() for each in ("LICENSE", file))
    return f"/* {name}\n{licence}*/\n{text}\n"


def script(text):
    """JavaScript inside a page: nothing in it may end the element."""
    return text.replace("</script", "<\\/script")


# The page's own parts, in the order of their storeys; a script is one module.
PAGE_SCRIPTS = ("dom.js", "probes.js", "shell.js", "picture.js", "list.js", "sizes.js", "sql.js",
                "page.js")

# What recipes read.
READ = (".txt", ".json", ".csv", ".sql")


def joined(*texts):
    """Modules as one: what they import from each other stands in the same text."""
    text = re.sub(r"^import .*;$", "", "\n".join(texts), flags=re.M)
    text = re.sub(r"^export default .*;$", "", text, flags=re.M)
    return re.sub(r"^export ", "", text, flags=re.M)


def source(name):
    return (SOURCES / "page" / name).read_text()


def page():
    recipes = [{"name": name, "group": group, "title": sql_recipes.parts(name)[0], "sql": sql}
               for group, rows in sql_recipes.groups().items() for name in rows
               if sql_recipes.needs_no_program(sql := sql_recipes.text(name))]
    data = {f"sql/data/{path.name}": packed(path.read_bytes())
            for path in sorted((release.TOP / "sql/data").glob("*.*")) if path.suffix in READ}
    module = {path.name: path.read_text() for path in MODULE.glob("*.mjs")}
    common = module["sqlite-bloom-common.mjs"]
    van = theirs("vanjs-core@1.6.1", "src/van.js").replace("export default", "return")
    parts = {
        # Small ones: for plain HTML, and to make elements.
        "STYLE": theirs("simpledotcss@2.3.7", "simple.min.css") + source("style.css"),
        "RECIPES": script(json.dumps(recipes)),
        "FILES": script(json.dumps(data)),
        "WASM": packed((MODULE / "sqlite-bloom.wasm").read_bytes()),
        "WORKER": script(joined(module["engine.mjs"], "const createEngine = Module;", common,
                                module["sqlite-bloom.mjs"], module["sqlite-bloom-worker.mjs"])),
        "SCRIPT": script(joined(f"const van = (() => {{\n{van}}})();", common,
                                module["sqlite-bloom-client.mjs"], *map(source, PAGE_SCRIPTS))),
        "RELEASE": release.RELEASE,
    }
    return re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], source("index.html"))


def main():
    compile_module()
    (OUTPUT / "index.html").write_text(page())
    for path in (MODULE / "sqlite-bloom.wasm", OUTPUT / "index.html"):
        print(f"  {path.name} {path.stat().st_size:,} bytes,"
              f" {len(gzip.compress(path.read_bytes())):,} with gzip")


if __name__ == "__main__":
    main()
