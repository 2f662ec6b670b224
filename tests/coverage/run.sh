#!/bin/sh
# Measures which lines and branches of ext/ the tests reach: builds everything with gcc --coverage
# in build/coverage, runs the suites against that build, and lets gcovr judge: it passes when 99.5 %
# of the lines and 98.7 % of the branches were reached. It needs gcovr, gcc, and what `make test`
# does.
# shellcheck disable=SC2086 # $compile and the objects are several words
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
mkdir -p "$build/bin"
cp -R ext tests sql Makefile "$build" || exit 1
cd "$build" || exit 1

# Without optimisation a branch of the program is a branch of the source. Three builds, loaded,
# linked in, and linked in with each limit at its smallest; the counts of all are added.
flags="--coverage -fprofile-update=atomic -O0 -g"
objects() { # objects VARIANT FLAGS: builds them and prints where
    make -s -j"$(nproc)" CC="$CC" CFLAGS="$flags" objects VARIANT="$1" \
        VARIANT_FLAGS="$2" >&2 || exit 1
    find "build/$1" -name '*.o' | sort
}
loaded=$(objects coverage_loaded "-fPIC -fvisibility=hidden") || exit 1
linked=$(objects coverage_linked "-DSQLITE_CORE") || exit 1
small=$(objects coverage_small "-DSQLITE_CORE \$\$(call limits_of,1)") || exit 1
library=$(echo "$loaded" | grep -vE '/(sqlite|table)/|/extension\.o$')
$CC --coverage -shared -o bloom.so $loaded -lm || exit 1

compile="$CC $flags -std=c11 -Iext -ffp-contract=off"
set --
for source in tests/library/*_test.c tests/faults/*_test.c; do
    name=$(basename "$source" .c)
    case $source in
    */rate_test.c) continue ;; # measures for minutes, and reaches nothing of its own
    tests/library/*) echo "$compile -o bin/$name $source" $library "-lcmocka -lmurmurhash -lm" ;;
    *) echo "$compile -D_XOPEN_SOURCE=700 -DSQLITE_CORE -o bin/$name $source" $linked \
        "-lcmocka -lsqlite3 -lpthread -lm" ;;
    esac
    # Every eighth fault, and one at each place, which reaches each line that reports a failure.
    set -- "$@" "$name=EVERY=8 bin/$name"
    case $name in
    memory_test | refusal_test) set -- "$@" "$name by place=PLACES=1 bin/$name" ;;
    esac
done >commands
compile="$compile -D_XOPEN_SOURCE=700 -DSQLITE_CORE -o"
with="-lcmocka -lsqlite3 -lpthread -lm"
{
    echo "$compile bin/simulator" tests/simulator/*.c $linked $with
    echo "$compile bin/simulator_small" tests/simulator/*.c $small $with
    echo "$compile bin/memory_small" tests/faults/memory_test.c $small $with
    echo "$compile bin/sequences" tests/tables/sequences_test.c $linked $with
    echo "$compile bin/threads" tests/threads/threads_test.c $linked $with
} >>commands
xargs -d '\n' -n 1 -P "$(nproc)" sh -c <commands || exit 1
# What only newer releases of SQLite call (xIntegrity from 3.44 on) takes one: the apsw of make
# fetch brings it along.
newest=$top/build/venv/bin/python
scripts="tests/runner/sqllogictest.py --load ./bloom.so tests/sql"
[ ! -x "$newest" ] || set -- "$@" "scripts on the newest SQLite=$newest $scripts" \
    "filter tables on the newest SQLite=$newest tests/tables/table_test.py"

# plain_test.py reaches how plain lines and URLs are read; here it compares the library with itself.
"$PYTHON" tests/runner/run.py "$@" "simulator=STEPS=10000 bin/simulator" \
    "simulator with small limits=STEPS=10000 bin/simulator_small" \
    "memory_test with small limits by place=PLACES=1 bin/memory_small" \
    "sequences amid a query=RARE=1 SORTS=plain STARTS=open KINDS=memory bin/sequences" \
    "threads=bin/threads ." \
    "scripts=$PYTHON $scripts" \
    "filter tables=$PYTHON tests/tables/table_test.py" \
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
