"""For Conan 2. build.py puts the sources beside it.

The package is the extension as a static library: link it, and call sqlite3_bloom_init for each
connection, or once with sqlite3_auto_extension (sqlite-bloom.h).
"""

import os

from conan import ConanFile
from conan.tools.files import copy


class SqliteBloom(ConanFile):
    name = "sqlite-bloom"
    version = "@RELEASE@"
    description = "@SUMMARY@"
    homepage = "@HOMEPAGE@"
    url = "@REPOSITORY@"
    license = "MIT"
    package_type = "static-library"
    settings = "os", "compiler", "build_type", "arch"
    # With system_sqlite the program brings SQLite itself, and nothing is required.
    options = {"system_sqlite": [True, False]}
    default_options = {"system_sqlite": False}
    exports_sources = "source/*"

    def requirements(self):
        if not self.options.system_sqlite:
            self.requires("sqlite3/[>=3.31]", transitive_headers=True)

    def build(self):
        source = os.path.join(self.source_folder, "source")
        flags = "-std=c11 -O2 -fPIC -fvisibility=hidden -ffp-contract=off -DSQLITE_CORE"
        self.run(f'cc {flags} -I"{source}/sqlite" -c -o sqlite-bloom.o "{source}/sqlite-bloom.c"')
        self.run("ar rcs libsqlite-bloom.a sqlite-bloom.o")

    def package(self):
        source = os.path.join(self.source_folder, "source")
        copy(self, "LICENSE", source, os.path.join(self.package_folder, "licenses"))
        copy(self, "sqlite-bloom.h", source, os.path.join(self.package_folder, "include"))
        copy(self, "*.a", self.build_folder, os.path.join(self.package_folder, "lib"))

    def package_info(self):
        self.cpp_info.libs = ["sqlite-bloom"]
        self.cpp_info.system_libs = ["m"]
