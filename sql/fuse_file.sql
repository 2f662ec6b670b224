-- Publish a list as one small file that clients check and never change. The layout fuse makes the
-- smallest filters: it takes all keys at once, and no key can be added later. The client is a
-- Python program, sql/fuse_client.py.
-- From the top folder: sqlite3 < sql/fuse_file.sql
.bail on
.load ./bloom
.mode column

-- 1. The list as it is published. With key=url_nocase a client finds a URL in any spelling, and
-- under the host or the folder that is listed. The case of letters does not count, because this
-- list has lost it.
CREATE TABLE keys AS
  SELECT DISTINCT key FROM bloom_list(readfile('sql/data/urlhaus.txt'))
   WHERE key NOT NULL;

-- 2. The filter. The rate is for one key, and a URL has several. So it is ten times smaller than
-- what a URL may have. n is NULL, so that the filter has the size for these very keys.
CREATE TABLE filters(layout TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'fuse', bloom_agg(key, NULL, 0.0001, 'layout=fuse, key=url_nocase')
  FROM keys;
INSERT INTO filters SELECT 'blocked', bloom_agg(key, NULL, 0.0001, 'key=url_nocase') FROM keys;
SELECT layout, length(f) AS "bytes", printf('%.1f', 8.0 * length(f) / count(*)) AS "bits for a key",
       printf('%.4f %%', 100 * bloom_fpr_now(f)) AS "false positives, a key"
  FROM filters, keys GROUP BY layout ORDER BY layout DESC;

-- 3. The file. The same list always gives the same bytes, so a client needs to fetch it only when
-- its checksum changes. Write a new file beside the old one and rename it, so that no client reads
-- half of it. (Here the file goes into this folder, and is removed below.)
SELECT writefile('malicious.sbloom', f) > 0 AS written FROM filters WHERE layout = 'fuse';

-- From here on the data is made up. A client asks for three URLs. In /usr/bin is the system's
-- Python, which can load extensions.
.print
.print What the client says
.shell PATH=/usr/bin:$PATH python3 sql/fuse_client.py malicious.sbloom https://sqlite.org/ HTTP://1.1.104.120:80/a/b http://notevil.example/
.shell rm malicious.sbloom

-- A client treats what is found as a suspicion: it asks the publisher, who has the exact list, for
-- the few URLs that are found. A URL that is not found is certainly not on the list.
.print
SELECT CASE WHEN EXISTS (SELECT 1 FROM bloom_url_keys('HTTP://1.1.104.120:80/a/b') AS u
                           JOIN keys ON keys.key = u.key) THEN 'listed' ELSE 'not listed'
       END AS "the publisher's answer";

-- A new list makes a new filter. Adding a key to the old one is an error that says so.
