-- Made up for sql/decontaminate.sql: two questions, three documents, and 5,000
-- more of 40 words each.
CREATE TABLE evaluation(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE documents(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
INSERT INTO evaluation(text) VALUES
  ('A train leaves the station at nine and travels at sixty miles an hour. When does it arrive?'),
  ('Name the three largest cities of the country, and say in which year each of them was founded.');
INSERT INTO documents(text) VALUES
  ('Homework: a TRAIN leaves the station at nine, and travels at sixty miles an hour. When does it'
   || ' arrive? Show your work.'),
  ('The station has nine tracks, and trains leave at every hour for the three largest cities of the'
   || ' country.'),
  ('Nothing of this is in any test, and the words are in an order that no question has.');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO documents(text)
  SELECT (SELECT group_concat('word' || (i * 7919 + value * value * 31) % 5003, ' ')
            FROM generate_series(1, 40)) FROM n;
