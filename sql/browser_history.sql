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
-- second file. Write these lines in place of what is made up, and leave the browsers that you do
-- not have out of the view below:
--   ATTACH 'History' AS chrome;
--   ATTACH 'places.sqlite' AS firefox;
--   ATTACH 'History.db' AS safari;
-- Made up:
ATTACH ':memory:' AS chrome;
CREATE TABLE chrome.urls(id INTEGER PRIMARY KEY, url TEXT);
CREATE TABLE chrome.visits(url INTEGER, visit_time INTEGER);
INSERT INTO chrome.urls(url) VALUES ('https://sqlite.org/'), ('http://sub.evil.example/a?b=c'),
  ('chrome://settings/'), ('https://cdn.example/jquery.js');
INSERT INTO chrome.visits(url, visit_time)
  SELECT url, (strftime('%s', day) + 11644473600) * 1000000
    FROM (SELECT 1 AS url, '2026-11-24 09:00:00' AS day UNION ALL SELECT 2, '2026-11-24 09:01:00'
          UNION ALL SELECT 2, '2026-11-25 18:30:00' UNION ALL SELECT 3, '2026-11-25 18:31:00'
          UNION ALL SELECT 4, '2026-11-25 18:32:00');
ATTACH ':memory:' AS firefox;
CREATE TABLE firefox.moz_places(id INTEGER PRIMARY KEY, url TEXT);
CREATE TABLE firefox.moz_historyvisits(place_id INTEGER, visit_date INTEGER);
INSERT INTO firefox.moz_places(url) VALUES ('http://sub.evil.example/a?b=c'),
  ('http://1.1.104.120:8080/x'), ('https://a.bookmark.that.was.not.visited.evil.example/');
INSERT INTO firefox.moz_historyvisits(place_id, visit_date) VALUES
  (1, strftime('%s', '2026-11-26 07:00:00') * 1000000),
  (2, strftime('%s', '2026-11-26 07:05:00') * 1000000);
ATTACH ':memory:' AS safari;
CREATE TABLE safari.history_items(id INTEGER PRIMARY KEY, url TEXT);
CREATE TABLE safari.history_visits(history_item INTEGER, visit_time REAL);
INSERT INTO safari.history_items(url) VALUES ('https://host.example/malware/x.exe');
INSERT INTO safari.history_visits(history_item, visit_time) VALUES
  (1, strftime('%s', '2026-11-27 12:00:00') - 978307200);
-- End.

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
  ('urlhaus', readfile('sql/data/urlhaus.txt')),
  ('mine', '0.0.0.0 evil.example' || char(10) || '||host.example/malware/*' || char(10) ||
           '||cdn.example^$domain=shop.example');
CREATE TABLE entries(list TEXT, key TEXT COLLATE NOCASE, entry TEXT);
INSERT INTO entries SELECT name, key, entry FROM lists, bloom_list(text)
 WHERE key NOT NULL AND note IS NOT 'Adblock rule with a condition';
CREATE INDEX entries_key ON entries(key);
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'bad', bloom_agg(key, NULL, 0.0001, 'key=url_nocase') FROM entries;

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
