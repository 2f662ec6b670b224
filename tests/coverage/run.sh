#!/bin/sh
# Measures which lines and branches of ext/ the tests reach: runs the suites on build/coverage, and
# lets gcovr judge: it passes when 99.6 % of the lines and 98.7 % of the branches were reached. It
# needs gcovr, gcc, and what `make test` does.
set -u
cd "$(dirname "$0")/../.." || exit 1
if ! command -v gcovr >/dev/null; then
    echo "gcovr is needed: apt-get install gcovr"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
: "${CC:=gcc}" "${PYTHON:=python3}"
build=build/coverage
find $build -name '*.gcda' -exec rm {} + 2>/dev/null
export MAKE="make CC='$CC'"

# Without optimisation a branch of the program is a branch of the source. The counts of all runs are
# added: with the limits that users get, and with each at its smallest.
set --
for source in tests/library/*_test.c tests/faults/*_test.c; do
    name=$(basename "$source" .c)
    # One fault at each place, which reaches each line that reports a failure.
    set -- "$@" "$name=PLACES=1 $build/tests/$name"
done
# What only newer releases of SQLite call (xIntegrity from 3.44 on) takes one. plain_test.py reaches
# how plain lines and URLs are read; here it compares the library with itself.
library=$build/bloom.so
here="EXTENSION=$library"
scripts="tests/runner/sqllogictest.py --load $library tests/sql"
newest="PYTHON=$PYTHON sh tests/runner/newest.sh"
"$PYTHON" tests/runner/run.py --build $library "$@" \
    "world=STATEMENTS=1 $build/tests/world" \
    "random world=ROUNDS=1000 $build/tests/world random" \
    "interface_test with small limits=BLOOM_LIMITS=smallest $build/tests/interface_test" \
    "random world with small limits=BLOOM_LIMITS=smallest ROUNDS=1000 $build/tests/world random" \
    "world with faults=FAULTS=16 STATEMENTS=1 STARTS=waiting KINDS=wal $build/tests/world" \
    "threads=$build/tests/threads_test $build $library" \
    "scripts=[$library bloom.so] $PYTHON $scripts" "scripts on the newest SQLite=$newest $scripts" \
    "filter tables=$here $PYTHON tests/tables/table_test.py" \
    "filter tables on the newest SQLite=$here $newest tests/tables/table_test.py" \
    "plain URLs=$here $PYTHON tests/random/plain_test.py $PWD/$library" \
    "URLs and their parsers=$here $PYTHON tests/documentation/urls_test.py Parsers Page" \
    "formats by their pages=$here $PYTHON tests/documentation/format_test.py" \
    "foreign formats=$here $PYTHON tests/exchange/foreign_test.py" ||
    { echo "a suite failed: what it reaches tells nothing"; echo "0 passed, 1 failed"; exit 1; }

# Kernels are left out, because the processor decides which of them can run.
gcovr --root . --filter 'ext/' --exclude '.*_kernel_x86[.]c' --exclude '.*/processor_x86[.]h' \
    --print-summary --fail-under-line 99.6 --fail-under-branch 98.7 \
    --html-details $build/index.html $build >$build/gcovr.log 2>&1 && passed=1 || passed=0
grep -E '^(lines|functions|branches|failed)' $build/gcovr.log || cat $build/gcovr.log
echo "Each line is in $build/index.html"
echo "$passed passed, $((1 - passed)) failed"
[ "$passed" -eq 1 ]
