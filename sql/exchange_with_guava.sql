-- Share filters with a Java program that uses Guava: read what it wrote, add to it, write it back,
-- and merge what both sides have. Bits and answers are the same on both sides. bloom_import reads
-- what BloomFilter.writeTo writes in Java, and BloomFilter.readFrom reads what bloom_export writes.
-- In the shell, use readfile('x.guava') and writefile('x.guava', ...).
-- From the top folder: sqlite3 < sql/exchange_with_guava.sql
.bail on
.load ./bloom
.mode column

-- What two servers in Java wrote, and your rows. These are made up: received(name, bytes) and
-- received_there(name, bytes), mails(sender, account) and reported(sender).
.read sql/data/exchange_with_guava.sql

CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT name, bloom_import(bytes, 'guava') FROM received;
SELECT name, json_extract(bloom_info(f), '$.layout') AS layout, json_extract(bloom_info(f),
  '$.bits') AS bits,
       json_extract(bloom_info(f), '$.hashes') AS hashes, bloom_count(f) AS "keys, about",
         printf('%.1e', bloom_fpr_now(f)) AS "rate to expect"
  FROM filters ORDER BY name DESC;

-- Strings in Java are TEXT here, and longs are INTEGER.
.print
SELECT sender, account,
       bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'senders'), sender) AS spam,
       bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'accounts'), account) AS closed
  FROM mails;

-- Senders that were reported here join the filter in one batch: bloom_agg(key, filter) makes a
-- filter in the shape of Java's.
UPDATE filters SET f = bloom_union(f, (SELECT bloom_agg(sender, (SELECT bloom_pin(f) FROM filters
  WHERE name = 'senders')) FROM reported))
  WHERE name = 'senders';

-- Back to Java. BloomFilter.readFrom reads these bytes, and mightContain finds all six.
.print
SELECT length(bloom_export(f, 'guava')) AS "bytes for Java", bloom_count(f) AS "keys, about"
  FROM filters WHERE name = 'senders';

-- Filters of two Java programs can be merged here, if both have the same n and p. The result is
-- the same as with putAll.
.print
SELECT bloom_count(f) AS "keys of both, about",
       bloom_export(f, 'guava') =
         x'010700000003012023209025140204820208e40108418000000422622850' AS "as putAll"
  FROM (SELECT bloom_union_agg(bloom_import(bytes, 'guava')) AS f
          FROM (SELECT * FROM received UNION ALL SELECT * FROM received_there)
         WHERE name = 'senders');

-- A filter that is made here for Java needs the layout classic.
.print
SELECT hex(bloom_export(bloom_agg(sender, 3, 0.01, 'classic'),
  'guava')) AS "a filter made here, for Java" FROM reported;
