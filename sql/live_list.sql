-- A list of URLs that changes, and a filter that triggers keep in step with it. Any spelling of a
-- URL is found. Clients get the plain filter, which is a quarter of the size.
-- From the top folder: sqlite3 < sql/live_list.sql
.bail on
.load ./bloom
.mode column

-- The list itself, and its filter. layout=counting has counters of four bits instead of bits, so
-- that keys can be removed. With key=URL, key = ? asks for one entry, and live(?) asks whether any
-- entry covers a URL.
CREATE TABLE blocklist(url TEXT PRIMARY KEY CHECK (bloom_url(url) IS NOT NULL), since TEXT);
CREATE VIRTUAL TABLE live USING bloom(capacity=1000, fpr=0.01, layout=counting, key=URL);

-- 1. Three triggers keep the filter in step. The command 'add' counts every time, so each DELETE
-- removes exactly what was added. A plain INSERT would not do. In a trigger that an INSERT OR
-- IGNORE INTO blocklist fires, SQLite treats it as an OR IGNORE too, and a key that seems to be in
-- is not counted. Do not use INSERT OR REPLACE INTO blocklist. It deletes rows without firing the
-- trigger of DELETE, so the filter would keep their keys, unless PRAGMA recursive_triggers is on.
-- Other triggers of the list must neither change url nor RAISE(IGNORE), because SQLite runs the
-- newest trigger first.
CREATE TRIGGER listed AFTER INSERT ON blocklist BEGIN
  INSERT INTO live(live, key) VALUES ('add', new.url);
END;
CREATE TRIGGER unlisted AFTER DELETE ON blocklist BEGIN
  DELETE FROM live WHERE key = old.url;
END;
CREATE TRIGGER corrected AFTER UPDATE ON blocklist WHEN new.url IS NOT old.url BEGIN
  DELETE FROM live WHERE key = old.url;
  INSERT INTO live(live, key) VALUES ('add', new.url);
END;

-- 2. The plain filter for clients has the same keys without their counts.
CREATE VIEW for_clients AS SELECT bloom_convert(filter, 'blocked') AS f FROM live;

-- From here on the data is made up. The list fills, and changes.
INSERT INTO blocklist SELECT printf('http://evil%d.example/', value), '2026-11-01'
  FROM generate_series(1, 800);
DELETE FROM blocklist WHERE url = 'http://evil7.example/';
UPDATE blocklist SET url = 'http://evil.example/8' WHERE url = 'http://evil8.example/';

SELECT EXISTS (SELECT 1 FROM live('https://www.EVIL1.example:8443/a?b')) AS listed,
       EXISTS (SELECT 1 FROM live('http://www.evil7.example/')) AS deleted,
       EXISTS (SELECT 1 FROM live('evil.example\8?x')) AS corrected,
       (SELECT count(*) FROM blocklist JOIN live(url)) AS "all found",
       (SELECT count(*) FROM blocklist) AS "of";

-- A rollback undoes the changes of the filter, too.
BEGIN;
DELETE FROM blocklist;
ROLLBACK;
SELECT count(*) AS "found after a rollback" FROM blocklist JOIN live(url);

-- The bytes for clients are those that bloom_agg makes of the list as it is now.
CREATE TEMP TABLE shipped AS SELECT f FROM for_clients;
SELECT length(filter) AS "counting bytes", length(f) AS "bytes shipped",
       f = (SELECT bloom_agg(url, (SELECT bloom_pin(f) FROM shipped)) FROM blocklist)
         AS "as bloom_agg makes it",
       bloom_check(f, 'http:evil1.example/page') AS "a client asks"
  FROM live, shipped;

-- 3. When the list has more entries than the table was made for, the table grows. So make the table
-- again now and then, with a larger capacity. The triggers stay.
INSERT OR IGNORE INTO blocklist SELECT printf('http://worse%d.example/', value), '2026-11-02'
  FROM generate_series(1, 1500);
SELECT json_array_length(info, '$.layers') AS layers FROM live;

BEGIN;
DROP TABLE live;
CREATE VIRTUAL TABLE live USING bloom(capacity=5000, fpr=0.01, layout=counting, key=URL);
INSERT INTO live(key) SELECT url FROM blocklist;
COMMIT;
DELETE FROM blocklist WHERE url LIKE 'http://worse%';
SELECT json_array_length(info, '$.layers') AS layers,
       (SELECT count(*) FROM blocklist JOIN live(url)) AS "found of what is left",
       (SELECT count(*) FROM generate_series(1, 1500)
         WHERE EXISTS (SELECT 1 FROM live(printf('http://worse%d.example/',
           value)))) AS "of the rest"
  FROM live;
