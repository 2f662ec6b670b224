-- A filter in front of a table. Most look-ups are for keys that do not exist, for example guessed
-- names or invented codes, and the filter answers these without the index. It pays if the index is
-- larger than the cache and keys come in random order. QUESTIONS.md says more on when it does not.
-- From the top folder: sqlite3 < sql/filter_in_front.sql
.bail on
.load ./bloom
.mode column

CREATE TABLE users(name TEXT PRIMARY KEY, email TEXT) WITHOUT ROWID;

-- The filter grows if there are more users than expected, and keeps its rate. In a file of your own
-- say PRAGMA journal_mode = wal, so that requests are answered while a user is added. If programs
-- without the extension write to users, make the triggers TEMP: CREATE TEMP TRIGGER.
CREATE VIRTUAL TABLE guard USING bloom(capacity=2000, fpr=0.001);
CREATE TRIGGER guard_insert AFTER INSERT ON users BEGIN
  INSERT INTO guard(key) VALUES (NEW.name);
END;
CREATE TRIGGER guard_update AFTER UPDATE ON users WHEN NEW.name IS NOT OLD.name BEGIN
  INSERT INTO guard(key) VALUES (NEW.name);
END;

-- One key, from a program. FROM names the filter first, and SQLite then asks it first:
--   SELECT users.* FROM guard(?1) JOIN users ON name = ?1;

-- Many keys. Put them into one transaction, and join the filter, too.
CREATE TABLE requests(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE VIEW known AS
  SELECT requests.id, users.* FROM requests JOIN guard(requests.name) JOIN users USING (name);

-- What was refused without a look-up is what the filter does not know.
CREATE VIEW refused AS
  SELECT * FROM requests WHERE NOT EXISTS (SELECT 1 FROM guard(requests.name));

-- From here on the data is made up. Users come in large batches and one by one. A rollback leaves
-- no trace in the filter.
INSERT INTO users SELECT printf('user%05d', value * 3), 'mail' || value || '@example.org'
  FROM generate_series(1, 9999);
INSERT INTO users VALUES ('admin', 'admin@example.org');
BEGIN;
INSERT INTO users VALUES ('mistake', 'mistake@example.org');
ROLLBACK;

-- A flood of 100,000 requests, of which 5 in 100 are for users that exist.
INSERT INTO requests(name)
  SELECT CASE WHEN value % 100 < 5 THEN printf('user%05d', (value % 9999 + 1) * 3)
    ELSE printf('guess%06d', value) END
    FROM generate_series(1, 100000);
SELECT (SELECT count(*) FROM requests) AS requests, (SELECT count(*) FROM refused) AS refused,
       (SELECT count(*) FROM known) AS found,
       (SELECT count(*) FROM refused JOIN users USING (name)) AS "refused by mistake";

-- A user that is new, or has a new name, is found at once.
DELETE FROM requests;
INSERT INTO requests(name) VALUES ('admin'), ('mistake'), ('newcomer'), ('renamed');
.print
SELECT group_concat(name) AS "known before" FROM known;
INSERT INTO users VALUES ('newcomer', 'new@example.org');
UPDATE users SET name = 'renamed' WHERE name = 'user00003';
.print
SELECT group_concat(name) AS "and after" FROM known;

-- Deleted users stay in the filter, and cost a look-up in vain. After many deletions, fill it again
-- in one transaction, so that no request ever meets an empty filter.
DELETE FROM users WHERE name LIKE 'user1%' OR name LIKE 'user2%';
CREATE VIEW state AS
  SELECT (SELECT count(*) FROM users) AS users, json_extract(info, '$.count') AS "keys, about",
         json_array_length(info, '$.layers') AS layers FROM guard;
.print
SELECT * FROM state;
BEGIN;
INSERT INTO guard(guard) VALUES ('clear');
INSERT INTO guard(key) SELECT name FROM users;
COMMIT;
.print
SELECT * FROM state;
