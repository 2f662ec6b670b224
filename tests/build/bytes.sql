-- The filter of key-1 to key-1000, made for 1000 keys at 1 %, into filter.bloom: every build must
-- make these bytes (md5 6d00a095962eef091a8d7210a1b976de).
.bail on
.load ./bloom
SELECT writefile('filter.bloom', bloom_agg('key-' || value, 1000, 0.01)) = 1344
  FROM generate_series(1, 1000);
