# Datasette, installed beside the package sqlite-bloom: sh datasette.sh
set -eu

# ask SQL PARAMETERS: the first value of what the server would answer to a browser, without one.
ask() {
    datasette --memory --get "/_memory.json?_shape=array&$2$(python -c \
        'import sys, urllib.parse; print(urllib.parse.urlencode({"sql": sys.argv[1]}))' "$1")" |
        python -c 'import json, sys
answer = json.load(sys.stdin)
print(answer["error"] if "error" in answer else next(iter(answer[0].values())))'
}

numbers="WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000)"
filter="SELECT bloom_agg('key-' || i, 1000, 0.01) AS f FROM c"
# As JSON a filter would be in base64.
hex=$(ask "$numbers, filters AS ($filter) SELECT hex(f) FROM filters" "")
echo "md5 $(echo "$hex" | python -c \
    'import hashlib; print(hashlib.md5(bytes.fromhex(input())).hexdigest())')"
echo "found $(ask "$numbers, filters AS MATERIALIZED ($filter)
    SELECT sum(bloom_check(f, 'key-' || i)) || ' ' || sum(bloom_check(f, 'absent-' || i))
    FROM c, filters" "")"
# Parameters are TEXT.
echo "integer $(ask "SELECT bloom_check(bloom_agg(42), CAST(:key AS INTEGER))" "key=42&")"
echo "error $(ask "SELECT bloom_check(NULL, 1)" "")"
