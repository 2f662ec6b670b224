-- Made up for sql/ship_filter.sql: 20,000 cards are known to Berlin, 15,000 to Lisbon, and 5,000 of
-- them to both.
ATTACH ':memory:' AS berlin;
ATTACH ':memory:' AS lisbon;
ATTACH ':memory:' AS centre;
CREATE TABLE berlin.cards(number TEXT);
INSERT INTO berlin.cards
  SELECT printf('4%015d', value * 104729) FROM generate_series(1, 20000);
CREATE TABLE lisbon.cards(number TEXT);
INSERT INTO lisbon.cards
  SELECT printf('4%015d', value * 104729) FROM generate_series(15001, 30000);
