import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Scanner;

/**
 * Runs the statements of standard input, one a line, in one connection with the extension loaded;
 * prints a line for each: its first value, or the error.
 */
public class Statements {
    public static void main(String[] arguments) throws Exception {
        org.sqlite.SQLiteConfig configuration = new org.sqlite.SQLiteConfig();
        configuration.enableLoadExtension(true);
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:",
                    configuration.toProperties());
                Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8)) {
            print(connection, "SELECT sqlite_version()");
            print(connection, "SELECT load_extension('" + arguments[0] + "')");
            while (lines.hasNextLine()) {
                print(connection, lines.nextLine());
            }
        }
    }

    private static void print(Connection connection, String sql) {
        try (Statement statement = connection.createStatement()) {
            if (sql.startsWith("SELECT")) {
                try (ResultSet result = statement.executeQuery(sql)) {
                    System.out.println(result.next() ? result.getString(1) : "no row");
                }
            } else {
                statement.executeUpdate(sql);
                System.out.println("done");
            }
        } catch (SQLException exception) {
            System.out.println("error: " + exception.getMessage());
        }
    }
}
