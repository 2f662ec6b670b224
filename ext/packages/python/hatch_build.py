"""Puts the library into the wheel, compiled here or given.

SQLITE_BLOOM_LIBRARY and SQLITE_BLOOM_PLATFORM name a library and the platform tag of its wheel.
Without them the C compiler that CC names, or Python's own, or cc, compiles ext/sqlite-bloom.c: of
the repository, or of this sdist. The package has no Python version of its own: SQLite loads the
library, not Python.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAMES = {"win32": "bloom.dll", "darwin": "bloom.dylib"}
SHARED = {"win32": ["-shared"], "darwin": ["-dynamiclib", "-fPIC"]}


class LibraryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        self.folder = tempfile.mkdtemp()
        library = os.environ.get("SQLITE_BLOOM_LIBRARY") or self.compile()
        platform = os.environ.get("SQLITE_BLOOM_PLATFORM") or sysconfig.get_platform()
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + platform.replace("-", "_").replace(".", "_")
        if version == "editable":  # imports come from the repository
            shutil.copy(library, os.path.join(self.root, "sqlite_bloom"))
        else:
            build_data["force_include"][library] = "sqlite_bloom/" + os.path.basename(library)

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.folder)

    def compile(self):
        root = pathlib.Path(self.root)
        ext = root / "ext" if (root / "ext").exists() else root.parent.parent
        if not (ext / "sqlite-bloom.c").exists():
            raise SystemExit(
                "sqlite-bloom: the C sources are not above this folder. pip before 21.3 copies the"
                " folder away from them: update pip (python -m pip install --upgrade pip), and try"
                " again"
            )
        library = os.path.join(self.folder, NAMES.get(sys.platform, "bloom.so"))
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        flags = ["-std=c11", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-I", str(ext)]
        flags += ["-I", str(ext / "packages/sqlite")]
        flags += SHARED.get(sys.platform, ["-shared", "-fPIC"])
        libraries = [] if sys.platform == "win32" else ["-lm"]
        command = [*compiler, *flags, str(ext / "sqlite-bloom.c"), "-o", library, *libraries]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"sqlite-bloom: the C compiler failed ({error}). Install gcc or clang, or set CC to"
                " one"
            ) from error
        return library
