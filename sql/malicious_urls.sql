-- Which visits went to a malicious address? Lists name hosts, folders and pages, and visits are
-- whole URLs in every spelling. bloom_list reads the list as published. A filter with a key rule
-- looks a visit up under its page, its folders, its host and the domains above it. The filter finds
-- the suspects, and the exact list confirms them. An allow-list remembers the keys that are found
-- by mistake, and new entries are added to the filter later.
-- From the top folder: sqlite3 < sql/malicious_urls.sql
.bail on
.load ./bloom

-- The list as it is published, with hosts, pages, rules and remarks. bloom_list reads the whole
-- file each time it is called, so a table keeps what it returns. Remarks and blank lines have no
-- row.
CREATE TABLE lines AS SELECT * FROM bloom_list(readfile('sql/data/urlhaus.txt'));
.mode column
.print The lines of the list, and why some are not entries
SELECT coalesce(note, 'a URL or name') AS line, count(*) AS lines, count(DISTINCT key) AS keys
  FROM lines GROUP BY note
UNION ALL
SELECT 'no entry: a remark, or blank', max(line) - count(DISTINCT line), 0 FROM lines
 ORDER BY line;

-- The keys. The publisher has put all letters into lower case, those of paths included. So case
-- does not count: key=url_nocase in the filter, and NOCASE in the tables.
CREATE TABLE malicious(key TEXT PRIMARY KEY ON CONFLICT IGNORE COLLATE NOCASE, entry TEXT NOT NULL)
  WITHOUT ROWID;
INSERT INTO malicious
  SELECT key, entry FROM lines WHERE key NOT NULL;

-- The filter, with room for half as many keys again, so that new entries can be added. When it is
-- full, make it again in the same way. A visit has about ten keys, and each of them may be found by
-- mistake. So the rate is a tenth of what a visit may have.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'malicious', bloom_agg(key, 3 * (SELECT count(*) FROM malicious) / 2, 0.001,
                                'key=url_nocase') FROM malicious;
.print
SELECT count(*) AS keys, bloom_count(f) AS "estimated from the filter",
       length(f) AS "filter, bytes",
       printf('%.4f %%', 100 * bloom_fpr_now(f)) AS "false positives, a key"
  FROM filters, malicious;

-- The visits. These are made up, from the published file by a program that knows nothing of the
-- extension. 100,000 are harmless, and 2,000 go to entries, in the spellings of mails, forms and
-- attackers. The column listed is 1 for the visits that the program made to an entry.
-- For visits of your own, in a CSV file whose first line names its columns, write this instead of
-- this .read, and leave the other one out. The first two counts are then empty, and the second day
-- repeats the first.
--   .import --csv visits.csv own
--   INSERT INTO visits(url) SELECT url FROM own;
CREATE TABLE visits(listed INTEGER, url TEXT);
.read sql/data/malicious_urls.sql

-- The suspects, without those that are found only under allowed keys. With bloom_pin SQLite reads
-- the stored filter once and not for each visit. A misspelt name is an error, not an empty answer.
CREATE TABLE allowed(key TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;
CREATE VIEW positives AS
  SELECT visits.rowid AS id, listed, url FROM visits
   WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'malicious'), url);
-- The keys under which a suspect is found. A key that a shorter one explains is left out.
CREATE VIEW reasons AS
  SELECT positives.*, u.key AS key FROM positives, bloom_url_keys(positives.url) AS u
   WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'malicious'), u.key)
     AND NOT EXISTS (SELECT 1 FROM bloom_url_keys(u.key) AS shorter
                      WHERE shorter.rank > 0
                        AND bloom_check((SELECT bloom_pin(f) FROM filters
                                          WHERE name = 'malicious'), shorter.key));
CREATE VIEW suspects AS
  SELECT DISTINCT id, listed, url FROM reasons
   WHERE NOT EXISTS (SELECT 1 FROM allowed WHERE allowed.key = reasons.key);

-- Verification: only the keys of suspects are looked up in the exact list. The most exact entry
-- counts.
CREATE VIEW verdicts AS
  SELECT suspects.*, (SELECT entry FROM bloom_url_keys(suspects.url) AS u
                        JOIN malicious ON malicious.key = u.key
                       ORDER BY u.rank LIMIT 1) AS entry
    FROM suspects;
CREATE VIEW counts AS
  SELECT (SELECT count(*) FROM visits WHERE listed = 1) AS "made up to be listed",
         sum(listed = 1) AS "of these found", count(entry) AS "on the list, verified",
         count(*) - count(entry) AS "false positives"
    FROM verdicts;
.print
.print First day, nothing allowed yet
SELECT * FROM counts;

.print
.print Some visits, and the entry that each is listed by
SELECT substr(url, 1, 60) AS url, substr(entry, 1, 40) AS entry
  FROM verdicts WHERE entry NOT NULL AND url NOT GLOB '*[^!-~]*'
 ORDER BY id LIMIT 8;

-- A key is found by mistake, often a host, and then all pages of that host are. Such a key is
-- allowed if no entry is at or below it. An entry that covers a visit still reports it, so nothing
-- malicious gets through.
CREATE TABLE folders(key TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;
INSERT OR IGNORE INTO folders SELECT u.key FROM malicious, bloom_url_keys(malicious.key) AS u;
INSERT INTO allowed
  SELECT DISTINCT reasons.key FROM verdicts JOIN reasons USING (id)
   WHERE entry IS NULL AND NOT EXISTS (SELECT 1 FROM folders WHERE folders.key = reasons.key);
.print
.print The allow-list
SELECT count(*) AS keys, min(key) AS "the first of them" FROM allowed;

.read sql/data/malicious_urls_2.sql
.print
.print Second day, other visits to the same places and to others
SELECT * FROM counts;

-- New entries: a host, a folder, a line that is not an entry, and a page that was allowed. What is
-- above a new entry has to leave the allow-list. The inner filter is only used for its shape. It is
-- pinned so that it is not read for each row.
CREATE TABLE new_entries(key TEXT, entry TEXT);
INSERT INTO new_entries
  SELECT key, entry FROM bloom_list(readfile('sql/data/new_entries.txt'))
   WHERE key NOT NULL;
INSERT INTO new_entries SELECT key, key FROM allowed LIMIT 1;
BEGIN;
INSERT INTO malicious SELECT key, entry FROM new_entries;
INSERT OR IGNORE INTO folders SELECT u.key FROM new_entries, bloom_url_keys(new_entries.key) AS u;
DELETE FROM allowed WHERE EXISTS (SELECT 1 FROM folders WHERE folders.key = allowed.key);
UPDATE filters
   SET f = bloom_union(f, (SELECT bloom_agg(key, (SELECT bloom_pin(f) FROM filters
                                                   WHERE name = 'malicious')) FROM new_entries))
 WHERE name = 'malicious';
COMMIT;
.print
.print Third day, after the new entries
SELECT count(*) AS suspects, count(entry) AS "on the list, verified",
       (SELECT count(*) FROM allowed) AS "keys allowed",
       (SELECT json_extract(bloom_info(f), '$.capacity') - bloom_count(f)
          FROM filters) AS "room left, about"
  FROM verdicts;
