-- Which rows of another database match mine, if neither table may be sent? One side sends a filter
-- of its keys. The other sends back only the rows that match, and the first confirms them. Here a
-- shop has a list of those who want no mail, and a mailing service leaves them out. (The filter
-- lists no address, but whoever has it can test addresses that they guess.)
-- From the top folder: sqlite3 < sql/do_not_mail.sql
.bail on
.load ./bloom
.mode column

-- The two databases. These are made up: shop.refused(email), in lower case, and
-- service.recipients(email). Write your own, as in ATTACH 'shop.db' AS shop.
.read sql/data/do_not_mail.sql

-- 1. The shop sends one value. An empty list is an error here, and does not mean "mail to all".
CREATE TABLE service.inbox(f BLOB NOT NULL);
INSERT INTO service.inbox SELECT bloom_agg(email, NULL, 0.001) FROM shop.refused;

-- 2. The service sends the addresses that match. All others are certainly not on the list.
CREATE TABLE shop.asked(email TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO shop.asked SELECT email FROM service.recipients
 WHERE bloom_check((SELECT bloom_pin(f) FROM inbox), lower(email));

-- 3. The shop answers with those that are really on its list.
CREATE TABLE service.left_out(email TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO service.left_out SELECT email FROM shop.asked
 WHERE lower(email) IN (SELECT email FROM shop.refused);

SELECT (SELECT count(*) FROM service.recipients) AS recipients,
       (SELECT count(*) FROM shop.asked) AS matched,
       (SELECT count(*) FROM service.left_out) AS "left out",
       (SELECT count(*) FROM service.recipients WHERE lower(email) IN (SELECT email
         FROM shop.refused)) AS "by sending all";
.print
SELECT (SELECT length(f) FROM service.inbox) AS "filter, bytes",
       (SELECT sum(length(email)) FROM shop.asked) AS "addresses sent back, bytes",
       (SELECT sum(length(email)) FROM shop.refused) AS "the list itself, bytes";
