-- Made up for sql/cache_penetration.sql: 10,000 products.
CREATE TABLE products(code TEXT PRIMARY KEY, name TEXT);
INSERT INTO products SELECT printf('P%06d', value * 7), 'Product ' || value
  FROM generate_series(1, 10000);
