-- sqlite3 :memory: < shell.sql, with the library in this folder
.load ./bloom
CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
  (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c;
CREATE TABLE filters AS SELECT bloom_agg('key-' || i, 1000, 0.01) AS f FROM numbers;
SELECT printf('bytes %d', writefile('filter.bloom', f)) FROM filters;
SELECT 'found ' || sum(bloom_check(f, 'key-' || i)) || ' ' || sum(bloom_check(f, 'absent-' || i))
  FROM numbers, filters;
.parameter set :key 42
SELECT 'integer ' || bloom_check(bloom_agg(42), :key);
SELECT bloom_check(NULL, 1);
