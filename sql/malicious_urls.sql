-- Which visits went to a malicious address? Lists name hosts, folders and pages; visits are whole
-- URLs in every spelling. bloom_url brings a list entry into one form, and bloom_check_url looks a
-- visit up under its page, its folders, its host and the domains above it. A filter finds the
-- suspects, the exact list confirms them, an allow-list remembers the false positives, and new
-- entries join the filter later.
-- From the top folder: sqlite3 < sql/malicious_urls.sql
.bail on
.load ./bloom

-- The list, one entry a line: a host, or a URL with or without a scheme. Mode ascii takes every
-- line as it is: quotes and commas mean nothing. Lists of other forms (hosts files, *.host, CSV,
-- ||host^, a BOM, remarks behind an entry) must be cut down to that before; demo.sh does it for
-- some.
CREATE TABLE lines(entry TEXT NOT NULL);
.mode ascii
.separator "\037" "\n"
.import sql/data/urlhaus.txt lines
.mode column

-- Its keys. Different spellings of one address are one key; what has no host has none (NULL).
CREATE TABLE malicious(key TEXT PRIMARY KEY ON CONFLICT IGNORE, entry TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO malicious SELECT bloom_url(entry), entry FROM lines WHERE bloom_url(entry) IS NOT NULL;

-- The filter, with room for 10,000 keys, so that batches can be added. A visit has some ten keys,
-- each of which may err: ten times the false-positive rate, so a tenth of what a visit may have.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'malicious', bloom_agg(key, 10000, 0.0001) FROM malicious;
SELECT (SELECT count(*) FROM lines) AS "lines of the list",
       (SELECT count(*) FROM malicious) AS keys,
       bloom_count(f) AS "estimated from the filter",
       length(f) AS "filter, bytes",
       printf('%.5f %%', 100 * bloom_fpr(f)) AS "false positives, a key"
  FROM filters;

-- Visits: 100,000 harmless ones, among them some that look like list entries; and to every 250th
-- entry one, spelt as it may come.
CREATE TABLE visits(url TEXT NOT NULL);
CREATE TABLE picked AS
  SELECT number / 250 AS number, entry, substr(key, 1, instr(key, '/') - 1) AS host,
         substr(key, instr(key, '/')) AS path
    FROM (SELECT *, row_number() OVER (ORDER BY key) AS number FROM malicious)
   WHERE number % 250 = 0;
INSERT INTO visits
  SELECT printf('https://www.shop%d.example:8443/item/%d/reviews.html?page=%d', value % 700, value,
                value % 9)
    FROM generate_series(1, 100000);
INSERT INTO visits SELECT 'http://not' || host || path FROM picked;
INSERT INTO visits SELECT 'https://' || host || '.example' || path FROM picked;
INSERT INTO visits
  SELECT CASE number % 6
           WHEN 0 THEN 'HTTP://' || upper(host) || ':80' || path
           WHEN 1 THEN 'https://user:secret@' || host || '/a/./..//' || path
           WHEN 2 THEN replace(host, '.', '%2e') || path || '#top'
           WHEN 3 THEN '//' || host || '.' || path
           WHEN 4 THEN 'http://' || host || path || substr('any/page?id=7', 1, 13 * (path = '/'))
           ELSE 'http://' || CASE WHEN host GLOB '*[0-9]' THEN '' ELSE 'cdn.' END || host || path
         END
    FROM picked;

-- The suspects, less what is known to be a false positive. bloom_pin lets SQLite read the stored
-- filter once, not once a visit. A misspelt name is an error, not an empty answer.
CREATE TABLE allowed(key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIEW suspects AS
  SELECT url FROM visits
   WHERE bloom_check_url((SELECT bloom_pin(f) FROM filters WHERE name = 'malicious'), url)
     AND bloom_url(url) NOT IN (SELECT key FROM allowed);

-- Verification: only the suspects' keys are looked up in the exact list. The most exact one counts.
CREATE VIEW verdicts AS
  SELECT url, (SELECT entry FROM bloom_url_keys(suspects.url) AS u JOIN malicious USING (key)
                ORDER BY u.rank LIMIT 1) AS entry
    FROM suspects;
.print
.print First day, nothing allowed yet
SELECT (SELECT count(*) FROM visits) AS visits, count(*) AS suspects,
       count(entry) AS "on the list", count(*) - count(entry) AS "false positives"
  FROM verdicts;

.print
.print Some visits, and the entry that each is listed by
SELECT substr(url, 1, 60) AS url, substr(entry, 1, 40) AS entry
  FROM verdicts WHERE length(url) < 60 AND entry IS NOT NULL
 ORDER BY url LIMIT 8;

-- The same without a filter: no visit to the list is missed.
.print
.print On the list, but no suspects
SELECT count(*) AS missed
  FROM visits
 WHERE EXISTS (SELECT 1 FROM bloom_url_keys(visits.url) AS u JOIN malicious USING (key))
   AND url NOT IN (SELECT url FROM suspects);

-- The false positives go on the allow-list and do not come back.
INSERT INTO allowed SELECT DISTINCT bloom_url(url) FROM verdicts WHERE entry IS NULL;
.print
.print The allow-list
SELECT key FROM allowed;
.print
.print Second day, the same visits
SELECT count(*) AS suspects, count(entry) AS "on the list",
       count(*) - count(entry) AS "false positives"
  FROM verdicts;

-- A batch of new entries: two hosts, and a folder. What is listed must leave the allow-list.
-- (For a large batch take the form with bloom_pin that remove_duplicates.sql has.)
CREATE TABLE new_entries(entry TEXT);
INSERT INTO new_entries VALUES ('WWW.shop7.example'), ('http://shop8.example/item/708/');
INSERT INTO new_entries SELECT key FROM allowed LIMIT 1;
BEGIN;
INSERT INTO malicious SELECT bloom_url(entry), entry FROM new_entries
 WHERE bloom_url(entry) IS NOT NULL;
DELETE FROM allowed
 WHERE EXISTS (SELECT 1 FROM bloom_url_keys(allowed.key) AS u JOIN malicious USING (key));
UPDATE filters
   SET f = bloom_union(f, (SELECT bloom_agg(bloom_url(entry), f) FROM new_entries))
 WHERE name = 'malicious';
COMMIT;

.print
.print Third day, after three new entries
SELECT count(*) AS suspects, count(entry) AS "on the list",
       count(*) - count(entry) AS "false positives",
       (SELECT 10000 - bloom_count(f) FROM filters) AS "room left, about"
  FROM verdicts;
