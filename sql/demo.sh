#!/bin/sh
# Shows what a filter does on a real list: visits in every spelling are looked up under all their
# keys; how small and how fast that is against the same with an exact index, and how often it errs.
#
#   make demo                       the malicious hosts and URLs of sql/data
#   make demo URLS=path             another list: one URL or domain a line, or a hosts file
#                                   (0.0.0.0 evil.example); lines that begin with # do not count
#   make demo VISITS=number         other than a million visits
#   make demo SQLITE3=path          another sqlite3 shell
#
# Without make: sh sql/demo.sh [path]
set -eu

fail() {
    printf 'demo: %s\n' "$*" >&2
    exit 1
}

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
sqlite=${SQLITE3:-sqlite3}
list=${1:-${URLS:-}}
visits=${VISITS:-1000000}
shown=${list:-sql/data/urlhaus.txt}
list=${list:-$top/sql/data/urlhaus.txt}

[ -e "$list" ] || fail "there is no file '$list'; URLS=path names a list, one URL or domain a line"
[ ! -d "$list" ] || fail "'$list' is a folder; URLS=path names a list, one URL or domain a line"
[ -r "$list" ] || fail "the file '$list' cannot be read: no permission"
case $visits in *[!0-9]* | ?????????*) fail "VISITS must be a number below 100000000" ;; esac
command -v "$sqlite" >/dev/null ||
    fail "there is no '$sqlite'; install the sqlite3 shell (on Debian: apt install sqlite3)" \
        "or name one: SQLITE3=path"

work=$(mktemp -d)
case $work in /*) ;; *) work=$PWD/$work ;; esac
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# One entry a line, whatever ends the lines; NUL and the separator of .import (octal 037) are no
# part of one. A line of a hosts file has an address, names, and perhaps a comment: each name with a
# dot becomes an entry of its own. That separator marks names until those without a dot are out.
byte_order_mark=$(printf '\357\273\277')
mark=$(printf '\037')
LC_ALL=C tr '\r' '\n' <"$list" | LC_ALL=C tr -d '\000\037' |
    LC_ALL=C sed -e "1s/^$byte_order_mark//" -e 's/^[[:blank:]]*//' -e 's/[[:blank:]]*$//' \
        -e '/^#/d' -e '/^$/d' -e 's/^\*\.//' -e 't name' -e ':name' \
        -e 's/^[0-9][0-9]*\.[0-9.]*[[:blank:]][[:blank:]]*//' -e 't hosts' \
        -e 's/^[0-9a-fA-F]*:[0-9a-fA-F:]*\(%[^[:blank:]]*\)*[[:blank:]][[:blank:]]*//' \
        -e 't hosts' -e b \
        -e ':hosts' -e 's/[[:blank:]]*#.*//' -e "s/^/$mark/" -e "s/[[:blank:]][[:blank:]]*/\\
$mark/g" |
    LC_ALL=C sed -e "/^$mark[^.]*\$/d" -e "/^${mark}0\.0\.0\.0\$/d" -e "s/^$mark//" >"$work/list"
[ -s "$work/list" ] ||
    fail "no URL in '$list'; it should have one URL or domain a line, or be a hosts file"

cd -- "$top"
[ -e bloom.so ] || [ -e bloom.dylib ] || [ -e bloom.dll ] ||
    fail "the extension is not built yet; run make first"
run() { "$sqlite" -batch -init /dev/null :memory: "$@"; }
if ! problem=$(run '.load ./bloom' 'SELECT bloom_version()' 2>&1); then
    case $problem in
    *'unknown command'*)
        fail "this sqlite3 shell was built without extension loading; name another one:" \
            "SQLITE3=path" ;;
    *)
        fail "the extension does not load: $problem" ;;
    esac
fi

# A path between double quotes, as the commands of the sqlite3 shell read it.
import_path=$(printf '%s' "$work/list" | sed 's/[\\"]/\\&/g')

printf 'The list: %s\n' "$shown"
run <<SQL
.bail on
.load ./bloom
CREATE TABLE lines(entry TEXT NOT NULL);
.mode ascii
.separator "\037" "\n"
.import "$import_path" lines
.mode list

CREATE TABLE clock(step TEXT PRIMARY KEY, start REAL, stop REAL);

