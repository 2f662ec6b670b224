-- Import rows that keep coming, batch by batch, and store each only once, without an index on what
-- is stored. A row that the filter has not seen is certainly new, and is stored at once. Only the
-- others are compared with the stored rows.
-- From the top folder: sqlite3 < sql/remove_duplicates.sql
.bail on
.load ./bloom

-- The stored rows. There is no index, so the table only grows at its end.
CREATE TABLE events(line TEXT NOT NULL);
CREATE TABLE incoming(line TEXT NOT NULL);        -- the batch at hand
CREATE TABLE suspects(line TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE seen(f BLOB NOT NULL);
-- The filter has room for all rows that will be stored. With more, more and more rows are compared.
-- Then build it again for twice as many: UPDATE seen SET f = (SELECT bloom_agg(line, 400000, 0.01)
-- FROM events);
INSERT INTO seen VALUES (bloom_new(200000, 0.01));

-- An INSERT into this table imports the rows of incoming, and records the figures of the batch.
CREATE TABLE batches(batch INTEGER PRIMARY KEY, rows INT, new INT, compared INT,
  false_positives INT, stored INT);
CREATE TRIGGER import AFTER INSERT ON batches BEGIN
  UPDATE batches SET rows = (SELECT count(*) FROM incoming) WHERE batch = NEW.batch;

  -- 1. Duplicates within the batch go, and what the filter has seen waits for the exact test.
  INSERT INTO suspects
    SELECT DISTINCT line FROM incoming WHERE bloom_check((SELECT bloom_pin(f) FROM seen), line);

  -- 2. Certainly new: stored without a look at the stored rows.
  INSERT INTO events
    SELECT DISTINCT line FROM incoming WHERE NOT bloom_check((SELECT bloom_pin(f) FROM seen), line);
  UPDATE batches SET new = changes(), compared = (SELECT count(*) FROM suspects)
    WHERE batch = NEW.batch;

  -- 3. The exact test: one scan of the stored rows for all suspects. Those it does not find are
  -- false positives, as new as the others: nothing is lost.
  INSERT INTO events
    SELECT line FROM suspects EXCEPT SELECT line FROM events WHERE line IN (SELECT line
      FROM suspects);
  UPDATE batches SET false_positives = changes(), stored = new + changes() WHERE batch = NEW.batch;

  -- 4. The filter learns the batch. The inner filter is only used for its shape. It is pinned so
  -- that it is not read for each row.
  UPDATE seen SET f = bloom_union(f, (SELECT bloom_agg(line, (SELECT bloom_pin(f) FROM seen))
    FROM incoming));
  DELETE FROM suspects;
  DELETE FROM incoming;
END;

-- From here on the data is made up: five batches of 50,000 rows. Every third row repeats an earlier
-- one. The table everything is only for the proof at the end.
CREATE TABLE everything AS
  SELECT (value - 1) / 50000 + 1 AS batch,
         'event ' || CASE WHEN value % 3 = 0 THEN value / 6 * 3 + 1 ELSE value END AS line
    FROM generate_series(1, 250000);

INSERT INTO incoming SELECT line FROM everything WHERE batch = 1;
INSERT INTO batches(batch) VALUES (1);
INSERT INTO incoming SELECT line FROM everything WHERE batch = 2;
INSERT INTO batches(batch) VALUES (2);
INSERT INTO incoming SELECT line FROM everything WHERE batch = 3;
INSERT INTO batches(batch) VALUES (3);
INSERT INTO incoming SELECT line FROM everything WHERE batch = 4;
INSERT INTO batches(batch) VALUES (4);
INSERT INTO incoming SELECT line FROM everything WHERE batch = 5;
INSERT INTO batches(batch) VALUES (5);

.mode column
SELECT * FROM batches;
.print
SELECT count(*) AS "rows stored",
       (SELECT count(DISTINCT line) FROM everything) AS "distinct rows received",
       (SELECT count(*) FROM (SELECT line FROM everything EXCEPT SELECT line
         FROM events)) AS "rows lost",
       (SELECT length(f) FROM seen) AS "filter, bytes"
  FROM events;
