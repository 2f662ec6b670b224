-- A set too large for one filter, one file or one machine is divided into shards. The hash of a key
-- chooses its shard, so every program and every node sends a key to the same shard, and checks only
-- that one. Shards can be built on any number of machines, and need not be merged.
-- From the top folder: sqlite3 < sql/shards.sql
.bail on
.load ./bloom
.mode column

-- Your keys. These are made up: keys(key).
.read sql/data/shards.sql

-- Bytes 8 to 15 of the hash choose the shard. Do not use the first eight, because they decide where
-- a key is in a filter of layout blocked: each shard's filter would be full in one part and empty
-- in the rest.
CREATE TABLE shards(shard TEXT PRIMARY KEY, f BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO shards SELECT substr(hex(bloom_hash(key)), 17, 1) AS shard, bloom_agg(key, NULL, 0.001)
  FROM keys GROUP BY shard;
SELECT count(*) AS shards, sum(length(f)) AS bytes, sum(bloom_count(f)) AS "keys, about",
       printf('%.3f %%', 100 * max(bloom_fpr_now(f))) AS "rate of the worst"
  FROM shards;

-- For many checks, pin each shard. (Here the first two are written out. Add a WHEN ... THEN for
-- each.)
SELECT count(*) AS keys, sum(bloom_check(CASE shard
         WHEN '0' THEN (SELECT bloom_pin(f) FROM shards WHERE shard = '0')
         WHEN '1' THEN (SELECT bloom_pin(f) FROM shards WHERE shard = '1') END, key)) AS found
  FROM (SELECT key, substr(hex(bloom_hash(key)), 17, 1) AS shard FROM keys)
 WHERE shard IN ('0', '1');

-- From here on the data is made up. A check reads one shard.
SELECT column1 AS key,
       bloom_check((SELECT f FROM shards WHERE shard = substr(hex(bloom_hash(column1)), 17, 1)),
                   column1) AS found
  FROM (VALUES ('http://host1.example/1'), ('http://host1.example/2'));

-- What a large set takes, calculated without building a filter: the bytes at 1 % and at 0.1 %, the
-- number of shards of 1 GB, which is the most that a value can have by default, and the bytes that
-- 64 builders send, if each of them builds a whole filter to be merged, or if keys are sent to
-- their shard first. (10^7 URLs and 8 builders of whole filters were really tried: tests/clusters.)
SELECT printf('10^%d', length(n) - 1) AS keys,
       printf('%.2f GB', bloom_size(n) / 1e9) AS "at 1 %",
       printf('%.2f GB', bloom_size(n, 0.001) / 1e9) AS "at 0.1 %",
       (bloom_size(n) + 999999999) / 1000000000 AS "shards of 1 GB",
       printf('%d GB', round(64 * bloom_size(n) / 1e9)) AS "shipped, united",
       printf('%.1f GB', bloom_size(n) / 1e9) AS "shipped, sharded"
  FROM (SELECT 100000000 AS n UNION SELECT 1000000000 UNION SELECT 10000000000);
