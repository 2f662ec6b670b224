-- Ship a filter table to another database. As a value it fits into any column, message or file.
-- Merging it into a table with the same capacity and fpr gives a table with the keys of both. Here
-- two shops report stolen cards to a centre, which sends back what all of them know. (For clients
-- that only check, see fuse_file.sql.)
-- From the top folder: sqlite3 < sql/ship_filter.sql
.bail on
.load ./bloom
.mode column

-- The three databases. These are made up, and cards(number) has what was reported in each shop.
-- Write your own, as in ATTACH 'berlin.db' AS berlin.
.read sql/data/ship_filter.sql

-- All tables have the same capacity and fpr, and growth=off, because a table that has grown is no
-- longer a single filter.
CREATE VIRTUAL TABLE berlin.stolen USING bloom(capacity=50000, fpr=0.0001, growth=off);
CREATE VIRTUAL TABLE lisbon.stolen USING bloom(capacity=50000, fpr=0.0001, growth=off);
CREATE VIRTUAL TABLE centre.stolen USING bloom(capacity=50000, fpr=0.0001, growth=off);
INSERT INTO berlin.stolen(key) SELECT number FROM berlin.cards;
INSERT INTO lisbon.stolen(key) SELECT number FROM lisbon.cards;

-- Each shop sends one value. It lists no card number. But there are so few card numbers that
-- somebody who has the filter can test all of them, and a salt does not prevent that.
CREATE TABLE centre.inbox(shop TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO centre.inbox SELECT 'Berlin', filter FROM berlin.stolen;
INSERT INTO centre.inbox SELECT 'Lisbon', filter FROM lisbon.stolen;
SELECT shop, length(f) AS bytes, bloom_count(f) AS "cards, about" FROM centre.inbox;

-- The centre merges what has come in. The order does not matter, and a filter that comes twice
-- counts once.
INSERT INTO centre.stolen(stolen, key) SELECT 'merge', f FROM centre.inbox;
INSERT INTO centre.stolen(stolen, key) SELECT 'merge', f FROM centre.inbox ORDER BY shop DESC;

-- Both shops load it back, and go on adding single cards to their tables.
CREATE TABLE centre.outbox AS SELECT filter AS f FROM centre.stolen;
INSERT INTO berlin.stolen(stolen, key) SELECT 'merge', f FROM centre.outbox;
INSERT INTO lisbon.stolen(stolen, key) SELECT 'merge', f FROM centre.outbox;

-- From here on the data is made up.
-- The filter in the centre is the one of all cards, made in one place.
.print
SELECT bloom_count(filter) AS "in the centre, about",
       CASE filter WHEN (SELECT bloom_agg(printf('4%015d', value * 104729), 50000, 0.0001)
         FROM generate_series(1, 30000)) THEN 'yes'
                   ELSE 'no' END AS "as if made in one place"
  FROM centre.stolen;

INSERT INTO lisbon.stolen(key) VALUES ('4999999999999999');
.print
SELECT 'Berlin' AS shop, sum(value <= 30000) AS "stolen cards", sum(value <= 30000
  AND EXISTS (SELECT 1 FROM berlin.stolen WHERE key =
         printf('4%015d', value * 104729))) AS recognised, sum(value > 30000) AS "other cards",
           sum(value > 30000 AND
         EXISTS (SELECT 1 FROM berlin.stolen WHERE key = printf('4%015d',
           value * 104729))) AS "suspected by mistake"
  FROM generate_series(1, 130000)
UNION ALL
SELECT 'Lisbon', sum(value <= 30000), sum(value <= 30000 AND EXISTS (SELECT 1 FROM lisbon.stolen
  WHERE key =
         printf('4%015d', value * 104729))), sum(value > 30000), sum(value > 30000 AND
         EXISTS (SELECT 1 FROM lisbon.stolen WHERE key = printf('4%015d', value * 104729)))
  FROM generate_series(1, 130000);

.print
SELECT (SELECT count(*) FROM lisbon.stolen('4999999999999999')) AS "the new card, in Lisbon",
       (SELECT count(*) FROM berlin.stolen('4999999999999999')) AS "in Berlin";
