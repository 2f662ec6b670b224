#!/bin/sh
# Builds and runs the benchmarks, from the top folder, and writes their results to
# tests/bench/results, with a page on top. `make bench` calls it. What is measured: the comments of
# floor.c, sql_bench.py, others.py, python_bench.py, scrapy_bench.py, table.c, pages.py and
# generations.py.
#
#     sh tests/bench/run.sh [floor] [sql] [others] [python] [scrapy] [table] [pages] [generations]
#                           [figures] [charts] [billion]
#
# Nothing named: all but billion, which takes ten minutes, 4 GB of memory and 4 GB on the disk.
#
# PEERS=FOLDER  in floor, libfilter's filter beside ours, from its source in FOLDER/libfilter, as
#               `git clone` makes it
#
# What is not there is skipped and says so. CC, CFLAGS, PYTHON, LIBRARY (bloom.so) and OBJECTS (what
# it is linked from) come from the Makefile.
set -eu

# The system's Python, which sees the modules of the system's packages; another one in front of it
# may not.
[ -n "${PYTHON:-}" ] || [ ! -x /usr/bin/python3 ] || PYTHON=/usr/bin/python3
: "${CC:=cc}" "${CFLAGS:=-O2 -g}" "${PYTHON:=python3}" "${LIBRARY:=bloom.so}"
# sqlite-bloom-filter.o lies there, too, once a unit test was built for speed.
: "${OBJECTS:=$(find build/loadable -name '*.o' ! -name sqlite-bloom-filter.o)}"
export CC CFLAGS
BENCH=tests/bench
RESULTS=$BENCH/results
BUILD=build/bench
PEERS_OF_PYPI="rbloom fastbloom-rs adblock duckdb lmdb"
WARNINGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow"
COMPILE="$CC $CFLAGS $WARNINGS -std=c11 -fPIC -ffp-contract=off"
[ $# -gt 0 ] || set -- floor sql others python scrapy table pages generations figures charts

# need COMMAND PACKAGE: ends with the name of the package when the command fails.
need() {
    eval "$1" >/dev/null 2>&1 ||
        { echo "make bench needs more packages: sudo apt-get install $2" >&2; exit 1; }
}

# begin_page TITLE SOURCE [COMMAND]: how a page of results begins.
begin_page() {
    printf '# %s\n\nMade by `%s`.\n' "$1" "${3:-make bench}"
    printf 'What was measured and how: the comment of `tests/bench/%s`.\n\n' "$2"
    (cd $BENCH && "$PYTHON" -c 'from report import machine_state
print("\n".join(machine_state()))')
}

# The filters that floor compares with are compiled, as their own builds do, for this processor.
build_floor() {
    need "echo '#include <bloom.h>' | $CC -E -" libbloom-dev
    set --
    libfilter="${PEERS:-PEERS}/libfilter/c"
    if [ -f "$libfilter/include/filter/block.h" ]; then
        for source in block memory util; do
            $CC $CFLAGS -std=gnu11 -march=native -I"$libfilter/include" \
                -c -o $BUILD/libfilter_$source.o "$libfilter/lib/$source.c"
            set -- "$@" $BUILD/libfilter_$source.o
        done
        set -- "$@" -DFLOOR_LIBFILTER -isystem "$libfilter/include"
    else
        echo "skipped: libfilter's, for want of $libfilter/include" >&2
    fi
    $COMPILE -march=native -Iext -o $BUILD/floor $BENCH/floor.c "$@" $OBJECTS -lbloom -lm
}

need "$PYTHON -c 'import apsw'" python3-apsw
mkdir -p $BUILD $RESULTS

# One core, where that can be asked for: a program that is moved to another finds its caches cold.
ALONE=
if command -v taskset >/dev/null && taskset -c 1 true 2>/dev/null; then
    ALONE="taskset -c 1"
fi

for part; do
    echo "== $part"
    case $part in
    floor)
        build_floor
        $ALONE $BUILD/floor 1e5 1e6 1e7 1e8 >$BUILD/floor.csv
        "$PYTHON" $BENCH/report.py $BUILD/floor.csv "$LIBRARY" $RESULTS
        ;;
    others)
        need "$PYTHON -m venv --system-site-packages $BUILD/venv" python3-venv
        $BUILD/venv/bin/pip install -q $PEERS_OF_PYPI
        {
            begin_page 'Filters beside what people use without them' others.py
            $ALONE $BUILD/venv/bin/python $BENCH/others.py "$LIBRARY" $BUILD $PEERS_OF_PYPI
        } | tee $RESULTS/others.md
        ;;
    python)
        need "$PYTHON -m venv --system-site-packages $BUILD/venv" python3-venv
        $BUILD/venv/bin/pip install -q $PEERS_OF_PYPI numpy polars
        # As pip compiles it: the filter library is one file, of the folders without SQLite.
        grep '^#include "' ext/sqlite-bloom.c | grep -v '"\(sqlite/\|table/\|extension\)' \
            >$BUILD/filters.c
        echo '#include "sqlite-bloom-filter.c"' >>$BUILD/filters.c
        $COMPILE -shared -fvisibility=hidden -Iext -Iext/packages/cpython \
            -o $BUILD/_filter.abi3.so ext/packages/python/*.c $BUILD/filters.c -lm
        {
            begin_page 'Filters of Python programs' python_bench.py
            $ALONE $BUILD/venv/bin/python $BENCH/python_bench.py "$LIBRARY" \
                $BUILD/_filter.abi3.so $BUILD rbloom fastbloom-rs lmdb numpy polars
        } | tee $RESULTS/python.md
        ;;
    scrapy)
        need "$PYTHON -m venv --system-site-packages $BUILD/venv" python3-venv
        $BUILD/venv/bin/pip install -q scrapy
        mkdir -p $BUILD/package
        cp -r ext/packages/python/sqlite_bloom $BUILD/package
        cp "$LIBRARY" $BUILD/package/sqlite_bloom
        {
            begin_page 'Scrapy with its own dupefilter and queue, and with ours' scrapy_bench.py
            PYTHONPATH=$BUILD/package $ALONE $BUILD/venv/bin/python $BENCH/scrapy_bench.py
        } | tee $RESULTS/scrapy.md
        ;;
    sql)
        $ALONE "$PYTHON" $BENCH/sql_bench.py "$LIBRARY" $BUILD $RESULTS
        ;;
    table)
        $COMPILE -D_POSIX_C_SOURCE=200809L -o $BUILD/table $BENCH/table.c -lsqlite3
        {
            begin_page "Filter tables" table.c
            cat <<'LEGEND'

`alone`: one check in a transaction of its own. `check`: the same inside one read transaction.
`join`: checks of one statement for many keys. `insert` and `delete`: one key a statement inside a
transaction. `commit`: an INSERT in a transaction of its own.

LEGEND
            $ALONE $BUILD/table "./$LIBRARY" $BUILD 1e8
        } | tee $RESULTS/table.md
        ;;
    pages)
        {
            begin_page "Small commits and the size of pages" pages.py
            echo
            $ALONE "$PYTHON" $BENCH/pages.py $BUILD
        } | tee $RESULTS/pages.md
        ;;
    generations)
        {
            begin_page "Generations" generations.py
            echo
            $ALONE "$PYTHON" $BENCH/generations.py "$LIBRARY" $BUILD 1e7
        } | tee $RESULTS/generations.md
        ;;
    billion)
        need 'command time true' time
        rm -f $BUILD/billion.db*
        {
            begin_page '10^9 keys in one filter table' billion.sql \
                'sh tests/bench/run.sh billion'
            printf '\n```sql\n'
            cat $BENCH/billion.sql
            printf '```\n```text\n'
            command time -f '%e s, %U + %S s of a processor, at most %M kB of memory' \
                sqlite3 $BUILD/billion.db <$BENCH/billion.sql 2>&1
            printf 'a file of %s bytes\n```\n' "$(wc -c <$BUILD/billion.db)"
        } | tee $RESULTS/billion.md
        ;;
    figures)
        "$PYTHON" $BENCH/figures.py $RESULTS
        ;;
    charts)
        need "command -v gnuplot" gnuplot-nox
        (cd $RESULTS && gnuplot ../charts.gnuplot)
        ;;
    *)
        echo "run.sh: no such part: $part" >&2
        exit 2
        ;;
    esac
done
