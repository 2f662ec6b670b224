-- Made up for sql/passwords.sql: hashes as "Pwned Passwords" has them, of which the first 100,000
-- are in two parts of a file.
CREATE VIEW hashes AS
  SELECT value AS id, printf('%08X%08X%08X%08X%08X', value * 2654435761 % 4294967296,
                             value * 40503 % 4294967296, value * 97 % 65521, value * 193 % 65519,
                             value) AS hash
    FROM generate_series(1, 200000);
CREATE TABLE parts(name TEXT, text TEXT);
INSERT INTO parts
  SELECT printf('part.%d', id / 50001), group_concat(hash || ':' || (id % 9), char(10))
    FROM hashes WHERE id <= 100000 GROUP BY id / 50001;
