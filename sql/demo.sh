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

# On a terminal one line shows what is being done now. step writes it. sql_step returns SQL that
# notes when it begins, and the command that lets the sqlite3 shell write it, which needs words with
# a blank. ms returns how long the steps that begin with some words took.
[ -t 2 ] && terminal=1 || terminal=
step() { [ -z "$terminal" ] || printf '\r\033[K%s' "$1" >&2; }
sql_step() {
    [ -z "$terminal" ] || printf '%s\n' ".shell printf ' \\r\\033[K$1' >&2"
    printf '%s' "INSERT INTO clock VALUES ('$1', julianday('now'));"
}
ms() {
    printf '%s' "(SELECT total(next.at - this.at) * 86400000 FROM clock AS this JOIN clock AS next
          ON next.rowid = this.rowid + 1 WHERE this.step LIKE '$1%')"
}

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
????????*) fail "the number of VISITS must be below 10000000" ;;
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
CREATE TABLE clock(step, at);
$(sql_step 'Reading the list')
$lists
CREATE TABLE lines AS
  SELECT name AS list, line, entry, note, key FROM lists, bloom_list(readfile(path));

-- A visit has about five keys, and each of them may be found by mistake. Many publishers put paths
-- into lower case, so case does not count.
$(sql_step 'Building the filter')
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'bad', bloom_agg(key, NULL, 0.0001, 'key=url_nocase') FROM lines WHERE key NOT NULL;
$(sql_step 'Counting the lines')
CREATE TABLE counts AS
  SELECT coalesce(note, 'a URL or name') AS what, count(*) AS lines FROM lines GROUP BY note;
INSERT INTO counts SELECT 'no entry: a remark, or blank', $(wc -l <"$work/lists") - count(*)
  FROM (SELECT DISTINCT list, line FROM lines);
$(sql_step '')
SELECT 'The list: ' || name FROM lists ORDER BY rowid;
SELECT printf('  %-42s %,12d line%s', what, lines, CASE lines WHEN 1 THEN '' ELSE 's' END)
  FROM counts ORDER BY rowid;
SELECT printf('  distinct keys                              %,12d
  size of the filter                         %,12d bytes
    for each key                             %12.2f bits
    expected false positives, for one key    %12.4f %%
', keys, length(f), 8.0 * length(f) / keys, 100 * bloom_fpr_now(f))
  FROM (SELECT count(DISTINCT key COLLATE NOCASE) AS keys FROM lines), filters;
SQL
}

# Puts the visits for which a condition holds into a table, in ten parts.
scan() { # TABLE, WORDS, CONDITION
    for part in 1 2 3 4 5 6 7 8 9 10; do
        cat <<SQL
$(sql_step "$2: part $part of 10")
INSERT INTO $1 SELECT visits.* FROM visits
 WHERE rowid > (SELECT max(rowid) FROM visits) * ($part - 1) / 10
   AND rowid <= (SELECT max(rowid) FROM visits) * $part / 10
   AND $3;
SQL
    done
}
by_filter="bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), url)"
by_index="EXISTS (SELECT 1 FROM bloom_url_keys(visits.url) AS u JOIN exact.list AS l
                   ON l.key = u.key)"

# Of the visits that the filter finds, those that an entry covers, and which: the tables hits and
# found.
check_visits() { # DATABASE, ROWS
    cat <<SQL
$(sql_step "Reading the visits")
ATTACH '$1' AS history;
CREATE TABLE visits(url TEXT, visits INTEGER, last REAL, is_listed INTEGER);
INSERT INTO visits SELECT $2;
CREATE TABLE suspects(url TEXT, visits INTEGER, last REAL, is_listed INTEGER);
$(scan suspects 'Checking the visits' "$by_filter")
$(sql_step "Looking up the suspects")
CREATE INDEX lines_key ON lines(key COLLATE NOCASE);
CREATE TABLE hits AS
  SELECT min(rowid) AS id, url, sum(visits) AS visits, max(last) AS last, is_listed
    FROM suspects GROUP BY url;
CREATE TABLE found AS
  SELECT id, list, entry, min(keys.rank) FROM hits, bloom_url_keys(hits.url) AS keys
    JOIN lines ON lines.key = keys.key COLLATE NOCASE
   GROUP BY id, list;
DELETE FROM hits WHERE id NOT IN (SELECT id FROM found);
$(sql_step '')
SQL
}

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
        ok*urls,visits)
            unit=visit by=' by Chrome or its like'
            rows="page.url, count(*), max(visit_time) / 1000000 - 11644473600, NULL
                FROM history.visits AS visit JOIN history.urls AS page ON page.id = visit.url" ;;
        ok*moz_historyvisits,moz_places)
            unit=visit by=' by Firefox'
            rows="page.url, count(*), max(visit_date) / 1000000, NULL FROM history.moz_historyvisits
                AS visit JOIN history.moz_places AS page ON page.id = visit.place_id" ;;
        ok*history_items,history_visits)
            unit=visit by=' by Safari'
            rows="page.url, count(*), max(visit_time) + 978307200, NULL FROM history.history_visits
                AS visit JOIN history.history_items AS page ON page.id = visit.history_item" ;;
        ok*)
            fail "the database '$visits' is no history of Chrome, Firefox or Safari. $hint" ;;
        *) fail "the copy of '$visits' is damaged: $found. Try again, or close the browser" ;;
        esac
        rows="$rows GROUP BY page.id"
    else
        [ "$(LC_ALL=C tr -d '\0' <"$work/history" | wc -c)" -eq "$(wc -c <"$work/history")" ] ||
            fail "'$visits' is not a text in UTF-8. Unpack it if it is compressed, and convert" \
                "UTF-16, as with iconv -f UTF-16 -t UTF-8"
        unit=line by=
        rows="CAST(text AS TEXT), 1, NULL, NULL FROM bloom_lines(readfile('$copy'))"
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
        check_visits "$copy" "$rows"
        cat <<SQL
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
copy=$(quoted "$work/visits")