-- A visit has some seven keys, each of which may err.
INSERT INTO clock(step, start) VALUES ('build filter', julianday('now'));
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'malicious', bloom_agg(bloom_url(entry), NULL, 0.0001) FROM lines;
UPDATE clock SET stop = julianday('now') WHERE step = 'build filter';

-- The exact index gets a database of its own, so that its pages can be counted.
ATTACH ':memory:' AS exact;
INSERT INTO clock(step, start) VALUES ('build index', julianday('now'));
CREATE TABLE exact.list(key TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO exact.list
  SELECT bloom_url(entry) FROM lines WHERE bloom_url(entry) IS NOT NULL;
UPDATE clock SET stop = julianday('now') WHERE step = 'build index';

-- The entries as host and rest. A host that ends in a digit or bracket is an address.
CREATE TABLE entries(id INTEGER PRIMARY KEY, host TEXT, rest TEXT, named INTEGER);
INSERT INTO entries(host, rest, named)
  SELECT substr(key, 1, instr(key, '/') - 1), substr(key, instr(key, '/')),
         substr(key, instr(key, '/') - 1, 1) NOT GLOB '[]0-9]'
    FROM exact.list;

-- The visits. Of twenty one goes to an entry of the list, in one of ten spellings, one to
-- what looks like an entry, and the others elsewhere: value * 2654435761 modulo 2^32 is a different
-- number for each value, and names under .example belong to nobody.
CREATE TABLE visits(url TEXT NOT NULL);
INSERT INTO visits
  SELECT CASE value % 20
    WHEN 0 THEN CASE value / 20 % 10
      WHEN 0 THEN 'http://' || host || rest
      WHEN 1 THEN 'HTTP://' || upper(host) || rest
      WHEN 2 THEN 'https://' || host || ':8443' || rest
      WHEN 3 THEN host || './' || rest
      WHEN 4 THEN 'http://user:secret@' || host || '/x/./..' || rest
      WHEN 5 THEN ' http://' || host || rest || '#top'
      WHEN 6 THEN 'http://' || host || rest ||
                  CASE instr(rest, '?') WHEN 0 THEN printf('?session=%x', number) ELSE '' END
      WHEN 7 THEN 'https://' || CASE named WHEN 1 THEN printf('s%d.', number % 100) ELSE '' END ||
                  host || rest
      WHEN 8 THEN 'http://' || host || rest ||
                  CASE substr(rest, -1) WHEN '/' THEN printf('files/%x.zip', number) ELSE '' END
      ELSE 'http://' || replace(replace(host, '.', '%2e'), 'e', '%65') || rest END
    WHEN 1 THEN CASE value / 20 % 2
      WHEN 0 THEN 'http://not' || host || rest
      ELSE 'https://' || host || '.example' || rest END
    ELSE printf('%s%s%s%d.example%s/%s/%x%s',
                substr('http://   https://  HTTPS://', 1 + value % 3 * 10, 8 - (value % 3 = 0)),
                substr('www.cdn.api.', 1 + value % 3 * 4, 4),
                substr('shopnewsblogmailwiki', 1 + value % 5 * 4, 4), number % 50000,
                substr(':8080', 1, value % 2 * 5),
                substr('pagepostitemfile', 1 + value % 4 * 4, 4), number,
                substr('/photos/large.html?id=7&from=mail', 1, value % 34)) END
    FROM (SELECT value, value * 2654435761 % 4294967296 AS number FROM generate_series(1, $visits))
    JOIN entries ON entries.id = 1 + value / 20 % (SELECT count(*) FROM entries);

INSERT INTO clock(step, start) VALUES ('scan filter', julianday('now'));
CREATE TABLE hits AS
  SELECT url FROM visits
   WHERE bloom_check_url((SELECT bloom_pin(f) FROM filters WHERE name = 'malicious'), url);
UPDATE clock SET stop = julianday('now') WHERE step = 'scan filter';

INSERT INTO clock(step, start) VALUES ('verify', julianday('now'));
CREATE TABLE true_hits AS
  SELECT url FROM hits
   WHERE EXISTS (SELECT 1 FROM bloom_url_keys(hits.url) AS u JOIN exact.list USING (key));
UPDATE clock SET stop = julianday('now') WHERE step = 'verify';

INSERT INTO clock(step, start) VALUES ('scan index', julianday('now'));
CREATE TABLE exact_hits AS
  SELECT url FROM visits
   WHERE EXISTS (SELECT 1 FROM bloom_url_keys(visits.url) AS u JOIN exact.list USING (key));
UPDATE clock SET stop = julianday('now') WHERE step = 'scan index';

CREATE TABLE figures AS
  SELECT (SELECT count(*) FROM lines) AS lines, (SELECT count(*) FROM exact.list) AS keys,
         (SELECT count(*) FROM visits) AS visits, (SELECT count(*) FROM hits) AS hits,
         (SELECT count(*) FROM true_hits) AS true_hits,
         (SELECT count(*) FROM exact_hits) AS exact_hits,
         (SELECT count(*) FROM visits WHERE url IN (SELECT entry FROM lines)) AS same,
         (SELECT sum((SELECT count(*) FROM bloom_url_keys(visits.url))) FROM visits) AS visit_keys,
         length(f) AS bytes, bloom_fpr(f) AS rate FROM filters;
CREATE TABLE pages AS
  SELECT page_count * page_size AS bytes
    FROM pragma_page_count AS count JOIN pragma_page_size AS size
   WHERE count.schema = 'exact' AND size.schema = 'exact';
CREATE VIEW times AS
  SELECT step, CASE WHEN ms < 1 THEN '< 1' ELSE printf('%,d', ms) END AS ms
    FROM (SELECT step, CAST(round((stop - start) * 86400000) AS INTEGER) AS ms FROM clock);
CREATE TABLE report(title, figure, unit);
INSERT INTO report SELECT 'lines with an entry', printf('%,d', lines), 'lines' FROM figures;
INSERT INTO report SELECT 'different keys of them', printf('%,d', keys), 'keys' FROM figures;
INSERT INTO report SELECT 'the filter: bloom_agg(bloom_url(entry))', printf('%,d', bytes), 'bytes'
  FROM figures;
INSERT INTO report SELECT '  for each key', printf('%.2f', 8.0 * bytes / keys), 'bits' FROM figures;
INSERT INTO report SELECT '  false positives to expect, of a key', printf('%.4f', 100 * rate), '%'
  FROM figures;
CREATE VIEW lines_of_report AS
  SELECT printf('  %-42s %12s %s', title, figure, unit) FROM report ORDER BY rowid;
SELECT * FROM lines_of_report;
DELETE FROM report;
INSERT INTO report SELECT 'visits', printf('%,d', visits), 'visits' FROM figures;
INSERT INTO report SELECT 'keys of a visit, on average', printf('%.2f', 1.0 * visit_keys / visits),
  'keys' FROM figures;
INSERT INTO report SELECT 'spelt exactly as in the list', printf('%,d', same), 'visits'
  FROM figures;
INSERT INTO report SELECT 'probably on the list, says the filter', printf('%,d', hits), 'visits'
  FROM figures;
INSERT INTO report SELECT '  really on it, by verification', printf('%,d', true_hits), 'visits'
  FROM figures;
INSERT INTO report SELECT '  false positives', printf('%,d', hits - true_hits), 'visits'
  FROM figures;
INSERT INTO report SELECT 'on the list, but missed', printf('%,d', exact_hits - true_hits), 'visits'
  FROM figures;
INSERT INTO report SELECT 'false positives, measured',
  printf('%.4f', 100.0 * (hits - true_hits) / (visits - exact_hits)), '%' FROM figures;
.print
.print 'The visits: 1 of 20 to an entry, in ten spellings; 1 of 20 to a look-alike; rest elsewhere'
SELECT * FROM lines_of_report;
.print
.print 'Against an exact index of the keys              filter        index'
SELECT printf('  %-30s %18s %12s bytes', 'size', printf('%,d', figures.bytes),
              printf('%,d', pages.bytes)) FROM figures, pages;
SELECT printf('  %-30s %18s %12s ms', 'time to build', filter.ms, exact.ms)
  FROM times AS filter, times AS exact
 WHERE filter.step = 'build filter' AND exact.step = 'build index';
SELECT printf('  %-30s %18s %12s ms', 'time to look all visits up', filter.ms, exact.ms)
  FROM times AS filter, times AS exact
 WHERE filter.step = 'scan filter' AND exact.step = 'scan index';
SELECT printf('  %-30s %18s %12s ms', 'time to verify the hits', ms, '') FROM times
 WHERE step = 'verify';
SQL
