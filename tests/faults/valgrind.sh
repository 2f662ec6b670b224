#!/bin/sh
# Damaged bytes under valgrind's memcheck, which sees what the sanitizers do not: a decision on
# bytes that were never set, in SQLite's own code as well. Builds tests/faults/damage_test.c with
# ext/ and without sanitizers. ROUNDS (default 150) of random damage of shadow tables. Ends in "N
# passed, N failed". valgrind knows no AVX-512 and says so to the program, which then takes its AVX2
# kernels.
set -u
cd "$(dirname "$0")/../.." || exit 1
if ! command -v valgrind >/dev/null; then
    echo "valgrind is needed: apt-get install valgrind"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
mkdir -p build/tests
CC=${CC:-cc}
make -s CC="$CC" CFLAGS="-O2 -g" objects VARIANT=valgrind VARIANT_FLAGS=-DSQLITE_CORE || exit 1
# shellcheck disable=SC2046 # words are meant
$CC -std=c11 -g -O2 -ffp-contract=off -DSQLITE_CORE -Iext -o build/tests/damage_valgrind \
    tests/faults/damage_test.c $(find build/valgrind -name '*.o') -lsqlite3 -lm || exit 1
log=build/tests/valgrind.log
valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
    --show-leak-kinds=definite --log-file="$log" \
    build/tests/damage_valgrind "${ROUNDS:-150}"
status=$?
cat "$log"
if [ "$status" -eq 99 ] || [ -s "$log" ]; then
    echo "0 passed, 1 failed" # what memcheck has found; the program itself may have passed
    exit 1
fi
exit "$status"
