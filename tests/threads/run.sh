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

# judge NAME PATTERN PROGRAM ARGUMENTS...: runs a program of $build, whose log must have the pattern
# and count a test at least. Of a report of the sanitizer, or a test that fails, the status tells.
judge() {
    name=$1
    pattern=$2
    wanted=$3
    tested=$build/$4
    shift 4
    $run "$tested" "$@" >$build/log 2>&1
    status=$?
    if [ $((status != 0)) -eq "$wanted" ] && grep -q "$pattern" $build/log; then
        counted=$(sed -n 's/^\([0-9]*\) passed,.*/\1/p' $build/log | tail -1)
        passed=$((passed + ${counted:-1}))
    else
        failed=$((failed + 1))
        cat $build/log
        echo "$name: status $status, or no '$pattern'"
    fi
}
well() { # well NAME PROGRAM ARGUMENTS...
    name=$1
    shift
    judge "$name" '[1-9][0-9]* passed, 0 failed' 0 "$@"
}
raced() { # raced VARIABLE PROGRAM ARGUMENTS...: the race that was put in must be found
    variable=$1
    shift
    judge "a race of $variable" "Location is global '$variable'" 1 "$@"
}

objects() { # objects VARIANT FLAGS: builds them and prints where
    make -s CC="$CC" CFLAGS="-O1 -g" objects \
        VARIANT="$1" VARIANT_FLAGS="-fsanitize=thread $2" >&2 &&
        find "build/$1" -name '*.o'
}
link() { # link PROGRAM FLAGS FILES...
    program=$1
    shift
    # shellcheck disable=SC2086
    $CC $flags -o "$build/$program" "$@" -lpthread -ldl -lm || exit 1
}
# race RACE SOURCE OBJECTS FLAGS: prints the objects, of which the one of that source has a race.
race() {
    # shellcheck disable=SC2086
    $CC $flags $4 -D"$1" -include tests/threads/race.h -c -o "$build/$1.o" "ext/$2" || exit 1
    echo "$3" | grep -v "/${2%.c}\.o\$"
    echo "$build/$1.o"
}

# The extension linked in, and loaded; and the filter library, which is in what is linked in.
linked=$(objects threads_linked -DSQLITE_CORE) && loaded=$(objects threads_loaded -fPIC) || exit 1
tests=tests/threads
# shellcheck disable=SC2086
{
    link threads_test -DSQLITE_CORE $tests/threads_test.c $linked -lsqlite3
    link bloom.so -shared $loaded
    link readers_test $tests/readers_test.c $linked -lsqlite3
    link two_libraries_test $tests/two_libraries_test.c
    link race_test -DSQLITE_CORE $tests/threads_test.c \
        $(race RACE_OF_VALUES sqlite/arguments.c "$linked" -DSQLITE_CORE) -lsqlite3
    link race_readers_test $tests/readers_test.c \
        $(race RACE_OF_KEYS sqlite-bloom-filter.c "$linked" -DSQLITE_CORE) -lsqlite3
    link race.so -shared $(race RACE_OF_LIBRARIES sqlite/connection.c "$loaded" -fPIC)
}
# Two copies of SQLite are two libraries, since each has its own static data.
system=$(ldd $build/threads_test | sed -n 's/.*libsqlite3[^ ]* => \([^ ]*\) .*/\1/p')
cp "$system" $build/one.so && cp "$system" $build/two.so || exit 1

unset TSAN_OPTIONS
well "linked in" threads_test $build
well "loaded" threads_test $build "./$build/bloom.so"
well "two libraries" two_libraries_test $build "./$build/bloom.so"
well "readers" readers_test
export TSAN_OPTIONS=halt_on_error=1
raced race_calls race_test $build
raced race_calls race_readers_test
raced sqlite3_api two_libraries_test $build "./$build/race.so"
rm -f $build/threads_*.db* $build/one.so $build/two.so
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
