-- sqlite3 :memory: < shell.sql, with the library in this folder
.load ./bloom
CREATE TABLE filters AS SELECT bloom_agg(column1) AS f FROM (VALUES ('a'), ('b'), (42));
SELECT printf('bytes %d', writefile('filter.bloom', f)) FROM filters;
.parameter set :key 42
SELECT 'found ' || bloom_check(f, 'a') || bloom_check(f, 'c') || bloom_check(f, :key) FROM filters;
SELECT bloom_check(NULL, 1);
