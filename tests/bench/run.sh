#!/bin/sh
# Builds and runs the benchmarks, from the top folder, and writes their results to
# tests/bench/results, with a page on top. `make bench` calls it. What is measured: the comments of
# floor.c, sql_bench.py, others.py, python_bench.py, node_bench.cjs, scrapy_bench.py, table.c and
# pages.py.
#
#     sh tests/bench/run.sh [floor] [sql] [others] [python] [node] [scrapy] [table] [pages]
#                           [figures] [billion]
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
: "${OBJECTS:=$(make -s V=1 objects)}"
export CC CFLAGS
BENCH=tests/bench
RESULTS=$BENCH/results
BUILD=build/bench
WARNINGS="-Wall -Wextra -Wpedantic -Wconversion -Wshadow"
COMPILE="$CC $CFLAGS $WARNINGS -std=c11 -fPIC -ffp-contract=off"
[ $# -gt 0 ] || set -- floor sql others python node scrapy table pages figures

# need COMMAND PACKAGE: ends with the name of the package when the command fails.
need() {
    eval "$1" >/dev/null 2>&1 ||
        { echo "make bench needs more packages: sudo apt-get install $2" >&2; exit 1; }
}

# install PACKAGE ...: of PyPI, and our own as pip compiles it, for $BUILD/venv/bin/python.
install() {
    need "$PYTHON -m venv --system-site-packages $BUILD/venv" python3-venv
    $BUILD/venv/bin/pip install -q "$@"
    $BUILD/venv/bin/pip install -q --force-reinstall --no-deps ./ext/packages/python
}

# On what, with what and when is measured.
machine() {
    LC_ALL=C lscpu | sed -nE 's/^ *(Model name|CPU family|Model|CPU\(s\)|L[123]d? cache): */- \1: /p'
    cpu=/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
    echo "- frequency governor: $(cat $cpu 2>/dev/null || echo not readable)"
    echo "- load average before: $(cut -d ' ' -f 1-3 /proc/loadavg)"
    echo "- huge pages: $(cat /sys/kernel/mm/transparent_hugepage/enabled)"
    sed -n 's/^MemTotal: */- memory: /p' /proc/meminfo
    echo "- system: $(uname -sm)"
    echo "- compiler: $($CC --version | head -n 1), $CFLAGS"
    echo "- date: $(date +%F)"
}

# page FILE TITLE SOURCE COMMAND ...: a page of results. The command prints what is measured.
page() {
    file=$1 title=$2 source=$3
    shift 3
    {
        printf '# %s\n\nMade by `sh tests/bench/run.sh %s`.\n' "$title" "$part"
        printf 'What was measured and how: the comment of `tests/bench/%s`.\n\n' "$source"
        machine
        "$@"
    } | tee "$RESULTS/$file"
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
    $COMPILE -Iext -c -o $BUILD/sqlite-bloom-filter.o ext/sqlite-bloom-filter.c
    $COMPILE -march=native -Iext -o $BUILD/floor $BENCH/floor.c $BUILD/sqlite-bloom-filter.o "$@" \
        $OBJECTS -lbloom -lm
}

billion() {
    printf '\n```sql\n'
    cat $BENCH/billion.sql
    printf '```\n```text\n'
    command time -f '%e s, %U + %S s of a processor, at most %M kB of memory' \
        sqlite3 $BUILD/billion.db <$BENCH/billion.sql 2>&1
    printf 'a file of %s bytes\n```\n' "$(wc -c <$BUILD/billion.db)"
}

need "$PYTHON -c 'import apsw'" python3-apsw
mkdir -p $BUILD $RESULTS

# One core, where that can be asked for: a program that is moved to another finds its caches cold.
ALONE=
if command -v taskset >/dev/null && taskset -c 1 true 2>/dev/null; then
    ALONE="taskset -c 1"
fi
IN_VENV="$ALONE $BUILD/venv/bin/python"

for part; do
    echo "== $part"
    case $part in
    floor)
        build_floor
        page floor.md 'The filter library alone' floor.c \
            $ALONE "$PYTHON" $BENCH/floor.py $BUILD/floor 1e5 1e6 1e7 1e8
        ;;
    others)
        peers="rbloom duckdb lmdb"
        install $peers
        page others.md 'Filters beside what people use without them' others.py \
            $IN_VENV $BENCH/others.py $BUILD $peers
        ;;
    python)
        peers="rbloom abloom fastbloom-rs numpy polars"
        install $peers duckdb lmdb
        page python.md 'Filters of Python programs' python_bench.py \
            $IN_VENV $BENCH/python_bench.py $BUILD $peers
        ;;
    node)
        need "command -v npm" npm
        npm install --silent --no-audit --no-fund --prefix $BUILD/node node@24 bloomfilter@1
        page node.md 'The class Filter of Node.js' node_bench.cjs \
            $ALONE $BUILD/node/node_modules/node/bin/node --no-warnings $BENCH/node_bench.cjs \
            $BUILD/node
        ;;
    scrapy)
        install scrapy
        page scrapy.md 'Scrapy with its own dupefilter and queue, and with ours' scrapy_bench.py \
            $IN_VENV $BENCH/scrapy_bench.py
        ;;
    sql)
        version=$("$PYTHON" -c 'import apsw; print(apsw.sqlitelibversion())')
        page "sql-$version.md" "The extension in SQL, SQLite $version" sql_bench.py \
            $ALONE "$PYTHON" $BENCH/sql_bench.py "$LIBRARY" $BUILD
        ;;
    table)
        $COMPILE -D_POSIX_C_SOURCE=200809L -o $BUILD/table $BENCH/table.c -lsqlite3
        page table.md 'Filter tables' table.c $ALONE $BUILD/table "./$LIBRARY" $BUILD 1e8
        ;;
    pages)
        page pages.md 'Small commits and the size of pages' pages.py \
            $ALONE "$PYTHON" $BENCH/pages.py "$LIBRARY" $BUILD
        ;;
    billion)
        need 'command time true' time
        rm -f $BUILD/billion.db*
        page billion.md '10^9 keys in one filter table' billion.sql billion
        ;;
    figures)
        "$PYTHON" $BENCH/figures.py "$LIBRARY" $RESULTS
        ;;
    *)
        echo "run.sh: no such part: $part" >&2
        exit 2
        ;;
    esac
done
