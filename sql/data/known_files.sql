-- Made up for sql/known_files.sql: a small filter, as DCSO's library could have written it, and the
-- files of an image.
CREATE TABLE published(bytes BLOB NOT NULL);
INSERT INTO published SELECT bloom_export(bloom_agg(sha1, 1000, 0.01, 'dcso'), 'dcso')
  FROM (SELECT upper(value) AS sha1 FROM json_each('["da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "3395856ce81f2b7382dee72602f798b642f14140", "55c6ba5ea2a84ee1a7c3d1a0e5ca2b7b1ac2f1b6",
    "a9993e364706816aba3e25717850c26c9cd0d89d"]'));
CREATE TABLE files(path TEXT PRIMARY KEY, sha1 NOT NULL);
INSERT INTO files VALUES
  ('/usr/share/empty', 'da39a3ee5e6b4b0d3255bfef95601890afd80709'),
  ('/usr/lib/libc.a', '3395856CE81F2B7382DEE72602F798B642F14140'),
  ('/home/anna/abc.txt', x'a9993e364706816aba3e25717850c26c9cd0d89d'),
  ('/home/anna/plan.odt', 'f7ff9e8b7bb2e09b70935a5d785e0cc5d9d0abf0'),
  ('/tmp/.x/loader', '0beec7b5ea3f0fdbc95d0dd47f3c5bc275da8a33');
