-- Which visits went to a malicious address? A filter finds the suspects, the exact list confirms them, an
-- allow-list remembers the false positives, and new addresses join the filter later.
-- From the top folder: sqlite3 < sql/malicious_urls.sql
.bail on
.load ./bloom

-- The list, one address a line. Mode ascii takes every line as it is: quotes and commas mean nothing.
CREATE TABLE malicious(url TEXT PRIMARY KEY ON CONFLICT IGNORE) WITHOUT ROWID;
.mode ascii
.separator "\037" "\n"
.import sql/data/urlhaus.txt malicious
.mode column

-- The filter, with room for 10,000 addresses, so that batches can be added; of the others it lets 1 in 1,000 through.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'malicious', bloom_agg(url, 10000, 0.001) FROM malicious;
SELECT (SELECT count(*) FROM malicious) AS "addresses listed",
       bloom_count(f) AS "estimated from the filter",
       length(f) AS "filter, bytes",
       printf('%.4f %%', 100 * bloom_fpr(f)) AS "false positives to expect"
  FROM filters;

-- Visits, written as the list writes addresses (lower case, no http://): 100,000 harmless ones and some to every 250th
-- address of the list. A list that names hosts needs a second check, of the visit's host alone.
CREATE TABLE visits(url TEXT NOT NULL);
INSERT INTO visits SELECT printf('shop%d.example/item/%d', value % 700, value) FROM generate_series(1, 100000);
INSERT INTO visits
  SELECT url FROM (SELECT url, row_number() OVER (ORDER BY url) AS number FROM malicious) WHERE number % 250 = 0;

-- The suspects, less what is known to be a false positive. bloom_pin lets SQLite read the stored filter once, not
-- once a visit. A misspelt name is an error, not an empty answer.
CREATE TABLE allowed(url TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIEW suspects AS
  SELECT url FROM visits
   WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'malicious'), url)
     AND url NOT IN (SELECT url FROM allowed);

-- Verification: only the suspects are looked up in the exact list.
.print
.print First day, nothing allowed yet
SELECT (SELECT count(*) FROM visits) AS visits,
       count(*) AS suspects,
       sum(url IN (SELECT url FROM malicious)) AS "on the list",
       sum(url NOT IN (SELECT url FROM malicious)) AS "false positives"
  FROM suspects;

-- The false positives go on the allow-list and do not come back.
INSERT INTO allowed SELECT DISTINCT url FROM suspects WHERE url NOT IN (SELECT url FROM malicious);
.print
.print The allow-list
SELECT url FROM allowed;
.print
.print Second day, the same visits
SELECT count(*) AS suspects,
       sum(url IN (SELECT url FROM malicious)) AS "on the list",
       sum(url NOT IN (SELECT url FROM malicious)) AS "false positives"
  FROM suspects;

-- A batch of new addresses; the third was a false positive until now. What is listed must leave the allow-list.
-- (For a large batch take the form with bloom_pin that remove_duplicates.sql has.)
CREATE TABLE new_urls(url TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO new_urls VALUES ('shop7.example/item/7'), ('shop8.example/item/708');
INSERT INTO new_urls SELECT url FROM allowed LIMIT 1;
BEGIN;
INSERT INTO malicious SELECT url FROM new_urls;
DELETE FROM allowed WHERE url IN (SELECT url FROM new_urls);
UPDATE filters SET f = bloom_union(f, (SELECT bloom_agg(url, f) FROM new_urls)) WHERE name = 'malicious';
COMMIT;

.print
.print Third day, after three new addresses
SELECT count(*) AS suspects,
       sum(url IN (SELECT url FROM malicious)) AS "on the list",
       sum(url NOT IN (SELECT url FROM malicious)) AS "false positives",
       (SELECT 10000 - bloom_count(f) FROM filters) AS "room left, about"
  FROM suspects;
