-- Is this password known from a leak? Published lists have 10^9 hashes. A value of SQLite ends at
-- 1 GB, so the filter is a table: it is built in parts, and a check reads one page of each layer.
-- 10^9 hashes at 0.1 % take 2 GB.
-- From the top folder: sqlite3 < sql/passwords.sql
.bail on
.load ./bloom

-- As "Pwned Passwords" has it: the SHA-1 of a password in capitals, a colon, how often it was seen.
-- Here 100,000 such lines are made up; the real file is read by:  .import pwned.txt lines
CREATE VIEW hashes AS
  SELECT value AS id, printf('%08X%08X%08X%08X%08X', value * 2654435761 % 4294967296,
                             value * 40503 % 4294967296, value * 97 % 65521, value * 193 % 65519,
                             value) AS hash
    FROM generate_series(1, 200000);
CREATE TABLE lines(line TEXT);
INSERT INTO lines SELECT hash || ':' || (id % 9) FROM hashes WHERE id <= 100000;

-- One statement for the lines of the file, or, beyond 125 million, one for each part of it (WHERE
-- rowid BETWEEN 1 AND 100000000, ...): capacity is for all. (INSERT INTO leaked(key) SELECT ...
-- does the same in some seven times the time.)
CREATE VIRTUAL TABLE leaked USING bloom(capacity=100000, fpr=0.001);
INSERT INTO leaked(leaked, key) SELECT 'add_all', bloom_hashes(substr(line, 1, 40)) FROM lines;
.mode column
SELECT json_extract(info, '$.layers[0].bits') / 8000 AS "kB of filter",
       json_extract(info, '$.count') AS "hashes, about"
  FROM leaked;

-- A sign-up form hashes what was typed and asks. "Certainly not leaked" is certain; of a thousand
-- good passwords one is refused without need.
.print
.print One of the list, and that of the empty password
SELECT EXISTS (SELECT 1 FROM leaked
                WHERE key = '9E3779B100009E3700000061000000C100000001') AS listed,
       EXISTS (SELECT 1 FROM leaked
                WHERE key = 'DA39A3EE5E6B4B0D3255BFEF95601890AFD80709') AS another;
.print
.print Of 100,000 others at most about 100 are refused
SELECT count(*) BETWEEN 30 AND 170 AS "as promised"
  FROM hashes JOIN leaked ON key = hash
 WHERE id > 100000;
