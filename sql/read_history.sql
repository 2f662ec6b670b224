-- Recommend what a reader does not know yet. Each reader's row holds one small filter of the
-- articles read. A false positive leaves out an article that was not read (here about 1 in 100);
-- one that was read never comes back.
-- From the top folder: sqlite3 < sql/read_history.sql
.bail on
.load ./bloom
.mode column

CREATE TABLE articles(id INTEGER PRIMARY KEY, title TEXT, score REAL);
INSERT INTO articles SELECT value, 'Article ' || value, value * 37 % 1009
  FROM generate_series(1, 1000);

-- A new reader starts with an empty filter for 200 articles. For those who read more keep what they
-- read as rows, too, and make the filter anew for twice as many when bloom_count(read) nears 200.
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

-- Ada reads one article, Ben his three; Cleo brings a history along, the 100 best.
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

-- What Cleo misses: articles below her first hundred that her filter takes for read.
.print
SELECT count(*) AS "unread articles", sum(bloom_check(read, id)) AS "left out by mistake"
  FROM readers JOIN (SELECT id FROM articles ORDER BY score DESC LIMIT -1 OFFSET 100)
 WHERE name = 'Cleo';
