-- Which addresses in the histories of your browsers are on a list, when were they last visited, how
-- often, and by which entry are they listed? Chrome, Firefox and Safari keep their history in an
-- SQLite database. For one browser, make demo URLS=hosts.txt VISITS=History does this, too.
-- From the top folder: sqlite3 < sql/browser_history.sql
.bail on
.load ./bloom
.mode column

-- 1. The histories. While a browser runs, it locks its file, and has the newest visits in a second
-- file. So copy both, which the * does:
--   cp ~/.config/google-chrome/Default/History* .     Chromium: ~/.config/chromium/Default
--   cp ~/.mozilla/firefox/*.default*/places.sqlite* .
--   cp ~/Library/Safari/History.db* .                 macOS asks to allow that for the terminal
-- On macOS those of Chrome and Firefox are in ~/Library/Application Support, in Google/Chrome and
-- Firefox/Profiles, on Windows Chrome's are in %LOCALAPPDATA%\Google\Chrome\User Data.
-- ATTACH 'file:/path/to/History?immutable=1' AS chrome also passes the lock, but does not see the
-- second file. Write these lines instead of the .read, which makes histories up, and leave the
-- browsers that you do not have out of the view below:
--   ATTACH 'History' AS chrome;
--   ATTACH 'places.sqlite' AS firefox;
--   ATTACH 'History.db' AS safari;
.read sql/data/browser_history.sql

-- 2. The visits of all browsers, with times in seconds since 1970. Chrome and its like
-- count microseconds since 1601, Firefox microseconds since 1970, and Safari seconds since 2001.
CREATE TEMP VIEW visits(browser, url, time) AS
  SELECT 'Chrome', page.url, visit_time / 1000000 - 11644473600
    FROM chrome.visits AS visit JOIN chrome.urls AS page ON page.id = visit.url
  UNION ALL
  SELECT 'Firefox', page.url, visit_date / 1000000
    FROM firefox.moz_historyvisits AS visit JOIN firefox.moz_places AS page
      ON page.id = visit.place_id
  UNION ALL
  SELECT 'Safari', page.url, visit_time + 978307200
    FROM safari.history_visits AS visit JOIN safari.history_items AS page
      ON page.id = visit.history_item;
CREATE TABLE addresses AS
  SELECT url, count(*) AS visits, max(time) AS last, group_concat(DISTINCT browser) AS browsers
    FROM visits GROUP BY url;

-- 3. The lists and their filter, as in which_list.sql.
CREATE TABLE lists(name TEXT PRIMARY KEY, text BLOB NOT NULL);
INSERT INTO lists VALUES
  ('urlhaus', readfile('sql/data/urlhaus.txt')), ('mine', readfile('sql/data/mine.txt'));
CREATE TABLE entries(list TEXT, key TEXT COLLATE NOCASE, entry TEXT);
INSERT INTO entries SELECT name, key, entry FROM lists, bloom_list(text)
 WHERE key NOT NULL;
CREATE INDEX entries_key ON entries(key);
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters VALUES ('bad', (SELECT bloom_list_agg(text) FROM lists));

-- 4. The answer. Write datetime(last, 'unixepoch', 'localtime') for the time where you are.
.print Listed addresses
SELECT datetime(last, 'unixepoch') AS last, visits, browsers, list, entry, url
  FROM addresses, bloom_url_keys(url) AS k JOIN entries ON entries.key = k.key
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), url)
 ORDER BY last;

.print
SELECT count(*) AS addresses, sum(visits) AS visits,
       sum(bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), url) IS 1)
         AS "looked up in the lists"
  FROM addresses;
