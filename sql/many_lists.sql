-- Which of many lists has this URL? There is one filter for each list, which is rebuilt at night
-- from the file that its publisher has put up. The filter of the last night answers until the new
-- one is there.
-- From the top folder: sqlite3 < sql/many_lists.sql
.bail on
.load ./bloom

-- What the publishers put up, each in its own form. These are made up. Write the names of your
-- files.
CREATE TABLE published(name TEXT PRIMARY KEY, text TEXT NOT NULL);
INSERT INTO published VALUES
  ('ads', readfile('sql/data/ads.txt')),
  ('malware', readfile('sql/data/malware.txt')),
  ('phishing', readfile('sql/data/phishing.csv'));

-- One filter for each list, and the text that it was made of. A list that shrinks to less than half
-- overnight keeps its old filter and text.
CREATE TABLE filters(name TEXT PRIMARY KEY, entries INTEGER NOT NULL, f BLOB NOT NULL,
                     text TEXT NOT NULL);
CREATE VIEW rebuilt AS
  SELECT name, count(key) AS entries, bloom_agg(key, NULL, 0.0001, 'key=url_nocase') AS f,
         published.text AS text
    FROM published, bloom_list(published.text) GROUP BY name;
CREATE VIEW sound AS
  SELECT * FROM rebuilt AS r
   WHERE entries >= coalesce((SELECT entries / 2.0 FROM filters WHERE name = r.name), 1);

-- The sieve is a filter of all lists together, for checking many URLs. It is made of the texts that
-- the filters were made of, and not of what is published now, so that it misses nothing that a
-- filter finds.
CREATE TABLE sieve(id INTEGER PRIMARY KEY CHECK (id = 1), f BLOB NOT NULL);
CREATE VIEW united AS
  SELECT 1, bloom_list_agg(text) FROM filters;

-- Every night, all or nothing. A list that is no longer published is removed.
BEGIN;
REPLACE INTO filters SELECT * FROM sound;
DELETE FROM filters WHERE name NOT IN (SELECT name FROM published);
REPLACE INTO sieve SELECT * FROM united;
COMMIT;
.mode column
SELECT name, entries, length(f) AS bytes FROM filters ORDER BY name;

-- From here on the data is made up. One URL needs no pin, because each filter is read once.
.print
.print http://www.evil.example/post
SELECT name FROM filters WHERE bloom_check(f, 'http://www.evil.example/post') ORDER BY name;
.print
.print https://SHOP.example/banner/1.gif
SELECT name FROM filters WHERE bloom_check(f, 'https://SHOP.example/banner/1.gif') ORDER BY name;

-- For many URLs, the pinned sieve finds the few that are worth checking against each list.
CREATE TABLE visits(url TEXT);
INSERT INTO visits VALUES ('http://www.evil.example/post'), ('https://sqlite.org/'),
  ('http://other.example/'), ('http://ads.example/1.gif'), ('http://worse.example/');
CREATE TABLE suspects AS
  SELECT url FROM visits WHERE bloom_check((SELECT bloom_pin(f) FROM sieve), url);
.print
SELECT url, name FROM suspects, filters WHERE bloom_check(f, url) ORDER BY url, name;

-- The next night: one list has changed, and another one is empty by mistake.
UPDATE published SET text = '0.0.0.0 other.example' WHERE name = 'malware';
UPDATE published SET text = '# being rebuilt' WHERE name = 'ads';
BEGIN;
REPLACE INTO filters SELECT * FROM sound;
DELETE FROM filters WHERE name NOT IN (SELECT name FROM published);
REPLACE INTO sieve SELECT * FROM united;
COMMIT;
.print
.print The next night: how many entries each list has, and the visits through the new sieve
SELECT name, entries FROM filters ORDER BY name;
DELETE FROM suspects;
INSERT INTO suspects
  SELECT url FROM visits WHERE bloom_check((SELECT bloom_pin(f) FROM sieve), url);
.print
SELECT url, name FROM suspects, filters WHERE bloom_check(f, url) ORDER BY url, name;
