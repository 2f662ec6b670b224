// java -cp sqlite-jdbc.jar Xerial.java PATH_OF_THE_LIBRARY
import java.math.BigInteger;
import java.security.MessageDigest;
import java.sql.*;
import org.sqlite.SQLiteConfig;

class Xerial {
    static Connection database;

    static ResultSet one(String sql, Object... values) throws SQLException {
        PreparedStatement statement = database.prepareStatement(sql);
        for (int i = 0; i < values.length; i++)
            statement.setObject(i + 1, values[i]); // a BigInteger would be TEXT: not found
        ResultSet row = statement.executeQuery();
        row.next();
        return row;
    }

    public static void main(String[] arguments) throws Exception {
        SQLiteConfig config = new SQLiteConfig();
        config.enableLoadExtension(true);
        database = config.createConnection("jdbc:sqlite::memory:");
        one("SELECT load_extension(?)", arguments[0]);
        byte[] f = one("SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))").getBytes(1);
        byte[] digest = MessageDigest.getInstance("MD5").digest(f);
        System.out.printf("md5 %032x%n", new BigInteger(1, digest));
        System.out.println("found " + one("SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c')"
            + " || bloom_check(?1, ?2)", f, 42).getString(1));
        try {
            one("SELECT bloom_check(NULL, 1)");
        } catch (SQLException error) {
            System.out.println("error " + error.getMessage());
        }
    }
}
