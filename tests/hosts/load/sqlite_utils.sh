# sqlite-utils, installed beside the package sqlite-bloom: sh sqlite_utils.sh DATABASE
set -eu
database=$1

sqlite-utils query "$database" "CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
    (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c" >/dev/null
sqlite-utils query "$database" "CREATE TABLE filters AS
    SELECT bloom_agg('key-' || i, 1000, 0.01) AS f FROM numbers" >/dev/null

echo "md5 $(sqlite-utils query "$database" "SELECT f FROM filters" --raw | md5sum | cut -d' ' -f1)"
echo "found $(sqlite-utils query "$database" "SELECT
    (SELECT sum(bloom_check(f, 'key-' || i)) || ' ' || sum(bloom_check(f, 'absent-' || i))
     FROM numbers) FROM filters" --raw)"
# Parameters are TEXT.
echo "integer $(sqlite-utils query "$database" \
    "SELECT bloom_check(bloom_agg(42), CAST(:key AS INTEGER))" -p key 42 --raw)"
sqlite-utils query "$database" "SELECT bloom_check(NULL, 1)" 2>&1 | sed 's/^Error: /error /'
