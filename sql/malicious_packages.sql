-- Is a package of this project on the list of malicious ones? The list is that of OSV, the project
-- is a package-lock.json, and a key is a name and a version. Clients get one small file, which
-- needs no network to say "certainly not listed". What it finds is looked up in the list.
-- From the top folder: sqlite3 < sql/malicious_packages.sql
.bail on
.load ./bloom
.mode column

-- 1. The list. OSV publishes all.zip for each ecosystem, for example npm, with a file of JSON for
-- each entry. Those of malicious packages are called MAL-*. Here is an array of five of them that
-- are made up. For the real list, read the zip file as it is:
--   FROM zipfile('all.zip') AS file, json_each(json_array(json(file.data))) AS entry
--  WHERE file.name GLOB 'MAL-*'
-- An entry that has only ranges and no versions counts for all versions, which is '*' here.
CREATE TABLE malicious(key TEXT, id TEXT, PRIMARY KEY(key, id)) WITHOUT ROWID;
INSERT OR IGNORE INTO malicious
  SELECT json_extract(affected.value, '$.package.name') || '@' || coalesce(version.value, '*'),
         json_extract(entry.value, '$.id')
    FROM json_each(readfile('sql/data/osv.json')) AS entry,
         json_each(entry.value, '$.affected') AS affected
         LEFT JOIN json_each(affected.value, '$.versions') AS version
   WHERE json_extract(affected.value, '$.package.ecosystem') = 'npm'
     AND json_extract(entry.value, '$.withdrawn') IS NULL;

-- In an incident, lines ecosystem:name:version spread before OSV has them. A remark is not one.
INSERT OR IGNORE INTO malicious
  SELECT replace(substr(text, 5), ':', '@'), 'incident'
    FROM bloom_lines(readfile('sql/data/incident.txt')) WHERE text GLOB 'npm:*:*';
SELECT * FROM malicious;

-- 2. The file for clients. Layout fuse makes the smallest filter of a finished list. One check in
-- 1,000 of packages that are not listed is wrong, so each hit is looked up. The 216,000 versions
-- that OSV had for npm in 2026 take 318 kB.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'npm', bloom_agg(key, NULL, 0.001, 'fuse') FROM malicious;
-- SELECT writefile('malicious_npm.sbloom', f) FROM filters WHERE name = 'npm';

-- 3. A project. In a lockfile the name of a package follows the last node_modules/ of its path.
CREATE TABLE packages AS
  SELECT json_extract('["' || replace(key, 'node_modules/', '","') || '"]', '$[#-1]') AS name,
         json_extract(value, '$.version') AS version
    FROM json_each(readfile('sql/data/package-lock.json'), '$.packages') WHERE key <> '';

-- 4. What the client does: two checks for each package, of its version and of all versions. It
-- sends only the suspects to whoever has the list.
CREATE TABLE suspects AS
  SELECT name, version, key
    FROM (SELECT name, version, name || '@' || version AS key FROM packages
          UNION ALL SELECT name, version, name || '@*' FROM packages)
   WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'npm'), key);

-- 5. What is listed, and by which entry.
.print
SELECT name, version, id FROM suspects JOIN malicious USING (key) ORDER BY id;

-- From here on the data is made up: 20,000 entries more, so that the sizes mean something, in a new
-- filter.
INSERT INTO malicious SELECT printf('made-up-%d@1.0.%d', value, value % 7), 'MAL-2026-' || value
  FROM generate_series(1001, 21000);
UPDATE filters SET f = (SELECT bloom_agg(key, NULL, 0.001, 'fuse') FROM malicious);
.print
SELECT count(*) AS entries, sum(length(key)) AS "keys, bytes", length(f) AS "filter, bytes"
  FROM malicious, filters;

-- Of 20,000 packages that are not listed, at most about 20 are suspects.
.print
SELECT count(*) BETWEEN 5 AND 40 AS "as promised"
  FROM (SELECT 'harmless-' || value || '@1.0.0' AS key FROM generate_series(1, 20000))
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'npm'), key);
