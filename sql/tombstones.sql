-- What was deleted must not come back. A feed still sends the article that a reader has deleted, a
-- camera the photo, another device the note. Programs keep a row for each deleted thing, a
-- tombstone, for ever. A filter table and two triggers keep 5 to 6 bytes instead.
-- From the top folder: sqlite3 < sql/tombstones.sql
.bail on
.load ./bloom
.mode column

-- Your tables. AUTOINCREMENT gives no number of a feed twice. Otherwise a new feed with the number
-- of an old one would lack each article that has the guid of one that was deleted there.
CREATE TABLE feeds(id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT);
CREATE TABLE articles(feed INTEGER REFERENCES feeds, guid TEXT, title TEXT,
  PRIMARY KEY (feed, guid));

-- A false positive is an article that never appears, so choose a small fpr: one in a million here.
-- If users can undo, add layout=counting. Then DELETE FROM tombstones WHERE key = json_array(feed,
-- guid), and insert the article again.
CREATE VIRTUAL TABLE tombstones USING bloom(capacity=100000, fpr=0.000001);
CREATE TRIGGER article_deleted AFTER DELETE ON articles BEGIN
  INSERT INTO tombstones(key) VALUES (json_array(old.feed, old.guid));
END;
CREATE TRIGGER article_comes BEFORE INSERT ON articles
  WHEN EXISTS (SELECT 1 FROM tombstones(json_array(new.feed, new.guid))) BEGIN
  SELECT RAISE(IGNORE);
END;
-- If programs without the extension write to articles, make the triggers TEMP on your connections.
-- Change a row by UPDATE or ON CONFLICT DO UPDATE, and not by INSERT OR REPLACE: with PRAGMA
-- recursive_triggers that deletes the row first, and the next change of the article is ignored.

-- From here on the data is made up. A feed sends 20,000 articles, the reader deletes every second
-- one, and the feed sends all of them again, and one more.
INSERT INTO feeds(url) VALUES ('https://news.example/feed');
CREATE VIEW sent AS SELECT 1 AS feed, printf('https://news.example/%d', value) AS guid, value
  FROM generate_series(1, 20001);
INSERT INTO articles SELECT feed, guid, 'Article ' || value FROM sent WHERE value <= 20000;
DELETE FROM articles WHERE rowid % 2 = 0;
INSERT INTO articles SELECT feed, guid, 'Article ' || value FROM sent WHERE true
  ON CONFLICT DO UPDATE SET title = excluded.title;
SELECT count(*) AS articles, sum(value % 2 = 0) AS "came back", sum(value > 20000) AS new
  FROM sent CROSS JOIN articles USING (feed, guid);

.print
SELECT sum(length(data)) AS "filter table, bytes",
       (SELECT sum(length(json_array(feed, guid))) FROM sent WHERE value % 2 = 0)
         AS "deleted keys, bytes" FROM tombstones_data;

-- With PRAGMA recursive_triggers a change by INSERT OR REPLACE buries the article that it changes.
PRAGMA recursive_triggers = on;
INSERT OR REPLACE INTO articles VALUES (1, 'https://news.example/1', 'First change');
INSERT OR REPLACE INTO articles VALUES (1, 'https://news.example/1', 'Second change');
.print
SELECT title AS "after two changes" FROM articles WHERE guid = 'https://news.example/1';
