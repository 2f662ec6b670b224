-- Made up for sql/bitmap.sql: invoices in the order in which they came, with 200,000 numbers below
-- 200,000, some of them twice, and which user has read which of two articles.
CREATE TABLE invoices(number INTEGER);
INSERT INTO invoices SELECT value * 7919 % 199933 FROM generate_series(1, 200000);
CREATE TABLE reads(article TEXT, user INTEGER);
INSERT INTO reads SELECT 'filters', value * 3 FROM generate_series(0, 50000);
INSERT INTO reads SELECT 'bitmaps', value * 10 FROM generate_series(0, 20000);
