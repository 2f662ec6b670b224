#!/bin/sh
# Measures which lines and branches of ext/ the tests reach: builds everything with gcc --coverage in build/coverage, runs
# the suites against that build, and reports each file (see report.py). What need not be reached is in exceptions.txt.
# The exceptions name branches as gcc 12 counts them. Ends in "N passed, N failed", one for each file of ext/ with code. It needs what `make test` does, gcc and gcovr.
# shellcheck disable=SC2086 # $compile is several words
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v gcovr >/dev/null || { echo "gcovr is needed: apt-get install gcovr"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
CC=${COVERAGE_CC:-gcc}
PYTHON=${PYTHON:-python3}
top=$PWD
build=build/coverage

# In a copy of the tree, since the tests load the library that lies at its top.
rm -rf "$build"
mkdir -p "$build/floor" "$build/loaded" "$build/linked" "$build/bin"
cp -R ext tests "$build" || exit 1
cd "$build" || exit 1

# Without optimisation a branch of the program is a branch of the source.
compile="$CC --coverage -O0 -g -std=c11 -Iext -ffp-contract=off -fPIC"
for source in ext/*.c ext/*/*.c; do
    name=$(echo "${source%.c}" | tr / _)
    case $source in
    ext/filter/* | ext/exchange/*) $compile -c -o "floor/$name.o" "$source" || exit 1 ;;
    *)
        $compile -fvisibility=hidden -c -o "loaded/$name.o" "$source" || exit 1
        $compile -DSQLITE_CORE -c -o "linked/$name.o" "$source" || exit 1
        ;;
    esac
done
$CC --coverage -shared -o bloom.so floor/*.o loaded/*.o -lm || exit 1

set --
for source in tests/library/*_test.c; do
    name=$(basename "$source" .c)
    [ "$name" = rate_test ] && continue # measures rates for minutes, and reaches nothing that the others do not
    $compile -o "bin/$name" "$source" floor/*.o -lcmocka -lmurmurhash -lm || exit 1
    set -- "$@" "$name=bin/$name"
done
for source in tests/faults/*_test.c; do
    name=$(basename "$source" .c)
    $compile -D_POSIX_C_SOURCE=200809L -DSQLITE_CORE -o "bin/$name" "$source" floor/*.o linked/*.o -lcmocka -lsqlite3 -lm || exit 1
    [ "$name" != interrupt_test ] || name="$name moments" # leaves out what it measures, for which this build is too slow
    set -- "$@" "$name=bin/$name"
done
# What only newer releases of SQLite call (xIntegrity from 3.44 on) takes one: PyPI's apsw brings it along.
newest=$top/build/venv/bin/python
if [ -x "$newest" ] || { "$PYTHON" -m venv "$top/build/venv" && "$top/build/venv/bin/pip" install -q apsw; }; then
    set -- "$@" "scripts on the newest SQLite=$newest tests/runner/sqllogictest.py --load ./bloom.so tests/sql"
fi

"$PYTHON" tests/runner/run.py "$@" \
    "scripts=$PYTHON tests/runner/sqllogictest.py --load ./bloom.so tests/sql" \
    "filter tables=$PYTHON tests/tables/table_test.py" \
    "exchange=$PYTHON tests/exchange/exchange_test.py" || { echo "a suite failed: what it reaches tells nothing"; echo "0 passed, 1 failed"; exit 1; }

gcovr --root . --filter 'ext/' --gcov-executable "${GCOV:-gcov}" --json coverage.json >gcovr.log 2>&1 || { cat gcovr.log; exit 1; }
cd "$top" && exec "$PYTHON" tests/coverage/report.py "$build/coverage.json" ext tests/coverage/exceptions.txt
