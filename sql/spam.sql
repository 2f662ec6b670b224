-- Does this address belong to a service of disposable mail, as spammers use it? The published list
-- has about 8,000 domains, and their filter takes 23 kB. Names below a domain are covered, too.
-- From the top folder: sqlite3 < sql/spam.sql
.bail on
.load ./bloom
.mode column

CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'disposable', bloom_list_agg(readfile('sql/data/disposable.txt'));

-- Check what follows the @, and not the whole address. As a URL, a/b@trash.mail is the host a.
CREATE TABLE signups(address TEXT);
CREATE VIEW disposable AS SELECT address FROM signups
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'disposable'),
                   substr(address, instr(address, '@') + 1));

-- From here on the data is made up.
INSERT INTO signups VALUES ('ann@mail.example'), ('x@TRASH.example'), ('a/b@trash.example'),
  ('me@box7.tenminutes.example'), ('trash.example@mail.example');
SELECT * FROM disposable;
