-- Which documents of a training corpus contain text of an evaluation set? Every run of eight words
-- of the evaluation set is a key. The corpus is read once, and the share of its runs that are keys
-- is counted for each document. The runs of the corpus are stored nowhere.
-- From the top folder: sqlite3 < sql/decontaminate.sql
.bail on
.load ./bloom
.mode column

-- The evaluation set, and the corpus. These are made up: evaluation(id, text) and documents(id,
-- text). Your own could come from files:
--   CREATE TABLE documents AS
--     SELECT line AS id, text FROM bloom_lines(readfile('corpus.txt'));
.read sql/data/decontaminate.sql

-- The words of a text: lower case, without punctuation. json_quote makes the text safe to be put
-- between the quotation marks of a JSON array, and json_each makes a row of each word.
CREATE VIEW words AS
  SELECT source, texts.id AS id, word.key AS position, word.value AS word
    FROM (SELECT 'evaluation' AS source, id, text FROM evaluation
          UNION ALL SELECT 'documents', id, text FROM documents) AS texts,
         json_each('[' || replace(json_quote(lower(replace(replace(replace(replace(replace(text,
           char(10), ' '), ',', ''), '.', ''), '?', ''), ':', ''))), ' ', '","') || ']') AS word
   WHERE word.value <> '';

-- Every run of eight words, by a window function. The last seven words of a text begin none.
CREATE VIEW runs AS
  SELECT source, id, run FROM (
    SELECT source, id, group_concat(word, ' ') OVER eight AS run, count(*) OVER eight AS words
      FROM words
    WINDOW eight AS (PARTITION BY source, id ORDER BY position
                     ROWS BETWEEN CURRENT ROW AND 7 FOLLOWING))
   WHERE words = 8;

-- 1. The filter of all runs of the evaluation set.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'evaluation', bloom_agg(run, NULL, 0.0001) FROM runs
 WHERE source = 'evaluation';
SELECT (SELECT count(*) FROM evaluation) AS questions, bloom_count(f) AS "runs, about",
       length(f) AS bytes FROM filters;

-- 2. One pass over the corpus. A document without a run in the filter certainly shares no eight
-- words with the evaluation set. For the others the share shows how much.
CREATE TABLE shares AS
  SELECT id, count(*) AS runs,
         sum(bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'evaluation'), run))
           AS found
    FROM runs WHERE source = 'documents' GROUP BY id;
.print
.print Documents that share a run with the evaluation set
SELECT id, runs, found, printf('%.0f %%', 100.0 * found / runs) AS share,
       substr(text, 1, 40) AS text
  FROM shares JOIN documents USING (id) WHERE found > 0 AND found >= 0.05 * runs ORDER BY id;

-- A single run may be found by mistake. So require two, or a share as above, or look the few
-- documents up exactly.
.print
SELECT count(*) AS documents, sum(runs) AS "runs checked", sum(found = 1) AS "with one run found",
       sum(found > 1) AS "with more" FROM shares;
