-- Which rows of a large table also occur in another one? Build a filter of the one table, scan the
-- other once, and test the few survivors exactly. Neither table needs an index, and neither has to
-- fit into memory.
-- From the top folder: sqlite3 < sql/common_rows.sql
.bail on
.load ./bloom
.mode column

-- Your tables, without an index. These are made up: subscribers(email) and orders(number, email).
.read sql/data/common_rows.sql

-- 1. One scan of the first table builds the filter. A filter knows no collation, so lower() on both
-- sides makes upper and lower case the same. The coalesce is for a first table without rows. (If
-- you know the number of keys, write it instead of NULL: that saves memory.)
CREATE TEMP TABLE subscribed AS
  SELECT coalesce(bloom_agg(lower(email), NULL, 0.001), bloom_new(1)) AS f FROM subscribers;

-- 2. One scan of the second table. A row that does not pass the filter is certainly not in the
-- first table.
CREATE TEMP TABLE survivors AS
  SELECT number, lower(email) AS email FROM orders
   WHERE bloom_check((SELECT bloom_pin(f) FROM subscribed), lower(email));

-- 3. The exact test is one more scan of the first table, which compares it with the survivors.
CREATE TEMP TABLE confirmed AS
  SELECT lower(email) AS email FROM subscribers WHERE lower(email) IN (SELECT email FROM survivors);
CREATE TEMP TABLE common AS SELECT * FROM survivors WHERE email IN (SELECT email FROM confirmed);

SELECT (SELECT count(*) FROM subscribers) AS subscribers,
       (SELECT count(*) FROM orders) AS orders,
       (SELECT length(f) FROM subscribed) AS "filter, bytes",
       (SELECT count(*) FROM survivors) AS "orders that passed",
       (SELECT count(*) FROM common) AS "orders of subscribers",
       (SELECT count(*) FROM survivors) - (SELECT count(*) FROM common) AS "false positives";
.print
.print The first of them
SELECT * FROM common ORDER BY number LIMIT 3;

-- As a proof, the same without a filter. SQLite has to build an index of the whole first table for
-- it.
CREATE TEMP TABLE proof AS
  SELECT number, lower(email) AS email FROM orders
   WHERE lower(email) IN (SELECT lower(email) FROM subscribers);
.print
SELECT CASE WHEN NOT EXISTS (SELECT * FROM proof EXCEPT SELECT * FROM common)
             AND NOT EXISTS (SELECT * FROM common EXCEPT SELECT * FROM proof)
            THEN 'yes' ELSE 'no' END AS "the same as without a filter";
