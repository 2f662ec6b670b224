-- Has this webhook delivery, nonce or message id been handled? Senders repeat what they got no
-- answer for, and a table of all ids grows for ever. A filter table remembers the ids of 30 days in
-- little space, and forgets older ones by the clock. No job has to delete anything. With 10^6 ids
-- of 36 letters and a commit for each, in WAL mode, the file has 5.4 MB, and an id takes 1.6 kB of
-- writing and 17 us of processor time. An exact table with an index of days has 96 MB, 18 kB and 29
-- us. But an id that is repeated takes 19 us, and 7 in the exact table.
-- From the top folder: sqlite3 < sql/handled_events.sql
.bail on
.load ./bloom
.mode column

-- 1. In a file of its own, which backups of the database can leave out. Before the table is
-- created, say there
--   PRAGMA page_size = 1024; PRAGMA journal_mode = wal;
-- and on each connection PRAGMA synchronous = normal, because each delivery is a commit.
-- Seven generations of five days each: an id is known for 30 to 35 days after it first came. With
-- 31 generations of a day that is 30 to 31 days, but a check looks at each generation, and takes
-- twice as long. capacity is the number of ids in five days. fpr is the share of new ids that are
-- taken for handled ones. If it must not happen that one in 10,000 is never handled, look up what
-- is found, as idempotency.sql does. If senders can choose ids to do harm, add a salt.
CREATE VIRTUAL TABLE handled USING bloom(capacity=5000, fpr=0.0001, generations=7);

-- 2. For each delivery, in one transaction:
--   BEGIN IMMEDIATE;
--   INSERT INTO handled(handled, key) VALUES ('period', unixepoch() / 86400 / 5);
--   INSERT OR IGNORE INTO handled(key) VALUES (?);
--   and if changes() is 1, the id is new: handle it here
--   COMMIT;
-- A program sends whole seconds / 86400 / 5: QUESTIONS.md has it for JavaScript, Python and Go.
-- 'period' with the number of the five days changes nothing while the number is the same, so it may
-- be sent every time and by any number of programs. When the number has grown it forgets what is
-- too old, and after a month of rest it forgets a month.

-- The same as a trigger. deliveries is only for the figures of this recipe.
CREATE TABLE deliveries(day INTEGER, id TEXT, is_new INTEGER);
CREATE TRIGGER delivered AFTER INSERT ON deliveries BEGIN
  INSERT INTO handled(handled, key) VALUES ('period', new.day / 5);
  UPDATE deliveries SET is_new = NOT EXISTS (SELECT 1 FROM handled(new.id))
    WHERE rowid = new.rowid;
  INSERT OR IGNORE INTO handled(key) VALUES (new.id);
END;

-- From here on the data is made up: 60 days of 1,000 deliveries, of which every tenth was sent
-- before, up to 29 days before. From day 41 to day 47 nothing came in.
INSERT INTO deliveries(day, id)
  SELECT day.value, printf('evt_%020d', CASE WHEN number.value % 10 > 0
           THEN day.value * 1000 + number.value
           ELSE max(1001, day.value * 1000 + number.value - 1
                          - (number.value * 7919 + day.value * 104729) % 29000 / 10 * 10) END)
    FROM generate_series(1, 60) AS day, generate_series(1, 1000) AS number
   WHERE day.value NOT BETWEEN 41 AND 47;
CREATE INDEX deliveries_id ON deliveries(id, day);

.print Deliveries of 60 days
SELECT count(*) AS deliveries, sum(is_new) AS handled,
       sum(is_new AND before) AS "handled twice", sum(NOT is_new AND NOT before) AS "left out"
  FROM (SELECT is_new, EXISTS (SELECT 1 FROM deliveries AS earlier
                                WHERE earlier.id = delivery.id AND earlier.rowid < delivery.rowid
                                  AND earlier.day >= delivery.day - 30) AS before
          FROM deliveries AS delivery);

.print
.print On day 60, by the day on which an id first came
SELECT day, count(*) AS ids, sum(EXISTS (SELECT 1 FROM handled(id))) AS known
  FROM (SELECT min(day) AS day, id FROM deliveries GROUP BY id)
 WHERE day IN (1, 28, 29, 30, 31, 60) GROUP BY day;

.print
SELECT sum(length(data)) AS "filter table, bytes",
       (SELECT sum(length(id)) FROM (SELECT DISTINCT id FROM deliveries WHERE day >= 30))
         AS "ids of 30 days, bytes"
  FROM handled_data;
