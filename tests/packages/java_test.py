#!/usr/bin/env python3
"""The jar, taken by Maven from the repository that was built, into a project as its users have."""

import hashlib
import pathlib
import re
import shutil
import tempfile
import unittest
import zipfile

from common import (BUILD, FILTER, FILTER_MD5, FINGERPRINT, FINGERPRINT_ANSWER, RELEASE, WORK,
                    missing, platforms, release, run)

GROUP = release.publishing("java_group")
REPOSITORY = BUILD / "java/repository"
FOLDER = REPOSITORY / GROUP.replace(".", "/") / "sqlite-bloom" / RELEASE
STORE = WORK / "m2"
README = WORK / "java/README.md"
PROJECT = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example.user</groupId><artifactId>user</artifactId><version>1</version>
  <repositories><repository><id>built</id><url>{repository}</url></repository></repositories>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    {dependency}
    <dependency>
      <groupId>org.xerial</groupId><artifactId>sqlite-jdbc</artifactId><version>3.46.1.3</version>
    </dependency>
    <dependency>
      <groupId>com.google.guava</groupId><artifactId>guava</artifactId>
      <version>33.3.1-jre</version>
    </dependency>
    <dependency>
      <groupId>org.apache.spark</groupId><artifactId>spark-sketch_2.13</artifactId>
      <version>3.5.1</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
  <build><plugins>
    <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin>
    <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.1</version></plugin>
    <plugin>
      <artifactId>maven-dependency-plugin</artifactId><version>3.8.1</version>
      <executions><execution>
        <phase>compile</phase><goals><goal>copy-dependencies</goal></goals>
      </execution></executions>
    </plugin>
  </plugins></build>
</project>
"""
PROGRAM = f"""
import java.security.MessageDigest;
import java.sql.*;
import java.util.Properties;
import org.sqlite.*;
import sqlitebloom.SqliteBloom;

class Program {{
    interface Deed {{ void run() throws Exception; }}

    static void refused(Deed deed) throws Exception {{
        try {{
            deed.run();
            System.out.println("nothing was refused");
        }} catch (SQLException error) {{
            System.out.println(error.getMessage());
        }}
    }}

