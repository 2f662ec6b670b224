-- 10^9 keys in one filter table. From the top folder: sqlite3 billion.db < tests/bench/billion.sql
--
-- cache_size is larger than the filter, so all of it stays in memory until it is written, once.
.bail on
.load ./bloom
PRAGMA page_size = 65536;
PRAGMA journal_mode = WAL;
PRAGMA cache_size = -2000000;
CREATE VIRTUAL TABLE seen USING bloom(capacity=1000000000);
.headers on
.timer on
INSERT INTO seen(key) SELECT value FROM generate_series(1, 1000000000);

-- Of the keys that were added, every thousandth is looked up, and a million others.
SELECT count(*) AS "found of 1,000,000 known"
  FROM generate_series(1, 1000000000, 1000) JOIN seen ON key = value;
SELECT count(*) AS "found of 1,000,000 others"
  FROM generate_series(1000000001, 1001000000) JOIN seen ON key = value;
SELECT json_extract(info, '$.count') AS "keys, about",
       json_array_length(info, '$.layers') AS layers, json_extract(info, '$.fpr_now') AS rate
  FROM seen;
