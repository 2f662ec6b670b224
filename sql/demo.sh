#!/bin/sh
# Which visits went to an entry of a list? The visits are yours, or a million made-up ones.
#
#   make demo URLS=path VISITS=path
#
# URLS is a list in any form that bloom_list reads, such as hosts files, Adblock rules, CSV, or one
# URL or domain a line. It can also be a folder of lists. Without it, sql/data/urlhaus.txt is taken.
#
# VISITS is the History of Chrome, Edge, Brave or another Chromium, the places.sqlite of Firefox,
# the History.db of Safari, or a text with a URL on each line, also /dev/stdin. Each address that an
# entry covers is printed, with the entry and the list. The browser may be running, because a copy
# of its file is read.
#
# At the end are the entries and sites with most visits.
#
# VISITS can also be a number, and is 1,000,000 by default. Then visits in every spelling are made
# up by visits.awk, which knows nothing of the extension and records which of them go to an entry.
# Some visits are shown. The report compares size and time with those of an exact index, and counts
# false positives.
#
#   make demo SQLITE3=path          another sqlite3 shell
#
# Without make: sh sql/demo.sh [list ...]
set -eu

# On a terminal one line shows what is being done now. step writes it, and sql_step returns the
# command that lets the sqlite3 shell do so, which needs words with a blank.
[ -t 2 ] && terminal=1 || terminal=
step() { [ -z "$terminal" ] || printf '\r\033[K%s' "$1" >&2; }
sql_step() { [ -z "$terminal" ] || printf '%s' ".shell printf ' \\r\\033[K$1' >&2"; }

fail() {
    step ''
    printf 'demo: %s\n' "$*" >&2
    exit 1
}

