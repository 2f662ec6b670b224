-- Which of several block lists covers a URL, and by which entry? The lists and the visits come from
-- files. A filter finds the few suspects among all visits, and a table of the entries shows
-- which list each of them is on.
-- From the top folder: sqlite3 < sql/which_list.sql
.bail on
.load ./bloom
.mode column

-- 1. The lists, in any form that is published. Write the names of your files. In a program, read
-- each file and bind its bytes.
CREATE TABLE lists(name TEXT PRIMARY KEY, text BLOB NOT NULL);
INSERT INTO lists VALUES
  ('urlhaus', readfile('sql/data/urlhaus.txt')), ('mine', readfile('sql/data/mine.txt'));

-- 2. Their entries. bloom_list reads a whole list each time it is called, so keep what it returns.
-- A line that is not an entry has no key, and its note says why. The case of letters is lost in
-- many lists, so it does not count: COLLATE NOCASE here, and key=url_nocase, which bloom_list_agg
-- chooses by itself.
CREATE TABLE entries(list TEXT, key TEXT COLLATE NOCASE, entry TEXT);
INSERT INTO entries SELECT name, key, entry FROM lists, bloom_list(text)
 WHERE key NOT NULL;
CREATE INDEX entries_key ON entries(key);

.print Lines of the lists
SELECT name AS list, coalesce(note, 'a URL or name') AS line, count(*) AS lines
  FROM lists, bloom_list(text) GROUP BY name, note ORDER BY name, note;

-- 3. One filter of all lists. Make the filter and the table again when a list changes.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters VALUES ('bad', (SELECT bloom_list_agg(text) FROM lists));

-- 4. The visits, from a CSV file whose first line names the columns. (A shell
-- older than 3.32 has no --skip. There type .mode csv and .import visits.csv imported, which makes
-- the table.) For logs see access_log.sql, for the history of a browser browser_history.sql.
CREATE TABLE visits(time TEXT, url TEXT);
.import --csv --skip 1 sql/data/visits.csv visits

-- 5. The answer. The filter is checked for every visit, the table only for those that it finds. A
-- visit that the filter reports by mistake has no row here, because no entry has one of its keys.
.print
.print Visits that a list covers
SELECT time, url, list, entry
  FROM visits, bloom_url_keys(url) AS k JOIN entries ON entries.key = k.key
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), url)
 ORDER BY time, k.rank;

-- What the filter saves: only these of all visits had to be looked up in the table.
.print
SELECT count(*) AS visits,
       sum(bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), url) IS 1)
         AS "looked up in the table"
  FROM visits;

-- From here on the data is made up: a single URL, as a program asks for it. Bind it as :url.
-- Without a row it is on no list.
.parameter set :url "'https://sub.EVIL.example:8443/login'"
.print
SELECT list, entry FROM bloom_url_keys(:url) AS k JOIN entries ON entries.key = k.key
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), :url)
 ORDER BY k.rank;
