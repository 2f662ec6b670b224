"""Puts the library into the wheel: one that is there already, or else compiled from the
amalgamation beside this file.

SQLITE_BLOOM_LIBRARY and SQLITE_BLOOM_PLATFORM name a library and the platform tag of its wheel;
without them the C compiler that CC names, or Python's own, or cc, makes one for this machine. The
package has no Python version of its own: SQLite loads the library, not Python.
"""

import os
import pathlib
import shlex
import subprocess
import sys
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAMES = {"win32": "bloom.dll", "darwin": "bloom.dylib"}


class LibraryHook(BuildHookInterface):
    def initialize(self, version, build_data):
        library = os.environ.get("SQLITE_BLOOM_LIBRARY") or self.compile()
        platform = os.environ.get("SQLITE_BLOOM_PLATFORM") or sysconfig.get_platform()
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + platform.replace("-", "_").replace(".", "_")
        build_data["force_include"][str(library)] = "sqlite_bloom/" + os.path.basename(library)

    def compile(self):
        root = pathlib.Path(self.root)
        library = root / "compiled" / NAMES.get(sys.platform, "bloom.so")
        library.parent.mkdir(exist_ok=True)
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        flags = ["-std=c11", "-O2", "-ffp-contract=off", "-fvisibility=hidden"]
        flags += {"win32": ["-shared"], "darwin": ["-dynamiclib", "-fPIC"]}.get(
            sys.platform, ["-shared", "-fPIC"]
        )
        libraries = [] if sys.platform == "win32" else ["-lm"]
        command = [
            *compiler,
            *flags,
            "-I",
            str(root / "sqlite"),
            str(root / "sqlite-bloom.c"),
            "-o",
            str(library),
            *libraries,
        ]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"sqlite-bloom: the C compiler failed ({error}). Install gcc or clang, or set CC to"
                " one; on common platforms a wheel that needs no compiler is at hand: update pip,"
                " and try again"
            ) from error
        return library
