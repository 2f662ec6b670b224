-- Is this password known from a leak? Published lists have 10^9 hashes, so the filter is a table,
-- which has no limit of size. A check reads one page of each layer. The file is read in parts, so
-- it may have any size, too. 10^9 hashes at 0.1 % take 2 GB. tests/bench/billion.sql fills a table
-- with 10^9 keys at 1 %, which took eight minutes, 2.5 GB of memory and a file of 1.3 GB.
-- From the top folder: sqlite3 < sql/passwords.sql
.bail on
.load ./bloom
.mode column

-- The SHA-1 file of "Pwned Passwords" has lines like these: a hash in upper case, a colon, and how
-- often the password was seen. These are made up: parts(name, text) has 100,000 lines in two parts.
-- SQLite reads a file of at most 10^9 bytes in one piece, so split a larger one in the terminal,
-- and list its parts:
--   split -C 900M pwned.txt part.
--   CREATE TABLE parts(name TEXT);     .import '|ls part.*' parts
-- and write bloom_lines(readfile(name)) instead of bloom_lines(text) below.
.read sql/data/passwords.sql

-- capacity is the number of all lines. For more than 25 million lines, first set PRAGMA cache_size
-- to the size of the table, for example -2500000 for 10^9 lines (2.5 GB). Then all of it stays in
-- memory while it is filled.
CREATE VIRTUAL TABLE leaked USING bloom(capacity=100000, fpr=0.001);
INSERT INTO leaked(key)
  SELECT substr(line.text, 1, 40) FROM parts, bloom_lines(parts.text) AS line;
SELECT (SELECT count(*) FROM parts) AS parts,
       json_extract(info, '$.layers[0].bits') / 8000 AS "kB of filter",
       json_extract(info, '$.count') AS "hashes, about"
  FROM leaked;

-- From here on the data is made up. A sign-up form hashes what was typed and checks the hash. "Not
-- leaked" is certain. About one in a thousand good passwords is refused without need.
.print
.print One of the list, and that of the empty password
SELECT EXISTS (SELECT 1 FROM leaked('9E3779B100009E3700000061000000C100000001')) AS listed,
       EXISTS (SELECT 1 FROM leaked('DA39A3EE5E6B4B0D3255BFEF95601890AFD80709')) AS another;
.print
.print Of 100,000 others at most about 100 are refused
SELECT count(*) BETWEEN 30 AND 170 AS "as promised"
  FROM hashes JOIN leaked(hash)
 WHERE id > 100000;
