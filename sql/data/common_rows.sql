-- Made up for sql/common_rows.sql: 100,000 subscribers, and 300,000 orders, of which few are
-- theirs.
CREATE TABLE subscribers(email TEXT NOT NULL);
CREATE TABLE orders(number INTEGER, email TEXT NOT NULL);
INSERT INTO subscribers SELECT printf('Reader.%d@Mail%d.example', value, value % 9)
  FROM generate_series(1, 100000);
INSERT INTO orders
  SELECT value, CASE WHEN value % 100 = 0 THEN printf('reader.%d@mail%d.example', value, value % 9)
                     ELSE printf('customer.%d@post%d.example', value, value % 7) END
    FROM generate_series(1, 300000);
