-- A cache that stores only what is requested a second time. Most things are requested once, and
-- storing them would only drive out what is wanted again. A filter table remembers the latest
-- requests. A false positive stores one thing too many.
-- From the top folder: sqlite3 < sql/cache_admission.sql
.bail on
.load ./bloom
.mode column

CREATE TABLE cache(url TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;

-- The table remembers the last 10,000 to 20,000 requests: two generations, rotated every 10,000.
CREATE VIRTUAL TABLE asked USING bloom(capacity=10000, fpr=0.01, generations=2);

-- In a program: INSERT OR IGNORE INTO asked(key) VALUES (?), and store if changes() is 0. The same
-- in triggers, where EXISTS replaces changes():
CREATE TABLE requests(id INTEGER PRIMARY KEY, url TEXT, hit INTEGER);
CREATE TRIGGER request AFTER INSERT ON requests BEGIN
  UPDATE requests SET hit = EXISTS (SELECT 1 FROM cache WHERE url = NEW.url) WHERE id = NEW.id;
  INSERT INTO cache SELECT NEW.url, 'what ' || NEW.url || ' sent'
   WHERE NOT EXISTS (SELECT 1 FROM cache WHERE url = NEW.url)
     AND EXISTS (SELECT 1 FROM asked WHERE key = NEW.url);
  INSERT OR IGNORE INTO asked(key) VALUES (NEW.url);
END;
CREATE TRIGGER rotation AFTER INSERT ON requests WHEN NEW.id % 10000 = 0 BEGIN
  INSERT INTO asked(asked) VALUES ('rotate');
END;

-- From here on the data is made up. As in a program:
INSERT OR IGNORE INTO asked(key) VALUES ('http://site.example/');
SELECT changes() = 0 AS "stored the first time";
INSERT OR IGNORE INTO asked(key) VALUES ('http://site.example/');
SELECT changes() = 0 AS "the second time";

-- 60,000 requests. Half of them are for 2,000 pages. Each of the others is for a page that nobody
-- requests again.
INSERT INTO requests(url)
  SELECT printf('http://site.example/%d', CASE value % 2 WHEN 0 THEN value / 2 * 7919 % 2000
                                                         ELSE value + 2000 END)
    FROM generate_series(1, 60000);

.print
SELECT count(*) AS requests, sum(hit) AS hits, (SELECT count(*) FROM cache) AS stored,
       count(*) - count(DISTINCT url) AS "hits, if all is stored",
       count(DISTINCT url) AS "stored, if all is"
  FROM requests;