# A path that is the same from any folder, and text between single quotes as SQL reads it.
whole() {
    case $1 in
    /*) printf '%s' "$1" ;;
    '~/'*) printf '%s' "$HOME/${1#'~/'}" ;;
    *) printf '%s' "$PWD/$1" ;;
    esac
}
quoted() { printf '%s' "$1" | sed "s/'/''/g"; }

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
sqlite=${SQLITE3:-sqlite3}
visits=${VISITS:-1000000}
history=
hint='Name a history or a text file with VISITS=path, or a number of visits to make up'
case $visits in
*[!0-9]*)
    history=$(whole "$visits")
    case $visits in
    *://*)
        fail "'$visits' is an address. Download it first: curl -Lo visits.txt '$visits'. Then" \
            "VISITS=visits.txt" ;;
    esac
    if [ ! -e "$history" ]; then # no shell expands what follows VISITS=
        IFS=
        # shellcheck disable=SC2086 # a pattern
        for path in $history; do history=$path; done
        unset IFS
    fi
    if [ -d "$history" ]; then
        for name in History places.sqlite History.db; do
            [ ! -e "$history/$name" ] || hint="Take the file in it: VISITS=${visits%/}/$name"
        done
        fail "'$visits' is a folder. $hint"
    fi
    [ -e "$history" ] || fail "there is no file '$visits'. $hint"
    [ ! -f "$history" ] || [ -s "$history" ] || fail "the file '$visits' is empty. $hint"
    [ -r "$history" ] ||
        fail "there is no permission to read the file '$visits'. Change it with chmod"
    ;;
?????????*) fail "the number of VISITS must be below 100000000" ;;
esac
command -v "$sqlite" >/dev/null ||
    fail "there is no '$sqlite'. Install the sqlite3 shell (on Debian: apt install sqlite3)" \
        "or name one with SQLITE3=path"

work=$(mktemp -d 2>/dev/null) ||
    fail "there is no folder for temporary files. Name one with TMPDIR=path"
work=$(whole "$work")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

[ -e "$top/bloom.so" ] || [ -e "$top/bloom.dylib" ] || [ -e "$top/bloom.dll" ] ||
    fail "the extension is not built yet. Run make first"
run() { (cd -- "$top" && "$sqlite" -batch -init /dev/null :memory: "$@"); }
if ! problem=$(run '.load ./bloom' 'SELECT bloom_version()' 2>&1); then
    case $problem in
    *'unknown command'*)
        fail "this sqlite3 shell was built without the loading of extensions. Name another one" \
            "with SQLITE3=path" ;;
    *)
        fail "the extension does not load: $problem" ;;
    esac
fi

# The lists, with the names that the user gave them. In a text that is not a list, a few words look
# like entries, so their number is compared with what cannot be read.
lists='CREATE TABLE lists(name TEXT, path TEXT);'
add_list() {
    case $1 in
    *://*)
        fail "'$1' is an address. Download it first: curl -Lo list.txt '$1'. Then" \
            "URLS=list.txt" ;;
    esac
    list=$(whole "$1")
    [ -e "$list" ] || fail "there is no file '$1'. Name a list with URLS=path"
    [ ! -d "$list" ] || fail "'$1' is a folder. Name a list with URLS=path"
    [ -f "$list" ] || fail "'$1' is a pipe, which can be read only once. Name a file with URLS=path"
    [ -r "$list" ] || fail "there is no permission to read the file '$1'. Change it with chmod"
    step "Reading $1"
    from="FROM bloom_list(readfile('$(quoted "$list")'))"
    query="SELECT count(key), count(request_key), count(*),
        sum(note IN ('no entry: several words', 'no entry: no field is a URL',
            'no entry: a name without a dot', 'no entry: the host is not a name or address'))"
    if ! counts=$(run '.load ./bloom' "$query $from" 2>&1); then
        fail "'$1' cannot be read: bloom_list: ${counts#*bloom_list: }"
    fi
    IFS='|' read -r entries keys rows unread <<COUNTS
$counts
COUNTS
    if [ "$entries" -eq 0 ] || [ "${unread:-0}" -gt "$keys" ]; then
        why=$(run '.load ./bloom' "SELECT ' (' || count(*) || ' x ' || note || ')'
            $from GROUP BY note ORDER BY count(*) DESC LIMIT 1")
        [ "$entries" -eq 0 ] && problem="has no entry" ||
            problem="is not a list, because only $entries of $rows lines are entries"
        fail "'$1' $problem$why. It should have URLs or domains, one on each line or in any form" \
            "of a list"
    fi
    lists="$lists
INSERT INTO lists VALUES ('$(quoted "$1")', '$(quoted "$list")');"
    # Lines end with LF, CRLF or CR.
    LC_ALL=C awk '{ sub(/\r$/, ""); gsub(/\r/, "\n"); print }' <"$list" >>"$work/lists"
}

if [ $# -eq 0 ] && [ -z "${URLS:-}" ]; then
    cd -- "$top"
    set -- sql/data/urlhaus.txt
elif [ $# -eq 0 ] && [ -d "$(whole "$URLS")" ]; then
    for list in "$(whole "${URLS%/}")"/*; do
        [ ! -f "$list" ] || set -- "$@" "${URLS%/}/${list##*/}"
    done
    [ $# -gt 0 ] || fail "there is no file in the folder '$URLS'. Name a list with URLS=path"
elif [ $# -eq 0 ]; then
    set -- "$URLS"
fi
for list; do add_list "$list"; done
cd -- "$top"

# What both reports begin with: the lists, their entries and the filter.
read_lists() {
    cat <<SQL
.bail on
.load ./bloom
CREATE TABLE clock(step TEXT PRIMARY KEY, start REAL, stop REAL);
$(sql_step 'Reading the list')
$lists
INSERT INTO clock(step, start) VALUES ('read list', julianday('now'));
CREATE TABLE lines AS
  SELECT name AS list, line, entry, note, key FROM lists, bloom_list(readfile(path));
UPDATE clock SET stop = julianday('now') WHERE step = 'read list';

-- A visit has about five keys, and each of them may be found by mistake. Many publishers put paths
-- into lower case, so case does not count.
$(sql_step 'Building the filter')
INSERT INTO clock(step, start) VALUES ('build filter', julianday('now'));
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'bad', bloom_agg(key, NULL, 0.0001, 'key=url_nocase') FROM lines WHERE key NOT NULL;
UPDATE clock SET stop = julianday('now') WHERE step = 'build filter';

$(sql_step 'Counting the lines')
CREATE TABLE report(title, figure, unit);
CREATE VIEW lines_of_report AS
  SELECT printf('  %-42s %12s %s', title, figure,
                CASE figure WHEN '1' THEN rtrim(unit, 's') ELSE unit END)
    FROM report ORDER BY rowid;
INSERT INTO report
  SELECT coalesce(note, 'a URL or name'), printf('%,d', count(*)), 'lines' FROM lines
   GROUP BY note ORDER BY note;
INSERT INTO report
  SELECT 'no entry: a remark, or blank', printf('%,d', $(wc -l <"$work/lists") - count(*)), 'lines'
    FROM (SELECT DISTINCT list, line FROM lines);
$(sql_step 'Counting the keys')
CREATE TABLE keys AS SELECT count(DISTINCT key COLLATE NOCASE) AS keys FROM lines;
INSERT INTO report SELECT 'distinct keys', printf('%,d', keys), 'keys' FROM keys;
INSERT INTO report SELECT 'size of the filter', printf('%,d', length(f)), 'bytes' FROM filters;
INSERT INTO report SELECT '  for each key', printf('%.2f', 8.0 * length(f) / keys), 'bits'
  FROM filters, keys;
INSERT INTO report
  SELECT '  expected false positives, for one key', printf('%.4f', 100 * bloom_fpr_now(f)), '%'
    FROM filters;
$(sql_step '')
SELECT 'The list: ' || name FROM lists ORDER BY rowid;
SQL
}
count_lists='SELECT * FROM lines_of_report;
DELETE FROM report;
.print'

# Puts the visits for which a condition holds into a table, in ten parts.
scan() { # TABLE, COLUMNS, WORDS, CONDITION
    for part in 1 2 3 4 5 6 7 8 9 10; do
        cat <<SQL
$(sql_step "$3: part $part of 10")
INSERT INTO $1 SELECT $2 FROM visits
 WHERE rowid > (SELECT max(rowid) FROM visits) * ($part - 1) / 10
   AND rowid <= (SELECT max(rowid) FROM visits) * $part / 10
   AND $4;
SQL
    done
}
by_filter="bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), url)"
by_index="EXISTS (SELECT 1 FROM bloom_url_keys(visits.url) AS u JOIN exact.list AS l
                   ON l.key = u.key)"

# Your own visits.
if [ -n "$history" ]; then
    # A browser that is running has written some visits into a second file only. Both are copied,
    # and checked, because it may write at that moment.
    step "Copying $visits"
    for end in -wal -journal ''; do
        [ ! -e "$history$end" ] || cp -- "$history$end" "$work/history$end" ||
            fail "'$visits' cannot be copied. Copy it yourself, and name the copy"
    done
    chmod -R u+w "$work"
    step "Reading $visits"
    copy=$(quoted "$work/history")
    if [ "$(head -c 13 "$work/history" | tr -d '\0')" = 'SQLite format' ]; then
        found=$(run "ATTACH '$copy' AS history" 'PRAGMA history.quick_check(1)' "
            SELECT group_concat(name) FROM (SELECT name FROM history.sqlite_master
                WHERE type = 'table' AND name IN ('urls', 'visits', 'moz_places',
                    'moz_historyvisits', 'history_items', 'history_visits')
                ORDER BY name)" 2>&1) || true
        case $found in
        *urls,visits)
            unit=visit by=' by Chrome or its like'
            rows="page.url, count(*), max(visit_time) / 1000000 - 11644473600
                FROM history.visits AS visit JOIN history.urls AS page ON page.id = visit.url" ;;
        *moz_historyvisits,moz_places)
            unit=visit by=' by Firefox'
            rows="page.url, count(*), max(visit_date) / 1000000 FROM history.moz_historyvisits
                AS visit JOIN history.moz_places AS page ON page.id = visit.place_id" ;;
        *history_items,history_visits)
            unit=visit by=' by Safari'
            rows="page.url, count(*), max(visit_time) + 978307200 FROM history.history_visits
                AS visit JOIN history.history_items AS page ON page.id = visit.history_item" ;;
        ok*)
            fail "the database '$visits' is no history of Chrome, Firefox or Safari. $hint" ;;
        esac
        case $found in
        ok*) ;;
        *) fail "the copy of '$visits' is damaged: $found. Try again, or close the browser" ;;
        esac
        rows="$rows GROUP BY page.id"
    else
        [ "$(LC_ALL=C tr -d '\0' <"$work/history" | wc -c)" -eq "$(wc -c <"$work/history")" ] ||
            fail "'$visits' is not a text in UTF-8. Unpack it if it is compressed, and convert" \
                "UTF-16, as with iconv -f UTF-16 -t UTF-8"
        unit=line by=
        rows="CAST(text AS TEXT), 1, NULL FROM bloom_lines(readfile('$copy'))"
        problem=$(run '.load ./bloom' "SELECT sum(bad) || ' of its first ' || count(*) ||
                ' lines are not URLs, for example line ' || min(CASE WHEN bad THEN line END)
            FROM (SELECT line, bloom_url(text) IS NULL OR
                         substr(bloom_url(text), 1, instr(bloom_url(text), '/')) GLOB '*[%\",*]*'
                         AS bad
                    FROM bloom_lines(readfile('$copy')) LIMIT 1000) HAVING 2 * sum(bad) > count(*)"
            2>&1) || fail "'$visits' cannot be read: $problem"
        [ -z "$problem" ] ||
            fail "'$visits' should have a URL on each line, but $problem. For logs and tables see" \
                "sql/README.md"
        copy=:memory:
    fi
    {
        read_lists
        cat <<SQL
$count_lists
$(sql_step "Reading the visits")
ATTACH '$copy' AS history;
CREATE TABLE visits(url TEXT, visits INTEGER, last REAL);
INSERT INTO visits SELECT $rows;
CREATE TABLE suspects(url TEXT, visits INTEGER, last REAL);
$(scan suspects 'url, visits, last' 'Checking your visits' "$by_filter")
$(sql_step "Looking up the suspects")
CREATE INDEX lines_key ON lines(key COLLATE NOCASE);
CREATE TABLE hits AS
  SELECT min(rowid) AS id, url, sum(visits) AS visits, max(last) AS last FROM suspects GROUP BY url;
CREATE TABLE found AS
  SELECT id, list, entry, min(keys.rank) FROM hits, bloom_url_keys(hits.url) AS keys
    JOIN lines ON lines.key = keys.key COLLATE NOCASE
   GROUP BY id, list;
DELETE FROM hits WHERE id NOT IN (SELECT id FROM found);
$(sql_step '')
CREATE TABLE sums AS
  SELECT total(visits) AS visits, '$unit' || CASE total(visits) WHEN 1 THEN '' ELSE 's' END AS unit,
         (SELECT total(visits) FROM suspects) AS suspects, (SELECT total(visits) FROM hits) AS found
    FROM visits;
SELECT printf('The visits: %,d %s$by', visits, unit) FROM sums;
-- An address with control characters could change the terminal.
SELECT said FROM (
  SELECT last, id, '' AS list,
         '  ' || coalesce(strftime('%Y-%m-%d %H:%M  ', last, 'unixepoch', 'localtime'), '') ||
         CASE WHEN visits > 1 THEN printf('%,d visits  ', visits) ELSE '' END ||
         CASE WHEN url GLOB '*[' || char(1, 45, 31, 127, 45, 159) || ']*' THEN json_quote(url)
              ELSE url END AS said FROM hits
  UNION ALL
  SELECT last, id, list, '      ' || entry || '  (' || list || ')' FROM found JOIN hits USING (id)
) ORDER BY last, id, list;
SELECT printf('%s of %,d %s went to an entry. The filter flagged %,d, and the list confirmed %,d.',
              CASE found WHEN 0 THEN 'None' ELSE printf('%,d', found) END, visits, unit, suspects,
              found)
  FROM sums;
CREATE TABLE summary AS
  SELECT sum(visits) AS visits, count(*) AS addresses, entry, list,
         substr(bloom_url(url), 1, instr(bloom_url(url), '/') - 1) AS site
    FROM hits JOIN found USING (id) GROUP BY list, entry, site
   ORDER BY sum(visits) DESC, list, entry, site;
SELECT char(10) || 'By entry and site:' FROM summary LIMIT 1;
SELECT printf('  %,6d %-7s %s  by %s  (%s)', visits,
              '$unit' || CASE visits WHEN 1 THEN '' ELSE 's' END, site, entry, list)
  FROM summary ORDER BY rowid LIMIT 20;
SELECT printf('  and %,d more', count(*) - 20) FROM summary HAVING count(*) > 20;
SQL
    } >"$work/sql"
    run <"$work/sql"
    cat <<KEEP

