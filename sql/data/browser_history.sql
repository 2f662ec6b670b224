-- Made up for sql/browser_history.sql: the histories of three browsers.
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
