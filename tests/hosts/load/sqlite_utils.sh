# sqlite-utils, installed beside the package sqlite-bloom: sh sqlite_utils.sh DATABASE
set -eu
database=$1
query() {
    python -m sqlite_utils query "$database" "$@"
}

query "CREATE TABLE filters AS
    SELECT bloom_agg(column1) AS f FROM (VALUES ('a'), ('b'), (42))" >/dev/null
echo "md5 $(query "SELECT f FROM filters" --raw | md5sum | cut -d' ' -f1)"
# Parameters are TEXT.
echo "found $(query "SELECT bloom_check(f, 'a') || bloom_check(f, 'c') ||
    bloom_check(f, CAST(:key AS INTEGER)) FROM filters" -p key 42 --raw)"
query "SELECT bloom_check(NULL, 1)" 2>&1 | sed 's/^Error: /error /'
