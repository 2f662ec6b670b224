-- A crawler that visits a page again after seven days, and not before. The URLs that it has visited
-- are in a filter table that forgets old keys. (crawler.sql visits every page once.) A page that is
-- a false positive is visited late, or missed each time if the pages always come in one order.
-- bloom_url makes one key of all spellings of a URL, without the scheme, the port and the part
-- after the #.
-- From the top folder: sqlite3 < sql/revisits.sql
.bail on
.load ./bloom
.mode column
-- In a file of your own first say PRAGMA page_size = 1024, because each commit writes whole pages.

-- Seven generations of a day. capacity is the number of visits of a day. When the eighth day
-- begins, the first one is forgotten.
CREATE VIRTUAL TABLE visited USING bloom(capacity=600, fpr=0.01, generations=7);

-- A day has room for 600 visits. Each link that was found is tried, and its page is visited unless
-- it was visited in the last seven days.
CREATE TABLE today(day INTEGER, visits INTEGER);
INSERT INTO today VALUES (0, 0);
CREATE TABLE visits(day INTEGER, url TEXT);
CREATE VIEW tries AS SELECT target AS url FROM links;
CREATE TRIGGER try INSTEAD OF INSERT ON tries WHEN (SELECT visits FROM today) < 600
  AND bloom_url(NEW.url) NOT NULL
  AND NOT EXISTS (SELECT 1 FROM visited WHERE key = bloom_url(NEW.url)) BEGIN
  INSERT INTO visited(key) VALUES (bloom_url(NEW.url));
  INSERT INTO visits SELECT day, NEW.url FROM today;
  UPDATE today SET visits = visits + 1;
END;
CREATE TABLE days(day INTEGER);
CREATE TRIGGER day AFTER INSERT ON days BEGIN
  UPDATE today SET day = NEW.day, visits = 0;
  INSERT INTO visited(visited) VALUES ('rotate');
  INSERT INTO tries SELECT target FROM links ORDER BY rowid;
END;

-- From here on the data is made up: a web of 2,000 pages with three links each, in three spellings.
CREATE TABLE links(source TEXT, target TEXT);
INSERT INTO links
  SELECT printf('http://site.example/page/%d', value), printf(spelling, (value * 7 + n) % 2000)
    FROM generate_series(0, 1999),
         (SELECT 1 AS n, 'http://site.example/page/%d' AS spelling
          UNION ALL SELECT 2, 'HTTPS://Site.example:443/a/../page/%d'
          UNION ALL SELECT 3, '//site%%2eexample/page/%d#top');

-- Three weeks, one transaction a day.
INSERT INTO days VALUES (1);
INSERT INTO days VALUES (2);
INSERT INTO days SELECT value FROM generate_series(3, 21);

.print Visits by the day
SELECT day, count(*) AS visits FROM visits GROUP BY day;

.print
.print From one visit of a page to the next
SELECT days, count(*) AS times
  FROM (SELECT day - lag(day) OVER (PARTITION BY bloom_url(url) ORDER BY day) AS days FROM visits)
 WHERE days NOT NULL GROUP BY days;

.print
SELECT (SELECT count(DISTINCT source) FROM links) AS pages,
       count(DISTINCT bloom_url(url)) AS visited,
       (SELECT sum(length(data)) FROM visited_data) AS "filter table, bytes"
  FROM visits;
