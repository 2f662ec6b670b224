-- Which DNS queries of the last months would a new list have blocked in Pi-hole, and what does it
-- add to the lists that you have? Pi-hole keeps lists and queries in two SQLite databases. It takes
-- only names, each for just that name, and ||name^, which is also what is below the name (here: of
-- names of up to five labels). The names that you allow are left out. Allowed patterns, lists of
-- allowed names and groups are not looked at.
-- From the top folder: sqlite3 < sql/pihole.sql
.bail on
.load ./bloom
.mode column

-- 1. The databases. Copy them, because Pi-hole is writing, and write these lines instead of the
-- .read, which makes databases up:
--   sudo cp /etc/pihole/gravity.db /etc/pihole/pihole-FTL.db* . && sudo chown $USER *.db*
--   ATTACH 'gravity.db' AS lists;
--   ATTACH 'pihole-FTL.db' AS log;
.read sql/data/pihole.sql

-- 2. The new list. Write the name of your file.
CREATE TABLE lines AS -- as Pi-hole does, a remark after an entry is left out
  SELECT *, lower(rtrim(substr(entry, 1, instr(entry || '#', '#') - 1), ' ' || char(9))) AS name
    FROM bloom_list(readfile('sql/data/pihole.txt'));
CREATE TABLE new_list AS
  SELECT DISTINCT key, name AS entry, name LIKE '||%' AS also_below FROM lines
   WHERE name IN (rtrim(key, '/'), '||' || rtrim(key, '/') || '^')
     AND key NOT GLOB '*[0-9]/' AND note IS NOT 'dnsmasq';
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
                                                    WHERE domain = rtrim(k.key, '/')))) AS new,
       (SELECT count(*) FROM lines
         WHERE name NOT IN (SELECT entry FROM new_list)) AS "lines not taken"
  FROM new_list;

-- 5. The queries that were answered (by status: forwarded, from the cache, retried, or stale), and
-- that the list would have blocked. The filters find the suspects among all names, and new_list
-- confirms them. The key of rank 0 is the name itself. For a week, add to the WHERE of names:
-- AND timestamp > strftime('%s', 'now', '-7 days'). Times are in UTC: see datetime's 'localtime'.
CREATE TABLE names AS
  SELECT domain, count(*) AS queries, count(DISTINCT client) AS clients, max(timestamp) AS last
    FROM log.queries
   WHERE status IN (2, 3, 12, 13, 14, 17)
     AND domain NOT IN (SELECT domain FROM lists.domainlist WHERE type = 0 AND enabled)
   GROUP BY domain;
.print
.print What it would have blocked
SELECT datetime(last, 'unixepoch') AS last, queries, clients, domain, entry
  FROM names, bloom_url_keys(domain) AS k JOIN new_list ON new_list.key = k.key
 WHERE (bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'names'), bloom_url(domain))
        OR bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'below'), domain))
   AND (also_below OR k.rank = 0)
 ORDER BY queries DESC, domain;
