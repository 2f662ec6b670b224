-- Made up for sql/exchange_with_guava.sql: two filters that a mail server in Java wrote.
-- BloomFilter.create(Funnels.stringFunnel(UTF_8), 20, 0.01) has 4 senders of spam, and
-- BloomFilter.create(Funnels.longFunnel(), 20, 0.01) has 3 numbers of accounts that were closed.
CREATE TABLE received(name TEXT PRIMARY KEY, bytes BLOB NOT NULL);
INSERT INTO received VALUES
  ('senders', x'010700000003012022208025000200820200c40008008000000022222840'),
  ('accounts', x'010700000003000000100420000500400201440000010000444180014000');
-- The same of another server, with other senders.
CREATE TABLE received_there(name TEXT PRIMARY KEY, bytes BLOB NOT NULL);
INSERT INTO received_there VALUES
  ('senders', x'010700000003000003009001140204000008240108410000000400600050');
CREATE TABLE mails(sender TEXT NOT NULL, account INTEGER NOT NULL);
INSERT INTO mails VALUES ('win@lottery.example', 1001), ('anna@example.org', 1002),
  ('josé@spam.example', 1003), ('bank@phishing.example', 4711), ('ben@example.org', 4712);
CREATE TABLE reported(sender TEXT NOT NULL);
INSERT INTO reported VALUES ('offers@pills.example'), ('prince@inheritance.example');
