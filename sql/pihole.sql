-- Which DNS queries of the last months would a new list have blocked in Pi-hole, and what does it
-- add to the lists that you have? Pi-hole keeps lists and queries in two SQLite databases. For
-- Pi-hole a host of a hosts file is that name only, and ||name^ is also what is below the name.
-- From the top folder: sqlite3 < sql/pihole.sql
.bail on
.load ./bloom
.mode column

-- 1. The databases. Copy them, because Pi-hole is writing, and write these lines in place of what
-- is made up:
--   sudo cp /etc/pihole/gravity.db /etc/pihole/pihole-FTL.db* .
--   ATTACH 'gravity.db' AS lists;
--   ATTACH 'pihole-FTL.db' AS log;
-- Made up:
ATTACH ':memory:' AS lists;
CREATE TABLE lists.gravity(domain TEXT, adlist_id INTEGER);
INSERT INTO lists.gravity VALUES ('ads.example', 1), ('old.example', 1), ('||tracker.example^', 2);
ATTACH ':memory:' AS log;
CREATE TABLE log.queries(timestamp REAL, status INTEGER, domain TEXT, client TEXT);
INSERT INTO log.queries
  SELECT strftime('%s', '2026-11-24 09:00:00') + 60 * value, status, domain, client
    FROM (SELECT 1 AS value, 2 AS status, 'sqlite.org' AS domain, '192.168.1.7' AS client
          UNION ALL SELECT 2, 1, 'ads.example', '192.168.1.7'
          UNION ALL SELECT 3, 2, 'new.example', '192.168.1.7'
          UNION ALL SELECT 4, 3, 'new.example', '192.168.1.8'
          UNION ALL SELECT 5, 2, 'www.new.example', '192.168.1.8'
          UNION ALL SELECT 6, 3, 'a.b.evil.example', '192.168.1.8'
          UNION ALL SELECT 7, 1, 'pixel.tracker.example', '192.168.1.8');
-- End.

-- 2. The new list. A file is read by readfile('hosts.txt').
CREATE TABLE new_list AS
  SELECT key, entry, entry LIKE '||%' AS also_below
    FROM bloom_list('0.0.0.0 new.example' || char(10) || '0.0.0.0 ads.example' || char(10) ||
                    '||evil.example^' || char(10) || '||pixel.tracker.example^')
   WHERE key NOT NULL AND note IS NOT 'Adblock rule with a condition';
CREATE INDEX new_list_key ON new_list(key);

-- 3. Its two filters. Without a key rule a filter has the names as they are, and with key=url it
-- also finds what is below them. bloom_agg returns NULL for no rows, so bloom_new stands in.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'names', coalesce(bloom_agg(key, NULL, 0.001), bloom_new(1)) FROM new_list
   WHERE NOT also_below;
INSERT INTO filters
  SELECT 'below', coalesce(bloom_agg(key, NULL, 0.0001, 'key=url'), bloom_new(1, 0.01, 'key=url'))
    FROM new_list WHERE also_below;

-- 4. What the list adds: entries that neither are on a list of yours nor are below one.
.print Entries of the new list
SELECT count(*) AS entries, sum(NOT EXISTS (
         SELECT 1 FROM bloom_url_keys(new_list.key) AS k
          WHERE (SELECT 1 FROM lists.gravity WHERE domain = '||' || rtrim(k.key, '/') || '^')
             OR k.rank = 0 AND NOT also_below AND (SELECT 1 FROM lists.gravity
                                                    WHERE domain = rtrim(k.key, '/')))) AS new
  FROM new_list;

-- 5. The queries that were answered (by status: forwarded, from the cache, retried, or stale), and
-- that the list would have blocked. The filters find the suspects among all names, and new_list
-- confirms them. The key of rank 0 is the name itself.
CREATE TABLE names AS
  SELECT domain, count(*) AS queries, count(DISTINCT client) AS clients, max(timestamp) AS last
    FROM log.queries WHERE status IN (2, 3, 12, 13, 14, 17) GROUP BY domain;
.print
.print What it would have blocked
SELECT datetime(last, 'unixepoch') AS last, queries, clients, domain, entry
  FROM names, bloom_url_keys(domain) AS k JOIN new_list ON new_list.key = k.key
 WHERE (bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'names'), bloom_url(domain))
        OR bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'below'), domain))
   AND (also_below OR k.rank = 0)
 ORDER BY queries DESC, domain;
