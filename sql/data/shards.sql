-- Made up for sql/shards.sql: 40,000 URLs.
CREATE TABLE keys(key TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO keys SELECT printf('http://host%d.example/%d', value % 997, value)
  FROM generate_series(1, 40000);
