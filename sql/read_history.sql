-- Recommend what a reader does not know yet. Each reader's row has one small filter of the articles
-- that were read. An article that was read is never recommended. A false positive leaves out an
-- article that was not read, here about 1 in 100.
-- From the top folder: sqlite3 < sql/read_history.sql
.bail on
.load ./bloom
.mode column

CREATE TABLE articles(id INTEGER PRIMARY KEY, title TEXT, score REAL);
INSERT INTO articles SELECT value, 'Article ' || value, value * 37 % 1009
  FROM generate_series(1, 1000);

-- A new reader starts with an empty filter for 200 articles. If some read more, also keep what they
-- read as rows, and build the filter again for twice as many when bloom_count(read) comes near 200.
CREATE TABLE readers(name TEXT PRIMARY KEY, read BLOB NOT NULL DEFAULT (bloom_new(200)));
INSERT INTO readers(name) VALUES ('Ada'), ('Ben'), ('Cleo');
SELECT name, length(read) AS "filter, bytes", bloom_count(read) AS "articles read, about"
  FROM readers;

-- The best three for each reader. A filter this small needs no bloom_pin.
CREATE VIEW recommendations AS
  SELECT name, place, title FROM (
    SELECT name, title, row_number() OVER (PARTITION BY name ORDER BY score DESC) AS place
      FROM readers JOIN articles ON NOT bloom_check(read, id))
   WHERE place <= 3;
CREATE VIEW front_page AS
  SELECT name, group_concat(title, ', ') AS recommended
    FROM (SELECT * FROM recommendations ORDER BY name, place) GROUP BY name;

.print
.print Nobody has read anything
SELECT * FROM front_page;

-- Ada reads one article, and Ben the three that were recommended to him. Cleo brings a history: she
-- has read the 100 best.
UPDATE readers SET read = bloom_add(read, 709) WHERE name = 'Ada';
UPDATE readers
   SET read = bloom_union(read, (SELECT bloom_agg(id, read) FROM articles
                                  WHERE title IN (SELECT title FROM recommendations
                                    WHERE name = 'Ben')))
 WHERE name = 'Ben';
UPDATE readers
   SET read = bloom_union(read, (SELECT bloom_agg(id, 200) FROM (SELECT id FROM articles
     ORDER BY score DESC LIMIT 100)))
 WHERE name = 'Cleo';

.print
.print After reading
SELECT name, bloom_count(read) AS "articles read, about", recommended FROM readers
  JOIN front_page USING (name);

-- What Cleo misses: articles that she has not read, but that her filter finds by mistake.
.print
SELECT count(*) AS "unread articles", sum(bloom_check(read, id)) AS "left out by mistake"
  FROM readers JOIN (SELECT id FROM articles ORDER BY score DESC LIMIT -1 OFFSET 100)
 WHERE name = 'Cleo';
