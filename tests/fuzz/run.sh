#!/bin/sh
# Builds the fuzz targets with clang's libFuzzer and runs each for SECONDS (default 20), or RUNS executions, on its corpus in tests/fuzz/corpus.
# Ends in "N passed, N failed"; what crashed is left in build/fuzz.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v clang >/dev/null || { echo "clang is needed: apt-get install clang libclang-rt-dev"; echo "0 passed, 0 failed, 4 skipped"; exit 0; }
mkdir -p build/fuzz
passed=0
failed=0
for target in filter functions table statements; do
    clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -DSQLITE_CORE -Iext -Itests/fuzz \
        tests/fuzz/fuzz_$target.c ext/*.c -o build/fuzz/$target -lsqlite3 -lm || exit 1
    mkdir -p build/fuzz/corpus_$target tests/fuzz/corpus/$target
    if [ -n "${RUNS:-}" ]; then limit="-runs=$RUNS"; else limit="-max_total_time=${SECONDS_EACH:-20}"; fi
    if build/fuzz/$target "$limit" -max_len=1400 -artifact_prefix=build/fuzz/ build/fuzz/corpus_$target tests/fuzz/corpus/$target \
        >build/fuzz/$target.log 2>&1; then
        passed=$((passed + 1))
        echo "$target: $(grep -E 'DONE|Done' build/fuzz/$target.log | tail -1)"
    else
        failed=$((failed + 1))
        tail -40 build/fuzz/$target.log
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
