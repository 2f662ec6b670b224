-- Made up for sql/pihole.sql: Pi-hole's two databases.
ATTACH ':memory:' AS lists;
CREATE TABLE lists.gravity(domain TEXT, adlist_id INTEGER);
INSERT INTO lists.gravity VALUES ('ads.example', 1), ('old.example', 1), ('||tracker.example^', 2);
CREATE TABLE lists.domainlist(type INTEGER, domain TEXT, enabled INTEGER);
INSERT INTO lists.domainlist VALUES (0, 'allowed.evil.example', 1);
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
          UNION ALL SELECT 7, 2, 'allowed.evil.example', '192.168.1.8'
          UNION ALL SELECT 8, 1, 'pixel.tracker.example', '192.168.1.8');
