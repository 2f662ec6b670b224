#!/bin/sh
# Builds threads_test and two_libraries_test with ThreadSanitizer and runs them: the first with the
# extension linked in and with the extension loaded, the second with it loaded. Each runs once more
# with a race put into what it tests, which must be found. Ends in "N passed, N failed", or says
# what is missing and skips. CC names the compiler.
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

objects() { # objects VARIANT FLAGS: builds them and prints where
    make -s V=1 CC="$CC" CFLAGS="-O1 -g" objects \
        VARIANT="$1" VARIANT_FLAGS="-fsanitize=thread $2"
}
# with_race RACE SOURCE OBJECTS FLAGS: prints the objects, of which the one of that source has it.
with_race() {
    # shellcheck disable=SC2086
    $CC $flags $4 -D"$1" -include tests/threads/race.h -c -o "$build/$1.o" "ext/$2" || exit 1
    echo "$3" | grep -v "/${2%.c}\.o\$"
    echo "$build/$1.o"
}
link() { # link PROGRAM FLAGS FILES...
    program=$1
    shift
    # shellcheck disable=SC2086
    $CC $flags -o "$build/$program" "$@" -lpthread -ldl -lm || exit 1
}

# The extension linked in, and loaded.
linked=$(objects threads_linked -DSQLITE_CORE) && loaded=$(objects threads_loaded -fPIC) || exit 1
tests=tests/threads
# shellcheck disable=SC2086
{
    link threads_test -DSQLITE_CORE $tests/threads_test.c $linked -lsqlite3
    link bloom.so -shared $loaded
    link two_libraries_test $tests/two_libraries_test.c
    link race_test -DSQLITE_CORE $tests/threads_test.c \
        $(with_race RACE_OF_VALUES sqlite/arguments.c "$linked" -DSQLITE_CORE) -lsqlite3
    link race.so -shared $(with_race RACE_OF_LIBRARIES sqlite/connection.c "$loaded" -fPIC)
}
# Two copies of SQLite are two libraries, since each has its own static data.
system=$(ldd $build/threads_test | sed -n 's/.*libsqlite3[^ ]* => \([^ ]*\) .*/\1/p')
cp "$system" $build/one.so && cp "$system" $build/two.so || exit 1

passed=0
failed=0
# judge FAILS PATTERN PROGRAM ARGUMENTS...: runs a program, which must fail (1) or not (0) with the
# pattern in its log, and counts a test at least.
judge() {
    fails=$1
    pattern=$2
    shift 2
    $run "$@" >$build/log 2>&1
    status=$?
    if [ $((status != 0)) -eq "$fails" ] && grep -q "$pattern" $build/log; then
        counted=$(sed -n 's/^\([0-9]*\) passed,.*/\1/p' $build/log | tail -1)
        passed=$((passed + ${counted:-1}))
    else
        failed=$((failed + 1))
        cat $build/log
        echo "$*: status $status, or no '$pattern'"
    fi
}
well='[1-9][0-9]* passed, 0 failed'
unset TSAN_OPTIONS
judge 0 "$well" $build/threads_test $build
judge 0 "$well" $build/threads_test $build ./$build/bloom.so
judge 0 "$well" $build/two_libraries_test $build ./$build/bloom.so
export TSAN_OPTIONS=halt_on_error=1
judge 1 "Location is global 'race_calls'" $build/race_test $build
judge 1 "Location is global 'sqlite3_api'" $build/two_libraries_test $build ./$build/race.so
rm -f $build/threads_*.db* $build/one.so $build/two.so
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
