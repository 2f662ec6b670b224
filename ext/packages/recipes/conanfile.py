"""For Conan 2: conan create ext/packages/recipes.

The package is the extension as a static library: link it, and call sqlite3_bloom_init for each
connection, or once with sqlite3_auto_extension (sqlite-bloom.h).
"""

import os

from conan import ConanFile
from conan.tools.files import copy


class SqliteBloom(ConanFile):
    name = "sqlite-bloom"
    version = "1.1.0"
    description = "Persistent Bloom filters for SQLite: values, aggregates and tables"
    homepage = "https://bloom.example/sqlite-bloom"
    url = "https://bloom.example/sqlite-bloom.git"
    license = "MIT"
    package_type = "static-library"
    settings = "os", "compiler", "build_type", "arch"
    # With system_sqlite the program brings SQLite itself, and nothing is required.
    options = {"system_sqlite": [True, False]}
    default_options = {"system_sqlite": False}

    def export_sources(self):
        """All of ext/, in which this folder is packages/recipes."""
        ext = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("*.c", "*.h"):
            copy(self, pattern, ext, os.path.join(self.export_sources_folder, "ext"))
        copy(self, "LICENSE", os.path.join(ext, ".."), self.export_sources_folder)

    def requirements(self):
        if not self.options.system_sqlite:
            self.requires("sqlite3/[>=3.31]", transitive_headers=True)

    def build(self):
        ext = os.path.join(self.source_folder, "ext")
        flags = "-std=c11 -O2 -fPIC -fvisibility=hidden -ffp-contract=off -DSQLITE_CORE"
        self.run(f'cc {flags} -I"{ext}/packages/sqlite" -I"{ext}" -c -o sqlite-bloom.o'
                 f' "{ext}/sqlite-bloom.c"')
        self.run("ar rcs libsqlite-bloom.a sqlite-bloom.o")

    def package(self):
        ext = os.path.join(self.source_folder, "ext")
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "sqlite-bloom.h", ext, os.path.join(self.package_folder, "include"))
        copy(self, "*.a", self.build_folder, os.path.join(self.package_folder, "lib"))

    def package_info(self):
        self.cpp_info.libs = ["sqlite-bloom"]
        self.cpp_info.system_libs = ["m"]
