-- Recommend what a reader does not know yet, with one filter table for all readers. A key is a
-- reader and an article. What was read is never recommended. A false positive leaves out an article
-- that was not read, here about 1 in 100. The table grows with the readers, and readers may differ
-- as much as they like. With generations=G it would also forget what was read long ago.
-- From the top folder: sqlite3 < sql/one_table_for_all_users.sql
.bail on
.load ./bloom
.mode column

-- capacity is the number of articles that all readers together have read. json_array keeps the two
-- parts of a key apart: [1,23] is not [12,3].
CREATE VIRTUAL TABLE has_read USING bloom(capacity=100000, fpr=0.01);

-- A reader opens an article:
--   INSERT INTO has_read(key) VALUES (json_array(?, ?));
-- Was it read before?
--   SELECT EXISTS (SELECT 1 FROM has_read(json_array(?, ?)));
-- The best three for each reader:
CREATE TABLE readers(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE articles(id INTEGER PRIMARY KEY, title TEXT, score REAL);
CREATE VIEW recommendations AS
  SELECT reader, place, article, title FROM (
    SELECT readers.id AS reader, articles.id AS article, title,
           row_number() OVER (PARTITION BY readers.id ORDER BY score DESC) AS place
      FROM readers JOIN articles
        ON NOT EXISTS (SELECT 1 FROM has_read(json_array(readers.id, articles.id))))
   WHERE place <= 3;
CREATE VIEW front_page AS
  SELECT reader, group_concat(title, ', ') AS recommended
    FROM (SELECT * FROM recommendations ORDER BY reader, place) GROUP BY reader;

-- From here on the data is made up: 1,000 articles and three readers. Nobody has read anything yet.
INSERT INTO readers(name) VALUES ('Ada'), ('Ben'), ('Cleo');
INSERT INTO articles SELECT value, 'Article ' || value, value * 37 % 1009
  FROM generate_series(1, 1000);
.print Nobody has read anything
SELECT name, recommended FROM readers JOIN front_page ON reader = id;

-- Ada reads one article, and Ben the three that were recommended to him. Cleo brings a history: she
-- has read the 100 best. She reads some of them again, which changes nothing.
INSERT INTO has_read(key) VALUES (json_array(1, 709));
INSERT INTO has_read(key)
  SELECT json_array(reader, article) FROM recommendations WHERE reader = 2;
INSERT INTO has_read(key)
  SELECT json_array(3, id) FROM (SELECT id FROM articles ORDER BY score DESC LIMIT 100);
INSERT INTO has_read(key) VALUES (json_array(3, 709)), (json_array(3, 409));
.print
.print After reading
SELECT name, recommended FROM readers JOIN front_page ON reader = id;

-- 10,000 readers more, who have read 20 articles each. That is twice the capacity, so the table
-- grows. A reader then takes about 60 bytes.
INSERT INTO has_read(key)
  SELECT json_array(100 + reader.value, reader.value * 7919 % 980 + article.value)
    FROM generate_series(1, 10000) AS reader, generate_series(1, 20) AS article;
.print
SELECT json_extract(info, '$.count') BETWEEN 197000 AND 203000 AS "200,104 keys, about",
       json_array_length(info, '$.layers') AS layers,
       json_extract(info, '$.fpr_now') <= 0.01 AS "keeps its rate",
       (SELECT sum(length(data)) FROM has_read_data) / 10003 AS "bytes for each reader"
  FROM has_read;

-- What Cleo misses: articles that she has not read, but that the filter finds by mistake.
.print
SELECT count(*) AS "unread articles",
       sum(EXISTS (SELECT 1 FROM has_read(json_array(3, id)))) AS "left out by mistake"
  FROM (SELECT id FROM articles ORDER BY score DESC LIMIT -1 OFFSET 100);

-- The other way is a value in each reader's row. It neither grows nor forgets, and 320 bytes for
-- 200 articles are taken from the beginning. Choose it if you send each reader's filter to the
-- reader's own device, or if everything about a reader must go when the row is deleted.
ALTER TABLE readers ADD COLUMN read BLOB;
UPDATE readers SET read = bloom_add(coalesce(read, bloom_new(200)), 709) WHERE name = 'Ada';
.print
SELECT name, length(read) AS bytes, bloom_check(read, 709) AS "has read 709" FROM readers
 WHERE read NOT NULL;
