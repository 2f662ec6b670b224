-- Sort dense whole numbers, drop duplicates, intersect sets of them, and find the missing ones. A
-- bitmap is an exact set: it has one bit for each number from 0 to the largest.
-- From the top folder: sqlite3 < sql/bitmap.sql
.bail on
.load ./bloom
.mode column

-- 1. Your tables. These are made up: invoices(number) has 200,000 numbers in disorder, some of them
-- twice, and reads(article, user) has who read what.
.read sql/data/bitmap.sql

-- 2. Sort and drop duplicates: collect the numbers in a bitmap, and list it. SQLite sorts nothing,
-- and keeps only 25 KB.
CREATE TEMP TABLE collected AS
  SELECT bloom_agg(number, NULL, NULL, 'bitmap') AS numbers FROM invoices;
SELECT count(*) AS rows, (SELECT bloom_count(numbers) FROM collected) AS different,
       (SELECT length(numbers) FROM collected) AS bytes FROM invoices;
SELECT key FROM bloom_keys((SELECT numbers FROM collected)) WHERE key > 150000 ORDER BY key LIMIT 3;
SELECT key AS last FROM bloom_keys((SELECT numbers FROM collected)) ORDER BY key DESC LIMIT 2;

-- 3. The readers of two articles, with one bitmap for each article: how many read both, how many
-- read either, and who read which.
CREATE TABLE readers(article TEXT PRIMARY KEY, users BLOB);
INSERT INTO readers
  SELECT article, bloom_agg(user, NULL, NULL, 'bitmap') FROM reads GROUP BY article;
SELECT bloom_count(bloom_intersect(a.users, b.users)) AS both,
       bloom_count(bloom_union(a.users, b.users)) AS either,
       bloom_check(a.users, 60) AS "60 read filters", bloom_check(b.users, 62) AS "62 read bitmaps"
  FROM readers a, readers b WHERE a.article = 'filters' AND b.article = 'bitmaps';

-- Who read both, in order. This is the page of three that follows user 90.
SELECT key AS user FROM bloom_keys((SELECT bloom_intersect_agg(users) FROM readers))
 WHERE key > 90 ORDER BY key LIMIT 3;

-- 4. Missing numbers of a sequence are the gaps between a number and the one before it.
DELETE FROM invoices WHERE number IN (5, 6, 7, 1000, 77777);
UPDATE collected SET numbers = (SELECT bloom_agg(number, NULL, NULL, 'bitmap') FROM invoices);
SELECT before + 1 AS "missing from", key - 1 AS "to"
  FROM (SELECT key, lag(key) OVER (ORDER BY key) AS before
          FROM bloom_keys((SELECT numbers FROM collected)))
 WHERE key > before + 1 ORDER BY 1;

-- 5. The sizes of the bitmap, of a table and of an index of the same numbers, in bytes.
CREATE TABLE as_table(number INTEGER PRIMARY KEY);
INSERT INTO as_table SELECT key FROM bloom_keys((SELECT numbers FROM collected));
CREATE INDEX invoices_by_number ON invoices(number);
SELECT (SELECT length(numbers) FROM collected) AS bitmap,
       (SELECT sum(pgsize) FROM dbstat WHERE name = 'as_table') AS "table",
       (SELECT sum(pgsize) FROM dbstat WHERE name = 'invoices_by_number') AS "index";
