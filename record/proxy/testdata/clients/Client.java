import java.nio.file.*;
import java.sql.*;

/** Client runs statements as PreparedStatements, which JDBC names and describes, with rows in portions. */
class Client {
  public static void main(String[] args) throws Exception {
    try (Connection c = DriverManager.getConnection(args[0])) {
      for (int round = 0; round < 2; round++)
        for (String sql : Files.readAllLines(Path.of(args[1]))) run(c, sql);
      c.setAutoCommit(false);
      run(c, "SELECT id FROM accounts WHERE id IN (1, 2, 3, 4) ORDER BY id");
      c.rollback();
      c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      try (PreparedStatement s = c.prepareStatement("UPDATE accounts SET balance = ? WHERE id = ?")) {
        for (int id = 1; id < 5; id++) {
          s.setInt(1, id);
          s.setInt(2, id);
          s.addBatch();
        }
        System.out.println(java.util.Arrays.toString(s.executeBatch()));
      }
      try (PreparedStatement s = c.prepareStatement("INSERT INTO accounts (id, v) VALUES (70, 1)",
          Statement.RETURN_GENERATED_KEYS)) {
        System.out.println(s.executeUpdate());
        ResultSet keys = s.getGeneratedKeys();
        while (keys.next()) System.out.println(keys.getInt("id") + " " + keys.getLong("v"));
      }
      c.commit();
    }
  }

  static void run(Connection c, String sql) throws SQLException {
    try (PreparedStatement s = c.prepareStatement(sql)) {
      s.setFetchSize(2);
      StringBuilder out = new StringBuilder();
      if (s.execute()) {
        ResultSet r = s.getResultSet();
        for (int i = 1; i <= r.getMetaData().getColumnCount(); i++)
          out.append(r.getMetaData().getColumnName(i)).append(' ').append(r.getMetaData().getTableName(i)).append(' ');
        while (r.next())
          for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) out.append(r.getString(i)).append(',');
      } else out.append(s.getUpdateCount());
      System.out.println(out);
    } catch (SQLException e) {
      System.out.println(e.getSQLState() + " " + e.getMessage().lines().findFirst().get());
    }
  }
}
