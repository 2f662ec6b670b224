-- 10^9 keys in one filter table. From the top folder: sqlite3 billion.db < tests/bench/billion.sql
--
-- bloom_hashes needs up to 20 bytes of memory for each key of a statement, and each 'add_all'
-- writes most of the table. So each statement adds as many keys as 4 GB of memory allow.
.bail on
.load ./bloom
PRAGMA page_size = 65536;
PRAGMA journal_mode = WAL;
CREATE VIRTUAL TABLE seen USING bloom(capacity=1000000000);
.headers on
.timer on
INSERT INTO seen(seen, key)
  SELECT 'add_all', bloom_hashes(value) FROM generate_series(1, 200000000);
INSERT INTO seen(seen, key)
  SELECT 'add_all', bloom_hashes(value) FROM generate_series(200000001, 400000000);
INSERT INTO seen(seen, key)
  SELECT 'add_all', bloom_hashes(value) FROM generate_series(400000001, 600000000);
INSERT INTO seen(seen, key)
  SELECT 'add_all', bloom_hashes(value) FROM generate_series(600000001, 800000000);
INSERT INTO seen(seen, key)
  SELECT 'add_all', bloom_hashes(value) FROM generate_series(800000001, 1000000000);

-- Of the keys that were added, every thousandth is looked up, and a million others.
SELECT count(*) AS "found of 1,000,000 known"
  FROM generate_series(1, 1000000000, 1000) JOIN seen ON key = value;
SELECT count(*) AS "found of 1,000,000 others"
  FROM generate_series(1000000001, 1001000000) JOIN seen ON key = value;
SELECT json_extract(info, '$.count') AS "keys, about",
       json_array_length(info, '$.layers') AS layers, json_extract(info, '$.fpr') AS rate
  FROM seen;
