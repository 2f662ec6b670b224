"""Puts the library and the module _filter into the wheel, compiled here or given.

SQLITE_BLOOM_LIBRARY, SQLITE_BLOOM_MODULE and SQLITE_BLOOM_PLATFORM name both and the platform tag
of their wheel. Without them the C compiler that CC names, or Python's own, or cc, compiles the
sources of the repository, or of this sdist. The wheel has no Python version of its own: SQLite
loads the library, not Python, and the module needs the stable ABI of Python only. Where Python has
not got that, the package says so and does without the module.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAMES = {"win32": "bloom.dll", "darwin": "bloom.dylib"}
SHARED = {"win32": ["-shared"], "darwin": ["-dynamiclib", "-fPIC"]}
# What finds the functions of Python.
PYTHON = {"win32": [os.path.join(sys.base_prefix, "python3.dll")],
          "darwin": ["-undefined", "dynamic_lookup"]}
FILTER_SOURCE = re.compile(r'#include "(?!sqlite/|table/|extension).*"\n')


class LibraryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        self.folder = tempfile.mkdtemp()
        given = [os.environ.get(f"SQLITE_BLOOM_{name}") for name in ("LIBRARY", "MODULE")]
        platform = os.environ.get("SQLITE_BLOOM_PLATFORM") or sysconfig.get_platform()
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + platform.replace("-", "_").replace(".", "_")
        for library in given if all(given) else self.compile():
            if version == "editable":  # imports come from the repository
                shutil.copy(library, os.path.join(self.root, "sqlite_bloom"))
            else:
                build_data["force_include"][library] = "sqlite_bloom/" + os.path.basename(library)

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.folder)

    def compile(self):
        root, folder = pathlib.Path(self.root), pathlib.Path(self.folder)
        ext = root / "ext" if (root / "ext").exists() else root.parent.parent
        if not (ext / "sqlite-bloom.c").exists():
            raise SystemExit(
                "sqlite-bloom: the C sources are not above this folder. pip before 21.3 copies the"
                " folder away from them: update pip (python -m pip install --upgrade pip), and try"
                " again"
            )
        library = folder / NAMES.get(sys.platform, "bloom.so")
        module = folder / ("_filter.pyd" if sys.platform == "win32" else "_filter.abi3.so")
        filters = folder / "filters.c"  # the filter library in one file
        filters.write_text("".join(FILTER_SOURCE.findall((ext / "sqlite-bloom.c").read_text()))
                           + '#include "sqlite-bloom-filter.c"\n')
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        flags = ["-std=c11", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-I", str(ext)]
        flags += ["-I", str(ext / "packages/sqlite"), "-I", str(ext / "packages/cpython")]
        flags += SHARED.get(sys.platform, ["-shared", "-fPIC"])
        libraries = [] if sys.platform == "win32" else ["-lm"]
        commands = [[*compiler, *flags, *map(str, sources), "-o", str(made), *libraries, *more]
                    for made, sources, more in (
                        (library, [ext / "sqlite-bloom.c"], []),
                        (module, [*root.glob("*.c"), filters], PYTHON.get(sys.platform, [])))]
        try:
            for process in list(map(subprocess.Popen, commands)):
                if process.wait() != 0:
                    raise subprocess.CalledProcessError(process.returncode, process.args)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"sqlite-bloom: the C compiler failed ({error}). Install gcc or clang, or set CC to"
                " one"
            ) from error
        return [str(library), str(module)]
