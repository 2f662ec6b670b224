-- Make two databases hold the same rows, without sending what the other has already. Each sends a
-- filter of its rows, and the other sends back only what the filter certainly lacks. A false
-- positive hides a row, which is then not sent. So the round is repeated with other hashes, until
-- the count and the SHA-3 of both sides are equal. (Equal filters would prove nothing, because a
-- hidden row changes no bit.)
-- From the top folder: sqlite3 < sql/sync_databases.sql
.bail on
.load ./bloom
.mode column

-- The two databases. These are made up: berlin.notes(id, text) and lisbon.notes(id, text). Rows are
-- only added here, and the whole row is the key. Write your own, as in ATTACH 'berlin.db' AS
-- berlin.
.read sql/data/sync_databases.sql

-- The number of the round is part of every key, so that the next round finds what one round hides.
-- (A filter of another size would not be enough, because it makes many of the same mistakes again.)
CREATE TEMP TABLE round(number INTEGER);
INSERT INTO round VALUES (0);
CREATE TEMP VIEW in_berlin AS SELECT *, json_array(number, id, text) AS key
  FROM berlin.notes, round;
CREATE TEMP VIEW in_lisbon AS SELECT *, json_array(number, id, text) AS key
  FROM lisbon.notes, round;

-- What is sent: two filters, and the rows that they lack.
CREATE TEMP TABLE filters(round INTEGER, berlin BLOB, lisbon BLOB);
CREATE TEMP VIEW for_lisbon AS SELECT id, text FROM in_berlin
  WHERE NOT bloom_check((SELECT bloom_pin(lisbon) FROM filters WHERE round = (SELECT number
    FROM round)), key);
CREATE TEMP VIEW for_berlin AS SELECT id, text FROM in_lisbon
  WHERE NOT bloom_check((SELECT bloom_pin(berlin) FROM filters WHERE round = (SELECT number
    FROM round)), key);

-- The figures after a round. sha3() is a function of the shell. Elsewhere bind what your program
-- hashes.
CREATE TEMP TABLE sent(round INTEGER, site TEXT, rows INTEGER);
CREATE TEMP VIEW state AS
  SELECT number AS round,
         (SELECT length(berlin) + length(lisbon) FROM filters
           WHERE round = number) AS "filters, bytes",
         (SELECT rows FROM sent WHERE round = number AND site = 'lisbon') AS "sent to Lisbon",
         (SELECT rows FROM sent WHERE round = number AND site = 'berlin') AS "to Berlin",
         (SELECT count(*) FROM berlin.notes) AS "rows in Berlin",
         (SELECT count(*) FROM lisbon.notes) AS "in Lisbon",
         CASE WHEN (SELECT sha3(group_concat(key)) FROM (SELECT key FROM in_berlin ORDER BY key))
                 = (SELECT sha3(group_concat(key)) FROM (SELECT key FROM in_lisbon ORDER BY key))
              THEN 'yes' ELSE 'no' END AS "hashes agree"
    FROM round;

-- Round 1. The coalesce is for a side without rows.
UPDATE round SET number = 1;
INSERT INTO filters SELECT 1, (SELECT coalesce(bloom_agg(key), bloom_new(1)) FROM in_berlin),
                              (SELECT coalesce(bloom_agg(key), bloom_new(1)) FROM in_lisbon);
INSERT INTO lisbon.notes SELECT * FROM for_lisbon;
INSERT INTO sent VALUES (1, 'lisbon', changes());
INSERT INTO berlin.notes SELECT * FROM for_berlin;
INSERT INTO sent VALUES (1, 'berlin', changes());
SELECT * FROM state;

-- Round 2 is the same with the next number, and so on until the hashes are equal.
UPDATE round SET number = 2;
INSERT INTO filters SELECT 2, (SELECT coalesce(bloom_agg(key), bloom_new(1)) FROM in_berlin),
                              (SELECT coalesce(bloom_agg(key), bloom_new(1)) FROM in_lisbon);
INSERT INTO lisbon.notes SELECT * FROM for_lisbon;
INSERT INTO sent VALUES (2, 'lisbon', changes());
INSERT INTO berlin.notes SELECT * FROM for_berlin;
INSERT INTO sent VALUES (2, 'berlin', changes());
.print
SELECT * FROM state;

.print
SELECT (SELECT sum(length(key)) FROM (SELECT key FROM in_berlin)) AS "all rows of one side, bytes",
       (SELECT sum(length(berlin) + length(lisbon)) FROM filters) AS "all filters, bytes";
