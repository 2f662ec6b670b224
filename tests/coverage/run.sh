#!/bin/sh
# Measures which lines and branches of ext/ the tests reach: builds everything with gcc --coverage
# in build/coverage, runs the suites against that build, and lets gcovr judge: it passes when 99.5 %
# of the lines and 98.7 % of the branches were reached. It needs gcovr, gcc, and what `make test`
# does.
set -u
cd "$(dirname "$0")/../.." || exit 1
if ! command -v gcovr >/dev/null; then
    echo "gcovr is needed: apt-get install gcovr"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
: "${CC:=gcc}" "${PYTHON:=python3}"
top=$PWD
build=build/coverage

# In a copy of the tree, since the tests load the library that lies at its top.
rm -rf "$build"
mkdir -p "$build/build"
cp -R ext tests sql Makefile "$build" || exit 1
ln -s "$top/build/venv" "$build/build/venv"
cd "$build" || exit 1

# Without optimisation a branch of the program is a branch of the source. The counts of all builds
# are added: loaded, linked in, and with each limit at its smallest.
export MAKE="make CC='$CC' SANITIZE= LINKED_SANITIZERS= LDFLAGS= \
    CFLAGS='--coverage -fprofile-update=atomic -O0 -g'"
set --
for source in tests/library/*_test.c tests/faults/*_test.c; do
    name=$(basename "$source" .c)
    # Every eighth fault, and one at each place, which reaches each line that reports a failure.
    set -- "$@" "$name=EVERY=8 build/tests/$name"
done
# What only newer releases of SQLite call (xIntegrity from 3.44 on) takes one. plain_test.py reaches
# how plain lines and URLs are read; here it compares the library with itself.
scripts="tests/runner/sqllogictest.py --load ./bloom.so tests/sql"
newest="PYTHON=$PYTHON sh tests/runner/newest.sh"
"$PYTHON" tests/runner/run.py --build bloom.so "$@" \
    "memory_test by place=PLACES=1 build/tests/memory_test" \
    "refusal_test by place=PLACES=1 build/tests/refusal_test" \
    "simulator=STEPS=10000 build/tests/simulator" \
    "simulator with small limits=STEPS=10000 build/small/tests/simulator" \
    "sequences=RARE=1 SORTS=plain STARTS=open KINDS=memory build/tests/sequences_test" \
    "threads=build/tests/threads_test ." \
    "scripts=$PYTHON $scripts" "scripts on the newest SQLite=$newest $scripts" \
    "filter tables=$PYTHON tests/tables/table_test.py" \
    "filter tables on the newest SQLite=$newest tests/tables/table_test.py" \
    "plain URLs=$PYTHON tests/random/plain_test.py $PWD/bloom.so" \
    "formats by their pages=$PYTHON tests/documentation/format_test.py" \
    "foreign formats=$PYTHON tests/exchange/foreign_test.py" ||
    { echo "a suite failed: what it reaches tells nothing"; echo "0 passed, 1 failed"; exit 1; }

# Kernels are left out, because the processor decides which of them can run.
gcovr --root . --filter 'ext/' --exclude '.*_kernel_x86[.]c' --exclude '.*/processor_x86[.]h' \
    --print-summary --fail-under-line 99.5 --fail-under-branch 98.7 --html-details index.html \
    >gcovr.log 2>&1 && passed=1 || passed=0
grep -E '^(lines|functions|branches|failed)' gcovr.log || cat gcovr.log
echo "Each line is in $build/index.html"
echo "$passed passed, $((1 - passed)) failed"
[ "$passed" -eq 1 ]
