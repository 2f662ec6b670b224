-- Refuse keys that do not exist before they cost a look-up, for example when somebody floods a shop
-- with invented product codes. A filter of all keys guards the table, and triggers keep it
-- complete.
-- From the top folder: sqlite3 < sql/cache_penetration.sql
.bail on
.load ./bloom
.mode column

-- Your table. This one is made up: products(code, name), where code is the primary key.
.read sql/data/cache_penetration.sql

-- The filter has room for twice as many keys. When bloom_count(f) comes near that number, build it
-- again in the same way.
CREATE TABLE guard(f BLOB NOT NULL);
INSERT INTO guard SELECT bloom_agg(code, 2 * (SELECT count(*) FROM products)) FROM products;

-- Triggers add every new key in the same transaction. A deleted key stays in the filter, and costs
-- a look-up in vain, so build the filter again now and then. Each new row copies the filter once.
-- So load a large batch without the triggers, and add it with bloom_union, as remove_duplicates.sql
-- does. The table guard must have no CHECK that the update could violate, because an INSERT OR
-- IGNORE INTO products would ignore that, and lose the key.
CREATE TRIGGER guard_insert AFTER INSERT ON products BEGIN
  UPDATE guard SET f = bloom_add(f, NEW.code);
END;
CREATE TRIGGER guard_update AFTER UPDATE ON products WHEN NEW.code IS NOT OLD.code BEGIN
  UPDATE guard SET f = bloom_add(f, NEW.code);
END;

-- A request is looked up only if the guard lets it through. The answer is 0 if it was refused
-- without a look-up, 1 if it was looked up in vain, and 2 if it was found.
CREATE TABLE requests(code TEXT NOT NULL);
CREATE VIEW answers AS
  SELECT code, CASE WHEN NOT bloom_check((SELECT bloom_pin(f) FROM guard), code) THEN 0
                    ELSE 1 + EXISTS (SELECT 1 FROM products WHERE products.code = requests.code)
                      END AS answer
    FROM requests;

-- From here on the data is made up: 100,000 requests, of which 3 in 100 are for products that
-- exist.
INSERT INTO requests
  SELECT CASE WHEN value % 100 < 3 THEN printf('P%06d', (value % 10000 + 1) * 7)
    ELSE printf('X%06d', value) END
    FROM generate_series(1, 100000);
SELECT count(*) AS requests, sum(answer = 0) AS refused, sum(answer = 1) AS "looked up in vain",
       sum(answer = 2) AS found, sum(answer = 0 AND code IN (SELECT code
         FROM products)) AS "refused by mistake"
  FROM answers;

-- A product that is new, or has a new code, is found at once.
DELETE FROM requests;
INSERT INTO requests VALUES ('NEW-1'), ('NEW-2');
.print
.print Before the products exist
SELECT code, CASE answer WHEN 0 THEN 'refused' WHEN 1 THEN 'looked up in vain' ELSE 'found'
  END AS answer FROM answers;
INSERT INTO products VALUES ('NEW-1', 'A new product');
UPDATE products SET code = 'NEW-2' WHERE code = 'P000007';
.print
.print After
SELECT code, CASE answer WHEN 0 THEN 'refused' WHEN 1 THEN 'looked up in vain' ELSE 'found'
  END AS answer FROM answers;

.print
SELECT length(f) AS "guard, bytes", bloom_count(f) AS "keys, about", printf('%.3f %%',
  100 * bloom_fpr_now(f)) AS
       "invented keys let through" FROM guard;
