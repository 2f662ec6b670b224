-- Carry out each payment once, although clients send it again when they got no answer. A filter
-- table remembers the idempotency keys of a day or two. A key that is not in it is certainly new. A
-- key that seems to be in it is looked up, so there are no mistakes, and hardly any look-ups except
-- for repetitions.
-- From the top folder: sqlite3 < sql/idempotency.sql
.bail on
.load ./bloom
.mode column

CREATE TABLE payments(id INTEGER PRIMARY KEY, key TEXT NOT NULL, amount INTEGER, day INTEGER);
CREATE INDEX payments_key ON payments(key);

-- Two generations of a day. A key is known for the rest of the day on which it was last sent, and
-- for all of the next day. (After that, the same key would be carried out again.) Nobody who
-- chooses keys may know the salt. Make your own once with SELECT lower(hex(randomblob(16))), and
-- write it here.
CREATE VIRTUAL TABLE guard USING bloom(capacity=2000, fpr=0.001, generations=2,
  salt='4f1c9d0b7a3e58826d90c1b5f2a7e431');

-- A request is one statement and one transaction, so the payment and its key are both there, or
-- neither is. The command 'period' with the number of the day, in real use unixepoch() / 86400,
-- forgets old keys when a new day has come, and otherwise changes nothing. 'add' writes the key to
-- the newest generation. Each request is a commit, so in a file of your own say PRAGMA
-- journal_mode = wal, and PRAGMA synchronous = full if no payment may be lost.
CREATE TABLE requests(key TEXT, amount INTEGER, day INTEGER, looked_up INTEGER DEFAULT 0,
  carried_out INTEGER DEFAULT 0);
CREATE TRIGGER request AFTER INSERT ON requests BEGIN
  INSERT INTO guard(guard, key) VALUES ('period', NEW.day);
  UPDATE requests SET looked_up = EXISTS (SELECT 1 FROM guard(NEW.key))
    WHERE rowid = NEW.rowid;
  UPDATE requests SET carried_out = CASE WHEN looked_up THEN NOT EXISTS (SELECT 1 FROM payments
    WHERE key = NEW.key) ELSE 1 END WHERE rowid = NEW.rowid;
  INSERT INTO payments(key, amount, day) SELECT key, amount, day FROM requests
    WHERE rowid = NEW.rowid AND carried_out;
  INSERT INTO guard(guard, key) VALUES ('add', NEW.key);
END;

-- From here on the data is made up: four days with 2,000 payments a day, of which every tenth is
-- sent three times.
INSERT INTO requests(key, amount, day)
  SELECT printf('key-%d-%04d', day.value, request.value), request.value % 90 + 10, day.value
    FROM generate_series(1, 4) AS day, generate_series(1, 2000) AS request,
         generate_series(1, 3) AS time
   WHERE time.value = 1 OR request.value % 10 = 0;

SELECT day, count(*) AS requests, sum(carried_out) AS "carried out", sum(looked_up) AS "looked up",
       sum(looked_up AND carried_out) AS "in vain"
  FROM requests GROUP BY day;

.print
SELECT count(*) AS payments, count(DISTINCT key) AS keys, (SELECT count(DISTINCT key)
  FROM requests) AS "keys of requests" FROM payments;

-- A transaction that fails undoes the payment and its key, so the next try is carried out.
BEGIN;
INSERT INTO requests(key, amount, day) VALUES ('key-5-0001', 25, 5);
ROLLBACK;
INSERT INTO requests(key, amount, day) VALUES ('key-5-0001', 25, 5);
INSERT INTO requests(key, amount, day) VALUES ('key-5-0001', 25, 5);
.print
SELECT key, looked_up, carried_out FROM requests WHERE key = 'key-5-0001';

-- The guard has the keys of two days, however many days have passed.
.print
SELECT json_extract(value, '$.generation') AS generation, json_extract(value, '$.keys') AS keys
  FROM guard, json_each(json_extract(info, '$.generations'));
