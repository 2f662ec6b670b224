package sqlitebloom;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Objects;
import org.sqlite.SQLiteConfig;

/**
 * Gives connections of xerial's sqlite-jdbc the functions and tables of bloom: persistent filters
 * for SQLite. The library of each platform is in the jar.
 *
 * <pre>{@code
 * Connection connection = SqliteBloom.config().createConnection("jdbc:sqlite:visits.db");
 * SqliteBloom.load(connection);
 * }</pre>
 */
public final class SqliteBloom {
    /** The system property that names a library to be used in place of the one in the jar. */
    public static final String LIBRARY_PROPERTY = "sqlitebloom.library";

    private static Path library; // of this process, once it has been written

    private SqliteBloom() {}

    /**
     * A configuration by which connections may load extensions, with all else as sqlite-jdbc has
     * it. SQL on such a connection may load other libraries, too: let it be your own.
     *
     * @return a new configuration, for {@code createConnection} or a {@code SQLiteDataSource}
     */
    public static SQLiteConfig config() {
        SQLiteConfig config = new SQLiteConfig();
        config.enableLoadExtension(true);
        return config;
    }

    /**
     * Gives a connection the functions and tables of bloom. A second call changes nothing.
     *
     * @param connection an open connection of sqlite-jdbc, or of a pool of them, whose
     *     configuration enables extension loading
     * @throws SQLException when the connection is to another database, when extension loading is
     *     off on it, when there is no library for this platform, or when SQLite refuses it
     */
    public static void load(Connection connection) throws SQLException {
        Objects.requireNonNull(connection, "SqliteBloom.load: the connection is null. Pass an open "
            + "connection of sqlite-jdbc");
        String product = connection.getMetaData().getDatabaseProductName();
        if (!"SQLite".equals(product))
            throw new SQLException("sqlite-bloom: a connection to SQLite is expected, not to "
                + product);
        String path = libraryPath().toString();
        String sql = "SELECT load_extension(?, 'sqlite3_bloom_init')";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, path);
            statement.executeQuery().close();
        } catch (SQLException error) {
            if (!String.valueOf(error.getMessage()).contains("not authorized"))
                throw new SQLException("sqlite-bloom: " + path + " could not be loaded: "
                    + error.getMessage(), error.getSQLState(), error.getErrorCode(), error);
            throw new SQLException("sqlite-bloom: extension loading is off on this connection; "
                + "open it by SqliteBloom.config().createConnection(url), or with a SQLiteConfig "
                + "on which enableLoadExtension(true) was called",
                error.getSQLState(), error.getErrorCode(), error);
        }
    }

    /**
     * The library of this platform as a file, which is written when it is first asked for, below
     * {@code java.io.tmpdir}, and deleted when the process ends. The system property
     * {@link #LIBRARY_PROPERTY} names another, as where that folder admits no programs.
     *
     * @return its path
     * @throws SQLException when there is none for this platform, when it cannot be written, or when
     *     another system property begins with {@code sqlitebloom.}
     */
    public static synchronized Path libraryPath() throws SQLException {
        for (String name : System.getProperties().stringPropertyNames())
            if (name.startsWith("sqlitebloom.") && !name.equals(LIBRARY_PROPERTY))
                throw new SQLException("sqlite-bloom: there is no system property " + name
                    + ". Set " + LIBRARY_PROPERTY);
        String given = System.getProperty(LIBRARY_PROPERTY);
        if (given != null)
            return Paths.get(given);
        if (library == null || !Files.exists(library))
            library = write(platform());
        return library;
    }

    private static Path write(String platform) throws SQLException {
        String name = platform.startsWith("windows") ? "bloom.dll"
            : platform.startsWith("macos") ? "bloom.dylib" : "bloom.so";
        try (InputStream given = SqliteBloom.class.getResourceAsStream(platform + "/" + name);
            InputStream compiled = SqliteBloom.class.getResourceAsStream("compiled")) {
            InputStream input = given != null ? given : compiled; // by mvn install, on this machine
            if (input == null)
                throw new SQLException("sqlite-bloom: no library for " + platform + "; there is "
                    + "one for linux, musl, macos and windows on x86_64 and aarch64, and the "
                    + "system property " + LIBRARY_PROPERTY + " names your own");
            Path folder = Files.createTempDirectory("sqlite-bloom");
            Path file = folder.resolve(name);
            Files.copy(input, file);
            folder.toFile().deleteOnExit(); // in the opposite order
            file.toFile().deleteOnExit();
            return file;
        } catch (IOException error) {
            throw new SQLException("sqlite-bloom: the library cannot be written to "
                + System.getProperty("java.io.tmpdir") + ": " + error
                + "; the system property " + LIBRARY_PROPERTY + " names one that is there", error);
        }
    }

    /** This platform as the folders in the jar are named. */
    static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String processor = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        if (processor.equals("amd64") || processor.equals("x64"))
            processor = "x86_64";
        else if (processor.equals("arm64"))
            processor = "aarch64";
        if (system.startsWith("windows"))
            return "windows-" + processor;
        if (system.startsWith("mac"))
            return "macos-" + processor;
        return (system.startsWith("linux") && isMusl() ? "musl" : system) + "-" + processor;
    }

    /** Whether the C library of this process is musl. */
    private static boolean isMusl() {
        try {
            byte[] maps = Files.readAllBytes(Paths.get("/proc/self/maps"));
            return new String(maps, StandardCharsets.ISO_8859_1).contains("/ld-musl-");
        } catch (IOException error) {
            return false;
        }
    }
}
