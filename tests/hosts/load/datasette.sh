# Datasette, installed beside the package sqlite-bloom: sh datasette.sh
set -eu

# ask SQL: the first value of what the server would answer to a browser, without one.
ask() {
    python -m datasette --memory --get "/_memory.json?_shape=array&key=42&$(python -c \
        'import sys, urllib.parse; print(urllib.parse.urlencode({"sql": sys.argv[1]}))' "$1")" |
        python -c 'import json, sys
answer = json.load(sys.stdin)
print(answer["error"] if "error" in answer else next(iter(answer[0].values())))'
}

filter="SELECT bloom_agg(column1) AS f FROM (VALUES ('a'), ('b'), (42))"
# As JSON a filter would be in base64.
hex=$(ask "SELECT hex(f) FROM ($filter)")
echo "md5 $(echo "$hex" | python -c \
    'import hashlib; print(hashlib.md5(bytes.fromhex(input())).hexdigest())')"
# Parameters are TEXT.
echo "found $(ask "SELECT bloom_check(f, 'a') || bloom_check(f, 'c')
    || bloom_check(f, CAST(:key AS INTEGER)) FROM ($filter)")"
echo "error $(ask "SELECT bloom_check(NULL, 1)")"
