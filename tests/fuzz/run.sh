#!/bin/sh
# Builds the fuzz targets with clang's libFuzzer and runs each for SECONDS_EACH seconds (default
# 20), or RUNS executions, on its corpus in tests/fuzz/corpus; TARGETS names the targets. What is
# found beyond the corpus is kept in build/fuzz/corpus_TARGET and taken up by the next run; a crash
# leaves its input in build/fuzz. SQLITE names a compiled SQLite (sqlite3.o) in place of the
# system's. Ends in "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 1
targets=${TARGETS:-filters functions lists database}
if ! command -v clang >/dev/null; then
    echo "clang is needed: apt-get install clang libclang-rt-dev"
    echo "0 passed, 0 failed, $(echo "$targets" | wc -w) skipped"
    exit 0
fi
mkdir -p build/fuzz
sanitize="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
# In CI this is what shows that clang warns of nothing.
objects=$(make -s V=1 CC=clang CFLAGS="-g -O2 -Werror" objects VARIANT=fuzz_extension \
    VARIANT_FLAGS="-DSQLITE_CORE -DBLOOM_ASSERTS $sanitize -fsanitize=fuzzer-no-link") || exit 1
flags="-std=c11 -g -O2 -Wall -Wextra -DSQLITE_CORE -Iext -Itests/fuzz"
# Short stacks, a small quarantine and no filling make the targets faster.
ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=1:quarantine_size_mb=8:max_malloc_fill_size=0}
export ASAN_OPTIONS
limit="-max_total_time=${SECONDS_EACH:-20}"
[ -z "${RUNS:-}" ] || limit="-runs=$RUNS"
passed=0
failed=0
for target in $targets; do
    # shellcheck disable=SC2086
    clang $flags $sanitize -fsanitize=fuzzer "tests/fuzz/fuzz_$target.c" $objects \
        -o "build/fuzz/$target" "${SQLITE:--lsqlite3}" -lm || exit 1
    mkdir -p "build/fuzz/corpus_$target"
    [ "$target" = database ] && longest=600 || longest=1400
    if "build/fuzz/$target" "$limit" -max_len=$longest -malloc_limit_mb=64 -entropic=0 \
        -artifact_prefix=build/fuzz/ "build/fuzz/corpus_$target" \
        "tests/fuzz/corpus/$target" >"build/fuzz/$target.log" 2>&1; then
        passed=$((passed + 1))
        echo "figures: $target: $(sed -n 's/^Done //p' "build/fuzz/$target.log")"
    else
        failed=$((failed + 1))
        tail -40 "build/fuzz/$target.log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
