-- Each event of the last 24 hours once, in bounded space, by a filter table that forgets old keys
-- by the clock. Each event first sends the number of the present four hours. While that is the
-- same, nothing happens. When it has grown, the table forgets what is too old. So an event is known
-- for 24 to 28 hours after it was first seen, and no job has to run. In real use the number is
-- unixepoch() / 14400.
-- From the top folder: sqlite3 < sql/recent_events.sql
.bail on
.load ./bloom
.mode column

-- Six generations of four hours, and one more that is being filled. capacity is the number of
-- events in four hours. fpr is the share of new events that are taken for known ones, over all
-- generations together.
CREATE VIRTUAL TABLE seen USING bloom(capacity=4000, fpr=0.001, generations=7);

-- Events come in many times, and pass on once. The table below is only for the figures of this
-- recipe. In real use nothing is kept except the filter.
CREATE TABLE arrived(hour INTEGER, id TEXT, is_new INTEGER);
CREATE TRIGGER arrived_insert AFTER INSERT ON arrived BEGIN
  INSERT INTO seen(seen, key) VALUES ('period', NEW.hour / 4);
  UPDATE arrived SET is_new = NOT EXISTS (SELECT 1 FROM seen(NEW.id))
    WHERE rowid = NEW.rowid;
  INSERT OR IGNORE INTO seen(key) VALUES (NEW.id);
END;

-- From here on the data is made up: three days with 1,000 events an hour, of which every fifth was
-- sent before, up to 23 hours ago.
INSERT INTO arrived(hour, id)
  SELECT hour, printf('event-%06d', CASE WHEN number % 5 > 0 THEN hour * 1000 + number
    ELSE max(1, hour * 1000 + number - 1 - (number * 7919 + hour * 104729) % 23000 / 5 * 5) END)
    FROM (SELECT hour.value AS hour, number.value AS number
            FROM generate_series(1, 72) AS hour, generate_series(1, 1000) AS number);

.print Events of three days
SELECT count(*) AS arrived, sum(is_new) AS "passed on", count(DISTINCT id) AS "different ones",
       count(DISTINCT id) - sum(is_new) AS "kept back by mistake"
  FROM arrived;

.print
.print The generations
SELECT json_extract(value, '$.generation') AS generation, json_extract(value, '$.keys') AS keys,
       printf('%.1f %%', 100 * json_extract(value, '$.fill')) AS fill
  FROM seen, json_each(json_extract(info, '$.generations'));

-- After a day an event is new again.
.print
.print Seen before?
SELECT id, hour AS "sent in hour", EXISTS (SELECT 1 FROM seen(id)) AS known
  FROM arrived WHERE id IN ('event-024001', 'event-045001', 'event-053001', 'event-072001')
  GROUP BY id;

-- The size is the same after the second day and after the third.
.print
SELECT (SELECT sum(length(data)) FROM seen_data) AS "filter table, bytes",
       (SELECT sum(length(id)) FROM arrived WHERE is_new AND hour > 48) AS "ids of a day, bytes";
