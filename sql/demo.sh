#!/bin/sh
# Shows what a filter does on a real list: how small and how fast it is against an exact index, and how often it errs.
#
#   make demo                       the malicious URLs of sql/data
#   make demo URLS=path             another list, one URL a line; empty lines and lines that begin with # do not count
#   make demo SQLITE3=path          another sqlite3 shell
#
# Without make: sh sql/demo.sh [path]
set -eu

fail() {
    printf 'demo: %s\n' "$1" >&2
    exit 1
}

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
sqlite=${SQLITE3:-sqlite3}
list=${1:-${URLS:-}}
shown=${list:-sql/data/urlhaus.txt}
list=${list:-$top/sql/data/urlhaus.txt}

[ -e "$list" ] || fail "there is no file '$list'; URLS=path names a list with one URL a line"
[ ! -d "$list" ] || fail "'$list' is a folder; URLS=path names a list with one URL a line"
[ -r "$list" ] || fail "the file '$list' cannot be read: no permission"
command -v "$sqlite" >/dev/null ||
    fail "there is no '$sqlite'; install the sqlite3 shell (on Debian: apt install sqlite3) or name one: SQLITE3=path"

work=$(mktemp -d)
case $work in /*) ;; *) work=$PWD/$work ;; esac
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# One URL a line, whatever ends the lines; NUL and the separator of .import (octal 037) are no part of a URL.
byte_order_mark=$(printf '\357\273\277')
LC_ALL=C tr '\r' '\n' <"$list" | LC_ALL=C tr -d '\000\037' |
    LC_ALL=C sed -e "1s/^$byte_order_mark//" -e 's/^[[:blank:]]*//' -e 's/[[:blank:]]*$//' -e '/^#/d' -e '/^$/d' \
        >"$work/list"
[ -s "$work/list" ] || fail "no URL in '$list'; it should have one URL a line"

cd -- "$top"
[ -e bloom.so ] || [ -e bloom.dylib ] || [ -e bloom.dll ] || fail "the extension is not built yet; run make first"
run() { "$sqlite" -batch -init /dev/null :memory: "$@"; }
if ! problem=$(run '.load ./bloom' 'SELECT bloom_version()' 2>&1); then
    case $problem in
    *'unknown command'*)
        fail "this sqlite3 shell was built without extension loading; name another one: SQLITE3=path" ;;
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
CREATE TABLE lines(url TEXT NOT NULL);
.mode ascii
.separator "\037" "\n"
.import "$import_path" lines
.mode list

CREATE TABLE clock(step TEXT PRIMARY KEY, start REAL, stop REAL);

INSERT INTO clock(step, start) VALUES ('build filter', julianday('now'));
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters SELECT 'malicious', bloom_agg(url) FROM lines;
UPDATE clock SET stop = julianday('now') WHERE step = 'build filter';

-- The exact index gets a database of its own, so that its pages can be counted.
ATTACH ':memory:' AS exact;
INSERT INTO clock(step, start) VALUES ('build index', julianday('now'));
CREATE TABLE exact.list(url TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT OR IGNORE INTO exact.list SELECT url FROM lines;
UPDATE clock SET stop = julianday('now') WHERE step = 'build index';

-- The visits: value * 2654435761 modulo 2^32 is a different number for each value. Names under .example belong to nobody.
CREATE TABLE visits(url TEXT NOT NULL);
INSERT INTO visits
  SELECT printf('%s%d.example/%s/%x', substr('shopnewsblogmailwiki', 1 + value % 5 * 4, 4), number % 50000,
                substr('pagepostitemfile', 1 + value % 4 * 4, 4), number)
    FROM (SELECT value, value * 2654435761 % 4294967296 AS number FROM generate_series(1, 1000000));
INSERT INTO visits SELECT url FROM exact.list;

INSERT INTO clock(step, start) VALUES ('scan filter', julianday('now'));
CREATE TABLE hits AS
  SELECT url FROM visits WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'malicious'), url);
UPDATE clock SET stop = julianday('now') WHERE step = 'scan filter';

INSERT INTO clock(step, start) VALUES ('scan index', julianday('now'));
CREATE TABLE exact_hits AS SELECT url FROM visits WHERE url IN (SELECT url FROM exact.list);
UPDATE clock SET stop = julianday('now') WHERE step = 'scan index';

CREATE TABLE figures AS
  SELECT (SELECT count(*) FROM lines) AS lines, (SELECT count(*) FROM exact.list) AS urls,
         (SELECT count(*) FROM visits) AS visits, (SELECT count(*) FROM hits) AS hits,
         (SELECT count(*) FROM hits WHERE url IN (SELECT url FROM exact.list)) AS true_hits,
         (SELECT count(*) FROM exact_hits) AS exact_hits,
         length(f) AS bytes, bloom_info(f) AS info FROM filters;
CREATE TABLE pages AS SELECT page_count * page_size AS bytes FROM
  pragma_page_count AS count JOIN pragma_page_size AS size WHERE count.schema = 'exact' AND size.schema = 'exact';
CREATE VIEW times AS
  SELECT step, CASE WHEN ms < 1 THEN '< 1' ELSE printf('%,d', ms) END AS ms
    FROM (SELECT step, CAST(round((stop - start) * 86400000) AS INTEGER) AS ms FROM clock);

SELECT printf('  %-38s %12s lines', 'lines that hold a URL', printf('%,d', lines)) FROM figures;
SELECT printf('  %-38s %12s URLs', 'different ones', printf('%,d', urls)) FROM figures;
.print
.print The filter: bloom_agg(url)
SELECT printf('  %-38s %12s bytes', 'size', printf('%,d', bytes)) FROM figures;
SELECT printf('  %-38s %12.2f bits', 'for each URL', 8.0 * bytes / urls) FROM figures;
SELECT printf('  %-38s %12d hashes', 'computed for each URL', json_extract(info, '\$.hashes')) FROM figures;
SELECT printf('  %-38s %12.3f %%', 'false positives to expect', 100 * json_extract(info, '\$.fpr')) FROM figures;
.print
.print The visits: 1,000,000 harmless ones, generated, and every URL of the list
SELECT printf('  %-38s %12s visits', 'checked', printf('%,d', visits)) FROM figures;
SELECT printf('  %-38s %12s hits', 'probably on the list, says the filter', printf('%,d', hits)) FROM figures;
SELECT printf('  %-38s %12s hits', '  really on it, by verification', printf('%,d', true_hits)) FROM figures;
SELECT printf('  %-38s %12s hits', '  false positives', printf('%,d', hits - true_hits)) FROM figures;
SELECT printf('  %-38s %12s visits', 'on the list, but missed', printf('%,d', exact_hits - true_hits)) FROM figures;
SELECT printf('  %-38s %12.3f %%', 'false positives, measured', 100.0 * (hits - true_hits) / (visits - exact_hits))
  FROM figures;
.print
.print 'Against an exact index of the list           filter        index'
SELECT printf('  %-30s %18s %12s bytes', 'size', printf('%,d', figures.bytes), printf('%,d', pages.bytes))
  FROM figures, pages;
SELECT printf('  %-30s %18s %12s ms', 'time to build', filter.ms, exact.ms)
  FROM times AS filter, times AS exact WHERE filter.step = 'build filter' AND exact.step = 'build index';
SELECT printf('  %-30s %18s %12s ms', 'time to check all visits', filter.ms, exact.ms)
  FROM times AS filter, times AS exact WHERE filter.step = 'scan filter' AND exact.step = 'scan index';
SQL
