-- Refuse keys that do not exist before they cost a look-up, with a filter table. Its bits are
-- updated in place, so each insert writes one page, however large the filter is.
-- (cache_penetration.sql does the same with a value, which is better for a table that seldom
-- changes.)
-- From the top folder: sqlite3 < sql/request_guard.sql
.bail on
.load ./bloom
.mode column

CREATE TABLE users(name TEXT PRIMARY KEY, email TEXT) WITHOUT ROWID;

-- The guard grows if there are more users than expected, and keeps its rate. In a file of your own
-- say PRAGMA journal_mode = wal, so that requests are answered while a user is added.
CREATE VIRTUAL TABLE guard USING bloom(capacity=2000, fpr=0.001);
CREATE TRIGGER guard_insert AFTER INSERT ON users BEGIN
  INSERT INTO guard(key) VALUES (NEW.name);
END;
CREATE TRIGGER guard_update AFTER UPDATE ON users WHEN NEW.name IS NOT OLD.name BEGIN
  INSERT INTO guard(key) VALUES (NEW.name);
END;

-- The answer is 0 if a request was refused without a look-up, 1 if it was looked up in vain, and 2
-- if it was found.
CREATE TABLE requests(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE VIEW answers AS
  SELECT name, CASE WHEN NOT EXISTS (SELECT 1 FROM guard WHERE key = name) THEN 0
                    ELSE 1 + EXISTS (SELECT 1 FROM users WHERE users.name = requests.name)
                      END AS answer
    FROM requests;

-- From here on the data is made up. Users come in large batches and one by one. A rollback leaves
-- no trace in the guard.
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
SELECT count(*) AS requests, sum(answer = 0) AS refused, sum(answer = 1) AS "looked up in vain",
       sum(answer = 2) AS found, sum(answer = 0 AND name IN (SELECT name
         FROM users)) AS "refused by mistake"
  FROM answers;

-- A user that is new, or has a new name, is found at once.
DELETE FROM requests;
INSERT INTO requests(name) VALUES ('admin'), ('mistake'), ('newcomer'), ('renamed');
.print
.print Before
SELECT name, CASE answer WHEN 0 THEN 'refused' WHEN 1 THEN 'looked up in vain' ELSE 'found'
  END AS answer FROM answers;
INSERT INTO users VALUES ('newcomer', 'new@example.org');
UPDATE users SET name = 'renamed' WHERE name = 'user00003';
.print
.print After
SELECT name, CASE answer WHEN 0 THEN 'refused' WHEN 1 THEN 'looked up in vain' ELSE 'found'
  END AS answer FROM answers;

-- Deleted users stay in the guard, and cost a look-up in vain. After many deletions, fill the guard
-- again in one transaction, so that no request ever meets an empty guard.
DELETE FROM users WHERE name LIKE 'user1%' OR name LIKE 'user2%';
.print
SELECT (SELECT count(*) FROM users) AS users, json_extract(info,
  '$.count') AS "in the guard, about",
       json_array_length(info, '$.layers') AS layers, printf('%.3f %%', 100 * json_extract(info,
         '$.fpr_now')) AS "guesses let through"
  FROM guard;
BEGIN;
INSERT INTO guard(guard) VALUES ('clear');
INSERT INTO guard(key) SELECT name FROM users;
COMMIT;
.print
SELECT (SELECT count(*) FROM users) AS users, json_extract(info,
  '$.count') AS "in the guard, about",
       json_array_length(info, '$.layers') AS layers, printf('%.3f %%', 100 * json_extract(info,
         '$.fpr_now')) AS "guesses let through"
  FROM guard;
