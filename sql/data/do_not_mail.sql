-- Made up for sql/do_not_mail.sql: 20,000 addresses in lower case at a shop, and 100,000 at a
-- mailing service. 2 in 100 are in both.
ATTACH ':memory:' AS shop;
ATTACH ':memory:' AS service;
CREATE TABLE shop.refused(email TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE service.recipients(email TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO shop.refused SELECT printf('reader.%d@mail%d.example', value * 50, value % 9)
  FROM generate_series(1, 20000);
INSERT INTO service.recipients SELECT printf('Reader.%d@mail%d.example', value, value / 50 % 9)
  FROM generate_series(1, 100000);