{
    read_lists
    check_visits :memory: "substr(CAST(text AS TEXT), 3), 1, NULL, text GLOB '1*'
        FROM bloom_lines(readfile('$copy'))"
    cat <<SQL
$(sql_step 'Building the index')
-- The exact index is in a database of its own, so that its pages can be counted.
ATTACH ':memory:' AS exact;
CREATE TABLE exact.list(key TEXT PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;
INSERT OR IGNORE INTO exact.list SELECT key FROM lines NOT INDEXED WHERE key NOT NULL;
CREATE TABLE exact_hits(url TEXT, visits INTEGER, last REAL, is_listed INTEGER);
$(scan exact_hits 'Checking the visits by the index' "$by_index")

-- visits.awk reads lines in a simpler way than bloom_list, so what it takes for listed need not be.
$(sql_step 'Counting the visits')
CREATE TABLE figures AS
  SELECT (SELECT count(*) FROM visits) AS visits,
         (SELECT avg((SELECT count(*) FROM bloom_url_keys(visits.url))) FROM visits) AS visit_keys,
         (SELECT sum(is_listed) FROM exact_hits) AS listed,
         (SELECT total(is_listed) FROM suspects WHERE url IN (SELECT url FROM hits)) AS listed_hits,
         (SELECT count(*) FROM visits WHERE is_listed AND url IN (SELECT entry FROM lines)) AS same,
         (SELECT count(*) FROM suspects) AS suspects, (SELECT total(visits) FROM hits) AS found,
         (SELECT count(*) FROM visits) - (SELECT count(*) FROM exact_hits) AS others,
         length(f) AS bytes, count.page_count * size.page_size AS index_bytes
    FROM filters, pragma_page_count AS count, pragma_page_size AS size
   WHERE count.schema = 'exact' AND size.schema = 'exact';

-- Some visits, in letters that any terminal shows: three that were found, in different spellings,
-- and one to a look-alike.
CREATE TABLE spellings(words, pattern);
INSERT INTO spellings VALUES ('with backslashes', 'http:\\\\[a-z]*'),
  ('in capitals', 'HTTP://[A-Z]*'), ('after a user name', 'http*://*@[a-z]*'),
  ('in numbers', 'http://0x*'), ('with %2e', '*%2e*'), ('otherwise', '*');
CREATE TABLE shown AS
  SELECT words, url, list, entry
    FROM (SELECT words, min(id) AS id, url FROM spellings JOIN hits
             ON url GLOB pattern AND length(url) < 80 AND url NOT GLOB '*[^!-~]*' AND is_listed
              AND url NOT IN (SELECT entry FROM lines)
           GROUP BY spellings.rowid ORDER BY spellings.rowid LIMIT 3) JOIN found USING (id)
   GROUP BY url;
$(sql_step '')
SELECT 'Some visits that went to an entry. The list spells each of them in another way:'
 WHERE EXISTS (SELECT 1 FROM shown);
SELECT printf('  %-18s %s', words || ':', url) || char(10) ||
       printf('  %-18s %s  (%s)', '', entry, list) FROM shown ORDER BY rowid;
SELECT char(10) || 'This one did not, because www.example is on no list. The name that is on' ||
       ' one is only in its query:' || char(10) || printf('  %-18s %s', 'look-alike:', url)
  FROM visits
 WHERE NOT is_listed AND url GLOB 'https://www.example/[?]to=http://[a-z]*' AND length(url) < 80
   AND url NOT IN (SELECT url FROM exact_hits) LIMIT 1;
SELECT printf('
The visits: 1 in 20 goes to an entry, in twenty spellings, and 1 in 20 to a look-alike
  visits                                     %,12d
  keys of a visit, on average                %12.2f
  visits to an entry of the list             %,12d
    spelt exactly as in the list             %,12d
    found by the filter                      %,12d
    missed by the filter                     %,12d
  all visits that the filter finds           %,12d
    confirmed by the exact list              %,12d
    false positives                          %,12d
', visits, visit_keys, listed, same, listed_hits, listed - listed_hits, suspects, found,
              suspects - found) FROM figures;
SELECT printf('Compared with an exact index of the keys           filter        index
  size                                       %,12d %,12d bytes
  time to read the list                      %12.1f              ms
  time to build                              %12.1f %12.1f ms
  time to check all visits                   %12.1f %12.1f ms
  time to confirm what was found             %12.1f              ms
', bytes, index_bytes, $(ms 'Reading the list'), $(ms 'Building the filter'),
  $(ms 'Building the index'), $(ms 'Checking the visits:'),
  $(ms 'Checking the visits by'), $(ms 'Looking up')) FROM figures;
SELECT printf('%,d of %,d visits to an entry found, %s missed.
%,d of %,d other visits flagged by mistake, %.2f %%.
The filter is %.1f times smaller than the index, and %.1f times as fast.',
              listed_hits, listed, coalesce(nullif(listed - listed_hits, 0), 'none'),
              suspects - found, others, 100.0 * (suspects - found) / others,
              1.0 * index_bytes / bytes,
              $(ms 'Checking the visits by') / $(ms 'Checking the visits:'))
  FROM figures;
SQL
} >"$work/sql"
run <"$work/sql"
printf '\nYour own list, and the history of your browser: make demo URLS=hosts.txt VISITS=path\n'
