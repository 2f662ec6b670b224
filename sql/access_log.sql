-- Which clients of a proxy went to a listed address, and which requests to a web server come from a
-- listed address or by a link on a listed page? The logs of Squid, and of nginx or Apache, are
-- imported line by line.
-- From the top folder: sqlite3 < sql/access_log.sql
.bail on
.load ./bloom

-- 1. The logs. awk chooses the fields, because they are padded in one log and quoted in the other.
-- It reads each line by itself, so a quotation mark in a request spoils no other line. Write the
-- names of your files instead, for example /var/log/squid/access.log.
.mode ascii
.separator "\t" "\n"
CREATE TABLE proxy(time REAL, client TEXT, url TEXT);
.import "|awk -v OFS='\t' '{ print $1, $3, $7 }' sql/data/squid.log" proxy
-- The combined format has the request, the page with the link, and the browser between quotation
-- marks. Before them are the client, two names, and the time.
CREATE TABLE log(head TEXT, request TEXT, linked_from TEXT);
.import "|awk -F'\"' -v OFS='\t' '{ print $1, $2, $4 }' sql/data/nginx.log" log
CREATE VIEW server AS
  SELECT rowid AS id, substr(head, instr(head, '[') + 1, 20) AS time,
         substr(head, 1, instr(head, ' ') - 1) AS client, request, linked_from
    FROM log;
.mode column

-- 2. The lists and their filter, as in which_list.sql.
CREATE TABLE lists(name TEXT PRIMARY KEY, text BLOB NOT NULL);
INSERT INTO lists VALUES
  ('urlhaus', readfile('sql/data/urlhaus.txt')), ('mine', readfile('sql/data/mine.txt'));
CREATE TABLE entries(list TEXT, key TEXT COLLATE NOCASE, entry TEXT);
INSERT INTO entries SELECT name, key, entry FROM lists, bloom_list(text)
 WHERE key NOT NULL;
CREATE INDEX entries_key ON entries(key);
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters VALUES ('bad', (SELECT bloom_list_agg(text) FROM lists));

-- 3. The answers. Of https a proxy sees only the host and the port, which are found, too, and so
-- are the addresses of clients.
.print Where clients of the proxy went
SELECT datetime(time, 'unixepoch') AS time, client, list, entry, url
  FROM proxy, bloom_url_keys(url) AS k JOIN entries ON entries.key = k.key
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), url)
 ORDER BY time, k.rank;

.print
.print Requests to the server from a listed address
SELECT time, client, list, request
  FROM server, bloom_url_keys(client) AS k JOIN entries ON entries.key = k.key
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), client)
 ORDER BY server.id, k.rank;

.print
.print Requests to the server by a link on a listed page
SELECT time, client, list, linked_from
  FROM server, bloom_url_keys(linked_from) AS k JOIN entries ON entries.key = k.key
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), linked_from)
 ORDER BY server.id, k.rank;
