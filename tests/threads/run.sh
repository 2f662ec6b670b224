#!/bin/sh
# Builds threads_test, two_libraries_test and readers_test with ThreadSanitizer and runs them: the
# first with the extension linked in and with the extension loaded, the second with it loaded, the
# third with the filter library. Each runs once more with a race put into what it tests, which must
# be found. Ends in "N passed, N failed", or says what is missing and skips. CC names the compiler.
set -u
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
build=build/threads
flags="-std=c11 -O1 -g -D_XOPEN_SOURCE=700 -Wall -Wextra -Wpedantic -Wconversion -Wshadow"
flags="$flags -ffp-contract=off -Iext -fsanitize=thread"
mkdir -p $build

# Older run-time libraries of the sanitizer stop with "unexpected memory mapping" when the kernel
# spreads addresses over more bits than they expect; setarch -R makes it leave them in place.
echo 'int main(void) { return 0; }' >$build/probe.c
run=
# shellcheck disable=SC2086
if ! $CC $flags -o $build/probe $build/probe.c >$build/probe.log 2>&1; then
    run=skip
elif ! $build/probe >$build/probe.log 2>&1; then
    run="setarch $(uname -m) -R"
    $run $build/probe >>$build/probe.log 2>&1 || run=skip
fi
if [ "$run" = skip ]; then
    tail -3 $build/probe.log
    echo "skipped: $CC makes no program with -fsanitize=thread that runs here"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

passed=0
failed=0
bad() { # bad FILE MESSAGE: one failure, with the log
    failed=$((failed + 1))
    cat "$1"
    echo "$2"
}

# program NAME PROGRAM ARGUMENTS...: runs a program of $build and takes over what it counted; a
# report of the sanitizer is one more failure.
program() {
    name=$1
    tested=$build/$2
    shift 2
    $run "$tested" $build "$@" >$build/log 2>&1
    status=$?
    counted=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' $build/log | tail -1)
    if [ -z "$counted" ]; then
        bad $build/log "$name: no result (status $status)"
        return
    fi
    passed=$((passed + ${counted%% passed*}))
    counted=${counted#*, }
    counted=${counted%% failed*}
    if grep -q 'WARNING: ThreadSanitizer' $build/log ||
        { [ $status -ne 0 ] && [ "$counted" -eq 0 ]; }; then
        bad $build/log "$name: see the report above"
    elif [ "$counted" -gt 0 ]; then
        failed=$((failed + counted))
        cat $build/log
    fi
}

libraries="-lsqlite3 -lpthread -lm"
objects() { # objects VARIANT FLAGS: builds them and prints where
    make -s CC="$CC" CFLAGS="-O1 -g" objects \
        VARIANT="$1" VARIANT_FLAGS="-fsanitize=thread $2" >&2 &&
        find "build/$1" -name '*.o'
}
linked=$(objects threads_linked -DSQLITE_CORE) && loaded=$(objects threads_loaded -fPIC) || exit 1
# shellcheck disable=SC2086
$CC $flags -DSQLITE_CORE -o $build/threads_test tests/threads/threads_test.c $linked $libraries ||
    exit 1
# shellcheck disable=SC2086
$CC $flags -shared -o $build/bloom.so $loaded -lm || exit 1
unset TSAN_OPTIONS
program "linked in" threads_test
program "loaded" threads_test "./$build/bloom.so"

# Two copies of SQLite are two libraries, since each has its own static data.
system=$(ldd $build/threads_test | sed -n 's/.*libsqlite3[^ ]* => \([^ ]*\) .*/\1/p')
cp "$system" $build/one.so && cp "$system" $build/two.so || exit 1
# shellcheck disable=SC2086
$CC $flags -o $build/two_libraries_test tests/threads/two_libraries_test.c -lpthread -ldl || exit 1
program "two libraries" two_libraries_test "./$build/bloom.so"

# The filter library, which is in what was linked in.
library=$(echo "$linked" | grep -vE '/(sqlite|table)/|/extension\.o$')
# shellcheck disable=SC2086
$CC $flags -o $build/readers_test tests/threads/readers_test.c $library -lpthread -lm || exit 1
program "readers" readers_test

# with_race RACE SOURCE OBJECTS FLAGS...: compiles a program or library of objects, of which the one
# of that source has a race put into it.
with_race() {
    race=$1
    source=$2
    others=$(echo "$3" | grep -v "/${source%.c}\.o\$")
    shift 3
    # shellcheck disable=SC2086
    $CC $flags $variant -D"$race" -include tests/threads/race.h -c -o $build/race.o \
        "ext/$source" && $CC $flags $variant "$@" $others $build/race.o $libraries
}

# raced VARIABLE NAME ARGUMENTS...: runs a program of $build, in which the sanitizer must find the
# race for that variable.
raced() {
    variable=$1
    name=$2
    shift 2
    TSAN_OPTIONS="halt_on_error=1" $run "$build/$name" "$@" >$build/log 2>&1
    if grep -q "Location is global '$variable'" $build/log; then
        passed=$((passed + 1))
    else
        bad $build/log "$name: the race that was put in was not found"
    fi
}

# Would a race be found at all? The other files are as they are.
variant=-DSQLITE_CORE
with_race RACE_OF_VALUES sqlite/arguments.c "$linked" -o $build/race_test \
    tests/threads/threads_test.c || exit 1
raced race_calls race_test $build
variant=
with_race RACE_OF_KEYS sqlite-bloom-filter.c "$library" -o $build/race_readers_test \
    tests/threads/readers_test.c || exit 1
raced race_calls race_readers_test
variant=-fPIC libraries=-lm
with_race RACE_OF_LIBRARIES sqlite/connection.c "$loaded" -shared -o $build/race.so || exit 1
raced sqlite3_api two_libraries_test $build "./$build/race.so"
rm -f $build/threads_*.db* $build/one.so $build/two.so
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
