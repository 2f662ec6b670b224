-- A filter that several nodes write at once, where replication keeps the row of the last writer
-- (cr-sqlite, Marmot and others). One shared row loses keys, because two nodes add to the same old
-- filter, and the later row replaces the other. With one row for each node, no node writes
-- another's row, and a reader merges them.
-- From the top folder: sqlite3 < sql/one_row_per_node.sql
.bail on
.load ./bloom
.mode column

-- The table that is replicated. Here it has two names, for the copies of two nodes. stamp is the
-- clock that decides which writer was last.
CREATE TABLE berlin(name TEXT PRIMARY KEY, f BLOB NOT NULL, stamp INTEGER NOT NULL);
CREATE TABLE lisbon(name TEXT PRIMARY KEY, f BLOB NOT NULL, stamp INTEGER NOT NULL);

-- Each node makes its own row, with the same n and p, and adds keys to no other:
--   UPDATE berlin SET f = bloom_add(f, ?), stamp = ? WHERE name = 'seen by berlin';
INSERT INTO berlin VALUES ('seen by berlin', bloom_new(1000, 0.001), 1);
INSERT INTO lisbon VALUES ('seen by lisbon', bloom_new(1000, 0.001), 1);

-- What any node has seen, as a reader in Berlin knows it.
CREATE VIEW seen AS SELECT bloom_union_agg(f) AS f FROM berlin WHERE name LIKE 'seen by %';

-- From here on the data is made up. Replication in both directions: rows of the other node that are
-- newer.
CREATE TEMP TABLE replicate(round);
CREATE TEMP TRIGGER replication AFTER INSERT ON replicate BEGIN
  INSERT INTO lisbon SELECT * FROM berlin WHERE true
    ON CONFLICT(name) DO UPDATE SET f = excluded.f, stamp = excluded.stamp
    WHERE excluded.stamp > stamp;
  INSERT INTO berlin SELECT * FROM lisbon WHERE true
    ON CONFLICT(name) DO UPDATE SET f = excluded.f, stamp = excluded.stamp
    WHERE excluded.stamp > stamp;
END;

-- For comparison, one row that both write.
INSERT INTO berlin VALUES ('shared', bloom_new(1000, 0.001), 1);
INSERT INTO replicate VALUES (1);

-- At the same time, each node sees a visitor.
UPDATE berlin SET f = bloom_add(f, 'ada'), stamp = 2
  WHERE name IN ('shared', 'seen by berlin');
UPDATE lisbon SET f = bloom_add(f, 'ben'), stamp = 3
  WHERE name IN ('shared', 'seen by lisbon');
INSERT INTO replicate VALUES (2);

.print Both nodes, after replication
SELECT node, visitor,
       bloom_check((SELECT bloom_pin(f) FROM berlin WHERE name = 'shared'), visitor)
         AS "in the shared row",
       bloom_check((SELECT bloom_pin(f) FROM seen), visitor) AS "in one row for each"
  FROM (SELECT 'berlin' AS node, 'ada' AS visitor UNION SELECT 'lisbon', 'ben');
SELECT (SELECT group_concat(hex(f)) FROM (SELECT f FROM berlin ORDER BY name)) =
       (SELECT group_concat(hex(f)) FROM (SELECT f FROM lisbon ORDER BY name)) AS "nodes are equal";
