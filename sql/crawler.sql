-- A crawler that visits every page once, across restarts. A filter table remembers which URLs it
-- has met, in a fraction of their size. It is part of the same transaction as the queue, so a crash
-- loses nothing, and repeats at most the current batch. A false positive is a page that is never
-- visited, so choose fpr by how many pages you can miss. bloom_url makes one key of all spellings
-- of a URL that a browser opens alike. It leaves out the scheme, the port and the part after the #.
-- From the top folder: sqlite3 < sql/crawler.sql
.bail on
.load ./bloom
.mode column
-- In a file of your own first say PRAGMA page_size = 1024, because each commit writes whole pages,
-- and PRAGMA journal_mode = wal. Each connection says PRAGMA synchronous = normal, so that a commit
-- does not wait for the disk.

-- What the crawler stores: the queue of URLs to visit, and all URLs that it has ever met. The
-- filter table grows if there are more than its capacity.
CREATE TABLE queue(id INTEGER PRIMARY KEY, url TEXT NOT NULL);
CREATE VIRTUAL TABLE met USING bloom(capacity=10000, fpr=0.001);

-- A URL is queued unless it was met before, in any spelling. bloom_url returns NULL for mailto: and
-- the like.
CREATE VIEW found AS SELECT target AS url FROM links;
CREATE TRIGGER found_insert INSTEAD OF INSERT ON found WHEN bloom_url(NEW.url) NOT NULL
  AND NOT EXISTS (SELECT 1 FROM met(bloom_url(NEW.url))) BEGIN
  INSERT INTO met(key) VALUES (bloom_url(NEW.url));
  INSERT INTO queue(url) VALUES (NEW.url);
END;

-- One step takes the next URL from the queue, and finds the links of its page.
CREATE TABLE visited(step INTEGER PRIMARY KEY, url TEXT);
CREATE TRIGGER visited_insert AFTER INSERT ON visited BEGIN
  UPDATE visited SET url = (SELECT url FROM queue ORDER BY id LIMIT 1) WHERE step = NEW.step;
  DELETE FROM queue WHERE id = (SELECT min(id) FROM queue);
  INSERT INTO found SELECT target FROM links WHERE source = (SELECT bloom_url(url) FROM visited
    WHERE step = NEW.step);
END;
CREATE VIEW state AS
  SELECT (SELECT count(*) FROM visited WHERE url IS NOT NULL) AS visited, (SELECT count(*)
    FROM queue) AS queued,
         (SELECT json_extract(info, '$.count') FROM met) AS "met, about",
         (SELECT json_array_length(info, '$.layers') FROM met) AS layers;

-- From here on the data is made up: a web of 20,000 pages with three links each, in three
-- spellings. Every page can be reached from page 0.
CREATE TABLE links(source TEXT, target TEXT);
INSERT INTO links
  SELECT printf('site.example/page/%d', value), printf(spelling, (value * 7 + n) % 20000)
    FROM generate_series(0, 19999),
         (SELECT 1 AS n, 'http://site.example/page/%d' AS spelling
          UNION ALL SELECT 2, 'HTTPS://Site.example:443/a/../page/%d'
          UNION ALL SELECT 3, '//site%%2eexample/page/%d#top');
CREATE INDEX links_source ON links(source);

INSERT INTO found VALUES ('http://site.example/page/0');
INSERT INTO visited(step) VALUES (1);
INSERT INTO visited(step) VALUES (2);
INSERT INTO visited(step) VALUES (3);
SELECT url AS "the first three steps" FROM visited;
.print
SELECT url AS "the queue then" FROM queue;

-- A batch of steps is one transaction.
BEGIN;
INSERT INTO visited(step) SELECT value FROM generate_series(4, 3000);
COMMIT;
.print
.print After 3,000 steps
SELECT * FROM state;

-- An interruption undoes the whole of an unfinished batch, whether it is a ROLLBACK or a power
-- failure: in the queue, in the list and in the filter table.
BEGIN;
INSERT INTO visited(step) SELECT value FROM generate_series(3001, 15000);
.print
.print In the midst of a batch
SELECT * FROM state;
ROLLBACK;
.print
.print After the interruption
SELECT * FROM state;

-- The crawl continues where it was, until the queue is empty.
BEGIN;
INSERT INTO visited(step) SELECT value FROM generate_series(3001, 20000);
COMMIT;
.print
.print At the end
SELECT * FROM state;

.print
SELECT (SELECT count(DISTINCT source) FROM links) AS pages, count(url) AS visits,
  count(DISTINCT bloom_url(url)) AS "different pages",
       (SELECT count(DISTINCT source) FROM links) - count(DISTINCT bloom_url(url)) AS missed
  FROM visited;
.print
SELECT (SELECT sum(length(data)) FROM met_data) AS "filter table, bytes", (SELECT sum(length(url))
  FROM visited) AS "the URLs, bytes",
       printf('%.3f %%', (SELECT 100 * json_extract(info, '$.fpr_now')
         FROM met)) AS "taken for known by mistake";
