-- Which files of a disk image are known, so that an investigator need not look at them? CIRCL
-- hashlookup and others publish filters of the SHA-1 of millions of known files, in the format of
-- DCSO's bloom. Import such a filter once. It answers "certainly unknown" or "probably known" where
-- the evidence is already, in SQLite.
-- From the top folder: sqlite3 < sql/known_files.sql
.bail on
.load ./bloom
.mode column

-- The published filter, which has about 1 GB, and the files of the image, as a forensic tool lists
-- them. These are made up: published(bytes) and files(path, sha1).
.read sql/data/known_files.sql

-- The real filter is the bytes readfile('hashlookup-full.bloom').
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'hashlookup', bloom_import(bytes, 'dcso') FROM published;
SELECT json_extract(bloom_info(f), '$.capacity') AS "made for", bloom_count(f) AS "keys, about",
       json_extract(bloom_info(f), '$.fpr') AS "rate asked for",
       printf('%.0e', bloom_fpr_now(f)) AS "rate now"
  FROM filters;

-- Some tools write SHA-1 in lower case, and some as 20 bytes. The filter has upper-case hexadecimal
-- digits only.
CREATE VIEW hashed AS
  SELECT path, CASE typeof(sha1) WHEN 'blob' THEN hex(sha1) ELSE upper(sha1) END AS sha1 FROM files;

-- The filter is pinned, so it is read once for the whole scan.
.print
SELECT path, CASE WHEN bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'hashlookup'),
                                   sha1)
                  THEN 'probably known' ELSE 'look at it' END AS verdict
  FROM hashed ORDER BY path;

-- In lower case nothing is found. That is not an error, because any text could be a key.
.print
SELECT count(*) AS "found in lower case"
  FROM hashed WHERE bloom_check((SELECT bloom_pin(f) FROM filters), lower(sha1));

-- Files that you found harmless go into a filter of your own, which is made in the same shape. Both
-- are merged, and exported as one file that all readers of this format read.
UPDATE filters SET f = bloom_union(f,
  (SELECT bloom_agg(sha1, (SELECT bloom_pin(f) FROM filters)) FROM hashed WHERE path LIKE '%.odt'));
.print
SELECT bloom_check(f, 'F7FF9E8B7BB2E09B70935A5D785E0CC5D9D0ABF0') AS "plan.odt",
       length(bloom_export(f, 'dcso')) AS "bytes for others" FROM filters;
