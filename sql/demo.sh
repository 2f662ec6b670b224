#!/bin/sh
# Shows what a filter does on a real list. A million visits in every spelling are checked, and the
# report compares size and time with those of an exact index, and counts false positives. The visits
# come from visits.awk, which knows nothing of the extension and records which of them go to an
# entry of the list.
#
#   make demo                       the malicious hosts and URLs of sql/data
#   make demo URLS=path             another list in any form that bloom_list reads: hosts files,
#                                   Adblock, CSV, dnsmasq, or one URL or domain a line
#   make demo VISITS=number         another number of visits
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

[ -e "$list" ] || fail "there is no file '$list'. Name a list with URLS=path"
[ ! -d "$list" ] || fail "'$list' is a folder. Name a list with URLS=path"
[ -r "$list" ] || fail "there is no permission to read the file '$list'. Change it with chmod"
case $visits in *[!0-9]* | ?????????*) fail "VISITS must be a number below 100000000" ;; esac
command -v "$sqlite" >/dev/null ||
    fail "there is no '$sqlite'. Install the sqlite3 shell (on Debian: apt install sqlite3)" \
        "or name one with SQLITE3=path"

work=$(mktemp -d)
case $work in /*) ;; *) work=$PWD/$work ;; esac
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

case $list in /*) ;; *) list=$PWD/$list ;; esac
cd -- "$top"
[ -e bloom.so ] || [ -e bloom.dylib ] || [ -e bloom.dll ] ||
    fail "the extension is not built yet. Run make first"
run() { "$sqlite" -batch -init /dev/null :memory: "$@"; }
if ! problem=$(run '.load ./bloom' 'SELECT bloom_version()' 2>&1); then
    case $problem in
    *'unknown command'*)
        fail "this sqlite3 shell was built without the loading of extensions. Name another one" \
            "with SQLITE3=path" ;;
    *)
        fail "the extension does not load: $problem" ;;
    esac
fi

# A path between single quotes, as SQL reads it, and visits that a path cannot spoil.
quoted=$(printf '%s' "$list" | sed "s/'/''/g")
count="SELECT count(key) FROM bloom_list(readfile('$quoted'))"
if ! entries=$(run '.load ./bloom' "$count" 2>&1); then
    fail "'$list' cannot be read: bloom_list: ${entries#*bloom_list: }"
fi
if [ "$entries" -eq 0 ]; then
    why=$(run '.load ./bloom' "SELECT ' (' || count(*) || ' x ' || note || ')'
        FROM bloom_list(readfile('$quoted')) GROUP BY note ORDER BY count(*) DESC LIMIT 1")
    fail "'$list' has no entry$why. It should have URLs or domains, one on each line or in any" \
        "form of a list"
fi
# Lines end with LF, CRLF or CR.
lines=$(LC_ALL=C awk '{ sub(/\r$/, ""); n += 1 + gsub(/\r/, "") } END { print n }' "$list")
LC_ALL=C tr '\r' '\n' <"$list" |
    LC_ALL=C awk -f sql/visits.awk -v "harmless=$((visits - visits / 20))" \
        -v "listed=$((visits / 20))" >"$work/visits"
[ "$visits" -lt 20 ] || grep -q '^1' "$work/visits" ||
    fail "visits.awk could not make visits, because it knows no form of the entries in '$list'"
import_path=$(printf '%s' "$work/visits" | sed 's/[\\"]/\\&/g')

printf 'The list: %s\n' "$shown"
run <<SQL
.bail on
.load ./bloom
CREATE TABLE clock(step TEXT PRIMARY KEY, start REAL, stop REAL);

INSERT INTO clock(step, start) VALUES ('read list', julianday('now'));
-- A rule that blocks only on some pages has no key here, because its host is harmless elsewhere.
CREATE TABLE lines AS
  SELECT line, entry, note,
         CASE WHEN note IS NOT 'Adblock rule with a condition' THEN key END AS key
    FROM bloom_list(readfile('$quoted'));
UPDATE clock SET stop = julianday('now') WHERE step = 'read list';

-- A visit has about five keys, and each of them may be found by mistake. Many publishers put paths
-- into lower case, so case does not count.
INSERT INTO clock(step, start) VALUES ('build filter', julianday('now'));
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'malicious', bloom_agg(key, NULL, 0.0001, 'key=url_nocase')
    FROM lines WHERE key NOT NULL;
UPDATE clock SET stop = julianday('now') WHERE step = 'build filter';

-- The exact index is in a database of its own, so that its pages can be counted.
ATTACH ':memory:' AS exact;
INSERT INTO clock(step, start) VALUES ('build index', julianday('now'));
CREATE TABLE exact.list(key TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;
INSERT OR IGNORE INTO exact.list SELECT key FROM lines WHERE key NOT NULL;
UPDATE clock SET stop = julianday('now') WHERE step = 'build index';

CREATE TABLE visits(listed INTEGER, url TEXT);
.mode ascii
.separator "\037" "\n"
.import "$import_path" visits
.mode list

INSERT INTO clock(step, start) VALUES ('scan filter', julianday('now'));
CREATE TABLE hits AS
  SELECT listed, url FROM visits
   WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'malicious'), url);
UPDATE clock SET stop = julianday('now') WHERE step = 'scan filter';

INSERT INTO clock(step, start) VALUES ('verify', julianday('now'));
CREATE TABLE true_hits AS
  SELECT listed, url FROM hits
   WHERE EXISTS (SELECT 1 FROM bloom_url_keys(hits.url) AS u JOIN exact.list AS l ON l.key = u.key);
UPDATE clock SET stop = julianday('now') WHERE step = 'verify';

INSERT INTO clock(step, start) VALUES ('scan index', julianday('now'));
CREATE TABLE exact_hits AS
  SELECT listed, url FROM visits
   WHERE EXISTS (SELECT 1 FROM bloom_url_keys(visits.url) AS u JOIN exact.list AS l
                   ON l.key = u.key);
UPDATE clock SET stop = julianday('now') WHERE step = 'scan index';

CREATE TABLE figures AS
  SELECT (SELECT count(*) FROM lines) AS lines, (SELECT count(*) FROM exact.list) AS keys,
         (SELECT count(*) FROM visits) AS visits, (SELECT count(*) FROM hits) AS hits,
         (SELECT count(*) FROM true_hits) AS true_hits,
         (SELECT count(*) FROM exact_hits) AS exact_hits,
         (SELECT sum(listed = 1) FROM visits) AS listed,
         (SELECT sum(listed = 1) FROM hits) AS listed_hits,
         (SELECT sum(listed = 1) FROM exact_hits) AS listed_exact_hits,
         (SELECT sum(listed = 1) FROM visits
           WHERE url IN (SELECT entry FROM lines)) AS same,
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
INSERT INTO report
  SELECT coalesce(note, 'a URL or name'), printf('%,d', count(*)), 'lines' FROM lines
   GROUP BY note ORDER BY note;
INSERT INTO report
  SELECT 'no entry: a remark, or blank', printf('%,d', $lines - count(DISTINCT line)), 'lines'
    FROM lines;
INSERT INTO report SELECT 'distinct keys', printf('%,d', keys), 'keys' FROM figures;
INSERT INTO report SELECT 'size of the filter', printf('%,d', bytes), 'bytes' FROM figures;
INSERT INTO report SELECT '  for each key', printf('%.2f', 8.0 * bytes / keys), 'bits' FROM figures;
INSERT INTO report SELECT '  expected false positives, for one key', printf('%.4f', 100 * rate), '%'
  FROM figures;
CREATE VIEW lines_of_report AS
  SELECT printf('  %-42s %12s %s', title, figure, unit) FROM report ORDER BY rowid;
SELECT * FROM lines_of_report;
DELETE FROM report;
INSERT INTO report SELECT 'visits', printf('%,d', visits), 'visits' FROM figures;
INSERT INTO report SELECT 'keys of a visit, on average', printf('%.2f', 1.0 * visit_keys / visits),
  'keys' FROM figures;
INSERT INTO report SELECT 'visits to an entry of the list', printf('%,d', listed), 'visits'
  FROM figures;
INSERT INTO report SELECT '  spelt exactly as in the list', printf('%,d', same), 'visits'
  FROM figures;
INSERT INTO report SELECT '  found by the filter', printf('%,d', listed_hits), 'visits'
  FROM figures;
INSERT INTO report SELECT '  missed by the filter', printf('%,d', listed_exact_hits - listed_hits),
  'visits' FROM figures;
-- visits.awk reads lines in a simpler way than bloom_list.
INSERT INTO report
  SELECT '  to lines that bloom_list reads otherwise', printf('%,d', listed - listed_exact_hits),
         'visits' FROM figures WHERE listed > listed_exact_hits;
INSERT INTO report SELECT 'all visits that the filter finds', printf('%,d', hits), 'visits'
  FROM figures;
INSERT INTO report SELECT '  confirmed by the exact list', printf('%,d', true_hits), 'visits'
  FROM figures;
INSERT INTO report SELECT '  false positives', printf('%,d', hits - true_hits), 'visits'
  FROM figures;
INSERT INTO report SELECT 'false positives among harmless visits',
  printf('%.4f', 100.0 * (hits - true_hits) / (visits - exact_hits)), '%' FROM figures;
.print
.print 'The visits: 1 in 20 goes to an entry, in twenty spellings, and 1 in 20 to a look-alike'
SELECT * FROM lines_of_report;
.print
.print 'Compared with an exact index of the keys        filter        index'
SELECT printf('  %-30s %18s %12s bytes', 'size', printf('%,d', figures.bytes),
              printf('%,d', pages.bytes)) FROM figures, pages;
SELECT printf('  %-30s %18s %12s ms', 'time to read the list', ms, '') FROM times
 WHERE step = 'read list';
SELECT printf('  %-30s %18s %12s ms', 'time to build', filter.ms, exact.ms)
  FROM times AS filter, times AS exact
 WHERE filter.step = 'build filter' AND exact.step = 'build index';
SELECT printf('  %-30s %18s %12s ms', 'time to check all visits', filter.ms, exact.ms)
  FROM times AS filter, times AS exact
 WHERE filter.step = 'scan filter' AND exact.step = 'scan index';
SELECT printf('  %-30s %18s %12s ms', 'time to confirm what was found', ms, '') FROM times
 WHERE step = 'verify';
SQL
printf '\nYour own list: make demo URLS=hosts.txt\n'