To keep the filter, and to check with it later, paste this into: sqlite3 my.db
.load ./bloom
$lists
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters VALUES ('bad', (SELECT bloom_list_agg(readfile(path)) FROM lists));
SELECT bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), 'http://evil.example/');
KEEP
    exit
fi

# Visits that are made up.
step "Making $visits visits"
LC_ALL=C awk -f sql/visits.awk -v "harmless=$((visits - visits / 20))" \
    -v "listed=$((visits / 20))" -v "progress=$terminal" <"$work/lists" >"$work/visits"
[ "$visits" -lt 20 ] || grep -q '^1' "$work/visits" ||
    fail "visits.awk could not make visits, because it knows no form of the entries in '$1'"
import_path=$(printf '%s' "$work/visits" | sed 's/[\\"]/\\&/g')

{
    read_lists
    cat <<SQL
$(sql_step 'Building the index')
-- The exact index is in a database of its own, so that its pages can be counted.
ATTACH ':memory:' AS exact;
INSERT INTO clock(step, start) VALUES ('build index', julianday('now'));
CREATE TABLE exact.list(key TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;
INSERT OR IGNORE INTO exact.list SELECT key FROM lines WHERE key NOT NULL;
UPDATE clock SET stop = julianday('now') WHERE step = 'build index';

$(sql_step 'Reading the visits')
CREATE TABLE visits(listed INTEGER, url TEXT);
.mode ascii
.separator "\037" "\n"
.import "$import_path" visits
.mode list

INSERT INTO clock(step, start) VALUES ('scan filter', julianday('now'));
CREATE TABLE hits(listed INTEGER, url TEXT);
$(scan hits 'listed, url' 'Checking the visits by the filter' "$by_filter")
UPDATE clock SET stop = julianday('now') WHERE step = 'scan filter';

$(sql_step 'Looking up the suspects')
INSERT INTO clock(step, start) VALUES ('verify', julianday('now'));
CREATE TABLE true_hits AS
  SELECT listed, url FROM hits
   WHERE EXISTS (SELECT 1 FROM bloom_url_keys(hits.url) AS u JOIN exact.list AS l ON l.key = u.key);
UPDATE clock SET stop = julianday('now') WHERE step = 'verify';

INSERT INTO clock(step, start) VALUES ('scan index', julianday('now'));
CREATE TABLE exact_hits(listed INTEGER, url TEXT);
$(scan exact_hits 'listed, url' 'Checking the visits by the index' "$by_index")
UPDATE clock SET stop = julianday('now') WHERE step = 'scan index';

$(sql_step 'Counting the visits')
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
         length(f) AS bytes, bloom_fpr_now(f) AS rate FROM filters;
CREATE TABLE pages AS
  SELECT page_count * page_size AS bytes
    FROM pragma_page_count AS count JOIN pragma_page_size AS size
   WHERE count.schema = 'exact' AND size.schema = 'exact';
CREATE VIEW times AS
  SELECT step, CASE WHEN ms < 1 THEN '< 1' ELSE printf('%,d', ms) END AS ms
    FROM (SELECT step, CAST(round((stop - start) * 86400000) AS INTEGER) AS ms FROM clock);

-- Some visits, in letters that any terminal shows: three that were found, in different spellings,
-- and one to a look-alike.
CREATE TABLE spellings(words, pattern);
INSERT INTO spellings VALUES ('with backslashes', 'http:\\\\[a-z]*'),
  ('in capitals', 'HTTP://[A-Z]*'), ('after a user name', 'http*://*@[a-z]*'),
  ('in numbers', 'http://0x*'), ('with %2e', '*%2e*'), ('otherwise', '*');
CREATE INDEX lines_key ON lines(key COLLATE NOCASE);
CREATE TABLE shown AS
  SELECT words, url, list, entry, min(u.rank)
    FROM (SELECT words, min(true_hits.rowid), url FROM spellings JOIN true_hits
             ON url GLOB pattern AND length(url) < 80 AND url NOT GLOB '*[^!-~]*' AND listed = 1
              AND url NOT IN (SELECT entry FROM lines)
           GROUP BY spellings.rowid ORDER BY spellings.rowid LIMIT 3),
         bloom_url_keys(url) AS u JOIN lines ON lines.key = u.key COLLATE NOCASE
   GROUP BY url;
$(sql_step '')
.print
SELECT 'Some visits that went to an entry. The list spells each of them in another way:'
 WHERE EXISTS (SELECT 1 FROM shown);
SELECT printf('  %-18s %s', words || ':', url) || char(10) ||
       printf('  %-18s %s  (%s)', '', entry, list) FROM shown ORDER BY rowid;
SELECT char(10) || 'This one did not, because www.example is on no list. The name that is on' ||
       ' one is only in its query:' || char(10) || printf('  %-18s %s', 'look-alike:', url)
  FROM visits
 WHERE listed = 0 AND url GLOB 'https://www.example/[?]to=http://[a-z]*' AND length(url) < 80
   AND url NOT IN (SELECT url FROM exact_hits) LIMIT 1;
.print
$count_lists
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
$(sql_step '')
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
.print
SELECT printf('%,d of %,d visits to an entry found, %s missed.', listed_hits, listed_exact_hits,
              coalesce(nullif(listed_exact_hits - listed_hits, 0), 'none'))
  FROM figures;
SELECT printf('%,d of %,d other visits flagged by mistake, %.2f %%.', hits - true_hits,
              visits - exact_hits, 100.0 * (hits - true_hits) / (visits - exact_hits))
  FROM figures;
SELECT printf('The filter is %.1f times smaller than the index, and %.1f times as fast.',
              1.0 * pages.bytes / figures.bytes, index_ms / filter_ms)
  FROM figures, pages,
       (SELECT max(stop - start) AS filter_ms FROM clock WHERE step = 'scan filter'),
       (SELECT max(stop - start) AS index_ms FROM clock WHERE step = 'scan index')
 WHERE filter_ms > 0;
SQL
} >"$work/sql"
run <"$work/sql"
printf '\nYour own list, and the history of your browser: make demo URLS=hosts.txt VISITS=path\n'
