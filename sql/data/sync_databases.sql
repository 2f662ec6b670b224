-- Made up for sql/sync_databases.sql: 20,000 notes are in both databases, and some only in one.
ATTACH ':memory:' AS berlin;
ATTACH ':memory:' AS lisbon;
CREATE TABLE berlin.notes(id TEXT PRIMARY KEY, text TEXT);
CREATE TABLE lisbon.notes(id TEXT PRIMARY KEY, text TEXT);
INSERT INTO berlin.notes SELECT 'both-' || value, 'Note ' || value FROM generate_series(1, 20000);
INSERT INTO lisbon.notes SELECT * FROM berlin.notes;
INSERT INTO berlin.notes SELECT 'berlin-' || value, 'Note ' || value FROM generate_series(1, 2000);
INSERT INTO lisbon.notes SELECT 'lisbon-' || value, 'Note ' || value FROM generate_series(1, 3000);
