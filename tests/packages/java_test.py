#!/usr/bin/env python3
"""The jar, taken by Maven from the repository that was built, into a project as its users have."""

import pathlib
import shutil
import tempfile
import unittest
import zipfile

from common import (BUILD, FILTER, FILTER_MD5, QUICK_JAVA, RELEASE, TOP, WORK, examples, needs,
                    platforms, run)

GROUP = "example/bloom"
REPOSITORY = BUILD / "java/repository"
FOLDER = REPOSITORY / GROUP / "sqlite-bloom" / RELEASE
JAR = FOLDER / f"sqlite-bloom-{RELEASE}.jar"
STORE = WORK / "m2"
# What the project of the README gets besides: where our package is.
REPOSITORIES = f"""  <repositories><repository>
    <id>built</id><url>{REPOSITORY.as_uri()}</url>
  </repository></repositories>
"""
PROGRAM = f"""
import java.security.MessageDigest;
import java.sql.*;
import java.util.HexFormat;
import java.util.stream.IntStream;
import sqlitebloom.SqliteBloom;

class Program {{
    static void refused(Connection connection) {{
        try {{
            SqliteBloom.load(connection);
            System.out.println("nothing was refused");
        }} catch (SQLException | NullPointerException error) {{
            System.out.println(error.getMessage());
        }}
    }}

    static Connection open() throws SQLException {{
        return SqliteBloom.config().createConnection("jdbc:sqlite::memory:");
    }}

    public static void main(String[] arguments) throws Exception {{
        if (arguments.length > 0) {{ // where the library cannot be had
            refused(open());
            return;
        }}
        Connection database = open();
        SqliteBloom.load(database);
        SqliteBloom.load(database);
        byte[] filter = database.createStatement().executeQuery("{FILTER}").getBytes(1);
        System.out.println(
            HexFormat.of().formatHex(MessageDigest.getInstance("MD5").digest(filter)));
        refused(null);
        refused(DriverManager.getConnection("jdbc:sqlite::memory:"));
        System.out.println(SqliteBloom.libraryPath());
        IntStream.range(0, 8).parallel().forEach(i -> {{
            try (Connection other = open()) {{
                SqliteBloom.load(other);
            }} catch (SQLException error) {{
                System.out.println(error);
            }}
        }});
    }}
}}
"""


@needs("mvn", "java", "javac")
class Project(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (project,) = examples((TOP / "ext/packages/java/README.md").read_text(), "xml")
        project = project.replace("  <dependencies>", f"{REPOSITORIES}  <dependencies>")
        (cls.folder / "pom.xml").write_text(project.replace(">8<", ">17<"))
        sources = cls.folder / "src/main/java"
        sources.mkdir(parents=True)
        (sources / "Program.java").write_text(PROGRAM)
        shutil.rmtree(STORE / GROUP, ignore_errors=True)  # of another build
        run("mvn", "-B", "-ntp", "-q", f"-Dmaven.repo.local={STORE}", "compile",
            "dependency:copy-dependencies", cwd=cls.folder, env={"MAVEN_OPTS": QUICK_JAVA})

    def java(self, *arguments):
        folder = self.folder / "target"
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        output = run("java", *QUICK_JAVA.split(), "-cp", f"{folder}/classes:{folder}/dependency/*",
                     f"-Djava.io.tmpdir={temporary}", *arguments)
        return [line for line in output.splitlines() if not line.startswith("SLF4J")]

    def test_connections_have_it_and_errors_are_in_words(self):
        digest, null, off, path = self.java("Program")
        self.assertEqual(digest, FILTER_MD5)
        self.assertEqual(null, "SqliteBloom.load: the connection is null. Pass an open connection"
                         " of sqlite-jdbc")
        self.assertRegex(off, r"^sqlite-bloom: extension loading is off on this connection; open it"
                         r" by SqliteBloom\.config\(\)\.createConnection\(url\), or with ")
        self.assertEqual(pathlib.Path(path).name, "bloom.so")
        self.assertFalse(pathlib.Path(path).parent.exists())  # the process has ended

    def test_a_platform_without_a_library_and_a_folder_that_takes_none(self):
        library = BUILD / "binaries/linux-x86_64/bloom.so"
        for options, said in (
                ("-Dos.arch=riscv64 -Dorg.sqlite.osinfo.architecture=x86_64",
                 r"sqlite-bloom: no library for (linux|musl)-riscv64; there is one .*"),
                ("-Djava.io.tmpdir=/nowhere -Dorg.sqlite.tmpdir=/tmp",
                 r"sqlite-bloom: the library cannot be written to /nowhere: .*; the system property"
                 r" sqlitebloom.library names one that is there"),
                ("-Dsqlitebloom.libary=/x", "sqlite-bloom: there is no system property"
                 r" sqlitebloom\.libary\. Set sqlitebloom\.library"),
                (f"-Dsqlitebloom.library={library}", "nothing was refused")):
            (line,) = self.java(*options.split(), "Program", "refused")
            self.assertRegex(line, f"^{said}$")


class Files(unittest.TestCase):
    def test_the_jar_holds_the_library_of_every_platform(self):
        with zipfile.ZipFile(JAR) as jar:
            for platform in platforms.PLATFORMS:
                file = f"{platform.name}/{platform.library}"
                self.assertEqual(jar.read(f"sqlitebloom/{file}"),
                                 (BUILD / "binaries" / file).read_bytes())
            self.assertIn("META-INF/LICENSE", jar.namelist())
            self.assertIn("Automatic-Module-Name: sqlitebloom",
                          jar.read("META-INF/MANIFEST.MF").decode())
            self.assertEqual(jar.read("sqlitebloom/SqliteBloom.class")[6:8], b"\0\x34")  # Java 8

    def test_the_repository_has_what_maven_central_asks_for(self):
        pom = JAR.with_suffix(".pom").read_text()
        self.assertNotIn("@", pom.replace("@bloom.example", ""))
        for name in ("name", "description", "url", "licenses", "developers", "scm",
                     "issueManagement"):
            self.assertIn(f"<{name}>", pom)
        for kind in ("", "-sources", "-javadoc"):
            self.assertTrue((FOLDER / f"sqlite-bloom-{RELEASE}{kind}.jar.sha1").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
