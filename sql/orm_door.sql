-- A door for ORMs. Many can only say INSERT ... ON CONFLICT DO NOTHING, which SQLite refuses for
-- every virtual table. So let them insert into an ordinary table that stays empty: a key that is
-- known is ignored on its way in, and a key that is new goes to the filter table. changes() and
-- RETURNING then count the new keys only. ext/packages/ORMS.md has programs for Drizzle, Knex,
-- TypeORM and others. They keep the filter in a file of its own, so that migration tools do not see
-- it, and make the door and its triggers TEMP. For an application that cannot be changed at all,
-- see the view at the end of the first part.
-- From the top folder: sqlite3 < sql/orm_door.sql
.bail on
.load ./bloom
.mode column

CREATE VIRTUAL TABLE seen USING bloom(capacity=100000, fpr=0.001, key=TEXT);
CREATE TABLE door(key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TRIGGER door_in BEFORE INSERT ON door
  WHEN EXISTS (SELECT 1 FROM seen(new.key))
  BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER door_out AFTER INSERT ON door BEGIN
  INSERT INTO seen(key) VALUES (new.key);
  DELETE FROM door WHERE key = new.key;
END;

-- An application that also reads its table, as in SELECT 1 FROM archive WHERE entry = ?: put a view
-- in the place of the table. CREATE TABLE IF NOT EXISTS archive then does nothing. changes() is 0
-- after each INSERT, and count(*) is an error.
CREATE VIEW archive AS SELECT key AS entry FROM seen;
CREATE TRIGGER archive_in INSTEAD OF INSERT ON archive
  WHEN NOT EXISTS (SELECT 1 FROM seen(new.entry))
  BEGIN INSERT INTO seen(key) VALUES (new.entry); END;

-- From here on the data is made up.
.print What an ORM sends; where b occurs twice
INSERT INTO door(key) VALUES ('a'), ('b'), ('b') ON CONFLICT DO NOTHING RETURNING key AS "new";
SELECT changes();

.print
.print Once more, with one key that is new, and the column named
INSERT INTO door(key) VALUES ('a'), ('b'), ('c') ON CONFLICT (key) DO NOTHING
  RETURNING key AS "new";
SELECT changes();

-- It belongs to the transaction. A key of one that is rolled back is new again.
BEGIN;
INSERT INTO door(key) VALUES ('d') ON CONFLICT DO NOTHING;
ROLLBACK;
.print
.print After a rollback
INSERT INTO door(key) VALUES ('d') ON CONFLICT DO NOTHING RETURNING key AS "new";

.print
SELECT count(*) AS "rows in the door", (SELECT json_extract(info, '$.count') FROM seen) AS keys
  FROM door;

-- Checks go to the filter table itself.
.print
SELECT column1 AS key, EXISTS (SELECT 1 FROM seen(column1)) AS known
  FROM (VALUES ('a'), ('x'));

.print
.print The view
CREATE TABLE IF NOT EXISTS archive(entry TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO archive(entry) VALUES ('a'), ('e');
SELECT changes(), EXISTS (SELECT 1 FROM archive WHERE entry = 'e') AS known;