    public static void main(String[] arguments) throws Exception {{
        if (arguments.length > 0) {{ // where the library cannot be had
            refused(() -> SqliteBloom.load(SqliteBloom.config().createConnection("jdbc:sqlite:")));
            return;
        }}
        Connection database = SqliteBloom.config().createConnection("jdbc:sqlite::memory:");
        SqliteBloom.load(database);
        SqliteBloom.load(database);
        ResultSet row = database.createStatement().executeQuery("{FINGERPRINT}");
        System.out.println(row.getInt(1) + " " + row.getInt(2) + " " + row.getInt(3));
        byte[] filter = database.createStatement().executeQuery("{FILTER}").getBytes(1);
        StringBuilder digest = new StringBuilder();
        for (byte b : MessageDigest.getInstance("MD5").digest(filter))
            digest.append(String.format("%02x", b));
        System.out.println(digest);
        SQLiteDataSource source = new SQLiteDataSource(SqliteBloom.config());
        source.setUrl("jdbc:sqlite::memory:");
        try (Connection other = source.getConnection()) {{
            SqliteBloom.load(other);
            String sql = "SELECT bloom_version()";
            System.out.println(other.createStatement().executeQuery(sql).getString(1));
        }}
        refused(() -> SqliteBloom.load(DriverManager.getConnection("jdbc:sqlite::memory:")));
        refused(() -> SqliteBloom.load((Connection) java.lang.reflect.Proxy.newProxyInstance(
            Program.class.getClassLoader(), new Class<?>[] {{Connection.class}},
            (proxy, method, values) -> java.lang.reflect.Proxy.newProxyInstance(
                Program.class.getClassLoader(), new Class<?>[] {{DatabaseMetaData.class}},
                (inner, name, more) -> "PostgreSQL"))));
        System.out.println(SqliteBloom.libraryPath());
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++)
            (threads[i] = new Thread(() -> {{
                try (Connection other =
                    SqliteBloom.config().createConnection("jdbc:sqlite::memory:")) {{
                    SqliteBloom.load(other);
                }} catch (SQLException error) {{
                    System.out.println(error);
                }}
            }})).start();
        for (Thread thread : threads)
            thread.join();
        System.out.println("ends");
    }}
}}
"""


@unittest.skipIf(missing("mvn", "java", "javac"), missing("mvn", "java", "javac"))
class Project(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.readme = README.read_text()
        (dependency,) = re.findall(r"```xml\n(.*?)```", cls.readme, re.DOTALL)
        project = PROJECT.format(repository=REPOSITORY.as_uri(), dependency=dependency)
        (cls.folder / "pom.xml").write_text(project)
        sources = cls.folder / "src/main/java"
        sources.mkdir(parents=True)
        (sources / "Program.java").write_text(PROGRAM)
        cls.examples = {}
        for example in re.findall(r"```java\n(.*?)```", cls.readme, re.DOTALL):
            name = re.search(r"^class (\w+)", example, re.MULTILINE)[1]
            (sources / f"{name}.java").write_text(example)
            cls.examples[name] = example
        shutil.rmtree(STORE / GROUP.replace(".", "/"), ignore_errors=True)  # of another build
        run("mvn", "-B", "-ntp", "-q", f"-Dmaven.repo.local={STORE}", "compile", cwd=cls.folder)

    def java(self, *arguments):
        folder = self.folder / "target"
        temporary = self.folder / "temporary"
        temporary.mkdir(exist_ok=True)
        output = run("java", "-cp", f"{folder}/classes:{folder}/dependency/*",
                     f"-Djava.io.tmpdir={temporary}", *arguments)
        return [line for line in output.splitlines() if not line.startswith("SLF4J")]

    def test_connections_have_it_and_errors_are_in_words(self):
        lines = self.java("Program")
        self.assertEqual(lines[0], " ".join(map(str, FINGERPRINT_ANSWER)))
        self.assertEqual(lines[1], FILTER_MD5)
        self.assertRegex(lines[2], rf"^bloom {re.escape(RELEASE)}, ")
        self.assertEqual(
            lines[3],
            "sqlite-bloom: extension loading is off on this connection; open it by"
            " SqliteBloom.config().createConnection(url), or with a SQLiteConfig on which"
            " enableLoadExtension(true) was called",
        )
        self.assertEqual(lines[4], "sqlite-bloom: a connection to SQLite is expected, not to"
                         " PostgreSQL")
        self.assertEqual(pathlib.Path(lines[5]).name, "bloom.so")
        self.assertFalse(pathlib.Path(lines[5]).parent.exists())  # the process has ended
        self.assertEqual(lines[6:], ["ends"])

    def test_a_platform_without_a_library_and_a_folder_that_takes_none(self):
        (line,) = self.java("-Dos.arch=riscv64", "-Dorg.sqlite.osinfo.architecture=x86_64",
                            "Program", "refused")
        self.assertRegex(line, r"^sqlite-bloom: no library for (linux|musl)-riscv64; there is one ")
        (line,) = self.java("-Djava.io.tmpdir=/nowhere", "-Dorg.sqlite.tmpdir=/tmp",
                            "Program", "refused")
        self.assertRegex(line, r"^sqlite-bloom: the library cannot be written to /nowhere: .*; the"
                         " system property sqlitebloom.library names one that is there$")
        (line,) = self.java("-Dsqlitebloom.library=/nowhere/bloom.so", "Program", "refused")
        self.assertRegex(line, r"^sqlite-bloom: /nowhere/bloom.so could not be loaded: ")
        library = BUILD / "binaries/linux-x86_64/bloom.so"
        self.assertEqual(self.java(f"-Dsqlitebloom.library={library}", "Program", "refused"),
                         ["nothing was refused"])

    def test_every_example_of_the_readme_prints_what_it_says(self):
        self.assertEqual(sorted(self.examples), ["Exchange", "Visits"])
        for name, example in self.examples.items():
            said = re.findall(r"; // (new|true|false)(?:, (seen|false))?$", example, re.MULTILINE)
            wanted = [word for words in said for word in words if word]
            self.assertEqual(self.java(name), wanted)
            self.assertGreater(len(wanted), 1)


class Files(unittest.TestCase):
    def test_the_jar_holds_the_library_of_every_platform(self):
        with zipfile.ZipFile(FOLDER / f"sqlite-bloom-{RELEASE}.jar") as jar:
            for platform in platforms.PLATFORMS:
                library = (BUILD / "binaries" / platform.name / platform.library).read_bytes()
                self.assertEqual(
                    jar.read(f"sqlitebloom/{platform.name}/{platform.library}"), library
                )
            self.assertIn("sqlitebloom/SqliteBloom.class", jar.namelist())
            self.assertIn("META-INF/LICENSE", jar.namelist())
            self.assertIn("Automatic-Module-Name: sqlitebloom",
                          jar.read("META-INF/MANIFEST.MF").decode())
            self.assertEqual(jar.read("sqlitebloom/SqliteBloom.class")[6:8], b"\0\x34")  # Java 8

    def test_the_repository_has_what_maven_central_asks_for(self):
        pom = (FOLDER / f"sqlite-bloom-{RELEASE}.pom").read_text()
        self.assertNotIn("@", pom.replace("@bloom.example", ""))
        for name in ("name", "description", "url", "licenses", "developers", "scm",
                     "issueManagement"):
            self.assertIn(f"<{name}>", pom)
        for kind in ("", "-sources", "-javadoc"):
            path = FOLDER / f"sqlite-bloom-{RELEASE}{kind}.jar"
            digest = hashlib.sha1(path.read_bytes()).hexdigest()
            self.assertEqual((FOLDER / f"{path.name}.sha1").read_text(), digest)

    @unittest.skipIf(missing("mvn", "javac"), missing("mvn", "javac"))
    def test_the_jar_comes_out_the_same_every_time(self):
        before = (FOLDER / f"sqlite-bloom-{RELEASE}.jar").read_bytes()
        run("mvn", "-B", "-ntp", "-q", f"-Dmaven.repo.local={STORE}", "clean", "package",
            "-Dmaven.javadoc.skip", cwd=WORK / "java")
        again = (WORK / f"java/target/sqlite-bloom-{RELEASE}.jar").read_bytes()
        self.assertTrue(again == before)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # so that a skip says why
